"""Evidence: the numbers of the report, against scikit-learn's, and on unfriendly data."""

import json
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn import metrics
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import ShuffleSplit

import gramsmith as gs
from gramsmith.report.words import provenance
from gramsmith.selection.evidence import (
    Curve,
    Evidence,
    Outcome,
    Reading,
    binned,
    histogram,
    picture_of,
    thinned,
    wilson,
)
from gramsmith.tables.convert import Cells
from gramsmith.tables.decide import Column

KERNELS = {"linear": "linear", "rbf": gs.Gaussian(1.0)}


def held_out(ranking):
    """Held-out decision values of what is handed over, the winner or an average, with labels."""
    found = ranking._findings
    best = found.results[found.order[0]]
    result, task = best if found.average is None else found.average.result, found.task
    rows = result.record.rows
    f, y, w = result.answer.f, task.y[rows], None if task.w is None else task.w[rows]
    if task.classes is None:
        return task.as_given(f), task.as_given(y), w
    return (f[:, 0] if f.shape[1] == 1 else f), y, w


def two_rings(rng, n=160):
    X = rng.normal(size=(n, 2))
    return X, np.where(X[:, 0] ** 2 + X[:, 1] ** 2 > 2.6, "out", "in")


@pytest.mark.parametrize("weighted", [False, True])
def test_curves_and_counts_are_those_of_scikit_learn(rng, weighted):
    X, y = two_rings(rng)
    w = rng.integers(0, 4, len(y)) / len(y) if weighted else None
    ranking = gs.rank_kernels(X, y, KERNELS, sample_weight=w)
    outcome = ranking.evidence.outcome
    f, codes, weights = held_out(ranking)
    guess = (f > 0).astype(int)
    expected = metrics.confusion_matrix(codes, guess, sample_weight=weights)
    np.testing.assert_allclose(outcome.confusion, expected)
    np.testing.assert_allclose(
        outcome.recall, metrics.recall_score(codes, guess, average=None, sample_weight=weights)
    )
    np.testing.assert_allclose(
        outcome.precision,
        metrics.precision_score(codes, guess, average=None, sample_weight=weights),
    )
    rare = int(np.argmin(expected.sum(axis=1)))
    values, true = f if rare else -f, codes == rare
    [roc], [pr] = outcome.roc, outcome.precision_recall
    assert roc.name == outcome.classes[rare]
    assert roc.area == pytest.approx(metrics.roc_auc_score(true, values, sample_weight=weights))
    area = metrics.average_precision_score(true, values, sample_weight=weights)
    assert pr.area == pytest.approx(area)
    # the mark stands where the counts say
    assert roc.used[1] == pytest.approx(outcome.recall[rare])
    assert pr.used == pytest.approx((outcome.recall[rare], outcome.precision[rare]))
    if not ranking.average:  # the table has the scores of single kernels
        score = float(np.trace(expected) / expected.sum())
        assert score == pytest.approx(ranking.records[0]["score"])


def test_each_of_several_classes_has_its_curve(rng):
    y = rng.integers(0, 3, 150)
    ranking = gs.rank_kernels(rng.normal(size=(150, 2)) + 2 * np.eye(3)[y][:, :2], y, KERNELS)
    f, codes, _ = held_out(ranking)
    for c, curve in enumerate(ranking.evidence.outcome.roc):
        assert curve.area == pytest.approx(metrics.roc_auc_score(codes == c, f[:, c]))
    assert ranking.evidence.outcome.reliability.of == ""


def test_groups_and_folds(rng):
    X, y = two_rings(rng)
    groups = np.repeat(np.arange(20), 8)
    ranking = gs.rank_kernels(X, y, KERNELS, groups=groups)
    assert ranking.evidence.reading.groups == (20, 8)


def test_a_linear_task_has_a_linear_rival(rng):
    X = rng.normal(size=(200, 3))
    y = X[:, 0] + X[:, 1] > 0.3 * rng.normal(size=200)
    baseline, linear = gs.rank_kernels(X, y, KERNELS).evidence.rivals
    assert baseline.name.startswith("always answering")
    assert baseline.score == pytest.approx(max(y.mean(), 1 - y.mean()))
    assert (linear.name, linear.judgement) == ("logistic regression", "about as good")
    X, y = two_rings(rng, 240)
    assert gs.rank_kernels(X, y, KERNELS).evidence.rivals[1].judgement == "clearly worse"


