"""Convert columns: those of any library to plain cells, and cells to numbers, seconds or words.

Files, workbooks, pandas, polars, Arrow and arrays all pass through `plain`, and everything that is
encoded, drawn or predicted passes through `typed`.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Container, Sequence
from datetime import time, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any, NamedTuple
from uuid import UUID

import numpy as np
import scipy.sparse as sp

from gramsmith.kernels.finite import eager
from gramsmith.tables.streams import Array, DataError, short
from gramsmith.tables.words import (
    Style,
    is_missing,
    is_unknown,
    reading_of,
    values_of,
    written,
)

PLAIN = (str, bytes, bool, int, float, np.generic, Decimal, Enum, time, timedelta, UUID)
SECONDS: dict[type, Callable[[Any], float]] = {
    time: lambda t: 3600 * t.hour + 60 * t.minute + t.second,
    timedelta: timedelta.total_seconds,
}
EXACT = 2**53  # whole numbers above it are not told apart by doubles: they stay words


class Cells(NamedTuple):
    """A column as it came.

    `values` are float64 (NaN where missing), bool, datetime64[us], or objects: texts, flags and
    None. `levels` are those of an ordered category, `declared` says that its type is a category.
    """

    values: Array
    levels: Sequence[str] | None = None
    declared: bool = False

    def at(self, rows: Array) -> Cells:
        """Return some of the rows."""
        return self._replace(values=self.values[rows])


def pooled(first: Cells, second: Cells) -> Cells:
    """Return two columns as one: as words where they are of different types."""
    a, b = first.values, second.values
    if a.dtype.kind != b.dtype.kind:
        gaps = [bool(missing_cells(values).all()) for values in (a, b)]
        if any(gaps) and {a.dtype.kind, b.dtype.kind} <= set("fM"):
            nothing: Any = np.datetime64("NaT") if b.dtype.kind == "M" or a.dtype.kind == "M" else 0
            a, b = (
                np.full(len(values), nothing, "datetime64[us]") if gap else values
                for values, gap in zip((a, b), gaps, strict=True)
            )
        else:
            a, b = as_words(a), as_words(b)
    same = first.levels is not None and second.levels is not None
    levels = list(dict.fromkeys([*first.levels, *second.levels])) if same else None  # type: ignore[misc]
    return Cells(np.concatenate([a, b]), levels, first.declared and second.declared)


def missing_cells(values: Array) -> Array:
    """Return which cells of a column are missing."""
    if values.dtype == object:
        return np.array([value is None for value in values], dtype=bool)
    if values.dtype.kind == "M":
        return np.isnat(values)
    return np.isnan(values) if values.dtype.kind == "f" else np.zeros(len(values), dtype=bool)


def unknown_words(values: Array) -> set[str]:
    """Return the words of a column of numbers or dates that mean a missing one, such as -."""
    words = [word for word in dict.fromkeys(values) if isinstance(word, str)]
    unknown = {word for word in words if is_unknown(word)}
    known = [word for word in words if word not in unknown]
    reading = reading_of(known) if unknown else None
    return unknown if reading is not None and reading.kind and not reading.odd else set()


# ---- tables of any library ----------------------------------------------------------------------


def parted_names(names: Sequence[Any]) -> list[Any]:
    """Return names that are all different: the second column named a is "a (2)"."""
    if len(set(names)) == len(names):
        return list(names)
    taken, out = set(map(str, names)), []
    counts: Counter[str] = Counter()
    for name in map(str, names):
        counts[name] += 1
        number, new = counts[name], name
        while number > 1 and (new := f"{name} ({number})") in taken:
            number += 1
        taken.add(new)
        out.append(new)
    return out


def frame_columns(X: Any) -> dict[Any, Any] | None:
    """Return the columns of a data frame by name, or None for anything else."""
    X = eager(X)
    if hasattr(X, "column_names") and hasattr(X, "schema"):  # Arrow
        names = list(X.column_names)
        found = [X.column(j) for j in range(len(names))]
    elif hasattr(X, "columns") and hasattr(X, "dtypes") and hasattr(X, "__getitem__"):
        names = list(X.columns)
        by_place = hasattr(X, "iloc")
        found = [X.iloc[:, j] if by_place else X[name] for j, name in enumerate(names)]
    else:
        return None
    return dict(zip(parted_names(names), found, strict=True))


def plain_table(X: Any) -> list[Cells] | None:
    """Return the columns of a data frame or a dense array, and None for sparse rows."""
    if sp.issparse(X):
        return None
    columns = frame_columns(X)
    if columns is None:
        return [Cells(column) for column in np.asarray(X, dtype=np.float64).T]
    return [plain(column, name) for name, column in columns.items()]


def plain(column: Any, name: Any = "") -> Cells:
    """Return a column of any library, or an array, as plain cells."""
    if type(column).__module__.startswith("pyarrow"):
        return _arrow(column, name)
    kind = str(column.dtype).lower()
    if kind.startswith(("interval", "cat", "enum")):
        return _category(column)
    if kind.startswith("complex"):
        raise DataError(
            f"expected numbers or categories, got type {kind}.",
            "Pass real and imaginary parts as separate columns.",
            column=name,
        )
    if kind.startswith("bool"):
        return Cells(_flags(column))
    if kind.startswith(("int", "uint", "float", "double", "decimal")):
        return Cells(_floats(column, name))
    if kind.startswith("period"):
        column = column.dt.to_timestamp()
    elif getattr(column.dtype, "tz", None) is not None:
        column = column.dt.tz_convert("UTC").dt.tz_localize(None)
    if kind.startswith(("period", "date", "timestamp", "timedelta", "duration")):
        values = np.asarray(column.to_numpy() if hasattr(column, "to_numpy") else column)
        if not kind.startswith(("timedelta", "duration")):
            return Cells(values.astype("datetime64[us]"))
        spans = values.astype("timedelta64[us]")
        return Cells(np.where(np.isnat(spans), np.nan, spans.astype(np.float64) / 1e6))
    return Cells(_objects(_listed(column), name))


def _listed(column: Any) -> Array:
    """Return a column as an array of its objects, whatever they are."""
    values = np.empty(len(column), dtype=object)
    values[:] = list(column)
    return values


def _arrow(column: Any, name: Any) -> Cells:
    """Return an Arrow column as cells; texts by their dictionary, so that each is made once."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if pa.types.is_dictionary(kind) and not is_text(kind.value_type):
        column = column.cast(kind.value_type)
        kind = column.type
    if pa.types.is_null(kind):
        return Cells(np.full(len(column), np.nan))
    if pa.types.is_dictionary(kind) or is_text(kind):
        coded = column if pa.types.is_dictionary(kind) else column.dictionary_encode()
        if isinstance(coded, pa.ChunkedArray):
            if pa.types.is_dictionary(kind) and coded.num_chunks > 1:
                coded = pa.chunked_array(map(_joinable, coded.chunks))
            coded = coded.combine_chunks()  # of one dictionary, in one pass
        words = [_word(word) for word in coded.dictionary.to_pylist()]
        places = pc.fill_null(coded.indices, len(words)).to_numpy(zero_copy_only=False)
        return Cells(np.asarray(np.array([*words, None], dtype=object)[places]))
    if pa.types.is_time(kind):
        seconds = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}[kind.unit]
        whole = column.cast(pa.int64() if kind.bit_width == 64 else pa.int32())
        return Cells(np.asarray(whole.cast(pa.float64()).to_numpy()) / seconds)
    if pa.types.is_integer(kind) and len(column):
        ends = pc.min_max(column).as_py().values()
        if any(v is not None and abs(v) > EXACT for v in ends):
            return _arrow(column.cast(pa.string()), name)
    if pa.types.is_decimal(kind):
        column = column.cast(pa.float64(), safe=False)
    elif not (pa.types.is_primitive(kind) or pa.types.is_boolean(kind)):
        raise DataError(
            f"expected numbers, flags, dates or texts, got {kind}.",
            "Convert the column, or leave it out.",
            column=name,
        )
    return plain(column.to_numpy(zero_copy_only=False), name)


