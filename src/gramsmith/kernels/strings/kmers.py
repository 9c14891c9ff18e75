"""Numbers for substrings of fixed length (k-mers), shared by all blocks of a computation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

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
    place : int array of shape (w,)
        Where the window starts in its sample.
    first : int array of shape (w,)
        Where the window starts in `codes`.
    """

    codes: Any
    row: Integers
    place: Integers
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
    return Windows(codes, row[first], place[first], first)


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
    placed : bool
        Whether equal k-mers at different places are different.
    """

    k: int
    base: int
    prefixes: dict[int, Integers]
    known: Integers
    placed: bool = False

    @classmethod
    def of(cls, parts: list[Windows], k: int, base: int, placed: bool = False) -> Numbering:
        """Return the numbering of the windows of all parts."""
        prefixes: dict[int, Integers] = {}
        codes = [w.place if placed else np.zeros_like(w.place) for w in parts]
        bound = 1 + max(int(code.max(initial=0)) for code in codes)
        for j in range(k):
            if bound * base >= LARGEST:
                prefixes[j] = np.unique(np.concatenate(codes))
                codes = [np.searchsorted(prefixes[j], code) for code in codes]
                bound = max(1, len(prefixes[j]))
            codes = [c * base + w.codes[w.first + j] for c, w in zip(codes, parts, strict=True)]
            bound *= base
        return cls(k, base, prefixes, np.unique(np.concatenate(codes)), placed)

    def __len__(self) -> int:
        """Return the number of distinct k-mers."""
        return len(self.known)

    def __call__(self, w: Windows) -> Integers:
        """Return the number of every window, -1 where its k-mer does not occur in the numbering."""
        code = w.place if self.placed else np.zeros_like(w.place)
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
