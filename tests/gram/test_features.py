"""Explicit features or tiles: neither route returns sums that left the range of the numbers."""

import numpy as np
import pytest
import scipy.sparse as sp

import gramsmith as gs
from gramsmith.gram import Gram
from gramsmith.targets import make_target


@pytest.fixture
def X(rng):
    return rng.normal(size=(40, 3))


@pytest.fixture
def y(X):
    return (X[:, 0] > 0).astype(int)


@pytest.mark.parametrize(("scale", "size"), [(1e80, "large"), (1e100, "large"), (1e-90, "small")])
@pytest.mark.parametrize("tiled", [False, True])
def test_squares_out_of_range_are_refused(scale, size, tiled, X, y, monkeypatch):
    if tiled:
        monkeypatch.setattr("gramsmith.gram.features.cheaper_than_tiles", lambda *_: False)
    G = Gram(gs.Linear(), X * scale)
    for measure in (gs.kta, gs.cka, gs.fsm):
        with (
            np.errstate(over="ignore", invalid="ignore"),
            pytest.raises(ValueError, match=rf"too {size} in Linear\(\)\. Scale the features"),
        ):
            measure(G, y)


@pytest.mark.parametrize(("factor", "size"), [(1e160, "large"), (1e-170, "small")])
def test_so_are_those_of_a_matrix(factor, size, X, y):
    K = gs.Gaussian()(X)
    for matrix in (K, K - np.eye(40)):  # with or without a diagonal
        with (
            np.errstate(over="ignore", invalid="ignore"),
            pytest.raises(ValueError, match=f"too {size} in Precomputed.*its largest entry"),
        ):
            gs.kta(matrix * factor, y)
    assert gs.kta(K * 1e140, y) == pytest.approx(gs.kta(K, y), rel=1e-12)
    assert gs.kta(K * 1e-140, y) == pytest.approx(gs.kta(K, y), rel=1e-12)


def test_single_precision_has_a_range_of_its_own(X, y):
    K = gs.Gaussian()(X)
    expected = gs.kta(K, y)
    for factor in (1e25, 1e-25):
        G = Gram("precomputed", K * factor, dtype=np.float32)
        with np.errstate(over="ignore"), pytest.raises(ValueError, match="fit float32"):
            gs.kta(G, y)
        assert gs.kta(Gram("precomputed", K * factor), y) == pytest.approx(expected)
    # explicit features are summed in double precision whatever the data
    small = Gram(gs.Linear(), (X * 1e-12).astype(np.float32))
    assert gs.kta(small, y) == pytest.approx(gs.kta(Gram(gs.Linear(), X), y), rel=1e-5)


def test_kernels_that_are_constant_are_not_too_small(X):
    for kernel in (gs.Constant(2.0), gs.Gaussian(1e9), gs.Gaussian(1e9) + 1.0):
        for dtype in (np.float64, np.float32):
            moments = Gram(kernel, X, dtype=dtype).moments(make_target(np.arange(40) % 2))
            assert moments.squares[0, 0] < 1e-6
    zero = Gram("precomputed", np.zeros((6, 6))).moments(make_target(np.arange(6) % 2))
    assert zero.squares[0, 0] == 0.0


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_features_far_from_zero_have_the_sums_of_the_matrix(form, X, rng):
    """K = B + h 1' + 1 h' + c, whose first part has the moments."""
    X = X + 3.0
    w = rng.uniform(0.5, 2.0, size=40)
    goal, fold = make_target(X[:, 0] > 3.0, sample_weight=w), np.arange(40) // 14
    found = Gram(gs.Linear(), form(X)).moments(goal, fold=fold)
    h, c = found.h[0], found.c[0]
    assert np.abs(h).max() > 1.0
    B = X @ X.T - h[:, None] - h - c
    np.testing.assert_allclose(found.d[0], np.diag(B), atol=1e-12)
    weighted = B**2 * np.outer(goal.w, goal.w)
    for f in range(3):
        own = fold == f
        np.testing.assert_allclose(found.P[0, f], B[:, own] @ goal.wV[own], atol=1e-12)
        for g in range(3):
            part = weighted[np.ix_(own, fold == g)].sum()
            np.testing.assert_allclose(found.q[0, 0, f, g], part, rtol=1e-11)


def test_functions_of_ones_own_are_finite_or_named(X, y):
    with pytest.raises(ValueError, match=r"finite numbers f\(X\), got nan for row 0"):
        Gram(gs.RankOne(lambda X: X[:, 0] * np.nan), X)
    odd = Gram(lambda A, B: np.full((len(A), len(B)), np.nan), X)
    for use in (lambda: gs.kta(odd, y), odd.toarray, lambda: odd.block(slice(3), slice(3))):
        with pytest.raises(ValueError, match="got NaN in FromCallable"):
            use()
