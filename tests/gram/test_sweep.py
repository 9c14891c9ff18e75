"""Compiled formulas and NumPy's: the same numbers, and each always the same bits."""

from functools import partial
from importlib.util import find_spec

import numpy as np
import pytest

import gramsmith as gs
from gramsmith.gram.engine import Threads
from gramsmith.gram.plan import make_plan
from gramsmith.kernels import compilation, pointwise
from gramsmith.measures import get_measure
from gramsmith.targets import make_target

N = 600

pytestmark = pytest.mark.skipif(find_spec("numba") is None, reason="needs numba")


@pytest.fixture
def on_route(sizes):
    """Return a way to compute something on the compiled or on the NumPy route."""

    def computed(route, function, *arguments, **options):
        sizes("kernels.compilation", SAMPLES=0 if route == "compiled" else 10**9)
        return function(*arguments, **options)

    return computed


KERNELS = {
    "gaussian": gs.Gaussian(2.0),
    "one width per feature": gs.Gaussian([1.0, 2.0, 3.0, 1.5]),
    "diagonal map": gs.Gaussian() @ gs.LinearMap(np.array([0.5, 1.0, 0.3, 0.2])),
    "full map": gs.Gaussian() @ gs.LinearMap(np.eye(4, 3) + 0.1),
    "nearly constant": gs.Gaussian(60.0),  # has a pivot
    "narrow": gs.Gaussian(0.1),
    "kink": gs.Laplacian(2.0, norm="l2"),
    "l1": gs.Laplacian(2.0),
    "smooth": gs.Matern(2.0, nu=2.5),
    "matern": gs.Matern(2.0, nu=1.5),
    "rational": gs.RationalQuadratic(2.0, alpha=1.5),
    "polynomial": gs.Polynomial(3),
    "sigmoid": gs.Sigmoid(0.1),
    "sum": gs.Gaussian(2.0) + gs.Polynomial(2),
    "product": gs.Gaussian(2.0) * gs.Laplacian(3.0, norm="l2"),
}


def samples(rng, apart=1e-9):
    X = rng.normal(size=(N, 4))
    X[7] = X[3]
    X[11] = X[5] + apart
    return X


def sums(kernel, X, y, dtype, w=None, folds=None, engine=None):
    goal = make_target(y, sample_weight=w)
    G = gs.Gram(kernel, X, dtype=dtype, engine=engine)
    m = G.moments(goal, fold=folds)
    return m.P, m.q, m.d


def derivatives(kernel, X, y, dtype, w=None, inputs=True, engine=None):
    goal = make_target(y, sample_weight=w)
    G = gs.Gram(kernel, X, dtype=dtype, engine=engine)
    m = G.moments(goal)
    value, adjoint = get_measure("cka").value_and_adjoint(m, goal)
    (found,) = G.pullback(adjoint, goal, m, inputs=inputs)
    numbers = [value, *found.parameters.values()]
    return [*numbers, found.inputs] if inputs else numbers


def agree(got, wanted, tolerance):
    for g, w in zip(got, wanted, strict=True):
        size = max(np.abs(w).max(initial=0.0), 1e-300)
        np.testing.assert_allclose(np.asarray(g) / size, np.asarray(w) / size, atol=tolerance)


TYPES = {"float64": 1e-12, "float32": 2e-5}


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("kernel", KERNELS)
def test_sums_of_both_routes(rng, on_route, kernel, dtype):
    X = samples(rng)
    y = X[:, 0] * X[:, 1] > 0
    work = partial(sums, KERNELS[kernel], X, y, dtype)
    got, wanted = on_route("compiled", work), on_route("numpy", work)
    agree(got, wanted, TYPES[dtype] * (100.0 if kernel == "nearly constant" else 1.0))
    assert any((g != w).any() for g, w in zip(got, wanted, strict=True))  # another route indeed


@pytest.mark.parametrize("dtype", TYPES)
def test_sums_with_weights_folds_and_classes(rng, on_route, dtype):
    X, w = samples(rng), rng.random(N)
    folds = np.repeat(np.arange(7), [1, 2, 100, 200, 100, 3, N - 406])
    for y in (X[:, 0], rng.integers(0, 3, N), rng.integers(0, 20, N)):
        work = partial(sums, gs.Gaussian(2.0), X, y, dtype, w, folds)
        agree(on_route("compiled", work), on_route("numpy", work), TYPES[dtype])


