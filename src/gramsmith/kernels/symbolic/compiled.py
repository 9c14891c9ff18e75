"""Compiled loops over pairs of strings, used where numba is installed (the extra `fast`).

Each function has a twin of the same name in `batched` that needs NumPy only and gives the same
numbers. Samples lie end to end in `codes`, sample i in ``codes[starts[i]:starts[i + 1]]``; `I` and
`J` name the pairs. The functions are plain Python here and compiled on first use.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gramsmith.kernels.compilation import available, compile_loop

LANES = 64


def run(loop: Callable[..., Any], *arguments: Any) -> Any:
    """Run a loop that fills arrays: compiled, or on lists, which Python reads faster."""
    if available():
        return compile_loop(loop)(*arguments)
    plain = [x.tolist() if isinstance(x, np.ndarray) else x for x in arguments]
    value = loop(*plain)
    for array, filled in zip(arguments, plain, strict=True):
        if isinstance(array, np.ndarray):
            array[:] = filled
    return value


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
    """Write the gap-weighted subsequence kernel of each pair, or its derivative by the decay.

    Up to LANES pairs advance together, one per vector lane. With M[i, j] = 1 where symbols match,
    S_q = λ² M D_{q-1} (shifted by one cell) ends a subsequence of q symbols at (i, j), and
    D_q = S_q + λ D_q(i-1, j) + λ D_q(i, j-1) - λ² D_q(i-1, j-1) carries it on over gaps;
    the kernel is the sum of S_length.
    """
    batches = -(-len(I) // LANES)
    width = -(-len(I) // max(1, batches))  # batches of nearly equal size leave few lanes idle
    longest_a = longest_b = 0
    for p in range(len(I)):
        longest_a = max(longest_a, starts_a[I[p] + 1] - starts_a[I[p]])
        longest_b = max(longest_b, starts_b[J[p] + 1] - starts_b[J[p]])
    S = np.empty((longest_a, width), dtype=np.int32)
    T = np.empty((longest_b, width), dtype=np.int32)
    M = np.empty((longest_b, width))
    D = np.empty((length, longest_b + 1, width))
    dD = np.empty((length if slope else 0, longest_b + 1, width))
    F = np.empty(width)
    dF = np.empty(width)
    total = np.empty(width)
    square, twice = decay * decay, 2.0 * decay
    for first in range(0, len(I), max(1, width)):
        lanes = min(width, len(I) - first)
        m = n = 0
        for c in range(lanes):
            m = max(m, starts_a[I[first + c] + 1] - starts_a[I[first + c]])
            n = max(n, starts_b[J[first + c] + 1] - starts_b[J[first + c]])
        # -1 and -2 are gaps and filling: different on the two sides, so they never match.
        S[:m] = -1
        T[:n] = -2
        for c in range(lanes):
            start = starts_a[I[first + c]]
            for i in range(starts_a[I[first + c] + 1] - start):
                S[i, c] = codes_a[start + i]
            start = starts_b[J[first + c]]
            for j in range(starts_b[J[first + c] + 1] - start):
                T[j, c] = codes_b[start + j] if codes_b[start + j] >= 0 else -2
        D[0, : n + 1] = 1.0
        D[1:, : n + 1] = 0.0
        if slope:
            dD[:, : n + 1] = 0.0
        total[:] = 0.0
        for i in range(m):
            for j in range(n):
                for c in range(width):
                    M[j, c] = 1.0 if S[i, c] == T[j, c] else 0.0
            # Downwards in q: level q reads level q - 1 as the row above left it.
            for q in range(length, 0, -1):
                F[:] = 0.0
                dF[:] = 0.0
                if q == length and not slope:
                    for j in range(n):
                        for c in range(width):
                            total[c] += M[j, c] * D[q - 1, j, c]
                elif q == length:
                    for j in range(n):
                        for c in range(width):
                            total[c] += M[j, c] * (
                                twice * D[q - 1, j, c] + square * dD[q - 1, j, c]
                            )
                elif not slope:
                    for j in range(n):
                        for c in range(width):
                            F[c] = square * M[j, c] * D[q - 1, j, c] + decay * F[c]
                            D[q, j + 1, c] = F[c] + decay * D[q, j + 1, c]
                else:
                    for j in range(n):
                        for c in range(width):
                            dF[c] = (
                                M[j, c] * (twice * D[q - 1, j, c] + square * dD[q - 1, j, c])
                                + F[c]
                                + decay * dF[c]
                            )
                            F[c] = square * M[j, c] * D[q - 1, j, c] + decay * F[c]
                            dD[q, j + 1, c] = dF[c] + D[q, j + 1, c] + decay * dD[q, j + 1, c]
                            D[q, j + 1, c] = F[c] + decay * D[q, j + 1, c]
        for c in range(lanes):
            out[first + c] = total[c] if slope else total[c] * square


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
    """Write Σ band[|i - j|] weights[r(i, j)] over the cells of each pair with |i - j| < len(band).

    r(i, j) is the length of the common substring that ends at i and j; lengths past the end of
    `weights` count like its last entry.
    """
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
