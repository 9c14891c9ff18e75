"""Pivoted incomplete Cholesky: a low-rank factor of a Gram matrix of which few columns are seen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


@dataclass(frozen=True, kw_only=True)
class CholeskyFactor:
    """K ≈ L L', exact on the pivot columns.

    Parameters
    ----------
    L : array of shape (n, rank)
    pivots : int array of shape (rank,)
        The columns of K that were evaluated, in order; L[pivots] is lower triangular.
    residual : array of shape (n,)
        The diagonal of K - L L'.
    status : {"converged", "max_rank", "interrupted"}
    advice : str
    """

    L: Array
    pivots: Array
    residual: Array
    status: str
    advice: str = ""

    @property
    def rank(self) -> int:
        """The number of columns of L."""
        return int(self.L.shape[1])

    @property
    def error(self) -> float:
        """The trace of K - L L', which bounds its norm."""
        return float(self.residual.sum())

    @property
    def converged(self) -> bool:
        """Whether the residual is as small as was asked."""
        return self.status == "converged"


def pivoted_cholesky(
    column: Callable[[int], Array],
    diagonal: Array,
    max_rank: int | None = None,
    tol: float = 1e-6,
    weights: Array | None = None,
) -> CholeskyFactor:
    """Factor a positive semidefinite matrix, taking the column with the largest residual each time.

    The memory is n x rank and the time n x rank², beside the columns themselves.

    Parameters
    ----------
    column : callable
        ``column(j)`` returns column j of K, shape (n,). It is called once per pivot. Where it is
        interrupted, the factor so far is returned.
    diagonal : array of shape (n,)
        The diagonal of K.
    max_rank : int, optional
        Most columns to use; default all.
    tol : float, default=1e-6
        Stop when the trace of the residual is below tol times the trace of K.
    weights : array of shape (n,), optional
        How often every sample counts in these traces; default once.

    Returns
    -------
    CholeskyFactor

    References
    ----------
    S. Fine, K. Scheinberg, "Efficient SVM training using low-rank kernel representations",
    Journal of Machine Learning Research 2, 2001.

    Examples
    --------
    >>> import numpy as np
    >>> from gramsmith.solvers import pivoted_cholesky
    >>> x = np.linspace(0, 1, 200)
    >>> K = np.exp(-(np.subtract.outer(x, x) ** 2))
    >>> factor = pivoted_cholesky(lambda j: K[:, j], K.diagonal(), tol=1e-8)
    >>> factor.rank, bool(np.allclose(factor.L @ factor.L.T, K, atol=1e-6))
    (7, True)
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
            status = "interrupted"  # the columns so far are a factor of their own
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
