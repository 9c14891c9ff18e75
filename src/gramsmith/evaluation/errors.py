"""How sure a measure is: the jackknife over folds, and p-values from shuffled targets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import stdtrit
from sklearn.model_selection import KFold

from gramsmith.arguments import abridged, is_one_of, is_whole
from gramsmith.evaluation.permutations import ranks_from_above, shuffled_orders
from gramsmith.gram import Gram
from gramsmith.measures import Measure, Sums, Undefined
from gramsmith.moments import Moments
from gramsmith.targets import Target

Array = npt.NDArray[Any]

FOLDS = 10  # of the jackknife
TOGETHER = 4  # kernels whose sums without a fold are held at a time


def values_of(
    moments: Moments,
    goal: Target,
    measures: Sequence[Measure],
    reasons: dict[str, Measure] | None = None,
) -> list[list[float | None]]:
    """Return the measures of every kernel, None where undefined; `reasons` takes down why, once."""
    table: list[list[float | None]] = []
    for k in range(len(moments)):
        sums = Sums(moments.of(k), goal)
        table.append([])
        for measure in measures:
            try:
                table[k].append(measure.of(sums).value)
            except Undefined as reason:
                table[k].append(None)
                if reasons is not None:
                    reasons[f"{measure.name}: {reason}"] = measure
    return table


def assign_folds(
    target: Target, folds: int | None, rng: Any, groups: Array | None = None
) -> tuple[Array | None, Array | None]:
    """Return an order of the samples by fold, and the folds in that order; None for no folds.

    Folds are drawn without a look at the classes: with the same share of every class in each, the
    error would leave out what comes from the shares themselves, which vary from sample to sample.
    Samples of weight 0 are in no count; groups stay whole.
    """
    n = len(target.w)
    if folds is None or is_one_of(folds, (0,)):
        return None, None
    if not is_whole(folds, 2):
        raise ValueError(f"Expected folds to be 0 or at least 2, got {abridged(folds)}.")
    there = np.flatnonzero(target.w > 0)
    assignment = np.zeros(n, dtype=int)
    if groups is None:
        count = min(int(folds), len(there))
        splits = KFold(count, shuffle=True, random_state=rng).split(there)
        for number, (_, part) in enumerate(splits):
            assignment[there[part]] = number
    else:
        assignment[there] = _folds_of_groups(groups[there], int(folds), rng)
    order = np.argsort(assignment, kind="stable")
    return order, assignment[order]


def _folds_of_groups(groups: Array, folds: int, rng: Any) -> Array:
    """Return a fold for every sample: large groups first, each to the smallest fold so far."""
    names, codes, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    if len(names) < 2:
        raise ValueError(
            "Expected at least 2 groups for errors, got 1. Use folds=0, or leave groups out."
        )
    filled, fold = np.zeros(min(folds, len(names))), np.empty(len(names), dtype=int)
    shuffled = rng.permutation(len(names))
    for group in shuffled[np.argsort(-sizes[shuffled], kind="stable")]:
        fold[group] = int(np.argmin(filled))
        filled[fold[group]] += sizes[group]
    return fold[codes]


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
    m, folds = len(moments), moments.q.shape[2]
    folds = folds if folds > 1 else 0
    values = np.empty((folds, m, len(measures)))
    for start in range(0, m, TOGETHER):
        some = range(start, min(start + TOGETHER, m))
        part = moments.of(*some)
        for fold in range(folds):
            values[fold, some] = values_of(*without_fold(part, goal, fold), measures)
    return values


def jackknife(values: Array) -> float | None:
    """Return the standard error of a statistic from its values without each of F folds.

    se² = (F - 1)/F Σ_f (θ_f - mean)²; None if a value is not finite.
    """
    F = len(values)
    if F < 2 or not np.isfinite(values).all():
        return None
    return float(np.sqrt((F - 1) / F * np.sum((values - values.mean()) ** 2)))


def interval(value: float, values: Array, confidence: float = 0.95) -> tuple[float, float] | None:
    """Return limits between which the measure of other samples like these is on average.

    Student's t with F - 1 degrees of freedom on the scale of asinh(θ / 2se): that of θ itself
    where it is small against its error, and that of its logarithm where it is large, for an error
    grows with the value. None where there is no error.
    """
    if not 0.0 < confidence < 1.0:
        raise ValueError(f"Expected a confidence between 0 and 1, got {abridged(confidence)}.")
    error = jackknife(values)
    if error is None or not np.isfinite(value):
        return None
    if error == 0.0:
        return value, value
    unit = 2.0 * error
    reach = stdtrit(len(values) - 1, 0.5 + 0.5 * confidence) * (
        jackknife(np.arcsinh(values / unit)) or 0.0
    )
    centre = np.arcsinh(value / unit)
    low, high = unit * np.sinh([centre - reach, centre + reach])
    return float(low), float(high)


def shuffled_values(
    G: Gram,
    goal: Target,
    measures: Sequence[Measure],
    count: int,
    rng: Any,
    groups: Array | None = None,
) -> Array:
    """Return the measures of all kernels with shuffled targets, shape (count, m, measures).

    The probes of many targets stand side by side, as many per sweep as the memory budget allows;
    with weights every target has a sweep of its own, since |K|² is another. nan where a measure is
    undefined.
    """
    m, width = len(G.views), goal.V.shape[1]
    # of every target: P and its parts in flight for every kernel, the probe and its copies
    size = 8 * G.n * width * (3 * m + 5)
    chunk = 1 if goal.weighted else max(1, G.engine.budget // 2 // size)
    values = np.empty((count, m, len(measures)))
    for start in range(0, count, chunk):
        targets = list(_shuffled(goal, min(chunk, count - start), rng, groups))
        moments = G.moments(targets, cross=False)
        for i, target in enumerate(targets):
            part = moments.columns(slice(i * width, (i + 1) * width))
            values[start + i] = np.array(values_of(part, target, measures), dtype=np.float64)
    return values


def _shuffled(goal: Target, count: int, rng: Any, groups: Array | None = None) -> Iterator[Target]:
    """Yield targets whose labels or values are shuffled, each together with its weight.

    Weights that follow from the labels, such as balanced ones, would else stay with other labels,
    and the given target would not be one among equals.
    """
    there = np.flatnonzero(goal.w > 0)  # samples of weight 0 have no part in the task
    together = None if groups is None else groups[there]
    if together is not None:
        _, first, codes = np.unique(together, return_index=True, return_inverse=True)
        pairs = np.column_stack([goal.V, goal.w])[there]
        if not (pairs == pairs[first[codes]]).all():
            raise ValueError(
                "Expected one target per group, and one weight, to shuffle whole groups, got "
                "groups within which they differ. Use n_permutations=0, or measure each group for "
                "itself."
            )
    for shuffled in shuffled_orders(len(there), count, rng, together):
        order = np.arange(len(goal.w))
        order[there] = there[shuffled]
        target = replace(goal, V=goal.V[order], w=goal.w[order])
        # groups of several sizes change the centre of values and the sizes of classes
        yield target if groups is None else target.take(np.arange(len(order)))


def pvalue(measure: Measure, value: float, shuffled: Array) -> float:
    """Return the share of shuffled targets that do as well; the given one counts as one of them.

    Targets for which the measure is undefined do as well.
    """
    statistics = measure.sign * np.r_[value, shuffled]
    return float(ranks_from_above(statistics[:, None])[0, 0]) / len(statistics)
