"""Prediction sets: the textbook rule, classes of few rows, weights, groups, files, every model."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris, make_moons
from sklearn.svm import SVC

import gramsmith as gs
from gramsmith.machines.sets import PredictionSets

RNG = np.random.default_rng(5)
X, Y = load_iris(return_X_y=True)
MOONS = make_moons(160, noise=0.3, random_state=0)


def machine(**options):
    return gs.KernelRidgeClassifier(gs.Gaussian(2.0), alpha=0.1, **options).fit(X, Y)


def textbook(scores, true, new, coverage):
    """Keep c if its score is at least the j-th smallest of the true class's."""
    kept = np.ones(new.shape, dtype=bool)
    for c in range(new.shape[1]):
        own = np.sort(scores[true == c, c])
        j = len(own) + 1 - int(np.ceil(round(coverage * (len(own) + 1), 9)))
        if j > 0:
            kept[:, c] = new[:, c] >= own[j - 1]
    return kept


@pytest.mark.parametrize("coverage", [0.5, 0.8, 0.9, 0.95])
def test_the_rule_of_the_textbook(coverage):
    model = machine()
    f = RNG.normal(size=(300, 3))
    y = RNG.integers(0, 3, 300)
    model.calibrate(f, y).calibrate_sets(f, y)
    expected = textbook(
        model._set_scores(f), y, model._set_scores(model.decision_function(X)), coverage
    )
    np.testing.assert_array_equal(model.predict_set(X, coverage), expected)


def test_over_all_rows_one_limit_serves_every_class():
    model = machine()
    f, y = RNG.normal(size=(200, 3)), RNG.integers(0, 3, 200)
    model.calibrate_sets(f, y)
    own = np.sort(model._set_scores(f)[np.arange(200), y])
    new = model._set_scores(model.decision_function(X))
    j = 201 - int(np.ceil(0.9 * 201))
    np.testing.assert_array_equal(model.predict_set(X, 0.9, per_class=False), new >= own[j - 1])


def test_classes_of_too_few_rows_are_in_every_set_and_named():
    model = machine()
    y = np.r_[np.zeros(30), np.ones(30), np.full(8, 2)].astype(int)
    model.calibrate_sets(RNG.normal(size=(68, 3)), y)
    with pytest.warns(UserWarning, match="'2'"):
        found = model.predict_set(X, 0.9)
    assert found[:, 2].all()
    assert not found[:, :2].all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict_set(X, 0.88)  # eight of nine
        model.predict_set(X, 0.9, per_class=False)


def test_groups_count_and_not_their_rows():
    """Rows of one group twenty times over promise no more than one row."""
    f, y = RNG.normal(size=(12, 3)), np.repeat([0, 1, 2], 4)
    model = machine().calibrate_sets(np.repeat(f, 20, axis=0), np.repeat(y, 20))
    assert not model.predict_set(X, 0.9).all()
    model.calibrate_sets(
        np.repeat(f, 20, axis=0), np.repeat(y, 20), groups=np.repeat(np.arange(12), 20)
    )
    with pytest.warns(UserWarning, match="'0', '1', '2'"):
        assert model.predict_set(X, 0.9).all()


def test_weights_count():
    """Weights times two change nothing, zero drops a row, few heavy rows promise less."""
    f, y, w = RNG.normal(size=(90, 3)), np.repeat([0, 1, 2], 30), np.ones(90)
    plain = machine().calibrate_sets(f, y).predict_set(X)
    np.testing.assert_array_equal(machine().calibrate_sets(f, y, 2.0 * w).predict_set(X), plain)
    more = np.r_[f, np.full((5, 3), -9.0)], np.r_[y, np.zeros(5, int)], np.r_[w, np.zeros(5)]
    np.testing.assert_array_equal(machine().calibrate_sets(*more).predict_set(X), plain)
    w[:3] = 100.0
    with pytest.warns(UserWarning, match="'0'"):
        assert machine().calibrate_sets(f, y, w).predict_set(X)[:, 0].all()


def test_what_is_refused():
    model = machine()
    assert not hasattr(model, "predict_set")
    with pytest.raises(AttributeError) as raised:
        model.predict_set(X)
    assert "calibrate_sets" in str(raised.value.__cause__)
    f = RNG.normal(size=(150, 3))
    model.calibrate_sets(f, Y)
    with pytest.raises(ValueError, match="coverage"):
        model.predict_set(X, 1.0)
    with pytest.raises(TypeError, match="per_class"):
        model.predict_set(X, per_class="both")
    with pytest.raises(ValueError, match="shape"):
        model.calibrate_sets(f[:, :2], Y)
    with pytest.raises(ValueError, match="labels"):
        model.calibrate_sets(f, Y + 1)
    with pytest.raises(ValueError, match="group"):
        model.calibrate_sets(f, Y, groups=[1, 2])
    # probabilities of another calibration are other scores
    assert not hasattr(model.calibrate(f, Y), "predict_set")
    assert not hasattr(model.calibrate_sets(f, Y).fit(X, Y), "predict_set")


