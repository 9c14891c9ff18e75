"""Sparse Bayesian learning: one precision per basis function, found by fast marginal likelihood.

With weights w ~ N(0, diag(1/α)) and Gaussian noise of precisions B (or the Laplace approximation of
a Bernoulli likelihood, whose curvature plays the part of B), the log evidence as a function of one
α_i has a closed-form maximum. Each step takes the action (add, re-estimate, delete) with the
largest gain; the posterior and the statistics S and Q of all basis functions follow by rank-one
updates, never by a new inverse.

Reference: M. Tipping, A. Faul, "Fast marginal likelihood maximisation for sparse Bayesian models",
AISTATS 2003.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize_scalar
from scipy.special import expit

from gramsmith.solvers.definite import Definite
from gramsmith.solvers.newton import State, damped_newton
from gramsmith.solvers.outcome import Outcome

Array = npt.NDArray[Any]

# The evidence has several optima. Noise of a tenth of the spread is the usual start; next to none
# finds those of targets with next to no noise, and nothing but noise those that are smoothest.
STARTS = (1e2, 1e6, 1.0)
EXCHANGES = 300  # actions spent on exchanges of basis functions
DENSE = 300  # basis functions up to which one climb starts with all of them: it takes their cube
ROUNDS = 100  # most rounds of it
DENSE_ALPHA = 1.0  # their first precision, for targets and functions of unit size
DENSE_LIMIT = 1e9  # precision beyond which such a function is dropped for good
# Precisions of basis functions of unit length: beyond these limits a weight is free, or zero.
ALPHA_MIN, ALPHA_MAX = 1e-10, 1e12


@dataclass(frozen=True, kw_only=True)
class EvidenceSolution(Outcome):
    """A sparse Bayesian model."""

    active: Array  # columns of Phi that are in the model, ascending, (m,)
    mean: Array  # posterior mean (or mode) of their weights, (m,)
    covariance: Array  # posterior covariance of their weights, (m, m)
    alpha: Array  # precisions of their weights, (m,)
    beta: float  # precision of the noise; 1 for classes
    log_evidence: float
    # the log evidence after every action; of values it never falls, of classes, whose Laplace
    # approximation moves, the model is the one of the highest
    history: list[float]


class Posterior:
    """The Gaussian posterior of the active weights, and S and Q of every basis function."""

    def __init__(
        self,
        S: Array,
        Q: Array,
        P: Array,
        active: list[int],
        alpha: Array,
        covariance: Array,
        mean: Array,
    ) -> None:
        self.S, self.Q, self.P = S, Q, P
        self.active, self.alpha = active, alpha
        self.covariance, self.mean = covariance, mean

    def actions(self) -> tuple[Array, Array]:
        """Return for every basis function the best precision and twice the gain of moving there.

        An infinite precision means out of the model; a gain of 0 that there is nothing to do.
        """
        S, Q = self.S, self.Q
        best, gain = np.full(len(S), np.inf), np.zeros(len(S))
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            ratio = Q * Q / S
            add = (Q * Q > S) & (S > 0)
            best[add] = np.clip(S[add] / (ratio[add] - 1.0), ALPHA_MIN, ALPHA_MAX)
            gain[add] = ratio[add] - 1.0 - np.log(ratio[add])
        if not self.active:
            return best, gain
        # In the model s = αS/(α - S) = 1/Σ_ii - α and q = αQ/(α - S) = μ_i/Σ_ii.
        a, d = np.asarray(self.active), self.covariance.diagonal()
        s, q = 1.0 / d - self.alpha, self.mean / d
        theta = q * q - s
        inside = theta > np.maximum(s, 0.0) ** 2 / ALPHA_MAX
        new = np.where(inside, np.maximum(s, 0.0) ** 2 / np.where(inside, theta, 1.0), np.inf)
        new = np.where(inside, np.maximum(new, ALPHA_MIN), np.inf)
        best[a] = new
        gain[a] = 2.0 * (_along(new, s, q) - _along(self.alpha, s, q))
        return best, gain

    def add(self, i: int, alpha: float, column: Array) -> None:
        """Bring basis function i in; `column` is Φ'Bφ_i."""
        projected = self.covariance @ column[self.active]
        d = 1.0 / (alpha + self.S[i])
        mu = d * self.Q[i]
        e = column - self.P @ projected
        self.S = self.S - d * e * e
        self.Q = self.Q - mu * e
        cross = -d * projected
        self.covariance = np.block(
            [
                [self.covariance + d * np.outer(projected, projected), cross[:, None]],
                [cross[None, :], np.array([[d]])],
            ]
        )
        self.mean = np.append(self.mean - mu * projected, mu)
        self.P = np.column_stack([self.P, column])
        self.alpha = np.append(self.alpha, alpha)
        self.active.append(i)

    def reestimate(self, k: int, alpha: float) -> None:
        """Change the precision of the k-th active basis function."""
        change = alpha - self.alpha[k]
        self._shrink(k, change / (1.0 + change * self.covariance[k, k]))
        self.alpha[k] = alpha

    def delete(self, k: int) -> None:
        """Take the k-th active basis function out."""
        self._shrink(k, 1.0 / self.covariance[k, k])
        keep = np.arange(len(self.active)) != k
        self.covariance = self.covariance[np.ix_(keep, keep)]
        self.mean, self.alpha, self.P = self.mean[keep], self.alpha[keep], self.P[:, keep]
        del self.active[k]

    def _shrink(self, k: int, kappa: float) -> None:
        column = self.covariance[:, k].copy()
        mu = self.mean[k]
        e = self.P @ column
        self.S = self.S + kappa * e * e
        self.Q = self.Q + kappa * mu * e
        self.covariance = self.covariance - kappa * np.outer(column, column)
        self.mean = self.mean - kappa * mu * column

    def copy(self) -> Posterior:
        """Return a posterior that may act without changing this one."""
        other = copy(self)
        other.active, other.alpha = list(self.active), self.alpha.copy()
        return other

    def act(self, i: int, alpha: float, column: Any) -> None:
        """Move basis function i to the precision `alpha`; `column(i)` returns Φ'Bφ_i."""
        if i not in self.active:
            self.add(i, alpha, column(i))
        elif np.isinf(alpha):
            self.delete(self.active.index(i))
        else:
            self.reestimate(self.active.index(i), alpha)


