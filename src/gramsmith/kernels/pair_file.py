"""Values of a function of two samples in an SQLite file, for other processes and later runs.

One table: a hash of the function and of both samples, in either order, and the value. Any number
of threads and processes may read and write. A value is in the file at most half a second after it
is known, and a process that is killed leaves a whole file.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from math import isfinite
from pathlib import Path
from time import monotonic
from typing import Any

from gramsmith.arguments import abridged
from gramsmith.fingerprint import fingerprint

APPLICATION = 0x67725031  # "grP1": whose file it is
WAIT = 60.0  # seconds in which another process may write
UNWRITTEN = 0.5  # seconds of computing that a killed process may lose


class PairFile:
    """The values of one function in a file.

    A value is known by the code of the function, its defaults, what it closes over, the
    attributes of an object that is called, and the two samples.
    """

    def __init__(self, path: Any, function: Any) -> None:
        if not isinstance(path, str | os.PathLike) or "\0" in str(path):
            raise TypeError(f"Expected the path of a file as cache, got {abridged(path)}.")
        self.path = Path(path).absolute()
        if not self.path.parent.is_dir():
            raise ValueError(
                f"Expected a folder for the cache, got {self.path.parent}. Make it first."
            )
        self.function = function
        self.name = _name(function)
        with self.opened():
            pass  # a file that is none of ours is refused before anything is computed

    @contextmanager
    def opened(self) -> Iterator[OpenPairs]:
        """Lend the file; values that were put into it are there at the end, even of a failure."""
        self.check_function()
        with self.explained():
            db = sqlite3.connect(self.path, WAIT)
        with closing(db):
            with self.explained():
                self._prepare(db)
            pairs = OpenPairs(self, db)
            try:
                yield pairs
            finally:
                pairs.write()

    def check_function(self) -> None:
        """Refuse a function that is no longer the one by which values are known."""
        if _name(self.function) != self.name:
            raise ValueError(
                f"Expected a function that stays the same, got {abridged(self.function)}, whose "
                f"attributes or enclosed variables have changed: values in {self.path} are known "
                "by them. Keep counters in global variables, give an object get_params() that "
                "returns what its values depend on, or call as_kernel again with other parameters."
            )

    def _prepare(self, db: sqlite3.Connection) -> None:
        if db.execute("PRAGMA application_id").fetchone()[0] == APPLICATION:
            return
        db.execute("BEGIN IMMEDIATE")  # another process may be making the same file
        with db:
            ours = db.execute("PRAGMA application_id").fetchone()[0] == APPLICATION
            if not ours and db.execute("SELECT 1 FROM sqlite_master").fetchone():
                raise self._of_others()
            db.execute(f"PRAGMA application_id = {APPLICATION}")
            db.execute(
                "CREATE TABLE IF NOT EXISTS pairs (key BLOB PRIMARY KEY, value REAL NOT NULL) "
                "WITHOUT ROWID"
            )

    def _of_others(self) -> ValueError:
        return ValueError(
            f"Expected a cache of pairs, got {self.path}, which is another kind of file or damaged "
            "and stays as it is. Name another file."
        )

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Say of SQLite's errors what they mean for the file."""
        try:
            yield
        except sqlite3.DatabaseError as error:
            name = getattr(error, "sqlite_errorname", "")
            if name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
                raise self._of_others() from error
            raise OSError(
                f"Expected a cache that can be read and written, got {self.path}: {error}. What "
                "was written stays; go on when there is room and access, or name another file."
            ) from error


class OpenPairs:
    """An open file of pairs: read one by one, written together now and then."""

    def __init__(self, file: PairFile, db: sqlite3.Connection) -> None:
        self.file, self.db = file, db
        self._new: dict[bytes, float] = {}
        self._written = monotonic()

    def key(self, x: str, z: str) -> bytes:
        """Return the key of a pair of samples with these fingerprints, in either order."""
        text = " ".join([self.file.name, *sorted((x, z))])
        return hashlib.sha256(text.encode()).digest()[:16]

    def get(self, key: bytes) -> float | None:
        """Return a value, None where nobody has computed it."""
        with self.file.explained():
            row = self.db.execute("SELECT value FROM pairs WHERE key = ?", [key]).fetchone()
        return None if row is None else float(row[0])

    def put(self, key: bytes, value: float) -> None:
        """Keep a value; NaN and infinity are not kept, the next run may know better."""
        if isfinite(value):
            self._new[key] = value
        if monotonic() - self._written > UNWRITTEN:
            self.write()

    def write(self) -> None:
        """Write what is new."""
        new, self._new = self._new, {}
        if new:
            self.file.check_function()
            with self.file.explained(), self.db:
                self.db.executemany("INSERT OR IGNORE INTO pairs VALUES (?, ?)", new.items())
        self._written = monotonic()


def _name(function: Any) -> str:
    """Return what a function is known by: its code, or that of the class of an object."""
    return fingerprint(function, type(function).__call__)
