"""Distances that keep their digits."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

import gramsmith as gs
from gramsmith.kernels import geometry

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


def test_few_pairs_of_ordinary_counts_need_differences(rng, monkeypatch):
    counts = sp.csr_array(rng.poisson(2.0, size=(40, 500)).astype(float) * 50.0)
    asked = []
    monkeypatch.setattr(geometry, "_exact_above", lambda bound, a, b, S, same: asked.append(S) or S)
    gs.Gaussian(100.0)(counts)
    assert not asked  # |z|² is a few hundred
