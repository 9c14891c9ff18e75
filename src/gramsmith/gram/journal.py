"""Journal: finished pieces of work in an SQLite file, found again by a run that goes on with it.

    header    what the work is, and on which kind of host: other work is refused
    pieces    key, the value as JSON, and whether the piece is finished or a part of one in work
    arrays    the arrays of the values, in blocks

Pieces go by a hash of what they were computed from (`fingerprint`): a run that goes on computes the
same keys and finds their values, to the last bit. Nothing in a journal is code.
"""

from __future__ import annotations

import json
import os
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, MutableMapping
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from gramsmith.arguments import abridged, as_flag
from gramsmith.gram.host import differences, host
from gramsmith.gram.plan import MIB

APPLICATION = 0x67724A31  # "grJ1": whose file it is, bytes 68 to 72 of SQLite's header
BLOCK = 16 * MIB  # of an array in one row: SQLite takes at most a gigabyte, and copies it
TABLES = """
    CREATE TABLE IF NOT EXISTS header (text TEXT);
    CREATE TABLE IF NOT EXISTS pieces (key TEXT PRIMARY KEY, finished INTEGER, value TEXT);
    CREATE TABLE IF NOT EXISTS arrays
        (key TEXT, number INTEGER, data BLOB, PRIMARY KEY (key, number));
"""
BESIDE = ("-wal", "-journal")  # files that SQLite keeps beside a database

_open: WeakValueDictionary[str, Journal] = WeakValueDictionary()  # of this process, by their paths


class JournalError(ValueError):
    """Raised for a file that is no journal, belongs to other work, or is in use."""


