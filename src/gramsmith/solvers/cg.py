"""Conjugate gradients, the only ones: for kernel systems too large to hold, and Newton's steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

from gramsmith.solvers.outcome import Outcome

Array = npt.NDArray[Any]
Product = Callable[[Array], Array]

# Relative residual to which a float32 product is trusted before the exact one is asked: its digits
# are 1e-7, and a tenfold of them per correction is sure.
ROUGH = 1e-5
NEWTON_PRODUCTS = 500  # limit of a single Newton step, which any descent direction may replace


def conjugate_steps(
    times: Product, b: Array, precondition: Product, axis: int | None = None
) -> Iterator[tuple[Array, Array, Any, Any]]:
    """Yield x, b - Ax, its square in the norm of the preconditioner, and the length of the step.

    Once before any product, and after every one. `axis` 0 solves for every column by itself, None
    for all entries of b together. The iteration ends by itself only where a direction shows no
    positive curvature.
    """
    x, residual = np.zeros_like(b), b
    z = precondition(residual)
    direction, rho = z, np.sum(residual * z, axis=axis)
    length = np.zeros_like(rho)
    while True:
        yield x, residual, rho, length
        image = times(direction)
        curvature = np.sum(direction * image, axis=axis)
        if np.any((curvature <= 0.0) & (rho > 0.0)):
            return
        length = np.divide(rho, curvature, out=np.zeros_like(rho), where=curvature > 0.0)
        x, residual = x + length * direction, residual - length * image
        z = precondition(residual)
        rho, before = np.sum(residual * z, axis=axis), rho
        share = np.divide(rho, before, out=np.zeros_like(rho), where=before > 0.0)
        direction = z + share * direction


def newton_step(
    times: Product,
    descent: Array,
    precondition: Product,
    rough: float,
    fine: float,
    last: float = 0.0,
) -> tuple[Array, float]:
    """Return the Newton step of a Hessian `times`, and its product with the descent.

    The relative residual is `rough`, or `fine` where the product, which is what the step promises,
    is at most `last`, so that it is the last one.
    """
    x, enough, finest = np.zeros_like(descent), None, 0.0
    for x, _, rho, _ in islice(conjugate_steps(times, descent, precondition), NEWTON_PRODUCTS):
        if enough is None:
            enough, finest = rough**2 * rho, fine**2 * rho
        if rho <= enough and np.sum(descent * x) <= last:
            enough = finest
        if rho <= enough:
            break
    return x, float(np.sum(descent * x))


@dataclass(frozen=True, kw_only=True)
class CgSolution(Outcome):
    """The solution of (K + αR) c = y, and the largest |y - (K + αR)c| / |y| of all columns."""

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
    """Solve (K + αR) C = Y, touching K only in products K V that serve all columns at once.

    R is the positive diagonal r, `alphas` the regulariser of each column (default 1). The
    preconditioner is about (K + αR)^-1 (default R^-1). `rough` is a cheaper product of a few
    digits, as that of float32 tiles, for corrections: what is left is computed by `product`, so
    that the solution is as exact as without. `report` is called after every product with its number
    and the largest residual, relative to its right-hand side, which ends the search below `tol`.
    """
    diagonal = r[:, None] * (np.ones(Y.shape[1]) if alphas is None else alphas)
    inverse = precondition or (lambda V: V / diagonal)
    Y = np.array(Y, dtype=np.float64)
    size = np.linalg.norm(Y, axis=0)
    size[size == 0] = 1.0
    n_iter = 0

    def largest(residual: Array) -> float:
        return float(np.max(np.linalg.norm(residual, axis=0) / size))

    def times(V: Array, by: Product = product) -> Array:
        nonlocal n_iter
        n_iter += 1
        return np.asarray(by(V) + diagonal * V)

    def solve(b: Array, tol: float, by: Product) -> tuple[Array, float]:
        """Return C with |b - (K + D)C| <= tol size, and the largest of these ratios."""
        before = n_iter
        for C, residual, *_ in conjugate_steps(lambda V: times(V, by), b, inverse, axis=0):
            worst = largest(residual)
            if report is not None and n_iter > before:
                report(n_iter, worst)
            if worst <= tol or n_iter >= max_iter:
                return C, worst
        raise ValueError(
            "Expected a positive definite system K + R, got a direction of negative "
            "curvature. Raise alpha, or use a positive semidefinite kernel."
        )

    C, residual, worst = np.zeros_like(Y), Y, largest(Y)
    while rough is not None and worst > tol and n_iter < max_iter:
        step, _ = solve(residual, max(0.5 * tol, ROUGH * worst), rough)
        ahead = Y - times(C + step)
        then = largest(ahead)
        if report is not None:
            report(n_iter, then)
        if then > 0.1 * worst:  # its digits are used up
            break
        C, residual, worst = C + step, ahead, then
    if worst > tol and n_iter < max_iter:
        step, worst = solve(residual, tol, product)
        C = C + step
    return CgSolution(
        c=C,
        residual=worst,
        n_iter=n_iter,
        status="converged" if worst <= tol else "max_iter",
        advice="" if worst <= tol else "Raise max_iter, alpha, or the number of landmarks.",
    )
