"""Verification that sees all the data: ridge on landmarks, for every candidate and regulariser.

Distances from all samples to m landmarks are computed once for all bandwidths; one m x m
eigendecomposition per candidate then gives the leave-one-out error for every regulariser, O(n m²).
Where samples come in groups, or the user has a splitter, folds take the place of leaving one out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from gramsmith.gram.threads import ordered_map
from gramsmith.selection.candidates import Candidate
from gramsmith.selection.judge import Judge
from gramsmith.selection.samples import Samples
from gramsmith.solvers.landmarks import LandmarkPath, landmark_path

Array = npt.NDArray[Any]
Splits = Sequence[tuple[Array, Array]]

# Regularisers per sample, in units of the variance of the features.
ALPHAS = 10.0 ** np.arange(-8.0, 1.5, 0.5)

HALVING_ROWS = 1000  # rows from which not all candidates are checked on all of them
SERIAL = 50_000  # kernel values of a block below which threads only wait for each other


@dataclass(frozen=True)
class Check:
    """What held-out ridge regression says of one candidate.

    Parameters
    ----------
    loss : float
        Held-out loss of the score in use, at the best regulariser.
    error : float
        Its standard error.
    squared : float
        Held-out squared error of the least-squares machine: smoother than the loss.
    alpha : float
        The regulariser with the least squared error, in units of the variance of the features.
    spread : float
        Variance of the kernel's features, mean k(x, x) minus mean k.
    rows : int
        The number of samples behind it.
    each, wrong : arrays of shape (rows,)
        Squared error and loss of every sample; empty unless asked for.
    values : array of shape (m,) or (m, C)
        Held-out decision values or predictions, fold by fold; empty unless asked for.
    tested : int array of shape (m,)
        The positions within rows they belong to.
    pieces : tuple of int
        How many belong to each fold.
    """

    loss: float
    error: float
    squared: float
    alpha: float
    spread: float
    rows: int = 0
    each: Array = field(default_factory=lambda: np.empty(0), repr=False)
    wrong: Array = field(default_factory=lambda: np.empty(0), repr=False)
    values: Array = field(default_factory=lambda: np.empty(0), repr=False)
    tested: Array = field(default_factory=lambda: np.empty(0, dtype=int), repr=False)
    pieces: tuple[int, ...] = field(default=(), repr=False)

    def plain(self) -> dict[str, float]:
        """Return the numbers, without the samples."""
        names = ("loss", "error", "squared", "alpha", "spread")
        return {**{name: float(getattr(self, name)) for name in names}, "rows": self.rows}


def count_landmarks(n: int) -> int:
    """Return the number of landmarks: all samples of a small set, ever fewer of a larger one."""
    return int(min(n, 40 + 4.0 * np.sqrt(n), 800))


def check_candidates(
    candidates: Sequence[Candidate],
    samples: Samples,
    judge: Judge,
    *,
    landmarks: int | None = None,
    rows: Array | None = None,
    workers: int = 1,
    keep: bool = False,
) -> list[Check]:
    """Return the held-out losses of ridge regression for every candidate.

    Parameters
    ----------
    candidates : list of Candidate
    samples : Samples
    judge : Judge
    landmarks : int, optional
        Number of landmarks; default `count_landmarks`.
    rows : int array, optional
        The samples to use; default all.
    workers : int
        Threads.
    keep : bool
        Whether to keep the errors of every sample.

    Returns
    -------
    list of Check
    """
    rows = np.arange(judge.n) if rows is None else rows
    m = count_landmarks(len(rows)) if landmarks is None else min(landmarks, len(rows))
    rng = np.random.default_rng([judge.seed, 1])
    chosen = np.sort(rng.permutation(len(rows))[:m])
    promises = samples.promises(candidates, rows, rows[chosen])
    # once for all candidates: a splitter of the user may give others each time
    splits = judge.splits(rows, 5) if keep or not judge.exchangeable else []

    def one(item: tuple[int, Callable[[], Array]]) -> tuple[int, Check]:
        i, block = item
        return i, _check(block(), chosen, judge, rows, splits, keep)

    found = dict(ordered_map(one, promises, workers if len(rows) * m > SERIAL else 1))
    return [found[i] for i in range(len(candidates))]


def check_by_halving(
    candidates: Sequence[Candidate],
    samples: Samples,
    judge: Judge,
    *,
    rows: Array,
    workers: int = 1,
) -> list[Check]:
    """Return checks of all candidates: all on a quarter of the rows, the better half on all.

    The best bandwidth becomes narrower with more samples, so the narrower neighbours of the leaders
    stay in the race.

    Parameters
    ----------
    candidates : list of Candidate
    samples : Samples
    judge : Judge
    rows : int array
        The samples to use.
    workers : int
        Threads.

    Returns
    -------
    list of Check
        `Check.rows` tells which kind each is.
    """
    if len(rows) < HALVING_ROWS or len(candidates) < 8:
        return check_candidates(candidates, samples, judge, rows=rows, workers=workers)
    few = judge.sample(len(rows) // 4, salt=6)
    rough = check_candidates(candidates, samples, judge, rows=few, workers=workers)
    left = promising(candidates, rough)
    half = [candidates[i] for i in left]
    fine = check_candidates(half, samples, judge, rows=rows, workers=workers)
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


def _check(K: Array, chosen: Array, judge: Judge, rows: Array, splits: Splits, keep: bool) -> Check:
    Y, w = judge.codes[rows], judge.weights[rows]
    unit = bool(np.all(w == 1.0))
    K_mm = K[chosen]
    spread = max(float(np.mean(np.diagonal(K_mm)) - K_mm.mean()), 1e-12)
    alphas = ALPHAS * spread * float(w.sum())
    if judge.exchangeable:
        path = _path(K, K_mm, Y, None if unit else w)
        F = Y - path.loo_residuals(K, Y, alphas, None if unit else w, judge.copies[rows])
        # left out one by one; for the spread of a score they are told fold by fold
        parts = [test for _, test in splits] if keep else [np.arange(len(rows))]
        F = F[:, np.concatenate(parts)] if keep else F
    else:
        F, parts = _folded(K, K_mm, Y, w, alphas, splits)
    return _summary(F, parts, judge, rows, Y, w, spread, keep)


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
    F: Array,
    parts: Sequence[Array],
    judge: Judge,
    rows: Array,
    Y: Array,
    w: Array,
    spread: float,
    keep: bool,
) -> Check:
    tested = np.concatenate(parts)
    bounded = F if judge.task == "regression" else np.clip(F, -1.0, 1.0)
    error = ((bounded - Y[tested]) ** 2).mean(axis=2)
    squared = np.average(error, axis=1, weights=w[tested])
    best = int(np.argmin(squared))
    flat = F[:, :, 0] if F.shape[2] == 1 else F
    near = [a for a in (best - 1, best, best + 1) if 0 <= a < len(F)]
    where = rows[tested]
    losses = [judge.loss(flat[a], where) for a in near]
    each = judge.losses(flat[best], where)
    return Check(
        loss=float(np.mean(losses)),
        error=judge.standard_error(each) if judge.plain else judge.error_of(flat[best], where),
        squared=float(squared[best]),
        alpha=float(ALPHAS[best]),
        spread=spread,
        rows=len(rows),
        each=_scattered(error[best], tested, len(rows)) if keep else np.empty(0),
        wrong=_scattered(each, tested, len(rows)) if keep else np.empty(0),
        values=flat[best] if keep else np.empty(0),
        tested=tested if keep else np.empty(0, dtype=int),
        pieces=tuple(len(part) for part in parts) if keep else (),
    )


def _scattered(values: Array, tested: Array, n: int) -> Array:
    """Return values by row; rows that were never tested count as average."""
    out = np.full(n, values.mean())
    out[tested] = values
    return out
