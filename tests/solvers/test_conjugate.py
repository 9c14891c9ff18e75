"""Conjugate gradients against dense algebra."""

import numpy as np
import pytest

from gramsmith.solvers import conjugate_gradients
from gramsmith.solvers.landmarks import inverse_root


def system(rng, n=120):
    X = rng.normal(size=(n, 3))
    K = np.exp(-((X[:, None] - X[None]) ** 2).sum(-1) / 4)
    return K, rng.uniform(0.01, 0.1, size=n), rng.normal(size=(n, 3))


def test_solution(rng):
    K, r, Y = system(rng)
    found = conjugate_gradients(lambda V: K @ V, r, Y, tol=1e-11)
    assert found.converged
    np.testing.assert_allclose(found.c, np.linalg.solve(K + np.diag(r), Y), atol=1e-7)


def test_landmarks_precondition(rng):
    K, r, Y = system(rng)
    S = rng.permutation(120)[:40]
    Z = K[:, S] @ inverse_root(K[np.ix_(S, S)])
    plain = conjugate_gradients(lambda V: K @ V, r, Y)
    helped = conjugate_gradients(lambda V: K @ V, r, Y, features=Z)
    assert helped.n_iter < plain.n_iter / 2
    np.testing.assert_allclose(helped.c, plain.c, atol=1e-4)


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
