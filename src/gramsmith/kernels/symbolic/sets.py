"""The kernel of all common subsets, for sets of items and for indicator matrices."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_array

from gramsmith.arguments import abridged, as_numbers
from gramsmith.kernels.base import Array
from gramsmith.kernels.embedding import Embedding
from gramsmith.kernels.finite import check_finite
from gramsmith.kernels.symbolic.base import SymbolicKernel, count_matrix, product, squares

ADVICE = (
    "Pass a list of sets such as [{'milk', 'bread'}, {'milk'}], or a matrix with one column per "
    "item and a 1 where the sample has it"
)


class AllSubsets(SymbolicKernel):
    r"""The kernel of all common subsets of two sets, the empty one included.

    .. math:: k(x, z) = \sum_{A \subseteq x \cap z} \prod_{a \in A} w_a
              = \prod_a (1 + w_a x_a z_a)

    where :math:`x_a` is 1 if the set x has the item a, else 0. With all weights 1 it is
    :math:`2^{|x \cap z|}`. Rows of a real matrix are taken at their values in the product form.

    Parameters
    ----------
    weights : mapping or array, optional
        The weight :math:`w_a \ge 0` of each item: a mapping from items to numbers for sets, one
        number per column for matrices. Default, also for items not named: 1.
    output : {"value", "log", "normalized"}, default="value"
        What to return: k; its logarithm, which is a kernel too; or
        :math:`k(x, z) / \sqrt{k(x, x) k(z, z)}`. The last two are computed in logarithms, so that
        sets of thousands of items do not overflow.

    Notes
    -----
    Lists and tuples are read as sets of items, except equally long rows of zeros and ones, which
    are an indicator matrix. Arrays, tables and sparse matrices of numbers are matrices.

    References
    ----------
    Lecture notes on kernels, section 2.4.1 (see the papers page of the documentation).

    Examples
    --------
    >>> import gramsmith as gs
    >>> baskets = [{"milk", "bread", "jam"}, {"milk", "bread"}, {"tea"}]
    >>> gs.AllSubsets()(baskets)
    array([[8., 4., 1.],
           [4., 4., 1.],
           [1., 1., 2.]])
    >>> gs.AllSubsets(weights={"milk": 0.5})([{"milk", "tea"}], [{"milk"}])
    array([[1.5]])
    """

    choices: ClassVar[dict[str, tuple[Any, ...]]] = {"output": ("value", "log", "normalized")}
    accepts_sparse = True

    def __init__(self, weights: Any = None, output: str = "value") -> None:
        self.weights = weights
        self.output = output

    def check_parameters(self) -> None:
        super().check_parameters()
        if self.weights is None:
            return
        mapping = isinstance(self.weights, Mapping)
        w = as_numbers(list(self.weights.values()) if mapping else self.weights)
        if w is None or w.ndim != 1 or not np.isfinite(w).all() or (len(w) and w.min() < 0):
            raise ValueError(
                f"AllSubsets: expected finite weights >= 0, "
                f"got {abridged(self.weights)}; a negative "
                "weight need not give a kernel. Use 0 to leave an item out."
            )

    def check_input(self, X: Any) -> Any:
        X = _as_collection(X)
        if isinstance(X, np.ndarray) and X.dtype == object:
            if self.weights is not None and not isinstance(self.weights, Mapping):
                raise TypeError(
                    "AllSubsets: expected weights as a mapping from items to numbers for sets, got "
                    f"{type(self.weights).__name__}. Use weights={{item: number}}."
                )
            return X
        if isinstance(self.weights, Mapping) or (
            self.weights is not None and len(self.weights) != X.shape[1]
        ):
            raise ValueError(
                f"AllSubsets: expected one weight per column ({X.shape[1]}), "
                f"got {abridged(self.weights)}."
            )
        if self.output != "value" and X.shape[0] and X.min() < 0:
            raise ValueError(
                f"AllSubsets: expected values >= 0 with output={self.output!r}, got {X.min():.4g}. "
                "Use output='value'."
            )
        return X

    def reference(self, *Xs: Any) -> Any:
        """Return the column of every item (None for matrices) and whether all values are 0 or 1."""
        if _is_matrix(Xs[0]):
            if len({X.shape[1] for X in Xs}) > 1:
                raise ValueError(
                    "AllSubsets: expected matrices with the same columns, got "
                    f"{' and '.join(str(X.shape[1]) for X in Xs)}."
                )
            values = (X.data if sp.issparse(X) else X for X in Xs)
            return None, all(bool(np.isin(v, (0.0, 1.0)).all()) for v in values)
        items = dict.fromkeys(item for X in Xs for sample in X for item in sample)
        return {item: column for column, item in enumerate(items)}, True

    def embed(self, X: Any, reference: Any = None, dtype: Any = np.float64) -> Embedding:
        items, binary = reference or self.reference(X)
        if items is not None:
            X = _indicators(X, items)
        w = self._weights(items, X.shape[1])
        if binary:
            # bits = log2 k(x, x); log2 k = Σ_a x_a z_a log2(1 + w_a), exact where the weights are 1
            Z = sp.csr_array(sp.csr_array(X, dtype=np.float64) * np.sqrt(np.log2(1.0 + w)))
            bits = squares(Z)
        else:
            Z = (X.toarray() if sp.issparse(X) else np.asarray(X, np.float64)) * np.sqrt(w)
            bits = np.log2(1.0 + Z * Z).sum(axis=1)
        if self.output == "value" and bits.max(initial=0.0) >= 1024.0:
            raise ValueError(
                f"AllSubsets: expected fewer than 2^1024 subsets, got 2^{bits.max():.0f} in row "
                f"{int(bits.argmax())}. Use output='normalized' or output='log'."
            )
        return Z, bits

    def _weights(self, items: Mapping[Hashable, int] | None, width: int) -> Array:
        if self.weights is None:
            return np.ones(width)
        if items is None:
            return np.asarray(self.weights, dtype=float)
        return np.array([float(self.weights.get(item, 1.0)) for item in items])

    def tile(self, a: Embedding, b: Embedding, out: Array | None = None) -> Array:
        if sp.issparse(a[0]):
            L = product(a[0], a[0] if a is b else b[0])
        elif self.output == "value":  # a factor may be negative, and has no logarithm
            K = np.ones((len(a[0]), len(b[0])))
            for x, z in zip(a[0].T, b[0].T, strict=True):
                K *= 1.0 + np.multiply.outer(x, z)
            return K
        else:
            L = np.zeros((len(a[0]), len(b[0])))
            for x, z in zip(a[0].T, b[0].T, strict=True):
                L += np.log2(1.0 + np.multiply.outer(x, z))
        if self.output == "log":
            return np.asarray(L * np.log(2.0))
        if self.output == "normalized":
            L -= 0.5 * a[1][:, None]
            L -= 0.5 * b[1]
        return np.asarray(np.exp2(L))

    def diagonal(self, a: Embedding) -> Array:
        if self.output == "normalized":
            return np.ones(len(a[1]))
        return np.asarray(a[1] * np.log(2.0) if self.output == "log" else np.exp2(a[1]))

    def features(self, X: Any, reference: Any = None) -> Any:
        reference = reference or self.reference(X)
        if self.output != "log" or not reference[1]:
            return None
        return self.embed(X, reference)[0] * np.sqrt(np.log(2.0))


def _is_matrix(X: Any) -> bool:
    return bool(sp.issparse(X) or X.dtype != object)


def _indicators(X: Any, items: Mapping[Hashable, int]) -> Any:
    """Return the matrix with a 1 where a sample has an item."""
    row = np.repeat(np.arange(len(X)), [len(sample) for sample in X])
    column = np.array([items.get(item, -1) for sample in X for item in sample], dtype=np.int64)
    known = column >= 0
    return count_matrix(row[known], column[known], (len(X), len(items)))


def _as_collection(X: Any) -> Any:
    """Return an object array of frozen sets, or a finite matrix, dense or CSR."""
    if isinstance(X, str | bytes | Mapping) or (not hasattr(X, "__len__") and not sp.issparse(X)):
        raise TypeError(f"AllSubsets: expected several sets, got {type(X).__name__}. {ADVICE}.")
    if hasattr(X, "to_numpy"):
        X = X.to_numpy()  # pandas and polars
    if isinstance(X, list | tuple) and _looks_like_indicators(X):
        X = np.array(X, dtype=np.float64)
    if sp.issparse(X) or (isinstance(X, np.ndarray) and X.dtype.kind in "biuf"):
        X = check_array(X, accept_sparse="csr", dtype=np.float64, ensure_all_finite=False)
        check_finite(X)
        return X
    if not len(X):
        raise ValueError(f"AllSubsets: expected at least 1 set, got 0 sample(s). {ADVICE}.")
    result = np.empty(len(X), dtype=object)
    for row, sample in enumerate(X):
        result[row] = _as_set(sample, row)
    return result


def _looks_like_indicators(X: Any) -> bool:
    rows = all(isinstance(row, list | tuple) and len(row) == len(X[0]) for row in X)
    return bool(X) and rows and all(v in (0, 1) and not isinstance(v, str) for r in X for v in r)


def _as_set(sample: Any, row: int) -> frozenset[Hashable]:
    if isinstance(sample, str | bytes) or not isinstance(
        sample, list | tuple | set | frozenset | np.ndarray
    ):
        shown = "a missing value" if sample is None else f"{type(sample).__name__} ({sample!r})"
        raise TypeError(f"AllSubsets: expected a set, got {shown} in row {row}. {ADVICE}.")
    items = sample.tolist() if isinstance(sample, np.ndarray) else sample
    try:
        found = frozenset(items)
    except TypeError:
        raise TypeError(
            f"AllSubsets: expected hashable items, got {abridged(sample)} in row {row}. {ADVICE}."
        ) from None
    if len(found) < len(items):
        raise ValueError(
            f"AllSubsets: expected distinct items, got repeated ones in row {row}. Use set(row), "
            "or pass an indicator matrix as an array."
        )
    return found
