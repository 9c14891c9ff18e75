"""Permutation tests: orders of the samples, and p-values that are exact for any statistic.

Row 0 of a table of statistics is the data, the others are shuffled copies of it. Where nothing is
there to be found all rows are alike, so that the share of rows with values as large as those of
row 0 is a p-value, whatever the statistic and however many rows there are.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from gramsmith.arguments import abridged, is_whole

Array = npt.NDArray[Any]

TIE = 1e-10  # relative difference below which two values of a statistic are the same


def check_permutations(count: Any, least: int = 0) -> int:
    """Return the number of permutations as an int, or raise."""
    if not is_whole(count, least):
        advice = "Use 0 for none." if least == 0 else "Use 500."
        raise ValueError(
            f"Expected n_permutations to be a whole number >= {least} below 2^31, got "
            f"{abridged(count)}. {advice}"
        )
    return int(count)


def shuffled_orders(n: int, count: int, rng: Any, groups: Array | None = None) -> Iterator[Array]:
    """Yield orders of n rows; rows of a group take the values of one other group's first row."""
    first, codes = np.arange(n), np.arange(n)
    if groups is not None:
        _, first, codes = np.unique(groups, return_index=True, return_inverse=True)
    for _ in range(count):
        yield first[rng.permutation(len(first))][codes]


def shuffled_blocks(n: int, count: int, rng: Any, groups: Array | None = None) -> Iterator[Array]:
    """Yield orders of n rows in which groups of one size change places, each in its own order."""
    if groups is None:
        yield from shuffled_orders(n, count, rng)
        return
    by_group = np.argsort(groups, kind="stable")
    _, sizes = np.unique(groups, return_counts=True)
    starts = np.cumsum(sizes) - sizes
    alike = [starts[sizes == size][:, None] + np.arange(size) for size in np.unique(sizes)]
    if all(len(places) < 2 for places in alike):
        raise ValueError(
            f"Expected groups of equal size, which can change places, got {len(sizes)} groups of "
            "different sizes. Give each group as many rows, or test one row of each."
        )
    for _ in range(count):
        order = np.empty(n, dtype=np.intp)
        for places in alike:
            order[by_group[places]] = by_group[places[rng.permutation(len(places))]]
        yield order


def without_rounding(statistics: Array, scale: Any) -> Array:
    """Return values with 0 for those that are rounding of numbers of this size.

    A kernel that tells nothing has values of 0, whose rounding depends on the order of the rows.
    """
    return np.where(np.abs(statistics) <= 1e-13 * np.asarray(scale), 0.0, statistics)


def ranks_from_above(statistics: Array) -> Array:
    """Return for every row how many rows have a value as large, by columns; nan is the largest.

    A shuffle may give the same data again, its sums added in another order: values that differ by
    rounding are equal.
    """
    values = np.where(np.isnan(statistics), np.inf, statistics)
    finite = np.where(np.isfinite(values), np.abs(values), 0.0)
    reach = TIE * finite.max(axis=0, initial=0.0)
    counts = [
        len(column) - np.searchsorted(np.sort(column), column - gap)
        for column, gap in zip(values.T, reach, strict=True)
    ]
    return np.column_stack(counts)


def least_ranks(statistics: Array) -> tuple[Array, Array]:
    """Return T_b, the least rank of every row, and the adjusted p-value of every column.

    The share of rows with T_b <= T_0 is the p-value of all columns together; that of one column,
    adjusted for all of them (Westfall & Young), is the share with T_b at most its own rank.

    Of m columns up to m rows have rank 1, which would make 1 / rows out of reach: equal ranks of
    different columns are told apart by their values in units of the deviation of the column.
    """
    ranks = ranks_from_above(statistics)
    finite = np.where(np.isfinite(statistics), statistics, np.nan)
    centre, spread = np.nanmean(finite, axis=0), np.nanstd(finite, axis=0)
    standard = (statistics - centre) / np.where(spread > 0, spread, 1.0)
    beside = ranks_from_above(standard.reshape(-1, 1)).reshape(ranks.shape)
    told_apart = ranks + beside / (beside.size + 1.0)
    least = told_apart.min(axis=1)
    return least, np.asarray((least[:, None] <= told_apart[0]).mean(axis=0))


def holm(pvalues: Any) -> Array:
    """Return p-values adjusted for their number by Holm's method: none is wrong at most that often.

    >>> holm([0.01, 0.04, 0.03])
    array([0.03, 0.06, 0.06])
    """
    p = np.asarray(pvalues, dtype=float)
    order = np.argsort(p, kind="stable")
    adjusted = np.empty(len(p))
    adjusted[order] = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    return np.minimum(adjusted, 1.0)
