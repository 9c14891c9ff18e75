from decimal import Decimal, localcontext
from importlib.util import find_spec
from itertools import pairwise

import numpy as np
import pytest
from sklearn.base import clone

import gramsmith as gs
from gramsmith.gram.band import Weights
from gramsmith.kernels.compilation import compiled_route
from gramsmith.kernels.compiled import (
    HEIGHT,
    NONE,
    NUMBERS,
    POWERS,
    STRIP,
    Pull,
    Run,
    band_sums,
    columns_first,
    double_exponentials,
    exp,
    fours,
    single_exponentials,
    tile_sums,
    tile_weights,
)
from gramsmith.kernels.embedding import add_named, rows

needs_numba = pytest.mark.skipif(find_spec("numba") is None, reason="needs numba")

TYPES = [np.float64, np.float32]


@pytest.fixture(params=["compiled", "numpy"])
def computed(request):
    """Return exp by one of the two routes."""
    if request.param == "compiled":
        pytest.importorskip("numba")

    def values(x):
        x = np.array(x)
        with compiled_route(request.param == "compiled"), np.errstate(over="ignore"):
            assert exp(x) is x
        return x

    return values


def units(value, exact, dtype):
    """The error of a value in units of the last place of the exact one, which is a Decimal."""
    place = Decimal(float(np.spacing(dtype(float(exact)))))
    return float(abs(Decimal(float(value)) - exact) / place)


def least(dtype):
    """The smallest x whose exp is not 0."""
    return np.log(np.finfo(dtype).smallest_subnormal.astype(np.longdouble)) - np.log(2.0)


@pytest.mark.parametrize("dtype", TYPES)
def test_two_units_in_the_last_place(rng, computed, dtype):
    low = float(least(dtype))
    normal = float(np.log(np.finfo(dtype).tiny))
    x = np.concatenate(
        [
            np.linspace(low, 0.0, 1000),
            np.linspace(low, normal + 1.0, 300),  # subnormal results
            rng.uniform(-2.0, 0.0, 700),
            -np.logspace(-20, 0, 200),
            # where k changes, and r is largest
            np.nextafter((np.arange(0.5, 30.5) * -np.log(2.0)), 0.0),
            np.arange(0.5, 30.5) * -np.log(2.0),
        ]
    ).astype(dtype)
    with localcontext() as context:
        context.prec = 40
        worst = max(
            units(y, Decimal(float(v)).exp(), dtype)
            for v, y in zip(x, computed(x), strict=True)
            if v > low
        )
    assert worst <= 2.0


@pytest.mark.parametrize("dtype", TYPES)
def test_the_ends_of_the_range(computed, dtype):
    tiny = np.finfo(dtype).smallest_subnormal
    highest = np.log(np.finfo(dtype).max, dtype=dtype)
    if np.exp(highest.astype(np.longdouble)) > np.finfo(dtype).max:
        highest = np.nextafter(highest, dtype(0))
    x = [0.0, -0.0, least(dtype) + 0.1, least(dtype) - 0.1, -1e30, -np.inf, np.nan]
    x += [highest, highest + 0.1, 1e30, np.inf]
    got = computed(np.array(x, dtype=dtype))
    assert got[:2].tolist() == [1.0, 1.0]
    assert got[2] == tiny
    assert got[3:6].tolist() == [0.0, 0.0, 0.0]
    assert np.isnan(got[6])
    assert np.finfo(dtype).max * 0.99 < got[7] < np.inf
    assert got[8:].tolist() == [np.inf] * 3


@pytest.mark.parametrize("dtype", TYPES)
def test_every_place_of_an_array_is_computed(rng, computed, dtype):
    # vector instructions take several at once; what is left over goes another way
    for size in (0, 1, 7, 8, 9, 31, 33):
        x = rng.uniform(-20.0, 0.0, size).astype(dtype)
        np.testing.assert_allclose(
            computed(x), np.exp(x), rtol=4 * np.finfo(dtype).eps, strict=True
        )


def test_any_shape_and_order(rng, computed):
    x = rng.normal(size=(6, 8))
    np.testing.assert_allclose(computed(x), np.exp(x), rtol=1e-15)
    np.testing.assert_allclose(computed(np.asfortranarray(x)), np.exp(x), rtol=1e-15)


