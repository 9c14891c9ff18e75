"""Losses of kernel expansions against quasi-Newton, Laplace's mode and scikit-learn."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

import gramsmith as gs
from tools.machine_zoo import points


def test_linear_kernel_is_logistic_regression():
    X, y = points(80, classes=3)
    ours = gs.KernelLogisticRegression(gs.Linear(), alpha=0.5).fit(X, y)
    theirs = LogisticRegression(C=2.0, tol=1e-10, max_iter=10_000).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-4)


def test_mode_of_a_gaussian_process():
    X, y = points(50)
    gp = GaussianProcessClassifier(RBF(1.5), optimizer=None).fit(X, y)
    ours = gs.KernelLogisticRegression(gs.Gaussian(1.5), alpha=1.0, fit_intercept=False).fit(X, y)
    np.testing.assert_allclose(expit(ours.decision_function(X)), gp.base_estimator_.pi_, atol=1e-5)


@pytest.mark.parametrize("machine", [gs.KernelLogisticRegression, gs.ImportVectorClassifier])
def test_few_rows_are_enough_for_calibrated_probabilities(machine):
    """alpha = 1 was too timid: an error of .14 on 124 rows."""
    X, y = load_breast_cancer(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    train, test = order[:124], order[124:]
    X = (X - X[train].mean(axis=0)) / X[train].std(axis=0)
    P = machine().fit(X[train], y[train]).predict_proba(X[test])
    sure, right = P.max(axis=1), P.argmax(axis=1) == y[test]
    gaps = np.bincount((9.999 * sure).astype(int), weights=right - sure)
    assert np.abs(gaps).sum() / len(test) < 0.06


def test_other_losses_are_other_machines():
    X, y = points(60)
    K = gs.Gaussian(1.5)(X)
    options = {"kernel": "precomputed", "alpha": 0.5}
    hinge = gs.KernelLossClassifier(loss="hinge", max_iter=500, **options).fit(K, y)
    svc = SVC(kernel="precomputed", C=2.0).fit(K, y)
    np.testing.assert_allclose(hinge.decision_function(K), svc.decision_function(K), atol=0.1)
    squared = gs.KernelLossClassifier(loss="squared_hinge", **options).fit(K, y)
    l2 = gs.L2SVC("precomputed", C=2.0).fit(K, y)
    np.testing.assert_allclose(squared.decision_function(K), l2.decision_function(K), atol=1e-4)
    least = gs.KernelLossClassifier(loss="squared", **options).fit(K, y)
    ridge = gs.KernelRidgeClassifier("precomputed", alpha=0.5).fit(K, y)
    np.testing.assert_allclose(least.decision_function(K), ridge.decision_function(K), atol=1e-6)


@pytest.mark.parametrize("loss", ["squared", "squared_hinge", "hinge"])
def test_other_losses_take_several_classes(loss):
    X, y = points(90, classes=3)
    machine = gs.KernelLossClassifier(gs.Gaussian(1.5), loss=loss, alpha=0.1, max_iter=500)
    assert machine.fit(X, y).score(X, y) > 0.7
    assert machine.decision_function(X).shape == (90, 3)
    assert not hasattr(machine, "predict_proba")
    with pytest.raises(AttributeError, match="predict_proba"):
        machine.predict_proba(X)


class Exponential:
    """A loss of a user's, exp(-y f), with the probabilities of boosting."""

    def value(self, y, f):
        return np.exp(-y * f)

    def slope(self, y, f):
        return -y * np.exp(-y * f)

    def curvature(self, y, f):
        return np.exp(-y * f)

    def probability(self, f):
        return np.column_stack([expit(-2 * f), expit(2 * f)])


def test_a_loss_of_the_users(tmp_path):
    X, y = points(60)
    K = gs.Gaussian(1.5)(X)
    machine = gs.KernelLossClassifier("precomputed", loss=Exponential(), alpha=0.5).fit(K, y)
    a, b, sign = machine.coefficients_[:, 0], machine.intercept_[0], 2.0 * y - 1.0
    slope = -sign * np.exp(-sign * (K @ a + b))
    np.testing.assert_allclose(slope + 0.5 * a, 0.0, atol=1e-6)  # the representer theorem
    assert slope.sum() == pytest.approx(0.0, abs=1e-6)
    p = machine.predict_proba(K)
    np.testing.assert_allclose(np.exp(machine.predict_log_proba(K)), p)
    np.testing.assert_array_equal(p.argmax(axis=1), machine.predict(K))
    X, y = points(60, classes=3)
    several = gs.KernelLossClassifier(loss=Exponential()).fit(X, y)
    assert several.score(X, y) > 0.6
    with pytest.raises(AttributeError, match="predict_proba"):
        several.predict_proba(X)
    with pytest.raises(TypeError, match="loss: a file can keep"):
        gs.save_model(several, tmp_path / "own.safetensors")


