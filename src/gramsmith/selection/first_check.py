"""The first check: every candidate by the leave-one-out error of ridge regression on landmarks.

Distances from all samples to m landmarks are computed once for all bandwidths; one m x m
eigendecomposition per candidate then gives the leave-one-out error for every regulariser, O(n m²).
Where samples come in groups, or the user has a splitter, folds take the place of leaving one out.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gramsmith.arguments import counted
from gramsmith.gram import Engine
from gramsmith.selection import sizes
from gramsmith.selection.candidates import Candidate
from gramsmith.selection.held_out import HeldOut, Splits, score
from gramsmith.selection.samples import Samples
from gramsmith.selection.task import Task
from gramsmith.selection.work import Attempt, Work, always, work_off
from gramsmith.solvers.landmarks import LandmarkPath, landmark_path

Array = npt.NDArray[Any]

STEPS = 4  # of a check, after which someone is told: kernel, path, residuals, scores
# Regularisers per sample, in units of the variance of the features.
ALPHAS = 10.0 ** np.arange(-8.0, 1.5, 0.5)


@dataclass(frozen=True)
class Check:
    """What the first check says of one candidate: six numbers of its record, which is let go.

    The record itself serves nothing after the short list, and those of 30 candidates with thousands
    of samples and several classes would be most of what a ranking keeps.
    """

    loss: float  # of the score in use, at the best regulariser
    error: float  # its standard error
    squared: float  # squared error of the least-squares machine: smoother than the loss
    alpha: float  # regulariser of the least squared error, in units of the features' variance
    spread: float  # variance of the kernel's features, mean k(x, x) minus mean k
    rows: int = 0  # the number of samples behind it

    def to_plain(self) -> dict[str, float]:
        """Return the check as plain values."""
        return asdict(self)


def on_all_rows(checks: Sequence[Check]) -> list[bool]:
    """Return which candidates were checked on as many rows as any."""
    most = max(check.rows for check in checks)
    return [check.rows == most for check in checks]


def check_candidates(
    candidates: Sequence[Candidate],
    samples: Samples,
    task: Task,
    *,
    rows: Array | None = None,
    fresh: Array | None = None,
    engine: Engine | None = None,
    told: Callable[[int, Check, HeldOut], None] = lambda i, check, record: None,
) -> list[Check]:
    """Return the held-out losses of ridge regression for every candidate.

    Default are all rows that count; `fresh` says which of them the losses are computed from.
    """
    rows = task.counting if rows is None else rows
    found = left_out(candidates, samples, task, rows=rows, fresh=fresh, engine=engine, told=told)
    return [check for check, _ in filter(None, found)]


def left_out(
    candidates: Sequence[Candidate],
    samples: Samples,
    task: Task,
    *,
    rows: Array,
    landmarks: int | None = None,
    fresh: Array | None = None,
    engine: Engine | None = None,
    attempt: Attempt = always,
    known: Collection[int] = (),
    stepped: Callable[[], None] = lambda: None,
    told: Callable[[int, Check, HeldOut], None] = lambda i, check, record: None,
) -> list[tuple[Check, HeldOut] | None]:
    """Return the check of every candidate, and the record behind it at the best regulariser.

    None for candidates for which there was no time, and for those that are known already. `told` is
    called with every check and its record as they come, `stepped` after each of the `STEPS` of a
    check, by whoever does it.
    """
    m = sizes.count_landmarks(len(rows)) if landmarks is None else min(landmarks, len(rows))
    rng = np.random.default_rng([task.seed, 1])
    chosen = np.sort(rng.permutation(len(rows))[:m])
    blocks = samples.lazy_blocks(candidates, rows, rows[chosen])
    # once for all candidates: a splitter of the user may give others each time
    splits = task.splits(rows, 5)
    fresh = np.ones(len(rows), dtype=bool) if fresh is None else fresh

    def check(item: tuple[int, Callable[[], Array]]) -> tuple[Check, HeldOut]:
        return _check(item[1](), chosen, task, rows, splits, fresh, stepped)

    order: list[int] = []

    def left() -> Iterator[tuple[int, Callable[[], Array]]]:
        for i, block in blocks:
            if i not in known:
                order.append(i)
                yield i, block

    few = len(rows) * m <= sizes.SERIAL_VALUES
    found: dict[int, tuple[Check, HeldOut] | None] = {}
    for place, result in enumerate(work_off(check, left(), None if few else engine, attempt)):
        found[order[place]] = result
        if result is not None:
            told(order[place], *result)
    return [found.get(i) for i in range(len(candidates))]


def check_by_halving(
    candidates: Sequence[Candidate],
    samples: Samples,
    task: Task,
    *,
    rows: Array,
    work: Work | None = None,
) -> list[Check]:
    """Return checks of all candidates: all on a quarter of the rows, the better half on all.

    The best bandwidth becomes narrower with more samples, so the narrower neighbours of the leaders
    belong to the better half. `Check.rows` tells which kind each is; parameters as above.

    If the time is limited, a few rows say first which candidates are worth more of them.
    """
    work = Work() if work is None else work
    few = task.sample(sizes.FEW_ROWS, salt=6)
    limited = work.time_budget is not None and len(few) < len(rows)
    found: dict[int, Check] = {}
    pace = 0.0  # seconds per kernel value, typically
    # the better half is checked twice, or a few more
    told = work.counting("check", 2 * len(candidates), counted(len(candidates), "kernel"))

    def run(left: Sequence[int], part: Array, must: bool) -> None:
        nonlocal pace
        values = len(part) * sizes.count_landmarks(len(part))
        attempts = work.attempts(pace * values, must=must)
        keys = [f"check/{len(part)}/{candidates[i].name}" for i in left]
        known = {k: kept for k, key in enumerate(keys) if (kept := work.recall(key)) is not None}
        found.update((left[k], Check(**kept)) for k, kept in known.items())

        def checked(place: int, check: Check, _: HeldOut) -> None:
            found[left[place]] = check
            work.keep(keys[place], check.to_plain())
            told(1)

        left_out(
            [candidates[i] for i in left],
            samples,
            task,
            rows=part,
            engine=work.sweeps,
            attempt=attempts,
            known=known,
            told=checked,
        )
        pace = float(np.median(attempts.lengths)) / values if attempts.lengths else pace

    left: Sequence[int] = range(len(candidates))
    if limited:
        run(left, few, must=True)
        left = sorted(left, key=lambda i: found[i].squared)
    if len(rows) >= sizes.HALVING_ROWS and len(candidates) >= 8:
        run(left, task.sample(len(rows) // 4, salt=6), must=not limited)
        left = promising(candidates, [found[i] for i in range(len(candidates))])
        left = sorted(left, key=lambda i: (-found[i].rows, found[i].squared)) if limited else left
    run(left, rows, must=not limited)
    return [found[i] for i in range(len(candidates))]


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
    K: Array,
    chosen: Array,
    task: Task,
    rows: Array,
    splits: Splits,
    fresh: Array,
    stepped: Callable[[], None],
) -> tuple[Check, HeldOut]:
    stepped()
    Y, w = task.codes[rows], task.weights[rows]
    K_mm = K[chosen]
    spread = max(float(np.mean(np.diagonal(K_mm)) - K_mm.mean()), 1e-12)
    alphas = ALPHAS * spread * float(w.sum())
    tested = np.concatenate([test for _, test in splits])
    fold = np.repeat(np.arange(len(splits)), [len(test) for _, test in splits])
    training = [rows[train] for train, _ in splits]
    if task.exchangeable:  # left out one by one; folds only say what thresholds are fitted to
        path = _path(K, K_mm, Y, w)
        stepped()
        F = Y - path.loo_residuals(K, Y, alphas, None if np.all(w == 1.0) else w)
        F, training = F[:, tested], []
    else:
        F = _folded(K, K_mm, Y, w, alphas, splits)
    stepped()
    keep = fresh[tested]
    F, tested, fold = F[:, keep], tested[keep], fold[keep]
    where = rows[tested]
    bounded = F if task.kind == "regression" else np.clip(F, -1.0, 1.0)
    error = ((bounded - task.codes[where]) ** 2).mean(axis=2)
    squared = np.average(error, axis=1, weights=task.weights[where])
    best = int(np.argmin(squared))
    f = F[[best], :, 0] if F.shape[2] == 1 else F[[best]]
    record = HeldOut(
        machine="landmarks",
        kind="leave-one-out" if task.exchangeable else "cross-validation",
        settings=ALPHAS[[best]],
        values=f,
        rows=where,
        fold=fold,
        training=tuple(training),
    )
    scored = score(record, task)
    check = Check(
        loss=scored.loss,
        error=scored.error,
        squared=float(squared[best]),
        alpha=float(ALPHAS[best]),
        spread=spread,
        rows=len(rows),
    )
    return check, record


def _path(K: Array, K_mm: Array, Y: Array, w: Array) -> LandmarkPath:
    return landmark_path(K_mm, lambda: [(slice(None), K)], Y, None if np.all(w == 1.0) else w)


def _folded(K: Array, K_mm: Array, Y: Array, w: Array, alphas: Array, splits: Splits) -> Array:
    parts = []
    for train, test in splits:
        path = _path(K[train], K_mm, Y[train], w[train])
        solved = [path.solve(alpha * w[train].sum() / w.sum()) for alpha in alphas]
        parts.append(np.stack([K[test] @ coef + b for coef, b in solved]))
    return np.concatenate(parts, axis=1)
