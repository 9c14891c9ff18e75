"""Kinds of target, one object each: what they are called, fitted, scored and handed over as.

Targets are columns of numbers that least squares can fit, `codes`, and a link from predictions back
to answers: identity (`Values`), sign (`Labels`, two `Classes`) or argmax (more `Classes`).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.base import is_classifier
from sklearn.utils.class_weight import compute_sample_weight

from gramsmith.arguments import abridged
from gramsmith.cached import cached_property
from gramsmith.gram.views import unique_names
from gramsmith.machines import KernelRidgeClassifier
from gramsmith.machines.averages import AveragedClassifier, AveragedRegressor
from gramsmith.machines.calibration import fit_calibration, probabilities
from gramsmith.machines.labels import LabelsClassifier
from gramsmith.machines.pipelines import ModelPipeline
from gramsmith.selection.periods import Periods
from gramsmith.selection.scores import Answers, ClassScore, LabelScore, ValueScore
from gramsmith.selection.task import Task, as_machine, last_step
from gramsmith.tables.target import alike_classes, decide_task
from gramsmith.targets import (
    as_labels,
    check_groups,
    check_weights,
    finite_values,
    kind_of,
    normalised_weights,
)

Array = npt.NDArray[Any]

BOTH = np.array([0, 1])  # a label is not there, or it is


@dataclass(frozen=True, kw_only=True)
class Values(Task):
    """One or several values per sample; `y` and all answers are in units of `unit`."""

    unit: Array = field(default_factory=lambda: np.ones(1))  # the deviation of every output

    kind: ClassVar[str] = "regression"
    machine: ClassVar[str] = "kernel ridge regression"
    open_ended: ClassVar[bool] = True
    measured_as: ClassVar[str] = "regression"
    target_kind: ClassVar[str] = "values"
    mistaken: ClassVar[Any] = staticmethod(is_classifier)

    @classmethod
    def of(cls, Y: Array, scoring: Any, *, w: Array | None = None, **known: Any) -> Values:
        """Return the task of values (n, q), one column for each output."""
        apart = Y - np.average(Y, axis=0, weights=w)
        size = np.abs(apart).max(axis=0)  # squares of tiny values would be zero
        size = np.where(size > 0, size, 1.0)
        unit = size * np.sqrt(np.average((apart / size) ** 2, axis=0, weights=w))
        unit = np.where(unit > 0, unit, 1.0)
        centre = np.average(Y / unit, axis=0, weights=w)
        score = ValueScore(scoring, w is not None, unit, centre)
        return cls(y=Y / unit, score=score, unit=unit, w=w, **known)

    @property
    def codes(self) -> Array:
        """The targets of least squares, shape (n, q)."""
        return self.y

    @property
    def labels(self) -> Array:
        """What the user passed."""
        return self.as_given(self.y)

    @property
    def taught(self) -> Array:
        """What machines are fitted to: results do not depend on the unit of the user."""
        return self.measured

    def in_units(self, values: Array) -> Array:
        """Return predictions of the user's in the units of `codes`, shape (m, q)."""
        return np.asarray(values.reshape(len(values), -1) / self.unit)

    def as_given(self, values: Array) -> Array:
        """Return values in the units of `codes` in those of the user; one output has no columns."""
        values = values * self.unit
        return np.asarray(values[:, 0] if values.shape[1] == 1 else values)

    def reach(self, f: Array) -> float:
        """Return how far predictions go beyond the range of the values, in units of that range."""
        Y = self.y[self.counting]
        low, high = Y.min(axis=0), Y.max(axis=0)
        beyond = np.maximum(low - f.min(axis=0), f.max(axis=0) - high) / (high - low)
        return max(float(beyond.max()), 0.0)

    def bounded(self, F: Array) -> Array:
        """Return predictions as they are: values have no limits."""
        return F

    def constant(self, rows: Array) -> tuple[Answers, str]:
        """Return the best answers that look at no features, and what they are."""
        each = " of every output" if self.names else ""
        if self.periods is not None:
            return self._known_before(rows, each)
        mean = np.average(self.y[rows], axis=0, weights=self.weight_of(rows))
        return Answers(np.tile(mean, (len(rows), 1))), f"predicting the mean{each}"

    def _known_before(self, rows: Array, each: str) -> tuple[Answers, str]:
        """Return the better of the mean of earlier rows and their last value, period by period."""
        periods: Any = self.periods
        overall = np.average(self.y, axis=0, weights=self.weight_of(np.arange(self.n)))
        mean = np.tile(overall, (self.n, 1))
        last = mean.copy()
        for train, test in periods.splits(np.arange(self.n), self.groups):
            latest = train[periods.time[train] == periods.time[train].max()]
            mean[test] = np.average(self.y[train], axis=0, weights=self.weight_of(train))
            last[test] = np.average(self.y[latest], axis=0, weights=self.weight_of(latest))
        choices = [
            (Answers(mean[rows]), f"predicting the mean{each} in earlier rows"),
            (Answers(last[rows]), f"predicting the last value{each}"),
        ]
        return min(choices, key=lambda choice: self.loss(choice[0], rows))

    def column(self, k: int) -> Task:
        """Return the task of one output, in its unit."""
        score = ValueScore(None, False, np.ones(1), self.y[:, k].mean())
        return Values(y=self.y[:, [k]], score=score, w=self.w, groups=self.groups, seed=self.seed)

    def assembled(self, models: Sequence[Any], weights: list[float], threshold: float) -> Any:
        """Return one model of those that were fitted, to values in units of their deviation."""
        for model in models:
            last_step(model)._times(self.unit if self.names else float(self.unit[0]))
        return models[0] if len(models) == 1 else AveragedRegressor.of(models, weights)

    def facts(self) -> dict[str, Any]:
        """Return the range of the values, or of each output."""
        ends = np.column_stack([self.labels.min(axis=0), self.labels.max(axis=0)]).tolist()
        if not self.names:
            return {"values": ends[0]}
        return {"outputs": [[name, *pair] for name, pair in zip(self.names, ends, strict=True)]}


