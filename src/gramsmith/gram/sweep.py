"""The two sweeps as tasks: the only loops over pairs of samples.

    Forward     bands of tiles -> BandSums          -> Moments(P, d, q; pivot)
    Backward    bands of tiles -> BandDerivatives   -> derivatives by parameters and inputs

A task is a frozen description that can be pickled; ``task.band(number)`` is a pure function of it
and returns plain arrays; `start`, `add` and `finish` put these together. Engines only say where
bands are worked off (`gramsmith.gram.engine`).

Tiles cover the upper triangle; each counts for itself and for its mirror image. A forward
sweep adds up products of a kernel's tile; in a backward sweep the derivative by the tile goes back
through `Kernel.tile_vjp`. Whether formulas and sums are compiled is a field of
the plan.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gramsmith.cached import cached_property
from gramsmith.gram.embedded import EmbeddedKernel
from gramsmith.gram.plan import Band, Plan
from gramsmith.gram.threads import one_blas_thread
from gramsmith.kernels import pointwise
from gramsmith.kernels.base import Kernel
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

SMALL_ROOM = 1 << 16  # kernel values, half a megabyte of float64
# columns of a probe up to which products by columns are faster than one of all
FEW = {np.dtype(np.float64): 1, np.dtype(np.float32): 6}
# quartile distance over median below which values are nearly constant, and a pivot saves digits
ALIKE = 0.2


@dataclass(frozen=True)
class BandSums:
    """What one band adds to P and q.

    `right` is K V for its rows by the fold of its columns, shape (m, f, b, t), `left` K' V for its
    columns, shape (m, c, t); `squares`, of shape (2, m, m, f), are <K_k, K_l> by the fold of the
    columns, and the same of the mirror images.
    """

    right: Array
    left: Array
    squares: Array


@dataclass(frozen=True)
class Forward:
    """The sums of all kernels over all tiles.

    The rows of `probe` are already multiplied by w, `pivot` is what is taken off each kernel, and
    `cross` asks for products between kernels.
    """

    members: tuple[EmbeddedKernel, ...]
    plan: Plan
    dtype: Any
    probe: Array
    w: Array
    pivot: Array
    cross: bool = False

    @cached_property
    def samples(self) -> tuple[Array, Array, Array | None, Array | None]:
        """The probe over a power of two for each column, these, weights, and compiled sums' probe.

        Over the powers targets of any size fit float32. Weights are None where all are 1, the
        probe of compiled sums where NumPy adds.
        """
        unit = np.exp2(np.frexp(np.abs(self.probe).max(axis=0, initial=0.0))[1])
        # contiguous columns, by which thin products are quicker
        V = np.asfortranarray((self.probe / unit).astype(self.dtype))
        compiled = self.plan.compiled and V.shape[1] <= pointwise.COLUMNS
        by_columns = pointwise.by_columns(V, 2) if compiled else None
        return V, unit, self.w if np.any(self.w != 1.0) else None, by_columns

    @property
    def room(self) -> int:
        """The kernel values that stand side by side: those of one tile, or of small tiles more.

        Strips of single rows would cost a call each.
        """
        return max(self.plan.largest, min(SMALL_ROOM, len(self.pivot) * self.plan.largest))

    @property
    def worker_bytes(self) -> int:
        """The memory of a worker: a tile, the same less its pivot, and what the kernel needs."""
        others = max(working_tiles(member.kernel) for member in self.members)
        return (2 + others) * self.room * int(np.dtype(self.dtype).itemsize)

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
        # kernels whose products are formed stand side by side, the others one after the other
        groups = [self.members] if self.cross else [(member,) for member in self.members]
        with one_blas_thread():
            for j in range(band.start, band.stop):
                f, there = blocks[j].fold - first, blocks[j].rows
                PJ = left[:, there.start - columns.start : there.stop - columns.start]
                k = 0
                for group in groups:
                    stop = k + sum(len(member.kernels) for member in group)
                    q = self._add_tile(group, slice(k, stop), here, there, right[:, f], PJ)
                    squares[0, k:stop, k:stop, f] += q
                    if j != band.row:
                        squares[1, k:stop, k:stop, f] += q
                    k = stop
        return BandSums(right, left, squares)

    def _add_tile(
        self,
        members: Sequence[EmbeddedKernel],
        numbers: slice,
        I: slice,
        J: slice,
        PI: Array,
        PJ: Array,
    ) -> Array:
        """Add the products of one tile of some kernels, and return <K_k, K_l>.

        Values of several kernels whose products are asked for stand side by side, for as many rows
        at a time as there is room for. A tile on the diagonal is cut along it, so that a kernel is
        always asked for rows with themselves, or for rows with others.
        """
        count = _length(numbers)
        q = np.zeros((count, count))
        step = max(1, self.room // ((count if self.cross else 1) * _length(J)))
        for start in range(I.start, I.stop, step):
            stop = min(start + step, I.stop)
            strip, rest = slice(start, stop), slice(stop, I.stop)
            here = PI[numbers, start - I.start : stop - I.start]
            if I != J:
                q += self._add_strip(members, numbers, strip, J, here, PJ[numbers])
                continue
            q += self._add_strip(members, numbers, strip, strip, here, None)
            if _length(rest):
                there = PI[numbers, stop - I.start :]
                q += 2.0 * self._add_strip(members, numbers, strip, rest, here, there)
        return q

    def _add_strip(
        self,
        members: Sequence[EmbeddedKernel],
        numbers: slice,
        I: slice,
        J: slice,
        PI: Array,
        PJ: Array | None,
    ) -> Array:
        """Add the products of some rows and columns of some kernels."""
        pivot, count = self.pivot[numbers], len(PI)
        q = np.zeros((count, count))
        with scratch():
            if self.cross and count > 1:
                Z, k = lend((count, _length(I), _length(J)), self.dtype), 0
                for member in members:
                    member.fill(I, J, Z[k : k + len(member.kernels)])
                    k += len(member.kernels)
                q = self._add_sums(Z, pivot, I, J, PI, PJ)
                if not np.isfinite(q).all():
                    for k, member in enumerate(m for m in members for _ in m.kernels):
                        member.check(Z[k])
                return q
            [member] = members
            a, b = member.pair(I, J)
            K = member.kernel.tile(a, b, lend((_length(I), _length(J)), self.dtype))
            for k in range(count):
                if k:  # a path, of which each is the square of the one before
                    np.multiply(K, K, out=K)
                one, there = slice(k, k + 1), None if PJ is None else PJ[k : k + 1]
                q[one, one] = self._add_sums(K[None], pivot[one], I, J, PI[one], there)
                if not np.isfinite(q[k, k]):
                    member.check(K)
        return q

    def _add_sums(
        self, Z: Array, pivot: Array, I: slice, J: slice, PI: Array, PJ: Array | None
    ) -> Array:
        """Add Z V to PI and Z' V to PJ, Z less its pivots, and return Σ w_i w_j Z_kij Z_lij.

        Z holds the values of some kernels, of shape (k, b, c).
        """
        V, _, w, U = self.samples
        single = len(Z) == 1 and w is None
        if U is not None and single and Z.dtype == U.dtype and pointwise.compilable(Z):
            there = None if PJ is None else PJ[0]
            found = pointwise.tile_sums(Z[0], pivot[0], U, I.start, J.start, PI[0], there)
            return np.array([[found]])
        with scratch():
            if pivot.any():
                off = pivot[:, None, None].astype(Z.dtype)
                Z = np.subtract(Z, off, out=lend(Z.shape, Z.dtype))
            _add_products(PI, Z, V[J].astype(Z.dtype, copy=False))
            if PJ is not None:
                _add_products(PJ, Z.transpose(0, 2, 1), V[I].astype(Z.dtype, copy=False))
            if single:
                # Row by row: one float32 dot product over a whole tile would lose digits.
                return np.array([[np.vecdot(Z[0], Z[0]).sum(dtype=np.float64)]])
            by_row = Z.transpose(1, 0, 2)
            if w is None:
                return np.asarray((by_row @ Z.transpose(1, 2, 0)).sum(axis=0, dtype=np.float64))
            weighted = np.multiply(Z, w[J].astype(Z.dtype), out=lend(Z.shape, Z.dtype))
            return np.asarray(np.tensordot(w[I], by_row @ weighted.transpose(1, 2, 0), 1))

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
        P *= self.samples[1]
        # those of a path are ones
        diagonals = [m.kernel.diagonal(m.whole) for m in self.members for _ in m.kernels]
        d = np.vstack(diagonals) - self.pivot[:, None]
        fold = np.repeat([b.fold for b in self.plan.blocks], [b.size for b in self.plan.blocks])
        return Moments(P, d, q, np.zeros(d.shape), self.pivot, fold, self.cross)


def _add_products(P: Array, Z: Array, V: Array) -> None:
    """Add Z V to P; few columns of float32 one by one, which is twice as fast and more exact."""
    if V.shape[1] > FEW[Z.dtype]:
        P += Z @ V
        return
    for c in range(V.shape[1]):
        P[..., c] += Z @ V[:, c]


def _length(run: slice) -> int:
    return int(run.stop - run.start)


def working_tiles(kernel: Kernel) -> int:
    """Return how many arrays of the size of a tile a kernel takes beside that of its values."""
    parts = enumerate(kernel.children().values())
    return max((i + working_tiles(part) for i, part in parts), default=1)


def slope_tiles(kernel: Kernel) -> int:
    """Return how many arrays of the size of a tile its slopes take at most, and their pullback."""
    parts = list(kernel.children().values())
    return 2 + sum(1 + slope_tiles(part) for part in parts) if parts else 3


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
                Z = lend((len(member.kernels), size, size), dtype)
                member.fill(corner, corner, Z)
                values = Z[:, off] if size > 1 else Z[:, 0]
                some = values[:, :: 1 + values.shape[1] // 4000]
                low, middle, high = np.quantile(some, (0.25, 0.5, 0.75), axis=1)
                first.append(np.where(high - low < ALIKE * np.abs(middle), middle, 0.0))
    return np.concatenate(first).astype(np.float64)


@dataclass(frozen=True)
class BandDerivatives:
    """What one band adds to the derivatives, for every kernel that has some.

    Embeddings by the rows of the band, lists of them by each of its column blocks, and derivatives
    by nested parameter names, as far as a parameter acts on tiles.
    """

    rows: list[Embedding]
    columns: list[list[Embedding]]
    parameters: list[dict[str, Any]]


@dataclass(frozen=True)
class Backward:
    """The derivatives of a number by the parameters and inputs of all kernels, none of them paths.

    The adjoint is that of K without a pivot; `inputs` says whether derivatives by the samples are
    wanted.
    """

    members: tuple[EmbeddedKernel, ...]
    plan: Plan
    dtype: Any
    adjoint: Adjoint
    probe: Array
    w: Array
    inputs: bool = True

    @cached_property
    def needed(self) -> list[int]:
        """The kernels that have a derivative."""
        a = self.adjoint
        parts = zip(a.A, a.delta, a.nu, strict=True)
        return [k for k, part in enumerate(parts) if any(p.any() for p in part)]

    @cached_property
    def read(self) -> list[int]:
        """The kernels whose tiles are looked at."""
        used = self.adjoint.nu
        return [k for k in range(len(self.members)) if k in self.needed or used[:, k].any()]

    @property
    def worker_bytes(self) -> int:
        """The memory of a worker: tiles and slopes of the kernels, the derivative by a tile."""
        held = sum(1 + slope_tiles(self.members[k].kernel) for k in self.read)
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
    def factors(self) -> dict[int, Any]:
        """[A, V] and [V, A] of every kernel that has a derivative, as tiles read them.

        And weights, None where all are 1.
        """
        V, w = self.probe, self.w if np.any(self.w != 1.0) else None
        found = {}
        for k in self.needed:
            A = self.adjoint.A[k]
            pair = [np.hstack(both).astype(self.dtype) for both in ((A, V), (V, A))]
            alone = np.count_nonzero(self.adjoint.nu[k]) == 1
            compiled = self.plan.compiled and alone and w is None
            found[k] = *pair, w, [pointwise.by_columns(p, 4) for p in pair] if compiled else None
        return found

    def _cotangent(self, k: int, I: slice, J: slice, tiles: dict[int, Array], out: Array) -> None:
        """Write the derivative by a tile, A V' + V A' + Σ_l 4 ν_l w w' K_l, into `out`.

        A tile on the diagonal, which is its own mirror image, takes half of it.
        """
        share = 0.5 if I == J else 1.0
        left, right, w, by_columns = self.factors[k]
        used = [(4.0 * float(nu), tiles[l]) for l, nu in enumerate(self.adjoint.nu[k]) if nu]
        if by_columns and used[0][1].dtype == out.dtype and pointwise.compilable(out):
            np.copyto(out, used[0][1])
            U, V = by_columns
            pointwise.tile_weights(out, U, V, I.start, J.start, share, used[0][0])
            return
        np.matmul(left[I] * left.dtype.type(share), right[J].T, out=out)
        with scratch():
            part = lend(out.shape, out.dtype)
            for factor, K in used:
                np.multiply(K, out.dtype.type(share * factor), out=part)
                if w is not None:
                    part *= w[I][:, None]
                    part *= w[J]
                out += part

    def band(self, number: int) -> BandDerivatives:
        """Return the derivatives from the tiles of one band."""
        band = self.plan.bands[number]
        found = self.start()
        found.columns.extend([] for _ in self.needed)
        with one_blas_thread():
            for j in range(band.start, band.stop):
                for i, (da, db, named) in enumerate(self._tile((band.row, j))):
                    found.rows[i] = add(found.rows[i], da)
                    found.columns[i].append(db)
                    add_named(found.parameters[i], named)
        return found

    def _tile(self, tile: tuple[int, int]) -> list[tuple[Embedding, Embedding, dict[str, Any]]]:
        """Return the derivatives from one tile, for every kernel that has some."""
        I, J = (self.plan.blocks[b].rows for b in tile)
        shape = _length(I), _length(J)
        wants = "samples" if self.inputs else "parameters"
        parts = []
        with scratch():
            pairs = {k: self.members[k].pair(I, J) for k in self.read}
            tiles: dict[int, Array] = {}
            slopes: dict[int, Any] = {}
            for k, (a, b) in pairs.items():
                out, kernel = lend(shape, self.dtype), self.members[k].kernel
                if k in self.needed:
                    tiles[k], slopes[k] = kernel.tile_and_slopes(a, b, out)
                else:
                    tiles[k] = kernel.tile(a, b, out)
            for k in self.needed:
                with scratch():
                    W = lend(shape, tiles[k].dtype)
                    self._cotangent(k, I, J, tiles, W)
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
    used = w > 0
    for k, kernel in enumerate(kernels):
        q = float(moments.q[k, k].sum())
        if np.isfinite(q) and (
            q >= least or not (moments.d[k, used].any() or moments.P[k][:, used].any())
        ):
            continue
        size = "small" if q < least else "large"
        raise ValueError(
            f"Expected kernel values whose squares fit {np.dtype(dtype).name}, got values too "
            f"{size} in {kernel.formula()}. Scale the features (StandardScaler) or divide the "
            "kernel matrix by its largest entry; Normalized(kernel) has values up to 1."
        )
