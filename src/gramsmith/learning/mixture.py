r"""A sum of kernels under any objective, as a function of its weights.

For a measure one sweep is enough: the moments of a sum are those of its members, mixed, and the
derivative by a weight is

.. math:: \partial f / \partial \mu_k = \langle \partial f / \partial K, K_k \rangle ,

which the same moments tell. An objective that needs a solve sees the dense sum.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from gramsmith.gram import Gram
from gramsmith.learning.ascent import (
    BROKEN_OFF,
    FEW_ITERATIONS,
    ITERATIONS,
    Ascent,
    best_of,
    maximise,
)
from gramsmith.learning.monitor import Monitor
from gramsmith.learning.objective import FEWER, MATRICES, BoundObjective
from gramsmith.measures.alignment import ConstantKernelWarning
from gramsmith.moments import Adjoint, Moments
from gramsmith.solvers.memory import check_memory
from gramsmith.targets import Target

Array = npt.NDArray[Any]

# Sums that are tried for a start, whatever the number of kernels: 13 of two missed one optimum
# of 60, which was a third of a decade wide.
TRIALS = 25
TOLERANCE = 1e-6  # of a climb


class SumObjective(BoundObjective):
    """An objective of Σ_k μ_k K_k as a function of μ, with its derivatives by the weights.

    A measure sees the moments of the kernels, which have all inner products; any other objective
    the dense matrices of their Grams.
    """

    def __init__(
        self, measure: Any, target: Target, moments: Moments, grams: Callable[[], Sequence[Gram]]
    ) -> None:
        super().__init__(measure, target)
        self.moments = moments
        if not self.measured:
            members = grams()
            check_memory(self.name, members[0].n, MATRICES + len(members), FEWER)
            self.matrices = [gram.toarray() for gram in members]

    def __call__(self, weights: Array) -> tuple[float, Array]:
        """Return the number and its derivatives, zeros where it has none."""
        if not self.measured:
            value, dK = self.objective(np.tensordot(weights, self.matrices, 1), self.target, True)
            if dK is None:
                return float(value), np.zeros(len(weights))
            return float(value), np.array([float(np.vdot(dK, M)) for M in self.matrices])
        with warnings.catch_warnings():
            # A sum may be flat on the way; the measure is 0 there, which is all we need.
            warnings.simplefilter("ignore", ConstantKernelWarning)
            mixed = self.moments.mix(weights)
            value, adjoint = self.objective.value_and_adjoint(mixed, self.target)
        return value, by_weights(adjoint, weights, self.moments, self.target)


def by_weights(adjoint: Adjoint, weights: Array, moments: Moments, target: Target) -> Array:
    """Return <dK, K_k> for every kernel, where dK, the adjoint, is the derivative by the sum."""
    A, delta, nu = adjoint.A[0], adjoint.delta[0], float(adjoint.nu[0, 0])
    w, h, c = target.w, moments.h, moments.c
    # of the kernels minus their pivots ...
    by = np.tensordot(moments.PV, A, 2) + moments.d @ delta
    by += 2.0 * nu * (moments.squares @ weights)
    # ... and of the pivots 1h' + h1' + c11'
    r = np.tensordot(weights, moments.PV, 1) @ target.e
    columns, total = A.sum(axis=0), float(delta.sum())
    by += (h @ target.wV) @ columns + h @ (A @ target.m) + c * float(columns @ target.m)
    by += 2.0 * h @ delta + c * total
    by += 2.0 * nu * (2.0 * h @ (w * r) + c * float(w @ r))
    return np.asarray(by)


class Sum(Protocol):
    """A number about a weighted sum, as a function of the weights."""

    sign: float
    unit: float

    def __call__(self, weights: Array) -> tuple[float, Array]:
        """Return the number and its derivatives by the weights."""


def climb_shares(objective: Sum, sizes: Array, starts: Sequence[Array], few: bool) -> Ascent:
    """Return the best sum that climbs from several starts find; its `theta` are the weights.

    θ / |θ|, none negative, is climbed for kernels over their sizes, so that the size of the sum is
    not free: some measures grow with it. A kernel of size 0 has no say. After a `few` iterations
    stopping is intended.
    """
    sign = objective.sign
    inverse = np.divide(1.0, sizes, out=np.zeros(len(sizes)), where=sizes > 0)

    def problem(theta: Array) -> tuple[float, float, Array]:
        length = float(np.linalg.norm(theta))
        if length <= 0:
            return -np.inf, np.nan, np.zeros(len(theta))
        shares = theta / length
        value, slope = objective(shares * inverse)
        slope = sign * slope * inverse
        if not (np.isfinite(value) and np.isfinite(slope).all()):
            return -np.inf, value, np.zeros(len(theta))
        # d share_k / d θ_l = (δ_kl - share_k share_l) / |θ|
        return sign * value, value, (slope - float(shares @ slope) * shares) / length

    def climb(start: Array) -> Ascent:
        return maximise(
            problem,
            start,
            Monitor("sum"),
            limits=np.tile([0.0, 1.0], (len(sizes), 1)),
            max_iter=FEW_ITERATIONS if few else ITERATIONS,
            tol=TOLERANCE,
            unit=objective.unit,
        )

    best, _ = best_of([partial(climb, start) for start in starts], sign)
    if few and best.status not in BROKEN_OFF:
        best = replace(best, status="converged", advice="")
    return replace(best, theta=best.theta / np.linalg.norm(best.theta) * inverse)


def starting_shares(objective: Sum, sizes: Array, member: int) -> list[Array]:
    """Return shares to climb from: equal ones, and the best two of the best member and another.

    A number of a sum can have several maxima along the line between two kernels. The shares that
    are tried there are even on the scale of log(t / (1 - t)), since kernels differ in their effect
    by orders of magnitude.
    """
    others = [k for k in np.flatnonzero(sizes > 0) if k != member]
    count = max(1, TRIALS // max(len(others), 1))
    reach = min(4.0, count / 4.0)  # decades either way: few trials stay near equal shares
    odds = np.logspace(-reach, reach, count) if count > 1 else np.ones(1)
    trials = []
    for k in others:
        for t in odds / (1.0 + odds):
            shares = np.zeros(len(sizes))
            shares[member], shares[k] = 1.0 - t, t
            trials.append(shares)
    inverse = np.divide(1.0, sizes, out=np.zeros(len(sizes)), where=sizes > 0)
    merits = np.array([objective.sign * objective(shares * inverse)[0] for shares in trials])
    order = np.argsort(np.where(np.isfinite(merits), -merits, np.inf), kind="stable")[:2]
    return [np.where(sizes > 0, 1.0, 0.0) / len(sizes), *(trials[k] for k in order)]
