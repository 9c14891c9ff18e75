"""What kernels do with their parameters: nested names, ranges, and all of them on one axis."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.gaussian_process.kernels import Hyperparameter
from sklearn.gaussian_process.kernels import Kernel as SklearnKernel

from gramsmith.arguments import abridged, as_numbers, is_finite, is_one_of, is_positive, is_whole
from gramsmith.kernels.finite import count_samples

Array = npt.NDArray[Any]

BOUNDS = (1e-5, 1e5)  # of positive parameters, as in scikit-learn


def is_whole_number(name: str, value: Any, least: int) -> str | None:
    """Return what a parameter should have been, None if it is a whole number, at least `least`."""
    return None if is_whole(value, least) else f"a whole number {name} >= {least} below 2^31"


class unless_argument(property):
    """A property that gives way to an argument of the constructor with the same name."""

    def __init__(self, get: Callable[[Any], Any], put: Any = None) -> None:
        super().__init__(get, put)
        self.__doc__ = get.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, owner: Any, cls: Any = None) -> Any:
        if owner is not None and self.name in owner._get_param_names():
            if self.name in vars(owner):
                return vars(owner)[self.name]
            raise AttributeError(f"{type(owner).__name__} has no {self.name} yet.")
        return super().__get__(owner, cls)

    def __set__(self, owner: Any, value: Any) -> None:
        if self.name in owner._get_param_names():
            vars(owner)[self.name] = value
        else:
            super().__set__(owner, value)


class Parametrised(BaseEstimator):
    """An expression whose parameters carry scikit-learn's nested names.

    Subclasses list in `positive` the parameters that gradients may change on the log scale, in
    `free` those that may take any value; both may be arrays, whose shape stays what it is. Parts
    are found through the constructor's arguments.
    """

    positive: ClassVar[tuple[str, ...]] = ()
    free: ClassVar[tuple[str, ...]] = ()
    single: ClassVar[tuple[str, ...]] = ()  # of these, those that must be one number
    ranges: ClassVar[dict[str, tuple[float, float]]] = {}  # of positive parameters, if not BOUNDS
    zero: ClassVar[tuple[str, ...]] = ()  # of the positive ones, those that may be 0
    whole: ClassVar[dict[str, int]] = {}  # parameters that are whole numbers, and the least of each
    choices: ClassVar[dict[str, tuple[Any, ...]]] = {}  # what a parameter may be
    optional: ClassVar[tuple[str, ...]] = ()  # of the whole numbers, those that may be None
    parts: ClassVar[tuple[str, ...]] = ()  # the arguments that are kernels

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for name in cls._get_param_names():
            known = getattr(cls, name, None)
            if callable(known) or (
                isinstance(known, property) and not isinstance(known, unless_argument)
            ):
                raise TypeError(
                    f"{cls.__name__}: expected another name than {name!r} for an argument: "
                    f"{name} is what {cls.__mro__[1].__name__} says about itself. Rename it."
                )

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
        for name in dict.fromkeys((*self.positive, *self.free, *self.whole, *self.choices)):
            value = getattr(self, name)
            expected = None if value is None and name in self.optional else self._wrong(name, value)
            if expected is not None:
                example = self.whole.get(name, 0) or 1.0
                advice = "" if name in self.choices else f" Give, for example, {name}={example}."
                raise ValueError(
                    f"{type(self).__name__}: expected {expected}, got {abridged(value)}.{advice}"
                )
        for child in self.children().values():
            child.check_parameters()

    def _wrong(self, name: str, value: Any) -> str | None:
        """Return what a parameter should have been, None if it is that."""
        numbers = as_numbers(value)
        if name in self.single and numbers is not None and numbers.ndim:
            return f"one {name}, a single number"
        if name in self.whole:
            return is_whole_number(name, value, self.whole[name])
        if name in self.choices:
            allowed = ", ".join(map(repr, self.choices[name]))
            return (
                None if is_one_of(value, self.choices[name]) else f"{name} to be one of {allowed}"
            )
        if name in self.free:
            return None if is_finite(value) else f"a finite {name}"
        if name in self.zero and is_finite(value) and not np.any(value):
            return None
        top = self.ranges[name][1] if name in self.ranges else np.inf
        if is_positive(value) and np.all(np.asarray(value) <= top):
            return None
        return f"{name} >{'=' * (name in self.zero)} 0" + f" and <= {top:g}" * (top < np.inf)

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
                value = getattr(self, name)
                if value is not None and (kind != "positive" or is_positive(value)):
                    yield name
        for prefix, child in self.children().items():
            for name in child.parameter_names(kinds=kinds):
                yield f"{prefix}__{name}"

    def _theta(self) -> Array:
        """Return the positive parameters on the log scale, one vector, as scikit-learn does."""
        values = [np.log(np.ravel(self._lookup(name))) for name in self._theta_names()]
        return np.concatenate(values) if values else np.empty(0)

    def _set_theta(self, theta: Array) -> None:
        names = self._theta_names()
        shapes = [np.shape(self._lookup(name)) for name in names]
        ends = np.cumsum([int(np.prod(shape)) for shape in shapes], dtype=int)
        size = int(ends[-1]) if names else 0
        numbers = as_numbers(theta)
        if numbers is None or numbers.shape != (size,) or not np.isfinite(numbers).all():
            raise ValueError(
                f"Expected theta as an array of {size} finite logarithms of positive parameters, "
                f"got {abridged(theta)}."
            )
        parts = np.split(np.exp(numbers), ends[:-1])
        for name, shape, part in zip(names, shapes, parts, strict=False):  # no part of no names
            self.set_params(**{name: part.reshape(shape) if shape else float(part[0])})

    theta = unless_argument(_theta, _set_theta)

    @unless_argument
    def hyperparameters(self) -> list[Hyperparameter]:
        """The parameters of `theta` in scikit-learn's own terms."""
        return [
            Hyperparameter(name, "numeric", self._limits(name), np.size(self._lookup(name)))
            for name in self._theta_names()
        ]

    @unless_argument
    def bounds(self) -> Array:
        """Bounds of `theta`, shape (len(theta), 2)."""
        limits = [pair for name in self._theta_names() for pair in self._limits(name)]
        return np.log(np.reshape(limits, (-1, 2)))

    n_dims = unless_argument(SklearnKernel.n_dims.fget)

    def range_of(self, name: str) -> tuple[Any, Any]:
        """Return the bounds of a positive parameter, given by its nested name, in its own units."""
        part, _, rest = name.partition("__")
        if rest:
            return getattr(self, part).range_of(rest)  # type: ignore[no-any-return]
        return self.ranges.get(name, BOUNDS)

    def _limits(self, name: str) -> Array:
        """Return the bounds of every number of a positive parameter, shape (size, 2)."""
        shape = np.shape(self._lookup(name))
        pair = [np.broadcast_to(np.asarray(end, dtype=float), shape) for end in self.range_of(name)]
        return np.stack([np.ravel(end) for end in pair], axis=1)

    def _theta_names(self) -> list[str]:
        return list(self.parameter_names(kinds=("positive",)))

    def _lookup(self, name: str) -> Any:
        value: Any = self
        for part in name.split("__"):
            value = getattr(value, part)
        return value


