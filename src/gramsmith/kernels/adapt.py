"""Kernels from elsewhere: scikit-learn's objects and names, plain functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.gaussian_process import kernels as gp

from gramsmith.kernels.algebra import Product, Sum
from gramsmith.kernels.base import Array, Kernel
from gramsmith.kernels.embedding import Embedding
from gramsmith.kernels.functions import Power
from gramsmith.kernels.inner import Constant, Linear, Polynomial, Sigmoid
from gramsmith.kernels.normalized import Normalized
from gramsmith.kernels.precomputed import Precomputed
from gramsmith.kernels.radial import Chi2, Gaussian, Laplacian, Matern, Periodic, RationalQuadratic

NAMES = (
    "rbf",
    "gaussian",
    "laplacian",
    "linear",
    "poly",
    "polynomial",
    "sigmoid",
    "cosine",
    "chi2",
)


def as_kernel(kernel: Any, X: Any = None, **parameters: Any) -> Kernel:
    """Return `kernel` as a gramsmith kernel.

    Parameters
    ----------
    kernel : Kernel, str, scikit-learn kernel, callable or None
        Names are those of `sklearn.metrics.pairwise.pairwise_kernels`, and "precomputed". A
        callable takes two matrices and returns a matrix, or takes two rows and returns a number.
        None is "rbf" with gamma="scale".
    X : array of shape (n, p), optional
        Data from which names take their default `gamma` (1 / p, or 1 / (p var) for "scale").
    **parameters
        `gamma`, `degree`, `coef0` for names.

    Returns
    -------
    Kernel

    Examples
    --------
    >>> import gramsmith as gs
    >>> gs.as_kernel("rbf", gamma=0.5)
    Gaussian()
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> gs.as_kernel(RBF(2.0))
    Gaussian(length_scale=2.0)
    """
    if isinstance(kernel, Kernel):
        return kernel
    if kernel is None:
        return from_name("rbf", X, **{"gamma": "scale", **parameters})
    if isinstance(kernel, str):
        return from_name(kernel, X, **parameters)
    if isinstance(kernel, gp.Kernel):
        return from_sklearn(kernel)
    if callable(kernel):
        return FromCallable(kernel)
    raise TypeError(
        "Expected a kernel, a name, a scikit-learn kernel or a callable, got "
        f"{type(kernel).__name__}. Names are {', '.join(NAMES)} and precomputed."
    )


def from_name(
    name: str, X: Any = None, gamma: Any = None, degree: int = 3, coef0: float = 1.0
) -> Kernel:
    """Return the kernel that scikit-learn calls `name`, with scikit-learn's defaults."""
    if name == "precomputed":
        return Precomputed()
    if name == "linear":
        return Linear()
    if name == "cosine":
        return Normalized(Linear())
    if name not in NAMES:
        raise ValueError(
            f"Expected a kernel name, got {name!r}. Names are {', '.join(NAMES)} and precomputed."
        )
    if name == "chi2":
        return Chi2(1.0 if gamma is None else float(gamma))
    g = _gamma(gamma, X, name)
    if name in ("rbf", "gaussian"):
        return Gaussian.from_gamma(g)
    if name == "laplacian":
        return Laplacian(1.0 / g)
    if name == "sigmoid":
        return Sigmoid(g, coef0)
    return Polynomial(degree, g, coef0)


def _gamma(gamma: Any, X: Any, name: str) -> float:
    if gamma is not None and not isinstance(gamma, str):
        return float(gamma)
    if X is None:
        raise ValueError(
            f'The kernel "{name}" takes its gamma from the data: expected X= or gamma=, got '
            "neither. Pass as_kernel(name, X) or give gamma."
        )
    X = X if hasattr(X, "shape") else np.asarray(X, dtype=float)
    p = X.shape[1]
    if gamma in (None, "auto"):
        return 1.0 / float(p)
    if gamma != "scale":
        raise ValueError(f'Expected gamma to be a number, "scale" or "auto", got {gamma!r}.')
    var = X.multiply(X).mean() - X.mean() ** 2 if sp.issparse(X) else np.var(np.asarray(X, float))
    return float(1.0 / (p * var)) if np.isfinite(var) and var > 0 else 1.0


