"""What a kernel keeps of each sample: nested tuples of arrays that share their first axis.

An embedding is an array, a sparse matrix, ``None`` or a tuple of embeddings. Cotangents
(derivatives with respect to embeddings) have the same nature. The few operations below are
all that the engine needs to cut embeddings into blocks and to add up the derivatives of the blocks.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

Embedding = Any


def rows(E: Embedding, index: Any) -> Embedding:
    """Return the rows `index` (a slice or integer array) of an embedding.

    Parameters
    ----------
    E : embedding of n samples
    index : slice or int array

    Returns
    -------
    embedding
        Views where `index` is a slice of dense arrays.
    """
    if E is None:
        return None
    if isinstance(E, tuple):
        return tuple(rows(e, index) for e in E)
    return E[index]


def count(E: Embedding) -> int:
    """Return the number of samples of an embedding."""
    if isinstance(E, tuple):
        return next(count(e) for e in E if e is not None)
    return int(E.shape[0])


def width(E: Embedding) -> int:
    """Return the numbers that a derivative by one sample has at most."""
    if E is None:
        return 0
    if isinstance(E, tuple):
        return sum(map(width, E))
    return prod(E.shape[1:])


def add(a: Embedding, b: Embedding) -> Embedding:
    """Return the sum of two cotangents, where ``None`` stands for zero."""
    if a is None:
        return b
    if b is None:
        return a
    if isinstance(a, tuple):
        return tuple(add(x, y) for x, y in zip(a, b, strict=True))
    return a + b


def add_rows(total: Embedding, index: slice, part: Embedding, n: int) -> Embedding:
    """Add the cotangent `part` of the rows `index` to the running `total` of n rows.

    The total is allocated when the first part arrives, because only the part knows its shape.
    """
    if part is None:
        return total
    if isinstance(part, tuple):
        total = total or (None,) * len(part)
        return tuple(add_rows(t, index, p, n) for t, p in zip(total, part, strict=True))
    if total is None:
        total = np.zeros((n, *part.shape[1:]))
    total[index] += part
    return total


def add_named(total: dict[str, Any], part: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Add the parameter derivatives `part`, their names prefixed, to `total` in place."""
    for name, value in part.items():
        key = prefix + name
        total[key] = total[key] + value if key in total else value
    return total


def prefixed(prefix: str, grad: dict[str, Any]) -> dict[str, Any]:
    """Return parameter derivatives under the nested names of the kernel that holds them."""
    return {f"{prefix}__{name}": value for name, value in grad.items()}


_rooms = threading.local()


@contextmanager
def borrowed(shape: tuple[int, ...], dtype: Any) -> Iterator[npt.NDArray[Any]]:
    """Lend a working array of this thread; fresh pages for every tile would cost a sweep.

    What is given back is lent again, so that a thread holds as many arrays as are ever lent at
    once. The array must not be used afterwards.

    Examples
    --------
    >>> with borrowed((2, 3), np.float32) as room:
    ...     room.shape, room.dtype
    ((2, 3), dtype('float32'))
    """
    free: list[npt.NDArray[Any]] = _rooms.__dict__.setdefault("free", [])
    size = prod(shape) * np.dtype(dtype).itemsize
    room = free.pop() if free else None
    if room is None or room.nbytes < size:
        room = np.empty(size, np.uint8)
    try:
        yield room[:size].view(dtype).reshape(shape)
    finally:
        free.append(room)
