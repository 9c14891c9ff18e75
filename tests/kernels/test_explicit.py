"""Kernels with explicit features: landmarks and random waves."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.svm import SVC

import gramsmith as gs


@pytest.fixture
def X(rng):
    return rng.normal(size=(120, 3))


@pytest.mark.parametrize("method", ["pivoted", "leverage", "uniform"])
def test_landmarks_are_chosen_among_the_samples(X, method):
    kernel = gs.Nystroem(gs.Gaussian(2.0), n_landmarks=40, method=method, random_state=1)
    K, exact = kernel(X), gs.Gaussian(2.0)(X)
    assert np.abs(K - exact).max() < {"pivoted": 0.01, "leverage": 0.05, "uniform": 0.15}[method]
    assert kernel.features(X).shape == (120, 40)
    np.testing.assert_allclose(kernel.features(X) @ kernel.features(X).T, K, atol=1e-10)
    fixed = kernel.fixed_to(X)
    assert fixed.landmarks.shape == (40, 3)
    # the kernel itself where a sample is a landmark
    np.testing.assert_allclose(
        fixed(fixed.landmarks, X), gs.Gaussian(2.0)(fixed.landmarks, X), atol=1e-6
    )
    assert fixed.fixed_to(X[:5]) is fixed or fixed.fixed_to(X[:5]).landmarks is fixed.landmarks


def test_as_many_landmarks_as_samples_are_the_kernel(X):
    for n in (120, 500):
        K = gs.Nystroem(gs.Gaussian(0.5), n_landmarks=n)(X)
        np.testing.assert_allclose(K, gs.Gaussian(0.5)(X), atol=1e-7)


def test_fewer_features_than_landmarks_where_the_kernel_has_no_more(X):
    U = gs.Nystroem(gs.Linear(), n_landmarks=50).features(X)
    np.testing.assert_allclose(U @ U.T, X @ X.T, atol=1e-6)


def test_predictions_do_not_depend_on_the_batch(X):
    y = X[:, 0] * X[:, 1] > 0
    for kernel in (
        gs.Nystroem(gs.Gaussian(), n_landmarks=30),
        gs.Nystroem(gs.Gaussian(), n_landmarks=30) @ gs.LinearMap(np.array([1.0, 2.0, 0.5])),
        2.0 * gs.Nystroem(gs.Gaussian(), n_landmarks=30) + gs.Linear(),
    ):
        machine = gs.KernelRidgeClassifier(kernel).fit(X, y)
        whole = machine.decision_function(X)
        single = [machine.decision_function(x[None])[0] for x in X[:10]]
        np.testing.assert_allclose(whole[:10], single, rtol=1e-9)


def test_strings_and_sparse_rows(X):
    words = ["abc", "abd", "xyz", "xyy", "bcd", "cda"] * 5
    K = gs.Nystroem(gs.Spectrum(2), n_landmarks=6)(words)
    np.testing.assert_allclose(K, gs.Spectrum(2)(words), atol=1e-6)
    rows = sp.csr_array(np.where(np.abs(X) > 0.8, X, 0.0))
    for kernel in (
        gs.Nystroem(gs.Gaussian(), n_landmarks=20),
        gs.RandomFourier(gs.Gaussian(), n_features=50),
        gs.Nystroem(gs.Gaussian(), landmarks=X[:20]),
    ):
        np.testing.assert_allclose(kernel(rows), kernel(rows.toarray()), atol=1e-8)


def test_measures_take_the_way_of_features(X, monkeypatch):
    def no_tiles(self, *args):
        raise AssertionError("a tile")

    y = X[:, 0] * X[:, 1] > 0
    kernels = {
        "landmarks": gs.Nystroem(gs.Gaussian(), n_landmarks=30),
        "waves": gs.RandomFourier(gs.Gaussian(), n_features=40),
    }
    dense = {name: kernel(X) for name, kernel in kernels.items()}
    expected = {name: gs.cka(K, y) for name, K in dense.items()}
    for kernel in kernels.values():
        monkeypatch.setattr(type(kernel), "tile", no_tiles)
    table = gs.evaluate(kernels, X, y, measures=["cka"], folds=0)
    for name, value in expected.items():
        assert table[name, "cka"].value == pytest.approx(value, rel=1e-8)


def test_learners_climb(X):
    y = X[:, 0] * X[:, 1] > 0
    for kernel in (
        gs.Nystroem(gs.Gaussian(5.0), n_landmarks=40),
        gs.RandomFourier(gs.Gaussian(5.0), n_features=200),
    ):
        learner = gs.KernelLearner(kernel, measure="cka", random_state=0).fit(X, y)
        start = gs.cka(gs.Gram(kernel, X), y)
        assert gs.cka(gs.Gram(learner.kernel_, X), y) > start + 0.05


@pytest.mark.parametrize(
    "kernel",
    [
        gs.Gaussian(1.5),
        gs.Gaussian([1.0, 2.0, 3.0]),
        gs.Laplacian(2.0),
        gs.Laplacian(2.0, "l2"),
        gs.Matern(1.5, 1.5),
        gs.Matern(1.5, 2.5),
    ],
    ids=str,
)
def test_waves_have_the_frequencies_of_the_kernel(X, kernel):
    X = X[:30]
    K = gs.RandomFourier(kernel, n_features=40_000, random_state=2)(X)
    # 20 000 frequencies: five standard errors of a mean cosine are 0.025
    assert np.abs(K - kernel(X)).max() < 0.03
    np.testing.assert_allclose(K.diagonal(), 1.0, rtol=1e-12)


def test_in_scikit_learn_and_in_files(X, stored):
    y = X[:, 0] > 0
    for kernel in (
        gs.Nystroem(gs.Gaussian(), n_landmarks=20).fixed_to(X),
        gs.RandomFourier(gs.Gaussian(), n_features=100),
    ):
        assert SVC(kernel=clone(kernel)).fit(X, y).score(X, y) > 0.9
        machine = gs.KernelRidgeClassifier(kernel).fit(X, y)
        again = stored(machine)
        np.testing.assert_array_equal(again.decision_function(X), machine.decision_function(X))


def test_what_cannot_be_is_said(X):
    for kernel, words in (
        (gs.Nystroem(gs.Gaussian(), method="best"), "expected method"),
        (gs.Nystroem(gs.Gaussian(), n_landmarks=0), "n_landmarks >= 1"),
        (gs.Nystroem(gs.Precomputed()), "kernel of samples"),
        (gs.Nystroem(gs.Gaussian(), landmarks=X[:0]), "at least one landmark"),
        (gs.Nystroem(gs.Gaussian(), landmarks=X[:5, :2]), "same number of features"),
        (gs.RandomFourier(gs.Linear()), "Use Nystroem"),
        (gs.RandomFourier(type("Derived", (gs.Gaussian,), {})()), "Use Nystroem"),
        (gs.RandomFourier(gs.Gaussian(), n_features=7), "even n_features"),
        (gs.RandomFourier(gs.Gaussian([1.0, 2.0])), "one per length_scale"),
    ):
        with pytest.raises(ValueError, match=words):
            kernel(X)
