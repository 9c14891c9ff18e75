"""Penalties on a linear map, for maps that use few features or stay small."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Penalty:
    """l1 Σ_k |s_k| + l2 Σ_k |s_k|², where s_k is the row of S that belongs to feature k.

    For a diagonal map kept non-negative the first term is linear, so that exact zeros are reached
    at the bound; for a matrix it is the group lasso over features, rounded off within `width`.

    Parameters
    ----------
    shape : tuple of int
        Of S.
    l1, l2 : float
    width : float
        Where the group norm is smooth.
    """

    shape: tuple[int, ...]
    l1: float = 0.0
    l2: float = 0.0
    width: float = 1e-6

    def __call__(self, theta: Array) -> tuple[float, Array]:
        """Return the penalty and its derivative."""
        if len(self.shape) == 1:
            size, slope = np.abs(theta), np.where(theta < 0, -1.0, 1.0)
            value = self.l1 * size.sum() + self.l2 * theta @ theta
            return float(value), self.l1 * slope + 2.0 * self.l2 * theta
        S = theta.reshape(self.shape)
        rows = np.sqrt(np.einsum("ij,ij->i", S, S) + self.width**2)
        value = self.l1 * (rows - self.width).sum() + self.l2 * theta @ theta
        dS = (self.l1 / rows + 2.0 * self.l2)[:, None] * S
        return float(value), dS.ravel()
