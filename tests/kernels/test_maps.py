"""Kernels of mapped samples: what the map returns is checked as any input is."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.base import clone

import gramsmith as gs
from gramsmith.kernels import LinearMap
from gramsmith.measures import get_measure
from gramsmith.targets import make_target


@pytest.fixture
def X(rng):
    return rng.normal(size=(30, 4))


@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        (lambda: gs.Chi2() @ LinearMap(-np.eye(4)), ValueError, "LinearMap.*non-negative"),
        (lambda: gs.Gaussian() @ np.log, ValueError, "FunctionMap.*got NaN in column"),
        (lambda: gs.Gaussian() @ (lambda X: X[:, 0]), ValueError, r"shape \(30, q\).*\[:, None\]"),
        (lambda: gs.Gaussian() @ (lambda X: X[:3]), ValueError, r"shape \(30, q\), got .*\(3, 4\)"),
        (lambda: gs.Gaussian([1.0, 2.0]) @ np.abs, ValueError, "one per feature"),
        (lambda: gs.Laplacian() @ sp.csr_array, TypeError, "expected dense input"),
        (lambda: gs.Gaussian() @ np.eye(4), TypeError, r"got ndarray. Use kernel @ LinearMap\(S\)"),
        (lambda: gs.Gaussian() @ LinearMap([1, np.nan, 1, 1]), ValueError, "got NaN or infinity"),
        (lambda: gs.Gaussian() @ LinearMap(np.ones((4, 2, 2))), ValueError, r"shape \(4, 2, 2\)"),
    ],
)
def test_mapped_samples_are_checked(build, error, message, X):
    X = np.abs(X) if "non-negative" in message else X
    with np.errstate(invalid="ignore"), pytest.raises(error, match=message):
        build()(X)


def test_maps_to_other_samples_than_vectors():
    spelled = gs.Spectrum(1) @ (lambda words: [word.lower() for word in words])
    assert_allclose(spelled(["Ab", "b"]), gs.Spectrum(1)(["ab", "b"]))
    with pytest.raises(ValueError, match="got shape"):
        (gs.Spectrum(1) @ (lambda words: words[1:]))(["Ab", "b"])


@pytest.mark.parametrize(
    "kernel",
    [
        gs.Gaussian(1.5) + gs.RankOne(lambda X: X[:, 0]),
        gs.Gaussian(1.5) * gs.RankOne(lambda X: 2.0 + np.sin(X[:, 0])),
        gs.Normalized(gs.Polynomial(2, 0.5) + gs.RankOne(lambda X: X[:, 0])),
        gs.Gaussian(1.5) @ np.abs,
        gs.Constant(0.5) + gs.Gaussian(1.5) @ np.abs,
    ],
    ids=["sum", "product", "normalised", "map", "sum with a map"],
)
def test_parameters_beside_a_function_have_derivatives(kernel, X):
    goal = make_target((X[:, 0] * X[:, 1] > 0).astype(int))
    measure = get_measure("cka")
    assert kernel.learnable
    assert not kernel.differentiable
    G = gs.Gram(kernel, X)
    moments = G.moments(goal)
    _, adjoint = measure.value_and_adjoint(moments, goal)
    found = G.pullback(adjoint, goal, moments, inputs=False)[0].parameters
    assert set(found) == set(kernel.parameter_names())
    for name, slope in found.items():
        at = []
        for step in (-1e-5, 1e-5):
            moved = clone(kernel)
            moved.set_params(**{name: kernel.get_params()[name] + step})
            at.append(measure.value(gs.Gram(moved, X).moments(goal), goal))
        assert slope == pytest.approx((at[1] - at[0]) / 2e-5, rel=1e-6, abs=1e-10)
    with pytest.raises(TypeError, match=r"derivative by the samples.*inputs=False"):
        G.pullback(adjoint, goal, moments)


def test_a_map_before_a_function_cannot_be_learned(X):
    assert not (gs.RankOne(lambda X: X[:, 0]) @ LinearMap(np.eye(4))).learnable
    assert not ((gs.Gaussian() @ np.abs) @ LinearMap(np.eye(4))).learnable
    assert (gs.Gaussian() @ LinearMap(np.eye(4))).learnable
