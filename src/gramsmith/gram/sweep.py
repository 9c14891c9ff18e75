"""The two sweeps: the only loops over pairs of samples.

    forward     tiles -> Moments(P, d, q; pivot)
    backward    tiles, Adjoint(A, delta, nu) -> gradient

A `Member` is a kernel with its embedded samples, and evaluates its tiles. Tiles cover the upper
triangle; each counts for itself and for its mirror image. Partial sums are computed by threads and
added in the order of the plan.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from gramsmith.gram.plan import Block, Plan
from gramsmith.gram.threads import one_blas_thread, ordered_map
from gramsmith.gram.views import Views
from gramsmith.kernels.base import Kernel, Wanted
from gramsmith.kernels.embedding import Embedding, add, add_named, add_rows, count, rows, scratch
from gramsmith.kernels.finite import check_values
from gramsmith.moments import Adjoint, Moments

Array = npt.NDArray[Any]

# squarings after which an exponential is computed anew: each doubles the relative error
SQUARINGS = {np.dtype(np.float64): 8, np.dtype(np.float32): 4}


@dataclass(frozen=True)
class Member:
    """One kernel with its embedded samples: what a sweep takes tiles from."""

    kernel: Kernel
    X: Any
    reference: Any
    E: Embedding

    @classmethod
    def make(cls, kernel: Kernel, X: Any, dtype: Any) -> Member:
        """Check the kernel and its input, and embed the samples."""
        kernel.check_parameters()
        X = kernel.check_input(X)
        reference = kernel.reference(X)
        return cls(kernel, X, reference, kernel.embed(X, reference, dtype))

    @property
    def n(self) -> int:
        """The number of samples."""
        return count(self.E)

    def pair(self, plan: Plan, tile: tuple[int, int]) -> tuple[Embedding, Embedding]:
        """Return the two blocks of a tile, the same object twice on the diagonal."""
        i, j = tile
        a = rows(self.E, plan.blocks[i].rows)
        return a, a if i == j else rows(self.E, plan.blocks[j].rows)

    def tile(self, plan: Plan, tile: tuple[int, int], out: Array | None = None) -> Array:
        """Return the kernel's tile, written into `out` if that is given."""
        a, b = self.pair(plan, tile)
        return self.kernel.tile(a, b) if out is None else self.kernel.tile_into(a, b, out)

    def tiles(
        self, plan: Plan, tile: tuple[int, int], out: Array | None = None, hold: bool = False
    ) -> Iterator[Array]:
        """Yield the tile of each of `kernels`; with `hold` none is overwritten by the next."""
        yield self.tile(plan, tile, out)

    def check(self, K: Array) -> None:
        """Raise a ValueError if the tile is not finite."""
        check_values(K, self.kernel)

    @property
    def kernels(self) -> list[Kernel]:
        """The kernels in the order of `tiles`."""
        return [self.kernel]


@dataclass(frozen=True)
class SquaringPath(Member):
    """Kernels each of which is the square of the one before: one exponential per pair for all.

    exp(-2g D) = exp(-g D)², so every further bandwidth costs one multiplication. A squaring doubles
    the relative error: hence a path has no more than `SQUARINGS` of them, and none beyond those
    after which a narrower kernel by itself would be computed from exact differences.
    """

    path: tuple[Kernel, ...] = ()

    @property
    def kernels(self) -> list[Kernel]:
        """The kernels, from the widest to the narrowest."""
        return list(self.path)

    def tiles(
        self, plan: Plan, tile: tuple[int, int], out: Array | None = None, hold: bool = False
    ) -> Iterator[Array]:
        """Yield the tiles of the path, each the square of the one before."""
        K = self.tile(plan, tile)
        yield K
        for _ in self.path[1:]:
            K = np.multiply(K, K, out=None if hold else K)
            yield K


