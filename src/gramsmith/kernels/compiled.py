"""Compiled loops over the entries of a tile: the exponential, and what a sweep does with a tile.

They are used on the compiled route (`compilation`); NumPy gives the same numbers but for the last
digits.

**The exponential.** NumPy computes exp of float64 number by number unless the processor has
AVX-512. Here

    exp(x) = 2^k p(r),    k = round(x / ln 2),    r = x - k ln 2,    |r| <= ln(2) / 2,

without a branch, so that the compiler works on as many numbers as fit a register. The result is
within 1.1 units in the last place for every x, also where it is subnormal.

**Sums.** A tile is read once for its products with the probe on both sides and for its squares.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gramsmith.kernels.compilation import compile_loop, on_compiled_route
from gramsmith.kernels.embedding import borrowed

Array = npt.NDArray[Any]

# p(r) = 1 + r + r² (c0 + c1 r + ...) with the smallest largest relative error: 4e-18 and 3e-9.
# After the coefficients: the range beyond which nothing changes; 1 / ln 2; the number that rounds
# what it is added to, to a whole number in its last bits; ln 2 in two parts, of which the first has
# so few digits that its products with k are exact; below what the result may be subnormal; then the
# factors by which 2^(k + 63) and 2^(k - 1) miss 2^k, so that no power of two over- or underflows.
NUMBERS = {
    np.dtype(np.float64): np.array(
        [
            *(0.5000000000000011, 0.16666666666666413, 0.04166666666653016, 0.008333333333494446),
            *(0.0013888888943629925, 0.0001984126950660702, 2.480149309902565e-05),
            *(2.755758635352228e-06, 2.763024836847288e-07, 2.5000066626477466e-08),
            *(-746.0, 710.0, 1.4426950408889634, 1.5 * 2.0**52),
            *(0.6931471803691238, 1.9082149292705877e-10, -700.0, 2.0**-63, 2.0, 1.0),
        ]
    ),
    np.dtype(np.float32): np.array(
        [
            *(0.49999993447061625, 0.1666652063055764, 0.04166838819960762),
            *(0.008368716997592644, 0.0013814591106556125),
            *(-104.0, 89.0, 1.4426950408889634, 1.5 * 2.0**23),
            *(0.693145751953125, 1.4286068203094172e-06, -80.0, 2.0**-63, 2.0, 1.0),
        ],
        dtype=np.float32,
    ),
}
# The bits of 2^63 and 2^-1, to which k is added in the exponent.
POWERS = {
    np.dtype(np.float64): np.array([(1023 + 63) << 52, (1023 - 1) << 52], dtype=np.int64),
    np.dtype(np.float32): np.array([(127 + 63) << 23, (127 - 1) << 23], dtype=np.int32),
}

STRIP = 32  # rows whose products are added up in the type of the tile
COLUMNS = 8  # of the probe: more are quicker by a matrix product
NONE = np.empty(0)


def exp(x: Array) -> Array:
    """Return exp(x), written over x if that is an array of floating-point numbers.

    Parameters
    ----------
    x : array

    Returns
    -------
    array

    Examples
    --------
    >>> exp(np.array([0.0, -1.0])).round(6)
    array([1.      , 0.367879])
    """
    if not on_compiled_route() or x.dtype not in NUMBERS or not x.flags.c_contiguous:
        return np.asarray(np.exp(x, out=x))
    _compiled_exponentials(x.dtype)(x.reshape(-1), NUMBERS[x.dtype], POWERS[x.dtype])
    return x


def _compiled_exponentials(dtype: Any) -> Any:
    loop = double_exponentials if dtype == np.float64 else single_exponentials
    return compile_loop(loop, "contract")


def exponentials(x: Any, numbers: Any, powers: Any) -> None:
    """Write exp(x) over x."""
    loop = double_exponentials if x.dtype == np.float64 else single_exponentials
    loop(x, numbers, powers)


# The numbers come as arguments: as constants in the code each would be fetched by two instructions.
def double_exponentials(x: Any, numbers: Any, powers: Any) -> None:
    """Write exp(x) over x, float64."""
    c0, c1, c2, c3, c4 = numbers[0], numbers[1], numbers[2], numbers[3], numbers[4]
    c5, c6, c7, c8, c9 = numbers[5], numbers[6], numbers[7], numbers[8], numbers[9]
    least, most, per_octave, shift = numbers[10], numbers[11], numbers[12], numbers[13]
    octave, rest, limit = numbers[14], numbers[15], numbers[16]
    down, up, one = numbers[17], numbers[18], numbers[19]
    lifted, lowered = powers[0], powers[1]
    for i in range(len(x)):
        v = least if x[i] < least else x[i]  # nan stays
        v = most if v > most else v
        shifted = v * per_octave + shift
        k = shifted - shift
        r = (v - k * octave) - k * rest
        # even and odd powers apart: two short chains of operations instead of a long one
        s = r * r
        even = (((c8 * s + c6) * s + c4) * s + c2) * s + c0
        odd = (((c9 * s + c7) * s + c5) * s + c3) * s + c1
        p = ((odd * r + even) * s + r) + one
        small = v < limit
        bits = (np.float64(shifted).view(np.int64) << 52) + (lifted if small else lowered)
        x[i] = p * np.int64(bits).view(np.float64) * (down if small else up)


def single_exponentials(x: Any, numbers: Any, powers: Any) -> None:
    """Write exp(x) over x, float32."""
    c0, c1, c2, c3, c4 = numbers[0], numbers[1], numbers[2], numbers[3], numbers[4]
    least, most, per_octave, shift = numbers[5], numbers[6], numbers[7], numbers[8]
    octave, rest, limit = numbers[9], numbers[10], numbers[11]
    down, up, one = numbers[12], numbers[13], numbers[14]
    lifted, lowered = powers[0], powers[1]
    for i in range(len(x)):
        v = least if x[i] < least else x[i]
        v = most if v > most else v
        shifted = v * per_octave + shift
        k = shifted - shift
        r = (v - k * octave) - k * rest
        s = r * r
        p = (((c3 * s + c1) * r + ((c4 * s + c2) * s + c0)) * s + r) + one
        small = v < limit
        bits = (np.float32(shifted).view(np.int32) << 23) + (lifted if small else lowered)
        x[i] = p * np.int32(bits).view(np.float32) * (down if small else up)


def suits(K: Array, columns: int = 0) -> bool:
    """Return whether the loops below are to be used for a tile."""
    plain = K.dtype in NUMBERS and K.flags.c_contiguous and K.flags.writeable
    return on_compiled_route() and plain and columns <= COLUMNS


def tile_sums(
    K: Array,
    pivot: float,
    VI: Array,
    VJ: Array,
    wi: Array | None,
    wj: Array | None,
    PI: Array,
    PJ: Array | None,
    factors: tuple[Array, Array] | None = None,
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
    factors : (L, R), arrays of shape (m, p) and (n, p), optional
        K is exp(L R'), with ones on the diagonal of a tile there, and has yet to be written.
    """
    mirrored = PJ is not None
    pivot = K.dtype.type(pivot)
    weights = (NONE if wi is None else wi, NONE if wj is None else wj)
    sums = (VI, VJ, *weights, PI, PJ if mirrored else PI, mirrored)
    add = compile_loop(add_tile, "contract", "reassoc")
    if factors is None:
        return float(add(K, pivot, *sums))
    numbers, powers = NUMBERS[K.dtype], POWERS[K.dtype]
    exps = _compiled_exponentials(K.dtype)
    loop = compile_loop(add_exponential_tile, exponentials=exps, add_tile=add)
    return float(loop(*factors, K, numbers, powers, pivot, *sums))


