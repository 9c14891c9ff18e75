"""Held-out records: what machines said of samples they were not trained on, and its score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from gramsmith.selection.task import Answers, Task

Array = npt.NDArray[Any]
Splits = Sequence[tuple[Array, Array]]

FAR = 0.5  # of the range of the targets: held-out predictions that far outside are suspicious


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Held-out decision values of one candidate with one machine, for each of its settings.

    Scores, error bars, comparisons and estimates are functions of such records.
    """

    machine: str  # "svc", "svr", "ridge", "landmarks", or the class of the user's
    kind: str  # "cross-validation" or "leave-one-out"
    settings: Array  # C, or alpha per sample, in units of the spread; nan for a user's, (a,)
    values: Array  # decision values or predictions, (a, m), (a, m, C) or (a, m, targets)
    rows: Array  # the samples they belong to, (m,)
    fold: Array  # the fold in which each was tested, (m,)
    training: tuple[Array, ...] = ()  # the samples that taught, by fold; none: all but the one
    adjustable: bool = True  # whether the threshold may be set; not of a machine of the user's
    # predictions for the outermost samples by a machine that has seen none of them, (a, r[, m])
    outermost: Array | None = None

    @property
    def overlap(self) -> float:
        """By what the variance of a difference grows because training folds overlap.

        1 + samples tested / samples in training (Nadeau and Bengio, 2003).
        """
        tested = len(np.unique(self.rows))
        taught = np.mean([len(t) for t in self.training]) if self.training else tested
        return 1.0 + tested / max(float(taught), 1.0)

    def joined(self, other: HeldOut) -> HeldOut:
        """Return the record of the settings of both, which tested the same samples."""
        settings = np.concatenate([self.settings, other.settings])
        order = np.argsort(settings, kind="stable")
        values = np.concatenate([self.values, other.values])[order]
        outer = None
        if self.outermost is not None and other.outermost is not None:
            outer = np.concatenate([self.outermost, other.outermost])[order]
        return replace(self, settings=settings[order], values=values, outermost=outer)

    def to_plain(self) -> dict[str, Any]:
        """Return the record as plain values."""
        return {
            "machine": self.machine,
            "kind": self.kind,
            "training": [part.tolist() for part in self.training],
            "adjustable": self.adjustable,
            "outermost": None if self.outermost is None else self.outermost.tolist(),
            **{k: getattr(self, k).tolist() for k in ("settings", "values", "rows", "fold")},
        }

    @classmethod
    def from_plain(cls, plain: dict[str, Any]) -> HeldOut:
        """Return the record that `to_plain` wrote."""
        known = dict(plain)
        for name, kind in (("settings", float), ("values", float), ("rows", int), ("fold", int)):
            known[name] = np.asarray(known[name], dtype=kind)
        if known.get("outermost") is not None:
            known["outermost"] = np.asarray(known["outermost"], dtype=float)
        known["training"] = tuple(np.asarray(part, dtype=int) for part in known["training"])
        return cls(**known)


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

    def threshold(self, task: Task) -> float:
        """Return the threshold of the final machine, from all held-out values."""
        if not (self.record.adjustable and task.tunes_threshold):
            return 0.0
        return task.best_threshold(self.record.values[self.best], self.record.rows)


def score(record: HeldOut, task: Task) -> Scored:
    """Return the score of a record.

    The setting in use has the least loss; among those that differ from it by less than a standard
    error, one whose predictions stay near the range of the targets is preferred.
    """
    rows, fold = record.rows, record.fold
    answers = tuple(task.answers(f, rows, fold, tune=record.adjustable) for f in record.values)
    losses = np.array([task.loss(a, rows) for a in answers])
    best = int(np.argmin(losses))
    far = [reach(f, task) for f in record.values]
    if record.outermost is not None:
        far = [max(a, reach(f, task)) for a, f in zip(far, record.outermost, strict=True)]
    if far[best] > FAR:
        near = [k for k in np.argsort(losses, kind="stable") if far[k] <= FAR]
        if near:
            gap, error = task.difference(answers[near[0]], answers[best], rows)
            best = int(near[0]) if gap <= error else best
    return Scored(record, answers, losses, best, task.error(answers[best], rows), far[best])


def reach(f: Array, task: Task) -> float:
    """Return how far predictions go beyond the range of the targets, in units of that range."""
    if task.kind != "regression":
        return 0.0
    Y, F = task.columns[task.counting], f.reshape(len(f), -1)
    low, high = Y.min(axis=0), Y.max(axis=0)
    beyond = np.maximum(low - F.min(axis=0), F.max(axis=0) - high) / (high - low)
    return max(float(beyond.max()), 0.0)
