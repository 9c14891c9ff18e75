"""The Dask engine: bands of a sweep, and other pieces of work, on the workers of a cluster.

    task ──▶ skeleton + large arrays ──▶ each once to every worker, or into a shared folder
    bands ──▶ parcels ──▶ two per thread on their way ──▶ yielded in plan order

Whoever asks for a band gets the same bits. Lost workers and failed bands are Dask's business
(``submit(retries=)``); rows that were lost with all workers are sent again once. What adds up the
results, and the journal, stay with the caller (`gramsmith.gram.engine.sum_up`).
"""

from __future__ import annotations

import io
import ipaddress
import os
import pickle
import queue
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from weakref import WeakValueDictionary

import joblib
import numpy as np
import numpy.typing as npt

from gramsmith.gram.engine import Engine, Task, set_journal
from gramsmith.gram.host import differences, host
from gramsmith.gram.parquet import ParquetRows
from gramsmith.gram.plan import MIB

Array = npt.NDArray[Any]

LARGE = 32 * 1024  # bytes from which an array travels by itself, once
PARCELS = 32  # of a thread in a sweep: the last ones end together, few enough for the scheduler
PARCEL_BYTES = 32 * MIB  # of results in one message
AHEAD = 4  # times as many parcels as are out may wait for their turn
POLL = 0.5  # seconds after which workers are looked at when no result comes
USABLE = 0.8  # of a worker's memory: Dask lets it rest beyond


class LostWorkers(RuntimeError):
    """No worker is left, or the connection to the scheduler is closed."""


