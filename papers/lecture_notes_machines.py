"""Lecture notes on kernels: perceptron, ridge, losses, import and relevance vector machines."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.integrate import quad
from scipy.special import factorial
from scipy.stats import t as student
from sklearn.datasets import make_moons
from sklearn.linear_model import Ridge
from sklearn.svm import SVC

from gramsmith.kernels import Gaussian, Linear
from gramsmith.machines import (
    ImportVectorClassifier,
    KernelLogisticRegression,
    KernelPerceptron,
    KernelRidgeRegressor,
    RelevanceVectorRegressor,
)
from papers.experiment import Findings, Run
from papers.figure import Curve, Figure, Panel
from papers.record import Record, check, compare

Array = npt.NDArray[Any]


def machines(run: Run) -> Findings:
    """Run the four machines of the notes on small data."""
    rng = run.rng(10)
    found = Findings([_perceptron(), _ridge(rng), _penalty(rng)])
    found.records += _import_vectors()
    records, figure = _relevance_vectors(rng)
    found.records += [*records, _student()]
    found.figures.append(figure)
    return found


def _perceptron() -> Record:
    """Run the printed rule, which has y_i for y_j in the sum and so ignores the other labels."""
    X, y = make_moons(80, noise=0.05, random_state=0)
    y = 2 * y - 1
    K = Gaussian(0.5)(X)
    machine = KernelPerceptron(Gaussian(0.5), max_iter=200).fit(X, y)
    right = float(np.mean(machine.predict(X) != y))
    alpha = np.zeros(len(y))
    for _ in range(200):
        wrong = 0
        for i in range(len(y)):
            if y[i] * np.sum(alpha * y[i] * K[i]) <= 0:
                alpha[i] += 1
                wrong += 1
        if not wrong:
            break
    printed = float(np.mean(np.where(K @ (alpha * y) > 0, 1, -1) != y))
    note = (
        f"y_j inside the sum, not y_i; training error {100 * right:.0f} % after "
        f"{machine.n_iter_} passes, "
    )
    note += f"as printed {100 * printed:.0f} %"
    return check(
        "Section 3.1", "dual perceptron, training error", right, printed=printed, note=note
    )


def _ridge(rng: np.random.Generator) -> Record:
    """Compare the predictions of the dual and of the primal solution."""
    X, y, lam = rng.standard_normal((20, 4)), rng.standard_normal(20), 0.7
    Z = rng.standard_normal((5, 4))
    primal = Ridge(alpha=lam, fit_intercept=False).fit(X, y).predict(Z)
    dual = KernelRidgeRegressor(Linear(), alpha=lam, fit_intercept=False).fit(X, y).predict(Z)
    note = "(K + λI)α = Y and w'x = k(x)'α; the printed α(K + λI) and w'X have the sides exchanged"
    return check(
        "Section 3.2",
        "dual ridge regression = primal",
        float(np.abs(primal - dual).max()),
        note=note,
    )


def _penalty(rng: np.random.Generator) -> Record:
    """Check that an SVM minimises section 4's criterion with lambda = 1/(2C) and a free bias."""
    X = rng.standard_normal((40, 2))
    y = np.where(X[:, 0] + 0.6 * rng.standard_normal(40) > 0, 1.0, -1.0)
    C = 2.0
    K = Gaussian(1.0)(X)
    machine = SVC(kernel="precomputed", C=C, tol=1e-8).fit(K, y)
    a = np.zeros(40)
    a[machine.support_] = machine.dual_coef_[0]

    def criterion(a: Array, b: float) -> float:
        hinge = np.maximum(1.0 - y * (K @ a + b), 0.0).sum()
        return float(hinge + a @ K @ a / (2.0 * C))

    best = criterion(a, float(machine.intercept_[0]))
    moves = (1e-3 * rng.standard_normal((200, 41))).astype(float)
    lower = max(best - criterion(a + m[:40], float(machine.intercept_[0]) + m[40]) for m in moves)
    note = "λ = 1/(2C); add w₀ to the printed criterion: L(Y, w₀ + Kα)"
    return check(
        "Section 4.1",
        "the SVM minimises hinge loss + λ α'Kα",
        max(lower, 0.0),
        tolerance=1e-7,
        note=note,
    )


