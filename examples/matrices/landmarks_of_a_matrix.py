"""
Landmarks of a precomputed matrix
=================================

A model of a precomputed matrix, too, can be restricted to a few landmarks: fewer columns to
compute for new samples, and a smaller model. Ridge regression with ``solver="nystroem"`` takes
matrices as it takes features.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

import gramsmith as gs

X, y = load_digits(return_X_y=True)
K = gs.Gaussian(22.0)(X[:1500])
train, test = np.arange(1000), np.arange(1000, 1500)
square, block = K[np.ix_(train, train)], K[np.ix_(test, train)]

# %%
counts = [10, 20, 40, 80, 160, 320]
errors, kept = [], []
for count in counts:
    model = gs.KernelRidgeClassifier(
        "precomputed", solver="nystroem", n_landmarks=count, random_state=0
    )
    model.fit(square, y[train])
    errors.append(100 * (1 - model.score(block, y[test])))
    kept.append(len(model.support_))
exact = gs.KernelRidgeClassifier("precomputed").fit(square, y[train])

fig, ax = plt.subplots(figsize=(7, 3.4), layout="constrained")
ax.plot(kept, errors, "o-", label="landmarks")
ax.axhline(
    100 * (1 - exact.score(block, y[test])),
    color="0.5",
    ls="--",
    label="all 1 000 samples",
)
ax.set(
    xscale="log",
    xlabel="samples that the model keeps",
    ylabel="errors on new digits in %",
)
ax.legend()
plt.show()
