"""Sparse Bayesian learning against the evidence itself: action by action, values and classes."""

import numpy as np
import pytest

import textbook_learning as textbook
from gramsmith.solvers import evidence, fit_bernoulli_evidence, fit_gaussian_evidence
from gramsmith.solvers.evidence import Basis, GaussianModel, laplace


def regression(rng, n=40):
    x = np.sort(rng.uniform(-5, 5, size=n))
    Phi = np.exp(-(np.subtract.outer(x, x) ** 2) / 2)
    return Phi, np.sinc(x / 2) + 0.1 * rng.normal(size=n)


def whole(model, post):
    """The log evidence of a state by the dense definition."""
    alpha = np.full(model.basis.Phi.shape[1], np.inf)
    alpha[post.active] = post.alpha
    return textbook.rvm_log_evidence(model.basis.Phi, model.t, alpha, model.beta)


def test_gains_and_rank_one_updates_are_exact(seed):
    rng = np.random.default_rng(seed)  # threads that share one would draw other steps
    Phi, t = regression(rng)
    model = GaussianModel(Basis(Phi, np.ones(len(t))), t)
    post = model.posterior([], np.empty(0))
    kinds = set()
    for step in range(40):
        best, gain = post.actions()
        # The largest gains first, then any action at all, so that deletions come up too.
        i = int(np.argmax(gain)) if step % 3 else int(rng.choice(np.flatnonzero(gain > 1e-9)))
        kinds.add(
            "add" if i not in post.active else "delete" if np.isinf(best[i]) else "reestimate"
        )
        before = whole(model, post)
        post.act(i, float(best[i]), model.column)
        assert whole(model, post) - before == pytest.approx(gain[i] / 2, rel=1e-5, abs=1e-7)
        afresh = model.posterior(post.active, post.alpha)
        for name in ("S", "Q", "mean", "covariance"):
            scale = np.abs(getattr(afresh, name)).max()
            np.testing.assert_allclose(
                getattr(post, name), getattr(afresh, name), atol=1e-6 * scale, rtol=1e-5
            )
    assert kinds == {"add", "delete", "reestimate"}


def test_best_precision_is_the_maximum(rng):
    Phi, t = regression(rng)
    model = GaussianModel(Basis(Phi, np.ones(len(t))), t)
    post = model.posterior([3, 20], np.array([1.0, 5.0]))
    best, _ = post.actions()
    for k, i in enumerate(post.active):
        if np.isinf(best[i]):
            continue
        values = []
        for factor in (0.9, 1.0, 1.1):
            alpha = post.alpha.copy()
            alpha[k] = factor * best[i]
            values.append(whole(model, model.posterior(post.active, alpha)))
        assert values[1] > max(values[0], values[2])


def test_precisions_stay_within_their_limits():
    """A weight that should be free, and one that is barely wanted."""
    S, Q = np.ones(2), np.array([1e10, 1.0 + 1e-14])
    zero = np.empty(0)
    post = evidence.Posterior(S, Q, np.empty((2, 0)), [], zero, np.empty((0, 0)), zero)
    best, gain = post.actions()
    np.testing.assert_array_equal(best, [evidence.ALPHA_MIN, evidence.ALPHA_MAX])
    assert (gain >= 0).all()


# ---- regression -------------------------------------------------------------------------------


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


def test_weights_of_values_are_repetition(rng):
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


# ---- classification ---------------------------------------------------------------------------


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


def test_weights_of_classes_are_repetition(rng):
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
