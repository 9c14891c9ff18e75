"""Newton's method against quasi-Newton on the same objective, and against closed forms."""

import numpy as np
import pytest
from scipy.optimize import minimize

from gramsmith.kernels.landmarks import inverse_root
from gramsmith.solvers import fit_expansion, fit_features
from gramsmith.solvers.losses import (
    LOSSES,
    Logistic,
    Multinomial,
    SmoothHinge,
    code_targets,
)
from gramsmith.solvers.newton import damped_newton
from oracle import learning as textbook


def sample(rng, n=40):
    X = rng.normal(size=(n, 2))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=n) > 0, 1.0, -1.0)
    return np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(-1)), y, X


@pytest.mark.parametrize("alpha", [0.01, 1.0])
def test_logistic_against_bfgs(rng, alpha):
    K, y, _ = sample(rng)
    a, b, value = textbook.fit_logistic(K, y, alpha)
    found = fit_expansion(K, y, Logistic(), alpha, tol=1e-12)
    assert found.converged
    assert found.objective <= value + 1e-9
    np.testing.assert_allclose(found.f, K @ a + b, atol=1e-3)
    # K a = K(y - p)/α at the optimum.
    np.testing.assert_allclose(
        K @ found.a, -K @ Logistic().slope(y, found.f) / alpha, atol=1e-4, rtol=1e-4
    )
    assert np.diff(found.history).max() < 0


def test_features_of_a_few_centres_against_bfgs(rng):
    K, y, _ = sample(rng)
    S = [2, 9, 30]
    a, b, value = textbook.fit_logistic(K, y, 0.1, S)
    root = inverse_root(K[np.ix_(S, S)])
    found = fit_features(K[:, S] @ root, y, Logistic(), 0.1, tol=1e-12)
    assert found.objective == pytest.approx(value, abs=1e-8)
    np.testing.assert_allclose(root @ found.a, a, atol=1e-3)
    assert found.b == pytest.approx(b, abs=1e-3)
    start = np.append(found.a, found.b)
    again = fit_features(K[:, S] @ root, y, Logistic(), 0.1, start=start)
    assert again.n_iter == 1


def multinomial_minimum(K, Y, w, alpha):
    loss, n = Multinomial(), len(K)

    def objective(theta):
        T = theta.reshape(n + 1, -1)
        f = T[0] + K @ T[1:]
        G = w[:, None] * loss.slope(Y, f)
        value = w @ loss.value(Y, f) + 0.5 * alpha * np.sum(T[1:] * (K @ T[1:]))
        return value, np.vstack([G.sum(axis=0), K @ (G + alpha * T[1:])]).ravel()

    options = {"maxiter": 20000, "maxfun": 50000, "ftol": 1e-15, "gtol": 1e-8}
    start = np.zeros((n + 1) * Y.shape[1])
    return minimize(objective, start, jac=True, method="L-BFGS-B", options=options).fun


def test_multinomial_against_lbfgs(rng):
    K, _, X = sample(rng, n=30)
    Y = code_targets(np.digitize(X[:, 0], [-0.5, 0.5]), 3)
    w = rng.integers(1, 4, size=30).astype(float)
    slow = multinomial_minimum(K, Y, w, 0.3)
    found = fit_expansion(K, Y, Multinomial(), 0.3, sample_weight=w, tol=1e-12)
    assert found.objective == pytest.approx(slow, abs=1e-4)
    assert found.objective <= slow + 1e-9


def test_weights_are_repetition(rng):
    K, y, _ = sample(rng, n=20)
    w = rng.integers(1, 4, size=20)
    rows = np.repeat(np.arange(20), w)
    for loss in (kind() for kind in LOSSES.values()):
        weighted = fit_expansion(K, y, loss, 0.3, sample_weight=w, tol=1e-13)
        repeated = fit_expansion(K[np.ix_(rows, rows)], y[rows], loss, 0.3, tol=1e-13)
        np.testing.assert_allclose(weighted.f[rows], repeated.f, atol=1e-5)


def test_no_intercept(rng):
    K, y, _ = sample(rng)
    found = fit_expansion(K, y, Logistic(), 0.1, fit_intercept=False, tol=1e-12)
    assert found.b == 0.0
    np.testing.assert_allclose(found.a, -Logistic().slope(y, found.f) / 0.1, atol=1e-4)
    Y = np.eye(2)[(y > 0).astype(int)]
    pair = fit_expansion(K, Y, Multinomial(), 0.05, fit_intercept=False, tol=1e-12)
    # Two classes: f = f1 - f0 and the penalty of the difference is half of the two penalties.
    one = fit_expansion(K, y, Logistic(), 0.025, fit_intercept=False, tol=1e-12)
    np.testing.assert_allclose(pair.f[:, 1] - pair.f[:, 0], one.f, atol=1e-4)


