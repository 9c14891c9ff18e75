"""The kernel of all common substrings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from gramsmith.kernels.base import Array
from gramsmith.kernels.embedding import Embedding
from gramsmith.kernels.strings.alphabet import Alphabet
from gramsmith.kernels.strings.pairs import diagonal_of_pairs, ragged, tile_of_pairs
from gramsmith.kernels.strings.reading import Sequences
from gramsmith.kernels.strings.sequence import SequenceKernel
from gramsmith.kernels.strings.suffixes import SubstringCounts, substring_counts
from gramsmith.kernels.symbolic import DecayKernel, check_whole, product, squares

# Beyond this many counts the tile compares pairs of strings, in memory linear in their length.
ENTRIES = 1 << 26


@dataclass(frozen=True)
class Collection:
    """The distinct strings of a computation, and the substrings they share."""

    alphabet: Alphabet
    row: dict[Any, int]
    substrings: SubstringCounts | None


class AllSubstrings(DecayKernel, SequenceKernel):
    r"""The kernel of all common substrings, weighted by their length.

    .. math:: k(s, t) = \sum_{u \ne \varepsilon} \lambda^{|u|}\, c_u(s)\, c_u(t)

    where :math:`c_u(s)` counts the occurrences of u in s.

    Parameters
    ----------
    max_length : int, optional
        The longest substring to count. Default: all.
    decay : float, default=1.0
        The factor :math:`\lambda` per symbol, 0 < decay <= 1; can be learned.
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
    The substrings of all samples are the nodes of one suffix tree, built by sorting suffixes; a
    node is one sparse feature. Where strings are so alike that the features outgrow memory, pairs
    of strings are compared instead, in :math:`|s|\,|t|` steps and memory linear in their length.

    References
    ----------
    S. V. N. Vishwanathan, A. J. Smola. Fast kernels for string and tree matching. NIPS 15, 2003.

    Examples
    --------
    >>> import gramsmith as gs
    >>> gs.AllSubstrings()(["abab"], ["ab"])  # a, b and ab, twice each
    array([[6.]])
    >>> gs.AllSubstrings(max_length=2, decay=0.5)(["banana"], ["ananas"])
    array([[8.5]])
    """

    def __init__(
        self,
        max_length: int | None = None,
        decay: float = 1.0,
        alphabet: Any = None,
        case: str = "keep",
        unknown: str = "error",
        length_limit: int | None = 500_000,
    ) -> None:
        self.max_length = max_length
        self.decay = decay
        self.alphabet = alphabet
        self.case = case
        self.unknown = unknown
        self.length_limit = length_limit

    def check_parameters(self) -> None:
        super().check_parameters()
        if self.max_length is not None:
            check_whole("AllSubstrings", "max_length", self.max_length, 1)

    def reference(self, *Xs: Any) -> Collection:
        alphabet = self.symbols(*Xs)
        row = {item: i for i, item in enumerate(dict.fromkeys(item for X in Xs for item in X))}
        strings: Sequences = np.empty(len(row), dtype=object)
        for item, i in row.items():
            strings[i] = item
        codes, starts = alphabet.encode(strings)
        return Collection(alphabet, row, substring_counts(codes, starts, self.max_length, ENTRIES))

    def features(self, X: Any, reference: Any = None) -> Any:
        reference = reference or self.reference(X)
        return None if reference.substrings is None else self._weighted(X, reference, _sums)

    def _weighted(self, X: Any, reference: Collection, weigh: Any) -> Any:
        """Return the counts of the samples, each node multiplied by the root of its weight."""
        known = reference.substrings
        if known is None:
            raise ValueError("Expected a collection with features, got one without.")
        w = weigh(self.decay, known.longer) - weigh(self.decay, known.shorter)
        string, shorter, longer, times = known.own
        own = (weigh(self.decay, longer) - weigh(self.decay, shorter)) * times**2
        aside = np.bincount(string, weights=own, minlength=len(reference.row))
        U = sp.hstack([known.counts * np.sqrt(w), sp.diags_array(np.sqrt(aside))], format="csr")
        return sp.csr_array(U)[[reference.row[item] for item in X]]

    def embed(self, X: Any, reference: Any = None, dtype: Any = np.float64) -> Embedding:
        reference = reference or self.reference(X)
        if reference.substrings is None:
            return ragged(reference.alphabet, X)
        return (
            self._weighted(X, reference, _sums).astype(dtype),
            self._weighted(X, reference, _slopes).astype(dtype),
        )

    def tile(self, a: Embedding, b: Embedding) -> Array:
        return self._tile(a, b, 0, _sums)

    def slope(self, a: Embedding, b: Embedding) -> Array:
        return self._tile(a, b, 1, _slopes)

    def diagonal(self, a: Embedding) -> Array:
        return self._diagonal(a, 0, _sums)

    def diagonal_slope(self, a: Embedding) -> Array:
        return self._diagonal(a, 1, _slopes)

    def _tile(self, a: Embedding, b: Embedding, which: int, weigh: Any) -> Array:
        if isinstance(a, tuple):
            return product(a[which], a[which] if a is b else b[which])
        return tile_of_pairs("runs", a, b, *self._options(a, b, weigh))

    def _diagonal(self, a: Embedding, which: int, weigh: Any) -> Array:
        if isinstance(a, tuple):
            return squares(a[which])
        return diagonal_of_pairs("runs", a, *self._options(a, a, weigh))

    def _options(self, a: Embedding, b: Embedding, weigh: Any) -> tuple[Array, Array]:
        # A common run of r symbols ends a common substring of every length up to r.
        longest = max((len(codes) for block in (a, b) for codes in block), default=0)
        cap = longest if self.max_length is None else min(longest, int(self.max_length))
        return weigh(self.decay, np.arange(cap + 1)), np.ones(longest + 1)


def _sums(decay: float, length: Array) -> Array:
    """Return λ + λ² + ... + λ^length."""
    table = np.arange(1.0, int(np.max(length, initial=0)) + 1.0)
    return np.concatenate([[0.0], np.cumsum(decay**table)])[length]


def _slopes(decay: float, length: Array) -> Array:
    """Return the derivative of `_sums` by the decay, 1 + 2λ + ... + length λ^(length - 1)."""
    table = np.arange(1.0, int(np.max(length, initial=0)) + 1.0)
    return np.concatenate([[0.0], np.cumsum(table * decay ** (table - 1.0))])[length]
