"""Values of a function of two samples, each computed once.

A pair may cost a second, or money. Samples are known by their content, so that folds, parts and
copies of a table find the values of the whole; k(x, z) = k(z, x) is taken for granted.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from gramsmith.arguments import abridged, as_numbers
from gramsmith.fingerprint import fingerprint
from gramsmith.kernels.pair_file import PairFile

Array = npt.NDArray[Any]

# Samples whose pairs are kept: a triangle of 1.2 GB if all of them are met. Pairs of further ones
# are computed once in every pass.
KEPT = 1 << 14


class PairValues:
    """The values of a function for all pairs of samples met so far, as one triangle of numbers."""

    def __init__(self, function: Callable[[Any, Any], Any], cache: Any = None) -> None:
        self.function, self.cache = function, cache
        self._file = None if cache is None else PairFile(cache, function)
        # whether it takes matrices instead, once known; what is kept in a file is not tried
        self.in_matrices: bool | None = None if cache is None else False
        self._numbers: dict[Any, int] = {}
        self._names: list[str] = []  # of the samples in the file, by their numbers
        self._met: list[Any] = []  # samples known by their identity stay, or another might take it
        self._triangle = np.zeros(0), np.zeros(0, dtype=bool)  # values, and which are known
        self._lock = threading.Lock()

    def numbers(self, X: Any) -> Array:
        """Return a number for every sample, the same for equal ones."""
        with self._lock:
            found = [self._number(X[i]) for i in range(X.shape[0])]
            kept = min(len(self._numbers), KEPT)
            room = kept * (kept + 1) // 2
            values, known = self._triangle
            if room > len(values):
                room = max(room, min(2 * len(values), KEPT * (KEPT + 1) // 2))
                larger = np.zeros(room), np.zeros(room, dtype=bool)
                # what is known first: another thread writes a value before it says so
                larger[1][: len(known)] = known
                larger[0][: len(values)] = values
                self._triangle = larger
        return np.array(found, dtype=np.int64)

    def _number(self, x: Any) -> int:
        key = _content(x)
        if key is None and self._file is not None:
            raise TypeError(
                "Expected samples of numbers, texts or lists of them beside cache=, got one of "
                f"type {type(x).__name__}, which another process could not find again. Leave out "
                "cache, or use such samples."
            )
        if key is None:
            key = id(x)
            self._met.append(x)
        number = self._numbers.setdefault(key, len(self._numbers))
        if self._file is not None and number == len(self._names):
            self._names.append(fingerprint(key))
        return number

    def matrix(self, A: Any, a: Array, B: Any, b: Array) -> Array:
        """Return the values of all pairs of two blocks with the numbers a and b."""
        rows, columns = np.divmod(np.arange(len(a) * len(b)), max(len(b), 1))
        return self._of(A, a, B, b, rows, columns).reshape(len(a), len(b))

    def diagonal(self, A: Any, a: Array) -> Array:
        """Return the value of every sample with itself."""
        each = np.arange(len(a))
        return self._of(A, a, A, a, each, each)

    def _of(self, A: Any, a: Array, B: Any, b: Array, rows: Array, columns: Array) -> Array:
        low, high = np.minimum(a[rows], b[columns]), np.maximum(a[rows], b[columns])
        place = high * (high + 1) // 2 + low
        values, known = self._triangle
        kept = place < len(values)
        missing = np.ones(len(place), dtype=bool)
        missing[kept] = ~known[place[kept]]
        found = np.empty(len(place))
        found[~missing] = values[place[~missing]]
        asked, first, which = np.unique(place[missing], return_index=True, return_inverse=True)
        pairs = np.flatnonzero(missing)[first]
        new = np.empty(len(asked))
        lent = nullcontext() if self._file is None or not len(asked) else self._file.opened()
        with lent as file:
            # one after the other, in the order of the samples: each is kept even if the next fails
            for k in np.argsort(pairs, kind="stable"):
                i, j = rows[pairs[k]], columns[pairs[k]]
                key = b"" if file is None else file.key(self._names[a[i]], self._names[b[j]])
                value = None if file is None else file.get(key)
                new[k] = self._call(A[i], B[j]) if value is None else value
                if asked[k] < len(values):
                    values[asked[k]] = new[k]
                    known[asked[k]] = True
                if file is not None and value is None:
                    file.put(key, float(new[k]))
        found[missing] = new[which]
        return found

    def _call(self, x: Any, z: Any) -> float:
        value = np.asarray(self.function(x, z))
        if value.size != 1:
            raise ValueError(
                f"Expected one number for a pair of samples, got an array of shape {value.shape}."
            )
        if (number := as_numbers(value)) is None:
            raise TypeError(
                f"Expected one number for a pair of samples, got {abridged(value.item())}."
            )
        return float(number.item())

    def __getstate__(self) -> dict[str, Any]:
        # other processes compute their own part, unless there is a file
        return {"function": self.function, "cache": self.cache, "in_matrices": self.in_matrices}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["function"], state["cache"])  # type: ignore[misc]
        self.in_matrices = state["in_matrices"]


def _content(x: Any) -> Any:
    """Return what equal samples have in common, None where only their identity tells them apart."""
    if sp.issparse(x):
        row = x.tocsr()
        return ("sparse", row.shape, row.indices.tobytes(), row.data.tobytes())
    if isinstance(x, np.ndarray) and x.dtype != object:
        return (x.dtype.str, x.shape, x.tobytes())
    if isinstance(x, np.ndarray | list | tuple):
        parts = tuple(_content(part) for part in x)
        return None if None in parts else (type(x), parts)
    if isinstance(x, str | bytes | int | float | frozenset | np.generic):
        return (type(x), x)
    return None
