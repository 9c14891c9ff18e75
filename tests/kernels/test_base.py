"""What every kernel does when it is called."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.gaussian_process.kernels import WhiteKernel
from sklearn.svm import SVC

import gramsmith as gs
from gramsmith.kernels.base import symmetrised
from tools.registry import KERNELS, samples


@pytest.mark.parametrize("name", KERNELS)
def test_a_block_with_itself_is_the_gram_matrix(name, rng):
    kernel, _ = KERNELS[name]
    X = samples(kernel, rng, 40) + 3.0
    assert_array_equal(kernel(X, X), kernel(X))


def test_noise_is_no_part_of_two_equal_blocks(rng):
    X = rng.normal(size=(9, 2))
    noisy = gs.Gaussian() + gs.as_kernel(WhiteKernel(0.5))
    assert noisy.noisy
    assert not gs.Gaussian().noisy
    assert np.diagonal(noisy(X) - noisy(X, X)) == pytest.approx(0.5)


def test_support_vectors_do_not_depend_on_how_the_kernel_is_given(rng):
    X = rng.normal(size=(80, 3)) + 5.0
    y = (X[:, 0] * X[:, 1] > 25.0).astype(int)
    k = gs.Gaussian(1.5)
    given = SVC(kernel=k).fit(X, y).decision_function(X)
    matrix = SVC(kernel="precomputed").fit(k(X), y).decision_function(k(X))
    assert_array_equal(given, matrix)


@pytest.mark.parametrize("n", [1, 5, 128, 300])
def test_symmetrised_in_blocks(n, rng):
    A = rng.normal(size=(n, n))
    assert_array_equal(symmetrised(A.copy()), 0.5 * (A + A.T))


def test_values_are_finite_or_refused(rng):
    X = rng.normal(size=(10, 3))
    with np.errstate(all="ignore"):
        for call in (lambda k: k(100.0 * X), lambda k: k(100.0 * X, 100.0 * X[:4])):
            with pytest.raises(ValueError, match=r"got overflow in Exp.*StandardScaler"):
                call(gs.Exp(gs.Linear()))
            with pytest.raises(ValueError, match=r"got NaN in Normalized.*StandardScaler"):
                call(gs.Normalized(gs.Exp(gs.Linear())))
    assert gs.Linear()(1e153 * X).max() > 1e300  # the sum of these overflows, none of them does


def test_the_diagonal_checks_parameters_too(rng):
    with pytest.raises(ValueError, match="length_scale > 0, got -1"):
        gs.Gaussian(-1).diag(rng.normal(size=(4, 2)))
