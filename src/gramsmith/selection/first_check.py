"""The first check: every candidate by the leave-one-out error of ridge regression on landmarks.

Distances from all samples to m landmarks are computed once for all bandwidths; one m x m
eigendecomposition per candidate then gives the leave-one-out error for every regulariser, O(n m²).
Where samples come in groups, or the user has a splitter, folds take the place of leaving one out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gramsmith.gram.threads import ordered_map
from gramsmith.selection import sizes
from gramsmith.selection.candidates import Candidate
from gramsmith.selection.held_out import Check, Splits
from gramsmith.selection.samples import Samples
from gramsmith.selection.task import Task
from gramsmith.solvers.landmarks import LandmarkPath, landmark_path

Array = npt.NDArray[Any]

# Regularisers per sample, in units of the variance of the features.
ALPHAS = 10.0 ** np.arange(-8.0, 1.5, 0.5)


def check_candidates(
    candidates: Sequence[Candidate],
    samples: Samples,
    task: Task,
    *,
    rows: Array | None = None,
    landmarks: int | None = None,
    workers: int = 1,
    keep: bool = False,
) -> list[Check]:
    """Return the held-out losses of ridge regression for every candidate.

    Default are all rows and `count_landmarks`; `keep` says whether to keep the errors of every
    sample.
    """
    rows = np.arange(task.n) if rows is None else rows
    m = sizes.count_landmarks(len(rows)) if landmarks is None else min(landmarks, len(rows))
    rng = np.random.default_rng([task.seed, 1])
    chosen = np.sort(rng.permutation(len(rows))[:m])
    blocks = samples.lazy_blocks(candidates, rows, rows[chosen])
    # once for all candidates: a splitter of the user may give others each time
    splits = task.splits(rows, 5) if keep or not task.exchangeable else []

    def check(item: tuple[int, Callable[[], Array]]) -> tuple[int, Check]:
        i, block = item
        return i, _check(block(), chosen, task, rows, splits, keep)

    found = dict(ordered_map(check, blocks, workers if len(rows) * m > sizes.SERIAL_VALUES else 1))
    return [found[i] for i in range(len(candidates))]


def check_by_halving(
    candidates: Sequence[Candidate],
    samples: Samples,
    task: Task,
    *,
    rows: Array,
    workers: int = 1,
) -> list[Check]:
    """Return checks of all candidates: all on a quarter of the rows, the better half on all.

    The best bandwidth becomes narrower with more samples, so the narrower neighbours of the leaders
    belong to the better half. `Check.rows` tells which kind each is; parameters as above.
    """
    if len(rows) < sizes.HALVING_ROWS or len(candidates) < 8:
        return check_candidates(candidates, samples, task, rows=rows, workers=workers)
    few = task.sample(len(rows) // 4, salt=6)
    rough = check_candidates(candidates, samples, task, rows=few, workers=workers)
    left = promising(candidates, rough)
    half = [candidates[i] for i in left]
    fine = check_candidates(half, samples, task, rows=rows, workers=workers)
    found = dict(zip(left, fine, strict=True))
    return [found.get(i, check) for i, check in enumerate(rough)]


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


def _check(K: Array, chosen: Array, task: Task, rows: Array, splits: Splits, keep: bool) -> Check:
    Y, w = task.codes[rows], task.weights[rows]
    unit = bool(np.all(w == 1.0))
    K_mm = K[chosen]
    spread = max(float(np.mean(np.diagonal(K_mm)) - K_mm.mean()), 1e-12)
    alphas = ALPHAS * spread * float(w.sum())
    if task.exchangeable:
        path = _path(K, K_mm, Y, None if unit else w)
        F = Y - path.loo_residuals(K, Y, alphas, None if unit else w)
        # left out one by one; for the spread of a score they are listed fold by fold
        parts = [test for _, test in splits] if keep else [np.arange(len(rows))]
        F = F[:, np.concatenate(parts)] if keep else F
    else:
        F, parts = _folded(K, K_mm, Y, w, alphas, splits)
    return _summary(F, parts, task, rows, spread, keep)


def _path(K: Array, K_mm: Array, Y: Array, w: Array | None) -> LandmarkPath:
    return landmark_path(K_mm, lambda: [(slice(None), K)], Y, w)


def _folded(
    K: Array, K_mm: Array, Y: Array, w: Array, alphas: Array, splits: Splits
) -> tuple[Array, list[Array]]:
    parts, tested = [], []
    for train, test in splits:
        path = _path(K[train], K_mm, Y[train], w[train])
        solved = [path.solve(alpha * w[train].sum() / w.sum()) for alpha in alphas]
        parts.append(np.stack([K[test] @ coef + b for coef, b in solved]))
        tested.append(test)
    return np.concatenate(parts, axis=1), tested


def _summary(
    F: Array, parts: Sequence[Array], task: Task, rows: Array, spread: float, keep: bool
) -> Check:
    tested = np.concatenate(parts)
    where = rows[tested]
    bounded = F if task.kind == "regression" else np.clip(F, -1.0, 1.0)
    error = ((bounded - task.codes[where]) ** 2).mean(axis=2)
    squared = np.average(error, axis=1, weights=task.weights[where])
    best = int(np.argmin(squared))
    flat = F[:, :, 0] if F.shape[2] == 1 else F
    near = [a for a in (best - 1, best, best + 1) if 0 <= a < len(F)]
    losses = [task.loss(flat[a], where) for a in near]
    each = task.losses(flat[best], where)
    known: dict[str, Any] = {}
    if keep:
        known = {
            "each": _by_row(error[best], tested, len(rows)),
            "wrong": _by_row(each, tested, len(rows)),
            "values": flat[best],
            "tested": tested,
            "pieces": tuple(len(part) for part in parts),
        }
    return Check(
        loss=float(np.mean(losses)),
        error=task.error_of(flat[best], where),
        squared=float(squared[best]),
        alpha=float(ALPHAS[best]),
        spread=spread,
        rows=len(rows),
        **known,
    )


def _by_row(values: Array, tested: Array, n: int) -> Array:
    """Return values by row; rows that were never tested count as average."""
    out = np.full(n, values.mean())
    out[tested] = values
    return out
