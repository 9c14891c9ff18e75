"""Compiled loops over a tile: what a sweep does with it, in one go while it is in the cache.

Used for sweeps over many samples where numba is installed (`gramsmith.kernels.compilation`). The
same sums in NumPy stand in `band`; they differ in the last digits only.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gramsmith.kernels.compilation import compile_loop

Array = npt.NDArray[Any]

STRIP = 32  # rows whose products are added up in the type of the tile


def tile_sums(
    K: Array,
    pivot: float,
    VI: Array,
    VJ: Array,
    wi: Array | None,
    wj: Array | None,
    PI: Array,
    PJ: Array | None,
) -> float:
    """Add K V to PI and K' V to PJ, K less its pivot, and return Σ w_i w_j K_ij².

    Parameters
    ----------
    K : array of shape (m, n)
    pivot : float
    VI, VJ : arrays of shape (m, t) and (n, t)
        The probe of the rows and of the columns, in the type of K.
    wi, wj : arrays of shape (m,) and (n,), or None
        Weights, None where all are 1.
    PI, PJ : arrays of shape (m, t) and (n, t), float64
        PJ is None for a tile on the diagonal, which is its own mirror image.
    """
    right, left = np.empty(VI.shape), np.zeros(VJ.shape[::-1])
    weighted = wi is not None and wj is not None
    square = compile_loop(add_tile, "contract", "reassoc")(
        K,
        K.dtype.type(pivot),
        np.ascontiguousarray(VI.T),
        np.ascontiguousarray(VJ.T),
        wi if weighted else np.ones(len(K)),
        wj if weighted else np.empty(0),
        right,
        left,
    )
    PI += right
    if PJ is not None:
        PJ += left.T
    return float(square)


def add_tile(
    K: Any, pivot: Any, VI: Any, VJ: Any, wi: Any, wj: Any, right: Any, left: Any
) -> float:
    """Do what `tile_sums` does, four rows at a time; without weights `wj` is empty.

    Sums over the columns of a row and over STRIP rows are in the type of K, all others in float64.
    """
    m, n = K.shape
    zero = pivot - pivot
    total = 0.0
    part = np.zeros_like(VJ)  # of `left`, of some rows
    for i in range(0, m, 4):
        # rows past the end are the last one again, without weight
        i1, i2, i3 = min(i + 1, m - 1), min(i + 2, m - 1), min(i + 3, m - 1)
        K0, K1, K2, K3 = K[i], K[i1], K[i2], K[i3]
        w0 = wi[i]
        w1 = wi[i1] if i + 1 < m else 0.0
        w2 = wi[i2] if i + 2 < m else 0.0
        w3 = wi[i3] if i + 3 < m else 0.0
        if len(wj):
            f0, f1, f2, f3 = 0.0, 0.0, 0.0, 0.0
            for j in range(n):
                b0, b1, b2, b3 = K0[j] - pivot, K1[j] - pivot, K2[j] - pivot, K3[j] - pivot
                f0 += b0 * b0 * wj[j]
                f1 += b1 * b1 * wj[j]
                f2 += b2 * b2 * wj[j]
                f3 += b3 * b3 * wj[j]
            total += w0 * f0 + w1 * f1 + w2 * f2 + w3 * f3
        else:
            s0, s1, s2, s3 = zero, zero, zero, zero
            for j in range(n):
                b0, b1, b2, b3 = K0[j] - pivot, K1[j] - pivot, K2[j] - pivot, K3[j] - pivot
                s0 += b0 * b0
                s1 += b1 * b1
                s2 += b2 * b2
                s3 += b3 * b3
            total += w0 * s0 + w1 * s1 + w2 * s2 + w3 * s3
        for c in range(len(VJ)):
            V, P = VJ[c], part[c]
            u0 = VI[c, i]
            u1 = VI[c, i1] if i + 1 < m else zero
            u2 = VI[c, i2] if i + 2 < m else zero
            u3 = VI[c, i3] if i + 3 < m else zero
            s0, s1, s2, s3 = zero, zero, zero, zero
            for j in range(n):
                b0, b1, b2, b3 = K0[j] - pivot, K1[j] - pivot, K2[j] - pivot, K3[j] - pivot
                s0 += b0 * V[j]
                s1 += b1 * V[j]
                s2 += b2 * V[j]
                s3 += b3 * V[j]
                P[j] += b0 * u0 + b1 * u1 + b2 * u2 + b3 * u3
            right[i, c] = s0
            right[i1, c] = s1 if i + 1 < m else s0
            right[i2, c] = s2 if i + 2 < m else right[i1, c]
            right[i3, c] = s3 if i + 3 < m else right[i2, c]
        if i % STRIP + 4 >= STRIP or i + 4 >= m:
            for c in range(len(VJ)):
                P, Q = part[c], left[c]
                for j in range(n):
                    Q[j] += P[j]
                    P[j] = zero
    return total


def tile_weights(
    L: Array, R: Array, factor: float, K: Array, wi: Array | None, wj: Array | None, out: Array
) -> None:
    """Write L R' + factor (w_i w_j) K into `out`.

    Parameters
    ----------
    L, R : arrays of shape (m, t) and (n, t)
    factor : float
    K : array of shape (m, n)
    wi, wj : arrays of shape (m,) and (n,), or None
        Weights, None where all are 1.
    out : array of shape (m, n)
    """
    (m, n), t = K.shape, L.shape[1]
    by_row, by_column = np.zeros((m, t + -t % 4), K.dtype), np.zeros((t + -t % 4, n), K.dtype)
    by_row[:, :t], by_column[:t] = L, R.T
    fi = np.full(m, factor) if wi is None else factor * wi
    fj = np.ones(n) if wj is None else wj
    loop = compile_loop(weigh_tile, "contract", "reassoc")
    loop(by_row, by_column, fi.astype(K.dtype), fj.astype(K.dtype), K, out)


def weigh_tile(L: Any, R: Any, fi: Any, fj: Any, K: Any, out: Any) -> None:
    """Do what `tile_weights` does, four columns of L at a time; their number is a multiple of 4."""
    m, n = K.shape
    for i in range(m):
        row, W, f = K[i], out[i], fi[i]
        for c in range(0, L.shape[1], 4):
            l0, l1, l2, l3 = L[i, c], L[i, c + 1], L[i, c + 2], L[i, c + 3]
            R0, R1, R2, R3 = R[c], R[c + 1], R[c + 2], R[c + 3]
            if c == 0:
                for j in range(n):
                    W[j] = (
                        (l0 * R0[j] + l1 * R1[j]) + (l2 * R2[j] + l3 * R3[j]) + f * fj[j] * row[j]
                    )
            else:
                for j in range(n):
                    W[j] += (l0 * R0[j] + l1 * R1[j]) + (l2 * R2[j] + l3 * R3[j])
