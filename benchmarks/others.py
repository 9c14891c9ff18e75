"""Kernel selection against a grid search on sets that played no part when its rules were settled.

    GRAMSMITH_DATA=/path/to/data python -m benchmarks.others [--splits 4]

The comparison is that of `benchmarks.selection`. Sets that come with scikit-learn or are generated
need no data folder; those of the folder are left out, with a word, where there is none.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

import numpy as np
from sklearn import datasets

from benchmarks.selection import run, split, summary


def of_folder(name):
    """Return a loader of a set of the data folder, a svmlight file or an archive."""

    def load(folder):
        found = sorted((folder / name).glob("*.npz")) or sorted((folder / name).glob("*.svm.gz"))
        if found[0].suffix == ".npz":
            with np.load(found[0]) as z:
                return z["X"].astype(float), z["y"]
        X, y = datasets.load_svmlight_file(str(found[0]))
        return X.toarray(), y

    return load


def of_scikit_learn(read):
    return lambda folder: read(return_X_y=True)


def generated(make, *sizes, **options):
    return lambda folder: make(*sizes, **options)


def checkerboard(seed=3):
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 4, (3000, 2))
    y = np.floor(X).sum(axis=1) % 2
    return X, np.where(rng.random(3000) < 0.05, 1 - y, y)


def product(seed=4):
    X = np.random.default_rng(seed).normal(size=(3000, 12))
    return X, (X[:, 0] * X[:, 1] + 0.5 * X[:, 2] > 0).astype(int)


def sine(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3, 3, (2000, 1))
    return X, np.sin(3 * X[:, 0]) + 0.2 * rng.normal(size=2000)


many = {"n_informative": 5, "n_redundant": 15, "n_clusters_per_class": 4, "random_state": 5}
few = {"n_informative": 5, "n_redundant": 5, "weights": [0.85], "flip_y": 0.05, "random_state": 1}
wide = {"n_informative": 30, "n_redundant": 0, "class_sep": 0.8, "random_state": 2}

CLASSES = {
    "australian": (of_folder("australian"), 400),
    "fourclass": (of_folder("fourclass"), 300),
    "ionosphere": (of_folder("ionosphere"), 200),
    "vehicle": (of_folder("vehicle"), 500),
    "a1a": (of_folder("more/adult-a1a"), 800),
    "usps": (of_folder("usps"), 600),
    "mushrooms": (of_folder("mushrooms"), 300),
    "covtype, 7 classes": (of_folder("more/covtype10k"), 1500),
    "wdbc": (of_scikit_learn(datasets.load_breast_cancer), 300),
    "wine": (of_scikit_learn(datasets.load_wine), 100),
    "digits": (of_scikit_learn(datasets.load_digits), 600),
    "iris": (of_scikit_learn(datasets.load_iris), 90),
    "moons": (generated(datasets.make_moons, 3000, noise=0.3, random_state=0), 200),
    "checkerboard": (generated(checkerboard), 500),
    "product": (generated(product), 500),
    "uneven": (generated(datasets.make_classification, 4000, 20, **few), 600),
    "50 features": (generated(datasets.make_classification, 3000, 50, **wide), 400),
    "100 features": (generated(datasets.make_classification, 2600, 100, **many), 1000),
}
VALUES = {
    "diabetes": (of_scikit_learn(datasets.load_diabetes), 300),
    "friedman 1": (generated(datasets.make_friedman1, 2000, noise=1.0, random_state=0), 300),
    "friedman 2": (generated(datasets.make_friedman2, 2000, noise=100.0, random_state=0), 300),
    "friedman 3": (generated(datasets.make_friedman3, 2000, noise=0.1, random_state=0), 300),
    "linear": (
        generated(datasets.make_regression, 1500, 30, n_informative=10, noise=30.0, random_state=0),
        200,
    ),
    "sine": (generated(sine), 150),
}


def entries(sets, folder, splits):
    """Return the sets as `benchmarks.selection.run` takes them, without those that are not here."""
    found = []
    for name, (load, rows) in sets.items():
        try:
            X, y = load(folder)
        except (OSError, IndexError):
            print(f"{name}: not in the data folder, left out")
            continue
        pieces = [split(X, y, rows, i) for i in range(splits)]
        found.append((name, lambda folder, name, i, pieces=pieces: pieces[i], range(splits)))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default=os.environ.get("GRAMSMITH_DATA", ""))
    parser.add_argument("--splits", type=int, default=4)
    options = parser.parse_args()
    folder = Path(options.data)
    tables = {"classification": CLASSES, "regression": VALUES}
    done = {
        task: run(task, entries(sets, folder, options.splits), folder)
        for task, sets in tables.items()
    }
    print()
    for task, result in done.items():
        summary(task, *result)
    return 0


if __name__ == "__main__":
    sys.exit(main())
