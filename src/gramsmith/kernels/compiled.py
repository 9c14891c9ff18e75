"""Compiled loops over the entries of a tile: the exponential, and what a sweep does with a tile.

They are used on the compiled route (`compilation`); NumPy gives the same numbers but for the last
digits.

**The exponential.** NumPy computes exp of float64 number by number unless the processor has
AVX-512. Here

    exp(x) = 2^k p(r),    k = round(x / ln 2),    r = x - k ln 2,    |r| <= ln(2) / 2,

without a branch, so that the compiler works on as many numbers as fit a register. The result is
within 1.1 units in the last place for every x, also where it is subnormal.

**Sums.** A tile is read once for its products with the probe on both sides and for its squares.
Where a kernel is the exponential of a matrix product, a whole band of tiles is one compiled
function: the product, the exponentials, and what is done with them, for some rows at a time.
"""

from __future__ import annotations

from dataclasses import dataclass
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
HEIGHT = 128  # rows of a tile that are formed and used at a time, while they are in the cache
PULLED = 64  # the same in a backward sweep, where they are used by another product
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
    plain = K.flags.c_contiguous and K.flags.writeable
    return plain and suits_type(K.dtype, columns)


def suits_type(dtype: Any, columns: int = 0) -> bool:
    """Return whether the loops below are to be used for tiles of a type."""
    return on_compiled_route() and np.dtype(dtype) in NUMBERS and columns <= COLUMNS


def columns_first(V: Array) -> Array:
    """Return V' with an even number of rows: an odd column has one of zeros beside it."""
    n, t = V.shape
    rows = np.zeros((t + t % 2, n), V.dtype)
    rows[:t] = V.T
    return rows


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
    UI, UJ = columns_first(VI), columns_first(VJ)
    left, part = np.zeros(UJ.shape), np.zeros(UJ.shape, K.dtype)
    weights = (NONE if wi is None else wi, NONE if wj is None else wj)
    add = compile_loop(add_rows, "contract", "reassoc")
    square = add(K, K.dtype.type(pivot), UI, UJ, *weights, 0, 0, PI, left, part, PJ is not None)
    if PJ is not None:
        PJ += left[: VJ.shape[1]].T
    return float(square)


@dataclass(frozen=True)
class Run:
    """Where the tiles of a band begin and end.

    Parameters
    ----------
    edges : array of shape (tiles + 1,)
        The first column of every tile, and the end of the last one.
    folds : array of shape (tiles,)
        The fold of the columns of every tile.
    same : bool
        Whether the first tile is on the diagonal.
    """

    edges: Array
    folds: Array
    same: bool

    @property
    def widest(self) -> int:
        """The columns of the widest tile."""
        return int(np.diff(self.edges).max())


def band_sums(
    factors: tuple[Array, Array],
    run: Run,
    pivots: Array,
    VI: Array,
    VJ: Array,
    wi: Array | None,
    wj: Array | None,
    right: Array,
    left: Array,
) -> Array:
    """Add K V and K' V of the tiles of a band and return Σ w_i w_j K_ij² of every tile.

    Parameters
    ----------
    factors : (L, R), arrays of shape (b, p) and (c, p)
        K is exp(L R'), and 1 on the diagonal.
    run : Run
    pivots : array of shape (m,)
        Every further kernel is the square of the one before.
    VI, VJ : arrays of shape (b, t) and (c, t)
        The probe of the rows and of the columns, in the type of the factors.
    wi, wj : arrays of shape (b,) and (c,), or None
    right : array of shape (m, folds, b, t), float64
    left : array of shape (m, c, t), float64

    Returns
    -------
    array of shape (m, tiles)
    """
    L, R = factors
    numbers, powers = NUMBERS[L.dtype], POWERS[L.dtype]
    add = compile_loop(add_rows, "contract", "reassoc")
    exps = _compiled_exponentials(L.dtype)
    loop = compile_loop(add_band, exponentials=exps, add_rows=add)
    UI, UJ = columns_first(VI), columns_first(VJ)
    mirrored = np.zeros((len(pivots), *UJ.shape))
    squares = np.zeros((len(pivots), len(run.folds)))
    weights = (NONE if wi is None else wi, NONE if wj is None else wj)
    with borrowed((HEIGHT * run.widest,), L.dtype) as room:
        loop(
            *(L, R, room, numbers, powers, pivots.astype(L.dtype), UI, UJ, *weights),
            *(run.edges, run.folds, run.same, right, mirrored, squares),
        )
    left += mirrored[:, : VJ.shape[1]].transpose(0, 2, 1)
    return squares


