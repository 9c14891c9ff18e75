import numpy as np
import pytest

from gramsmith.gram.compiled import STRIP, tile_sums, tile_weights

pytest.importorskip("numba")

SHAPES = [(1, 1), (2, 3), (3, 40), (STRIP + 1, 9), (4 * STRIP, 70)]
TYPES = {np.float64: 1e-14, np.float32: 2e-6}


def close(got, wanted, tolerance):
    np.testing.assert_allclose(got, wanted, rtol=0.0, atol=tolerance * np.abs(wanted).max())


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("t", [0, 1, 3])
@pytest.mark.parametrize("weighted", [True, False])
def test_sums_of_a_tile(rng, shape, dtype, t, weighted):
    m, n = shape
    K = rng.normal(size=shape).astype(dtype)
    VI, VJ = (np.asfortranarray(rng.normal(size=(b, t)), dtype=dtype) for b in shape)
    wi, wj = (rng.random(b) for b in shape) if weighted else (None, None)
    before = rng.normal(size=(m, t)), rng.normal(size=(n, t))
    PI, PJ = (P.copy() for P in before)
    square = tile_sums(K, 0.25, VI, VJ, wi, wj, PI, PJ)
    B = K.astype(float) - 0.25
    weights = np.outer(wi, wj) if weighted else 1.0
    tolerance = TYPES[dtype] * np.sqrt(max(shape))
    assert square == pytest.approx((weights * B**2).sum(), rel=tolerance)
    if t:
        close(PI, before[0] + B @ VJ, tolerance)
        close(PJ, before[1] + B.T @ VI, tolerance)
    alone = before[0].copy()
    assert tile_sums(K, 0.25, VI, VJ, wi, wj, alone, None) == square
    np.testing.assert_array_equal(alone, PI)


def test_float32_tiles_are_summed_in_float64(rng):
    # a sum over so many rows in float32 would be wrong in the fifth digit
    m = 40 * STRIP
    K = np.full((m, 4), 1.1, np.float32)
    PJ = np.zeros((4, 1))
    V = np.ones((m, 1), np.float32)
    square = tile_sums(K, 0.0, V, V[:4], None, None, np.zeros((m, 1)), PJ)
    np.testing.assert_allclose(PJ, m * float(np.float32(1.1)), rtol=2e-7)
    assert square == pytest.approx(4 * m * float(np.float32(1.1)) ** 2, rel=2e-7)


def test_values_that_are_not_finite_show_in_the_sum():
    K = np.ones((8, 8))
    K[5, 3] = np.nan
    V = np.ones((8, 1))
    assert np.isnan(tile_sums(K, 0.0, V, V, None, None, np.zeros((8, 1)), None))
    K[5, 3] = np.inf
    assert tile_sums(K, 0.0, V, V, None, None, np.zeros((8, 1)), None) == np.inf


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("t", [1, 4, 6])
@pytest.mark.parametrize("weighted", [True, False])
def test_weights_of_a_tile(rng, shape, dtype, t, weighted):
    K = rng.normal(size=shape).astype(dtype)
    L, R = (rng.normal(size=(b, t)).astype(dtype) for b in shape)
    wi, wj = (rng.random(b) for b in shape) if weighted else (None, None)
    W = np.full(shape, np.nan, dtype)
    tile_weights(L, R, -1.5, K, wi, wj, W)
    weights = np.outer(wi, wj) if weighted else 1.0
    close(W, L.astype(float) @ R.T.astype(float) - 1.5 * weights * K, TYPES[dtype])
