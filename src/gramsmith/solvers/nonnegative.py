"""Non-negative least squares for a quadratic form that may be singular."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import nnls

from gramsmith.solvers.outcome import Outcome

Array = npt.NDArray[Any]


@dataclass(frozen=True, kw_only=True)
class NonnegativeSolution(Outcome):
    """The minimiser of v'Mv - 2a'v over v >= 0."""

    v: Array  # (m,)
    value: float  # v'Mv - 2a'v
    # how far the optimality conditions Mv >= a, v*(Mv - a) = 0 are missed, relative to |a|
    violation: float


def solve_nonnegative(M: Array, a: Array, *, tol: float = 1e-8) -> NonnegativeSolution:
    """Minimise v'Mv - 2a'v over v >= 0, for a positive semidefinite M.

    M is scaled to unit diagonal and factored by its eigenvectors, not by Cholesky: equal kernels
    make it singular, and the optimum then is not unique but the fit is. `tol` is the largest
    relative violation of the optimality conditions that counts as solved.
    """
    M, a = np.asarray(M, dtype=np.float64), np.asarray(a, dtype=np.float64)
    if M.shape != (len(a), len(a)) or not (np.isfinite(M).all() and np.isfinite(a).all()):
        raise ValueError(
            f"Expected finite M of shape (m, m) and a of shape (m,), got {M.shape} and {a.shape}. "
            "Check the kernels for overflow."
        )
    scale = np.sqrt(M.diagonal().clip(min=0.0))
    scale[scale == 0.0] = 1.0
    unit, target = M / np.outer(scale, scale), a / scale
    values, E = np.linalg.eigh(0.5 * (unit + unit.T))
    keep = values > len(a) * np.finfo(float).eps * values[-1]
    root = np.sqrt(values[keep])
    if keep.any():
        A, b = root[:, None] * E[:, keep].T, E[:, keep].T @ target / root
        u, _ = nnls(A, b, maxiter=30 * len(a))
    else:
        u = np.zeros(len(a))
    slack = unit @ u - target
    size = float(np.abs(target).max()) or 1.0
    violation = float(max(-slack.min(initial=0.0), np.abs(u * slack).max(initial=0.0)) / size)
    solved = violation <= tol * max(1.0, float(u.max(initial=0.0)))
    v = u / scale
    return NonnegativeSolution(
        v=v,
        value=float(v @ M @ v - 2.0 * a @ v),
        violation=violation,
        status="converged" if solved else "stalled",
        advice="" if solved else "M is close to indefinite: remove kernels that are nearly equal.",
    )