def _along(alpha: Array, s: Array, q: Array) -> Array:
    """Return the part of the log evidence that depends on one precision, 0 at infinity."""
    with np.errstate(invalid="ignore"):
        inside = 0.5 * (-np.log1p(s / alpha) + q * q / (alpha + s))
    return np.where(np.isinf(alpha), 0.0, inside)


class Basis:
    """Distinct basis functions of unit length under the sample weights, and their products."""

    def __init__(self, Phi: Array, weight: Array) -> None:
        length = np.sqrt(np.einsum("ij,ij,i->j", Phi, Phi, weight))
        # A column without length has S = 0 for ever and is never taken.
        length = np.where(length > 0, length, 1.0)
        unit = Phi / length
        self.columns = distinct_columns(unit)
        self.Phi = unit if len(self.columns) == unit.shape[1] else unit[:, self.columns]
        self.length = length[self.columns]
        self.weight = weight
        self._square: Array | None = None

    def diagonal(self, B: Array) -> Array:
        """Return φ_m'Bφ_m for all m."""
        if self._square is None:
            self._square = self.Phi * self.Phi
        return np.asarray(B @ self._square)

    def product(self, B: Array, V: Array) -> Array:
        """Return Φ'BV."""
        return np.asarray(self.Phi.T @ (B[:, None] * V if V.ndim == 2 else B * V))


def distinct_columns(Phi: Array) -> Array:
    """Return the indices of columns that differ from all before them, ascending."""
    # Equal columns have equal projections, so only neighbours on a line need to be compared.
    line = np.random.default_rng(0).normal(size=len(Phi)) @ Phi
    order = np.argsort(line, kind="stable")
    close = np.flatnonzero(np.diff(line[order]) <= 1e-9)
    same = [k for k in close if np.abs(Phi[:, order[k]] - Phi[:, order[k + 1]]).max() <= 1e-10]
    first = np.arange(Phi.shape[1])
    for k in same:
        a, b = first[order[k]], first[order[k + 1]]
        first[order[k + 1]] = first[order[k]] = min(a, b)
    # A second sweep, backwards, gives each run of equal columns its smallest index.
    for k in reversed(same):
        first[order[k]] = first[order[k + 1]] = min(first[order[k]], first[order[k + 1]])
    return np.flatnonzero(first == np.arange(Phi.shape[1]))


