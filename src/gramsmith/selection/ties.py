"""Ties: which kernels cannot be told from the best, and which of them comes first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from gramsmith.selection.candidates import Candidate
from gramsmith.selection.held_out import Check, Result, on_all_rows
from gramsmith.selection.task import Task

SQUARED_WEIGHT = 0.1  # of the squared error beside the share of errors, among the tied
SIMPLEST_FIRST = ("linear", "polynomial", "gaussian", "matern", "laplacian", "learned")


def order_candidates(
    candidates: Sequence[Candidate],
    checks: Sequence[Check],
    results: Mapping[int, Result],
    task: Task,
    *,
    prefer_simple: bool,
) -> tuple[list[int], set[int]]:
    """Return all candidates from best to worst, and those tied with the best.

    Among those that cross-validation cannot tell from the least loss, the order also depends on the
    squared error of the check, which varies smoothly where counts of errors jump. With
    `prefer_simple`, for many samples and narrow error bars, the simplest kernel within one error
    comes first.
    """
    full = on_all_rows(checks)
    tied: set[int] = set()
    close: set[int] = set()
    smooth = task.kind == "classification" and task.default_score
    weight = SQUARED_WEIGHT if smooth else 0.0
    if results:
        best = results[min(results, key=lambda i: (results[i].loss, checks[i].squared))]
        tied = {i for i, r in results.items() if not beaten(r, best, task)}
        if prefer_simple:
            close = {i for i in tied if not beaten(results[i], best, task, errors=1.0)}

    def key(i: int) -> tuple[int, float, float]:
        result, check = results.get(i), checks[i]
        if result is None:
            return 2 if full[i] else 3, check.loss, check.squared
        if i in close:
            return -1, simplicity(candidates[i]), result.loss
        if i not in tied:
            return 1, result.loss, check.squared
        return 0, result.loss + weight * check.squared, check.squared

    order = sorted(range(len(candidates)), key=key)
    if not tied:  # there was no time for more than the check
        first = checks[order[0]]
        limit = first.loss + 2.0 * first.error
        tied = {order[0], *(i for i in order if full[i] and checks[i].loss <= limit)}
    return order, tied


def simplicity(candidate: Candidate) -> int:
    """Return the place of a candidate's family from simple to rich; kernels of users share one."""
    words = candidate.family.replace(",", " ").replace(":", " ").split()
    known = [i for i, family in enumerate(SIMPLEST_FIRST) if family in words]
    return known[0] if known else SIMPLEST_FIRST.index("gaussian")


def beaten(result: Result, best: Result, task: Task, errors: float = 2.0) -> bool:
    """Return whether a result is worse than the best by more than the noise of the difference."""
    if result is best or result.loss <= best.loss:
        return False
    gap, spread = difference(result, best, task)
    return not gap <= errors * spread  # nor if nobody knows the noise


def difference(a: Result, b: Result, task: Task) -> tuple[float, float]:
    """Return the difference of two losses and its standard error, paired."""
    if task.default_score and len(a.tested) == len(b.tested):
        d = task.losses(a.held_out, a.tested) - task.losses(b.held_out, b.tested)
        return a.loss - b.loss, float(d.std() / np.sqrt(len(d)))
    d = a.folds - b.folds
    d = d[np.isfinite(d)]  # a score may be undefined in a fold
    return a.loss - b.loss, float(d.std(ddof=1) / np.sqrt(len(d))) if len(d) > 1 else np.inf
