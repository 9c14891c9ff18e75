"""Sequences as the kernels of strings see them: read, numbered by an alphabet, checked.

Text, bytes and lists of tokens become a one-dimensional object array whose items are either all
`str` (one symbol per code point) or all `tuple` (one symbol per token).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from gramsmith.arguments import abridged, is_one_of
from gramsmith.kernels.symbolic.base import SymbolicKernel

Sequences = npt.NDArray[np.object_]

ADVICE = (
    "Pass a list of strings such as ['ACGT', 'GATTACA'], or of token lists such as "
    "[['the', 'cat'], ['a', 'dog']]"
)


def as_sequences(X: Any, owner: str, length_limit: int | None = None) -> Sequences:
    """Return the samples as an object array of `str` or of `tuple`.

    Bytes become text of the same numbers (byte 65 is "A"), so that both may meet in one kernel. The
    rows of a two-dimensional array of letters or whole numbers are token lists; a single column of
    text is a list of strings.

    Parameters
    ----------
    X : sequence of str, of bytes or of token lists; array, pandas or polars column
    owner : str
        The kernel named in error messages.
    length_limit : int, optional
        The longest sample allowed.

    Returns
    -------
    array of shape (n,), dtype object
    """
    items = _listed(X, owner)
    if not items:
        raise ValueError(f"{owner}: expected at least 1 string, got 0 sample(s). {ADVICE}.")
    kind = _kind(items, owner)
    if kind is bytes:
        items = [item.decode("latin-1") for item in items]
    elif kind is tuple:
        items = [_tokens(item, i, owner) for i, item in enumerate(items)]
    if length_limit is not None:
        longest = max(range(len(items)), key=lambda i: len(items[i]))
        if len(items[longest]) > length_limit:
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
    if isinstance(X, str | bytes | bytearray):
        raise TypeError(
            f"{owner}: expected a sequence of strings, got one {type(X).__name__}. "
            "Wrap it in a list: [x]."
        )
    if isinstance(X, np.ndarray) and X.ndim == 1 and X.dtype == object:
        return list(X)
    if hasattr(X, "to_numpy") and not isinstance(X, np.ndarray):
        X = X.to_numpy()  # pandas and polars columns and tables
    if isinstance(X, np.ndarray):
        return _from_array(X, owner)
    if isinstance(X, dict) or not isinstance(X, Iterable):
        raise TypeError(
            f"{owner}: expected a sequence of strings, got {type(X).__name__}. {ADVICE}."
        )
    return list(X)


def _from_array(X: npt.NDArray[Any], owner: str) -> list[Any]:
    if X.dtype.kind in "fc":
        raise TypeError(
            f"{owner}: expected strings or token lists, got an array of {X.dtype}. {ADVICE}; "
            "for columns of numbers use a vector kernel such as Gaussian."
        )
    if X.ndim == 2 and X.shape[1] == 1 and X.dtype.kind in "OUS":
        X = X[:, 0]
    if X.ndim == 1 and X.dtype.kind in "OUS":
        return list(X.tolist())
    if X.ndim == 2:
        return list(map(tuple, X.tolist()))
    raise TypeError(
        f"{owner}: expected a column of strings or rows of tokens, got an array of {X.dtype} with "
        f"shape {X.shape}. {ADVICE}."
    )


def _kind(items: list[Any], owner: str) -> type:
    """Return the one type all items have: str, bytes or tuple (any token list)."""
    found: dict[type, int] = {}
    for i, item in enumerate(items):
        if isinstance(item, str):
            kind: type = str
        elif isinstance(item, bytes | bytearray):
            kind = bytes
        elif isinstance(item, list | tuple | np.ndarray):
            kind = tuple
        else:
            name = "a missing value" if _is_missing(item) else f"{type(item).__name__} ({item!r})"
            raise TypeError(
                f"{owner}: expected text, bytes or a token list in every row, got {name} in row "
                f"{i}. Drop or fill missing rows first. {ADVICE}."
            )
        found.setdefault(kind, i)
    if len(found) > 1:
        rows = ", ".join(
            f"{'token lists' if kind is tuple else kind.__name__} (row {i})"
            for kind, i in found.items()
        )
        raise TypeError(
            f"{owner}: expected one type for all rows, got mixed types: {rows}. "
            "Convert them to one type first."
        )
    return next(iter(found))


def _is_missing(item: Any) -> bool:
    # NaN, NaT and pandas' NA are not equal to themselves, or refuse to say.
    try:
        return item is None or bool(item != item)
    except (TypeError, ValueError):
        return True


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
    if not is_one_of(case, CASES):
        raise ValueError(f"{owner}: expected case to be one of {CASES}, got {abridged(case)}.")
    if not is_one_of(unknown, ("error", "gap")):
        raise ValueError(f"{owner}: expected unknown='error' or 'gap', got {abridged(unknown)}.")
    if symbols is None:
        return
    try:
        folded = [fold(symbol, case) for symbol in symbols]
        distinct = len(set(folded))
    except TypeError:  # not a collection, or of things that cannot be told apart
        folded, distinct = [], 0
    if not folded or distinct < len(folded):
        raise ValueError(
            f"{owner}: expected an alphabet of distinct symbols, got {abridged(symbols)}. "
            "Name each symbol once, such as alphabet='ACGT'."
        )


class SequenceKernel(SymbolicKernel):
    """A kernel of texts, byte strings or token lists.

    Every subclass has the parameters `alphabet`, `case`, `unknown` and `length_limit`.
    """

    whole: ClassVar[dict[str, int]] = {"length_limit": 1}
    optional: ClassVar[tuple[str, ...]] = ("length_limit",)

    alphabet: Any
    case: str
    unknown: str
    length_limit: int | None

    def check_parameters(self) -> None:
        super().check_parameters()
        check_alphabet(self.alphabet, self.case, self.unknown, type(self).__name__)

    def check_input(self, X: Any) -> Any:
        name = type(self).__name__
        X = as_sequences(X, name, self.length_limit)
        if self.alphabet is not None and self.unknown == "error":
            check_symbols(self.symbols(X), X, name)
        return X

    def symbols(self, *Xs: Sequences) -> Alphabet:
        """Return the alphabet given, or that of the data."""
        if self.alphabet is None:
            return Alphabet.of(Xs, self.case)
        return Alphabet.given(self.alphabet, Xs, self.case)
