"""Kernels of the inner product of two vectors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from gramsmith.arguments import abridged, as_numbers, counted
from gramsmith.kernels import pointwise as formulas
from gramsmith.kernels.base import Array, Derivatives, Kernel, Pullback, defined_before
from gramsmith.kernels.definiteness import indefiniteness
from gramsmith.kernels.embedding import Embedding, fitting, strips
from gramsmith.kernels.geometry import Geometry, InnerProduct, PairKernel
from gramsmith.kernels.pointwise import MOST, Formula


class InnerProductKernel(PairKernel):
    """A function of x'z."""

    geometry: ClassVar[Geometry] = InnerProduct()


class Linear(InnerProductKernel):
    """The linear kernel, k(x, z) = x'z.

    Examples
    --------
    >>> import gramsmith as gs
    >>> gs.Linear()([[1.0, 2.0]], [[3.0, 4.0]])
    array([[11.]])
    """

    def value(self, s: Array) -> Array:
        return s

    def slope(self, s: Array) -> Array:
        return np.ones_like(s)

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if defined_before(cls, ("value", "slope"), "tile"):
            cls.tile, cls.tile_vjp = PairKernel.tile, PairKernel.tile_vjp  # type: ignore[method-assign]

    def tile(self, a: Embedding, b: Embedding, out: Array | None = None) -> Array:
        return self.geometry.pair(a, b, out)

    def tile_vjp(self, a: Any, b: Any, W: Array, K: Any = None, wants: str = "samples") -> Pullback:
        return (None, None, {}) if wants == "parameters" else (*self.geometry.pair_vjp(a, b, W), {})

    def features(self, X: Any, reference: Any = None) -> Any:
        return self.embed(X, reference)


class Polynomial(InnerProductKernel):
    r"""The polynomial kernel.

    .. math:: k(x, z) = (\gamma\, x'z + c_0)^d

    Parameters
    ----------
    degree : int, default=2
        The power d.
    gamma : float, default=1.0
        Factor of the inner product; scikit-learn's default is one over the number of features.
    coef0 : float, default=1.0
        The constant c0 >= 0, which weighs lower powers against higher ones.

    Examples
    --------
    >>> import gramsmith as gs
    >>> gs.Polynomial(degree=3)([[1.0, 1.0]], [[1.0, 0.0]])
    array([[8.]])
    """

    positive: ClassVar[tuple[str, ...]] = ("gamma", "coef0")
    single: ClassVar[tuple[str, ...]] = ("gamma", "coef0")
    zero: ClassVar[tuple[str, ...]] = ("coef0",)  # a negative constant is not a kernel
    whole: ClassVar[dict[str, int]] = {"degree": 1}
    pointwise: ClassVar[Formula | None] = formulas.POLYNOMIAL

    def __init__(self, degree: int = 2, gamma: float = 1.0, coef0: float = 1.0) -> None:
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0

    def with_compiled_formulas(self) -> Any:
        return super().with_compiled_formulas() if self.degree <= MOST else self

    def constants(self) -> tuple[float, ...]:
        degree = float(self.degree)
        return float(self.gamma), float(self.coef0), degree, degree - 1.0, 1.0 / float(self.gamma)


class Sigmoid(InnerProductKernel):
    r"""The hyperbolic tangent "kernel", which is not positive definite.

    .. math:: k(x, z) = \tanh(\gamma\, x'z + c_0)

    Parameters
    ----------
    gamma : float, default=1.0
        Factor of the inner product.
    coef0 : float, default=0.0
        The constant c0.

    Examples
    --------
    >>> import gramsmith as gs
    >>> gs.Sigmoid(0.5).positive_definite
    False
    """

    positive: ClassVar[tuple[str, ...]] = ("gamma",)
    free: ClassVar[tuple[str, ...]] = ("coef0",)
    single: ClassVar[tuple[str, ...]] = ("gamma", "coef0")
    pointwise: ClassVar[Formula | None] = formulas.SIGMOID
    positive_definite = False

    def __init__(self, gamma: float = 1.0, coef0: float = 0.0) -> None:
        self.gamma = gamma
        self.coef0 = coef0

    def constants(self) -> tuple[float, ...]:
        return float(self.gamma), float(self.coef0), 1.0, 1.0 / float(self.gamma)