# Differences of fourth order: h^4 / 30 of the fifth derivative, and eps / h of the kernel, are both
# about 1e-13 of its largest value.
STEP = 1e-3
RESERVED = ("theta", "bounds", "n_dims", "hyperparameters")


def theta_gradient(kernel: Any, X: Any) -> Array:
    """Return the derivative of kernel(X) by `theta`, shape (n, n, len(theta)).

    scikit-learn's Gaussian processes want it; everything else goes by pullbacks.
    """
    taken = [name for name in RESERVED if name in kernel._get_param_names()]
    if taken:
        raise TypeError(
            f"Expected a kernel without an argument {taken[0]!r}, which Gaussian processes of "
            f"scikit-learn read as theirs, got {type(kernel).__name__}. Use 1.0 * kernel there."
        )
    theta = kernel.theta

    def values(moved: Array) -> Array:
        other = kernel.clone_with_theta(moved)
        a = other.embed(X, other.reference(X))
        return np.asarray(other.tile(a, a), dtype=np.float64)

    slopes = []
    for step in STEP * np.eye(len(theta)):
        near = values(theta + step) - values(theta - step)
        far = values(theta + 2.0 * step) - values(theta - 2.0 * step)
        slope = (8.0 * near - far) / (12.0 * STEP)
        slopes.append(0.5 * (slope + slope.T))
    n = count_samples(X)
    return np.stack(slopes, axis=2) if slopes else np.empty((n, n, 0))
