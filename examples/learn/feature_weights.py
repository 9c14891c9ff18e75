"""
Learn which features matter
===========================

Three of thirty features decide the class, by their distance from the origin.
:class:`~gramsmith.TransformLearner` gives every feature a weight inside a Gaussian kernel, and
keeps only as much of what it learned as lowers the error on held-out rows.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.svm import SVC

import gramsmith as gs

rng = np.random.default_rng(0)
X = rng.normal(size=(1300, 30))
y = (X[:, :3] ** 2).sum(axis=1) > 2.366
train, test = slice(0, 300), slice(300, None)
learner = gs.TransformLearner(random_state=0).fit(X[train], y[train])

# %%
fig, axes = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
weights = learner.feature_importances_
largest = np.argsort(weights)[-12:]
axes[0].barh([f"x{j}" for j in largest], weights[largest])
axes[0].set_xlabel("importance")
curve = learner.keep_curve_
axes[1].errorbar(curve["amount"], curve["loss"], yerr=curve["error"], fmt="o-")
axes[1].axvline(learner.keep_, ls="--", color="tab:green", label="taken")
axes[1].set(xlabel="amount of learning", ylabel="loss on other rows")
axes[1].legend()
plt.show()

# %%
# What it gains on 1 000 new rows:
for name, kernel in (
    ("one width for all features", "rbf"),
    ("learned weights", learner.kernel_),
):
    error = 1 - SVC(kernel=kernel).fit(X[train], y[train]).score(
        X[test], y[test]
    )
    print(f"test error with {name}: {100 * error:.1f} %")

# %%
# Where labels are shuffled there is nothing to learn, and nothing is kept:
print(
    gs.TransformLearner(random_state=0)
    .fit(X[train], rng.permutation(y[train]))
    .keep_
)
