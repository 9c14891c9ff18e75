"""The Dask engine: bands of a sweep, and other pieces of work, on the workers of a cluster.

    task ──▶ skeleton + large arrays ──▶ each once to every worker, or into a shared folder
    bands ──▶ parcels ──▶ two per thread on their way ──▶ yielded in plan order

Whoever asks for a band gets the same bits. Lost workers and failed bands are Dask's business
(``submit(retries=)``); rows that were lost with all workers are sent again once. What adds up the
results, and the journal, stay with the caller (`gramsmith.gram.engine.sum_up`).
"""

from __future__ import annotations

import hashlib
import ipaddress
import os
import pickle
import socket
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import numpy.typing as npt

from gramsmith.gram.embedded import Unembedded
from gramsmith.gram.engine import Engine, Sweep
from gramsmith.gram.host import differences, host
from gramsmith.gram.journal import open_journal
from gramsmith.gram.parquet import ParquetRows
from gramsmith.gram.plan import MIB
from gramsmith.gram.threads import one_blas_thread

Array = npt.NDArray[Any]

LARGE = 32 * 1024  # bytes from which an array travels by itself, once
PARCELS = 32  # of a thread in a sweep: the last ones end together, few enough for the scheduler
PARCEL_BYTES = 32 * MIB  # of results in one message
AHEAD = 4  # times as many parcels as are out may wait for their turn
POLL = 0.5  # seconds after which workers are looked at when no result comes
LOOK = 2.0  # seconds after which they are looked at while results come
USABLE = 0.8  # of a worker's memory: Dask lets it rest beyond


class LostWorkers(RuntimeError):
    """No worker is left, or the connection to the scheduler is closed."""


