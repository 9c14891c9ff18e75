"""Linear maps of sparse rows, whose derivative never is an n x p array.

The derivative of a measure by the mapped rows has a number for every sample and every feature,
zeros of X included; a learner of S needs only its product with X, which is formed tile by tile.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from gramsmith.kernels import Composed, Kernel, LinearMap, as_kernel
from gramsmith.kernels.base import Array, Derivatives, Pullback
from gramsmith.kernels.embedding import Embedding, prefixed
from gramsmith.kernels.geometry import (
    InnerProduct,
    PairKernel,
    SquaredEuclidean,
    feature_products,
)


class SparseProjection(LinearMap):
    """The map S'x of sparse rows, S of shape (p, q): its values are dense, with q columns."""

    def vjp(self, X: Any, dphi: Array) -> tuple[Any, Derivatives]:
        """Return X' dphi; the derivative by X itself would be dense and is left out."""
        return None, {"S": X.T @ dphi}


class SparseWeighted(Composed):
    """A kernel of sparse rows whose features are weighted by the diagonal S of a `LinearMap`.

    With z_i the weighted rows, V the derivative by s, and r and c its row and column sums,

        d/dS_k Σ_ij V_ij |z_i - z_j|² = 2/S_k (Σ_i r_i z_ik² + Σ_j c_j z_jk² - 2 D_k)

    with D_k = Σ_ij V_ij z_ik z_jk, and 2/S_k D_k for the inner product. Where S_k = 0 it is 0.
    """

    def tile_vjp(self, a: Any, b: Any, W: Array, K: Any = None, wants: str = "samples") -> Pullback:
        s = self.kernel.geometry.pair(a, b)
        V, parts = W * self.kernel.slope(s), self.kernel.partials(s)
        direct = {name: np.tensordot(part, W, 2) for name, part in parts.items()}
        za, zb = self.kernel.geometry.points(a), self.kernel.geometry.points(b)
        product = feature_products(za, zb, V)
        if isinstance(self.kernel.geometry, SquaredEuclidean):
            product = _squares(za, V.sum(axis=1)) + _squares(zb, V.sum(axis=0)) - 2.0 * product
        return None, None, {**prefixed("kernel", direct), "map__S": self._by_weight(product)}

    def diagonal_vjp(self, a: Embedding, w: Array) -> tuple[Embedding, Derivatives]:
        geometry = self.kernel.geometry
        if isinstance(geometry, SquaredEuclidean):
            return None, {}  # the distance of a row to itself is 0
        z = geometry.points(a)
        v = w * self.kernel.slope(geometry.diagonal(a))
        return None, {"map__S": self._by_weight(_squares(z, v))}

    def _by_weight(self, product: Array) -> Array:
        S = np.asarray(self.map.S, dtype=np.float64)
        return np.divide(2.0 * product, S, out=np.zeros(len(S)), where=S != 0)


def _squares(Z: Any, v: Array) -> Array:
    return np.asarray(v @ Z.multiply(Z), dtype=np.float64).ravel()


def make_map(kernel: Kernel, S: Array, sparse: bool) -> Kernel:
    """Return the kernel of mapped rows that a learner climbs, for sparse rows or dense ones."""
    if not sparse:
        return Composed(kernel, LinearMap(S))
    return (
        SparseWeighted(kernel, LinearMap(S))
        if S.ndim == 1
        else Composed(kernel, SparseProjection(S))
    )


def components(S: Array, sparse: bool) -> Any:
    """Return S' as a matrix: where X has too many features for dense rows, not a dense p x p."""
    if S.ndim == 2:
        return np.ascontiguousarray(S.T)
    return sp.csr_array(sp.diags_array(S)) if sparse else np.diag(S)


def refuse_sparse(kernel: Any, structure: str) -> None:
    """Raise a ValueError if a map under this kernel cannot be learned from sparse rows."""
    if refusal := sparse_refusal(kernel, structure):
        raise ValueError(
            f"TransformLearner: expected dense X, got sparse rows with {refusal}, or "
            "X.toarray() if memory permits."
        )


def sparse_refusal(kernel: Any, structure: str) -> str | None:
    """Return why a map under this kernel cannot be learned from sparse rows, or None if it can."""
    if structure == "full":
        return (
            'structure="full", whose mapped rows have p dense columns. '
            'Use structure="diagonal" or "low_rank"'
        )
    if isinstance(kernel, str):
        kernel = as_kernel(kernel, gamma=1.0)
    if kernel is None or (structure != "diagonal" and getattr(kernel, "accepts_sparse", False)):
        return None
    geometry = getattr(kernel, "geometry", None)
    if isinstance(kernel, PairKernel) and isinstance(geometry, SquaredEuclidean | InnerProduct):
        return None
    return (
        f"{kernel!r}, which would need dense rows. Use a kernel of one Euclidean distance or "
        "inner product, such as Gaussian, Matern or Polynomial"
    )
