"""Losses: how wrong a decision value is. One small interface, two derivatives.

A loss is any object with `value`, `slope` and `curvature` (see `Loss`); one whose minimum gives
probabilities says so by the methods `probability` and, finite however small they are,
`log_probability`. `KernelLossClassifier` takes such an object.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from scipy.special import expit, log_expit, log_softmax, softmax

Array = npt.NDArray[Any]


class Loss(Protocol):
    """A convex function of decision values f and labels y = ±1, both of shape (n,).

    `Multinomial` alone has one decision value per class, and labels as `code_targets` gives them.
    """

    def value(self, y: Array, f: Array) -> Array:
        """Return the loss of every sample, shape (n,)."""

    def slope(self, y: Array, f: Array) -> Array:
        """Return the derivative by f, of the shape of f."""

    def curvature(self, y: Array, f: Array) -> Array:
        """Return the second derivative by f; the class probabilities for the multinomial loss."""


def code_targets(codes: Array, n_classes: int) -> Array:
    """Return class numbers as the losses want them: -1 and +1, or one column per class."""
    return np.where(codes == 1, 1.0, -1.0) if n_classes == 2 else np.eye(n_classes)[codes]


class Logistic:
    """The logistic loss, log(1 + exp(-y f))."""

    def value(self, y: Array, f: Array) -> Array:
        return np.asarray(np.logaddexp(0.0, -y * f))

    def slope(self, y: Array, f: Array) -> Array:
        return np.asarray(-y * expit(-y * f))

    def curvature(self, y: Array, f: Array) -> Array:
        return np.asarray(expit(f) * expit(-f))

    def probability(self, f: Array) -> Array:
        return np.column_stack([expit(-f), expit(f)])

    def log_probability(self, f: Array) -> Array:
        return np.column_stack([log_expit(-f), log_expit(f)])


class Squared:
    """The squared loss, (y - f)²/2: least squares on labels -1 and +1."""

    def value(self, y: Array, f: Array) -> Array:
        return 0.5 * (y - f) ** 2

    def slope(self, y: Array, f: Array) -> Array:
        return f - y

    def curvature(self, y: Array, f: Array) -> Array:
        return np.ones_like(f)


class SquaredHinge:
    """The squared hinge, max(0, 1 - y f)²/2: the loss of the L2-SVM."""

    def value(self, y: Array, f: Array) -> Array:
        return 0.5 * np.maximum(0.0, 1.0 - y * f) ** 2

    def slope(self, y: Array, f: Array) -> Array:
        return -y * np.maximum(0.0, 1.0 - y * f)

    def curvature(self, y: Array, f: Array) -> Array:
        return (y * f < 1.0).astype(np.float64)


class SmoothHinge:
    """The hinge max(0, 1 - y f) of the SVM, a parabola where |1 - y f| < width.

    It differs from the hinge by at most width/4.
    """

    def __init__(self, width: float = 0.05) -> None:
        self.width = width

    def value(self, y: Array, f: Array) -> Array:
        z, h = 1.0 - y * f, self.width
        return np.where(z >= h, z, np.where(z <= -h, 0.0, (z + h) ** 2 / (4.0 * h)))

    def slope(self, y: Array, f: Array) -> Array:
        z, h = 1.0 - y * f, self.width
        return -y * np.clip((z + h) / (2.0 * h), 0.0, 1.0)

    def curvature(self, y: Array, f: Array) -> Array:
        return (np.abs(1.0 - y * f) < self.width) / (2.0 * self.width)


class Multinomial:
    """The multinomial logistic loss -log softmax(f)_y, with one decision value per class."""

    def value(self, y: Array, f: Array) -> Array:
        return np.asarray(-np.sum(y * log_softmax(f, axis=1), axis=1))

    def slope(self, y: Array, f: Array) -> Array:
        return np.asarray(softmax(f, axis=1) - y)

    def curvature(self, y: Array, f: Array) -> Array:
        # The n x C x C curvature is diag(p) - pp'; p says it all.
        return np.asarray(softmax(f, axis=1))

    def log_probability(self, f: Array) -> Array:
        return np.asarray(log_softmax(f, axis=1))

    def probability(self, f: Array) -> Array:
        return np.asarray(softmax(f, axis=1))


# Losses of one decision value, by the names that `KernelLossClassifier` takes.
LOSSES: dict[str, type[Loss]] = {
    "logistic": Logistic,
    "squared": Squared,
    "squared_hinge": SquaredHinge,
    "hinge": SmoothHinge,
}
