"""Guarantees: what a delivered model knows of its errors and of its rows, from held-out rows.

Rows that had a part in the choice of a kernel are answered too well by it, so the record of the
winner promises too much where rows are few. Where the whole choice was made anew in outer folds,
what those choices said of their test rows is used; else settings, kernel and weights are chosen
for each fold by the records of the other folds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from gramsmith.machines.base import KernelMachine
from gramsmith.machines.intervals import levels_of, quantile_of
from gramsmith.selection.average import stacked
from gramsmith.selection.candidates import Candidate
from gramsmith.selection.choose import Findings
from gramsmith.selection.fit import calibrated_rows
from gramsmith.selection.held_out import HeldOut, Scored
from gramsmith.selection.problem import Problem
from gramsmith.selection.samples import as_array
from gramsmith.selection.task import Task, as_machine, last_step
from gramsmith.selection.verify import training_weights
from gramsmith.solvers import RidgePath

Array = npt.NDArray[Any]

COVERAGE = 0.9  # of the intervals by which widths are compared
NOVEL_ROWS = 1000  # of which it is known how isolated they are
SCALE_ROWS = 1000  # from whose errors the width is learned
FEW_ERRORS = 50  # rows, or groups, below which nothing is learned of their size
# Regularisers of the scale in units of the mean eigenvalue: the last leaves next to a constant.
SCALE_ALPHAS = 10.0 ** np.arange(-1.0, 3.5, 0.5)
DELTA = 0.2  # of the median error, added before the logarithm: tiny errors are chance


def honest_record(
    found: Findings, delivered: Scored | None, nested: HeldOut | None, task: Task
) -> HeldOut | None:
    """Return what was said of rows that had no part in the choice, as far as that is known."""
    if nested is not None or delivered is None:
        return nested
    if delivered is not found.result:  # leave-one-out of the machines as they are, on many rows
        return replace(delivered.record, values=delivered.values[None])
    return chosen_anew(found, delivered, task)


def chosen_anew(found: Findings, delivered: Scored, task: Task) -> HeldOut:
    """Return the record of choices among the verified records, made for each fold by the others."""
    record = delivered.record
    used = [r for r in found.results.values() if np.array_equal(r.record.rows, record.rows)]
    values = np.empty_like(delivered.values)
    for here, others in task.other_folds(record.rows, record.fold):
        losses = [
            [task.loss(answer.at(others), record.rows[others]) for answer in r.answers]
            for r in used
        ]
        picks = [int(np.argmin(of_settings)) for of_settings in losses]
        said = [r.record.values[k] for r, k in zip(used, picks, strict=True)]
        if found.average is None:
            values[here] = said[int(np.argmin([min(part) for part in losses]))][here]
        else:
            weights = stacked(said, task, record.rows, (~here).astype(float))
            values[here] = sum(w * f[here] for w, f in zip(weights, said, strict=True))
    return replace(record, settings=np.array([np.nan]), values=values[None], outermost=None)


def guarantee(
    model: Any,
    machines: Sequence[Any],
    found: Findings,
    delivered: Scored | None,
    nested: HeldOut | None,
    problem: Problem,
) -> None:
    """Let a model know how wrong it is, and what its machines have seen.

    Intervals of values, sets of classes, the isolation of training rows, and their targets.
    """
    task, machine = problem.task, last_step(model)
    for i, part in zip(found.chosen, machines, strict=True):
        if isinstance(part, KernelMachine) and part.support_samples_ is not None:
            part.support_targets_ = task.labels[part.support_]
            if part is machines[0]:
                X = as_array(problem.samples.views[found.candidates[i].view])
                part.calibrate_novelty(X, task.w, task.groups, task.sample(NOVEL_ROWS, salt=15))
    record = honest_record(found, delivered, nested, task)
    if record is None or delivered is None:
        return
    # values of choices made anew are less the threshold of each
    threshold = 0.0 if record is nested else delivered.threshold(task)
    rows, values = record.rows, record.values[0]
    # rows near in time are no more independent than those of a group
    together = task.groups is not None or task.periods is not None
    groups = task.clusters(rows) if together else None
    if hasattr(machine, "calibrate_intervals"):
        learned = learn_scales(machines, found, record, problem)
        kept, scales = (np.arange(len(rows)), None) if learned is None else learned
        rows, errors = rows[kept], task.as_given((task.codes[rows] - values)[kept])
        if groups is not None:
            groups = groups[kept]
        if scales is not None and errors.ndim == 1:
            scales = scales[:, 0]
        machine.calibrate_intervals(errors, task.weight_of(rows), groups, scales)
    if hasattr(machine, "calibrate_sets"):
        f, kept = calibrated_rows(values - threshold, rows, machine, task)
        rows = rows[kept]
        options = {"groups": None if groups is None else groups[kept]}
        machine.calibrate_sets(as_machine(f), task.labels[rows], task.weight_of(rows), **options)


# ---- intervals whose width follows the samples ---------------------------------------------------


def learn_scales(
    machines: Sequence[Any], found: Findings, record: HeldOut, problem: Problem
) -> tuple[Array, Array] | None:
    """Let the width of intervals follow the samples where that pays, and return held-out scales.

    The logarithm of the absolute errors is learned by ridge regression in the folds of the record,
    on the kernel of each machine that is averaged: a kernel that was learned may not see what the
    noise depends on. The scale of an output is kept if intervals that it widens and narrows have a
    better score on held-out rows than those of one width, by more than a standard error. Returned
    are the places in the record, and the scale of each.
    """
    task, rows = problem.task, record.rows
    users = problem.machine is not None or not hasattr(machines[0], "set_scale")
    if users or machines[0]._is_pairwise() or len(np.unique(rows)) < len(rows):
        return None
    some = task.sample(SCALE_ROWS, salt=14)
    kept = np.flatnonzero(np.isin(rows, some) & (task.weights[rows] > 0))
    rows, fold = rows[kept], record.fold[kept]
    cluster = task.clusters(rows)
    folds = [np.flatnonzero(fold == k) for k in np.unique(fold)]
    if len(np.unique(cluster)) < FEW_ERRORS or len(folds) < 2:
        return None
    E, w = np.abs(task.codes[rows] - record.values[0][kept]), task.weights[rows]
    T = np.log(E + DELTA * np.median(E, axis=0) + np.finfo(float).tiny)
    # an output each by itself would be another machine: one kernel and regulariser for all
    learned: list[tuple[float, Any, Array, int]] = []
    candidates = [found.candidates[i] for i in found.chosen]
    weights = training_weights(task, rows)
    for place, candidate in enumerate(candidates):
        path = RidgePath(problem.samples.gram(candidate, rows), T, sample_weight=weights)
        alphas = SCALE_ALPHAS * float(path.eigenvalues.mean())
        logs = np.empty((len(alphas), *T.shape))
        for test, residuals in zip(folds, path.fold_residuals(alphas, folds), strict=True):
            logs[:, test] = T[test] - residuals
        losses = np.mean((logs - T) ** 2, axis=2) @ w
        k = int(np.argmin(losses))
        learned.append((float(losses[k]), path.solve(float(alphas[k])), logs[k], place))
    _, solved, logs, place = min(learned, key=lambda item: item[0])
    groups = None if task.groups is None else cluster
    follows = np.array(
        [_pays(E[:, k], np.exp(logs[:, k]), w, cluster, groups) for k in range(T.shape[1])]
    )
    if not follows.any():
        return None
    logs = logs * follows
    coefficients = _on_support(solved.coef, rows, machines[place], candidates[place], problem)
    machines[place].set_scale(
        coefficients * follows, solved.intercept * follows, [logs.min(axis=0), logs.max(axis=0)]
    )
    return kept, np.exp(logs)


def _pays(sizes: Array, scales: Array, w: Array, cluster: Array, groups: Array | None) -> bool:
    """Return whether intervals have a better score with scales, by more than a standard error."""
    gain = interval_scores(sizes, scales, w, groups)
    gain -= interval_scores(sizes, np.ones(len(sizes)), w, groups)
    sums = np.bincount(cluster, w * gain)
    return bool(sums.sum() < -np.sqrt(np.sum((sums - sums.mean()) ** 2)))


def interval_scores(sizes: Array, scales: Array, w: Array, groups: Array | None) -> Array:
    """Return the score of the intervals of `COVERAGE` around each prediction: lower is better.

    The width, and 2 / (1 - coverage) times how far the value is outside (Gneiting and Raftery).
    """
    order, levels = levels_of(sizes / scales, w, groups)
    half = scales * quantile_of((sizes / scales)[order], levels, COVERAGE)
    return np.asarray(2.0 * half + 2.0 / (1.0 - COVERAGE) * np.maximum(sizes - half, 0.0))


def _on_support(c: Array, rows: Array, machine: Any, candidate: Candidate, problem: Problem) -> Any:
    """Return the coefficients of some rows as those of the samples that a machine keeps.

    Rows that it does not keep, as on landmarks, are projected on those it does.
    """
    place = np.searchsorted(machine.support_, rows)
    place = np.minimum(place, len(machine.support_) - 1)
    if (machine.support_[place] == rows).all():
        full = np.zeros((len(machine.support_), c.shape[1]))
        full[place] = c
        return full
    Z, X = machine.support_samples_, as_array(problem.samples.views[candidate.view])[rows]
    return np.linalg.lstsq(machine.kernel_(Z, Z), machine.kernel_(Z, X) @ c, rcond=1e-10)[0]
