"""Fisher's criterion of a kernel matrix, its axes in feature space, and its derivative."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gramsmith.solvers.definite import Definite

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class FisherSolution:
    """The discriminant axes and the criterion."""

    # coefficients of the axes, on which the within-class covariance is the identity, (n, r)
    A: Array
    # between-class over regularised within-class variance on each axis, descending, (r,)
    criteria: Array
    # what was added to a diagonal that was singular to working precision; 0 if nothing
    jitter: float = 0.0
    # of the value by the kernel matrix, symmetric; None where it was not asked for, (n, n)
    derivative: Array | None = None

    @property
    def value(self) -> float:
        """The criterion, the sum over the axes."""
        return float(self.criteria.sum())


def solve_fisher(
    K: Array, V: Array, w: Array, alpha: float = 1e-3, derivative: bool = False
) -> FisherSolution:
    r"""Maximise the ratio of between-class to within-class variance in feature space.

    .. math:: J = \mathrm{tr}\,(S_w + \mu I)^{-1} S_b, \qquad \mu = \alpha\,\mathrm{tr}\,S_t

    S_b is the covariance of the class means, S_w that within classes, S_t their sum. For a target
    of values S_b is what a regression on the values explains, and S_w the rest. The columns of V,
    one-hot classes or ones and values, span the ones vector; K is positive semidefinite. Where all
    samples are one point in feature space there is no axis.
    """
    n, total, root = len(K), float(w.sum()), np.sqrt(w)
    mean = w @ K / total
    variance = float(w @ K.diagonal() / total - mean @ w / total)
    if variance <= 1e-14 * float(np.abs(K).max(initial=0.0)):
        flat = np.zeros((n, n)) if derivative else None
        return FisherSolution(np.zeros((n, 0)), np.zeros(0), derivative=flat)
    mu = alpha * variance
    Q = _explained(root[:, None] * V)
    # S_b = Φ'ΔΔ'Φ, from the part of Q that the mean does not explain
    delta = root[:, None] * (Q - np.outer(root, root @ Q) / total) / np.sqrt(total)

    def within(B: Array) -> Array:
        """Return W^½ B centred within classes."""
        B = root[:, None] * B
        return np.asarray(B - Q @ (Q.T @ B))

    # (S_w + μI)^-1 Φ'Δ = Φ'(Δ - Z)/μ with Z = W^½ R X, R the centring within classes,
    # X = M^-1 R W^½ K Δ and M = R W^½ K W^½ R + nμI: one system serves all axes.
    M = within(within(K).T)
    M = 0.5 * (M + M.T)
    M[np.diag_indices(n)] += total * mu
    factor = Definite(M)
    X = factor.solve(within(K @ delta))
    rest = delta - root[:, None] * (X - Q @ (Q.T @ X))
    T = delta.T @ K @ rest / mu
    values, U = np.linalg.eigh(0.5 * (T + T.T))
    # C means span at most C - 1 directions; what is left of the others is rounding.
    keep = np.argsort(-values)[: V.shape[1] - 1]
    keep = keep[values[keep] > 1e-12 * max(values.max(), np.finfo(float).tiny)]
    A = rest @ (U[:, keep] / np.sqrt(values[keep])) / mu
    dK = None
    if derivative:
        # dJ = <dK, (Δ - Z)(Δ - Z)'>/μ + (n|X|² - J)/μ dμ
        slope = alpha * (total * float(np.vdot(X, X)) - float(values[keep].sum())) / mu
        dK = rest @ rest.T / mu - slope * np.outer(w, w) / total**2
        dK[np.diag_indices(n)] += slope * w / total
    return FisherSolution(A, values[keep], factor.jitter, dK)


def _explained(B: Array) -> Array:
    """Return an orthonormal basis of the columns of B; disjoint columns stay what they are."""
    if np.count_nonzero(B, axis=1).max(initial=0) <= 1:
        return np.asarray(B / np.linalg.norm(B, axis=0))
    Q, R = np.linalg.qr(B / np.linalg.norm(B, axis=0).clip(np.finfo(float).tiny))
    return np.asarray(Q[:, np.abs(R.diagonal()) > 1e-10])
