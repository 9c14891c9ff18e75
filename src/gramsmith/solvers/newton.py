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

    Parameters
    ----------
    state : tuple of arrays
        Where to start: what is minimised over, and what is linear in it.
    value : callable
        ``value(*state)`` is the objective.
    step : callable
        ``step(*state)`` returns the Newton step of every array, and what the derivative along it
        promises, twice what a full step gains on a parabola.
    max_iter : int, default=100
        Limit of steps.
    tol : float, default=1e-8
        Stop when a step promises to lower the objective by less than this share of it.
    polish : bool, default=False
        Whether to take the step that proves convergence: it squares the error once more.

    Returns
    -------
    Descent

    Examples
    --------
    >>> import numpy as np
    >>> from gramsmith.solvers.newton import damped_newton
    >>> found = damped_newton(
    ...     (np.array(3.0),),
    ...     lambda x: float(np.cosh(x)),
    ...     lambda x: ((-np.tanh(x),), float(np.sinh(x) * np.tanh(x))),
    ... )
    >>> abs(found.state[0].round(4)), found.status
    (np.float64(0.0), 'converged')
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
        for t in 0.5 ** np.arange((1 if polish else 0) if done else 40):
            ahead = tuple(x + t * dx for x, dx in zip(state, move, strict=True))
            then = value(*ahead)
            # A little of what was promised is enough; the last step need only do no harm.
            if np.isfinite(then) and then <= history[-1] - (0.0 if done else 1e-4 * t * promise):
                state = ahead
                history.append(then)
                break
        else:
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
    precision.
    """

    a: Array
    b: Any
    f: Array
    objective: float
    history: list[float]
    jitter: float = 0.0


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

    Parameters
    ----------
    K : array of shape (n, n)
        Symmetric and positive semidefinite.
    y : array of shape (n,) or (n, C)
        Targets, as `code_targets` gives them.
    loss : Loss
    alpha : float
        Regulariser, positive.
    fit_intercept : bool, default=True
        Whether there is an intercept; it is not penalised.
    sample_weight : array of shape (n,), optional
        Positive weights; weight 2 is the same as repeating a row.
    start : tuple of arrays, optional
        Decision values (n, C) and intercepts (C,) close to the minimum; of use for several classes.
    max_iter : int, default=100
        Limit of Newton steps.
    tol : float, default=1e-8
        Stop when a step promises to lower the objective by less than this share of it.

    Returns
    -------
    Expansion

    Examples
    --------
    >>> import numpy as np
    >>> from gramsmith.solvers import fit_expansion
    >>> from gramsmith.solvers.losses import Logistic
    >>> x, y = np.array([-2.0, -1.0, 1.0, 2.0]), np.array([-1.0, -1.0, 1.0, 1.0])
    >>> found = fit_expansion(np.outer(x, x), y, Logistic(), alpha=1.0)
    >>> found.f.round(3)
    array([-2.013, -1.007,  1.007,  2.013])
    """
    if y.ndim == 2:
        return _fit_classes(K, y, alpha, fit_intercept, sample_weight, start, max_iter, tol)
    w = np.ones(len(K)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    jitter = 0.0

    def objective(a: Array, b: Array, Ka: Array) -> float:
        return float(w @ loss.value(y, Ka + b) + 0.5 * alpha * np.sum(a * Ka))

    def step(a: Array, b: Array, Ka: Array) -> tuple[State, float]:
        nonlocal jitter
        f = Ka + b
        g, W = w * loss.slope(y, f), w * loss.curvature(y, f)
        a1, b1, added = _scalar_step(K, W, g, f, alpha, fit_intercept)
        jitter = max(jitter, added)
        da, db, dKa = a1 - a, b1 - b, K @ a1 - Ka
        promise = -float(np.sum(g * (dKa + db)) + alpha * np.sum(a * dKa))
        return (da, db, dKa), promise

    origin = np.zeros_like(y), np.zeros(()), np.zeros_like(y)
    found = damped_newton(origin, objective, step, max_iter=max_iter, tol=tol, polish=True)
    a, b, Ka = found.state
    return _expansion(found, a, b, Ka + b, jitter)


def _fit_classes(
    K: Array,
    y: Array,
    alpha: float,
    fit_intercept: bool,
    sample_weight: Array | None,
    start: tuple[Array, Array] | None,
    max_iter: int,
    tol: float,
) -> Expansion:
    """Minimise the multinomial loss on the eigenvectors of K, which serve all classes."""
    values, U = np.linalg.eigh(K)
    kept = values > len(K) * float(np.finfo(float).eps) * max(float(values[-1]), 0.0)
    Phi = U[:, kept] * np.sqrt(values[kept])
    theta = None
    if start is not None:
        f, b = start
        theta = np.vstack([Phi.T @ (f - b) / values[kept, None], b])
    found = fit_features(
        Phi,
        y,
        Multinomial(),
        alpha,
        fit_intercept=fit_intercept,
        sample_weight=sample_weight,
        start=theta,
        max_iter=max_iter,
        tol=tol,
    )
    # At the minimum αa = -g; K a with this a has one more step's accuracy.
    slope = Multinomial().slope(y, found.f)
    a = -(slope if sample_weight is None else sample_weight[:, None] * slope) / alpha
    return replace(found, a=a)


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
    the Hessian of all classes is never formed, so that many of them cost little.

    Parameters
    ----------
    Phi : array of shape (n, r)
        Features with orthogonal columns; others work, but take more steps.
    y : array of shape (n,) or (n, C)
        Targets, as `code_targets` gives them.
    loss : Loss
    alpha : float
        Regulariser, positive: α/2 |θ|².
    fit_intercept : bool, default=True
        Whether there is an intercept; it is not penalised.
    sample_weight : array of shape (n,), optional
        Positive weights; weight 2 is the same as repeating a row.
    start : array of shape (r + 1,) or (r + 1, C), optional
        θ and b to start from.
    max_iter : int, default=100
        Limit of Newton steps.
    tol : float, default=1e-8
        Stop when a step promises to lower the objective by less than this share of it.

    Returns
    -------
    Expansion
        Its `a` holds θ.

    Examples
    --------
    >>> import numpy as np
    >>> from gramsmith.solvers.losses import Logistic
    >>> from gramsmith.solvers.newton import fit_features
    >>> x, y = np.array([-2.0, -1.0, 1.0, 2.0]), np.array([-1.0, -1.0, 1.0, 1.0])
    >>> fit_features(x[:, None], y, Logistic(), alpha=1.0).f.round(3)
    array([-2.013, -1.007,  1.007,  2.013])
    """
    n, r = Phi.shape
    weight = np.ones(n) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    w = weight[:, None] if y.ndim == 2 else weight
    B = np.column_stack([Phi, np.ones(n) if fit_intercept else np.zeros(n)])
    penalty = np.append(np.full(r, float(alpha)), 0.0 if fit_intercept else 1.0)
    square = np.einsum("ij,ij->j", B, B)
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
        if y.ndim == 2 and each.max() <= 4.0 * each.mean():
            diagonal = column + np.mean(each) * square[:, None]
            v, promise = newton_step(times, descent, lambda v: v / diagonal, rough, fine, last)
        else:
            if solve is None or np.abs(each - near).sum() > 0.3 * near.sum():
                H = (B * each[:, None]).T @ B
                H[np.diag_indices_from(H)] += penalty
                near, solve = each, Definite(H).solve
            v, promise = newton_step(times, descent, solve, rough, fine, last)
        return (v, B @ v), promise

    theta = np.zeros((r + 1, *y.shape[1:])) if start is None else start
    found = damped_newton(
        (theta, B @ theta), objective, step, max_iter=max_iter, tol=tol, polish=True
    )
    theta, f = found.state
    shift = theta[-1].mean() if y.ndim == 2 else 0.0  # common to all classes, it changes nothing
    return _expansion(found, theta[:-1], theta[-1] - shift, f - shift, 0.0)


def _expansion(found: Descent, a: Array, b: Array, f: Array, jitter: float) -> Expansion:
    return Expansion(
        a=a,
        b=b if np.ndim(b) else float(b),
        f=f,
        objective=found.history[-1],
        history=found.history,
        jitter=jitter,
        status=found.status,
        advice=found.advice,
        n_iter=found.n_iter,
    )


def _scalar_step(
    K: Array, W: Array, g: Array, f: Array, alpha: float, fit_intercept: bool
) -> tuple[Array, Array, float]:
    """Solve αa + W(Ka + b) = Wf - g, 1'a = 0; W may hold zeros."""
    E = _Resolvent(K, W, alpha)
    rho = W * f - g
    a = (rho - E(K @ rho)) / alpha
    if not fit_intercept:
        return a, np.zeros(()), E.factor.jitter
    v = E(np.ones(len(K)))
    total = v.sum()
    if total <= 0.0:
        # Every curvature is zero (a hinge with all points on one side): move along the slope.
        return a, np.asarray(-np.sign(g.sum())), E.factor.jitter
    b = a.sum() / total
    return a - b * v, np.asarray(b), E.factor.jitter


class _Resolvent:
    """W^½ (W^½ K W^½ + αI)^-1 W^½, which is (K + αW^-1)^-1 where W has no zeros."""

    def __init__(self, K: Array, W: Array, alpha: float) -> None:
        self.root = np.sqrt(W)
        M = K * self.root[:, None]
        M *= self.root
        M[np.diag_indices_from(M)] += alpha
        self.factor = Definite(M)

    def __call__(self, z: Array) -> Array:
        return np.asarray(self.root * self.factor.solve(self.root * z))
