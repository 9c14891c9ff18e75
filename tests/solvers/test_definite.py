"""Factors of definite matrices, whole and of low rank."""

import numpy as np
import pytest

from gramsmith.solvers import pivoted_cholesky
from gramsmith.solvers.definite import Definite, clip_derivative, clip_negative


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


def test_clipped_matrix_and_its_coefficients(rng):
    K = rng.normal(size=(9, 9))
    K += K.T
    values, U = np.linalg.eigh(K)
    clipped, answering = clip_negative(K, quiet=True)
    np.testing.assert_allclose(clipped, (U * np.maximum(values, 0.0)) @ U.T, atol=1e-13)
    a = rng.normal(size=(9, 2))
    np.testing.assert_allclose(K @ answering(a), clipped @ a, atol=1e-12)
    definite = K @ K
    assert clip_negative(definite)[0] is definite


def test_a_small_matrix_is_not_refused_for_the_jitter_of_a_large_one():
    earlier = Definite(1e3 * np.ones((3, 3)))
    factor = Definite(1e-3 * np.eye(3), jitter=10.0 * earlier.jitter + 1e-10)
    np.testing.assert_allclose(factor.solve(np.ones(3)), 1e3, rtol=1e-3)


def test_indefinite_matrix_is_refused_with_its_eigenvalue():
    with pytest.raises(ValueError, match=r"eigenvalue -1.*nearest_psd"):
        Definite(np.array([[0.0, 1.0], [1.0, 0.0]]))


def gram(rng, n=80, p=2):
    X = rng.normal(size=(n, p))
    return np.exp(-((X[:, None] - X[None]) ** 2).sum(-1))


def test_factor_is_exact_on_its_pivots(rng):
    K = gram(rng)
    factor = pivoted_cholesky(lambda j: K[:, j], K.diagonal(), max_rank=10, tol=0.0)
    found = (factor.L @ factor.L.T)[:, factor.pivots]
    np.testing.assert_allclose(found, K[:, factor.pivots], atol=1e-15)
    np.testing.assert_allclose(np.triu(factor.L[factor.pivots], 1), 0.0)
    np.testing.assert_allclose(
        factor.residual, K.diagonal() - (factor.L**2).sum(axis=1), atol=1e-12
    )
    # The residual is a Schur complement, hence positive semidefinite.
    assert np.linalg.eigvalsh(K - factor.L @ factor.L.T)[0] > -1e-10
    assert factor.status == "max_rank"
    assert "max_rank" in factor.advice


def test_full_rank_reproduces_the_matrix(rng):
    K = gram(rng, n=90) + np.eye(90)
    factor = pivoted_cholesky(lambda j: K[:, j], K.diagonal(), tol=0.0)
    assert factor.rank == 90
    np.testing.assert_allclose(factor.L @ factor.L.T, K, atol=1e-10)


def test_only_the_pivot_columns_are_asked_for(rng):
    X = rng.normal(size=(5000, 2))
    seen = []

    def column(j):
        seen.append(j)
        return np.exp(-0.5 * ((X - X[j]) ** 2).sum(axis=1))

    factor = pivoted_cholesky(column, np.ones(5000), tol=1e-6)
    assert factor.converged
    assert seen == factor.pivots.tolist()
    assert factor.error <= 1e-6 * 5000
    assert factor.rank < 150


def test_rank_of_repeated_rows():
    X = np.repeat(np.arange(6.0).reshape(3, 2), 4, axis=0)
    K = X @ X.T
    factor = pivoted_cholesky(lambda j: K[:, j], K.diagonal(), tol=0.0)
    assert factor.rank == 2
    assert factor.converged


def test_weights_are_repetition_of_rows(rng):
    K, w = gram(rng, n=30), rng.integers(1, 4, size=30)
    i = np.repeat(np.arange(30), w)
    R = K[np.ix_(i, i)]
    weighted = pivoted_cholesky(lambda j: K[:, j], K.diagonal(), tol=1e-2, weights=w)
    repeated = pivoted_cholesky(lambda j: R[:, j], R.diagonal(), tol=1e-2)
    assert weighted.rank == repeated.rank < 30
    assert weighted.pivots.tolist() == i[repeated.pivots].tolist()
    np.testing.assert_allclose(np.repeat(weighted.L, w, axis=0), repeated.L, atol=1e-12)


def test_zero_matrix_has_rank_zero():
    factor = pivoted_cholesky(lambda j: np.zeros(4), np.zeros(4))
    assert factor.rank == 0
    assert factor.L.shape == (4, 0)


def test_bad_input():
    with pytest.raises(ValueError, match="nearest_psd"):
        pivoted_cholesky(lambda j: np.ones(2), [-1.0, 1.0])
    with pytest.raises(ValueError, match="max_rank"):
        pivoted_cholesky(lambda j: np.ones(2), [1.0, 1.0], max_rank=0)


def test_interruption_keeps_the_columns_so_far(rng):
    K = gram(rng)
    seen = []

    def column(j):
        if len(seen) == 5:
            raise KeyboardInterrupt
        seen.append(j)
        return K[:, j]

    factor = pivoted_cholesky(column, K.diagonal(), tol=0.0)
    assert factor.status == "interrupted"
    np.testing.assert_array_equal(factor.pivots, seen)
    np.testing.assert_allclose((factor.L @ factor.L.T)[:, seen], K[:, seen], atol=1e-15)
    with pytest.raises(KeyboardInterrupt):
        pivoted_cholesky(column, K.diagonal())


@pytest.mark.parametrize("scale", [1.0, 1e-6, 1e6, 1e-14, 1e14])
def test_derivative_through_the_clipping_of_eigenvalues(scale, rng):
    values = scale * np.array([3.0, 1.0, 1.0, 0.2, -0.5, -0.5, -2.0])  # some of them equal
    U = np.linalg.qr(rng.normal(size=(7, 7)))[0]
    K = (U * values) @ U.T
    dC, D = (A + A.T for A in rng.normal(size=(2, 7, 7)))

    def number(K):
        found, Q = np.linalg.eigh(K)
        return np.sum(dC * ((Q * np.maximum(found, 0.0)) @ Q.T))

    step = 1e-6 * scale
    slope = (number(K + step * D) - number(K - step * D)) / (2 * step)
    assert np.sum(clip_derivative(K, dC) * D) == pytest.approx(slope, rel=1e-6)
    definite = U @ np.diag(scale * np.arange(1.0, 8.0)) @ U.T
    np.testing.assert_allclose(clip_derivative(definite, dC), dC, atol=1e-12)
    np.testing.assert_allclose(clip_derivative(-definite, dC), 0.0, atol=1e-12)
