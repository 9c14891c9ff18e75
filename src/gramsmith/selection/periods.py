"""Periods: folds of rows in time, each judged by what came before it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from gramsmith.arguments import abridged
from gramsmith.tables.convert import frame_columns, plain, typed
from gramsmith.tables.decide import decide, nearest
from gramsmith.tables.streams import DataError

Array = npt.NDArray[Any]
Folds = list[tuple[Array, Array]]

PERIODS = 5  # that are predicted, at most
TESTED = 2  # one row in so many is in one of them, where no length was asked for
TAUGHT = 3  # a period of a given length is predicted if one row in so many, at least, comes before
BLOCKS = 20  # of consecutive rows, at most, that count as independent of each other
BLOCK_ROWS = 5  # in each of them, where there are enough
DAY = 86_400.0  # seconds


@dataclass(frozen=True, eq=False)
class Periods:
    """When every row was, and how far ahead predictions are made.

    Parameters
    ----------
    time : array of shape (n,)
        Numbers, or seconds since 1970.
    horizon : float or None
        Length of a period, in units of `time`; None: each holds as many rows.
    gap : float
        Between the rows that teach and the period, in units of `time`.
    count : int
        Periods, at most.
    dates : bool
        Whether times are dates.
    """

    time: Array
    horizon: float | None = None
    gap: float = 0.0
    count: int = PERIODS
    dates: bool = False

    def at(self, rows: Array) -> Periods:
        """Return the periods of some rows; shorter ones where there is no past for two of these."""
        inside = replace(self, time=self.time[rows])
        if self.horizon is None or len(inside.splits(np.arange(len(rows)))) > 1:
            return inside
        return replace(inside, horizon=None)

    def splits(
        self, rows: Array, groups: Array | None = None, strata: Array | None = None
    ) -> Folds:
        """Return (training, test) positions within some rows, the earliest period first.

        Rows of the same time stay together. A row teaches if it is earlier than the period, by the
        gap at least, and of no group that is in the period. Periods before which there are fewer
        than two rows, or two classes, are left out.
        """
        time, inside = self.time[rows], []
        for low, high in self._limits(time):
            test = (time >= low) & (time < high)
            train = time < low - self.gap
            if groups is not None:
                train &= ~np.isin(groups[rows], groups[rows][test])
            classes = 2 if strata is None else len(np.unique(strata[rows[train]]))
            if test.any() and np.count_nonzero(train) > 1 and classes > 1:
                inside.append((np.flatnonzero(train), np.flatnonzero(test)))
        return inside

    def _limits(self, time: Array) -> list[tuple[float, float]]:
        """Return where each period begins and the next one does, the earliest first."""
        line = np.sort(time)
        ends = [np.nextafter(line[-1], np.inf)]
        if self.horizon is None:
            size = max(len(line) // (TESTED * self.count), 1)
            for _ in range(self.count):
                later = np.searchsorted(line, ends[-1])  # rows before the last of the ends
                if later <= size:
                    break
                ends.append(line[later - size])  # of rows of one time, all
            return list(zip(ends[:0:-1], ends[-2::-1], strict=True))
        for k in range(1, self.count + 1):
            low = np.nextafter(line[-1] - k * self.horizon, np.inf)  # beginnings are not in it
            if TAUGHT * np.searchsorted(line, low - self.gap) < len(line):
                break
            ends.append(low)
        return list(zip(ends[:0:-1], ends[-2::-1], strict=True))

    def blocks(self, rows: Array, groups: Array | None = None) -> Array:
        """Return a number for every row: consecutive rows, and whole groups, have the same."""
        unit = np.unique(self.time[rows], return_inverse=True)[1]
        if groups is not None:  # a group is when it was first
            group = np.unique(groups[rows], return_inverse=True)[1]
            first = np.full(group.max(initial=0) + 1, len(rows))
            np.minimum.at(first, group, unit)
            unit = np.unique(first[group] * (len(first) + 1) + group, return_inverse=True)[1]
        counts = np.bincount(unit)
        blocks = int(np.clip(len(rows) // BLOCK_ROWS, min(len(counts), BLOCK_ROWS), BLOCKS))
        middle = np.cumsum(counts) - 0.5 * counts
        block = (middle * blocks / len(rows)).astype(int)
        return np.asarray(np.unique(block[unit], return_inverse=True)[1])

    def early(self, rows: Array, size: int) -> Array:
        """Return the positions of about so many rows that come before all others."""
        line = np.sort(self.time[rows])
        return np.flatnonzero(self.time[rows] < line[min(size, len(line) - 1)])

    def told(self, rows: int) -> str:
        """Return how long a period of so many rows is, in words."""
        if self.horizon is None:
            return f"{rows:,} rows"
        length = self.horizon / DAY if self.dates else self.horizon
        return f"{length:g} {'days' if self.dates else 'in units of time_order'}"


def read_periods(
    time_order: Any,
    horizon: Any,
    gap: Any,
    cv: Any,
    X: Any,
    roles: Mapping[Any, Any] | None,
) -> Periods | None:
    """Return when rows were, or raise before any work; None if nobody says.

    Parameters are those of `rank_kernels`.
    """
    named = [
        name for name, role in (roles or {}).items() if isinstance(role, str) and role == "time"
    ]
    if time_order is None:
        if horizon is not None or np.any(gap != 0):
            raise ValueError(
                "Expected time_order= with horizon= and gap=, got none. Name the column of time."
            )
        if named:
            raise ValueError(
                f"Expected time_order={named[0]!r} for a column of time, got the role alone. "
                "Pass it, or leave the column out (role 'drop')."
            )
        return None
    if cv is not None and not isinstance(cv, (int, np.integer)):
        raise ValueError(
            f"Expected a number of periods in cv with time_order=, got {abridged(cv)}. Leave one "
            "of the two out."
        )
    name = "time_order"
    if isinstance(time_order, str):
        name = time_order
        columns = frame_columns(X)
        if columns is None:
            raise ValueError(
                f"Expected a data frame with a column {time_order!r}, as time_order says, got "
                f"{type(X).__name__}. Pass the times themselves."
            )
        if time_order not in columns:
            known = [str(column) for column in columns]
            raise ValueError(
                f"Expected the name of a column in time_order, got {time_order!r}. "
                f"{nearest(time_order, known)}"
            )
        time_order = columns[time_order]
    elif not hasattr(time_order, "dtype"):
        try:
            time_order = np.asarray(time_order)
        except ValueError:  # lists of several lengths
            raise ValueError("Expected one time for every row, got lists.") from None
    given = (roles or {}).get(name, "")
    time, dates = _numbers(name, time_order, given if given.startswith("date") else None)
    length = None if horizon is None else _length("horizon", horizon, dates)
    if length is not None and length <= 0.0:
        raise ValueError(f"Expected a horizon above zero, got {abridged(horizon)}.")
    return Periods(
        time,
        horizon=length,
        gap=_length("gap", gap, dates),
        count=PERIODS if cv is None else max(int(cv), 1),
        dates=dates,
    )


def _numbers(name: str, values: Any, role: str | None) -> tuple[Array, bool]:
    """Return times as numbers, and whether they are dates, in seconds since 1970."""
    if getattr(values, "ndim", 1) != 1:
        raise ValueError(f"Expected one time for every row, got times of shape {values.shape}.")
    cells = plain(values, name)
    kind = "date" if cells.values.dtype.kind == "M" else "number"
    style = ""
    if cells.values.dtype == object:
        column = decide(name, cells, role=role)
        if column.kind != "date":
            try:
                column = decide(name, cells, role="number")
            except DataError as error:
                raise ValueError(
                    f"Expected times that are numbers or dates, got {abridged(column.example)} "
                    f"in {name!r}. Write dates as 2024-03-31."
                ) from error
        kind, style = column.kind, column.style
    time = np.asarray(typed(name, cells.values, kind, style), dtype=np.float64)
    missing = np.flatnonzero(~np.isfinite(time))
    if len(missing):
        raise ValueError(
            f"Expected a time for every row, got none in row {missing[0]} of {name!r}. Leave such "
            "rows out."
        )
    return time, kind == "date"


def _length(name: str, value: Any, dates: bool) -> float:
    """Return a length of time as a number: seconds between dates, which numbers count in days."""
    if hasattr(value, "total_seconds"):  # of datetime and pandas
        seconds = float(value.total_seconds())
    elif isinstance(value, np.timedelta64):
        seconds = float(value / np.timedelta64(1, "s"))
    elif isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool):
        number = float(value) * (DAY if dates else 1.0)
        if not np.isfinite(number) or number < 0.0:
            raise ValueError(f"Expected {name} to be zero or more, got {value}.")
        return number
    else:
        raise ValueError(
            f"Expected {name} as a number in units of time_order, or as a timedelta, got "
            f"{abridged(value)}. Numbers count days where times are dates."
        )
    if not dates:
        raise ValueError(
            f"Expected {name} as a number, like the times, got {abridged(value)}. Pass dates in "
            "time_order for a length in days."
        )
    if not seconds >= 0.0:
        raise ValueError(f"Expected {name} to be zero or more, got {abridged(value)}.")
    return seconds
