"""Work: what a selection may spend, and whether the next piece of it would end in time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, MutableMapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from gramsmith.cached import cached_property
from gramsmith.gram import Engine, Journal, Serial, Threads, as_engine
from gramsmith.selection.task import Task

Array = npt.NDArray[Any]
Progress = Callable[[str, int, int, str], Any]
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


@dataclass
class Work:
    """What the steps may spend, whom they tell, and what earlier runs have left."""

    n_jobs: int | None = None
    memory: float | None = None  # MiB for tiles, see `Gram`
    engine: Engine | None = None  # instead of both
    max_samples: int | None = None  # most rows in any one step
    time_budget: float | None = None  # seconds after which no further work is begun
    progress: Progress | None = None  # called with (stage, done, total, label)
    checkpoint: MutableMapping[str, Any] | None = None  # finished steps, see `Journal`
    reserve: float = 0.0  # seconds that are kept for the fit of the winner, on a quiet machine
    pace: float = 1.0  # how many times longer things take here, by the first check
    nested: bool = True  # whether the estimate may make the choice anew
    clock: Callable[[], float] = time.monotonic
    start: float = float("nan")  # by the clock; default now
    late: bool = False  # whether work was left out because the time was up
    seconds: dict[str, float] = field(default_factory=dict, init=False)  # spent, by stage
    lock: Any = field(default_factory=threading.RLock, repr=False)  # one word at a time

    def __post_init__(self) -> None:
        self.start = self.clock() if np.isnan(self.start) else self.start

    @cached_property
    def sweeps(self) -> Engine:
        """Who evaluates tiles."""
        journal = self.checkpoint if isinstance(self.checkpoint, Journal) else None
        return as_engine(self.engine, self.n_jobs, self.memory, journal)

    def in_time(self, seconds: float = 0.0) -> bool:
        """Return whether another piece of work, of about that length, may begin."""
        if self.time_budget is None:
            return True
        if self.spent() + self.pace * self.reserve + seconds < self.time_budget:
            return True
        self.late = True
        return False

    def spent(self) -> float:
        """Return the seconds since the start."""
        return self.clock() - self.start

    def attempts(self, guess: float = 0.0, *, must: bool = False) -> Attempts:
        """Return what does pieces of work of about equal length, as long as there is time."""
        return Attempts(self, guess, must)

    def rows(self, task: Task, size: int, salt: int = 0) -> Array:
        """Return the rows of a step that uses at most `size` of them."""
        return task.sample(min(size, self.max_samples or task.n), salt)

    def report(self, stage: str, done: int, total: int, label: str) -> None:
        """Tell the listener, if there is one."""
        with self.lock:
            self.note(stage)
            if self.progress is not None:
                self.progress(stage, done, total, label)

    def counting(self, stage: str, total: int, label: str) -> Callable[[int], None]:
        """Return what is told of so many more steps of a stage, which takes about `total`."""
        done = 0

        def told(steps: int = 1) -> None:
            nonlocal done
            with self.lock:
                done = min(done + steps, total - 1)  # who ends the stage says so
                self.report(stage, done, total, label)

        return told

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
