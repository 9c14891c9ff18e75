"""Probabilities from decision values."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit, softmax
from sklearn.linear_model import LogisticRegression

import gramsmith as gs
from gramsmith.machines.calibration import fit_calibration, probabilities
from gramsmith.machines.svm import KernelSVC


def test_sigmoid_is_found_again(rng):
    f = 2.0 * rng.normal(size=4000)
    y = (rng.random(4000) < expit(1.5 * f - 0.7)).astype(int)
    slope, offsets = fit_calibration(f, y, 2)
    assert slope == pytest.approx(1.5, rel=0.1)
    assert offsets[1] - offsets[0] == pytest.approx(-0.7, abs=0.15)
    # scikit-learn's unpenalised logistic regression; Platt's targets differ by O(1/n)
    other = LogisticRegression(C=np.inf).fit(f[:, None], y)
    assert_allclose(
        probabilities(f, slope, offsets), other.predict_proba(f[:, None]), rtol=0, atol=5e-3
    )


def test_several_classes_are_found_again(rng):
    F = rng.normal(size=(6000, 3))
    P = softmax(2.0 * F + [0.5, 0.0, -0.5], axis=1)
    y = (P.cumsum(axis=1) > rng.random(6000)[:, None]).argmax(axis=1)
    slope, offsets = fit_calibration(F, y, 3)
    assert slope == pytest.approx(2.0, rel=0.1)
    assert_allclose(offsets, [0.5, 0.0, -0.5], atol=0.15)


def test_weights_are_shares(rng):
    """They count like repetitions, but for the doubt, which is counted in rows."""
    f, y, w = rng.normal(size=60), rng.integers(0, 2, 60), rng.integers(1, 4, 60)
    weighted = fit_calibration(f, y, 2, w)
    repeated = fit_calibration(np.repeat(f, w), np.repeat(y, w), 2)
    assert weighted[0] == pytest.approx(repeated[0], rel=1e-2)
    assert_allclose(weighted[1], repeated[1], atol=1e-2)
    for c in (2.0**20, 2.0**-20):
        scaled = fit_calibration(f, y, 2, c * w)
        assert scaled[0] == weighted[0]
        assert_allclose(scaled[1], weighted[1], rtol=1e-12)


def test_separable_and_useless_values_have_finite_probabilities():
    f = np.array([-1.0, -2.0, 1.0, 2.0])
    p = probabilities(f, *fit_calibration(f, np.array([0, 0, 1, 1]), 2))
    assert np.isfinite(p).all()
    assert p.min() > 0.0
    # the wrong way round: a slope below zero would predict against the machine
    slope, _ = fit_calibration(-f, np.array([0, 0, 1, 1]), 2)
    assert slope == 0.0


def test_machine_has_probabilities_after_calibration(rng):
    X = rng.normal(size=(80, 2))
    y = np.where(X[:, 0] > 0, "b", "a")
    machine = KernelSVC(gs.Gaussian(1.0)).fit(X, y)
    assert not hasattr(machine, "predict_proba")
    machine.calibrate(machine.decision_function(X), y)
    p = machine.predict_proba(X)
    assert_allclose(p.sum(axis=1), 1.0)
    assert (np.corrcoef(p[:, 1], y == "b")[0, 1]) > 0.9
    machine.fit(X, y)
    assert not hasattr(machine, "predict_proba")


def test_bad_calibration_is_refused(rng):
    X = rng.normal(size=(20, 2))
    y = np.arange(20) % 2
    machine = KernelSVC(gs.Gaussian(1.0)).fit(X, y)
    with pytest.raises(ValueError, match=r"Expected labels among \[0, 1\], got others"):
        machine.calibrate(np.zeros(20), y + 1)
    with pytest.raises(ValueError, match=r"shape \(20,\), got \(20, 2\)"):
        machine.calibrate(np.zeros((20, 2)), y)
    with pytest.raises(AttributeError, match="predict_proba"):
        machine.predict_proba(X)
