"""Guarantees: what sets and intervals of the delivered model rest on, from held-out rows.

Rows that had a part in the choice of a kernel are answered too well by it, so the record of the
winner promises too much where rows are few. Where the whole choice was made anew in outer folds,
what those choices said of their test rows is used; else settings, kernel and weights are chosen
for each fold by the records of the other folds.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from gramsmith.selection.average import stacked
from gramsmith.selection.choose import Findings
from gramsmith.selection.fit import calibrated_rows, last_step
from gramsmith.selection.held_out import HeldOut, Scored
from gramsmith.selection.problem import Problem
from gramsmith.selection.task import Classes, Task, Values, as_machine

Array = npt.NDArray[Any]


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
    model: Any, found: Findings, delivered: Scored | None, nested: HeldOut | None, problem: Problem
) -> None:
    """Let a model know how wrong it is: intervals of values, sets of classes."""
    task, machine = problem.task, last_step(model)
    record = honest_record(found, delivered, nested, task)
    if record is None or delivered is None:
        return
    # values of choices made anew are less the threshold of each
    threshold = 0.0 if record is nested else delivered.threshold(task)
    rows, values = record.rows, record.values[0]
    groups = None if task.groups is None else task.groups[rows]
    if isinstance(task, Values) and hasattr(machine, "calibrate_intervals"):
        errors = task.as_given(task.codes[rows] - values)
        machine.calibrate_intervals(errors, task.weight_of(rows), groups)
    if isinstance(task, Classes) and hasattr(machine, "calibrate_sets"):
        f, kept = calibrated_rows(values - threshold, rows, machine, task)
        rows = rows[kept]
        options = {"groups": None if groups is None else groups[kept]}
        machine.calibrate_sets(as_machine(f), task.labels[rows], task.weight_of(rows), **options)
