"""Bytes from files, counted while they are read: a cap that no compression can get around."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import stat
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO

import numpy.typing as npt

Array = npt.NDArray[Any]

LINE_LIMIT = 2**24
BLOCK = 2**22


class DataError(ValueError):
    """Raised for data that cannot be used: what was expected, what came, where, and what to do.

    `code` names what is wrong: the command line has its own advice for it, which may need `facts`.
    Rows are counted from 0.
    """

    def __init__(
        self,
        message: str,
        advice: str = "",
        code: str = "",
        *,
        column: Any = None,
        row: int | None = None,
        **facts: Any,
    ) -> None:
        places = [] if column is None else [f"column {short(column)}"]
        places += [] if row is None else [f"row {row} (counted from 0)"]
        place = ", ".join(places)
        shown = f"{place[:1].upper()}{place[1:]}: {message}" if place else message
        super().__init__(f"{shown} {advice}".strip())
        self.message, self.advice, self.code = message, advice, code
        self.column, self.row, self.facts = column, row, facts


def short(value: Any) -> str:
    """Return a value for a message: a forged file cannot fill the screen with it."""
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


@contextmanager
def parsing(where: str, wanted: str) -> Iterator[None]:
    """Turn what parsers raise for damaged bytes, wherever these are damaged, into a DataError."""
    try:
        yield
    except (DataError, MemoryError):
        raise
    except Exception as error:
        raise DataError(f"{where}: expected {wanted}, got: {short(str(error))}.") from error


@dataclass(frozen=True)
class Limits:
    """How large a table may be."""

    rows: int = 5_000_000
    columns: int = 10_000
    bytes: int = 2 * 2**30  # after decompression

    def check_shape(self, rows: int, columns: int, where: str) -> None:
        """Raise DataError if a table of this shape is past the caps."""
        for name, count in (("rows", rows), ("columns", columns)):
            most = getattr(self, name)
            if count > most:
                raise DataError(
                    f"{where}: expected at most {most:,} {name}, got {count:,} or more.",
                    f"Raise Limits.{name} if the file is meant to be this large.",
                    name,
                )
        self.check_bytes(8 * rows * columns, where)  # what the cells take as numbers

    def check_bytes(self, count: int, where: str) -> None:
        """Raise DataError if more bytes have come than may."""
        if count > self.bytes:
            raise DataError(
                f"{where}: expected at most {self.bytes:,} bytes of data, got more.",
                "Raise Limits.bytes if the file is meant to be this large.",
                "bytes",
            )


class Capped(io.RawIOBase):
    """A stream that raises DataError as soon as more bytes have come out of it than may.

    It closes what is `below` too: a decompressor leaves the file it reads from open.
    """

    def __init__(self, stream: Any, limits: Limits, where: str, below: Any) -> None:
        self._stream, self._limits, self._where = stream, limits, where
        self._below = below
        self._count = 0

    def readable(self) -> bool:
        """Return True."""
        return True

    def _next(self, size: int) -> bytes:
        try:
            data: bytes = self._stream.read(size)
        except (OSError, EOFError, zlib.error) as error:
            raise DataError(f"{self._where}: expected a whole file, got: {error}.") from error
        self._count += len(data)
        self._limits.check_bytes(self._count, self._where)
        return data

    def readinto(self, buffer: Any) -> int:
        """Read into a buffer and count."""
        data = self._next(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def readall(self) -> bytes:
        """Return all that is left: of a file that is not compressed, in one piece."""
        size = BLOCK
        if self._stream is self._below:
            size = os.fstat(self._stream.fileno()).st_size + 1
            self._limits.check_bytes(size - 1, self._where)
        return b"".join(iter(lambda: self._next(size), b""))

    def close(self) -> None:
        """Close the stream and what lies below it."""
        self._stream.close()
        self._below.close()
        super().close()


def open_capped(path: Path, limits: Limits) -> io.BufferedReader:
    """Open a plain, gzipped or zstandard file under a cap on the bytes that come out."""
    file = open_file(path)
    try:
        magic = file.read(6)
        file.seek(0)
    except OSError as error:
        file.close()
        raise DataError(f"{path.name}: expected a file that can be read, got: {error}.") from error
    for start, name in ((b"PK\x03\x04", "zip"), (b"BZh", "bzip2"), (b"\xfd7zXZ", "xz")):
        if magic.startswith(start):
            file.close()
            raise DataError(
                f"{path.name}: expected a plain, gzipped or zstandard file, got a {name} archive. "
                "Unpack it first."
            )
    stream: Any = file
    if magic.startswith(b"\x1f\x8b"):
        stream = gzip.GzipFile(fileobj=file, mode="rb")
    elif magic.startswith(b"\x28\xb5\x2f\xfd"):
        import pyarrow

        stream = pyarrow.CompressedInputStream(pyarrow.PythonFile(file), "zstd")
    return io.BufferedReader(Capped(stream, limits, path.name, file), BLOCK)


def read_bytes(path: Path, limits: Limits) -> bytes:
    """Return all that comes out of a plain, gzipped or zstandard file, under the cap."""
    with open_capped(path, limits) as stream:
        return stream.read()


def open_file(path: Path) -> BinaryIO:
    """Open a file, or raise DataError with the reason; a device or a pipe is no file."""
    try:
        if path.is_dir():
            raise DataError(f"Expected a file, got the folder {path}. Name a file inside it.")
        # a pipe that nobody writes to would block
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except OSError as error:
        reason = "it does not exist" if isinstance(error, FileNotFoundError) else error.strerror
        raise DataError(f"Expected a file that can be read, got {path}: {reason}.") from error
    except ValueError as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"Expected the name of a file, got {short(str(path))}.") from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise DataError(
            f"Expected a file, got {path}, which is a device or a pipe. "
            "Write the data to a file, or send them to the standard input and name it -."
        )
    return os.fdopen(descriptor, "rb")


@contextmanager
def as_file(path: str | Path, limits: Limits, suffix: str = ".csv") -> Iterator[Path]:
    """Hand out the path of a file; the standard input, named -, is written to one first."""
    if str(path) != "-":
        yield Path(path)
        return
    with TemporaryDirectory(prefix="gramsmith-") as folder:
        copy, count = Path(folder) / f"stdin{suffix}", 0
        with open(copy, "wb") as out:
            while block := sys.stdin.buffer.read(BLOCK):
                count += len(block)
                limits.check_bytes(count, "stdin")
                out.write(block)
        yield copy


def digest(path: Path) -> str:
    """Return the SHA-256 of a file's bytes."""
    found = hashlib.sha256()
    with open_file(path) as stream:
        while block := stream.read(2**20):
            found.update(block)
    return found.hexdigest()


def text_lines(stream: Any, where: str) -> Iterator[str]:
    """Yield the lines of a UTF-8 text; no line may be endless, none may hold NUL."""
    number = 0
    while line := stream.readline(LINE_LIMIT):
        number += 1
        if len(line) >= LINE_LIMIT:
            raise DataError(
                f"{where}, line {number}: expected lines below {LINE_LIMIT:,} bytes, got a longer "
                "one. Is this a text table?"
            )
        if b"\0" in line:
            raise DataError(f"{where}, line {number}: expected text, got a NUL byte.")
        try:
            yield line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            raise DataError(
                f"{where}, line {number}: expected UTF-8 text, got the byte "
                f"0x{line[error.start]:02x}.",
                "Name its encoding, such as latin-1, or save it as UTF-8.",
                "encoding",
            ) from error
