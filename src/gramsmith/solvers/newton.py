"""Newton's method (IRLS) for regularised losses of a kernel expansion.

    minimise  Σ_i w_i L(y_i, f_i) + α/2 Σ_c a_c'K a_c        f = K a + b      (b is not penalised)

`fit_expansion` takes all samples as centres and works with K alone; `fit_subset` takes a few and
works with the n x m block of their columns. Both are `damped_newton`, which accepts a step only if
the objective falls.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gramsmith.solvers.definite import Definite
from gramsmith.solvers.losses import Loss
from gramsmith.solvers.outcome import Outcome

Array = npt.NDArray[Any]
State = tuple[Array, ...]


@dataclass(frozen=True, kw_only=True)
class Descent(Outcome):
    """Where Newton's method ended.

    Parameters
    ----------
    state : tuple of arrays
        What is minimised over, and what is linear in it.
    history : list of float
        The objective at the start and after every step.
    """

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
        Where to start.
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
        unit = max(abs(history[-1]), 1e-12)
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
    """The coefficients of a fitted kernel expansion.

    Parameters
    ----------
    a : array of shape (m,) or (m, C)
        Coefficients of the centres.
    b : float or array of shape (C,)
        Intercept.
    f : array of shape (n,) or (n, C)
        Decision values of the training samples.
    objective : float
    history : list of float
        The objective after every step.
    jitter : float
        What was added to a diagonal that was singular to working precision.
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
    weight = np.ones(len(K)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    solve = _multinomial_step if y.ndim == 2 else _scalar_step
    w = weight[:, None] if y.ndim == 2 else weight
    jitter = 0.0

    def objective(a: Array, b: Array, Ka: Array) -> float:
        return float(weight @ loss.value(y, Ka + b) + 0.5 * alpha * np.sum(a * Ka))

    def step(a: Array, b: Array, Ka: Array) -> tuple[State, float]:
        nonlocal jitter
        f = Ka + b
        g, W = w * loss.slope(y, f), w * loss.curvature(y, f)
        a1, b1, added = solve(K, W, g, f, alpha, fit_intercept)
        jitter = max(jitter, added)
        da, db, dKa = a1 - a, b1 - b, K @ a1 - Ka
        promise = -float(np.sum(g * (dKa + db)) + alpha * np.sum(a * dKa))
        return (da, db, dKa), promise

    start = np.zeros_like(y), np.zeros(y.shape[1:]), np.zeros_like(y)
    found = damped_newton(start, objective, step, max_iter=max_iter, tol=tol, polish=True)
    a, b, Ka = found.state
    return _expansion(found, a, b, Ka + b, jitter)


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


def _multinomial_step(
    K: Array, W: Array, g: Array, f: Array, alpha: float, fit_intercept: bool
) -> tuple[Array, Array, float]:
    """Solve αA + W(KA + b) = WF - G with the C x C blocks w(diag p - pp') of W.

    P = (K + αW^-)^-1 = E - ER(R'ER)^-1R'E, with E block diagonal and R stacking identities
    (Rasmussen & Williams 2006, section 3.5).
    """
    n, C = f.shape
    blocks = [_Resolvent(K, W[:, c], alpha) for c in range(C)]
    total = np.zeros((n, n))
    for E in blocks:
        total += E.dense()
    total[np.diag_indices(n)] += 1e-14 * np.trace(total) / n
    factor = Definite(total)
    jitter = max(factor.jitter, *(E.factor.jitter for E in blocks))

    def apply(Z: Array) -> Array:
        Y = np.column_stack([E(Z[:, c]) for c, E in enumerate(blocks)])
        shared = factor.solve(Y.sum(axis=1))
        return np.asarray(Y - np.column_stack([E(shared) for E in blocks]))

    # W F = w (p * f - p (p'f)), and W holds w p, whose sum over the classes is w.
    rho = W * f - W * (np.sum(W * f, axis=1) / W.sum(axis=1))[:, None] - g
    A = (rho - apply(K @ rho)) / alpha
    if not fit_intercept:
        return A, np.zeros(C), jitter
    columns = np.stack([apply(np.tile(np.eye(C)[c], (n, 1))) for c in range(C)])
    system = columns.sum(axis=1).T  # 1'P1, singular along the common shift of all intercepts
    b = np.linalg.pinv(system, rcond=1e-10) @ A.sum(axis=0)
    return A - np.tensordot(b, columns, axes=1), b, jitter


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

    def dense(self) -> Array:
        inverse = self.factor.solve(np.diag(self.root))
        return np.asarray(self.root[:, None] * inverse)


def fit_subset(
    A: Array,
    R: Array,
    y: Array,
    loss: Loss,
    alpha: float,
    *,
    sample_weight: Array | None = None,
    start: Array | None = None,
    max_iter: int = 100,
    tol: float = 1e-8,
) -> Expansion:
    """Minimise the regularised loss over an intercept and the coefficients of a few centres.

    Parameters
    ----------
    A : array of shape (n, m)
        The columns of the Gram matrix that belong to the centres.
    R : array of shape (m, m)
        Their rows of A: the Gram matrix of the centres.
    y : array of shape (n,) or (n, C)
        Targets, as `code_targets` gives them.
    loss : Loss
    alpha : float
        Regulariser, positive.
    sample_weight : array of shape (n,), optional
        Positive weights; weight 2 is the same as repeating a row.
    start : array of shape (m + 1,) or (m + 1, C), optional
        Intercept and coefficients to start from.
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
    >>> from gramsmith.solvers import fit_subset
    >>> from gramsmith.solvers.losses import Logistic
    >>> x, y = np.array([-2.0, -1.0, 1.0, 2.0]), np.array([-1.0, -1.0, 1.0, 1.0])
    >>> K = np.outer(x, x)
    >>> fit_subset(K[:, [3]], K[np.ix_([3], [3])], y, Logistic(), alpha=1.0).f.round(3)
    array([-2.013, -1.007,  1.007,  2.013])
    """
    n, m = A.shape
    weight = np.ones(n) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    B = np.column_stack([np.ones(n), A])
    theta = np.zeros((m + 1, *y.shape[1:])) if start is None else np.array(start, dtype=float)
    penalty = np.zeros((m + 1, m + 1))
    penalty[1:, 1:] = alpha * R
    w = weight[:, None] if y.ndim == 2 else weight
    jitter = 0.0

    def objective(theta: Array, f: Array) -> float:
        return float(weight @ loss.value(y, f) + 0.5 * np.sum(theta * (penalty @ theta)))

    def step(theta: Array, f: Array) -> tuple[State, float]:
        nonlocal jitter
        gradient = B.T @ (w * loss.slope(y, f)) + penalty @ theta
        factor = Definite(subset_hessian(B, penalty, loss.curvature(y, f), weight), jitter)
        jitter = factor.jitter
        delta = factor.solve(-gradient.T.ravel()).reshape(gradient.T.shape).T
        return (delta, B @ delta), -float(np.sum(gradient * delta))

    found = damped_newton((theta, B @ theta), objective, step, max_iter=max_iter, tol=tol)
    theta, f = found.state
    return _expansion(found, theta[1:], theta[0], f, jitter)


def subset_hessian(B: Array, penalty: Array, curvature: Array, weight: Array) -> Array:
    """Return B'WB + penalty; for several classes the blocks B'w(diag p - pp')B, class by class."""
    if curvature.ndim == 1:
        H = (B * (weight * curvature)[:, None]).T @ B + penalty
        if H[0, 0] <= 1e-9 * weight.sum():
            H[0, 0] = weight.sum()  # a hinge that is straight everywhere: move by the slope
        return np.asarray(H)
    m, C = B.shape[1], curvature.shape[1]
    H = np.empty((C, m, C, m))
    for c in range(C):
        for d in range(c + 1):
            w = weight * curvature[:, c] * ((c == d) - curvature[:, d])
            H[c, :, d, :] = (B * w[:, None]).T @ B + (penalty if c == d else 0.0)
            H[d, :, c, :] = H[c, :, d, :].T
        # A shift common to all classes changes nothing: (Σ_c b_c)² pins it without moving the rest.
    H[:, 0, :, 0] += float(weight.sum()) / C
    return H.reshape(C * m, C * m)