@dataclass(frozen=True, eq=False)
class Dask(Engine):
    """Computes bands on the workers of a Dask cluster, with the same bits as `Threads`.

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
            try:
                client = _distributed().default_client()
            except ValueError as error:
                raise ValueError(
                    "Expected an active Dask client, got none. Make one, for example "
                    "Client(address), or pass it."
                ) from error
        elif isinstance(client, str):
            client = connect(client, timeout=self.patience)
        if not isinstance(client, _distributed().Client) or client.asynchronous:
            raise TypeError(
                "Expected a distributed.Client that is not asynchronous, or an address, got "
                f"{type(client).__name__}. Pass Client(address), or 'tcp://127.0.0.1:8786'."
            )
        if self.in_flight < 1 or self.retries < 0 or not self.patience > 0:
            raise ValueError(
                f"Expected in_flight >= 1, retries >= 0 and patience > 0, got {self.in_flight!r}, "
                f"{self.retries!r} and {self.patience!r}."
            )
        object.__setattr__(self, "client", client)
        object.__setattr__(self, "source", as_source(self.source))
        object.__setattr__(self, "embeds_late", self.source is not None)
        if self.resume is not None:
            object.__setattr__(self, "journal", open_journal(self.resume))
        warn_if_open_to_others(str(getattr(client.scheduler, "address", "")))

    def __deepcopy__(self, memo: dict[int, Any]) -> Dask:
        """Return itself: a connection is shared by the copies of an estimator."""
        return self

    def run(self, task: Sweep, numbers: Sequence[int]) -> Iterator[Any]:
        """Yield the results of bands in order."""
        call = _Call(self, partial(_bands, task), lambda part: _name_of(task, part))
        if self.source is not None and not call.files:
            for member in task.members:
                if isinstance(member.E, Unembedded) and member.E.X.nbytes >= LARGE:
                    raise ValueError(
                        f"Expected X to be the rows of {self.source.path}, got others of shape "
                        f"{member.E.X.shape}. Pass X as it was read, or leave source= out."
                    )
        sent = sum(array.nbytes for array in call.function.arrays.values())
        self._check_memory(task, sent, call.workers)
        threads = sum(fact["threads"] for fact in call.workers.values())
        parcels = cut(numbers, threads, PARCEL_BYTES // max(1, task.band_bytes))
        for parts in call.results(parcels):
            yield from parts

    def map(self, function: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[Any]:
        """Yield function(item) in the order of items; both are pickled."""
        yield from _Call(self, function, lambda item: "A fit").results(items)

    def _check_memory(self, task: Sweep, sent: int, workers: dict[str, dict[str, Any]]) -> None:
        short = []
        for address, fact in workers.items():
            limit = fact["memory_limit"]
            # one parcel of one band is what it takes at least
            least = 2 * sent + fact["threads"] * (task.worker_bytes + task.band_bytes)
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
    """Return a client of the scheduler at an address, or of its file, or say why there is none."""
    if scheduler_file is not None and not Path(scheduler_file).is_file():
        raise FileNotFoundError(
            f"Expected the file of a running scheduler, got {scheduler_file}, which does not "
            "exist. Start `dask scheduler --scheduler-file FILE` on a file system that both see."
        )
    where = {"scheduler_file": str(scheduler_file)} if scheduler_file else {"address": address}
    try:
        return _distributed().Client(**where, timeout=timeout, set_as_default=False)
    except (OSError, TimeoutError, ValueError, TypeError) as error:
        raise ConnectionError(
            f"Expected a Dask scheduler at {next(iter(where.values()))}, got no answer within "
            f"{timeout:g} seconds ({type(error).__name__}: {error}). Start it with `dask "
            "scheduler`, and see that host, port, protocol (tcp, tls) and certificates (Dask's "
            "configuration) are right."
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


@lru_cache(32)  # which is said once for each
def warn_if_open_to_others(address: str) -> None:
    """Warn if rows travel over a network as they are."""
    parts = urlsplit(address)
    if parts.scheme != "tcp":
        return
    try:
        found = {info[4][0] for info in socket.getaddrinfo(parts.hostname, None)}
        here = all(ipaddress.ip_address(str(a).split("%")[0]).is_loopback for a in found)
    except OSError:
        here = False
    if not here:
        warnings.warn(
            f"The scheduler at tcp://{parts.netloc} is on another computer and its connections are "
            "not encrypted: rows can be read, and code run, by others in the network. Use tls:// "
            "unless the network is your own.",
            stacklevel=4,
        )


# ---- what travels ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Packed:
    """An object without its large arrays, their hashes in order, and these, by their hashes."""

    skeleton: bytes
    names: tuple[str, ...]
    arrays: dict[str, Array]


def pack(value: Any) -> Packed:
    """Return an object as bytes and arrays; large arrays that it holds twice are there once."""
    import cloudpickle  # which comes with Dask

    names: list[str] = []
    arrays: dict[str, Array] = {}

    def lay_aside(buffer: Any) -> bool:
        array = np.asarray(memoryview(buffer))
        if array.nbytes >= LARGE:
            names.append(_hash_of(array))
            arrays.setdefault(names[-1], array)
        return array.nbytes < LARGE  # true: in the skeleton

    skeleton = cloudpickle.dumps(value, protocol=5, buffer_callback=lay_aside)
    return Packed(skeleton, tuple(names), arrays)


def unpack(skeleton: bytes, names: Sequence[str], arrays: dict[str, Array]) -> Any:
    """Return the object; its large arrays are those given, not copies."""
    return pickle.loads(skeleton, buffers=[arrays[name] for name in names])  # noqa: S301 - our own


def _hash_of(array: Any) -> str:
    return hashlib.sha256(array).hexdigest()


@dataclass(frozen=True)
class Source:
    """A file of the user's that rows are read from, with the columns of a Parquet file."""

    path: str
    columns: tuple[str, ...] | None = None

    def read(self, dtype: str, order: Any) -> Array:
        """Return the rows; of a .npy file of the same type and order its own pages."""
        if self.columns is None:
            held = np.asarray(np.load(self.path, mmap_mode="c"))
        else:
            table = ParquetRows(self.path, list(self.columns))
            held = table[np.arange(len(table))]
        held = held.astype(dtype, order=order, copy=False)
        return held if order == "C" else held.T  # as pickle sees it

    def order_of(self, array: Array, name: str) -> str | None:
        """Return in which order the rows of the file are these, or None if they are others."""
        stat = os.stat(self.path)
        for order in "CF" if array.dtype.kind == "f" and array.ndim == 2 else "":
            key = (self, stat.st_mtime_ns, stat.st_size, array.dtype.str, order)
            if _hash_of_file(*key) == name:
                return order
        return None


