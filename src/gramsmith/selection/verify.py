"""Verify: the short list is cross-validated with the machine to be used, fold by fold.

Of four regularisers, Cholesky's factors of the folds take two thirds of the time of one eigenvalue
decomposition of all rows. A learned kernel is learned anew without the rows that it is tested on.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from gramsmith.kernels.definiteness import is_semidefinite
from gramsmith.selection import plan as sizes
from gramsmith.selection.candidates import Candidate
from gramsmith.selection.first_check import check_each
from gramsmith.selection.held_out import HeldOut
from gramsmith.selection.learn import Learned, learn_from
from gramsmith.selection.problem import Problem
from gramsmith.selection.samples import symmetric
from gramsmith.selection.task import Folds, Task
from gramsmith.selection.work import Stage, Work
from gramsmith.solvers.ridge import ridge_solutions

Array = npt.NDArray[Any]

# Regularisers, in units of the best of the first check, which has fewer rows or landmarks.
ALPHAS = 10.0 ** np.linspace(-1.5, 1.5, 4)
LESSONS = 3  # how often a kernel is learned anew for all folds


def verify(
    group: Sequence[Candidate],
    alphas: Sequence[float],
    problem: Problem,
    learned: Learned | None,
    work: Work,
    stage: Stage,
) -> list[HeldOut | None]:
    """Return the held-out records of candidates; None where there was no time.

    `alphas` are the regularisers of their first checks.
    """
    records: list[HeldOut | None] = [None] * len(group)
    for k, candidate in enumerate(group):
        kept = work.notes.get(f"held-out/{candidate.name}")
        records[k] = None if kept is None else HeldOut(**kept)
    left = [k for k, record in enumerate(records) if record is None]
    task = problem.task
    rows = task.sample(problem.plan.compare_rows, salt=3)

    def done(k: int, record: HeldOut | None) -> None:
        records[k] = record
        if record is not None:
            work.notes[f"held-out/{group[k].name}"] = record.to_plain()
        stage(1)

    # Comparisons are only for the order; the winner is fitted with its warnings. Filters belong to
    # the whole process: they are set here, never in a thread.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if problem.plan.landmarks:
            # Samples that cannot judge a learned kernel are not tested, whatever the kernel.
            fresh = None
            if learned is not None and learned.candidate in group:
                fresh = task.fresh(rows, learned.taught)
            results = check_each(
                [group[k] for k in left],
                problem.samples,
                task,
                rows,
                work=work,
                landmarks=problem.plan.landmarks,
                fresh=fresh,
                must=False,
                guess=0.2 + 1e-4 * len(rows),
            )
            for place, result in results:
                done(left[place], None if result is None else result[1])
            return records
        splits = task.splits(rows, 5)
        given = [k for k in left if learned is None or group[k] is not learned.candidate]
        order = []

        def blocks() -> Any:
            part = [group[k] for k in given]
            for place, block in problem.samples.blocks(part, rows, rows):
                order.append(given[place])
                yield block, alphas[given[place]], part[place].kernel.positive_definite

        def run(item: tuple[Callable[[], Array], float, bool]) -> HeldOut:
            return _record(symmetric(item[0]()), item[1], item[2], problem, rows, splits)

        few = len(rows) <= sizes.SERIAL_ROWS
        # every fold and regulariser takes about half as long as a fit
        guess = 10.0 * work.reserve * (len(rows) / task.n) ** 3
        for place, record in enumerate(work.pieces(run, blocks(), here=few, guess=guess)):
            done(order[place], record)
        lesson = LESSONS * work.seconds.get("learn", 0.0)
        for k in set(left) - set(given):
            if learned is not None and work.in_time(lesson):
                done(k, _learned_record(learned, alphas[k], problem, rows, splits, work))
    return records


def _record(
    K: Array, alpha: float, definite: bool, problem: Problem, rows: Array, splits: Folds
) -> HeldOut:
    """Return the record of one kernel in all folds, from its Gram matrix."""
    settings = alpha * ALPHAS
    definite = definite or (problem.machine is None and is_semidefinite(K))
    values, far = (
        values_in_folds(K, rows, folds, settings, problem, definite)
        for folds in (splits, [outermost(K)] if problem.task.open_ended else [])
    )
    return _of_values(values, far, settings, problem, rows, splits)


def _of_values(
    values: Array, far: Array, settings: Array, problem: Problem, rows: Array, splits: Folds
) -> HeldOut:
    """Return the record of what all folds, and perhaps one of the outermost samples, say."""
    name, machine = "ridge", problem.machine
    if machine is not None:
        name, settings = type(machine).__name__, np.array([np.nan])
    outermost = far if far.size else None
    return HeldOut.of_folds(name, values, rows, splits, settings=settings, outermost=outermost)


def values_in_folds(
    K: Array,
    rows: Array,
    folds: Folds,
    settings: Array,
    problem: Problem,
    definite: bool = False,
) -> Array:
    """Return what machines of all folds say of their test rows, one after the other, (a, m, q)."""
    parts = [
        fold_values(K[np.ix_(a, a)], rows[a], K[np.ix_(b, a)], settings, problem, definite)
        for a, b in folds
    ]
    return np.concatenate(parts, axis=1) if parts else np.empty(0)


def fold_values(
    K: Array,
    rows: Array,
    K_test: Array,
    settings: Array,
    problem: Problem,
    definite: bool = False,
) -> Array:
    """Return what a machine fitted to some rows says of others, (settings, test rows, q)."""
    task, machine = problem.task, problem.machine
    if machine is not None:
        return users_values(machine, K, rows, K_test, task)[None]
    w = training_weights(task, rows)
    alphas = settings * np.sum(task.weights[rows])
    solved = ridge_solutions(K, task.codes[rows], alphas, sample_weight=w, definite=definite)
    return np.stack([K_test @ s.coef + s.intercept for s in solved])


def training_weights(task: Task, rows: Array) -> Array | None:
    """Return the weights in training, none below a billionth: a class may have weight zero."""
    w = task.weights[rows]
    return None if np.all(w == 1.0) else np.maximum(w, 1e-9)


def _learned_record(
    learned: Learned, alpha: float, problem: Problem, rows: Array, splits: Folds, work: Work
) -> HeldOut:
    """Return the record of the kernel that is learned anew without the rows that it is tested on.

    Folds of our own share lessons: each is from the rows that none of its folds tests.
    """
    task, settings = problem.task, alpha * ALPHAS
    looks_back = task.own_folds or task.periods is not None
    lessons = len(splits) if looks_back else min(LESSONS, len(splits))
    kernels = []
    for number in range(lessons):
        common = reduce(np.intersect1d, [train for train, _ in splits[number::lessons]])
        key = f"learned/{number}"
        lesson = learn_from(learned.source, learned.middle, problem, rows[common], work, key)
        kernels.append(learned.source if lesson is None else lesson.candidate)

    def run(number: int) -> tuple[Array, Array]:
        train, test = splits[number]
        both = rows[np.concatenate([train, test])]
        K = problem.samples.block(kernels[number % lessons], both, rows[train])
        block = symmetric(K[: len(train)])
        values = fold_values(block, rows[train], K[len(train) :], settings, problem)
        looks = [outermost(block)] if task.open_ended and number == 0 else []
        return values, values_in_folds(block, rows[train], looks, settings, problem)

    few = len(rows) <= sizes.SERIAL_ROWS
    results = list(work.pieces(run, range(len(splits)), here=few, must=True))
    values = np.concatenate([part for part, _ in results], axis=1)
    return _of_values(values, results[0][1], settings, problem, rows, splits)


def outermost(K: Array) -> tuple[Array, Array]:
    """Return the positions of the inner samples, and of the quarter farthest from their mean."""
    distance = np.diagonal(K) - 2.0 * K.mean(axis=1)
    order = np.argsort(distance, kind="stable")
    inner = len(order) - max(len(order) // 4, 1)
    return np.sort(order[:inner]), order[inner:]


# ---- machines of the user's -------------------------------------------------------------------


def users_values(machine: Any, K: Array, rows: Array, K_test: Array, task: Task) -> Array:
    """Return what a machine of the user's says of samples, as it is."""
    counts = task.weights[rows] > 0
    if not counts.all():
        K, rows, K_test = K[np.ix_(counts, counts)], rows[counts], K_test[:, counts]
    lone = task.lone(rows, len(K_test))
    if lone is not None:
        return lone.f
    fitted = fit_weighted(
        clone(machine).set_params(kernel="precomputed"), K, task.labels[rows], task.weights[rows]
    )
    return task.decision_values(fitted, K_test, rows)


def fit_weighted(machine: Any, X: Any, y: Array, w: Array) -> Any:
    """Return a machine after its fit; weights that are all one are not mentioned."""
    return machine.fit(X, y) if np.all(w == 1.0) else machine.fit(X, y, sample_weight=w)
