"""Penalties on a linear map, for maps that use few features or stay small."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

PRICE, HIGHEST = 1.5, 0.02  # of spreading over features: PRICE / n, and at most HIGHEST


@dataclass(frozen=True)
class Penalty:
    """l1 Σ_k |a_k| + l2 Σ_k |a_k|² + spreading Σ_k |a_k| / √(Σ_k |a_k|²).

    a_k is row k of S times the standard deviation of feature k, so that no term depends on the
    units of the data; the last one does not depend on the size of S either, and makes a kernel
    neither wider nor narrower. For a diagonal map kept non-negative |a_k| is linear, so that exact
    zeros are reached at the bound; for a matrix it is the group lasso over features, rounded off
    within `width`.

    Parameters
    ----------
    shape : tuple of int
        Of S.
    l1, l2, spreading : float
        Prices.
    width : float
        Where the group norm is smooth.
    deviations : array of shape (p,) or float
        Standard deviations of the features.
    """

    shape: tuple[int, ...]
    l1: float = 0.0
    l2: float = 0.0
    spreading: float = 0.0
    width: float = 1e-6
    deviations: Any = 1.0

    def __call__(self, S: Array) -> tuple[float, Array]:
        """Return the penalty and its derivative by S, of the shape of S."""
        S = np.reshape(S, (self.shape[0], -1))
        unit = np.broadcast_to(np.asarray(self.deviations, dtype=np.float64), (len(S),))
        width = self.width if len(self.shape) > 1 else 0.0
        a = np.sqrt(np.einsum("ij,ij->i", S, S) * unit**2 + width**2)
        size, square = a.sum() - width * len(a), float(a @ a)
        value, slope = self.l1 * size + self.l2 * square, self.l1 + 2.0 * self.l2 * a
        if self.spreading and square > 0:
            value += self.spreading * size / np.sqrt(square)
            slope = slope + self.spreading * (1.0 / np.sqrt(square) - size * a / square**1.5)
        direction = np.divide(unit**2, a, out=np.zeros(len(a)), where=a > 0)[:, None] * S
        if len(self.shape) == 1:
            direction = np.where(S < 0, -1.0, 1.0) * unit[:, None]
        return float(value), (slope[:, None] * direction).reshape(self.shape)


def spreading_price(n: float) -> float:
    """Return the price of spreading weights over features that suits n samples.

    A feature of pure noise raises the alignment of n samples by about 1/n; what costs as much is
    not taken up. The price falls with n as the noise does.
    """
    return min(PRICE / n, HIGHEST)
