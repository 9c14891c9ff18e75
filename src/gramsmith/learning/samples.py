"""The samples of a learner: those that count, those it learns from, those it holds out."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.model_selection import train_test_split
from sklearn.utils._param_validation import Interval, StrOptions

from gramsmith.targets import TARGETS, Target, check_weights

Array = npt.NDArray[Any]

# scikit-learn's constraints of parameters that several learners have
TARGET_CONSTRAINTS: dict[str, Any] = {
    "target": [StrOptions(set(TARGETS))],
    "task": [StrOptions({"auto", "classification", "regression"})],
}
HOLD_OUT_CONSTRAINTS: dict[str, Any] = {
    "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
    "random_state": ["random_state"],
}


def drop_zero_weights(X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Array | None]:
    """Return samples, targets and positive weights; a sample of weight zero is left out.

    Parameters
    ----------
    X : array of shape (n, p), sparse matrix, or sequence of n objects
    y : array of shape (n,) or (n, q)
    sample_weight : array of shape (n,), or None
        A weight of 2 means that the sample stands there twice.

    Returns
    -------
    X, y, w
        w is None where no weights were given.
    """
    if sample_weight is None:
        return X, y, None
    count = X.shape[0] if hasattr(X, "shape") else len(X)
    w = check_weights(sample_weight, count)
    if w.all():
        return X, y, w
    rows = np.flatnonzero(w)
    y = y if y is None or sp.issparse(y) else np.asarray(y)
    return take_rows(X, rows), None if y is None else y[rows], w[rows]


def take_rows(X: Any, index: Array) -> Any:
    """Return chosen samples of an array, frame, sparse matrix or sequence of objects."""
    if not hasattr(X, "shape"):
        return [X[i] for i in index]
    return (X if sp.issparse(X) else np.asarray(X))[index]


def hold_out(target: Target, fraction: float, rng: Any) -> tuple[Array, Array] | None:
    """Return the indices to learn from and those held out, or None if there are too few samples.

    Classes keep their proportions; every class needs two members in either part, values need eight.

    Parameters
    ----------
    target : Target
    fraction : float
        Of the samples to hold out.
    rng : numpy.random.RandomState
    """
    classes = target.kind == "classes"
    codes = target.codes if classes else np.zeros(len(target.w), dtype=int)
    sizes = np.bincount(codes)
    counts = np.floor(fraction * sizes).astype(int)
    if min(counts.min(), (sizes - counts).min()) < (2 if classes else 8):
        return None
    learn, held = train_test_split(
        np.arange(len(codes)),
        test_size=int(counts.sum()),
        random_state=rng,
        stratify=codes if classes else None,
    )
    return np.sort(learn), np.sort(held)
