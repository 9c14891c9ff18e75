"""Samples: kernel blocks of many candidates that share their distances."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
        shared: dict[Any, list[int]] = {}
        for i, candidate in enumerate(candidates):
            shared.setdefault(_geometry_key(candidate, i), []).append(i)
        for members in shared.values():
            first = candidates[members[0]]
            X = self.views[first.view]
            if isinstance(first.kernel, Precomputed):
                yield members[0], np.asarray(X[np.ix_(rows, columns)], dtype=np.float64)
            elif len(members) == 1:
                K = first.kernel(take(X, rows), take(X, columns))
                yield members[0], np.asarray(K, dtype=np.float64)
            else:
                A, B = (first.kernel.check_input(take(X, index)) for index in (rows, columns))
                # one with a kink asks for exact small distances, and that serves the others too
                kernels = [candidates[i].kernel for i in members]
                geometry = max(
                    (k.geometry for k in kernels), key=lambda g: getattr(g, "cusp", False)
                )
                frame = geometry.frame(B)
                s = geometry.pair(
                    geometry.embed(A, frame, 1.0, np.float64),
                    geometry.embed(B, frame, 1.0, np.float64),
                )
                for i, kernel in zip(members, kernels, strict=True):
                    unit = float(kernel.scale) ** geometry.degree() if kernel.scales_inputs else 1.0
                    yield i, np.asarray(kernel.value(s / unit), dtype=np.float64)


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
