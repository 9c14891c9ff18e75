"""The oracle's optimisers against optimality conditions, closed forms and finite differences."""

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge

from oracle import golden
from oracle import textbook as tb

X, y, K = golden.X, golden.y, golden.K
rng = np.random.default_rng(0)


def test_alignf_satisfies_the_optimality_conditions():
    kernels = [np.exp(-gamma * tb.squared_distances(X)) for gamma in (0.05, 0.5, 2, 8)]
    mu, attained = tb.alignf(kernels, y)
    M = np.array([[tb.inner(tb.centred(A), tb.centred(B)) for B in kernels] for A in kernels])
    a = np.array([tb.inner(tb.centred(A), np.outer(y, y)) for A in kernels])
    v = mu * (mu @ a) / (mu @ M @ mu)
    assert np.all(M @ v - a >= -1e-9 * np.abs(a).max())
    np.testing.assert_allclose(v * (M @ v - a), 0, atol=1e-9)
    assert attained == pytest.approx(np.sqrt(a @ v) / tb.norm(tb.centred(np.outer(y, y))))


def test_inductive_blocks_are_the_published_ones():
    train, test = np.arange(8), np.arange(8, 12)
    G, kept = tb.inductive_blocks(K, train, y[:8], 0.1)
    values, V = np.linalg.eigh(K[:8, :8])
    D, V = values[-kept:], V[:, -kept:]
    alpha = np.diag((V.T @ y[:8]) ** 2)
    cross = V @ alpha @ np.diag(1 / D) @ V.T @ K[np.ix_(train, test)]
    corner = K[np.ix_(test, train)] @ V @ alpha @ np.diag(D**-2.0) @ V.T @ K[np.ix_(train, test)]
    np.testing.assert_allclose(G[:8, :8], V @ alpha @ V.T, atol=1e-12)
    np.testing.assert_allclose(G[:8, 8:], cross, atol=1e-12)
    np.testing.assert_allclose(G[8:, 8:], corner, atol=1e-12)


def test_exact_transductive_weights_beat_the_diagonal_rule():
    train, z = np.arange(8), y[:8].astype(float)
    aligned = {}
    for rule in ("diagonal", "exact"):
        alpha, V = tb.transductive_weights(K, z, train, rule)
        R = V[train]
        aligned[rule] = tb.kta(R @ np.diag(alpha) @ R.T, np.outer(z, z))
        assert np.all(alpha >= 0)
    assert aligned["exact"] > aligned["diagonal"]
    everywhere = [tb.transductive_weights(K, y, np.arange(12), rule)[0] for rule in aligned]
    np.testing.assert_allclose(*everywhere, atol=1e-8)


def test_l2_svm_optimality():
    a, bias, _ = tb.l2_svm(K, y, 10)
    f = tb.l2_svm_decision(K, y, a, bias)
    on = a > 1e-8 * a.max()
    np.testing.assert_allclose((y * f)[on], 1 - a[on] / 10, atol=1e-5)
    assert np.all((y * f)[~on] >= 1 - 1e-5)
    assert y @ a == pytest.approx(0, abs=1e-8)


def test_ball_of_a_kernel_without_constant_diagonal():
    points = np.array([[0.0], [4.0], [1.0]])
    b, r2 = tb.enclosing_ball(points @ points.T + 1e-9 * np.eye(3))
    assert r2 == pytest.approx(4.0, abs=1e-6)
    np.testing.assert_allclose(b, [0.5, 0.5, 0], atol=1e-6)


def test_radius_margin_gradient():
    G, dC = tb.d_radius_margin(K, y, 10)
    direction = rng.normal(size=(12, 12))
    direction = direction + direction.T
    h = 1e-4

    def value(K, C=10):
        return tb.radius_margin(K, y, C)["rmb"]

    numeric = (value(K + h * direction) - value(K - h * direction)) / (2 * h)
    assert tb.inner(G, direction) == pytest.approx(numeric, rel=1e-4)
    assert dC == pytest.approx((value(K, 10.1) - value(K, 9.9)) / 0.2, rel=1e-3)


def test_rvm_evidence_has_the_published_slopes():
    Phi, t, beta = K[:, :4], golden.yr, 3.0
    alpha = np.array([0.5, 1.0, 2.0, 4.0])
    Sigma = np.linalg.inv(np.diag(alpha) + beta * Phi.T @ Phi)
    mu = beta * Sigma @ Phi.T @ t
    gamma = 1 - alpha * np.diag(Sigma)

    def evidence(log_alpha, log_beta):
        return tb.rvm_log_evidence(Phi, t, np.exp(log_alpha), np.exp(log_beta))

    slopes = tb.finite_difference(lambda s: evidence(s, np.log(beta)), np.log(alpha))
    np.testing.assert_allclose(slopes, 0.5 * (1 - alpha * (mu**2 + np.diag(Sigma))), rtol=1e-5)
    slope = tb.finite_difference(lambda s: evidence(np.log(alpha), s), np.log(beta))
    residual = np.sum((t - Phi @ mu) ** 2)
    assert slope == pytest.approx(0.5 * (12 - beta * residual - gamma.sum()), rel=1e-5)
    without = tb.rvm_log_evidence(Phi[:, :3], t, alpha[:3], beta)
    assert tb.rvm_log_evidence(Phi, t, [*alpha[:3], np.inf], beta) == pytest.approx(without)


def test_logistic_minimum_is_stationary():
    a, bias, value = tb.fit_logistic(K, y, 0.1)
    p = 1 / (1 + np.exp(-(bias + K @ a)))
    y01 = (y + 1) / 2
    np.testing.assert_allclose(K @ a, K @ (y01 - p) / 0.1, atol=1e-5)
    assert np.sum(p - y01) == pytest.approx(0, abs=1e-6)
    assert value == tb.logistic_objective(K, y, a, bias, 0.1)


def test_import_vectors_lower_the_objective():
    chosen, history = tb.import_vectors(K, y, 0.1, 4)
    assert len(set(chosen)) == 4
    assert np.all(np.diff(history) < 0)
    assert history[-1] >= tb.fit_logistic(K, y, 0.1)[2]


@pytest.mark.parametrize("intercept", [False, True])
def test_ridge(intercept):
    c, bias = tb.ridge(K, golden.yr, 0.3, intercept)
    residual = golden.yr - bias - K @ c
    np.testing.assert_allclose(residual, 0.3 * c, atol=1e-12)
    if intercept:
        assert residual.sum() == pytest.approx(0, abs=1e-12)
    else:
        fitted = KernelRidge(alpha=0.3, kernel="precomputed").fit(K, golden.yr)
        np.testing.assert_allclose(c, fitted.dual_coef_)


@pytest.mark.parametrize("intercept", [False, True])
def test_leave_one_out_has_its_closed_form(intercept):
    P = np.linalg.inv(K + 0.3 * np.eye(12))
    if intercept:
        ones = np.ones(12)
        P = P - np.outer(P @ ones, ones @ P) / (ones @ P @ ones)
    closed = P @ golden.yr / np.diag(P)
    np.testing.assert_allclose(tb.ridge_leave_one_out(K, golden.yr, 0.3, intercept), closed)


def test_perceptron_separates():
    counts, converged = tb.perceptron(K, y)
    assert converged
    assert np.all(y * (K @ (counts * y)) > 0)
    assert not tb.perceptron(np.ones((12, 12)), y, passes=5)[1]
