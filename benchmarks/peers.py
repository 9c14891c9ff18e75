"""The same work by other packages, each in an environment of its own: one table.

    python -m benchmarks.peers [NAMES] [--cache FOLDER]

Both sides of a piece of work take turns, each in a process of its own with one thread, and report
the least processor time of a few repeats. This file is the program of those processes, too: all
above `main` needs the standard library, NumPy and the package of its side alone. Environments are
kept in the cache; a package that does not install or fails is left out, with a word.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

Data = dict[str, Any]
ENOUGH = 4.0  # seconds of processor time after which nothing is repeated
SHORTEST = 0.05  # below which the clock of a process is too coarse
LIMIT = 120  # seconds of processor time after which a side is left out


@dataclass(frozen=True)
class Work:
    """A piece of work that both sides do.

    Parameters
    ----------
    peer : str
        The package.
    title : str
        What is done, for the table.
    data : callable
        () -> what both sides are given.
    ours, theirs : callable
        data -> an array, which should be the same, or a number to be compared.
    needs : tuple of str
        What pip installs for the other side, the package first; nothing: it is in our environment,
        or in R.
    figure : str
        What the number is; empty where results should be the same.
    """

    peer: str
    title: str
    data: Callable[[], Data]
    ours: Callable[[Data], Any]
    theirs: Callable[[Data], Any]
    needs: tuple[str, ...] = ()
    figure: str = ""


def rows(n: int, seed: int = 0, p: int = 20) -> Data:
    """Return n rows of which two columns tell the class, and a value."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    y = (X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=n) > 0).astype(int)
    return {"X": X, "y": y, "value": X.sum(axis=1) + X[:, 0] * X[:, 1] + rng.normal(size=n)}


def with_new(n: int, p: int = 20) -> Data:
    """Return rows to learn from and 2 000 new ones."""
    return rows(n, 0, p) | {"new": rows(2000, 1, p)}


def moons(n: int) -> Data:
    """Return two noisy half circles, and 4 000 new rows."""
    rng = np.random.default_rng(0)

    def draw(n: int) -> tuple[np.ndarray, np.ndarray]:
        y = np.arange(n) % 2
        angle = np.pi * rng.random(n)
        X = np.column_stack([np.cos(angle), np.sin(angle)])
        X[y == 1] = [1.0, 0.5] - X[y == 1]
        return X + 0.25 * rng.normal(size=X.shape), y

    X, y = draw(n)
    new, labels = draw(4000)
    return {"X": X, "y": y, "new": {"X": new, "y": labels}}


def dna(n: int, length: int) -> Data:
    """Return random DNA."""
    letters = np.random.default_rng(0).choice(list("ACGT"), (n, length))
    return {"X": ["".join(row) for row in letters]}


def accuracy(model: Any, data: Data) -> float:
    """Return the share of new rows that a model gets right."""
    found = np.asarray(model.predict(data["new"]["X"])).ravel()
    return float(np.mean(found == data["new"]["y"]))


def neighbours(mapped: Callable[[np.ndarray], Any], data: Data) -> float:
    """Return the share of new rows whose nearest neighbour after a map has their class."""
    old, new = np.asarray(mapped(data["X"])), np.asarray(mapped(data["new"]["X"]))
    apart = (new**2).sum(axis=1)[:, None] - 2.0 * new @ old.T + (old**2).sum(axis=1)
    return float(np.mean(data["y"][apart.argmin(axis=1)] == data["new"]["y"]))


def r_squared(model: Any, data: Data) -> float:
    """Return R² on new rows."""
    value = data["new"]["value"]
    rest = value - np.asarray(model.predict(data["new"]["X"])).ravel()
    return float(1.0 - np.mean(rest**2) / np.var(value))


ALPHAS = np.logspace(-3, 3, 30)
GAMMA = 1.0 / 40.0


def our_kta(data: Data) -> Any:
    import gramsmith as gs

    return np.array([gs.kta(gs.Gram(gs.Gaussian.from_gamma(GAMMA), data["X"]), data["y"])])


def sklearn_kta(data: Data) -> Any:
    from sklearn.metrics.pairwise import rbf_kernel

    K = rbf_kernel(data["X"], gamma=GAMMA)
    signs = 2.0 * data["y"] - 1.0
    return np.array([signs @ K @ signs / (np.linalg.norm(K) * len(signs))])


def our_ridge(data: Data) -> Any:
    import gramsmith as gs

    model = gs.KernelRidgeRegressor(gs.Gaussian.from_gamma(GAMMA), alphas=ALPHAS)
    return r_squared(model.fit(data["X"], data["value"]), data)


