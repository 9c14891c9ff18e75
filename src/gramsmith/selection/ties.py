"""Ties: the order of the kernels, and which of them cannot be told from the best."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from scipy.stats import t as student

from gramsmith.selection.first_check import Check, on_all_rows
from gramsmith.selection.held_out import FAR, Scored
from gramsmith.selection.task import Answers, Task

LEVEL = 0.05  # chance that any kernel is called worse than the best if all are equally good


def order_candidates(
    checks: Sequence[Check], results: Mapping[int, Scored], task: Task
) -> tuple[list[int], set[int]]:
    """Return all candidates from best to worst, and those tied with the best.

    Those with a held-out record come first, by their score; equal scores by the first check. If
    the predictions of the first go far beyond the targets, the best of those tied with it that
    stay within comes first. The others follow by the first check.
    """
    full = on_all_rows(checks)

    def key(i: int) -> tuple[int, float, float, float]:
        check, result = checks[i], results.get(i)
        if result is None:
            return 1 if full[i] else 2, check.loss, check.squared, 0.0
        return 0, result.loss, check.loss, check.squared

    order = sorted(range(len(checks)), key=key)
    if not results:  # there was no time for more than the check
        first = checks[order[0]]
        limit = first.loss + 3.0 * first.error
        return order, {order[0], *(i for i in order if full[i] and checks[i].loss <= limit)}
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
    others = [i for i in results if i != best]
    chance = {i: p_value(results[i], results[best], task) for i in others}
    tied = {best, *others}
    for rank, i in enumerate(sorted(others, key=lambda i: chance[i])):
        if chance[i] > LEVEL / (len(others) - rank):
            break
        tied.discard(i)
    return tied


def p_value(worse: Scored, better: Scored, task: Task) -> float:
    """Return the chance of so large a difference, either way, if both were equally good."""
    return chance_of(
        worse.answers[worse.best],
        better.answers[better.best],
        worse.record.rows,
        worse.record.overlap,
        task,
    )


def chance_of(a: Answers, b: Answers, rows: np.ndarray, overlap: float, task: Task) -> float:
    """Return the two-sided p-value of a difference of losses on the same samples."""
    gap, error = task.difference(a, b, rows)
    if gap == 0.0 or not np.isfinite(error):
        return 1.0
    clusters = len(np.unique(task.clusters(rows)))
    if error == 0.0:  # every cluster differs alike
        return 1.0 / clusters
    return float(2.0 * student.sf(abs(gap) / (error * np.sqrt(overlap)), max(clusters - 1, 1)))


def beaten(result: Scored, best: Scored, task: Task) -> bool:
    """Return whether a result is worse than the best by two errors of the difference."""
    if result is best or result.loss <= best.loss:
        return False
    gap, error = task.difference(
        result.answers[result.best], best.answers[best.best], best.record.rows
    )
    return not gap <= 2.0 * error  # nor if nobody knows the noise
