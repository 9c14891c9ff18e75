"""Tables for people: csv files, on request such that no spreadsheet takes a cell for a formula."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TextIO

# A cell that starts like this is run as a formula by common spreadsheets.
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n")


def safe_cell(value: Any) -> Any:
    """Return a value for a csv cell; texts that look like formulas get a leading apostrophe.

    Examples
    --------
    >>> from gramsmith.tables.spreadsheet import safe_cell
    >>> safe_cell("=1+1"), safe_cell(-2.5), safe_cell("-2.5"), safe_cell("plain")
    ("'=1+1", -2.5, '-2.5', 'plain')
    """
    if not isinstance(value, str) or not value.startswith(FORMULA_STARTS):
        return value
    try:
        float(value)
    except ValueError:
        return f"'{value}"
    return value


def write_csv(
    stream: TextIO,
    names: Sequence[str],
    rows: Iterable[Sequence[Any]],
    shown: Callable[[Any], Any] | None = None,
) -> None:
    """Write a csv table with a header to an open text stream; `shown` is done to every cell."""
    writer = csv.writer(stream, lineterminator="\n")
    for row in ([*names], *rows):
        writer.writerow(row if shown is None else [shown(cell) for cell in row])