class Tanimoto(Kernel):
    r"""The Tanimoto (Jaccard) kernel of counts, bits or fingerprints.

    .. math:: k(x, z) = x'z / (|x|^2 + |z|^2 - x'z), \qquad 0/0 := 0

    It is positive definite for non-negative inputs.

    Examples
    --------
    >>> import gramsmith as gs
    >>> gs.Tanimoto()([[1.0, 1.0, 0.0]], [[0.0, 1.0, 1.0]]).round(6)
    array([[0.333333]])
    """

    accepts_sparse = True
    requires_nonnegative_input = True

    def embed(self, X: Any, reference: Any = None, dtype: Any = np.float64) -> Embedding:
        a = InnerProduct().embed(X, None, 1.0, dtype)
        return a, InnerProduct().diagonal(a).astype(dtype)

    def tile(self, a: Embedding, b: Embedding, out: Array | None = None) -> Array:
        s = InnerProduct().pair(a[0], b[0], out)
        for strip in strips(s):
            s[strip] /= self._union(a[1][strip], b[1], s[strip])
        return s

    def _union(self, a: Array, b: Array, s: Array) -> Array:
        u = a[:, None] + b - s
        return np.where(u > 0, u, 1.0)

    def diagonal(self, a: Embedding) -> Array:
        return (np.asarray(a[1]) > 0).astype(np.float64)

    def tile_vjp(self, a: Any, b: Any, W: Array, K: Any = None, wants: str = "samples") -> Pullback:
        if wants == "parameters":
            return None, None, {}
        # k = s/u, u = |x|² + |z|² - s: dk = ds (1 + k)/u - k (d|x|² + d|z|²)/u
        s = InnerProduct().pair(a[0], b[0])
        u = self._union(a[1], b[1], s)
        k = s / u
        da, db = InnerProduct().pair_vjp(a[0], b[0], W * (1.0 + k) / u)
        N = -W * k / u
        da = da + InnerProduct().diagonal_vjp(a[0], N.sum(axis=1))
        db = db + InnerProduct().diagonal_vjp(b[0], N.sum(axis=0))
        return da, db, {}

    def diagonal_vjp(self, a: Embedding, w: Array) -> tuple[Embedding, Derivatives]:
        return None, {}


class Bilinear(Kernel):
    """The bilinear kernel k(x, z) = x'Bz of a positive semidefinite matrix B.

    Parameters
    ----------
    B : array of shape (p, p)
        Symmetric, positive semidefinite.

    Examples
    --------
    >>> import gramsmith as gs
    >>> gs.Bilinear([[2.0, 0.0], [0.0, 1.0]])([[1.0, 1.0]], [[1.0, 3.0]])
    array([[5.]])
    """

    free: ClassVar[tuple[str, ...]] = ("B",)

    def __init__(self, B: Any) -> None:
        self.B = B

    def check_parameters(self) -> None:
        B = as_numbers(self.B)
        if B is None:
            raise ValueError(f"Expected a symmetric matrix B of numbers, got {abridged(self.B)}.")
        if B.ndim != 2 or B.shape[0] != B.shape[1] or not np.allclose(B, B.T):
            raise ValueError(
                f"Expected a symmetric matrix B, got shape {B.shape}. Use (B + B.T) / 2."
            )
        message = indefiniteness(np.linalg.eigvalsh(B), "B")
        if message is not None:
            raise ValueError(message)

    def check_input(self, X: Any) -> Any:
        X = super().check_input(X)
        if X.shape[1] != len(self.B):
            raise ValueError(
                f"Expected {counted(len(self.B), 'feature')} (the size of B), got {X.shape[1]}."
            )
        return X

    def embed(self, X: Any, reference: Any = None, dtype: Any = np.float64) -> Embedding:
        X = np.asarray(X, dtype=np.float64)
        return X.astype(dtype), (X @ np.asarray(self.B, dtype=float)).astype(dtype)

    def tile(self, a: Embedding, b: Embedding, out: Array | None = None) -> Array:
        return np.matmul(a[1], b[0].T, out=fitting(out, a[1].dtype))

    def diagonal(self, a: Embedding) -> Array:
        return np.asarray(np.einsum("ij,ij->i", a[0], a[1], dtype=np.float64))

    def tile_vjp(self, a: Any, b: Any, W: Array, K: Any = None, wants: str = "samples") -> Pullback:
        return W @ b[1], W.T @ a[1], {"B": a[0].T @ W @ b[0]}

    def diagonal_vjp(self, a: Embedding, w: Array) -> tuple[Embedding, Derivatives]:
        return 2.0 * w[:, None] * a[1], {"B": a[0].T @ (w[:, None] * a[0])}


