"""What learners share: parameters, and samples: those that count, are held out, are drawn."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.model_selection import train_test_split
from sklearn.utils._param_validation import Interval, StrOptions

from gramsmith.gram import ENGINES, Engine, SharesEngine, as_engine
from gramsmith.kernels.finite import checked_data
from gramsmith.targets import TARGETS, Target, check_groups, check_weights, normalised_weights

Array = npt.NDArray[Any]

SHUFFLED = 4096  # rows that are shuffled for a batch sooner than drawn one by one

# scikit-learn's constraints of parameters that several learners have
TARGET_CONSTRAINTS: dict[str, Any] = {
    "target": [StrOptions(set(TARGETS))],
    "task": [StrOptions({"auto", "classification", "regression"})],
}
MONITOR_CONSTRAINTS: dict[str, Any] = {"callback": [callable, None], "verbose": ["verbose"]}
SWEEP_CONSTRAINTS: dict[str, Any] = {
    "memory": [Interval(Real, 0, None, closed="neither"), None],
    "n_jobs": [Integral, None],
    "engine": ENGINES,
    "dtype": [StrOptions({"float64", "float32"}), type, np.dtype, None],
}
HOLD_OUT_CONSTRAINTS: dict[str, Any] = {
    "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
    "random_state": ["random_state"],
}


class Learner(SharesEngine, BaseEstimator):
    """A learner of kernels, whose samples may be sparse and whose targets may have many columns."""

    memory: float | None
    n_jobs: int | None
    engine: Any

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **TARGET_CONSTRAINTS,
        **SWEEP_CONSTRAINTS,
        **MONITOR_CONSTRAINTS,
    }

    def _check_samples(self, X: Any, y: Any, sparse: bool = True) -> tuple[Any, Any]:
        """Return numeric samples and targets, checked."""
        checked: tuple[Any, Any] = checked_data(
            self,
            X,
            y,
            dtype=(np.float64, np.float32),
            accept_sparse="csr" if sparse else False,
            multi_output=True,
            ensure_min_samples=2,
        )
        return checked

    def _engine(self) -> Engine:
        """Return who evaluates tiles."""
        return as_engine(self.engine, self.n_jobs, self.memory)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        tags.input_tags.sparse = True
        return tags


def drop_zero_weights(
    X: Any, y: Any, sample_weight: Any, groups: Any = None
) -> tuple[Any, Any, Array | None, Array | None]:
    """Return samples, targets, positive weights of mean 1 and groups, the last None for none."""
    count = X.shape[0] if hasattr(X, "shape") else len(X)
    groups = check_groups(groups, count)
    if sample_weight is None:
        return X, y, None, groups
    w = normalised_weights(check_weights(sample_weight, count))
    if w.all():
        return X, y, w, groups
    rows = np.flatnonzero(w)
    y = y if y is None or sp.issparse(y) else np.asarray(y)
    groups = None if groups is None else groups[rows]
    return take_rows(X, rows), None if y is None else y[rows], w[rows], groups


def take_rows(X: Any, index: Array) -> Any:
    """Return chosen samples of an array, frame, sparse matrix or sequence of objects."""
    if not hasattr(X, "shape"):
        return [X[i] for i in index]
    return (X if sp.issparse(X) else np.asarray(X))[index]


def hold_out(target: Target, fraction: float, rng: Any) -> tuple[Array, Array] | None:
    """Return the indices to learn from and those held out, or None if there are too few samples.

    Classes keep their proportions; every class needs two members in either part, values need eight.
    Rows without weight are in neither.
    """
    classes, rows = target.kind == "classes", np.flatnonzero(target.w)
    codes = target.codes[rows] if classes else np.zeros(len(rows), dtype=int)
    sizes = np.bincount(codes)
    counts = np.floor(fraction * sizes).astype(int)
    if min(counts.min(), (sizes - counts).min()) < (2 if classes else 8):
        return None
    learn, held = train_test_split(
        rows,
        test_size=int(counts.sum()),
        random_state=rng,
        stratify=codes if classes else None,
    )
    return np.sort(learn), np.sort(held)


def make_draw(target: Target, rows: Array, size: int, rng: Any) -> Callable[[], Array]:
    """Return a function that draws a batch of rows, in which every class has its share."""

    def some(group: Array, count: int) -> Array:
        if len(group) < max(SHUFFLED, 4 * count):
            return np.asarray(rng.choice(group, count, replace=False))
        # which shuffles the whole group for every batch; of many, the first that differ are taken
        size, first = count, np.empty(0, dtype=int)
        while len(first) < count:
            size *= 2
            drawn = rng.randint(len(group), size=size)
            first = np.sort(np.unique(drawn, return_index=True)[1])
        return np.asarray(group[drawn[first[:count]]])

    if target.kind != "classes":
        return lambda: np.sort(some(rows, size))
    codes = target.codes[rows]
    groups = [rows[codes == c] for c in np.unique(codes)]
    if size < 2 * len(groups):
        raise ValueError(
            f"Expected batch_size >= {2 * len(groups)}, two samples of each of {len(groups)} "
            f"classes, got {size}. Use larger batches, or none."
        )
    counts = shares(np.array([len(group) for group in groups]), size)

    def draw() -> Array:
        parts = [some(group, k) for group, k in zip(groups, counts, strict=True)]
        return np.sort(np.concatenate(parts))

    return draw


def shares(counts: Array, size: int) -> Array:
    """Return how many of each class a batch takes: in proportion, but two where there are two."""
    least = np.minimum(counts, 2)
    wanted = counts * size / counts.sum()
    taken = np.maximum(np.floor(wanted).astype(int), least)
    while taken.sum() != size:
        if taken.sum() < size:
            taken[np.argmax(np.where(taken < counts, wanted - taken, -np.inf))] += 1
        else:
            taken[np.argmax(np.where(taken > least, taken - wanted, -np.inf))] -= 1
    return np.asarray(taken)
