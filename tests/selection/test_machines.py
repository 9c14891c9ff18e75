"""Machines: cross-validation on shared Gram matrices, and the winner."""

import warnings

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import cross_val_predict
from sklearn.svm import SVC, NuSVC

import gramsmith as gs
from gramsmith.gram import Threads
from gramsmith.machines.base import KernelClassifier
from gramsmith.selection import machines, sizes
from gramsmith.selection.candidates import Candidate
from gramsmith.selection.first_check import check_candidates
from gramsmith.selection.samples import Samples
from gramsmith.selection.task import Task
from gramsmith.selection.ties import beaten
from gramsmith.selection.work import Work


@pytest.fixture
def task(rng):
    X = rng.normal(size=(90, 2))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    return X, y, Task("classification", y, np.array([0, 1]))


def enter(task, Ks, starts, **options):
    rows = np.arange(task.n)
    path = machines.svc_path(task)
    return machines.cross_validate(
        "svc", path, Ks, starts, task, rows, task.splits(rows, 5), **options
    )


def test_losses_are_those_of_scikit_learn(task):
    X, y, task = task
    K = rbf_kernel(X, gamma=1.0)
    [result] = enter(task, [K], [np.array([2.0])])
    splits = task.splits(np.arange(90), 5)
    found = cross_val_predict(SVC(C=2.0, kernel="precomputed"), K, y, cv=splits)
    assert result.loss == pytest.approx(np.mean(found != y))
    assert result.error > 0
    assert len(result.record.training) == 5


def test_finer_values_are_tried_around_the_best(task):
    X, _, task = task
    [result] = enter(task, [rbf_kernel(X, gamma=1.0)], [machines.COARSE_C])
    settings = result.record.settings
    assert len(settings) in (len(machines.COARSE_C) + 2, len(machines.COARSE_C) + 3)
    assert (np.diff(settings) > 0).all()
    assert result.loss == min(result.losses)
    assert result.record.values.shape == (len(settings), 90)


def test_beaten_candidates_are_not_refined(task):
    X, _, task = task
    good, bad = enter(task, [rbf_kernel(X, gamma=1.0), X @ X.T], [machines.COARSE_C] * 2)
    assert beaten(bad, good, task)
    assert not beaten(good, good, task)
    assert len(bad.losses) == len(machines.COARSE_C)


def test_threads_change_nothing(task):
    X, _, task = task
    Ks = [rbf_kernel(X, gamma=g) for g in (0.3, 3.0)]
    places = (None, Work(engine=Threads(2)))
    one, two = (enter(task, Ks, [machines.COARSE_C] * 2, work=work) for work in places)
    for a, b in zip(one, two, strict=True):
        assert (a.record.values == b.record.values).all()
        assert a.setting == b.setting


def test_no_time_no_results(task):
    X, _, task = task
    assert enter(task, [X @ X.T], [machines.COARSE_C], work=Work(time_budget=0.0)) == [None]


def test_ridge_solution(rng):
    X = rng.normal(size=(30, 2))
    y = X[:, 0] ** 2
    K = rbf_kernel(X, gamma=0.5)
    coef, intercept = machines.solve_ridge(K, y[:, None], np.ones(30), 0.1)
    residual = y - K @ coef[:, 0] - intercept
    np.testing.assert_allclose(residual, 0.1 * coef[:, 0], atol=1e-10)
    assert coef.sum() == pytest.approx(0.0, abs=1e-9)
    centred = KernelRidge(alpha=0.1, kernel="precomputed").fit(K, y - intercept)
    np.testing.assert_allclose(coef[:, 0], centred.dual_coef_, atol=1e-9)


def test_support_vector_regression_resists_outliers(rng):
    X = rng.normal(size=(120, 1))
    y = X[:, 0].copy()
    y[::12] += 20.0
    task = Task("regression", y)
    rows = np.arange(120)
    splits = task.splits(rows, 4)
    K = X @ X.T
    args = (task, rows, splits)
    [svr] = machines.cross_validate("svr", machines.svr_path(task), [K], [np.array([1.0])], *args)
    [ridge] = machines.cross_validate(
        "ridge", machines.ridge_path(task), [K], [np.array([0.01])], *args
    )
    records = [r.record for r in (svr, ridge)]
    miss = [np.median(np.abs(r.values[0] - X[r.rows, 0])) for r in records]
    assert miss[0] < 0.5 * miss[1]


