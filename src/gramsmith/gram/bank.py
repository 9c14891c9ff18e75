"""Bank: several kernels on the same samples, embedded once and evaluated tile by tile."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gramsmith.gram.plan import Plan
from gramsmith.gram.views import Views
from gramsmith.kernels.base import Kernel
from gramsmith.kernels.embedding import Embedding, count, rows
from gramsmith.kernels.finite import check_values

Array = npt.NDArray[Any]

SQUARINGS = {np.dtype(np.float64): 24, np.dtype(np.float32): 8}


@dataclass(frozen=True)
class Member:
    """One kernel with its view of the samples."""

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

    def tiles(self, plan: Plan, tile: tuple[int, int], out: Array | None = None) -> Iterator[Array]:
        """Yield the kernel's tile, written into `out` if that is given."""
        a, b = self.pair(plan, tile)
        yield self.kernel.tile(a, b) if out is None else self.kernel.tile_into(a, b, out)

    def check(self, K: Array) -> None:
        """Raise a ValueError if the tile is not finite."""
        check_values(K, self.kernel)

    @property
    def kernels(self) -> list[Kernel]:
        """The kernels in the order of `tiles`."""
        return [self.kernel]

    overwrites = False  # whether a tile is still needed after it was yielded


@dataclass(frozen=True)
class SquaringPath(Member):
    """Kernels each of which is the square of the one before: one exponential per pair for all.

    exp(-2g D) = exp(-g D)², so every further bandwidth costs one multiplication. A squaring doubles
    the relative error, hence a path has no more than `SQUARINGS` of them.
    """

    path: tuple[Kernel, ...] = ()

    overwrites = True

    @property
    def kernels(self) -> list[Kernel]:
        """The kernels, from the widest to the narrowest."""
        return list(self.path)

    def tiles(self, plan: Plan, tile: tuple[int, int], out: Array | None = None) -> Iterator[Array]:
        """Yield the tiles of the path; each is overwritten by the next."""
        K = self.kernel.tile(*self.pair(plan, tile))
        yield K
        for _ in self.path[1:]:
            np.multiply(K, K, out=K)
            yield K


def make_members(views: Views, dtype: Any) -> list[Member]:
    """Return the kernels with their embedded samples.

    Neighbours on the same view that are squares of each other form paths.
    """
    kernels = views.kernels
    members: list[Member] = []
    i = 0
    while i < len(kernels):
        stop = _path_end(kernels, views.samples, i, SQUARINGS[np.dtype(dtype)])
        member = Member.make(kernels[i], views.samples[i], dtype)
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
