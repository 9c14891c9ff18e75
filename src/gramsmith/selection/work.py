"""Work: what a selection may spend, and whether the next piece of it would end in time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from itertools import accumulate
from typing import Any

import numpy as np
import numpy.typing as npt

from gramsmith.cached import cached_property
from gramsmith.gram import Engine, Journal, Serial, Threads, as_engine
from gramsmith.progress import Progress
from gramsmith.selection.interrupts import Interrupts
from gramsmith.selection.task import Task

Array = npt.NDArray[Any]
CHOICE = ("check", "learn", "measures", "cross-validation")  # stages of a choice
FINISHING = "interrupted: Ctrl-C again ends at once"  # said while what is needed is finished
Listener = Callable[[str, int, int, str], Any]
# does a piece of work and returns its result, or None if there is no time for it
Attempt = Callable[[Callable[[], Any]], Any]


def always(piece: Callable[[], Any]) -> Any:
    """Return the result of a piece of work: there is time for all."""
    return piece()


def work_off(
    function: Callable[[Any], Any],
    items: Iterable[Any],
    engine: Engine | None = None,
    attempt: Attempt = always,
) -> Iterator[Any]:
    """Yield function(item) for every item in order, or None where there was no time.

    Parameters
    ----------
    function : callable
    items : iterable
    engine : Engine, optional
        Where the work is done; default in the calling thread.
    attempt : callable
        See `Work.attempts`.
    """
    engine = Serial() if engine is None else engine
    if isinstance(engine, Threads):
        yield from engine.map(lambda item: attempt(partial(function, item)), items)
        return
    # The clock is here, and is looked at when a piece is handed out.
    begin = getattr(attempt, "may_begin", lambda: True)
    tell = getattr(attempt, "tell", lambda seconds: None)
    handed_out = ((item,) if begin() else None for item in items)
    for result, seconds in engine.map(partial(_timed, function), handed_out):
        if seconds is not None:
            tell(seconds)
        yield result


def _timed(function: Callable[[Any], Any], item: tuple[Any] | None) -> tuple[Any, float | None]:
    if item is None:
        return None, None
    begun = time.monotonic()
    return function(*item), time.monotonic() - begun


def share_done(seconds: Mapping[str, float]) -> Callable[[str, float], float]:
    """Return what tells which share of a choice is done, after the time that stages have taken.

    Examples
    --------
    >>> from gramsmith.selection.work import share_done
    >>> share_done({"check": 2.0, "cross-validation": 2.0})("cross-validation", 0.5)
    0.75
    """
    ends = dict(zip(CHOICE, accumulate(seconds.get(stage, 0.0) for stage in CHOICE), strict=True))
    whole = max(ends.values()) or 1.0

    def share(stage: str, of_stage: float) -> float:
        length = seconds.get(stage, 0.0)
        return (ends[stage] - (1.0 - of_stage) * length) / whole

    return share


@dataclass
class Work:
    """What the steps may spend, whom they tell, and what earlier runs have left."""

    n_jobs: int | None = None
    memory: float | None = None  # MiB for tiles, see `Gram`
    engine: Engine | None = None  # instead of both
    max_samples: int | None = None  # most rows in any one step
    time_budget: float | None = None  # seconds after which no further work is begun
    progress: Listener | None = None  # called with (stage, done, total, label)
    checkpoint: MutableMapping[str, Any] | None = None  # finished steps, see `Journal`
    reserve: float = 0.0  # seconds that are kept for the fit of the winner, on a quiet machine
    pace: float = 1.0  # how many times longer things take here, by the first check
    verbose: bool | int = False  # whether to show a progress bar
    nested: bool = True  # whether the estimate may make the choice anew
    inner: bool = False  # whether it is such a choice: an interrupt is for whoever makes it
    clock: Callable[[], float] = time.monotonic
    start: float = float("nan")  # by the clock; default now
    late: bool = False  # whether work was left out because the time was up
    interrupts: Interrupts = field(default_factory=Interrupts)
    bar: Progress | None = field(default=None, init=False)
    seconds: dict[str, float] = field(default_factory=dict, init=False)  # spent, by stage
    lock: Any = field(default_factory=threading.RLock, repr=False)  # one word at a time

    def __post_init__(self) -> None:
        self.start = self.clock() if np.isnan(self.start) else self.start

    @cached_property
    def sweeps(self) -> Engine:
        """Who evaluates tiles."""
        journal = self.checkpoint if isinstance(self.checkpoint, Journal) else None
        return as_engine(self.engine, self.n_jobs, self.memory, journal)

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Show the progress if that was asked for, and hear Ctrl-C, while the work lasts."""
        with Progress() if self.verbose else nullcontext() as self.bar, self.interrupts:
            yield

    def in_time(self, seconds: float = 0.0) -> bool:
        """Return whether another piece of work, of about that length, may begin."""
        if self.interrupts.asked:
            return False
        if self.time_budget is None:
            return True
        if self.spent() + self.pace * self.reserve + seconds < self.time_budget:
            return True
        self.late = True
        return False

    def spent(self) -> float:
        """Return the seconds since the start."""
        return self.clock() - self.start

    def unless_interrupted(
        self, what: str, piece: Callable[[], Any], seconds: float | None = None
    ) -> Any:
        """Return the result of a piece of work that may be left out, or None.

        Parameters
        ----------
        what : str
            How it is called where Ctrl-C has it left out, see `Interrupts.attempt`.
        piece : callable
        seconds : float, optional
            Its length: it is left out too if there is no time for it.
        """
        if self.inner:
            return piece()
        if seconds is not None and not self.interrupts.asked and not self.in_time(seconds):
            return None
        return self.interrupts.attempt(what, piece)

    def leave_out(self, what: str) -> None:
        """Take note, if Ctrl-C was pressed, that something is left out because of it."""
        if self.interrupts.asked and not self.inner:
            self.interrupts.leave_out(what)

    def attempts(self, guess: float = 0.0, *, must: bool = False) -> Attempts:
        """Return what does pieces of work of about equal length, as long as there is time."""
        return Attempts(self, guess, must)

    def rows(self, task: Task, size: int, salt: int = 0) -> Array:
        """Return the rows of a step that uses at most `size` of them."""
        return task.sample(min(size, self.max_samples or task.n), salt)

    def report(self, stage: str, done: int, total: int, label: str) -> None:
        """Tell the listeners, if there are any."""
        with self.lock:
            self.note(stage)
            if not self.inner:
                self.interrupts.now(stage)
            self.interrupts.check()  # someone may have kept one to himself
            label = FINISHING if self.interrupts.asked else label
            try:
                for listener in (self.bar, self.progress):
                    if listener is not None:
                        listener(stage, done, total, label)
            except KeyboardInterrupt:
                self.interrupts.heard()

    def counting(self, stage: str, total: int, label: str) -> Steps:
        """Return what is told of every step of a stage, which takes about `total` of them."""
        return Steps(self, stage, total, label)

    def note(self, stage: str) -> None:
        """Take note that the time since the last note was spent on a stage."""
        already = sum(self.seconds.values())
        self.seconds[stage] = self.seconds.get(stage, 0.0) + max(self.spent() - already, 0.0)

    def recall(self, key: str) -> Any:
        """Return what an earlier run has left, or None."""
        return None if self.checkpoint is None else self.checkpoint.get(key)

    def keep(self, key: str, value: Any) -> None:
        """Leave something for a later run."""
        if self.checkpoint is not None:
            self.checkpoint[key] = value


