"""Loops over pairs of strings: compiled where numba is installed (the extra `fast`), or in NumPy.

Both forms of a loop write the same numbers to `out`, one per pair of a batch. Pairs are columns of
S and T, the symbols of their strings; or `pairs` is (codes_a, starts_a, codes_b, starts_b, I, J):
samples lie end to end in codes, sample i in ``codes[starts[i]:starts[i + 1]]``, and I and J name
the pairs. In NumPy all pairs of a batch advance together, one call doing one step of all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gramsmith.kernels.base import Array
from gramsmith.kernels.compilation import available, compile_loop
from gramsmith.kernels.embedding import Embedding

LANES = 64  # pairs that the compiled loop over subsequences takes together: one per vector lane
# Numbers per array in NumPy: small enough for the cache of a core, large enough to hide its calls.
BATCH = 1 << 17
STEP = 512


def run_loop(loop: Callable[..., Any], *arguments: Any) -> Any:
    """Run a loop that fills arrays: compiled, or on lists, which Python reads faster."""
    if available():
        return compile_loop(loop)(*arguments)
    plain = [x.tolist() if isinstance(x, np.ndarray) else x for x in arguments]
    value = loop(*plain)
    for array, filled in zip(arguments, plain, strict=True):
        if isinstance(array, np.ndarray):
            array[:] = filled
    return value


def tile_of_pairs(loop: str, a: Embedding, b: Embedding, *options: Any) -> Array:
    """Return the values of a loop for all pairs of two blocks of strings (arrays of numbers)."""
    if a is b:
        I, J = np.triu_indices(len(a))
    else:
        I, J = np.divmod(np.arange(len(a) * len(b)), max(1, len(b)))
    K = np.empty((len(a), len(b)))
    K[I, J] = values = _values(loop, a, b, I, J, *options)
    if a is b:
        K[J, I] = values
    return K


def diagonal_of_pairs(loop: str, a: Embedding, *options: Any) -> Array:
    """Return the values of a loop for every sample with itself."""
    each = np.arange(len(a))
    return _values(loop, a, a, each, each, *options)


def _values(loop: str, a: Embedding, b: Embedding, I: Array, J: Array, *options: Any) -> Array:
    codes_a, starts_a = _laid_out(a)
    codes_b, starts_b = (codes_a, starts_a) if a is b else _laid_out(b)
    lengths = np.diff(starts_a)[I], np.diff(starts_b)[J]
    if a is b:  # the shorter one first
        I, J = np.where(lengths[0] > lengths[1], (J, I), (I, J))
        lengths = np.minimum(*lengths), np.maximum(*lengths)
    # Pairs of similar length go together, because a batch is as long as its longest pair.
    order = np.lexsort(lengths[::-1])
    width = max(LANES, BATCH // max(1, *(int(length.max(initial=0)) for length in lengths)))
    step = compile_loop(COMPILED[loop]) if available() else BATCHED[loop]
    values = np.zeros(len(I))
    for start in range(0, len(I), width):
        some = order[start : start + width]
        i, j, found = I[some], J[some], np.zeros(len(some))
        if loop == "subsequences":
            # -1 and -2 are gaps and filling: different on the two sides, so they never match
            S, T = _padded(codes_a, starts_a, i, -1), _padded(codes_b, starts_b, j, -2)
            step(S, T, *options, found)
        else:
            step((codes_a, starts_a, codes_b, starts_b, i, j), *options, found)
        values[some] = found
    return values


def _laid_out(a: Embedding) -> tuple[Array, Array]:
    starts = np.zeros(len(a) + 1, dtype=np.int64)
    np.cumsum([len(codes) for codes in a], out=starts[1:])
    codes = np.concatenate(a) if len(a) else np.empty(0, np.int32)
    return codes.astype(np.int32, copy=False), starts


# ---- subsequences with gaps ---------------------------------------------------------------------


def subsequences(S: Any, T: Any, length: int, decay: float, slope: bool, out: Any) -> None:
    """Add the gap-weighted subsequence kernel of each pair, or its derivative by the decay.

    With M[i, j] = λ² where symbols match, S_q = M D_{q-1} (shifted by one cell) ends a subsequence
    of q symbols at (i, j), and D_q = S_q + λ D_q(i-1, j) + λ D_q(i, j-1) - λ² D_q(i-1, j-1) carries
    it on over gaps; the kernel is the sum of S_length.
    """
    width = min(LANES, len(out))
    M = np.empty((len(T), width))
    D = np.empty((length, len(T) + 1, width))
    dD = np.empty((length if slope else 0, len(T) + 1, width))
    F = np.empty(width)
    dF = np.empty(width)
    total = np.empty(width)
    square, ratio = decay * decay, 2.0 / decay
    for first in range(0, len(out), max(1, width)):
        lanes = min(width, len(out) - first)
        m, n = len(S), len(T)
        total[:] = 0.0
        while m > 0 and S[m - 1, first : first + lanes].max() < 0:  # filling: these are shorter
            m -= 1
        while n > 0 and T[n - 1, first : first + lanes].max() < 0:
            n -= 1
        D[0, : n + 1] = 1.0
        D[1:, : n + 1] = 0.0
        if slope:
            dD[:, : n + 1] = 0.0
        for i in range(m):
            x = S[i, first:]
            for j in range(n):
                z = T[j, first:]
                for c in range(lanes):
                    M[j, c] = square if x[c] == z[c] else 0.0
            # Downwards in q: level q reads level q - 1 as the row above left it.
            for q in range(length, 0, -1):
                F[:] = 0.0
                dF[:] = 0.0
                B = D[q - 1]
                if not slope and q == length:
                    for j in range(n):
                        for c in range(lanes):
                            total[c] += M[j, c] * B[j, c]
                elif not slope:
                    for j in range(n):
                        for c in range(lanes):
                            F[c] = M[j, c] * B[j, c] + decay * F[c]
                            D[q, j + 1, c] = F[c] + decay * D[q, j + 1, c]
                elif q == length:
                    for j in range(n):
                        for c in range(lanes):
                            total[c] += M[j, c] * (ratio * B[j, c] + dD[q - 1, j, c])
                else:
                    for j in range(n):
                        for c in range(lanes):
                            new = M[j, c] * (ratio * B[j, c] + dD[q - 1, j, c])
                            dF[c] = new + F[c] + decay * dF[c]
                            F[c] = M[j, c] * B[j, c] + decay * F[c]
                            dD[q, j + 1, c] = dF[c] + D[q, j + 1, c] + decay * dD[q, j + 1, c]
                            D[q, j + 1, c] = F[c] + decay * D[q, j + 1, c]
        for c in range(lanes):
            out[first + c] = total[c]


def subsequences_in_numpy(
    S: Array, T: Array, length: int, decay: float, slope: bool, out: Array
) -> None:
    """Do the same; rows of S are taken in bands, so that memory grows with n and not with m n."""
    (m, width), n = S.shape, len(T)
    band = max(1, min(m, STEP // width))
    above = np.zeros((length, n + 1, width))  # the row D_q above the band
    above[0] = 1.0
    dabove = np.zeros((length, n + 1, width)) if slope else above
    for top in range(0, m, band):
        rows = S[top : top + band]
        M = decay * decay * (T[:, None] == rows)
        # `up` is D_{q-1} one row up; its column 0 stands before the first symbol of T
        up = np.ones((n + 1, len(rows), width))
        dup = np.zeros_like(up) if slope else up
        for q in range(1, length + 1):
            F = M * up[:-1]
            dF = M * dup[:-1] + (2.0 / decay) * F if slope else F
            if q == length:
                out += (dF if slope else F).sum(axis=(0, 1))
                break
            _carry(F, dF, decay, slope, axis=0)
            F[:, 0] += decay * above[q, 1:]
            if slope:
                dF[:, 0] += above[q, 1:] + decay * dabove[q, 1:]
            _carry(F, dF, decay, slope, axis=1)
            up, above[q] = _shifted(F, above[q])
            if slope:
                dup, dabove[q] = _shifted(dF, dabove[q])


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


def _padded(codes: Any, starts: Any, which: Any, filling: int) -> Array:
    first, lengths = starts[which], starts[which + 1] - starts[which]
    step = np.arange(int(lengths.max(initial=0)))[:, None]
    inside = step < lengths
    symbols = codes[np.where(inside, first + step, 0)] if inside.any() else 0
    return np.where(inside & (symbols >= np.int32(0)), symbols, filling).astype(np.int32)


# ---- common substrings, and windows that nearly agree, along the diagonals ----------------------


def runs(pairs: Any, weights: Any, band: Any, out: Any) -> None:
    """Write Σ band[|i - j|] weights[r(i, j)] over the cells of each pair with |i - j| < len(band).

    r(i, j) is the length of the common substring that ends at i and j; lengths past the end of
    `weights` count like its last entry.
    """
    codes_a, starts_a, codes_b, starts_b, I, J = pairs
    cap, reach = len(weights) - 1, len(band)
    for p in range(len(I)):
        x = codes_a[starts_a[I[p]] : starts_a[I[p] + 1]]
        z = codes_b[starts_b[J[p]] : starts_b[J[p] + 1]]
        total = 0.0
        for offset in range(max(1 - len(x), 1 - reach), min(len(z), reach)):
            s, t = x[max(0, -offset) :], z[max(0, offset) :]
            r = 0
            part = 0.0
            # No branch on the match: it is right too rarely to be predicted (weights[0] is 0).
            for step in range(min(len(s), len(t))):
                r = min(r + 1, cap) * ((s[step] == t[step]) & (s[step] >= 0))
                part += weights[r]
            total += part * band[abs(offset)]
        out[p] = total


def runs_in_numpy(pairs: Any, weights: Any, band: Any, out: Any) -> None:
    """Do the same, one diagonal of all pairs after the other."""
    for offset in _offsets(pairs, len(band)):
        pair, step, x, z = _diagonal(pairs, offset)
        cell = np.arange(len(x))
        differs = np.maximum.accumulate(np.where((x == z) & (x >= 0), -1, cell))
        r = np.minimum(np.minimum(cell - differs, step + 1), len(weights) - 1)
        out += band[abs(offset)] * np.bincount(pair, weights[r], len(out))


def near_matches(pairs: Any, k: int, weights: Any, out: Any) -> None:
    """Write Σ weights[d] over the pairs of windows of k symbols without gaps, d apart."""
    codes_a, starts_a, codes_b, starts_b, I, J = pairs
    for p in range(len(I)):
        x = codes_a[starts_a[I[p]] : starts_a[I[p] + 1]]
        z = codes_b[starts_b[J[p]] : starts_b[J[p] + 1]]
        total = 0.0
        for offset in range(1 - len(x), len(z)):
            s, t = x[max(0, -offset) :], z[max(0, offset) :]
            d = 0
            gaps = 0
            for step in range(min(len(s), len(t))):
                d += s[step] != t[step]
                gaps += (s[step] < 0) | (t[step] < 0)
                if step >= k - 1:
                    total += weights[d] * (gaps == 0)
                    d -= s[step - k + 1] != t[step - k + 1]
                    gaps -= (s[step - k + 1] < 0) | (t[step - k + 1] < 0)
        out[p] = total


def near_matches_in_numpy(pairs: Any, k: int, weights: Any, out: Any) -> None:
    """Do the same, one diagonal of all pairs after the other."""
    table = np.append(weights, 0.0)  # of windows with a gap, which counts like k + 1 differences
    for offset in _offsets(pairs, len(pairs[0]) + len(pairs[2])):
        pair, step, x, z = _diagonal(pairs, offset)
        wrong = np.where((x < 0) | (z < 0), k + 1, x != z)
        total = np.concatenate([[0], np.cumsum(wrong)])
        end = np.flatnonzero(step >= k - 1) + 1
        d = np.minimum(total[end] - total[end - k], k + 1)
        out += np.bincount(pair[end - 1], table[d], len(out))


def _offsets(pairs: Any, reach: int) -> range:
    """Return the diagonals j - i of the longest strings, all of them nearer than `reach`."""
    _, starts_a, _, starts_b, I, J = pairs
    m, n = (int((s[p + 1] - s[p]).max(initial=0)) for s, p in ((starts_a, I), (starts_b, J)))
    return range(max(1 - m, 1 - reach), min(n, reach))


def _diagonal(pairs: Any, offset: int) -> tuple[Array, Array, Array, Array]:
    """Return pair, place and both symbols of the cells (i, i + offset) of all pairs, end to end."""
    codes_a, starts_a, codes_b, starts_b, I, J = pairs
    first_a, first_b = starts_a[I] + max(0, -offset), starts_b[J] + max(0, offset)
    length = np.maximum(0, np.minimum(starts_a[I + 1] - first_a, starts_b[J + 1] - first_b))
    pair = np.repeat(np.arange(len(I)), length)
    step = np.arange(len(pair)) - (np.cumsum(length) - length)[pair]
    return pair, step, codes_a[first_a[pair] + step], codes_b[first_b[pair] + step]


COMPILED: dict[str, Any] = {"subsequences": subsequences, "runs": runs, "windows": near_matches}
BATCHED: dict[str, Any] = {
    "subsequences": subsequences_in_numpy,
    "runs": runs_in_numpy,
    "windows": near_matches_in_numpy,
}
