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

from gramsmith.kernels.base import Array, Derivatives, Kernel, defined_before
from gramsmith.kernels.compilation import compile_loop
from gramsmith.kernels.embedding import lend, strips

# What formulas are written with: NumPy's functions, which compiled formulas have replaced.
exp, log, sqrt, tanh, power = np.exp, np.log, np.sqrt, np.tanh, np.power

COLUMNS = 8  # of a probe: products with more are quicker by BLAS
STRIP = 32  # rows whose products are added up in the type of the tile, which may be float32


# ---- elementary functions of one number ---------------------------------------------------------

# What they are compiled with, in float64 and float32, the numbers each in its type.
# EXP: p(r) = 1 + r + r² (c0 + c1 r + ...), even and odd coefficients apart (two short chains of
# operations instead of a long one), with the smallest largest relative error: 4e-18 and 3e-9.
# RANGE: where nothing changes any more; below what the result may be subnormal.
# LN2: 1 / ln 2; ln 2 in two parts, of which the first has so few digits that its products with k
# are exact. ROUND rounds what it is added to, to a whole number in its last bits.
# SHIFT: the factors by which 2^(k + 63) and 2^(k - 1) miss 2^k, so that no power of two over- or
# underflows; START: the bits of 2^63 and 2^-1, to which k is added in the exponent.
# LOG: 1/3, 1/7, ... and 1/5, 1/9, ... of the series of artanh; PLACES: the bits of sqrt(1/2), and
# of the number that holds whole ones at the end of its digits.
DOUBLE: dict[str, Any] = {
    "FLOAT": np.float64,
    "INT": np.int64,
    "DIGITS": 52,
    "EVEN": (
        *(0.5000000000000011, 0.04166666666653016, 0.0013888888943629925),
        *(2.480149309902565e-05, 2.763024836847288e-07),
    ),
    "ODD": (
        *(0.16666666666666413, 0.008333333333494446, 0.0001984126950660702),
        *(2.755758635352228e-06, 2.5000066626477466e-08),
    ),
    "RANGE": (-746.0, 710.0, -700.0),
    "ROUND": 1.5 * 2.0**52,
    "LN2": (1.4426950408889634, 0.6931471803691238, 1.9082149292705877e-10),
    "LOG": tuple(1.0 / k for k in range(3, 23, 4)),
    "LOG_ODD": tuple(1.0 / k for k in range(5, 23, 4)),
    "START": (np.int64((1023 + 63) << 52), np.int64((1023 - 1) << 52)),
    "PLACES": (np.int64(0x3FE6A09E667F3BCD), np.int64(0x4330000000000000)),
}
SINGLE: dict[str, Any] = {
    "FLOAT": np.float32,
    "INT": np.int32,
    "DIGITS": np.int32(23),
    "EVEN": (0.49999993447061625, 0.04166838819960762, 0.0013814591106556125),
    "ODD": (0.1666652063055764, 0.008368716997592644),
    "RANGE": (-104.0, 89.0, -80.0),
    "ROUND": 1.5 * 2.0**23,
    "LN2": (1.4426950408889634, 0.693145751953125, 1.4286068203094172e-06),
    "LOG": (1.0 / 3.0, 1.0 / 7.0),
    "LOG_ODD": (1.0 / 5.0, 1.0 / 9.0),
    "START": (np.int32((127 + 63) << 23), np.int32((127 - 1) << 23)),
    "PLACES": (np.int32(0x3F3504F3), np.int32(0x4B000000)),
}
given: Any = None  # where a function is compiled
FLOAT = INT = DIGITS = EVEN = ODD = RANGE = ROUND = LN2 = LOG = LOG_ODD = START = PLACES = given
SHIFT = given


