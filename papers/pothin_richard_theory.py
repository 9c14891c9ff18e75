"""Pothin & Richard: the gradients with their corrections, and table 2 where there are no files."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

import gramsmith as gs
from gramsmith.kernels import Kernel
from papers.experiment import Findings, Run, error_rate
from papers.generators import ringnorm, standardised, titanic, waveform
from papers.pothin_richard_steps import Alignment, C, Split, mapped
from papers.record import Record, check, compare, two_errors

# the climb of the paper: nothing is held out, nothing shrunk
PLAIN: dict[str, Any] = {"early_stopping": False, "keep": 1.0}

Array = npt.NDArray[Any]


def formulas(run: Run) -> Findings:
    """Check (1) to (21), the substitution before (12) and the remarks."""
    rng = run.rng(3)
    X = rng.standard_normal((25, 3))
    y = np.where(X[:, 0] * X[:, 1] + 0.3 * rng.standard_normal(25) > 0, 1.0, -1.0)
    S = np.eye(3) / np.sqrt(2.0) + 0.1 * rng.standard_normal((3, 3))
    records = [_definition(X, y), _pseudo_metric(X), _isotropy(rng), _substitution(X)]
    records += [*_pieces(X, y, S), *_full(X, y, S), _diagonal(X, y)]
    records += [_rank(X, y), _random_starts(run), _rotation(X, y, S), _too_large(run)]
    return Findings(records)


def _gradient(X: Array, y: Array, S: Array) -> Array:
    """Return the gradient of the alignment: the bracket of (18) divided by n."""
    return Alignment(Split(X, y, X, y))(S)[1] / len(y)


def _slope(function: Any, S: Array, h: float = 1e-5) -> Array:
    """Return the derivative by every entry of S from central differences."""
    slope = np.empty_like(S)
    for i in np.ndindex(S.shape):
        E = np.zeros_like(S)
        E[i] = h
        slope[i] = (function(S + E) - function(S - E)) / (2 * h)
    return slope


def _bracket(X: Array, y: Array, S: Array) -> Array:
    """Return the bracket of (18) times S, summed as printed."""
    K = mapped(S)(X)
    D = X[:, None] - X
    norm = np.linalg.norm(K)
    W = np.outer(y, y) * K / norm - (y @ K @ y) / norm**3 * K**2
    return np.asarray(np.einsum("ij,ijk,ijl->kl", -2.0 * W, D, D) @ S)


def _definition(X: Array, y: Array) -> Record:
    """(1) to (3): the three forms of the alignment with the ideal matrix (2)."""
    K, ideal = gs.Gaussian(1.0)(X), np.where(np.equal.outer(y, y), 1.0, -1.0)
    cosine = np.vdot(K, ideal) / np.sqrt(np.vdot(K, K) * np.vdot(ideal, ideal))
    short = y @ K @ y / (len(y) * np.linalg.norm(K))
    ours = gs.kta(gs.Gram(gs.Gaussian(1.0), X), y)
    return check("(1)-(3)", "forms of the alignment", max(abs(cosine - ours), abs(short - ours)))


def _pseudo_metric(X: Array) -> Record:
    """(5) of a singular S: not negative, symmetric, the triangle inequality, and zeros."""
    S = np.diag([1.0, 0.5, 0.0])
    Z = X @ S
    d = np.sqrt(((Z[:, None] - Z) ** 2).sum(axis=2))
    longer = (d[:, None, :] - d[:, :, None] - d[None, :, :].transpose(0, 2, 1)).max()
    flat = float(np.linalg.norm(np.array([0.0, 0.0, 1.0]) @ S))
    note = "a pseudo-metric: a singular S has distinct points at distance 0"
    return check(
        "(5)", "distance after the map, worst violation", max(longer, flat, 0.0), note=note
    )


def _isotropy(rng: np.random.Generator) -> Record:
    """Section 3: for k = ψ(|x - z|) with ψ falling, the order of distances is that of features."""
    X = rng.standard_normal((40, 3))
    pairs = np.triu_indices(40, 1)
    d = np.sqrt(((X[:, None] - X) ** 2).sum(axis=2))[pairs]
    order = np.argsort(d)
    kernels = (gs.Gaussian(1.0), gs.Matern(nu=0.5), gs.Matern(nu=1.5), gs.RationalQuadratic())
    worst = 0.0
    for kernel in kernels:
        K = kernel(X)
        squared = (np.diag(K)[:, None] + np.diag(K) - 2.0 * K)[pairs]
        worst = max(worst, float(-np.diff(squared[order]).min()))
        if isinstance(kernel, gs.Gaussian):
            worst = max(worst, float(np.abs(squared - 2.0 * (1.0 - K[pairs])).max()))
    note = (
        "Gaussian, Laplacian exp(-‖x − z‖), Matérn, rational quadratic: nearer pairs are "
        'nearer in feature space. Only the order of pairs is kept, so "separability" is a '
        "hope and not a theorem"
    )
    return check("Section 3", "isotropic kernels keep the order of distances", worst, note=note)


def _pieces(X: Array, y: Array, S: Array) -> list[Record]:
    """(7)-(10) with (13)-(17), and (19)-(20), against differences."""
    K = mapped(S)(X)
    D = X[:, None] - X
    A = -2.0 * np.einsum("ijk,ijl->ijkl", D, D)
    inner = np.einsum("ij,ijkl->kl", np.outer(y, y) * K, A) @ S
    norm = np.einsum("ij,ijkl->kl", K * K, A) @ S / np.linalg.norm(K)
    theta = np.array([0.5, 0.8, 0.6])
    diagonal = np.einsum("ij,ijk->k", np.outer(y, y) * mapped(theta)(X), -2.0 * D**2) * theta
    gaps = {
        ("(7), (8), (16)", "derivative of ⟨K, K*⟩ by S"): (
            inner,
            _slope(lambda T: y @ mapped(T)(X) @ y, S),
        ),
        ("(9), (10), (17)", "derivative of ‖K‖ by S; (17) has K for K~"): (
            norm,
            _slope(lambda T: np.linalg.norm(mapped(T)(X)), S),
        ),
        ("(19), (20)", "derivative by a diagonal S"): (
            diagonal,
            _slope(lambda t: y @ mapped(t)(X) @ y, theta),
        ),
    }
    return [
        check(table, cell, float(np.abs(ours - slope).max() / np.abs(slope).max()), tolerance=1e-6)
        for (table, cell), (ours, slope) in gaps.items()
    ]


def _substitution(X: Array) -> Record:
    sigma = 1.7
    K = gs.Gaussian(sigma)(X)
    right = np.abs(mapped(np.eye(3) / (np.sqrt(2.0) * sigma))(X) - K).max()
    wrong = np.abs(mapped(np.eye(3) / (2.0 * sigma**2))(X) - K).max()
    note = "S ← S/(√2 σ): (12) contains SS', so that is what is divided by 2σ²"
    return check("(12)", "the substitution S ← S/2σ²", right, printed=wrong, note=note)


def _full(X: Array, y: Array, S: Array) -> list[Record]:
    numeric = _slope(lambda T: gs.kta(gs.Gram(mapped(T), X), y), S)
    gradient, bracket = _gradient(X, y, S), _bracket(X, y, S)
    size = float(np.abs(numeric).max())
    note = "the bracket is n times the gradient: 1/‖K*‖ = 1/n went into the step"
    return [
        check(
            "(11)",
            "derivative of the alignment",
            float(np.abs(gradient - numeric).max()) / size,
            tolerance=1e-6,
        ),
        check(
            "(18)",
            "the update as a gradient",
            float(np.abs(bracket / len(y) - numeric).max()) / size,
            tolerance=1e-6,
            printed=float(np.abs(bracket - numeric).max()) / size,
            note=note,
        ),
    ]


def _diagonal(X: Array, y: Array) -> Record:
    """(21) with the column vector of (20) alone is descent, by the missing factor -2."""
    theta = np.array([0.5, 0.8, 0.6])
    gradient = _slope(lambda t: gs.kta(gs.Gram(mapped(t), X), y), theta)
    K = mapped(theta)(X)
    norm = np.linalg.norm(K)
    W = np.outer(y, y) * K / norm - (y @ K @ y) / norm**3 * K**2
    a = (X[:, None] - X) ** 2
    printed = np.einsum("ij,ijk->k", W, a) * theta / len(y)
    right = -2.0 * printed
    size = float(np.abs(gradient).max())
    note = "a_ij must contain the −2 of (20), as A_ij does; without it the update descends"
    return check(
        "(21)",
        "the update of a diagonal S",
        float(np.abs(right - gradient).max()) / size,
        tolerance=1e-6,
        printed=float(np.abs(printed - gradient).max()) / size,
        note=note,
    )


def _rank(X: Array, y: Array) -> Record:
    """Check that a start of rank one stays of rank one: updates multiply S from the left."""
    S = np.outer([1.0, 0.5, -0.3], [0.4, 0.2, 0.1])
    for _ in range(30):
        S = S + 0.2 * _gradient(X, y, S)
    values = np.linalg.svd(S, compute_uv=False)
    note = '"initialize randomly" needs full rank: the rank of S never grows, S = 0 is stationary'
    return check(
        "Section 3.1", "rank of S during the ascent", float(values[1] / values[0]), note=note
    )


def _random_starts(run: Run) -> Record:
    """Start from random matrices of full rank, as section 3.1 says: they end at one optimum."""
    X, y = ringnorm(200, run.rng(5))
    X = standardised(X)
    options: dict[str, Any] = {"structure": "full", "measure": "kta", **PLAIN}
    values = []
    for seed in range(run.choose(5, 3)):
        S = run.rng(seed).standard_normal((20, 20)) / np.sqrt(2.0 * 20.0)
        learner = gs.TransformLearner(init=0.5 * S, max_iter=500, l1=0.0, **options)
        values.append(float(learner.fit(X, y).value_))
    note = f"{len(values)} starts on generated ringnorm: " + ", ".join(f"{v:.4f}" for v in values)
    return check(
        "Section 3.1",
        "random starts of full rank end at one alignment, largest difference",
        max(values) - min(values),
        tolerance=2e-3,
        note=note,
    )


def _rotation(X: Array, y: Array, S: Array) -> Record:
    Q = np.linalg.qr(np.arange(9.0).reshape(3, 3) + np.eye(3))[0]
    gap = abs(gs.kta(mapped(S)(X), y) - gs.kta(mapped(S @ Q)(X), y))
    return check("(6)", "the alignment depends on SS' only", gap)


def _too_large(run: Run) -> Record:
    """Stop an ascent whose step is too large by the paper's rule, far from the optimum."""
    X, y = ringnorm(400, run.rng(5))
    X = standardised(X)
    options: dict[str, Any] = {"structure": "full", "measure": "kta", **PLAIN}
    best = gs.TransformLearner(**options).fit(X, y).value_
    careful = gs.TransformLearner(solver="ascent", **options).fit(X, y).value_
    S = 0.5 * np.eye(20)
    last = value = gs.kta(mapped(S)(X), y)
    for _ in range(50):
        S = S + 1e-2 * len(y) * _gradient(X, y, S)
        last, value = value, gs.kta(mapped(S)(X), y)
        if value - last < 1e-6:
            break
    note = (
        f"eta = .01 stops at {value:.3f}, the optimum is {best:.3f}: backtrack, as "
        "TransformLearner does"
    )
    return check(
        "Section 4",
        "what the stopping rule leaves when the step is too large",
        abs(float(best - careful)),
        tolerance=1e-3,
        printed=float(best - value),
        note=note,
    )


