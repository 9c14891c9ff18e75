"""Derivatives by the parameters alone: the same numbers, and no dense array for sparse rows."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

import gramsmith as gs
from gramsmith.kernels import Fixed
from gramsmith.measures import get_measure
from gramsmith.targets import make_target
from registry import DIFFERENTIABLE, KERNELS, samples

SPARSE = [
    gs.Gaussian(4.0),
    gs.Matern(4.0, 2.5),
    gs.RationalQuadratic(4.0, 0.7),
    gs.Polynomial(2, 0.1),
    2.0 * gs.Gaussian(4.0),
    gs.Gaussian(4.0) * gs.Polynomial(2, 0.1) + gs.Linear(),
    gs.Normalized(gs.Polynomial(2, 0.1)),
    gs.GaussianOf(gs.Polynomial(2, 0.1), 3.0),
    gs.as_kernel("rbf") + gs.Tanimoto(),
    Fixed(gs.RationalQuadratic(4.0, 0.7), ["alpha"]),
]


def gradients(kernel, X, measure="cka_debiased"):
    """Return the derivatives with and without those by the samples, and the peak of the latter."""
    goal = make_target(np.arange(X.shape[0]) % 2)
    G = gs.Gram(kernel, X, n_jobs=1)
    moments = G.moments(goal)
    _, adjoint = get_measure(measure).value_and_adjoint(moments, goal)
    tracemalloc.start()
    alone = G.pullback(adjoint, goal, moments, inputs=False)[0]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert alone.inputs is None
    return alone.parameters, lambda: G.pullback(adjoint, goal, moments)[0].parameters, peak


@pytest.mark.parametrize("name", [name for name in DIFFERENTIABLE if name != "constant"])
def test_parameters_alone_have_the_same_derivatives(name, rng):
    kernel, _ = KERNELS[name]
    alone, full, _ = gradients(kernel, samples(kernel, rng, 40))
    assert set(alone) == set(kernel.parameter_names())
    for key, expected in full().items():
        assert_allclose(alone[key], expected, rtol=1e-7, atol=1e-12)


@pytest.mark.parametrize("kernel", [*SPARSE, gs.Gaussian(np.linspace(2.0, 4.0, 30))], ids=str)
@pytest.mark.parametrize("measure", ["cka", "cka_debiased"])
def test_parameters_alone_of_sparse_rows(kernel, measure, rng):
    dense = rng.poisson(0.3, size=(40, 30)).astype(float)
    alone, full, _ = gradients(kernel, sp.csr_array(dense), measure)
    there, _, _ = gradients(kernel, dense, measure)
    assert set(alone) == set(there) == set(kernel.parameter_names())
    for key, expected in there.items():
        assert_allclose(alone[key], expected, rtol=1e-7, atol=1e-11)
        assert_allclose(full()[key], expected, rtol=1e-7, atol=1e-11)


@pytest.mark.parametrize("kernel", [*SPARSE, gs.Gaussian(np.full(30_000, 4.0))], ids=str)
def test_no_dense_rows(kernel, rng):
    X = sp.random_array((200, 30_000), density=1e-3, rng=rng, format="csr")
    _, _, peak = gradients(kernel, X)
    assert peak < 20e6  # one dense array of the rows has 48 MB
