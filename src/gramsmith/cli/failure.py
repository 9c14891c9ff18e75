"""What can go wrong between a good command and a good result."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import click


class Refused(click.ClickException):
    """Raised when a well-formed command cannot be carried out; the message says what to change."""

    exit_code = 2


class BadData(ValueError):
    """Raised in place of a library's ValueError about the data that were passed to it."""


@contextmanager
def collected_warnings() -> Iterator[list[str]]:
    """Collect what the library warns of, each word once, to be told when the work is done."""
    found: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield found
    # other categories speak to programmers
    said = [str(item.message) for item in caught if issubclass(item.category, UserWarning)]
    found.extend(dict.fromkeys(said))


@contextmanager
def about_the_data(where: str) -> Iterator[None]:
    """Let a ValueError of the library appear as a word about the file, not as a traceback."""
    try:
        yield
    except ValueError as error:
        raise BadData(f"{where}: {error}") from error
