"""Formulas of one number per pair, applied in place: with NumPy, or compiled.

A kernel of vectors is a function of one number s per pair, a kernel of a kernel a function of its
values. `Formula` is that function, its slope and its derivatives by parameters, each written once
as a function of one number s and a tuple of constants c. NumPy applies them to strips of a tile;
where the plan of a sweep says so, numba compiles the same functions. A kernel whose formula is not
given this way (`PointwiseKernel.value`, `slope`, `partials`) goes by NumPy.

The passes at the end (`tile_sums`, `tile_weights`) read a tile once for its products with the probe
on both sides and its squares, or write the derivative by a tile. They know no kernel.

**The exponential.** NumPy computes exp of float64 number by number unless the processor has
AVX-512. Here

    exp(x) = 2^k p(r),    k = round(x / ln 2),    r = x - k ln 2,    |r| <= ln(2) / 2,

without a branch, so that the compiler works on as many numbers as fit a register. The result is
within 1.1 units in the last place for every x, also where it is subnormal.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass, field
from functools import cache
from typing import Any, ClassVar

import numpy as np

from gramsmith.kernels.base import Array, Gradient, WritesTiles, defined_before
from gramsmith.kernels.compilation import compile_loop
from gramsmith.kernels.embedding import lend, strips

# What formulas are written with: NumPy's functions, which compiled formulas have replaced.
exp, log, sqrt, tanh, power = np.exp, np.log, np.sqrt, np.tanh, np.power

COLUMNS = 8  # of a probe: products with more are quicker by BLAS
STRIP = 32  # rows whose products are added up in the type of the tile, which may be float32


# ---- elementary functions of one number ---------------------------------------------------------

# p(r) = 1 + r + r² (c0 + c1 r + ...) with the smallest largest relative error: 4e-18 and 3e-9.
# After the coefficients: the range beyond which nothing changes; 1 / ln 2; the number that rounds
# what it is added to, to a whole number in its last bits; ln 2 in two parts, of which the first has
# so few digits that its products with k are exact; below what the result may be subnormal; then the
# factors by which 2^(k + 63) and 2^(k - 1) miss 2^k, so that no power of two over- or underflows.
EXP_DOUBLE = (
    *(0.5000000000000011, 0.16666666666666413, 0.04166666666653016, 0.008333333333494446),
    *(0.0013888888943629925, 0.0001984126950660702, 2.480149309902565e-05),
    *(2.755758635352228e-06, 2.763024836847288e-07, 2.5000066626477466e-08),
    *(-746.0, 710.0, 1.4426950408889634, 1.5 * 2.0**52),
    *(0.6931471803691238, 1.9082149292705877e-10, -700.0, 2.0**-63, 2.0, 1.0),
)
EXP_SINGLE = tuple(
    np.float32(x)
    for x in (
        *(0.49999993447061625, 0.1666652063055764, 0.04166838819960762),
        *(0.008368716997592644, 0.0013814591106556125),
        *(-104.0, 89.0, 1.4426950408889634, 1.5 * 2.0**23),
        *(0.693145751953125, 1.4286068203094172e-06, -80.0, 2.0**-63, 2.0, 1.0),
    )
)
# The bits of 2^63 and 2^-1, to which k is added in the exponent.
BITS_DOUBLE = (np.int64((1023 + 63) << 52), np.int64((1023 - 1) << 52))
BITS_SINGLE = (np.int32((127 + 63) << 23), np.int32((127 - 1) << 23))


def exp_double(x: Any) -> Any:
    """Return exp(x) of a float64."""
    c = EXP_DOUBLE
    v = c[10] if x < c[10] else x  # nan stays
    v = c[11] if v > c[11] else v
    shifted = v * c[12] + c[13]
    k = shifted - c[13]
    r = (v - k * c[14]) - k * c[15]
    # even and odd powers apart: two short chains of operations instead of a long one
    s = r * r
    even = (((c[8] * s + c[6]) * s + c[4]) * s + c[2]) * s + c[0]
    odd = (((c[9] * s + c[7]) * s + c[5]) * s + c[3]) * s + c[1]
    p = ((odd * r + even) * s + r) + c[19]
    small = v < c[16]
    start = BITS_DOUBLE[0] if small else BITS_DOUBLE[1]
    bits = (np.float64(shifted).view(np.int64) << 52) + start
    return p * np.int64(bits).view(np.float64) * (c[17] if small else c[18])


def exp_single(x: Any) -> Any:
    """Return exp(x) of a float32."""
    c = EXP_SINGLE
    v = c[5] if x < c[5] else x
    v = c[6] if v > c[6] else v
    shifted = v * c[7] + c[8]
    k = shifted - c[8]
    r = (v - k * c[9]) - k * c[10]
    s = r * r
    p = (((c[3] * s + c[1]) * r + ((c[4] * s + c[2]) * s + c[0])) * s + r) + c[14]
    small = v < c[11]
    start = BITS_SINGLE[0] if small else BITS_SINGLE[1]
    bits = np.int32(np.int32(np.float32(shifted).view(np.int32) << 23) + start)
    return p * np.int32(bits).view(np.float32) * (c[12] if small else c[13])


# What logarithms take: 1/3, 1/5, ... of the series of artanh, ln 2 in two parts, and 1; the bits of
# sqrt(1/2), and of the number that holds whole ones at the end of its digits.
LOG_DOUBLE = (*(1.0 / k for k in range(3, 23, 2)), 0.6931471803691238, 1.9082149292705877e-10, 1.0)
LOG_SINGLE = tuple(
    np.float32(x)
    for x in (*(1.0 / k for k in range(3, 11, 2)), 0.693145751953125, 1.4286068203094172e-06, 1.0)
)
PLACES_DOUBLE = (np.int64(0x3FE6A09E667F3BCD), np.int64(0x4330000000000000))
PLACES_SINGLE = (np.int32(0x3F3504F3), np.int32(0x4B000000))


# log(x) = k ln 2 + 2 artanh(z), z = (m - 1) / (m + 1), where x = 2^k m and 1/2 <= m² < 2
def log_double(x: Any) -> Any:
    """Return log(x) of a float64 from 1 on; what is not finite becomes nan."""
    c, half, whole = LOG_DOUBLE, PLACES_DOUBLE[0], PLACES_DOUBLE[1]
    bits = np.float64(x).view(np.int64)
    place = (bits - half) >> 52
    m = np.int64(bits - (place << 52)).view(np.float64)
    k = np.int64(place + whole).view(np.float64) - np.int64(whole).view(np.float64)
    z = (m - c[12]) / (m + c[12])
    s = z * z
    q = s * s
    even = (((c[9] * q + c[7]) * q + c[5]) * q + c[3]) * q + c[1]
    odd = (((c[8] * q + c[6]) * q + c[4]) * q + c[2]) * q + c[0]
    tail = (z + z) * s * (even * s + odd) + k * c[11]
    return k * c[10] + ((z + z) + tail) + (x - x)


def log_single(x: Any) -> Any:
    """Return log(x) of a float32 from 1 on."""
    c, half, whole = LOG_SINGLE, PLACES_SINGLE[0], PLACES_SINGLE[1]
    bits = np.float32(x).view(np.int32)
    place = np.int32(np.int32(bits - half) >> 23)
    m = np.int32(bits - (place << 23)).view(np.float32)
    k = np.int32(place + whole).view(np.float32) - np.int32(whole).view(np.float32)
    z = (m - c[6]) / (m + c[6])
    s = z * z
    tail = (z + z) * s * (((c[3] * s + c[2]) * s + c[1]) * s + c[0]) + k * c[5]
    return k * c[4] + ((z + z) + tail) + (x - x)


def _tanh_series(terms: int) -> tuple[float, ...]:
    """Return the coefficients of x, x³, x⁵, ... in tanh, from tanh' = 1 - tanh²."""
    c = [1.0]
    for k in range(1, terms):
        c.append(-sum(c[i] * c[k - 1 - i] for i in range(k)) / (2 * k + 1))
    return tuple(c)


