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

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gramsmith.solvers.outcome import Outcome

Array = npt.NDArray[Any]

# Precisions of basis functions of unit length: beyond these limits a weight is free, or zero.
ALPHA_MIN, ALPHA_MAX = 1e-10, 1e12


@dataclass(frozen=True, kw_only=True)
class EvidenceSolution(Outcome):
    """A sparse Bayesian model.

    Parameters
    ----------
    active : int array of shape (m,)
        Columns of Phi that are in the model, ascending.
    mean : array of shape (m,)
        Posterior mean (or mode) of their weights.
    covariance : array of shape (m, m)
        Posterior covariance of their weights.
    alpha : array of shape (m,)
        Precisions of their weights.
    beta : float
        Precision of the noise; 1 for classes.
    log_evidence : float
    history : list of float
        The log evidence after every action.
    """

    active: Array
    mean: Array
    covariance: Array
    alpha: Array
    beta: float
    log_evidence: float
    history: list[float]


class Posterior:
    """The Gaussian posterior of the active weights, and S and Q of every basis function.

    Parameters
    ----------
    S, Q : arrays of shape (M,)
        φ_m'C^-1 φ_m and φ_m'C^-1 t.
    P : array of shape (M, m)
        Φ'BΦ_active.
    active : list of int
    alpha : array of shape (m,)
    covariance : array of shape (m, m)
    mean : array of shape (m,)
    """

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
        self._shrink(k, 1.0 / (self.covariance[k, k] + 1.0 / (alpha - self.alpha[k])))
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
    """Distinct basis functions of unit length under the sample weights, and their products.

    Parameters
    ----------
    Phi : array of shape (n, M)
    weight : array of shape (n,)

    Attributes
    ----------
    columns : int array
        Which columns of Phi these are: of equal ones, as repeated samples give, the first.
    """

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
    """Return the indices of columns that differ from all before them, ascending.

    Parameters
    ----------
    Phi : array of shape (n, M)
        Columns of unit length, or nearly.

    Returns
    -------
    int array
    """
    # Equal columns have equal projections, so only neighbours on a line need to be compared.
    line = np.random.default_rng(0).normal(size=len(Phi)) @ Phi
    order = np.argsort(line, kind="stable")
    close = np.flatnonzero(np.diff(line[order]) <= 1e-9)
    same = [k for k in close if np.abs(Phi[:, order[k]] - Phi[:, order[k + 1]]).max() <= 1e-10]
    first = np.arange(Phi.shape[1])
    for k in same:
        a, b = first[order[k]], first[order[k + 1]]
        first[order[k + 1]] = first[order[k]] = min(a, b)
    # A second sweep, backwards, hands the smallest index through each run of equal columns.
    for k in reversed(same):
        first[order[k]] = first[order[k + 1]] = min(first[order[k]], first[order[k + 1]])
    return np.flatnonzero(first == np.arange(Phi.shape[1]))


def pack(
    posterior: Posterior, basis: Basis, beta: float, history: list[float], **outcome: Any
) -> EvidenceSolution:
    """Return the state as a record, in the units of the columns as they were given."""
    order = np.argsort(posterior.active)
    active = np.asarray(posterior.active, dtype=np.intp)[order]
    length = basis.length[active]
    return EvidenceSolution(
        active=basis.columns[active],
        mean=posterior.mean[order] / length,
        covariance=posterior.covariance[np.ix_(order, order)] / np.outer(length, length),
        alpha=posterior.alpha[order] * length**2,
        beta=beta,
        log_evidence=history[-1],
        history=history,
        **outcome,
    )
