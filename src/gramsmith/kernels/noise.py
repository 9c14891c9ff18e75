"""White noise: what is in one sample and in no other."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from gramsmith.kernels.base import Array, Gradient, Kernel, Wanted
from gramsmith.kernels.embedding import Embedding
from gramsmith.kernels.finite import count_samples


class White(Kernel):
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

    _stored_parameters: ClassVar[dict[str, str]] = {"noise": "number"}

    def __init__(self, noise: float = 1.0) -> None:
        self.noise = noise

    @property
    def accepts_sparse(self) -> bool:
        return True

    @property
    def requires_vector_input(self) -> bool:
        return False

    @property
    def noisy(self) -> bool:
        return True

    @property
    def differentiable(self) -> bool:
        return True

    def is_stationary(self) -> bool:
        return True

    def reference(self, *Xs: Any) -> Any:
        """Return whether the samples of one set are compared with those of another."""
        return len(Xs) > 1

    def embed(self, X: Any, reference: Any = None, dtype: Any = np.float64) -> Embedding:
        # numbers of the samples; those of two sets are never the same, and NaN is not NaN
        n = count_samples(X)
        return np.full(n, np.nan) if reference else np.arange(n, dtype=np.float64)

    def tile(self, a: Embedding, b: Embedding) -> Array:
        return np.where(a[:, None] == b[None, :], float(self.noise), 0.0)

    def diagonal(self, a: Embedding) -> Array:
        return np.full(len(a), float(self.noise))

    def tile_vjp(
        self, a: Embedding, b: Embedding, W: Array, K: Any = None, wants: Wanted = "samples"
    ) -> tuple[Embedding, Embedding, Gradient]:
        return None, None, {"noise": float(W[a[:, None] == b[None, :]].sum())}

    def diagonal_vjp(self, a: Embedding, w: Array) -> tuple[Embedding, Gradient]:
        return None, {"noise": float(w.sum())}

    def embed_vjp(
        self, X: Any, reference: Any, E: Embedding, dE: Embedding
    ) -> tuple[Any, Gradient]:
        return None, {}
