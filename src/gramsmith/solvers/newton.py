"""Newton's method (IRLS) for regularised losses of a kernel expansion.

    minimise  Σ_i w_i L(y_i, f_i) + α/2 Σ_c a_c'K a_c        f = K a + b      (b is not penalised)

Two fronts: all samples are centres, where K is held (`fit_expansion`) or known by products alone
(`newton_cg.fit_products`); or f = Φθ + b with few features Φ (`fit_features`), which serves
landmarks, import points and many classes. Both are `damped_newton`, which accepts a step only if
the objective falls.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from gramsmith.solvers.cg import newton_step
from gramsmith.solvers.definite import Definite
from gramsmith.solvers.losses import Loss, Multinomial
from gramsmith.solvers.outcome import Outcome

Array = npt.NDArray[Any]
State = tuple[Array, ...]


@dataclass(frozen=True, kw_only=True)
class Descent(Outcome):
    """Where Newton's method ended, and the objective at the start and after every step."""

    state: State
    history: list[float]


def damped_newton(
    state: State,
    value: Callable[..., float],
    step: Callable[..., tuple[State, float]],
    *,
    max_iter: int = 100,
    tol: float = 1e-8,
    polish: bool = False,
) -> Descent:
    """Minimise a convex function by Newton's method, halving steps that gain too little.

    ``value(*state)`` is the objective; ``step(*state)`` returns the Newton step of every array, and
    what the derivative along it promises, twice what a full step gains on a parabola. The end is
    where a step promises less than a share `tol` of the objective; `polish` takes that step too,
    which squares the error once more.
    """
    history = [value(*state)]
    status, n_iter = "max_iter", 0
    for n_iter in range(1, max_iter + 1):  # noqa: B007
        move, promise = step(*state)
        unit = max(abs(history[-1]), float(np.finfo(float).tiny))
        if not promise >= -2.0 * tol * unit:  # uphill by more than rounding, or not a number
            status = "stalled"
            break
        done = promise <= 2.0 * tol * unit
        # 40 halvings: 1e-12 of a step, less than what rounding moves
        for t in 0.5 ** np.arange((1 if polish else 0) if done else 40):
            ahead = tuple(x + t * dx for x, dx in zip(state, move, strict=True))
            then = value(*ahead)
            # A little of what was promised is enough; the last step need only do no harm.
            if np.isfinite(then) and then <= history[-1] - (0.0 if done else 1e-4 * t * promise):
                state = ahead
                history.append(then)
                break
        else:
            # a promise of 1e-6 that no halving keeps is rounding of the objective
            status = "converged" if done or promise <= 1e-6 * unit else "stalled"
            break
        if done:
            status = "converged"
            break
    return Descent(
        state=state,
        history=history,
        status=status,
        advice="" if status == "converged" else "Raise max_iter or alpha.",
        n_iter=n_iter,
    )


@dataclass(frozen=True, kw_only=True)
class Expansion(Outcome):
    """The coefficients of a fitted kernel expansion (of features: θ).

    `a` has shape (m,) or (m, C), `b` is a number or has shape (C,), `f` are the decision values of
    the training samples, `jitter` is what was added to a diagonal that was singular to working
    precision. What was fitted by products has their number, and |g + αa| / |g|, zero at the
    minimum, for the slopes g.
    """

    a: Array
    b: Any
    f: Array
    objective: float
    history: list[float]
    jitter: float = 0.0
    n_products: int = 0
    residual: float = 0.0


