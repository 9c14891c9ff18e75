"""Comma- and tab-separated tables: columns of words, and of numbers where they are plain.

pyarrow parses; its types are taken where they lose nothing of what is written: plain numbers, ISO
dates and flags. Other columns stay words. What pyarrow refuses is looked at once more with the
standard library's reader, which can say in which row and line it stands.
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

from gramsmith.tables.convert import EXACT, Cells, canonical, parted_names, plain
from gramsmith.tables.decide import ROW_NAMES, TableFacts, nearest
from gramsmith.tables.streams import Array, DataError, Limits, read_bytes, short, text_lines
from gramsmith.tables.words import CODE, MISSING, UNKNOWN, Style

DELIMITERS = ",;\t|"
SPELLINGS = sorted(
    {form for w in MISSING | UNKNOWN for form in (w, w.upper(), w.capitalize(), w.title())}
)
BLOCK = 2**18  # bytes, few enough for the cache, in which leading zeros are looked for at a time
GROUPED = re.compile(r"[+-]?(\d+|\d{1,3}(\.\d{3})+)")

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
    comment : str, optional
        What lines begin with that are comments; default: there are none.
    """

    delimiter: str | None = None
    header: bool = True
    decimal: str | None = None
    thousands: str | None = None
    encoding: str | None = None
    na: Sequence[str] = ()
    comment: str | None = None


@dataclass(frozen=True)
class Delimited:
    """The columns of a text table, what parted them, and the line of the first row.

    The line is None where rows and lines do not go together: quoted cells over several lines.
    """

    columns: dict[str, Array]
    delimiter: str
    first_line: int | None


def read_delimited(
    path: Path,
    limits: Limits,
    writing: Writing | None = None,
    *,
    drop: Sequence[str] = (),
    texts: Sequence[str] = (),
    literal: Sequence[str] = (),
    all_text: bool = False,
) -> Delimited:
    """Return the columns of a table but for those of `drop`.

    `texts` names columns to be kept as they are written; in the columns of `literal` words such as
    NA are words, and only an empty cell is missing.
    """
    import pyarrow as pa
    from pyarrow import csv as arrow

    where, writing = path.name, writing or Writing()
    data = _as_utf8(read_bytes(path, limits), writing.encoding, where)
    data = _without_comments(data, writing.comment)
    delimiter = writing.delimiter or _delimiter(data, where, writing)
    names, begin = _header(data, delimiter, writing.header, where)
    lines = data.count(b"\n", begin) + (not data.endswith(b"\n"))
    quoted = b'"' in data
    limits.check_shape(0 if quoted else lines - 1, len(names), where)
    check_drop(drop, names, where)
    wanted = [name for name in names if name not in drop]
    kept = [name for name in wanted if all_text or name in texts or name in literal]

    def parsed(columns: list[str], words: list[str], newlines: bool) -> Any:
        return arrow.read_csv(
            pa.BufferReader(pa.py_buffer(data).slice(begin)),
            arrow.ReadOptions(column_names=names),
            arrow.ParseOptions(delimiter=delimiter, newlines_in_values=newlines),
            arrow.ConvertOptions(
                include_columns=columns,
                column_types=dict.fromkeys(words, pa.string()),
                null_values=[*SPELLINGS, *writing.na],
                true_values=["true", "True", "TRUE"],
                false_values=["false", "False", "FALSE"],
                decimal_point=writing.decimal or ".",
                auto_dict_encode=True,
                auto_dict_max_cardinality=100_000,
            ),
        )

    def read(columns: list[str], words: list[str]) -> Any:
        try:
            return parsed(columns, words, newlines=False)
        except pa.ArrowInvalid:
            # a block that ends within quotes is an error; looking for such ends takes time
            if not quoted:
                raise
            return parsed(columns, words, newlines=True)

    try:
        table = read(wanted, kept)
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
    doubtful = [name for name in wanted if name not in kept and _doubtful(table.column(name))]
    padded = [
        name
        for name in wanted
        if pa.types.is_integer(table.schema.field(name).type) and name not in doubtful
    ]
    if padded and _leading_zeros(data, delimiter):
        doubtful += padded
    again = read(doubtful, doubtful) if doubtful else None

    def cells(name: str) -> Array:
        column = table.column(name)
        if again is not None and name in doubtful:
            words = _words(again.column(name), False, writing)
            numeric = pa.types.is_integer(column.type) or pa.types.is_floating(column.type)
            if not numeric or any(CODE.fullmatch(word) for word in set(words) - {None}):
                return words
        if name in kept or not _is_fast(column.type):
            words = _words(column, name in literal, writing)
            return words if name in kept else _as_said(words, writing)
        return plain(column, name).values

    columns = {name: cells(name) for name in wanted}
    if writing.decimal is None:
        facts = TableFacts.of({name: Cells(v) for name, v in columns.items() if v.dtype == object})
        if facts.decimal == ",":
            columns |= _grouped(columns, read, writing)
    whole = lines == table.num_rows
    first = data.count(b"\n", 0, begin) + 1 if whole else None
    return Delimited(columns, delimiter, first)


