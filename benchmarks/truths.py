"""Whether learning finds what is there: four synthetic truths with 5 % of the labels flipped.

    python -m benchmarks.truths [--rows 300 1000 2000] [--plot truths.png]

Three features of fifty count, one oblique direction of twenty, the parity of three signs of ten, or
all alike. The learned kernel is compared with the kernel of one who knows the truth (the oracle)
and with the one it started from, each in a support vector machine with C by cross-validation.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

import gramsmith as gs
from benchmarks.measuring import Row, processor, show

NOISE = 0.05
TEST_ROWS = 10_000
GRID_C = np.logspace(-1, 3, 5)

Truth = tuple[int, Callable[[Any], Any], Any, dict[str, Any]]  # p, X -> signs, oracle map, options


def _direction(p: int) -> Any:
    v = np.random.default_rng(0).normal(size=p)
    return v / np.linalg.norm(v)


OBLIQUE = _direction(20)
TRUTHS: dict[str, Truth] = {
    "3 of 50": (
        50,
        lambda X: X[:, 0] * X[:, 1] + np.sin(2.0 * X[:, 2]),
        np.r_[np.ones(3), np.zeros(47)],
        {},
    ),
    "one direction of 20": (
        20,
        lambda X: np.sin(2.0 * X @ OBLIQUE),
        OBLIQUE[:, None],
        {"structure": "full"},
    ),
    "parity of 3 of 10": (
        10,
        lambda X: X[:, 0] * X[:, 1] * X[:, 2],
        np.r_[np.ones(3), np.zeros(7)],
        {},
    ),
    "all alike": (10, lambda X: np.square(X).sum(axis=1) - 9.34, np.ones(10), {}),
}


def draw(truth: str, n: int, rng: np.random.Generator) -> tuple[Any, Any]:
    """Return samples and their labels, some of which are flipped."""
    p, sign, _, _ = TRUTHS[truth]
    X = rng.normal(size=(n, p))
    return X, (sign(X) > 0) ^ (rng.random(n) < NOISE)


def compare(truth: str, n: int, seed: int = 0) -> dict[str, Any]:
    """Return the test errors of learned, oracle and start, the amount, and the seconds."""
    rng = np.random.default_rng([seed, n])
    X, y = draw(truth, n, rng)
    new, labels = draw(truth, TEST_ROWS, rng)
    _, _, oracle, options = TRUTHS[truth]
    structure = {"structure": "low_rank", "rank": 1} if np.ndim(oracle) == 2 else {}
    learners = {
        "learned": gs.TransformLearner(random_state=0, **options),
        "oracle": gs.TransformLearner(keep=0.0, max_iter=1, init=oracle, **structure),
        "start": gs.TransformLearner(keep=0.0, max_iter=1),
    }
    found: dict[str, Any] = {}
    for name, learner in learners.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            start = time.perf_counter()
            kernel = learner.fit(X, y).kernel_
            found[f"{name} seconds"] = time.perf_counter() - start
            machine = GridSearchCV(SVC(kernel="precomputed"), {"C": GRID_C}).fit(kernel(X), y)
        found[name] = float(np.mean(machine.predict(kernel(new, X)) != labels))
    found["amount"] = learners["learned"].keep_
    found["importances"] = learners["learned"].feature_importances_
    found["spread"] = getattr(learners["learned"], "feature_importances_std_", None)
    return found


def rows_of(truth: str, sizes: list[int], results: dict[tuple[str, int], Any]) -> list[Row]:
    """Return a row per size: errors, and whether the learned kernel is near the oracle's."""
    rows = []
    for n in sizes:
        found = results[truth, n]
        limit = 1.1 * found["oracle"]
        figure = f"{100 * found['learned']:.1f} %"
        wanted = f"<= {100 * limit:.1f} %"
        name = (
            f"{truth}, n = {n} (oracle {100 * found['oracle']:.1f}, start "
            f"{100 * found['start']:.1f}, kept {found['amount']:.2f}, "
            f"{found['learned seconds']:.1f} s)"
        )
        met = found["learned"] <= limit if n >= 1000 else None
        rows.append(Row(name, figure, wanted if n >= 1000 else "", met))
    return rows


def plot(path: str, results: dict[tuple[str, int], Any], n: int) -> None:
    """Draw the learned importances of every truth."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 6), layout="constrained")
    for ax, truth in zip(figure.subplots(2, 2).ravel(), TRUTHS, strict=True):
        found = results[truth, n]
        ax.bar(np.arange(len(found["importances"])), found["importances"], yerr=found["spread"])
        _, _, oracle, _ = TRUTHS[truth]
        share = np.square(oracle).reshape(len(oracle), -1).sum(axis=1)
        ax.plot(np.arange(len(share)), share / share.sum(), "k_", ms=8, label="the truth")
        ax.set_title(f"{truth}, n = {n}")
        ax.set_xlabel("feature")
        ax.set_ylabel("importance")
        ax.legend(frameon=False)
    # no date and no random names, so that the same picture is the same file
    with rc_context({"svg.hashsalt": "truths", "svg.fonttype": "none"}):
        figure.savefig(path, metadata={"Date": None} if path.endswith(".svg") else None)


def main() -> None:
    """Print a table per truth."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="*", default=[300, 1000, 2000])
    parser.add_argument("--truths", nargs="*", default=list(TRUTHS))
    parser.add_argument("--plot", default=None)
    options = parser.parse_args()
    print(processor())
    results = {}
    for truth in options.truths:
        for n in options.rows:
            results[truth, n] = compare(truth, n)
        show(f"Truth: {truth}", rows_of(truth, options.rows, results))
    if options.plot:
        plot(options.plot, results, options.rows[-1])


if __name__ == "__main__":
    main()
