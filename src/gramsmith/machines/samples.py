"""What samples are: rows of numbers, words, sets; and what a kernel says of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

Array = npt.NDArray[Any]


def is_function(kernel: Any) -> bool:
    """Return whether a kernel was given as a plain function, or as a wrapper of one."""
    return callable(kernel) and not hasattr(kernel, "requires_vector_input")


def is_symbolic(X: Any) -> bool:
    """Return whether samples are words or sets, and not rows of numbers."""
    if sp.issparse(X) or hasattr(X, "iloc") or not hasattr(X, "__len__") or not len(X):
        return False
    return isinstance(next(iter(X)), str | bytes | set | frozenset)


def as_samples(X: Any) -> Array:
    """Return objects of any kind as an array that can be indexed by rows."""
    if hasattr(X, "shape"):
        X = np.asarray(X)
        if X.ndim == 0:
            raise ValueError("Expected a sequence of samples, got a scalar. Pass a list.")
    elif isinstance(X, str) or not hasattr(X, "__len__"):
        raise ValueError(
            f"Expected a sequence of samples, got {type(X).__name__}. "
            "Wrap single samples in a list."
        )
    if not (X.shape[0] if hasattr(X, "shape") else len(X)):
        raise ValueError("Expected at least one sample, got 0 sample(s). Pass some samples.")
    if hasattr(X, "shape"):
        return np.asarray(X)
    samples = np.empty(len(X), dtype=object)
    samples[:] = list(X)
    return samples


def as_stored(X: Any, kept: Any) -> Any:
    """Return a block of new samples, sparse if the kept samples are and dense if they are not."""
    if sp.issparse(X) and not sp.issparse(kept):
        return X.toarray()
    return sp.csr_array(X) if sp.issparse(kept) and not sp.issparse(X) else X
