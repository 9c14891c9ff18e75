"""Nguyen & Ho (2008): examples and theorems; FSM beside minimax probability and Fisher."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize

import gramsmith as gs
from papers.data import DataError
from papers.experiment import Findings, Run, error_rate
from papers.figure import Curve, Figure, Panel
from papers.generators import two_blobs
from papers.record import Record, absent, check, compare

Array = npt.NDArray[Any]


def formulas(run: Run) -> Findings:
    """Check the examples and theorems, with their corrections."""
    rng = run.rng(4)
    records = [_best_case(), _worst_case(), _non_negative(rng), _direct_form(rng), _limits()]
    records += _invariance(rng)
    records += _error_bound(rng, run.choose(2000, 300))
    records.append(_csm_direct(rng))
    return Findings(records)


def _labels(positive: int, negative: int) -> Array:
    return np.repeat([1.0, -1.0], [positive, negative])


def _best_case() -> Record:
    worst = 0.0
    for a, (p, n) in zip(
        (-1.0, -0.3, 0.0, 0.5, 0.99), ((3, 5), (4, 4), (7, 2), (2, 6), (5, 5)), strict=True
    ):
        y = _labels(p, n)
        K = np.where(np.outer(y, y) > 0, 1.0, a)
        m = p + n
        formula = (p**2 + n**2 - 2 * p * n * a) / (m * np.sqrt(p**2 + n**2 + 2 * p * n * a**2))
        worst = max(worst, abs(formula - gs.kta(K, y)))
    return check("(8)", "alignment when every class is one point", worst)


def _worst_case() -> Record:
    worst = 0.0
    for a, (p, n) in zip((-0.9, 0.0, 0.5), ((4, 6), (8, 2), (4, 4)), strict=True):
        y = _labels(p, n)
        side = np.concatenate([np.arange(p) % 2, np.arange(n) % 2])
        K = np.where(side[:, None] == side, 1.0, a)
        m = p + n
        formula = (p - n) ** 2 * (1 + a) / 2 / (m**2 * np.sqrt((1 + a**2) / 2))
        worst = max(worst, abs(formula - gs.kta(K, y)))
    return check("(9)", "alignment when the classes fall together", worst)


def _non_negative(rng: np.random.Generator) -> Record:
    worst = -np.inf
    for _ in range(200):
        p, n = (int(v) for v in rng.integers(2, 8, size=2))
        F = rng.random((p + n, 4))
        y = _labels(p, n)
        worst = max(worst, gs.kta(F @ F.T, y) - np.sqrt(p**2 + n**2) / (p + n))
    return check(
        "(10)", "bound of the alignment of a non-negative kernel, worst violation", max(worst, 0.0)
    )


def _direct_form(rng: np.random.Generator) -> Record:
    """FSM from explicit features, (11)-(12), against the kernel form (14)-(16)."""
    X = rng.standard_normal((30, 4))
    y = np.where(rng.random(30) < 0.4, 1.0, -1.0)
    X[y > 0] += 1.0
    mean = {s: X[y == s].mean(axis=0) for s in (1, -1)}
    d = mean[-1] - mean[1]
    e = d / np.linalg.norm(d)
    spread = sum(np.std(X[y == s] @ e, ddof=1) for s in (1, -1))
    gap = abs(spread / np.linalg.norm(d) - gs.fsm(gs.Gram(gs.Linear(), X), y))
    note = "sums run to n, e is (φ₋ − φ₊)/‖φ₋ − φ₊‖: misprints only"
    return check("(14)-(16)", "FSM from the kernel matrix", gap, note=note)


def _limits() -> Record:
    y = _labels(5, 5)
    best = gs.fsm(np.where(np.outer(y, y) > 0, 1.0, 0.2), y)
    side = np.concatenate([np.arange(5) % 2, np.arange(5) % 2])
    blurred = np.where(side[:, None] == side, 1.0, 0.2)
    worst = gs.fsm(blurred, y)
    error = abs(best) + (0.0 if np.isinf(worst) else 1.0)
    note = "the text exchanges them: FSM is 0 at best and infinite at worst"
    return check(
        "Section 3.4", "FSM of the best and the worst case", error, printed=np.inf, note=note
    )


def _invariance(rng: np.random.Generator) -> list[Record]:
    X = rng.standard_normal((40, 3))
    y = np.where(X[:, 0] + 0.5 * rng.standard_normal(40) > 0, 1, -1)
    Q = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    base = gs.fsm(gs.Gram(gs.Linear(), X), y)
    worst = max(
        abs(gs.fsm(gs.Gram(gs.Linear(), Z), y) - base) / base for Z in (X + 5.0, 3.0 * X, X @ Q)
    )
    stretched = abs(gs.fsm(gs.Gram(gs.Linear(), X * [1.0, 4.0, 0.3]), y) - base)
    moved = abs(gs.kta(gs.Gram(gs.Linear(), X + 5.0), y) - gs.kta(gs.Gram(gs.Linear(), X), y))
    return [
        check("Theorem 1", "KTA changes under translation", 0.0 if moved > 0.01 else 1.0),
        check("Theorem 2", "FSM under translation, scale, rotation", worst, tolerance=1e-10),
        check(
            "Section 1",
            "FSM under any linear map",
            worst,
            tolerance=1e-10,
            printed=stretched,
            note="invariant to similarities only, not to linear operators; theorem 2 has it right",
        ),
    ]


def _error_bound(rng: np.random.Generator, trials: int) -> list[Record]:
    """Check that the hyperplane of the proof errs at most FSM²/(1 + FSM²) in each class."""
    worst, tight = -np.inf, 0.0
    for _ in range(trials):
        sizes = rng.integers(3, 12, size=2)
        y = _labels(int(sizes[0]), int(sizes[1]))
        X = rng.standard_normal((len(y), 2)) * rng.exponential(1.0, 2)
        X[y > 0] += rng.standard_normal(2)
        machine = gs.CentroidClassifier(gs.Linear()).fit(X, y)
        bound = machine.error_bound_
        error = max(error_rate(machine, X[y == c], y[y == c]) for c in (1, -1))
        worst = max(worst, error - bound)
        tight = max(tight, error / bound)
    note = f"tight: the error reaches {tight:.2f} of the bound"
    return [
        check("Theorem 3", "training error beyond the bound, worst", max(worst, 0.0), note=note)
    ]


def _csm_direct(rng: np.random.Generator) -> Record:
    X = rng.standard_normal((25, 3))
    y = np.where(np.arange(25) < 10, 1, -1)
    X[y > 0] += 0.7
    traces = sum(np.trace(np.cov(X[y == s].T)) for s in (1, -1))
    d = X[y > 0].mean(axis=0) - X[y < 0].mean(axis=0)
    gap = abs(traces / (d @ d) - gs.csm(gs.Gram(gs.Linear(), X), y))
    return check("(22)", "CSM with c = 1 from the kernel matrix", gap)


def accuracy_bound(run: Run) -> list[Record]:
    """(7): it grows with the alignment, so it can only bound the accuracy of the Parzen window."""
    low = worst = -np.inf
    errors, bounds = [], []
    n, delta = 100, 0.05
    for seed in range(run.choose(200, 60)):
        angle = float(run.rng(seed).choice([30.0, 90.0, 180.0]))
        X, y = two_blobs(angle, 0.3, n, run.rng(seed))
        train = np.r_[: n // 2, n : n + n // 2]
        test = np.setdiff1d(np.arange(2 * n), train)
        aligned = gs.kta(gs.Gram(gs.Linear(), X[train]), y[train])
        machine = gs.ParzenClassifier(gs.Linear(), weights="uniform", threshold=0.0)
        wrong = error_rate(machine.fit(X[train], y[train]), X[test], y[test])
        bound = aligned - np.sqrt(8.0 / n * np.log(2.0 / delta))
        errors.append(wrong)
        bounds.append(bound)
        low = max(low, wrong - bound)
        worst = max(worst, bound - (1.0 - wrong))
    note = (
        "a bound on the error it cannot be, since it rises with the alignment: the error exceeds "
        f"it by up to {low:.2f}; the accuracy is never below it, {len(errors)} samples of {n}"
    )
    return [
        check(
            "(7)",
            "Â − √(8 ln(2/δ)/n) bounds the accuracy of the Parzen window from below",
            max(worst, 0.0),
            printed=max(low, 0.0),
            note=note,
        )
    ]


def minimax_ratio(X: Array, y: Array) -> float:
    """Return min over a of (21), the objective of the minimax probability machine.

    (sqrt(a'C₊a) + sqrt(a'C₋a)) / a'd is convex on the hyperplane a'd = 1; a little of the identity
    keeps directions without spread finite.
    """
    C = [np.cov(X[y == s].T, ddof=1) for s in (1, -1)]
    d = X[y == 1].mean(axis=0) - X[y == -1].mean(axis=0)
    jitter = 1e-9 * sum(np.trace(c) for c in C) / len(d)
    C = [np.atleast_2d(c) + jitter * np.eye(len(d)) for c in C]
    # Start from Fisher's direction, in its own metric: the problem is then almost round.
    L = np.linalg.cholesky(C[0] + C[1])
    B = [np.linalg.solve(L, np.linalg.solve(L, c).T) for c in C]
    e = np.linalg.solve(L, d)

    def objective(u: Array) -> tuple[float, Array]:
        parts = [np.sqrt(u @ b @ u) for b in B]
        top, bottom = sum(parts), float(u @ e)
        slope = sum(b @ u / s for b, s in zip(B, parts, strict=True))
        return float(top / bottom), np.asarray((slope - (top / bottom) * e) / bottom)

    solution = minimize(objective, e, jac=True, method="L-BFGS-B", options={"maxiter": 2000})
    return float(solution.fun)


def fisher_criterion(X: Array, y: Array) -> float:
    """Return max over a of (a'd)² / a'(C₊ + C₋)a, with the same little of the identity."""
    C = sum(np.cov(X[y == s].T, ddof=1) for s in (1, -1))
    C = np.atleast_2d(C)
    d = X[y == 1].mean(axis=0) - X[y == -1].mean(axis=0)
    C = C + 2e-9 * np.trace(C) / len(d) * np.eye(len(d))
    return float(d @ np.linalg.solve(C, d))


def criteria(run: Run) -> Findings:
    """FSM of the linear kernel beside the optimum over all directions and Fisher's criterion."""
    from papers.nguyen_ho import PUBLISHED

    found = Findings()
    rows: dict[str, tuple[float, float, float]] = {}
    for name in PUBLISHED:
        try:
            data = run.load(name)
        except DataError as error:
            found.records.append(absent("Section 3.4", f"{name}: criteria", str(error)))
            continue
        F = gs.fsm(gs.Gram(gs.Linear(), data.X), data.y)
        r = minimax_ratio(data.X, data.y)
        J = 1.0 / np.sqrt(fisher_criterion(data.X, data.y))
        rows[name] = (F, r, J)
        note = (
            f"FSM {F:.3f} ≥ minimax {r:.3f} ≥ Fisher {J:.3f}; error bounds "
            f"{_bound(F):.3f}, {_bound(r):.3f}"
        )
        violation = max(r - F, J - r, 0.0)
        found.records.append(
            check(
                "Section 3.4",
                f"{name}: Fisher ≤ minimax ≤ FSM",
                violation,
                tolerance=1e-6,
                note=note,
            )
        )
        cell = f"{name}: what FSM loses against the best direction"
        found.records.append(
            compare("Section 3.4", cell, None, F / r, digits=2, note="FSM / minimax")
        )
    if rows:
        labels = ("FSM", "minimax probability, r", "Fisher, 1/√J")
        curves = [
            Curve(label, np.arange(len(rows)), np.array([row[k] for row in rows.values()]), "bars")
            for k, label in enumerate(labels)
        ]
        panel = Panel("linear kernel", "", "spread / distance", curves, names=list(rows))
        caption = "FSM looks along the class means, the other two along their best direction."
        found.figures.append(
            Figure("nguyen-ho-criteria", "FSM beside two criteria", caption, [panel], columns=1)
        )
    return found


def _bound(F: float) -> float:
    return F**2 / (1.0 + F**2)
