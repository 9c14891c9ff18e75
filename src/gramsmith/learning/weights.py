"""Sample weights of learners: a weight of 2 means that the sample stands there twice."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

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
