"""Guarantees: sets of classes, widths that follow the rows, novelty, thresholds, by fresh rows."""

import warnings

import numpy as np

import gramsmith as gs
from promises import promise

KERNELS = {"narrow": gs.Gaussian(1.0), "wide": gs.Gaussian(3.0)}
FRESH = 2000  # rows that stand for all rows to come


def selector(**options):
    return gs.KernelSelector(KERNELS, n_jobs=1, **options)


def classes(rng, n, groups=0, rare=0.2):
    """Return rows of two classes; those of a group share most of what is not in the columns."""
    y = (rng.uniform(size=n) < rare).astype(int)
    X = rng.normal(size=(n, 2)) + 1.5 * y[:, None]
    if groups:
        member = np.arange(n) % groups
        X += 0.8 * rng.normal(size=(groups, 2))[member]
        return X, y, member
    return X, y, None


@promise(
    "set of classes",
    rare_class_n_60={"n": 60},
    groups_20={"n": 100, "groups": 20, "rare": 0.5},
)
def set_of_classes(rng, n, groups=0, rare=0.2):
    """One fresh row of the second class, of a new group, in a run."""
    X, y, member = classes(rng, n, groups, rare)
    if len(np.unique(y)) < 2:
        return True
    Z, truth, _ = classes(rng, 50, 50 if groups else 0, rare)
    place = np.flatnonzero(truth == 1)
    if not len(place):
        return True
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a class of too few rows is in every set
        inside = selector().fit(X, y, groups=member).predict_set(Z[place[:1]], coverage=0.9)
    return inside[0, 1]


@promise("width that follows", noisy_third={"part": 2})
def width_that_follows(rng, part, n=200):
    """One fresh row among the third of rows with the most, or the least, noise."""

    def draw(n, low=-2.0, high=2.0):
        X = np.column_stack([rng.uniform(-2, 2, n), rng.uniform(low, high, n)])
        return X, np.sin(2 * X[:, 0]) + (0.1 + 0.2 * (X[:, 1] + 2)) * rng.normal(size=n)

    ends = np.linspace(-2, 2, 4)
    model = selector().fit(*draw(n))
    Z, truth = draw(1, ends[part], ends[part + 1])
    low, high = model.predict_interval(Z, coverage=0.9)[0]
    return low <= truth[0] <= high


@promise("threshold table", recall={"what": "recall"})
def threshold(rng, what, n=200):
    """The interval for a fifth of the rows holds what the threshold does to many fresh rows."""
    X, y, _ = classes(rng, n, rare=0.3)
    model = selector().fit(X, y)
    [row] = gs.threshold_table(model, of=1, shares=[0.2]).rows
    Z, truth, _ = classes(rng, FRESH, rare=0.3)
    flag = model.predict_proba(Z)[:, 1] >= row.threshold
    share = np.mean(flag[truth == 1]) if what == "recall" else np.mean(truth[flag] == 1)
    return getattr(row, f"{what}_low") <= share <= getattr(row, f"{what}_high")
