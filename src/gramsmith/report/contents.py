"""Contents of a report: plain values, from which table, pictures and page are made; and as text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class BandwidthPath:
    """A family of kernels along its bandwidth.

    Parameters
    ----------
    family : str
    steps : array of shape (m,)
        log2 of gamma relative to the median distance, ascending: from wide to narrow.
    measures : dict of name -> array of shape (m,)
        Oriented so that higher is better; NaN where undefined.
    verified : array of shape (m,)
        Held-out loss of every kernel of the path.
    """

    family: str
    steps: Array
    measures: dict[str, Array]
    verified: Array


@dataclass(frozen=True)
class Contents:
    """Everything a report shows.

    Parameters
    ----------
    title, source : str
        Headline, and where the data came from; may be empty.
    verdict : str
        One sentence.
    facts : list of (str, str)
        What was done, label and value.
    records : list of dict
        One row per kernel, from best to worst.
    measures : dict of name -> bool
        Measures in the table, and whether higher is better.
    score : str
        Name of the score.
    loss : str
        Name of the held-out loss.
    paths : list of BandwidthPath
    gram : array of shape (m, m)
        Gram matrix of the winner on a sample, sorted by class or value.
    blocks : list of (str, int)
        Classes and their numbers of rows in `gram`; empty for values.
    weights : list of (str, float)
        Relevance of the features, largest first; empty if features have no names or weights.
    weights_meaning : str
    map : array of shape (m, 2)
        Kernel map of a sample.
    map_colours : array of shape (m,)
        Class numbers, or values.
    classes : list of str
        Empty for values.
    warnings : list of str
    next_steps : list of (str, str)
        What to do next, and the code.
    """

    title: str
    verdict: str
    records: list[dict[str, Any]]
    score: str
    loss: str
    source: str = ""
    facts: list[tuple[str, str]] = field(default_factory=list)
    measures: dict[str, bool] = field(default_factory=dict)
    paths: list[BandwidthPath] = field(default_factory=list)
    gram: Array = field(default_factory=lambda: np.empty((0, 0)))
    blocks: list[tuple[str, int]] = field(default_factory=list)
    weights: list[tuple[str, float]] = field(default_factory=list)
    weights_meaning: str = ""
    map: Array = field(default_factory=lambda: np.empty((0, 2)))
    map_colours: Array = field(default_factory=lambda: np.empty(0))
    classes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    next_steps: list[tuple[str, str]] = field(default_factory=list)


def records_frame(records: Sequence[dict[str, Any]]) -> Any:
    """Return records as a pandas data frame, one row each, indexed by rank.

    Parameters
    ----------
    records : list of dict
        With the key "rank".

    Returns
    -------
    pandas.DataFrame
    """
    import pandas as pd

    return pd.DataFrame.from_records(list(records)).set_index("rank")


def number(value: Any, digits: int = 3) -> str:
    """Return a number as short text; a dash for what is undefined."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.{digits}g}" if isinstance(value, float) else str(value)


def with_error(value: Any, error: Any) -> str:
    """Return value ± error, to the digits that the error leaves."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return "–"
    if error is None or not math.isfinite(error) or error <= 0:
        return f"{value:.3f}" if abs(value) < 100 else f"{value:.4g}"
    places = min(6, max(0, 1 - math.floor(math.log10(error))))
    return f"{value:.{places}f} ± {error:.{places}f}"
