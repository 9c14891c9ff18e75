"""Relevance vector machines: sparse, right about the noise, honest about uncertainty."""

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import multivariate_normal

import gramsmith as gs
from tools.machine_zoo import points


def sinc(seed, n=100):
    x = np.linspace(-10, 10, n)[:, None]
    return x, np.sinc(x / np.pi).ravel() + 0.1 * np.random.default_rng(seed).normal(size=n)


@pytest.mark.parametrize("seed", range(5))
def test_sinc(seed):
    x, y = sinc(seed)
    machine = gs.RelevanceVectorRegressor(gs.Gaussian(2.5)).fit(x, y)
    assert len(machine.relevance_indices_) < 12
    assert np.sqrt(machine.noise_variance_) == pytest.approx(0.1, rel=0.2)
    assert np.diff(machine.history_).min() > 0
    truth = np.sinc(x / np.pi).ravel()
    assert np.sqrt(np.mean((machine.predict(x) - truth) ** 2)) < 0.05


def test_predictive_deviation():
    x, y = sinc(1)
    machine = gs.RelevanceVectorRegressor(gs.Gaussian(2.5)).fit(x, y)
    mean, std = machine.predict(x, return_std=True)
    np.testing.assert_allclose(mean, machine.predict(x))
    # Bayesian linear regression on the chosen columns, by the dense formulas.
    index, beta = machine.relevance_indices_, 1 / machine.noise_variance_
    Phi = gs.Gaussian(2.5)(x, x[index])
    assert machine.covariance_.shape == (1, len(index) + 1, len(index) + 1)
    S = machine.covariance_[0]
    P = np.column_stack([np.ones(100), Phi])
    np.testing.assert_allclose(std**2, 1 / beta + np.einsum("ij,jk,ik->i", P, S, P))
    if not S[0].any():
        H = beta * Phi.T @ Phi + np.diag(machine.precisions_[:, 0])
        np.testing.assert_allclose(S[1:, 1:], np.linalg.inv(H), rtol=1e-4)
    inside = np.abs(y - mean) < 2 * std
    assert 0.88 < inside.mean() <= 1.0


def test_targets_without_noise():
    x = np.linspace(-3, 3, 50)[:, None]
    machine = gs.RelevanceVectorRegressor(gs.Gaussian(1.0)).fit(x, np.sin(x).ravel())
    np.testing.assert_allclose(machine.predict(x), np.sin(x).ravel(), atol=5e-3)
    assert machine.noise_variance_ < 1e-5


def test_classes_and_their_probabilities(rng):
    x = rng.uniform(-3, 3, size=(1500, 1))
    p = expit(3 * np.sin(x[:, 0]))
    y = (rng.random(1500) < p).astype(int)
    machine = gs.RelevanceVectorClassifier(gs.Gaussian(1.0)).fit(x[:400], y[:400])
    assert len(machine.relevance_indices_) < 12
    found = machine.predict_proba(x[400:])[:, 1]
    assert np.mean(np.abs(found - p[400:])) < 0.06


def test_uncertainty_moderates_probabilities():
    X, y = points(80)
    machine = gs.RelevanceVectorClassifier(gs.Gaussian(1.5)).fit(X, y)
    raw = machine._expand(X)[:, 0]
    moderated = machine.decision_function(X)
    np.testing.assert_array_equal(np.sign(raw), np.sign(moderated))
    assert np.all(np.abs(moderated) <= np.abs(raw))


def test_classifier_is_the_mode_on_its_columns():
    X, y = points(80)
    machine = gs.RelevanceVectorClassifier(gs.Gaussian(1.5), fit_intercept=False).fit(X, y)
    Phi = gs.Gaussian(1.5)(X, machine.support_samples_)
    w, alpha = machine.coefficients_[:, 0], machine.precisions_[:, 0]
    np.testing.assert_allclose(Phi.T @ (y - expit(Phi @ w)), alpha * w, atol=1e-3)


def test_labels_without_pattern_give_the_prior(rng):
    X, y = rng.normal(size=(100, 2)), np.repeat([0, 1], [30, 70])
    machine = gs.RelevanceVectorClassifier(gs.Gaussian(0.3)).fit(X, rng.permutation(y))
    far = machine.predict_proba(np.full((1, 2), 50.0))[0]
    assert far.sum() == pytest.approx(1.0)
    assert 0.3 < far[1] < 0.9


def test_several_classes_share_their_vectors():
    X, y = points(150, classes=3)
    machine = gs.RelevanceVectorClassifier(gs.Gaussian(1.5)).fit(X, y)
    s = len(machine.relevance_indices_)
    assert machine.coefficients_.shape == (s, 3)
    assert machine.covariance_.shape == (3, s + 1, s + 1)
    assert machine.score(X, y) > 0.7


@pytest.mark.parametrize("unit", [1e-9, 1e-3, 1e4, 1e9])
def test_the_unit_and_the_offset_of_the_values_do_not_matter(unit):
    x, y = sinc(2)
    one = gs.RelevanceVectorRegressor(gs.Gaussian(2.5)).fit(x, y)
    other = gs.RelevanceVectorRegressor(gs.Gaussian(2.5)).fit(x, unit * (y + 1e3))
    np.testing.assert_array_equal(one.relevance_indices_, other.relevance_indices_)
    np.testing.assert_allclose(other.predict(x) / unit - 1e3, one.predict(x), rtol=1e-5, atol=1e-5)
    assert other.noise_variance_ == pytest.approx(unit**2 * one.noise_variance_, rel=1e-5)
    shift = len(y) * np.log(unit)
    assert other.log_evidence_ == pytest.approx(one.log_evidence_ - shift, rel=1e-6)


def test_evidence_of_weighted_rows_is_a_density(rng):
    """Against N(y; 0, C), C with noise 1 / (β w_i) on its diagonal."""
    X = rng.normal(size=(30, 1))
    y, w = np.sin(X[:, 0]) + 0.1 * rng.normal(size=30), rng.uniform(0.2, 3.0, size=30)
    kernel = gs.Gaussian(1.0)
    machine = gs.RelevanceVectorRegressor(kernel, fit_intercept=False)
    machine.fit(X, y, sample_weight=w)
    w = w / w.mean()
    Phi = kernel(X, X[machine.relevance_indices_])
    C = np.diag(machine.noise_variance_ / w) + (Phi / machine.precisions_[:, 0]) @ Phi.T
    known = multivariate_normal(np.zeros(30), C).logpdf(y)
    assert machine.log_evidence_ == pytest.approx(known, abs=1e-4)
    assert machine.history_[-1] == pytest.approx(known, abs=1e-4)
