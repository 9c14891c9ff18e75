"""Steps before a machine as ONNX operators: encoders, scalers, imputers, chosen columns.

Rows between two steps are one matrix of the graph, or a list of its columns where some are texts
and others numbers; a missing cell is NaN among numbers and "" among texts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PowerTransformer,
    StandardScaler,
)

from gramsmith.export.graph import Array, Graph, Tensor
from gramsmith.export.kernels import NotExportable, mapped
from gramsmith.kernels import KernelCenterer
from gramsmith.learning import SpectralAligner, TransformLearner
from gramsmith.storage.transformers import rare_of, scaler_of
from gramsmith.tables import TableEncoder
from gramsmith.tables.blocks import yeo_johnson

Rows = Tensor | list[Tensor]
Kinds = list[Any]  # for every column float64, object_ (texts), or None where it is not used


def inputs(graph: Graph, steps: Sequence[Any], machine: Any) -> Rows:
    """Return the inputs of a graph: ``X``, or one per column that is used where some are texts."""
    width = width_of(steps[0] if steps else machine)
    kinds: Kinds = []
    for step in reversed(steps):
        kinds = _kinds(step, kinds)
    encodes = bool(steps) and isinstance(steps[0], TableEncoder) and not steps[0].takes_matrix
    if not encodes and np.object_ not in kinds:
        return graph.input("X", np.float64, ["n", width])
    names = _names(steps[0])
    return [
        Tensor(graph, "")  # a column that no step takes
        if kind is None
        else graph.input(names[j], kind, ["n"]).call("Unsqueeze", np.array([1]))
        for j, kind in enumerate(kinds)
    ]


def transformed(step: Any, rows: Rows) -> Rows:
    """Return what a fitted step makes of rows."""
    for kind, formula in TABLES.items():
        if type(step) is kind:
            return formula(step, rows)
    for kind, of_matrix in MATRICES.items():
        if type(step) is kind:
            return of_matrix(step, matrix_of(rows))
    raise NotExportable(
        "Expected steps of gramsmith, or those of scikit-learn that save_model keeps, got "
        f"{type(step).__name__}. Transform the rows before the model, and export what follows."
    )


def matrix_of(rows: Rows) -> Tensor:
    """Return rows as one matrix."""
    parts: Any = rows
    joined: Any = np.hstack(parts) if isinstance(rows, list) else parts
    return joined


def width_of(step: Any) -> int:
    """Return the number of columns that a step or a machine takes."""
    width = getattr(step, "n_features_in_", None)
    rows = getattr(step, "support_samples_", None)
    if width is None and isinstance(step, Pipeline):
        return width_of(step.steps[0][1])
    if width is None and getattr(rows, "ndim", 0) == 2:
        width = step.support_samples_.shape[1]
    if width is None:
        raise NotExportable(
            f"Expected a model of vectors, got {type(step).__name__} of strings, sets or several "
            "views, for which ONNX has no operators. Keep the model with save_model."
        )
    return int(width)


def _names(step: Any) -> list[str]:
    given = getattr(step, "column_names_", getattr(step, "feature_names_in_", None))
    return [f"x{j}" for j in range(step.n_features_in_)] if given is None else list(map(str, given))


def _column(rows: Rows, j: int) -> Tensor:
    found: Tensor = rows[j] if isinstance(rows, list) else rows.columns([j])
    return found


# ---- what a column must be ----------------------------------------------------------------------


def _kinds(step: Any, after: Kinds) -> Kinds:
    """Return the kinds of the columns that a step takes, if what it returns has those of `after`.

    Where nothing is said of what a step returns, it is numbers.
    """
    if isinstance(step, Pipeline):
        for _, part in reversed(step.steps):
            after = _kinds(part, after)
        return after
    if isinstance(step, str) or _passes(step):
        return after
    if isinstance(step, TableEncoder):
        words = {"left out": None, "category": np.object_, "ordered": np.object_}
        return [words.get(kind, np.float64) for kind in step.kinds_.tolist()]
    if isinstance(step, (OneHotEncoder, OrdinalEncoder)):
        return [_kind_of(values) for values in step.categories_]
    if isinstance(step, SimpleImputer):
        return [_kind_of([value]) for value in step.statistics_]
    if not isinstance(step, ColumnTransformer):
        return [np.float64] * width_of(step)
    kinds: Kinds = [None] * step.n_features_in_
    for name, part, places in _parts(step):
        cut = step.output_indices_[name]
        own = after[cut] if after else [np.float64] * (cut.stop - cut.start)
        for j, kind in zip(places, _kinds(part, own), strict=True):
            if kinds[j] not in (None, kind):
                raise NotExportable(
                    f"Expected columns of numbers or of texts, got {_names(step)[j]!r}, which is "
                    "taken for both."
                )
            kinds[j] = kind
    return kinds


def _kind_of(values: Any) -> Any:
    return np.object_ if any(isinstance(value, str) for value in values) else np.float64


def _passes(part: Any) -> bool:
    return isinstance(part, FunctionTransformer) and part.func is None


def _parts(step: ColumnTransformer) -> list[tuple[str, Any, list[int]]]:
    """Return the parts of a column transformer that return columns, with the places they take."""
    p = step.n_features_in_
    numbers = {name: j for j, name in enumerate(_names(step))}

    def place(end: Any, more: int = 0) -> Any:
        return numbers[end] + more if isinstance(end, str) else end

    found = []
    for name, part, columns in step.transformers_:
        if isinstance(columns, slice):  # one of names has its last
            columns = slice(place(columns.start), place(columns.stop, 1), columns.step)
        else:
            listed = [columns] if np.ndim(columns) == 0 else list(columns)
            flags = all(isinstance(c, (bool, np.bool_)) for c in listed)
            columns = np.array([place(c) for c in listed], dtype=bool if flags else np.int64)
        places = np.arange(p)[columns].tolist()
        if places and not (isinstance(part, str) and part == "drop"):
            found.append((name, part, places))
    return found


# ---- steps that look at single columns ----------------------------------------------------------


def _piped(step: Pipeline, rows: Rows) -> Rows:
    for _, part in step.steps:
        if part is not None and not isinstance(part, str):
            rows = transformed(part, rows)
    return rows


def _chosen(step: ColumnTransformer, rows: Rows) -> Rows:
    weights, found = step.transformer_weights or {}, []
    for name, part, places in _parts(step):
        own = [_column(rows, j) for j in places]
        made = own if isinstance(part, str) or _passes(part) else transformed(part, own)
        if name in weights:
            made = matrix_of(made) * float(weights[name])
        cut = step.output_indices_[name]
        found += [_column(made, k) for k in range(cut.stop - cut.start)]
    return found


def _encoded(step: TableEncoder, rows: Rows) -> Rows:
    if step.takes_matrix:
        numbers: Tensor = step.numbers_.formula(matrix_of(rows))
        return numbers
    *others, texts = step.blocks_
    if len(texts.columns_):
        raise NotExportable(
            f"Expected numbers, categories and dates, got the texts of column "
            f"{_names(step)[texts.columns_[0]]!r}, for which ONNX has no operators. Encode the "
            "table with the first step of the pipeline, and export what follows."
        )
    return matrix_of([p for b in others for p in b.export(lambda j, kind: _column(rows, j))])


def _imputed(step: SimpleImputer, rows: Rows) -> Rows:
    found: list[Any] = []
    gaps: list[Any] = []
    for j, value in enumerate(step.statistics_):
        x: Any = _column(rows, j)
        values = np.array([value], dtype=_kind_of([value]))
        gaps.append(_hits(x, np.array([step.missing_values], dtype=object), values.dtype.kind))
        if step.keep_empty_features or value == value:  # NaN: a column that was empty in fit
            found.append(np.where(gaps[j], values[None, :], x))
    if step.indicator_ is not None:
        found += [gaps[j].astype(np.float64) for j in step.indicator_.features_]
    return found


def _hits(x: Any, values: Any, kind: str) -> Any:
    """Return where a column has each of some values; None, NaN and the like are missing cells."""
    if kind == "O":
        words = [value if isinstance(value, str) else "" for value in values.tolist()]
        if len(set(words)) < len(words):
            raise NotExportable("Expected one category of missing cells, got several.")
        return np.equal(x, np.array([words], dtype=object))
    numbers = values.astype(np.float64)[None, :]
    equal = np.equal(x, numbers)
    absent = np.isnan(numbers)
    if not absent.any():
        return equal
    # NaN does not equal itself
    return np.where(np.isnan(x), absent.astype(np.float64), equal.astype(np.float64)) > 0.5


def _grouped(step: Any, rows: Rows, j: int) -> tuple[Any, Array, bool]:
    """Return where a column has each category, the group of each, and whether the last is rare.

    Groups are the frequent categories in order, then all rare ones together.
    """
    values = step.categories_[j]
    hits = _hits(_column(rows, j), values, np.dtype(_kind_of(values)).kind).astype(np.float64)
    rare = rare_of(step)[j]
    groups = np.zeros(len(values), dtype=np.int64)
    often = np.ones(len(values), dtype=bool)
    often[[] if rare is None else rare] = False
    if isinstance(step, OrdinalEncoder):  # which has a number apart for missing cells
        often &= ~_absent(values)
    groups[often] = np.arange(often.sum())
    groups[~often] = often.sum()
    return hits, groups, not often.all()


def _absent(values: Array) -> Array:
    """Return which categories stand for missing cells."""
    return np.array([value is None or value != value for value in values.tolist()])


def _one_hot(step: OneHotEncoder, rows: Rows) -> Rows:
    found = []
    for j in range(len(step.categories_)):
        hits, groups, rare = _grouped(step, rows, j)
        columns = np.arange(groups.max() + 1)
        dropped = None if step.drop_idx_ is None else step.drop_idx_[j]
        if dropped is not None:  # a rare category goes with all rare ones
            columns = columns[columns != groups[dropped]]
        made = hits @ (groups[:, None] == columns).astype(np.float64)
        if rare and step.handle_unknown in ("infrequent_if_exist", "warn"):
            made = made + (1.0 - hits.total()) * (columns == groups.max()).astype(np.float64)
        if len(columns):
            found.append(made)
    return matrix_of(found)


def _ordinal(step: OrdinalEncoder, rows: Rows) -> Rows:
    found: list[Any] = []
    for j, values in enumerate(step.categories_):
        hits, groups, _ = _grouped(step, rows, j)
        absent = _absent(values)
        place = hits @ np.where(absent, 0.0, groups)[:, None]
        gap = hits @ absent.astype(np.float64)[:, None] > 0.5
        place = np.where(gap, float(step.encoded_missing_value), place)
        unknown = np.nan if step.unknown_value is None else step.unknown_value
        found.append(np.where(hits.total() > 0.5, place, float(unknown)))
    return matrix_of(found)


# ---- steps that take a matrix of numbers --------------------------------------------------------


def _standardised(step: StandardScaler, X: Tensor) -> Tensor:
    X = X - step.mean_ if step.with_mean else X
    return X / step.scale_ if step.with_std else X


def _ranged(step: MinMaxScaler, X: Tensor) -> Tensor:
    Z = X * step.scale_ + step.min_
    if not step.clip:
        return Z
    low, high = step.feature_range
    return Z.call("Max", np.float64(low)).call("Min", np.float64(high))


def _powered(step: PowerTransformer, X: Tensor) -> Tensor:
    columns: list[Any] = []
    for j, power in enumerate(step.lambdas_.tolist()):
        x: Any = X.columns([j])
        if step.method == "yeo-johnson":
            columns.append(np.where(np.isnan(x), np.nan, yeo_johnson(x, power)))
        else:
            columns.append(np.log(x) if power == 0.0 else np.expm1(np.log(x) * power) / power)
    scaler = scaler_of(step)
    Z: Any = np.hstack(columns)
    return Z if scaler is None else _standardised(scaler, Z)


def _centred(step: KernelCenterer, X: Tensor) -> Tensor:
    return X - X.call("ReduceMean", np.array([1]), keepdims=1) - step.means_ + step.mean_


TABLES: dict[type, Callable[[Any, Rows], Rows]] = {
    Pipeline: _piped,
    ColumnTransformer: _chosen,
    TableEncoder: _encoded,
    SimpleImputer: _imputed,
    OneHotEncoder: _one_hot,
    OrdinalEncoder: _ordinal,
}
MATRICES: dict[type, Callable[[Any, Tensor], Tensor]] = {
    StandardScaler: _standardised,
    MinMaxScaler: _ranged,
    PowerTransformer: _powered,
    TransformLearner: lambda step, X: mapped(step.kernel_.map, X, width_of(step)),
    SpectralAligner: lambda step, X: mapped(step.kernel_.map, X, width_of(step)),
    KernelCenterer: _centred,
}
