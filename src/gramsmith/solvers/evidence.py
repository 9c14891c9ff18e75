"""Sparse Bayesian learning: one precision per basis function, found by fast marginal likelihood.

With weights w ~ N(0, diag(1/α)) and Gaussian noise of precisions B (or the Laplace approximation of
a Bernoulli likelihood, whose curvature plays the part of B), the log evidence as a function of one
α_i has a closed-form maximum. Each step takes the action (add, re-estimate, delete) with the
largest gain. The posterior is computed anew after each: rank-one updates lose the digits of nearly
equal functions.

Reference: M. Tipping, A. Faul, "Fast marginal likelihood maximisation for sparse Bayesian models",
AISTATS 2003.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg.blas import dtrsm
from scipy.optimize import minimize_scalar
from scipy.special import expit

from gramsmith.solvers.definite import Definite
from gramsmith.solvers.newton import State, damped_newton
from gramsmith.solvers.outcome import Outcome

Array = npt.NDArray[Any]

# The evidence has several optima. Noise of a tenth of the spread is the usual start; next to none
# finds those of targets with next to no noise, and nothing but noise those that are smoothest.
STARTS = (1e2, 1e6, 1.0)
# Actions between two updates of the noise. After every action it took twice the time and ended
# lower as often as higher; after twenty it saved a fifth, and ended 1.5 below plain re-estimation
# on one of 90 sets of sinc.
REFRESH = 5
# Actions spent on exchanges of basis functions. Without any 17 of 24 problems end lower, by up to
# 4.6; a thousand take half the time again for at most 1.6 in eight.
EXCHANGES = 300
DENSE = 300  # basis functions up to which one climb starts with all of them: it takes their cube
ROUNDS = 100  # most rounds of it
# Most actions on one Laplace approximation. On 24 sets of two classes one and thirty ended .1 lower
# in the mean, one after four times as many approximations.
INNER = 8
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


@dataclass(frozen=True)
class Posterior:
    """The Gaussian posterior of the active weights, and S and Q of every basis function."""

    S: Array
    Q: Array
    active: list[int]
    alpha: Array
    covariance: Array
    mean: Array
    # what the fit brings to twice the log evidence, and what the active functions cost there
    fit: float = 0.0
    cost: float = 0.0

    def actions(self) -> tuple[Array, Array]:
        """Return for every basis function the best precision and twice the gain of moving there.

        An infinite precision means out of the model; a gain of 0 that there is nothing to do.
        """
        S, Q = self.S, self.Q
        best, gain = np.full(len(S), np.inf), np.zeros(len(S))
        add = np.flatnonzero((Q * Q > S) & (S > 0))
        with np.errstate(divide="ignore", over="ignore"):
            ratio = Q[add] ** 2 / S[add]
            best[add] = np.clip(S[add] / (ratio - 1.0), ALPHA_MIN, ALPHA_MAX)
            gain[add] = ratio - 1.0 - np.log(ratio)
        if not self.active:
            return best, gain
        # In the model s = αS/(α - S) = 1/Σ_ii - α and q = αQ/(α - S) = μ_i/Σ_ii.
        a, d = np.asarray(self.active), self.covariance.diagonal()
        s, q = 1.0 / d - self.alpha, self.mean / d
        theta, square = q * q - s, np.maximum(s, 0.0) ** 2
        new = np.full(len(a), np.inf)
        np.divide(square, theta, out=new, where=theta > square / ALPHA_MAX)
        best[a] = np.maximum(new, ALPHA_MIN)
        gain[a] = 2.0 * (_along(best[a], s, q) - _along(self.alpha, s, q))
        return best, gain

    def moved(self, i: int, alpha: float) -> tuple[list[int], Array]:
        """Return the active functions and their precisions after one has moved to `alpha`."""
        moved = dict(zip(self.active, self.alpha, strict=True)) | {i: alpha}
        if np.isinf(alpha):
            del moved[i]
        return list(moved), np.array(list(moved.values()))


def _along(alpha: Array, s: Array, q: Array) -> Array:
    """Return the part of the log evidence that depends on one precision, 0 at infinity."""
    return np.asarray(0.5 * (q * q / (alpha + s) - np.log1p(s / alpha)))


class Basis:
    """Distinct basis functions of unit length under the sample weights, and their products."""

    def __init__(self, Phi: Array, weight: Array | None = None) -> None:
        self.weight = np.ones(len(Phi)) if weight is None else np.asarray(weight, dtype=float)
        length = np.sqrt(np.einsum("ij,ij,i->j", Phi, Phi, self.weight))
        # A column without length has S = 0 for ever and is never taken.
        length = np.where(length > 0, length, 1.0)
        unit = Phi / length
        self.columns = distinct_columns(unit)
        self.Phi, self.length = unit[:, self.columns], length[self.columns]
        self.square = self.Phi * self.Phi


class Quadratic:
    """A log likelihood of curvature B: Φ'BΦ, by rows that are computed once, and Φ'Bt."""

    def __init__(self, basis: Basis, B: Array, projection: Array) -> None:
        self.basis, self.B, self.projection = basis, B, projection
        self.square = B @ basis.square
        self._rows = np.empty((0, len(projection)))
        self._place: dict[int, int] = {}

    def gram(self, active: list[int]) -> Array:
        """Return the rows of Φ'BΦ of some functions."""
        new = [i for i in active if i not in self._place]
        if new:
            Phi, known = self.basis.Phi, len(self._place)
            if known + len(new) > len(self._rows):
                grown = np.empty((2 * (known + len(new)), len(self.projection)))
                grown[:known] = self._rows[:known]
                self._rows = grown
            self._rows[known : known + len(new)] = (self.B[:, None] * Phi[:, new]).T @ Phi
            self._place = self._place | {i: known + k for k, i in enumerate(new)}
        return self._rows[[self._place[i] for i in active]]

    def posterior(self, active: list[int], alpha: Array, beta: float = 1.0) -> Posterior:
        """Return the posterior of some functions and precisions, the curvature times `beta`.

        By the factor LL' = I + β A^-½ Φ'BΦ A^-½, whose smallest eigenvalue is one.
        """
        if not active:
            S, Q = beta * self.square, beta * self.projection
            return Posterior(S, Q, [], alpha, np.empty((0, 0)), np.empty(0))
        P, root = self.gram(active), np.sqrt(beta / alpha)
        P *= root[:, None]
        M = P[:, active] * root
        np.einsum("ii->i", M)[...] += 1.0
        L = Definite(M, limit=1e-6).factor[0]  # equal functions may be free, both of them
        # columns side by side, as the triangular solver wants them: (M, m) of one memory
        sides = np.column_stack([P, root * self.projection[active], np.diag(root)]).T
        Z = dtrsm(1.0, L, sides, side=1, lower=1, trans_a=1)
        shared, u, R = Z[: P.shape[1]], Z[P.shape[1]], Z[P.shape[1] + 1 :]
        return Posterior(
            S=beta * (self.square - np.einsum("ij,ij->i", shared, shared)),
            Q=beta * (self.projection - shared @ u),
            active=active,
            alpha=alpha,
            covariance=R @ R.T / beta,
            mean=R @ u,
            fit=beta * float(u @ u),
            cost=2.0 * float(np.sum(np.log(L.diagonal()))),
        )


