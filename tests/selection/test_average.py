"""Averages of kernels: the weights, the machines, the record, files, the estimate."""

import warnings
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

import gramsmith as gs
from gramsmith.selection import AveragedClassifier, AveragedRegressor, read
from gramsmith.selection.average import TOWARDS_EQUAL, average, stacked
from gramsmith.selection.estimate import bootstrap
from gramsmith.selection.held_out import HeldOut, score
from gramsmith.selection.kinds import read_task
from gramsmith.selection.plan import MEMBERS
from gramsmith.tables import TableEncoder

RNG = np.random.default_rng(1)
X = RNG.normal(size=(160, 3))
TWO = np.where(X[:, 0] * X[:, 1] + 0.3 * RNG.normal(size=160) > 0, "same", "mixed")
THREE = np.array(["a", "b", "c"])[np.digitize(X[:, 0] + 0.3 * X[:, 1], [-0.5, 0.5])]
VALUES = np.sin(2 * X[:, 0]) + X[:, 1] + 0.6 * RNG.normal(size=160)
KERNELS = {
    "wide": gs.Gaussian(3.0),
    "narrow": gs.Gaussian(0.8),
    "cusp": gs.Laplacian(3.0),
    "polynomial": gs.Polynomial(2),
}


def record(f, task, **options):
    n = task.n
    fold = np.arange(n) % 5
    values = f.reshape(1, n, -1)
    made = HeldOut(
        "ridge", "cross-validation", np.ones(1), values, np.arange(n), fold, 0.8 * n, **options
    )
    return score(made, task)


def noisy(task, deviations):
    return [
        task.codes[:, :1] + s * np.random.default_rng(i).normal(size=(task.n, 1))
        for i, s in enumerate(deviations)
    ]


@pytest.mark.parametrize("counted", [False, True])
@pytest.mark.parametrize("y", [VALUES, TWO], ids=["values", "classes"])
def test_weights_are_the_best_on_the_simplex(y, counted):
    w = RNG.uniform(0.5, 2.0, 160)
    task = read_task(y, sample_weight=w)
    values = noisy(task, [0.5, 0.7, 0.6])
    counts = RNG.integers(0, 4, 160) if counted else np.ones(160)
    found = stacked(values, task, np.arange(160), counts)
    A = np.column_stack(values)
    c = task.weights * counts
    centre = np.average(task.codes[:, 0], weights=c)
    A, b = A - centre, task.codes[:, 0] - centre
    pull = TOWARDS_EQUAL * np.trace(A.T @ (c[:, None] * A)) / 3

    def loss(v):
        return c @ (A @ v - b) ** 2 + pull * np.sum((v - 1 / 3) ** 2)

    sums = {"type": "eq", "fun": lambda v: v.sum() - 1.0}
    best = minimize(loss, np.full(3, 1 / 3), bounds=[(0, 1)] * 3, constraints=sums, tol=1e-12).x
    np.testing.assert_allclose(found, best, atol=0.01)
    assert found.sum() == pytest.approx(1.0)


def test_no_more_machines_than_are_worth_their_time():
    task = read_task(VALUES)
    values = noisy(task, [0.5] * 8 + [30.0])
    found = stacked(values, task, np.arange(160))
    assert np.count_nonzero(found) <= MEMBERS
    assert found[-1] == 0.0
    assert found[found > 0].min() >= 0.05


def test_one_that_is_far_better_stands_alone():
    task = read_task(VALUES)
    results = {3: record(task.y + 1e-3 * RNG.normal(size=160), task)}
    results[5] = record(task.y + 3.0 * RNG.normal(size=160), task)
    assert average(results, task, 3) is None
    assert average({3: results[3]}, task, 3) is None


def test_the_record_of_an_average_is_the_average_of_the_records():
    task = read_task(TWO)
    values = noisy(task, [0.8, 0.9])
    found = average({i: record(f, task) for i, f in enumerate(values)}, task, 0)
    assert found.members == tuple(sorted(found.weights, key=lambda i: -found.weights[i]))
    expected = sum(w * values[i] for i, w in found.weights.items())
    np.testing.assert_allclose(found.result.record.values[0], expected)
    assert found.result.loss < min(record(f, task).loss for f in values)


def test_predictions_that_shoot_far_beyond_the_targets_are_left_out():
    task = read_task(VALUES)
    values = noisy(task, [0.5, 0.5])
    results = {0: record(values[0], task)}
    outside = np.full((1, 40, 1), 100.0)
    results[1] = record(values[1], task, outermost=outside)
    assert results[1].reach > 1.0
    assert average(results, task, 0) is None


