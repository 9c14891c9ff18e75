"""From a table as it was read to one to learn from: gaps filled, the target understood."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from gramsmith.storage.container import Array, short
from gramsmith.storage.streams import DataError
from gramsmith.storage.tables import Table

Fill = dict[str, float | str]


def gaps(column: Array) -> Array:
    """Return which cells of a column are missing."""
    if column.dtype == object:
        return np.array([cell is None for cell in column], dtype=bool)
    return np.isnan(column)


def fill_gaps(
    table: Table, policy: str = "error", fill: Mapping[str, float | str] | None = None
) -> tuple[Table, Fill, list[str]]:
    """Return the table without missing cells, the values put in their place, and what to tell.

    Parameters
    ----------
    table : Table
        As read.
    policy : {"error", "drop", "impute"}
        Refuse, leave the rows out, or put in medians and the most frequent texts.
    fill : mapping of str to value, optional
        Values of an earlier call, so that new data are filled like the training data.

    Returns
    -------
    table, fill, messages
    """
    if table.samples is not None:
        return _fill_samples(table, policy)
    missing = {name: gaps(column) for name, column in table.columns.items()}
    missing = {name: rows for name, rows in missing.items() if rows.any()}
    target = np.zeros(table.n_rows, dtype=bool) if table.labels is None else gaps(table.labels)
    if target.any() and policy != "drop":
        row = int(np.flatnonzero(target)[0]) + 1
        raise DataError(
            f"{table.name}, row {row}, column {short(table.target)}: expected a label, got a "
            "missing "
            f"one ({int(target.sum())} in all). Leave these rows out with --missing drop."
        )
    if policy == "impute":
        chosen = dict(fill) if fill else {name: _typical(c) for name, c in table.columns.items()}
        columns = {
            name: np.where(missing[name], chosen[name], column) if name in missing else column
            for name, column in table.columns.items()
        }
        count = sum(int(rows.sum()) for rows in missing.values())
        told = [f"{count:,} missing cells were filled with medians and most frequent texts."]
        return replace(table, columns=columns), chosen, told if count else []
    if not missing and not target.any():
        return table, {}, []
    if policy == "error":
        name, rows = next(iter(missing.items()))
        others = f" and in {len(missing) - 1} more columns" if len(missing) > 1 else ""
        raise DataError(
            f"{table.name}, row {int(np.flatnonzero(rows)[0]) + 1}, column {short(name)}: "
            "expected a "
            f"value, got a missing one ({int(rows.sum())} of {table.n_rows} rows{others}). Use "
            "--missing drop to leave such rows out, or --missing impute to fill in typical values."
        )
    whole = ~np.logical_or.reduce([target, *missing.values()])
    return _kept(table, whole)


def _fill_samples(table: Table, policy: str) -> tuple[Table, Fill, list[str]]:
    absent = np.zeros(table.n_rows, dtype=bool)
    if table.kind == "strings":
        absent = np.array([sample is None for sample in table.samples], dtype=bool)
    if table.labels is not None:
        absent |= gaps(table.labels)
    if not absent.any():
        return table, {}, []
    if policy == "drop":
        return _kept(table, ~absent)
    row = int(np.flatnonzero(absent)[0]) + 1
    raise DataError(
        f"{table.name}, row {row}: expected a sample and its label, got a missing one "
        f"({int(absent.sum())} in all). Leave such rows out with --missing drop."
    )


def _kept(table: Table, whole: Array) -> tuple[Table, Fill, list[str]]:
    if not whole.any():
        raise DataError(
            f"{table.name}: expected rows without missing cells, got none. Use --missing impute."
        )
    left_out = int((~whole).sum())
    told = [f"{left_out:,} of {table.n_rows:,} rows have missing cells and were left out."]
    return table.take(np.flatnonzero(whole)), {}, told


def _typical(column: Array) -> float | str:
    if column.dtype != object:
        present = column[~np.isnan(column)]
        return float(np.median(present)) if len(present) else 0.0
    counts = Counter(cell for cell in column if cell is not None)
    return min(counts, key=lambda cell: (-counts[cell], cell)) if counts else ""


@dataclass(frozen=True)
class Target:
    """What is to be predicted.

    Attributes
    ----------
    y : array of shape (n,)
        Texts or whole numbers for classes, floats for values.
    task : {"classification", "regression"}
        Which of the two.
    reason : str
        Why, in words.
    """

    y: Array
    task: str
    reason: str


def read_target(table: Table, task: str = "auto") -> Target:
    """Return the labels of a table as classes or as numbers.

    Texts are classes. Numbers are classes if they are whole and few: at most 20 different ones, and
    fewer than half as many as rows.

    Parameters
    ----------
    table : Table
        Without missing cells.
    task : {"auto", "classification", "regression"}

    Returns
    -------
    Target
    """
    assert table.labels is not None  # noqa: S101 - the caller has asked for labels
    name = f"{table.name}, target {short(table.target)}"
    texts = np.array([str(label) for label in table.labels], dtype=object)
    numbers = _numbers(table.labels)
    distinct = len(set(texts.tolist()) if numbers is None else np.unique(numbers))
    if distinct < 2:
        raise DataError(
            f"{name}: expected at least two different labels, got only {short(texts[0])}. "
            "There is nothing to predict; check --target."
        )
    if task == "regression":
        if numbers is None:
            bad = next(i for i, t in enumerate(texts) if _numbers(np.array([t], object)) is None)
            raise DataError(
                f"{name}, row {bad + 1}: expected a finite number to predict, got "
                f"{short(texts[bad])}. "
                "Use --task classification for classes."
            )
        return Target(numbers, "regression", "as asked")
    whole = numbers is not None and _whole(numbers)
    few = distinct <= 20 and 2 * distinct <= max(len(texts), 5)
    if task == "auto" and numbers is not None and not (whole and few):
        return Target(numbers, "regression", f"the target has {distinct:,} different numbers")
    y = numbers.astype(np.int64) if whole and numbers is not None else texts.astype(str)
    counts = Counter(y.tolist())
    if 2 * distinct > len(texts) and distinct > 2:
        raise DataError(
            f"{name}: expected classes with several rows each, got {distinct:,} different labels "
            "in "
            f"{len(texts):,} rows. Is this the right column? Use --task regression for numbers."
        )
    lone = [label for label, count in counts.items() if count < 2]
    if lone:
        raise DataError(
            f"{name}: expected at least two rows of every class, got one of {short(lone[0])}"
            f"{f' and of {len(lone) - 1} more classes' if len(lone) > 1 else ''}. "
            "Leave these rows out, or merge the classes."
        )
    return Target(y, "classification", f"the target has {distinct} classes")


def _whole(numbers: Array) -> bool:
    return bool((numbers == np.round(numbers)).all() and (np.abs(numbers) < 2**53).all())


def _numbers(labels: Array) -> Array | None:
    try:
        values = np.array([float(label) for label in labels], dtype=np.float64)
    except ValueError:
        return None
    return values if np.isfinite(values).all() else None
