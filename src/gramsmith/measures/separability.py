"""Separability: FSM and CSM, spread within classes over distance between class means."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from gramsmith.measures.base import Array, Measure, Sums, Undefined
from gramsmith.moments import Scalar


class Pairs:
    """Pairs of classes with their weights n_a + n_b, and what all pairs share."""

    def __init__(self, sums: Sums) -> None:
        self.sums = sums
        self.sizes = sums.target.m
        self.need(1, "a comparison of classes")

    def __iter__(self) -> Iterator[tuple[int, int, float]]:
        """Yield (a, b, n_a + n_b) for a < b."""
        C = len(self.sizes)
        for a in range(C):
            for b in range(a + 1, C):
                yield a, b, float(self.sizes[a] + self.sizes[b])

    def need(self, least: int, what: str) -> None:
        """Raise `Undefined` if a class has fewer than `least` members."""
        small = np.flatnonzero(self.sizes < least)
        if len(small):
            classes = self.sums.target.classes
            name = classes[small[0]] if classes is not None else small[0]
            raise Undefined(
                f"Expected at least {least} samples in every class for {what}, got "
                f"{self.sizes[small[0]]:g} of class {name!r}. Add samples, or use ddof=0."
            )

    def distance(self, a: int, b: int) -> Scalar:
        """Return |φ_a - φ_b|²."""
        u = np.zeros(len(self.sizes))
        u[a], u[b] = 1.0 / self.sizes[a], -1.0 / self.sizes[b]
        return self.sums.functional(np.outer(u, u))


def weighted_mean(terms: Sequence[tuple[Scalar, float]]) -> Scalar:
    """Return the weighted mean of numbers; infinite if one of them is."""
    total = sum(weight for _, weight in terms)
    result = terms[0][0] * (terms[0][1] / total)
    for scalar, weight in terms[1:]:
        result = result + scalar * (weight / total)
    return result


def fsm_pair(sums: Sums, a: int, b: int, ddof: int) -> Scalar:
    """(sd_a(g) + sd_b(g)) / |φ_a - φ_b|², with g_i the difference of mean kernels to a and to b."""
    t = sums.target
    u = np.zeros(len(t.m))
    u[a], u[b] = 1.0 / t.m[a], -1.0 / t.m[b]
    g = sums.P @ u
    d2 = float(u @ sums.Q @ u)
    if d2 <= _zero(sums):
        return Scalar(np.inf)
    spread, rho = _spread(sums, g, (a, b), ddof)
    value = spread / d2
    if not sums.derivative:
        return Scalar(value)
    A = np.outer(rho / d2, u) - (value / d2) * np.outer(t.wV @ u, u)
    return sums.scalar(value, A)


def fsm_loo_pair(sums: Sums, a: int, b: int, ddof: int) -> Scalar:
    """FSM of the centred kernel, every point left out of its own class mean."""
    t, n = sums.target, sums.target.n
    m, e, w, V = t.m, t.e, t.w, t.V
    r, s = sums.r, float(w @ sums.r)
    Vr = t.wV.T @ r
    dc = sums.d - 2.0 * r / n + s / n**2
    # what a sample of class c takes of each column of Pc = P - rm'/n - 1(V'r)'/n + s/n² 1m'
    taken = np.zeros((len(m), len(m)))
    for c, other in ((a, b), (b, a)):
        taken[c, c], taken[c, other] = 1.0 / (m[c] - 1.0), -1.0 / m[other]
    coefficient, own = V @ taken, V @ np.diagonal(taken)
    tm = taken @ m
    f = np.einsum("ij,ij->i", coefficient, sums.P) - r * (V @ (tm / n)) - own * dc
    f += V @ (s / n**2 * tm - taken @ Vr / n)
    gap = sum(float(t.wV[:, c] @ f) / m[c] for c in (a, b))
    if gap <= _zero(sums):
        return Scalar(np.inf)
    spread, rho = _spread(sums, f, (a, b), ddof)
    value = spread / gap
    if not sums.derivative:
        return Scalar(value)
    # phi = dF/df; then back through f, dc, Pc, s and r to P and d
    phi = rho / gap
    for c in (a, b):
        phi = phi - value / gap * t.wV[:, c] / m[c]
    dPc = phi[:, None] * coefficient
    ddc = -phi * own
    ds = float(dPc.sum(axis=0) @ m + ddc.sum()) / n**2
    dr = -(dPc @ m) / n - w * (V @ dPc.sum(axis=0)) / n - 2.0 * ddc / n + ds * w
    return sums.scalar(value, dPc + np.outer(dr, e), ddc)


def _spread(sums: Sums, g: Array, classes: tuple[int, int], ddof: int) -> tuple[float, Array]:
    """Return the summed standard deviations of g inside the classes, and their derivative by g."""
    t, derivative = sums.target, sums.derivative
    total, rho = 0.0, np.zeros(len(g)) if derivative else g
    for c in classes:
        wc = t.wV[:, c]
        centred = g - float(wc @ g) / t.m[c]
        sd = float(np.sqrt((wc * centred) @ centred / (t.m[c] - ddof)))
        total += sd
        if derivative and sd > 0:
            rho += wc * centred / ((t.m[c] - ddof) * sd)
    return total, rho


def _zero(sums: Sums) -> float:
    """Return the size below which a squared distance of means is rounding."""
    return 8.0 * float(np.finfo(float).eps) * sums.scale


def fsm(sums: Sums, ddof: int = 1, leave_one_out: bool = False) -> Scalar:
    """FSM averaged over pairs of classes, or the regression form for values."""
    if sums.target.kind == "values":
        return fsm_values(sums)
    pairs = Pairs(sums)
    pairs.need(2 if ddof or leave_one_out else 1, "FSM with ddof=1 or leave-one-out")
    formula = fsm_loo_pair if leave_one_out else fsm_pair
    return weighted_mean([(formula(sums, a, b, ddof), weight) for a, b, weight in pairs])


def fsm_matrix(sums: Sums, ddof: int = 1, leave_one_out: bool = False) -> Array:
    """Return the FSM of every pair of classes, shape (C, C), zero on the diagonal."""
    pairs = Pairs(sums)
    pairs.need(2 if ddof or leave_one_out else 1, "FSM with ddof=1 or leave-one-out")
    formula = fsm_loo_pair if leave_one_out else fsm_pair
    F = np.zeros((len(pairs.sizes),) * 2)
    for a, b, _ in pairs:
        F[a, b] = F[b, a] = formula(sums, a, b, ddof).value
    return F


def fsm_values(sums: Sums) -> Scalar:
    """sqrt(1/ρ² - 1), where ρ is the correlation of HKHy with y; one output only."""
    t = sums.target
    if t.V.shape[1] != 2:
        raise Undefined(
            f"Expected one real output for FSM, got {t.V.shape[1] - 1}. Use cka for several."
        )
    y = t.V[:, 1]
    g = sums.P[:, 1]
    g = g - float(t.w @ g) / t.n
    gg, yy = float(t.w @ g**2), float(t.w @ y**2)
    if yy <= 0:
        raise Undefined("Expected values that vary, got constant ones. Add samples.")
    if gg <= _zero(sums) ** 2 * yy:
        return Scalar(np.inf)
    rho = float(t.w @ (g * y)) / np.sqrt(gg * yy)
    if rho <= 0:
        return Scalar(np.inf)
    value = float(np.sqrt(max(1.0 / min(rho, 1.0) ** 2 - 1.0, 0.0)))
    if not sums.derivative or value == 0.0:
        return sums.scalar(value)
    drho = t.w * (y / np.sqrt(gg * yy) - rho * g / gg)
    A = np.zeros_like(sums.P)
    A[:, 1] = -drho / (rho**3 * value)
    return sums.scalar(value, A)


def csm(sums: Sums, form: str = "covariance", ddof: int = 1) -> Scalar:
    """Class separability: traces of covariances (or scatters) within over distance between."""
    if form == "scatter" or sums.target.kind == "values":
        return csm_scatter(sums)
    pairs = Pairs(sums)
    pairs.need(1 + ddof, "CSM with this ddof")
    t = sums.target

    def pair(a: int, b: int) -> Scalar:
        contrast, delta = np.zeros_like(t.M), np.zeros(len(t.w))
        for c in (a, b):
            # tr Cov_c = (Σ d_i - 1'K1 / n_c) / (n_c - ddof)
            contrast[c, c] = -1.0 / (t.m[c] * (t.m[c] - ddof))
            delta += t.wV[:, c] / (t.m[c] - ddof)
        between = pairs.distance(a, b)
        if between.value <= _zero(sums):
            return Scalar(np.inf)
        return sums.functional(contrast, delta=delta) / between

    return weighted_mean([(pair(a, b), weight) for a, b, weight in pairs])


def csm_scatter(sums: Sums) -> Scalar:
    """Tr S_W / tr S_B with tr S_B = <K, P>, P the projector on the centred target."""
    t = sums.target
    if t.kind == "classes":
        J = np.eye(len(t.m)) - np.outer(t.e, t.m) / t.n
        contrast = J @ np.diag(np.where(t.m > 0, 1.0 / np.where(t.m > 0, t.m, 1.0), 0.0)) @ J.T
    else:
        # projector on the span of the centred columns: V J (J'CJ)^+ J'V'
        J = np.eye(len(t.m)) - np.outer(t.e, t.m) / t.n
        contrast = J @ np.linalg.pinv(J.T @ t.C @ J, hermitian=True) @ J.T
    between = sums.functional(contrast)
    if between.value <= _zero(sums):
        return Scalar(np.inf)
    whole = sums.functional(np.zeros_like(t.M), side=-1.0 / t.n, delta=t.w)  # tr(HK)
    return whole / between - 1.0


FSM = Measure("fsm", fsm, False, ("classes", "values"))
FSM_LOO = Measure("fsm_loo", partial(fsm, leave_one_out=True), False, ("classes",))
CSM = Measure("csm", csm, False, ("classes", "values"))
CSM_SCATTER = Measure("csm_scatter", csm_scatter, False)