# The series of tanh, exact up to 0.15 (squared); beyond, exponentials lose no digits; 1; -2.
TANH_DOUBLE = (*_tanh_series(9), 0.15**2, 1.0, -2.0)
TANH_SINGLE = tuple(np.float32(x) for x in TANH_DOUBLE)
TANH, ONE = TANH_DOUBLE, 1.0  # of the type in question, where they are compiled


def tanh_of(z: Any) -> Any:
    """Return tanh(z); TANH and exp are those of the type of z."""
    t = TANH
    s = z * z
    series = (((t[8] * s + t[7]) * s + t[6]) * s + t[5]) * s + t[4]
    series = (((series * s + t[3]) * s + t[2]) * s + t[1]) * s + t[0]
    size = -z if z < 0 else z
    e = exp(t[11] * size)
    large = (t[10] - e) / (t[10] + e)
    large = -large if z < 0 else large
    return z * series if s < t[9] else large


def power_of(x: Any, exponent: Any) -> Any:
    """Return x to a whole power from 0 to 31, by squares, of which some are chosen."""
    n = int(exponent)
    x2 = x * x
    x4 = x2 * x2
    x8 = x4 * x4
    p = x if n & 1 else ONE
    p = p * x2 if n & 2 else p
    p = p * x4 if n & 4 else p
    p = p * x8 if n & 8 else p
    return p * (x8 * x8) if n & 16 else p


