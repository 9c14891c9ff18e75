"""Fisher's criterion against covariances of explicit features, and its derivative."""

import numpy as np
import pytest

from gramsmith.solvers import solve_fisher
from oracle import golden

PROBES = {
    "two classes": np.eye(2)[(golden.y > 0).astype(int)],
    "three classes": np.eye(3)[golden.lab],
    "values": np.column_stack([np.ones(12), golden.yr]),
    "two outputs": np.column_stack([np.ones(12), golden.yr, golden.X[:, 1]]),
}


def covariances(Phi, V, w):
    """Between and within covariance of the features that a weighted regression on V explains."""
    centred = Phi - w @ Phi / w.sum()
    root = np.sqrt(w)[:, None]
    fitted = V @ np.linalg.lstsq(root * V, root * centred, rcond=None)[0]
    rest = centred - fitted
    return (fitted.T * w) @ fitted / w.sum(), (rest.T * w) @ rest / w.sum()


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("probe", PROBES)
def test_value_is_that_of_the_feature_space(probe, weighted):
    V = PROBES[probe]
    w = 1.0 + np.arange(12.0) % 3 if weighted else np.ones(12)
    between, within = covariances(golden.X, V, w)
    mu = 0.05 * np.trace(between + within)
    expected = np.trace(np.linalg.solve(within + mu * np.eye(3), between))
    found = solve_fisher(golden.X @ golden.X.T, V, w, 0.05)
    assert found.value == pytest.approx(expected, rel=1e-9)
    assert found.derivative is None
    axes = golden.X.T @ found.A
    np.testing.assert_allclose(axes.T @ between @ axes, np.diag(found.criteria), atol=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("probe", PROBES)
def test_derivative_equals_differences(probe, weighted):
    V, step = PROBES[probe], 1e-6
    w = 1.0 + np.arange(12.0) % 3 if weighted else np.ones(12)
    K = golden.K + 0.1 * np.eye(12)
    dK = solve_fisher(K, V, w, 0.05, derivative=True).derivative
    differences = np.zeros((12, 12))
    for i in range(12):
        for j in range(i + 1):
            E = np.zeros((12, 12))
            E[i, j] = E[j, i] = 1.0 if i == j else 0.5
            up, down = (solve_fisher(K + s * step * E, V, w, 0.05).value for s in (1, -1))
            differences[i, j] = differences[j, i] = (up - down) / (2 * step)
    np.testing.assert_allclose(dK, differences, atol=1e-6 * np.abs(differences).max())


def test_a_thousandth_of_the_variance_is_the_usual_regulariser():
    V, w = PROBES["three classes"], np.ones(12)
    usual, given = solve_fisher(golden.K, V, w), solve_fisher(golden.K, V, w, 1e-3)
    np.testing.assert_array_equal(usual.criteria, given.criteria)


def test_samples_that_are_one_point():
    found = solve_fisher(np.ones((12, 12)), PROBES["two classes"], np.ones(12), derivative=True)
    assert found.value == 0.0
    assert found.A.shape == (12, 0)
    assert not found.derivative.any()
