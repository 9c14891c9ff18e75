"""Sums over pairs of sparse rows, against dense arrays, in blocks of any size."""

import numpy as np
import pytest
import scipy.sparse as sp

from gramsmith.kernels import sparse_products
from gramsmith.kernels.sparse_products import feature_distances, feature_products


@pytest.fixture(params=[1 << 20, 60])
def rows(request, rng, monkeypatch):
    monkeypatch.setattr(sparse_products, "ENTRIES", request.param)
    A, B = (sp.random_array((20, 50), density=0.1, rng=rng).tocsr() for _ in range(2))
    return A, B, rng.normal(size=(20, 20))


def test_products(rows):
    A, B, V = rows
    expected = np.diag(A.toarray().T @ V @ B.toarray())
    np.testing.assert_allclose(feature_products(A, B, V), expected, atol=1e-12)


def test_distances(rows):
    A, B, V = rows
    expected = np.einsum("ij,ijk->k", V, (A.toarray()[:, None] - B.toarray()[None]) ** 2)
    np.testing.assert_allclose(feature_distances(A, B, V), expected, atol=1e-12)
