"""Names of columns: headers that can be trusted, and the nearest name to a misspelt one."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Sequence

from gramsmith.tables.streams import DataError, short

ROW_NAMES = "(row names)"  # what an unnamed first column is called, as written by R and pandas


def check_names(cells: Sequence[str], where: str, line: int | None = None) -> list[str]:
    """Return the column names of a header; doubtful headers are refused with advice."""
    where = where if line is None else f"{where}, line {line}"
    names = [cell.strip() for cell in cells]
    if names and all(_is_number(name) for name in names):
        raise DataError(
            f"{where}: expected column names, got numbers. "
            "Add a header, or use --no-header to call the columns x1, x2, ..."
        )
    if len(names) > 1 and not names[0]:
        names[0] = ROW_NAMES
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        at = ", ".join(str(i + 1) for i, name in enumerate(names) if name == twice[0])
        raise DataError(
            f"{where}: expected every column name once, got {short(twice[0])} in columns {at}. "
            "Rename or remove one of them."
        )
    for i, name in enumerate(names, start=1):
        if not name:
            raise DataError(
                f"{where}: expected a name for column {i}, got none. "
                "Is there a delimiter at the end of the lines?"
            )
    return names


def _is_number(name: str) -> bool:
    try:
        float(name)
    except ValueError:
        return False
    return "_" not in name


def nearest(name: str, names: Sequence[str]) -> str:
    """Return a clause that offers the names most like the one asked for."""
    folded = {str(candidate).lower(): candidate for candidate in reversed(names)}
    close = difflib.get_close_matches(name.lower(), folded, n=3, cutoff=0.6)
    if close:
        return f"Did you mean {' or '.join(short(folded[c]) for c in close)}?"
    shown = ", ".join(short(candidate) for candidate in names[:10])
    return f"The columns are {shown}{', ...' if len(names) > 10 else ''}."
