"""What the kernels of sequences share: reading their input, and two ways to compute a tile.

`SequenceKernel` reads. `FeatureKernel` has sparse features U with K = UU', so that measures need no
tiles at all; with a `decay`, the features have weights that depend on it.
"""

from __future__ import annotations

from inspect import signature
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from gramsmith.kernels.base import Array, Gradient, Kernel
from gramsmith.kernels.embedding import Embedding
from gramsmith.kernels.strings.alphabet import (
    Alphabet,
    check_alphabet,
    check_symbols,
)
from gramsmith.kernels.strings.reading import Sequences, as_sequences


class SequenceKernel(Kernel):
    """A kernel of texts, byte strings or token lists.

    Every subclass has the parameters `alphabet`, `case`, `unknown` and `length_limit`.
    """

    alphabet: Any
    case: str
    unknown: str
    length_limit: int | None

    @property
    def requires_vector_input(self) -> bool:
        return False

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

    def formula(self) -> str:
        shown = []
        for name, parameter in signature(type(self)).parameters.items():
            value = getattr(self, name)
            if parameter.default is parameter.empty or value != parameter.default:
                shown.append(f"{name}={value:.4g}" if isinstance(value, float) else f"{name}={value!r}")
        return f"{type(self).__name__}({', '.join(shown)})"


def check_whole(owner: str, name: str, value: Any, least: int) -> None:
    """Raise a ValueError unless `value` is a whole number of at least `least`."""
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not whole or value < least:
        raise ValueError(
            f"{owner}: expected a whole number {name} >= {least}, got {value!r}. "
            f"Try {name}={max(least, 3)}."
        )


def check_decay(owner: str, decay: Any) -> None:
    """Raise a ValueError unless 0 < decay <= 1."""
    if not isinstance(decay, int | float | np.number) or not 0.0 < decay <= 1.0:
        raise ValueError(
            f"{owner}: expected 0 < decay <= 1, got {decay!r}. Use 1.0 for no decay, or 0.5."
        )


class FeatureKernel(SequenceKernel):
    """A kernel k(s, t) = u(s)'u(t) of sparse feature vectors without parameters to learn."""

    def embed(self, X: Any, frame: Any = None, dtype: Any = np.float64) -> Embedding:
        return self.features(X, frame).astype(dtype)

    def tile(self, a: Embedding, b: Embedding) -> Array:
        return product(a, b)

    def diagonal(self, a: Embedding) -> Array:
        return squares(a)

    def tile_vjp(
        self, a: Embedding, b: Embedding, W: Array, K: Array | None = None
    ) -> tuple[Embedding, Embedding, Gradient]:
        return None, None, {}

    def diagonal_vjp(self, a: Embedding, w: Array) -> tuple[Embedding, Gradient]:
        return None, {}


class DecayKernel(SequenceKernel):
    """A kernel with a parameter 0 < decay <= 1 that gradients may change."""

    positive: ClassVar[tuple[str, ...]] = ("decay",)
    ranges: ClassVar[dict[str, tuple[float, float]]] = {"decay": (1e-5, 1.0)}
    decay: float

    def check_parameters(self) -> None:
        super().check_parameters()
        check_decay(type(self).__name__, self.decay)

    def slope(self, a: Embedding, b: Embedding) -> Array:
        """Return the derivative of `tile` by the decay."""
        raise self._no_derivative()

    def diagonal_slope(self, a: Embedding) -> Array:
        """Return the derivative of `diagonal` by the decay."""
        raise self._no_derivative()

    def tile_vjp(
        self, a: Embedding, b: Embedding, W: Array, K: Array | None = None
    ) -> tuple[Embedding, Embedding, Gradient]:
        return None, None, {"decay": float(np.vdot(W, self.slope(a, b)))}

    def diagonal_vjp(self, a: Embedding, w: Array) -> tuple[Embedding, Gradient]:
        return None, {"decay": float(np.vdot(w, self.diagonal_slope(a)))}

    def tile_jacobian(self, a: Embedding, b: Embedding) -> Gradient:
        return {"decay": self.slope(a, b)[..., None]}


# A column of features is multiplied densely where at least this share of its pairs is not zero.
DENSE_SHARE = 0.03
DENSE_BYTES = 1 << 26


def product(a: Any, b: Any) -> Array:
    """Return a b' of two sparse matrices as an array: BLAS on full columns, sparse on the rest."""
    K = np.zeros((a.shape[0], b.shape[0]), dtype=a.dtype)
    if not a.nnz or not b.nnz:
        return K
    same = a is b
    filled = np.bincount(a.indices, minlength=a.shape[1]) / a.shape[0]
    other = filled if same else np.bincount(b.indices, minlength=b.shape[1]) / b.shape[0]
    dense = filled * other >= DENSE_SHARE
    full = np.flatnonzero(dense)
    width = max(1, DENSE_BYTES // (8 * (a.shape[0] + b.shape[0])))
    for start in range(0, len(full), width):
        columns = full[start : start + width]
        left = a[:, columns].toarray()
        K += left @ (left if same else b[:, columns].toarray()).T
    shared = (filled > 0) & (other > 0) & ~dense
    if shared.any():
        rest = np.flatnonzero(shared)
        left = a[:, rest] if len(full) or len(rest) < a.shape[1] else a
        right = left if same else (b[:, rest] if left is not a else b)
        K += (left @ right.T).toarray()
    return K


def squares(a: Any) -> Array:
    """Return the squared length of every row of a sparse matrix, in float64."""
    row = np.repeat(np.arange(a.shape[0]), np.diff(a.indptr))
    return np.bincount(row, weights=np.asarray(a.data, np.float64) ** 2, minlength=a.shape[0])


def counted(row: Array, column: Array, shape: tuple[int, int]) -> Any:
    """Return the sparse matrix that counts how often each (row, column) occurs."""
    narrow = np.int32 if max(*shape, len(row)) < 2**31 else np.int64
    place = (row.astype(narrow), column.astype(narrow))
    return sp.csr_array((np.ones(len(row)), place), shape=shape)
