"""The engines: the same bits wherever the bands of a sweep are worked off."""

import pickle
from collections import deque
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone

import gramsmith as gs
from gramsmith.gram import Engine, Gram, Serial, Threads, as_engine
from gramsmith.gram.embedded import Unembedded
from gramsmith.gram.plan import make_plan
from gramsmith.measures import get_measure
from gramsmith.targets import make_target
from tools.machine_zoo import MACHINES


class Processes(Engine):
    """A pool of processes, a few bands ahead."""

    def __init__(self, pool):
        self.pool = pool

    def run(self, task, numbers):
        waiting = deque()
        for number in numbers:
            waiting.append(self.pool.submit(task.band, number))
            if len(waiting) > 4:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


@pytest.fixture(scope="module")
def processes():
    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        yield Processes(pool)


KERNELS = {
    "gaussian": gs.Gaussian(np.full(4, 2.0)),
    "map": gs.Gaussian.from_gamma(1.0) @ gs.LinearMap(np.eye(4) / 3),
    "rational": gs.RationalQuadratic(2.0, alpha=1.5),
    "sum": gs.Matern(2.0) + 0.5 * gs.Polynomial(2),
}


def samples(n, dtype):
    X = np.random.default_rng(0).normal(size=(n, 4)).astype(dtype)
    return X, (X[:, 0] * X[:, 1] > 0).astype(int)


def everything(engine, n, dtype):
    """Every sum and derivative that sweeps give, as text without rounding."""
    X, y = samples(n, dtype)
    goal = make_target(y, sample_weight=1.0 + np.arange(n) % 3)
    kernels = list(KERNELS.values())
    path = [gs.Gaussian(4.0 / np.sqrt(2.0) ** j) for j in range(3)]
    fold = np.arange(n) * 3 // n
    parts = []
    for cross in (False, True):
        sums = Gram([*kernels, *path], X, engine=engine).moments(goal, fold=fold, cross=cross)
        parts += [sums.P, sums.d, sums.q]
    parts.append(Gram(kernels[0], X, engine=engine) @ np.linspace(-1.0, 1.0, n))
    for kernel in kernels:
        G = Gram(kernel, X, engine=engine)
        sums = G.moments(goal)
        _, adjoint = get_measure("cka").value_and_adjoint(sums, goal)
        for inputs in (True, False):
            gradient = G.pullback(adjoint, goal, sums, inputs=inputs)[0]
            parts += [*gradient.parameters.values()] + ([gradient.inputs] if inputs else [])
    return [value.hex() for part in parts for value in np.ravel(np.float64(part))]


