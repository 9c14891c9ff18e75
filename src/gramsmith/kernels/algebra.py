"""Kernels made of kernels: sums, products, multiples, opposites, powers, exponentials."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from gramsmith.arguments import abridged, as_numbers
from gramsmith.kernels import pointwise as formulas
from gramsmith.kernels.base import (
    Array,
    Derivatives,
    Kernel,
    Pullback,
    bracketed,
    check_blocks,
)
from gramsmith.kernels.embedding import Embedding, add, lend, prefixed, scratch
from gramsmith.kernels.pointwise import MOST, Formula, PointwiseKernel, Slopes, slopes_of


class Joined(Kernel):
    """Two kernels evaluated on the same samples; `join` says what becomes of their values."""

    join: ClassVar[np.ufunc]

    parts: ClassVar[tuple[str, ...]] = ("k1", "k2")

    _stored_parameters: ClassVar[dict[str, str]] = {"k1": "kernel", "k2": "kernel"}

    def __init__(self, k1: Kernel, k2: Kernel) -> None:
        self.k1 = k1
        self.k2 = k2

    def check_input(self, X: Any) -> Any:
        return self.k2.check_input(self.k1.check_input(X))

    def reference(self, *Xs: Any) -> Any:
        return self.k1.reference(*Xs), self.k2.reference(*Xs)

    def embed(self, X: Any, reference: Any = None, dtype: Any = np.float64) -> Embedding:
        reference = reference or (None, None)
        return self.k1.embed(X, reference[0], dtype), self.k2.embed(X, reference[1], dtype)

    def tile(self, a: Embedding, b: Embedding, out: Array | None = None) -> Array:
        same = a is b
        K = self.k1.tile(a[0], a[0] if same else b[0], out)
        with scratch():
            room = None if out is None else lend(out.shape, out.dtype)
            second = self.k2.tile(a[1], a[1] if same else b[1], room)
            return np.asarray(self.join(K, second, out=K))

    def passed_on(self, W: Array, other: Any) -> Array:
        """Return the derivative by the values of one part, W being that by the joined ones."""
        raise self._no_derivative()

    def tile_and_slopes(self, a: Embedding, b: Embedding, out: Array) -> tuple[Array, Any]:
        # the slopes may be the tiles of the parts, which stay as they are
        K1, s1 = self.k1.tile_and_slopes(a[0], a[0] if a is b else b[0], lend(out.shape, out.dtype))
        K2, s2 = self.k2.tile_and_slopes(a[1], a[1] if a is b else b[1], lend(out.shape, out.dtype))
        return self.join(K1, K2, out=out), Slopes((K1, K2), inner=(s1, s2))

    def tile_vjp(self, a: Any, b: Any, W: Array, K: Any = None, wants: str = "samples") -> Pullback:
        slopes = slopes_of(self, a, b, W, K)
        (K1, K2), (s1, s2) = slopes.slope, slopes.inner
        with scratch():
            W1 = self.passed_on(W, K2)
            da1, db1, grad1 = self.k1.tile_vjp(a[0], b[0], W1, s1, wants=wants)
        with scratch():
            W2 = self.passed_on(W, K1)
            da2, db2, grad2 = self.k2.tile_vjp(a[1], b[1], W2, s2, wants=wants)
        if wants == "samples":
            check_blocks(self.k1, da1)
            check_blocks(self.k2, da2)
        return (da1, da2), (db1, db2), {**prefixed("k1", grad1), **prefixed("k2", grad2)}

    def diagonal(self, a: Embedding) -> Array:
        return np.asarray(self.join(self.k1.diagonal(a[0]), self.k2.diagonal(a[1])))

    def diagonal_vjp(self, a: Embedding, w: Array) -> tuple[Embedding, Derivatives]:
        d1, grad1 = self.k1.diagonal_vjp(a[0], self.passed_on(w, self.k2.diagonal(a[1])))
        d2, grad2 = self.k2.diagonal_vjp(a[1], self.passed_on(w, self.k1.diagonal(a[0])))
        return (d1, d2), {**prefixed("k1", grad1), **prefixed("k2", grad2)}

    def embed_vjp(self, X: Any, reference: Any, E: Any, dE: Any) -> tuple[Any, Derivatives]:
        dE = dE or (None, None)
        dX1, grad1 = self.k1.embed_vjp(X, reference[0], E[0], dE[0])
        dX2, grad2 = self.k2.embed_vjp(X, reference[1], E[1], dE[1])
        return add(dX1, dX2), {**prefixed("k1", grad1), **prefixed("k2", grad2)}


class Sum(Joined):
    """The sum k1(x, z) + k2(x, z), written ``k1 + k2``.

    Parameters
    ----------
    k1, k2 : Kernel

    Examples
    --------
    >>> import gramsmith as gs
    >>> (gs.Linear() + 1.0)([[2.0]])
    array([[5.]])
    """

    join: ClassVar[np.ufunc] = np.add

    def passed_on(self, W: Array, other: Any) -> Array:
        return W

    def features(self, X: Any, reference: Any = None) -> Any:
        reference = reference or (None, None)
        U1 = self.k1.features(X, reference[0])
        U2 = None if U1 is None else self.k2.features(X, reference[1])
        if U2 is None:
            return None
        if sp.issparse(U1) or sp.issparse(U2):
            return sp.csr_array(sp.hstack([U1, U2], format="csr"))
        return np.hstack([U1, U2])

    def formula(self) -> str:
        return f"{self.k1.formula()} + {self.k2.formula()}"


class Product(Joined):
    """The product k1(x, z) k2(x, z), written ``k1 * k2``.

    Parameters
    ----------
    k1, k2 : Kernel

    Examples
    --------
    >>> import gramsmith as gs
    >>> (gs.Linear() * gs.Linear())([[2.0]], [[3.0]])
    array([[36.]])
    """

    join: ClassVar[np.ufunc] = np.multiply

    def passed_on(self, W: Array, other: Any) -> Array:
        return np.asarray(np.multiply(W, other, out=lend(W.shape, W.dtype)))

    def formula(self) -> str:
        return f"{bracketed(self.k1, '*')} * {bracketed(self.k2, '*')}"


class Wrapped(Kernel):
    """A kernel around another one; by default it has the same values."""

    parts: ClassVar[tuple[str, ...]] = ("kernel",)

    _stored_parameters: ClassVar[dict[str, str]] = {"kernel": "kernel"}

    kernel: Kernel

    def named(self, grad: Derivatives) -> Derivatives:
        """Return derivatives by the inner parameters under the names that they have here."""
        return prefixed("kernel", grad)

    def wanted(self, wants: str) -> str:
        """Return what derivatives by the inner blocks are for, given what those by ours are for."""
        return wants

    def check_input(self, X: Any) -> Any:
        return self.kernel.check_input(X)

    def reference(self, *Xs: Any) -> Any:
        return self.kernel.reference(*Xs)

    def embed(self, X: Any, reference: Any = None, dtype: Any = np.float64) -> Embedding:
        return self.kernel.embed(X, reference, dtype)

    def tile(self, a: Embedding, b: Embedding, out: Array | None = None) -> Array:
        return self.kernel.tile(a, b, out)

    def tile_and_slopes(self, a: Embedding, b: Embedding, out: Array) -> tuple[Array, Any]:
        return self.kernel.tile_and_slopes(a, b, out)

    def diagonal(self, a: Embedding) -> Array:
        return self.kernel.diagonal(a)

    def tile_vjp(self, a: Any, b: Any, W: Array, K: Any = None, wants: str = "samples") -> Pullback:
        da, db, grad = self.kernel.tile_vjp(a, b, W, K, wants=self.wanted(wants))
        return da, db, self.named(grad)

    def diagonal_vjp(self, a: Embedding, w: Array) -> tuple[Embedding, Derivatives]:
        da, grad = self.kernel.diagonal_vjp(a, w)
        return da, self.named(grad)

    def embed_vjp(self, X: Any, reference: Any, E: Any, dE: Any) -> tuple[Any, Derivatives]:
        dX, grad = self.kernel.embed_vjp(X, reference, E, dE)
        return dX, self.named(grad)


class FunctionOf(PointwiseKernel, Wrapped):
    """A scalar function of another kernel's values, entry by entry."""

    def tile(self, a: Embedding, b: Embedding, out: Array | None = None) -> Array:
        return self.written_over(self.kernel.tile(a, b, out))

    def tile_and_slopes(self, a: Embedding, b: Embedding, out: Array) -> tuple[Array, Any]:
        t, inner = self.kernel.tile_and_slopes(a, b, lend(out.shape, out.dtype))
        np.copyto(out, t)  # the inner slopes may be t, which stays as it is
        return out, replace(self.written_with_slopes(out), inner=inner)

    def diagonal(self, a: Embedding) -> Array:
        return self.value(self.kernel.diagonal(a))

    def tile_vjp(self, a: Any, b: Any, W: Array, K: Any = None, wants: str = "samples") -> Pullback:
        slopes = slopes_of(self, a, b, W, K)
        with scratch():
            V = np.multiply(W, slopes.slope, out=lend(W.shape, W.dtype))
            if slopes.factor != 1.0:
                V *= slopes.factor
            da, db, inner = self.kernel.tile_vjp(a, b, V, slopes.inner, wants=wants)
        return da, db, {**self.by_parameter(slopes, W), **prefixed("kernel", inner)}

    def diagonal_vjp(self, a: Embedding, w: Array) -> tuple[Embedding, Derivatives]:
        t = self.kernel.diagonal(a)
        da, inner = self.kernel.diagonal_vjp(a, w * self.slope(t))
        grad = {name: np.sum(w * part, axis=-1) for name, part in self.partials(t).items()}
        return da, {**grad, **prefixed("kernel", inner)}


