"""Losses: how wrong a decision value is. One small interface, two derivatives.

A loss knows the coding of its targets (`encode`), its value per sample, its slope and curvature by
the decision values, and how decision values become probabilities, if they do.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit, log_expit, log_softmax, softmax

Array = npt.NDArray[Any]


class Loss:
    """A convex function of the decision values f, shape (n,) for all but the multinomial loss.

    Subclasses give `value`, `slope` and `curvature`; those with `proper = True` also `probability`.
    """

    proper = False
    multiclass = False

    def encode(self, codes: Array, n_classes: int) -> Array:
        """Return targets for class numbers 0 ... n_classes - 1: here -1 and +1."""
        return np.where(codes == n_classes - 1, 1.0, -1.0)

    def value(self, y: Array, f: Array) -> Array:
        """Return the loss of every sample, shape (n,)."""
        raise TypeError(f"{type(self).__name__} defines no value.")

    def slope(self, y: Array, f: Array) -> Array:
        """Return the derivative by f, of the shape of f."""
        raise TypeError(f"{type(self).__name__} defines no slope.")

    def curvature(self, y: Array, f: Array) -> Array:
        """Return the second derivative by f; the class probabilities for the multinomial loss."""
        raise TypeError(f"{type(self).__name__} defines no curvature.")

    def probability(self, f: Array) -> Array:
        """Return class probabilities, shape (n, n_classes)."""
        raise TypeError(f"{type(self).__name__} gives no probabilities.")

    def log_probability(self, f: Array) -> Array:
        """Return their logarithms, finite however small they are."""
        raise TypeError(f"{type(self).__name__} gives no probabilities.")


class Logistic(Loss):
    """The logistic loss, log(1 + exp(-y f)).

    Examples
    --------
    >>> import numpy as np
    >>> from gramsmith.solvers.losses import Logistic
    >>> Logistic().value(np.array([1.0]), np.array([0.0])).round(4)
    array([0.6931])
    """

    proper = True

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


class Squared(Loss):
    """The squared loss, (y - f)²/2: least squares on labels -1 and +1.

    Examples
    --------
    >>> import numpy as np
    >>> from gramsmith.solvers.losses import Squared
    >>> Squared().slope(np.array([1.0]), np.array([3.0]))
    array([2.])
    """

    def value(self, y: Array, f: Array) -> Array:
        return 0.5 * (y - f) ** 2

    def slope(self, y: Array, f: Array) -> Array:
        return f - y

    def curvature(self, y: Array, f: Array) -> Array:
        return np.ones_like(f)


class SquaredHinge(Loss):
    """The squared hinge, max(0, 1 - y f)²/2: the loss of the L2-SVM.

    Examples
    --------
    >>> import numpy as np
    >>> from gramsmith.solvers.losses import SquaredHinge
    >>> SquaredHinge().value(np.array([1.0, 1.0]), np.array([-1.0, 2.0]))
    array([2., 0.])
    """

    def value(self, y: Array, f: Array) -> Array:
        return 0.5 * np.maximum(0.0, 1.0 - y * f) ** 2

    def slope(self, y: Array, f: Array) -> Array:
        return -y * np.maximum(0.0, 1.0 - y * f)

    def curvature(self, y: Array, f: Array) -> Array:
        return (y * f < 1.0).astype(np.float64)


class SmoothHinge(Loss):
    """The hinge max(0, 1 - y f) of the SVM, its corner rounded over a width.

    Parameters
    ----------
    width : float, default=0.05
        Where |1 - y f| < width the hinge is replaced by a parabola; the loss differs from the
        hinge by at most width/4.

    Examples
    --------
    >>> import numpy as np
    >>> from gramsmith.solvers.losses import SmoothHinge
    >>> SmoothHinge(0.1).value(np.array([1.0, 1.0]), np.array([0.0, 1.0]))
    array([1.   , 0.025])
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


class Multinomial(Loss):
    """The multinomial logistic loss -log softmax(f)_y, with one decision value per class.

    Examples
    --------
    >>> import numpy as np
    >>> from gramsmith.solvers.losses import Multinomial
    >>> loss = Multinomial()
    >>> loss.value(loss.encode(np.array([1]), 3), np.zeros((1, 3))).round(4)
    array([1.0986])
    """

    proper = True
    multiclass = True

    def encode(self, codes: Array, n_classes: int) -> Array:
        return np.eye(n_classes)[codes]

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


LOSSES: dict[str, type[Loss]] = {
    "logistic": Logistic,
    "squared": Squared,
    "squared_hinge": SquaredHinge,
    "hinge": SmoothHinge,
    "multinomial": Multinomial,
}


def make_loss(name: str) -> Loss:
    """Return the loss of a name: logistic, squared, squared_hinge, hinge or multinomial.

    Parameters
    ----------
    name : str

    Returns
    -------
    Loss
    """
    if name not in LOSSES:
        raise ValueError(f"Expected a loss out of {', '.join(LOSSES)}, got {name!r}. Choose one.")
    return LOSSES[name]()