@dataclass(frozen=True, kw_only=True)
class Classes(Task):
    """One of several classes per sample; `y` holds their numbers."""

    kind: ClassVar[str] = "classification"
    ridge: ClassVar[type] = KernelRidgeClassifier
    target_kind: ClassVar[str] = "classes"
    linear: ClassVar[str] = "logistic regression"

    @staticmethod
    def linear_model() -> Any:
        """Return logistic regression."""
        from sklearn.linear_model import LogisticRegression

        return LogisticRegression(max_iter=200)

    @classmethod
    def of(
        cls, codes: Array, classes: Array, scoring: Any, *, w: Array | None = None, **known: Any
    ) -> Classes:
        """Return the task of class numbers."""
        score = ClassScore(scoring, w is not None, classes, np.bincount(codes, w, len(classes)))
        return cls(y=codes, score=score, classes=classes, w=w, **known)

    @property
    def labels(self) -> Array:
        """What the user called the targets."""
        return np.asarray(np.asarray(self.classes)[self.y])

    @property
    def strata(self) -> Array:
        """The class numbers."""
        return self.y

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return len(np.asarray(self.classes))

    @cached_property
    def codes(self) -> Array:
        """The targets of least squares, shape (n, q): ±1, one column per class past two."""
        if self.n_classes == 2:
            return np.where(self.y == 1, 1.0, -1.0)[:, None]
        return np.where(self.y[:, None] == np.arange(self.n_classes), 1.0, -1.0)

    @cached_property
    def weights(self) -> Array:
        """The weight of every sample in training: sample weight times class weight, one on average.

        Balanced classes have equal sums of weights.
        """
        w = super().weights
        if self.class_weight is None:
            return w
        if isinstance(self.class_weight, str):
            totals = np.bincount(self.y, w, self.n_classes)
            return normalised_weights(w / np.where(totals > 0, totals, 1.0)[self.y])
        product = w * compute_sample_weight(self.class_weight, self.labels)
        if not (np.isfinite(product).all() and product.min() >= 0 and product.any()):
            raise ValueError(
                f"Expected class weights that are numbers >= 0, got {abridged(self.class_weight)}. "
                'Use "balanced", or a dict of label -> weight.'
            )
        return normalised_weights(product)

    def counts(self, rows: Any) -> list[tuple[str, int]]:
        """Return the classes and how many of the rows are theirs."""
        counts = np.bincount(self.y[rows], minlength=self.n_classes).tolist()
        return list(zip(map(str, np.asarray(self.classes)), counts, strict=True))

    @property
    def has_offsets(self) -> bool:
        """Whether probabilities need offsets of their own.

        Without class weights a prediction of least squares is the share of a class in the long run:
        at equal shares it changes sign. Then probabilities never contradict the answer.
        """
        return self.class_weight is not None or self.tunes_threshold

    def calibration(self, f: Array, rows: Array) -> Callable[[Array], Array]:
        """Return what turns decision values into probabilities, (m, C), fitted to held-out ones."""
        known = fit_calibration(
            as_machine(f), self.y[rows], self.n_classes, self.weight_of(rows), self.has_offsets
        )
        return lambda f: probabilities(as_machine(f), *known)

    def constant(self, rows: Array) -> tuple[Answers, str]:
        """Return the best answers that look at no features, and what they are."""
        C, y = self.n_classes, self.y[rows]
        share = np.bincount(y, self.weight_of(rows), C)
        p = np.tile(share / share.sum(), (len(rows), 1))
        choices = []
        for c in range(C) if self.score.by_label else [int(share.argmax())]:
            F = np.where(np.arange(C) == c, 1.0, -1.0)
            one = Answers(np.tile(F if C > 2 else F[1:], (len(rows), 1)), p)
            choices.append((self.loss(one, rows), -share[c], c, one))
        *_, c, best = min(choices, key=lambda item: item[:3])  # of equal answers the most frequent
        if self.score.by_probability:
            return best, "answering with the shares of the classes"
        return best, f"always answering {str(np.asarray(self.classes)[c])!r}"

    def assembled(self, models: Sequence[Any], weights: list[float], threshold: float) -> Any:
        """Return one model of those that were fitted, with its threshold."""
        if len(models) > 1:
            return AveragedClassifier.of(models, weights, threshold=threshold)
        machine = last_step(models[0])
        machine.intercept_ = machine.intercept_ - threshold
        return models[0]

    def calibrate(self, machine: Any, f: Array, rows: Array) -> None:
        """Fit the probabilities of a machine to decision values of left-out samples."""
        w, y = self.weight_of(rows), self.labels[rows]
        machine.calibrate(as_machine(f), y, w, has_offsets=self.has_offsets)

    def facts(self) -> dict[str, Any]:
        """Return the classes and their rows."""
        return {"classes": [list(pair) for pair in self.counts(slice(None))]}

    def of_known(self, f: Array, machine: Any) -> Array:
        """Return decision values of the classes that a machine knows."""
        seen = np.isin(np.asarray(self.classes), machine.classes_)
        if seen.all():
            return f
        f = f[:, seen] if f.shape[1] > 1 else f
        return f[:, 1:] - f[:, :1] if f.shape[1] == 2 else f

    def decision_values(self, model: Any, X: Any, rows: Array | None = None) -> Array:
        """Return values of which the largest decides, whatever the model has."""
        classes = np.asarray(self.classes)
        if rows is not None:
            seen = np.unique(self.y[rows])
        else:
            seen = np.flatnonzero(np.isin(classes, getattr(model, "classes_", classes)))
        if hasattr(model, "decision_function"):
            f = np.asarray(model.decision_function(X))
            if f.ndim == 1 or f.shape[1] == len(seen):
                return self._of_all(f, seen)
        if hasattr(model, "predict_proba"):
            F = np.asarray(model.predict_proba(X))
        else:
            F = (np.asarray(model.predict(X))[:, None] == classes[seen]).astype(float)
        return self._of_all(F[:, 1] - F[:, 0] if len(seen) == 2 else F, seen)

    def _of_all(self, f: Array, seen: Array) -> Array:
        """Return decision values (m, q) of all classes, where training rows have seen but some."""
        C = self.n_classes
        if len(seen) == C:
            return f.reshape(len(f), -1)
        columns = np.column_stack([-f, f]) if f.ndim == 1 else f
        full = np.full((len(columns), C), float(columns.min(initial=0.0)) - 1.0)
        full[:, seen] = columns
        return full if C > 2 else np.asarray(full[:, 1:] - full[:, :1])

    def answers_of(self, model: Any, X: Any) -> Answers:
        """Return what a fitted model says of samples, in the form that the score asks for."""
        classes, p = np.asarray(self.classes), None
        if self.score.by_probability:
            shares = model.predict_proba(X)
            p = np.zeros((len(shares), len(classes)))
            p[:, np.isin(classes, getattr(model, "classes_", classes))] = shares
        if not self.score.by_label:
            return Answers(self.decision_values(model, X), p)
        # some libraries answer in a column
        F = np.where(np.asarray(model.predict(X)).reshape(-1, 1) == classes, 1.0, -1.0)
        return Answers(F[:, 1:] if len(classes) == 2 else F, p)

    def lone(self, rows: Array, count: int) -> Answers | None:
        """Return the answers for so many samples where the rows are of one class."""
        seen = np.unique(self.y[rows])
        if len(seen) > 1:
            return None
        p = np.tile(np.eye(self.n_classes)[seen[0]], (count, 1))
        f = self._of_all(np.ones((count, 1)), seen)
        return Answers(f, p if self.score.by_probability else None)


