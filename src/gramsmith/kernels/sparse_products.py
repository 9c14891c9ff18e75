"""Sums over pairs of sparse rows that never are an array of rows by features."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

Array = npt.NDArray[Any]

ENTRIES = 1 << 20  # of the dense products formed at once


def feature_products(A: Any, B: Any, V: Array) -> Array:
    """Return Σ_ij V_ij a_ik b_jk for every feature k, the diagonal of A'VB, shape (p,).

    Parameters
    ----------
    A : CSR array of shape (m, p)
    B : CSR array of shape (n, p)
    V : array of shape (m, n)

    Returns
    -------
    array of shape (p,)

    Examples
    --------
    >>> rows = sp.csr_array([[1.0, 0.0], [2.0, 3.0]])
    >>> feature_products(rows, rows, np.ones((2, 2)))
    array([9., 9.])
    """
    At, Bt = sp.csr_array(A.T), sp.csr_array(B.T)
    both = np.flatnonzero((np.diff(At.indptr) > 0) & (np.diff(Bt.indptr) > 0))
    total = np.zeros(At.shape[0])
    step = max(1, ENTRIES // max(V.shape[0], 1))
    for start in range(0, len(both), step):
        rows = both[start : start + step]
        total[rows] = At[rows].multiply(Bt[rows] @ V.T).sum(axis=1)
    return total


def feature_distances(A: Any, B: Any, V: Array) -> Array:
    """Return Σ_ij V_ij (a_ik - b_jk)² for every feature k, shape (p,).

    Parameters
    ----------
    A : CSR array of shape (m, p)
    B : CSR array of shape (n, p)
    V : array of shape (m, n)

    Returns
    -------
    array of shape (p,)

    Examples
    --------
    >>> feature_distances(sp.csr_array([[1.0, 0.0]]), sp.csr_array([[4.0, 2.0]]), np.ones((1, 1)))
    array([9., 4.])
    """
    left, right = V.sum(axis=1) @ A.multiply(A), V.sum(axis=0) @ B.multiply(B)
    return np.asarray(left + right - 2.0 * feature_products(A, B, V), dtype=np.float64)
