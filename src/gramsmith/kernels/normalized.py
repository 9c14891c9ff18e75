"""Kernels that look at the diagonal of another kernel: its cosine and its own distance."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from gramsmith.kernels.algebra import Wrapped
from gramsmith.kernels.base import Array, Derivatives, Kernel, Pullback
from gramsmith.kernels.embedding import Embedding, add, add_named, lend, prefixed, scratch
from gramsmith.kernels.geometry import CANCELLATION
from gramsmith.kernels.pointwise import Slopes, slopes_of
from gramsmith.kernels.precomputed import reciprocal_root
from gramsmith.kernels.radial import REACH

LOST = 1e-4  # error of an exponent beyond which its Gaussian is not worth having


class DiagonalKernel(Wrapped):
    """A function of k(x, z) and of numbers made from k(x, x) and k(z, z).

    The embedding is (that of the inner kernel, one number c per sample). Subclasses give
    `from_diagonal` (c as a function of the inner diagonal) and its slope.
    """

    def from_diagonal(self, d: Array) -> Array:
        """Return the number kept per sample."""
        raise self._no_derivative()

    def from_diagonal_slope(self, d: Array) -> Array:
        """Return the derivative of `from_diagonal`."""
        raise self._no_derivative()

    def embed(self, X: Any, reference: Any = None, dtype: Any = np.float64) -> Embedding:
        E = self.kernel.embed(X, reference, dtype)
        return E, self.from_diagonal(self.kernel.diagonal(E)).astype(dtype)

    def embed_vjp(self, X: Any, reference: Any, E: Any, dE: Any) -> tuple[Any, Derivatives]:
        inner, dc = dE or (None, None)
        grad: Derivatives = {}
        if dc is not None:
            d = self.kernel.diagonal(E[0])
            by_diagonal, grad = self.kernel.diagonal_vjp(E[0], dc * self.from_diagonal_slope(d))
            inner = add(inner, by_diagonal)
        dX, by_parameter = self.kernel.embed_vjp(X, reference, E[0], inner)
        return dX, prefixed("kernel", add_named(dict(grad), by_parameter))

    def _inner(self, a: Embedding, b: Embedding, out: Array | None = None) -> Array:
        return self.kernel.tile(a[0], a[0] if a is b else b[0], out)


class Normalized(DiagonalKernel):
    r"""The cosine of a kernel, so that every sample has length one.

    .. math:: k'(x, z) = k(x, z) / \sqrt{k(x, x)\, k(z, z)}, \qquad 0/0 := 0

    Parameters
    ----------
    kernel : Kernel

    Examples
    --------
    >>> import gramsmith as gs
    >>> gs.Normalized(gs.Linear())([[3.0, 0.0]], [[1.0, 1.0]]).round(6)
    array([[0.707107]])
    """

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel

    def from_diagonal(self, d: Array) -> Array:
        return reciprocal_root(d)

    def from_diagonal_slope(self, d: Array) -> Array:
        return np.asarray(-0.5 * self.from_diagonal(d) ** 3)

    def tile(self, a: Embedding, b: Embedding, out: Array | None = None) -> Array:
        K = self._inner(a, b, out)
        K *= a[1][:, None]
        K *= b[1]
        return K

    def tile_and_slopes(self, a: Embedding, b: Embedding, out: Array) -> tuple[Array, Any]:
        room = lend(out.shape, out.dtype)
        t, inner = self.kernel.tile_and_slopes(a[0], a[0] if a is b else b[0], room)
        K = np.multiply(t, a[1][:, None], out=out)
        K *= b[1]
        return K, Slopes(t, inner=inner)

    def diagonal(self, a: Embedding) -> Array:
        return (np.asarray(a[1]) > 0).astype(np.float64)

    def tile_vjp(self, a: Any, b: Any, W: Array, K: Any = None, wants: str = "samples") -> Pullback:
        found = slopes_of(self, a, b, W, K)
        with scratch():
            V = np.multiply(W, found.slope, out=lend(W.shape, W.dtype))
            ca, cb = V @ b[1], V.T @ a[1]
            np.multiply(W, a[1][:, None], out=V)
            V *= b[1]
            da, db, grad = self.kernel.tile_vjp(a[0], b[0], V, found.inner, wants=wants)
        return (da, ca), (db, cb), prefixed("kernel", grad)

    def diagonal_vjp(self, a: Embedding, w: Array) -> tuple[Embedding, Derivatives]:
        return (None, None), {}

    def features(self, X: Any, reference: Any = None) -> Any:
        U = self.kernel.features(X, reference)
        if U is None:
            return None
        squared = U.multiply(U) if hasattr(U, "multiply") else U * U
        c = self.from_diagonal(np.asarray(squared.sum(axis=1)).ravel())
        return U.multiply(c[:, None]).tocsr() if hasattr(U, "multiply") else U * c[:, None]


class GaussianOf(DiagonalKernel):
    r"""The Gaussian of a kernel's own distance.

    .. math:: k'(x, z) = \exp\left(-\frac{k(x, x) + k(z, z) - 2 k(x, z)}{2 \ell^2}\right)

    Parameters
    ----------
    kernel : Kernel
    length_scale : float, default=1.0
        Width, in units of the kernel's distance.

    Examples
    --------
    >>> import gramsmith as gs
    >>> gs.GaussianOf(gs.Linear(), 2.0)([[0.0]], [[2.0]]).round(6)
    array([[0.606531]])
    """

    positive: ClassVar[tuple[str, ...]] = ("length_scale",)
    single: ClassVar[tuple[str, ...]] = ("length_scale",)

    def __init__(self, kernel: Kernel, length_scale: float = 1.0) -> None:
        self.kernel = kernel
        self.length_scale = length_scale

    def from_diagonal(self, d: Array) -> Array:
        return d

    def from_diagonal_slope(self, d: Array) -> Array:
        return np.ones_like(d)

    def embed(self, X: Any, reference: Any = None, dtype: Any = np.float64) -> Embedding:
        E = super().embed(X, reference, dtype)
        if np.dtype(dtype) == np.float32 and not self._error(E, dtype) <= CANCELLATION[E[1].dtype]:
            return super().embed(X, reference, np.float64)  # float32 cannot hold these differences
        return E

    def _error(self, e: Embedding, dtype: Any) -> float:
        """Return what rounding of k(x, x) does to the exponent."""
        top = float(np.abs(e[1]).max(initial=0.0))
        return float(np.finfo(dtype).eps) * top / float(self.length_scale) ** 2

    def _check_digits(self, a: Embedding, b: Embedding, s: Array) -> None:
        error = max(self._error(e, np.float64) for e in (a, b))
        if error <= LOST:
            return
        close = s > -(REACH + 2.0 * error)
        if a is b:
            np.fill_diagonal(close, False)
        if close.any():
            raise ValueError(
                f"GaussianOf: expected distances that rounding leaves alone, got values of "
                f"{self.kernel.formula()} so large that the exponent is wrong by {error:.2g}. "
                "Centre and scale the features (StandardScaler), normalise the kernel, or make "
                "length_scale larger; a Gaussian of features is gramsmith.Gaussian."
            )

    def _exponent(self, a: Embedding, b: Embedding, out: Array | None = None) -> Array:
        s = self._inner(a, b, out)
        s *= 2.0
        s -= a[1][:, None]
        s -= b[1]
        if a is b:
            np.fill_diagonal(s, 0.0)
        np.minimum(s, 0.0, out=s)
        s *= 0.5 / float(self.length_scale) ** 2
        self._check_digits(a, b, s)
        return s

    def tile(self, a: Embedding, b: Embedding, out: Array | None = None) -> Array:
        s = self._exponent(a, b, out)
        return np.asarray(np.exp(s, out=s))

    def diagonal(self, a: Embedding) -> Array:
        return np.ones(len(a[1]))

    def tile_vjp(self, a: Any, b: Any, W: Array, K: Any = None, wants: str = "samples") -> Pullback:
        s = self._exponent(a, b)
        V = W * np.exp(s)
        by_length = -2.0 * float(np.vdot(V, s)) / self.length_scale
        V *= 1.0 / float(self.length_scale) ** 2
        da, db, inner = self.kernel.tile_vjp(a[0], b[0], V, wants=wants)
        grad = {"length_scale": by_length, **prefixed("kernel", inner)}
        return (da, -0.5 * V.sum(axis=1)), (db, -0.5 * V.sum(axis=0)), grad

    def diagonal_vjp(self, a: Embedding, w: Array) -> tuple[Embedding, Derivatives]:
        return (None, None), {}

    def formula(self) -> str:
        return f"GaussianOf({self.kernel.formula()}, {self.length_scale:.4g})"
