import numpy as np
import pytest
from numpy.testing import assert_allclose

import gramsmith as gs
import textbook_strings as tb
from gramsmith.kernels.strings import substrings


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
    assert_allclose(kernel.slope(a, a), want, rtol=1e-7, atol=1e-9)
    assert_allclose(kernel.diagonal_slope(a), np.diagonal(want), rtol=1e-7, atol=1e-9)


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
