"""Kernels with their embedded samples, from which a sweep takes tiles."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from gramsmith.gram.views import Views
from gramsmith.kernels.algebra import Fixed
from gramsmith.kernels.base import Kernel
from gramsmith.kernels.embedding import Embedding, count, rows, width
from gramsmith.kernels.finite import check_values
from gramsmith.kernels.geometry import InnerProduct, PairKernel, SquaredEuclidean
from gramsmith.kernels.maps import Composed
from gramsmith.kernels.radial import Gaussian, Laplacian

Array = npt.NDArray[Any]

# squarings after which an exponential is computed anew: each doubles the relative error
SQUARINGS = {np.dtype(np.float64): 8, np.dtype(np.float32): 4}


# What embeddings may take of the memory budget; beyond, rows are embedded when they are needed.
SHARE = 0.25


@dataclass(frozen=True)
class Unembedded:
    """Samples that are embedded when their rows are needed, to the same bits: many kernels fit."""

    kernel: Kernel
    X: Any
    reference: Any
    dtype: Any
    numbers: int

    @property
    def shape(self) -> tuple[int, int]:
        """The number of samples, and of numbers that are embedded of each."""
        return len(self.X), self.numbers

    def __getitem__(self, index: Any) -> Embedding:
        """Return some rows of the embedding."""
        return self.kernel.embed(self.X[index], self.reference, self.dtype)


@dataclass(frozen=True)
class EmbeddedKernel:
    """One kernel with its embedded samples."""

    kernel: Kernel
    X: Any
    reference: Any
    E: Embedding

    @classmethod
    def make(cls, kernel: Kernel, X: Any, dtype: Any) -> EmbeddedKernel:
        """Check the kernel and its input, and embed the samples."""
        kernel.check_parameters()
        X = kernel.check_input(X)
        reference = kernel.reference(X)
        return cls(kernel, X, reference, kernel.embed(X, reference, dtype))

    @property
    def n(self) -> int:
        """The number of samples."""
        return count(self.E)

    @property
    def whole(self) -> Embedding:
        """The embedding of all samples."""
        return rows(self.E, slice(None))

    @property
    def kernels(self) -> list[Kernel]:
        """The kernels in the order of `tiles`."""
        return [self.kernel]

    def on_demand(self, dtype: Any) -> EmbeddedKernel:
        """Return the same with rows embedded when they are needed, where that gives their bits."""
        if not _embeds_rows(self.kernel, self.E, dtype):
            return self
        E = Unembedded(self.kernel, self.X, self.reference, dtype, width(self.E))
        return replace(self, E=E)

    def for_sweep(self, compiled: bool) -> EmbeddedKernel:
        """Return what tiles need, which travels to other processes; formulas compiled or not."""
        kernel = self.kernel.with_compiled_formulas() if compiled else self.kernel
        return replace(self, kernel=kernel, X=None, reference=None)

    def pair(self, I: slice, J: slice) -> tuple[Embedding, Embedding]:
        """Return the embeddings of two runs of samples, one object twice for the same run."""
        a = rows(self.E, I)
        return a, a if I == J else rows(self.E, J)

    def tiles(self, a: Embedding, b: Embedding, out: Array) -> Iterator[Array]:
        """Yield the tile of each of `kernels`, the next one perhaps in the same array.

        They are written into `out`, of shape (n_a, n_b), if the kernel can write there.
        """
        yield self.kernel.tile_into(a, b, out)

    def fill(self, a: Embedding, b: Embedding, outs: Array) -> None:
        """Write the tiles of all `kernels` into an array of shape (kernels, n_a, n_b)."""
        K = self.kernel.tile_into(a, b, outs[0])
        if K is not outs[0]:
            np.copyto(outs[0], K, casting="same_kind")

    def diagonals(self) -> Array:
        """Return the diagonal of each of `kernels`, shape (kernels, n)."""
        return np.tile(self.kernel.diagonal(self.whole), (len(self.kernels), 1))

    def check(self, K: Array) -> None:
        """Raise a ValueError if the tile is not finite."""
        check_values(K, self.kernel)


def _embeds_rows(kernel: Kernel, E: Embedding, dtype: Any) -> bool:
    """Return whether rows embedded by themselves are those of `E`, in `dtype`, bit by bit."""
    geometry = getattr(kernel, "geometry", None)
    if isinstance(geometry, InnerProduct):
        return not sp.issparse(E)
    if not isinstance(geometry, SquaredEuclidean) or sp.issparse(E[0]):
        return False
    # otherwise the longest of all rows has a say in how each is kept
    return bool(E[2] is None and E[0].dtype == dtype)


@dataclass(frozen=True)
class SquaringPath(EmbeddedKernel):
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

    def tiles(self, a: Embedding, b: Embedding, out: Array) -> Iterator[Array]:
        """Yield the tiles of the path, each the square of the one before in its place."""
        K = self.kernel.tile_into(a, b, out)
        yield K
        for _ in self.path[1:]:
            yield np.multiply(K, K, out=K)

    def fill(self, a: Embedding, b: Embedding, outs: Array) -> None:
        """Write the tiles of the path, each the square of the one before."""
        super().fill(a, b, outs)
        for before, out in pairwise(outs):
            np.multiply(before, before, out=out)


def embed_kernels(
    views: Views, dtype: Any, budget: int, *, paths: bool = True
) -> list[EmbeddedKernel]:
    """Return the kernels with their embedded samples.

    Neighbours on the same view that are squares of each other form `paths`. Once embeddings take
    their `SHARE` of the budget in bytes, further ones are made when they are needed.
    """
    kernels = views.kernels
    members: list[EmbeddedKernel] = []
    i = size = 0
    while i < len(kernels):
        member = EmbeddedKernel.make(kernels[i], views.samples[i], dtype)
        stop = _path_end(views, i, member.E, SQUARINGS[np.dtype(dtype)]) if paths else i + 1
        if stop > i + 1:
            path = tuple(kernels[i:stop])
            member = SquaringPath(member.kernel, member.X, member.reference, member.E, path)
        size += member.n * width(member.E) * np.dtype(dtype).itemsize
        members.append(member.on_demand(dtype) if size > SHARE * budget else member)
        i = stop
    sizes = {member.n for member in members}
    if len(sizes) != 1:
        raise ValueError(
            f"Expected all kernels on the same samples, got {sorted(sizes)} samples. "
            "Give every view the same rows in the same order."
        )
    return members


def _is_power_of(kernel: Kernel, other: Kernel, squarings: int, E: Embedding) -> bool:
    """Return whether tiles of `other`, squared so often, are tiles of a kernel, as exact."""
    radial = isinstance(kernel, Gaussian | Laplacian) and type(kernel) is type(other)
    return radial and bool(kernel.is_power_of(other, squarings, E))


def slopes_from_tile(kernel: Kernel) -> bool:
    """Return whether the tile is all that a pullback can use, so that it may be kept for it."""
    if isinstance(kernel, Composed | Fixed):
        return slopes_from_tile(kernel.kernel)
    if isinstance(kernel, PairKernel):
        return kernel.slopes_from_tile
    return type(kernel).tile_and_slopes is Kernel.tile_and_slopes


def _path_end(views: Views, start: int, E: Embedding, most: int) -> int:
    """Return where the run of kernels ends, each the square of the one before, from `start` on."""
    kernels, samples = views.kernels, views.samples
    stop = start + 1
    while (
        stop < min(len(kernels), start + 1 + most)
        and samples[stop] is samples[start]
        and _is_power_of(kernels[stop], kernels[start], stop - start, E)
    ):
        stop += 1
    return stop
