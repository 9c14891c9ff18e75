"""Support vector machines: the same decisions as scikit-learn's, from an expansion of their own."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
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


def test_precomputed_block_is_cut_to_the_support(rng):
    X = rng.normal(size=(50, 2))
    y = X[:, 0] > 0
    K = rbf_kernel(X, gamma=0.5)
    machine = gs.KernelSVC("precomputed").fit(K, y)
    direct = gs.KernelSVC(gs.Gaussian.from_gamma(0.5)).fit(X, y)
    np.testing.assert_allclose(machine.decision_function(K), direct.decision_function(X), atol=1e-9)


def test_threshold_moves_the_decision(rng):
    X = rng.normal(size=(80, 1))
    y = np.where(X[:, 0] > 0, "b", "a")
    plain = gs.KernelSVC(gs.Linear()).fit(X, y)
    careful = gs.KernelSVC(gs.Linear(), threshold=0.5).fit(X, y)
    assert (careful.predict(X) == "b").sum() < (plain.predict(X) == "b").sum()


def test_class_weight_by_label(rng):
    X = rng.normal(size=(100, 2))
    y = np.where(X[:, 0] + rng.normal(size=100) > 1.2, "rare", "usual")
    heavy = gs.KernelSVC(gs.Linear(), class_weight={"rare": 20.0}).fit(X, y)
    light = gs.KernelSVC(gs.Linear()).fit(X, y)
    assert (heavy.predict(X) == "rare").sum() > (light.predict(X) == "rare").sum()


def test_regression_like_svr(rng):
    X = rng.normal(size=(70, 2))
    y = np.sin(X[:, 0]) + X[:, 1]
    ours = gs.KernelSVR(gs.Gaussian.from_gamma(0.3), C=5.0, epsilon=0.05).fit(X, y)
    theirs = SVR(C=5.0, gamma=0.3, epsilon=0.05).fit(X, y)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-8)


def test_strings():
    X = ["abab", "baba", "abba", "cdcd", "dcdc", "cddc"]
    y = ["ab"] * 3 + ["cd"] * 3
    machine = gs.KernelSVC(gs.Normalized(gs.Spectrum(2)), C=10.0).fit(X, y)
    assert machine.predict(["ababab", "cdcdcd"]).tolist() == ["ab", "cd"]


def test_unfinished_solver_warns(rng):
    X = rng.normal(size=(80, 2))
    with pytest.warns(ConvergenceWarning, match="Raise max_iter"):
        gs.KernelSVC(C=1e4, max_iter=2).fit(X, X[:, 0] > 0)


@pytest.mark.parametrize("C", [0, -1.0, float("nan"), "one"])
def test_bad_C_is_refused(C, rng):
    with pytest.raises(ValueError, match=f"'C'.* Got {C!r}"):
        gs.KernelSVC(C=C).fit(rng.normal(size=(6, 1)), [0, 1] * 3)


def test_quiet_when_converged(rng):
    X = rng.normal(size=(40, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gs.KernelSVC().fit(X, X[:, 0] > 0)
