"""Solvers: what measures cannot get from sums alone, on dense blocks and matrix products."""

from gramsmith.solvers.cholesky import CholeskyFactor, pivoted_cholesky
from gramsmith.solvers.margin import (
    BallSolution,
    MarginSolution,
    RadiusMargin,
    radius_margin,
    solve_ball,
    solve_l2svm,
)
from gramsmith.solvers.nonnegative import NonnegativeSolution, solve_nonnegative
from gramsmith.solvers.outcome import Outcome, warn_unless_converged
from gramsmith.solvers.ridge import RidgePath, RidgeSolution, ridge_loo_error

__all__ = [
    "BallSolution",
    "CholeskyFactor",
    "MarginSolution",
    "NonnegativeSolution",
    "Outcome",
    "RadiusMargin",
    "RidgePath",
    "RidgeSolution",
    "pivoted_cholesky",
    "radius_margin",
    "ridge_loo_error",
    "solve_ball",
    "solve_l2svm",
    "solve_nonnegative",
    "warn_unless_converged",
]
