"""The laws of tests/test_laws.py for samples that are not vectors."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC, OneClassSVM

import gramsmith as gs
from gramsmith.measures import MEASURES
from gramsmith.targets import make_target

WORDS = "the a cat dog mouse sat ran on under mat".split()

KERNELS = {
    "spectrum": gs.Spectrum(2),
    "spectrum range": gs.Spectrum((1, 3), presence=True),
    "all substrings": gs.AllSubstrings(decay=0.7),
    "short substrings": gs.AllSubstrings(max_length=2, decay=0.5),
    "subsequence": gs.Subsequence(2, 0.6),
    "mismatch": gs.Mismatch(3, 1, alphabet="ACGT"),
    "weighted degree": gs.WeightedDegree(3),
    "weighted degree, shifted": gs.WeightedDegree(3, 2),
    "normalized": gs.Normalized(gs.Subsequence(2, 0.6)),
    "sum": gs.Spectrum(2) + 0.5 * gs.Normalized(gs.AllSubstrings(decay=0.4)),
    "product": gs.Spectrum(1) * gs.WeightedDegree(2),
    "gaussian of": gs.GaussianOf(gs.Normalized(gs.Spectrum(3)), 0.7),
    "power": gs.Normalized(gs.Mismatch(2, 1, alphabet="ACGT")) ** 2,
}
SETS = {"all subsets": gs.AllSubsets(), "logarithm": gs.AllSubsets(output="log")}
TREES = {"subtree": gs.Subtree(0.5), "fragments": gs.Subtree(0.5, "fragment")}
EVERY = {**KERNELS, **SETS, **TREES}
LEARNABLE = [name for name, kernel in EVERY.items() if any(True for _ in kernel.parameter_names())]

every = pytest.mark.parametrize("name", EVERY)


def samples(name, rng, n):
    """Return n samples of the kind a kernel takes."""
    if name in SETS:
        return [set(rng.choice(9, rng.integers(0, 6), replace=False).tolist()) for _ in range(n)]
    if name in TREES:
        pick = lambda: str(rng.choice(WORDS))  # noqa: E731
        return [("S", ("NP", pick(), pick()), ("VP", pick())) for _ in range(n)]
    return ["".join(row) for row in rng.choice(list("ACGT"), (n, 14))]


def labelled(rng, n):
    """Return DNA of two classes that a string kernel can tell apart."""
    y = np.arange(n) % 2
    odds = {0: [0.4, 0.1, 0.1, 0.4], 1: [0.1, 0.4, 0.4, 0.1]}
    return ["".join(rng.choice(list("ACGT"), 25, p=odds[label])) for label in y], y


@every
def test_symmetric_positive_semidefinite(name, rng):
    K = EVERY[name](samples(name, rng, 40))
    assert (K == K.T).all()
    values = np.linalg.eigvalsh(K)
    assert EVERY[name].positive_definite
    assert values[0] >= -1e-10 * values[-1]


@every
def test_streamed_equals_dense(name, rng, small_tiles):
    small_tiles(7)
    kernel, X = EVERY[name], samples(name, rng, 30)
    K, G = kernel(X), gs.Gram(EVERY[name], X, n_jobs=2)
    v = rng.standard_normal((30, 2))
    assert_allclose(G.toarray(), K, rtol=1e-12, atol=1e-12)
    assert_allclose(G @ v, K @ v, rtol=1e-9, atol=1e-9)
    assert_allclose(G.diagonal(), np.diagonal(K), rtol=1e-12)
    assert_allclose(kernel.diag(X), np.diagonal(K), rtol=1e-12)


@every
def test_blocks_equal_the_whole(name, rng):
    kernel, X = EVERY[name], samples(name, rng, 20)
    K = kernel(X)
    assert_allclose(kernel(X[:8], X[8:]), K[:8, 8:], rtol=1e-12, atol=1e-12)


@every
def test_measures_of_gram_and_array_agree(name, rng, small_tiles):
    small_tiles(7)
    kernel, X = EVERY[name], samples(name, rng, 30)
    goal = make_target(rng.integers(0, 2, 30))
    streamed = gs.Gram(kernel, X, n_jobs=2).moments(goal)
    whole = gs.Gram("precomputed", kernel(X)).moments(goal)
    for measure in MEASURES.values():
        assert_allclose(
            measure.value(streamed, goal), measure.value(whole, goal), rtol=1e-8, atol=1e-12
        )


@every
def test_clone_and_parameters(name, rng):
    kernel, X = EVERY[name], samples(name, rng, 6)
    copy = clone(kernel)
    assert copy is not kernel
    assert (copy(X) == kernel(X)).all()
    copy.set_params(**kernel.get_params())
    assert copy.get_params().keys() == kernel.get_params().keys()
    assert not kernel.requires_vector_input
    assert kernel.formula()


@pytest.mark.parametrize("name", LEARNABLE)
def test_alignment_gradient_equals_differences(name, rng, small_tiles):
    small_tiles(7)
    kernel, X = EVERY[name], samples(name, rng, 24)
    y = rng.integers(0, 2, 24)
    G, goal = gs.Gram(kernel, X, n_jobs=2), make_target(y)
    moments = G.moments(goal)
    _, adjoint = MEASURES["cka"].value_and_adjoint(moments, goal)
    gradient = G.pullback(adjoint, goal, moments)[0].parameters
    h = 1e-6
    for parameter in kernel.parameter_names():
        value = kernel.get_params()[parameter]
        sides = [clone(kernel).set_params(**{parameter: value + s}) for s in (h, -h)]
        want = (gs.cka(sides[0](X), y) - gs.cka(sides[1](X), y)) / (2 * h)
        assert_allclose(gradient[parameter], want, rtol=1e-4, atol=1e-8)


@pytest.mark.parametrize("name", KERNELS)
def test_drop_in_for_scikit_learn(name, rng):
    kernel = clone(KERNELS[name])
    X, y = labelled(rng, 40)
    normal = gs.Normalized(kernel)
    assert SVC(kernel=normal).fit(X, y).score(X, y) > 0.8
    machine = OneClassSVM(kernel=normal).fit(X)
    assert len(machine.predict(X)) == 40
    process = GaussianProcessRegressor(normal, alpha=0.1, optimizer=None).fit(X, y)
    assert process.predict(X[:3]).shape == (3,)


def test_gaussian_process_learns_the_decay(rng):
    X, y = labelled(rng, 30)
    process = GaussianProcessRegressor(
        gs.Normalized(gs.Subsequence(2, 0.5)), alpha=0.1, n_restarts_optimizer=1, random_state=0
    ).fit(np.array(X), y)
    assert 0 < process.kernel_.kernel.decay <= 1
    assert process.kernel_.kernel.decay != 0.5
    classifier = GaussianProcessClassifier(gs.Normalized(gs.Spectrum(2))).fit(X, y)
    assert classifier.score(X, y) > 0.8


def test_grid_search_over_nested_parameters(rng):
    X, y = labelled(rng, 40)
    search = GridSearchCV(
        SVC(kernel=gs.Normalized(gs.Spectrum(1))), {"kernel__kernel__k": [1, 2, (1, 3)]}, cv=3
    ).fit(X, y)
    assert search.best_score_ > 0.7


@pytest.mark.parametrize("name", ["all subsets", "subtree", "fragments"])
def test_machines_take_sets_and_trees(name, rng):
    X = samples(name, rng, 30)
    y = rng.integers(0, 2, 30)
    model = gs.KernelRidgeClassifier(kernel=gs.Normalized(EVERY[name])).fit(X, y)
    assert model.predict(X[:4]).shape == (4,)


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    ("kernel", "alike"),
    [
        (gs.Spectrum(10**9), gs.Spectrum(100)),
        (gs.Spectrum((1, 10**9)), gs.Spectrum((1, 8))),
        (gs.Mismatch(10**9, 10**8, alphabet="ACGT"), gs.Spectrum(100)),
        (gs.Subsequence(10**9), gs.Spectrum(100)),
        (gs.AllSubstrings(max_length=10**9), gs.AllSubstrings()),
        (gs.WeightedDegree(8, shift=10**9), gs.WeightedDegree(8, shift=20)),
    ],
    ids=str,
)
def test_lengths_past_all_strings_cost_nothing(kernel, alike):
    short, long = ["ACGT", "", "GATTACA"], ["GATTACAT", "ACGTACG"]
    np.testing.assert_array_equal(kernel(short, long), alike(short, long))
    np.testing.assert_array_equal(kernel(long), alike(long))
    np.testing.assert_array_equal(kernel.diag(long), alike.diag(long))


def test_a_degree_past_all_strings_changes_only_the_weights():
    # 2 (D - d) / (D (D + 1)) of d = 0, 1 symbols is 2 / D for very large D
    found = gs.WeightedDegree(10**8)(["AC"], ["AC"])
    np.testing.assert_allclose(found, 3 * 2e-8, rtol=1e-6)


def test_numbers_past_all_integers_are_refused():
    with pytest.raises(ValueError, match=r"below 2\^31"):
        gs.Spectrum(2**70)(["ACGT"])
