"""TableEncoder: data frames and arrays to the numbers that kernels compare."""

from __future__ import annotations

import difflib
import warnings
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

Array = npt.NDArray[Any]


class TableEncoder(TransformerMixin, BaseEstimator):
    r"""Standardise numeric columns and encode categories as indicators.

    .. math:: x \mapsto (x - \mu) / \sigma, \qquad \text{category} \mapsto e_{\text{category}}

    An indicator stays 0 or 1: two rows of different categories are then as far apart as two random
    values of a standardised column. Columns of data frames are found by name, whatever their order.

    Parameters
    ----------
    max_categories : int, default=100
        A column with more categories is refused: it is probably text or an identifier.
    indicators : bool, default=False
        Whether numeric columns of 3 to 12 different values count as categories too, each value
        being its nearest one of those seen in fit.

    Attributes
    ----------
    numeric_ : bool array of shape (n_features_in_,)
        Which columns are numbers.
    mean_ : array of shape (n_numeric,)
        Means of the numeric columns; zero for sparse input, which stays sparse.
    scale_ : array of shape (n_numeric,)
        Standard deviations; one for constant columns.
    level_values_ : array of shape (sum of level_counts_,)
        The values of numeric columns that count as categories, one column after the other.
    level_counts_ : int array of shape (n_numeric,)
        How many belong to each numeric column; 0 for those that stay numbers.
    category_names_ : str array of shape (sum of category_counts_,)
        The categories of all other columns, one after the other.
    category_counts_ : int array of shape (n_categorical,)
        How many belong to each.
    feature_names_out_ : object array of shape (n_features_out,)
        Names of the encoded columns.

    Examples
    --------
    >>> from gramsmith.tables import TableEncoder
    >>> TableEncoder().fit_transform([[0.0, 5.0], [2.0, 5.0]])
    array([[-1.,  0.],
           [ 1.,  0.]])
    """

    _stored: ClassVar[dict[str, str]] = {
        "numeric_": "array p",
        "mean_": "array m",
        "scale_": "positive m",
        "level_values_": "array v",
        "level_counts_": "array m",
        "category_names_": "labels c",
        "category_counts_": "array k",
        "feature_names_out_": "labels *",
        "column_names_": "labels p?",
    }

    def __init__(self, max_categories: int = 100, indicators: bool = False) -> None:
        self.max_categories = max_categories
        self.indicators = indicators

    def fit(self, X: Any, y: Any = None) -> TableEncoder:
        """Learn means, deviations and categories.

        Parameters
        ----------
        X : data frame, array or sparse matrix of shape (n, p)
        y : ignored

        Returns
        -------
        TableEncoder
        """
        columns = _frame_columns(X)
        self.__dict__.pop("column_names_", None)
        if columns is None:
            X = validate_data(
                self, X, accept_sparse="csr", dtype=np.float64, ensure_all_finite=False
            )
            check_finite_columns(X, getattr(self, "feature_names_in_", None))
            self.numeric_ = np.ones(X.shape[1], dtype=bool)
            self._fit_numbers(X)
            self._fit_categories([], [])
        else:
            names = list(columns)
            if all(isinstance(name, str) for name in names):
                self.feature_names_in_ = np.array(names, dtype=object)
            else:
                # for scikit-learn these are no names, but columns are told apart by them
                self.__dict__.pop("feature_names_in_", None)
                self.column_names_ = np.array([str(name) for name in names], dtype=object)
            self.n_features_in_ = len(names)
            kinds = [_is_numeric(column) for column in columns.values()]
            self.numeric_ = np.array(kinds, dtype=bool)
            table = [_numbers(n, c) for n, c in columns.items() if _is_numeric(c)]
            n = len(next(iter(columns.values()))) if columns else 0
            if not names or not n:
                raise ValueError(
                    f"Expected a table with rows and columns, got {n} sample(s) and {len(names)} "
                    "feature(s), while a minimum of 1 is required."
                )
            self._fit_numbers(np.column_stack(table) if table else np.empty((n, 0)))
            texts = {name: _texts(name, c) for name, c in columns.items() if not _is_numeric(c)}
            self._fit_categories(list(texts), [np.unique(c) for c in texts.values()])
        self.feature_names_out_ = self._output_names()
        return self

    def _fit_numbers(self, X: Any) -> None:
        if sp.issparse(X):
            self.mean_ = np.zeros(X.shape[1])
            power = np.asarray(X.multiply(X).mean(axis=0)).ravel()
        else:
            with np.errstate(over="ignore"):
                self.mean_ = X.mean(axis=0)
                power = ((X - self.mean_) ** 2).mean(axis=0)
            if not np.isfinite(power).all():
                column = int(np.flatnonzero(~np.isfinite(power))[0])
                row = int(np.argmax(np.abs(X[:, column])))
                numeric = np.flatnonzero(self.numeric_)
                names = getattr(self, "column_names_", getattr(self, "feature_names_in_", None))
                shown = column if names is None else repr(str(names[numeric[column]]))
                raise ValueError(
                    f"Expected values whose squares are finite, got "
                    f"{X[row, column]:.3g} in row {row} of column {shown}. Rescale this column."
                )
        deviation = np.sqrt(power)
        floor = 10.0 * np.finfo(float).eps * np.abs(self.mean_)
        self.scale_ = np.where(deviation > floor, deviation, 1.0)
        levels = [_levels(X[:, j]) for j in range(X.shape[1])] if self.indicators else []
        self.level_counts_ = np.zeros(X.shape[1], dtype=np.int64)
        self.level_counts_[: len(levels)] = [len(found) for found in levels]
        self.level_values_ = np.concatenate(levels) if levels else np.empty(0)

    def _encode_numbers(self, X: Any) -> Any:
        if sp.issparse(X):
            return sp.csr_array(X.multiply(1.0 / self.scale_[None, :]))
        Z = (X - self.mean_) / self.scale_
        if not self.level_counts_.any():
            return Z
        parts = [Z[:, self.level_counts_ == 0]]
        stops = np.cumsum(self.level_counts_)
        for j in np.flatnonzero(self.level_counts_):
            levels = self.level_values_[stops[j] - self.level_counts_[j] : stops[j]]
            nearest = np.abs(X[:, j, None] - levels).argmin(axis=1)
            parts.append((nearest[:, None] == np.arange(len(levels))).astype(np.float64))
        return np.hstack(parts)

    def _fit_categories(self, names: list[str], categories: list[Array]) -> None:
        for name, found in zip(names, categories, strict=True):
            if len(found) > self.max_categories:
                raise ValueError(
                    f"Expected at most max_categories={self.max_categories} categories in column "
                    f"{name!r}, got {len(found)} different texts. It looks like text or an "
                    "identifier: drop the column, group its values, or encode the table "
                    "with TableEncoder(max_categories=...) and pass the result."
                )
        self.category_names_ = (
            np.concatenate(categories) if categories else np.empty(0, dtype=str)
        ).astype(str)
        self.category_counts_ = np.array([len(c) for c in categories], dtype=np.int64)

    def transform(self, X: Any) -> Any:
        """Encode a table with the columns seen in fit.

        Parameters
        ----------
        X : data frame, array or sparse matrix of shape (n, p)
            Columns of a data frame may come in another order.

        Returns
        -------
        array of shape (n, n_features_out)
        """
        check_is_fitted(self)
        columns = _frame_columns(X)
        if columns is None:
            if not self.numeric_.all():
                return self._encode(self._columns_of_array(X))
            with warnings.catch_warnings():
                # Fitted on a data frame, given an array: columns are then taken by position.
                warnings.filterwarnings(
                    "ignore", "X does not have valid feature names", UserWarning
                )
                X = validate_data(
                    self,
                    X,
                    accept_sparse="csr",
                    dtype=np.float64,
                    ensure_all_finite=False,
                    reset=False,
                )
            check_finite_columns(X, getattr(self, "feature_names_in_", None))
            return self._encode_numbers(X)
        return self._encode(self._in_order(columns))

    def _encode(self, columns: dict[Any, Any]) -> Array:
        numbers = [
            _numbers(name, column)
            for (name, column), numeric in zip(columns.items(), self.numeric_, strict=True)
            if numeric
        ]
        n = len(next(iter(columns.values())))
        X = np.column_stack(numbers) if numbers else np.empty((n, 0))
        parts = [self._encode_numbers(X)]
        stops = np.cumsum(self.category_counts_)
        texts = [
            item
            for item, numeric in zip(columns.items(), self.numeric_, strict=True)
            if not numeric
        ]
        for (name, column), stop, size in zip(texts, stops, self.category_counts_, strict=True):
            known = self.category_names_[stop - size : stop]
            found = _texts(name, column)
            new = sorted(set(found.tolist()) - set(known.tolist()))
            if new:
                warnings.warn(
                    f"Column {name!r} has categories that were not there in fit: "
                    f"{', '.join(map(repr, new[:5]))}. They are encoded as none of the known ones.",
                    UserWarning,
                    stacklevel=3,
                )
            parts.append((found[:, None] == known).astype(np.float64))
        return np.hstack(parts)

    def _in_order(self, columns: dict[Any, Any]) -> dict[Any, Any]:
        """Return the columns in the order of fit, found by name."""
        expected = getattr(self, "column_names_", getattr(self, "feature_names_in_", None))
        found = [str(name) for name in columns]
        if expected is None or len(set(found)) < len(found):
            if len(columns) != self.n_features_in_:
                raise ValueError(
                    f"X has {len(columns)} features, but {type(self).__name__} is expecting "
                    f"{self.n_features_in_} features as input."
                )
            return columns
        missing = [name for name in expected if name not in found]
        extra = [name for name in found if name not in set(expected)]
        if missing or extra:
            near = [difflib.get_close_matches(name, extra, 1) for name in missing]
            hints = [f"{m!r} may be {g[0]!r}" for m, g in zip(missing, near, strict=True) if g]
            raise ValueError(
                "Expected the columns seen in fit. "
                + (f"Missing: {', '.join(map(repr, missing))}. " if missing else "")
                + (f"Not seen before: {', '.join(map(repr, extra))}. " if extra else "")
                + (f"Perhaps {'; '.join(hints)}. " if hints else "")
                + "Rename, add or drop columns; their order does not matter."
            )
        named = dict(zip(found, columns.values(), strict=True))
        return {name: named[name] for name in expected}

    def _columns_of_array(self, X: Any) -> dict[Any, Any]:
        X = np.asarray(X, dtype=object)
        if X.ndim != 2 or X.shape[1] != self.n_features_in_:
            raise ValueError(
                f"Expected {self.n_features_in_} columns, got an array of shape {X.shape}. "
                "Pass a data frame with the columns seen in fit."
            )
        names = getattr(self, "feature_names_in_", range(X.shape[1]))
        return {name: X[:, j] for j, name in enumerate(names)}

    def _output_names(self) -> Array:
        given = getattr(self, "feature_names_in_", None)
        names = [f"x{j}" for j in range(self.n_features_in_)] if given is None else list(given)
        numbers = [name for name, numeric in zip(names, self.numeric_, strict=True) if numeric]
        out = [name for name, count in zip(numbers, self.level_counts_, strict=True) if not count]
        ends = np.cumsum(self.level_counts_)
        for name, stop, size in zip(numbers, ends, self.level_counts_, strict=True):
            out += [f"{name}={value:g}" for value in self.level_values_[stop - size : stop]]
        stops = np.cumsum(self.category_counts_)
        texts = [name for name, numeric in zip(names, self.numeric_, strict=True) if not numeric]
        for name, stop, size in zip(texts, stops, self.category_counts_, strict=True):
            out += [f"{name}={value}" for value in self.category_names_[stop - size : stop]]
        return np.array(out, dtype=object)

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Return the names of the encoded columns.

        Parameters
        ----------
        input_features : ignored
            The names seen in fit are used.

        Returns
        -------
        object array of shape (n_features_out,)
        """
        check_is_fitted(self)
        return self.feature_names_out_

    def _check_stored(self) -> None:
        texts = int((~self.numeric_).sum()) if self.numeric_.dtype == bool else -1
        sound = (
            len(self.mean_) == len(self.numeric_) - texts and len(self.category_counts_) == texts
        )
        for counts, values in (
            (self.level_counts_, self.level_values_),
            (self.category_counts_, self.category_names_),
        ):
            whole = counts.dtype.kind == "i" and not (counts < 0).any()
            sound = sound and whole and int(counts.sum()) == len(values)
        if not sound or len(self._output_names()) != len(self.feature_names_out_):
            raise ValueError("Expected levels and categories for the columns of the table.")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.categorical = True
        return tags


def _levels(column: Array) -> Array:
    """Return the values of a column if they are 3 to 12, else none."""
    found = np.unique(column[:200])
    if len(found) <= 12:
        found = np.unique(column)
    return found if 3 <= len(found) <= min(12, len(column) // 10) else np.empty(0)


def check_finite_columns(X: Any, names: Any = None) -> None:
    """Raise a ValueError that names the first column with a missing or infinite value."""
    values = X.data if sp.issparse(X) else X
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(np.sum(values)) or np.isfinite(values).all():
            return
    table = X.tocoo() if sp.issparse(X) else None
    bad = ~np.isfinite(table.data) if table is not None else ~np.isfinite(X)
    row, column = (
        (int(table.coords[0][bad][0]), int(table.coords[1][bad][0]))
        if table is not None
        else (int(v) for v in np.argwhere(bad)[0])
    )
    label = column if names is None else repr(names[column])
    raise _missing(label, row, "NaN" if np.isnan(X[row, column]) else "infinity")


def _missing(column: Any, row: int, what: str) -> ValueError:
    return ValueError(
        f"Expected a value in every row, got {what} in column {column}, row {row}. Input X "
        f"contains "
        "NaN or infinity: drop these rows, or impute them with sklearn.impute.SimpleImputer."
    )


def _frame_columns(X: Any) -> dict[Any, Any] | None:
    """Return the columns of a data frame (pandas, polars), or None for anything else."""
    if not (hasattr(X, "columns") and hasattr(X, "dtypes") and hasattr(X, "__getitem__")):
        return None
    names = list(X.columns)
    if len(set(names)) < len(names):
        twice = sorted({str(name) for name in names if names.count(name) > 1})
        raise ValueError(f"Expected distinct column names, got {', '.join(twice)} more than once.")
    return {name: X[name] for name in names}


def _is_numeric(column: Any) -> bool:
    kind = str(column.dtype).lower()
    if kind.startswith(("cat", "enum")):
        return False
    if kind.startswith(("datetime", "timedelta", "date", "time", "duration", "complex")):
        raise ValueError(
            f"Expected numbers or categories, got a column {column.name!r} of type {kind}. "
            "Turn it into numbers first, such as days since a date."
        )
    if kind.startswith(("int", "uint", "float", "bool", "double", "decimal")):
        return True
    if kind != "object":
        return False
    return all(isinstance(v, (int, float, np.number, np.bool_)) for v in column if v is not None)


def _numbers(name: Any, column: Any) -> Array:
    """Return a numeric column as floats, or raise naming the row that is none."""
    try:
        values = np.asarray(column, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.array([_number(name, i, v) for i, v in enumerate(column)], dtype=np.float64)
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        raise _missing(repr(name), int(bad[0]), "NaN" if np.isnan(values[bad[0]]) else "infinity")
    return values


def _number(name: Any, row: int, value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        pass
    if value is None or str(value) in ("<NA>", "nan", "NaT"):
        return float("nan")
    raise ValueError(
        f"Expected numbers in column {name!r} (it held numbers in fit), got {value!r} in row {row}."
    )


def _texts(name: Any, column: Any) -> Array:
    """Return a categorical column as strings, or raise naming the row that has none."""
    values = np.asarray(column, dtype=object)
    for row, value in enumerate(values):
        if value is None or value != value or str(value) == "<NA>":
            raise _missing(repr(name), row, "NaN")
    return np.array([str(v) for v in values], dtype=str)
