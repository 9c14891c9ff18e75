"""The spectrum kernel: substrings of fixed length (k-mers), numbered and counted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from gramsmith.arguments import abridged
from gramsmith.kernels.base import Array
from gramsmith.kernels.embedding import Embedding
from gramsmith.kernels.parameters import check_whole
from gramsmith.kernels.symbolic.base import count_matrix, product, squares
from gramsmith.kernels.symbolic.sequences import Alphabet, SequenceKernel, Sequences

Integers = npt.NDArray[np.int64]

LARGEST = 1 << 62


@dataclass(frozen=True)
class Windows:
    """All windows of k symbols without gaps, of samples laid end to end.

    Parameters
    ----------
    codes : int array of shape (total,)
        The symbols of all samples; negative numbers are gaps.
    row : int array of shape (w,)
        The sample of each window.
    first : int array of shape (w,)
        Where the window starts in `codes`.
    """

    codes: Any
    row: Integers
    first: Integers


def windows(codes: Any, starts: Any, k: int) -> Windows:
    """Return the windows of k symbols of the samples ``codes[starts[i]:starts[i + 1]]``."""
    lengths = np.diff(starts)
    row = np.repeat(np.arange(len(lengths)), lengths)
    place = np.arange(len(codes)) - starts[row]
    fits = place + k <= lengths[row]
    if len(codes) >= k:
        gaps = np.concatenate([[0], np.cumsum(codes < 0)])
        fits[: len(codes) - k + 1] &= gaps[k:] == gaps[:-k]
    first = np.flatnonzero(fits)
    return Windows(codes, row[first], first)


@dataclass(frozen=True)
class Numbering:
    """How k-mers get their numbers: read in base A, then ranked among those that occur.

    Parameters
    ----------
    k : int
    base : int
        The size A of the alphabet.
    prefixes : dict
        Where the number of a k-mer would overflow, the prefix of j symbols is replaced by its rank
        in the sorted array ``prefixes[j]``.
    known : int array
        The numbers of the k-mers that occur, sorted.
    """

    k: int
    base: int
    prefixes: dict[int, Integers]
    known: Integers

    @classmethod
    def of(cls, parts: list[Windows], k: int, base: int) -> Numbering:
        """Return the numbering of the windows of all parts."""
        prefixes: dict[int, Integers] = {}
        codes = [np.zeros_like(w.first) for w in parts]
        if not any(map(len, codes)):  # all strings are shorter than k, however large it is
            return cls(k, base, prefixes, np.empty(0, dtype=np.int64))
        bound = 1
        for j in range(k):
            if bound * base >= LARGEST:
                prefixes[j] = np.unique(np.concatenate(codes))
                codes = [np.searchsorted(prefixes[j], code) for code in codes]
                bound = max(1, len(prefixes[j]))
            codes = [c * base + w.codes[w.first + j] for c, w in zip(codes, parts, strict=True)]
            bound *= base
        return cls(k, base, prefixes, np.unique(np.concatenate(codes)))

    def __len__(self) -> int:
        """Return the number of distinct k-mers."""
        return len(self.known)

    def __call__(self, w: Windows) -> Integers:
        """Return the number of every window, -1 where its k-mer does not occur in the numbering."""
        code = np.zeros_like(w.first)
        if not len(self.known):
            return code - 1
        seen = np.ones(len(code), dtype=bool)
        for j in range(self.k):
            if j in self.prefixes:
                code, found = _rank(self.prefixes[j], code)
                seen &= found
            code = code * self.base + w.codes[w.first + j]
        code, found = _rank(self.known, code)
        return np.where(seen & found, code, -1)


def _rank(table: Integers, code: Integers) -> tuple[Integers, npt.NDArray[np.bool_]]:
    if not len(table):
        return code, np.zeros(len(code), dtype=bool)
    rank = np.minimum(np.searchsorted(table, code), len(table) - 1)
    return rank, table[rank] == code


@dataclass(frozen=True)
class Vocabulary:
    """The k-mers of a computation: an alphabet, and one numbering per length."""

    alphabet: Alphabet
    numberings: tuple[Numbering, ...]

    @classmethod
    def of(cls, alphabet: Alphabet, Xs: tuple[Sequences, ...], lengths: range) -> Vocabulary:
        """Return the vocabulary of all samples."""
        encoded = [alphabet.encode(X) for X in Xs]
        base = max(1, len(alphabet))
        longest = max((int(np.diff(starts).max(initial=0)) for _, starts in encoded), default=0)
        lengths = range(lengths.start, max(lengths.start + 1, min(lengths.stop, longest + 1)))
        numberings = (
            Numbering.of([windows(codes, starts, k) for codes, starts in encoded], k, base)
            for k in lengths
        )
        return cls(alphabet, tuple(numberings))

    def counts(self, X: Sequences) -> Any:
        """Return how often each k-mer occurs in each sample, as a CSR array."""
        codes, starts = self.alphabet.encode(X)
        blocks = []
        for numbering in self.numberings:
            w = windows(codes, starts, numbering.k)
            column = numbering(w)
            known = column >= 0
            blocks.append(count_matrix(w.row[known], column[known], (len(X), len(numbering))))
        return blocks[0] if len(blocks) == 1 else sp.csr_array(sp.hstack(blocks, format="csr"))


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
    alphabet : str or sequence, optional
        The symbols allowed. Default: any.
    case : {"keep", "upper", "lower"}, default="keep"
        Whether "a" and "A" are different symbols, or made equal first.
    unknown : {"error", "gap"}, default="error"
        What to do with symbols outside a given alphabet: raise, or let them match nothing, as is
        usual for the letter N in DNA.
    length_limit : int or None, default=500000
        The longest string accepted; None removes the cap.

    Notes
    -----
    The kernel has explicit sparse features, so measures and machines never form the n x n matrix.

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
        self.alphabet = alphabet
        self.case = case
        self.unknown = unknown
        self.length_limit = length_limit

    def check_parameters(self) -> None:
        super().check_parameters()
        pair = self._lengths()
        if len(pair) != 2:
            raise ValueError(
                f"Spectrum: expected k to be a length or a pair (low, high), "
                f"got {abridged(self.k)}. "
                "Use k=3 or k=(3, 5)."
            )
        for length in pair:
            check_whole("Spectrum", "k", length, 1)
        if pair[0] > pair[1]:
            raise ValueError(
                f"Spectrum: expected k=(low, high) with low <= high, got {abridged(self.k)}. "
                f"Use k=({pair[1]}, {pair[0]})."
            )

    def _lengths(self) -> tuple[Any, ...]:
        return tuple(self.k) if isinstance(self.k, list | tuple) else (self.k, self.k)

    def reference(self, *Xs: Any) -> Vocabulary:
        low, high = self._lengths()
        return Vocabulary.of(self.symbols(*Xs), Xs, range(int(low), int(high) + 1))

    def features(self, X: Any, reference: Any = None) -> Any:
        U = (reference or self.reference(X)).counts(X)
        if self.presence:
            U.data[:] = 1.0
        return U

    def embed(self, X: Any, reference: Any = None, dtype: Any = np.float64) -> Embedding:
        return self.features(X, reference).astype(dtype)

    def tile(self, a: Embedding, b: Embedding) -> Array:
        return product(a, b)

    def diagonal(self, a: Embedding) -> Array:
        return squares(a)
