"""Tan et al.: the derivatives, the closed form of u and the claim about stationary points."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq

import gramsmith as gs
from papers.experiment import Findings, Run
from papers.record import Record, check, compare

Array = npt.NDArray[Any]

# One Gaussian on the line with three stationary points of the alignment: positions, labels, and
# the (sigma, alignment) of a maximum, a minimum and a maximum.
COUNTER_EXAMPLES = (
    ((0, 3, 5, 40), (-1, 1, 1, 1)),
    ((0, 1, 10, 11, 100, 101, 110, 111), (1, 1, 1, -1, -1, -1, -1, -1)),
)


SMALL = 0.5  # the fixed bandwidth of the counter-examples with two Gaussians


class Mixture:
    """Two Gaussians on some points, with the products that the closed forms need."""

    def __init__(self, X: Array, y: Array, sigma: tuple[float, float]) -> None:
        self.X, self.y, self.sigma = X, y, sigma
        self.K1, self.K2 = (gs.Gaussian(s)(X) for s in self.sigma)
        y, K1, K2 = self.y, self.K1, self.K2
        self.a, self.b = float(y @ K1 @ y), float(y @ K2 @ y)
        self.c11, self.c12, self.c22 = (
            float(np.vdot(P, Q)) for P, Q in ((K1, K1), (K1, K2), (K2, K2))
        )

    @classmethod
    def draw(cls, rng: np.random.Generator) -> Mixture:
        """Return a random problem."""
        n = int(rng.integers(6, 20))
        X = rng.standard_normal((n, 2))
        y = np.where(X[:, 0] + 0.7 * rng.standard_normal(n) > 0, 1.0, -1.0)
        y[:2] = 1.0, -1.0
        return cls(X, y, (rng.uniform(0.1, 0.5), rng.uniform(0.6, 3.0)))

    def kernel(self, u: float) -> Array:
        """Return u K1 + (1 - u) K2."""
        return np.asarray(u * self.K1 + (1.0 - u) * self.K2)

    def alignment(self, u: float) -> float:
        """Return F(u) from the products."""
        v = 1.0 - u
        square = u**2 * self.c11 + 2.0 * u * v * self.c12 + v**2 * self.c22
        return float((u * self.a + v * self.b) / (len(self.y) * np.sqrt(square)))

    def numerators(self) -> tuple[float, float]:
        """Return n1 = a c22 - b c12 and n2 = b c11 - a c12."""
        return self.a * self.c22 - self.b * self.c12, self.b * self.c11 - self.a * self.c12

    def best_weight(self) -> float:
        """Return the u of largest alignment: negative parts mean an end of [0, 1]."""
        w = np.maximum(self.numerators(), 0.0)
        return float(w[0] / w.sum())


def formulas(run: Run) -> Findings:
    """Check the formulas, with their corrections and counter-examples."""
    rng = run.rng(1)
    problems = [Mixture.draw(rng) for _ in range(run.choose(200, 40))]
    records = [_derivative(problems), _closed_form(problems), _largest(problems), _scale(problems)]
    records += [*_vanishing(), _equal_kernels(problems), *_circle(problems)]
    records += [_bandwidth_derivative(problems), _unit()]
    for k, (x, labels) in enumerate(COUNTER_EXAMPLES):
        records.append(_stationary(k, np.array(x, dtype=float), np.array(labels, dtype=float)))
    return Findings(records)


def _derivative(problems: list[Mixture]) -> Record:
    """dF/du, whose first line has a minus where a plus belongs."""
    right = wrong = 0.0
    for p in problems:
        u, h = 0.3, 1e-5
        K, D = p.kernel(u), p.K1 - p.K2
        t, q, n = float(np.vdot(K, K)), float(p.y @ K @ p.y), len(p.y)
        slope = (p.alignment(u + h) - p.alignment(u - h)) / (2 * h)
        lead = float(p.y @ D @ p.y) * t
        good = (lead - q * float(np.vdot(D, K))) / (n * t**1.5)
        bad = (lead - q * float(np.vdot(D, u * p.K1 - (1 - u) * p.K2))) / (n * t**1.5)
        right, wrong = max(right, abs(good - slope)), max(wrong, abs(bad - slope))
    note = "tr((K₁ − K₂)(uK₁ + (1 − u)K₂)), not minus"
    return check("Theorem 1", "dF/du, first line", right, tolerance=1e-6, printed=wrong, note=note)


def _closed_form(problems: list[Mixture]) -> Record:
    """(5) is minus the stationary point."""
    right = wrong = 0.0
    for p in problems:
        n1, n2 = p.numerators()
        if min(n1, n2) <= 0:
            continue
        h = 1e-5
        u = n1 / (n1 + n2)
        printed = n1 / (p.a * (p.c12 - p.c22) - p.b * (p.c11 - p.c12))
        right = max(right, abs(p.alignment(u + h) - p.alignment(u - h)) / (2 * h))
        wrong = max(wrong, abs(printed - u))
    note = "u* = n₁/(n₁ + n₂); the printed denominator has the other sign, so it gives −u*"
    return check("(5)", "stationary point u*", right, tolerance=1e-6, printed=wrong, note=note)


def _largest(problems: list[Mixture]) -> Record:
    """Check that the clipped numerators give the best u in [0, 1]."""
    grid = np.linspace(0.0, 1.0, 51)
    worst = max(
        max(p.alignment(float(u)) for u in grid) - p.alignment(p.best_weight()) for p in problems
    )
    note = "at an end of [0, 1] where n₁ or n₂ is negative; the paper does not say"
    return check("(5)", "best u in [0, 1] beside a grid", max(worst, 0.0), note=note)


def _scale(problems: list[Mixture]) -> Record:
    """Check that the form with sqrt(1 - u²) has the same optimum, at u = w1/|w|."""
    worst = 0.0
    for p in problems[:40]:
        w = np.maximum(p.numerators(), 0.0)
        u = float(w[0] / np.linalg.norm(w))
        K = u * p.K1 + np.sqrt(max(1.0 - u**2, 0.0)) * p.K2
        worst = max(worst, abs(gs.kta(K, p.y) - p.alignment(p.best_weight())))
    return check("Theorem 2", "the form √(1 − u²) has the same maximum", worst)


def _vanishing() -> list[Record]:
    """(6)-(8): a vanishing denominator of (5) does not make the kernels equal.

    On three points the denominator changes sign with σ₂. At its zero the kernels differ, the
    numerator does not vanish, and the alignment is monotone in u; beyond it the stationary point is
    a minimum outside [0, 1].
    """
    X, y = np.array([[0.0], [1.0], [2.0]]), np.array([1.0, -1.0, 1.0])

    def problem(sigma: float) -> Mixture:
        return Mixture(X, y, (2.0, sigma))

    sigma = brentq(lambda s: float(sum(problem(s).numerators())), 2.5, 4.0, xtol=1e-14)
    p = problem(sigma)
    n1, n2 = p.numerators()
    slopes = np.diff([p.alignment(float(u)) for u in np.linspace(0.0, 1.0, 101)])
    monotone = bool((slopes > 0).all() or (slopes < 0).all())
    beyond = problem(10.0)
    m1, m2 = beyond.numerators()
    u = m1 / (m1 + m2)
    around = [beyond.alignment(u + h) for h in (-1e-3, 0.0, 1e-3)]
    lowest = bool(u > 1.0 or u < 0.0) and around[1] < min(around[0], around[2])
    gap = 1.0 - p.c12**2 / (p.c11 * p.c22)
    where = "x = (0, 1, 2), y = (+, −, +), σ₁ = 2"
    return [
        check(
            "(6), (7)",
            "a vanishing denominator of (5): no stationary point, the alignment is monotone in u",
            abs(n1 + n2) / abs(n1) + (0.0 if monotone else 1.0),
            printed=float(np.abs(p.K1 - p.K2).max()),
            note=f"{where}, σ₂ = {sigma:.4f}: n₁ + n₂ = 0, n₁ = {n1:.3f}, K₁ ≠ K₂; one equation "
            "does not give two",
        ),
        check(
            "(8)",
            "⟨K₁, K₂⟩² = ⟨K₁, K₁⟩⟨K₂, K₂⟩ also for K₂ = 2 K₁",
            abs(float(np.vdot(p.K1, 2.0 * p.K1)) ** 2 / (4.0 * p.c11**2) - 1.0),
            note="it means proportional; equal only because Gaussians have ones on the diagonal. "
            f"At the zero above the sides are apart by {gap:.1e} of their size",
        ),
        check(
            "(5)",
            "where n₁ + n₂ < 0 the stationary point is a minimum outside [0, 1]",
            0.0 if lowest else 1.0,
            note=f"{where}, σ₂ = 10: u = {u:.3f}",
        ),
    ]


def _equal_kernels(problems: list[Mixture]) -> Record:
    """(11): with equal kernels every u is stationary, not 0 and 1 only."""
    p = problems[0]
    same = Mixture(p.X, p.y, (p.sigma[1], p.sigma[1]))
    values = [same.alignment(float(u)) for u in np.linspace(0.0, 1.0, 21)]
    note = "k₁ = k₂ makes the alignment constant: every u is stationary, not only 0 and 1"
    return check("(11)", "alignment by u of two equal kernels, range", np.ptp(values), note=note)


def _circle(problems: list[Mixture]) -> list[Record]:
    """Theorem 2: in u at most one stationary point, a maximum; the minimum is at an end.

    In σ₂ there are more than two, as in theorem 1.
    """
    angles = np.linspace(0.0, np.pi / 2.0, 2001)
    extra = wrong = 0
    for p in problems[:40]:
        u, v = np.sin(angles), np.cos(angles)
        square = u**2 * p.c11 + 2.0 * u * v * p.c12 + v**2 * p.c22
        F = (u * p.a + v * p.b) / np.sqrt(square)
        turns = np.diff(np.sign(np.diff(F)))
        extra += int(np.sum(turns != 0) > 1)
        wrong += int(np.any(turns > 0) or F.argmin() not in (0, len(F) - 1))
    x, y = (np.array(part, dtype=float) for part in COUNTER_EXAMPLES[0])
    points = stationary_points(x, y, weight=0.1)
    shown = "; ".join(f"σ₂ = {s:.4f}: {F:.4f}" for s, F in points)
    middle = points[1][1] < min(points[0][1], points[2][1]) if len(points) >= 3 else False
    return [
        check(
            "Theorem 2",
            "u k₁ + √(1 − u²) k₂ by u: at most one stationary point, a maximum; worst at an end",
            float(extra + wrong),
            note="40 random problems, 2001 values of u each",
        ),
        check(
            "Theorem 2",
            "counter-example: stationary points in σ₂ at u = .1, the middle one a minimum",
            0.0 if middle else 1.0,
            printed=float(len(points) - 2),
            note=f"Theorem 2 says at most two. σ₁ = {SMALL}, x = (0, 3, 5, 40): {shown}",
        ),
    ]


def _bandwidth_derivative(problems: list[Mixture]) -> Record:
    worst = 0.0
    for p in problems[:40]:
        u, s, h = 0.3, p.sigma[1], 1e-5
        D = np.sum((p.X[:, None] - p.X) ** 2, axis=2)
        K, E = p.kernel(u), p.K2 * D
        t, q = float(np.vdot(K, K)), float(p.y @ K @ p.y)
        R = t * float(p.y @ E @ p.y) - q * float(np.vdot(K, E))
        slope = (1 - u) / (len(p.y) * s**3 * t**1.5) * R
        ends = [gs.kta(u * p.K1 + (1 - u) * gs.Gaussian(s + e)(p.X), p.y) for e in (h, -h)]
        worst = max(worst, abs(slope - (ends[0] - ends[1]) / (2 * h)))
    return check("(10)", "dF/dσ₂ and R(σ₂)", worst, tolerance=1e-6)


def _unit() -> Record:
    ours = gs.kta(np.eye(200), np.repeat([1, -1], 100))
    note = "K is the identity at sigma = 100: the printed .947 belongs to the other table"
    return compare("Table 1", "alignment of the identity, n = 200", 0.071, ours, note=note)


def stationary_points(x: Array, y: Array, weight: float = 0.0) -> list[tuple[float, float]]:
    """Return (sigma, alignment) of the stationary points of u k₁ + √(1 − u²) k on a log grid.

    Parameters
    ----------
    x, y : array of shape (n,)
        Points on the line, and their labels.
    weight : float
        u; 0 is the Gaussian k alone. k₁ has the bandwidth `SMALL`.
    """
    D = (x[:, None] - x) ** 2
    fixed = weight * np.exp(-D / (2.0 * SMALL**2))
    other = float(np.sqrt(1.0 - weight**2))

    def slope(s: float) -> float:
        moving = np.exp(-D / (2 * np.exp(2 * s)))
        K, E = fixed + other * moving, moving * D
        t = float(np.vdot(K, K))
        return float((t * (y @ E @ y) - (y @ K @ y) * np.vdot(K, E)) / t**1.5)

    grid = np.linspace(np.log(0.1 * np.diff(np.sort(x)).min()), np.log(10 * np.ptp(x)), 800)
    values = np.array([slope(float(s)) for s in grid])
    roots = [
        float(np.exp(brentq(slope, grid[i], grid[i + 1], xtol=1e-12)))
        for i in np.flatnonzero(np.sign(values[:-1]) * np.sign(values[1:]) < 0)
    ]
    return [(root, gs.kta(fixed + other * np.exp(-D / (2.0 * root**2)), y)) for root in roots]


def _stationary(k: int, x: Array, y: Array) -> Record:
    points = stationary_points(x, y)
    shown = "; ".join(f"σ = {s:.6f}: {F:.6f}" for s, F in points)
    note = f"Theorem 1 says at most two. One Gaussian, x = {x.astype(int).tolist()}: {shown}"
    found = float(len(points) >= 3)
    cell = f"counter-example {k + 1}: stationary points of one Gaussian"
    # The printed claim is wrong by as many points as there are beyond two.
    return check("Theorem 1", cell, 1.0 - found, printed=float(len(points) - 2), note=note)
