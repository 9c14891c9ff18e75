"""Held-out results: what is known of a candidate from samples that were left out.

`Check` is the first check of every candidate, `Result` the cross-validation of the short list.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from gramsmith.selection.task import Task

Array = npt.NDArray[Any]
Splits = Sequence[tuple[Array, Array]]

PROOF = 2.0  # errors by which learned kernels, picked from many, must be better to count as such


@dataclass(frozen=True)
class Check:
    """What held-out ridge regression says of one candidate.

    The last five are empty unless asked for.
    """

    loss: float  # of the score in use, at the best regulariser
    error: float  # its standard error
    squared: float  # squared error of the least-squares machine: smoother than the loss
    alpha: float  # regulariser of the least squared error, in units of the features' variance
    spread: float  # variance of the kernel's features, mean k(x, x) minus mean k
    rows: int = 0  # the number of samples behind it
    each: Array = field(default_factory=lambda: np.empty(0), repr=False)  # squared errors, by row
    wrong: Array = field(default_factory=lambda: np.empty(0), repr=False)  # losses, by row
    values: Array = field(default_factory=lambda: np.empty(0), repr=False)  # fold by fold
    tested: Array = field(default_factory=lambda: np.empty(0, dtype=int), repr=False)  # their rows
    pieces: tuple[int, ...] = field(default=(), repr=False)  # how many belong to each fold

    def to_plain(self) -> dict[str, float]:
        """Return the numbers, without the samples."""
        names = ("loss", "error", "squared", "alpha", "spread")
        return {**{name: float(getattr(self, name)) for name in names}, "rows": self.rows}


def on_all_rows(checks: Sequence[Check]) -> list[bool]:
    """Return which candidates were checked on as many rows as any."""
    most = max(check.rows for check in checks)
    return [check.rows == most for check in checks]


@dataclass(frozen=True)
class Result:
    """What cross-validation says of one candidate with one machine."""

    machine: str  # "svc", "svr", "ridge", "landmarks", or the class of the user's
    parameter: float  # best C, or alpha per sample, in units of the spread; nan for a user's
    loss: float
    error: float  # its standard error
    folds: Array  # loss of each fold
    path: tuple[tuple[float, float], ...]  # parameters that were tried, with their losses
    held_out: Array  # decision values of each sample when it was left out, (rows,) or (rows, C)
    tested: Array  # the samples they belong to
    threshold: float = 0.0  # the best on the decision values; zero unless the score asks for one

    def to_plain(self) -> dict[str, Any]:
        """Return the result as plain values."""
        plain = asdict(self)
        for name in ("folds", "held_out", "tested"):
            plain[name] = np.asarray(getattr(self, name)).tolist()
        return plain | {"path": [list(pair) for pair in self.path]}

    @classmethod
    def from_plain(cls, plain: dict[str, Any]) -> Result:
        """Return the result that `to_plain` wrote."""
        values = dict(plain)
        for name in ("folds", "held_out"):
            values[name] = np.asarray(values[name], dtype=float)
        values["tested"] = np.asarray(values["tested"], dtype=int)
        values["path"] = tuple((float(a), float(b)) for a, b in values["path"])
        return cls(**values)


def result_of_values(
    machine: str,
    parameters: Array,
    F: Array,
    task: Task,
    where: Array,
    sizes: Sequence[int],
    *,
    tune_threshold: bool = True,
) -> Result:
    """Return the result of the best of several parameters.

    F holds the decision values or predictions of each, fold by fold, (a, m) or (a, m, C); `where`
    are the samples they belong to, `sizes` says how many are in each fold.
    """
    losses, cuts = [], []
    for f in F:
        cut = task.best_threshold(f, where) if tune_threshold and task.tunes_threshold else 0.0
        cuts.append(cut)
        losses.append(task.loss(f, where, cut))
    best = int(np.argmin(losses))
    stops = np.cumsum(sizes)
    pieces = zip(stops - sizes, stops, strict=True)
    folds = np.array([task.loss(F[best][a:b], where[a:b], cuts[best]) for a, b in pieces])
    if task.default_score:
        error = task.standard_error(task.losses(F[best], where))
    else:
        known = folds[np.isfinite(folds)]
        error = float(known.std(ddof=1) / np.sqrt(len(known))) if len(known) > 1 else np.inf
    return Result(
        machine=machine,
        parameter=float(parameters[best]),
        loss=float(losses[best]),
        error=error,
        folds=folds,
        path=tuple((float(v), float(loss)) for v, loss in zip(parameters, losses, strict=True)),
        held_out=F[best],
        tested=where,
        threshold=cuts[best],
    )


def result_of_check(check: Check, task: Task, rows: Array) -> Result:
    """Return what a check that kept its values says of a ridge machine on landmarks."""
    alphas, where = np.array([check.alpha]), rows[check.tested]
    return result_of_values("landmarks", alphas, check.values[None], task, where, check.pieces)


# ---- learned kernels: only samples from which nothing was learned say what they gain ------------


def checks_of_learned(
    found: Sequence[Check], old: Check, task: Task, rows: Array, fresh: Array
) -> list[Check]:
    """Return checks of learned kernels: the gain over their source on fresh rows, less its error.

    The source comes first in `found`; `old` is its check among the other candidates; nothing was
    learned from those of the rows that are fresh.
    """
    first, *others = found
    result = []
    for check in others:
        gap = check.each[fresh] - first.each[fresh]
        error = float(gap.std() / np.sqrt(max(len(gap), 1)))
        loss = old.loss + _gain(check, first, task, rows, fresh)
        result.append(
            replace(
                check,
                squared=old.squared + float(gap.mean()) + PROOF * error,
                loss=_at_least(check.loss, loss),
                rows=old.rows,
                each=np.empty(0),
                wrong=np.empty(0),
            )
        )
    return result


def _gain(check: Check, first: Check, task: Task, rows: Array, fresh: Array) -> float:
    if task.default_score:
        return float(check.wrong[fresh].mean() - first.wrong[fresh].mean())
    known = fresh[check.tested]
    where = rows[check.tested[known]]
    return task.loss(check.values[known], where) - task.loss(first.values[known], where)


def results_of_learned(
    found: dict[int, Result], learned: set[int], task: Task, learned_rows: Array
) -> dict[int, Result]:
    """Return results where learned kernels have their gain on fresh rows, less its error."""
    others = [i for i in found if i not in learned]
    if not learned or not others:
        return found
    other = found[min(others, key=lambda i: found[i].loss)]
    result = dict(found)
    for i in learned:
        mine = found[i]
        fresh = ~np.isin(mine.tested, learned_rows)
        gap, error = task.difference(
            mine.held_out[fresh],
            other.held_out[fresh],
            mine.tested[fresh],
            (mine.threshold, other.threshold),
        )
        least = 0.0 if task.default_score else mine.loss
        loss = _at_least(least, other.loss + gap + PROOF * error)
        result[i] = replace(mine, loss=loss, error=max(mine.error, error))
    return result


def _at_least(least: float, loss: float) -> float:
    """Return a loss that was added up from parts, but not a better one than can be."""
    if not np.isfinite(loss):
        return float("inf")  # a score that cannot be computed proves nothing
    return max(loss, least)