def add_exponential_tile(
    L: Any,
    R: Any,
    K: Any,
    numbers: Any,
    powers: Any,
    pivot: Any,
    VI: Any,
    VJ: Any,
    wi: Any,
    wj: Any,
    PI: Any,
    PJ: Any,
    mirrored: bool,
) -> float:
    """Do what `tile_sums` does for a tile that is given by its factors."""
    np.dot(L, R.T, K)
    if not mirrored:
        for i in range(len(K)):
            K[i, i] = 0.0
    exponentials(K.reshape(-1), numbers, powers)
    return add_tile(K, pivot, VI, VJ, wi, wj, PI, PJ, mirrored)


def add_tile(
    K: Any, pivot: Any, VI: Any, VJ: Any, wi: Any, wj: Any, PI: Any, PJ: Any, mirrored: bool
) -> float:
    """Do what `tile_sums` does, four rows at a time; without weights `wi` and `wj` are empty.

    Sums over the columns of a row and over STRIP rows are in the type of K, all others in float64.
    """
    m, n = K.shape
    t = VJ.shape[1]
    zero = pivot - pivot
    total = 0.0
    right = np.empty((t, n), K.dtype)
    left = np.zeros((t, n), K.dtype)  # of the rows since the last strip ended
    for c in range(t):
        for j in range(n):
            right[c, j] = VJ[j, c]
    for i in range(0, m, 4):
        # rows past the end are the last one again, without weight
        i1, i2, i3 = min(i + 1, m - 1), min(i + 2, m - 1), min(i + 3, m - 1)
        g1, g2, g3 = i + 1 < m, i + 2 < m, i + 3 < m
        K0, K1, K2, K3 = K[i], K[i1], K[i2], K[i3]
        if len(wj):
            f0, f1, f2, f3 = 0.0, 0.0, 0.0, 0.0
            for j in range(n):
                b0, b1, b2, b3 = K0[j] - pivot, K1[j] - pivot, K2[j] - pivot, K3[j] - pivot
                f0 += b0 * b0 * wj[j]
                f1 += b1 * b1 * wj[j]
                f2 += b2 * b2 * wj[j]
                f3 += b3 * b3 * wj[j]
            total += wi[i] * f0 + g1 * wi[i1] * f1 + g2 * wi[i2] * f2 + g3 * wi[i3] * f3
        else:
            s0, s1, s2, s3 = zero, zero, zero, zero
            for j in range(n):
                b0, b1, b2, b3 = K0[j] - pivot, K1[j] - pivot, K2[j] - pivot, K3[j] - pivot
                s0 += b0 * b0
                s1 += b1 * b1
                s2 += b2 * b2
                s3 += b3 * b3
            total += s0 + g1 * 1.0 * s1 + g2 * 1.0 * s2 + g3 * 1.0 * s3
        for c in range(t):
            V, P = right[c], left[c]
            u0 = VI[i, c]
            u1 = VI[i1, c] if g1 else zero
            u2 = VI[i2, c] if g2 else zero
            u3 = VI[i3, c] if g3 else zero
            s0, s1, s2, s3 = zero, zero, zero, zero
            for j in range(n):
                b0, b1, b2, b3 = K0[j] - pivot, K1[j] - pivot, K2[j] - pivot, K3[j] - pivot
                s0 += b0 * V[j]
                s1 += b1 * V[j]
                s2 += b2 * V[j]
                s3 += b3 * V[j]
                P[j] += b0 * u0 + b1 * u1 + b2 * u2 + b3 * u3
            PI[i, c] += s0
            if g1:
                PI[i1, c] += s1
            if g2:
                PI[i2, c] += s2
            if g3:
                PI[i3, c] += s3
        if mirrored and (i % STRIP + 4 >= STRIP or i + 4 >= m):
            for c in range(t):
                P = left[c]
                for j in range(n):
                    PJ[j, c] += P[j]
                    P[j] = zero
    return total


