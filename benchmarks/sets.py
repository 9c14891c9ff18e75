"""The one list of data sets on which gramsmith is tuned and judged, cut once into two halves.

Rules and defaults are tried on the half "trying" only. The half "reporting" is looked at once per
question, for the figures of the documentation. Sets on which earlier rules were settled are spent:
they are for trying, and with them a few tables of the kinds that the spent ones lack (`KINDS`).

A set is a raw table: a data frame with categories and gaps, an array, or a list of sequences.
Those of the data folder (``--data``, ``GRAMSMITH_DATA``) are left out where there is none.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn import datasets

Loader = Callable[[Path], tuple[Any, Any]]


@dataclass(frozen=True)
class DataSet:
    """One data set.

    Parameters
    ----------
    name : str
    task : {"classification", "regression"}
    kind : {"numeric", "mixed", "sequence"}
    load : callable
        Data folder -> X, y.
    half : {"trying", "reporting"}
    """

    name: str
    task: str
    kind: str
    load: Loader
    half: str = ""


def archive(path: str, target: Callable[[Any], Any] = lambda y: y) -> Loader:
    """Return a loader of an npz file with X and y."""

    def load(folder: Path) -> tuple[Any, Any]:
        with np.load(folder / path) as stored:
            X, y = stored["X"].astype(float), target(stored["y"])
        known = np.isfinite(X).all(axis=1)
        return X[known], y[known]

    return load


def svmlight(path: str) -> Loader:
    """Return a loader of a svmlight file."""

    def load(folder: Path) -> tuple[Any, Any]:
        X, y = datasets.load_svmlight_file(str(folder / path))
        return X.toarray(), y.astype(int)

    return load


def arena(name: str) -> Loader:
    """Return a loader of a raw table of the arena."""

    def load(folder: Path) -> tuple[Any, Any]:
        target = json.loads((folder / "arena" / "index.json").read_text())[name]["target"]
        frame = pd.read_csv(folder / "arena" / f"{name}.csv.gz").dropna(subset=[target])
        return frame.drop(columns=target), frame[target].to_numpy()

    return load


def auto_mpg(folder: Path) -> tuple[Any, Any]:
    """Return auto-mpg without the names of the cars."""
    frame = pd.read_csv(folder / "auto-mpg" / "auto-mpg.csv.gz")
    return frame.drop(columns=["mpg", "name"]), frame["mpg"].to_numpy()


def acceptor_sites(folder: Path) -> tuple[Any, Any]:
    """Return DNA around splice sites, one in eleven a true one."""
    frame = pd.read_csv(folder / "more" / "celegans-acceptor" / "celegans-acceptor.csv.gz")
    return frame["sequence"].tolist(), frame["label"].to_numpy()


def of_scikit_learn(read: Callable[..., Any]) -> Loader:
    """Return a loader of a set that comes with scikit-learn."""
    return lambda folder: read(return_X_y=True)


def _ida(name: str) -> DataSet:
    shared = name in ("ringnorm", "thyroid", "titanic", "waveform")
    path = f"{name}/{name}.npz" if shared else f"more/ida-{name}/ida-{name}.npz"
    return DataSet(f"ida-{name}", "classification", "numeric", archive(path))


def _arena(name: str, kind: str = "numeric", task: str = "classification") -> DataSet:
    return DataSet(name, task, kind, arena(name))


IDA = (
    *("banana", "breast-cancer", "diabetes", "flare-solar", "german", "heart", "image"),
    *("ringnorm", "splice", "thyroid", "titanic", "twonorm", "waveform"),
)
SPENT = (
    *(_ida(name) for name in IDA),
    *(_arena(f"keel-{name}") for name in ("monk-2", "letter", "optdigits", "penbased")),
    *(_arena(f"keel-{name}") for name in ("satimage", "texture", "wisconsin")),
    DataSet(
        "covtype",
        "classification",
        "numeric",
        archive("more/covtype10k/covtype10k.npz", lambda y: np.where(y == 2, 1, -1)),
    ),
    DataSet("higgs", "classification", "numeric", archive("more/higgs7500/higgs7500.npz")),
    DataSet("energy", "regression", "numeric", archive("more/energy/energy.npz")),
    DataSet("california", "regression", "numeric", archive("more/california/california.npz")),
    DataSet("auto-mpg", "regression", "mixed", auto_mpg),
)
OTHERS = (
    *(_arena(name) for name in ("birthwt", "cells", "keel-led7digit", "keel-marketing")),
    *(_arena(name) for name in ("keel-movement_libras", "keel-hayes-roth")),
    *(_arena(name, "mixed") for name in ("titanic-survival", "orange-juice", "penguins", "chile")),
    *(_arena(name, "mixed") for name in ("mroz", "churn", "lending-club", "keel-housevotes")),
    _arena("keel-chess", "mixed"),
    *(_arena(name, "mixed", "regression") for name in ("wage", "diamonds", "cars93", "cps1985")),
    *(_arena(name, "mixed", "regression") for name in ("college", "carseats")),
    DataSet(
        "australian", "classification", "numeric", svmlight("australian/australian_scale.svm.gz")
    ),
    DataSet("fourclass", "classification", "numeric", svmlight("fourclass/fourclass.svm.gz")),
    DataSet("ionosphere", "classification", "numeric", svmlight("ionosphere/ionosphere.svm.gz")),
    DataSet("vehicle", "classification", "numeric", svmlight("vehicle/vehicle_scale.svm.gz")),
    DataSet("mushrooms", "classification", "numeric", svmlight("mushrooms/mushrooms.svm.gz")),
    DataSet("usps", "classification", "numeric", archive("usps/usps.npz")),
    DataSet("a1a", "classification", "numeric", svmlight("more/adult-a1a/a1a.svm.gz")),
    DataSet("acceptor-sites", "classification", "sequence", acceptor_sites),
    DataSet("wdbc", "classification", "numeric", of_scikit_learn(datasets.load_breast_cancer)),
    DataSet("wine", "classification", "numeric", of_scikit_learn(datasets.load_wine)),
    DataSet("digits", "classification", "numeric", of_scikit_learn(datasets.load_digits)),
    DataSet(
        "diabetes-progression", "regression", "numeric", of_scikit_learn(datasets.load_diabetes)
    ),
)

# mixed tables and sequences for trying, and the bundled table of the demonstration
KINDS = ("titanic-survival", "chile", "carseats", "acceptor-sites", "wdbc")


def _cut() -> dict[str, DataSet]:
    found = [DataSet(s.name, s.task, s.kind, s.load, "trying") for s in SPENT]
    for s in OTHERS:
        half = "trying" if s.name in KINDS else "reporting"
        found.append(DataSet(s.name, s.task, s.kind, s.load, half))
    return {s.name: s for s in found}


SETS = _cut()


def data_folder(given: str | None = None) -> Path:
    """Return the data folder: the one given, or GRAMSMITH_DATA, or one that does not exist."""
    return Path(given or os.environ.get("GRAMSMITH_DATA") or "no-data-folder")


def available(folder: Path, half: str | None = None) -> dict[str, DataSet]:
    """Return the sets that can be loaded, of one half if asked, and say which cannot."""
    found, absent = {}, []
    for name, entry in SETS.items():
        if half is not None and entry.half != half:
            continue
        try:
            entry.load(folder)
        except OSError:
            absent.append(name)
        else:
            found[name] = entry
    if absent:
        print(f"Not in {folder}, left out: {', '.join(absent)}.")
    return found


def split(X: Any, y: Any, rows: int, number: int, name: str) -> tuple[Any, Any, Any, Any]:
    """Return X and y for training, X and y for testing: the same rows for every method.

    Parameters
    ----------
    X : table, array or list
    y : array
    rows : int
        Training rows; at most half of all.
    number : int
        Of the split.
    name : str
        Of the set, which seeds the split together with its number.
    """
    seed = [number, *name.encode()]
    order = np.random.default_rng(seed).permutation(len(y))
    train, test = order[: min(rows, len(y) // 2)], order[min(rows, len(y) // 2) :]
    return take(X, train), y[train], take(X, test), y[test]


def take(X: Any, index: Any) -> Any:
    """Return some rows of a table, an array or a list."""
    if hasattr(X, "iloc"):
        return X.iloc[index].reset_index(drop=True)
    return X[index] if hasattr(X, "shape") else [X[i] for i in index]
