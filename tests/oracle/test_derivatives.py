"""Every derivative formula of the oracle against central differences, and the laws it must obey."""

import numpy as np
import pytest

from oracle import golden
from oracle import textbook as tb

X, y, lab, yr, K = golden.X, golden.y, golden.lab, golden.yr, golden.K
S = np.array([[0.7, 0.1], [-0.2, 0.5], [0.3, 0.4]])


def _alignment(projection, target):
    return (
        lambda K: tb.alignment(K, tb.as_target(K, target), projection),
        lambda K: tb.d_alignment(K, target, projection),
    )


UNEVEN = tb.target_matrix(y, "imbalanced")
# name: value, derivative, scale invariant, translation invariant
CASES = {
    "kta": (*_alignment("plain", y), True, False),
    "kta uneven": (*_alignment("plain", UNEVEN), True, False),
    "kta regression": (*_alignment("plain", yr), True, False),
    "off-diagonal": (*_alignment("off_diagonal", y), True, False),
    "cka": (*_alignment("centred", y), True, True),
    "cka 3 classes": (*_alignment("centred", lab), True, True),
    "debiased": (*_alignment("debiased", y), True, True),
    "polarity": (lambda K: tb.polarity(K, y), lambda K: tb.d_polarity(K, y), False, False),
    "hsic": (lambda K: tb.hsic(K, y), lambda K: tb.d_hsic(K, y), False, True),
    "hsic unbiased": (
        lambda K: tb.hsic(K, y, unbiased=True),
        lambda K: tb.d_hsic(K, y, unbiased=True),
        False,
        True,
    ),
    "mmd": (lambda K: tb.mmd(K, y), lambda K: tb.d_mmd(K, y), False, True),
    "fsm": (lambda K: tb.fsm(K, y), lambda K: tb.d_fsm(K, y), True, True),
    "fsm ddof 0": (lambda K: tb.fsm(K, y, 0), lambda K: tb.d_fsm(K, y, 0), True, True),
    "fsm bound": (
        lambda K: tb.fsm_error_bound(K, y),
        lambda K: tb.d_fsm_error_bound(K, y),
        True,
        True,
    ),
    "csm": (lambda K: tb.csm(K, y), lambda K: tb.d_csm_covariance(K, y), True, True),
    "csm c=2 ddof 0": (
        lambda K: tb.csm(K, y, ddof=0, c=2.0),
        lambda K: tb.d_csm_covariance(K, y, 0, 2.0),
        True,
        True,
    ),
    "csm scatter": (
        lambda K: tb.csm(K, lab, "scatter"),
        lambda K: tb.d_csm_scatter(K, lab),
        True,
        True,
    ),
    "csm regression": (
        lambda K: tb.csm_regression(K, yr),
        lambda K: tb.d_csm_regression(K, yr),
        True,
        True,
    ),
    "fsm regression": (
        lambda K: tb.fsm_regression(K, yr),
        lambda K: tb.d_fsm_regression(K, yr),
        True,
        True,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_formula_is_the_numerical_gradient(name):
    value, derivative, *_ = CASES[name]
    np.testing.assert_allclose(derivative(K), tb.numerical_gradient(value, K), rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("name", CASES)
def test_gradient_laws(name):
    _, derivative, scale, translation = CASES[name]
    G = derivative(K)
    np.testing.assert_allclose(G, G.T, atol=1e-15)
    assert (abs(tb.inner(G, K)) < 1e-12) == scale
    assert (np.max(np.abs(G.sum(axis=1))) < 1e-12) == translation


def test_leave_one_out_gradient_obeys_both_laws():
    G = tb.numerical_gradient(lambda K: tb.fsm_loo(K, y), K)
    assert tb.inner(G, K) == pytest.approx(0, abs=1e-7)
    np.testing.assert_allclose(G.sum(axis=1), 0, atol=1e-7)


@pytest.mark.parametrize("name", ["kta", "cka", "debiased", "fsm", "csm"])
def test_chain_rules(name):
    value, derivative, *_ = CASES[name]
    G = derivative(tb.gaussian_of_transform(X, S))
    numeric = tb.finite_difference(lambda S: value(tb.gaussian_of_transform(X, S)), S)
    np.testing.assert_allclose(tb.d_transform(X, S, G), numeric, rtol=1e-5, atol=1e-8)
    numeric = tb.finite_difference(lambda X: value(tb.gaussian_of_transform(X, S)), X)
    np.testing.assert_allclose(tb.d_inputs(X, S, G), numeric, rtol=1e-5, atol=1e-8)
    slope = tb.d_sigma(X, 0.8, derivative(tb.gaussian(X, length_scale=0.8)))
    numeric = tb.finite_difference(lambda s: value(tb.gaussian(X, length_scale=s)), 0.8)
    assert slope == pytest.approx(numeric, rel=1e-5, abs=1e-8)


def test_chain_rule_of_another_radial_kernel():
    def kernel(D):
        return 1 / (1 + D)

    def value(S):
        return tb.cka(kernel(tb.squared_distances(X @ S)), y)

    G = tb.d_alignment(kernel(tb.squared_distances(X @ S)), y, "centred")
    slope = tb.d_transform(X, S, G, slope=lambda D: -1 / (1 + D) ** 2)
    np.testing.assert_allclose(slope, tb.finite_difference(value, S), rtol=1e-5, atol=1e-8)


def test_chain_rule_of_cosine_normalisation():
    base = tb.polynomial(X)

    def normal(K):
        return K / np.sqrt(np.outer(np.diag(K), np.diag(K)))

    G = tb.d_normalized(base, tb.d_alignment(normal(base), y))
    numeric = tb.numerical_gradient(lambda K: tb.kta(normal(K), y), base)
    np.testing.assert_allclose(G, numeric, rtol=1e-5, atol=1e-8)


def _printed_bracket(S, step_factor):
    # sum_ij (y_i y_j / |K| - <K, yy'> K_ij / |K|^3) step_factor (x_i - x_j)(x_i - x_j)' K_ij S
    Kt = tb.gaussian_of_transform(X, S)
    T = np.outer(y, y)
    weights = (T / tb.norm(Kt) - tb.inner(Kt, T) / tb.norm(Kt) ** 3 * Kt) * Kt
    total = np.zeros_like(S)
    for i in range(12):
        for j in range(12):
            total += weights[i, j] * step_factor * np.outer(X[i] - X[j], X[i] - X[j]) @ S
    return total


def test_published_ascent_direction():
    """The printed bracket is n times the gradient; without its -2, half of that downhill."""
    gradient = tb.d_transform(X, S, tb.d_alignment(tb.gaussian_of_transform(X, S), y))
    np.testing.assert_allclose(_printed_bracket(S, -2), 12 * gradient, rtol=1e-9)
    np.testing.assert_allclose(_printed_bracket(S, 1), -6 * gradient, rtol=1e-9)


def test_published_start_is_another_bandwidth():
    sigma = 1.7
    right = tb.gaussian_of_transform(X, np.eye(3) / (np.sqrt(2) * sigma))
    printed = tb.gaussian_of_transform(X, np.eye(3) / (2 * sigma**2))
    np.testing.assert_allclose(right, tb.gaussian(X, length_scale=sigma), atol=1e-15)
    np.testing.assert_allclose(printed, tb.gaussian(X, length_scale=np.sqrt(2) * sigma**2))
    assert np.max(np.abs(right - printed)) > 0.1


def test_rank_never_grows_and_rotations_do_not_matter():
    thin = np.outer([1.0, 2.0, -1.0], [0.5, 0.1, 0.3])
    G = tb.d_alignment(tb.gaussian_of_transform(X, thin), y)
    moved = thin + 0.3 * tb.d_transform(X, thin, G)
    assert np.linalg.matrix_rank(moved) == 1
    zero = np.zeros((3, 3))
    G = tb.d_alignment(tb.gaussian_of_transform(X, zero), y)
    np.testing.assert_array_equal(tb.d_transform(X, zero, G), 0)
    Q, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(2, 2)))
    kta = [tb.kta(tb.gaussian_of_transform(X, A), y) for A in (S, S @ Q)]
    assert kta[0] == pytest.approx(kta[1], rel=1e-13)
