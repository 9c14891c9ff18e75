"""Inputs: what the user passed, read once and checked before any work starts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_consistent_length

from gramsmith.kernels import Kernel, Precomputed, check_kernel_matrix
from gramsmith.kernels.precomputed import rests_on_matrix
from gramsmith.selection.encoding import TableEncoder
from gramsmith.selection.judge import Judge
from gramsmith.targets import _as_labels, check_weights

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Inputs:
    """The samples, encoded, and the judge.

    Parameters
    ----------
    views : tuple
        Encoded tables, sequences of objects, or Gram matrices.
    encoders : tuple
        The encoder of each view, or None.
    sources : tuple
        For each view, which of the user's views it was made from.
    several : bool
        Whether the user passed a tuple of views.
    judge : Judge
    """

    views: tuple[Any, ...]
    encoders: tuple[TableEncoder | None, ...]
    sources: tuple[int, ...]
    several: bool
    judge: Judge


def read_inputs(
    X: Any,
    y: Any,
    *,
    kernels: Any = "auto",
    task: str = "auto",
    scoring: Any = None,
    cv: Any = None,
    groups: Any = None,
    class_weight: Any = None,
    sample_weight: Any = None,
    seed: int = 0,
) -> Inputs:
    """Return the samples as kernels take them, and the judge, or raise before any work."""
    judge = read_target(
        y,
        task=task,
        scoring=scoring,
        cv=cv,
        groups=groups,
        class_weight=class_weight,
        sample_weight=sample_weight,
        seed=seed,
    )
    several = isinstance(X, tuple)
    given = X if several else (X,)
    views: list[Any] = []
    encoders: list[TableEncoder | None] = []
    sources: list[int] = []
    for source, view in enumerate(given):
        if view is None and not isinstance(kernels, str):
            # all kernels are matrices: the row numbers stand for the samples
            view = np.arange(judge.n, dtype=float)[:, None]
        check_consistent_length(view, judge.y)
        if all_precomputed(kernels):
            views.append(check_kernel_matrix(view, psd="ignore"))
            encoders.append(None)
            sources.append(source)
        elif is_table(view) and not (isinstance(view, list) and _compare_objects(kernels)):
            encoder = TableEncoder().fit(view)
            views.append(encoder.transform(view))
            encoders.append(encoder)
            sources.append(source)
            if isinstance(kernels, str) and not several and not sp.issparse(views[-1]):
                coded = TableEncoder(indicators=True).fit(view)
                # worth a view of its own where such columns are more than a few
                if 3 * np.count_nonzero(coded.level_counts_) >= len(coded.level_counts_):
                    views.append(coded.transform(view))
                    encoders.append(coded)
                    sources.append(source)
        else:
            # a column of a data frame is read by place, whatever its index says
            views.append(view if isinstance(view, np.ndarray) else list(view))
            encoders.append(None)
            sources.append(source)
    return Inputs(tuple(views), tuple(encoders), tuple(sources), several, judge)


def is_table(X: Any) -> bool:
    """Return whether X is a table of columns, as opposed to a sequence of strings or objects."""
    if hasattr(X, "columns") or sp.issparse(X):
        return True
    if hasattr(X, "shape"):
        symbols = getattr(X.dtype, "kind", "O") in "UTOS" and len(X.shape) == 1
        return not symbols or bool(hasattr(X.dtype, "is_numeric") and X.dtype.is_numeric())
    return not (isinstance(X, (list, tuple)) and len(X) and isinstance(X[0], (str, bytes)))


def all_precomputed(kernels: Any) -> bool:
    """Return whether the samples are rows of a Gram matrix; some kernels only is an error."""
    if isinstance(kernels, (str, Kernel)) or not isinstance(kernels, (dict, list, tuple)):
        kernels = [kernels]
    named = list(kernels.values() if isinstance(kernels, dict) else kernels)
    told = [
        isinstance(k, Precomputed) or (isinstance(k, str) and k == "precomputed") for k in named
    ]
    for kernel in named:
        kernel = kernel[0] if isinstance(kernel, tuple) and kernel else kernel
        if isinstance(kernel, Kernel) and not isinstance(kernel, Precomputed):
            if rests_on_matrix(kernel):
                raise ValueError(
                    f"Expected kernels of samples or matrices, got the expression {kernel} of a "
                    "matrix. Compute it, and pass the result as one of the kernels."
                )
    if any(told) and not all(told):
        raise ValueError(
            'Expected "precomputed" alone, which says that X is a Gram matrix, got other kernels '
            "beside it. Pass the matrix itself as one of the kernels."
        )
    return bool(told) and all(told)


def _compare_objects(kernels: Any) -> bool:
    """Return whether all kernels a user named compare sets, token lists or trees."""
    if isinstance(kernels, (str, Kernel)):
        kernels = [kernels]
    named = kernels.values() if isinstance(kernels, dict) else kernels
    found = [kernel[0] if isinstance(kernel, tuple) else kernel for kernel in named]
    return all(isinstance(k, Kernel) and not k.requires_vector_input for k in found)


def read_target(
    y: Any,
    *,
    task: str = "auto",
    scoring: Any = None,
    cv: Any = None,
    groups: Any = None,
    class_weight: Any = None,
    sample_weight: Any = None,
    seed: int = 0,
) -> Judge:
    """Return the judge of labels or values."""
    if task not in ("auto", "classification", "regression"):
        raise ValueError(f'Expected task "auto", "classification" or "regression", got {task!r}.')
    y = _as_labels(y)
    if hasattr(y, "toarray") or y.ndim != 1:
        raise ValueError(
            "Expected one label or value per sample, got a target of several columns. "
            "y should be a 1d array; select kernels for one column at a time."
        )
    if not len(y):
        raise ValueError("Expected at least one sample, got none.")
    kind = type_of_target(y)
    if task == "auto":
        task = "regression" if kind == "continuous" else "classification"
    w = None if sample_weight is None else check_weights(sample_weight, len(y))
    if groups is not None:
        groups = np.asarray(groups)
        check_consistent_length(groups, y)
    if isinstance(cv, bool) or (isinstance(cv, (int, np.integer)) and cv < 2):
        raise ValueError(f"Expected cv to be at least 2 folds, or a splitter, got {cv!r}. Use 5.")
    cv = int(cv) if isinstance(cv, np.integer) else cv
    options = {"scoring": scoring, "cv": cv, "groups": groups, "seed": seed}
    if task == "regression":
        try:
            values = np.asarray(y, dtype=np.float64)
        except (TypeError, ValueError):
            raise ValueError(
                f"Expected numbers for regression, got labels such as {str(y[0])!r}. "
                'Use task="classification".'
            ) from None
        if np.ptp(values) <= 1e-14 * max(float(np.abs(values).max()), 1e-300):
            raise ValueError(
                "Expected targets that vary, got a constant y. Nothing can be learned."
            )
        return _tried(Judge("regression", values, None, w, None, **options))
    if kind.startswith("continuous"):
        raise ValueError(
            "Expected class labels, got real numbers. Unknown label type: continuous. "
            'Use task="regression".'
        )
    classes, codes = np.unique(y, return_inverse=True)
    known = codes if w is None else codes[w > 0]
    if len(np.unique(known)) < 2:
        raise ValueError(
            f"Expected at least two classes, got 1 class: {classes[:1].tolist()}. "
            "Add samples of another class."
        )
    if len(classes) > max(len(y) // 2, 2):
        raise ValueError(
            f"Expected classes with several samples each, got {len(classes)} classes in {len(y)} "
            'samples. If these are numbers to predict, use task="regression".'
        )
    return _tried(Judge("classification", codes, classes, w, class_weight, **options))


def _tried(judge: Judge) -> Judge:
    """Return the judge after score, folds and class weights have been tried, before any work."""
    if not judge.plain:
        judge.score  # noqa: B018
    if not judge.exchangeable:
        judge.splits(np.arange(judge.n), 5)
    weights = judge.weights
    if not (np.isfinite(weights).all() and weights.min() >= 0 and weights.any()):
        raise ValueError(
            f"Expected class weights that are numbers >= 0, got {judge.class_weight!r}. "
            'Use "balanced", or a dict of label -> weight.'
        )
    return judge
