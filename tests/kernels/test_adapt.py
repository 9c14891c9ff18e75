"""Kernels from elsewhere."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.gaussian_process.kernels import (
    DotProduct,
    ExpSineSquared,
    RationalQuadratic,
    WhiteKernel,
)
from sklearn.metrics.pairwise import rbf_kernel

import gramsmith as gs


def test_functions_of_matrices_and_of_pairs(rng):
    X, Z = rng.normal(size=(7, 3)), rng.normal(size=(5, 3))
    whole = gs.as_kernel(lambda A, B: A @ B.T)
    single = gs.as_kernel(lambda x, z: float(np.dot(x, z)))
    for kernel in (whole, single):
        assert_allclose(kernel(X, Z), X @ Z.T)
        assert_allclose(kernel.diag(X), np.sum(X**2, axis=1))
        assert_allclose(gs.Gram(kernel, X).toarray(), X @ X.T)
        assert not kernel.differentiable
    words = ["ab", "abc", "b"]
    common = gs.as_kernel(lambda s, t: len(set(s) & set(t)))
    assert_allclose(common(words), [[2, 2, 1], [2, 3, 1], [1, 1, 1]])
    assert gs.kta(gs.Gram(common, words), [0, 0, 1]) > 0


def test_functions_of_matrices_only(rng):
    X, y = rng.normal(size=(30, 4)), np.arange(30) % 2
    G = gs.Gram(rbf_kernel, X)  # refuses single rows
    assert_allclose(G.diagonal(), 1.0)
    assert gs.kta(G, y) == pytest.approx(gs.kta(rbf_kernel(X), y), rel=1e-12)
    sparse = gs.as_kernel(lambda A, B: A @ B.T)
    assert_allclose(sparse(sp.coo_array(X)), X @ X.T)
    assert_allclose(sparse.diag(sp.csr_array(X)), np.sum(X**2, axis=1))


def test_a_function_of_rows_may_return_a_matrix_by_chance(rng):
    Z = rng.normal(size=(5, 5))
    kernel = gs.as_kernel(lambda x, z: np.dot(x, z))
    assert_allclose(kernel(Z), Z @ Z.T)
    assert_allclose(kernel(Z, 2 * Z), 2 * Z @ Z.T)
    assert_allclose(kernel.diag(Z), np.sum(Z**2, axis=1))


def test_functions_of_tables(rng):
    pd = pytest.importorskip("pandas")
    X = rng.normal(size=(6, 2))
    for function in (lambda A, B: A @ B.T, lambda x, z: float(np.dot(x, z))):
        assert_allclose(gs.as_kernel(function)(pd.DataFrame(X, columns=["a", "b"])), X @ X.T)
    words = pd.DataFrame({"a": ["x", "y", "x"], "b": ["u", "u", "v"]})
    matches = gs.as_kernel(lambda s, t: float((s == t).sum()))
    assert_allclose(matches(words), [[2, 1, 1], [1, 2, 0], [1, 0, 2]])


def test_a_function_that_is_no_kernel_says_so(rng):
    X = rng.normal(size=(6, 2))
    with pytest.raises(TypeError, match=r"got neither. On matrices: .* On two samples: .*size 1"):
        gs.as_kernel(lambda x, z: x * z)(X)
    centred = gs.as_kernel(lambda A, B: (A - A.mean(axis=0)) @ (B - B.mean(axis=0)).T)
    with pytest.raises(ValueError, match="whatever the other rows are"):
        centred(X)


def test_nobody_knows_whether_a_function_is_positive_definite():
    assert not gs.as_kernel(lambda x, z: -float(x @ z)).positive_definite
    assert not (gs.as_kernel(rbf_kernel) + gs.Linear()).positive_definite


@pytest.mark.parametrize(
    "theirs",
    [RationalQuadratic(0.5, 2.0), ExpSineSquared(1.5, 2.0), DotProduct(0.5), DotProduct(0.0)],
)
def test_more_objects_of_scikit_learn(theirs, rng):
    X = rng.normal(size=(6, 1))
    assert_allclose(gs.as_kernel(theirs)(X), theirs(X), atol=1e-12)


def test_white_noise_lives_on_the_diagonal(rng):
    X = rng.normal(size=(30, 2))
    theirs = DotProduct(1.0) + WhiteKernel(0.7)
    ours = gs.as_kernel(theirs)
    assert_allclose(ours(X), theirs(X))
    assert_allclose(gs.Gram(ours, X).toarray(), theirs(X))
    assert_allclose(ours(X, X[:4]), theirs(X, X[:4]))


def test_gamma_from_the_data(rng):
    X = rng.normal(size=(20, 4)) * 3
    assert gs.as_kernel("rbf", X).length_scale == pytest.approx(np.sqrt(2.0))
    scale = gs.as_kernel("rbf", X, gamma="scale")
    assert 1 / (2 * scale.length_scale**2) == pytest.approx(1 / (4 * X.var()))
    with pytest.raises(ValueError, match="takes its gamma from the data"):
        gs.as_kernel("rbf")
    with pytest.raises(ValueError, match="gamma"):
        gs.as_kernel("rbf", X, gamma="odd")
    with pytest.raises(ValueError, match="gamma > 0"):
        gs.Gaussian.from_gamma(-1.0)
