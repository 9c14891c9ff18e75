"""Held-out samples: of the kind, the columns and the order of the training data."""

import numpy as np
import pandas as pd
import pytest

import gramsmith as gs


@pytest.fixture
def split(rng):
    X, Z = rng.normal(size=(60, 3)), rng.normal(size=(30, 3))
    return X, (X[:, 0] > 0).astype(int), Z, (Z[:, 0] > 0).astype(int)


def test_the_task_is_that_of_the_training_data(split):
    X, _, Z, _ = split
    whole = np.round(3 * Z[:, 0])
    table = gs.evaluate({"k": gs.Gaussian()}, X, X[:, 0], X_test=Z, y_test=whole)
    expected = gs.cka(gs.Gram(gs.Gaussian(), Z), whole, task="regression")
    assert table["k", "cka"].held_out == pytest.approx(expected)


def test_one_class_leaves_the_cells_empty_and_says_so(split):
    X, y, Z, _ = split
    table = gs.evaluate({"k": gs.Gaussian()}, X, y, X_test=Z, y_test=np.ones(30, dtype=int))
    assert table["k", "cka"].value is not None
    assert table["k", "cka"].held_out is None
    assert any("Held-out" in a.message and "two classes" in a.message for a in table.advice)


def test_a_class_of_one_leaves_the_cells_empty_that_need_more(split):
    X, y, Z, _ = split
    table = gs.evaluate({"k": gs.Gaussian()}, X, y, X_test=Z, y_test=np.arange(30) == 0)
    assert table["k", "kta"].held_out is not None
    assert table["k", "fsm"].held_out is None


def test_matrices_are_square_matrices_of_the_test_samples(split):
    X, y, Z, labels = split
    k = gs.Gaussian()
    table = gs.evaluate({"k": "precomputed"}, k(X), y, X_test=k(Z), y_test=labels)
    assert table["k", "cka"].held_out == pytest.approx(gs.cka(k(Z), labels))


def test_samples_that_do_not_fit_are_refused(split):
    X, y, Z, labels = split
    kernels = [gs.Gaussian()]
    with pytest.raises(ValueError, match="the 3 columns of X, got 2"):
        gs.evaluate(kernels, X, y, X_test=Z[:, :2], y_test=labels)
    frame, other = (pd.DataFrame(A, columns=list("abc")) for A in (X, Z))
    with pytest.raises(ValueError, match=r"columns \(a, b, c\) of X in their order, got \(b, a, c"):
        gs.evaluate(kernels, frame, y, X_test=other[["b", "a", "c"]], y_test=labels)
    with pytest.raises(ValueError, match="same length, got 30 and 7"):
        gs.evaluate(kernels, X, y, X_test=Z, y_test=labels[:7])
    with pytest.raises(ValueError, match="one view per kernel"):
        gs.evaluate(kernels, X, y, X_test=(Z, Z), y_test=labels)
    with pytest.raises(ValueError, match="Expected y_test like y"):
        gs.evaluate(kernels, X, X[:, :2], X_test=Z, y_test=Z)
