"""What can go wrong between a good command and a good result."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class BadData(ValueError):
    """Raised in place of a library's ValueError about the data that were passed to it."""


@contextmanager
def about_the_data(where: str) -> Iterator[None]:
    """Let a ValueError of the library appear as a word about the file, not as a traceback."""
    try:
        yield
    except ValueError as error:
        raise BadData(f"{where}: {error}") from error
