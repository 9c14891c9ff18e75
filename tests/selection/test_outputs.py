"""Several outputs at once: one ranking, each output in units of its own deviation."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics import r2_score
from sklearn.model_selection import cross_val_score
from sklearn.svm import SVR

import gramsmith as gs
from gramsmith.report.pictures import plot_output
from gramsmith.selection import ModelPipeline
from gramsmith.selection.kinds import Values, read_task
from gramsmith.selection.scores import Answers
from gramsmith.storage.card import model_card

RNG = np.random.default_rng(5)
X = RNG.normal(size=(90, 3))
Y = np.column_stack(
    [
        np.sin(X[:, 0]) + 0.1 * RNG.normal(size=90),
        X[:, 1] * X[:, 2] + 0.1 * RNG.normal(size=90),
        RNG.normal(size=90) + 5.0,
    ]
)
UNITS = np.array([1e-8, 1e4, 3.0])
NAMES = ["angle", "force", "noise"]
KERNELS = {"linear": "linear", "wide": gs.Gaussian(3.0), "narrow": gs.Gaussian(1.0)}


@pytest.fixture(scope="module")
def ranking():
    return gs.rank_kernels(X, pd.DataFrame(Y * UNITS, columns=NAMES))


@pytest.fixture(scope="module")
def plain():
    return gs.rank_kernels(X, Y, KERNELS)


def test_the_units_of_the_outputs_change_nothing(plain):
    scaled = gs.rank_kernels(X, Y * UNITS, KERNELS)
    assert scaled.average.keys() == plain.average.keys()
    for one, two in zip(plain.records, scaled.records, strict=True):
        assert one["kernel"] == two["kernel"]
        assert two["score"] == pytest.approx(one["score"], abs=1e-9)
        assert two["cka"] == pytest.approx(one["cka"], abs=1e-9)
    found = scaled.best_estimator.predict(X) / UNITS
    np.testing.assert_allclose(found, plain.best_estimator.predict(X), rtol=1e-7, atol=1e-9)
    ends = [r.best_estimator.predict_interval(X) for r in (scaled, plain)]
    np.testing.assert_allclose(ends[0] / UNITS[:, None], ends[1], rtol=1e-7, atol=1e-9)


def test_scores_are_the_mean_and_each(plain):
    scores = plain.output_scores
    assert list(scores) == ["output 1", "output 2", "output 3"]
    assert plain.records[0]["score"] > 0.5
    assert scores["output 1"] > 0.9
    assert scores["output 3"] < 0.2  # noise
    result = plain._findings.results[plain._findings.order[0]]
    f, rows = result.record.values[result.best], result.record.rows
    assert plain.records[0]["score"] == pytest.approx(r2_score(Y[rows], f * np.std(Y, axis=0)))
    assert plain.estimate.baseline == pytest.approx(0.0, abs=1e-9)


def test_everything_a_ranking_does(ranking, tmp_path):
    assert ranking.task == "regression"
    assert "cka" in ranking.records[0]
    assert "fsm" not in ranking.records[0]  # it is of one output
    assert list(ranking.output_scores) == NAMES
    model = ranking.best_estimator
    assert model.predict(X).shape == (90, 3)
    ends = model.predict_interval(X, 0.8)
    assert ends.shape == (90, 3, 2)
    assert np.all((ends[..., 0] < model.predict(X)) & (model.predict(X) < ends[..., 1]))
    inside = (ends[..., 0] <= Y * UNITS) & (Y * UNITS <= ends[..., 1])
    assert inside.mean(axis=0).min() > 0.7
    assert "on average over 3 outputs" in ranking.verdict.text
    assert any("“noise”" in text for text in ranking.verdict.details)
    page = ranking.write_html(tmp_path / "report.html").read_text()
    for text in ("Output by output", *NAMES):
        assert text in page
    assert json.dumps(ranking.evidence.to_plain())
    assert ranking.summary["outputs"][1][0] == "force"
    assert plot_output(ranking, 1).get_xlabel() == "predicted"
    gs.save_model(model, tmp_path / "m.safetensors", about={"summary": ranking.summary})
    again = gs.load_model(tmp_path / "m.safetensors")
    assert again.predict(X).tobytes() == model.predict(X).tobytes()
    assert again.predict_interval(X).tobytes() == model.predict_interval(X).tobytes()
    card = model_card(tmp_path / "m.safetensors")
    assert "regression, 3 outputs: angle, force, noise" in card
    assert "| output | from | to |" in card


def test_rivals_and_importance_count_all_outputs(plain):
    base, linear = plain.evidence.rivals
    assert base.name == "predicting the mean of every output"
    assert linear.name == "ridge regression"
    assert linear.judgement == "clearly worse"
    lost = {name: value for name, value, _ in plain.evidence.importance}
    assert set(lost) == {"x0", "x1", "x2"}
    assert min(lost.values()) > 0.1


def test_one_machine_without_an_average_is_a_ridge_machine_of_all():
    selector = gs.KernelSelector(KERNELS, task="regression", ensemble=False).fit(X, Y * UNITS)
    assert isinstance(selector.best_estimator_, ModelPipeline)
    machine = selector.best_estimator_[-1]
    assert isinstance(machine, gs.KernelRidgeRegressor)
    Z = selector.best_estimator_[:-1].transform(X)
    same = gs.KernelRidgeRegressor(machine.kernel, alpha=machine.alpha).fit(Z, Y * UNITS)
    np.testing.assert_allclose(
        same.predict(Z) / UNITS, machine.predict(Z) / UNITS, rtol=1e-7, atol=1e-8
    )
    np.testing.assert_allclose(
        same.loo_residuals_ / UNITS, machine.loo_residuals_ / UNITS, rtol=1e-6, atol=1e-7
    )
    assert selector.score(X, Y * UNITS) == pytest.approx(
        r2_score(Y * UNITS, selector.predict(X)), abs=1e-12
    )


def test_as_an_estimator_with_weights_and_groups(stored):
    w, groups = RNG.integers(0, 3, 90).astype(float), np.repeat(np.arange(30), 3)
    selector = gs.KernelSelector(KERNELS).fit(X, Y, groups=groups, sample_weight=w)
    kept = np.flatnonzero(w > 0)
    without = gs.KernelSelector(KERNELS).fit(
        X[kept], Y[kept], groups=groups[kept], sample_weight=w[kept]
    )
    # a row of no weight is no row: only the standardisation of the columns has seen it
    assert selector.score(X, Y) == pytest.approx(without.score(X, Y), abs=0.1)
    task = selector.ranking_._findings.task
    for result in selector.ranking_._findings.results.values():
        for group in np.unique(groups[result.record.rows]):
            assert len(set(result.record.fold[groups[result.record.rows] == group])) == 1
    np.testing.assert_allclose(
        np.average((task.y - np.average(task.y, axis=0, weights=w)) ** 2, axis=0, weights=w), 1.0
    )
    again = stored(selector)
    assert again.predict(X).tobytes() == selector.predict(X).tobytes()
    assert again.predict_interval(X).shape == (90, 3, 2)
    assert not hasattr(selector, "classes_")
    scores = cross_val_score(gs.KernelSelector(KERNELS, task="regression"), X, Y[:, :2], cv=3)
    assert scores.min() > 0.6


def test_many_rows_go_on_landmarks(sizes):
    sizes(EXACT_ROWS=60, AVERAGE_ROWS=0)
    found = [
        gs.KernelSelector({"narrow": gs.Gaussian(1.0), "linear": "linear"}).fit(X, Y * units)
        for units in (1.0, UNITS)
    ]
    machine = found[0].best_estimator_[-1]
    assert machine.solver_ == "nystroem"
    np.testing.assert_allclose(
        found[0].predict(X), found[1].predict(X) / UNITS, rtol=1e-6, atol=1e-7
    )
    assert found[1].predict_interval(X).shape == (90, 3, 2)


@pytest.mark.usefixtures("no_time")
def test_a_time_budget_and_a_journal(tmp_path):
    short = gs.rank_kernels(X, Y, KERNELS, time_budget=60.0)
    assert short.best_estimator.predict(X).shape == Y.shape
    kept = {}
    one = gs.rank_kernels(X, Y, KERNELS, resume=kept)
    two = gs.rank_kernels(X, Y, KERNELS, resume=kept)
    assert one.records == two.records
    assert one.output_scores == two.output_scores


@pytest.mark.parametrize("scoring", ["neg_mean_absolute_error", "explained_variance"])
def test_scores_of_scikit_learn_are_in_the_units_of_the_user(scoring):
    task = read_task(Y * UNITS, scoring=scoring)
    rows, f = np.arange(90), task.y + 0.1
    losses = [
        one.loss(Answers(one.in_units(guess)), rows)
        for column, guess in zip((Y * UNITS).T, (f * task.unit).T, strict=True)
        for one in [read_task(column, task="regression", scoring=scoring)]
    ]
    assert task.loss(Answers(f), rows) == pytest.approx(np.mean(losses), rel=1e-9)
    assert np.isfinite(task.error(Answers(f), rows))


def test_a_machine_of_the_users():
    found = gs.rank_kernels(X, Y * UNITS, KERNELS, machine=KernelRidge(alpha=0.1))
    assert found.best_estimator.predict(X).shape == Y.shape
    with pytest.raises(ValueError, match="estimator for 3 outputs, got SVR"):
        gs.rank_kernels(X, Y, KERNELS, machine=SVR())


def test_whole_numbers_are_values_if_said():
    counts = np.column_stack([np.arange(90) % 7, np.arange(90) % 5])
    with pytest.raises(ValueError, match='Use task="regression"'):
        read_task(counts)
    assert isinstance(read_task(counts, task="regression"), Values)
    flags = (counts > 2).astype(int)
    assert isinstance(read_task(flags, task="regression"), Values)
    many = np.column_stack([np.arange(90) * 3, np.arange(90) ** 2])
    assert isinstance(read_task(many), Values)


BROKEN = {
    "constant": (lambda Z: np.column_stack([Z[:, :2], np.ones(90)]), "constant column 'noise'"),
    "gap": (lambda Z: np.where(np.arange(270).reshape(90, 3) == 4, np.nan, Z), "NaN"),
    "huge": (lambda Z: Z * 1e300, "below 1e"),
    "mixed": (
        lambda Z: np.column_stack([Z[:, :2], Z[:, 0] > 0]),
        "'noise' that looks like classes",
    ),
}


@pytest.mark.parametrize("case", BROKEN)
def test_bad_outputs_are_refused_before_any_work(case):
    make, message = BROKEN[case]
    y = pd.DataFrame(make(Y), columns=NAMES)
    for call in (gs.rank_kernels,):
        with pytest.raises(ValueError, match=message):
            call(X, y, progress=lambda stage, *_: stage == "read" or pytest.fail(stage))


def test_tiny_and_large_outputs_are_scored_alike(plain):
    for unit in (1e-300, 1e60):
        found = gs.rank_kernels(X, Y * unit, KERNELS).output_scores
        assert found == pytest.approx(plain.output_scores, abs=1e-6)


def test_texts_beside_numbers_are_refused_by_name():
    y = pd.DataFrame({"a": Y[:, 0], "b": np.where(Y[:, 1] > 0, "x", "y")})
    with pytest.raises(ValueError, match="texts in column 'b'"):
        gs.rank_kernels(X, y)
    with pytest.raises(ValueError, match="got texts"):
        gs.rank_kernels(X, np.array([["a", "b"]] * 90))
    with pytest.raises(ValueError, match="at least one"):
        gs.rank_kernels(X, np.empty((90, 0)))


def test_an_output_that_is_constant_where_it_counts_is_refused():
    y = Y.copy()
    y[:60, 1] = 2.0
    w = (np.arange(90) < 60).astype(float)
    with pytest.raises(ValueError, match="constant column 'output 2'"):
        gs.rank_kernels(X, y, sample_weight=w)


def test_no_warnings_on_the_way():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gs.KernelSelector(KERNELS).fit(X, Y)
