"""The thread engine: an ordered map over tiles, and one shared limit on BLAS threads."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sized
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

import joblib
from threadpoolctl import OpenBLASController, ThreadpoolController

Item = TypeVar("Item")
Result = TypeVar("Result")


class _SharedLimit:
    """One BLAS thread per tile while any sweep runs.

    It is also wanted around small products between two sweeps: after a product on several threads
    OpenBLAS lets them spin for a tenth of a second, on the cores that the tiles need.

    Limits of threadpoolctl are global to the process. Two overlapping sweeps with a limit each
    would restore each other's values and leave BLAS at one thread for good; counting the users
    of a single limit restores the original when the last one leaves.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._limit: Any = None
        self._controller: Any = None

    @contextmanager
    def __call__(self) -> Iterator[None]:
        with self._lock:
            if self._users == 0:
                # Finding the libraries takes ten milliseconds, limiting them a tenth of one.
                self._controller = self._controller or ThreadpoolController()
                _release_control()
                self._limit = self._controller.limit(limits=1, user_api="blas")
            self._users += 1
        try:
            yield
        finally:
            with self._lock:
                self._users -= 1
                if self._users == 0:
                    _release_control()
                    self._limit.restore_original_limits()
                    _release_control()
                    self._limit = None


def _release_control() -> None:
    """Let any thread set the limit: newer threadpoolctl obeys only the first thread that did so.

    The last sweep to end need not be in the thread in which the first one began.
    """
    clear = getattr(OpenBLASController, "clear_controlling_thread", None)
    if clear is not None:
        clear(force=True)


one_blas_thread = _SharedLimit()


def count_workers(n_jobs: int | None) -> int:
    """Return the number of threads: all cores for None (as BLAS does), or joblib's meaning."""
    if n_jobs == 0 or (n_jobs is not None and int(n_jobs) != n_jobs):
        raise ValueError(
            f"Expected n_jobs to be None, -1 or a positive whole number, got {n_jobs!r}."
        )
    cores = int(joblib.cpu_count())
    if n_jobs is None:
        return cores
    return int(n_jobs) if n_jobs > 0 else max(1, cores + 1 + int(n_jobs))


def ordered_map(
    function: Callable[[Item], Result], items: Iterable[Item], workers: int
) -> Iterator[Result]:
    """Yield function(item) in the order of items, computed by a few threads.

    Items are taken as they are needed and at most a handful of results wait at any time, so memory
    stays bounded. The calling thread is one of the workers: a thread that only waits for results
    would take the interpreter lock from those that compute.
    """
    with one_blas_thread():
        if workers == 1 or (isinstance(items, Sized) and len(items) < 2):
            yield from map(function, items)
            return
        queue = _WorkQueue(function, items, ahead=4 * workers)
        helpers = [
            threading.Thread(target=queue.help, name=f"gramsmith-{i}", daemon=True)
            for i in range(1, workers)
        ]
        try:
            for helper in helpers:
                helper.start()
            yield from queue.results()
        finally:
            # On an error or an interrupt: what has not begun is dropped.
            queue.stop()
            for helper in helpers:
                if helper.ident is not None:  # else it was never started
                    helper.join()


class _WorkQueue(Generic[Item, Result]):
    """Items to be worked off by several threads, and their results in order."""

    def __init__(
        self, function: Callable[[Item], Result], items: Iterable[Item], ahead: int
    ) -> None:
        self._function = function
        self._items = enumerate(items)
        self._ahead = ahead
        self._news = threading.Condition()
        self._done: dict[int, tuple[bool, Any]] = {}
        self._taken = self._given = 0
        self._over = False
        self._caller = threading.get_ident()

    def _take(self) -> tuple[int, Item] | None:
        """Return the next item, or None if there is none to begin now; the lock is held."""
        if self._over or self._taken - self._given >= self._ahead:
            return None
        try:
            taken = next(self._items, None)
        except BaseException:
            self._over = True
            raise
        self._over = taken is None
        self._taken += taken is not None
        return taken

    def _work(self, number: int, item: Item) -> None:
        try:
            result: tuple[bool, Any] = (True, self._function(item))
        except BaseException as error:
            # an interrupt of the caller is not put off until its turn
            if not isinstance(error, Exception) and threading.get_ident() == self._caller:
                raise
            result = (False, error)
        with self._news:
            self._done[number] = result
            self._news.notify_all()

    def help(self) -> None:
        """Work until nothing is left."""
        while True:
            with self._news:
                while not self._over and self._taken - self._given >= self._ahead:
                    self._news.wait()
                try:
                    taken = self._take()
                except Exception as error:  # the iterable failed: the caller is told in its turn
                    self._done[self._taken] = (False, error)
                    self._taken += 1
                    taken = None
                    self._news.notify_all()
            if taken is None:
                return
            self._work(*taken)

    def results(self) -> Iterator[Result]:
        """Yield the results in order, working oneself while the next one is not ready."""
        while True:
            with self._news:
                ready = self._done.pop(self._given, None)
                taken = self._take() if ready is None else None
                while ready is None and taken is None:
                    if self._given == self._taken and self._over:
                        return
                    self._news.wait()
                    ready = self._done.pop(self._given, None)
                self._given += ready is not None
                self._news.notify_all()
            if taken is not None:
                self._work(*taken)
            elif ready is not None:
                fine, result = ready
                if not fine:
                    raise result
                yield result

    def stop(self) -> None:
        """Let no further item be begun."""
        with self._news:
            self._over = True
            self._news.notify_all()
