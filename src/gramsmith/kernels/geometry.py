"""How a pair of vectors is reduced to one number s, and the derivative of that number.

A geometry turns samples into an embedding, a pair of blocks into the matrix of s, and a matrix of
weights V into the derivative of sum(V * s). Kernels put a scalar function on top (`pairwise.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.spatial.distance import cdist

Array = npt.NDArray[Any]

# The expansion |a|² + |b|² - 2a'b is wrong by about eps max|x|²; beyond this bound on the error of
# s the tile is computed from differences instead.
CANCELLATION = {np.dtype(np.float64): 1e-11, np.dtype(np.float32): 1e-4}


class Geometry(Protocol):
    """What a pairwise kernel asks of its geometry."""

    sparse: bool

    def frame(self, *Xs: Any) -> Any:
        """Return what all blocks of one computation share, such as the centre of the data."""

    def embed(self, X: Any, frame: Any, scale: Any, dtype: Any) -> Any:
        """Return the embedding of the rows of X, divided by `scale`."""

    def pair(self, a: Any, b: Any) -> Array:
        """Return s for every pair of rows of two embeddings."""

    def own(self, a: Any) -> Array:
        """Return s of every row with itself."""

    def pair_vjp(self, a: Any, b: Any, V: Array) -> tuple[Array, Array]:
        """Return the derivative of sum(V * s) with respect to the scaled rows of both blocks."""

    def own_vjp(self, a: Any, v: Array) -> Array | None:
        """Return the derivative of sum(v * own) with respect to the scaled rows."""

    def points(self, a: Any) -> Any:
        """Return the scaled rows held by an embedding."""

    def degree(self) -> int:
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

    def frame(self, *Xs: Any) -> Any:
        return None if sp.issparse(Xs[0]) else column_centre(Xs)

    def embed(self, X: Any, frame: Any, scale: Any, dtype: Any) -> Any:
        if sp.issparse(X):
            Z = sp.csr_array(X.multiply(1.0 / np.asarray(scale)[None, ...]))
            Z = Z.astype(dtype)
            return Z, np.asarray(Z.multiply(Z).sum(axis=1), dtype=dtype).ravel()
        moved = np.asarray(X, dtype=np.float64)
        moved = moved - frame if np.any(frame) else moved
        Z = moved / scale
        with np.errstate(over="ignore"):
            sq = np.einsum("ij,ij->i", Z, Z)
        dtype = np.dtype(dtype)
        top = sq.max(initial=0.0)
        if dtype == np.float32 and not np.finfo(dtype).eps * top <= CANCELLATION[dtype]:
            dtype = np.dtype(np.float64)  # float32 cannot hold these differences
        n, p = Z.shape
        L = np.empty((n, p + 2), dtype)
        R = np.empty((n, p + 2), dtype)
        R[:, :p], R[:, p], R[:, p + 1] = Z, 1.0, sq
        np.multiply(R[:, :p], 2.0, out=L[:, :p])
        L[:, p], L[:, p + 1] = -sq, -1.0
        if np.finfo(dtype).eps * top <= CANCELLATION[dtype]:
            return L, R, None
        # Some tile may need exact differences: of the rows before division, which rounds as well.
        return L, R, (moved, np.broadcast_to(1.0 / np.square(scale), moved.shape))

    def negative_pair(self, a: Any, b: Any, out: Array | None = None) -> Array:
        """Return -s up to rounding, which may leave it a little above 0; in `out` if it fits."""
        if sp.issparse(a[0]):
            G: Array = 2.0 * (a[0] @ b[0].T).toarray()
            G -= a[1][:, None]
            G -= b[1]
            return self._exact_where_small(a[0], b[0], G, a is b)
        L, R = a[0], b[1]
        if not self._safe(a, b):
            (Xa, weight), (Xb, _) = a[2], b[2]
            with np.errstate(over="ignore", invalid="ignore"):
                D = cdist(Xa, Xb, "sqeuclidean", w=weight[0])
            return np.asarray(-D, dtype=L.dtype)
        fits = out is not None and out.dtype == L.dtype
        S: Array = np.matmul(L, R.T, out=out if fits else None)
        if a is b:
            np.fill_diagonal(S, 0.0)
        return self._exact_where_small(self.points(a), self.points(b), S, a is b)

    def _safe(self, a: Any, b: Any) -> bool:
        if a[2] is None or b[2] is None or not len(a[1]) or not len(b[1]):
            return True
        error = np.finfo(a[0].dtype).eps * max(a[1][:, -1].max(), b[1][:, -1].max())
        return bool(error <= CANCELLATION[a[0].dtype])

    def _exact_where_small(self, Za: Any, Zb: Any, S: Array, same: bool) -> Array:
        if not self.cusp or not S.size:
            return S
        i, j = np.nonzero(S > 1e-4 * S.min())
        if same:
            off = i != j
            S[i[~off], i[~off]] = 0.0
            i, j = i[off], j[off]
        for start in range(0, len(i), 1 << 16):
            u, v = i[start : start + (1 << 16)], j[start : start + (1 << 16)]
            if sp.issparse(Za):
                d = Za[u] - Zb[v]
                S[u, v] = -np.asarray(d.multiply(d).sum(axis=1)).ravel()
            else:
                d = Za[u] - Zb[v]
                S[u, v] = -np.einsum("ij,ij->i", d, d)
        return S

    def pair(self, a: Any, b: Any) -> Array:
        S = self.negative_pair(a, b)
        np.negative(S, out=S)
        return np.maximum(S, 0.0, out=S)

    def own(self, a: Any) -> Array:
        return np.zeros(a[0].shape[0])

    def points(self, a: Any) -> Any:
        return a[0] if sp.issparse(a[0]) else a[1][:, :-2]

    def pair_vjp(self, a: Any, b: Any, V: Array) -> tuple[Array, Array]:
        # d|x - z|² = 2 (x - z)'(dx - dz): the Laplacian form, no n x n x p array.
        if sp.issparse(a[0]):
            (Za, _), (Zb, _) = a, b
            da = Za.multiply(2.0 * V.sum(axis=1)[:, None]).toarray() - 2.0 * (Zb.T @ V.T).T
            return da, Zb.multiply(2.0 * V.sum(axis=0)[:, None]).toarray() - 2.0 * (Za.T @ V).T
        # R = [x, 1, |x|²]: one product gives V x and the row sums of V.
        Ra, Rb = a[1][:, :-1], b[1][:, :-1]
        Ta, Tb = V @ Rb, V.T @ Ra
        da, db = Ra[:, :-1] * Ta[:, -1:], Rb[:, :-1] * Tb[:, -1:]
        for d, T in ((da, Ta), (db, Tb)):
            d -= T[:, :-1]
            d *= 2.0
        return da, db

    def scale_vjp(self, a: Any, b: Any, V: Array) -> tuple[Array, Array]:
        """Return derivatives whose products with the rows are those of `pair_vjp`, summed."""
        if sp.issparse(a[0]):
            return self.pair_vjp(a, b, V)
        # Σ_i x_i (V z)_i = Σ_j z_j (V'x)_j: one of the two products does for both.
        Ra, Rb = a[1][:, :-1], b[1][:, :-1]
        Ta = V @ Rb
        da, db = Ra[:, :-1] * Ta[:, -1:], Rb[:, :-1] * (Ra[:, -1] @ V)[:, None]
        da -= 2.0 * Ta[:, :-1]
        da *= 2.0
        db *= 2.0
        return da, db

    def own_vjp(self, a: Any, v: Array) -> Array | None:
        return None

    def degree(self) -> int:
        return 2

    def per_feature(self, a: Any, b: Any) -> Array:
        d = self.points(a)[:, None, :] - self.points(b)[None, :, :]
        return np.asarray(d * d)


@dataclass(frozen=True)
class CityBlock:
    """s = Σ_k |x_k - z_k|."""

    sparse = False

    def frame(self, *Xs: Any) -> Any:
        return column_centre(Xs)

    def embed(self, X: Any, frame: Any, scale: Any, dtype: Any) -> Any:
        Z = (np.asarray(X, dtype=np.float64) - frame) / scale
        if np.finfo(dtype).eps * np.abs(Z).max(initial=0.0) > 1e-5:
            return Z  # float32 cannot hold these differences
        return Z.astype(dtype)

    def pair(self, a: Any, b: Any) -> Array:
        return np.asarray(cdist(a, b, "cityblock"), dtype=a.dtype)

    def own(self, a: Any) -> Array:
        return np.zeros(len(a))

    def points(self, a: Any) -> Any:
        return a

    def pair_vjp(self, a: Any, b: Any, V: Array) -> tuple[Array, Array]:
        da, db = np.empty(a.shape), np.empty(b.shape)
        for k in range(a.shape[1]):
            G = np.sign(a[:, k, None] - b[:, k])
            G *= V
            da[:, k], db[:, k] = G.sum(axis=1), -G.sum(axis=0)
        return da, db

    def own_vjp(self, a: Any, v: Array) -> Array | None:
        return None

    def degree(self) -> int:
        return 1

    def per_feature(self, a: Any, b: Any) -> Array:
        return np.asarray(np.abs(a[:, None, :] - b[None, :, :]))


@dataclass(frozen=True)
class InnerProduct:
    """s = x'z."""

    sparse = True

    def frame(self, *Xs: Any) -> Any:
        return None

    def embed(self, X: Any, frame: Any, scale: Any, dtype: Any) -> Any:
        if sp.issparse(X):
            return sp.csr_array(X).astype(dtype)
        return np.asarray(X, dtype=np.float64).astype(dtype)

    def pair(self, a: Any, b: Any) -> Array:
        G = a @ b.T
        return np.asarray(G.toarray() if sp.issparse(G) else G)

    def own(self, a: Any) -> Array:
        if sp.issparse(a):
            return np.asarray(a.multiply(a).sum(axis=1), dtype=np.float64).ravel()
        return np.asarray(np.einsum("ij,ij->i", a, a, dtype=np.float64))

    def points(self, a: Any) -> Any:
        return a

    def pair_vjp(self, a: Any, b: Any, V: Array) -> tuple[Array, Array]:
        if sp.issparse(a):
            return (b.T @ V.T).T, (a.T @ V).T
        return V @ b, V.T @ a

    def own_vjp(self, a: Any, v: Array) -> Array | None:
        da = a * (2.0 * v)[:, None]
        return np.asarray(da.toarray() if sp.issparse(da) else da)

    def degree(self) -> int:
        return 2

    def per_feature(self, a: Any, b: Any) -> Array:
        return np.asarray(a[:, None, :] * b[None, :, :])


