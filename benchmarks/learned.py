"""Whether a learned kernel serves a machine: test errors against plain and searched kernels.

    GRAMSMITH_DATA=/path/to/data python -m benchmarks.learned [--half trying] [--splits 5]

Numeric columns of classification sets, standardised, at most 400 rows to learn from and 1 000 to
test on. Every learner with its default settings, then a support vector machine with C by
cross-validation; beside them the plain machine, a grid search over C and width, scikit-learn's NCA
and xRFM (from the dependency group `bench`, left out where it is not installed). Finished pieces
are kept in a file and not done again.
"""

from __future__ import annotations

import argparse
import importlib.util
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import binomtest
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.neighbors import NeighborhoodComponentsAnalysis
from sklearn.preprocessing import LabelEncoder, StandardScaler
from sklearn.svm import SVC

import gramsmith as gs
from benchmarks.kept import Kept
from benchmarks.measuring import processor
from benchmarks.sets import SETS, available, data_folder, split

ROWS, TEST_ROWS, SPLITS = 400, 1000, 5
GRID_C = np.logspace(-2, 3, 6)
GRID_GAMMA = np.logspace(-4, 1, 6)
BANDWIDTHS = (3.0, 10.0, 30.0)  # of xRFM, whose default is the middle one
CRITERIA = ("ridge_loo", "marginal_likelihood", "fsm_loo", "cka_debiased", "cka")

TRYING = (
    *("ida-banana", "ida-german", "ida-heart", "ida-image", "ida-ringnorm", "ida-splice"),
    *("ida-thyroid", "ida-waveform", "keel-monk-2", "keel-letter", "keel-optdigits"),
    *("keel-satimage", "covtype", "wdbc"),
)
REPORTING = (
    *("australian", "birthwt", "cells", "churn", "digits", "fourclass", "ionosphere"),
    *("keel-hayes-roth", "keel-led7digit", "keel-movement_libras", "mroz", "orange-juice"),
    *("penguins", "vehicle", "wine", "a1a"),
)

Fitted = tuple[Any, dict[str, float]]  # what predicts new rows, and what there is to say


def machine(X: Any, y: Any, kernel: Any, about: dict[str, float]) -> Fitted:
    """Return a support vector machine with C by cross-validation on the matrix of a kernel."""
    search = GridSearchCV(SVC(kernel="precomputed"), {"C": GRID_C}).fit(kernel(X), y)
    return (lambda new: search.predict(kernel(new, X))), about


def learned(learner: Any) -> Callable[[Any, Any], Fitted]:
    """Return a method: the kernel of a learner."""

    def method(X: Any, y: Any) -> Fitted:
        learner.fit(X, y)
        about = {"amount": float(getattr(learner, "keep_", np.nan))}
        return machine(X, y, learner.kernel_, about)

    return method


def plain(X: Any, y: Any) -> Fitted:
    """Return a support vector machine as scikit-learn sets it up."""
    return SVC().fit(X, y).predict, {}


def grid(X: Any, y: Any) -> Fitted:
    """Six values of C, six of the width, five folds: 180 fits."""
    return GridSearchCV(SVC(), {"C": GRID_C, "gamma": GRID_GAMMA}).fit(X, y).predict, {}


def neighbourhood(X: Any, y: Any) -> Fitted:
    """NCA, then a support vector machine with C by cross-validation."""
    found = NeighborhoodComponentsAnalysis(random_state=0).fit(X, y)
    search = GridSearchCV(SVC(), {"C": GRID_C}).fit(found.transform(X), y)
    return (lambda new: search.predict(found.transform(new))), {}


def recursive_features(X: Any, y: Any) -> Fitted:
    """XRFM with one of three bandwidths, by the fifth of the rows that it watches."""
    import torch
    from xrfm import xRFM

    torch.set_num_threads(1)
    stratify = y if np.bincount(y).min() > 4 else None
    a, b = train_test_split(np.arange(len(y)), test_size=0.2, random_state=0, stratify=stratify)
    best, found = -1.0, None
    for bandwidth in BANDWIDTHS:
        model = xRFM(verbose=False, random_state=0, device="cpu", n_threads=1)
        model.rfm_params["model"]["bandwidth"] = bandwidth
        model.fit(X[a], y[a], X[b], y[b])
        score = float(np.mean(np.asarray(model.predict(X[b])).ravel() == y[b]))
        if score > best:
            best, found = score, model
    return (lambda new: np.asarray(found.predict(new)).ravel()), {}  # type: ignore[union-attr]


