"""The centroid machine: the bound holds, always, and is attained."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import golden as reference
import gramsmith as gs


def sample(seed, classes, n=24, p=2):
    rng = np.random.default_rng(seed)
    codes = np.concatenate([np.arange(classes), rng.integers(0, classes, size=n - classes)])
    X = rng.normal(size=(n, p)) * np.exp(rng.normal(size=p))
    return X + rng.normal(size=(classes, p))[codes] * rng.uniform(0, 4), codes


@given(st.integers(0, 10**6), st.integers(2, 5), st.sampled_from([0, 1]), st.booleans())
def test_training_error_never_exceeds_the_bound(seed, classes, ddof, linear):
    X, y = sample(seed, classes)
    kernel = gs.Linear() if linear else gs.Gaussian(1.0)
    machine = gs.CentroidClassifier(kernel, ddof=ddof).fit(X, y)
    wrong = machine.predict(X) != y
    assert wrong.mean() <= machine.error_bound_ + 1e-9
    for c in range(classes):
        assert wrong[y == c].mean() <= machine.class_error_bounds_[c] + 1e-9


@given(st.integers(0, 10**6))
def test_bound_holds_with_weights(seed):
    X, y = sample(seed, 2)
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


def test_bad_ddof():
    with pytest.raises(ValueError, match=r"'ddof'.* Got 2"):
        gs.CentroidClassifier(ddof=2).fit([[0.0], [1.0]], [0, 1])
