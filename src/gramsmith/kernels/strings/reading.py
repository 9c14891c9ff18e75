"""Samples that are sequences: text, bytes or lists of tokens, brought to one form.

Everything below this module sees a one-dimensional object array whose items are either all `str`
(one symbol per code point) or all `tuple` (one symbol per token).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

Sequences = npt.NDArray[np.object_]

ADVICE = (
    "Pass a list of strings such as ['ACGT', 'GATTACA'], or of token lists such as "
    "[['the', 'cat'], ['a', 'dog']]"
)


def as_sequences(X: Any, owner: str, length_limit: int | None = None) -> Sequences:
    """Return the samples as an object array of `str` or of `tuple`.

    Bytes become text of the same numbers (byte 65 is "A"), so that both may meet in one kernel. The
    rows of a two-dimensional array of letters or whole numbers are token lists; a single column of
    text is a list of strings.

    Parameters
    ----------
    X : sequence of str, of bytes or of token lists; array, pandas or polars column
    owner : str
        The kernel named in error messages.
    length_limit : int, optional
        The longest sample allowed.

    Returns
    -------
    array of shape (n,), dtype object
    """
    items = _listed(X, owner)
    if not items:
        raise ValueError(f"{owner}: expected at least 1 string, got 0 sample(s). {ADVICE}.")
    kind = _kind(items, owner)
    if kind is bytes:
        items = [item.decode("latin-1") for item in items]
    elif kind is tuple:
        items = [_tokens(item, i, owner) for i, item in enumerate(items)]
    if length_limit is not None:
        longest = max(range(len(items)), key=lambda i: len(items[i]))
        if len(items[longest]) > length_limit:
            raise ValueError(
                f"{owner}: expected strings of at most {length_limit} symbols, got "
                f"{len(items[longest])} in string {longest}. Cut it into pieces, or raise the cap "
                f"with length_limit={len(items[longest])} (None: no cap); mind time and memory."
            )
    result: Sequences = np.empty(len(items), dtype=object)
    # Assigned one by one: NumPy would turn tuples of equal length into a second axis.
    for i, item in enumerate(items):
        result[i] = item
    return result


def _listed(X: Any, owner: str) -> list[Any]:
    """Return the samples as a list, whatever container they come in."""
    if isinstance(X, str | bytes | bytearray):
        raise TypeError(
            f"{owner}: expected a sequence of strings, got one {type(X).__name__}. "
            "Wrap it in a list: [x]."
        )
    if isinstance(X, np.ndarray) and X.ndim == 1 and X.dtype == object:
        return list(X)
    if hasattr(X, "to_numpy") and not isinstance(X, np.ndarray):
        X = X.to_numpy()  # pandas and polars columns and tables
    if isinstance(X, np.ndarray):
        return _from_array(X, owner)
    if isinstance(X, dict) or not isinstance(X, Iterable):
        raise TypeError(
            f"{owner}: expected a sequence of strings, got {type(X).__name__}. {ADVICE}."
        )
    return list(X)


def _from_array(X: npt.NDArray[Any], owner: str) -> list[Any]:
    if X.dtype.kind in "fc":
        raise TypeError(
            f"{owner}: expected strings or token lists, got an array of {X.dtype}. {ADVICE}; "
            "for columns of numbers use a vector kernel such as Gaussian."
        )
    if X.ndim == 2 and X.shape[1] == 1 and X.dtype.kind in "OUS":
        X = X[:, 0]
    if X.ndim == 1 and X.dtype.kind in "OUS":
        return list(X.tolist())
    if X.ndim == 2:
        return list(map(tuple, X.tolist()))
    raise TypeError(
        f"{owner}: expected a column of strings or rows of tokens, got an array of {X.dtype} with "
        f"shape {X.shape}. {ADVICE}."
    )


def _kind(items: list[Any], owner: str) -> type:
    """Return the one type all items have: str, bytes or tuple (any token list)."""
    found: dict[type, int] = {}
    for i, item in enumerate(items):
        if isinstance(item, str):
            kind: type = str
        elif isinstance(item, bytes | bytearray):
            kind = bytes
        elif isinstance(item, list | tuple | np.ndarray):
            kind = tuple
        else:
            name = "a missing value" if _is_missing(item) else f"{type(item).__name__} ({item!r})"
            raise TypeError(
                f"{owner}: expected text, bytes or a token list in every row, got {name} in row "
                f"{i}. Drop or fill missing rows first. {ADVICE}."
            )
        found.setdefault(kind, i)
    if len(found) > 1:
        rows = ", ".join(
            f"{'token lists' if kind is tuple else kind.__name__} (row {i})"
            for kind, i in found.items()
        )
        raise TypeError(
            f"{owner}: expected one type for all rows, got mixed types: {rows}. "
            "Convert them to one type first."
        )
    return next(iter(found))


def _is_missing(item: Any) -> bool:
    # NaN, NaT and pandas' NA are not equal to themselves, or refuse to say.
    try:
        return item is None or bool(item != item)
    except (TypeError, ValueError):
        return True


def _tokens(item: Any, row: int, owner: str) -> tuple[Hashable, ...]:
    tokens = tuple(item.tolist() if isinstance(item, np.ndarray) else item)
    for position, token in enumerate(tokens):
        wrong = token is None or isinstance(token, float | complex)
        if wrong or not isinstance(token, Hashable):
            raise TypeError(
                f"{owner}: expected words, letters or whole numbers as tokens, got "
                f"{type(token).__name__} ({token!r}) at position {position} of row {row}. {ADVICE}."
            )
    return tokens
