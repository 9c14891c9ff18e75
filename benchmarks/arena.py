"""The arena: `KernelSelector` against what people would try instead, on the same splits.

    GRAMSMITH_DATA=/path/to/data python -m benchmarks.arena [--half both] [--rows 1000]

Every method gets the raw table, with its categories and gaps, or the sequences, and has to make
the best of it with default settings; only the grid search and xRFM look for settings of their own.
What is not installed is said and left out (``pip install --group bench``). LightGBM tuned by 50
trials and AutoGluon are run only if ``--methods`` names them, the latter in an environment of its
own; ``--finished`` shows them beside the others. A result is kept under
its set, split, method and the version of that method, and is not computed again; the version of
gramsmith is a digest of its sources. ``--finished`` computes nothing, and shows the sets on which
all methods have been.

Errors are wrong answers, or the root mean square error over the deviation of the targets, in per
cent. Seconds are processor time, so that other work on the machine counts little.
"""

from __future__ import annotations

import argparse
import csv
import ctypes
import gc
import hashlib
import importlib.util
import json
import os
import re
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import (
    friedmanchisquare,
    loguniform,
    randint,
    rankdata,
    studentized_range,
    wilcoxon,
)
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor, make_column_transformer
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC

import gramsmith as gs
from benchmarks.kept import Kept
from benchmarks.measuring import processor
from benchmarks.sets import SETS, available, data_folder, split, take
from benchmarks.tables import category_types, typed

ROWS, TEST_ROWS = 1000, 2000
GRID_C = np.logspace(-2, 3, 6)
GRID_GAMMA = np.logspace(-4, 1, 6)
BANDWIDTHS = (3.0, 10.0, 30.0)  # of xRFM, whose default is the middle one
SMALL, MANY = 500, 5  # half of the rows below which a set is small, classes that are many
TRIALS = 50  # settings that are drawn for LightGBM
AUTOGLUON_SECONDS = 60
DRAWS = 300  # of the sets, for the intervals of Elo
OURS, ANCHOR = "selector", "extra trees"  # whose Elo is 1000
HEAD = [
    *("kind (sets)", "method", "error", "rank", "Elo", "95 %", "better / equal / worse"),
    *("log loss", "fit s", "predict s", "MiB"),
]
QUICK = ("wdbc", "ida-thyroid", "titanic-survival", "auto-mpg", "acceptor-sites")


@dataclass(frozen=True)
class Fitted:
    """What predicts new rows, and their probabilities or intervals of 90 %, if there are any."""

    predict: Callable[[Any], Any]
    probabilities: Callable[[Any], Any] | None = None
    intervals: Callable[[Any], Any] | None = None


@dataclass(frozen=True)
class Lesson:
    """What a method learns from: rows as they come, and classes from zero or values."""

    X: Any
    y: Any
    classes: bool

    @property
    def sequences(self) -> bool:
        return not hasattr(self.X, "shape")

    def frame(self, X: Any) -> pd.DataFrame:
        """Return rows as a table; of sequences, a column per place, as far as the shortest goes."""
        if hasattr(X, "columns"):
            return X
        if not self.sequences:
            return pd.DataFrame(np.asarray(X)).add_prefix("x")
        length = min(map(len, self.X))
        return pd.DataFrame([list(x[:length].ljust(length)) for x in X]).add_prefix("x")

    def texts(self) -> list[str]:
        """Return the columns that are not numbers."""
        table = self.frame(self.X)
        return [name for name in table if not pd.api.types.is_numeric_dtype(table[name])]

    def encoder(self) -> Any:
        """Return what makes numbers of a table: medians for gaps, indicators for categories."""
        texts = self.texts()
        numbers = [name for name in self.frame(self.X) if name not in texts]
        return make_column_transformer(
            (make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), numbers),
            (OneHotEncoder(handle_unknown="ignore", sparse_output=False), texts),
        )


# ---- the methods --------------------------------------------------------------------------------


def selector(lesson: Lesson) -> Fitted:
    """`KernelSelector` as it is."""
    task = "classification" if lesson.classes else "regression"
    model = gs.KernelSelector(task=task, random_state=0, n_jobs=1).fit(lesson.X, lesson.y)
    if lesson.classes:
        return Fitted(model.predict, model.predict_proba)
    return Fitted(model.predict, intervals=model.predict_interval)


