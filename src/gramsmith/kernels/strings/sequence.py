"""What the kernels of sequences share: reading their input."""

from __future__ import annotations

from typing import Any

from gramsmith.kernels.strings.alphabet import Alphabet, check_alphabet, check_symbols
from gramsmith.kernels.strings.reading import Sequences, as_sequences
from gramsmith.kernels.symbolic import SymbolicKernel, check_whole


class SequenceKernel(SymbolicKernel):
    """A kernel of texts, byte strings or token lists.

    Every subclass has the parameters `alphabet`, `case`, `unknown` and `length_limit`.
    """

    alphabet: Any
    case: str
    unknown: str
    length_limit: int | None

    def check_parameters(self) -> None:
        super().check_parameters()
        name = type(self).__name__
        check_alphabet(self.alphabet, self.case, self.unknown, name)
        if self.length_limit is not None:
            check_whole(name, "length_limit", self.length_limit, 1)

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
