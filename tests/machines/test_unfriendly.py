"""Unfriendly inputs over all machines: a finite answer, or a refusal in our words."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import is_classifier
from sklearn.metrics import r2_score

import gramsmith as gs
from tools.machine_zoo import CLASSIFIERS, MACHINES, REGRESSORS, WEIGHTED, points

name = pytest.mark.parametrize("machine", MACHINES, ids=lambda m: m.__name__)
classifier = pytest.mark.parametrize("machine", CLASSIFIERS, ids=lambda m: m.__name__)
regressor = pytest.mark.parametrize("machine", REGRESSORS, ids=lambda m: m.__name__)
weighted = pytest.mark.parametrize("machine", WEIGHTED, ids=lambda m: m.__name__)


def example(machine, n=40):
    X, codes = points(n)
    return (X, codes) if is_classifier(machine()) else (X, np.sin(X[:, 0]) + 0.3 * codes)


def values(model, X):
    return model.decision_function(X) if is_classifier(model) else model.predict(X)


def answers(model, X, y, **options):
    """Finite values, or None where the machine refused and said what it expected."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # no convergence is said, not hidden
        try:
            model.fit(X, y, **options)
        except ValueError as refusal:
            if "xpected" not in str(refusal):
                raise
            return None
    found = values(model, X)
    assert np.isfinite(found).all()
    if hasattr(model, "predict_proba"):
        assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    return found


@name
@pytest.mark.parametrize("offset", [1e6, 1e10])
def test_samples_far_from_the_origin(machine, offset):
    """The Gaussian sees differences: what is left of the digits of X decides, and nothing else."""
    X, y = example(machine)
    far = X + offset
    near = answers(machine(gs.Gaussian(1.5)), far - offset, y)
    assert_allclose(answers(machine(gs.Gaussian(1.5)), far, y), near, rtol=1e-4, atol=1e-4)


@regressor
@pytest.mark.parametrize("offset", [1e6, 1e10])
def test_values_far_from_zero(machine, offset):
    X, y = example(machine)
    options = {"C": 10.0, "epsilon": 0.01} if machine is gs.KernelSVR else {}
    near = answers(machine(gs.Gaussian(1.5), **options), X, y)
    far = answers(machine(gs.Gaussian(1.5), **options), X, y + offset) - offset
    assert r2_score(y, far) > r2_score(y, near) - 0.01


@regressor
def test_units_of_the_values(machine):
    """SVR is told its C and epsilon in units of y, all others follow."""
    X, y = example(machine)
    plain = answers(machine(gs.Gaussian(1.5)), X, y)
    for unit in (1e-15, 1e-6, 1e6, 1e15):
        told = {"C": unit, "epsilon": 0.1 * unit} if machine is gs.KernelSVR else {}
        found = answers(machine(gs.Gaussian(1.5), **told), X, y * unit) / unit
        assert_allclose(found, plain, atol=1e-3 * np.abs(y).max())


@name
def test_equal_rows(machine):
    X, y = example(machine)
    found = answers(machine(gs.Gaussian(1.5)), np.repeat(X, 3, axis=0), np.repeat(y, 3))
    assert_allclose(found[::3], found[2::3], atol=1e-6)
    answers(machine(gs.Gaussian(1.5)), np.ones_like(X), y)
    answers(machine(gs.Gaussian(1.5)), np.array([[0.0], [1.0]]), np.array([0, 1]))


@classifier
def test_classes_that_cannot_be_told_apart_or_have_one_row(machine):
    X, y = points(30)
    assert answers(machine(gs.Gaussian(1.5)), np.vstack([X, X]), np.append(y, 1 - y)) is not None
    y = (np.arange(30) == 4).astype(int)
    assert answers(machine(gs.Gaussian(1.5)), X, y) is not None
    assert answers(machine(gs.Gaussian(1.5)), X, y + 2 * (np.arange(30) == 7)) is not None


@name
def test_kernels_that_are_nearly_the_identity_or_constant_or_large(machine):
    X, y = example(machine)
    for length_scale in (1e-8, 1e4, 1e8):
        answers(machine(gs.Gaussian(length_scale)), X, y)
    for scale in (1e-12, 1e12):
        assert answers(machine(scale * gs.Gaussian(1.5)), X, y) is not None


@weighted
def test_tiny_and_huge_weights(machine):
    X, y = example(machine)
    for weight in (1e-300, 1e-9, 1e9, 1e300):
        answers(machine(gs.Gaussian(1.5)), X, y, sample_weight=np.full(len(y), weight))
    for weight in (1e6, 1e-6, 1e-300):
        w = np.ones(len(y))
        w[3] = weight
        found = answers(machine(gs.Gaussian(1.5)), X, y, sample_weight=w)
        assert found is not None or (machine is gs.L2SVC and weight < 1e-100)
