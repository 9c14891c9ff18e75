"""TableEncoder: data frames and arrays to the numbers that kernels compare."""

from __future__ import annotations

import difflib
import warnings
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from gramsmith.arguments import counted
from gramsmith.kernels.finite import checked_data
from gramsmith.tables.frames import Raw, frame_columns, missing_cells, raw_column
from gramsmith.tables.roles import (
    Column,
    ColumnTable,
    as_numbers,
    as_words,
    check_roles,
    copy_of_target,
    decide,
    in_order,
)
from gramsmith.tables.streams import Array
from gramsmith.tables.texts import PLACES, TextMap
from gramsmith.tables.words import dates_of, said_words

NUMBERS = ("number", "boolean", "ordered")
TEXTS = ("text", "sequence")
KINDS = (*NUMBERS, "category", "date", *TEXTS)
GAP = "missing"  # the category of a missing cell
YEAR, WEEK, DAY = 1, 2, 4  # cycles of a date
SECONDS = {YEAR: 365.2425 * 86400.0, WEEK: 7 * 86400.0, DAY: 86400.0}
SKEWED = 1.0
FRAME = "Pass a data frame, whose columns may be texts: pandas.DataFrame(X)."


def _no_dates() -> dict[str, Array]:
    return {
        "date_mean_": np.empty(0),
        "date_scale_": np.empty(0),
        "date_cycles_": np.empty(0, dtype=np.int64),
        "date_gaps_": np.empty(0, dtype=bool),
    }


