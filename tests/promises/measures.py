"""Measures: intervals, p-values, guaranteed bounds, invariances."""

from functools import cache

import numpy as np

import gramsmith as gs
from promises import promise

MEANS = np.array([[0.0, 0.0], [1.5, 0.0], [0.0, 1.5]])


def sample(rng, n, kind):
    """Return two features and a target of a kind; shares of classes are drawn too."""
    X = rng.normal(size=(n, 2))
    if kind == "values":
        return X, np.sin(2.0 * X[:, 0]) + 0.5 * X[:, 1] + 0.5 * rng.normal(size=n)
    shares = {"even": [0.5, 0.5], "imbalanced": [0.8, 0.2], "three": [0.5, 0.3, 0.2]}[kind]
    y = rng.choice(len(shares), p=shares, size=n)
    return X + MEANS[y], y


@cache
def expectation(measure, n, kind):
    """Return the average of a measure over 4 000 samples of n rows."""
    values = []
    for i in range(4000):
        X, y = sample(np.random.default_rng([91, n, i]), n, kind)
        table = gs.evaluate({"k": gs.Gaussian()}, X, y, measures=measure, folds=0)
        values.append(table["k", measure].value)
    return float(np.mean(values))


@promise(
    "interval of a measure",
    even_classes_n_100={"n": 100, "kind": "even"},
    imbalanced_classes_n_100={"n": 100, "kind": "imbalanced"},
    three_classes_n_100={"n": 100, "kind": "three"},
    values_n_100={"n": 100, "kind": "values"},
    even_classes_n_400={"n": 400, "kind": "even"},
)
def interval_of_cka(rng, n, kind):
    X, y = sample(rng, n, kind)
    low, high = gs.evaluate({"k": gs.Gaussian()}, X, y, measures="cka")["k", "cka"].interval()
    return low <= expectation("cka", n, kind) <= high


