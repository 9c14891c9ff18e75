"""A held-out part of the samples, on which a learner watches itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gramsmith.targets import Target

Array = npt.NDArray[Any]


def hold_out(target: Target, fraction: float, rng: Any) -> tuple[Array, Array] | None:
    """Return the indices to learn from and those held out, or None if there are too few samples.

    Classes keep their proportions; every class needs two held-out members, values need eight.

    Parameters
    ----------
    target : Target
    fraction : float
        Of the samples to hold out.
    rng : numpy.random.RandomState
    """
    n = len(target.w)
    groups = [np.arange(n)]
    least = 8
    if target.kind == "classes":
        groups = [np.flatnonzero(target.codes == c) for c in range(target.V.shape[1])]
        least = 2
    held = []
    for group in groups:
        count = int(np.floor(fraction * len(group)))
        if count < least or len(group) - count < least:
            return None
        held.append(rng.permutation(group)[:count])
    out = np.sort(np.concatenate(held))
    return np.setdiff1d(np.arange(n), out), out


def check_fraction(fraction: float) -> None:
    """Raise a ValueError unless 0 < fraction < 1."""
    if not 0.0 < fraction < 1.0:
        raise ValueError(
            f"Expected 0 < validation_fraction < 1, got {fraction!r}. Use, for example, 0.2."
        )


def take_rows(X: Any, index: Array) -> Any:
    """Return chosen samples of an array or of a sequence of objects."""
    return X[index] if hasattr(X, "shape") else [X[i] for i in index]