def make_members(views: Views, dtype: Any) -> list[Member]:
    """Return the kernels with their embedded samples.

    Neighbours on the same view that are squares of each other form paths.
    """
    kernels = views.kernels
    members: list[Member] = []
    i = 0
    while i < len(kernels):
        member = Member.make(kernels[i], views.samples[i], dtype)
        often = SQUARINGS[np.dtype(dtype)]
        stop = _path_end(
            kernels, views.samples, i, 1 + min(often, member.kernel.squarings(member.E))
        )
        if stop > i + 1:
            path = tuple(kernels[i:stop])
            member = SquaringPath(member.kernel, member.X, member.reference, member.E, path)
        members.append(member)
        i = stop
    sizes = {member.n for member in members}
    if len(sizes) != 1:
        raise ValueError(
            f"Expected all kernels on the same samples, got {sorted(sizes)} samples. "
            "Give every view the same rows in the same order."
        )
    return members


def _path_end(kernels: Sequence[Kernel], samples: Sequence[Any], start: int, longest: int) -> int:
    """Return where the run of kernels ends, each the square of the one before, from `start` on."""
    stop = start + 1
    while (
        stop < min(len(kernels), start + longest)
        and samples[stop] is samples[start]
        and kernels[stop].is_square_of(kernels[stop - 1])
    ):
        stop += 1
    return stop


Progress = Callable[[int, int], None]
Tiles = list[list[Array]]

ALIKE = 0.2  # quartile distance over median below which values are nearly constant


