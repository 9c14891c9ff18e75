"""The mismatch kernel: substrings of fixed length, up to a few differences."""

from __future__ import annotations

from itertools import combinations, product
from math import comb, factorial
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from gramsmith.kernels.base import Array
from gramsmith.kernels.embedding import Embedding
from gramsmith.kernels.symbolic.base import count_matrix, squares
from gramsmith.kernels.symbolic.base import product as sparse_product
from gramsmith.kernels.symbolic.pairs import diagonal_of_pairs, ragged, tile_of_pairs
from gramsmith.kernels.symbolic.sequences import SequenceKernel, as_sequences
from gramsmith.kernels.symbolic.spectrum import LARGEST, Integers, Vocabulary

# Explicit features are built up to this many entries; beyond it pairs of strings are compared.
ENTRIES = 1 << 26


class Mismatch(SequenceKernel):
    r"""The (k, m)-mismatch kernel: substrings of length k that agree up to m symbols.

    .. math:: k(s, t) = \sum_{a \in A^k} f_a(s)\, f_a(t)

    where :math:`f_a(s)` counts the substrings of s that differ from a in at most m places. With
    m = 0 it is the spectrum kernel.

    Parameters
    ----------
    k : int, default=5
        The length of the substrings.
    m : int, default=1
        The number of differences allowed, less than k.
    alphabet : str or sequence, optional
        The symbols A. The value depends on their number, so state them where values of several data
        sets are compared. Default: the symbols of the data. What is fitted takes those of the
        training data, and leaves out the substrings of new samples with any other symbol.
    case : {"keep", "upper", "lower"}, default="keep"
        Whether "a" and "A" are different symbols, or made equal first.
    unknown : {"error", "gap"}, default="error"
        What to do with symbols outside a given alphabet: raise, or leave out the substrings that
        contain them.
    length_limit : int or None, default=500000
        The longest string accepted; None removes the cap.

    Notes
    -----
    Small neighbourhoods become sparse features, as for `Spectrum`. Where there would be too many
    (long k over a large alphabet), the tile is computed from

    .. math:: k(s, t) = \sum_{x \in s} \sum_{z \in t} N(d(x, z)),

    where d is the Hamming distance of two substrings and N(d) the number of words within m of both;
    that takes :math:`|s|\,|t|` steps per pair whatever k, m and the alphabet are.

    References
    ----------
    C. Leslie, E. Eskin, A. Cohen, J. Weston, W. S. Noble. Mismatch string kernels for
    discriminative protein classification. Bioinformatics 20, 2004.

    Examples
    --------
    >>> import gramsmith as gs
    >>> gs.Mismatch(3, 1, alphabet="ACGT")(["ACGTA"], ["ACGTA", "ACCTA", "TTTTT"])
    array([[30., 16., 12.]])
    """

    whole: ClassVar[dict[str, int]] = {**SequenceKernel.whole, "k": 1, "m": 0}

    def __init__(
        self,
        k: int = 5,
        m: int = 1,
        alphabet: Any = None,
        case: str = "keep",
        unknown: str = "error",
        length_limit: int | None = 500_000,
    ) -> None:
        self.k = k
        self.m = m
        self.alphabet = alphabet
        self.case = case
        self.unknown = unknown
        self.length_limit = length_limit

    def check_parameters(self) -> None:
        super().check_parameters()
        if self.m >= self.k:
            raise ValueError(
                f"Mismatch: expected m < k, got m={self.m} and k={self.k}; otherwise all "
                "substrings are alike. Use m=1."
            )

    def fixed_to(self, X: Any) -> Any:
        found = self.symbols(as_sequences(X, "Mismatch")) if self.alphabet is None else ()
        if not found:
            return self
        symbols = "".join(map(str, found.symbols)) if found.text else found.symbols
        return clone(self).set_params(alphabet=symbols, unknown="gap")

    def reference(self, *Xs: Any) -> Any:
        alphabet = self.symbols(*Xs)
        total = sum(len(item) for X in Xs for item in X)
        A, k, m = max(1, len(alphabet)), int(self.k), int(self.m)
        if k > max(len(item) for X in Xs for item in X):  # nothing to compare, however large k is
            return alphabet, (Vocabulary.of(alphabet, Xs, range(k, k + 1)), sp.csr_array((0, 0)))
        if A > 1 and k >= 62:  # A**k would be too large
            return alphabet, None
        size = sum(comb(k, i) * (A - 1) ** i for i in range(m + 1)) if A > 1 else 1
        if total * size > ENTRIES or A**k >= LARGEST:
            return alphabet, None
        vocabulary = Vocabulary.of(alphabet, Xs, range(k, k + 1))
        return alphabet, (vocabulary, neighbours(vocabulary.numberings[0].known, A, k, m))

    def features(self, X: Any, reference: Any = None) -> Any:
        known = (reference or self.reference(X))[1]
        if known is None:
            return None
        vocabulary, N = known
        return sp.csr_array(vocabulary.counts(X) @ N)

    def embed(self, X: Any, reference: Any = None, dtype: Any = np.float64) -> Embedding:
        alphabet, known = reference = reference or self.reference(X)
        if known is not None:
            return self.features(X, reference).astype(dtype)
        # The number of symbols travels with the samples: tiles know nothing else of the reference.
        return ragged(alphabet, X), np.full(len(X), max(1, len(alphabet)))

    def _options(self, a: Embedding) -> tuple[int, Array]:
        A = int(a[1][0]) if len(a[1]) else 1
        return int(self.k), common_neighbours(A, int(self.k), int(self.m))

    def tile(self, a: Embedding, b: Embedding) -> Array:
        if sp.issparse(a):
            return sparse_product(a, b)
        right = a[0] if a is b else b[0]
        return tile_of_pairs("near_matches", a[0], right, *self._options(a))

    def diagonal(self, a: Embedding) -> Array:
        if sp.issparse(a):
            return squares(a)
        return diagonal_of_pairs("near_matches", a[0], *self._options(a))


