"""Sparse Bayesian classification: the Laplace approximation, separable classes."""

import numpy as np

from gramsmith.solvers import fit_bernoulli_evidence
from gramsmith.solvers.bernoulli_evidence import laplace
from gramsmith.solvers.evidence import Basis


def regression(rng, n=40):
    x = np.sort(rng.uniform(-5, 5, size=n))
    Phi = np.exp(-(np.subtract.outer(x, x) ** 2) / 2)
    return Phi, np.sinc(x / 2) + 0.1 * rng.normal(size=n)


def test_laplace_mode_and_statistics(rng):
    Phi, t = regression(rng)
    y, w = (t > 0.1).astype(float), np.ones(len(t))
    basis = Basis(Phi, w)
    alpha = np.array([0.5, 1.0])
    post, B, _ = laplace(basis, y, [4, 22], alpha, np.zeros(2))
    X = basis.Phi[:, [4, 22]]
    p = 1 / (1 + np.exp(-X @ post.mean))
    np.testing.assert_allclose(X.T @ (y - p), alpha * post.mean, atol=1e-5)
    np.testing.assert_allclose(B, p * (1 - p))
    C = np.diag(1 / B) + X @ np.diag(1 / alpha) @ X.T
    S = np.einsum("ij,ij->j", basis.Phi, np.linalg.solve(C, basis.Phi))
    Q = basis.Phi.T @ np.linalg.solve(C, X @ post.mean + (y - p) / B)
    np.testing.assert_allclose(post.S, S, atol=1e-8)
    np.testing.assert_allclose(post.Q, Q, atol=1e-5)


def test_separable_classes_stay_finite():
    x = np.concatenate([np.linspace(-3, -1, 20), np.linspace(1, 3, 20)])
    Phi = np.exp(-(np.subtract.outer(x, x) ** 2) / 2)
    found = fit_bernoulli_evidence(Phi, (x > 0).astype(float))
    assert np.isfinite(found.mean).all()
    assert np.isfinite(found.covariance).all()
    np.testing.assert_array_equal(Phi[:, found.active] @ found.mean > 0, x > 0)


def test_weights_are_repetition(rng):
    Phi, t = regression(rng)
    y, w = (t > 0.2).astype(float), rng.integers(1, 4, size=len(t))
    rows = np.repeat(np.arange(len(t)), w)
    weighted = fit_bernoulli_evidence(Phi, y, sample_weight=w)
    repeated = fit_bernoulli_evidence(Phi[rows], y[rows])
    np.testing.assert_array_equal(weighted.active, repeated.active)
    np.testing.assert_allclose(weighted.mean, repeated.mean, rtol=1e-4, atol=1e-8)


def test_too_few_approximations_are_reported(rng):
    Phi, t = regression(rng)
    few = fit_bernoulli_evidence(Phi, (t > 0.1).astype(float), max_iter=1, inner=1)
    assert few.status == "max_iter"
    assert "max_iter" in few.advice
