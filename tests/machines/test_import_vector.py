"""The import vector machine: greedy, monotone, and optimal on what it chose."""

import tracemalloc

import numpy as np
import pytest
from sklearn.datasets import make_moons
from sklearn.exceptions import ConvergenceWarning

import gramsmith as gs
from gramsmith.kernels.landmarks import inverse_root
from gramsmith.machines.import_vector import _Growth
from gramsmith.solvers import fit_features
from gramsmith.solvers.losses import Logistic, Multinomial, code_targets
from oracle import learning as textbook
from tools.machine_zoo import points, strings


def moons(n=120, seed=0):
    X, y = make_moons(n, noise=0.25, random_state=seed)
    return X, y, gs.Gaussian(0.7)(X)


def test_coefficients_are_optimal_on_the_chosen_points():
    _, y, K = moons()
    machine = gs.ImportVectorClassifier("precomputed", alpha=0.1).fit(K, y)
    S = machine.import_indices_
    _, _, value = textbook.fit_logistic(K, 2 * y - 1, 0.1, S)
    assert machine.objective_ == pytest.approx(value, abs=1e-4)
    assert textbook.logistic_objective(
        K, 2 * y - 1, machine.coefficients_[:, 0], machine.intercept_[0], 0.1, S
    ) == pytest.approx(machine.objective_)


def test_objective_falls_to_nearly_the_full_one():
    _, y, K = moons()
    machine = gs.ImportVectorClassifier("precomputed", alpha=0.1).fit(K, y)
    full = gs.KernelLogisticRegression("precomputed", alpha=0.1).fit(K, y)
    assert np.diff(machine.history_).max() < 0
    assert full.objective_ <= machine.objective_ <= 1.05 * full.objective_
    assert len(machine.import_indices_) <= 30
    gap = np.abs(machine.predict_proba(K) - full.predict_proba(K)).max()
    assert gap < 0.15


def test_greedy_choice_is_as_good_as_refitting_every_candidate():
    _, y, K = moons(30)
    _, slow = textbook.import_vectors(K, 2 * y - 1, 0.5, 3)
    machine = gs.ImportVectorClassifier("precomputed", alpha=0.5, max_points=3, tol=1e-9)
    with pytest.warns(ConvergenceWarning):
        machine.fit(K, y)
    np.testing.assert_allclose(machine.history_[1:], slow, rtol=0.02)


def growth(K, y, classes, alpha, chosen, w=None):
    loss = Logistic() if classes == 2 else Multinomial()
    w = np.ones(len(y)) if w is None else w
    grown = _Growth(K, np.arange(len(y)), code_targets(y, classes), loss, alpha, w, 100)
    for j in chosen:
        grown.add(j)
    return grown


def test_gains_are_those_of_one_newton_step(rng):
    _, y, K = moons(40)
    w = rng.integers(1, 4, size=40).astype(float)
    S, alpha = [4, 11], 0.3
    grown = growth(K, y, 2, alpha, S, w)
    gains = grown.gains()
    assert gains[4] == gains[11] == 0.0
    for j in (0, 17, 33):
        T = [*S, j]
        start = np.concatenate([[grown.solution.b], grown.coefficients, [0.0]])
        # One Newton step from the fit on S: minus half of g'H^-1 g.
        B = np.column_stack([np.ones(40), K[:, T]])
        P = np.zeros((4, 4))
        P[1:, 1:] = alpha * K[np.ix_(T, T)]
        f = B @ start
        g = B.T @ (w * Logistic().slope(grown.y, f)) + P @ start
        H = (B * (w * Logistic().curvature(grown.y, f))[:, None]).T @ B + P
        assert gains[j] == pytest.approx(0.5 * g @ np.linalg.solve(H, g), rel=1e-4)


@pytest.mark.parametrize(("classes", "rel"), [(2, 0.01), (3, 0.06)])
def test_approximate_leave_one_out(classes, rel):
    X, y = points(45, classes=classes)
    K = gs.Gaussian(1.5)(X)
    S, alpha = [0, 10, 20, 31], 0.5
    grown = growth(K, y, classes, alpha, S)
    Phi = K[:, S] @ inverse_root(K[np.ix_(S, S)])
    left = []
    for i in range(45):
        rest = np.arange(45) != i
        part = fit_features(Phi[rest], grown.y[rest], grown.loss, alpha)
        f = np.reshape(part.b + Phi[i] @ part.a, grown.y[[i]].shape)
        left.append(float(grown.loss.value(grown.y[[i]], f)[0]))
    assert grown.deviance == pytest.approx(np.mean(left), rel=rel)