def test_the_rival_is_the_estimator_of_that_name(rng):
    X = rng.normal(size=(120, 2))
    y = (X[:, 0] > 0.5 * rng.normal(size=120)).astype(int)
    ranking = gs.rank_kernels(X, y, KERNELS)
    record = ranking._findings.results[ranking._findings.order[0]].record
    right = 0
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    for k in range(5):
        train, test = (record.rows[part] for part in (record.fold != k, record.fold == k))
        right += (LogisticRegression().fit(Z[train], y[train]).predict(Z[test]) == y[test]).sum()
    assert ranking.evidence.rivals[1].score == pytest.approx(right / 120)


def test_importance_finds_the_columns_that_matter(rng):
    X = pd.DataFrame(rng.normal(size=(240, 3)), columns=["useful", "noise", "more noise"])
    X["colour"] = rng.choice(["red", "green", "blue"], 240)
    y = np.where((X["useful"] > 0) ^ (X["colour"] == "red"), "yes", "no")
    ranking = gs.rank_kernels(X, y, ["rbf", "linear"])
    lost = {name: (gap, error) for name, gap, error in ranking.evidence.importance}
    assert set(lost) == set(X)
    for name in ("useful", "colour"):
        assert lost[name][0] > 0.1
        assert lost[name][0] > 4 * lost[name][1]
    for name in ("noise", "more noise"):
        assert abs(lost[name][0]) < 4 * lost[name][1] + 0.02


def test_importance_of_values_is_in_units_of_the_score(regression):
    [(first, gap, _), (second, other, _)] = sorted(
        regression.evidence.importance, key=lambda item: -item[1]
    )
    assert (first, second) == ("x0", "x1")
    # a shuffled column that says all costs R² and as much again
    assert 1.0 < gap < 2.6
    assert abs(other) < 0.2


def test_errors_of_values(regression):
    outcome = regression.evidence.outcome
    f, y, _ = held_out(regression)
    gap = np.abs(f - y)
    assert outcome.errors["mean"] == pytest.approx(gap.mean())
    assert np.mean(gap <= outcome.errors["half"]) == pytest.approx(0.5, abs=0.02)
    assert np.mean(gap <= outcome.errors["nine of ten"]) == pytest.approx(0.9, abs=0.02)
    np.testing.assert_allclose(np.sort(outcome.actual), np.sort(y))
    assert outcome.classes == []


def test_probabilities_that_can_be_believed(rng):
    x = rng.normal(size=(700, 1))
    y = rng.random(700) < 1 / (1 + np.exp(-2 * x[:, 0]))
    ranking = gs.rank_kernels(x, y, {"linear": "linear"})
    seen = ranking.evidence.outcome.reliability
    assert seen.gap < 0.06
    assert (np.diff(seen.said) > 0).all()
    assert ((seen.low <= seen.true) & (seen.true <= seen.high)).all()
    assert np.mean((seen.low <= seen.said) & (seen.said <= seen.high)) > 0.7


UNFRIENDLY = {
    "one row of a class": lambda rng: ((rng.normal(size=(40, 2)), np.r_[np.zeros(39), 1]), {}),
    "sparse": lambda rng: (
        (sp.random_array((60, 8), density=0.3, rng=rng, format="csr"), rng.integers(0, 2, 60)),
        {},
    ),
    "two views": lambda rng: (
        ((rng.normal(size=(50, 2)), rng.normal(size=(50, 3))), rng.integers(0, 2, 50)),
        {"kernels": ["rbf", "linear"]},
    ),
    "a matrix": lambda rng: (
        (np.eye(40) + 0.1, rng.integers(0, 2, 40)),
        {"kernels": "precomputed"},
    ),
    "folds of the user": lambda rng: (
        (rng.normal(size=(60, 2)), rng.normal(size=60)),
        {"cv": ShuffleSplit(3, random_state=0)},
    ),
    "log loss": lambda rng: (
        (rng.normal(size=(60, 2)), rng.integers(0, 3, 60)),
        {"scoring": "neg_log_loss"},
    ),
    "area": lambda rng: ((rng.normal(size=(60, 2)), np.arange(60) % 2), {"scoring": "roc_auc"}),
    "machine of the user": lambda rng: (
        (rng.normal(size=(60, 2)), rng.integers(0, 2, 60)),
        {"machine": gs.KernelLogisticRegression()},
    ),
    "offset": lambda rng: ((1e10 + rng.normal(size=(60, 2)), rng.normal(size=60) + 1e10), {}),
    "strings": lambda rng: (
        (["".join(rng.choice(list("AC"), 9)) for _ in range(50)], rng.integers(0, 2, 50)),
        {"kernels": [gs.Spectrum(2)]},
    ),
    "sets": lambda rng: (
        ([set(rng.integers(0, 9, 4).tolist()) for _ in range(40)], rng.integers(0, 2, 40)),
        {"kernels": [gs.AllSubsets()]},
    ),
    "weights of nothing": lambda rng: (
        (rng.normal(size=(60, 2)), rng.integers(0, 2, 60)),
        {"sample_weight": np.r_[np.zeros(20), np.full(40, 1 / 60)]},
    ),
}


