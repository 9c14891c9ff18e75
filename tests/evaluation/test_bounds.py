"""Bounds on training errors: they hold for matrices that are not positive semidefinite too."""

import numpy as np
import pytest

import gramsmith as gs
from oracle import textbook as tb


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


def test_matrices_too_large_to_look_at_have_the_weaker_bound(sizes, rng):
    sizes("evaluation.bounds", SMALL=10)
    X = rng.normal(size=(20, 2))
    y, G = X[:, 0] > 0, gs.Gram(gs.Gaussian(), X)
    A = gs.kta(G, y)
    assert gs.parzen_error_bound(G.toarray(), y) == pytest.approx(1 - A**2)
    assert gs.parzen_error_bound(G.toarray(), y, positive_definite=True) == pytest.approx(1 - A)
    assert gs.parzen_error_bound(G, y) == pytest.approx(1 - A)


@pytest.mark.parametrize("cases", [400, pytest.param(100_000, marks=pytest.mark.slow)])
def test_no_small_case_violates_the_bound_of_any_class(cases):
    # few values, so that class means coincide with samples and classes have no spread
    rng = np.random.default_rng(0)
    kernels = gs.Linear(), gs.Gaussian(), gs.Polynomial(2)
    for _ in range(cases):
        C = int(rng.choice([2, 2, 2, 3]))
        n = int(rng.integers(2 * C, 9))
        X = rng.integers(-2, 3, size=(n, int(rng.integers(1, 3)))) * rng.choice([1.0, 0.1, 5.0])
        y = np.r_[np.arange(C), rng.integers(0, C, n - C)]
        w = np.ones(n) if rng.random() < 0.6 else rng.integers(1, 4, n).astype(float)
        kernel = kernels[rng.integers(3)]
        machine = gs.CentroidClassifier(kernel, n_jobs=1).fit(X, y, sample_weight=w)
        wrong = w * (machine.predict(X) != y)
        errors = np.bincount(y, wrong) / np.bincount(y, w)
        assert (errors <= machine.class_error_bounds_ + 1e-9).all(), (X, y, w, kernel)
        bound = gs.fsm_error_bound(kernel(X), y, ddof=0, sample_weight=w)
        assert wrong.sum() / w.sum() <= bound + 1e-9, (X, y, w, kernel)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("factor", [1.0, 1e-3, 1e6])
def test_bounds_hold_for_the_weighted_training_error(seed, factor):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(8, 40))
    X = rng.normal(size=(n, 2))
    y = np.where(X[:, 0] + rng.normal(size=n) > 0, 1, -1)
    y[:4] = 1, 1, -1, -1
    w = factor * rng.choice([0.0, 0.1, 1.0, 5.0, 60.0], size=n)
    w[:4] = factor
    K = gs.Gaussian(rng.uniform(0.3, 3.0))(X)
    wrong = y * (K @ (w * y)) <= 0
    bound = gs.parzen_error_bound(K, y, sample_weight=w)
    assert w[wrong].sum() / w.sum() <= bound + 1e-12
    assert bound == pytest.approx(gs.parzen_error_bound(K, y, sample_weight=w / factor), rel=1e-12)
    plus, minus = (w * (y == c) / w[y == c].sum() for c in (1, -1))
    wrong = y * (K @ (plus - minus)) <= 0
    share = w[y == 1].sum() / w.sum()
    error = (1 - share) * plus[wrong].sum() + share * minus[wrong].sum()
    assert error <= gs.parzen_error_bound(K, y, target="imbalanced", sample_weight=w) + 1e-12
    f = K @ (plus - minus)
    sd = [np.sqrt(part @ (f - part @ f) ** 2) for part in (plus, minus)]
    threshold = (sd[1] * (plus @ f) + sd[0] * (minus @ f)) / sum(sd)
    for ddof in (0, 1):
        bound = gs.fsm_error_bound(K, y, ddof=ddof, sample_weight=w)
        for part, c in ((plus, 1), (minus, -1)):
            assert part[c * (f - threshold) <= 0].sum() <= bound + 1e-9
