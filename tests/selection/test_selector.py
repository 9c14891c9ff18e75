"""KernelSelector: scikit-learn's contract, honest nesting, both tasks."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.inspection import partial_dependence
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import gramsmith as gs
from tools.contract import scikit_learn_checks

FEW = ["linear", "rbf"]
WEIGHTS = "folds and samples of the selection are drawn over rows, repeated or not"


def expected(selector):
    if selector.task == "regression":
        return {}
    return {
        "check_sample_weight_equivalence_on_dense_data": WEIGHTS,
        "check_sample_weight_equivalence_on_sparse_data": WEIGHTS,
        "check_classifiers_regression_target": "real targets are a regression task",
    }


SELECTORS = [
    gs.KernelSelector(FEW, n_jobs=1),
    # rows that two kernels interpolate have weights that rounding decides
    gs.KernelSelector(FEW, task="regression", ensemble=False, n_jobs=1),
]


@scikit_learn_checks(SELECTORS, expected)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def test_selection_inside_fit_is_unbiased(rng):
    # random labels: whatever is chosen must score at chance on fresh folds
    X, y = rng.normal(size=(120, 5)), rng.integers(0, 2, 120)
    scores = cross_val_score(gs.KernelSelector(FEW), X, y, cv=4)
    assert abs(scores.mean() - 0.5) < 0.17


def test_in_a_pipeline(circle):
    X, y = circle
    model = make_pipeline(StandardScaler(), gs.KernelSelector(FEW)).fit(X, y)
    assert model.score(X, y) > 0.9
    assert model[-1].best_kernel_ is model[-1].ranking_.best_kernel


def test_real_targets_are_values(wave):
    X, y = wave
    selector = gs.KernelSelector(FEW).fit(X, y)
    assert selector.score(X, y) > 0.5
    assert not hasattr(selector, "classes_")
    assert is_regressor(selector)
    assert is_classifier(clone(selector))
    assert partial_dependence(selector, X, [0], grid_resolution=4)["average"].shape == (1, 4)
    assert is_classifier(selector.fit(X, y > 0))


def test_kind_follows_the_task():
    assert is_classifier(gs.KernelSelector())
    assert is_regressor(gs.KernelSelector(task="regression"))
    assert not hasattr(gs.KernelSelector(task="regression"), "decision_function")


def test_frames_by_name(circle):
    X, y = circle
    selector = gs.KernelSelector(FEW).fit(X, y)
    assert selector.feature_names_in_.tolist() == ["first", "second", "noise"]
    f = selector.decision_function(X)
    assert (selector.decision_function(X[["noise", "second", "first"]]) == f).all()


def test_strings():
    X = ["abab", "baba", "abba", "bbab", "cdcd", "dcdc", "cddc", "ddcd"] * 3
    y = (["ab"] * 4 + ["cd"] * 4) * 3
    assert gs.KernelSelector().fit(X, y).predict(["abb", "cdd"]).tolist() == ["ab", "cd"]


def test_clone_forgets(circle):
    fitted = gs.KernelSelector(FEW).fit(*circle)
    assert not hasattr(clone(fitted), "ranking_")


def test_groups_reach_the_folds(rng):
    X = rng.normal(size=(60, 2))
    selector = gs.KernelSelector(FEW).fit(X, X[:, 0] > 0, groups=np.arange(60) // 5)
    assert not selector.ranking_._findings.task.exchangeable


def test_missing_target_is_named(rng):
    with pytest.raises(ValueError, match="requires y"):
        gs.KernelSelector().fit(rng.normal(size=(5, 2)), None)


def test_probabilities_are_calibrated(rng, stored):
    X = rng.normal(size=(400, 2))
    truth = 1.0 / (1.0 + np.exp(-2.0 * X[:, 0]))
    y = np.where(rng.random(400) < truth, "yes", "no")
    selector = gs.KernelSelector(kernels=[gs.Linear(), gs.Gaussian(2.0)]).fit(X, y)
    p = selector.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    assert np.abs(p[:, 1] - truth).mean() < 0.08
    loaded = stored(selector.best_estimator_)
    assert (loaded.predict_proba(X) == p).all()
    assert not hasattr(gs.KernelSelector(task="regression"), "predict_proba")


def parity(n=90, seed=0):
    X = np.random.default_rng(seed).normal(size=(n, 4))
    return X, (X[:, 0] * X[:, 1] > 0).astype(int)


@pytest.mark.parametrize("kernels", ["precomputed", gs.Precomputed(), ["precomputed"]])
def test_the_samples_may_be_a_gram_matrix(kernels):
    X, y = parity()
    K = gs.Gaussian(1.0)(X)
    selector = gs.KernelSelector(kernels)
    assert selector.__sklearn_tags__().input_tags.pairwise
    assert cross_val_score(selector, K, y, cv=3).mean() > 0.65
    fitted = selector.fit(K[:60, :60], y[:60])
    assert fitted.n_features_in_ == 60
    assert fitted.score(K[60:, :60], y[60:]) > 0.65


def test_matrices_among_the_kernels_need_no_samples():
    pandas = pytest.importorskip("pandas")
    X, y = parity()
    K = gs.Gaussian(1.0)(X)
    kernels = {"array": K, "frame": pandas.DataFrame(K), "rows": K.tolist()}
    for given in (None, X):
        fitted = gs.KernelSelector(kernels).fit(given, y)
        assert len(fitted.ranking_.records) == 3
        assert fitted.score(K, y) > 0.8


def test_a_gram_matrix_beside_other_kernels_is_refused():
    X, y = parity()
    with pytest.raises(ValueError, match="the matrix itself"):
        gs.KernelSelector(["precomputed", "linear"]).fit(gs.Gaussian()(X), y)


def test_views():
    X, y = parity()
    views = (X[:, :2], X[:, 2:])
    alone = gs.KernelSelector(ensemble=False).fit(views, y)
    assert alone.best_estimator_.named_steps["view"] is not None
    for fitted in (alone, gs.KernelSelector().fit(views, y)):
        assert fitted.score(views, y) > 0.9


def test_values_have_no_decision():
    X, _ = parity()
    fitted = gs.KernelSelector(FEW).fit(X, X[:, 0] + 0.5)
    assert not hasattr(fitted, "decision_function")
    assert not hasattr(fitted, "predict_proba")


def test_a_stored_selector_keeps_the_machine(stored):
    X, y = parity()
    selector = gs.KernelSelector(FEW, machine=gs.KernelLogisticRegression()).fit(X, y)
    loaded = stored(selector)
    assert (loaded.predict_proba(X) == selector.predict_proba(X)).all()
    assert isinstance(loaded.machine, gs.KernelLogisticRegression)


def test_a_notebook_shows_the_diagram_and_what_was_found(circle):
    selector = gs.KernelSelector(["linear", "rbf"])
    before = selector._repr_mimebundle_()["text/html"]
    assert "Predicts" not in before
    after = selector.fit(*circle)._repr_mimebundle_()["text/html"]
    assert "sk-top-container" in after
    assert "Predicts" in after


def test_fitted_again_it_forgets_the_columns_before(tmp_path):
    X = np.random.default_rng(0).normal(size=(60, 2))
    y = X[:, 0] > 0
    selector = gs.KernelSelector(FEW).fit(pd.DataFrame(X, columns=["u", "v"]), y)
    selector.fit(pd.DataFrame(np.c_[X, X[:, 0]], columns=[0, 1, 2]), y)
    assert not hasattr(selector, "feature_names_in_")
    assert selector.n_features_in_ == 3
    gs.save_model(selector, tmp_path / "model")


def test_classes_without_a_weight_are_none():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 2))
    y = np.array(list("abc"))[np.digitize(X[:, 0], [-0.5, 0.5])]
    by_rows = gs.KernelSelector(FEW).fit(X, y, sample_weight=(y != "a") * 1.0)
    by_class = gs.KernelSelector(FEW, class_weight={"a": 0, "b": 1, "c": 1}).fit(X, y)
    for selector in (by_rows, by_class):
        assert selector.classes_.tolist() == ["b", "c"]
        P = selector.predict_proba(X)
        assert P.shape == (90, 2)
        assert (selector.classes_[P.argmax(axis=1)] == y)[y != "a"].mean() > 0.9


def test_importances_are_those_of_the_columns(rng):
    X = pd.DataFrame(rng.normal(size=(150, 40)), columns=[f"column {k}" for k in range(40)])
    wide = gs.KernelSelector([gs.Polynomial(2)]).fit(X, X["column 33"] ** 2 + X["column 7"])
    order = np.argsort(-wide.feature_importances_)
    assert wide.feature_importances_.shape == (40,)
    assert set(wide.feature_names_in_[order[:2]]) == {"column 7", "column 33"}
    matrix = gs.KernelSelector("precomputed").fit(np.eye(20), np.arange(20) % 2)
    with pytest.raises(AttributeError, match="no feature importances"):
        matrix.feature_importances_  # noqa: B018
