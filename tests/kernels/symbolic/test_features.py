import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

import gramsmith as gs
from gramsmith.kernels.symbolic.base import count_matrix, product, squares


@pytest.fixture(params=[0.0, 0.02, 2.0])
def share(request, sizes):
    """Multiply all columns densely, some, none."""
    sizes("kernels.symbolic.base", DENSE_SHARE=request.param)


@pytest.mark.parametrize("bytes_at_once", [1 << 26, 100])
def test_product_is_the_matrix_product(rng, share, sizes, bytes_at_once):
    sizes("kernels.symbolic.base", DENSE_BYTES=bytes_at_once)
    density = np.linspace(0, 0.9, 25)
    A, B = (sp.csr_array((rng.random((n, 25)) < density) * 3.0) for n in (9, 14))
    assert_allclose(product(A, B), A.toarray() @ B.toarray().T)
    assert_allclose(product(A, A), A.toarray() @ A.toarray().T)
    assert_allclose(squares(A), (A.toarray() ** 2).sum(axis=1))


def test_product_of_nothing():
    empty = sp.csr_array((3, 0))
    assert product(empty, empty).tolist() == np.zeros((3, 3)).tolist()


def test_counted_adds_up_repetitions():
    got = count_matrix(np.array([0, 0, 1]), np.array([2, 2, 0]), (2, 3))
    assert got.toarray().tolist() == [[0, 0, 2], [1, 0, 0]]
    assert got.indices.dtype == np.int32


def test_formula_shows_what_differs_from_the_default():
    assert gs.Subsequence(4, decay=0.25).formula() == "Subsequence(length=4, decay=0.25)"
    assert gs.Spectrum().formula() == "Spectrum()"
    assert "..." in gs.AllSubsets(weights=dict.fromkeys(range(100), 0.5)).formula()


@pytest.mark.parametrize("learner", ["TransformLearner", "TwoGaussianLearner"])
@pytest.mark.parametrize("X", [["ab", "ba"], [{"a"}, {"b"}], np.array(["ab", "ba"])])
def test_learners_of_vectors_say_what_to_use_instead(learner, X):
    with pytest.raises(TypeError, match=f"{learner}: expected columns of numbers.*KernelLearner"):
        getattr(gs, learner)().fit(X, [0, 1])