def grid(lesson: Lesson) -> Fitted:
    """Support vector machines, 6 x 6 values of C and gamma; TF-IDF and six of C for sequences."""
    if lesson.sequences:
        words = TfidfVectorizer(analyzer="char", ngram_range=(1, 4), lowercase=False)
        model, over = make_pipeline(words, LinearSVC()), {"linearsvc__C": GRID_C}
        rows = list
    else:
        machine, rows = make_pipeline(lesson.encoder(), SVC() if lesson.classes else SVR()), None
        prefix = "svc__" if lesson.classes else "regressor__svr__"
        over = {f"{prefix}C": GRID_C, f"{prefix}gamma": GRID_GAMMA}
        model = machine
        if not lesson.classes:
            model = TransformedTargetRegressor(machine, transformer=StandardScaler())
    shape = rows or lesson.frame
    search = GridSearchCV(model, over, cv=5).fit(shape(lesson.X), lesson.y)
    folds = min(5, int(np.bincount(lesson.y).min())) if lesson.classes else 0
    if folds < 2:
        return Fitted(lambda new: search.predict(shape(new)))
    calibrated = CalibratedClassifierCV(search.best_estimator_, cv=folds, ensemble=False)
    calibrated.fit(shape(lesson.X), lesson.y)
    return Fitted(
        lambda new: search.predict(shape(new)), lambda new: calibrated.predict_proba(shape(new))
    )


def extra_trees(lesson: Lesson) -> Fitted:
    """Three hundred extremely randomised trees."""
    made = ExtraTreesClassifier if lesson.classes else ExtraTreesRegressor
    model = make_pipeline(lesson.encoder(), made(300, random_state=0))
    return _of_frames(model.fit(lesson.frame(lesson.X), lesson.y), lesson)


def boosting(lesson: Lesson) -> Fitted:
    """Scikit-learn's gradient boosting, with native categories."""
    made = HistGradientBoostingClassifier if lesson.classes else HistGradientBoostingRegressor
    table = lesson.frame(lesson.X)
    kinds = category_types(table)
    model = made(categorical_features="from_dtype", random_state=0)
    model.fit(typed(table, kinds), lesson.y)
    return _of_frames(model, lesson, lambda table: typed(table, kinds))


def catboost(lesson: Lesson) -> Fitted:
    """CatBoost with native categories."""
    from catboost import CatBoostClassifier, CatBoostRegressor

    texts = lesson.texts()

    def shaped(table: pd.DataFrame) -> pd.DataFrame:
        return table.assign(**{name: table[name].fillna("").astype(str) for name in texts})

    made = CatBoostClassifier if lesson.classes else CatBoostRegressor
    model = made(random_seed=0, thread_count=1, verbose=False, allow_writing_files=False)
    model.fit(shaped(lesson.frame(lesson.X)), lesson.y, cat_features=texts)
    return _of_frames(model, lesson, shaped)


def recursive_features(lesson: Lesson) -> Fitted:
    """XRFM with one of three bandwidths, by the fifth of the rows that it watches."""
    import torch
    from xrfm import xRFM

    torch.set_num_threads(1)
    encoder = lesson.encoder().fit(lesson.frame(lesson.X))
    Z, y = encoder.transform(lesson.frame(lesson.X)), lesson.y
    mean, scale = (0.0, 1.0) if lesson.classes else (float(y.mean()), float(y.std()))
    target = y if lesson.classes else (y - mean) / scale
    fair = lesson.classes and np.bincount(y).min() > 4
    a, b = train_test_split(
        np.arange(len(y)), test_size=0.2, random_state=0, stratify=y if fair else None
    )
    best, found = np.inf, None
    for bandwidth in BANDWIDTHS:
        model = xRFM(verbose=False, random_state=0, device="cpu", n_threads=1)
        model.rfm_params["model"]["bandwidth"] = bandwidth
        model.fit(Z[a], target[a], Z[b], target[b])
        said = np.asarray(model.predict(Z[b])).ravel()
        wrong = np.mean(said != y[b]) if lesson.classes else np.mean((said - target[b]) ** 2)
        if wrong < best:
            best, found = float(wrong), model

    def predict(new: Any) -> Any:
        said = np.asarray(found.predict(encoder.transform(lesson.frame(new)))).ravel()
        return said if lesson.classes else mean + scale * said

    def shares(new: Any) -> Any:
        return np.asarray(found.predict_proba(encoder.transform(lesson.frame(new))))

    return Fitted(predict, shares if lesson.classes else None)