def pivots(members: Sequence[Member], plan: Plan) -> Array:
    """Return the median of the first corner of every kernel, or 0 where its values differ enough.

    Centring costs digits only where most values are nearly the same, and a pivot is a pass over
    every tile. Quartiles, because one sample far from all others is no variety.
    """
    rows = plan.blocks[0].rows
    plan = Plan((Block(slice(rows.start, min(rows.stop, rows.start + 128)), 0),))
    first = []
    for member in members:
        for K in member.tiles(plan, (0, 0)):
            # debiased measures do not see the diagonal, which may be all that differs
            values = K[~np.eye(len(K), dtype=bool)] if len(K) > 1 else K.ravel()
            low, middle, high = np.quantile(values[:: 1 + len(values) // 4000], (0.25, 0.5, 0.75))
            first.append(float(middle) if high - low < ALIKE * abs(middle) else 0.0)
    return np.array(first)


def room_for(plan: Plan, kernels: int, dtype: Any) -> Tiles:
    """Return arrays for the tiles of every kernel, cut from one: large pages are quick to get."""
    slab = np.empty(plan.entries * kernels, dtype)
    tiles: Tiles = []
    start = 0
    for i, j in plan.tiles:
        shape = plan.blocks[i].size, plan.blocks[j].size
        stops = [start + shape[0] * shape[1] * k for k in range(kernels + 1)]
        tiles.append([slab[a:b].reshape(shape) for a, b in pairwise(stops)])
        start = stops[-1]
    return tiles


def forward(
    members: Sequence[Member],
    plan: Plan,
    probe: Array,
    w: Array,
    fold: Array,
    *,
    workers: int,
    cross: bool = False,
    pivot: Array | None = None,
    keep: Tiles | None = None,
    progress: Progress | None = None,
) -> Moments:
    """Return the moments of all kernels for the weighted probe.

    Parameters
    ----------
    members : list of Member
    plan : Plan
    probe : array of shape (n, t), the rows already multiplied by w
    w, fold : arrays of shape (n,)
    workers : int
    cross : bool
        Also inner products between different kernels.
    pivot : array of shape (m,), optional
    keep : list of arrays per tile, optional
        Where the tiles of every kernel are kept, see `room_for`.
    progress : callable (done, total), optional
    """
    n, t = probe.shape
    m = sum(len(member.kernels) for member in members)
    with one_blas_thread():
        c = pivots(members, plan) if pivot is None else pivot
    F = int(fold.max(initial=0)) + 1
    P, q = np.zeros((m, F, n, t)), np.zeros((m, m, F, F))
    d = np.concatenate([_diagonals(member) for member in members]) - c[:, None]
    weighted = bool(np.any(w != 1.0))
    unit = _powers_of_two(np.abs(probe).max(axis=0, initial=0.0))  # targets of any size fit float32
    columns = {
        np.dtype(t): np.asfortranarray(probe / unit, dtype=t) for t in (np.float64, np.float32)
    }

    def work(item: tuple[int, tuple[int, int]]) -> tuple[Array, Array, Array]:
        number, tile = item
        I, J = (plan.blocks[b].rows for b in tile)
        right, left = np.empty((m, I.stop - I.start, t)), np.empty((m, J.stop - J.start, t))
        squares = np.zeros((m, m))
        held: list[Array] = []
        k = 0
        for member in members:
            out = None if keep is None else keep[number][k]
            for K in member.tiles(plan, tile, out, hold=cross):
                B = K
                if c[k]:
                    room: Array | None = K  # unless the caller keeps it, or a path goes on from it
                    if out is not None or len(member.kernels) > 1:
                        room = None if cross else scratch("B", K.shape, K.dtype)
                    B = np.subtract(K, K.dtype.type(c[k]), out=room)
                V = columns[B.dtype]
                right[k] = _times(B, V[J])
                if tile[0] != tile[1]:
                    left[k] = _times(B.T, V[I])
                squares[k, k] = _inner(B, B, w[I], w[J], weighted)
                if not np.isfinite(squares[k, k]):
                    member.check(K)
                if cross:
                    for i, other in enumerate(held):
                        squares[i, k] = squares[k, i] = _inner(other, B, w[I], w[J], weighted)
                    held.append(B)
                k += 1
        return right, left, squares

    tiles = list(enumerate(plan.tiles))
    for done, ((_, tile), part) in enumerate(
        zip(tiles, ordered_map(work, tiles, workers), strict=True), start=1
    ):
        right, left, squares = part
        a, b = (plan.blocks[i] for i in tile)
        P[:, b.fold, a.rows] += right
        q[:, :, a.fold, b.fold] += squares
        if tile[0] != tile[1]:
            P[:, a.fold, b.rows] += left
            q[:, :, b.fold, a.fold] += squares
        if progress is not None:
            progress(done, len(tiles))
    P *= unit
    return Moments(P, d, q, np.zeros((m, n)), c, fold, cross)


def _powers_of_two(sizes: Array) -> Array:
    """Return the powers of two next to positive numbers, and 1 for 0: exact as divisors."""
    return np.asarray(np.exp2(np.frexp(sizes)[1]))


def _inner(A: Array, B: Array, wi: Array, wj: Array, weighted: bool) -> float:
    """Return Σ w_i w_j A_ij B_ij."""
    if weighted:
        return float(wi @ np.einsum("ij,ij,j->i", A, B, wj))
    # Row by row: one float32 dot product over a whole tile would lose digits.
    return float(np.vecdot(A, B).sum(dtype=np.float64))


def _times(B: Array, V: Array) -> Array:
    """Return B V; for a few columns, one product per column is several times faster."""
    if V.shape[1] > 6:
        return np.asarray(B @ V)
    return np.stack([B @ column for column in V.T], axis=1)


def _diagonals(member: Member) -> Array:
    d = member.kernel.diagonal(member.E)
    return np.tile(d, (len(member.kernels), 1))


def backward(
    members: Sequence[Member],
    plan: Plan,
    adjoint: Adjoint,
    probe: Array,
    w: Array,
    *,
    workers: int,
    inputs: bool = True,
    kept: Tiles | None = None,
    progress: Progress | None = None,
) -> list[tuple[dict[str, Any], Any]]:
    """Return, for every kernel, the derivatives by its parameters and, if asked, by its inputs."""
    flat = [kernel for member in members for kernel in member.kernels]
    if len(flat) != len(members):
        raise ValueError("Expected single kernels in a backward sweep, got a path of bandwidths.")
    weighted = bool(np.any(w != 1.0))
    wants: Wanted = "samples" if inputs else "parameters"
    needed = [k for k in range(len(members)) if _is_active(adjoint, k)]
    read = [k for k in range(len(members)) if k in needed or adjoint.nu[:, k].any()]

    def work(item: tuple[int, tuple[int, int]]) -> list[tuple[Any, Any, dict[str, Any]]]:
        number, tile = item
        I, J = (plan.blocks[b].rows for b in tile)
        same = tile[0] == tile[1]
        if kept is not None:
            Ks = dict(enumerate(kept[number]))
        else:
            Ks = {k: members[k].tile(plan, tile) for k in read}
        parts = []
        for k in needed:
            A, dtype = adjoint.A[k], Ks[k].dtype
            L = np.hstack([A[I], probe[I]]).astype(dtype)
            R = np.hstack([probe[J], A[J]]).astype(dtype)
            if same:
                L *= dtype.type(0.5)
            W = np.matmul(L, R.T, out=scratch("W", Ks[k].shape, dtype))
            for l in range(len(members)):
                nu = (2.0 if same else 4.0) * adjoint.nu[k, l]
                if nu:
                    part = np.multiply(Ks[l], dtype.type(nu), out=scratch("nu", W.shape, dtype))
                    if weighted:
                        part *= w[I, None]
                        part *= w[J]
                    W += part
            a, b = members[k].pair(plan, tile)
            kernel = members[k].kernel
            parts.append(kernel.tile_vjp(a, b, W, Ks[k], wants=wants))
        return parts

    n = len(w)
    dE: list[Embedding] = [None] * len(members)
    grads: list[dict[str, Any]] = [{} for _ in members]
    tiles = list(enumerate(plan.tiles))
    for done, (item, parts) in enumerate(
        zip(tiles, ordered_map(work, tiles, workers), strict=True), start=1
    ):
        i, j = item[1]
        for k, (da, db, by_parameter) in zip(needed, parts, strict=True):
            dE[k] = add_rows(dE[k], plan.blocks[i].rows, da, n)
            dE[k] = add_rows(dE[k], plan.blocks[j].rows, db, n)
            add_named(grads[k], by_parameter)
        if progress is not None:
            progress(done, len(tiles))
    results: list[tuple[dict[str, Any], Any]] = []
    for k, member in enumerate(members):
        if k not in needed:
            results.append(({}, None))
            continue
        if adjoint.delta[k].any():
            dd, by_parameter = member.kernel.diagonal_vjp(member.E, adjoint.delta[k])
            dE[k] = add(dE[k], dd)
            add_named(grads[k], by_parameter)
        dX = None
        if dE[k] is not None:
            dX, by_parameter = member.kernel.embed_vjp(member.X, member.reference, member.E, dE[k])
            add_named(grads[k], by_parameter)
        results.append((grads[k], dX if inputs else None))
    return results


def _is_active(adjoint: Adjoint, k: int) -> bool:
    return bool(adjoint.A[k].any() or adjoint.delta[k].any() or adjoint.nu[k].any())


def check_magnitude(kernels: Sequence[Kernel], moments: Moments, w: Array, dtype: Any) -> None:
    """Raise a ValueError if the squares of a kernel's values are too large or small for `dtype`.

    One look at q after a sweep. Where it is 0 the kernel, less its pivot, must be 0 as well.
    """
    limits = np.finfo(dtype)
    least = float(limits.tiny) / float(limits.eps)
    for k, kernel in enumerate(kernels):
        q = float(moments.q[k, k].sum())
        if np.isfinite(q) and (q >= least or not _varies(moments, k, w > 0)):
            continue
        size = "small" if q < least else "large"
        raise ValueError(
            f"Expected kernel values whose squares fit {np.dtype(dtype).name}, got values too "
            f"{size} in {kernel.formula()}. Scale the features (StandardScaler) or divide the "
            "kernel matrix by its largest entry; Normalized(kernel) has values up to 1."
        )


def _varies(moments: Moments, k: int, used: Array) -> bool:
    return bool(moments.d[k, used].any() or moments.P[k][:, used].any())
