"""
Thresholds in your own terms
============================

Whom should we call? That depends on how many calls can be made and how many of them should be
right, not on a probability of one half. :class:`~gramsmith.ThresholdTable` has both, from rows
that had no part in the choice of the model.
"""

# %%
# One customer in eight leaves.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import FixedThresholdClassifier

import gramsmith as gs


def customers(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    leaves = X[:, 0] + 0.7 * X[:, 1] ** 2 + 0.8 * rng.normal(size=n) > 2.2
    return X, np.where(leaves, "leaves", "stays")


X, y = customers(400, 0)
model = gs.KernelSelector().fit(X, y)
table = gs.threshold_table(model)
print(table)

# %%
# Calls for a tenth of the customers: scikit-learn sets the threshold. Of fresh customers as large a
# share is found as the table says; more are called, because more of these leave.
# ``save_model`` does not store a ``FixedThresholdClassifier``: save the model, and keep the
# threshold beside the file. For ``gramsmith predict`` it is the option ``--threshold``.
row = next(row for row in table.rows if row.share >= 0.1)
caller = FixedThresholdClassifier(
    FrozenEstimator(model),
    threshold=row.threshold,
    pos_label="leaves",
    response_method="predict_proba",
).fit(X, y)
Z, truth = customers(4000, 1)
called = caller.predict(Z) == "leaves"
leaving = truth == "leaves"
print(f"leave {leaving.mean():.1%}, called {called.mean():.1%}")
print(f"recall {called[leaving].mean():.1%}")
print(f"precision {leaving[called].mean():.1%}")

# %%
# What more calls would bring, with intervals of 95 %.
shares = [100 * row.share for row in table.rows]
fig, ax = plt.subplots()
for name, what in (
    ("recall", "of those who leave are called"),
    ("precision", "of the calls are right"),
):
    middle = np.array([record[name] for record in table.records])
    ends = np.array(
        [
            [record[f"{name}_{end}"] for end in ("low", "high")]
            for record in table.records
        ]
    )
    error = np.abs(ends.T - middle)
    ax.errorbar(
        shares, 100 * middle, 100 * error, marker="o", capsize=3, label=what
    )
ax.set(xlabel="per cent of customers called", ylabel="per cent")
ax.legend()
plt.show()
