"""Training: what a machine learns from, once it has been checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Training:
    """Validated training samples, those of weight zero left out.

    Parameters
    ----------
    X : array of shape (n, p), sequence of n objects, or Gram matrix
    y : array of shape (n,) or (n, q)
        Class numbers, or values.
    w : array of shape (n,) or None
        Positive weights; None means that all are one.
    rows : int array of shape (n,)
        Where the samples stood in what the user gave.
    repeats : array of shape (n,) or None
        The weights without those of classes; None means that all are one.
    """

    X: Any
    y: Array
    w: Array | None
    rows: Array
    repeats: Array | None = None

    @property
    def n(self) -> int:
        """The number of samples."""
        return len(self.rows)

    @property
    def weight(self) -> Array:
        """The weights, ones where none were given."""
        return np.ones(self.n) if self.w is None else self.w

    @property
    def copies(self) -> Array:
        """How often each sample stands there; leaving one out leaves out one of them.

        A sample that counts more because of its class is still one sample.
        """
        return np.ones(self.n) if self.repeats is None else self.repeats
