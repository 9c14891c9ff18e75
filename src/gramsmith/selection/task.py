"""Task: what is predicted, and the weights, folds and score by which kernels are compared."""

from __future__ import annotations

import warnings
from collections.abc import Callable
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
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_consistent_length

from gramsmith.evaluation.errors import jackknife
from gramsmith.machines.calibration import fit_calibration, probabilities
from gramsmith.targets import _as_labels, check_weights

Array = npt.NDArray[Any]

COARSE = 8  # steps of a first look at thresholds
BLOCKS = 10  # of the jackknife, for scores that are no mean over samples
# Scores of two classes that ask which of them counts.
OF_ONE_CLASS = ("f1", "precision", "recall", "jaccard", "average_precision")
# Scores that read rankings or probabilities, so that no threshold changes them.
WITHOUT_THRESHOLD = (
    *("roc_auc", "roc_auc_ovr", "roc_auc_ovo", "roc_auc_ovr_weighted", "roc_auc_ovo_weighted"),
    *("average_precision", "neg_log_loss", "neg_brier_score", "d2_log_loss_score"),
    *("d2_brier_score", "top_k_accuracy"),
)
INSTEAD = {"roc_auc": "roc_auc_ovr", "average_precision": "roc_auc_ovr"}


@dataclass(frozen=True)
class Task:
    """Targets, weights, folds and score of one selection."""

    kind: str  # "classification" or "regression"
    y: Array  # class numbers, or values
    classes: Array | None = None
    w: Array | None = None  # sample weights
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
    def default_score(self) -> bool:
        """Whether the score is the default: accuracy, or the squared error."""
        names = ("accuracy",) if self.kind == "classification" else ("neg_mean_squared_error", "r2")
        return self.scoring is None or (isinstance(self.scoring, str) and self.scoring in names)

    @property
    def exchangeable(self) -> bool:
        """Whether leaving one sample out is a fair test: no groups and no splitter of the user."""
        return self.groups is None and (self.cv is None or isinstance(self.cv, int))

    @property
    def tunes_threshold(self) -> bool:
        """Whether the score asks for a threshold of its own."""
        return not self.default_score and self.score.by_threshold

    @cached_property
    def weights(self) -> Array:
        """The weight of every sample in training: sample weight times class weight."""
        w = np.ones(self.n) if self.w is None else self.w
        if self.class_weight is None or self.kind == "regression":
            return w
        return np.asarray(w * compute_sample_weight(self.class_weight, self.labels))

    @cached_property
    def codes(self) -> Array:
        """The targets of least squares, shape (n, q): ±1, one column per class past two."""
        if self.kind == "regression":
            return np.asarray(self.y, dtype=float)[:, None]
        C = 2 if self.classes is None else len(self.classes)
        if C == 2:
            return np.where(self.y == 1, 1.0, -1.0)[:, None]
        return np.where(self.y[:, None] == np.arange(C), 1.0, -1.0)

    @property
    def score_name(self) -> str:
        """The name of the score that is shown; the squared error is shown as R²."""
        if self.default_score:
            return "accuracy" if self.kind == "classification" else "r2"
        return self.score.name

    @cached_property
    def _unit(self) -> float:
        """What a loss is divided by before it is shown."""
        values = self.default_score and self.kind == "regression"
        return (float(np.var(self.y)) or 1.0) if values else 1.0

    def as_score(self, loss: float) -> float:
        """Return a loss as the score that is shown."""
        return 1.0 - float(loss) / self._unit if self.default_score else -float(loss)

    def as_error(self, error: float) -> float:
        """Return the standard error of a loss in units of the score that is shown."""
        return float(error) / self._unit

    @cached_property
    def score(self) -> Score:
        """The score of scikit-learn, where it is not the default."""
        counts = None if self.classes is None else np.bincount(self.y, self.w)
        return Score(self.scoring, self.classes, counts).try_out(self.w is not None)

    def losses(self, f: Array, rows: Array) -> Array:
        """Return the default loss of every sample: wrong or not, or the squared error.

        f holds decision values or predictions, (m,) or (m, C), of the samples `rows`.
        """
        y = self.y[rows]
        if self.kind == "regression":
            return np.asarray((f - y) ** 2)
        wrong = (f > 0) != (y == 1) if f.ndim == 1 else f.argmax(axis=1) != y
        return np.asarray(wrong, dtype=float)

    @cached_property
    def deviation(self) -> float:
        """The standard deviation of the values; one if they do not vary."""
        return float(np.std(self.y)) or 1.0

    @property
    def copies(self) -> Array:
        """How many samples every row stands for; a class weight is no repetition."""
        return np.ones(self.n) if self.w is None else self.w

    def standard_error(self, each: Array) -> float:
        """Return the standard error of the mean of `losses`; above zero even if none is wrong."""
        n = len(each)
        if self.kind == "regression":
            return float(each.std() / np.sqrt(n))
        share = (float(each.sum()) + 0.5) / (n + 1.0)
        return float(np.sqrt(share * (1.0 - share) / n))

    def loss(self, f: Array, rows: Array, threshold: float = 0.0) -> float:
        """Return the loss of decision values: lower is better, whatever the score."""
        w = None if self.w is None or not self.w[rows].any() else self.w[rows]
        if not self.default_score:
            return -self.score.value(f, self.y[rows], w, threshold)
        shifted = f - threshold if threshold else f
        return float(np.average(self.losses(shifted, rows), weights=w))

    def error_of(self, f: Array, rows: Array, threshold: float = 0.0) -> float:
        """Return the standard error of `loss`: of a mean, or else by the jackknife."""
        if self.default_score:
            return self.standard_error(self.losses(f, rows))
        return self._jackknife(rows, lambda part: self.loss(f[part], rows[part], threshold))

    def difference(
        self, f: Array, g: Array, rows: Array, cuts: tuple[float, float] = (0.0, 0.0)
    ) -> tuple[float, float]:
        """Return the loss of f less that of g on the same samples, and its standard error."""
        if self.default_score:
            gap = self.losses(f, rows) - self.losses(g, rows)
            return float(gap.mean()), float(gap.std() / np.sqrt(max(len(gap), 1)))

        def value(part: Array) -> float:
            return self.loss(f[part], rows[part], cuts[0]) - self.loss(g[part], rows[part], cuts[1])

        return value(np.arange(len(rows))), self._jackknife(rows, value)

    def _jackknife(self, rows: Array, value: Callable[[Array], float]) -> float:
        """Return the standard error of a number from what it is without each of ten parts."""
        block = np.empty(len(rows), dtype=int)
        block[np.argsort(self.y[rows], kind="stable")] = np.arange(len(rows)) % BLOCKS
        found = np.array([value(np.flatnonzero(block != b)) for b in range(min(BLOCKS, len(rows)))])
        found = found[np.isfinite(found)]  # a score may be undefined without some samples
        error = jackknife(found)
        return float("inf") if error is None else error

    def best_threshold(self, f: Array, rows: Array) -> float:
        """Return the threshold with the best score, from held-out decision values."""
        levels = np.unique(np.quantile(f, np.linspace(0.01, 0.99, 99)))
        found = np.full(len(levels), np.inf)

        def look(places: Any) -> None:
            for k in places:
                if not np.isfinite(found[k]):
                    found[k] = self.loss(f, rows, float(levels[k]))

        look(range(0, len(levels), COARSE))
        best = int(np.argmin(found))
        look(range(max(best - COARSE, 0), min(best + COARSE + 1, len(levels))))
        seen = found[np.isfinite(found)]
        if not len(seen) or np.ptp(seen) <= 1e-12:
            return 0.0  # the score does not mind
        flat = np.flatnonzero(found <= seen.min() + 1e-12)
        # the middle of the best plateau is the steadiest choice
        return float(levels[flat[len(flat) // 2]])

    def splits(self, rows: Array, folds: int) -> list[tuple[Array, Array]]:
        """Return (training, test) positions within `rows` for every fold."""
        y = self.y[rows]
        groups = None if self.groups is None else self.groups[rows]
        if self.cv is not None and not isinstance(self.cv, int):
            return self._within(rows)
        folds = self.cv if isinstance(self.cv, int) else folds
        classify = self.kind == "classification"
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

    @cached_property
    def _given_splits(self) -> list[tuple[Array, Array]]:
        """The folds of the user's splitter, of all samples, asked for once."""
        cv = check_cv(self.cv, self.y, classifier=self.kind == "classification")
        parts = cv.split(np.zeros(self.n), self.labels, self.groups)
        return [(np.asarray(train), np.asarray(test)) for train, test in parts]

    def _within(self, rows: Array) -> list[tuple[Array, Array]]:
        """Return the user's folds as far as they lie within some rows, as positions there."""
        place = np.full(self.n, -1)
        place[rows] = np.arange(len(rows))
        found = []
        for train, test in self._given_splits:
            train, test = (part[part >= 0] for part in (place[train], place[test]))
            if len(train) > 1 and len(test):
                found.append((train, test))
        if not found:
            raise ValueError(
                f"Expected folds with training and test samples, got {len(self._given_splits)} "
                f"folds of cv={self.cv!r} with none in the {len(rows)} rows in use. Use cv=5."
            )
        return found

    def try_out(self) -> Task:
        """Return the task after score, folds and class weights have been tried, before any work."""
        if not self.default_score:
            self.score  # noqa: B018
        if not self.exchangeable:
            self.splits(np.arange(self.n), 5)
        if not (np.isfinite(self.weights).all() and self.weights.min() >= 0 and self.weights.any()):
            raise ValueError(
                f"Expected class weights that are numbers >= 0, got {self.class_weight!r}. "
                'Use "balanced", or a dict of label -> weight.'
            )
        return self

    def sample(self, size: int, salt: int = 0) -> Array:
        """Return at most `size` rows, every class in proportion and none lost, in order."""
        if size >= self.n:
            return np.arange(self.n)
        rng = np.random.default_rng([self.seed, salt])
        order = rng.permutation(self.n)
        if self.kind == "regression":
            return np.sort(order[:size])
        chosen = []
        for code in np.unique(self.y):
            members = order[self.y[order] == code]
            chosen.append(members[: max(2, round(size * len(members) / self.n))])
        return np.sort(np.concatenate(chosen))


class _GivenDecisions(ClassifierMixin, BaseEstimator):
    """A classifier that returns the decision values it is given, for scikit-learn's scorers."""

    def __init__(self, classes: Any, threshold: float, codes: Any, w: Any = None) -> None:
        self.classes = classes
        self.threshold = threshold
        self.codes = codes
        self.w = w
        self.classes_ = classes

    def decision_function(self, X: Any) -> Array:
        return np.asarray(X)

    def predict(self, X: Any) -> Array:
        f = np.asarray(X)
        code = (f > self.threshold).astype(int) if f.ndim == 1 else f.argmax(axis=1)
        return np.asarray(self.classes_[code])

    def predict_proba(self, X: Any) -> Array:
        # as the winner's will be: calibrated on decision values of samples left out
        f = np.asarray(X)
        return probabilities(f, *fit_calibration(f, self.codes, len(self.classes_), self.w))

    def __sklearn_is_fitted__(self) -> bool:
        return True


class _GivenValues(RegressorMixin, BaseEstimator):
    """A regressor that returns the values it is given."""

    def predict(self, X: Any) -> Array:
        return np.asarray(X)

    def __sklearn_is_fitted__(self) -> bool:
        return True


class Score:
    """A score of scikit-learn for held-out decision values or predictions.

    Where a score counts one of two classes ("f1", "precision", "recall" and their like) and none of
    the labels is 1, the rarer class counts. There are no classes for values.
    """

    def __init__(self, scoring: Any, classes: Array | None, counts: Array | None = None) -> None:
        self.call = get_scorer(scoring) if isinstance(scoring, str) else scoring
        self.name = scoring if isinstance(scoring, str) else getattr(scoring, "__name__", "score")
        self.classes, self.weighted = classes, True
        two = classes is not None and len(classes) == 2
        if two and scoring in OF_ONE_CLASS and 1 not in classes.tolist():  # type: ignore[union-attr]
            rare = 0 if counts is not None and counts[0] < counts[1] else 1
            self.classes = np.array([0, 1]) if rare else np.array([1, 0])
        self.by_threshold = two and self.name not in WITHOUT_THRESHOLD

    def value(self, f: Array, y: Array, w: Array | None = None, threshold: float = 0.0) -> float:
        """Return the score of decision values f, or of predictions.

        y holds class numbers or values; above the threshold the second of two classes is predicted.
        """
        given: Any = _GivenValues()
        if self.classes is not None:
            given, y = _GivenDecisions(self.classes, threshold, y, w), self.classes[y]
        if w is None or not self.weighted or not w.any():
            return float(self.call(given, f, y))
        return float(self.call(given, f, y, sample_weight=w))

    def try_out(self, weighted: bool) -> Score:
        """Raise a ValueError, before any work, unless the score can be computed for such a task.

        A score that takes no weights is used without, with a warning if there are any.
        """
        y = np.arange(1.0, 7.0) if self.classes is None else np.arange(len(self.classes)).repeat(3)
        f = y + 0.1 * np.cos(np.arange(len(y)))
        if self.classes is not None:
            f = f - 0.5 if len(self.classes) == 2 else 2.0 * np.eye(len(self.classes))[y] - 1.0
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                self.value(f, y)
            except Exception as error:
                raise ValueError(self._refusal(error)) from error
            try:
                self.value(f, y, np.ones(len(y)))
            except Exception:
                self.weighted = False
        if weighted and not self.weighted:
            warnings.warn(
                f"The score {self.name!r} takes no sample_weight: weights count in training, "
                "but not in the comparison.",
                UserWarning,
                stacklevel=4,
            )
        return self

    def _refusal(self, error: Exception) -> str:
        what = "values" if self.classes is None else f"{len(self.classes)} classes"
        other = INSTEAD.get(self.name, f"{self.name}_macro")
        if self.classes is None:
            advice = 'Use a score of values, such as "neg_mean_absolute_error".'
        elif len(self.classes) > 2 and self.name in (*OF_ONE_CLASS, *INSTEAD):
            advice = f'Use "{other}".'
        else:
            advice = 'Use a score of classes, such as "balanced_accuracy".'
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        return (
            f"Expected a score for {what}, got {self.name!r}, which fails: "
            f"{reason.rstrip('.')}. {advice}"
        )


def read_task(
    y: Any,
    *,
    task: str = "auto",
    scoring: Any = None,
    cv: Any = None,
    groups: Any = None,
    class_weight: Any = None,
    sample_weight: Any = None,
    seed: int = 0,
) -> Task:
    """Return the task of labels or values, tried out before any work starts."""
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
        return Task("regression", values, None, w, None, **options).try_out()
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
    return Task("classification", codes, classes, w, class_weight, **options).try_out()
