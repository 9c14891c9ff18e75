"""Columns from Arrow: Parquet, Feather and .xlsx files, and Arrow tables as plain arrays.

A column is float64 (NaN where missing), bool, datetime64[us] (NaT where missing), or objects: texts
and None.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gramsmith.tables.names import check_names
from gramsmith.tables.streams import Array, DataError, Limits, open_file, short

ROWS = 65_536  # of a batch: what is read before the bytes are counted again


def arrow_column(column: Any, where: str = "", text: bool = False) -> Array:
    """Return an Arrow column as an array; `text` keeps numbers as they are written."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if pa.types.is_dictionary(kind) and not _is_text(pa, kind.value_type):
        column = column.cast(kind.value_type)
        kind = column.type
    if pa.types.is_null(kind):
        return np.full(len(column), np.nan)
    if _is_text(pa, kind) or pa.types.is_dictionary(kind):
        coded = column if pa.types.is_dictionary(kind) else column.dictionary_encode()
        coded = coded.combine_chunks() if isinstance(coded, pa.ChunkedArray) else coded
        if isinstance(coded, pa.ChunkedArray):
            coded = coded.unify_dictionaries().chunk(0)
        words = [None if word is None else word.strip() for word in coded.dictionary.to_pylist()]
        places = pc.fill_null(coded.indices, len(words)).to_numpy(zero_copy_only=False)
        return np.asarray(np.array([*words, None], dtype=object)[places])
    if text:
        return np.array([None if v is None else str(v) for v in column.to_pylist()], dtype=object)
    if pa.types.is_boolean(kind):
        if not column.null_count:
            return np.asarray(column.to_numpy(), dtype=bool)
        return np.array(column.to_pylist(), dtype=object)
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        return np.asarray(column.to_numpy(), dtype="datetime64[us]")
    if pa.types.is_time(kind) or pa.types.is_duration(kind):
        seconds = column.cast(pa.int64()) if kind.bit_width == 64 else column.cast(pa.int32())
        return np.asarray(seconds.cast(pa.float64()).to_numpy(), dtype=np.float64)
    if pa.types.is_decimal(kind) or pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return np.asarray(column.cast(pa.float64(), safe=False).to_numpy(), dtype=np.float64)
    raise DataError(
        f"{where}: expected numbers, flags, dates or texts, got {kind}. "
        "Convert the column or leave it out when writing the file."
    )


def _is_text(pa: Any, kind: Any) -> bool:
    checks = ("is_string", "is_large_string", "is_string_view")
    return any(getattr(pa.types, check, lambda _: False)(kind) for check in checks)


def check_infinite(
    columns: dict[str, Array], where: str, line: Callable[[int], int] | None = None
) -> None:
    """Raise DataError at the first infinite number; `line` tells the line of a row."""
    for name, column in columns.items():
        if column.dtype == np.float64 and np.isinf(column).any():
            row = int(np.flatnonzero(np.isinf(column))[0])
            at = "" if line is None else f" (line {line(row)})"
            raise DataError(
                f"{where}, row {row + 1}{at}, column {short(name)}: expected a finite number, got "
                "infinity, or one too large for a double. Correct it or leave the cell empty."
            )


def read_parquet(path: Path, limits: Limits, texts: Sequence[str] = ()) -> dict[str, Array]:
    """Return the columns of a Parquet file; texts stay coded while their bytes are counted."""
    import pyarrow as pa
    from pyarrow import parquet

    def batches(stream: Any) -> Any:
        file = parquet.ParquetFile(stream)
        about, schema = file.metadata, file.schema_arrow
        limits.check_shape(about.num_rows, about.num_columns, path.name)
        claimed = sum(about.row_group(i).total_byte_size for i in range(about.num_row_groups))
        limits.check_bytes(max(claimed, about.num_rows * about.num_columns), path.name)
        _check_schema(schema, path.name)
        words = [f.name for f in schema if _is_text(pa, f.type)]
        return schema, parquet.ParquetFile(stream, read_dictionary=words).iter_batches(ROWS)

    return _read_arrow(path, limits, texts, batches, "parquet")


