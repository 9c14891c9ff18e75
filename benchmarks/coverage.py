"""How often the intervals of `evaluate` hold the average of a measure: all measures and targets.

Samples are drawn anew 500 times, labels included, for four kinds of target and three sizes. Counted
is how often the 95 % interval of a sample holds the expectation of the measure at that size, which
is the average over all samples; for debiased measures that at the largest size, where it is the
population value.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from joblib import Parallel, delayed

import gramsmith as gs
from gramsmith.measures import MEASURES

SHARES = {"binary": [0.5, 0.5], "uneven": [0.8, 0.2], "classes": [0.5, 0.3, 0.2]}
KINDS = (*SHARES, "regression")
SIZES = (60, 200, 1000)
SAMPLES = 500
MEANS = np.array([[0.0, 0.0], [2.5, 0.0], [0.0, 2.5]])


def draw(kind: str, n: int, seed: int) -> tuple[Any, Any]:
    """Return samples of two features and their targets, of which none has a fixed share."""
    rng = np.random.default_rng([14, seed, n])
    X = rng.normal(size=(n, 2))
    if kind == "regression":
        return X, np.sin(2.0 * X[:, 0]) + 0.5 * X[:, 1] + 0.5 * rng.normal(size=n)
    y = rng.choice(len(SHARES[kind]), p=SHARES[kind], size=n)
    return X + MEANS[y], y


def names(kind: str) -> list[str]:
    """Return the measures that are defined for a kind of target."""
    wanted = "values" if kind == "regression" else "classes"
    return [name for name, measure in MEASURES.items() if wanted in measure.kinds]


def intervals(kind: str, n: int, seeds: Any) -> Any:
    """Return value, lower and upper limit of every measure, shape (samples, measures, 3)."""
    found = []
    for seed in seeds:
        X, y = draw(kind, n, seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            table = gs.evaluate(
                {"k": gs.Gaussian()}, X, y, measures=names(kind), n_jobs=1, random_state=seed
            )
        cells = [table["k", name] for name in names(kind)]
        limits = [cell.interval() or (np.nan, np.nan) for cell in cells]
        found.append([(cell.value, *limit) for cell, limit in zip(cells, limits, strict=True)])
    return np.array(found, dtype=float)


def average(values: Any) -> float:
    """Return the mean of the finite values: a separability may be infinite for a small sample."""
    return float(np.mean(values, where=np.isfinite(values)))


def coverage(samples: int = SAMPLES, sizes: Any = SIZES, kinds: Any = KINDS, jobs: int = 2) -> Any:
    """Return dict of (kind, measure, n) -> share of samples whose interval holds the average."""
    pieces = [(kind, n) for n in sizes[::-1] for kind in kinds]
    parts = Parallel(jobs)(delayed(intervals)(kind, n, range(samples)) for kind, n in pieces)
    of_piece = dict(zip(pieces, parts, strict=True))
    shares = {}
    for kind, n in pieces:
        for j, name in enumerate(names(kind)):
            debiased = name.endswith(("debiased", "unbiased"))
            centre = average(of_piece[kind, sizes[-1] if debiased else n][:, j, 0])
            low, high = of_piece[kind, n][:, j, 1], of_piece[kind, n][:, j, 2]
            known = np.isfinite(low)
            shares[kind, name, n] = float(np.mean((low <= centre) & (centre <= high), where=known))
    return shares


def main() -> None:
    """Print the table."""
    shares = coverage()
    print("coverage of 95 % intervals, in per cent, n =", *SIZES)
    print(f"{'':15s}" + "".join(f"{kind:>17s}" for kind in KINDS))
    for name in MEASURES:
        cells = (
            " / ".join(f"{100 * shares[kind, name, n]:.0f}" for n in SIZES)
            if (kind, name, SIZES[0]) in shares
            else "-"
            for kind in KINDS
        )
        print(f"{name:15s}" + "".join(f"{cell:>17s}" for cell in cells))
    print(f"lowest {100 * min(shares.values()):.1f}, highest {100 * max(shares.values()):.1f}")


if __name__ == "__main__":
    main()
