"""The radius-margin bound of the L2-SVM as an objective, warm-started from step to step.

RMB = R² |w|² of K + I/C. Both maximisers are unique, so by Danskin's theorem

    dRMB/dK = |w|² (diag(b) - bb') - R² (a*y)(a*y)'

without any derivative of the solutions. The alignment of a kernel costs one sweep, this bound two
quadratic programs: the rival of Fortuna & Capson in Pothin & Richard (000), Table 3.
"""

from __future__ import annotations

import numpy as np

from gramsmith.learning.objective import Array
from gramsmith.measures import Undefined
from gramsmith.solvers import BallSolution, MarginSolution, solve_ball, solve_l2svm
from gramsmith.targets import Target


class RadiusMarginCriterion:
    """log R² |w|², the squared margins of more than two classes added up one against the rest.

    The logarithm gives the same order and the same optimum; its steps do not depend on the size of
    the bound.

    Parameters
    ----------
    target : Target
        Of classes.
    C : float
        Penalty of the squared slacks.
    """

    name = "radius_margin"
    sign = -1.0

    def __init__(self, target: Target, C: float = 100.0) -> None:
        if target.kind != "classes":
            raise Undefined(
                "Expected classes for the radius-margin bound, got real values or several labels. "
                'Use measure="cka", or "ridge_loo" in KernelLearner.'
            )
        if not (np.isfinite(C) and C > 0):
            raise ValueError(f"Expected C > 0, got {C!r}. Use, for example, C=100.0.")
        self.C = float(C)
        ones = target.V[:, 1:] if target.V.shape[1] == 2 else target.V
        self.Y = 2.0 * ones - 1.0
        self.ball: BallSolution | None = None
        self.margins: list[MarginSolution | None] = [None] * self.Y.shape[1]

    def __call__(self, K: Array, derivative: bool) -> tuple[float, Array | None]:
        """Return log RMB of a Gram matrix and its derivative."""
        self.ball = solve_ball(K, self.C, start=None if self.ball is None else self.ball.b)
        w2, dw2 = 0.0, np.zeros_like(K) if derivative else None
        for c, y in enumerate(self.Y.T):
            before = self.margins[c]
            margin = solve_l2svm(K, y, self.C, start=None if before is None else before.a)
            self.margins[c] = margin
            w2 += margin.w2
            if dw2 is not None:
                dw2 -= np.outer(margin.coef, margin.coef)
        b, r2 = self.ball.b, self.ball.r2
        if w2 <= 0 or r2 <= 0:
            return np.inf, None
        value = float(np.log(w2) + np.log(r2))
        if dw2 is None:
            return value, None
        return value, dw2 / w2 + (np.diag(b) - np.outer(b, b)) / r2
