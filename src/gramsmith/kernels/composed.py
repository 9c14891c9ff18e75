"""Kernels of mapped samples."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from gramsmith.kernels.base import Array, Gradient, Kernel, Wanted, bracketed
from gramsmith.kernels.embedding import Embedding, prefixed
from gramsmith.kernels.geometry import column_centre
from gramsmith.kernels.maps import ByFeatureCount, LinearMap, SampleMap


class Composed(Kernel):
    """The kernel of mapped samples k(phi(x), phi(z)), written ``k @ map``.

    Parameters
    ----------
    kernel : Kernel
    map : SampleMap
        `LinearMap`, or `FunctionMap` for any function or fitted transformer.

    Examples
    --------
    >>> import numpy as np
    >>> import gramsmith as gs
    >>> (gs.Linear() @ gs.LinearMap(np.array([[2.0]])))([[1.0]], [[3.0]])
    array([[12.]])
    """

    _stored_parameters: ClassVar[dict[str, str]] = {"kernel": "kernel", "map": "map"}

    precedence: ClassVar[int] = 2

    def __init__(self, kernel: Kernel, map: SampleMap) -> None:
        self.kernel = kernel
        self.map = map

    @property
    def requires_vector_input(self) -> bool:
        return bool(self.map.requires_vector_input)

    @property
    def requires_nonnegative_input(self) -> bool:
        return False

    @property
    def differentiable(self) -> bool:
        return self.kernel.differentiable and self._through_map

    @property
    def learnable(self) -> bool:
        # What lies before the map is not needed, unless that is the map's own parameters.
        return self.differentiable if self.map.free else self.kernel.learnable

    @property
    def _through_map(self) -> bool:
        return type(self.map).vjp is not SampleMap.vjp

    def is_stationary(self) -> bool:
        return self.map.linear and self.kernel.is_stationary()

    def _parametrised(self) -> dict[str, Any]:
        return {"kernel": self.kernel, "map": _MapParameters(self.map)}

    def reference(self, *Xs: Any) -> Any:
        # Centring before a linear map keeps the digits that the map of far-away data would lose.
        dense = self.is_stationary() and not sp.issparse(Xs[0])
        centre = column_centre(Xs) if dense else None
        return centre, self.kernel.reference(*(self._phi(X, centre) for X in Xs))

    def _phi(self, X: Any, centre: Array | None) -> Any:
        phi = self.map(X if centre is None else X - centre)
        try:
            self._check_rows(phi, X)
            return self.kernel.check_input(phi)
        except (TypeError, ValueError) as error:
            kind = TypeError if isinstance(error, TypeError) else ValueError
            name = type(self.map).__name__
            raise kind(f"{name}, whose values {self.kernel} takes: {error}") from error

    def _check_rows(self, phi: Any, X: Any) -> None:
        shape = phi.shape if hasattr(phi, "shape") else (len(phi),)
        n = X.shape[0] if hasattr(X, "shape") else len(X)
        if shape[:1] != (n,) or (len(shape) != 2 and self.kernel.requires_vector_input):
            raise ValueError(
                f"Expected one row of numbers per sample, shape ({n}, q), got shape {shape}. "
                "Let the map return a table; a column x is x[:, None]."
            )

    def embed(self, X: Any, reference: Any = None, dtype: Any = np.float64) -> Embedding:
        centre, inner = reference or (None, None)
        return self.kernel.embed(self._phi(X, centre), inner, dtype)

    def tile(self, a: Embedding, b: Embedding) -> Array:
        return self.kernel.tile(a, b)

    def tile_into(self, a: Embedding, b: Embedding, out: Array) -> Array:
        return self.kernel.tile_into(a, b, out)

    def diagonal(self, a: Embedding) -> Array:
        return self.kernel.diagonal(a)

    def tile_vjp(
        self, a: Embedding, b: Embedding, W: Array, K: Any = None, wants: Wanted = "samples"
    ) -> tuple[Embedding, Embedding, Gradient]:
        da, db, own = self.kernel.tile_vjp(a, b, W, K, wants=self._wanted_before_map(wants))
        return da, db, prefixed("kernel", own)

    def _wanted_before_map(self, wants: Wanted) -> Wanted:
        if wants == "parameters" and not self.map.free:
            return "parameters"
        # A diagonal map is a factor per feature; a stationary kernel is centred before the map.
        diagonal = isinstance(self.map, ByFeatureCount) or (
            isinstance(self.map, LinearMap) and np.ndim(self.map.S) == 1
        )
        return "scales" if wants != "samples" and diagonal and self.is_stationary() else "samples"

    def diagonal_vjp(self, a: Embedding, w: Array) -> tuple[Embedding, Gradient]:
        da, own = self.kernel.diagonal_vjp(a, w)
        return da, prefixed("kernel", own)

    def embed_vjp(
        self, X: Any, reference: Any, E: Embedding, dE: Embedding
    ) -> tuple[Any, Gradient]:
        centre, inner = reference
        moved = X if centre is None else X - centre
        dphi, own = self.kernel.embed_vjp(self._phi(X, centre), inner, E, dE)
        if dphi is None or not self._through_map:
            return None, prefixed("kernel", own)
        dX, outer = self.map.vjp(moved, dphi)
        return dX, {**prefixed("kernel", own), **prefixed("map", outer)}

    def tile_jacobian(self, a: Embedding, b: Embedding) -> Gradient:
        return prefixed("kernel", self.kernel.tile_jacobian(a, b))

    def features(self, X: Any, reference: Any = None) -> Any:
        centre, inner = reference or (None, None)
        return self.kernel.features(self._phi(X, centre), inner)

    def formula(self) -> str:
        inner = bracketed(self.kernel, 3)
        name = type(self.map).__name__
        shape = f"{np.shape(self.map.S)}" if hasattr(self.map, "S") else "(...)"
        return f"{inner} @ {name}{shape}"


class _MapParameters:
    """The parameters of a map, named like those of a kernel."""

    def __init__(self, map: SampleMap) -> None:
        self.map = map

    def parameter_names(self, *, kinds: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(self.map.free) if "free" in kinds else ()
