"""Views: kernels by name, each with the samples as it sees them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from gramsmith.kernels.adapt import as_kernel
from gramsmith.kernels.base import Kernel
from gramsmith.kernels.precomputed import Precomputed, check_kernel_matrix, rests_on_matrix

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class View:
    """The samples of one kernel.

    Parameters
    ----------
    X : array, frame or sequence of n samples
    square : bool
        Whether X is a kernel matrix, whose rows and columns are chosen together.
    """

    X: Any
    square: bool

    def __len__(self) -> int:
        """Return the number of samples."""
        return int(self.X.shape[0] if hasattr(self.X, "shape") else len(self.X))

    def take(self, order: Array) -> Any:
        """Return the samples in another order."""
        if self.square:
            return self.X[np.ix_(order, order)]
        if hasattr(self.X, "iloc"):
            return self.X.iloc[order]
        if hasattr(self.X, "shape"):
            return self.X[order]
        return [self.X[i] for i in order]

    def check_width(self, other: View) -> None:
        """Raise unless `other` has the same columns; kernel matrices have their own."""
        if self.square or not (_is_table(self.X) and _is_table(other.X)):
            return
        if self.X.shape[1] != other.X.shape[1]:
            raise ValueError(
                f"Expected X_test with the {self.X.shape[1]} columns of X, got "
                f"{other.X.shape[1]}. Pass the same features."
            )
        names = [getattr(X, "columns", None) for X in (self.X, other.X)]
        if names[0] is not None and names[1] is not None and list(names[0]) != list(names[1]):
            raise ValueError(
                f"Expected X_test with the columns {_some(names[0])} of X in their order, got "
                f"{_some(names[1])}. Use X_test[X.columns]."
            )


def _is_table(X: Any) -> bool:
    return hasattr(X, "shape") and len(X.shape) == 2


def _some(names: Any) -> str:
    listed = ", ".join(map(str, list(names)[:5]))
    return f"({listed}{', ...' if len(names) > 5 else ''})"


def name_kernels(kernels: Any, X: Any) -> tuple[dict[str, Kernel], tuple[View, ...]]:
    """Return kernels by name and the view of the samples of each."""
    if not isinstance(kernels, Mapping):
        listed = list(kernels) if isinstance(kernels, (list, tuple)) else [kernels]
        kernels = _unique([_label(kernel, i) for i, kernel in enumerate(listed)], listed)
    if not kernels:
        raise ValueError("Expected at least one kernel, got none. Pass {name: kernel}.")
    named: dict[str, Kernel] = {}
    used = []
    for (name, kernel), view in zip(kernels.items(), one_each(X, len(kernels)), strict=True):
        if isinstance(kernel, np.ndarray) and kernel.ndim == 2:
            named[str(name)], view = Precomputed(), check_kernel_matrix(kernel, psd="ignore")
        else:
            if view is None:
                raise ValueError(f"Expected X for the kernel {name!r}, got None. Pass the samples.")
            named[str(name)] = as_kernel(kernel, view)
        used.append(make_view(named[str(name)], view))
    return named, tuple(used)


def one_each(X: Any, count: int) -> tuple[Any, ...]:
    """Return one view of the samples per kernel: those of a tuple, or the same for all."""
    views = X if isinstance(X, tuple) else (X,) * count
    if len(views) != count:
        raise ValueError(f"Expected one view per kernel ({count}), got {len(views)}.")
    # formats without rows, such as COO, are converted once for all kernels that share them
    rows = {id(view): view.tocsr() for view in views if sp.issparse(view)}
    return tuple(rows.get(id(view), view) for view in views)


def make_view(kernel: Kernel, X: Any) -> View:
    """Return the view of a kernel."""
    if rests_on_matrix(kernel):
        return View(kernel.check_input(X), True)
    return View(X, False)


def take_views(views: Sequence[View], order: Array | None) -> tuple[Any, ...]:
    """Return the samples of every view in another order.

    What kernels share they share afterwards: a path of bandwidths is swept as one.
    """
    if order is None:
        return tuple(view.X for view in views)
    taken: dict[tuple[int, bool], Any] = {}
    for view in views:
        key = (id(view.X), view.square)
        if key not in taken:
            taken[key] = view.take(order)
    return tuple(taken[id(view.X), view.square] for view in views)


def check_lengths(views: Sequence[View], n: int) -> None:
    """Raise unless every view has n samples."""
    for view in views:
        if len(view) != n:
            raise ValueError(
                f"Expected X and y of the same length, got {len(view)} and {n}: inconsistent "
                "numbers of samples."
            )


def _label(kernel: Any, i: int) -> str:
    if isinstance(kernel, Kernel):
        return kernel.formula()
    return kernel if isinstance(kernel, str) else f"kernel {i}"


def _unique(names: list[str], kernels: Sequence[Any]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for name, kernel in zip(names, kernels, strict=True):
        label, number = name, 2
        while label in result:
            label, number = f"{name} ({number})", number + 1
        result[label] = kernel
    return result
