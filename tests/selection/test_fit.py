"""Verified and fitted: folds from one decomposition, and a winner with what was verified."""

import warnings
from itertools import product

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import ShuffleSplit, cross_val_predict
from sklearn.svm import SVC, NuSVC

import gramsmith as gs
from gramsmith.machines.base import KernelClassifier
from gramsmith.selection import Work, rank, read
from gramsmith.selection.choose import choose
from gramsmith.selection.fit import delivered_record, fit_machines, rehearse
from gramsmith.selection.kinds import read_task
from gramsmith.selection.verify import _record, outermost, training_weights
from gramsmith.solvers import RidgePath


@pytest.fixture
def task(rng):
    X = rng.normal(size=(90, 2))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    return X, y, read_task(y)


def rows_of(kind, n, rng):
    X = rng.normal(size=(n, 3))
    y = X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=n)
    if kind == "classes":
        y = np.digitize(y, [-0.5, 0.5])
    if kind in ("two classes", "rare class"):
        y = (y > (0.8 if kind == "rare class" else 0.0)).astype(int)
    if kind == "labels":
        y = np.column_stack([y > 0, X[:, 0] > 0]).astype(int)
    if kind == "outputs":
        y = np.column_stack([y, 1e6 * X[:, 0] ** 2])
    return X, y


KINDS = ["values", "outputs", "two classes", "rare class", "classes", "labels"]
SIZES = ["all rows compared", "some rows compared", "landmarks"]
FOLDS = ["plain", "groups", "splitter", "periods"]


def parity(kind, size, folds, weighted):
    return (KINDS.index(kind) + SIZES.index(size) + FOLDS.index(folds) + weighted) % 2 == 0