def _joinable(part: Any) -> Any:
    """Return a part of a column of texts by their dictionary as Arrow joins it with others."""
    import pyarrow as pa

    words = part.dictionary.cast(pa.large_string()).fill_null("")
    return pa.DictionaryArray.from_arrays(part.indices.cast(pa.int64()), words)


def is_text(kind: Any) -> bool:
    """Return whether an Arrow type is one of texts."""
    import pyarrow as pa

    checks = ("is_string", "is_large_string", "is_string_view")
    return any(getattr(pa.types, check, lambda _: False)(kind) for check in checks)


def _word(word: Any) -> str | None:
    text = "" if _absent(word) else str(word).strip()
    if text.startswith('="') and text.endswith('"'):  # a text, as spreadsheets are told
        text = text[2:-1]
    return None if is_missing(text) else text


def _category(column: Any) -> Cells:
    """Return declared categories as texts: of them, none but a gap is missing."""
    levels = None
    kind = str(column.dtype)
    if kind.startswith("interval"):
        levels = sorted({v for v in column if not _absent(v)})
    elif getattr(getattr(column, "cat", None), "ordered", False) is True:
        levels = column.cat.categories
    elif kind.startswith("Enum"):  # of polars: its order is the order
        levels = column.dtype.categories
    words = np.array([None if _absent(v) else str(v) for v in list(column)], dtype=object)
    return Cells(words, None if levels is None else [str(v) for v in levels], True)


