"""Held-out samples: the same kernels and measures on data that had no part in the choice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gramsmith.evaluation.result import Advice
from gramsmith.gram import Gram, Views
from gramsmith.gram.threads import one_blas_thread
from gramsmith.measures import Measure
from gramsmith.measures.base import Sums
from gramsmith.targets import ConstantTarget, Target, make_target

# a label matrix is the only one of its kind, whatever its values
TASKS = {"classes": "classification", "values": "regression", "labels": "auto"}


def held_out_target(y: Any, goal: Target, target: str) -> tuple[Target | None, list[Advice]]:
    """Return the target of the test data, of the kind of `goal`; None, with a reason, if constant.

    Parameters
    ----------
    y : array of shape (n_test,) or (n_test, q)
    goal : Target
        Of the training data.
    target : str
        See `make_target`.
    """
    try:
        held = make_target(y, target, task=TASKS[goal.kind])
    except ConstantTarget as reason:
        return None, [Advice("undefined", f"Held-out values: {reason}")]
    if held.kind != goal.kind or (goal.kind != "classes" and held.V.shape[1] != goal.V.shape[1]):
        raise ValueError(
            f"Expected y_test like y ({goal.kind}, {goal.V.shape[1] - 1} columns), got "
            f"{held.kind} with {held.V.shape[1] - 1}. Pass the same outputs."
        )
    return held, []


def held_out_values(
    views: Views,
    X: Any,
    target: Target | None,
    measures: Sequence[Measure],
    options: dict[str, Any],
) -> list[list[float | None]] | None:
    """Return the measures of every kernel on the test data, None where undefined.

    Parameters
    ----------
    views : Views
        Of the training data, whose columns those of the test data must be.
    X : samples, or a tuple with one view of them per kernel
    target : Target or None
        Without one there is nothing to return.
    measures : list of Measure
    options : dict
        Arguments of `Gram`.
    """
    held_out = views.on(X)
    if target is None:
        return None
    held_out.check_lengths(len(target.w))
    moments = Gram(held_out, **options).moments(target, cross=False)
    with one_blas_thread():
        sums = [Sums(moments.of(k), target) for k in range(len(moments))]
        return [[measure.value_or_none(s) for measure in measures] for s in sums]
