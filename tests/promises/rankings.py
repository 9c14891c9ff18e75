"""Rankings: the score to expect of new rows, claims on noise, invariances."""

import numpy as np
from sklearn.metrics import get_scorer
from sklearn.model_selection import TimeSeriesSplit

import gramsmith as gs
from promises import promise

# Three kernels of different width: the choice is real and a run takes tenths of a second.
KERNELS = {"narrow": gs.Gaussian(0.5), "wide": gs.Gaussian(2.0), "linear": gs.Linear()}
FRESH = 8000  # so many that their own scatter does not count


def values(rng, n, skewed):
    """Return rows and a target that is linear or an exponential, with noise."""
    X = rng.normal(size=(n, 2))
    signal = np.exp(X[:, 0]) if skewed else X[:, 0]
    return X, signal + 0.5 * rng.normal(size=n)


def classes(rng, n, positive, separation):
    """Return rows of two classes around means that are some deviations apart."""
    y = (rng.random(n) < positive).astype(int)
    y[:12] = np.arange(12) % 2
    X = rng.normal(size=(n, 2))
    X[:, 0] += separation * y
    return X, y


@promise(
    "interval of the expected score",
    accuracy_n_60={"scoring": "accuracy", "n": 60},
    accuracy_n_200={"scoring": "accuracy", "n": 200},
    accuracy_n_600={"scoring": "accuracy", "n": 600},
    accuracy_near_1_n_100={"scoring": "accuracy", "n": 100, "separation": 4.0},
    balanced_accuracy_n_200={"scoring": "balanced_accuracy", "n": 200, "positive": 0.2},
    f1_n_200={"scoring": "f1", "n": 200, "positive": 0.3},
    log_loss_n_200={"scoring": "neg_log_loss", "n": 200},
    groups_n_200={"scoring": "accuracy", "n": 200, "groups": 40},
    weights_n_200={"scoring": "accuracy", "n": 200, "weights": True},
    folds_of_time_n_200={"scoring": "accuracy", "n": 200, "cv": TimeSeriesSplit(5)},
    r2_linear_n_80={"scoring": "r2", "n": 80},
    r2_linear_n_600={"scoring": "r2", "n": 600},
    r2_folds_of_time_n_200={"scoring": "r2", "n": 200, "cv": TimeSeriesSplit(5)},
    mean_absolute_error_n_80={"scoring": "neg_mean_absolute_error", "n": 80},
)
def interval_of_the_estimate(
    rng, scoring, n, positive=0.5, separation=1.5, groups=0, weights=False, cv=None
):
    regression = scoring in ("r2", "neg_mean_absolute_error")

    def draw(n):
        return values(rng, n, False) if regression else classes(rng, n, positive, separation)

    options = {"cv": cv}
    if weights:
        options["sample_weight"] = rng.uniform(0.2, 2.0, n)
    if groups:  # every row of a group is the same but for a little noise
        X, y = draw(groups)
        codes = np.repeat(np.arange(groups), n // groups)
        X, y = X[codes] + 0.05 * rng.normal(size=(n, 2)), y[codes]
        options["groups"] = codes
    else:
        X, y = draw(n)
    ranking = gs.rank_kernels(X, y, KERNELS, scoring=scoring, n_jobs=1, **options)
    truth = get_scorer(scoring)(ranking.best_estimator, *draw(FRESH))
    return ranking.estimate.low <= truth <= ranking.estimate.high


@promise("interval of the next period", accuracy_drift_n_100={"n": 100, "drift": 0.5})
def interval_of_the_next_period(rng, n, drift):
    """The last tenth of the rows is what comes next; an input has another level in every tenth."""
    period = n // 10
    X, y = classes(rng, n + period, 0.5, 1.5)
    X[:, 0] += drift * np.repeat(rng.normal(size=11), period)
    past = {"time_order": np.arange(n), "scoring": "accuracy", "n_jobs": 1}
    ranking = gs.rank_kernels(X[:n], y[:n], KERNELS, **past)
    truth = np.mean(ranking.best_estimator.predict(X[n:]) == y[n:])
    # a score of ten rows may be an end of the interval but for rounding
    return ranking.estimate.low - 1e-9 <= truth <= ranking.estimate.high + 1e-9


@promise(
    "interval of R² for a skewed target",
    n_80={"n": 80},
    n_600={"n": 600},
)
def interval_of_r2(rng, n):
    X, y = values(rng, n, True)
    ranking = gs.rank_kernels(X, y, KERNELS, scoring="r2", n_jobs=1)
    truth = get_scorer("r2")(ranking.best_estimator, *values(rng, 5 * FRESH, True))
    return ranking.estimate.low <= truth <= ranking.estimate.high


@promise(
    "expected score on noise",
    accuracy_n_60={"scoring": "accuracy", "n": 60},
    accuracy_n_600={"scoring": "accuracy", "n": 600},
    balanced_accuracy_n_600={"scoring": "balanced_accuracy", "n": 600},
    roc_auc_n_600={"scoring": "roc_auc", "n": 600},
)
def noise(rng, scoring, n):
    """Chance is right for half of the rows, whatever was chosen."""
    X, y = rng.normal(size=(n, 4)), rng.permutation(np.arange(n) % 2)
    return gs.rank_kernels(X, y, KERNELS, scoring=scoring, n_jobs=1).estimate.value - 0.5


@promise("better than the commonest answer, on noise", n_100={"n": 100})
def claims(rng, n):
    X, y = rng.normal(size=(n, 4)), rng.permutation(np.arange(n) % 2)
    return bool(gs.rank_kernels(X, y, KERNELS, n_jobs=1).estimate.beats_baseline)


@promise(
    "a selected model does not change",
    unit_of_the_inputs={"change": "unit"},
    unit_of_the_target={"change": "target"},
)
def invariance(rng, change):
    X, Z = np.exp(rng.normal(size=(60, 3))), np.exp(rng.normal(size=(20, 3)))
    y = np.log(X[:, 0]) + 0.3 * rng.normal(size=60)

    def predictions(X, y, Z):
        return gs.KernelSelector(scoring="r2", random_state=0, n_jobs=1).fit(X, y).predict(Z)

    before = predictions(X, y, Z)
    if change == "unit":
        units = [1e-6, 1.0, 1e6]
        after = predictions(X * units, y, Z * units)
    else:
        after = 1e9 * predictions(X, 1e-9 * y, Z)
    # a choice among equally good kernels turns on rounding, and then moves predictions a little
    return bool(np.sqrt(np.mean((before - after) ** 2)) < 0.02 * y.std())
