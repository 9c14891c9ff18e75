"""How a pair of vectors is reduced to one number s, and the kernels that are a function of s.

A geometry turns samples into an embedding, a pair of blocks into the matrix of s, and a matrix of
weights V into the derivative of sum(V * s). A `PairKernel` puts a scalar function on top, with two
formulas: `value` and `slope`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, Protocol

import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import cdist

from gramsmith.kernels import compiled
from gramsmith.kernels.base import Array, Gradient, Kernel, Wanted, WritesTiles
from gramsmith.kernels.embedding import Embedding, fitting, in_strips, overwritten, strips

# The expansion |a|² + |b|² - 2a'b is wrong by about eps max|x|²; beyond this bound on the error of
# s the tile is computed from differences instead.
CANCELLATION = {np.dtype(np.float64): 1e-11, np.dtype(np.float32): 1e-4}

ENTRIES = 1 << 22  # numbers held at once where differences are formed pair by pair


class Geometry(Protocol):
    """What a pairwise kernel asks of its geometry."""

    sparse: bool

    def reference(self, *Xs: Any) -> Any:
        """Return what all blocks of one computation share, such as the centre of the data."""

    def embed(self, X: Any, reference: Any, scale: Any, dtype: Any) -> Any:
        """Return the embedding of the rows of X, divided by `scale`."""

    def pair(self, a: Any, b: Any, out: Array | None = None) -> Array:
        """Return s for every pair of rows of two embeddings; in `out` if its type is that of s."""

    def diagonal(self, a: Any) -> Array:
        """Return s of every row with itself."""

    def pair_vjp(self, a: Any, b: Any, V: Array, *, scales: bool = False) -> tuple[Array, Array]:
        """Return the derivative of sum(V * s) with respect to the scaled rows of both blocks.

        With `scales` only its products with the rows, summed over both blocks, need be right: that
        is all that one factor per feature depends on, and may be less work.
        """

    def diagonal_vjp(self, a: Any, v: Array) -> Any:
        """Return the derivative of sum(v * diagonal) with respect to the scaled rows."""

    def points(self, a: Any) -> Any:
        """Return the scaled rows held by an embedding."""

    def degree(self) -> float:
        """Return the power with which s grows when the rows are multiplied by a number."""

    def per_feature(self, a: Any, b: Any) -> Array:
        """Return the contribution of each feature to s, shape (n_a, n_b, p)."""


def column_centre(Xs: tuple[Any, ...]) -> Array:
    """Return the mean of every column that lies far from zero compared with its spread, else 0.

    Centring saves the digits of data with an offset, but costs those of a cluster at zero when
    another one is far away.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        means = [np.mean(X, axis=0, dtype=np.float64) for X in Xs]
        centre: Array = np.mean(means, axis=0)
        low = np.min([X.min(axis=0, initial=np.inf) for X in Xs], axis=0)
        high = np.max([X.max(axis=0, initial=-np.inf) for X in Xs], axis=0)
        size, spread = np.maximum(-low, high), np.maximum(high - centre, centre - low)
        return np.where(spread <= 0.4 * size, centre, 0.0)


