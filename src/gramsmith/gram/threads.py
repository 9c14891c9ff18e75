"""The thread engine: an ordered map over tiles, and one shared limit on BLAS threads."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

import joblib
import numpy as np
import numpy.typing as npt
from threadpoolctl import OpenBLASController, ThreadpoolController

Item = TypeVar("Item")
Result = TypeVar("Result")


class _SharedLimit:
    """One BLAS thread per tile while any sweep runs.

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


_scratch = threading.local()


def scratch(name: str, shape: tuple[int, int], dtype: Any) -> npt.NDArray[Any]:
    """Return this thread's working array of that name; fresh pages for every tile cost a sweep."""
    size = shape[0] * shape[1]
    key = (name, np.dtype(dtype))
    arrays = _scratch.__dict__.setdefault("arrays", {})
    if key not in arrays or arrays[key].size < size:
        arrays[key] = np.empty(size, dtype)
    return np.asarray(arrays[key][:size].reshape(shape))


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

    At most a handful of results wait at any time, so memory stays bounded.
    """
    items = list(items)
    with one_blas_thread():
        if workers == 1 or len(items) == 1:
            yield from map(function, items)
            return
        pool = ThreadPoolExecutor(workers, thread_name_prefix="gramsmith")
        pending: deque[Future[Result]] = deque()
        try:
            for item in items:
                pending.append(pool.submit(function, item))
                if len(pending) > 4 * workers:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:
            # On an error or an interrupt: what has not begun is dropped.
            pool.shutdown(wait=True, cancel_futures=True)
