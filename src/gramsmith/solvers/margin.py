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
from scipy.optimize import brentq

from gramsmith.solvers.definite import Definite
from gramsmith.solvers.outcome import Outcome

Array = npt.NDArray[Any]
Solution = TypeVar("Solution", bound=Outcome)

EPS = float(np.finfo(np.float64).eps)
DIGITS = 1e-3  # error by the rounding of K, of slacks or relative of R², above which it is said


@dataclass(frozen=True, kw_only=True)
class ConeSolution(Outcome):
    """Coefficients c, multiplier of 1'c = p and active set of the programme above."""

    c: Array  # (n,)
    bias: float
    active: Array  # where s_i c_i > 0, (n,)
    # what was added to the diagonal because K + R was singular to working precision
    jitter: float = 0.0

    @property
    def support(self) -> Array:
        """The indices with |c_i| > 1e-8 max |c|."""
        return np.flatnonzero(np.abs(self.c) > 1e-8 * np.abs(self.c).max())


@dataclass(frozen=True, kw_only=True)
class MarginSolution(ConeSolution):
    """The L2-SVM, f(x) = Σ_i c_i k(x_i, x) + bias with c_i = a_i y_i."""

    w2: float  # |w|² = max 2 1'a - (a*y)'(K + I/C)(a*y), one over the squared margin

    @property
    def a(self) -> Array:
        """The dual variables, a_i >= 0 and y'a = 0."""
        return np.abs(self.c)


