"""The thread engine: an ordered map over tiles, and what sweeps share with the rest of the process.

BLAS has one number of threads per process, cores are shared with other threads and processes, and a
fork copies locks as they stand: `one_blas_thread` and `_team` keep account for all sweeps.
"""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sized
from contextlib import contextmanager
from numbers import Real
from typing import Any, Generic, TypeVar

import joblib
from threadpoolctl import OpenBLASController, ThreadpoolController

from gramsmith.arguments import abridged, is_whole

Item = TypeVar("Item")
Result = TypeVar("Result")

# Order of matrices up to which solves take one BLAS thread: eigenvectors, factors and logistic
# regression are then no slower than with two, ten times quicker while others use the cores, and the
# same to the last bit whatever the number of threads.
SMALL = 1024
MOST = 64  # BLAS threads for which NumPy's OpenBLAS is built: as many are no limit
PATIENCE = 1.0  # seconds that a fork waits for tiles in work


class _BlasLimit:
    """One BLAS thread per tile while any sweep runs.

    It is also wanted around small products between two sweeps: after a product on several threads
    OpenBLAS lets them spin for a tenth of a second, on the cores that the tiles need.

    Limits of threadpoolctl are global to the process. Two overlapping sweeps with a limit each
    would restore each other's values and leave BLAS at one thread for good; a single limit that
    knows its users restores the original when the last one leaves.
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
            if not self._users:
                self._restore()

    def _restore(self) -> None:
        if self._original is not None:
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
        """Begin anew, in a child where nobody is left to leave."""
        self.lock = threading.Lock()
        self._users.clear()
        self._restore()


def _set_threads(counts: list[tuple[Any, int]]) -> None:
    # Newer threadpoolctl obeys only the first thread that set a limit. The last sweep to end need
    # not be in the thread in which the first one began.
    release = getattr(OpenBLASController, "clear_controlling_thread", lambda force: None)
    release(force=True)
    for library, count in counts:
        library.set_num_threads(count)
    release(force=True)


class _Team:
    """The threads of all sweeps of the process.

    Sweeps at the same time share the cores: in a pool of threads, such as joblib's or Dask's, each
    goes on with the thread that called it. And the process forks between tiles, because a lock that
    BLAS holds within a tile would never be released in the child.
    """

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Begin anew, in a child where these threads are not."""
        self.lock = threading.Lock()
        self._news = threading.Condition(self.lock)
        self._members: set[object] = set()
        self._in_tile: set[int] = set()
        self._forks = 0

    def enter(self, caller: int, workers: int, entered: set[object]) -> list[object]:
        """Enter the caller and its helpers, and return names for the helpers.

        Whom to let out again stands in `entered` before they are in. A caller that works for
        another sweep is in already.
        """
        with self.lock:
            if caller not in self._members:
                entered.add(caller)
            self._members.add(caller)
            left = workers - len(self._members)
            if left < workers - 1:  # others are at work, too
                left = max(0, min(workers - 1, _cores() - len(self._members)))
            helpers = [object() for _ in range(left)]
            entered.update(helpers)
            self._members.update(helpers)
        return helpers

    def rename(self, helper: object, me: int) -> None:
        """Let a helper that has begun be known by its thread: sweeps in its tiles are to see it."""
        with self.lock:
            self._members.remove(helper)
            self._members.add(me)

    def leave(self, members: Iterable[object]) -> None:
        with self.lock:
            self._members.difference_update(members)

    def crowded(self, workers: int) -> bool:
        """Return whether there are more threads than cores, and than one sweep asked for."""
        return len(self._members) > workers and len(self._members) > _cores()

    @contextmanager
    def tile(self) -> Iterator[None]:
        """Let the process fork before or after, but not during."""
        me = threading.get_ident()
        if me in self._in_tile:  # a sweep within a tile of another
            yield
            return
        try:
            with self.lock:
                while self._forks:
                    self._news.wait(PATIENCE)
                self._in_tile.add(me)
            yield
        finally:
            try:
                self._leave_tile(me)
            except BaseException:
                self._leave_tile(me)
                raise

    def _leave_tile(self, me: int) -> None:
        with self.lock:
            self._in_tile.discard(me)
            if self._forks:
                self._news.notify_all()

    def before_fork(self) -> None:
        """Begin no tile, and wait for those in work."""
        with self.lock:
            self._forks += 1
            self._news.wait_for(lambda: self._in_tile <= {threading.get_ident()}, PATIENCE)

    def after_fork(self) -> None:
        """Go on, in the parent."""
        with self.lock:
            self._forks -= 1
            self._news.notify_all()


one_blas_thread = _BlasLimit()
_team = _Team()


_fork = threading.local()


def _before_fork() -> None:
    _team.before_fork()
    # While it is held nobody changes limits: threadpoolctl has a lock, too.
    _fork.holds = one_blas_thread.lock.acquire(timeout=PATIENCE)


def _after_fork_in_parent() -> None:
    if _fork.holds:
        one_blas_thread.lock.release()
    _team.after_fork()


