"""The target: rows without one, and whether it has classes or values, by one rule for all."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from gramsmith.tables.convert import missing_cells, unknown_words
from gramsmith.tables.read import Table
from gramsmith.tables.streams import Array, DataError, short
from gramsmith.tables.words import TRUTH, reading_of, values_of

FEW_CLASSES = 20
ROWS_PER_CLASS = 10  # of classes that are more than a few, and numbered
PLAIN = re.compile(r"[+-]?(0|[1-9][0-9]*)(\.0*)?")  # one writing per whole number: not 007, not 1e3
CODE = re.compile(r"0[0-9]+")  # a zip code, a serial number


def decide_task(y: Array) -> tuple[str, str]:
    """Return "classification" or "regression" for a target, and why.

    Texts and flags are classes; numbers with a fraction are values. Whole numbers are classes if
    they are few: at most 20 different ones, and at most half as many as rows; or if they count from
    0 or 1 without a gap and every one has at least 10 rows, as the numbers of many classes do.

    Examples
    --------
    >>> import numpy as np
    >>> from gramsmith.tables.target import decide_task
    >>> decide_task(np.array([1, 2, 1, 2, 1, 2]))
    ('classification', 'the target has 2 classes')
    >>> decide_task(np.arange(18, 90))
    ('regression', 'the target has 72 different numbers')
    """
    numeric = y.dtype == object and not any(
        isinstance(v, bool) or not isinstance(v, (int, float, np.number)) for v in y
    )
    if y.dtype.kind not in "fiu" and not numeric:
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


def handle_gaps(
    table: Table, policy: str = "impute", needed: tuple[str, ...] = ()
) -> tuple[Table, list[str]]:
    """Return the table with its gaps treated, and what to tell.

    "impute" leaves gaps to the model, which learns what stands in for them, and refuses a missing
    label, text, or cell of a `needed` column (group, weight), which is never made up;
    "drop-target" leaves rows without these out; "drop" all rows with gaps; "error" refuses them.
    """
    n = table.n_rows
    absent = np.zeros(n, dtype=bool) if table.labels is None else missing_cells(table.labels)
    places = [(table.target, absent)]
    if table.kind == "strings":
        empty = np.array([sample is None for sample in table.samples], dtype=bool)
        places.append((table.strings, empty))
    places += [(name, gaps_in(table.columns[name])) for name in needed]
    drops = policy.startswith("drop")
    refused = () if drops else [(*place, "gap") for place in places]
    if policy in ("drop", "error"):
        places += _input_gaps(table)
    if policy == "error":
        refused = [*refused, *((*place, "gap refused") for place in places)]
    for name, rows, code in refused:
        if rows.any():
            column = "" if name is None else f", column {short(name)}"
            own = code == "gap" and name is not None and name == table.target
            raise DataError(
                f"{table.name}, row {int(np.flatnonzero(rows)[0]) + 1}{column}: expected a value, "
                f"got a missing one ({int(rows.sum())} of {n} rows).",
                "Leave these rows out"
                + (", or let the model learn what stands in for them." if code != "gap" else "."),
                "gap in target" if own else code,
                name=name,
            )
    gone = np.logical_or.reduce([rows for _, rows in places])
    if not drops or not gone.any():
        return table, []
    if gone.all():
        needs = " and ".join(["a target", *(f"a value in column {short(n)}" for n in needed)])
        whole = policy == "drop"
        raise DataError(
            f"{table.name}: expected rows with {'all cells' if whole else needs}, got none.",
            "Keep rows with missing values." if whole else "Is it the right column?",
            "no rows" if whole else "no target",
        )
    verbs = ("has", "was") if gone.sum() == 1 else ("have", "were")
    missing = [name for name, rows in places if rows.any()]
    lack = [
        "no target" if name in (None, table.target) else f"no {short(name)}" for name in missing
    ]
    what = "missing cells" if policy == "drop" else " or ".join(lack)
    told = [f"{int(gone.sum()):,} of {n:,} rows {verbs[0]} {what} and {verbs[1]} left out."]
    return table.take(np.flatnonzero(~gone)), told


def gaps_in(values: Array) -> Array:
    """Return which cells are missing; among numbers and dates also those with words like -."""
    if values.dtype != object:
        return missing_cells(values)
    unknown = unknown_words(values)
    return np.array([word is None or word in unknown for word in values], dtype=bool)


def _input_gaps(table: Table) -> list[tuple[str | None, Array]]:
    if table.kind == "table":
        return [(name, gaps_in(column)) for name, column in table.columns.items()]
    if table.kind == "strings":
        return []
    X: Any = table.samples
    if sp.issparse(X):
        bad = np.zeros(table.n_rows, dtype=bool)
        bad[sp.coo_array(X).coords[0][np.isnan(sp.coo_array(X).data)]] = True
        return [("of the matrix", bad)]
    return [(str(j + 1), np.isnan(X[:, j])) for j in range(X.shape[1]) if np.isnan(X[:, j]).any()]


class LoneClasses(DataError):
    """Raised for classes of a single row, whose places are in `rows`."""

    def __init__(self, message: str, rows: Array) -> None:
        super().__init__(message)
        self.rows = rows


class Target(NamedTuple):
    """What is to be predicted: classes or values, which of the two, and why, in words.

    Several targets are the columns of a data frame.
    """

    y: Any
    task: str
    reason: str


def read_target(table: Table, task: str = "auto", *, for_training: bool = True) -> Target:
    """Return the labels of a table as classes or as numbers, by the rule of `decide_task`.

    None may be missing; for training there must be two classes, of two rows at least. Numbers with
    leading zeros are codes: classes, kept as texts; so are labels that are declared nominal,
    whatever they look like.
    """
    assert table.labels is not None  # noqa: S101 - the caller has asked for labels
    name = f"{table.name}, target {short(table.target)}"
    texts = np.array([str(label) for label in table.labels], dtype=object)
    numbers = _numbers(table.labels)
    if task == "regression":
        if table.nominal:
            raise DataError(
                f"{name}: expected classes or numbers, got the role category and the task "
                "regression. Leave one of them out."
            )
        return Target(_values(texts, numbers, name), "regression", "as asked")
    if task == "auto" and numbers is not None and not table.nominal:
        found, reason = decide_task(numbers)
        if found == "regression" and not any(map(CODE.fullmatch, texts)):
            _check_variety(len(set(numbers.tolist())), texts, name)
            return Target(numbers, found, reason)
    y = _classes(table, texts, numbers)
    if for_training:
        _check_classes(y, texts, name)
    return Target(y, "classification", f"the target has {len(set(y.tolist()))} classes")


def read_targets(table: Table, columns: dict[str, Array], task: str = "auto") -> Target:
    """Return several columns as labels, if they are 0 and 1 or flags, else as numbers."""
    import pandas

    numbers = {name: _numbers(_flags_as_numbers(column)) for name, column in columns.items()}
    there = [v is not None and bool(np.isin(v, (0, 1)).all()) for v in numbers.values()]
    if all(there) and task != "regression":
        labels = {name: np.asarray(values).astype(np.int64) for name, values in numbers.items()}
        reason = f"{len(columns)} labels of 0 and 1"
        return Target(pandas.DataFrame(labels), "classification", reason)
    if task == "classification":
        name = list(columns)[there.index(False)]
        raise DataError(
            f"{table.name}, target {short(name)}: expected labels of 0 and 1 in every one of "
            "several targets, got others. Rank classes one column at a time."
        )
    values = {}
    for name, column in columns.items():
        where, texts = f"{table.name}, target {short(name)}", column.astype(str).astype(object)
        values[name] = _values(texts, numbers[name], where)
        if task == "auto" and decide_task(values[name])[0] == "classification":
            raise DataError(
                f"{where}: expected numbers beside other targets, got what looks like classes.",
                "Say that the task is regression if all targets are numbers; rank classes one "
                "column at a time.",
                "several targets",
            )
    return Target(pandas.DataFrame(values), "regression", f"{len(columns)} outputs")


def _flags_as_numbers(column: Array) -> Array:
    """Return flags, also those written as words, as 0 and 1; other columns as they are."""
    if column.dtype == bool:
        return column.astype(np.float64)
    words = np.char.lower(np.char.strip(column.astype(str)))
    return np.asarray(words == "true", np.float64) if np.isin(words, list(TRUTH)).all() else column


def _values(texts: Array, numbers: Array | None, name: str) -> Array:
    if numbers is None:
        odd = (i for i, t in enumerate(texts) if _numbers(np.array([t], object)) is None)
        bad = next(odd, 0)  # each may be a number, and all together be written in two ways
        unclear = reading_of(list(dict.fromkeys(texts)), kind="number").ambiguous
        raise DataError(
            f"{name}, row {bad + 1}: expected a finite number to predict, got {short(texts[bad])}.",
            "Is the comma a decimal mark, or does it group digits? Write numbers with points."
            if unclear
            else "Say that the task is classification for classes.",
            "ambiguous target" if unclear else "no number to predict",
        )
    _check_variety(len(set(numbers.tolist())), texts, name)
    return numbers


def _classes(table: Table, texts: Array, numbers: Array | None) -> Array:
    """Return labels as whole numbers where nothing of what was written is lost, else as texts."""
    whole = numbers is not None and bool(
        (numbers == np.round(numbers)).all() and (np.abs(numbers) < 2**53).all()
    )
    if numbers is None or not whole:
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
            f"labels in {len(texts):,} rows.",
            "Is this the right column? If they are numbers, say that the task is regression.",
            "many classes",
        )
    lone = [label for label, count in counts.items() if count < 2]
    if lone:
        raise LoneClasses(
            f"{name}: expected at least two rows of every class, got one of {short(lone[0])}"
            f"{f' and of {len(lone) - 1} more classes' if len(lone) > 1 else ''}. "
            "Leave these rows out, or merge the classes.",
            np.flatnonzero(np.isin(y, lone)),
        )


def _check_variety(distinct: int, texts: Array, name: str) -> None:
    if distinct < 2:
        raise DataError(
            f"{name}: expected at least two different labels, got only {short(texts[0])}. "
            "There is nothing to predict: is it the right column?"
        )


def _numbers(labels: Array) -> Array | None:
    """Return labels as numbers, or None if any is none."""
    if labels.dtype.kind in "bM":
        return None
    if labels.dtype != object:
        values = labels.astype(np.float64)
    elif any(isinstance(label, str) for label in labels):
        words = [str(label) for label in labels]
        reading = reading_of(list(dict.fromkeys(words)), kind="number")
        if not reading.kind or reading.odd or reading.ambiguous or len(reading.units) > 1:
            return None
        found = values_of(words, reading.style)
        values = np.array([found[word] for word in words], dtype=np.float64)
    else:
        values = np.array([float(label) for label in labels], dtype=np.float64)
    return values if np.isfinite(values).all() else None
