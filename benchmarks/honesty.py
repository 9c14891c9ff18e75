"""Whether the score that `rank_kernels` hands over is what fresh data give.

    GRAMSMITH_DATA=/path/to/data python -m benchmarks.honesty [--share 0.05] [--kept FILE]

Four questions. *Coverage*: on rows that are drawn anew in every run, how often the interval of
the estimate holds the score that the model has on 20 000 fresh rows, and how far the estimate is
from it on average, with Monte Carlo errors. *Bias*: the same difference for real tables, over sets,
sizes and scores, with groups, imbalanced classes and shuffled labels. *Claims*: on data without any
signal, how often is one kernel said to beat another, or to do better than the commonest answer;
and how often where it is true? *Referee*: bias and coverage for other estimators and for the
choice among all, also with groups and for the next period in time. Finished pieces are kept in a
file and not done again: a run that was stopped goes on with the same command. ``--share`` does a
part of the work, ``--parts`` some of the questions.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import get_scorer
from sklearn.pipeline import make_pipeline

import gramsmith as gs
from benchmarks.kept import Kept
from benchmarks.measuring import processor
from benchmarks.sets import SETS, available, data_folder, split
from gramsmith.selection import AveragedClassifier, AveragedRegressor
from gramsmith.selection.kinds import read_task
from gramsmith.tables import TableEncoder

CLASSES = ("ida-banana", "ida-german", "ida-image", "ida-titanic", "ida-waveform", "keel-letter")
OTHER_CLASSES = ("wdbc", "keel-satimage")
VALUES = ("california", "auto-mpg", "carseats")
UNEVEN = ("ida-german", "keel-satimage", "covtype")
SIZES = (60, 200, 1000, 1500, 4000)
SPLITS = {60: 16, 200: 8, 1000: 4, 1500: 4, 4000: 2}
LARGE = ("keel-letter", "covtype", "california")  # with twice 4 000 rows
NULL_SETS = 1000
TRUE_SETS = 40
RUNS = 400  # of every row of coverage: shares of 95 % are known to 1.1 %
FRESH = 20_000  # rows whose score is the truth
PARTS = ("coverage", "bias", "referee", "claims")
RIVALS = {
    "boosting": HistGradientBoostingClassifier(random_state=0),
    "logistic regression": LogisticRegression(max_iter=1000),
}
REFEREED = ("ida-banana", "ida-german", "ida-waveform", "wdbc")
KINDS = ("plain", "groups", "time")
Averaged = (AveragedClassifier, AveragedRegressor)


@dataclass(frozen=True)
class Scenario:
    """Made data of which the coverage is counted."""

    n: int
    target: str = "classes"  # "classes", "rare" (one in five) or "values"
    scoring: str | None = None
    groups: int = 0  # rows of a group are alike
    additive: bool = False  # lines and bumps, which several kernels answer better together
    auto: bool = False  # all default kernels, learned ones included; else three Gaussians


SCENARIOS = {
    **{f"classes, {n}": Scenario(n, auto=n <= 1000) for n in SIZES},
    **{f"values, {n}": Scenario(n, "values", auto=n <= 1000) for n in SIZES},
    **{f"averages, {n}": Scenario(n, "values", additive=True) for n in (60, 200, 1000, 1500, 4000)},
    "averages of classes, 200": Scenario(200, additive=True, auto=True),
    "balanced accuracy, 200": Scenario(200, "rare", "balanced_accuracy"),
    "f1, 200": Scenario(200, "rare", "f1"),
    "log loss, 200": Scenario(200, "rare", "neg_log_loss"),
    "40 groups of 200": Scenario(200, groups=40),
    "130 groups of 1500": Scenario(1500, groups=130),
    "130 groups of 6500": Scenario(6500, groups=130),
    "130 groups of 6500, values": Scenario(6500, "values", groups=130),
}


def draw(scenario: Scenario, n: int, rng: Any, groups: int = 0) -> tuple[Any, Any, Any]:
    """Return rows, targets and the group of each row."""
    codes = np.sort(rng.integers(0, groups, n)) if groups else np.arange(n)
    Z = rng.normal(size=(codes[-1] + 1, 3))
    noise = rng.normal(size=len(Z))  # shared by the rows of a group
    signal = Z[:, 0] * Z[:, 1]
    if scenario.additive:
        signal = Z[:, 0] + 1.5 * np.exp(-4.0 * (Z[:, 1] - 0.5) ** 2)
    X = Z[codes] + (0.1 * rng.normal(size=(n, 3)) if groups else 0.0)
    line = (signal + 0.5 * noise)[codes]
    if scenario.target == "values":
        return X, line, codes
    limit = 0.9 if scenario.target == "rare" else 0.0  # a fifth of the products is above
    return X, (line > limit).astype(int), codes


def coverage(name: str, number: int) -> dict[str, Any]:
    """Return the estimate of one run, its interval and the score on fresh rows."""
    scenario = SCENARIOS[name]
    rng = np.random.default_rng([number, *name.encode()])
    X, y, codes = draw(scenario, scenario.n, rng, scenario.groups)
    kernels: Any = "auto"
    if not scenario.auto:
        kernels = {f"width {w:g}": gs.Gaussian(w) for w in (0.5, 1.0, 3.0)}
    options: dict[str, Any] = {"groups": codes} if scenario.groups else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ranking = gs.rank_kernels(
            X, y, kernels, scoring=scenario.scoring, random_state=number, n_jobs=1, **options
        )
        by_default = "r2" if scenario.target == "values" else "accuracy"
        X_new, y_new, _ = draw(scenario, FRESH, rng)
        if scenario.groups:  # new groups, each with one row
            X_new = X_new + 0.1 * rng.normal(size=X_new.shape)
        scorer = get_scorer(scenario.scoring or by_default)
        fresh = scorer(ranking.best_estimator, X_new, y_new)
    guess = ranking.estimate
    return {
        "estimate": float(guess.value),
        "low": float(guess.low),
        "high": float(guess.high),
        "fresh": float(fresh),
        "averaged": isinstance(ranking.best_estimator, Averaged),
    }


def show_coverage(done: list[tuple[tuple[Any, ...], dict[str, Any]]]) -> None:
    """Print, for every scenario, the share of intervals that hold, and the bias, with errors."""
    print(f"\n{'made data':<28} {'runs':>5} {'averages':>8} {'inside':>15} {'bias':>17}")
    for name in dict.fromkeys(piece[0] for piece, _ in done):
        found = [r for piece, r in done if piece[0] == name]
        share = np.mean([r["low"] <= r["fresh"] <= r["high"] for r in found])
        gap = np.array([r["estimate"] - r["fresh"] for r in found])
        runs = len(found)
        # of the share that is promised: one of 100 % would have no error
        error = np.sqrt(0.95 * 0.05 / runs)
        wide = gap.std(ddof=1) / np.sqrt(runs) if runs > 1 else np.nan
        print(
            f"{name:<28} {runs:>5} {np.mean([r['averaged'] for r in found]):>8.0%} "
            f"{100 * share:>7.1f} ± {100 * error:.1f} % {gap.mean():>+8.4f} ± {wide:.4f}"
            f"{'' if abs(share - 0.95) <= 0.03 else '  outside 92 to 98 %'}"
        )


def bias(scenario: str, name: str, rows: int, number: int, folder: str) -> dict[str, float]:
    """Return the estimate for new data, the score of the table and the score on fresh rows."""
    entry = SETS[name]
    X, y = entry.load(Path(folder))
    if hasattr(X, "isna"):  # rows with missing cells are left out
        there = ~X.isna().any(axis=1).to_numpy()
        X, y = X[there], y[there]
    scoring: str | None = None
    options: dict[str, Any] = {"task": entry.task, "n_jobs": 1}
    if scenario in ("f1", "neg_log_loss"):
        # the rarer classes against the commonest, at most one row in five of them
        labels, counts = np.unique(y, return_counts=True)
        y = (y == labels[counts.argmin()]).astype(int)
        scoring = scenario
    if scenario == "shuffled labels":
        y = np.random.default_rng([number, 5]).permutation(y)
    X, y, X_test, y_test = split(X, y, rows, number, name)
    if scenario == "groups":
        X, y, options["groups"] = copies(X, y, number)
    if scoring is not None:
        options["scoring"] = scoring
    if len(X_test) > 4000:
        X_test, y_test = X_test[:4000], y_test[:4000]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ranking = gs.rank_kernels(X, y, **options)
        by_default = "accuracy" if entry.task == "classification" else "r2"
        fresh = get_scorer(scoring or by_default)(ranking.best_estimator, X_test, y_test)
        goal = read_task(y_test, task=entry.task, scoring=scoring)
        answers = goal.answers_of(ranking.best_estimator, X_test)
        fresh_error = goal.error(answers, np.arange(goal.n))
    guess = ranking.estimate
    return {
        "estimate": float(guess.value),
        "low": float(guess.low),
        "high": float(guess.high),
        "table": float(ranking.records[0]["score"]),
        "fresh": float(fresh),
        "fresh_error": float(fresh_error),
    }


def copies(X: Any, y: Any, seed: int) -> tuple[Any, Any, Any]:
    """Return a fifth of the rows five times over, a little apart, and which row each came from."""
    chosen = np.repeat(np.arange(len(y) // 5), 5)
    noise = 0.1 * np.random.default_rng(seed).normal(size=(len(chosen), X.shape[1]))
    return X[chosen] + noise * X.std(axis=0), y[chosen], chosen


def referee(kind: str, name: str, rows: int, number: int, folder: str) -> dict[str, Any]:
    """Return what `bias` does, of the kernels, of each of two estimators, and of the best of all.

    In time the rows come in the order of a column, with noise: inputs drift slowly, and fresh rows
    are those of the next period.
    """
    X, y = SETS[name].load(Path(folder))
    period = rows // 10
    X, y, X_test, y_test = split(X, y, rows + (period if kind == "time" else 0), number, name)
    X, X_test = np.asarray(X, dtype=float), np.asarray(X_test, dtype=float)
    options: dict[str, Any] = {"n_jobs": 1, "estimators": RIVALS}
    if kind == "groups":
        X, y, options["groups"] = copies(X, y, number)
    if kind == "time":
        noise = np.random.default_rng([number, 6]).normal(size=len(y))
        order = np.argsort(X[:, 0] / X[:, 0].std() + 2.0 * noise)
        X, y = X[order], y[order]
        X, X_test, y, y_test = X[:rows], X[rows:], y[:rows], y[rows:]
        options["time_order"] = np.arange(len(y))
    X_test, y_test = X_test[:4000], y_test[:4000]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ranking = gs.rank_kernels(X, y, **options)
        models = {"kernels": ranking.best_estimator}
        for rival, estimator in RIVALS.items():
            models[rival] = make_pipeline(TableEncoder(), clone(estimator)).fit(X, y)
        best = ranking.best_estimator if ranking.best_other is None else ranking.best_other
        models["best of all"] = best
        said = {r["estimator"]: r for r in ranking.other_records}
        found = {}
        for who, model in models.items():
            fresh = float(np.mean(model.predict(X_test) == y_test))
            whole = ranking.overall_estimate if who == "best of all" else ranking.estimate
            ends = {"estimate": whole.value, "low": whole.low, "high": whole.high}
            if who in said:
                ends = {"estimate": said[who]["expected"]}
                ends |= {end: said[who][end] for end in ("low", "high")}
            table = said[who]["score"] if who in said else ranking.records[0]["score"]
            # the interval of a period is for just these rows
            error = 0.0 if kind == "time" else np.sqrt(fresh * (1.0 - fresh) / len(y_test))
            found[who] = {**ends, "table": table, "fresh": fresh, "fresh_error": float(error)}
    return found


def claims(signal: bool, grouped: bool, number: int) -> dict[str, Any]:
    """Return what is claimed of four kernels, where labels are noise or a product of two features.

    Also the estimate, and the expected score of the winner on new data.
    """
    rng = np.random.default_rng([number, int(grouped), int(signal)])
    n = (500 if grouped else 200) if signal else int(rng.integers(40, 101))
    groups = np.repeat(np.arange(n // 5), 5) if grouped else None
    count = n // 5 if grouped else n
    share = rng.uniform(0.3, 0.5)

    def chances(X: Any) -> Any:
        """Return the chance of the label 1 for each row."""
        return np.where(X[:, 0] * X[:, 1] > 0, 0.95, 0.05) if signal else np.full(len(X), share)

    X = rng.normal(size=(count, 4))
    y = (rng.random(count) < chances(X)).astype(int)
    y[:4] = (0, 1, 0, 1)  # both classes, in any draw
    if groups is not None:
        X, y = X[groups] + 0.3 * rng.normal(size=(len(groups), 4)), y[groups]
    kernels = {
        "linear": gs.Linear(),
        "wide": gs.Gaussian(3.0),
        "narrow": gs.Gaussian(1.0),
        "polynomial": gs.Polynomial(2),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ranking = gs.rank_kernels(X, y, kernels, groups=groups, n_jobs=1, random_state=number)
    beaten = [record["kernel"] for record in ranking.records[1:] if not record["tied"]]
    X_new = rng.normal(size=(2000, 4))
    noise = 0.3 * rng.normal(size=X_new.shape) if grouped else 0.0
    said = ranking.best_estimator.predict(X_new + noise)
    one = chances(X_new)
    return {
        "beats another": bool(beaten),
        "beats the majority": bool(ranking.beats_baseline),
        "estimate": float(ranking.estimate.value),
        "table": float(ranking.records[0]["score"]),
        "fresh": float(np.mean(np.where(said == 1, one, 1.0 - one))),
    }


def pieces(folder: Path, share: float) -> Iterator[tuple[str, str, int, int, str]]:
    """Yield the work of `bias`: a share of the splits, at least one each, first splits first."""
    known = set(available(folder, "trying"))
    scenarios = {
        "plain": (*CLASSES, *OTHER_CLASSES),
        "values": VALUES,
        "groups": ("ida-banana", "ida-waveform", "wdbc"),
        "f1": UNEVEN,
        "neg_log_loss": UNEVEN,
        "shuffled labels": ("ida-german", "wdbc", "ida-waveform"),
    }
    for number in range(max(SPLITS.values())):
        for scenario, names in scenarios.items():
            for name in names:
                for rows in SIZES:
                    fits = rows <= 1000 or name in LARGE
                    if name in known and fits and number < max(1, round(share * SPLITS[rows])):
                        yield scenario, name, rows, number, str(folder)


def table(done: list[tuple[tuple[Any, ...], dict[str, float]]]) -> None:
    """Print, for every scenario and size, the mean of estimate less fresh score, and its error.

    `inside`: how often the interval of 95 % holds the fresh score, whose own error counts too.
    """
    print(
        f"\n{'scenario':<16} {'n':>5} {'runs':>5} {'table':>8} {'estimate':>9} {'error':>7} inside"
    )
    for scenario in dict.fromkeys(piece[0] for piece, _ in done):
        for rows in SIZES:
            found = [r for piece, r in done if (piece[0], piece[2]) == (scenario, rows)]
            if not found:
                continue
            shown, gap, error = differences(found)
            inside = np.mean([holds(r) for r in found])
            print(
                f"{scenario:<16} {rows:>5} {len(found):>5} {shown:>+8.4f} "
                f"{gap:>+9.4f} {error:>7.4f} {inside:>6.0%}"
            )


def differences(found: list[dict[str, float]]) -> tuple[float, float, float]:
    """Return table less fresh score, estimate less fresh score, and the error of the latter.

    A few runs may agree by chance: the error is no smaller than their own errors make it.
    """
    gap = np.array([r["estimate"] - r["fresh"] for r in found])
    shown = np.array([r["table"] - r["fresh"] for r in found])
    error = gap.std(ddof=1) if len(gap) > 1 else np.nan
    if "low" in found[0]:
        squares = [((r["estimate"] - r["low"]) / 1.96) ** 2 + r["fresh_error"] ** 2 for r in found]
        error = np.fmax(error, np.sqrt(np.mean(squares)))
    return float(shown.mean()), float(gap.mean()), float(error / np.sqrt(len(gap)))


def holds(r: dict[str, float]) -> bool:
    """Return whether the interval, made wider by the error of the fresh score, holds it."""
    noise = 1.96 * r["fresh_error"]
    below, above = (np.hypot(abs(r["estimate"] - r[end]), noise) for end in ("low", "high"))
    return bool(r["estimate"] - below <= r["fresh"] <= r["estimate"] + above)


def main() -> None:
    """Run the parts and print their tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default=None)
    parser.add_argument("--share", type=float, default=1.0, help="part of the work, 0.05 in CI")
    parser.add_argument("--kept", type=Path, default=Path("benchmarks/.kept/honesty.jsonl"))
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--parts", nargs="*", choices=PARTS, default=PARTS)
    options = parser.parse_args()
    kept = Kept(options.kept)
    print(processor())
    if "coverage" in options.parts:
        runs = max(2, round(options.share * RUNS))
        draws = [(name, number) for number in range(runs) for name in SCENARIOS]
        found = kept.run(coverage, draws, options.jobs)
        show_coverage(list(zip(draws, found, strict=True)))
    if "bias" in options.parts:
        work = list(pieces(data_folder(options.data), options.share))
        table(list(zip(work, kept.run(bias, work, options.jobs), strict=True)))
    if "referee" in options.parts:
        folder = data_folder(options.data)
        asked = [
            (kind, name, rows, number, str(folder))
            for number in range(SPLITS[60])
            for rows in SIZES[:2]
            for kind in KINDS
            for name in REFEREED
            if name in available(folder, "trying")
            and number < max(1, round(options.share * SPLITS[rows]))
        ]
        judged = list(zip(asked, kept.run(referee, asked, options.jobs), strict=True))
        for who in ("kernels", *RIVALS, "best of all"):
            print(f"\n{who}:")
            table([(piece, found[who]) for piece, found in judged])
    if "claims" in options.parts:
        show_claims(kept, options.share, options.jobs)


def show_claims(kept: Kept, share: float, jobs: int) -> None:
    """Run the sets without and with signal, and print what is claimed of them."""
    for signal, most in ((False, NULL_SETS), (True, TRUE_SETS)):
        count = max(10, round(share * most) // 2)
        for grouped in (False, True):
            found = kept.run(claims, [(signal, grouped, i) for i in range(count)], jobs)
            kind = f"{'with' if signal else 'no'} signal, {'groups' if grouped else 'no groups'}"
            shares = ", ".join(
                f"{claim} {np.mean([r[claim] for r in found]):.1%}"
                for claim in ("beats another", "beats the majority")
            )
            shown, gap, error = differences(found)
            print(
                f"{count} sets, {kind}: {shares}; table {shown:+.4f}, "
                f"estimate {gap:+.4f} ± {error:.4f}"
            )


if __name__ == "__main__":
    main()
