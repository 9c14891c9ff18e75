"""
Train a quantum kernel
======================

A circuit turns every qubit by a coordinate of the sample, times a weight; the kernel is the squared
overlap of two states. :func:`~gramsmith.value_and_gradient` gives the derivative of its alignment
by the weights, and SciPy maximises it.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize

import gramsmith as gs
from gramsmith.kernels import Kernel


class Circuit(Kernel):
    """Squared overlap of states that are products of turned qubits."""

    free = ("weights",)

    def __init__(self, weights):
        self.weights = weights

    def _halves(self, a, b):
        return np.asarray(self.weights) * (a[:, None, :] - b[None, :, :]) / 2

    def tile(self, a, b):
        """Return the kernel of every pair."""
        return np.prod(np.cos(self._halves(a, b)) ** 2, axis=2)

    def diagonal(self, a):
        """Return the overlap of every state with itself."""
        return np.ones(len(a))

    def tile_vjp(self, a, b, W, K=None, wants="samples"):
        """Return the derivatives of the sum of W times the block K(a, b)."""
        H = self._halves(a, b)
        by_angle = -2.0 * (W * self.tile(a, b))[:, :, None] * np.tan(H)
        by_weight = np.sum(
            by_angle * (a[:, None, :] - b[None, :, :]) / 2, axis=(0, 1)
        )
        by_pair = by_angle * np.asarray(self.weights) / 2
        return by_pair.sum(axis=1), -by_pair.sum(axis=0), {"weights": by_weight}

    def diagonal_vjp(self, a, w):
        """Return the derivatives of sum(w * diagonal(a)): none."""
        return np.zeros_like(a), {"weights": np.zeros(len(self.weights))}


rng = np.random.default_rng(0)
X = rng.uniform(-1, 1, size=(120, 3))
y = (np.sin(4 * X[:, 0]) * X[:, 1] > 0).astype(
    int
)  # the third coordinate is noise

# %%
# The alignment before and after.
path = []


def cost(weights):
    """Return the negative alignment and its slope."""
    value, slope = gs.value_and_gradient(
        "cka", Circuit(weights), X, y, flat=True
    )
    path.append(value)
    return -value, -slope


found = minimize(cost, np.ones(3), jac=True, method="L-BFGS-B")
print(
    f"alignment {path[0]:.3f} -> {-found.fun:.3f}, weights {found.x.round(2)}"
)

# %%
# States of one class have become alike.
fig, axes = plt.subplots(1, 3, figsize=(11, 3.4), layout="constrained")
order = np.argsort(y, kind="stable")
for ax, weights, title in zip(axes, (np.ones(3), found.x), ("before", "after")):
    ax.imshow(Circuit(weights)(X)[np.ix_(order, order)], cmap="cividis")
    ax.set_title(title)
axes[2].plot(np.maximum.accumulate(path))
axes[2].set(xlabel="evaluations", ylabel="centred alignment")
plt.show()
