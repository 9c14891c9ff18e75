"""Permutations: the measures of shuffled targets, and the p-values that follow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from gramsmith.gram import Gram
from gramsmith.gram.threads import one_blas_thread
from gramsmith.measures import Measure
from gramsmith.measures.base import Sums
from gramsmith.targets import Target

Array = npt.NDArray[Any]

TIE = 1e-10  # relative difference below which two values of a measure are the same


def check_permutations(count: Any) -> int:
    """Return the number of permutations as an int, or raise."""
    if isinstance(count, bool) or int(count) != count or count < 0:
        raise ValueError(
            f"Expected permutations to be a whole number >= 0, got {count!r}. Use 0 for none."
        )
    return int(count)


def shuffled_values(
    G: Gram, goal: Target, measures: Sequence[Measure], count: int, rng: Any
) -> Array:
    """Return the measures of all kernels with shuffled targets, shape (count, m, measures).

    The probes of many targets stand side by side, as many per sweep as the memory budget allows;
    nan where a measure is undefined.
    """
    m, width = len(G.kernels), goal.V.shape[1]
    # of every target: P and its parts in flight for every kernel, the probe and its copies
    size = 8 * G.n * width * (3 * m + 5)
    chunk = max(1, G.budget // 2 // size)
    values = np.empty((count, m, len(measures)))
    for start in range(0, count, chunk):
        targets = list(_shuffled(goal, min(chunk, count - start), rng))
        moments = G.moments(targets, cross=False)
        with one_blas_thread():
            for i, target in enumerate(targets):
                own = moments.columns(slice(i * width, (i + 1) * width))
                for k in range(m):
                    sums = Sums(own.of(k), target)
                    found = [measure.value_or_none(sums) for measure in measures]
                    values[start + i, k] = np.array(found, dtype=np.float64)
    return values


def _shuffled(goal: Target, count: int, rng: Any) -> Iterator[Target]:
    there = np.flatnonzero(goal.w > 0)  # samples of weight 0 have no part in the task
    for _ in range(count):
        order = np.arange(len(goal.w))
        order[there] = there[rng.permutation(len(there))]
        # with weights, the centre of values and the sizes of classes are not what they were
        yield replace(goal, V=goal.V[order]).take(np.arange(len(order)))


def p_value(measure: Measure, value: float, shuffled: Array) -> float:
    """Return the share of shuffled targets that do as well; the given one counts as one of them.

    A shuffle may give the same target again, its sums added in another order: values that differ
    by rounding are equal. So are those where the measure is undefined.
    """
    finite = np.abs(shuffled[np.isfinite(shuffled)]).max(initial=0.0)
    size = max(abs(value), finite) if np.isfinite(value) else finite
    worse = measure.sign * shuffled < measure.sign * value - TIE * size
    return (1.0 + float(np.sum(~worse))) / (1.0 + len(shuffled))