def test_class_missing_from_a_training_fold(rng):
    X = rng.normal(size=(40, 2))
    y = (X[:, 0] > 0).astype(int)
    y[7] = 2  # alone: in one fold it is only tested
    task = Task("classification", y, np.array(list("abc")))
    rows = np.arange(40)
    path = machines.svc_path(task)
    [result] = machines.cross_validate(
        "svc", path, [X @ X.T], [np.array([1.0])], task, rows, task.splits(rows, 4)
    )
    assert result.record.values.shape == (1, 40, 3)
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


def winner(X, task, kernel):
    candidate, samples = Candidate("c", kernel, "c"), Samples((X,))
    [check] = check_candidates([candidate], samples, task)
    return machines.fit_winner(candidate, check, None, samples, task)


def test_winner_on_landmarks(rng, monkeypatch):
    monkeypatch.setattr(sizes, "EXACT_ROWS", 100)
    X = rng.normal(size=(150, 2))
    y = np.sin(X[:, 0]) + 0.2 * rng.normal(size=150)
    machine = winner(X, Task("regression", y), gs.Gaussian(1.0))
    assert machine.solver_ == "nystroem"
    exact = gs.KernelRidgeRegressor(gs.Gaussian(1.0), alpha=machine.alpha_).fit(X, y)
    np.testing.assert_allclose(machine.predict(X), exact.predict(X), atol=1e-4)
    assert machine.n_samples_fit_ == 150


def test_strings_on_landmarks(monkeypatch):
    monkeypatch.setattr(sizes, "EXACT_ROWS", 20)
    X = ["abab", "baba", "abba", "cdcd", "dcdc", "cddc"] * 5
    y = np.array([0, 0, 0, 1, 1, 1] * 5)
    task = Task("classification", y, np.array(["ab", "cd"]))
    machine = winner(X, task, gs.Normalized(gs.Spectrum(2)))
    assert machine.predict(["ababab", "cdcd"]).tolist() == ["ab", "cd"]


def test_threshold_and_probabilities_on_landmarks(rng, monkeypatch):
    monkeypatch.setattr(sizes, "EXACT_ROWS", 100)
    monkeypatch.setattr(sizes, "LANDMARKS", 60)
    X = np.sort(rng.normal(size=(300, 1)), axis=0)  # classes one after the other
    y = (X[:, 0] + 0.3 * rng.normal(size=300) > 1.0).astype(int)
    errors, shares = [], []
    for scoring in (None, "balanced_accuracy"):
        task = Task("classification", y, np.array([0, 1]), scoring=scoring)
        machine = winner(X, task, gs.Gaussian(1.0))
        guess = machine.predict(X)
        errors.append([np.mean(guess[y == c] != c) for c in (0, 1)])
        shares.append(machine.predict_proba(X)[:, 1])
    assert np.mean(errors[1]) < np.mean(errors[0])  # the rare class counts as much
    for share in shares:  # the threshold moves the decision, not the probability
        assert share.mean() == pytest.approx(y.mean(), abs=0.02)


def test_rows_of_no_weight_do_not_calibrate(rng, monkeypatch):
    monkeypatch.setattr(sizes, "EXACT_ROWS", 100)
    X, w = rng.normal(size=(200, 2)), np.r_[np.zeros(50), np.ones(150)]
    y = (X[:, 0] > 0).astype(int)
    y[:50] = rng.integers(0, 2, 50)
    task = Task("classification", y, np.array([0, 1]), w)
    some = winner(X, task, gs.Gaussian(1.0)).predict_proba(X[50:])
    rest = Task("classification", y[50:], np.array([0, 1]))
    same = winner(X[50:], rest, gs.Gaussian(1.0)).predict_proba(X[50:])
    np.testing.assert_allclose(some, same, atol=1e-6)


class MeanDifference(KernelClassifier):
    """A machine of a user's own: the nearer of two class means."""

    def solve(self, K, y, w):
        means = np.column_stack([np.where(y == c, w, 0.0) / w[y == c].sum() for c in (0, 1)])
        squares = np.diagonal(means.T @ K @ means)
        return means[:, [1]] - means[:, [0]], np.array([0.5 * (squares[0] - squares[1])])


