"""The target: classes or values, by one rule for Python and the command line."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from gramsmith.tables.streams import Array

FEW_CLASSES = 20
ROWS_PER_CLASS = 10  # of classes that are more than a few, and numbered


def decide_task(y: Array) -> tuple[str, str]:
    """Return "classification" or "regression" for a target, and why.

    Texts and flags are classes; numbers with a fraction are values. Whole numbers are classes if
    they are few: at most 20 different ones, and at most half as many as rows; or if they count from
    0 or 1 without a gap and every one has at least 10 rows, as the numbers of many classes do.

    Parameters
    ----------
    y : array of shape (n,)
        Without missing values.

    Returns
    -------
    task, reason : str

    Examples
    --------
    >>> import numpy as np
    >>> from gramsmith.tables.target import decide_task
    >>> decide_task(np.array([1, 2, 1, 2, 1, 2]))
    ('classification', 'the target has 2 classes')
    >>> decide_task(np.arange(18, 90))
    ('regression', 'the target has 72 different numbers')
    """
    if y.dtype.kind not in "fiu" and not _all_numbers(y):
        return "classification", f"the target has {len(set(y.tolist())):,} classes"
    numbers = np.asarray(y, dtype=np.float64)
    distinct, counts = np.unique(numbers, return_counts=True)
    if not (distinct == np.round(distinct)).all():
        return "regression", f"the target has {len(distinct):,} different numbers"
    few = len(distinct) <= FEW_CLASSES and 2 * len(distinct) <= max(len(y), 5)
    counted = distinct[0] in (0, 1) and distinct[-1] - distinct[0] == len(distinct) - 1
    if few or (counted and counts.min() >= ROWS_PER_CLASS):
        return "classification", f"the target has {len(distinct):,} classes"
    return "regression", f"the target has {len(distinct):,} different numbers"


def _all_numbers(y: Array) -> bool:
    kinds = (int, float, np.number)
    return y.dtype == object and all(isinstance(v, kinds) and not isinstance(v, bool) for v in y)


def alike_classes(classes: Iterable[Any]) -> str | None:
    """Return what to say of classes that differ by case or blanks only, or None."""
    folded: dict[str, list[str]] = {}
    for label in classes:
        if isinstance(label, str):
            folded.setdefault(" ".join(label.lower().split()), []).append(label)
    twins = [names for names in folded.values() if len(names) > 1]
    if not twins:
        return None
    shown = "; ".join(" and ".join(map(repr, names)) for names in twins[:3])
    return (
        f"Classes differ by case or blanks only: {shown}. If they are the same, write them alike."
    )
