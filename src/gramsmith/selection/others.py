"""Others: estimators that are no kernels, which a user wants compared with the kernels."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from gramsmith.arguments import abridged
from gramsmith.gram.views import take_rows
from gramsmith.selection.samples import Samples, as_array
from gramsmith.selection.task import Task

Array = npt.NDArray[Any]


def _both(stem: str) -> tuple[str, str]:
    """Return the names of a classifier and a regressor."""
    return f"{stem}Classifier", f"{stem}Regressor"


SEEDED: dict[str, Any] = {"random_state": 0}
QUIET: dict[str, Any] = {"verbose": 0, "allow_writing_files": False, "random_seed": 0}
# Estimators that have a name: module, class for classes, class for values, parameters.
NAMED: dict[str, tuple[str, str, str, dict[str, Any]]] = {
    "hgb": ("sklearn.ensemble", *_both("HistGradientBoosting"), SEEDED),
    "forest": ("sklearn.ensemble", *_both("RandomForest"), SEEDED),
    "extra-trees": ("sklearn.ensemble", *_both("ExtraTrees"), SEEDED),
    "linear": ("sklearn.linear_model", "LogisticRegression", "RidgeCV", {}),
    "knn": ("sklearn.neighbors", *_both("KNeighbors"), {}),
    "svm": ("sklearn.svm", "SVC", "SVR", {}),
    "catboost": ("catboost", *_both("CatBoost"), QUIET),
    "lightgbm": ("lightgbm", *_both("LGBM"), {"verbose": -1, **SEEDED}),
}


@dataclass(frozen=True, eq=False)
class Other:
    """An estimator that is compared with the kernels."""

    name: str
    estimator: Any
    as_given: bool = False  # whether it takes the samples as the user passed them
    view: int = 0  # else the encoded view that it takes

    def rows_of(self, samples: Samples, X: Any, rows: Array) -> Any:
        """Return some samples as the estimator takes them."""
        if self.as_given:
            return as_array(take_rows(X, rows))
        view = samples.views[self.view]
        return take_rows(sp.csr_array(view) if sp.issparse(view) else view, rows)

    def fit(self, X: Any, task: Task, rows: Array) -> Any:
        """Return the estimator fitted to X, the samples of some rows, with their weights."""
        w, name = task.weights[rows], weight_parameter(self.estimator)
        weights = {} if name is None or np.all(w == 1.0) else {name: w}
        return clone(self.estimator).fit(X, task.labels[rows], **weights)

    @property
    def takes_weights(self) -> bool:
        """Whether its fit takes weights."""
        return weight_parameter(self.estimator) is not None


def read_others(
    estimators: Any, frames: Sequence[str] | None, task: Task, X: Any, samples: Samples, gram: bool
) -> tuple[Other, ...]:
    """Return the estimators that a user wants compared, or raise before any work.

    `gram` says that X is a Gram matrix.
    """
    if estimators is None or (isinstance(estimators, (Mapping, list, tuple)) and not estimators):
        if frames:
            raise ValueError("Expected estimators= with those that frames= names, got none.")
        return ()
    if not isinstance(estimators, Mapping):
        names = estimators if isinstance(estimators, (list, tuple)) else [estimators]
        estimators = {name: named_estimator(name, task) for name in names}
    asked = [] if frames is None else frames
    given = list(asked) if isinstance(asked, (list, tuple, set)) else [asked]
    unknown = [name for name in given if not isinstance(name, Hashable) or name not in estimators]
    if unknown:
        raise ValueError(
            f"Expected names of estimators in frames, got {abridged(sorted(map(str, unknown)))}. "
            f"The estimators are {', '.join(map(str, estimators))}."
        )
    if samples.several or gram:
        what = "several views" if samples.several else "a Gram matrix"
        raise ValueError(
            f"Expected one table, or one list of samples, to compare estimators on, got {what}. "
            "Leave estimators= out."
        )
    others = tuple(Other(str(name), e, name in given) for name, e in estimators.items())
    for other in others:
        _check(other, task, samples)
    return others


def named_estimator(name: Any, task: Task) -> Any:
    """Return an estimator of scikit-learn's, or of a library that is installed, by its name."""
    if not isinstance(name, str) or name not in NAMED:
        raise ValueError(
            f"Expected estimators= as a dict of name -> estimator, or names among "
            f"{', '.join(NAMED)}, got {abridged(name)}."
        )
    module, classifier, regressor, parameters = NAMED[name]
    try:
        library = import_module(module)
    except ImportError as error:
        raise ValueError(
            f"Expected {module} to be installed for the estimator {name!r}, and it is not. "
            f"Install it (pip install {module}), or leave the estimator out."
        ) from error
    return getattr(library, regressor if task.classes is None else classifier)(**parameters)


def _check(other: Other, task: Task, samples: Samples) -> None:
    """Raise a ValueError unless an estimator can be compared on such samples and targets."""
    estimator, name = other.estimator, type(other.estimator).__name__
    if isinstance(estimator, type) or not all(
        hasattr(estimator, method) for method in ("fit", "predict", "get_params")
    ):
        raise ValueError(
            f"Expected an estimator with scikit-learn's methods as {other.name!r}, got "
            f"{abridged(estimator)}. It needs fit, predict and get_params."
        )
    if task.mistaken(estimator):
        raise ValueError(
            f"Expected an estimator for {task.kind} as {other.name!r}, got {name}. Use another, or "
            "say what the targets are with task=."
        )
    if not other.as_given and getattr(samples.views[0], "ndim", 1) != 2:
        raise ValueError(
            f"Expected a table for the estimator {other.name!r}, got other samples. Name it in "
            "frames=, and it is given the samples as they are."
        )


def weight_parameter(estimator: Any) -> str | None:
    """Return the name under which fit takes weights; None if it does not."""
    if isinstance(estimator, Pipeline):
        name, last = estimator.steps[-1]
        return f"{name}__sample_weight" if has_fit_parameter(last, "sample_weight") else None
    return "sample_weight" if has_fit_parameter(estimator, "sample_weight") else None
