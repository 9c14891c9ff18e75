"""Kernels as ONNX operators: the matrix of new rows with those that a model keeps.

A `PairKernel` and a `FunctionOf` a kernel bring their own formula, which is traced; what is written
here are the geometries, and the kernels that are no function of one number.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from gramsmith.export.graph import Array, Tensor, traced
from gramsmith.kernels import (
    AllSubsets,
    Bilinear,
    ByFeatureCount,
    Composed,
    Constant,
    FunctionMap,
    GaussianOf,
    Kernel,
    Leaves,
    LinearMap,
    Mixed,
    Normalized,
    Nystroem,
    Product,
    RandomFourier,
    Sum,
    TakeColumns,
    Tanimoto,
    White,
)
from gramsmith.kernels.algebra import Fixed, FunctionOf
from gramsmith.kernels.geometry import (
    ChiSquare,
    InnerProduct,
    Minkowski,
    PairKernel,
    SquaredEuclidean,
)
from gramsmith.kernels.maps import SampleMap
from gramsmith.kernels.symbolic import SymbolicKernel
from gramsmith.learning import SpectralMap

# The error of |x|² + |z|² - 2x'z up to which differences need not be formed.
EXPANDED = 1e-13


class NotExportable(ValueError):
    """Raised for what has no counterpart in ONNX; the message gives the reason."""


def matrix(kernel: Kernel, X: Tensor, Z: Array) -> Tensor:
    """Return the kernel of the rows X with the rows Z, shape (n, len(Z)).

    Parameters
    ----------
    kernel : Kernel
    X : Tensor of shape (n, p)
    Z : array of shape (s, p)

    Returns
    -------
    Tensor of shape (n, s)
    """
    check_known(kernel)
    for kind, formula in MATRICES.items():
        if isinstance(kernel, kind):
            return formula(kernel, X, np.asarray(Z, dtype=np.float64))
    raise refusal(kernel)


def diagonal(kernel: Kernel, X: Tensor, width: int) -> Tensor:
    """Return the kernel of every row, of `width` features, with itself, shape (n, 1)."""
    check_known(kernel)
    for kind, formula in DIAGONALS.items():
        if isinstance(kernel, kind):
            return formula(kernel, X, width)
    raise refusal(kernel)


def mapped(map: SampleMap, X: Tensor, width: int) -> Tensor:
    """Return the map of rows with `width` features."""
    check_known(map)
    if isinstance(map, LinearMap):
        S = np.asarray(map.S, dtype=np.float64)
        return X * S if S.ndim == 1 else X @ S
    if isinstance(map, TakeColumns):
        return X @ np.eye(width)[:, map.index(width)]
    if isinstance(map, ByFeatureCount):
        return X * float(width ** -float(map.power))
    if isinstance(map, SpectralMap):
        return matrix(map.kernel, X, dense(map.samples, map.kernel)) @ map.coef
    raise refusal(map)


def dense(samples: Any, kernel: Kernel) -> Array:
    """Return the rows that a model keeps, or raise if they are no vectors."""
    rows = samples.toarray() if sp.issparse(samples) else np.asarray(samples)
    if rows.ndim != 2 or rows.dtype.kind not in "fiub":
        raise refusal(kernel)
    return rows.astype(np.float64)


def check_known(what: Any) -> None:
    """Raise for a class from elsewhere that computes itself what is written here."""
    for name in ("embed", "tile", "diagonal", "__call__"):
        home = next((c for c in type(what).__mro__ if name in vars(c)), SampleMap)
        if not home.__module__.startswith("gramsmith."):
            raise refusal(what)


def refusal(what: Any) -> NotExportable:
    """Return the error for a kernel or a map without ONNX operators."""
    advice = "Keep the model with save_model."
    if isinstance(what, FunctionMap):
        reason, advice = "it is a function of Python", "Predict with it in Python."
    elif isinstance(what, AllSubsets):
        reason = "its product over items or columns is not written in ONNX operators here"
    elif isinstance(what, SymbolicKernel):
        reason = "it compares strings, sets or other objects, for which ONNX has no operators"
    else:
        reason, advice = "its formula is known to Python only", "Predict with it in Python."
    return NotExportable(
        f"Expected kernels and maps of vectors made of gramsmith's own, got "
        f"{type(what).__name__}: {reason}. {advice}"
    )


# ---- pairs of rows ---------------------------------------------------------------------------


def _pair_kernel(kernel: PairKernel, X: Tensor, Z: Array) -> Tensor:
    scale, geometry = np.asarray(kernel.scale, dtype=np.float64), kernel.geometry
    if isinstance(geometry, InnerProduct):
        s = X @ Z.T
    elif isinstance(geometry, SquaredEuclidean):
        s = _squared_distance(X, Z, scale, exact=geometry.cusp)
    elif isinstance(geometry, Minkowski):
        s = _over_features(lambda x, z: abs(x - z) ** geometry.norm, X / scale, Z / scale)
    elif isinstance(geometry, ChiSquare):
        s = _over_features(_chi_square, X, Z)
    else:
        raise refusal(kernel)
    return traced(kernel.value, s)


def _squared_distance(X: Tensor, Z: Array, scale: Array, exact: bool) -> Tensor:
    centre = Z.mean(axis=0)
    Y = (Z - centre) / scale
    squares = np.einsum("ij,ij->i", Y, Y)
    if exact or np.finfo(float).eps * squares.max(initial=0.0) > EXPANDED:
        return _over_features(lambda x, z: (x - z) * (x - z), X - centre, Z - centre, 1 / scale**2)
    moved = (X - centre) / scale
    s = (moved * moved).total() + squares - moved @ (2.0 * Y.T)
    return s.call("Max", np.float64(0.0))


def _over_features(
    part: Callable[[Tensor, Array], Tensor], X: Tensor, Z: Array, weight: Any = 1.0
) -> Tensor:
    """Return Σ_k weight_k part(x_k, z_k), one feature at a time so that memory stays n x s."""
    p = Z.shape[1]
    weights = np.broadcast_to(np.asarray(weight, dtype=np.float64), (p,))
    columns = X.graph.call_many("Split", p, X, axis=1, num_outputs=p) if p > 1 else [X]
    terms = [part(x, Z[None, :, k]) for k, x in enumerate(columns)]
    terms = [t if w == 1.0 else t * w for t, w in zip(terms, weights, strict=True)]
    return terms[0] if p == 1 else X.graph.call("Sum", *terms)


def _chi_square(x: Tensor, z: Array) -> Tensor:
    total = (x + z).call("Max", np.float64(np.finfo(float).tiny))
    return (x - z) * (x - z) / total


def _tanimoto(kernel: Tanimoto, X: Tensor, Z: Array) -> Tensor:
    s = X @ Z.T
    union = (X * X).total() + np.einsum("ij,ij->i", Z, Z) - s
    return s / (union > 0.0).call("Where", union, np.float64(1.0))


def _composed(kernel: Composed, X: Tensor, Z: Array) -> Tensor:
    # Centring before a linear map keeps the digits that the map of far-away data would lose.
    centre = Z.mean(axis=0) if kernel.is_stationary() and len(Z) else np.zeros(Z.shape[1])
    moved = X - centre if np.any(centre) else X
    return matrix(kernel.kernel, mapped(kernel.map, moved, Z.shape[1]), kernel.map(Z - centre))


def _normalized(kernel: Normalized, X: Tensor, Z: Array) -> Tensor:
    of_rows = kernel.from_diagonal(kernel.kernel.diag(Z))
    of_new = _inverse_root(diagonal(kernel.kernel, X, Z.shape[1]))
    return matrix(kernel.kernel, X, Z) * of_new * of_rows


def _inverse_root(d: Tensor) -> Tensor:
    safe = (d > 0.0).call("Where", d, np.float64(np.inf))  # 1 / sqrt(inf) is 0
    return 1.0 / np.sqrt(safe)


def _mixed(kernel: Mixed, X: Tensor, Z: Array) -> Tensor:
    members = kernel.members(Z.shape[1])
    scales = np.broadcast_to(np.asarray(kernel.length_scale, dtype=np.float64), len(members))
    found: Tensor | None = None
    for features, scale in zip(members, scales, strict=True):
        s = _squared_distance(X.columns(features), Z[:, features], scale, exact=False)
        part = s * -0.5 if kernel.combine == "product" else (s * -0.5).call("Exp")
        found = part if found is None else found + part
    if found is None:
        raise refusal(kernel)
    return found.call("Exp") if kernel.combine == "product" else found * (1.0 / len(members))


def _gaussian_of(kernel: GaussianOf, X: Tensor, Z: Array) -> Tensor:
    s = matrix(kernel.kernel, X, Z) * 2.0 - diagonal(kernel.kernel, X, Z.shape[1])
    s = (s - kernel.kernel.diag(Z)).call("Min", np.float64(0.0))
    return np.exp(s * (0.5 / float(kernel.length_scale) ** 2))


def _constant(kernel: Constant, X: Tensor, Z: Array) -> Tensor:
    return X.graph.column(float(kernel.value)) + np.zeros((1, len(Z)))


def _landmark_features(kernel: Nystroem, X: Tensor) -> Tensor:
    if kernel.landmarks is None:
        raise refusal(kernel)
    landmarks = dense(kernel.landmarks, kernel)
    _, _, _, root = kernel.reference(landmarks)
    return matrix(kernel.kernel, X, landmarks) @ root


def _waves(kernel: RandomFourier, X: Tensor, Z: Array) -> Tensor:
    omega = kernel.reference(Z)
    half = omega.shape[1]
    U, phase = kernel.features(Z), X @ omega
    scale = half**-0.5
    return np.cos(phase) @ (scale * U[:, :half].T) + np.sin(phase) @ (scale * U[:, half:].T)


def _leaves(kernel: Leaves, X: Tensor, Z: Array) -> Tensor:
    nodes = traced(kernel.leaves, X).astype(np.float64)

    def same(x: Tensor, z: Array) -> Tensor:
        return x.call("Equal", z).astype(np.float64)

    others = kernel.leaves(Z).astype(np.float64)
    return _over_features(same, nodes, others) * (1.0 / len(kernel.roots))


MATRICES: dict[type, Callable[[Any, Tensor, Array], Tensor]] = {
    PairKernel: _pair_kernel,
    Sum: lambda k, X, Z: matrix(k.k1, X, Z) + matrix(k.k2, X, Z),
    Product: lambda k, X, Z: matrix(k.k1, X, Z) * matrix(k.k2, X, Z),
    FunctionOf: lambda k, X, Z: traced(k.value, matrix(k.kernel, X, Z)),
    Fixed: lambda k, X, Z: matrix(k.kernel, X, Z),
    Composed: _composed,
    Normalized: _normalized,
    GaussianOf: _gaussian_of,
    Mixed: _mixed,
    Tanimoto: _tanimoto,
    Bilinear: lambda k, X, Z: X @ (np.asarray(k.B, dtype=np.float64) @ Z.T),
    Constant: _constant,
    White: lambda k, X, Z: X.graph.column(0.0) + np.zeros((1, len(Z))),  # new rows share no noise
    Nystroem: lambda k, X, Z: _landmark_features(k, X) @ k.features(Z).T,
    RandomFourier: _waves,
    Leaves: _leaves,
}

# ---- a row with itself -----------------------------------------------------------------------


def _pair_diagonal(kernel: PairKernel, X: Tensor, width: int) -> Tensor:
    inner = isinstance(kernel.geometry, InnerProduct)
    return traced(kernel.value, (X * X).total() if inner else X.graph.column(0.0))


def _composed_diagonal(kernel: Composed, X: Tensor, width: int) -> Tensor:
    narrow = kernel.map(np.zeros((1, width))).shape[1]
    return diagonal(kernel.kernel, mapped(kernel.map, X, width), narrow)


def _square(U: Tensor) -> Tensor:
    return (U * U).total()


def _is_positive(d: Tensor) -> Tensor:
    return (d > 0.0).astype(np.float64)


DIAGONALS: dict[type, Callable[[Any, Tensor, int], Tensor]] = {
    PairKernel: _pair_diagonal,
    Sum: lambda k, X, p: diagonal(k.k1, X, p) + diagonal(k.k2, X, p),
    Product: lambda k, X, p: diagonal(k.k1, X, p) * diagonal(k.k2, X, p),
    FunctionOf: lambda k, X, p: traced(k.value, diagonal(k.kernel, X, p)),
    Fixed: lambda k, X, p: diagonal(k.kernel, X, p),
    Composed: _composed_diagonal,
    Normalized: lambda k, X, p: _is_positive(diagonal(k.kernel, X, p)),
    GaussianOf: lambda k, X, p: X.graph.column(1.0),
    Mixed: lambda k, X, p: X.graph.column(1.0),
    Tanimoto: lambda k, X, p: _is_positive((X * X).total()),
    Bilinear: lambda k, X, p: ((X @ np.asarray(k.B, dtype=np.float64)) * X).total(),
    Constant: lambda k, X, p: X.graph.column(float(k.value)),
    White: lambda k, X, p: X.graph.column(float(k.noise)),
    Nystroem: lambda k, X, p: _square(_landmark_features(k, X)),
    RandomFourier: lambda k, X, p: X.graph.column(1.0),
    Leaves: lambda k, X, p: X.graph.column(1.0),
}
