"""Kernel systems too large to hold: preconditioned conjugate gradients."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gramsmith.solvers.definite import Definite
from gramsmith.solvers.outcome import Outcome

Array = npt.NDArray[Any]


@dataclass(frozen=True, kw_only=True)
class CgSolution(Outcome):
    """The solution of (K + R) c = y.

    Parameters
    ----------
    c : array of shape (n, q)
    residual : float
        The largest |y - (K + R)c| / |y| of all columns.
    """

    c: Array
    residual: float


def conjugate_gradients(
    product: Callable[[Array], Array],
    r: Array,
    Y: Array,
    *,
    features: Array | None = None,
    tol: float = 1e-8,
    max_iter: int = 1000,
    report: Callable[[int, float], None] | None = None,
) -> CgSolution:
    """Solve (K + R) C = Y, touching K only in products K V.

    Parameters
    ----------
    product : callable
        ``product(V)`` returns K V for V of shape (n, q).
    r : array of shape (n,)
        The positive diagonal R.
    Y : array of shape (n, q)
        Right-hand sides, solved side by side.
    features : array of shape (n, m), optional
        Z with Z Z' ≈ K; the preconditioner is Z Z' + R.
    tol : float, default=1e-8
        Stop when every residual is below this share of its right-hand side.
    max_iter : int, default=1000
        Limit of products.
    report : callable, optional
        Called after every product with its number and the largest relative residual.

    Returns
    -------
    CgSolution

    Examples
    --------
    >>> import numpy as np
    >>> from gramsmith.solvers import conjugate_gradients
    >>> K = np.array([[2.0, 1.0], [1.0, 2.0]])
    >>> found = conjugate_gradients(lambda V: K @ V, np.ones(2), np.array([[4.0], [4.0]]))
    >>> found.c.ravel().round(6)
    array([1., 1.])
    """
    precondition = _preconditioner(r, features)
    size = np.sqrt(np.sum(Y * Y, axis=0))
    size[size == 0] = 1.0
    C = np.zeros_like(Y, dtype=np.float64)
    residual = np.array(Y, dtype=np.float64)
    Z = precondition(residual)
    P, rho = Z.copy(), np.sum(residual * Z, axis=0)
    worst, n_iter = float(np.max(np.linalg.norm(residual, axis=0) / size)), 0
    while worst > tol and n_iter < max_iter:
        n_iter += 1
        AP = product(P) + r[:, None] * P
        curvature = np.sum(P * AP, axis=0)
        if np.any((curvature <= 0) & (rho > 0)):
            raise ValueError(
                "Expected a positive definite system K + R, got a direction of negative curvature. "
                "Raise alpha, or use a positive semidefinite kernel."
            )
        step = np.divide(rho, curvature, out=np.zeros_like(rho), where=curvature > 0)
        C += step * P
        residual -= step * AP
        worst = float(np.max(np.linalg.norm(residual, axis=0) / size))
        if report is not None:
            report(n_iter, worst)
        Z = precondition(residual)
        new = np.sum(residual * Z, axis=0)
        P = Z + np.divide(new, rho, out=np.zeros_like(rho), where=rho > 0) * P
        rho = new
    done = worst <= tol
    return CgSolution(
        c=C,
        residual=worst,
        n_iter=n_iter,
        status="converged" if done else "max_iter",
        advice="" if done else "Raise max_iter, alpha, or the number of landmarks.",
    )


def _preconditioner(r: Array, Z: Array | None) -> Callable[[Array], Array]:
    if Z is None or not Z.shape[1]:
        return lambda V: V / r[:, None]
    # (ZZ' + R)^-1 = R^-1 - R^-1 Z (I + Z'R^-1Z)^-1 Z'R^-1
    scaled = Z / r[:, None]
    M = Z.T @ scaled
    M[np.diag_indices_from(M)] += 1.0
    inner = Definite(M)
    return lambda V: V / r[:, None] - scaled @ inner.solve(scaled.T @ V)