MOST = 31  # the highest power that `power_of` knows


@cache
def _elementary(dtype: np.dtype[Any]) -> dict[Any, Any]:
    """Return the compiled function that stands for each of NumPy's, for numbers of a type."""
    double = dtype == np.float64
    exponential = compile_loop(exp_double if double else exp_single, "contract", kept=False)
    series = TANH_DOUBLE if double else TANH_SINGLE
    return {
        np.exp: exponential,
        np.log: compile_loop(log_double if double else log_single, "contract", kept=False),
        np.tanh: compile_loop(tanh_of, "contract", kept=False, exp=exponential, TANH=series),
        np.power: compile_loop(power_of, "contract", kept=False, ONE=series[10]),
    }


# ---- formulas -----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Formula:
    """A function of one number s and of constants c, with its derivatives.

    All are functions of (s, c) without branches that NumPy can apply to arrays and numba can
    compile. Numbers beside s come from c, in the type of the tile, so that float32 stays float32.

    Parameters
    ----------
    value, slope : callable
        The function, and its derivative by s.
    partials : mapping of parameter name -> callable
        Its derivatives by the parameters of the kernel, as functions of (s, slope(s), c).
    ratio : float, optional
        slope / value where that is one number: the tile then serves as its own slope.
    """

    value: Callable[[Any, Any], Any]
    slope: Callable[[Any, Any], Any]
    partials: Mapping[str, Callable[[Any, Any, Any], Any]] = field(default_factory=dict)
    ratio: float | None = None


@dataclass(frozen=True)
class Slopes:
    """What the derivatives of a tile need of its computation.

    Parameters
    ----------
    slope : array of the shape of the tile
        By s, divided by `factor`.
    s : array, or None where the formula has no parameters
    factor : float
    inner : the same of the kernel inside, or what it returned
    """

    slope: Array
    s: Array | None = None
    factor: float = 1.0
    inner: Any = None


def compilable(x: Array) -> bool:
    """Return whether compiled passes take an array: contiguous, of a floating type they know."""
    return x.dtype in (np.float64, np.float32) and x.flags.c_contiguous and x.flags.writeable


@cache
def _compiled(loop: Any, dtype: np.dtype[Any], *functions: Any) -> Any:
    """Return a loop compiled with functions of (s, c) as what it calls `value` and `slope`."""
    scalars = {}
    for name, function in zip(("value", "slope"), functions, strict=False):
        names = function.__code__.co_names
        used = {n: function.__globals__.get(n) for n in names}
        known = {n: f for n, f in used.items() if isinstance(f, np.ufunc)}
        elementary = _elementary(dtype)
        called = {n: elementary[f] for n, f in known.items() if f in elementary}
        scalars[name] = compile_loop(function, "contract", kept=False, **called)
    ours = all(function.__module__ == __name__ for function in functions)
    label = "_".join([loop.__name__, *(function.__name__ for function in functions)])
    return compile_loop(loop, *LIBERTIES[loop], kept=ours, label=label, **scalars)


def write_values(s: Any, c: Any, least: Any) -> None:
    """Write value(s) over s."""
    for i in range(len(s)):
        x = least if s[i] < least else s[i]  # nan stays
        s[i] = value(x, c)  # type: ignore[name-defined]  # noqa: F821


