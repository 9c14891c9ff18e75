"""The operators: sums, products, and what numbers and maps mean beside a kernel."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.gaussian_process.kernels import Kernel as SklearnKernel

from gramsmith.kernels.base import Array, Gradient, Kernel, Pullback, bracketed
from gramsmith.kernels.composed import Composed
from gramsmith.kernels.embedding import Embedding, add, add_named, prefixed
from gramsmith.kernels.expression import Expression
from gramsmith.kernels.functions import Power, Scaled
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


def power(kernel: Kernel, exponent: Any) -> Kernel:
    """Return kernel ** exponent."""
    return Power(kernel, exponent)


def compose(kernel: Kernel, map: Any) -> Kernel:
    """Return k(phi(x), phi(z))."""
    if isinstance(map, SampleMap):
        return Composed(kernel, map)
    if not callable(map) and not hasattr(map, "transform"):
        raise TypeError(
            f"Expected a map, a function or a fitted transformer after @, got "
            f"{type(map).__name__}. Use kernel @ LinearMap(S) for a matrix S."
        )
    return Composed(kernel, FunctionMap(map))


def _as_term(value: Any) -> Kernel:
    if isinstance(value, Kernel):
        return value
    if isinstance(value, Real):
        return Constant(float(value))
    if isinstance(value, SklearnKernel):
        from gramsmith.kernels.adapt import from_sklearn  # which makes sums and products itself

        return from_sklearn(value)
    raise TypeError(
        f"Expected a kernel or a number, got {type(value).__name__}. "
        "Wrap other kernels with gramsmith.as_kernel."
    )


class Pair(Expression):
    """Two kernels evaluated on the same samples."""

    _stored_parameters: ClassVar[dict[str, str]] = {"k1": "kernel", "k2": "kernel"}

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

    precedence: ClassVar[int] = 1

    def tile(self, a: Embedding, b: Embedding) -> Array:
        same = a is b
        K = self.k1.tile(a[0], a[0] if same else b[0])
        K += self.k2.tile(a[1], a[1] if same else b[1])
        return K

    def diagonal(self, a: Embedding) -> Array:
        return self.k1.diagonal(a[0]) + self.k2.diagonal(a[1])

    def through(
        self,
        pullback: Callable[[Kernel], Pullback],
        a: Embedding,
        b: Embedding,
        W: Array,
        K: Array | None,
    ) -> tuple[Embedding, Embedding, Gradient]:
        da1, db1, own1 = pullback(self.k1)(a[0], b[0], W)
        da2, db2, own2 = pullback(self.k2)(a[1], b[1], W)
        return (da1, da2), (db1, db2), {**prefixed("k1", own1), **prefixed("k2", own2)}

    def diagonal_vjp(self, a: Embedding, w: Array) -> tuple[Embedding, Gradient]:
        d1, own1 = self.k1.diagonal_vjp(a[0], w)
        d2, own2 = self.k2.diagonal_vjp(a[1], w)
        return (d1, d2), {**prefixed("k1", own1), **prefixed("k2", own2)}

    def tile_jacobian(self, a: Embedding, b: Embedding) -> Gradient:
        one, two = self.k1.tile_jacobian(a[0], b[0]), self.k2.tile_jacobian(a[1], b[1])
        return {**prefixed("k1", one), **prefixed("k2", two)}

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

    precedence: ClassVar[int] = 2

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

    def through(
        self,
        pullback: Callable[[Kernel], Pullback],
        a: Embedding,
        b: Embedding,
        W: Array,
        K: Array | None,
    ) -> tuple[Embedding, Embedding, Gradient]:
        K1, K2 = self._factors(a, b)
        da1, db1, own1 = pullback(self.k1)(a[0], b[0], W * K2, K1)
        da2, db2, own2 = pullback(self.k2)(a[1], b[1], W * K1, K2)
        return (da1, da2), (db1, db2), {**prefixed("k1", own1), **prefixed("k2", own2)}

    def diagonal_vjp(self, a: Embedding, w: Array) -> tuple[Embedding, Gradient]:
        d1, own1 = self.k1.diagonal_vjp(a[0], w * self.k2.diagonal(a[1]))
        d2, own2 = self.k2.diagonal_vjp(a[1], w * self.k1.diagonal(a[0]))
        return (d1, d2), {**prefixed("k1", own1), **prefixed("k2", own2)}

    def tile_jacobian(self, a: Embedding, b: Embedding) -> Gradient:
        K1, K2 = (K[..., None] for K in self._factors(a, b))
        one = {name: J * K2 for name, J in self.k1.tile_jacobian(a[0], b[0]).items()}
        two = {name: J * K1 for name, J in self.k2.tile_jacobian(a[1], b[1]).items()}
        return {**prefixed("k1", one), **prefixed("k2", two)}

    def formula(self) -> str:
        return f"{bracketed(self.k1, 2)} * {bracketed(self.k2, 2)}"
