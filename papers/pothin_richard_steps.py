"""Pothin & Richard: ascent with a fixed step, and the L2-SVM on what it leaves."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gramsmith.evaluation import kta
from gramsmith.gram import Gram
from gramsmith.kernels import Gaussian, Kernel, LinearMap
from gramsmith.learning.objective import make_objective
from gramsmith.solvers import solve_l2svm
from gramsmith.targets import make_target

Array = npt.NDArray[Any]
C = 100.0


@dataclass(frozen=True)
class Split:
    """Training and test rows."""

    X: Array
    y: Array
    X_test: Array
    y_test: Array


@dataclass(frozen=True)
class Machine:
    """What an L2-SVM makes of a kernel: the numbers of table 2 and the held-out alignment."""

    alignment: float
    held_out: float
    support: int
    strict: int
    error: float
    decision: Array


def mapped(S: Array) -> Kernel:
    """Return exp(-|S'x - S'z|²), (12)."""
    return Gaussian.from_gamma(1.0) @ LinearMap(S)


def evaluate_kernel(kernel: Kernel, split: Split) -> Machine:
    """Train the L2-SVM with C = 100 and look at the test rows.

    `support` counts alpha > 0.013 max alpha, which gives the printed counts; `strict` counts all.
    """
    K = kernel(split.X)
    y = split.y.astype(float)
    solution = solve_l2svm(K, y, C)
    f = solution.coef @ kernel(split.X, split.X_test) + solution.bias
    return Machine(
        kta(K, split.y),
        kta(Gram(kernel, split.X_test[:2000]), split.y_test[:2000]),
        int(np.sum(solution.a > 0.013 * solution.a.max())),
        len(solution.support),
        float(100.0 * np.mean(np.sign(f) != split.y_test)),
        f,
    )


@dataclass(frozen=True)
class Ascent:
    """A path of transforms with the objective at each, and the mean seconds per iteration."""

    maps: list[Array]
    values: Array
    seconds: float


def fixed_steps(
    measure: str, split: Split, S: Array, step: float, iterations: int, tol: float | None = None
) -> Ascent:
    """Follow the gradient with a constant step, as the paper does.

    The library backtracks instead; this is here because where the paper stops, and so its numbers,
    depends on the step.

    Parameters
    ----------
    measure : {"kta", "radius_margin"}
        For the alignment `step` multiplies the bracket of (18), which is n times the gradient; for
        the logarithm of the radius-margin bound it multiplies the gradient, downhill.
    split : Split
    S : array of shape (p, p)
    step : float
    iterations : int
    tol : float, optional
        Stop when the objective rises by less.
    """
    objective = make_objective(measure, split.X, make_target(split.y), C=C)
    scale = step * (len(split.y) if measure == "kta" else -1.0)
    maps, values = [], []
    start = time.perf_counter()
    for _ in range(iterations):
        value, gradient = objective.value_and_gradient(mapped(S))
        maps.append(S)
        values.append(value)
        if tol is not None and len(values) > 1 and values[-1] - values[-2] < tol:
            break
        S = S + scale * gradient["map__S"]
    else:
        maps.append(S)
        values.append(objective.value(mapped(S)))
    seconds = (time.perf_counter() - start) / len(values)
    return Ascent(maps, np.array(values), seconds)
