"""Matrices from elsewhere: checks, repairs, centring and normalisation of test blocks."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KernelCenterer as SklearnCenterer
from sklearn.svm import SVC

import gramsmith as gs
from gramsmith.kernels import KernelCenterer, KernelNormalizer
from gramsmith.kernels.precomputed import asymmetry, rests_on_matrix
from tools.contract import scikit_learn_checks


@pytest.fixture
def odd(rng):
    A = rng.normal(size=(8, 8))
    return A + A.T


def test_a_good_matrix_passes_unchanged(rng):
    X = rng.normal(size=(6, 2))
    K = gs.Gaussian()(X)
    assert_allclose(gs.check_kernel_matrix(K), K)


def test_checks_name_what_they_found(odd, rng):
    low = np.linalg.eigvalsh(odd)[0]
    with pytest.warns(UserWarning, match=f"smallest eigenvalue {low:.6g}"):
        gs.check_kernel_matrix(odd)
    with pytest.raises(ValueError, match="NearestPSD"):
        gs.check_kernel_matrix(odd, psd="raise")
    assert_allclose(gs.check_kernel_matrix(odd, psd="ignore"), odd)
    with pytest.raises(ValueError, match="symmetric kernel matrix, got entries that differ by"):
        gs.check_kernel_matrix(rng.normal(size=(3, 3)))
    skew = np.array([[1.0, 0.2], [0.4, 1.0]])
    assert_allclose(gs.check_kernel_matrix(skew, symmetric="average"), [[1.0, 0.3], [0.3, 1.0]])
    for bad, message in (
        (np.ones((2, 3)), "square"),
        (np.ones(3), "2 axes"),
        (np.array([["a"]]), "numeric"),
        (np.array([[np.nan]]), "NaN"),
        (np.eye(2) * 1j, "complex"),
        (np.empty((0, 0)), "at least one sample"),
    ):
        with pytest.raises(ValueError, match=message):
            gs.check_kernel_matrix(bad)
    with pytest.raises(ValueError, match="psd"):
        gs.check_kernel_matrix(np.eye(2), psd="odd")
    with pytest.raises(TypeError, match=r"got a sparse one\. Use K\.toarray"):
        gs.check_kernel_matrix(sp.csr_array(np.eye(2)))


def test_single_precision_hides_no_negative_eigenvalue(rng):
    X = rng.normal(size=(300, 2))
    K = gs.Gaussian(3.0)(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gs.check_kernel_matrix(K.astype(np.float32))
    v = rng.normal(size=300)
    v /= np.linalg.norm(v)
    odd = (K - 2e-3 * np.linalg.norm(K, 2) * np.outer(v, v)).astype(np.float32)
    with pytest.warns(UserWarning, match="smallest eigenvalue"):
        gs.check_kernel_matrix(odd)


def test_asymmetry_is_found_in_any_block(rng):
    X = rng.normal(size=(700, 2))
    K = gs.Gaussian()(X)
    assert asymmetry(K) == 0.0
    for i, j in ((0, 1), (699, 3), (300, 640), (699, 698)):
        A = K.copy()
        A[i, j] += 0.25
        assert asymmetry(A) == pytest.approx(0.25)
        with pytest.raises(ValueError, match=r"symmetric kernel matrix, got .* differ by 0\.25"):
            gs.check_kernel_matrix(A)


def test_a_matrix_that_is_not_symmetric_is_no_gram_matrix(rng):
    X = rng.normal(size=(20, 2))
    y = np.arange(20) % 2
    A = gs.Gaussian()(X)
    A[0, 1] = 5.0
    wrong = "symmetric kernel matrix, got entries that differ"
    for kernel in ("precomputed", gs.Normalized(gs.Precomputed()), gs.Precomputed() + 1.0):
        with pytest.raises(ValueError, match=wrong):
            gs.Gram(kernel, A)
    with pytest.raises(ValueError, match=wrong):
        gs.evaluate({"a": "precomputed"}, A, y)
    A[0, 1] = A[1, 0] * (1 + 1e-12)  # rounding is no fault
    assert gs.Gram("precomputed", A).n == 20


@pytest.mark.parametrize("method", ["clip", "flip", "shift"])
def test_repairs(method, odd):
    values, vectors = np.linalg.eigh(odd)
    expected = {
        "clip": np.maximum(values, 0),
        "flip": np.abs(values),
        "shift": values - values[0],
    }[method]
    repaired = gs.nearest_psd(odd, method)
    assert_allclose(repaired, (vectors * expected) @ vectors.T, atol=1e-12)
    assert (repaired == repaired.T).all()
    assert np.linalg.eigvalsh(repaired)[0] > -1e-10
    with pytest.raises(ValueError, match="method"):
        gs.nearest_psd(odd, "odd")


def test_centring_new_blocks_with_training_means(rng):
    X, Z = rng.normal(size=(12, 3)), rng.normal(size=(5, 3))
    centred = X - X.mean(axis=0), Z - X.mean(axis=0)
    tool = KernelCenterer().fit(X @ X.T)
    assert_allclose(tool.transform(X @ X.T), centred[0] @ centred[0].T, atol=1e-12)
    assert_allclose(tool.transform(Z @ X.T), centred[1] @ centred[0].T, atol=1e-12)


def test_normalising_new_blocks(rng):
    X, Z = rng.normal(size=(12, 3)), rng.normal(size=(5, 3))
    X[3] = 0.0
    kernel = gs.Normalized(gs.Linear())
    tool = KernelNormalizer().fit(X @ X.T)
    assert_allclose(tool.transform(X @ X.T), kernel(X), atol=1e-12)
    block = tool.transform(Z @ X.T, diagonal=np.sum(Z**2, axis=1))
    assert_allclose(block, kernel(Z, X), atol=1e-12)
    with pytest.raises(ValueError, match="diagonal="):
        tool.transform(Z @ X.T)
    # as many new samples as there were in training are still new
    with pytest.raises(ValueError, match=r"not the one seen in fit\. Pass diagonal="):
        tool.transform(rng.normal(size=(12, 3)) @ X.T)
    with pytest.raises(ValueError, match="diagonal >= 0"):
        KernelNormalizer().fit(-np.eye(3))


def test_cross_validation_slices_both_axes(rng):
    X = rng.normal(size=(40, 3))
    y = X[:, 0] > 0
    pipe = make_pipeline(KernelCenterer(), SVC(kernel="precomputed"))
    assert cross_val_score(pipe, X @ X.T, y, cv=4).mean() > 0.8


def test_centring_keeps_the_digits_of_single_precision(rng):
    X = rng.normal(size=(2000, 2))
    K = gs.Gaussian(30.0)(X).astype(np.float32)  # all entries near 1
    exact = SklearnCenterer().fit_transform(K.astype(np.float64))
    ours, theirs = KernelCenterer().fit_transform(K), SklearnCenterer().fit_transform(K.copy())
    error = [np.abs(C - exact).max() for C in (ours, theirs)]
    assert error[0] < 1e-3 * error[1]
    assert_allclose(KernelCenterer().fit_transform(K.astype(np.float64)), exact, atol=1e-14)


@scikit_learn_checks([KernelCenterer()])
def test_centerer_is_an_estimator(estimator, check):
    check(estimator)


def test_normalizer_in_a_pipeline_of_training_matrices(rng):
    X = rng.normal(size=(10, 2))
    K = KernelNormalizer().fit_transform(X @ X.T)
    assert_allclose(np.diagonal(K), 1.0)


def test_as_a_kernel(rng):
    X = rng.normal(size=(20, 2))
    K = gs.Gaussian()(X)
    G = gs.Gram("precomputed", K)
    assert_allclose(G.toarray(), K)
    assert_allclose(G.block(np.array([3, 1]), np.array([5, 2, 9])), K[[3, 1]][:, [5, 2, 9]])
    assert_allclose(gs.Precomputed().diag(K), 1.0)
    assert gs.Precomputed()(K, eval_gradient=True)[1].shape == (20, 20, 0)
    assert_allclose(gs.Gram(gs.Precomputed() + gs.Precomputed(), K).toarray(), 2 * K)


def test_what_rests_on_a_matrix():
    assert rests_on_matrix(2.0 * (gs.Gaussian() + gs.Precomputed()))
    assert not rests_on_matrix(2.0 * (gs.Gaussian() + gs.Linear()))
