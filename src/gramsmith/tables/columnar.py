"""Parquet, Feather and .xlsx files: what a column unpacks to is counted before it is unpacked."""

from __future__ import annotations

import io
import os
import re
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gramsmith.tables.convert import is_text, plain
from gramsmith.tables.delimited import check_drop, check_names
from gramsmith.tables.streams import Array, DataError, Limits, open_file, parsing, short

ROWS = 65_536  # of a batch: what is read before the bytes are counted again
FEW_ROWS = 256  # of a batch whose texts share their beginnings, so that few bytes make many
# A compressed buffer of Arrow: its length when unpacked, then the mark of zstandard or LZ4.
COMPRESSED = (b"\x28\xb5\x2f\xfd", b"\x04\x22\x4d\x18")
NOISE = 2**40  # a length that no file means: these four bytes also occur by chance
CELL = 32  # bytes of a cell in calamine's grid, which has one for every place up to the last cell
SPARSE = 20  # places of that grid for every cell that is there, beyond a million
REFERENCE = re.compile(rb"<(?:\w+:)?(?:c|row)\b[^>]*?\br\s*=\s*[\"']\s*([A-Za-z]{0,4})(\d{0,9})")
SHARED = re.compile(
    rb"<(?:\w+:)?c\b[^>]*?\bt\s*=\s*[\"']s[\"'][^>]*>.{0,200}?<(?:\w+:)?v[^>]*>(\d+)", re.DOTALL
)
STRING = re.compile(rb"<(?:\w+:)?si\b.*?</(?:\w+:)?si>", re.DOTALL)


def read_parquet(path: Path, limits: Limits, drop: Sequence[str] = ()) -> dict[str, Array]:
    """Return the columns of a Parquet file; texts stay coded while their bytes are counted."""
    from pyarrow import parquet

    def batches(stream: Any) -> tuple[Any, Iterator[Any]]:
        file = parquet.ParquetFile(stream)
        about, schema = file.metadata, file.schema_arrow
        limits.check_shape(about.num_rows, about.num_columns, path.name)
        groups = [about.row_group(i) for i in range(about.num_row_groups)]
        limits.check_bytes(sum(group.total_byte_size for group in groups), path.name)
        _check_schema(schema, drop, path.name)
        words = [f.name for f in schema if is_text(f.type)]
        shared = any(
            "DELTA_BYTE_ARRAY" in group.column(j).encodings
            for group in groups
            for j in range(group.num_columns)
        )
        wanted = [name for name in schema.names if name not in drop]
        # texts that share their beginnings cannot be read coded
        opened = parquet.ParquetFile(stream, read_dictionary=[] if shared else words)
        return schema, opened.iter_batches(FEW_ROWS if shared else ROWS, columns=wanted)

    return _read_arrow(path, limits, drop, batches, "parquet")


def read_feather(path: Path, limits: Limits, drop: Sequence[str] = ()) -> dict[str, Array]:
    """Return the columns of a Feather (Arrow IPC) file."""
    import pyarrow as pa
    from pyarrow import ipc

    def batches(stream: Any) -> tuple[Any, Iterator[Any]]:
        limits.check_bytes(os.fstat(stream.fileno()).st_size, path.name)
        data = stream.read()
        lengths = _unpacked(data)
        limits.check_bytes(sum(lengths), path.name)
        buffer = pa.BufferReader(data)
        try:
            file = ipc.open_file(buffer)
            parts = (file.get_batch(i) for i in range(file.num_record_batches))
        except pa.ArrowInvalid:  # a stream of batches rather than a file of them
            buffer.seek(0)
            file = ipc.open_stream(buffer)
            parts = iter(file)
        _check_schema(file.schema, drop, path.name)
        # a forged file may name one buffer for all of its columns
        limits.check_bytes(max(lengths, default=0) * len(file.schema), path.name)
        return file.schema, parts

    return _read_arrow(path, limits, drop, batches, "feather")


def _unpacked(data: bytes) -> list[int]:
    """Return the lengths that the compressed buffers of Arrow bytes claim to have unpacked."""
    found = []
    for mark in COMPRESSED:
        place = data.find(mark)
        while place >= 0:
            length = int.from_bytes(data[max(place - 8, 0) : place], "little", signed=True)
            if 0 < length < NOISE and place >= 8:
                found.append(length)
            place = data.find(mark, place + 1)
    return found


def _check_schema(schema: Any, drop: Sequence[str], where: str) -> None:
    import pyarrow as pa

    for field in schema:
        kind = field.type
        if field.name in drop:
            continue
        checks = (pa.types.is_nested, pa.types.is_binary, pa.types.is_large_binary)
        if any(check(kind) for check in checks) or pa.types.is_run_end_encoded(kind):
            raise DataError(
                f"{where}, column {short(field.name)}: expected numbers, flags, dates or texts, "
                f"got {kind}. Convert the column or leave it out."
            )


