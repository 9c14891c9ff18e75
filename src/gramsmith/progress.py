"""Progress: how far a long piece of work has come, as a bar on a terminal, as lines elsewhere."""

from __future__ import annotations

import sys
import threading
import time
from contextlib import suppress
from typing import Any

NARROW = 16  # letters of the longest stage
LABEL = 40  # letters of a label that are shown


def printable(text: str, keep: str = "") -> str:
    r"""Return a text without characters that could move the cursor or turn the line around.

    Examples
    --------
    >>> from gramsmith.progress import printable
    >>> print(printable("a\x1b[31m\u202eb"))
    a\x1b[31m\u202eb
    """
    return "".join(
        c if c.isprintable() or c in keep else c.encode("unicode_escape", "replace").decode()
        for c in text
    )


class Progress:
    """A progress bar on a terminal, lines elsewhere; both on the standard error.

    The bar, which is drawn by rich, moves several times a second, whatever the work is doing.
    Without rich, and in a log or a notebook, there is a line for every stage and, while one lasts,
    a line every `interval` seconds.

    Examples
    --------
    >>> from gramsmith.progress import Progress
    >>> with Progress() as progress:
    ...     for done in range(3):
    ...         progress("check", done + 1, 3, "Gaussian")
    """

    def __init__(self, interval: float = 10.0) -> None:
        self._interval = interval
        self._bar: Any = None
        self._task: Any = None
        self._stage = ""
        self._words = ""
        self._ended = threading.Event()

    def __enter__(self) -> Progress:
        stream = sys.stderr
        if stream is not None and getattr(stream, "isatty", bool)():
            self._bar = _make_bar(stream)
        if self._bar is not None:
            self._bar.start()
        else:
            threading.Thread(target=self._lines, name="progress", daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self._ended.set()
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, stage: str, done: int, total: int, label: str = "") -> None:
        """Show how far the work has come."""
        label = label[:LABEL]
        if self._bar is None:
            if stage != self._stage:
                _say(f"{stage} ...")
            named = f" ({label})" if label else ""
            self._words = f"{stage} {done:,} of {total:,}{named}"
        else:
            words = printable(f"{stage:{NARROW}} {label}")
            if self._task is None or stage != self._stage:
                if self._task is not None:
                    self._bar.remove_task(self._task)
                self._task = self._bar.add_task(words, total=total)
            self._bar.update(self._task, completed=done, total=total, description=words)
        self._stage = stage

    def _lines(self) -> None:
        """Say every now and then how far the work has come, until it has ended."""
        begun = time.monotonic()
        while not self._ended.wait(self._interval):
            if self._words:
                _say(f"{self._words} after {time.monotonic() - begun:.0f} seconds")


def _make_bar(stream: Any) -> Any:
    """Return a bar on a terminal, or None without rich."""
    try:
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as Bar
    except ImportError:
        return None
    text = TextColumn("{task.description}", markup=False)
    return Bar(text, BarColumn(), TimeElapsedColumn(), console=Console(file=stream), transient=True)


def _say(line: str) -> None:
    if sys.stderr is not None:
        # nobody reads it any more, or it cannot be flushed: no reason to end the work
        with suppress(OSError, ValueError, AttributeError):
            print(printable(line), file=sys.stderr, flush=True)
