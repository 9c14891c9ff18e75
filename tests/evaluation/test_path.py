"""The middle of a path: the median distance, of sparse rows by products alone."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import pdist

import gramsmith as gs
from gramsmith.evaluation.path import median_distance


def test_median_distance_of_dense_and_sparse_rows(rng):
    X = rng.normal(size=(50, 4)) * (rng.random((50, 4)) < 0.6)
    X = np.vstack([X, X[:5]])  # equal rows do not count
    D = pdist(X)
    expected = np.median(D[D > 1e-9])
    assert median_distance(X) == pytest.approx(expected)
    assert median_distance(sp.csr_matrix(X)) == pytest.approx(expected)
    assert median_distance(sp.csr_matrix(np.ones((4, 3)))) == 1.0


def test_long_sparse_rows_stay_sparse():
    X = sp.random_array((60, 200_000), density=1e-4, format="csr", rng=0)
    tracemalloc.start()
    gs.bandwidth_path(X, np.arange(60) % 2, ["cka"], n_bandwidths=3)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 30 * 2**20  # dense, the rows alone are 92 MiB