def sklearn_ridge(data: Data) -> Any:
    from sklearn.kernel_ridge import KernelRidge
    from sklearn.model_selection import GridSearchCV

    search = GridSearchCV(KernelRidge(kernel="rbf", gamma=GAMMA), {"alpha": ALPHAS}, cv=5)
    return r_squared(search.fit(data["X"], data["value"]), data)


def himalaya_ridge(data: Data) -> Any:
    from himalaya.kernel_ridge import KernelRidgeCV

    model = KernelRidgeCV(ALPHAS, kernel="rbf", kernel_params={"gamma": GAMMA}, cv=5)
    return r_squared(model.fit(data["X"], data["value"]), data)


def our_map(data: Data) -> Any:
    import gramsmith as gs

    # one search on all rows, as theirs: how much to learn is not cross-fitted
    learner = gs.TransformLearner(structure="full", measure="cka", keep=1.0)
    return neighbours(learner.fit(data["X"], data["y"]).transform, data)


def metric_learn_map(data: Data) -> Any:
    from metric_learn import NCA

    return neighbours(NCA(random_state=0).fit(data["X"], data["y"]).transform, data)


def matrices() -> Data:
    """Return ten Gaussian kernel matrices and labels."""
    data = rows(400)
    X, signs = data["X"], 2 * data["y"] - 1
    square = (X**2).sum(axis=1)
    apart = np.maximum(square[:, None] - 2.0 * X @ X.T + square, 0.0)
    return {"K": [np.exp(-apart / (2.0 * 4.0 * 1.5**i)) for i in range(10)], "y": signs}


def our_weights(data: Data) -> Any:
    import gramsmith as gs

    found = gs.KernelCombination(data["K"], signed=True, keep=1.0).fit(None, data["y"])
    return gs.cka(sum(w * K for w, K in zip(found.weights_, data["K"], strict=True)), data["y"])


def mklpy_weights(data: Data) -> Any:
    from MKLpy.algorithms import CKA

    found = CKA().combine_kernels([np.array(K) for K in data["K"]], data["y"])
    weights = np.asarray(found.weights, dtype=float)
    K = sum(w * np.asarray(K) for w, K in zip(weights, data["K"], strict=True))
    H = np.eye(len(K)) - 1.0 / len(K)
    target = H @ np.outer(data["y"], data["y"]) @ H
    centred = H @ K @ H
    return float((centred * target).sum() / (np.linalg.norm(centred) * np.linalg.norm(target)))


def our_rvm(data: Data) -> Any:
    import gramsmith as gs

    model = gs.RelevanceVectorClassifier(gs.Gaussian.from_gamma(1.0))
    return accuracy(model.fit(data["X"], data["y"]), data)


def fastrvm(data: Data) -> Any:
    from fastrvm import RVC

    return accuracy(RVC(kernel="rbf", gamma=1.0).fit(data["X"], data["y"]), data)


def sklearn_rvm(data: Data) -> Any:
    from sklearn_rvm import EMRVC

    return accuracy(EMRVC(kernel="rbf", gamma=1.0).fit(data["X"], data["y"]), data)


def our_mismatch(data: Data) -> Any:
    import gramsmith as gs

    return gs.Mismatch(5, 1, alphabet="ACGT")(data["X"])


def strkernel_mismatch(data: Data) -> Any:
    from strkernel.mismatch_kernel import MismatchKernel

    X = [["ACGT".index(letter) for letter in text] for text in data["X"]]
    return np.asarray(MismatchKernel(l=4, k=5, m=1).get_kernel(X, normalize=False).kernel)


# kernlab closes every string with a line end, which counts as a letter.
def our_spectrum(data: Data) -> Any:
    import gramsmith as gs

    return gs.Spectrum(3)([text + "\n" for text in data["X"]])


def our_subsequence(data: Data) -> Any:
    import gramsmith as gs

    return gs.Subsequence(4, 0.5)(data["X"])


KERNLAB = """
suppressMessages(library(kernlab))
arguments <- commandArgs(trailingOnly = TRUE)
x <- as.list(readLines(arguments[1]))
k <- stringdot(length = as.integer(arguments[3]), lambda = 0.5, type = arguments[2],
               normalized = FALSE)
times <- system.time(K <- kernelMatrix(k, x))
write.table(K, arguments[4], row.names = FALSE, col.names = FALSE)
cat(times[["user.self"]] + times[["sys.self"]])
"""


