"""Journal: finished pieces of work in a file, found again by a run that goes on with it.

    run.journal          header, then one line per finished piece; lines are only ever appended
    run.journal.bands    bands of the piece in work; emptied when it is finished

Every line begins with a hash of what follows, so that one cut off by a crash is told from a whole
one. Pieces go by a hash of what they were computed from: a run that goes on computes the same keys
and finds their values, to the last bit. Nothing in a journal is code.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import secrets
import threading
from collections.abc import Callable, Iterator, MutableMapping
from contextlib import closing, suppress
from dataclasses import dataclass, fields, is_dataclass
from functools import cached_property, partial
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, BinaryIO, NamedTuple
from weakref import WeakValueDictionary

import numpy as np
import scipy.sparse as sp

from gramsmith.arguments import abridged, as_flag
from gramsmith.gram.host import differences, host
from gramsmith.gram.plan import MIB, Band, Plan
from gramsmith.gram.sweep import BandDerivatives, BandSums

MAGIC = b"gramsmith-journal 1 "
ROOM = 64 * MIB  # of bands, or four times their sum, from which they are replaced by their sum
BAND = re.compile(rb"[0-9a-f]{0,16}|[0-9a-f]{16} \[?")  # how a file of bands begins, cut or not
KNOWN = {cls.__name__: cls for cls in (BandSums, BandDerivatives)}  # records that bands are made of

_open: WeakValueDictionary[str, Journal] = WeakValueDictionary()


class JournalError(ValueError):
    """A journal that is not one, belongs to other work, or is in use."""


class Journal(MutableMapping[str, Any]):
    """Finished pieces of work in a file.

    Parameters
    ----------
    path : path
        Taken up if it is a journal; made, if there is no such file, when the work begins.
    fresh : bool
        Begin anew: replace a journal that is there, if nobody works with it.

    Examples
    --------
    >>> import tempfile
    >>> import gramsmith as gs
    >>> X, y = [[0.0], [1.0], [3.0]], [0, 0, 1]
    >>> folder = tempfile.TemporaryDirectory()
    >>> for _ in range(2):  # the second time nothing is computed
    ...     engine = gs.Threads(resume=f"{folder.name}/run.journal")
    ...     print(
    ...         f"{gs.kta(gs.Gram('rbf', X, engine=engine), [0, 0, 1]):.4f}", engine.journal.found
    ...     )
    ...     engine.journal.close()
    0.6817 0
    0.6817 1
    >>> folder.cleanup()
    """

    def __init__(self, path: str | os.PathLike[str], *, fresh: bool = False) -> None:
        try:
            self.path = Path(path)
            sound = "\0" not in str(path)
        except TypeError:
            sound = False
        if not sound:
            raise JournalError(f"Expected the path of a journal, got {abridged(path)}.")
        fresh = as_flag("fresh", fresh)
        self.bands_path = self.path.with_name(f"{self.path.name}.bands")
        self.found = 0  # pieces that were not computed again
        self.bands_found = 0  # and bands
        self.begun = False  # whether the work was said, and is that of the file
        self._header: dict[str, Any] | None = None
        self._pieces: dict[str, Any] = {}
        self._stream: BinaryIO | None = None
        self._bands: BinaryIO | None = None
        self._places: dict[str, tuple[int, int]] = {}  # of bands: offset and length
        self._lock = threading.RLock()
        self._depth = threading.local()
        self._active = 0
        if not self.path.parent.is_dir():
            raise JournalError(
                f"Expected a folder for the journal, got {self.path.parent}. Make it first."
            )
        self._fresh = fresh and self.path.exists()
        self._check_bands()
        if self.path.exists():
            self._take_up()

    def __del__(self) -> None:
        with suppress(AttributeError):  # it may never have come to be
            self.close()

    def __deepcopy__(self, memo: dict[int, Any]) -> Journal:
        """Return itself: there is one writer of a file."""
        return self

    @staticmethod
    def is_one(path: str | os.PathLike[str]) -> bool:
        """Return whether a file begins as journals do.

        Parameters
        ----------
        path : path
        """
        if not Path(path).is_file():  # opening a pipe would wait for a writer
            return False
        with open(path, "rb") as stream:
            return stream.read(len(MAGIC)) == MAGIC

    # ---- the header ------------------------------------------------------------------------

    def begin(self, work: dict[str, Any]) -> None:
        """Say what the work is, before any piece of it; only the first call counts.

        Parameters
        ----------
        work : dict of str -> plain values
            By which the same work is known again, such as hashes of data and kernels.
        """
        with self._lock:
            if self.begun:
                return
            header = {"host": host(), "work": _plain(work)}
            if self._header is None:
                self._create(header)
            odd = differences(_flat(self._header or header), _flat(header))
            if odd:
                self.close()
                raise JournalError(
                    f"Expected the work that {self.path} belongs to, got other: {'; '.join(odd)}. "
                    "Use the same data, kernels and versions, or another file."
                )
            self.begun = True

    def _create(self, header: dict[str, Any]) -> None:
        """Make the file, with its header, in one step."""
        temporary = self.path.with_name(f".{self.path.name}.{secrets.token_hex(4)}.tmp")
        try:
            stream = open(temporary, "x+b")
            _lock_file(stream, self.path)
            stream.write(MAGIC + _line(header))
            stream.flush()
            os.fsync(stream.fileno())
            if self._fresh:
                os.replace(temporary, self.path)
            else:
                os.link(temporary, self.path)  # which fails if another run was quicker
        except FileExistsError as error:
            stream.close()
            raise JournalError(
                f"Expected {self.path} for this run alone, got a file that another one has just "
                "made. Use another file."
            ) from error
        except OSError as error:
            raise JournalError(
                f"Expected a journal that can be written, got {self.path}: {error.strerror}."
            ) from error
        finally:
            temporary.unlink(missing_ok=True)
        self._stream, self._header = stream, header
        self._forget_bands()
        for left in self.path.parent.glob(f".{self.path.name}.*.tmp"):  # of a killed run
            left.unlink(missing_ok=True)

    def _take_up(self) -> None:
        """Read what the file holds; it is written to only once it is known to be ours."""
        if not self.is_one(self.path):
            raise JournalError(
                f"Expected a journal of gramsmith, got {self.path}, which is another kind of "
                "file and stays as it is. Name another file."
            )
        stream = open(self.path, "r+b")
        try:
            _lock_file(stream, self.path)
            if self._fresh:
                return  # whoever replaces it has seen that nobody uses it
            stream.seek(len(MAGIC))
            end = len(MAGIC)
            for number, line in enumerate(stream):
                value = _parsed(line)
                if value is None:
                    break  # cut off by a crash, or spoilt: what follows is computed again
                end += len(line)
                if number == 0:
                    self._header = value
                else:
                    self._pieces[value[0]] = value[1]
            if self._header is None:
                raise JournalError(
                    f"Expected a journal with a header, got {self.path}, which is damaged. Remove "
                    "it, or name another file."
                )
            stream.seek(end)
            stream.truncate()
        except BaseException:
            stream.close()
            raise
        finally:
            if self._fresh:
                stream.close()
        self._stream = stream
        self._read_bands()

    # ---- pieces ----------------------------------------------------------------------------

    def __getitem__(self, key: str) -> Any:
        return _decoded(self._pieces[key])

    def __setitem__(self, key: str, value: Any) -> None:
        try:
            coded = _encoded(value)
        except TypeError:  # no plain value: it is computed again
            return
        with self._lock:
            if self._stream is None:
                self.begin({})
            self._pieces[key] = coded
            _append(_of(self._stream), _line([key, coded]))

    def __delitem__(self, key: str) -> None:
        raise TypeError("Expected pieces to be added only: a journal forgets nothing.")

    def __iter__(self) -> Iterator[str]:
        return iter(self._pieces)

    def __len__(self) -> int:
        return len(self._pieces)

    def once(self, key: str, compute: Callable[[], Any]) -> Any:
        """Return the value of a piece, computed now unless an earlier run has done so.

        Pieces within a piece are kept until it is finished.

        Parameters
        ----------
        key : str
        compute : callable
        """
        with self._lock:
            if key in self._pieces:
                self.found += 1
                return self[key]
            if key in self._places:
                self.found += 1
                return self.band(key)
            self._active += 1
            depth = self._depth.value = getattr(self._depth, "value", 0) + 1
        try:
            value = compute()
        finally:
            with self._lock:
                self._active -= 1
                self._depth.value = depth - 1
        with self._lock:
            if depth > 1:
                self.keep_band(key, value)
            else:
                self[key] = value
                if not self._active:  # no other thread is in the middle of something
                    self._forget_bands()
        return value

    # ---- bands -----------------------------------------------------------------------------

    def has_band(self, key: str) -> bool:
        """Return whether a band is there."""
        return key in self._places

    def band(self, key: str) -> Any:
        """Return a band."""
        offset, length = self._places[key]
        with self._lock:
            stream = _of(self._bands)
            stream.seek(offset)
            line = stream.read(length)
            stream.seek(0, os.SEEK_END)
        return _decoded(_parsed(line)[1])

    def keep_band(self, key: str, value: Any) -> None:
        """Append a band to what the piece in work has."""
        if key in self._places:
            return
        try:
            line = _line([key, _encoded(value)])
        except TypeError:
            return
        with self._lock:
            if key in self._places or self._stream is None:
                return
            if self._bands is None:
                self._bands = open(self.bands_path, "x+b")  # nobody else's, and no link
            offset = self._bands.tell()
            _append(self._bands, line, sync=False)
            self._places[key] = offset, len(line)

    def replace_bands(self, key: str, value: Any, gone: Callable[[str], bool]) -> None:
        """Put a sum in the place of the bands that it is made of, if these take too much room.

        Parameters
        ----------
        key : str
        value : the sum
        gone : callable
            Says of a key whether the sum stands for it.
        """
        with self._lock:
            if self._bands is None or self._bands.tell() < ROOM:
                return
            line = _line([key, _encoded(value)])
            if self._bands.tell() < 4 * len(line):
                return
            name = f".{self.path.name}.{secrets.token_hex(4)}.tmp"
            temporary = self.bands_path.with_name(name)
            fresh = open(temporary, "x+b")
            places = {key: (0, len(line))}
            fresh.write(line)
            for other, (offset, length) in self._places.items():
                if other != key and not gone(other):
                    self._bands.seek(offset)
                    places[other] = fresh.tell(), length
                    fresh.write(self._bands.read(length))
            fresh.flush()
            os.replace(temporary, self.bands_path)
            self._bands.close()
            self._bands, self._places = fresh, places

    def _check_bands(self) -> None:
        """Raise if somebody else's file, or a link to one, stands where bands will be."""
        if not os.path.lexists(self.bands_path):
            return
        ours = self.bands_path.is_file() and not self.bands_path.is_symlink()
        if ours:
            with open(self.bands_path, "rb") as stream:
                first = stream.read(18)
            ours = BAND.fullmatch(first) is not None
        if not ours:
            raise JournalError(
                f"Expected {self.bands_path} to be free for the bands of {self.path}, got another "
                "file there, which stays as it is. Name another journal."
            )

    def _read_bands(self) -> None:
        """Find the bands that a killed run has left."""
        if not self.bands_path.exists():
            return
        self._bands = stream = open(self.bands_path, "r+b")
        offset = 0
        for line in stream:
            value = _parsed(line)
            if value is None:
                break
            self._places[value[0]] = offset, len(line)
            offset += len(line)
        stream.seek(offset)
        stream.truncate()

    def _forget_bands(self) -> None:
        self._places.clear()
        if self._bands is not None:
            self._bands.close()
            self._bands = None
        self.bands_path.unlink(missing_ok=True)

    def close(self, *, remove: bool = False) -> None:
        """Let others use the file, or remove it: the work is done.

        Parameters
        ----------
        remove : bool
        """
        with self._lock:
            if remove and (self._stream is not None):
                self._forget_bands()
                self.path.unlink(missing_ok=True)
            for stream in (self._bands, self._stream):
                if stream is not None:
                    stream.close()
            self._bands = self._stream = None
            self.begun = False
            _open.pop(str(self.path.resolve()), None)


