"""Sequences as the kernels of strings see them: read, numbered by an alphabet, checked.

Text, bytes and lists of tokens become a one-dimensional object array whose items are either all
`str` (one symbol per code point) or all `tuple` (one symbol per token).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from inspect import signature
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from gramsmith.arguments import abridged, is_missing
from gramsmith.docstrings import completed, entries_of
from gramsmith.kernels.base import Array
from gramsmith.kernels.embedding import Embedding
from gramsmith.kernels.symbolic.base import DecayKernel, SymbolicKernel, product, squares
from gramsmith.kernels.symbolic.loops import diagonal_of_pairs, tile_of_pairs

Sequences = npt.NDArray[np.object_]

ADVICE = (
    "Pass a list of strings such as ['ACGT', 'GATTACA'], or of token lists such as "
    "[['the', 'cat'], ['a', 'dog']]; for columns of numbers use a kernel of vectors"
)
GAP = -1  # a symbol outside the alphabet: it equals nothing, itself included


def as_sequences(X: Any, owner: str, length_limit: int | None = None) -> Sequences:
    """Return the samples as an object array of `str` or of `tuple`.

    Bytes become text of the same numbers (byte 65 is "A"), so that both may meet in one kernel. The
    rows of a two-dimensional array of letters or whole numbers are token lists; a single column of
    text is a list of strings.
    """
    items = _listed(X, owner)
    if not items:
        raise ValueError(f"{owner}: expected at least 1 string, got 0 sample(s). {ADVICE}.")
    kind = _kind(items, owner)
    if kind is bytes:
        items = [item.decode("latin-1") for item in items]
    elif kind is tuple:
        items = [_tokens(item, i, owner) for i, item in enumerate(items)]
    longest = max(range(len(items)), key=lambda i: len(items[i]))
    if length_limit is not None and len(items[longest]) > length_limit:
        raise ValueError(
            f"{owner}: expected strings of at most {length_limit} symbols, got "
            f"{len(items[longest])} in string {longest}. Cut it into pieces, or raise the cap "
            f"with length_limit={len(items[longest])} (None: no cap); mind time and memory."
        )
    result: Sequences = np.empty(len(items), dtype=object)
    # Assigned one by one: NumPy would turn tuples of equal length into a second axis.
    for i, item in enumerate(items):
        result[i] = item
    return result


def _listed(X: Any, owner: str) -> list[Any]:
    """Return the samples as a list, whatever container they come in."""
    X = X.to_numpy() if hasattr(X, "to_numpy") else X  # pandas and polars columns and tables
    if isinstance(X, np.ndarray):
        text = X.dtype.kind in "OUS"
        if X.ndim == 1 + (X.shape[1:] == (1,)) and text:
            return list(X.ravel().tolist())
        if X.ndim == 2 and X.dtype.kind not in "fc":
            return list(map(tuple, X.tolist()))
        shown = f"an array of {X.dtype} with shape {X.shape}"
    elif isinstance(X, Iterable) and not isinstance(X, str | bytes | bytearray | dict):
        return list(X)
    else:
        shown = f"one {type(X).__name__}"
    raise TypeError(f"{owner}: expected a sequence of strings, got {shown}. {ADVICE}.")


def _kind(items: list[Any], owner: str) -> type:
    """Return the one type all items have: str, bytes or tuple (any token list)."""
    kinds = {str: (str,), bytes: (bytes, bytearray), tuple: (list, tuple, np.ndarray)}
    found: dict[type, int] = {}
    for i, item in enumerate(items):
        kind = next((kind for kind, types in kinds.items() if isinstance(item, types)), None)
        if kind is None:
            name = "a missing value" if is_missing(item) else f"{type(item).__name__} ({item!r})"
            raise TypeError(
                f"{owner}: expected text, bytes or a token list in every row, got {name} in row "
                f"{i}. Drop or fill missing rows first. {ADVICE}."
            )
        found.setdefault(kind, i)
    if len(found) > 1:
        rows = ", ".join(f"{kind.__name__} (row {i})" for kind, i in found.items())
        raise TypeError(
            f"{owner}: expected one type for all rows, got mixed types: {rows}. "
            "Convert them to one type first."
        )
    return next(iter(found))


def _tokens(item: Any, row: int, owner: str) -> tuple[Hashable, ...]:
    tokens = tuple(item.tolist() if isinstance(item, np.ndarray) else item)
    for position, token in enumerate(tokens):
        wrong = token is None or isinstance(token, float | complex)
        if wrong or not isinstance(token, Hashable):
            raise TypeError(
                f"{owner}: expected words, letters or whole numbers as tokens, got "
                f"{type(token).__name__} ({token!r}) at position {position} of row {row}. {ADVICE}."
            )
    return tokens


def fold(item: Any, case: str) -> Any:
    """Return a sample or symbol in the case asked for."""
    if isinstance(item, tuple):
        return tuple(fold(token, case) for token in item)
    return getattr(item, case)() if isinstance(item, str) and case != "keep" else item


def code_points(text: str) -> npt.NDArray[np.uint32]:
    """Return the numbers of the characters; lone surrogates are characters like others."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")


