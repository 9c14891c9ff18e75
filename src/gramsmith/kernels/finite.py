"""Finite numbers only, and where they are not."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_array, validate_data

from gramsmith.arguments import abridged, counted

ENCODE = (
    "Encode such columns, for example with sklearn.preprocessing.OneHotEncoder, or leave them out."
)


def is_complex(X: Any) -> bool:
    """Return whether samples are complex numbers; rows of several lengths are none."""
    try:
        return np.iscomplexobj(X)
    except ValueError:
        return False


def check_real(K: Any) -> None:
    """Raise a ValueError for complex kernel values, of which NumPy drops the imaginary parts."""
    if is_complex(K):
        raise ValueError(
            "Expected a real kernel matrix, got complex numbers. Take abs(K) ** 2 of overlaps "
            "of quantum states, K.real of what is real but for rounding."
        )


def count_samples(X: Any) -> int:
    """Return how many samples there are in an array, a table or a list; or raise."""
    shape = getattr(X, "shape", None)
    if shape is None and hasattr(X, "__len__"):
        return len(X)
    if not shape:
        raise TypeError(
            f"Expected samples, got {abridged(X)}. Pass a table or a list, one sample a row."
        )
    return int(shape[0])


def eager(X: Any) -> Any:
    """Return a table whose rows are there: that within a narwhals frame; lazy ones are refused."""
    if hasattr(X, "to_native"):
        X = X.to_native()
    if hasattr(X, "collect") and hasattr(X, "collect_schema"):  # of polars or narwhals
        raise TypeError(
            "Expected a table whose rows are there, got a LazyFrame, which has yet to compute "
            "them. Pass X.collect()."
        )
    return X


def as_rows(X: Any) -> Any:
    """Return X as two-dimensional floating-point rows, dense or CSR, all finite; or raise."""
    X = found = eager(X)
    plain = type(X) is np.ndarray and X.ndim == 2 and X.dtype in (np.float64, np.float32)
    # what `check_array` would return as it is; to ask it costs more than a small tile
    if not (plain and X.dtype.isnative and min(X.shape) > 0):
        if is_complex(X):
            raise ValueError(
                "Expected real numbers, got complex data. Pass real and imaginary parts as "
                "separate columns."
            )
        try:
            found = check_array(
                X, accept_sparse="csr", dtype=(np.float64, np.float32), ensure_all_finite=False
            )
        except (TypeError, ValueError, OverflowError) as error:
            raise _naming_the_text(X, error) from error
    check_finite(found, X)
    return found


def checked_data(estimator: Any, X: Any, *y: Any, advice: str = ENCODE, **options: Any) -> Any:
    """Return what scikit-learn's `validate_data` returns; an error names what is no number."""
    X = eager(X)
    try:
        return validate_data(estimator, X, *y, **options)
    except (TypeError, ValueError, OverflowError) as error:
        raise _naming_the_text(X, error, advice) from error


def _names(X: Any) -> Any:
    return getattr(X, "column_names", getattr(X, "columns", None))  # the first are Arrow's


def _naming_the_text(X: Any, error: Exception, advice: str = ENCODE) -> Exception:
    """Return an error that says which column is no number, or the given one if that is not it."""
    try:
        table = np.asarray(X, dtype=object)
    except ValueError:  # rows of several lengths that NumPy cannot even hold as objects
        table = np.empty(len(X), dtype=object)
        table[:] = list(X)
    if table.ndim == 1 and any(isinstance(row, list | tuple | np.ndarray) for row in table):
        sizes = [np.size(row) if isinstance(row, np.ndarray) else _length(row) for row in table]
        odd = next((i for i, size in enumerate(sizes) if size != sizes[0]), None)
        if odd is not None:
            return ValueError(
                f"Expected rows of one length, got {counted(sizes[odd], 'number')} in row {odd} "
                f"and {sizes[0]} in row 0. Give every row as many, or pass a kernel of such "
                "samples, for example as_kernel(f) of a function f(x, z)."
            )
    names = _names(X)
    if table.ndim < 2:
        table = table.reshape(-1, 1)  # one number per sample, or one in all
    for k in range(table.shape[1] if table.ndim == 2 else 0):
        for row, value in enumerate(table[:, k]):
            try:
                float("nan" if value is None else value)  # that one is missing, and no text
            except OverflowError:
                return ValueError(
                    f"Expected numbers that float64 can hold, got a larger one in "
                    f"{_column(k, names)} (first in row {row})."
                )
            except (TypeError, ValueError):
                kind = TypeError if isinstance(error, TypeError) else ValueError
                shown = repr(value)
                shown = shown if len(shown) <= 80 else f"{shown[:77]}..."
                return kind(
                    f"Expected numbers, got {shown} in {_column(k, names)} (first in row {row}; "
                    f"{error}). {advice}"
                )
    return error


def _length(row: Any) -> int:
    return len(row) if isinstance(row, list | tuple) else 1


def _column(k: int, names: Any) -> str:
    return f"column {k}" if names is None else f"column {names[k]!r}"


def check_finite(X: Any, given: Any = None) -> None:
    """Raise a ValueError that names the first column of X with a NaN or infinite value.

    Names of columns are those of what was `given`.
    """
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
    where = _column(column, _names(given))
    raise ValueError(
        f"Expected finite numbers, got {value} in {where} (first in row {row}). "
        "Input X contains NaN or infinity; drop or impute these values first, "
        "for example with sklearn.impute.SimpleImputer."
    )


def check_values(K: Any, kernel: Any) -> None:
    """Raise a ValueError if a value of the kernel is not finite; one sum where all is well."""
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(np.sum(K)):
            return
    bad = K[~np.isfinite(K)]
    if not bad.size:
        return
    found = "overflow" if np.isinf(bad).any() else "NaN"
    raise ValueError(
        f"Expected finite kernel values, got {found} in {kernel.formula()}. "
        "Scale the features (StandardScaler), make gamma or the degree smaller, or see where a "
        "function of your own divides or takes a root."
    )


def as_stored(X: Any, kept: Any) -> Any:
    """Return a block of new samples, sparse if the kept samples are and dense if they are not."""
    if sp.issparse(X) and not sp.issparse(kept):
        return X.toarray()
    return sp.csr_array(X) if sp.issparse(kept) and not sp.issparse(X) else X
