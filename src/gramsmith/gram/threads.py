"""Threads of sweeps: an ordered map over tiles, and what sweeps share with the rest of the process.

BLAS has one number of threads per process, cores are shared with other threads and processes, and a
fork copies locks as they stand.
"""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sized
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, ClassVar, TypeVar
from weakref import WeakSet

import joblib
from threadpoolctl import OpenBLASController, ThreadpoolController

from gramsmith.arguments import abridged, is_number, is_whole

Item = TypeVar("Item")
Result = TypeVar("Result")

# Order of matrices up to which solves take one BLAS thread: eigenvectors, factors and logistic
# regression are then no slower than with two, ten times quicker while others use the cores, and the
# same to the last bit whatever the number of threads.
SMALL = 1024
MOST = 64  # BLAS threads for which NumPy's OpenBLAS is built: as many are no limit
WAITING = 4  # results per thread that wait for their turn, so that a slow tile stops nobody
PATIENCE = 1.0  # seconds that a fork waits for tiles in work


class _BlasLimit:
    """One BLAS thread while any sweep runs; the last one to end restores what was there before.

    Limits are global to the process: two overlapping sweeps with a limit each would restore each
    other's values and leave BLAS at one thread for good.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self._users: set[object] = set()
        self._original: list[tuple[Any, int]] | None = None  # while there is a limit
        self._controller: Any = None

    @contextmanager
    def __call__(self) -> Iterator[None]:
        user = object()
        try:
            with self.lock:
                self._users.add(user)
                if self._original is None:
                    # noted before it is changed: an interrupt may come in between
                    self._original = self._now()
                    _set_threads([(library, 1) for library, _ in self._original])
            yield
        finally:
            try:
                self._leave(user)
            except BaseException:  # an interrupt just then
                self._leave(user)
                raise

    def _leave(self, user: object) -> None:
        with self.lock:
            self._users.discard(user)
            if not self._users and self._original is not None:
                _set_threads(self._original)
                self._original = None

    def _now(self) -> list[tuple[Any, int]]:
        # Finding the libraries takes ten milliseconds, asking them a tenth of one.
        self._controller = self._controller or ThreadpoolController()
        blas = [lib for lib in self._controller.lib_controllers if lib.user_api == "blas"]
        return [(library, library.get_num_threads()) for library in blas]

    def allowed(self) -> int | None:
        """Return the number of BLAS threads without our own limit, None if it is not limited."""
        with self.lock:
            known = self._now() if self._original is None else self._original
        # BLIS has one thread where nobody asked for more.
        counts = [count for lib, count in known if lib.internal_api in ("openblas", "mkl")]
        return min((count for count in counts if count < MOST), default=None)

    def forget(self) -> None:
        """Begin anew in a forked child, where nobody is left to leave."""
        self.lock = threading.Lock()
        self._users.clear()
        self._leave(None)


class _TileLock(threading.local):
    """A lock of each thread, held during its tiles: a process forks between them.

    A lock that BLAS holds within a tile would never be released in the child.
    """

    everyone: ClassVar[WeakSet[Any]] = WeakSet()
    adding = threading.Lock()

    def __init__(self) -> None:
        self.lock = threading.RLock()  # a sweep may run within a tile of another
        with self.adding:
            self.everyone.add(self.lock)

    def run(self, function: Callable[[Item], Result], item: Item) -> Result:
        """Return function(item); the process forks before or after, but not during."""
        with self.lock:
            return function(item)


@contextmanager
def _share_of_cores(wanted: int) -> Iterator[int]:
    """Lend as many threads as were asked for, or as other sweeps leave, the caller's at least.

    In a pool of threads, such as joblib's or Dask's, and within a tile of another sweep, a sweep
    goes on in the thread that called it.
    """
    me = object()
    try:
        with _counting:
            others = sum(_at_work.values())
            share = max(1, min(wanted, joblib.cpu_count() - others)) if others else wanted
            _at_work[me] = share
        yield share
    finally:
        try:
            _at_work.pop(me, None)
        except BaseException:  # an interrupt just then
            _at_work.pop(me, None)
            raise


def _set_threads(counts: list[tuple[Any, int]]) -> None:
    # Newer threadpoolctl obeys only the first thread that set a limit. The last sweep to end need
    # not be in the thread in which the first one began.
    release = getattr(OpenBLASController, "clear_controlling_thread", lambda force: None)
    release(force=True)
    for library, count in counts:
        library.set_num_threads(count)
    release(force=True)


one_blas_thread = _BlasLimit()
_tile = _TileLock()
_at_work: dict[object, int] = {}  # threads of each of the sweeps of this process
_counting = threading.Lock()
_held: list[Any] = []  # locks that a fork holds


def _before_fork() -> None:
    # While they are held no tile begins and nobody changes limits: threadpoolctl has a lock, too.
    first = [_tile.adding] if _tile.adding.acquire(timeout=PATIENCE) else []
    locks = [*_tile.everyone, _counting, one_blas_thread.lock]
    _held.extend(first + [lock for lock in locks if lock.acquire(timeout=PATIENCE)])


def _after_fork_in_parent() -> None:
    while _held:
        _held.pop().release()


def _after_fork_in_child() -> None:
    global _counting
    _counting, _TileLock.adding = threading.Lock(), threading.Lock()
    _tile.everyone.clear()
    _tile.__init__()  # type: ignore[misc]
    _at_work.clear()
    _held.clear()
    one_blas_thread.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork,
        after_in_parent=_after_fork_in_parent,
        after_in_child=_after_fork_in_child,
    )


def count_workers(n_jobs: Any) -> int:
    """Return the number of threads: for None what is left, or joblib's meaning.

    What is left is what BLAS may use: `threadpool_limits`, the variables OMP_NUM_THREADS and the
    like, and those who start processes by the dozen (joblib and loky, Dask) limit it. The workers
    of `multiprocessing.Pool` have a thread each.
    """
    if n_jobs is None:
        if multiprocessing.current_process().daemon:
            return 1
        cores = int(joblib.cpu_count())  # that affinity and control groups leave to the process
        return min(cores, one_blas_thread.allowed() or cores)
    if not is_number(n_jobs) or not is_whole(abs(n_jobs), 1):
        raise ValueError(
            "Expected n_jobs to be None, -1 or a positive whole number below 2^31, got "
            f"{abridged(n_jobs)}."
        )
    return int(n_jobs) if n_jobs > 0 else max(1, joblib.cpu_count() + 1 + int(n_jobs))


@contextmanager
def dense_work(order: int = 0) -> Iterator[None]:
    """Limit BLAS to one thread while matrices up to order `SMALL` are at work, others do not.

    This is the one rule for products and solves outside sweeps. Threads woken for a small matrix
    take longer to begin than they save, and spin on the cores that sweeps need.
    """
    if order > SMALL:
        yield
    else:
        with one_blas_thread():
            yield


def ordered_map(
    function: Callable[[Item], Result], items: Iterable[Item], workers: int
) -> Iterator[Result]:
    """Yield function(item) in the order of items, computed by a few threads.

    Items are taken as they are needed and at most `WAITING` results per thread wait at any time.
    """
    if isinstance(items, Sized):
        workers = max(1, min(workers, len(items)))
    with one_blas_thread(), _share_of_cores(workers) as threads:
        if threads == 1:
            for item in items:
                yield _tile.run(function, item)
            return
        window: deque[tuple[Item, Future[Result]]] = deque()
        pool = ThreadPoolExecutor(threads - 1, "gramsmith")
        try:
            for item in items:
                window.append((item, pool.submit(_tile.run, function, item)))
                if len(window) >= WAITING * threads:
                    yield _first_result(function, window)
            while window:
                yield _first_result(function, window)
        finally:
            try:  # on an error or an interrupt what has not begun is dropped
                pool.shutdown(cancel_futures=True)
            except BaseException:  # a second one
                pool.shutdown(cancel_futures=True)
                raise


def _first_result(
    function: Callable[[Item], Result], window: deque[tuple[Item, Future[Result]]]
) -> Result:
    """Return the first result of a window; until it is there the caller does what nobody has begun.

    A thread that only waits costs a start and working arrays: a tenth of a sweep over 1 000 rows.
    """
    for number, (item, future) in enumerate(window):
        if window[0][1].done():
            break
        if future.cancel():
            mine: Future[Result] = Future()
            try:
                mine.set_result(_tile.run(function, item))
            except Exception as error:  # which is told in its turn
                mine.set_exception(error)
            window[number] = item, mine
    return window.popleft()[1].result()