@dataclass(frozen=True)
class SquaredEuclidean:
    """s = |x - z|².

    Dense rows are centred once and stored as L = [2x, -|x|², -1] and R = [x, 1, |x|²], so that one
    matrix product gives -s. `cusp` says that the kernel on top has a kink at s = 0, so that small s
    must be exact.
    """

    cusp: bool = False
    sparse = True

    def reference(self, *Xs: Any) -> Any:
        return None if sp.issparse(Xs[0]) else column_centre(Xs)

    def embed(self, X: Any, reference: Any, scale: Any, dtype: Any) -> Any:
        if sp.issparse(X):
            Z = sp.csr_array(X.multiply(1.0 / np.asarray(scale)[None, ...])).astype(np.float64)
            with np.errstate(over="ignore"):
                sq = np.asarray(Z.multiply(Z).sum(axis=1)).ravel()
            dtype = _wide_enough(dtype, sq)
            return Z.astype(dtype), sq.astype(dtype)
        moved = np.asarray(X, dtype=np.float64)
        moved = moved - reference if np.any(reference) else moved
        Z = moved / scale
        with np.errstate(over="ignore"):
            sq = np.einsum("ij,ij->i", Z, Z)
        dtype = _wide_enough(dtype, sq)
        n, p = Z.shape
        L = np.empty((n, p + 2), dtype)
        R = np.empty((n, p + 2), dtype)
        R[:, :p], R[:, p], R[:, p + 1] = Z, 1.0, sq
        np.multiply(R[:, :p], 2.0, out=L[:, :p])
        L[:, p], L[:, p + 1] = -sq, -1.0
        if np.finfo(dtype).eps * sq.max(initial=0.0) <= CANCELLATION[dtype]:
            return L, R, None
        # Some tile may need exact differences: of the rows before division, which rounds as well.
        return L, R, (moved, np.broadcast_to(1.0 / np.square(scale), moved.shape))

    def negative_pair(
        self, a: Any, b: Any, out: Array | None = None, reach: float = np.inf
    ) -> Array:
        """Return -s up to rounding, which may leave it a little above 0; in `out` if it fits.

        Beyond `reach` the kernel does not tell distances apart, and they need not be exact.
        """
        if sp.issparse(a[0]):
            return self._sparse_pair(a, b, out, reach)
        L, R = a[0], b[1]
        if not self._safe(a, b):
            (Xa, weight), (Xb, _) = a[2], b[2]
            with np.errstate(over="ignore", invalid="ignore"):
                return in_strips(
                    lambda x, z: -cdist(x, z, "sqeuclidean", w=weight[0]), Xa, Xb, L.dtype, out
                )
        S: Array = np.matmul(L, R.T, out=fitting(out, L.dtype))
        if a is b:
            np.fill_diagonal(S, 0.0)
        if self.cusp and S.size:
            return _exact_above(1e-4 * S.min(), self.points(a), self.points(b), S, a is b)
        return S

    def product(self, a: Any, b: Any) -> tuple[Array, Array] | None:
        """Return L and R with -s = L R' where that is as exact as `negative_pair`, else None.

        Near pairs of a kernel with a cusp are left to `compiled.exact_near`.
        """
        return None if sp.issparse(a[0]) or not self._safe(a, b) else (a[0], b[1])

    def band_vjp(self, curved: Any, a: Any, b: Any, pull: Any, *, scales: bool) -> Any:
        """Return what `pair_vjp` returns for all tiles of a band, and `compiled.Products`."""
        # d(-|x - z|²) = -2 (x - z)'(dx - dz)
        ones = np.ascontiguousarray(a[1][:, :-1])  # [x, 1]: one product gives V'x and V'1
        x, z = self.points(a), self.points(b)
        found = compiled.band_products(
            curved, pull, ones, None if scales else np.ascontiguousarray(z)
        )
        # Σ_i x_i (V z)_i = Σ_j z_j (V'x)_j: one of the two products does for both scales
        db = (4.0 if scales else 2.0) * found.by_columns[:-1].T
        db -= 2.0 * z * found.by_columns[-1][:, None]
        da = -2.0 * x * found.sums[:, None]
        if not scales:
            da += 2.0 * found.by_rows
        return da, db, found

    def _sparse_pair(self, a: Any, b: Any, out: Array | None, reach: float) -> Array:
        S = dense_product(a[0], b[0], out)
        S *= 2.0
        if not S.size:
            return S
        S -= a[1][:, None]
        S -= b[1]
        if a is b:
            np.fill_diagonal(S, 0.0)
        # Sparse rows are not centred. An error in s matters as a share of s, so that only pairs
        # much nearer to each other than to zero need their differences.
        error = np.finfo(S.dtype).eps * float(max(a[1].max(), b[1].max()))
        near = error / CANCELLATION[S.dtype]
        bound = -min(near, reach + 2.0 * error) if near > 1.0 else np.inf
        if self.cusp:
            bound = min(bound, 1e-4 * S.min())
        return _exact_above(bound, a[0], b[0], S, a is b) if bound < np.inf else S

    def _safe(self, a: Any, b: Any) -> bool:
        if a[2] is None or b[2] is None or not len(a[1]) or not len(b[1]):
            return True
        error = np.finfo(a[0].dtype).eps * max(a[1][:, -1].max(), b[1][:, -1].max())
        return bool(error <= CANCELLATION[a[0].dtype])

    def doublings(self, a: Any) -> int:
        """Return how often s may double, its error with it, before differences are needed."""
        sq = a[1] if sp.issparse(a[0]) else a[1][:, -1]
        error = float(np.finfo(sq.dtype).eps) * float(sq.max(initial=0.0))
        return _doublings(error, CANCELLATION[sq.dtype])

    def pair(self, a: Any, b: Any, out: Array | None = None) -> Array:
        S = self.negative_pair(a, b, out)
        np.negative(S, out=S)
        return np.maximum(S, 0.0, out=S)

    def diagonal(self, a: Any) -> Array:
        return np.zeros(a[0].shape[0])

    def points(self, a: Any) -> Any:
        return a[0] if sp.issparse(a[0]) else a[1][:, :-2]

    def pair_vjp(self, a: Any, b: Any, V: Array, *, scales: bool = False) -> tuple[Array, Array]:
        # d|x - z|² = 2 (x - z)'(dx - dz): the Laplacian form, no n x n x p array.
        if sp.issparse(a[0]):
            (Za, _), (Zb, _) = a, b
            da = Za.multiply(2.0 * V.sum(axis=1)[:, None]).toarray() - 2.0 * (Zb.T @ V.T).T
            return da, Zb.multiply(2.0 * V.sum(axis=0)[:, None]).toarray() - 2.0 * (Za.T @ V).T
        # R = [x, 1, |x|²]: one product gives V x and the row sums of V.
        Ra, Rb = a[1][:, :-1], b[1][:, :-1]
        if scales:
            # Σ_i x_i (V z)_i = Σ_j z_j (V'x)_j: one of the two products does for both.
            Ta = V @ Rb
            da, db = Ra[:, :-1] * Ta[:, -1:], Rb[:, :-1] * (Ra[:, -1] @ V)[:, None]
            da -= 2.0 * Ta[:, :-1]
            da *= 2.0
            db *= 2.0
            return da, db
        Ta, Tb = V @ Rb, V.T @ Ra
        da, db = Ra[:, :-1] * Ta[:, -1:], Rb[:, :-1] * Tb[:, -1:]
        for d, T in ((da, Ta), (db, Tb)):
            d -= T[:, :-1]
            d *= 2.0
        return da, db

    def diagonal_vjp(self, a: Any, v: Array) -> Array | None:
        return None

    def degree(self) -> int:
        return 2

    def per_feature(self, a: Any, b: Any) -> Array:
        d = self.points(a)[:, None, :] - self.points(b)[None, :, :]
        return np.asarray(d * d)


