"""Compiled loops over the entries of a tile: the exponential, and what a sweep does with a tile.

They are used on the compiled route (`compilation`); NumPy gives the same numbers but for the last
digits.

**The exponential.** NumPy computes exp of float64 number by number unless the processor has
AVX-512. Here

    exp(x) = 2^k p(r),    k = round(x / ln 2),    r = x - k ln 2,    |r| <= ln(2) / 2,

without a branch, so that the compiler works on as many numbers as fit a register. The result is
within 1.1 units in the last place for every x, also where it is subnormal.

**Curves.** Kernels of a distance or of an inner product are a function of one number per pair,
which a matrix product gives: K = f(L R'). `Curve` says which functions f there are.

**Sums.** A tile is read once for its products with the probe on both sides and for its squares.
Where a kernel is a curve of a matrix product, a whole band of tiles is one compiled function: the
product, the curve, and what is done with its values, for some rows at a time.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
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

# What logarithms take: 1/3, 1/5, ... of the series of artanh, ln 2 in two parts, and 1; the bits of
# sqrt(1/2), and of the number that holds whole ones at the end of its digits.
SERIES = {
    np.dtype(np.float64): np.array(
        [*(1.0 / k for k in range(3, 23, 2)), 0.6931471803691238, 1.9082149292705877e-10, 1.0]
    ),
    np.dtype(np.float32): np.array(
        [*(1.0 / k for k in range(3, 11, 2)), 0.693145751953125, 1.4286068203094172e-06, 1.0],
        dtype=np.float32,
    ),
}
PLACES = {
    np.dtype(np.float64): np.array([0x3FE6A09E667F3BCD, 0x4330000000000000], dtype=np.int64),
    np.dtype(np.float32): np.array([0x3F3504F3, 0x4B000000], dtype=np.int32),
}
TABLES = {dtype: (NUMBERS[dtype], POWERS[dtype], SERIES[dtype], PLACES[dtype]) for dtype in NUMBERS}

STRIP = 32  # rows whose products are added up in the type of the tile
HEIGHT = 128  # rows of a tile that are formed and used at a time, while they are in the cache
PULLED = 64  # the same in a backward sweep, where they are used by another product
COLUMNS = 8  # of the probe: more are quicker by a matrix product
CHUNK = 1024  # numbers that a curve takes through all its steps at a time
NEAR = 1e-4  # share of the largest squared distance below which one is computed from differences
NONE = np.empty(0)

# What a curve may be, as a function of x, with numbers c.
EXPONENTIAL = 0  # exp(x)
ROOT = 1  # (1 + c1 r + c2 r²) exp(-r), r² = -c0 x, whose slope is (c3 / r + c4 + c5 r) exp(-r)
RATIONAL = 2  # (1 - x / 2 c0)^-c0
POWER = 3  # (c0 x + c1)^c2
TANGENT = 4  # tanh(c0 x + c1)


@dataclass(frozen=True)
class Curve:
    """A function f of one number x per pair.

    Parameters
    ----------
    kind : int
        EXPONENTIAL, ROOT, RATIONAL, POWER or TANGENT.
    numbers : tuple of float
        The constants of that kind.
    distance : bool
        Whether x is minus a squared distance, which is 0 for a sample with itself.
    cusp : bool
        Whether f has a kink at 0, so that small distances must be exact.
    """

    kind: int
    numbers: tuple[float, ...] = ()
    distance: bool = True
    cusp: bool = False

    def constants(self, dtype: Any) -> Array | None:
        """Return the numbers in the type of the tiles, None of an exponential.

        For None the compiler leaves out what the other kinds need, which is most of its work.
        """
        if self.kind == EXPONENTIAL:
            return None
        series = (2.0, SLIGHT, *TANH) if self.kind == TANGENT else (0.5,)
        return np.array([*self.numbers, *series], dtype)


@dataclass(frozen=True)
class Curved:
    """The tile f(L R').

    Parameters
    ----------
    left, right : arrays of shape (b, p) and (c, p)
        Where x is a distance, those of `geometry.SquaredEuclidean`.
    curve : Curve
    """

    left: Array
    right: Array
    curve: Curve

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the tile."""
        return np.dtype(self.left.dtype)


def _tanh_series(terms: int) -> tuple[float, ...]:
    """Return the coefficients of x, x³, x⁵, ... in tanh, from tanh' = 1 - tanh²."""
    c = [1.0]
    for k in range(1, terms):
        c.append(-sum(c[i] * c[k - 1 - i] for i in range(k)) / (2 * k + 1))
    return tuple(c)


SLIGHT = 0.15  # up to here the series of tanh is exact; beyond, exponentials lose no digits
TANH = _tanh_series(9)


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


def logarithms(x: Any, series: Any, places: Any) -> None:
    """Write log(x) over x, for x from 1 on; what is not finite becomes nan."""
    loop = double_logarithms if x.dtype == np.float64 else single_logarithms
    loop(x, series, places)


# log(x) = k ln 2 + 2 artanh(z), z = (m - 1) / (m + 1), where x = 2^k m and 1/2 <= m² < 2
def double_logarithms(x: Any, series: Any, places: Any) -> None:
    """Write log(x) over x, float64."""
    c1, c2, c3, c4, c5 = series[0], series[1], series[2], series[3], series[4]
    c6, c7, c8, c9, c10 = series[5], series[6], series[7], series[8], series[9]
    octave, rest, one = series[10], series[11], series[12]
    half, whole = places[0], places[1]
    base = np.int64(whole).view(np.float64)
    for i in range(len(x)):
        bits = np.float64(x[i]).view(np.int64)
        power = (bits - half) >> 52
        m = np.int64(bits - (power << 52)).view(np.float64)
        k = np.int64(power + whole).view(np.float64) - base
        z = (m - one) / (m + one)
        s = z * z
        q = s * s
        even = (((c10 * q + c8) * q + c6) * q + c4) * q + c2
        odd = (((c9 * q + c7) * q + c5) * q + c3) * q + c1
        tail = (z + z) * s * (even * s + odd) + k * rest
        x[i] = k * octave + ((z + z) + tail) + (x[i] - x[i])


def single_logarithms(x: Any, series: Any, places: Any) -> None:
    """Write log(x) over x, float32."""
    c1, c2, c3, c4 = series[0], series[1], series[2], series[3]
    octave, rest, one = series[4], series[5], series[6]
    half, whole = places[0], places[1]
    base = np.int32(whole).view(np.float32)
    for i in range(len(x)):
        bits = np.float32(x[i]).view(np.int32)
        power = np.int32(np.int32(bits - half) >> 23)
        m = np.int32(bits - (power << 23)).view(np.float32)
        k = np.int32(power + whole).view(np.float32) - base
        z = (m - one) / (m + one)
        s = z * z
        tail = (z + z) * s * (((c4 * s + c3) * s + c2) * s + c1) + k * rest
        x[i] = k * octave + ((z + z) + tail) + (x[i] - x[i])


@cache
def _loops(dtype: np.dtype[Any]) -> dict[str, Any]:
    """Return the compiled functions that others call, for tiles of a type."""
    double = dtype == np.float64
    exps = _compiled_exponentials(dtype)
    logs = compile_loop(double_logarithms if double else single_logarithms, "contract")
    curves = {"exponentials": exps, "logarithms": logs}
    bending = compile_loop(bend, "contract", **curves)
    return {
        "exponentials": exps,
        "bend": bending,
        "bend_slopes": compile_loop(bend_slopes, "contract", bend=bending, **curves),
        "exact_near": compile_loop(exact_near, "contract"),
        "add_rows": compile_loop(add_rows, "contract", "reassoc"),
        "weigh_rows": compile_loop(weigh_rows, "contract", "reassoc"),
        "times_slopes": compile_loop(times_slopes, "contract", "reassoc"),
    }


@cache
def _calling(loop: Any, dtype: np.dtype[Any], *names: str) -> Any:
    """Return a loop compiled with those of `_loops` that it calls."""
    return compile_loop(loop, **{name: _loops(dtype)[name] for name in names})


def curved_tile(curved: Curved, same: bool, out: Array) -> Array:
    """Write the tile f(L R') into an array and return it; f is not the exponential.

    Parameters
    ----------
    curved : Curved
    same : bool
        Whether rows and columns are the same samples.
    out : array of shape (b, c)
        See `suits`.
    """
    curve, dtype = curved.curve, curved.dtype
    np.matmul(curved.left, curved.right.T, out=out)
    finish = _calling(finish_tile, dtype, "bend", "exact_near")
    constants = curve.constants(dtype)
    flags = (same and curve.distance, curve.cusp)
    finish(out, curved.left, curved.right, curve.kind, constants, *flags, TABLES[dtype])
    return out


def finish_tile(
    S: Any,
    left: Any,
    right: Any,
    kind: int,
    c: Any,
    same: bool,
    cusp: bool,
    tables: Any,
) -> None:
    """Write f(S) over S = L R'."""
    if same:
        for i in range(len(S)):
            S[i, i] = 0.0
    if cusp:
        exact_near(S, left, right, 0, 0)
    bend(S.reshape(S.size), kind, c, np.empty(CHUNK, S.dtype), tables)


def exact_near(S: Any, left: Any, right: Any, first: int, start: int) -> None:
    """Replace small squared distances, S = -s, by those of the differences of the rows.

    Parameters
    ----------
    S : array of shape (m, n)
    left, right : arrays of shape (., p + 2)
        Of S's rows from `first` on, twice their numbers, and of its columns from `start` on.
    first, start : int
    """
    m, n = S.shape
    least = np.zeros(n, S.dtype)
    for i in range(m):
        row = S[i]
        for j in range(n):
            least[j] = row[j] if row[j] < least[j] else least[j]
    least[0] = NEAR * least.min()
    bound = least[0]
    p = left.shape[1] - 2
    for i in range(m):
        row = S[i]
        near = 0
        for j in range(n):
            near += row[j] > bound
        if near > 0:
            for j in range(n):
                if row[j] > bound:
                    total = 0.0
                    for k in range(p):
                        d = 0.5 * left[first + i, k] - right[start + j, k]
                        total += d * d
                    row[j] = -total


def bend(x: Any, kind: int, c: Any, spare: Any, tables: Any) -> None:
    """Write f(x) over x.

    Parameters
    ----------
    x : array of shape (n,)
    kind : int
        Not EXPONENTIAL.
    c : array
        `Curve.constants`.
    spare : array of shape (CHUNK,), to work with
    tables : TABLES of the type of x
    """
    numbers, powers, series, places = tables
    one = numbers[-1]
    zero = one - one
    for start in range(0, len(x), CHUNK):
        v = x[start : start + CHUNK]
        n = len(v)
        if kind == ROOT:
            scale, c1, c2 = c[0], c[1], c[2]
            for j in range(n):
                r = np.sqrt(scale * (zero if v[j] > zero else -v[j]))  # nan stays
                spare[j] = r
                v[j] = -r
            exponentials(v, numbers, powers)
            if c1 > zero:
                for j in range(n):
                    r = spare[j]
                    v[j] *= (c2 * r + c1) * r + one
        elif kind == RATIONAL:
            alpha = c[0]
            share = one / (alpha + alpha)
            for j in range(n):
                v[j] = (zero if v[j] > zero else -v[j]) * share + one
            logarithms(v, series, places)
            for j in range(n):
                v[j] *= -alpha
            exponentials(v, numbers, powers)
        elif kind == POWER:
            factor, constant = c[0], c[1]
            for j in range(n):
                v[j] = factor * v[j] + constant
                spare[j] = v[j]
            for _ in range(1, int(c[2])):
                for j in range(n):
                    v[j] *= spare[j]
        else:
            factor, constant, two, slight = c[0], c[1], c[2], c[3]
            t0, t1, t2, t3, t4, t5, t6, t7, t8 = (
                c[4],
                c[5],
                c[6],
                c[7],
                c[8],
                c[9],
                c[10],
                c[11],
                c[12],
            )
            for j in range(n):
                z = factor * v[j] + constant
                spare[j] = z
                v[j] = two * (z if z < zero else -z)
            exponentials(v, numbers, powers)
            for j in range(n):
                z, e = spare[j], v[j]
                s = z * z
                small = (((t8 * s + t7) * s + t6) * s + t5) * s + t4
                small = (((small * s + t3) * s + t2) * s + t1) * s + t0
                large = (one - e) / (one + e)
                large = -large if z < zero else large
                v[j] = z * small if s < slight * slight else large


def bend_slopes(x: Any, slope: Any, partial: Any, kind: int, c: Any, tables: Any) -> None:
    """Write f(x) over x, its derivative by x into `slope`, and another one into `partial`.

    Parameters
    ----------
    x, slope : arrays of shape (n,)
    partial : array of shape (n,), or empty for ROOT
        The derivative by alpha of RATIONAL, by the factor of x of POWER and TANGENT.
    kind : int
        Not EXPONENTIAL, which is its own derivative.
    c : array
        `Curve.constants`.
    tables : TABLES of the type of x
    """
    numbers, powers, series, places = tables
    one = numbers[-1]
    zero = one - one
    for start in range(0, len(x), CHUNK):
        v, d = x[start : start + CHUNK], slope[start : start + CHUNK]
        e = partial[start : start + CHUNK]
        n = len(v)
        if kind == ROOT:
            scale, c1, c2, c3, c4, c5 = c[0], c[1], c[2], c[3], c[4], c[5]
            for j in range(n):
                r = np.sqrt(scale * (zero if v[j] > zero else -v[j]))
                d[j] = r
                v[j] = -r
            exponentials(v, numbers, powers)
            for j in range(n):
                r, w = d[j], v[j]
                v[j] = w * ((c2 * r + c1) * r + one)
                steep = c3 / r if r > zero else zero
                d[j] = w * ((c5 * r + c4) + steep)
        elif kind == RATIONAL:
            alpha, half = c[0], c[1]
            share = one / (alpha + alpha)
            for j in range(n):
                d[j] = (zero if v[j] > zero else -v[j]) * share + one
                v[j] = d[j]
            logarithms(v, series, places)
            for j in range(n):
                e[j] = v[j]
                v[j] *= -alpha
            exponentials(v, numbers, powers)
            for j in range(n):
                u = one / d[j]
                e[j] = v[j] * ((one - u) - e[j])
                d[j] = half * v[j] * u
        elif kind == POWER:
            factor, constant, degree = c[0], c[1], c[2]
            for j in range(n):
                e[j] = degree * v[j]
                v[j] = factor * v[j] + constant
                d[j] = one
            for _ in range(1, int(degree)):
                for j in range(n):
                    d[j] *= v[j]
            for j in range(n):
                v[j] *= d[j]
                e[j] *= d[j]
                d[j] *= factor * degree
        else:
            factor = c[0]
            for j in range(n):
                e[j] = v[j]
            bend(v, kind, c, d, tables)
            for j in range(n):
                u = one - v[j] * v[j]
                e[j] *= u
                d[j] = factor * u


def suits(K: Array, columns: int = 0) -> bool:
    """Return whether the loops below are to be used for a tile."""
    plain = K.flags.c_contiguous and K.flags.writeable
    return plain and suits_type(K.dtype, columns)


def suits_type(dtype: Any, columns: int = 0) -> bool:
    """Return whether the loops below are to be used for tiles of a type."""
    return on_compiled_route() and np.dtype(dtype) in NUMBERS and columns <= COLUMNS


def columns_first(V: Array) -> Array:
    """Return V', whose rows are contiguous."""
    return np.ascontiguousarray(V.T)


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
    m, n = K.shape
    U = columns_first(np.concatenate([VI, VJ]))
    w = NONE if wi is None or wj is None else np.concatenate([wi, wj])
    left, part = np.zeros((len(U), n)), np.zeros((len(U), n), K.dtype)
    add = _loops(K.dtype)["add_rows"]
    wanted = PJ is not None
    square = add(K, K.dtype.type(pivot), U, w, 0, m, PI, left, 0, part, wanted)
    if PJ is not None:
        PJ += left.T
    return float(square)


@dataclass(frozen=True)
class Run:
    """Where the tiles of a band begin and end.

    Parameters
    ----------
    edges : array of shape (tiles + 1,)
        The first column of every tile, and the end of the last one, from that of the band on.
    folds : array of shape (tiles,)
        The fold of the columns of every tile.
    same : bool
        Whether the first tile is on the diagonal.
    first, start : int
        The first row and the first column among all samples.
    """

    edges: Array
    folds: Array
    same: bool
    first: int = 0
    start: int = 0

    @property
    def widest(self) -> int:
        """The columns of the widest tile."""
        return int(np.diff(self.edges).max())


def band_sums(
    curved: Curved,
    run: Run,
    pivots: Array,
    U: Array,
    w: Array,
    right: Array,
    left: Array,
) -> Array:
    """Add K V and K' V of the tiles of a band and return Σ w_i w_j K_ij² of every tile.

    Parameters
    ----------
    curved : Curved
        The tiles of the band, side by side.
    run : Run
    pivots : array of shape (m,)
        Every further kernel is the square of the one before.
    U : array of shape (t, n)
        `columns_first` of the probe of all samples, in the type of the tiles.
    w : array of shape (n,), or empty
        The weights of all samples.
    right : array of shape (m, folds, b, t), float64
    left : array of shape (m, c, t), float64

    Returns
    -------
    array of shape (m, tiles)
    """
    curve, dtype = curved.curve, curved.dtype
    loop = _calling(add_band, dtype, "exponentials", "bend", "exact_near", "add_rows")
    mirrored = np.zeros((len(pivots), len(U), left.shape[1]))
    squares = np.zeros((len(pivots), len(run.folds)))
    with borrowed((HEIGHT * run.widest,), dtype) as room:
        loop(
            *(curved.left, curved.right, room, curve.kind, curve.constants(dtype)),
            *(curve.distance, curve.cusp, TABLES[dtype], pivots.astype(dtype), U, w),
            *(run.first, run.start, run.edges, run.folds, run.same, right, mirrored, squares),
        )
    left += mirrored.transpose(0, 2, 1)
    return squares


def add_band(
    L: Any,
    R: Any,
    room: Any,
    kind: int,
    c: Any,
    distance: bool,
    cusp: bool,
    tables: Any,
    pivots: Any,
    U: Any,
    w: Any,
    first: int,
    start: int,
    edges: Any,
    folds: Any,
    same: bool,
    right: Any,
    left: Any,
    squares: Any,
) -> None:
    """Do what `band_sums` does, with room for HEIGHT rows."""
    b = len(L)
    part = np.zeros((len(U), len(room) // HEIGHT), room.dtype)
    spare = np.empty(CHUNK, room.dtype)
    for tile in range(len(folds)):
        here, stop = edges[tile], edges[tile + 1]
        n = stop - here
        diagonal = same and tile == 0
        mirrored = not diagonal
        columns = R[here:stop].T
        for i in range(0, b, HEIGHT):
            end = min(i + HEIGHT, b)
            flat = room[: (end - i) * n]
            K = flat.reshape((end - i, n))
            np.dot(L[i:end], columns, K)
            if diagonal and distance:
                for k in range(i, end):
                    K[k - i, k] = 0.0
            if c is None:
                exponentials(flat, tables[0], tables[1])
            else:
                if cusp:
                    exact_near(K, L, R, i, here)
                bend(flat, kind, c, spare, tables)
            for k in range(len(pivots)):
                if k > 0:
                    for j in range(len(flat)):
                        flat[j] *= flat[j]
                PI = right[k, folds[tile], i:end]
                squares[k, tile] += add_rows(
                    K, pivots[k], U, w, first + i, start + here, PI, left[k], here, part, mirrored
                )


def add_rows(
    K: Any,
    pivot: Any,
    U: Any,
    weights: Any,
    first: int,
    start: int,
    PI: Any,
    PJ: Any,
    there: int,
    part: Any,
    mirrored: bool,
) -> float:
    """Add the products of some rows of a tile, four at a time; without weights those are empty.

    Sums over the columns of a row and over STRIP rows are in the type of K, all others in float64.

    Parameters
    ----------
    K : array of shape (m, n)
    pivot : number, which is taken off K
    U : array of shape (t, .)
        The probe's transpose: of K's rows from `first` on, of its columns from `start` on.
    weights : the same for the weights
    first, start : int
    PI : array of shape (m, t)
    PJ : array of shape (t, .), from `there` on
    there : int
    part : array of shape (t, n) of zeros, to work with
    mirrored : bool
        Whether PJ is wanted.
    """
    m, n = K.shape
    t = PI.shape[1]
    zero = pivot - pivot
    total = 0.0
    weighted = len(weights) > 0
    for i in range(0, m, 4):
        # rows past the end are the last one again, without weight
        i1, i2, i3 = min(i + 1, m - 1), min(i + 2, m - 1), min(i + 3, m - 1)
        g1, g2, g3 = i + 1 < m, i + 2 < m, i + 3 < m
        K0, K1, K2, K3 = K[i], K[i1], K[i2], K[i3]
        if weighted:
            w = weights[start : start + n]
            f0, f1, f2, f3 = 0.0, 0.0, 0.0, 0.0
            for j in range(n):
                b0, b1, b2, b3 = K0[j] - pivot, K1[j] - pivot, K2[j] - pivot, K3[j] - pivot
                f0 += b0 * b0 * w[j]
                f1 += b1 * b1 * w[j]
                f2 += b2 * b2 * w[j]
                f3 += b3 * b3 * w[j]
            total += weights[first + i] * f0 + g1 * weights[first + i1] * f1
            total += g2 * weights[first + i2] * f2 + g3 * weights[first + i3] * f3
        elif t == 0:
            f0, f1, f2, f3 = 0.0, 0.0, 0.0, 0.0
            for j in range(n):
                b0, b1, b2, b3 = K0[j] - pivot, K1[j] - pivot, K2[j] - pivot, K3[j] - pivot
                f0 += b0 * b0
                f1 += b1 * b1
                f2 += b2 * b2
                f3 += b3 * b3
            total += f0 + g1 * f1 + g2 * f2 + g3 * f3
        for c in range(0, len(U), 2):
            odd = c + 1 == len(U)  # the last column has none beside it
            d = c if odd else c + 1
            V, P = U[c, start : start + n], part[c]
            W, Q = U[d, start : start + n], part[d]
            u0, v0 = U[c, first + i], U[d, first + i]
            u1 = U[c, first + i1] if g1 else zero
            u2 = U[c, first + i2] if g2 else zero
            u3 = U[c, first + i3] if g3 else zero
            v1 = U[d, first + i1] if g1 else zero
            v2 = U[d, first + i2] if g2 else zero
            v3 = U[d, first + i3] if g3 else zero
            s0, s1, s2, s3 = zero, zero, zero, zero
            r0, r1, r2, r3 = zero, zero, zero, zero
            if c == 0 and odd and not weighted:
                q0, q1, q2, q3 = zero, zero, zero, zero
                for j in range(n):
                    b0, b1, b2, b3 = K0[j] - pivot, K1[j] - pivot, K2[j] - pivot, K3[j] - pivot
                    s0 += b0 * V[j]
                    s1 += b1 * V[j]
                    s2 += b2 * V[j]
                    s3 += b3 * V[j]
                    q0 += b0 * b0
                    q1 += b1 * b1
                    q2 += b2 * b2
                    q3 += b3 * b3
                    P[j] += b0 * u0 + b1 * u1 + b2 * u2 + b3 * u3
                total += q0 + g1 * 1.0 * q1 + g2 * 1.0 * q2 + g3 * 1.0 * q3
            elif odd:
                for j in range(n):
                    b0, b1, b2, b3 = K0[j] - pivot, K1[j] - pivot, K2[j] - pivot, K3[j] - pivot
                    s0 += b0 * V[j]
                    s1 += b1 * V[j]
                    s2 += b2 * V[j]
                    s3 += b3 * V[j]
                    P[j] += b0 * u0 + b1 * u1 + b2 * u2 + b3 * u3
            elif c == 0 and not weighted:
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
            if not odd:
                PI[i, c + 1] += r0
                if g1:
                    PI[i1, c + 1] += r1
                if g2:
                    PI[i2, c + 1] += r2
                if g3:
                    PI[i3, c + 1] += r3
        if i % STRIP + 4 >= STRIP or i + 4 >= m:
            for c in range(len(U)):
                P, S = part[c], PJ[c, there : there + n]
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
    weigh = _loops(dtype)["weigh_rows"]
    with borrowed((K.shape[1],), dtype) as row:
        weigh(out, L, R, fi, fj, 0, 0, dtype.type(1.0), False, row, np.zeros(len(K)), 0)


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
    left, right : arrays of shape (4u, n)
        Of all samples, as rows and as columns.
    fi, fj : arrays of shape (n,)
        The same.
    run : Run
    """

    left: Array
    right: Array
    fi: Array
    fj: Array
    run: Run


@dataclass(frozen=True)
class Products:
    """Sums of V = f'(x) * (derivatives by K) over the tiles of a band.

    Parameters
    ----------
    by_columns : array of shape (q, c)
        Xa' V.
    by_rows : array of shape (b, r)
        V Xb.
    sums : array of shape (b,)
        V 1.
    partial : float
        Σ (derivatives by K) * (derivative of f by its parameter), see `bend_slopes`.
    """

    by_columns: Array
    by_rows: Array
    sums: Array
    partial: float


def band_products(
    curved: Curved, pull: Pull, Xa: Array | None = None, Xb: Array | None = None
) -> Products:
    """Return the products of V = f'(x) * (derivatives by K) with rows.

    Parameters
    ----------
    curved : Curved
    pull : Pull
    Xa : array of shape (b, q), or None where products with it are not wanted
    Xb : array of shape (c, r), or None
    """
    curve, dtype = curved.curve, curved.dtype
    b, c = len(curved.left), len(curved.right)
    Xa = np.empty((b, 0), dtype) if Xa is None else Xa
    Xb = np.empty((c, 0), dtype) if Xb is None else Xb
    by_columns = np.zeros((Xa.shape[1], c))
    by_rows, sums = np.zeros((b, Xb.shape[1])), np.zeros(b)
    run = pull.run
    size = PULLED * run.widest
    # the tile; its slopes, unless they are its values; the derivatives by a parameter
    used = 1 + (curve.kind != EXPONENTIAL) + (curve.kind in (RATIONAL, POWER, TANGENT))
    calls = ("exponentials", "bend_slopes", "exact_near", "weigh_rows", "times_slopes")
    loop = _calling(pull_band, dtype, *calls)
    with borrowed((used * size,), dtype) as room:
        partial = loop(
            *(curved.left, curved.right, room, size, curve.kind, curve.constants(dtype)),
            *(curve.distance, curve.cusp, TABLES[dtype]),
            *(pull.left, pull.right, pull.fi, pull.fj, run.first, run.start, run.edges, run.same),
            *(Xa, Xb, by_columns, by_rows, sums),
        )
    return Products(by_columns, by_rows, sums, float(partial))


def pull_band(
    L: Any,
    R: Any,
    room: Any,
    size: int,
    kind: int,
    c: Any,
    distance: bool,
    cusp: bool,
    tables: Any,
    left: Any,
    right: Any,
    fi: Any,
    fj: Any,
    first: int,
    start: int,
    edges: Any,
    same: bool,
    Xa: Any,
    Xb: Any,
    by_columns: Any,
    by_rows: Any,
    sums: Any,
) -> float:
    """Do what `band_products` does, with room for PULLED rows."""
    b, q, r = len(L), Xa.shape[1], Xb.shape[1]
    widest = size // PULLED
    numbers, powers = tables[0], tables[1]
    one = numbers[-1]
    row = np.empty(widest, room.dtype)
    flat_product = np.empty(q * widest, room.dtype)
    total = 0.0
    for tile in range(len(edges) - 1):
        here, stop = edges[tile], edges[tile + 1]
        n = stop - here
        diagonal = same and tile == 0
        share = one / (one + one) if diagonal else one
        columns = R[here:stop].T
        product = flat_product[: q * n].reshape((q, n))
        for i in range(0, b, PULLED):
            end = min(i + PULLED, b)
            m = end - i
            flat = room[: m * n]
            V = flat.reshape((m, n))
            np.dot(L[i:end], columns, V)
            if diagonal and distance:
                for k in range(i, end):
                    V[k - i, k] = 0.0
            x, z = first + i, start + here
            if c is None:
                exponentials(flat, numbers, powers)
                weigh_rows(V, left, right, fi, fj, x, z, share, True, row, sums, i)
            else:
                if cusp:
                    exact_near(V, L, R, i, here)
                slope = room[size : size + m * n]
                partial = room[2 * size : 2 * size + m * n]
                bend_slopes(flat, slope, partial, kind, c, tables)
                weigh_rows(V, left, right, fi, fj, x, z, share, False, row, sums, i)
                total += times_slopes(V, slope, partial, sums, i, one)
            if q > 0:
                np.dot(Xa[i:end].T, V, product)
                for k in range(q):
                    P, S = product[k], by_columns[k, here:stop]
                    for j in range(n):
                        S[j] += P[j]
            if r > 0:
                by_rows[i:end] += np.dot(V, Xb[here:stop])
    return total


def times_slopes(V: Any, slope: Any, partial: Any, sums: Any, first: int, one: Any) -> float:
    """Multiply V by slopes, add the sums of its rows, and return Σ V * partial (of V before)."""
    m, n = V.shape
    zero = one - one
    own = 0.0
    for i in range(m):
        W, D = V[i], slope[i * n : (i + 1) * n]
        if len(partial) > 0:
            E = partial[i * n : (i + 1) * n]
            part = zero
            for j in range(n):
                part += W[j] * E[j]
            own += part
        total = zero
        for j in range(n):
            v = W[j] * D[j]
            W[j] = v
            total += v
        sums[first + i] += total
    return own


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
    place: int,
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
    sums : array, from `place` on
    place : int
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
        sums[place + i] += total
