"""Kernels made of kernels: sums, products, multiples, opposites, powers, exponentials."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from gramsmith.arguments import abridged, as_numbers, is_whole
from gramsmith.kernels.base import (
    Array,
    Gradient,
    Kernel,
    Wanted,
    WritesTiles,
    bracketed,
    formed,
)
from gramsmith.kernels.embedding import (
    Embedding,
    add,
    add_named,
    borrowed,
    overwritten,
    prefixed,
)


class Pair(WritesTiles):
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

    @property
    def working_tiles(self) -> int:
        return max(self.k1.working_tiles, 1 + self.k2.working_tiles)

    def form(self, a: Embedding, b: Embedding, out: Array | None = None) -> Array:
        same = a is b
        K = formed(self.k1, a[0], a[0] if same else b[0], out)
        if out is None:
            second = self.k2.tile(a[1], a[1] if same else b[1])
            return np.asarray(self.join(K, second, out=K))
        with borrowed(out.shape, out.dtype) as room:
            second = self.k2.tile_into(a[1], a[1] if same else b[1], room)
            return np.asarray(self.join(K, second, out=K))

    def embed_vjp(
        self, X: Any, reference: Any, E: Embedding, dE: Embedding
    ) -> tuple[Any, Gradient]:
        total: Gradient = {}
        dX = None
        dE = (None, None) if dE is None else dE
        for name, kernel, f, e, d in zip(
            ("k1", "k2"), (self.k1, self.k2), reference, E, dE, strict=True
        ):
            part, grad = kernel.embed_vjp(X, f, e, d)
            dX = add(dX, part)
            add_named(total, grad, f"{name}__")
        return dX, total


class Sum(Pair):
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

    precedence: ClassVar[int] = 1
    join: ClassVar[np.ufunc] = np.add

    def diagonal(self, a: Embedding) -> Array:
        return self.k1.diagonal(a[0]) + self.k2.diagonal(a[1])

    def tile_vjp(
        self, a: Embedding, b: Embedding, W: Array, K: Any = None, wants: Wanted = "samples"
    ) -> tuple[Embedding, Embedding, Gradient]:
        da1, db1, grad1 = self.k1.tile_vjp(a[0], b[0], W, wants=wants)
        da2, db2, grad2 = self.k2.tile_vjp(a[1], b[1], W, wants=wants)
        return (da1, da2), (db1, db2), {**prefixed("k1", grad1), **prefixed("k2", grad2)}

    def diagonal_vjp(self, a: Embedding, w: Array) -> tuple[Embedding, Gradient]:
        d1, grad1 = self.k1.diagonal_vjp(a[0], w)
        d2, grad2 = self.k2.diagonal_vjp(a[1], w)
        return (d1, d2), {**prefixed("k1", grad1), **prefixed("k2", grad2)}

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


class Product(Pair):
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

    precedence: ClassVar[int] = 2
    join: ClassVar[np.ufunc] = np.multiply

    def _factors(self, a: Embedding, b: Embedding) -> tuple[Array, Array]:
        same = a is b
        return (
            self.k1.tile(a[0], a[0] if same else b[0]),
            self.k2.tile(a[1], a[1] if same else b[1]),
        )

    def diagonal(self, a: Embedding) -> Array:
        return self.k1.diagonal(a[0]) * self.k2.diagonal(a[1])

    def tile_vjp(
        self, a: Embedding, b: Embedding, W: Array, K: Any = None, wants: Wanted = "samples"
    ) -> tuple[Embedding, Embedding, Gradient]:
        K1, K2 = self._factors(a, b)
        da1, db1, grad1 = self.k1.tile_vjp(a[0], b[0], W * K2, K1, wants=wants)
        da2, db2, grad2 = self.k2.tile_vjp(a[1], b[1], W * K1, K2, wants=wants)
        return (da1, da2), (db1, db2), {**prefixed("k1", grad1), **prefixed("k2", grad2)}

    def diagonal_vjp(self, a: Embedding, w: Array) -> tuple[Embedding, Gradient]:
        d1, grad1 = self.k1.diagonal_vjp(a[0], w * self.k2.diagonal(a[1]))
        d2, grad2 = self.k2.diagonal_vjp(a[1], w * self.k1.diagonal(a[0]))
        return (d1, d2), {**prefixed("k1", grad1), **prefixed("k2", grad2)}

    def formula(self) -> str:
        return f"{bracketed(self.k1, 2)} * {bracketed(self.k2, 2)}"


class FunctionOf(WritesTiles):
    """A scalar function of another kernel, entry by entry: `value`, `slope`, `partials`."""

    parts: ClassVar[tuple[str, ...]] = ("kernel",)

    _stored_parameters: ClassVar[dict[str, str]] = {"kernel": "kernel"}

    kernel: Kernel

    def value(self, t: Array) -> Array:
        """Return the function of the inner kernel's values t."""
        raise self._no_derivative()

    def slope(self, t: Array) -> Array:
        """Return its derivative."""
        raise self._no_derivative()

    def partials(self, t: Array) -> Gradient:
        """Return its derivative by each parameter, of shape t.shape or (size, *t.shape)."""
        return {}

    def check_input(self, X: Any) -> Any:
        return self.kernel.check_input(X)

    def reference(self, *Xs: Any) -> Any:
        return self.kernel.reference(*Xs)

    def embed(self, X: Any, reference: Any = None, dtype: Any = np.float64) -> Embedding:
        return self.kernel.embed(X, reference, dtype)

    def form(self, a: Embedding, b: Embedding, out: Array | None = None) -> Array:
        return overwritten(self.value, formed(self.kernel, a, b, out))

    def diagonal(self, a: Embedding) -> Array:
        return self.value(self.kernel.diagonal(a))

    def _by_parameter(self, W: Array, t: Array) -> Gradient:
        axes = tuple(range(-t.ndim, 0))
        return {name: np.sum(W * part, axis=axes) for name, part in self.partials(t).items()}

    def tile_vjp(
        self, a: Embedding, b: Embedding, W: Array, K: Any = None, wants: Wanted = "samples"
    ) -> tuple[Embedding, Embedding, Gradient]:
        t = self.kernel.tile(a, b)
        da, db, inner = self.kernel.tile_vjp(a, b, W * self.slope(t), t, wants=wants)
        return da, db, {**self._by_parameter(W, t), **prefixed("kernel", inner)}

    def diagonal_vjp(self, a: Embedding, w: Array) -> tuple[Embedding, Gradient]:
        t = self.kernel.diagonal(a)
        da, inner = self.kernel.diagonal_vjp(a, w * self.slope(t))
        return da, {**self._by_parameter(w, t), **prefixed("kernel", inner)}

    def embed_vjp(
        self, X: Any, reference: Any, E: Embedding, dE: Embedding
    ) -> tuple[Any, Gradient]:
        dX, inner = self.kernel.embed_vjp(X, reference, E, dE)
        return dX, prefixed("kernel", inner)


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
    precedence: ClassVar[int] = 2

    def __init__(self, kernel: Kernel, scale: float = 1.0) -> None:
        self.kernel = kernel
        self.scale = scale

    def value(self, t: Array) -> Array:
        return t * self.scale

    def slope(self, t: Array) -> Array:
        return np.full_like(t, self.scale)

    def partials(self, t: Array) -> Gradient:
        return {"scale": t}

    def features(self, X: Any, reference: Any = None) -> Any:
        U = self.kernel.features(X, reference)
        return None if U is None else U * np.sqrt(self.scale)

    def formula(self) -> str:
        return f"{self.scale:.4g} * {bracketed(self.kernel, 2)}"