@pytest.mark.parametrize(
    ("kind", "size", "folds", "weighted"),
    # half of all: every pair of two of the four
    [case for case in product(KINDS, SIZES, FOLDS, (False, True)) if parity(*case)],
)
def test_what_is_delivered_is_what_was_verified(kind, size, folds, weighted, rng, sizes):
    """Regularisers, weights of an average and the threshold are those of the held-out record."""
    if size != "all rows compared":
        sizes(COMPARE_ROWS=70, LANDMARK_ROWS=70)
    if size == "landmarks":
        sizes(EXACT_ROWS=80, LANDMARKS=40)
    X, y = rows_of(kind, 120, rng)
    options = {"groups": np.arange(120) // 4} if folds == "groups" else {}
    options |= {"cv": ShuffleSplit(3, random_state=0)} if folds == "splitter" else {}
    options |= {"time_order": rng.permutation(120)} if folds == "periods" else {}
    options |= {"scoring": "f1"} if kind == "rare class" else {}
    w = rng.uniform(0.5, 2.0, 120) if weighted else None
    kernels = [gs.Gaussian(1.0), gs.Gaussian(3.0), gs.Linear()]
    problem = read(X, y, kernels, sample_weight=w, nested=False, **options)
    ranking = rank(problem, Work(n_jobs=1), brief=True)
    found, model = ranking._findings, ranking.best_estimator
    model = getattr(model, "model_", model)
    machines = [m[-1] for m in getattr(model, "machines_", [model])]
    total = problem.task.weights.sum()
    for i, machine in zip(found.chosen, machines, strict=True):
        assert machine.alpha_ == pytest.approx(found.results[i].setting * total)
        assert machine.kernel_.get_params() == found.candidates[i].kernel.get_params()
        assert (machine.solver_ == "nystroem") == (size == "landmarks")
    if found.average is not None:
        np.testing.assert_allclose(model.weights_, list(found.average.weights.values()))
    if folds == "plain":  # whatever rows were compared, the estimate is of the delivered machine
        assert ranking.estimate.rows == 120
    # what is delivered says what these machines say, at the threshold of their record
    fitted = fit_machines(found, problem, Work(n_jobs=1))
    says = "decision_function" if hasattr(fitted[0], "decision_function") else "predict"
    views = (problem.samples.views[found.candidates[i].view] for i in found.chosen)
    parts = zip(found.chosen.values(), fitted, views, strict=True)
    f = sum(weight * getattr(machine, says)(view) for weight, machine, view in parts)
    task = problem.task
    cut = delivered_record(found, fitted, problem).threshold(task)
    if task.classes is None:
        f, told = task.as_given(f.reshape(120, -1)), ranking.best_estimator.predict(X)
    else:
        f, told = f - cut, ranking.best_estimator.decision_function(X)
    np.testing.assert_allclose(told, f, rtol=1e-6, atol=1e-6 * np.abs(f).max())
    if kind == "rare class" and folds == "plain":
        assert cut != 0.0


def test_the_headline_describes_the_machine_of_all_rows(sizes):
    """From more rows than are compared on, the estimate is that of the machine of all rows."""
    sizes(COMPARE_ROWS=100)
    rng = np.random.default_rng(1)
    X = rng.normal(size=(4600, 4))
    y = np.sin(2.0 * X[:, 0]) + np.sin(2.0 * X[:, 1]) + 0.3 * rng.normal(size=4600)
    ranking = gs.rank_kernels(X[:600], y[:600], [gs.Gaussian(1.0)])
    truth = ranking.best_estimator.score(X[600:], y[600:])
    compared = ranking.records[0]["score"]
    assert ranking.estimate.rows == 600
    assert compared < truth - 0.1  # a machine of 80 rows
    assert ranking.estimate.value == pytest.approx(truth, abs=0.04)


def test_groups_past_the_exact_rows(sizes):
    """The regulariser of grouped folds is fitted, not that of rows left out one by one."""
    sizes(EXACT_ROWS=300, LANDMARKS=200)
    rng = np.random.default_rng(0)

    def draw(groups, rows=10):
        g = np.repeat(np.arange(groups), rows)
        X = rng.normal(size=(groups, 5))[g] + 0.05 * rng.normal(size=(len(g), 5))
        return X, X[:, 0] + 1.5 * rng.normal(size=groups)[g] + 0.1 * rng.normal(size=len(g)), g

    X, y, g = draw(60)
    new, truth, _ = draw(300)
    ranking = gs.rank_kernels(X, y, [gs.Gaussian(1.0)], groups=g)
    error = float(np.mean((ranking.best_estimator.predict(new) - truth) ** 2)) / truth.var()
    assert error < 1.1  # with leave-one-out far above
    assert ranking.estimate.low < 1.0 - error < ranking.estimate.high


@pytest.mark.parametrize("classes", [2, 3])
def test_answers_agree_with_probabilities(classes, rng):
    X = rng.normal(size=(300, 3))
    y = np.digitize(X[:, 0] + 0.7 * rng.normal(size=300), [-1.2, 1.2][: classes - 1])
    model = gs.rank_kernels(X, y, ["rbf", "linear"]).best_estimator
    new = 0.5 * rng.normal(size=(4000, 3))
    p = model.predict_proba(new)
    assert (model.classes_[p.argmax(axis=1)] == model.predict(new)).all()
    if classes == 2:
        machine = model[-1] if hasattr(model, "steps") else model
        assert machine.answer_threshold_ == pytest.approx(0.5)
        balanced = gs.rank_kernels(X, y, ["rbf"], scoring="balanced_accuracy").best_estimator
        share = balanced[-1].answer_threshold_
        p = balanced.predict_proba(new)[:, 1]
        assert ((p > share) == (balanced.predict(new) == 1)).all()


def test_records_are_those_of_scikit_learn(task):
    X, y, task = task
    problem = read(X, y, [gs.Gaussian(1.0)])
    K = problem.candidates[0].kernel(problem.samples.views[0])
    splits = task.splits(np.arange(90), 5)
    record = _record(K, 1e-2, True, problem, np.arange(90), splits)
    tested = np.concatenate([test for _, test in splits])
    for k, alpha in enumerate(record.settings):
        for fold, (train, test) in enumerate(splits):
            machine = gs.KernelRidgeClassifier("precomputed", alpha=alpha * len(train))
            fitted = machine.fit(K[np.ix_(train, train)], y[train])
            f = fitted.decision_function(K[np.ix_(test, train)])
            np.testing.assert_allclose(record.values[k, record.fold == fold, 0], f, atol=1e-8)
    assert (record.rows == tested).all()


def test_folds_that_leave_rows_out_are_fitted_one_by_one(task):
    X, y, _ = task
    cv = ShuffleSplit(2, train_size=0.5, test_size=0.2, random_state=0)
    problem = read(X, y, [gs.Gaussian(1.0)], cv=cv)
    K = problem.candidates[0].kernel(problem.samples.views[0])
    splits = problem.task.splits(np.arange(90), 5)
    record = _record(K, 1e-2, True, problem, np.arange(90), splits)
    train, test = splits[0]
    machine = gs.KernelRidgeClassifier("precomputed", alpha=record.settings[2] * len(train))
    f = machine.fit(K[np.ix_(train, train)], y[train]).decision_function(K[np.ix_(test, train)])
    np.testing.assert_allclose(record.values[2, record.fold == 0, 0], f, atol=1e-8)


def test_the_outermost_samples(rng):
    X = np.r_[rng.normal(size=(30, 2)), 9.0 + rng.normal(size=(10, 2))]
    inner, outer = outermost(X @ X.T)
    assert sorted(outer) == list(range(30, 40))
    assert len(inner) == 30


def test_threads_change_nothing(task):
    X, y, _ = task
    problem = read(X, y, [gs.Gaussian(1.0), gs.Linear()])
    one, two = (choose(problem, Work(n_jobs=n)) for n in (1, 2))
    for i, result in one.results.items():
        assert (result.record.values == two.results[i].record.values).all()


def test_class_missing_from_a_training_fold(rng):
    X = rng.normal(size=(40, 2))
    y = (X[:, 0] > 0).astype(int)
    y[7] = 2  # alone: in one fold it is only tested
    ranking = gs.rank_kernels(X, y, [gs.Linear()], cv=4)
    result = ranking._findings.results[0]
    assert result.record.values.shape == (4, 40, 3)
    assert len(np.unique(result.record.fold)) == 4  # and it does not make two of them
    assert -result.loss > 0.7


def test_filters_of_warnings_are_left_as_they_were(rng):
    X = rng.normal(size=(510, 3))  # the choice is made once
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


def test_weights_below_one_are_weights():
    w = np.repeat([1.0, 3.0], 20)
    task = read_task(np.arange(40) % 2, sample_weight=w)
    np.testing.assert_allclose(training_weights(task, np.arange(20)), 0.5)
    np.testing.assert_allclose(training_weights(task, np.arange(40)), 0.5 * w)
    assert training_weights(read_task(np.arange(40) % 2), np.arange(20)) is None


def test_a_rehearsal_on_landmarks_goes_on_as_it_began(rng, sizes, monkeypatch):
    """A start of one second, and one for every thousand rows."""
    sizes(LANDMARKS=20)
    X = rng.normal(size=(9000, 2))
    problem = read(X, X[:, 0] > 0, [gs.Gaussian(1.0)])
    clock = iter([0.0, 3.0, 10.0, 15.0])  # of 2000 rows, of 4000 rows
    monkeypatch.setattr("gramsmith.selection.fit.time.monotonic", lambda: next(clock))
    assert rehearse(problem) == pytest.approx(1.0 + 9.0)


def test_strings_on_landmarks(sizes):
    sizes(EXACT_ROWS=20)
    X = ["abab", "baba", "abba", "cdcd", "dcdc", "cddc"] * 5
    y = np.array(["ab", "ab", "ab", "cd", "cd", "cd"] * 5)
    model = gs.rank_kernels(X, y, [gs.Normalized(gs.Spectrum(2))]).best_estimator
    assert model.predict(["ababab", "cdcd"]).tolist() == ["ab", "cd"]


def test_threshold_and_probabilities_on_landmarks(rng, sizes):
    sizes(EXACT_ROWS=100, LANDMARKS=60)
    X = np.sort(rng.normal(size=(300, 1)), axis=0)  # classes one after the other
    y = (X[:, 0] + 0.3 * rng.normal(size=300) > 1.0).astype(int)
    errors, shares = [], []
    for scoring in (None, "balanced_accuracy"):
        machine = gs.rank_kernels(X, y, [gs.Gaussian(1.0)], scoring=scoring).best_estimator
        guess = machine.predict(X)
        errors.append([np.mean(guess[y == c] != c) for c in (0, 1)])
        shares.append(machine.predict_proba(X)[:, 1])
    assert np.mean(errors[1]) < np.mean(errors[0])  # the rare class counts as much
    for share in shares:  # the threshold moves the decision, not the probability
        assert share.mean() == pytest.approx(y.mean(), abs=0.03)


@pytest.mark.parametrize("many", [False, True])
def test_rows_of_no_weight_do_not_calibrate(many, rng, sizes):
    sizes(EXACT_ROWS=100 if many else 6000)
    X, w = rng.normal(size=(200, 2)), np.r_[np.zeros(50), np.ones(150)]
    y = (X[:, 0] > 0).astype(int)
    y[:50] = rng.integers(0, 2, 50)
    problem = read(X, y, [gs.Gaussian(1.0)], sample_weight=w)
    found = choose(problem, Work())
    record = delivered_record(found, fit_machines(found, problem, Work()), problem)
    assert record.record.rows.min() == 50


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
    assert best["machine"] in found.verdict.winner
    splits = read_task(y).splits(np.arange(90), 5)
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
        (KernelRidge(), {}, "estimator for classification"),
        (gs.KernelPerceptron(), {"class_weight": "balanced"}, "takes sample_weight"),
        ("svc", {}, "'machine' parameter"),
    ],
)
def test_other_machines_are_refused(rng, machine, options, message):
    X, y = rng.normal(size=(20, 2)), np.arange(20) % 3 % 2
    with pytest.raises(ValueError, match=message):
        gs.rank_kernels(X, y, machine=machine, **options)


