"""Mixed: columns of different kinds, compared one by one and put together."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy.spatial.distance import cdist

from gramsmith.arguments import abridged, as_numbers, counted
from gramsmith.kernels.base import Array, Derivatives, Kernel, Pullback
from gramsmith.kernels.embedding import Embedding, in_strips


class Mixed(Kernel):
    r"""A kernel of tables: one Gaussian per column, their mean or their product.

    .. math:: k(x, z) = \frac1m \sum_{b=1}^m \exp\left(-\frac{\|x_b - z_b\|^2}{2 \ell_b^2}\right)

    Block :math:`b` holds the numbers that encode one column: a standardised number, the indicators
    of a category. Two rows are as similar as the share of columns in which they are alike, as in
    Gower's coefficient. With ``combine="product"`` the factors are multiplied, so that rows must be
    alike in every column.

    Parameters
    ----------
    blocks : sequence of int, optional
        For every feature the number of its block, from 0; default: every feature is its own. See
        `TableEncoder.blocks`.
    length_scale : float or array of shape (m,), default=1.0
        One for all blocks, or one for each; learnable.
    combine : {"sum", "product"}, default="sum"
        How blocks are put together.

    References
    ----------
    J. C. Gower, A general coefficient of similarity and some of its properties, Biometrics, 1971.

    Examples
    --------
    >>> import gramsmith as gs
    >>> X = [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [9.0, 1.0, 0.0]]
    >>> gs.Mixed(blocks=[0, 1, 1])(X).round(3)
    array([[1.   , 0.684, 0.5  ],
           [0.684, 1.   , 0.184],
           [0.5  , 0.184, 1.   ]])
    """

    choices: ClassVar[dict[str, tuple[Any, ...]]] = {"combine": ("sum", "product")}
    positive: ClassVar[tuple[str, ...]] = ("length_scale",)
    _stored_parameters: ClassVar[dict[str, str]] = {
        "blocks": "none | list whole | array *",
        "combine": "choice sum product",
    }

    def __init__(self, blocks: Any = None, length_scale: Any = 1.0, combine: str = "sum") -> None:
        self.blocks = blocks
        self.length_scale = length_scale
        self.combine = combine

    def check_parameters(self) -> None:
        super().check_parameters()
        if self.blocks is None:
            return
        numbers = as_numbers(self.blocks)
        found = np.empty(0) if numbers is None else np.asarray(self.blocks)
        counted = found.ndim == 1 and found.dtype.kind in "iu" and len(found)
        # by their number: a list up to the largest could be of any length
        if not counted or found.min() < 0 or len(np.unique(found)) != int(found.max()) + 1:
            raise ValueError(
                "Expected the number of a block for every feature, counted from 0, "
                f"got {abridged(self.blocks)}."
            )
        if np.ndim(self.length_scale) and np.shape(self.length_scale) != (int(found.max()) + 1,):
            raise ValueError(
                f"Expected one length_scale, or one for each of {int(found.max()) + 1} blocks, got "
                f"an array of shape {np.shape(self.length_scale)}."
            )

    def check_input(self, X: Any) -> Any:
        X = super().check_input(X)
        wanted = None if self.blocks is None else len(self.blocks)
        if wanted is None and np.ndim(self.length_scale):
            wanted = np.size(self.length_scale)
        if wanted is not None and X.shape[1] != wanted:
            raise ValueError(
                f"Expected {counted(int(wanted), 'feature')}, one for each entry of blocks, got "
                f"{X.shape[1]}."
            )
        return X

    def is_stationary(self) -> bool:
        return True

    def embed(self, X: Any, reference: Any = None, dtype: Any = np.float64) -> Embedding:
        return np.asarray(X, dtype=np.float64)

    def members(self, p: int) -> list[Array]:
        """Return the features of every block, of p features in all."""
        blocks = np.arange(p) if self.blocks is None else np.asarray(self.blocks)
        return [np.flatnonzero(blocks == b) for b in range(int(blocks.max()) + 1)]

    def _parts(self, a: Array, b: Array) -> list[tuple[Array, float, Array, Array]]:
        """Return features, length scale, squared distances and values of every block."""
        members = self.members(a.shape[1])
        scales = np.broadcast_to(np.asarray(self.length_scale, dtype=float), len(members))
        found = []
        for features, scale in zip(members, scales, strict=True):
            D = cdist(a[:, features], b[:, features], "sqeuclidean")
            found.append((features, float(scale), D, np.exp(-D / (2.0 * scale**2))))
        return found

    def _joined(self, values: list[Array]) -> Array:
        if self.combine == "product":
            return np.asarray(np.prod(values, axis=0))
        return np.asarray(np.sum(values, axis=0) / len(values))

    def tile(self, a: Embedding, b: Embedding, out: Array | None = None) -> Array:
        def joined(x: Array, z: Array) -> Array:
            return self._joined([K for _, _, _, K in self._parts(x, z)])

        return in_strips(joined, a, b, a.dtype, out)

    def diagonal(self, a: Embedding) -> Array:
        return np.ones(len(a))

    def tile_vjp(self, a: Any, b: Any, W: Array, K: Any = None, wants: str = "samples") -> Pullback:
        parts = self._parts(a, b)
        whole = self._joined([K for _, _, _, K in parts]) if self.combine == "product" else None
        da, db, dl = np.zeros_like(a), np.zeros_like(b), np.zeros(len(parts))
        for i, (features, scale, D, value) in enumerate(parts):
            # W dk/dK_b K_b, of which dK_b/dD = -K_b / (2 l²) and dK_b/dl = K_b D / l³
            V = W * (value / len(parts) if whole is None else whole)
            dl[i] = float(np.sum(V * D)) / scale**3
            V = -V / scale**2
            A, B = a[:, features], b[:, features]
            da[:, features] = V.sum(axis=1)[:, None] * A - V @ B
            db[:, features] = V.sum(axis=0)[:, None] * B - V.T @ A
        return da, db, {"length_scale": dl if np.ndim(self.length_scale) else float(dl.sum())}

    def diagonal_vjp(self, a: Embedding, w: Array) -> tuple[Embedding, Derivatives]:
        zero: Any = np.zeros(np.shape(self.length_scale)) if np.ndim(self.length_scale) else 0.0
        return np.zeros_like(a), {"length_scale": zero}