def tuned_lightgbm(lesson: Lesson) -> Fitted:
    """LightGBM, the best of 50 random settings by five folds."""
    from lightgbm import LGBMClassifier, LGBMRegressor

    table = lesson.frame(lesson.X)
    kinds = category_types(table)
    made = LGBMClassifier if lesson.classes else LGBMRegressor
    over = {
        "n_estimators": randint(50, 500),
        "learning_rate": loguniform(0.01, 0.3),
        "num_leaves": randint(4, 64),
        "min_child_samples": randint(2, 40),
        "reg_lambda": loguniform(1e-3, 10.0),
        "colsample_bytree": [0.5, 0.75, 1.0],
    }
    model = made(random_state=0, n_jobs=1, verbose=-1)
    search = RandomizedSearchCV(model, over, n_iter=TRIALS, cv=5, random_state=0)
    search.fit(typed(table, kinds), lesson.y)
    return _of_frames(search, lesson, lambda table: typed(table, kinds))


def autogluon(lesson: Lesson) -> Fitted:
    """AutoGluon's medium quality within 60 seconds."""
    from autogluon.tabular import TabularPredictor

    table = lesson.frame(lesson.X)
    known = sorted(set(lesson.y.tolist())) if lesson.classes else []
    kind = "regression" if not known else "binary" if len(known) == 2 else "multiclass"
    with tempfile.TemporaryDirectory() as folder:
        model = TabularPredictor("target", problem_type=kind, path=folder, verbosity=0)
        model.fit(
            table.assign(target=lesson.y),
            presets="medium_quality",
            time_limit=AUTOGLUON_SECONDS,
            num_cpus=1,
        )
        model.persist()  # all in memory: the folder goes

    def shares(new: Any) -> Any:
        return model.predict_proba(lesson.frame(new))[known].to_numpy()

    return Fitted(
        lambda new: model.predict(lesson.frame(new)).to_numpy(), shares if lesson.classes else None
    )


def _of_frames(
    model: Any, lesson: Lesson, shape: Callable[[pd.DataFrame], Any] = lambda table: table
) -> Fitted:
    def predict(new: Any) -> Any:
        return np.asarray(model.predict(shape(lesson.frame(new)))).ravel()

    def shares(new: Any) -> Any:
        return np.asarray(model.predict_proba(shape(lesson.frame(new))))

    return Fitted(predict, shares if lesson.classes else None)


METHODS: dict[str, tuple[Callable[[Lesson], Fitted], str]] = {  # and the package each is from
    OURS: (selector, "gramsmith"),
    "grid search": (grid, "scikit-learn"),
    ANCHOR: (extra_trees, "scikit-learn"),
    "boosting": (boosting, "scikit-learn"),
    "catboost": (catboost, "catboost"),
    "xrfm": (recursive_features, "xrfm"),
    "tuned lightgbm": (tuned_lightgbm, "lightgbm"),
    "autogluon": (autogluon, "autogluon.tabular"),
}
OPTIONAL = ("tuned lightgbm", "autogluon")  # run only if named: minutes a fit


