"""Learn: a Gaussian of feature weights, proved on rows that taught nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gramsmith.kernels import Gaussian, LinearMap
from gramsmith.selection.candidates import Candidate, learn_weights, narrower
from gramsmith.selection.first_check import Check, check_each
from gramsmith.selection.problem import Problem
from gramsmith.selection.task import NoFolds
from gramsmith.selection.work import Work

Array = npt.NDArray[Any]

FRESH_ROWS = 10  # rows, at least, on which learned kernels must prove their gain


@dataclass(frozen=True)
class Learned:
    """A Gaussian of learned feature weights, and how it came about."""

    candidate: Candidate
    check: Check  # on samples that taught nothing
    taught: Array  # the samples that taught the weights
    source: Candidate  # the best Gaussian, which learned weights have to beat
    middle: Candidate  # the one near the median distance, from which they are learned


def learn_candidate(
    candidates: Sequence[Candidate],
    checks: Sequence[Check],
    problem: Problem,
    rows: Array,
    work: Work,
) -> Learned | None:
    """Return a Gaussian of feature weights learned from some rows, if it is worth a place."""
    most = max(check.rows for check in checks)
    gaussians = [
        i for i, c in enumerate(candidates) if type(c.kernel) is Gaussian and checks[i].rows == most
    ]
    if not gaussians:
        return None
    source = candidates[min(gaussians, key=lambda i: checks[i].squared)]
    X = problem.samples.views[source.view]
    if not isinstance(X, np.ndarray) or not 2 <= X.shape[1] <= 300:
        return None
    path = [candidates[i] for i in gaussians if candidates[i].view == source.view]
    middle = min(path, key=lambda c: abs((c.step or 0.0) - 1.0))
    return learn_from(source, middle, problem, rows, work, "learned")


def learn_from(
    source: Candidate,
    middle: Candidate,
    problem: Problem,
    rows: Array,
    work: Work,
    key: str,
) -> Learned | None:
    """Return a Gaussian of feature weights learned from some rows and from no others.

    A part of the rows, see `Task.lesson`, teaches the weights; the others choose shape and width,
    and say whether anything was gained. None if nothing was, or if rows are too few to tell. An
    earlier run may have left it under a key.
    """
    note = work.notes.get(key)
    if note is None:
        learned, note = _learn_from(source, middle, problem, rows, work), {"name": ""}
        if learned is not None:
            name, S = learned.candidate.name, learned.candidate.kernel.map.S
            note = {"name": name, "S": S, "check": dict(vars(learned.check))}
            note["taught"] = learned.taught
        work.notes[key] = note
    if not note["name"]:
        return None
    kernel = Gaussian.from_gamma(1.0) @ LinearMap(np.asarray(note["S"]))
    candidate = Candidate(note["name"], kernel, "learned", None, source.view)
    return Learned(candidate, Check(**note["check"]), np.asarray(note["taught"]), source, middle)


def _learn_from(
    source: Candidate,
    middle: Candidate,
    problem: Problem,
    rows: Array,
    work: Work,
) -> Learned | None:
    task, samples, plan = problem.task, problem.samples, problem.plan
    taught = task.lesson(rows, plan.taught_rows)
    fresh = task.fresh(rows, taught)
    if not len(taught) or np.count_nonzero(fresh) < FRESH_ROWS:
        return None
    X = samples.views[source.view]
    shapes = learn_weights(source, middle, X, task, taught, plan.climbs)
    if not shapes:
        return None

    def check_learned(group: list[Candidate]) -> list[Check]:
        checks = dict(check_each(group, samples, task, rows, work=work, fresh=fresh))
        return [pair[0] for _, pair in sorted(checks.items()) if pair is not None]

    try:
        before, *first = check_learned([source, *shapes])
    except NoFolds:
        return None
    # the widths of the better shapes: alignment prefers wide kernels
    leaders = sorted(range(len(shapes)), key=lambda k: first[k].squared)[:2]
    factors = (2.0, 4.0) if plan.climbs > 1 else (2.0,)
    others = [narrower(shapes[k], factor) for k in leaders for factor in factors]
    pairs = zip([*shapes, *others], [*first, *check_learned(others)], strict=True)
    kernel, check = min(pairs, key=lambda pair: pair[1].squared)
    if check.squared >= before.squared:
        return None
    return Learned(kernel, check, taught, source, middle)
