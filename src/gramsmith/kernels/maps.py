"""Maps of samples, and kernels of mapped samples: `kernel @ map` is k(phi(x), phi(z))."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from gramsmith.arguments import abridged, counted
from gramsmith.kernels.algebra import Wrapped
from gramsmith.kernels.base import (
    Array,
    Derivatives,
    Kernel,
    NotDifferentiable,
    bracketed,
    defined_before,
)
from gramsmith.kernels.embedding import Embedding, prefixed
from gramsmith.kernels.finite import count_samples
from gramsmith.kernels.geometry import column_centre


class SampleMap(BaseEstimator):
    """A function of one sample: `__call__` on rows, and its pullback."""

    free: tuple[str, ...] = ()
    linear = False
    requires_vector_input = True

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        # What a class computes itself need not be linear because its ancestor was.
        cls.linear = cls.linear and not defined_before(cls, ("__call__",), "linear")

    def parameter_names(self, *, kinds: tuple[str, ...]) -> tuple[str, ...]:
        """Return the names of the parameters that gradients may change, as kernels do."""
        return tuple(self.free) if "free" in kinds else ()

    def __call__(self, X: Any) -> Any:
        """Return phi of every row of X."""
        raise NotDifferentiable(f"{type(self).__name__} defines no map.")

    def vjp(self, X: Any, dphi: Any) -> tuple[Any, Derivatives]:
        """Return the derivatives by X and by the parameters, given those by phi(X)."""
        raise NotDifferentiable(
            f"Expected a map with a derivative, got {type(self).__name__}, which has none. "
            "Use LinearMap, or keep what lies before the map fixed."
        )


class LinearMap(SampleMap):
    """The linear map phi(x) = S'x.

    ``Gaussian.from_gamma(1) @ LinearMap(S)`` is the kernel exp(-|S'x - S'z|²) of Pothin & Richard.

    Parameters
    ----------
    S : array of shape (p, q), or of shape (p,) for a diagonal matrix

    Examples
    --------
    >>> import numpy as np
    >>> import gramsmith as gs
    >>> k = gs.Gaussian.from_gamma(1.0) @ gs.LinearMap(np.array([[1.0], [0.0]]))
    >>> k([[0.0, 5.0]], [[1.0, 9.0]]).round(6)
    array([[0.367879]])
    """

    _stored_parameters: ClassVar[dict[str, str]] = {"S": "array * | array * * | samples * *"}

    free = ("S",)
    linear = True

    def __init__(self, S: Any) -> None:
        self.S = S

    def __call__(self, X: Any) -> Any:
        """Return X S."""
        S = np.asarray(self.S, dtype=np.float64)
        if S.ndim not in (1, 2) or not np.isfinite(S).all():
            raise ValueError(
                "LinearMap: expected S of shape (p, q) or (p,) with finite numbers, got "
                f"{'NaN or infinity' if S.ndim in (1, 2) else f'shape {S.shape}'}. Give such a "
                "matrix, or a vector for a diagonal one."
            )
        if X.shape[1] != len(S):
            raise ValueError(
                f"Expected {counted(len(S), 'feature')} (the rows of S), got {X.shape[1]}. "
                "Pass the columns that S was made for."
            )
        if S.ndim == 1:
            return sp.csr_array(X.multiply(S[None, :])) if sp.issparse(X) else X * S
        return X @ S

    def vjp(self, X: Any, dphi: Array) -> tuple[Any, Derivatives]:
        """Return dphi S' and X' dphi."""
        S = np.asarray(self.S, dtype=np.float64)
        if S.ndim == 1:
            product = X.multiply(dphi).sum(axis=0) if sp.issparse(X) else (X * dphi).sum(axis=0)
            return dphi * S, {"S": np.asarray(product).ravel()}
        return dphi @ S.T, {"S": X.T @ dphi}


class TakeColumns(SampleMap):
    """The map that takes some columns: ``k @ TakeColumns([0, 3])`` is a kernel of these alone.

    Parameters
    ----------
    columns : list of int
        Numbers of columns, from 0.

    Examples
    --------
    >>> import gramsmith as gs
    >>> k = gs.Gaussian(1.0) @ gs.TakeColumns([0, 1]) + gs.Linear() @ gs.TakeColumns([2])
    >>> k([[0.0, 0.0, 3.0]], [[0.0, 0.0, 2.0]])
    array([[7.]])
    """

    _stored_parameters: ClassVar[dict[str, str]] = {"columns": "array * | list number"}

    linear = True

    def __init__(self, columns: Any) -> None:
        self.columns = columns

    def index(self, width: int) -> Array:
        """Return the numbers of the columns of rows with `width` features, or raise."""
        found = np.asarray(self.columns)
        if found.ndim != 1 or found.dtype.kind not in "iu" or not len(found):
            raise ValueError(
                f"TakeColumns: expected a list of column numbers, got {abridged(self.columns)}. "
                "Names of columns are X.columns.get_indexer([...])."
            )
        if found.min() < 0 or found.max() >= width:
            raise ValueError(
                f"TakeColumns: expected numbers from 0 to {width - 1}, got "
                f"{int(found.min() if found.min() < 0 else found.max())}."
            )
        return found

    def __call__(self, X: Any) -> Any:
        """Return the columns."""
        return X[:, self.index(X.shape[1])]

    def vjp(self, X: Any, dphi: Array) -> tuple[Any, Derivatives]:
        """Return the derivatives by all columns, 0 for those that are not taken."""
        width = X.shape[1]
        return dphi @ np.eye(width)[self.index(width)], {}


class ByFeatureCount(SampleMap):
    """The map phi(x) = x / p^power of rows with p features.

    ``Gaussian.from_gamma(1) @ ByFeatureCount(0.5)`` is the Gaussian with gamma = 1 / p, the default
    of scikit-learn, before there is data that says what p is. The power is one half for kernels of
    squared distances and inner products, one for city-block distances.

    Examples
    --------
    >>> from gramsmith.kernels import ByFeatureCount
    >>> import numpy as np
    >>> ByFeatureCount()(np.ones((1, 4)))
    array([[0.5, 0.5, 0.5, 0.5]])
    """

    _stored_parameters: ClassVar[dict[str, str]] = {"power": "number"}

    linear = True

    def __init__(self, power: float = 0.5) -> None:
        self.power = power

    def _factor(self, X: Any) -> float:
        if not 0 <= self.power <= 2:
            raise ValueError(
                f"ByFeatureCount: expected a power from 0 to 2, "
                f"got {abridged(self.power)}. Use 0.5."
            )
        return float(X.shape[1] ** -float(self.power))

    def __call__(self, X: Any) -> Any:
        """Return the rows of X, shrunk."""
        return X * self._factor(X)

    def vjp(self, X: Any, dphi: Any) -> tuple[Any, Derivatives]:
        """Return dphi, shrunk; there are no parameters to learn."""
        return dphi * self._factor(X), {}


class FunctionMap(SampleMap):
    """A map given by any function of X, or by a fitted transformer.

    Parameters
    ----------
    function : callable or fitted transformer
        `function(X)` or `function.transform(X)` returns one row per sample.

    Examples
    --------
    >>> import numpy as np
    >>> import gramsmith as gs
    >>> (gs.Linear() @ np.abs)([[-1.0]], [[2.0]])
    array([[2.]])
    """

    _stored_parameters: ClassVar[dict[str, str]] = {"function": "model"}

    def __init__(self, function: Callable[[Any], Any] | Any) -> None:
        self.function = function

    requires_vector_input = False

    def __sklearn_clone__(self) -> FunctionMap:
        # A kernel has no y and no fit of its own: its map is a parameter, and stays as it is.
        return type(self)(self.function)

    def __call__(self, X: Any) -> Any:
        """Return the mapped rows."""
        transform = getattr(self.function, "transform", self.function)
        return transform(X)


class Composed(Wrapped):
    """The kernel of mapped samples k(phi(x), phi(z)), written ``k @ map``.

    Parameters
    ----------
    kernel : Kernel
    map : SampleMap
        `LinearMap`, or `FunctionMap` for any function or fitted transformer.

    Examples
    --------
    >>> import numpy as np
    >>> import gramsmith as gs
    >>> (gs.Linear() @ gs.LinearMap(np.array([[2.0]])))([[1.0]], [[3.0]])
    array([[12.]])
    """

    _stored_parameters: ClassVar[dict[str, str]] = {"map": "map"}
    requires_nonnegative_input = False

    check_input = Kernel.check_input  # of what comes before the map

    def __init__(self, kernel: Kernel, map: SampleMap) -> None:
        self.kernel = kernel
        self.map = map

    @property
    def requires_vector_input(self) -> bool:
        return bool(self.map.requires_vector_input)

    @property
    def differentiable(self) -> bool:
        return self.kernel.differentiable and self._map_differentiable

    @property
    def learnable(self) -> bool:
        # What lies before the map is not needed, unless that is the parameters of the map.
        return self.differentiable if self.map.free else self.kernel.learnable

    @property
    def _map_differentiable(self) -> bool:
        return type(self.map).vjp is not SampleMap.vjp

    def is_stationary(self) -> bool:
        return self.map.linear and self.kernel.is_stationary()

    def parameter_names(self, *, kinds: tuple[str, ...] = ("positive", "free")) -> Iterator[str]:
        yield from super().parameter_names(kinds=kinds)
        yield from (f"map__{name}" for name in self.map.parameter_names(kinds=kinds))

    def reference(self, *Xs: Any) -> Any:
        # Centring before a linear map keeps the digits that the map of far-away data would lose.
        dense = self.is_stationary() and not sp.issparse(Xs[0])
        centre = column_centre(Xs) if dense else None
        mapped = tuple((X, self._checked(X, centre)) for X in Xs)
        return centre, self.kernel.reference(*(phi for _, phi in mapped)), mapped

    def fixed_to(self, X: Any) -> Any:
        inner = self.kernel.fixed_to(self.map(X))
        return self if inner is self.kernel else Composed(inner, self.map)

    def _phi(self, X: Any, reference: Any) -> Any:
        """Return the mapped samples: those of `reference`, as maps may be costly, or new ones."""
        centre, _, mapped = reference or (None, None, ())
        known = [phi for samples, phi in mapped if samples is X]
        return known[0] if known else self._checked(X, centre)

    def _checked(self, X: Any, centre: Array | None) -> Any:
        phi = self.map(X if centre is None else X - centre)
        try:
            self._check_rows(phi, X)
            return self.kernel.check_input(phi)
        except (TypeError, ValueError) as error:
            kind = TypeError if isinstance(error, TypeError) else ValueError
            name = type(self.map).__name__
            raise kind(f"{name}, whose values {self.kernel} takes: {error}") from error

    def _check_rows(self, phi: Any, X: Any) -> None:
        shape = phi.shape if hasattr(phi, "shape") else (len(phi),)
        n = count_samples(X)
        if shape[:1] != (n,) or (len(shape) != 2 and self.kernel.requires_vector_input):
            raise ValueError(
                f"Expected one row of numbers per sample, shape ({n}, q), got shape {shape}. "
                "Let the map return a table; a column x is x[:, None]."
            )

    def embed(self, X: Any, reference: Any = None, dtype: Any = np.float64) -> Embedding:
        inner = reference[1] if reference else None
        return self.kernel.embed(self._phi(X, reference), inner, dtype)

    def wanted(self, wants: str) -> str:
        if wants == "parameters" and not self.map.free:
            return "parameters"
        # A diagonal map is a factor per feature; a stationary kernel is centred before the map.
        diagonal = isinstance(self.map, ByFeatureCount) or (
            isinstance(self.map, LinearMap) and np.ndim(self.map.S) == 1
        )
        return "scales" if wants != "samples" and diagonal and self.is_stationary() else "samples"

    def embed_vjp(self, X: Any, reference: Any, E: Any, dE: Any) -> tuple[Any, Derivatives]:
        centre, inner, _ = reference
        moved = X if centre is None else X - centre
        dphi, grad = self.kernel.embed_vjp(self._phi(X, reference), inner, E, dE)
        if dphi is None or not self._map_differentiable:
            return None, prefixed("kernel", grad)
        dX, outer = self.map.vjp(moved, dphi)
        return dX, {**prefixed("kernel", grad), **prefixed("map", outer)}

    def features(self, X: Any, reference: Any = None) -> Any:
        inner = reference[1] if reference else None
        return self.kernel.features(self._phi(X, reference), inner)

    def formula(self) -> str:
        inner = bracketed(self.kernel, "@")
        name = type(self.map).__name__
        shape = f"{np.shape(self.map.S)}" if hasattr(self.map, "S") else "(...)"
        return f"{inner} @ {name}{shape}"
