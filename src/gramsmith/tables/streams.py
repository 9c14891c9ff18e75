"""Bytes from files, counted while they are read: a cap that no compression can get around."""

from __future__ import annotations

import gzip
import hashlib
import io
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy.typing as npt

Array = npt.NDArray[Any]

LINE_LIMIT = 2**24


class DataError(ValueError):
    """Raised for data that cannot be used; the message names the row and the column."""


def short(value: Any) -> str:
    """Return a value for a message: a forged file cannot fill the screen with it."""
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


@dataclass(frozen=True)
class Limits:
    """How large a table may be.

    Attributes
    ----------
    rows : int
        Most rows.
    columns : int
        Most columns.
    bytes : int
        Most bytes after decompression.
    """

    rows: int = 5_000_000
    columns: int = 10_000
    bytes: int = 2 * 2**30

    def check_shape(self, rows: int, columns: int, where: str) -> None:
        """Raise DataError if a table of this shape is past the caps."""
        if rows > self.rows:
            raise DataError(
                f"{where}: expected at most {self.rows:,} rows, got {rows:,} or more. "
                "Raise --max-rows if the file is meant to be this long."
            )
        if columns > self.columns:
            raise DataError(
                f"{where}: expected at most {self.columns:,} columns, got {columns:,}. "
                "Raise --max-cols if the file is meant to be this wide."
            )


class Capped(io.RawIOBase):
    """A stream that raises DataError as soon as more than `limit` bytes have come out of it.

    Parameters
    ----------
    stream : binary file
        Usually a decompressor.
    limit : int
        Most bytes.
    where : str
        Name of the file for messages.
    *below : binary files
        What else to close: a decompressor leaves the file it reads from open.
    """

    def __init__(self, stream: Any, limit: int, where: str, *below: Any) -> None:
        self._stream, self._limit, self._where = stream, limit, where
        self._below = below
        self._count = 0

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read into a buffer and count."""
        try:
            data = self._stream.read(len(buffer))
        except (OSError, EOFError, zlib.error) as error:
            raise DataError(f"{self._where}: expected a whole file, got: {error}.") from error
        self._count += len(data)
        if self._count > self._limit:
            raise DataError(
                f"{self._where}: expected at most {self._limit:,} bytes of data, got more. "
                "Raise --max-bytes if the file is meant to be this large."
            )
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        """Close the stream and what lies below it."""
        for stream in (self._stream, *self._below):
            stream.close()
        super().close()


def open_capped(path: Path, limits: Limits) -> io.BufferedReader:
    """Open a plain or gzipped file for reading under a cap on the bytes that come out."""
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
                f"{path.name}: expected a plain or gzipped file, got a {name} archive. "
                "Unpack it first."
            )
    zipped = magic.startswith(b"\x1f\x8b")
    stream = gzip.GzipFile(fileobj=file, mode="rb") if zipped else file
    return io.BufferedReader(Capped(stream, limits.bytes, path.name, file), 2**18)


def open_file(path: Path) -> BinaryIO:
    """Open a file, or raise DataError with the reason."""
    try:
        if path.is_dir():
            raise DataError(f"Expected a file, got the folder {path}. Name a file inside it.")
        return open(path, "rb")
    except OSError as error:
        reason = "it does not exist" if isinstance(error, FileNotFoundError) else error.strerror
        raise DataError(f"Expected a file that can be read, got {path}: {reason}.") from error


def digest(path: Path) -> str:
    """Return the SHA-256 of a file's bytes."""
    found = hashlib.sha256()
    with open_file(path) as stream:
        while block := stream.read(2**20):
            found.update(block)
    return found.hexdigest()


def text_lines(stream: io.BufferedReader, where: str) -> Iterator[str]:
    """Yield the lines of a UTF-8 text; no line may be endless, none may hold NUL."""
    number = 0
    while line := stream.readline(LINE_LIMIT):
        number += 1
        if len(line) >= LINE_LIMIT:
            raise DataError(
                f"{where}, line {number}: expected lines below {LINE_LIMIT:,} bytes, got a longer "
                "one. "
                "Is this a text table?"
            )
        if b"\0" in line:
            raise DataError(f"{where}, line {number}: expected text, got a NUL byte.")
        try:
            yield line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            raise DataError(
                f"{where}, line {number}: expected UTF-8 text, got the byte "
                f"0x{line[error.start]:02x}. Save the file as UTF-8."
            ) from error
