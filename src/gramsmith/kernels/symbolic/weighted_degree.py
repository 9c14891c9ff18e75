"""The weighted degree kernel: substrings at the same place of aligned sequences."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from gramsmith.kernels.base import Array
from gramsmith.kernels.embedding import Embedding
from gramsmith.kernels.symbolic.pairs import diagonal_of_pairs, longest, ragged, tile_of_pairs
from gramsmith.kernels.symbolic.sequences import SequenceKernel


class WeightedDegree(SequenceKernel):
    r"""The weighted degree kernel of aligned sites, with an optional shift.

    .. math:: k(s, t) = \sum_{d=1}^{D} \beta_d \sum_{l=0}^{S} \delta_l \sum_i
              [s_{i+l:i+l+d} = t_{i:i+d}] + [s_{i:i+d} = t_{i+l:i+l+d}]

    with :math:`\beta_d = 2 (D - d + 1) / (D (D + 1))` and :math:`\delta_l = 1 / (2 (l + 1))`.
    Without shift it counts substrings that two sites share at the same place, up to length D.

    Parameters
    ----------
    degree : int, default=5
        The longest substring D.
    shift : int, default=0
        How far S apart shared substrings may lie.
    alphabet : str or sequence, optional
        The symbols allowed. Default: any.
    case : {"keep", "upper", "lower"}, default="keep"
        Whether "a" and "A" are different symbols, or made equal first.
    unknown : {"error", "gap"}, default="error"
        What to do with symbols outside a given alphabet: raise, or let them match nothing.
    length_limit : int or None, default=500000
        The longest string accepted; None removes the cap.

    Notes
    -----
    Sites are aligned at their first symbol; sites of unequal length are compared as far as both
    reach. With shift the kernel stays positive semidefinite: the weights of two places form a
    Toeplitz matrix whose symbol :math:`1 + \sum_{l=1}^{S} \cos(l \theta) / (l + 1)` is at least 1/2
    (Rogosinski and Szegö).

    References
    ----------
    G. Rätsch, S. Sonnenburg, B. Schölkopf. RASE: recognition of alternatively spliced exons in
    C. elegans. Bioinformatics 21, 2005.

    Examples
    --------
    >>> import gramsmith as gs
    >>> gs.WeightedDegree(degree=2)(["ACGT"], ["ACGT", "ACTT", "TACG"]).round(4)
    array([[3.6667, 2.3333, 0.    ]])
    >>> gs.WeightedDegree(degree=2, shift=1)(["ACGT"], ["TACG"]).round(4)
    array([[0.6667]])
    """

    whole: ClassVar[dict[str, int]] = {**SequenceKernel.whole, "degree": 1, "shift": 0}

    def __init__(
        self,
        degree: int = 5,
        shift: int = 0,
        alphabet: Any = None,
        case: str = "keep",
        unknown: str = "error",
        length_limit: int | None = 500_000,
    ) -> None:
        self.degree = degree
        self.shift = shift
        self.alphabet = alphabet
        self.case = case
        self.unknown = unknown
        self.length_limit = length_limit

    def _options(self, a: Embedding, b: Embedding) -> tuple[Array, Array]:
        # tables no longer than the strings, whatever degree and shift are
        D, reach = int(self.degree), max(longest(a), longest(b))
        beta = 2.0 * (D - np.arange(min(D, reach))) / (D * (D + 1.0))
        # A run of r equal symbols ends a shared substring of every length up to min(r, D).
        weights = np.concatenate([[0.0], np.cumsum(beta)])
        band = 0.5 / np.arange(1.0, min(int(self.shift), reach) + 2.0)
        band[0] = 1.0  # both brackets of the sum coincide without shift
        return weights, band

    def reference(self, *Xs: Any) -> Any:
        return self.symbols(*Xs)

    def embed(self, X: Any, reference: Any = None, dtype: Any = np.float64) -> Embedding:
        return ragged(reference or self.reference(X), X)

    def tile(self, a: Embedding, b: Embedding) -> Array:
        return tile_of_pairs("runs", a, b, *self._options(a, b))

    def diagonal(self, a: Embedding) -> Array:
        return diagonal_of_pairs("runs", a, *self._options(a, a))