class Negated(FunctionOf):
    """The opposite -k(x, z), a part of weighted sums whose weights may be negative.

    Such a sum need not be positive definite; machines say so where that matters to them, and
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

    precedence: ClassVar[int] = 2

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel

    @property
    def positive_definite(self) -> bool:
        return False

    def value(self, t: Array) -> Array:
        return -t

    def slope(self, t: Array) -> Array:
        return np.full_like(t, -1.0)

    def formula(self) -> str:
        return f"-{bracketed(self.kernel, 2)}"


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

    def __init__(self, kernel: Kernel, exponent: Any = 2) -> None:
        self.kernel = kernel
        self.exponent = exponent

    def check_parameters(self) -> None:
        super().check_parameters()
        if not is_whole(self.exponent, 1):
            raise ValueError(
                f"Expected a whole exponent >= 1, got {abridged(self.exponent)}; other powers of "
                "a kernel need not be kernels. Use 2 or 3."
            )

    def value(self, t: Array) -> Array:
        return np.asarray(t ** int(self.exponent))

    def slope(self, t: Array) -> Array:
        return np.asarray(self.exponent * t ** (int(self.exponent) - 1))

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

    def partials(self, t: Array) -> Gradient:
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

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel

    def value(self, t: Array) -> Array:
        return np.asarray(np.exp(t))

    slope = value


class Fixed(FunctionOf):
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
        for name in self.kernel.parameter_names(kinds=kinds):
            if self._is_loose(name):
                yield f"kernel__{name}"

    def _is_loose(self, name: str) -> bool:
        return self.parameters is not None and name not in self.parameters

    def _loose(self, grad: Gradient) -> Gradient:
        return prefixed("kernel", {name: v for name, v in grad.items() if self._is_loose(name)})

    def value(self, t: Array) -> Array:
        return t

    def form(self, a: Embedding, b: Embedding, out: Array | None = None) -> Array:
        return formed(self.kernel, a, b, out)

    def tile_vjp(
        self, a: Embedding, b: Embedding, W: Array, K: Any = None, wants: Wanted = "samples"
    ) -> tuple[Embedding, Embedding, Gradient]:
        da, db, grad = self.kernel.tile_vjp(a, b, W, K, wants=wants)
        return da, db, self._loose(grad)

    def diagonal_vjp(self, a: Embedding, w: Array) -> tuple[Embedding, Gradient]:
        da, grad = self.kernel.diagonal_vjp(a, w)
        return da, self._loose(grad)

    def embed_vjp(
        self, X: Any, reference: Any, E: Embedding, dE: Embedding
    ) -> tuple[Any, Gradient]:
        dX, grad = self.kernel.embed_vjp(X, reference, E, dE)
        return dX, self._loose(grad)

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
                f"Bounded: expected {{name: (low, high)}} with names among {', '.join(known)}, got "
                f"{abridged(self.limits)}."
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
