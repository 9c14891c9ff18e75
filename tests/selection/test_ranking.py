"""rank_kernels: the right kernel for every kind of input; its table; what is refused at once."""

import json
import math
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.model_selection import PredefinedSplit, TimeSeriesSplit
from sklearn.pipeline import Pipeline

import gramsmith as gs
from gramsmith.kernels import Kernel
from gramsmith.measures import Measure
from gramsmith.selection import first_check, read


def test_curved_task_gets_a_curved_kernel(ranking, circle):
    X, y = circle
    assert ranking.records[0]["kernel"] not in ("linear", "polynomial degree 3")
    assert ranking.best_estimator.score(X, y) > 0.95
    assert next(r for r in ranking.records if r["kernel"] == "linear")["first_check"] < 0.75


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
    alone = gs.rank_kernels(frame, y, kernels=["rbf", "linear"], ensemble=False)
    assert isinstance(alone.best_estimator, Pipeline)
    for found in (alone, gs.rank_kernels(frame, y, kernels=["rbf", "linear"])):
        assert found.best_estimator.score(frame[["x", "colour"]], y) > 0.9


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
    names = [candidate.name for candidate in read(X, y).candidates]
    assert any(name.endswith(", one-hot numbers") for name in names)


def test_threshold_for_uneven_classes(rng):
    X = rng.normal(size=(300, 2))
    y = (X[:, 0] + 0.8 * rng.normal(size=300) > 1.8).astype(int)
    options = {"kernels": ["linear", "rbf"]}
    plain = gs.rank_kernels(X, y, **options)
    tuned = gs.rank_kernels(X, y, scoring="balanced_accuracy", **options)
    assert tuned.best_estimator.threshold != 0.0
    alone = gs.rank_kernels(X, y, scoring="balanced_accuracy", ensemble=False, **options)
    for found in (tuned, alone):
        assert found.best_estimator.predict(X).sum() > plain.best_estimator.predict(X).sum()
    assert tuned.scoring == "balanced_accuracy"


def test_groups_and_weights(rng):
    X = rng.normal(size=(90, 2))
    y = X[:, 0] > 0
    groups = np.arange(90) // 6
    w = rng.uniform(0.5, 2.0, 90)
    options = {"class_weight": "balanced", "sample_weight": w, "groups": groups}
    found = gs.rank_kernels(X, y, ["linear", "rbf"], **options)
    assert found.best_estimator.score(X, y) > 0.8


@pytest.mark.usefixtures("no_time")
def test_time_budget_leaves_a_usable_result(circle):
    X, y = circle
    found = gs.rank_kernels(X, y, time_budget=60.0)
    assert any("time budget" in w for w in found.warnings)
    assert found.best_estimator.predict(X).shape == (150,)
    assert found.records[0]["score"] is None
    assert found.estimate.kind == "leave-one-out"
    machine = found.best_estimator[-1]  # what is delivered, one row left out at a time
    said = np.where(y == machine.classes_[1], 1.0, -1.0) - machine.loo_residuals_.ravel()
    assert found.estimate.value == pytest.approx(np.mean((said > 0) == (y == machine.classes_[1])))


def test_large_sets_rest_on_landmarks(rng, sizes):
    sizes(EXACT_ROWS=200, CHECK_ROWS=150, COMPARE_ROWS=120)
    X = rng.normal(size=(400, 2))
    y = np.where(X[:, 0] * X[:, 1] > 0, "same", "mixed")
    found = gs.rank_kernels(X, y, kernels=["rbf", "linear"])
    assert "on 150 rows" in found.sampled
    assert found.best_estimator.score(X, y) > 0.9
    model = found.best_estimator
    for machine in model.machines_ if found.average else [model]:
        assert machine[-1].n_samples_fit_ == 400
    values = gs.rank_kernels(X, X[:, 0] ** 2 + 0.1 * X[:, 1], kernels=["rbf", "linear"])
    assert values.best_estimator.score(X, X[:, 0] ** 2) > 0.9


def test_checkpoint_is_plain_and_used_again(circle, monkeypatch):
    X, y = circle
    memory = {}
    one = gs.rank_kernels(X, y, ["rbf", "linear"], resume=memory)
    assert {"check/150/rbf", "held-out/rbf", "held-out/linear"} <= set(memory)
    monkeypatch.setattr(first_check, "_check", None)  # would fail if it were called
    two = gs.rank_kernels(X, y, ["rbf", "linear"], resume=memory)
    assert one.records == two.records