class Journal(MutableMapping[str, Any]):
    """Finished pieces of work in a file.

    Parameters
    ----------
    path : path
        Taken up if it is a journal; made, if there is no such file, when the work begins.
    fresh : bool, default=False
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
        self._fresh = as_flag("fresh", fresh)
        self.found = 0  # pieces that were not computed again
        self.bands_found = 0  # and bands
        self.begun = False  # whether the work was said, and is that of the file
        self._db: sqlite3.Connection | None = None
        self._parent: int | None = None  # in a forked child: the process that goes on with it
        self._lock = threading.RLock()
        self._depth = threading.local()
        self._active = 0  # pieces in work
        if not self.path.parent.is_dir():
            raise JournalError(
                f"Expected a folder for the journal, got {self.path.parent}. Make it first."
            )
        for beside in (self.path.with_name(self.path.name + ending) for ending in BESIDE):
            # a link, or a file without the journal that it would belong to, is somebody else's
            if beside.is_symlink() or (beside.exists() and not self.path.exists()):
                raise JournalError(
                    f"Expected {beside} to be free for what belongs to {self.path}, got another "
                    "file there, which stays as it is. Name another journal."
                )
        if self._is_there():
            self._connection()

    def __del__(self) -> None:
        with suppress(AttributeError):  # it may never have come to be
            self.close()

    def __deepcopy__(self, memo: dict[int, Any]) -> Journal:
        """Return itself: there is one writer of a file."""
        return self

    @staticmethod
    def is_one(path: str | os.PathLike[str]) -> bool:
        """Return whether a file is a journal."""
        if str(Path(path).resolve()) in _open:  # closing the file would let go of its lock
            return True
        if not Path(path).is_file():  # opening a pipe would wait for a writer
            return False
        with open(path, "rb") as stream:
            first = stream.read(72)
        return first.startswith(b"SQLite format 3\0") and first[68:] == APPLICATION.to_bytes(4)

    # ---- the file --------------------------------------------------------------------------

    def _is_there(self) -> bool:
        """Return whether there is a file with something in it."""
        return os.path.lexists(self.path) and not (
            self.path.is_file() and self.path.stat().st_size == 0
        )

    def _connection(self) -> sqlite3.Connection:
        """Return the file, opened for this process alone; a killed one lets go of it."""
        if self._db is not None:
            return self._db
        name = str(self.path.resolve())
        if _open.get(name, self) is not self or self._parent == os.getppid():
            raise self._in_use()
        if self._is_there() and not self.is_one(self.path):
            raise JournalError(
                f"Expected a journal of gramsmith, got {self.path}, which is another kind of "
                "file and stays as it is. Name another file."
            )
        with self._explained():
            db = sqlite3.connect(self.path, 0, isolation_level=None, check_same_thread=False)
            try:
                db.execute("PRAGMA locking_mode = EXCLUSIVE")
                db.execute("BEGIN EXCLUSIVE")
                db.execute(f"PRAGMA application_id = {APPLICATION}")
                db.execute("COMMIT")
                # what a killed process has written is there; a power cut may take the last pieces
                db.execute("PRAGMA journal_mode = WAL")
                db.execute("PRAGMA synchronous = NORMAL")
                db.executescript(TABLES)
            except BaseException:
                db.close()
                raise
        _open[name] = self
        self._db = db
        return db

    def _in_use(self) -> JournalError:
        return JournalError(
            f"Expected a journal that nobody else writes, got {self.path}, which another run is at "
            "work with. Wait for it, or name another file."
        )

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Say of SQLite's errors what they mean for a journal."""
        try:
            yield
        except sqlite3.DatabaseError as error:
            name = getattr(error, "sqlite_errorname", "")
            if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
                raise self._in_use() from error
            if name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
                raise JournalError(
                    f"Expected a whole journal, got {self.path}, which is damaged. Remove it, or "
                    "name another file."
                ) from error
            raise JournalError(
                f"Expected a journal that can be written, got {self.path}: {error}."
            ) from error

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """Lend the file for changes that are written together or not at all."""
        with self._lock, self._explained():
            db = self._connection()
            db.execute("BEGIN")
            try:
                yield db
                db.execute("COMMIT")
            except BaseException:
                db.execute("ROLLBACK")
                raise

    def _select(self, query: str, *given: Any) -> list[Any]:
        with self._lock, self._explained():
            if self._fresh or (self._db is None and not self._is_there()):
                return []
            return self._connection().execute(query, given).fetchall()

    def begin(self, work: dict[str, Any]) -> None:
        """Say what the work is, before any piece of it; only the first call counts."""
        with self._lock:
            if self.begun:
                return
            header = json.loads(json.dumps({"host": host(), "work": work}, default=str))
            known = self._select("SELECT text FROM header")
            if not known:
                with self._writing() as db:
                    for clear in ("header", "pieces", "arrays"):
                        db.execute(f"DELETE FROM {clear}")  # noqa: S608 - our own names
                    db.execute("INSERT INTO header VALUES (?)", [json.dumps(header)])
                self._fresh = False
            else:
                odd = differences(_flat(json.loads(known[0][0])), _flat(header))
                if odd:
                    self.close()
                    raise JournalError(
                        f"Expected the work that {self.path} belongs to, got other: "
                        f"{'; '.join(odd)}. Use the same data, kernels and versions, or another "
                        "file."
                    )
            self.begun = True

    def close(self, *, remove: bool = False) -> None:
        """Let others use the file, or remove it: the work is done."""
        with self._lock:
            ours = self._db is not None
            if self._db is not None:
                self._db.close()
                self._db = None
                _open.pop(str(self.path.resolve()), None)
            self.begun = False
            if remove and ours:
                self.path.unlink(missing_ok=True)

    # ---- pieces ----------------------------------------------------------------------------

    def __contains__(self, key: object) -> bool:
        return bool(self._select("SELECT 1 FROM pieces WHERE key = ? AND finished", key))

    def __getitem__(self, key: str) -> Any:
        found = self._select("SELECT value FROM pieces WHERE key = ?", key)
        if not found:
            raise KeyError(key)
        return self._decoded(key, json.loads(found[0][0]))

    def __setitem__(self, key: str, value: Any) -> None:
        self._write(key, value, finished=True)

    def __delitem__(self, key: str) -> None:
        with self._writing() as db:
            self._delete(db, [key])

    def __iter__(self) -> Iterator[str]:
        return (key for (key,) in self._select("SELECT key FROM pieces WHERE finished"))

    def __len__(self) -> int:
        return len(list(iter(self)))

    def has_part(self, key: str) -> bool:
        """Return whether a piece, or a part of one in work, is there."""
        return bool(self._select("SELECT 1 FROM pieces WHERE key = ?", key))

    def keep_part(self, key: str, value: Any, *, instead: Iterable[str] = ()) -> int:
        """Keep a part of the piece in work until that is finished; return the bytes written."""
        return self._write(key, value, finished=False, instead=instead)

    def once(self, key: str, compute: Callable[[], Any]) -> Any:
        """Return the value of a piece, computed now unless an earlier run has done so.

        Pieces within a piece are kept until it is finished.
        """
        with self._lock:
            if self.has_part(key):
                self.found += 1
                return self[key]
            self._active += 1
            depth = self._depth.value = getattr(self._depth, "value", 0) + 1
        try:
            value = compute()
        finally:
            with self._lock:
                self._active -= 1
                self._depth.value = depth - 1
        with self._lock:
            self._write(key, value, finished=depth == 1)
            if depth == 1 and not self._active:  # no other thread is in the middle of something
                parts = self._select("SELECT key FROM pieces WHERE NOT finished")
                with self._writing() as db:
                    self._delete(db, [part for (part,) in parts])
        return value

    def _write(self, key: str, value: Any, *, finished: bool, instead: Iterable[str] = ()) -> int:
        """Write a value instead of others; one that is not plain is not, and is computed again."""
        arrays: list[np.ndarray[Any, Any]] = []
        try:
            coded = json.dumps(_encoded(value, arrays))
        except TypeError:
            return 0
        with self._lock:
            self.begin({})
            with self._writing() as db:
                self._delete(db, [key, *instead])
                db.execute("INSERT INTO pieces VALUES (?, ?, ?)", (key, finished, coded))
                blocks = (block for array in arrays for block in _blocks(array))
                rows = ((key, number, block) for number, block in enumerate(blocks))
                db.executemany("INSERT INTO arrays VALUES (?, ?, ?)", rows)
        return len(coded) + sum(array.nbytes for array in arrays)

    @staticmethod
    def _delete(db: sqlite3.Connection, keys: Iterable[str]) -> None:
        for key in keys:
            db.execute("DELETE FROM pieces WHERE key = ?", [key])
            db.execute("DELETE FROM arrays WHERE key = ?", [key])

    def _decoded(self, key: str, coded: Any) -> Any:
        """Return a value from JSON and the arrays of its piece."""
        decoded = partial(self._decoded, key)
        if isinstance(coded, list):
            return [decoded(item) for item in coded]
        if not isinstance(coded, dict):
            return coded
        ((kind, content),) = coded.items()
        if kind == "array":
            dtype, shape, order, first, count = content
            data = bytearray()
            for number in range(first, first + count):
                query = "SELECT data FROM arrays WHERE key = ? AND number = ?"
                data += self._select(query, key, number)[0][0]
            return np.frombuffer(data, np.dtype(dtype)).reshape(shape, order=order)
        if kind == "scalar":
            return decoded(content)[()]
        if kind == "tuple":
            return tuple(decoded(item) for item in content)
        return {decoded(name): decoded(item) for name, item in content}