def write_values_and_slopes(s: Any, slopes: Any, c: Any, least: Any) -> None:
    """Write value(s) over s, and slope(s) beside it: the compiler shares what both compute."""
    for i in range(len(s)):
        x = least if s[i] < least else s[i]
        slopes[i] = slope(x, c)  # type: ignore[name-defined]  # noqa: F821
        s[i] = value(x, c)  # type: ignore[name-defined]  # noqa: F821


def weighted_sum(W: Any, s: Any, slopes: Any, c: Any, least: Any) -> float:
    """Return Σ W value(s, slope, c), a derivative by a parameter; rows are added in their type."""
    total = 0.0
    for i in range(len(s)):
        weights, row, d = W[i], s[i], slopes[i]
        part = weights[0] - weights[0]
        for j in range(len(row)):
            x = least if row[j] < least else row[j]
            part += weights[j] * value(x, d[j], c)  # type: ignore[name-defined]  # noqa: F821
        total += part
    return total


LIBERTIES = {
    write_values: ("contract",),
    write_values_and_slopes: ("contract",),
    weighted_sum: ("contract", "reassoc"),
}


class PointwiseKernel(WritesTiles):
    """A function, entry by entry, of a matrix of numbers s.

    A subclass gives `pointwise`, a `Formula`, and its `constants`; or the methods `value`, `slope`
    and `partials`, which NumPy evaluates.
    """

    pointwise: ClassVar[Formula | None] = None
    least: ClassVar[float | None] = None  # s below it is rounding, and is taken for it
    _own_methods: ClassVar[bool] = False
    compiled = False  # whether formulas are compiled: in the copies that sweeps make

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        # A class with methods of its own has no use for the compiled formula of its ancestors.
        cls._own_methods = defined_before(cls, ("value", "slope", "partials"), "pointwise")

    def constants(self) -> tuple[float, ...]:
        """Return the numbers c of the formula."""
        return ()

    def with_compiled_formulas(self) -> Any:
        other = copy(super().with_compiled_formulas())
        other.compiled = True
        return other

    def _formula(self) -> Formula:
        if self.pointwise is None:
            raise self._no_derivative()
        return self.pointwise

    def value(self, s: Array) -> Array:
        """Return the function of s, entry by entry."""
        return np.asarray(self._formula().value(s, self.constants()))

    def slope(self, s: Array) -> Array:
        """Return the derivative of `value`."""
        return np.asarray(self._formula().slope(s, self.constants()))

    def partials(self, s: Array) -> Gradient:
        """Return the derivative of `value` by each parameter, of shape s.shape or (k, *s.shape)."""
        formula, c = self.pointwise, self.constants()
        if formula is None or not formula.partials:
            return {}
        slope = formula.slope(s, c)
        return {name: part(s, slope, c) for name, part in formula.partials.items()}

    @property
    def formula_used(self) -> Formula | None:
        """The formula, unless the class has methods of its own instead."""
        return None if self._own_methods else self.pointwise

    def _has_partials(self) -> bool:
        if type(self).partials is not PointwiseKernel.partials:
            return True
        return self.pointwise is not None and bool(self.pointwise.partials)

    # ---- in place, in strips -----------------------------------------------------------------

    def _compiles(self, s: Array) -> bool:
        return self.compiled and self.formula_used is not None and compilable(s)

    def _numbers(self, dtype: np.dtype[Any]) -> tuple[Any, Any]:
        """Return the constants, and what s is at least, in the type of a tile."""
        least = -np.inf if self.least is None else self.least
        return tuple(map(dtype.type, self.constants())), dtype.type(least)

    def _strip(self, s: Array) -> Array:
        return s if self.least is None else np.maximum(s, s.dtype.type(self.least))

    def written_over(self, s: Array) -> Array:
        """Return the values, written over s."""
        if self._compiles(s):
            loop = _compiled(write_values, s.dtype, self._formula().value)
            loop(s.reshape(-1), *self._numbers(s.dtype))
            return s
        for strip in strips(s):
            s[strip] = self.value(self._strip(s[strip]))
        return s

    def written_with_slopes(self, s: Array) -> Slopes:
        """Write the values over s and return their slopes."""
        formula, kept = self.formula_used, None
        if self._has_partials():
            kept = lend(s.shape, s.dtype)
            np.copyto(kept, s)
        if formula is not None and formula.ratio is not None:
            return Slopes(self.written_over(s), kept, formula.ratio)
        slopes = lend(s.shape, s.dtype)
        if self._compiles(s):
            found = self._formula()
            loop = _compiled(write_values_and_slopes, s.dtype, found.value, found.slope)
            loop(s.reshape(-1), slopes.reshape(-1), *self._numbers(s.dtype))
            return Slopes(slopes, kept)
        for strip in strips(s):
            part = self._strip(s[strip])
            slopes[strip] = self.slope(part)
            s[strip] = self.value(part)
        return Slopes(slopes, kept)

    def by_parameter(self, slopes: Slopes, W: Array) -> Gradient:
        """Return the derivatives of sum(W * value(s)) by the parameters of the formula."""
        s = slopes.s
        if s is None:
            return {}
        if self._compiles(s) and compilable(W) and W.dtype == s.dtype:
            numbers = self._numbers(s.dtype)
            return {
                name: float(_compiled(weighted_sum, s.dtype, partial)(W, s, slopes.slope, *numbers))
                for name, partial in self._formula().partials.items()
            }
        total: Gradient = {}
        for strip in strips(s):
            for name, part in self.partials(self._strip(s[strip])).items():
                found = np.sum(W[strip] * part, axis=(-2, -1), dtype=np.float64)
                total[name] = total.get(name, 0.0) + found
        return total


