"""How a pair of vectors is reduced to one number s, and the kernels that are a function of s.

A geometry turns samples into an embedding, a pair of blocks into the matrix of s, and a matrix of
weights V into the derivative of sum(V * s). A `PairKernel` puts a scalar function on top, with two
formulas: `value` and `slope`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import cdist

from gramsmith.kernels.base import Array, Derivatives, Pullback
from gramsmith.kernels.embedding import STRIP, Embedding, count, fitting, in_strips, lend
from gramsmith.kernels.pointwise import PointwiseKernel, slopes_of

# The expansion |a|² + |b|² - 2a'b is wrong by about eps max|x|²; beyond this bound on its error the
# s of which that is a larger share are computed from differences instead.
CANCELLATION = {np.dtype(np.float64): 1e-11, np.dtype(np.float32): 1e-4}

ENTRIES = 1 << 22  # numbers held at once where differences are formed pair by pair
# Share of the squared lengths of two rows below which their squared distance is computed from
# differences where a kernel has a kink: expanded, it has lost four digits of sixteen.
NEAR = 1e-4


class Geometry:
    """What a pairwise kernel asks of its geometry; by default a distance of dense rows."""

    sparse: ClassVar[bool] = False  # whether it takes CSR rows
    least: ClassVar[float | None] = None  # what s is at least, but for rounding

    def reference(self, *Xs: Any) -> Any:
        """Return what all blocks of one computation share, such as the centre of the data."""
        return None

    def embed(self, X: Any, reference: Any, scale: Any, dtype: Any) -> Any:
        """Return the embedding of the rows of X, divided by `scale`."""
        return np.asarray(X, dtype=np.float64).astype(dtype, order="C")

    def pair(self, a: Any, b: Any, out: Array | None = None) -> Array:
        """Return s for every pair of rows, up to rounding; in `out` if its type is that of s."""
        raise NotImplementedError

    def pair_vjp(self, a: Any, b: Any, V: Array, *, scales: bool = False) -> tuple[Array, Array]:
        """Return the derivative of sum(V * s) with respect to the scaled rows of both blocks.

        With `scales` only its products with the rows, summed over both blocks, need be right: that
        is all that one factor per feature depends on, and may be less work.
        """
        da, db = np.empty(a.shape), np.empty(b.shape)
        for k in range(a.shape[1]):
            da[:, k], db[:, k] = self.column_vjp(a[:, k, None], b[:, k], V)
        return da, db

    def column_vjp(self, x: Array, z: Array, V: Array) -> tuple[Array, Array]:
        """Return what one column x (as rows) and z (as columns) add to the derivative."""
        raise NotImplementedError

    def diagonal(self, a: Any) -> Array:
        """Return s of every row with itself."""
        return np.zeros(count(a))

    def diagonal_vjp(self, a: Any, v: Array) -> Any:
        """Return the derivative of sum(v * diagonal) with respect to the scaled rows."""
        return None

    def points(self, a: Any) -> Any:
        """Return the scaled rows held by an embedding."""
        return a

    def degree(self) -> float:
        """Return the power with which s grows when the rows are multiplied by a number."""
        return 1

    def doublings(self, a: Any) -> int:
        """Return how often s may double, its error with it, before more digits are needed."""
        return 0


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
class SquaredEuclidean(Geometry):
    """s = |x - z|².

    Dense rows are centred once and stored as L = [-2x, |x|², 1] and R = [x, 1, |x|²], so that one
    matrix product gives s. `cusp` says that the kernel on top has a kink at s = 0, so that small s
    must be exact.
    """

    cusp: bool = False
    reach: float = np.inf  # beyond it the kernel does not tell distances apart
    sparse: ClassVar[bool] = True
    least: ClassVar[float | None] = 0.0

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
        np.multiply(R[:, :p], -2.0, out=L[:, :p])
        L[:, p], L[:, p + 1] = sq, 1.0
        if _expansion_error(dtype, sq, sq) <= CANCELLATION[dtype]:
            return L, R, None
        # Some tile may need exact differences: of the rows before division, which rounds as well.
        return L, R, (moved, np.broadcast_to(1.0 / np.square(scale), moved.shape))

    def pair(self, a: Any, b: Any, out: Array | None = None) -> Array:
        if sp.issparse(a[0]):
            S = dense_product(a[0], b[0], out)
            S *= -2.0
            S += a[1][:, None]
            S += b[1]
        else:
            S = np.matmul(a[0], b[1].T, out=fitting(out, a[0].dtype))
        bound = self._exact_from(a, b)
        if bound > 0.0:
            if a is b:
                np.fill_diagonal(S, np.inf)  # which is known to be 0
            self._replace_below(bound, a, b, S)
        if a is b:
            np.fill_diagonal(S, 0.0)
        return S

    def _exact_from(self, a: Any, b: Any) -> float:
        """Return from where on the expanded s are exact enough, 0 if that is everywhere.

        What counts is the share of s that their error is, so that only pairs much nearer to each
        other than to zero need their differences.
        """
        if not self.cusp and not sp.issparse(a[0]) and a[2] is None and b[2] is None:
            return 0.0  # as is known of all rows together
        dtype, bound = a[0].dtype, CANCELLATION[a[0].dtype]
        squares = (e[1] if sp.issparse(e[0]) else e[1][:, -1] for e in (a, b))
        error = _expansion_error(dtype, *squares)
        exact = min(error / bound, self.reach + 2.0 * error) if error > bound else 0.0
        return max(exact, NEAR / float(np.finfo(dtype).eps) * error) if self.cusp else exact

    def _replace_below(self, bound: float, a: Any, b: Any, S: Array) -> None:
        """Replace the entries of S below `bound`, and those that overflowed, by differences."""
        near = np.flatnonzero(~(S.min(axis=1, initial=np.inf) >= bound))  # also where S is nan
        if sp.issparse(a[0]):
            _subtract_pairs(a[0], b[0], near, bound, S)
            return
        raw = a[2] is not None and b[2] is not None
        (A, w), B = (a[2], b[2][0]) if raw else ((self.points(a), None), self.points(b))
        weights = {} if w is None else {"w": w[0]}
        step = max(1, STRIP // len(B)) if len(B) else 1
        for start in range(0, len(near), step):
            some = near[start : start + step]
            with np.errstate(over="ignore", invalid="ignore"):
                D = cdist(A[some], B, "sqeuclidean", **weights)
            S[some] = np.where(S[some] >= bound, S[some], D)

    def doublings(self, a: Any) -> int:
        sq = a[1] if sp.issparse(a[0]) else a[1][:, -1]
        return _doublings(_expansion_error(sq.dtype, sq, sq), CANCELLATION[sq.dtype])

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

    def degree(self) -> float:
        return 2


def _doublings(error: float, bound: float) -> int:
    """Return how often an error may double and stay within a bound."""
    if error <= 0.0:
        return 1000
    return int(np.log2(bound / error)) if error <= bound else 0


def _wide_enough(dtype: Any, sq: Array) -> np.dtype[Any]:
    """Return `dtype`, or float64 if float32 cannot hold the differences of rows so long."""
    dtype = np.dtype(dtype)
    fits = _expansion_error(dtype, sq, sq) <= CANCELLATION[dtype]
    return dtype if fits else np.dtype(np.float64)


def _expansion_error(dtype: Any, *squares: Array) -> float:
    """Return the error of |x|² + |z|² - 2x'z for rows of squared lengths up to the largest ones."""
    longest = sum(float(sq.max(initial=0.0)) for sq in squares)
    return float(np.finfo(dtype).eps) * longest


