"""Samples: kernel blocks of many candidates that share their distances."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from gramsmith.kernels import Precomputed
from gramsmith.kernels.pairwise import PairKernel
from gramsmith.selection.candidates import Candidate

Array = npt.NDArray[Any]


class Samples:
    """The views of the samples, from which blocks of kernel matrices are cut.

    Parameters
    ----------
    views : tuple
        One entry per view: array or sparse matrix of n rows, sequence of n objects, or a Gram
        matrix for candidates that are precomputed.
    """

    def __init__(self, views: Sequence[Any]) -> None:
        self.views = tuple(views)
        first = self.views[0]
        self.n = int(first.shape[0]) if hasattr(first, "shape") else len(first)

    def take(self, candidate: Candidate, rows: Any) -> Any:
        """Return rows of the view of a candidate; of a Gram matrix, rows and columns."""
        X = self.views[candidate.view]
        if isinstance(candidate.kernel, Precomputed):
            return X[np.ix_(rows, rows)]
        return take(X, rows)

    def blocks(
        self, candidates: Sequence[Candidate], rows: Array, columns: Array
    ) -> Iterator[tuple[int, Array]]:
        """Yield (position, kernel block) of every candidate, distances being computed once.

        Parameters
        ----------
        candidates : list of Candidate
        rows, columns : int arrays
        """
        for i, block in self.promises(candidates, rows, columns):
            yield i, block()

    def promises(
        self, candidates: Sequence[Candidate], rows: Array, columns: Array
    ) -> Iterator[tuple[int, Callable[[], Array]]]:
        """Yield (position, function that returns the kernel block), for threads to call.

        Parameters
        ----------
        candidates : list of Candidate
        rows, columns : int arrays
        """
        shared: dict[Any, list[int]] = {}
        for i, candidate in enumerate(candidates):
            shared.setdefault(_geometry_key(candidate, i), []).append(i)
        for members in shared.values():
            first = candidates[members[0]]
            X = self.views[first.view]
            if isinstance(first.kernel, Precomputed):
                yield members[0], partial(_cut, X, rows, columns)
            elif len(members) == 1:
                yield members[0], partial(_evaluate, first.kernel, X, rows, columns)
            else:
                kernels = [candidates[i].kernel for i in members]
                degree, s = _distances(kernels, X, rows, columns)
                for i, kernel in zip(members, kernels, strict=True):
                    unit = float(kernel.scale) ** degree if kernel.scales_inputs else 1.0
                    yield i, partial(_of_distances, kernel, s, unit)


def _cut(K: Any, rows: Array, columns: Array) -> Array:
    return np.asarray(K[np.ix_(rows, columns)], dtype=np.float64)


def _evaluate(kernel: Any, X: Any, rows: Array, columns: Array) -> Array:
    return np.asarray(kernel(take(X, rows), take(X, columns)), dtype=np.float64)


def _of_distances(kernel: Any, s: Array, unit: float) -> Array:
    return np.asarray(kernel.value(s / unit), dtype=np.float64)


def _distances(kernels: Sequence[Any], X: Any, rows: Array, columns: Array) -> tuple[int, Array]:
    """Return what kernels of one geometry have in common, and the power in which it scales."""
    A, B = (kernels[0].check_input(take(X, index)) for index in (rows, columns))
    # one with a kink asks for exact small distances, and that serves the others too
    geometry = max((k.geometry for k in kernels), key=lambda g: getattr(g, "cusp", False))
    frame = geometry.frame(B)
    a, b = (geometry.embed(part, frame, 1.0, np.float64) for part in (A, B))
    return geometry.degree(), geometry.pair(a, b)


def _geometry_key(candidate: Candidate, i: int) -> Any:
    kernel = candidate.kernel
    if isinstance(kernel, PairKernel) and np.ndim(kernel.scale) == 0:
        return type(kernel.geometry).__name__, candidate.view
    return i


def take(X: Any, rows: Any) -> Any:
    """Return rows of an array, sparse matrix or sequence."""
    if hasattr(X, "shape"):
        return X[rows]
    return [X[i] for i in np.asarray(rows)]