def _after_fork_in_child() -> None:
    _team.forget()
    one_blas_thread.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork,
        after_in_parent=_after_fork_in_parent,
        after_in_child=_after_fork_in_child,
    )


def _cores() -> int:
    """Return the cores that affinity and control groups leave to the process."""
    return int(joblib.cpu_count())


def count_workers(n_jobs: Any) -> int:
    """Return the number of threads: for None what is left, or joblib's meaning.

    What is left is what BLAS may use: `threadpool_limits`, the variables OMP_NUM_THREADS and the
    like, and those who start processes by the dozen (joblib and loky, Dask) limit it. The workers
    of `multiprocessing.Pool` have a thread each.
    """
    if n_jobs is not None and not (
        is_whole(n_jobs, 1) or (isinstance(n_jobs, Real) and is_whole(-n_jobs, 1))
    ):
        raise ValueError(
            "Expected n_jobs to be None, -1 or a positive whole number below 2^31, got "
            f"{abridged(n_jobs)}."
        )
    if n_jobs is None:
        if multiprocessing.current_process().daemon:
            return 1
        return min(_cores(), one_blas_thread.allowed() or _cores())
    return int(n_jobs) if n_jobs > 0 else max(1, _cores() + 1 + int(n_jobs))


@contextmanager
def dense_work(order: int = 0) -> Iterator[None]:
    """Limit BLAS to one thread while small matrices are at work; all others limit nothing.

    This is the one rule for products and solves outside sweeps. Threads woken for a small matrix
    take longer to begin than they save, and spin on the cores that sweeps need.

    Parameters
    ----------
    order : int
        Of the matrices that are solved; up to `SMALL` there is one thread.
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

    Items are taken as they are needed and at most a handful of results wait at any time, so memory
    stays bounded. The calling thread is one of the workers: a thread that only waits for results
    would take the interpreter lock from those that compute.
    """
    few = isinstance(items, Sized) and len(items) < 2
    queue = _WorkQueue(function, items, 1 if few else workers)
    with one_blas_thread():
        try:
            queue.start()
            yield from queue.results()
        finally:
            # On an error or an interrupt: what has not begun is dropped.
            try:
                queue.close()
            except BaseException:  # a second one
                queue.close()
                raise


class _WorkQueue(Generic[Item, Result]):
    """Items to be worked off by several threads, and their results in order."""

    def __init__(
        self, function: Callable[[Item], Result], items: Iterable[Item], workers: int
    ) -> None:
        self._function = function
        self._items = enumerate(items)
        self._workers = workers
        self._ahead = 4 * workers if workers > 1 else 1
        self._lock = threading.Lock()
        self._news = threading.Condition(self._lock)
        self._done: dict[int, tuple[bool, Any]] = {}
        self._taken = self._given = 0
        self._over = False
        self._caller = threading.get_ident()
        self._entered: set[object] = set()
        self._helpers: list[threading.Thread] = []

    def start(self) -> None:
        """Let helpers begin, as many as there are cores for."""
        names = _team.enter(self._caller, self._workers, self._entered)
        for i, name in enumerate(names, start=1):
            helper = threading.Thread(
                target=self._help, args=(name,), name=f"gramsmith-{i}", daemon=True
            )
            self._helpers.append(helper)
            helper.start()

    def close(self) -> None:
        """Let no further item be begun, and wait for those in work."""
        with self._lock:
            self._over = True
            self._news.notify_all()
        for helper in self._helpers:
            if helper.ident is not None:  # else it was never started
                helper.join()
        _team.leave(self._entered)

    def _full(self) -> bool:
        return not self._over and self._taken - self._given >= self._ahead

    def _take(self) -> tuple[int, Item] | None:
        """Return the next item, or None if there is none to begin now; the lock is held."""
        if self._over or self._full():
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
        with self._lock:
            self._done[number] = result
            self._news.notify_all()

    def _help(self, name: object) -> None:
        """Work until nothing is left, or others need the core."""
        me = threading.get_ident()
        _team.rename(name, me)
        try:
            self._help_on()
        finally:
            _team.leave([me])

    def _help_on(self) -> None:
        while not self._over and not _team.crowded(self._workers):
            with self._lock:
                while self._full():
                    self._news.wait()
            with _team.tile():
                with self._lock:
                    try:
                        taken = self._take()
                    except Exception as error:  # the caller is told in its turn
                        self._done[self._taken] = (False, error)
                        self._taken += 1
                        taken = None
                        self._news.notify_all()
                if taken is not None:
                    self._work(*taken)

    def results(self) -> Iterator[Result]:
        """Yield the results in order, working oneself while the next one is not ready."""
        while True:
            with self._lock:
                ready = self._done.pop(self._given, None)
                self._given += ready is not None
                self._news.notify_all()
            if ready is not None:
                fine, result = ready
                if not fine:
                    raise result
                yield result
                continue
            with _team.tile():
                with self._lock:
                    taken = None if self._given in self._done else self._take()
                if taken is not None:
                    self._work(*taken)
            with self._lock:
                while taken is None and self._given not in self._done:
                    if self._given == self._taken and self._over:
                        return
                    self._news.wait()