def distinct_columns(Phi: Array) -> Array:
    """Return the indices of columns that differ from all before them, ascending."""
    # By four random projections: columns of unit length that agree in 7 digits of each are one.
    lines = np.random.default_rng(0).normal(size=(4, len(Phi))) @ Phi
    return np.sort(np.unique(lines.round(7), axis=1, return_index=True)[1])


def _solution(
    post: Posterior,
    basis: Basis,
    history: list[float],
    status: str,
    n_iter: int,
    max_iter: int,
    beta: float = 1.0,
    size: float = 1.0,
) -> EvidenceSolution:
    """Return the best state, in the units of columns and of targets that were divided by `size`."""
    order = np.argsort(post.active)
    active = np.asarray(post.active, dtype=np.intp)[order]
    unit = size / basis.length[active]
    shift = float(basis.weight.sum() * np.log(size))
    history = [value - shift for value in history]
    return EvidenceSolution(
        active=basis.columns[active],
        mean=post.mean[order] * unit,
        covariance=post.covariance[np.ix_(order, order)] * np.outer(unit, unit),
        alpha=post.alpha[order] / unit**2,
        beta=beta / size**2,
        log_evidence=max(history),
        history=history,
        status=status,
        advice="" if status == "converged" else f"Raise max_iter above {max_iter}, or tol.",
        n_iter=n_iter,
    )