# ---- the formulas of gramsmith's kernels: (s, c) ------------------------------------------------


def gaussian(s: Any, c: Any) -> Any:
    """Return exp(-s)."""
    return exp(-s)


def gaussian_slope(s: Any, c: Any) -> Any:
    """Return -exp(-s)."""
    return -exp(-s)


GAUSSIAN = Formula(gaussian, gaussian_slope, ratio=-1.0)


def chi2(s: Any, c: Any) -> Any:
    """Return exp(-γ s), c = (γ,)."""
    return exp(-c[0] * s)


def chi2_slope(s: Any, c: Any) -> Any:
    """Return -γ exp(-γ s)."""
    return -c[0] * exp(-c[0] * s)


def chi2_gamma(s: Any, slope: Any, c: Any) -> Any:
    """Return -s exp(-γ s)."""
    return s * slope / c[0]


CHI2 = Formula(chi2, chi2_slope, {"gamma": chi2_gamma})


def root(s: Any, c: Any) -> Any:
    """Return exp(-r), r = √s."""
    return exp(-sqrt(s))


def root_slope(s: Any, c: Any) -> Any:
    """Return -exp(-r) / 2r, and 0 at the kink s = 0; c = (smallest number, 1/2)."""
    r = sqrt(s)
    return -c[1] * np.sign(r) * exp(-r) / np.maximum(r, c[0])


ROOT = Formula(root, root_slope)
ROOT_CONSTANTS = (1e-30, 0.5)


def matern_3(s: Any, c: Any) -> Any:
    """Return (1 + r) exp(-r), r² = 3s; c = (3, 1, 3/2)."""
    r = sqrt(c[0] * s)
    return (c[1] + r) * exp(-r)


def matern_3_slope(s: Any, c: Any) -> Any:
    """Return -3/2 exp(-r)."""
    return -c[2] * exp(-sqrt(c[0] * s))


MATERN_3 = Formula(matern_3, matern_3_slope)
MATERN_3_CONSTANTS = (3.0, 1.0, 1.5)


def matern_5(s: Any, c: Any) -> Any:
    """Return (1 + r + r²/3) exp(-r), r² = 5s; c = (5, 1, 1/3, 5/6)."""
    r = sqrt(c[0] * s)
    return (c[1] + r + c[2] * r * r) * exp(-r)


def matern_5_slope(s: Any, c: Any) -> Any:
    """Return -5/6 (1 + r) exp(-r)."""
    r = sqrt(c[0] * s)
    return -c[3] * (c[1] + r) * exp(-r)


MATERN_5 = Formula(matern_5, matern_5_slope)
MATERN_5_CONSTANTS = (5.0, 1.0, 1.0 / 3.0, 5.0 / 6.0)


def rational(s: Any, c: Any) -> Any:
    """Return (1 + s/2α)^-α, c = (1, 1/2α, α, 1/2)."""
    return exp(-c[2] * log(c[0] + c[1] * s))


