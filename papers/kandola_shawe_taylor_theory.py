"""Kandola & Shawe-Taylor: the theorems with right proofs, algorithm 1, and the noise sweep."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.datasets import make_friedman1

import gramsmith as gs
from gramsmith.kernels import Kernel
from papers.experiment import Findings, Run, squared_error
from papers.figure import Curve, Figure, Panel
from papers.record import Record, check, compare

Array = npt.NDArray[Any]


def formulas(run: Run) -> Findings:
    """Check the theorems and algorithm 1, with their corrections."""
    rng = run.rng(2)
    trials = run.choose(1000, 100)
    records = [_norm(rng), *_projected(rng, trials), _trace(rng), *_ridge(rng, trials)]
    records += [_half_centred(rng), *_uneven(rng), _parzen(rng, trials), *_spectral(rng)]
    return Findings(records)


def _alignment(K: Array, y: Array) -> float:
    """Return y'Ky / (|y|² |K|): (2) with the right norm of yy'."""
    return float(y @ K @ y / (y @ y * np.linalg.norm(K)))


def _norm(rng: np.random.Generator) -> Record:
    y = rng.standard_normal(20)
    true = np.linalg.norm(np.outer(y, y))
    note = "‖yy'‖ = ‖y‖², which is m for labels ±1 only; the proofs use m throughout"
    return check(
        "(2)", "norm of the target", abs(true - y @ y), printed=abs(true - len(y)), note=note
    )


def _projected(rng: np.random.Generator, trials: int) -> list[Record]:
    """Theorems 2 and 3: the best direction is least squares, and beats the whole kernel."""
    value = order = 0.0
    for _ in range(trials):
        p, m = int(rng.integers(1, 6)), int(rng.integers(6, 15))
        X = rng.standard_normal((p, m))  # columns are examples, as in the paper
        y = rng.standard_normal(m)
        w = np.linalg.lstsq(X.T, y, rcond=None)[0]
        best = _alignment(np.outer(X.T @ w, X.T @ w), y)
        fit = X.T @ w
        value = max(value, float(abs(best - fit @ y / (y @ y))))
        order = max(order, _alignment(X.T @ X, y) - best)
        other = rng.standard_normal(p)
        order = max(order, _alignment(np.outer(X.T @ other, X.T @ other), y) - best)
    return [
        check(
            "Theorem 2",
            "alignment of the least-squares direction is the uncentred R²",
            value,
            note="\"minimizes w'Xy\" must read maximises |w'Xy|; ‖w‖ ≤ 1 plays no part",
        ),
        check(
            "Theorem 3",
            "no direction and no whole kernel does better, worst violation",
            max(order, 0.0),
        ),
    ]


def _trace(rng: np.random.Generator) -> Record:
    """Show that the proof of theorem 3 takes tr(K)² for |K|²."""
    X = rng.standard_normal((4, 10))
    W = np.linalg.qr(rng.standard_normal((4, 4)))[0]
    C = X @ X.T
    square = np.linalg.norm(X.T @ X) ** 2
    printed = sum(w @ C @ w for w in W.T) ** 2
    right = sum((u @ C @ v) ** 2 for u in W.T for v in W.T)
    return check(
        "Theorem 3",
        "‖X'X‖² in an orthonormal basis, relative",
        abs(right - square) / square,
        printed=abs(printed - square) / square,
        note="Σ_ij (w_i'XX'w_j)²; the printed (Σ_i w_i'XX'w_i)² is tr(K)². The theorem "
        "itself holds: "
        "y'Ky = (Py)'K(Py) ≤ λmax ‖Py‖² ≤ ‖K‖ ‖Py‖²",
    )


def _ridge(rng: np.random.Generator, trials: int) -> list[Record]:
    """Link alignment and the ridge objective, for every lambda and not only zero."""
    identity = upper = lower = 0.0
    for _ in range(trials):
        m = int(rng.integers(4, 12))
        F = rng.standard_normal((m, int(rng.integers(1, m))))
        K, y, lam = F @ F.T, rng.standard_normal(m), float(np.exp(rng.uniform(-3, 3)))
        machine = gs.KernelRidgeRegressor("precomputed", alpha=lam, fit_intercept=False).fit(K, y)
        c = np.zeros(m)
        c[machine.support_] = np.ravel(machine.coefficients_)
        residual = y - K @ c
        objective = lam * c @ K @ c + residual @ residual
        closed = lam * y @ np.linalg.solve(K + lam * np.eye(m), y)
        identity = max(identity, float(abs(objective - closed) / (y @ y)))
        norm = np.linalg.norm(K)
        bound = y @ y * (1.0 - _alignment(K, y) * norm / (norm + lam))
        upper = max(upper, float((objective - bound) / (y @ y)))
        below = lam * (y @ y) ** 2 / (y @ K @ y + lam * y @ y)
        lower = max(lower, float((below - objective) / (y @ y)))
    return [
        check("(4)", "minimum of the ridge objective is λ y'(K + λI)⁻¹y", identity),
        check(
            "Section 3",
            "alignment bounds the ridge objective for every λ > 0, worst violation",
            max(upper, lower, 0.0),
            note="λ y'(K+λI)⁻¹y ≤ ‖y‖² (1 − A ‖K‖/(‖K‖ + λ)); the paper has λ = 0 only",
        ),
    ]


def _half_centred(rng: np.random.Generator) -> Record:
    """(3) centres y and not K: the centred alignment, times |HKH|/|K|."""
    X, y = rng.standard_normal((30, 3)) + 1.0, rng.standard_normal(30)
    K = X @ X.T
    H = np.eye(30) - 1.0 / 30
    ratio = np.linalg.norm(H @ K @ H) / np.linalg.norm(K)
    half = gs.kta(K, y, task="regression")
    gap = abs(half - gs.cka(K, y, task="regression") * ratio)
    return check("(3)", "centred y only: centred alignment times ‖HKH‖/‖K‖", gap)


def _uneven(rng: np.random.Generator) -> list[Record]:
    """(5) is the centred label vector, and its numerator the squared distance of class means."""
    y = np.where(np.arange(24) < 5, 1.0, -1.0)
    X = rng.standard_normal((24, 2)) + 0.8 * y[:, None]
    K = X @ X.T
    t = np.where(y > 0, 1 / 5, -1 / 19)
    centred = y - y.mean()
    same = abs(np.linalg.norm(t - 24 / (2 * 5 * 19) * centred))
    distance = abs(t @ K @ t - gs.mmd(K, y))
    return [
        check("(5)", "the uneven target is the centred label vector", same),
        check("(5)", "its numerator is ‖φ₊ − φ₋‖²", distance),
    ]


def _parzen(rng: np.random.Generator, trials: int) -> Record:
    """Training error of the Parzen window: err <= 1 - KTA for every positive semidefinite K."""
    worst = 0.0
    for _ in range(trials):
        m = int(rng.integers(4, 16))
        F = rng.standard_normal((m, 3))
        y = np.where(rng.random(m) < 0.5, 1.0, -1.0)
        K = F @ F.T
        error = float(np.mean(y * (K @ y) <= 0))
        worst = max(worst, error - (1.0 - _alignment(K, y)))
    note = "the exact form of the Parzen argument: err ≤ 1 − y'Ky/(m λmax) ≤ 1 − A"
    return check(
        "Section 4",
        "training error of the Parzen window, worst violation",
        max(worst, 0.0),
        note=note,
    )


def _spectral(rng: np.random.Generator) -> list[Record]:
    """Check algorithm 1: optimal and consistent by induction, not by transduction."""
    X, y = rng.standard_normal((30, 4)), np.where(rng.random(30) < 0.5, 1.0, -1.0)
    K = gs.Gaussian(2.0)(X)
    I, J = np.arange(20), np.arange(20, 30)
    D, V = np.linalg.eigh(K[np.ix_(I, I)])
    alpha = (V.T @ y[I]) ** 2
    best = _alignment((V * alpha) @ V.T, y[I])
    formula = abs(best - np.sqrt(np.sum(alpha**2)) / len(I))
    worse = max(
        _alignment((V * np.abs(alpha * np.exp(rng.normal(0, 0.3, 20)))) @ V.T, y[I]) - best
        for _ in range(200)
    )
    B = V.T @ K[np.ix_(I, J)]
    psi = np.sqrt(alpha)[:, None] * np.hstack([V.T, B / D[:, None]])
    G = np.block(
        [
            [(V * alpha) @ V.T, (V * (alpha / D)) @ B],
            [((V * (alpha / D)) @ B).T, (B.T * (alpha / D**2)) @ B],
        ]
    )
    consistent = float(np.abs(psi.T @ psi - G).max() / np.abs(G).max())
    rule, solved = (
        _alignment(gs.transductive_alignment(K, y[I], I, rule, n_components=12)[np.ix_(I, I)], y[I])
        for rule in ("diagonal", "exact")
    )
    note = (
        f"training alignment: K {_alignment(K[np.ix_(I, I)], y[I]):.3f}, rule {rule:.3f}, "
        f"exact {solved:.3f}"
    )
    return [
        check("Algorithm 1", "α = (v'y)² gives A = √Σ(v'y)⁴/‖y‖²", formula),
        check("Algorithm 1", "no other weights do better, worst of 200", max(worse, 0.0)),
        check(
            "Algorithm 1",
            "G(I,I), G(I,J), G(J,J) share one feature map",
            consistent,
            tolerance=1e-6,
        ),
        check(
            "Algorithm 1",
            "transductive: non-negative least squares beats the printed rule",
            0.0 if solved >= rule else rule - solved,
            printed=max(solved - rule, 0.0),
            note=note + "; eigenvectors restricted to the training rows are not orthogonal",
        ),
    ]


def noise(run: Run) -> Findings:
    """Sweep the noise of a regression, the paper's future work."""
    levels = (0.0, 1.0, 2.0, 4.0, 8.0)
    seeds = run.choose(20, 5)
    shape = (len(levels), seeds)
    held = {name: np.empty(shape) for name in ("K", "G, threshold 1e-1", "G, threshold 1e-3")}
    error = {name: np.empty(shape) for name in held}
    for i, level in enumerate(levels):
        for seed in range(seeds):
            X, y = make_friedman1(240, noise=level, random_state=seed)
            for name, (aligned, mse) in refine(X, y, 120).items():
                held[name][i, seed], error[name][i, seed] = aligned, mse
    records = []
    for i, level in enumerate(levels):
        for name in held:
            cell = f"noise {level:g}, {name}"
            records.append(
                compare("Noise", f"{cell}, held-out alignment", None, float(held[name][i].mean()))
            )
            records.append(
                compare(
                    "Noise", f"{cell}, ridge error", None, float(error[name][i].mean()), digits=2
                )
            )
    curves = [
        [Curve(name, levels, values.mean(axis=1)) for name, values in kind.items()]
        for kind in (held, error)
    ]
    panels = [
        Panel("held-out alignment", "deviation of the noise", "alignment", curves[0]),
        Panel("ridge regression", "deviation of the noise", "test error (MSE)", curves[1]),
    ]
    caption = (
        "Friedman's function, 120 training and 120 test points. Refining multiplies the held-out "
        "alignment at every level, and the ridge error rises at every level. Alignment bounds the "
        "error from above, it does not measure it."
    )
    figure = Figure("kandola-shawe-taylor-noise", "Refined kernels under noise", caption, panels)
    return Findings(records, [figure])


def refine(X: Array, y: Array, train: int) -> dict[str, tuple[float, float]]:
    """Return held-out alignment and ridge error of K and of G at two relative thresholds."""
    X_train, t, X_test, y_test = X[:train], y[:train], X[train:], y[train:]
    kernels: dict[str, Kernel] = {"K": gs.Gaussian(1.0)}
    for threshold in (1e-1, 1e-3):
        aligner = gs.SpectralAligner(
            gs.Gaussian(1.0), threshold=threshold, task="regression", keep=1.0
        )
        name = f"G, threshold {threshold:.0e}".replace("e-0", "e-")
        kernels[name] = aligner.fit(X_train, t).kernel_
    results = {}
    for name, kernel in kernels.items():
        machine = gs.KernelRidgeRegressor(kernel).fit(X_train, t)
        aligned = gs.kta(gs.Gram(kernel, X_test), y_test, task="regression")
        results[name] = (aligned, squared_error(machine, X_test, y_test))
    return results
