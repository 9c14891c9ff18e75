"""Errors: folds that are left out, and p-values that are those of all orders of the labels."""

import tracemalloc
from itertools import permutations

import numpy as np
import pytest

import gramsmith as gs
from gramsmith.evaluation import errors
from gramsmith.evaluation.errors import (
    assign_folds,
    interval,
    jackknife,
    pvalue,
    shuffled_values,
    without_fold,
)
from gramsmith.measures import MEASURES
from gramsmith.moments import Moments
from gramsmith.targets import make_target
from oracle import textbook as tb


def targets(X):
    return {
        "classes": (X[:, 0] * X[:, 1] > 0).astype(int),
        "three classes": np.arange(len(X)) % 3,
        "values": X[:, 0] ** 2 + 5.0,
        "outputs": X[:, :2] - 3.0,
        "labels": (X[:, :2] > 0).astype(int),
    }


@pytest.mark.parametrize("kernel", [gs.Gaussian(), gs.Linear()], ids=str)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", targets(np.zeros((6, 3))))
def test_the_rest_is_measured_as_if_it_were_alone(kind, weighted, kernel, rng):
    X = rng.normal(size=(45, 3))
    w = 1.0 + np.arange(45) % 3 if weighted else None
    goal = make_target(targets(X)[kind], sample_weight=w)
    fold = np.sort(rng.integers(0, 4, size=45))
    moments = gs.Gram(kernel, X).moments(goal, fold=fold)
    for f in range(4):
        index = np.flatnonzero(fold != f)
        part, rest = without_fold(moments, goal, f)
        alone = make_target(targets(X)[kind][index], sample_weight=None if w is None else w[index])
        direct = gs.Gram(kernel, X[index]).moments(alone)
        for measure in MEASURES.values():
            if goal.kind in measure.kinds and not (kind == "outputs" and measure.name == "fsm"):
                expected = measure.value(direct, alone)
                assert measure.value(part, rest) == pytest.approx(expected, rel=1e-9), measure.name


@pytest.mark.parametrize("measure", ["kta", "cka", "cka_debiased", "csm", "fsm"])
def test_errors_of_a_regression_are_the_textbook_jackknife(measure, rng):
    X = rng.normal(size=(40, 3))
    y = X[:, 0] + 4.0
    cell = gs.evaluate([gs.Linear()], X, y, measures=[measure], folds=5)
    order, fold = assign_folds(make_target(y), 5, np.random.RandomState(0))
    textbook = {
        "kta": lambda K, y: tb.kta(K, tb.target_matrix(y, "regression")),
        "cka": lambda K, y: tb.cka(K, tb.target_matrix(y, "regression")),
        "cka_debiased": lambda K, y: tb.cka_debiased(K, tb.target_matrix(y, "regression")),
        "csm": tb.csm_regression,
        "fsm": tb.fsm_regression,
    }[measure]
    K = X[order] @ X[order].T
    expected = tb.jackknife_error(textbook, K, y[order], fold)
    assert next(iter(cell.cells.values())).error == pytest.approx(expected, rel=1e-8)


def test_values_that_are_constant_without_a_fold_have_no_error(rng):
    X = rng.normal(size=(20, 2))
    y = np.full(20, 0.3)
    y[7] = 0.7
    with pytest.raises(ValueError, match="target that varies"):
        MEASURES["cka"].value(*_leave_out_the_odd_one(X, y))
    assert gs.evaluate({"k": gs.Gaussian()}, X, y)["k", "cka"].error is None


def _leave_out_the_odd_one(X, y):
    fold = np.zeros(20, dtype=int)
    fold[-1] = 1
    order = np.r_[np.delete(np.arange(20), 7), 7]
    goal = make_target(y[order])
    return without_fold(gs.Gram(gs.Gaussian(), X[order]).moments(goal, fold=fold), goal, 1)


def test_folds_are_drawn_without_a_look_at_the_classes():
    y = np.repeat([0, 1], [20, 10])
    order, fold = assign_folds(make_target(y), 5, np.random.RandomState(0))
    assert (np.diff(fold) >= 0).all()
    assert np.bincount(fold).tolist() == [6] * 5
    assert len({tuple(np.bincount(y[order[fold == f]], minlength=2)) for f in range(5)}) > 1
    assert assign_folds(make_target(y), 0, None) == (None, None)


def test_rows_of_weight_zero_fill_no_fold():
    w = np.ones(40)
    w[:30] = 0.0
    order, fold = assign_folds(
        make_target(np.arange(40) % 2, sample_weight=w), 10, np.random.RandomState(0)
    )
    assert np.bincount(fold[np.isin(order, np.arange(30, 40))]).tolist() == [1] * 10


def test_folds_hold_whole_groups(rng):
    groups = rng.integers(0, 25, size=200)
    goal = make_target(rng.integers(0, 2, size=200))
    order, fold = assign_folds(goal, 10, np.random.RandomState(0), groups)
    for group in range(25):
        assert len(set(fold[groups[order] == group])) == 1
    assert np.bincount(fold).max() <= 1.5 * np.bincount(fold).min()
    assert assign_folds(goal, 10, np.random.RandomState(0), groups % 4)[1].max() == 3
    with pytest.raises(ValueError, match="at least 2 groups"):
        assign_folds(goal, 10, np.random.RandomState(0), np.zeros(200))


def test_copies_that_are_one_group_are_not_more_certain(rng):
    X = rng.normal(size=(60, 2))
    y = (X[:, 0] + rng.normal(size=60) > 0).astype(int)
    again = np.repeat(np.arange(60), 6)
    single, copied, grouped = (
        gs.evaluate({"k": gs.Gaussian()}, X[rows], y[rows], measures=["cka"], folds=20, **options)[
            "k", "cka"
        ].error
        for rows, options in (
            (np.arange(60), {}),
            (again, {}),
            (again, {"groups": again}),
        )
    )
    assert copied < 0.6 * single
    assert 0.7 * single < grouped < 1.6 * single


def test_permutations_of_groups(rng):
    groups = np.repeat(np.arange(12), 10)
    centre = rng.normal(size=(12, 2))[groups]
    X = 3.0 * centre + rng.normal(size=(120, 2))
    y = rng.permutation(np.arange(12) % 2)[groups]
    options = {"measures": ["cka"], "n_permutations": 99}
    alone = gs.evaluate({"k": gs.Gaussian()}, X, y, **options)["k", "cka"].pvalue
    together = gs.evaluate({"k": gs.Gaussian()}, X, y, groups=groups, **options)["k", "cka"].pvalue
    assert alone == 0.01  # every group is a cluster: its label is seen ten times
    assert together > 0.05
    path = gs.bandwidth_path(X, y, groups=groups, n_bandwidths=3, **options)
    assert all(cell.pvalue > 0.05 for cell in path.cells.values())
    with pytest.raises(ValueError, match="one target per group"):
        gs.evaluate({"k": gs.Gaussian()}, X, X[:, 0] > 0, groups=groups, **options)
    with pytest.raises(ValueError, match="one group per sample"):
        gs.evaluate({"k": gs.Gaussian()}, X, y, groups=groups[:-1])


def test_interval_formula():
    values = np.array([0.9, 1.1, 1.0, 1.2])
    low, high = interval(1.05, values)
    assert low < 1.05 - 2 * jackknife(values) < 1.05 + 2 * jackknife(values) < high
    assert 1.05 / low == pytest.approx(high / 1.05, rel=0.2)  # nearly that of the logarithm
    low, high = interval(0.0, values - 1.05)
    assert low == pytest.approx(-high)
    narrow = interval(1.05, values, 0.5)
    assert narrow[0] > interval(1.05, values)[0]
    assert interval(0.5, np.full(5, 0.5)) == (0.5, 0.5)
    assert interval(np.inf, values) is None
    assert interval(1.0, np.array([1.0, np.inf])) is None
    with pytest.raises(ValueError, match="between 0 and 1"):
        interval(1.0, values, 95)


def test_jackknife_formula():
    values = np.array([1.0, 2.0, 4.0])
    assert jackknife(values) == pytest.approx(np.sqrt(2 / 3 * np.sum((values - 7 / 3) ** 2)))
    assert jackknife(np.array([1.0, np.inf])) is None
    assert jackknife(np.array([1.0])) is None


@pytest.mark.parametrize("scale", [1.0, 1e-13])
@pytest.mark.parametrize("measure", ["kta", "polarity"])
def test_shuffles_that_give_the_same_target_count_as_equal(measure, scale):
    Z = np.array([[0.1], [0.2], [0.35], [1.1], [1.4], [1.7]])
    y = np.array([0, 0, 0, 1, 1, 1])
    kernel = scale * gs.Gaussian(0.7)
    K = kernel(Z)
    textbook = {"kta": tb.kta, "polarity": tb.polarity}[measure]
    best = textbook(K, y)
    orders = [textbook(K, y[list(order)]) for order in permutations(range(6))]
    exact = np.mean([v >= best * (1 - 1e-9) for v in orders])
    table = gs.evaluate({"k": kernel}, Z, y, measures=[measure], n_permutations=2000)
    assert exact == 0.1
    assert table["k", measure].pvalue == pytest.approx(exact, abs=0.02)


