"""Public callables, called with arguments that mean nothing, or nearly."""

from __future__ import annotations

import contextlib
import inspect
import io
import os
import tempfile
import warnings
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import scipy.sparse as sp

import gramsmith as gs
from gramsmith.kernels import Kernel
from tools.fuzz import Hanging, judged, limited

SECONDS = 20
N = 24
_rng = np.random.default_rng(0)
X = _rng.normal(size=(N, 3))
Y = np.where(X[:, 0] > 0, 1, -1)
V = X[:, 0] + X[:, 1] ** 2
K = gs.Gaussian()(X)
TEXTS = ["".join(_rng.choice(list("ACGT"), size=8)) for _ in range(N)]
SETS = [set(map(int, _rng.integers(0, 6, size=4))) for _ in range(N)]
TREES = [f"(S (N {a}) (V {b}))" for a in "abcd" for b in "uvwxyz"]


def first(X: np.ndarray) -> np.ndarray:
    """Return the first feature."""
    return X[:, 0]


FRAMES = (pd.DataFrame, pd.Series, pl.DataFrame, pl.Series)


class Odd:
    """A class that no argument asks for."""


NUMBERS = [0, -1, 1, 2, 3, 7, 0.5, -0.5, 1e-300, 1e-12, 1e12, 1e308, -1e308, 2**63, 10**400]
NUMBERS += [np.nan, np.inf, -np.inf, True, False, 1 + 1j, Fraction(1, 3), np.float32(1.5)]
NUMBERS += [np.int8(3), np.float16(2), np.array(1.0), np.array([1.0]), np.datetime64("2020-01-01")]
WORDS = ["", "x", "rbf", "auto", "precomputed", "cka", "accuracy", "\0", "é" * 50, b"bytes", "3"]
WORDS += ["classification", "regression", "linear", "loo", "exact", "l2", "sum", "mean", "lower"]
WORDS += ["ridge_loo", "kta", "r2", "neg_log_loss", "balanced", "full", "alignf", "float32"]
THINGS = [None, object(), (), [], {}, set(), range(4), Ellipsis, slice(3), len, Odd, print]
THINGS += [lambda *a: None, iter([1, 2]), [None], {"a": None}, [[]], np.random.default_rng(0)]


# what such a function raises is its own affair, so that these raise nothing
FUNCTIONS = [lambda *a: None, lambda *a: a, lambda *a: "text", lambda *a: [[1], [2, 3]], 3, None]
FUNCTIONS += [lambda A: np.full(len(A), np.nan), lambda A: A, lambda A: [10**400] * len(A), "f"]


def _arrays() -> list[object]:
    """Return samples that are fit to compute with, in every form, and samples that are not."""
    gaps, endless, large = X.copy(), X.copy(), X.copy()
    gaps[3, 1], endless[2, 0], large[1, 1] = np.nan, np.inf, 1e308
    fixed = X.copy()
    fixed.setflags(write=False)
    words = X.astype(object)
    words[2, 1] = "word"
    cells = X.astype(object)
    cells[1, 1] = [1, 2]
    frame = pd.DataFrame(X, columns=list("abc"))
    found = [X, np.asfortranarray(X), X.astype(">f8"), X.astype(np.float32), X.astype(np.float16)]
    found += [np.round(X).astype(int), X > 0, fixed, X[::-1], X[:, ::-1], X[:, :1], X.tolist()]
    found += [frame, pl.DataFrame({"a": X[:, 0], "b": X[:, 1]})]
    found += [pa.table({"a": X[:, 0], "b": TEXTS}), frame.assign(b=TEXTS)]
    found += [frame.assign(b=pd.Timestamp("2020-01-01")), sp.csr_matrix(X), sp.coo_array(X)]
    found += [1e10 + X, 1e-200 * X, 1e200 * X, np.zeros_like(X), np.ones_like(X), np.abs(X), gaps]
    found += [endless, large, words, cells, X.astype(complex), X.astype("M8[s]"), X.astype("U5")]
    found += [np.ma.masked_greater(X, 1), np.zeros(3, dtype=[("a", float), ("b", int)]), X[:, 0]]
    found += [X[None], X[:1], X[:2], X[:0], X[:, :0], np.empty((0, 0)), [[1.0, 2.0], [3.0]]]
    found += [np.random.default_rng(1).normal(size=(5, 7)), TEXTS, np.array(TEXTS)]
    found += [np.array(TEXTS, dtype=object), [*TEXTS[:-1], None], [*TEXTS[:-1], ""]]
    found += [[*TEXTS[:-1], 3], SETS, [frozenset(s) for s in SETS], [t.encode() for t in TEXTS], K]
    found += [-K, K[:, :5], K + np.triu(np.ones_like(K)), np.eye(N)]
    return found