def test_progress_tells_every_stage(circle):
    X, y = circle
    stages = []
    gs.rank_kernels(X, y, ["rbf", "linear"], progress=lambda *news: stages.append(news[0]))
    assert list(dict.fromkeys(stages)) == [
        *("read", "check", "measures", "cross-validation", "fit", "estimate", "evidence"),
        "importance",
    ]


def test_plan_evaluates_nothing(circle):
    plan = read(*circle).plan
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
        (np.zeros((4, 1)), [[0, 1]] * 4, "only 0 in column 'label 1'"),
        (np.array([[0.0], [np.inf], [1.0], [2.0]]), [0, 1, 0, 1], "row 1.*infinity"),
        (np.zeros((4, 1)), [0, 1, 0], "inconsistent numbers of samples"),
        (np.zeros((4, 1)), [0, 1, None, 1], "missing one in row 2"),
    ],
)
def test_bad_input_is_refused(X, y, message):
    with pytest.raises(ValueError, match=message):
        gs.rank_kernels(X, y)


def test_unknown_task_is_refused(circle):
    with pytest.raises(ValueError, match="'task' parameter"):
        gs.rank_kernels(*circle, task="ranking")


@pytest.mark.parametrize("scoring", ["roc_auc", "neg_log_loss", "f1"])
def test_learned_kernels_compete_in_the_unit_of_the_score(scoring, rng):
    X = rng.normal(size=(510, 12))  # the choice is made once
    y = np.where(X[:, 0] * X[:, 1] + X[:, 2] > 0, "yes", "no")
    found = gs.rank_kernels(X, y, scoring=scoring)
    learned = [r["score"] for r in found.records if r["family"] == "learned"]
    others = [r["score"] for r in found.records if r["score"] and r["family"] != "learned"]
    assert max(learned) > max(others) - 0.1
    assert found.best_estimator.score(X, y) > 0.85


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cv": 1}, "'cv' parameter"),
        ({"cv": True}, "'cv' parameter"),
        ({"time_budget": -1.0}, "time_budget"),
        ({"time_budget": np.nan}, "time_budget"),
        ({"max_samples": 0}, "max_samples"),
        ({"class_weight": "fair"}, "class_weight"),
        ({"scoring": 3}, "scoring"),
        ({"max_samples": 0.5}, "max_samples"),
        ({"kernels": None}, "at least one kernel"),
        ({"class_weight": {"in": -1.0, "out": 1.0}}, "class weights"),
        ({"scoring": "neg_mean_squared_error"}, "score for 2 classes"),
    ],
)
def test_odd_options_are_refused(circle, options, message):
    with pytest.raises(ValueError, match=message):
        gs.rank_kernels(*circle, **options)


@pytest.mark.usefixtures("no_time")
def test_without_cross_validation_nothing_is_called_ahead(circle):
    found = gs.rank_kernels(*circle, time_budget=60)
    assert "ahead" not in found.verdict.winner
    best, second = found.records[:2]
    near = second["first_check"] >= best["first_check"] - 3 * best["first_check_error"]
    assert second["tied"] == near
    assert not any("was cross-validated" in w for w in found.warnings)


MEASURES = {"cka", "cka_debiased", "kta", "fsm_loo", "csm", "fsm"}


def test_records_are_flat_and_ordered(ranking):
    rows = ranking.records
    assert [r["rank"] for r in rows] == list(range(1, len(rows) + 1))
    assert {"kernel", "tied", "score", "score_error", "verified", *MEASURES} <= set(rows[0])
    json.dumps(rows)


def test_verified_kernels_come_first(ranking):
    kinds = [r["verified"] for r in ranking.records]
    assert kinds == sorted(kinds, key=lambda kind: kind != "cross-validation")
    assert kinds[0] == "cross-validation"
    assert kinds[-1] is None


def test_short_list_has_error_bars(ranking):
    best = ranking.records[0]
    assert all(best[f"{m}_error"] > 0 for m in ("cka", "kta"))
    assert math.isfinite(best["score_error"])


