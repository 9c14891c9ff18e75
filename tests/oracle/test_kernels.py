"""The oracle's kernels against scikit-learn and explicit features, its string kernels by hand."""

import numpy as np
import pytest
from sklearn.gaussian_process import kernels as gp
from sklearn.metrics import pairwise as skl

from oracle import textbook as tb

rng = np.random.default_rng(0)
X, Z = rng.normal(size=(7, 3)), rng.normal(size=(5, 3))
lengths = np.array([0.5, 1.0, 2.5])

AGAINST_SKLEARN = {
    "gaussian": (tb.gaussian(X, Z, 1.3), gp.RBF(1.3)(X, Z)),
    "gaussian vector": (tb.gaussian(X, Z, lengths), gp.RBF(lengths)(X, Z)),
    "laplacian l1": (tb.laplacian(X, Z, 2.0), skl.laplacian_kernel(X, Z, gamma=0.5)),
    "laplacian l2": (tb.laplacian(X, Z, 2.0, "l2"), gp.Matern(2.0, nu=0.5)(X, Z)),
    **{
        f"matern {nu}": (tb.matern(X, Z, 1.3, nu), gp.Matern(1.3, nu=nu)(X, Z))
        for nu in (0.5, 1.5, 2.5)
    },
    "matern vector": (tb.matern(X, Z, lengths, 2.5), gp.Matern(lengths, nu=2.5)(X, Z)),
    "rational quadratic": (
        tb.rational_quadratic(X, Z, 1.3, 0.7),
        gp.RationalQuadratic(1.3, 0.7)(X, Z),
    ),
    "periodic": (tb.periodic(X, Z, 1.3, 2.1), gp.ExpSineSquared(1.3, 2.1)(X, Z)),
    "constant": (tb.constant(X, Z, 2.0), gp.ConstantKernel(2.0)(X, Z)),
    "linear": (tb.linear(X, Z), skl.linear_kernel(X, Z)),
    "polynomial": (tb.polynomial(X, Z, 3, 0.5, 2), skl.polynomial_kernel(X, Z, 3, 0.5, 2)),
    "sigmoid": (tb.sigmoid(X, Z, 0.5, 0.2), skl.sigmoid_kernel(X, Z, 0.5, 0.2)),
    "chi2": (tb.chi2(np.abs(X), np.abs(Z), 0.5), skl.chi2_kernel(np.abs(X), np.abs(Z), 0.5)),
    "normalized linear": (tb.normalized(tb.linear, X, Z), skl.cosine_similarity(X, Z)),
    "gaussian of linear": (tb.gaussian_of(tb.linear, X, Z, 1.3), gp.RBF(1.3)(X, Z)),
    "bilinear": (tb.bilinear(X, Z, np.diag([1, 2, 3])), X @ np.diag([1, 2, 3]) @ Z.T),
}


@pytest.mark.parametrize("name", AGAINST_SKLEARN)
def test_kernel_agrees_with_an_independent_one(name):
    ours, theirs = AGAINST_SKLEARN[name]
    np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-12)


def test_tanimoto_of_sets():
    A = np.array([[1, 1, 0, 0], [1, 0, 1, 1], [0, 0, 0, 0]])
    K = tb.tanimoto(A)
    np.testing.assert_allclose(K, [[1, 1 / 4, 0], [1 / 4, 1, 0], [0, 0, 0]])


def test_zero_over_zero_is_zero():
    zeros = np.zeros((2, 3))
    np.testing.assert_array_equal(tb.normalized(tb.linear, zeros), 0)
    np.testing.assert_array_equal(tb.chi2(zeros), 1)


def test_polynomial_of_a_kernel():
    K = tb.linear(X)
    np.testing.assert_allclose(tb.polynomial_of(K, [1.0, 0.0, 2.0]), 1 + 2 * K**2)


def words(count, length, letters="ab"):
    return ["".join(rng.choice(list(letters), rng.integers(0, length + 1))) for _ in range(count)]


