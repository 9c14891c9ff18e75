"""Several targets at once: outputs that are values, or labels that are there or not.

All columns share the kernel and the regulariser, and every fit solves for all of them together.
Outputs are in units of their own deviation, so that none counts more because of its unit; labels
are coded -1 and +1.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import UndefinedMetricWarning

from gramsmith.arguments import abridged
from gramsmith.cached import cached_property
from gramsmith.gram.views import unique_names
from gramsmith.machines.calibration import fit_calibration, probabilities
from gramsmith.selection.task import (
    ERRORS,
    Answers,
    GivenDecisions,
    Score,
    Task,
    checked_options,
    read_task,
)
from gramsmith.tables.target import decide_task
from gramsmith.targets import as_labels, finite_values

Array = npt.NDArray[Any]

BOTH = np.array([0, 1])  # a label is not there, or it is


@dataclass(frozen=True)
class SeveralTargets(Task):
    """What outputs and labels share: y has shape (n, m), and so have all answers."""

    @cached_property
    def line(self) -> Array:
        """The samples along the main direction of their targets, by which they are ordered."""
        Z = self.codes - self.codes.mean(axis=0)
        return np.asarray(Z @ np.linalg.eigh(Z.T @ Z)[1][:, -1])

    def column(self, k: int) -> Task:
        """Return the task of one of the columns, with the default score."""
        raise NotImplementedError

    def column_scores(self, answers: Answers, rows: Array) -> dict[str, tuple[float, float, float]]:
        """Return the score of each column by its name, its error, and that of a constant answer."""
        found = {}
        for k, name in enumerate(self.names):
            task, own = self.column(k), Answers(answers.f[:, k])
            constant, _ = task.constant(rows)
            found[name] = (
                task.as_score(task.loss(own, rows)),
                task.as_error(task.error(own, rows)),
                task.as_score(task.loss(constant, rows)),
            )
        return found


@dataclass(frozen=True)
class Outputs(SeveralTargets):
    """Several values per sample; `y` and all answers are in units of `unit`."""

    unit: Array = field(default_factory=lambda: np.ones(1))  # the deviation of every output

    @property
    def labels(self) -> Array:
        """What the user passed."""
        return self.as_given(self.y)

    @property
    def codes(self) -> Array:
        """The targets of least squares, shape (n, m)."""
        return self.y

    @property
    def taught(self) -> Array:
        """What machines are fitted to."""
        return self.y

    def in_units(self, values: Array) -> Array:
        """Return values of the user in units of the outputs."""
        return np.asarray(values / self.unit)

    def as_given(self, values: Array) -> Array:
        """Return values in units of the outputs as those of the user."""
        return np.asarray(values * self.unit)

    @property
    def _unit(self) -> float:
        return 1.0

    @cached_property
    def score(self) -> Score:
        """The score of scikit-learn, where it is not the default."""
        return OutputScore(self.scoring, self.unit).try_out(self.w is not None)

    def losses(self, f: Array, rows: Array) -> Array:
        """Return the mean squared error of every sample over the outputs."""
        return np.asarray(((f - self.y[rows]) ** 2).mean(axis=1))

    def constant(self, rows: Array) -> tuple[Answers, str]:
        """Return the best answers that look at no features, and what they are."""
        w = None if self.w is None else self.w[rows]
        mean = np.average(self.y[rows], axis=0, weights=w)
        return Answers(np.tile(mean, (len(rows), 1))), "predicting the mean of every output"

    def column(self, k: int) -> Task:
        """Return the task of one output, in its unit."""
        return Task("regression", self.y[:, k], w=self.w, groups=self.groups, seed=self.seed)


@dataclass(frozen=True)
class Labels(SeveralTargets):
    """Labels that are there or not, any number per sample; y holds 0 and 1."""

    given_names: Array = field(default_factory=lambda: np.arange(0))  # or numbers, as scikit-learn

    @property
    def measured_as(self) -> str:
        """The task as measures and learners know it."""
        return "classification"

    @property
    def target_kind(self) -> str:
        """What the measures call such targets."""
        return "labels"

    @property
    def default_score(self) -> bool:
        """Whether the score is the mean accuracy of the labels."""
        return self.scoring is None

    @property
    def score_name(self) -> str:
        """The name of the score that is shown."""
        return "label accuracy" if self.default_score else self.score.name

    @cached_property
    def codes(self) -> Array:
        """The targets of least squares: -1 and +1, shape (n, m)."""
        return 2.0 * self.y - 1.0

    @property
    def taught(self) -> Array:
        """What machines are fitted to."""
        return self.codes

    @cached_property
    def score(self) -> Score:
        """The score of scikit-learn, where it is not the default."""
        return LabelScore(self.scoring, len(self.names)).try_out(self.w is not None)

    def guess(self, f: Array) -> Array:
        """Return which labels decision values stand for, as 0 and 1."""
        return np.asarray((f > 0).astype(int))

    def losses(self, f: Array, rows: Array) -> Array:
        """Return the share of the labels of every sample that is wrong."""
        return np.asarray((self.guess(f) != self.y[rows]).mean(axis=1))

    def calibration(self, f: Array, rows: Array) -> Callable[[Array], Array]:
        """Return what turns decision values into a probability for every label, (m, labels)."""
        w = None if self.w is None else self.w[rows]
        fitted = [fit_calibration(f[:, k], self.y[rows, k], 2, w) for k in range(f.shape[1])]
        return lambda f: np.column_stack(
            [probabilities(f[:, k], *known)[:, 1] for k, known in enumerate(fitted)]
        )

    def constant(self, rows: Array) -> tuple[Answers, str]:
        """Return the best answers that look at no features, and what they are."""
        w = None if self.w is None else self.w[rows]
        share = np.average(self.y[rows], axis=0, weights=w)
        p = np.tile(share, (len(rows), 1))
        known = [
            (np.where(share > 0.5, 1.0, -1.0), "answering every label with its majority"),
            (np.ones(len(share)), "always answering all labels"),
        ]
        found = [(Answers(np.tile(f, (len(rows), 1)), p), words) for f, words in known]
        if not self.default_score and self.score.by_probability:
            return found[0][0], "answering with the shares of the labels"
        return min(found, key=lambda item: self.loss(item[0], rows))

    def counts(self, rows: Any = slice(None)) -> dict[str, int]:
        """Return how many of the rows have each label."""
        return dict(zip(self.names, self.y[rows].sum(axis=0).tolist(), strict=True))

    def column(self, k: int) -> Task:
        """Return the task of one label."""
        options: dict[str, Any] = {"w": self.w, "groups": self.groups, "seed": self.seed}
        return Task("classification", self.y[:, k], self.classes, **options)


# ---- scores of scikit-learn ---------------------------------------------------------------------


class OutputScore(Score):
    """A score of several outputs, in the units of the user, as scikit-learn computes it."""

    def __init__(self, scoring: Any, unit: Array) -> None:
        super().__init__(scoring, None)
        self.unit = unit

    @property
    def of(self) -> str:
        """What it is a score of, in words."""
        return f"{len(self.unit)} outputs"

    def parts(self, answers: Answers, y: Array, w: Array) -> Array | None:
        """Return what every sample adds to the sums of `of_sums`, or None for other scores."""
        if not self.summed:
            return None
        gap = np.abs(answers.f - y) * self.unit
        errors = (gap if self.name == ERRORS[0] else gap**2).mean(axis=1)
        return np.column_stack([w * errors, w])

    def value(self, f: Array, y: Array, w: Array | None = None, p: Array | None = None) -> float:
        """Return the score of predictions."""
        return super().value(f * self.unit, y * self.unit, w)

    def example(self) -> tuple[Array, Array, Array | None]:
        """Return predictions and values that any such score can be tried on."""
        f, y, _ = super().example()
        times = np.arange(1.0, 1.0 + len(self.unit)) / self.unit
        return f[:, None] * times, y[:, None] * times, None


class GivenLabels(GivenDecisions):
    """A classifier of several labels that returns the answers it is given."""

    def predict(self, X: Any) -> Array:
        self.asked.add("predict")
        return (np.asarray(X) > 0.0).astype(int)


class LabelScore(Score):
    """A score of several labels; decision values above zero say that a label is there."""

    usual = 'labels, such as "f1_macro"'

    def __init__(self, scoring: Any, n_labels: int) -> None:
        super().__init__(scoring, BOTH)
        self.n_labels = n_labels
        self.classes, self.by_threshold, self.summed = BOTH, False, False

    @property
    def of(self) -> str:
        """What it is a score of, in words."""
        return f"{self.n_labels} labels"

    def given(self, p: Array | None) -> Any:
        """Return the classifier that scikit-learn is to score."""
        return GivenLabels(np.tile(BOTH, (self.n_labels, 1)), p)

    def value(self, f: Array, y: Array, w: Array | None = None, p: Array | None = None) -> float:
        """Return the score of decision values; rows without a label count as they are."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UndefinedMetricWarning)
            # scores of one probability distribution per row do not know labels
            warnings.filterwarnings("error", ".*do not sum to one")
            return super().value(f, y, w, p)

    def example(self) -> tuple[Array, Array, Array | None]:
        """Return decision values, labels and probabilities that any such score can be tried on."""
        y = (np.arange(6)[:, None] + np.arange(self.n_labels)) % 3 % 2
        return 2.0 * y - 1.0, y, 0.2 + 0.6 * y


