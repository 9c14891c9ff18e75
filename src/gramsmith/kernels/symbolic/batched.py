"""The loops of `compiled` in NumPy alone: a batch of pairs advances together, cell by cell.

Pairs lie along the last axis of every array, so that one NumPy call does one step of all of them.
Where pair p has shorter strings than the batch, its filling matches nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from gramsmith.kernels.base import Array

# Numbers per array: small enough for the cache of one core, large enough to hide Python's calls.
BATCH = 1 << 17
STEP = 512


def _batches(
    codes_a: Any,
    starts_a: Any,
    codes_b: Any,
    starts_b: Any,
    I: Any,
    J: Any,
    most: int | None = None,
) -> Iterator[tuple[slice, Array, Array]]:
    """Yield slices of the pairs, and their symbols S (m, pairs) and T (n, pairs).

    `most` bounds the numbers held per pair, where that is less than one per symbol of T.
    """
    la, lb = np.diff(starts_a)[I], np.diff(starts_b)[J]
    longest = max(1, int(lb.max(initial=1)))
    width = max(1, min(BATCH // min(longest, most or longest), 16 * BATCH // longest))
    for start in range(0, len(I), width):
        part = slice(start, min(len(I), start + width))
        S = _padded(codes_a, starts_a[I[part]], la[part], -1)
        T = _padded(codes_b, starts_b[J[part]], lb[part], -2)
        T[T < 0] = -2  # gaps: different from those of S
        yield part, S, T


def _padded(codes: Any, starts: Any, lengths: Any, filling: int) -> Array:
    step = np.arange(int(lengths.max(initial=0)))[:, None]
    inside = step < lengths
    symbols = codes[np.where(inside, starts + step, 0)] if inside.any() else 0
    return np.where(inside, symbols, filling).astype(np.int32)


def subsequences(
    codes_a: Any,
    starts_a: Any,
    codes_b: Any,
    starts_b: Any,
    I: Any,
    J: Any,
    length: int,
    decay: float,
    slope: bool,
    out: Any,
) -> None:
    """Write the gap-weighted subsequence kernel of each pair, or its derivative by the decay."""
    for part, S, T in _batches(codes_a, starts_a, codes_b, starts_b, I, J):
        out[part] = _subsequences(S, T, length, decay, slope)


def _subsequences(S: Array, T: Array, length: int, decay: float, slope: bool) -> Array:
    # Rows of S are taken in bands, so that memory grows with n and not with m n.
    (m, pairs), n = S.shape, len(T)
    band = max(1, min(m, STEP // pairs))
    total = np.zeros(pairs)
    above = np.zeros((length, n + 1, pairs))  # the row D_q above the band
    above[0] = 1.0
    dabove = np.zeros((length, n + 1, pairs)) if slope else above
    for top in range(0, m, band):
        rows = S[top : top + band]
        M = decay * decay * (T[:, None] == rows)
        # `up` is D_{q-1} one row up; its column 0 stands before the first symbol of T
        up = np.ones((n + 1, len(rows), pairs))
        dup = np.zeros_like(up) if slope else up
        for q in range(1, length + 1):
            F = M * up[:-1]
            dF = M * dup[:-1] + (2.0 / decay) * F if slope else F
            if q == length:
                total += (dF if slope else F).sum(axis=(0, 1))
                break
            _carry(F, dF, decay, slope, axis=0)
            F[:, 0] += decay * above[q, 1:]
            if slope:
                dF[:, 0] += above[q, 1:] + decay * dabove[q, 1:]
            _carry(F, dF, decay, slope, axis=1)
            up, above[q] = _shifted(F, above[q])
            if slope:
                dup, dabove[q] = _shifted(dF, dabove[q])
    return total


def _carry(F: Array, dF: Array, decay: float, slope: bool, axis: int) -> None:
    """Let F[i] += decay F[i - 1] run along an axis, and its derivative by the decay with it."""
    F, dF = np.moveaxis(F, axis, 0), np.moveaxis(dF, axis, 0)
    for i in range(1, len(F)):
        if slope:
            dF[i] += F[i - 1] + decay * dF[i - 1]
        F[i] += decay * F[i - 1]


def _shifted(D: Array, above: Array) -> tuple[Array, Array]:
    """Return D moved down by one row, with `above` on top, and the row that fell out below."""
    n, rows, pairs = D.shape
    up = np.zeros((n + 1, rows, pairs))
    up[:, 0] = above
    up[1:, 1:] = D[:, :-1]
    below = np.zeros((n + 1, pairs))
    below[1:] = D[:, -1]
    return up, below


def runs(
    codes_a: Any,
    starts_a: Any,
    codes_b: Any,
    starts_b: Any,
    I: Any,
    J: Any,
    weights: Any,
    band: Any,
    out: Any,
) -> None:
    """Write Σ band[|i - j|] weights[r(i, j)], r the length of the common substring ending there."""
    cap = len(weights) - 1
    reach = len(band)
    for part, S, T in _batches(codes_a, starts_a, codes_b, starts_b, I, J, 2 * reach):
        total = np.zeros(S.shape[1])
        below = min(len(S), reach)  # diagonals below the main one
        r = np.zeros((below + min(len(T), reach), S.shape[1]), dtype=np.int32)
        for i, low, high in _diagonals(len(S), len(T), reach):
            here = r[below + low : below + high]
            here += 1
            here *= T[i + low : i + high] == S[i]
            np.minimum(here, cap, out=here)
            total += band[np.abs(np.arange(low, high))] @ weights[here]
        out[part] = total


def near_matches(
    codes_a: Any,
    starts_a: Any,
    codes_b: Any,
    starts_b: Any,
    I: Any,
    J: Any,
    k: int,
    weights: Any,
    out: Any,
) -> None:
    """Write Σ weights[d] over the pairs of windows of k symbols without gaps, d apart."""
    # A gap counts like k + 1 mismatches, so that its windows fall on the zeros behind the table.
    table = np.concatenate([weights, np.zeros(k * (k + 1) + 1)])
    for part, S, T in _batches(codes_a, starts_a, codes_b, starts_b, I, J):
        total = np.zeros(S.shape[1])
        m = len(S)
        d = np.zeros((m + len(T), S.shape[1]), dtype=np.int32)
        past = np.zeros((k, *d.shape), dtype=np.int32)  # the last k steps of every diagonal
        for i, low, high in _diagonals(m, len(T), m + len(T)):
            here = slice(m + low, m + high)
            wrong = past[i % k, here]
            d[here] -= wrong
            t = T[i + low : i + high]
            wrong[:] = np.where((t < 0) | (S[i] < 0), k + 1, t != S[i])
            d[here] += wrong
            # A diagonal below the main one starts in row -offset, and needs k steps to fill.
            full = max(low, k - 1 - i)
            if i >= k - 1 and full < high:
                total += table[d[m + full : m + high]].sum(axis=0)
        out[part] = total


def _diagonals(m: int, n: int, reach: int) -> Iterator[tuple[int, int, int]]:
    """Yield each row i with its offsets low <= j - i < high, all of them closer than `reach`."""
    for i in range(m):
        low, high = max(-i, 1 - reach), min(n - i, reach)
        if low < high:
            yield i, low, high
