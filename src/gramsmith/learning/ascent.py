"""Ascent: climb an objective over the parameters of a kernel, and report how it went.

`"lbfgs"` is SciPy's quasi-Newton method. `"ascent"` is steepest ascent with backtracking: it stops
when an accepted step improves the objective by less than `tol`, and no step ever lowers it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize

from gramsmith.kernels import Kernel
from gramsmith.learning.chart import Chart
from gramsmith.learning.objective import Objective
from gramsmith.learning.penalty import Penalty
from gramsmith.solvers import Outcome

Array = npt.NDArray[Any]
Callback = Callable[[dict[str, float]], Any]

SOLVERS = ("lbfgs", "ascent")


@dataclass(frozen=True, kw_only=True)
class Ascent(Outcome):
    """Where an ascent ended.

    Parameters
    ----------
    theta : array of shape (size,)
    value : float
        The objective there, without the penalty.
    history : dict of arrays
        One entry per iteration: "value", "score" (oriented so that higher is better, penalty
        included), "step" (length), "gradient_norm", and "held_out" where there is a held-out part.
    """

    theta: Array
    value: float
    history: dict[str, Array]


@dataclass
class Problem:
    """score(theta) = sign * objective - penalty, to be maximised."""

    kernel: Kernel
    chart: Chart
    objective: Objective
    penalty: Penalty | None = None
    _last: tuple[bytes, tuple[float, float, Array]] | None = field(default=None, repr=False)

    def __call__(self, theta: Array) -> tuple[float, float, Array]:
        """Return score, value and the derivative of the score; score is -inf where undefined."""
        key = np.ascontiguousarray(theta, dtype=np.float64).tobytes()
        if self._last is not None and self._last[0] == key:
            return self._last[1]
        self.chart.write(self.kernel, theta)
        try:
            value, gradient = self.objective.value_and_gradient(self.kernel)
        except (ValueError, np.linalg.LinAlgError):
            # Where the start had a value, an overflow or a parameter beyond its range ends a step,
            # not the search.
            if self._last is None:
                raise
            value, gradient = np.nan, {}
        slope = self.objective.sign * self.chart.pull(self.kernel, gradient)
        score = self.objective.sign * value
        if self.penalty is not None:
            cost, dcost = self.penalty(theta)
            score, slope = score - cost, slope - dcost
        if not (np.isfinite(score) and np.isfinite(slope).all()):
            score, slope = -np.inf, np.zeros(len(theta))
        result = (float(score), float(value), slope)
        self._last = key, result
        return result


class Watch:
    """What happens after every iteration: history, progress, early stopping, the best so far.

    Parameters
    ----------
    name : str
        Of the estimator, for progress lines.
    held_out : callable, optional
        theta -> oriented value on samples that are not climbed.
    patience : int
        Iterations without a better held-out value after which to stop.
    verbose : int
    callback : callable, optional
        Takes a dict of the iteration's numbers; a true result stops the search.
    """

    def __init__(
        self,
        name: str,
        held_out: Callable[[Array], float] | None = None,
        patience: int = 10,
        verbose: int = 0,
        callback: Callback | None = None,
    ) -> None:
        self.name, self.held_out, self.patience = name, held_out, patience
        self.verbose, self.callback = verbose, callback
        self.rows: list[dict[str, float]] = []
        self.theta: Array | None = None
        self.value = np.nan
        self.best = -np.inf
        self.best_row = 0
        self.last: Array | None = None
        self.status: str | None = None

    def __call__(self, theta: Array, score: float, value: float, slope: Array) -> bool:
        """Record an iteration; return whether to stop."""
        row = {
            "value": value,
            "score": score,
            "step": 0.0 if self.last is None else float(np.linalg.norm(theta - self.last)),
            "gradient_norm": float(np.linalg.norm(slope)),
        }
        self.last = np.array(theta)
        merit = score
        if self.held_out is not None:
            merit = row["held_out"] = self.held_out(self.last)
        self.rows.append(row)
        if self.theta is None or merit > self.best:
            self.theta, self.value, self.best = self.last, value, merit
            self.best_row = len(self.rows) - 1
        info = {"iteration": float(len(self.rows) - 1), **row}
        if self.verbose:
            numbers = ", ".join(f"{name} {number:.6g}" for name, number in row.items())
            print(f"[{self.name}] {len(self.rows) - 1}: {numbers}")
        if self.callback is not None and self.callback(info):
            self.status = "stopped"
        elif self.held_out is not None and len(self.rows) - 1 - self.best_row >= self.patience:
            self.status = "early"
        return self.status is not None

    def history(self) -> dict[str, Array]:
        """Return the recorded numbers as one array per name."""
        names = self.rows[0] if self.rows else {}
        return {name: np.array([row[name] for row in self.rows]) for name in names}


def maximise(
    problem: Callable[[Array], tuple[float, float, Array]],
    theta: Array,
    watch: Watch,
    *,
    solver: str = "lbfgs",
    limits: Array | None = None,
    max_iter: int = 200,
    tol: float = 1e-6,
) -> Ascent:
    """Climb from theta and return the best point seen.

    Parameters
    ----------
    problem : callable
        theta -> (score, value, derivative of the score).
    theta : array of shape (size,)
    watch : Watch
    solver : {"lbfgs", "ascent"}
    limits : array of shape (size, 2), optional
    max_iter : int
    tol : float
        Improvement of the score below which to stop.

    Returns
    -------
    Ascent
    """
    run = _lbfgs if solver == "lbfgs" else _steepest
    if limits is None:
        limits = np.tile([-np.inf, np.inf], (len(theta), 1))
    theta = np.clip(theta, *limits.T)
    score, value, slope = problem(theta)
    if not np.isfinite(score):
        raise ValueError(
            f"Expected a start where the objective is finite, got {value!r}. Use another start or "
            "another kernel: standardise the features, or make the length scale larger."
        )
    try:
        watch(theta, score, value, slope)
        status = watch.status or run(problem, theta, watch, limits, max_iter, tol)
    except KeyboardInterrupt:
        status = "interrupted"
    done = len(watch.rows) - 1
    advice = {
        "max_iter": f"Raise max_iter above {max_iter}, or tol.",
        "stalled": 'Rounding stops the search: raise tol, or use dtype="float64".',
        "interrupted": "The best result so far is kept; fit again for more.",
    }.get(status, "")
    return Ascent(
        theta=theta if watch.theta is None else watch.theta,
        value=watch.value,
        history=watch.history(),
        status="converged" if status in ("early", "stopped") else status,
        advice=advice,
        n_iter=done,
    )


def _lbfgs(
    problem: Callable[[Array], tuple[float, float, Array]],
    theta: Array,
    watch: Watch,
    limits: Array,
    max_iter: int,
    tol: float,
) -> str:
    start = problem(theta)[0]
    # The line search of L-BFGS wants numbers: a point without a value is one much worse.
    worst = abs(start) * 10.0 + 10.0

    def descend(x: Array) -> tuple[float, Array]:
        score, _, slope = problem(x)
        return (-score, -slope) if np.isfinite(score) else (worst, np.zeros(len(x)))

    def after(x: Array) -> None:
        score, value, slope = problem(x)
        if watch(x, score, value, slope):
            raise StopIteration

    for _ in range(3):
        left = max_iter + 1 - len(watch.rows)
        result = minimize(
            descend,
            theta,
            jac=True,
            method="L-BFGS-B",
            bounds=limits,
            callback=after,
            options={"maxiter": left, "maxfun": 20 * max_iter, "ftol": tol, "gtol": 1e-10},
        )
        if watch.status is not None:
            return watch.status
        if result.status == 0:
            return "converged"
        if result.status == 1 or len(watch.rows) > max_iter:
            return "max_iter"
        # A failed line search: an optimum within rounding, or a model of the curvature that no
        # longer fits, which a fresh start from here forgets.
        theta = result.x
        score, _, slope = problem(theta)
        inside = np.clip(theta + slope, *limits.T) - theta
        if float(np.abs(inside).max(initial=0.0)) <= 1e-3 * max(1.0, abs(score)):
            return "converged"
    return "stalled"


def _steepest(
    problem: Callable[[Array], tuple[float, float, Array]],
    theta: Array,
    watch: Watch,
    limits: Array,
    max_iter: int,
    tol: float,
) -> str:
    low, high = limits.T
    score, _, slope = problem(theta)
    size = max(float(np.linalg.norm(theta)), 1e-3)
    length = float(np.linalg.norm(slope))
    if length == 0.0:
        return "converged"
    step = 0.1 * size / length
    for _ in range(max_iter):
        while True:
            trial = np.clip(theta + step * slope, low, high)
            gain = float(slope @ (trial - theta))
            if gain <= 1e-16 * max(1.0, abs(score)):
                return "converged"
            new, value, new_slope = problem(trial)
            if new >= score + 1e-4 * gain:
                break
            step *= 0.5
        improvement = new - score
        theta, score, slope = trial, new, new_slope
        if watch(theta, score, value, slope):
            return str(watch.status)
        if improvement < tol:
            return "converged"
        step *= 2.0
    return "max_iter"
