"""What the user sees: messages, failures, tables and progress, plain when nobody is watching."""

from __future__ import annotations

import json
import math
import sys
import threading
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate
from typing import Any

import click

NARROW = 12
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


def printable(text: str, keep: str = "") -> str:
    r"""Return a text without characters that could move the cursor or turn the line around.

    Parameters
    ----------
    text : str
        Anything, such as a column name from a file.
    keep : str
        Unprintable characters that are meant.

    Returns
    -------
    str

    Examples
    --------
    >>> from gramsmith.cli.console import printable
    >>> print(printable("a\x1b[31m\u202eb"))
    a\x1b[31m\u202eb
    """
    return "".join(
        c if c.isprintable() or c in keep else c.encode("unicode_escape", "replace").decode()
        for c in text
    )


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


class Progress:
    """A progress bar on a terminal, lines elsewhere, silence if asked for.

    The bar moves several times a second, whatever the work is doing. In a log there is a line for
    every stage and, while one lasts, a line every `interval` seconds.

    Parameters
    ----------
    quiet : bool
        Whether to show nothing.
    interval : float
        Seconds between lines.
    """

    def __init__(self, quiet: bool = False, interval: float = 10.0) -> None:
        self._quiet = quiet
        self._interval = interval
        self._bar: Any = None
        self._task: Any = None
        self._stage = ""
        self._words = ""
        self._ended = threading.Event()

    def _lines(self) -> None:
        """Say every now and then how far the work has come, until it has ended."""
        begun = time.monotonic()
        while not self._ended.wait(self._interval):
            if self._words:
                say(f"{self._words} after {time.monotonic() - begun:.0f} seconds")

    def __enter__(self) -> Progress:
        if not self._quiet and not sys.stderr.isatty():
            threading.Thread(target=self._lines, name="progress", daemon=True).start()
        if not self._quiet and sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
            from rich.progress import Progress as Bar

            text = TextColumn("{task.description}", markup=False)
            console = Console(file=sys.stderr)
            self._bar = Bar(text, BarColumn(), TimeElapsedColumn(), console=console, transient=True)
            self._bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._ended.set()
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, stage: str, done: int, total: int, label: str = "") -> None:
        """Show how far the work has come."""
        if self._quiet:
            return
        if self._bar is None:
            if stage != self._stage:
                say(f"{stage} ...")
            named = f" ({label[:40]})" if label else ""
            self._words = f"{stage} {done:,} of {total:,}{named}"
        elif self._task is None or stage != self._stage:
            if self._task is not None:
                self._bar.remove_task(self._task)
            self._task = self._bar.add_task(printable(stage), total=total)
        self._stage = stage
        if self._bar is not None:
            words = printable(f"{stage:{NARROW}} {label[:40]}")
            self._bar.update(self._task, completed=done, total=total, description=words)