def test_p_value_of_every_orientation():
    shuffled = np.array([0.1, 0.2, 0.3, np.nan])
    assert pvalue(MEASURES["cka"], 0.25, shuffled) == 3 / 5
    assert pvalue(MEASURES["fsm"], 0.25, shuffled) == 4 / 5
    assert pvalue(MEASURES["fsm"], np.inf, shuffled) == 1.0
    assert pvalue(MEASURES["fsm"], 0.25, np.full(4, np.inf)) == 1 / 5


def test_values_are_those_of_the_shuffled_targets_however_they_are_cut(watched, rng):
    X = rng.normal(size=(30, 2))
    goal = make_target(X[:, 0] + 1.0, sample_weight=np.arange(30) % 2)
    measures = [MEASURES["cka"], MEASURES["kta"]]
    kernels, sweeps = [gs.Gaussian(), gs.Linear()], watched(gs.Gram, "moments")
    whole, cut = (
        shuffled_values(
            gs.Gram(kernels, X, memory=m, n_jobs=1), goal, measures, 7, np.random.RandomState(0)
        )
        for m in (None, 0.04)
    )
    swept = [len(call["target"]) for call in sweeps]
    assert swept[0] == 7
    assert max(swept[1:]) < 7
    assert cut == pytest.approx(whole)
    for w in (None, np.arange(30) % 3):
        goal = make_target(X[:, 0] + 1.0, sample_weight=w)
        values = shuffled_values(gs.Gram(kernels, X), goal, measures, 1, np.random.RandomState(0))
        first = next(errors._shuffled(goal, 1, np.random.RandomState(0)))
        expected = tb.weighted_measure("kta", gs.Gaussian()(X), first.V[:, 1], "values", first.w)
        assert values[0, 0, 1] == pytest.approx(expected)


WEIGHTS = {
    "balanced": lambda y, rng: np.where(y, 0.5 / y.mean(), 0.5 / (1 - y.mean())),
    "five for one": lambda y, rng: np.where(y, 5.0, 1.0),
    "and noise": lambda y, rng: np.where(y, 5.0, 1.0) * np.exp(rng.normal(size=len(y))),
}


@pytest.mark.parametrize(
    ("runs", "n", "count"), [(40, 30, 19), pytest.param(500, 100, 59, marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("share", [0.1, 0.5])
def test_p_values_of_noise_are_as_small_as_they_say(weights, share, runs, n, count):
    rng, names = np.random.default_rng(1), ["hsic", "mmd", "kta", "cka", "fsm_loo"]
    small = np.zeros(len(names))
    for _ in range(runs):
        X, y = rng.normal(size=(n, 2)), rng.permutation(np.arange(n) < share * n)
        table = gs.evaluate(
            {"k": gs.Gaussian()},
            *(X, y),
            measures=names,
            folds=0,
            n_permutations=count,
            sample_weight=WEIGHTS[weights](y, rng),
            random_state=int(rng.integers(2**31)),
            n_jobs=1,
        )
        small += [table["k", name].pvalue <= 0.05 for name in names]
    # 3.5 Monte Carlo errors of a share of 5 %
    assert np.abs(small / runs - 0.05).max() <= 3.5 * np.sqrt(0.05 * 0.95 / runs) + 0.5 / runs


def test_memory_stays_within_the_budget(rng):
    X = rng.normal(size=(400, 2))
    y = rng.integers(0, 2, size=400)
    kernels = [gs.Gaussian(), gs.Laplacian(), gs.Matern()]
    gs.evaluate(kernels, X, y, measures=["cka"], n_permutations=2, memory=12, n_jobs=1)
    tracemalloc.start()
    gs.evaluate(kernels, X, y, measures=["cka"], n_permutations=800, memory=12, n_jobs=1, folds=0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 16 * 2**20  # all at once it would be 70


@pytest.mark.parametrize("count", [-5, 2.5, True])
def test_bad_counts(count, rng):
    with pytest.raises(ValueError, match="permutations to be a whole number >= 0"):
        gs.evaluate(
            [gs.Gaussian()], rng.normal(size=(9, 2)), np.arange(9) % 2, n_permutations=count
        )


@pytest.mark.parametrize("left_out", [False, True])
def test_many_kernels_are_measured_a_few_at_a_time(left_out, rng):
    """The sums over folds are a second result, if those of all kernels are held."""
    m, folds, n = 40, 5, 1500
    goal = make_target(np.arange(n) % 2)
    P, q = rng.random(size=(m, folds, n, 2)), np.full((m, m, folds, folds), 1e7)
    d, fold = np.ones((m, n)), np.arange(n) * folds // n
    moments = Moments(P, d, q, np.zeros((m, n)), np.zeros(m), fold)
    measure = errors.left_out_values if left_out else errors.values_of
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        measure(moments, goal, [MEASURES["cka"], MEASURES["fsm"]])
        peak = tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()
    assert peak < 0.6 * P[:, 0].nbytes