def generated(run: Run) -> Findings:
    """Run table 2 on data from Breiman's generators and the Titanic table: no files are needed.

    The paper has one draw; ours are several, and tell how much a draw varies.
    """
    records = []
    for name, generator, printed in (
        ("ringnorm", ringnorm, {"without": (0.0629, 18.20), "with": (0.3704, 5.89)}),
        ("waveform", waveform, {"without": (0.0519, 32.80), "with": (0.3937, 15.52)}),
    ):
        rows: dict[str, list[tuple[float, float]]] = {"without": [], "with": [], "diagonal": []}
        for seed in range(run.choose(10, 4)):
            X, y = generator(2400, run.rng(7 + seed))
            X = standardised(X)
            options: dict[str, Any] = {"measure": "kta", **PLAIN}
            full = gs.TransformLearner(structure="full", **options).fit(X[:400], y[:400])
            diagonal = gs.TransformLearner(**options).fit(X[:400], y[:400])
            kernels = (gs.Gaussian(1.0), full.kernel_, diagonal.kernel_)
            for values, kernel in zip(rows.values(), kernels, strict=True):
                values.append(_machine(kernel, X, y, 400))
        for label, pairs in rows.items():
            for j, column in enumerate(("alignment", "error")):
                draws = [pair[j] for pair in pairs]
                sd = float(np.std(draws, ddof=1))
                records.append(
                    compare(
                        "Table 2, generated",
                        f"{name}, {label}, {column}",
                        printed[label][j] if label in printed else None,
                        float(np.mean(draws)),
                        tolerance=two_errors(draws, sd, 1),
                        digits=2 if j else 4,
                        note=f"mean of {len(draws)} draws, deviation {sd:.2g}; the paper has one",
                        why="More than two standard errors of the difference away",
                    )
                )
    X, y = titanic()
    order = run.rng(7).permutation(len(y))
    without, error = _machine(gs.Gaussian(1.0), standardised(X)[order], y[order], 150)
    note = "150 random rows; on the published split sigma = 10 gives .1918"
    records.append(
        compare("Table 2, generated", "titanic, without, alignment", None, without, note=note)
    )
    records.append(compare("Table 2, generated", "titanic, without, error", None, error, digits=2))
    return Findings(records)


def _machine(kernel: Kernel, X: Array, y: Array, n: int) -> tuple[float, float]:
    """Return the alignment of the first n rows and the test error in percent on the others."""
    machine = gs.L2SVC(kernel, C=C, radius=False).fit(X[:n], y[:n])
    return gs.kta(gs.Gram(kernel, X[:n]), y[:n]), 100.0 * error_rate(machine, X[n:], y[n:])
