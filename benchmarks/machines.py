"""The machines against scikit-learn's, timed in the same run, and what they are worth.

The banana data are used if the data folder is there. Other packages: `benchmarks.peers`.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import make_moons
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

import gramsmith as gs
from benchmarks.measuring import Row, at_least, at_most, show


def timed(fit: Callable[[], Any], repeats: int) -> tuple[float, Any]:
    """Return the shortest run time and the fitted machine."""
    shortest, machine = float("inf"), None
    for _ in range(repeats):
        start = time.perf_counter()
        machine = fit()
        shortest = min(shortest, time.perf_counter() - start)
    return shortest, machine


def error(machine: Any, X: np.ndarray, y: np.ndarray) -> float:
    """Return the test error in per cent."""
    return 100.0 * (1.0 - float(machine.score(X, y)))


def ridge() -> list[Row]:
    """Choose among 30 regularisers at n = 2 000, with 20 features and the default width."""
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(2000, 20)), rng.normal(size=(2000, 20))

    def truth(X: np.ndarray) -> np.ndarray:
        return np.asarray(X.sum(axis=1) + 0.5 * X[:, 0] * X[:, 1])

    y = truth(X) + rng.normal(size=2000)
    alphas = np.logspace(-4, 2, 30)
    search = GridSearchCV(KernelRidge(kernel="rbf"), {"alpha": alphas}, cv=5)
    ours, machine = timed(lambda: gs.KernelRidgeRegressor("rbf", alphas=alphas).fit(X, y), 5)
    theirs, search = timed(lambda: search.fit(X, y), 2)
    errors = [float(np.mean((m.predict(new) - truth(new)) ** 2)) for m in (machine, search)]
    return [
        Row("leave-one-out, seconds", f"{ours:.2f} s", "", None),
        Row("GridSearchCV(KernelRidge), 5 folds, seconds", f"{theirs:.2f} s", "", None),
        at_least("how many times faster", theirs / ours, 20),
        at_most("test error v theirs", errors[0] / errors[1], 1.05),
    ]


def import_vectors() -> list[Row]:
    """Fit the import vector machine at n = 2 000."""
    X, y = make_moons(2000, noise=0.25, random_state=0)
    test = make_moons(4000, noise=0.25, random_state=1)
    kernel = gs.Gaussian(0.7)
    seconds, few = timed(lambda: gs.ImportVectorClassifier(kernel, alpha=0.1).fit(X, y), 2)
    full = gs.KernelLogisticRegression(kernel, alpha=0.1).fit(X, y)
    return [
        at_most("time", seconds, 10, " s"),
        at_most("share of the samples kept", 100 * len(few.import_indices_) / 2000, 10, " %"),
        at_most("error above full logistic", error(few, *test) - error(full, *test), 0.5, " %"),
    ]


def sparse_regression() -> list[Row]:
    """Fit sinc with noise 0.1, n = 100, ten seeds."""
    counts, noise = [], []
    x = np.linspace(-10, 10, 100)[:, None]
    for seed in range(10):
        y = np.sinc(x / np.pi).ravel() + 0.1 * np.random.default_rng(seed).normal(size=100)
        machine = gs.RelevanceVectorRegressor(gs.Gaussian(2.5)).fit(x, y)
        counts.append(len(machine.relevance_indices_))
        noise.append(float(np.sqrt(machine.noise_variance_)))
    off = max(abs(value / 0.1 - 1.0) for value in noise)
    return [
        at_most("relevance vectors, at most", max(counts), 11, ""),
        at_most("noise estimate off by, at most", 100 * off, 20, " %"),
    ]


def banana() -> list[Row]:
    """Compare with a tuned SVC on five splits of the banana data."""
    path = Path(os.environ.get("GRAMSMITH_DATA", ".")) / "more" / "ida-banana" / "ida-banana.npz"
    if not path.is_file():
        return [Row("needs the data folder: set GRAMSMITH_DATA", "-", "", None)]
    z = np.load(path)
    grid = {"C": [0.1, 1, 10, 100], "gamma": [0.25, 0.5, 1, 2, 4]}
    errors, sizes = [], []
    for train, test in zip(z["train"][:5], z["test"][:5], strict=True):
        X, y, new = z["X"][train], z["y"][train], (z["X"][test], z["y"][test])
        svc = GridSearchCV(SVC(), grid, cv=5).fit(X, y)
        few = gs.ImportVectorClassifier(gs.Gaussian(1.0), alpha=0.01).fit(X, y)
        rvm = gs.RelevanceVectorClassifier(gs.Gaussian(0.5)).fit(X, y)
        errors.append([error(m, *new) for m in (svc, few, rvm)])
        sizes.append([len(few.import_indices_), len(rvm.relevance_indices_)])
    mean, most = np.mean(errors, axis=0), np.max(sizes, axis=0)
    return [
        Row("tuned SVC, error", f"{mean[0]:.2f} %", "", None),
        at_most("import vectors, error above it", mean[1] - mean[0], 1.0, " %"),
        at_most("import vectors, at most", most[0], 25, ""),
        at_most("relevance vectors, error above it", mean[2] - mean[0], 1.0, " %"),
        at_most("relevance vectors, at most", most[1], 25, ""),
    ]


def main() -> None:
    """Print all tables."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # grids reach settings that do not converge
        show("Kernel ridge, 30 regularisers, n = 2 000", ridge())
        show("Import vector machine, moons, n = 2 000", import_vectors())
        show("Relevance vector regression, sinc, n = 100", sparse_regression())
        show("Banana, five splits", banana())


if __name__ == "__main__":
    main()