RIVALS = {"plain": plain, "grid": grid, "nca": neighbourhood, "xrfm": recursive_features}
START, MEMBER = "start", "best_member"
DEFAULT = "diagonal"
LEARNERS: dict[str, Callable[[int], Any]] = {
    START: lambda p: gs.TransformLearner(keep=0.0, max_iter=1),
    DEFAULT: lambda p: gs.TransformLearner(random_state=0),
    "full": lambda p: gs.TransformLearner(structure="full", random_state=0),
    "low_rank": lambda p: gs.TransformLearner(structure="low_rank", random_state=0),
    "outer_product": lambda p: gs.TransformLearner(solver="outer_product", random_state=0),
    "outer_product_full": lambda p: gs.TransformLearner(
        structure="full", solver="outer_product", random_state=0
    ),
    "parameters": lambda p: gs.KernelLearner(gs.Gaussian(np.full(p, np.sqrt(p))), random_state=0),
    "two_gaussians": lambda p: gs.TwoGaussianLearner(random_state=0),
    MEMBER: lambda p: gs.KernelCombination(keep=0.0),
    "combination": lambda p: gs.KernelCombination(random_state=0),
    "spectral": lambda p: gs.SpectralAligner(random_state=0),
    **{
        f"climb {name}": lambda p, m=name: gs.TransformLearner(measure=m, random_state=0)
        for name in CRITERIA[1:]
    },
    **{
        f"all of {name}": lambda p, m=name: gs.TransformLearner(measure=m, keep=1.0)
        for name in CRITERIA
    },
}


def numeric(name: str, folder: Path) -> tuple[Any, Any]:
    """Return the numeric columns of a set, rows without gaps, and classes from zero."""
    X, y = SETS[name].load(folder)
    if hasattr(X, "select_dtypes"):
        X = X.select_dtypes("number").to_numpy(dtype=float)
    there = np.isfinite(X).all(axis=1)
    return X[there], LabelEncoder().fit_transform(np.asarray(y)[there].astype(str))


def judge(method: str, name: str, rows: int, number: int, folder: str) -> dict[str, Any]:
    """Return the errors of one method on one split, as a row of 0 and 1, and its seconds."""
    X, y = numeric(name, Path(folder))
    X, y, new, truth = split(X, y, rows, number, name)
    new, truth = new[:TEST_ROWS], truth[:TEST_ROWS]
    known = np.unique(y)
    seen = np.isin(truth, known)  # a class without a row to learn from is nobody's mistake
    new, truth = new[seen], np.searchsorted(known, truth[seen])
    y = np.searchsorted(known, y)
    scaler = StandardScaler().fit(X)
    X, new = scaler.transform(X), scaler.transform(new)
    fit = RIVALS.get(method) or learned(LEARNERS[method](X.shape[1]))
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        predict, about = fit(X, y)
        seconds = time.perf_counter() - start
        wrong = np.asarray(predict(new)) != truth
    bits = "".join("1" if w else "0" for w in wrong)
    return {"wrong": bits, "seconds": seconds, **about}


def wrongs(found: dict[str, Any]) -> Any:
    """Return the row of 0 and 1 as an array."""
    return np.frombuffer(found["wrong"].encode(), dtype=np.uint8) - ord("0")


def worse(ours: list[Any], theirs: list[Any]) -> float:
    """Return the probability of so many more mistakes than theirs by chance.

    Of the rows that only one of both gets wrong, over all splits, the share that is ours. That rows
    return in several splits is not allowed for, which makes small numbers smaller.
    """
    a, b = np.concatenate(ours), np.concatenate(theirs)
    only, other = int(np.sum(a & ~b & 1)), int(np.sum(b & ~a & 1))
    return float(binomtest(only, only + other, alternative="greater").pvalue) if only else 1.0


