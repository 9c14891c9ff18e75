"""Fit: the winner, or those that are averaged, on all samples, with the settings verified."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from gramsmith.kernels import Precomputed
from gramsmith.selection import plan as sizes
from gramsmith.selection.candidates import Candidate
from gramsmith.selection.choose import Findings
from gramsmith.selection.held_out import HeldOut, Scored, score
from gramsmith.selection.problem import Problem
from gramsmith.selection.samples import as_array
from gramsmith.selection.task import Task, last_step
from gramsmith.selection.verify import fit_weighted, values_in_folds
from gramsmith.selection.work import Work

Array = npt.NDArray[Any]

CALIBRATION_ROWS = 16_384  # to whose left-out decision values probabilities are fitted


def fit_machines(findings: Findings, problem: Problem, work: Work) -> list[Any]:
    """Return the machines of all that were chosen, each fitted on all samples of its view.

    The regulariser of each is the one that was verified; without time for that, the one of the
    first check.
    """
    passes = sizes.PASSES * problem.task.n
    with work.stage("fit", len(findings.chosen) * passes, findings.best.name) as stage:
        machines = []
        for number, i in enumerate(findings.chosen):
            result = findings.results.get(i)
            setting = findings.checks[i].alpha if result is None else result.setting
            machine = make_machine(findings.candidates[i], setting, problem)
            if problem.plan.landmarks:
                machine._told = stage  # called with the rows that have been met
            X = as_array(problem.samples.views[findings.candidates[i].view])
            y = problem.task.labels if problem.machine is not None else problem.task.taught
            with warnings.catch_warnings():
                if isinstance(
                    findings.candidates[i].kernel, Precomputed
                ):  # `read` has warned of it
                    warnings.filterwarnings("ignore", "Expected a positive semidefinite kernel")
                machines.append(fit_weighted(machine, X, y, problem.task.weights))
            machine.__dict__.pop("_told", None)
            stage.reach((number + 1) * passes)
    return machines


def make_machine(candidate: Candidate, setting: float, problem: Problem) -> Any:
    """Return the machine of a candidate, not fitted yet."""
    task, kernel = problem.task, candidate.kernel
    given: Any = "precomputed" if isinstance(kernel, Precomputed) else kernel
    if problem.machine is not None:
        return clone(problem.machine).set_params(kernel=given)
    options: dict[str, Any] = {}
    if problem.plan.landmarks:
        options = {"n_landmarks": problem.plan.landmarks, "random_state": task.seed}
        options["solver"] = "nystroem"
    return task.ridge(given, alpha=setting * float(task.weights.sum()), **options)


def delivered_record(
    findings: Findings, machines: Sequence[Any], problem: Problem
) -> Scored | None:
    """Return the record that describes the machines as they are delivered.

    Where machines were compared on some of the rows only: exact leave-one-out residuals of the
    fitted machines on all rows, or of folds where there are groups or times, but for the rows that
    cannot judge a learned kernel.
    """
    task, result, plan = problem.task, findings.result, problem.plan
    known = result is not None and plan.compare_rows >= len(task.counting)
    in_folds = not task.exchangeable
    beyond = in_folds and (task.own_folds or plan.landmarks > 0)
    if known or beyond or problem.machine is not None:
        return result
    rows = task.counting[task.weights[task.counting] > 0]
    splits = task.splits(rows, 5)
    places = np.concatenate([test for _, test in splits])
    values = np.zeros((len(places), task.codes.shape[1]))
    for (i, weight), machine in zip(findings.chosen.items(), machines, strict=True):
        if in_folds:
            candidate, setting = findings.candidates[i], machine.alpha_ / task.weights.sum()
            K, definite = problem.samples.gram(candidate, rows), candidate.kernel.positive_definite
            settings = np.array([setting])
            values += weight * values_in_folds(K, rows, splits, settings, problem, definite)[0]
            continue
        residuals = machine.loo_residuals_.reshape(len(rows), -1)
        if residuals.shape[1] != values.shape[1]:  # the machine has no class without weight
            return result
        values += weight * (task.codes[rows] - residuals)[places]
    record = HeldOut.of_folds(
        "average" if findings.average is not None else "landmarks" if plan.landmarks else "ridge",
        values[None],
        rows,
        splits,
        kind="cross-validation" if in_folds else "leave-one-out",
        settings=[np.nan if result is None else result.setting],
    )
    order = np.argsort(record.rows)
    return score(record.at(order[task.fresh(record.rows[order], findings.taught)]), task)


def assemble(
    findings: Findings, models: Sequence[Any], record: Scored | None, task: Task, users: bool
) -> Any:
    """Return the one model of all that were fitted, with threshold and probabilities.

    Each of the models takes the same samples. What is set after the fit is from the held-out
    record of the delivered machines; a machine of the user's is left as it is.
    """
    if users:
        return models[0]
    threshold = 0.0 if record is None else record.threshold(task)
    model = task.assembled(models, list(findings.chosen.values()), threshold)
    machine = last_step(model)
    if record is not None and hasattr(machine, "calibrate"):
        rows = record.record.rows
        f, kept = calibrated_rows(record.values - threshold, rows, machine, task)
        task.calibrate(machine, f, rows[kept])
    return model


def calibrated_rows(f: Array, rows: Array, machine: Any, task: Task) -> tuple[Array, Array]:
    """Return decision values of some left-out samples that count, and which they are."""
    some = np.intersect1d(rows, task.sample(CALIBRATION_ROWS, salt=8))
    kept = np.flatnonzero(np.isin(rows, some) & (task.weights[rows] > 0))
    return task.of_known(f[kept], machine), kept


def rehearse(problem: Problem) -> float:
    """Return about how many seconds the fit of one machine takes, from fits to a few rows.

    On landmarks the time is a start and so much for every row; else it grows with the cube of the
    rows.
    """
    task, landmarks = problem.task, problem.plan.landmarks
    sizes_tried = [2000, 4000] if landmarks else [min(task.n, 1000)]
    candidate = problem.candidates[len(problem.candidates) // 2]
    seconds = []
    for size in sizes_tried:
        rows = task.sample(size, salt=10)
        part = replace(problem, samples=problem.samples.of_rows(problem.candidates, rows))
        machine = make_machine(candidate, 1e-3, replace(part, task=task.at(rows)))
        X = as_array(part.samples.views[candidate.view])
        begun = time.monotonic()
        if problem.machine is None:
            y = task.taught[rows]
            fit_weighted(machine, X, y, task.weights[rows])
            seconds.append(time.monotonic() - begun)
    if not seconds:
        return 0.0
    if landmarks:
        slope = max(seconds[1] - seconds[0], 0.0) / (sizes_tried[1] - sizes_tried[0])
        return float(seconds[1] + slope * (task.n - sizes_tried[1]))
    return float(seconds[0] * (task.n / sizes_tried[0]) ** 3)