def _targets() -> list[object]:
    """Return labels and values, good and bad."""
    labels = np.array(["b", "a"])[(Y > 0).astype(int)]
    found = [Y, labels, labels.tolist(), labels.astype(object), Y > 0, V, V.astype(np.float32)]
    found += [pd.Series(labels), pd.Series(labels).astype("category"), pl.Series(labels)]
    found += [np.arange(N), np.arange(N) % 3, np.r_[0, np.ones(N - 1)], np.ones(N), np.zeros(N)]
    found += [np.c_[V, V], np.c_[Y, Y], V[:, None], Y[:-1], Y[:1], Y[:0], np.r_[np.nan, V[1:]]]
    found += [np.r_[np.inf, V[1:]], np.r_[1e308, V[1:]], 1e60 * V, 1e-200 * V, [None, *labels[1:]]]
    found += [[3, *labels[1:]], [[1], *labels[1:]], V.astype(complex), V.astype("M8[s]")]
    found += [[10**400, *V[1:]]]
    return found


def _kernels() -> list[object]:
    """Return kernels, what stands for kernels, and what does not."""
    found = [gs.Gaussian(1.5), gs.Gaussian([1.0, 2.0, 0.5]), gs.Linear(), gs.Polynomial(2, 0.5)]
    found += [gs.Laplacian(2.0), gs.Mixed(), gs.Spectrum(2), gs.Tanimoto(), gs.Sigmoid()]
    found += [gs.Negated(gs.Gaussian()), gs.Precomputed(), gs.Gaussian() + gs.Linear(), "rbf"]
    found += ["linear", "precomputed", "none such", gs.Gaussian, K, np.eye(3), lambda A, B: A @ B.T]
    found += [lambda A, B: np.full((len(A), len(B)), np.nan), lambda A, B: "text"]
    found += [[gs.Gaussian(), gs.Linear()], {"a": gs.Gaussian(), "b": gs.Linear()}]
    found += [[gs.Gaussian(), 3], {"a": 3}, {3: gs.Linear()}]
    return found


def _models() -> list[object]:
    """Return machines and kernels, fitted or not, and what is neither."""
    ridge = gs.KernelRidgeRegressor(gs.Matern()).fit(X, V)
    text = gs.KernelSVC(gs.Spectrum(2)).fit(TEXTS, Y)
    given = gs.KernelRidgeRegressor("precomputed").fit(K, V)
    own = gs.KernelRidgeRegressor(gs.RankOne(first)).fit(X, V)
    return [ridge, text, given, own, gs.KernelSVC(), gs.Gaussian(), gs.RankOne(first)]


def _paths() -> list[object]:
    """Return places to write to or to read from, most of them bad."""
    found = ["out.safetensors", Path("out.onnx"), "some.safetensors", Path(), "no/such/place", "\0"]
    return found


@cache
def pools() -> dict[str, list[object]]:
    """Return good and bad values by the kind of an argument."""
    return {
        "samples": _arrays(),
        "target": _targets(),
        "kernel": _kernels(),
        "number": NUMBERS,
        "word": WORDS,
        "thing": THINGS,
        "model": _models(),
        "path": _paths(),
        "function": FUNCTIONS,
    }


