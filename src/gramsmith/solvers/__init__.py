"""Solvers: what measures cannot get from sums alone, on dense blocks and matrix products."""

from gramsmith.solvers.cg import CgSolution, conjugate_gradients
from gramsmith.solvers.definite import CholeskyFactor, pivoted_cholesky
from gramsmith.solvers.evidence import (
    EvidenceSolution,
    fit_bernoulli_evidence,
    fit_gaussian_evidence,
)
from gramsmith.solvers.fisher import FisherSolution, solve_fisher
from gramsmith.solvers.margin import (
    BallSolution,
    MarginSolution,
    solve_ball,
    solve_l2svm,
)
from gramsmith.solvers.newton import Expansion, fit_expansion, fit_features
from gramsmith.solvers.nonnegative import NonnegativeSolution, solve_nonnegative
from gramsmith.solvers.outcome import Outcome, warn_unless_converged
from gramsmith.solvers.ridge import RidgePath, RidgeSolution

__all__ = [
    "BallSolution",
    "CgSolution",
    "CholeskyFactor",
    "EvidenceSolution",
    "Expansion",
    "FisherSolution",
    "MarginSolution",
    "NonnegativeSolution",
    "Outcome",
    "RidgePath",
    "RidgeSolution",
    "conjugate_gradients",
    "fit_bernoulli_evidence",
    "fit_expansion",
    "fit_features",
    "fit_gaussian_evidence",
    "pivoted_cholesky",
    "solve_ball",
    "solve_fisher",
    "solve_l2svm",
    "solve_nonnegative",
    "warn_unless_converged",
]