@pytest.mark.parametrize("kind", UNFRIENDLY)
def test_every_ranking_has_a_page(rng, tmp_path, kind):
    (X, y), options = UNFRIENDLY[kind](rng)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ranking = gs.rank_kernels(X, y, **{"kernels": KERNELS, **options})
    page = ranking.write_html(tmp_path / "report.html").read_text()
    assert ranking.verdict.text.split(":")[0] in page.replace("&#39;", "'")
    assert ">nan<" not in page.lower()
    assert (ranking.evidence.outcome is None) == (kind == "no time")
    assert ranking.evidence.to_plain()["reading"]["rows"] == len(y)
    assert "<table>" in ranking._repr_html_()


def test_what_was_read(rng):
    frame = pd.DataFrame(
        {
            "size": np.r_[rng.normal(size=58), 1e6, np.nan],
            "colour": ["red"] * 40 + ["blue"] * 20,
            "day": pd.date_range("2024-01-01", periods=60),
            "same": 1.0,
        }
    )
    frame = pd.concat([frame, frame.iloc[:6]], ignore_index=True)
    reading = gs.rank_kernels(frame, rng.normal(size=66), KERNELS).evidence.reading
    size, colour, day, same = reading.columns
    assert (size.missing, sum(size.counts)) == (1, 65)
    assert sorted(size.counts)[-2] > 3  # one value of a million leaves the others their bins
    assert (colour.counts, colour.low) == ([46, 20], "red")
    assert (day.kind, day.low, day.high) == ("date", "2024-01-01", "2024-02-29")
    assert (same.role, same.counts) == ("left out", [])
    [target] = reading.targets
    assert (target.name, target.role) == ("target", "target")
    assert target.counts
    assert reading.copies == 0  # the targets differ


def test_copies_are_counted(rng):
    X = rng.normal(size=(50, 2))
    X, y = np.r_[X, X[:7]], np.r_[np.arange(50) % 2, np.arange(7) % 2]
    assert gs.rank_kernels(X, y, KERNELS).evidence.reading.copies == 7


@pytest.mark.parametrize("alone", [True, False])
def test_a_column_that_carries_nearly_all_of_the_score_is_an_alarm(rng, alone):
    """Columns that tell the target only together, as two that must agree, are none."""
    X = pd.DataFrame(rng.integers(0, 2, (400, 2)).astype(float), columns=["a", "b"])
    X += 0.05 * rng.normal(size=X.shape)
    y = np.where((X.a > 0.5) if alone else ((X.a > 0.5) ^ (X.b > 0.5)), "yes", "no")
    ranking = gs.rank_kernels(X, y, {"rbf": gs.Gaussian(0.7)})
    assert ranking.estimate.value > 0.97
    said = [text for text in ranking.warnings if "Nearly all of the score" in text]
    assert len(said) == alone
    assert not alone or "'a'" in said[0]


def test_a_copy_of_the_target_is_an_alarm(rng):
    X = pd.DataFrame({"a": rng.normal(size=60), "leak": ["u", "v"] * 30})
    with pytest.warns(UserWarning, match="determines the target"):
        ranking = gs.rank_kernels(X, np.tile(["no", "yes"], 30), KERNELS)
    assert any("determines the target" in text for text in ranking.warnings)
    assert ranking.verdict.level == "care"


def test_answers_know_good_from_poor(rng):
    X, y = two_rings(rng, 240)
    assert gs.rank_kernels(X, y, KERNELS).verdict.level == "good"
    noise = gs.rank_kernels(X, rng.permutation(y), KERNELS).verdict
    assert noise.level == "poor"
    assert "Not clearly better than always answering" in noise.text
    rare = (X[:, 0] > 1.3) & (rng.random(240) < 0.6)
    missed = gs.rank_kernels(X, rare, KERNELS).verdict
    assert missed.level != "good"


def test_times_and_provenance(ranking):
    assert {"check", "measures", "cross-validation", "fit", "evidence"} <= set(ranking.seconds)
    assert all(value >= 0 for value in ranking.seconds.values())
    named = dict(provenance(ranking, None, None))
    assert named["seed"] == "0"
    assert "scipy" in named["versions"]
    assert len(ranking.evidence.data) == 32


