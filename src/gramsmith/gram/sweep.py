"""The two sweeps as tasks: the only loops over pairs of samples.

    Forward     bands of tiles -> BandSums          -> Moments(P, d, q; pivot)
    Backward    bands of tiles -> BandDerivatives   -> derivatives by parameters and inputs

A task is a frozen description that can be pickled; ``task.band(number)`` is a pure function of it
and returns plain arrays; `start`, `add` and `finish` put these together. Engines only say where
bands are worked off (`gramsmith.gram.engine`).

Tiles cover the upper triangle; each counts for itself and for its mirror image. A kernel forms a
tile (`tile_into`), `add_sums` adds what a forward sweep wants of it; in a backward sweep the
derivative by the tile (`TileCotangent`) goes back through `Kernel.tile_vjp`. Whether formulas and
sums are compiled is a field of the plan.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from gramsmith.gram.embedded import EmbeddedKernel, slopes_from_tile
from gramsmith.gram.plan import Band, Plan
from gramsmith.gram.threads import one_blas_thread
from gramsmith.kernels import pointwise
from gramsmith.kernels.base import Kernel, Wanted
from gramsmith.kernels.embedding import (
    Embedding,
    add,
    add_named,
    add_rows,
    lend,
    scratch,
    width,
)
from gramsmith.moments import Adjoint, Moments

Array = npt.NDArray[Any]
Kept = dict[tuple[int, int], list[Array]]  # tiles of all kernels by the numbers of their blocks

SMALL_ROOM = 1 << 16  # kernel values, half a megabyte of float64
# columns of a probe up to which products by columns are faster than one of all
FEW = {np.dtype(np.float64): 1, np.dtype(np.float32): 6}
# quartile distance over median below which values are nearly constant, and a pivot saves digits
ALIKE = 0.2


@dataclass(frozen=True)
class ProbeBlock:
    """The probe and the weights of consecutive samples: the rows of a tile, or its columns.

    Parameters
    ----------
    V : array of shape (b, t)
        The probe, in the type of the tiles.
    w : array of shape (b,), or None where all weights are 1
    start : int
        The first of the samples.
    """

    V: Array
    w: Array | None
    start: int = 0

    def part(self, chosen: slice) -> ProbeBlock:
        """Return some of the samples."""
        w = None if self.w is None else self.w[chosen]
        return ProbeBlock(self.V[chosen], w, self.start + chosen.start)


@dataclass(frozen=True)
class BandSums:
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
    members : tuple of EmbeddedKernel
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

    members: tuple[EmbeddedKernel, ...]
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
    def samples(self) -> ProbeBlock:
        """Probe and weights of all samples."""
        # contiguous columns, by which thin products are quicker
        probe = np.asfortranarray((self.probe / self.unit).astype(self.dtype))
        return ProbeBlock(probe, self.w if bool(np.any(self.w != 1.0)) else None)

    @cached_property
    def probe_columns(self) -> Array | None:
        """The probe as compiled sums read it, or None where NumPy adds."""
        few = self.probe.shape[1] <= pointwise.COLUMNS
        return pointwise.by_columns(self.samples.V, 2) if self.plan.compiled and few else None

    @property
    def crossed(self) -> bool:
        """Whether there are products between kernels."""
        return self.cross and len(self.pivot) > 1

    @property
    def room(self) -> int:
        """The kernel values that stand side by side where products between kernels are formed.

        Those of one tile; of small tiles more, since strips of single rows cost a call each.
        """
        return max(self.plan.largest, min(SMALL_ROOM, len(self.pivot) * self.plan.largest))

    @property
    def worker_bytes(self) -> int:
        """The memory of a worker: a tile, the same less its pivot, and what the kernel needs."""
        others = max(working_tiles(member.kernel) for member in self.members)
        entries = self.room if self.crossed else self.plan.largest
        return (2 + others) * entries * int(np.dtype(self.dtype).itemsize)

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

    def band(self, number: int) -> BandSums:
        """Return the sums over the tiles of one band."""
        band, blocks = self.plan.bands[number], self.plan.blocks
        m, t = len(self.pivot), self.probe.shape[1]
        here, columns = blocks[band.row].rows, self.plan.columns(band)
        first, folds = self._folds(band)
        right = np.zeros((m, folds, _length(here), t))
        left = np.zeros((m, _length(columns), t))
        squares = np.zeros((2, m, m, folds))
        add_tile = self._add_crossed if self.crossed else self._add_separate
        with one_blas_thread():
            for j in range(band.start, band.stop):
                f, there = blocks[j].fold - first, blocks[j].rows
                PJ = left[:, there.start - columns.start : there.stop - columns.start]
                q = add_tile((band.row, j), right[:, f], PJ)
                squares[0, :, :, f] += q
                if j != band.row:
                    squares[1, :, :, f] += q
        return BandSums(right, left, squares)

    def _add_separate(self, tile: tuple[int, int], PI: Array, PJ: Array) -> Array:
        """Add the products of one tile of every kernel, and return |K_k|² as a diagonal matrix."""
        I, J = (self.plan.blocks[b].rows for b in tile)
        left, right = self.samples.part(I), self.samples.part(J)
        mirrored = tile[0] != tile[1]
        q = np.zeros((len(self.pivot), len(self.pivot)))
        k = 0
        for i, member in enumerate(self.members):
            a, b = member.pair(I, J)
            with scratch():
                kept = None if self.kept is None else self.kept[tile]
                out = lend((_length(I), _length(J)), self.dtype) if kept is None else kept[i]
                for K in member.tiles(a, b, out):
                    one = slice(k, k + 1)
                    found = self._add_sums(K[None], one, left, right, PI, PJ if mirrored else None)
                    if not np.isfinite(found[0, 0]):
                        member.check(K)
                    q[k, k] = found[0, 0]
                    k += 1
                if kept is not None:
                    kept[i] = K
        return q

    def _add_crossed(self, tile: tuple[int, int], PI: Array, PJ: Array) -> Array:
        """Add the products of one tile of all kernels, and return <K_k, K_l>.

        The values of all kernels stand side by side, for as many rows at a time as there is room
        for. A tile on the diagonal is cut along it, so that a kernel is always asked for rows with
        themselves, or for rows with others.
        """
        I, J = (self.plan.blocks[b].rows for b in tile)
        m = len(self.pivot)
        q = np.zeros((m, m))
        step = max(1, self.room // (m * _length(J)))
        for start in range(I.start, I.stop, step):
            stop = min(start + step, I.stop)
            strip, rest = slice(start, stop), slice(stop, I.stop)
            here = PI[:, start - I.start : stop - I.start]
            if tile[0] != tile[1]:
                q += self._add_strip(strip, J, here, PJ)
                continue
            q += self._add_strip(strip, strip, here, None)
            if _length(rest):
                q += 2.0 * self._add_strip(strip, rest, here, PI[:, stop - I.start :])
        return q

    def _add_strip(self, I: slice, J: slice, PI: Array, PJ: Array | None) -> Array:
        """Add the products of some rows and columns of all kernels."""
        left, right = self.samples.part(I), self.samples.part(J)
        with scratch():
            Z = lend((len(self.pivot), _length(I), _length(J)), self.dtype)
            k = 0
            for member in self.members:
                member.fill(*member.pair(I, J), Z[k : k + len(member.kernels)])
                k += len(member.kernels)
            q = self._add_sums(Z, slice(None), left, right, PI, PJ)
            if not np.isfinite(q).all():
                k = 0
                for member in self.members:
                    member.check(Z[k : k + len(member.kernels)])
                    k += len(member.kernels)
        return q

    def _add_sums(
        self,
        Z: Array,
        kernels: slice,
        left: ProbeBlock,
        right: ProbeBlock,
        PI: Array,
        PJ: Array | None,
    ) -> Array:
        """Add Z V to PI and Z' V to PJ, Z less its pivots, and return Σ w_i w_j Z_kij Z_lij.

        Z holds the values of some kernels, of shape (k, b, c); PI and PJ the sums of all.
        """
        pivot, U = self.pivot[kernels], self.probe_columns
        PI, PJ = PI[kernels], None if PJ is None else PJ[kernels]
        alike = U is not None and Z.dtype == U.dtype and pointwise.compilable(Z)
        if U is not None and alike and len(Z) == 1 and left.w is None:
            here, there = PI[0], None if PJ is None else PJ[0]
            found = pointwise.tile_sums(Z[0], pivot[0], U, left.start, right.start, here, there)
            return np.array([[found]])
        with scratch():
            if pivot.any():
                off = pivot[:, None, None].astype(Z.dtype)
                Z = np.subtract(Z, off, out=lend(Z.shape, Z.dtype))
            _add_products(PI, Z, right.V.astype(Z.dtype, copy=False))
            if PJ is not None:
                _add_products(PJ, Z.transpose(0, 2, 1), left.V.astype(Z.dtype, copy=False))
            return _products(Z, left.w, right.w)

    def start(self) -> tuple[Array, Array]:
        """Return P and q of no tiles."""
        m, (n, t) = len(self.pivot), self.probe.shape
        F = self.plan.blocks[-1].fold + 1
        return np.zeros((m, F, n, t)), np.zeros((m, m, F, F))

    def add(self, total: tuple[Array, Array], number: int, part: BandSums) -> None:
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
        d = np.vstack([member.diagonals() for member in self.members]) - self.pivot[:, None]
        fold = np.repeat([b.fold for b in self.plan.blocks], [b.size for b in self.plan.blocks])
        return Moments(P, d, q, np.zeros(d.shape), self.pivot, fold, self.cross)


def _add_products(P: Array, Z: Array, V: Array) -> None:
    """Add Z V to P; few columns of float32 one by one, which is twice as fast and more exact."""
    if V.shape[1] > FEW[Z.dtype]:
        P += Z @ V
        return
    for c in range(V.shape[1]):
        P[..., c] += Z @ V[:, c]


def _products(Z: Array, wi: Array | None, wj: Array | None) -> Array:
    """Return Σ w_i w_j Z_kij Z_lij, shape (m, m)."""
    if len(Z) == 1 and wi is None:
        # Row by row: one float32 dot product over a whole tile would lose digits.
        return np.array([[np.vecdot(Z[0], Z[0]).sum(dtype=np.float64)]])
    by_row = Z.transpose(1, 0, 2)
    if wi is None or wj is None:
        return np.asarray((by_row @ Z.transpose(1, 2, 0)).sum(axis=0, dtype=np.float64))
    weighted = np.multiply(Z, wj.astype(Z.dtype), out=lend(Z.shape, Z.dtype))
    return np.asarray(np.tensordot(wi, by_row @ weighted.transpose(1, 2, 0), 1))


def _powers_of_two(sizes: Array) -> Array:
    """Return the powers of two next to positive numbers, and 1 for 0: exact as divisors."""
    return np.asarray(np.exp2(np.frexp(sizes)[1]))


def _length(run: slice) -> int:
    return int(run.stop - run.start)


def working_tiles(kernel: Kernel) -> int:
    """Return how many arrays of the size of a tile a kernel takes beside that of its values."""
    parts = enumerate(kernel.children().values())
    return max((i + working_tiles(part) for i, part in parts), default=1)


def slope_tiles(kernel: Kernel) -> int:
    """Return how many arrays of the size of a tile its slopes take, and their pullback."""
    parts = list(kernel.children().values())
    if not parts:
        return 1 if slopes_from_tile(kernel) else 3
    return 2 + sum(1 + slope_tiles(part) for part in parts)


def pivots(members: Sequence[EmbeddedKernel], plan: Plan, dtype: Any) -> Array:
    """Return the median of the first corner of every kernel, or 0 where its values differ enough.

    Centring costs digits only where most values are nearly the same, and a pivot is a pass over
    every tile. Quartiles, because one sample far from all others is no variety.
    """
    block = plan.blocks[0].rows
    corner = slice(block.start, min(block.stop, block.start + 128))
    size = _length(corner)
    off = ~np.eye(size, dtype=bool)  # debiased measures do not see the diagonal
    first = []
    with one_blas_thread():
        for member in members:
            with scratch():
                for K in member.tiles(*member.pair(corner, corner), lend((size, size), dtype)):
                    values = K[off] if size > 1 else K.ravel()
                    low, middle, high = np.quantile(
                        values[:: 1 + len(values) // 4000], (0.25, 0.5, 0.75)
                    )
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
class BandDerivatives:
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
class TileCotangent:
    """The derivative by the tiles of a kernel, A V' + V A' + Σ_l factor_l w w' K_l.

    A tile on the diagonal, which is its own mirror image, takes half of it.

    Parameters
    ----------
    left, right : arrays of shape (n, 2t)
        [A, V] and [V, A] of all samples, in the type of the tiles.
    factors : array of shape (m,)
        4 ν of every kernel.
    w : array of shape (n,)
    compiled : bool
    """

    left: Array
    right: Array
    factors: Array
    w: Array
    compiled: bool

    @cached_property
    def weighted(self) -> bool:
        """Whether some weight is not 1."""
        return bool(np.any(self.w != 1.0))

    @cached_property
    def by_columns(self) -> tuple[Array, Array]:
        """The two factors as the compiled pass reads them."""
        return pointwise.by_columns(self.left, 4), pointwise.by_columns(self.right, 4)

    def of_tile(self, I: slice, J: slice, tiles: dict[int, Array], out: Array) -> Array:
        """Write the derivative by a tile into `out`, given the tiles of the kernels."""
        share = 0.5 if I == J else 1.0
        used = [(float(f), tiles[l]) for l, f in enumerate(self.factors) if f]
        alike = len(used) == 1 and used[0][1].dtype == out.dtype and not self.weighted
        if self.compiled and alike and pointwise.compilable(out):
            np.copyto(out, used[0][1])
            pointwise.tile_weights(out, *self.by_columns, I.start, J.start, share, used[0][0])
            return out
        left = self.left[I] if share == 1.0 else self.left[I] * self.left.dtype.type(share)
        np.matmul(left, self.right[J].T, out=out)
        with scratch():
            part = lend(out.shape, out.dtype)
            for factor, K in used:
                np.multiply(K, out.dtype.type(share * factor), out=part)
                if self.weighted:
                    part *= self.w[I][:, None]
                    part *= self.w[J]
                out += part
        return out


@dataclass(frozen=True)
class Backward:
    """The derivatives of a number by the parameters and inputs of all kernels.

    Parameters
    ----------
    members : tuple of EmbeddedKernel
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
    """

    members: tuple[EmbeddedKernel, ...]
    plan: Plan
    dtype: Any
    adjoint: Adjoint
    probe: Array
    w: Array
    inputs: bool = True
    kept: Kept | None = None

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
        """The memory of a worker: tiles and slopes of the kernels, the derivative by a tile."""
        kernels = [self.members[k].kernel for k in self.read]
        held = 1 if self.kept is not None else sum(1 + slope_tiles(kernel) for kernel in kernels)
        return (1 + held) * self.plan.largest * int(np.dtype(self.dtype).itemsize)

    @property
    def band_bytes(self) -> int:
        """The memory of the derivatives by the rows of the largest band, roughly."""
        widths = [width(self.members[k].E) for k in self.needed]
        longest = max(
            self.plan.blocks[b.row].size + _length(self.plan.columns(b)) for b in self.plan.bands
        )
        return 8 * sum(widths) * longest

    @cached_property
    def cotangents(self) -> dict[int, TileCotangent]:
        """The derivatives by the tiles of every kernel that has some."""
        V, found = self.probe, {}
        for k in self.needed:
            A, factors = self.adjoint.A[k], 4.0 * self.adjoint.nu[k]
            left, right = (np.hstack(pair).astype(self.dtype) for pair in ((A, V), (V, A)))
            found[k] = TileCotangent(left, right, factors, self.w, self.plan.compiled)
        return found

    def band(self, number: int) -> BandDerivatives:
        """Return the derivatives from the tiles of one band."""
        band = self.plan.bands[number]
        by_rows: list[Embedding] = [None] * len(self.needed)
        by_columns: list[list[Embedding]] = [[] for _ in self.needed]
        by_parameter: list[dict[str, Any]] = [{} for _ in self.needed]
        with one_blas_thread():
            for j in range(band.start, band.stop):
                for i, (da, db, named) in enumerate(self._tile((band.row, j))):
                    by_rows[i] = add(by_rows[i], da)
                    by_columns[i].append(db)
                    add_named(by_parameter[i], named)
        return BandDerivatives(by_rows, by_columns, by_parameter)

    def _tile(self, tile: tuple[int, int]) -> list[tuple[Embedding, Embedding, dict[str, Any]]]:
        """Return the derivatives from one tile, for every kernel that has some."""
        I, J = (self.plan.blocks[b].rows for b in tile)
        shape = _length(I), _length(J)
        wants: Wanted = "samples" if self.inputs else "parameters"
        parts = []
        with scratch():
            pairs = {k: self.members[k].pair(I, J) for k in self.read}
            tiles: dict[int, Array] = {}
            slopes: dict[int, Any] = {}
            if self.kept is not None:
                tiles = slopes = dict(enumerate(self.kept[tile]))
            else:
                for k, (a, b) in pairs.items():
                    out, kernel = lend(shape, self.dtype), self.members[k].kernel
                    tiles[k], slopes[k] = (
                        kernel.tile_and_slopes(a, b, out)
                        if k in self.needed
                        else (kernel.tile_into(a, b, out), None)
                    )
            for k in self.needed:
                with scratch():
                    W = lend(shape, tiles[k].dtype)
                    self.cotangents[k].of_tile(I, J, tiles, W)
                    kernel = self.members[k].kernel
                    parts.append(kernel.tile_vjp(*pairs[k], W, slopes[k], wants=wants))
        return parts

    def start(self) -> BandDerivatives:
        """Return the derivatives from no tiles."""
        count = len(self.needed)
        return BandDerivatives([None] * count, [], [{} for _ in range(count)])

    def add(self, total: BandDerivatives, number: int, part: BandDerivatives) -> None:
        """Add the derivatives of a band."""
        band, blocks, n = self.plan.bands[number], self.plan.blocks, len(self.w)
        for i in range(len(self.needed)):
            dE = add_rows(total.rows[i], blocks[band.row].rows, part.rows[i], n)
            for j, db in zip(range(band.start, band.stop), part.columns[i], strict=True):
                dE = add_rows(dE, blocks[j].rows, db, n)
            total.rows[i] = dE
            add_named(total.parameters[i], part.parameters[i])

    def finish(self, total: BandDerivatives) -> list[tuple[dict[str, Any], Embedding]]:
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
