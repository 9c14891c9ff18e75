"""Kernels that compare two strings place by place: subsequences with gaps, aligned sites."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from gramsmith.kernels.embedding import Embedding
from gramsmith.kernels.symbolic.base import DecayKernel
from gramsmith.kernels.symbolic.sequences import SequenceKernel, longest


class Subsequence(DecayKernel, SequenceKernel):
    r"""The gap-weighted subsequence kernel: symbols in the same order, gaps allowed.

    .. math:: k(s, t) = \sum_{|u| = p} \; \sum_{i:\, s[i] = u} \; \sum_{j:\, t[j] = u}
              \lambda^{\ell(i) + \ell(j)}

    where i and j run over increasing positions and :math:`\ell(i) = i_p - i_1 + 1` is the stretch
    they span, gaps included. A dynamic programme needs :math:`p\, |s|\, |t|` steps.

    Parameters
    ----------
    length : int, default=3
        The number p of symbols in a subsequence.
    decay : float, default=0.5
        The factor :math:`\lambda` per symbol spanned, 0 < decay <= 1; can be learned.
    length_limit : int or None, default=20000
        The longest string accepted; None removes the cap.

    Notes
    -----
    Time grows with the square of the length: strings of more than 20 000 symbols need permission.
    With the extra ``gramsmith[fast]`` the loop is compiled; without it NumPy computes the same
    numbers. Values shrink like :math:`\lambda^{2p}`: use ``Normalized(Subsequence(...))`` where
    strings differ in length.

    References
    ----------
    H. Lodhi, C. Saunders, J. Shawe-Taylor, N. Cristianini, C. Watkins. Text classification using
    string kernels. Journal of Machine Learning Research 2, 2002.

    Examples
    --------
    >>> import gramsmith as gs
    >>> gs.Subsequence(2, decay=0.5)(["cat"], ["car", "cart"])
    array([[0.0625   , 0.1015625]])
    >>> gs.Subsequence(2)([["to", "be", "or", "not"]], [["be", "not"]])
    array([[0.03125]])
    """

    loop = "subsequences"
    whole: ClassVar[dict[str, int]] = {**SequenceKernel.whole, "length": 1}

    def __init__(
        self,
        length: int = 3,
        decay: float = 0.5,
        alphabet: Any = None,
        case: str = "keep",
        unknown: str = "error",
        length_limit: int | None = 20_000,
    ) -> None:
        self.length = length
        self.decay = decay
        super().__init__(alphabet, case, unknown, length_limit)

    def options(self, a: Embedding, b: Embedding, which: int) -> tuple[Any, ...]:
        # no string of the block has longer ones: zero, whatever the length asked for
        return min(int(self.length), longest(a) + 1), float(self.decay), bool(which)


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

    loop = "runs"
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
        super().__init__(alphabet, case, unknown, length_limit)

    def options(self, a: Embedding, b: Embedding, which: int) -> tuple[Any, ...]:
        # tables no longer than the strings, whatever degree and shift are
        D, reach = int(self.degree), longest(a, b)
        beta = 2.0 * (D - np.arange(min(D, reach))) / (D * (D + 1.0))
        # A run of r equal symbols ends a shared substring of every length up to min(r, D).
        weights = np.concatenate([[0.0], np.cumsum(beta)])
        band = 0.5 / np.arange(1.0, min(int(self.shift), reach) + 2.0)
        band[0] = 1.0  # both brackets of the sum coincide without shift
        return weights, band
