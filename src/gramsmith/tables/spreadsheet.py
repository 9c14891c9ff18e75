"""Tables for people: csv files that no spreadsheet will take for formulas."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from typing import Any, TextIO

# A cell that starts like this is run as a formula by common spreadsheets.
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n")


def safe_cell(value: Any) -> Any:
    """Return a value for a csv cell; texts that look like formulas get a leading apostrophe.

    Parameters
    ----------
    value : object
        Numbers stay numbers, minus signs included.

    Returns
    -------
    object

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


def write_csv(stream: TextIO, names: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write a csv table with a header to an open text stream."""
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow([safe_cell(name) for name in names])
    for row in rows:
        writer.writerow([safe_cell(cell) for cell in row])
