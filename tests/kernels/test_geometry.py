"""Distances that keep their digits."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

import gramsmith as gs
from gramsmith.kernels import Fixed, geometry
from gramsmith.kernels.geometry import feature_distances
from gramsmith.measures import get_measure
from gramsmith.targets import make_target

RADIAL = [
    gs.Gaussian(1.3),
    gs.Gaussian([1.0, 2.0, 0.5, 1.5]),
    gs.Matern(1.3, 1.5),
    gs.Matern(1.3, 0.5),
    gs.Laplacian(1.3, "l2"),
    gs.RationalQuadratic(1.3, 0.7),
]


@pytest.mark.parametrize("kernel", RADIAL, ids=str)
@pytest.mark.parametrize("offset", [0.0, 1e3, 1e8])
def test_sparse_rows_far_from_zero(kernel, offset, rng):
    X = rng.normal(size=(30, 4)) + offset
    rows = sp.csr_array(X)
    assert_allclose(kernel(rows), kernel(X), atol=1e-6 if offset > 1e6 else 1e-10)
    assert_allclose(kernel(rows, rows[:7]), kernel(X, X[:7]), atol=1e-6 if offset > 1e6 else 1e-10)
    assert_array_equal(np.diagonal(kernel(rows)), 1.0)
    assert kernel(rows).max() == 1.0


@pytest.mark.parametrize("kernel", RADIAL, ids=str)
def test_sparse_rows_of_very_different_sizes(kernel, rng):
    X = rng.normal(size=(20, 4)) * np.repeat([1.0, 1e6], 10)[:, None]
    X = np.vstack([X, X + 1e-3 * rng.normal(size=X.shape)])
    assert_allclose(kernel(sp.csr_array(X)), kernel(X), atol=1e-8)


def test_single_precision_of_sparse_rows(rng):
    X = rng.normal(size=(30, 4)) + 1e4
    G = gs.Gram(gs.Gaussian(), sp.csr_array(X), dtype=np.float32)
    assert_allclose(G.toarray(), gs.Gaussian()(X), atol=1e-6)


def test_differences_are_formed_in_pieces(rng, monkeypatch):
    X = rng.normal(size=(30, 4)) + 1e8
    for rows, kernel in ((sp.csr_array(X), gs.Gaussian()), (X, gs.Laplacian(50.0, "l2"))):
        whole = kernel(rows)
        with monkeypatch.context() as patch:
            patch.setattr(geometry, "ENTRIES", 50)
            assert_array_equal(kernel(rows), whole)


def test_few_pairs_of_ordinary_counts_need_differences(rng):
    kernel = gs.Gaussian(100.0)
    for size, needed in ((50.0, False), (1e6, True)):  # |z|² is a few hundred, or 1e11
        a = kernel.embed(sp.csr_array(rng.poisson(2.0, size=(40, 500)) * size))
        assert bool(kernel.geometry._exact_from(a, a)) == needed


@pytest.mark.parametrize("kernel", RADIAL, ids=str)
@pytest.mark.parametrize("apart", [1e4, 1e8])
def test_two_clusters_far_apart(kernel, apart, rng):
    """Distances within a cluster keep their digits, and so do those between the clusters."""
    X = rng.normal(size=(20, 4))
    X[10:] += apart
    K = kernel(X)
    for part in (slice(10), slice(10, 20)):
        # differences of rows so near to each other are exact
        assert_allclose(K[part, part], kernel(X[part] - X[part][0]), rtol=1e-9, atol=1e-10)
    assert K[:10, 10:].max() < (1e-3 if isinstance(kernel, gs.RationalQuadratic) else 1e-12)


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


@pytest.fixture(params=[1 << 20, 60])
def rows(request, rng, sizes):
    sizes("kernels.geometry", PRODUCTS=request.param)
    A, B = (sp.random_array((20, 50), density=0.1, rng=rng).tocsr() for _ in range(2))
    return A, B, rng.normal(size=(20, 20))


def test_distances(rows):
    A, B, V = rows
    expected = np.einsum("ij,ijk->k", V, (A.toarray()[:, None] - B.toarray()[None]) ** 2)
    np.testing.assert_allclose(feature_distances(A, B, V), expected, atol=1e-12)
