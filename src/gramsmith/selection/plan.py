"""Plan: how many rows each step uses, and which method, decided once before any work."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gramsmith.evaluation.estimate import FIRST
from gramsmith.kernels import Precomputed
from gramsmith.selection.task import Task
from gramsmith.tables.decide import NO_COLUMNS, ColumnTable

# Rows.
MEASURE_ROWS = 800  # of the measures, which settle early
DRAWN_ROWS = 768  # in each random draw from which the measures of many rows are estimated,
DRAWN_OBJECTS = 256  # of strings and other objects, whose kernels take longer
FEW_ROWS = 200  # that are always looked at, however short the time
CHECK_ROWS = 5000  # of the first check of all candidates
COMPARE_ROWS = 1000  # on which machines are cross-validated
LANDMARK_ROWS = 10_000  # on which machines on landmarks are compared
EXACT_ROWS = 6000  # up to which machines use all samples, beyond it landmarks
LANDMARKS = 800  # their number
AVERAGE_ROWS = 30_000  # up to which several machines are fitted and averaged
NESTED_ROWS = 500  # up to which the whole choice is repeated for the estimate
LEARN_TWICE_ROWS = 2000  # from which feature weights are learned from two starts
LEARN_LONGER_ROWS = 5000  # from which more of them are learned from
HALVING_ROWS = 1000  # from which only the better half is checked on all of them
SERIAL_ROWS = 400  # of a Gram matrix below which threads only wait for each other

MEMBERS = 4  # of an average, at most: each of them is fitted, and predicts
OUTER_FOLDS = 5  # in which the choice is made anew
PASSES = 3  # of a machine on landmarks over all rows


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What a ranking will do, before any kernel is evaluated; the steps obey it."""

    n_samples: int
    n_features: int  # of the table; none for strings
    task: str  # "classification", "regression" or "multilabel"
    kernels: tuple[str, ...]  # names of the candidates
    columns: ColumnTable = NO_COLUMNS  # what the columns of a table are
    machine: str  # what the winner will be fitted with
    check_rows: int  # rows of the first check
    measure_rows: int  # for which measures are computed; where they are estimated, drawn at most
    draws: int  # rows in each draw, where measures are estimated; else 0
    compare_rows: int  # on which machines are cross-validated
    landmarks: int  # of the machines; 0 where they use all samples
    outer_folds: int  # in which the whole choice is made anew for the estimate; 0: bootstrap
    average: bool  # whether several machines may be averaged
    learn: bool  # whether feature weights are learned
    climbs: int  # from how many starts
    taught_rows: int  # from which feature weights are learned at most
    memory_mib: float  # rough peak
    seconds: float  # rough time on two cores
    max_samples: int | None = None  # the user's limit of rows in any one step


def make_plan(
    task: Task,
    candidates: Sequence[Any],
    *,
    learn: bool = False,
    machine: Any = None,
    ensemble: bool = True,
    max_samples: int | None = None,
    nested: bool = True,
    n_features: int = 0,
    columns: ColumnTable = NO_COLUMNS,
) -> Plan:
    """Return the plan of a ranking."""
    n, rows = task.n, len(task.counting)
    matrices = any(isinstance(c.kernel, Precomputed) for c in candidates)
    large = n > EXACT_ROWS
    on_landmarks = machine is None and large and not matrices
    draws = 0
    if large:
        by_vectors = all(c.kernel.requires_vector_input for c in candidates)
        draws = DRAWN_ROWS if by_vectors else DRAWN_OBJECTS
    average = ensemble and machine is None and not matrices and n <= AVERAGE_ROWS
    name = type(machine).__name__
    if machine is None:
        name = f"{task.machine}{' on landmarks' if on_landmarks else ''}"
    outer = OUTER_FOLDS if nested and rows <= NESTED_ROWS and not task.own_folds else 0
    most = max_samples or n
    # exact: a few Gram matrices; else kernel blocks of two machines that are compared, and X
    held = 3 * n**2
    if on_landmarks:
        held = 8 * min(n, LANDMARK_ROWS) * LANDMARKS + 2 * n * max(n_features, 1)
    return Plan(
        n_samples=n,
        n_features=n_features,
        task=task.kind,
        kernels=tuple(c.name for c in candidates),
        columns=columns,
        machine=name,
        check_rows=min(rows, CHECK_ROWS, most),
        measure_rows=min(n, FIRST * draws if draws else MEASURE_ROWS, most),
        draws=draws,
        compare_rows=min(rows, LANDMARK_ROWS if on_landmarks else COMPARE_ROWS, most),
        landmarks=LANDMARKS if on_landmarks else 0,
        outer_folds=outer,
        average=average,
        # too many rows to learn in each of the user's folds
        learn=learn and not (task.own_folds and large),
        climbs=2 if n > LEARN_TWICE_ROWS else 1,
        taught_rows=2000 if n > LEARN_LONGER_ROWS else 1000,
        memory_mib=8.0 * max(held, 10 * COMPARE_ROWS**2) / 2**20 + 200.0,
        seconds=_seconds(n, len(candidates), on_landmarks, outer, MEMBERS if average else 1),
        max_samples=max_samples,
    )


def _seconds(n: int, kernels: int, on_landmarks: bool, outer: int, machines: int) -> float:
    """Return about how long a ranking takes on two quiet cores, evidence included."""
    if on_landmarks:
        return 6.0 + 5e-5 * n + machines * (3.0 + 5e-5 * n)
    choice = 0.2 + 0.01 * kernels + 2e-3 * min(n, COMPARE_ROWS)
    learning = 2.0 if n > LEARN_TWICE_ROWS else 0.0
    return (1 + outer) * choice + learning + machines * 2.5e-11 * n**3


def count_landmarks(n: int) -> int:
    """Return how many the first check uses: all of a small set, ever fewer of a larger one."""
    return int(min(n, 40 + 4.0 * np.sqrt(n), LANDMARKS))
