"""One kernel object, unchanged, in the estimators of scikit-learn."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.cluster import SpectralClustering
from sklearn.datasets import load_iris
from sklearn.decomposition import KernelPCA
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern
from sklearn.kernel_approximation import Nystroem
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR, OneClassSVM

import gramsmith as gs
from tools.registry import KERNELS, samples


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return StandardScaler().fit_transform(X)[::2], y[::2], StandardScaler().fit_transform(X)[1::2]


@pytest.fixture
def kernel():
    return 0.5 * gs.Gaussian(1.5) + gs.Normalized(gs.Polynomial(2)) * gs.Laplacian(2.0, norm="l2")


@pytest.mark.parametrize(
    "machine",
    [SVC(), SVR(), KernelRidge(alpha=0.1), OneClassSVM(nu=0.2)],
    ids=lambda m: type(m).__name__,
)
def test_machines_equal_the_precomputed_route(machine, kernel, iris):
    X, y, Z = iris
    ours = clone(machine).set_params(kernel=kernel).fit(X, y)
    dense = clone(machine).set_params(kernel="precomputed").fit(kernel(X), y)
    assert_allclose(ours.predict(Z), dense.predict(kernel(Z, X)), rtol=1e-6, atol=1e-6)


def test_kernel_pca(kernel, iris):
    X, _, Z = iris
    ours = KernelPCA(2, kernel=kernel).fit(X)
    dense = KernelPCA(2, kernel="precomputed").fit(kernel(X))
    assert_allclose(np.abs(ours.transform(Z)), np.abs(dense.transform(kernel(Z, X))), atol=1e-8)


def test_nystroem(kernel, iris):
    X, _, _ = iris
    U = Nystroem(kernel=kernel, n_components=len(X), random_state=0).fit_transform(X)
    assert_allclose(U @ U.T, kernel(X), atol=1e-8)


def test_spectral_clustering(kernel, iris):
    X, _, _ = iris
    ours = SpectralClustering(3, affinity=kernel, random_state=0).fit_predict(X)
    dense = SpectralClustering(3, affinity="precomputed", random_state=0).fit_predict(kernel(X))
    assert (ours == dense).all()


def test_gaussian_process_regression_learns_the_same_kernel():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(40, 2))
    y = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=40)
    theirs = GaussianProcessRegressor(ConstantKernel(1.0) * RBF([1.0, 1.0]), alpha=0.01).fit(X, y)
    ours = GaussianProcessRegressor(1.0 * gs.Gaussian([1.0, 1.0]), alpha=0.01).fit(X, y)
    assert ours.log_marginal_likelihood_value_ == pytest.approx(
        theirs.log_marginal_likelihood_value_, rel=1e-4
    )
    assert ours.kernel_.theta != pytest.approx((1.0 * gs.Gaussian([1.0, 1.0])).theta)
    mean, sd = ours.predict(X, return_std=True)
    expected, expected_sd = theirs.predict(X, return_std=True)
    assert_allclose(mean, expected, atol=1e-2)
    assert_allclose(sd, expected_sd, atol=1e-2)


def test_gaussian_process_classification_with_a_composed_kernel(kernel, iris):
    X, y, _ = iris
    machine = GaussianProcessClassifier(kernel, max_iter_predict=20).fit(X, y > 0)
    assert machine.score(X, y > 0) == 1.0
    assert len(machine.kernel_.theta) == len(kernel.theta)


def test_grid_search_over_nested_parameters(kernel, iris):
    X, y, _ = iris
    names = kernel.get_params()
    assert "k1__kernel__length_scale" in names
    grid = {"svc__kernel__k1__kernel__length_scale": [0.01, 1.0]}
    search = GridSearchCV(make_pipeline(StandardScaler(), SVC(kernel=kernel)), grid, cv=3).fit(X, y)
    best = search.best_estimator_.steps[-1][1].kernel.k1.kernel.length_scale
    assert search.best_params_ == {"svc__kernel__k1__kernel__length_scale": best}
    assert search.best_score_ > 0.9
    assert kernel.k1.kernel.length_scale == 1.5


@pytest.mark.parametrize("measure", ["cka", "kta", "fsm_loo", "csm"])
def test_alignment_scorer_in_a_search(measure, iris):
    X, y, _ = iris
    pipe = make_pipeline(StandardScaler(), SVC(kernel=gs.Gaussian()))
    grid = {"svc__kernel__length_scale": [1e-3, 1.0]}
    search = GridSearchCV(pipe, grid, scoring=gs.alignment_scorer(measure), cv=3).fit(X, y)
    assert search.best_params_ == {"svc__kernel__length_scale": 1.0}
    named = GridSearchCV(SVC(), {"gamma": [1e4, 0.1]}, scoring=gs.alignment_scorer(measure), cv=3)
    assert named.fit(X, y).best_params_ == {"gamma": 0.1}


def test_alignment_scorer_says_what_it_cannot_do(iris):
    X, y, _ = iris
    with pytest.raises(TypeError, match="ends in a kernel"):
        gs.alignment_scorer()(StandardScaler(), X, y)
    machine = SVC(kernel="precomputed").fit(X @ X.T, y)
    with pytest.raises(ValueError, match="square kernel matrix"):
        gs.alignment_scorer()(machine, X @ X.T[:, :30], y)


def test_kernel_is_called_on_whole_matrices(iris):
    X, y, _ = iris
    calls = []

    class Counting(gs.Gaussian):
        def tile(self, a, b):
            calls.append(1)
            return super().tile(a, b)

    Nystroem(kernel=Counting(), n_components=20).fit_transform(X)
    KernelRidge(kernel=Counting()).fit(X, y)
    assert len(calls) <= 3


@pytest.mark.parametrize(
    "theirs",
    [
        RBF(0.7),
        RBF([1.0, 2.0, 3.0]),
        Matern(0.5, nu=2.5),
        2.0 * RBF(0.3) + Matern(nu=1.5),
        RBF() ** 2,
    ],
    ids=str,
)
def test_scikit_learn_kernels_become_ours(theirs, rng):
    X, Z = rng.normal(size=(8, 3)), rng.normal(size=(5, 3))
    ours = gs.as_kernel(theirs)
    assert_allclose(ours(X, Z), theirs(X, Z), rtol=1e-12)
    assert ours.differentiable


@pytest.mark.parametrize(
    "name", ["rbf", "laplacian", "linear", "poly", "sigmoid", "cosine", "chi2"]
)
def test_names_mean_what_they_mean_in_scikit_learn(name, rng):
    from sklearn.metrics.pairwise import pairwise_kernels

    X = np.abs(rng.normal(size=(8, 3)))
    assert_allclose(gs.as_kernel(name, X)(X), pairwise_kernels(X, metric=name), rtol=1e-10)


def test_default_kernel_is_that_of_svc_on_centred_columns(iris):
    """scikit-learn's "scale" is 1 / (p var of all entries), which offsets of columns change."""
    X, y, Z = iris
    X, Z = X - X.mean(axis=0), Z - X.mean(axis=0)
    ours = SVC(kernel=gs.as_kernel(None, X)).fit(X, y)
    assert_allclose(ours.decision_function(Z), SVC().fit(X, y).decision_function(Z), atol=1e-2)


def test_cross_validation_with_every_kernel(rng):
    y = np.arange(30) % 2
    for kernel, _ in KERNELS.values():
        X = samples(kernel, rng, 30) + 0.5 * y[:, None]
        assert np.isfinite(cross_val_score(SVC(kernel=kernel), X, y, cv=3)).all()
