"""Comma- and tab-separated tables: strict about shape, never silently shifted or renamed."""

from __future__ import annotations

import csv
import math
import operator
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from gramsmith.tables.streams import Array, DataError, Limits, open_capped, short, text_lines

CHUNK = 20_000
MISSING = frozenset(
    {"", "na", "n/a", "nan", "null", "none", "?", "-nan", "<na>", "#n/a", "missing"}
)

Cells = Sequence[str]
Row = tuple[int, list[str]]


def read_delimited(
    path: Path,
    delimiter: str,
    limits: Limits,
    *,
    header: bool = True,
    texts: Sequence[str] = (),
    kinds: Mapping[str, str] | None = None,
    literal: Sequence[str] = (),
    all_text: bool = False,
) -> dict[str, Array]:
    """Return the columns of a table, numbers as float64 and texts as objects.

    Missing cells become NaN among numbers and None among texts. `texts` names columns to be read
    as text whatever they hold; `kinds` says "number" or "text" where a model has seen a column; in
    the columns of `literal` words such as NA are words, and only an empty cell is missing.
    """
    where = path.name
    with open_capped(path, limits) as stream:
        reader = csv.reader(text_lines(stream, where), delimiter=delimiter, strict=True)
        rows = _rows(reader, where)
        first = next(rows, None)
        if first is None:
            raise DataError(f"{where}: expected a table, got an empty file.")
        line, cells = first
        names = check_names(cells, delimiter, where, line) if header else _numbered(len(cells))
        limits.check_shape(0, len(names), where)
        known = {**(kinds or {}), **dict.fromkeys(names if all_text else texts, "text")}
        table = Columns(names, known, where, literal)
        if not header:
            table.add([first])
        while chunk := list(islice(rows, CHUNK)):
            limits.check_shape(table.count + len(chunk), len(names), where)
            table.add(chunk)
    if not table.count:
        raise DataError(f"{where}: expected rows below the header, got none.")
    return table.finish()


def _rows(reader: Any, where: str) -> Iterator[Row]:
    """Yield rows with the lines they begin at: quoted cells may go over several lines."""
    begin = 1
    try:
        for row in reader:
            if row:  # a blank line is no row
                yield begin, row
            begin = reader.line_num + 1
    except csv.Error as error:
        raise DataError(
            f"{where}, line {reader.line_num}: expected a delimited row, got: {error}. "
            "Check the quotation marks."
        ) from error


def _numbered(count: int) -> list[str]:
    return [f"x{i + 1}" for i in range(count)]


def check_names(cells: Cells, delimiter: str, where: str, line: int = 1) -> list[str]:
    """Return the column names of a header; doubtful headers are refused with advice."""
    where = f"{where}, line {line}"
    names = [cell.strip() for cell in cells]
    if all(_number(name) is not None for name in names):
        raise DataError(
            f"{where}: expected column names, got numbers. "
            "Add a header, or use --no-header to call the columns x1, x2, ..."
        )
    other = next((d for d in ";\t,|" if d != delimiter and d in names[0]), None)
    if len(names) == 1 and other is not None:
        shown = {"\t": "'\\t'"}.get(other, f"'{other}'")
        raise DataError(
            f"{where}: expected columns parted by {delimiter!r}, got one column that holds "
            f"{shown}. Use --delimiter {shown}."
        )
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        at = ", ".join(str(i + 1) for i, name in enumerate(names) if name == twice[0])
        raise DataError(
            f"{where}: expected every column name once, got {short(twice[0])} in columns {at}. "
            "Rename or remove one of them."
        )
    for i, name in enumerate(names[1:], start=2):
        if not name:
            raise DataError(f"{where}: expected a name for column {i}, got none.")
    return names


