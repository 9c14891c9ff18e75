import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

import gramsmith as gs
from oracle import strings as tb

ITEMS = ["milk", "bread", 3, ("tea", "green"), frozenset({1}), b"jam"]


@pytest.fixture
def baskets(rng):
    """Return a maker of random sets of hashable items of several types."""

    def make(n):
        return [{ITEMS[i] for i in np.flatnonzero(rng.random(6) < 0.5)} for _ in range(n)]

    return make


def dense(function, X, Y):
    return np.array([[function(x, y) for y in Y] for x in X], dtype=float)


def test_equals_the_list_of_common_subsets(baskets):
    for _ in range(40):
        X, Y = baskets(6), baskets(6)
        assert np.array_equal(gs.AllSubsets()(X, Y), dense(tb.all_subsets, X, Y))
        assert np.array_equal(gs.AllSubsets().diag(X), [2.0 ** len(x) for x in X])


def test_weights_by_item(baskets, rng):
    weights = dict(zip(ITEMS, rng.random(6) * 2, strict=True))
    weights.pop("milk")  # not named: weight 1
    kernel = gs.AllSubsets(weights)
    for _ in range(20):
        X, Y = baskets(6), baskets(6)
        want = dense(lambda x, z: tb.all_subsets(x, z, {**weights, "milk": 1.0}), X, Y)
        assert_allclose(kernel(X, Y), want, rtol=1e-12)


def test_weight_zero_leaves_an_item_out():
    assert gs.AllSubsets({"a": 0.0})([{"a", "b"}], [{"a", "b"}]) == 2


def test_matrices_are_indicators(rng):
    X = (rng.random((8, 5)) < 0.5).astype(int)
    sets = [set(np.flatnonzero(row).tolist()) for row in X]
    want = gs.AllSubsets()(sets)
    for same in (
        X,
        X.astype(bool),
        X.astype(float),
        sp.csr_array(X),
        sp.csc_matrix(X),
        pd.DataFrame(X),
        pl.DataFrame(X),
        X.tolist(),
    ):
        assert np.array_equal(gs.AllSubsets()(same), want)


def test_weights_by_column(rng):
    X = (rng.random((8, 5)) < 0.5).astype(float)
    w = rng.random(5)
    want = np.prod(1 + w * X[:, None] * X[None], axis=2)
    assert_allclose(gs.AllSubsets(w)(X), want)
    assert_allclose(gs.AllSubsets(w)(sp.csr_array(X)), want)


def test_real_vectors_in_product_form(rng):
    X, Z = rng.standard_normal((5, 4)), rng.standard_normal((6, 4))
    want = dense(tb.all_subsets_vectors, X, Z)
    assert_allclose(gs.AllSubsets()(X, Z), want, rtol=1e-10)
    assert_allclose(gs.AllSubsets().diag(X), [tb.all_subsets_vectors(x, x) for x in X], rtol=1e-10)
    # zeros and ones on one side only
    ones = (X > 0).astype(float)
    assert_allclose(gs.AllSubsets()(ones, Z), dense(tb.all_subsets_vectors, ones, Z), rtol=1e-10)


@pytest.mark.parametrize("real", [False, True])
def test_logarithm_and_cosine(rng, real):
    X = rng.random((7, 5)) if real else (rng.random((7, 5)) < 0.5).astype(float)
    K = gs.AllSubsets()(X)
    log, cosine = gs.AllSubsets(output="log"), gs.AllSubsets(output="normalized")
    assert_allclose(log(X), np.log(K), atol=1e-12)
    assert_allclose(log.diag(X), np.log(np.diagonal(K)), atol=1e-12)
    assert_allclose(cosine(X), gs.Normalized(gs.AllSubsets())(X), rtol=1e-12)
    assert_allclose(cosine.diag(X), 1.0)


def test_large_sets_overflow_in_words_not_in_numbers():
    X = [set(range(2000)), set(range(1000, 3000)), {1}]
    with pytest.raises(ValueError, match=r"2\^2000 in row 0.*output='normalized'"):
        gs.AllSubsets()(X)
    assert_allclose(gs.AllSubsets(output="log")(X)[0, 1], 1000 * np.log(2))
    K = gs.AllSubsets(output="normalized")(X)
    assert np.isfinite(K).all()
    assert_allclose(K[0, 1], 2.0**-1000)


def test_features_of_the_logarithm(baskets):
    X = baskets(10)
    kernel = gs.AllSubsets(output="log")
    U = kernel.features(kernel.check_input(X))
    assert_allclose((U @ U.T).toarray(), kernel(X), atol=1e-12)
    assert gs.AllSubsets().features(kernel.check_input(X)) is None


def test_columns_of_sets():
    X = [{"a", "b"}, {"b"}]
    want = gs.AllSubsets()(X)
    assert np.array_equal(gs.AllSubsets()(pd.Series(X)), want)
    assert np.array_equal(gs.AllSubsets()([["a", "b"], ("b",)]), want)
    assert np.array_equal(gs.AllSubsets()([frozenset(x) for x in X]), want)


def test_empty_sets_share_the_empty_subset():
    assert np.array_equal(gs.AllSubsets()([set(), {"a"}]), [[1, 1], [1, 2]])


@pytest.mark.parametrize(
    ("X", "error", "message"),
    [
        ("abc", TypeError, "several sets"),
        ({"a": 1}, TypeError, "several sets"),
        (7, TypeError, "several sets"),
        ([], ValueError, "0 sample"),
        ([{"a"}, None], TypeError, "a missing value in row 1"),
        ([{"a"}, "a"], TypeError, "str .* in row 1"),
        ([{"a"}, 3], TypeError, "int .* in row 1"),
        ([[["a"]]], TypeError, "hashable items"),
        ([["a", "a"]], ValueError, "repeated ones in row 0"),
        (np.array([[1.0, np.nan]]), ValueError, "NaN in column 1"),
    ],
)
def test_bad_input(X, error, message):
    with pytest.raises(error, match=message):
        gs.AllSubsets()(X)


@pytest.mark.parametrize(
    ("options", "X", "error", "message"),
    [
        ({"weights": {"a": -1.0}}, [{"a"}], ValueError, "weights >= 0"),
        ({"weights": [1.0, np.inf]}, np.eye(2), ValueError, "weights >= 0"),
        ({"weights": [1.0]}, np.eye(2), ValueError, "one weight per column"),
        ({"weights": [1.0]}, [{"a"}], TypeError, "mapping"),
        ({"weights": {"a": 1.0}}, np.eye(2), ValueError, "one weight per column"),
        ({"output": "sqrt"}, [{"a"}], ValueError, "output"),
        ({"output": "log"}, -np.eye(2), ValueError, "values >= 0"),
    ],
)
def test_bad_parameters(options, X, error, message):
    with pytest.raises(error, match=message):
        gs.AllSubsets(**options)(X)
