"""Held-out records: what machines said of samples they were not trained on, its score, and ties."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.stats import t as student

from gramsmith.selection.scores import Answers
from gramsmith.selection.task import Folds, Task

Array = npt.NDArray[Any]

FAR = 0.5  # of the range of the targets: held-out predictions that far outside are suspicious
LEVEL = 0.05  # chance that any kernel is called worse than the best if all are equally good


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Held-out decision values of one candidate with one machine, for each of its settings.

    Scores, error bars, comparisons and estimates are functions of such records.
    """

    machine: str  # "ridge", "landmarks", "average", or the class of the user's
    kind: str  # "cross-validation", "leave-one-out" or "nested cross-validation"
    settings: Array  # alpha per unit of weight; nan for a user's machine, (a,)
    values: Array  # decision values or predictions, (a, m, q)
    rows: Array  # the samples they belong to, (m,)
    fold: Array  # the fold in which each was tested, (m,)
    taught: float = 0.0  # how many samples taught, on average; 0: all but the one
    # predictions for the outermost samples by a machine that has seen none of them, (a, r, q)
    outermost: Array | None = None
    # probabilities as the machine itself gives them, (a, m, C); default fitted to the values
    shares: Array | None = None

    @classmethod
    def of_folds(
        cls,
        machine: str,
        values: Array,
        rows: Array,
        splits: Folds,
        *,
        kind: str = "cross-validation",
        settings: Any = (np.nan,),
        **known: Any,
    ) -> HeldOut:
        """Return the record of what folds say of the samples that they test, one after the other.

        Of samples that were left out one by one, folds only say what thresholds are fitted to.
        """
        taught = float(np.mean([len(train) for train, _ in splits]))
        return cls(
            machine,
            kind,
            np.asarray(settings),
            values,
            rows=rows[np.concatenate([test for _, test in splits])],
            fold=np.repeat(np.arange(len(splits)), [len(test) for _, test in splits]),
            taught=0.0 if kind == "leave-one-out" else taught,
            **known,
        )

    def at(self, places: Array) -> HeldOut:
        """Return the record of some of its samples."""
        return replace(
            self, values=self.values[:, places], rows=self.rows[places], fold=self.fold[places]
        )

    @property
    def adjustable(self) -> bool:
        """Whether the threshold may be set; not of a machine of the user's."""
        return not np.isnan(self.settings).any() or self.machine == "average"

    @property
    def overlap(self) -> float:
        """By what the variance of a difference grows because training folds overlap.

        1 + samples tested / samples in training (Nadeau and Bengio, 2003).
        """
        tested = len(np.unique(self.rows))
        return 1.0 + tested / max(self.taught or tested, 1.0)

    def to_plain(self) -> dict[str, Any]:
        """Return the record as plain values and arrays, for a journal."""
        return {f.name: getattr(self, f.name) for f in fields(self)}


@dataclass(frozen=True, eq=False)
class Scored:
    """What a record says of the score: for all settings, and for the best of them."""

    record: HeldOut
    answers: tuple[Answers, ...]  # for each setting, with thresholds of the other folds
    losses: Array  # of each setting
    best: int  # the setting in use
    error: float  # standard error of its loss
    reach: float  # how far its predictions go beyond the targets, in units of their range

    @property
    def loss(self) -> float:
        """The loss of the setting in use."""
        return float(self.losses[self.best])

    @property
    def setting(self) -> float:
        """The setting in use."""
        return float(self.record.settings[self.best])

    @property
    def values(self) -> Array:
        """Decision values or predictions of the setting in use, (m, q)."""
        return np.asarray(self.record.values[self.best])

    @property
    def answer(self) -> Answers:
        """The answers of the setting in use."""
        return self.answers[self.best]

    def threshold(self, task: Task) -> float:
        """Return the threshold of the final machine, from all held-out values."""
        if not (self.record.adjustable and task.tunes_threshold):
            return 0.0
        return task.best_threshold(self.values, self.record.rows)