def test_frame(ranking):
    frame = ranking.frame()
    assert frame.index.name == "rank"
    assert len(frame) == len(ranking.records)


def test_verdict_is_one_sentence_with_ties_called_ties(ranking):
    assert ranking.verdict.winner.count(". ") == 0
    assert ranking.records[0]["kernel"] in ranking.verdict.winner
    assert all(f"“{name}”" in ranking.verdict.winner for name in ranking.average)


def test_a_verdict_on_single_kernels_calls_ties_ties(circle):
    for kernels, tie in (([gs.Gaussian(1.0), gs.Gaussian(1.1)], True), (["rbf", "linear"], False)):
        ranking = gs.rank_kernels(*circle, kernels, ensemble=False)
        assert ranking.verdict.winner.count(". ") == 0
        assert ranking.records[1]["tied"] == tie
        assert ("a tie" in ranking.verdict.winner) == tie


def test_tied_means_within_the_noise(ranking):
    rows = [r for r in ranking.records if r["verified"] == "cross-validation"]
    best = max(r["score"] for r in rows)
    tied = [r for r in rows if r["tied"]]
    assert len(tied) > 1
    for r in tied:
        assert best - r["score"] <= 4 * r["score_error"]


def test_printed_table(ranking):
    text = repr(ranking)
    assert all(line in text for line in ranking.verdict.lines)
    assert "cka ↑" in text
    assert "fsm_loo ↓" in text
    assert "more kernels" in text


def test_notebook_table_escapes(ranking, monkeypatch):
    hostile = [{**r, "kernel": "<script>"} for r in ranking.records]
    monkeypatch.setitem(ranking.__dict__, "records", hostile)
    page = ranking._repr_html_()
    assert "<script>" not in page
    assert "&lt;script&gt;" in page


def test_regression_is_shown_in_r2(regression):
    assert "of the variation" in regression.verdict.text
    assert 0 < regression.records[0]["score"] <= 1


def test_plot_returns_a_display(ranking):
    display = ranking.plot()
    assert display.get_xlabel() == "accuracy"


class Overlap(Kernel):
    """A kernel of a user's own: how many coordinates have the same sign, as a share."""

    def tile(self, a, b):
        return 0.5 + 0.5 * (np.sign(a) @ np.sign(b).T) / a.shape[1]

    def diagonal(self, a):
        return np.ones(len(a))


def test_kernel_of_the_user(rng):
    X = rng.normal(size=(100, 3))
    y = (X > 0).sum(axis=1) >= 2
    found = gs.rank_kernels(X, y, {"mine": Overlap(), "narrow": gs.Gaussian(0.1)})
    assert found.records[0]["kernel"] == "mine"
    assert found.best_estimator.score(X, y) > 0.9


def test_measures_of_the_user(circle):
    def distance(sums):
        T = sums.target
        inner = sums.functional(T.M_centred)
        return 2 - 2 * inner / (sums.centred_square().sqrt() * T.norm(T.M_centred))

    mine = Measure("distance", distance, higher_is_better=False)
    found = gs.rank_kernels(*circle, ["rbf", "linear"], measures=["cka", mine])
    for record in found.records:
        assert record["distance"] == pytest.approx(2.0 - 2.0 * record["cka"])
    assert "distance ↓" in repr(found)
    assert found.measures == {"cka": True, "distance": False}
    with pytest.raises(ValueError, match="among"):
        gs.rank_kernels(*circle, measures=["no such measure"])


def test_a_ranking_keeps_few_samples(rng, sizes):
    sizes(EXACT_ROWS=1000)
    X = rng.normal(size=(5000, 3))
    found = gs.rank_kernels(X, X[:, 0] > 0, [gs.Linear()])
    assert found.evidence.gram.shape == (240, 240)
    del found.best_estimator  # a machine keeps what it needs
    assert len(pickle.dumps(found)) < 6 * X.nbytes  # decision values, and some hundred rows


def test_plan_refuses_unknown_options(circle):
    with pytest.raises(TypeError, match="no_such_option"):
        read(*circle, no_such_option=1)


def test_no_samples_need_matrices(circle):
    with pytest.raises(ValueError, match="matrices"):
        gs.rank_kernels(None, circle[1], ["rbf"])