@dataclass(frozen=True)
class ChiSquare:
    """s = Σ_k (x_k - z_k)² / (x_k + z_k) for non-negative rows, 0/0 being 0."""

    sparse = False

    def frame(self, *Xs: Any) -> Any:
        return None

    def embed(self, X: Any, frame: Any, scale: Any, dtype: Any) -> Any:
        return np.asarray(X, dtype=np.float64).astype(dtype)

    def pair(self, a: Any, b: Any) -> Array:
        s = np.zeros((len(a), len(b)), a.dtype)
        for x, z in zip(a.T, b.T, strict=True):
            total = x[:, None] + z
            np.maximum(total, np.finfo(total.dtype).tiny, out=total)
            s += (x[:, None] - z) ** 2 / total
        return s

    def own(self, a: Any) -> Array:
        return np.zeros(len(a))

    def points(self, a: Any) -> Any:
        return a

    def pair_vjp(self, a: Any, b: Any, V: Array) -> tuple[Array, Array]:
        da, db = np.empty(a.shape), np.empty(b.shape)
        for k in range(a.shape[1]):
            # d/dx (x-z)²/(x+z) = (x-z)(x+3z)/(x+z)² = u (2 - u) with u = (x-z)/(x+z)
            total = a[:, k, None] + b[:, k]
            u = (a[:, k, None] - b[:, k]) / np.where(total > 0, total, 1.0)
            da[:, k] = np.einsum("ij,ij->i", V, u * (2.0 - u))
            db[:, k] = np.einsum("ij,ij->j", V, -u * (2.0 + u))
        return da, db

    def own_vjp(self, a: Any, v: Array) -> Array | None:
        return None

    def degree(self) -> int:
        return 1

    def per_feature(self, a: Any, b: Any) -> Array:
        total = a[:, None, :] + b[None, :, :]
        return np.asarray((a[:, None, :] - b[None, :, :]) ** 2 / np.where(total > 0, total, 1.0))
