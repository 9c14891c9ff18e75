"""Engine: who works off the bands of a sweep.

    task ──▶ engine.run(task, numbers) ──▶ task.band(0), task.band(1), ... ──▶ added in this order

A task (`gramsmith.gram.sweep`) says what is summed. An engine places its bands on threads,
processes or machines and hands the results back in order; it knows nothing else. Bands depend on
the plan alone and results are added in the order of the plan, so that every engine with any number
of workers gives the same bits on one kind of CPU, BLAS and Numba.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from copy import copy
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import HasMethods, StrOptions

from gramsmith.fingerprint import fingerprint
from gramsmith.gram.journal import Journal, open_journal
from gramsmith.gram.plan import MIB, budget_bytes
from gramsmith.gram.sweep import Backward, Forward
from gramsmith.gram.threads import WAITING, count_workers, one_blas_thread, ordered_map

# bytes of bands in a journal that are replaced by their sum, or four times the sum if that is more
ROOM = 64 * MIB

ProgressCallback = Callable[[int, int], None]  # tiles done, tiles in all


Sweep = Forward | Backward  # what an engine works off; both can be pickled


class Engine:
    """What `engine=` takes: an engine of your own derives from this and gives `run`.

    Examples
    --------
    An engine that counts the bands it works off, one after the other:

    >>> import numpy as np
    >>> import gramsmith as gs
    >>> class Counting(gs.Engine):
    ...     bands = 0
    ...
    ...     def run(self, task, numbers):
    ...         for number in numbers:
    ...             self.bands += 1
    ...             yield task.band(number)
    >>> engine = Counting()
    >>> X = np.random.default_rng(0).normal(size=(60, 3))
    >>> value = gs.cka(gs.Gram("rbf", X, engine=engine), X[:, 0] > 0)
    >>> engine.bands
    1
    """

    journal: Journal | None = None  # where finished work is kept, and found by the next run
    embeds_late = False  # whether rows are embedded where bands are computed, never before
    n_jobs: int | None = None
    memory: float | None = None

    @property
    def workers(self) -> int:
        """The number of threads in this process, here for work that is not in bands."""
        return count_workers(self.n_jobs)

    @property
    def budget(self) -> int:
        """Bytes for tiles in work, in this process."""
        return budget_bytes(self.memory)

    def run(self, task: Sweep, numbers: Sequence[int]) -> Iterator[Any]:
        """Yield ``task.band(number)`` for the numbers of bands, in their order."""
        raise NotImplementedError(f"{type(self).__name__} defines no run.")

    def map(self, function: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[Any]:
        """Yield function(item) in the order of items, which are taken as they are needed.

        This is for work that is not in bands, such as fits. An engine that leaves the process
        pickles both.
        """
        return ordered_map(function, items, self.workers)


@dataclass(frozen=True)
class Threads(Engine):
    """Threads of this process, each with one BLAS thread and working arrays of its own.

    Parameters
    ----------
    n_jobs : int, optional
        Threads; default all cores.
    memory : float, optional
        Budget in MiB; default scikit-learn's ``working_memory``. Where it does not suffice for all
        threads, fewer are used.
    resume : path or Journal, optional
        A file for finished work. A run that was ended goes on from there, with the same bits; the
        file of other work is refused.

    Examples
    --------
    >>> import numpy as np
    >>> import gramsmith as gs
    >>> X = np.random.default_rng(0).normal(size=(600, 3))
    >>> y = X[:, 0] > 0
    >>> one, two = (gs.cka(gs.Gram("rbf", X, engine=e), y) for e in (gs.Serial(), gs.Threads(2)))
    >>> one == two
    True
    """

    n_jobs: int | None = None
    memory: float | None = None
    resume: Any = field(default=None, repr=False)

    def __post_init__(self) -> None:
        count_workers(self.n_jobs)
        budget_bytes(self.memory)
        if self.resume is not None:
            object.__setattr__(self, "journal", open_journal(self.resume))

    def run(self, task: Sweep, numbers: Sequence[int]) -> Iterator[Any]:
        """Yield the results of bands in order."""
        each, result = task.worker_bytes, task.band_bytes
        check_budget(each + result, self.budget)
        # with the results that wait to be added
        affordable = max(1, self.budget // max(1, each + WAITING * result))
        return ordered_map(task.band, numbers, min(self.workers, affordable))


@dataclass(frozen=True, init=False)
class Serial(Threads):
    """Computes everything in the calling thread.

    Parameters
    ----------
    memory : float, optional
        Budget in MiB, as for `Threads`.
    resume : path or Journal, optional
        A file for finished work, as for `Threads`.

    Examples
    --------
    >>> import gramsmith as gs
    >>> gs.Gram("rbf", [[0.0], [1.0]], engine=gs.Serial()).toarray()
    array([[1.        , 0.36787944],
           [0.36787944, 1.        ]])
    """

    n_jobs: int | None = field(default=1, init=False, repr=False)

    def __init__(self, *, memory: float | None = None, resume: Any = None) -> None:
        super().__init__(1, memory, resume)


def as_engine(
    engine: Any = None,
    n_jobs: int | None = None,
    memory: float | None = None,
    resume: Any = None,
) -> Engine:
    """Return the engine that was given; `n_jobs` and `memory` are short for `Threads`.

    Examples
    --------
    >>> as_engine(n_jobs=2)
    Threads(n_jobs=2, memory=None)
    """
    if engine is None:
        return Threads(n_jobs, memory, resume)
    distributed = sys.modules.get("distributed")  # which is not imported to ask
    is_client = distributed is not None and isinstance(engine, distributed.Client)
    if is_client or (isinstance(engine, str) and engine == "dask"):
        # which imports Dask, and this module
        cluster = import_module("gramsmith.gram.dask")
        engine = cluster.Dask(engine if is_client else None)
    if not isinstance(engine, Engine):
        raise TypeError(
            f"Expected an engine, got {type(engine).__name__}. Pass Threads(n_jobs, memory), "
            "Serial(), a distributed.Client or an object of a class derived from gramsmith.Engine."
        )
    if n_jobs is not None or memory is not None:
        raise ValueError(
            "Expected engine=, or n_jobs= and memory=, got both. Give them to the engine, for "
            "example engine=Threads(n_jobs, memory)."
        )
    if resume is not None:
        engine = copy(engine)
        object.__setattr__(engine, "journal", open_journal(resume))  # also of a frozen one
    chosen: Engine = engine
    return chosen


# what estimators take as `engine`: the same, in scikit-learn's terms
ENGINES: list[Any] = [Engine, HasMethods(["submit", "scatter"]), StrOptions({"dask"}), None]


class SharesEngine:
    """An estimator with a parameter `engine`: its clones have the same one.

    scikit-learn copies what is no estimator, and a connection to a cluster cannot be copied.
    """

    engine: Any

    def __sklearn_clone__(self) -> Any:
        if getattr(self, "engine", None) is None:  # machines of one's own may have none
            return BaseEstimator.__sklearn_clone__(self)
        without = copy(self)
        without.engine = None
        clone = BaseEstimator.__sklearn_clone__(without)
        clone.engine = self.engine
        return clone


def sum_up(engine: Engine, task: Sweep, progress: ProgressCallback | None = None) -> Any:
    """Return what a task stands for: the results of its bands, added in their order.

    BLAS is limited once for all of them. Bands that a killed run has left in the journal are not
    computed again.
    """
    journal = engine.journal
    with one_blas_thread():
        if journal is None:
            return task.finish(_add_bands(engine, task, progress))
        key = fingerprint(task)
        kernels = [kernel for member in task.members for kernel in member.kernels]
        journal.begin(
            {
                "data": fingerprint([member.whole for member in task.members]),
                "kernels": [kernel.formula() for kernel in kernels],
                "kernel parameters": fingerprint(kernels),
                "plan": fingerprint(task.plan),
                "rows": sum(block.size for block in task.plan.blocks),
            }
        )
        return task.finish(journal.once(key, lambda: _add_bands(engine, task, progress, key)))


def _add_bands(
    engine: Engine, task: Sweep, progress: ProgressCallback | None, key: str | None = None
) -> Any:
    """Return the sums of all bands; those under a key of the journal are found and kept there."""
    journal = engine.journal if key is not None else None
    total: Any = task.start()
    first = stored = 0  # bands in the sum, bands whose sum is stored
    if journal is not None:
        if journal.has_part(f"{key}/sum"):
            first, total = journal[f"{key}/sum"]
        stored = first
        while journal.has_part(f"{key}/{first}"):
            task.add(total, first, journal[f"{key}/{first}"])
            first += 1
        journal.bands_found += first
    tiles = [band.stop - band.start for band in task.plan.bands]
    done, size, room = sum(tiles[:first]), 0, ROOM
    numbers = range(first, len(tiles))
    # a generator is closed at once on an error or an interrupt, whatever an engine returns
    with closing(part for part in engine.run(task, numbers)) as parts:
        for number, part in zip(numbers, parts, strict=True):
            task.add(total, number, part)
            if journal is not None:
                size += journal.keep_part(f"{key}/{number}", part)
                if size > room:
                    bands = [f"{key}/{i}" for i in range(stored, number + 1)]
                    written = journal.keep_part(f"{key}/sum", (number + 1, total), instead=bands)
                    stored, size, room = number + 1, 0, max(ROOM, 4 * written)
            done += tiles[number]
            if progress is not None:
                progress(done, sum(tiles))
    return total


def once(engine: Engine | None, inputs: Any, compute: Callable[[], Any]) -> Any:
    """Return what a function computes from inputs, unless the journal of an engine has it.

    Inputs are all that the result depends on: arrays, kernels and plain values. So is the result.
    """
    if engine is None or engine.journal is None:
        return compute()
    if not engine.journal.begun:  # a sweep says what the work is
        engine.journal.begin({"inputs": fingerprint(inputs)})
    return engine.journal.once(fingerprint(inputs), compute)


def check_budget(need: int, budget: int) -> None:
    """Raise a MemoryError if one worker does not have room for its tiles."""
    if need > budget:
        raise MemoryError(
            f"Expected a memory budget of at least {need / MIB:.1f} MiB for tiles in work, got "
            f"{budget / MIB:.3g} MiB. Raise memory=, or use dtype=np.float32."
        )