def test_a_score_of_values_is_refused_for_classes(rng):
    X = rng.normal(size=(40, 2))
    with pytest.raises(ValueError, match="score for 2 classes"):
        gs.rank_kernels(X, (X[:, 0] > 0).astype(int), ["rbf"], scoring="r2")


def test_copies_are_noticed_and_the_advice_works(rng):
    X = rng.normal(size=(60, 2))
    y = rng.integers(0, 2, 60)
    X, y = np.tile(X, (3, 1)), np.tile(y, 3)
    kernels = [gs.Gaussian(0.2), gs.Linear()]
    found = gs.rank_kernels(X, y, kernels)
    assert any("exact copies" in w for w in found.warnings)
    groups = np.unique(X, axis=0, return_inverse=True)[1]
    honest = gs.rank_kernels(X, y, kernels, groups=groups)
    assert not any("exact copies" in w for w in honest.warnings)
    assert honest.records[0]["score"] < 0.75 < found.records[0]["score"]


def test_scores_are_shares_of_right_answers(ranking):
    """What the table calls a score was counted."""
    for record in ranking.records:
        if record["score"] is not None:
            right = 150 * record["score"]
            assert right == pytest.approx(round(right), abs=1e-6)


def test_one_kind_of_score_and_an_order_that_the_columns_explain(ranking):
    assert {r["verified"] for r in ranking.records} == {"cross-validation", None}
    scored = [r for r in ranking.records if r["score"] is not None]
    keys = [(-r["score"], -r["first_check"]) for r in scored]
    assert keys == sorted(keys)
    rest = [r["first_check"] for r in ranking.records if r["score"] is None]
    assert rest == sorted(rest, reverse=True)


def test_the_verdict_gives_the_estimate(ranking):
    assert "by nested cross-validation" in str(ranking.verdict)
    guess = ranking.estimate
    assert guess.low < guess.value < guess.high
    assert guess.beats_baseline
    assert ranking.beats_baseline


def test_random_groups_are_not_learned():
    """Labels drawn for groups of like rows: rows of fresh groups cannot be predicted."""
    values, claims = [], []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        groups = np.repeat(np.arange(20), 5)
        y = rng.permutation(np.arange(20) % 2)[groups]
        X = rng.normal(size=(20, 4))[groups] + 0.1 * rng.normal(size=(100, 4))
        found = gs.rank_kernels(X, y, [gs.Gaussian(1.0), gs.Linear()], groups=groups)
        values.append(found.estimate.value)
        claims.append(found.beats_baseline)
        assert found.records[0]["score_error"] > 0.07  # 20 groups, not 100 rows
    assert np.mean(values) < 0.6
    assert not any(claims)


def test_weighted_r2_divides_by_a_weighted_variance(rng):
    X = rng.normal(size=(80, 1))
    y = X[:, 0] + rng.normal(size=80) + np.where(np.arange(80) < 40, 0.0, 100.0)
    w = np.where(np.arange(80) < 40, 1.0, 0.0)
    some = gs.rank_kernels(X, y, ["linear"], sample_weight=w)
    rest = gs.rank_kernels(X[:40], y[:40], ["linear"])
    assert some.records[0]["score"] == pytest.approx(rest.records[0]["score"], abs=0.02)
    assert some.estimate.value < 1.0


def test_leave_one_out_is_called_so(rng, sizes):
    sizes(EXACT_ROWS=100)
    X = rng.normal(size=(160, 2))
    found = gs.rank_kernels(X, X[:, 0] > 0, ["linear", "rbf"])
    assert {r["verified"] for r in found.records} == {"leave-one-out"}


def test_the_winner_does_not_shoot_far_beyond_the_targets():
    """Skewed features: fresh rows lie outside, where a wide kernel with little price explodes."""

    def sample(number, n):
        rng = np.random.default_rng([5, number])
        X = np.exp(rng.normal(size=(n, 3)))
        z = 4.0 + 2.0 * np.log1p(X[:, 0]) + 1.5 * np.sqrt(X[:, 1]) + 0.8 * np.sin(2.0 * X[:, 2])
        return X, np.clip(z + 0.8 * rng.normal(size=n), 1.0, 29.0)

    X, y = sample(0, 200)
    fresh, target = sample(1, 3000)
    kernels = {
        "wide": gs.Gaussian(21.0),
        "middle": gs.Gaussian(5.0),
        "narrow": gs.Gaussian(1.5),
        "matern": gs.Matern(4.0, 1.5),
    }
    selector = gs.KernelSelector(kernels, task="regression", n_jobs=1).fit(X, y)
    f = selector.predict(fresh)
    assert f.max() < 20.0  # the targets end at 12; it was 86
    assert selector.score(fresh, target) > 0.5  # it was -1.8
    assert max(r["reach"] for r in selector.ranking_.records) > 0.5


