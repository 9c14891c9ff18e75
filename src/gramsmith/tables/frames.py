"""Frames: the columns of pandas, polars and Arrow tables as plain arrays, whatever their types."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import time, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any, NamedTuple
from uuid import UUID

import numpy as np
import scipy.sparse as sp

from gramsmith.tables.columnar import arrow_column
from gramsmith.tables.streams import Array, short
from gramsmith.tables.words import is_missing

PLAIN = (str, bytes, bool, int, float, np.generic, Decimal, Enum, time, timedelta, UUID)


class Raw(NamedTuple):
    """A column as it came.

    `values` are float64 (NaN where missing), bool, datetime64[us], or objects: texts, flags and
    None. `levels` are those of an ordered category, `declared` says that its type is a category.
    """

    values: Array
    levels: Sequence[str] | None = None
    declared: bool = False

    def at(self, rows: Array) -> Raw:
        """Return some of the rows."""
        return self._replace(values=self.values[rows])


def frame_columns(X: Any) -> dict[Any, Any] | None:
    """Return the columns of a data frame by name, or None for anything else."""
    if hasattr(X, "column_names") and hasattr(X, "schema"):  # Arrow
        names = list(X.column_names)
        found = [X.column(j) for j in range(len(names))]
    elif hasattr(X, "columns") and hasattr(X, "dtypes") and hasattr(X, "__getitem__"):
        names, found = list(X.columns), None
    else:
        return None
    if len(set(names)) < len(names):
        twice = sorted({str(name) for name in names if names.count(name) > 1})
        raise ValueError(f"Expected distinct column names, got {', '.join(twice)} more than once.")
    if found is None:
        found = [X[name] for name in names]
    return dict(zip(names, found, strict=True))


def raw_table(X: Any) -> list[Raw] | Array | None:
    """Return the columns of a data frame, a dense array as floats, and None for sparse rows."""
    columns = frame_columns(X)
    if columns is not None:
        return [raw_column(column, name) for name, column in columns.items()]
    return None if sp.issparse(X) else np.asarray(X, dtype=np.float64)


def raw_column(column: Any, name: Any = "") -> Raw:
    """Return a column of any of these libraries, or an array, as plain values."""
    if hasattr(column, "combine_chunks"):
        return Raw(arrow_column(column, f"column {name!r}"))
    kind = str(column.dtype).lower()
    if kind.startswith(("cat", "enum")):
        return _category(column)
    if kind.startswith("complex"):
        raise ValueError(
            f"Expected numbers or categories, got a column {name!r} of type {kind}. "
            "Pass real and imaginary parts as separate columns."
        )
    if kind.startswith(("datetime", "date", "timestamp")):
        if getattr(column.dtype, "tz", None) is not None:
            column = column.dt.tz_convert("UTC").dt.tz_localize(None)
        values = column.to_numpy() if hasattr(column, "to_numpy") else np.asarray(column)
        return Raw(np.asarray(values, dtype="datetime64[us]"))
    if kind.startswith(("timedelta", "duration")):
        values = column.to_numpy() if hasattr(column, "to_numpy") else np.asarray(column)
        spans = np.asarray(values, dtype="timedelta64[us]")
        return Raw(np.where(np.isnat(spans), np.nan, spans.astype(np.float64) / 1e6))
    if kind.startswith("bool"):
        values = np.asarray(column, dtype=object)
        absent = [_absent(value) for value in values]
        if not any(absent):
            return Raw(values.astype(bool))
        return Raw(np.array([None if a else bool(v) for v, a in zip(values, absent, strict=True)]))
    if kind.startswith(("int", "uint", "float", "double", "decimal")):
        return Raw(_floats(column))
    return Raw(_objects(_cells(column), name))


def _category(column: Any) -> Raw:
    texts = np.array([None if _absent(v) else str(v) for v in list(column)], dtype=object)
    levels = None
    if getattr(getattr(column, "cat", None), "ordered", False) is True:
        levels = [str(v) for v in column.cat.categories]
    elif str(column.dtype).startswith("Enum"):  # of polars: its order is the order
        levels = [str(v) for v in column.dtype.categories]
    return Raw(texts, levels, True)


def _floats(column: Any) -> Array:
    try:
        return np.asarray(column, dtype=np.float64)
    except (TypeError, ValueError):
        values = [np.nan if _absent(value) else float(value) for value in list(column)]
        return np.array(values, dtype=np.float64)


def _cells(column: Any) -> Array:
    """Return the cells of a column, one object each, whatever they are."""
    values = np.empty(len(column), dtype=object)
    values[:] = list(column)
    return values


def _objects(values: Array, name: Any = "") -> Array:
    """Return objects as numbers, dates or flags where all of them are, else as texts."""
    present = [value for value in values if not _absent(value)]
    kinds = {type(value) for value in present}
    if kinds and all(issubclass(kind, (bool, np.bool_)) for kind in kinds):
        if len(present) == len(values):
            return values.astype(bool)
        return np.array([None if _absent(v) else bool(v) for v in values], dtype=object)
    if kinds and all(issubclass(k, (int, float, np.number, np.bool_, Decimal)) for k in kinds):
        return np.array([np.nan if _absent(v) else float(v) for v in values], dtype=np.float64)
    if kinds and all(hasattr(k, "year") and hasattr(k, "month") for k in kinds):
        stamps = [np.datetime64("NaT", "us") if _absent(v) else np.datetime64(v) for v in values]
        return np.array(stamps, dtype="datetime64[us]")
    if not kinds:
        return np.full(len(values), np.nan)
    odd = [kind for kind in kinds if not issubclass(kind, PLAIN) and not hasattr(kind, "year")]
    if odd:
        row = next(i for i, value in enumerate(values) if type(value) in odd)
        raise ValueError(
            f"Expected a number, a date or a text in every cell, got {short(values[row])} in row "
            f"{row} of column {name!r}. Make columns of its parts, or leave the column out."
        )
    texts = [None if _absent(v) else str(v).strip() for v in values]
    return np.array([None if t is None or is_missing(t) else t for t in texts], dtype=object)


def _absent(value: Any) -> bool:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, (float, np.floating)) and value != value


def missing_cells(values: Array) -> Array:
    """Return which cells of a column are missing."""
    if values.dtype == object:
        return np.array([value is None for value in values], dtype=bool)
    if values.dtype.kind == "M":
        return np.isnat(values)
    return np.isnan(values) if values.dtype.kind == "f" else np.zeros(len(values), dtype=bool)