def test_too_few_steps_are_reported(rng):
    K, y, _ = sample(rng)
    found = fit_expansion(K, y, Logistic(), 1e-3, max_iter=2)
    assert found.status == "max_iter"
    assert "max_iter" in found.advice
    few = fit_features(K[:, :5], y, Logistic(), 1e-3, max_iter=1)
    assert few.status == "max_iter"


def test_hinge_with_straight_start(rng):
    # At f = 0 the curvature of a narrow hinge is zero everywhere.
    K, y, _ = sample(rng)
    values, U = np.linalg.eigh(K)
    Phi = U * np.sqrt(values.clip(0.0))
    a = fit_features(Phi, y, SmoothHinge(0.05), 0.1, max_iter=500)
    b = fit_expansion(K, y, SmoothHinge(0.05), 0.1, max_iter=500)
    assert a.objective == pytest.approx(b.objective, rel=1e-6)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_hinge_whose_samples_are_all_straight_goes_to_the_larger_class(sign):
    # The kernel hardly counts: Σ hinge(y b) has its minimum where the larger class is right.
    y, K = sign * np.repeat([1.0, -1.0], [30, 10]), 1e-6 * np.eye(40)
    for found in (
        fit_expansion(K, y, SmoothHinge(0.05), 1.0, max_iter=500),
        fit_features(1e-3 * np.eye(40), y, SmoothHinge(0.05), 1.0, max_iter=500),
    ):
        assert found.converged
        assert found.b == pytest.approx(sign, abs=0.05)
        assert found.objective == pytest.approx(10 * 2.0, rel=0.05)


def test_what_is_common_to_all_classes_changes_nothing(rng):
    Phi = rng.normal(size=(60, 4))
    Y = code_targets(np.argmax(Phi[:, :3] + rng.normal(size=(60, 3)), axis=1), 3)
    plain = fit_features(Phi, Y, Multinomial(), 0.5, tol=1e-12)
    start = rng.normal(size=(5, 3))
    start[-1] += 7.0
    moved = fit_features(Phi, Y, Multinomial(), 0.5, tol=1e-12, start=start)
    assert moved.b.sum() == pytest.approx(0.0, abs=1e-9)
    np.testing.assert_allclose(moved.b, plain.b, atol=1e-4)
    np.testing.assert_allclose(moved.f, plain.f, atol=1e-4)
    np.testing.assert_allclose(moved.f, Phi @ moved.a + moved.b, atol=1e-12)


def root_step(x):
    """Newton's step of sqrt(1 + x²), which overshoots from |x| > 1 on."""
    return (-x * (1 + x**2),), float(x**2 * np.sqrt(1 + x**2))


def test_steps_that_overshoot_are_halved():
    found = damped_newton((np.array(3.0),), lambda x: float(np.sqrt(1 + x**2)), root_step)
    assert found.converged
    assert abs(float(found.state[0])) < 1e-3
    assert np.all(np.diff(found.history) < 0)


def test_the_step_that_proves_convergence_is_taken_if_wanted():
    start, value = (np.array(0.1),), lambda x: float(np.sqrt(1 + x**2))
    plain, polished = (
        damped_newton(start, value, root_step, tol=1e-4, polish=polish) for polish in (False, True)
    )
    assert plain.n_iter == polished.n_iter
    assert len(polished.history) == len(plain.history) + 1
    assert abs(float(polished.state[0])) < abs(float(plain.state[0]))


def test_the_tolerance_is_a_share_of_what_is_left():
    # Of x⁴ every step promises 4/3: x falls by a third each time, and never is that little.
    found = damped_newton(
        (np.array(3.0),),
        lambda x: float(x**4),
        lambda x: ((-x / 3.0,), float(4.0 / 3.0 * x**4)),
        tol=1e-2,
        max_iter=50,
    )
    assert found.status == "max_iter"
    assert found.n_iter == 50
    assert float(found.state[0]) == pytest.approx(3.0 * (2.0 / 3.0) ** 50)


@pytest.mark.parametrize("promise", [1.0, -1.0, np.nan])
def test_steps_uphill_are_refused_and_no_convergence(promise):
    found = damped_newton((np.array(3.0),), lambda x: float(x**2), lambda x: ((x,), promise))
    assert found.status == "stalled"
    assert found.state[0] == 3.0
    assert found.advice