def is_text(Xs: Iterable[Sequences]) -> bool:
    """Return whether all samples are text, or raise if text meets token lists."""
    kinds = {isinstance(X[0], str) for X in Xs if len(X)}
    if len(kinds) > 1:
        raise TypeError(
            "Expected two sets of strings or two sets of token lists, got one of each. "
            "Convert both to the same: tuple('ACGT') makes tokens of a string."
        )
    return kinds == {True}


@dataclass(frozen=True)
class Alphabet:
    """The symbols of a computation, numbered 0, 1, ... in order; `text` if they are characters."""

    symbols: tuple[Hashable, ...]
    text: bool
    case: str = "keep"

    @classmethod
    def of(cls, Xs: Iterable[Sequences], case: str) -> Alphabet:
        """Return the alphabet of all symbols that occur, sorted where they are characters."""
        Xs = list(Xs)
        text = is_text(Xs)
        # Whole strings are folded, because a letter may fold by its neighbours (Σ to σ or ς).
        folded = [fold(item, case) for X in Xs for item in X]
        if text:
            return cls(tuple(sorted(set().union(*folded))), text, case)
        return cls(tuple(dict.fromkeys(token for item in folded for token in item)), text, case)

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

    def encode(self, X: Sequences) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
        """Return the numbers of all symbols of all samples, and where each sample starts."""
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

    def check(self, X: Sequences, owner: str) -> None:
        """Raise a ValueError that names the first symbol outside the alphabet and its place."""
        codes, starts = self.encode(X)
        outside = np.flatnonzero(codes == GAP)
        if not len(outside):
            return
        row = int(np.searchsorted(starts, outside[0], side="right")) - 1
        position = int(outside[0] - starts[row])
        shown = "".join(map(str, self.symbols[:30])) if self.text else self.symbols[:10]
        raise ValueError(
            f"{owner}: expected symbols of the alphabet {shown!r}, got "
            f"{fold(X[row], self.case)[position]!r} at position {position} of string {row}. Extend "
            "alphabet=, set case='upper' if only the case differs, or set unknown='gap' to let "
            "such symbols match nothing."
        )


