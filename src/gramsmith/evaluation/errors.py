"""How sure a measure is: the jackknife over folds, and p-values from shuffled targets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import KFold, StratifiedKFold

from gramsmith.gram import Gram
from gramsmith.measures import Measure, Sums, Undefined
from gramsmith.moments import Moments
from gramsmith.targets import Target

Array = npt.NDArray[Any]

FOLDS = 10  # of the jackknife
SCREENING_FOLDS = 5  # of the jackknife where many candidates are compared
TIE = 1e-10  # relative difference below which two values of a measure are the same


def values_of(
    moments: Moments,
    goal: Target,
    measures: Sequence[Measure],
    reasons: dict[str, Measure] | None = None,
) -> list[list[float | None]]:
    """Return the measures of every kernel, None where undefined; `reasons` takes down why, once."""

    def value(measure: Measure, sums: Sums) -> float | None:
        try:
            return measure.value_of(sums)
        except Undefined as reason:
            if reasons is not None:
                reasons[f"{measure.name}: {reason}"] = measure
            return None

    of_kernels = [Sums(moments.of(k), goal) for k in range(len(moments))]
    return [[value(measure, sums) for measure in measures] for sums in of_kernels]


def assign_folds(target: Target, folds: int, rng: Any) -> tuple[Array | None, Array | None]:
    """Return an order of the samples by fold, and the folds in that order; None for no folds."""
    n = len(target.w)
    if not folds:
        return None, None
    if folds < 2 or int(folds) != folds:
        raise ValueError(f"Expected folds to be 0 or at least 2, got {folds!r}.")
    count = min(int(folds), n)
    assignment = np.empty(n, dtype=int)
    if target.kind == "classes" and np.bincount(target.codes).min() >= count:
        splitter = StratifiedKFold(count, shuffle=True, random_state=rng)
        splits = splitter.split(target.V, target.codes)
    else:
        splits = KFold(count, shuffle=True, random_state=rng).split(target.V)
    for number, (_, part) in enumerate(splits):
        assignment[part] = number
    order = np.argsort(assignment, kind="stable")
    return order, assignment[order]


def without_fold(moments: Moments, target: Target, fold: int) -> tuple[Moments, Target]:
    """Return the moments and the target of the samples outside one fold.

    Values are centred anew without the fold, V_new = V - 1 shift', and P = K V moves with them:
    P_new = P - (K 1) shift'.
    """
    part, index = moments.without(fold)
    rest = target.take(index)
    if target.weighted and rest.n:  # the weights of the rest have mean 1 again
        k = int(np.argmax(target.w[index]))
        part = part.reweighted(float(rest.w[k] / target.w[index[k]]))
    if target.kind == "values" and len(index):
        shift = target.V[index[0]] - rest.V[0]  # 0 for the column of ones
        part = replace(part, P=part.P - part.P[..., :1] * shift)
    return part, rest


def left_out_values(moments: Moments, goal: Target, measures: Sequence[Measure]) -> Array:
    """Return the measures without each fold, shape (F, m, measures), nan where undefined."""
    folds = moments.q.shape[2]
    values = [
        values_of(*without_fold(moments, goal, fold), measures)
        for fold in range(folds if folds > 1 else 0)
    ]
    return np.array(values, dtype=np.float64).reshape(len(values), len(moments), len(measures))


def jackknife(values: Array) -> float | None:
    """Return the standard error of a statistic from its values without each of F folds.

    se² = (F - 1)/F Σ_f (θ_f - mean)²; None if a value is not finite.
    """
    F = len(values)
    if F < 2 or not np.isfinite(values).all():
        return None
    return float(np.sqrt((F - 1) / F * np.sum((values - values.mean()) ** 2)))


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
        for i, target in enumerate(targets):
            part = moments.columns(slice(i * width, (i + 1) * width))
            values[start + i] = np.array(values_of(part, target, measures), dtype=np.float64)
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
