"""Rank string kernels on splice sites, and test the best on sites it has not seen.

GRAMSMITH_DATA=folder python -m benchmarks.dna_sites [celegans | splice | made]

The folder holds C. elegans acceptor sites and the splice set of the IDA collection; without it,
sites with a motif are made up.
"""

import csv
import gzip
import os
import sys
from pathlib import Path

import numpy as np
from sklearn.metrics import average_precision_score
from sklearn.model_selection import train_test_split

import gramsmith as gs

KERNELS = {
    "spectrum 3": gs.Spectrum(3),
    "spectrum 3 to 6": gs.Spectrum((3, 6)),
    "mismatch 5, 1": gs.Mismatch(5, 1, alphabet="ACGT"),
    "subsequence 3": gs.Subsequence(3, decay=0.5),
    "substrings": gs.AllSubstrings(decay=0.5),
    "weighted degree 5": gs.WeightedDegree(5),
    "weighted degree 10": gs.WeightedDegree(10),
    "weighted degree 20": gs.WeightedDegree(20),
    "weighted degree 10, shift 2": gs.WeightedDegree(10, shift=2),
}


def made(n=600, length=40):
    """Return DNA in which the positives have a motif near the middle."""
    rng = np.random.default_rng(0)
    letters = rng.choice(list("ACGT"), (n, length))
    y = rng.random(n) < 0.4
    for row in np.flatnonzero(y):
        at = length // 2 + rng.integers(-1, 2)
        letters[row, at : at + 6] = np.where(rng.random(6) < 0.85, list("TTTCAG"), letters[row, :6])
    return split(np.array(["".join(row) for row in letters]), y)


def celegans(folder):
    """Return the acceptor sites of C. elegans: 200 true ones among 2200."""
    path = folder / "more/celegans-acceptor/celegans-acceptor.csv.gz"
    with gzip.open(path, "rt") as file:
        rows = list(csv.DictReader(file))
    X = np.array([row["sequence"] for row in rows])
    return split(X, np.array([int(row["label"]) for row in rows]) > 0)


def splice(folder):
    """Return the first split of the IDA splice set, its codes 1 to 4 as letters."""
    data = np.load(folder / "more/ida-splice/ida-splice.npz")
    X = np.array(["".join(row) for row in np.array(list("ACGT"))[data["X"].astype(int) - 1]])
    train, test = data["train"][0], data["test"][0]
    return X[train], X[test], data["y"][train] > 0, data["y"][test] > 0


def split(X, y):
    return train_test_split(X, y, train_size=0.5, random_state=0, stratify=y)


def main():
    folder = os.environ.get("GRAMSMITH_DATA")
    name = sys.argv[1] if len(sys.argv) > 1 else "celegans" if folder else "made"
    sources = {"celegans": celegans, "splice": splice}
    if name != "made" and not folder:
        raise SystemExit(f"{name} needs the folder of data sets: set GRAMSMITH_DATA")
    X, X_test, y, y_test = sources[name](Path(folder)) if name in sources else made()
    kernels = {title: gs.Normalized(kernel) for title, kernel in KERNELS.items()}
    print(f"{name}: {len(X)} sites to learn from, {y.mean():.0%} positive; {len(X_test)} to test")
    ranking = gs.rank_kernels(X, y, kernels)
    print(ranking)
    model = ranking.best_estimator
    error = np.mean(model.predict(X_test) != y_test)
    print(f"test error of the best, {ranking.records[0]['kernel']}: {error:.2%}")
    precision = average_precision_score(y_test, model.decision_function(X_test))
    print(f"average precision: {precision:.3f}; no site is positive: error {y_test.mean():.2%}")


if __name__ == "__main__":
    main()
