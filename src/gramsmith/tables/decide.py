"""Decide what each column of a table is: once, for files, frames and arrays alike."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from gramsmith.arguments import abridged, counted, is_one_of
from gramsmith.tables.convert import Cells, missing_cells
from gramsmith.tables.streams import Array, DataError, short
from gramsmith.tables.words import (
    CLOCK_STYLE,
    CODE,
    PLAIN,
    Reading,
    Style,
    decimal_of,
    is_unknown,
    reading_of,
    values_of,
    written,
)

# What a column may be: inputs of seven kinds, and columns that are left out.
INPUTS = ("number", "boolean", "category", "ordered", "date", "text", "sequence")
OUT = ("id", "constant", "drop", "group", "weight", "time", "target")
ROLES = (*INPUTS, "date-dmy", "date-mdy", *OUT)
ROW_NAMES = "(row names)"  # what an unnamed first column is called, as written by R and pandas

FEW = 20  # different texts that are categories in a table of any length
ROWS_FOR_IDS = 10  # unique values of fewer rows tell nothing
MOSTLY = 0.9  # of the cells are numbers or dates: then the others are slips
# Few numbers, each often repeated, are names of categories even if one is a word: 3, 4, 6, rotary.
NAMES = 12
IDENTIFIER = re.compile(
    r"(?i:(^|[ _.\-])(id|ids|idx|index|rownum|row|rownames|key|uuid|guid|nr|no|num|number|ref)\.?$)"
    r"|[a-z](Id|ID|Nr|No)$|(?i:nummer$)"
)
TREND = re.compile(r"time|date|day|week|month|year|hour|jahr|monat|tag|datum|^t$", re.IGNORECASE)
SENTINELS = (-99.0, -999.0, -9999.0, -99999.0)
SEQUENCE = re.compile(r"[A-Za-z*.\-]{8,}")
TWICE = re.compile(r"(.*) \((\d+)\)", re.DOTALL)


@dataclass(frozen=True)
class Column:
    """What a column of a table is."""

    name: str
    role: str  # "input", "left out", "target", "group", "weight" or "time"
    kind: str  # one of INPUTS, or why it is left out
    missing: int
    distinct: int  # different values among the cells that are not missing
    example: str  # the first value
    note: str = ""  # what should be known, such as how its numbers were read
    style: str = ""  # how its words are read: decimal and grouping marks, or the order of a date
    sentinel: float = 0.0  # the number that stands for a missing cell; 0 if none does


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
        for kind, words in (("id", "identifiers"), ("constant", "constant or empty columns")):
            names = [repr(c.name) for c in out if c.kind == kind]
            if names:
                more = f" and {len(names) - 8} more" if len(names) > 8 else ""
                said.append(f"Left out as {words}: {', '.join(names[:8])}{more}.")
        return said + [f"Column {c.name!r}: {c.note}." for c in self if c.note and c not in out]

    def __repr__(self) -> str:
        rows = [list(self.HEAD), *([str(cell)[:40] for cell in row] for row in self.rows())]
        widths = [max(len(row[j]) for row in rows) for j in range(len(self.HEAD))]
        lines = ["  ".join(c.ljust(w) for c, w in zip(r, widths, strict=True)) for r in rows]
        return "\n".join(line.rstrip() for line in lines)


NO_COLUMNS = ColumnTable()


class TableFacts(NamedTuple):
    """What a column may learn from the others: their names, and their decimal mark if it is one."""

    names: frozenset[str] = frozenset()
    decimal: str | None = None

    @classmethod
    def of(cls, columns: Mapping[Any, Cells]) -> TableFacts:
        """Return what the columns of a table say of each other."""
        marks: set[str | None] = set()
        for cells in columns.values():
            values = cells.values
            if values.dtype == np.float64:
                known = values[np.isfinite(values)]
                marks |= {"."} if (known != np.round(known)).any() else set()
            elif values.dtype == object and not cells.declared:
                marks.add(decimal_of(_some_words(values)))
        marks.discard(None)
        return cls(frozenset(map(str, columns)), marks.pop() if len(marks) == 1 else None)


ALONE = TableFacts()


def _some_words(values: Array) -> list[str]:
    some = dict.fromkeys(values[:: max(1, len(values) // 1000)])
    return [word for word in some if isinstance(word, str) and not is_unknown(word)]


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


def nearest(name: str, names: Sequence[str]) -> str:
    """Return a clause that offers the names most like the one asked for."""
    folded = {str(candidate).lower(): candidate for candidate in reversed(names)}
    close = difflib.get_close_matches(name.lower(), folded, n=3, cutoff=0.6)
    if close:
        return f"Did you mean {' or '.join(short(folded[c]) for c in close)}?"
    shown = ", ".join(short(candidate) for candidate in names[:10])
    return f"The columns are {shown}{', ...' if len(names) > 10 else ''}."


def decide(
    name: Any,
    cells: Cells,
    table: TableFacts = ALONE,
    role: str | None = None,
    max_categories: int = 100,
    is_number: bool = False,
) -> Column:
    """Return what a column is, by its cells, the other columns, and what the user says of it.

    That of an array is a number, whatever its values are.
    """
    if role == "drop":
        return Column(str(name), "left out", "drop", 0, 0, "")
    values = cells.values
    absent = missing_cells(values)
    present = values[~absent]
    counts: Counter[Any] = Counter(present.tolist() if present.dtype == object else ())
    distinct = np.unique(present) if present.dtype != object else None
    size = len(counts) if distinct is None else len(distinct)
    seen = Column(str(name), "input", "number", int(absent.sum()), size, _example(present))
    if is_number:
        return _with_sentinel(seen, present, np.unique(present))
    twice = TWICE.fullmatch(seen.name)
    if twice and twice.group(1) in table.names:
        seen = replace(seen, note=f"one of several columns named {twice.group(1)!r}")
    if role is not None and role in OUT:
        kept = role if role in ("group", "weight", "time", "target") else "left out"
        return replace(seen, role=kept, kind=role if kept == "left out" else _plain_kind(values))
    if role is not None:
        return _as_said(seen, values, counts, role, table)
    if not size or (size == 1 and not seen.missing):
        return replace(seen, role="left out", kind="constant")
    if name == ROW_NAMES:
        return replace(seen, role="left out", kind="id")
    if cells.levels is not None:
        return replace(seen, kind="ordered")
    if cells.declared:
        return replace(seen, kind="category" if size <= max_categories else "text")
    if values.dtype.kind == "M":
        return replace(seen, kind="date")
    if values.dtype == bool or (distinct is None and isinstance(next(iter(counts)), bool)):
        return replace(seen, kind="boolean")
    if distinct is not None:
        return _number(seen, present, distinct)
    return _words(seen, values, counts, max_categories, table)


def _number(seen: Column, present: Array, distinct: Array) -> Column:
    unique = len(distinct) == len(present) and not seen.missing
    if unique and _is_identifier(seen.name, present):
        return replace(seen, role="left out", kind="id")
    return _with_sentinel(seen, present, distinct)


def _is_identifier(name: str, x: Array) -> bool:
    """Return whether unique numbers are names of rows: whole, and called so or counted up."""
    if len(x) < ROWS_FOR_IDS or not (x == np.round(x)).all():
        return False
    # counted from 0 or 1, or from where customers and orders begin
    counted_up = (x[0] in (0, 1) or x[0] >= 1000) and bool((np.diff(x) == 1).all())
    return bool(IDENTIFIER.search(name)) or (counted_up and not TREND.search(name))


def _with_sentinel(seen: Column, present: Array, distinct: Array) -> Column:
    """Return a column of numbers, of which one may stand for missing cells."""
    odd = [value for value in SENTINELS if value in distinct]
    others = distinct[~np.isin(distinct, SENTINELS)] if odd else distinct
    if len(odd) != 1 or len(others) <= 2 or others.min() < 0:
        return seen
    count = int((present == odd[0]).sum())
    note = _joined(seen.note, f"{odd[0]:g} is read as missing ({counted(count, 'cell')})")
    missing, distinct_left = seen.missing + count, len(distinct) - 1
    return replace(seen, sentinel=odd[0], note=note, missing=missing, distinct=distinct_left)


def _words(
    seen: Column, values: Array, counts: Counter[str], max_categories: int, table: TableFacts
) -> Column:
    """Return what a column of words is: numbers and dates first, then names."""
    n = sum(counts.values())
    known = [word for word in counts if not is_unknown(word)]
    codes = any(CODE.fullmatch(word) for word in known)
    found = _read(seen, values, counts, known, table, codes)
    if found is not None:
        return found
    if {word.lower() for word in counts} <= {"true", "false"}:
        return replace(seen, kind="boolean")
    words = list(counts)
    numbers = sum(counts[word] for word in known if written(word) is not None)
    # a column of numbers is no identifier because some cells cannot be read
    if len(words) == n >= ROWS_FOR_IDS and not any(" " in word for word in words):
        if all(SEQUENCE.fullmatch(w) for w in words) and len(set("".join(words[:200]))) <= 30:
            return replace(seen, kind="sequence")
        if codes or 2 * numbers <= n:
            return replace(seen, role="left out", kind="id")
    if len(words) <= FEW or (len(words) <= max_categories and 2 * len(words) <= n):
        return replace(seen, kind="category")
    strings = all(SEQUENCE.fullmatch(word) for word in words)
    return replace(seen, kind="sequence" if strings else "text")


def _read(
    seen: Column,
    values: Array,
    counts: Counter[str],
    known: list[str],
    table: TableFacts,
    codes: bool,
) -> Column | None:
    """Return a column of numbers or dates written as words; None if its words are neither."""
    reading = reading_of(known, table.decimal, "date" if codes else "")
    kind, odd, units = reading.kind, reading.odd, reading.units
    if not kind or (odd and not (odd := _slips(reading, counts, known))):
        return None
    unless = f"roles={{{seen.name!r}: 'category'}}"
    if odd:
        message = f"expected a {kind} as in most rows, got {{}}."
        raise _doubt(
            seen,
            values,
            odd,
            message,
            f"Correct it, make it missing, or set {unless}.",
            "stray word",
        )
    if reading.ambiguous and kind == "date":
        message = "expected dates, got {}: is the day first or the month?"
        advice = f"Set roles={{{seen.name!r}: 'date-dmy'}} or 'date-mdy'."
        raise _doubt(seen, values, known, message, advice, "ambiguous date")
    if reading.ambiguous:
        message = "expected a number, got {}: is the comma a decimal mark, or does it group digits?"
        advice = f"Write the numbers with points, or set {unless} if they are names."
        commas = [word for word in known if "," in word]
        raise _doubt(seen, values, commas, message, advice, "ambiguous comma")
    if len(units) > 1:
        message = f"expected numbers in one unit, got {' and '.join(map(short, units[:2]))}."
        advice = f"Convert them to one, or set roles={{{seen.name!r}: 'text'}} or 'drop'."
        other = [word for word in known if (part := written(word)) and part.unit == units[1]]
        raise _doubt(seen, values, other, message, advice, "units")
    if kind == "date":
        return _spared(replace(seen, kind=kind, style=reading.style), counts, known)
    note = _joined(seen.note, _style_note(reading.style))
    found = replace(seen, style=reading.style, note=note)
    worth = values_of(values, reading.style)
    x = np.array([worth[word] for word in values], dtype=np.float64)
    x = x[~np.isnan(x)]
    return _number(_spared(found, counts, known), x, np.unique(x))


def _slips(reading: Reading, counts: Counter[str], known: list[str]) -> list[str]:
    """Return the words that are slips among numbers or dates; none if the column is neither."""
    total, wrong = (sum(counts[word] for word in words) for words in (known, reading.odd))
    if total >= 3 and 1.0 - wrong / total >= MOSTLY:
        return reading.odd
    if reading.kind == "date" or total < 3 or 2 * wrong >= total:
        return []
    # words without digits among numbers are slips too, if most cells are numbers
    plain = [word for word in reading.odd if not any(c.isdigit() for c in word)]
    pointed = sum(counts[word] for word in known if "." in word and PLAIN.fullmatch(word))
    if len(known) <= NAMES and 4 * len(known) <= total:
        return []
    return plain or (reading.odd if 2 * pointed > total - wrong else [])


def _doubt(
    seen: Column, values: Array, words: Iterable[str], message: str, advice: str, code: str = ""
) -> DataError:
    """Return the error for the first cell of a column that has one of some words."""
    wanted = set(words)
    row, word = next((i, str(word)) for i, word in enumerate(values) if word in wanted)
    return DataError(message.format(short(word)), advice, code, column=seen.name, row=row)


def _spared(seen: Column, counts: Counter[str], known: list[str]) -> Column:
    """Return a column of numbers or dates whose unknown words count as missing."""
    unknown = sum(counts.values()) - sum(counts[word] for word in known)
    return replace(seen, missing=seen.missing + unknown, distinct=len(known))


def _style_note(text: str) -> str:
    if text == CLOCK_STYLE:
        return "times, in seconds"
    style = Style.of(text)
    marks = {",": "commas", ".": "points", "'": "apostrophes", " ": "blanks"}
    said = [] if style.decimal == "." else ["decimal commas"]
    if style.thousands:
        said.append(f"digits grouped by {marks[style.thousands]}")
    if style.unit:
        said.append("percent" if style.unit == "%" else f"in {style.unit}")
    return f"texts read as numbers ({', '.join(said) or 'plain'})"


def _joined(*notes: str) -> str:
    return "; ".join(note for note in notes if note)


def _as_said(
    seen: Column, values: Array, counts: Counter[Any], role: str, table: TableFacts
) -> Column:
    """Return a column as the user says that it is, or raise where it cannot be that."""
    words = [str(word) for word in counts if not is_unknown(str(word))]
    if role.startswith("date"):
        style = {"date-dmy": "dmy", "date-mdy": "mdy"}.get(role, "")
        if not style and values.dtype == object:
            reading = reading_of(words, kind="date")
            if not reading.kind or reading.ambiguous:
                raise DataError(
                    f"expected dates such as 2024-03-31, got {short(seen.example)}.",
                    "Use 'date-dmy' or 'date-mdy' for other orders.",
                    column=seen.name,
                )
            style = reading.style
        return replace(seen, kind="date", style=style)
    if role == "number" and values.dtype == object and words:
        written_out = [word for word in words if word not in ("True", "False")]
        reading = reading_of(written_out, table.decimal, "number")
        flags = isinstance(next(iter(counts)), bool)
        if not flags and (not reading.kind or reading.odd or reading.ambiguous):
            raise _doubt(
                seen,
                values,
                reading.odd or words,
                "expected a number, got {}.",
                "Correct the column, or give it another role.",
            )
        return _spared(replace(seen, kind="number", style=reading.style), counts, words)
    if role == "boolean" and seen.distinct > 2:
        raise DataError(
            f"expected two values, got {seen.distinct}.",
            "Set the role 'category'.",
            column=seen.name,
        )
    return replace(seen, kind=role)


def _plain_kind(values: Array) -> str:
    return {"f": "number", "b": "boolean", "M": "date"}.get(values.dtype.kind, "category")


def _example(present: Array) -> str:
    if not len(present):
        return ""
    first = present[0]
    if isinstance(first, np.datetime64):
        return str(first.astype("datetime64[s]")).removesuffix("T00:00:00")
    return f"{first:g}" if isinstance(first, np.floating) else str(first)


def copy_of_target(name: Any, cells: Cells, y: Array) -> str | None:
    """Return what to say if a column tells the target one to one, else None."""
    values = cells.values
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
        f"Column {name!r} determines the target: it may be a copy of it. If it is not "
        "known for new rows, leave it out (role 'drop')."
    )
