"""Do sets and intervals hold what they promise? `KernelSelector` on the sets of the arena.

    GRAMSMITH_DATA=/path/to/data python -m benchmarks.guarantees [--half both] [--rows 400 1000]

Classes: how often a set of 90 % holds the class of a new row, the mean over classes and the worst
class, beside what ideal split conformal prediction would show with as many rows of every class;
and how many classes a set names. Values: how often an interval holds the value, over all rows and
in thirds by width, and the interval score (the width, and 20 times how far a value is outside, over
the deviation of the targets) with the width that follows the rows and with one width. With
``--rival PYTHON`` an interpreter that has MAPIE is asked for a conformalized quantile regression of
the same rows. Results are kept, and not computed again.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import gramsmith as gs
from benchmarks.arena import version_of
from benchmarks.kept import Kept
from benchmarks.sets import SETS, available, data_folder, split, take
from gramsmith.machines.intervals import half_width
from gramsmith.selection.guarantees import chosen_anew

COVERAGE, TEST_ROWS, SPLITS = 0.9, 2000, 5
# numbers with a word among them: an error that says so
ROLES: dict[str, dict[Any, str]] = {"cars93": {"Cylinders": "category"}}
DRAWS = 400  # of ideal split conformal prediction
# With gradient boosting, as its documentation does; all of it runs where MAPIE is installed.
RIVAL = """
import sys
import numpy as np
from mapie.regression import ConformalizedQuantileRegressor
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.model_selection import train_test_split
d = np.load(sys.argv[1])
fit, rest, y_fit, y_rest = train_test_split(d["X"], d["y"], test_size=0.3, random_state=0)
quantile = GradientBoostingRegressor(loss="quantile", random_state=0)
model = ConformalizedQuantileRegressor(quantile, confidence_level=0.9)
model.fit(fit, y_fit).conformalize(rest, y_rest)
try:
    ends = model.predict_interval(d["Z"])[1][:, :, 0]
except ValueError:  # too few rows for it
    ends = np.full((len(d["Z"]), 2), np.nan)
