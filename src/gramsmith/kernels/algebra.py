"""Sums and products of kernels."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from gramsmith.kernels.base import Array, Gradient, Kernel, Wanted, bracketed
from gramsmith.kernels.embedding import Embedding, add, add_named, prefixed


class Pair(Kernel):
    """Two kernels evaluated on the same samples."""

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

    def embed_vjp(
        self, X: Any, reference: Any, E: Embedding, dE: Embedding
    ) -> tuple[Any, Gradient]:
        total: Gradient = {}
        dX = None
        dE = (None, None) if dE is None else dE
        for name, kernel, f, e, d in zip(
            ("k1", "k2"), (self.k1, self.k2), reference, E, dE, strict=True
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

    def tile_vjp(
        self, a: Embedding, b: Embedding, W: Array, K: Any = None, wants: Wanted = "samples"
    ) -> tuple[Embedding, Embedding, Gradient]:
        da1, db1, own1 = self.k1.tile_vjp(a[0], b[0], W, wants=wants)
        da2, db2, own2 = self.k2.tile_vjp(a[1], b[1], W, wants=wants)
        return (da1, da2), (db1, db2), {**prefixed("k1", own1), **prefixed("k2", own2)}

    def diagonal_vjp(self, a: Embedding, w: Array) -> tuple[Embedding, Gradient]:
        d1, own1 = self.k1.diagonal_vjp(a[0], w)
        d2, own2 = self.k2.diagonal_vjp(a[1], w)
        return (d1, d2), {**prefixed("k1", own1), **prefixed("k2", own2)}

    def tile_jacobian(self, a: Embedding, b: Embedding) -> Gradient:
        one, two = self.k1.tile_jacobian(a[0], b[0]), self.k2.tile_jacobian(a[1], b[1])
        return {**prefixed("k1", one), **prefixed("k2", two)}

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
        self, a: Embedding, b: Embedding, W: Array, K: Any = None, wants: Wanted = "samples"
    ) -> tuple[Embedding, Embedding, Gradient]:
        K1, K2 = self._factors(a, b)
        da1, db1, own1 = self.k1.tile_vjp(a[0], b[0], W * K2, K1, wants=wants)
        da2, db2, own2 = self.k2.tile_vjp(a[1], b[1], W * K1, K2, wants=wants)
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