#: name of a parameter -> (kind of its bad values, a value that works)
KNOWN: dict[str, tuple[str, object]] = {
    "X": ("samples", X),
    "Y": ("samples", X),
    "K": ("samples", K),
    "K1": ("samples", K),
    "K2": ("samples", np.outer(Y, Y)),
    "X_test": ("samples", X),
    "y_test": ("target", Y),
    "landmarks": ("samples", X),
    "y": ("target", Y),
    "sample_weight": ("target", np.ones(N)),
    "groups": ("target", np.arange(N) // 2),
    "train": ("target", np.arange(N // 2)),
    "classes": ("target", [-1, 1]),
    "kernel": ("kernel", gs.Gaussian()),
    "kernels": ("kernel", [gs.Gaussian(), gs.Linear()]),
    "f": ("function", first),
    "function": ("function", first),
    "B": ("samples", np.eye(3)),
    "S": ("samples", np.eye(3)),
    "coefficients": ("samples", [0.0, 1.0, 0.5]),
    "model": ("model", gs.KernelRidgeClassifier(gs.Gaussian()).fit(X, Y)),
    "path": ("path", Path("some.safetensors")),
    "row_index": ("samples", np.arange(4)),
    "column_index": ("samples", np.arange(4)),
}
#: samples that kernels other than those of numbers are for
SAMPLES: dict[type, object] = {
    gs.Spectrum: TEXTS,
    gs.Mismatch: TEXTS,
    gs.Subsequence: TEXTS,
    gs.WeightedDegree: TEXTS,
    gs.AllSubstrings: TEXTS,
    gs.Subtree: TREES,
    gs.AllSubsets: SETS,
    gs.Tanimoto: np.abs(X),
    gs.Chi2: np.abs(X),
    gs.Precomputed: K,
}
#: what would start a cluster, wait for one, or open windows; results, which functions make
LEFT_OUT = {
    "Dask",
    "Evaluation",
    "KernelRanking",
    "kernels",
    "learning",
    "machines",
    "measures",
    "report",
    "read_fasta",
}
PUBLIC = {
    name: getattr(gs, name)
    for name in dir(gs)
    if name not in LEFT_OUT and not name.startswith("_") and callable(getattr(gs, name))
}
PUBLIC = {
    name: item
    for name, item in PUBLIC.items()
    if not (isinstance(item, type) and issubclass(item, Exception))
}
NAMES = sorted(PUBLIC)
#: tried less often, to have time for the others
SLOW = {"rank_kernels", "penalty_path", "TwoGaussianLearner", "bandwidth_path", "TransformLearner"}
METHODS = ("predict", "decision_function", "predict_proba", "transform", "score", "matrix")
METHODS += ("predict_interval", "predict_log_proba", "fit_transform", "partial_fit", "set_params")
METHODS += ("get_feature_names_out", "best", "scores", "ties", "toarray", "block")


def _draw(kind: str, rng: np.random.Generator) -> object:
    """Return a value for an argument of a kind: mostly of its own pool."""
    pool = pools()[kind]
    if kind != "function" and rng.random() < 0.25:
        pool = pools()[str(rng.choice(list(pools())))]
    return pool[rng.integers(len(pool))]


def _arguments(call: object, rng: np.random.Generator, bad: int) -> dict[str, object]:
    """Return arguments by name: those that must be given, some of the others, `bad` of them odd."""
    try:
        signature = inspect.signature(call)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return {}
    named = [
        p
        for p in signature.parameters.values()
        if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD) and p.name not in ("self", "engine")
    ]
    chosen = {p.name: KNOWN.get(p.name, ("thing", 1.0))[1] for p in named if p.default is p.empty}
    if "X" in signature.parameters and not bad:
        chosen["X"] = X  # of some functions it can be left out
    if "kernels" in signature.parameters and rng.random() < 0.75:  # all of them take long
        chosen["kernels"] = KNOWN["kernels"][1]
    for p in rng.permutation(np.array(named, dtype=object))[: min(bad, len(named))]:
        kind = KNOWN.get(p.name, (("number", "word", "thing")[rng.integers(3)], 0))[0]
        chosen[p.name] = _draw(kind, rng)
    return chosen


def _positional(call: object, given: dict[str, object]) -> tuple[list[object], dict[str, object]]:
    """Return arguments as the signature wants them."""
    kinds = {p.name: p.kind for p in inspect.signature(call).parameters.values()}  # type: ignore[arg-type]
    first = [v for k, v in given.items() if kinds.get(k) is inspect.Parameter.POSITIONAL_ONLY]
    rest = {k: v for k, v in given.items() if kinds.get(k) is not inspect.Parameter.POSITIONAL_ONLY}
    return first, rest


def _invoke(call: object, given: dict[str, object]) -> object:
    first, rest = _positional(call, given)
    return call(*first, **rest)  # type: ignore[operator]


def _use(name: str, rng: np.random.Generator) -> None:
    """Call a public name with bad arguments, or well and then what it returns with bad ones."""
    item = PUBLIC[name]
    # the bad ones go to the first call, the second, the third, or to all of them
    where = int(rng.integers(4))
    bad = [int(rng.integers(1, 3)) if where in (k, 3) else 0 for k in range(3)]
    made = _invoke(item, _arguments(item, rng, bad[0]))
    if isinstance(made, Kernel):
        _combine(made, rng, bad[2])
        one = SAMPLES.get(type(made), X)
        two = one if bad[1] < 2 else _draw("samples", rng)
        one = one if bad[1] < 1 else _draw("samples", rng)
        made(one, two)
        made.diag(one)
        return
    if hasattr(made, "fit"):
        made.fit(**_arguments(made.fit, rng, bad[1]))
    methods = [method for method in METHODS if hasattr(made, method)]
    if methods and not isinstance(made, np.ndarray):
        method = methods[rng.integers(len(methods))]
        call = getattr(made, method)
        if method == "set_params":
            made.set_params(**_arguments(item, rng, 1))
        else:
            _invoke(call, _arguments(call, rng, bad[2]))


def _combine(kernel: Kernel, rng: np.random.Generator, bad: int) -> None:
    """Make another kernel of one: a sum, a product, a power, a multiple."""
    other = _draw(("kernel", "number")[rng.integers(2)], rng) if bad else 2
    way = rng.integers(6)
    if way == 0:
        kernel + other
    elif way == 1 and not isinstance(other, FRAMES):  # which take no kernel, and say so themselves
        other * kernel
    elif way == 2:
        kernel**other
    elif way == 3:
        gs.as_kernel(kernel, **{str(rng.choice(WORDS[:8])): other})
    elif way == 4:
        kernel.clone_with_theta(other if bad else kernel.theta)


def piece(rng: np.random.Generator) -> tuple[str, str]:
    """Return a public name and what became of one call."""
    name = str(rng.choice(NAMES))
    if name in SLOW and rng.random() < 0.7:
        name = str(rng.choice(NAMES))
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            with (
                limited(SECONDS),
                np.errstate(all="ignore"),
                contextlib.redirect_stdout(io.StringIO()),
                _inside(folder),
            ):
                _use(name, rng)
        except Hanging:
            return name, "! hangs"
        except (Exception, RecursionError) as error:
            return name, judged(error)
    return name, "answers"


@cache
def _stored() -> bytes:
    """Return a model file."""
    with tempfile.TemporaryDirectory() as folder:
        gs.save_model(KNOWN["model"][1], Path(folder) / "some.safetensors")
        return (Path(folder) / "some.safetensors").read_bytes()


@contextlib.contextmanager
def _inside(folder: str) -> Iterator[None]:
    """A folder with a model as the working directory: what a call writes is gone with it."""
    (Path(folder) / "some.safetensors").write_bytes(_stored())
    before = os.getcwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
