"""Views: kernels of every sort see the samples in the order of the folds."""

import re

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import gramsmith as gs
from gramsmith.gram import as_views
from gramsmith.gram.views import Views, views_in
from oracle import golden


@pytest.fixture
def problem(rng):
    X = rng.normal(size=(40, 3))
    return X, (X[:, 0] > 0).astype(int)


@pytest.mark.parametrize("kernel", [2.0 * gs.Precomputed(), gs.Normalized(gs.Precomputed())])
def test_kernels_made_of_a_matrix_are_cut_on_both_axes(kernel, problem):
    X, y = problem
    K = gs.Polynomial(2)(X)
    table = gs.evaluate({"k": kernel}, K, y, measures=["cka"])
    expected = gs.cka(gs.Gram(kernel, K), y)
    assert table["k", "cka"].value == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("form", ["coo", "csr", "csc", "dia", "bsr", "lil"])
def test_sparse_matrices_of_every_format(form, problem):
    X, y = problem
    table = gs.evaluate({"k": gs.Gaussian()}, sp.csr_matrix(X).asformat(form), y, measures=["cka"])
    assert table["k", "cka"].value == pytest.approx(gs.cka(gs.Gaussian()(X), y))


def test_a_path_of_bandwidths_is_swept_as_one(problem):
    X, _ = problem
    kernels = [gs.Gaussian(float(2.0 ** (-j / 2))) for j in range(4)]
    taken = as_views(kernels, X).take(np.arange(40)[::-1])
    assert all(view is taken.samples[0] for view in taken.samples)
    assert len(gs.Gram(taken)._members) == 1


def test_objects_frames_and_lists_are_put_in_order(problem):
    _, y = problem
    words = ["aab", "abb"] * 20
    table = gs.evaluate({"k": gs.Spectrum(2)}, words, y, measures=["cka"])
    assert table["k", "cka"].value == pytest.approx(gs.cka(gs.Gram(gs.Spectrum(2), words), y))


def test_what_counts_as_views():
    K = golden.K
    assert len(views_in((golden.X, golden.X))) == 2
    assert len(views_in([K, K])) == 2
    assert len(views_in(np.stack([K, K]))) == 2
    assert len(views_in([gs.Gram(gs.Linear(), golden.X)])) == 1
    assert views_in(golden.X) is None
    assert views_in(golden.X.tolist()) is None
    assert views_in(["ab", "ba"], [gs.Spectrum(2)]) is None
    assert views_in(("ab", "ba"), gs.Spectrum(2)) is None  # one kernel: these are its samples


def test_one_x_for_all():
    views = as_views([gs.Linear(), ("wide", gs.Gaussian(5.0))], golden.X)
    assert views.shared
    assert views.names == ("Linear()", "wide")
    assert views.n == len(golden.X)
    assert as_views(views) is views


def test_matrices_and_grams():
    views = as_views(None, [golden.K, gs.Gram(gs.Gaussian(1.0), golden.X)])
    assert not views.shared
    assert [type(k).__name__ for k in views.kernels] == ["Precomputed", "Gaussian"]
    assert views.square == (True, False)
    assert views.names == ("kernel 0", "kernel 1")


def test_a_stack_of_matrices_is_several_kernels():
    K = golden.K
    for views in (as_views(np.stack([K, 2.0 * K])), as_views(None, np.stack([K, 2.0 * K]))):
        assert views.names == ("kernel 0", "kernel 1")
        for found, expected in zip(views.samples, (K, 2.0 * K), strict=True):
            np.testing.assert_array_equal(found, expected)
    assert len(as_views(K)) == 1


def test_kernels_matrices_and_grams_stand_side_by_side():
    K = gs.Linear()(golden.X)
    given = {"kernel": gs.Linear(), "matrix": K, "gram": gs.Gram(gs.Linear(), golden.X)}
    table = gs.evaluate(given, golden.X, golden.y, measures=["cka"])
    values = [table[name, "cka"].value for name in given]
    np.testing.assert_allclose(values, values[0], rtol=1e-12)


def test_equal_names_are_numbered():
    assert as_views(["linear"] * 3, golden.X).names == ("linear", "linear (2)", "linear (3)")
    many = as_views(["linear"] * 6, golden.X).names
    assert many == ("linear", *(f"linear ({i})" for i in range(2, 7)))


def test_lengths_are_those_of_y():
    views = as_views([gs.Linear()], golden.X)
    n = len(golden.X)
    views.check_lengths(n)
    for other in (n - 1, n + 1):
        with pytest.raises(ValueError, match=f"same length, got {n} and {other}"):
            views.check_lengths(other)
    matrix = Views(("k",), (gs.Precomputed(),), (np.zeros((5, 3)),), False)
    with pytest.raises(ValueError, match=r"square kernel matrix of 5 samples, got shape \(5, 3\)"):
        matrix.check_lengths(5)
    Views(("k",), (gs.Precomputed(),), (np.zeros((5, 5)),), False).check_lengths(5)


@pytest.mark.parametrize(
    ("names", "listed"),
    [("ab", "a, b"), ("abcde", "a, b, c, d, e"), ("abcdef", "a, b, c, d, e, ...")],
)
def test_columns_of_other_samples_are_the_same_in_their_order(names, listed):
    names = list(names)
    X = pd.DataFrame(np.arange(3.0 * len(names)).reshape(3, -1), columns=names)
    views = as_views([gs.Linear()], X)
    assert views.on(X).names == views.names
    views.on(X.to_numpy())  # which says nothing of names
    as_views([gs.Linear()], X.to_numpy()).on(X[names[::-1]])
    with pytest.raises(ValueError, match=rf"the columns \({re.escape(listed)}\) of X in their"):
        views.on(X[names[::-1]])
    with pytest.raises(
        ValueError, match=f"with the {len(names)} columns of X, got {len(names) - 1}"
    ):
        views.on(X[names[1:]])


@pytest.mark.parametrize(
    ("kernels", "X", "message"),
    [
        ([], golden.X, "empty list"),
        (None, (), "empty list"),
        ([gs.Linear()], (golden.X, golden.X), "one view per kernel"),
        (None, [np.triu(golden.K)], "symmetric"),
        (gs.Linear(), None, r"X for the kernel 'Linear\(\)', got None"),
    ],
)
def test_what_cannot_be_views(kernels, X, message):
    with pytest.raises(ValueError, match=message):
        as_views(kernels, X)
