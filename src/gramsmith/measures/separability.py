"""Separability: FSM and CSM, spread within classes over distance between class means.

With several classes they are means over pairs of classes; all pairs are computed at once, as
C x C matrices of means, deviations and distances.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from gramsmith.measures.base import Array, Measure, Sums, Undefined
from gramsmith.moments import Scalar
from gramsmith.targets import Target


def need_members(target: Target, least: int, what: str, instead: str = "") -> None:
    """Raise `Undefined` if a class has fewer than `least` members."""
    small = np.flatnonzero(target.counts < least)
    if len(small):
        name = small[0] if target.classes is None else target.classes[small[0]]
        name = name.item() if isinstance(name, np.generic) else name
        raise Undefined(
            f"Expected at least {least} samples in every class for {what}, got "
            f"{target.counts[small[0]]:g} of class {name!r}. Add samples{instead}."
        )


def pair_weights(target: Target) -> Array:
    """Return m_a + m_b for every pair of classes, shape (C, C): half their sum is 1."""
    W = np.add.outer(target.m, target.m)
    W.flat[:: len(W) + 1] = 0.0
    return np.asarray(W * (2.0 / W.sum()))


def distance_contrast(target: Target, weights: Array) -> Array:
    """Return the contrast of Σ_{a<b} weights_ab |φ_a - φ_b|², weights symmetric, shape (C, C)."""
    laplacian = np.diag(weights.sum(axis=1)) - weights
    return np.asarray(laplacian / np.outer(target.m, target.m))


def degrees(target: Target, ddof: int) -> Array:
    """Return the divisors of the variances within classes, n_c - ddof of weighted samples."""
    return np.asarray(target.m * (target.counts - ddof) / target.counts)


def _zero(sums: Sums) -> float:
    """Return the size below which a squared distance of means is rounding."""
    return 8.0 * float(np.finfo(float).eps) * sums.scale


def _ratio(spread: Array, distance: Array, zero: float) -> tuple[Array, Array]:
    """Return spread / distance of every pair of classes, infinite at distance 0, and 1/distance."""
    distance = np.where(distance > zero, distance, 0.0)
    distance.flat[:: len(distance) + 1] = np.inf  # a class with itself counts for nothing
    apart = distance > 0
    if apart.all():
        inverse = 1.0 / distance
        return spread * inverse, inverse
    inverse = np.where(apart, 1.0 / np.where(apart, distance, 1.0), 0.0)
    return np.where(apart, spread * inverse, np.inf), inverse


class Projections:
    """Samples on the lines between the mean of their class and those of the others.

    With N_ci the mean similarity of sample i to class c, f_bi = N_ai - N_bi for i in class a.
    Leaving one out, the kernel is centred, Pc = P - rm'/n - 1(V'r)'/n + s/n² 1m', and no sample
    counts for its own class.
    """

    def __init__(self, sums: Sums, ddof: int, leave_one_out: bool) -> None:
        t, n = sums.target, sums.target.n
        self.sums, self.leave_one_out, self.degrees = sums, leave_one_out, degrees(t, ddof)
        N, self.counted = np.ascontiguousarray(sums.P.T), t.m[:, None]  # of every class
        if leave_one_out:
            r, s = sums.r, float(t.w @ sums.r)
            N = N - np.outer(t.m / n, r) + (s / n**2 * t.m - t.wV.T @ r / n)[:, None]
            N -= t.V.T * (t.row_weights * (sums.d - 2.0 * r / n + s / n**2))
            self.counted = self.counted - t.V.T * t.row_weights
        N = N / self.counted
        f = np.einsum("ic,ci->i", t.V, N) - N
        mean = (f * t.w) @ t.V / t.m  # of class b against a: [b, a]
        self.f = f - mean[:, t.codes]
        self.deviation = np.sqrt((self.f**2 * t.w) @ t.V / self.degrees).T
        self.distance = mean + mean.T

    def pullback(self, slope: Array, level: Array) -> tuple[Array, Array]:
        """Return the derivatives by P and by d of a number."""
        t, n, sd = self.sums.target, self.sums.target.n, self.deviation
        slope = np.where(sd > 0, slope / np.where(sd > 0, sd, 1.0), 0.0)
        by_square, by_mean = (slope.T / self.degrees)[:, t.codes], (level.T / t.m)[:, t.codes]
        df = (self.f * by_square + by_mean) * t.w
        df = (t.V.T * df.sum(axis=0) - df) / self.counted
        dP = np.ascontiguousarray(df.T)
        if not self.leave_one_out:
            return dP, np.zeros(len(t.w))
        ddc = -t.row_weights * np.einsum("ic,ci->i", t.V, df)
        # back through dc, Pc and r; not through s, since nothing sees a constant in the kernel
        columns = dP.sum(axis=0)
        dr = -(dP @ t.m) / n - t.w * (t.V @ columns) / n - 2.0 * ddc / n
        return dP + np.outer(dr, t.e), ddc


def fsm_formula(sums: Sums, ddof: int = 1, leave_one_out: bool = False) -> Scalar:
    """FSM averaged over pairs of classes, or the regression form for values.

    F_ab = (sd_a + sd_b) / (mean_a + mean_b) of the projections on the line between the means.
    """
    if sums.target.kind == "values":
        return fsm_values(sums)
    _check_fsm(sums.target, ddof, leave_one_out)
    along, W = Projections(sums, ddof, leave_one_out), pair_weights(sums.target)
    F, share = _ratio(along.deviation + along.deviation.T, along.distance, _zero(sums))
    value = 0.5 * float(np.sum(W * F))
    if not sums.derivative or not np.isfinite(value):
        return Scalar(value)
    return sums.scalar(value, *along.pullback(W * share, -W * share * F))


def fsm_matrix(sums: Sums, ddof: int = 1, leave_one_out: bool = False) -> Array:
    """Return the FSM of every pair of classes, shape (C, C), zero on the diagonal."""
    _check_fsm(sums.target, ddof, leave_one_out)
    along = Projections(sums, ddof, leave_one_out)
    return _ratio(along.deviation + along.deviation.T, along.distance, _zero(sums))[0]


def _check_fsm(target: Target, ddof: int, leave_one_out: bool) -> None:
    if leave_one_out:
        need_members(target, 2, "leave-one-out FSM")
    else:
        need_members(target, 1 + ddof, f"FSM with ddof={ddof}", ", or use ddof=0" if ddof else "")


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


def csm_formula(sums: Sums, form: str = "covariance", ddof: int = 1) -> Scalar:
    """Class separability: traces of covariances (or scatters) within over distance between."""
    if form == "scatter" or sums.target.kind == "values":
        return csm_scatter(sums)
    t, W = sums.target, pair_weights(sums.target)
    need_members(t, 1 + ddof, f"CSM with ddof={ddof}", ", or use ddof=0" if ddof else "")
    S = sums.Q / np.outer(t.m, t.m)
    within = np.diagonal(S)
    # tr Cov_c = (Σ d_i - 1'K1 / n_c) / (n_c - ddof)
    divisor = degrees(t, ddof)
    trace = (t.wV.T @ sums.d - within * t.m) / divisor
    F, share = _ratio(trace[:, None] + trace, within[:, None] + within - 2.0 * S, _zero(sums))
    value = 0.5 * float(np.sum(W * F))
    if not sums.derivative or not np.isfinite(value):
        return Scalar(value)
    share = W * share
    per_trace = share.sum(axis=1) / divisor
    contrast = distance_contrast(t, -share * F) - np.diag(per_trace / t.m)
    return sums.scalar(value, t.wV @ contrast, t.wV @ per_trace)


def csm_scatter(sums: Sums) -> Scalar:
    """Tr S_W / tr S_B with tr S_B = <K, P>, P the projector on the centred target."""
    t = sums.target
    J = np.eye(len(t.m)) - np.outer(t.e, t.m) / t.n
    if t.kind == "classes":
        inverse = np.diag(np.where(t.m > 0, 1.0 / np.where(t.m > 0, t.m, 1.0), 0.0))
    else:  # projector on the span of the centred columns: V J (J'CJ)^+ J'V'
        inverse = np.linalg.pinv(J.T @ t.C @ J, hermitian=True)
    between = sums.functional(J @ inverse @ J.T)
    if between.value <= _zero(sums):
        return Scalar(np.inf)
    whole = sums.functional(np.zeros_like(t.M), side=-1.0 / t.n, delta=t.w)  # tr(HK)
    return whole / between - 1.0


FSM = Measure(
    "fsm", fsm_formula, False, ("classes", "values"), favours_identity=True, nonnegative=True
)
FSM_LOO = Measure(
    "fsm_loo",
    partial(fsm_formula, leave_one_out=True),
    False,
    ("classes",),
    nonnegative=True,
)
CSM = Measure("csm", csm_formula, False, ("classes", "values"), nonnegative=True)
CSM_SCATTER = Measure("csm_scatter", csm_scatter, False, nonnegative=True)