def pack(
    posterior: Posterior, basis: Basis, beta: float, history: list[float], **outcome: Any
) -> EvidenceSolution:
    """Return the best state as a record, in the units of the columns as they were given."""
    order = np.argsort(posterior.active)
    active = np.asarray(posterior.active, dtype=np.intp)[order]
    length = basis.length[active]
    return EvidenceSolution(
        active=basis.columns[active],
        mean=posterior.mean[order] / length,
        covariance=posterior.covariance[np.ix_(order, order)] / np.outer(length, length),
        alpha=posterior.alpha[order] * length**2,
        beta=beta,
        log_evidence=max(history),
        history=history,
        **outcome,
    )


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

    Climbs start from different noise, and up to 300 basis functions from all of them at once; from
    the best one functions are exchanged while that helps.

    Parameters
    ----------
    Phi : array of shape (n, M), or Basis
        Basis functions in columns; a Basis has weights already.
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
    climbs = [
        _climb(_State.start(GaussianModel(basis, t, precision)), tol, max_iter, refresh)
        for precision in STARTS
    ]
    if len(basis.columns) <= DENSE:
        climbs.append(
            _climb(_from_all(GaussianModel(basis, t), min(100, max_iter)), tol, max_iter, refresh)
        )
    # Optima that differ by a hundred tolerances are as good; the first ones are sparser.
    best = climbs[0]
    for other in climbs[1:]:
        best = other if other.value > best.value + 100.0 * tol else best
    best = _exchange(best, tol, max_iter, refresh)
    found = pack(
        best.post,
        basis,
        best.model.beta,
        best.history,
        status=best.status,
        advice="" if best.status == "converged" else f"Raise max_iter above {max_iter}, or tol.",
        n_iter=best.n_iter,
    )
    return _in_units(found, size, float(basis.weight.sum()))


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


@dataclass
class _State:
    """Where a climb stands."""

    model: GaussianModel
    post: Posterior
    history: list[float]
    n_iter: int = 0
    status: str = "max_iter"

    @classmethod
    def start(cls, model: GaussianModel) -> _State:
        post = model.posterior([], np.empty(0))
        return cls(model, post, [model.log_evidence(post)])

    @property
    def value(self) -> float:
        return self.history[-1]


def _from_all(model: GaussianModel, rounds: int) -> _State:
    """Return the state to which re-estimation leads that starts with every basis function.

    α = (1 - αΣ_ii) / μ_i², and the noise after every round (Tipping, 2001). It finds optima that
    adding one function after another passes by.
    """
    m = len(model.square)
    post, n_iter = model.posterior(list(range(m)), np.full(m, DENSE_ALPHA)), 0
    for n_iter in range(1, rounds + 1):  # noqa: B007
        free = 1.0 - post.alpha * post.covariance.diagonal()
        with np.errstate(divide="ignore", over="ignore"):
            alpha = np.maximum(free, ALPHA_MIN) / post.mean**2
        kept = np.flatnonzero(alpha < DENSE_LIMIT)
        alpha = np.maximum(alpha[kept], ALPHA_MIN)
        before, post = post, model.posterior([post.active[k] for k in kept], alpha)
        model.update_noise(post)
        post = model.posterior(post.active, post.alpha)
        if len(before.active) == len(post.active) and np.allclose(before.alpha, alpha, rtol=1e-3):
            break
    return _State(model, post, [model.log_evidence(post)], n_iter)


def _exchange(state: _State, tol: float, max_iter: int, refresh: int) -> _State:
    """Climb again without each basis function in turn, while that ends higher.

    Neighbouring functions stand for each other, and the first that came need not be the best.
    """
    tried: set[int] = set()
    spent = 0
    while spent < EXCHANGES and (left := [i for i in state.post.active if i not in tried]):
        i = left[0]
        tried.add(i)
        model, post = copy(state.model), state.post.copy()
        post.act(i, np.inf, model.column)
        post = model.posterior(post.active, post.alpha)
        ahead = _State(model, post, [model.log_evidence(post)], state.n_iter)
        for barred in ((i,), ()):
            ahead = _climb(ahead, tol, max_iter, refresh, barred)
        spent += ahead.n_iter - state.n_iter
        if ahead.value > state.value + tol:
            state = replace(ahead, history=[*state.history, ahead.value])
            tried = {i}
    return state