def add_band(
    L: Any,
    R: Any,
    room: Any,
    numbers: Any,
    powers: Any,
    pivots: Any,
    UI: Any,
    UJ: Any,
    wi: Any,
    wj: Any,
    edges: Any,
    folds: Any,
    same: bool,
    right: Any,
    left: Any,
    squares: Any,
) -> None:
    """Do what `band_sums` does, with room for HEIGHT rows."""
    b = len(L)
    part = np.zeros((len(UJ), len(room) // HEIGHT), room.dtype)
    for tile in range(len(folds)):
        start, stop = edges[tile], edges[tile + 1]
        n = stop - start
        diagonal = same and tile == 0
        columns = R[start:stop].T
        for i in range(0, b, HEIGHT):
            end = min(i + HEIGHT, b)
            flat = room[: (end - i) * n]
            K = flat.reshape((end - i, n))
            np.dot(L[i:end], columns, K)
            if diagonal:
                for k in range(i, end):
                    K[k - i, k] = 0.0
            exponentials(flat, numbers, powers)
            for k in range(len(pivots)):
                if k > 0:
                    for j in range(len(flat)):
                        flat[j] *= flat[j]
                PI = right[k, folds[tile], i:end]
                squares[k, tile] += add_rows(
                    K, pivots[k], UI, UJ, wi, wj, i, start, PI, left[k], part, not diagonal
                )


def add_rows(
    K: Any,
    pivot: Any,
    UI: Any,
    UJ: Any,
    wi: Any,
    wj: Any,
    first: int,
    start: int,
    PI: Any,
    PJ: Any,
    part: Any,
    mirrored: bool,
) -> float:
    """Add the products of some rows of a tile, four at a time; without weights those are empty.

    Sums over the columns of a row and over STRIP rows are in the type of K, all others in float64.

    Parameters
    ----------
    K : array of shape (m, n)
    pivot : number, which is taken off K
    UI, UJ : arrays of shape (2u, .)
        Rows of the probe's transpose: of K's rows from `first` on, of its columns from `start` on.
    wi, wj : the same for the weights
    first, start : int
    PI : array of shape (m, t)
    PJ : array of shape (2u, .), from `start` on
    part : array of shape (2u, n) of zeros, to work with
    mirrored : bool
        Whether PJ is wanted.
    """
    m, n = K.shape
    t = PI.shape[1]
    zero = pivot - pivot
    total = 0.0
    weighted = len(wj) > 0
    for i in range(0, m, 4):
        # rows past the end are the last one again, without weight
        i1, i2, i3 = min(i + 1, m - 1), min(i + 2, m - 1), min(i + 3, m - 1)
        g1, g2, g3 = i + 1 < m, i + 2 < m, i + 3 < m
        K0, K1, K2, K3 = K[i], K[i1], K[i2], K[i3]
        if weighted:
            w = wj[start : start + n]
            f0, f1, f2, f3 = 0.0, 0.0, 0.0, 0.0
            for j in range(n):
                b0, b1, b2, b3 = K0[j] - pivot, K1[j] - pivot, K2[j] - pivot, K3[j] - pivot
                f0 += b0 * b0 * w[j]
                f1 += b1 * b1 * w[j]
                f2 += b2 * b2 * w[j]
                f3 += b3 * b3 * w[j]
            total += wi[first + i] * f0 + g1 * wi[first + i1] * f1
            total += g2 * wi[first + i2] * f2 + g3 * wi[first + i3] * f3
        elif t == 0:
            f0, f1, f2, f3 = 0.0, 0.0, 0.0, 0.0
            for j in range(n):
                b0, b1, b2, b3 = K0[j] - pivot, K1[j] - pivot, K2[j] - pivot, K3[j] - pivot
                f0 += b0 * b0
                f1 += b1 * b1
                f2 += b2 * b2
                f3 += b3 * b3
            total += f0 + g1 * f1 + g2 * f2 + g3 * f3
        for c in range(0, len(UJ), 2):
            V, P = UJ[c, start : start + n], part[c]
            W, Q = UJ[c + 1, start : start + n], part[c + 1]
            u0, v0 = UI[c, first + i], UI[c + 1, first + i]
            u1 = UI[c, first + i1] if g1 else zero
            u2 = UI[c, first + i2] if g2 else zero
            u3 = UI[c, first + i3] if g3 else zero
            v1 = UI[c + 1, first + i1] if g1 else zero
            v2 = UI[c + 1, first + i2] if g2 else zero
            v3 = UI[c + 1, first + i3] if g3 else zero
            s0, s1, s2, s3 = zero, zero, zero, zero
            r0, r1, r2, r3 = zero, zero, zero, zero
            if c == 0 and not weighted:
                q0, q1, q2, q3 = zero, zero, zero, zero
                for j in range(n):
                    b0, b1, b2, b3 = K0[j] - pivot, K1[j] - pivot, K2[j] - pivot, K3[j] - pivot
                    s0 += b0 * V[j]
                    s1 += b1 * V[j]
                    s2 += b2 * V[j]
                    s3 += b3 * V[j]
                    r0 += b0 * W[j]
                    r1 += b1 * W[j]
                    r2 += b2 * W[j]
                    r3 += b3 * W[j]
                    q0 += b0 * b0
                    q1 += b1 * b1
                    q2 += b2 * b2
                    q3 += b3 * b3
                    P[j] += b0 * u0 + b1 * u1 + b2 * u2 + b3 * u3
                    Q[j] += b0 * v0 + b1 * v1 + b2 * v2 + b3 * v3
                total += q0 + g1 * 1.0 * q1 + g2 * 1.0 * q2 + g3 * 1.0 * q3
            else:
                for j in range(n):
                    b0, b1, b2, b3 = K0[j] - pivot, K1[j] - pivot, K2[j] - pivot, K3[j] - pivot
                    s0 += b0 * V[j]
                    s1 += b1 * V[j]
                    s2 += b2 * V[j]
                    s3 += b3 * V[j]
                    r0 += b0 * W[j]
                    r1 += b1 * W[j]
                    r2 += b2 * W[j]
                    r3 += b3 * W[j]
                    P[j] += b0 * u0 + b1 * u1 + b2 * u2 + b3 * u3
                    Q[j] += b0 * v0 + b1 * v1 + b2 * v2 + b3 * v3
            PI[i, c] += s0
            if g1:
                PI[i1, c] += s1
            if g2:
                PI[i2, c] += s2
            if g3:
                PI[i3, c] += s3
            if c + 1 < t:
                PI[i, c + 1] += r0
                if g1:
                    PI[i1, c + 1] += r1
                if g2:
                    PI[i2, c + 1] += r2
                if g3:
                    PI[i3, c + 1] += r3
        if i % STRIP + 4 >= STRIP or i + 4 >= m:
            for c in range(len(UJ)):
                P, S = part[c], PJ[c, start : start + n]
                if mirrored:
                    for j in range(n):
                        S[j] += P[j]
                for j in range(n):
                    P[j] = zero
    return total


def tile_weights(weights: Any, out: Array) -> None:
    """Write L R' + f (w w') K into `out`, for weights with one kernel (`gram.band.Weights`)."""
    ((factor, K),) = weights.kernels
    dtype = K.dtype
    L, R = fours(weights.left.astype(dtype)), fours(weights.right.astype(dtype))
    fi = np.full(len(K), factor, dtype)
    fj = np.ones(K.shape[1], dtype)
    if weights.wi is not None:
        fi *= weights.wi.astype(dtype)
        fj[:] = weights.wj
    np.copyto(out, K)
    weigh = compile_loop(weigh_rows, "contract", "reassoc")
    with borrowed((K.shape[1],), dtype) as row:
        weigh(out, L, R, fi, fj, 0, 0, dtype.type(1.0), False, row, np.zeros(len(K)))


def fours(V: Array) -> Array:
    """Return V' with a multiple of four rows, the last ones 0."""
    n, t = V.shape
    rows = np.zeros((max(4, t + -t % 4), n), V.dtype)
    rows[:t] = V.T
    return rows


@dataclass(frozen=True)
class Pull:
    """The derivatives by the tiles of a band, L_i'R_j + f_i f_j K_ij, half of that on the diagonal.

    Parameters
    ----------
    left : array of shape (4u, b)
    right : array of shape (4u, c)
    fi, fj : arrays of shape (b,) and (c,)
    run : Run
    """

    left: Array
    right: Array
    fi: Array
    fj: Array
    run: Run


def band_products(
    factors: tuple[Array, Array], pull: Pull, Xa: Array, Xb: Array | None
) -> tuple[Array, Array, Array]:
    """Return the products of V = K * (derivatives by K) with rows, for K = exp(L R').

    Parameters
    ----------
    factors : (L, R), arrays of shape (b, p) and (c, p)
    pull : Pull
    Xa : array of shape (b, q)
    Xb : array of shape (c, r), or None where products with it are not wanted

    Returns
    -------
    by_columns : array of shape (q, c)
        Xa' V.
    by_rows : array of shape (b, r)
        V Xb.
    sums : array of shape (b,)
        V 1.
    """
    L, R = factors
    numbers, powers = NUMBERS[L.dtype], POWERS[L.dtype]
    weigh = compile_loop(weigh_rows, "contract", "reassoc")
    loop = compile_loop(pull_band, exponentials=_compiled_exponentials(L.dtype), weigh_rows=weigh)
    Xb = np.empty((len(R), 0), L.dtype) if Xb is None else Xb
    by_columns = np.zeros((Xa.shape[1], len(R)))
    by_rows, sums = np.zeros((len(L), Xb.shape[1])), np.zeros(len(L))
    run = pull.run
    with borrowed((PULLED * run.widest,), L.dtype) as room:
        loop(
            *(L, R, room, numbers, powers, pull.left, pull.right, pull.fi, pull.fj),
            *(run.edges, run.same, Xa, Xb, by_columns, by_rows, sums),
        )
    return by_columns, by_rows, sums


def pull_band(
    L: Any,
    R: Any,
    room: Any,
    numbers: Any,
    powers: Any,
    left: Any,
    right: Any,
    fi: Any,
    fj: Any,
    edges: Any,
    same: bool,
    Xa: Any,
    Xb: Any,
    by_columns: Any,
    by_rows: Any,
    sums: Any,
) -> None:
    """Do what `band_products` does, with room for PULLED rows."""
    b, q, r = len(L), Xa.shape[1], Xb.shape[1]
    widest = len(room) // PULLED
    one = numbers[-1]
    row = np.empty(widest, room.dtype)
    flat_product = np.empty(q * widest, room.dtype)
    for tile in range(len(edges) - 1):
        start, stop = edges[tile], edges[tile + 1]
        n = stop - start
        diagonal = same and tile == 0
        share = one / (one + one) if diagonal else one
        columns = R[start:stop].T
        product = flat_product[: q * n].reshape((q, n))
        for i in range(0, b, PULLED):
            end = min(i + PULLED, b)
            flat = room[: (end - i) * n]
            V = flat.reshape((end - i, n))
            np.dot(L[i:end], columns, V)
            if diagonal:
                for k in range(i, end):
                    V[k - i, k] = 0.0
            exponentials(flat, numbers, powers)
            weigh_rows(V, left, right, fi, fj, i, start, share, True, row, sums)
            np.dot(Xa[i:end].T, V, product)
            for k in range(q):
                P, S = product[k], by_columns[k, start:stop]
                for j in range(n):
                    S[j] += P[j]
            if r > 0:
                by_rows[i:end] += np.dot(V, Xb[start:stop])


def weigh_rows(
    V: Any,
    left: Any,
    right: Any,
    fi: Any,
    fj: Any,
    first: int,
    start: int,
    share: Any,
    times_tile: bool,
    row: Any,
    sums: Any,
) -> None:
    """Write L'R + f_i f_j K, a share of it, or that times K, over K, and add the sums of the rows.

    Parameters
    ----------
    V : array of shape (m, n)
        K, and then the result.
    left, right : arrays of shape (4u, .)
        Of K's rows from `first` on, and of its columns from `start` on.
    fi, fj : the same for the weights
    first, start : int
    share : number
    times_tile : bool
    row : array of at least n numbers, to work with
    sums : array, from `first` on
    """
    m, n = V.shape
    g = fj[start : start + n]
    for i in range(m):
        K, f = V[i], share * fi[first + i]
        total = share - share
        for c in range(0, len(left), 4):
            last = c + 4 >= len(left)
            l0, l1 = share * left[c, first + i], share * left[c + 1, first + i]
            l2, l3 = share * left[c + 2, first + i], share * left[c + 3, first + i]
            R0, R1 = right[c, start : start + n], right[c + 1, start : start + n]
            R2, R3 = right[c + 2, start : start + n], right[c + 3, start : start + n]
            if c == 0 and last and times_tile:
                for j in range(n):
                    w = (l0 * R0[j] + l1 * R1[j]) + (l2 * R2[j] + l3 * R3[j])
                    v = (w + f * g[j] * K[j]) * K[j]
                    K[j] = v
                    total += v
            elif c == 0:
                for j in range(n):
                    w = (l0 * R0[j] + l1 * R1[j]) + (l2 * R2[j] + l3 * R3[j])
                    row[j] = w + f * g[j] * K[j]
            else:
                for j in range(n):
                    row[j] += (l0 * R0[j] + l1 * R1[j]) + (l2 * R2[j] + l3 * R3[j])
            if last and times_tile and c > 0:
                for j in range(n):
                    v = row[j] * K[j]
                    K[j] = v
                    total += v
            elif last and not times_tile:
                for j in range(n):
                    K[j] = row[j]
        sums[first + i] += total
