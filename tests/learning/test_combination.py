import pickle
import warnings
from functools import partial

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

import gramsmith as gs
from gramsmith.learning.combination import default_path
from oracle import golden
from oracle import textbook as tb

KernelCombination = partial(gs.KernelCombination, keep=1.0)  # as in the papers
KERNELS = [gs.Gaussian.from_gamma(g) for g in (0.05, 0.5, 2.0, 8.0)]
MATRICES = [k(golden.X) for k in KERNELS]
PROJECTIONS = {"kta": "plain", "cka": "centred", "cka_debiased": "debiased"}


def test_golden_weights():
    learner = KernelCombination(KERNELS).fit(golden.X, golden.y)
    expected, tolerance = golden.GOLDEN["alignf_weights"]
    np.testing.assert_allclose(learner.weights_, expected, atol=tolerance)
    assert learner.value_ == pytest.approx(golden.GOLDEN["alignf"][0], abs=1e-8)
    uniform = KernelCombination(KERNELS, "uniform").fit(golden.X, golden.y)
    assert uniform.value_ == pytest.approx(golden.GOLDEN["alignf_uniform"][0], abs=1e-8)


@pytest.mark.parametrize(
    "y", [golden.y, golden.lab, golden.yr], ids=["binary", "classes", "values"]
)
@pytest.mark.parametrize("measure", PROJECTIONS)
@pytest.mark.parametrize("method", ["alignf", "align", "uniform"])
def test_value_is_the_alignment_of_the_sum(method, measure, y):
    learner = KernelCombination(KERNELS, method, measure).fit(golden.X, y)
    assert learner.weights_.min() >= 0
    K = sum(w * M for w, M in zip(learner.weights_, MATRICES, strict=True))
    value = {"kta": gs.kta, "cka": gs.cka}.get(measure, lambda K, y: gs.cka(K, y, debiased=True))
    assert learner.value_ == pytest.approx(value(K, y), abs=1e-10)
    np.testing.assert_allclose(learner.kernel_(golden.X), K, atol=1e-12)
    np.testing.assert_allclose(learner.alignments_, [value(M, y) for M in MATRICES], atol=1e-10)


@pytest.mark.parametrize("measure", PROJECTIONS)
def test_alignf_equals_least_squares_on_all_entries(measure):
    learner = KernelCombination(KERNELS, measure=measure).fit(golden.X, golden.y)
    weights, value = tb.alignf(MATRICES, golden.y, PROJECTIONS[measure])
    np.testing.assert_allclose(learner.weights_, weights, atol=1e-6)
    assert learner.value_ == pytest.approx(value, abs=1e-9)


def test_two_kernels_give_the_closed_form():
    learner = KernelCombination([gs.Gaussian(0.2), gs.Gaussian(1.0)], measure="kta")
    w = learner.fit(golden.X, golden.y).weights_
    assert w[0] / w.sum() == pytest.approx(golden.GOLDEN["u_star"][0], abs=1e-8)


def test_signed_weights_align_better():
    free = KernelCombination(KERNELS, signed=True).fit(golden.X, golden.y)
    assert free.weights_.min() < 0
    assert free.value_ > golden.GOLDEN["alignf"][0]
    K = sum(w * M for w, M in zip(free.weights_, MATRICES, strict=True))
    assert tb.cka(K, golden.y) == pytest.approx(free.value_, abs=1e-8)


def best_signed(matrices, y):
    """Return the best centred alignment of any sum, from the matrices themselves."""
    H = np.eye(len(y)) - 1.0 / len(y)
    A = np.stack([(H @ K @ H).ravel() for K in matrices], axis=1)
    T = np.outer(H @ y, H @ y).ravel()
    U = np.linalg.svd(A / np.linalg.norm(A, axis=0), full_matrices=False)[0]
    return np.linalg.norm(U.T @ T) / np.linalg.norm(T)


@pytest.mark.parametrize(
    "sizes", [(1.0, 1.0, 1.0, 1.0), (1e-6, 1.0, 1e6, 1e3), (1e8, 1.0, 1.0, 1.0)]
)
def test_signed_weights_are_the_best_at_any_scale(sizes, rng):
    X = rng.normal(size=(60, 3))
    y = np.where(X[:, 0] * X[:, 1] > 0, 1.0, -1.0)
    kernels = [gs.Gaussian(0.5), gs.Gaussian(1.0), gs.Gaussian(2.0), gs.Linear()]
    plain = KernelCombination(kernels, signed=True).fit(X, y)
    scaled = [size * kernel for size, kernel in zip(sizes, kernels, strict=True)]
    learner = KernelCombination(scaled, signed=True).fit(X, y)
    assert learner.value_ == pytest.approx(best_signed([k(X) for k in kernels], y), rel=1e-9)
    folded = learner.weights_ * sizes
    np.testing.assert_allclose(folded / np.linalg.norm(folded), plain.weights_, rtol=1e-7)
    # a search from random weights finds none better
    M = np.stack([k(X) for k in kernels])
    trials = [gs.cka(np.tensordot(w, M, 1), y) for w in rng.normal(size=(300, 4))]
    assert max(trials) <= learner.value_ + 1e-12