class TableEncoder(TransformerMixin, BaseEstimator):
    r"""Encode a table as numbers: every column after its kind, gaps included.

    .. math:: x \mapsto (x - \mu) / \sigma, \qquad \text{category} \mapsto e_{\text{category}}

    ===============  ==========================================================================
    number, boolean  standardised; a gap becomes the median, with an indicator beside it
    ordered          the place among the ordered categories, standardised
    category         indicators; a gap is a category of its own, an unseen category is none of them
    date             the standardised time, and sine and cosine of the year, the week and the day
    text, sequence   what texts have in common: counts of their parts of 2 to 4 letters, by the
                     directions in which the texts differ most; the target has no part in it
    id, constant     left out
    ===============  ==========================================================================

    An indicator stays 0 or 1: two rows of different categories are then as far apart as two random
    values of a standardised column. Columns of data frames are found by name, whatever their order.
    Arrays have numbers only; rows of sparse matrices are divided by one common number.

    Parameters
    ----------
    max_categories : int, default=100
        A column with more different texts is compared as text.
    indicators : bool, default=False
        Whether numeric columns of 3 to 12 different values count as categories too, each value
        being its nearest one of those seen in fit.
    roles : dict of name -> role, optional
        What columns are, where that should not be found out: number, boolean, category, ordered,
        date (date-dmy, date-mdy), text, sequence, or drop.
    power : bool, default=False
        Whether skewed numbers go through the transform of Yeo and Johnson first.

    Attributes
    ----------
    columns_ : ColumnTable
        What each column is, with its gaps, different values and an example.
    kinds_ : str array of shape (n_features_in_,)
        The kind of each column.
    numeric_ : bool array of shape (n_features_in_,)
        Which columns are numbers.
    mean_, scale_ : arrays of shape (n_numeric,)
        Means and standard deviations of the numeric columns; one for constant columns.
    fill_ : array of shape (n_numeric,)
        The medians, which stand in for gaps.
    gaps_ : bool array of shape (n_numeric,)
        Which numeric columns had gaps in fit, and have an indicator.
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
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"size": [1.0, None, 3.0], "colour": ["red", "blue", None]})
    >>> encoder = TableEncoder().fit(frame)
    >>> encoder.get_feature_names_out().tolist()
    ['size', 'size missing', 'colour=blue', 'colour=red', 'colour=missing']
    """

    _stored: ClassVar[dict[str, str]] = {
        "kinds_": "labels p",
        "styles_": "labels p",
        "sentinels_": "array p",
        "numeric_": "array p",
        "mean_": "array m",
        "scale_": "positive m",
        "fill_": "array m",
        "gaps_": "array m",
        "powers_": "array m",
        "order_names_": "labels o",
        "order_counts_": "array m",
        "level_values_": "array v",
        "level_counts_": "array m",
        "category_names_": "labels c",
        "category_counts_": "array k",
        "date_mean_": "array d",
        "date_scale_": "positive d",
        "date_cycles_": "array d",
        "date_gaps_": "array d",
        **TextMap.stored,
        "feature_names_out_": "labels *",
        "column_names_": "labels p?",
        "columns_": "dropped",
    }
    _stored_parameters: ClassVar[dict[str, str]] = {"roles": "none | dropped"}

    def __init__(
        self,
        max_categories: int = 100,
        indicators: bool = False,
        roles: Mapping[Any, str] | None = None,
        power: bool = False,
    ) -> None:
        self.max_categories = max_categories
        self.indicators = indicators
        self.roles = roles
        self.power = power

    # who is told how many columns have been looked at; no parameter, and not kept
    _told: Callable[[int], None] | None = None

    def fit(self, X: Any, y: Any = None) -> TableEncoder:
        """Decide what the columns are, and learn means, medians and categories.

        Parameters
        ----------
        X : data frame, array or sparse matrix of shape (n, p)
        y : array of shape (n,), optional
            The target, looked at only to warn of columns that are copies of it.

        Returns
        -------
        TableEncoder
        """
        columns = frame_columns(X)
        self.__dict__.pop("column_names_", None)
        if columns is None:
            self._fit_array(X)
            return self
        names = list(columns)
        if all(isinstance(name, str) for name in names):
            self.feature_names_in_ = np.array(names, dtype=object)
        else:
            # for scikit-learn these are no names, but columns are told apart by them
            self.__dict__.pop("feature_names_in_", None)
            self.column_names_ = np.array([str(name) for name in names], dtype=object)
        self.n_features_in_ = len(names)
        n = len(next(iter(columns.values()))) if columns else 0
        if not names or not n:
            raise ValueError(
                f"Expected a table with rows and columns, got {n} sample(s) and {len(names)} "
                "feature(s), while a minimum of 1 is required."
            )
        roles = check_roles(self.roles, names)
        raws = {name: raw_column(column, name) for name, column in columns.items()}
        found = [
            self._tell(decide(k, raw, roles.get(k), self.max_categories)) for k, raw in raws.items()
        ]
        self._take(found, list(raws.values()))
        if y is not None:
            self._warn_of_copies(raws, np.asarray(y))
        if not any(column.role == "input" for column in found):
            raise ValueError(
                "Expected at least one column to learn from, got none: "
                f"{'; '.join(f'{c.name!r} is {c.kind}' for c in found[:8])}. "
                "Set roles for columns that should be used."
            )
        return self

    def _fit_array(self, X: Any) -> None:
        if self.roles:
            raise ValueError(
                "Expected a data frame with roles, whose columns have names, got an array. "
                "Pass pandas.DataFrame(X, columns=...), or leave roles out."
            )
        X = checked_data(
            self, X, accept_sparse="csr", dtype=np.float64, ensure_all_finite=False, advice=FRAME
        )
        check_finite_columns(X, getattr(self, "feature_names_in_", None), gaps=not sp.issparse(X))
        p = X.shape[1]
        self.kinds_, self.styles_ = np.full(p, "number"), np.full(p, "")
        self.sentinels_ = np.zeros(p)
        self.numeric_ = np.ones(p, dtype=bool)
        self.order_names_, self.order_counts_ = np.empty(0, dtype=str), np.zeros(p, dtype=np.int64)
        self._fit_numbers(X)
        self._fit_categories([])
        self.__dict__.update(_no_dates(), **TextMap.empty().arrays())
        names = getattr(self, "feature_names_in_", [f"x{j}" for j in range(p)])
        self.columns_ = ColumnTable()
        if not sp.issparse(X):
            self.columns_ = ColumnTable(
                self._tell(decide(name, Raw(X[:, j]), "number")) for j, name in enumerate(names)
            )
        self.feature_names_out_ = self._output_names()

    def _tell(self, value: Any) -> Any:
        """Return a value, and tell whoever listens that one more column was looked at."""
        if self._told is not None:
            self._told(1)
        return value

    def _take(
        self, found: Sequence[Column], raws: list[Raw], among: list[Array] | None = None
    ) -> None:
        self.columns_ = ColumnTable(found)
        self.kinds_ = np.array([c.kind if c.role == "input" else "left out" for c in found])
        self.styles_ = np.array([c.style for c in found])
        self.sentinels_ = np.array([c.sentinel for c in found])
        self.numeric_ = np.isin(self.kinds_, NUMBERS)
        orders = [
            raw.levels or in_order(raw.values) if kind == "ordered" else []
            for raw, kind in zip(raws, self.kinds_, strict=True)
            if kind in NUMBERS
        ]
        self.order_names_ = np.array([word for levels in orders for word in levels], dtype=str)
        self.order_counts_ = np.array([len(levels) for levels in orders], dtype=np.int64)
        names = [c.name for c in found]
        self._fit_numbers(self._numbers(names, raws), among)
        self._fit_categories([as_words(raws[j].values) for j in self._of("category")])
        self._fit_dates([self._dates(raws[j], j) for j in self._of("date")])
        texts = [as_words(raws[j].values) for j in self._of(*TEXTS)]
        self.__dict__.update(TextMap.fit(texts).arrays())
        self.feature_names_out_ = self._output_names()

    def _warn_of_copies(self, raws: dict[Any, Raw], y: Array) -> None:
        for (name, raw), kind in zip(raws.items(), self.kinds_, strict=True):
            said = None if kind == "left out" or y.ndim != 1 else copy_of_target(name, raw, y)
            if said:
                warnings.warn(said, UserWarning, stacklevel=3)

    def _of(self, *kinds: str) -> list[int]:
        return [int(j) for j in np.flatnonzero(np.isin(self.kinds_, kinds))]

    # ---- numbers --------------------------------------------------------------------------------

    def _numbers(self, names: list[Any], raws: list[Raw]) -> Array:
        """Return the numeric columns as floats, NaN where missing."""
        parts = []
        stops = np.cumsum(self.order_counts_)
        for slot, j in enumerate(np.flatnonzero(self.numeric_)):
            if self.kinds_[j] == "ordered":
                size = self.order_counts_[slot]
                levels = self.order_names_[stops[slot] - size : stops[slot]].tolist()
                place: dict[Any, float] = {word: float(i) for i, word in enumerate(levels)}
                words = as_words(raws[j].values)
                self._say_odd(names[j], words, [w is not None and w not in place for w in words])
                parts.append(np.array([place.get(word, np.nan) for word in words]))
            else:
                style, sentinel = str(self.styles_[j]), float(self.sentinels_[j])
                parts.append(as_numbers(names[j], raws[j].values, style, sentinel, gaps=True))
        return np.column_stack(parts) if parts else np.empty((len(raws[0].values), 0))

    def _fit_numbers(self, X: Any, among: list[Array] | None = None) -> None:
        p = X.shape[1]
        self.gaps_, self.powers_ = np.zeros(p, dtype=bool), np.ones(p)
        if sp.issparse(X):
            # counts and shares are compared as they are: one factor for all columns, by which
            # the mean squared length is p, as it is for standardised columns
            self.mean_ = self.fill_ = np.zeros(p)
            power = float(np.asarray(X.multiply(X).sum())) / max(X.shape[0] * p, 1)
            self.scale_ = np.full(p, np.sqrt(power) if power > 0 else 1.0)
        else:
            absent = np.isnan(X)
            self.gaps_ = absent.any(axis=0)
            self.fill_ = np.zeros(p)
            for j in range(p):
                if not absent[:, j].all():
                    self.fill_[j] = np.median(X[~absent[:, j], j])
            X = np.where(absent, self.fill_, X) if self.gaps_.any() else X
            if self.power:
                self.powers_ = np.array([self._tell(_skew_power(X[:, j])) for j in range(p)])
                X = self._powered(X)
            self._fit_scale(X)
        columns = range(p) if self.indicators and not sp.issparse(X) else ()
        levels = [_levels(X[:, j]) for j in columns]
        if among is not None:  # of these, the values that occur
            seen = [np.intersect1d(allowed, X[:, j]) for j, allowed in enumerate(among)]
            levels = [a if len(a) else b for a, b in zip(seen, among, strict=True)]
        self.level_counts_ = np.zeros(p, dtype=np.int64)
        self.level_counts_[: len(levels)] = [len(found) for found in levels]
        self.level_values_ = np.concatenate(levels) if levels else np.empty(0)

    def _fit_scale(self, X: Array) -> None:
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

    def _powered(self, X: Array) -> Array:
        if (self.powers_ == 1.0).all():
            return X
        X = X.copy()
        for j in np.flatnonzero(self.powers_ != 1.0):
            X[:, j] = yeo_johnson(X[:, j], float(self.powers_[j]))
        return X

    def _encode_numbers(self, X: Any) -> Any:
        if sp.issparse(X):
            return sp.csr_array(X.multiply(1.0 / self.scale_[None, :]))
        absent = np.isnan(X)
        if absent.any():
            X = np.where(absent, self.fill_, X)
            new = absent.any(axis=0) & ~self.gaps_
            if new.any():
                j = np.flatnonzero(self.numeric_)[np.flatnonzero(new)[0]]
                names = getattr(self, "column_names_", getattr(self, "feature_names_in_", None))
                warnings.warn(
                    f"Column {j if names is None else repr(str(names[j]))} has missing cells, "
                    "which it had not in fit: they are read as its median.",
                    UserWarning,
                    stacklevel=4,
                )
        X = self._powered(X)
        Z = (X - self.mean_) / self.scale_
        if not self.level_counts_.any() and not self.gaps_.any():
            return Z
        parts = [Z[:, self.level_counts_ == 0]]
        stops = np.cumsum(self.level_counts_)
        for j in np.flatnonzero(self.level_counts_):
            levels = self.level_values_[stops[j] - self.level_counts_[j] : stops[j]]
            nearest = np.abs(X[:, j, None] - levels).argmin(axis=1)
            parts.append((nearest[:, None] == np.arange(len(levels))).astype(np.float64))
        return np.hstack([*parts, absent[:, self.gaps_].astype(np.float64)])

    # ---- categories and dates -------------------------------------------------------------------

    def _fit_categories(self, columns: list[Array]) -> None:
        found = []
        for words in columns:
            known = sorted({word for word in words if word is not None})
            found.append([*known, GAP] if any(word is None for word in words) else known)
        self.category_names_ = np.array([word for known in found for word in known], dtype=str)
        self.category_counts_ = np.array([len(known) for known in found], dtype=np.int64)

    def _encode_categories(self, names: list[Any], columns: list[Array]) -> list[Array]:
        parts = []
        stops = np.cumsum(self.category_counts_)
        for name, words, stop, size in zip(
            names, columns, stops, self.category_counts_, strict=True
        ):
            known = self.category_names_[stop - size : stop].tolist()
            place = {word: i for i, word in enumerate(known)}
            distinct = dict.fromkeys(words)
            new = sorted(word for word in distinct if word is not None and word not in place)
            if new:
                warnings.warn(
                    f"Column {name!r} has categories that were not there in fit: "
                    f"{', '.join(map(repr, new[:5]))}. They are encoded as none of the known ones.",
                    UserWarning,
                    stacklevel=4,
                )
            codes = np.array([place.get(GAP if w is None else w, -1) for w in words])
            parts.append((codes[:, None] == np.arange(size)).astype(np.float64))
        return parts

    def _dates(self, raw: Raw, j: int) -> Array:
        """Return a column of dates as seconds, NaN where missing."""
        values = raw.values
        if values.dtype == object:
            words = as_words(values)
            values = dates_of(words, str(self.styles_[j]) or "iso")
            self._say_odd(self._name(j), words, np.isnat(values) & ~missing_cells(words))
        elif values.dtype.kind != "M":
            raise ValueError(
                f"Expected dates in column {self._name(j)!r} as in fit, got {values.dtype}."
            )
        absent = np.isnat(values)
        return np.where(absent, np.nan, values.astype("datetime64[us]").astype(np.int64) / 1e6)

    def _say_odd(self, name: Any, words: Array, odd: Any) -> None:
        """Warn of words in rows where they mean nothing that fit has seen."""
        rows = np.flatnonzero(odd).tolist()
        if rows:
            warnings.warn(
                f"Expected values like those of fit in column {name!r}, got "
                f"{said_words(words, rows)}: taken as missing.",
                UserWarning,
                stacklevel=5,
            )

    def _name(self, j: int) -> Any:
        names: Any = getattr(self, "column_names_", getattr(self, "feature_names_in_", None))
        return names[j]

    def _fit_dates(self, columns: list[Array]) -> None:
        self.__dict__.update(_no_dates())
        if not columns:
            return
        self.date_gaps_ = np.array([bool(np.isnan(t).any()) for t in columns])
        known = [t[~np.isnan(t)] for t in columns]
        self.date_mean_ = np.array([float(np.mean(t)) if len(t) else 0.0 for t in known])
        spread = np.array([float(np.std(t)) if len(t) else 0.0 for t in known])
        self.date_scale_ = np.where(spread > 0, spread, 1.0)
        self.date_cycles_ = np.array([_cycles(t) for t in known], dtype=np.int64)

    def _encode_dates(self, columns: list[Array]) -> list[Array]:
        parts = []
        for t, mean, scale, cycles, gaps in zip(
            columns,
            self.date_mean_,
            self.date_scale_,
            self.date_cycles_,
            self.date_gaps_,
            strict=True,
        ):
            absent = np.isnan(t)
            block = [np.where(absent, 0.0, (t - mean) / scale)]
            for cycle, period in SECONDS.items():
                if cycles & cycle:
                    angle = 2.0 * np.pi * np.where(absent, 0.0, t) / period
                    block += [np.where(absent, 0.0, f(angle)) for f in (np.sin, np.cos)]
            if gaps:
                block.append(absent.astype(np.float64))
            parts.append(np.column_stack(block))
        return parts

    # ---- use ------------------------------------------------------------------------------------

    def transform(self, X: Any) -> Any:
        """Encode a table with the columns seen in fit.

        Parameters
        ----------
        X : data frame, array or sparse matrix of shape (n, p)
            Columns of a data frame may come in another order; those that were left out in fit may
            be absent, others that were not there in fit are ignored with a warning.

        Returns
        -------
        array of shape (n, n_features_out)
        """
        check_is_fitted(self)
        columns = frame_columns(X)
        if columns is None:
            if not self.numeric_.all() or (self.kinds_ == "ordered").any():
                return self._encode(self._columns_of_array(X))
            with warnings.catch_warnings():
                # Fitted on a data frame, given an array: columns are then taken by position.
                warnings.filterwarnings(
                    "ignore", "X does not have valid feature names", UserWarning
                )
                X = checked_data(
                    self,
                    X,
                    accept_sparse="csr",
                    dtype=np.float64,
                    ensure_all_finite=False,
                    reset=False,
                    advice=FRAME,
                )
            names = getattr(self, "feature_names_in_", None)
            check_finite_columns(X, names, gaps=not sp.issparse(X))
            return self._encode_numbers(X)
        return self._encode(self._in_order(columns))

    def encode_from(self, table: list[Raw] | Array, rows: Array) -> Array:
        """Return all rows of a table, encoded by what some of the rows alone can teach.

        What columns are, and which encoded columns there are, stays as it was found in fit, so that
        a kernel can be compared with itself between folds. What the rows do not show (a category,
        gaps of a number) is a column of zeros: unseen, as `transform` has it.

        Parameters
        ----------
        table : list of Raw, or array of shape (n, p)
            What `raw_table` makes of the table.
        rows : int array
            The rows to learn from.

        Returns
        -------
        array of shape (n, n_features_out)
        """
        other = copy(self)
        among = None
        if self.level_counts_.any():
            among = np.split(self.level_values_, np.cumsum(self.level_counts_)[:-1])
        with warnings.catch_warnings():  # that a fold has seen less than all rows is no news
            warnings.simplefilter("ignore", UserWarning)
            if isinstance(table, list):
                other._take(self.columns_, [raw.at(rows) for raw in table], among)
                names = [column.name for column in self.columns_]
                Z = other._encode_raws(names, table)
            else:
                other._fit_numbers(table[rows], among)
                Z = other._encode_numbers(table)
        place = {part: k for k, part in enumerate(self._parts())}
        out = np.zeros((len(Z), len(self.feature_names_out_)))
        out[:, [place[part] for part in other._parts()]] = Z
        return out

    def _encode(self, columns: dict[Any, Any]) -> Array:
        names = list(columns)
        used = [j for j in range(len(names)) if self.kinds_[j] != "left out"]
        n = len(columns[names[used[0]]])
        empty = Raw(np.full(n, np.nan))
        raws = [
            raw_column(column, name) if j in used else empty
            for j, (name, column) in enumerate(columns.items())
        ]
        return self._encode_raws(names, raws)

    def _encode_raws(self, names: list[Any], raws: list[Raw]) -> Array:
        category, texts = self._of("category"), self._of(*TEXTS)
        parts = [
            self._encode_numbers(self._numbers(names, raws)),
            *self._encode_categories(
                [names[j] for j in category], [as_words(raws[j].values) for j in category]
            ),
            *self._encode_dates([self._dates(raws[j], j) for j in self._of("date")]),
            *TextMap.of(self).encode([as_words(raws[j].values) for j in texts]),
        ]
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
        used = [
            name for name, kind in zip(expected, self.kinds_, strict=True) if kind != "left out"
        ]
        missing = [name for name in used if name not in found]
        extra = [name for name in found if name not in set(expected)]
        if missing:
            near = [difflib.get_close_matches(name, extra, 1) for name in missing]
            hints = [f"{m!r} may be {g[0]!r}" for m, g in zip(missing, near, strict=True) if g]
            raise ValueError(
                f"Expected the columns seen in fit. Missing: {', '.join(map(repr, missing))}. "
                + (f"Not seen before: {', '.join(map(repr, extra))}. " if extra else "")
                + (f"Perhaps {'; '.join(hints)}. " if hints else "")
                + "Rename or add columns; their order does not matter."
            )
        if extra:
            warnings.warn(
                f"Columns that were not there in fit are ignored: {', '.join(map(repr, extra))}.",
                UserWarning,
                stacklevel=3,
            )
        named = dict(zip(found, columns.values(), strict=True))
        return {name: named.get(name) for name in expected}

    def _columns_of_array(self, X: Any) -> dict[Any, Any]:
        X = np.asarray(X, dtype=object)
        if X.ndim != 2 or X.shape[1] != self.n_features_in_:
            raise ValueError(
                f"Expected {counted(self.n_features_in_, 'column')}, got an array of shape "
                f"{X.shape}. "
                "Pass a data frame with the columns seen in fit."
            )
        names = getattr(self, "feature_names_in_", range(X.shape[1]))
        return {name: X[:, j] for j, name in enumerate(names)}

    def _parts(self) -> list[tuple[int, str]]:
        """Return, for every encoded column, the column it comes from and its name."""
        given = getattr(self, "feature_names_in_", None)
        names = [f"x{j}" for j in range(self.n_features_in_)] if given is None else list(given)
        numbers = [int(j) for j in np.flatnonzero(self.numeric_)]
        out = [
            (j, names[j]) for j, count in zip(numbers, self.level_counts_, strict=True) if not count
        ]
        ends = np.cumsum(self.level_counts_)
        for j, stop, size in zip(numbers, ends, self.level_counts_, strict=True):
            words = as_words(self.level_values_[stop - size : stop])
            out += [(j, f"{names[j]}={word}") for word in words]
        out += [
            (j, f"{names[j]} missing") for j, gap in zip(numbers, self.gaps_, strict=True) if gap
        ]
        stops = np.cumsum(self.category_counts_)
        for j, stop, size in zip(self._of("category"), stops, self.category_counts_, strict=True):
            known = self.category_names_[stop - size : stop]
            out += [(j, f"{names[j]}={value}") for value in known]
        cycles = {YEAR: "year", WEEK: "week", DAY: "day"}
        for j, found, gap in zip(self._of("date"), self.date_cycles_, self.date_gaps_, strict=True):
            out.append((j, names[j]))
            for cycle, word in cycles.items():
                if found & cycle:
                    out += [(j, f"{names[j]} {f} of the {word}") for f in ("sine", "cosine")]
            out += [(j, f"{names[j]} missing")] if gap else []
        for j, size in zip(self._of(*TEXTS), self.text_counts_, strict=True):
            out += [(j, f"{names[j]} direction {i + 1}") for i in range(size)]
        return out

    def _output_names(self) -> Array:
        return np.array([name for _, name in self._parts()], dtype=object)

    @property
    def beyond_formulas(self) -> list[str]:
        """What of this encoder is more than means, deviations and indicators, for an export."""
        found = sorted({str(kind) for kind in self.kinds_} - {"number", "boolean", "category"})
        found += ["gaps of numbers"] if self.gaps_.any() else []
        found += ["powers"] if (self.powers_ != 1.0).any() else []
        words = [j for j in self._of("number", "boolean") if self.styles_[j]]
        return found + (["numbers written as texts"] if words else [])

    def sources(self) -> Array:
        """Return the number of the column that each encoded column comes from."""
        check_is_fitted(self)
        return np.array([j for j, _ in self._parts()], dtype=np.int64)

    def blocks(self) -> list[int]:
        """Return for every encoded column the number of its block, for `gramsmith.Mixed`."""
        numbers = {int(j): b for b, j in enumerate(np.unique(self.sources()))}
        return [numbers[int(j)] for j in self.sources()]

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
        flags = (self.numeric_, self.gaps_, self.date_gaps_)
        sound = (
            all(flag.dtype == bool for flag in flags)
            and {str(kind) for kind in self.kinds_} <= {*KINDS, "left out"}
            and len(self._of("category")) == len(self.category_counts_)
            and len(self._of("date")) == len(self.date_mean_)
            and len(self._of(*TEXTS)) == len(self.text_counts_)
            and np.array_equal(self.numeric_, np.isin(self.kinds_, NUMBERS))
            and len(self.mean_) == int(self.numeric_.sum())
            and self.text_weights_.shape[1:] == self.text_components_.shape[1:] == (PLACES,)
            and all(isinstance(style, str) for style in self.styles_.tolist())
            and {str(self.styles_[j]) for j in self._of("date")} <= {"", "iso", "dmy", "mdy"}
        )
        for counts, values in (
            (self.level_counts_, self.level_values_),
            (self.category_counts_, self.category_names_),
            (self.order_counts_, self.order_names_),
            (self.text_counts_, self.text_components_),
            (self.date_cycles_, None),
        ):
            sound = sound and counts.dtype.kind == "i" and not (counts < 0).any()
            sound = sound and (values is None or int(counts.sum()) == len(values))
        if not sound or len(self._output_names()) != len(self.feature_names_out_):
            raise ValueError("Expected levels and categories for the columns of the table.")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.categorical = True
        tags.input_tags.allow_nan = True
        return tags


