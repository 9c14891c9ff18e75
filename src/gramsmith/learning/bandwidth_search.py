"""Global search for the best bandwidth: every local maximum is bracketed, refined and compared.

An alignment can have many local maxima in sigma (Tan et al. (001) say two; six are common), and
plain Newton steps converge to a minimum or leave for infinity from half of all starts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from gramsmith.learning.bandwidth_profile import BandwidthProfile, Point

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Search:
    """The outcome of a search.

    Parameters
    ----------
    sigma : float
        The best bandwidth; 0 or infinity where a limit is best.
    value, u : float
        Alignment and share of the first kernel there.
    grid : list of Point
    maxima : list of Point
        All local maxima that were found.
    n_iter : int
        Newton steps and bisections.
    converged : bool
    """

    sigma: float
    value: float
    u: float
    grid: list[Point]
    maxima: list[Point]
    n_iter: int
    converged: bool


def search_bandwidth(
    profile: BandwidthProfile,
    low: float,
    high: float,
    *,
    n_grid: int = 64,
    tol: float = 1e-10,
    max_iter: int = 100,
    after: Callable[[Point], bool] | None = None,
) -> Search:
    """Maximise a profile over sigma in [low, high] and the limits 0 and infinity.

    Parameters
    ----------
    profile : BandwidthProfile
    low, high : float
    n_grid : int
        Points of the log-spaced grid on which the sign of the derivative is read.
    tol : float
        Width of the final bracket in log sigma.
    max_iter : int
        Limit of steps per bracket.
    after : callable, optional
        Called with every point; a true result ends the search.

    Returns
    -------
    Search
    """
    seen: list[Point] = []
    stop = False

    def visit(log_sigma: float) -> Point:
        nonlocal stop
        point = profile(float(np.exp(log_sigma)))
        seen.append(point)
        stop = bool(after is not None and after(point)) or stop
        return point

    grid: list[Point] = []
    for t in np.linspace(np.log(low), np.log(high), n_grid):
        grid.append(visit(t))
        if stop:
            break
    maxima: list[Point] = []
    steps = 0
    converged = not stop
    for a, b in pairwise(grid):
        # The profile with u eliminated can have a kink, where the slope jumps from + to - as well.
        if a.slope > 0 >= b.slope and not stop:
            point, used, done = _refine(visit, a, b, tol, max_iter)
            maxima.append(point)
            steps += used
            converged = converged and done
    best = max(seen, key=lambda point: point.value)
    sigma, value, u = best.sigma, best.value, best.u
    for limit, (limit_value, limit_u) in profile.limits(10.0 * low).items():
        if limit_value > value + 1e-12:
            sigma, value, u = limit, limit_value, limit_u
    return Search(sigma, value, u, grid, maxima, steps, converged)


def _refine(
    visit: Callable[[float], Point], a: Point, b: Point, tol: float, max_iter: int
) -> tuple[Point, int, bool]:
    """Return the maximum between a (slope > 0) and b (slope <= 0) by guarded Newton steps."""
    low, high = np.log(a.sigma), np.log(b.sigma)
    point = a if a.value >= b.value else b
    t = np.log(point.sigma)
    for step in range(1, max_iter + 1):
        trial = t - point.slope / point.curvature if point.curvature < 0 else np.nan
        if not low < trial < high:
            trial = 0.5 * (low + high)
        point = visit(trial)
        if point.slope > 0:
            low = trial
        else:
            high = trial
        moved, t = abs(trial - t), trial
        if high - low < tol or moved < tol or point.slope == 0.0:
            return point, step, True
    return point, max_iter, False