@dataclass(frozen=True, kw_only=True)
class Labels(Task):
    """Labels that are there or not, any number per sample; y holds 0 and 1, shape (n, q)."""

    given_names: Array = field(default_factory=lambda: np.arange(0))  # or numbers, as scikit-learn

    kind: ClassVar[str] = "multilabel"

    @classmethod
    def of(cls, Y: Array, scoring: Any, *, w: Array | None = None, **known: Any) -> Labels:
        """Return the task of labels of 0 and 1, (n, q)."""
        score = LabelScore(scoring, w is not None, Y.shape[1])
        return cls(y=Y.astype(int), score=score, classes=BOTH.astype(Y.dtype), w=w, **known)

    @property
    def class_names(self) -> Array:
        """The labels by name, or by number as scikit-learn has them."""
        return self.given_names

    @cached_property
    def codes(self) -> Array:
        """The targets of least squares: -1 and +1, shape (n, q)."""
        return 2.0 * self.y - 1.0

    @property
    def labels(self) -> Array:
        """What the user passed."""
        return np.asarray(np.asarray(self.classes)[self.y])

    @property
    def taught(self) -> Array:
        """What machines are fitted to."""
        return self.codes

    def decision_values(self, model: Any, X: Any, rows: Array | None = None) -> Array:
        """Return decision values, or -1 and +1 for the labels that a model predicts."""
        if hasattr(model, "decision_function"):
            return np.asarray(model.decision_function(X))
        return np.asarray(2.0 * np.asarray(model.predict(X), dtype=float) - 1.0)

    def answers_of(self, model: Any, X: Any) -> Answers:
        """Return what a fitted model says of samples, in the form that the score asks for."""
        p = None
        if self.score.by_probability:
            shares = model.predict_proba(X)  # of scikit-learn's, one array per label
            p = np.stack([q[:, 1] for q in shares], 1) if isinstance(shares, list) else shares
        return Answers(self.decision_values(model, X), p)

    def calibration(self, f: Array, rows: Array) -> Callable[[Array], Array]:
        """Return what turns decision values into a probability for every label, (m, labels)."""
        w = self.weight_of(rows)
        fitted = [fit_calibration(f[:, k], self.y[rows, k], 2, w, False) for k in range(f.shape[1])]
        return lambda f: np.column_stack(
            [probabilities(f[:, k], *known)[:, 1] for k, known in enumerate(fitted)]
        )

    def constant(self, rows: Array) -> tuple[Answers, str]:
        """Return the best answers that look at no features, and what they are."""
        share = np.average(self.y[rows], axis=0, weights=self.weight_of(rows))
        p = np.tile(share, (len(rows), 1))
        known = [
            (np.where(share > 0.5, 1.0, -1.0), "answering every label with its majority"),
            (np.ones(len(share)), "always answering all labels"),
        ]
        choices = [(Answers(np.tile(f, (len(rows), 1)), p), words) for f, words in known]
        if self.score.by_probability:
            return choices[0][0], "answering with the shares of the labels"
        return min(choices, key=lambda item: self.loss(item[0], rows))

    def counts(self, rows: Any) -> list[tuple[str, int]]:
        """Return the labels and how many of the rows have each."""
        return list(zip(self.names, self.y[rows].sum(axis=0).tolist(), strict=True))

    def column(self, k: int) -> Task:
        """Return the task of one label."""
        known: dict[str, Any] = {"w": self.w, "groups": self.groups, "seed": self.seed}
        return Classes.of(self.y[:, k], np.asarray(self.classes), None, **known)

    def assembled(self, models: Sequence[Any], weights: list[float], threshold: float) -> Any:
        """Return one model of those that were fitted to the codes, which answers with labels."""
        known = self.given_names, np.asarray(self.classes)
        if len(models) > 1:
            return LabelsClassifier.of(AveragedRegressor.of(models, weights), *known)
        if not hasattr(models[0], "steps"):
            return LabelsClassifier.of(models[0], *known)
        *steps, (name, machine) = models[0].steps
        return ModelPipeline([*steps, (name, LabelsClassifier.of(machine, *known))])

    def calibrate(self, machine: Any, f: Array, rows: Array) -> None:
        """Fit the probabilities of a machine to decision values of left-out samples."""
        machine.calibrate(f, self.y[rows], self.weight_of(rows))

    def facts(self) -> dict[str, Any]:
        """Return the labels and the rows that have them."""
        return {"labels": [list(pair) for pair in self.counts(slice(None))]}


