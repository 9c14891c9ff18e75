"""Samples: blocks that share distances equal the kernels one by one."""

import numpy as np
import pytest

import gramsmith as gs
from gramsmith.selection.candidates import Candidate, default_candidates
from gramsmith.selection.samples import Samples, take


def test_shared_blocks_equal_single_kernels(rng):
    X = rng.normal(size=(25, 3))
    candidates = default_candidates(X)
    rows, columns = np.arange(5, 20), np.array([0, 3, 24])
    seen = []
    for i, K in Samples((X,)).blocks(candidates, rows, columns):
        expected = candidates[i].kernel(X[rows], X[columns])
        np.testing.assert_allclose(K, expected, rtol=1e-9, atol=1e-12)
        seen.append(i)
    assert sorted(seen) == list(range(len(candidates)))


def test_precomputed_blocks(rng):
    K = rng.normal(size=(6, 6))
    mine = Candidate("m", gs.Precomputed(), "m", None, 1)
    samples = Samples((np.zeros((6, 1)), K))
    _, block = next(samples.blocks([mine], np.array([1, 2]), np.array([5])))
    assert block.tolist() == K[[1, 2]][:, [5]].tolist()
    assert samples.take(mine, np.array([0, 4])).shape == (2, 2)


def test_vector_length_scales_and_views(rng):
    X, Z = rng.normal(size=(8, 2)), rng.normal(size=(8, 5))
    candidates = [
        Candidate("ard", gs.Gaussian([1.0, 2.0]), "a"),
        Candidate("other", gs.Gaussian(1.0), "b", None, 1),
        Candidate("third", gs.Gaussian(2.0), "c", None, 0),
    ]
    rows = np.arange(8)
    for i, K in Samples((X, Z)).blocks(candidates, rows, rows):
        data = (X, Z)[candidates[i].view]
        np.testing.assert_allclose(K, candidates[i].kernel(data, data), atol=1e-12)


@pytest.mark.parametrize("X", [["a", "b", "c"], np.array(["a", "b", "c"])])
def test_take(X):
    assert list(take(X, np.array([2, 0]))) == ["c", "a"]
