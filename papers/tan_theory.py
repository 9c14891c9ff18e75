"""Tan et al.: the derivatives, the closed form of u and the claim about stationary points."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq

from gramsmith.evaluation import kta
from gramsmith.gram import Gram
from gramsmith.kernels import Gaussian
from papers.experiment import Findings, Run
from papers.record import Record, check, compare

Array = npt.NDArray[Any]

# One Gaussian on the line with three stationary points of the alignment: positions, labels, and
# the (sigma, alignment) of a maximum, a minimum and a maximum.
COUNTER_EXAMPLES = (
    ((0, 3, 5, 40), (-1, 1, 1, 1)),
    ((0, 1, 10, 11, 100, 101, 110, 111), (1, 1, 1, -1, -1, -1, -1, -1)),
)


class Mixture:
    """Two Gaussians on random points, with the products that the closed forms need."""

    def __init__(self, rng: np.random.Generator) -> None:
        n = int(rng.integers(6, 20))
        X = rng.standard_normal((n, 2))
        self.X = X
        self.y = np.where(X[:, 0] + 0.7 * rng.standard_normal(n) > 0, 1.0, -1.0)
        self.y[:2] = 1.0, -1.0
        self.sigma = rng.uniform(0.1, 0.5), rng.uniform(0.6, 3.0)
        self.K1, self.K2 = (Gaussian(s)(X) for s in self.sigma)
        y, K1, K2 = self.y, self.K1, self.K2
        self.a, self.b = float(y @ K1 @ y), float(y @ K2 @ y)
        self.c11, self.c12, self.c22 = (
            float(np.vdot(P, Q)) for P, Q in ((K1, K1), (K1, K2), (K2, K2))
        )

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
    problems = [Mixture(rng) for _ in range(run.choose(200, 40))]
    records = [_derivative(problems), _closed_form(problems), _largest(problems), _scale(problems)]
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
        worst = max(worst, abs(kta(K, p.y) - p.alignment(p.best_weight())))
    return check("Theorem 2", "the form √(1 − u²) has the same maximum", worst)


def _bandwidth_derivative(problems: list[Mixture]) -> Record:
    worst = 0.0
    for p in problems[:40]:
        u, s, h = 0.3, p.sigma[1], 1e-5
        D = np.sum((p.X[:, None] - p.X) ** 2, axis=2)
        K, E = p.kernel(u), p.K2 * D
        t, q = float(np.vdot(K, K)), float(p.y @ K @ p.y)
        R = t * float(p.y @ E @ p.y) - q * float(np.vdot(K, E))
        slope = (1 - u) / (len(p.y) * s**3 * t**1.5) * R
        ends = [kta(u * p.K1 + (1 - u) * Gaussian(s + e)(p.X), p.y) for e in (h, -h)]
        worst = max(worst, abs(slope - (ends[0] - ends[1]) / (2 * h)))
    return check("(10)", "dF/dσ₂ and R(σ₂)", worst, tolerance=1e-6)


def _unit() -> Record:
    ours = kta(np.eye(200), np.repeat([1, -1], 100))
    note = "K is the identity at sigma = 100: the printed .947 belongs to the other table"
    return compare("Table 1", "alignment of the identity, n = 200", 0.071, ours, note=note)


def stationary_points(x: Array, y: Array) -> list[tuple[float, float]]:
    """Return (sigma, alignment) of every stationary point of one Gaussian on a log grid."""
    X = x[:, None]
    D = (x[:, None] - x) ** 2

    def slope(s: float) -> float:
        K = np.exp(-D / (2 * np.exp(2 * s)))
        E = K * D
        t = float(np.vdot(K, K))
        return float((t * (y @ E @ y) - (y @ K @ y) * np.vdot(K, E)) / t**1.5)

    grid = np.linspace(np.log(0.1 * np.diff(np.sort(x)).min()), np.log(10 * np.ptp(x)), 800)
    values = np.array([slope(float(s)) for s in grid])
    roots = [
        float(np.exp(brentq(slope, grid[i], grid[i + 1], xtol=1e-12)))
        for i in np.flatnonzero(np.sign(values[:-1]) * np.sign(values[1:]) < 0)
    ]
    return [(root, kta(Gram(Gaussian(root), X), y)) for root in roots]


def _stationary(k: int, x: Array, y: Array) -> Record:
    points = stationary_points(x, y)
    shown = "; ".join(f"σ = {s:.6f}: {F:.6f}" for s, F in points)
    note = f"Theorem 1 says at most two. One Gaussian, x = {x.astype(int).tolist()}: {shown}"
    found = float(len(points) >= 3)
    cell = f"counter-example {k + 1}: stationary points of one Gaussian"
    # The printed claim is wrong by as many points as there are beyond two.
    return check("Theorem 1", cell, 1.0 - found, printed=float(len(points) - 2), note=note)
