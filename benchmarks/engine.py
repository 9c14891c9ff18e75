"""The engine against the floor (tiles of matrix product and exponential alone) and scikit-learn."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np
from sklearn.gaussian_process.kernels import RBF
from sklearn.metrics.pairwise import rbf_kernel

import gramsmith as gs
from benchmarks.learning import against_nca
from benchmarks.measuring import (
    Row,
    at_least,
    at_most,
    best,
    compare,
    extra_memory,
    has_avx512,
    instructions,
    processor,
    show,
)
from gramsmith.gram.plan import MIB, make_plan
from gramsmith.gram.threads import count_workers, ordered_map
from gramsmith.kernels.compilation import available
from gramsmith.kernels.embedding import lend, scratch
from gramsmith.kernels.pointwise import EXPONENTIAL, _compiled, write_values
from gramsmith.learning.objective import KernelObjective
from gramsmith.learning.samples import make_draw
from gramsmith.measures import MEASURES, get_measure
from gramsmith.targets import make_target

P = 20
WIDTH = float(np.sqrt(P))


def data(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return n rows with labels of a product."""
    X = np.random.default_rng(0).normal(size=(n, P))
    return X, (X[:, 0] * X[:, 1] > 0).astype(int)


def floor(X: np.ndarray, dtype: type, jobs: int | None = None) -> Callable[[], None]:
    """Return the work below which no Gaussian sweep can fall: products and exponentials.

    Every thread writes into one array of its own.
    """
    Z = (X / WIDTH / np.sqrt(2)).astype(dtype)
    plan = make_plan(len(X), dtype)

    def tile(pair: tuple[int, int]) -> None:
        a, b = (Z[plan.blocks[i].rows] for i in pair)
        with scratch():
            K = lend((len(a), len(b)), dtype)
            np.matmul(a, b.T, out=K)
            np.exp(K, out=K)

    def run() -> None:
        for _ in ordered_map(tile, plan.tiles, count_workers(jobs)):
            pass

    return run


def gradient(kernel: gs.kernels.Kernel, X: np.ndarray, y: np.ndarray, dtype: type) -> object:
    """Return the derivative of CKA by the parameters of a kernel."""
    goal = make_target(y)
    G = gs.Gram(kernel, X, dtype=dtype)
    moments = G.moments(goal)
    _, adjoint = get_measure("cka").value_and_adjoint(moments, goal)
    return G.pullback(adjoint, goal, moments, inputs=False)


def sweeps(X: np.ndarray, y: np.ndarray, dtype: type) -> dict[str, Callable[[], object]]:
    """Return what is compared with the floor."""
    kernel = gs.Gaussian(WIDTH)
    full = gs.Gaussian() @ gs.LinearMap(np.eye(P) / WIDTH)
    names = list(MEASURES)
    return {
        "all measures": lambda: gs.evaluate([kernel], X, y, measures=names, folds=0, dtype=dtype),
        "all measures, ten-fold errors": lambda: gs.evaluate([kernel], X, y, dtype=dtype),
        "value and gradient, diagonal": lambda: gradient(
            gs.Gaussian(np.full(P, WIDTH)), X, y, dtype
        ),
        "value and gradient, full map": lambda: gradient(full, X, y, dtype),
    }


def limits(dtype: type) -> list[float | None]:
    """Return what the ratios of `sweeps` should not exceed, on this class of processor."""
    double = dtype is np.float64
    if not available():
        return [1.5, None, None, None]
    if has_avx512():
        return [1.35, 1.7, 3.5, 3.5]
    return [0.7 if double else 1.3, 1.0 if double else 1.7, 2.0, 2.0]


def against_the_floor(n: int, repeats: int) -> list[Row]:
    """Compare sweeps with the floor for both data types."""
    X, y = data(n)
    rows = []
    for dtype in (np.float64, np.float32):
        work = sweeps(X, y, dtype)
        for run in work.values():
            run()  # compiles
        base, *times = compare(floor(X, dtype), *work.values(), repeats=repeats)
        label = f"n = {n}, {np.dtype(dtype).name}"
        rows.append(Row(f"{label}: floor", f"{base:.3g} s", "", None))
        for name, seconds, limit in zip(work, times, limits(dtype), strict=True):
            title, ratio = f"{label}: {name} / floor", seconds / base
            if limit is None:
                rows.append(Row(title, f"{ratio:.3g} x", "", None))
            else:
                rows.append(at_most(title, ratio, limit))
    return rows


