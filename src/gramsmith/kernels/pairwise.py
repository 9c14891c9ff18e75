"""Kernels that are a scalar function of one number per pair: two formulas each."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from gramsmith.kernels.base import Array, Gradient, Kernel, Wanted
from gramsmith.kernels.embedding import Embedding
from gramsmith.kernels.geometry import Geometry
from gramsmith.kernels.sparse_products import feature_distances


class PairKernel(Kernel):
    """k(x, z) = value(s(x, z)), where the geometry gives s.

    A subclass gives `geometry`, `value(s)`, `slope(s)` (the derivative of value), and `partials(s)`
    if it has parameters besides `length_scale`, which belongs to the geometry.
    """

    geometry: ClassVar[Geometry]
    length_scale: Any
    scales_inputs: ClassVar[bool] = False  # whether `length_scale` divides the inputs

    def value(self, s: Array) -> Array:
        """Return the kernel as a function of s; may overwrite s."""
        raise self._no_derivative()

    def slope(self, s: Array) -> Array:
        """Return the derivative of `value`."""
        raise self._no_derivative()

    def partials(self, s: Array) -> Gradient:
        """Return the derivative of `value` by each parameter except `length_scale`."""
        return {}

    @property
    def scale(self) -> Any:
        """What the inputs are divided by; proportional to `length_scale`."""
        return self.length_scale if self.scales_inputs else 1.0

    @property
    def accepts_sparse(self) -> bool:
        return self.geometry.sparse

    def check_input(self, X: Any) -> Any:
        X = super().check_input(X)
        size = np.size(self.scale)
        if np.ndim(self.scale) and size != X.shape[1]:
            raise ValueError(
                f"{type(self).__name__}: expected one length_scale or one per feature "
                f"({X.shape[1]}), got {size}. Match length_scale to the columns of X."
            )
        return X

    def reference(self, *Xs: Any) -> Any:
        return self.geometry.reference(*Xs)

    def embed(self, X: Any, reference: Any = None, dtype: Any = np.float64) -> Embedding:
        return self.geometry.embed(X, reference, self.scale, dtype)

    def tile(self, a: Embedding, b: Embedding) -> Array:
        return self.value(self.geometry.pair(a, b))

    def diagonal(self, a: Embedding) -> Array:
        return np.asarray(self.value(self.geometry.diagonal(a)), dtype=np.float64)

    def chained(
        self, a: Embedding, b: Embedding, W: Array, K: Array | None
    ) -> tuple[Array, Gradient]:
        """Return W * slope(s) and the derivatives by the parameters of `value`."""
        s = self.geometry.pair(a, b)
        by_parameter = {name: np.vdot(W, part) for name, part in self.partials(s).items()}
        return W * self.slope(s), by_parameter

    def tile_vjp(
        self, a: Embedding, b: Embedding, W: Array, K: Any = None, wants: Wanted = "samples"
    ) -> tuple[Embedding, Embedding, Gradient]:
        V, by_parameter = self.chained(a, b, W, K)
        if wants == "parameters" and not self.scales_inputs:
            return None, None, by_parameter
        if wants == "parameters" and sp.issparse(self.geometry.points(a)):
            # the derivative by sparse rows would be dense
            return None, None, {**by_parameter, "length_scale": self._by_length(a, b, V)}
        da, db = self.geometry.pair_vjp(a, b, V, scales=wants != "samples")
        return da, db, by_parameter

    def _by_length(self, a: Embedding, b: Embedding, V: Array) -> Any:
        # s is proportional to 1 / l², feature by feature
        if np.ndim(self.length_scale):
            A, B = (self.geometry.points(e) for e in (a, b))
            return -2.0 * feature_distances(A, B, V) / np.asarray(self.length_scale)
        total = np.vecdot(V, self.geometry.pair(a, b)).sum(dtype=np.float64)
        return -2.0 * float(total) / float(self.length_scale)

    def diagonal_vjp(self, a: Embedding, w: Array) -> tuple[Embedding, Gradient]:
        s = self.geometry.diagonal(a)
        own = {name: np.vdot(w, part) for name, part in self.partials(s).items()}
        return self.geometry.diagonal_vjp(a, w * self.slope(s)), own

    def embed_vjp(
        self, X: Any, reference: Any, E: Embedding, dE: Embedding
    ) -> tuple[Any, Gradient]:
        if dE is None or not self.scales_inputs:
            return dE, {}
        Z = self.geometry.points(E)
        # Z is proportional to 1 / l, hence dl_k = -Σ_i dZ_ik Z_ik / l_k
        product = Z.multiply(dE) if hasattr(Z, "multiply") else Z * dE
        own = -np.asarray(product.sum(axis=0)).ravel() / self.length_scale
        dX = dE / np.asarray(self.scale)
        return dX, {"length_scale": own if np.ndim(self.length_scale) else float(own.sum())}

    def tile_jacobian(self, a: Embedding, b: Embedding) -> Gradient:
        s = self.geometry.pair(a, b)
        jacobian = {name: part[..., None] for name, part in self.partials(s.copy()).items()}
        if self.scales_inputs:
            parts = self.geometry.per_feature(a, b) if np.ndim(self.length_scale) else s[..., None]
            ratio = -self.geometry.degree() / np.asarray(self.length_scale)
            jacobian["length_scale"] = parts * self.slope(s)[..., None] * ratio
        return jacobian
