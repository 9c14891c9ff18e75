"""The two sweeps as tasks: the only loops over pairs of samples.

    Forward     bands of tiles -> Sums          -> Moments(P, d, q; pivot)
    Backward    bands of tiles -> Derivatives   -> derivatives by parameters and inputs

A task is a frozen description that can be pickled; ``task.band(number)`` is a pure function of it
and returns plain arrays; `start`, `add` and `finish` put these together. Engines only say where
bands are worked off (`gramsmith.gram.engine`).

Tiles cover the upper triangle; each counts for itself and for its mirror image. What is done with a
tile stands in one function for each kind: `kernel_sums` (one kernel, or a path of its squares),
`crossed_sums` (all kernels, with the products between them) and `Kernel.tile_vjp`. Each uses
compiled loops where the plan says so and a tile suits them (`gramsmith.kernels.compiled`); for
kernels that are functions of a matrix product a whole band is one compiled function.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from gramsmith.gram.member import Member
from gramsmith.gram.plan import Band, Plan
from gramsmith.gram.threads import one_blas_thread
from gramsmith.kernels import compiled
from gramsmith.kernels.base import Kernel, Wanted
from gramsmith.kernels.compilation import compiled_route
from gramsmith.kernels.embedding import (
    Embedding,
    add,
    add_named,
    add_rows,
    borrowed,
    rows,
    width,
)
from gramsmith.moments import Adjoint, Moments

Array = npt.NDArray[Any]
Kept = dict[tuple[int, int], list[Array]]  # tiles of all kernels by the numbers of their blocks


# columns of a probe up to which products by columns are faster than one of all
FEW = {np.dtype(np.float64): 1, np.dtype(np.float32): 6}
ALIKE = 0.2  # quartile distance over median below which values are nearly constant


@dataclass(frozen=True)
class Side:
    """The probe and the weights of some samples: the rows of a tile, or its columns.

    Parameters
    ----------
    double : array of shape (b, t), float64
        The probe; its columns are contiguous.
    single : array of shape (b, t), float32
    w : array of shape (b,), or None where all weights are 1
    """

    double: Array
    single: Array
    w: Array | None

    def probe(self, dtype: Any) -> Array:
        """Return the probe in the type of a tile."""
        return self.single if dtype == np.float32 else self.double

    def part(self, chosen: slice) -> Side:
        """Return some of the samples."""
        w = None if self.w is None else self.w[chosen]
        return Side(self.double[chosen], self.single[chosen], w)


@dataclass(frozen=True)
class Tile:
    """The two sides of a tile, and the sums that its products are added to.

    Parameters
    ----------
    I, J : Side
        Of the rows and of the columns.
    PI : array of shape (m, b_I, t)
        Takes K V_J of every kernel.
    PJ : array of shape (m, b_J, t), or None on the diagonal
        Takes K' V_I.
    """

    I: Side
    J: Side
    PI: Array
    PJ: Array | None

    def of(self, kernels: slice) -> Tile:
        """Return the tile with the sums of some kernels."""
        PJ = None if self.PJ is None else self.PJ[kernels]
        return Tile(self.I, self.J, self.PI[kernels], PJ)


@dataclass(frozen=True)
class Sums:
    """What one band adds to P and q.

    Parameters
    ----------
    right : array of shape (m, f, b, t)
        K V for the rows of the band, by the fold of its columns.
    left : array of shape (m, c, t)
        K' V for its columns.
    squares : array of shape (2, m, m, f)
        <K_k, K_l> by the fold of the columns, and the same of the mirror images.
    """

    right: Array
    left: Array
    squares: Array


@dataclass(frozen=True)
class Forward:
    """The sums of all kernels over all tiles.

    Parameters
    ----------
    members : tuple of Member
    plan : Plan
    dtype : type of the tiles
    probe : array of shape (n, t)
        Its rows already multiplied by w.
    w : array of shape (n,)
    pivot : array of shape (m,)
        What is taken off each kernel.
    cross : bool
        Whether to form products between kernels.
    kept : dict, optional
        Room for the tiles of single kernels, which are left there; only within one process.
    """

    members: tuple[Member, ...]
    plan: Plan
    dtype: Any
    probe: Array
    w: Array
    pivot: Array
    cross: bool = False
    kept: Kept | None = None

    @cached_property
    def unit(self) -> Array:
        """A power of two for each column of the probe: targets of any size fit float32."""
        return _powers_of_two(np.abs(self.probe).max(axis=0, initial=0.0))

    @cached_property
    def side(self) -> Side:
        """Probe and weights of all samples."""
        probe = np.asfortranarray(self.probe / self.unit)
        weighted = bool(np.any(self.w != 1.0))
        return Side(probe, probe.astype(np.float32), self.w if weighted else None)

    @cached_property
    def _columns(self) -> Array:
        """The probe of all samples as compiled loops read it."""
        return compiled.columns_first(self.side.probe(self.dtype))

    @property
    def worker_bytes(self) -> int:
        """The memory of a worker: a tile, the same less its pivot, and what the kernel needs."""
        others = max(member.kernel.working_tiles for member in self.members)
        return (2 + others) * self.plan.largest * int(np.dtype(self.dtype).itemsize)

    @property
    def band_bytes(self) -> int:
        """The memory of the largest of the partial sums."""
        plan = self.plan
        longest = max(
            plan.blocks[b.row].size * self._folds(b)[1] + _length(plan.columns(b))
            for b in plan.bands
        )
        return 8 * len(self.pivot) * int(self.probe.shape[1]) * longest

    def _folds(self, band: Band) -> tuple[int, int]:
        """Return the first fold of the columns of a band, and how many there are."""
        first, last = (self.plan.blocks[j].fold for j in (band.start, band.stop - 1))
        return first, last - first + 1

    def band(self, number: int) -> Sums:
        """Return the sums over the tiles of one band."""
        band, blocks = self.plan.bands[number], self.plan.blocks
        m, t = len(self.pivot), self.probe.shape[1]
        rows, columns = blocks[band.row].rows, self.plan.columns(band)
        first, folds = self._folds(band)
        right = np.zeros((m, folds, _length(rows), t))
        left = np.zeros((m, _length(columns), t))
        squares = np.zeros((2, m, m, folds))
        I = self.side.part(rows)
        with one_blas_thread(), compiled_route(self.plan.compiled):
            in_one_go = self._in_one_go(band, right, left, squares)
            if len(in_one_go) == len(self.members):
                return Sums(right, left, squares)
            for j in range(band.start, band.stop):
                f, there = blocks[j].fold - first, blocks[j].rows
                PJ = left[:, there.start - columns.start : there.stop - columns.start]
                same = j == band.row
                J = I if same else self.side.part(there)
                tile = Tile(I, J, right[:, f], None if same else PJ)
                q = self._tile((band.row, j), tile, in_one_go)
                squares[0, :, :, f] += q
                if not same:
                    squares[1, :, :, f] += q
        return Sums(right, left, squares)

    def _in_one_go(self, band: Band, right: Array, left: Array, squares: Array) -> set[int]:
        """Add the sums of the kernels that take one compiled function, and return their numbers."""
        done: set[int] = set()
        if not compiled.suits_type(self.dtype, self.probe.shape[1]) or self.kept is not None:
            return done
        if self.cross and len(self.pivot) > 1:
            return done
        rows, columns = self.plan.blocks[band.row].rows, self.plan.columns(band)
        run = _run(self.plan, band)
        k = 0
        for i, member in enumerate(self.members):
            own = slice(k, k + len(member.kernels))
            k = own.stop
            curved = _curved(member, rows, columns, self.dtype)
            if curved is None:
                continue
            w = compiled.NONE if self.side.w is None else self.side.w
            found = compiled.band_sums(
                curved, run, self.pivot[own], self._columns, w, right[own], left[own]
            )
            if not np.isfinite(found).all():
                continue  # tile by tile there is a message
            done.add(i)
            for tile, f in enumerate(run.folds):
                q = np.diag(found[:, tile])
                squares[0, own, own, f] += q
                if not (run.same and tile == 0):
                    squares[1, own, own, f] += q
        return done

    def _tile(self, number: tuple[int, int], tile: Tile, done: Collection[int]) -> Array:
        """Add the products of one tile to its sums, and return <K_k, K_l>, shape (m, m)."""
        m = len(self.pivot)
        if self.cross and m > 1:
            I, J = (self.plan.blocks[i].rows for i in number)
            return crossed_sums(self.members, I, J, tile, self.pivot, self.dtype)
        q = np.zeros((m, m))
        k = 0
        for i, member in enumerate(self.members):
            own = slice(k, k + len(member.kernels))
            k = own.stop
            if i in done:
                continue
            a, b = _pair(member, self.plan, number)
            room = None if self.kept is None else self.kept[number][i]
            K, squares = kernel_sums(member, a, b, tile.of(own), self.pivot[own], self.dtype, room)
            if self.kept is not None:
                self.kept[number][i] = K
            q[range(*own.indices(m)), range(*own.indices(m))] = squares
        return q

    def start(self) -> tuple[Array, Array]:
        """Return P and q of no tiles."""
        m, (n, t) = len(self.pivot), self.probe.shape
        F = self.plan.blocks[-1].fold + 1
        return np.zeros((m, F, n, t)), np.zeros((m, m, F, F))

    def add(self, total: tuple[Array, Array], number: int, part: Sums) -> None:
        """Add the sums of a band."""
        P, q = total
        band = self.plan.bands[number]
        here = self.plan.blocks[band.row]
        first, folds = self._folds(band)
        there = slice(first, first + folds)
        P[:, there, here.rows] += part.right
        P[:, here.fold, self.plan.columns(band)] += part.left
        q[:, :, here.fold, there] += part.squares[0]
        q[:, :, there, here.fold] += part.squares[1]

    def finish(self, total: tuple[Array, Array]) -> Moments:
        """Return the moments."""
        P, q = total
        P *= self.unit
        d = np.vstack([_diagonals(member) for member in self.members]) - self.pivot[:, None]
        fold = np.repeat([b.fold for b in self.plan.blocks], [b.size for b in self.plan.blocks])
        return Moments(P, d, q, np.zeros(d.shape), self.pivot, fold, self.cross)


def kernel_sums(
    member: Member,
    a: Embedding,
    b: Embedding,
    tile: Tile,
    pivot: Array,
    dtype: Any,
    room: Array | None = None,
) -> tuple[Array, list[float]]:
    """Add K V and K' V of a kernel, or of a path, to the sums of a tile.

    Parameters
    ----------
    member : Member
    a, b : embeddings of the rows and of the columns, one object on the diagonal
    tile : Tile
        With the sums of the kernels of this member alone.
    pivot : array of shape (kernels,)
    dtype : type of the tile
    room : array of shape (b_I, b_J), optional
        Where a tile is kept; a working array of this thread otherwise.

    Returns
    -------
    K : array of shape (b_I, b_J)
        The last tile: `room`, unless the kernel could not write there.
    squares : list of float
        Σ w_i w_j K_ij² for every kernel.
    """
    shape = len(tile.I.double), len(tile.J.double)
    squares = []
    with borrowed(shape, dtype) as work:
        out = work if room is None else room
        for k, K in enumerate(member.tiles(a, b, out)):
            if compiled.suits(K, tile.PI.shape[2]):
                squares.append(_compiled_sums(K, pivot[k], tile, k))
            else:
                free = room is None and k + 1 == len(pivot)
                squares.append(_numpy_sums(K, pivot[k], tile, k, free))
            if not np.isfinite(squares[-1]):
                member.check(K)
    return K, squares


def _curved(member: Member, I: slice, J: slice, dtype: Any) -> compiled.Curved | None:
    """Return the tiles of a band as a function of one matrix product, in their type, or None."""
    found = member.kernel.curved(rows(member.E, I), rows(member.E, J))
    return found if found is not None and found.dtype == dtype else None


def compiles(member: Member, plan: Plan, dtype: Any) -> bool:
    """Return whether all bands of a kernel are one compiled function each."""
    everything = slice(None)
    return plan.compiled and _curved(member, everything, everything, dtype) is not None


def _run(plan: Plan, band: Band) -> compiled.Run:
    """Return where the tiles of a band begin, counted from its first column and fold."""
    blocks = plan.blocks[band.start : band.stop]
    first = blocks[0]
    edges = [block.rows.start - first.rows.start for block in blocks]
    edges.append(blocks[-1].rows.stop - first.rows.start)
    folds = [block.fold - first.fold for block in blocks]
    row = plan.blocks[band.row].rows.start
    same = band.start == band.row
    return compiled.Run(np.array(edges), np.array(folds), same, row, first.rows.start)


def _compiled_sums(K: Array, pivot: float, tile: Tile, k: int) -> float:
    """Add K V and K' V, less the pivot, to the sums of kernel k, and return Σ w_i w_j K_ij²."""
    VI, VJ = tile.I.probe(K.dtype), tile.J.probe(K.dtype)
    PJ = None if tile.PJ is None else tile.PJ[k]
    return compiled.tile_sums(K, pivot, VI, VJ, tile.I.w, tile.J.w, tile.PI[k], PJ)


