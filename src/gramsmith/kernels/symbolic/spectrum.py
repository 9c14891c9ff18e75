"""Kernels of substrings of fixed length (k-mers): equal ones, or those that differ a little."""

from __future__ import annotations

from itertools import combinations, product
from math import comb, factorial
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from gramsmith.arguments import abridged
from gramsmith.kernels.base import Array
from gramsmith.kernels.embedding import Embedding
from gramsmith.kernels.parametrised import is_whole_number
from gramsmith.kernels.symbolic.base import count_matrix
from gramsmith.kernels.symbolic.sequences import Alphabet, SequenceKernel, Sequences, as_sequences

LARGEST = 1 << 62  # numbers of k-mers stay below it
# Explicit features are built up to this many entries; beyond it pairs of strings are compared.
ENTRIES = 1 << 26


def windows(codes: Array, starts: Array, k: int) -> tuple[Array, Array]:
    """Return sample and start of every window of k symbols without gaps."""
    lengths = np.diff(starts)
    row = np.repeat(np.arange(len(lengths)), lengths)
    fits = np.arange(len(codes)) - starts[row] + k <= lengths[row]
    if len(codes) >= k:
        gaps = np.concatenate([[0], np.cumsum(codes < 0)])
        fits[: len(codes) - k + 1] &= gaps[k:] == gaps[:-k]
    first = np.flatnonzero(fits)
    return row[first], first


def numbered(codes: Array, first: Array, k: int, base: int) -> tuple[Array, Array]:
    """Return the distinct windows, as numbers in base A, and which of them each window is."""
    number, bound = np.zeros(len(first), dtype=np.int64), 1
    for j in range(k if len(first) else 0):
        if bound * base >= LARGEST:  # prefixes are replaced by their rank
            known, number = np.unique(number, return_inverse=True)
            bound = len(known)
        number = number * base + codes[first + j]
        bound *= base
    known, which = np.unique(number, return_inverse=True)
    return known, which


class Spectrum(SequenceKernel):
    r"""The spectrum kernel: how many substrings of length k two strings share, with multiplicity.

    .. math:: k(s, t) = \sum_{|a| = k} c_a(s)\, c_a(t)

    where :math:`c_a(s)` counts the occurrences of a in s. Strings shorter than k have none.

    Parameters
    ----------
    k : int or (int, int), default=3
        The length; a pair (low, high) sums over all lengths from low to high, both included.
    presence : bool, default=False
        Count each distinct substring once.

    Notes
    -----
    The kernel has explicit sparse features, so measures and estimators never form the n x n matrix.

    References
    ----------
    C. Leslie, E. Eskin, W. S. Noble. The spectrum kernel: a string kernel for SVM protein
    classification. Pacific Symposium on Biocomputing, 2002.

    Examples
    --------
    >>> import gramsmith as gs
    >>> gs.Spectrum(2)(["aaaa"], ["aaa"])
    array([[6.]])
    >>> gs.Spectrum((3, 5), alphabet="ACGT", case="upper")(["acgtacg", "ACGTT"])
    array([[14.,  4.],
           [ 4.,  6.]])
    """

    def __init__(
        self,
        k: Any = 3,
        presence: bool = False,
        alphabet: Any = None,
        case: str = "keep",
        unknown: str = "error",
        length_limit: int | None = 500_000,
    ) -> None:
        self.k = k
        self.presence = presence
        super().__init__(alphabet, case, unknown, length_limit)

    def check_parameters(self) -> None:
        super().check_parameters()
        pair = self._lengths()
        wrong = [is_whole_number("k", length, 1) for length in pair]
        if any(wrong) or len(pair) != 2 or pair[0] > pair[1]:
            raise ValueError(
                f"Spectrum: expected {next(filter(None, wrong), 'a length k')}, or a pair (low, "
                f"high) of them with low <= high, got {abridged(self.k)}. Use k=3 or k=(3, 5)."
            )

    def _lengths(self) -> tuple[Any, ...]:
        return tuple(self.k) if isinstance(self.k, list | tuple) else (self.k, self.k)

    def counted(self, alphabet: Alphabet, strings: Sequences) -> Any:
        codes, starts = alphabet.encode(strings)
        low, high = map(int, self._lengths())
        high = max(low, min(high, int(np.diff(starts).max(initial=0))))
        blocks = []
        for k in range(low, high + 1):
            row, first = windows(codes, starts, k)
            known, which = numbered(codes, first, k, max(1, len(alphabet)))
            blocks.append(count_matrix(row, which, (len(strings), len(known))))
        U = sp.csr_array(sp.hstack(blocks, format="csr"))
        U.sum_duplicates()
        if self.presence:
            U.data[:] = 1.0
        return U


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

    Notes
    -----
    The value depends on the number of symbols A, so state them where values of several data sets
    are compared. What is fitted takes those of the training data, and leaves out the substrings of
    new samples with any other symbol.

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

    loop = "windows"
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
        super().__init__(alphabet, case, unknown, length_limit)

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

    def counted(self, alphabet: Alphabet, strings: Sequences) -> Any:
        codes, starts = alphabet.encode(strings)
        A, k, m = max(1, len(alphabet)), int(self.k), int(self.m)
        row, first = windows(codes, starts, k)
        if not len(row):  # nothing to compare, however large k is
            return sp.csr_array((len(strings), 0))
        if A > 1 and (k >= 62 or A**k >= LARGEST):
            return None
        size = sum(comb(k, i) * (A - 1) ** i for i in range(m + 1)) if A > 1 else 1
        if len(row) * size > ENTRIES:
            return None
        known, which = numbered(codes, first, k, A)
        counts = count_matrix(row, which, (len(strings), len(known)))
        return sp.csr_array(counts @ neighbours(known, A, k, m))

    def options(self, a: Embedding, b: Embedding, which: int) -> tuple[Any, ...]:
        A = int(a[1][0]) if len(a[1]) else 1
        return int(self.k), common_neighbours(A, int(self.k), int(self.m))


def neighbours(kmers: Array, A: int, k: int, m: int) -> Any:
    """Return which words lie within m mismatches of each k-mer, as a CSR array of ones."""
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
