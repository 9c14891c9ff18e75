"""Samples: what the user passed, read once, and the kernel blocks that are cut from it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_consistent_length

from gramsmith.gram.views import Views, take_rows
from gramsmith.kernels import Kernel, Precomputed, as_kernel, check_kernel_matrix
from gramsmith.kernels.adapt import NAMES
from gramsmith.kernels.geometry import PairKernel, SquaredEuclidean
from gramsmith.kernels.precomputed import is_precomputed, rests_on_matrix
from gramsmith.machines.base import KernelMachine
from gramsmith.machines.pipelines import ModelPipeline, TakeView
from gramsmith.selection.candidates import (
    ONE_HOT,
    POWERS,
    UNSCALED,
    Candidate,
    are_counts,
    asks_for_counts,
    is_matrix,
)
from gramsmith.tables import TableEncoder, TakeColumn, Texts
from gramsmith.tables.convert import plain_table
from gramsmith.tables.decide import NO_COLUMNS, ColumnTable
from gramsmith.tables.streams import DataError

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Samples:
    """The views of the samples, from which blocks of kernel matrices are cut.

    A view is an array or sparse matrix of n rows, a sequence of n objects, or a Gram matrix for
    candidates that are precomputed.
    """

    views: tuple[Any, ...]
    encoders: tuple[Any, ...] = ()  # matrices among the kernels have none
    sources: tuple[int, ...] = ()  # for each encoder, which of the user's views it encodes
    several: bool = False  # whether the user passed a tuple of views
    variants: tuple[str, ...] = ()  # how each view differs from the plain encoding
    columns: ColumnTable = NO_COLUMNS  # what the columns of a table are
    tables: tuple[Any, ...] = ()  # what each encoder encoded; None where there is nothing to learn

    @property
    def column_blocks(self) -> list[int] | None:
        """The blocks of a table whose columns are of several kinds; None for others."""
        first = self.encoders[0] if self.encoders and not self.several else None
        kinds = {column.kind for column in self.columns if column.role == "input"}
        if not isinstance(first, TableEncoder) or len(kinds) < 2:
            return None
        return first.blocks()

    @property
    def n_features(self) -> int | None:
        """The number of columns of the first view; None for objects."""
        first = self.views[0]
        return int(first.shape[1]) if getattr(first, "ndim", 1) == 2 else None

    @property
    def unscaled(self) -> dict[int, int]:
        """For views of the user, which view has their numbers as they are."""
        return {
            self.sources[v]: v for v, variant in enumerate(self.variants) if variant == UNSCALED
        }

    def check_signs(self, candidate: Candidate, rows: Array | None = None) -> None:
        """Raise a DataError that names the column of a value below zero which a kernel cannot take.

        Only some rows are looked at, where these are given.
        """
        X = self.views[candidate.view]
        if not candidate.kernel.requires_nonnegative_input or getattr(X, "ndim", 1) != 2:
            return
        X = X if rows is None else take_rows(X, rows)
        if not X.shape[0] or not X.min() < 0:
            return
        coordinates = X.tocoo() if sp.issparse(X) else None
        at = (
            np.argwhere(X < 0)
            if coordinates is None
            else np.transpose(coordinates.coords)[coordinates.data < 0]
        )
        row, j = (int(k) for k in at[0])
        encoder, value = self.encoder(candidate), X[row, j]
        column: Any = j
        encoded = ""
        if isinstance(encoder, TableEncoder):
            column = encoder.column_names()[int(encoder.sources()[j])]
            number = int(encoder.sources()[j]) in encoder.numbers_.columns_
            encoded = "" if number else f" for {encoder.feature_names_out_[j]!r} in its encoding"
        raise DataError(
            f"expected non-negative values, which the kernel {candidate.name!r} needs, got "
            f"{value:.6g}{encoded}.",
            "Shift or count this column, leave it out, or use another kernel.",
            column=column,
            row=row if rows is None else int(rows[row]),
        )

    def encoder(self, candidate: Candidate) -> Any:
        """Return what encodes the view of a candidate, if anything does."""
        return self.encoders[candidate.view] if candidate.view < len(self.encoders) else None

    def pipeline(self, candidate: Candidate, X: Any, machine: Any) -> Any:
        """Return a machine of a candidate's view with the steps from what the user passed, X."""
        steps: list[tuple[str, Any]] = []
        if self.several and candidate.view < len(self.sources):
            steps.append(("view", TakeView(self.sources[candidate.view]).fit(X)))
        encoder = self.encoder(candidate)
        if encoder is not None:
            steps.append(("column" if isinstance(encoder, TakeColumn) else "encode", encoder))
        made = ModelPipeline if isinstance(machine, KernelMachine) else Pipeline
        return made([*steps, ("model", machine)]) if steps else machine

    def of_rows(self, candidates: Sequence[Candidate], rows: Array) -> Samples:
        """Return some of the samples; of Gram matrices, rows and columns."""
        matrices = {c.view for c in candidates if isinstance(c.kernel, Precomputed)}
        views = [take_rows(X, rows, square=v in matrices) for v, X in enumerate(self.views)]
        tables = [table and [cells.at(rows) for cells in table] for table in self.tables]
        return replace(self, views=tuple(views), tables=tuple(tables))

    def learned_from(self, rows: Array) -> Samples:
        """Return all samples, encoded by what some of the rows alone can teach."""
        views = list(self.views)
        for v, table in enumerate(self.tables):
            if table is not None:
                views[v] = self.encoders[v].encode_from(table, rows)
        return replace(self, views=tuple(views))

    def test_view(self, candidate: Candidate, train: Array, test: Array) -> Any:
        """Return test samples as a machine takes them that was trained on others."""
        X = self.views[candidate.view]
        if isinstance(candidate.kernel, Precomputed):
            return _cut(X, test, train)
        return as_array(take_rows(X, test))

    def of(self, candidates: Sequence[Candidate]) -> Views:
        """Return the kernels of candidates, each with its view."""
        return Views(
            tuple(c.name for c in candidates),
            tuple(c.kernel for c in candidates),
            tuple(self.views[c.view] for c in candidates),
            shared=False,
        )

    def block(self, candidate: Candidate, rows: Array, columns: Array) -> Array:
        """Return a block of the kernel matrix of one candidate."""
        [(_, block)] = self.blocks([candidate], rows, columns)
        return block()

    def gram(self, candidate: Candidate, rows: Array) -> Array:
        """Return the Gram matrix of some rows, symmetric to the last digit."""
        return symmetric(self.block(candidate, rows, rows))

    def blocks(
        self, candidates: Sequence[Candidate], rows: Array, columns: Array
    ) -> Iterator[tuple[int, Callable[[], Array]]]:
        """Yield (position, function that returns the kernel block), distances computed once."""
        shared: dict[Any, list[int]] = {}
        for i, candidate in enumerate(candidates):
            shared.setdefault(_geometry_key(candidate, i), []).append(i)
        for members in shared.values():
            first = candidates[members[0]]
            X = self.views[first.view]
            if isinstance(first.kernel, Precomputed):
                yield members[0], partial(_cut, X, rows, columns)
            elif len(members) == 1:
                yield members[0], partial(_evaluate, first.kernel, X, rows, columns)
            else:
                kernels = [candidates[i].kernel for i in members]
                degree, s = _distances(kernels, X, rows, columns)
                for i, kernel in zip(members, kernels, strict=True):
                    unit = float(kernel.scale) ** degree if kernel.scales_inputs else 1.0
                    yield i, partial(_of_distances, kernel, s, unit)


