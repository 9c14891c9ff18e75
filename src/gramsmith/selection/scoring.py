"""Scoring: what a model promised, against what it does on labelled rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.metrics import get_scorer_names

from gramsmith.selection.estimate import Estimate, of_record
from gramsmith.selection.guarantees import NOVEL_ROWS
from gramsmith.selection.held_out import HeldOut
from gramsmith.selection.kinds import Classes, Labels, Values
from gramsmith.selection.task import Task
from gramsmith.selection.thresholds import (
    calibrated_machine,
    can_flag,
    share_with_interval,
    shown_probability,
    threshold_table,
)
from gramsmith.targets import as_labels, check_groups, check_weights, finite_values
from gramsmith.targets import normalised_weights as normalised

Array = npt.NDArray[Any]

COVERAGE = 0.9  # of the sets and intervals that are checked
NOVEL = 0.99  # novelty of one in a hundred rows that are like those of training
SURE = 1.96  # errors by which figures differ that are called different


@dataclass(frozen=True)
class Held:
    """One promise, and what became of it on the rows."""

    what: str
    promised: float
    value: float
    low: float  # ends of an interval of 95 %
    high: float
    rows: int
    # of what was promised, which rests on some rows only; None of the lower end of an interval,
    # which allows for it
    error: float | None = None

    @property
    def kept(self) -> bool:
        """Whether it is what was promised, or more, but for the errors of both."""
        return self.value + self._beyond(self.high) >= self.promised

    @property
    def exceeded(self) -> bool:
        """Whether it is more than what was promised, beyond the errors of both."""
        return self.value - self._beyond(self.low) > self.promised

    def _beyond(self, end: float) -> float:
        return float(np.hypot(end - self.value, SURE * (self.error or 0.0)))


@dataclass(frozen=True)
class Scoring:
    """What a model promised, and what it does.

    Parameters
    ----------
    score : str
        The name of the score.
    found : Estimate
        The score on the rows, its interval, and the score of a constant answer.
    promised : dict
        The estimate that the model was handed over with; empty if it was without.
    verdict : str
        "as expected", "better than expected" or "worse than expected", or empty.
    held : list of Held
        How often sets or intervals hold, by class; what thresholds do; how many rows are unlike
        those of training, of which less is better.
    """

    score: str
    found: Estimate
    promised: dict[str, Any]
    verdict: str
    held: list[Held] = field(default_factory=list)
    novel: Held | None = None

    def to_plain(self) -> dict[str, Any]:
        """Return nested plain values."""
        plain = asdict(self)
        plain["held"] = [{**asdict(one), "kept": one.kept} for one in self.held]
        return plain


def score_model(
    model: Any,
    X: Any,
    y: Any,
    facts: Mapping[str, Any],
    *,
    sample_weight: Any = None,
    groups: Any = None,
) -> Scoring:
    """Return what a model does on labelled rows, beside what it promised.

    Parameters
    ----------
    model : what rank_kernels hands over
    X, y : rows like those of `rank_kernels`, and their targets
    facts : dict
        `KernelRanking.summary`, which a model file keeps.
    sample_weight, groups : arrays of shape (n,), optional
        Weights, and groups whose rows are no independent rows.
    """
    task = task_of(model, y, facts, sample_weight, groups)
    answers = task.answers_of(model, X)
    rows = np.arange(task.n)
    # rows that taught nobody: any number of them may have taught the model
    record = HeldOut("", "new rows", np.array([np.nan]), answers.f[None], rows, rows * 0, np.inf)
    found = of_record(answers, record, task)
    promised = facts.get("estimate")
    promised = dict(promised) if isinstance(promised, Mapping) else {}
    held = list(_held(model, X, task))
    novel = None
    if hasattr(model, "novelty"):
        unlike = model.novelty(X) > NOVEL
        known = 1.0 / (min(int(promised.get("rows") or NOVEL_ROWS), NOVEL_ROWS) + 1.0)
        novel = _share("rows unlike those of training", 1.0 - NOVEL, unlike, task, rows, known)
    return Scoring(task.score.name, found, promised, _verdict(found, promised), held, novel)


def task_of(model: Any, y: Any, facts: Mapping[str, Any], sample_weight: Any, groups: Any) -> Task:
    """Return the task of a model on other rows; classes that it does not know count as wrong."""
    Y = as_labels(y)
    w = None if sample_weight is None else normalised(check_weights(sample_weight, len(Y)))
    shared: dict[str, Any] = {"w": w, "groups": check_groups(groups, len(Y))}
    # the name of a function is not enough; defaults have names of their own
    scoring = facts.get("score") if facts.get("score") in get_scorer_names() else None
    names = tuple(map(str, getattr(y, "columns", range(Y.shape[1] if Y.ndim == 2 else 1))))
    if facts.get("task") == "multilabel":
        return Labels.of(Y, scoring, names=names, given_names=model.classes_, **shared)
    if hasattr(model, "classes_"):
        classes, codes = np.unique(np.concatenate([model.classes_, Y]), return_inverse=True)
        return Classes.of(codes[len(model.classes_) :], classes, scoring, **shared)
    values = finite_values(Y).reshape(len(Y), -1)
    return Values.of(values, scoring, names=names if len(names) > 1 else (), **shared)


def _held(model: Any, X: Any, task: Task) -> Any:
    """Yield what became of sets, intervals and thresholds."""
    rows, machine = np.arange(task.n), calibrated_machine(model)
    if hasattr(model, "predict_set"):
        inside = np.zeros((task.n, len(np.asarray(task.classes))), dtype=bool)
        known = np.isin(np.asarray(task.classes), model.classes_)
        inside[:, known] = model.predict_set(X, COVERAGE)
        right = inside[rows, task.y]
        for c, name in enumerate(np.asarray(task.classes)):
            own = rows[task.y == c]
            if known[c] and len(own):
                members = machine.set_codes_ == int(known[:c].sum())
                new = 1.0 - machine._ordered(members)[1][-1] if members.any() else 0.0
                yield _share(f"sets hold {str(name)!r}", COVERAGE, right[own], task, own, new)
    if hasattr(model, "predict_interval"):
        ends = model.predict_interval(X, COVERAGE).reshape(task.n, -1, 2)
        values = task.labels.reshape(task.n, -1, 1)
        right = (ends[:, :, :1] <= values) & (values <= ends[:, :, 1:])
        new = 1.0 / (len(machine.held_out_errors_) + 1.0)
        if hasattr(machine, "held_out_levels_"):
            new = 1.0 - float(machine.held_out_levels_[-1].min())
        for k, name in enumerate(task.names or ("",)):
            of = f" of {name}" if name else ""
            yield _share(f"intervals hold{of}", COVERAGE, right[:, k, 0], task, rows, new)
    if can_flag(model):
        table = threshold_table(model)
        c = [str(name) for name in model.classes_].index(table.of)
        p = model.predict_proba(X)[:, c]
        case = np.asarray(task.classes)[task.y] == model.classes_[c]
        for row in table.rows:
            flag = p >= row.threshold
            if case.any() and flag.any():
                at = f"of {table.of!r} from {shown_probability(row.threshold)}"
                yield _share(f"recall {at}", row.recall_low, flag[case], task, rows[case])
                yield _share(f"precision {at}", row.precision_low, case[flag], task, rows[flag])


def _share(
    what: str, promised: float, hit: Array, task: Task, rows: Array, new: float | None = None
) -> Held:
    """Return a weighted share of rows with its interval, by the scatter between groups.

    `new` is what a new row weighs among those that the promise rests on, which says how many they
    are: the share that a limit of n rows leaves out has the beta distribution.
    """
    error = None if new is None else float(np.sqrt(promised * (1.0 - promised) * new))
    w = np.ones(len(rows)) if task.w is None else task.w[rows]
    share, low, high = share_with_interval(hit, w, task.clusters(rows))
    return Held(what, promised, share, low, high, len(rows), error)


def _verdict(found: Estimate, promised: Mapping[str, Any]) -> str:
    """Return whether a score is what was promised, by both standard errors."""
    value, error = promised.get("value"), promised.get("error")
    if not isinstance(value, int | float) or not isinstance(error, int | float):
        return ""
    gap, allowed = found.value - value, SURE * float(np.hypot(found.error, error))
    if not abs(gap) > allowed:
        return "as expected"
    return "better than expected" if gap > 0 else "worse than expected"