def tile_weights(weights: Any, out: Array) -> None:
    """Write L R' + f (w w') K into `out`, for weights with one kernel (`gram.band.Weights`)."""
    compile_loop(weigh_tile, "contract", "reassoc")(*_weights(weights), out, False)


def pull_exponential(
    weights: Any, K: Array, Ra: Array, Rb: Array, scales: bool
) -> tuple[Array, Array]:
    """Return the derivatives of the weighted sum of exp(-|x - z|²) by the rows of both blocks.

    Parameters
    ----------
    weights : Weights with one kernel, K
    K : array of shape (m, n)
        The tile.
    Ra, Rb : arrays of shape (m, p + 2) and (n, p + 2)
        The rows x, and two columns more: 1 and |x|².
    scales : bool
        Whether only the products of the derivatives with the rows need be right, see
        `geometry.Geometry.pair_vjp`.

    Returns
    -------
    da, db : arrays of shape (m, p) and (n, p)
    """
    p = Ra.shape[1] - 2
    da, db = np.empty((len(Ra), p)), np.empty((len(Rb), p))
    weigh = compile_loop(weigh_tile, "contract", "reassoc")
    loop = compile_loop(pull_exponential_tile, weigh_tile=weigh)
    with borrowed(K.shape, K.dtype) as V:
        loop(*_weights(weights), V, Ra, Rb, scales, da, db)
    return da, db


def _weights(weights: Any) -> tuple[Array, ...]:
    """Return the arguments of `weigh_tile`: four columns at a time, rows of R contiguous."""
    ((factor, K),) = weights.kernels
    (m, n), t = K.shape, weights.left.shape[1]
    L, R = np.zeros((m, t + -t % 4), K.dtype), np.zeros((t + -t % 4, n), K.dtype)
    L[:, :t], R[:t] = weights.left, weights.right.T
    fi, fj = np.full(m, factor, K.dtype), np.ones(n, K.dtype)
    if weights.wi is not None:
        fi *= weights.wi.astype(K.dtype)
        fj[:] = weights.wj
    return L, R, fi, fj, K


def weigh_tile(L: Any, R: Any, fi: Any, fj: Any, K: Any, out: Any, times_tile: bool) -> None:
    """Write L R + f_i f_j K, or that times K, into `out`; the columns of L are a multiple of 4."""
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
        if times_tile:
            for j in range(n):
                W[j] *= row[j]


def pull_exponential_tile(
    L: Any,
    R: Any,
    fi: Any,
    fj: Any,
    K: Any,
    V: Any,
    Ra: Any,
    Rb: Any,
    scales: bool,
    da: Any,
    db: Any,
) -> None:
    """Do what `pull_exponential` does, with V for the weights times the tile."""
    weigh_tile(L, R, fi, fj, K, V, True)
    m, n = K.shape
    p = da.shape[1]
    # d exp(-|x - z|²) = -2 K (x - z)'(dx - dz); the column of ones in R gives the sums of V
    T = np.dot(V, Rb)
    share = 4.0 if scales else 2.0
    for i in range(m):
        for k in range(p):
            da[i, k] = share * T[i, k] - 2.0 * Ra[i, k] * T[i, p]
    if scales:
        # Σ_i x_i (V z)_i = Σ_j z_j (V'x)_j: one of the two products does for both
        sums = np.dot(np.ones(m, V.dtype), V)
        for j in range(n):
            for k in range(p):
                db[j, k] = -2.0 * Rb[j, k] * sums[j]
    else:
        T = np.dot(V.T, Ra)
        for j in range(n):
            for k in range(p):
                db[j, k] = 2.0 * T[j, k] - 2.0 * Rb[j, k] * T[j, p]