def symmetric(K: Array) -> Array:
    """Return the mean of a matrix and its transpose, with no third matrix beside them."""
    S = K + K.T
    S *= 0.5
    return S


def _cut(K: Any, rows: Array, columns: Array) -> Array:
    return np.asarray(K[np.ix_(rows, columns)], dtype=np.float64)


def _evaluate(kernel: Any, X: Any, rows: Array, columns: Array) -> Array:
    return np.asarray(kernel(take_rows(X, rows), take_rows(X, columns)), dtype=np.float64)


def _of_distances(kernel: Any, s: Array, unit: float) -> Array:
    return np.asarray(kernel.value(s / unit), dtype=np.float64)


def _distances(kernels: Sequence[Any], X: Any, rows: Array, columns: Array) -> tuple[float, Array]:
    """Return what kernels of one geometry have in common, and the power in which it scales."""
    A, B = (kernels[0].check_input(take_rows(X, index)) for index in (rows, columns))
    geometry = kernels[0].geometry
    if isinstance(geometry, SquaredEuclidean):  # what serves all of them, whatever their scales
        geometry = SquaredEuclidean(cusp=any(k.geometry.cusp for k in kernels))
    reference = geometry.reference(B)
    a, b = (geometry.embed(part, reference, 1.0, np.float64) for part in (A, B))
    s = geometry.pair(a, b)
    if geometry.least is not None:  # rounding may take a distance below zero
        np.maximum(s, geometry.least, out=s)
    return geometry.degree(), s