def fit_gaussian_evidence(
    basis: Basis, t: Array, *, tol: float = 1e-3, max_iter: int = 10_000
) -> EvidenceSolution:
    """Fit sparse Bayesian regression to centred targets; the evidence rises with every action.

    Climbs start from different noise, and up to 300 basis functions from all of them at once; from
    the best one functions are exchanged while that helps. The end is where no action raises the
    log evidence by more than `tol`, nor the noise.
    """
    # The limits of the precisions are for targets of unit size.
    size = float(np.sqrt(basis.weight @ (t * t) / basis.weight.sum())) or 1.0
    t = t / size
    starts = [_Climb.start(GaussianModel(basis, t, precision)) for precision in STARTS]
    if len(basis.columns) <= DENSE:
        starts.append(_from_all(GaussianModel(basis, t), min(ROUNDS, max_iter)))
    climbs = [start.run(tol, max_iter) for start in starts]
    # Optima that differ by a hundred tolerances are as good; the first ones are sparser.
    best = climbs[0]
    for other in climbs[1:]:
        best = other if other.value > best.value + 100.0 * tol else best
    best = _exchange(best, tol, max_iter)
    outcome = best.status, best.n_iter, max_iter
    return _solution(best.post, basis, best.history, *outcome, best.model.beta, size)


@dataclass
class _Climb:
    """Where a search for the highest evidence stands."""

    model: GaussianModel
    post: Posterior
    history: list[float]
    n_iter: int = 0
    status: str = "max_iter"

    @classmethod
    def start(cls, model: GaussianModel, post: Posterior | None = None, n_iter: int = 0) -> _Climb:
        post = model.posterior([], np.empty(0)) if post is None else post
        return cls(model, post, [model.log_evidence(post)], n_iter)

    @property
    def value(self) -> float:
        return self.history[-1]

    def run(self, tol: float, max_iter: int, barred: tuple[int, ...] = ()) -> _Climb:
        """Take the best action until none is worth it, the noise updated every few actions.

        An action counts only if the evidence itself, computed anew, has risen.
        """
        model, history, refused = self.model, self.history, list(barred)
        self.status = "max_iter"
        while self.n_iter < max_iter:
            self.n_iter += 1
            best, gain = self.post.actions()
            gain[refused] = 0.0
            i = int(np.argmax(gain))
            settled = gain[i] <= 2.0 * tol
            if not settled:
                ahead = model.posterior(*self.post.moved(i, float(best[i])))
                value = model.log_evidence(ahead)
                if value > history[-1] + 0.5 * tol:  # at least half of the least that was promised
                    self.post, refused = ahead, list(barred)
                    history.append(value)
                else:
                    refused.append(i)
            if settled or self.n_iter % REFRESH == 0:
                before, self.post = history[-1], model.update_noise(self.post)
                history[-1] = max(before, model.log_evidence(self.post))
                if history[-1] - before > tol:
                    refused = list(barred)
                elif settled:
                    self.status = "converged"
                    break
        return self


def _from_all(model: GaussianModel, rounds: int) -> _Climb:
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
        post = model.update_noise(post)
        if len(before.active) == len(post.active) and np.allclose(before.alpha, alpha, rtol=1e-3):
            break
    return _Climb.start(model, post, n_iter)


def _exchange(climb: _Climb, tol: float, max_iter: int) -> _Climb:
    """Climb again without each basis function in turn, while that ends higher.

    Neighbouring functions stand for each other, and the first that came need not be the best.
    """
    tried: set[int] = set()
    spent = 0
    while spent < EXCHANGES and (left := [i for i in climb.post.active if i not in tried]):
        i = left[0]
        tried.add(i)
        model = copy(climb.model)
        post = model.posterior(*climb.post.moved(i, np.inf))
        ahead = _Climb.start(model, post, climb.n_iter)
        ahead.run(tol, max_iter, (i,)).run(tol, max_iter)
        spent += ahead.n_iter - climb.n_iter
        if ahead.value > climb.value + tol:
            climb = replace(ahead, history=[*climb.history, ahead.value])
            tried = {i}
    return climb