@pytest.mark.parametrize(
    ("loop", "dtype"), [(double_exponentials, np.float64), (single_exponentials, np.float32)]
)
def test_machine_code_is_of_vectors(loop, dtype):
    numba = pytest.importorskip("numba")
    made = numba.njit(fastmath={"contract"})(loop)  # code that was kept cannot be read
    made(np.zeros(4, dtype), NUMBERS[np.dtype(dtype)], POWERS[np.dtype(dtype)])
    code = "".join(made.inspect_asm().values())
    if "vfmadd" not in code:
        pytest.skip("the processor has no fused multiply-add of x86")
    operation = "pd" if dtype is np.float64 else "ps"
    lines = [line for line in code.splitlines() if "vfmadd" in line and operation in line]
    assert any("ymm" in line or "zmm" in line for line in lines)


SHAPES = [(1, 1), (2, 3), (3, 40), (STRIP + 1, 9), (4 * STRIP, 70)]
ROUNDING = {np.float64: 1e-14, np.float32: 2e-6}


def close(got, wanted, tolerance):
    np.testing.assert_allclose(got, wanted, rtol=0.0, atol=tolerance * np.abs(wanted).max())


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", ROUNDING)
@pytest.mark.parametrize("t", [0, 1, 3])
@pytest.mark.parametrize("weighted", [True, False])
@needs_numba
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
    tolerance = ROUNDING[dtype] * np.sqrt(max(shape))
    assert square == pytest.approx((weights * B**2).sum(), rel=tolerance)
    if t:
        close(PI, before[0] + B @ VJ, tolerance)
        close(PJ, before[1] + B.T @ VI, tolerance)
    alone = before[0].copy()
    assert tile_sums(K, 0.25, VI, VJ, wi, wj, alone, None) == square
    np.testing.assert_array_equal(alone, PI)


@needs_numba
def test_float32_tiles_are_summed_in_float64(rng):
    # a sum over so many rows in float32 would be wrong in the fifth digit
    m = 40 * STRIP
    K = np.full((m, 4), 1.1, np.float32)
    PJ = np.zeros((4, 1))
    V = np.ones((m, 1), np.float32)
    square = tile_sums(K, 0.0, V, V[:4], None, None, np.zeros((m, 1)), PJ)
    np.testing.assert_allclose(PJ, m * float(np.float32(1.1)), rtol=2e-7)
    assert square == pytest.approx(4 * m * float(np.float32(1.1)) ** 2, rel=2e-7)


@needs_numba
def test_values_that_are_not_finite_show_in_the_sum():
    K = np.ones((8, 8))
    K[5, 3] = np.nan
    V = np.ones((8, 1))
    assert np.isnan(tile_sums(K, 0.0, V, V, None, None, np.zeros((8, 1)), None))
    K[5, 3] = np.inf
    assert tile_sums(K, 0.0, V, V, None, None, np.zeros((8, 1)), None) == np.inf


def some_weights(rng, K, t, weighted):
    """Weights as a backward sweep makes them, and the matrix that they stand for."""
    L, R = (rng.normal(size=(b, t)).astype(K.dtype) for b in K.shape)
    wi, wj = (rng.random(b) for b in K.shape) if weighted else (None, None)
    matrix = L.astype(float) @ R.T - 1.5 * (np.outer(wi, wj) if weighted else 1.0) * K
    return Weights(L, R, [(-1.5, K)], wi, wj), matrix


@needs_numba
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", ROUNDING)
@pytest.mark.parametrize("t", [1, 4, 6])
def test_weights_of_a_tile(rng, shape, dtype, t):
    K = rng.normal(size=shape).astype(dtype)
    for weighted in (True, False):
        weights, matrix = some_weights(rng, K, t, weighted)
        W = np.full(shape, np.nan, dtype)
        tile_weights(weights, W)
        close(W, matrix, ROUNDING[dtype])


BANDS = {
    "one row": ([0, 1], True),
    "one tile": ([0, 40], False),
    "diagonal": ([0, HEIGHT + 3, HEIGHT + 4], True),
    "three tiles": ([0, 2 * HEIGHT + 1, 2 * HEIGHT + 10, 2 * HEIGHT + 50], True),
}


def band_of(name, rng, dtype, kernel):
    """A band: embeddings of its rows and columns, where its tiles begin, its matrix."""
    edges, same = BANDS[name]
    E = kernel.embed(rng.normal(size=(edges[-1], 3)), np.zeros(3), dtype)
    b = rows(E, slice(edges[1]))
    a = b if same else kernel.embed(rng.normal(size=(17, 3)), np.zeros(3), dtype)
    K = kernel.tile(a, E).astype(float)
    if same:
        K[:, : edges[1]] = kernel.tile(a, a)
    # rows and columns have probes and weights of their own, one after the other
    run = Run(np.array(edges), np.arange(len(edges) - 1) % 2, same, 0, len(K))
    return a, E, run, K