@dataclass(frozen=True, kw_only=True)
class BallSolution(ConeSolution):
    """The smallest ball around the points of feature space, of centre Σ_i c_i φ_i, 1'c = 1."""

    r2: float  # R² = max c'diag(K + I/C) - c'(K + I/C)c


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

    for labels y = ±1. Of the dual variables `start` of a neighbouring problem only where they are
    positive matters.
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
    # at the optimum (a*y)'(K + I/C)(a*y) = 1'a
    solution = MarginSolution(**vars(cone), w2=float(np.abs(cone.c).sum()))
    # Every decision value is a sum of K_ij c_j, rounded independently.
    error = EPS * float(np.abs(K).max()) * float(np.linalg.norm(cone.c))
    return _with_rounding(solution, error, "slacks")


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

    Of the weights `start` of a neighbouring problem only where they are positive matters. Weights
    of samples divide 1/C; the ball itself ignores repetition when C is infinite.
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
    r2 = max(float(b @ squared - u @ (K @ u) - (b * r) @ b), 0.0)
    solution = BallSolution(**vars(replace(cone, c=b)), r2=r2)
    largest = float(np.abs(K).max(initial=0.0)) if np.ptp(K) else 0.0  # equal points are exact
    # R² is a difference of two sums of K, each rounded.
    error = 4.0 * EPS * largest / max(solution.r2, float(np.finfo(float).tiny))
    return _with_rounding(solution, error, "R²")


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

    `active` is a guess of the active set, such as that of a neighbouring problem. What is next to
    nothing in R is raised, and that is part of the jitter.
    """
    if active is None or not active.any():
        active = np.ones(len(t), dtype=bool)
    # Only c that add up to `total` matter, so the origin of feature space is free: the mean of the
    # samples keeps large common parts of K from swallowing the digits that decide.
    largest = float(np.abs(K).max(initial=0.0))
    row, grand = np.zeros(len(t)), 0.0
    for _ in range(2):  # the first means are good to rounding of the whole, and alike in all rows
        mean = K.mean(axis=1)
        shift = float(mean.mean())
        mean = mean - shift
        K = K - shift - mean[:, None] - mean
        row, grand = row + mean, grand + shift
    t = t - total * (row + 0.5 * grand)
    # The squared hinge of the dual needs a little width: with less, zeros are lost in rounding. And
    # what is left of a large K has the rounding of the whole, by which it may be indefinite. Of
    # n x n independent errors the norm is about 2 sqrt(n); 4 of them stand in every entry.
    size = float(np.mean(np.abs(K.diagonal()))) or largest or 1.0
    least = max(1e-10 * size, 8.0 * float(np.sqrt(len(t))) * EPS * largest)
    solution = _Programme(K, t, s, np.maximum(r, least), total).solve(active, max_iter)
    return replace(
        solution,
        # the row means are small, so that a sum of c that rounding moved off `total` does no harm
        bias=solution.bias - float(row @ solution.c) - 0.5 * grand * total,
        jitter=solution.jitter + float(np.max(least - r, initial=0.0)),
    )


def _with_rounding(solution: Solution, error: float, what: str) -> Solution:
    """Return a solution with the status "stalled" if rounding of K makes such a relative error."""
    if error <= DIGITS or not solution.converged:
        return solution
    advice = (
        f"K is so large beside the distances of the samples that its rounding may change {what} by "
        f"{error:.1g}: centre the samples, or lower C."
    )
    return replace(solution, status="stalled", advice=advice)


@dataclass(frozen=True)
class _Point:
    """Coefficients, offset, and the residual z = t - Kc - b1."""

    c: Array
    b: float
    z: Array


@dataclass
class _Programme:
    """The programme at the head, about the mean of the samples."""

    K: Array
    t: Array
    s: Array
    r: Array
    total: float
    jitter: float = 0.0

    def solve(self, active: Array, max_iter: int) -> ConeSolution:
        """Iterate from a guess of the active set until it is that of its own solution."""
        n_iter, status = 1, "max_iter"
        at = self.newton(active)
        tiny = 1e-13 * float(np.max(np.abs(self.t)))  # residuals below it are rounding
        wanted = self.s * at.z > tiny
        if np.array_equal(wanted, active):
            status = "converged"
        best, idle = np.inf, 0
        while status == "max_iter" and n_iter < max_iter:
            if not wanted.any():
                # No residual at all: the offset alone decides; the largest gives a direction.
                wanted = self.s * at.z >= np.max(self.s * at.z)
            n_iter += 1
            active = wanted
            goal = self.newton(active)
            if np.array_equal(self.s * goal.z > tiny, active):
                at, status = goal, "converged"  # the optimality conditions hold
                break
            at = self.search(at, goal)
            wanted = self.s * at.z > tiny
            value = self.value(at)
            idle = 0 if value < best - 1e-14 * abs(best) else idle + 1  # less is rounding
            best = min(best, value)
            if idle >= 5:
                # Rounding shuffles points whose residual is zero: the better of the last must do.
                at = min(goal, at, key=self.missed)
                status = "converged" if self.missed(at) <= 1e-6 else "stalled"
        c = self.with_sign(at.c)
        advice = {"max_iter": f"Raise max_iter above {max_iter} or lower C.", "stalled": "Lower C."}
        return ConeSolution(
            c=c,
            bias=at.b,
            active=c != 0,
            jitter=self.jitter,
            status=status,
            advice=advice.get(status, ""),
            n_iter=n_iter,
        )

    def newton(self, active: Array) -> _Point:
        """Solve (K + R)c + b1 = t, 1'c = p on the active set; the other coefficients are zero."""
        index = np.flatnonzero(active)
        A = self.K[np.ix_(index, index)]
        A[np.diag_indices_from(A)] += self.r[index]
        factor = Definite(A, self.jitter)
        self.jitter = factor.jitter
        u, v = factor.solve(np.column_stack([self.t[index], np.ones(len(index))])).T
        b = float((u.sum() - self.total) / v.sum())
        c = np.zeros(len(self.t))
        c[index] = u - b * v
        z = self.t - self.K @ c - b
        z[index] = (self.r[index] + self.jitter) * c[index]  # exact where t - Kc - b cancels
        return _Point(c, b, z)

    def with_sign(self, c: Array) -> Array:
        return np.where(self.s * c > 0, c, 0.0)

    def missed(self, x: _Point) -> float:
        """Return by how much z = Rc where c is not zero, s z <= 0 elsewhere, 1'c = p are missed."""
        c = self.with_sign(x.c)
        z = self.t - self.K @ c - x.b
        worst = np.max(np.where(c != 0.0, np.abs(z - self.r * c), self.s * z), initial=0.0)
        size = float(np.abs(c).sum()) or 1.0
        return float(max(worst / np.max(np.abs(self.t)), abs(c.sum() - self.total) / size))

    def value(self, x: _Point) -> float:
        """Return the dual objective."""
        hinge = np.maximum(self.s * x.z, 0.0)
        smooth = 0.5 * x.c @ (self.t - x.z - x.b) + self.total * x.b
        return float(smooth + 0.5 * np.sum(hinge * hinge / self.r))

    def search(self, a: _Point, b: _Point) -> _Point:
        """Return the point at which the dual is smallest on the way from a to b."""
        dc, db, dz = b.c - a.c, b.b - a.b, b.z - a.z
        Kdc = -dz - db
        linear, square = float(a.c @ Kdc) + self.total * db, float(dc @ Kdc)

        def slope(step: float) -> float:  # it increases, linearly but for kinks
            z = a.z + step * dz
            on = self.s * z > 0
            return linear + step * square + float(np.sum(z[on] * dz[on] / self.r[on]))

        if slope(1.0) <= 0.0:
            return b
        # 1e-12: uphill by rounding, and still a step
        step = brentq(slope, 0.0, 1.0) if slope(0.0) < 0.0 else 1e-12
        return _Point(a.c + step * dc, a.b + step * db, a.z + step * dz)
