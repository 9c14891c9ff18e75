"""Criteria that need a solve: marginal likelihood, leave-one-out error, Fisher criterion.

Each is a function of the dense Gram matrix with its derivative, so that `KernelLearner` can climb
it as it climbs a measure, and the criteria can be compared on one line. Regularisers are not
further parameters: they are set to their own optimum at every evaluation, and by the envelope
theorem the derivative is the one at that regulariser.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize_scalar

from gramsmith.learning.objective import Array
from gramsmith.solvers import RidgePath, solve_fisher
from gramsmith.solvers.definite import clip_derivative, clip_negative
from gramsmith.targets import Target

ALPHAS = np.logspace(-8, 4, 25)  # of regularisers, in units of the mean of the diagonal


def responses(target: Target) -> Array:
    """Return what a regression on the target would fit, shape (n, q), centred.

    One column of ±1 for two classes, one indicator per class for more, the values otherwise.
    """
    if target.kind == "classes":
        Y = 2.0 * target.V[:, 1:] - 1.0 if target.V.shape[1] == 2 else target.V
    else:
        Y = target.V[:, 1:]
    return np.asarray(Y - target.w @ Y / target.n)


class MarginalLikelihood:
    r"""Log marginal likelihood of a Gaussian process per sample and output.

    .. math:: \log p(Y) = -\tfrac{q}{2} \left(n \log 2 \pi s + \log |K + \alpha I| + n\right),
              \qquad s = \mathrm{tr}\,Y'(K + \alpha I)^{-1} Y / nq

    The signal variance s is in closed form and the noise α is the best one, both shared by the
    outputs.

    Parameters
    ----------
    target : Target
    """

    name = "marginal_likelihood"
    sign = 1.0

    def __init__(self, target: Target) -> None:
        self.Y = responses(target)

    def __call__(self, K: Array, derivative: bool) -> tuple[float, Array | None]:
        """Return the value for a Gram matrix and its derivative."""
        n, q = self.Y.shape
        values, U = np.linalg.eigh(K)
        values = np.maximum(values, 0.0)
        unit = float(values.mean())
        if unit <= 0:
            return -np.inf, None
        T = np.einsum("ij,ij->i", U.T @ self.Y, U.T @ self.Y)

        def cost(x: float) -> float:
            shifted = values + unit * np.exp(x)
            s = float((T / shifted).sum()) / (n * q)
            return 0.5 * float(np.log(2.0 * np.pi * s) + np.log(shifted).mean() + 1.0)

        grid = np.log(ALPHAS)
        best = int(np.argmin([cost(x) for x in grid]))
        low, high = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
        x = float(minimize_scalar(cost, bounds=(low, high), method="bounded").x)
        self.alpha = unit * float(np.exp(x))
        value = -cost(x)
        if not derivative:
            return value, None
        shifted = values + self.alpha
        s = float((T / shifted).sum()) / (n * q)
        inverse = (U / shifted) @ U.T
        fit = inverse @ self.Y
        return value, (fit @ fit.T / s - q * inverse) / (2.0 * n * q)


class RidgeLeaveOneOut:
    r"""Mean squared leave-one-out residual of kernel ridge regression with intercept.

    .. math:: e_i = c_i / P_{ii}, \quad c = P y, \quad P = A^{-1} - A^{-1} 1 1' A^{-1} / 1'A^{-1}1,
              \quad A = K + \alpha I

    Parameters
    ----------
    target : Target
    """

    name = "ridge_loo"
    sign = -1.0

    def __init__(self, target: Target) -> None:
        self.Y = responses(target)

    def __call__(self, K: Array, derivative: bool) -> tuple[float, Array | None]:
        """Return the error for a Gram matrix and its derivative."""
        n, q = self.Y.shape
        unit = float(K.diagonal().mean())
        if unit <= 0:
            return np.inf, None
        path = RidgePath(K, self.Y)
        self.alpha, value = path.minimise(unit * ALPHAS)
        if not derivative:
            return value, None
        inverse = (path.U / (path.eigenvalues + self.alpha)) @ path.U.T
        side = inverse.sum(axis=1)
        P = inverse - np.outer(side, side) / side.sum()
        C = P @ self.Y
        own = P.diagonal()
        E = C / own[:, None]
        # dP = -P dK P; with u = dvalue/dc, dvalue = -<Pu c', dK> + Σ_i (Σ u e)_i (P dK P)_ii
        u = 2.0 * E / (n * q * own[:, None])
        dK = -(P @ u) @ C.T + (P * np.einsum("ij,ij->i", u, E)) @ P
        return value, 0.5 * (dK + dK.T)


class KernelFisher:
    r"""Fisher's criterion in feature space, the one of `gramsmith.fisher_criterion`.

    .. math:: J = \mathrm{tr}\,(S_w + \mu I)^{-1} S_b, \qquad \mu = \alpha\,\mathrm{tr}\,S_t

    Parameters
    ----------
    target : Target
        For values, S_b is what a regression on them explains.
    alpha : float
    """

    name = "kernel_fisher"
    sign = 1.0

    def __init__(self, target: Target, alpha: float = 1e-3) -> None:
        self.target, self.alpha = target, alpha

    def __call__(self, K: Array, derivative: bool) -> tuple[float, Array | None]:
        """Return the criterion of a Gram matrix and its derivative."""
        clipped = clip_negative(K, quiet=True)[0]
        found = solve_fisher(clipped, self.target.V, self.target.w, self.alpha, derivative)
        if found.derivative is None or clipped is K:
            return found.value, found.derivative
        return found.value, clip_derivative(K, found.derivative)