def kernlab(kind: str, length: int) -> Callable[[Data], Any]:
    """Return a function that asks R; its processor time comes with the answer."""

    def ask(data: Data) -> Any:
        with tempfile.TemporaryDirectory() as folder:
            given, found = Path(folder, "sequences"), Path(folder, "matrix")
            given.write_text("\n".join(data["X"]) + "\n")
            command = ["Rscript", "-e", KERNLAB, str(given), kind, str(length), str(found)]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            return Timed(np.loadtxt(found), float(done.stdout.split()[-1]))

    return ask


@dataclass
class Timed:
    """An answer with the processor time that another program took for it."""

    answer: Any
    seconds: float


def timed(piece: Callable[[], Any]) -> Timed:
    """Return the answer of a piece of work and its time, of many runs where one is too short."""
    repeats = 1
    while True:
        begun = time.process_time()
        for _ in range(repeats):
            answer = piece()
        took = time.process_time() - begun
        if isinstance(answer, Timed):
            return answer
        if took >= SHORTEST:
            return Timed(answer, took / repeats)
        repeats *= 10


def our_features(data: Data) -> Any:
    import gramsmith as gs

    learner = gs.TransformLearner(structure="full", solver="outer_product")
    kernel = learner.fit(data["X"], data["y"]).kernel_
    return accuracy(gs.KernelRidgeClassifier(kernel).fit(data["X"], data["y"]), data)


def xrfm_features(data: Data) -> Any:
    import torch
    from xrfm import xRFM

    torch.set_num_threads(1)
    cut = 4 * len(data["X"]) // 5
    X, y = data["X"].astype(np.float32), data["y"]
    model = xRFM(verbose=False, random_state=0, device="cpu", n_threads=1)
    model.fit(X[:cut], y[:cut], X[cut:], y[cut:])
    data = data | {"new": {"X": data["new"]["X"].astype(np.float32), "y": data["new"]["y"]}}
    return accuracy(model, data)