@pytest.mark.parametrize("size", [1e-9, 1e9])
def test_weights_of_sums_follow_the_scale_of_the_kernels(size):
    once = KernelCombination(KERNELS).fit(golden.X, golden.y)
    other = KernelCombination([KERNELS[0], size * KERNELS[1], *KERNELS[2:]]).fit(golden.X, golden.y)
    assert other.value_ == pytest.approx(once.value_, rel=1e-9)


def test_machines_take_a_signed_sum(rng):
    X = rng.normal(size=(80, 3))
    y = X[:, 0] * X[:, 1] > 0
    kernels = [gs.Gaussian(0.5), gs.Gaussian(1.0), gs.Gaussian(2.0), gs.Linear()]
    learner = KernelCombination(kernels, signed=True).fit(X, y)
    assert learner.weights_.min() < 0
    assert not learner.kernel_.positive_definite
    np.testing.assert_allclose(learner.kernel_(X), learner.matrix(X), atol=1e-12)
    for machine in (gs.KernelSVC, gs.L2SVC, gs.KernelLogisticRegression):
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", ".*positive semidefinite", UserWarning)
            assert machine(learner.kernel_).fit(X, y).score(X, y) > 0.8
    single = KernelCombination([gs.Linear()], signed=True).fit(X, X[:, 0] * X[:, 1])
    assert single.value_ >= 0.0
    assert single.kernel_(X).shape == (80, 80)


def test_duplicates_are_solved():
    once = KernelCombination(KERNELS).fit(golden.X, golden.y)
    twice = KernelCombination([*KERNELS, *KERNELS]).fit(golden.X, golden.y)
    assert twice.value_ == pytest.approx(once.value_, abs=1e-9)
    folded = twice.weights_[:4] + twice.weights_[4:]
    np.testing.assert_allclose(folded / np.linalg.norm(folded), once.weights_, atol=1e-6)


def test_matrices_grams_and_kernels_agree():
    expected = KernelCombination(KERNELS).fit(golden.X, golden.y).weights_
    grams = [gs.Gram(k, golden.X) for k in KERNELS]
    for given in (MATRICES, tuple(MATRICES), grams, [*MATRICES[:2], *grams[2:]]):
        learner = KernelCombination().fit(given, golden.y)
        np.testing.assert_allclose(learner.weights_, expected, atol=1e-8)
        assert not hasattr(learner, "kernel_")


def test_several_views():
    views = (golden.X[:, :1], golden.X[:, 1:], golden.K)
    learner = KernelCombination([gs.Gaussian(1.0), gs.Linear(), gs.Precomputed()])
    learner.fit(views, golden.y)
    K = learner.matrix(views)
    assert tb.cka(K, golden.y) == pytest.approx(learner.value_, abs=1e-10)
    new = (views[0][:3], views[1][:3], golden.K[:3])
    np.testing.assert_allclose(learner.matrix(new, views), K[:3], atol=1e-12)
    with pytest.raises(ValueError, match="one view per kernel"):
        learner.matrix(views[:2])


def test_views_have_no_kernel_but_a_matrix():
    learner = KernelCombination()
    with pytest.raises(AttributeError, match="has no attribute 'kernel_'"):
        _ = learner.kernel_
    learner.fit(MATRICES, golden.y)
    with pytest.raises(AttributeError, match=r"one view per kernel.*Use matrix\(views\)"):
        _ = learner.kernel_
    matrix = learner.matrix(MATRICES)
    by_matrix = SVC(kernel="precomputed").fit(matrix, golden.y).decision_function(matrix)
    shared = KernelCombination(KERNELS).fit(golden.X, golden.y).kernel_
    by_kernel = SVC(kernel=shared).fit(golden.X, golden.y).decision_function(golden.X)
    np.testing.assert_allclose(by_matrix, by_kernel, atol=1e-6)
    again = pickle.loads(pickle.dumps(clone(learner).fit(MATRICES, golden.y)))
    np.testing.assert_array_equal(again.weights_, learner.weights_)
    with pytest.raises(AttributeError, match="no attribute 'misspelt'"):
        _ = learner.misspelt


