"""Random folds: what they would have promised where folds look back, on the same rows."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.stats import t as student

from gramsmith.evaluation.result import Advice
from gramsmith.report.words import number, score_label
from gramsmith.selection.choose import Findings
from gramsmith.selection.held_out import LEVEL, HeldOut, Scored, score
from gramsmith.selection.problem import Problem
from gramsmith.selection.scores import Answers
from gramsmith.selection.task import Folds
from gramsmith.selection.verify import values_in_folds

Array = npt.NDArray[Any]

MOST_ROWS = 1000  # on which the two are compared


def about_random_folds(findings: Findings, problem: Problem) -> list[Advice]:
    """Return a remark if random folds would have promised clearly more than folds that look back.

    The best kernel that was not learned is verified once more, with the best of its regularisers,
    on the rows of the same periods: they are dealt out to as many parts at random, and as many rows
    as before, any but those of the part and of its groups, teach.
    """
    task = problem.task
    known = [i for i in findings.order if i in findings.results]
    plain = [i for i in known if findings.candidates[i].family != "learned"]
    if task.periods is None or not plain:
        return []
    candidate, result = findings.candidates[plain[0]], findings.results[plain[0]]
    rows = task.sample(min(problem.plan.compare_rows, MOST_ROWS), salt=3)
    splits = task.splits(rows, 5)
    K, settings = problem.samples.gram(candidate, rows), result.record.settings

    def judged(folds: Folds) -> Scored:
        values = values_in_folds(K, rows, folds, settings, problem)
        name = result.record.machine
        return score(HeldOut.of_folds(name, values, rows, folds, settings=settings), task)

    names = rows if task.groups is None else task.groups[rows]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # comparisons only
        past = judged(splits)
        anywhere = judged(list(dealt_out(splits, names, task.seed)))
    (a, tested), (b, _) = in_order(past), in_order(anywhere)
    gap, error = task.difference(a, b, tested)
    blocks = len(np.unique(task.clusters(tested)))
    limit = student.isf(LEVEL, max(blocks - 1, 1)) * error
    if not (gap > 0.0 and np.isfinite(error) and gap > limit):
        return []
    label = score_label(task.score.name)
    return [
        Advice(
            "random folds",
            f"Random folds would have promised {label} {number(-anywhere.loss)} for "
            f"“{candidate.name}”; folds that only look back give {number(-past.loss)} on the same "
            "rows. Rows near in time are alike, or the relation changes over time: expect the "
            "latter for the next period.",
        )
    ]


def dealt_out(splits: Folds, names: Array, seed: int) -> Iterator[tuple[Array, Array]]:
    """Yield folds of the sizes of others, on the rows that these test, whatever came first."""
    rng = np.random.default_rng([seed, 14])
    tested = np.concatenate([test for _, test in splits])
    unit = np.unique(names[tested], return_inverse=True)[1]
    order = np.argsort(rng.permutation(unit.max() + 1)[unit], kind="stable")
    ends = np.cumsum([len(test) for _, test in splits])[:-1]
    for (train, _), part in zip(splits, np.split(tested[order], ends), strict=True):
        others = np.flatnonzero(~np.isin(names, names[part]))
        yield np.sort(rng.permutation(others)[: len(train)]), part


def in_order(scored: Scored) -> tuple[Answers, Array]:
    """Return the answers of a record in the order of the rows, and the rows."""
    order = np.argsort(scored.record.rows, kind="stable")
    return scored.answer.at(order), scored.record.rows[order]