@pytest.mark.parametrize("y", [TWO, THREE, VALUES], ids=["two", "three", "values"])
def test_the_model_is_the_mean_of_its_machines_and_files_keep_it(y, stored):
    ranking = gs.rank_kernels(X, y, KERNELS)
    model = ranking.best_estimator
    assert isinstance(model, AveragedRegressor if y is VALUES else AveragedClassifier)
    assert sum(ranking.average.values()) == pytest.approx(1.0)
    shown = {r["kernel"]: r["weight"] for r in ranking.records if r["weight"] is not None}
    assert shown == ranking.average
    assert all(f"“{name}”" in ranking.verdict.winner for name in ranking.average)
    method = "predict" if y is VALUES else "decision_function"
    parts = [getattr(machine, method)(X) for machine in model.machines_]
    expected = sum(w * f for w, f in zip(model.weights_, parts, strict=True))
    np.testing.assert_allclose(getattr(model, method)(X), expected, atol=1e-12)
    again = stored(model)
    for name in ("predict", "decision_function", "predict_proba", "predict_interval"):
        assert hasattr(again, name) == hasattr(model, name)
        if hasattr(model, name):
            assert (getattr(again, name)(X) == getattr(model, name)(X)).all()
    assert model.score(X, y) > 0.8
    if y is not VALUES:
        np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)


@pytest.mark.parametrize("grouped", [False, True], ids=["rows", "groups"])
@pytest.mark.parametrize("y", [TWO, THREE, VALUES], ids=["two", "three", "values"])
def test_many_rows_are_averaged_on_landmarks(y, grouped, stored, sizes):
    sizes(EXACT_ROWS=100, LANDMARKS=60)
    told = []
    ranking = gs.rank_kernels(
        X,
        y,
        KERNELS,
        groups=np.repeat(np.arange(32), 5) if grouped else None,
        progress=lambda *step: told.append(step),
    )
    model = ranking.best_estimator
    assert len(model.machines_) > 1
    assert {machine[-1].solver_ for machine in model.machines_} == {"nystroem"}
    method = "predict" if y is VALUES else "decision_function"
    parts = [getattr(machine, method)(X) for machine in model.machines_]
    expected = np.tensordot(model.weights_, parts, 1)
    np.testing.assert_allclose(getattr(model, method)(X), expected, atol=1e-12)
    kind = {r["verified"] for r in ranking.records if r["weight"] is not None}
    assert kind == {"cross-validation" if grouped else "leave-one-out"}
    again = stored(model)
    last = "predict_interval" if y is VALUES else "predict_proba"
    assert (getattr(again, last)(X) == getattr(model, last)(X)).all()
    # all machines tell how far they are, and none of them that all is done
    passes = [step for step in told if step[0] == "fit"]
    assert [done for _, done, _, _ in passes] == sorted(done for _, done, _, _ in passes)
    assert len({done for _, done, _, _ in passes}) > len(model.machines_)


def test_plans_count_the_machines_that_are_averaged(sizes):
    sizes(EXACT_ROWS=100)
    both, alone = (read(X, TWO, KERNELS, ensemble=e).plan for e in (True, False))
    users = read(X, TWO, KERNELS, machine=gs.KernelSVC()).plan
    assert (both.average, alone.average, users.average) == (True, False, False)
    assert both.seconds > alone.seconds
    sizes(AVERAGE_ROWS=159)
    assert read(X, TWO, KERNELS).plan.seconds == alone.seconds
    assert gs.rank_kernels(X, TWO, KERNELS).average == {}


def test_it_can_be_turned_off():
    alone = gs.rank_kernels(X, TWO, KERNELS, ensemble=False)
    assert alone.average == {}
    assert not isinstance(alone.best_estimator, AveragedClassifier)
    assert all(record["weight"] is None for record in alone.records)
    together = gs.rank_kernels(X, TWO, KERNELS)
    assert [r["kernel"] for r in alone.records] == [r["kernel"] for r in together.records]
    with pytest.raises(ValueError, match="ensemble"):
        gs.rank_kernels(X, TWO, KERNELS, ensemble="yes")


def test_a_machine_of_the_users_and_matrices_stand_alone():
    machine = gs.KernelLogisticRegression(alpha=1.0)
    assert gs.rank_kernels(X, TWO, KERNELS, machine=machine).average == {}
    matrices = {"a": X @ X.T, "b": gs.Gaussian(1.0)(X)}
    assert gs.rank_kernels(None, TWO, matrices).average == {}