def _subtract_pairs(A: Any, B: Any, near: Array, bound: float, S: Array) -> None:
    """Replace the entries of S below `bound` in some rows by |x - z|² of sparse rows."""
    i, j = np.nonzero(~(S[near] >= bound))
    i = near[i]
    width = (A.nnz + B.nnz) // max(A.shape[0] + B.shape[0], 1)
    step = max(1, ENTRIES // (1 + 2 * width))
    for start in range(0, len(i), step):
        u, v = i[start : start + step], j[start : start + step]
        d = A[u] - B[v]
        S[u, v] = np.asarray(d.multiply(d).sum(axis=1)).ravel()


def dense_product(A: Any, B: Any, out: Array | None) -> Array:
    """Return A B' of sparse rows as a dense array; in `out` if that takes it."""
    G = A @ B.T
    room = fitting(out, G.dtype)
    fits = room is not None and room.flags.c_contiguous
    return np.asarray(G.toarray(out=room) if fits else G.toarray())


@dataclass(frozen=True)
class Minkowski(Geometry):
    """s = Σ_k |x_k - z_k|^norm, for a norm from 1 (city block) to 2."""

    norm: float = 1.0
    coarse: ClassVar[float] = 1e-5  # error of s from which on float32 does not do

    def reference(self, *Xs: Any) -> Any:
        return column_centre(Xs)

    def embed(self, X: Any, reference: Any, scale: Any, dtype: Any) -> Any:
        Z = (np.asarray(X, dtype=np.float64) - reference) / scale
        if np.finfo(dtype).eps * np.abs(Z).max(initial=0.0) > self.coarse:
            return Z  # float32 cannot hold these differences
        return Z.astype(dtype)

    def doublings(self, a: Any) -> int:
        if a.dtype == np.float64:
            return 1000
        error = float(np.finfo(a.dtype).eps) * float(np.abs(a).max(initial=0.0))
        return _doublings(error, self.coarse)

    def pair(self, a: Any, b: Any, out: Array | None = None) -> Array:
        def power(x: Array, z: Array) -> Array:
            if self.norm == 1.0:
                return np.asarray(cdist(x, z, "cityblock"))
            return np.asarray(cdist(x, z, "minkowski", p=self.norm) ** self.norm)

        return in_strips(power, a, b, a.dtype, out)

    def column_vjp(self, x: Array, z: Array, V: Array) -> tuple[Array, Array]:
        G = x - z
        size = None if self.norm == 1.0 else self.norm * np.abs(G) ** (self.norm - 1.0)
        np.sign(G, out=G)  # no further array: fresh pages would take longer than the rest
        if size is not None:
            G *= size
        G *= V
        return G.sum(axis=1), -G.sum(axis=0)

    def degree(self) -> float:
        return float(self.norm)


class InnerProduct(Geometry):
    """s = x'z."""

    sparse: ClassVar[bool] = True

    def embed(self, X: Any, reference: Any, scale: Any, dtype: Any) -> Any:
        sparse = sp.issparse(X)
        return sp.csr_array(X).astype(dtype) if sparse else super().embed(X, None, 1.0, dtype)

    def pair(self, a: Any, b: Any, out: Array | None = None) -> Array:
        if sp.issparse(a):
            return dense_product(a, b, out)
        return np.matmul(a, b.T, out=fitting(out, a.dtype))

    def diagonal(self, a: Any) -> Array:
        if sp.issparse(a):
            return np.asarray(a.multiply(a).sum(axis=1), dtype=np.float64).ravel()
        return np.asarray(np.einsum("ij,ij->i", a, a, dtype=np.float64))

    def pair_vjp(self, a: Any, b: Any, V: Array, *, scales: bool = False) -> tuple[Array, Array]:
        if sp.issparse(a):
            return (b.T @ V.T).T, (a.T @ V).T
        return V @ b, V.T @ a

    def diagonal_vjp(self, a: Any, v: Array) -> Any:
        if sp.issparse(a):
            return sp.csr_array(a.multiply((2.0 * v)[:, None]))  # as sparse as the rows
        return np.asarray(a * (2.0 * v)[:, None])

    def degree(self) -> float:
        return 2


class ChiSquare(Geometry):
    """s = Σ_k (x_k - z_k)² / (x_k + z_k) for non-negative rows, 0/0 being 0."""

    def pair(self, a: Any, b: Any, out: Array | None = None) -> Array:
        return in_strips(self._distances, a, b, a.dtype, out)

    def _distances(self, a: Any, b: Any) -> Array:
        s = np.zeros((len(a), len(b)), a.dtype)
        for x, z in zip(a.T, b.T, strict=True):
            total = x[:, None] + z
            np.maximum(total, np.finfo(total.dtype).tiny, out=total)
            s += (x[:, None] - z) ** 2 / total
        return s

    def column_vjp(self, x: Array, z: Array, V: Array) -> tuple[Array, Array]:
        # d/dx (x-z)²/(x+z) = (x-z)(x+3z)/(x+z)² = u (2 - u) with u = (x-z)/(x+z)
        total = x + z
        u = (x - z) / np.where(total > 0, total, 1.0)
        return np.einsum("ij,ij->i", V, u * (2.0 - u)), np.einsum("ij,ij->j", V, -u * (2.0 + u))


PRODUCTS = 1 << 20  # numbers of a dense product that are held at once, 8 MiB


def feature_distances(A: Any, B: Any, V: Array) -> Array:
    """Return Σ_ij V_ij (a_ik - b_jk)² for every feature k, of CSR rows."""
    total = V.sum(axis=1) @ A.multiply(A) + V.sum(axis=0) @ B.multiply(B)
    At, Bt = sp.csr_array(A.T), sp.csr_array(B.T)
    both = np.flatnonzero((np.diff(At.indptr) > 0) & (np.diff(Bt.indptr) > 0))
    step = max(1, PRODUCTS // max(V.shape[0], 1))
    for start in range(0, len(both), step):
        some = both[start : start + step]
        total[some] -= 2.0 * At[some].multiply(Bt[some] @ V.T).sum(axis=1)
    return np.asarray(total, dtype=np.float64)


class PairKernel(PointwiseKernel):
    """k(x, z) = value(s(x, z)), where the geometry gives s.

    A subclass gives `geometry` and a formula: `value(s)`, `slope(s)` (the derivative of value), and
    `partials(s)` if it has parameters besides `length_scale`, which belongs to the geometry; or
    `pointwise`, which can be compiled.
    """

    geometry: ClassVar[Geometry]
    length_scale: Any
    scales_inputs: ClassVar[bool] = False  # whether `length_scale` divides the inputs

    @property
    def least(self) -> float | None:  # type: ignore[override]
        """What s is at least."""
        return self.geometry.least

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

    def tile(self, a: Embedding, b: Embedding, out: Array | None = None) -> Array:
        return self.written_over(self.geometry.pair(a, b, out))

    def tile_and_slopes(self, a: Embedding, b: Embedding, out: Array) -> tuple[Array, Any]:
        s = self.geometry.pair(a, b, out)
        return s, self.written_with_slopes(s)  # whose values stand in s by then

    def diagonal(self, a: Embedding) -> Array:
        return np.asarray(self.value(self.geometry.diagonal(a)), dtype=np.float64)

    def tile_vjp(self, a: Any, b: Any, W: Array, K: Any = None, wants: str = "samples") -> Pullback:
        slopes = slopes_of(self, a, b, W, K)
        by_parameter = self.by_parameter(slopes, W)
        if wants == "parameters" and not self.scales_inputs:
            return None, None, by_parameter
        V = np.multiply(W, slopes.slope, out=lend(W.shape, np.result_type(W, slopes.slope)))
        if wants == "parameters" and sp.issparse(self.geometry.points(a)):
            # the derivative by sparse rows would be dense
            by_length = slopes.factor * self._by_length(a, b, V)
            return None, None, {**by_parameter, "length_scale": by_length}
        da, db = self.geometry.pair_vjp(a, b, V, scales=wants != "samples")
        if slopes.factor != 1.0:
            da, db = slopes.factor * da, slopes.factor * db
        return da, db, by_parameter

    def _by_length(self, a: Embedding, b: Embedding, V: Array) -> Any:
        # s is proportional to 1 / l², feature by feature
        if np.ndim(self.length_scale):
            A, B = (self.geometry.points(e) for e in (a, b))
            return -2.0 * feature_distances(A, B, V) / np.asarray(self.length_scale)
        total = np.vecdot(V, self.geometry.pair(a, b)).sum(dtype=np.float64)
        return -2.0 * float(total) / float(self.length_scale)

    def diagonal_vjp(self, a: Embedding, w: Array) -> tuple[Embedding, Derivatives]:
        s = self.geometry.diagonal(a)
        grad = {name: np.vdot(w, part) for name, part in self.partials(s).items()}
        return self.geometry.diagonal_vjp(a, w * self.slope(s)), grad

    def embed_vjp(self, X: Any, reference: Any, E: Any, dE: Any) -> tuple[Any, Derivatives]:
        if dE is None or not self.scales_inputs:
            return dE, {}
        Z = self.geometry.points(E)
        # Z is proportional to 1 / l, hence dl_k = -Σ_i dZ_ik Z_ik / l_k
        product = Z.multiply(dE) if hasattr(Z, "multiply") else Z * dE
        by_length = -np.asarray(product.sum(axis=0)).ravel() / self.length_scale
        dX = dE / np.asarray(self.scale)
        several = np.ndim(self.length_scale)
        return dX, {"length_scale": by_length if several else float(by_length.sum())}
