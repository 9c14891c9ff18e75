"""Roles: what each column of a table is, decided once, for Python and the command line alike."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gramsmith.arguments import abridged, counted, is_one_of
from gramsmith.tables.frames import Raw, missing_cells
from gramsmith.tables.names import ROW_NAMES, nearest
from gramsmith.tables.streams import Array, short
from gramsmith.tables.words import (
    TRUTH,
    Style,
    date_style,
    number_of,
    number_style,
    said_words,
    stray_word,
    word_rows,
)

# What a column may be: inputs of six kinds, and columns that are left out.
INPUTS = ("number", "boolean", "category", "ordered", "date", "text", "sequence")
OUT = ("id", "constant", "drop", "group", "weight", "target")
ROLES = (*INPUTS, "date-dmy", "date-mdy", *OUT)

FEW = 20  # different texts that are categories in a table of any length
ROWS_FOR_IDS = 10
IDENTIFIER = re.compile(
    r"(^|[ _.\-])(id|ids|idx|index|rownum|row|rownames|key|uuid|guid|nr|no|ref)$"
    r"|[a-z](Id|ID|Nr|No)$"
)
TREND = re.compile(r"time|date|day|week|month|year|hour|^t$", re.IGNORECASE)
SENTINELS = (-99.0, -999.0, -9999.0, -99999.0)
SEQUENCE = re.compile(r"[A-Za-z*.\-]{8,}")


@dataclass(frozen=True)
class Column:
    """What a column of a table is.

    Attributes
    ----------
    name : str
        Its name.
    role : str
        "input", "left out", "target", "group" or "weight".
    kind : str
        One of number, boolean, category, ordered, date, text, sequence, id, constant, drop.
    missing, distinct : int
        Missing cells, and different values among the others.
    example : str
        The first value.
    note : str
        What should be known, such as how its numbers were read.
    style : str
        How its words are read: decimal and grouping marks, or the order of a date.
    sentinel : float
        The number that stands for a missing cell; 0 if none does.
    """

    name: str
    role: str
    kind: str
    missing: int
    distinct: int
    example: str
    note: str = ""
    style: str = ""
    sentinel: float = 0.0


class ColumnTable(tuple[Column, ...]):
    """Columns as a tuple that prints itself as a table."""

    HEAD = ("column", "role", "kind", "missing", "distinct", "example", "note")

    def rows(self) -> list[list[Any]]:
        """Return one list per column, in the order of `HEAD`."""
        return [[c.name, c.role, c.kind, c.missing, c.distinct, c.example, c.note] for c in self]

    def to_plain(self) -> list[dict[str, Any]]:
        """Return one dictionary per column."""
        return [dict(zip(self.HEAD, row, strict=True)) for row in self.rows()]

    @property
    def remarks(self) -> list[str]:
        """What should be said about columns that are not taken as they are."""
        said = []
        out = [c for c in self if c.role == "left out" and c.kind in ("id", "constant")]
        for kind, words in (("id", "identifiers"), ("constant", "constant or empty")):
            names = [repr(c.name) for c in out if c.kind == kind]
            if names:
                more = f" and {len(names) - 8} more" if len(names) > 8 else ""
                said.append(f"Left out, being {words}: {', '.join(names[:8])}{more}.")
        return said + [f"Column {c.name!r}: {c.note}." for c in self if c.note and c not in out]

    def __repr__(self) -> str:
        rows = [list(self.HEAD), *([str(cell)[:40] for cell in row] for row in self.rows())]
        widths = [max(len(row[j]) for row in rows) for j in range(len(self.HEAD))]
        lines = ["  ".join(c.ljust(w) for c, w in zip(r, widths, strict=True)) for r in rows]
        return "\n".join(line.rstrip() for line in lines)


NO_COLUMNS = ColumnTable()


def check_roles(roles: Mapping[Any, str] | None, names: Iterable[Any]) -> dict[Any, str]:
    """Return the roles a user has set, or raise for those that there are not."""
    given = dict(roles or {})
    known = list(names)
    for name, role in given.items():
        if not is_one_of(role, ROLES):
            raise ValueError(
                f"Expected a role among {', '.join(ROLES)}, got {abridged(role)} for column "
                f"{abridged(name)}."
            )
        if name not in known:
            raise ValueError(
                f"Expected the name of a column, got {abridged(name)} in roles. "
                f"{nearest(str(name), [str(k) for k in known])}"
            )
    return given


def decide(name: Any, raw: Raw, role: str | None = None, max_categories: int = 100) -> Column:
    """Return what a column is.

    Parameters
    ----------
    name : str
        Its name.
    raw : Raw
        Its values.
    role : str, optional
        What the user says that it is.
    max_categories : int
        Texts of more different values are compared by what they have in common.

    Returns
    -------
    Column
    """
    values = raw.values
    absent = missing_cells(values)
    present = values[~absent]
    distinct = _distinct(present)
    example = _example(present)
    seen = Column(str(name), "input", "number", int(absent.sum()), len(distinct), example)
    if role is not None and role in OUT:
        kept = role if role in ("group", "weight", "target") else "left out"
        return replace(seen, role=kept, kind=role if kept == "left out" else _plain_kind(values))
    if role is not None:
        return _as_said(seen, values, distinct, role)
    if not len(distinct) or (len(distinct) == 1 and not seen.missing):
        return replace(seen, role="left out", kind="constant")
    if name == ROW_NAMES:
        return replace(seen, role="left out", kind="id")
    if raw.levels is not None:
        return replace(seen, kind="ordered")
    if raw.declared:
        kind = "category" if len(distinct) <= max_categories else "text"
        return replace(seen, kind=kind)
    if values.dtype.kind == "M":
        return replace(seen, kind="date")
    if values.dtype == bool or (values.dtype == object and isinstance(present[0], bool)):
        return replace(seen, kind="boolean")
    if values.dtype == np.float64:
        return _number(seen, present, distinct)
    return _text(seen, values, distinct, max_categories)


def _number(seen: Column, present: Array, distinct: Array) -> Column:
    n = len(present)
    whole = bool((distinct == np.round(distinct)).all())
    if whole and len(distinct) == n >= ROWS_FOR_IDS and not seen.missing:
        row_numbers = present[0] in (0, 1) and bool((np.diff(present) == 1).all())
        if IDENTIFIER.search(seen.name) or (row_numbers and not TREND.search(seen.name)):
            return replace(seen, role="left out", kind="id")
    others = distinct[~np.isin(distinct, SENTINELS)]
    odd = [value for value in SENTINELS if value in distinct]
    if len(odd) == 1 and len(others) > 2 and others.min() >= 0:
        count = int((present == odd[0]).sum())
        note = f"{odd[0]:g} is read as missing ({counted(count, 'cell')})"
        return replace(
            seen, sentinel=odd[0], note=note, missing=seen.missing + count, distinct=len(others)
        )
    return seen


def _text(seen: Column, values: Array, distinct: Array, max_categories: int) -> Column:
    words = [str(word) for word in distinct]
    style = number_style(words)
    if isinstance(style, Style):
        read = _style_note(style, words)
        return replace(seen, kind="number", style=f"{style.decimal}{style.thousands}", note=read)
    if style == "ambiguous":
        raise ValueError(
            f"Expected numbers or categories, got column {seen.name!r} with {short(words[0])}: is "
            "the comma a decimal mark, or does it group digits? Say so (--decimal , or "
            f"--thousands , for a file), or set roles={{{seen.name!r}: 'category'}} "
            f"(--role {seen.name}=category)."
        )
    if {word.lower() for word in words} <= {"true", "false"}:
        return replace(seen, kind="boolean")
    dates = date_style(words)
    if dates == "ambiguous":
        raise ValueError(
            f"Expected dates, got column {seen.name!r} with {short(words[0])}: is the day first or "
            f"the month? Set roles={{{seen.name!r}: 'date-dmy'}} or 'date-mdy' "
            f"(--role {seen.name}=date-dmy)."
        )
    if dates is not None:
        return replace(seen, kind="date", style=dates)
    stray = stray_word(values)
    if stray is not None:
        raise ValueError(
            f"Expected numbers in column {seen.name!r} as in most rows, got "
            f"{short(values[stray])} in row {stray}. Correct it, make it missing, or set "
            f"roles={{{seen.name!r}: 'category'}}."
        )
    n = len(values) - seen.missing
    if len(words) == n >= ROWS_FOR_IDS and not any(" " in word for word in words):
        if all(SEQUENCE.fullmatch(w) for w in words) and len(set("".join(words[:200]))) <= 30:
            return replace(seen, kind="sequence")
        return replace(seen, role="left out", kind="id")
    few = len(words) <= FEW or (len(words) <= max_categories and 2 * len(words) <= n)
    if few:
        return replace(seen, kind="category")
    strings = all(SEQUENCE.fullmatch(word) for word in words)
    return replace(seen, kind="sequence" if strings else "text")


def _style_note(style: Style, words: list[str]) -> str:
    marks = {",": "commas", ".": "points"}
    said = [] if style.decimal == "." else ["decimal commas"]
    if style.thousands:
        said.append(f"digits grouped by {marks.get(style.thousands, 'blanks')}")
    if any(word.endswith("%") for word in words):
        said.append("percent")
    elif any(not word[-1].isdigit() or not word.lstrip("+-")[0].isdigit() for word in words):
        said.append("a currency")
    return f"texts read as numbers ({', '.join(said) or 'plain'})"


def _as_said(seen: Column, values: Array, distinct: Array, role: str) -> Column:
    if role.startswith("date"):
        style = {"date-dmy": "dmy", "date-mdy": "mdy"}.get(role)
        if style is None and values.dtype == object:
            style = date_style(str(word) for word in distinct)
            if style in (None, "ambiguous"):
                raise ValueError(
                    f"Expected dates such as 2024-03-31 in column {seen.name!r}, got "
                    f"{short(seen.example)}. Use 'date-dmy' or 'date-mdy' for other orders."
                )
        return replace(seen, kind="date", style=style or "")
    if role == "number" and values.dtype == object and len(distinct):
        found = number_style(str(word) for word in distinct)
        if not isinstance(found, Style) and not isinstance(distinct[0], bool):
            raise ValueError(
                f"Expected numbers in column {seen.name!r}, got {short(seen.example)}. Correct "
                "the column, or give it another role."
            )
        marks = f"{found.decimal}{found.thousands}" if isinstance(found, Style) else ""
        return replace(seen, kind="number", style=marks)
    if role == "boolean" and len(distinct) > 2:
        raise ValueError(
            f"Expected two values in column {seen.name!r}, got {len(distinct)}. "
            "Set the role 'category'."
        )
    return replace(seen, kind=role)


def _plain_kind(values: Array) -> str:
    return {"f": "number", "b": "boolean", "M": "date"}.get(values.dtype.kind, "category")


def _distinct(present: Array) -> Array:
    if present.dtype == object:
        return np.array(sorted(set(present), key=str), dtype=object)
    return np.unique(present)


def _example(present: Array) -> str:
    if not len(present):
        return ""
    first = present[0]
    if isinstance(first, np.datetime64):
        return str(first.astype("datetime64[s]")).removesuffix("T00:00:00")
    return f"{first:g}" if isinstance(first, np.floating) else str(first)


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
    style = number_style(words)
    if not isinstance(style, Style):
        return words
    return sorted(words, key=lambda word: number_of(word, style) or 0.0)  # stable: 1, then 1.0


def as_numbers(
    name: Any, values: Array, style: str = "", sentinel: float = 0.0, *, gaps: bool = False
) -> Array:
    """Return a column as floats, NaN where missing; numbers are written as they were in fit.

    A word is an error, or with `gaps` a missing cell and a warning.
    """
    if values.dtype == object and any(isinstance(v, str) for v in values):
        marks = Style(style[0], style[1:]) if style else Style()
        words = np.array([None if v is None else str(v) for v in values], dtype=object)
        rows, marked = word_rows(words, marks)
        if rows and (not gaps or marked is not None):
            row = rows[0] if marked is None else marked
            raise ValueError(
                f"Expected numbers in column {name!r} (it held numbers in fit), got "
                f"{short(words[row])} in row {row}. Write it as the others, or leave the cell "
                "empty if the number is not known."
            )
        if rows:
            warnings.warn(
                f"Expected numbers in column {name!r} as in fit, got {said_words(words, rows)}: "
                "taken as missing. If words belong there, fit with this column in the role of a "
                "category.",
                UserWarning,
                stacklevel=4,
            )
            words[rows] = None
        values = np.array(
            [np.nan if w is None else number_of(TRUTH.get(w.lower(), w), marks) for w in words]
        )
    elif values.dtype == object:
        values = np.array([np.nan if v is None else float(v) for v in values])
    elif values.dtype.kind == "M":
        raise ValueError(f"Expected numbers in column {name!r} as in fit, got dates.")
    values = np.asarray(values, dtype=np.float64)
    if np.isinf(values).any():
        row = int(np.flatnonzero(np.isinf(values))[0])
        raise ValueError(
            f"Expected a value in every row, got infinity in column {name!r}, row {row}. "
            "Input X contains infinity: correct these cells, or make them missing (NaN)."
        )
    return values if sentinel == 0.0 else np.where(values == sentinel, np.nan, values)


def copy_of_target(name: Any, raw: Raw, y: Array) -> str | None:
    """Return what to say if a column tells the target one to one, else None."""
    values = raw.values
    if len(values) != len(y) or len(values) < ROWS_FOR_IDS or missing_cells(values).any():
        return None
    try:
        if values.dtype == np.float64 and y.dtype.kind == "f":
            spread = values.std() * y.std()
            same = spread > 0 and abs(np.mean((values - values.mean()) * (y - y.mean()))) > (
                (1.0 - 1e-9) * spread
            )
        else:
            pairs = set(zip(values.tolist(), y.tolist(), strict=True))
            sides = {a for a, _ in pairs}, {b for _, b in pairs}
            same = len(pairs) == len(sides[0]) == len(sides[1]) and 2 * len(pairs) < len(y)
    except TypeError:
        return None
    if not same:
        return None
    return (
        f"Column {name!r} tells the target one to one: it looks like a copy of it. If it is not "
        "known for new rows, leave it out (role 'drop', --drop)."
    )
