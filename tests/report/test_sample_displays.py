"""Samples as a kernel sees them: Gram matrix and map."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import gramsmith as gs
from gramsmith.machines.svm import KernelSVC
from gramsmith.report import GramDisplay, KernelMapDisplay
from gramsmith.report.sample_displays import colours_of, drawn, gram_matrix, kernel_map


@pytest.fixture(autouse=True)
def close():
    yield
    plt.close("all")


def test_gram_display_sorts_by_label():
    K = np.arange(16.0).reshape(4, 4)
    display = GramDisplay.from_matrix(K, ["b", "a", "b", "a"])
    assert display.K[0, 0] == K[1, 1]
    assert display.blocks == [("a", 2), ("b", 2)]


def test_gram_display_sorts_by_value():
    K = np.arange(9.0).reshape(3, 3)
    display = GramDisplay.from_matrix(K, [0.5, 0.25, 0.75])
    assert display.K[0, 0] == K[1, 1]
    assert display.blocks == []


def test_displays_of_a_kernel_and_of_a_machine(rng):
    X = rng.normal(size=(30, 2))
    y = np.where(X[:, 0] > 0, "in", "out")
    machine = KernelSVC(gs.Gaussian(2.0)).fit(X, y)
    for estimator in (gs.Gaussian(2.0), machine):
        display = GramDisplay.from_estimator(estimator, X, y)
        order = np.argsort(y, kind="stable")
        np.testing.assert_allclose(display.K, gs.Gaussian(2.0)(X[order]))
        seen = KernelMapDisplay.from_estimator(estimator, X, y)
        np.testing.assert_allclose(seen.points, kernel_map(gs.Gaussian(2.0)(X)), atol=1e-8)
        assert seen.classes == ["in", "out"]
        assert len(seen.plot().ax_.collections) == 2


def test_labels_may_be_values_or_absent(rng):
    X = rng.normal(size=(30, 2))
    values = KernelMapDisplay.from_estimator("rbf", X, X[:, 0])
    assert values.classes == []
    np.testing.assert_array_equal(values.colours, X[:, 0])
    alone = KernelMapDisplay.from_estimator("rbf", X).plot()
    assert alone.ax_.get_legend() is None
    assert GramDisplay.from_estimator("rbf", X).blocks == []


def test_many_samples_are_drawn(rng):
    X = rng.normal(size=(50, 2))
    y = (X[:, 0] > 0).astype(int)
    display = GramDisplay.from_estimator("rbf", X, y, max_samples=20)
    assert display.K.shape == (20, 20)
    assert sum(count for _, count in display.blocks) == 20
    assert len(KernelMapDisplay.from_estimator("rbf", X, y, max_samples=20).points) == 20


def test_map_of_a_linear_kernel_is_pca(rng):
    X = rng.normal(size=(30, 2)) * [3.0, 1.0]
    points = kernel_map(X @ X.T)
    Xc = X - X.mean(axis=0)
    np.testing.assert_allclose(points @ points.T, Xc @ Xc.T, atol=1e-6)
    assert points[np.abs(points[:, 0]).argmax(), 0] > 0


def test_matrix_of_kernels_and_of_what_was_fitted(rng):
    X = rng.normal(size=(30, 2)) * 5.0
    y = X[:, 0] > 0
    expected = gs.Gaussian(2.0)(X)
    np.testing.assert_allclose(gram_matrix(gs.Gaussian(2.0), X), expected)
    np.testing.assert_allclose(gram_matrix(KernelSVC(gs.Gaussian(2.0)).fit(X, y), X), expected)
    np.testing.assert_allclose(gram_matrix("linear", X), X @ X.T)
    scaled = make_pipeline(StandardScaler(), KernelSVC(gs.Linear())).fit(X, y)
    Z = StandardScaler().fit_transform(X)
    np.testing.assert_allclose(gram_matrix(scaled, X), Z @ Z.T)
    search = GridSearchCV(KernelSVC(gs.Gaussian(2.0)), {"C": [1.0, 2.0]}, cv=2).fit(X, y)
    np.testing.assert_allclose(gram_matrix(search, X), expected)
    assert gram_matrix(gs.Spectrum(2), ["ACGT", "ACAC", "GG"]).shape == (3, 3)


def test_what_has_no_kernel_is_refused():
    for estimator in (KernelSVC(), StandardScaler()):
        with pytest.raises(ValueError, match="fitted estimator with the attribute kernel_"):
            gram_matrix(estimator, [[1.0], [2.0]])


def test_samples_are_drawn_with_their_labels():
    X, y = np.arange(20.0)[:, None], np.arange(20)
    assert drawn(X, y, 20, 0)[0] is X
    few, labels = drawn(X, y, 5, 0)
    assert few.ravel().tolist() == labels.tolist()
    assert len(set(labels.tolist())) == 5
    assert drawn(sp.csr_array(X), None, 5, 0)[0].shape == (5, 1)
    assert len(drawn(["a"] * 20, y, 5, 0)[0]) == 5


def test_colours():
    codes, names = colours_of(["b", "a", "b"])
    assert (codes.tolist(), names) == ([1, 0, 1], ["a", "b"])
    values, names = colours_of([0.5, 1.5])
    assert (values.tolist(), names) == ([0.5, 1.5], [])
    assert colours_of(["one", "one"])[1] == ["one"]