def test_spectrum_multiplies_multiplicities():
    assert tb.spectrum("aaaa", "aaa", 2) == 6
    assert tb.spectrum("aaaa", "aaa", 2, presence=True) == 1
    assert tb.spectrum("a", "aaa", 2) == 0
    assert tb.spectrum("abab", "ab", (1, 2)) == tb.spectrum("abab", "ab", 1) + 2
    assert tb.spectrum(["to", "be"], ["be", "to"], 1) == 2


def test_spectrum_counts_matching_pieces():
    for s, t in zip(words(40, 9), words(40, 9), strict=True):
        for k in (1, 2, 3):
            pairs = [a == b for a in tb.substrings(s, k) for b in tb.substrings(t, k)]
            assert tb.spectrum(s, t, k) == sum(pairs)


def test_all_substrings_is_a_weighted_sum_of_spectra():
    for s, t in zip(words(20, 7), words(20, 7), strict=True):
        spectra = [tb.spectrum(s, t, k) for k in range(1, 8)]
        expected = sum(0.5**k * value for k, value in enumerate(spectra, start=1))
        assert tb.all_substrings(s, t, decay=0.5) == pytest.approx(expected)
        assert tb.all_substrings(s, t, max_length=2) == sum(spectra[:2])


def test_subsequence():
    # "ca" in cat spans 2; in car 2: decay^4. "ct" and "cr" are not shared.
    assert tb.subsequence("cat", "car", 2, 0.5) == pytest.approx(0.5**4)
    assert tb.subsequence("cat", "cat", 2, 0.5) == pytest.approx(2 * 0.5**4 + 0.5**6)
    assert tb.subsequence("ab", "ab", 3, 0.5) == 0
    for s, t in zip(words(20, 6), words(20, 6), strict=True):
        assert tb.subsequence(s, t, 1, 1.0) == tb.spectrum(s, t, 1)


def test_mismatch():
    for s, t in zip(words(10, 6), words(10, 6), strict=True):
        assert tb.mismatch(s, t, 2, 0, "ab") == tb.spectrum(s, t, 2)
        pairs = max(len(s) - 1, 0) * max(len(t) - 1, 0)
        assert tb.mismatch(s, t, 2, 2, "ab") == 4 * pairs
    # aa is within one of aa, ab, ba; bb within one of bb, ab, ba: two in common.
    assert tb.mismatch("aa", "bb", 2, 1, "ab") == 2
    assert tb.mismatch("aa", "aa", 2, 1, "abc") == 1 + 2 * 2


def test_weighted_degree():
    # degree 2: weights 2/3 and 1/3; four matches of length 1 and three of length 2.
    assert tb.weighted_degree("abab", "abab", 2) == pytest.approx(4 * 2 / 3 + 3 / 3)
    assert tb.weighted_degree("ab", "ba", 1) == 0
    # one step aside: a meets a and b meets b, each with weight 1/(2 * 2).
    assert tb.weighted_degree("ab", "ba", 1, shift=1) == pytest.approx(2 / 4)


def test_all_subsets():
    assert tb.all_subsets({1, 2, 3}, {2, 3, 4}) == 4
    assert tb.all_subsets(set(), {1}) == 1
    assert tb.all_subsets({1, 2}, {1, 2}, {1: 0.5, 2: 2.0}) == pytest.approx(1.5 * 3)
    assert tb.all_subsets_vectors(X[0], Z[0]) == pytest.approx(np.prod(1 + X[0] * Z[0]))


def test_subtree():
    s = ("S", ("A", "x"), ("B", "y"))
    t = ("S", ("A", "x"), ("B", "z"))
    assert tb.tree_size(s) == 5
    assert tb.subtree(s, s) == 5
    assert tb.subtree(s, t) == 2  # A-x and x
    assert tb.subtree(s, t, decay=0.5) == pytest.approx(0.5**2 + 0.5)
    # A->x, B->y, and S with each child open or closed: 2 + 4.
    assert tb.subtree(s, s, kind="fragment") == 6
    assert tb.subtree(s, t, kind="fragment") == 3
    assert tb.subtree(s, t, 0.5, "fragment") == pytest.approx(0.5 + 0.5 + 0.25)
