import numpy as np
import pytest

import golden
import gramsmith as gs
import textbook as tb
from gramsmith.learning.bandwidth_profile import (
    BandwidthProfile,
    GaussianMoment,
    bandwidth_range,
    best_share,
)
from gramsmith.targets import make_target

PROJECTIONS = ("plain", "centred", "debiased")


def inner_products(K1, K2, y):
    T = np.outer(y, y)
    a = np.array([np.sum(K1 * T), np.sum(K2 * T)])
    G = np.array([[np.sum(A * B) for A in (K1, K2)] for B in (K1, K2)])
    return a, G


def test_share_golden():
    K1, K2 = gs.Gaussian(0.2)(golden.X), gs.Gaussian(1.0)(golden.X)
    u = best_share(*inner_products(K1, K2, golden.y))
    assert u == pytest.approx(golden.GOLDEN["u_star"][0], abs=1e-8)


def test_share_is_the_best_of_a_grid(rng):
    for _ in range(100):
        A, B = rng.normal(size=(2, 6, 4))
        y = rng.choice([-1.0, 1.0], size=6)
        K1, K2 = A @ A.T, B[:, :1] @ B[:, :1].T
        a, G = inner_products(K1, K2, y)
        u = best_share(a, G)
        assert 0.0 <= u <= 1.0
        best = max(
            tb.alignment(v * K1 + (1 - v) * K2, np.outer(y, y)) for v in np.linspace(0, 1, 201)
        )
        assert tb.alignment(u * K1 + (1 - u) * K2, np.outer(y, y)) >= best - 1e-12


def test_share_does_not_clip_the_ratio():
    """With n1 + n2 < 0 the stationary point is a minimum beyond 1; clipping would end there."""
    a, G = np.array([0.1, 1.0]), np.array([[1.0, 1.5], [1.5, 4.0]])
    n1, n2 = a[0] * G[1, 1] - a[1] * G[0, 1], a[1] * G[0, 0] - a[0] * G[0, 1]
    assert n1 + n2 < 0
    assert n1 / (n1 + n2) > 1
    assert best_share(a, G) == 0.0


def test_equal_kernels_share_anything():
    u = best_share(np.array([1.0, 1.0]), np.ones((2, 2)))
    assert 0.0 <= u <= 1.0


@pytest.mark.parametrize("order", [1, 2])
def test_moment_kernels(order):
    s = ((golden.X[:, None] - golden.X) ** 2).sum(axis=2) / (2 * 0.7**2)
    K = GaussianMoment(0.7, order)(golden.X)
    np.testing.assert_allclose(K, s**order * np.exp(-s), atol=1e-12)
    assert not GaussianMoment(0.7, order).positive_definite


@pytest.mark.parametrize("first", [None, gs.Gaussian(0.4)])
@pytest.mark.parametrize("projection", PROJECTIONS)
@pytest.mark.parametrize("sigma", [0.5, 1.3])
@pytest.mark.parametrize(
    "y", [golden.y, golden.lab, golden.yr], ids=["binary", "classes", "values"]
)
def test_derivatives_equal_differences(first, projection, sigma, y):
    profile = BandwidthProfile(golden.X, make_target(y), first, projection)
    point = profile(sigma)
    step = 1e-4
    up, down = profile(sigma * np.exp(step)), profile(sigma * np.exp(-step))
    assert point.slope == pytest.approx((up.value - down.value) / (2 * step), abs=1e-7)
    if (up.u > 0) == (down.u > 0) and (up.u < 1) == (down.u < 1):
        second = (up.value + down.value - 2 * point.value) / step**2
        assert point.curvature == pytest.approx(second, abs=1e-6)


def test_value_is_the_alignment_of_the_mixture():
    profile = BandwidthProfile(golden.X, make_target(golden.y), gs.Gaussian(0.2), "plain")
    point = profile(1.0)
    K = point.u * gs.Gaussian(0.2)(golden.X) + (1 - point.u) * gs.Gaussian(1.0)(golden.X)
    assert point.value == pytest.approx(tb.kta(K, golden.y), abs=1e-12)
    assert point.value == pytest.approx(golden.GOLDEN["u_star_kta"][0], abs=1e-8)


def test_limits_of_one_gaussian():
    profile = BandwidthProfile(golden.X, make_target(golden.y))
    limits = profile.limits(0.01)
    assert limits[0.0][0] == pytest.approx(1 / np.sqrt(12))
    assert limits[np.inf][0] == pytest.approx((golden.y.sum() / 12) ** 2)


def test_range_ignores_repeated_rows(rng):
    X = rng.normal(size=(40, 2))
    low, high = bandwidth_range(np.vstack([X, X]))
    D = tb.distances(X)
    assert low == pytest.approx(0.1 * D[D > 0].min())
    assert 10 * D.max() <= high <= 20 * D.max()


def test_range_needs_two_different_samples():
    with pytest.raises(ValueError, match="two different"):
        bandwidth_range(np.ones((5, 2)))