@pytest.mark.parametrize("route", ["compiled", "numpy"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_same_bits_on_every_engine(dtype, route, processes, sizes):
    if route == "compiled":
        pytest.importorskip("numba")
    # the plan says which route is taken, in other processes too
    sizes("kernels.compilation", SAMPLES=0 if route == "compiled" else 10**9)
    n = 1100
    plan = make_plan(n, dtype)
    assert len(plan.bands) > 5
    assert plan.compiled == (route == "compiled")
    expected = everything(Serial(), n, dtype)
    engines = (Threads(1), Threads(2), Threads(3), Threads(16), Threads(2, memory=32), processes)
    for engine in engines:
        assert everything(engine, n, dtype) == expected, engine


def test_bands_cover_the_tiles_in_their_order():
    for n in (1, 300, 5000, 40_000):
        plan = make_plan(n, np.float64)
        listed = [(b.row, j) for b in plan.bands for j in range(b.start, b.stop)]
        assert listed == plan.tiles
    assert len(plan.bands) > 16 * 16  # of use to many threads


def test_a_task_is_small_and_results_are_plain():
    """What travels is the embedding, not the samples, and no more than a few numbers per row."""
    X, y = samples(2000, np.float64)
    seen = {}

    class Spy(Engine):
        def run(self, task, numbers):
            seen[type(task).__name__] = len(pickle.dumps(task))
            for number in numbers:
                part = pickle.loads(pickle.dumps(task.band(number)))
                yield part

    G = Gram(KERNELS["gaussian"], X, engine=Spy())
    goal = make_target(y)
    sums = G.moments(goal)
    _, adjoint = get_measure("cka").value_and_adjoint(sums, goal)
    G.pullback(adjoint, goal, sums)
    assert seen.keys() == {"Forward", "Backward"}
    assert max(seen.values()) < 3 * 8 * 2000 * (4 + 2 + 2)


def test_fewer_threads_where_the_budget_is_short(monkeypatch):
    counts = []
    import gramsmith.gram.engine as module

    def spy(function, items, workers):
        counts.append(workers)
        return map(function, items)

    monkeypatch.setattr(module, "ordered_map", spy)
    X, y = samples(2300, np.float64)
    for memory in (None, 1024, 64, 16):
        engine = Threads(128, memory)
        gs.cka(Gram(gs.Gaussian(), X, engine=engine), y)
    assert counts[0] == counts[1] > 8
    assert counts[1] > counts[2] > counts[3] >= 1


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_machine_with_many_cores_needs_no_more_memory(dtype):
    """At 128 threads the default budget has no room for all, and fewer do the same work."""
    X, y = samples(2300, dtype)
    goal = make_target(y)
    values = []
    for engine in (Serial(), Threads(128), Threads(128, memory=24)):
        G = Gram(KERNELS["map"], X, engine=engine)
        sums = G.moments(goal)
        _, adjoint = get_measure("cka").value_and_adjoint(sums, goal)
        values.append(G.pullback(adjoint, goal, sums)[0])
    for other in values[1:]:
        np.testing.assert_array_equal(other.inputs, values[0].inputs)
        np.testing.assert_array_equal(other.parameters["map__S"], values[0].parameters["map__S"])


def test_engines_are_refused_before_work():
    X, _ = samples(20, np.float64)
    with pytest.raises(TypeError, match=r"Expected an engine, got str. Pass Threads\(n_jobs"):
        Gram(gs.Gaussian(), X, engine="threads")
    with pytest.raises(ValueError, match="got both"):
        Gram(gs.Gaussian(), X, engine=Serial(), n_jobs=2)
    with pytest.raises(ValueError, match="n_jobs"):
        Threads(0)
    with pytest.raises(ValueError, match="memory > 0"):
        Threads(memory=0)
    with pytest.raises(NotImplementedError, match="Engine defines no run"):
        gs.cka(Gram(gs.Gaussian(), X, engine=Engine()), np.arange(20) % 2)
    assert as_engine(n_jobs=3, memory=5) == Threads(3, 5)
    assert Serial().workers == Serial(memory=8).workers == 1
    with pytest.raises(TypeError, match="positional"):
        Serial(4)


def test_products_between_many_kernels(rng):
    """Strips of a tile, cut along its diagonal, give the sums of whole matrices."""
    X = rng.normal(size=(300, 3))
    w = 1.0 + np.arange(300) % 2
    kernels = [gs.Gaussian(0.5 + 0.1 * j) for j in range(40)]
    goal = make_target(X[:, 0] > 0, sample_weight=w)
    for dtype, tolerance in ((np.float64, 1e-10), (np.float32, 1e-5)):
        sums = Gram(kernels, X, dtype=dtype).moments(goal, cross=True)
        Ks = np.array([kernel(X) for kernel in kernels]) - sums.c[:, None, None]
        expected = np.einsum("kij,lij,i,j->kl", Ks, Ks, goal.w, goal.w, optimize=True)
        assert_allclose(sums.squares, expected, rtol=tolerance, atol=tolerance)
        assert_allclose(sums.PV, Ks @ goal.wV, rtol=tolerance, atol=tolerance * 100)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rows_embedded_when_needed_give_the_same_bits(dtype):
    """Sixty embeddings do not fit a small budget, and are made as bands ask for them."""
    X, y = samples(700, dtype)
    kinds = (gs.Gaussian, gs.Matern, gs.RationalQuadratic, lambda s: gs.Polynomial(2, gamma=s))
    kernels = [kind(1.0 + 0.1 * j) for j in range(15) for kind in kinds]
    for cross in (False, True):
        found = []
        for memory in (1000, 5):
            G = Gram(kernels, X, memory=memory)
            held = [not isinstance(member.E, Unembedded) for member in G._members]
            assert all(held) == (memory == 1000)
            found.append(G.moments(make_target(y), cross=cross))
        for name in ("P", "d", "q"):
            np.testing.assert_array_equal(*(getattr(sums, name) for sums in found))


def test_far_rows_are_embedded_once():
    # how each row is kept depends on the longest of all
    X, _ = samples(400, np.float64)
    X[7] = 1e9
    G = Gram([gs.Gaussian(1.0 + j) for j in range(20)], X, memory=8)
    assert not any(isinstance(member.E, Unembedded) for member in G._members)


class Counting(Engine):
    """The calling thread, which counts the sweeps."""

    def __init__(self):
        self.sweeps = 0

    def run(self, task, numbers):
        self.sweeps += 1
        return map(task.band, numbers)


SWEEPS = {
    "evaluate": lambda X, y, engine: gs.evaluate("rbf", X, y, engine=engine),
    "path": lambda X, y, engine: gs.bandwidth_path(X, y, engine=engine),
    "rank": lambda X, y, engine: gs.rank_kernels(X, y, {"a": gs.Gaussian()}, engine=engine),
    "selector": lambda X, y, engine: gs.KernelSelector([gs.Gaussian()], engine=engine).fit(X, y),
    "kernel": lambda X, y, engine: gs.KernelLearner(
        gs.Gaussian(), "cka", engine=engine, max_iter=2
    ).fit(X, y),
    "transform": lambda X, y, engine: gs.TransformLearner(
        measure="cka", engine=engine, max_iter=2
    ).fit(X, y),
    "combination": lambda X, y, engine: gs.KernelCombination(
        ["rbf", "poly"], random_state=0, engine=engine
    ).fit(X, y),
    "two": lambda X, y, engine: gs.TwoGaussianLearner(random_state=0, engine=engine).fit(X, y),
    "parzen": lambda X, y, engine: gs.ParzenClassifier(engine=engine).fit(X, y),
    "centroid": lambda X, y, engine: gs.CentroidClassifier(engine=engine).fit(X, y),
}


@pytest.mark.parametrize("use", SWEEPS)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_engine_reaches_every_sweep(use):
    X, y = samples(60, np.float64)
    engine = Counting()
    SWEEPS[use](X, y, engine)
    assert engine.sweeps


def test_clones_have_the_same_engine():
    for engine in (Counting(), Serial(), None):
        model = gs.KernelRidgeClassifier(gs.Gaussian(2.0), engine=engine)
        copied = clone(model)
        assert copied is not model
        assert copied.engine is engine is model.engine
        assert copied.kernel is not model.kernel
        assert copied.kernel.length_scale == 2.0


@pytest.mark.parametrize("machine", MACHINES, ids=lambda m: m.__name__)
def test_every_machine_takes_an_engine(machine):
    made = machine(engine=Serial())
    made.kernel_ = gs.Gaussian()
    assert made._gram(np.eye(3)).engine is made.engine


def test_an_engine_is_not_stored_with_a_model(stored):
    X, y = samples(60, np.float64)
    model = gs.KernelRidgeClassifier(engine=Serial()).fit(X, y)
    loaded = stored(model)
    assert loaded.engine is None
    assert (loaded.predict(X) == model.predict(X)).all()
