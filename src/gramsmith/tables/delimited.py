"""Comma- and tab-separated tables, parsed by pyarrow: never silently shifted or renamed.

What pyarrow refuses is looked at once more with the standard library's reader, which can say in
which row and line it stands.
"""

from __future__ import annotations

import csv
import io
import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from gramsmith.arguments import counted
from gramsmith.tables.columnar import arrow_column, check_infinite
from gramsmith.tables.names import check_names
from gramsmith.tables.streams import Array, DataError, Limits, read_bytes, short, text_lines
from gramsmith.tables.words import (
    MISSING,
    PLAIN,
    Style,
    is_missing,
    plain_numbers,
    stray_word,
    word_rows,
)

DELIMITERS = ",;\t|"
SPELLINGS = sorted({form for w in MISSING for form in (w, w.upper(), w.capitalize(), w.title())})

Row = tuple[int, list[str]]


@dataclass(frozen=True)
class Writing:
    """How a text table was written.

    Attributes
    ----------
    delimiter : str, optional
        What parts the columns; default: found in the first lines.
    header : bool
        Whether the first line has the column names.
    decimal, thousands : str, optional
        The decimal mark, and what groups the digits of large numbers.
    encoding : str, optional
        Default UTF-8, or UTF-16 where the file begins like that.
    na : sequence of str
        Further words for a missing cell.
    """

    delimiter: str | None = None
    header: bool = True
    decimal: str | None = None
    thousands: str | None = None
    encoding: str | None = None
    na: Sequence[str] = ()

    def numbers(self, column: Array) -> Array:
        """Return texts as the numbers that they were said to be, if all of them are."""
        if column.dtype != object or not (self.decimal or self.thousands):
            return column
        found = plain_numbers(column, Style(self.decimal or ".", self.thousands or ""))
        return column if found is None else found


def read_delimited(
    path: Path,
    limits: Limits,
    writing: Writing | None = None,
    *,
    texts: Sequence[str] = (),
    numbers: Sequence[str] = (),
    literal: Sequence[str] = (),
    all_text: bool = False,
) -> tuple[dict[str, Array], str]:
    """Return the columns of a table and what parted them.

    `texts` names columns to be kept as they are written; in those of `numbers` words are missing
    cells, with a warning; in the columns of `literal` words such as NA are words, and only an empty
    cell is missing.
    """
    import pyarrow as pa
    from pyarrow import csv as arrow

    where, writing = path.name, writing or Writing()
    data = _as_utf8(read_bytes(path, limits), writing.encoding, where)
    delimiter = writing.delimiter or _delimiter(data, where, writing)
    data = _without_comments(data, delimiter, writing.header, where)
    names, begin = _header(data, delimiter, writing.header, where)
    quoted = b'"' in data
    limits.check_shape(0 if quoted else data.count(b"\n", begin), len(names), where)
    kept = [name for name in names if all_text or name in texts]

    def parsed(newlines: bool) -> Any:
        return arrow.read_csv(
            pa.BufferReader(pa.py_buffer(data).slice(begin)),
            arrow.ReadOptions(column_names=names),
            arrow.ParseOptions(delimiter=delimiter, newlines_in_values=newlines),
            arrow.ConvertOptions(
                column_types=dict.fromkeys(kept, pa.string()),
                null_values=[*SPELLINGS, *writing.na],
                decimal_point=writing.decimal or ".",
                auto_dict_encode=True,
                auto_dict_max_cardinality=100_000,
            ),
        )

    try:
        try:
            table = parsed(newlines=False)
        except pa.ArrowInvalid:
            # a block that ends within quotes is an error; looking for such ends takes time
            if not quoted:
                raise
            table = parsed(newlines=True)
    except (pa.ArrowException, ValueError) as error:
        _explain(data, delimiter, names, begin, where)
        if not data[begin:].strip():
            raise DataError(f"{where}: expected rows below the header, got none.") from error
        raise DataError(
            f"{where}: expected a delimited table, got: {short(str(error))}."
        ) from error
    if not table.num_rows:
        raise DataError(f"{where}: expected rows below the header, got none.")
    limits.check_shape(table.num_rows, len(names), where)
    kinds = [getattr(kind, "value_type", kind) for kind in table.schema.types]
    if any(pa.types.is_binary(kind) for kind in kinds):  # texts that are not UTF-8
        _explain(data, delimiter, names, begin, where)
    columns = {}
    for j, name in enumerate(names):
        column = arrow_column(table.column(j))
        if column.dtype == object and not pa.types.is_boolean(table.schema.types[j]):
            column = _texts(column, name in literal, writing)
            if name not in kept:
                column = writing.numbers(column)
            stray = None
            if name in numbers and column.dtype == object:
                words, stray = word_rows(column, Style())
                if words and stray is None:
                    first = words[0]
                    line = _line(data, delimiter, begin, first, where)
                    more = f" and {len(words) - 1:,} more like it" if len(words) > 1 else ""
                    warnings.warn(
                        f"{where}, row {first + 1} (line {line}), column {short(name)}: expected a "
                        f"number as in training, got {short(column[first])}{more}: taken as "
                        "missing. If words belong there, train with the role category.",
                        UserWarning,
                        stacklevel=2,
                    )
                    column[words] = None
            elif name not in kept and column.dtype == object:
                stray = stray_word(column)
            if stray is not None:
                line = _line(data, delimiter, begin, stray, where)
                raise DataError(
                    f"{where}, row {stray + 1} (line {line}), column {short(name)}: expected a "
                    f"number as in the other rows, got {short(column[stray])}. Correct it, leave "
                    f"it empty, name the word with --na if it means missing, read the column as "
                    f"text with --role {name}=category, or leave it out with --drop."
                )
        columns[name] = column
    check_infinite(columns, where, lambda row: _line(data, delimiter, begin, row, where))
    return columns, delimiter


