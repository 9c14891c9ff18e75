"""New kernels from old ones: sums, products, functions of a kernel, maps of the samples."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from gramsmith.kernels.base import Array, Gradient, Kernel
from gramsmith.kernels.embedding import Embedding, add, add_named
from gramsmith.kernels.geometry import column_centre
from gramsmith.kernels.inner import Constant
from gramsmith.kernels.maps import FunctionMap, SampleMap


def add_kernels(left: Any, right: Any) -> Kernel:
    """Return left + right, where a number stands for a constant kernel."""
    return Sum(_as_term(left), _as_term(right))


def multiply_kernels(left: Any, right: Any) -> Kernel:
    """Return left * right, where a number scales the other kernel."""
    if isinstance(left, Real):
        return Scaled(right, float(left))
    if isinstance(right, Real):
        return Scaled(left, float(right))
    return Product(_as_term(left), _as_term(right))


def compose(kernel: Kernel, map: Any) -> Kernel:
    """Return k(phi(x), phi(z))."""
    return Composed(kernel, map if isinstance(map, SampleMap) else FunctionMap(map))


def _as_term(value: Any) -> Kernel:
    if isinstance(value, Kernel):
        return value
    if isinstance(value, Real):
        return Constant(float(value))
    raise TypeError(
        f"Expected a kernel or a number, got {type(value).__name__}. "
        "Wrap other kernels with gramsmith.as_kernel."
    )


def _prefixed(prefix: str, own: Gradient) -> Gradient:
    return {f"{prefix}__{name}": value for name, value in own.items()}


class Pair(Kernel):
    """Two kernels evaluated on the same samples."""

    def __init__(self, k1: Kernel, k2: Kernel) -> None:
        self.k1 = k1
        self.k2 = k2

    def check_input(self, X: Any) -> Any:
        return self.k2.check_input(self.k1.check_input(X))

    def frame(self, *Xs: Any) -> Any:
        return self.k1.frame(*Xs), self.k2.frame(*Xs)

    def embed(self, X: Any, frame: Any = None, dtype: Any = np.float64) -> Embedding:
        frame = frame or (None, None)
        return self.k1.embed(X, frame[0], dtype), self.k2.embed(X, frame[1], dtype)

    def embed_vjp(self, X: Any, frame: Any, E: Embedding, dE: Embedding) -> tuple[Any, Gradient]:
        total: Gradient = {}
        dX = None
        dE = (None, None) if dE is None else dE
        for name, kernel, f, e, d in zip(
            ("k1", "k2"), (self.k1, self.k2), frame, E, dE, strict=True
        ):
            part, own = kernel.embed_vjp(X, f, e, d)
            dX = add(dX, part)
            add_named(total, own, f"{name}__")
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

    def tile(self, a: Embedding, b: Embedding) -> Array:
        same = a is b
        K = self.k1.tile(a[0], a[0] if same else b[0])
        K += self.k2.tile(a[1], a[1] if same else b[1])
        return K

    def diagonal(self, a: Embedding) -> Array:
        return self.k1.diagonal(a[0]) + self.k2.diagonal(a[1])

    def tile_vjp(
        self, a: Embedding, b: Embedding, W: Array, K: Array | None = None
    ) -> tuple[Embedding, Embedding, Gradient]:
        da1, db1, own1 = self.k1.tile_vjp(a[0], b[0], W)
        da2, db2, own2 = self.k2.tile_vjp(a[1], b[1], W)
        return (da1, da2), (db1, db2), {**_prefixed("k1", own1), **_prefixed("k2", own2)}

    def diagonal_vjp(self, a: Embedding, w: Array) -> tuple[Embedding, Gradient]:
        d1, own1 = self.k1.diagonal_vjp(a[0], w)
        d2, own2 = self.k2.diagonal_vjp(a[1], w)
        return (d1, d2), {**_prefixed("k1", own1), **_prefixed("k2", own2)}

    def tile_jacobian(self, a: Embedding, b: Embedding) -> Gradient:
        one, two = self.k1.tile_jacobian(a[0], b[0]), self.k2.tile_jacobian(a[1], b[1])
        return {**_prefixed("k1", one), **_prefixed("k2", two)}

    def features(self, X: Any, frame: Any = None) -> Any:
        frame = frame or (None, None)
        U1 = self.k1.features(X, frame[0])
        U2 = None if U1 is None else self.k2.features(X, frame[1])
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

    def _factors(self, a: Embedding, b: Embedding) -> tuple[Array, Array]:
        same = a is b
        return (
            self.k1.tile(a[0], a[0] if same else b[0]),
            self.k2.tile(a[1], a[1] if same else b[1]),
        )

    def tile(self, a: Embedding, b: Embedding) -> Array:
        K1, K2 = self._factors(a, b)
        K1 *= K2
        return K1

    def diagonal(self, a: Embedding) -> Array:
        return self.k1.diagonal(a[0]) * self.k2.diagonal(a[1])

    def tile_vjp(
        self, a: Embedding, b: Embedding, W: Array, K: Array | None = None
    ) -> tuple[Embedding, Embedding, Gradient]:
        K1, K2 = self._factors(a, b)
        da1, db1, own1 = self.k1.tile_vjp(a[0], b[0], W * K2, K1)
        da2, db2, own2 = self.k2.tile_vjp(a[1], b[1], W * K1, K2)
        return (da1, da2), (db1, db2), {**_prefixed("k1", own1), **_prefixed("k2", own2)}

    def diagonal_vjp(self, a: Embedding, w: Array) -> tuple[Embedding, Gradient]:
        d1, own1 = self.k1.diagonal_vjp(a[0], w * self.k2.diagonal(a[1]))
        d2, own2 = self.k2.diagonal_vjp(a[1], w * self.k1.diagonal(a[0]))
        return (d1, d2), {**_prefixed("k1", own1), **_prefixed("k2", own2)}

    def tile_jacobian(self, a: Embedding, b: Embedding) -> Gradient:
        K1, K2 = (K[..., None] for K in self._factors(a, b))
        one = {name: J * K2 for name, J in self.k1.tile_jacobian(a[0], b[0]).items()}
        two = {name: J * K1 for name, J in self.k2.tile_jacobian(a[1], b[1]).items()}
        return {**_prefixed("k1", one), **_prefixed("k2", two)}

    def formula(self) -> str:
        terms = (
            f"({k.formula()})" if isinstance(k, Sum) else k.formula() for k in (self.k1, self.k2)
        )
        return " * ".join(terms)


class FunctionOf(Kernel):
    """A scalar function of another kernel, entry by entry: `value`, `slope`, `partials`."""

    kernel: Kernel

    def value(self, t: Array) -> Array:
        """Return the function of the inner kernel's values t."""
        raise self._no_derivative()

    def slope(self, t: Array) -> Array:
        """Return its derivative."""
        raise self._no_derivative()

    def partials(self, t: Array) -> Gradient:
        """Return its derivative by each own parameter, of shape t.shape or (size, *t.shape)."""
        return {}

    def check_input(self, X: Any) -> Any:
        return self.kernel.check_input(X)

    def frame(self, *Xs: Any) -> Any:
        return self.kernel.frame(*Xs)

    def embed(self, X: Any, frame: Any = None, dtype: Any = np.float64) -> Embedding:
        return self.kernel.embed(X, frame, dtype)

    def tile(self, a: Embedding, b: Embedding) -> Array:
        return self.value(self.kernel.tile(a, b))

    def diagonal(self, a: Embedding) -> Array:
        return self.value(self.kernel.diagonal(a))

    def _own(self, W: Array, t: Array) -> Gradient:
        axes = tuple(range(-t.ndim, 0))
        return {name: np.sum(W * part, axis=axes) for name, part in self.partials(t).items()}

    def tile_vjp(
        self, a: Embedding, b: Embedding, W: Array, K: Array | None = None
    ) -> tuple[Embedding, Embedding, Gradient]:
        t = self.kernel.tile(a, b)
        da, db, inner = self.kernel.tile_vjp(a, b, W * self.slope(t), t)
        return da, db, {**self._own(W, t), **_prefixed("kernel", inner)}

    def diagonal_vjp(self, a: Embedding, w: Array) -> tuple[Embedding, Gradient]:
        t = self.kernel.diagonal(a)
        da, inner = self.kernel.diagonal_vjp(a, w * self.slope(t))
        return da, {**self._own(w, t), **_prefixed("kernel", inner)}

    def embed_vjp(self, X: Any, frame: Any, E: Embedding, dE: Embedding) -> tuple[Any, Gradient]:
        dX, inner = self.kernel.embed_vjp(X, frame, E, dE)
        return dX, _prefixed("kernel", inner)

    def tile_jacobian(self, a: Embedding, b: Embedding) -> Gradient:
        t = self.kernel.tile(a, b)
        slope = self.slope(t)[..., None]
        inner = {name: J * slope for name, J in self.kernel.tile_jacobian(a, b).items()}
        own = {}
        for name, part in self.partials(t).items():
            own[name] = np.moveaxis(part, 0, -1) if part.ndim > t.ndim else part[..., None]
        return {**own, **_prefixed("kernel", inner)}


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

    positive: ClassVar[tuple[str, ...]] = ("scale",)

    def __init__(self, kernel: Kernel, scale: float = 1.0) -> None:
        self.kernel = kernel
        self.scale = scale

    def value(self, t: Array) -> Array:
        return t * self.scale

    def slope(self, t: Array) -> Array:
        return np.full_like(t, self.scale)

    def partials(self, t: Array) -> Gradient:
        return {"scale": t}

    def features(self, X: Any, frame: Any = None) -> Any:
        U = self.kernel.features(X, frame)
        return None if U is None else U * np.sqrt(self.scale)

    def formula(self) -> str:
        inner = self.kernel.formula()
        return f"{self.scale:.4g} * " + (f"({inner})" if isinstance(self.kernel, Sum) else inner)


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

    def __init__(self, kernel: Kernel, exponent: Any = 2) -> None:
        self.kernel = kernel
        self.exponent = exponent

    def check_parameters(self) -> None:
        super().check_parameters()
        if not isinstance(self.exponent, Integral) or self.exponent < 1:
            raise ValueError(
                f"Expected a whole exponent >= 1, got {self.exponent!r}; other powers of a kernel "
                "need not be kernels. Use 2 or 3."
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
        c = np.asarray(self.coefficients, dtype=float)
        if c.ndim != 1 or not len(c) or not np.all(np.isfinite(c)) or c.min() < 0 or c.max() == 0:
            raise ValueError(
                f"Expected coefficients >= 0, not all zero, got {self.coefficients!r}; a negative "
                "coefficient need not give a kernel. Leave powers out with 0."
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


class Composed(Kernel):
    """The kernel of mapped samples k(phi(x), phi(z)), written ``k @ map``.

    Parameters
    ----------
    kernel : Kernel
    map : SampleMap
        `LinearMap`, or `FunctionMap` for any function or fitted transformer.

    Examples
    --------
    >>> import numpy as np
    >>> import gramsmith as gs
    >>> (gs.Linear() @ gs.LinearMap(np.array([[2.0]])))([[1.0]], [[3.0]])
    array([[12.]])
    """

    def __init__(self, kernel: Kernel, map: SampleMap) -> None:
        self.kernel = kernel
        self.map = map

    @property
    def requires_vector_input(self) -> bool:
        return bool(self.map.requires_vector_input)

    @property
    def requires_nonnegative_input(self) -> bool:
        return False

    @property
    def differentiable(self) -> bool:
        return self.kernel.differentiable and type(self.map).vjp is not SampleMap.vjp

    def is_stationary(self) -> bool:
        return self.map.linear and self.kernel.is_stationary()

    def _parametrised(self) -> dict[str, Any]:
        return {"kernel": self.kernel, "map": _MapParameters(self.map)}

    def frame(self, *Xs: Any) -> Any:
        # Centring before a linear map keeps the digits that the map of far-away data would lose.
        dense = self.is_stationary() and not sp.issparse(Xs[0])
        centre = column_centre(Xs) if dense else None
        return centre, self.kernel.frame(*(self._phi(X, centre) for X in Xs))

    def _phi(self, X: Any, centre: Array | None) -> Any:
        return self.map(X if centre is None else X - centre)

    def embed(self, X: Any, frame: Any = None, dtype: Any = np.float64) -> Embedding:
        centre, inner = frame or (None, None)
        return self.kernel.embed(self._phi(X, centre), inner, dtype)

    def tile(self, a: Embedding, b: Embedding) -> Array:
        return self.kernel.tile(a, b)

    def diagonal(self, a: Embedding) -> Array:
        return self.kernel.diagonal(a)

    def tile_vjp(
        self, a: Embedding, b: Embedding, W: Array, K: Array | None = None
    ) -> tuple[Embedding, Embedding, Gradient]:
        da, db, own = self.kernel.tile_vjp(a, b, W, K)
        return da, db, _prefixed("kernel", own)

    def diagonal_vjp(self, a: Embedding, w: Array) -> tuple[Embedding, Gradient]:
        da, own = self.kernel.diagonal_vjp(a, w)
        return da, _prefixed("kernel", own)

    def embed_vjp(self, X: Any, frame: Any, E: Embedding, dE: Embedding) -> tuple[Any, Gradient]:
        centre, inner = frame
        moved = X if centre is None else X - centre
        dphi, own = self.kernel.embed_vjp(self.map(moved), inner, E, dE)
        if dphi is None:
            return None, _prefixed("kernel", own)
        dX, outer = self.map.vjp(moved, dphi)
        return dX, {**_prefixed("kernel", own), **_prefixed("map", outer)}

    def tile_jacobian(self, a: Embedding, b: Embedding) -> Gradient:
        return _prefixed("kernel", self.kernel.tile_jacobian(a, b))

    def features(self, X: Any, frame: Any = None) -> Any:
        centre, inner = frame or (None, None)
        return self.kernel.features(self._phi(X, centre), inner)

    def formula(self) -> str:
        inner = self.kernel.formula()
        inner = f"({inner})" if isinstance(self.kernel, Pair) else inner
        name = type(self.map).__name__
        shape = f"{np.shape(self.map.S)}" if hasattr(self.map, "S") else "(...)"
        return f"{inner} @ {name}{shape}"


class _MapParameters:
    """The parameters of a map, named like those of a kernel."""

    def __init__(self, map: SampleMap) -> None:
        self.map = map

    def parameter_names(self, *, kinds: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(self.map.free) if "free" in kinds else ()