class Scaled(FunctionOf):
    """The multiple scale * k(x, z), written ``2.0 * k``.

    Parameters
    ----------
    kernel : Kernel
    scale : float
        Positive.

    Examples
    --------
    >>> import gramsmith as gs
    >>> (2.0 * gs.Linear())([[1.0]], [[3.0]])
    array([[6.]])
    """

    _stored_parameters: ClassVar[dict[str, str]] = {"scale": "number"}

    positive: ClassVar[tuple[str, ...]] = ("scale",)
    single: ClassVar[tuple[str, ...]] = ("scale",)

    def __init__(self, kernel: Kernel, scale: float = 1.0) -> None:
        self.kernel = kernel
        self.scale = scale

    def value(self, t: Array) -> Array:
        return t * float(self.scale)

    def slope(self, t: Array) -> Array:
        return np.full_like(t, self.scale)

    def partials(self, t: Array) -> Derivatives:
        return dict.fromkeys(self.positive, t)

    def tile(self, a: Embedding, b: Embedding, out: Array | None = None) -> Array:
        K = self.kernel.tile(a, b, out)
        return np.asarray(np.multiply(K, K.dtype.type(self.scale), out=K))

    def tile_and_slopes(self, a: Embedding, b: Embedding, out: Array) -> tuple[Array, Any]:
        t, inner = self.kernel.tile_and_slopes(a, b, lend(out.shape, out.dtype))
        return np.multiply(t, out.dtype.type(self.scale), out=out), Slopes(t, t, inner=inner)

    def tile_vjp(self, a: Any, b: Any, W: Array, K: Any = None, wants: str = "samples") -> Pullback:
        slopes = slopes_of(self, a, b, W, K)
        grad = {name: float(np.vdot(W, slopes.slope)) for name in self.positive}
        with scratch():
            V = np.multiply(W, W.dtype.type(self.scale), out=lend(W.shape, W.dtype))
            da, db, inner = self.kernel.tile_vjp(a, b, V, slopes.inner, wants=wants)
        return da, db, {**grad, **prefixed("kernel", inner)}

    def features(self, X: Any, reference: Any = None) -> Any:
        U = self.kernel.features(X, reference)
        return None if U is None else U * np.sqrt(self.scale)

    def formula(self) -> str:
        return f"{self.scale:.4g} * {bracketed(self.kernel, '*')}"


