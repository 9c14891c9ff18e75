"""Chart: the free parameters of a kernel as one vector.

Positive parameters are read on the log scale, so that a step multiplies them and they stay
positive; the others as they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gramsmith.kernels import Kernel

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Chart:
    """Coordinates of some parameters of a kernel.

    Parameters
    ----------
    names : tuple of str
        Nested parameter names.
    shapes : tuple of tuple of int
    logs : tuple of bool
        Which parameters are read on the log scale.
    limits : array of shape (size, 2)
        Bounds of the vector.
    """

    names: tuple[str, ...]
    shapes: tuple[tuple[int, ...], ...]
    logs: tuple[bool, ...]
    limits: Array

    @property
    def size(self) -> int:
        """The length of the vector."""
        return len(self.limits)

    def read(self, kernel: Kernel) -> Array:
        """Return the vector of a kernel's parameters."""
        values = kernel.get_params()
        parts = []
        for name, log in zip(self.names, self.logs, strict=True):
            value = np.ravel(np.asarray(values[name], dtype=np.float64))
            parts.append(np.log(value) if log else value)
        return np.concatenate(parts)

    def write(self, kernel: Kernel, theta: Array) -> None:
        """Set a kernel's parameters from the vector."""
        new = {}
        for name, shape, log, part in self._parts(theta):
            value = (np.exp(part) if log else part).reshape(shape)
            new[name] = value if shape else float(value)
        kernel.set_params(**new)

    def pull(self, kernel: Kernel, gradient: Mapping[str, Any]) -> Array:
        """Return the derivative by the vector, given those by the parameters.

        d/dlog v = v d/dv.
        """
        values = kernel.get_params()
        parts = []
        for name, shape, log in zip(self.names, self.shapes, self.logs, strict=True):
            part = np.broadcast_to(np.asarray(gradient.get(name, 0.0), float), shape).ravel()
            parts.append(part * np.ravel(values[name]) if log else part)
        return np.concatenate(parts)

    def at_limits(self, theta: Array) -> list[str]:
        """Return the names of the parameters that lie on a bound."""
        low, high = self.limits.T
        width = np.where(np.isfinite(high - low), high - low, 1.0)
        on = (theta <= low + 1e-9 * width) | (theta >= high - 1e-9 * width)
        return [name for name, _, _, part in self._parts(on) if part.any()]

    def _parts(self, theta: Array) -> list[tuple[str, tuple[int, ...], bool, Array]]:
        sizes = [int(np.prod(shape)) for shape in self.shapes]
        cut = np.split(np.asarray(theta), np.cumsum(sizes)[:-1])
        return list(zip(self.names, self.shapes, self.logs, cut, strict=True))


def make_chart(
    kernel: Kernel,
    parameters: Sequence[str] | None = None,
    bounds: Mapping[str, tuple[Any, Any]] | None = None,
) -> Chart:
    """Return the chart of a kernel's learnable parameters.

    Parameters
    ----------
    kernel : Kernel
    parameters : list of str, optional
        Nested names; default all that `kernel.parameter_names()` yields.
    bounds : dict of (low, high), optional
        By nested name, in the parameter's own units.
    """
    positive = set(kernel.parameter_names(kinds=("positive",)))
    known = list(kernel.parameter_names())
    names = known if parameters is None else list(parameters)
    for name in [*names, *(bounds or {})]:
        if name not in known:
            raise ValueError(
                f"Expected learnable parameters among {known}, got {name!r}. "
                "Choose names from kernel.parameter_names()."
            )
    if not names:
        raise ValueError(
            f"Expected a kernel with parameters to learn, got {kernel.formula()}, which has none. "
            "Multiply it by a number and add kernels, or map its inputs with LinearMap."
        )
    values = kernel.get_params()
    shapes, logs, limits = [], [], []
    for name in names:
        value = np.asarray(values[name], dtype=np.float64)
        log = name in positive
        default = kernel.range_of(name) if log else (-np.inf, np.inf)
        low, high = (bounds or {}).get(name, default)
        if not np.all(np.asarray(low) < np.asarray(high)) or (
            log and not np.all(np.asarray(low) > 0)
        ):
            raise ValueError(
                f"Expected bounds (low, high) of {name} with low < high"
                f"{' and low > 0' if log else ''}, got {(low, high)!r}."
            )
        pair = np.stack([np.broadcast_to(b, value.shape).ravel() for b in (low, high)], axis=1)
        pair = np.asarray(pair, dtype=np.float64)
        shapes.append(value.shape)
        logs.append(log)
        limits.append(np.log(pair) if log else pair)
    return Chart(tuple(names), tuple(shapes), tuple(logs), np.concatenate(limits))
