import numpy as np
import pytest
import scipy.sparse as sp

import gramsmith as gs
import textbook_strings as tb
from gramsmith.kernels.symbolic import spectrum
from gramsmith.kernels.symbolic.spectrum import numbered, windows


def test_the_textbook_example():
    assert gs.Spectrum(2)(["aaaa"], ["aaa"]) == 6


@pytest.mark.parametrize("k", [1, 2, 3, (1, 3), (2, 2)])
@pytest.mark.parametrize("presence", [False, True])
def test_equals_the_walk_down_two_sorted_lists(strings, dense, k, presence):
    kernel = gs.Spectrum(k, presence=presence)
    for _ in range(25):
        X, Y = strings(8), strings(8)
        want = dense(lambda s, t: tb.spectrum(s, t, k, presence), X, Y)
        assert np.array_equal(kernel(X, Y), want)
        assert np.array_equal(kernel(X), dense(lambda s, t: tb.spectrum(s, t, k, presence), X, X))
        assert np.array_equal(kernel.diag(X), [tb.spectrum(s, s, k, presence) for s in X])


def test_tokens(dense, rng):
    words = ["to", "be", "or", "not"]
    X = [[words[i] for i in rng.integers(0, 4, size)] for size in rng.integers(0, 9, 20)]
    K = gs.Spectrum(2)(X)
    assert np.array_equal(K, dense(lambda s, t: tb.spectrum(s, t, 2), X, X))
    # any hashable token will do, of several types at once
    odd = {"to": 1, "be": "be", "or": ("or",), "not": frozenset({2})}
    assert np.array_equal(gs.Spectrum(2)([[odd[word] for word in x] for x in X]), K)


def test_long_pieces_of_a_large_alphabet(dense):
    # 40 symbols of 60 000 would overflow any machine integer
    X = ["".join(map(chr, range(start, start + 45))) for start in (60, 61, 40_000)]
    assert np.array_equal(gs.Spectrum(40)(X), dense(lambda s, t: tb.spectrum(s, t, 40), X, X))


def test_features_are_sparse_and_give_the_kernel(dna):
    X = dna(20)
    kernel = gs.Spectrum((2, 4))
    U = kernel.features(kernel.check_input(X))
    assert sp.issparse(U)
    assert np.array_equal((U @ U.T).toarray(), kernel(X))


def test_case_and_alphabet():
    upper = gs.Spectrum(2, case="upper", alphabet="ACGT")
    assert upper(["acgt"], ["ACGT"]) == 3
    assert gs.Spectrum(2)(["acgt"], ["ACGT"]) == 0
    with pytest.raises(ValueError, match="'a' at position 0 of string 0"):
        gs.Spectrum(2, alphabet="ACGT")(["acgt"])


def test_unknown_symbols_as_gaps():
    kernel = gs.Spectrum(2, alphabet="ACGT", unknown="gap")
    assert kernel(["ACNGT"], ["ACNGT"]) == 2  # AC and GT, nothing across N


@pytest.mark.parametrize("k", [0, -1, 2.5, "3", None, True, (3, 2), (0, 2), (1, 2, 3), ()])
def test_bad_lengths(k):
    with pytest.raises(ValueError, match="Spectrum: expected"):
        gs.Spectrum(k)(["abc"])


def test_a_million_characters_need_permission():
    text = "ab" * 500_000
    with pytest.raises(ValueError, match=r"at most 500000 symbols, got 1000000 in string 1"):
        gs.Spectrum(2)(["ab", text])
    K = gs.Spectrum(2, length_limit=None)([text])
    assert K == 500_000**2 + 499_999**2


@pytest.mark.parametrize("largest", [1 << 62, 40, 5])
def test_windows_with_equal_numbers_are_equal(monkeypatch, rng, largest):
    # a small limit forces the replacement of prefixes by ranks
    monkeypatch.setattr(spectrum, "LARGEST", largest)
    samples = [tuple(rng.integers(-1, 4, size)) for size in rng.integers(0, 12, 20)]
    starts = np.concatenate([[0], np.cumsum([len(s) for s in samples])])
    codes = np.array([c for s in samples for c in s], dtype=np.int32)
    for k in (1, 2, 3, 5, 30):
        want = [
            (row, s[place : place + k])
            for row, s in enumerate(samples)
            for place in range(len(s) - k + 1)
            if min(s[place : place + k]) >= 0  # windows stay in a sample, and leave out gaps
        ]
        row, first = windows(codes, starts, k)
        words = [tuple(codes[f : f + k].tolist()) for f in first]
        assert list(zip(row.tolist(), words, strict=True)) == want
        known, which = numbered(codes, first, k, 4)
        assert len(known) == len(set(words)) == len(set(zip(words, which, strict=True)))
