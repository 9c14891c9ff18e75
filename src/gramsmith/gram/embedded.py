"""Kernels with their embedded samples, from which a sweep takes tiles."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from gramsmith.gram.views import Views
from gramsmith.kernels.base import Kernel
from gramsmith.kernels.embedding import Embedding, count, rows, width
from gramsmith.kernels.geometry import InnerProduct, SquaredEuclidean
from gramsmith.kernels.radial import Gaussian, Laplacian

Array = npt.NDArray[Any]

# squarings after which an exponential is computed anew: each doubles the relative error
SQUARINGS = {np.dtype(np.float64): 8, np.dtype(np.float32): 4}

# The power p of the distance in kernels exp(-r^p); a derived class may have other values.
EXPONENTIALS: dict[type[Kernel], int] = {Gaussian: 2, Laplacian: 1}
SAME = 1e-14  # relative difference of two length scales that is rounding

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
    """A kernel with its embedded samples, and those that are powers of it.

    Each of `kernels` is the square of the one before, exp(-2g D) = exp(-g D)², so that every
    further bandwidth of a path costs one multiplication. A squaring doubles the relative error:
    hence a path has no more than `SQUARINGS` of them, and none beyond those after which a narrower
    kernel by itself would be computed from exact differences.
    """

    kernel: Kernel
    X: Any
    reference: Any
    E: Embedding
    kernels: tuple[Kernel, ...]

    @property
    def whole(self) -> Embedding:
        """The embedding of all samples."""
        return rows(self.E, slice(None))

    def on_demand(self, dtype: Any) -> EmbeddedKernel:
        """Return the same with rows embedded when they are needed, where that gives their bits."""
        geometry, E = getattr(self.kernel, "geometry", None), self.E
        if isinstance(geometry, InnerProduct):
            alike = not sp.issparse(E)
        else:
            # otherwise the longest of all rows has a say in how each is kept
            alike = isinstance(geometry, SquaredEuclidean) and (
                not sp.issparse(E[0]) and E[2] is None and E[0].dtype == dtype
            )
        if not alike:
            return self
        return replace(self, E=Unembedded(self.kernel, self.X, self.reference, dtype, width(E)))

    def for_sweep(self, compiled: bool) -> EmbeddedKernel:
        """Return what tiles need, which travels to other processes; formulas compiled or not."""
        kernel = self.kernel.with_compiled_formulas() if compiled else self.kernel
        return replace(self, kernel=kernel, X=None, reference=None)

    def pair(self, I: slice, J: slice) -> tuple[Embedding, Embedding]:
        """Return the embeddings of two runs of samples, one object twice for the same run."""
        a = rows(self.E, I)
        return a, a if I == J else rows(self.E, J)

    def tiles(self, I: slice, J: slice, outs: Sequence[Array]) -> Iterator[Array]:
        """Yield the tiles of all `kernels`; each may be written over its array of `outs`."""
        K = self.kernel.tile(*self.pair(I, J), outs[0])
        yield K
        for out in outs[1:]:
            K = np.multiply(K, K, out=out)
            yield K


def embed_kernels(
    views: Views, dtype: Any, budget: int, *, paths: bool = True
) -> list[EmbeddedKernel]:
    """Return the kernels with their embedded samples.

    Neighbours on the same view that are squares of each other form `paths`. Once embeddings take
    their `SHARE` of the budget in bytes, further ones are made when they are needed.
    """
    kernels, samples = views.kernels, views.samples
    most = SQUARINGS[np.dtype(dtype)] if paths else 0
    members: list[EmbeddedKernel] = []
    i = size = 0
    while i < len(kernels):
        kernel = kernels[i]
        kernel.check_parameters()
        X = kernel.check_input(samples[i])
        reference = kernel.reference(X)
        E = kernel.embed(X, reference, dtype)
        stop = i + 1
        while (
            stop < min(len(kernels), i + 1 + most)
            and samples[stop] is samples[i]
            and _is_power(kernels[stop], kernel, stop - i, E)
        ):
            stop += 1
        member = EmbeddedKernel(kernel, X, reference, E, kernels[i:stop])
        size += count(E) * width(E) * np.dtype(dtype).itemsize
        members.append(member.on_demand(dtype) if size > SHARE * budget else member)
        i = stop
    sizes = {count(member.E) for member in members}
    if len(sizes) != 1:
        raise ValueError(
            f"Expected all kernels on the same samples, got {sorted(sizes)} samples. "
            "Give every view the same rows in the same order."
        )
    return members


def _is_power(kernel: Any, wide: Any, squarings: int, E: Embedding) -> bool:
    """Return whether tiles of `wide`, which embeds samples as E, squared so often are ours."""
    power = EXPONENTIALS.get(type(wide))
    if power is None or type(kernel) is not type(wide) or kernel.geometry != wide.geometry:
        return False
    # what is exponentiated, and its rounding, double as r^p does
    if wide.geometry.doublings(E) < squarings * wide.geometry.degree() / power:
        return False
    small, large = (np.asarray(k.scale, dtype=float) ** power for k in (kernel, wide))
    alike = small.shape == large.shape
    return alike and bool(np.all(np.abs(2.0**squarings * small - large) <= SAME * large))