def read_feather(path: Path, limits: Limits, texts: Sequence[str] = ()) -> dict[str, Array]:
    """Return the columns of a Feather (Arrow IPC) file."""
    from pyarrow import ipc

    def batches(stream: Any) -> Any:
        try:
            file = ipc.open_file(stream)
            parts = (file.get_batch(i) for i in range(file.num_record_batches))
        except Exception:  # a stream of batches rather than a file of them
            stream.seek(0)
            file = ipc.open_stream(stream)
            parts = iter(file)
        _check_schema(file.schema, path.name)
        return file.schema, parts

    return _read_arrow(path, limits, texts, batches, "feather")


def _check_schema(schema: Any, where: str) -> None:
    import pyarrow as pa

    for field in schema:
        nested = pa.types.is_nested(field.type) or pa.types.is_binary(field.type)
        if nested or pa.types.is_large_binary(field.type):
            raise DataError(
                f"{where}, column {short(field.name)}: expected numbers, flags, dates or texts, "
                f"got {field.type}. Convert the column or leave it out when writing the file."
            )


def _read_arrow(
    path: Path, limits: Limits, texts: Sequence[str], batches: Any, kind: str
) -> dict[str, Array]:
    import pyarrow as pa

    parts, count, rows = [], 0, 0
    with open_file(path) as stream:
        try:
            schema, found = batches(stream)
            names = check_names(list(schema.names), path.name)
            limits.check_shape(0, len(names), path.name)
            for part in found:
                # what a file says of lengths and places is believed by Arrow unless it is asked
                part.validate(full=True)
                count, rows = count + part.nbytes, rows + part.num_rows
                limits.check_bytes(count, path.name)
                limits.check_shape(rows, len(names), path.name)
                parts.append(part)
            if not rows:
                raise DataError(f"{path.name}: expected rows, got none.")
            table = pa.Table.from_batches(parts).unify_dictionaries()
        except DataError:
            raise
        except (pa.ArrowException, OSError, ValueError, KeyError) as error:
            raise DataError(f"{path.name}: expected {kind}, got: {short(str(error))}.") from error
    columns = {
        name: arrow_column(
            table.column(j), f"{path.name}, column {short(name)}", text=name in texts
        )
        for j, name in enumerate(names)
    }
    check_infinite(columns, path.name)
    return columns


def read_xlsx(path: Path, limits: Limits, texts: Sequence[str] = ()) -> dict[str, Array]:
    """Return the columns of the first sheet of a workbook, by python-calamine.

    The archive is unpacked under the cap first, so that what is parsed is as large as was counted.
    """
    from python_calamine import CalamineWorkbook

    try:
        with open_file(path) as stream, zipfile.ZipFile(stream) as archive:
            plain, count = io.BytesIO(), 0
            with zipfile.ZipFile(plain, "w") as copy:
                for info in archive.infolist():
                    with archive.open(info) as member:
                        data = member.read(limits.bytes - count + 1)
                    count += len(data)
                    limits.check_bytes(count, path.name)
                    copy.writestr(info.filename, data)
        plain.seek(0)
        rows = CalamineWorkbook.from_filelike(plain).get_sheet_by_index(0).to_python()
    except DataError:
        raise
    except Exception as error:  # damaged archives fail wherever they are damaged
        raise DataError(
            f"{path.name}: expected an .xlsx file, got: {short(str(error))}."
        ) from error
    rows = [row for row in rows if any(cell != "" for cell in row)]
    if len(rows) < 2:
        raise DataError(f"{path.name}: expected a header and rows in the first sheet, got none.")
    limits.check_shape(len(rows) - 1, len(rows[0]), path.name)
    names = check_names([str(cell) for cell in rows[0]], path.name)
    cells = zip(*rows[1:], strict=True)
    return {name: _cells(column, name in texts) for name, column in zip(names, cells, strict=True)}


def _cells(column: Sequence[Any], text: bool) -> Array:
    present = [cell for cell in column if cell != ""]
    kinds = {type(cell) for cell in present}
    if not text and kinds and kinds <= {int, float}:
        return np.array([np.nan if cell == "" else cell for cell in column], dtype=np.float64)
    if not text and kinds == {bool}:
        return np.array([None if cell == "" else cell for cell in column], dtype=object)
    if not text and kinds and all(hasattr(cell, "year") for cell in present):
        return np.array([None if c == "" else c for c in column], dtype="datetime64[us]")
    return np.array([None if cell == "" else _written(cell) for cell in column], dtype=object)


def _written(cell: Any) -> str:
    # a workbook keeps every number as a double
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell).strip()