# ---- reading ------------------------------------------------------------------------------------


def read_goal(y: Any, *, task: str = "auto", class_weight: Any = None, **options: Any) -> Task:
    """Return the task of one target per sample, or of several in columns.

    Columns of 0 and 1 are labels, unless ``task="regression"``; other columns are values.
    """
    columns = getattr(y, "columns", None)
    y = y.toarray() if hasattr(y, "toarray") else y
    if len(getattr(y, "shape", ())) == 2 and y.shape[1] > 1 and columns is not None:
        _check_numbers(y, columns)
    Y = as_labels(y)
    if Y.ndim == 1:
        return read_task(Y, task=task, class_weight=class_weight, **options)
    if not Y.size:
        raise ValueError(f"Expected at least one sample and one column in y, got shape {Y.shape}.")
    if Y.dtype.kind not in "fiub":
        raise ValueError(
            "Expected numbers in a y of several columns, got texts. Several targets at once are "
            "values, or labels of 0 and 1; rank classes one column at a time."
        )
    seed = options.pop("seed", 0)
    scoring = options.pop("scoring", None)
    shared = {"scoring": scoring, "seed": seed, **checked_options(Y, **_given(options))}
    are_labels = bool(np.isin(Y, BOTH).all())
    word = "label" if are_labels and task != "regression" else "output"
    given = [f"{word} {k + 1}" for k in range(Y.shape[1])] if columns is None else columns
    shared["names"] = names = tuple(unique_names([str(name) for name in given]))
    counted = Y if shared["w"] is None else Y[shared["w"] > 0]
    if are_labels and task != "regression":
        shared["given_names"] = np.arange(len(names)) if columns is None else np.array(names)
        return _labels(Y, counted, names, class_weight, shared)
    values = finite_values(Y)
    used = values if shared["w"] is None else values[shared["w"] > 0]
    flat = np.ptp(used, axis=0) <= 1e-14 * np.maximum(np.abs(used).max(axis=0), 1e-300)
    if flat.any():
        raise ValueError(
            f"Expected outputs that vary, got a constant column {names[flat.argmax()]!r} in y. "
            "Leave it out: nothing can be learned of it."
        )
    _check_values(Y, names, task)
    unit = _deviations(values, shared["w"])
    return Outputs("regression", values / unit, unit=unit, **shared).try_out()


