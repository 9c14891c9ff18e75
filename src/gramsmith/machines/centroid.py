"""The hyperplane between class means with a guaranteed bound on its training error."""

from __future__ import annotations

from itertools import combinations
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils._param_validation import Interval

from gramsmith.machines.base import KernelClassifier
from gramsmith.machines.svm import votes

Array = npt.NDArray[Any]


class CentroidClassifier(KernelClassifier):
    r"""Separate class means, with a guarantee for the training error.

    .. math:: g(x) = \langle \bar\phi_a - \bar\phi_b, \phi(x) \rangle, \qquad
              t = \frac{s_b\, \bar g_a + s_a\, \bar g_b}{s_a + s_b}, \qquad
              \mathrm{err} \le \frac{F^2}{1 + F^2}

    where s are the standard deviations of g within the classes and F = (s_a + s_b) / d² is the
    feature space measure (FSM) of Nguyen & Ho; the bound holds for each class by itself. Several
    classes vote in pairs, and the bounds of the pairs add up.

    Parameters
    ----------
    ddof : {0, 1}, default=0
        0 divides variances by n, which gives the tight bound; 1 by n - 1, as in the paper. With
        weights n is still the number of rows.

    Attributes
    ----------
    fsm_ : array of shape (n_classes, n_classes)
        The measure of every pair of classes; infinite where their means coincide.
    class_error_bounds_ : array of shape (n_classes,)
        Guaranteed bounds on the share of wrong training samples of each class.
    error_bound_ : float
        Guaranteed bound on the share of wrong training samples.
    coefficients_ : array of shape (n_support, n_pairs)
        Their weights in each pair of classes.
    intercept_ : array of shape (n_pairs,)
        Minus the thresholds.

    References
    ----------
    C. H. Nguyen, T. B. Ho, "An efficient kernel matrix evaluation measure", Pattern Recognition 41,
    2008.

    Examples
    --------
    >>> import gramsmith as gs
    >>> X, y = [[0.0], [1.0], [4.0], [5.0]], [0, 0, 1, 1]
    >>> machine = gs.CentroidClassifier(gs.Linear()).fit(X, y)
    >>> machine.predict([[1.5], [3.5]]), round(machine.error_bound_, 4)
    (array([0, 1]), 0.0588)
    """

    _stored: ClassVar[dict[str, str]] = {
        "fsm_": "loose c c | real",
        "class_error_bounds_": "loose *",
        "error_bound_": "real",
    }

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **KernelClassifier._parameter_constraints,
        "ddof": [Interval(Integral, 0, 1, closed="both")],
    }

    def __init__(
        self, kernel: Any = None, *, ddof: int = 0, n_jobs: int | None = None, engine: Any = None
    ) -> None:
        self.kernel = kernel
        self.ddof = ddof
        self.n_jobs = n_jobs
        self.engine = engine

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        train = self._begin(X, y, sample_weight)
        C, w = len(self.classes_), train.weight
        size = np.bincount(train.y, w, C)
        V = np.eye(C)[train.y] * (w / size[train.y])[:, None]
        M = self._gram(train.X) @ V  # the kernel of every sample with every class mean
        pairs = list(combinations(range(C), 2))
        self.fsm_ = np.zeros((C, C))
        thresholds, signs = [], []
        noise = 100.0 * train.n * float(np.finfo(float).eps) * float(np.abs(M).max())
        for a, b in pairs:
            # A positive value means class a, but with two classes the second, as everywhere.
            a, b = (b, a) if C == 2 else (a, b)
            t, F = _boundary(M[:, a] - M[:, b], train.y, w, a, b, self.ddof, noise)
            self.fsm_[a, b] = self.fsm_[b, a] = F
            thresholds.append(t)
            signs.append(np.eye(C)[a] - np.eye(C)[b])
        with np.errstate(invalid="ignore"):
            bounds = np.where(np.isinf(self.fsm_), 1.0, self.fsm_**2 / (1.0 + self.fsm_**2))
        np.fill_diagonal(bounds, 0.0)
        self.class_error_bounds_ = np.minimum(1.0, bounds.sum(axis=1))
        self.error_bound_ = float(size @ self.class_error_bounds_ / size.sum())
        self._keep(train, V @ np.array(signs).T, -np.array(thresholds))
        return self

    @property
    def _n_outputs(self) -> int:
        return len(self.classes_) * (len(self.classes_) - 1) // 2

    def decision_function(self, X: Any) -> Array:
        F = self._expand(X)
        return F[:, 0] if len(self.classes_) == 2 else votes(F, len(self.classes_))


def _boundary(
    g: Array, y: Array, w: Array, a: int, b: int, ddof: int, noise: float
) -> tuple[float, float]:
    """Return the threshold between the values of two classes, and their FSM."""
    means, sds = [], []
    for c in (a, b):
        mine, share = g[y == c], w[y == c] / w[y == c].sum()
        mean = float(share @ mine)
        # Freedom is counted in rows. A class of one has no spread, whatever the divisor.
        freedom = max(len(mine) - ddof, 1) / len(mine)
        sds.append(float(np.sqrt(share @ (mine - mean) ** 2 / freedom)))
        means.append(mean)
    (high, low), (s_a, s_b) = means, sds
    d2, spread = high - low, s_a + s_b
    if d2 <= 4.0 * noise:  # so that values within the noise of one mean are not within the other's
        return 0.5 * (high + low), float("inf")
    t = (s_b * high + s_a * low) / spread if spread > 0 else 0.5 * (high + low)
    return _untie(t, g[y == a], g[y == b], noise), spread / d2


def _untie(t: float, upper: Array, lower: Array, noise: float) -> float:
    """Move the threshold off training values that lie on it.

    The bound counts ties as errors of a class with spread. A class without spread may have all of
    its values on the threshold, and no error at all: the threshold moves away from that one.
    """
    values = np.concatenate([upper, lower])
    if np.min(np.abs(values - t)) > noise:
        return t
    below, above = values[values < t - noise], values[values > t + noise]
    upward = len(above) and (np.abs(lower - t) <= noise).all()
    return 0.5 * (t + float(above.min() if upward or not len(below) else below.max()))
