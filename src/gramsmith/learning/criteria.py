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
from gramsmith.solvers import RidgePath
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
    r"""The kernel Fisher criterion: between over within class scatter along the best direction.

    .. math:: J = \max_a \frac{a'BB'a}{a'(N + \mu I)a} = \mathrm{tr}\,B'(N + \mu I)^{-1} B, \quad
              B = K\Delta, \quad N = K W K

    ΔΔ' is the projector on the centred target, W the one on what the target does not explain, and
    μ is a fraction of the mean eigenvalue of N, so that a multiple of K changes nothing.

    Parameters
    ----------
    target : Target
    regularisation : float
    """

    name = "kernel_fisher"
    sign = 1.0

    def __init__(self, target: Target, regularisation: float = 1e-3) -> None:
        Y = responses(target)
        Q, R = np.linalg.qr(Y)
        size = np.abs(R.diagonal())
        self.delta = Q[:, size > 1e-10 * size.max()]
        self.regularisation = regularisation

    def _within(self, A: Array) -> Array:
        """Return W A."""
        A = A - A.mean(axis=0)
        return np.asarray(A - self.delta @ (self.delta.T @ A))

    def __call__(self, K: Array, derivative: bool) -> tuple[float, Array | None]:
        """Return the criterion of a Gram matrix and its derivative."""
        n = len(K)
        WK = self._within(K)
        N = K @ WK
        mu = self.regularisation * float(np.trace(N)) / n
        if mu <= 0:
            return -np.inf, None
        N[np.diag_indices(n)] += mu
        B = K @ self.delta
        h = np.linalg.solve(N, B)
        value = float(np.vdot(B, h))
        if not derivative:
            return value, None
        # dJ = 2 tr h'dB - tr h'dN h - |h|² dmu, dB = dK Δ, dN = dK WK + KW dK, dmu ~ tr dN
        dK = 2.0 * h @ self.delta.T - 2.0 * h @ (WK @ h).T
        dK -= 2.0 * float(np.vdot(h, h)) * self.regularisation / n * WK
        return value, 0.5 * (dK + dK.T)
