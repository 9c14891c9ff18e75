"""Two samples, two variables: the dense twin, every kind of sample, shuffles of groups."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import gramsmith as gs
from gramsmith.evaluation.permutations import least_ranks, shuffled_blocks
from oracle import textbook as tb

GAUSSIANS = [gs.Gaussian(0.5), gs.Gaussian(1.0), gs.Gaussian(4.0)]


def shuffles(n, count, seed=0):
    rng = np.random.RandomState(seed)
    return [np.arange(n), *(rng.permutation(n) for _ in range(count))]


@pytest.mark.parametrize("shift", [0.0, 0.6])
def test_two_samples_as_in_the_textbook(shift, rng):
    X, Y = rng.normal(size=(14, 2)), rng.normal(size=(11, 2)) + shift
    result = gs.two_sample_test(X, Y, GAUSSIANS, n_permutations=60, random_state=0)
    Z, first = np.r_[X, Y], np.arange(25) < 14
    table = [[tb.unbiased_mmd(k(Z), first[o]) for k in GAUSSIANS] for o in shuffles(25, 60)]
    assert result.pvalue == pytest.approx(tb.aggregated_pvalue(table), abs=1e-15)
    values = [result.kernels[k.formula()][0] for k in GAUSSIANS]
    np.testing.assert_allclose(values, table[0], rtol=1e-12)
    assert result.pvalue == np.mean(
        np.r_[result.statistic, result.null_distribution] >= result.statistic
    )
    assert min(p for _, p in result.kernels.values()) == result.pvalue


@pytest.mark.parametrize("strength", [0.0, 0.7])
def test_independence_as_in_the_textbook(strength, rng):
    x = rng.normal(size=(22, 2))
    y = strength * x[:, 0] ** 2 + rng.normal(size=22)
    result = gs.independence_test(
        x, y, (GAUSSIANS, GAUSSIANS[:2]), n_permutations=60, random_state=0
    )
    pairs = [(k(x), l(y[:, None])) for k in GAUSSIANS for l in GAUSSIANS[:2]]
    table = [[tb.unbiased_hsic(K, L[np.ix_(o, o)]) for K, L in pairs] for o in shuffles(22, 60)]
    assert result.pvalue == pytest.approx(tb.aggregated_pvalue(table), abs=1e-15)
    np.testing.assert_allclose(
        sorted(v for v, _ in result.kernels.values()), sorted(table[0]), rtol=1e-11
    )
    named = dict(zip((f"{k}, {l}" for k in GAUSSIANS for l in GAUSSIANS[:2]), pairs, strict=True))
    effect = gs.alignment(*named[next(iter(result.kernels))], debiased=True)
    assert result.effect_size == pytest.approx(effect, rel=1e-9)


def test_one_kernel_has_its_own_statistic_and_the_exact_pvalue(rng):
    X, Y = rng.normal(size=(4, 1)), rng.normal(size=(4, 1)) + 2.0
    K = gs.Gaussian()(np.r_[X, Y])
    first = np.arange(8) < 4
    result = gs.two_sample_test(X, Y, gs.Gaussian(), n_permutations=4000, random_state=0)
    assert result.statistic == pytest.approx(tb.unbiased_mmd(K, first), rel=1e-12)
    every = [tb.unbiased_mmd(K, np.isin(np.arange(8), c)) for c in combinations(range(8), 4)]
    exact = np.mean(np.array(every) >= result.statistic - 1e-12)
    assert result.pvalue == pytest.approx(exact, abs=0.02)


def test_effect_of_one_column_is_cohens_d(rng):
    x, y = rng.normal(size=300), rng.normal(size=200) + 1.0
    result = gs.two_sample_test(x, y, gs.Linear(), n_permutations=20, random_state=0)
    pooled = np.sqrt((299 * x.var(ddof=1) + 199 * y.var(ddof=1)) / 498)
    assert result.effect_size == pytest.approx(abs(x.mean() - y.mean()) / pooled, abs=0.01)


@pytest.mark.parametrize("change", ["middle", "spread", "none"])
def test_effect_is_that_of_the_data_and_of_no_shuffle(rng, change):
    X, Y = rng.normal(size=(60, 3)), rng.normal(size=(50, 3))
    Y = {"middle": Y + 0.4, "spread": 1.5 * Y, "none": Y}[change]
    options = {"n_permutations": 60}
    results = [gs.two_sample_test(X, Y, random_state=seed, **options) for seed in range(6)]
    assert len({r.effect_size for r in results}) == 1
    assert len({next(iter(r.kernels)) for r in results}) == 1
    x, y = X[:, 0], X[:, 0] ** 2 + rng.normal(size=60)
    pairs = [gs.independence_test(x, y, random_state=seed, **options) for seed in range(6)]
    assert len({r.effect_size for r in pairs}) == 1


def test_landmarks_of_a_kernel_of_few_dimensions_are_the_kernel(rng, sizes):
    X, Y = rng.normal(size=(40, 3)), rng.normal(size=(30, 3)) + 0.3
    kernels = [gs.Linear(), gs.Polynomial(2)]
    options = {"n_permutations": 30, "random_state": 0}

    def both():
        two = gs.two_sample_test(X, Y, kernels, **options)
        return two, gs.independence_test(X, X[:, :2] ** 2, (kernels, kernels), **options)

    exact = both()
    sizes("evaluation.hypotheses", ROWS=20, PAIRED_ROWS=20)
    for near, whole in zip(both(), exact, strict=True):
        assert near.landmarks
        assert not whole.landmarks
        assert near.pvalue == whole.pvalue
        assert near.effect_size == pytest.approx(whole.effect_size, rel=1e-4)
        for name, (value, _) in whole.kernels.items():
            assert near.kernels[name][0] == pytest.approx(value, rel=1e-4, abs=1e-6)
    assert "landmarks" in str(both()[0])


def test_directions_that_are_left_out_are_not_missed(rng, sizes):
    x = rng.normal(size=400)
    y = 0.3 * x**2 + rng.normal(size=400)
    options = {"n_permutations": 60, "random_state": 0}
    whole = gs.independence_test(x, y, **options)
    sizes("evaluation.hypotheses", PAIRED_ROWS=20)
    near = gs.independence_test(x, y, **options)
    assert near.landmarks == 200
    assert near.pvalue == whole.pvalue
    assert near.effect_size == pytest.approx(whole.effect_size, rel=1e-6)


def test_pvalues_of_hyppo():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(80, 2)), rng.normal(size=(80, 2)) + np.array([0.35, 0.0])
    x = rng.normal(size=(60, 1))
    y = x**2 + 1.2 * rng.normal(size=(60, 1))
    options = {"n_permutations": 5000, "random_state": 0}
    kernel = gs.Gaussian.from_gamma(0.5)
    # hyppo 0.5.2, Hsic and MMD with a Gaussian kernel of gamma .5: 50 000 shuffles. Ours have a
    # standard error of .0022 and .005.
    hsic = gs.independence_test(x, y, (kernel, kernel), **options).pvalue
    assert hsic == pytest.approx(0.0256, abs=0.007)
    mmd = gs.two_sample_test(X, Y, kernel, **options).pvalue
    assert mmd == pytest.approx(0.1438, abs=0.015)


def test_every_kind_of_sample(rng):
    X, Y = rng.normal(size=(20, 3)), rng.normal(size=(25, 3)) + 1.0
    options = {"n_permutations": 40, "random_state": 1}
    expected = gs.two_sample_test(X, Y, **options)
    Z = np.r_[X, Y]
    for first, second in [
        (pd.DataFrame(X), pd.DataFrame(Y)),
        (X.tolist(), Y.tolist()),
        (sp.csr_array(X), sp.coo_array(Y)),
        (sp.csr_array(X), Y),
    ]:
        assert gs.two_sample_test(first, second, **options).pvalue == expected.pvalue
    K, labels = gs.Gaussian()(Z), np.repeat(["new", "old"], [20, 25])
    given = gs.two_sample_test(K, labels, "precomputed", **options)
    known = gs.two_sample_test(X, Y, gs.Gaussian(), **options)
    assert given.statistic == pytest.approx(known.statistic, rel=1e-12)
    assert given.pvalue == known.pvalue
    assert gs.two_sample_test(K, labels, gs.Precomputed(), **options).pvalue == known.pvalue
    words = ["abab", "aabb", "bbaa", "abba"] * 6
    others = ["cdcd", "ccdd", "ddcc", "cddc"] * 6
    assert gs.two_sample_test(words, others, **options).pvalue < 0.05
    assert gs.independence_test(words + others, [0] * 24 + [1] * 24, **options).pvalue < 0.05
    L = gs.Linear()(X[:, :1])
    two = gs.independence_test(gs.Gaussian()(X), L, "precomputed", **options)
    one = gs.independence_test(X, X[:, 0], (gs.Gaussian(), gs.Linear()), **options)
    assert (two.pvalue, two.statistic) == (one.pvalue, pytest.approx(one.statistic, rel=1e-9))


def test_groups_change_places_as_blocks(rng):
    centre = rng.normal(size=(12, 2))
    codes = np.repeat(np.arange(12), 5)
    X = centre[codes] + 0.01 * rng.normal(size=(60, 2))
    options = {"n_permutations": 99, "random_state": 0}
    alone = gs.two_sample_test(X[:30], X[30:], **options)
    together = gs.two_sample_test(X[:30], X[30:], groups=codes, **options)
    assert alone.pvalue == 0.01 < together.pvalue
    for pair in ((codes[:30], codes[30:]), [codes[:30].tolist(), codes[30:].tolist()]):
        in_two = gs.two_sample_test(X[:30], X[30:], groups=pair, **options)
        assert in_two.pvalue == together.pvalue
    # 2 + 2, 3 + 3 and 2 + 3 groups: halves that change places are the same two samples
    for parts, ways, least in ((4, 3, "0.33"), (6, 10, "0.1"), (5, 10, "0.1")):
        few, half = np.arange(60) * parts // 60, 60 * (parts // 2) // parts
        told = f"share {parts} between the samples in {ways} ways that differ.*about {least} at"
        with pytest.warns(UserWarning, match=told):
            far = gs.two_sample_test(X[:half], X[half:] + 9, groups=few, **options)
        assert far.pvalue == pytest.approx(float(least), abs=0.08)
    eight = np.arange(60) * 8 // 60
    assert gs.two_sample_test(X[:30], X[30:] + 9, groups=eight, **options).pvalue < 0.08
    y = rng.normal(size=12)[codes] + 0.01 * rng.normal(size=60)
    assert gs.independence_test(X, y, **options).pvalue == 0.01
    assert gs.independence_test(X, y, groups=codes, **options).pvalue > 0.01
    for order in shuffled_blocks(60, 5, np.random.RandomState(0), codes):
        assert (np.diff(order.reshape(12, 5), axis=1) == 1).all()
    sizes = np.repeat([0, 1, 2, 3], [2, 3, 2, 3])
    order = next(shuffled_blocks(10, 1, np.random.RandomState(3), sizes))
    assert sorted(order) == list(range(10))
    assert {tuple(order[:2]), tuple(order[5:7])} == {(0, 1), (5, 6)}


def test_equal_ranks_of_several_kernels_leave_small_pvalues_in_reach(rng):
    # 16 columns of noise, each of which has a row of rank 1: the data are not beaten by these
    S = rng.normal(size=(100, 16))
    S[0] = 5.0
    least, adjusted = least_ranks(S)
    assert (least <= least[0]).sum() == 1
    assert adjusted.min() == 0.01


def test_results_are_shown(rng):
    X = rng.normal(size=(30, 2))
    found = gs.two_sample_test(X, X + 3.0, n_permutations=50, random_state=0)
    assert str(found).startswith("The two samples differ (p = 0.0196 from 50 shuffles of 60 rows")
    assert found.telling
    assert str(found) in found._repr_html_()
    assert "-log10" in found.plot().get_xlabel()
    even = np.arange(30) % 2
    none = gs.independence_test(np.arange(30), even, gs.Linear(), n_permutations=50, random_state=0)
    assert str(none).startswith("No dependence was found")
    assert none.plot().get_xlabel() == "HSIC"


REFUSED = {
    "columns": (lambda X: gs.two_sample_test(X, X[:, :1]), "independence_test"),
    "rows": (lambda X: gs.independence_test(X, X[:5]), "two_sample_test"),
    "few": (lambda X: gs.two_sample_test(X, X[:1]), "at least 2 rows"),
    "four": (lambda X: gs.independence_test(X[:3], X[:3]), "at least 4"),
    "kinds": (lambda X: gs.two_sample_test(X, ["a", "b"]), "one kind"),
    "objects": (lambda X: gs.two_sample_test([{1}] * 4, [{3}] * 4), "Pass a kernel"),
    "both": (lambda X: gs.two_sample_test(X, X, groups=[0] * 20), "in one of the two samples"),
    "sizes": (
        lambda X: gs.independence_test(X[:6], X[:6], groups=[0, 1, 1, 2, 2, 2]),
        "groups of equal size",
    ),
    "labels": (lambda X: gs.two_sample_test(np.eye(4), [0, 1, 2, 3], "precomputed"), "two diff"),
    "mmd": (lambda X: gs.mmd(X, X[:, 0]), "two_sample_test"),
    "mmd of two samples": (lambda X: gs.mmd(X, X + 1.0), "two_sample_test"),
    "group": (
        lambda X: gs.two_sample_test(X, X, groups=["a"] * 20),
        "got group 'a' in both. Keep its rows",
    ),
    "huge": (lambda X: gs.two_sample_test(1e200 * X, X), "finite distances"),
    "permutations": (lambda X: gs.two_sample_test(X, X, n_permutations=0), "n_permutations"),
    "small matrix": (lambda X: gs.two_sample_test(X, X, np.eye(3)), "of all .* samples, got one"),
}


@pytest.mark.parametrize(("use", "words"), REFUSED.values(), ids=REFUSED)
def test_refused(use, words, rng):
    with pytest.raises((ValueError, TypeError), match=words):
        use(rng.normal(size=(10, 2)))


def test_a_kernel_that_tells_nothing_finds_nothing(rng):
    K, L = np.ones((30, 30)) / 3.0, np.eye(30) * 0.7
    for matrix in (K, L):
        two = gs.two_sample_test(matrix, np.arange(30) % 2, "precomputed", n_permutations=20)
        assert (two.pvalue, two.effect_size) == (1.0, 0.0)
        assert gs.independence_test(matrix, K, "precomputed", n_permutations=20).pvalue == 1.0