def test_one_sweep_counts_as_one_iteration():
    tiles = []
    learner = KernelCombination(KERNELS, callback=lambda row: tiles.append(row["done"]))
    assert learner.fit(golden.X, golden.y).n_iter_ == 1 == tiles.count(1.0)


def test_named_kernels_and_strings():
    learner = KernelCombination([("two", gs.Spectrum(2)), ("three", gs.Spectrum(3))])
    learner.fit(["abab", "baba", "aabb", "bbaa", "abba", "aaab"], [0, 0, 1, 1, 0, 1])
    assert learner.names_ == ["two", "three"]
    assert learner.kernel_(["abab"]).shape == (1, 1)


def test_in_a_machine(rng):
    X = rng.normal(size=(100, 3))
    y = (X**2).sum(axis=1) > 2.5
    learner = KernelCombination().fit(X, y)
    assert SVC(kernel=learner.kernel_).fit(X, y).score(X, y) > 0.9


def test_refit_with_views_forgets_the_kernel():
    learner = KernelCombination(KERNELS).fit(golden.X, golden.y)
    learner.set_params(kernels=None).fit(MATRICES, golden.y)
    assert not hasattr(learner, "kernel_")


def test_no_kernel_aligns():
    y = np.tile([0, 1], 4)
    K = np.where(np.equal.outer(y, y), 0.1, 1.0)
    np.fill_diagonal(K, 2.0)
    with pytest.warns(ConvergenceWarning, match="no kernel has a positive alignment"):
        learner = KernelCombination(measure="cka_debiased").fit([K], y)
    assert learner.weights_.tolist() == [1.0]


@pytest.mark.parametrize(
    ("options", "X", "message"),
    [
        ({"kernels": []}, golden.X, "empty list"),
        ({"method": "best"}, golden.X, "'method' parameter .*Got 'best'"),
        ({"measure": "fsm!"}, golden.X, "kta, cka"),
        ({}, [golden.K, golden.K[:5, :5]], "same samples"),
        ({}, [golden.K[:, :5]], "square"),
        ({"kernels": [gs.Linear()]}, (golden.X, golden.X), "one view per kernel"),
    ],
)
def test_bad_input(options, X, message):
    with pytest.raises(ValueError, match=message):
        KernelCombination(**options).fit(X, golden.y)


def test_matrices_and_grams_in_place_of_kernels():
    expected = KernelCombination(KERNELS).fit(golden.X, golden.y).weights_
    grams = [gs.Gram(k, golden.X) for k in KERNELS]
    for given in (MATRICES, grams, dict(zip("abcd", MATRICES, strict=True)), np.stack(MATRICES)):
        for X in (None, golden.X):
            learner = KernelCombination(given).fit(X, golden.y)
            np.testing.assert_allclose(learner.weights_, expected, atol=1e-8)
    stack = KernelCombination().fit(np.stack(MATRICES), golden.y)
    np.testing.assert_allclose(stack.weights_, expected, atol=1e-8)
    np.testing.assert_allclose(
        stack.matrix(MATRICES), sum(w * K for w, K in zip(expected, MATRICES, strict=True))
    )


def test_kernels_by_name():
    learner = KernelCombination({"wide": gs.Gaussian(5.0), "narrow": gs.Gaussian(0.5)})
    assert learner.fit(golden.X, golden.y).names_ == ["wide", "narrow"]
    assert hasattr(learner, "kernel_")


@pytest.mark.parametrize("single", [gs.Linear(), "linear", MATRICES[0], gs.Gram("rbf", golden.X)])
def test_a_single_kernel_is_no_list(single):
    with pytest.raises(ValueError, match=r"Put it into a list"):
        KernelCombination(single).fit(golden.X, golden.y)


def test_kernels_matrices_and_grams_mix():
    expected = KernelCombination(KERNELS).fit(golden.X, golden.y).weights_
    mixed = [KERNELS[0], MATRICES[1], gs.Gram(KERNELS[2], golden.X), *KERNELS[3:]]
    learner = KernelCombination(mixed).fit(golden.X, golden.y)
    np.testing.assert_allclose(learner.weights_, expected, atol=1e-8)
    assert not hasattr(learner, "kernel_")  # which would be a kernel of one X


def test_default_path_doubles():
    widths = np.array([k.length_scale for k in default_path(golden.X)])
    np.testing.assert_allclose(widths[:-1] ** 2 / widths[1:] ** 2, 2.0)
