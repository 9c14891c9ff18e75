"""What kernels of sets, strings and trees share: sparse features, a decay, short names."""

from __future__ import annotations

from inspect import signature
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from gramsmith.kernels.base import Array, Derivatives, Kernel, Pullback
from gramsmith.kernels.embedding import Embedding


class SymbolicKernel(Kernel):
    """A kernel of samples that are not vectors, without parameters to learn."""

    requires_vector_input = False

    def tile_of(self, a: Embedding, b: Embedding, which: int) -> Array:
        """Return the tile (0), or its derivative by the decay (1)."""
        raise self._no_derivative()

    def diagonal_of(self, a: Embedding, which: int) -> Array:
        """Return the diagonal (0), or its derivative by the decay (1)."""
        raise self._no_derivative()

    def tile(self, a: Embedding, b: Embedding, out: Array | None = None) -> Array:
        return self.tile_of(a, b, 0)

    def diagonal(self, a: Embedding) -> Array:
        return self.diagonal_of(a, 0)

    def tile_vjp(self, a: Any, b: Any, W: Array, K: Any = None, wants: str = "samples") -> Pullback:
        return None, None, {}

    def diagonal_vjp(self, a: Embedding, w: Array) -> tuple[Embedding, Derivatives]:
        return None, {}

    def formula(self) -> str:
        shown = []
        for name, parameter in signature(type(self)).parameters.items():
            value = getattr(self, name)
            if parameter.default is parameter.empty or value is not parameter.default:
                text = f"{value:.4g}" if isinstance(value, float) else repr(value)
                shown.append(f"{name}={text}" if len(text) < 40 else f"{name}=...")
        return f"{type(self).__name__}({', '.join(shown)})"


class DecayKernel(SymbolicKernel):
    """A kernel with a parameter 0 < decay <= 1 that gradients may change."""

    positive: ClassVar[tuple[str, ...]] = ("decay",)
    single: ClassVar[tuple[str, ...]] = ("decay",)
    ranges: ClassVar[dict[str, tuple[float, float]]] = {"decay": (1e-5, 1.0)}
    decay: Any

    def tile_vjp(self, a: Any, b: Any, W: Array, K: Any = None, wants: str = "samples") -> Pullback:
        return None, None, {"decay": float(np.vdot(W, self.tile_of(a, b, 1)))}

    def diagonal_vjp(self, a: Embedding, w: Array) -> tuple[Embedding, Derivatives]:
        return None, {"decay": float(np.vdot(w, self.diagonal_of(a, 1)))}


def refuse_symbols(owner: str, X: Any) -> None:
    """Raise a TypeError if X holds strings or sets where columns of numbers are needed."""
    listed = isinstance(X, list | tuple) or getattr(X, "ndim", 2) == 1
    first = next(iter(X), None) if listed else None
    if isinstance(first, str | bytes | set | frozenset):
        raise TypeError(
            f"{owner}: expected columns of numbers, got samples of type {type(first).__name__}, "
            "which have no derivative by their inputs. Learn the parameters of a kernel of such "
            "samples with KernelLearner, or mix several kernels with KernelCombination."
        )


# A column of features is multiplied densely where at least this share of its pairs is not zero.
DENSE_SHARE = 0.02
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
    columns = np.flatnonzero(dense)
    width = max(1, DENSE_BYTES // (8 * (a.shape[0] + b.shape[0])))
    for start in range(0, len(columns), width):
        some = columns[start : start + width]
        left = a[:, some].toarray()
        K += left @ (left if same else b[:, some].toarray()).T
    rest = np.flatnonzero((filled > 0) & (other > 0) & ~dense)
    if len(rest):
        left = a[:, rest]
        K += (left @ (left if same else b[:, rest]).T).toarray()
    return K


def squares(a: Any) -> Array:
    """Return the squared length of every row of a sparse matrix, in float64."""
    row = np.repeat(np.arange(a.shape[0]), np.diff(a.indptr))
    return np.bincount(row, weights=np.asarray(a.data, np.float64) ** 2, minlength=a.shape[0])


def count_matrix(row: Array, column: Array, shape: tuple[int, int]) -> Any:
    """Return the sparse matrix that counts how often each (row, column) occurs."""
    narrow = np.int32 if max(*shape, len(row)) < 2**31 else np.int64
    place = (row.astype(narrow), column.astype(narrow))
    return sp.csr_array((np.ones(len(row)), place), shape=shape)
