"""Sparse Bayesian learning against the evidence itself: action by action, values and classes."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit
from scipy.stats import norm

from gramsmith.solvers import evidence, fit_bernoulli_evidence, fit_gaussian_evidence
from gramsmith.solvers.evidence import Basis, GaussianModel, distinct_columns, laplace
from oracle import learning as textbook


def regression(rng, n=40):
    x = np.sort(rng.uniform(-5, 5, size=n))
    Phi = np.exp(-(np.subtract.outer(x, x) ** 2) / 2)
    return Phi, np.sinc(x / 2) + 0.1 * rng.normal(size=n)


def whole(model, post):
    """The log evidence of a state by the dense definition."""
    alpha = np.full(model.basis.Phi.shape[1], np.inf)
    alpha[post.active] = post.alpha
    return textbook.rvm_log_evidence(model.basis.Phi, model.t, alpha, model.beta)


def test_gains_are_exact(seed):
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
        post = model.posterior(*post.moved(i, float(best[i])))
        assert whole(model, post) - before == pytest.approx(gain[i] / 2, rel=1e-5, abs=1e-7)
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
    post = evidence.Posterior(S, Q, [], zero, np.empty((0, 0)), zero)
    best, gain = post.actions()
    np.testing.assert_array_equal(best, [evidence.ALPHA_MIN, evidence.ALPHA_MAX])
    assert (gain >= 0).all()


@pytest.mark.parametrize(("excess", "kept"), [(1e-13, False), (1e-11, True)])
def test_a_weight_whose_precision_would_pass_the_limit_leaves_the_model(excess, kept):
    # s = 1/Σ - α = 1, so that the best precision is s²/(q² - s) = 1/excess
    q = np.sqrt(1.0 + excess)
    covariance, mean = np.array([[0.5]]), np.array([0.5 * q])
    post = evidence.Posterior(*np.ones((2, 1)), [0], np.ones(1), covariance, mean)
    (best,), (gain,) = post.actions()
    assert best == (pytest.approx(1.0 / excess, rel=0.01) if kept else np.inf)
    assert gain > 0


def test_equal_columns_are_known_by_their_first(rng):
    # in any order, and equal up to rounding, which decides their order on a line
    unit = np.linalg.qr(rng.normal(size=(30, 8)))[0]
    for _ in range(20):
        source = rng.integers(0, 8, size=40)
        Phi = unit[:, source] + 1e-13 * rng.uniform(-1.0, 1.0, size=(30, 40))
        expected = [j for j in range(40) if source[j] not in source[:j]]
        np.testing.assert_array_equal(distinct_columns(Phi), expected)


# ---- regression -------------------------------------------------------------------------------


def test_evidence_is_monotone_and_right(rng):
    Phi, t = regression(rng)
    found = fit_gaussian_evidence(Basis(Phi), t)
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


def wide(seed, n, noise, width):
    """Nearly equal basis functions, on which rank-one updates lose their digits."""
    rng = np.random.default_rng(seed)
    x = np.sort(rng.uniform(-10, 10, n))
    Phi = np.exp(-(np.subtract.outer(x, x) ** 2) / (2.0 * width**2))
    t = np.sinc(x / np.pi) + noise * rng.normal(size=n)
    return np.column_stack([np.ones(n), Phi]), t - t.mean()


@pytest.mark.parametrize(("seed", "noise"), [(4, 0.01), (5, 0.1), (6, 0.01)])
def test_history_never_falls_and_ends_with_the_evidence_of_the_model(seed, noise):
    Phi, t = wide(seed, 100, noise, 5.0)
    found = fit_gaussian_evidence(Basis(Phi), t)
    assert np.diff(found.history).min() >= 0
    assert found.history[-1] == found.log_evidence
    # The covariance of t is singular to working precision: by singular values, not as a matrix.
    U, d, _ = np.linalg.svd(Phi[:, found.active] / np.sqrt(found.alpha), full_matrices=False)
    along, grown = U.T @ t, 1.0 + found.beta * d**2
    square = found.beta * (np.sum((t - U @ along) ** 2) + np.sum(along**2 / grown))
    size = len(t) * np.log(2.0 * np.pi / found.beta) + np.log(grown).sum()
    assert found.log_evidence == pytest.approx(-0.5 * (size + square), abs=0.05)


def plain_em(Phi, t, rounds=2000):
    """Tipping's re-estimation of 2001, from all basis functions."""
    alpha, beta, kept = np.full(Phi.shape[1], 1e-2), 100.0 / np.var(t), np.arange(Phi.shape[1])
    for _ in range(rounds):
        P = Phi[:, kept]
        S = np.linalg.inv(beta * P.T @ P + np.diag(alpha[kept]))
        mu = beta * S @ P.T @ t
        free = 1.0 - alpha[kept] * S.diagonal()
        alpha[kept] = np.maximum(free, 1e-12) / np.maximum(mu**2, 1e-30)
        beta = (len(t) - free.sum()) / np.sum((t - P @ mu) ** 2)
        kept = kept[alpha[kept] < 1e9]
    other = np.full(Phi.shape[1], np.inf)
    other[kept] = alpha[kept]
    return textbook.rvm_log_evidence(Phi, t, other, beta)


