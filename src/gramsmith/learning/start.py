"""Where the search for a linear map begins.

`make_start` takes the spread of the data, `choose_start` tries multiples of that where the spread
tells too little.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from gramsmith.arguments import abridged
from gramsmith.kernels import Kernel, column_moments
from gramsmith.kernels.geometry import PairKernel, SquaredEuclidean
from gramsmith.kernels.radial import Radial
from gramsmith.learning.objective import KernelObjective

Array = npt.NDArray[Any]

# The root mean squared distance of mapped samples at the start. Alignments have an optimum among
# wide kernels, which are linear in effect, and often another one among narrow ones; from here a
# search ends at the latter, and still feels all features.
DISTANCE = 3.0
WIDTHS = (1.0, 4.0, 0.25, 16.0, 0.0625)  # multiples of a start that are tried


def check_rank(structure: str, rank: int | None, p: int) -> int:
    """Return the number q of columns of S for p features, or raise."""
    if rank is not None and rank > p:
        raise ValueError(
            f"Expected 1 <= rank <= {p} (the number of features), got {abridged(rank)}. "
            f'Use a rank in that range, or structure="full".'
        )
    if structure != "low_rank":
        return p
    return min(2, p) if rank is None else int(rank)


def make_start(
    X: Any, structure: str, q: int, init: Any, scale: float, rng: Any, w: Array | None = None
) -> Array:
    """Return the first S: shape (p,) for a diagonal map, else (p, q); `init` if that is given.

    The rank of S never grows, because every derivative has S as a factor; hence a start of zeros is
    refused. `scale` is what the kernel divides its inputs by, the unit of `DISTANCE`.
    """
    p = X.shape[1]
    if init is not None:
        shape = (p,) if structure == "diagonal" else (p, q)
        try:
            S = np.array(init, dtype=np.float64)
        except (TypeError, ValueError):
            raise ValueError(
                f"Expected init as an array of numbers of shape {shape}, got {abridged(init)}. "
                "Pass S itself, or None for the default start."
            ) from None
        if S.shape != shape:
            raise ValueError(f"Expected init of shape {shape}, got {S.shape}. Pass S, not S'.")
        if not np.isfinite(S).all() or not S.any():
            raise ValueError(
                "Expected a finite init that is not all zero, got "
                f"{'zeros' if not S.any() else 'NaN or infinity'}. Zero is stationary: every "
                "derivative has S as a factor. Use, for example, the identity."
            )
        return np.abs(S) if structure == "diagonal" else S
    mean, variance = column_moments(X, w)
    spread = float(2.0 * variance.sum())
    scale = scale * DISTANCE / np.sqrt(spread) if np.isfinite(spread) and spread > 0 else scale
    if structure == "diagonal":
        return np.full(p, scale)
    if structure == "full":
        return np.asarray(scale * np.eye(p))
    # The directions of largest variance, turned a little so that no direction is out of reach.
    centred = np.asarray(X, dtype=np.float64) - mean
    scatter = (centred if w is None else centred * w[:, None]).T @ centred
    first = np.linalg.eigh(scatter)[1][:, ::-1][:, :q]
    S = first * signs(first) + 0.1 / np.sqrt(p) * rng.standard_normal((p, q))
    return np.asarray(scale * np.sqrt(p / q) * S)


def signs(V: Array) -> Array:
    """Return ±1 per column, so that the largest entry of every column of V * signs is positive.

    Eigenvectors are free in sign; without a rule, rounding would choose it.
    """
    top = np.abs(V).argmax(axis=0)
    return np.where(V[top, np.arange(len(top))] < 0, -1.0, 1.0)


def deviations(X: Any, w: Array | None = None) -> Array:
    """Return the standard deviation of every feature, a typical one for constant features."""
    mean, variance = column_moments(X, w)
    spread = np.sqrt(variance)
    varies = np.isfinite(spread) & (spread > 1e-12 * np.abs(mean))
    typical = float(np.sqrt(np.mean(np.square(spread[varies])))) if varies.any() else 1.0
    return np.where(varies, spread, typical)


def mean_square(S: Array, variance: Array) -> float:
    """Return the mean squared distance of mapped samples from their mean."""
    return float(variance @ np.square(S.reshape(len(S), -1)).sum(axis=1))


def distance_power(kernel: Kernel) -> int:
    """Return the power of the weights in which a kernel is smooth at 0: 1 for city blocks."""
    parts = [kernel, *kernel.get_params(deep=True).values()]
    degrees = [part.geometry.degree() for part in parts if isinstance(part, PairKernel)]
    return 1 if any(degree < 2 for degree in degrees) else 2


def kernel_scale(kernel: Kernel) -> float:
    """Return what a kernel divides its inputs by, 1 where that is no single number."""
    scale = np.asarray(kernel.scale if isinstance(kernel, PairKernel) else 1.0, dtype=np.float64)
    return float(np.exp(np.mean(np.log(scale)))) if np.all(scale > 0) else 1.0


def has_width(kernel: Kernel) -> bool:
    """Return whether the spread of X over the scale of the kernel makes a good start."""
    return isinstance(kernel, Radial) and isinstance(kernel.geometry, SquaredEuclidean)


def choose_start(
    kernel: Kernel, S: Array, objectives: Iterable[KernelObjective], every: bool
) -> Array | None:
    """Return the multiple of S to start from, or None if no objective has a value at any.

    The first objective that has a value somewhere decides: the best multiple of `every` one, or
    else the first where it is finite.
    """
    for objective in objectives:
        merits: list[float] = []
        for factor in WIDTHS:
            kernel.set_params(map__S=factor * S)
            merit = float(objective.sign * objective.value(kernel))
            merits.append(merit if np.isfinite(merit) else -np.inf)
            if np.isfinite(merit) and not every:
                break
        if max(merits) > -np.inf:
            return np.asarray(WIDTHS[int(np.argmax(merits))] * S)
    return None
