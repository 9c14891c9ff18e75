"""The gap-weighted subsequence kernel."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from gramsmith.kernels.base import Array
from gramsmith.kernels.embedding import Embedding
from gramsmith.kernels.symbolic.base import DecayKernel
from gramsmith.kernels.symbolic.pairs import diagonal_of_pairs, longest, ragged, tile_of_pairs
from gramsmith.kernels.symbolic.sequences import SequenceKernel


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
    alphabet : str or sequence, optional
        The symbols allowed. Default: any.
    case : {"keep", "upper", "lower"}, default="keep"
        Whether "a" and "A" are different symbols, or made equal first.
    unknown : {"error", "gap"}, default="error"
        What to do with symbols outside a given alphabet: raise, or let them match nothing.
    length_limit : int or None, default=20000
        The longest string accepted; None removes the cap. Time grows with its square.

    Notes
    -----
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
        self.alphabet = alphabet
        self.case = case
        self.unknown = unknown
        self.length_limit = length_limit

    def reference(self, *Xs: Any) -> Any:
        return self.symbols(*Xs)

    def embed(self, X: Any, reference: Any = None, dtype: Any = np.float64) -> Embedding:
        return ragged(reference or self.reference(X), X)

    def _options(self, a: Embedding, slope: bool) -> tuple[int, float, bool]:
        # no string of the block has longer ones: zero, whatever the length asked for
        return min(int(self.length), longest(a) + 1), float(self.decay), slope

    def tile(self, a: Embedding, b: Embedding) -> Array:
        return tile_of_pairs("subsequences", a, b, *self._options(a, False))

    def diagonal(self, a: Embedding) -> Array:
        return diagonal_of_pairs("subsequences", a, *self._options(a, False))

    def slope(self, a: Embedding, b: Embedding) -> Array:
        return tile_of_pairs("subsequences", a, b, *self._options(a, True))

    def diagonal_slope(self, a: Embedding) -> Array:
        return diagonal_of_pairs("subsequences", a, *self._options(a, True))