def _as_utf8(data: bytes, encoding: str | None, where: str) -> bytes:
    """Return UTF-8 without a mark at its beginning, lines ended by LF."""
    if encoding is None and data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        encoding = "utf-16"
    if encoding is not None:
        try:
            data = data.decode(encoding).encode()
        except LookupError as error:
            raise DataError(f"Expected an encoding such as latin-1, got {encoding!r}.") from error
        except UnicodeError as error:
            raise DataError(f"{where}: expected {encoding} text, got: {error}.") from error
    data = data.removeprefix(b"\xef\xbb\xbf")
    nul = data.find(b"\0")
    if nul >= 0:
        line = data.count(b"\n", 0, nul) + 1
        raise DataError(
            f"{where}, line {line}: expected text, got a NUL byte. "
            "Is this a text table? UTF-16 without a mark needs --encoding utf-16-le."
        )
    if b"\n" not in data:
        data = data.replace(b"\r", b"\n")
    return data


def _without_comments(data: bytes, delimiter: str, header: bool, where: str) -> bytes:
    """Return a table with its comments blank: blank lines keep the numbers of the others.

    A line that begins with ``#`` is a comment, but for one with as many cells as the others whose
    first cell is a word, as in all of them: colours, names. Within quotes there are no comments.
    """
    if not (data.startswith(b"#") or b"\n#" in data):
        return data
    lines, mark = data.splitlines(keepends=True), delimiter.encode()
    plain = [k for k, line in enumerate(lines) if line.strip() and not line.startswith(b"#")]
    first = plain[0] if plain else len(lines) if header else -1
    width = _count(lines[first], mark) if plain else _count(lines[0], mark)
    cells = (lines[k].partition(mark)[0].strip(b'" ').decode("utf-8", "replace") for k in plain)
    numbers = any(PLAIN.fullmatch(cell) for cell in islice(cells, int(header), 20))
    opened = re.compile(rb"(?:^|" + re.escape(mark) + rb')\s*"')
    quotes, comments = 0, []
    for k, line in enumerate(lines):
        if line.startswith(b"#") and quotes % 2 == 0:
            if k < first or numbers or not width or _count(line, mark) != width:
                lines[k] = b"\n" if line.endswith(b"\n") else b""
                comments += [k + 1] if k > first and mark in line else []
                continue
        if quotes % 2 or opened.search(line):  # 5" opens nothing
            quotes += line.count(b'"')
    if comments:
        warnings.warn(
            f"{where}: {counted(len(comments), 'line')} with cells (the first is line "
            f"{comments[0]}) taken as comments, because of a # at the beginning. If it belongs to "
            "the first cell, put that in quotation marks.",
            UserWarning,
            stacklevel=3,
        )
    return b"".join(lines)


