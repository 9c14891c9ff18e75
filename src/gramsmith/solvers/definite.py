"""Positive definite matrices: factors, jitter where singular, repair where indefinite.

`Definite` factors a matrix that is held, `pivoted_cholesky` one of which few columns are seen.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg import cho_solve
from scipy.linalg.lapack import dpotrf

from gramsmith.kernels.definiteness import indefiniteness, is_semidefinite
from gramsmith.solvers.outcome import Outcome

Array = npt.NDArray[Any]


class Definite:
    """A symmetric positive definite matrix, factored; A is overwritten.

    `jitter` is added to the diagonal before the first attempt, and what was added in the end is
    kept; `limit` is the largest to try, in units of the mean of the diagonal.
    """

    def __init__(self, A: Array, jitter: float = 0.0, limit: float = 1e-8) -> None:
        entries = np.einsum("ii->i", A)  # of the diagonal, to write to
        diagonal = entries.copy()
        mean = float(np.abs(diagonal).sum()) / max(len(A), 1) or 1.0
        most = max(jitter, limit * mean)
        while jitter <= most:
            entries[...] = diagonal + jitter
            # LAPACK wants columns; of a symmetric matrix the transpose has them for nothing. By its
            # own function: what SciPy puts around it takes longer than a matrix of a dozen rows.
            columns = np.array(A.T, dtype=np.float64, order="F")
            factor, failed = dpotrf(columns, lower=1, clean=0, overwrite_a=1)
            if not failed:
                self.factor, self.jitter = (factor, True), float(jitter)
                return
            jitter = max(10.0 * jitter, 1e-13 * mean)
        entries[...] = diagonal
        smallest = float(np.linalg.eigvalsh(A)[0])
        raise ValueError(
            f"Expected a positive definite matrix, got one with eigenvalue {smallest:.3g}. "
            "Regularise more (a larger alpha, a smaller C), or repair K with gramsmith.nearest_psd."
        )

    def solve(self, b: Array) -> Array:
        """Return A^-1 b."""
        return np.asarray(cho_solve(self.factor, b, check_finite=False))


def warn_negative(values: Array) -> None:
    """Warn if eigenvalues that are to be cut at zero are negative beyond rounding."""
    message = indefiniteness(values)
    if message is not None:
        warnings.warn(
            f"{message} As it is, negative eigenvalues are set to zero.", UserWarning, stacklevel=4
        )


def clip_negative(K: Array, quiet: bool = False) -> tuple[Array, Callable[[Array], Array]]:
    """Return K with its negative eigenvalues set to zero, with a warning if there were any.

    A positive semidefinite K comes back as it is: its factor with a little jitter is proof enough,
    and much cheaper than eigenvalues. The function beside it turns coefficients a of the clipped
    kernel into such that k(x)'a predicts with it.
    """
    if not len(K) or is_semidefinite(K):
        return K, lambda A: A
    values, U = np.linalg.eigh(K)
    if not quiet:
        warn_negative(values)
    U, values = U[:, values > 0], values[values > 0]
    return np.asarray((U * values) @ U.T), lambda A: np.asarray(U @ (U.T @ A))


def clip_derivative(K: Array, dC: Array) -> Array:
    """Return the derivative by K of a number whose derivative by the clipped K is dC.

    In the eigenvectors of K it is dC times (max(λ_i, 0) - max(λ_j, 0)) / (λ_i - λ_j).
    """
    values, U = np.linalg.eigh(K)
    gap = values[:, None] - values
    near = np.abs(gap) <= 1e-12 * np.abs(values).max(initial=0.0)
    kept = np.maximum(values, 0.0)
    rate = (kept[:, None] - kept) / np.where(near, 1.0, gap)
    rate = np.where(near, np.broadcast_to(values > 0, gap.shape), rate)
    return np.asarray(U @ (rate * (U.T @ dC @ U)) @ U.T)


@dataclass(frozen=True, kw_only=True)
class CholeskyFactor(Outcome):
    """K ≈ L L', exact on the pivot columns; may have ended by "max_rank" or "interrupted"."""

    L: Array  # (n, rank)
    # the columns of K that were evaluated, in order; L[pivots] is lower triangular, (rank,)
    pivots: Array
    residual: Array  # the diagonal of K - L L', (n,)

    @property
    def rank(self) -> int:
        """The number of columns of L."""
        return int(self.L.shape[1])

    @property
    def error(self) -> float:
        """The trace of K - L L', which bounds its norm."""
        return float(self.residual.sum())


def pivoted_cholesky(
    column: Callable[[int], Array],
    diagonal: Array,
    max_rank: int | None = None,
    tol: float = 1e-6,
    weights: Array | None = None,
) -> CholeskyFactor:
    """Factor a positive semidefinite matrix, taking the column with the largest residual each time.

    ``column(j)`` returns column j of K and is called once per pivot; where it is interrupted, the
    factor so far is returned. The end is where the trace of the residual, `weights` counting the
    samples, is below `tol` of that of K. Memory is n x rank, time n x rank² beside the columns.

    Reference: S. Fine, K. Scheinberg, "Efficient SVM training using low-rank kernel
    representations", Journal of Machine Learning Research 2, 2001.
    """
    d = np.array(diagonal, dtype=np.float64)
    n = len(d)
    if not np.isfinite(d).all() or d.min(initial=0.0) < 0:
        raise ValueError(
            f"Expected a diagonal of finite numbers >= 0, got a minimum of {d.min():.6g}. "
            "Only positive semidefinite kernels have a Cholesky factor; see gramsmith.nearest_psd."
        )
    limit = n if max_rank is None else min(int(max_rank), n)
    if limit < 1:
        raise ValueError(f"Expected max_rank >= 1, got {max_rank!r}. Use a positive whole number.")
    w = np.ones(n) if weights is None else np.asarray(weights, dtype=np.float64)
    trace = float(w @ d)
    # Residuals below rounding are noise; a pivot on them would divide noise by noise.
    noise = n * float(np.finfo(np.float64).eps) * float(d.max(initial=0.0))
    L = np.empty((n, min(limit, 64)), order="F")
    pivots: list[int] = []
    status = "max_rank"
    for k in range(limit + 1):
        j = int(np.argmax(d))
        if w @ d <= tol * trace or d[j] <= noise:
            status = "converged"
            break
        if k == limit:
            break
        if k == L.shape[1]:
            wider = np.empty((n, min(2 * k, limit)), order="F")
            wider[:, :k] = L
            L = wider
        root = np.sqrt(d[j])
        try:
            fresh = np.asarray(column(j), dtype=np.float64).reshape(n)
        except KeyboardInterrupt:
            if not pivots:
                raise
            status = "interrupted"  # the columns so far are a factor too
            break
        L[:, k] = (fresh - L[:, :k] @ L[j, :k]) / root
        L[pivots, k] = 0.0
        L[j, k] = root
        d -= L[:, k] ** 2
        np.maximum(d, 0.0, out=d)
        pivots.append(j)
        d[pivots] = 0.0
    left = w @ d / trace if trace > 0 else 0.0
    advice = f"{left:.2g} of the trace is left. Raise max_rank above {limit}."
    return CholeskyFactor(
        L=np.ascontiguousarray(L[:, : len(pivots)]),
        pivots=np.array(pivots, dtype=np.intp),
        residual=d,
        status=status,
        advice="" if status == "converged" else advice,
    )