def open_journal(given: Any) -> Journal | None:
    """Return the journal of a path, one and the same in this process, or what was given.

    Parameters
    ----------
    given : path, Journal or None
    """
    if given is None or isinstance(given, Journal):
        return given
    key = str(Path(given).resolve())
    journal = _open.get(key)
    if journal is None:
        journal = _open[key] = Journal(given)
    return journal


def fingerprint(*values: Any) -> str:
    """Return a hash of values: arrays, kernels with their parameters, records of them.

    Examples
    --------
    >>> fingerprint(np.arange(3), "a") == fingerprint(np.arange(3), "a")
    True
    >>> fingerprint(1.0) == fingerprint(1)
    False
    """
    return _digest(values, {}, ()).hex()[:32]


class _Inner(NamedTuple):
    """A part of a value that has a digest of its own."""

    value: Any


PLAIN = str | bytes | int | float | complex | None | np.generic | slice | range


def _digest(value: Any, known: dict[int, tuple[Any, bytes]], inside: tuple[int, ...]) -> bytes:
    """Return a hash of a value.

    `known` has those of its parts so far, each with the part, so that no other takes its number;
    `inside` the numbers of what it is a part of: a function may call itself.
    """
    me = id(value)
    if me in inside:
        return f"<{inside.index(me)}>".encode()
    if me in known:
        return known[me][1]
    found = hashlib.sha256(f"<{type(value).__module__}.{type(value).__qualname__}".encode())
    if isinstance(value, PLAIN):
        found.update(repr(value).encode())
        return found.digest()
    for part in _parts(value):
        if isinstance(part, _Inner):
            found.update(_digest(part.value, known, (*inside, me)))
        else:
            found.update(part)
    known[me] = value, found.digest()
    return known[me][1]


