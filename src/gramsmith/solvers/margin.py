"""The L2-SVM and the smallest enclosing ball, on a dense Gram matrix.

Both are one quadratic programme, solved by Newton's method on the active set: for a
symmetric K, a positive diagonal R and signs s_i = ±1,

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
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from gramsmith.solvers.definite import Definite
from gramsmith.solvers.outcome import Outcome

Array = npt.NDArray[Any]
Solution = TypeVar("Solution", bound=Outcome)

# Below this size a cold start from all points is cheaper than solving on a half first.
COLD = 500
EPS = float(np.finfo(np.float64).eps)
DIGITS = 1e-3  # error by the rounding of K, of slacks or relative of R², above which it is said


@dataclass(frozen=True, kw_only=True)
class MarginSolution(Outcome):
    """The L2-SVM."""

    a: Array  # dual variables, a_i >= 0 and y'a = 0, (n,)
    coef: Array  # a_i y_i, so that f(x) = Σ_i coef_i k(x_i, x) + bias, (n,)
    bias: float
    w2: float  # |w|² = max 2 1'a - (a*y)'(K + I/C)(a*y), one over the squared margin
    support: Array  # indices with a_i > 1e-8 max a
    # what was added to the diagonal because K + I/C was singular to working precision
    jitter: float = 0.0


@dataclass(frozen=True, kw_only=True)
class BallSolution(Outcome):
    """The smallest ball around the points of feature space."""

    b: Array  # weights of the centre Σ_i b_i φ_i, b_i >= 0 and 1'b = 1, (n,)
    r2: float  # R² = max b'diag(K + I/C) - b'(K + I/C)b
    support: Array  # indices with b_i > 1e-8 max b
    # what was added to the diagonal because K + I/C was singular to working precision
    jitter: float = 0.0


def _diagonal(C: float, n: int, sample_weight: Array | None) -> Array:
    if not C > 0:
        raise ValueError(f"Expected C > 0, got {C!r}. Use a positive number such as C=1.0.")
    weight = np.ones(n) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    return 1.0 / (C * weight)


def solve_l2svm(
    K: Array,
    y: Array,
    C: float,
    *,
    start: Array | None = None,
    sample_weight: Array | None = None,
    max_iter: int = 500,
) -> MarginSolution:
    r"""Fit the L2-SVM with bias, exactly.

    .. math:: \|w\|^2 = \max_{a \ge 0,\ y'a = 0} 2\,1'a - (a*y)'(K + I/C)(a*y)

    Parameters
    ----------
    K : array of shape (n, n)
        Symmetric Gram matrix.
    y : array of shape (n,)
        Labels +1 and -1, both present.
    C : float
        Penalty of the squared slacks.
    start : array of shape (n,), optional
        Dual variables of a neighbouring problem; only where they are positive matters.
    sample_weight : array of shape (n,), optional
        Positive weights; weight 2 is the same as repeating a row.
    max_iter : int
        Limit of Newton steps.

    Returns
    -------
    MarginSolution

    Examples
    --------
    >>> import numpy as np
    >>> from gramsmith.solvers import solve_l2svm
    >>> x = np.array([-2.0, -1.0, 1.0, 2.0])
    >>> machine = solve_l2svm(np.outer(x, x), np.sign(x), C=1e6)
    >>> machine.support, round(machine.w2, 4), abs(round(machine.bias, 4))
    (array([1, 2]), 1.0, 0.0)
    """
    y = np.asarray(y, dtype=np.float64)
    if set(np.unique(y)) != {-1.0, 1.0}:
        raise ValueError(
            f"Expected labels -1 and +1, both present, got {np.unique(y)[:5].tolist()}. "
            "Encode the two classes as -1 and +1."
        )
    active = None if start is None else np.asarray(start) > 0
    if active is not None and (not active[y > 0].any() or not active[y < 0].any()):
        active = None
    r = _diagonal(C, len(y), sample_weight)
    cone = solve_cone(np.asarray(K, dtype=np.float64), y, y, r, 0.0, active, max_iter)
    a = np.abs(cone.c)
    found = MarginSolution(
        a=a,
        coef=cone.c,
        bias=cone.b,
        w2=float(a.sum()),  # at the optimum (a*y)'(K + I/C)(a*y) = 1'a
        support=np.flatnonzero(a > 1e-8 * a.max()),
        jitter=cone.jitter,
        status=cone.status,
        advice=cone.advice,
        n_iter=cone.n_iter,
    )
    # Every decision value is a sum of K_ij c_j, rounded independently.
    error = EPS * float(np.abs(K).max()) * float(np.linalg.norm(a))
    return _told_of_rounding(found, error, "slacks")


def solve_ball(
    K: Array,
    C: float = np.inf,
    *,
    start: Array | None = None,
    sample_weight: Array | None = None,
    max_iter: int = 500,
) -> BallSolution:
    r"""Find the smallest ball that encloses all points of feature space.

    .. math:: R^2 = \max_{b \ge 0,\ 1'b = 1} b'\,\mathrm{diag}(K + I/C) - b'(K + I/C)\,b

    Parameters
    ----------
    K : array of shape (n, n)
        Symmetric Gram matrix with any diagonal.
    C : float, default=inf
        Adds I/C to K, as for the L2-SVM.
    start : array of shape (n,), optional
        Weights of a neighbouring problem; only where they are positive matters.
    sample_weight : array of shape (n,), optional
        Positive weights that divide 1/C. The ball itself ignores repetition when C is infinite.
    max_iter : int
        Limit of Newton steps.

    Returns
    -------
    BallSolution

    Examples
    --------
    >>> import numpy as np
    >>> from gramsmith.solvers import solve_ball
    >>> x = np.array([0.0, 1.0, 4.0])
    >>> ball = solve_ball(np.outer(x, x))
    >>> ball.b.round(4), round(ball.r2, 4)
    (array([0.5, 0. , 0.5]), 4.0)
    """
    K = np.asarray(K, dtype=np.float64)
    n = len(K)
    r = _diagonal(C, n, sample_weight)
    d = K.diagonal() + r
    active = None if start is None else np.asarray(start) > 0
    cone = solve_cone(K, 0.5 * d, np.ones(n), r, 1.0, active, max_iter)
    b = cone.c / cone.c.sum()
    # Weights that add up to one: the origin is free, and the mean of the samples is near them.
    row = K.mean(axis=1)
    squared = d - 2.0 * row + float(row.mean())
    u = b - 1.0 / n
    found = BallSolution(
        b=b,
        r2=max(float(b @ squared - u @ (K @ u) - (b * r) @ b), 0.0),
        support=np.flatnonzero(b > 1e-8 * b.max()),
        jitter=cone.jitter,
        status=cone.status,
        advice=cone.advice,
        n_iter=cone.n_iter,
    )
    largest = float(np.abs(K).max(initial=0.0)) if np.ptp(K) else 0.0  # equal points are exact
    # R² is a difference of two sums of K, each rounded.
    error = 4.0 * EPS * largest / max(found.r2, float(np.finfo(float).tiny))
    return _told_of_rounding(found, error, "R²")


@dataclass(frozen=True, kw_only=True)
class ConeSolution(Outcome):
    """Coefficients c, offset b and active set of the programme above."""

    c: Array  # (n,)
    b: float  # multiplier of 1'c = p
    active: Array  # where s_i c_i > 0, (n,)
    # what was added to the diagonal because K + R was singular to working precision
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
        The diagonal of R. What is next to nothing is raised, and that is part of the jitter.
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
    largest = float(np.abs(K).max(initial=0.0))
    K, r_mean, grand = _centred(K)
    t = t - total * (r_mean + 0.5 * grand)
    # The squared hinge of the dual needs a little width: with less, zeros are lost in rounding. And
    # what is left of a large K has the rounding of the whole, by which it may be indefinite.
    size = float(np.mean(np.abs(K.diagonal()))) or largest or 1.0
    least = max(1e-10 * size, _rounding(largest, len(t)))
    found = _iterate(K, t, s, np.maximum(r, least), total, active, max_iter)
    return replace(
        found,
        # r_mean is small, so that a sum of c that rounding moved off `total` does no harm here
        b=found.b - float(r_mean @ found.c) - 0.5 * grand * total,
        jitter=found.jitter + float(np.max(least - r, initial=0.0)),
    )


def _rounding(largest: float, n: int) -> float:
    """Return a bound of the eigenvalues of the rounding of a matrix, products and means included.

    Of n x n independent errors the norm is about 2 sqrt(n); 4 of them stand in every entry.
    """
    return 8.0 * float(np.sqrt(n)) * EPS * largest


def _centred(K: Array) -> tuple[Array, Array, float]:
    """Return K about the mean of the samples, its row means less their mean, and that mean."""
    r_mean = K.mean(axis=1)
    grand = float(r_mean.mean())
    r_mean = r_mean - grand
    return K - grand - r_mean[:, None] - r_mean, r_mean, grand


def _told_of_rounding(found: Solution, error: float, what: str) -> Solution:
    """Return a solution with the status "stalled" if rounding of K makes such a relative error."""
    if error <= DIGITS or not found.converged:
        return found
    advice = (
        f"K is so large beside the distances of the samples that its rounding may change {what} by "
        f"{error:.1g}: centre the samples, or lower C."
    )
    return replace(found, status="stalled", advice=advice)


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
            # Rounding shuffles points whose residual is zero: the better of the last two must do.
            at = min(goal, at, key=lambda x: _missed(x, K, t, s, r, total))
            status = "converged" if _missed(at, K, t, s, r, total) <= 1e-6 else "stalled"
    c = _with_sign(at.c, s)
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


def _with_sign(c: Array, s: Array) -> Array:
    return np.where(s * c > 0, c, 0.0)


def _missed(x: _Point, K: Array, t: Array, s: Array, r: Array, total: float) -> float:
    """Return by how much z = Rc where c is not zero, s z <= 0 elsewhere and 1'c = p are missed."""
    c = _with_sign(x.c, s)
    z = t - K @ c - x.b
    worst = np.max(np.where(c != 0.0, np.abs(z - r * c), s * z), initial=0.0)
    size = float(np.abs(c).sum()) or 1.0
    return float(max(worst / np.max(np.abs(t)), abs(c.sum() - total) / size))


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