@pytest.mark.parametrize(("n", "width", "seed"), [(20, 2.0, 0), (30, 2.0, 0), (30, 0.5, 1)])
def test_the_end_is_not_below_that_of_plain_re_estimation(n, width, seed):
    rng = np.random.default_rng(seed)
    x = np.sort(rng.uniform(-5, 5, n))
    Phi = np.exp(-(np.subtract.outer(x, x) ** 2) / (2.0 * width**2))
    t = np.sinc(x / 2) + 0.1 * rng.normal(size=n)
    Phi, t = np.column_stack([np.ones(n), Phi]), t - t.mean()
    assert fit_gaussian_evidence(Basis(Phi), t).log_evidence > plain_em(Phi, t) - 0.1


@pytest.mark.parametrize("seed", [4, 34])
def test_classes_end_with_the_best_model_on_the_way(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 2))
    Phi = np.exp(-((X[:, None] - X) ** 2).sum(axis=2) / (2.0 * 0.7**2))
    y = (X[:, 0] * X[:, 1] + 0.5 * rng.normal(size=60) > 0).astype(float)
    found = fit_bernoulli_evidence(Basis(np.column_stack([np.ones(60), Phi])), y)
    assert found.log_evidence == max(found.history) > found.history[-1]


def test_noise_update_never_lowers_the_evidence(rng):
    Phi, t = regression(rng)
    model = GaussianModel(Basis(Phi, np.ones(len(t))), t)
    for beta in (1e-3, 1.0, 1e4):
        model.beta = beta
        post = model.posterior([5, 15, 25], np.array([1.0, 2.0, 3.0]))
        before = model.log_evidence(post)
        assert before == pytest.approx(whole(model, post), abs=1e-6)
        post = model.update_noise(post)
        assert model.log_evidence(post) == pytest.approx(whole(model, post), abs=1e-6)
        assert model.log_evidence(post) >= before


def test_constant_zero_and_equal_columns():
    rng = np.random.default_rng(3)
    x = rng.normal(size=60)
    Phi = np.column_stack([x, x, np.zeros(60), rng.normal(size=60)])
    found = fit_gaussian_evidence(Basis(Phi), 2 * x + 0.1 * rng.normal(size=60))
    assert len(found.active) == 1
    assert found.active[0] in (0, 1)


def test_targets_without_noise_or_without_anything():
    x = np.linspace(-1, 1, 30)
    Phi = np.exp(-(np.subtract.outer(x, x) ** 2))
    exact = fit_gaussian_evidence(Basis(Phi), Phi[:, 4])
    np.testing.assert_allclose(Phi[:, exact.active] @ exact.mean, Phi[:, 4], atol=1e-3)
    nothing = fit_gaussian_evidence(Basis(Phi), np.zeros(30))
    assert nothing.converged
    assert len(nothing.active) == 0


def test_units_of_the_targets_are_those_of_the_model(rng):
    Phi, t = regression(rng)
    one, ten = fit_gaussian_evidence(Basis(Phi), t), fit_gaussian_evidence(Basis(Phi), 10.0 * t)
    np.testing.assert_array_equal(ten.active, one.active)
    np.testing.assert_allclose(ten.mean, 10.0 * one.mean, rtol=1e-5)
    np.testing.assert_allclose(ten.covariance, 100.0 * one.covariance, rtol=1e-5, atol=1e-8)
    np.testing.assert_allclose(ten.alpha, one.alpha / 100.0, rtol=1e-5)
    assert ten.beta == pytest.approx(one.beta / 100.0, rel=1e-5)
    assert ten.log_evidence == pytest.approx(one.log_evidence - len(t) * np.log(10.0), abs=1e-5)
    # and the covariance is that of the posterior: (βΦ'Φ + A)^-1
    X = Phi[:, ten.active]
    dense = np.linalg.inv(ten.beta * X.T @ X + np.diag(ten.alpha))
    np.testing.assert_allclose(ten.covariance, dense, rtol=1e-4, atol=1e-6 * np.abs(dense).max())


