"""The Dask engine: bands of a sweep, and other pieces of work, on the workers of a cluster.

    task ──▶ skeleton + large arrays ──▶ each once to every worker, or into a shared folder
    bands ──▶ parcels of half a second ──▶ two per thread on their way ──▶ yielded in plan order

Whoever asks for a band gets the same bits, so that a parcel may be sent again whenever a worker is
lost. What adds up the results (`gramsmith.gram.engine.sum_up`) stays with the caller.
"""

from __future__ import annotations

import hashlib
import io
import ipaddress
import itertools
import os
import pickle
import queue
import time
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import numpy.typing as npt

from gramsmith.gram.engine import Engine, Task, set_journal
from gramsmith.gram.host import differences, host
from gramsmith.gram.parquet import ParquetRows
from gramsmith.gram.plan import MIB

Array = npt.NDArray[Any]

LARGE = 32 * 1024  # bytes from which an array travels by itself, once
PARCEL_SECONDS = 0.5  # of work in one message: the scheduler takes about a millisecond for each
LONGEST_PARCEL = 2.0  # where there are many threads, so that it is not asked too often
BUSY = 200  # parcels per second that are no trouble for it
PARCEL_BYTES = 32 * MIB  # of results in one message
POLL = 0.5  # seconds after which the client is looked at when no result comes
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
        How often a band is sent again that failed for want of memory, files or a connection.
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

    def run(self, task: Task) -> Iterator[Any]:
        """Yield the results of all bands in order."""
        session = _session(self.client)
        facts = session.admit(self)
        bands = task.plan.bands
        largest = max(1, task.band_bytes)
        packed = pack(task)
        self._check_source(task)
        self._check_memory(task, packed, facts)
        most = max(1, PARCEL_BYTES // largest)
        arrived = getattr(task, "arrived", None)

        def describe(numbers: range) -> str:
            return _name_of(task, numbers)

        call = _Call(self, packed, _bands, len(bands), most, describe)
        for number, part in call.results():
            if arrived is not None:
                arrived(number, part)
            call.keep(number, part)
            yield from call.in_order()

    def map(self, function: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[Any]:
        """Yield function(item) in the order of items; both are pickled."""
        _session(self.client).admit(self)
        call = _Call(self, pack(function), _items, None, 1, lambda numbers: f"Fit {numbers[0]}")
        call.items = iter(items)
        for number, part in call.results():
            call.keep(number, part)
            yield from call.in_order()

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
    tls_ca: str | None = None,
    tls_cert: str | None = None,
    tls_key: str | None = None,
    timeout: float = 30.0,
) -> Any:
    """Return a client of the scheduler at an address, or say why there is none.

    Parameters
    ----------
    address : str, optional
        For example ``tcp://10.0.0.1:8786`` or ``tls://10.0.0.1:8786``.
    scheduler_file : path, optional
        What ``dask scheduler --scheduler-file`` has written, instead of an address.
    tls_ca, tls_cert, tls_key : path, optional
        Files in PEM format, for ``tls://``.
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
    keys = (tls_ca, tls_cert, tls_key)
    missing = [str(path) for path in keys if path is not None and not Path(path).is_file()]
    if missing:
        raise FileNotFoundError(
            f"Expected the files of the TLS options, got {missing[0]}, which does not exist."
        )
    security = None
    if any(keys):
        security = _distributed().Security(
            tls_ca_file=tls_ca, tls_client_cert=tls_cert, tls_client_key=tls_key,
            require_encryption=True,
        )  # fmt: skip
    try:
        return _distributed().Client(
            address,
            scheduler_file=None if scheduler_file is None else str(scheduler_file),
            security=security,
            timeout=timeout,
            set_as_default=False,
        )
    except (OSError, TimeoutError, ValueError, TypeError) as error:
        where = address if address is not None else f"the address in {scheduler_file}"
        raise ConnectionError(
            f"Expected a Dask scheduler at {where}, got no answer within {timeout:g} seconds "
            f"({type(error).__name__}: {error}). Start it with `dask scheduler`, and see that "
            "host, port and protocol (tcp, tls) are right."
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
                key = self.seen[id(value)] = hash_array(array)
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


def hash_array(array: Array) -> str:
    """Return a hash of the values, the type and the order in memory of an array."""
    order = "C" if array.flags.c_contiguous else "F"
    found = hashlib.sha256(f"{array.dtype.str} {array.shape} {order}".encode())
    found.update((array if order == "C" else array.T).data.cast("B") if array.size else b"")
    return found.hexdigest()


# ---- the user's own file -----------------------------------------------------------------------


@dataclass(frozen=True)
class Source:
    """A file of the user's that rows are read from.

    Parameters
    ----------
    path : str
    columns : tuple of str or None
        Of a Parquet file.
    """

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
        return found == hash_array(array)


@lru_cache(8)
def _hash_of_file(source: Source, changed: int, size: int, dtype: str, order: str) -> str:
    return hash_array(source.read(dtype, order))


def as_source(given: Any) -> Source | None:
    """Return the file of a path or of rows that are read from one, or raise if it is no such file.

    Parameters
    ----------
    given : path, ParquetRows, Source or None
    """
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

_unpacked: OrderedDict[str, Any] = OrderedDict()  # the last few objects, by their keys
REMEMBERED = 2


def _work(
    key: str,
    run: Callable[[Any, Any], list[Any]],
    numbers: Any,
    expected: dict[str, str] | None,
    places: dict[str, Any],
    contents: list[Any],
    more: list[Any],
) -> tuple[list[Any], float]:
    """Do a parcel of work: what a task of the scheduler is."""
    if expected is not None:
        odd = differences(expected, host())
        if odd:
            raise _OtherHost(f"{_distributed().get_worker().address} has {', '.join(odd)}")
    skeleton, *arrays = contents
    try:
        value = _unpacked[key]
    except KeyError:
        found = {name: _aligned(array) for name, array in arrays}
        for name, path in places.items():
            found[name] = _read(path, name)
        value = unpack(Packed(skeleton, found))
        _unpacked[key] = value
        while len(_unpacked) > REMEMBERED:
            _unpacked.popitem(last=False)
    start = time.perf_counter()
    if more:
        numbers = Packed(more[0], {name: _aligned(array) for name, array in more[1:]})
    parts = run(value, numbers)
    return parts, time.perf_counter() - start


def _aligned(array: Array) -> Array:
    """Return an array as those of this process lie in memory.

    In a message it may begin at any byte: NumPy then does without BLAS and without vector
    instructions, which gives other bits.
    """
    if array.ctypes.data % 16 == 0 and array.flags.writeable:
        return array
    return array.copy(order="K")


def _bands(task: Any, numbers: range) -> list[Any]:
    return [task.band(number) for number in numbers]


def _items(function: Any, packed: Packed) -> list[Any]:
    return [function(item) for item in unpack(packed)]


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
    if hash_array(array) != name:
        raise _BadFile(
            f"Expected the rows with hash {name[:12]} in {source.path}, got others on {here}: the "
            "file is not the one that was written or read here. Give each run a folder of its own."
        )
    return array


class _OtherHost(RuntimeError):
    """A worker that would give other bits."""


class _BadFile(RuntimeError):
    """A shared file that is absent or not what was written."""


# ---- at the client -----------------------------------------------------------------------------


@dataclass(eq=False)
class _Session:
    """What is known of the workers of a client, and what the last sweep left there."""

    client: Any
    facts: dict[str, dict[str, Any]] = field(default_factory=dict)
    passed_over: dict[str, str] = field(default_factory=dict)  # workers of no use, and why
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

    def check_open(self, done: str = "") -> None:
        """Raise an error if the client is closed."""
        if self.client.status not in ("running", "connecting", "newly-created"):
            raise LostWorkers(
                f"The Dask client was closed{done}. Make another Client; with resume= finished "
                "bands are not computed again."
            )

    def admit(self, engine: Dask) -> dict[str, dict[str, Any]]:
        """Return what the workers have, or raise an error that names those of no use."""
        self.check_open()
        try:
            self.client.wait_for_workers(1, timeout=engine.patience)
        except TimeoutError as error:
            raise LostWorkers(
                f"Expected workers at {self.client.scheduler.address}, got none within "
                f"{engine.patience:g} seconds. Start some, for example with `dask worker ADDRESS`."
            ) from error
        present = self.client.nthreads()
        known = [a for a in self.facts if a in present]
        new = [a for a in present if a not in self.facts and a not in self.passed_over]
        facts = {address: self.facts[address] for address in known}
        if new:
            try:
                facts |= self.client.run(_facts(), workers=new)
            except OSError:  # one was lost while it was asked: those that are left are asked
                time.sleep(POLL)
                return self.admit(engine)
        missing = {a: fact["missing"] for a, fact in facts.items() if "missing" in fact}
        odd: dict[str, list[str]] = {}
        if engine.same_bits:
            mine = host()
            apart = {a: differences(mine, f["host"]) for a, f in facts.items() if a not in missing}
            odd = {a: found for a, found in apart.items() if found}
        useful = [a for a in known if a not in missing and a not in odd]
        if not useful or not set(missing) | set(odd) <= set(new):
            self._refuse(missing, odd)
        self.passed_over = {a: why for a, why in self.passed_over.items() if a in present}
        self._pass_over({**missing, **{a: ", ".join(found) for a, found in odd.items()}})
        self.facts = {a: fact for a, fact in facts.items() if a not in self.passed_over}
        return self.facts

    def _refuse(self, missing: dict[str, str], odd: dict[str, list[str]]) -> None:
        """Raise an error that names workers of no use that were there from the beginning."""
        if missing:
            why = next(iter(missing.values()))
            raise ImportError(
                f"Expected gramsmith on every worker, got none on {_some(list(missing))} ({why}). "
                "Install the same version there."
            )
        if odd:
            listed = [f"{a}: {', '.join(found)}" for a, found in odd.items()]
            raise RuntimeError(
                f"Expected workers that give the bits of this process, got {_some(listed)}. "
                "Install the same versions, leave those workers out, or allow sums that differ "
                "in their last digits with Dask(client, same_bits=False)."
            )

    def _pass_over(self, late: dict[str, str]) -> None:
        """Leave out workers that joined in the middle of the work and are of no use, and warn."""
        for address, why in late.items():
            self.passed_over[address] = why
            warnings.warn(
                f"The worker {address} joined meanwhile and is passed over: {why}. The work goes "
                "on with the others; install the same versions there to use it.",
                stacklevel=2,
            )

    def useful(self) -> list[str] | None:
        """Return the workers that may be given work, or None if that is all of them."""
        present = self.client.nthreads()
        if not any(address in self.passed_over for address in present):
            return None
        return [address for address in present if address not in self.passed_over]

    def place(
        self,
        packed: Packed,
        shared: Any,
        held: dict[str, Any],
        *,
        source: Source | None = None,
        broadcast: bool = True,
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return futures of what travels, by keys, and files of what is read by workers.

        What is held already, by the same keys, is not sent again.
        """
        contents: dict[str, Any] = {}
        places: dict[str, tuple[Source, str, str]] = {}
        wanted: dict[str, Any] = {f"gramsmith-{_hash(packed.skeleton)}": packed.skeleton}
        for name, array in packed.arrays.items():
            order = "C" if array.flags.c_contiguous else "F"
            if source is not None and source.holds(array):
                places[name] = (source, array.dtype.str, order)
            elif shared is None:
                wanted[f"gramsmith-{name}"] = (name, array)
            else:
                file = Source(_write(Path(shared), name, array))
                places[name] = (file, array.dtype.str, order)
        for key, value in wanted.items():
            future = held.get(key)
            if future is None or future.status != "finished":
                future = self._scatter(key, value, broadcast)
            contents[key] = future
        return contents, places

    def _scatter(self, key: str, value: Any, broadcast: bool) -> Any:
        """Return the future of what was sent; a worker may be lost while it is sent there."""
        for _ in range(3):
            try:
                return self._sent(key, value, broadcast)
            except OSError:
                self.check_open()
                time.sleep(2 * POLL)
        return self._sent(key, value, broadcast)

    def _sent(self, key: str, value: Any, broadcast: bool) -> Any:
        return self.client.scatter({key: value}, broadcast=broadcast, workers=self.useful())[key]


_sessions: dict[str, _Session] = {}


def _session(client: Any) -> _Session:
    for key, session in list(_sessions.items()):
        if session.client.status == "closed" and session.client is not client:
            _sessions.pop(key, None)
    return _sessions.setdefault(client.id, _Session(client))


@dataclass
class _Parcel:
    numbers: range
    items: Any
    attempts: int = 0
    lent: dict[str, Any] = field(default_factory=dict)  # futures of what the items hold


class _Call:
    """The parcels of one sweep: which are out, which have come back."""

    def __init__(
        self,
        engine: Dask,
        packed: Packed,
        run: Callable[[Any, Any], list[Any]],
        count: int | None,
        most: int,
        describe: Callable[[range], str],
    ) -> None:
        self.engine, self.packed, self.work = engine, packed, run
        self.session = _session(engine.client)
        self.client = engine.client
        self.count, self.most, self.describe = count, most, describe
        self.items: Iterator[Any] | None = None
        self.expected = host() if engine.same_bits else None
        self.key = _hash(packed.skeleton)
        self.out: dict[Any, _Parcel] = {}
        self.back: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.waiting: dict[int, Any] = {}
        self.taken = self.given = 0
        self.seconds: float | None = None  # of one band
        self.again: list[_Parcel] = []
        self.threads, self.looked = 1, -np.inf
        self.lent: dict[str, Any] = {}
        self.asked: set[str] = set()  # workers that were there when something was sent

    # ---- results in order ----

    def keep(self, number: int, part: Any) -> None:
        self.waiting[number] = part

    def in_order(self) -> Iterator[Any]:
        while self.given in self.waiting:
            part = self.waiting.pop(self.given)
            self.given += 1
            yield part

    def results(self) -> Iterator[tuple[int, Any]]:
        """Yield (number, result) as they come."""
        self._place()
        try:
            while True:
                self._send()
                if not self.out:
                    break
                parcel, parts = self._receive()
                if parts is not None:
                    yield from zip(parcel.numbers, parts, strict=True)
        finally:
            self._cancel()

    def _place(self) -> None:
        session = self.session
        self.contents, self.places = session.place(
            self.packed, self.engine.shared, session.held, source=self.engine.source
        )
        session.held = self.contents  # what the sweep before left, and this one needs not, may go

    def _cancel(self) -> None:
        """Take back what is out, after an error or an interrupt."""
        if self.out and self.client.status == "running":
            self.client.cancel(list(self.out), force=True)
        self.out.clear()

    # ---- sending ----

    def _send(self) -> None:
        self._look()
        limit = self.engine.in_flight * self.threads
        while len(self.out) < limit:
            parcel = self.again.pop() if self.again else self._next(limit)
            if parcel is None:
                return
            self._submit(parcel)

    def _look(self) -> None:
        """See how many threads there are now; workers come and go."""
        now = time.monotonic()
        if now - self.looked > 4 * POLL:
            self.session.check_open(self._progress())
            useful = self.session.useful()
            threads = self.client.nthreads()
            self.threads = max(1, sum(threads[a] for a in useful or threads if a in threads))
            self.looked = now

    def _next(self, limit: int) -> _Parcel | None:
        """Return the next parcel, shorter ones at first and towards the end."""
        if self.items is not None:
            found = list(itertools.islice(self.items, 1))
            numbers = range(self.taken, self.taken + len(found))
        else:
            left = (self.count or 0) - self.taken
            # results that wait for their turn are bounded, too
            ahead = self.taken - self.given - 4 * limit * self.most
            wanted = parcel_seconds(self.threads) / max(self.seconds or np.inf, 1e-9)
            size = int(wanted)  # one band until it is known how long it takes
            size = max(1, min(size, self.most, -(-left // (2 * self.threads))))
            size = 0 if ahead > 0 and self.out else min(size, left)
            numbers = range(self.taken, self.taken + size)
            found = list(numbers)
        self.taken = numbers.stop
        return _Parcel(numbers, found) if found else None

    def _submit(self, parcel: _Parcel) -> None:
        self.session.check_open(self._progress())
        more: dict[str, Any] = {}
        if self.items is not None:
            more, _ = self.session.place(pack(parcel.items), None, self.lent, broadcast=False)
            self.lent = {**{k: f for p in self.out.values() for k, f in p.lent.items()}, **more}
            parcel.lent = more
        future = self.client.submit(
            _work,
            self.key,
            self.work,
            parcel.numbers,
            self.expected,
            self.places,
            list(self.contents.values()),
            list(more.values()),
            key=f"gramsmith-parcel-{self.key[:8]}-{next(_serial)}",
            pure=False,
            workers=self.session.useful(),
        )
        self.asked |= set(self.session.facts)
        self.out[future] = parcel
        future.add_done_callback(self.back.put)

    # ---- receiving ----

    def _receive(self) -> tuple[_Parcel, list[Any] | None]:
        """Return the next parcel that is back; without results it has to be sent again."""
        alone = time.monotonic()
        while True:
            try:
                future = self.back.get(timeout=POLL)
            except queue.Empty:
                self._look_for_workers(alone)
                continue
            if future in self.out:
                break
        status = future.status
        if status == "pending":  # its worker was lost before the result was fetched
            future.add_done_callback(self.back.put)
            return self.out[future], None
        if status == "finished":
            try:
                parts, seconds = future.result(timeout=self.engine.patience)
            except (TimeoutError, OSError, _distributed().CancelledError) as error:
                return self._repeat(self.out.pop(future), error), None
            parcel = self.out.pop(future)
            each = seconds / len(parcel.numbers)
            self.seconds = each if self.seconds is None else 0.7 * self.seconds + 0.3 * each
            return parcel, parts
        parcel = self.out.pop(future)
        if status == "error":
            return self._failed(parcel, future.exception()), None
        # cancelled or lost: the rows were on workers that are no more
        self.session.check_open(self._progress())
        return self._repeat(parcel, _distributed().CancelledError("its rows were lost")), None

    def _look_for_workers(self, since: float) -> None:
        self.session.check_open(self._progress())
        self._look_for_rows(since)
        if self.client.nthreads() or time.monotonic() - since < self.engine.patience:
            return
        raise LostWorkers(
            f"Expected workers at {self.client.scheduler.address}, got none for "
            f"{self.engine.patience:g} seconds{self._progress()}. Start some; with resume= "
            "finished bands are not computed again."
        )

    def _look_for_rows(self, since: float) -> None:
        """Take back what waits for rows that no worker has, or for workers that were lost."""
        contents = {f.key: f for f in self.contents.values()}
        held = self.client.who_has(list(contents.values()))
        present = set(self.client.nthreads())
        waited = time.monotonic() - since
        # the scheduler may be about to mend it by itself
        lost = waited > 4 * POLL and not all(held.get(key) for key in contents)
        gone = bool(self.asked - present) and waited > self.engine.patience
        if present and (lost or gone):
            self.client.cancel([*self.out, *(contents.values() if lost else ())], force=True)
            for future in self.out:
                self.back.put(future)

    def _progress(self) -> str:
        total = f" of {self.count} bands" if self.count is not None else " pieces of work"
        return f" after {self.given + len(self.waiting)}{total}"

    def _failed(self, parcel: _Parcel, error: Any) -> _Parcel:
        """Send a parcel again where that may help, or raise an error that names its rows."""
        if isinstance(error, _BadFile):
            raise error
        unfit = isinstance(error, ImportError) and "gramsmith" in str(error)
        if isinstance(error, _OtherHost) or unfit:
            before = len(self.session.passed_over)
            self.session.admit(self.engine)  # names it, and leaves it out
            parcel.attempts += len(self.session.passed_over) == before
            if parcel.attempts > self.engine.retries:
                self._give_up(parcel, error)
            self.again.append(parcel)
            return parcel
        passing = (OSError, MemoryError, TimeoutError, _distributed().CancelledError)
        if isinstance(error, passing) and not isinstance(error, _distributed().KilledWorker):
            return self._repeat(parcel, error)
        self._give_up(parcel, error)
        raise AssertionError  # never reached

    def _repeat(self, parcel: _Parcel, error: Any) -> _Parcel:
        parcel.attempts += 1
        if parcel.attempts > self.engine.retries:
            self._give_up(parcel, error)
        self.session.check_open(self._progress())
        if self._rows_are_lost():
            self.session.admit(self.engine)
            self._place()
        self.again.append(parcel)
        return parcel

    def _rows_are_lost(self) -> bool:
        """Return whether no worker has some of the rows; what is lost is no longer held.

        A future may still say that it is finished when the scheduler knows better: a parcel that
        is sent again at once would then come back as often, until it is given up.
        """
        there = {key: f for key, f in self.contents.items() if f.status == "finished"}
        try:
            known = self.client.who_has(list(there.values()))
        except _distributed().CancelledError:  # one was forgotten while it was asked for
            known = {}
        lost = {key for key, f in self.contents.items() if not known.get(f.key)}
        held = self.session.held
        self.session.held = {key: future for key, future in held.items() if key not in lost}
        return bool(lost)

    def _give_up(self, parcel: _Parcel, error: Any) -> None:
        what = self.describe(parcel.numbers)
        deadly = (_distributed().KilledWorker, _distributed().CancelledError)
        if isinstance(error, deadly):
            last = getattr(error, "last_worker", None)
            which = f"the last one {last}" if last is not None else f"{parcel.attempts} times"
            raise RuntimeError(
                f"{what} ended every worker that tried it, {which}. See their logs; memory is the "
                "usual cause (--memory-limit, fewer threads)."
            ) from error
        often = f" {parcel.attempts} times" if parcel.attempts > 1 else ""
        kind = ValueError if isinstance(error, ValueError) else RuntimeError
        raise kind(f"{what} failed{often}: {type(error).__name__}: {error}") from error


_serial = itertools.count()


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


def parcel_seconds(threads: int) -> float:
    """Return how much work a parcel holds on a cluster of so many threads."""
    return min(LONGEST_PARCEL, max(PARCEL_SECONDS, threads / BUSY))


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


def _name_of(task: Any, numbers: range) -> str:
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


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _some(names: list[str]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return "; ".join(names[:3]) + more
