"""What a kernel keeps of each sample: nested tuples of arrays that share their first axis.

An embedding is an array, a sparse matrix, ``None`` or a tuple of embeddings. Cotangents
(derivatives with respect to embeddings) have the same nature. The few operations below are
all that the engine needs to cut embeddings into blocks and to add up the derivatives of the blocks.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

Embedding = Any


def rows(E: Embedding, index: Any) -> Embedding:
    """Return the rows `index` (a slice or integer array) of an embedding; views for a slice."""
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


def add_named(total: dict[str, Any], part: dict[str, Any]) -> dict[str, Any]:
    """Add the parameter derivatives `part` to `total` in place."""
    for name, value in part.items():
        total[name] = total[name] + value if name in total else value
    return total


def prefixed(prefix: str, grad: dict[str, Any]) -> dict[str, Any]:
    """Return parameter derivatives under the nested names of the kernel that holds them."""
    return {f"{prefix}__{name}": value for name, value in grad.items()}


STRIP = 1 << 14  # entries of a tile that a formula takes at a time: its terms stay in the cache

_rooms = threading.local()


def strips(K: npt.NDArray[Any]) -> Iterator[slice]:
    """Yield the rows of a tile in runs of few entries, at least one row each."""
    step = max(1, STRIP // max(1, K.shape[1]))
    for start in range(0, len(K), step):
        yield slice(start, min(start + step, len(K)))


def fitting(out: npt.NDArray[Any] | None, dtype: Any) -> npt.NDArray[Any] | None:
    """Return the array where a tile is to be written, None if it has another type."""
    return out if out is not None and out.dtype == dtype else None


def in_strips(
    formula: Callable[[Any, Any], Any], a: Any, b: Any, dtype: Any, out: npt.NDArray[Any] | None
) -> npt.NDArray[Any]:
    """Return formula(a, b) for all pairs of rows, a few rows of a at a time."""
    room = fitting(out, dtype)
    K = np.empty((count(a), count(b)), dtype) if room is None else room
    for strip in strips(K):
        K[strip] = formula(a[strip], b)
    return K


@contextmanager
def scratch() -> Iterator[None]:
    """Let this thread have back, at the end, all that it is lent from here on.

    What is given back is lent again: fresh pages for every tile would cost a sweep. A thread holds
    as many arrays as are ever lent at once. None of them may be used afterwards.
    """
    rooms = _rooms.__dict__
    free, outer = rooms.setdefault("free", []), rooms.get("lent")
    lent: list[npt.NDArray[Any]] = []
    rooms["lent"] = lent
    try:
        yield
    finally:
        rooms["lent"] = outer
        free.extend(lent)


def lend(shape: tuple[int, ...], dtype: Any) -> npt.NDArray[Any]:
    """Return a working array of this thread, within `scratch`; a new one elsewhere."""
    lent, free = _rooms.__dict__.get("lent"), _rooms.__dict__.get("free")
    if lent is None:
        return np.empty(shape, dtype)
    size = prod(shape) * np.dtype(dtype).itemsize
    room: npt.NDArray[Any] | None = free.pop() if free else None
    if room is None or room.nbytes < size:
        room = np.empty(size, np.uint8)
    lent.append(room)
    return np.asarray(room[:size].view(dtype).reshape(shape))