def rational_slope(s: Any, c: Any) -> Any:
    """Return -1/2 (1 + s/2α)^(-α-1)."""
    base = c[0] + c[1] * s
    return -c[3] * exp(-c[2] * log(base)) / base


def rational_alpha(s: Any, slope: Any, c: Any) -> Any:
    """Return b^-α (1 - 1/b - log b), b = 1 + s/2α, where b^-α = -2b slope; c[3] = 1/2."""
    base = c[0] + c[1] * s
    return -slope / c[3] * (base - c[0] - base * log(base))


RATIONAL = Formula(rational, rational_slope, {"alpha": rational_alpha})


def polynomial(s: Any, c: Any) -> Any:
    """Return (γs + c0)^d, c = (γ, c0, d, d - 1)."""
    return power(c[0] * s + c[1], c[2])


def polynomial_slope(s: Any, c: Any) -> Any:
    """Return γ d (γs + c0)^(d-1)."""
    return c[0] * c[2] * power(c[0] * s + c[1], c[3])


def polynomial_gamma(s: Any, slope: Any, c: Any) -> Any:
    """Return s d (γs + c0)^(d-1)."""
    return s * slope / c[0]


def polynomial_coef0(s: Any, slope: Any, c: Any) -> Any:
    """Return d (γs + c0)^(d-1)."""
    return slope / c[0]


POLYNOMIAL = Formula(
    polynomial, polynomial_slope, {"gamma": polynomial_gamma, "coef0": polynomial_coef0}
)


def sigmoid(s: Any, c: Any) -> Any:
    """Return tanh(γs + c0), c = (γ, c0, 1)."""
    return tanh(c[0] * s + c[1])


def sigmoid_slope(s: Any, c: Any) -> Any:
    """Return γ (1 - tanh²)."""
    t = tanh(c[0] * s + c[1])
    return c[0] * (c[2] - t * t)


def sigmoid_gamma(s: Any, slope: Any, c: Any) -> Any:
    """Return s (1 - tanh²)."""
    return s * slope / c[0]


def sigmoid_coef0(s: Any, slope: Any, c: Any) -> Any:
    """Return 1 - tanh²."""
    return slope / c[0]


SIGMOID = Formula(sigmoid, sigmoid_slope, {"gamma": sigmoid_gamma, "coef0": sigmoid_coef0})


def exponential(s: Any, c: Any) -> Any:
    """Return exp(s)."""
    return exp(s)


EXPONENTIAL = Formula(exponential, exponential, ratio=1.0)


def whole_power(s: Any, c: Any) -> Any:
    """Return s^d, c = (d, d - 1)."""
    return power(s, c[0])


def whole_power_slope(s: Any, c: Any) -> Any:
    """Return d s^(d-1)."""
    return c[0] * power(s, c[1])


WHOLE_POWER = Formula(whole_power, whole_power_slope)


# ---- passes over a tile, of any kernel ----------------------------------------------------------


@cache
def _compiled_pass(loop: Any) -> Any:
    return compile_loop(loop, "contract", "reassoc")


def by_columns(V: Array, multiple: int) -> Array:
    """Return V' with contiguous rows, whose number is a multiple of `multiple`, the last ones 0."""
    n, t = V.shape
    rows = np.zeros((max(multiple, t + -t % multiple), n), V.dtype)
    rows[:t] = V.T
    return rows


def tile_sums(
    K: Array, pivot: float, U: Array, first: int, start: int, PI: Array, PJ: Array | None
) -> float:
    """Add K V to PI and K' V to PJ, K less its pivot, and return Σ K_ij².

    Parameters
    ----------
    K : array of shape (m, n)
        See `compilable`; its rows are the samples from `first` on, its columns those from `start`.
    pivot : float
    U : array of shape (2u, .)
        `by_columns` of the probe of all samples, in the type of K.
    first, start : int
    PI, PJ : arrays of shape (m, t) and (n, t), float64
        PJ is None for a tile on the diagonal, which is its own mirror image.
    """
    m, n = K.shape
    right, left = np.zeros((m, len(U))), np.zeros((len(U), n))
    part = np.zeros((2, n), K.dtype)
    square = _compiled_pass(add_rows)(K, K.dtype.type(pivot), U, first, start, right, left, part)
    PI += right[:, : PI.shape[1]]
    if PJ is not None:
        PJ += left.T[:, : PJ.shape[1]]
    return float(square)