class Negated(Scaled):
    """The opposite -k(x, z), a part of weighted sums whose weights may be negative.

    Such a sum need not be positive definite; estimators warn where that matters to them, and
    `gramsmith.nearest_psd` repairs its matrix.

    Parameters
    ----------
    kernel : Kernel

    Examples
    --------
    >>> import gramsmith as gs
    >>> (gs.Polynomial(2) + gs.Negated(gs.Linear()))([[1.0]], [[3.0]])
    array([[13.]])
    """

    _stored_parameters: ClassVar[dict[str, str]] = {}

    scale = -1.0
    positive: ClassVar[tuple[str, ...]] = ()
    positive_definite = False

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel

    def features(self, X: Any, reference: Any = None) -> Any:
        return None

    def formula(self) -> str:
        return f"-{bracketed(self.kernel, '*')}"


class Power(FunctionOf):
    """The power k(x, z) ** exponent, written ``k ** 3``.

    Parameters
    ----------
    kernel : Kernel
    exponent : int
        At least 1; other powers of a kernel need not be kernels.

    Examples
    --------
    >>> import gramsmith as gs
    >>> (gs.Linear() ** 3)([[2.0]], [[1.0]])
    array([[8.]])
    """

    _stored_parameters: ClassVar[dict[str, str]] = {"exponent": "number"}

    whole: ClassVar[dict[str, int]] = {"exponent": 1}  # other powers need not be kernels
    pointwise: ClassVar[Formula | None] = formulas.WHOLE_POWER

    def __init__(self, kernel: Kernel, exponent: Any = 2) -> None:
        self.kernel = kernel
        self.exponent = exponent

    def with_compiled_formulas(self) -> Any:
        known = self.exponent <= MOST
        return super().with_compiled_formulas() if known else Kernel.with_compiled_formulas(self)

    def constants(self) -> tuple[float, ...]:
        return 1.0, 0.0, float(self.exponent), self.exponent - 1.0

    def formula(self) -> str:
        return f"({self.kernel.formula()}) ** {self.exponent}"