class SequenceKernel(SymbolicKernel):
    """A kernel of texts, byte strings or token lists, with four parameters about their symbols.

    Parameters
    ----------
    alphabet : str or sequence, optional
        The symbols allowed. Default: any.
    case : {"keep", "upper", "lower"}, default="keep"
        Whether "a" and "A" are different symbols, or made equal first.
    unknown : {"error", "gap"}, default="error"
        What to do with symbols outside a given alphabet: raise, or let them match nothing, as is
        usual for the letter N in DNA.
    length_limit : int or None, default=500000
        The longest string accepted; None removes the cap.
    """

    whole: ClassVar[dict[str, int]] = {"length_limit": 1}
    optional: ClassVar[tuple[str, ...]] = ("length_limit",)
    choices: ClassVar[dict[str, tuple[Any, ...]]] = {
        "case": ("keep", "upper", "lower"),
        "unknown": ("error", "gap"),
    }

    loop: ClassVar[str] = ""  # of `loops`, by which pairs of strings are compared

    def __init__(self, alphabet: Any, case: str, unknown: str, length_limit: int | None) -> None:
        self.alphabet = alphabet
        self.case = case
        self.unknown = unknown
        self.length_limit = length_limit

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if entries_of(cls.__doc__, "Parameters"):
            known = entries_of(SequenceKernel.__doc__, "Parameters")
            names = signature(cls).parameters
            cls.__doc__ = completed(cls.__doc__, "Parameters", names, known)

    def check_parameters(self) -> None:
        super().check_parameters()
        if self.alphabet is None:
            return
        try:
            folded = [fold(symbol, self.case) for symbol in self.alphabet]
            distinct = len(set(folded))
        except TypeError:  # not a collection, or of things that cannot be told apart
            folded, distinct = [], 0
        if not folded or distinct < len(folded):
            raise ValueError(
                f"{type(self).__name__}: expected an alphabet of distinct symbols, got "
                f"{abridged(self.alphabet)}. Name each symbol once, such as alphabet='ACGT'."
            )

    def check_input(self, X: Any) -> Any:
        name = type(self).__name__
        X = as_sequences(X, name, self.length_limit)
        if self.alphabet is not None and self.unknown == "error":
            self.symbols(X).check(X, name)
        return X

    def symbols(self, *Xs: Sequences) -> Alphabet:
        """Return the alphabet given, or that of the data."""
        if self.alphabet is None:
            return Alphabet.of(Xs, self.case)
        return Alphabet.given(self.alphabet, Xs, self.case)

    def counted(self, alphabet: Alphabet, strings: Sequences) -> Any:
        """Return what is counted in the distinct strings, None if they are compared in pairs."""
        return None

    def weighted(self, counts: Any, which: int) -> Any:
        """Return sparse features of what was counted, for values (0) or slopes by the decay (1)."""
        return counts

    def options(self, a: Embedding, b: Embedding, which: int) -> tuple[Any, ...]:
        """Return what `loop` takes besides two blocks of strings."""
        raise self._no_derivative()

    def reference(self, *Xs: Any) -> Any:
        alphabet = self.symbols(*Xs)
        strings: Sequences = np.empty(len(row := dict.fromkeys(x for X in Xs for x in X)), object)
        for i, item in enumerate(row):
            strings[i] = item
            row[item] = i
        return alphabet, row, self.counted(alphabet, strings)

    def features(self, X: Any, reference: Any = None) -> Any:
        return self._features(X, reference or self.reference(X), 0)

    def _features(self, X: Any, reference: Any, which: int) -> Any:
        _, row, counts = reference
        return None if counts is None else self.weighted(counts, which)[[row[item] for item in X]]

    def embed(self, X: Any, reference: Any = None, dtype: Any = np.float64) -> Embedding:
        alphabet, _, counts = reference = reference or self.reference(X)
        if counts is not None:
            kinds = (0, 1) if isinstance(self, DecayKernel) else (0,)
            return tuple(self._features(X, reference, which).astype(dtype) for which in kinds)
        codes, starts = alphabet.encode(X)
        E = np.empty(len(X), dtype=object)
        for i in range(len(X)):
            E[i] = codes[starts[i] : starts[i + 1]]
        # The number of symbols travels with the samples: tiles know nothing else of the reference.
        return E, np.full(len(X), max(1, len(alphabet)))

    def tile_of(self, a: Embedding, b: Embedding, which: int) -> Array:
        if sp.issparse(a[0]):
            return product(a[which], b[which])
        return tile_of_pairs(self.loop, a[0], b[0], *self.options(a, b, which))

    def diagonal_of(self, a: Embedding, which: int) -> Array:
        if sp.issparse(a[0]):
            return squares(a[which])
        return diagonal_of_pairs(self.loop, a[0], *self.options(a, a, which))


def longest(*blocks: Embedding) -> int:
    """Return the length of the longest string of some blocks."""
    return max((len(codes) for block in blocks for codes in block[0]), default=0)
