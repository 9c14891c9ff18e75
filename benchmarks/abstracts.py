"""Tell two topics of medical abstracts apart by the words they share, in order and with gaps.

GRAMSMITH_DATA=folder python -m benchmarks.abstracts

The folder holds the MED collection: abstracts, and which of them answer which query.
"""

import gzip
import os
import re
from pathlib import Path

import numpy as np
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS
from sklearn.model_selection import RepeatedStratifiedKFold, cross_val_score
from sklearn.svm import SVC

import gramsmith as gs

TOPICS = (20, 28)  # growth hormone and bone; palliative care of cancer


def load(folder):
    """Return the abstracts of both topics as lists of words, and their topics."""
    with gzip.open(folder / "med" / "docs.txt.gz", "rt") as file:
        documents = file.read().splitlines()
    relevant = np.load(folder / "med" / "rel.npz")["rel"]
    X, y = [], []
    for topic in TOPICS:
        for i in np.flatnonzero(relevant[:, topic - 1]):
            words = re.findall("[a-z]+", documents[i].lower())
            X.append([word for word in words if word not in ENGLISH_STOP_WORDS])
            y.append(topic)
    return X, np.array(y)


def main():
    folder = os.environ.get("GRAMSMITH_DATA")
    if not folder:
        raise SystemExit("needs the folder of data sets: set GRAMSMITH_DATA")
    X, y = load(Path(folder))
    print(f"{len(X)} abstracts of {np.mean([len(x) for x in X]):.0f} words, topics {TOPICS}")
    kernels = {
        "words": gs.Spectrum(1),
        "pairs of neighbours": gs.Spectrum(2),
        "pairs with gaps": gs.Subsequence(2, decay=0.8),
        "triples with gaps": gs.Subsequence(3, decay=0.8),
    }
    kernels["words, and pairs with gaps"] = gs.Normalized(kernels["words"]) + gs.Normalized(
        kernels["pairs with gaps"]
    )
    folds = RepeatedStratifiedKFold(n_splits=5, n_repeats=5, random_state=0)
    for name, kernel in kernels.items():
        K = gs.Normalized(kernel)(X)
        errors = 1.0 - cross_val_score(SVC(kernel="precomputed", C=10.0), K, y, cv=folds)
        print(f"{name:<27} cka {gs.cka(K, y):.3f}   error {errors.mean():.1%}")
    learner = gs.KernelLearner(
        gs.Normalized(kernels["pairs with gaps"]), measure="cka", random_state=0
    ).fit(X, y)
    print(f"decay learned by centred alignment: {learner.kernel_.kernel.decay:.3f}")


if __name__ == "__main__":
    main()
