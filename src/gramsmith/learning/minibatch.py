"""Stochastic ascent: every step climbs the objective of a random part of the samples."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from gramsmith.learning.ascent import Ascent, Problem, Watch

Array = npt.NDArray[Any]


def climb_batches(
    problem_of: Callable[[Array], Problem],
    draw: Callable[[], Array],
    theta: Array,
    watch: Watch,
    limits: Array,
    max_iter: int,
) -> Ascent:
    """Climb by steps scaled by the running size of each derivative (Adam), then average.

    A single batch is too noisy to choose a best iterate by: the result is the mean of the last
    half of the iterates, or the best on a held-out part where there is one.

    Parameters
    ----------
    problem_of : callable
        Row indices -> Problem of these rows.
    draw : callable
        Returns the row indices of the next batch.
    theta : array of shape (size,)
    watch : Watch
    limits : array of shape (size, 2)
    max_iter : int

    Returns
    -------
    Ascent

    References
    ----------
    D. P. Kingma, J. Ba, "Adam: a method for stochastic optimization", 2015.
    """
    low, high = limits.T
    theta = np.clip(theta, low, high)
    rate = 0.05 * max(float(np.abs(theta).mean()), 1e-3)
    mean, square = np.zeros(len(theta)), np.zeros(len(theta))
    visited: list[Array] = []
    scores: list[float] = []
    status = "converged"
    try:
        for step in range(1, max_iter + 1):
            score, value, slope = problem_of(draw())(theta)
            visited.append(theta)
            scores.append(score)
            if watch(theta, score, value, slope):
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
    if watch.held_out is not None and watch.theta is not None:
        best, value = watch.theta, watch.value
    else:
        best = np.mean(visited[len(visited) // 2 :], axis=0)
        value = problem_of(draw())(best)[1] if status != "interrupted" else watch.value
    advice = {
        "max_iter": f"The objective still grows: raise max_iter above {max_iter}.",
        "interrupted": "The best result so far is kept; fit again for more.",
    }.get(status, "")
    return Ascent(
        theta=best,
        value=value,
        history=watch.history(),
        status=status,
        advice=advice,
        n_iter=len(visited),
    )


def _judge(scores: list[float]) -> str:
    """Return whether the last quarter is better than the one before by more than its noise."""
    quarter = len(scores) // 4
    if quarter < 4:
        return "max_iter"
    late, before = np.array(scores[-quarter:]), np.array(scores[-2 * quarter : -quarter])
    noise = np.sqrt((late.var() + before.var()) / quarter)
    return "max_iter" if late.mean() - before.mean() > 3.0 * noise else "converged"
