"""Parquet tables, by pyarrow: sizes are checked in the file's footer before a column is read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gramsmith.tables.delimited import check_names
from gramsmith.tables.streams import Array, DataError, Limits, open_file, short


def read_parquet(path: Path, limits: Limits, texts: Sequence[str] = ()) -> dict[str, Array]:
    """Return the columns of a parquet file, numbers as float64 and texts as objects."""
    import pyarrow
    from pyarrow import parquet

    try:
        with open_file(path) as stream:
            file = parquet.ParquetFile(stream)
            rows, width = file.metadata.num_rows, file.metadata.num_columns
            limits.check_shape(rows, width, path.name)
            if rows * width * 8 > limits.bytes:
                raise DataError(
                    f"{path.name}: expected at most {limits.bytes:,} bytes, got {rows:,} rows of "
                    f"{width} "
                    "columns. Raise --max-bytes if the file is meant to be this large."
                )
            names = check_names(file.schema_arrow.names, ",", path.name)
            for name in names:
                _check_type(pyarrow, file.schema_arrow.field(name).type, name, path.name)
            table = file.read()
    except (pyarrow.ArrowException, OSError) as error:
        raise DataError(f"{path.name}: expected parquet, got: {short(str(error))}.") from error
    if not rows:
        raise DataError(f"{path.name}: expected rows, got none.")
    return {name: _column(pyarrow, table.column(name), name, path.name, texts) for name in names}


def _check_type(pa: Any, kind: Any, name: str, where: str) -> None:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    checks = ("is_integer", "is_floating", "is_boolean", "is_string", "is_large_string", "is_null")
    if not any(getattr(pa.types, check)(kind) for check in checks):
        raise DataError(
            f"{where}, column {short(name)}: expected numbers, flags or texts, got {kind}. "
            "Convert the column or leave it out when writing the file."
        )


def _column(pa: Any, column: Any, name: str, where: str, texts: Sequence[str]) -> Array:
    kind = column.type
    if pa.types.is_dictionary(kind):
        column = column.cast(kind.value_type)
        kind = column.type
    words = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    if words or pa.types.is_boolean(kind) or name in texts:
        cells = column.to_pylist()
        return np.array([None if cell is None else str(cell) for cell in cells], dtype=object)
    values = np.asarray(column.cast(pa.float64(), safe=False).to_numpy(), dtype=np.float64)
    if np.isinf(values).any():
        row = int(np.flatnonzero(np.isinf(values))[0]) + 1
        raise DataError(
            f"{where}, row {row}, column {short(name)}: expected a finite number, got infinity."
        )
    return values