def test_small_pieces():
    x = np.linspace(0, 1, 1000)
    thin, height = thinned(x, x**2)
    assert len(thin) <= 120
    assert (thin[0], thin[-1], height[-1]) == (0.0, 1.0, 1.0)
    assert np.abs(np.interp(x, thin, height) - x**2).max() < 0.01
    low, high = wilson(np.array([0.0, 0.5]), np.array([10, 100]))
    assert low.tolist() == pytest.approx([0.0, 0.4038], abs=1e-4)
    assert high.tolist() == pytest.approx([0.2775, 0.5962], abs=1e-4)
    parts = binned(np.r_[np.full(40, 0.05), np.full(3, 0.4), np.full(20, 0.9)])
    assert [len(part) for part in parts] == [40, 23]
    assert histogram(np.ones(5)) == [5]
    assert sum(histogram(np.r_[np.arange(100.0), 1e9])) == 101
    empty = picture_of(Column("a", "input", "number", 3, 0, ""), Cells(np.full(3, np.nan)))
    assert empty.counts == []


def test_shares_of_what_was_not_tested():
    outcome = Outcome("cross-validation", 3, ["a", "b"], np.array([[3.0, 0.0], [0.0, 0.0]]))
    assert outcome.recall[0] == 1.0
    assert np.isnan(outcome.recall[1])
    assert np.isnan(outcome.precision[1])


def test_contents_of_a_classification(ranking):
    assert ranking.evidence.gram.shape == (150, 150)
    assert [name for name, _ in ranking.evidence.blocks] == ["in", "out"]
    assert ranking.evidence.map.shape == (150, 2)
    assert (np.diff(ranking.path.steps) > 0).all()
    assert np.isfinite(ranking.path.scores).all()


def test_contents_of_a_regression(regression):
    assert regression.evidence.blocks == []
    assert regression.classes is None
    assert len(regression.evidence.map_colours) == 120


def test_plain_values_are_json():
    curve = Curve("a", np.arange(2.0), np.arange(2.0), 0.5, (0.1, 0.9), 0.3)
    outcome = Outcome("cross-validation", 2, ["a", "b"], np.eye(2), roc=[curve])
    plain = Evidence(Reading(2), outcome, gram=np.eye(2)).to_plain()
    assert json.loads(json.dumps(plain)) == plain
    assert plain["outcome"]["confusion"] == [[1.0, 0.0], [0.0, 1.0]]
    assert plain["outcome"]["roc"][0]["used"] == [0.1, 0.9]
    assert not {"gram", "map"} & set(plain)


def test_a_selector_gathers_evidence_when_asked(circle):
    selector = gs.KernelSelector(["rbf", "linear"]).fit(*circle)
    before = selector.ranking_.seconds
    assert "evidence" not in before
    whole = gs.rank_kernels(*circle, ["rbf", "linear"], random_state=0).evidence
    again = pickle.loads(pickle.dumps(selector)).ranking_.evidence
    parts = [one.to_plain() for one in (again, whole, selector.ranking_.evidence)]
    tables = [part["outcome"].pop("thresholds") for part in parts]
    assert parts[0] == parts[1] == parts[2]
    # a selector makes no choice anew in outer folds, on which the thresholds of a ranking rest
    assert tables[0] == tables[2] != tables[1]


def test_the_surest_mistakes_are_listed(ranking, regression):
    outcome = ranking.evidence.outcome
    wrong = outcome.confusion.sum() - np.trace(outcome.confusion)
    assert len(outcome.worst) == min(10, wrong)
    assert all(true != said and 0.5 <= p <= 1.0 for _, true, said, p in outcome.worst)
    sure = [p for *_, p in outcome.worst]
    assert sure == sorted(sure, reverse=True)
    errors = [abs(error) for *_, error in regression.evidence.outcome.worst]
    assert errors == sorted(errors, reverse=True)
    assert len(errors) == 10


def test_effects_of_columns_have_a_direction():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(120, 2)), columns=["up", "down"])
    frame["kind"] = pd.Categorical(rng.choice(["a", "b"], 120))
    y = frame["up"] - 0.5 * frame["down"] + 2.0 * (frame["kind"] == "b")
    effects = {e.name: e for e in gs.rank_kernels(frame, y, ["linear"]).evidence.effects}
    assert effects["up"].values == sorted(effects["up"].values)
    assert (np.diff(effects["up"].predictions[:, 0]) > 0).all()
    assert (np.diff(effects["down"].predictions[:, 0]) < 0).all()
    kinds = dict(zip(effects["kind"].values, effects["kind"].predictions, strict=True))
    assert kinds["b"] > kinds["a"] + 1.0
    numbers = frame[["up", "down"]].to_numpy()
    assert len(gs.rank_kernels(numbers, y, ["linear"]).evidence.effects) == 2