class TakeColumn(TransformerMixin, BaseEstimator):
    """Pass on the texts of one column of a table, which are the samples.

    Parameters
    ----------
    column : str
        Its name.

    Attributes
    ----------
    n_features_in_ : int
        Number of columns seen in fit.

    Examples
    --------
    >>> import pandas as pd
    >>> from gramsmith.tables import TakeColumn
    >>> TakeColumn("site").fit_transform(pd.DataFrame({"site": ["ACGT", "TTGA"]}))
    ['ACGT', 'TTGA']
    """

    _stored: ClassVar[dict[str, str]] = {"n_columns_": "whole", "place_": "whole?"}
    _stored_parameters: ClassVar[dict[str, str]] = {"column": "text"}

    def __init__(self, column: str = "") -> None:
        self.column = column

    def fit(self, X: Any, y: Any = None) -> TakeColumn:
        """Count the columns, and find the one among them."""
        names = [str(name) for name in frame_columns(X) or ()]
        self.n_columns_ = len(names)
        self.place_ = names.index(self.column) if self.column in names else 0
        return self

    def transform(self, X: Any) -> Any:
        """Return the texts, in a list; what is no table is passed on as it is."""
        columns = frame_columns(X)
        if columns is None:
            # the rows of a table without the names: columns are then taken by position
            rows = getattr(X, "ndim", 1) == 2 and X.shape[1] == self.n_columns_ > 0
            return X[:, self.place_].tolist() if rows else X
        if self.column not in columns:
            raise ValueError(
                f"Expected a column {self.column!r} with the texts, got "
                f"{', '.join(map(repr, list(columns)[:8]))}."
            )
        words = as_words(raw_column(columns[self.column], self.column).values)
        if any(word is None for word in words):
            row = next(i for i, word in enumerate(words) if word is None)
            raise ValueError(f"Expected a text in row {row} of column {self.column!r}, got none.")
        return words.tolist()

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "n_columns_")

    def _check_stored(self) -> None:
        if not 0 <= getattr(self, "place_", 0) < max(self.n_columns_, 1):
            raise ValueError(f"Expected one of {self.n_columns_} columns, got {self.place_}.")


