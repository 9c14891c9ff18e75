"""Bounds on training errors: they hold for matrices that are not positive semidefinite too."""

import numpy as np
import pytest

import gramsmith as gs
import textbook as tb
from gramsmith.evaluation import bounds


def indefinite(n=8, k=1):
    """Return a matrix for which 1 - A lies below the training error."""
    S = np.zeros((n, n))
    S[:k], S[:, :k] = 1.0, 1.0
    S[k:, k:] = -1.01 * k / (n - k)
    y = np.array([1, -1] * (n // 2))
    return S * np.outer(y, y), y


def test_bound_of_an_indefinite_matrix_holds():
    K, y = indefinite()
    error = tb.parzen_training_error(K, y)
    assert error == 0.875
    expected = tb.parzen_error_bound(K, y, definite=False)
    assert error <= gs.parzen_error_bound(K, y) == pytest.approx(expected)
    assert gs.parzen_error_bound(K, y, positive_definite=True) < error
    multiple = gs.Gram(2.0 * gs.Precomputed(), K)
    assert gs.parzen_error_bound(multiple, y) == pytest.approx(expected)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("rank", [1, 3, 40])
def test_semidefinite_matrices_keep_the_sharp_bound(rank, dtype, rng):
    U = rng.normal(size=(40, rank))
    y = np.where(U[:, 0] > 0, 1, -1)
    K = (U @ U.T).astype(dtype)
    assert gs.parzen_error_bound(K, y) == pytest.approx(1 - gs.kta(K, y))
    assert gs.parzen_error_bound(np.zeros((40, 40)), y) == 1.0


def test_matrices_too_large_to_look_at_have_the_weaker_bound(monkeypatch, rng):
    monkeypatch.setattr(bounds, "SMALL", 10)
    X = rng.normal(size=(20, 2))
    y, G = X[:, 0] > 0, gs.Gram(gs.Gaussian(), X)
    A = gs.kta(G, y)
    assert gs.parzen_error_bound(G.toarray(), y) == pytest.approx(1 - A**2)
    assert gs.parzen_error_bound(G.toarray(), y, positive_definite=True) == pytest.approx(1 - A)
    assert gs.parzen_error_bound(G, y) == pytest.approx(1 - A)
