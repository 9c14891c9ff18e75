"""Solvers: what measures cannot get from sums alone, on dense blocks and matrix products."""

from gramsmith.solvers.cg import conjugate_gradients as conjugate_gradients
from gramsmith.solvers.definite import pivoted_cholesky as pivoted_cholesky
from gramsmith.solvers.evidence import EvidenceSolution as EvidenceSolution
from gramsmith.solvers.evidence import fit_bernoulli_evidence as fit_bernoulli_evidence
from gramsmith.solvers.evidence import fit_gaussian_evidence as fit_gaussian_evidence
from gramsmith.solvers.fisher import solve_fisher as solve_fisher
from gramsmith.solvers.margin import BallSolution as BallSolution
from gramsmith.solvers.margin import MarginSolution as MarginSolution
from gramsmith.solvers.margin import solve_ball as solve_ball
from gramsmith.solvers.margin import solve_l2svm as solve_l2svm
from gramsmith.solvers.newton import fit_expansion as fit_expansion
from gramsmith.solvers.newton import fit_features as fit_features
from gramsmith.solvers.nonnegative import solve_nonnegative as solve_nonnegative
from gramsmith.solvers.outcome import Outcome as Outcome
from gramsmith.solvers.outcome import warn_unless_converged as warn_unless_converged
from gramsmith.solvers.ridge import RidgePath as RidgePath
