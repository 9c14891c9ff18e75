"""Rows of a Parquet file, read where they are asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

BATCH = 1 << 16  # rows in memory at once while others are looked for


class ParquetRows:
    """The numeric columns of a Parquet file as a table that is indexed by rows, and never held.

    Parameters
    ----------
    path : str or Path
    columns : list of str, optional
        Default all.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import pandas as pd
    >>> path = Path(tempfile.mkdtemp()) / "table.parquet"
    >>> pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": [4, 5, 6]}).to_parquet(path)
    >>> table = ParquetRows(path)
    >>> table.shape
    (3, 2)
    >>> table[[2, 0]]
    array([[3., 6.],
           [1., 4.]])
    """

    def __init__(self, path: str | Path, columns: list[str] | None = None) -> None:
        self.path = Path(path)
        file = self._open()
        names = file.schema_arrow.names
        unknown = [name for name in columns or () if name not in names]
        if unknown:
            raise ValueError(
                f"Expected columns of {self.path.name} ({', '.join(names[:8])}), got "
                f"{unknown[0]!r}."
            )
        self.columns = list(names if columns is None else columns)
        groups = [file.metadata.row_group(g).num_rows for g in range(file.num_row_groups)]
        self._starts = np.concatenate([[0], np.cumsum(groups)]).astype(np.intp)

    def _open(self) -> Any:
        try:
            from pyarrow import parquet
        except ImportError as error:
            raise ImportError(
                f"Expected pyarrow to read {self.path}, got none. Do this: "
                'pip install "gramsmith[parquet]"'
            ) from error
        return parquet.ParquetFile(self.path)

    @property
    def shape(self) -> tuple[int, int]:
        """(n, p)."""
        return int(self._starts[-1]), len(self.columns)

    @property
    def ndim(self) -> int:
        """2."""
        return 2

    def __len__(self) -> int:
        """Return the number of rows."""
        return self.shape[0]

    def without(self, column: str) -> ParquetRows:
        """Return the table without one of its columns."""
        return ParquetRows(self.path, [name for name in self.columns if name != column])

    def column(self, name: str) -> Array:
        """Return a whole column, numbers or texts."""
        values = self._open().read(columns=[name]).column(name)
        return np.asarray(values.to_numpy(zero_copy_only=False))

    def __getitem__(self, rows: Any) -> Array:
        """Return some rows, an int array of positions, as float64 of shape (len(rows), p)."""
        rows = np.asarray(rows, dtype=np.intp)
        order = np.argsort(rows, kind="stable")
        wanted = rows[order]
        out = np.empty((len(rows), len(self.columns)))
        if not len(rows):
            return out
        if wanted[0] < 0 or wanted[-1] >= len(self):
            raise IndexError(f"Expected rows from 0 to {len(self) - 1}, got {rows.tolist()[:5]}.")
        group = np.searchsorted(self._starts, wanted, side="right") - 1
        file = self._open()
        for g in np.unique(group):
            start = int(self._starts[g])
            for batch in file.iter_batches(BATCH, row_groups=[int(g)], columns=self.columns):
                low, high = np.searchsorted(wanted, [start, start + batch.num_rows])
                if high > low:
                    out[order[low:high]] = self._values(batch, wanted[low:high] - start)
                start += batch.num_rows
        return out

    def _values(self, batch: Any, rows: Array) -> Array:
        try:
            part = batch.take(rows)
            return np.column_stack(
                [
                    np.asarray(part.column(name).to_numpy(zero_copy_only=False), dtype=np.float64)
                    for name in self.columns
                ]
            )
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"Expected columns of numbers in {self.path.name}, got other ones ({error}). "
                "Name the numeric ones, or write a file without the others."
            ) from None
