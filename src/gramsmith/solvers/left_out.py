"""The regulariser of a loss by approximate leave-one-out: one Newton step instead of n fits.

    f_{-i} = f_i + h_i w_i g_i,        h_i = B_i (H - w_i B_i' Λ_i B_i)^-1 B_i'

with slope g_i and curvature Λ_i of a sample, B = (1, Φ) and H the Hessian at the minimum: exact for
the squared loss. Of several classes H is taken for the product of one matrix of features and one of
classes, which makes all h_i cost one eigendecomposition. A row is left out as a whole, whatever its
weight.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg import solve_triangular

from gramsmith.solvers.definite import Definite, pivoted_cholesky
from gramsmith.solvers.losses import Loss
from gramsmith.solvers.newton import fit_features

Array = npt.NDArray[Any]

# Most features on which regularisers are compared. Of three sets of 800 rows all rows chose the
# same in five times the time, 100 features in two one half a decade larger.
FEATURES = 300


def features_of(K: Array, most: int = FEATURES) -> Array:
    """Return orthogonal features Φ with ΦΦ' = K up to rank `most`, shape (n, r)."""
    L = pivoted_cholesky(lambda j: K[:, j], K.diagonal().clip(0.0), most, tol=1e-10).L
    return np.asarray(L @ np.linalg.eigh(L.T @ L)[1])


def usual_alphas(n: int, spread: float) -> Array:
    """Return candidates half a decade apart, descending, for weights of mean one.

    From one under which nothing but the intercept is left to one that costs next to nothing.
    """
    top = np.ceil(2.0 * np.log10(max(n, 2)))
    return np.asarray((spread if spread > 0 else 1.0) * 10.0 ** (0.5 * np.arange(top, -7.0, -1.0)))


def left_out_losses(
    Phi: Array,
    y: Array,
    loss: Loss,
    alphas: Array,
    *,
    sample_weight: Array | None = None,
    fit_intercept: bool = True,
    stop: int | None = None,
    **options: Any,
) -> tuple[Array, list[tuple[Array, Array]]]:
    """Return the mean loss of samples under the model without them, to first order, for every α.

    Beside them decision values and intercepts at every regulariser. Features Φ (n, r) have
    orthogonal columns, y is as `code_targets` gives it, `alphas` descend: each fit starts from the
    one before. After `stop` regularisers that are worse than the best the rest is left.
    """
    w = np.ones(len(Phi)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    out: list[float] = []
    functions: list[tuple[Array, Array]] = []
    start = None
    for alpha in alphas:
        solution = fit_features(
            *(Phi, y, loss, float(alpha)),
            sample_weight=w,
            fit_intercept=fit_intercept,
            start=start,
            **options,
        )
        start = np.concatenate([solution.a, [solution.b]])
        functions.append((solution.f, np.asarray(solution.b)))
        out.append(left_out_loss(Phi, y, loss, float(alpha), solution.f, w, fit_intercept))
        if stop is not None and len(out) - 1 - int(np.argmin(out)) >= stop:
            break
    return np.array(out), functions


def left_out_loss(
    Phi: Array, y: Array, loss: Loss, alpha: float, f: Array, w: Array, fit_intercept: bool = True
) -> float:
    """Return the mean loss of samples under the model without them, f being that of all."""
    g, p = loss.slope(y, f), loss.curvature(y, f)
    if y.ndim == 2:
        move = _move_of_classes(Phi, p, w, w[:, None] * g, alpha, fit_intercept)
    else:
        h = _leverages(Phi, w * p, alpha, fit_intercept)
        move = h * w * g / np.maximum(1.0 - w * p * h, 1e-10)
    return float(np.average(loss.value(y, f + move), weights=w))


def _leverages(Phi: Array, W: Array, alpha: float, fit_intercept: bool) -> Array:
    """Return the diagonal of B (B'WB + α(0, I))^-1 B'."""
    mean, own = _centre(Phi, W, fit_intercept)
    if not Phi.shape[1]:
        return np.full(len(Phi), own)
    B = Phi - mean
    H = (B * W[:, None]).T @ B
    H[np.diag_indices_from(H)] += alpha
    factor = Definite(H).factor[0]
    half = solve_triangular(factor, B.T, lower=True, check_finite=False)
    return np.asarray(np.einsum("ij,ij->j", half, half) + own)


def _move_of_classes(
    Phi: Array, p: Array, w: Array, g: Array, alpha: float, fit_intercept: bool
) -> Array:
    """Return h_i g_i with H ≈ B'diag(v)B ⊗ S + α(0, I), shape (n, C).

    v_i is w_i times the trace of the curvature diag(p) - pp' of a sample, S the mean curvature,
    of trace one.
    """
    v = w * np.maximum(1.0 - np.sum(p * p, axis=1), 1e-10)
    sigma, V = np.linalg.eigh((np.diag(w @ p) - (p * w[:, None]).T @ p) / v.sum())
    # A shift common to all classes changes nothing.
    sigma, V = np.maximum(sigma[1:], 1e-12), V[:, 1:]
    mean, own = _centre(Phi, v, fit_intercept)
    B = Phi - mean
    values, Q = np.linalg.eigh((B * v[:, None]).T @ B)
    h = (B @ Q) ** 2 @ (1.0 / (np.multiply.outer(np.maximum(values, 0.0), sigma) + alpha))
    h += own / sigma
    h /= np.maximum(1.0 - v[:, None] * sigma * h, 1e-10)
    return np.asarray((h * (g @ V)) @ V.T)


def _centre(Phi: Array, W: Array, fit_intercept: bool) -> tuple[Any, float]:
    """Return the mean of the features, and what the intercept adds to every leverage."""
    total = float(W.sum())
    if not fit_intercept or total <= 0.0:
        return 0.0, 0.0
    return W @ Phi / total, 1.0 / total
