"""Kernel selection against a grid search: test error, rank and time, on the same splits in one run.

    GRAMSMITH_DATA=/path/to/data python -m benchmarks.selection [--realisations 5] [--large 2]

Classification: the 13 sets of the IDA collection, and samples of 3 000 rows of covtype (class 2
against the rest) and higgs; `KernelSelector` against the grid search over a pipeline of
`StandardScaler` and `SVC`, 6 x 6 values of C and gamma, 5 folds and 2 jobs. Regression: energy,
auto-mpg and california against the same grid of `SVR`, whose target is standardised for it.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from scipy.stats import rankdata
from sklearn.compose import TransformedTargetRegressor
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

import gramsmith as gs

IDA = (
    *("banana", "breast-cancer", "diabetes", "flare-solar", "german", "heart", "image"),
    *("ringnorm", "splice", "thyroid", "titanic", "twonorm", "waveform"),
)
GRID_C = np.logspace(-2, 3, 6)
GRID_GAMMA = np.logspace(-4, 1, 6)


def ida(folder, name, i):
    """Return realisation i of a set of the IDA collection."""
    file = folder / name / f"{name}.npz"
    if not file.exists():
        file = folder / "more" / f"ida-{name}" / f"ida-{name}.npz"
    with np.load(file) as z:
        X, y, train, test = z["X"].astype(float), z["y"].astype(int), z["train"][i], z["test"][i]
    return X[train], y[train], X[test], y[test]


def split(X, y, rows, i):
    """Return a random split with so many training rows."""
    order = np.random.default_rng(i).permutation(len(y))
    return X[order[:rows]], y[order[:rows]], X[order[rows:]], y[order[rows:]]


def large(folder, name, i, rows=3000):
    """Return a sample of a larger set."""
    with np.load(next((folder / "more").rglob(f"{name}*.npz"))) as z:
        X, y = z["X"].astype(float), z["y"]
    y = np.where(y == 2, 1, -1) if name.startswith("covtype") else y.astype(int)
    return split(X, y, rows, i)


def values(folder, name, i):
    """Return a regression set: 600 of energy, 300 of auto-mpg, 3 000 of california to train."""
    if name == "auto-mpg":
        table = np.genfromtxt(
            folder / "auto-mpg" / "auto-mpg.csv.gz", delimiter=",", skip_header=1, usecols=range(7)
        )
        X, y, rows = table[:, 1:], table[:, 0], 300
    else:
        with np.load(next((folder / "more").rglob(f"{name}*.npz"))) as z:
            X, y = z["X"].astype(float), z["y"].astype(float)
        rows = 600 if name == "energy" else 3000
    known = np.isfinite(X).all(axis=1) & np.isfinite(y)
    return split(X[known], y[known], rows, i)


def grid(task):
    """Return the grid search."""
    if task == "classification":
        machine, prefix = make_pipeline(StandardScaler(), SVC()), "svc__"
    else:
        inner = make_pipeline(StandardScaler(), SVR())
        machine = TransformedTargetRegressor(inner, transformer=StandardScaler())
        prefix = "regressor__svr__"
    over = {f"{prefix}C": GRID_C, f"{prefix}gamma": GRID_GAMMA}
    return GridSearchCV(machine, over, cv=5, n_jobs=2)


def error(task, machine, X, y):
    """Return the test error in percent: wrong answers, or root mean square over deviation."""
    found = machine.predict(X)
    if task == "classification":
        return 100.0 * float(np.mean(found != y))
    return 100.0 * float(np.sqrt(np.mean((found - y) ** 2)) / y.std())


def compare(task, data):
    """Fit both on one split; return the errors and the seconds of (selector, grid)."""
    X, y, X_test, y_test = data
    errors, seconds = [], []
    for machine in (gs.KernelSelector(task=task, n_jobs=2), grid(task)):
        start = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            machine.fit(X, y)
        seconds.append(time.perf_counter() - start)
        errors.append(error(task, machine, X_test, y_test))
    return errors, seconds


def run(task, sets, folder):
    """Compare on several sets, print a line each, and return (errors, seconds), shape (m, 2)."""
    all_errors, all_seconds = [], []
    print(f"\n{task:<16} {'n':>5}  {'selector':>8} {'grid':>8}   {'seconds':>8} {'grid':>8}  ratio")
    for name, load, numbers in sets:
        results = [compare(task, load(folder, name, i)) for i in numbers]
        errors = np.array([r[0] for r in results])
        seconds = np.array([r[1] for r in results])
        n = len(load(folder, name, numbers[0])[1])
        e, s = errors.mean(axis=0), seconds.mean(axis=0)
        shown = f"{e[0]:8.2f} {e[1]:8.2f}   {s[0]:8.2f} {s[1]:8.2f}  {s[0] / s[1]:5.3f}"
        print(f"{name:<16} {n:>5}  {shown}", flush=True)
        all_errors.append(errors)
        all_seconds.append(seconds)
    return np.vstack(all_errors), np.vstack(all_seconds)


def summary(title, errors, seconds):
    ranks = np.apply_along_axis(rankdata, 1, np.round(errors, 9)).mean(axis=0)
    mean, total = errors.mean(axis=0), seconds.sum(axis=0)
    print(
        f"{title}: mean error {mean[0]:.2f} against {mean[1]:.2f} "
        f"(difference {mean[0] - mean[1]:+.2f}), "
        f"mean rank {ranks[0]:.2f} against {ranks[1]:.2f}, "
        f"time {total[0]:.1f} s against {total[1]:.1f} s (ratio {total[0] / total[1]:.3f})"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default=os.environ.get("GRAMSMITH_DATA", ""))
    parser.add_argument("--realisations", type=int, default=5)
    parser.add_argument("--large", type=int, default=2, help="samples of each large set")
    parser.add_argument("--splits", type=int, default=3, help="splits of each regression set")
    options = parser.parse_args()
    folder = Path(options.data)
    if not options.data or not folder.is_dir():
        print(
            f"Expected the folder of data sets, got {options.data!r}: set GRAMSMITH_DATA or --data."
        )
        return 2
    gs.KernelSelector().fit(np.arange(20.0)[:, None], [0, 1] * 10)  # imports are not what is timed
    small = [(name, ida, range(options.realisations)) for name in IDA]
    big = [(name, large, range(options.large)) for name in ("covtype10k", "higgs7500")]
    first = run("classification", small, folder)
    second = run("classification", big, folder)
    both = tuple(np.vstack(pair) for pair in zip(first, second, strict=True))
    third = run(
        "regression",
        [(name, values, range(options.splits)) for name in ("energy", "auto-mpg", "california")],
        folder,
    )
    print()
    summary("classification", *both)
    summary("  at 3 000 rows", *second)
    summary("regression", *third)
    return 0


if __name__ == "__main__":
    sys.exit(main())
