"""Derivatives of measures: by parameters, samples and entries, against differences."""

import numpy as np
import pytest
from sklearn.base import clone

import gramsmith as gs

S = np.array([[1.0, 0.2], [0.3, 0.5]])
KERNEL = 2.0 * gs.Gaussian(np.array([0.8, 1.5])) + gs.Gaussian(1.0) @ gs.LinearMap(S)


def difference(function, x, step=1e-5):
    x = np.asarray(x, dtype=float)
    found = np.empty(x.shape)
    for i in np.ndindex(x.shape):
        moved = [x.copy(), x.copy()]
        moved[0][i] += step
        moved[1][i] -= step
        found[i] = (function(moved[0]) - function(moved[1])) / (2 * step)
    return found


@pytest.mark.parametrize("measure", ["cka", "cka_debiased", "kta", "fsm", "csm", "hsic"])
def test_by_parameters_and_samples(measure, rng):
    X = rng.normal(size=(24, 2))
    y = (X[:, 0] + 0.3 * rng.normal(size=24) > 0).astype(int)
    value, gradient = gs.value_and_gradient(measure, KERNEL, X, y, inputs=True)

    def of(kernel, X):
        return gs.evaluate([kernel], X, y, measures=measure, folds=0).values(measure)[0]

    assert value == pytest.approx(of(KERNEL, X), rel=1e-12)
    for name in KERNEL.parameter_names():
        slope = difference(
            lambda v, n=name: of(clone(KERNEL).set_params(**{n: v}), X), KERNEL._lookup(name)
        )
        np.testing.assert_allclose(gradient[name], slope, rtol=1e-5, atol=1e-8)
    np.testing.assert_allclose(
        gradient["X"], difference(lambda Z: of(KERNEL, Z), X), rtol=1e-4, atol=1e-7
    )


def test_flat_is_in_the_order_of_theta(rng):
    X = rng.normal(size=(30, 2))
    y = X[:, 0] ** 2
    value, slope = gs.value_and_gradient("cka", KERNEL, X, y, flat=True)
    by_theta = difference(lambda t: gs.cka(KERNEL.clone_with_theta(t)(X), y), KERNEL.theta)
    np.testing.assert_allclose(slope[: len(by_theta)], by_theta, rtol=1e-5, atol=1e-9)
    assert len(slope) == len(by_theta) + 4  # and the matrix S, which is free
    assert value == gs.value_and_gradient("cka", KERNEL, X, y)[0]


@pytest.mark.parametrize("measure", ["cka", "cka_debiased", "kta"])
@pytest.mark.parametrize("weighted", [False, True])
def test_by_the_entries_of_a_matrix(measure, weighted, rng):
    X, y = rng.normal(size=(9, 2)), np.arange(9) % 2
    K, w = gs.Gaussian()(X), rng.uniform(0.5, 2.0, 9) if weighted else None
    value, gradient = gs.value_and_gradient(measure, "precomputed", K, y, sample_weight=w)
    options = {"sample_weight": w}
    function = {
        "cka": lambda A: gs.cka(A, y, **options),
        "cka_debiased": lambda A: gs.cka(A, y, debiased=True, **options),
        "kta": lambda A: gs.kta(A, y, **options),
    }[measure]
    assert value == pytest.approx(function(K), rel=1e-12)
    E = rng.normal(size=(9, 9))
    E = E + E.T
    slope = (function(K + 1e-6 * E) - function(K - 1e-6 * E)) / 2e-6
    assert np.sum(gradient["K"] * E) == pytest.approx(slope, rel=1e-5)
    np.testing.assert_allclose(gradient["K"], gradient["K"].T)


def test_refused(rng):
    X, y = rng.normal(size=(10, 2)), np.arange(10) % 2
    with pytest.raises(TypeError, match="derivative"):
        gs.value_and_gradient("cka", lambda A, B: A @ B.T, X, y)
    with pytest.raises(ValueError, match=r"abs\(K\) \*\* 2"):
        gs.value_and_gradient("cka", "precomputed", np.eye(10) * 1j, y)