@promise(
    "permutation test",
    hsic_n_20={"measure": "hsic", "n": 20},
    hsic_n_60={"measure": "hsic", "n": 60},
    kta_n_60={"measure": "kta", "n": 60},
    mmd_n_60={"measure": "mmd", "n": 60},
    hsic_ties={"measure": "hsic", "n": 60, "ties": True},
    hsic_balanced_weights={"measure": "hsic", "n": 100, "positive": 0.1, "balanced": True},
    kta_balanced_weights={"measure": "kta", "n": 100, "positive": 0.1, "balanced": True},
    mmd_balanced_weights={"measure": "mmd", "n": 100, "positive": 0.1, "balanced": True},
    kta_weight_5_of_a_class={"measure": "kta", "n": 60, "factor": 5.0},
    kta_random_weights={"measure": "kta", "n": 60, "random": True},
    hsic_groups={"measure": "hsic", "n": 60, "groups": 15},
)
def permutation_test(
    rng, measure, n, positive=0.5, ties=False, balanced=False, factor=1.0, random=False, groups=0
):
    X = rng.normal(size=(n, 2))
    y = rng.permutation(np.arange(n) < round(positive * n)).astype(int)
    if ties:
        X = np.round(X)
    options = {}
    if groups:  # rows of a group are copies but for a little noise and have one label
        codes = np.repeat(np.arange(groups), n // groups)
        X = rng.normal(size=(groups, 2))[codes] + 0.01 * X
        y = rng.permutation(np.arange(groups) % 2)[codes]
        options["groups"] = codes
    if balanced:
        options["sample_weight"] = n / (2.0 * np.bincount(y))[y]
    elif factor != 1.0:
        options["sample_weight"] = np.where(y == 1, factor, 1.0)
    elif random:
        options["sample_weight"] = np.exp(rng.normal(size=n))
    cell = gs.evaluate(
        {"k": gs.Gaussian()},
        X,
        y,
        measures=measure,
        n_permutations=99,
        random_state=int(rng.integers(2**31)),
        folds=0,
        **options,
    )["k", measure]
    return cell.pvalue <= 0.05


@promise(
    "guaranteed bounds",
    runs=8000,
    few_rows={"largest": 8},
    many_ties={"largest": 10, "whole": True},
    weights={"largest": 10, "weighted": True},
)
def error_bounds(rng, largest, whole=False, weighted=False):
    n, classes = int(rng.integers(4, largest + 1)), int(rng.integers(2, 4))
    y = np.r_[np.arange(classes), rng.integers(0, classes, n - classes)]
    X = rng.normal(size=(n, 1 + int(rng.integers(2))))
    if whole:
        X = np.round(2 * X)
    w = rng.integers(1, 4, n).astype(float) if weighted else np.ones(n)
    kernel = (gs.Linear(), gs.Gaussian(), gs.Polynomial(2))[rng.integers(3)]
    machine = gs.CentroidClassifier(kernel, n_jobs=1).fit(X, y, sample_weight=w)
    wrong = w * (machine.predict(X) != y)
    errors = np.bincount(y, wrong) / np.bincount(y, w)
    held = (errors <= machine.class_error_bounds_ + 1e-9).all()
    bound = gs.fsm_error_bound(kernel(X), y, ddof=0, sample_weight=w)
    return bool(held and wrong.sum() / w.sum() <= bound + 1e-9)


@promise(
    "measures do not change",
    weights_times_a_number={"change": "weights"},
    order_of_rows={"change": "rows"},
    rows_of_weight_zero={"change": "zero"},
    kernel_times_a_number={"change": "scale"},
)
def invariance(rng, change):
    n = int(rng.integers(10, 60))
    X, y = sample(rng, n, ("even", "three", "values")[rng.integers(3)])
    if len(np.unique(y)) < 4:
        y[:6] = np.tile(np.unique(y)[:2], 3)
    w = np.exp(rng.normal(size=n))
    names = ["kta", "cka", "cka_debiased"]
    kernel = gs.Gaussian(rng.uniform(0.3, 3.0))

    def values(kernel, X, y, w):
        table = gs.evaluate({"k": kernel}, X, y, measures=names, sample_weight=w, folds=0)
        return [table["k", name].value for name in names]

    before = values(kernel, X, y, w)
    if change == "weights":
        after = values(kernel, X, y, 1e-6 * w)
    elif change == "rows":
        order = rng.permutation(n)
        after = values(kernel, X[order], y[order], w[order])
    elif change == "zero":
        more = rng.normal(size=(5, 2))
        after = values(kernel, np.r_[X, more], np.r_[y, y[:5]], np.r_[w, np.zeros(5)])
    else:
        after = values(1e3 * kernel, X, y, w)
    return np.allclose(before, after, rtol=1e-9, atol=1e-12)


@promise(
    "interval of estimate",
    cka={"measure": "cka"},
    fsm={"measure": "fsm"},
    fsm_rare_class_narrow={"measure": "fsm", "positive": 0.02, "width": 0.3},
    cka_heavy_tails={"measure": "cka", "tails": True},
    kta_uneven_weights={"measure": "kta", "weights": True},
)
def interval_of_estimate(rng, measure, positive=0.5, width=1.0, tails=False, weights=False):
    n = 4000
    kernel = gs.Linear() if tails else gs.Gaussian(width)
    y = (rng.random(n) < positive).astype(int)
    y[:4] = 0, 1, 0, 1
    noise = rng.standard_t(2.5, size=(n, 2)) if tails else rng.normal(size=(n, 2))
    X = noise + MEANS[y]
    options = {"sample_weight": 10.0 ** rng.uniform(-2, 2, n)} if weights else {}
    # a tenth of all pairs
    budget = {"rows": 256, "pairs": n**2 / 20, "tolerance": 0.02}
    seed = int(rng.integers(2**31))
    estimates = gs.estimate(
        {"k": kernel}, X, y, measure, **budget, random_state=seed, n_jobs=1, **options
    )
    interval = estimates["k", measure].interval()
    if interval is None:  # "cannot be told from so few rows" is no broken promise
        return True
    exact = gs.evaluate({"k": kernel}, X, y, measures=measure, folds=0, n_jobs=1, **options)
    return interval[0] <= exact["k", measure].value <= interval[1]
