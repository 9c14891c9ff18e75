"""Several labels at once: one machine for the codes of all, each answered by itself."""

import json

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.metrics import f1_score, roc_auc_score
from sklearn.model_selection import cross_val_score
from sklearn.utils import get_tags

import gramsmith as gs
from gramsmith.selection import AveragedRegressor, LabelsClassifier
from gramsmith.selection.kinds import Labels, read_task
from gramsmith.selection.scores import Answers
from gramsmith.storage.card import model_card

RNG = np.random.default_rng(8)
X = RNG.normal(size=(120, 3))
Y = np.column_stack(
    [X[:, 0] > 0, X[:, 1] * X[:, 2] > 0, X[:, 0] + 0.5 * RNG.normal(size=120) > 1]
).astype(int)
NAMES = ["up", "same", "rare"]
KERNELS = {"linear": "linear", "wide": gs.Gaussian(3.0), "narrow": gs.Gaussian(1.0)}


@pytest.fixture(scope="module")
def ranking():
    return gs.rank_kernels(X, pd.DataFrame(Y, columns=NAMES))


def test_everything_a_ranking_does(ranking, tmp_path):
    assert ranking.task == "multilabel"
    assert ranking.scoring == "label accuracy"
    assert ranking.classes.tolist() == NAMES == ranking.best_estimator.classes_.tolist()
    assert list(ranking.output_scores) == NAMES
    assert min(ranking.output_scores.values()) > 0.8
    majority = np.mean(np.maximum(Y.mean(axis=0), 1 - Y.mean(axis=0)))
    assert ranking.estimate.baseline == pytest.approx(majority)
    assert ranking.estimate.beats_baseline
    assert ranking.evidence.rivals[0].name == "answering every label with its majority"
    assert ranking.evidence.rivals[1].name == "ridge regression"
    model = ranking.best_estimator
    p = model.predict_proba(X)
    assert p.shape == (120, 3)
    assert p.min() >= 0.0
    assert p.max() <= 1.0
    assert np.mean((p > 0.5) == model.predict(X)) > 0.95
    assert model.decision_function(X).shape == (120, 3)
    assert "of 100 labels of new rows" in ranking.verdict.text
    page = ranking.write_html(tmp_path / "report.html").read_text()
    for text in ("Label by label", *NAMES, "always answering its most frequent value"):
        assert text in page
    assert "Class by class" not in page
    assert [curve.name for curve in ranking.evidence.outcome.roc] == NAMES
    assert ranking.evidence.outcome.reliability.gap < 0.15
    assert json.dumps(ranking.evidence.to_plain())
    assert ranking.summary["labels"] == [
        [n, int(c)] for n, c in zip(NAMES, Y.sum(axis=0), strict=True)
    ]
    with pytest.raises(ValueError, match="ranking of classes, got one of several labels"):
        ranking.plot("confusion")
    with pytest.raises(ValueError, match="ranking of values, got one of several labels"):
        ranking.plot("predictions")
    assert ranking.plot("roc").lines
    gs.save_model(model, tmp_path / "m.safetensors", about={"summary": ranking.summary})
    again = gs.load_model(tmp_path / "m.safetensors")
    assert again.predict(X).tobytes() == model.predict(X).tobytes()
    assert again.predict_proba(X).tobytes() == p.tobytes()
    card = model_card(tmp_path / "m.safetensors")
    assert "3 labels at once: up, same, rare" in card
    assert "| label | rows |" in card


def test_it_equals_a_classifier_for_each_label():
    selector = gs.KernelSelector(KERNELS, ensemble=False).fit(X, Y)
    model = selector.best_estimator_[-1]
    assert isinstance(model, LabelsClassifier)
    Z = selector.best_estimator_[:-1].transform(X)
    machine = model.model_
    for k in range(3):
        one = gs.KernelRidgeClassifier(machine.kernel, alpha=machine.alpha).fit(Z, Y[:, k])
        np.testing.assert_allclose(
            one.decision_function(Z), selector.decision_function(X)[:, k], atol=1e-7
        )
        np.testing.assert_array_equal(one.predict(Z), selector.predict(X)[:, k])
    record = selector.ranking_._findings.results[selector.ranking_._findings.order[0]].record
    result = selector.ranking_._findings.results[selector.ranking_._findings.order[0]]
    f, rows = record.values[result.best], record.rows
    for k in range(3):
        one = gs.KernelRidgeClassifier(machine.kernel, alpha=machine.alpha).fit(Z, Y[:, k])
        one.calibrate(f[:, k], Y[rows, k], has_offsets=False)
        np.testing.assert_allclose(
            one.predict_proba(Z)[:, 1], selector.predict_proba(X)[:, k], atol=1e-7
        )


def test_an_average_is_one_of_the_codes():
    selector = gs.KernelSelector().fit(X, Y)
    model = selector.best_estimator_
    assert isinstance(model, LabelsClassifier)
    assert isinstance(model.model_, AveragedRegressor)
    assert selector.ranking_.average
    assert selector.n_features_in_ == 3


def test_as_an_estimator(stored):
    w, groups = RNG.integers(0, 3, 120).astype(float), np.repeat(np.arange(40), 3)
    selector = gs.KernelSelector(KERNELS).fit(X, Y, groups=groups, sample_weight=w)
    assert selector.classes_.tolist() == [0, 1, 2]
    right = (selector.predict(X) == Y).mean(axis=1)
    assert selector.score(X, Y) == pytest.approx(right.mean())
    assert selector.score(X, Y, w) == pytest.approx(np.average(right, weights=w))
    tags = get_tags(selector)
    assert tags.target_tags.multi_output
    assert tags.classifier_tags.multi_label
    again = stored(selector)
    assert again.predict_proba(X).tobytes() == selector.predict_proba(X).tobytes()
    assert again.score(X, Y) == selector.score(X, Y)
    for scoring in ("f1_macro", "roc_auc", "average_precision"):
        scores = cross_val_score(gs.KernelSelector(KERNELS), X, Y, cv=3, scoring=scoring)
        assert scores.min() > 0.6


@pytest.mark.parametrize("m", [2, 3])
@pytest.mark.parametrize("scoring", ["f1_macro", "roc_auc", "accuracy", "jaccard_samples"])
def test_scores_of_scikit_learn(m, scoring):
    task = read_task(Y[:, :m], scoring=scoring)
    f, rows = task.codes + RNG.normal(size=(120, m)), np.arange(120)
    found = -task.loss(Answers(f), rows)
    expected = {
        "f1_macro": lambda: f1_score(Y[:, :m], f > 0, average="macro"),
        "roc_auc": lambda: roc_auc_score(Y[:, :m], f),
        "accuracy": lambda: np.mean(((f > 0) == Y[:, :m]).all(axis=1)),
    }
    if scoring in expected:
        assert found == pytest.approx(expected[scoring]())
    assert np.isfinite(task.error(Answers(f), rows))
    assert not task.score.is_default


def test_ranked_by_a_score_of_scikit_learn():
    found = gs.rank_kernels(X[:60], Y[:60], ["rbf"], scoring="f1_macro")
    assert found.scoring == "f1_macro"
    assert found.estimate.beats_baseline
    assert found.estimate.value > found.estimate.baseline
    for scoring in ("r2", "neg_log_loss", "neg_brier_score"):
        with pytest.raises(ValueError, match=f"score for 3 labels, got '{scoring}'.*f1_macro"):
            gs.rank_kernels(X, Y, KERNELS, scoring=scoring)


def test_many_rows_go_on_landmarks(sizes):
    sizes(EXACT_ROWS=60, AVERAGE_ROWS=0)
    for groups in (None, np.repeat(np.arange(40), 3)):
        selector = gs.KernelSelector({"narrow": gs.Gaussian(1.0)}).fit(X, Y, groups=groups)
        model = selector.best_estimator_[-1]
        assert model.model_.solver_ == "nystroem"
        assert selector.predict_proba(X).shape == (120, 3)
        assert selector.score(X, Y) > 0.85


@pytest.mark.usefixtures("no_time")
def test_no_time_is_enough_for_a_model():
    short = gs.rank_kernels(X, Y, KERNELS, time_budget=60.0)
    assert short.best_estimator.predict(X).shape == Y.shape


def test_flags_sparse_matrices_and_lists_are_labels():
    plain = gs.KernelSelector({"wide": gs.Gaussian(3.0)}).fit(X, Y)
    for y in (Y.astype(bool), sp.csr_array(Y), Y.tolist(), Y.astype(float)):
        found = gs.KernelSelector({"wide": gs.Gaussian(3.0)}).fit(X, y)
        np.testing.assert_array_equal(found.predict(X), plain.predict(X))
    flags = gs.KernelSelector({"wide": gs.Gaussian(3.0)}).fit(X, Y.astype(bool))
    assert flags.predict(X).dtype == bool
    assert isinstance(read_task(pd.DataFrame(Y).astype(object)), Labels)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda Z: np.column_stack([Z[:, :2], np.zeros(120, int)]), "only 0 in column 'rare'"),
        (lambda Z: np.column_stack([Z[:, :2], Z[:, 2] + X[:, 0]]), "looks like classes"),
        (lambda Z: Z + (np.arange(120) % 3)[:, None], "not 0 and 1 everywhere"),
        (lambda Z: np.where(np.arange(360).reshape(120, 3) == 4, np.nan, Z), "NaN"),
    ],
)
def test_bad_labels_are_refused_before_any_work(make, message):
    y = pd.DataFrame(make(Y), columns=NAMES)
    with pytest.raises(ValueError, match=message):
        gs.rank_kernels(X, y, progress=lambda stage, *_: stage == "read" or pytest.fail(stage))


def test_what_labels_do_not_have():
    with pytest.raises(ValueError, match="no class_weight with several labels"):
        gs.rank_kernels(X, Y, class_weight="balanced")
    with pytest.raises(ValueError, match="machine=None for several labels"):
        gs.rank_kernels(X, Y, machine=gs.KernelSVC())
    with pytest.raises(ValueError, match="labels of 0 and 1 in every column"):
        gs.rank_kernels(X, Y + 1, task="classification")


def test_a_rare_label_may_be_lost_in_a_fold():
    y = Y.copy()
    y[:, 2] = np.arange(120) == 50
    found = gs.KernelSelector(KERNELS).fit(X, y)
    assert found.predict_proba(X)[:, 2].max() < 0.5


def test_a_classifier_of_labels_by_itself(tmp_path):
    model = LabelsClassifier(gs.KernelRidgeRegressor(gs.Gaussian(1.0), alpha=0.1)).fit(X, Y)
    assert model.score(X, Y) > 0.9
    assert not hasattr(model, "predict_proba")
    with pytest.raises(ValueError, match=r"shape \(n, 3\)"):
        model.calibrate(np.zeros((5, 2)), np.zeros((5, 2)))
    model.calibrate(model.decision_function(X), Y)
    gs.save_model(model, tmp_path / "m.safetensors")
    assert gs.load_model(tmp_path / "m.safetensors").predict_proba(X).shape == (120, 3)
    assert "3 labels at once" in model_card(tmp_path / "m.safetensors")
    with pytest.raises(ValueError, match="0 and 1 in at least two columns"):
        model.fit(X, Y[:, 0])
    with pytest.raises(ValueError, match="0 and 1 in at least two columns"):
        model.fit(X, Y * 2)
