"""Bank: several kernels on the same samples, embedded once and evaluated tile by tile."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gramsmith.gram.plan import Plan
from gramsmith.kernels.base import Kernel
from gramsmith.kernels.embedding import Embedding, count, rows
from gramsmith.kernels.radial import Gaussian

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Member:
    """One kernel with its view of the samples."""

    kernel: Kernel
    X: Any
    frame: Any
    E: Embedding

    @classmethod
    def make(cls, kernel: Kernel, X: Any, dtype: Any) -> Member:
        """Check the kernel and its input, and embed the samples."""
        kernel.check_parameters()
        X = kernel.check_input(X)
        frame = kernel.frame(X)
        return cls(kernel, X, frame, kernel.embed(X, frame, dtype))

    @property
    def n(self) -> int:
        """The number of samples."""
        return count(self.E)

    def pair(self, plan: Plan, tile: tuple[int, int]) -> tuple[Embedding, Embedding]:
        """Return the two blocks of a tile, the same object twice on the diagonal."""
        i, j = tile
        a = rows(self.E, plan.blocks[i].rows)
        return a, a if i == j else rows(self.E, plan.blocks[j].rows)

    def tiles(self, plan: Plan, tile: tuple[int, int]) -> Iterator[Array]:
        """Yield the kernel's tile."""
        yield self.kernel.tile(*self.pair(plan, tile))

    def check(self, K: Array) -> None:
        """Raise if the tile is not finite."""
        if not np.isfinite(K).all():
            raise ValueError(
                f"Expected finite kernel values, got overflow in {self.kernel.formula()}. "
                "Scale the features (StandardScaler), or make gamma or the degree smaller."
            )

    @property
    def kernels(self) -> list[Kernel]:
        """The kernels in the order of `tiles`."""
        return [self.kernel]

    overwrites = False  # whether a tile is still needed after it was yielded


@dataclass(frozen=True)
class GaussianPath(Member):
    """Gaussians whose gamma doubles from one to the next, from one exponential per pair.

    exp(-2g D) = exp(-g D)², so every further bandwidth costs one multiplication. A squaring doubles
    the relative error, hence in float32 the path starts afresh after eight of them.
    """

    length: int = 1

    overwrites = True

    @property
    def kernels(self) -> list[Kernel]:
        """The Gaussians, from the widest to the narrowest."""
        base = np.asarray(self.kernel.length_scale)
        scales = [base / np.sqrt(2.0) ** j for j in range(self.length)]
        return [Gaussian(float(s) if s.ndim == 0 else s) for s in scales]

    def tiles(self, plan: Plan, tile: tuple[int, int]) -> Iterator[Array]:
        """Yield the tiles of the path; each is overwritten by the next."""
        a, b = self.pair(plan, tile)
        S = self.kernel.geometry.negative_pair(a, b)
        K = np.exp(S)
        fresh = 8 if K.dtype == np.float32 else 24
        for j in range(self.length):
            if j % fresh == 0 and j:
                np.exp(S * 2.0**j, out=K)
            elif j:
                np.multiply(K, K, out=K)
            yield K


def make_members(kernels: Sequence[Kernel], X: Any, dtype: Any) -> list[Member]:
    """Return the members of a list of kernels; a tuple X holds one view per kernel.

    Gaussians on the same view whose squared widths differ by powers of two form paths.
    """
    views = X if isinstance(X, tuple) else (X,) * len(kernels)
    if len(views) != len(kernels):
        raise ValueError(
            f"Expected one view of the samples per kernel ({len(kernels)}), got {len(views)}. "
            "Pass a tuple with one X per kernel, or one X for all."
        )
    members: list[Member] = []
    i = 0
    while i < len(kernels):
        length = _path_length(kernels, views, i)
        member = Member.make(kernels[i], views[i], dtype)
        if length > 1:
            member = GaussianPath(member.kernel, member.X, member.frame, member.E, length)
        members.append(member)
        i += length
    sizes = {member.n for member in members}
    if len(sizes) != 1:
        raise ValueError(
            f"Expected all kernels on the same samples, got {sorted(sizes)} samples. "
            "Give every view the same rows in the same order."
        )
    return members


def _path_length(kernels: Sequence[Kernel], views: tuple[Any, ...], start: int) -> int:
    """Return how many kernels from `start` on are Gaussians whose gamma doubles each time."""
    stop = start
    while stop < len(kernels):
        kernel = kernels[stop]
        if type(kernel) is not Gaussian or views[stop] is not views[start]:
            break
        if stop > start:
            a = np.asarray(kernels[stop - 1].length_scale, dtype=float)
            b = np.asarray(kernel.length_scale, dtype=float)
            if a.shape != b.shape or not np.allclose(a**2, 2.0 * b**2, rtol=1e-12):
                break
        stop += 1
    return max(1, stop - start)
