"""Judge: the task, the folds and the score by which kernels are compared."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics import get_scorer
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    StratifiedGroupKFold,
    StratifiedKFold,
    check_cv,
)
from sklearn.utils.class_weight import compute_sample_weight

Array = npt.NDArray[Any]

# Scores that read the ranking of the decision values, so that no threshold changes them.
RANKING_SCORES = {"roc_auc", "average_precision"}


class _Told(ClassifierMixin, BaseEstimator):
    """A classifier that repeats decision values it was told, for scikit-learn's scorers."""

    def __init__(self, classes: Any = None, threshold: float = 0.0) -> None:
        self.classes = classes
        self.threshold = threshold
        self.classes_ = classes

    def decision_function(self, X: Any) -> Array:
        return np.asarray(X)

    def predict(self, X: Any) -> Array:
        f = np.asarray(X)
        code = (f > self.threshold).astype(int) if f.ndim == 1 else f.argmax(axis=1)
        return np.asarray(self.classes_[code])

    def __sklearn_is_fitted__(self) -> bool:
        return True


class _ToldValues(RegressorMixin, BaseEstimator):
    """A regressor that repeats the values it was told."""

    def predict(self, X: Any) -> Array:
        return np.asarray(X)

    def __sklearn_is_fitted__(self) -> bool:
        return True