def _parts(value: Any) -> Iterator[bytes | memoryview | _Inner]:
    """Yield what makes a value what it is."""
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        yield f" {value.dtype.str} {value.shape} ".encode()
        # as bytes: dates and times have no buffer
        yield np.ascontiguousarray(value).view(np.uint8).data.cast("B") if value.size else b""
    elif isinstance(value, ModuleType):
        yield f"{value.__name__} {getattr(value, '__version__', '')}".encode()
    elif isinstance(value, type | np.dtype) or (callable(value) and hasattr(value, "__qualname__")):
        names = [str(getattr(value, name, value)) for name in ("__module__", "__qualname__")]
        yield ".".join(names).encode()
        if not isinstance(value, type | np.dtype):
            yield _Inner(_function_state(value))
    elif isinstance(value, CodeType):
        yield value.co_code
        yield _Inner((value.co_names, value.co_consts))
    elif isinstance(value, list | tuple | np.ndarray):
        yield from map(_Inner, value)
    elif isinstance(value, dict):
        for key in sorted(value, key=repr):
            yield from (repr(key).encode(), _Inner(value[key]))
    elif isinstance(value, set | frozenset):
        yield repr(sorted(value, key=repr)).encode()
    elif is_dataclass(value):
        yield _Inner({f.name: getattr(value, f.name) for f in fields(value)})
    elif hasattr(value, "get_params"):
        yield _Inner(value.get_params(deep=False))
    else:
        yield _Inner(_object_state(value))


