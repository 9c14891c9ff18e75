"""Member: a kernel with its embedded samples, from which a sweep takes tiles."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from gramsmith.gram.views import Views
from gramsmith.kernels.base import Kernel
from gramsmith.kernels.embedding import Embedding, count, rows, width
from gramsmith.kernels.finite import check_values

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
class Member:
    """One kernel with its embedded samples."""

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

    @property
    def whole(self) -> Embedding:
        """The embedding of all samples."""
        return rows(self.E, slice(None))

    def on_demand(self, dtype: Any) -> Member:
        """Return the member with rows embedded when they are needed, where that may be done."""
        if not self.kernel.embeds_rows(self.E, dtype):
            return self
        E = Unembedded(self.kernel, self.X, self.reference, dtype, width(self.E))
        return replace(self, E=E)

    @property
    def kernels(self) -> list[Kernel]:
        """The kernels in the order of `tiles`."""
        return [self.kernel]

    def without_samples(self) -> Member:
        """Return the member as tiles need it, which travels to other processes."""
        return replace(self, X=None, reference=None)

    def tiles(self, a: Embedding, b: Embedding, out: Array) -> Iterator[Array]:
        """Yield the tile of each of `kernels`, the next one perhaps in the same array.

        Parameters
        ----------
        a, b : rows of the embedding
        out : array of shape (n_a, n_b)
            Where the tiles are written if the kernel can write there.
        """
        yield self.kernel.tile_into(a, b, out)

    def fill(self, a: Embedding, b: Embedding, outs: Array) -> None:
        """Write the tiles of all `kernels` into an array of shape (kernels, n_a, n_b)."""
        K = self.kernel.tile_into(a, b, outs[0])
        if K is not outs[0]:
            np.copyto(outs[0], K, casting="same_kind")

    def check(self, K: Array) -> None:
        """Raise a ValueError if the tile is not finite."""
        check_values(K, self.kernel)


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


def make_members(views: Views, dtype: Any, budget: int) -> list[Member]:
    """Return the kernels with their embedded samples.

    Neighbours on the same view that are squares of each other form paths. Once embeddings take
    their `SHARE` of the budget in bytes, further ones are made when they are needed.
    """
    kernels = views.kernels
    members: list[Member] = []
    i = size = 0
    while i < len(kernels):
        member = Member.make(kernels[i], views.samples[i], dtype)
        often = SQUARINGS[np.dtype(dtype)]
        stop = _path_end(
            kernels, views.samples, i, 1 + min(often, member.kernel.squarings(member.E))
        )
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
