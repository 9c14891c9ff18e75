"""The quadratic programme behind the L2-SVM and the enclosing ball, by Newton on the active set.

Both are, for a symmetric K, a positive diagonal R and signs s_i = ±1,

    minimise  ½ c'(K + R)c - t'c    subject to  1'c = p,  s_i c_i >= 0.

Its dual has no constraints, only a squared hinge of the residual z = t - Kc - b1,

    minimise  ½ c'Kc + p b + Σ_i max(0, s_i z_i)² / 2 R_ii    over c and b,

which is convex and piecewise quadratic. Newton's method on it solves one linear system on the
active set {s_i z_i > 0} per step; with an exact line search it ends after finitely many steps at
the exact optimum, usually fewer than ten, and from a good active set in one.

Reference: O. Chapelle, "Training a support vector machine in the primal", Neural Computation 2007.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from gramsmith.solvers.definite import Definite
from gramsmith.solvers.outcome import Outcome

Array = npt.NDArray[Any]

# Below this size a cold start from all points is cheaper than solving on a half first.
COLD = 500


@dataclass(frozen=True, kw_only=True)
class ConeSolution(Outcome):
    """Coefficients c, offset b and active set of the programme above.

    Parameters
    ----------
    c : array of shape (n,)
    b : float
        Multiplier of 1'c = p.
    active : bool array of shape (n,)
        Where s_i c_i > 0.
    jitter : float
        What was added to the diagonal because K + R was singular to working precision.
    """

    c: Array
    b: float
    active: Array
    jitter: float = 0.0


@dataclass
class _Point:
    c: Array
    b: float
    z: Array


def solve_cone(
    K: Array,
    t: Array,
    s: Array,
    r: Array,
    total: float,
    active: Array | None = None,
    max_iter: int = 500,
) -> ConeSolution:
    """Minimise ½ c'(K + R)c - t'c subject to 1'c = total and s_i c_i >= 0.

    Parameters
    ----------
    K : array of shape (n, n)
        Symmetric; K + R must be positive definite.
    t : array of shape (n,)
    s : array of shape (n,)
        Signs, +1 or -1.
    r : array of shape (n,)
        The positive diagonal of R.
    total : float
        What the coefficients add up to.
    active : bool array of shape (n,), optional
        A guess of the active set, such as that of a neighbouring problem.
    max_iter : int
        Limit of Newton steps.

    Returns
    -------
    ConeSolution
    """
    if active is None or not active.any():
        active = _cold_start(K, t, s, r, total, max_iter)
    # Only c that add up to `total` matter, so the origin of feature space is free: the mean of the
    # samples keeps large common parts of K from swallowing the digits that decide.
    r_mean = K.mean(axis=1)
    grand = float(r_mean.mean())
    K = K - r_mean[:, None] - r_mean + grand
    t = t - total * r_mean
    found = _iterate(K, t, s, r, total, active, max_iter)
    return replace(found, b=found.b - float(r_mean @ found.c) + grand * total)


def _iterate(
    K: Array, t: Array, s: Array, r: Array, total: float, active: Array, max_iter: int
) -> ConeSolution:
    n_iter, status = 1, "max_iter"
    at, jitter = _newton(K, t, r, total, active, 0.0)
    tiny = 1e-13 * float(np.max(np.abs(t)))
    wanted = s * at.z > tiny
    if np.array_equal(wanted, active):
        status = "converged"
    best, idle = np.inf, 0
    while status == "max_iter" and n_iter < max_iter:
        if not wanted.any():
            # No residual at all: the offset alone decides; the largest residual gives a direction.
            wanted = s * at.z >= np.max(s * at.z)
        n_iter += 1
        active = wanted
        goal, jitter = _newton(K, t, r, total, active, jitter)
        if np.array_equal(s * goal.z > tiny, active):
            at, status = goal, "converged"  # the optimality conditions hold
            break
        at = _between(at, goal, _line_search(at, goal, t, s, r, total))
        wanted = s * at.z > tiny
        value = _value(at, t, s, r, total)
        idle = 0 if value < best - 1e-14 * abs(best) else idle + 1
        best = min(best, value)
        if idle >= 5:
            # Rounding shuffles points whose residual is zero: the last full step is as good as any.
            at = goal
            worst = np.max(np.where(active, -s * at.c * r, s * at.z), initial=0.0)
            status = "converged" if worst <= 1e6 * tiny else "stalled"
    c = np.where(s * at.c > 0, at.c, 0.0)
    advice = {"max_iter": f"Raise max_iter above {max_iter} or lower C.", "stalled": "Lower C."}
    return ConeSolution(
        c=c,
        b=at.b,
        active=c != 0,
        jitter=jitter,
        status=status,
        advice=advice.get(status, ""),
        n_iter=n_iter,
    )


def _cold_start(K: Array, t: Array, s: Array, r: Array, total: float, max_iter: int) -> Array:
    """Guess the active set from a solution on half of the points of each sign."""
    n = len(t)
    if n <= COLD:
        return np.ones(n, dtype=bool)
    half = np.sort(np.argsort(s, kind="stable")[::2])
    part = solve_cone(K[np.ix_(half, half)], t[half], s[half], r[half], total, None, max_iter)
    c = np.zeros(n)
    c[half] = part.c
    guess = s * (t - K @ c - part.b) > 0
    guess[half] = part.active
    return guess


def _newton(
    K: Array, t: Array, r: Array, total: float, active: Array, jitter: float
) -> tuple[_Point, float]:
    """Solve (K + R)c + b1 = t, 1'c = p on the active set; the other coefficients are zero."""
    index = np.flatnonzero(active)
    A = K[np.ix_(index, index)]
    A[np.diag_indices_from(A)] += r[index]
    factor = Definite(A, jitter)
    jitter = factor.jitter
    u, v = factor.solve(np.column_stack([t[index], np.ones(len(index))])).T
    b = float((u.sum() - total) / v.sum())
    c = np.zeros(len(t))
    c[index] = u - b * v
    z = t - K @ c - b
    z[index] = (r[index] + jitter) * c[index]  # exact where t - Kc - b cancels
    return _Point(c, b, z), jitter


