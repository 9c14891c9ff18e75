"""Record: one published number, ours, the tolerance, and what follows from comparing them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from statistics import variance
from typing import Any, SupportsFloat

VERDICTS = {
    "exact": "equal to the last printed digit",
    "within tolerance": "not equal, but nearer than the stated tolerance",
    "fitted": "agrees, but only by a setting chosen because it agrees; the note says how sharp",
    "differs": "farther away than the tolerance; the note says why",
    "holds": "a formula of the paper, true as printed",
    "corrected": "a formula of the paper that fails as printed and holds as corrected",
    "new": "no published number: our addition",
    "timed": "a running time, shown and not judged",
    "not run": "data missing or damaged; the note says which",
    "failed": "an error of ours; the note shows it",
}


@dataclass(frozen=True)
class Record:
    """One cell of a table of a paper beside our value for it.

    Parameters
    ----------
    paper : str
        Name of the paper, as on the command line.
    table : str
        Table, figure or formula.
    cell : str
        Which number of it.
    published : float or None
        What is printed; for a formula the error of the printed version.
    ours : float or None
        What we obtain; for a formula the error of the right version.
    tolerance : float or None
    verdict : str
        A key of `VERDICTS`.
    note : str
        Why, where there is something to say.
    digits : int
        Printed digits after the point.
    """

    paper: str
    table: str
    cell: str
    published: float | None
    ours: float | None
    tolerance: float | None
    verdict: str
    note: str = ""
    digits: int = 3

    def plain(self) -> dict[str, Any]:
        """Return the record as a dictionary of plain values."""
        return asdict(self)

    def texts(self) -> tuple[str, str, str]:
        """Return published, ours and tolerance as text; ours with one digit more than printed."""
        whole = self.digits == 0
        return (
            self._text(self.published, self.digits),
            self._text(self.ours, 0 if whole else self.digits + 1 + (self.verdict == "timed")),
            "" if self.tolerance is None else f"{self.tolerance:.2g}",
        )

    def _text(self, value: float | None, digits: int) -> str:
        if value is None:
            return ""
        if self.verdict in ("holds", "corrected"):
            return f"{value:.1e}" if value else "0"
        return f"{value:.{digits}f}" if math.isfinite(value) else str(value)


def compare(
    table: str,
    cell: str,
    published: float | None,
    ours: SupportsFloat,
    *,
    tolerance: float | None = None,
    digits: int = 3,
    note: str = "",
    why: str = "",
    fitted: str = "",
) -> Record:
    """Return the record of a published number and ours, with the verdict.

    Parameters
    ----------
    table, cell : str
    published : float or None
        None for a number the paper does not have.
    ours : float
    tolerance : float, optional
        Largest difference that counts as agreement beyond rounding.
    digits : int
        Printed digits after the point; a difference of half the last digit is rounding.
    note : str
        Said in any case.
    why : str
        Said only if the numbers differ.
    fitted : str
        The setting that was chosen because of this number, and how sharp that choice is; agreement
        is then "fitted" and not "exact".

    Returns
    -------
    Record

    Examples
    --------
    >>> from papers.record import compare
    >>> compare("Table 1", "u = 0", 0.090, 0.08996, digits=3).verdict
    'exact'
    """
    value = float(ours)
    if published is None:
        return Record("", table, cell, None, value, None, "new", note, digits)
    gap = abs(value - published)
    # A hair more than half a digit: .0005 itself may be printed either way.
    if gap <= 0.5000001 * 10.0**-digits:
        verdict = "exact"
    elif tolerance is not None and gap <= tolerance:
        verdict = "within tolerance"
    else:
        verdict = "differs"
    if fitted and verdict != "differs":
        verdict = "fitted"
    note = ". ".join(part for part in (note, fitted, why if verdict == "differs" else "") if part)
    return Record("", table, cell, float(published), value, tolerance, verdict, note, digits)


def two_errors(ours: Sequence[float], deviation: float, count: int) -> float:
    """Return two standard errors of the difference of two means.

    Parameters
    ----------
    ours : sequence of float
        Our values.
    deviation : float
        Standard deviation of the published values.
    count : int
        How many of those were averaged; 1 for a single draw.

    Examples
    --------
    >>> from papers.record import two_errors
    >>> round(two_errors([1.0, 2.0, 3.0], deviation=1.0, count=3), 3)
    1.633
    """
    return 2.0 * math.sqrt(variance(ours) / len(ours) + deviation**2 / count)


def check(
    table: str,
    cell: str,
    error: SupportsFloat,
    *,
    tolerance: float = 1e-8,
    printed: SupportsFloat | None = None,
    note: str = "",
) -> Record:
    """Return the record of a formula or theorem.

    Parameters
    ----------
    table, cell : str
    error : float
        How far the right version is from what it should equal; for a theorem the worst violation.
    tolerance : float
    printed : float, optional
        The same for the printed version, where that is another one.
    note : str
        The correction.

    Returns
    -------
    Record

    Examples
    --------
    >>> from papers.record import check
    >>> check("(5)", "u*", 1e-16, printed=0.64, note="the sign").verdict
    'corrected'
    """
    good = float(error) <= tolerance
    if not good:
        verdict = "differs"
    elif printed is not None and not float(printed) <= tolerance:
        verdict = "corrected"
    else:
        verdict = "holds"
    shown = None if printed is None else float(printed)
    return Record("", table, cell, shown, float(error), tolerance, verdict, note)


def timed(
    table: str, cell: str, published: float | None, ours: float, *, digits: int = 2, note: str = ""
) -> Record:
    """Return the record of a running time, which is shown and not judged."""
    return Record("", table, cell, published, float(ours), None, "timed", note, digits)


def absent(table: str, cell: str, note: str, verdict: str = "not run") -> Record:
    """Return the record of something that could not be run."""
    return Record("", table, cell, None, None, None, verdict, note)


def of_paper(record: Record, paper: str) -> Record:
    """Return the record with the name of its paper."""
    return replace(record, paper=paper)


def count_verdicts(records: list[Record]) -> dict[str, int]:
    """Return how many records have each verdict, in the order of `VERDICTS`."""
    counts = {verdict: sum(r.verdict == verdict for r in records) for verdict in VERDICTS}
    return {verdict: count for verdict, count in counts.items() if count}