def speed_up(n: int = 40_000) -> list[Row]:
    """Compare what a second thread gains with what it gains for the floor."""
    X, y = data(n)
    rows = []
    for dtype in (np.float64, np.float32):

        def sums(jobs: int, dtype: type = dtype) -> object:
            G = gs.Gram(gs.Gaussian(WIDTH), X, n_jobs=jobs, dtype=dtype)
            return G.moments(make_target(y))

        one, two, ours, both = compare(
            *(floor(X, dtype, 1), floor(X, dtype, 2), lambda: sums(1), lambda: sums(2)), repeats=3
        )
        name = f"n = {n}, {np.dtype(dtype).name}: speed-up by a second thread"
        rows.append(Row(f"{name}, floor", f"{one / two:.3g} x", "", None))
        rows.append(at_least(f"{name}, ours / the floor's", (ours / both) / (one / two), 0.9))
    return rows


def minibatch(n: int = 400_000, batch: int = 512, steps: int = 30) -> list[Row]:
    """Compare the steps of a learner, each on some rows of many, with steps on rows of few."""
    X, y = data(n)
    kernel = gs.Gaussian() @ gs.LinearMap(np.eye(P) / WIDTH)

    def learn(rows: int) -> Callable[[], None]:
        target = make_target(y[:rows])
        draw = make_draw(target, np.arange(rows), batch, np.random.RandomState(0))

        def run() -> None:
            for _ in range(steps):
                chosen = draw()
                goal = KernelObjective("cka", X[chosen], target.take(chosen))
                goal.value_and_gradient(kernel)

        return run

    many, few = compare(learn(n), learn(2 * batch), repeats=4)
    name = f"{steps} steps of {batch} rows, of {n} / of {2 * batch}"
    return [
        Row("a step", f"{1000 * few / steps:.3g} ms", "", None),
        at_most(name, many / few, 1.25),
    ]


OTHER_KERNELS = {
    "Laplacian, l2": gs.Laplacian(WIDTH, norm="l2"),
    "Matérn 5/2": gs.Matern(WIDTH, nu=2.5),
    "rational quadratic": gs.RationalQuadratic(WIDTH, alpha=1.5),
    "polynomial": gs.Polynomial(3, gamma=1.0 / P),
    "sigmoid": gs.Sigmoid(0.2 / P),
}


def other_kernels(n: int = 10_000) -> list[Row]:
    """Measure sums and gradients of kernels that are other functions of a matrix product."""
    X, y = data(n)
    goal, rows = make_target(y), []
    for dtype in (np.float64, np.float32):
        for name, kernel in OTHER_KERNELS.items():

            def sums(kernel: gs.kernels.Kernel = kernel, dtype: type = dtype) -> object:
                return gs.Gram(kernel, X, dtype=dtype).moments(goal)

            def both(kernel: gs.kernels.Kernel = kernel, dtype: type = dtype) -> object:
                return gradient(kernel, X, y, dtype)

            both()  # compiles
            base, forward, back = compare(floor(X, dtype), sums, both, repeats=2)
            figure = f"{forward / base:.3g}, {back / base:.3g} x"
            title = f"{np.dtype(dtype).name}: {name}, sums and with gradient"
            rows.append(Row(f"{title} / floor", figure, "", None))
    return rows


COMPOSITES: dict[str, tuple[gs.kernels.Kernel, list[gs.kernels.Kernel]]] = {
    "Matérn + 1": (gs.Matern(WIDTH) + 1.0, [gs.Matern(WIDTH), gs.Constant()]),
    "2 Matérn": (2.0 * gs.Matern(WIDTH), [gs.Matern(WIDTH)]),
    "2 Gaussian": (2.0 * gs.Gaussian(WIDTH), [gs.Gaussian(WIDTH)]),
    "Gaussian + Matérn": (
        gs.Gaussian(WIDTH) + gs.Matern(WIDTH),
        [gs.Gaussian(WIDTH), gs.Matern(WIDTH)],
    ),
    "Gaussian * Matérn": (
        gs.Gaussian(WIDTH) * gs.Matern(WIDTH),
        [gs.Gaussian(WIDTH), gs.Matern(WIDTH)],
    ),
    "Normalized polynomial": (
        gs.Normalized(gs.Polynomial(3, gamma=1.0 / P)),
        [gs.Polynomial(3, gamma=1.0 / P)],
    ),
    "Gaussian of a full map": (
        gs.Gaussian() @ gs.LinearMap(np.eye(P) / WIDTH),
        [gs.Gaussian(WIDTH)],
    ),
    "Matérn of a diagonal map": (
        gs.Matern() @ gs.LinearMap(np.full(P, 1.0 / WIDTH)),
        [gs.Matern(WIDTH)],
    ),
}


