"""Maps of samples, for k(phi(x), phi(z)): `kernel @ map`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from gramsmith.kernels.base import Array, Gradient, NotDifferentiable


class SampleMap(BaseEstimator):
    """A function of one sample: `__call__` on rows, and its pullback."""

    free: tuple[str, ...] = ()
    linear = False
    requires_vector_input = True

    def __call__(self, X: Any) -> Any:
        """Return phi of every row of X."""
        raise NotDifferentiable(f"{type(self).__name__} defines no map.")

    def vjp(self, X: Any, dphi: Any) -> tuple[Any, Gradient]:
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
                f"Expected {len(S)} features (the rows of S), got {X.shape[1]}. "
                "Pass the columns that S was made for."
            )
        if S.ndim == 1:
            return sp.csr_array(X.multiply(S[None, :])) if sp.issparse(X) else X * S
        return X @ S

    def vjp(self, X: Any, dphi: Array) -> tuple[Any, Gradient]:
        """Return dphi S' and X' dphi."""
        S = np.asarray(self.S, dtype=np.float64)
        if S.ndim == 1:
            product = X.multiply(dphi).sum(axis=0) if sp.issparse(X) else (X * dphi).sum(axis=0)
            return dphi * S, {"S": np.asarray(product).ravel()}
        return dphi @ S.T, {"S": X.T @ dphi}


class ByFeatureCount(SampleMap):
    """The map phi(x) = x / p^power of rows with p features.

    ``Gaussian.from_gamma(1) @ ByFeatureCount(0.5)`` is the Gaussian with gamma = 1 / p, the default
    of scikit-learn, before there is data that says what p is.

    Parameters
    ----------
    power : float, default=0.5
        One half for kernels of squared distances and inner products, one for city-block distances.

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
        return float(X.shape[1] ** -float(self.power))

    def __call__(self, X: Any) -> Any:
        """Return the rows of X, shrunk."""
        return X * self._factor(X)

    def vjp(self, X: Any, dphi: Any) -> tuple[Any, Gradient]:
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

    def __init__(self, function: Callable[[Any], Any] | Any) -> None:
        self.function = function

    requires_vector_input = False

    def __call__(self, X: Any) -> Any:
        """Return the mapped rows."""
        transform = getattr(self.function, "transform", self.function)
        return transform(X)