@pytest.mark.parametrize("machine", [MeanDifference(), SVC(C=3.0), NuSVC(nu=0.3)])
def test_machine_of_the_user(task, machine):
    X, y, _ = task
    kernels = {"narrow": gs.Gaussian(0.7), "linear": gs.Linear()}
    found = gs.rank_kernels(X, y, kernels, machine=machine)
    best = found.records[0]
    assert best["kernel"] == "narrow"
    assert best["machine"] == type(machine).__name__ == type(found.best_estimator[-1]).__name__
    assert best["machine"] in found.verdict
    splits = Task("classification", y, np.array([0, 1])).splits(np.arange(90), 5)
    Z = found.best_estimator[0].transform(X)
    mine = clone(machine).set_params(kernel="precomputed")
    held_out = cross_val_predict(mine, kernels["narrow"](Z), y, cv=splits)
    assert best["score"] == pytest.approx(np.mean(held_out == y))
    selector = gs.KernelSelector(kernels, machine=machine).fit(X, y)
    assert (selector.predict(X) == found.best_estimator.predict(X)).all()


def test_machine_of_the_user_for_values(rng):
    X = rng.normal(size=(80, 2))
    y, w = np.sin(2.0 * X[:, 0]), rng.uniform(0.5, 2.0, 80)
    ridge = KernelRidge(alpha=0.1)
    found = gs.rank_kernels(X, y, ["rbf", "linear"], machine=ridge, sample_weight=w)
    assert found.records[0]["kernel"] == "rbf"
    assert found.best_estimator.score(X, y) > 0.8


def test_a_machine_may_say_classes_only(rng):
    """Labels and probabilities will do where there are no decision values."""

    class Labels(ClassifierMixin, BaseEstimator):
        def __init__(self, kernel=None):
            self.kernel = kernel

        def fit(self, X, y):
            self.machine_ = MeanDifference(self.kernel).fit(X, y)
            return self

        def predict(self, X):
            return self.machine_.predict(X)

    X = rng.normal(size=(60, 2))
    y = np.where(X[:, 0] > 0, "b", "a")
    labels = gs.rank_kernels(X, y, ["linear"], machine=Labels())
    same = gs.rank_kernels(X, y, ["linear"], machine=MeanDifference())
    assert labels.records[0]["score"] == same.records[0]["score"]


@pytest.mark.parametrize(
    ("machine", "options", "message"),
    [
        (LogisticRegression(), {}, "parameter `kernel`"),
        (KernelRidge(), {}, "machine for classification"),
        (gs.KernelPerceptron(), {"class_weight": "balanced"}, "takes sample_weight"),
        ("svc", {}, "'machine' parameter"),
    ],
)
def test_other_machines_are_refused(rng, machine, options, message):
    X, y = rng.normal(size=(20, 2)), np.arange(20) % 3 % 2
    with pytest.raises(ValueError, match=message):
        gs.rank_kernels(X, y, machine=machine, **options)


def test_the_fit_on_landmarks_tells_how_far_it_is(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 2))
    y = X[:, 0] * X[:, 1] > 0
    for name, value in (("EXACT_ROWS", 300), ("LANDMARKS", 40), ("LANDMARK_ROWS", 300)):
        monkeypatch.setattr(f"gramsmith.selection.sizes.{name}", value)
    monkeypatch.setattr("gramsmith.machines.landmarks.BLOCK_ROWS", 100)
    news = []
    found = gs.rank_kernels(X, y, ["rbf", "linear"], progress=lambda *what: news.append(what))
    fit = [(done, total) for stage, done, total, _ in news if stage == "fit"]
    assert fit[:4] == [(0, 1500), (100, 1500), (200, 1500), (300, 1500)]
    assert len(fit) >= 11
    assert fit[-1] == (1, 1)
    assert all(done < total for done, total in fit[:-1])
    assert "_told" not in vars(
        found.best_estimator[-1] if hasattr(found.best_estimator, "steps") else found.best_estimator
    )


def test_fits_are_known_again_by_the_name_of_their_kernel(task):
    X, _, task = task
    wide, narrow = rbf_kernel(X, gamma=0.1), rbf_kernel(X, gamma=1.0)
    start, work = np.array([2.0]), Work(n_jobs=1, checkpoint={})
    enter(task, [wide], [start], names=["wide"], work=work)
    first = enter(task, [narrow, wide], [start, start], names=["narrow", "wide"], work=work)
    fresh = enter(task, [narrow, wide], [start, start])
    for found, expected in zip(first, fresh, strict=True):
        np.testing.assert_array_equal(found.record.values, expected.record.values)
