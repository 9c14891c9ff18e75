"""Conjugate gradients against dense algebra."""

import numpy as np
import pytest

from gramsmith.kernels.landmarks import inverse_root
from gramsmith.solvers import conjugate_gradients
from gramsmith.solvers.landmarks import LandmarkPreconditioner


def system(rng, n=120):
    X = rng.normal(size=(n, 3))
    K = np.exp(-((X[:, None] - X[None]) ** 2).sum(-1) / 4)
    return K, rng.uniform(0.01, 0.1, size=n), rng.normal(size=(n, 3))


def preconditioner(K, r, alphas, size=40):
    S = np.arange(0, len(K), len(K) // size)[:size]
    halves = (slice(0, 50), slice(50, len(K)))
    root = inverse_root(K[np.ix_(S, S)])
    return (
        LandmarkPreconditioner(root, lambda: [(h, K[h][:, S]) for h in halves], r, alphas),
        K[:, S] @ root,
    )


def test_landmarks_precondition(rng):
    K, r, Y = system(rng)
    inverse, _ = preconditioner(K, r, np.ones(3))
    plain = conjugate_gradients(lambda V: K @ V, r, Y)
    helped = conjugate_gradients(lambda V: K @ V, r, Y, precondition=inverse)
    assert helped.n_iter < plain.n_iter / 2
    np.testing.assert_allclose(helped.c, plain.c, atol=1e-4)


def test_preconditioner_is_the_inverse_of_its_features(rng):
    K, r, Y = system(rng)
    alphas = np.array([0.1, 1.0, 10.0])
    inverse, Z = preconditioner(K, r, alphas)
    dense = [np.linalg.inv(Z @ Z.T + alpha * np.diag(r)) for alpha in alphas]
    expected = np.column_stack([A @ y for A, y in zip(dense, Y.T, strict=True)])
    np.testing.assert_allclose(inverse(Y), expected, rtol=1e-6, atol=1e-7)
    diagonals = np.column_stack([A.diagonal() for A in dense])
    np.testing.assert_allclose(inverse.diagonal(), diagonals, rtol=1e-7)


def test_regularisers_side_by_side(rng):
    K, r, Y = system(rng)
    alphas = np.array([0.3, 1.0, 10.0])
    inverse, _ = preconditioner(K, r, alphas)
    found = conjugate_gradients(
        lambda V: K @ V, r, Y, alphas=alphas, precondition=inverse, tol=1e-11
    )
    for c, y, alpha in zip(found.c.T, Y.T, alphas, strict=True):
        np.testing.assert_allclose(c, np.linalg.solve(K + alpha * np.diag(r), y), atol=1e-7)


def test_rough_products_are_corrected(rng):
    K, r, Y = system(rng)
    inverse, _ = preconditioner(K, r, np.ones(3))
    K32 = K.astype(np.float32).astype(float)
    calls = {"rough": 0, "exact": 0}

    def counted(name, A):
        def product(V):
            calls[name] += 1
            return A @ V

        return product

    found = conjugate_gradients(
        counted("exact", K),
        r,
        Y,
        precondition=inverse,
        rough=counted("rough", K32),
        tol=1e-10,
    )
    assert found.converged
    assert calls["exact"] < calls["rough"]
    assert found.n_iter == sum(calls.values())
    np.testing.assert_allclose(found.c, np.linalg.solve(K + np.diag(r), Y), atol=1e-7)


def test_rough_products_that_are_no_good_are_left(rng):
    K, r, Y = system(rng)
    wrong = K + 0.5 * np.eye(len(K))
    found = conjugate_gradients(lambda V: K @ V, r, Y, rough=lambda V: wrong @ V, tol=1e-9)
    assert found.converged
    np.testing.assert_allclose(found.c, np.linalg.solve(K + np.diag(r), Y), atol=1e-5)


def test_too_few_products_are_reported(rng):
    K, r, Y = system(rng)
    found = conjugate_gradients(lambda V: K @ V, r, Y, max_iter=2)
    assert found.status == "max_iter"
    assert "landmarks" in found.advice
    assert found.residual > 1e-8


def test_zero_column_costs_nothing(rng):
    K, r, _ = system(rng)
    found = conjugate_gradients(lambda V: K @ V, r, np.zeros((120, 1)))
    assert found.n_iter == 0
    np.testing.assert_array_equal(found.c, 0.0)


def test_indefinite_system_is_refused():
    K = np.diag([1.0, -2.0])
    with pytest.raises(ValueError, match="negative curvature"):
        conjugate_gradients(lambda V: K @ V, np.full(2, 0.1), np.ones((2, 1)))