class PolynomialOf(FunctionOf):
    r"""A polynomial of a kernel, :math:`\sum_i c_i\, k(x, z)^i` with :math:`c_i \ge 0`.

    Parameters
    ----------
    kernel : Kernel
    coefficients : sequence of float
        c_0, c_1, ...; not negative.

    Examples
    --------
    >>> import gramsmith as gs
    >>> gs.PolynomialOf(gs.Linear(), [1.0, 0.0, 2.0])([[3.0]], [[1.0]])
    array([[19.]])
    """

    positive: ClassVar[tuple[str, ...]] = ("coefficients",)

    def __init__(self, kernel: Kernel, coefficients: Sequence[float] | Array) -> None:
        self.kernel = kernel
        self.coefficients = coefficients

    def check_parameters(self) -> None:
        self.check_parts()
        try:
            c = np.asarray(self.coefficients, dtype=float)
        except (TypeError, ValueError, OverflowError):
            c = np.empty(0)
        if c.ndim != 1 or not len(c) or not np.all(np.isfinite(c)) or c.min() < 0 or c.max() == 0:
            raise ValueError(
                f"Expected coefficients >= 0, not all zero, got {abridged(self.coefficients)}; a "
                "negative coefficient need not give a kernel. Leave powers out with 0."
            )
        self.kernel.check_parameters()

    def value(self, t: Array) -> Array:
        return np.asarray(np.polynomial.polynomial.polyval(t, np.asarray(self.coefficients, float)))

    def slope(self, t: Array) -> Array:
        derived = np.polynomial.polynomial.polyder(np.asarray(self.coefficients, dtype=float))
        return np.asarray(np.polynomial.polynomial.polyval(t, derived))

    def partials(self, t: Array) -> Derivatives:
        return {"coefficients": np.stack([t**i for i in range(len(self.coefficients))])}


