"""Parzen windows: formula, thresholds, bounds; the centroid machine: a bound that always holds."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import balanced_accuracy_score, f1_score

import gramsmith as gs
from oracle import golden as reference
from oracle import measures as measures
from tools.machine_zoo import points


def sample(seed, n=30):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    y = np.where(X[:, 0] + rng.normal(size=n) > 0.7, 1, -1)
    y[:4] = 1, -1, 1, -1
    return X, y, np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(-1))


def test_the_formula(seed):
    _, y, K = sample(seed)
    uniform = gs.ParzenClassifier("precomputed", weights="uniform", threshold=0.0).fit(K, y)
    np.testing.assert_array_equal(uniform.predict(K), np.where(K @ y > 0, 1, -1))
    t = np.where(y > 0, 1 / np.sum(y > 0), -1 / np.sum(y < 0))
    balanced = gs.ParzenClassifier("precomputed", threshold=0.25).fit(K, y)
    np.testing.assert_allclose(balanced.decision_function(K), K @ t - 0.25)


def left_out(K, y, weights):
    """Leave-one-out values by leaving one out."""
    values = []
    for i in range(len(y)):
        rest = np.arange(len(y)) != i
        z = y[rest]
        sizes = [np.sum(z > 0), np.sum(z < 0)] if weights == "balanced" else [len(z)] * 2
        a = K[i, rest] @ (z > 0) / max(sizes[0], 1) - K[i, rest] @ (z < 0) / max(sizes[1], 1)
        values.append(a)
    return np.array(values)


SCORES = {
    "error": lambda y, p: np.mean(y == p),
    "balanced_error": balanced_accuracy_score,
    "f1": lambda y, p: f1_score(y, p, average="macro"),
}


@pytest.mark.parametrize("weights", ["uniform", "balanced"])
@pytest.mark.parametrize("criterion", SCORES)
def test_threshold_is_the_best_of_all(seed, weights, criterion):
    _, y, K = sample(seed, n=40)
    machine = gs.ParzenClassifier("precomputed", weights=weights, criterion=criterion).fit(K, y)
    values = left_out(K, y, weights)
    cuts = np.concatenate([[values.min() - 1], np.sort(values) + 1e-9])
    best = max(SCORES[criterion](y, np.where(values > c, 1, -1)) for c in cuts)
    mine = SCORES[criterion](y, np.where(values > machine.thresholds_[1], 1, -1))
    assert mine == pytest.approx(best)
    assert machine.loo_score_ == pytest.approx(best if criterion == "f1" else 1 - best)


def test_prior_predicts_classes_as_often_as_they_are(seed):
    _, y, K = sample(seed, n=60)
    machine = gs.ParzenClassifier("precomputed", threshold="prior").fit(K, y)
    values = left_out(K, y, "balanced")
    assert np.sum(values > machine.thresholds_[1]) == np.sum(y > 0)


def test_threshold_rescues_a_rare_class(rng):
    # An offset of the kernel and imbalanced classes: the plain rule calls everything positive.
    X = np.vstack([rng.normal(size=(190, 2)), rng.normal(size=(10, 2)) + 2.5])
    y = np.repeat([0, 1], [190, 10])
    K = gs.Gaussian(1.0)(X) * np.where(y == 1, 3.0, 1.0) * np.where(y == 1, 3.0, 1.0)[:, None]
    plain = gs.ParzenClassifier("precomputed", threshold=0.0).fit(K, y)
    tuned = gs.ParzenClassifier("precomputed", criterion="f1").fit(K, y)
    truth = lambda m: f1_score(y, m.predict(K), average="macro")  # noqa: E731
    assert truth(tuned) > truth(plain) + 0.1


@pytest.mark.parametrize("criterion", SCORES)
@pytest.mark.parametrize("threshold", ["loo", "prior"])
def test_several_classes(criterion, threshold):
    X, y = points(150, classes=3)
    machine = gs.ParzenClassifier(gs.Gaussian(1.0), criterion=criterion, threshold=threshold)
    assert machine.fit(X, y).score(X, y) > 0.7
    assert machine.decision_function(X).shape == (150, 3)
    plain = gs.ParzenClassifier(gs.Gaussian(1.0), criterion=criterion, threshold=0.0).fit(X, y)
    if threshold == "loo":
        sign = 1 if criterion == "f1" else -1
        assert sign * machine.loo_score_ >= sign * plain.loo_score_


@given(st.integers(0, 10**6), st.sampled_from([0.2, 1.0, 4.0]))
def test_training_error_never_exceeds_the_bounds(seed, power):
    _, y, K = sample(seed)
    K = K**power
    uniform = gs.ParzenClassifier("precomputed", weights="uniform", threshold=0.0).fit(K, y)
    wrong = y * uniform.decision_function(K) <= 0
    bound = 1 - y @ K @ y / (len(y) * np.linalg.eigvalsh(K)[-1])
    assert wrong.mean() <= bound + 1e-12
    assert bound <= 1 - measures.kta(K, y) + 1e-12
    balanced = gs.ParzenClassifier("precomputed", threshold=0.0).fit(K, y)
    wrong = y * balanced.decision_function(K) <= 0
    plus, minus = np.sum(y > 0), np.sum(y < 0)
    weighed = (minus * wrong[y > 0].mean() + plus * wrong[y < 0].mean()) / len(y)
    t = np.where(y > 0, 1 / plus, -1 / minus)
    assert weighed <= 1 - t @ K @ t / (t @ t * np.linalg.norm(K)) + 1e-12


# ---- the centroid machine ---------------------------------------------------------------------


def clouds(seed, classes, n=24, p=2):
    rng = np.random.default_rng(seed)
    codes = np.concatenate([np.arange(classes), rng.integers(0, classes, size=n - classes)])
    X = rng.normal(size=(n, p)) * np.exp(rng.normal(size=p))
    return X + rng.normal(size=(classes, p))[codes] * rng.uniform(0, 4), codes


@given(st.integers(0, 10**6), st.integers(2, 5), st.sampled_from([0, 1]), st.booleans())
def test_training_error_never_exceeds_the_bound(seed, classes, ddof, linear):
    X, y = clouds(seed, classes)
    kernel = gs.Linear() if linear else gs.Gaussian(1.0)
    machine = gs.CentroidClassifier(kernel, ddof=ddof).fit(X, y)
    wrong = machine.predict(X) != y
    assert wrong.mean() <= machine.error_bound_ + 1e-9
    for c in range(classes):
        assert wrong[y == c].mean() <= machine.class_error_bounds_[c] + 1e-9


@given(st.integers(0, 10**6))
def test_bound_holds_with_weights(seed):
    X, y = clouds(seed, 2)
    w = np.random.default_rng(seed).integers(1, 5, size=len(y))
    machine = gs.CentroidClassifier(gs.Linear()).fit(X, y, sample_weight=w)
    assert np.average(machine.predict(X) != y, weights=w) <= machine.error_bound_ + 1e-9


def test_golden_fsm():
    for ddof in (0, 1):
        machine = gs.CentroidClassifier("precomputed", ddof=ddof).fit(reference.K, reference.y)
        fsm, tol = reference.GOLDEN[f"fsm_ddof{ddof}"]
        assert machine.fsm_[0, 1] == pytest.approx(fsm, abs=tol)
        assert machine.error_bound_ == pytest.approx(
            reference.GOLDEN[f"fsm_error_ddof{ddof}"][0], abs=tol
        )
    three = gs.CentroidClassifier("precomputed", ddof=1).fit(reference.K, reference.lab)
    for a, b in ((0, 1), (0, 2), (1, 2)):
        value, tol = reference.GOLDEN[f"fsm_{a}{b}"]
        assert three.fsm_[a, b] == three.fsm_[b, a] == pytest.approx(value, abs=tol)


def test_threshold_of_the_paper(rng):
    X = rng.normal(size=(40, 2)) + np.repeat([[0, 0], [3, 0]], 20, axis=0)
    y = np.repeat([-1, 1], 20)
    machine = gs.CentroidClassifier(gs.Linear()).fit(X, y)
    g = X @ (X[:20].mean(axis=0) - X[20:].mean(axis=0))
    s_minus, s_plus = g[:20].std(), g[20:].std()
    t = (s_minus * g[20:].mean() + s_plus * g[:20].mean()) / (s_plus + s_minus)
    np.testing.assert_allclose(machine.decision_function(X), t - g)


def test_the_bound_is_attained():
    # A quarter of each class lies on the threshold: tight up to ties, which the bound counts.
    machine = gs.CentroidClassifier(gs.Linear(), ddof=0).fit(reference.TIGHT_X, reference.TIGHT_Y)
    assert machine.error_bound_ == pytest.approx(reference.TIGHT["bound_ddof0"])
    signed = -reference.TIGHT_Y * reference.TIGHT_X[:, 0]
    assert np.mean(signed <= 0) == pytest.approx(reference.TIGHT["error"])
    paper = gs.CentroidClassifier(gs.Linear(), ddof=1).fit(reference.TIGHT_X, reference.TIGHT_Y)
    assert paper.error_bound_ == pytest.approx(reference.TIGHT["bound_ddof1"], abs=1e-4)


def test_equal_means_say_nothing():
    X = np.array([[1.0], [-1.0], [2.0], [-2.0]])
    machine = gs.CentroidClassifier(gs.Linear()).fit(X, [0, 0, 1, 1])
    assert machine.fsm_[0, 1] == np.inf
    assert machine.error_bound_ == 1.0


def test_class_without_spread_is_not_on_its_own_threshold():
    X, y = np.array([[0.0], [2.0], [3.0], [4.0]]), np.array([0, 1, 1, 1])
    machine = gs.CentroidClassifier(gs.Linear()).fit(X, y)
    np.testing.assert_array_equal(machine.predict(X), y)
    same = gs.CentroidClassifier(gs.Linear()).fit([[0.0], [0.0], [1.0], [1.0]], [0, 0, 1, 1])
    assert same.error_bound_ == 0.0
    np.testing.assert_array_equal(same.predict([[0.4], [0.6]]), [0, 1])


def test_old_names_of_weights_warn(rng):
    X, y = rng.normal(size=(12, 2)), np.arange(12) % 3 == 0
    for old, new in {"uneven": "balanced", "even": "uniform"}.items():
        with pytest.warns(FutureWarning, match=f'now called weights="{new}"'):
            model = gs.ParzenClassifier(weights=old).fit(X, y)
        expected = gs.ParzenClassifier(weights=new).fit(X, y).decision_function(X)
        np.testing.assert_array_equal(model.decision_function(X), expected)
