"""What kernels do with their parameters: nested names, ranges, and all of them on one axis."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, clone
from sklearn.gaussian_process.kernels import Hyperparameter

from gramsmith.arguments import abridged, as_numbers, is_finite, is_positive

Array = npt.NDArray[Any]

BOUNDS = (1e-5, 1e5)


class Parametrised(BaseEstimator):
    """An expression whose parameters carry scikit-learn's nested names.

    Subclasses list in `positive` the parameters that gradients may change on the log scale, in
    `free` those that may take any value. Parts are found through the constructor's arguments.
    """

    positive: ClassVar[tuple[str, ...]] = ()
    free: ClassVar[tuple[str, ...]] = ()
    several: ClassVar[tuple[str, ...]] = ()  # of these, those that may be arrays
    ranges: ClassVar[dict[str, tuple[float, float]]] = {}  # of positive parameters, if not BOUNDS
    parts: ClassVar[tuple[str, ...]] = ()  # the arguments that are kernels

    @classmethod
    @cache
    def _get_param_names(cls) -> list[str]:
        # scikit-learn reads the signature each time, most of the time of a small task
        return list(super()._get_param_names())

    def children(self) -> dict[str, Any]:
        """Return the sub-kernels by the name of the argument that holds them."""
        found = {}
        for name in self._get_param_names():
            value = getattr(self, name, None)
            if isinstance(value, Parametrised):
                found[name] = value
        return found

    def check_parameters(self) -> None:
        """Raise a ValueError if a parameter is out of its range, a TypeError if a part is none."""
        self.check_parts()
        for name in self.positive:
            value = getattr(self, name)
            if not self._has_shape(name):
                raise ValueError(
                    f"{type(self).__name__}: expected one {name}, got {abridged(value)}. "
                    f"Give a single number, such as {name}=1.0."
                )
            if not is_positive(value):
                raise ValueError(
                    f"{type(self).__name__}: expected {name} > 0, got {abridged(value)}. "
                    f"Give a positive number, such as {name}=1.0."
                )
        for name in self.free:
            value = getattr(self, name)
            if not is_finite(value) or not self._has_shape(name):
                raise ValueError(
                    f"{type(self).__name__}: expected a finite {name}, got {abridged(value)}. "
                    f"Give {'numbers' if name in self.several else 'a number'}."
                )
        for child in self.children().values():
            child.check_parameters()

    def _has_shape(self, name: str) -> bool:
        numbers = as_numbers(getattr(self, name))  # what is no number is refused as such
        return name in self.several or numbers is None or not numbers.ndim

    def check_parts(self) -> None:
        """Raise a TypeError if a part that should be a kernel is none."""
        for name in self.parts:
            value = getattr(self, name)
            if not isinstance(value, Parametrised):
                raise TypeError(
                    f"{type(self).__name__}: expected a kernel as {name}, got "
                    f"{abridged(value)}. Use gramsmith.as_kernel for names and functions."
                )
            value.check_parts()

    def parameter_names(self, *, kinds: tuple[str, ...] = ("positive", "free")) -> Iterator[str]:
        """Yield the nested names of the parameters that gradients may change."""
        for kind in kinds:
            for name in getattr(self, kind):
                if self._learnable(name):
                    yield name
        for prefix, child in self._parametrised().items():
            for name in child.parameter_names(kinds=kinds):
                yield f"{prefix}__{name}"

    def _learnable(self, name: str) -> bool:
        value = getattr(self, name)
        return value is not None and (name not in self.positive or is_positive(value))

    def _parametrised(self) -> dict[str, Any]:
        return dict(self.children())

    @property
    def theta(self) -> Array:
        """The positive parameters on the log scale, one vector (scikit-learn's convention)."""
        values = [np.log(np.ravel(self._lookup(name))) for name in self._theta_names()]
        return np.concatenate(values) if values else np.empty(0)

    @theta.setter
    def theta(self, theta: Array) -> None:
        size = sum(np.size(self._lookup(name)) for name in self._theta_names())
        numbers = as_numbers(theta)
        if numbers is None or numbers.shape != (size,) or not np.isfinite(numbers).all():
            raise ValueError(
                f"Expected theta as an array of {size} finite logarithms of positive parameters, "
                f"got {abridged(theta)}."
            )
        start, theta = 0, numbers
        for name in self._theta_names():
            old = np.asarray(self._lookup(name), dtype=float)
            new = np.exp(theta[start : start + old.size]).reshape(old.shape)
            self.set_params(**{name: new if old.ndim else float(new)})
            start += old.size

    @property
    def hyperparameters(self) -> list[Hyperparameter]:
        """The parameters of `theta` in scikit-learn's own terms."""
        sizes = {name: np.size(self._lookup(name)) for name in self._theta_names()}
        return [
            Hyperparameter(name, "numeric", self.range_of(name), size)
            for name, size in sizes.items()
        ]

    @property
    def bounds(self) -> Array:
        """Bounds of `theta`, shape (len(theta), 2)."""
        names = self._theta_names()
        pairs = [[self.range_of(name)] * int(np.size(self._lookup(name))) for name in names]
        flat = np.array([pair for group in pairs for pair in group], dtype=float)
        return np.asarray(np.log(flat.reshape(-1, 2)))

    @property
    def n_dims(self) -> int:
        """The length of `theta`."""
        return len(self.theta)

    def clone_with_theta(self, theta: Array) -> Self:
        """Return a copy of the kernel with the parameters `theta`."""
        copy: Self = clone(self)
        copy.theta = theta
        return copy

    def range_of(self, name: str) -> tuple[float, float]:
        """Return the bounds of a positive parameter, given by its nested name, in its own units."""
        path, _, last = name.rpartition("__")
        owner = self._lookup(path) if path else self
        return getattr(owner, "ranges", {}).get(last, BOUNDS)  # type: ignore[no-any-return]

    def _theta_names(self) -> list[str]:
        return list(self.parameter_names(kinds=("positive",)))

    def _lookup(self, name: str) -> Any:
        value: Any = self
        for part in name.split("__"):
            value = getattr(value, part)
        return value
