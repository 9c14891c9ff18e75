"""Where the search for a linear map begins, and how far it may go."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, eigsh

from gramsmith.learning.weights import column_moments

Array = npt.NDArray[Any]

STRUCTURES = ("diagonal", "full", "low_rank")
DENSE = 1000  # features up to which the covariance of sparse rows is a dense matrix
REACH = 1e3  # how many times longer than its start a weight may become


def check_structure(structure: str, rank: int | None, p: int) -> int:
    """Return the number q of columns of S, or raise."""
    if structure not in STRUCTURES:
        raise ValueError(f"Expected structure among {', '.join(STRUCTURES)}, got {structure!r}.")
    if structure != "low_rank":
        return p
    if rank is None:
        return min(2, p)
    if int(rank) != rank or not 1 <= rank <= p:
        raise ValueError(
            f"Expected 1 <= rank <= {p} (the number of features), got {rank!r}. "
            f'Use a rank in that range, or structure="full".'
        )
    return int(rank)


def make_start(
    X: Any,
    structure: str,
    q: int,
    init: Any,
    scale: float | None,
    rng: Any,
    w: Array | None = None,
) -> Array:
    """Return the first S: shape (p,) for a diagonal map, else (p, q).

    The rank of S never grows and a weight of zero stays zero, because every derivative has S as a
    factor; hence a start of zeros is refused.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, p)
    structure : {"diagonal", "full", "low_rank"}
    q : int
    init : array, optional
        S itself.
    scale : float or None
        Weight of every feature; default one over the root mean squared distance of two samples.
    rng : numpy.random.RandomState
    w : array of shape (n,), optional
        Weights.
    """
    p = X.shape[1]
    if init is not None:
        S = np.array(init, dtype=np.float64)
        shape = (p,) if structure == "diagonal" else (p, q)
        if S.shape != shape:
            raise ValueError(f"Expected init of shape {shape}, got {S.shape}. Pass S, not S'.")
        if not np.isfinite(S).all() or not S.any():
            raise ValueError(
                "Expected a finite init that is not all zero, got "
                f"{'zeros' if not S.any() else 'NaN or infinity'}. Zero is stationary: every "
                "derivative has S as a factor. Use, for example, the identity."
            )
        return np.abs(S) if structure == "diagonal" else S
    mean, variance = column_moments(X, w)
    if scale is None:
        spread = float(2.0 * variance.sum())
        scale = 1.0 / np.sqrt(spread) if np.isfinite(spread) and spread > 0 else 1.0
    if structure == "diagonal":
        return np.full(p, scale)
    if structure == "full":
        return np.asarray(scale * np.eye(p))
    # The directions of largest variance, turned a little so that no direction is out of reach.
    first = _principal(X, mean, np.ones(X.shape[0]) if w is None else w, q)
    S = first * signs(first) + 0.1 / np.sqrt(p) * rng.standard_normal((p, q))
    return np.asarray(scale * np.sqrt(p / q) * S)


def _principal(X: Any, mean: Array, w: Array, q: int) -> Array:
    """Return the q directions of largest variance, shape (p, q)."""
    p = X.shape[1]
    if not sp.issparse(X):
        centred = np.asarray(X, dtype=np.float64) - mean
        scatter = (centred * w[:, None]).T @ centred
    elif p <= DENSE or q >= p // 2:
        scatter = (X.multiply(w[:, None]).T @ X).toarray() - w.sum() * np.outer(mean, mean)
    else:

        def product(v: Array) -> Array:
            v = v.ravel()
            return np.asarray(X.T @ (w * (X @ v)) - w.sum() * mean * (mean @ v))

        scatter = LinearOperator((p, p), matvec=product, dtype=np.float64)
        # A fixed first vector, so that the result does not depend on chance.
        values, found = eigsh(scatter, k=q, which="LA", v0=np.ones(p) + np.arange(p) / p)
        return np.asarray(found[:, np.argsort(-values)])
    return np.asarray(np.linalg.eigh(scatter)[1][:, ::-1][:, :q])


def signs(V: Array) -> Array:
    """Return ±1 per column, so that the largest entry of every column of V * signs is positive.

    An eigenvector has no sign of its own; without a rule, rounding would choose it.
    """
    top = np.abs(V).argmax(axis=0)
    return np.where(V[top, np.arange(len(top))] < 0, -1.0, 1.0)


def reach(S: Array, X: Any, diagonal: bool, w: Array | None = None) -> Array:
    """Return bounds on the entries of S, shape (S.size, 2).

    Separable data can drive weights to infinity; 1000 times the start, relative to the spread of
    the feature, is where that ends.
    """
    spread = np.sqrt(column_moments(X, w)[1])
    top = spread.max(initial=0.0) or 1.0
    relative = np.where(spread > 0, top / np.where(spread > 0, spread, 1.0), 1.0)
    high = REACH * np.abs(S).max() * relative
    if not diagonal:
        high = np.repeat(high, S.shape[1])
    return np.stack([np.zeros_like(high) if diagonal else -high, high], axis=1)