# ---- reading ------------------------------------------------------------------------------------


def read_task(y: Any, **options: Any) -> Task:
    """Return the task of one target per sample, or of several in columns; tried before any work.

    Columns of 0 and 1 are labels, unless ``task="regression"``; other columns are values.
    """
    target = _read(y, **options)
    if target.periods is not None and len(target.periods.time) != target.n:
        raise ValueError(
            f"Expected a time for each of the {target.n} rows, got {len(target.periods.time)} in "
            "time_order. Pass one per row, in the order of the rows."
        )
    if not target.exchangeable:
        target.splits(np.arange(target.n), 5)
    target.weights  # noqa: B018
    return target


def _read(
    y: Any,
    *,
    task: str = "auto",
    scoring: Any = None,
    cv: Any = None,
    groups: Any = None,
    class_weight: Any = None,
    sample_weight: Any = None,
    periods: Periods | None = None,
    seed: int = 0,
) -> Task:
    columns = getattr(y, "columns", None)
    y = y.toarray() if hasattr(y, "toarray") else y
    cells = np.asarray(y) if hasattr(y, "shape") else as_labels(y)
    if cells.ndim == 2 and cells.shape[1] > 1 and cells.dtype.kind not in "fiub":
        texts = [any(isinstance(v, str) for v in column.tolist()) for column in cells.T]
        where = ""
        if columns is not None and any(texts):
            where = f" in column {str(columns[texts.index(True)])!r}"
        if any(texts) or cells.dtype.kind != "O":
            raise ValueError(
                f"Expected numbers in a y of several columns, got texts{where}. Several targets at "
                "once are values, or labels of 0 and 1; rank classes one column at a time."
            )
    Y = as_labels(y)
    if not Y.size:
        raise ValueError(f"Expected at least one sample and one column in y, got shape {Y.shape}.")
    w = None if sample_weight is None else normalised_weights(check_weights(sample_weight, len(Y)))
    shared = {
        "w": w,
        "cv": int(cv) if isinstance(cv, np.integer) else cv,
        "groups": check_groups(groups, len(Y)),
        "periods": periods,
        "seed": seed,
    }
    used = Y if w is None else Y[w > 0]
    if Y.ndim == 1:
        kind = kind_of(Y)
        if task == "auto":
            task = "regression" if kind == "continuous" else decide_task(Y)[0]
        if task == "regression":
            Y, used = finite_values(Y)[:, None], finite_values(used)[:, None]
            return _read_values(Y, used, ("y",), scoring, shared)
        if kind.startswith("continuous"):
            raise ValueError(
                "Expected class labels, got real numbers. Unknown label type: continuous. "
                'Use task="regression".'
            )
        return _read_classes(Y, scoring, class_weight, shared)
    are_labels = bool(np.isin(Y, BOTH).all()) and task != "regression"
    word = "label" if are_labels else "output"
    given = [f"{word} {k + 1}" for k in range(Y.shape[1])] if columns is None else columns
    names = tuple(unique_names([str(name) for name in given]))
    if are_labels:
        known = np.arange(len(names)) if columns is None else np.array(names)
        return _read_labels(Y, used, names, known, scoring, class_weight, shared)
    values = _read_values(Y, used, names, scoring, shared)
    _check_values(Y, names, task)
    return values


