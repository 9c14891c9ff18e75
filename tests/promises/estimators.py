"""Estimators: probabilities and answers, invariances."""

import numpy as np

import gramsmith as gs
from promises import promise


@promise(
    "interval of a prediction",
    n_20={"n": 20},
    n_50={"n": 50},
    n_200={"n": 200},
    skewed_noise_n_100={"n": 100, "skewed": True},
    groups_20={"n": 100, "groups": 20},
    weights_of_log_deviation_1={"n": 100, "deviation": 1.0},
    weights_of_log_deviation_2={"n": 100, "deviation": 2.0},
)
def interval_of_prediction(rng, n, skewed=False, groups=0, deviation=0.0):
    """One fresh row in a run: the rows of one run would not be independent of each other."""
    codes = np.repeat(np.arange(groups), n // groups) if groups else np.arange(n)
    X = rng.uniform(-2, 2, size=(n + 1, 1))
    noise = rng.exponential(size=n + 1) - 1.0 if skewed else rng.normal(size=n + 1)
    if groups:  # a group shares most of its noise; the fresh row is of a new group
        noise = 0.9 * rng.normal(size=groups + 1)[np.r_[codes, groups]] + 0.436 * noise
    y = np.sin(2.0 * X[:, 0]) + 0.5 * noise
    options = {}
    if deviation:
        # rows are drawn so that the weighted sample looks like fresh rows
        options["sample_weight"] = np.exp(deviation * rng.normal(size=n))
    if groups:
        options["groups"] = codes
    ranking = gs.rank_kernels(
        X[:n], y[:n], {"narrow": gs.Gaussian(0.5), "wide": gs.Gaussian(2.0)}, n_jobs=1, **options
    )
    try:
        low, high = ranking.best_estimator.predict_interval(X[n:], coverage=0.9)[0]
    except ValueError as refusal:
        # so few rows have most of the weight that an interval would be infinite
        if not deviation or "Expected a coverage up to" not in str(refusal):
            raise
        return True
    return low <= y[n] <= high


@promise(
    "predictions do not change",
    offset_and_unit_of_the_inputs={"change": "inputs"},
    order_of_rows={"change": "rows"},
    rows_of_weight_zero={"change": "zero"},
    unit_of_the_target={"change": "target"},
)
def invariance(rng, change):
    n = int(rng.integers(20, 60))
    X, Z = rng.normal(size=(n, 3)), rng.normal(size=(5, 3))
    y = X[:, 0] + 0.3 * rng.normal(size=n)
    w = rng.uniform(0.1, 3.0, n)

    def values(X, y, w, Z):
        return gs.KernelRidgeRegressor(alpha="loo", n_jobs=1).fit(X, y, sample_weight=w).predict(Z)

    before = values(X, y, w, Z)
    if change == "inputs":
        after = values(7.0 * X + [1e3, 0.0, -20.0], y, w, 7.0 * Z + [1e3, 0.0, -20.0])
    elif change == "rows":
        order = rng.permutation(n)
        after = values(X[order], y[order], w[order], Z)
    elif change == "zero":
        after = values(np.r_[X, Z], np.r_[y, np.full(5, 9.0)], np.r_[w, np.zeros(5)], Z)
    else:
        after = values(X, 1e6 * y, w, Z) / 1e6
    return np.allclose(before, after, rtol=1e-5, atol=1e-6)


@promise("probabilities", answers_are_the_likelier_class={}, runs=400)
def answers_and_probabilities(rng):
    n, classes = int(rng.integers(40, 90)), int(rng.integers(2, 4))
    X = rng.normal(size=(n, 2))
    y = rng.choice(classes, p=[0.6, 0.4] if classes == 2 else [0.6, 0.3, 0.1], size=n)
    y[: 6 * classes] = np.tile(np.arange(classes), 6)
    X[:, 0] += y
    model = gs.rank_kernels(X, y, {"k": gs.Gaussian(1.0)}, n_jobs=1).best_estimator
    Z = rng.normal(size=(200, 2)) * 2.0
    P = model.predict_proba(Z)
    # where the calibration is flat both classes have one half
    answered = P[np.arange(200), np.searchsorted(model.classes_, model.predict(Z))]
    return bool((answered == P.max(1)).all())
