"""The L2-SVM: squared slacks, solved in closed form on its support, and a bound of its errors."""

from __future__ import annotations

from itertools import combinations
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from gramsmith.arguments import as_flag
from gramsmith.machines.base import PairwiseVotes, Training
from gramsmith.parameters import with_parameters
from gramsmith.solvers import solve_ball, solve_l2svm, warn_unless_converged
from gramsmith.solvers.definite import clip_negative

Array = npt.NDArray[Any]


@with_parameters
class L2SVC(PairwiseVotes):
    r"""Support vector classifier with squared slacks.

    .. math:: \|w\|^2 = \max_{a \ge 0,\ y'a = 0} 2\,1'a - (a*y)'(K + I/C)(a*y), \qquad
              f(x) = \sum_i a_i y_i k(x_i, x) + b

    Training adds I/C to the kernel, prediction does not. With the radius R of the smallest ball
    around the samples, R²|w|² bounds the number of leave-one-out errors. Several classes are
    decided by one classifier per pair. If the kernel is not positive definite, every training
    sample stays in the expansion.

    Parameters
    ----------
    C : float, default=1.0
        Penalty of the squared slacks.
    class_weight : dict, "balanced" or None
        Factors on the weights of the samples by class; "balanced" gives all classes the same
        total. They are factors on C, and count in the radius too.
    radius : bool, default=True
        Whether to find the ball, without which there is no bound.
    max_iter : int, default=500
        Most Newton steps of each solver.

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
        "squared_radii_": "loose *?",
        "radius_margin_bounds_": "loose *?",
        "dual_variables_": "array s t",
    }

    _remedy = "Use KernelLossClassifier(loss='squared_hinge'), which takes landmarks."
    _copies = 4

    C: float = 1.0
    class_weight: Any = None
    radius: bool = True
    max_iter: int = 500
    verbose: bool = False

    def solve(self, K: Array, y: Array, w: Array) -> tuple[Array, Array]:
        prices = float(self.C) * w
        if not (1e-100 <= prices.min() and prices.max() <= 1e100):  # their squares are finite
            raise ValueError(
                "L2SVC: expected C times the weights between 1e-100 and 1e100, got "
                f"{prices.min():.3g} to {prices.max():.3g}. Rescale the weights, and leave out "
                "rows that do not count."
            )
        K, kept = clip_negative(K)
        pairs = list(combinations(range(len(self.classes_)), 2))
        coefficients, biases = np.zeros((len(y), len(pairs))), np.zeros(len(pairs))
        norms, radii = np.zeros(len(pairs)), np.zeros(len(pairs))
        self.n_iter_, self.jitter_ = 0, 0.0
        radius = as_flag("radius", self.radius)
        for k, (a, b) in enumerate(pairs):
            # A positive value means class a, but with two classes the second, as everywhere.
            first, second = (b, a) if len(pairs) == 1 else (a, b)
            rows = np.flatnonzero((y == a) | (y == b))
            block = K if len(rows) == len(y) else K[np.ix_(rows, rows)]
            options: Any = {"sample_weight": w[rows], "max_iter": int(self.max_iter)}
            sign = np.where(y[rows] == first, 1.0, -1.0)
            solution = solve_l2svm(block, sign, float(self.C), **options)
            labels = self.classes_[[second, first]].tolist()
            warn_unless_converged(solution, f"L2SVC (classes {labels[0]!r} and {labels[1]!r})")
            self._say(f"{labels[0]!r} v {labels[1]!r}: {solution.n_iter} steps")
            support = solution.support
            coefficients[rows[support], k] = solution.c[support]
            biases[k], norms[k] = solution.bias, solution.w2
            outcomes: list[Any] = [solution]
            if radius:
                ball = solve_ball(block, float(self.C), **options)
                warn_unless_converged(ball, "L2SVC (enclosing ball)")
                radii[k] = ball.r2
                outcomes.append(ball)
            self.n_iter_ = max(self.n_iter_, *(outcome.n_iter for outcome in outcomes))
            self.jitter_ = max(self.jitter_, *(outcome.jitter for outcome in outcomes))
        self.squared_norms_, self.margins_ = norms, 1.0 / np.sqrt(norms)
        if radius:
            self.squared_radii_, self.radius_margin_bounds_ = radii, radii * norms
        self.dual_variables_ = np.abs(coefficients)
        return kept(coefficients), biases

    def _fit(self, train: Training) -> None:
        super()._fit(train)
        self.dual_variables_ = self.dual_variables_[np.isin(train.rows, self.support_)]