def two_views() -> Data:
    """Return two sets of features of the same 2 000 rows."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 128))
    return {"X": X, "Z": np.tanh(X @ rng.normal(size=(128, 64)) / 8.0)}


def our_similarity(data: Data) -> Any:
    import gramsmith as gs

    grams = [gs.Gram(gs.Linear(), data[name]) for name in ("X", "Z")]
    return np.array([gs.alignment(*grams, centered=True)])


def ckatorch_similarity(data: Data) -> Any:
    import torch
    from ckatorch.core import cka_base

    torch.set_num_threads(1)
    X, Z = (torch.from_numpy(data[name]) for name in ("X", "Z"))
    return np.array([float(cka_base(X, Z, kernel="linear", unbiased=False))])


TORCH = "torch==2.13.0"
WORK = [
    Work("scikit-learn", "KTA of a Gaussian, n = 4 000", lambda: rows(4000), our_kta, sklearn_kta),
    Work(
        "scikit-learn",
        "ridge, 30 regularisers, n = 500",
        lambda: with_new(500),
        our_ridge,
        sklearn_ridge,
        figure="R²",
    ),
    Work(
        "himalaya",
        "ridge, 30 regularisers, n = 500",
        lambda: with_new(500),
        our_ridge,
        himalaya_ridge,
        ("himalaya==0.4.11", "packaging"),
        "R²",
    ),
    Work(
        "metric-learn",
        "one search for a full map, 400 rows (ours: CKA, theirs: NCA)",
        lambda: with_new(400, 8),
        our_map,
        metric_learn_map,
        ("metric-learn==0.7.0", "scikit-learn==1.5.2"),
        "accuracy of the nearest neighbour",
    ),
    Work(
        "MKLpy",
        "weights of ten kernels by CKA, n = 400",
        matrices,
        our_weights,
        mklpy_weights,
        ("MKLpy==0.6", TORCH),
        "CKA of the sum",
    ),
    Work(
        "fastrvm",
        "relevance vectors, n = 1 000",
        lambda: moons(1000),
        our_rvm,
        fastrvm,
        ("fastrvm==0.1.5",),
        "accuracy",
    ),
    Work(
        "sklearn-rvm",
        "relevance vectors, n = 300",
        lambda: moons(300),
        our_rvm,
        sklearn_rvm,
        ("sklearn-rvm==0.1.1", "scikit-learn==1.5.2"),
        "accuracy",
    ),
    Work(
        "strkernel",
        "Mismatch(5, 1), 40 of length 100",
        lambda: dna(40, 100),
        our_mismatch,
        strkernel_mismatch,
        ("strkernel==0.2",),
    ),
    Work(
        "kernlab",
        "Spectrum(3), 200 of length 60",
        lambda: dna(200, 60),
        our_spectrum,
        kernlab("spectrum", 3),
    ),
    Work(
        "kernlab",
        "Subsequence(4, 0.5), 60 of length 60",
        lambda: dna(60, 60),
        our_subsequence,
        kernlab("sequence", 4),
    ),
    Work(
        "xrfm",
        "a full map by outer products, n = 1 000",
        lambda: with_new(1000),
        our_features,
        xrfm_features,
        ("xrfm==0.4.5", TORCH),
        "accuracy",
    ),
    Work(
        "ckatorch",
        "CKA of 128 and 64 features, n = 2 000",
        two_views,
        our_similarity,
        ckatorch_similarity,
        ("ckatorch==1.0.3", TORCH),
    ),
]


def report(number: int, side: str, path: Path) -> None:
    """Do one side of a piece of work and write its processor time and answer to a file."""
    work = WORK[number]
    resource.setrlimit(resource.RLIMIT_CPU, (LIMIT, LIMIT))
    data = work.data()
    times: list[float] = []
    while not times or (len(times) < 4 and sum(times) < ENOUGH):
        found = timed(lambda: getattr(work, side)(data))
        times.append(found.seconds)
        answer = found.answer
    path.write_text(json.dumps({"seconds": min(times), "answer": np.asarray(answer).tolist()}))


def environment(work: Work, cache: Path) -> str:
    """Return the interpreter of an environment with the other package, made if it is not there."""
    if not work.needs:
        return sys.executable
    folder = cache / "-".join(work.needs).replace("=", "")
    python = folder / "bin" / "python"
    if not (folder / "made").exists():
        shutil.rmtree(folder, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*install, *work.needs], check=True, capture_output=True, text=True)
        (folder / "made").touch()
    return str(python)


def one_side(number: int, side: str, python: str) -> tuple[float, np.ndarray]:
    """Return processor time and answer of one side in a process of its own."""
    single = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "NUMBA")}
    quiet = {"PYTHONWARNINGS": "ignore"}  # the other packages warn about many things
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "report.json")
        # -P: the files beside this one are not to be taken for packages of their names
        command = [python, "-P", __file__, "--report", str(number), side, str(path)]
        subprocess.run(
            command,
            check=True,
            capture_output=True,
            text=True,
            env=os.environ | single | quiet,
        )
        found = json.loads(path.read_text())
    return found["seconds"], np.asarray(found["answer"])


def compared(work: Work, ours: np.ndarray, theirs: np.ndarray) -> str:
    """Return in words how the answers agree."""
    if work.figure:
        return f"{work.figure} {float(ours):.3f} and {float(theirs):.3f}"
    apart = np.abs(ours - theirs).max() / np.abs(theirs).max()
    return "the same" if apart < 1e-14 else f"the same to {apart:.0e}"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="packages; default: all")
    default = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "gramsmith-peers"
    parser.add_argument("--cache", type=Path, default=default, help="where environments are kept")
    parser.add_argument("--report", nargs=3, metavar=("NUMBER", "SIDE", "FILE"))
    options = parser.parse_args()
    if options.report:
        number, side, path = options.report
        return report(int(number), side, Path(path))
    print(f"{'package, work':<56} {'theirs / ours':>13}  answers, ours and theirs")
    for number, work in enumerate(WORK):
        if options.names and work.peer not in options.names:
            continue
        name = f"{(*work.needs, work.peer)[0]}: {work.title}"
        try:
            python = environment(work, options.cache)
            turns = []
            while not turns or (len(turns) < 2 and turns[0][1][0] < ENOUGH):
                sides = (("ours", sys.executable), ("theirs", python))
                turns.append([one_side(number, *side) for side in sides])
        except (subprocess.SubprocessError, OSError) as error:
            said = (getattr(error, "stderr", None) or str(error)).strip().splitlines()
            print(f"{name:<56} {'left out':>13}  {said[-1] if said else error}", flush=True)
            continue
        ours, theirs = (min(turn[side][0] for turn in turns) for side in (0, 1))
        answers = compared(work, turns[0][0][1], turns[0][1][1])
        print(f"{name:<56} {theirs / ours:>11.3g} x  {answers}", flush=True)


if __name__ == "__main__":
    main()
