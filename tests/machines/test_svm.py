"""Support vector machines: the same decisions as scikit-learn's, from an expansion of their own."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine
from sklearn.svm import SVC, SVR

import gramsmith as gs


@pytest.mark.parametrize("load", [load_iris, load_wine])
def test_decides_like_svc(load):
    X, y = load(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    ours = gs.KernelSVC(gs.Gaussian.from_gamma(0.2), C=3.0).fit(X, y)
    theirs = SVC(C=3.0, gamma=0.2).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-8)
    assert (ours.predict(X) == theirs.predict(X)).mean() > 0.99


def test_every_sample_a_support_vector(rng):
    # LIBSVM lists the support class by class; with all samples in it the order is easily lost
    X = rng.normal(size=(60, 3)) * 50.0
    y = np.arange(60) % 3
    ours = gs.KernelSVC(gs.Gaussian(1.0), C=1.0).fit(X, y)
    assert len(ours.support_) == 60
    assert ours.score(X, y) == 1.0


def test_threshold_moves_the_decision(rng):
    X = rng.normal(size=(80, 1))
    y = np.where(X[:, 0] > 0, "b", "a")
    plain = gs.KernelSVC(gs.Linear()).fit(X, y)
    careful = gs.KernelSVC(gs.Linear(), threshold=0.5).fit(X, y)
    assert (careful.predict(X) == "b").sum() < (plain.predict(X) == "b").sum()


def test_regression_like_svr(rng):
    X = rng.normal(size=(70, 2))
    y = np.sin(X[:, 0]) + X[:, 1]
    ours = gs.KernelSVR(gs.Gaussian.from_gamma(0.3), C=5.0, epsilon=0.05).fit(X, y)
    theirs = SVR(C=5.0, gamma=0.3, epsilon=0.05).fit(X, y)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-8)


def test_quiet_when_converged(rng):
    X = rng.normal(size=(40, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gs.KernelSVC().fit(X, X[:, 0] > 0)
