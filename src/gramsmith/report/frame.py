"""Records as tables: a pandas data frame, and text for a terminal."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any


def records_frame(records: Sequence[dict[str, Any]]) -> Any:
    """Return records as a pandas data frame, one row each, indexed by rank.

    Parameters
    ----------
    records : list of dict
        With the key "rank".

    Returns
    -------
    pandas.DataFrame
    """
    import pandas as pd

    return pd.DataFrame.from_records(list(records)).set_index("rank")


def number(value: Any, digits: int = 3) -> str:
    """Return a number as short text; a dash for what is undefined."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.{digits}g}" if isinstance(value, float) else str(value)


def with_error(value: Any, error: Any) -> str:
    """Return value ± error, to the digits that the error leaves."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return "–"
    if error is None or not math.isfinite(error) or error <= 0:
        return f"{value:.3f}" if abs(value) < 100 else f"{value:.4g}"
    places = min(6, max(0, 1 - math.floor(math.log10(error))))
    return f"{value:.{places}f} ± {error:.{places}f}"


def text_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return rows under a head, in columns."""
    widths = [max(len(str(row[k])) for row in [head, *rows]) for k in range(len(head))]
    lines = [head, ["-" * w for w in widths], *rows]
    return "\n".join(
        "  ".join(str(cell).ljust(w) for cell, w in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )
