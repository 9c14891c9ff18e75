"""The search: learned weights are credited honestly, the short list is a union, ties are kept."""

import numpy as np
import pytest
from sklearn.model_selection import ShuffleSplit

import gramsmith as gs
from gramsmith.selection import search
from gramsmith.selection.candidates import default_candidates
from gramsmith.selection.contest import result_from_plain, result_to_plain
from gramsmith.selection.judge import Judge
from gramsmith.selection.samples import Samples
from gramsmith.selection.search import Search
from gramsmith.solvers import RidgePath


def hunt(X, y, **options):
    judge = Judge("classification", y, np.unique(y))
    return Search(default_candidates(X), Samples((X,)), judge, n_jobs=1, **options).run()


def test_irrelevant_features_make_learning_win(rng):
    X = rng.normal(size=(300, 12))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    found = hunt(X, y)
    assert found.candidates[found.order[0]].family == "learned"


def test_learning_is_not_credited_with_memory(rng):
    # labels are noise: what was learned on some rows must not shine on them
    X, y = rng.normal(size=(150, 10)), rng.integers(0, 2, 150)
    found = hunt(X, y)
    learned = [i for i, c in enumerate(found.candidates) if c.family == "learned"]
    for i in learned:
        assert found.checks[i].loss > 0.3
        if i in found.results:
            assert found.results[i].loss > 0.3


def test_short_list_holds_leaders_and_is_short(rng):
    X = rng.normal(size=(120, 3))
    found = hunt(X, (X[:, 0] > 0).astype(int), learn=False)
    squared = [c.squared for c in found.checks]
    assert int(np.argmin(squared)) in found.short
    assert 2 <= len(found.short) <= 7
    assert len(set(found.short)) == len(found.short)


def test_order_holds_everyone_once(rng):
    X = rng.normal(size=(80, 2))
    found = hunt(X, (X[:, 0] > 0).astype(int), learn=False)
    assert sorted(found.order) == list(range(len(found.candidates)))
    assert found.order[0] in found.tied


def test_plain_results_come_back(ranking):
    result = next(iter(ranking._hunt.results.values()))
    again = result_from_plain(result_to_plain(result))
    assert again.loss == result.loss
    assert (again.held_out == result.held_out).all()
    assert again.path == result.path


def test_progress_is_optional(rng):
    X = rng.normal(size=(40, 2))
    with pytest.raises(RuntimeError, match="stop"):
        gs.rank_kernels(X, X[:, 0] > 0, ["rbf"], progress=_stop)


def _stop(*news):
    raise RuntimeError("stop")


def test_many_samples_compete_on_landmarks(rng, monkeypatch):
    monkeypatch.setattr(search, "EXACT_ROWS", 100)
    X = rng.normal(size=(160, 2))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    found = hunt(X, y, learn=False)
    assert found.on_landmarks
    assert {result.machine for result in found.results.values()} == {"landmarks"}
    # with as many landmarks as samples this is kernel ridge regression itself
    best = found.order[0]
    result, check = found.results[best], found.checks[best]
    path = RidgePath(found.candidates[best].kernel(X), np.where(y == 1, 1.0, -1.0))
    residuals = path.loo_residuals([result.parameter * check.spread * 160])[0]
    wrong = (np.where(y == 1, 1.0, -1.0) - residuals > 0) != (y == 1)
    assert result.loss == pytest.approx(wrong.mean(), abs=0.01)


def test_landmark_contest_is_resumed(rng, monkeypatch):
    monkeypatch.setattr(search, "EXACT_ROWS", 100)
    X = rng.normal(size=(160, 2))
    y = (X[:, 0] > 0).astype(int)
    notes = {}
    first = hunt(X, y, learn=False, checkpoint=notes)
    monkeypatch.setattr(search, "check_candidates", None)  # nothing may be computed again
    again = hunt(X, y, learn=False, checkpoint=notes)
    assert again.order == first.order
    for i, result in first.results.items():
        assert again.results[i].loss == result.loss


def test_simplest_wins_where_many_samples_leave_a_tie(rng, monkeypatch):
    X = rng.normal(size=(300, 3))
    y = (X.sum(axis=1) + 0.5 * rng.normal(size=300) > 0).astype(int)
    monkeypatch.setattr(search, "EXACT_ROWS", 100)
    found = hunt(X, y)
    assert found.candidates[found.order[0]].family == "linear"
    assert len(found.tied) > 1


@pytest.fixture
def sorted_product(rng):
    X = rng.normal(size=(240, 2))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    order = np.argsort(y, kind="stable")
    return X[order], y[order]


def test_sorted_classes_leave_no_fold_undefined(sorted_product, monkeypatch):
    monkeypatch.setattr(search, "EXACT_ROWS", 100)
    X, y = sorted_product
    ranking = gs.rank_kernels(X, y, [gs.Gaussian(1.0), gs.Linear()], scoring="roc_auc")
    first, second = ranking.records
    assert first["kernel"].startswith("Gaussian")
    assert not second["tied"]
    assert np.isfinite([first["score_error"], second["score_error"]]).all()


def test_rows_never_tested_have_no_say(sorted_product, monkeypatch):
    monkeypatch.setattr(search, "EXACT_ROWS", 100)
    X, y = sorted_product
    splitter = ShuffleSplit(1, test_size=0.3)  # without a seed: other rows each time
    ranking = gs.rank_kernels(X, y, [gs.Gaussian(1.0), gs.Linear()], cv=splitter)
    assert ranking.records[0]["score"] > 0.85
    assert ranking.best_estimator.predict_proba(X).shape == (240, 2)


def test_groups_and_weights_on_landmarks(sorted_product, monkeypatch):
    monkeypatch.setattr(search, "EXACT_ROWS", 100)
    X, y = sorted_product
    w = np.ones(240)
    w[:60] = 0.0
    options = {"groups": np.arange(240) // 4, "scoring": "balanced_accuracy"}
    for option in (options, {"sample_weight": w}):
        ranking = gs.rank_kernels(X, y, [gs.Gaussian(1.0), gs.Linear()], **option)
        assert ranking.records[0]["score"] > 0.8
        assert ranking.best_estimator.predict_proba(X).sum() == pytest.approx(240)


def test_few_rows_teach_no_weights(rng):
    X = rng.normal(size=(20, 2))
    found = hunt(X, (X[:, 0] > 0).astype(int))  # warnings are errors
    assert all(candidate.family != "learned" for candidate in found.candidates)
