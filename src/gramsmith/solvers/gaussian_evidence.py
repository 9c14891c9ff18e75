"""Sparse Bayesian regression: noise of unknown precision, every action raises the evidence."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize_scalar

from gramsmith.solvers.definite import Definite
from gramsmith.solvers.evidence import Basis, EvidenceSolution, Posterior, pack

Array = npt.NDArray[Any]

# The evidence has several optima. Noise of a tenth of the spread is the usual start; next to none
# finds those of targets with next to no noise, and nothing but noise those that are smoothest.
STARTS = (1e2, 1e6, 1.0)


def fit_gaussian_evidence(
    Phi: Array | Basis,
    t: Array,
    *,
    sample_weight: Array | None = None,
    tol: float = 1e-3,
    max_iter: int = 10_000,
    refresh: int = 5,
) -> EvidenceSolution:
    """Fit sparse Bayesian regression; the evidence rises with every action.

    Three climbs start from different noise, and the best one is returned.

    Parameters
    ----------
    Phi : array of shape (n, M), or Basis
        Basis functions in columns; a Basis brings its own weights.
    t : array of shape (n,)
        Targets, centred.
    sample_weight : array of shape (n,), optional
        Positive weights; weight 2 is the same as repeating a row.
    tol : float, default=1e-3
        Stop when no action raises the log evidence by more, nor the noise.
    max_iter : int, default=10000
        Limit of actions.
    refresh : int, default=5
        Actions between two updates of the noise.

    Returns
    -------
    EvidenceSolution

    Examples
    --------
    >>> import numpy as np
    >>> from gramsmith.solvers import fit_gaussian_evidence
    >>> rng = np.random.default_rng(0)
    >>> Phi = rng.normal(size=(50, 20))
    >>> t = 3 * Phi[:, 4] - 2 * Phi[:, 7] + 0.1 * rng.normal(size=50)
    >>> found = fit_gaussian_evidence(Phi, t)
    >>> found.active[np.abs(found.mean) > 0.1]
    array([4, 7])
    """
    t = np.asarray(t, dtype=np.float64)
    w = np.ones(len(t)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    basis = Phi if isinstance(Phi, Basis) else Basis(np.asarray(Phi, dtype=np.float64), w)
    # The limits of the precisions are for targets of unit size.
    size = float(np.sqrt(basis.weight @ (t * t) / basis.weight.sum())) or 1.0
    t = t / size
    found = [
        _climb(GaussianModel(basis, t, precision), tol, max_iter, refresh) for precision in STARTS
    ]
    # Equal optima differ by the tolerance; the first is then as good as any.
    better = [f for f in found[1:] if f.log_evidence > found[0].log_evidence + 100.0 * tol]
    best = max(better, key=lambda f: f.log_evidence) if better else found[0]
    return _in_units(best, size, float(basis.weight.sum()))


def _in_units(found: EvidenceSolution, size: float, n: float) -> EvidenceSolution:
    """Return the model of targets that were divided by `size`, for the targets as they came."""
    shift = n * float(np.log(size))
    return replace(
        found,
        mean=found.mean * size,
        covariance=found.covariance * size**2,
        alpha=found.alpha / size**2,
        beta=found.beta / size**2,
        log_evidence=found.log_evidence - shift,
        history=[value - shift for value in found.history],
    )


def _climb(model: GaussianModel, tol: float, max_iter: int, refresh: int) -> EvidenceSolution:
    """Take the best action until none is worth it, the noise updated every few actions."""
    post = model.posterior([], np.empty(0))
    history = [model.log_evidence(post)]
    status, fresh, n_iter = "max_iter", True, 0
    for n_iter in range(1, max_iter + 1):
        best, gain = post.actions()
        i = int(np.argmax(gain))
        if gain[i] > 2.0 * tol:
            post.act(i, float(best[i]), model.column)
            history.append(history[-1] + 0.5 * float(gain[i]))
            fresh = False
        elif fresh:
            status = "converged"
            break
        if gain[i] <= 2.0 * tol or n_iter % refresh == 0:
            before = model.log_evidence(post)
            model.update_noise(post)
            post = model.posterior(post.active, post.alpha)
            history[-1] = max(before, model.log_evidence(post))
            fresh = history[-1] - before <= tol
    return pack(
        post,
        model.basis,
        model.beta,
        history,
        status=status,
        advice="" if status == "converged" else f"Raise max_iter above {max_iter}, or tol.",
        n_iter=n_iter,
    )


class GaussianModel:
    """Regression with noise precision β: everything that is fixed while β is."""

    def __init__(self, basis: Basis, t: Array, precision: float = 100.0) -> None:
        self.basis, self.t, self.w = basis, t, basis.weight
        self.n = float(self.w.sum())
        self.tt = float(self.w @ (t * t))
        variance = self.tt / self.n
        self.top = 1e10 / variance if variance > 0 else 1e10
        self.beta = precision / variance if variance > 0 else self.top
        self.square = basis.diagonal(self.w)
        self.projection = basis.product(self.w, t)
        self._columns: dict[int, Array] = {}

    def gram(self, i: int) -> Array:
        if i not in self._columns:
            self._columns[i] = self.basis.product(self.w, self.basis.Phi[:, i])
        return self._columns[i]

    def column(self, i: int) -> Array:
        return self.beta * self.gram(i)

    def posterior(self, active: list[int], alpha: Array) -> Posterior:
        beta = self.beta
        if not active:
            P = np.empty((len(self.square), 0))
            zero = np.empty(0)
            S, Q = beta * self.square, beta * self.projection
            return Posterior(S, Q, P, [], zero, np.empty((0, 0)), zero)
        P = beta * np.column_stack([self.gram(i) for i in active])
        H = P[active] + np.diag(alpha)
        factor = Definite(0.5 * (H + H.T))
        covariance = factor.solve(np.eye(len(active)))
        mean = beta * factor.solve(self.projection[active])
        S = beta * self.square - np.einsum("ij,ij->i", P @ covariance, P)
        Q = beta * self.projection - P @ mean
        return Posterior(S, Q, P, list(active), alpha.copy(), covariance, mean)

    def _spectrum(self, post: Posterior) -> tuple[Array, Array]:
        """Return d and z with Φ'WΦ = A^½V d V'A^½ and z = V'A^-½ Φ'Wt on the active columns."""
        if not post.active:
            return np.empty(0), np.empty(0)
        root = np.sqrt(post.alpha)
        E = np.column_stack([self.gram(i) for i in post.active])[post.active]
        d, V = np.linalg.eigh(0.5 * (E + E.T) / np.outer(root, root))
        return np.maximum(d, 0.0), V.T @ (self.projection[post.active] / root)

    def _value(self, beta: float, d: Array, z: Array) -> float:
        fit = self.tt - float(np.sum(beta * z * z / (1.0 + beta * d)))
        size = self.n * np.log(2.0 * np.pi / beta) + float(np.sum(np.log1p(beta * d)))
        return float(-0.5 * (size + beta * max(fit, 0.0)))

    def log_evidence(self, post: Posterior) -> float:
        return self._value(self.beta, *self._spectrum(post))

    def update_noise(self, post: Posterior) -> None:
        """Maximise the evidence over β, the precisions held; never lowers it."""
        d, z = self._spectrum(post)
        here = float(np.log(self.beta))
        found = minimize_scalar(
            lambda x: -self._value(float(np.exp(x)), d, z),
            bounds=(here - 4.0, min(here + 4.0, float(np.log(self.top)))),
            method="bounded",
            options={"xatol": 1e-9},
        )
        if -found.fun > self._value(self.beta, d, z):
            self.beta = float(np.exp(found.x))
