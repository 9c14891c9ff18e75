"""Kernel systems too large to hold: preconditioned conjugate gradients."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gramsmith.solvers.outcome import Outcome

Array = npt.NDArray[Any]
Product = Callable[[Array], Array]

ROUGH = (
    1e-5  # relative residual to which a cheaper product is trusted before the exact one is asked
)


@dataclass(frozen=True, kw_only=True)
class CgSolution(Outcome):
    """The solution of (K + αR) c = y.

    Parameters
    ----------
    c : array of shape (n, q)
    residual : float
        The largest |y - (K + αR)c| / |y| of all columns.
    """

    c: Array
    residual: float


def conjugate_gradients(
    product: Product,
    r: Array,
    Y: Array,
    *,
    alphas: Array | None = None,
    precondition: Product | None = None,
    rough: Product | None = None,
    tol: float = 1e-8,
    max_iter: int = 1000,
    report: Callable[[int, float], None] | None = None,
) -> CgSolution:
    """Solve (K + αR) C = Y, touching K only in products K V.

    Parameters
    ----------
    product : callable
        ``product(V)`` returns K V for V of shape (n, q).
    r : array of shape (n,)
        The positive diagonal R.
    Y : array of shape (n, q)
        Right-hand sides, solved side by side: every product serves all of them.
    alphas : array of shape (q,), optional
        The regulariser of each column; default 1.
    precondition : callable, optional
        Returns (about) (K + αR)^-1 V, see `gramsmith.solvers.landmarks.LandmarkPreconditioner`;
        default R^-1 V.
    rough : callable, optional
        A cheaper product of a few digits, as that of float32 tiles. It is used for corrections;
        what is left is computed by `product`, so that the solution is as exact as without.
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
    diagonal = r[:, None] * (np.ones(Y.shape[1]) if alphas is None else alphas)
    system = _System(product, diagonal, precondition, max_iter, report)
    size = np.linalg.norm(Y, axis=0)
    size[size == 0] = 1.0
    if rough is None:
        C, worst = system.solve(np.array(Y, dtype=np.float64), size, tol)
    else:
        C, worst = _refined(system, rough, np.array(Y, dtype=np.float64), size, tol)
    done = worst <= tol
    return CgSolution(
        c=C,
        residual=worst,
        n_iter=system.n_iter,
        status="converged" if done else "max_iter",
        advice="" if done else "Raise max_iter, alpha, or the number of landmarks.",
    )


def _refined(
    system: _System, rough: Product, Y: Array, size: Array, tol: float
) -> tuple[Array, float]:
    """Correct by rough products what exact ones leave over, while that helps."""
    C, residual = np.zeros_like(Y), Y
    worst = float(np.max(np.linalg.norm(Y, axis=0) / size))
    while worst > tol and system.n_iter < system.max_iter:
        step, _ = system.solve(residual, size, max(0.5 * tol, ROUGH * worst), rough)
        ahead = Y - system.times(C + step)
        then = float(np.max(np.linalg.norm(ahead, axis=0) / size))
        system.tell(then)
        if then > 0.1 * worst:  # its digits are used up
            step, then = system.solve(residual, size, tol)
            return C + step, then
        C, residual, worst = C + step, ahead, then
    return C, worst


class _System:
    """(K + D) with the products spent on it."""

    def __init__(
        self,
        product: Product,
        diagonal: Array,
        precondition: Product | None,
        max_iter: int,
        report: Callable[[int, float], None] | None,
    ) -> None:
        self.product, self.diagonal, self.max_iter = product, diagonal, max_iter
        self.precondition = precondition or (lambda V: V / diagonal)
        self.report = report
        self.n_iter = 0

    def times(self, V: Array, product: Product | None = None) -> Array:
        self.n_iter += 1
        return np.asarray((product or self.product)(V) + self.diagonal * V)

    def tell(self, residual: float) -> None:
        if self.report is not None:
            self.report(self.n_iter, residual)

    def solve(
        self, residual: Array, size: Array, tol: float, product: Product | None = None
    ) -> tuple[Array, float]:
        """Return C with |residual - (K + D)C| <= tol size, and the largest of these ratios."""
        residual = residual.copy()
        C = np.zeros_like(residual)
        Z = self.precondition(residual)
        P, rho = Z, np.sum(residual * Z, axis=0)
        worst = float(np.max(np.linalg.norm(residual, axis=0) / size))
        while worst > tol and self.n_iter < self.max_iter:
            AP = self.times(P, product)
            curvature = np.sum(P * AP, axis=0)
            if np.any((curvature <= 0) & (rho > 0)):
                raise ValueError(
                    "Expected a positive definite system K + R, got a direction of negative "
                    "curvature. Raise alpha, or use a positive semidefinite kernel."
                )
            step = np.divide(rho, curvature, out=np.zeros_like(rho), where=curvature > 0)
            C += step * P
            residual -= step * AP
            worst = float(np.max(np.linalg.norm(residual, axis=0) / size))
            self.tell(worst)
            Z = self.precondition(residual)
            new = np.sum(residual * Z, axis=0)
            P = Z + np.divide(new, rho, out=np.zeros_like(rho), where=rho > 0) * P
            rho = new
        return C, worst
