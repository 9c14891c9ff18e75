import numpy as np
import pytest

import gramsmith as gs
from gramsmith.learning import transductive_alignment
from oracle import golden
from oracle import textbook as tb


@pytest.fixture
def problem(rng):
    X = rng.normal(size=(100, 2))
    return gs.Gaussian(1.0)(X), np.where(X[:, 0] * X[:, 1] > 0, 1, -1), np.arange(0, 100, 2)


@pytest.mark.parametrize("rule", ["exact", "diagonal"])
def test_equals_the_dense_definition(rule, problem):
    K, y, train = problem
    G = transductive_alignment(K, y[train], train, rule, threshold=1e-3)
    alpha, V = tb.transductive_weights(K, y[train], train, rule, threshold=1e-3)
    np.testing.assert_allclose(G, (V * alpha) @ V.T, atol=1e-9)


def test_exact_weights_align_best(problem):
    K, y, train = problem
    T = np.ix_(train, train)

    def aligned(G):
        return gs.kta(G[T], y[train])

    exact = aligned(transductive_alignment(K, y[train], train))
    diagonal = aligned(transductive_alignment(K, y[train], train, "diagonal"))
    assert exact >= diagonal - 1e-12
    assert diagonal > aligned(K)


def test_unlabelled_samples_gain(problem):
    K, y, train = problem
    rest = np.setdiff1d(np.arange(100), train)
    G = transductive_alignment(K, y[train], train, n_components=20)
    assert gs.kta(G[np.ix_(rest, rest)], y[rest]) > gs.kta(K[np.ix_(rest, rest)], y[rest])
    assert np.linalg.eigvalsh(G)[0] > -1e-10


def test_masks_and_full_labels_mean_the_same(problem):
    K, y, train = problem
    mask = np.zeros(100, dtype=bool)
    mask[train] = True
    expected = transductive_alignment(K, y[train], train)
    np.testing.assert_array_equal(transductive_alignment(K, y, train), expected)
    np.testing.assert_array_equal(transductive_alignment(K, y, mask), expected)


def test_values_are_centred_on_the_training_mean(problem):
    K, _, train = problem
    y = np.linspace(0, 1, 100) ** 2
    one = transductive_alignment(K, y, train)
    other = transductive_alignment(K, y + 100.0, train)
    np.testing.assert_allclose(one, other, atol=1e-8)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rule": "best"}, "'rule' parameter .*Got 'best'"),
        ({"threshold": 1.0}, "'threshold' parameter .*Got 1.0"),
        ({"threshold": "auto"}, "'threshold' parameter .*Got 'auto'"),
        ({"n_components": 0}, "'n_components' parameter .*Got 0"),
        ({"K": np.zeros((12, 12))}, "positive eigenvalue"),
        ({"train": [0, 0, 1]}, "different row numbers"),
        ({"train": [0, 12]}, "between 0 and 11"),
        ({"train": [0.5, 1.5]}, "row numbers"),
        ({"train": [[0, 1], [2]]}, "row numbers"),
        ({"y": [1, -1, 1]}, "labels of the 4 training samples"),
    ],
)
def test_bad_input(options, message):
    arguments = {"K": golden.K, "y": golden.y, "train": [0, 1, 2, 3], **options}
    with pytest.raises(ValueError, match=message):
        transductive_alignment(**arguments)


def test_a_gram_is_a_matrix(problem):
    K, y, train = problem
    G = gs.Gram(gs.Precomputed(), K)
    expected = transductive_alignment(K, y, train)
    np.testing.assert_allclose(transductive_alignment(G, y, train), expected, atol=1e-9)


@pytest.mark.parametrize("missing", [np.nan, None])
def test_labels_of_other_samples_may_be_missing(missing):
    X = np.random.default_rng(0).normal(size=(40, 2))
    y = (X[:, 0] > 0).astype(object if missing is None else float)
    K, train = gs.Gaussian()(X), np.arange(20)
    expected = transductive_alignment(K, y[:20].astype(int), train)
    y[20:] = missing
    np.testing.assert_array_equal(transductive_alignment(K, y, train), expected)
    with pytest.raises(ValueError, match="row 19"):
        transductive_alignment(K, y, np.arange(1, 21))
