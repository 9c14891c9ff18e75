"""What strangers hand over: damaged files, odd tables, bad arguments; and what becomes of it.

``make fuzz`` runs all campaigns a while (``python -m tools.fuzz calls --seconds 3600`` in `tests`
runs one for an hour) and prints what happened, with every defect and the number that brings it
back. The default tests run the first pieces of each campaign, and all past findings.
"""

from __future__ import annotations

import signal
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from sklearn.exceptions import NotFittedError

import gramsmith as gs

#: what may leave the library; OSError where a path was given
ALLOWED = (
    TypeError,
    ValueError,
    NotFittedError,
    MemoryError,
    OSError,
    ImportError,
    gs.ModelFormatError,
    gs.JournalError,
)
#: packages whose messages are taken as they are: scikit-learn's checks speak of its own arguments
SPEAKERS = ("gramsmith", "sklearn")


class Hanging(BaseException):
    """Raised when the time of a piece is over; no handler of errors catches it."""


@contextmanager
def limited(seconds: int) -> Iterator[None]:
    """Raise Hanging in the block after seconds of work, or twenty times as long asleep."""

    def stop(*_: object) -> None:
        raise Hanging

    before = {number: signal.signal(number, stop) for number in (signal.SIGPROF, signal.SIGALRM)}
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.alarm(20 * seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.alarm(0)
        for number, handler in before.items():
            signal.signal(number, handler)


def judged(error: BaseException) -> str:
    """Return "refused", or a defect: an error of another kind, or in the words of others.

    The words are those of the function that raised: compiled functions have no frame of their own,
    so that only what they are known to say is taken for theirs.
    """
    text = f"{type(error).__name__}: {error}"
    where = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{Path(where.filename).name}:{where.lineno}"
    if not isinstance(error, ALLOWED):
        return f"! {text[:200]} ({place})"
    if isinstance(error, MemoryError | OSError | ImportError):
        return "refused"
    package = {part for part in Path(where.filename).parts if part in (*SPEAKERS, "site-packages")}
    said = str(error)
    if not (package & set(SPEAKERS)) and "site-packages" in package:
        return f"! words of others: {text[:200]} ({place})"
    if "gramsmith" in package and "sklearn" not in package and not spoken(where.line or ""):
        return f"! words of others: {text[:200]} ({place})"
    if len(said) > 3000 and "sklearn" not in package:
        return f"! a refusal of {len(said)} characters ({place})"
    return "refused"


def spoken(line: str) -> bool:
    """Return whether the line of an error raises it itself."""
    return "raise" in line


def run(
    piece: Callable[[np.random.Generator], tuple[str, str]],
    seed: int,
    seconds: float,
    first: int = 0,
    most: int | None = None,
    tell: Callable[[str], object] | None = None,
) -> tuple[Counter[tuple[str, str]], list[str]]:
    """Run pieces of a campaign for a while; return what happened and the defects.

    Parameters
    ----------
    piece : callable
        Generator -> (what was tried, outcome); an outcome that begins with "!" is a defect.
    seed, first : int
        Piece number k uses the generator of ``[seed, k]``: a defect comes back by its number.
    seconds : float
    most : int, optional
        End after so many pieces.
    tell : callable, optional
        Called with every defect as soon as it is found.
    """
    table: Counter[tuple[str, str]] = Counter()
    defects: list[str] = []
    end, number = time.monotonic() + seconds, first
    while time.monotonic() < end and (most is None or number < first + most):
        tried, found = piece(np.random.default_rng([seed, number]))
        table[tried.split("(")[0], "defect" if found.startswith("!") else found] += 1
        if found.startswith("!"):
            defects.append(f"{number} {tried}: {found}")
            if tell is not None:
                tell(f"  {defects[-1]}")
        number += 1
    return table, defects