def version_of(package: str) -> str:
    """Return the version of a package; of gramsmith, a digest of its sources."""
    if package != "gramsmith":
        return version(package)
    digest = hashlib.sha256()
    for path in sorted(Path(gs.__file__).parent.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


# ---- one method on one split --------------------------------------------------------------------


def judge(method: str, of: str, name: str, rows: int, number: int) -> dict[str, Any]:
    """Return error, log loss, seconds and extra memory of one method on one split.

    `of` is the version of the method, which is part of what a result is kept under; where the data
    are is not.
    """
    classes = SETS[name].task == "classification"
    X, y = SETS[name].load(data_folder())
    X, y, new, truth = split(X, np.asarray(y), rows, number, name)
    new, truth = new[:TEST_ROWS], truth[:TEST_ROWS]
    if classes:
        known = np.unique(y)
        seen = np.isin(truth, known)  # a class without a row to learn from is nobody's mistake
        new = take(new, np.flatnonzero(seen))
        y, truth = np.searchsorted(known, y), np.searchsorted(known, truth[seen])
    fit, _ = METHODS[method]
    before = _forget_peak()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        started = time.process_time()
        model = fit(Lesson(X, y, classes))
        fitted = time.process_time()
        said = model.predict(new)
        predicted = time.process_time()
        found: dict[str, Any] = {
            "error": 100.0 * _error(said, truth, classes),
            "fit": fitted - started,
            "predict": predicted - fitted,
            "memory": _peak() - before,
            "rows": len(y),
            "new": len(truth),
            "classes": len(known) if classes else 0,
        }
        if model.probabilities is not None:
            shares = np.clip(model.probabilities(new), 1e-7, 1.0)
            shares /= shares.sum(axis=1, keepdims=True)
            found["log loss"] = float(log_loss(truth, shares, labels=np.arange(len(known))))
        if model.intervals is not None:
            low, high = model.intervals(new).T
            found["inside"] = float(np.mean((low <= truth) & (truth <= high)))
    return found


def _error(said: Any, truth: Any, classes: bool) -> float:
    if classes:
        return float(np.mean(np.asarray(said) != truth))
    return float(np.sqrt(np.mean((said - truth) ** 2)) / np.std(truth))


def _status(key: str) -> float:
    path = Path("/proc/self/status")
    if not path.exists():
        return float("nan")
    return int(re.search(rf"{key}:\s+(\d+)", path.read_text()).group(1)) / 1024  # type: ignore[union-attr]


def _peak() -> float:
    return _status("VmHWM")


def _forget_peak() -> float:
    """Let the kernel count the peak anew, and return the MiB in use now.

    What earlier fits have freed goes back to the system first: the next would use it unseen.
    """
    gc.collect()
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # of the GNU C library
        if trim is not None:
            trim(0)
    if Path("/proc/self/clear_refs").exists():
        Path("/proc/self/clear_refs").write_text("5")
    return _status("VmRSS")


# ---- all methods on all sets --------------------------------------------------------------------


def elo(errors: Any) -> Any:
    """Return the Elo of methods from their errors, shape (sets, methods): Bradley and Terry's fit.

    The lower error wins a set, equal ones share it. One more draw between any two keeps the scale
    finite where a method never loses.
    """
    k = errors.shape[1]
    gap = np.round(errors[:, :, None] - errors[:, None, :], 9)
    wins = (gap < 0).sum(axis=0) + 0.5 * (gap == 0).sum(axis=0) + 0.5
    games = wins + wins.T
    np.fill_diagonal(wins, 0.0)
    np.fill_diagonal(games, 0.0)
    strength = np.ones(k)
    for _ in range(500):
        strength = wins.sum(axis=1) / (games / (strength[:, None] + strength[None, :])).sum(axis=1)
        strength /= np.exp(np.log(strength).mean())
    return 400.0 * np.log10(strength)


def elo_with_intervals(errors: Any, anchor: int) -> tuple[Any, Any, Any]:
    """Return Elo and the ends of intervals of 95 %, from drawing the sets anew."""
    rng = np.random.default_rng(0)
    draws = [elo(errors[rng.integers(0, len(errors), len(errors))]) for _ in range(DRAWS)]
    drawn = np.array([1000.0 + d - d[anchor] for d in draws])
    value = elo(errors)
    low, high = np.quantile(drawn, [0.025, 0.975], axis=0)
    return 1000.0 + value - value[anchor], low, high


def critical_difference(sets: int, methods: int, level: float = 0.05) -> float:
    """Return by how much mean ranks must differ (Nemenyi's test after Friedman's)."""
    q = studentized_range.ppf(1.0 - level, methods, np.inf) / np.sqrt(2.0)
    return float(q * np.sqrt(methods * (methods + 1) / (6.0 * sets)))


def parts(names: Sequence[str], about: dict[str, dict[str, Any]]) -> dict[str, list[str]]:
    """Return the sets of each kind that is reported apart."""
    of = SETS
    values = [n for n in names if of[n].task == "regression"]
    labels = [n for n in names if of[n].task == "classification"]
    found = {
        "all": list(names),
        "classification": labels,
        "regression": values,
        "numeric classification": [n for n in labels if of[n].kind == "numeric"],
        "mixed classification": [n for n in labels if of[n].kind == "mixed"],
        "mixed": [n for n in names if of[n].kind == "mixed"],
        "small": [n for n in names if about[n]["rows"] + about[n]["new"] < 2 * SMALL],
        f"{MANY} classes and more": [n for n in labels if about[n]["classes"] >= MANY],
        "sequences": [n for n in names if of[n].kind == "sequence"],
    }
    return {title: members for title, members in found.items() if members}


def summary(
    title: str, names: list[str], methods: list[str], cells: dict[tuple[str, str], dict[str, float]]
) -> list[list[str]]:
    """Return the table of one kind of sets: a row of words per method, the least error first."""
    errors = np.array([[cells[m, n]["error"] for m in methods] for n in names])
    ranks = np.array([rankdata(np.round(row, 9)) for row in errors]).mean(axis=0)
    rated = None
    if len(names) > 2 and ANCHOR in methods:
        rated = elo_with_intervals(errors, methods.index(ANCHOR))
    rows = []
    for k in np.argsort(errors.mean(axis=0), kind="stable"):
        found = [cells[methods[k], n] for n in names]
        losses = [f["log loss"] for f in found if "log loss" in f]
        shown = ["", ""]
        if rated is not None:
            value, low, high = (end[k] for end in rated)
            shown = [f"{value:.0f}", f"{low:.0f} to {high:.0f}"]
        against = ""  # on how many sets ours is better, as good, worse
        if OURS in methods and methods[k] != OURS:
            gap = np.round(errors[:, k] - errors[:, methods.index(OURS)], 9)
            against = " / ".join(str(np.count_nonzero(np.sign(gap) == s)) for s in (1, 0, -1))
        fit, predict, memory = (
            np.median([f[key] for f in found]) for key in ("fit", "predict", "memory")
        )
        rows.append(
            [
                f"{title} ({len(names)})",
                methods[k],
                f"{errors[:, k].mean():.2f}",
                f"{ranks[k]:.2f}",
                *shown,
                against,
                f"{np.mean(losses):.3f}" if losses else "",
                f"{fit:.2f}",
                f"{predict:.3f}",
                f"{memory:.0f}",
            ]
        )
    return rows


def compared(
    names: list[str], methods: list[str], cells: dict[tuple[str, str], dict[str, float]]
) -> list[str]:
    """Return Wilcoxon's test of log ratios of errors for each rival, by Holm's method, in words.

    Errors of no row are those of half a row.
    """
    rivals = [m for m in methods if m != OURS]
    if OURS not in methods or len(names) < 6:
        return []
    found = {}
    for m in rivals:
        least = [50.0 / cells[m, n]["new"] for n in names]
        ours, theirs = (np.fmax([cells[k, n]["error"] for n in names], least) for k in (OURS, m))
        ratio = np.log(ours / theirs)
        chance = wilcoxon(ratio).pvalue if np.any(ratio != 0.0) else 1.0
        found[m] = float(ratio.mean()), float(chance)
    said, last = [], 0.0
    for rank, m in enumerate(sorted(rivals, key=lambda m: found[m][1])):
        gain, chance = found[m]
        last = max(last, min(1.0, chance * (len(rivals) - rank)))
        said.append(f"{m} {100.0 * np.expm1(gain):+.1f} % (p = {chance:.2g}, Holm {last:.2g})")
    return [f"Error of the {OURS} beside that of each, geometric mean: {'; '.join(said)}."]


def remarks(
    names: list[str], methods: list[str], cells: dict[tuple[str, str], dict[str, float]]
) -> list[str]:
    """Return what the ranks and the intervals of one kind of sets are worth, in sentences."""
    errors = np.array([[cells[m, n]["error"] for m in methods] for n in names])
    said = []
    if len(names) > 4 and len(methods) > 2:
        p = friedmanchisquare(*errors.T).pvalue
        apart = critical_difference(len(names), len(methods))
        said.append(f"Friedman p = {p:.2g}; ranks differ beyond chance from {apart:.2f} on.")
    said += compared(names, methods, cells)
    inside = [cells[OURS, n]["inside"] for n in names if "inside" in cells.get((OURS, n), {})]
    if inside:
        said.append(
            f"Intervals of 90 % hold {np.mean(inside):.1%} of new values, {min(inside):.1%} to "
            f"{max(inside):.1%} in {len(inside)} sets."
        )
    return said


def rows_of(
    names: Sequence[str], methods: list[str], cells: dict[tuple[str, str], dict[str, float]]
) -> list[list[str]]:
    """Return one row per set: name, half, kind, rows, classes, the error of every method."""
    found = [["set", "half", "kind", "rows", "classes", *methods]]
    kinds = {n: SETS[n].kind + (", values" if SETS[n].task == "regression" else "") for n in names}
    for n in sorted(names, key=lambda n: ("numeric" not in kinds[n], kinds[n])):
        one = cells[methods[0], n]
        errors = [cells[m, n]["error"] for m in methods]
        shown = [f"{e:.2f}" + ("*" if e == min(errors) else "") for e in errors]
        about = [SETS[n].half, kinds[n], f"{one['rows']:.0f}", f"{one['classes']:.0f}"]
        found.append([n, *about, *shown])
    return found


def show(table: list[list[str]]) -> None:
    """Print rows of words as a table."""
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for row in table:
        print("  ".join(f"{cell:<{w}}" for cell, w in zip(row, widths, strict=True)).rstrip())


def write(table: list[list[str]], path: str) -> None:
    """Write rows of words as a csv file."""
    with Path(path).open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows(table)


def methods_here(wanted: Sequence[str] | None, kept: Kept | None = None) -> dict[str, str]:
    """Return the methods and their versions: those installed, or those whose results are kept."""
    found = {}
    for method in wanted or [m for m in METHODS if m not in OPTIONAL]:
        package = METHODS[method][1]
        module = {"scikit-learn": "sklearn"}.get(package, package.partition(".")[0])
        past = () if kept is None else (json.loads(k.partition(" ")[2]) for k in kept.found)
        last = [piece[1] for piece in past if piece[0] == method]
        if importlib.util.find_spec(module) is not None:
            found[method] = version_of(package)
        elif last:
            found[method] = last[-1]
        else:
            print(f"{method} is not installed, left out: pip install --group bench.")
    return found


def main() -> None:
    """Run what is left to do, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default=None)
    parser.add_argument("--half", choices=("trying", "reporting", "both"), default="both")
    parser.add_argument("--sets", nargs="*", default=None)
    parser.add_argument("--methods", nargs="*", choices=tuple(METHODS), default=None)
    parser.add_argument("--rows", type=int, default=ROWS, help="training rows at most")
    parser.add_argument("--splits", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="five sets of 200 rows, for CI")
    parser.add_argument("--finished", action="store_true", help="show what there is, do nothing")
    parser.add_argument("--csv", help="write the tables there, with -sets.csv and -kinds.csv added")
    parser.add_argument("--kept", type=Path, default=Path("benchmarks/.kept/arena.jsonl"))
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    folder = data_folder(options.data)
    print(processor())
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ["GRAMSMITH_DATA"] = str(folder)  # for the processes that do the work
    known = available(folder, None if options.half == "both" else options.half)
    chosen = options.sets or (QUICK if options.quick else known)
    names = [name for name in chosen if name in known]
    rows = 200 if options.quick else options.rows
    kept, results = Kept(options.kept, version=""), {}  # every method has a version of its own
    versions = methods_here(options.methods, kept if options.finished else None)
    methods = list(versions)
    for number in range(options.splits):  # whole splits one after another: a part tells something
        if options.finished:
            names = [
                n
                for n in names
                if all(
                    kept.key(judge, (m, versions[m], n, rows, number)) in kept.found
                    for m in methods
                )
            ]
        work = [(m, versions[m], n, rows, number) for n in names for m in methods]
        for piece, found in zip(work, kept.run(judge, work, options.jobs), strict=True):
            results.setdefault((piece[0], piece[2]), []).append(found)
    if not names:
        return
    cells = {
        key: {k: float(np.mean([f[k] for f in found])) for k in found[0]}
        for key, found in results.items()
        if key[1] in names
    }
    table = rows_of(names, methods, cells)
    show(table)
    kinds = []
    for title, members in parts(names, {n: cells[methods[0], n] for n in names}).items():
        found = summary(title, members, methods, cells)
        print()
        show([HEAD, *found])
        print(*remarks(members, methods, cells))
        kinds += found
    if options.csv is not None:
        write(table, f"{options.csv}-sets.csv")
        write([HEAD, *kinds], f"{options.csv}-kinds.csv")


if __name__ == "__main__":
    main()
