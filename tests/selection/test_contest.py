"""The contest: paths of machines on shared Gram matrices."""

import warnings

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import cross_val_predict
from sklearn.svm import SVC

import gramsmith as gs
from gramsmith.selection import contest
from gramsmith.selection.judge import Judge


@pytest.fixture
def task(rng):
    X = rng.normal(size=(90, 2))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    return X, y, Judge("classification", y, np.array([0, 1]))


def enter(judge, Ks, starts, **options):
    rows = np.arange(judge.n)
    path = contest.svc_path(judge)
    return contest.compete("svc", path, Ks, starts, judge, rows, judge.splits(rows, 5), **options)


def test_losses_are_those_of_scikit_learn(task):
    X, y, judge = task
    K = rbf_kernel(X, gamma=1.0)
    [result] = enter(judge, [K], [np.array([2.0])])
    splits = judge.splits(np.arange(90), 5)
    found = cross_val_predict(SVC(C=2.0, kernel="precomputed"), K, y, cv=splits)
    assert result.loss == pytest.approx(np.mean(found != y))
    assert result.error > 0
    assert len(result.folds) == 5


def test_finer_values_are_tried_around_the_best(task):
    X, _, judge = task
    [result] = enter(judge, [rbf_kernel(X, gamma=1.0)], [contest.COARSE_C])
    assert len(result.path) in (len(contest.COARSE_C) + 2, len(contest.COARSE_C) + 3)
    assert result.loss == min(loss for _, loss in result.path)


def test_beaten_candidates_are_not_refined(task):
    X, _, judge = task
    good, bad = enter(judge, [rbf_kernel(X, gamma=1.0), X @ X.T], [contest.COARSE_C] * 2)
    assert contest.beaten(bad, good, judge)
    assert not contest.beaten(good, good, judge)
    assert len(bad.path) == len(contest.COARSE_C)


def test_threads_change_nothing(task):
    X, _, judge = task
    Ks = [rbf_kernel(X, gamma=g) for g in (0.3, 3.0)]
    one, two = (enter(judge, Ks, [contest.COARSE_C] * 2, workers=w) for w in (1, 2))
    assert [r.path for r in one] == [r.path for r in two]


def test_no_time_no_results(task):
    X, _, judge = task
    assert enter(judge, [X @ X.T], [contest.COARSE_C], in_time=lambda: False) == [None]


def test_ridge_solution(rng):
    X = rng.normal(size=(30, 2))
    y = X[:, 0] ** 2
    K = rbf_kernel(X, gamma=0.5)
    coef, intercept = contest.solve_ridge(K, y[:, None], np.ones(30), 0.1)
    residual = y - K @ coef[:, 0] - intercept
    np.testing.assert_allclose(residual, 0.1 * coef[:, 0], atol=1e-10)
    assert coef.sum() == pytest.approx(0.0, abs=1e-9)
    centred = KernelRidge(alpha=0.1, kernel="precomputed").fit(K, y - intercept)
    np.testing.assert_allclose(coef[:, 0], centred.dual_coef_, atol=1e-9)


def test_support_vector_regression_resists_outliers(rng):
    X = rng.normal(size=(120, 1))
    y = X[:, 0].copy()
    y[::12] += 20.0
    judge = Judge("regression", y)
    rows = np.arange(120)
    splits = judge.splits(rows, 4)
    K = X @ X.T
    args = (judge, rows, splits)
    [svr] = contest.compete("svr", contest.svr_path(judge, 1.0), [K], [np.array([1.0])], *args)
    [ridge] = contest.compete("ridge", contest.ridge_path(judge), [K], [np.array([0.01])], *args)
    miss = [np.median(np.abs(r.held_out - X[r.tested, 0])) for r in (svr, ridge)]
    assert miss[0] < 0.5 * miss[1]


def test_class_missing_from_a_training_fold(rng):
    X = rng.normal(size=(40, 2))
    y = (X[:, 0] > 0).astype(int)
    y[7] = 2  # alone: in one fold it is only tested
    judge = Judge("classification", y, np.array(list("abc")))
    rows = np.arange(40)
    path = contest.svc_path(judge)
    [result] = contest.compete(
        "svc", path, [X @ X.T], [np.array([1.0])], judge, rows, judge.splits(rows, 4)
    )
    assert result.held_out.shape == (40, 3)
    assert result.loss < 0.3


def test_filters_of_warnings_are_left_as_they_were(rng):
    X = rng.normal(size=(500, 3))
    y = (X[:, 0] > 0).astype(int)
    before = list(warnings.filters)
    for _ in range(3):
        gs.rank_kernels(X, y, [gs.Gaussian(1.0), gs.Gaussian(2.0), gs.Linear()], n_jobs=4)
        assert list(warnings.filters) == before


def test_a_class_without_weight_is_no_class(rng):
    X, y = rng.normal(size=(90, 2)), np.arange(90) % 3
    w = np.where(y == 2, 0.0, 1.0)
    model = gs.rank_kernels(X, y, [gs.Gaussian(1.0)], sample_weight=w).best_estimator
    assert set(model.predict(X)) <= {0, 1}
    assert model.predict_proba(X).shape == (90, 2)
