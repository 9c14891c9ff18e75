"""Contents of a report: plain values, from which table, pictures and page are made; and as text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy.typing as npt

from gramsmith.report.axes import needs_extra
from gramsmith.report.evidence import Evidence, Reading

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Answer:
    """The answer to whoever asks: is it good, and can I use it.

    Parameters
    ----------
    level : {"good", "care", "poor"}
    text : str
        The answer in one sentence.
    details : list of str
        What stands behind it, a sentence each.
    interval : str
        The interval of 95 % of the score.
    """

    level: str
    text: str
    details: list[str] = field(default_factory=list)
    interval: str = ""


@dataclass(frozen=True)
class BandwidthPath:
    """A family of kernels along its parameter.

    Parameters
    ----------
    family : str
    steps : array of shape (m,)
        Places on the axis, ascending: from wide to narrow, or from short to long.
    measures : dict of name -> array of shape (m,)
        Oriented so that higher is better; NaN where undefined.
    scores : array of shape (m,)
        Score of every kernel in the first check, higher is better; NaN where unknown.
    axis : str
        What the parameter is.
    labels : list of str
        Its values.
    chosen : float or None
        The step of the winner, if it is of this family.
    """

    family: str
    steps: Array
    measures: dict[str, Array]
    scores: Array
    axis: str = "width of the kernel"
    labels: list[str] = field(default_factory=list)
    chosen: float | None = None


@dataclass(frozen=True)
class Contents:
    """Everything a report shows.

    Parameters
    ----------
    title : str
        Headline.
    verdict : str
        Which kernel, in one sentence.
    records : list of dict
        One row per kernel, from best to worst.
    score : str
        Name of the score.
    evidence : Evidence
        What was read, held-out answers, importance of columns, pictures.
    source : str
        Where the data came from; may be empty.
    answer : Answer or None
        Whether the model is good enough.
    estimate : (float, float, float) or None
        The score to expect on new data, with its interval.
    best_score : float or None
        The best score there can be, if that is known.
    facts : list of (str, str)
        What was done, label and value.
    measures : dict of name -> bool
        Measures in the table, and whether higher is better.
    meanings : dict of name -> str
        What measures mean, in one line.
    paths : list of BandwidthPath
        That of the winner first.
    classes : list of str
        Empty for values.
    warnings : list of str
    next_steps : list of (str, str)
        What to do next, and the code.
    provenance : list of (str, str)
        How the page came about.
    """

    title: str
    verdict: str
    records: list[dict[str, Any]]
    score: str
    evidence: Evidence = field(default_factory=lambda: Evidence(Reading(0)))
    source: str = ""
    answer: Answer | None = None
    estimate: tuple[float, float, float] | None = None
    best_score: float | None = None
    facts: list[tuple[str, str]] = field(default_factory=list)
    measures: dict[str, bool] = field(default_factory=dict)
    meanings: dict[str, str] = field(default_factory=dict)
    paths: list[BandwidthPath] = field(default_factory=list)
    classes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    next_steps: list[tuple[str, str]] = field(default_factory=list)
    provenance: list[tuple[str, str]] = field(default_factory=list)


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
    with needs_extra():
        import pandas as pd

    return pd.DataFrame.from_records(list(records)).set_index("rank")


def number(value: Any, digits: int = 3) -> str:
    """Return a number as short text; a dash for what is undefined."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not isinstance(value, float):
        return str(value)
    if 1000 <= abs(value) < 1e6:
        return f"{value:,.0f}"
    return f"{value if abs(value) > 1e-12 else 0.0:.{digits}g}"


def with_error(value: Any, error: Any) -> str:
    """Return value ± error, to the digits that the error leaves."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return "–"
    if error is None or not math.isfinite(error) or error <= 0:
        return f"{value:.3f}" if abs(value) < 100 else f"{value:.4g}"
    places = min(6, max(0, 1 - math.floor(math.log10(error))))
    return f"{value:.{places}f} ± {error:.{places}f}"