def _count(line: bytes, mark: bytes) -> int:
    """Return how often a mark stands in a line, outside of quotes."""
    return re.sub(rb'"[^"]*"', b"", line).count(mark)


def _delimiter(data: bytes, where: str, writing: Writing) -> str:
    """Return what parts the columns of the first lines: the mark that they have in common."""
    if where.lower().removesuffix(".gz").removesuffix(".zst").endswith((".tsv", ".tab")):
        return "\t"
    lines = [line for line in data[:100_000].decode("utf-8", "replace").split("\n")[:20] if line]
    lines = [line for line in lines if not line.startswith("#")] or lines
    lines = [re.sub(r'"[^"]*"', "", line) for line in lines[:-1] or lines]
    marks = [d for d in DELIMITERS if d not in (writing.decimal, writing.thousands)]
    found = [(min(counts), d) for d in marks if (counts := [x.count(d) for x in lines])]
    most = max(found, key=lambda pair: pair[0], default=(0, ","))
    if not most[0] and lines:  # a line is out of step: the header decides
        most = max(((lines[0].count(d), d) for d in marks), key=lambda pair: pair[0])
    if most[1] == "," and _decimal_commas(lines):
        return ";"
    return most[1] if most[0] else ","


def _decimal_commas(lines: list[str]) -> bool:
    """Return whether commas are marks in numbers, of which semicolons part as many in each line."""
    parts = {line.count(";") for line in lines}
    commas = [line.count(",") for line in lines]
    inside = all(len(re.findall(r"(?<=\d),(?=\d)", line)) == line.count(",") for line in lines)
    few = max(commas, default=0) <= max(parts, default=0) + 1  # at most one for each cell
    return len(parts) == 1 and 0 not in parts and inside and few


def _header(data: bytes, delimiter: str, header: bool, where: str) -> tuple[list[str], int]:
    """Return the column names, and the byte at which the rows begin."""
    stream = io.BytesIO(data)
    for line, cells in _rows(stream, delimiter, where):
        if not header:
            return [f"x{i + 1}" for i in range(len(cells))], 0
        return check_names(cells, where, line), stream.tell()
    raise DataError(f"{where}: expected a table, got an empty file.")


def _rows(stream: Any, delimiter: str, where: str) -> Iterator[Row]:
    """Yield rows with the lines they begin at: quoted cells may go over several lines."""
    try:
        reader = csv.reader(text_lines(stream, where), delimiter=delimiter, strict=True)
    except TypeError as error:
        raise DataError(f"Expected one character as delimiter, got {delimiter!r}.") from error
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


def _explain(data: bytes, delimiter: str, names: list[str], begin: int, where: str) -> None:
    """Raise DataError at the first row that is not as long as the header."""
    first = 0 if begin else 1
    for i, (line, row) in enumerate(_rows(io.BytesIO(data), delimiter, where), start=first):
        if len(row) != len(names):
            raise DataError(
                f"{where}, row {i} (line {line}): expected {len(names)} fields, got {len(row)}: "
                f"{short(names[-1])} is the last column. Check for stray or absent delimiters."
            )


def _line(data: bytes, delimiter: str, begin: int, row: int, where: str) -> int:
    """Return the line at which a row begins."""
    rows = _rows(io.BytesIO(data), delimiter, where)
    return next(line for i, (line, _) in enumerate(rows) if i == row + (1 if begin else 0))


def _texts(column: Array, literal: bool, writing: Writing) -> Array:
    """Return texts with None where they are missing."""
    known = {word: word for word in dict.fromkeys(column)}
    absent = {"", *writing.na}
    for word in known:
        if word is None or word in absent or (not literal and is_missing(word)):
            known[word] = None
    if all(word is found for word, found in known.items()):
        return column
    return np.array([known[word] for word in column], dtype=object)