def _geometry_key(candidate: Candidate, i: int) -> Any:
    kernel = candidate.kernel
    if isinstance(kernel, PairKernel) and np.ndim(kernel.scale) == 0:
        return type(kernel.geometry).__name__, candidate.view
    return i


def as_array(X: Any) -> Any:
    """Return a sequence of objects as an array of objects, and what is an array as it is."""
    if hasattr(X, "shape"):
        return X
    out = np.empty(len(X), dtype=object)
    out[:] = list(X)
    return out


def read_samples(
    X: Any,
    y: Array,
    kernels: Any,
    roles: Any = None,
    rows: Array | None = None,
) -> Samples:
    """Return the samples of targets y as kernels take them, or raise before any work.

    Encoders learn from some rows, where these are given: the others have no weight.
    """
    n = len(y)
    several = isinstance(X, tuple)
    auto = isinstance(kernels, str) and kernels == "auto"
    encoded: list[tuple[Any, Any, int, str]] = []
    tables: dict[int, Any] = {}
    columns = NO_COLUMNS
    if several and not X:
        raise ValueError("Expected at least one view of the samples in X, got an empty tuple.")
    unscaled: list[tuple[Any, Any, int, str]] = []  # after the views of the user
    for source, view in enumerate(X if several else (X,)):
        if view is None and _all_matrices(kernels):
            # all kernels are matrices: the row numbers stand for the samples
            view = np.arange(n, dtype=float)[:, None]
        check_consistent_length(view, np.empty(n))
        if all_precomputed(kernels):
            encoded.append((check_kernel_matrix(view, psd="ignore"), None, source, ""))
        elif is_table(view) and not (isinstance(view, list) and _compare_objects(kernels)):
            seen = view if rows is None else take_rows(view, rows)
            encoder = TableEncoder(roles=roles).fit(seen, y if rows is None else y[rows])
            columns = encoder.columns_
            inputs = [column for column in columns if column.role == "input"]
            if (
                auto
                and len(inputs) == 1
                and inputs[0].kind in Texts.kinds
                and not inputs[0].missing
            ):
                # nothing but texts: these are the samples, and string kernels compare them
                taken = TakeColumn(inputs[0].name).fit(seen)
                encoded.append((taken.transform(view), taken, source, ""))
                continue
            encoded.append((_encoded(encoder, view, rows), encoder, source, ""))
            tables[source] = plain_table(view)
            if auto and not several and not sp.issparse(encoded[-1][0]):
                encoded += [
                    (_encoded(coded, view, rows), coded, 0, word)
                    for word, coded in _variants(seen, encoder)
                ]
            elif not auto and _ask_for_counts(kernels, source if several else None):
                coded = TableEncoder(scale=False, roles=roles).fit(seen)
                unscaled.append((_encoded(coded, view, rows), coded, source, UNSCALED))
        else:
            # a column of a data frame is read by place, whatever its index says
            encoded.append((view if isinstance(view, np.ndarray) else list(view), None, source, ""))
    views, encoders, sources, variants = zip(*encoded, *unscaled, strict=True)
    learned = [
        tables.get(source) if isinstance(encoder, TableEncoder) else None
        for encoder, source in zip(encoders, sources, strict=True)
    ]
    return Samples(views, encoders, sources, several, variants, columns, tuple(learned))


