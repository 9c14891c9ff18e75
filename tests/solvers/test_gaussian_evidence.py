"""Sparse Bayesian regression: monotone, right, sparse."""

import numpy as np
import pytest

import textbook_learning as textbook
from gramsmith.solvers import fit_gaussian_evidence
from gramsmith.solvers.evidence import Basis
from gramsmith.solvers.gaussian_evidence import GaussianModel


def regression(rng, n=40):
    x = np.sort(rng.uniform(-5, 5, size=n))
    Phi = np.exp(-(np.subtract.outer(x, x) ** 2) / 2)
    return Phi, np.sinc(x / 2) + 0.1 * rng.normal(size=n)


def whole(model, post):
    """The log evidence of a state by the dense definition."""
    alpha = np.full(model.basis.Phi.shape[1], np.inf)
    alpha[post.active] = post.alpha
    return textbook.rvm_log_evidence(model.basis.Phi, model.t, alpha, model.beta)


def test_evidence_is_monotone_and_right(rng):
    Phi, t = regression(rng)
    found = fit_gaussian_evidence(Phi, t)
    assert found.converged
    assert np.diff(found.history).min() > 0
    alpha = np.full(Phi.shape[1], np.inf)
    alpha[found.active] = found.alpha
    slow = textbook.rvm_log_evidence(Phi, t, alpha, found.beta)
    assert found.log_evidence == pytest.approx(slow, abs=1e-6)
    # Stationary in the noise: N - Σγ = β|t - Φμ|².
    gamma = 1 - found.alpha * found.covariance.diagonal()
    residual = t - Phi[:, found.active] @ found.mean
    assert found.beta * residual @ residual == pytest.approx(len(t) - gamma.sum(), rel=1e-2)


def test_noise_update_never_lowers_the_evidence(rng):
    Phi, t = regression(rng)
    model = GaussianModel(Basis(Phi, np.ones(len(t))), t)
    for beta in (1e-3, 1.0, 1e4):
        model.beta = beta
        post = model.posterior([5, 15, 25], np.array([1.0, 2.0, 3.0]))
        before = model.log_evidence(post)
        assert before == pytest.approx(whole(model, post), abs=1e-6)
        model.update_noise(post)
        assert model.log_evidence(post) >= before


def test_constant_zero_and_equal_columns():
    rng = np.random.default_rng(3)
    x = rng.normal(size=60)
    Phi = np.column_stack([x, x, np.zeros(60), rng.normal(size=60)])
    found = fit_gaussian_evidence(Phi, 2 * x + 0.1 * rng.normal(size=60))
    assert len(found.active) == 1
    assert found.active[0] in (0, 1)


def test_targets_without_noise_or_without_anything():
    x = np.linspace(-1, 1, 30)
    Phi = np.exp(-(np.subtract.outer(x, x) ** 2))
    exact = fit_gaussian_evidence(Phi, Phi[:, 4])
    np.testing.assert_allclose(Phi[:, exact.active] @ exact.mean, Phi[:, 4], atol=1e-3)
    nothing = fit_gaussian_evidence(Phi, np.zeros(30))
    assert nothing.converged
    assert len(nothing.active) == 0


def test_weights_are_repetition(rng):
    Phi, t = regression(rng)
    w = rng.integers(1, 4, size=len(t))
    rows = np.repeat(np.arange(len(t)), w)
    weighted = fit_gaussian_evidence(Phi, t, sample_weight=w)
    repeated = fit_gaussian_evidence(Phi[rows], t[rows])
    np.testing.assert_array_equal(weighted.active, repeated.active)
    np.testing.assert_allclose(weighted.mean, repeated.mean, rtol=1e-4, atol=1e-8)


def test_too_few_actions_are_reported(rng):
    Phi, t = regression(rng)
    found = fit_gaussian_evidence(Phi, t, max_iter=2)
    assert found.status == "max_iter"
    assert "max_iter" in found.advice
