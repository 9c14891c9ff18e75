"""Lecture notes on kernels: perceptron, ridge, losses, import and relevance vector machines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.integrate import quad
from scipy.optimize import minimize
from scipy.special import factorial
from scipy.stats import t as student
from sklearn.datasets import make_moons
from sklearn.linear_model import Ridge

import gramsmith as gs
from papers.experiment import Findings, Run, error_rate
from papers.figure import Curve, Figure, Panel
from papers.record import Record, check, compare

Array = npt.NDArray[Any]


def machines(run: Run) -> Findings:
    """Run the four machines of the notes on small data."""
    rng = run.rng(10)
    found = Findings([_perceptron(), _ridge(rng), _penalty(rng), *_representer(run.rng(11))])
    found.records += _import_vectors()
    records, figure = _relevance_vectors(rng)
    found.records += [*records, *_relevance_classifier(run), _student()]
    found.figures.append(figure)
    return found


def _perceptron() -> Record:
    """Run the printed rule, which has y_i for y_j in the sum and so ignores the other labels."""
    X, y = make_moons(80, noise=0.05, random_state=0)
    y = 2 * y - 1
    K = gs.Gaussian(0.5)(X)
    machine = gs.KernelPerceptron(gs.Gaussian(0.5), max_iter=200).fit(X, y)
    right = error_rate(machine, X, y)
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
    dual = gs.KernelRidgeRegressor(gs.Linear(), alpha=lam, fit_intercept=False).fit(X, y).predict(Z)
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
    K = gs.Gaussian(1.0)(X)
    machine = gs.KernelSVC("precomputed", C=C, tol=1e-8).fit(K, y)
    a = expansion(machine, 40)

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


def expansion(machine: Any, n: int) -> Array:
    """Return the coefficient of every training sample of a fitted machine."""
    a = np.zeros(n)
    a[machine.support_] = np.ravel(machine.coefficients_)
    return a


LOSSES: dict[str, Callable[[Array, Array], Array]] = {
    "squared": lambda y, f: (y - f) ** 2,
    "logistic": lambda y, f: np.logaddexp(0.0, -y * f),
    "squared hinge": lambda y, f: np.maximum(1.0 - y * f, 0.0) ** 2,
    "hinge": lambda y, f: np.maximum(1.0 - y * f, 0.0),
}


def _representer(rng: np.random.Generator) -> list[Record]:
    """Minimise every criterion over the whole feature space and over expansions: one minimum.

    The features of (x·z + 1)² in the plane can be written down, six of them, so that both problems
    are finite; the expansions are those of the library's machines.
    """
    X = rng.standard_normal((30, 2))
    y = np.where(X[:, 0] * X[:, 1] + 0.5 * rng.standard_normal(30) > 0, 1.0, -1.0)
    kernel, lam = gs.Polynomial(degree=2, gamma=1.0, coef0=1.0), 0.3
    a, b = X.T
    root = np.sqrt(2.0)
    F = np.column_stack([a * a, b * b, root * a * b, root * a, root * b, np.ones(30)])
    K = kernel(X)
    made = {
        "squared": gs.KernelRidgeRegressor(kernel, alpha=lam),
        "logistic": gs.KernelLogisticRegression(kernel, alpha=2.0 * lam),
        "squared hinge": gs.L2SVC(kernel, C=1.0 / lam),
        "hinge": gs.KernelSVC(kernel, C=1.0 / (2.0 * lam), tol=1e-8),
    }
    records = []
    for name, machine in made.items():
        machine.fit(X, y)
        values = machine.predict(X) if name == "squared" else machine.decision_function(X)
        c = expansion(machine, 30)
        ours = float(LOSSES[name](y, values).sum() + lam * c @ K @ c)
        free = _primal(name, F, y, lam)
        note = f"Σ L + λ‖h‖² = {ours:.4f} by {type(machine).__name__}, {free:.4f} over all features"
        records.append(
            check(
                "Section 4.1",
                f"representer theorem, {name} loss: minimum over features and expansions",
                abs(ours - free) / free,
                tolerance=1e-5,
                note=note,
            )
        )
    return records


def _primal(name: str, F: Array, y: Array, lam: float) -> float:
    """Return the minimum of Σ L(y, Fw + w₀) + λ|w|² over all w and w₀."""
    p = F.shape[1]
    if name != "hinge":

        def criterion(v: Array) -> float:
            return float(LOSSES[name](y, F @ v[:p] + v[p]).sum() + lam * v[:p] @ v[:p])

        return float(minimize(criterion, np.zeros(p + 1), method="BFGS", tol=1e-9).fun)
    # a corner: slacks make it a quadratic programme
    slack = np.eye(len(y))
    A = np.hstack([y[:, None] * F, y[:, None], slack])
    start = np.concatenate([np.zeros(p + 1), np.ones(len(y))])
    solution = minimize(
        lambda v: float(v[p + 1 :].sum() + lam * v[:p] @ v[:p]),
        start,
        jac=lambda v: np.concatenate([2.0 * lam * v[:p], [0.0], np.ones(len(y))]),
        constraints=[{"type": "ineq", "fun": lambda v: A @ v - 1.0, "jac": lambda v: A}],
        bounds=[(None, None)] * (p + 1) + [(0.0, None)] * len(y),
        method="SLSQP",
        options={"ftol": 1e-12, "maxiter": 1000},
    )
    return float(solution.fun)


def _import_vectors() -> list[Record]:
    X, y = make_moons(120, noise=0.25, random_state=1)
    kernel = gs.Gaussian(0.6)
    machine = gs.ImportVectorClassifier(kernel, alpha=0.5).fit(X, y)
    full = gs.KernelLogisticRegression(kernel, alpha=0.5).fit(X, y)
    count = len(machine.import_indices_)
    gap = float(np.abs(machine.predict_proba(X) - full.predict_proba(X)).max())
    svc = len(gs.KernelSVC(kernel, C=2.0).fit(X, y).support_)
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
    machine = gs.RelevanceVectorRegressor(gs.Gaussian(2.0)).fit(x[:, None], y)
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


def _relevance_classifier(run: Run) -> list[Record]:
    """Compare relevance and support vectors on two moons: fewer, and about as good."""
    X, y = make_moons(150, noise=0.25, random_state=2)
    X_test, y_test = make_moons(1000, noise=0.25, random_state=3)
    kernel = gs.Gaussian(0.6)
    relevance = gs.RelevanceVectorClassifier(kernel).fit(X, y)
    support = gs.KernelSVC(kernel, C=2.0).fit(X, y)
    count, many = len(relevance.relevance_indices_), len(support.support_)
    error, other = (error_rate(m, X_test, y_test) for m in (relevance, support))
    note = f"of 150; an SVM with C = 2 has {many} support vectors"
    return [
        compare("Section 5.2", "relevance vectors, two moons", None, count, digits=0, note=note),
        compare(
            "Section 5.2",
            "error of the relevance vector classifier, two moons",
            None,
            error,
            note=f"the SVM errs in {other:.3f}",
        ),
        check(
            "Section 5.2",
            '"tends to be sparser than SVM": relevance vectors beyond the support vectors',
            float(max(count - many, 0)),
        ),
    ]


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
