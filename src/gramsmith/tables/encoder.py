"""TableEncoder: data frames and arrays to the numbers that kernels compare."""

from __future__ import annotations

import difflib
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from gramsmith.arguments import counted
from gramsmith.kernels.finite import checked_data
from gramsmith.tables.blocks import BLOCKS, Categories, Dates, Numbers, Texts
from gramsmith.tables.convert import Cells, as_words, frame_columns, plain
from gramsmith.tables.decide import (
    Column,
    ColumnTable,
    TableFacts,
    check_roles,
    copy_of_target,
    decide,
)
from gramsmith.tables.streams import Array, DataError

FRAME = "Pass a data frame, whose columns may be texts: pandas.DataFrame(X)."


def _from_format_2(state: dict[str, Any]) -> dict[str, Any]:
    """Bring an encoder up to date that kept one array per property, for all columns together."""
    old, params = dict(state["fitted"]), state["params"]
    if not old:
        return state
    kinds = np.asarray(old["kinds_"], dtype=str)
    styles = np.asarray(old["styles_"], dtype=str)

    def block(made: Any, **fitted: Any) -> Any:
        own = np.isin(kinds, made.kinds)
        fitted |= {"columns_": np.flatnonzero(own), "kinds_": kinds[own], "styles_": styles[own]}
        for name, value in fitted.items():
            setattr(made, name, value)
        return made

    def lists(counts: str, values: str) -> list[Array]:
        sizes = np.asarray(old[counts], dtype=np.int64)
        if (sizes < 0).any() or sizes.sum() != len(old[values]):
            raise ValueError("Expected as many values as were counted.")
        return np.split(old[values], np.cumsum(sizes)[:-1]) if len(sizes) else []

    number = np.isin(kinds, Numbers.kinds)
    numbers = Numbers(bool(params.get("indicators", False)), bool(params.get("power", False)))
    numbers._begin(int(number.sum()))
    names = lists("category_counts_", "category_names_")
    gaps = [bool(len(known)) and known[-1] == "missing" for known in names]
    blocks = [
        block(
            numbers,
            sentinels_=np.asarray(old["sentinels_"])[number],
            orders_=[v.astype(str) for v in lists("order_counts_", "order_names_")],
            levels_=lists("level_counts_", "level_values_"),
            **{k: old[k] for k in ("mean_", "scale_", "fill_", "gaps_", "powers_")},
        ),
        block(
            Categories(),
            names_=[v[: len(v) - gap].astype(str) for v, gap in zip(names, gaps, strict=True)],
            gaps_=np.array(gaps, dtype=bool),
        ),
        block(Dates(), **{k: old[f"date_{k}"] for k in ("mean_", "scale_", "cycles_", "gaps_")}),
        block(
            Texts(),
            weights_=old["text_weights_"],
            components_=lists("text_counts_", "text_components_"),
        ),
    ]
    kept = {"n_features_in_", "feature_names_in_", "feature_names_out_", "column_names_"}
    fitted = {name: value for name, value in old.items() if name in kept}
    return {**state, "fitted": {**fitted, "blocks_": blocks}}


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
        Whether skewed numbers are transformed first: by the logarithm where all are above zero and
        it fits best, else by the transform of Yeo and Johnson of centred and scaled values. Neither
        depends on units or on the order of rows.
    scale : bool, default=True
        Whether numbers are standardised. Kernels of counts, such as `Tanimoto`, compare them as
        they are.

    Attributes
    ----------
    columns_ : ColumnTable
        What each column is, with its missing and different values and an example.
    blocks_ : list of Block
        What was learned of numbers, categories, dates and texts.
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
        "blocks_": "list model",
        "feature_names_out_": "labels *",
        "column_names_": "labels p?",
        "columns_": "dropped",
    }
    _stored_parameters: ClassVar[dict[str, str]] = {"roles": "none | dropped"}
    _stored_upgrades: ClassVar[dict[int, Any]] = {2: _from_format_2}

    def __init__(
        self,
        max_categories: int = 100,
        indicators: bool = False,
        roles: Mapping[Any, str] | None = None,
        power: bool = False,
        scale: bool = True,
    ) -> None:
        self.max_categories = max_categories
        self.indicators = indicators
        self.roles = roles
        self.power = power
        self.scale = scale

    def fit(self, X: Any, y: Any = None) -> TableEncoder:
        """Decide what the columns are, and learn means, medians and categories.

        The target is looked at only to warn of columns that are copies of it.
        """
        columns = frame_columns(X)
        self.__dict__.pop("column_names_", None)
        if sp.issparse(X):
            self._check_array(X, True)
            self.columns_ = ColumnTable()
            self.blocks_ = self._fitted_blocks((), ())
            self.numbers_.fit_sparse(X)
        else:
            cells = self._cells_of_array(X) if columns is None else self._cells_of_frame(columns)
            facts, roles = TableFacts.of(cells), dict(self.roles or {})
            self.columns_ = ColumnTable(
                decide(name, c, facts, roles.get(name), self.max_categories, columns is None)
                for name, c in cells.items()
            )
            self.blocks_ = self._fitted_blocks(self.columns_, list(cells.values()))
            if columns is not None and y is not None and np.ndim(y) == 1:
                self._warn_of_copies(cells, np.asarray(y))
            if not any(column.role == "input" for column in self.columns_):
                raise ValueError(
                    "Expected at least one column to learn from, got none: "
                    f"{'; '.join(f'{c.name!r} is {c.kind}' for c in self.columns_[:8])}. "
                    "Set roles for columns that should be used."
                )
        self.feature_names_out_ = self._output_names()
        return self

    def _cells_of_frame(self, columns: dict[Any, Any]) -> dict[Any, Cells]:
        """Return the columns of a data frame as cells, and keep their names."""
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
        # what is left out is not looked at: it may hold anything
        return {
            k: Cells(np.full(n, np.nan)) if roles.get(k) == "drop" else plain(c, k)
            for k, c in columns.items()
        }

    def _cells_of_array(self, X: Any) -> dict[Any, Cells]:
        if self.roles:
            raise ValueError(
                "Expected a data frame with roles, whose columns have names, got an array. "
                "Pass pandas.DataFrame(X, columns=...), or leave roles out."
            )
        X = self._check_array(X, True)
        return {f"x{j}": Cells(X[:, j]) for j in range(X.shape[1])}

    def _check_array(self, X: Any, reset: bool) -> Any:
        """Return a matrix of numbers; gaps are for dense ones only."""
        with warnings.catch_warnings():
            # Fitted on a data frame, given an array: columns are then taken by position.
            warnings.filterwarnings("ignore", "X does not have valid feature names", UserWarning)
            return checked_data(
                self,
                X,
                accept_sparse="csr",
                dtype=np.float64,
                ensure_all_finite=sp.issparse(X),
                reset=reset,
                advice=FRAME,
            )

    def _fitted_blocks(
        self, columns: Sequence[Column], cells: Sequence[Cells], like: Sequence[Any] = (None,) * 4
    ) -> list[Any]:
        made = (Numbers(self.indicators, self.power, self.scale), *(cls() for cls in BLOCKS[1:]))
        return [block.fit(columns, cells, old) for block, old in zip(made, like, strict=True)]

    def _warn_of_copies(self, cells: Mapping[Any, Cells], y: Array) -> None:
        for column, (name, values) in zip(self.columns_, cells.items(), strict=True):
            said = copy_of_target(name, values, y) if column.role == "input" else None
            if said:
                warnings.warn(said, UserWarning, stacklevel=3)

    @property
    def kinds_(self) -> Array:
        """The kind of each column, "left out" for those that are."""
        kinds = np.full(self.n_features_in_, "left out", dtype=object)
        for block in self.blocks_:
            kinds[block.columns_] = block.kinds_
        return kinds.astype(str)

    @property
    def numbers_(self) -> Numbers:
        """The block of the numbers."""
        numbers: Numbers = self.blocks_[0]
        return numbers

    def column_names(self) -> list[str]:
        """Return the names of the columns seen in fit, x0, x1, ... for those of arrays."""
        given = getattr(self, "column_names_", getattr(self, "feature_names_in_", None))
        return [f"x{j}" for j in range(self.n_features_in_)] if given is None else list(given)

    # ---- use ------------------------------------------------------------------------------------

    def transform(self, X: Any) -> Any:
        """Encode a table with the columns seen in fit.

        Those of a data frame may come in another order; those that were left out in fit may be
        absent, others that were not there in fit are ignored with a warning.
        """
        check_is_fitted(self)
        columns, names = frame_columns(X), self.column_names()
        if columns is not None:
            columns = self._in_order(columns)
        elif not self.takes_matrix:
            columns = self._columns_of_array(X)
        else:
            X = self._check_array(X, False)
            if sp.issparse(X):
                return sp.csr_array(X.multiply(1.0 / self.numbers_.scale_[None, :]))
            columns = {name: X[:, j] for j, name in enumerate(names)}
        used = {int(j) for block in self.blocks_ for j in block.columns_}
        listed = list(columns.items())
        empty = Cells(np.full(len(listed[min(used)][1]), np.nan))
        cells = [plain(c, k) if j in used else empty for j, (k, c) in enumerate(listed)]
        return np.hstack(_encoded(self.blocks_, cells, list(columns)))

    @property
    def takes_matrix(self) -> bool:
        """Whether all columns are numbers that are used, so that a table is a matrix."""
        numbers = self.numbers_
        return len(numbers.columns_) == self.n_features_in_ and not any(map(len, numbers.orders_))

    def encode_from(self, table: list[Cells], rows: Array) -> Array:
        """Return all rows of a table, encoded by what some of the rows alone can teach.

        What columns are, and which encoded columns there are, stays as it was found in fit, so that
        a kernel can be compared with itself between folds. What the rows do not show (a category,
        gaps of a number) is a column of zeros: unseen, as `transform` has it.
        """
        with warnings.catch_warnings():  # that a fold has seen less than all rows is no news
            warnings.simplefilter("ignore", UserWarning)
            some = [cells.at(rows) for cells in table]
            blocks = self._fitted_blocks(self.columns_, some, self.blocks_)
            Z = np.hstack(_encoded(blocks, table, self.column_names()))
        place = {part: k for k, part in enumerate(self._parts(self.blocks_))}
        out = np.zeros((len(Z), len(self.feature_names_out_)))
        out[:, [place[part] for part in self._parts(blocks)]] = Z
        return out

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
                f"Columns not seen in fit are ignored: {', '.join(map(repr, extra))}.",
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
        return {name: X[:, j] for j, name in enumerate(self.column_names())}

    def _parts(self, blocks: Sequence[Any]) -> list[tuple[int, str]]:
        """Return, for every encoded column, the column it comes from and its name."""
        names = self.column_names()
        return [part for block in blocks for part in block.parts(names)]

    def _output_names(self) -> Array:
        return np.array([name for _, name in self._parts(self.blocks_)], dtype=object)

    def sources(self) -> Array:
        """Return the number of the column that each encoded column comes from."""
        check_is_fitted(self)
        return np.array([j for j, _ in self._parts(self.blocks_)], dtype=np.int64)

    def blocks(self) -> list[int]:
        """Return for every encoded column the number of its column, for `gramsmith.Mixed`."""
        numbers = {int(j): b for b, j in enumerate(np.unique(self.sources()))}
        return [numbers[int(j)] for j in self.sources()]

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Return the names of the encoded columns, from those seen in fit."""
        check_is_fitted(self)
        return self.feature_names_out_

    def _check_stored(self) -> None:
        kinds = [type(block) for block in self.blocks_]
        if kinds != list(BLOCKS):
            raise ValueError("Expected blocks of numbers, categories, dates and texts.")
        for block in self.blocks_:
            block._check_stored()
        own = np.concatenate([block.columns_ for block in self.blocks_])
        whole = own.dtype.kind == "i" and len(np.unique(own)) == len(own)
        inside = not len(own) or (own.min() >= 0 and own.max() < self.n_features_in_)
        if not whole or not inside or len(own) == 0:
            raise ValueError("Expected every column in one block.")
        if len(self._output_names()) != len(self.feature_names_out_):
            raise ValueError("Expected a name for every encoded column.")

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "blocks_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.categorical = True
        tags.input_tags.allow_nan = True
        return tags


def encoded_together(columns: Sequence[Column], cells: Sequence[Cells]) -> tuple[Array, Array]:
    """Return a table encoded by what all its rows teach, and where each encoded column is from."""
    names = [column.name for column in columns]
    blocks = TableEncoder()._fitted_blocks(columns, cells)
    empty = np.empty((len(cells[0].values), 0))
    sources = [j for block in blocks for j, _ in block.parts(names)]
    return np.hstack([empty, *_encoded(blocks, cells, names)]), np.array(sources, dtype=np.int64)


def _encoded(blocks: Sequence[Any], cells: Sequence[Cells], names: Sequence[Any]) -> list[Array]:
    return [part for block in blocks for part in block.encode(cells, names)]


class TakeColumn(TransformerMixin, BaseEstimator):
    """Pass on the texts of one column of a table, which are the samples.

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
        words = as_words(plain(columns[self.column], self.column).values)
        if any(word is None for word in words):
            row = next(i for i, word in enumerate(words) if word is None)
            raise DataError("expected a text, got none.", column=self.column, row=row)
        return words.tolist()

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "n_columns_")

    def _check_stored(self) -> None:
        if not 0 <= getattr(self, "place_", 0) < max(self.n_columns_, 1):
            raise ValueError(f"Expected one of {self.n_columns_} columns, got {self.place_}.")
