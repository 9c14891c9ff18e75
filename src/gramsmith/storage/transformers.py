"""scikit-learn's imputer, encoders and column transformer: what is kept of them and made again.

They hold types, slices and private notes that differ between versions of scikit-learn. Kept are the
facts behind them (statistics, categories, columns). A transformer is made again by `fit` on a few
rows that these facts describe; then its documented attributes are set to what was kept.
"""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import (
    FunctionTransformer,
    OneHotEncoder,
    OrdinalEncoder,
    PowerTransformer,
    StandardScaler,
)

from gramsmith.storage.container import TYPES, Array

Parts = dict[str, Any]

CELLS = 10_000_000  # of the rows that a transformer is fitted on: a forged file could ask for more


def _need(sound: Any, wanted: str) -> None:
    if not sound:
        raise ValueError(f"Expected {wanted}, got other.")


def _some(fitted: Parts, name: str) -> Parts:
    """Return one attribute, and what every transformer knows of its input."""
    names = (name, "n_features_in_", "feature_names_in_")
    return {name: fitted[name] for name in names if name in fitted}


def _refitted(model: Any, X: Any, fitted: Parts) -> Any:
    """Return a transformer after `fit`, its documented attributes set to those of the file."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of rows that are not the user's
        model.fit(X)
    for name, value in fitted.items():
        setattr(model, name, value)
    return model


def _table(columns: list[Array], names: Any = None) -> Any:
    """Return columns as one array, or as a data frame where they have names or several types."""
    types = {column.dtype for column in columns}
    if len(types) == 1 and names is None:
        return np.column_stack(columns)
    import pandas as pd

    frame = pd.DataFrame(dict(enumerate(columns)))
    return frame if names is None else frame.set_axis(np.asarray(names, dtype=object), axis=1)


# ---- gaps ---------------------------------------------------------------------------------------


def _keep_imputer(model: Any, params: Parts, fitted: Parts) -> tuple[Parts, Parts]:
    if not fitted:
        return params, fitted
    stored = _some(fitted, "statistics_")
    # the only note that nothing public tells: what the type of new rows is compared with
    stored["fit_dtype"] = np.dtype(model.__getstate__()["_fit_dtype"]).name
    gaps = model.indicator_
    stored["indicator"] = None if gaps is None else np.asarray(gaps.features_, dtype=np.int64)
    return params, stored


def _make_imputer(params: Parts, fitted: Parts) -> Any:
    model = SimpleImputer(**params)
    if not fitted:
        return model
    state = {k: v for k, v in fitted.items() if k != "fill_dtype"}
    dtype, gaps = np.dtype(state.pop("fit_dtype")), state.pop("indicator")
    statistics = state["statistics_"]
    present = np.array([value == value for value in statistics], dtype=bool)
    words = dtype.kind == "O"
    _need(not words or statistics.dtype.kind in "OU", "statistics of the type of the columns")
    statistics[present].astype(dtype)  # raises for words among numbers
    _need((gaps is None) != bool(model.add_indicator), "indicators where they were asked for")
    _need(gaps is None or (np.diff(gaps) > 0).all(), "columns with missing values in order")
    # any value that is not a gap will do: the statistics are known
    values = ("a", "b") if words else (1, 2)
    X = np.full((2, len(statistics)), values[values[0] == model.missing_values], dtype=dtype)
    if gaps is not None and len(gaps):
        X[1, gaps] = model.missing_values
    return _refitted(model, X, state)


# ---- categories ---------------------------------------------------------------------------------


def _keep_encoder(model: Any, params: Parts, fitted: Parts) -> tuple[Parts, Parts]:
    params = {**params, "dtype": np.dtype(params["dtype"]).name}
    if not fitted:
        return params, fitted
    stored = _some(fitted, "categories_")
    stored["infrequent"] = rare_of(model) if _groups_rare(model) else None
    return params, stored


def rare_of(model: Any) -> list[Array | None]:
    """Return where the rare categories of every column stand, None for one that has none."""
    if not _groups_rare(model):
        return [None] * len(model.categories_)
    return [
        None if rare is None else _places(rare, categories)
        for rare, categories in zip(model.infrequent_categories_, model.categories_, strict=True)
    ]


def _groups_rare(model: Any) -> bool:
    return model.min_frequency is not None or model.max_categories is not None


def _places(some: Array, categories: Array) -> Array:
    """Return where some of the categories stand, which are in the order of all."""
    place = {_key(value): j for j, value in enumerate(categories)}
    return np.array([place[_key(value)] for value in some], dtype=np.int64)


def _key(value: Any) -> Any:
    return "nan" if value != value else (value,)  # NaN is not even itself


def _make_encoder(cls: type, params: Parts, fitted: Parts) -> Any:
    params = {**params, "dtype": TYPES[params["dtype"]].type}
    model: Any = cls(**params)
    if not fitted:
        return model
    categories, rare = fitted["categories_"], fitted["infrequent"]
    _need(len(categories) == fitted.get("n_features_in_"), "categories for every column")
    for values in categories:
        _check_categories(values)
    _need((rare is not None) == _groups_rare(model), "rare categories where asked for")
    often = [values[:1] for values in categories]
    copies, rows = 1, 1
    if rare is not None:
        _need(len(rare) == len(categories), "rare categories for every column")
        often = [_often(*both) for both in zip(categories, rare, strict=True)]
        copies, rows = _counts([len(some) for some in often], [len(c) for c in categories])
    _need(rows * len(categories) <= CELLS, f"at most {CELLS:,} cells of frequent categories")
    columns = [
        np.resize(np.concatenate([np.repeat(some, copies), np.repeat(some[:1], rows)]), rows)
        if len(some)
        else np.resize(values, rows)
        for some, values in zip(often, categories, strict=True)
    ]
    model.set_params(categories=categories)
    if rare is not None:
        model.set_params(min_frequency=copies, max_categories=None)
    model = _refitted(model, _table(columns), _some(fitted, "categories_"))
    changed = ("categories", "min_frequency", "max_categories")
    return model.set_params(**{k: params[k] for k in changed if k in params})


def _check_categories(values: Any) -> None:
    plain = isinstance(values, np.ndarray) and values.ndim == 1 and len(values) > 0
    _need(plain and values.dtype.kind in "fiubUO", "a list of categories")
    kinds = str | int | float | bool | np.generic | None
    _need(
        values.dtype != object or all(isinstance(item, kinds) for item in values),
        "texts or numbers as categories",
    )


def _often(values: Array, rare: Any) -> Array:
    """Return the categories of a column that are not among the rare ones."""
    if rare is None:
        return values
    whole = isinstance(rare, np.ndarray) and rare.ndim == 1 and rare.dtype.kind == "i"
    _need(whole and len(rare) and len(np.unique(rare)) == len(rare), "numbers of rare categories")
    _need(rare.min() >= 0 and rare.max() < len(values), "numbers of rare categories")
    return np.delete(values, rare)


def _counts(often: list[int], all_of: list[int]) -> tuple[int, int]:
    """Return how often a frequent category must occur at least, and how many rows that takes.

    A column without frequent categories spreads the rows over its r rare ones, fewer than m each.
    With F frequent categories in another column, F m <= r (m - 1). Where they were counted on the
    same rows, F < r, so that there is such an m.
    """
    most = max(often)
    copies = 2
    for r in (size for size, count in zip(all_of, often, strict=True) if not count):
        _need(most < r, "rare and frequent categories of the same rows")
        copies = max(copies, -(-r // (r - most)))
    return copies, max(most * copies, 1)


# ---- columns ------------------------------------------------------------------------------------


class _OfWidth(BaseEstimator):
    """Stands for a fitted transformer where only the number of its columns matters."""

    def __init__(self, width: int) -> None:
        self.width = width

    def fit(self, X: Any, y: Any = None) -> _OfWidth:
        """Note how many columns come in."""
        self.n_features_in_ = X.shape[1]
        return self

    def transform(self, X: Any) -> Array:
        """Return zeros."""
        return np.zeros((X.shape[0], self.width))


def _keep_columns(model: Any, params: Parts, fitted: Parts) -> tuple[Parts, Parts]:
    params = {k: v for k, v in params.items() if k != "force_int_remainder_cols"}
    triples = [tuple(item) for item in params["transformers"]]
    if fitted:  # what a function has chosen is kept in its place
        chosen = [columns for _, _, columns in model.transformers_]
        triples = [(name, part, chosen[j]) for j, (name, part, _) in enumerate(triples)]
    params["transformers"] = [_plain_triple(item) for item in triples]
    if not fitted:
        return params, fitted
    stored = _some(fitted, "sparse_output_")
    stored["transformers_"] = [
        _plain_triple((name, "passthrough" if _passes(part) else part, columns))
        for name, part, columns in model.transformers_
    ]
    stored["widths"] = {k: cut.stop - cut.start for k, cut in model.output_indices_.items()}
    return params, stored


def _passes(part: Any) -> bool:
    return isinstance(part, FunctionTransformer) and part.func is None


def _plain_triple(item: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
    name, part, columns = item
    if isinstance(columns, slice):
        columns = {"slice": [columns.start, columns.stop, columns.step]}
    elif type(columns).__module__.startswith("pandas"):
        columns = columns.to_numpy()
    return name, part, columns


def _make_columns(params: Parts, fitted: Parts) -> Any:
    given = [_triple(item) for item in params["transformers"]]
    _need(len({name for name, _, _ in given}) == len(given), "every name once")
    model = ColumnTransformer(**{**params, "transformers": given})
    weights = model.transformer_weights or {}
    _need(
        isinstance(weights, dict)
        and all(type(k) is str and type(v) in (int, float) for k, v in weights.items()),
        "weights by name",
    )
    if not fitted:
        return model
    parts = [_triple(item) for item in fitted["transformers_"]]
    names, wanted = [name for name, _, _ in parts], [name for name, _, _ in given]
    _need(names in (wanted, [*wanted, "remainder"]), "a fitted transformer for each that was given")
    widths, p = _widths(fitted["widths"], names), fitted.get("n_features_in_")
    _need(type(p) is int and 0 < p <= CELLS, "the number of columns")
    stands = {
        name: part if isinstance(part, str) else _OfWidth(widths.get(name, 0))
        for name, part, _ in parts
    }
    model.transformers = [(name, stands[name], columns) for name, _, columns in parts[: len(given)]]
    model.remainder = stands.get("remainder", "drop")
    X = _table([np.zeros(1)] * int(p or 0), fitted.get("feature_names_in_"))
    model = _refitted(model, X, {"sparse_output_": fitted["sparse_output_"]})
    model.transformers, model.remainder = given, params.get("remainder", "drop")
    by_name = {name: part for name, part, _ in parts}
    found = []
    for name, stand, columns in model.transformers_:
        part = stand
        if isinstance(stand, _OfWidth):
            part = by_name[name]
            if hasattr(stand, "n_features_in_"):  # it has columns
                _check_part(part, stand.n_features_in_, stand.width)
        found.append((name, part, columns))
    made = {k: cut.stop - cut.start for k, cut in model.output_indices_.items()}
    _need(made == {**dict.fromkeys(made, 0), **widths}, "a width per transformer")
    model.transformers_ = found
    return model


def _triple(item: Any) -> tuple[Any, Any, Any]:
    _need(isinstance(item, tuple) and len(item) == 3, "a name, a transformer and columns")
    name, part, columns = item
    transforms = isinstance(part, BaseEstimator) and hasattr(part, "transform")
    words = isinstance(part, str) and part in ("drop", "passthrough")
    _need(type(name) is str and (transforms or words), "a transformer by its name")
    if isinstance(columns, dict):
        ends = columns.get("slice")
        sound = isinstance(ends, list) and len(ends) == 3 and len(columns) == 1
        _need(sound and all(type(e) in (str, int, type(None)) for e in ends or ()), "a slice")
        columns = slice(*ends)  # type: ignore[misc]
    return name, part, columns


def _widths(widths: Any, names: list[str]) -> dict[str, int]:
    sound = isinstance(widths, dict) and all(
        type(width) is int and 0 <= width <= CELLS for width in widths.values()
    )
    _need(sound and set(widths) <= {*names, "remainder"}, "a width per transformer")
    return dict(widths)


def _check_part(part: Any, columns: int, width: int) -> None:
    _need(
        getattr(part, "n_features_in_", columns) == columns, f"a transformer of {columns} columns"
    )
    if hasattr(part, "get_feature_names_out"):
        _need(len(part.get_feature_names_out()) == width, "as many columns as were returned")


# ---- the list -----------------------------------------------------------------------------------


def _keep_power(model: Any, params: Parts, fitted: Parts) -> tuple[Parts, Parts]:
    stored = {name: value for name, value in fitted.items() if not name.startswith("_")}
    return params, {**stored, "scaler": scaler_of(model)} if fitted else fitted


def scaler_of(model: PowerTransformer) -> StandardScaler | None:
    """Return what standardises the powers, from the state that scikit-learn itself writes."""
    scaler: StandardScaler | None = model.__getstate__().get("_scaler")
    return scaler


def _make_power(params: Parts, fitted: Parts) -> Any:
    model, state = PowerTransformer(**params), dict(fitted)
    if not fitted:
        return model
    scaler, p = state.pop("scaler"), len(state["lambdas_"])
    _need(isinstance(scaler, StandardScaler) == model.standardize, "a scaler if asked for")
    if scaler is not None:
        _need(getattr(scaler, "n_features_in_", None) == p, "a scaler of these columns")
        state["_scaler"] = scaler  # in the state that scikit-learn itself writes and reads
    model.__setstate__({**model.__getstate__(), **state})
    return model


_TYPES = "choice object " + " ".join(TYPES)
_ENCODERS = {
    "categories": "choice auto | list labels * | list list value",
    "dtype": "choice " + " ".join(TYPES),
    "min_frequency": "number | none",
    "max_categories": "whole | none",
}
_CATEGORIES = {"categories_": "list labels * | value", "infrequent": "value"}

# Class, specifications of what is kept of it and of its parameters, the ways there and back.
TRANSFORMERS: tuple[tuple[Any, ...], ...] = (
    (
        SimpleImputer,
        {
            "statistics_": "loose p | labels p",
            "fit_dtype": _TYPES,
            "fill_dtype": "value?",  # in files of format 2
            "indicator": "index p s | none",
        },
        {
            "missing_values": "real | text | none",
            "strategy": "choice mean median most_frequent constant",
            "fill_value": "number | text | none",
            "copy": "flag",
            "add_indicator": "flag",
            "keep_empty_features": "flag",
        },
        _keep_imputer,
        _make_imputer,
    ),
    (
        OneHotEncoder,
        {**_CATEGORIES, "drop_idx_": "value?"},
        {
            **_ENCODERS,
            "drop": "choice first if_binary | labels * | list value | none",
            "sparse_output": "flag",
            "handle_unknown": "choice error ignore infrequent_if_exist warn",
            "feature_name_combiner": "choice concat",
        },
        _keep_encoder,
        partial(_make_encoder, OneHotEncoder),
    ),
    (
        OrdinalEncoder,
        _CATEGORIES,
        {
            **_ENCODERS,
            "handle_unknown": "choice error use_encoded_value",
            "unknown_value": "real | none",
            "encoded_missing_value": "real",
        },
        _keep_encoder,
        partial(_make_encoder, OrdinalEncoder),
    ),
    (
        PowerTransformer,
        {"lambdas_": "array p", "scaler": "model | none"},
        {"method": "choice yeo-johnson box-cox", "standardize": "flag", "copy": "flag"},
        _keep_power,
        _make_power,
    ),
    (
        ColumnTransformer,
        {"transformers_": "value", "widths": "value", "sparse_output_": "flag"},
        {
            "transformers": "value",
            "remainder": "choice drop passthrough | model",
            "sparse_threshold": "number",
            "n_jobs": "whole | none",
            "transformer_weights": "value",
            "verbose": "flag",
            "verbose_feature_names_out": "flag | text",
        },
        _keep_columns,
        _make_columns,
    ),
)