def _object_state(value: Any) -> Any:
    """Return plain values that tell an object of another library from others."""
    if sp.issparse(value):
        rows = value.tocsr()
        return rows.shape, rows.data, rows.indices, rows.indptr
    if isinstance(value, partial):
        return value.func, value.args, value.keywords
    if isinstance(value, np.random.Generator):
        return value.bit_generator.state
    if isinstance(value, np.random.RandomState):
        return value.get_state(legacy=False)
    if hasattr(value, "to_pydict"):  # of Arrow
        return value.to_pydict()
    if hasattr(value, "to_numpy"):  # frames, series, indexes
        names = [str(getattr(value, name, None)) for name in ("name", "columns")]
        index: Any = getattr(value, "index", None)
        return names, index.to_numpy() if hasattr(index, "to_numpy") else None, value.to_numpy()
    state = getattr(value, "__dict__", None)
    if state is not None:
        return dict(state)
    text = repr(value)
    return None if " at 0x" in text else text  # an address is another one in the next process


def _function_state(function: Any) -> dict[str, Any]:
    """Return what a function does and what it brings along: defaults, closure, its object."""
    names = ("__code__", "__defaults__", "__kwdefaults__", "__self__")
    found = {name: getattr(function, name, None) for name in names}
    if isinstance(found["__self__"], ModuleType):  # of compiled functions
        del found["__self__"]
    cells = getattr(function, "__closure__", None) or ()
    return {**found, "__closure__": [_content(cell) for cell in cells]}


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # nothing in it yet
        return None


