"""Every kernel of strings against its definition, on every route."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

import gramsmith as gs
from gramsmith.kernels.symbolic import spectrum
from oracle import strings as tb

LETTERS = "aabé\ud800"  # few symbols, so that strings share some
CASES = {
    **{f"spectrum {k}": (gs.Spectrum(k), tb.spectrum, (k,)) for k in (1, 3, (1, 3), (2, 2))},
    "presence": (gs.Spectrum((1, 3), presence=True), tb.spectrum, ((1, 3), True)),
    **{
        f"mismatch {k} {m}": (
            gs.Mismatch(k, m, alphabet="abé\ud800"),
            tb.mismatch,
            (k, m, "abé\ud800"),
        )
        for k, m in ((1, 0), (2, 1), (3, 2))
    },
    **{
        f"substrings {longest} {decay}": (
            gs.AllSubstrings(longest, decay),
            tb.all_substrings,
            (longest, decay),
        )
        for longest, decay in ((None, 1.0), (1, 0.6), (3, 0.6))
    },
    **{
        f"subsequence {length} {decay}": (
            gs.Subsequence(length, decay),
            tb.subsequence,
            (length, decay),
        )
        for length, decay in ((1, 0.5), (2, 1.0), (3, 0.5), (4, 0.5))
    },
    **{
        f"weighted degree {degree} {shift}": (
            gs.WeightedDegree(degree, shift),
            tb.weighted_degree,
            (degree, shift),
        )
        for degree, shift in ((1, 0), (3, 0), (20, 0), (2, 1), (3, 4), (2, 30))
    },
}


@pytest.fixture(params=["features", "pairs"])
def way(request, sizes):
    """Run a test with explicit features where there are any, and with pairs of strings compared."""
    if request.param == "pairs":
        sizes("kernels.symbolic.spectrum", ENTRIES=-1)
        sizes("kernels.symbolic.substrings", ENTRIES=-1)


@pytest.mark.parametrize("case", CASES)
def test_equals_its_definition(case, route, way, strings, dense):
    kernel, function, options = CASES[case]
    for _ in range(4):
        X = strings(6, letters=LETTERS)
        Y = [*strings(5, longest=8, letters=LETTERS), X[0]]
        want = dense(lambda s, t: function(s, t, *options), X, Y)
        assert_allclose(kernel(X, Y), want, rtol=1e-12, atol=1e-13)
        want = dense(lambda s, t: function(s, t, *options), X, X)
        assert_allclose(kernel(X), want, rtol=1e-12, atol=1e-13)
        assert_allclose(kernel.diag(X), np.diagonal(want), rtol=1e-12, atol=1e-13)
        U = kernel.features(kernel.check_input(X))
        assert U is None or (sp.issparse(U) and np.allclose((U @ U.T).toarray(), want, rtol=1e-12))


@pytest.mark.parametrize(
    "kernel",
    [
        gs.AllSubstrings(None, 0.6),
        gs.AllSubstrings(2, 0.6),
        *(gs.Subsequence(q, 0.6) for q in (1, 2, 4)),
    ],
    ids=str,
)
def test_derivative_by_the_decay(kernel, route, way, strings):
    X = kernel.check_input([*strings(8, longest=12, letters="ACGT"), "", "ACG"])
    a = kernel.embed(X, kernel.reference(X))
    h = 1e-5
    high, low = (type(kernel)(**{**kernel.get_params(), "decay": 0.6 + s}) for s in (h, -h))
    want = (high(X) - low(X)) / (2 * h)
    assert_allclose(kernel.tile_of(a, a, 1), want, rtol=1e-7, atol=1e-8)
    assert_allclose(kernel.diagonal_of(a, 1), np.diagonal(want), rtol=1e-7, atol=1e-8)


def test_gaps_match_nothing(route, way):
    options = {"alphabet": "ACGT", "unknown": "gap"}
    for kernel, function, arguments in (
        (gs.Spectrum(2, **options), tb.spectrum, (2,)),
        (gs.AllSubstrings(**options), tb.all_substrings, ()),
        (gs.Subsequence(2, 0.5, **options), tb.subsequence, (2, 0.5)),
        (gs.WeightedDegree(2, **options), tb.weighted_degree, (2,)),
    ):
        assert_allclose(kernel(["ACNAC"], ["ACNAC"]), function("AC?AC", "AC!AC", *arguments))
    kernel = gs.Mismatch(2, 1, alphabet="AC", unknown="gap")
    assert kernel(["ACN"], ["ACA"]) == tb.mismatch("AC", "ACA", 2, 1, "AC")


def test_words_and_whole_numbers(route, dense, rng):
    X = ["the cat sat on the mat".split(), "the dog sat".split(), []]
    K = gs.Subsequence(2, 0.5)(X)
    assert_allclose(K[0, 1], tb.subsequence(X[0], X[1], 2, 0.5))
    assert (K[2] == 0).all()
    sites = np.array([[1, 2, 3, 4], [1, 2, 4, 4]])
    assert_allclose(gs.WeightedDegree(2)(sites), gs.WeightedDegree(2)(["1234", "1244"]))
    words = ["to", "be", "or", "not"]
    X = [[words[i] for i in rng.integers(0, 4, size)] for size in rng.integers(0, 9, 20)]
    K = gs.Spectrum(2)(X)
    assert np.array_equal(K, dense(lambda s, t: tb.spectrum(s, t, 2), X, X))
    # any hashable token will do, of several types at once
    odd = {"to": 1, "be": "be", "or": ("or",), "not": frozenset({2})}
    assert np.array_equal(gs.Spectrum(2)([[odd[word] for word in x] for x in X]), K)


def test_alphabet_of_the_data_by_default(way, dna):
    X = ["aab", "abb"]
    assert gs.Mismatch(2, 1)(X)[0, 1] == tb.mismatch(*X, 2, 1, "ab")
    X = dna(10)
    assert np.array_equal(gs.Mismatch(3, 0)(X), gs.Spectrum(3)(X))
    assert gs.Spectrum(2, case="upper", alphabet="ACGT")(["acgt"], ["ACGT"]) == 3
    assert gs.Spectrum(2)(["acgt"], ["ACGT"]) == 0


def test_both_ways_agree_on_proteins(rng, sizes):
    letters = "ACDEFGHIKLMNPQRSTVWY"
    X = ["".join(rng.choice(list(letters), 40)) for _ in range(6)]
    kernel = gs.Mismatch(4, 1, alphabet=letters)
    K = kernel(X)
    sizes("kernels.symbolic.spectrum", ENTRIES=-1)
    assert np.array_equal(kernel(X), K)


def test_words_too_long_for_numbers(route, dense):
    kernel = gs.Mismatch(80, 1, alphabet="ACGT")
    x = "ACGT" * 20
    assert kernel.features(kernel.check_input([x])) is None
    # both words within 1 of themselves and of each other: 1 + 80 * 3, and 2 + 2 words
    assert np.array_equal(kernel([x], [x, x[:-1] + "A"]), [[241, 4]])
    # 40 symbols of 60 000 would overflow any machine integer
    X = ["".join(map(chr, range(start, start + 45))) for start in (60, 61, 40_000)]
    assert np.array_equal(gs.Spectrum(40)(X), dense(lambda s, t: tb.spectrum(s, t, 40), X, X))


def test_common_neighbours_of_small_alphabets():
    for A in (1, 2, 3):
        N = spectrum.common_neighbours(A, 3, 1)
        letters = "abc"[:A]
        for d, t in enumerate(("aaa", "baa", "bba", "bbb")[: 4 if A > 1 else 1]):
            assert N[d] == tb.mismatch("aaa", t, 3, 1, letters)


def test_long_strings(route, dna, monkeypatch):
    n = 3000
    lengths = np.arange(1, n + 1)
    K = gs.AllSubstrings()(["a" * n], ["a" * n])
    assert_allclose(K, ((n - lengths + 1.0) ** 2).sum())
    assert gs.Spectrum(2, length_limit=None)(["ab" * 500_000]) == 500_000**2 + 499_999**2
    X = [*dna(5, 40), *dna(2, 300), "", "A"]
    by_route = gs.Subsequence(4, 0.8)(X, X[::-1])
    monkeypatch.setenv("GRAMSMITH_NUMBA", "0")
    assert_allclose(by_route, gs.Subsequence(4, 0.8)(X, X[::-1]), rtol=1e-10)


@pytest.mark.parametrize("shift", [0, 2, 11])
def test_positive_semidefinite_with_any_shift(dna, shift):
    X = [*dna(40, 12), *(text[1:] + "A" for text in dna(20, 12))]
    values = np.linalg.eigvalsh(gs.WeightedDegree(3, shift)(X))
    assert values[0] > -1e-10 * values[-1]


def test_bad_parameters():
    for kind, message, options in (
        (gs.Spectrum, "Spectrum: expected", [(k,) for k in (0, 2.5, "3", None, True, (3, 2), ())]),
        (gs.Mismatch, "k >= 1|m >= 0|m < k|whole", [(0, 0), (3, -1), (3, 3), (3, 4), (2.5, 1)]),
        (gs.AllSubstrings, "max_length >= 1|decay", [(0,), (None, 2.0), (None, -1)]),
        (gs.Subsequence, "length >= 1", [(0,), (-2,), (1.5,), (None,)]),
        (
            gs.Subsequence,
            "decay > 0 and <= 1",
            [(3, d) for d in (0, -0.5, 1.5, np.nan, "half", None)],
        ),
        (gs.WeightedDegree, "a whole number", [(0, 0), (2, -1), (1.5, 0), (2, 0.5)]),
    ):
        for arguments in options:
            with pytest.raises(ValueError, match=message):
                kind(*arguments)(["abc"])


def test_decay_stays_in_its_range_when_learned():
    kernel = gs.Normalized(gs.Subsequence(2, 0.5)) + 2.0 * gs.Spectrum(2)
    assert "k1__kernel__decay" in kernel.parameter_names()
    assert kernel.range_of("k1__kernel__decay") == (1e-5, 1.0)
    assert np.exp(kernel.bounds).max(axis=1).tolist() == [1.0, pytest.approx(1e5)]


@pytest.mark.parametrize("largest", [1 << 62, 40, 5])
def test_windows_with_equal_numbers_are_equal(sizes, rng, largest):
    # a small limit forces the replacement of prefixes by ranks
    sizes("kernels.symbolic.spectrum", LARGEST=largest)
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
        row, first = spectrum.windows(codes, starts, k)
        words = [tuple(codes[f : f + k].tolist()) for f in first]
        assert list(zip(row.tolist(), words, strict=True)) == want
        known, which = spectrum.numbered(codes, first, k, 4)
        assert len(known) == len(set(words)) == len(set(zip(words, which, strict=True)))