class Columns:
    """Rows in, typed columns out.

    Parameters
    ----------
    names : list of str
        Column names; an empty first name may belong to a row index.
    kinds : mapping of str to str
        "number" or "text" where that is known; other columns are judged by their first rows.
    where : str
        Name of the file for messages.
    literal : sequence of str
        Columns in which only an empty cell is missing.
    """

    def __init__(
        self, names: list[str], kinds: Mapping[str, str], where: str, literal: Sequence[str] = ()
    ) -> None:
        self.names, self.kinds, self.where = names, dict(kinds), where
        self.literal = frozenset(literal)
        self.count = 0
        self._lines: list[int] = []
        self._parts: list[list[Any]] = [[] for _ in names]
        self._seen: dict[str, str] = {}

    def add(self, rows: list[Row]) -> None:
        """Take rows and their lines; all rows must be as long as the header."""
        self._lines = [line for line, _ in rows]
        for i, (_, row) in enumerate(rows):
            if len(row) != len(self.names):
                raise DataError(
                    f"{self._at(i)}: expected {len(self.names)} fields, got {len(row)}: "
                    f"{short(self.names[-1])} is the last column. Check for stray or absent "
                    "delimiters."
                )
        columns = zip(*(row for _, row in rows), strict=True)
        for j, (name, cells) in enumerate(zip(self.names, columns, strict=True)):
            if name not in self.kinds:
                self.kinds[name] = self._judge(name, cells)
            numeric = self.kinds[name] == "number"
            read = self._numbers if numeric else self._texts
            self._parts[j].append(read(name, cells))
        self.count += len(rows)

    def _at(self, i: int, name: str | None = None) -> str:
        column = "" if name is None else f", column {short(name)}"
        return f"{self.where}, row {self.count + i + 1} (line {self._lines[i]}){column}"

    def _judge(self, name: str, cells: Cells) -> str:
        present = [cell for cell in cells if not is_missing(cell)]
        readable = sum(_number(cell) is not None for cell in present)
        # a few stray words among numbers are mistakes; a column of words is a category
        return "number" if 2 * readable > len(present) or not present else "text"

    def _numbers(self, name: str, cells: Cells) -> Array:
        try:
            if "_" in "".join(cells):  # Python reads 1_000 as a number; tables do not mean it
                raise ValueError
            values = np.array(list(map(float, cells)), dtype=np.float64)
        except ValueError:
            values = np.array([self._cell(name, i, cell) for i, cell in enumerate(cells)])
        if np.isinf(values).any():
            i = int(np.flatnonzero(np.isinf(values))[0])
            raise DataError(
                f"{self._at(i, name)}: expected a finite number, got {short(cells[i])}, which is "
                "too large for a double. Correct it or leave the cell empty."
            )
        return values

    def _cell(self, name: str, i: int, cell: str) -> float:
        if is_missing(cell):
            return math.nan
        value = _number(cell)
        if value is None:
            raise DataError(
                f"{self._at(i, name)}: expected a number as in the other rows, got {short(cell)}. "
                "Correct it, leave it empty, use --categorical to read the column as text, or "
                "--drop "
                "to leave it out."
            )
        return value

    def _texts(self, name: str, cells: Cells) -> list[str | None]:
        # equal texts share one object: categories repeat
        seen = self._seen.setdefault
        absent = operator.not_ if name in self.literal else is_missing
        return [None if absent(cell) else seen(cell, cell) for cell in map(str.strip, cells)]

    def finish(self) -> dict[str, Array]:
        """Return the columns by name, without an unnamed row index."""
        found: dict[str, Array] = {}
        for name, parts in zip(self.names, self._parts, strict=True):
            if self.kinds[name] == "number":
                found[name] = np.concatenate(parts)
            else:
                found[name] = np.array([cell for part in parts for cell in part], dtype=object)
        index = found.get("")
        if index is not None:
            counted = np.arange(self.count) if index.dtype == np.float64 else None
            if counted is None or not ((index == counted).all() or (index == counted + 1).all()):
                raise DataError(f"{self.where}, line 1: expected a name for column 1, got none.")
            del found[""]
        return found


def is_missing(cell: str) -> bool:
    """Return whether a cell says that its value is missing."""
    return cell.strip().lower() in MISSING


def _number(cell: str) -> float | None:
    try:
        return None if "_" in cell else float(cell)
    except ValueError:
        return None
