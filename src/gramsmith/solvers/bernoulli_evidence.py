"""Sparse Bayesian classification: Laplace approximations, each good for a few exact actions."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from gramsmith.solvers.definite import Definite
from gramsmith.solvers.evidence import Basis, EvidenceSolution, Posterior, pack

Array = npt.NDArray[Any]


def fit_bernoulli_evidence(
    Phi: Array | Basis,
    y: Array,
    *,
    sample_weight: Array | None = None,
    tol: float = 1e-3,
    max_iter: int = 1000,
    inner: int = 8,
) -> EvidenceSolution:
    """Fit sparse Bayesian classification by Laplace's approximation.

    Parameters
    ----------
    Phi : array of shape (n, M), or Basis
        Basis functions in columns; a Basis brings its own weights.
    y : array of shape (n,)
        Classes 0 and 1.
    sample_weight : array of shape (n,), optional
        Positive weights; weight 2 is the same as repeating a row.
    tol : float, default=1e-3
        Stop when no action raises the log evidence by more.
    max_iter : int, default=1000
        Limit of Laplace approximations.
    inner : int, default=8
        Most actions on one Laplace approximation.

    Returns
    -------
    EvidenceSolution

    Examples
    --------
    >>> import numpy as np
    >>> from gramsmith.solvers import fit_bernoulli_evidence
    >>> rng = np.random.default_rng(0)
    >>> Phi = rng.normal(size=(200, 10))
    >>> y = (3 * Phi[:, 2] + rng.logistic(size=200) > 0).astype(float)
    >>> found = fit_bernoulli_evidence(Phi, y)
    >>> found.active[np.abs(found.mean) > 1]
    array([2])
    """
    y = np.asarray(y, dtype=np.float64)
    w = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    basis = Phi if isinstance(Phi, Basis) else Basis(np.asarray(Phi, dtype=np.float64), w)
    post, B, value = laplace(basis, y, [], np.empty(0), np.empty(0))
    history = [value]
    status, stale, n_iter = "max_iter", 0, 0
    for n_iter in range(1, max_iter + 1):  # noqa: B007
        moved = 0
        for _ in range(inner):
            best, gain = post.actions()
            i = int(np.argmax(gain))
            if gain[i] <= 2.0 * tol:
                break
            post.act(i, float(best[i]), lambda i: basis.product(B, basis.Phi[:, i]))  # noqa: B023
            moved += 1
        if not moved:
            status = "converged"
            break
        post, B, value = laplace(basis, y, post.active, post.alpha, post.mean)
        stale = 0 if value > max(history) + tol else stale + 1
        history.append(value)
        # The approximation moves with the mode, so the last actions may undo each other for ever.
        inner = max(1, inner // 2) if stale else inner
        if stale >= 10:
            status = "converged"
            break
    return pack(
        post,
        basis,
        1.0,
        history,
        status=status,
        advice="" if status == "converged" else f"Raise max_iter above {max_iter}, or tol.",
        n_iter=n_iter,
    )


def laplace(
    basis: Basis, y: Array, active: list[int], alpha: Array, start: Array
) -> tuple[Posterior, Array, float]:
    """Find the mode of the weights at fixed precisions; return posterior, curvature, evidence."""
    w, X = basis.weight, basis.Phi[:, active]
    mu = start.copy()
    f = X @ mu

    def objective(mu: Array, f: Array) -> float:
        return float(w @ (np.logaddexp(0.0, f) - y * f) + 0.5 * alpha @ (mu * mu))

    value = objective(mu, f)
    for _ in range(50):
        p = expit(f)
        # Separable classes drive the curvature to zero; the floor keeps the statistics finite.
        B = w * np.maximum(p * (1.0 - p), 1e-10)
        if not active:
            factor = None
            break
        gradient = X.T @ (w * (p - y)) + alpha * mu
        H = (X * B[:, None]).T @ X
        H[np.diag_indices_from(H)] += alpha
        factor = Definite(H, limit=1e-6)
        step = factor.solve(gradient)
        promise = float(gradient @ step)
        if promise <= 1e-10 * max(abs(value), 1e-10):
            break
        df, t = X @ step, 1.0
        while t > 1e-12 and objective(mu - t * step, f - t * df) > value - 1e-4 * t * promise:
            t *= 0.5
        if t <= 1e-12:
            break
        mu, f = mu - t * step, f - t * df
        value = objective(mu, f)
    residual = basis.Phi.T @ (w * (y - expit(f)))
    P = basis.product(B, X)
    if factor is None:
        covariance, log_det = np.empty((0, 0)), 0.0
    else:
        covariance = factor.solve(np.eye(len(active)))
        log_det = 2.0 * float(np.sum(np.log(np.abs(factor.factor[0].diagonal()))))
    S = basis.diagonal(B) - np.einsum("ij,ij->i", P @ covariance, P)
    evidence = -value + 0.5 * float(np.sum(np.log(alpha))) - 0.5 * log_det
    return Posterior(S, residual, P, list(active), alpha.copy(), covariance, mu), B, evidence
