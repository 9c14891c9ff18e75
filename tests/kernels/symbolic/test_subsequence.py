import numpy as np
import pytest
from numpy.testing import assert_allclose

import gramsmith as gs
import textbook_strings as tb


@pytest.mark.parametrize("length", [1, 2, 3, 4])
@pytest.mark.parametrize("decay", [1.0, 0.5])
def test_equals_the_enumeration_of_index_tuples(route, strings, dense, length, decay):
    kernel = gs.Subsequence(length, decay)
    for _ in range(12):
        X, Y = strings(6), strings(6, longest=8)
        want = dense(lambda s, t: tb.subsequence(s, t, length, decay), X, Y)
        assert_allclose(kernel(X, Y), want, rtol=1e-12, atol=1e-14)
        want = dense(lambda s, t: tb.subsequence(s, t, length, decay), X, X)
        assert_allclose(kernel(X), want, rtol=1e-12, atol=1e-14)
        assert_allclose(kernel.diag(X), np.diagonal(want), rtol=1e-12, atol=1e-14)


def test_words(route):
    X = ["the cat sat on the mat".split(), "the dog sat".split(), []]
    K = gs.Subsequence(2, 0.5)(X)
    assert_allclose(K[0, 1], tb.subsequence(X[0], X[1], 2, 0.5))
    assert (K[2] == 0).all()


def test_routes_agree_on_long_strings_of_unequal_length(dna, monkeypatch):
    X = [*dna(5, 40), *dna(3, 900), "", "A"]
    kernel = gs.Subsequence(4, 0.8)
    monkeypatch.setenv("GRAMSMITH_NUMBA", "0")
    by_numpy = kernel(X, X[::-1])
    monkeypatch.setenv("GRAMSMITH_NUMBA", "1")
    assert_allclose(kernel(X, X[::-1]), by_numpy, rtol=1e-10)


@pytest.mark.parametrize("length", [1, 2, 4])
def test_derivative_by_the_decay(route, dna, length):
    X = [*dna(4, 12), "", "ACG"]
    kernel = gs.Subsequence(length, 0.6)
    checked = kernel.check_input(X)
    a = kernel.embed(checked, kernel.reference(checked))
    h = 1e-5
    high, low = (gs.Subsequence(length, 0.6 + s) for s in (h, -h))
    want = (high(X) - low(X)) / (2 * h)
    assert_allclose(kernel.tile_of(a, a, 1), want, rtol=1e-7, atol=1e-9)
    assert_allclose(kernel.diagonal_of(a, 1), np.diagonal(want), rtol=1e-7, atol=1e-9)


def test_gaps_match_nothing(route):
    kernel = gs.Subsequence(2, 0.5, alphabet="ACGT", unknown="gap")
    assert_allclose(kernel(["ANC"], ["ANC"]), tb.subsequence("A?C", "A!C", 2, 0.5))


@pytest.mark.parametrize("decay", [0, -0.5, 1.5, np.nan, np.inf, "half", None])
def test_bad_decay(decay):
    with pytest.raises(ValueError, match="expected decay > 0 and <= 1"):
        gs.Subsequence(3, decay)(["abc"])


@pytest.mark.parametrize("length", [0, -2, 1.5, None])
def test_bad_length(length):
    with pytest.raises(ValueError, match="length >= 1"):
        gs.Subsequence(length)(["abc"])


def test_cap():
    with pytest.raises(ValueError, match="length_limit"):
        gs.Subsequence()(["a" * 20_001])


def test_decay_stays_in_its_range_when_learned():
    kernel = gs.Normalized(gs.Subsequence(2, 0.5)) + 2.0 * gs.Spectrum(2)
    assert "k1__kernel__decay" in kernel.parameter_names()
    assert kernel.range_of("k1__kernel__decay") == (1e-5, 1.0)
    assert np.exp(kernel.bounds).max(axis=1).tolist() == [1.0, pytest.approx(1e5)]
