"""Samples as a kernel sees them: Gram matrix and map."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

import gramsmith as gs
from gramsmith.machines.svm import KernelSVC
from gramsmith.report import GramDisplay, KernelMapDisplay
from gramsmith.report.projection import kernel_map


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
