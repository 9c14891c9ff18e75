"""Whether a symmetric matrix is positive semidefinite: one threshold, one message."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg import LinAlgError, cho_factor

Array = npt.NDArray[Any]


def rounding_of_eigenvalues(n: int, top: float, norm: float, dtype: Any = np.float64) -> float:
    """Return how far below 0 rounding can move an eigenvalue."""
    double = 1e3 * n * float(np.finfo(np.float64).eps) * top
    # Entries of single precision are off by eps |K_ij|, and no eigenvalue moves by more than the
    # norm of all that.
    single = 0.0 if dtype == np.float64 else 10.0 * float(np.finfo(dtype).eps) * norm
    return double + single


def indefiniteness(
    values: Array, what: str = "kernel matrix", dtype: Any = np.float64
) -> str | None:
    """Return a sentence on the negative eigenvalue of a matrix, or None if there is none."""
    top, norm = float(np.abs(values).max(initial=0.0)), float(np.linalg.norm(values))
    if not len(values) or values[0] >= -rounding_of_eigenvalues(len(values), top, norm, dtype):
        return None
    return (
        f"Expected a positive semidefinite {what}, got smallest eigenvalue {values[0]:.6g} "
        f"(largest {values[-1]:.6g}). Repair it, and rows for new samples, with "
        "gramsmith.NearestPSD."
    )


def is_semidefinite(K: Array) -> bool:
    """Return whether no eigenvalue of a symmetric matrix is negative, in a tenth of their time."""
    # LAPACK wants columns; of a symmetric matrix the transpose has them for nothing.
    shifted = np.array(K.T, dtype=np.float64, order="F")
    size = float(np.abs(shifted).sum(axis=0).max(initial=0.0))  # not below the largest eigenvalue
    shift = rounding_of_eigenvalues(len(K), size, float(np.linalg.norm(K)), K.dtype)
    shifted[np.diag_indices_from(shifted)] += max(shift, float(np.finfo(np.float64).tiny))
    try:
        # the factor exists if and only if no eigenvalue is below -shift
        cho_factor(shifted, lower=True, overwrite_a=True, check_finite=False)
    except LinAlgError:
        return False
    return True
