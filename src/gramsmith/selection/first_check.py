"""The first check: every candidate by the leave-one-out error of ridge regression on landmarks.

Distances from all samples to m landmarks are computed once for all bandwidths; one m x m
eigendecomposition per candidate then gives the leave-one-out error for every regulariser, O(n m²).
Where samples come in groups, or the user has a splitter, folds take the place of leaving one out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from gramsmith.selection import plan
from gramsmith.selection.candidates import Candidate
from gramsmith.selection.held_out import HeldOut, score
from gramsmith.selection.samples import Samples
from gramsmith.selection.task import Folds, Task
from gramsmith.selection.work import Stage, Work
from gramsmith.solvers.landmarks import LandmarkPath, landmark_path

Array = npt.NDArray[Any]

# Regularisers per sample, in units of the variance of the features.
ALPHAS = 10.0 ** np.arange(-8.0, 1.5, 0.5)
SERIAL_VALUES = 50_000  # kernel values of a block below which threads only wait for each other


@dataclass(frozen=True, eq=False)
class Check:
    """What the first check says of one candidate: a few numbers of its record, which is let go."""

    loss: float  # of the score in use, at the best regulariser
    error: float  # its standard error
    squared: float  # squared error of the least-squares machine: smoother than the loss
    alpha: float  # regulariser of the least squared error, per unit of weight
    rows: int = 0  # the number of samples behind it
    pseudo: Array | None = None  # what every cluster adds to the loss, see `Task.pseudo_losses`


def check_each(
    candidates: Sequence[Candidate],
    samples: Samples,
    task: Task,
    rows: Array,
    *,
    work: Work | None = None,
    landmarks: int | None = None,
    fresh: Array | None = None,
    must: bool = True,
    guess: float = 0.0,
) -> Iterator[tuple[int, tuple[Check, HeldOut] | None]]:
    """Yield (place, check and the record behind it at the best regulariser) of every candidate.

    None for candidates for which there was no time; `fresh` says which rows are tested.
    """
    work = Work(n_jobs=1) if work is None else work
    m = plan.count_landmarks(len(rows)) if landmarks is None else min(landmarks, len(rows))
    rng = np.random.default_rng([task.seed, 1])
    chosen = np.sort(rng.permutation(len(rows))[:m])
    # once for all candidates: a splitter of the user may give others each time
    splits = task.splits(rows, 5)
    fresh = np.ones(len(rows), dtype=bool) if fresh is None else fresh
    order: list[int] = []

    def blocks() -> Iterator[Callable[[], Array]]:
        for i, block in samples.blocks(candidates, rows, rows[chosen]):
            order.append(i)
            yield block

    def check(block: Callable[[], Array]) -> tuple[Check, HeldOut]:
        return _check(block(), chosen, task, rows, splits, fresh)

    few = len(rows) * m <= SERIAL_VALUES
    results = work.pieces(check, blocks(), here=few, must=must, guess=guess)
    for place, result in enumerate(results):
        yield order[place], result


def check_by_halving(
    candidates: Sequence[Candidate],
    samples: Samples,
    task: Task,
    rows: Array,
    work: Work,
    stage: Stage | None = None,
) -> list[Check]:
    """Return checks of all candidates: all on a quarter of the rows, the better half on all.

    The best bandwidth becomes narrower with more samples, so the narrower neighbours of the leaders
    belong to the better half. `Check.rows` tells which kind each is.

    If the time is limited, a few rows say first which candidates are worth more of them.
    """
    few = task.sample(plan.FEW_ROWS, salt=6)
    limited = work.time_budget is not None and len(few) < len(rows)
    checks: dict[int, Check] = {}
    pace = 0.0  # seconds per kernel value

    def run(places: Sequence[int], part: Array, must: bool) -> None:
        nonlocal pace
        values = len(part) * plan.count_landmarks(len(part))
        begun = work.spent()
        keys = {i: f"check/{len(part)}/{candidates[i].name}" for i in places}
        notes = work.notes
        checks.update((i, Check(**notes[key])) for i, key in keys.items() if key in notes)
        left = [i for i in places if keys[i] not in notes]
        group = [candidates[i] for i in left]
        guess = pace * values
        for k, result in check_each(group, samples, task, part, work=work, must=must, guess=guess):
            if result is not None:
                checks[left[k]] = result[0]
                notes[keys[left[k]]] = dict(vars(result[0]))
            if stage is not None:
                stage(1)
        if len(part) > len(few) and left:
            pace = (work.spent() - begun) / len(left) / values

    places: Sequence[int] = range(len(candidates))
    if limited:
        run(places, few, must=True)
        places = sorted(places, key=lambda i: checks[i].squared)
    if len(rows) >= plan.HALVING_ROWS and len(candidates) >= 8:
        run(places, task.sample(len(rows) // 4, salt=6), must=not limited)
        places = promising(candidates, [checks[i] for i in range(len(candidates))])
        if limited:
            places = sorted(places, key=lambda i: (-checks[i].rows, checks[i].squared))
    run(places, rows, must=not limited)
    return [checks[i] for i in range(len(candidates))]


def promising(candidates: Sequence[Candidate], checks: Sequence[Check]) -> list[int]:
    """Return which candidates go on: the better half, and narrower neighbours of the leaders."""
    by_square = sorted(range(len(checks)), key=lambda i: checks[i].squared)
    by_loss = sorted(range(len(checks)), key=lambda i: (checks[i].loss, checks[i].squared))
    chosen = {*by_square[: len(checks) // 2], *by_loss[:3]}
    for leader in by_square[:4]:
        family, view, step = (getattr(candidates[leader], a) for a in ("family", "view", "step"))
        narrower = [
            i
            for i, c in enumerate(candidates)
            if (c.family, c.view) == (family, view) and None not in (c.step, step) and c.step > step
        ]
        chosen |= {min(narrower, key=lambda i: candidates[i].step or 0.0)} if narrower else set()
    return sorted(chosen)


def _check(
    K: Array, chosen: Array, task: Task, rows: Array, splits: Folds, fresh: Array
) -> tuple[Check, HeldOut]:
    """Return the check of one candidate, from its kernel with the landmarks."""
    Y, w = task.codes[rows], task.weights[rows]
    K_mm = K[chosen]
    spread = max(float(np.mean(np.diagonal(K_mm)) - K_mm.mean()), 1e-12)
    alphas = ALPHAS * spread
    places = np.concatenate([test for _, test in splits])
    if task.exchangeable:
        path, kind = _path(K, K_mm, Y, w), "leave-one-out"
        v = None if np.all(w == 1.0) else w
        F = (Y - path.loo_residuals(K, Y, alphas * w.sum(), v))[:, places]
    else:
        F, kind = _folded(K, K_mm, Y, w, alphas, splits), "cross-validation"
    record = HeldOut.of_folds("landmarks", F, rows, splits, kind=kind, settings=alphas)
    record = record.at(fresh[places])
    error = ((task.bounded(record.values) - task.codes[record.rows]) ** 2).mean(axis=2)
    squared = np.average(error, axis=1, weights=task.weights[record.rows])
    best = int(np.argmin(squared))
    record = replace(record, settings=alphas[[best]], values=record.values[[best]])
    scored = score(record, task)
    pseudo = task.pseudo_losses(scored.answer, record.rows)
    sums = scored.loss, scored.error, float(squared[best])
    return Check(*sums, float(alphas[best]), len(rows), pseudo), record


def _path(K: Array, K_mm: Array, Y: Array, w: Array) -> LandmarkPath:
    """Return ridge regression on landmarks for all regularisers."""
    return landmark_path(K_mm, lambda: [(slice(None), K)], Y, None if np.all(w == 1.0) else w)


def _folded(K: Array, K_mm: Array, Y: Array, w: Array, alphas: Array, splits: Folds) -> Array:
    """Return what each fold says of its test rows, for every regulariser."""
    parts = []
    for train, test in splits:
        path = _path(K[train], K_mm, Y[train], w[train])
        solved = [path.solve(alpha * w[train].sum()) for alpha in alphas]
        parts.append(np.stack([K[test] @ coef + b for coef, b in solved]))
    return np.concatenate(parts, axis=1)
