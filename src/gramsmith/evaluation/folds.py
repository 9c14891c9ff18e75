"""Folds: which samples are left out together, and what remains of the sums without them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import KFold, StratifiedKFold

from gramsmith.moments import Moments
from gramsmith.targets import Target

Array = npt.NDArray[Any]


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
    if target.kind == "values" and len(index):
        shift = target.V[index[0]] - rest.V[0]  # 0 for the column of ones
        part = replace(part, P=part.P - part.P[..., :1] * shift)
    return part, rest