def _between(a: _Point, b: _Point, step: float) -> _Point:
    if step == 1.0:
        return b
    mix = 1.0 - step
    return _Point(mix * a.c + step * b.c, mix * a.b + step * b.b, mix * a.z + step * b.z)


def _value(x: _Point, t: Array, s: Array, r: Array, total: float) -> float:
    hinge = np.maximum(s * x.z, 0.0)
    return float(0.5 * x.c @ (t - x.z - x.b) + total * x.b + 0.5 * np.sum(hinge * hinge / r))


def _line_search(a: _Point, b: _Point, t: Array, s: Array, r: Array, total: float) -> float:
    """Return the step in (0, 1] at which the dual is smallest on the way from a to b."""
    dc, db, dz = b.c - a.c, b.b - a.b, b.z - a.z
    Kdc = -dz - db
    linear, square = float(a.c @ Kdc) + total * db, float(dc @ Kdc)

    def slope(step: float) -> float:
        z = a.z + step * dz
        on = s * z > 0
        return linear + step * square + float(np.sum(z[on] * dz[on] / r[on]))

    if slope(1.0) <= 0.0:
        return 1.0
    with np.errstate(divide="ignore", invalid="ignore"):
        kinks = a.z / (a.z - b.z)
    kinks = np.sort(kinks[(kinks > 0.0) & (kinks < 1.0)])
    knots = np.concatenate([[0.0], kinks, [1.0]])
    low, high = 0, len(knots) - 1
    while high - low > 1:  # the slope increases, linearly between knots
        middle = (low + high) // 2
        low, high = (middle, high) if slope(knots[middle]) <= 0.0 else (low, middle)
    left, right = slope(knots[low]), slope(knots[high])
    if right <= left:
        return float(knots[high])
    step = knots[low] + (knots[high] - knots[low]) * max(0.0, -left / (right - left))
    return float(max(step, 1e-12))
