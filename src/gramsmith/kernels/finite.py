"""Finite numbers only, and where they are not."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp


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
