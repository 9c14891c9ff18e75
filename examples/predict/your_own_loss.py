"""
A loss of your own
==================

:class:`~gramsmith.KernelLossClassifier` minimises any convex loss that gives its value, slope and
curvature. Wrong labels change the result most with the exponential loss, less with the logistic
loss, and least with a Huber-like hinge.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

import gramsmith as gs


class Exponential:
    """The loss of boosting, exp(-yf)."""

    def value(self, y, f):
        return np.exp(-y * f)

    def slope(self, y, f):
        return -y * np.exp(-y * f)

    def curvature(self, y, f):
        return np.exp(-y * f)


X, truth = make_moons(200, noise=0.15, random_state=0)
wrong = np.random.default_rng(0).random(200) < 0.1
y = np.where(wrong, 1 - truth, truth)
X_new, y_new = make_moons(2000, noise=0.15, random_state=1)

# %%
# One label in ten is wrong (crosses).
grid = np.dstack(
    np.meshgrid(np.linspace(-1.6, 2.6, 60), np.linspace(-1.1, 1.6, 60))
)
fig, axes = plt.subplots(1, 3, figsize=(11, 3.4), layout="constrained")
for ax, (name, loss) in zip(
    axes,
    {
        "exponential": Exponential(),
        "logistic": "logistic",
        "smooth hinge": "squared_hinge",
    }.items(),
):
    model = gs.KernelLossClassifier(gs.Gaussian(0.4), loss=loss, alpha=0.1).fit(
        X, y
    )
    value = model.decision_function(grid.reshape(-1, 2)).reshape(60, 60)
    ax.contourf(grid[..., 0], grid[..., 1], value, 20, cmap="RdBu_r")
    ax.contour(grid[..., 0], grid[..., 1], value, [0], colors="black")
    ax.scatter(
        *X[~wrong].T, c=y[~wrong], s=8, cmap="gray", edgecolors="black", lw=0.3
    )
    ax.scatter(*X[wrong].T, marker="x", color="black", s=30)
    ax.set(
        title=f"{name}: {1 - model.score(X_new, y_new):.1%} wrong on new rows",
        xticks=[],
        yticks=[],
    )
plt.show()