class ExplicitKernel(Kernel):
    """k(x, z) = u(x)'u(z): subclasses give the features u as `embed`, and `embed_vjp`."""

    positive_definite = True

    def tile(self, a: Embedding, b: Embedding, out: Array | None = None) -> Array:
        return np.matmul(a, b.T, out=fitting(out, a.dtype))

    def diagonal(self, a: Embedding) -> Array:
        return np.asarray(np.einsum("ij,ij->i", a, a, dtype=np.float64))

    def tile_vjp(self, a: Any, b: Any, W: Array, K: Any = None, wants: str = "samples") -> Pullback:
        return W @ b, W.T @ a, {}

    def diagonal_vjp(self, a: Embedding, w: Array) -> tuple[Embedding, Derivatives]:
        return 2.0 * w[:, None] * a, {}

    def features(self, X: Any, reference: Any = None) -> Any:
        return self.embed(X, self.reference(X) if reference is None else reference)


class RankOne(ExplicitKernel):
    """The kernel k(x, z) = f(x) f(z) of one real function.

    Parameters
    ----------
    f : callable
        Takes X and returns one number per row, shape (n,).

    Examples
    --------
    >>> import gramsmith as gs
    >>> gs.RankOne(lambda X: X[:, 0])([[2.0, 0.0]], [[3.0, 1.0]])
    array([[6.]])
    """

    _stored_parameters: ClassVar[dict[str, str]] = {"f": "code"}
    differentiable = False  # by the samples: nobody knows the derivative of f

    def __init__(self, f: Callable[[Any], Array]) -> None:
        self.f = f

    def check_parameters(self) -> None:
        super().check_parameters()
        if not callable(self.f):
            raise TypeError(
                f"RankOne: expected a function as f, got {abridged(self.f)}. Give a function that "
                "returns one number per row, such as lambda X: X[:, 0]."
            )

    def embed(self, X: Any, reference: Any = None, dtype: Any = np.float64) -> Embedding:
        found = self.f(X)
        values, n = as_numbers(found), X.shape[0]
        if values is None or values.shape != (n,):
            came = abridged(found) if values is None else values.shape
            raise ValueError(
                f"Expected f(X) with one number per row, shape ({n},), got {came}. "
                "Let f return a vector."
            )
        bad = np.flatnonzero(~np.isfinite(values))
        if len(bad):
            raise ValueError(
                f"Expected finite numbers f(X), got {values[bad[0]]} for row {bad[0]}. "
                "See where f divides, takes a root or a logarithm."
            )
        return values.astype(dtype, copy=False)[:, None]

    def embed_vjp(self, X: Any, reference: Any, E: Any, dE: Any) -> tuple[Any, Derivatives]:
        return None, {}