def add_rows(
    K: Any, pivot: Any, U: Any, first: int, start: int, PI: Any, PJ: Any, part: Any
) -> float:
    """Add the products of a tile, four rows and two columns of the probe at a time.

    Sums over the columns of a row and over STRIP rows are in the type of K, all others in float64.
    """
    m, n = K.shape
    zero = pivot - pivot
    total = 0.0
    for c in range(0, len(U), 2):
        V, W = U[c, start : start + n], U[c + 1, start : start + n]
        Y, X = U[c, first : first + m], U[c + 1, first : first + m]
        P, Q = part[0], part[1]
        for i in range(0, m, 4):
            # rows past the end are the last one again, without weight
            i1, i2, i3 = min(i + 1, m - 1), min(i + 2, m - 1), min(i + 3, m - 1)
            K0, K1, K2, K3 = K[i], K[i1], K[i2], K[i3]
            u0, x0 = Y[i], X[i]
            u1, x1 = (Y[i1], X[i1]) if i + 1 < m else (zero, zero)
            u2, x2 = (Y[i2], X[i2]) if i + 2 < m else (zero, zero)
            u3, x3 = (Y[i3], X[i3]) if i + 3 < m else (zero, zero)
            s0, s1, s2, s3 = zero, zero, zero, zero
            r0, r1, r2, r3 = zero, zero, zero, zero
            q0, q1, q2, q3 = zero, zero, zero, zero
            for j in range(n):
                b0, b1, b2, b3 = K0[j] - pivot, K1[j] - pivot, K2[j] - pivot, K3[j] - pivot
                v, w = V[j], W[j]
                s0 += b0 * v
                s1 += b1 * v
                s2 += b2 * v
                s3 += b3 * v
                r0 += b0 * w
                r1 += b1 * w
                r2 += b2 * w
                r3 += b3 * w
                q0 += b0 * b0
                q1 += b1 * b1
                q2 += b2 * b2
                q3 += b3 * b3
                P[j] += b0 * u0 + b1 * u1 + b2 * u2 + b3 * u3
                Q[j] += b0 * x0 + b1 * x1 + b2 * x2 + b3 * x3
            PI[i, c], PI[i, c + 1] = s0, r0
            square = 1.0 * q0
            if i + 1 < m:
                PI[i1, c], PI[i1, c + 1] = s1, r1
                square += q1
            if i + 2 < m:
                PI[i2, c], PI[i2, c + 1] = s2, r2
                square += q2
            if i + 3 < m:
                PI[i3, c], PI[i3, c + 1] = s3, r3
                square += q3
            if c == 0:
                total += square
            if i % STRIP + 4 >= STRIP or i + 4 >= m:
                for j in range(n):
                    PJ[c, j] += P[j]
                    PJ[c + 1, j] += Q[j]
                    P[j] = zero
                    Q[j] = zero
    return total


def tile_weights(
    out: Array, L: Array, R: Array, first: int, start: int, share: float, factor: float
) -> None:
    """Write share * (L'R + factor K) over K.

    Parameters
    ----------
    out : array of shape (m, n)
        K, and then the result; see `compilable`. Its rows are the samples from `first` on, its
        columns those from `start`.
    L, R : arrays of shape (4u, .)
        `by_columns` of four, of all samples.
    first, start : int
    share, factor : float
    """
    number = out.dtype.type
    _compiled_pass(weigh_rows)(out, L, R, first, start, number(share), number(share * factor))


def weigh_rows(K: Any, L: Any, R: Any, first: int, start: int, share: Any, factor: Any) -> None:
    """Do what `tile_weights` does, four columns of the factors at a time."""
    m, n = K.shape
    for c in range(0, len(L), 4):
        R0, R1 = R[c, start : start + n], R[c + 1, start : start + n]
        R2, R3 = R[c + 2, start : start + n], R[c + 3, start : start + n]
        f = factor if c == 0 else share / share
        for i in range(m):
            row, k = K[i], first + i
            l0, l1 = share * L[c, k], share * L[c + 1, k]
            l2, l3 = share * L[c + 2, k], share * L[c + 3, k]
            for j in range(n):
                part = (l0 * R0[j] + l1 * R1[j]) + (l2 * R2[j] + l3 * R3[j])
                row[j] = f * row[j] + part
