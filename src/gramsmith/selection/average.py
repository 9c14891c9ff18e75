"""Average: kernels that do well together are averaged instead of one being picked.

Every kernel of the short list has a held-out record of the same samples. The weights of the average
minimise the squared error of the averaged record, none below zero, summing to one (stacking;
Wolpert, 1992; Breiman, 1996), drawn a little towards equal ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from gramsmith.selection import plan
from gramsmith.selection.held_out import FAR, HeldOut, Scored, score
from gramsmith.selection.task import Task
from gramsmith.solvers import solve_nonnegative

Array = npt.NDArray[Any]

LEAST = 0.05  # weight below which a kernel is not worth its time
TOWARDS_EQUAL = 0.01  # pull towards equal weights, in units of the mean square of the records
RIGID = 1e3  # price of weights that do not sum to one, in the same units


@dataclass(frozen=True, eq=False)
class Average:
    """Candidates that are averaged, by their position, the heaviest first."""

    weights: dict[int, float]  # sum to one
    result: Scored  # of the averaged held-out record

    @property
    def members(self) -> tuple[int, ...]:
        """The candidates."""
        return tuple(self.weights)


def average(results: Mapping[int, Scored], task: Task, best: int) -> Average | None:
    """Return the average of the candidates that have a record, or None if one is as good.

    An average that is worse than the best alone, by more than two errors, is none.
    """
    first, members = results[best], usable(results, best)
    if len(members) < 2:
        return None
    values = [result.values for result in members.values()]
    shares = stacked(values, task, first.record.rows)
    weights = {i: float(w) for i, w in zip(members, shares, strict=True) if w > 0}
    weights = dict(sorted(weights.items(), key=lambda item: -item[1]))
    if len(weights) < 2:
        return None
    record = mixed_record([members[i] for i in weights], list(weights.values()))
    mean = Average(weights, score(record, task))
    return None if mean.result.loss > first.loss + 2.0 * first.error else mean


def usable(results: Mapping[int, Scored], best: int) -> dict[int, Scored]:
    """Return the records that may be averaged with that of the best, which is among them.

    Those whose predictions go far beyond the targets take part only if those of the best do.
    """
    first = results[best]
    return {
        i: result
        for i, result in results.items()
        if np.array_equal(result.record.rows, first.record.rows)
        and result.reach <= max(FAR, first.reach)
    }


def stacked(values: Sequence[Array], task: Task, rows: Array, counts: Any = 1.0) -> Array:
    """Return the weights of records (m, q) in their average; `counts`: of samples in a bag."""
    w = task.weights[rows] * counts
    Y = task.codes[rows]
    centre = np.average(Y, axis=0, weights=w)
    target = (Y - centre).ravel()
    A = np.column_stack([(f - centre).ravel() for f in values])
    w = np.repeat(w, Y.shape[1])
    M, a = A.T @ (w[:, None] * A), A.T @ (w * target)
    chosen = np.arange(len(values))
    shares = _on_simplex(M, a)
    for _ in range(2):  # once more without those that are not worth their time
        order = np.argsort(-shares, kind="stable")[: plan.MEMBERS]
        kept = np.sort(order[shares[order] >= LEAST])
        if len(kept) == len(shares):
            break
        chosen = chosen[kept]
        M, a = M[np.ix_(kept, kept)], a[kept]
        shares = _on_simplex(M, a)
    weights = np.zeros(len(values))
    weights[chosen] = np.round(shares, 2)  # whole per cents, whatever the last digits say
    return np.asarray(weights / weights.sum())


def _on_simplex(M: Array, a: Array) -> Array:
    """Return v >= 0 with sum one that minimises v'Mv - 2a'v, and a pull towards equal ones."""
    k, unit = len(a), float(np.trace(M)) / len(a) or 1.0
    pull, rigid = TOWARDS_EQUAL * unit, RIGID * unit
    v = solve_nonnegative(M + pull * np.eye(k) + rigid * np.ones((k, k)), a + pull / k + rigid).v
    return np.asarray(v / v.sum()) if v.sum() > 0 else np.full(k, 1.0 / k)


def mixed_record(members: Sequence[Scored], weights: Sequence[float]) -> HeldOut:
    """Return the held-out record of an average."""
    values = sum(w * member.values for w, member in zip(weights, members, strict=True))
    return replace(
        members[0].record,
        machine="average",
        settings=np.array([np.nan]),
        values=np.asarray(values)[None],
        outermost=None,
    )