@dataclass(frozen=True)
class Judge:
    """Targets, weights, folds and score of one selection.

    Parameters
    ----------
    task : {"classification", "regression"}
    y : array of shape (n,)
        Class numbers, or values.
    classes : array of shape (C,) or None
    w : array of shape (n,) or None
        Sample weights.
    class_weight : dict, "balanced" or None
    scoring : str, callable or None
    cv : int, splitter or None
    groups : array of shape (n,) or None
    seed : int
    """

    task: str
    y: Array
    classes: Array | None = None
    w: Array | None = None
    class_weight: Any = None
    scoring: Any = None
    cv: Any = None
    groups: Array | None = None
    seed: int = 0

    @property
    def n(self) -> int:
        """The number of samples."""
        return len(self.y)

    @property
    def labels(self) -> Array:
        """What the user called the targets."""
        return self.y if self.classes is None else np.asarray(self.classes[self.y])

    @property
    def plain(self) -> bool:
        """Whether the score is the default: accuracy, or the squared error."""
        names = ("accuracy",) if self.task == "classification" else ("neg_mean_squared_error", "r2")
        return self.scoring is None or (isinstance(self.scoring, str) and self.scoring in names)

    @property
    def exchangeable(self) -> bool:
        """Whether leaving one sample out is a fair test: no groups and no splitter of the user."""
        return self.groups is None and (self.cv is None or isinstance(self.cv, int))

    @property
    def tunes_threshold(self) -> bool:
        """Whether the score asks for a threshold of its own."""
        named = self.scoring if isinstance(self.scoring, str) else ""
        wanted = self.scoring is not None and not self.plain and named not in RANKING_SCORES
        return wanted and self.classes is not None and len(self.classes) == 2

    @cached_property
    def weights(self) -> Array:
        """The weight of every sample in training: sample weight times class weight."""
        w = np.ones(self.n) if self.w is None else self.w
        if self.class_weight is None or self.task == "regression":
            return w
        return np.asarray(w * compute_sample_weight(self.class_weight, self.labels))

    @cached_property
    def codes(self) -> Array:
        """The targets of least squares, shape (n, q): ±1, one column per class past two."""
        if self.task == "regression":
            return np.asarray(self.y, dtype=float)[:, None]
        C = 2 if self.classes is None else len(self.classes)
        if C == 2:
            return np.where(self.y == 1, 1.0, -1.0)[:, None]
        return np.where(self.y[:, None] == np.arange(C), 1.0, -1.0)

    @cached_property
    def _scorer(self) -> Any:
        return get_scorer(self.scoring) if isinstance(self.scoring, str) else self.scoring

    def losses(self, f: Array, rows: Array) -> Array:
        """Return the default loss of every sample: wrong or not, or the squared error.

        Parameters
        ----------
        f : array of shape (m,) or (m, C)
            Decision values or predictions.
        rows : int array of shape (m,)
            The samples they belong to.
        """
        y = self.y[rows]
        if self.task == "regression":
            return np.asarray((f - y) ** 2)
        wrong = (f > 0) != (y == 1) if f.ndim == 1 else f.argmax(axis=1) != y
        return np.asarray(wrong, dtype=float)

    @property
    def copies(self) -> Array:
        """How many samples every row stands for; a class weight is no repetition."""
        return np.ones(self.n) if self.w is None else self.w

    def standard_error(self, each: Array) -> float:
        """Return the standard error of the mean of `losses`; above zero even if none is wrong."""
        n = len(each)
        if self.task == "regression":
            return float(each.std() / np.sqrt(n))
        share = (float(each.sum()) + 0.5) / (n + 1.0)
        return float(np.sqrt(share * (1.0 - share) / n))

    def loss(self, f: Array, rows: Array, threshold: float = 0.0) -> float:
        """Return the loss of decision values: lower is better, whatever the score."""
        if self.plain and threshold == 0.0:
            w = None if self.w is None or not self.w[rows].any() else self.w[rows]
            return float(np.average(self.losses(f, rows), weights=w))
        if self.task == "regression":
            return -float(self._scorer(_ToldValues(), f, self.y[rows]))
        told = _Told(self.classes, threshold)
        if self._scorer is None:
            w = None if self.w is None or not self.w[rows].any() else self.w[rows]
            return float(np.average(told.predict(f) != self.labels[rows], weights=w))
        return -float(self._scorer(told, f, self.labels[rows]))

    def best_threshold(self, f: Array, rows: Array) -> float:
        """Return the threshold with the best score, from held-out decision values."""
        levels = np.unique(np.quantile(f, np.linspace(0.01, 0.99, 99)))
        found = [self.loss(f, rows, float(level)) for level in levels]
        flat = np.flatnonzero(np.asarray(found) <= min(found) + 1e-12)
        # the middle of the best plateau is the steadiest choice
        return float(levels[flat[len(flat) // 2]])

    def splits(self, rows: Array, folds: int) -> list[tuple[Array, Array]]:
        """Return (training, test) positions within `rows` for every fold."""
        y = self.y[rows]
        groups = None if self.groups is None else self.groups[rows]
        if self.cv is not None and not isinstance(self.cv, int):
            given = check_cv(self.cv, y, classifier=self.task == "classification")
            parts = given.split(np.zeros(len(rows)), y, groups)
            return [(np.asarray(train), np.asarray(test)) for train, test in parts]
        folds = self.cv if isinstance(self.cv, int) else folds
        classify = self.task == "classification"
        cv: Any
        if groups is not None:
            folds = min(folds, len(np.unique(groups)))
            if folds < 2:
                raise ValueError("Expected at least two groups, got one. Leave groups out.")
            cv = (
                StratifiedGroupKFold(folds, shuffle=True, random_state=self.seed)
                if classify
                else GroupKFold(folds)
            )
        elif classify and np.bincount(y).max() >= 2:
            folds = max(2, min(folds, int(np.bincount(y)[np.bincount(y) > 1].min())))
            cv = StratifiedKFold(folds, shuffle=True, random_state=self.seed)
        else:
            cv = KFold(max(2, min(folds, len(rows))), shuffle=True, random_state=self.seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # a class with fewer members than folds
            return list(cv.split(np.zeros(len(rows)), y, groups))

    def sample(self, size: int, salt: int = 0) -> Array:
        """Return at most `size` rows, every class in proportion and none lost, in order."""
        if size >= self.n:
            return np.arange(self.n)
        rng = np.random.default_rng([self.seed, salt])
        order = rng.permutation(self.n)
        if self.task == "regression":
            return np.sort(order[:size])
        chosen = []
        for code in np.unique(self.y):
            members = order[self.y[order] == code]
            chosen.append(members[: max(2, round(size * len(members) / self.n))])
        return np.sort(np.concatenate(chosen))
