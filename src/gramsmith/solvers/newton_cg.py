"""Newton's method for regularised losses on a kernel matrix that is not held.

With g the slopes and H the curvatures of the loss at f = Ka + b, a Newton step from a, b is

    (K + αH^-1) Δa + Δb = -H^-1 (g + αa),    1'Δa = 0

a kernel ridge system, and solved like one: by conjugate gradients, preconditioned by landmarks. The
sum of Δa stays zero because every direction of the search has it. The curvature diag(p) - pp' of
a multinomial loss takes sums over classes away: there all directions sum to zero over classes, and
H^-1 divides by p.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from gramsmith.solvers.cg import Product, conjugate_steps, newton_step
from gramsmith.solvers.definite import Definite
from gramsmith.solvers.landmarks import LandmarkPreconditioner
from gramsmith.solvers.losses import Loss
from gramsmith.solvers.newton import Expansion, State, damped_newton, expansion

Array = npt.NDArray[Any]

FORCING = 0.03  # relative residual of a step: Newton's convergence is kept, few products are lost
FINEST = 1e-10  # of a step that is not downhill before: rounding is next
FLAT = 1e-10  # of the largest curvature, what a smaller one counts as


def fit_products(
    product: Product,
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
    max_products: int = 1000,
    report: Callable[[int, float], None] | None = None,
) -> Expansion:
    """Minimise the regularised loss over one coefficient per sample, by products K V alone.

    ΦΦ' is about K, by features Φ (n, m) of landmarks: the better, the fewer products. y is as
    `code_targets` gives it, `start` holds decision values near the minimum, such as those of the
    landmarks alone. What is found within `max_products` is returned; `report` is called after every
    product with its number and the relative residual of the step in work.
    """
    n, several = len(y), y.ndim == 2
    weight = np.ones(n) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    products, spent = 0, False

    def shaped(F: Array) -> Array:
        """Return decision values (n, C) as the loss wants them."""
        return F if several else F[:, 0]

    def slope(F: Array) -> Array:
        return np.asarray(weight[:, None] * np.reshape(loss.slope(y, shaped(F)), (n, -1)))

    def times(V: Array) -> Array:
        nonlocal products
        products += 1
        return np.reshape(product(V), (n, -1))

    def objective(a: Array, b: Array, Ka: Array) -> float:
        return float(weight @ loss.value(y, shaped(Ka + b)) + 0.5 * alpha * np.sum(a * Ka))

    def step(a: Array, b: Array, Ka: Array) -> tuple[State, float]:
        nonlocal spent
        g, p = slope(Ka + b), np.reshape(loss.curvature(y, shaped(Ka + b)), (n, -1))
        H = (_Classes if several else _Curvature)(Phi, weight, p, alpha)
        border = H.border() if fit_intercept else None

        def search(residual: Array) -> Array:
            """Return a direction that may be searched: sums over samples are zero."""
            z = H.precondition(residual)
            if border is None:
                return z
            columns, inverse = border
            return np.asarray(z - np.tensordot(inverse @ z.sum(axis=0), columns, 1))

        def intercept(residual: Array) -> Array:
            if border is None:
                return np.zeros(residual.shape[1])
            columns, inverse = border
            return np.asarray(inverse @ np.tensordot(columns, residual, 2))

        gradient = g + alpha * a
        first, enough = float(np.linalg.norm(gradient)), FORCING
        db, promise = np.zeros(a.shape[1]), 0.0
        spent = products >= max_products
        target, dKa = H.divided(-gradient), np.zeros_like(a)
        if spent or not first:
            return (np.zeros_like(a), db, dKa), promise

        last = dKa

        def system(V: Array) -> Array:
            nonlocal last
            last = times(V)
            return np.asarray(H.on_range(last) + alpha * H.divided(V))

        before = products
        for da, residual, _, length in conjugate_steps(system, target, search):  # noqa: B007
            if products == before:
                continue
            dKa = dKa + length * last
            db = intercept(residual)
            left = float(np.linalg.norm(H.times(residual - db))) / first
            promise = -float(np.sum(g * (dKa + db)) + alpha * np.sum(a * dKa))
            if report is not None:
                report(products, left)
            if (left <= enough and promise > 0.0) or left <= FINEST or products >= max_products:
                break
        return (da, db, dKa), promise

    C = y.shape[1] if several else 1
    a, b, Ka = np.zeros((n, C)), np.zeros(C), np.zeros((n, C))
    if start is not None:
        # at the minimum αa = -g
        F = np.reshape(start, (n, C))
        a = -slope(F) / alpha
        a = a - a.mean(axis=0) if fit_intercept else a
        Ka = times(a)
        b = (F - Ka).mean(axis=0) if fit_intercept else b
    minimum = damped_newton((a, b, Ka), objective, step, max_iter=max_iter, tol=tol, polish=True)
    a, b, Ka = minimum.state
    b = b - b.mean() if several else b  # common to all classes, it changes nothing
    g = slope(Ka + b)
    size = float(np.linalg.norm(g))
    more: dict[str, Any] = {"n_products": products}
    more["residual"] = float(np.linalg.norm(g + alpha * a)) / size if size else 0.0
    if spent:
        more |= {"status": "max_iter", "advice": "Raise alpha or n_landmarks."}
    return expansion(minimum, shaped(a), b if several else b[0], shaped(Ka + b), **more)


class _Curvature:
    """The second derivatives H = diag(W) of a loss, and (ΦΦ' + αH^-1)^-1 by the features Φ."""

    def __init__(self, Phi: Array, weight: Array, p: Array, alpha: float) -> None:
        self.W = weight[:, None] * np.maximum(p, FLAT * float(p.max(initial=0.0)) or 1.0)
        self.inverse: Product = LandmarkPreconditioner(
            np.eye(Phi.shape[1]),
            lambda: [(slice(None), Phi)],
            1.0 / self.W[:, 0],
            np.array([alpha]),
        )

    def times(self, V: Array) -> Array:
        """Return H V."""
        return np.asarray(self.W * V)

    def divided(self, V: Array) -> Array:
        """Return H^-1 V."""
        return np.asarray(V / self.W)

    def on_range(self, V: Array) -> Array:
        """Return the part of V that H sees."""
        return V

    def precondition(self, V: Array) -> Array:
        """Return (ΦΦ' + αH^-1)^-1 V."""
        return self.inverse(V)

    def border(self) -> tuple[Array, Array]:
        """Return what intercepts add to a step: B_c = M 1_c for the preconditioner M, (C, n, C).

        And the inverse of their sums; what is common to all classes changes nothing, hence a
        pseudo-inverse.
        """
        n, C = self.W.shape
        units = (np.tile(row, (n, 1)) for row in np.eye(C))
        columns = np.stack([self.precondition(self.on_range(unit)) for unit in units])
        return columns, np.linalg.pinv(columns.sum(axis=1), 1e-10, True)


class _Classes(_Curvature):
    """The same for the multinomial loss, H = w (diag(p) - pp') for every sample.

    Φ'HΦ has all pairs of classes and is never formed: its systems are solved by conjugate gradients
    on the features, preconditioned by one class in place of all.
    """

    def __init__(self, Phi: Array, weight: Array, p: Array, alpha: float) -> None:
        self.Phi, self.alpha = Phi, alpha
        p = np.maximum(p, FLAT)
        self.p = p / p.sum(axis=1, keepdims=True)
        self.W = weight[:, None] * self.p
        one_class = weight * np.maximum(0.5 * (1.0 - np.sum(self.p**2, axis=1)), FLAT)
        M = Phi.T @ (Phi * one_class[:, None])
        M[np.diag_indices_from(M)] += alpha
        self.inverse = Definite(M).solve

    def times(self, V: Array) -> Array:
        return np.asarray(self.W * (V - np.sum(self.p * V, axis=1, keepdims=True)))

    def divided(self, V: Array) -> Array:
        return self.on_range(V / self.W)

    def on_range(self, V: Array) -> Array:
        return np.asarray(V - V.mean(axis=1, keepdims=True))

    def precondition(self, V: Array) -> Array:
        """Return (ΦΦ' + αH^-1)^-1 V = (HV - HΦ (Φ'HΦ + αI)^-1 Φ'HV) / α."""

        def inner(x: Array) -> Array:
            return np.asarray(self.Phi.T @ self.times(self.Phi @ x) + self.alpha * x)

        HV = self.times(V)
        x, _ = newton_step(inner, self.Phi.T @ HV, self.inverse, FINEST, FINEST)
        return np.asarray((HV - self.times(self.Phi @ x)) / self.alpha)