CURVES = {
    "root": gs.Matern(2.0, nu=0.5),
    "matern": gs.Matern(2.0, nu=1.5),
    "smooth": gs.Matern(2.0, nu=2.5),
    "rational": gs.RationalQuadratic(2.0, alpha=1.3),
    "power": gs.Polynomial(3, gamma=0.3, coef0=0.5),
    "line": gs.Linear(),
    "tangent": gs.Sigmoid(0.4, coef0=-0.2),
}


@needs_numba
@pytest.mark.parametrize("dtype", ROUNDING)
@pytest.mark.parametrize("kernel", CURVES)
def test_curves_are_the_values_of_kernels(rng, kernel, dtype):
    """Rows from all but equal to far apart: from one end of the curve to the other."""
    kernel = CURVES[kernel]
    x = np.concatenate([rng.normal(size=(90, 3)) * scale for scale in (1e-6, 1e-2, 1.0, 5.0)])
    a = kernel.embed(x, np.zeros(3), dtype)
    wanted = kernel.tile(a, a)
    with compiled_route(True):
        got = kernel.tile_into(a, a, np.empty(wanted.shape, dtype))
    assert got.dtype == wanted.dtype == dtype
    eps = np.finfo(dtype).eps
    np.testing.assert_allclose(got, wanted, rtol=50 * eps, atol=4 * eps)


@needs_numba
@pytest.mark.parametrize("dtype", ROUNDING)
def test_slight_tangents_keep_their_digits(rng, dtype):
    kernel = gs.Sigmoid(1e-9)
    a = kernel.embed(rng.normal(size=(20, 3)), None, dtype)
    with compiled_route(True):
        got = kernel.tile_into(a, a, np.empty((20, 20), dtype))
    np.testing.assert_allclose(got, kernel.tile(a, a), rtol=4 * np.finfo(dtype).eps)


class Tripled(gs.Matern):
    """A kernel of one's own: the curve of the class it derives from is not its own."""

    def value(self, s):
        return 3.0 * super().value(s)

    def slope(self, s):
        return 3.0 * super().slope(s)


def test_a_derived_kernel_is_not_taken_for_its_base(rng):
    kernel = Tripled()
    a = kernel.embed(rng.normal(size=(5, 2)), np.zeros(2))
    assert gs.Matern().curved(a, a) is not None
    assert kernel.curved(a, a) is None
    with compiled_route(True):
        np.testing.assert_array_equal(kernel.tile_into(a, a, np.empty((5, 5))), kernel.tile(a, a))


@needs_numba
@pytest.mark.parametrize("band", BANDS)
@pytest.mark.parametrize("dtype", ROUNDING)
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("kernel", [gs.Gaussian(2.0), gs.Laplacian(2.0, norm="l2")])
def test_sums_of_a_band(rng, band, dtype, weighted, kernel):
    a, E, run, K = band_of(band, rng, dtype, kernel)
    b, c, t = *K.shape, 3
    VI, VJ = (rng.normal(size=(n, t)).astype(dtype) for n in (b, c))
    wi, wj = (rng.random(n) for n in (b, c)) if weighted else (None, None)
    pivots = np.array([0.25, 0.0, 0.1])
    right, left = np.ones((3, 2, b, t)), np.ones((3, c, t))
    U = columns_first(np.concatenate([VI, VJ]))
    w = np.concatenate([wi, wj]) if weighted else NONE
    found = band_sums(kernel.curved(a, E), run, pivots, U, w, right, left)
    weights = np.outer(wi, wj) if weighted else np.ones((b, c))
    wanted_right, wanted_left = np.ones(right.shape), np.ones(left.shape)
    tolerance = 4 * ROUNDING[dtype] * np.sqrt(c)
    for k, pivot in enumerate(pivots):
        B = K ** (2**k) - pivot  # a path: every kernel is the square of the one before
        for tile, fold in enumerate(run.folds):
            J = slice(*run.edges[tile : tile + 2])
            close(found[k, tile], np.array((weights * B**2)[:, J].sum()), tolerance)
            wanted_right[k, fold] += B[:, J] @ VJ[J]
            if not (run.same and tile == 0):
                wanted_left[k, J] += B[:, J].T @ VI
    close(right, wanted_right, tolerance)
    close(left, wanted_left, tolerance)


def pull_of(L, R, fi, fj, run):
    """The derivatives by the tiles of a band whose columns stand after its rows."""
    (b, t), c = L.shape, len(R)
    left = np.concatenate([L, np.zeros((c, t), L.dtype)])
    right = np.concatenate([np.zeros((b, t), R.dtype), R])
    fi, fj = np.concatenate([fi, fj * 0]), np.concatenate([fi * 0, fj])
    return Pull(fours(left), fours(right), fi, fj, run)


