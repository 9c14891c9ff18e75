"""KernelRanking: kernels from best to worst, with the evidence, in words, tables and pictures."""

from __future__ import annotations

import html
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from gramsmith.evaluation.result import text_table
from gramsmith.measures import MEASURES
from gramsmith.report.contents import number, records_frame, with_error
from gramsmith.selection.search import Search
from gramsmith.selection.words import Words

SHOWN = 12  # rows of the printed table


class KernelRanking:
    """Kernels from best to worst, and the fitted winner: the outcome of `rank_kernels`.

    Parameters
    ----------
    hunt : Search
        The selection that was run.
    model : estimator
        The winner, fitted.
    feature_names : array of str, optional
        Names of the encoded features.
    converged : bool
        Whether the winner's solver came to its end.

    Attributes
    ----------
    best_estimator : estimator
        The winner, fitted on all samples: a pipeline from what the user passed.
    converged : bool
        Whether the winner's solver came to its end.

    Examples
    --------
    >>> import numpy as np
    >>> import gramsmith as gs
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> ranking = gs.rank_kernels(X, X[:, 0] > 0, kernels={"linear": "linear", "rbf": "rbf"})
    >>> ranking.best_kernel
    Linear()
    >>> [record["kernel"] for record in ranking.records]
    ['linear', 'rbf']
    """

    def __init__(
        self, hunt: Search, model: Any, feature_names: Any = None, converged: bool = True
    ) -> None:
        self._hunt = hunt
        self.best_estimator = model
        self.converged = converged
        self._feature_names = feature_names
        self._words = Words(hunt, model)

    @property
    def best_kernel(self) -> Any:
        """The kernel that won."""
        return self._hunt.candidates[self._hunt.order[0]].kernel

    @property
    def task(self) -> str:
        """The task: "classification" or "regression"."""
        return self._hunt.judge.task

    @property
    def scoring(self) -> str:
        """The name of the score."""
        return self._words.score

    @property
    def verdict(self) -> str:
        """The outcome in one sentence."""
        return self._words.verdict(self.records)

    @property
    def sampled(self) -> str | None:
        """What was computed on samples of the rows, in one sentence; None if nothing was."""
        return self._words.sampled()

    @cached_property
    def warnings(self) -> list[str]:
        """What should be known before the result is used, in plain words."""
        found = self._words.warnings(self.records)
        if not self.converged:
            found.append(
                "The winner's solver stopped before it converged: scale the features, or ask for "
                "less accuracy with a smaller C."
            )
        return found

    @cached_property
    def records(self) -> list[dict[str, Any]]:
        """One flat dictionary per kernel, from best to worst.

        Keys: rank, kernel, family, tied, verified, score, score_error, machine, parameter,
        loo_score, loo_squared, loo_rows, the measures and their errors.
        """
        hunt, rows = self._hunt, []
        for rank, i in enumerate(hunt.order, start=1):
            candidate, check, result = hunt.candidates[i], hunt.checks[i], hunt.results.get(i)
            loss = check.loss if result is None else result.loss
            error = check.error if result is None else result.error
            row: dict[str, Any] = {
                "rank": rank,
                "kernel": candidate.name,
                "family": candidate.family,
                "tied": i in hunt.tied and len(hunt.tied) > 1,
                "verified": "leave-one-out" if result is None else "cross-validation",
                "score": self._words.as_score(loss),
                "score_error": self._words.as_error(error),
                "machine": "ridge" if result is None else result.machine,
                "parameter": check.alpha if result is None else result.parameter,
                "loo_score": self._words.as_score(check.loss),
                "loo_squared": check.squared,
                "loo_rows": check.rows,
            }
            for measure in hunt.measures.measures:
                cell = hunt.measures[candidate.name, measure]
                row[measure] = cell.value
                row[f"{measure}_error"] = cell.error
            rows.append(row)
        return rows

    def frame(self) -> Any:
        """Return the ranking as a pandas data frame, one row per kernel, indexed by rank."""
        return records_frame(self.records)

    def explain(self, name: str | None = None) -> str:
        """Return what is known about one kernel, in words.

        Parameters
        ----------
        name : str, optional
            A kernel of the ranking; default the winner.

        Returns
        -------
        str
        """
        return self._words.explain(self.records, name)

    # ---- as a table -------------------------------------------------------------------------

    def _table(self, limit: int = SHOWN) -> tuple[list[str], list[list[str]]]:
        names = list(self._hunt.measures.measures)
        arrows = [f"{m} {'↑' if MEASURES[m].higher_is_better else '↓'}" for m in names]
        head = ["rank", "kernel", self.scoring, "verified by", *arrows]
        body = []
        for record in self.records[:limit]:
            mark = " =" if record["tied"] else ""
            score = with_error(record["score"], record["score_error"])
            measures = [number(record[m]) for m in names]
            body.append(
                [f"{record['rank']}{mark}", record["kernel"], score, record["verified"], *measures]
            )
        return head, body

    def __repr__(self) -> str:
        lines = [self.verdict, "", text_table(*self._table())]
        left = len(self.records) - SHOWN
        if left > 0:
            lines.append(f"... and {left} more kernels: see .frame()")
        lines += [f"! {warning}" for warning in self.warnings]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        head, body = self._table()
        cells = "".join(f"<th>{html.escape(h)}</th>" for h in head)
        rows = "".join(
            "<tr>" + "".join(f"<td>{html.escape(v)}</td>" for v in row) + "</tr>" for row in body
        )
        notes = "".join(f"<li>{html.escape(w)}</li>" for w in self.warnings)
        return (
            f"<p>{html.escape(self.verdict)}</p><table><thead><tr>{cells}</tr></thead>"
            f"<tbody>{rows}</tbody></table>" + (f"<ul>{notes}</ul>" if notes else "")
        )

    # ---- as pictures and a page -------------------------------------------------------------

    def contents(self, title: str | None = None, source: str | None = None) -> Any:
        """Return everything the report shows, as plain values.

        Parameters
        ----------
        title : str, optional
            Headline of the page.
        source : str, optional
            Where the data came from, such as a file name.

        Returns
        -------
        gramsmith.report.contents.Contents
        """
        from gramsmith.selection.page import make_contents

        return make_contents(self, self._hunt, self._feature_names, title, source)

    def plot(self, ax: Any = None) -> Any:
        """Draw the scores of the kernels with their errors.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw; default a new figure.

        Returns
        -------
        gramsmith.report.displays.KernelRankingDisplay
        """
        from gramsmith.report.displays import KernelRankingDisplay

        return KernelRankingDisplay.from_records(self.records, score=self.scoring).plot(ax=ax)

    def write_html(self, path: Any, title: str | None = None, source: str | None = None) -> Path:
        """Write the report: one page, self-contained, without scripts.

        Parameters
        ----------
        path : str or Path
            The file to write.
        title : str, optional
            Headline of the page.
        source : str, optional
            Where the data came from, such as a file name.

        Returns
        -------
        Path
        """
        from gramsmith.report.html import render

        target = Path(path)
        target.write_bytes(render(self.contents(title, source)).encode("utf-8"))
        return target


def plain(value: Any) -> Any:
    """Return a NumPy number as a Python one."""
    return value.item() if isinstance(value, np.generic) else value
