"""Checks of plain arguments: numbers, names, and what came, for a message."""

from __future__ import annotations

import inspect
from collections.abc import Collection, Mapping
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

SMALLEST = 1e-152  # of positive numbers: its square is no subnormal number, its inverse finite
LARGEST_INTEGER = 10**308  # float64 ends at 1.8e308


def is_number(value: Any) -> bool:
    """Return whether a value is one real number, infinities included; truth values are none."""
    if isinstance(value, bool | np.bool_):
        return False
    return isinstance(value, Real) and bool(value == value)


def is_one_of(value: Any, allowed: Collection[Any]) -> bool:
    """Return whether a value is one of some names or numbers; arrays and lists are none."""
    return isinstance(value, str | int | float | np.number) and value in allowed


def as_numbers(value: Any) -> npt.NDArray[Any] | None:
    """Return an array of float64, None if the value has none; texts are no numbers."""
    try:
        found = np.asarray(value)
        if found.dtype.kind in "USMmc":
            return None
        return np.asarray(found, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        return None


def is_finite(value: Any) -> bool:
    """Return whether a parameter is a finite number, or an array of them."""
    numbers = as_numbers(value)
    if numbers is None or np.asarray(value).dtype == object:
        return False  # fractions and the like have no exponential in NumPy
    return bool(np.isfinite(numbers).all())


def is_positive(value: Any) -> bool:
    """Return whether a parameter is a positive number whose square and inverse are numbers too."""
    if not is_finite(value):
        return False
    numbers = np.asarray(value, dtype=float)
    return bool(np.all(numbers >= SMALLEST) and np.all(numbers <= 1.0 / SMALLEST))


def is_whole(value: Any, least: int) -> bool:
    """Return whether a parameter is a whole number from `least` to 2^31; truth values are none."""
    if isinstance(value, bool | np.bool_) or np.ndim(value) or not is_finite(value):
        return False  # numbers past all floats, which are not finite, have no int
    return bool(least <= value < 2**31 and int(value) == value)


def is_missing(value: Any) -> bool:
    """Return whether a cell of a table of objects is empty: None, NaN, NaT, pandas' NA."""
    try:
        return value is None or bool(value != value)
    except (TypeError, ValueError):  # NA is neither true nor false; an array is both
        return not isinstance(value, np.ndarray)


def check_sizes(owner: str, given: Mapping[str, Any]) -> None:
    """Raise an error that names the first whole number that no float can hold, or bytes."""
    for name, value in given.items():
        if isinstance(value, int) and abs(value) > LARGEST_INTEGER:
            raise ValueError(f"{owner}: expected a smaller {name}, got {abridged(value)}.")
        if isinstance(value, bytes):  # they can be split, and pass for a splitter of samples
            raise TypeError(f"{owner}: expected no bytes as {name}, got {abridged(value)}.")


def check_params(estimator: Any) -> None:
    """Check the parameters of an estimator: by its constraints, and that floats can hold them."""
    given = estimator.get_params(deep=False)
    check_sizes(type(estimator).__name__, given)
    estimator._validate_params()
    check_function("callback", given.get("callback"), "numbers")


def check_function(name: str, value: Any, *takes: str) -> None:
    """Raise a TypeError unless an argument is None or a function of so many arguments."""
    if value is None:
        return
    if callable(value):
        try:
            inspect.signature(value).bind(*takes)
            return
        except ValueError:  # compiled functions may have no signature
            return
        except TypeError:
            pass
    raise TypeError(
        f"Expected {name} to be None or a function of ({', '.join(takes)}), got {abridged(value)}."
    )


def as_flag(name: str, value: Any) -> bool:
    """Return an argument that is true or false, or raise."""
    one = value.item() if isinstance(value, np.ndarray) and value.ndim == 0 else value
    if isinstance(one, bool | np.bool_) or is_one_of(one, (0, 1)):
        return bool(one)
    raise TypeError(f"Expected {name} to be True or False, got {abridged(value)}.")


def abridged(value: Any, most: int = 60) -> str:
    """Return what came, for a message: its text on one line, the middle left out if it is long."""
    try:
        text = repr(value)
    except ValueError:  # Python writes no whole numbers of thousands of digits
        text = f"a value of type {type(value).__name__}"
    text = " ".join(text.split()) if "\n" in text else text
    return text if len(text) <= most else f"{text[: most // 2]} ... {text[-most // 4 :]}"


def counted(number: int, noun: str) -> str:
    """Return a number of things in words: 1 column, 1,200 columns."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