def composites(n: int = 6000) -> list[Row]:
    """Compare gradients of kernels made of kernels with those of their parts, one thread."""
    X, y = data(n)
    goal, measure, rows = make_target(y), get_measure("cka"), []

    def seconds(kernel: gs.kernels.Kernel) -> float:
        G = gs.Gram(kernel, X, n_jobs=1)
        moments = G.moments(goal)
        adjoint = MEASURES["polarity"].value_and_adjoint(moments, goal)[1]
        if not isinstance(kernel, gs.Constant):  # whose CKA is not defined
            adjoint = measure.value_and_adjoint(moments, goal)[1]
        times = []
        for _ in range(4):  # the first one compiles
            begun = time.process_time()
            G.pullback(adjoint, goal, moments, inputs=False)
            times.append(time.process_time() - begun)
        return min(times)

    for name, (kernel, parts) in COMPOSITES.items():
        whole, bare = seconds(kernel), sum(map(seconds, parts))
        rows.append(at_most(f"gradient of {name}, {whole:.3f} s / its parts", whole / bare, 2.0))
    return rows


def against_scikit_learn() -> list[Row]:
    """Compare KTA and a path of bandwidths with dense matrices."""
    X, y = data(10_000)
    signs = np.where(y == 1, 1.0, -1.0)
    rows = []
    for dtype, limit in ((np.float64, 10.0), (np.float32, 20.0)):
        Z, s = X.astype(dtype), signs.astype(dtype)

        def dense(Z: np.ndarray = Z, s: np.ndarray = s) -> float:
            K = rbf_kernel(Z, gamma=0.5 / WIDTH**2)
            return float(s @ K @ s / (len(s) * np.linalg.norm(K)))

        def ours(Z: np.ndarray = Z) -> float:
            return gs.kta(gs.Gram(gs.Gaussian(WIDTH), Z), y)

        slow, quick, base = compare(dense, ours, floor(X, dtype), repeats=4)
        name = np.dtype(dtype).name
        figure = f"{slow / base:.3g} x"
        rows.append(Row(f"KTA, n = 10000, {name}: rbf_kernel / floor", figure, "", None))
        rows.append(at_least(f"KTA, n = 10000, {name}: rbf_kernel / ours", slow / quick, limit))

    def loop() -> None:
        for j in range(16):
            K = rbf_kernel(X, gamma=2.0 ** (j - 8) / P)
            signs @ K @ signs / (len(signs) * np.linalg.norm(K))

    def path() -> object:
        return gs.bandwidth_path(X, y, folds=0)

    rows.append(at_least("16 bandwidths: loop / path", best(loop, 1) / best(path, 3), 20.0))
    return rows


MANY = """
    import numpy as np, gramsmith as gs
    from gramsmith.targets import make_target
    X = np.random.default_rng(0).normal(size=({n}, {P}))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    engine = gs.Threads(2, memory={budget})
    kernels = [gs.Gaussian(2.0 + 0.1 * j) for j in range({m})]
    fold = np.arange({n}) * {folds} // {n}
    def work(kernels):
        gs.evaluate(kernels, X, y, folds={folds} if {folds} > 1 else 0, engine=engine)
        if {cross}:
            gs.Gram(kernels, X, engine=engine).moments(make_target(y), fold=fold, cross=True)
    work(kernels[:2])
"""


def budgets(n: int = 4500, budget: int = 8) -> list[Row]:
    """Measure the memory of many kernels over a warm start, less the result."""
    rows = []
    for m in (1, 16, 60):
        for folds, cross in ((1, False), (10, False), (10, True)):
            setup = MANY.format(n=n, P=P, budget=budget, m=m, folds=folds, cross=cross)
            result = m * folds * n * 2 * 8 / MIB
            extra = extra_memory(setup, "work(kernels)") - result
            name = f"{m} kernels, {folds} folds{', products' if cross else ''}: extra memory"
            rows.append(at_most(f"{name} less result", extra, budget, " MiB"))
    return rows