def test_logistic_regression_is_the_logistic_loss():
    X, y = points(60, classes=3)
    special = gs.KernelLogisticRegression(gs.Gaussian(1.5)).fit(X, y)
    general = gs.KernelLossClassifier(gs.Gaussian(1.5), loss="logistic").fit(X, y)
    np.testing.assert_array_equal(special.predict_proba(X), general.predict_proba(X))
    assert "loss" not in special.get_params()


@pytest.mark.parametrize("classes", [2, 3])
def test_the_last_step_is_taken(classes):
    """Newton's step that proves convergence is worth taking: it squares the error."""
    X, y = points(120, classes=classes)
    usual = gs.KernelLogisticRegression(gs.Gaussian(1.5)).fit(X, y)
    exact = gs.KernelLogisticRegression(gs.Gaussian(1.5), tol=1e-15).fit(X, y)
    np.testing.assert_allclose(usual.decision_function(X), exact.decision_function(X), atol=1e-6)
    assert usual.jitter_ == 0.0


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("loss", ["logistic", "squared_hinge"])
def test_all_samples_as_landmarks_are_the_exact_machine(rng, classes, loss):
    X = rng.normal(size=(80, 2))
    y = (X[:, 0] > 0).astype(int) + (classes - 2) * (X[:, 1] > 0.3)
    w = rng.uniform(0.5, 2.0, size=80)
    exact = gs.KernelLossClassifier(gs.Gaussian(), loss=loss, alpha=0.3, solver="newton")
    few = clone(exact).set_params(solver="nystroem", n_landmarks=80)
    exact.fit(X, y, sample_weight=w)
    few.fit(X, y, sample_weight=w)
    assert (exact.solver_, few.solver_, few.n_landmarks_) == ("newton", "nystroem", 80)
    np.testing.assert_allclose(few.decision_function(X), exact.decision_function(X), atol=1e-4)
    assert few.objective_ == pytest.approx(exact.objective_, rel=1e-5)


def test_many_samples_go_by_landmarks(rng, sizes):
    X = rng.normal(size=(400, 3))
    y = X[:, 0] * X[:, 1] > 0
    sizes("machines.landmarks", HELD_ROWS=200)
    machine = gs.KernelLogisticRegression(gs.Gaussian(), n_landmarks=60, random_state=0).fit(X, y)
    assert (machine.solver_, machine.n_landmarks_, len(machine.support_)) == ("nystroem", 60, 60)
    assert machine.score(X, y) > 0.93
    exact = clone(machine).set_params(solver="newton").fit(X, y)
    assert not hasattr(exact, "n_landmarks_")
    new = rng.normal(size=(300, 3))
    assert np.abs(machine.predict_proba(new) - exact.predict_proba(new)).mean() < 0.05
    # the regulariser is chosen by what samples left out lose, as for the exact machine
    assert 0.1 < machine.alpha_ / exact.alpha_ < 10.0


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("loss", ["logistic", "squared_hinge"])
def test_products_find_the_machine_on_all_samples(rng, loss, classes):
    X = rng.normal(size=(260, 3))
    f = X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=260)
    y = np.array(["low", "high", "top"])[np.digitize(f, [0.0, 0.9][: classes - 1])]
    options = {"loss": loss, "class_weight": "balanced", "tol": 1e-11}
    fixed = {"kernel": gs.Gaussian(1.5), "alpha": 0.3, **options}
    exact = gs.KernelLossClassifier(solver="newton", **fixed).fit(X, y)
    found = gs.KernelLossClassifier(solver="cg", n_landmarks=50, random_state=0, **fixed).fit(X, y)
    np.testing.assert_allclose(found.decision_function(X), exact.decision_function(X), atol=1e-4)
    assert found.objective_ == pytest.approx(exact.objective_, rel=1e-9)
    assert found.n_landmarks_ == 50
    assert 0 < found.n_products_ < 200
    assert found.residual_ < 1e-3
    assert len(found.support_) == 260


def test_auto_takes_products_where_few_will_do(rng, sizes, capsys):

    sizes("machines.landmarks", HELD_ROWS=100)
    X = rng.normal(size=(200, 2))
    y = X[:, 0] * X[:, 1] > 0
    easy = gs.KernelLogisticRegression(gs.Gaussian(2.0), alpha=1.0, n_landmarks=60, verbose=True)
    assert easy.fit(X, y).solver_ == "cg"
    assert "products expected of 'cg'" in capsys.readouterr().out
    hard = gs.KernelLogisticRegression(gs.Gaussian(0.1), alpha=1e-4, n_landmarks=5)
    assert hard.fit(X, y).solver_ == "nystroem"
    sizes("machines.landmarks", CG_ROWS=150)
    assert easy.set_params(verbose=False).fit(X, y).solver_ == "nystroem"
    chosen = gs.KernelLogisticRegression(gs.Gaussian(2.0), solver="cg", n_landmarks=60).fit(X, y)
    assert chosen.alpha_ in chosen.alphas_
