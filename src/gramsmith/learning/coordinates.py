"""Coordinates: the free parameters of a kernel as one vector.

Positive parameters are read on the log scale, so that a step multiplies them and they stay
positive; the others in units of their size, or as the squares of such numbers. A search over
the vector thus does not depend on the units of the data.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gramsmith.kernels import Kernel
from gramsmith.kernels.parametrised import BOUNDS

Array = npt.NDArray[Any]

REACH = 1e3  # how many times longer than its start a weight of a map may become
FLOOR = 1e-5  # what a kernel sees of a weight of zero, in units: there the derivative tells nothing


@dataclass(frozen=True)
class Coordinates:
    """Some parameters of a kernel as one vector.

    A squared Euclidean distance is linear in the squares of the weights (`power` 2): their
    derivative at 0 says whether a weight should return, whereas that by the weight itself is 0.
    """

    names: tuple[str, ...]  # nested parameter names
    shapes: tuple[tuple[int, ...], ...]
    on_log: Array  # which coordinates are on the log scale, shape (size,)
    limits: Array  # of the vector, shape (size, 2)
    units: Any = 1.0  # what the parameters that are not on the log scale are divided by
    power: int = 1  # of these
    weights: bool = False  # not negative; a kernel sees very small ones for 0, so that none is lost

    def read(self, kernel: Kernel) -> Array:
        """Return the vector of a kernel's parameters."""
        v, log = self._flat(kernel.get_params()), self.on_log
        theta = (v / self.units) ** self.power
        theta[log] = np.log(v[log])
        return np.asarray(theta)

    def values(self, theta: Array, least: float = 0.0) -> dict[str, Any]:
        """Return the parameters by name, weights at least so many units."""
        theta, log = np.asarray(theta, dtype=np.float64), self.on_log
        v = (np.sqrt(np.maximum(theta, 0.0)) if self.power == 2 else theta) * self.units
        v[log] = np.exp(theta[log])
        return self._named(np.maximum(v, least * self.units) if self.weights else v)

    def write(self, kernel: Kernel, theta: Array) -> None:
        """Set a kernel's parameters from the vector."""
        kernel.set_params(**self.values(theta, FLOOR))

    def gradient(self, kernel: Kernel, gradient: Mapping[str, Any]) -> Array:
        """Return the derivative by the vector, given those by the parameters.

        d/dlog v = v d/dv, and d/dθ = u^power / power v^(power - 1) d/dv for v = u θ^(1/power).
        """
        v, slope = self._flat(kernel.get_params()), self._flat(gradient)
        factor = self.units if self.power == 1 else 0.5 * np.square(self.units) / v
        return np.asarray(slope * np.where(self.on_log, v, factor))

    def at_limits(self, theta: Array) -> list[str]:
        """Return the names of the parameters that lie on a bound."""
        low, high = self.limits.T
        width = np.where(np.isfinite(high - low), high - low, 1.0)
        on = (theta <= low + 1e-9 * width) | (theta >= high - 1e-9 * width)
        return [name for name, part in self._named(on).items() if np.any(part)]

    def _flat(self, values: Mapping[str, Any]) -> Array:
        """Return parameters, or derivatives by them (0 where there is none), as one array."""
        named = zip(self.names, self.shapes, strict=True)
        return np.concatenate(
            [np.broadcast_to(values.get(name, 0.0), shape).ravel() for name, shape in named]
        ).astype(np.float64)

    def _named(self, flat: Array) -> dict[str, Any]:
        ends = np.cumsum([int(np.prod(shape)) for shape in self.shapes])
        named = zip(self.names, self.shapes, np.split(flat, ends[:-1]), strict=True)
        return {n: part.reshape(shape) if shape else part[0].item() for n, shape, part in named}


def make_coordinates(kernel: Kernel) -> Coordinates:
    """Return coordinates for all learnable parameters of a kernel, within the bounds it gives."""
    positive, names = set(kernel.parameter_names(kinds=("positive",))), [*kernel.parameter_names()]
    if not names:
        raise ValueError(
            f"Expected a kernel with parameters to learn, got {kernel.formula()}, which has none. "
            "Multiply it by a number and add kernels, or map its inputs with LinearMap."
        )
    values = kernel.get_params()
    shapes, logs, limits, units = [], [], [], []
    for name in names:
        value, log = np.asarray(values[name], dtype=np.float64), name in positive
        ends = kernel.range_of(name) if log else (-np.inf, np.inf)
        if np.array_equal(ends, BOUNDS):  # which suit data of size one
            ends = BOUNDS[0] * np.minimum(value, 1.0), BOUNDS[1] * np.maximum(value, 1.0)
        pair = np.stack([np.broadcast_to(end, value.shape).ravel() for end in ends], axis=1)
        # The size of the whole array: a zero in it is as free as the others.
        unit = 1.0 if log else float(np.abs(value).max(initial=0.0)) or 1.0
        shapes.append(value.shape)
        logs.append(np.full(value.size, log))
        limits.append(np.log(pair) if log else pair / unit)
        units.append(np.full(value.size, unit))
    return Coordinates(
        tuple(names),
        tuple(shapes),
        np.concatenate(logs),
        np.concatenate(limits),
        np.concatenate(units),
    )


def log_coordinates(S: Array) -> Coordinates:
    """Return the coordinates of positive weights on the log scale, where ten steps lead far.

    No weight reaches zero: they stay within `FLOOR` and `REACH` times the largest.
    """
    top = float(np.log(S.max()))
    limits = np.tile([top + np.log(FLOOR), top + np.log(REACH)], (len(S), 1))
    return Coordinates(("map__S",), (S.shape,), np.ones(len(S), dtype=bool), limits)


def map_coordinates(S: Array, deviation: Array, power: int) -> Coordinates:
    """Return the coordinates of S in which the search does not depend on the units of the data.

    The unit of every row is one over the deviation of its feature, times what makes the largest
    entry of S one. Separable data can drive weights to infinity; 1000 times the start is where
    that ends.
    """
    size = float(np.abs(S * (deviation if S.ndim == 1 else deviation[:, None])).max())
    units = size / (deviation if S.ndim == 1 else np.repeat(deviation, S.shape[1]))
    high = np.full(S.size, REACH**power)
    low = np.zeros(S.size) if S.ndim == 1 else -high
    limits = np.stack([low, high], axis=1)
    log = np.zeros(S.size, dtype=bool)
    return Coordinates(("map__S",), (S.shape,), log, limits, units, power, weights=S.ndim == 1)