def test_it_is_an_estimator_that_can_be_fitted_anew():
    model = gs.rank_kernels(X, TWO, KERNELS).best_estimator
    other = clone(model)
    assert not hasattr(other, "machines_")
    assert (other.fit(X, TWO).predict(X) == model.predict(X)).all()
    assert not hasattr(other, "predict_proba")  # nothing was left out of this fit
    assert cross_val_score(model, X, TWO, cv=3).mean() > 0.65
    w = np.where(np.arange(160) < 80, 1.0, 0.0)
    weighted = clone(model).fit(X, TWO, sample_weight=w)
    np.testing.assert_allclose(
        weighted.decision_function(X[:5]),
        clone(model).fit(X[:80], TWO[:80]).decision_function(X[:5]),
        atol=0.3,
    )


def test_what_its_machines_warn_of_is_said_once():
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    machines = [make_pipeline(TableEncoder(), gs.KernelRidgeRegressor(k)) for k in KERNELS.values()]
    model = AveragedRegressor(machines).fit(table, VALUES)
    with pytest.warns(UserWarning, match="ignored: 'more'") as caught:
        model.predict(table.assign(more=1.0))
    assert len(caught) == 1
    assert caught[0].filename == __file__


@pytest.mark.parametrize(
    ("weights", "said"), [([1.0], "2 weights"), ([1.0, 0.0], "above zero"), ([1.0, np.nan], "2 w")]
)
def test_weights_are_checked(weights, said):
    machines = [gs.KernelRidgeClassifier(k) for k in (gs.Linear(), gs.Gaussian(1.0))]
    with pytest.raises(ValueError, match=said):
        AveragedClassifier(machines, weights).fit(X, TWO)
    with pytest.raises(ValueError, match="at least one estimator"):
        AveragedClassifier([]).fit(X, TWO)


def test_thresholds_and_class_weights_are_those_of_the_average():
    rare = X[:, 0] + 0.5 * np.random.default_rng(3).normal(size=160) > 1.0
    plain = gs.rank_kernels(X, rare, KERNELS)
    tuned = gs.rank_kernels(X, rare, KERNELS, scoring="balanced_accuracy")
    balanced = gs.rank_kernels(X, rare, KERNELS, class_weight="balanced")
    assert isinstance(tuned.best_estimator, AveragedClassifier)
    assert tuned.best_estimator.threshold != 0.0
    new = np.random.default_rng(2).normal(size=(2000, 3))
    for other in (tuned, balanced):
        assert other.best_estimator.predict(new).sum() > plain.best_estimator.predict(new).sum()


def test_groups_and_folds_of_the_user_hold_for_the_average():
    groups = np.repeat(np.arange(32), 5)
    found = gs.rank_kernels(X, TWO, KERNELS, groups=groups)
    record = found._findings.average.result.record
    for group in range(32):
        assert len(set(record.fold[groups[record.rows] == group])) == 1


def test_the_estimate_finds_weights_anew_in_every_bag():
    # four records of noise: the best weights look better than any weights are
    task = read_task(np.random.default_rng(0).normal(size=300), task="regression")
    values = [np.random.default_rng(k + 1).normal(size=300) for k in range(6)]
    results = {k: record(0.2 * f, task) for k, f in enumerate(values)}
    found = average(results, task, 0)
    check = SimpleNamespace(rows=300, pseudo=None)
    findings = SimpleNamespace(
        **{"results": results, "average": found, "checks": [check]},
        **{"candidates": [], "short": (0,), "order": (0,)},
    )
    estimate = bootstrap(findings, found.result, task)
    assert estimate.value < -found.result.loss
    assert estimate.value < 0.0
    assert not estimate.beats_baseline
    assert estimate.kind == "bootstrap"


def test_an_average_of_views_takes_the_tuple():
    Z = np.random.default_rng(3).normal(size=(120, 2))
    views, y = (Z[:, :1], Z[:, 1:]), np.where(Z.sum(axis=1) > 0, 1, 0)
    ranking = gs.rank_kernels(views, y, [gs.Gaussian(1.0), gs.Gaussian(1.0)])
    assert len(ranking.average) == 2
    assert ranking.best_estimator.score(views, y) > 0.8


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_kernels_that_are_indefinite_are_ranked(rng, task):
    X = rng.normal(size=(80, 3))
    y = X[:, 0] * X[:, 1]
    kernels = {
        "difference": gs.Gaussian(0.7) + gs.Negated(0.8 * gs.Gaussian(2.0)),
        "sigmoid": gs.Sigmoid(1.0, -1.0),
        "rbf": gs.Gaussian(),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ranking = gs.rank_kernels(X, y > 0 if task == "classification" else y, kernels)
    assert len(ranking.records) == 3
    assert np.isfinite([record["score"] for record in ranking.records]).all()


def test_the_page_names_what_is_averaged():
    ranking = gs.rank_kernels(X, VALUES, KERNELS)
    facts = dict(ranking.facts)
    assert ranking.average
    assert facts["estimator"] == "an average of estimators"
    for name in ranking.average:
        assert name in facts["in Python"]