@dataclass(frozen=True, eq=False)
class Dask(Engine):
    """Bands on the workers of a Dask cluster, with the bits of `Threads`.

    Parameters
    ----------
    client : distributed.Client, str or None
        The connection to the scheduler, or its address. None is the active client of this process.
    shared : path, optional
        A folder that this process and all workers see. Rows are written there and read by workers,
        which check their hash; default is to send them, once per worker.
    source : path or ParquetRows, optional
        The .npy or .parquet file that X was read from, under a path that all workers see. They
        read the rows there, check their hash, and embed what they need: nothing of X is sent or
        written. A `gramsmith.gram.parquet.ParquetRows` names the columns. Kernels that look at all
        rows at once to embed one of them are sent what they embed.
    same_bits : bool, default=True
        Refuse workers with other versions, processors or BLAS than this process. False lets sums
        differ in their last digits.
    in_flight : int, default=2
        Parcels of bands per thread of a worker that are out at any time.
    retries : int, default=3
        How often a band is tried again that failed for want of memory, files or a connection.
    patience : float, default=30
        Seconds to wait for the scheduler, and for a worker when there is none.
    resume : path or Journal, optional
        A file at the client for finished bands, as for `Threads`.

    Notes
    -----
    A worker with t threads holds the embedded rows E twice (as they came, and in place for BLAS;
    with `shared` once), two copies of the probe V, and for each thread the tiles in work and the
    results of `in_flight` + 1 parcels,

        bytes <= 2 |E| + 2 |V| + t (tiles + (in_flight + 1) max(32 MiB, one band)),

    beside what the process had before. It is compared with the worker's limit before work begins.

    Examples
    --------
    >>> import numpy as np
    >>> import gramsmith as gs
    >>> from distributed import Client
    >>> X = np.random.default_rng(0).normal(size=(600, 3))
    >>> y = X[:, 0] > 0
    >>> with Client(processes=False, n_workers=1, dashboard_address=None) as client:
    ...     there = gs.cka(gs.Gram("rbf", X, engine=gs.Dask(client)), y)
    >>> there == gs.cka(gs.Gram("rbf", X), y)
    True
    """

    client: Any = None
    shared: Any = None
    source: Any = None
    same_bits: bool = True
    in_flight: int = 2
    retries: int = 3
    patience: float = 30.0
    resume: Any = None

    def __post_init__(self) -> None:
        client = self.client
        if client is None:
            client = _active_client()
        elif isinstance(client, str):
            client = connect(client, timeout=self.patience)
        if not isinstance(client, _distributed().Client):
            raise TypeError(
                f"Expected a distributed.Client or an address, got {type(client).__name__}. Pass "
                "Client(address), or a string such as 'tcp://127.0.0.1:8786'."
            )
        if client.asynchronous:
            raise TypeError(
                "Expected a client that waits for its results, got one with asynchronous=True. "
                "Make it without."
            )
        if self.in_flight < 1 or self.retries < 0 or not self.patience > 0:
            raise ValueError(
                f"Expected in_flight >= 1, retries >= 0 and patience > 0, got {self.in_flight!r}, "
                f"{self.retries!r} and {self.patience!r}."
            )
        object.__setattr__(self, "client", client)
        object.__setattr__(self, "source", as_source(self.source))
        set_journal(self, self.resume)
        _session(client).warn_if_open_to_others()

    def __deepcopy__(self, memo: dict[int, Any]) -> Dask:
        """Return itself: a connection is shared by the copies of an estimator."""
        return self

    @property
    def embeds_late(self) -> bool:
        """Whether rows are embedded by workers, which read them from a file of the user's."""
        return self.source is not None

    def run(self, task: Task, numbers: Sequence[int]) -> Iterator[Any]:
        """Yield the results of bands in order."""
        facts = _session(self.client).admit(self)
        self._check_source(task)
        self._check_memory(task, pack(task), facts)
        threads = sum(fact["threads"] for fact in facts.values())
        parcels = cut(numbers, threads, PARCEL_BYTES // max(1, task.band_bytes))
        for parts in _Call(self, Bands(task), parcels, lambda part: _name_of(task, part)).results():
            yield from parts

    def map(self, function: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[Any]:
        """Yield function(item) in the order of items; both are pickled."""
        yield from _Call(self, function, items, lambda item: "A fit").results()

    def memory_bound(self, task: Task, threads: int = 1) -> int:
        """Return the bytes that a worker with so many threads needs, beside what it had before."""
        return self._bound(task, pack(task), threads)

    def _bound(self, task: Task, packed: Packed, threads: int) -> int:
        probe = getattr(task, "probe", np.empty(0)).nbytes
        results = (self.in_flight + 1) * max(PARCEL_BYTES, task.band_bytes)
        rows = (2 if self.shared is None and self.source is None else 1) * packed.nbytes
        return rows + 2 * probe + threads * (task.worker_bytes + results)

    def _check_source(self, task: Task) -> None:
        """Raise an error if rows that workers are to read are not those of the file."""
        for member in getattr(task, "members", ()) if self.source is not None else ():
            X = getattr(member.E, "X", None)
            if isinstance(X, np.ndarray) and X.nbytes >= LARGE and not self.source.holds(X):
                raise ValueError(
                    f"Expected X to be the rows of {self.source.path}, got others of shape "
                    f"{X.shape}. Pass X as it was read, or leave source= out."
                )

    def _check_memory(self, task: Task, packed: Packed, facts: dict[str, dict[str, Any]]) -> None:
        short = []
        for address, fact in facts.items():
            limit = fact["memory_limit"]
            # one parcel of one band is what it takes at least
            least = 2 * packed.nbytes + fact["threads"] * (task.worker_bytes + task.band_bytes)
            if limit and fact["resident"] + least > USABLE * limit:
                need = (fact["resident"] + least) / USABLE
                short.append(f"{address} {limit / MIB:.0f} MiB (needs {need / MIB:.0f})")
        if short:
            raise MemoryError(
                "Expected workers with memory for the rows and one band, got "
                f"{_some(short)}. Start them with a larger --memory-limit or fewer threads, or use "
                "dtype=np.float32."
            )


def connect(
    address: str | None = None,
    *,
    scheduler_file: str | os.PathLike[str] | None = None,
    timeout: float = 30.0,
) -> Any:
    """Return a client of the scheduler at an address, or say why there is none.

    Certificates for ``tls://`` are those of Dask's configuration.

    Parameters
    ----------
    address : str, optional
        For example ``tcp://10.0.0.1:8786`` or ``tls://10.0.0.1:8786``.
    scheduler_file : path, optional
        What ``dask scheduler --scheduler-file`` has written, instead of an address.
    timeout : float
        Seconds.

    Returns
    -------
    distributed.Client
    """
    if (address is None) == (scheduler_file is None):
        raise ValueError(
            "Expected an address or a scheduler file, got "
            f"{'neither' if address is None else 'both'}. Give one of them."
        )
    if scheduler_file is not None and not Path(scheduler_file).is_file():
        raise FileNotFoundError(
            f"Expected the file of a running scheduler, got {scheduler_file}, which does not "
            "exist. Start `dask scheduler --scheduler-file FILE` on a file system that both see."
        )
    file = None if scheduler_file is None else str(scheduler_file)
    try:
        return _distributed().Client(
            address, scheduler_file=file, timeout=timeout, set_as_default=False
        )
    except (OSError, TimeoutError, ValueError, TypeError) as error:
        where = address if address is not None else f"the address in {scheduler_file}"
        raise ConnectionError(
            f"Expected a Dask scheduler at {where}, got no answer within {timeout:g} seconds "
            f"({type(error).__name__}: {error}). Start it with `dask scheduler`, and see that "
            "host, port, protocol (tcp, tls) and certificates (Dask's configuration) are right."
        ) from error


def _distributed() -> Any:
    """Return Dask's package, which is imported when it is used."""
    try:
        import distributed
    except ImportError as error:
        raise ImportError(
            f"Expected Dask for an engine on a cluster, got none ({error}). Install it with "
            "`pip install 'gramsmith[dask]'`."
        ) from error
    return distributed


# ---- what travels ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Packed:
    """An object without its large arrays, and these, by the hash of their content."""

    skeleton: bytes
    arrays: dict[str, Array]

    @property
    def nbytes(self) -> int:
        """Bytes in all."""
        return len(self.skeleton) + sum(array.nbytes for array in self.arrays.values())


@cache
def _pickler() -> Any:
    """Return a pickler of functions and classes of any module, which lays large arrays aside."""
    import cloudpickle  # which comes with Dask

    class Pickler(cloudpickle.Pickler):
        def __init__(self, stream: io.BytesIO) -> None:
            super().__init__(stream, protocol=5)
            self.arrays: dict[str, Array] = {}
            self.seen: dict[int, str] = {}

        def persistent_id(self, value: Any) -> str | None:
            if type(value) is not np.ndarray or value.nbytes < LARGE or value.dtype.hasobject:
                return None
            key = self.seen.get(id(value))
            if key is None:
                ordered = value.flags.c_contiguous or value.flags.f_contiguous
                array = value if ordered else np.ascontiguousarray(value)
                key = self.seen[id(value)] = str(joblib.hash(array))
                self.arrays.setdefault(key, array)
            return key

    return Pickler


class _Unpickler(pickle.Unpickler):
    def __init__(self, skeleton: bytes, arrays: dict[str, Array]) -> None:
        super().__init__(io.BytesIO(skeleton))
        self.arrays = arrays

    def persistent_load(self, key: str) -> Array:
        return self.arrays[key]


def pack(value: Any) -> Packed:
    """Return an object as bytes and arrays; large arrays that it holds twice are there once."""
    stream = io.BytesIO()
    pickler = _pickler()(stream)
    pickler.dump(value)
    return Packed(stream.getvalue(), pickler.arrays)


def unpack(packed: Packed) -> Any:
    """Return the object; its large arrays are those of the record, not copies."""
    return _Unpickler(packed.skeleton, packed.arrays).load()


# ---- the user's own file -----------------------------------------------------------------------


@dataclass(frozen=True)
class Source:
    """A file of the user's that rows are read from, with the columns of a Parquet file."""

    path: str
    columns: tuple[str, ...] | None = None

    def read(self, dtype: Any = None, order: str = "C") -> Array:
        """Return the rows; of a .npy file of the same type and order its own pages."""
        if self.columns is None:
            held: Array = np.load(self.path, mmap_mode="c")
        else:
            table = ParquetRows(self.path, list(self.columns))
            held = table[np.arange(len(table))]
        array = held.view(np.ndarray)
        if dtype is not None and array.dtype != dtype:
            array = array.astype(dtype)
        fits = array.flags.c_contiguous if order == "C" else array.flags.f_contiguous
        return array if fits else np.array(array, order=order)  # type: ignore[call-overload]

    def holds(self, array: Array) -> bool:
        """Return whether these are the rows of the file."""
        stat = os.stat(self.path)
        order = "C" if array.flags.c_contiguous else "F"
        found = _hash_of_file(self, stat.st_mtime_ns, stat.st_size, array.dtype.str, order)
        return found == str(joblib.hash(array))


@lru_cache(8)
def _hash_of_file(source: Source, changed: int, size: int, dtype: str, order: str) -> str:
    return str(joblib.hash(source.read(dtype, order)))


def as_source(given: Any) -> Source | None:
    """Return the file of a path or of rows that are read from one, or raise if there is none."""
    if given is None or isinstance(given, Source):
        return given
    if isinstance(given, ParquetRows):
        return Source(str(given.path), tuple(given.columns))
    path = Path(given)
    if path.suffix not in (".npy", ".parquet", ".pq") or not path.is_file():
        raise ValueError(
            f"Expected the .npy or .parquet file that X was read from, got {str(given)!r}"
            f"{'' if path.is_file() else ', which is not there'}. Leave source= out to send rows."
        )
    if path.suffix == ".npy":
        return Source(str(path))
    return Source(str(path), tuple(ParquetRows(path).columns))


# ---- on a worker -------------------------------------------------------------------------------

_unpacked: dict[str, Any] = {}  # the function of the sweep in work, by the hash of its skeleton


@dataclass(frozen=True)
class Bands:
    """Bands of a task: what a parcel of a sweep is."""

    task: Any

    def __call__(self, numbers: Sequence[int]) -> list[Any]:
        return [self.task.band(number) for number in numbers]


@dataclass(frozen=True)
class _Failure:
    """An error that would come again, wherever and whenever it is tried."""

    error: Exception


def _work(contents: list[Any], places: dict[str, Any], item: bytes, lent: list[Any]) -> Any:
    """Return function(item): what a task of the scheduler is."""
    try:
        skeleton, *arrays = contents
        key = str(joblib.hash(skeleton))
        function = _unpacked.get(key)
        if function is None:
            found = {name: _aligned(array) for name, array in arrays}
            found |= {name: _read(place, name) for name, place in places.items()}
            function = unpack(Packed(skeleton, found))
            _unpacked.clear()
            _unpacked[key] = function
        return function(unpack(Packed(item, {name: _aligned(array) for name, array in lent})))
    except (OSError, MemoryError):
        raise  # which Dask tries again
    except Exception as error:
        return _Failure(error)


def _aligned(array: Array) -> Array:
    """Return an array as those of this process lie in memory.

    In a message it may begin at any byte: NumPy then does without BLAS and without vector
    instructions, which gives other bits.
    """
    if array.ctypes.data % 16 == 0 and array.flags.writeable:
        return array
    return array.copy(order="K")


def _read(place: tuple[Source, str, str], name: str) -> Array:
    """Return the rows in a file; pages are those of the file, and private if written to."""
    here = _distributed().get_worker().address
    source, dtype, order = place
    try:
        array = source.read(dtype, order)
    except (OSError, ValueError, ImportError) as error:
        raise _BadFile(
            f"Expected the file {source.path} to be visible to all workers, but {here} cannot read "
            f"it ({error}). Give a folder that is shared with all of them, or leave shared= and "
            "source= out."
        ) from error
    if joblib.hash(array) != name:
        raise _BadFile(
            f"Expected the rows with hash {name[:12]} in {source.path}, got others on {here}: the "
            "file is not the one that was written or read here. Give each run a folder of its own."
        )
    return array


class _BadFile(RuntimeError):
    """A shared file that is absent or not what was written."""


# ---- at the client -----------------------------------------------------------------------------


@dataclass(eq=False)
class _Session:
    """What is known of the workers of a client, and what the last sweep left there."""

    client: Any
    facts: dict[str, dict[str, Any]] = field(default_factory=dict)  # of all workers that are there
    late: dict[str, bool] = field(default_factory=dict)  # those that came later: warned of or not
    held: dict[str, Any] = field(default_factory=dict)  # key -> future of the content
    warned: bool = False

    def warn_if_open_to_others(self) -> None:
        """Warn once if rows travel over a network as they are."""
        parts = urlsplit(str(getattr(self.client.scheduler, "address", "")))
        if self.warned or parts.scheme != "tcp" or _is_here(parts.hostname or ""):
            return
        self.warned = True
        warnings.warn(
            f"The scheduler at tcp://{parts.netloc} is on another machine and its connections are "
            "not encrypted: rows can be read, and code run, by others in the network. Use tls:// "
            "unless the network is your own.",
            stacklevel=5,
        )

    def admit(self, engine: Dask) -> dict[str, dict[str, Any]]:
        """Return the workers that give the right bits; the first ones that do not raise an error.

        Those that join later and do not are left out, with a warning.
        """
        _check_open(self.client)
        try:
            self.client.wait_for_workers(1, timeout=engine.patience)
        except TimeoutError as error:
            raise LostWorkers(
                f"Expected workers at {self.client.scheduler.address}, got none within "
                f"{engine.patience:g} seconds. Start some, for example with `dask worker ADDRESS`; "
                "with resume= finished bands are not computed again."
            ) from error
        present = self.client.nthreads()
        new = [address for address in present if address not in self.facts]
        if new:
            if self.facts:
                self.late |= dict.fromkeys(new, False)
            # one that is lost while it is asked is left out
            self.facts |= self.client.run(_facts(), workers=new, on_error="ignore")
        self.facts = {a: fact for a, fact in self.facts.items() if a in present}
        unfit = {a: why for a, fact in self.facts.items() if (why := _unfit(fact, engine))}
        useful = {a: fact for a, fact in self.facts.items() if a not in unfit}
        if unfit and not (useful and unfit.keys() <= self.late.keys()):
            self.facts.clear()  # they may be mended by the next time
            _refuse(unfit)
        for address, (_, reason) in unfit.items():
            if not self.late[address]:
                self.late[address] = True
                warnings.warn(
                    f"The worker {address} joined meanwhile and is passed over: {reason}. The work "
                    "goes on with the others; install the same versions there to use it.",
                    stacklevel=2,
                )
        return useful

    def send(
        self, packed: Packed, engine: Dask, workers: list[str]
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return futures of what travels, by keys, and files of what is read by workers.

        What the last sweep left there, by the same keys, is not sent again; the rest of it may go.
        """
        places: dict[str, tuple[Source, str, str]] = {}
        wanted: dict[str, Any] = {f"gramsmith-{joblib.hash(packed.skeleton)}": packed.skeleton}
        for name, array in packed.arrays.items():
            order = "C" if array.flags.c_contiguous else "F"
            if engine.source is not None and engine.source.holds(array):
                places[name] = (engine.source, array.dtype.str, order)
            elif engine.shared is None:
                wanted[f"gramsmith-{name}"] = (name, array)
            else:
                file = Source(_write(Path(engine.shared), name, array))
                places[name] = (file, array.dtype.str, order)
        there = {key: f for key, f in self.held.items() if f.status == "finished" and key in wanted}
        known = self.client.who_has(list(there.values())) if there else {}
        self.held = {key: future for key, future in there.items() if known.get(future.key)}
        missing = {key: value for key, value in wanted.items() if key not in self.held}
        if missing:
            self.held |= self.client.scatter(missing, broadcast=True, workers=workers)
        return {key: self.held[key] for key in wanted}, places


_sessions: dict[str, _Session] = {}


def _session(client: Any) -> _Session:
    for key, session in list(_sessions.items()):
        if session.client.status == "closed" and session.client is not client:
            _sessions.pop(key, None)
    return _sessions.setdefault(client.id, _Session(client))


def _check_open(client: Any, done: str = "") -> None:
    if client.status not in ("running", "connecting", "newly-created"):
        raise LostWorkers(
            f"The Dask client was closed{done}. Make another Client; with resume= finished bands "
            "are not computed again."
        )


def _unfit(fact: dict[str, Any], engine: Dask) -> tuple[type[Exception], str] | None:
    """Return why a worker is of no use, and the error that says so."""
    if "missing" in fact:
        return ImportError, fact["missing"]
    odd = differences(host(), fact["host"]) if engine.same_bits else []
    return (RuntimeError, ", ".join(odd)) if odd else None


def _refuse(unfit: dict[str, tuple[type[Exception], str]]) -> None:
    """Raise an error that names workers of no use."""
    missing = {a: why for a, (kind, why) in unfit.items() if kind is ImportError}
    if missing:
        raise ImportError(
            f"Expected gramsmith on every worker, got none on {_some(list(missing))} "
            f"({next(iter(missing.values()))}). Install the same version there."
        )
    raise RuntimeError(
        "Expected workers that give the bits of this process, got "
        f"{_some([f'{a}: {why}' for a, (_, why) in unfit.items()])}. Install the same versions, "
        "leave those workers out, or allow sums that differ in their last digits with "
        "Dask(client, same_bits=False)."
    )


class _Call:
    """The pieces of work of one call: which are out, which have come back."""

    def __init__(
        self,
        engine: Dask,
        function: Callable[[Any], Any],
        items: Iterable[Any],
        describe: Callable[[Any], str],
    ) -> None:
        self.engine, self.client, self.describe = engine, engine.client, describe
        self.session = _session(engine.client)
        self.function = pack(function)
        self.items = enumerate(items)
        self.out: dict[Any, tuple[int, Any, list[Any]]] = {}  # future -> number, item, its arrays
        self.done: queue.SimpleQueue[Any] = queue.SimpleQueue()  # futures as they come back
        self.lent: WeakValueDictionary[str, Any] = WeakValueDictionary()  # arrays of items
        self.finished = 0
        self.sent_again = False  # since the last result
        self.looked = -np.inf

    def results(self) -> Iterator[Any]:
        """Yield the results in order."""
        waiting: dict[int, Any] = {}
        given, number, more = 0, -1, True
        try:
            self._send()
            while True:
                limit = self.engine.in_flight * self._threads()
                while more and len(self.out) < limit and number - given < AHEAD * limit:
                    following = next(self.items, None)
                    if following is None:
                        more = False
                        break
                    number, item = following
                    self._submit(number, item)
                if not self.out:
                    return
                arrived, result = self._receive()
                waiting[arrived] = result
                while given in waiting:
                    yield waiting.pop(given)
                    given += 1
        finally:
            if self.out and self.client.status == "running":  # an error or an interrupt
                self.client.cancel(list(self.out), force=True)

    def _send(self) -> None:
        """Send what all pieces of work need to the workers that are of use."""
        self.workers = self.session.admit(self.engine)
        sent = self.session.send(self.function, self.engine, list(self.workers))
        self.contents, self.places = sent

    def _threads(self) -> int:
        """Return how many threads there are now; workers come and go."""
        now = time.monotonic()
        if now - self.looked > 4 * POLL:
            _check_open(self.client, self._progress())
            self.workers = self.session.admit(self.engine) if self.client.nthreads() else {}
            self.looked = now
        return max(1, sum(int(fact["threads"]) for fact in self.workers.values()))

    def _submit(self, number: int, item: Any) -> None:
        _check_open(self.client, self._progress())
        packed = pack(item)
        lent = []
        for name, array in packed.arrays.items():
            future = self.lent.get(name)
            if future is None:
                key = f"gramsmith-{name}"
                future = self.client.scatter({key: (name, array)}, workers=list(self.workers))[key]
                self.lent[name] = future
            lent.append(future)
        future = self.client.submit(
            _work,
            list(self.contents.values()),
            self.places,
            packed.skeleton,
            lent,
            pure=False,
            retries=self.engine.retries,
            workers=list(self.workers) or None,
        )
        self.out[future] = number, item, lent
        future.add_done_callback(self.done.put)

    def _receive(self) -> tuple[int, Any]:
        """Return the next result that comes back, with its number."""
        while True:
            try:
                future = self.done.get(timeout=POLL)
            except queue.Empty:
                self._look_for_rows()
                continue
            if future not in self.out or future.status == "pending":
                if future in self.out:  # its worker was lost with the result: Dask does it again
                    future.add_done_callback(self.done.put)
                continue
            number, item, _ = self.out[future]
            if future.status == "error":
                self._give_up(item, future.exception())
            try:
                result = future.result(timeout=self.engine.patience)
            except (TimeoutError, OSError, _distributed().CancelledError):
                self._look_for_rows(lost=True)
                continue
            del self.out[future]
            if isinstance(result, _Failure):
                self._give_up(item, result.error)
            self.finished += 1
            self.sent_again = False
            return number, result

    def _look_for_rows(self, *, lost: bool = False) -> None:
        """Send rows and what is out again, once, if no worker that has the rows is left."""
        _check_open(self.client, self._progress())
        futures = list(self.contents.values())
        if not lost:
            present = self.client.nthreads()
            held = self.client.who_has(futures)
            lost = not any(a in present for a in self.workers) or not all(
                held.get(future.key) for future in futures
            )
        if not lost:
            return
        if self.sent_again:
            error = _distributed().CancelledError("all workers were lost twice")
            self._give_up(next(iter(self.out.values()))[1], error)
        self.sent_again = True
        self.client.cancel(list(self.out), force=True)
        again, self.out = list(self.out.values()), {}
        self.session.held.clear()
        self.lent.clear()
        self._send()
        for number, item, _ in again:
            self._submit(number, item)

    def _progress(self) -> str:
        return f" after {self.finished} pieces of work"

    def _give_up(self, item: Any, error: Any) -> None:
        """Raise an error that says which rows it was."""
        what = self.describe(item)
        if isinstance(error, _BadFile):
            raise error
        if isinstance(error, _distributed().KilledWorker | _distributed().CancelledError):
            raise RuntimeError(
                f"{what} ended every worker that tried it ({error}). See their logs; memory is the "
                "usual cause (--memory-limit, fewer threads)."
            ) from error
        tried = self.engine.retries if isinstance(error, OSError | MemoryError) else 0
        often = f" {tried + 1} times" if tried else ""
        kind = ValueError if isinstance(error, ValueError) else RuntimeError
        raise kind(f"{what} failed{often}: {type(error).__name__}: {error}") from error


def cut(numbers: Sequence[int], threads: int, most: int) -> list[Sequence[int]]:
    """Return numbers in parcels for so many threads, of at most so many.

    Examples
    --------
    >>> cut(range(3), 1, 3)
    [range(0, 1), range(1, 2), range(2, 3)]
    >>> len(cut(range(1280), 2, 100)), len(cut(range(1280), 2, 5))
    (64, 256)
    """
    size = max(1, min(most, len(numbers) // (PARCELS * threads)))
    return [numbers[start : start + size] for start in range(0, len(numbers), size)]


def _facts() -> Callable[[Any], dict[str, Any]]:
    """Return a function that says what a worker has; it travels by value, not by name."""

    def facts(dask_worker: Any) -> dict[str, Any]:
        from importlib import import_module

        found = {
            "threads": dask_worker.state.nthreads,
            "memory_limit": dask_worker.memory_manager.memory_limit,
            "resident": dask_worker.monitor.proc.memory_info().rss,
        }
        try:
            here = import_module("gramsmith.gram.host").host()
        except ImportError as error:
            return {**found, "missing": str(error)}
        return {**found, "host": here}

    return facts


def _active_client() -> Any:
    try:
        return _distributed().default_client()
    except ValueError as error:
        raise ValueError(
            "Expected an active Dask client, got none. Make one, for example Client(address), or "
            "pass it."
        ) from error


def _is_here(name: str) -> bool:
    """Return whether a host is this machine, as far as its name or number tells."""
    import socket

    try:
        found = {info[4][0] for info in socket.getaddrinfo(name, None)}
    except OSError:
        return False
    return all(ipaddress.ip_address(str(a).split("%")[0]).is_loopback for a in found)


def _write(folder: Path, name: str, array: Array) -> str:
    """Write rows into a shared folder, unless they are there, and return the file."""
    path = folder / f"gramsmith-{name}.npy"
    if path.exists():
        return str(path)
    temporary = folder / f".{path.name}.{os.getpid()}.tmp"
    try:
        with open(temporary, "xb") as stream:
            np.save(stream, array)
        os.replace(temporary, path)
    except OSError as error:
        raise OSError(
            f"Expected a shared folder that can be written to, got {folder}: {error}. Name another "
            "one in shared=."
        ) from error
    finally:
        temporary.unlink(missing_ok=True)
    return str(path)


def _name_of(task: Any, numbers: Sequence[int]) -> str:
    """Return which rows and kernels bands stand for."""
    plan = task.plan
    first, last = plan.bands[numbers[0]], plan.bands[numbers[-1]]
    top, bottom = plan.blocks[first.row].rows, plan.blocks[last.row].rows
    columns = [plan.columns(plan.bands[number]) for number in numbers]
    left, right = min(c.start for c in columns), max(c.stop for c in columns)
    kernels = [kernel for member in task.members for kernel in member.kernels]
    named = ", ".join(kernel.formula() for kernel in kernels[:3])
    more = ", ..." if len(kernels) > 3 else ""
    which = f"Band {numbers[0]}" if len(numbers) == 1 else f"Bands {numbers[0]} to {numbers[-1]}"
    rows = f"rows {top.start} to {bottom.stop - 1} by {left} to {right - 1}"
    return f"{which} ({rows} of {named}{more})"


def _some(names: list[str]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return "; ".join(names[:3]) + more