def test_a_given_regulariser_is_taken_whatever_the_candidates():
    X, y, _ = moons(60)
    for machine in (
        gs.ImportVectorClassifier,
        gs.KernelLogisticRegression,
        gs.KernelRidgeClassifier,
    ):
        assert machine(gs.Gaussian(0.7), alpha=0.1, alphas=[10.0, 100.0]).fit(X, y).alpha_ == 0.1


def test_the_path_is_that_of_the_machines_of_its_regularisers():
    X, y, _ = moons(100)
    path = gs.ImportVectorClassifier(gs.Gaussian(0.7), alphas=np.logspace(-2, 1, 4)).fit(X, y)
    assert np.diff(path.alphas_).max() < 0
    assert np.diff(path.path_sizes_).min() >= 0
    assert path.alpha_ == path.alphas_[np.argmin(path.path_deviances_)]
    for k, alpha in enumerate(path.alphas_):
        alone = gs.ImportVectorClassifier(gs.Gaussian(0.7), alpha=alpha).fit(X, y)
        assert path.path_sizes_[k] == len(alone.import_indices_)
        assert path.path_deviances_[k] == pytest.approx(alone.path_deviances_[0])
        if alpha == path.alpha_:
            np.testing.assert_array_equal(alone.import_indices_, path.import_indices_)


def test_several_classes_share_import_points():
    X, y = points(150, classes=3)
    machine = gs.ImportVectorClassifier(gs.Gaussian(1.5), alpha=0.3).fit(X, y)
    full = gs.KernelLogisticRegression(gs.Gaussian(1.5), alpha=0.3).fit(X, y)
    assert len(machine.import_indices_) < 75
    assert machine.objective_ <= 1.05 * full.objective_
    assert machine.score(X, y) >= full.score(X, y) - 0.03


def test_candidates_can_be_drawn():
    X, y, _ = moons(200)
    options = {"alpha": 0.1, "max_candidates": 40, "random_state": 0}
    machine = gs.ImportVectorClassifier(gs.Gaussian(0.7), **options).fit(X, y)
    assert machine.score(X, y) > 0.9
    again = gs.ImportVectorClassifier(gs.Gaussian(0.7), **options).fit(X, y)
    np.testing.assert_array_equal(machine.import_indices_, again.import_indices_)
    texts, labels = strings(40)
    string = gs.ImportVectorClassifier(gs.Spectrum(3), max_candidates=20, random_state=0)
    assert string.fit(texts, labels).score(texts, labels) > 0.9


def test_equal_points_are_not_imported_twice():
    X, y, _ = moons(40)
    machine = gs.ImportVectorClassifier(gs.Gaussian(0.7), alpha=0.01, tol=1e-6)
    machine.fit(np.repeat(X, 2, axis=0), np.repeat(y, 2))
    assert len(np.unique(machine.import_indices_ // 2)) == len(machine.import_indices_)


def test_of_an_indefinite_kernel_points_with_a_definite_one_are_taken(rng):
    X = rng.normal(size=(60, 3))
    machine = gs.ImportVectorClassifier(gs.Sigmoid(1.0, -1.0)).fit(X, X[:, 0] > 0)
    S = X[machine.import_indices_]
    assert np.linalg.eigvalsh(gs.Sigmoid(1.0, -1.0)(S)).min() > 0
    assert machine.score(X, X[:, 0] > 0) > 0.9


def test_greedy_steps_do_not_copy_the_matrix():
    rng = np.random.default_rng(0)
    n, K = 600, rng.normal(size=(600, 600))
    grown = growth(K @ K.T, (rng.normal(size=n) > 0).astype(int), 2, 1.0, [3, 50, 200])
    tracemalloc.start()
    grown.gains()
    grown.add(7)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.1 * K.nbytes
