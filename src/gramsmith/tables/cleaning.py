"""From a table as it was read to one to learn from: gaps filled, the target understood."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from gramsmith.tables.read import Table
from gramsmith.tables.streams import Array, DataError, short

Fill = dict[str, float | str]

PLAIN = re.compile(r"[+-]?(0|[1-9][0-9]*)(\.0*)?")  # one writing per whole number: not 007, not 1e3
CODE = re.compile(r"0[0-9]+")  # a zip code, a serial number


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
    if table.kind == "matrix":
        return _fill_matrix(table, policy, fill)
    if table.kind == "strings":
        return _fill_strings(table, policy)
    missing = {name: gaps(column) for name, column in table.columns.items()}
    missing = {name: rows for name, rows in missing.items() if rows.any()}
    target = _without_label(table)
    if target.any() and policy != "drop":
        row = int(np.flatnonzero(target)[0]) + 1
        raise DataError(
            f"{table.name}, row {row}, column {short(table.target)}: expected a label, got a "
            f"missing one ({int(target.sum())} in all). Leave these rows out with --missing drop, "
            "or name the column with --categorical if words such as NA are classes."
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


def _fill_strings(table: Table, policy: str) -> tuple[Table, Fill, list[str]]:
    absent = np.array([sample is None for sample in table.samples], dtype=bool)
    absent |= _without_label(table)
    if not absent.any():
        return table, {}, []
    if policy == "drop":
        return _kept(table, ~absent)
    row = int(np.flatnonzero(absent)[0]) + 1
    raise DataError(
        f"{table.name}, row {row}: expected a sample and its label, got a missing one "
        f"({int(absent.sum())} in all). Leave such rows out with --missing drop."
    )


def _fill_matrix(
    table: Table, policy: str, fill: Mapping[str, float | str] | None
) -> tuple[Table, Fill, list[str]]:
    """Fill a matrix: its columns are known by their numbers, from 1."""
    X, unlabelled = table.samples, _without_label(table)
    entries = sp.coo_array(X) if sp.issparse(X) else None
    if entries is None:
        rows, columns = np.nonzero(np.isnan(X))
    else:
        rows, columns = (where[np.isnan(entries.data)] for where in entries.coords)
    if policy != "drop" and unlabelled.any():
        row = int(np.flatnonzero(unlabelled)[0]) + 1
        raise DataError(
            f"{table.name}, row {row}: expected a label, got a missing one "
            f"({int(unlabelled.sum())} in all). Leave these rows out with --missing drop."
        )
    if policy == "impute":
        chosen = dict(fill) if fill else _medians(X)
        X = X.copy()
        values = np.array([chosen[str(column + 1)] for column in columns], dtype=float)
        if entries is None:
            X[rows, columns] = values
        else:
            X.data[np.isnan(X.data)] = values  # CSR, whose entries come in the order of COO
        told = [f"{len(rows):,} missing cells were filled with medians."] if len(rows) else []
        return replace(table, samples=X), chosen, told
    if policy == "drop" and (len(rows) or unlabelled.any()):
        unlabelled[rows] = True
        return _kept(table, ~unlabelled)
    if len(rows):
        raise DataError(
            f"{table.name}, row {rows[0] + 1}, column {columns[0] + 1}: expected a number, got a "
            f"missing one ({len(rows):,} in all). Use --missing drop to leave such rows out, or "
            "--missing impute to fill in medians."
        )
    return table, {}, []


def _without_label(table: Table) -> Array:
    return np.zeros(table.n_rows, dtype=bool) if table.labels is None else gaps(table.labels)


def _medians(X: Any) -> Fill:
    """Return the median of every column, entries that a sparse matrix leaves out being zero."""
    if not sp.issparse(X):
        return {str(j + 1): _typical(column) for j, column in enumerate(X.T)}
    found: Fill = {}
    by_column = sp.csc_array(X)
    for j, (begin, end) in enumerate(zip(by_column.indptr, by_column.indptr[1:], strict=False)):
        given, zeros = by_column.data[begin:end], X.shape[0] - int(end - begin)
        known = given[~np.isnan(given)]
        # past half of zeros the median is zero, and there is no need to write them all out
        zero = 2 * zeros > zeros + len(known)
        found[str(j + 1)] = 0.0 if zero else _typical(np.append(known, np.zeros(zeros)))
    return found


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
    fewer than half as many as rows. Numbers with leading zeros are codes: classes, kept as texts.

    Parameters
    ----------
    table : Table
        Without missing cells. If its labels are declared nominal, they are classes whatever they
        look like.
    task : {"auto", "classification", "regression"}

    Returns
    -------
    Target
    """
    assert table.labels is not None  # noqa: S101 - the caller has asked for labels
    name = f"{table.name}, target {short(table.target)}"
    texts = np.array([str(label) for label in table.labels], dtype=object)
    numbers = _numbers(table.labels)
    if task == "regression":
        if table.nominal:
            raise DataError(
                f"{name}: expected classes or numbers, got --categorical and --task regression. "
                "Leave one of them out."
            )
        return Target(_values(texts, numbers, name), "regression", "as asked")
    if task == "auto" and numbers is not None and not table.nominal:
        distinct = _distinct(numbers)
        few = distinct <= 20 and 2 * distinct <= max(len(texts), 5)
        if not (_whole(numbers) and (few or any(map(CODE.fullmatch, texts)))):
            _check_variety(distinct, texts, name)
            return Target(numbers, "regression", f"the target has {distinct:,} different numbers")
    y = _classes(table, texts, numbers)
    _check_classes(y, texts, name)
    return Target(y, "classification", f"the target has {_distinct(y)} classes")


