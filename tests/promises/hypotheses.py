"""Aggregated permutation tests: how often they see what is not there."""

import numpy as np
import pandas as pd
from sklearn.pipeline import make_pipeline

import gramsmith as gs
from gramsmith.tables import TableEncoder
from promises import promise

CELLS = {
    f"{test} n_{n} {kind}".replace(" ", "_"): {"test": test, "n": n, "kind": kind}
    for test in ("two samples", "independence")
    for n in (20, 60, 200)
    for kind in ("normal", "ties", "groups", "strings")
}


def variable(rng, n, kind, columns):
    """Return n samples of a kind; groups of four (of two, where there are 20) are near copies."""
    if kind == "strings":
        return ["".join(rng.choice(list("abc"), size=6)) for _ in range(n)]
    X = rng.normal(size=(n, columns))
    if kind == "ties":
        return np.round(X)
    if kind == "groups":
        size = 2 if n == 20 else 4
        X = np.repeat(X[: n // size], size, axis=0) + 0.01 * X
    return X


@promise("aggregated test", runs=2000, **CELLS)
def aggregated_test(rng, test, n, kind):
    options = {"n_permutations": 99, "random_state": int(rng.integers(2**31))}
    X = variable(rng, n, kind, 2)
    if kind == "groups":
        options["groups"] = np.repeat(np.arange(n), 2 if n == 20 else 4)[:n]
    if test == "independence":
        return gs.independence_test(X, variable(rng, n, kind, 1), **options).pvalue <= 0.05
    half = n // 2 if n != 60 or kind != "groups" else 32  # groups lie in one sample
    return gs.two_sample_test(X[:half], X[half:], **options).pvalue <= 0.05


def rows(rng, n):
    """Return a table of numbers, categories (some of them rare), gaps, and a dependent target."""
    x = rng.normal(size=n)
    town = rng.choice(list("ABCDEFGHIJ"), n, p=[0.3, 0.3, 0.15, 0.1, *[0.025] * 6])
    gaps = np.where(rng.random(n) < 0.1, np.nan, rng.exponential(size=n))
    return pd.DataFrame({"x": x, "z": x + rng.normal(size=n), "town": town, "gaps": gaps})


DRIFT = {
    "tables": {"kind": "tables"},
    "tables_with_groups": {"kind": "groups"},
    "model": {"kind": "model"},
    "model_without_rows": {"kind": "model without rows"},
}


@promise("drift", **DRIFT)
def drift(rng, kind):
    sizes, groups = (120, 80), None
    if kind == "groups":  # five rows of each of 24 old and 16 new sites
        sizes, groups = (24, 16), "site"
    old, new = (rows(rng, n) for n in sizes)
    if groups:  # the rows of a site differ in x alone, by a third of what sites differ by
        sites = [side.loc[np.repeat(side.index, 5)] for side in (old, new)]
        sites = [s.assign(x=s.x + rng.normal(0, 0.3, len(s)), site=s.index) for s in sites]
        old, new = sites[0], sites[1].assign(site=sites[1].site + 24)
    reference = old
    if kind.startswith("model"):
        y = np.where(old.x + rng.normal(size=120) > 0, "yes", "no")
        machine = gs.KernelRidgeClassifier() if kind == "model" else gs.KernelSVC()
        reference = make_pipeline(TableEncoder(), machine).fit(old, y)
    seed = int(rng.integers(2**31))
    return gs.drift_test(reference, new, groups=groups, random_state=seed).pvalue <= 0.05
