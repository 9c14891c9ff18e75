"""The L2-SVM: squared slacks, solved in closed form on its support, and a bound of its errors."""

from __future__ import annotations

from itertools import combinations
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from gramsmith.arguments import as_flag
from gramsmith.machines.base import KernelClassifier
from gramsmith.machines.svm import votes
from gramsmith.solvers import solve_ball, solve_l2svm, warn_unless_converged
from gramsmith.solvers.definite import clip_negative

Array = npt.NDArray[Any]


class L2SVC(KernelClassifier):
    r"""Support vector classifier with squared slacks.

    .. math:: \|w\|^2 = \max_{a \ge 0,\ y'a = 0} 2\,1'a - (a*y)'(K + I/C)(a*y), \qquad
              f(x) = \sum_i a_i y_i k(x_i, x) + b

    Training adds I/C to the kernel, prediction does not. With the radius R of the smallest ball
    around the samples, R²|w|² bounds the number of leave-one-out errors. Several classes are
    decided by one machine per pair.

    Parameters
    ----------
    kernel : Kernel, name, scikit-learn kernel, callable or None
        Whatever `as_kernel` takes; None is the Gaussian with gamma = 1 / Σ var. Negative
        eigenvalues of a kernel that is not positive definite are set to zero, with a warning; then
        every training sample stays in the expansion.
    C : float, default=1.0
        Penalty of the squared slacks.
    class_weight : dict, "balanced" or None
        Factors on the weights of the samples by class; "balanced" gives all classes the same
        total. They are factors on C, and count in the radius too.
    radius : bool, default=True
        Whether to find the ball, without which there is no bound.
    max_iter : int, default=500
        Most Newton steps of each solver.
    verbose : bool, default=False
        Whether to print a line per pair of classes.

    Attributes
    ----------
    squared_norms_ : array of shape (n_pairs,)
        |w|² of every pair of classes.
    margins_ : array of shape (n_pairs,)
        1/|w|.
    squared_radii_ : array of shape (n_pairs,)
        R² of every pair of classes, if asked for.
    radius_margin_bounds_ : array of shape (n_pairs,)
        R²|w|² of every pair of classes, if asked for.
    dual_variables_ : array of shape (n_support, n_pairs)
        a >= 0.
    n_iter_ : int
        Newton steps of the longest run.
    jitter_ : float
        What was added to a diagonal that was singular to working precision; 0 if nothing.
    support_ : int array of shape (n_support,)
        Support vectors: training samples with a > 1e-8 max a in some pair.
    coefficients_ : array of shape (n_support, n_pairs)
        a times the signs of the classes, if the kernel is positive definite.
    intercept_ : array of shape (n_pairs,)
        The biases.

    Examples
    --------
    >>> import gramsmith as gs
    >>> X, y = [[-2.0], [-1.0], [1.0], [2.0]], [0, 0, 1, 1]
    >>> machine = gs.L2SVC(gs.Linear(), C=1e6).fit(X, y)
    >>> machine.support_, machine.margins_.round(3), machine.radius_margin_bounds_.round(3)
    (array([1, 2]), array([1.]), array([4.]))
    """

    _stored: ClassVar[dict[str, str]] = {
        "n_iter_": "whole",
        "jitter_": "number",
        "squared_norms_": "loose *",
        "margins_": "loose *",
        "squared_radii_": "loose *",
        "radius_margin_bounds_": "loose *",
        "dual_variables_": "array s t",
    }

    def __init__(
        self,
        kernel: Any = None,
        *,
        C: float = 1.0,
        class_weight: Any = None,
        radius: bool = True,
        max_iter: int = 500,
        verbose: bool = False,
        n_jobs: int | None = None,
        engine: Any = None,
    ) -> None:
        self.kernel = kernel
        self.C = C
        self.class_weight = class_weight
        self.radius = radius
        self.max_iter = max_iter
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.engine = engine

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        train = self._begin(X, y, sample_weight)
        prices = float(self.C) * train.weight
        if not (1e-100 <= prices.min() and prices.max() <= 1e100):
            raise ValueError(
                "L2SVC: expected C times the weights between 1e-100 and 1e100, got "
                f"{prices.min():.3g} to {prices.max():.3g}. Rescale the weights, and leave out "
                "rows that do not count."
            )
        remedy = "Use KernelLossClassifier(loss='squared_hinge'), which takes landmarks."
        K, kept = clip_negative(self._dense(train, remedy, copies=4))
        classes = len(self.classes_)
        pairs = list(combinations(range(classes), 2))
        coefficients, biases = np.zeros((train.n, len(pairs))), np.zeros(len(pairs))
        norms, radii = np.zeros(len(pairs)), np.zeros(len(pairs))
        self.n_iter_, self.jitter_ = 0, 0.0
        steps = int(self.max_iter)
        for k, (a, b) in enumerate(pairs):
            # A positive value means class a, but with two classes the second, as everywhere.
            first, second = (b, a) if classes == 2 else (a, b)
            rows = np.flatnonzero((train.y == a) | (train.y == b))
            part = K if len(rows) == train.n else K[np.ix_(rows, rows)]
            w = None if train.w is None else train.w[rows]
            sign = np.where(train.y[rows] == first, 1.0, -1.0)
            found = solve_l2svm(part, sign, float(self.C), sample_weight=w, max_iter=steps)
            labels = self.classes_[[second, first]].tolist()
            warn_unless_converged(found, f"L2SVC (classes {labels[0]!r} and {labels[1]!r})")
            if self.verbose:
                print(f"[L2SVC] {labels[0]!r} v {labels[1]!r}: {found.n_iter} steps")
            coefficients[rows, k] = np.where(found.a > 1e-8 * found.a.max(), found.coef, 0.0)
            biases[k], norms[k] = found.bias, found.w2
            self.n_iter_ = max(self.n_iter_, found.n_iter)
            self.jitter_ = max(self.jitter_, found.jitter)
            if as_flag("radius", self.radius):
                ball = solve_ball(part, float(self.C), sample_weight=w, max_iter=steps)
                warn_unless_converged(ball, "L2SVC (enclosing ball)")
                radii[k] = ball.r2
                self.n_iter_ = max(self.n_iter_, ball.n_iter)
                self.jitter_ = max(self.jitter_, ball.jitter)
        self.squared_norms_, self.margins_ = norms, 1.0 / np.sqrt(norms)
        for name in ("squared_radii_", "radius_margin_bounds_"):
            self.__dict__.pop(name, None)
        if self.radius:
            self.squared_radii_, self.radius_margin_bounds_ = radii, radii * norms
        expansion = kept(coefficients)
        index = np.flatnonzero(np.any(expansion != 0, axis=1))
        self._keep(train, expansion[index], biases, index)
        self.dual_variables_ = np.abs(coefficients[index])
        return self

    @property
    def _n_outputs(self) -> int:
        return len(self.classes_) * (len(self.classes_) - 1) // 2

    def decision_function(self, X: Any) -> Array:
        F = self._expand(X)
        return F[:, 0] if len(self.classes_) == 2 else votes(F, len(self.classes_))
