"""Pothin & Richard: ascent with a fixed step, and the L2-SVM on what it leaves.

The ascent is written out here because where the paper stops, and so its numbers, depends on the
step: `TransformLearner` backtracks and takes no constant step.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

import gramsmith as gs
from gramsmith.kernels import Kernel
from gramsmith.solvers import solve_ball, solve_l2svm
from papers.experiment import error_rate

Array = npt.NDArray[Any]
C = 100.0
CUT = 0.013  # share of the largest alpha from which a vector is counted: fitted


@dataclass(frozen=True)
class Split:
    """Training and test rows."""

    X: Array
    y: Array
    X_test: Array
    y_test: Array


@dataclass(frozen=True)
class Machine:
    """What an L2-SVM makes of a kernel: the numbers of table 2 and the held-out alignment.

    `dual` holds the alphas of the support vectors relative to the largest.
    """

    alignment: float
    held_out: float
    error: float
    dual: Array

    def support(self, cut: float = CUT) -> int:
        """Count the alphas above a share of the largest."""
        return int(np.sum(self.dual > cut))


def mapped(S: Array) -> Kernel:
    """Return exp(-|S'x - S'z|²), (12)."""
    return gs.Gaussian.from_gamma(1.0) @ gs.LinearMap(S)


def evaluate_kernel(kernel: Kernel, split: Split) -> Machine:
    """Train the L2-SVM with C = 100 and look at the test rows."""
    machine = gs.L2SVC(kernel, C=C, radius=False).fit(split.X, split.y)
    a = machine.dual_variables_[:, 0]
    return Machine(
        gs.kta(gs.Gram(kernel, split.X), split.y),
        gs.kta(gs.Gram(kernel, split.X_test[:2000]), split.y_test[:2000]),
        100.0 * error_rate(machine, split.X_test, split.y_test),
        a / a.max(),
    )


@dataclass(frozen=True)
class Ascent:
    """A path of transforms with the objective at each, and the mean seconds per iteration."""

    maps: list[Array]
    values: Array
    seconds: float


def pull_to_map(X: Array, G: Array, S: Array) -> Array:
    """Return dM/dS = -4 X' Lap(G * K) X S of the Gaussian (12), given V = G * K with G = dM/dK."""
    return np.asarray(-4.0 * (X.T @ (G.sum(axis=1)[:, None] * X) - X.T @ (G @ X)) @ S)


class Alignment:
    """The alignment and the bracket of (18), which is n times its gradient."""

    def __init__(self, split: Split) -> None:
        self.X, self.y = split.X - split.X.mean(axis=0), split.y.astype(float)

    def __call__(self, S: Array) -> tuple[float, Array]:
        """Return the alignment and the direction of (18)."""
        K = mapped(S)(self.X)
        norm = float(np.linalg.norm(K))
        inner = float(self.y @ K @ self.y)
        W = np.outer(self.y, self.y) * K / norm - inner / norm**3 * K**2
        return inner / (len(self.y) * norm), pull_to_map(self.X, W, S)


class RadiusMargin:
    """The logarithm of R²|w|² of K + I/C, and minus its gradient; warm-started from step to step.

    Both maximisers are unique, so their derivatives play no part: d log(R²|w|²)/dK =
    (diag(b) - bb')/R² - (ay)(ay)'/|w|².
    """

    def __init__(self, split: Split) -> None:
        self.X, self.y = split.X - split.X.mean(axis=0), split.y.astype(float)
        self.start: tuple[Any, Any] = (None, None)

    def __call__(self, S: Array) -> tuple[float, Array]:
        """Return the bound and the direction in which it falls."""
        K = mapped(S)(self.X)
        ball = solve_ball(K, C, start=self.start[0])
        margin = solve_l2svm(K, self.y, C, start=self.start[1])
        self.start = ball.c, margin.a
        G = (np.diag(ball.c) - np.outer(ball.c, ball.c)) / ball.r2
        G -= np.outer(margin.c, margin.c) / margin.w2
        value = float(np.log(ball.r2) + np.log(margin.w2))
        return value, -pull_to_map(self.X, G * K, S)


OBJECTIVES: dict[str, type[Alignment] | type[RadiusMargin]] = {
    "kta": Alignment,
    "radius_margin": RadiusMargin,
}


def fixed_steps(
    measure: str, split: Split, S: Array, step: float, iterations: int, tol: float | None = None
) -> Ascent:
    """Follow the gradient with a constant step, as the paper does.

    Parameters
    ----------
    measure : {"kta", "radius_margin"}
        The alignment is raised, `step` multiplying the bracket of (18); the logarithm of the
        radius-margin bound is lowered, `step` multiplying its gradient.
    split : Split
    S : array of shape (p, p)
    step : float
    iterations : int
    tol : float, optional
        Stop when the alignment rises by less.
    """
    objective = OBJECTIVES[measure](split)
    maps, values = [], []
    start = time.perf_counter()
    for iteration in range(iterations + 1):
        value, direction = objective(S)
        maps.append(S)
        values.append(value)
        stopped = tol is not None and len(values) > 1 and values[-1] - values[-2] < tol
        if stopped or iteration == iterations:
            break
        S = S + step * direction
    seconds = (time.perf_counter() - start) / len(values)
    return Ascent(maps, np.array(values), seconds)