@pytest.mark.parametrize("table", [False, True], ids=["array", "frame"])
@pytest.mark.parametrize("kind", ["classes", "values"])
def test_rows_without_a_weight_teach_nobody(kind, table):
    """They set no width, fill no gap and scale no column: as if they were not there."""
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(70, 3)), 1e6 * rng.normal(size=(30, 3))])
    y = np.where(X[:, 0] * X[:, 1] > 0, "same", "mixed") if kind == "classes" else X[:, 0] + X[:, 1]
    y[70:] = y[:30]
    w = np.r_[np.ones(70), np.zeros(30)]
    if table:
        X = pd.DataFrame(X, columns=list("abc")).assign(d=np.where(np.arange(100) % 3, "x", "y"))
    kernels = {"rbf": "rbf", "linear": "linear"}
    plain = gs.rank_kernels(X[:70], y[:70], kernels, cv=3)
    found = gs.rank_kernels(X, y, kernels, sample_weight=w, cv=3)
    assert [r["score"] for r in found.records] == [r["score"] for r in plain.records]
    assert found.estimate.value == plain.estimate.value
    answers = (r.best_estimator.predict(X[:70]) for r in (found, plain))
    np.testing.assert_array_equal(*answers)


@pytest.mark.parametrize("kind", ["classes", "values"])
@pytest.mark.parametrize(
    "cv",
    [TimeSeriesSplit(4), PredefinedSplit(np.r_[-np.ones(60), np.zeros(40)].astype(int))],
    ids=["in time", "one part"],
)
def test_folds_need_not_test_all_rows(cv, kind):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 3))
    values = X[:, 0] + 0.3 * rng.normal(size=100)
    ranking = gs.rank_kernels(X, values > 0 if kind == "classes" else values, ["linear"], cv=cv)
    rival = ranking.evidence.rivals[1]
    assert rival.judgement == "about as good"
    assert rival.score > 0.75  # taught by rows that no fold tests, too


@pytest.mark.filterwarnings("error")
def test_what_is_odd_in_rows_without_a_weight_is_nobodys_concern():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(80, 2)), columns=["a", "b"]).astype({"a": object})
    X["c"] = np.where(np.arange(80) % 3, "x", "y")
    y = np.where(X["b"] + 0.5 * rng.normal(size=80) > 0, "p", "q")
    X.loc[0, "a"], X.loc[1, "b"], X.loc[2, "c"] = "oops", np.nan, "never again"
    w = np.r_[np.zeros(10), np.ones(70)]
    found = gs.rank_kernels(X, y, ["linear"], sample_weight=w, cv=3)
    plain = gs.rank_kernels(X[10:], y[10:], ["linear"], cv=3)
    assert found.records[0]["score"] == plain.records[0]["score"]
    assert [c.missing for c in found.columns] == [0, 0, 0]


@pytest.mark.parametrize("machine", [None, gs.KernelSVC(C=1.0)])
def test_indefinite_matrices_are_said_once_in_either_form(rng, machine):
    X, E = rng.normal(size=(50, 3)), rng.normal(size=(50, 50))
    K, y = gs.Gaussian()(X) + 0.2 * (E + E.T), X[:, 0] > 0
    for given, kernels, name in [(K, "precomputed", "precomputed"), (None, {"a": K}, "a")]:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            gs.rank_kernels(given, y, kernels, machine=machine, random_state=0)
        told = [str(w.message) for w in caught if "semidefinite" in str(w.message)]
        assert len(told) == 1
        assert told[0].startswith(f"Kernel {name!r}: ")
        assert "NearestPSD" in told[0]
        assert "psd=" not in told[0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gs.rank_kernels(gs.Linear()(X), y, "precomputed", random_state=0)