def exp_of(x: Any) -> Any:
    """Return exp(x)."""
    v = RANGE[0] if x < RANGE[0] else x  # nan stays
    v = RANGE[1] if v > RANGE[1] else v
    shifted = v * LN2[0] + ROUND
    k = shifted - ROUND
    r = (v - k * LN2[1]) - k * LN2[2]
    s = r * r
    even, odd = EVEN[-1], ODD[-1]
    for i in range(len(EVEN) - 2, -1, -1):
        even = even * s + EVEN[i]
    for i in range(len(ODD) - 2, -1, -1):
        odd = odd * s + ODD[i]
    p = ((odd * r + even) * s + r) + ONE
    small = v < RANGE[2]
    bits = INT(INT(FLOAT(shifted).view(INT) << DIGITS) + (START[0] if small else START[1]))
    return p * INT(bits).view(FLOAT) * (SHIFT[0] if small else SHIFT[1])


def log_of(x: Any) -> Any:
    """Return log(x) of a number from 1 on; what is not finite becomes nan.

    It is k ln 2 + 2 artanh(z), z = (m - 1) / (m + 1), where x = 2^k m and 1/2 <= m² < 2.
    """
    half, whole = PLACES[0], PLACES[1]
    bits = FLOAT(x).view(INT)
    place = INT(INT(bits - half) >> DIGITS)
    m = INT(bits - INT(place << DIGITS)).view(FLOAT)
    k = INT(place + whole).view(FLOAT) - INT(whole).view(FLOAT)
    z = (m - ONE) / (m + ONE)
    s = z * z
    q = s * s
    even, odd = LOG_ODD[-1], LOG[-1]
    for i in range(len(LOG) - 2, -1, -1):
        even = even * q + LOG_ODD[i]
        odd = odd * q + LOG[i]
    tail = (z + z) * s * (even * s + odd) + k * LN2[2]
    return k * LN2[1] + ((z + z) + tail) + (x - x)


def _tanh_series(terms: int) -> tuple[float, ...]:
    """Return the coefficients of x, x³, x⁵, ... in tanh, from tanh' = 1 - tanh²."""
    c = [1.0]
    for k in range(1, terms):
        c.append(-sum(c[i] * c[k - 1 - i] for i in range(k)) / (2 * k + 1))
    return tuple(c)


