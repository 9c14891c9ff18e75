import numpy as np
import pytest

import gramsmith as gs
import textbook_strings as tb
from gramsmith.kernels.symbolic import spectrum

LETTERS = "abé\ud800"


@pytest.fixture(params=["features", "pairs"])
def way(request, monkeypatch):
    """Run a test with explicit features, and with pairs of strings compared."""
    if request.param == "pairs":
        monkeypatch.setattr(spectrum, "ENTRIES", -1)


@pytest.mark.parametrize(("k", "m"), [(1, 0), (2, 0), (2, 1), (3, 1), (3, 2)])
def test_equals_the_sum_over_all_words(route, way, strings, dense, k, m):
    kernel = gs.Mismatch(k, m, alphabet=LETTERS)
    for _ in range(6):
        X, Y = strings(5, letters=LETTERS), strings(5, letters=LETTERS)
        want = dense(lambda s, t: tb.mismatch(s, t, k, m, LETTERS), X, Y)
        assert np.array_equal(kernel(X, Y), want)
        assert np.array_equal(kernel(X), dense(lambda s, t: tb.mismatch(s, t, k, m, LETTERS), X, X))
        assert np.array_equal(kernel.diag(X), [tb.mismatch(s, s, k, m, LETTERS) for s in X])


def test_alphabet_of_the_data_by_default(way):
    X = ["aab", "abb"]
    assert gs.Mismatch(2, 1)(X)[0, 1] == tb.mismatch(*X, 2, 1, "ab")


def test_without_mismatches_it_is_the_spectrum(dna):
    X = dna(10)
    assert np.array_equal(gs.Mismatch(3, 0)(X), gs.Spectrum(3)(X))


def test_both_ways_agree_on_proteins(rng, monkeypatch):
    letters = "ACDEFGHIKLMNPQRSTVWY"
    X = ["".join(rng.choice(list(letters), 40)) for _ in range(6)]
    kernel = gs.Mismatch(4, 1, alphabet=letters)
    K = kernel(X)
    monkeypatch.setattr(spectrum, "ENTRIES", -1)
    assert np.array_equal(kernel(X), K)


def test_words_too_long_for_numbers_are_compared_in_pairs(route):
    kernel = gs.Mismatch(80, 1, alphabet="ACGT")
    x = "ACGT" * 20
    assert kernel.features(kernel.check_input([x])) is None
    # both words within 1 of themselves and of each other: 1 + 80 * 3, and 2 + 2 words
    assert np.array_equal(kernel([x], [x, x[:-1] + "A"]), [[241, 4]])


def test_gaps_leave_out_the_words_around_them(route, way):
    kernel = gs.Mismatch(2, 1, alphabet="AC", unknown="gap")
    want = tb.mismatch("AC", "ACA", 2, 1, "AC")
    assert kernel(["ACN"], ["ACA"]) == want


def test_common_neighbours_of_small_alphabets():
    for A in (1, 2, 3):
        N = spectrum.common_neighbours(A, 3, 1)
        letters = "abc"[:A]
        for d, t in enumerate(("aaa", "baa", "bba", "bbb")[: 4 if A > 1 else 1]):
            assert N[d] == tb.mismatch("aaa", t, 3, 1, letters)


@pytest.mark.parametrize(
    ("k", "m", "message"),
    [(0, 0, "k >= 1"), (3, -1, "m >= 0"), (3, 3, "m < k"), (3, 4, "m < k"), (2.5, 1, "whole")],
)
def test_bad_parameters(k, m, message):
    with pytest.raises(ValueError, match=message):
        gs.Mismatch(k, m)(["abc"])
