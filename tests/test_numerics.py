"""Data on which the usual formulas fail: offsets, scales, duplicates, far clusters."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.distance import cdist

import gramsmith as gs
from gramsmith.targets import make_target
from oracle import textbook as tb

RADIAL = [gs.Gaussian(2.0), gs.Laplacian(2.0, "l2"), gs.Laplacian(2.0), gs.Matern(2.0, 1.5)]


@pytest.fixture
def X(rng):
    return rng.normal(size=(40, 4))


@pytest.mark.parametrize("kernel", RADIAL, ids=str)
@pytest.mark.parametrize("offset", [1e6, 1e8])
def test_far_offset(kernel, offset, X):
    moved = X + offset
    exact = kernel(moved - offset)  # the differences that survived the rounding of the input
    assert_allclose(kernel(moved), exact, rtol=1e-10, atol=1e-12)
    assert np.linalg.eigvalsh(kernel(moved))[0] > -1e-10
    y = np.arange(40) % 2
    assert gs.cka(gs.Gram(kernel, moved), y) == pytest.approx(gs.cka(exact, y), rel=1e-9)


def test_far_offset_under_a_linear_map(X):
    S = np.diag([1.0, 2.0, 0.5, 0.1])
    kernel = gs.Gaussian() @ gs.LinearMap(S)
    moved = X + 1e8
    assert_allclose(kernel(moved), kernel(moved - 1e8), rtol=1e-9)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("kernel", RADIAL, ids=str)
def test_two_clusters_far_apart(kernel, dtype, X):
    far = np.vstack([X, X + 1e8])
    exact = kernel(far[40:] - 1e8)
    K = gs.Gram(kernel, far, dtype=dtype).toarray()
    tolerance = 1e-9 if dtype == np.float64 else 1e-5
    assert_allclose(K[40:, 40:], exact, rtol=tolerance, atol=tolerance)
    assert_allclose(K[:40, 40:], 0.0, atol=1e-300)
    assert_allclose(K[:40, :40], kernel(X), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("scale", [1e-150, 1e150])
@pytest.mark.parametrize("kernel", [gs.Gaussian, gs.Matern, gs.RationalQuadratic])
def test_extreme_scales(scale, kernel, X):
    assert_allclose(kernel(2.0 * scale)(scale * X), kernel(2.0)(X), rtol=1e-9, atol=1e-12)
    narrow = kernel(1.0)(scale * X)
    assert np.isfinite(narrow).all()
    assert_allclose(np.diagonal(narrow), 1.0)


@pytest.mark.parametrize("kernel", [gs.Laplacian(1.0, "l2"), gs.Matern(1.0, 0.5)], ids=str)
def test_duplicates_under_a_kink(kernel, X):
    twice = np.vstack([X, X, X[:1] + 1e-9])
    K = kernel(twice)
    assert (np.diagonal(K[:40, 40:80]) == 1.0).all()
    d = cdist(twice, twice)
    assert_allclose(K, np.exp(-d), rtol=1e-13)
    assert K[0, 80] == pytest.approx(np.exp(-np.linalg.norm(twice[0] - twice[80])), abs=1e-15)


@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_slope_at_duplicates_is_finite(norm, X):
    twice = np.vstack([X, X])
    y = np.arange(80) % 2
    goal = make_target(y)
    G = gs.Gram(gs.Laplacian(1.5, norm), twice)
    moments = G.moments(goal)
    from gramsmith.measures import get_measure

    _, adjoint = get_measure("cka").value_and_adjoint(moments, goal)
    gradient = G.pullback(adjoint, goal, moments)[0]
    assert np.isfinite(gradient.inputs).all()

    def value(scale):
        return gs.cka(gs.Gram(gs.Laplacian(float(scale), norm), twice), y)

    numeric = tb.finite_difference(value, np.array(1.5))
    assert gradient.parameters["length_scale"] == pytest.approx(float(numeric), rel=1e-6)


def test_constant_and_duplicate_columns_and_rows(X):
    odd = np.hstack([X, np.full((40, 1), 7.0), X[:, :1]])
    odd[3] = odd[4]
    K = gs.Gaussian()(odd)
    assert_allclose(K, tb.gaussian(odd), rtol=1e-12)
    y = np.arange(40) % 2
    assert np.isfinite(list(gs.evaluate([gs.Gaussian()], odd, y).values("cka"))).all()


def test_unsigned_bytes_do_not_overflow():
    X = np.array([[0, 255], [255, 0], [250, 3]], dtype=np.uint8)
    wide = X.astype(float)
    assert_allclose(gs.Linear()(X), wide @ wide.T)
    assert_allclose(gs.Gaussian(100.0)(X), tb.gaussian(wide, None, 100.0))


def test_centred_alignment_of_a_wide_gaussian_keeps_its_digits():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(600, 3))
    y = X[:, 0] > 0
    # As the width grows, the centred Gaussian tends to the centred linear kernel.
    linear = gs.cka(gs.Gram(gs.Linear(), X), y)
    for width, digits in ((1e1, 5e-2), (1e2, 1e-3), (1e3, 1e-5)):
        assert gs.cka(gs.Gram(gs.Gaussian(width), X), y) == pytest.approx(linear, rel=digits)


def test_numerically_constant_kernel_is_zero_with_a_warning():
    from gramsmith.measures.alignment import ConstantKernelWarning

    X = np.arange(10.0)[:, None]
    with pytest.warns(ConstantKernelWarning):
        assert gs.cka(gs.Gram(gs.Gaussian(1e9), X), np.arange(10) % 2) == 0.0


def test_overflow_names_the_kernel_and_the_remedy(X):
    with np.errstate(all="ignore"), pytest.raises(ValueError, match=r"Polynomial.*StandardScaler"):
        gs.kta(gs.Gram(gs.Polynomial(6), 1e60 * X), np.arange(40) % 2)


def test_classes_that_fall_together_have_infinite_fsm():
    K = np.ones((6, 6)) + 1e-17
    assert gs.fsm(K, [0, 0, 0, 1, 1, 1]) == np.inf
