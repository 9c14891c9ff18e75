"""Several kernels and the samples each of them sees."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sklearn.base import clone

from gramsmith.gram import Gram
from gramsmith.kernels import (
    Gaussian,
    Kernel,
    Precomputed,
    check_kernel_matrix,
    default_kernel,
)
from gramsmith.learning.weights import Array


@dataclass(frozen=True)
class Bank:
    """Named kernels with their views of the samples.

    Parameters
    ----------
    names : list of str
    kernels : list of Kernel
    views : tuple
        One X per kernel.
    shared : bool
        Whether all kernels see the same X, so that their sum is a kernel of it.
    """

    names: list[str]
    kernels: list[Kernel]
    views: tuple[Any, ...]
    shared: bool


def is_views(X: Any, kernels: Any) -> bool:
    """Return whether X holds one view per kernel: a tuple, or a list of matrices or Grams."""
    if isinstance(X, (Gram, tuple)):
        return True
    if not isinstance(X, list) or not X or len(X) != len(kernels if kernels is not None else X):
        return False
    return all(isinstance(v, Gram) or (hasattr(v, "shape") and len(v.shape) == 2) for v in X)


def as_bank_input(kernels: Any, X: Any) -> tuple[Any, Any]:
    """Return kernels and X, matrices or Grams among the kernels made the views that X holds.

    Parameters
    ----------
    kernels : list of kernels, of (name, kernel) pairs, of matrices or Grams, dict by name, or None
    X : samples, or one view per kernel
        Ignored where `kernels` holds matrices or Grams, which bring their samples.
    """
    if isinstance(X, Gram):
        X = (X,)
    if getattr(X, "ndim", 2) == 3:
        X = list(X)  # a stack of matrices
    if kernels is None:
        return None, X
    if isinstance(kernels, (str, Kernel, Gram)) or getattr(kernels, "ndim", 3) == 2:
        raise ValueError(
            f"Expected a list of kernels, got the single {type(kernels).__name__}. "
            "Put it into a list: [kernel]."
        )
    pairs = list(kernels.items()) if isinstance(kernels, Mapping) else list(kernels)
    found = [pair[1] if isinstance(pair, tuple) else pair for pair in pairs]
    given = [isinstance(k, Gram) or hasattr(k, "shape") for k in found]
    if not any(given):
        return pairs, X
    if not all(given):
        raise ValueError(
            "Expected kernels only, or matrices and Grams only, got both. Wrap the kernels as "
            "Gram(kernel, X), or compute their matrices."
        )
    views = [_from_view(view) for view in found]
    names = [pair[0] if isinstance(pair, tuple) else f"view{i}" for i, pair in enumerate(pairs)]
    named = [(name, kernel) for name, (kernel, _) in zip(names, views, strict=True)]
    return named, tuple(view for _, view in views)


def make_bank(kernels: Sequence[Any] | None, X: Any, w: Array | None = None) -> Bank:
    """Return the bank of a list of kernels on X, or of the matrices and Grams that X holds.

    Parameters
    ----------
    kernels : list of kernels, or of (name, kernel) pairs, or None
        None takes thirteen Gaussians, each half as wide (in squared width) as the one before.
    X : samples for all kernels, or one view per kernel
    w : array of shape (n,), optional
        Weights, which count for the widths.
    """
    if kernels is not None and not len(kernels):
        raise ValueError("Expected at least one kernel, got an empty list. Add a kernel.")
    if not is_views(X, kernels):
        if kernels is None:
            kernels = default_path(X, w)
        names, found = _named(kernels)
        return Bank(names, [clone(default_kernel(k, X, w)) for k in found], (X,) * len(found), True)
    views = (X,) if isinstance(X, Gram) else tuple(X)
    if not views:
        raise ValueError("Expected at least one kernel matrix, got an empty list. Add one.")
    if kernels is None:
        pairs = [_from_view(view) for view in views]
        named = [(f"view{i}", kernel) for i, (kernel, _) in enumerate(pairs)]
        names, found = _named(named)
        views = tuple(view for _, view in pairs)
    else:
        names, found = _named(kernels)
    if len(found) != len(views):
        raise ValueError(
            f"Expected one view per kernel ({len(found)}), got {len(views)}. "
            "Pass a tuple with one X per kernel."
        )
    bank = [clone(default_kernel(k, v, w)) for k, v in zip(found, views, strict=True)]
    return Bank(names, bank, views, False)


def _from_view(view: Any) -> tuple[Kernel, Any]:
    if isinstance(view, Gram):
        return view.kernel, view.samples
    return Precomputed(), check_kernel_matrix(view, psd="ignore")


def default_path(X: Any, w: Array | None = None) -> list[Kernel]:
    """Return thirteen Gaussians around gamma = 1 / (p var), from wide to narrow."""
    middle = default_kernel(None, X, w).length_scale
    return [Gaussian(float(middle * 2.0 ** (-j / 2.0))) for j in range(-6, 7)]


def _named(kernels: Sequence[Any]) -> tuple[list[str], list[Any]]:
    pairs = [k if isinstance(k, tuple) else (None, k) for k in kernels]
    names = [
        str(name) if name is not None else (k.formula() if isinstance(k, Kernel) else str(k))
        for name, k in pairs
    ]
    return names, [k for _, k in pairs]