def _text_bytes(column: Any) -> int:
    """Return what the texts of a coded column take when each is written out."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pa.types.is_dictionary(column.type) or not is_text(column.type.value_type):
        return 0
    lengths = pc.fill_null(pc.binary_length(column.dictionary), 0).to_numpy(zero_copy_only=False)
    codes = column.indices.drop_null().to_numpy(zero_copy_only=False)
    counts = np.bincount(codes.astype(np.int64), minlength=len(lengths))
    return int(counts @ lengths.astype(np.int64)) if len(lengths) else 0


def _read_arrow(
    path: Path, limits: Limits, drop: Sequence[str], batches: Any, kind: str
) -> dict[str, Array]:
    import pyarrow as pa

    parts, count, rows = [], 0, 0
    with open_file(path) as stream, parsing(path.name, kind):
        schema, found = batches(stream)
        names = check_names(list(schema.names), path.name)
        check_drop(drop, names, path.name)
        limits.check_shape(0, len(names), path.name)
        for part in found:
            # what a file says of lengths and places is believed by Arrow unless it is asked
            part.validate(full=True)
            count += part.nbytes + sum(map(_text_bytes, part.columns))
            rows += part.num_rows
            limits.check_bytes(count, path.name)
            limits.check_shape(rows, len(names), path.name)
            parts.append(part)
        if not rows:
            raise DataError(f"{path.name}: expected rows, got none.")
        table = pa.Table.from_batches(parts)
    wanted = [j for j, name in enumerate(names) if name not in drop]
    # Parquet leaves columns out while it reads
    places = wanted if table.num_columns == len(names) else range(len(wanted))
    return {
        names[j]: plain(table.column(k), names[j]).values
        for j, k in zip(wanted, places, strict=True)
    }


def read_xlsx(
    path: Path, limits: Limits, drop: Sequence[str] = (), sheet: str | None = None
) -> tuple[dict[str, Array], str]:
    """Return the columns of a sheet of a workbook, by python-calamine, and a note on the others.

    The archive is unpacked under the cap first, so that what is parsed is as large as was counted;
    then the references of cells are looked at, because the grid reaches to the last of them.
    """
    from python_calamine import CalamineWorkbook

    with parsing(path.name, "an .xlsx file"):
        with open_file(path) as stream, zipfile.ZipFile(stream) as archive:
            # never is more unpacked than an entry says
            limits.check_bytes(sum(info.file_size for info in archive.infolist()), path.name)
            plain_copy, texts, sheets = io.BytesIO(), [0], []
            with zipfile.ZipFile(plain_copy, "w") as copy:
                for info in archive.infolist():
                    data = archive.read(info)
                    copy.writestr(info.filename, data)
                    if b"<si" in data or b":si" in data:
                        texts = [len(match.group()) for match in STRING.finditer(data)]
                    elif info.filename.lower().endswith(".xml"):
                        sheets.append(data)
        for data in sheets:
            _check_grid(data, texts, limits, path.name)
        plain_copy.seek(0)
        book = CalamineWorkbook.from_filelike(plain_copy)
        names = book.sheet_names
        if sheet is not None and sheet not in names:
            raise DataError(
                f"{path.name}: expected a sheet {short(sheet)}, got "
                f"{', '.join(map(short, names[:10]))}."
            )
        chosen = names[0] if sheet is None else sheet
        rows = book.get_sheet_by_name(chosen).to_python()
    rows = [row for row in rows if any(cell != "" for cell in row)]
    if len(rows) < 2:
        raise DataError(
            f"{path.name}: expected a header and rows in sheet {short(chosen)}, got none."
        )
    limits.check_shape(len(rows) - 1, len(rows[0]), path.name)
    heads = [str(cell) for cell in rows[0]]
    columns = {}
    named = check_names(heads, path.name)
    check_drop(drop, named, path.name)
    for j, name in enumerate(named):
        if name not in drop:
            cells = np.empty(len(rows) - 1, dtype=object)
            cells[:] = [None if row[j] == "" else row[j] for row in rows[1:]]
            columns[name] = plain(cells, name).values
    others = [short(name) for name in names if name != chosen]
    note = f"sheet {short(chosen)}, not {', '.join(others[:5])}" if others else ""
    return columns, note


def _check_grid(data: bytes, texts: list[int], limits: Limits, where: str) -> None:
    """Raise DataError if the grid or the texts of a sheet are past the caps."""
    cells, last_row, last_column = 0, 0, 0
    for letters, digits in REFERENCE.findall(data):
        cells += 1
        column = 0
        for letter in letters.upper():
            column = 26 * column + letter - 64
        last_row, last_column = max(last_row, int(digits or 0)), max(last_column, column)
    if last_row > 2**20 or last_column > 2**14:
        raise DataError(f"{where}: expected cells up to XFD1048576, got one beyond.")
    places = last_row * last_column
    if places > 10**6 and places > SPARSE * cells:
        raise DataError(
            f"{where}: expected a table without missing cells, got {cells:,} cells in a grid of "
            f"{last_row:,} rows and {last_column:,} columns.",
            "Delete the cells that lie far out.",
        )
    limits.check_bytes(CELL * places, where)
    repeated = sum(texts[int(i)] for i in SHARED.findall(data) if int(i) < len(texts))
    limits.check_bytes(repeated, where)
