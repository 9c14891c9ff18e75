"""The screen: every measure of every candidate from one streamed pass."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from gramsmith.evaluation.advice import about_kernel, about_target
from gramsmith.evaluation.errors import SCREENING_FOLDS, jackknife, without_fold
from gramsmith.evaluation.result import Advice, Cell, Evaluation
from gramsmith.gram import Gram
from gramsmith.measures import get_measure
from gramsmith.measures.alignment import ConstantKernelWarning
from gramsmith.measures.base import Sums
from gramsmith.moments import Moments
from gramsmith.selection.candidates import Candidate
from gramsmith.selection.judge import Judge
from gramsmith.selection.samples import Samples
from gramsmith.targets import Target, make_target

MEASURES = ("cka", "cka_debiased", "kta", "fsm_loo", "csm", "fsm")
# Whose favourites are worth verifying: plain FSM runs to the identity matrix.
ADVISERS = ("cka", "cka_debiased", "kta", "fsm_loo", "csm")


class Screen:
    """The measures of all candidates on the rows of one sweep.

    Parameters
    ----------
    candidates : list of Candidate
    samples : Samples
    judge : Judge
    rows : int array
        The samples that are swept.
    folds : int
        Folds of the jackknife.
    memory, n_jobs
        See `Gram`.
    """

    def __init__(
        self,
        candidates: Sequence[Candidate],
        samples: Samples,
        judge: Judge,
        rows: Any,
        *,
        folds: int = SCREENING_FOLDS,
        memory: float | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.candidates = list(candidates)
        fold = np.empty(len(rows), dtype=int)
        for number, (_, test) in enumerate(
            replace(judge, cv=None, groups=None).splits(rows, folds)
        ):
            fold[test] = number
        order = np.argsort(fold, kind="stable")
        rows = rows[order]
        self.goal = make_target(
            judge.y[rows], task=judge.task, sample_weight=None if judge.w is None else judge.w[rows]
        )
        # views are cut once, so that a path of bandwidths shares its distances
        cut: dict[tuple[int, bool], Any] = {}
        views = []
        for c in self.candidates:
            key = (
                c.view,
                hasattr(c.kernel, "children") and type(c.kernel).__name__ == "Precomputed",
            )
            if key not in cut:
                cut[key] = samples.take(c, rows)
            views.append(cut[key])
        G = Gram([c.kernel for c in self.candidates], tuple(views), memory=memory, n_jobs=n_jobs)
        self.n = G.n
        self.moments = G.moments(self.goal, fold=fold[order], cross=False)
        self.measures = [m for m in map(get_measure, MEASURES) if self.goal.kind in m.kinds]
        self.cells = {
            (c.name, m.name): Cell(value)
            for k, c in enumerate(self.candidates)
            for m, value in zip(
                self.measures, self._values(k, self.moments, self.goal), strict=True
            )
        }
        self.folds = int(fold.max()) + 1

    def favourites(self) -> dict[str, str]:
        """Return the candidate each adviser likes best, by measure."""
        table = self.table()
        return {
            m.name: table.best(m.name)
            for m in self.measures
            if m.name in ADVISERS and np.isfinite(table.scores(m.name)).any()
        }

    def add_errors(self, names: Sequence[str]) -> None:
        """Compute the jackknife errors of some candidates."""
        parts = [without_fold(self.moments, self.goal, f) for f in range(self.folds)]
        for k, c in enumerate(self.candidates):
            if c.name not in names:
                continue
            table = [self._values(k, part, rest) for part, rest in parts]
            for m, values in zip(self.measures, zip(*table, strict=True), strict=True):
                known = np.array([np.nan if v is None else v for v in values])
                cell = self.cells[c.name, m.name]
                self.cells[c.name, m.name] = replace(cell, error=jackknife(known), folds=known)

    def table(self) -> Evaluation:
        """Return the measures as an Evaluation."""
        kernels = {c.name: c.kernel for c in self.candidates}
        measures = {m.name: m for m in self.measures}
        return Evaluation(kernels, measures, dict(self.cells), (), self.n)

    def advice(self, names: Sequence[str]) -> list[Advice]:
        """Return remarks on the target and on some candidates."""
        found = [*about_target(self.goal)]
        for k, c in enumerate(self.candidates):
            if c.name in names:
                found += about_kernel(c.name, self.moments.of(k), self.goal)
        return found

    def _values(self, k: int, moments: Moments, goal: Target) -> list[float | None]:
        """Return all measures of one candidate; None where one is not defined."""
        sums = Sums(moments.of(k), goal)
        with warnings.catch_warnings():
            # a constant kernel is mentioned in the advice, once and by name
            warnings.simplefilter("ignore", ConstantKernelWarning)
            return [_finite(measure.value_or_none(sums)) for measure in self.measures]


def _finite(value: float | None) -> float | None:
    return value if value is not None and np.isfinite(value) else None
