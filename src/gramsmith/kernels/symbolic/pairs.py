"""Tiles of kernels that compare strings pair by pair."""

from __future__ import annotations

from typing import Any

import numpy as np

from gramsmith.kernels.base import Array
from gramsmith.kernels.compilation import available, compile_loop
from gramsmith.kernels.embedding import Embedding
from gramsmith.kernels.symbolic import batched, compiled
from gramsmith.kernels.symbolic.sequences import Alphabet, Sequences


def ragged(alphabet: Alphabet, X: Sequences) -> Embedding:
    """Return the symbols of every sample as an object array of int32 arrays."""
    codes, starts = alphabet.encode(X)
    E = np.empty(len(X), dtype=object)
    for i in range(len(X)):
        E[i] = codes[starts[i] : starts[i + 1]]
    return E


def longest(a: Embedding) -> int:
    """Return the length of the longest sample of a block."""
    return max((len(codes) for codes in a), default=0)


def _laid_out(a: Embedding) -> tuple[Array, Array]:
    starts = np.zeros(len(a) + 1, dtype=np.int64)
    np.cumsum([len(codes) for codes in a], out=starts[1:])
    codes = np.concatenate(a) if len(a) else np.empty(0, np.int32)
    return codes.astype(np.int32, copy=False), starts


def tile_of_pairs(loop: str, a: Embedding, b: Embedding, *options: Any) -> Array:
    """Return the values of a loop of `compiled` (or of `batched`) for all pairs of two blocks."""
    same = a is b
    flat_a = _laid_out(a)
    flat_b = flat_a if same else _laid_out(b)
    # Pairs of similar length go together, because a batch is as long as its longest pair.
    order_a = np.argsort(np.diff(flat_a[1]), kind="stable")
    order_b = order_a if same else np.argsort(np.diff(flat_b[1]), kind="stable")
    if same:
        i, j = np.triu_indices(len(a))
    else:
        i, j = np.divmod(np.arange(len(a) * len(b)), len(b))
    I, J = order_a[i], order_b[j]
    values = _run(loop, flat_a, flat_b, I, J, *options)
    K = np.empty((len(a), len(b)))
    K[I, J] = values
    if same:
        K[J, I] = values
    return K


def diagonal_of_pairs(loop: str, a: Embedding, *options: Any) -> Array:
    """Return the values of a loop for every sample with itself."""
    flat = _laid_out(a)
    order = np.argsort(np.diff(flat[1]), kind="stable")
    d = np.empty(len(a))
    d[order] = _run(loop, flat, flat, order, order, *options)
    return d


def _run(loop: str, flat_a: Any, flat_b: Any, I: Array, J: Array, *options: Any) -> Array:
    out = np.zeros(len(I))
    if available():
        run = compile_loop(getattr(compiled, loop))
    else:
        run = getattr(batched, loop)
    run(*flat_a, *flat_b, I, J, *options, out)
    return out
