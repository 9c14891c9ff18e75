r"""A sum of kernels under any objective, as a function of its weights.

For a measure one sweep is enough: the moments of a sum are those of its members, mixed, and the
derivative by a weight is

.. math:: \partial f / \partial \mu_k = \langle \partial f / \partial K, K_k \rangle ,

which the same moments tell. An objective that needs a solve sees the dense sum.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from gramsmith.gram import Gram
from gramsmith.learning.ascent import Ascent, maximise
from gramsmith.learning.monitor import Monitor
from gramsmith.learning.objective import MATRICES, Objective, check_dense, check_objective
from gramsmith.measures import Measure
from gramsmith.measures.alignment import ConstantKernelWarning
from gramsmith.moments import Adjoint, Moments
from gramsmith.targets import Target

Array = npt.NDArray[Any]

#: weights -> the number, and its derivatives by the weights
Sum = Callable[[Array], tuple[float, Array]]


def measured_sum(measure: Measure, moments: Moments, target: Target) -> Sum:
    """Return a measure of Σ_k μ_k K_k as a function of μ.

    Parameters
    ----------
    measure : Measure
    moments : Moments
        Of all kernels, with their inner products (`cross`).
    target : Target
    """
    measure.check(target)

    def evaluate(weights: Array) -> tuple[float, Array]:
        mixed = moments.mix(weights)
        with warnings.catch_warnings():
            # A sum may be flat on the way; the measure is 0 there, which is all we need.
            warnings.simplefilter("ignore", ConstantKernelWarning)
            value, adjoint = measure.value_and_adjoint(mixed, target)
        return value, by_weights(adjoint, weights, moments, target)

    return evaluate


def by_weights(adjoint: Adjoint, weights: Array, moments: Moments, target: Target) -> Array:
    """Return <dK, K_k> for every kernel, where dK is the derivative of a number by the sum.

    Parameters
    ----------
    adjoint : Adjoint
        Of the number, for the mixed moments.
    weights : array of shape (m,)
    moments : Moments
        Of the m kernels.
    target : Target

    Returns
    -------
    array of shape (m,)
    """
    A, delta, nu = adjoint.A[0], adjoint.delta[0], float(adjoint.nu[0, 0])
    w, h, c = target.w, moments.h, moments.c
    # of the kernels minus their pivots ...
    found = np.tensordot(moments.PV, A, 2) + moments.d @ delta
    found += 2.0 * nu * (moments.squares @ weights)
    # ... and of the pivots 1h' + h1' + c11'
    r = np.tensordot(weights, moments.PV, 1) @ target.e
    columns, total = A.sum(axis=0), float(delta.sum())
    found += (h @ target.wV) @ columns + h @ (A @ target.m) + c * float(columns @ target.m)
    found += 2.0 * h @ delta + c * total
    found += 2.0 * nu * (2.0 * h @ (w * r) + c * float(w @ r))
    return np.asarray(found)


def dense_sum(objective: Objective, grams: Sequence[Gram], target: Target) -> Sum:
    """Return an objective of the dense sum as a function of the weights.

    Parameters
    ----------
    objective : Objective
    grams : list of Gram
        One per kernel.
    target : Target
    """
    objective = copy(objective)  # it may remember its last solve
    check_objective(objective, target)
    check_dense(objective.name, grams[0].n, matrices=MATRICES + len(grams))
    matrices = [gram.toarray() for gram in grams]

    def evaluate(weights: Array) -> tuple[float, Array]:
        K = np.tensordot(weights, matrices, 1)
        value, dK = objective(K, target, True)
        if dK is None:
            return float(value), np.zeros(len(matrices))
        return float(value), np.array([float(np.vdot(dK, M)) for M in matrices])

    return evaluate


def climb_shares(
    objective: Sum,
    sign: float,
    sizes: Array,
    starts: Sequence[Array],
    *,
    unit: float,
    max_iter: int,
    tol: float,
) -> Ascent:
    """Return the best sum that climbs from several starts find; its `theta` are the weights.

    Shares θ_k / Σ θ of kernels of one size are climbed, none negative, so that the size of the sum
    is not free: some measures grow with it.

    Parameters
    ----------
    objective : callable
        Weights -> number and derivatives.
    sign : {1.0, -1.0}
        +1 where higher is better.
    sizes : array of shape (m,)
        Of the kernels; one of size 0 has no say.
    starts : list of arrays of shape (m,)
        Shares.
    unit, max_iter, tol
        See `gramsmith.learning.ascent.maximise`.
    """
    inverse = np.divide(1.0, sizes, out=np.zeros(len(sizes)), where=sizes > 0)

    def problem(theta: Array) -> tuple[float, float, Array]:
        total = float(theta.sum())
        if total <= 0:
            return -np.inf, np.nan, np.zeros(len(theta))
        shares = theta / total
        value, slope = objective(shares * inverse)
        slope = sign * slope * inverse
        if not (np.isfinite(value) and np.isfinite(slope).all()):
            return -np.inf, value, np.zeros(len(theta))
        # d share_k / d θ_l = (δ_kl - share_k) / Σ θ
        return sign * value, value, (slope - float(shares @ slope)) / total

    best: Ascent | None = None
    limits = np.tile([0.0, 1.0], (len(sizes), 1))
    for start in starts:
        if not np.isfinite(problem(start)[0]):
            continue
        options: dict[str, Any] = {"max_iter": max_iter, "tol": tol, "unit": unit}
        found = maximise(problem, start, Monitor("sum"), limits=limits, **options)
        if best is None or sign * found.value > sign * best.value:
            best = found
    if best is None:
        raise ValueError(
            "Expected a sum of kernels with a finite value, got none. Use other kernels, or "
            "another measure."
        )
    return replace(best, theta=best.theta / best.theta.sum() * inverse)
