"""What the user sees: messages, failures and tables, plain when nobody is watching."""

from __future__ import annotations

import json
import math
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate
from typing import Any

import click

from gramsmith.progress import printable

WORDS = 24  # columns of a table that words need at least


class Refused(click.ClickException):
    """Raised when a well-formed command cannot be carried out; the message says what to change."""

    exit_code = 2


class BadData(ValueError):
    """Raised in place of a library's ValueError about the data that were passed to it."""


@contextmanager
def collected_warnings() -> Iterator[list[str]]:
    """Collect what the library warns of, each word once, to be told when the work is done."""
    found: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            yield found
        finally:
            # other categories speak to programmers
            said = [str(item.message) for item in caught if issubclass(item.category, UserWarning)]
            found.extend(dict.fromkeys(said))


@contextmanager
def about_the_data(where: str) -> Iterator[None]:
    """Let a ValueError of the library appear as a word about the file, not as a traceback."""
    try:
        yield
    except ValueError as error:
        raise BadData(f"{where}: {error}") from error


def say(message: str) -> None:
    """Write a message to the standard error."""
    click.echo(printable(message, keep="\n"), err=True)


def show_json(value: Any) -> None:
    """Write a value as JSON to the standard output; what is not finite becomes null."""
    click.echo(json.dumps(plain(value), indent=2, ensure_ascii=False, allow_nan=False))


def plain(value: Any, *, finite: bool = True) -> Any:
    """Return nested values as JSON has them; by default what is not finite becomes None."""
    if isinstance(value, dict):
        return {str(key): plain(item, finite=finite) for key, item in value.items()}
    if isinstance(value, list | tuple | set):
        return [plain(item, finite=finite) for item in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist(), finite=finite)
    if finite and isinstance(value, float) and not math.isfinite(value):
        return None
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return str(value)


def cell(value: Any) -> str:
    """Return a value as a table shows it."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "-"
    if isinstance(value, bool):
        return "yes" if value else ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def show_table(
    names: Sequence[str], rows: Sequence[Sequence[Any]], title: str = "", err: bool = False
) -> None:
    """Write a table to the standard output or error, with colours and lines only on a terminal.

    A terminal that is too narrow for all columns is shown the first of them, and what is missing.
    """
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(
        title=Text(printable(title)) if title else None, box=SIMPLE_HEAD, title_justify="left"
    )
    numeric = [all(isinstance(r[j], int | float | None) for r in rows) for j in range(len(names))]
    cells = [[printable(cell(value)) for value in row] for row in rows]
    widths = [
        max(len(name), *(len(row[j]) for row in cells)) if cells else len(name)
        for j, name in enumerate(names)
    ]
    # words may be broken into lines, numbers may not
    least = [w if right else min(w, WORDS) for w, right in zip(widths, numeric, strict=True)]
    # a pipe has no width: whoever reads it wants whole lines
    stream = sys.stderr if err else sys.stdout
    console = Console(file=stream, width=None if stream.isatty() else 10_000)
    shown = fitting(least, console.width)
    for j in range(shown):
        name, right = Text(printable(names[j])), numeric[j]
        table.add_column(name, justify="right" if right else "left", min_width=least[j])
    for row in cells:
        table.add_row(*(Text(value) for value in row[:shown]))
    console.print(table, no_wrap=not stream.isatty(), crop=False)
    if shown < len(names):
        say(f"The terminal is too narrow for {', '.join(names[shown:])}.")


def fitting(widths: Sequence[int], room: int) -> int:
    """Return how many columns of some widths fit into a terminal, at least two.

    Examples
    --------
    >>> from gramsmith.cli.console import fitting
    >>> fitting([4, 20, 10, 10], 40)
    2
    """
    taken = accumulate(w + 3 for w in widths)  # with what is between them
    return max(2, sum(end + 1 <= room for end in taken))
