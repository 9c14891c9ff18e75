"""Work: what a selection may spend, and whether the next piece of it would end in time."""

from __future__ import annotations

import time
from collections.abc import Callable, MutableMapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gramsmith.cached import cached_property
from gramsmith.gram import Engine, as_engine
from gramsmith.selection.task import Task

Array = npt.NDArray[Any]
Progress = Callable[[str, int, int, str], Any]
# does a piece of work and returns its result, or None if there is no time for it
Attempt = Callable[[Callable[[], Any]], Any]


def always(piece: Callable[[], Any]) -> Any:
    """Return the result of a piece of work: there is time for all."""
    return piece()


@dataclass
class Work:
    """What the steps may spend, whom they tell, and what earlier runs have left."""

    n_jobs: int | None = None
    memory: float | None = None  # MiB for tiles, see `Gram`
    engine: Engine | None = None  # instead of both
    max_samples: int | None = None  # most rows in any one step
    time_budget: float | None = None  # seconds after which no further work is begun
    progress: Progress | None = None  # called with (stage, done, total, label)
    checkpoint: MutableMapping[str, Any] | None = None  # plain values of finished steps
    reserve: float = 0.0  # seconds that are kept for the fit of the winner, on a quiet machine
    pace: float = 1.0  # how many times longer things take here, by the first check
    nested: bool = True  # whether the estimate may make the choice anew
    clock: Callable[[], float] = time.monotonic
    start: float = float("nan")  # by the clock; default now
    late: bool = False  # whether work was left out because the time was up

    def __post_init__(self) -> None:
        self.start = self.clock() if np.isnan(self.start) else self.start

    @cached_property
    def sweeps(self) -> Engine:
        """Who evaluates tiles."""
        return as_engine(self.engine, self.n_jobs, self.memory)

    @property
    def workers(self) -> int:
        """The number of threads."""
        return self.sweeps.workers

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
        if self.progress is not None:
            self.progress(stage, done, total, label)

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
        if not (self.must or self.work.in_time(self.longest)):
            return None
        begun = self.work.clock()
        result = piece()
        self.lengths.append(self.work.clock() - begun)
        self.longest = max(self.longest, self.lengths[-1])
        return result