def _encoded(encoder: TableEncoder, view: Any, rows: Array | None) -> Any:
    """Return a view as an encoder has it; what is odd in rows of no weight is nobody's concern."""
    with warnings.catch_warnings():
        if rows is not None:
            warnings.simplefilter("ignore", UserWarning)
        return encoder.transform(view)


def _variants(X: Any, plain: TableEncoder) -> Iterator[tuple[str, TableEncoder]]:
    """Yield other encodings of a table that are worth a view of their own."""
    roles = plain.roles
    coded = TableEncoder(indicators=True, roles=roles).fit(X)
    # where such columns are more than a few
    leveled = sum(len(levels) > 0 for levels in coded.numbers_.levels_)
    if leveled and 3 * leveled >= len(coded.numbers_.columns_):
        yield ONE_HOT, coded
    powered = TableEncoder(power=True, roles=roles).fit(X)
    if powered.numbers_.unskews:
        yield POWERS, powered
    if len(plain.numbers_.columns_) == len(plain.sources()):
        counted = TableEncoder(scale=False, roles=roles).fit(X)
        if are_counts(counted.transform(X)):
            yield UNSCALED, counted


def _all_matrices(kernels: Any) -> bool:
    named = _named(kernels)
    if not isinstance(kernels, str) and named and all(is_matrix(kernel) for kernel in named):
        return True
    raise ValueError(
        "Expected samples X, got None. Without samples all kernels must be (n, n) matrices."
    )


def is_table(X: Any) -> bool:
    """Return whether X is a table of columns, as opposed to a sequence of strings or objects."""
    if hasattr(X, "columns") or sp.issparse(X):
        return True
    if hasattr(X, "shape"):
        symbols = getattr(X.dtype, "kind", "O") in "UTOS" and len(X.shape) == 1
        return not symbols or bool(hasattr(X.dtype, "is_numeric") and X.dtype.is_numeric())
    return not (isinstance(X, (list, tuple)) and len(X) and isinstance(X[0], (str, bytes)))


def all_precomputed(kernels: Any) -> bool:
    """Return whether the samples are rows of a Gram matrix; some kernels only is an error."""
    named = _named(kernels)
    matrices = [is_precomputed(kernel) for kernel in named]
    for kernel, matrix in zip(named, matrices, strict=True):
        if isinstance(kernel, Kernel) and not matrix and rests_on_matrix(kernel):
            raise ValueError(
                f"Expected kernels of samples or matrices, got the expression {kernel} of a "
                "matrix. Compute it, and pass the result as one of the kernels."
            )
    if any(matrices) and not all(matrices):
        raise ValueError(
            'Expected "precomputed" alone, which says that X is a Gram matrix, got other kernels '
            "beside it. Pass the matrix itself as one of the kernels."
        )
    return bool(matrices) and all(matrices)


def _compare_objects(kernels: Any) -> bool:
    """Return whether all kernels a user named compare sets, token lists or trees."""
    named = _named(kernels)
    return all(isinstance(k, Kernel) and not k.requires_vector_input for k in named)


def _ask_for_counts(kernels: Any, view: int | None) -> bool:
    """Return whether a kernel a user named for a view, None being the only one, needs counts."""
    named = _named(kernels)
    of_view = named if view is None else named[view : view + 1]
    resolved = [as_kernel(k) if isinstance(k, str) and k in NAMES else k for k in of_view]
    return any(isinstance(k, Kernel) and asks_for_counts(k) for k in resolved)


def _named(kernels: Any) -> list[Any]:
    """Return the kernels a user named; of grids, the kernel."""
    if not isinstance(kernels, (dict, list, tuple)):
        kernels = [kernels]
    given = kernels.values() if isinstance(kernels, dict) else kernels
    return [kernel[0] if isinstance(kernel, tuple) and kernel else kernel for kernel in given]
