"""Views: kernels by name, each with the samples as it sees them.

This is the one place that says what may stand for kernels and samples. Verbs, learners and
selectors hand what they were given to `as_views` and work with the record it returns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from gramsmith.arguments import counted
from gramsmith.kernels.adapt import default_kernel
from gramsmith.kernels.base import Kernel
from gramsmith.kernels.finite import count_samples, eager
from gramsmith.kernels.precomputed import Precomputed, check_kernel_matrix, rests_on_matrix

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Views:
    """Kernels by name, each with its view of the same n samples.

    Made by `as_views`; ``Gram(views)`` is the Gram of all of them.

    Parameters
    ----------
    names : tuple of str
        All different.
    kernels : tuple of Kernel
    samples : tuple
        One X per kernel: array, frame, sparse matrix of rows, sequence of n objects, or the kernel
        matrix where the kernel rests on one. Kernels that were given one X share one object.
    shared : bool
        Whether one X was given for all kernels, so that their sum is a kernel of that X.

    Examples
    --------
    >>> import numpy as np
    >>> import gramsmith as gs
    >>> X = np.arange(6.0).reshape(3, 2)
    >>> views = as_views({"lin": gs.Linear(), "matrix": np.eye(3)}, X)
    >>> views.names, views.n, views.shared
    (('lin', 'matrix'), 3, False)
    >>> [part.shape for part in views.take([0, 2]).samples]
    [(2, 2), (2, 2)]
    """

    names: tuple[str, ...]
    kernels: tuple[Kernel, ...]
    samples: tuple[Any, ...]
    shared: bool

    def __len__(self) -> int:
        """Return the number of kernels."""
        return len(self.kernels)

    @property
    def n(self) -> int:
        """The number of samples."""
        return count_samples(self.samples[0])

    @property
    def square(self) -> tuple[bool, ...]:
        """Whether the view of each kernel is a kernel matrix, cut on both axes."""
        return tuple(map(rests_on_matrix, self.kernels))

    def take(self, rows: Any) -> Views:
        """Return the views of some samples, or of all of them in another order.

        What kernels share they share afterwards: a path of bandwidths is swept as one.
        """
        taken: dict[tuple[int, bool], Any] = {}
        for X, square in zip(self.samples, self.square, strict=True):
            if (id(X), square) not in taken:
                taken[id(X), square] = take_rows(X, rows, square=square)
        keys = zip(map(id, self.samples), self.square, strict=True)
        return replace(self, samples=tuple(taken[key] for key in keys))

    def on(self, X: Any) -> Views:
        """Return the same kernels on other samples, which must have the same columns."""
        other = as_views(dict(zip(self.names, self.kernels, strict=True)), X)
        for old, new, square in zip(self.samples, other.samples, self.square, strict=True):
            if not square:
                _check_columns(old, new)
        return other

    def check_lengths(self, n: int) -> None:
        """Raise a ValueError unless every view has n samples, as many as y."""
        for X, square in zip(self.samples, self.square, strict=True):
            found = count_samples(X)
            if found != n:
                raise ValueError(
                    f"Expected X and y of the same length, got {found} and {n}: inconsistent "
                    "numbers of samples."
                )
            if square:
                K = X if _is_table(X) else Precomputed().check_input(X)
                if K.shape[1] < n:
                    raise ValueError(
                        f"Expected a square kernel matrix of {n} samples, got shape {K.shape}. "
                        "Pass a kernel for samples that are no kernel values."
                    )

    def part(self, k: int) -> Views:
        """Return the view of one kernel, by its number."""
        return Views((self.names[k],), (self.kernels[k],), (self.samples[k],), self.shared)

    def joined(self, other: Views) -> Views:
        """Return the kernels of both."""
        names = unique_names([*self.names, *other.names])
        samples = (*self.samples, *other.samples)
        return Views(tuple(names), (*self.kernels, *other.kernels), samples, False)


def as_views(kernels: Any, X: Any = None, w: Array | None = None) -> Views:
    """Return kernels and samples, however they were given, as one record.

    Parameters
    ----------
    kernels : one kernel, list or tuple of them, list of (name, kernel) pairs, dict by name, or None
        A kernel is whatever `as_kernel` takes, a square matrix of kernel values, or a `Gram`; the
        last two bring their own samples. None: what X holds, else the default kernel. A `Views`
        stays as it is.
    X : samples for all kernels, or one view of them per kernel
        Samples are an array of shape (n, p), a frame, a sparse matrix or a sequence of n objects.
        One view per kernel is a tuple (beside several kernels), a list of arrays or Grams as long
        as the kernels, or a stack of matrices of shape (m, n, n).
    w : array of shape (n,), optional
        Weights, which count for the width of the default kernel.

    Returns
    -------
    Views

    Examples
    --------
    >>> import gramsmith as gs
    >>> as_views(["linear", gs.Spectrum(2)], ([[1.0], [2.0]], ["ab", "bc"])).names
    ('linear', 'Spectrum(k=2)')
    """
    if isinstance(kernels, Views):
        return kernels
    X = eager(X)
    given = views_in(X, kernels)
    if kernels is None:
        check = Precomputed().check_input  # matrices of kernel values
        kernels = [None] if given is None else [v if _is_gram(v) else check(v) for v in given]
        given = None
    labels, found = _labelled(kernels)
    if not found:
        raise ValueError("Expected at least one kernel, got an empty list. Add a kernel.")
    given = (X,) * len(found) if given is None else given
    if len(given) != len(found):
        raise ValueError(
            f"Expected one view per kernel ({len(found)}), got {len(given)}. "
            "Pass a tuple with one X per kernel, or one X for all."
        )
    shared = all(view is X for view in given) and not any(map(brings_samples, found))
    # formats without rows, such as COO, are converted once for all kernels that share them
    as_csr = {id(view): view.tocsr() for view in given if sp.issparse(view)}
    pairs = [
        _with_samples(kernel, as_csr.get(id(view), view), label, w)
        for kernel, view, label in zip(found, given, labels, strict=True)
    ]
    resolved, samples = zip(*pairs, strict=True)
    return Views(tuple(unique_names(labels)), resolved, samples, shared)


def views_in(X: Any, kernels: Any = None) -> tuple[Any, ...] | None:
    """Return the views that X holds, one per kernel, or None if X is one view for all."""
    if _is_gram(X):
        return (X,)
    if getattr(X, "ndim", 2) == 3:
        X = list(X)
    if not isinstance(X, list | tuple):
        return None
    several = isinstance(kernels, list | tuple | Mapping)
    if isinstance(X, tuple) and (several or kernels is None):
        return X
    count = len(X) if kernels is None else len(kernels) if several else 1
    if X and len(X) == count and all(_is_gram(view) or _is_table(view) for view in X):
        return tuple(X)
    return None


def take_rows(X: Any, rows: Any, *, square: bool = False) -> Any:
    """Return some samples of an array, frame, sparse matrix or sequence, those of Dask computed."""
    if square:
        return np.asarray(X)[np.ix_(rows, rows)]
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    if hasattr(X, "column_names") and hasattr(X, "take"):  # of Arrow
        return X.take(rows)
    if hasattr(X, "shape"):
        part = X[rows]
        return part.compute() if hasattr(part, "compute") else part
    return [X[i] for i in rows]


def unique_names(names: Sequence[str]) -> list[str]:
    """Return the names, a number added where one stood before: ``k``, ``k (2)``."""
    found: list[str] = []
    for name in names:
        label, number = name, 2
        while label in found:
            label, number = f"{name} ({number})", number + 1
        found.append(label)
    return found


def _labelled(kernels: Any) -> tuple[list[str], list[Any]]:
    """Return kernels, each with the name it was given or one that says what it is."""
    if isinstance(kernels, Mapping):
        return [str(name) for name in kernels], list(kernels.values())
    several = isinstance(kernels, list | tuple) or getattr(kernels, "ndim", 2) == 3
    labels, found = [], []
    for i, kernel in enumerate(kernels if several else [kernels]):
        label = kernel if isinstance(kernel, str) else f"kernel {i}"
        if isinstance(kernel, tuple):
            label, kernel = kernel
        elif isinstance(kernel, Kernel):
            kernel.check_parts()
            label = kernel.formula()
        labels.append(str(label))
        found.append(kernel)
    return labels, found


def _with_samples(kernel: Any, X: Any, name: str, w: Array | None) -> tuple[Kernel, Any]:
    """Return a kernel with the samples it takes: those it brings, or X."""
    if _is_gram(kernel):
        return kernel.kernel, kernel.samples
    if _is_table(kernel):
        return Precomputed(), check_kernel_matrix(kernel, psd="ignore")
    if X is None:
        raise ValueError(f"Expected X for the kernel {name!r}, got None. Pass the samples.")
    X = X.samples if _is_gram(X) else X
    return kernel if isinstance(kernel, Kernel) else default_kernel(kernel, X, w), X


def brings_samples(kernel: Any) -> bool:
    """Return whether what stands for a kernel is a matrix or a Gram, which needs no X."""
    return _is_gram(kernel) or _is_table(kernel)


def _is_gram(value: Any) -> bool:
    return isinstance(getattr(value, "views", None), Views)


def _is_table(X: Any) -> bool:
    return hasattr(X, "shape") and len(X.shape) == 2


def _check_columns(X: Any, other: Any) -> None:
    if not (_is_table(X) and _is_table(other)):
        return
    if X.shape[1] != other.shape[1]:
        raise ValueError(
            f"Expected X_test with the {counted(X.shape[1], 'column')} of X, got "
            f"{other.shape[1]}. Pass the same features."
        )
    names = [getattr(part, "columns", None) for part in (X, other)]
    if names[0] is not None and names[1] is not None and list(names[0]) != list(names[1]):
        raise ValueError(
            f"Expected X_test with the columns {_some(names[0])} of X in their order, got "
            f"{_some(names[1])}. Use X_test[X.columns]."
        )


def _some(names: Any) -> str:
    listed = ", ".join(map(str, list(names)[:5]))
    return f"({listed}{', ...' if len(names) > 5 else ''})"