def test_every_classifier_that_is_handed_over_has_sets(stored):
    frame = pd.DataFrame(MOONS[0], columns=["a", "b"]).assign(c=list("xy") * 80)
    names = np.array(["no", "yes"])[MOONS[1]]
    kernels = {"linear": "linear", "narrow": gs.Gaussian(0.5), "wide": gs.Gaussian(2.0)}
    given = [
        (MOONS[0], kernels, {}),
        (frame, kernels, {"class_weight": "balanced"}),
        (frame, kernels, {"ensemble": False, "scoring": "f1_macro"}),
        (frame, kernels, {"groups": np.repeat(np.arange(40), 4)}),
        (frame, kernels, {"sample_weight": RNG.uniform(0.5, 2.0, 160)}),
        (frame, kernels, {"machine": gs.KernelSVC()}),
        (frame, kernels, {"cv": 3}),
    ]
    for samples, tried, options in given:
        groups = {
            name: options.pop(name) for name in ("groups", "sample_weight") if name in options
        }
        selector = gs.KernelSelector(tried, **options).fit(samples, names, **groups)
        model = selector.best_estimator_
        found = model.predict_set(samples, 0.8)
        assert found.dtype == bool
        assert found.shape == (160, 2)
        assert found[np.arange(160), MOONS[1]].mean() > 0.75
        again = stored(model)
        np.testing.assert_array_equal(again.predict_set(samples, 0.8), found)
        np.testing.assert_array_equal(selector.predict_set(samples, 0.8), found)
    ranking = gs.rank_kernels(frame, names, kernels)  # its choice is made anew
    assert ranking.best_estimator.predict_set(frame).shape == (160, 2)


def test_of_texts_and_matrices():
    texts = ["ab" * k + c for k in range(2, 14) for c in ("x", "y")]
    labels = ["x", "y"] * 12
    model = gs.rank_kernels(texts, labels, {"s": gs.Normalized(gs.Spectrum(2))}).best_estimator
    assert model.predict_set(texts).any(axis=1).mean() > 0.5
    K = MOONS[0] @ MOONS[0].T
    model = gs.rank_kernels(K, MOONS[1], "precomputed").best_estimator
    assert model.predict_set(K[:5]).shape == (5, 2)


def test_labels_values_and_machines_of_others_have_none():
    several = np.column_stack([MOONS[1], MOONS[0][:, 0] > 0])
    for y, options in ((several, {}), (MOONS[0][:, 0], {}), (MOONS[1], {"machine": SVC()})):
        model = gs.rank_kernels(MOONS[0], y, {"rbf": gs.Gaussian(1.0)}, **options).best_estimator
        assert not hasattr(model, "predict_set")


def test_damaged_files_are_refused():
    model = machine().calibrate_sets(RNG.normal(size=(150, 3)), Y)
    model._check_stored()
    for name, value in (
        ("set_codes_", np.full(150, 3)),
        ("set_codes_", np.full(150, 0.5)),
        ("set_scores_", np.ones(150)),
    ):
        other = machine().calibrate_sets(RNG.normal(size=(150, 3)), Y)
        setattr(other, name, value)
        with pytest.raises(ValueError, match="prediction sets"):
            other._check_stored()
    del model.set_codes_
    with pytest.raises(ValueError, match="parts"):
        model._check_stored()
    assert set(PredictionSets._stored) >= {"set_scores_", "set_codes_"}


def test_a_set_of_one_rare_class_is_often_wrong_though_the_class_is_covered():
    rng = np.random.default_rng(0)
    true = (rng.uniform(size=4000) < 0.05).astype(int)
    f = rng.normal(size=4000) + 2.0 * true
    model = gs.KernelRidgeClassifier(gs.Linear()).fit([[0.0], [1.0]], [0, 1])
    model.calibrate_sets(f[:2000], true[:2000])
    model.decision_function = lambda X: X  # the decision values themselves
    inside, own = model.predict_set(f[2000:]), true[2000:]
    assert inside[own == 0, 0].mean() > 0.87
    assert inside[own == 1, 1].mean() > 0.8  # of about 100 rows, three errors below 0.9
    assert np.mean(own[inside[:, 1] & ~inside[:, 0]] == 1) < 0.5
