"""Folds: what is left of the sums without a fold is what the other samples give on their own."""

import numpy as np
import pytest

import gramsmith as gs
import textbook as tb
from gramsmith.evaluation.folds import assign_folds, without_fold
from gramsmith.measures import MEASURES
from gramsmith.targets import make_target


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


def test_folds_keep_the_shares_of_the_classes():
    y = np.repeat([0, 1], [20, 10])
    order, fold = assign_folds(make_target(y), 5, np.random.RandomState(0))
    assert (np.diff(fold) >= 0).all()
    for f in range(5):
        assert np.bincount(y[order[fold == f]]).tolist() == [4, 2]
    assert assign_folds(make_target(y), 0, None) == (None, None)