def _read_values(
    Y: Array, used: Array, names: tuple[str, ...], scoring: Any, shared: dict[str, Any]
) -> Task:
    values, used = finite_values(Y), finite_values(used)
    flat = np.ptp(used, axis=0) <= 1e-14 * np.maximum(np.abs(used).max(axis=0), 1e-300)
    if flat.any():
        which = "a constant y" if len(names) == 1 else f"a constant column {names[flat.argmax()]!r}"
        raise ValueError(
            f"Expected targets that vary, got {which}. Nothing can be learned of it: leave it out."
        )
    return Values.of(values, scoring, names=names if len(names) > 1 else (), **shared)


def _read_classes(y: Array, scoring: Any, class_weight: Any, shared: dict[str, Any]) -> Task:
    classes, codes = np.unique(y, return_inverse=True)
    remark = alike_classes(classes.tolist())
    if remark:
        warnings.warn(remark, UserWarning, stacklevel=3)
    w = shared["w"]
    if len(np.unique(codes if w is None else codes[w > 0])) < 2:
        raise ValueError(
            f"Expected at least two classes, got 1 class: {classes[:1].tolist()}. "
            "Add samples of another class."
        )
    if len(classes) > max(len(y) // 2, 2):
        raise ValueError(
            f"Expected classes with several samples each, got {len(classes)} classes in {len(y)} "
            'samples. If these are numbers to predict, use task="regression".'
        )
    if class_weight == "balanced" and scoring is None:
        scoring = "balanced_accuracy"  # a score that sees the weights: accuracy hardly would
    return Classes.of(codes, classes, scoring, class_weight=class_weight, **shared)


def _check_values(Y: Array, names: tuple[str, ...], task: str) -> None:
    """Refuse columns that may be classes, unless they were said to be values."""
    if task == "regression":
        return
    kinds = [decide_task(column)[0] for column in Y.T]
    if task == "auto" and "classification" not in kinds:
        return
    if task == "classification":
        strange = next(k for k, column in enumerate(Y.T) if not np.isin(column, BOTH).all())
        raise ValueError(
            f"Expected labels of 0 and 1 in every column of y, got other numbers in column "
            f"{names[strange]!r}. Rank several classes one column at a time."
        )
    odd = names[kinds.index("classification")]
    others = "values in others" if "regression" in kinds else "not 0 and 1 everywhere"
    raise ValueError(
        f"Expected columns of values, or of 0 and 1, in y, got a column {odd!r} that looks like "
        f'classes, and {others}. Use task="regression" if all are values; rank classes one column '
        "at a time."
    )


def _read_labels(
    Y: Array,
    used: Array,
    names: tuple[str, ...],
    known: Array,
    scoring: Any,
    class_weight: Any,
    shared: dict[str, Any],
) -> Task:
    lone = np.ptp(used.astype(int), axis=0) == 0
    if lone.any():
        k = int(lone.argmax())
        raise ValueError(
            f"Expected 0 and 1 in every label, got only {int(used[0, k])} in column "
            f"{names[k]!r} of y. Leave it out: nothing can be learned of it."
        )
    if class_weight is not None:
        raise ValueError(
            f"Expected no class_weight with several labels, got {abridged(class_weight)}. A row "
            "has many labels: weigh rows with sample_weight, or rank one label at a time."
        )
    return Labels.of(Y, scoring, names=names, given_names=known, **shared)
