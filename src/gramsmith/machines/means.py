"""Machines of class means: the Parzen window classifier, and the hyperplane between means."""

from __future__ import annotations

import warnings
from itertools import combinations
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.utils._param_validation import Interval, StrOptions

from gramsmith.machines.base import KernelClassifier, PairwiseVotes, Training
from gramsmith.parameters import with_parameters

Array = npt.NDArray[Any]

DEPRECATED = {"uneven": "balanced", "even": "uniform"}  # weights as 0.2 called them, which warn


@with_parameters
class ParzenClassifier(KernelClassifier):
    r"""Classify by the kernel-weighted mean of the labels.

    .. math:: f(x) = \sum_i v_i y_i k(x_i, x) - t, \qquad
              v_i = \frac{w_i}{\sum_j w_j} \text{ (uniform)} \quad\text{or}\quad
              \frac{w_i}{\sum_{j : y_j = y_i} w_j} \text{ (balanced)}

    for labels y = ±1; with several classes each has its own value, the sum over its members. The
    plain rule, t = 0, is only as good as the balance of the classes and the offset of the kernel:
    on rare classes it may call every sample positive. Here the threshold is chosen on leave-one-out
    values, which cost one pass over the Gram matrix that is never held. Multiplying all weights by
    a number changes nothing.

    Parameters
    ----------
    weights : {"balanced", "uniform"}, default="balanced"
        "balanced": every class counts alike, whatever its size; "uniform": every sample does. Their
        names of 0.2, "uneven" and "even", warn and go in 0.5.
    threshold : {"loo", "prior"} or float, default="loo"
        "loo" optimises `criterion` on leave-one-out values; "prior" predicts each class as often as
        it occurs; a number is taken as it is (two classes only, or 0).
    criterion : {"error", "balanced_error", "f1"}, default="error"
        What "loo" optimises: the share of errors, its mean over classes, or the mean F1 of classes.

    Attributes
    ----------
    thresholds_ : array of shape (n_classes,)
        What is subtracted from the value of each class; of two classes only the second has one.
    loo_score_ : float
        The criterion on the leave-one-out values at these thresholds (an error, or F1).
    coefficients_ : array of shape (n_support, 1) or (n_support, n_classes)
        v_i y_i of the formula, or one column of v_i per class.
    intercept_ : array of shape (1,) or (n_classes,)
        Minus the thresholds.

    Examples
    --------
    >>> import gramsmith as gs
    >>> X, y = [[0.0], [0.2], [0.4], [3.0]], ["common", "common", "common", "rare"]
    >>> gs.ParzenClassifier(gs.Gaussian(1.0)).fit(X, y).predict([[0.1], [2.5]])
    array(['common', 'rare'], dtype='<U6')
    """

    _stored: ClassVar[dict[str, str]] = {"thresholds_": "loose *", "loo_score_": "real | none"}

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "weights": [StrOptions({"balanced", "uniform", *DEPRECATED}, deprecated={*DEPRECATED})],
        "threshold": [StrOptions({"loo", "prior"}), Interval(Real, None, None, closed="neither")],
        "criterion": [StrOptions({"error", "balanced_error", "f1"})],
    }

    weights: str = "balanced"
    threshold: Any = "loo"
    criterion: str = "error"

    def _fit(self, train: Training) -> None:
        train = train.of_mean_one()
        C, w = len(self.classes_), train.weight
        if C > 2 and not isinstance(self.threshold, str) and self.threshold != 0:
            raise ValueError(
                f"ParzenClassifier: expected threshold 0, 'loo' or 'prior' for {C} classes, got "
                f"{self.threshold!r}. One number cannot separate more than two classes."
            )
        balanced = self._counts_classes_alike()
        size = np.bincount(train.y, w, C)
        V = np.eye(C)[train.y] * w[:, None]
        scale = 1.0 / size if balanced else np.full(C, 1.0 / size.sum())
        scores = self._loo_scores(train, V, size, balanced)
        coefficients = V * scale
        if C == 2:
            coefficients, scores = (M @ [[-1.0], [1.0]] for M in (coefficients, scores))
        t = self._best_thresholds(scores, train, size)
        self.thresholds_ = np.array([0.0, t[0]]) if C == 2 else t
        F = scores - t
        code = (F[:, 0] > 0).astype(int) if C == 2 else F.argmax(axis=1)
        hits = np.bincount(train.y, w * (code == train.y), C)
        self.loo_score_ = float(_criterion(self.criterion, hits, np.bincount(code, w, C), size))
        self._keep(train, coefficients, -t)

    def _counts_classes_alike(self) -> bool:
        """Return whether weights are balanced; a name of old warns."""
        if self.weights in DEPRECATED:
            warnings.warn(
                f'weights="{self.weights}" is now called weights="{DEPRECATED[self.weights]}"; '
                "the old name goes in 0.5.",
                FutureWarning,
                stacklevel=4,
            )
        return DEPRECATED.get(self.weights, self.weights) == "balanced"

    def _loo_scores(self, train: Training, V: Array, size: Array, balanced: bool) -> Array:
        """Return the value of every class at every sample, the row of the sample left out."""
        G = self._gram(train.X)
        P, d, w = G @ V, G.diagonal(), train.weight
        here = np.arange(train.n), train.y
        P[here] -= w * d
        if not balanced:
            return np.asarray(P / (size.sum() - w)[:, None])
        P = P / size
        # From the others: the difference would not be zero for the only member of a class.
        rest = np.where(np.bincount(train.y)[train.y] > 1, size[train.y] - w, 0.0)
        # The only member of a class has nothing left to be compared with.
        P[here] = np.where(rest > 0, P[here] * size[train.y] / np.where(rest > 0, rest, 1.0), 0.0)
        return np.asarray(P)

    def _best_thresholds(self, scores: Array, train: Training, size: Array) -> Array:
        """Return one threshold per column of the scores."""
        C = scores.shape[1]
        if not isinstance(self.threshold, str):
            return np.full(C, float(self.threshold))
        if C == 1:
            return np.array([self._best_cut(scores[:, 0], 1, np.zeros(train.n, int), train, size)])
        # Several classes: one threshold at a time against the best of the others, twice around.
        t = np.zeros(C)
        for c in [*range(C), *range(C)]:
            others = np.delete(scores - t, c, axis=1)
            rival = np.delete(np.arange(C), c)[others.argmax(axis=1)]
            t[c] = self._best_cut(scores[:, c] - others.max(axis=1), c, rival, train, size)
        return t

    def _best_cut(self, margin: Array, c: int, rival: Array, train: Training, size: Array) -> float:
        """Return the threshold of one margin; class c is predicted above it, `rival` below."""
        cuts, order = _cuts(margin), np.argsort(margin, kind="stable")
        place = np.searchsorted(margin[order], cuts, side="right")
        w, truth, rival = train.weight[order], train.y[order], rival[order]
        if self.threshold == "prior":
            above = w.sum() - np.concatenate([[0.0], np.cumsum(w)])
            return float(cuts[np.argmin(np.abs(above[place] - size[c]))])
        # Counts at every cut: below it lies one sample after the other, given to its rival.
        E = np.eye(len(size))
        called, hits = w.sum() * E[c], size[c] * E[c]
        moved = w[:, None] * (E[rival] - E[c])
        right = w[:, None] * ((truth == rival)[:, None] * E[rival] - (truth == c)[:, None] * E[c])
        called = np.vstack([called, called + np.cumsum(moved, axis=0)])
        hits = np.vstack([hits, hits + np.cumsum(right, axis=0)])
        value = _criterion(self.criterion, hits[place], called[place], size)
        value = -value if self.criterion == "f1" else value
        # Of equally good cuts the middle one is farthest from the others.
        best = np.flatnonzero(value <= value.min() + 1e-12)
        return float(cuts[best[len(best) // 2]])


def _cuts(margin: Array) -> Array:
    """Return one number below, between and above the distinct values of a margin."""
    values = np.unique(margin)
    step = max(values[-1] - values[0], abs(values[0]), 1e-12)
    between = 0.5 * (values[1:] + values[:-1])
    return np.concatenate([[values[0] - step], between, [values[-1] + step]])


def _criterion(name: str, hits: Array, called: Array, size: Array) -> Array:
    """Return error, balanced error or mean F1 from counts per class in the last axis."""
    if name == "error":
        return np.asarray(1.0 - hits.sum(axis=-1) / size.sum())
    if name == "balanced_error":
        return np.asarray(1.0 - (hits / size).mean(axis=-1))
    return np.asarray((2.0 * hits / (called + size)).mean(axis=-1))


@with_parameters
class CentroidClassifier(PairwiseVotes):
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
        "ddof": [Interval(Integral, 0, 1, closed="both")]
    }

    ddof: int = 0

    def _fit(self, train: Training) -> None:
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