# ---- sweeps ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Part(Plan):
    """Some of the bands of a plan."""

    chosen: tuple[Band, ...] = ()

    @property
    def bands(self) -> tuple[Band, ...]:
        """Those that are left."""
        return self.chosen


@dataclass(frozen=True)
class Rest:
    """The bands of a task that are not in the journal yet: a task for an engine."""

    task: Any
    key: str
    numbers: tuple[int, ...]
    journal: Journal | None

    @cached_property
    def plan(self) -> Plan:
        """The bands that are left."""
        plan = self.task.plan
        return _Part(
            plan.blocks, plan.compiled, plan.features, tuple(plan.bands[i] for i in self.numbers)
        )

    @property
    def worker_bytes(self) -> int:
        """As of the whole task."""
        return int(self.task.worker_bytes)

    @property
    def band_bytes(self) -> int:
        """As of the whole task."""
        return int(self.task.band_bytes)

    @property
    def members(self) -> Any:
        """The kernels."""
        return self.task.members

    @property
    def probe(self) -> Any:
        """The probe."""
        return self.task.probe

    def band(self, number: int) -> Any:
        """Return a band, which is in the journal by then if it was computed in this process."""
        part = self.task.band(self.numbers[number])
        self.arrived(number, part)
        return part

    def arrived(self, number: int, part: Any) -> None:
        """Write a band into the journal."""
        if self.journal is not None:
            self.journal.keep_band(f"{self.key}/{self.numbers[number]}", part)

    def __getstate__(self) -> dict[str, Any]:
        """Return what travels: the journal stays."""
        return {"task": self.task, "key": self.key, "numbers": self.numbers, "journal": None}


def sum_bands(
    journal: Journal, run: Callable[[Any], Iterator[Any]], task: Any, told: Callable[[int], None]
) -> Any:
    """Return the sum of all bands of a task; those in the journal are not computed again.

    Parameters
    ----------
    journal : Journal
    run : callable
        An engine's.
    task : Task
    told : callable
        Called with the number of every band that was added.
    """
    if getattr(task, "kept", None) is not None:
        raise ValueError("Expected a task that leaves no tiles behind.")
    journal.begin(
        {
            "data": fingerprint([member.whole for member in task.members]),
            "kernels": [kernel.formula() for m in task.members for kernel in m.kernels],
            "kernel parameters": fingerprint([m.kernels for m in task.members]),
            "plan": fingerprint(task.plan),
            "rows": sum(block.size for block in task.plan.blocks),
        }
    )
    key = fingerprint(task)

    def compute() -> Any:
        start, total = 0, task.start()
        if journal.has_band(f"{key}/sum"):
            start, total = journal.band(f"{key}/sum")
        count = len(task.plan.bands)
        left = tuple(i for i in range(start, count) if not journal.has_band(f"{key}/{i}"))
        journal.bands_found += count - len(left)
        with closing(run(Rest(task, key, left, journal))) as parts:  # type: ignore[type-var]
            missing = frozenset(left)
            for number in range(count):
                if number >= start:
                    part = next(parts) if number in missing else journal.band(f"{key}/{number}")
                    journal.keep_band(f"{key}/{number}", part)
                    task.add(total, number, part)
                    journal.replace_bands(f"{key}/sum", (number + 1, total), _up_to(key, number))
                told(number)
        return total

    return journal.once(key, compute)