@lru_cache(8)
def _hash_of_file(source: Source, changed: int, size: int, dtype: str, order: str) -> str:
    return _hash_of(source.read(dtype, order))


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
    return Source(str(path)) if path.suffix == ".npy" else as_source(ParquetRows(path))


# ---- on a worker -------------------------------------------------------------------------------

_unpacked: dict[Any, Any] = {}  # the function of the sweep in work, by the hash of its content


def _bands(task: Sweep, numbers: Sequence[int]) -> list[Any]:
    """Return the results of some bands: what a parcel of a sweep is."""
    with one_blas_thread():
        return [task.band(number) for number in numbers]


class _BadFile(RuntimeError):
    """A shared file that is absent or not what was written."""


def _work(
    key: str, contents: list[Any], files: dict[str, Any], item: bytes, names: Any, lent: list[Any]
) -> Any:
    """Return function(item): what a task of the scheduler is."""
    try:
        function = _unpacked.get(key)
        if function is None:
            (skeleton, ordered), *arrays = contents
            found = {name: _aligned(array) for name, array in arrays}
            found |= {name: _read(name, *file) for name, file in files.items()}
            function = unpack(skeleton, ordered, found)
            _unpacked.clear()
            _unpacked[key] = function
        return function(unpack(item, names, {name: _aligned(array) for name, array in lent}))
    except (OSError, MemoryError):
        raise  # which Dask tries again
    except Exception as error:
        return error  # which would come again, wherever and whenever it is tried


def _aligned(array: Array) -> Array:
    """Return an array as those of this process lie in memory.

    In a message it may begin at any byte: NumPy then does without BLAS and without vector
    instructions, which gives other bits.
    """
    if array.ctypes.data % 16 == 0 and array.flags.writeable:
        return array
    return array.copy()


def _read(name: str, source: Source, dtype: str, order: str) -> Array:
    """Return the rows in a file; pages are those of the file, and private if written to."""
    here = _distributed().get_worker().address
    try:
        array = source.read(dtype, order)
    except (OSError, ValueError, ImportError) as error:
        raise _BadFile(
            f"Expected the file {source.path} to be visible to all workers, but {here} cannot read "
            f"it ({error}). Give a folder that is shared with all of them, or leave shared= and "
            "source= out."
        ) from error
    if _hash_of(array) != name:
        raise _BadFile(
            f"Expected the rows with hash {name[:12]} in {source.path}, got others on {here}: the "
            "file is not the one that was written or read here. Give each run a folder of its own."
        )
    return array


# ---- at the client -----------------------------------------------------------------------------


class _Session:
    """What is known of the workers of a client, and what the last sweep left there."""

    def __init__(self, client: Any, same_bits: bool) -> None:
        self.client, self.same_bits = client, same_bits
        self.facts: dict[str, dict[str, Any]] = {}  # of all workers that are there
        self.begun = False  # whether some have been admitted: others are late
        self.passed_over: set[str] = set()
        self.held: dict[str, Any] = {}  # key -> future of the content

    def admit(self, patience: float) -> dict[str, dict[str, Any]]:
        """Return the workers that give the right bits; the first ones that do not raise an error.

        Those that join later and do not are left out, with a warning.
        """
        _check_open(self.client)
        try:
            self.client.wait_for_workers(1, timeout=patience)
        except TimeoutError as error:
            raise LostWorkers(
                f"Expected workers at {self.client.scheduler.address}, got none within "
                f"{patience:g} seconds. Start some, for example with `dask worker ADDRESS`; with "
                "resume= finished bands are not computed again."
            ) from error
        present = self.client.nthreads()
        new = [address for address in present if address not in self.facts]
        if new:  # one that is lost while it is asked is left out
            self.facts |= self.client.run(_facts(), workers=new, on_error="ignore")
        self.facts = {a: fact for a, fact in self.facts.items() if a in present}
        unfit = {a: self._odd(fact) for a, fact in self.facts.items() if self._odd(fact)}
        useful = {a: fact for a, fact in self.facts.items() if a not in unfit}
        if unfit and not (useful and self.begun):
            missing = [a for a in unfit if "missing" in self.facts[a]]
            self.facts.clear()  # they may be mended by the next time
            if missing:
                raise ImportError(
                    f"Expected gramsmith on every worker, got none on {_some(missing)} "
                    f"({unfit[missing[0]]}). Install the same version there."
                )
            raise RuntimeError(
                "Expected workers that give the bits of this process, got "
                f"{_some([f'{a}: {why}' for a, why in unfit.items()])}. Install the same versions, "
                "leave those workers out, or allow sums that differ in their last digits with "
                "Dask(client, same_bits=False)."
            )
        self.begun = True
        for address in unfit.keys() - self.passed_over:
            self.passed_over.add(address)
            warnings.warn(
                f"The worker {address} joined meanwhile and is passed over: {unfit[address]}. The "
                "work goes on with the others; install the same versions there to use it.",
                stacklevel=2,
            )
        return useful

    def _odd(self, fact: dict[str, Any]) -> str:
        """Return why a worker is of no use, if it is not."""
        if "missing" in fact:
            return str(fact["missing"])
        return ", ".join(differences(host(), fact["host"])) if self.same_bits else ""

    def keep(self, wanted: dict[str, Any], workers: list[str]) -> list[Any]:
        """Return futures of what all workers are to have, by keys.

        What the last sweep left there is not sent again; the rest of it may go.
        """
        there = {key: f for key, f in self.held.items() if f.status == "finished" and key in wanted}
        known = self.client.who_has(list(there.values())) if there else {}
        self.held = {key: future for key, future in there.items() if known.get(future.key)}
        missing = {key: value for key, value in wanted.items() if key not in self.held}
        if missing:
            self.held |= self.client.scatter(missing, broadcast=True, workers=workers)
        return [self.held[key] for key in wanted]


