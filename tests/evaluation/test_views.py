"""Views: kernels of every sort see the samples in the order of the folds."""

import numpy as np
import pytest
import scipy.sparse as sp

import gramsmith as gs
from gramsmith.evaluation.views import name_kernels, take_views


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
    _, views = name_kernels(kernels, X)
    taken = take_views(views, np.arange(40)[::-1])
    assert all(view is taken[0] for view in taken)
    assert len(gs.Gram(kernels, taken)._members) == 1


def test_objects_frames_and_lists_are_put_in_order(problem):
    _, y = problem
    words = ["aab", "abb"] * 20
    table = gs.evaluate({"k": gs.Spectrum(2)}, words, y, measures=["cka"])
    assert table["k", "cka"].value == pytest.approx(gs.cka(gs.Gram(gs.Spectrum(2), words), y))
