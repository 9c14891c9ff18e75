"""evaluate: every measure of every kernel in one pass."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state

from gramsmith.arguments import abridged, counted
from gramsmith.evaluation.advice import (
    about_definiteness,
    about_kernel,
    about_target,
    with_remarks,
)
from gramsmith.evaluation.errors import (
    FOLDS,
    assign_folds,
    jackknife,
    left_out_values,
    pvalue,
    shuffled_values,
    values_of,
)
from gramsmith.evaluation.permutations import check_permutations
from gramsmith.evaluation.result import Advice, Cell, Evaluation
from gramsmith.gram import Engine, Gram, Views, as_engine, as_views
from gramsmith.gram.threads import dense_work
from gramsmith.kernels.base import Kernel
from gramsmith.measures import Measure, get_measure
from gramsmith.measures.alignment import ConstantKernelWarning
from gramsmith.targets import ConstantTarget, Target, check_groups, make_target

Array = npt.NDArray[Any]

# a label matrix is the only one of its kind, whatever its values
TASKS = {"classes": "classification", "values": "regression", "labels": "auto"}
DEFAULT = ("kta", "cka", "cka_debiased", "fsm", "fsm_loo", "csm")


def evaluate(
    kernels: Any,
    X: Any,
    y: Any,
    measures: Iterable[str | Measure] | str | Measure | None = None,
    *,
    X_test: Any = None,
    y_test: Any = None,
    folds: int = FOLDS,
    n_permutations: int = 0,
    target: str = "auto",
    task: str = "auto",
    sample_weight: Any = None,
    groups: Any = None,
    memory: float | None = None,
    n_jobs: int | None = None,
    engine: Engine | None = None,
    dtype: Any = None,
    resume: Any = None,
    random_state: Any = 0,
) -> Evaluation:
    """Measure several kernels on one task, in one pass over the data.

    Parameters
    ----------
    kernels : dict of name -> kernel, list of kernels or (name, kernel) pairs, or one kernel
        Kernels are what `as_kernel` takes, (n, n) matrices, or Grams.
    X : array of shape (n, p), sequence of n objects, or None if all kernels are matrices
        A tuple holds one view of the samples per kernel.
    y : array of shape (n,) or (n, q)
        Labels or values.
    measures : list of str or Measure, optional
        Names in `gramsmith.measures.MEASURES`, or measures of your own; default kta, cka,
        cka_debiased, fsm, fsm_loo, csm as far as they are defined for the target.
    X_test, y_test : optional
        Held-out data, on which the measures are shown as well.
    folds : int, default=10
        Number of folds of the jackknife that gives the errors, see `Cell.interval`; 0 for none.
    n_permutations : int, default=0
        Number of shuffled targets for p-values; 0 for none. Every label is shuffled together with
        its weight: what is tested is whether both are independent of the samples, so that weights
        which depend on the samples count as a relation.
    target, task, sample_weight
        See `gramsmith.targets.make_target`; default "auto", "auto" and equal weights. `target` is T
        in every measure that has one, as in `kta`, `cka` and `hsic`; FSM, CSM and MMD have none.
    groups : array of shape (n,), optional
        Samples of one group, such as several visits of a patient, are left out together for the
        errors and shuffled together for p-values, for which they must share their target.
    memory, n_jobs, engine, dtype
        See `Gram`.
    resume : path or Journal, optional
        A file for finished bands, see `Threads`: a run that was ended goes on from there.
    random_state : int or RandomState, default=0
        Decides the folds and the permutations.

    Returns
    -------
    Evaluation

    Examples
    --------
    >>> import numpy as np
    >>> import gramsmith as gs
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> y = X[:, 0] * X[:, 1] > 0
    >>> print(gs.evaluate({"linear": gs.Linear(), "rbf": gs.Gaussian()}, X, y, measures=["cka"]))
    kernel  cka ↑
    ------  ---------------
    linear  0.01804 ±0.034
    rbf     0.2069 ±0.041 *
    """
    count = check_permutations(n_permutations)
    if (X_test is None) != (y_test is None):
        raise ValueError("Expected both X_test and y_test, got one of them. Pass both or neither.")
    views = as_views(kernels, X)
    named = dict(zip(views.names, views.kernels, strict=True))
    goal = make_target(y, target, task=task, sample_weight=sample_weight)
    chosen = choose_measures(measures, goal)
    views.check_lengths(len(goal.w))
    advice: list[Advice] = list(about_target(goal, task))
    rng = check_random_state(random_state)
    together = check_groups(groups, len(goal.w))
    order, fold = assign_folds(goal, folds, rng, together)
    options = {"engine": as_engine(engine, n_jobs, memory, resume), "dtype": dtype}
    G = Gram(views if order is None else views.take(order), **options)
    if order is not None:
        goal = goal.take(order)
        together = None if together is None else together[order]
    moments = G.moments(goal, fold=fold, cross=False)
    for k, (name, kernel) in enumerate(named.items()):
        about = name, moments.of(k), goal, kernel
        advice += [*about_kernel(*about), *about_definiteness(*about)]
    # sums of a few columns: threads would only hand each other the interpreter lock
    with warnings.catch_warnings(), dense_work():
        # that a kernel is constant is said in the advice
        warnings.simplefilter("ignore", ConstantKernelWarning)
        reasons: dict[str, Measure] = {}
        values = values_of(moments, goal, chosen, reasons)
        advice += [Advice("undefined", text, measure=m.name) for text, m in reasons.items()]
        left_out = left_out_values(moments, goal, chosen)
        shuffled = shuffled_values(G, goal, chosen, count, rng, together) if count else None
        seen = None
        if y_test is not None:
            seen, remarks = _held_out(views, X_test, y_test, goal, chosen, options)
            advice += remarks
    cells: dict[tuple[str, str], Cell] = {}
    for k, name in enumerate(named):
        for j, measure in enumerate(chosen):
            value = values[k][j]
            if value is None:
                cells[name, measure.name] = Cell(None)
                continue
            known = left_out[:, k, j]
            cells[name, measure.name] = Cell(
                value,
                error=jackknife(known),
                held_out=None if seen is None else seen[k][j],
                pvalue=None if shuffled is None else pvalue(measure, value, shuffled[:, k, j]),
                folds=known,
                least=least_value(measure, views.kernels[k], value),
            )
    table = Evaluation(named, {m.name: m for m in chosen}, cells, (), G.n)
    return with_remarks(table, advice)


def least_value(measure: Measure, kernel: Kernel, value: float) -> float:
    """Return 0 where a measure of a kernel cannot be negative, else minus infinity."""
    can_be = value < 0 or not (measure.nonnegative and kernel.positive_definite)
    return -np.inf if can_be else 0.0


def choose_measures(measures: Any, goal: Target) -> list[Measure]:
    """Return the measures that were asked for, or those that are defined for the target."""
    if measures is None:
        return [m for m in map(get_measure, DEFAULT) if goal.kind in m.kinds]
    if isinstance(measures, (str, Measure)):
        measures = [measures]
    if not isinstance(measures, Iterable) or getattr(measures, "ndim", 1) == 0:
        raise TypeError(
            "Expected the name of a measure, a Measure or a list of them, got "
            f"{abridged(measures)}."
        )
    chosen = list(dict.fromkeys(map(get_measure, measures)))
    if not chosen:
        raise ValueError("Expected at least one measure, got an empty list.")
    names = [m.name for m in chosen]
    if len(set(names)) < len(names):
        raise ValueError(
            f"Expected measures of different names, got {', '.join(names)}. Rename yours."
        )
    return chosen


def _held_out(
    views: Views, X: Any, y: Any, goal: Target, measures: Sequence[Measure], options: dict[str, Any]
) -> tuple[list[list[float | None]] | None, list[Advice]]:
    """Return the measures of every kernel on test data like those of `goal`, and remarks.

    None instead of values where the test data have one class or constant values.
    """
    held_out = views.on(X)
    try:
        target = make_target(y, goal.scheme, task=TASKS[goal.kind])
    except ConstantTarget as reason:
        return None, [Advice("undefined", f"Held-out values: {reason}")]
    columns, expected = target.V.shape[1], goal.V.shape[1]
    if target.kind != goal.kind or (goal.kind != "classes" and columns != expected):
        raise ValueError(
            f"Expected y_test like y ({goal.kind}, {counted(expected - 1, 'column')}), got "
            f"{target.kind} with {columns - 1}. Pass the same outputs."
        )
    held_out.check_lengths(len(target.w))
    moments = Gram(held_out, **options).moments(target, cross=False)
    return values_of(moments, target, measures), []
