"""Rows that are held out, and rows that are drawn for a batch: classes keep their shares."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import train_test_split

from gramsmith.targets import Target

Array = npt.NDArray[Any]


def hold_out(target: Target, fraction: float, rng: Any) -> tuple[Array, Array] | None:
    """Return the indices to learn from and those held out, or None if there are too few samples.

    Classes keep their proportions; every class needs two members in either part, values need eight.
    Rows of weight zero are in neither.
    """
    classes, rows = target.kind == "classes", np.flatnonzero(target.w)
    codes = target.codes[rows] if classes else np.zeros(len(rows), dtype=int)
    sizes = np.unique(codes, return_counts=True)[1]  # a fold may lack a class
    counts = np.floor(fraction * sizes).astype(int)
    if min(counts.min(), (sizes - counts).min()) < (2 if classes else 8):
        return None
    learn, held = train_test_split(
        rows, test_size=int(counts.sum()), random_state=rng, stratify=codes if classes else None
    )
    return np.sort(learn), np.sort(held)


def make_draw(target: Target, rows: Array, size: int, rng: Any) -> Callable[[], Array]:
    """Return a function that draws a batch of rows: of each class its share, and at least two."""
    draws = np.random.default_rng(rng.randint(2**31 - 1))  # in time that does not grow with n

    def some(group: Array, count: int) -> Array:
        return group[draws.choice(len(group), count, replace=False, shuffle=False)]

    if target.kind != "classes":
        return lambda: np.sort(some(rows, size))
    codes = target.codes[rows]
    groups = [rows[codes == c] for c in np.unique(codes)]
    if size < 2 * len(groups):
        raise ValueError(
            f"Expected batch_size >= {2 * len(groups)}, two samples of each of {len(groups)} "
            f"classes, got {size}. Use larger batches, or none."
        )
    sizes = np.array([len(group) for group in groups])
    counts = np.minimum(sizes, np.maximum(2, np.rint(sizes * size / len(rows)).astype(int)))

    def draw() -> Array:
        parts = [some(group, k) for group, k in zip(groups, counts, strict=True)]
        return np.sort(np.concatenate(parts))

    return draw