def holm(p: list[float]) -> list[float]:
    """Return probabilities adjusted for their number."""
    order = np.argsort(p)
    adjusted = np.maximum.accumulate(np.asarray(p)[order] * np.arange(len(p), 0, -1))
    result = np.empty(len(p))
    result[order] = np.minimum(adjusted, 1.0)
    return [float(v) for v in result]


Results = dict[tuple[str, str], list[dict[str, Any]]]  # of method and set, one per split


def table(results: Results, methods: list[str], names: list[str]) -> None:
    """Print the error of every method on every set, in per cent, and what was kept of learning."""
    width = max(len(name) for name in names)
    print(f"\n{'':<{width}} " + " ".join(f"{m[:13]:>13}" for m in methods))
    means: dict[str, list[float]] = {m: [] for m in methods}
    for name in names:
        cells = []
        for method in methods:
            found = results[method, name]
            error = 100.0 * float(np.mean([wrongs(f).mean() for f in found]))
            means[method].append(error)
            kept = np.mean([f.get("amount", np.nan) for f in found])
            cells.append(f"{error:>6.2f}" + (f" ({kept:.2f})" if np.isfinite(kept) else " " * 7))
        print(f"{name:<{width}} " + " ".join(cells))
    print(f"{'mean':<{width}} " + " ".join(f"{np.mean(means[m]):>6.2f}       " for m in methods))
    ranks = np.array([means[m] for m in methods]).argsort(axis=0).argsort(axis=0).mean(axis=1) + 1
    print(f"{'mean rank':<{width}} " + " ".join(f"{r:>6.2f}       " for r in ranks))
    seconds = [
        np.median([f["seconds"] for name in names for f in results[m, name]]) for m in methods
    ]
    print(f"{'seconds':<{width}} " + " ".join(f"{s:>6.2f}       " for s in seconds))


def verdicts(results: Results, method: str, start: str, names: list[str]) -> None:
    """Print where a method is worse than its start beyond chance, and where a tenth better."""
    p, better = [], []
    for name in names:
        ours, theirs = ([wrongs(f) for f in results[m, name]] for m in (method, start))
        p.append(worse(ours, theirs))
        a, b = (float(np.mean([w.mean() for w in each])) for each in (ours, theirs))
        if a <= 0.9 * b and b > 0:
            better.append(f"{name} {100 * b:.1f} to {100 * a:.1f}")
    lost = [f"{name} (p = {v:.3g})" for name, v in zip(names, holm(p), strict=True) if v < 0.05]
    least = min(zip(holm(p), names, strict=True))
    print(
        f"\n{method} against {start}: worse beyond chance on {', '.join(lost) or 'no set'}", end=""
    )
    print(f" (smallest probability after Holm {least[0]:.2g}, {least[1]});")
    print(f"  a tenth better on {', '.join(better) or 'no set'}.")


def main() -> None:
    """Run what is left to do, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default=None)
    parser.add_argument("--half", choices=("trying", "reporting"), default="trying")
    parser.add_argument("--sets", nargs="*", default=None)
    parser.add_argument("--methods", nargs="*", default=None)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--splits", type=int, default=SPLITS)
    parser.add_argument("--kept", type=Path, default=Path("benchmarks/.kept/learned.jsonl"))
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    folder = data_folder(options.data)
    print(processor())
    known = available(folder, options.half)
    chosen = options.sets or (TRYING if options.half == "trying" else REPORTING)
    names = [name for name in chosen if name in known]
    standard = [m for m in (*RIVALS, *LEARNERS) if not m.startswith(("climb ", "all of "))]
    methods = options.methods or standard
    if "xrfm" in methods and importlib.util.find_spec("xrfm") is None:
        print('xRFM is not installed, left out: pip install --group bench (torch, "xrfm").')
        methods.remove("xrfm")
    if not names:
        return
    kept, results = Kept(options.kept), {}
    for number in range(options.splits):  # whole splits one after another: a part tells something
        for name in names:
            work = [(m, name, options.rows, number, str(folder)) for m in methods]
            for piece, found in zip(work, kept.run(judge, work, options.jobs), strict=True):
                results.setdefault((piece[0], name), []).append(found)
    table(results, methods, names)
    for method in methods:
        start = MEMBER if method == "combination" else START
        if method not in (*RIVALS, START, MEMBER) and start in methods:
            verdicts(results, method, start, names)


if __name__ == "__main__":
    main()
