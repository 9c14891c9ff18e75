"""Sample weights of learners: a weight of 2 means that the sample stands there twice."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.utils.sparsefuncs import mean_variance_axis

from gramsmith.kernels import Gaussian, Kernel, as_kernel
from gramsmith.targets import check_weights

Array = npt.NDArray[Any]


def weigh(X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Array | None]:
    """Return samples, targets and positive weights; a sample of weight zero is left out.

    Parameters
    ----------
    X : array of shape (n, p), sparse matrix, or sequence of n objects
    y : array of shape (n,) or (n, q)
    sample_weight : array of shape (n,), or None

    Returns
    -------
    X, y, w
        w is None where no weights were given.
    """
    if sample_weight is None:
        return X, y, None
    count = X.shape[0] if hasattr(X, "shape") else len(X)
    w = check_weights(sample_weight, count)
    if w.all():
        return X, y, w
    rows = np.flatnonzero(w)
    if hasattr(X, "shape"):
        X = (X if sp.issparse(X) else np.asarray(X))[rows]
    else:
        X = [X[i] for i in rows]
    y = y if y is None or sp.issparse(y) else np.asarray(y)
    return X, None if y is None else y[rows], w[rows]


def column_moments(X: Any, w: Array | None = None) -> tuple[Array, Array]:
    """Return mean and variance of every column, each row counted w times.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, p)
    w : array of shape (n,), optional
    """
    if sp.issparse(X):
        mean, variance = mean_variance_axis(sp.csr_array(X, dtype=np.float64), axis=0, weights=w)
        return np.asarray(mean), np.asarray(variance)
    if w is None:
        return X.mean(axis=0, dtype=np.float64), X.var(axis=0, dtype=np.float64)
    mean = w @ X / w.sum()
    return mean, np.asarray(w @ np.square(X - mean) / w.sum())


def default_kernel(kernel: Any, X: Any, w: Array | None = None) -> Kernel:
    """Return `as_kernel(kernel, X)`, the default width that of the rows repeated w times.

    Only the default, the Gaussian with gamma = 1 / (p var), looks at the values of X.

    Parameters
    ----------
    kernel : whatever `as_kernel` takes
    X : samples
    w : array of shape (n,), optional
    """
    if kernel is not None or w is None:
        return as_kernel(kernel, X)
    mean, variance = column_moments(X, w)
    # The variance over all entries: within columns, and between their means.
    var = float(variance.mean() + mean.var())
    return Gaussian.from_gamma(1.0 / (X.shape[1] * var) if np.isfinite(var) and var > 0 else 1.0)


def refuse_weights(name: str, w: Array) -> None:
    """Raise a ValueError if a criterion that counts samples singly is given weights.

    Parameters
    ----------
    name : str
        Of the criterion.
    w : array of shape (n,)
    """
    if np.any(w != 1.0):
        raise ValueError(
            f"Expected no sample_weight (or ones) for {name!r}, whose solve counts every sample "
            f"once, got weights from {w.min():.3g} to {w.max():.3g}. Use a measure such as "
            '"cka", or repeat the rows.'
        )
