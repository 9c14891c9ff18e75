"""Samples: what is a table; blocks that share distances equal the kernels one by one; views."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest

import gramsmith as gs
from gramsmith.selection.candidates import Candidate, default_candidates
from gramsmith.selection.samples import Samples, TakeView, is_table, read_samples, symmetric
from gramsmith.tables import TableEncoder


def test_shared_blocks_equal_single_kernels(rng):
    X = rng.normal(size=(25, 3))
    candidates = default_candidates(X)
    rows, columns = np.arange(5, 20), np.array([0, 3, 24])
    seen = []
    for i, block in Samples((X,)).blocks(candidates, rows, columns):
        expected = candidates[i].kernel(X[rows], X[columns])
        np.testing.assert_allclose(block(), expected, rtol=1e-9, atol=1e-12)
        seen.append(i)
    assert sorted(seen) == list(range(len(candidates)))


def test_precomputed_blocks(rng):
    K = rng.normal(size=(6, 6))
    mine = Candidate("m", gs.Precomputed(), "m", None, 1)
    samples = Samples((np.zeros((6, 1)), K))
    block = samples.block(mine, np.array([1, 2]), np.array([5]))
    assert block.tolist() == K[[1, 2]][:, [5]].tolist()


def test_vector_length_scales_and_views(rng):
    X, Z = rng.normal(size=(8, 2)), rng.normal(size=(8, 5))
    candidates = [
        Candidate("ard", gs.Gaussian([1.0, 2.0]), "a"),
        Candidate("other", gs.Gaussian(1.0), "b", None, 1),
        Candidate("third", gs.Gaussian(2.0), "c", None, 0),
    ]
    rows = np.arange(8)
    for i, block in Samples((X, Z)).blocks(candidates, rows, rows):
        data = (X, Z)[candidates[i].view]
        np.testing.assert_allclose(block(), candidates[i].kernel(data, data), atol=1e-12)


def test_a_symmetric_matrix_takes_the_memory_of_one(rng):
    K = rng.normal(size=(400, 400))
    tracemalloc.start()
    S = symmetric(K)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    np.testing.assert_array_equal(S, 0.5 * (K + K.T))
    assert peak < 1.2 * K.nbytes


def test_takes_its_view():
    step = TakeView(1).fit(("a", "b"))
    assert step.transform(("c", "d")) == "d"


@pytest.mark.parametrize("X", [("a",), "ab", ["a", "b"]])
def test_wrong_views_are_refused(X):
    with pytest.raises(ValueError, match="views"):
        TakeView(1).fit(X)
    step = TakeView(1).fit(("a", "b"))
    with pytest.raises(ValueError, match="tuple of 2 views"):
        step.transform(X)


@pytest.mark.parametrize(
    ("X", "table"),
    [
        (np.zeros((2, 2)), True),
        (pd.DataFrame({"a": [1]}), True),
        ([[1.0], [2.0]], True),
        (["ab", "cd"], False),
        (np.array(["ab", "cd"]), False),
        (np.array(["ab", "cd"], dtype=object), False),
    ],
)
def test_is_table(X, table):
    assert is_table(X) is table


def test_indicator_view_where_it_matters(rng):
    few = rng.integers(0, 4, size=(100, 5)).astype(float)
    assert len(read_samples(few, np.arange(100), "auto").views) == 2
    assert len(read_samples(rng.normal(size=(100, 5)), np.arange(100), "auto").views) == 1


def test_a_mixed_table_is_looked_at_three_times(rng, watched):
    looked = watched(TableEncoder, "fit")
    frame = pd.DataFrame({"a": rng.normal(size=100), "b": ["u", "v"] * 50})
    read_samples(frame, np.arange(100), "auto")
    assert len(looked) == 3  # plainly, with indicators, with powers: of no use as counts


def test_expressions_of_matrices_are_refused(rng):
    K = gs.Gaussian()(rng.normal(size=(20, 2)))
    for kernel in (2.0 * gs.Precomputed(), gs.Normalized(gs.Precomputed())):
        with pytest.raises(ValueError, match="Compute it"):
            gs.rank_kernels(K, np.arange(20) % 2, {"odd": kernel})
