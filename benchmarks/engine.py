"""The engine against the floor (tiles of matrix product and exponential alone) and scikit-learn."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from sklearn.gaussian_process.kernels import RBF
from sklearn.metrics.pairwise import rbf_kernel

import gramsmith as gs
from benchmarks.measuring import Row, at_least, at_most, best, compare, extra_memory, show
from gramsmith.gram.plan import make_plan
from gramsmith.gram.threads import count_workers, ordered_map
from gramsmith.measures import MEASURES, get_measure
from gramsmith.targets import make_target

P = 20
WIDTH = float(np.sqrt(P))


def data(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return n rows with labels of a product."""
    X = np.random.default_rng(0).normal(size=(n, P))
    return X, (X[:, 0] * X[:, 1] > 0).astype(int)


def floor(X: np.ndarray, dtype: type) -> Callable[[], None]:
    """Return the work below which no Gaussian sweep can fall: products and exponentials."""
    Z = (X / WIDTH / np.sqrt(2)).astype(dtype)
    plan = make_plan(len(X), dtype)

    def tile(pair: tuple[int, int]) -> None:
        a, b = (Z[plan.blocks[i].rows] for i in pair)
        K = a @ b.T
        np.exp(K, out=K)

    def run() -> None:
        for _ in ordered_map(tile, plan.tiles, count_workers(None)):
            pass

    return run


def sweeps(X: np.ndarray, y: np.ndarray, dtype: type) -> dict[str, Callable[[], object]]:
    """Return what is compared with the floor."""
    goal = make_target(y)
    kernel = gs.Gaussian(WIDTH)

    def every_measure() -> object:
        return gs.evaluate([kernel], X, y, measures=list(MEASURES), folds=0, dtype=dtype)

    def with_errors() -> object:
        return gs.evaluate([kernel], X, y, dtype=dtype)

    def gradient() -> object:
        G = gs.Gram(gs.Gaussian(np.full(P, WIDTH)), X, dtype=dtype)
        moments = G.moments(goal, keep=True)
        _, adjoint = get_measure("cka").value_and_adjoint(moments, goal)
        return G.pullback(adjoint, goal, moments, inputs=False)

    return {"all measures": every_measure, "with errors": with_errors, "gradient": gradient}


def against_the_floor(n: int) -> list[Row]:
    """Compare sweeps with the floor for both data types."""
    X, y = data(n)
    rows = []
    for dtype in (np.float64, np.float32):
        work = sweeps(X, y, dtype)
        base, *times = compare(floor(X, dtype), *work.values(), repeats=15 if n <= 10_000 else 3)
        label = f"n = {n}, {np.dtype(dtype).name}"
        rows.append(Row(f"{label}: floor", f"{base:.3g} s", "", None))
        for (name, limit), seconds in zip(
            (
                ("all measures", 1.5),
                ("all measures, ten-fold errors", 2.0),
                ("value and gradient", 4.0),
            ),
            times,
            strict=True,
        ):
            rows.append(at_most(f"{label}: {name} / floor", seconds / base, limit))
    return rows


def against_scikit_learn() -> list[Row]:
    """Compare KTA and a path of bandwidths with dense matrices."""
    X, y = data(10_000)
    signs = np.where(y == 1, 1.0, -1.0)
    rows = []
    for dtype, limit in ((np.float64, 4.0), (np.float32, 8.0)):
        Z, s = X.astype(dtype), signs.astype(dtype)

        def dense(Z: np.ndarray = Z, s: np.ndarray = s) -> float:
            K = rbf_kernel(Z, gamma=0.5 / WIDTH**2)
            return float(s @ K @ s / (len(s) * np.linalg.norm(K)))

        def ours(Z: np.ndarray = Z) -> float:
            return gs.kta(gs.Gram(gs.Gaussian(WIDTH), Z), y)

        slow, quick = compare(dense, ours, repeats=4)
        name = np.dtype(dtype).name
        rows.append(at_least(f"KTA, n = 10000, {name}: rbf_kernel / ours", slow / quick, limit))

    def loop() -> None:
        for j in range(16):
            K = rbf_kernel(X, gamma=2.0 ** (j - 8) / P)
            signs @ K @ signs / (len(signs) * np.linalg.norm(K))

    def path() -> object:
        return gs.bandwidth_path(X, y, folds=0)

    rows.append(at_least("16 bandwidths: loop / path", best(loop, 1) / best(path, 3), 15.0))
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
        m = G.moments(goal, keep=True)
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

    def gradient() -> object:
        G = gs.Gram(gs.Gaussian(np.full(P, WIDTH)), X, memory=32)
        m = G.moments(goal, keep=True)
        _, a = get_measure("cka").value_and_adjoint(m, goal)
        return G.pullback(a, goal, m, inputs=False)

    slow, quick = compare(
        lambda: RBF(np.full(P, WIDTH))(X, eval_gradient=True), gradient, repeats=3
    )
    rows.append(at_least("ARD gradient, n = 2000: time, scikit-learn / ours", slow / quick, 10.0))
    return rows


def main() -> None:
    """Print all tables."""
    show("Against the floor", against_the_floor(10_000) + against_the_floor(40_000))
    show("Against scikit-learn", against_scikit_learn())
    show("Memory", memory())


if __name__ == "__main__":
    main()
