"""
A kernel of your own in eight lines
===================================

A kernel of the squared distance is its value and its slope. With both, gramsmith can measure it,
learn its parameters and use it in every estimator. A function of two samples needs no class:
``gs.as_kernel(f)``, and with ``cache="pairs.sqlite"`` the values of a slow one stay in a file.
"""

import matplotlib.pyplot as plt
import numpy as np

import gramsmith as gs
from gramsmith.kernels.radial import Radial


class Cauchy(Radial):
    """The Cauchy kernel 1 / (1 + |x - z|² / l²)."""

    def __init__(self, length_scale=1.0):
        self.length_scale = length_scale

    def value(self, s):
        return 1.0 / (1.0 + s)

    def slope(self, s):
        return -1.0 / (1.0 + s) ** 2


# %%
# Only the first two of four features decide. A length scale for each is learned by the
# leave-one-out error of ridge regression; a large one means that the feature does not matter.
rng = np.random.default_rng(0)
X = rng.uniform(-1, 1, size=(250, 4))
y = np.hypot(X[:, 0], X[:, 1]) < 0.8
learner = gs.KernelLearner(Cauchy(np.ones(4)), random_state=0).fit(X, y)

fig, axes = plt.subplots(1, 2, figsize=(8.5, 3.2), layout="constrained")
axes[0].bar(range(4), 1 / learner.kernel_.length_scale)
axes[0].set_xticks(range(4), [f"x{k}" for k in range(4)])
axes[0].set(ylabel="1 / length scale", title="learned")
model = gs.KernelLogisticRegression(learner.kernel_).fit(X, y)
grid = np.dstack(np.meshgrid(np.linspace(-1, 1, 60), np.linspace(-1, 1, 60)))
new = np.column_stack([grid.reshape(-1, 2), np.zeros((3600, 2))])
axes[1].contourf(
    grid[..., 0],
    grid[..., 1],
    model.predict_proba(new)[:, 1].reshape(60, 60),
    15,
)
axes[1].scatter(
    X[:, 0], X[:, 1], c=y, s=8, cmap="gray", edgecolors="black", lw=0.3
)
axes[1].set(title="probability of the inner class", xlabel="x0", ylabel="x1")
plt.show()