def _numpy_sums(K: Array, pivot: float, tile: Tile, k: int, free: bool) -> float:
    """Do the same with NumPy; K is overwritten if it is `free`."""
    with _less(K, pivot, free) as B:
        _add_products(tile.PI[k], B, tile.J.probe(B.dtype))
        if tile.PJ is not None:
            _add_products(tile.PJ[k], B.T, tile.I.probe(B.dtype))
        return _square(B, tile.I.w, tile.J.w)


@contextmanager
def _less(K: Array, pivot: float, free: bool) -> Iterator[Array]:
    """Lend K minus its pivot; in its place if K is `free`, not to be used again."""
    if not pivot:
        yield K
    elif free:
        yield np.subtract(K, K.dtype.type(pivot), out=K)
    else:
        with borrowed(K.shape, K.dtype) as room:
            yield np.subtract(K, K.dtype.type(pivot), out=room)


def _add_products(P: Array, B: Array, V: Array) -> None:
    """Add B V to P; for a few columns of float32, one product per column is twice as fast."""
    if V.shape[1] > FEW[B.dtype]:
        P += B @ V
        return
    for c in range(V.shape[1]):
        P[:, c] += B @ V[:, c]


def _square(B: Array, wi: Array | None, wj: Array | None) -> float:
    """Return Σ w_i w_j B_ij²."""
    if wi is not None and wj is not None:
        return float(wi @ np.einsum("ij,ij,j->i", B, B, wj))
    # Row by row: one float32 dot product over a whole tile would lose digits.
    return float(np.vecdot(B, B).sum(dtype=np.float64))


