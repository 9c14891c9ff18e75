"""Interrupts: Ctrl-C ends a ranking early, with what has been verified by then.

Before anything is verified an interrupt is an interrupt. From then on the work falls in two: pieces
that may be left out, which the first Ctrl-C ends, and what a ranking cannot do without, such as the
fit of its winner, which is finished in spite of it. The second Ctrl-C ends everything.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import Any


class Interrupts:
    """Whether Ctrl-C was pressed, in which stage, and what was left out because of it.

    Within its `with` block the signal is heard even where a library takes it for its own: learners
    end their search and keep the best so far.
    """

    def __init__(self) -> None:
        self.asked = False  # whether Ctrl-C was pressed
        self.stage = ""  # what is being done, or was when it was pressed
        self.left: list[str] = []  # what was left out
        self._again = False  # whether it was pressed twice
        self._open = True  # whether an interrupt may end what is being done
        self._before: Any = None  # who heard the signal so far

    def __enter__(self) -> Interrupts:
        if threading.current_thread() is threading.main_thread():
            before = signal.getsignal(signal.SIGINT)
            if before is signal.default_int_handler:  # else the program has its own way with it
                self._before = before
                with suppress(ValueError):  # an interpreter within another hears no signals
                    signal.signal(signal.SIGINT, self._on_signal)
        return self

    def __exit__(self, *error: object) -> None:
        if self._before is not None and signal.getsignal(signal.SIGINT) == self._on_signal:
            signal.signal(signal.SIGINT, self._before)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self._again, self.asked = self.asked, True
        if self._again or self._open:
            self._before(number, frame)

    def now(self, stage: str) -> None:
        """Take note of what is being done."""
        if not self.asked:
            self.stage = stage

    def heard(self) -> None:
        """Take note of an interrupt that was raised; raise it on where it may end the work."""
        again, self.asked = self.asked, True
        if again or self._open:
            raise KeyboardInterrupt

    def check(self) -> None:
        """Raise an interrupt that someone has kept to himself, where it may end the work."""
        if self.asked and self._open:
            raise KeyboardInterrupt

    def attempt(self, what: str, piece: Callable[[], Any]) -> Any:
        """Return the result of a piece of work, or None where Ctrl-C has ended it or came before.

        From here on an interrupt ends such pieces only.

        Parameters
        ----------
        what : str
            Its name in the list of what was left out; none for a piece that speaks for itself.
        piece : callable
        """
        if not self.asked:
            try:
                self._open = True
                result = piece()
                self.check()
                self._open = False
                return result
            except KeyboardInterrupt:
                self._open, self.asked = False, True
                if self._again:
                    raise
        self.leave_out(what)
        return None

    def leave_out(self, what: str) -> None:
        """Take note that something was left out."""
        if what and what not in self.left:
            self.left.append(what)
