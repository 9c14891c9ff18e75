"""Evaluation: kernels x measures, with errors and advice, as a table."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass, field
from textwrap import fill
from typing import Any

import numpy as np
import numpy.typing as npt

from gramsmith.arguments import abridged, is_one_of
from gramsmith.evaluation.errors import interval, jackknife
from gramsmith.kernels.base import Kernel
from gramsmith.measures import Measure

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Cell:
    """One measure of one kernel.

    Parameters
    ----------
    value : float or None
        None where the measure is undefined.
    error : float or None
        Jackknife standard error; for limits use `interval`.
    held_out : float or None
        The measure on the test data.
    pvalue : float or None
        Share of shuffled targets that do as well.
    folds : array of shape (F,)
        The measure without each fold.
    least : float
        0 where the measure cannot be negative: no interval goes below.
    """

    value: float | None
    error: float | None = None
    held_out: float | None = None
    pvalue: float | None = None
    folds: Array = field(default_factory=lambda: np.empty(0), repr=False)
    least: float = field(default=-np.inf, repr=False)

    def interval(self, confidence: float = 0.95) -> tuple[float, float] | None:
        """Return limits between which the measure of other samples like these is on average.

        From the jackknife, with Student's quantile for as many folds as there were; not symmetric,
        because errors grow with values. None where there is no error.

        Parameters
        ----------
        confidence : float
            Share of samples whose limits hold that average.

        Examples
        --------
        >>> import numpy as np
        >>> import gramsmith as gs
        >>> X = np.random.default_rng(0).normal(size=(200, 2))
        >>> table = gs.evaluate({"rbf": gs.Gaussian()}, X, X[:, 0] * X[:, 1] > 0)
        >>> low, high = table["rbf", "cka"].interval()
        >>> round(low, 2), round(high, 2)
        (0.14, 0.22)
        """
        limits = None if self.value is None else interval(self.value, self.folds, confidence)
        return None if limits is None else (max(limits[0], self.least), limits[1])


@dataclass(frozen=True)
class Advice:
    """One remark: a code for programs, a sentence for people.

    Parameters
    ----------
    code : str
    message : str
    kernel, measure : str or None
        What it is about.
    """

    code: str
    message: str
    kernel: str | None = None
    measure: str | None = None


@dataclass(frozen=True)
class Evaluation:
    """The measures of several kernels on one task.

    Parameters
    ----------
    kernels : dict of name -> Kernel
    measures : dict of name -> Measure
    cells : dict of (kernel name, measure name) -> Cell
    advice : tuple of Advice
    n : int
        Number of samples.
    draws : tuple of int, optional
        Of an estimate: how many random draws there were, and samples in each; None where all pairs
        were looked at.

    Examples
    --------
    >>> import numpy as np
    >>> import gramsmith as gs
    >>> X = np.random.default_rng(0).normal(size=(40, 2))
    >>> e = gs.evaluate({"linear": gs.Linear(), "rbf": gs.Gaussian()}, X, X[:, 0] > 0)
    >>> e.best("cka")
    'rbf'
    """

    kernels: dict[str, Kernel]
    measures: dict[str, Measure]
    cells: dict[tuple[str, str], Cell]
    advice: tuple[Advice, ...]
    n: int
    draws: tuple[int, int] | None = None

    def __getitem__(self, key: Any) -> Cell:
        """Return the cell of (kernel name, measure)."""
        if not (isinstance(key, tuple) and len(key) == 2 and is_one_of(key[0], self.kernels)):
            raise ValueError(
                f"Expected (kernel, measure) with a kernel among {', '.join(self.kernels)}, got "
                f"{abridged(key)}."
            )
        return self.cells[key[0], self._name(key[1])]

    def values(self, measure: str | Measure) -> Array:
        """Return one measure of all kernels, shape (m,); undefined values are NaN."""
        measure = self._name(measure)
        found = [self.cells[name, measure].value for name in self.kernels]
        return np.array([np.nan if value is None else value for value in found])

    def best(self, measure: str | Measure = "cka") -> str:
        """Return the name of the kernel that the measure favours."""
        score = self.scores(measure)
        if not np.isfinite(score).any():
            name = self._name(measure)
            raise ValueError(f"Expected a defined value of {name}, got none. See `advice`.")
        return list(self.kernels)[int(np.argmax(score))]

    def ties(self, measure: str | Measure = "cka") -> list[str]:
        """Return the kernels that the data do not tell apart from the best: the best first.

        A kernel ties with the best if their values differ by at most two standard errors of the
        difference, or by at most a twentieth of the standard error of the best value, which is too
        little to matter. The error of the difference is that of the paired jackknife, in which
        noise that both kernels share cancels. That is a rule, not a test: there is no p-value of
        the difference, and no allowance for the number of kernels.
        """
        measure = self._name(measure)
        first = self.best(measure)
        score, names = self.scores(measure), list(self.kernels)
        best = self.cells[first, measure]
        tied = [first]
        for name in np.array(names, dtype=object)[np.argsort(-score)]:
            cell = self.cells[name, measure]
            if name == first or cell.value is None or not len(cell.folds):
                continue
            spread = jackknife(best.folds - cell.folds)
            gap = abs((best.value or 0.0) - cell.value)
            if spread is not None and gap <= max(2.0 * spread, 0.05 * (best.error or 0.0)):
                tied.append(name)
        return tied

    def scores(self, measure: str | Measure) -> Array:
        """Return one measure of all kernels, shape (m,), higher is better; undefined is -inf."""
        measure = self._name(measure)
        score = self.measures[measure].sign * self.values(measure)
        return np.where(np.isnan(score), -np.inf, score)

    def _name(self, measure: str | Measure) -> str:
        """Return the name of a measure that is in the table, or raise."""
        name = measure.name if isinstance(measure, Measure) else measure
        if not is_one_of(name, self.measures):
            raise ValueError(
                f"Expected a measure among {', '.join(self.measures)}, got {abridged(name)}."
            )
        return name

    @property
    def records(self) -> list[dict[str, Any]]:
        """One dictionary per kernel: name, measures, errors, held-out values, p-values, advice."""
        rows = []
        for name in self.kernels:
            row: dict[str, Any] = {"kernel": name}
            for measure in self.measures:
                cell = self.cells[name, measure]
                row[measure] = cell.value
                for suffix in ("error", "held_out", "pvalue"):
                    value = getattr(cell, suffix)
                    if value is not None:
                        row[f"{measure}_{suffix}"] = value
            row["advice"] = [a.code for a in self.advice if a.kernel == name]
            rows.append(row)
        return rows

    def _cell_text(self, name: str, measure: str) -> str:
        cell = self.cells[name, measure]
        if cell.value is None:
            return "-"
        text = f"{cell.value:.4g}"
        if cell.error is not None:
            text += f" ±{cell.error:.2g}"
        if cell.held_out is not None:
            text += f" [{cell.held_out:.4g}]"
        if cell.pvalue is not None:
            text += f" p={cell.pvalue:.3g}"
        return text

    def _table(self) -> tuple[list[str], list[list[str]]]:
        head = ["kernel", *(f"{m.name} {m.arrow}" for m in self.measures.values())]
        best = {m: self._best_or_none(m) for m in self.measures}
        body = []
        for name in self.kernels:
            cells = [
                self._cell_text(name, m) + (" *" if best[m] == name else "") for m in self.measures
            ]
            body.append([name, *cells])
        return head, body

    def _best_or_none(self, measure: str) -> str | None:
        return self.best(measure) if np.isfinite(self.scores(measure)).any() else None

    def __str__(self) -> str:
        head, body = self._table()
        remarks = (fill(f"{a.code}: {a.message}", 80, break_on_hyphens=False) for a in self.advice)
        return "\n".join([text_table(head, body), *remarks])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        remarks = "".join(
            f"<li><b>{html.escape(a.code)}</b>: {html.escape(a.message)}</li>" for a in self.advice
        )
        return html_table(*self._table()) + (f"<ul>{remarks}</ul>" if remarks else "")


def html_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return rows under a head, as a table of a page."""
    cells = "".join(f"<th>{html.escape(h)}</th>" for h in head)
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(v)}</td>" for v in row) + "</tr>" for row in rows
    )
    return f"<table><thead><tr>{cells}</tr></thead><tbody>{body}</tbody></table>"


def text_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return rows under a head, in columns."""
    widths = [max(len(str(row[k])) for row in [head, *rows]) for k in range(len(head))]
    lines = [head, ["-" * w for w in widths], *rows]
    return "\n".join(
        "  ".join(str(cell).ljust(w) for cell, w in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )
