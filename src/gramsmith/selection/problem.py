"""Problem: what was asked, read once: targets, samples, candidates, and the plan."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.validation import has_fit_parameter

from gramsmith.gram.views import take_rows
from gramsmith.kernels import Kernel, Precomputed
from gramsmith.kernels.adapt import FromCallable
from gramsmith.kernels.definiteness import indefiniteness, is_semidefinite
from gramsmith.kernels.finite import eager
from gramsmith.measures import Measure, get_measure
from gramsmith.selection.candidates import Candidate, named_candidates
from gramsmith.selection.kinds import read_task
from gramsmith.selection.others import Other, read_others
from gramsmith.selection.periods import read_periods
from gramsmith.selection.plan import Plan, make_plan
from gramsmith.selection.samples import Samples, all_precomputed, read_samples
from gramsmith.selection.task import Task

Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class Problem:
    """Everything that a choice depends on."""

    task: Task
    samples: Samples
    candidates: tuple[Candidate, ...]
    plan: Plan
    X: Any = None  # what the user passed, for pipelines and pictures
    measures: Sequence[Measure] | None = None  # default the usual ones
    machine: Any = None  # of the user's, instead of ridge
    ensemble: bool = True
    others: tuple[Other, ...] = ()  # estimators that are compared with the kernels

    def at(self, rows: Array, samples: Samples) -> Problem:
        """Return the problem of some rows of samples that are encoded by what these can teach."""
        task = self.task.at(rows)
        plan = make_plan(
            task,
            self.candidates,
            learn=self.plan.learn,
            machine=self.machine,
            ensemble=self.ensemble,
            max_samples=self.plan.max_samples,
            nested=False,
        )
        samples = samples.of_rows(self.candidates, rows)
        given = any(other.as_given for other in self.others)
        X = take_rows(self.X, rows) if given else None
        return replace(self, task=task, samples=samples, plan=plan, X=X)


def read(
    X: Any,
    y: Any,
    kernels: Any = "auto",
    *,
    measures: Sequence[str | Measure] | None = None,
    machine: Any = None,
    ensemble: bool = True,
    roles: dict[Any, str] | None = None,
    max_samples: int | None = None,
    random_state: Any = 0,
    nested: bool = True,
    estimators: Any = None,
    frames: Sequence[str] | None = None,
    time_order: Any = None,
    horizon: Any = None,
    gap: Any = 0,
    cv: Any = None,
    **options: Any,
) -> Problem:
    """Return the problem of `rank_kernels`, whose arguments these are, with its plan.

    Parameters
    ----------
    X, y, kernels, measures, machine, ensemble, roles, max_samples, random_state, **options
        As in `rank_kernels`: task, scoring, groups, class_weight, sample_weight.
    nested : bool, default=True
        Whether the estimate may make the choice anew.
    estimators, frames, time_order, horizon, gap, cv
        As in `rank_kernels`.

    Returns
    -------
    Problem

    Examples
    --------
    >>> import numpy as np
    >>> from gramsmith.selection import read
    >>> plan = read(np.zeros((10, 2)) + np.arange(10)[:, None], [0, 1] * 5).plan
    >>> plan.task, plan.n_samples, plan.machine
    ('classification', 10, 'kernel ridge classifier')
    """
    X = tuple(map(eager, X)) if isinstance(X, tuple) else eager(X)
    periods = read_periods(time_order, horizon, gap, cv, X, roles)
    task = read_task(y, seed=as_seed(random_state), cv=cv, periods=periods, **options)
    if isinstance(time_order, str):
        roles = {**(roles or {}), time_order: "time"}
    if machine is not None:
        check_machine(machine, task)
    rows = task.counting if len(task.counting) < task.n else None
    samples = read_samples(X, task.labels, kernels, roles, rows)
    candidates, views = named_candidates(
        kernels,
        samples.views,
        task.seed,
        variants=samples.variants,
        unscaled=samples.unscaled,
        blocks=samples.column_blocks,
        rows=rows,
    )
    functions = any(_calls_function(c.kernel) for c in candidates)
    if functions and isinstance(X, np.ndarray) and X.dtype.kind in "fiu" and np.isfinite(X).all():
        # A function is given the rows as they are: its values are kept, and every encoding of
        # a fold would be other rows, to be computed anew.
        views = (*views, X)
        candidates = [
            replace(c, view=len(views) - 1) if _calls_function(c.kernel) else c for c in candidates
        ]
    for candidate in candidates:
        if isinstance(candidate.kernel, Precomputed):
            _warn_if_indefinite(candidate.name, views[candidate.view])
    samples = replace(samples, views=views)
    for candidate in candidates:
        samples.check_signs(candidate, rows)
    others = read_others(estimators, frames, task, X, samples, all_precomputed(kernels))
    plan = make_plan(
        task,
        candidates,
        learn=isinstance(kernels, str) and kernels == "auto",
        machine=machine,
        ensemble=ensemble,
        max_samples=max_samples,
        nested=nested,
        n_features=samples.n_features or 0,
        columns=samples.columns,
    )
    return Problem(
        task=task,
        samples=samples,
        candidates=tuple(candidates),
        plan=plan,
        X=X,
        measures=None if measures is None else [get_measure(m) for m in measures],
        machine=machine,
        ensemble=ensemble,
        others=others,
    )


def _calls_function(kernel: Kernel) -> bool:
    """Return whether a kernel is, or is made of, a function of the user's."""
    return isinstance(kernel, FromCallable) or any(map(_calls_function, kernel.children().values()))


def _warn_if_indefinite(name: str, K: Array) -> None:
    """Warn of a matrix that is no kernel matrix, once for the whole ranking."""
    if is_semidefinite(K):
        return
    message = indefiniteness(np.linalg.eigvalsh(K.astype(np.float64)), dtype=K.dtype)
    if message is not None:
        warnings.warn(
            f"Kernel {name!r}: {message} Ridge regression sets negative eigenvalues to zero.",
            UserWarning,
            stacklevel=4,
        )


def check_machine(machine: Any, task: Task) -> None:
    """Raise a ValueError unless a machine of the user's can be used for the task."""
    name = type(machine).__name__
    if not (hasattr(machine, "get_params") and "kernel" in machine.get_params(deep=False)):
        raise ValueError(
            f"Expected an estimator with a parameter `kernel`, got {name}. "
            'It is given kernels and, in cross-validation, kernel="precomputed".'
        )
    if task.kind == "multilabel":
        raise ValueError(
            f"Expected machine=None for several labels at once, got {name}. Leave it out, or "
            "rank one label at a time."
        )
    if task.names and not get_tags(machine).target_tags.multi_output:
        raise ValueError(
            f"Expected an estimator for {len(task.names)} outputs, got {name}, which has one. Use "
            "another estimator, or rank one output at a time."
        )
    if task.mistaken(machine):
        raise ValueError(
            f"Expected an estimator for {task.kind}, got {name}. Use another estimator, or say "
            "what the targets are with task=."
        )
    if np.any(task.weights != 1.0) and not has_fit_parameter(machine, "sample_weight"):
        raise ValueError(
            f"Expected an estimator whose fit takes sample_weight, got {name} and weights. "
            "Leave sample_weight and class_weight out."
        )


def as_seed(random_state: Any) -> int:
    """Return a seed: the number itself, or one drawn from a RandomState; None means 0."""
    if random_state is None:
        return 0
    if isinstance(random_state, (int, np.integer)):
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))
