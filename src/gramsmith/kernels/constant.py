"""Kernels of one number, whatever the samples are: a constant, and white noise."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from gramsmith.kernels.base import Array, Derivatives, Kernel, Pullback
from gramsmith.kernels.embedding import Embedding, fitting
from gramsmith.kernels.finite import count_samples


class OneNumber(Kernel):
    """A kernel of any samples that is its one parameter, or 0."""

    accepts_sparse = True
    requires_vector_input = False

    def _number(self) -> float:
        return float(getattr(self, self.positive[0]))

    def is_stationary(self) -> bool:
        return True

    def check_input(self, X: Any) -> Any:
        count_samples(X)
        return X

    def diagonal(self, a: Embedding) -> Array:
        return np.full(len(a), self._number())

    def diagonal_vjp(self, a: Embedding, w: Array) -> tuple[Embedding, Derivatives]:
        return None, {self.positive[0]: float(w.sum())}

    def embed_vjp(self, X: Any, reference: Any, E: Any, dE: Any) -> tuple[Any, Derivatives]:
        return None, {}


class Constant(OneNumber):
    """The constant kernel k(x, z) = value.

    Parameters
    ----------
    value : float, default=1.0
        Positive number.

    Examples
    --------
    >>> import gramsmith as gs
    >>> gs.Constant(2.0)([[0.0], [1.0]])
    array([[2., 2.],
           [2., 2.]])
    """

    positive: ClassVar[tuple[str, ...]] = ("value",)
    single: ClassVar[tuple[str, ...]] = ("value",)

    def __init__(self, value: float = 1.0) -> None:
        self.value = value

    def embed(self, X: Any, reference: Any = None, dtype: Any = np.float64) -> Embedding:
        return np.empty(count_samples(X), dtype)

    def tile(self, a: Embedding, b: Embedding, out: Array | None = None) -> Array:
        room = fitting(out, a.dtype)
        K = np.empty((len(a), len(b)), a.dtype) if room is None else room
        K[...] = self.value
        return K

    def tile_vjp(self, a: Any, b: Any, W: Array, K: Any = None, wants: str = "samples") -> Pullback:
        return None, None, {"value": float(W.sum())}

    def features(self, X: Any, reference: Any = None) -> Any:
        return np.full((count_samples(X), 1), np.sqrt(self._number()))


class White(OneNumber):
    """White noise: `noise` for a sample with itself, 0 for two samples, equal or not.

    ``kernel(X)`` has it on the diagonal, ``kernel(X, Y)`` nowhere, as in scikit-learn.

    Parameters
    ----------
    noise : float, default=1.0
        The variance, positive.

    Examples
    --------
    >>> import gramsmith as gs
    >>> (gs.Constant(2.0) + gs.White(0.5))([[0.0], [0.0]])
    array([[2.5, 2. ],
           [2. , 2.5]])
    """

    positive: ClassVar[tuple[str, ...]] = ("noise",)
    single: ClassVar[tuple[str, ...]] = ("noise",)
    noisy = True

    _stored_parameters: ClassVar[dict[str, str]] = {"noise": "number"}

    def __init__(self, noise: float = 1.0) -> None:
        self.noise = noise

    def reference(self, *Xs: Any) -> Any:
        """Return whether the samples of one set are compared with those of another."""
        return len(Xs) > 1

    def embed(self, X: Any, reference: Any = None, dtype: Any = np.float64) -> Embedding:
        # numbers of the samples; those of two sets are never the same, and NaN is not NaN
        n = count_samples(X)
        return np.full(n, np.nan) if reference else np.arange(n, dtype=np.float64)

    def tile(self, a: Embedding, b: Embedding, out: Array | None = None) -> Array:
        return np.where(a[:, None] == b[None, :], self._number(), 0.0)

    def tile_vjp(self, a: Any, b: Any, W: Array, K: Any = None, wants: str = "samples") -> Pullback:
        return None, None, {"noise": float(W[a[:, None] == b[None, :]].sum())}
