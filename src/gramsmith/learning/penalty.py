"""Penalties on a linear map, for maps that use few features or stay small, and when they count."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gramsmith.learning.coordinates import Coordinates, log_coordinates, map_coordinates

Array = npt.NDArray[Any]

ROUND = 1e-4  # of the longest row, within which the corner of a norm at 0 is rounded off
PRICE, HIGHEST = 1.5, 0.02  # of spreading over features: PRICE / n, and at most HIGHEST


@dataclass(frozen=True)
class Penalty:
    """l1 Σ_k |a_k| + l2 Σ_k |a_k|² + spreading Σ_k |a_k| / √(Σ_k |a_k|²).

    a_k is row k of S times the standard deviation of feature k, so that no term depends on the
    units of the data; the last one does not depend on the size of S either, and makes a kernel
    neither wider nor narrower. For a diagonal map kept non-negative |a_k| is linear, so that exact
    zeros are reached at the bound; for a matrix it is the group lasso over features, rounded off
    within `width`.
    """

    l1: float = 0.0
    l2: float = 0.0
    spreading: float = 0.0
    deviations: Any = 1.0  # standard deviations of the features
    width: float = 1e-6  # where the group norm is smooth

    def __call__(self, S: Array) -> tuple[float, Array]:
        """Return the penalty of S, shape (p,) or (p, q), and its derivative by S."""
        rows = np.reshape(S, (len(S), -1))
        unit = np.broadcast_to(np.asarray(self.deviations, dtype=np.float64), (len(S),))
        width = self.width if S.ndim > 1 else 0.0
        a = np.sqrt(np.einsum("ij,ij->i", rows, rows) * unit**2 + width**2)
        size, square = a.sum() - width * len(a), float(a @ a)
        value, slope = self.l1 * size + self.l2 * square, self.l1 + 2.0 * self.l2 * a
        if self.spreading and square > 0:
            value += self.spreading * size / np.sqrt(square)
            slope = slope + self.spreading * (1.0 / np.sqrt(square) - size * a / square**1.5)
        direction = np.divide(unit**2, a, out=np.zeros(len(a)), where=a > 0)[:, None] * rows
        if S.ndim == 1:
            direction = np.where(rows < 0, -1.0, 1.0) * unit[:, None]
        return float(value), (slope[:, None] * direction).reshape(S.shape)

    @property
    def asked(self) -> bool:
        """Whether a price was asked for; that of spreading is set by default."""
        return bool(self.l1 or self.l2)

    def around(self, S: Array) -> Penalty | None:
        """Return the penalty for a search from S, or None if nothing has a price."""
        if not (self.asked or self.spreading):
            return None
        rows = np.linalg.norm(S.reshape(len(S), -1), axis=1) * self.deviations
        return replace(self, width=ROUND * float(rows.max()))


def spreading_price(n: int) -> float:
    """Return the price of spreading weights over features that suits n samples.

    A feature of pure noise raises the alignment of n samples by about 1/n; what costs as much is
    not taken up. The price falls with n as the noise does.
    """
    return min(PRICE / n, HIGHEST)


class Phase(NamedTuple):
    """One search of several."""

    coordinates: Coordinates
    priced: bool  # whether the penalty counts, if there is any
    max_iter: int  # iterations at its end, those of earlier searches included


def make_phases(
    S: Array, penalty: Penalty, power: int, free_first: bool, max_iter: int, on_log: bool = False
) -> list[Phase]:
    """Return the searches that lead to the map under a penalty.

    Prices make zero a local optimum: for every weight (l1, spreading), or for all of them at once.
    No search leaves it, hence a diagonal map is climbed without prices first, where that is
    allowed, in the power of the weights in which the kernel is smooth at 0. `on_log` climbs the
    logarithms of the weights of a diagonal map instead, unless something has a price.
    """
    if on_log and S.ndim == 1 and S.min() > 0 and penalty.around(S) is None:
        return [Phase(log_coordinates(S), False, max_iter)]
    smooth = map_coordinates(S, penalty.deviations, power)
    sparse = bool(penalty.l1 or penalty.spreading)
    last = map_coordinates(S, penalty.deviations, 1) if sparse else smooth
    final = Phase(last, True, max_iter)
    if S.ndim == 2 or not free_first or penalty.around(S) is None:
        return [final]
    # Iterations must be left for a penalty that was asked for.
    return [Phase(smooth, False, max(max_iter // 2, 1) if penalty.asked else max_iter), final]
