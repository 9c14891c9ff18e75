"""Finite numbers only, and where they are not."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_array


def as_rows(X: Any) -> Any:
    """Return X as two-dimensional floating-point rows, dense or CSR, all finite; or raise."""
    if not _is_plain(X):
        X = check_array(
            X, accept_sparse="csr", dtype=(np.float64, np.float32), ensure_all_finite=False
        )
    check_finite(X)
    return X


def _is_plain(X: Any) -> bool:
    """Return whether X is what `check_array` would return, which costs more than a small tile."""
    return (
        type(X) is np.ndarray
        and X.ndim == 2
        and X.dtype in (np.float64, np.float32)
        and X.dtype.isnative
        and min(X.shape) > 0
    )


def check_finite(X: Any) -> None:
    """Raise a ValueError that names the first column of X with a NaN or infinite value."""
    values = X.data if sp.issparse(X) else X
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(np.sum(values, dtype=np.float64)):
            return
    bad = ~np.isfinite(values)
    if not bad.any():
        return
    if sp.issparse(X):
        row, column = (
            int(v[0]) for v in (c[~np.isfinite(X.tocoo().data)] for c in X.tocoo().coords)
        )
    else:
        row, column = (int(v) for v in np.argwhere(bad)[0])
    value = "NaN" if np.isnan(X[row, column]) else "infinity"
    raise ValueError(
        f"Expected finite numbers, got {value} in column {column} (first in row {row}). "
        "Input X contains NaN or infinity; drop or impute these values first, "
        "for example with sklearn.impute.SimpleImputer."
    )
