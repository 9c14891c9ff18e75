"""Public callables, called with arguments that mean nothing, or nearly."""

from __future__ import annotations

import inspect
import tempfile
import warnings
from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import scipy.sparse as sp

import gramsmith as gs
from fuzz import Hanging, judged, limited
from gramsmith.kernels import Kernel

SECONDS = 20
N = 24
_rng = np.random.default_rng(0)
X = _rng.normal(size=(N, 3))
Y = np.where(X[:, 0] > 0, 1, -1)
V = X[:, 0] + X[:, 1] ** 2
K = gs.Gaussian()(X)
TEXTS = ["".join(_rng.choice(list("ACGT"), size=8)) for _ in range(N)]
SETS = [set(map(int, _rng.integers(0, 6, size=4))) for _ in range(N)]

NUMBERS = [0, -1, 1, 2, 3, 7, 0.5, -0.5, 1e-300, 1e-12, 1e12, 1e308, -1e308, 2**63, 10**400]
NUMBERS += [np.nan, np.inf, -np.inf, True, False, 1 + 1j, Fraction(1, 3), np.float32(1.5)]
NUMBERS += [np.int8(3), np.float16(2), np.array(1.0), np.array([1.0]), np.datetime64("2020-01-01")]
WORDS = ["", "x", "rbf", "auto", "precomputed", "cka", "accuracy", "\0", "é" * 50, b"bytes", "3"]
THINGS = [None, object(), (), [], {}, set(), range(4), Ellipsis, slice(3), len, int, print]
THINGS += [lambda *a: None, iter([1, 2]), [None], {"a": None}, [[]], np.random.default_rng(0)]


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
    return [
        X,
        np.asfortranarray(X),
        X.astype(">f8"),
        X.astype(np.float32),
        X.astype(np.float16),
        np.round(X).astype(int),
        X > 0,
        fixed,
        X[::-1],
        X[:, ::-1],
        X[:, :1],
        X.tolist(),
        frame,
        pl.DataFrame({"a": X[:, 0], "b": X[:, 1]}),
        pa.table({"a": X[:, 0], "b": TEXTS}),
        frame.assign(b=TEXTS),
        frame.assign(b=pd.Timestamp("2020-01-01")),
        sp.csr_matrix(X),
        sp.coo_array(X),
        1e10 + X,
        1e-200 * X,
        1e200 * X,
        np.zeros_like(X),
        np.ones_like(X),
        np.abs(X),
        gaps,
        endless,
        large,
        words,
        cells,
        X.astype(complex),
        X.astype("M8[s]"),
        X.astype("U5"),
        np.ma.masked_greater(X, 1),
        np.zeros(3, dtype=[("a", float), ("b", int)]),
        X[:, 0],
        X[None],
        X[:1],
        X[:2],
        X[:0],
        X[:, :0],
        np.empty((0, 0)),
        [[1.0, 2.0], [3.0]],
        np.random.default_rng(1).normal(size=(5, 7)),
        TEXTS,
        np.array(TEXTS),
        np.array(TEXTS, dtype=object),
        [*TEXTS[:-1], None],
        [*TEXTS[:-1], ""],
        [*TEXTS[:-1], 3],
        SETS,
        [frozenset(s) for s in SETS],
        [t.encode() for t in TEXTS],
        K,
        -K,
        K[:, :5],
        K + np.triu(np.ones_like(K)),
        np.eye(N),
    ]


def _targets() -> list[object]:
    """Return labels and values, good and bad."""
    labels = np.array(["b", "a"])[(Y > 0).astype(int)]
    return [
        Y,
        labels,
        labels.tolist(),
        labels.astype(object),
        Y > 0,
        V,
        V.astype(np.float32),
        pd.Series(labels),
        pd.Series(labels).astype("category"),
        pl.Series(labels),
        np.arange(N),
        np.arange(N) % 3,
        np.r_[0, np.ones(N - 1)],
        np.ones(N),
        np.zeros(N),
        np.c_[V, V],
        np.c_[Y, Y],
        V[:, None],
        Y[:-1],
        Y[:1],
        Y[:0],
        np.r_[np.nan, V[1:]],
        np.r_[np.inf, V[1:]],
        np.r_[1e308, V[1:]],
        1e60 * V,
        1e-200 * V,
        [None, *labels[1:]],
        [3, *labels[1:]],
        [[1], *labels[1:]],
        V.astype(complex),
        V.astype("M8[s]"),
        [10**400, *V[1:]],
    ]


