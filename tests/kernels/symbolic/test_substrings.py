from collections import Counter

import numpy as np
import pytest
from numpy.testing import assert_allclose

import gramsmith as gs
import textbook_strings as tb
from gramsmith.kernels.symbolic import substrings
from gramsmith.kernels.symbolic.substrings import substring_counts


@pytest.fixture(params=["features", "pairs"])
def way(request, monkeypatch):
    """Run a test with the suffix tree, and with pairs of strings compared."""
    if request.param == "pairs":
        monkeypatch.setattr(substrings, "ENTRIES", -1)
    return request.param


@pytest.mark.parametrize("max_length", [None, 1, 3])
@pytest.mark.parametrize("decay", [1.0, 0.6])
def test_equals_the_comparison_of_all_pieces(route, way, strings, dense, max_length, decay):
    kernel = gs.AllSubstrings(max_length, decay)
    for _ in range(10):
        X = strings(5)
        Y = [*strings(5), X[0]]
        want = dense(lambda s, t: tb.all_substrings(s, t, max_length, decay), X, Y)
        assert_allclose(kernel(X, Y), want, rtol=1e-12)
        want = dense(lambda s, t: tb.all_substrings(s, t, max_length, decay), X, X)
        assert_allclose(kernel(X), want, rtol=1e-12)
        assert_allclose(kernel.diag(X), np.diagonal(want), rtol=1e-12)


def test_equal_strings_are_equal_samples(way):
    assert_allclose(gs.AllSubstrings()(["abc", "abc"]), 6.0)


@pytest.mark.parametrize("max_length", [None, 2])
def test_derivative_by_the_decay(route, way, strings, max_length):
    X = strings(8)
    kernel = gs.AllSubstrings(max_length, 0.6)
    checked = kernel.check_input(X)
    a = kernel.embed(checked, kernel.reference(checked))
    h = 1e-5
    high, low = (gs.AllSubstrings(max_length, 0.6 + s) for s in (h, -h))
    want = (high(X) - low(X)) / (2 * h)
    assert_allclose(kernel.tile_of(a, a, 1), want, rtol=1e-7, atol=1e-9)
    assert_allclose(kernel.diagonal_of(a, 1), np.diagonal(want), rtol=1e-7, atol=1e-9)


def test_features_give_the_kernel(strings):
    kernel = gs.AllSubstrings(decay=0.7)
    X = strings(12)
    U = kernel.features(kernel.check_input(X))
    assert_allclose((U @ U.T).toarray(), kernel(X), rtol=1e-12)


def test_no_features_past_the_memory_set_aside(monkeypatch, strings):
    monkeypatch.setattr(substrings, "ENTRIES", -1)
    kernel = gs.AllSubstrings()
    assert kernel.features(kernel.check_input(strings(5))) is None


def test_long_repetitive_strings(route):
    n = 3000
    K = gs.AllSubstrings()(["a" * n], ["a" * n])
    lengths = np.arange(1, n + 1)
    assert_allclose(K, ((n - lengths + 1.0) ** 2).sum())


def test_gaps_match_nothing(route, way):
    kernel = gs.AllSubstrings(alphabet="AC", unknown="gap")
    assert_allclose(kernel(["ACNAC"], ["ACNAC"]), tb.all_substrings("AC?AC", "AC!AC"))


@pytest.mark.parametrize(
    ("options", "message"),
    [({"max_length": 0}, "max_length >= 1"), ({"decay": 2.0}, "decay"), ({"decay": -1}, "decay")],
)
def test_bad_parameters(options, message):
    with pytest.raises(ValueError, match=message):
        gs.AllSubstrings(**options)(["abc"])


def test_cap():
    with pytest.raises(ValueError, match="length_limit"):
        gs.AllSubstrings()(["a" * 1_000_000])


def laid_out(samples):
    starts = np.concatenate([[0], np.cumsum([len(s) for s in samples])])
    return np.array([c for s in samples for c in s], dtype=np.int32), starts


def pieces(sample, cap):
    return Counter(
        tuple(sample[i:j])
        for i in range(len(sample))
        for j in range(i + 1, min(len(sample), i + cap) + 1)
        if min(sample[i:j]) >= 0
    )


@pytest.mark.parametrize("cap", [None, 1, 2, 5])
def test_every_substring_is_in_one_node_with_its_counts(route, rng, cap):
    for _ in range(40):
        samples = [tuple(rng.integers(-1, 2, size)) for size in rng.integers(0, 10, 5)]
        found = substring_counts(*laid_out(samples), cap, 10**6)
        all_pieces = [pieces(s, cap or 99) for s in samples]
        words = set().union(*all_pieces)
        # what two strings share: as many (length, counts) as the nodes tell
        want = Counter(
            (len(word), tuple(p[word] for p in all_pieces))
            for word in words
            if sum(word in p for p in all_pieces) > 1
        )
        got = Counter()
        for column, low, high in zip(
            found.counts.toarray().T, found.shorter, found.longer, strict=True
        ):
            for length in range(low + 1, high + 1):
                got[length, tuple(int(c) for c in column)] += 1
        assert got == want
        # what one string has for itself
        want = Counter()
        for s, p in enumerate(all_pieces):
            for word, times in p.items():
                if sum(word in q for q in all_pieces) == 1:
                    want[s, len(word), times] += 1
        got = Counter()
        for s, low, high, times in zip(*found.single, strict=True):
            for length in range(low + 1, high + 1):
                got[s, length, times] += 1
        assert got == want


def test_too_many_entries_are_refused(route):
    samples = [(0, 1, 0, 1), (0, 1, 0, 1)]
    assert substring_counts(*laid_out(samples), None, 3) is None
    assert substring_counts(*laid_out(samples), None, 100) is not None


def test_repetitive_text_stays_linear(route):
    n = 20_000
    found = substring_counts(*laid_out([(0,) * n, (0,) * (n // 2)]), None, 4 * n)
    assert found.counts.nnz <= 2 * n


def test_nothing_but_gaps(route):
    found = substring_counts(*laid_out([(-1,), ()]), None, 10)
    assert found.counts.shape == (2, 0)
