"""The winner of a large set, fitted on all rows in two passes over blocks of them.

`KernelRidgeClassifier` and `KernelRidgeRegressor` hold the kernel of all samples with the
landmarks; past some ten thousand samples that is too much. Here only sums of m x m numbers are
held, and the machine receives the coefficients, its plain fitted state.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from gramsmith.selection import sizes
from gramsmith.selection.candidates import Candidate
from gramsmith.selection.samples import Samples
from gramsmith.selection.task import Task
from gramsmith.solvers.landmarks import LandmarkPath, landmark_path

Array = npt.NDArray[Any]

BLOCK = 8192  # rows in work at once
ALPHAS = 10.0 ** np.arange(-9.0, 2.5, 0.5)  # per sample, in units of the variance of the features


def fit_on_landmarks(machine: Any, candidate: Candidate, samples: Samples, task: Task) -> Any:
    """Fit a ridge machine on all rows, in blocks, and return it.

    Parameters
    ----------
    machine : KernelRidgeClassifier or KernelRidgeRegressor
        With its kernel and its number of landmarks.
    candidate : Candidate
    samples : Samples
    task : Task

    Returns
    -------
    the machine
    """
    n, m = task.n, min(int(machine.n_landmarks), task.n)
    chosen = np.sort(task.sample(m, salt=7))[:m]
    w = None if np.all(task.weights == 1.0) else task.weights
    Y = task.codes

    def blocks() -> Iterator[tuple[slice, Array]]:
        for start in range(0, n, BLOCK):
            rows = np.arange(start, min(start + BLOCK, n))
            _, K = next(iter(samples.blocks([candidate], rows, chosen)))
            yield slice(start, start + len(rows)), K

    _, K_mm = next(iter(samples.blocks([candidate], chosen, chosen)))
    path = landmark_path(0.5 * (K_mm + K_mm.T), blocks, Y, w)
    alphas = ALPHAS * path.spread * path.total
    total = np.zeros(len(alphas))
    for rows, K in blocks():
        one = np.ones(len(K)) if w is None else w[rows]
        R = path.loo_residuals(K, Y[rows], alphas, None if w is None else one, task.copies[rows])
        total += np.einsum("arq,r->a", R * R, one)
    best = int(np.argmin(total))
    coefficients, intercept = path.solve(float(alphas[best]))
    _set(machine, candidate, samples, task, chosen, coefficients, intercept)
    machine.alpha_ = float(alphas[best])
    machine.alphas_ = alphas
    machine.loo_errors_ = total / (path.total * Y.shape[1])
    if task.classes is not None and task.exchangeable:
        _set_scale(machine, candidate, samples, task, chosen, path, float(alphas[best]))
    return machine


def _set_scale(
    machine: Any,
    candidate: Candidate,
    samples: Samples,
    task: Task,
    chosen: Array,
    path: LandmarkPath,
    alpha: float,
) -> None:
    """Choose threshold (if the score asks for one) and probabilities by leaving one out."""
    rows = task.sample(sizes.CALIBRATION_ROWS, salt=8)
    parts = []
    for part in np.array_split(rows, -(-len(rows) // BLOCK)):
        _, K = next(iter(samples.blocks([candidate], part, chosen)))
        w = None if np.all(task.weights == 1.0) else task.weights[part]
        R = path.loo_residuals(K, task.codes[part], np.array([alpha]), w, task.copies[part])
        parts.append(task.codes[part] - R[0])
    F = np.concatenate(parts)
    f = F[:, 0] if F.shape[1] == 1 else F
    if task.tunes_threshold:
        threshold = task.best_threshold(f, rows)
        machine.intercept_ = machine.intercept_ - threshold
        f = f - threshold
    machine.calibrate(f, task.labels[rows], None if task.w is None else task.w[rows])


def _set(
    machine: Any,
    candidate: Candidate,
    samples: Samples,
    task: Task,
    chosen: Array,
    coefficients: Array,
    intercept: Array,
) -> None:
    """Hand the expansion to a machine; a few rows set what depends on the kind of samples alone."""
    machine.fit(*_few(samples.views[candidate.view], task, chosen))
    machine.support_ = chosen
    machine.support_samples_ = _objects(samples.take(candidate, chosen))
    machine.coefficients_ = np.ascontiguousarray(coefficients)
    machine.intercept_ = np.atleast_1d(intercept)
    machine.n_samples_fit_ = task.n


def _few(X: Any, task: Task, chosen: Array) -> tuple[Any, Array]:
    """Return a few rows of every class."""
    if task.classes is None:
        rows = chosen[:50]
    else:
        first = [np.flatnonzero(task.y == code)[:5] for code in range(len(task.classes))]
        rows = np.sort(np.concatenate(first))
    part = X[rows] if hasattr(X, "shape") else _objects([X[i] for i in rows])
    return part, task.labels[rows]


def _objects(samples: Any) -> Any:
    if hasattr(samples, "shape"):
        return samples
    out = np.empty(len(samples), dtype=object)
    out[:] = list(samples)
    return out