def _import_vectors() -> list[Record]:
    X, y = make_moons(120, noise=0.25, random_state=1)
    kernel = Gaussian(0.6)
    machine = ImportVectorClassifier(kernel, alpha=0.5).fit(X, y)
    full = KernelLogisticRegression(kernel, alpha=0.5).fit(X, y)
    count = len(machine.import_indices_)
    gap = float(np.abs(machine.predict_proba(X) - full.predict_proba(X)).max())
    svc = int(SVC(kernel="precomputed", C=2.0).fit(kernel(X), y).n_support_.sum())
    note = f"of 120; an SVM of the same penalty needs {svc} support vectors"
    return [
        compare("Section 5.1", "import points", None, count, digits=0, note=note),
        check(
            "Section 5.1",
            "import machine beside the full one, largest difference in probability",
            gap,
            tolerance=0.1,
        ),
    ]


def _relevance_vectors(rng: np.random.Generator) -> tuple[list[Record], Figure]:
    x = np.linspace(-10, 10, 50)
    truth = np.sinc(x / np.pi)
    y = truth + 0.1 * rng.standard_normal(50)
    machine = RelevanceVectorRegressor(Gaussian(2.0)).fit(x[:, None], y)
    grid = np.linspace(-10, 10, 300)
    mean, deviation = machine.predict(grid[:, None], return_std=True)
    chosen = np.asarray(machine.relevance_indices_)
    residual = float(np.sqrt(np.mean((machine.predict(x[:, None]) - truth) ** 2)))
    records = [
        compare("Section 5.2", "relevance vectors, sinc, 50 points", None, len(chosen), digits=0),
        compare("Section 5.2", "error against the noise-free curve, noise 0.1", None, residual),
        compare("Section 5.2", "noise found, noise 0.1", None, np.sqrt(machine.noise_variance_)),
    ]
    panel = Panel(
        "relevance vector regression of sin(x)/x",
        "x",
        "y",
        [
            Curve("data", x, y, "points"),
            Curve("mean", grid, mean),
            Curve("± 2 deviations", grid, mean + 2 * deviation, "dashed"),
            Curve("", grid, mean - 2 * deviation, "dashed"),
            Curve("relevance vectors", x[chosen], y[chosen], "points"),
        ],
    )
    caption = (
        "A handful of kernels carries the curve; no parameter C was chosen, but the width was."
    )
    name = "lecture-notes-relevance-vectors"
    return records, Figure(name, "Relevance vectors", caption, [panel], columns=1)


def _student() -> Record:
    """Integrate a Gamma(a, b) prior on the precision: Student's t with 2a degrees."""
    a, b, w = 1.5, 0.8, 0.9

    def joint(alpha: float) -> float:
        normal = np.sqrt(alpha / (2 * np.pi)) * np.exp(-alpha * w**2 / 2)
        gamma = b**a * alpha ** (a - 1) * np.exp(-b * alpha) / factorial(a - 1)
        return float(normal * gamma)

    marginal = quad(joint, 0, np.inf)[0]
    scale = np.sqrt(b / a)
    gap = abs(marginal - student.pdf(w, 2 * a, scale=scale))
    note = (
        "log|w| is the limit a, b → 0; not convex, so sparser than the Lasso and with "
        "several optima"
    )
    return check("Section 5.2", "marginal of a weight is Student's t", gap, note=note)


def losses(run: Run) -> Findings:
    """Draw the loss functions of the notes' figure, and check the scaling of the logistic one."""
    m = np.linspace(-2.0, 2.5, 181)
    curves = [
        Curve("0-1", m, (m <= 0).astype(float)),
        Curve("hinge", m, np.maximum(1.0 - m, 0.0)),
        Curve("squared hinge", m, np.maximum(1.0 - m, 0.0) ** 2),
        Curve("squared", m, (1.0 - m) ** 2),
        Curve("logistic / log 2", m, np.logaddexp(0.0, -m) / np.log(2.0)),
    ]
    panel = Panel("losses by margin", "y h(x)", "loss", curves, ylim=(0.0, 4.0))
    at_zero = float(np.logaddexp(0.0, 0.0))
    note = "the curve of the figure passes through (0, 1): log(1 + exp(−yh)) divided by log 2"
    record = check(
        "Section 4.2",
        "logistic loss at the boundary",
        abs(at_zero / np.log(2.0) - 1.0),
        printed=abs(at_zero - 1.0),
        note=note,
    )
    caption = "All four are bounds of the 0-1 loss; only the squared one punishes being too right."
    figure = Figure("lecture-notes-losses", "Loss functions", caption, [panel], columns=1)
    return Findings([record], [figure])
