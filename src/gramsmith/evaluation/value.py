"""From a matrix or a Gram and its targets to the sums and the value of one measure."""

from __future__ import annotations

from typing import Any

from gramsmith.gram import Gram, as_gram
from gramsmith.gram.threads import one_blas_thread
from gramsmith.measures import Measure, get_measure
from gramsmith.measures.base import Sums
from gramsmith.targets import Target, make_target


def measure_value(
    measure: str | Measure,
    K: Any,
    y: Any,
    *,
    target: str = "auto",
    task: str = "auto",
    sample_weight: Any = None,
) -> float:
    """Return one measure of a matrix or a Gram.

    Parameters
    ----------
    measure : str or Measure
    K : array of shape (n, n), or Gram
    y : array of shape (n,) or (n, q)
    target, task, sample_weight
        See `gramsmith.targets.make_target`.

    Returns
    -------
    float
    """
    measure = get_measure(measure)
    with one_blas_thread():
        sums = sums_of(K, y, measure, target=target, task=task, sample_weight=sample_weight)
        return measure.value_of(sums)


def sums_of(K: Any, y: Any, measure: Measure | None = None, **options: Any) -> Sums:
    """Return the sums of a matrix or Gram for the target of y."""
    goal = make_target(y, options.pop("target", "auto"), **options)
    G = one_gram(K)
    _check_lengths(G, goal)
    if measure is not None:
        measure.check(goal)
    return Sums(G.moments(goal), goal)


def one_gram(K: Any) -> Gram:
    """Return the Gram of a matrix or a Gram of one kernel, or raise."""
    G = as_gram(K)
    if len(G.kernels) != 1:
        raise ValueError(
            f"Expected the Gram matrix of one kernel, got {len(G.kernels)} kernels. Use evaluate "
            "for several, or build a Gram for one of them."
        )
    return G


def _check_lengths(G: Gram, goal: Target) -> None:
    if len(goal.w) != G.n:
        raise ValueError(
            f"Expected one target per row of K ({G.n}), got {len(goal.w)}. "
            "K and y must describe the same samples."
        )
    if G.n < 2:
        raise ValueError("Expected at least 2 samples, got n = 1. Add samples.")


def check_ddof(ddof: Any) -> None:
    """Raise unless ddof is 0 or 1."""
    if ddof not in (0, 1):
        raise ValueError(f"Expected ddof 0 or 1, got {ddof!r}.")