def crossed_sums(
    members: Sequence[Member], I: slice, J: slice, tile: Tile, pivot: Array, dtype: Any
) -> Array:
    """Add K V and K' V of all kernels to the sums of a tile, and return the products of kernels.

    The values of all kernels stand side by side, for as many rows at a time as together take the
    room of one tile. A tile on the diagonal is cut along it, so that a kernel is always asked for
    rows with themselves, or for rows with others.

    Parameters
    ----------
    members : list of Member
    I, J : slices of the samples of the rows and of the columns
    tile : Tile
    pivot : array of shape (m,)
    dtype : type of the tiles

    Returns
    -------
    array of shape (m, m)
        Σ w_i w_j K_k,ij K_l,ij.
    """
    m, size = len(pivot), _length(I)
    q = np.zeros((m, m))
    step = max(1, size // m)
    for start in range(0, size, step):
        strip = slice(start, min(start + step, size))
        if tile.PJ is not None:
            q += _strip_sums(members, I, J, tile, strip, slice(0, _length(J)), pivot, dtype)
            continue
        q += _strip_sums(members, I, J, tile, strip, strip, pivot, dtype)
        if strip.stop < size:
            rest = slice(strip.stop, size)
            mirrored = replace(tile, PJ=tile.PI)
            q += 2.0 * _strip_sums(members, I, J, mirrored, strip, rest, pivot, dtype)
    return q


def _strip_sums(
    members: Sequence[Member],
    I: slice,
    J: slice,
    tile: Tile,
    strip: slice,
    columns: slice,
    pivot: Array,
    dtype: Any,
) -> Array:
    """Do what `crossed_sums` does for some rows and columns of a tile."""
    m = len(pivot)
    here = slice(I.start + strip.start, I.start + strip.stop)
    there = slice(J.start + columns.start, J.start + columns.stop)
    with borrowed((m, _length(strip), _length(columns)), dtype) as Z:
        k = 0
        for member in members:
            a = rows(member.E, here)
            b = a if here == there else rows(member.E, there)
            member.fill(a, b, Z[k : k + len(member.kernels)])
            k += len(member.kernels)
        if pivot.any():
            Z -= pivot[:, None, None].astype(dtype)
        left, right = tile.I.part(strip), tile.J.part(columns)
        tile.PI[:, strip] += Z @ right.probe(dtype)
        if tile.PJ is not None:
            tile.PJ[:, columns] += Z.transpose(0, 2, 1) @ left.probe(dtype)
        q = _products(Z, left.w, right.w)
        if not np.isfinite(q).all():
            k = 0
            for member in members:
                member.check(Z[k : k + len(member.kernels)])
                k += len(member.kernels)
    return q


def _products(Z: Array, wi: Array | None, wj: Array | None) -> Array:
    """Return Σ w_i w_j Z_kij Z_lij, shape (m, m)."""
    by_row = Z.transpose(1, 0, 2)  # row by row: float32 sums over many would lose digits
    if wi is None or wj is None:
        return np.asarray((by_row @ Z.transpose(1, 2, 0)).sum(axis=0, dtype=np.float64))
    with borrowed(Z.shape, Z.dtype) as weighted:
        np.multiply(Z, wj.astype(Z.dtype), out=weighted)
        return np.asarray(np.tensordot(wi, by_row @ weighted.transpose(1, 2, 0), 1))


def _powers_of_two(sizes: Array) -> Array:
    """Return the powers of two next to positive numbers, and 1 for 0: exact as divisors."""
    return np.asarray(np.exp2(np.frexp(sizes)[1]))


def _length(run: slice) -> int:
    return int(run.stop - run.start)


def _pair(member: Member, plan: Plan, number: tuple[int, int]) -> tuple[Embedding, Embedding]:
    """Return the embeddings of the two blocks of a tile, one object twice on the diagonal."""
    i, j = number
    a = rows(member.E, plan.blocks[i].rows)
    return a, a if i == j else rows(member.E, plan.blocks[j].rows)


def _diagonals(member: Member) -> Array:
    d = member.kernel.diagonal(member.whole)
    return np.tile(d, (len(member.kernels), 1))


def pivots(members: Sequence[Member], plan: Plan, dtype: Any) -> Array:
    """Return the median of the first corner of every kernel, or 0 where its values differ enough.

    Centring costs digits only where most values are nearly the same, and a pivot is a pass over
    every tile. Quartiles, because one sample far from all others is no variety.
    """
    block = plan.blocks[0].rows
    corner = slice(block.start, min(block.stop, block.start + 128))
    size = _length(corner)
    first = []
    with borrowed((size, size), dtype) as room, one_blas_thread():
        for member in members:
            a = rows(member.E, corner)
            for K in member.tiles(a, a, room):
                # debiased measures do not see the diagonal, which may be all that differs
                values = K[~np.eye(size, dtype=bool)] if size > 1 else K.ravel()
                some = values[:: 1 + len(values) // 4000]
                low, middle, high = np.quantile(some, (0.25, 0.5, 0.75))
                first.append(float(middle) if high - low < ALIKE * abs(middle) else 0.0)
    return np.array(first)


def room_for(plan: Plan, kernels: int, dtype: Any) -> Kept:
    """Return arrays for the tiles of every kernel, cut from one: large pages are quick to get."""
    slab = np.empty(plan.entries * kernels, dtype)
    tiles: Kept = {}
    start = 0
    for i, j in plan.tiles:
        shape = plan.blocks[i].size, plan.blocks[j].size
        stops = [start + shape[0] * shape[1] * k for k in range(kernels + 1)]
        tiles[i, j] = [slab[a:b].reshape(shape) for a, b in pairwise(stops)]
        start = stops[-1]
    return tiles


@dataclass(frozen=True)
class Derivatives:
    """What one band adds to the derivatives, for every kernel that has some.

    Parameters
    ----------
    rows : list of embeddings
        By the rows of the band.
    columns : list of lists of embeddings
        By each of its column blocks.
    parameters : list of dict
        By nested parameter names, as far as a parameter acts on tiles.
    """

    rows: list[Embedding]
    columns: list[list[Embedding]]
    parameters: list[dict[str, Any]]


@dataclass(frozen=True)
class Weights:
    """The derivative by a tile, left right' + Σ_l factor_l w w' K_l.

    Parameters
    ----------
    left : array of shape (b_I, 2t)
    right : array of shape (b_J, 2t)
    kernels : list of (float, array of shape (b_I, b_J))
        The factors that are not 0, and the tiles of their kernels.
    wi, wj : arrays of shape (b_I,) and (b_J,), or None where all weights are 1
    """

    left: Array
    right: Array
    kernels: list[tuple[float, Array]]
    wi: Array | None
    wj: Array | None

    def write(self, out: Array) -> None:
        """Write the matrix into an array."""
        if len(self.kernels) == 1 and compiled.suits(self.kernels[0][1]):
            compiled.tile_weights(self, out)
            return
        np.matmul(self.left, self.right.T, out=out)
        with borrowed(out.shape, out.dtype) as part:
            for factor, K in self.kernels:
                np.multiply(K, out.dtype.type(factor), out=part)
                if self.wi is not None and self.wj is not None:
                    part *= self.wi[:, None]
                    part *= self.wj
                out += part


@dataclass(frozen=True)
class Backward:
    """The derivatives of a number by the parameters and inputs of all kernels.

    Parameters
    ----------
    members : tuple of Member
        Single kernels, no paths.
    plan : Plan
    dtype : type of the tiles
    adjoint : Adjoint
        Of K without a pivot.
    probe : array of shape (n, t)
    w : array of shape (n,)
    inputs : bool
        Whether derivatives by the samples are wanted.
    kept : dict, optional
        Tiles that a forward sweep has left.
    mapped : tuple, optional
        What `Kernel.mapped_rows` returned for every kernel.
    """

    members: tuple[Member, ...]
    plan: Plan
    dtype: Any
    adjoint: Adjoint
    probe: Array
    w: Array
    inputs: bool = True
    kept: Kept | None = None
    mapped: tuple[Any, ...] | None = None

    @cached_property
    def needed(self) -> list[int]:
        """The kernels that have a derivative."""
        a = self.adjoint
        parts = zip(a.A, a.delta, a.nu, strict=True)
        return [k for k, part in enumerate(parts) if any(p.any() for p in part)]

    @cached_property
    def read(self) -> list[int]:
        """The kernels whose tiles are looked at."""
        return [
            k for k in range(len(self.members)) if k in self.needed or self.adjoint.nu[:, k].any()
        ]

    @property
    def worker_bytes(self) -> int:
        """The memory of a worker: tiles of the kernels, weights and two more."""
        held = 3 + (0 if self.kept is not None else len(self.read))
        return held * self.plan.largest * int(np.dtype(self.dtype).itemsize)

    @property
    def band_bytes(self) -> int:
        """The memory of the derivatives by the rows of the largest band, roughly."""
        widths = [width(self.members[k].E) for k in self.needed]
        longest = max(
            self.plan.blocks[b.row].size + _length(self.plan.columns(b)) for b in self.plan.bands
        )
        return 8 * sum(widths) * longest

    @cached_property
    def _weights(self) -> dict[int, tuple[Array, Array, Array, Array]]:
        """The derivatives by the tiles of every kernel as compiled loops read them."""
        V, w, dtype, found = self.probe, self.w, self.dtype, {}
        for k in self.needed:
            A, own = self.adjoint.A[k], 4.0 * self.adjoint.nu[k, k]
            left = compiled.fours(np.hstack([A, V]).astype(dtype))
            right = compiled.fours(np.hstack([V, A]).astype(dtype))
            found[k] = left, right, (own * w).astype(dtype), w.astype(dtype)
        return found

    @cached_property
    def _weighted(self) -> bool:
        return bool(np.any(self.w != 1.0))

    def band(self, number: int) -> Derivatives:
        """Return the derivatives from the tiles of one band."""
        band = self.plan.bands[number]
        by_rows: list[Embedding] = [None] * len(self.needed)
        by_columns: list[list[Embedding]] = [[] for _ in self.needed]
        by_parameter: list[dict[str, Any]] = [{} for _ in self.needed]
        left: list[int] = []  # to be done tile by tile
        with one_blas_thread(), compiled_route(self.plan.compiled):
            for i, k in enumerate(self.needed):
                found = self._in_one_go(k, band)
                if found is None:
                    left.append(i)
                else:
                    by_rows[i], by_columns[i], by_parameter[i] = found
            for j in range(band.start, band.stop) if left else ():
                found_here = self._tile((band.row, j), [self.needed[i] for i in left])
                for i, (da, db, named) in zip(left, found_here, strict=True):
                    by_rows[i] = add(by_rows[i], da)
                    by_columns[i].append(db)
                    add_named(by_parameter[i], named)
        return Derivatives(by_rows, by_columns, by_parameter)

    @property
    def _wanted(self) -> Wanted:
        return "samples" if self.inputs else "parameters"

    def _in_one_go(
        self, k: int, band: Band
    ) -> tuple[Embedding, list[Embedding], dict[str, Any]] | None:
        """Return the derivatives of a kernel that takes one compiled function, else None."""
        others = np.delete(self.adjoint.nu[k], k)
        if self.kept is not None or others.any() or not compiled.suits_type(self.dtype):
            return None
        I, J = self.plan.blocks[band.row].rows, self.plan.columns(band)
        if _curved(self.members[k], I, J, self.dtype) is None:
            return None
        pull = compiled.Pull(*self._weights[k], _run(self.plan, band))
        E, X = self.members[k].E, self.mapped[k] if self.mapped else None
        found = self.members[k].kernel.band_vjp(
            rows(E, I), rows(E, J), pull, self._wanted, rows(X, I), rows(X, J)
        )
        if found is None:
            return None
        da, db, named = found
        edges = [slice(a, b) for a, b in pairwise(pull.run.edges)]
        return da, [rows(db, edge) for edge in edges], named

    def _tile(
        self, number: tuple[int, int], needed: Sequence[int]
    ) -> list[tuple[Embedding, Embedding, dict[str, Any]]]:
        """Return the derivatives from one tile, for some kernels."""
        I, J = (self.plan.blocks[b].rows for b in number)
        same = number[0] == number[1]
        nu = self.adjoint.nu
        read = [k for k in self.read if k in needed or any(nu[l, k] for l in needed)]
        pairs = {k: _pair(self.members[k], self.plan, number) for k in read}
        wi, wj = (self.w[I], self.w[J]) if self._weighted else (None, None)
        parts = []
        with ExitStack() as stack:
            if self.kept is not None:
                Ks = dict(enumerate(self.kept[number]))
            else:
                shape = _length(I), _length(J)
                Ks = {}
                for k, (a, b) in pairs.items():
                    room = stack.enter_context(borrowed(shape, self.dtype))
                    Ks[k] = self.members[k].kernel.tile_into(a, b, room)
            for k in needed:
                A, V, dtype = self.adjoint.A[k], self.probe, Ks[k].dtype
                left, right = np.hstack([A[I], V[I]]), np.hstack([V[J], A[J]])
                left *= 0.5 if same else 1.0
                factors = (2.0 if same else 4.0) * nu[k]
                kernels = [(float(factors[l]), Ks[l]) for l in read if factors[l]]
                weights = Weights(left.astype(dtype), right.astype(dtype), kernels, wi, wj)
                with borrowed(Ks[k].shape, Ks[k].dtype) as W:
                    weights.write(W)
                    kernel = self.members[k].kernel
                    parts.append(kernel.tile_vjp(*pairs[k], W, Ks[k], wants=self._wanted))
        return parts

    def start(self) -> Derivatives:
        """Return the derivatives from no tiles."""
        count = len(self.needed)
        return Derivatives([None] * count, [], [{} for _ in range(count)])

    def add(self, total: Derivatives, number: int, part: Derivatives) -> None:
        """Add the derivatives of a band."""
        band, blocks, n = self.plan.bands[number], self.plan.blocks, len(self.w)
        for i in range(len(self.needed)):
            dE = add_rows(total.rows[i], blocks[band.row].rows, part.rows[i], n)
            for j, db in zip(range(band.start, band.stop), part.columns[i], strict=True):
                dE = add_rows(dE, blocks[j].rows, db, n)
            total.rows[i] = dE
            add_named(total.parameters[i], part.parameters[i])

    def finish(self, total: Derivatives) -> list[tuple[dict[str, Any], Embedding]]:
        """Return, for every kernel, the derivatives by its parameters and by its embedding."""
        found: list[tuple[dict[str, Any], Embedding]] = [({}, None)] * len(self.members)
        for k, dE, named in zip(self.needed, total.rows, total.parameters, strict=True):
            member, delta = self.members[k], self.adjoint.delta[k]
            if delta.any():
                dd, by_parameter = member.kernel.diagonal_vjp(member.whole, delta)
                dE = add(dE, dd)
                add_named(named, by_parameter)
            found[k] = named, dE
        return found


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