class Exp(FunctionOf):
    """The exponential exp(k(x, z)).

    Parameters
    ----------
    kernel : Kernel

    Examples
    --------
    >>> import gramsmith as gs
    >>> gs.Exp(gs.Linear())([[1.0]], [[1.0]]).round(6)
    array([[2.718282]])
    """

    pointwise: ClassVar[Formula | None] = formulas.EXPONENTIAL

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel


class Fixed(Wrapped):
    """A kernel some or all of whose parameters no gradient changes.

    Parameters
    ----------
    kernel : Kernel
    parameters : sequence of str, optional
        Nested names of the parameters that stay as they are; default all.

    Examples
    --------
    >>> import gramsmith as gs
    >>> from gramsmith.kernels import Fixed
    >>> list((Fixed(gs.Gaussian()) + gs.RationalQuadratic()).parameter_names())
    ['k2__length_scale', 'k2__alpha']
    """

    _stored_parameters: ClassVar[dict[str, str]] = {"parameters": "none | list text"}

    def __init__(self, kernel: Kernel, parameters: Sequence[str] | None = None) -> None:
        self.kernel = kernel
        self.parameters = parameters

    def check_parameters(self) -> None:
        super().check_parameters()
        known = [name for name in self.kernel.get_params() if self.parameters is not None]
        unknown = [name for name in self.parameters or () if name not in known]
        if unknown:
            raise ValueError(
                f"Fixed: expected names of parameters of {self.kernel.formula()}, got {unknown}. "
                f"Names are {', '.join(known)}."
            )

    def parameter_names(self, *, kinds: tuple[str, ...] = ("positive", "free")) -> Iterator[str]:
        self.check_parts()
        for name in self.kernel.parameter_names(kinds=kinds):
            if self._is_loose(name):
                yield f"kernel__{name}"

    def _is_loose(self, name: str) -> bool:
        return self.parameters is not None and name not in self.parameters

    def named(self, grad: Derivatives) -> Derivatives:
        return super().named({name: v for name, v in grad.items() if self._is_loose(name)})

    def features(self, X: Any, reference: Any = None) -> Any:
        return self.kernel.features(X, reference)


class Bounded(Fixed):
    """A kernel whose parameters are learned within bounds.

    Parameters
    ----------
    kernel : Kernel
    limits : mapping of nested name -> (low, high)
        In the units of the parameter; numbers, or arrays of its shape.

    Examples
    --------
    >>> import numpy as np
    >>> import gramsmith as gs
    >>> kernel = gs.Bounded(gs.Gaussian(2.0), {"length_scale": (1.0, 3.0)})
    >>> np.exp(kernel.bounds).round(12)
    array([[1., 3.]])
    """

    _stored_parameters: ClassVar[dict[str, str]] = {"limits": "value"}

    parameters = ()  # none is fixed

    def __init__(self, kernel: Kernel, limits: Any) -> None:
        self.kernel = kernel
        self.limits = limits

    def check_parameters(self) -> None:
        super().check_parameters()
        known = list(self.kernel.parameter_names(kinds=("positive",)))
        if not isinstance(self.limits, Mapping) or not set(self.limits) <= set(known):
            raise ValueError(
                f"Bounded: expected {{name: (low, high)}} with names of positive parameters "
                f"({', '.join(known) or 'there is none here'}), got {abridged(self.limits)}."
            )
        for name, pair in self.limits.items():
            ends = as_numbers(pair)
            if ends is None or len(ends) != 2 or not ((ends[0] > 0) & (ends[0] <= ends[1])).all():
                raise ValueError(
                    f"Bounded: expected 0 < low <= high for {name}, got {abridged(pair)}."
                )

    def range_of(self, name: str) -> tuple[Any, Any]:
        low, high = self.limits.get(name.removeprefix("kernel__"), super().range_of(name))
        return low, high