np.save(sys.argv[2], ends)
"""


def classes(version: str, name: str, rows: int, number: int) -> dict[str, Any]:
    """Return what sets of one split of one set hold."""
    X, y, Z, truth = _split(name, rows, number)
    seen, codes = np.unique(y, return_inverse=True)
    kept = np.flatnonzero(np.isin(truth, seen))
    Z, truth = take(Z, kept), np.searchsorted(seen, truth[kept])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = gs.KernelSelector(task="classification", random_state=0, n_jobs=1).fit(X, y)
        sets, plain = (model.predict_set(Z, COVERAGE, per_class=each) for each in (True, False))
    counts = np.bincount(codes)
    tested = np.bincount(truth, minlength=len(seen))
    right = sets[np.arange(len(truth)), truth]
    held = [float(right[truth == c].mean()) for c in np.flatnonzero(tested)]
    ideal = ideal_coverage(counts[tested > 0], tested[tested > 0], number)
    return {
        "mean": float(np.mean(held)),
        "worst": float(np.min(held)),
        "ideal mean": float(ideal.mean()),
        "ideal worst": float(ideal.min(axis=1).mean()),
        "over all": float(plain[np.arange(len(truth)), truth].mean()),
        "size": float(sets.sum(axis=1).mean()),
        "size over all": float(plain.sum(axis=1).mean()),
        "classes": len(seen),
        "error": float(np.mean(np.searchsorted(seen, model.predict(Z)) != truth)),
    }


def ideal_coverage(counts: Any, tested: Any, seed: int) -> Any:
    """Return the share of each class that sets hold whose scores were never trained on.

    The coverage given n rows of a class has the beta distribution of an order statistic.
    """
    rng = np.random.default_rng(seed)
    k = np.ceil(np.round(COVERAGE * (counts + 1), 9)).astype(int)
    short = k > counts  # the class is in every set
    true = rng.beta(np.where(short, 1, k), np.where(short, 1, counts + 1 - k), (DRAWS, len(counts)))
    true[:, short] = 1.0
    return rng.binomial(tested, true) / tested


def values(version: str, name: str, rows: int, number: int, rival: str = "") -> dict[str, Any]:
    """Return what intervals of one split of one set hold."""
    X, y, Z, truth = _split(name, rows, number)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = selector(name).fit(X, y)
        ends = model.predict_interval(Z, COVERAGE)
        middle = model.predict(Z)
    found = model.ranking_._findings
    record, task = chosen_anew(found, found.result, found.task), found.task
    errors = task.as_given(task.codes[record.rows] - record.values[0])
    half = half_width(np.sort(np.abs(errors)), COVERAGE)
    constant = np.column_stack([middle - half, middle + half])
    width = ends[:, 1] - ends[:, 0]
    right = (ends[:, 0] <= truth) & (truth <= ends[:, 1])
    varies = bool(np.ptp(width) > 1e-9 * width.max())
    thirds = [float(right[part].mean()) for part in np.array_split(np.argsort(width), 3)]
    unit = float(np.std(truth))
    result = {
        "held": float(right.mean()),
        "varies": varies,
        "thirds": thirds,
        "score": score(ends, truth) / unit,
        "constant": score(constant, truth) / unit,
        "constant held": float(np.mean(np.abs(truth - middle) <= half)),
        "constant thirds": [
            float((np.abs(truth - middle) <= half)[part].mean())
            for part in np.array_split(np.argsort(width), 3)
        ],
    }
    if rival:
        encoder = gs.tables.TableEncoder(roles=ROLES.get(name)).fit(X)
        theirs = of_rival(rival, encoder.transform(X), y, encoder.transform(Z))
        result["rival"] = score(theirs, truth) / unit
        result["rival held"] = float(np.mean((theirs[:, 0] <= truth) & (truth <= theirs[:, 1])))
    return result


def selector(name: str) -> Any:
    """Return the selector of values of a set."""
    return gs.KernelSelector(task="regression", random_state=0, n_jobs=1, roles=ROLES.get(name))


def of_rival(python: str, X: Any, y: Any, Z: Any) -> Any:
    """Return the intervals of MAPIE, from an interpreter that has it."""
    with tempfile.TemporaryDirectory() as folder:
        given, said = Path(folder) / "given.npz", Path(folder) / "said.npy"
        np.savez(given, X=X, y=y, Z=Z)
        subprocess.run([python, "-W", "ignore", "-c", RIVAL, given, said], check=True)
        return np.load(said)


def score(ends: Any, truth: Any) -> float:
    """Return the mean interval score: the width, and 20 times how far a value is outside."""
    low, high = ends.T
    outside = np.maximum(low - truth, 0.0) + np.maximum(truth - high, 0.0)
    return float(np.mean(high - low + 2.0 / (1.0 - COVERAGE) * outside))


def _split(name: str, rows: int, number: int) -> Any:
    X, y, Z, truth = split(*SETS[name].load(data_folder()), rows, number, name)
    return X, y, take(Z, np.arange(min(len(truth), TEST_ROWS))), truth[:TEST_ROWS]


def uneven(version: str, name: str, rows: int, number: int) -> float:
    """Return how much the size of held-out errors follows the prediction or a column.

    The largest absolute rank correlation; that of even noise stays below about 3 / √rows.
    """
    from scipy.stats import spearmanr

    X, y, _, _ = _split(name, rows, number)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = selector(name).fit(X, y)
        found = model.ranking_._findings
        record, task = chosen_anew(found, found.result, found.task), found.task
        E = np.abs(task.codes[record.rows] - record.values[0])[:, 0]
        columns = gs.tables.TableEncoder(roles=ROLES.get(name)).fit_transform(X)[record.rows]
        known = [spearmanr(E, c).statistic for c in (record.values[0][:, 0], *columns.T)]
    return float(np.nanmax(np.abs(known)))


def main() -> None:
    """Print a line for every set, and the means."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--half", choices=["trying", "reporting", "both"], default="trying")
    parser.add_argument("--rows", type=int, nargs="+", default=[400])
    parser.add_argument("--only", choices=["classes", "values", "uneven"], nargs="+")
    parser.add_argument("--sets", nargs="+", help="Names of sets; default all of the half.")
    parser.add_argument("--rival", default="", help="An interpreter that has MAPIE.")
    parser.add_argument("--splits", type=int, default=SPLITS)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--version", help="Of kept results; default a digest of the sources.")
    parser.add_argument("--kept", type=Path, default=Path("guarantees.jsonl"))
    given = parser.parse_args()
    kept, version = Kept(given.kept), given.version or version_of("gramsmith")
    half = None if given.half == "both" else given.half
    names = given.sets or list(available(data_folder(), half))
    for rows in given.rows:
        for work, task in ((classes, "classification"), (values, "regression")):
            some = [name for name in names if SETS[name].task == task]
            if given.only is not None and work.__name__ not in given.only:
                continue
            more = (given.rival,) if work is values and given.rival else ()
            pieces = [(version, n, rows, k, *more) for n in some for k in range(given.splits)]
            results = kept.run(work, pieces, given.jobs)
            report(work.__name__, some, rows, results, given.splits)
        if given.only and "uneven" in given.only:
            some = [name for name in names if SETS[name].task == "regression"]
            pieces = [(version, n, rows, k) for n in some for k in range(given.splits)]
            found = np.array(kept.run(uneven, pieces, given.jobs)).reshape(len(some), -1)
            for name, row in zip(some, found.mean(axis=1), strict=True):
                print(f"{name:<22}{rows:>6} largest rank correlation of errors {row:.2f}")


def report(kind: str, names: list[str], rows: int, results: list[Any], splits: int) -> None:
    """Print the mean over splits of every set, and over sets."""
    if not names:
        return
    keys = [k for k, v in results[0].items() if isinstance(v, float | bool | int)]
    print(f"\n{kind}, {rows} rows" + "".join(f"{key:>15}" for key in keys))
    table = np.array([[float(r[k]) for k in keys] for r in results]).reshape(-1, splits, len(keys))
    for name, line in zip(names, table.mean(axis=1), strict=True):
        print(f"{name:<22}" + "".join(f"{v:15.3f}" for v in line))
    print(f"{'mean':<22}" + "".join(f"{v:15.3f}" for v in np.nanmean(table, axis=(0, 1))))
    if kind == "values":
        follow = [r for r in results if r["varies"]]
        for key in ("thirds", "constant thirds"):
            shown = np.mean([r[key] for r in follow], axis=0) if follow else []
            print(f"{key} where the width varies ({len(follow)}):", np.round(shown, 3))
        print(json.dumps({"sets": len(names), "splits": splits}))


if __name__ == "__main__":
    main()
