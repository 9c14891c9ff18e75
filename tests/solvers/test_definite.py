"""Dense Cholesky factors: right, jittered when singular, refused when indefinite."""

import numpy as np
import pytest

from gramsmith.solvers.definite import Definite


def test_solution(rng):
    B = rng.normal(size=(30, 30))
    A, b = B @ B.T + np.eye(30), rng.normal(size=(30, 2))
    factor = Definite(A.copy())
    np.testing.assert_allclose(factor.solve(b), np.linalg.solve(A, b), atol=1e-9)
    assert factor.jitter == 0.0


def test_singular_matrix_gets_jitter():
    factor = Definite(np.ones((3, 3)))
    assert 0 < factor.jitter <= 1e-8
    np.testing.assert_allclose(np.ones((3, 3)) @ factor.solve(np.ones(3)), 1.0, rtol=1e-4)


def test_indefinite_matrix_is_refused_with_its_eigenvalue():
    with pytest.raises(ValueError, match=r"eigenvalue -1.*nearest_psd"):
        Definite(np.array([[0.0, 1.0], [1.0, 0.0]]))