def from_sklearn(kernel: Any) -> Kernel:
    """Return a scikit-learn kernel object as ours, natively where we have the same kernel."""
    if isinstance(kernel, gp.Sum):
        return Sum(from_sklearn(kernel.k1), from_sklearn(kernel.k2))
    if isinstance(kernel, gp.Product):
        return Product(from_sklearn(kernel.k1), from_sklearn(kernel.k2))
    if isinstance(kernel, gp.Exponentiation) and float(kernel.exponent).is_integer():
        return Power(from_sklearn(kernel.kernel), int(kernel.exponent))
    if isinstance(kernel, gp.ConstantKernel):
        return Constant(float(kernel.constant_value))
    if isinstance(kernel, gp.Matern):  # a subclass of RBF, so it comes first
        if kernel.nu in (0.5, 1.5, 2.5):
            return Matern(kernel.length_scale, float(kernel.nu))
        return Gaussian(kernel.length_scale) if kernel.nu == np.inf else FromSklearn(kernel)
    if isinstance(kernel, gp.RBF):
        return Gaussian(kernel.length_scale)
    if isinstance(kernel, gp.RationalQuadratic):
        return RationalQuadratic(kernel.length_scale, kernel.alpha)
    if isinstance(kernel, gp.ExpSineSquared):
        return Periodic(kernel.length_scale, kernel.periodicity)
    if isinstance(kernel, gp.DotProduct):
        if kernel.sigma_0 == 0:
            return Linear()
        return Sum(Linear(), Constant(float(kernel.sigma_0) ** 2))
    return FromSklearn(kernel)


class FromSklearn(Kernel):
    """Any other scikit-learn kernel object, evaluated by its own code.

    Parameters
    ----------
    source : sklearn.gaussian_process.kernels.Kernel

    Examples
    --------
    >>> import gramsmith as gs
    >>> from sklearn.gaussian_process.kernels import WhiteKernel
    >>> gs.as_kernel(WhiteKernel(0.5))([[1.0], [2.0]])
    array([[0.5, 0. ],
           [0. , 0.5]])
    """

    def __init__(self, source: Any) -> None:
        self.source = source

    @property
    def requires_vector_input(self) -> bool:
        return bool(self.source.requires_vector_input)

    def embed(self, X: Any, frame: Any = None, dtype: Any = np.float64) -> Embedding:
        return X

    def tile(self, a: Embedding, b: Embedding) -> Array:
        # Some kernels (white noise) tell a block with itself from two equal blocks.
        return np.array(self.source(a) if a is b else self.source(a, b))

    def diagonal(self, a: Embedding) -> Array:
        return np.asarray(self.source.diag(a), dtype=np.float64)


class FromCallable(Kernel):
    """A kernel given by a function of two matrices, or of two samples.

    Parameters
    ----------
    function : callable
        `function(A, B)` returns the matrix of shape (len(A), len(B)); failing that, it is called
        with pairs of samples and returns numbers.

    Examples
    --------
    >>> import gramsmith as gs
    >>> gs.as_kernel(lambda x, z: float(x[0] * z[0]))([[2.0], [3.0]])
    array([[4., 6.],
           [6., 9.]])
    """

    def __init__(self, function: Callable[[Any, Any], Any]) -> None:
        self.function = function

    @property
    def requires_vector_input(self) -> bool:
        return False

    def check_input(self, X: Any) -> Any:
        return X if hasattr(X, "shape") else _as_samples(X)

    def embed(self, X: Any, frame: Any = None, dtype: Any = np.float64) -> Embedding:
        return X

    def tile(self, a: Embedding, b: Embedding) -> Array:
        shape = (a.shape[0], b.shape[0])
        try:
            K = np.asarray(self.function(a, b), dtype=float)
        except Exception:  # a function of two samples may fail on two matrices in any way
            K = np.empty(0)
        if K.shape == shape and shape != (1, 1):
            return np.array(K)
        return np.array(
            [[np.asarray(self.function(x, z)).item() for z in b] for x in a], dtype=float
        )

    def diagonal(self, a: Embedding) -> Array:
        return np.array([self.tile(a[i : i + 1], a[i : i + 1])[0, 0] for i in range(len(a))])


def _as_samples(X: Any) -> Array:
    try:
        array = np.asarray(X)
    except ValueError:
        array = np.empty(0, dtype=object)
    if array.dtype.kind in "biuf" and array.ndim == 2:
        return array
    samples = np.empty(len(X), dtype=object)
    samples[:] = list(X)
    return samples
