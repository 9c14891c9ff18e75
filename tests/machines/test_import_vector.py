"""The import vector machine: greedy, monotone, and optimal on what it chose."""

import tracemalloc

import numpy as np
import pytest
from sklearn.datasets import make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

import gramsmith as gs
import textbook_learning as textbook
from gramsmith.machines.import_vector import _Problem, leave_one_out_deviance
from gramsmith.solvers import fit_subset
from gramsmith.solvers.losses import Logistic, Multinomial, code_targets
from machine_zoo import points, strings


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
    with pytest.warns(ConvergenceWarning, match="max_points"):
        machine.fit(K, y)
    np.testing.assert_allclose(machine.history_[1:], slow, rtol=0.02)


def problem(K, y, classes, w=None):
    loss = Logistic() if classes == 2 else Multinomial()
    w = np.ones(len(y)) if w is None else w
    return _Problem(K, K * K, np.arange(len(y)), code_targets(y, classes), w, loss)


def test_gains_are_those_of_one_newton_step(rng):
    _, y, K = moons(40)
    w = rng.integers(1, 4, size=40).astype(float)
    task = problem(K, y, 2, w)
    S, alpha = [4, 11], 0.3
    found = task.fit(S, alpha, None, 100)
    gains = task.gains(S, found, alpha)
    assert gains[4] == gains[11] == 0.0
    for j in (0, 17, 33):
        T = [*S, j]
        start = np.concatenate([[found.b], found.a, [0.0]])
        # One Newton step from the fit on S: minus half of g'H^-1 g.
        B = np.column_stack([np.ones(40), K[:, T]])
        P = np.zeros((4, 4))
        P[1:, 1:] = alpha * K[np.ix_(T, T)]
        f = B @ start
        g = B.T @ (w * Logistic().slope(task.Y, f)) + P @ start
        H = (B * (w * Logistic().curvature(task.Y, f))[:, None]).T @ B + P
        assert gains[j] == pytest.approx(0.5 * g @ np.linalg.solve(H, g), rel=1e-4)


@pytest.mark.parametrize("classes", [2, 3])
def test_approximate_leave_one_out(classes):
    X, y = points(45, classes=classes)
    K = gs.Gaussian(1.5)(X)
    task, S, alpha = problem(K, y, classes), [0, 10, 20, 31], 0.5
    found = task.fit(S, alpha, None, 100)
    left = []
    for i in range(45):
        rest = np.arange(45) != i
        part = fit_subset(K[np.ix_(rest, S)], K[np.ix_(S, S)], task.Y[rest], task.loss, alpha)
        left.append(
            float(
                task.loss.value(
                    task.Y[[i]],
                    (part.b + K[i, S] @ part.a)[None].reshape(
                        (1,) if classes == 2 else (1, classes)
                    ),
                )[0]
            )
        )
    fast = leave_one_out_deviance(task, S, found, alpha)
    assert fast == pytest.approx(np.mean(left), rel=0.01)


def test_the_path_is_that_of_the_machines_of_its_regularisers():
    X, y, _ = moons(60)
    alphas = [3.0, 0.3, 0.03]
    path = gs.ImportVectorClassifier(gs.Gaussian(0.7), alphas=alphas).fit(X, y)
    for k, alpha in enumerate(alphas):
        alone = gs.ImportVectorClassifier(gs.Gaussian(0.7), alpha=alpha).fit(X, y)
        assert path.path_sizes_[k] == len(alone.import_indices_)
        assert path.path_deviances_[k] == pytest.approx(alone.path_deviances_[0])
    best = int(np.argmin(path.path_deviances_))
    assert path.path_sizes_[best] == len(path.import_indices_)


def test_path_chooses_a_regulariser():
    X, y, _ = moons(150)
    alphas = np.logspace(1, -3, 5)
    machine = gs.ImportVectorClassifier(gs.Gaussian(0.7), alphas=alphas).fit(X, y)
    assert machine.alpha_ == machine.alphas_[np.argmin(machine.path_deviances_)]
    assert np.diff(machine.alphas_).max() < 0
    assert np.diff(machine.path_sizes_).min() >= 0
    alone = gs.ImportVectorClassifier(gs.Gaussian(0.7), alpha=machine.alpha_).fit(X, y)
    np.testing.assert_array_equal(alone.import_indices_, machine.import_indices_)


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


def test_progress_is_printed(capsys):
    X, y, _ = moons(40)
    gs.ImportVectorClassifier(gs.Gaussian(0.7), alpha=1.0, verbose=True).fit(X, y)
    assert "[ImportVectorClassifier] alpha 1: 1 import points, objective" in capsys.readouterr().out


def test_bad_parameters():
    X, y = points(12)
    for parameters, match in (
        ({"alpha": 0.0}, "'alpha'.* Got 0.0"),
        ({"alphas": [1.0, 0.0]}, "numbers > 0"),
        ({"max_points": 0}, "'max_points'.* Got 0"),
        ({"max_candidates": 0}, "'max_candidates'.* Got 0"),
        ({"tol": -1.0}, "'tol'.* Got -1.0"),
    ):
        with pytest.raises(ValueError, match=match):
            gs.ImportVectorClassifier(**parameters).fit(X, y)


def test_banana_with_a_few_points(data_dir):
    """Within one point of a tuned SVC on the first split, with at most 25 import points."""
    z = np.load(data_dir / "more" / "ida-banana" / "ida-banana.npz")
    X, y = z["X"][z["train"][0]], z["y"][z["train"][0]]
    new, truth = z["X"][z["test"][0]], z["y"][z["test"][0]]
    grid = {"C": [0.1, 1, 10, 100], "gamma": [0.25, 0.5, 1, 2, 4]}
    svc = GridSearchCV(SVC(), grid, cv=5).fit(X, y)
    machine = gs.ImportVectorClassifier(gs.Gaussian(1.0), alpha=0.01).fit(X, y)
    assert len(machine.import_indices_) <= 25
    assert machine.score(new, truth) >= svc.score(new, truth) - 0.01


def test_an_indefinite_kernel_is_mentioned_once(rng):
    X = rng.normal(size=(60, 3))
    with pytest.warns(UserWarning, match="set to zero") as found:
        gs.ImportVectorClassifier(gs.Sigmoid(1.0, -1.0)).fit(X, X[:, 0] > 0)
    assert len([w for w in found if "set to zero" in str(w.message)]) == 1


def test_greedy_steps_do_not_copy_the_matrix():
    rng = np.random.default_rng(0)
    n, chosen = 600, [3, 50, 200]
    K, y = rng.normal(size=(n, n)), np.sign(rng.normal(size=n))
    problem = _Problem(K @ K.T, K * K, np.arange(n), y, np.ones(n), Logistic())
    found = problem.fit(chosen, 1.0, None, 20)
    tracemalloc.start()
    problem.gains(chosen, found, 1.0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.1 * K.nbytes
