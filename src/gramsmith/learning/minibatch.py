"""Stochastic ascent: every step climbs the objective of a random part of the samples."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from gramsmith.learning.ascent import Ascent, Problem
from gramsmith.learning.monitor import Monitor
from gramsmith.measures import Undefined
from gramsmith.targets import Target

Array = npt.NDArray[Any]


def make_draw(target: Target, rows: Array, size: int, rng: Any) -> Callable[[], Array]:
    """Return a function that draws a batch of rows, in which every class has its share."""
    if target.kind != "classes":
        return lambda: np.sort(rng.choice(rows, size, replace=False))
    codes = target.codes[rows]
    groups = [rows[codes == c] for c in np.unique(codes)]
    if size < 2 * len(groups):
        raise ValueError(
            f"Expected batch_size >= {2 * len(groups)}, two samples of each of {len(groups)} "
            f"classes, got {size}. Use larger batches, or none."
        )
    counts = shares(np.array([len(group) for group in groups]), size)

    def draw() -> Array:
        parts = [rng.choice(g, k, replace=False) for g, k in zip(groups, counts, strict=True)]
        return np.sort(np.concatenate(parts))

    return draw


def shares(counts: Array, size: int) -> Array:
    """Return how many of each class a batch takes: in proportion, but two where there are two."""
    least = np.minimum(counts, 2)
    wanted = counts * size / counts.sum()
    taken = np.maximum(np.floor(wanted).astype(int), least)
    while taken.sum() != size:
        if taken.sum() < size:
            taken[np.argmax(np.where(taken < counts, wanted - taken, -np.inf))] += 1
        else:
            taken[np.argmax(np.where(taken > least, taken - wanted, -np.inf))] -= 1
    return np.asarray(taken)


def climb_batches(
    next_problem: Callable[[], Problem],
    theta: Array,
    monitor: Monitor,
    limits: Array,
    max_iter: int,
) -> Ascent:
    """Climb by steps scaled by the running size of each derivative (Adam), then average.

    A single batch is too noisy to choose a best iterate by: the result is the mean of the last
    half of the iterates, or the best on a held-out part where there is one. A batch on which the
    measure is undefined is passed over.

    References
    ----------
    D. P. Kingma, J. Ba, "Adam: a method for stochastic optimization", 2015.
    """
    low, high = limits.T
    theta = np.clip(theta, low, high)
    rate = 0.05 * float(np.abs(theta).mean())
    mean, square = np.zeros(len(theta)), np.zeros(len(theta))
    visited: list[Array] = []
    scores: list[float] = []
    status = "converged"
    try:
        for step in range(1, max_iter + 1):
            score, value, slope = _try(next_problem, theta)
            visited.append(theta)
            scores.append(score)
            if monitor(theta, score, value, slope):
                break
            mean = 0.9 * mean + 0.1 * slope
            square = 0.99 * square + 0.01 * slope**2
            size = np.sqrt(square / (1.0 - 0.99**step)) + 1e-12
            move = rate / np.sqrt(1.0 + step / 50.0) * mean / (1.0 - 0.9**step) / size
            theta = np.clip(theta + move, low, high)
        else:
            status = _judge(scores)
    except KeyboardInterrupt:
        status = "interrupted"
        if not visited:
            raise
    if monitor.held_out is not None and monitor.theta is not None:
        best, value = monitor.theta, monitor.value
    else:
        best = np.mean(visited[len(visited) // 2 :], axis=0)
        value = _try(next_problem, best)[1] if status != "interrupted" else monitor.value
    advice = {
        "max_iter": f"The objective still grows: raise max_iter above {max_iter}.",
        "interrupted": "The best result so far is kept; fit again for more.",
    }.get(status, "")
    return Ascent(
        theta=best,
        value=value,
        history=monitor.history(),
        status=status,
        advice=advice,
        n_iter=len(visited),
    )


def _try(next_problem: Callable[[], Problem], theta: Array) -> tuple[float, float, Array]:
    """Return score, value and slope on the first of ten batches where the measure is defined."""
    failure: Exception = ValueError(
        "Expected batches on which the measure is finite, got ten without. Use larger batches."
    )
    for _ in range(10):
        try:
            result = next_problem()(theta)
        except Undefined as error:
            failure = error
            continue
        if np.isfinite(result[0]):
            return result
    raise failure


def _judge(scores: list[float]) -> str:
    """Return whether the last quarter is better than the one before by more than its noise."""
    quarter = len(scores) // 4
    if quarter < 4:
        return "max_iter"
    late, before = np.array(scores[-quarter:]), np.array(scores[-2 * quarter : -quarter])
    noise = np.sqrt((late.var() + before.var()) / quarter)
    return "max_iter" if late.mean() - before.mean() > 3.0 * noise else "converged"