def fit_expansion(
    K: Array,
    y: Array,
    loss: Loss,
    alpha: float,
    *,
    fit_intercept: bool = True,
    sample_weight: Array | None = None,
    start: tuple[Array, Array] | None = None,
    max_iter: int = 100,
    tol: float = 1e-8,
) -> Expansion:
    """Minimise the regularised loss over one coefficient per sample.

    K is positive semidefinite, y as `code_targets` gives it. `start` holds decision values (n, C)
    and intercepts (C,) near the minimum; it is of use for several classes.
    """
    options: Any = {"fit_intercept": fit_intercept, "max_iter": max_iter, "tol": tol}
    if y.ndim == 2:
        return _fit_classes(K, y, alpha, sample_weight, start, options)
    w = np.ones(len(K)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    jitter = 0.0

    def objective(a: Array, b: Array, Ka: Array) -> float:
        return float(w @ loss.value(y, Ka + b) + 0.5 * alpha * np.sum(a * Ka))

    def step(a: Array, b: Array, Ka: Array) -> tuple[State, float]:
        nonlocal jitter
        f = Ka + b
        g, W = w * loss.slope(y, f), w * loss.curvature(y, f)
        a1, b1, added = _full_step(K, W, W * f - g, alpha, fit_intercept)
        if b1 is None:
            # Every curvature is zero (a hinge with all points on one side): move along the slope.
            b1 = -np.sign(g.sum())
        jitter = max(jitter, added)
        da, db, dKa = a1 - a, b1 - b, K @ a1 - Ka
        promise = -float(np.sum(g * (dKa + db)) + alpha * np.sum(a * dKa))
        return (da, db, dKa), promise

    origin = np.zeros_like(y), np.zeros(()), np.zeros_like(y)
    minimum = damped_newton(origin, objective, step, max_iter=max_iter, tol=tol, polish=True)
    a, b, Ka = minimum.state
    return expansion(minimum, a, b, Ka + b, jitter=jitter)


def _fit_classes(
    K: Array,
    y: Array,
    alpha: float,
    sample_weight: Array | None,
    start: tuple[Array, Array] | None,
    options: Any,
) -> Expansion:
    """Minimise the multinomial loss on the eigenvectors of K, which serve all classes."""
    values, U = np.linalg.eigh(K)
    kept = values > len(K) * float(np.finfo(float).eps) * max(float(values[-1]), 0.0)
    Phi = U[:, kept] * np.sqrt(values[kept])
    loss, theta = Multinomial(), None
    if start is not None:
        f, b = start
        theta = np.vstack([Phi.T @ (f - b) / values[kept, None], b])
    minimum = fit_features(Phi, y, loss, alpha, sample_weight=sample_weight, start=theta, **options)
    # At the minimum αa = -g; K a with this a has one more step's accuracy.
    slope = loss.slope(y, minimum.f)
    a = -(slope if sample_weight is None else sample_weight[:, None] * slope) / alpha
    return replace(minimum, a=a)


def fit_features(
    Phi: Array,
    y: Array,
    loss: Loss,
    alpha: float,
    *,
    fit_intercept: bool = True,
    sample_weight: Array | None = None,
    start: Array | None = None,
    max_iter: int = 100,
    tol: float = 1e-8,
) -> Expansion:
    """Minimise the regularised loss of linear functions of features, f = Φθ + b.

    Newton's steps are solved by conjugate gradients, preconditioned by one class in place of all:
    the Hessian of all classes is never formed, so that many of them cost little. Features with
    orthogonal columns take the fewest. `start` and the result hold θ and b.
    """
    n, r = Phi.shape
    weight = np.ones(n) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    w = weight[:, None] if y.ndim == 2 else weight
    B = np.column_stack([Phi, np.ones(n) if fit_intercept else np.zeros(n)])
    penalty = np.append(np.full(r, float(alpha)), 0.0 if fit_intercept else 1.0)
    column = penalty[:, None] if y.ndim == 2 else penalty
    first, near = 0.0, np.zeros(n)
    solve: Callable[[Array], Array] | None = None
    fine = float(np.sqrt(tol))

    def objective(theta: Array, f: Array) -> float:
        return float(weight @ loss.value(y, f) + 0.5 * np.sum(column * theta * theta))

    def step(theta: Array, f: Array) -> tuple[State, float]:
        nonlocal first, near, solve
        p = loss.curvature(y, f)
        if y.ndim == 1:  # a loss may be straight where all samples are: the intercept has no bound
            p = np.maximum(p, 1e-9)

        def times(v: Array) -> Array:
            t = B @ v
            # The C x C curvature of a sample is diag(p) - pp'.
            t = w * p * (t - np.sum(p * t, axis=1)[:, None] if y.ndim == 2 else t)
            return np.asarray(B.T @ t + column * v)

        # Of two classes that a sample may belong to each has half the trace of its curvature.
        each = weight * (0.5 * (1.0 - np.sum(p * p, axis=1)) if y.ndim == 2 else p)
        each = np.maximum(each, 1e-9 * weight)
        descent = -(B.T @ (w * loss.slope(y, f)) + column * theta)
        # Far from the minimum a rough step does; close to it the steps become Newton's.
        first = max(first, float(np.linalg.norm(descent)))
        rough = max(fine, min(0.2, float(np.linalg.norm(descent)) / first)) if first else 0.2
        last = 2.0 * tol * abs(objective(theta, f))
        if solve is None or np.abs(each - near).sum() > 0.3 * near.sum():
            H = (B * each[:, None]).T @ B
            H[np.diag_indices_from(H)] += penalty
            near, solve = each, Definite(H).solve
        v, promise = newton_step(times, descent, solve, rough, fine, last)
        return (v, B @ v), promise

    theta = np.zeros((r + 1, *y.shape[1:])) if start is None else start
    minimum = damped_newton(
        (theta, B @ theta), objective, step, max_iter=max_iter, tol=tol, polish=True
    )
    theta, f = minimum.state
    shift = theta[-1].mean() if y.ndim == 2 else 0.0  # common to all classes, it changes nothing
    return expansion(minimum, theta[:-1], theta[-1] - shift, f - shift)


def expansion(minimum: Descent, a: Array, b: Array, f: Array, **more: Any) -> Expansion:
    """Return a minimum that was found as coefficients, intercepts and decision values."""
    outcome: dict[str, Any] = {"status": minimum.status, "advice": minimum.advice} | more
    return Expansion(
        a=a,
        b=b if np.ndim(b) else float(b),
        f=f,
        objective=minimum.history[-1],
        history=minimum.history,
        n_iter=minimum.n_iter,
        **outcome,
    )


def _full_step(
    K: Array, W: Array, rho: Array, alpha: float, fit_intercept: bool
) -> tuple[Array, Any, float]:
    """Solve αa + W(Ka + b) = ρ, 1'a = 0 with W >= 0; b is None where W is zero.

    By W^½ (W^½ K W^½ + αI)^-1 W^½, which is (K + αW^-1)^-1 where W has no zeros.
    """
    root = np.sqrt(W)
    M = K * root[:, None]
    M *= root
    M[np.diag_indices_from(M)] += alpha
    factor = Definite(M)
    a = (rho - root * factor.solve(root * (K @ rho))) / alpha
    if not fit_intercept:
        return a, 0.0, factor.jitter
    v = root * factor.solve(root)
    total = v.sum()
    if total <= 0.0:
        return a, None, factor.jitter
    return a - v * (a.sum() / total), a.sum() / total, factor.jitter