def _flags(column: Any) -> Array:
    values = _listed([None if _absent(v) else bool(v) for v in list(column)])
    return values if any(v is None for v in values) else values.astype(bool)


def _floats(column: Any, name: Any) -> Array:
    values = np.asarray(column)
    if values.dtype == object:
        return _objects(values, name)
    whole = values.dtype.kind in "iu" and len(values)
    if whole and max(-int(values.min()), int(values.max())) > EXACT:
        return values.astype(str).astype(object)
    return np.asarray(values, dtype=np.float64)


def _objects(values: Array, name: Any = "") -> Array:
    """Return objects as numbers, dates or flags where all of them are, else as texts."""
    kinds = {type(value) for value in values if not _absent(value)}
    if kinds == {str}:
        known: dict[Any, str | None] = {}
        for value in values:
            if value not in known:
                known[value] = _word(value)
        return np.array([known[value] for value in values], dtype=object)
    if not kinds:
        return np.full(len(values), np.nan)
    if all(issubclass(kind, (bool, np.bool_)) for kind in kinds):
        return _flags(values)
    if all(issubclass(k, (int, float, np.number, np.bool_, Decimal)) for k in kinds):
        present = [None if _absent(v) else v for v in values]
        if any(isinstance(v, (int, np.integer)) and abs(int(v)) > EXACT for v in present):
            return np.array([None if v is None else str(v) for v in present], dtype=object)
        try:
            return np.array([np.nan if v is None else float(v) for v in present], dtype=np.float64)
        except OverflowError as error:
            raise DataError("expected a finite number, got one too large.", column=name) from error
    for kind, seconds in SECONDS.items():
        if all(issubclass(k, kind) for k in kinds):
            return np.array([np.nan if _absent(v) else float(seconds(v)) for v in values])
    if all(hasattr(k, "year") and hasattr(k, "month") for k in kinds):
        stamps = [np.datetime64("NaT", "us") if _absent(v) else _stamp(v) for v in values]
        return np.array(stamps, dtype="datetime64[us]")
    odd = [kind for kind in kinds if not issubclass(kind, PLAIN) and not hasattr(kind, "year")]
    if odd:
        row = next(i for i, value in enumerate(values) if type(value) in odd)
        raise DataError(
            f"expected a number, a date or a text in every cell, got {short(values[row])}.",
            "Make columns of its parts, or leave the column out.",
            column=name,
            row=row,
        )
    return np.array([_word(_written(value)) for value in values], dtype=object)


def _stamp(value: Any) -> np.datetime64:
    if getattr(value, "tzinfo", None) is not None:
        value = (value - value.utcoffset()).replace(tzinfo=None)
    return np.datetime64(value, "us")


def _written(value: Any) -> Any:
    """Return a cell among texts as it is written: a workbook keeps every number as a double."""
    if isinstance(value, float) and value.is_integer() and abs(value) < EXACT:
        return str(int(value))
    if isinstance(value, time):
        return value.isoformat()
    return value.decode(errors="replace") if isinstance(value, bytes) else value


def _absent(value: Any) -> bool:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, (float, np.floating)) and value != value


# ---- cells to what they mean --------------------------------------------------------------------


