"""Symbols and their numbers: what the kernels of sequences compute with."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gramsmith.kernels.strings.reading import Sequences

Codes = npt.NDArray[np.int32]

GAP = -1  # a symbol outside the alphabet: it equals nothing, itself included
CASES = ("keep", "upper", "lower")


def fold(item: Any, case: str) -> Any:
    """Return a sample or symbol in the case asked for."""
    if case == "keep":
        return item
    if isinstance(item, tuple):
        return tuple(fold(token, case) for token in item)
    return getattr(item, case)() if isinstance(item, str) else item


def code_points(text: str) -> npt.NDArray[np.uint32]:
    """Return the numbers of the characters; lone surrogates are characters like others."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")


@dataclass(frozen=True)
class Alphabet:
    """The symbols of a computation, numbered 0, 1, ... in order.

    Parameters
    ----------
    symbols : tuple
        Distinct characters or tokens.
    text : bool
        Whether the samples are text, not token lists.
    case : {"keep", "upper", "lower"}
    """

    symbols: tuple[Hashable, ...]
    text: bool
    case: str = "keep"

    @classmethod
    def of(cls, Xs: Iterable[Sequences], case: str) -> Alphabet:
        """Return the alphabet of all symbols that occur, sorted where they are characters."""
        Xs = list(Xs)
        text = is_text(Xs)
        if text:
            # Whole strings are folded, because a letter may fold by its neighbours (Σ to σ or ς).
            used: set[str] = set()
            for X in Xs:
                used.update(*(fold(item, case) for item in X))
            symbols: Iterable[Hashable] = sorted(used)
        else:
            symbols = dict.fromkeys(fold(t, case) for X in Xs for item in X for t in item)
        return cls(tuple(symbols), text, case)

    @classmethod
    def given(cls, symbols: Any, Xs: Iterable[Sequences], case: str) -> Alphabet:
        """Return the alphabet a user has stated."""
        letters = symbols.decode("latin-1") if isinstance(symbols, bytes) else symbols
        alphabet = cls(tuple(fold(symbol, case) for symbol in letters), is_text(Xs), case)
        for symbol in alphabet.symbols if alphabet.text else ():
            if not isinstance(symbol, str) or len(symbol) != 1:
                raise ValueError(
                    f"Expected single characters in the alphabet of text, got {symbol!r}. "
                    "Split the samples into tokens to use longer symbols."
                )
        return alphabet

    def __len__(self) -> int:
        """Return the number of symbols."""
        return len(self.symbols)

    def encode(self, X: Sequences) -> tuple[Codes, npt.NDArray[np.int64]]:
        """Return the numbers of all symbols of all samples, and where each sample starts.

        Returns
        -------
        codes : int32 array of shape (total,)
            GAP stands for a symbol outside the alphabet.
        starts : int64 array of shape (n + 1,)
        """
        folded = [fold(item, self.case) for item in X]
        starts = np.zeros(len(X) + 1, dtype=np.int64)
        np.cumsum([len(item) for item in folded], out=starts[1:])
        if not self.text:
            number = {symbol: i for i, symbol in enumerate(self.symbols)}
            flat = (number.get(token, GAP) for item in folded for token in item)
            return np.fromiter(flat, np.int32, count=int(starts[-1])), starts
        points = code_points("".join(folded))
        letters = code_points("".join(map(str, self.symbols)))
        top = max(int(points.max(initial=0)), int(letters.max(initial=0)))
        table = np.full(top + 1, GAP, np.int32)
        table[letters] = np.arange(len(letters))
        return table[points], starts


def is_text(Xs: Iterable[Sequences]) -> bool:
    """Return whether all samples are text, or raise if text meets token lists."""
    kinds = {isinstance(X[0], str) for X in Xs if len(X)}
    if len(kinds) > 1:
        raise TypeError(
            "Expected two sets of strings or two sets of token lists, got one of each. "
            "Convert both to the same: tuple('ACGT') makes tokens of a string."
        )
    return kinds == {True}


def check_symbols(alphabet: Alphabet, X: Sequences, owner: str) -> None:
    """Raise a ValueError that names the first symbol outside the alphabet and its place."""
    codes, starts = alphabet.encode(X)
    outside = np.flatnonzero(codes == GAP)
    if not len(outside):
        return
    row = int(np.searchsorted(starts, outside[0], side="right")) - 1
    position = int(outside[0] - starts[row])
    symbol = fold(X[row], alphabet.case)[position]
    shown = "".join(map(str, alphabet.symbols[:30])) if alphabet.text else alphabet.symbols[:10]
    raise ValueError(
        f"{owner}: expected symbols of the alphabet {shown!r}, got {symbol!r} at position "
        f"{position} of string {row}. Extend alphabet=, set case='upper' if only the "
        "case differs, or set unknown='gap' to let such symbols match nothing."
    )


def check_alphabet(symbols: Any, case: str, unknown: str, owner: str) -> None:
    """Raise a ValueError if the options about symbols make no sense."""
    if case not in CASES:
        raise ValueError(f"{owner}: expected case to be one of {CASES}, got {case!r}.")
    if unknown not in ("error", "gap"):
        raise ValueError(f"{owner}: expected unknown='error' or 'gap', got {unknown!r}.")
    if symbols is None:
        return
    folded = [fold(symbol, case) for symbol in symbols]
    if not folded or len(set(folded)) < len(folded):
        raise ValueError(
            f"{owner}: expected an alphabet of distinct symbols, got {symbols!r}. "
            "Name each symbol once, such as alphabet='ACGT'."
        )
