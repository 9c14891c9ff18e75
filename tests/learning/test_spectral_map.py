import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

import golden
import gramsmith as gs
from gramsmith.learning import SpectralMap


def test_map_is_a_combination_of_kernel_functions(rng):
    coef = rng.normal(size=(12, 3))
    psi = SpectralMap(gs.Gaussian(1.0), golden.X, coef)
    np.testing.assert_allclose(psi(golden.X[:5]), golden.K[:5] @ coef)
    assert psi(golden.X[:0]).shape == (0, 3)


def test_long_inputs_go_in_blocks(rng):
    samples = rng.normal(size=(2100, 2))
    coef = rng.normal(size=(2100, 1))
    psi = SpectralMap(gs.Linear(), samples, coef)
    X = rng.normal(size=(4500, 2))
    np.testing.assert_allclose(psi(X), X @ samples.T @ coef, rtol=1e-9)


def test_aligned_kernels_clone():
    kernel = gs.Linear() @ SpectralMap(gs.Gaussian(1.0), golden.X, np.eye(12))
    np.testing.assert_array_equal(clone(kernel)(golden.X), kernel(golden.X))
    assert not kernel.differentiable
    assert not SpectralMap(gs.Spectrum(2), ["ab"], np.eye(1)).requires_vector_input


def test_dense_and_sparse_rows_go_together(rng):
    X = rng.normal(size=(12, 4)) * (rng.random((12, 4)) < 0.5)
    coef = rng.normal(size=(8, 3))
    dense = SpectralMap(gs.Gaussian(1.0), X[:8], coef)
    sparse = SpectralMap(gs.Gaussian(1.0), sp.csr_array(X[:8]), coef)
    for rows in (X, sp.csr_array(X)):
        np.testing.assert_allclose(dense(rows), dense(X), atol=1e-12)
        np.testing.assert_allclose(sparse(rows), dense(X), atol=1e-12)