def as_words(values: Array) -> Array:
    """Return a column as texts, None where missing: whole numbers without a point."""
    if values.dtype == object:
        return np.array([None if v is None else str(v) for v in values], dtype=object)
    absent = missing_cells(values)
    whole = values.dtype.kind == "f"
    values = values + 0.0 if whole else values  # no -0
    shown = [f"{v:.0f}" if whole and v.is_integer() and abs(v) < 1e16 else str(v) for v in values]
    return np.array([None if a else s for a, s in zip(absent, shown, strict=True)], dtype=object)


def in_order(values: Array) -> list[str]:
    """Return the different words of a column: numbers by their size, others by their letters."""
    words = sorted({word for word in as_words(values) if word is not None})
    reading = reading_of(words, kind="number")
    if not reading.kind or reading.odd:
        return words
    sizes = values_of(words, reading.style)
    return sorted(words, key=lambda word: sizes[word] or 0.0)  # stable: 1, then 1.0


def typed(name: Any, values: Array, kind: str, style: str = "", sentinel: float = 0.0) -> Array:
    """Return a column as its kind has it: floats (NaN where missing), seconds, or words.

    A word among numbers or dates that means nothing is a missing cell, with a warning; a number in
    another writing or unit than in fit is an error, because it would be lost.
    """
    if kind not in ("number", "boolean", "date"):
        return as_words(values)
    is_date = kind == "date"
    if (values.dtype.kind == "M") != is_date and values.dtype != object:
        if not missing_cells(values).all():
            wanted, got = ("dates", values.dtype) if is_date else ("numbers", "dates")
            raise DataError(f"expected {wanted} as in fit, got {got}.", column=name)
        return np.full(len(values), np.nan)
    if is_date and values.dtype != object:
        stamps = values.astype("datetime64[us]").astype(np.int64) / 1e6
        return np.where(np.isnat(values), np.nan, stamps)
    if values.dtype != object:
        return finite(name, np.asarray(values, dtype=np.float64), sentinel)
    words = as_words(values)
    found = values_of(words, style or ("iso" if is_date else ""))
    odd = {word for word, value in found.items() if value is None}
    lost = None
    if not is_date:
        lost = next((i for i, word in enumerate(words) if word in odd and written(word)), None)
    if lost is not None:
        raise DataError(
            f"expected numbers written as in fit, got {short(words[lost])}.",
            "Write it as the others, or leave the cell empty if the number is not known.",
            "other writing",
            column=name,
            row=lost,
        )
    _warn_of_words(name, words, odd)
    read = np.array([found[word] for word in words], dtype=np.float64)
    return read if is_date else finite(name, read, sentinel)


def finite(name: Any, values: Array, sentinel: float = 0.0) -> Array:
    """Return numbers, NaN for the one that stands for missing cells; infinity is an error."""
    if np.isinf(values).any():
        raise DataError(
            "expected a finite number, got infinity, or one too large for a double.",
            "Correct the cell, or make it missing (NaN).",
            "infinite",
            column=name,
            row=int(np.flatnonzero(np.isinf(values))[0]),
        )
    return values if sentinel == 0.0 else np.where(values == sentinel, np.nan, values)


def _warn_of_words(name: Any, words: Array, odd: Container[str | None]) -> None:
    """Warn of words that mean nothing that fit has seen: they are taken as missing."""
    rows = [i for i, word in enumerate(words) if word in odd]
    if rows:
        more = f" and {len(rows) - 1:,} more like it" if len(rows) > 1 else ""
        warnings.warn(
            f"Expected values like those of fit in column {name!r}, got {short(words[rows[0]])} in "
            f"row {rows[0]} (counted from 0){more}: taken as missing. If words belong there, fit "
            "with this column as a category.",
            UserWarning,
            stacklevel=2,
        )


def places(name: Any, values: Array, levels: Sequence[str]) -> Array:
    """Return the place of every cell among ordered categories, NaN where it has none."""
    place: dict[Any, float] = {word: float(i) for i, word in enumerate(levels)}
    words = as_words(values)
    _warn_of_words(name, words, {word for word in words if word is not None} - place.keys())
    return np.array([place.get(word, np.nan) for word in words])


def canonical(values: Array, style: Style) -> Array:
    """Return words with those that are numbers in a style written plainly, such as 1.5."""
    found = {w: v for w, v in values_of(values, str(style)).items() if v is not None and v == v}
    return np.array([repr(found[w]) if w in found else w for w in values], dtype=object)
