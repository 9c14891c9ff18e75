"""The routes past memory: landmarks and conjugate gradients agree with the dense one."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import gramsmith as gs
from gramsmith.machines import ridge_routes
from machine_zoo import points, strings


def surface(rng, n=300):
    X = rng.uniform(-2, 2, size=(n, 2))
    return X, np.sin(X[:, 0]) * X[:, 1] + 0.05 * rng.normal(size=n)


@pytest.mark.parametrize("intercept", [False, True])
def test_conjugate_gradients_solve_the_same_system(rng, intercept):
    X, y = surface(rng)
    w = rng.integers(1, 4, size=300)
    options = {"alpha": 0.1, "fit_intercept": intercept}
    dense = gs.KernelRidgeRegressor(gs.Gaussian(1.0), **options).fit(X, y, sample_weight=w)
    cg = gs.KernelRidgeRegressor(
        gs.Gaussian(1.0), solver="cg", n_landmarks=50, tol=1e-10, random_state=0, **options
    ).fit(X, y, sample_weight=w)
    np.testing.assert_allclose(cg.predict(X), dense.predict(X), atol=1e-6)
    assert cg.n_iter_ > 1


def test_all_samples_as_landmarks_are_the_dense_machine(rng):
    X, y = surface(rng, n=80)
    dense = gs.KernelRidgeRegressor(gs.Laplacian(1.0), alphas=[0.01, 0.1, 1.0]).fit(X, y)
    thin = gs.KernelRidgeRegressor(
        gs.Laplacian(1.0), alphas=[0.01, 0.1, 1.0], solver="nystroem", n_landmarks=80
    ).fit(X, y)
    np.testing.assert_allclose(thin.loo_errors_, dense.loo_errors_, rtol=1e-5)
    np.testing.assert_allclose(thin.predict(X), dense.predict(X), atol=1e-5)


def test_landmarks_are_nearly_as_good(rng):
    X, y = surface(rng)
    new, truth = surface(np.random.default_rng(1))
    full = gs.KernelRidgeRegressor(gs.Gaussian(1.0)).fit(X, y)
    thin = gs.KernelRidgeRegressor(
        gs.Gaussian(1.0), solver="nystroem", n_landmarks=60, random_state=0
    ).fit(X, y)
    assert len(thin.support_) == 60
    assert thin.score(new, truth) > full.score(new, truth) - 0.01


def test_leave_one_out_of_landmarks_is_exact(rng):
    X, y = surface(rng, n=40)
    options = {"solver": "nystroem", "n_landmarks": 8, "random_state": 0, "alpha": 0.2}
    machine = gs.KernelRidgeRegressor(gs.Gaussian(1.0), **options).fit(X, y)
    S = machine.support_
    K, R = gs.Gaussian(1.0)(X, X[S]), gs.Gaussian(1.0)(X[S])
    errors = []
    for i in range(40):
        rest = np.arange(40) != i
        B = np.column_stack([np.ones(39), K[rest]])
        P = np.zeros((9, 9))
        P[1:, 1:] = 0.2 * R
        theta = np.linalg.solve(B.T @ B + P, B.T @ y[rest])
        errors.append((y[i] - theta[0] - K[i] @ theta[1:]) ** 2)
    assert machine.loo_errors_[0] == pytest.approx(np.mean(errors), rel=1e-6)


def test_auto_turns_to_landmarks(rng, monkeypatch):
    X, y = surface(rng, n=50)
    machine = gs.KernelRidgeRegressor(gs.Gaussian(1.0), n_landmarks=20)
    assert machine.fit(X, y).solver_ == "eigen"
    monkeypatch.setattr(ridge_routes, "EIGEN_LIMIT", 40)
    assert machine.fit(X, y).solver_ == "nystroem"


def test_classifier_and_strings_take_the_routes():
    X, y = points(90, classes=3)
    texts, labels = strings(60)
    for solver in ("nystroem", "cg"):
        options = {"solver": solver, "n_landmarks": 30, "random_state": 0}
        assert gs.KernelRidgeClassifier(gs.Gaussian(1.5), **options).fit(X, y).score(X, y) > 0.7
        machine = gs.KernelRidgeClassifier(gs.Normalized(gs.Spectrum(3)), **options)
        assert machine.fit(texts, labels).score(texts, labels) > 0.9


def test_conjugate_gradients_do_not_interpolate(rng):
    X, y = surface(rng, n=30)
    with pytest.raises(ValueError, match="solver='eigen'"):
        gs.KernelRidgeRegressor(gs.Gaussian(), alpha=0.0, solver="cg").fit(X, y)


def test_unfinished_iteration_warns(rng):
    X, y = surface(rng)
    machine = gs.KernelRidgeRegressor(
        gs.Gaussian(1.0), alpha=1e-8, solver="cg", n_landmarks=1, max_iter=2
    )
    with pytest.warns(ConvergenceWarning, match="landmarks"):
        machine.fit(X, y)


def test_landmarks_of_an_indefinite_kernel_say_what_they_do(rng):
    X = rng.normal(size=(60, 3))
    K = np.tanh(X @ X.T - 1.0)
    with pytest.warns(UserWarning, match="set to zero"):
        gs.KernelRidgeClassifier("precomputed", solver="nystroem").fit(K, X[:, 0] > 0)


@pytest.mark.parametrize("solver", ["eigen", "nystroem", "cg"])
def test_a_kernel_of_zeros_predicts_the_mean(solver):
    y = np.arange(30.0)
    machine = gs.KernelRidgeRegressor("linear", solver=solver).fit(np.zeros((30, 2)), y)
    np.testing.assert_allclose(machine.predict(np.zeros((2, 2))), y.mean())


def test_a_constant_target_takes_the_largest_regulariser(rng):
    X = rng.normal(size=(50, 3))
    machine = gs.KernelRidgeRegressor(solver="cg").fit(X, np.full(50, 3.0))
    assert machine.alpha_ == machine.alphas_.max()
    assert machine.n_iter_ < 20
    np.testing.assert_allclose(machine.predict(X), 3.0)


def test_progress_of_conjugate_gradients(rng, capsys):
    X = rng.normal(size=(50, 3))
    machine = gs.KernelRidgeRegressor(solver="cg", n_landmarks=5, verbose=True).fit(X, X[:, 0])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == machine.n_iter_
    assert "residual" in lines[0]