def _up_to(key: str, last: int) -> Callable[[str], bool]:
    """Return a function that tells the bands of a task up to one of them from others."""

    def told(other: str) -> bool:
        task, _, number = other.partition("/")
        return task == key and number.isdigit() and int(number) <= last

    return told


# ---- lines -------------------------------------------------------------------------------------


def _line(value: Any) -> bytes:
    body = json.dumps(value, separators=(",", ":")).encode()
    return hashlib.sha256(body).hexdigest()[:16].encode() + b" " + body + b"\n"


def _parsed(line: bytes) -> Any:
    """Return what a line says, or None if it is not whole."""
    if not line.endswith(b"\n") or line[:16] != _line_hash(line):
        return None
    return json.loads(line[17:])


def _line_hash(line: bytes) -> bytes:
    return hashlib.sha256(line[17:-1]).hexdigest()[:16].encode()


def _of(stream: BinaryIO | None) -> BinaryIO:
    if stream is None:
        raise JournalError("Expected an open journal, got one that was closed.")
    return stream


def _append(stream: BinaryIO, line: bytes, *, sync: bool = True) -> None:
    stream.write(line)
    stream.flush()  # what a killed process has handed to the system is written all the same
    if sync:
        os.fsync(stream.fileno())


def _encoded(value: Any) -> Any:
    """Return a value as JSON has it; arrays and tuples are marked."""
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        by_columns = value.flags.f_contiguous and not value.flags.c_contiguous
        order = "F" if by_columns else "C"
        data = base64.b64encode((value.T if by_columns else value).tobytes()).decode()
        return {"array": [value.dtype.str, list(value.shape), order, data]}
    if isinstance(value, np.generic):
        return {"scalar": _encoded(np.asarray(value))}
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, list):
        return [_encoded(item) for item in value]
    if isinstance(value, tuple):
        return {"tuple": [_encoded(item) for item in value]}
    if isinstance(value, dict):
        return {"dict": [[_encoded(key), _encoded(item)] for key, item in value.items()]}
    if type(value).__name__ in KNOWN:
        parts = [_encoded(getattr(value, f.name)) for f in fields(value)]
        return {"record": [type(value).__name__, parts]}
    raise TypeError(f"Expected plain values and arrays in a journal, got {type(value).__name__}.")


def _decoded(value: Any) -> Any:
    if isinstance(value, list):
        return [_decoded(item) for item in value]
    if not isinstance(value, dict):
        return value
    ((kind, content),) = value.items()
    if kind == "array":
        dtype, shape, order, data = content
        flat = np.frombuffer(bytearray(base64.b64decode(data)), np.dtype(dtype))
        return flat.reshape(shape, order=order)
    if kind == "scalar":
        return _decoded(content)[()]
    if kind == "tuple":
        return tuple(_decoded(item) for item in content)
    if kind == "dict":
        return {_decoded(key): _decoded(item) for key, item in content}
    name, parts = content
    return KNOWN[name](*(_decoded(part) for part in parts))


def _plain(value: Any) -> Any:
    return json.loads(json.dumps(value, default=str))


def _flat(header: dict[str, Any]) -> dict[str, str]:
    """Return a header as text by names."""
    return {
        k: v if isinstance(v, str) else json.dumps(v) for p in header.values() for k, v in p.items()
    }


def _lock_file(stream: BinaryIO, path: Path) -> None:
    """Let this process alone write a file, as long as it is open; a killed one lets go."""
    try:
        if os.name == "nt":
            import msvcrt

            stream.seek(0)
            msvcrt.locking(stream.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        else:
            import fcntl

            fcntl.flock(stream.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        stream.close()
        raise JournalError(
            f"Expected a journal that nobody else writes, got {path}, which another run is at work "
            "with. Wait for it, or name another file."
        ) from error
