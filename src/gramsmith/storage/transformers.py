"""scikit-learn's imputer, encoders and column transformer: what is kept of them and made again.

They hold types, slices and private notes that differ between versions of scikit-learn. Kept are the
facts behind them (statistics, categories, columns); everything else is computed from these again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.compose import ColumnTransformer
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.preprocessing import (
    FunctionTransformer,
    OneHotEncoder,
    OrdinalEncoder,
    PowerTransformer,
    StandardScaler,
)

from gramsmith.storage.container import TYPES, Array

Parts = dict[str, Any]


@dataclass(frozen=True)
class Transformer:
    """How a transformer is kept.

    Attributes
    ----------
    cls : type
    fitted, params : mapping of str to str
        Specifications of what is kept.
    keep : callable
        From a transformer, its parameters and fitted attributes to what is kept of them.
    make : callable
        From what was kept to a transformer; raises where it does not fit together.
    """

    cls: type
    fitted: Mapping[str, str]
    params: Mapping[str, str]
    keep: Callable[[Any, Parts, Parts], tuple[Parts, Parts]]
    make: Callable[[Parts, Parts], Any]


def _need(sound: Any, wanted: str) -> None:
    if not sound:
        raise ValueError(f"Expected {wanted}, got other.")


def _is_nan(value: Any) -> bool:
    return isinstance(value, float | np.floating) and value != value


def _with(model: Any, fitted: Parts) -> Any:
    for name, value in fitted.items():
        setattr(model, name, value)
    return model


# ---- gaps ---------------------------------------------------------------------------------------


def _keep_imputer(model: Any, params: Parts, fitted: Parts) -> tuple[Parts, Parts]:
    if not fitted:
        return params, fitted
    names = ("statistics_", "n_features_in_", "feature_names_in_")
    kept = {name: fitted[name] for name in names if name in fitted}
    kept["fit_dtype"], kept["fill_dtype"] = (
        np.dtype(fitted.get(name, model._fit_dtype)).name for name in ("_fit_dtype", "_fill_dtype")
    )
    found = fitted["indicator_"]
    kept["indicator"] = None if found is None else np.asarray(found.features_, dtype=np.int64)
    return params, kept


def _make_imputer(params: Parts, fitted: Parts) -> Any:
    model = SimpleImputer(**params)
    if not fitted:
        return model
    state = dict(fitted)
    model._fit_dtype, model._fill_dtype = (
        np.dtype(state.pop(name)) for name in ("fit_dtype", "fill_dtype")
    )
    texts = state["statistics_"].dtype.kind in "OU"
    _need(texts == (model._fill_dtype.kind == "O"), "statistics of the type of the columns")
    features, p = state.pop("indicator"), len(state["statistics_"])
    _need((features is None) != bool(model.add_indicator), "indicators where they were asked for")
    model.indicator_ = None
    if features is not None:
        _need((np.diff(features) > 0).all(), "columns with gaps in order")
        indicator = MissingIndicator(missing_values=model.missing_values, error_on_new=False)
        notes = {"features_": features, "_n_features": p, "n_features_in_": p}
        model.indicator_ = _with(indicator, {**notes, "_precomputed": True})
    return _with(model, state)


# ---- categories ---------------------------------------------------------------------------------


def _keep_encoder(model: Any, params: Parts, fitted: Parts) -> tuple[Parts, Parts]:
    params = {**params, "dtype": np.dtype(params["dtype"]).name}
    if not fitted:
        return params, fitted
    names = ("categories_", "drop_idx_", "n_features_in_", "feature_names_in_")
    kept = {name: fitted[name] for name in names if name in fitted}
    kept["infrequent"] = fitted.get("_infrequent_indices")
    return params, kept


def _make_encoder(cls: type, params: Parts, fitted: Parts) -> Any:
    model = cls(**{**params, "dtype": TYPES[params["dtype"]].type})
    if not fitted:
        return model
    state = dict(fitted)
    known, rare = state["categories_"], state.pop("infrequent")
    _need(len(known) == state.get("n_features_in_"), "categories for every column")
    for values in known:
        _check_categories(values)
    gaps = {j: len(c) - 1 for j, c in enumerate(known) if _is_nan(c[-1])}
    ordinal = cls is OrdinalEncoder
    sizes = [len(c) - (ordinal and j in gaps) for j, c in enumerate(known)]
    model._check_infrequent_enabled()
    _need((rare is not None) == model._infrequent_enabled, "rare categories where asked for")
    groups: list[Array | None] = [None] * len(known)
    if rare is not None:
        _need(len(rare) == len(known), "rare categories for every column")
        groups = [_grouped(found, size) for found, size in zip(rare, sizes, strict=True)]
        model._infrequent_indices, model._default_to_infrequent_mappings = rare, groups
    _with(model, state)
    if ordinal:
        model._missing_indices = gaps
        return model
    _need((model.drop_idx_ is None) == (model.drop is None), "dropped categories where asked for")
    model._drop_idx_after_grouping = None
    if model.drop_idx_ is not None:
        after = np.empty(len(known), dtype=object)
        for j, (place, group) in enumerate(zip(model.drop_idx_, groups, strict=True)):
            whole = isinstance(place, int | np.integer) and 0 <= place < len(known[j])
            _need(place is None or whole, "the number of a category")
            after[j] = place if place is None or group is None else int(group[place])
        model._drop_idx_after_grouping = after
    model._n_features_outs = model._compute_n_features_outs()
    return model


def _check_categories(values: Any) -> None:
    """Raise unless values are different categories, numbers in order: they are searched as such."""
    plain = isinstance(values, np.ndarray) and values.ndim == 1 and len(values) > 0
    _need(plain and values.dtype.kind in "fiubUO", "a list of categories")
    if values.dtype.kind in "UO":
        kinds = str | int | float | bool | np.generic | None
        _need(all(isinstance(item, kinds) for item in values), "texts or numbers as categories")
        _need(len(set(values.tolist())) == len(values), "every category once")
    else:
        numbers = values[:-1] if _is_nan(values[-1]) else values
        _need((np.diff(numbers.astype(np.float64)) > 0).all(), "numbers in order")


def _grouped(rare: Any, size: int) -> Array | None:
    """Return the number of each category, the rare ones counted as one after all others."""
    if rare is None:
        return None
    whole = isinstance(rare, np.ndarray) and rare.ndim == 1 and rare.dtype.kind == "i"
    _need(whole and len(rare) and len(np.unique(rare)) == len(rare), "numbers of rare categories")
    _need(rare.min() >= 0 and rare.max() < size, "numbers of rare categories")
    often = np.setdiff1d(np.arange(size), rare)
    group = np.full(size, len(often), dtype=np.int64)
    group[often] = np.arange(len(often))
    return group


# ---- columns ------------------------------------------------------------------------------------


def _keep_columns(model: Any, params: Parts, fitted: Parts) -> tuple[Parts, Parts]:
    params = {k: v for k, v in params.items() if k != "force_int_remainder_cols"}
    triples = [tuple(item) for item in params["transformers"]]
    if fitted:  # what a function has chosen is kept in its place
        chosen = zip(triples, model._columns, strict=True)
        triples = [(name, part, columns) for (name, part, _), columns in chosen]
    params["transformers"] = [_plain_triple(item) for item in triples]
    if not fitted:
        return params, fitted
    names = ("sparse_output_", "n_features_in_", "feature_names_in_")
    kept = {name: fitted[name] for name in names if name in fitted}
    kept["transformers_"] = [
        _plain_triple((name, "passthrough" if _passes(part) else part, columns))
        for name, part, columns in model.transformers_
    ]
    kept["widths"] = {k: cut.stop - cut.start for k, cut in model.output_indices_.items()}
    return params, kept


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
    state = dict(fitted)
    parts, widths = [_triple(item) for item in state.pop("transformers_")], state.pop("widths")
    names = [name for name, _, _ in parts]
    wanted = [name for name, _, _ in given]
    _need(names in (wanted, [*wanted, "remainder"]), "a fitted transformer for each that was given")
    p: Any = state.get("n_features_in_")
    _need(type(p) is int, "the number of columns")
    known = [str(name) for name in state.get("feature_names_in_", ())]
    _with(model, state)
    places = {name: positions(columns, known, p) for name, _, columns in parts}
    model._transformer_to_input_indices = {"remainder": [], **places}
    model._columns = [columns for _, _, columns in parts[: len(given)]]
    rest = parts[-1][2] if len(parts) > len(given) else []
    model._remainder = ("remainder", model.remainder, rest)
    model.transformers_ = [
        (
            name,
            _fitted_part(part, [known[j] for j in places[name]] if known else len(places[name])),
            c,
        )
        if places[name]
        else (name, part, c)
        for name, part, c in parts
    ]
    used = [name for name, part, _ in parts if part != "drop" and places[name]]
    model.output_indices_ = _slices(widths, names, used)
    for name, part, _ in model.transformers_:
        _check_part(part, len(places[name]), widths.get(name))
    return model


def _triple(item: Any) -> tuple[Any, Any, Any]:
    _need(isinstance(item, tuple) and len(item) == 3, "a name, a transformer and columns")
    name, part, columns = item
    known = isinstance(part, BaseEstimator) and hasattr(part, "transform")
    words = isinstance(part, str) and part in ("drop", "passthrough")
    _need(type(name) is str and (known or words), "a transformer by its name")
    if isinstance(columns, dict):
        ends = columns.get("slice")
        sound = isinstance(ends, list) and len(ends) == 3 and len(columns) == 1
        _need(sound and all(type(e) in (str, int, type(None)) for e in ends or ()), "a slice")
        columns = slice(*ends)  # type: ignore[misc]
    return name, part, columns


def positions(columns: Any, names: list[str], p: int) -> list[int]:
    """Return which of p columns a column transformer means by names, numbers, flags or a slice."""
    if isinstance(columns, slice):
        ends = [columns.start, columns.stop]
        if any(isinstance(end, str) for end in ends):
            _need(all(end is None or end in names for end in ends), "names of columns")
            first = 0 if ends[0] is None else names.index(ends[0])
            last = p if ends[1] is None else names.index(ends[1]) + 1
            return list(range(first, last)[:: columns.step])
        return list(range(p)[columns])
    listed = np.asarray(columns).tolist()
    items = listed if isinstance(listed, list) else [listed]
    if items and all(type(item) is bool for item in items):
        _need(len(items) == p, "a flag for every column")
        return [j for j, item in enumerate(items) if item]
    found = []
    for item in items:
        named = type(item) is str and item in names
        numbered = type(item) is int and -p <= item < p
        _need(named or numbered, "names or numbers of columns")
        found.append(names.index(item) if named else item % p)
    return found


def _fitted_part(part: Any, columns: list[str] | int) -> Any:
    """Return the transformer that scikit-learn puts in the place of the word "passthrough"."""
    if not isinstance(part, str) or part != "passthrough":
        return part
    made = FunctionTransformer(
        accept_sparse=True, check_inverse=False, feature_names_out="one-to-one"
    )
    if isinstance(columns, list):
        made.feature_names_in_ = np.array(columns, dtype=object)
    made.n_features_in_ = columns if isinstance(columns, int) else len(columns)
    return made


def _slices(widths: Any, names: list[str], used: list[str]) -> dict[str, slice]:
    sound = isinstance(widths, dict) and all(type(w) is int and w >= 0 for w in widths.values())
    _need(sound and set(used) <= set(widths) <= {*names, "remainder"}, "a width per transformer")
    start, found = 0, {}
    for name in used:
        found[name] = slice(start, start + widths[name])
        start += widths[name]
    return {**found, **{name: slice(0, 0) for name in widths if name not in found}}


def _check_part(part: Any, columns: int, width: int | None) -> None:
    if isinstance(part, str) or not columns:
        return
    taken = getattr(part, "n_features_in_", columns)
    _need(taken == columns, f"a transformer of {columns} columns")
    if hasattr(part, "get_feature_names_out"):
        _need(len(part.get_feature_names_out()) == width, "as many columns as were returned")


# ---- the list -----------------------------------------------------------------------------------


def _keep_power(model: Any, params: Parts, fitted: Parts) -> tuple[Parts, Parts]:
    kept = {name: value for name, value in fitted.items() if name != "_scaler"}
    return params, {**kept, "scaler": fitted.get("_scaler")} if fitted else fitted


def _make_power(params: Parts, fitted: Parts) -> Any:
    model, state = PowerTransformer(**params), dict(fitted)
    if not fitted:
        return model
    scaler, p = state.pop("scaler"), len(state["lambdas_"])
    _need(isinstance(scaler, StandardScaler) == model.standardize, "a scaler if asked for")
    if scaler is not None:
        _need(getattr(scaler, "n_features_in_", None) == p, "a scaler of these columns")
        model._scaler = scaler
    return _with(model, state)


_TYPES = "choice object " + " ".join(TYPES)
_ENCODERS = {
    "categories": "choice auto | list labels * | list list value",
    "dtype": "choice " + " ".join(TYPES),
    "min_frequency": "number | none",
    "max_categories": "whole | none",
}
_CATEGORIES = {"categories_": "list labels * | value", "infrequent": "value"}

TRANSFORMERS = (
    Transformer(
        SimpleImputer,
        {
            "statistics_": "loose p | labels p",
            "fit_dtype": _TYPES,
            "fill_dtype": _TYPES,
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
    Transformer(
        OneHotEncoder,
        {**_CATEGORIES, "drop_idx_": "value"},
        {
            **_ENCODERS,
            "drop": "choice first if_binary | labels * | list value | none",
            "sparse_output": "flag",
            "handle_unknown": "choice error ignore infrequent_if_exist warn",
            "feature_name_combiner": "choice concat",
        },
        _keep_encoder,
        lambda params, fitted: _make_encoder(OneHotEncoder, params, fitted),
    ),
    Transformer(
        OrdinalEncoder,
        _CATEGORIES,
        {
            **_ENCODERS,
            "handle_unknown": "choice error use_encoded_value",
            "unknown_value": "real | none",
            "encoded_missing_value": "real",
        },
        _keep_encoder,
        lambda params, fitted: _make_encoder(OrdinalEncoder, params, fitted),
    ),
    Transformer(
        PowerTransformer,
        {"lambdas_": "array p", "scaler": "model | none"},
        {"method": "choice yeo-johnson box-cox", "standardize": "flag", "copy": "flag"},
        _keep_power,
        _make_power,
    ),
    Transformer(
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
