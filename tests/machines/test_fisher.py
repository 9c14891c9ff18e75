"""Kernel Fisher discriminant against explicit features and scikit-learn."""

import numpy as np
import pytest
from scipy.linalg import eigh
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

import gramsmith as gs
from tools.machine_zoo import points


def explicit(X, y, alpha, w=None):
    """Axes by the generalised eigenproblem of the covariances themselves."""
    w = np.ones(len(y)) if w is None else w
    share, p = w / w.sum(), X.shape[1]
    mean = share @ X
    within, between = np.zeros((p, p)), np.zeros((p, p))
    for c in np.unique(y):
        s = share[y == c]
        m = s @ X[y == c] / s.sum()
        within += (X[y == c] - m).T @ (s[:, None] * (X[y == c] - m))
        between += s.sum() * np.outer(m - mean, m - mean)
    mu = alpha * np.trace(within + between)
    values, V = eigh(between, within + mu * np.eye(p))
    return values[::-1], V[:, ::-1], mean


@pytest.mark.parametrize("classes", [2, 3])
def test_axes_of_the_linear_kernel(classes, rng):
    X, y = points(60, classes=classes)
    w = rng.integers(1, 4, size=60).astype(float)
    machine = gs.KernelFisherDiscriminant(gs.Linear(), alpha=0.05).fit(X, y, sample_weight=w)
    values, V, mean = explicit(X, y, 0.05, w)
    np.testing.assert_allclose(machine.criteria_, values[: classes - 1], rtol=1e-8)
    assert machine.criterion_ == pytest.approx(values.sum())
    Z = (X - mean) @ V[:, : classes - 1]
    signs = np.sign(np.sum(Z * machine.transform(X), axis=0))
    np.testing.assert_allclose(machine.transform(X), Z * signs, atol=1e-7)
    assert machine.get_feature_names_out().tolist() == [
        f"kernelfisherdiscriminant{i}" for i in range(classes - 1)
    ]


def test_nonlinear_kernel_is_its_feature_map():
    X, y = points(60, classes=3)
    Phi = np.column_stack(
        [np.ones(60), np.sqrt(2) * X]
        + [
            X[:, i] * X[:, j] * (1 if i == j else np.sqrt(2))
            for i in range(3)
            for j in range(i + 1)
        ]
    )
    values, _, _ = explicit(Phi, y, 0.02)
    machine = gs.KernelFisherDiscriminant(gs.Polynomial(2), alpha=0.02).fit(X, y)
    np.testing.assert_allclose(machine.criteria_, values[:2], rtol=1e-6)


def test_small_regulariser_is_linear_discriminant_analysis():
    X, y = points(200, classes=3)
    ours = gs.KernelFisherDiscriminant(gs.Linear(), alpha=1e-9).fit(X, y)
    theirs = LinearDiscriminantAnalysis(solver="eigen").fit(X, y)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    # They divide the covariance by n - classes when it is estimated, we by n.
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=0.02)


def test_criterion_prefers_the_right_width():
    X, y = points(100)
    values = [
        gs.KernelFisherDiscriminant(gs.Gaussian(s), alpha=0.01).fit(X, y).criterion_
        for s in (0.01, 1.0, 1e4)
    ]
    assert values[1] > max(values[0], values[2])


def test_fit_transform_and_output():
    X, y = points(30)
    machine = gs.KernelFisherDiscriminant(gs.Gaussian()).set_output(transform="pandas")
    Z = machine.fit_transform(X, y)
    assert list(Z.columns) == ["kernelfisherdiscriminant0"]
    np.testing.assert_allclose(Z.to_numpy(), machine.set_output().transform(X))


def test_equal_class_means_have_no_axis():
    X = np.array([[1.0], [-1.0], [2.0], [-2.0]])
    machine = gs.KernelFisherDiscriminant(gs.Linear()).fit(X, [0, 0, 1, 1])
    assert machine.criterion_ == pytest.approx(0.0, abs=1e-9)
    assert machine.predict(X).shape == (4,)


@pytest.mark.parametrize("K", [np.zeros((6, 6)), np.ones((6, 6))])
def test_samples_that_are_one_point_have_no_axis(K):
    machine = gs.KernelFisherDiscriminant("precomputed").fit(K, [0, 0, 0, 1, 1, 1])
    assert machine.criterion_ == 0.0
    np.testing.assert_allclose(machine.predict_proba(K), 0.5)