def _climb(
    state: _State, tol: float, max_iter: int, refresh: int, barred: tuple[int, ...] = ()
) -> _State:
    """Take the best action until none is worth it, the noise updated every few actions.

    An action counts only if the evidence itself, computed anew, has risen: rank-one updates of
    nearly equal basis functions lose the digits on which their promises rest.
    """
    model, post, history = state.model, state.post, state.history
    status, exact, n_iter = "max_iter", True, state.n_iter
    refused = list(barred)
    while n_iter < max_iter:
        n_iter += 1
        best, gain = post.actions()
        gain[refused] = 0.0
        i = int(np.argmax(gain))
        settled = gain[i] <= 2.0 * tol
        if not settled:
            ahead = post.copy()
            ahead.act(i, float(best[i]), model.column)
            value = model.log_evidence(ahead)
            if value > history[-1] + 0.5 * tol:  # at least half of the least that was promised
                post, exact = ahead, False
                history.append(value)
                refused = list(barred)
            elif exact:
                refused.append(i)
            else:
                post, exact = model.posterior(post.active, post.alpha), True
        if settled or n_iter % refresh == 0:
            before = history[-1]
            model.update_noise(post)
            post, exact = model.posterior(post.active, post.alpha), True
            history[-1] = max(before, model.log_evidence(post))
            if history[-1] - before > tol:
                refused = list(barred)
            elif settled:
                status = "converged"
                break
    return _State(model, post, history, n_iter, status)


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
            options={"xatol": 1e-5},  # of log β, in which the evidence is flat at its maximum
        )
        if -found.fun > self._value(self.beta, d, z):
            self.beta = float(np.exp(found.x))


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
        Basis functions in columns; a Basis has weights already.
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
    history, highest = [value], post
    status, stale, n_iter = "max_iter", 0, 0
    for n_iter in range(1, max_iter + 1):  # noqa: B007
        moved = 0
        for _ in range(inner):
            best, gain = post.actions()
            i = int(np.argmax(gain))
            if gain[i] <= 2.0 * tol:
                break
            post = post.copy() if post is highest else post
            post.act(i, float(best[i]), lambda i: basis.product(B, basis.Phi[:, i]))  # noqa: B023
            moved += 1
        if not moved:
            status = "converged"
            break
        post, B, value = laplace(basis, y, post.active, post.alpha, post.mean)
        stale = 0 if value > max(history) + tol else stale + 1
        highest = post if value > max(history) else highest
        history.append(value)
        # The approximation moves with the mode, so the last actions may undo each other for ever.
        inner = max(1, inner // 2) if stale else inner
        if stale >= 10:
            status = "converged"
            break
    return pack(
        highest,
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
    mu, f = start, X @ start
    B, factor = np.full(len(w), np.nan), None

    def objective(mu: Array, f: Array) -> float:
        return float(w @ (np.logaddexp(0.0, f) - y * f) + 0.5 * alpha @ (mu * mu))

    def curvature(f: Array) -> Array:
        # Separable classes drive the curvature to zero; the floor keeps the statistics finite.
        return np.asarray(w * np.maximum(expit(f) * expit(-f), 1e-10))

    def step(mu: Array, f: Array) -> tuple[State, float]:
        nonlocal B, factor
        B = curvature(f)
        gradient = X.T @ (w * (expit(f) - y)) + alpha * mu
        H = (X * B[:, None]).T @ X
        H[np.diag_indices_from(H)] += alpha
        factor = Definite(H, limit=1e-6)
        delta = factor.solve(-gradient)
        return (delta, X @ delta), -float(gradient @ delta)

    if active:
        found = damped_newton((mu, f), objective, step, max_iter=50, tol=5e-11)
        (mu, f), value = found.state, found.history[-1]
    else:
        B, value = curvature(f), objective(mu, f)
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