@pytest.mark.parametrize("solver", [fit_gaussian_evidence, fit_bernoulli_evidence])
def test_weights_are_repetition(rng, solver):
    Phi, t = regression(rng)
    t = t if solver is fit_gaussian_evidence else (t > 0.2).astype(float)
    w = rng.integers(1, 4, size=len(t))
    rows = np.repeat(np.arange(len(t)), w)
    weighted, repeated = solver(Basis(Phi, w), t), solver(Basis(Phi[rows]), t[rows])
    np.testing.assert_array_equal(weighted.active, repeated.active)
    np.testing.assert_allclose(weighted.mean, repeated.mean, rtol=1e-4, atol=1e-8)


def test_too_few_actions_are_reported(rng):
    Phi, t = regression(rng)
    found = fit_gaussian_evidence(Basis(Phi), t, max_iter=2)
    assert found.status == "max_iter"
    assert "max_iter" in found.advice


# ---- classification ---------------------------------------------------------------------------


def test_laplace_mode_and_statistics(rng):
    Phi, t = regression(rng)
    y, w = (t > 0.1).astype(float), np.ones(len(t))
    basis = Basis(Phi, w)
    alpha = np.array([0.5, 1.0])
    post, model, _ = laplace(basis, y, [4, 22], alpha, np.zeros(2))
    B = model.B
    X = basis.Phi[:, [4, 22]]
    p = 1 / (1 + np.exp(-X @ post.mean))
    np.testing.assert_allclose(X.T @ (y - p), alpha * post.mean, atol=1e-5)
    np.testing.assert_allclose(B, p * (1 - p))
    C = np.diag(1 / B) + X @ np.diag(1 / alpha) @ X.T
    S = np.einsum("ij,ij->j", basis.Phi, np.linalg.solve(C, basis.Phi))
    Q = basis.Phi.T @ np.linalg.solve(C, X @ post.mean + (y - p) / B)
    np.testing.assert_allclose(post.S, S, atol=1e-8)
    np.testing.assert_allclose(post.Q, Q, atol=1e-5)


@pytest.mark.parametrize("alpha", [[], [0.5], [0.5, 3.0, 20.0]])
def test_evidence_of_classes_is_laplaces(rng, alpha):
    """log p(y, μ) + m/2 log 2π - ½ log |H|, with H the Hessian of -log p(y, w) at its mode μ."""
    Phi, t = regression(rng)
    y, w = (t > 0.1).astype(float), rng.integers(1, 4, size=len(t)).astype(float)
    basis, active, alpha = Basis(Phi, w), [4, 22, 31][: len(alpha)], np.array(alpha)
    post, _, found = laplace(basis, y, active, alpha, np.zeros(len(alpha)))
    X = basis.Phi[:, active]

    def negative(mu):
        prior = norm(0.0, 1.0 / np.sqrt(alpha)).logpdf(mu).sum()
        return -w @ np.log(expit((2.0 * y - 1.0) * (X @ mu))) - prior

    mode = minimize(negative, np.zeros(len(alpha)), tol=1e-12).x if active else np.zeros(0)
    np.testing.assert_allclose(post.mean, mode, atol=1e-4)
    p = expit(X @ mode)
    H = X.T @ ((w * p * (1.0 - p))[:, None] * X) + np.diag(alpha)
    expected = 0.5 * len(alpha) * np.log(2.0 * np.pi) - 0.5 * np.linalg.slogdet(H)[1]
    assert found == pytest.approx(expected - negative(mode), abs=1e-6)


def test_separable_classes_stay_finite():
    x = np.concatenate([np.linspace(-3, -1, 20), np.linspace(1, 3, 20)])
    Phi = np.exp(-(np.subtract.outer(x, x) ** 2) / 2)
    found = fit_bernoulli_evidence(Basis(Phi), (x > 0).astype(float))
    assert np.isfinite(found.mean).all()
    assert np.isfinite(found.covariance).all()
    np.testing.assert_array_equal(Phi[:, found.active] @ found.mean > 0, x > 0)


def test_too_few_approximations_are_reported(rng):
    Phi, t = regression(rng)
    y = (t > 0.1).astype(float)
    few = fit_bernoulli_evidence(Basis(Phi), y, max_iter=1)
    assert few.status == "max_iter"
    assert few.n_iter == 1
    assert "max_iter" in few.advice
    none = fit_bernoulli_evidence(Basis(Phi), y, max_iter=0)
    assert (none.status, none.n_iter, len(none.active)) == ("max_iter", 0, 0)
    assert none.log_evidence == pytest.approx(-len(t) * np.log(2.0))  # even odds for all
