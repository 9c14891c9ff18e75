"""Comma- and tab-separated tables: columns of words, and of numbers or dates where they are plain.

pyarrow parses; its numbers and dates are taken where they lose nothing of what is written. Other
columns stay words. What pyarrow refuses is looked at once more with the standard library's reader,
which can say in which row and line it stands.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gramsmith.tables.convert import Cells, canonical, parted_names, plain
from gramsmith.tables.decide import ROW_NAMES, TableFacts, nearest
from gramsmith.tables.streams import (
    Array,
    DataError,
    Limits,
    parsing,
    read_bytes,
    short,
    text_lines,
)
from gramsmith.tables.words import CODE, MISSING, Style, is_unknown

DELIMITERS = ",;\t|"
SPELLINGS = sorted({form for w in MISSING for form in (w, w.upper(), w.capitalize(), w.title())})
FRACTION = re.compile(r"\s*-?\d*\.\d+\s*")


@dataclass(frozen=True)
class Writing:
    """How a text table was written."""

    delimiter: str | None = None  # what parts the columns; default: found in the first lines
    header: bool = True  # whether the first line has the column names
    decimal: str | None = None  # the decimal mark
    thousands: str | None = None  # what groups the digits of large numbers
    encoding: str | None = None  # default UTF-8, or UTF-16 where the file begins like that
    na: Sequence[str] = ()  # further words for a missing cell
    comment: str | None = None  # what lines begin with that are comments; default: there are none


def read_delimited(
    path: Path,
    limits: Limits,
    writing: Writing | None = None,
    *,
    drop: Sequence[str] = (),
    texts: Sequence[str] | None = (),
    literal: Sequence[str] | None = (),
) -> tuple[dict[str, Array], str, int | None]:
    """Return the columns of a table but for those of `drop`, what parts them, and the first line.

    `texts` names columns to be kept as they are written; in the columns of `literal` words such as
    NA are words, and only an empty cell is missing; None stands for all columns. The line of the
    first row is None where quoted cells go over several lines.
    """
    import pyarrow as pa
    from pyarrow import csv as arrow

    where, writing = path.name, writing or Writing()
    data = _as_utf8(read_bytes(path, limits), writing.encoding, where)
    if writing.comment:  # blank lines keep the numbers of the others
        mark = re.escape(writing.comment.encode())
        data = re.sub(rb"^" + mark + rb"[^\n]*", b"", data, flags=re.MULTILINE)
    delimiter = writing.delimiter or _delimiter(data, where, writing)
    names, begin, row = _header(data, delimiter, writing.header, where)
    lines = data.count(b"\n", begin) + (not data.endswith(b"\n"))
    quoted = b'"' in data
    limits.check_shape(0 if quoted else lines - 1, len(names), where)
    check_drop(drop, names, where)
    wanted = [name for name in names if name not in drop]
    verbatim = wanted if literal is None else [name for name in wanted if name in literal]

    said = Style(writing.decimal or ".", writing.thousands or "")
    plainly: set[str] = set()  # columns that begin with a number that has a point
    if said == Style() and texts is not None:
        plainly = {c for c, cell in zip(names, row, strict=False) if FRACTION.fullmatch(cell)}
        plainly -= set(texts)

    def read(columns: list[str], absent: list[str], floats: set[str], newlines: bool) -> Any:
        types = {name: pa.float64() if name in floats else pa.string() for name in columns}
        try:
            return arrow.read_csv(
                pa.BufferReader(pa.py_buffer(data).slice(begin)),
                arrow.ReadOptions(column_names=names),
                arrow.ParseOptions(delimiter=delimiter, newlines_in_values=newlines),
                arrow.ConvertOptions(
                    include_columns=columns,
                    column_types=types,
                    null_values=[*absent, *writing.na],
                    strings_can_be_null=True,
                ),
            )
        except pa.ArrowInvalid:
            if floats:  # what looks like a number in the first row may be no number in another
                return read(columns, absent, set(), newlines)
            # a block that ends within quotes is an error; looking for such ends takes time
            if newlines or not quoted:
                raise
            return read(columns, absent, set(), True)

    with parsing(where, "a delimited table"):
        try:
            table = read(wanted, SPELLINGS, plainly, False)
            named = read(verbatim, [""], set(), False) if verbatim else None
        except ValueError:  # pyarrow's errors too: we look where it is
            _explain(data, delimiter, names, begin, where)
            if data[begin:].strip():
                raise
            raise DataError(f"{where}: expected rows below the header, got none.") from None
    if not table.num_rows:
        raise DataError(f"{where}: expected rows below the header, got none.")
    limits.check_shape(table.num_rows, len(names), where)

    def words(name: str) -> Array:
        column = table.column(name)
        if pa.types.is_floating(column.type):
            column = read([name], SPELLINGS, set(), False).column(name)
        found = plain(column, name).values
        if not writing.na:
            return found
        return np.array([None if word in writing.na else word for word in found], dtype=object)

    def cells(name: str) -> Array:
        if named is not None and name in verbatim:
            stripped = [None if w is None else w.strip() for w in named.column(name).to_pylist()]
            return np.array([w if w and w not in writing.na else None for w in stripped], object)
        if texts is None or name in texts:
            return words(name)
        values = _typed(table.column(name), name)
        if said != Style() and not _are_whole(values):
            return canonical(words(name), said)
        return words(name) if writing.na and values.dtype == object else values

    columns = {name: cells(name) for name in wanted}
    if writing.decimal is None:
        facts = TableFacts.of({name: Cells(v) for name, v in columns.items() if v.dtype == object})
        if facts.decimal == ",":  # then points group digits
            fractions = [n for n, v in columns.items() if v.dtype == float and not _are_whole(v)]
            columns |= {name: words(name) for name in fractions}
    first = data.count(b"\n", 0, begin) + 1 if lines == table.num_rows else None
    return columns, delimiter, first


def _typed(column: Any, name: str) -> Array:
    """Return a column of words as numbers or dates where all words are plainly written as such."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_floating(column.type):
        return np.asarray(column.to_numpy())
    values = _cast(column)
    if values is not None:
        return values
    # blanks around the cells, or words such as - that mean a missing one among numbers
    coded = column.dictionary_encode().combine_chunks()
    words = pc.utf8_trim_whitespace(coded.dictionary)
    begun = pc.match_substring_regex(words, r"^[+-]?\d*[.,]?\d")  # as numbers and dates begin
    if not pc.any(begun).as_py():
        return plain(coded, name).values
    odd = [word for word in words.filter(pc.invert(begun)).to_pylist() if is_unknown(word)]
    values = _cast(pc.if_else(pc.is_in(words, pa.array(odd, pa.string())), None, words))
    if values is None:
        return plain(coded, name).values
    missing = np.array([np.nan]).astype(values.dtype)
    places = np.asarray(pc.fill_null(coded.indices, len(values)))
    return np.asarray(np.append(values, missing)[places])