class GaussianModel(Quadratic):
    """Regression with noise precision β."""

    def __init__(self, basis: Basis, t: Array, precision: float = 100.0) -> None:
        w = basis.weight
        super().__init__(basis, w, basis.Phi.T @ (w * t))
        self.t, self.n, self.tt = t, float(w.sum()), float(w @ (t * t))
        variance = self.tt / self.n
        self.top = 1e10 / variance if variance > 0 else 1e10
        self.beta = precision / variance if variance > 0 else self.top

    def posterior(self, active: list[int], alpha: Array, beta: float | None = None) -> Posterior:
        return super().posterior(active, alpha, self.beta if beta is None else beta)

    def _value(self, beta: float, fit: float, cost: float) -> float:
        left = max(beta * self.tt - fit, 0.0)
        return float(-0.5 * (self.n * np.log(2.0 * np.pi / beta) + cost + left))

    def log_evidence(self, post: Posterior) -> float:
        return self._value(self.beta, post.fit, post.cost)

    def update_noise(self, post: Posterior) -> Posterior:
        """Maximise the evidence over β, the precisions held; return the posterior there."""
        # Φ'WΦ = A^½V d V'A^½ and z = V'A^-½ Φ'Wt on the active columns
        active, root = post.active, np.sqrt(post.alpha)
        E = self.gram(active)[:, active]
        d, V = np.linalg.eigh(0.5 * (E + E.T) / np.outer(root, root))
        d, z = np.maximum(d, 0.0), V.T @ (self.projection[active] / root)

        def loss(x: float) -> float:
            beta = float(np.exp(x))
            shrunk = 1.0 + beta * d
            fit, cost = np.sum((beta * z) ** 2 / shrunk), np.sum(np.log(shrunk))
            return -self._value(beta, float(fit), float(cost))

        here = float(np.log(self.beta))
        optimum = minimize_scalar(
            loss,
            bounds=(here - 4.0, min(here + 4.0, float(np.log(self.top)))),
            method="bounded",
            options={"xatol": 1e-5},  # of log β, in which the evidence is flat at its maximum
        )
        if optimum.fun < loss(here):
            self.beta = float(np.exp(optimum.x))
        return self.posterior(post.active, post.alpha)


def fit_bernoulli_evidence(
    basis: Basis, y: Array, *, tol: float = 1e-3, max_iter: int = 1000
) -> EvidenceSolution:
    """Fit sparse Bayesian classification of classes 0 and 1 by Laplace's approximation.

    The end is where no action raises the log evidence by more than `tol`, or after `max_iter`
    approximations.
    """
    post, model, value = laplace(basis, y, [], np.empty(0), np.empty(0))
    history, highest = [value], post
    status, stale, n_iter, inner = "max_iter", 0, 0, INNER
    for n_iter in range(1, max_iter + 1):  # noqa: B007
        moved = 0
        for _ in range(inner):
            best, gain = post.actions()
            i = int(np.argmax(gain))
            if gain[i] <= 2.0 * tol:
                break
            post = model.posterior(*post.moved(i, float(best[i])))
            moved += 1
        if not moved:
            status = "converged"
            break
        post, model, value = laplace(basis, y, post.active, post.alpha, post.mean)
        stale = 0 if value > max(history) + tol else stale + 1
        highest = post if value > max(history) else highest
        history.append(value)
        # The approximation moves with the mode, so the last actions may undo each other for ever.
        inner = max(1, inner // 2) if stale else inner
        if stale >= 10:
            status = "converged"
            break
    return _solution(highest, basis, history, status, n_iter, max_iter)


def laplace(
    basis: Basis, y: Array, active: list[int], alpha: Array, start: Array
) -> tuple[Posterior, Quadratic, float]:
    """Find the mode of the weights at fixed precisions; return what is Gaussian there, evidence."""
    w, X = basis.weight, basis.Phi[:, active]

    def objective(mu: Array, f: Array) -> float:
        return float(w @ (np.logaddexp(0.0, f) - y * f) + 0.5 * alpha @ (mu * mu))

    def curvature(f: Array) -> Array:
        # Separable classes drive the curvature to zero; the floor keeps the statistics finite.
        return np.asarray(w * np.maximum(expit(f) * expit(-f), 1e-10))

    def step(mu: Array, f: Array) -> tuple[State, float]:
        gradient = X.T @ (w * (expit(f) - y)) + alpha * mu
        H = (X * curvature(f)[:, None]).T @ X
        H[np.diag_indices_from(H)] += alpha
        delta = Definite(H, limit=1e-6).solve(-gradient)
        return (delta, X @ delta), -float(gradient @ delta)

    mu, f = start, X @ start
    if active:
        mu, f = damped_newton((mu, f), objective, step, max_iter=50, tol=5e-11).state
    B = curvature(f)
    model = Quadratic(basis, B, basis.Phi.T @ (B * f + w * (y - expit(f))))
    post = model.posterior(active, alpha)
    evidence = -objective(mu, f) - 0.5 * post.cost
    return post, model, evidence