def _is_fast(kind: Any) -> bool:
    """Return whether pyarrow's type says all that was written."""
    import pyarrow as pa

    checks = ("is_integer", "is_floating", "is_date", "is_timestamp", "is_boolean")
    return any(getattr(pa.types, check)(kind) for check in checks)


def _doubtful(column: Any) -> bool:
    """Return whether a column must be read as words to be understood as a frame of words would be.

    Empty ones, times of day, flags with gaps, and whole numbers past all digits of a double.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if pa.types.is_null(kind) or pa.types.is_time(kind):
        return True
    if pa.types.is_boolean(kind):
        return bool(column.null_count)
    if pa.types.is_floating(kind):
        most = pc.max(pc.abs(column)).as_py()
        return most is not None and EXACT < most < 1e40
    return False


def _leading_zeros(data: bytes, delimiter: str) -> bool:
    """Return whether any cell may begin with a zero that more digits follow."""
    marks = [mark for mark in {*delimiter.encode(), *b'\n" '} if bytes([mark]) in data]
    whole = np.frombuffer(data, dtype=np.uint8)
    for start in range(0, len(whole) - 2, BLOCK):
        part = whole[start : start + BLOCK + 2]
        zero = part[1:-1] == 48
        zero &= part[2:] - np.uint8(48) < 10  # unsigned: what is below 0 is far above 9
        first = part[:-2]
        if any((zero & (first == mark)).any() for mark in marks):
            return True
    return False


def _words(column: Any, literal: bool, writing: Writing) -> Array:
    """Return a column as texts, None where they are missing."""
    import pyarrow as pa

    if literal:
        words = [None if w is None else w.strip() for w in column.cast(pa.string()).to_pylist()]
        return np.array([w if w and w not in writing.na else None for w in words], dtype=object)
    found = plain(column).values
    if found.dtype != object:
        found = np.full(len(found), None, dtype=object)
    absent = set(writing.na)
    if absent:
        found = np.array([None if word in absent else word for word in found], dtype=object)
    return found


def _as_said(words: Array, writing: Writing) -> Array:
    """Return words with the numbers among them as the user says that they are written."""
    if not (writing.decimal or writing.thousands):
        return words
    return canonical(words, Style(writing.decimal or ".", writing.thousands or ""))


def _grouped(columns: dict[str, Array], read: Any, writing: Writing) -> dict[str, Array]:
    """Return as words the columns of a table with decimal commas whose points group digits."""
    doubtful = []
    for name, values in columns.items():
        if values.dtype == np.float64:
            thousand = 1000.0 * values[np.isfinite(values)]
            if (thousand % 1000 != 0).any() and (np.abs(thousand - thousand.round()) < 1e-6).all():
                doubtful.append(name)
    found = {}
    if doubtful:
        again = read(doubtful, doubtful)
        for name in doubtful:
            words = _words(again.column(name), False, writing)
            if all(w is None or w in UNKNOWN or GROUPED.fullmatch(w) for w in set(words)):
                found[name] = words
    return found


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


def _without_comments(data: bytes, comment: str | None) -> bytes:
    """Return a table with its comments blank: blank lines keep the numbers of the others."""
    if not comment:
        return data
    mark = re.escape(comment.encode())
    return re.sub(rb"^" + mark + rb"[^\n]*", b"", data, flags=re.MULTILINE)


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
            comment = data.startswith(b"#") or row[0].startswith("#")
            raise DataError(
                f"{where}, row {i} (line {line}): expected {len(names)} fields, got {len(row)}: "
                f"{short(names[-1])} is the last column.",
                "Lines that begin with # are rows unless the comment mark is named."
                if comment
                else "Check for stray or absent delimiters.",
                "comment" if comment else "",
            )
