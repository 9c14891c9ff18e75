"""Ascent: climb an objective over the parameters of a kernel, and report how it went.

`"lbfgs"` is SciPy's quasi-Newton method, in a box that moves along: its model of the curvature
knows nothing at first, and one bold step can end where the objective is flat. `"ascent"` is
steepest ascent with backtracking: no step ever lowers the objective. Both stop when an accepted
step improves it by less than `tol`, in units of its size where that is above one. `climb_batches`
is stochastic ascent, for large n.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize

from gramsmith.kernels import Kernel
from gramsmith.learning.coordinates import Coordinates
from gramsmith.learning.monitor import Monitor
from gramsmith.learning.objective import KernelError, KernelObjective
from gramsmith.measures import Undefined
from gramsmith.solvers import Outcome

Array = npt.NDArray[Any]
StepLimits = Callable[[Array], tuple[Array, Array]]
#: theta -> score, value and derivative of the score
Evaluate = Callable[[Array], tuple[float, float, Array]]

ITERATIONS = 200
FEW_ITERATIONS = 10  # where the amount of learning is cross-fitted: thirty were no better
BROKEN_OFF = ("interrupted", "stopped")
ROUNDS = 100  # of the moving box, far more than it needs
FLAT = 1e-12  # a slope, in units of the score, that is rounding
NEARLY_FLAT = 1e-3  # the same where a line search failed: there only rounding stops it
CALLS = 20  # evaluations per iteration, more than any line search takes
ARMIJO = 1e-4  # share of the promised gain that a step must bring, the customary one
# The mean similarity of two samples, of that with themselves, beyond which a kernel tells nothing.
IDENTITY, CONSTANT = 1e-3, 1.0 - 1e-4
# How far a coordinate may move within a box, and how far the first step goes: a logarithm as such,
# others relative to the largest. Under a penalty zero is a trap, and first steps are short.
LOG, NUMBER, SQUARE = (2.0, 0.5), (3.0, 0.75), (100.0, 2.0)
CAREFUL = (3.0, 0.25)
# Of Adam: its step, of the mean weight, and the step number from which it becomes shorter; the
# memory of slopes as its authors have it, and of their squares a shorter one, as steps are few.
RATE, SLOWER, MEAN, SQUARES = 0.05, 50.0, 0.9, 0.99
REMEDY = {
    "the identity": "Every sample resembles itself only: use a measure without the diagonal "
    '("cka_debiased", "fsm_loo"), or more samples.',
    "constant": "All samples resemble each other, and what is left is linear or quadratic: "
    'use measure="cka" instead of "csm", or kernel="linear" if that is meant.',
}


@dataclass(frozen=True, kw_only=True)
class Ascent(Outcome):
    """Where an ascent ended.

    The history has one entry per iteration: "value" (also as "measure"), "score" (oriented so that
    higher is better, penalty included), "step" (length), "gradient_norm", and "held_out" where
    there is a held-out part.
    """

    theta: Array
    value: float  # the objective there, without the penalty
    history: dict[str, Array]


@dataclass
class Problem:
    """score(theta) = sign * objective - penalty, to be maximised."""

    kernel: Kernel
    coordinates: Coordinates
    objective: KernelObjective
    penalty: Callable[[Array], tuple[float, Array]] | None = None  # on "map__S"
    _started: bool = field(default=False, repr=False)

    def __call__(self, theta: Array) -> tuple[float, float, Array]:
        """Return score, value and the derivative of the score; score is -inf where undefined."""
        self.coordinates.write(self.kernel, theta)
        try:
            value, gradient = self.objective.value_and_gradient(self.kernel)
        except (KernelError, np.linalg.LinAlgError):
            # Where the start had a value, an overflow, a parameter beyond its range or a solve that
            # fails ends a step, not the search. Other errors of an objective are errors.
            if not self._started:
                raise
            value, gradient = np.nan, {}
        slope = self.objective.sign * self.coordinates.gradient(self.kernel, gradient)
        score = self.objective.sign * value
        if self.penalty is not None:
            cost, dcost = self.penalty(self.kernel.get_params()["map__S"])
            score -= cost
            slope = slope - self.coordinates.gradient(self.kernel, {"map__S": dcost})
        if not (np.isfinite(score) and np.isfinite(slope).all()):
            score, slope = -np.inf, np.zeros(len(theta))
        self._started = True
        return float(score), float(value), slope


def remembered(problem: Evaluate) -> Evaluate:
    """Return a problem that is not solved again where it was asked last."""
    last: tuple[bytes, tuple[float, float, Array]] | None = None

    def evaluate(theta: Array) -> tuple[float, float, Array]:
        nonlocal last
        key = np.ascontiguousarray(theta, dtype=np.float64).tobytes()
        if last is None or last[0] != key:
            last = key, problem(theta)
        return last[1]

    return evaluate


def make_step_limits(coordinates: Coordinates, careful: bool = False) -> StepLimits:
    """Return the function theta -> how far coordinates may move, in one box and at first."""
    log = coordinates.on_log
    kind = CAREFUL if careful else SQUARE if coordinates.power == 2 else NUMBER

    def step_limits(theta: Array) -> tuple[Array, Array]:
        largest = float(np.abs(theta[~log]).max(initial=0.0)) or 1.0
        box, first = (np.where(log, LOG[i], kind[i] * largest) for i in (0, 1))
        return box, first

    return step_limits


def _by_size(theta: Array) -> tuple[Array, Array]:
    size = np.full(len(theta), max(float(np.abs(theta).max(initial=0.0)), 1.0))
    return size, 0.25 * size


def maximise(
    problem: Evaluate,
    theta: Array,
    monitor: Monitor,
    *,
    solver: str = "lbfgs",
    limits: Array | None = None,
    step_limits: StepLimits = _by_size,
    max_iter: int = 200,
    tol: float = 1e-6,
    unit: float = 1.0,
) -> Ascent:
    """Climb from theta within limits, shape (size, 2), and return the best point seen.

    The problem is theta -> (score, value, derivative of the score). `step_limits` says how far
    every coordinate may move in one box, and in the first step there. The search stops where a step
    improves the score by less than `tol`, in units of the larger of itself and `unit`. Of a monitor
    that has seen an earlier search this one is the continuation, and its iterations count.
    """
    if limits is None:
        limits = np.tile([-np.inf, np.inf], (len(theta), 1))
    theta, problem = np.clip(theta, *limits.T), remembered(problem)
    score, value, slope = problem(theta)
    if not np.isfinite(score):
        raise Undefined(
            f"Expected a start where the objective is finite, got {value!r}. Use another start or "
            "another kernel: standardise the features, or make the length scale larger."
        )
    try:
        if monitor.rows:
            monitor.resume(theta, score, value)
        else:
            monitor(theta, score, value, slope)
        search = _Search(problem, monitor, limits, step_limits, max_iter, tol, unit)
        run = search.lbfgs if solver == "lbfgs" else search.steepest
        status = monitor.status or run(theta)
    except KeyboardInterrupt:
        status = "interrupted"
    best = theta if monitor.theta is None else monitor.theta
    status = "converged" if status == "early" else status
    return _ended(monitor, best, monitor.value, status, len(monitor.rows) - 1, max_iter)


def best_of(climbs: Sequence[Callable[[], Ascent]], sign: float) -> tuple[Ascent, Array]:
    """Return the best of several climbs, and the value that each reached, NaN where it did not.

    A start where the objective is undefined is passed over; where a climb is broken off, the best
    so far is returned, with that status.
    """
    best: Ascent | None = None
    failure: Exception | None = None
    values = np.full(len(climbs), np.nan)
    for number, climb in enumerate(climbs):
        try:
            ascent = climb()
        except (Undefined, KernelError) as error:
            failure = failure or error
            continue
        values[number] = ascent.value
        if best is None or sign * ascent.value > sign * best.value:
            best = ascent
        if ascent.status in BROKEN_OFF:
            best = replace(best, status=ascent.status, advice=ascent.advice)
            break
    if best is None:
        raise failure or Undefined(
            "Expected a start where the objective is finite, got none. Standardise the features, "
            "or use another measure."
        )
    return best, values


def _ended(
    monitor: Monitor, theta: Array, value: float, status: str, n_iter: int, max_iter: int
) -> Ascent:
    advice = {
        "max_iter": f"Raise max_iter above {max_iter}, or tol.",
        "stalled": 'Rounding stops the search: raise tol, or use dtype="float64". Of a kernel of '
        "your own the derivative may be wrong: compare it with differences.",
        "interrupted": "The best result so far is kept; fit again for more.",
    }
    return Ascent(
        theta=theta,
        value=value,
        history=monitor.history(),
        status=status,
        advice=advice.get(status, ""),
        n_iter=n_iter,
    )


@dataclass(frozen=True)
class _Search:
    """What both methods need; each returns how it ended."""

    problem: Evaluate
    monitor: Monitor
    limits: Array
    step_limits: StepLimits
    max_iter: int
    tol: float
    unit: float

    def lbfgs(self, theta: Array) -> str:
        failures = 0
        for _ in range(ROUNDS):
            before, _, slope = self.problem(theta)
            widest, shortest = self.step_limits(theta)
            low, high = self.limits.T
            box = np.stack([np.maximum(theta - widest, low), np.minimum(theta + widest, high)], 1)
            # the largest derivative, per step, of the coordinates that are free to follow it
            free = np.where(slope > 0, theta < box[:, 1], theta > box[:, 0])
            steepness = float(np.abs(np.where(free, slope, 0.0) / shortest).max(initial=0.0))
            if steepness <= FLAT * self._size(before):
                return "converged"
            first = len(self.monitor.rows)
            if first > self.max_iter:
                return "max_iter"
            # The first step of L-BFGS is the derivative itself, times this.
            theta, status = self._within(theta, box, 1.0 / steepness)
            if self.monitor.status is not None:
                return self.monitor.status
            if status == "max_iter":
                return status
            score, _, slope = self.problem(theta)
            if status == "failed":
                # An optimum within rounding, or a model of the curvature that no longer fits,
                # which a fresh start from here forgets.
                failures += 1
                inside = np.clip(theta + slope, *self.limits.T) - theta
                if float(np.abs(inside).max(initial=0.0)) <= NEARLY_FLAT * self._size(score):
                    return "converged"
                if failures == 3:
                    return "stalled"
            elif score - before <= self.tol * self._size(score, before):
                return "converged"
            # on no side of the box, unless that is a limit
            elif not ((theta[:, None] == box) & (box != self.limits)).any() and (
                len(self.monitor.rows) - first > 2
            ):
                return "converged"
        return "stalled"

    def _within(self, theta: Array, box: Array, factor: float) -> tuple[Array, str]:
        """Run L-BFGS-B on factor * score within a box; return where and how it ended."""
        last, status = self.problem(theta)[0], ""
        # The line search wants numbers: a point without a value is one much worse.
        worst = factor * 10.0 * (abs(last) + (self.unit or abs(last) or 1.0))

        def descend(x: Array) -> tuple[float, Array]:
            score, _, slope = self.problem(x)
            if not np.isfinite(score):
                return worst, np.zeros(len(x))
            return -factor * score, -factor * slope

        def after(x: Array) -> None:
            nonlocal last, status
            score, value, slope = self.problem(x)
            small = score - last <= self.tol * self._size(score, last)
            last = score
            if self.monitor(x, score, value, slope):
                raise StopIteration
            if small:
                status = "small"
                raise StopIteration

        left = self.max_iter + 1 - len(self.monitor.rows)
        options = {"maxiter": left, "maxfun": CALLS * self.max_iter, "ftol": 0.0, "gtol": 1e-10}
        result = minimize(
            descend, theta, jac=True, method="L-BFGS-B", bounds=box, callback=after, options=options
        )
        if not status:
            status = {0: "small", 1: "max_iter"}.get(result.status, "failed")
        return np.clip(result.x, *box.T), status

    def _size(self, *scores: float) -> float:
        """Return in comparison with what a difference of scores is small."""
        return max(self.unit, *(abs(score) for score in scores))

    def steepest(self, theta: Array) -> str:
        score, _, slope = self.problem(theta)
        step = np.inf
        while len(self.monitor.rows) <= self.max_iter:
            steepness = float(np.abs(slope / self.step_limits(theta)[1]).max(initial=0.0))
            if steepness == 0.0:
                return "converged"
            step = min(2.0 * step, 2.0 / steepness)
            while True:
                trial = np.clip(theta + step * slope, *self.limits.T)
                gain = float(slope @ (trial - theta))
                if gain <= np.finfo(float).eps * self._size(score):
                    return "converged"
                new, value, new_slope = self.problem(trial)
                if new >= score + ARMIJO * gain:
                    break
                step *= 0.5
            small = new - score <= self.tol * self._size(new, score)
            theta, score, slope = trial, new, new_slope
            if self.monitor(theta, score, value, slope):
                return str(self.monitor.status)
            if small:
                return "converged"
        return "max_iter"


# ---- batches: every step climbs the objective of a random part of the samples --------------


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
    theta = np.clip(theta, *limits.T)
    rate = RATE * float(np.abs(theta).mean())
    mean, square = np.zeros(len(theta)), np.zeros(len(theta))
    visited: list[Array] = []
    status = "converged"
    try:
        for step in range(1, max_iter + 1):
            score, value, slope = _try(next_problem, theta)
            visited.append(theta)
            if monitor(theta, score, value, slope):
                status = "stopped" if monitor.status == "stopped" else "converged"
                break
            mean = MEAN * mean + (1.0 - MEAN) * slope
            square = SQUARES * square + (1.0 - SQUARES) * slope**2
            size = np.sqrt(square / (1.0 - SQUARES**step)) + np.finfo(float).tiny
            move = rate / np.sqrt(1.0 + step / SLOWER) * mean / (1.0 - MEAN**step) / size
            theta = np.clip(theta + move, *limits.T)
        else:
            status = _judge([row["score"] for row in monitor.rows])
    except KeyboardInterrupt:
        status = "interrupted"
        if not visited:
            raise
    if monitor.held_out is not None and monitor.theta is not None:
        best, value = monitor.theta, monitor.value
    else:
        best = np.mean(visited[len(visited) // 2 :], axis=0)
        value = _try(next_problem, best)[1] if status != "interrupted" else monitor.value
    return _ended(monitor, best, value, status, len(visited), max_iter)


def _try(next_problem: Callable[[], Problem], theta: Array) -> tuple[float, float, Array]:
    """Return score, value and slope on the first of ten batches where the measure is defined."""
    failure = Undefined(
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


# ---- what was found ------------------------------------------------------------------------


def degenerate(kernel: Kernel, X: Any, rows: int = 300) -> str | None:
    """Return "the identity" or "constant" if the kernel of a few rows is nearly that, else None.

    Only stationary kernels, whose diagonal is constant, are judged.
    """
    if not kernel.is_stationary() or X.shape[0] < 3:
        return None
    K = kernel(X[np.linspace(0, X.shape[0] - 1, min(rows, X.shape[0])).astype(int)])
    n = len(K)
    between = float(K.sum() - np.trace(K)) / (n * (n - 1)) / float(np.trace(K) / n)
    if between < IDENTITY:
        return "the identity"
    return "constant" if between > CONSTANT else None
