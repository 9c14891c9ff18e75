"""Words, sets and rows of numbers are told apart."""

import numpy as np
import pytest
import scipy.sparse as sp

import gramsmith as gs
from gramsmith.machines.samples import as_samples, as_stored, is_function, is_symbolic


@pytest.mark.parametrize("X", [["ab", "c"], [b"ab"], [{1, 2}], np.array(["ab"], dtype=object)])
def test_words_and_sets_are_symbolic(X):
    assert is_symbolic(X)


@pytest.mark.parametrize("X", [[[1.0]], np.eye(2), sp.csr_array(np.eye(2)), [], 3.0])
def test_numbers_are_not(X):
    assert not is_symbolic(X)


def test_frames_are_rows_of_columns():
    pandas = pytest.importorskip("pandas")
    assert not is_symbolic(pandas.DataFrame({"a": [1.0]}))


def test_functions_are_no_kernels():
    assert is_function(lambda a, b: 0.0)
    assert not is_function(gs.Gaussian())
    assert not is_function("rbf")


@pytest.mark.parametrize("bad", ["abc", 3.0, np.array(1.0), []])
def test_what_is_no_sequence_of_samples(bad):
    with pytest.raises(ValueError, match="Expected"):
        as_samples(bad)


def test_blocks_come_as_what_is_kept():
    dense, sparse = np.eye(2), sp.csr_array(np.eye(2))
    assert sp.issparse(as_stored(dense, sparse))
    assert isinstance(as_stored(sparse, dense), np.ndarray)
    assert as_stored(dense, dense) is dense