def _given(options: dict[str, Any]) -> dict[str, Any]:
    return {name: options.get(name) for name in ("cv", "groups", "sample_weight")}


def _deviations(values: Array, w: Array | None) -> Array:
    apart = values - np.average(values, axis=0, weights=w)
    size = np.abs(apart).max(axis=0)  # squares of tiny values would be zero
    return np.asarray(size * np.sqrt(np.average((apart / size) ** 2, axis=0, weights=w)))


def _check_numbers(y: Any, columns: Any) -> None:
    """Refuse columns of texts in a data frame of targets by their name."""
    for k, name in enumerate(columns):
        column = np.asarray(y)[:, k]
        if any(isinstance(value, str) for value in column.tolist()):
            raise ValueError(
                f"Expected numbers in a y of several columns, got texts in column {str(name)!r}. "
                "Several targets at once are values, or labels of 0 and 1; rank classes one column "
                "at a time."
            )


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
    found = names[kinds.index("classification")]
    others = "values in others" if "regression" in kinds else "not 0 and 1 everywhere"
    raise ValueError(
        f"Expected columns of values, or of 0 and 1, in y, got a column {found!r} that looks like "
        f'classes, and {others}. Use task="regression" if all are values; rank classes one column '
        "at a time."
    )


def _labels(
    Y: Array, counted: Array, names: tuple[str, ...], class_weight: Any, shared: dict[str, Any]
) -> Task:
    lone = np.ptp(counted.astype(int), axis=0) == 0
    if lone.any():
        k = int(lone.argmax())
        raise ValueError(
            f"Expected 0 and 1 in every label, got only {int(counted[0, k])} in column "
            f"{names[k]!r} of y. Leave it out: nothing can be learned of it."
        )
    if class_weight is not None:
        raise ValueError(
            f"Expected no class_weight with several labels, got {abridged(class_weight)}. A row "
            "has many labels: weigh rows with sample_weight, or rank one label at a time."
        )
    return Labels("multilabel", Y.astype(int), np.unique(Y), **shared).try_out()