def neighbours(kmers: Integers, A: int, k: int, m: int) -> Any:
    """Return which words lie within m mismatches of each k-mer, as a CSR array of ones.

    Parameters
    ----------
    kmers : int array of shape (d,)
        Words as numbers in base A.
    A, k, m : int

    Returns
    -------
    N : csr array of shape (d, number of words reached)
    """
    power = [A ** (k - 1 - j) for j in range(k)]
    digit = [kmers // p % A for p in power]
    found = [kmers]
    for size in range(1, m + 1):
        for places in combinations(range(k), size):
            # Adding 1 ... A-1 modulo A to a digit gives each of the other symbols once.
            for steps in product(range(1, A), repeat=size):
                word = kmers.copy()
                for j, step in zip(places, steps, strict=True):
                    word += ((digit[j] + step) % A - digit[j]) * power[j]
                found.append(word)
    words, column = np.unique(np.concatenate(found), return_inverse=True)
    row = np.tile(np.arange(len(kmers)), len(found))
    return count_matrix(row, column, (len(kmers), len(words)))


def common_neighbours(A: int, k: int, m: int) -> Array:
    """Return N(d), d = 0 ... k: how many words lie within m mismatches of two words at distance d.

    Of the d places where the two differ, the word may agree with the first in i, with the second in
    j, and with neither in the others (A - 2 ways each); of the k - d equal places it may differ in
    r (A - 1 ways each).
    """
    N = np.zeros(k + 1)
    for d in range(min(k, 2 * m) + 1):
        least = max(0, d - m)  # the word differs from each of the two in at most m places
        for i in range(least, d + 1):
            for j in range(least, d - i + 1):
                ways = factorial(d) // (factorial(i) * factorial(j) * factorial(d - i - j))
                ways *= (A - 2) ** (d - i - j) if d > i + j else 1
                for r in range(min(k - d, m - d + min(i, j)) + 1):
                    N[d] += ways * comb(k - d, r) * (A - 1) ** r
    return N