_session = lru_cache(8)(_Session)  # one for a client, whatever engines are made of it


def _check_open(client: Any, finished: int = 0) -> None:
    if client.status not in ("running", "connecting", "newly-created"):
        raise LostWorkers(
            f"The Dask client was closed after {finished} pieces of work. Make another Client; "
            "with resume= finished bands are not computed again."
        )


class _Call:
    """The pieces of work of one call: which are out, which have come back."""

    def __init__(
        self, engine: Dask, function: Callable[[Any], Any], describe: Callable[[Any], str]
    ) -> None:
        self.engine, self.client, self.describe = engine, engine.client, describe
        self.session = _session(engine.client, engine.same_bits)
        self.function = pack(function)
        content = [_hash_of(self.function.skeleton), *self.function.names]
        self.key = _hash_of(" ".join(content).encode())
        self.files: dict[str, Any] = {}
        for name, array in self.function.arrays.items():
            order = engine.source and engine.source.order_of(array, name)
            if order:
                self.files[name] = engine.source, array.dtype.str, order
            elif engine.shared is not None:
                file = Source(_write(Path(engine.shared), name, array))
                self.files[name] = file, array.dtype.str, "C"
        self.out: dict[Any, tuple[int, Any, list[Any]]] = {}  # future -> number, item, its arrays
        self.finished = 0
        self.sent_again = False  # since the last result
        self.workers = self.session.admit(engine.patience)

    def results(self, items: Iterable[Any]) -> Iterator[Any]:
        """Yield the results in order; items are taken as they are needed."""
        numbered, waiting, given, taken = enumerate(items), dict[int, Any](), 0, 0
        self._send()
        try:
            while True:
                if time.monotonic() - self.looked > LOOK:
                    self._look()
                _check_open(self.client, self.finished)
                threads = sum(int(fact["threads"]) for fact in self.workers.values())
                limit = self.engine.in_flight * max(1, threads)
                room = min(limit - len(self.out), given + AHEAD * limit - taken)
                for number, item in islice(numbered, max(0, room)):
                    self._submit(number, item)
                    taken = number + 1
                if not self.out:
                    return
                waiting |= self._receive()
                while given in waiting:
                    yield waiting.pop(given)
                    given += 1
        finally:
            if self.out and self.client.status == "running":  # an error or an interrupt
                self.client.cancel(list(self.out), force=True)

    def _send(self) -> None:
        """Send what all pieces of work need to the workers that are of use."""
        packed, self.looked = self.function, time.monotonic()
        wanted: dict[str, Any] = {f"gramsmith-{self.key}": (packed.skeleton, packed.names)}
        for name, array in packed.arrays.items():
            if name not in self.files:
                wanted[f"gramsmith-{name}"] = name, array
        self.sent_to = self.workers.keys()
        self.contents = self.session.keep(wanted, list(self.workers))

    def _submit(self, number: int, item: Any) -> None:
        packed = pack(item)
        arrays = {f"gramsmith-{name}": (name, array) for name, array in packed.arrays.items()}
        out = {future.key: future for _, _, lent in self.out.values() for future in lent}
        new = {key: array for key, array in arrays.items() if key not in out}
        out |= self.client.scatter(new, workers=list(self.workers)) if new else {}
        lent = [out[key] for key in arrays]
        future = self.client.submit(
            _work,
            self.key,
            self.contents,
            self.files,
            packed.skeleton,
            packed.names,
            lent,
            pure=False,
            retries=self.engine.retries,
            workers=list(self.workers) or None,
        )
        self.out[future] = number, item, lent

    def _receive(self) -> dict[int, Any]:
        """Return the results that have come back, by their numbers."""
        dask, results = _distributed(), {}
        try:
            with self.client.as_current():
                ready = dask.wait(list(self.out), timeout=POLL, return_when="FIRST_COMPLETED").done
            for future in ready:
                number, item, _ = self.out[future]
                if future.status == "error":
                    self._give_up(item, future.exception())
                result = future.result(timeout=self.engine.patience)
                if isinstance(result, Exception):
                    self._give_up(item, result)
                del self.out[future]
                results[number] = result
                self.sent_again = False
        except (TimeoutError, OSError, dask.CancelledError) as error:
            if not results:
                self._look(lost=isinstance(error, dask.CancelledError))
        self.finished += len(results)
        return results

    def _look(self, *, lost: bool = False) -> None:
        """Take in workers that have joined; send rows again, once, if none is left that has them.

        Dask computes again what was lost with a worker, but not what was sent.
        """
        _check_open(self.client, self.finished)
        self.looked = time.monotonic()
        if not lost:
            has_rows = self.sent_to & self.client.nthreads().keys()
            try:
                held = self.client.who_has(self.contents)
            except _distributed().CancelledError:  # forgotten with the workers that had it
                held = {}
            lost = not has_rows or not all(held.get(future.key) for future in self.contents)
        if lost and self.sent_again:
            error = _distributed().CancelledError("all workers were lost twice")
            self._give_up(next(iter(self.out.values()))[1], error)
        self.workers = self.session.admit(self.engine.patience)
        if lost:
            self.sent_again = True
            self.client.cancel(list(self.out), force=True)
            again, self.out = list(self.out.values()), {}
            self.session.held.clear()
            self._send()
            for number, item, _ in again:
                self._submit(number, item)

    def _give_up(self, item: Any, error: Any) -> None:
        """Raise an error that says which rows it was."""
        what, dask = self.describe(item), _distributed()
        if isinstance(error, _BadFile):
            raise error
        if isinstance(error, dask.KilledWorker | dask.CancelledError):
            raise RuntimeError(
                f"{what} ended every worker that tried it ({error}). See their logs; memory is the "
                "usual cause (--memory-limit, fewer threads)."
            ) from error
        tried = self.engine.retries if isinstance(error, OSError | MemoryError) else 0
        often = f" {tried + 1} times" if tried else ""
        kind = ValueError if isinstance(error, ValueError) else RuntimeError
        raise kind(f"{what} failed{often}: {type(error).__name__}: {error}") from error


def cut(numbers: Sequence[int], threads: int, most: int) -> list[Sequence[int]]:
    """Return numbers in parcels for so many threads, of at most so many."""
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
            return {**found, "host": import_module("gramsmith.gram.host").host()}
        except ImportError as error:
            return {**found, "missing": str(error)}

    return facts


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
    plan, bands = task.plan, [task.plan.bands[number] for number in numbers]
    top, bottom = plan.blocks[bands[0].row].rows.start, plan.blocks[bands[-1].row].rows.stop
    left = min(band.columns.start for band in bands)
    right = max(band.columns.stop for band in bands)
    kernels = [kernel.formula() for member in task.members for kernel in member.kernels]
    return (
        f"Bands {numbers[0]} to {numbers[-1]} (rows {top} to {bottom - 1} by {left} to "
        f"{right - 1} of {_some(kernels)})"
    )


def _some(names: list[str]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return "; ".join(names[:3]) + more
