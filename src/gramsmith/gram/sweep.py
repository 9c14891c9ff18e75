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
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gramsmith.cached import cached_property
from gramsmith.gram.embedded import EmbeddedKernel
from gramsmith.gram.plan import Plan, RowBlock
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
from gramsmith.kernels.finite import check_values
from gramsmith.moments import Adjoint, Moments

Array = npt.NDArray[Any]

# columns of a probe up to which products by columns are faster than one of all
FEW = {np.dtype(np.float64): 1, np.dtype(np.float32): 6}
# quartile distance over median below which values are nearly constant, and a pivot saves digits
ALIKE = 0.2
# They are those of some values of a corner: more would take longer than a sweep over few samples.
QUARTILES, CORNER, SOME = (0.25, 0.5, 0.75), 128, 4000


class BandSums(NamedTuple):
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
    def worker_bytes(self) -> int:
        """The memory of a worker: tiles, those less their pivot, and what a kernel needs."""
        others = max(working_tiles(member.kernel) for member in self.members)
        held = 2 * (len(self.pivot) if self.cross else 1)
        return (held + others) * self.plan.largest * int(np.dtype(self.dtype).itemsize)

    @property
    def band_bytes(self) -> int:
        """The memory of the largest of the partial sums."""
        longest = max(
            self.plan.blocks[band.row].size * (band.folds.stop - band.folds.start)
            + (band.columns.stop - band.columns.start)
            for band in self.plan.bands
        )
        return 8 * len(self.pivot) * int(self.probe.shape[1] * longest)

    def band(self, number: int) -> BandSums:
        """Return the sums over the tiles of one band."""
        band, blocks = self.plan.bands[number], self.plan.blocks
        m, t, here = len(self.pivot), self.probe.shape[1], blocks[band.row]
        folds = band.folds.stop - band.folds.start
        right = np.zeros((m, folds, here.size, t))
        left = np.zeros((m, band.columns.stop - band.columns.start, t))
        squares = np.zeros((2, m, m, folds))
        for block in blocks[band.start : band.stop]:
            f, J = block.fold - band.folds.start, block.rows
            mirrored = block is not here  # a tile on the diagonal is its own mirror image
            PJ = left[:, J.start - band.columns.start : J.stop - band.columns.start]
            q = self._add_tile(here, block, right[:, f], PJ if mirrored else None)
            squares[0, :, :, f] += q
            if mirrored:
                squares[1, :, :, f] += q
        return BandSums(right, left, squares)

    def _add_tile(self, here: RowBlock, block: RowBlock, PI: Array, PJ: Array | None) -> Array:
        """Add the products of the tiles of all kernels, and return <K_k, K_l>.

        Kernels whose products are asked for stand side by side, others one after the other.
        """
        m, I, J = len(self.pivot), here.rows, block.rows
        q = np.zeros((m, m))
        with scratch():
            Z = lend((m if self.cross else 1, here.size, block.size), self.dtype)
            stop = 0
            for member in self.members:
                start, stop = stop, stop + len(member.kernels)
                outs = list(Z[start:stop]) if self.cross else [Z[0]] * (stop - start)
                for k, K in enumerate(member.tiles(I, J, outs), start):
                    if self.cross:
                        Z[k] = K if K is not outs[k - start] else Z[k]
                        continue
                    one = slice(k, k + 1)
                    q[one, one] = self._add_sums(K[None], one, I, J, PI, PJ)
                    if not np.isfinite(q[k, k]):
                        check_values(K, member.kernel)
            if self.cross:
                q = self._add_sums(Z, slice(0, m), I, J, PI, PJ)
                if not np.isfinite(q).all():
                    for k, member in enumerate(m for m in self.members for _ in m.kernels):
                        check_values(Z[k], member.kernel)
        return q

    def _add_sums(
        self, Z: Array, numbers: slice, I: slice, J: slice, PI: Array, PJ: Array | None
    ) -> Array:
        """Add Z V to PI and Z' V to PJ, Z less its pivots, and return Σ w_i w_j Z_kij Z_lij.

        Z holds the values of some kernels, of shape (k, b, c); `numbers` says of which.
        """
        (V, _, w, U), pivot = self.samples, self.pivot[numbers]
        PI, PJ = PI[numbers], None if PJ is None else PJ[numbers]
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
        (P, q), (right, left, squares) = total, part  # plain tuples, where a journal had them
        band = self.plan.bands[number]
        here = self.plan.blocks[band.row]
        P[:, band.folds, here.rows] += right
        P[:, here.fold, band.columns] += left
        q[:, :, here.fold, band.folds] += squares[0]
        q[:, :, band.folds, here.fold] += squares[1]

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
    block = plan.blocks[0]
    size = min(block.size, CORNER)
    corner = slice(block.rows.start, block.rows.start + size)
    off = ~np.eye(size, dtype=bool)  # debiased measures do not see the diagonal
    found = []
    for member in members:
        with scratch():
            out = lend((size, size), dtype)
            for K in member.tiles(corner, corner, [out] * len(member.kernels)):
                values = K[off] if size > 1 else K[0]
                low, middle, high = np.quantile(values[:: 1 + len(values) // SOME], QUARTILES)
                found.append(middle if high - low < ALIKE * abs(middle) else 0.0)
    return np.array(found, dtype=np.float64)


class BandDerivatives(NamedTuple):
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
            self.plan.blocks[band.row].size + band.columns.stop - band.columns.start
            for band in self.plan.bands
        )
        return 8 * sum(widths) * int(longest)

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
        if by_columns and used[0][1].dtype == out.dtype and pointwise.compilable(used[0][1]):
            (factor, K), (U, V) = used[0], by_columns
            pointwise.tile_weights(out, K, U, V, I.start, J.start, share, factor)
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
        here = self.plan.blocks[band.row]
        for block in self.plan.blocks[band.start : band.stop]:
            for i, (da, db, named) in enumerate(self._tile(here, block)):
                found.rows[i] = add(found.rows[i], da)
                found.columns[i].append(db)
                add_named(found.parameters[i], named)
        return found

    def _tile(
        self, here: RowBlock, block: RowBlock
    ) -> list[tuple[Embedding, Embedding, dict[str, Any]]]:
        """Return the derivatives from one tile, for every kernel that has some."""
        I, J, shape = here.rows, block.rows, (here.size, block.size)
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
        (whole, _, named), (by_row, by_column, by_name) = total, part  # of a journal plain tuples
        for i in range(len(self.needed)):
            dE = add_rows(whole[i], blocks[band.row].rows, by_row[i], n)
            for j, db in zip(range(band.start, band.stop), by_column[i], strict=True):
                dE = add_rows(dE, blocks[j].rows, db, n)
            whole[i] = dE
            add_named(named[i], by_name[i])

    def finish(self, total: BandDerivatives) -> list[tuple[dict[str, Any], Embedding]]:
        """Return, for every kernel, the derivatives by its parameters and by its embedding."""
        found: list[tuple[dict[str, Any], Embedding]] = [({}, None)] * len(self.members)
        embeddings, _, parameters = total
        for k, dE, named in zip(self.needed, embeddings, parameters, strict=True):
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