def _doublings(error: float, bound: float) -> int:
    """Return how often an error may double and stay within a bound."""
    if error <= 0.0:
        return 1000
    return int(np.log2(bound / error)) if error <= bound else 0


def _wide_enough(dtype: Any, sq: Array) -> np.dtype[Any]:
    """Return `dtype`, or float64 if float32 cannot hold the differences of rows so long."""
    dtype = np.dtype(dtype)
    fits = np.finfo(dtype).eps * sq.max(initial=0.0) <= CANCELLATION[dtype]
    return dtype if fits else np.dtype(np.float64)


def _exact_above(bound: float, Za: Any, Zb: Any, S: Array, same: bool) -> Array:
    """Replace the entries of S = -s above `bound` by those of the differences of the rows."""
    found = [(strip.start, *np.nonzero(S[strip] > bound)) for strip in strips(S)]
    i = np.concatenate([start + i for start, i, _ in found])
    j = np.concatenate([j for _, _, j in found])
    if same:
        off = i != j
        S[i[~off], i[~off]] = 0.0
        i, j = i[off], j[off]
    sparse = sp.issparse(Za)
    width = (Za.nnz + Zb.nnz) // max(Za.shape[0] + Zb.shape[0], 1) if sparse else Za.shape[1]
    step = max(1, ENTRIES // (1 + 2 * width))
    for start in range(0, len(i), step):
        u, v = i[start : start + step], j[start : start + step]
        d = Za[u] - Zb[v]
        if sparse:
            S[u, v] = -np.asarray(d.multiply(d).sum(axis=1)).ravel()
        else:
            S[u, v] = -np.einsum("ij,ij->i", d, d)
    return S


def dense_product(A: Any, B: Any, out: Array | None) -> Array:
    """Return A B' of sparse rows as a dense array; in `out` if that takes it."""
    G = A @ B.T
    room = fitting(out, G.dtype)
    fits = room is not None and room.flags.c_contiguous
    return np.asarray(G.toarray(out=room) if fits else G.toarray())


@dataclass(frozen=True)
class CityBlock:
    """s = Σ_k |x_k - z_k|."""

    sparse = False
    coarse = 1e-5  # error of s from which on float32 does not do

    def reference(self, *Xs: Any) -> Any:
        return column_centre(Xs)

    def embed(self, X: Any, reference: Any, scale: Any, dtype: Any) -> Any:
        Z = (np.asarray(X, dtype=np.float64) - reference) / scale
        if np.finfo(dtype).eps * np.abs(Z).max(initial=0.0) > self.coarse:
            return Z  # float32 cannot hold these differences
        return Z.astype(dtype)

    def doublings(self, a: Any) -> int:
        """Return how often s may double, its error with it, before float64 is needed."""
        if a.dtype == np.float64:
            return 1000
        error = float(np.finfo(a.dtype).eps) * float(np.abs(a).max(initial=0.0))
        return _doublings(error, self.coarse)

    def pair(self, a: Any, b: Any, out: Array | None = None) -> Array:
        return in_strips(lambda x, z: cdist(x, z, "cityblock"), a, b, a.dtype, out)

    def diagonal(self, a: Any) -> Array:
        return np.zeros(len(a))

    def points(self, a: Any) -> Any:
        return a

    def pair_vjp(self, a: Any, b: Any, V: Array, *, scales: bool = False) -> tuple[Array, Array]:
        da, db = np.empty(a.shape), np.empty(b.shape)
        for k in range(a.shape[1]):
            G = np.sign(a[:, k, None] - b[:, k])
            G *= V
            da[:, k], db[:, k] = G.sum(axis=1), -G.sum(axis=0)
        return da, db

    def diagonal_vjp(self, a: Any, v: Array) -> Array | None:
        return None

    def degree(self) -> int:
        return 1

    def per_feature(self, a: Any, b: Any) -> Array:
        return np.asarray(np.abs(a[:, None, :] - b[None, :, :]))


@dataclass(frozen=True)
class Minkowski:
    """s = Σ_k |x_k - z_k|^norm, for a norm from 1 to 2."""

    norm: float
    sparse = False

    def reference(self, *Xs: Any) -> Any:
        return column_centre(Xs)

    def embed(self, X: Any, reference: Any, scale: Any, dtype: Any) -> Any:
        return CityBlock().embed(X, reference, scale, dtype)

    def pair(self, a: Any, b: Any, out: Array | None = None) -> Array:
        def power(x: Array, z: Array) -> Array:
            return np.asarray(cdist(x, z, "minkowski", p=self.norm) ** self.norm)

        return in_strips(power, a, b, a.dtype, out)

    def diagonal(self, a: Any) -> Array:
        return np.zeros(len(a))

    def points(self, a: Any) -> Any:
        return a

    def pair_vjp(self, a: Any, b: Any, V: Array, *, scales: bool = False) -> tuple[Array, Array]:
        da, db = np.empty(a.shape), np.empty(b.shape)
        for k in range(a.shape[1]):
            D = a[:, k, None] - b[:, k]
            G = self.norm * np.sign(D) * np.abs(D) ** (self.norm - 1.0) * V
            da[:, k], db[:, k] = G.sum(axis=1), -G.sum(axis=0)
        return da, db

    def diagonal_vjp(self, a: Any, v: Array) -> Array | None:
        return None

    def degree(self) -> float:
        return float(self.norm)

    def per_feature(self, a: Any, b: Any) -> Array:
        return np.asarray(np.abs(a[:, None, :] - b[None, :, :]) ** self.norm)


@dataclass(frozen=True)
class InnerProduct:
    """s = x'z."""

    sparse = True

    def reference(self, *Xs: Any) -> Any:
        return None

    def embed(self, X: Any, reference: Any, scale: Any, dtype: Any) -> Any:
        if sp.issparse(X):
            return sp.csr_array(X).astype(dtype)
        return np.asarray(X, dtype=np.float64).astype(dtype, order="C")

    def pair(self, a: Any, b: Any, out: Array | None = None) -> Array:
        if sp.issparse(a):
            return dense_product(a, b, out)
        return np.matmul(a, b.T, out=fitting(out, a.dtype))

    def product(self, a: Any, b: Any) -> tuple[Array, Array] | None:
        """Return L and R with s = L R' where the rows are dense, else None."""
        return None if sp.issparse(a) else (a, b)

    def band_vjp(self, curved: Any, a: Any, b: Any, pull: Any, *, scales: bool) -> Any:
        """Return what `pair_vjp` returns for all tiles of a band, and `compiled.Products`."""
        found = compiled.band_products(curved, pull, a, b)
        return found.by_rows, found.by_columns.T, found

    def diagonal(self, a: Any) -> Array:
        if sp.issparse(a):
            return np.asarray(a.multiply(a).sum(axis=1), dtype=np.float64).ravel()
        return np.asarray(np.einsum("ij,ij->i", a, a, dtype=np.float64))

    def points(self, a: Any) -> Any:
        return a

    def pair_vjp(self, a: Any, b: Any, V: Array, *, scales: bool = False) -> tuple[Array, Array]:
        if sp.issparse(a):
            return (b.T @ V.T).T, (a.T @ V).T
        return V @ b, V.T @ a

    def diagonal_vjp(self, a: Any, v: Array) -> Any:
        if sp.issparse(a):
            return sp.csr_array(a.multiply((2.0 * v)[:, None]))  # as sparse as the rows
        return np.asarray(a * (2.0 * v)[:, None])

    def degree(self) -> int:
        return 2

    def per_feature(self, a: Any, b: Any) -> Array:
        return np.asarray(a[:, None, :] * b[None, :, :])


@dataclass(frozen=True)
class ChiSquare:
    """s = Σ_k (x_k - z_k)² / (x_k + z_k) for non-negative rows, 0/0 being 0."""

    sparse = False

    def reference(self, *Xs: Any) -> Any:
        return None

    def embed(self, X: Any, reference: Any, scale: Any, dtype: Any) -> Any:
        return np.asarray(X, dtype=np.float64).astype(dtype)

    def pair(self, a: Any, b: Any, out: Array | None = None) -> Array:
        return in_strips(self._distances, a, b, a.dtype, out)

    def _distances(self, a: Any, b: Any) -> Array:
        s = np.zeros((len(a), len(b)), a.dtype)
        for x, z in zip(a.T, b.T, strict=True):
            total = x[:, None] + z
            np.maximum(total, np.finfo(total.dtype).tiny, out=total)
            s += (x[:, None] - z) ** 2 / total
        return s

    def diagonal(self, a: Any) -> Array:
        return np.zeros(len(a))

    def points(self, a: Any) -> Any:
        return a

    def pair_vjp(self, a: Any, b: Any, V: Array, *, scales: bool = False) -> tuple[Array, Array]:
        da, db = np.empty(a.shape), np.empty(b.shape)
        for k in range(a.shape[1]):
            # d/dx (x-z)²/(x+z) = (x-z)(x+3z)/(x+z)² = u (2 - u) with u = (x-z)/(x+z)
            total = a[:, k, None] + b[:, k]
            u = (a[:, k, None] - b[:, k]) / np.where(total > 0, total, 1.0)
            da[:, k] = np.einsum("ij,ij->i", V, u * (2.0 - u))
            db[:, k] = np.einsum("ij,ij->j", V, -u * (2.0 + u))
        return da, db

    def diagonal_vjp(self, a: Any, v: Array) -> Array | None:
        return None

    def degree(self) -> int:
        return 1

    def per_feature(self, a: Any, b: Any) -> Array:
        total = a[:, None, :] + b[None, :, :]
        return np.asarray((a[:, None, :] - b[None, :, :]) ** 2 / np.where(total > 0, total, 1.0))


PRODUCTS = 1 << 20  # of the dense products formed at once


def feature_products(A: Any, B: Any, V: Array) -> Array:
    """Return Σ_ij V_ij a_ik b_jk for every feature k, the diagonal of A'VB, shape (p,).

    Parameters
    ----------
    A : CSR array of shape (m, p)
    B : CSR array of shape (n, p)
    V : array of shape (m, n)

    Returns
    -------
    array of shape (p,)

    Examples
    --------
    >>> rows = sp.csr_array([[1.0, 0.0], [2.0, 3.0]])
    >>> feature_products(rows, rows, np.ones((2, 2)))
    array([9., 9.])
    """
    At, Bt = sp.csr_array(A.T), sp.csr_array(B.T)
    both = np.flatnonzero((np.diff(At.indptr) > 0) & (np.diff(Bt.indptr) > 0))
    total = np.zeros(At.shape[0])
    step = max(1, PRODUCTS // max(V.shape[0], 1))
    for start in range(0, len(both), step):
        rows = both[start : start + step]
        total[rows] = At[rows].multiply(Bt[rows] @ V.T).sum(axis=1)
    return total


def feature_distances(A: Any, B: Any, V: Array) -> Array:
    """Return Σ_ij V_ij (a_ik - b_jk)² for every feature k, shape (p,).

    Parameters
    ----------
    A : CSR array of shape (m, p)
    B : CSR array of shape (n, p)
    V : array of shape (m, n)

    Returns
    -------
    array of shape (p,)

    Examples
    --------
    >>> feature_distances(sp.csr_array([[1.0, 0.0]]), sp.csr_array([[4.0, 2.0]]), np.ones((1, 1)))
    array([9., 4.])
    """
    left, right = V.sum(axis=1) @ A.multiply(A), V.sum(axis=0) @ B.multiply(B)
    return np.asarray(left + right - 2.0 * feature_products(A, B, V), dtype=np.float64)


@cache
def _own_curve(kind: type[Kernel]) -> bool:
    """Return whether the curve of a class is that of its values, not of a class it derives from."""

    def origin(name: str) -> type:
        return next(c for c in kind.__mro__ if name in vars(c))

    return all(
        issubclass(origin("curve"), origin(name))
        for name in ("value", "slope", "geometry", "form", "tile")
    )


class PairKernel(WritesTiles):
    """k(x, z) = value(s(x, z)), where the geometry gives s.

    A subclass gives `geometry`, `value(s)`, `slope(s)` (the derivative of value), and `partials(s)`
    if it has parameters besides `length_scale`, which belongs to the geometry.
    """

    geometry: ClassVar[Geometry]
    length_scale: Any
    scales_inputs: ClassVar[bool] = False  # whether `length_scale` divides the inputs

    def value(self, s: Array) -> Array:
        """Return the kernel as a function of s, entry by entry; may overwrite s."""
        raise self._no_derivative()

    def slope(self, s: Array) -> Array:
        """Return the derivative of `value`."""
        raise self._no_derivative()

    def partials(self, s: Array) -> Gradient:
        """Return the derivative of `value` by each parameter except `length_scale`."""
        return {}

    def curve(self) -> Any:
        """Return `value` as a `compiled.Curve` of the matrix product of the geometry, or None."""
        return None

    def by_curve(self, partial: float, total: float) -> Gradient:
        """Return the derivatives by the parameters of `value`, from the sums of a band.

        Parameters
        ----------
        partial : float
            `compiled.Products.partial`.
        total : float
            The sum of all V.
        """
        return {}

    @property
    def scale(self) -> Any:
        """What the inputs are divided by; proportional to `length_scale`."""
        return self.length_scale if self.scales_inputs else 1.0

    @property
    def accepts_sparse(self) -> bool:
        return self.geometry.sparse

    def check_input(self, X: Any) -> Any:
        X = super().check_input(X)
        size = np.size(self.scale)
        if np.ndim(self.scale) and size != X.shape[1]:
            raise ValueError(
                f"{type(self).__name__}: expected one length_scale or one per feature "
                f"({X.shape[1]}), got {size}. Match length_scale to the columns of X."
            )
        return X

    def reference(self, *Xs: Any) -> Any:
        return self.geometry.reference(*Xs)

    def embed(self, X: Any, reference: Any = None, dtype: Any = np.float64) -> Embedding:
        return self.geometry.embed(X, reference, self.scale, dtype)

    def embeds_rows(self, E: Embedding, dtype: Any) -> bool:
        if isinstance(self.geometry, InnerProduct):
            return not sp.issparse(E)
        if not isinstance(self.geometry, SquaredEuclidean) or sp.issparse(E[0]):
            return False
        # otherwise the longest of all rows has a say in how each is kept
        return bool(E[2] is None and E[0].dtype == dtype)

    def form(self, a: Embedding, b: Embedding, out: Array | None = None) -> Array:
        if out is not None and compiled.suits(out):
            curved = self.curved(a, b)
            if curved is not None and curved.dtype == out.dtype:
                return compiled.curved_tile(curved, a is b, out)
        s = self.geometry.pair(a, b) if out is None else self.geometry.pair(a, b, out)
        return overwritten(self.value, s)

    def curved(self, a: Embedding, b: Embedding) -> Any:
        kind: Any = type(self)
        curve = self.curve() if _own_curve(kind) else None
        if curve is None:
            return None
        factors = self.geometry.product(a, b)  # type: ignore[attr-defined]
        return None if factors is None else compiled.Curved(factors[0], factors[1], curve)

    def band_vjp(
        self, a: Embedding, b: Embedding, pull: Any, wants: Wanted, Xa: Any = None, Xb: Any = None
    ) -> tuple[Embedding, Embedding, Gradient] | None:
        curved = self.curved(a, b)
        if curved is None:
            return None
        if wants == "parameters" and self.scales_inputs:
            return None, None, self._by_length_of_band(a, b, pull)
        if wants == "parameters":
            found = compiled.band_products(curved, pull)
            da = db = None
        else:
            geometry: Any = self.geometry
            da, db, found = geometry.band_vjp(curved, a, b, pull, scales=wants == "scales")
        return da, db, self.by_curve(found.partial, float(found.sums.sum()))

    def _by_length_of_band(self, a: Embedding, b: Embedding, pull: Any) -> Gradient:
        # (x_k - z_k)² is proportional to 1 / l_k²
        ones = np.ascontiguousarray(a[1][:, :-1])
        spread, named = self.scatter(a, b, pull, ones, b[1][:, :-1], diagonal=True)
        by_length = 2.0 * spread / self.length_scale
        several = np.ndim(self.length_scale)
        return {**named, "length_scale": by_length if several else float(by_length.sum())}

    def scatter(
        self,
        a: Embedding,
        b: Embedding,
        pull: Any,
        Xa: Array,
        Xb: Array,
        diagonal: bool = False,
    ) -> Any:
        """Return Σ_ij V_ij (x_i - x_j)(x_i - x_j)', V = -slope * (derivatives by K), of a band.

        Parameters
        ----------
        a, b : embeddings
        pull : kernels.compiled.Pull
        Xa, Xb : arrays of shape (n_a, p + 1) and (n_b, p + 1)
            The rows x, and a column of ones.
        diagonal : bool
            Whether the diagonal is all that is wanted.

        Returns
        -------
        scatter : array of shape (p, p) or (p,)
        named : dict
            `by_curve`. None instead of both where the tiles are no curve of a product.
        """
        curved = self.curved(a, b)
        if curved is None:
            return None
        found = compiled.band_products(curved, pull, Xa)
        named = self.by_curve(found.partial, float(found.sums.sum()))
        by_columns, sums = found.by_columns, found.sums
        x, z = Xa[:, :-1].astype(np.float64), Xb[:, :-1].astype(np.float64)
        if diagonal:
            own = sums @ np.square(x) + by_columns[-1] @ np.square(z)
            return own - 2.0 * np.vecdot(by_columns[:-1], z.T), named
        # what belongs to pairs, x'V z + z'V'x, is twice the symmetric part of z'(V'x)
        part = (x * sums[:, None]).T @ x + z.T @ (z * by_columns[-1][:, None])
        crossed = z.T @ by_columns[:-1].T
        return part - crossed - crossed.T, named

    def diagonal(self, a: Embedding) -> Array:
        return np.asarray(self.value(self.geometry.diagonal(a)), dtype=np.float64)

    def chained(
        self, a: Embedding, b: Embedding, W: Array, K: Array | None
    ) -> tuple[Array, Gradient]:
        """Return W * slope(s) and the derivatives by the parameters of `value`."""
        s = self.geometry.pair(a, b)
        by_parameter = {name: np.vdot(W, part) for name, part in self.partials(s).items()}
        return W * self.slope(s), by_parameter

    def tile_vjp(
        self, a: Embedding, b: Embedding, W: Array, K: Any = None, wants: Wanted = "samples"
    ) -> tuple[Embedding, Embedding, Gradient]:
        V, by_parameter = self.chained(a, b, W, K)
        if wants == "parameters" and not self.scales_inputs:
            return None, None, by_parameter
        if wants == "parameters" and sp.issparse(self.geometry.points(a)):
            # the derivative by sparse rows would be dense
            return None, None, {**by_parameter, "length_scale": self._by_length(a, b, V)}
        da, db = self.geometry.pair_vjp(a, b, V, scales=wants != "samples")
        return da, db, by_parameter

    def _by_length(self, a: Embedding, b: Embedding, V: Array) -> Any:
        # s is proportional to 1 / l², feature by feature
        if np.ndim(self.length_scale):
            A, B = (self.geometry.points(e) for e in (a, b))
            return -2.0 * feature_distances(A, B, V) / np.asarray(self.length_scale)
        total = np.vecdot(V, self.geometry.pair(a, b)).sum(dtype=np.float64)
        return -2.0 * float(total) / float(self.length_scale)

    def diagonal_vjp(self, a: Embedding, w: Array) -> tuple[Embedding, Gradient]:
        s = self.geometry.diagonal(a)
        grad = {name: np.vdot(w, part) for name, part in self.partials(s).items()}
        return self.geometry.diagonal_vjp(a, w * self.slope(s)), grad

    def embed_vjp(
        self, X: Any, reference: Any, E: Embedding, dE: Embedding
    ) -> tuple[Any, Gradient]:
        if dE is None or not self.scales_inputs:
            return dE, {}
        Z = self.geometry.points(E)
        # Z is proportional to 1 / l, hence dl_k = -Σ_i dZ_ik Z_ik / l_k
        product = Z.multiply(dE) if hasattr(Z, "multiply") else Z * dE
        by_length = -np.asarray(product.sum(axis=0)).ravel() / self.length_scale
        dX = dE / np.asarray(self.scale)
        several = np.ndim(self.length_scale)
        return dX, {"length_scale": by_length if several else float(by_length.sum())}