def score(record: HeldOut, task: Task) -> Scored:
    """Return the score of a record.

    The setting in use has the least loss; among those that differ from it by less than a standard
    error, one whose predictions stay near the range of the targets is preferred.
    """
    rows, fold = record.rows, record.fold
    given = [None] * len(record.values) if record.shares is None else list(record.shares)
    answers = tuple(
        task.answers(f, rows, fold, tune=record.adjustable, shares=p)
        for f, p in zip(record.values, given, strict=True)
    )
    losses = np.array([task.loss(a, rows) for a in answers])
    best = int(np.argmin(losses))
    far = [task.reach(f) for f in record.values]
    if record.outermost is not None:
        far = [max(a, task.reach(f)) for a, f in zip(far, record.outermost, strict=True)]
    if far[best] > FAR:
        near = [k for k in np.argsort(losses, kind="stable") if far[k] <= FAR]
        if near:
            gap, error = task.difference(answers[near[0]], answers[best], rows)
            best = int(near[0]) if gap <= error else best
    return Scored(record, answers, losses, best, task.error(answers[best], rows), far[best])


# ---- order and ties -----------------------------------------------------------------------------


def order_candidates(
    checks: Sequence[Any], results: Mapping[int, Scored], task: Task
) -> tuple[list[int], set[int]]:
    """Return all candidates from best to worst, and those tied with the best.

    Those with a held-out record come first, by their score; equal scores by the first check. If
    the predictions of the first go far beyond the targets, the best of those tied with it that
    stay within comes first. The others follow by the first check.
    """
    most = max(check.rows for check in checks)

    def key(i: int) -> tuple[int, float, float, float]:
        check, result = checks[i], results.get(i)
        if result is None:
            return 1 if check.rows == most else 2, check.loss, check.squared, 0.0
        return 0, result.loss, check.loss, check.squared

    order = sorted(range(len(checks)), key=key)
    if not results:  # there was no time for more than the check
        first = checks[order[0]]
        limit = first.loss + 3.0 * first.error
        near = [i for i in order if checks[i].rows == most and checks[i].loss <= limit]
        return order, {order[0], *near}
    tied = tied_with(order[0], results, task)
    if results[order[0]].reach > FAR:
        within = [i for i in order if i in tied and results[i].reach <= FAR]
        if within:
            order.remove(within[0])
            order.insert(0, within[0])
            tied = tied_with(order[0], results, task)
    return order, tied


def tied_with(best: int, results: Mapping[int, Scored], task: Task) -> set[int]:
    """Return the best, and the candidates that are not worse than it by a test.

    Paired differences, with the variance of overlapping training folds, by Holm's method: the
    chance that any is called worse without being so is at most `LEVEL`.
    """
    first = results[best]
    others = [i for i in results if i != best]
    chance = {
        i: chance_of(
            results[i].answer, first.answer, first.record.rows, results[i].record.overlap, task
        )
        for i in others
    }
    return {best, *others} - clearly_apart(chance)


def clearly_apart(chances: Mapping[int, float]) -> set[int]:
    """Return which of several p-values are small enough, by Holm's method at `LEVEL`."""
    apart = set()
    for rank, i in enumerate(sorted(chances, key=lambda i: chances[i])):
        if chances[i] > LEVEL / (len(chances) - rank):
            break
        apart.add(i)
    return apart


def compared(a: Scored, b: Scored, task: Task) -> tuple[float, float]:
    """Return the loss of one record less that of another on the rows of both, and its p-value."""
    first, second, rows = a.answer, b.answer, a.record.rows
    if not np.array_equal(rows, b.record.rows):
        place = {row: k for k, row in enumerate(b.record.rows.tolist())}
        both = np.array([k for k, row in enumerate(rows.tolist()) if row in place], dtype=int)
        first, rows = first.at(both), rows[both]
        second = second.at(np.array([place[row] for row in rows.tolist()], dtype=int))
    gap = task.loss(first, rows) - task.loss(second, rows)
    overlap = max(a.record.overlap, b.record.overlap)
    return gap, chance_of(first, second, rows, overlap, task)


def chance_of(a: Answers, b: Answers, rows: Array, overlap: float, task: Task) -> float:
    """Return the two-sided p-value of a difference of losses on the same samples."""
    gap, error = task.difference(a, b, rows)
    if gap == 0.0 or not np.isfinite(error):
        return 1.0
    clusters = len(np.unique(task.clusters(rows)))
    if error == 0.0:  # every cluster differs alike
        return 1.0 / clusters
    return float(2.0 * student.sf(abs(gap) / (error * np.sqrt(overlap)), max(clusters - 1, 1)))
