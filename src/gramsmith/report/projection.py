"""What a picture needs to know of samples: their Gram matrix, their place in the plane, colours."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import resample
from sklearn.utils.multiclass import type_of_target

from gramsmith.gram import Gram
from gramsmith.kernels import as_kernel

Array = npt.NDArray[Any]

MOST = 400  # samples past which a picture shows no more


def drawn(X: Any, y: Any, most: int, random_state: Any) -> tuple[Any, Any]:
    """Return at most so many samples with their labels, drawn at random."""
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    if n <= most:
        return X, y
    options = {"replace": False, "n_samples": most, "random_state": random_state}
    if y is None:
        return resample(X, **options), None
    X, y = resample(X, y, **options)
    return X, y


def gram_matrix(estimator: Any, X: Any) -> Array:
    """Return the Gram matrix of samples under a kernel, or under that of a fitted estimator."""
    if hasattr(estimator, "best_estimator_"):
        return gram_matrix(estimator.best_estimator_, X)
    if hasattr(estimator, "steps"):
        return gram_matrix(estimator[-1], estimator[:-1].transform(X))
    kernel = getattr(estimator, "kernel_", estimator)
    if hasattr(kernel, "fit"):
        raise ValueError(
            f"Expected a kernel, or a fitted estimator with the attribute kernel_, got "
            f"{type(estimator).__name__}. Pass the kernel itself, or call fit first."
        )
    return np.asarray(Gram(as_kernel(kernel, X), X).toarray(), dtype=float)


def colours_of(y: Any) -> tuple[Array, list[str]]:
    """Return class numbers and the names of the classes, or values and no names."""
    if type_of_target(y, input_name="y") == "continuous":
        return np.asarray(y, dtype=float).ravel(), []
    labels, codes = np.unique(np.asarray(y), return_inverse=True)
    return codes.ravel(), [str(label) for label in labels]


def kernel_map(K: Array) -> Array:
    """Return the two leading kernel principal components, shape (n, 2), with fixed signs."""
    n = len(K)
    centred = K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()
    values, vectors = np.linalg.eigh(0.5 * (centred + centred.T))
    top = vectors[:, ::-1][:, :2] * np.sqrt(np.maximum(values[::-1][:2], 0.0))
    if top.shape[1] < 2:
        top = np.column_stack([top, np.zeros(n)])
    signs = np.sign(top[np.abs(top).argmax(axis=0), [0, 1]])
    return np.asarray(np.round(top * np.where(signs == 0, 1.0, signs), 9))