@pytest.mark.parametrize("dtype", TYPES)
def test_bands_of_several_tiles(rng, on_route, small_tiles, dtype):
    """Twelve blocks are bands of three, whose columns may be of several folds."""
    small_tiles(N // 12)
    X, w = samples(rng), rng.random(N)
    y = X[:, 0] * X[:, 1] > 0
    assert {band.stop - band.start for band in make_plan(N, dtype).bands} == {1, 2, 3}
    for folds in (None, np.arange(N) * 5 // N, np.arange(N) * 12 // N):
        work = partial(sums, gs.Gaussian(2.0), X, y, dtype, w, folds)
        agree(on_route("compiled", work), on_route("numpy", work), TYPES[dtype])
    for options in ({"w": w}, {"inputs": False}):
        work = partial(derivatives, gs.Gaussian(2.0), X, y, dtype, **options)
        agree(on_route("compiled", work), on_route("numpy", work), 10.0 * TYPES[dtype])


@pytest.mark.parametrize("dtype", TYPES)
def test_sums_of_a_path_and_of_several_kernels(rng, on_route, dtype):
    X = samples(rng)
    path = [gs.Gaussian(8.0 / np.sqrt(2.0) ** j) for j in range(12)]
    for kernels in (path, [gs.Gaussian(2.0), gs.Matern(1.0)]):
        work = partial(sums, kernels, X, X[:, 0] > 0, dtype)
        agree(on_route("compiled", work), on_route("numpy", work), TYPES[dtype])


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("kernel", KERNELS)
def test_derivatives_of_both_routes(rng, on_route, kernel, dtype):
    X = samples(rng, 1e-3 if kernel == "kink" else 1e-9)
    y = X[:, 0] * X[:, 1] > 0
    for options in ({"w": rng.random(N)}, {}, {"inputs": False}):
        work = partial(derivatives, KERNELS[kernel], X, y, dtype, **options)
        # differences of nearly equal numbers; few pairs
        looser = {"nearly constant": 1e4, "narrow": 1e3}.get(kernel, 10.0)
        agree(on_route("compiled", work), on_route("numpy", work), looser * TYPES[dtype])


@pytest.mark.parametrize("apart", [1e-6, 1e-9])
def test_nearly_equal_rows_at_a_kink(rng, on_route, apart):
    """The slope is 1 / 2r there, and the derivative V x - V z of rows whose difference is r.

    Both routes round V x in its last digit, which is eps |x| / r of what is left: as much as the
    rounding of x itself changes the direction from z to x.
    """
    X = samples(rng, apart)
    work = partial(derivatives, KERNELS["kink"], X, X[:, 0] * X[:, 1] > 0, "float64")
    tolerance = np.finfo(float).eps * np.abs(X).max() / (apart / 2.0)
    agree(on_route("compiled", work), on_route("numpy", work), 1e-11 + tolerance)


@pytest.mark.parametrize("offset", [0.0, 1e10])
def test_far_from_zero(rng, on_route, offset):
    X = np.vstack([samples(rng)[: N // 2], 1e6 + samples(rng)[: N // 2]]) + offset
    work = partial(sums, gs.Gaussian(2.0), X, np.arange(N) % 2, "float64")
    got, wanted = on_route("compiled", work), on_route("numpy", work)
    agree(got, wanted, 1e-12)


@pytest.mark.parametrize("route", ["compiled", "numpy"])
@pytest.mark.parametrize("dtype", TYPES)
def test_any_number_of_threads_gives_the_same_bits(rng, on_route, route, dtype):
    X = samples(rng)
    y = X[:, 0] * X[:, 1] > 0
    kernel = gs.Gaussian() @ gs.LinearMap(np.eye(4) + 0.1)
    for work in (sums, derivatives):
        results = [
            on_route(route, work, kernel, X, y, dtype, engine=Threads(jobs))
            for jobs in (1, 2, 3, 16, 1)
        ]
        for other in results[1:]:
            for a, b in zip(results[0], other, strict=True):
                np.testing.assert_array_equal(a, b)


def test_the_number_of_samples_alone_chooses_the_route(monkeypatch):
    assert make_plan(compilation.SAMPLES, np.float64).compiled
    assert not make_plan(compilation.SAMPLES - 1, np.float32).compiled
    monkeypatch.setenv("GRAMSMITH_NUMBA", "0")
    assert not make_plan(compilation.SAMPLES, np.float64).compiled


def test_small_sweeps_load_no_compiler(rng, monkeypatch, sizes):
    def fail(*arguments, **options):
        raise AssertionError

    monkeypatch.setattr(pointwise, "compile_loop", fail)  # what all compiled tiles go through
    pointwise._compiled.cache_clear()
    X = samples(rng)
    assert 0.0 < gs.cka(gs.Gram(gs.Gaussian(), X), X[:, 0] > 0) < 1.0
    sizes("kernels.compilation", SAMPLES=0)
    with pytest.raises(AssertionError):
        gs.cka(gs.Gram(gs.Gaussian(), X), X[:, 0] > 0)


def test_errors_name_the_kernel_on_the_compiled_route(rng, on_route):
    X = rng.normal(size=(N, 2))
    X[5] = 1e100
    work = partial(sums, gs.Polynomial(2), X, X[:, 0] > 0, "float64", engine=Threads(1))
    with pytest.raises(ValueError, match="Polynomial"), np.errstate(over="ignore"):
        on_route("compiled", work)
