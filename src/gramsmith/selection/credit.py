"""Credit: learned kernels are believed on samples from which nothing was learned, less doubt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from gramsmith.selection.contest import Result
from gramsmith.selection.judge import Judge
from gramsmith.selection.verify import Check

Array = npt.NDArray[Any]

DOUBT = 2.0  # errors by which learned kernels, picked from many, must prove their gain


def credited(
    found: Sequence[Check], old: Check, judge: Judge, rows: Array, fresh: Array
) -> list[Check]:
    """Return checks of learned kernels: the gain over their source on fresh rows, less doubt.

    Parameters
    ----------
    found : list of Check
        Of the source, which comes first, and of kernels learned from it, with all their samples.
    old : Check
        Of the source among the other candidates.
    judge : Judge
    rows : int array of shape (m,)
        The samples of the checks.
    fresh : bool array of shape (m,)
        Those from which nothing was learned.
    """
    first, *others = found
    result = []
    for check in others:
        gap = check.each[fresh] - first.each[fresh]
        error = float(gap.std() / np.sqrt(max(len(gap), 1)))
        loss = old.loss + _gain(check, first, judge, rows, fresh)
        result.append(
            replace(
                check,
                squared=old.squared + float(gap.mean()) + DOUBT * error,
                loss=_possible(loss, check.loss),
                rows=old.rows,
                each=np.empty(0),
                wrong=np.empty(0),
            )
        )
    return result


def _gain(check: Check, first: Check, judge: Judge, rows: Array, fresh: Array) -> float:
    if judge.plain:
        return float(check.wrong[fresh].mean() - first.wrong[fresh].mean())
    told = fresh[check.tested]
    where = rows[check.tested[told]]
    return judge.loss(check.values[told], where) - judge.loss(first.values[told], where)


def discounted(
    found: dict[int, Result], learned: set[int], judge: Judge, learned_rows: Array
) -> dict[int, Result]:
    """Return results where learned kernels have their gain on fresh rows, less doubt.

    Parameters
    ----------
    found : dict of Result
    learned : set of int
        The keys of learned kernels.
    judge : Judge
    learned_rows : int array
        The samples from which something was learned.
    """
    others = [i for i in found if i not in learned]
    if not learned or not others:
        return found
    other = found[min(others, key=lambda i: found[i].loss)]
    result = dict(found)
    for i in learned:
        own = found[i]
        fresh = ~np.isin(own.tested, learned_rows)
        gap, error = judge.difference(
            own.held_out[fresh],
            other.held_out[fresh],
            own.tested[fresh],
            (own.threshold, other.threshold),
        )
        least = 0.0 if judge.plain else own.loss
        loss = _possible(other.loss + gap + DOUBT * error, least)
        result[i] = replace(own, loss=loss, error=max(own.error, error))
    return result


def _possible(loss: float, least: float) -> float:
    """Return a loss that was pieced together, but not a better one than can be."""
    if not np.isfinite(loss):
        return float("inf")  # a score that cannot be computed proves nothing
    return max(loss, least)
