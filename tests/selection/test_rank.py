"""rank_kernels: the right kernel, for every kind of input, and bad input refused at once."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.pipeline import Pipeline

import gramsmith as gs
from gramsmith.selection import plan_ranking, search


def test_curved_task_gets_a_curved_kernel(ranking, circle):
    X, y = circle
    assert ranking.records[0]["family"] not in ("linear", "polynomial degree 3")
    assert ranking.best_estimator.score(X, y) > 0.95
    assert next(r for r in ranking.records if r["kernel"] == "linear")["score"] < 0.75


def test_linear_task_ties_with_the_linear_kernel(rng):
    X = rng.normal(size=(150, 4))
    y = X @ [1.0, -1.0, 0.5, 0.0] + 0.3 * rng.normal(size=150) > 0
    found = gs.rank_kernels(X, y, kernels={"linear": "linear", "narrow": gs.Gaussian(0.3)})
    assert found.best_kernel.formula() == "Linear()"


def test_the_same_again(circle):
    X, y = circle
    kernels = {"rbf": "rbf", "linear": "linear", "laplacian": "laplacian"}
    one, two = (gs.rank_kernels(X, y, kernels, n_jobs=jobs) for jobs in (1, 2))
    assert one.records == two.records
    f = [r.best_estimator.decision_function(X) for r in (one, two)]
    assert (f[0] == f[1]).all()


def test_values(regression, wave):
    X, y = wave
    assert regression.task == "regression"
    assert regression.scoring == "r2"
    assert regression.best_estimator.score(X, y) > 0.9
    assert regression.records[0]["score"] > 0.8


def test_several_classes_of_any_label(rng):
    X = rng.normal(size=(120, 2))
    y = np.array(["red", "green", "blue"])[(np.arctan2(X[:, 0], X[:, 1]) // 2.1).astype(int) + 1]
    found = gs.rank_kernels(X, y, kernels=["rbf", "linear"])
    assert set(found.best_estimator.predict(X)) == {"red", "green", "blue"}
    assert found.best_estimator.score(X, y) > 0.9


def test_pipeline_encodes_categories(rng):
    frame = pd.DataFrame(
        {"colour": rng.choice(["red", "green", "blue"], 90), "x": rng.normal(size=90)}
    )
    y = (frame["colour"] == "red") ^ (frame["x"] > 0)
    found = gs.rank_kernels(frame, y, kernels=["rbf", "linear"])
    assert isinstance(found.best_estimator, Pipeline)
    assert found.best_estimator.score(frame[["x", "colour"]], y) > 0.9


def test_strings():
    rng = np.random.default_rng(0)
    X = ["".join(rng.choice(list("acgt"), 20)) for _ in range(60)]
    X = [x if i % 2 else x[:8] + "ggg" + x[11:] for i, x in enumerate(X)]
    y = [i % 2 for i in range(60)]
    found = gs.rank_kernels(X, y)
    assert found.best_estimator.score(X, y) > 0.8
    assert "spectrum" in {r["family"] for r in found.records}


def test_matrices_without_samples(rng):
    X = rng.normal(size=(60, 2))
    y = X[:, 0] > 0
    found = gs.rank_kernels(None, y, {"good": X @ X.T, "bad": np.eye(60)})
    assert found.records[0]["kernel"] == "good"
    assert found.best_estimator.predict(X @ X.T).shape == (60,)


def test_two_views(rng):
    A, B = rng.normal(size=(80, 2)), rng.normal(size=(80, 3))
    found = gs.rank_kernels((A, B), B[:, 0] > 0, kernels=["linear", "linear"])
    assert found.best_estimator.predict((A, B)).shape == (80,)
    assert found.best_estimator.score((A, B), B[:, 0] > 0) > 0.9


def test_sparse_input(rng):
    X = sp.random_array((80, 30), density=0.3, rng=rng, format="csr")
    y = np.asarray(X[:, [0]].todense()).ravel() > 0
    found = gs.rank_kernels(X, y, kernels=["linear", "rbf"])
    assert found.best_estimator.predict(X).shape == (80,)


def test_few_valued_columns_are_also_compared_as_categories(rng):
    X = rng.integers(0, 5, size=(200, 6)).astype(float)
    y = (X[:, 0] == X[:, 1]) | (X[:, 2] == 3)
    names = [r["kernel"] for r in gs.rank_kernels(X, y).records]
    assert any(name.endswith(", categories") for name in names)


def test_threshold_for_uneven_classes(rng):
    X = rng.normal(size=(300, 2))
    y = (X[:, 0] + 0.8 * rng.normal(size=300) > 1.8).astype(int)
    options = {"kernels": ["linear", "rbf"]}
    plain = gs.rank_kernels(X, y, **options)
    tuned = gs.rank_kernels(X, y, scoring="balanced_accuracy", **options)
    assert tuned.best_estimator[-1].threshold != 0.0
    assert tuned.best_estimator.predict(X).sum() > plain.best_estimator.predict(X).sum()
    assert tuned.scoring == "balanced_accuracy"


def test_groups_and_weights(rng):
    X = rng.normal(size=(90, 2))
    y = X[:, 0] > 0
    groups = np.arange(90) // 6
    w = rng.uniform(0.5, 2.0, 90)
    options = {"class_weight": "balanced", "sample_weight": w, "groups": groups}
    found = gs.rank_kernels(X, y, ["linear", "rbf"], **options)
    assert found.best_estimator.score(X, y) > 0.8


def test_time_budget_leaves_a_usable_result(circle):
    X, y = circle
    found = gs.rank_kernels(X, y, time_budget=0.0)
    assert any("time budget" in w for w in found.warnings)
    assert found.best_estimator.predict(X).shape == (150,)
    assert found.records[0]["verified"] == "leave-one-out"


def test_large_sets_rest_on_landmarks(rng, monkeypatch):
    monkeypatch.setattr(search, "EXACT_ROWS", 200)
    monkeypatch.setattr(search, "CHECK_ROWS", 150)
    monkeypatch.setattr(search, "CONTEST_ROWS", 120)
    X = rng.normal(size=(400, 2))
    y = np.where(X[:, 0] * X[:, 1] > 0, "same", "mixed")
    found = gs.rank_kernels(X, y, kernels=["rbf", "linear"])
    assert "on 150 rows" in found.sampled
    assert found.best_estimator.score(X, y) > 0.9
    machine = found.best_estimator[-1]
    assert machine.n_samples_fit_ == 400
    values = gs.rank_kernels(X, X[:, 0] ** 2 + 0.1 * X[:, 1], kernels=["rbf", "linear"])
    assert values.best_estimator.score(X, X[:, 0] ** 2) > 0.9


def test_checkpoint_is_plain_and_used_again(circle, monkeypatch):
    import json

    X, y = circle
    memory = {}
    one = gs.rank_kernels(X, y, ["rbf", "linear"], checkpoint=memory)
    memory = json.loads(json.dumps(memory))
    assert {"check", "contest/rbf", "contest/linear"} <= set(memory)
    monkeypatch.setattr(search, "check_candidates", None)  # would fail if it were called
    two = gs.rank_kernels(X, y, ["rbf", "linear"], checkpoint=memory)
    assert one.records == two.records


def test_progress_tells_every_stage(circle):
    X, y = circle
    stages = []
    gs.rank_kernels(X, y, ["rbf", "linear"], progress=lambda *news: stages.append(news[0]))
    assert list(dict.fromkeys(stages)) == ["check", "screen", "contest", "fit"]


def test_plan_evaluates_nothing(circle):
    plan = plan_ranking(*circle)
    assert (plan.n_samples, plan.n_features, plan.task) == (150, 3, "classification")
    assert len(plan.kernels) > 20
    assert plan.memory_mib > 0
    assert plan.seconds > 0


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (np.zeros((4, 1)), [1, 1, 1, 1], "at least two classes"),
        (np.zeros((4, 1)), ["a", "b", "c", "d"], "4 classes in 4 samples"),
        (np.zeros((4, 1)), [0.5, 0.5, 0.5, 0.5], "constant y"),
        (np.zeros((4, 1)), [[0, 1]] * 4, "several columns"),
        (np.array([[0.0], [np.nan], [1.0], [2.0]]), [0, 1, 0, 1], "NaN in column 0, row 1"),
        (np.zeros((4, 1)), [0, 1, 0], "inconsistent numbers of samples"),
        (np.zeros((4, 1)), [0, 1, None, 1], "missing one in row 2"),
    ],
)
def test_bad_input_is_refused(X, y, message):
    with pytest.raises(ValueError, match=message):
        gs.rank_kernels(X, y)


def test_unknown_task_is_refused(circle):
    with pytest.raises(ValueError, match="Expected task"):
        gs.rank_kernels(*circle, task="ranking")


@pytest.mark.parametrize("scoring", ["roc_auc", "neg_log_loss", "f1"])
def test_learned_kernels_compete_in_the_unit_of_the_score(scoring, rng):
    X = rng.normal(size=(300, 12))
    y = np.where(X[:, 0] * X[:, 1] + X[:, 2] > 0, "yes", "no")
    found = gs.rank_kernels(X, y, scoring=scoring)
    learned = [r["score"] for r in found.records if r["family"] == "learned"]
    others = [r["score"] for r in found.records if r["family"] != "learned"]
    assert max(learned) > max(others) - 0.1
    assert found.best_estimator.score(X, y) > 0.85


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cv": 1}, "at least 2 folds"),
        ({"cv": True}, "at least 2 folds"),
        ({"time_budget": -1.0}, "time_budget"),
        ({"time_budget": np.nan}, "time_budget"),
        ({"max_samples": 0}, "max_samples"),
        ({"max_samples": 0.5}, "max_samples"),
        ({"kernels": None}, "at least one kernel"),
        ({"class_weight": {"in": -1.0, "out": 1.0}}, "class weights"),
        ({"scoring": "neg_mean_squared_error"}, "score for 2 classes"),
    ],
)
def test_odd_options_are_refused(circle, options, message):
    with pytest.raises(ValueError, match=message):
        gs.rank_kernels(*circle, **options)


def test_without_a_contest_nothing_is_called_ahead(circle):
    found = gs.rank_kernels(*circle, time_budget=0)
    assert "ahead" not in found.verdict
    best, second = found.records[:2]
    near = second["score"] >= best["score"] - 2 * best["score_error"]
    assert second["tied"] == near
    assert not any("was verified" in w for w in found.warnings)
