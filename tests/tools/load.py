"""Many small rankings in one process: ``python -m tools.load --count 2000`` in `tests`.

Each piece is a random table of 30 to 120 rows (kind of target, missing values, weights, groups and
categories by chance) that is ranked, saved, loaded and exported. A defect is an error, a warning
that is not gramsmith's, an estimate that is not finite, or a model that answers differently after
loading or export. At the end stands by how much the memory of the process has grown.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import warnings
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning

import gramsmith as gs
from tools import onnx_runs

KINDS = ("two classes", "classes", "values", "outputs", "labels", "texts")
#: pieces after which memory is first looked at: by then everything is imported and compiled
WARM = 40
#: MiB by which memory may have grown at the end
GROWTH = 50.0


def table(rng: np.random.Generator, n: int) -> pd.DataFrame:
    """Return columns of numbers, some of them skewed, categories, flags, dates, missing cells."""
    p = int(rng.integers(1, 8))
    X = pd.DataFrame(rng.normal(size=(n, p)), columns=[f"x{j}" for j in range(p)])
    if rng.random() < 0.3:
        X["x0"] = np.exp(2.0 * X["x0"])
    if rng.random() < 0.4:
        X["colour"] = rng.choice(["red", "green", "blue"], size=n)
    if rng.random() < 0.2:
        X["flag"] = rng.random(n) < 0.3
    if rng.random() < 0.2:
        X["day"] = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), "D")
    if rng.random() < 0.4:
        X = X.mask(rng.random(X.shape) < rng.choice([0.02, 0.2]))
        X["x0"] = X["x0"].fillna(0.0)  # no column that is missing throughout
    return X


def target(rng: np.random.Generator, kind: str, X: pd.DataFrame) -> Any:
    """Return a target that depends a little on the first columns."""
    n, noise = len(X), rng.choice([0.1, 1.0, 5.0])
    signal = np.asarray(X["x0"].rank(pct=True)) - 0.5
    value = signal + noise * rng.normal(size=n)
    if kind == "values":
        return value * 10.0 ** rng.integers(-6, 7)
    if kind == "outputs":
        return np.column_stack([value, rng.normal(size=n)])
    if kind == "labels":
        return np.column_stack([value > 0, rng.random(n) < 0.4]).astype(int)
    levels = 2 if kind != "classes" else int(rng.integers(3, 6))
    cut = np.quantile(value, 0.8 if rng.random() < 0.3 else 0.5)
    if levels == 2:
        return np.where(value > cut, "yes", "no")
    return np.argsort(np.argsort(value)) * levels // n


def feed(graph: Any, X: pd.DataFrame) -> dict[str, np.ndarray]:
    """Return the columns as the inputs of a graph: texts, numbers and flags, seconds of dates."""
    if [value.name for value in graph.graph.input] == ["X"]:
        return {"X": X.to_numpy(dtype=float, na_value=np.nan)}
    inputs = {}
    for value in graph.graph.input:
        column = X[value.name]
        if value.type.tensor_type.elem_type == onnx_runs.onnx.TensorProto.STRING:
            inputs[value.name] = column.fillna("").astype(str).to_numpy(dtype=object)
        elif column.dtype.kind == "M":
            seconds = (column - pd.Timestamp(0)) / pd.Timedelta(seconds=1)
            inputs[value.name] = seconds.to_numpy(dtype=float)
        else:
            inputs[value.name] = column.astype(object).fillna(np.nan).to_numpy(dtype=float)
    return inputs


def ranked(number: int, seed: int) -> tuple[str, list[str]]:
    """Return the kind of a piece, and what was wrong with it."""
    rng = np.random.default_rng([seed, number])
    kind = KINDS[rng.integers(len(KINDS))]
    n = int(rng.integers(30, 121))
    X: Any = table(rng, n)
    y = target(rng, kind, X)
    if kind == "texts":
        X = ["".join(rng.choice(list("ACGT"), size=rng.integers(4, 12))) for _ in range(n)]
    options: dict[str, Any] = {"random_state": int(rng.integers(100))}
    if rng.random() < 0.2:
        options["sample_weight"] = rng.uniform(0.2, 3.0, size=n)
    if rng.random() < 0.2:
        options["groups"] = np.arange(n) // int(rng.integers(2, 4))
    ranking = gs.rank_kernels(X, y, **options)
    wrong = []
    if not np.isfinite([ranking.estimate.value, ranking.estimate.error]).all():
        wrong.append(f"estimate {ranking.estimate.value} ± {ranking.estimate.error}")
    str(ranking), ranking._repr_html_()
    model = ranking.best_estimator
    answers = model.predict(X)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.safetensors"
        gs.save_model(model, path)
        if not np.array_equal(gs.load_model(path).predict(X), answers):
            wrong.append("a loaded model answers differently")
    if kind != "texts":
        made = gs.to_onnx(model)
        there = onnx_runs.run(made.SerializeToString(), feed(made, X))["prediction"]
        if answers.dtype.kind == "f":
            same = np.allclose(there, answers, rtol=0, atol=1e-9 * max(1.0, np.abs(answers).max()))
        else:
            same = np.array_equal(np.asarray(there).astype(answers.dtype), answers)
        if not same:
            wrong.append("an exported model answers differently")
    return kind, wrong


def piece(number: int, seed: int) -> tuple[str, list[str]]:
    """Return the kind of a piece and its defects, errors among them."""
    try:
        return ranked(number, seed)
    except Exception as error:  # any error of any piece is a defect, and the campaign goes on
        return "error", [f"{type(error).__name__}: {str(error)[:200]}"]


def ours(warning: warnings.WarningMessage) -> bool:
    """Return whether a warning speaks for gramsmith: its category, and not from another package."""
    if not issubclass(warning.category, UserWarning | ConvergenceWarning):
        return False
    return "site-packages" not in warning.filename or "gramsmith" in warning.filename


def memory() -> float:
    """Return the MiB that the process holds at present."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * 4096 / 2**20


def main() -> int:
    """Print defects as they come, and counts, warnings and memory at the end."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    kinds: Counter[str] = Counter()
    defects, before = 0, None
    numbers = range(options.first, options.first + options.count)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        with ThreadPoolExecutor(options.threads) as pool:
            results = pool.map(lambda i: piece(i, options.seed), numbers)
            for done, (number, (kind, wrong)) in enumerate(zip(numbers, results, strict=True), 1):
                kinds[kind] += 1
                wrong += [
                    f"{w.category.__name__}: {str(w.message)[:120]} ({w.filename}:{w.lineno})"
                    for w in seen
                    if not ours(w)
                ]
                seen.clear()
                defects += bool(wrong)
                for defect in wrong:
                    print(f"piece {number} ({kind}): {defect}", flush=True)
                if done == WARM:
                    before = memory()
                if done % 100 == 0:
                    print(f"{done} pieces, {memory():.0f} MiB", flush=True)
    grown = memory() - before if before is not None else 0.0
    print(f"{options.count} pieces, {defects} with defects; memory +{grown:.1f} MiB")
    print(", ".join(f"{kind} {count}" for kind, count in kinds.most_common()))
    return int(defects > 0 or grown > GROWTH)


if __name__ == "__main__":
    sys.exit(main())