def yeo_johnson(x: Array, power: float) -> Array:
    r"""Return the transform of Yeo and Johnson, ((x + 1)^λ - 1) / λ where x ≥ 0.

    For x < 0 it is -((1 - x)^(2 - λ) - 1) / (2 - λ).
    """
    with np.errstate(over="ignore", invalid="ignore"):
        up, down = np.log1p(np.maximum(x, 0.0)), np.log1p(np.maximum(-x, 0.0))
        high = up if abs(power) < 1e-12 else np.expm1(power * up) / power
        low = down if abs(power - 2.0) < 1e-12 else np.expm1((2.0 - power) * down) / (2.0 - power)
    return np.where(x >= 0.0, high, -low)


def _skew_power(x: Array) -> float:
    """Return the power that makes a skewed column most nearly normal; 1 if it is not skewed."""
    from scipy.stats import skew, yeojohnson_normmax

    if len(np.unique(x[:200])) < 8 or np.ptp(x) <= 1e-9 * max(float(np.abs(x).max()), 1e-300):
        return 1.0
    if not abs(float(skew(x))) > SKEWED:
        return 1.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            power = float(yeojohnson_normmax(x[:5000]))
        except (ValueError, RuntimeError):
            return 1.0
    usable = -5.0 < power < 5.0 and np.isfinite(yeo_johnson(x, power)).all()
    return power if usable else 1.0


