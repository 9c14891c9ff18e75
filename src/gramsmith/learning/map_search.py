"""The search for a linear map: its start, its coordinates, and when penalties come in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from gramsmith.kernels import Kernel
from gramsmith.learning.ascent import Ascent, Problem, maximise, strides
from gramsmith.learning.chart import Chart
from gramsmith.learning.minibatch import climb_batches, make_draw
from gramsmith.learning.objective import Array, Objective
from gramsmith.learning.penalty import Penalty
from gramsmith.learning.start import distance_power, map_chart
from gramsmith.learning.watch import Watch
from gramsmith.targets import Target

WIDTHS = (1.0, 4.0, 0.25, 16.0, 0.0625)  # multiples of a start that are tried
PREPARATION = 20  # iterations of another measure where the wanted one has no value to start from


@dataclass
class MapSearch:
    """Climb a measure over the map of a kernel.

    Parameters
    ----------
    kernel : Kernel
        Of mapped samples, with the parameter "map__S".
    target : Target
    learn : int array
        The rows to climb on.
    objective : callable
        (rows, measure) -> Objective.
    measure : str
    deviations : array of shape (p,)
        Of the features, see `start.deviations`.
    rng : numpy.random.RandomState
    solver : {"lbfgs", "ascent"}
    l1, l2, spreading : float
        Prices, see `Penalty`.
    batch_size : int, optional
    max_iter : int
    tol : float
    """

    kernel: Kernel
    target: Target
    learn: Array
    objective: Callable[[Array, str], Objective]
    measure: str
    deviations: Array
    rng: Any
    solver: str = "lbfgs"
    l1: float = 0.0
    l2: float = 0.0
    spreading: float = 0.0
    batch_size: int | None = None
    max_iter: int = 200
    tol: float = 1e-6

    def __post_init__(self) -> None:
        self.chart: Chart  # of the run under way
        self.batches = self.batch_size is not None and self.batch_size < len(self.learn)
        if self.batches:
            self.draw = make_draw(self.target, self.learn, int(self.batch_size or 0), self.rng)
        self.whole = None if self.batches else self.objective(self.learn, self.measure)

    def held_out(self, rows: Array, measure: str) -> Callable[[Array], float]:
        """Return the oriented measure on other rows as a function of the coordinates."""
        objective, kernel = self.objective(rows, measure), clone(self.kernel)

        def value(theta: Array) -> float:
            self.chart.write(kernel, theta)
            return objective.sign * objective.value(kernel)

        return value

    def widened(self, S: Array, always: bool) -> Array:
        """Return a multiple of S to start from.

        Parameters
        ----------
        S : array
        always : bool
            Whether to look for the best multiple, or only for one where the measure is finite.
        """
        rows = self.draw() if self.batches else self.learn
        # An alignment praises the identity where the start tells little; debiased, it does not.
        for measure in ("cka_debiased", self.measure) if always else (self.measure,):
            merits = self._merits(S, self.objective(rows, measure), always)
            if max(merits) > -np.inf:
                return WIDTHS[int(np.argmax(merits))] * S
        other = replace(
            self, measure="cka_debiased", max_iter=PREPARATION, l1=0.0, l2=0.0, spreading=0.0
        )
        return other.climb(S, Watch(""))[1]

    def _merits(self, S: Array, objective: Objective, every: bool) -> list[float]:
        """Return the oriented measure at multiples of S, or up to the first where it is finite."""
        merits: list[float] = []
        for factor in WIDTHS:
            self.kernel.set_params(map__S=factor * S)
            merit = float(objective.sign * objective.value(self.kernel))
            merits.append(merit if np.isfinite(merit) else -np.inf)
            if np.isfinite(merit) and not every:
                break
        return merits

    def climb(self, S: Array, watch: Watch, direct: bool = False) -> tuple[Ascent, Array]:
        """Return how the search from S went, and the map it found.

        Prices make zero a local optimum: for every weight (l1, spreading), or for all of them at
        once. No search leaves it, hence a diagonal map is climbed without prices first.

        Parameters
        ----------
        S : array
        watch : Watch
        direct : bool
            Whether l1 and l2 count from the start, because the start is meant for them.
        """
        asked = bool(self.l1 or self.l2)
        quadratic = S.ndim == 1 and not self.batches and distance_power(self.kernel) == 2
        smooth = map_chart(S, self.deviations, 2 if quadratic else 1)
        last = map_chart(S, self.deviations, 1) if self.l1 or self.spreading else smooth
        if S.ndim == 2 or self.batches or (direct and asked) or not (asked or self.spreading):
            return self._run(S, watch, last, True, self.max_iter)
        # Iterations must be left for a penalty that was asked for.
        limit = max(self.max_iter // 2, 1) if asked else self.max_iter
        first, S = self._run(S, watch, smooth, False, limit)
        ended = first.status == "interrupted" or watch.status == "stopped"
        if ended or (first.status == "max_iter" and not asked):
            return first, S
        return self._run(S, watch, last, True, self.max_iter)

    def unbounded(self, theta: Array) -> bool:
        """Return whether a weight came near the limit that is there only to end a search."""
        return bool((np.abs(theta) >= 0.1**self.chart.power * self.chart.limits[:, 1]).any())

    # ---- how ----------------------------------------------------------------------------------

    def _run(
        self, S: Array, watch: Watch, chart: Chart, priced: bool, max_iter: int
    ) -> tuple[Ascent, Array]:
        self.chart = chart
        self.kernel.set_params(map__S=S)
        theta = np.clip(chart.read(self.kernel), *chart.limits.T)
        penalty = self._penalty(S, priced)
        if self.batches:

            def problem_of(rows: Array) -> Problem:
                return Problem(self.kernel, chart, self.objective(rows, self.measure), penalty)

            found = climb_batches(problem_of, self.draw, theta, watch, chart.limits, max_iter)
        else:
            objective = self.whole or self.objective(self.learn, self.measure)
            found = maximise(
                Problem(self.kernel, chart, objective, penalty),
                theta,
                watch,
                solver=self.solver,
                limits=chart.limits,
                stride=strides(chart, careful=penalty is not None),
                max_iter=max_iter,
                tol=self.tol,
            )
        return found, np.asarray(chart.values(found.theta)["map__S"])

    def _penalty(self, S: Array, priced: bool) -> Penalty | None:
        if not priced or not (self.l1 or self.l2 or self.spreading):
            return None
        rows = np.linalg.norm(S.reshape(len(S), -1), axis=1) * self.deviations
        width = 1e-4 * float(rows.max())
        return Penalty(S.shape, self.l1, self.l2, self.spreading, width, self.deviations)
