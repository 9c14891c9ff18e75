"""Sizes: how many rows each step uses, and from how many on another method is used."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from gramsmith.evaluation.estimate import FIRST
from gramsmith.kernels import Precomputed

MEASURE_ROWS = 800  # rows of the measures, which settle early
DRAWN_ROWS = 768  # rows in each random draw from which the measures of many rows are estimated,
DRAWN_OBJECTS = 256  # of strings and other objects, whose kernels take longer
FEW_ROWS = 200  # rows that are always looked at, however short the time
CHECK_ROWS = 5000  # rows of the first check of all candidates
HALVING_ROWS = 1000  # rows from which only the better half is checked on all of them
CROSS_VALIDATION_ROWS = 1200  # rows on which machines are cross-validated
LEARN_TWICE_ROWS = 2000  # rows from which feature weights are learned from two starts
LEARN_LONGER_ROWS = 5000  # rows from which more of them are learned from
FRESH_ROWS = 10  # rows, at least, on which learned kernels must prove their gain
EXACT_ROWS = 6000  # rows up to which machines use all samples, beyond it landmarks
LANDMARKS = 800  # their number
PASSES = 3  # of a machine on landmarks over all rows
LANDMARK_ROWS = 10000  # rows on which machines on landmarks are compared
SERIAL_ROWS = 400  # rows of a Gram matrix below which threads only wait for each other
SERIAL_VALUES = 50_000  # kernel values of a block below which they do
CALIBRATION_ROWS = 16384  # rows to whose left-out decision values probabilities are fitted


COPIES = 0.1  # share of rows that are copies of others from which it is said,
COPIED_LEVELS = 20  # if a column has so many different values
MORE_FAMILIES = 3  # on the short list for the sake of the average
AVERAGE_ROWS = 30_000  # rows up to which several machines are fitted and averaged
MEMBERS = 4  # of an average, at most: each of them is fitted, and predicts
SHORT_LIST = 6  # candidates up to which all are cross-validated
NESTED_ROWS = 500  # rows up to which the whole choice is repeated for the estimate


def outer_folds(n: int) -> int:
    """Return how many times the choice is made anew for the estimate; none of many rows."""
    return 5 if n <= NESTED_ROWS else 0


def check_seconds(n: int, kernels: int) -> float:
    """Return about how long the first check takes."""
    return (0.2 + 4e-4 * min(n, CHECK_ROWS)) * max(kernels, 8) / 30.0


def drawn_rows(kernels: Iterable[Any]) -> int:
    """Return how many rows a draw has from which the measures of candidates are estimated."""
    by_vectors = all(c.kernel.requires_vector_input for c in kernels)
    return DRAWN_ROWS if by_vectors else DRAWN_OBJECTS


def rows_measured(n: int, kernels: Iterable[Any]) -> int:
    """Return how many rows, at most, the measures look at."""
    return MEASURE_ROWS if n <= EXACT_ROWS else FIRST * drawn_rows(kernels)


def measure_seconds(kernels: Sequence[Any]) -> float:
    """Return about how long estimates of the measures take."""
    return 0.2 + 0.05 * len(kernels)


def landmark_seconds(rows: int) -> float:
    """Return about how long one kernel takes in the comparison on landmarks."""
    return 0.2 + 1e-4 * rows


def fit_seconds(n: int, classes: bool) -> float:
    """Return about how long the winner's machine takes to fit all samples."""
    if n > EXACT_ROWS:
        return 3.0 + 5e-5 * n
    return 2.5e-11 * n**3


def ranking_seconds(n: int, kernels: int, classes: bool, exact: bool, machines: int = 1) -> float:
    """Return about how long a ranking takes on two cores, if so many machines are fitted."""
    fits = machines * fit_seconds(n, classes)
    if not exact:
        return 5.0 + 5e-5 * n + fits
    choice = 0.05 + 0.006 * kernels + 1.5e-3 * min(n, CROSS_VALIDATION_ROWS)
    learning = 2.0 if n > LEARN_TWICE_ROWS else 0.0
    return (1 + outer_folds(n)) * choice + learning + fits


def use_landmarks(n: int, kernels: Iterable[Any]) -> bool:
    """Return whether machines use landmarks instead of all samples; for matrices they never do."""
    return n > EXACT_ROWS and not any(isinstance(kernel, Precomputed) for kernel in kernels)


def count_landmarks(n: int) -> int:
    """Return how many the first check uses: all of a small set, ever fewer of a larger one."""
    return int(min(n, 40 + 4.0 * np.sqrt(n), LANDMARKS))
