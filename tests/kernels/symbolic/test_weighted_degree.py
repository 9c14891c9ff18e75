import numpy as np
import pytest
from numpy.testing import assert_allclose

import gramsmith as gs
import textbook_strings as tb


@pytest.mark.parametrize(("degree", "shift"), [(1, 0), (3, 0), (20, 0), (2, 1), (3, 4), (2, 30)])
def test_equals_the_sum_over_lengths_shifts_and_places(route, strings, dense, degree, shift):
    kernel = gs.WeightedDegree(degree, shift)
    for _ in range(8):
        X, Y = strings(6), strings(6)
        want = dense(lambda s, t: tb.weighted_degree(s, t, degree, shift), X, Y)
        assert_allclose(kernel(X, Y), want, atol=1e-13)
        want = dense(lambda s, t: tb.weighted_degree(s, t, degree, shift), X, X)
        assert_allclose(kernel(X), want, atol=1e-13)
        assert_allclose(kernel.diag(X), np.diagonal(want), atol=1e-13)


@pytest.mark.parametrize("shift", [0, 1, 2, 5, 11])
def test_positive_semidefinite_with_any_shift(route, dna, shift):
    X = [*dna(40, 12), *(text[1:] + "A" for text in dna(20, 12))]
    values = np.linalg.eigvalsh(gs.WeightedDegree(3, shift)(X))
    assert values[0] > -1e-10 * values[-1]


def test_rows_of_whole_numbers_are_sites(route):
    X = np.array([[1, 2, 3, 4], [1, 2, 4, 4]])
    assert_allclose(gs.WeightedDegree(2)(X), gs.WeightedDegree(2)(["1234", "1244"]))


def test_gaps_match_nothing(route):
    kernel = gs.WeightedDegree(2, alphabet="ACGT", unknown="gap")
    assert_allclose(kernel(["ANC"], ["ANC"]), tb.weighted_degree("A?C", "A!C", 2))


@pytest.mark.parametrize(("degree", "shift"), [(0, 0), (-1, 0), (2, -1), (1.5, 0), (2, 0.5)])
def test_bad_parameters(degree, shift):
    with pytest.raises(ValueError, match="WeightedDegree: expected a whole number"):
        gs.WeightedDegree(degree, shift)(["abc"])
