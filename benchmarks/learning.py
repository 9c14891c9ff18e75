"""Learning a transform against scikit-learn's NCA, the radius-margin bound, and memory at scale."""

from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np
from sklearn.neighbors import NeighborhoodComponentsAnalysis

import gramsmith as gs
from benchmarks.measuring import Row, at_least, at_most, best, extra_memory, show
from gramsmith.gram import Threads
from gramsmith.learning.objective import KernelObjective
from gramsmith.targets import make_target

P = 20
MEMORY = 128  # MiB: float32 tiles are kept for the backward sweep, a fifteenth of what NCA takes

# Pothin & Richard (000), Table 3: seconds per iteration, radius-margin and alignment.
TABLE_3 = {
    "ringnorm": (28.0, 3.0),
    "thyroid": (0.35, 0.05),
    "titanic": (0.25, 0.19),
    "waveform": (26.0, 3.0),
}

SETUP = f"""
    import numpy as np, gramsmith as gs
    from gramsmith.gram import Threads
    from gramsmith.learning.objective import KernelObjective
    from gramsmith.targets import make_target
    from sklearn.neighbors import NeighborhoodComponentsAnalysis
    rng = np.random.default_rng(0)
    X = rng.normal(size=({{n}}, {P})); y = (X[:, 0] * X[:, 1] > 0).astype(int)
    kernel = gs.Gaussian.from_gamma(1.0) @ gs.LinearMap(0.15 * {{S}})
"""
GRADIENT = """
    engine = Threads(memory={memory})
    objective = KernelObjective("cka", X, make_target(y), engine=engine, dtype={dtype!r})
    objective.value_and_gradient(kernel)
"""
NCA = "NeighborhoodComponentsAnalysis(max_iter=1).fit(X, y)"
STARTS = {"diagonal": f"np.ones({P})", "full": f"np.eye({P})"}


class TimedNCA(NeighborhoodComponentsAnalysis):  # type: ignore[misc]
    """NCA that notes how long each value and gradient takes."""

    def _loss_grad_lbfgs(self, *arguments: object) -> object:
        start = time.perf_counter()
        result = super()._loss_grad_lbfgs(*arguments)
        SECONDS.append(time.perf_counter() - start)
        return result


SECONDS: list[float] = []


def against_nca(n: int = 5000) -> list[Row]:
    """Compare value and gradient per iteration, and the memory of it, on the same samples.

    `TransformLearner` uses float32 tiles at this size; the figures of float64 stand beside them.
    """
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, P))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    ours: dict[tuple[str, str], float] = {}
    for _ in range(3):  # in turns, so that a disturbance of the machine meets both
        TimedNCA(max_iter=1).fit(X, y)
        for name, S in (("diagonal", np.ones(P)), ("full", np.eye(P))):
            kernel = gs.Gaussian.from_gamma(1.0) @ gs.LinearMap(0.15 * S)
            for dtype in ("float32", "float64"):
                engine = Threads(memory=MEMORY)
                objective = KernelObjective("cka", X, make_target(y), engine=engine, dtype=dtype)
                seconds = best(lambda o=objective, k=kernel: o.value_and_gradient(k), 4)
                ours[name, dtype] = min(seconds, ours.get((name, dtype), np.inf))
    theirs = min(SECONDS)
    large = extra_memory(SETUP.format(n=n, S=STARTS["full"]), NCA)
    rows = [
        Row(f"NCA, n = {n}: value and gradient", f"{theirs:.3g} s", "", None),
        Row(f"NCA, n = {n}: extra memory", f"{large:.0f} MiB", "", None),
    ]
    for name in STARTS:
        ratio = theirs / ours[name, "float32"]
        rows.append(at_least(f"CKA, {name} S: time, NCA / ours", ratio, 20.0))
        ratio = theirs / ours[name, "float64"]
        rows.append(Row(f"CKA, {name} S, float64 tiles: NCA / ours", f"{ratio:.3g} x", "", None))
        small = extra_memory(
            SETUP.format(n=n, S=STARTS[name]), GRADIENT.format(memory=MEMORY, dtype="float32")
        )
        rows.append(at_least(f"CKA, {name} S: memory, NCA / ours", large / max(small, 1.0), 10.0))
    return rows


def at_scale() -> list[Row]:
    """Measure the extra memory of a gradient at n = 50 000 and of ALIGNF at n = 20 000."""
    gradient = extra_memory(
        SETUP.format(n=50_000, S=STARTS["full"]), GRADIENT.format(memory=256, dtype="float32")
    )
    combine = """
        kernels = [gs.Gaussian(8.0 * 2.0 ** (-j / 2)) for j in range(20)]
        found = gs.KernelCombination(kernels, keep=1.0, memory=384).fit(X, y)
        assert found.weights_.min() >= 0
    """
    weights = extra_memory(SETUP.format(n=20_000, S=STARTS["full"]), combine)
    return [
        at_most("gradient of CKA by a full S, n = 50000: extra memory", gradient, 500.0, " MiB"),
        at_most("ALIGNF of 20 Gaussians, n = 20000: extra memory", weights, 500.0, " MiB"),
    ]


def data_folder() -> Path | None:
    """Return the folder of public data sets that GRAMSMITH_DATA names."""
    folder = Path(os.environ.get("GRAMSMITH_DATA", ""))
    return folder if str(folder) != "." and folder.is_dir() else None


def against_the_bound(iterations: int = 20) -> list[Row]:
    """Compare iterations of the radius-margin bound and of the alignment, as in Table 3 of 000."""
    folder = data_folder()
    if folder is None:
        return [Row("needs the data folder: set GRAMSMITH_DATA", "-", "", None)]
    rows = []
    for name, (bound, alignment) in TABLE_3.items():
        z = np.load(folder / name / f"{name}.npz")
        X, y = z["X"][z["train"][0]], z["y"][z["train"][0]].astype(int)
        seconds = {}
        for measure in ("radius_margin", "kta"):
            learner = gs.TransformLearner(
                structure="full",
                measure=measure,
                keep=1.0,
                early_stopping=False,
                init=np.eye(X.shape[1]) / np.sqrt(2.0),
                callback=lambda info: info["iteration"] >= iterations,
            )
            start = time.perf_counter()
            learner.fit(X, y)
            seconds[measure] = (time.perf_counter() - start) / max(learner.n_iter_, 1)
        ratio = seconds["radius_margin"] / seconds["kta"]
        rows.append(
            Row(
                f"{name}: radius-margin / alignment",
                f"{ratio:.1f} x",
                f"paper {bound / alignment:.1f} x",
                None,
            )
        )
    return rows


def main() -> None:
    """Print all tables."""
    show("Learning a transform: against scikit-learn's NCA", against_nca())
    show("Learning: memory at scale", at_scale())
    show("Learning: an iteration of the radius-margin bound", against_the_bound())


if __name__ == "__main__":
    main()
