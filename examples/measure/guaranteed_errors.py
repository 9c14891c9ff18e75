"""
Training errors that are guaranteed
===================================

Two measures bound the training error of a simple classifier before it is trained:
:func:`~gramsmith.fsm_error_bound` that of the centroid classifier,
:func:`~gramsmith.parzen_error_bound` that of the Parzen window. The bounds hold for every kernel
and every set of labels; how tight they are depends on the kernel.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.preprocessing import scale

import gramsmith as gs

X, labels = load_wine(return_X_y=True)
X, y = scale(X), labels == 0
widths = np.geomspace(0.5, 20, 18)
found = []
for width in widths:
    kernel = gs.Gaussian(width)
    K = kernel(X)
    centroid = gs.CentroidClassifier(kernel, ddof=1).fit(X, y)
    parzen = gs.ParzenClassifier(kernel, weights="balanced", threshold=0.0).fit(
        X, y
    )
    found.append(
        (
            gs.fsm_error_bound(K, y),
            1 - centroid.score(X, y),
            gs.parzen_error_bound(K, y),
            1 - parzen.score(X, y),
        )
    )
bound, error, parzen_bound, parzen_error = np.array(found).T

# %%
fig, axes = plt.subplots(
    1, 2, figsize=(9, 3.6), sharey=True, layout="constrained"
)
axes[0].plot(widths, bound, label="bound from the feature space measure")
axes[0].plot(widths, error, label="training error of the centroid classifier")
axes[1].plot(widths, parzen_bound, label="bound from the alignment")
axes[1].plot(widths, parzen_error, label="training error of the Parzen window")
for ax in axes:
    ax.set(xscale="log", xlabel="length scale", ylim=(-0.02, 1.02))
    ax.legend()
axes[0].set_ylabel("share of wrong answers")
plt.show()

# %%
# A small bound guarantees a small error; with a large bound the classifier may still be good.
