import numpy as np

from gramsmith.kernels.symbolic.pairs import diagonal_of_pairs, ragged, tile_of_pairs
from gramsmith.kernels.symbolic.sequences import Alphabet, as_sequences

EQUAL_SYMBOLS = (np.array([0.0, 1.0]), np.array([1.0]))  # matches at the same place, each counts 1


def embedded(*strings):
    X = as_sequences(list(strings), "Spectrum")
    return ragged(Alphabet.given("ACGT", [X], "keep"), X)


def test_ragged_keeps_one_array_per_sample():
    E = embedded("ACGT", "", "TT")
    assert [codes.tolist() for codes in E] == [[0, 1, 2, 3], [], [3, 3]]
    assert [codes.tolist() for codes in E[1:]] == [[], [3, 3]]


def test_tile_puts_pairs_where_they_belong(route):
    # lengths out of order: pairs are sorted for speed and must come back
    a, b = embedded("ACGT", "", "AC"), embedded("CC", "ACCT")
    assert tile_of_pairs("runs", a, b, *EQUAL_SYMBOLS).tolist() == [[1, 3], [0, 0], [1, 2]]
    K = tile_of_pairs("runs", a, a, *EQUAL_SYMBOLS)
    assert K.tolist() == [[4, 0, 2], [0, 0, 0], [2, 0, 2]]
    assert diagonal_of_pairs("runs", a, *EQUAL_SYMBOLS).tolist() == [4, 0, 2]


def test_empty_blocks(route):
    a, none = embedded("ACGT"), embedded("A")[:0]
    assert tile_of_pairs("runs", a, none, *EQUAL_SYMBOLS).shape == (1, 0)
    assert tile_of_pairs("runs", none, none, *EQUAL_SYMBOLS).shape == (0, 0)
    assert diagonal_of_pairs("runs", none, *EQUAL_SYMBOLS).shape == (0,)