def _values(texts: Array, numbers: Array | None, name: str) -> Array:
    if numbers is None:
        bad = next(i for i, t in enumerate(texts) if _numbers(np.array([t], object)) is None)
        raise DataError(
            f"{name}, row {bad + 1}: expected a finite number to predict, got "
            f"{short(texts[bad])}. Use --task classification for classes."
        )
    _check_variety(_distinct(numbers), texts, name)
    return numbers


def _classes(table: Table, texts: Array, numbers: Array | None) -> Array:
    """Return labels as whole numbers where nothing of what was written is lost, else as texts."""
    if numbers is None or not _whole(numbers):
        return texts.astype(str)
    written = table.labels is not None and table.labels.dtype == object
    if written and (table.nominal or not all(map(PLAIN.fullmatch, texts))):
        return texts.astype(str)
    return numbers.astype(np.int64)


def _check_classes(y: Array, texts: Array, name: str) -> None:
    counts = Counter(y.tolist())
    _check_variety(len(counts), texts, name)
    if 2 * len(counts) > len(texts) and len(counts) > 2:
        raise DataError(
            f"{name}: expected classes with several rows each, got {len(counts):,} different "
            f"labels in {len(texts):,} rows. Is this the right column? Use --task regression for "
            "numbers."
        )
    lone = [label for label, count in counts.items() if count < 2]
    if lone:
        raise DataError(
            f"{name}: expected at least two rows of every class, got one of {short(lone[0])}"
            f"{f' and of {len(lone) - 1} more classes' if len(lone) > 1 else ''}. "
            "Leave these rows out, or merge the classes."
        )


def _check_variety(distinct: int, texts: Array, name: str) -> None:
    if distinct < 2:
        raise DataError(
            f"{name}: expected at least two different labels, got only {short(texts[0])}. "
            "There is nothing to predict; check --target."
        )


def _distinct(labels: Array) -> int:
    return len(set(labels.tolist()))


def _whole(numbers: Array) -> bool:
    return bool((numbers == np.round(numbers)).all() and (np.abs(numbers) < 2**53).all())


def _numbers(labels: Array) -> Array | None:
    try:
        if any("_" in label for label in labels if isinstance(label, str)):
            return None  # Python reads 1_000 as a number; tables do not mean it
        values = np.array([float(label) for label in labels], dtype=np.float64)
    except ValueError:
        return None
    return values if np.isfinite(values).all() else None