class Steps:
    """Counts the steps of a stage and tells; who ends the stage says so.

    Called with the number of steps that were done, by any thread.
    """

    def __init__(self, work: Work, stage: str, total: int, label: str) -> None:
        self.work = work
        self.stage, self.total, self.label = stage, total, label
        self.done = 0
        self.reach(0)

    def __call__(self, steps: int = 1) -> None:
        """Tell of so many more steps."""
        with self.work.lock:
            self.reach(self.done + steps)

    def reach(self, done: int) -> None:
        """Tell that so many are done, some of which may not have been necessary."""
        with self.work.lock:
            self.done = max(self.done, min(done, self.total - 1))
            self.work.report(self.stage, self.done, self.total, self.label)

    def end(self) -> None:
        """Tell that the stage is done."""
        self.work.report(self.stage, self.total, self.total, self.label)


class Attempts:
    """Does pieces of work of about equal length, as long as there is time.

    A piece begins only if the longest so far would end in time, or if it must; `guess` is the
    length of the first. A piece that does not begin has the result None.
    """

    def __init__(self, work: Work, guess: float = 0.0, must: bool = False) -> None:
        self.work = work
        self.longest = guess
        self.must = must
        self.lengths: list[float] = []

    def __call__(self, piece: Callable[[], Any]) -> Any:
        if not self.may_begin():
            return None
        begun = self.work.clock()
        result = piece()
        self.tell(self.work.clock() - begun)
        return result

    def may_begin(self) -> bool:
        """Return whether the next piece may begin now."""
        return self.must or self.work.in_time(self.longest)

    def tell(self, seconds: float) -> None:
        """Take note of how long a piece has taken."""
        self.lengths.append(seconds)
        self.longest = max(self.longest, seconds)