def _cast(words: Any) -> Array | None:
    """Return words as numbers or dates, None where they are others, or codes with digits to lose.

    Codes are whole numbers with leading zeros, or with more digits than a double holds.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    for kind in (pa.float64(), pa.timestamp("us")):
        try:
            found = words.cast(kind)
        except pa.ArrowInvalid:
            continue
        values = np.asarray(found.to_numpy(zero_copy_only=False))
        if _are_whole(values):
            many = np.abs(values).max(initial=0.0, where=~np.isnan(values)) >= 1e15
            some = words if many else words.filter(pc.starts_with(words, "0"))
            if pc.any(pc.match_substring_regex(some, f"^({CODE.pattern})$")).as_py():
                return None
        return values
    return None


def _are_whole(values: Array) -> bool:
    """Return whether a column has whole numbers only."""
    if values.dtype != np.float64:
        return False
    parts = (values[:1000], values)  # most fractions are seen in the first rows
    return all(bool(((v == np.round(v)) | np.isnan(v)).all()) for v in parts)


def check_names(cells: Sequence[str], where: str, line: int | None = None) -> list[str]:
    """Return the column names of a header, each once; doubtful headers are refused with advice."""
    where = where if line is None else f"{where}, line {line}"
    names = [cell.strip() for cell in cells]
    if names and all(_is_number(name) for name in names):
        raise DataError(
            f"{where}: expected column names, got numbers.",
            "Add a header, or read the table without one: the columns are then x1, x2, ...",
            "no header",
        )
    if len(names) > 1 and not names[0]:
        names[0] = ROW_NAMES
    for i, name in enumerate(names, start=1):
        if not name:
            raise DataError(
                f"{where}: expected a name for column {i}, got none. "
                "Is there a delimiter at the end of the lines?"
            )
    return parted_names(names)


def check_drop(drop: Sequence[str], names: Sequence[str], where: str) -> None:
    """Raise DataError for a column to leave out that there is not."""
    for name in drop:
        if name not in names:
            raise DataError(
                f"{where}: expected a column {short(name)}, got none. {nearest(name, names)}"
            )


def _is_number(name: str) -> bool:
    try:
        float(name)
    except ValueError:
        return False
    return "_" not in name


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
            f"{where}, line {line}: expected text, got a NUL byte.",
            "Is this a text table? UTF-16 without a mark needs the encoding utf-16-le.",
            "encoding",
        )
    if b"\n" not in data:
        data = data.replace(b"\r", b"\n")
    return data


def _delimiter(data: bytes, where: str, writing: Writing) -> str:
    """Return what parts the columns of the first lines: the mark that they have in common."""
    if where.lower().removesuffix(".gz").removesuffix(".zst").endswith((".tsv", ".tab")):
        return "\t"
    lines = [line for line in data[:100_000].decode("utf-8", "replace").split("\n")[:20] if line]
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


def _header(
    data: bytes, delimiter: str, header: bool, where: str
) -> tuple[list[str], int, list[str]]:
    """Return the column names, the byte at which the rows begin, and the first row."""
    stream = io.BytesIO(data)
    rows = _rows(stream, delimiter, where)
    line, cells = next(rows, (0, []))
    if not line:
        raise DataError(f"{where}: expected a table, got an empty file.")
    if not header:
        return [f"x{i + 1}" for i in range(len(cells))], 0, cells
    names, begin = check_names(cells, where, line), stream.tell()
    try:
        return names, begin, next(rows, (0, []))[1]
    except DataError:  # pyarrow's words for it come first
        return names, begin, []


def _rows(stream: Any, delimiter: str, where: str) -> Iterator[tuple[int, list[str]]]:
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
            comment = data.startswith(b"#") or row[0].startswith("#")
            raise DataError(
                f"{where}, row {i} (line {line}): expected {len(names)} fields, got {len(row)}: "
                f"{short(names[-1])} is the last column.",
                "Lines that begin with # are rows unless the comment mark is named."
                if comment
                else "Check for stray or absent delimiters.",
                "comment" if comment else "",
            )