def _kernels() -> list[object]:
    """Return kernels, what stands for kernels, and what does not."""
    return [
        gs.Gaussian(1.5),
        gs.Gaussian([1.0, 2.0, 0.5]),
        gs.Linear(),
        gs.Polynomial(2, 0.5),
        gs.Laplacian(2.0),
        gs.Mixed(),
        gs.Spectrum(2),
        gs.Tanimoto(),
        gs.Sigmoid(),
        gs.Negated(gs.Gaussian()),
        gs.Precomputed(),
        gs.Gaussian() + gs.Linear(),
        "rbf",
        "linear",
        "precomputed",
        "none such",
        gs.Gaussian,
        K,
        np.eye(3),
        lambda A, B: A @ B.T,
        lambda A, B: np.full((len(A), len(B)), np.nan),
        lambda A, B: "text",
        [gs.Gaussian(), gs.Linear()],
        {"a": gs.Gaussian(), "b": gs.Linear()},
        [gs.Gaussian(), 3],
        {"a": 3},
        {3: gs.Linear()},
    ]


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
    }


#: name of a parameter -> (kind of its bad values, a value that works)
KNOWN: dict[str, tuple[str, object]] = {
    "X": ("samples", X),
    "Z": ("samples", X),
    "samples": ("samples", X),
    "K": ("samples", K),
    "a": ("samples", K),
    "b": ("samples", K),
    "y": ("target", Y),
    "target": ("target", Y),
    "sample_weight": ("target", np.ones(N)),
    "groups": ("target", np.arange(N) // 2),
    "kernel": ("kernel", gs.Gaussian()),
    "kernels": ("kernel", [gs.Gaussian(), gs.Linear()]),
    "base": ("kernel", gs.Gaussian()),
    "function": ("thing", np.abs),
    "matrix": ("samples", np.eye(3)),
}
#: what would start a cluster, wait for one, or open windows
LEFT_OUT = {"Dask", "kernels", "learning", "machines", "measures", "report", "read_fasta"}
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
METHODS = ("predict", "decision_function", "predict_proba", "transform", "score")


def _draw(kind: str, rng: np.random.Generator) -> object:
    """Return a value for an argument of a kind: mostly of its own pool."""
    pool = pools()[kind]
    if rng.random() < 0.25:
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
    chosen = {
        p.name: KNOWN.get(p.name, ("thing", 1.0))[1]
        for p in named
        if p.default is p.empty and p.name not in ("path", "model")
    }
    for p in rng.permutation(np.array(named, dtype=object))[: min(bad, len(named))]:
        kind = KNOWN.get(p.name, (("number", "word", "thing")[rng.integers(3)], 0))[0]
        chosen[p.name] = _draw(kind, rng)
    for p in named:
        if p.name not in chosen and p.default is p.empty:
            chosen[p.name] = Path("nowhere") / "nothing"
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
    """Call a public name: functions with arguments; classes, then what their objects do."""
    item = PUBLIC[name]
    where = int(rng.integers(3))  # 0: the bad ones go to the constructor, 1: to the use, 2: both
    made = _invoke(item, _arguments(item, rng, 0 if where == 1 else int(rng.integers(1, 3))))
    if not isinstance(item, type):
        return
    bad = 0 if where == 0 else int(rng.integers(1, 3))
    if isinstance(made, Kernel):
        one = _draw("samples", rng) if bad else X
        two = _draw("samples", rng) if bad > 1 else one
        made(one, two)
        made.diag(one)
    elif hasattr(made, "fit"):
        made.fit(**_arguments(made.fit, rng, bad))
        methods = [method for method in METHODS if hasattr(made, method)]
        if methods:
            call = getattr(made, methods[rng.integers(len(methods))])
            _invoke(call, _arguments(call, rng, bad))


def piece(rng: np.random.Generator) -> tuple[str, str]:
    """Return a public name and what became of one call."""
    name = str(rng.choice(sorted(PUBLIC)))
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            with limited(SECONDS), np.errstate(all="ignore"), _inside(folder):
                _use(name, rng)
        except Hanging:
            return name, "! hangs"
        except (Exception, RecursionError) as error:
            return name, judged(error)
    return name, "answers"


class _inside:
    """A folder as the working directory: what a call writes is gone with it."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def __enter__(self) -> None:
        import os

        self.before = os.getcwd()
        os.chdir(self.folder)

    def __exit__(self, *_: object) -> None:
        import os

        os.chdir(self.before)
