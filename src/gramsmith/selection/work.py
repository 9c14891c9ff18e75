"""Work: what a ranking may spend, whom it tells, and what is kept of finished stages."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, MutableMapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from gramsmith.cached import cached_property
from gramsmith.gram import Engine, Journal, Serial, Threads, as_engine
from gramsmith.progress import Progress

Listener = Callable[[str, int, int, str], Any]


@dataclass
class Work:
    """What the steps may spend, whom they tell, and what earlier runs have left."""

    n_jobs: int | None = None
    memory: float | None = None  # MiB for tiles, see `Gram`
    engine: Engine | None = None  # instead of both
    time_budget: float | None = None  # seconds after which no further work is begun
    progress: Listener | None = None  # called with (stage, done, total, label)
    # finished steps, which a mapping or a `Journal` keeps; default this run alone
    checkpoint: MutableMapping[str, Any] | None = None
    verbose: bool | int = False  # whether to show a progress bar
    reserve: float = 0.0  # seconds that are kept for the fit of the winner
    clock: Callable[[], float] = time.monotonic
    start: float = float("nan")  # by the clock; default now
    late: bool = False  # whether work was left out because the time was up
    skipped: list[str] = field(default_factory=list)  # because of Ctrl-C
    bar: Progress | None = field(default=None, init=False)
    notes: MutableMapping[str, Any] = field(init=False)
    seconds: dict[str, float] = field(default_factory=dict, init=False)  # spent, by stage
    lock: Any = field(default_factory=threading.RLock, repr=False)  # one listener at a time

    def __post_init__(self) -> None:
        self.start = self.clock() if np.isnan(self.start) else self.start
        self.notes = {} if self.checkpoint is None else self.checkpoint

    @cached_property
    def sweeps(self) -> Engine:
        """Who evaluates tiles."""
        journal = self.checkpoint if isinstance(self.checkpoint, Journal) else None
        return as_engine(self.engine, self.n_jobs, self.memory, journal)

    # ---- stages ---------------------------------------------------------------------------------

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Show the progress while the work lasts, if that was asked for."""
        with Progress() if self.verbose else nullcontext() as self.bar:
            yield

    @contextmanager
    def stage(self, name: str, total: int, label: str) -> Iterator[Stage]:
        """Do a stage: tell of its beginning, its steps and its end, and take its time."""
        begun = self.spent()
        stage = Stage(self, name, total, label)
        stage.reach(0)
        try:
            yield stage
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + self.spent() - begun
        self.report(name, total, total, label)

    @contextmanager
    def optional(self, what: str) -> Iterator[None]:
        """Do what a fitted model can do without: Ctrl-C leaves it out, and that is noted."""
        try:
            yield
        except KeyboardInterrupt:
            self.skipped.append(what)

    def report(self, stage: str, done: int, total: int, label: str) -> None:
        """Tell the listeners, if there are any."""
        with self.lock:
            for listener in (self.bar, self.progress):
                if listener is not None:
                    listener(stage, done, total, label)

    # ---- time -----------------------------------------------------------------------------------

    def spent(self) -> float:
        """Return the seconds since the start."""
        return self.clock() - self.start

    def in_time(self, seconds: float = 0.0) -> bool:
        """Return whether another piece of work, of about that length, may begin."""
        if self.time_budget is None or self.spent() + self.reserve + seconds < self.time_budget:
            return True
        self.late = True
        return False

    # ---- many pieces ----------------------------------------------------------------------------

    def pieces(
        self,
        function: Callable[[Any], Any],
        items: Iterable[Any],
        *,
        here: bool = False,
        must: bool = False,
        guess: float = 0.0,
    ) -> Iterator[Any]:
        """Yield function(item) for every item in order, or None where there was no time.

        A piece begins only if the longest so far, or a guess, would end in time; or if it must.
        Few and small pieces are done `here`, without threads.
        """
        engine = Serial() if here else self.sweeps
        longest = [guess]

        def begin() -> bool:
            return must or self.in_time(max(longest))

        def timed(item: Any) -> Any:
            if not begin():
                return None
            result, seconds = _timed(function, (item,))
            longest.append(seconds or 0.0)
            return result

        if isinstance(engine, (Threads, Serial)):
            yield from engine.map(timed, items)
            return
        # On a cluster the clock is looked at here, when a piece is handed out.
        handed_out = ((item,) if begin() else None for item in items)
        for result, seconds in engine.map(partial(_timed, function), handed_out):
            longest.append(seconds or 0.0)
            yield result


def _timed(function: Callable[[Any], Any], item: tuple[Any] | None) -> tuple[Any, float | None]:
    """Return the result of a piece of work and its seconds."""
    if item is None:
        return None, None
    begun = time.monotonic()
    return function(*item), time.monotonic() - begun


class Stage:
    """Counts the steps of a stage, of which there are about `total`, and tells; by any thread."""

    def __init__(self, work: Work, name: str, total: int, label: str) -> None:
        self.work, self.name, self.total, self.label = work, name, total, label
        self.done = 0

    def __call__(self, steps: int = 1) -> None:
        """Tell of so many more steps."""
        with self.work.lock:
            self.reach(self.done + steps)

    def reach(self, done: int) -> None:
        """Tell that so many are done, some of which may not have been necessary."""
        with self.work.lock:
            self.done = max(self.done, min(done, self.total - 1))
            self.work.report(self.name, self.done, self.total, self.label)