def open_journal(given: Any) -> Journal | None:
    """Return the journal of a path, one and the same in this process, or what was given."""
    if given is None or isinstance(given, Journal):
        return given
    name = str(Path(given).resolve())
    journal = _open.get(name)
    if journal is None:
        journal = _open[name] = Journal(given)
    return journal


# A connection of SQLite must not cross a fork: it is closed before, and opened anew afterwards, at
# once in the parent, which goes on, and in the child when it is asked for and the parent has ended.
_across_fork: list[tuple[Journal, bool]] = []


def _before_fork() -> None:
    for journal in list(_open.values()):
        locked = journal._lock.acquire(timeout=1.0)
        if locked and journal._db is not None:
            journal._db.close()
            journal._db = None
        _across_fork.append((journal, locked))


def _after_fork_in_parent() -> None:
    while _across_fork:
        journal, locked = _across_fork.pop()
        if locked:
            journal._connection()
            journal._lock.release()


def _after_fork_in_child() -> None:
    while _across_fork:
        journal, _ = _across_fork.pop()
        journal._lock, journal._parent = threading.RLock(), os.getppid()
    _open.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork,
        after_in_parent=_after_fork_in_parent,
        after_in_child=_after_fork_in_child,
    )


# ---- values ------------------------------------------------------------------------------------


def _encoded(value: Any, arrays: list[np.ndarray[Any, Any]]) -> Any:
    """Return a value as JSON has it; its arrays go to a list and are named by their blocks."""
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        order = "F" if value.flags.f_contiguous and not value.flags.c_contiguous else "C"
        first = sum(-(-array.nbytes // BLOCK) for array in arrays)
        arrays.append(value.T if order == "F" else value)
        return {"array": [value.dtype.str, value.shape, order, first, -(-value.nbytes // BLOCK)]}
    coded = partial(_encoded, arrays=arrays)
    if isinstance(value, np.generic):
        return {"scalar": coded(np.asarray(value))}
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, list):
        return [coded(item) for item in value]
    if isinstance(value, tuple):
        return {"tuple": [coded(item) for item in value]}
    if isinstance(value, dict):
        return {"dict": [[coded(key), coded(item)] for key, item in value.items()]}
    raise TypeError(f"Expected plain values and arrays in a journal, got {type(value).__name__}.")


def _blocks(array: np.ndarray[Any, Any]) -> Iterator[memoryview]:
    flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    return (flat[start : start + BLOCK].data for start in range(0, flat.nbytes, BLOCK))


def _flat(header: dict[str, Any]) -> dict[str, str]:
    """Return a header as text by names."""
    return {
        k: v if isinstance(v, str) else json.dumps(v) for p in header.values() for k, v in p.items()
    }
