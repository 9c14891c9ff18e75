"""The L2-SVM, the smallest enclosing ball and the radius-margin bound, on a dense Gram matrix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gramsmith.solvers.active_set import solve_cone
from gramsmith.solvers.outcome import Outcome

Array = npt.NDArray[Any]


@dataclass(frozen=True, kw_only=True)
class MarginSolution(Outcome):
    """The L2-SVM.

    Parameters
    ----------
    a : array of shape (n,)
        Dual variables, a_i >= 0 and y'a = 0.
    coef : array of shape (n,)
        a_i y_i, so that f(x) = Σ_i coef_i k(x_i, x) + bias.
    bias : float
    w2 : float
        |w|² = max 2 1'a - (a*y)'(K + I/C)(a*y), one over the squared margin.
    support : int array
        Indices with a_i > 1e-8 max a.
    jitter : float
        What was added to the diagonal because K + I/C was singular to working precision.
    """

    a: Array
    coef: Array
    bias: float
    w2: float
    support: Array
    jitter: float = 0.0


@dataclass(frozen=True, kw_only=True)
class BallSolution(Outcome):
    """The smallest ball around the points of feature space.

    Parameters
    ----------
    b : array of shape (n,)
        Weights of the centre Σ_i b_i φ_i, b_i >= 0 and 1'b = 1.
    r2 : float
        R² = max b'diag(K + I/C) - b'(K + I/C)b.
    support : int array
        Indices with b_i > 1e-8 max b.
    jitter : float
        What was added to the diagonal because K + I/C was singular to working precision.
    """

    b: Array
    r2: float
    support: Array
    jitter: float = 0.0


@dataclass(frozen=True, kw_only=True)
class RadiusMargin:
    """The radius-margin bound R² |w|² and its two halves.

    Parameters
    ----------
    bound : float
    margin : MarginSolution
    ball : BallSolution
    """

    bound: float
    margin: MarginSolution
    ball: BallSolution

    @property
    def converged(self) -> bool:
        """Whether both halves are optimal."""
        return self.margin.converged and self.ball.converged

    @property
    def advice(self) -> str:
        """What to try if one of them is not."""
        return self.margin.advice or self.ball.advice


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
    return MarginSolution(
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
    # Without I/C the squared hinge of the dual needs a little width; it is part of the jitter.
    mean = float(np.mean(np.abs(K.diagonal())))
    width = 0.0 if np.isfinite(C) else 1e-11 * (mean if mean > 0 else 1.0)
    active = None if start is None else np.asarray(start) > 0
    cone = solve_cone(K, 0.5 * d, np.ones(n), r + width, 1.0, active, max_iter)
    b = cone.c / cone.c.sum()
    return BallSolution(
        b=b,
        r2=float(b @ d - b @ (K @ b) - (b * r) @ b),
        support=np.flatnonzero(b > 1e-8 * b.max()),
        jitter=cone.jitter + width,
        status=cone.status,
        advice=cone.advice,
        n_iter=cone.n_iter,
    )


def radius_margin(
    K: Array, y: Array, C: float, *, start: RadiusMargin | None = None, max_iter: int = 500
) -> RadiusMargin:
    """Compute the radius-margin bound R² |w|² on the leave-one-out errors of the L2-SVM.

    Parameters
    ----------
    K : array of shape (n, n)
        Symmetric Gram matrix.
    y : array of shape (n,)
        Labels +1 and -1.
    C : float
        Penalty of the squared slacks.
    start : RadiusMargin, optional
        The result for a neighbouring kernel.
    max_iter : int
        Limit of Newton steps.

    Returns
    -------
    RadiusMargin

    Notes
    -----
    Both maximisers are unique, so dRMB/dK = |w|² (diag(b) - bb') - R² (a*y)(a*y)'.

    Examples
    --------
    >>> import numpy as np
    >>> from gramsmith.solvers import radius_margin
    >>> x = np.array([-2.0, -1.0, 1.0, 2.0])
    >>> round(radius_margin(np.outer(x, x), np.sign(x), C=1e6).bound, 3)
    4.0
    """
    a0, b0 = (None, None) if start is None else (start.margin.a, start.ball.b)
    margin = solve_l2svm(K, y, C, start=a0, max_iter=max_iter)
    ball = solve_ball(K, C, start=b0, max_iter=max_iter)
    return RadiusMargin(bound=margin.w2 * ball.r2, margin=margin, ball=ball)