@needs_numba
@pytest.mark.parametrize("dtype", ROUNDING)
@pytest.mark.parametrize("kernel", CURVES)
@pytest.mark.parametrize("wants", ["samples", "parameters"])
def test_derivatives_of_a_band_of_any_curve(rng, dtype, kernel, wants):
    """Against the derivatives of its tiles, one by one."""
    kernel = CURVES[kernel]
    a, E, run, K = band_of("three tiles", rng, dtype, kernel)
    L, R = (rng.normal(size=(n, 3)).astype(dtype) for n in K.shape)
    fi, fj = (rng.random(n).astype(dtype) for n in K.shape)
    W = L.astype(float) @ R.T + np.outer(fi.astype(float), fj) * K
    W[:, : run.edges[1]] *= 0.5
    da, db, named = kernel.band_vjp(a, E, pull_of(L, R, fi, fj, run), wants)
    wide = [kernel.embed(kernel.geometry.points(e), np.zeros(3)) for e in (a, E)]
    if kernel.scales_inputs:  # the points are scaled already
        wide = [
            clone(kernel).set_params(length_scale=1.0).embed(kernel.geometry.points(e), np.zeros(3))
            for e in (a, E)
        ]
    wanted_a, wanted_b, wanted = 0.0, [], {}
    for start, stop in pairwise(run.edges):
        J = slice(start, stop)
        there = wide[0] if start == 0 else rows(wide[1], J)
        xa, xb, parts = kernel.tile_vjp(wide[0], there, W[:, J])
        wanted_a, wanted_b = wanted_a + xa, [*wanted_b, xb]
        add_named(wanted, parts)
    tolerance = 40 * ROUNDING[dtype] * np.sqrt(max(K.shape))
    size = np.abs(W).sum()
    if wants == "samples":
        np.testing.assert_allclose(da, wanted_a, atol=tolerance * np.abs(wanted_a).max())
        np.testing.assert_allclose(db, np.vstack(wanted_b), atol=tolerance * np.abs(wanted_a).max())
    elif kernel.scales_inputs:
        _, by_length = kernel.embed_vjp(None, None, wide[0], wanted_a)
        _, more = kernel.embed_vjp(None, None, wide[1], np.vstack(wanted_b))
        wanted["length_scale"] = by_length["length_scale"] + more["length_scale"]
    assert named.keys() == wanted.keys()
    for name, value in named.items():
        assert value == pytest.approx(wanted[name], abs=tolerance * size)


@needs_numba
@pytest.mark.parametrize("band", BANDS)
@pytest.mark.parametrize("dtype", ROUNDING)
@pytest.mark.parametrize("t", [1, 4, 6])
def test_derivatives_of_a_band(rng, band, dtype, t):
    kernel = gs.Gaussian(np.sqrt(0.5))  # exp(-|x - z|²)
    a, E, run, K = band_of(band, rng, dtype, kernel)
    L, R = (rng.normal(size=(n, t)).astype(dtype) for n in K.shape)
    fi, fj = (rng.random(n).astype(dtype) for n in K.shape)
    V = (L.astype(float) @ R.T + np.outer(fi.astype(float), fj) * K) * K
    if run.same:
        V[:, : run.edges[1]] *= 0.5
    pull = pull_of(L, R, fi, fj, run)
    x, z = (e[1][:, :3].astype(float) for e in (a, E))
    apart = x[:, None] - z
    d = -2.0 * V[:, :, None] * apart
    da, db, named = kernel.band_vjp(a, E, pull, "samples")
    tolerance = 20 * ROUNDING[dtype] * np.sqrt(max(K.shape))
    assert not named
    size = np.abs(V).sum(axis=1).max()
    np.testing.assert_allclose(da, d.sum(axis=1), atol=tolerance * size)
    np.testing.assert_allclose(db, -d.sum(axis=0), atol=tolerance * size)
    # otherwise only the products with the rows are right
    products = (da * x).sum(axis=0) + (db * z).sum(axis=0)
    da, db, _ = kernel.band_vjp(a, E, pull, "scales")
    got = (da * x).sum(axis=0) + (db * z).sum(axis=0)
    np.testing.assert_allclose(got, products, atol=tolerance * np.abs(V).sum())
    raw = [np.hstack([r, np.ones((len(r), 1))]).astype(dtype) for r in (x, z)]
    scatter, _ = kernel.scatter(a, E, pull, *raw)
    wanted = np.einsum("ij,ijk,ijl->kl", V, apart, apart)
    np.testing.assert_allclose(scatter, wanted, atol=tolerance * np.abs(V).sum())