def test_the_fit_on_landmarks_tells_how_far_it_is(sizes):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 2))
    y = X[:, 0] * X[:, 1] > 0
    sizes(EXACT_ROWS=300, LANDMARKS=40, LANDMARK_ROWS=300)
    sizes("machines.landmarks", BLOCK_ROWS=100)
    news = []
    found = gs.rank_kernels(X, y, ["rbf", "linear"], progress=lambda *what: news.append(what))
    fit = [(done, total) for stage, done, total, _ in news if stage == "fit"]
    assert fit[:4] == [(0, 1500), (100, 1500), (200, 1500), (300, 1500)]
    assert len(fit) >= 11
    assert fit[-1][0] == fit[-1][1]
    assert all(done < total for done, total in fit[:-1])
    assert "_told" not in vars(
        found.best_estimator[-1] if hasattr(found.best_estimator, "steps") else found.best_estimator
    )


def test_the_headline_with_groups_is_of_all_rows(rng, sizes):
    sizes(COMPARE_ROWS=100)
    groups = np.repeat(np.arange(80), 5)
    X = rng.normal(size=(80, 2))[groups] + 0.5 * rng.normal(size=(400, 2))
    y = np.sin(2 * X[:, 0]) + 0.2 * rng.normal(size=400)
    ranking = gs.rank_kernels(X, y, [gs.Gaussian(1.0)], groups=groups)
    assert ranking.estimate.rows == 400
    machine, task = ranking.best_estimator[-1], ranking._findings.task
    rows = np.arange(400)
    K = gs.Gaussian(1.0)(ranking.best_estimator[0].transform(X))
    train, test = task.splits(rows, 5)[0]
    known = RidgePath(K[np.ix_(train, train)], task.codes[train]).solve(0.8 * machine.alpha_)
    expected = K[np.ix_(test, train)] @ known.coef + known.intercept
    record = ranking.evidence.outcome
    assert record.kind == "cross-validation"
    said = dict(zip(record.actual, record.predicted, strict=True))
    shown = [k for k in range(len(test)) if task.labels[test[k]] in said]
    found = [said[task.labels[test[k]]] for k in shown]
    assert found == pytest.approx(task.as_given(expected)[shown], rel=1e-6)