def memory() -> list[Row]:
    """Measure extra memory, and the ARD gradient of scikit-learn's kernel."""
    setup = f"""
        import numpy as np, gramsmith as gs
        from gramsmith.targets import make_target
        from gramsmith.measures import MEASURES, get_measure
        gs.Gram, gs.Gaussian
        X = np.random.default_rng(0).normal(size=({{n}}, {P}))
        y = (X[:, 0] * X[:, 1] > 0).astype(int)
    """
    sweep = f"""
        goal = make_target(y)
        m = gs.Gram(gs.Gaussian({WIDTH}), X).moments(goal)
        [measure.value(m, goal) for measure in MEASURES.values()]
    """
    rows = [
        at_most(
            "all measures, n = 40000: extra memory",
            extra_memory(setup.format(n=40_000), sweep),
            200.0,
            " MiB",
        )
    ]
    ours = f"""
        goal = make_target(y)
        G = gs.Gram(gs.Gaussian(np.full({P}, {WIDTH})), X, memory=32)
        m = G.moments(goal)
        v, a = get_measure("cka").value_and_adjoint(m, goal)
        G.pullback(a, goal, m, inputs=False)
    """
    theirs = f"""
        from sklearn.gaussian_process.kernels import RBF
        RBF(np.full({P}, {WIDTH}))(X, eval_gradient=True)
    """
    small, large = (extra_memory(setup.format(n=2000), code) for code in (ours, theirs))
    rows.append(Row("ARD gradient, n = 2000: scikit-learn's memory", f"{large:.0f} MiB", "", None))
    rows.append(
        at_least(
            "ARD gradient, n = 2000: memory, scikit-learn / ours", large / max(small, 1.0), 50.0
        )
    )
    X, y = data(2000)
    goal = make_target(y)

    def derivatives() -> object:
        G = gs.Gram(gs.Gaussian(np.full(P, WIDTH)), X, memory=32)
        m = G.moments(goal)
        _, a = get_measure("cka").value_and_adjoint(m, goal)
        return G.pullback(a, goal, m, inputs=False)

    slow, quick = compare(
        lambda: RBF(np.full(P, WIDTH))(X, eval_gradient=True), derivatives, repeats=3
    )
    rows.append(at_least("ARD gradient, n = 2000: time, scikit-learn / ours", slow / quick, 10.0))
    return rows


def exactness(n: int = 5000) -> list[Row]:
    """Measure the error of exponentials, and compare the bits of sweeps on several engines."""
    rows = []
    for dtype in (np.float64, np.float32):
        name = np.dtype(dtype).name
        if available():
            x = np.linspace(np.log(np.finfo(dtype).smallest_subnormal), 0.0, 2_000_001, dtype=dtype)
            exact = np.exp(x.astype(np.longdouble))
            place = np.spacing(exact.astype(dtype)).astype(np.longdouble)
            _compiled(write_values, x.dtype, EXPONENTIAL.value)(x, (), x.dtype.type(-np.inf))
            error = float((np.abs(x - exact) / place).max())
            rows.append(at_most(f"exp, {name}, units in the last place", error, 2.0, ""))
        X, y = data(n)
        kernel, goal = gs.Gaussian(np.full(P, WIDTH)), make_target(y)
        found = set()
        for engine in (gs.Serial(), *(gs.Threads(jobs) for jobs in (1, 2, 3, 16))):
            G = gs.Gram(kernel, X, engine=engine, dtype=dtype)
            moments = G.moments(goal)
            _, adjoint = get_measure("cka").value_and_adjoint(moments, goal)
            slopes = G.pullback(adjoint, goal, moments)[0]
            numbers = (moments.P, moments.q, slopes.inputs, slopes.parameters["length_scale"])
            found.add(b"".join(np.asarray(part).tobytes() for part in numbers))
        title = f"{name}, n = {n}, results of 1, 2, 3, 16 threads that differ from Serial()"
        rows.append(at_most(title, float(len(found) - 1), 0.0, ""))
    return rows


OTHERS = {
    "AVX2": {
        "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR",
        "NUMBA_CPU_NAME": "haswell",
        "OPENBLAS_CORETYPE": "Haswell",
    },
    "without numba": {"GRAMSMITH_NUMBA": "0"},
}


def main() -> None:
    """Print all tables; those of the other class of processor and without numba as well."""
    named = os.environ.get("GRAMSMITH_BENCH", "")
    title = f"Against the floor{', ' * bool(named)}{named}: {instructions()}"
    few, many = (5, 1) if named else (10, 2)
    show(title, against_the_floor(10_000, few) + against_the_floor(40_000, many))
    show(f"Exactness{', ' * bool(named)}{named}", exactness())
    if named:
        return
    for name, variables in OTHERS.items():
        if name != "AVX2" or has_avx512():
            environment = {**os.environ, **variables, "GRAMSMITH_BENCH": name}
            subprocess.run([sys.executable, "-m", "benchmarks", "engine"], env=environment)
    show("A second thread", speed_up())
    show("Other kernels", other_kernels())
    show("Kernels made of kernels, n = 6000, processor seconds", composites())
    show("Minibatches", minibatch())
    show("Against scikit-learn", against_scikit_learn())
    show("Value and gradient against scikit-learn's NCA", against_nca())
    show("Memory", memory())
    show("Memory of many kernels, n = 4500, budget 8 MiB", budgets())


if __name__ == "__main__":
    print(processor())
    main()