def _cycles(t: Array) -> int:
    """Return which cycles the times of a column can show."""
    span = float(np.ptp(t)) if len(t) else 0.0
    found = 0
    if span > 0.5 * SECONDS[YEAR]:
        found |= YEAR
    if span > SECONDS[WEEK] and len(np.unique(t // SECONDS[DAY] % 7)) > 1:
        found |= WEEK
    if len(np.unique(t % SECONDS[DAY])) > 1:
        found |= DAY
    return found


def _levels(column: Array) -> Array:
    """Return the values of a column if they are 3 to 12, else none."""
    found = np.unique(column[:200])
    if len(found) <= 12:
        found = np.unique(column)
    return found if 3 <= len(found) <= min(12, len(column) // 10) else np.empty(0)


def check_finite_columns(X: Any, names: Any = None, *, gaps: bool = False) -> None:
    """Raise a ValueError that names the first infinite value; also missing ones unless `gaps`."""
    values = X.data if sp.issparse(X) else X
    bad = np.isinf(values) if gaps else ~np.isfinite(values)
    if not bad.any():
        return
    if sp.issparse(X):
        row, column = (int(where[bad][0]) for where in X.tocoo().coords)
    else:
        row, column = (int(v) for v in np.argwhere(bad)[0])
    label = column if names is None else repr(names[column])
    what = "NaN" if np.isnan(X[row, column]) else "infinity"
    raise ValueError(
        f"Expected a value in every row, got {what} in column {label}, row {row}. Input X "
        "contains NaN or infinity: correct these cells"
        + (", or make them missing (NaN)." if gaps else ", or leave them out of the matrix.")
    )


def has_gaps(column: Any) -> bool:
    """Return whether any cell of a column is missing."""
    return bool(missing_cells(raw_column(column).values).any())