# The series of tanh, exact up to 0.15 (squared); beyond, exponentials lose no digits; 1; -2.
TANH, ONE = (*_tanh_series(9), 0.15**2, 1.0, -2.0), 1.0


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
    given = DOUBLE if dtype == np.float64 else SINGLE
    floats = {**given, "TANH": TANH, "ONE": ONE, "SHIFT": (2.0**-63, 2.0)}
    for name in ("EVEN", "ODD", "RANGE", "LN2", "LOG", "LOG_ODD", "TANH", "SHIFT"):
        floats[name] = tuple(map(dtype.type, floats[name]))
    floats |= {name: dtype.type(floats[name]) for name in ("ROUND", "ONE")}
    exponential = compile_loop(exp_of, "contract", kept=False, **floats)
    return {
        np.exp: exponential,
        np.log: compile_loop(log_of, "contract", kept=False, **floats),
        np.tanh: compile_loop(tanh_of, "contract", kept=False, **{**floats, "exp": exponential}),
        np.power: compile_loop(power_of, "contract", kept=False, ONE=floats["ONE"]),
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
        The function, and its derivative by s, which is not needed beside `ratio`.
    partials : mapping of parameter name -> callable
        Its derivatives by the parameters of the kernel, as functions of (s, slope(s), c).
    ratio : float, optional
        slope / value where that is one number: the tile then serves as its own slope.
    first : callable, optional
        What is applied to s before: value and slope are then functions of its result.
    constants : tuple of float
        c, where no parameter of the kernel is in it.
    """

    value: Callable[[Any, Any], Any]
    slope: Callable[[Any, Any], Any] | None = None
    partials: Mapping[str, Callable[[Any, Any, Any], Any]] = field(default_factory=dict)
    ratio: float | None = None
    first: Callable[[Any, Any], Any] | None = None
    constants: tuple[float, ...] = ()


@dataclass(frozen=True)
class Slopes:
    """What the derivatives of a tile need of its computation.

    The slope by s is `factor` times `slope`; s is None where the formula has no parameters; `inner`
    is the same of the kernel inside, or what that returned. Of two kernels that are joined `slope`
    has both tiles, and `inner` both of these.
    """

    slope: Any
    s: Array | None = None
    factor: float = 1.0
    inner: Any = None


def slopes_of(kernel: Kernel, a: Any, b: Any, W: Array, K: Any) -> Slopes:
    """Return the slopes that `tile_vjp` was handed as K, or new ones."""
    if isinstance(K, Slopes):
        return K
    found: Slopes = kernel.tile_and_slopes(a, b, np.empty(W.shape, W.dtype))[1]
    return found


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


class PointwiseKernel(Kernel):
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
        return () if self.pointwise is None else self.pointwise.constants

    def with_compiled_formulas(self) -> Any:
        other = copy(super().with_compiled_formulas())
        other.compiled = True
        return other

    def value(self, s: Array) -> Array:
        """Return the function of s, entry by entry."""
        formula, c = self.pointwise, self.constants()
        if formula is None:
            raise self._no_derivative()
        return np.asarray(formula.value(s if formula.first is None else formula.first(s, c), c))

    def slope(self, s: Array) -> Array:
        """Return the derivative of `value`."""
        formula, c = self.pointwise, self.constants()
        if formula is None:
            raise self._no_derivative()
        t = s if formula.first is None else formula.first(s, c)
        if formula.slope is None:
            return np.asarray(formula.ratio * formula.value(t, c))
        return np.asarray(formula.slope(t, c))

    def partials(self, s: Array) -> Derivatives:
        """Return the derivative of `value` by each parameter, of shape s.shape or (k, *s.shape)."""
        if self.pointwise is None or not self.pointwise.partials:
            return {}
        slope, c = PointwiseKernel.slope(self, s), self.constants()
        return {name: part(s, slope, c) for name, part in self.pointwise.partials.items()}

    # ---- in place, in strips -----------------------------------------------------------------

    def _to_compile(self, s: Array) -> Formula | None:
        """Return the formula, if it is compiled for a tile."""
        return self.pointwise if self.compiled and not self._own_methods and compilable(s) else None

    def _numbers(self, dtype: np.dtype[Any]) -> tuple[Any, Any]:
        """Return the constants, and what s is at least, in the type of a tile."""
        least = -np.inf if self.least is None else self.least
        return tuple(map(dtype.type, self.constants())), dtype.type(least)

    def _begun(self, formula: Formula, s: Array) -> tuple[Any, Any]:
        """Write `first` over s, if there is one; return what the next loop takes."""
        numbers = self._numbers(s.dtype)
        if formula.first is None:
            return numbers
        _compiled(write_values, s.dtype, formula.first)(s.reshape(-1), *numbers)
        return numbers[0], s.dtype.type(-np.inf)

    def _strip(self, s: Array) -> Array:
        return s if self.least is None else np.maximum(s, s.dtype.type(self.least))

    def written_over(self, s: Array) -> Array:
        """Return the values, written over s."""
        formula = self._to_compile(s)
        if formula is not None:
            loop = _compiled(write_values, s.dtype, formula.value)
            loop(s.reshape(-1), *self._begun(formula, s))
            return s
        for strip in strips(s):
            s[strip] = self.value(self._strip(s[strip]))
        return s

    def written_with_slopes(self, s: Array) -> Slopes:
        """Write the values over s and return their slopes."""
        formula, kept = None if self._own_methods else self.pointwise, None
        own_partials = type(self).partials is not PointwiseKernel.partials
        if own_partials or (self.pointwise is not None and self.pointwise.partials):
            kept = lend(s.shape, s.dtype)
            np.copyto(kept, s)
        if formula is not None and formula.ratio is not None:
            return Slopes(self.written_over(s), kept, formula.ratio)
        slopes = lend(s.shape, s.dtype)
        compiled = self._to_compile(s)
        if compiled is not None:
            loop = _compiled(write_values_and_slopes, s.dtype, compiled.value, compiled.slope)
            loop(s.reshape(-1), slopes.reshape(-1), *self._begun(compiled, s))
            return Slopes(slopes, kept)
        for strip in strips(s):
            part = self._strip(s[strip])
            slopes[strip] = self.slope(part)
            s[strip] = self.value(part)
        return Slopes(slopes, kept)

    def by_parameter(self, slopes: Slopes, W: Array) -> Derivatives:
        """Return the derivatives of sum(W * value(s)) by the parameters of the formula."""
        s = slopes.s
        if s is None:
            return {}
        formula = self._to_compile(s)
        if formula is not None and compilable(W) and W.dtype == s.dtype:
            numbers = self._numbers(s.dtype)
            return {
                name: float(_compiled(weighted_sum, s.dtype, partial)(W, s, slopes.slope, *numbers))
                for name, partial in formula.partials.items()
            }
        total: Derivatives = {}
        for strip in strips(s):
            for name, part in self.partials(self._strip(s[strip])).items():
                found = np.sum(W[strip] * part, axis=(-2, -1), dtype=np.float64)
                total[name] = total.get(name, 0.0) + found
        return total


# ---- the formulas of gramsmith's kernels: (s, c) ------------------------------------------------


def gaussian(s: Any, c: Any) -> Any:
    """Return exp(-s)."""
    return exp(-s)


GAUSSIAN = Formula(gaussian, ratio=-1.0)


def chi2(s: Any, c: Any) -> Any:
    """Return exp(-γ s), c = (γ, 1/γ)."""
    return exp(-c[0] * s)


def chi2_slope(s: Any, c: Any) -> Any:
    """Return -γ exp(-γ s)."""
    return -c[0] * exp(-c[0] * s)


def by_gamma(s: Any, slope: Any, c: Any) -> Any:
    """Return the derivative of f(γs + ...) by γ; c[-1] = 1/γ, as a division takes much longer."""
    return s * slope * c[-1]


def by_coef0(s: Any, slope: Any, c: Any) -> Any:
    """Return the derivative of f(γs + c0) by c0; c[-1] = 1/γ."""
    return slope * c[-1]


CHI2 = Formula(chi2, chi2_slope, {"gamma": by_gamma})


def root(s: Any, c: Any) -> Any:
    """Return exp(-r), r = √s."""
    return exp(-sqrt(s))


def root_slope(s: Any, c: Any) -> Any:
    """Return -exp(-r) / 2r, and 0 at the kink s = 0; c = (smallest number, 1/2)."""
    r = sqrt(s)
    return -c[1] * np.sign(r) * exp(-r) / np.maximum(r, c[0])


ROOT = Formula(root, root_slope, constants=(1e-30, 0.5))


def matern_3(s: Any, c: Any) -> Any:
    """Return (1 + r) exp(-r), r² = 3s; c = (3, 1, 3/2)."""
    r = sqrt(c[0] * s)
    return (c[1] + r) * exp(-r)


def matern_3_slope(s: Any, c: Any) -> Any:
    """Return -3/2 exp(-r)."""
    return -c[2] * exp(-sqrt(c[0] * s))


MATERN_3 = Formula(matern_3, matern_3_slope, constants=(3.0, 1.0, 1.5))


def matern_5(s: Any, c: Any) -> Any:
    """Return (1 + r + r²/3) exp(-r), r² = 5s; c = (5, 1, 1/3, 5/6)."""
    r = sqrt(c[0] * s)
    return (c[1] + r + c[2] * r * r) * exp(-r)


def matern_5_slope(s: Any, c: Any) -> Any:
    """Return -5/6 (1 + r) exp(-r)."""
    r = sqrt(c[0] * s)
    return -c[3] * (c[1] + r) * exp(-r)


MATERN_5 = Formula(matern_5, matern_5_slope, constants=(5.0, 1.0, 1.0 / 3.0, 5.0 / 6.0))


def rational_log(s: Any, c: Any) -> Any:
    """Return t = log(1 + s/2α), c = (1, 1/2α, α, α + 1, 1/2, 2)."""
    return log(c[0] + c[1] * s)


def rational(t: Any, c: Any) -> Any:
    """Return (1 + s/2α)^-α."""
    return exp(-c[2] * t)


def rational_slope(t: Any, c: Any) -> Any:
    """Return -1/2 (1 + s/2α)^(-α-1)."""
    return -c[4] * exp(-c[3] * t)


def rational_alpha(s: Any, slope: Any, c: Any) -> Any:
    """Return b^-α (1 - 1/b - log b), b = 1 + s/2α, where b^-α = -2b slope."""
    base = c[0] + c[1] * s
    return -c[5] * slope * (base - c[0] - base * log(base))


# In two passes: one of both functions has more constants than there are registers.
RATIONAL = Formula(rational, rational_slope, {"alpha": rational_alpha}, first=rational_log)


def polynomial(s: Any, c: Any) -> Any:
    """Return (γs + c0)^d, c = (γ, c0, d, d - 1, 1/γ)."""
    return power(c[0] * s + c[1], c[2])


def polynomial_slope(s: Any, c: Any) -> Any:
    """Return γ d (γs + c0)^(d-1)."""
    return c[0] * c[2] * power(c[0] * s + c[1], c[3])


INNER = {"gamma": by_gamma, "coef0": by_coef0}
POLYNOMIAL = Formula(polynomial, polynomial_slope, INNER)
WHOLE_POWER = Formula(polynomial, polynomial_slope)  # of γ = 1, c0 = 0


def sigmoid(s: Any, c: Any) -> Any:
    """Return tanh(γs + c0), c = (γ, c0, 1, 1/γ)."""
    return tanh(c[0] * s + c[1])


def sigmoid_slope(s: Any, c: Any) -> Any:
    """Return γ (1 - tanh²)."""
    t = tanh(c[0] * s + c[1])
    return c[0] * (c[2] - t * t)


SIGMOID = Formula(sigmoid, sigmoid_slope, INNER)


def exponential(s: Any, c: Any) -> Any:
    """Return exp(s)."""
    return exp(s)


EXPONENTIAL = Formula(exponential, ratio=1.0)


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

    Rows of K are the samples from `first` on, columns those from `start`; U is `by_columns` of the
    probe of all samples, in the type of K. PJ is None for a tile on the diagonal, its own mirror
    image.
    """
    m, n = K.shape
    right, left = np.zeros((m, len(U))), np.zeros((len(U), n))
    part = np.zeros((2, n), K.dtype)
    square = _compiled_pass(sum_rows)(K, K.dtype.type(pivot), U, first, start, right, left, part)
    PI += right[:, : PI.shape[1]]
    if PJ is not None:
        PJ += left.T[:, : PJ.shape[1]]
    return float(square)


def sum_rows(
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
    out: Array, K: Array, L: Array, R: Array, first: int, start: int, share: float, factor: float
) -> None:
    """Write share * (L'R + factor K) to `out`; L and R are `by_columns` of four, of all samples."""
    number = out.dtype.type
    _compiled_pass(weigh_rows)(out, K, L, R, first, start, number(share), number(share * factor))


def weigh_rows(
    out: Any, K: Any, L: Any, R: Any, first: int, start: int, share: Any, factor: Any
) -> None:
    """Do what `tile_weights` does, four columns of the factors at a time."""
    m, n = K.shape
    for c in range(0, len(L), 4):
        R0, R1 = R[c, start : start + n], R[c + 1, start : start + n]
        R2, R3 = R[c + 2, start : start + n], R[c + 3, start : start + n]
        f = factor if c == 0 else share / share
        for i in range(m):
            row, k = out[i], first + i
            before = K[i] if c == 0 else out[i]
            l0, l1 = share * L[c, k], share * L[c + 1, k]
            l2, l3 = share * L[c + 2, k], share * L[c + 3, k]
            for j in range(n):
                part = (l0 * R0[j] + l1 * R1[j]) + (l2 * R2[j] + l3 * R3[j])
                row[j] = f * before[j] + part
