"""
Landmarks of a precomputed matrix
=================================

Also where only a matrix is known, a machine may rest on a few of its samples: fewer columns to
compute for new ones, and a smaller model. Ridge with ``solver="nystroem"`` takes matrices like
all else.
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
    machine = gs.KernelRidgeClassifier(
        "precomputed", solver="nystroem", n_landmarks=count, random_state=0
    )
    machine.fit(square, y[train])
    errors.append(100 * (1 - machine.score(block, y[test])))
    kept.append(len(machine.support_))
exact = gs.KernelRidgeClassifier("precomputed").fit(square, y[train])

fig, ax = plt.subplots(figsize=(7, 3.4), layout="constrained")
ax.plot(kept, errors, "o-", label="landmarks")
ax.axhline(100 * (1 - exact.score(block, y[test])), color="0.5", ls="--", label="all 1 000 samples")
ax.set(xscale="log", xlabel="samples that the model keeps", ylabel="errors on new digits in %")
ax.legend()
plt.show()
