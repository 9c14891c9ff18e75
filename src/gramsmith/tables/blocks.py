"""Blocks of an encoded table: numbers, categories, dates and texts.

A block knows which columns of the table are its own, learns what they need (`fit`), encodes them
(`encode`), names what comes out (`parts`), says what a file keeps (`_stored`) and is an ONNX graph
(`export`).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.preprocessing import normalize
from sklearn.utils.extmath import randomized_svd

from gramsmith.tables.convert import Cells, as_words, in_order, places, typed
from gramsmith.tables.decide import Column
from gramsmith.tables.streams import Array, DataError

SKEWED = 1.0  # the skewness from which on a power is tried
DISTINCT = 8  # different values that a skewed column has at least: fewer are counts or codes
SAMPLE = 5000  # values from which powers are found: evenly spaced among the sorted ones
LEVELS = 12  # different values of a number that may count as categories
YEAR, WEEK, DAY = 1, 2, 4  # cycles of a date
SECONDS = {YEAR: 365.2425 * 86400.0, WEEK: 7 * 86400.0, DAY: 86400.0}
CYCLES = {YEAR: "year", WEEK: "week", DAY: "day"}
PLACES = 2048  # into which the parts of texts are hashed
DIRECTIONS = 30  # of texts that are kept
# The variance of a column of texts, where that of a number is 1. Of 1, 5, 10 and 30, five did best
# where texts and numbers both matter (R² .36 against .33 of 1), and cost .02 where texts do not.
TEXT_VARIANCE = 5.0

Part = tuple[int, str]  # the column that an encoded column comes from, and its name
Input = Callable[[int, type], Any]  # the value of a column in an ONNX graph


class Block(BaseEstimator):
    """Columns of one family, encoded together.

    Attributes
    ----------
    columns_ : int array of shape (m,)
        The places of its columns in the table.
    """

    kinds: ClassVar[tuple[str, ...]] = ()
    _stored: ClassVar[dict[str, str]] = {"columns_": "array m"}

    def fit(self, columns: Sequence[Column], cells: Sequence[Cells], like: Any = None) -> Block:
        """Find the block's own columns, and learn what they need.

        Parameters
        ----------
        columns : sequence of Column
            What the columns of the table are.
        cells : sequence of Cells
            Their cells.
        like : Block, optional
            The block of all rows, where these are some of them.

        Returns
        -------
        Block
        """
        own = [j for j, c in enumerate(columns) if c.role == "input" and c.kind in self.kinds]
        self.columns_ = np.array(own, dtype=np.int64)
        self._learn([columns[j] for j in own], [cells[j] for j in own], like)
        return self

    def _learn(self, columns: list[Column], cells: list[Cells], like: Any) -> None:
        raise NotImplementedError

    def encode(self, cells: Sequence[Cells], names: Sequence[Any]) -> Array:
        """Return the block's columns as numbers, shape (n, number of parts)."""
        raise NotImplementedError

    def parts(self, names: Sequence[Any]) -> list[Part]:
        """Return what every encoded column comes from, and its name."""
        raise NotImplementedError

    def kind_of(self, slot: int) -> str:
        """Return the kind of one of the block's columns."""
        return self.kinds[0]

    def export(self, graph: Any, value: Input) -> list[Any]:
        """Return the encoded columns as values of an ONNX graph, NaN and "" being missing cells."""
        raise NotImplementedError


class Numbers(Block):
    r"""Numbers, flags and ordered categories: unskewed on request, then standardised.

    .. math:: x \mapsto (u(x) - \mu) / \sigma

    A gap becomes the median, with an indicator beside it.

    Parameters
    ----------
    indicators : bool, default=False
        Whether numbers of 3 to 12 different values count as categories.
    power : bool, default=False
        Whether skewed numbers go through a logarithm or the transform of Yeo and Johnson, u, of
        centred and scaled values.

    Attributes
    ----------
    columns_ : int array of shape (m,)
        The places of its columns in the table.
    kinds_, styles_ : str arrays of shape (m,)
        What each is, and how its numbers are written.
    sentinels_ : array of shape (m,)
        What stands for a missing cell, 0 if nothing does.
    orders_ : list of str arrays, with order_slots_
        The ordered categories of the columns that have them.
    mean_, scale_, fill_, gaps_ : arrays of shape (m,)
        Means, deviations, medians, and whether there are gaps.
    powers_, centre_, unit_, logs_, floor_ : arrays of shape (m,)
        The power of each column (1: none) of (x - centre) / unit, or whether it is the logarithm,
        of values from `floor_` on.
    levels_ : list of arrays, with level_slots_
        The values of columns that count as categories.
    """

    kinds: ClassVar[tuple[str, ...]] = ("number", "boolean", "ordered")
    _stored: ClassVar[dict[str, str]] = {
        "kinds_": "names m",
        "styles_": "names m",
        "sentinels_": "array m",
        "orders_": "list names *",
        "order_slots_": "array o",
        "mean_": "array m",
        "scale_": "positive m",
        "fill_": "array m",
        "gaps_": "array m",
        "powers_": "array m",
        "centre_": "array m",
        "unit_": "positive m",
        "logs_": "array m",
        "floor_": "array m",
        "levels_": "list array *",
        "level_slots_": "array v",
    }

    def __init__(self, indicators: bool = False, power: bool = False) -> None:
        self.indicators = indicators
        self.power = power

    def _learn(self, columns: list[Column], cells: list[Cells], like: Any) -> None:
        self.kinds_ = np.array([c.kind for c in columns], dtype=str)
        self.styles_ = np.array([c.style for c in columns], dtype=str)
        self.sentinels_ = np.array([c.sentinel for c in columns], dtype=np.float64)
        self.order_slots_ = np.flatnonzero(self.kinds_ == "ordered").astype(np.int64)
        self.orders_ = [
            np.array(cells[i].levels or in_order(cells[i].values), dtype=str)
            for i in self.order_slots_
        ]
        names = [c.name for c in columns]
        n = len(cells[0].values) if cells else 1
        self._standardise(self._values(cells, names, n), names, like)

    def fit_matrix(self, X: Any, columns: Sequence[Column], like: Any = None) -> Numbers:
        """Learn from a dense or sparse matrix, all of whose columns are numbers."""
        m = X.shape[1]
        self.columns_ = np.arange(m)
        self.kinds_, self.styles_ = np.full(m, "number"), np.full(m, "")
        self.sentinels_ = np.array([c.sentinel for c in columns] or np.zeros(m))
        self.orders_, self.order_slots_ = [], np.empty(0, dtype=np.int64)
        names = [c.name for c in columns] or [f"x{j}" for j in range(m)]
        self._standardise(X if sp.issparse(X) else self._spare(X), names, like)
        return self

    def _spare(self, X: Array) -> Array:
        """Return numbers with NaN for those that stand for missing cells."""
        if not self.sentinels_.any():
            return X
        return np.where((self.sentinels_ != 0.0) & (X == self.sentinels_), np.nan, X)

    def _values(self, cells: Sequence[Cells], names: Sequence[Any], n: int) -> Array:
        """Return columns as floats, NaN where missing."""
        orders = dict(zip(self.order_slots_.tolist(), self.orders_, strict=True))
        parts = [
            places(name, column.values, orders[i].tolist())
            if i in orders
            else typed(name, column.values, "number", str(style), float(sentinel))
            for i, (name, column, style, sentinel) in enumerate(
                zip(names, cells, self.styles_, self.sentinels_, strict=True)
            )
        ]
        return np.column_stack(parts) if parts else np.empty((n, 0))

    def _standardise(self, X: Any, names: Sequence[Any], like: Any) -> None:
        m = X.shape[1]
        self.gaps_, self.logs_ = np.zeros(m, dtype=bool), np.zeros(m, dtype=bool)
        self.powers_, self.unit_ = np.ones(m), np.ones(m)
        self.centre_, self.floor_, self.fill_ = np.zeros(m), np.zeros(m), np.zeros(m)
        self.levels_: list[Array] = []
        self.level_slots_ = np.empty(0, dtype=np.int64)
        if sp.issparse(X):
            # counts and shares are compared as they are: one factor for all columns, by which
            # the mean squared length is that of standardised columns
            self.mean_ = np.zeros(m)
            power = float(np.asarray(X.multiply(X).sum())) / max(X.shape[0] * m, 1)
            self.scale_ = np.full(m, np.sqrt(power) if power > 0 else 1.0)
            return
        absent = np.isnan(X)
        self.gaps_ = absent.any(axis=0)
        for j in range(m):
            if not absent[:, j].all():
                self.fill_[j] = np.median(X[~absent[:, j], j])
        X = np.where(absent, self.fill_, X) if self.gaps_.any() else X
        if self.indicators:
            self._find_levels(X, like)
        if self.power:
            for j in np.setdiff1d(np.arange(m), self.level_slots_):
                self._unskew(int(j), X[:, j])
        Z = self._unskewed(X)
        with np.errstate(over="ignore"):
            self.mean_ = Z.mean(axis=0)
            power = ((Z - self.mean_) ** 2).mean(axis=0)
        if not np.isfinite(power).all():
            j = int(np.flatnonzero(~np.isfinite(power))[0])
            row = int(np.argmax(np.abs(X[:, j])))
            raise DataError(
                f"expected values whose squares are finite, got {X[row, j]:.3g}.",
                "Rescale this column.",
                column=names[j],
                row=row,
            )
        deviation = np.sqrt(power)
        floor = 10.0 * np.finfo(float).eps * np.abs(self.mean_)
        self.scale_ = np.where(deviation > floor, deviation, 1.0)

    def _find_levels(self, X: Array, like: Any) -> None:
        if like is None:
            found = {j: _levels(X[:, j]) for j in range(X.shape[1])}
        else:  # of those of all rows, the values that occur
            found = {}
            for j, allowed in zip(like.level_slots_.tolist(), like.levels_, strict=True):
                seen = np.intersect1d(allowed, X[:, j])
                found[j] = seen if len(seen) else allowed
        self.level_slots_ = np.array([j for j, v in found.items() if len(v)], dtype=np.int64)
        self.levels_ = [found[j] for j in self.level_slots_.tolist()]

    def _unskew(self, j: int, x: Array) -> None:
        """Find the power or logarithm that makes a skewed column most nearly normal.

        It depends on the sorted, centred and scaled values alone, so neither on the order of the
        rows nor, unless a logarithm is best, on unit and offset.
        """
        from scipy.stats import skew, yeojohnson_llf, yeojohnson_normmax

        x = np.sort(x)
        some = x[np.linspace(0, len(x) - 1, min(len(x), SAMPLE)).round().astype(np.int64)]
        centre = float(np.median(some))
        unit = float(np.median(np.abs(some - centre))) or float(np.std(some))
        flat = np.ptp(some) <= 1e-9 * max(float(np.abs(some).max()), 1e-300)
        if flat or len(np.unique(some)) < DISTINCT or not abs(float(skew(x))) > SKEWED:
            return
        z = (some - centre) / unit
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                # two digits: rounding errors of another unit make no other power
                power = round(float(yeojohnson_normmax(z)), 2)
                gain = float(yeojohnson_llf(power, z))
            except (ValueError, RuntimeError):
                return
            if some[0] > 0:  # the density of log x, as one of z
                logs = np.log(some / unit)
                spread = float(np.var(logs))
                if spread > 0 and -0.5 * len(z) * np.log(spread) - logs.sum() >= gain:
                    self.logs_[j], self.floor_[j] = True, 0.5 * float(x[0])
                    return
        if -5.0 < power < 5.0 and np.isfinite(yeo_johnson((x - centre) / unit, power)).all():
            self.powers_[j], self.centre_[j], self.unit_[j] = power, centre, unit

    def _unskewed(self, X: Array) -> Array:
        if not self.unskews:
            return X
        X = X.copy()
        for j in np.flatnonzero(self.logs_):
            X[:, j] = np.log(np.maximum(X[:, j], self.floor_[j]))
        for j in np.flatnonzero(self.powers_ != 1.0):
            z = (X[:, j] - self.centre_[j]) / self.unit_[j]
            X[:, j] = yeo_johnson(z, float(self.powers_[j]))
        return X

    @property
    def unskews(self) -> bool:
        """Whether any column goes through a logarithm or a power."""
        return bool(self.logs_.any() or (self.powers_ != 1.0).any())

    def encode(self, cells: Sequence[Cells], names: Sequence[Any]) -> Array:
        """Return standardised columns, indicators of few values, and those of gaps."""
        own, n = [cells[j] for j in self.columns_], len(cells[0].values)
        named = [names[j] for j in self.columns_]
        return self._encoded(self._values(own, named, n), named)

    def encode_matrix(self, X: Any, names: Sequence[Any]) -> Any:
        """Return the rows of a dense or sparse matrix, encoded."""
        if sp.issparse(X):
            return sp.csr_array(X.multiply(1.0 / self.scale_[None, :]))
        return self._encoded(self._spare(X), names)

    def _encoded(self, X: Array, names: Sequence[Any]) -> Array:
        absent = np.isnan(X)
        if absent.any():
            X = np.where(absent, self.fill_, X)
            for i in np.flatnonzero(absent.any(axis=0) & ~self.gaps_):
                warnings.warn(
                    f"Column {names[int(i)]!r} has missing cells, which it had not in fit: they "
                    "are read as its median.",
                    UserWarning,
                    stacklevel=2,
                )
        X = self._unskewed(X)
        Z = (X - self.mean_) / self.scale_
        if not len(self.level_slots_) and not self.gaps_.any():
            return Z
        blocks = [np.delete(Z, self.level_slots_, axis=1)]
        for j, levels in zip(self.level_slots_, self.levels_, strict=True):
            nearest = np.abs(X[:, j, None] - levels).argmin(axis=1)
            blocks.append((nearest[:, None] == np.arange(len(levels))).astype(np.float64))
        return np.hstack([*blocks, absent[:, self.gaps_].astype(np.float64)])

    def parts(self, names: Sequence[Any]) -> list[Part]:
        """Return what every encoded column comes from, and its name."""
        own = self.columns_.tolist()
        leveled = set(self.level_slots_.tolist())
        out = [(j, str(names[j])) for i, j in enumerate(own) if i not in leveled]
        for i, levels in zip(self.level_slots_, self.levels_, strict=True):
            out += [(own[i], f"{names[own[i]]}={word}") for word in as_words(levels)]
        return out + [
            (j, f"{names[j]} missing") for j, gap in zip(own, self.gaps_, strict=True) if gap
        ]

    def kind_of(self, slot: int) -> str:
        """Return the kind of one of the block's columns."""
        return str(self.kinds_[slot])

    def export(self, graph: Any, value: Input) -> list[Any]:
        """Return the encoded columns as values of an ONNX graph; ordered categories are texts."""
        orders = dict(zip(self.order_slots_.tolist(), self.orders_, strict=True))
        found = []
        for i, j in enumerate(self.columns_.tolist()):
            if i in orders:
                hit = value(j, np.object_).call("Equal", orders[i][None, :]).as_numbers()
                place = hit @ np.arange(float(len(orders[i])))[:, None]
                found.append((hit.total() > 0.5).call("Where", place, np.float64(np.nan)))
            else:
                found.append(value(j, np.float64))
        if not found:
            return []
        joined = found[0] if len(found) == 1 else graph.call("Concat", *found, axis=1)
        return [self.export_matrix(joined)]

    def export_matrix(self, X: Any) -> Any:
        """Return a matrix of an ONNX graph, encoded."""
        graph, m = X.graph, len(self.columns_)
        if self.sentinels_.any():
            marks = np.where(self.sentinels_ == 0.0, np.inf, self.sentinels_)
            X = X.call("Equal", marks[None, :]).call("Where", np.float64(np.nan), X)
        absent = X.call("IsNaN")
        X = absent.call("Where", self.fill_[None, :], X)
        if self.unskews:
            columns = graph.call_many("Split", m, X, axis=1, num_outputs=m) if m > 1 else [X]
            for j in np.flatnonzero(self.logs_):
                columns[j] = columns[j].call("Max", np.float64(self.floor_[j])).log()
            for j in np.flatnonzero(self.powers_ != 1.0):
                z = (columns[j] - self.centre_[j]) / self.unit_[j]
                columns[j] = _export_power(z, float(self.powers_[j]))
            X = graph.call("Concat", *columns, axis=1) if m > 1 else columns[0]
        Z = (X - self.mean_) / self.scale_
        blocks = []
        kept = np.setdiff1d(np.arange(m), self.level_slots_)
        if len(kept):
            blocks.append(Z.columns(kept) if len(kept) < m else Z)
        for j, levels in zip(self.level_slots_, self.levels_, strict=True):
            nearest = abs(X.columns([j]) - levels[None, :]).call("ArgMin", axis=1, keepdims=1)
            blocks.append(nearest.call("Equal", np.arange(len(levels))[None, :]).as_numbers())
        if self.gaps_.any():
            blocks.append(absent.as_numbers().columns(np.flatnonzero(self.gaps_)))
        return blocks[0] if len(blocks) == 1 else graph.call("Concat", *blocks, axis=1)

    def _check_stored(self) -> None:
        flags = all(flag.dtype == bool for flag in (self.gaps_, self.logs_))
        listed = (self.order_slots_, self.orders_), (self.level_slots_, self.levels_)
        slots = all(
            len(a) == len(b) and _are_slots(a, len(self.columns_)) and all(len(v) for v in b)
            for a, b in listed
        )
        if not flags or not slots or not set(self.kinds_.tolist()) <= set(self.kinds):
            raise ValueError("Expected kinds, gaps and levels of numeric columns.")
        if (self.logs_ & ~(self.floor_ > 0)).any():
            raise ValueError("Expected logarithms of numbers above zero.")


class Categories(Block):
    """Categories as indicators: a gap is a category of its own, an unseen one is none of them.

    Attributes
    ----------
    columns_ : int array of shape (m,)
        The places of its columns in the table.
    names_ : list of str arrays
        The categories of each column.
    gaps_ : bool array of shape (m,)
        Whether gaps were seen, which then have an indicator.
    """

    kinds: ClassVar[tuple[str, ...]] = ("category",)
    _stored: ClassVar[dict[str, str]] = {"names_": "list names *", "gaps_": "array m"}

    def _learn(self, columns: list[Column], cells: list[Cells], like: Any) -> None:
        words = [as_words(c.values) for c in cells]
        self.names_ = [np.array(sorted(set(w) - {None}), dtype=str) for w in words]
        self.gaps_ = np.array([any(v is None for v in w) for w in words], dtype=bool)

    def encode(self, cells: Sequence[Cells], names: Sequence[Any]) -> Array:
        """Return indicators, of one column after the other."""
        blocks = [np.empty((len(cells[0].values), 0))]
        for j, known, gap in zip(self.columns_, self.names_, self.gaps_, strict=True):
            words = as_words(cells[j].values)
            place: dict[Any, int] = {word: i for i, word in enumerate(known.tolist())}
            new = sorted(w for w in dict.fromkeys(words) if w is not None and w not in place)
            if new:
                warnings.warn(
                    f"Column {names[j]!r} has categories that were not there in fit: "
                    f"{', '.join(map(repr, new[:5]))}. They are encoded as none of the known ones.",
                    UserWarning,
                    stacklevel=2,
                )
            if gap:
                place[None] = len(known)
            codes = np.array([place.get(word, -1) for word in words])
            blocks.append((codes[:, None] == np.arange(len(known) + gap)).astype(np.float64))
        return np.hstack(blocks)

    def parts(self, names: Sequence[Any]) -> list[Part]:
        """Return what every encoded column comes from, and its name."""
        out = []
        for j, known, gap in zip(self.columns_.tolist(), self.names_, self.gaps_, strict=True):
            out += [(j, f"{names[j]}={value}") for value in known]
            if gap:  # a category may have that name
                mark = " " if "missing" in known else "="
                out.append((j, f"{names[j]}{mark}missing"))
        return out

    def export(self, graph: Any, value: Input) -> list[Any]:
        """Return the encoded columns as values of an ONNX graph; an empty text is a gap."""
        blocks = []
        for j, known, gap in zip(self.columns_.tolist(), self.names_, self.gaps_, strict=True):
            words = np.array([*known, *([""] if gap else [])], dtype=object)[None, :]
            if words.size:
                blocks.append(value(j, np.object_).call("Equal", words).as_numbers())
        return blocks

    def _check_stored(self) -> None:
        if len(self.names_) != len(self.columns_) or self.gaps_.dtype != bool:
            raise ValueError("Expected the categories of every column.")


class Dates(Block):
    """Dates as the standardised time, and sine and cosine of the year, the week and the day.

    Attributes
    ----------
    columns_ : int array of shape (m,)
        The places of its columns in the table.
    styles_ : str array of shape (m,)
        How they are written.
    mean_, scale_ : arrays of shape (m,)
        Mean and deviation of the seconds since 1970.
    cycles_ : int array of shape (m,)
        The sum of 1 for the year, 2 for the week and 4 for the day.
    gaps_ : bool array of shape (m,)
        Whether gaps were seen, which then have an indicator.
    """

    kinds: ClassVar[tuple[str, ...]] = ("date",)
    _stored: ClassVar[dict[str, str]] = {
        "styles_": "names m",
        "mean_": "array m",
        "scale_": "positive m",
        "cycles_": "array m",
        "gaps_": "array m",
    }

    def _learn(self, columns: list[Column], cells: list[Cells], like: Any) -> None:
        self.styles_ = np.array([c.style for c in columns], dtype=str)
        times = [
            typed(c.name, v.values, "date", c.style) for c, v in zip(columns, cells, strict=True)
        ]
        known = [t[~np.isnan(t)] for t in times]
        self.gaps_ = np.array([bool(np.isnan(t).any()) for t in times], dtype=bool)
        self.mean_ = np.array([float(np.mean(t)) if len(t) else 0.0 for t in known])
        spread = np.array([float(np.std(t)) if len(t) else 0.0 for t in known])
        self.scale_ = np.where(spread > 0, spread, 1.0)
        self.cycles_ = np.array([_cycles(t) for t in known], dtype=np.int64)

    def encode(self, cells: Sequence[Cells], names: Sequence[Any]) -> Array:
        """Return times and cycles, of one column after the other."""
        out = [np.empty((len(cells[0].values), 0))]
        for i, j in enumerate(self.columns_):
            t = typed(names[j], cells[j].values, "date", str(self.styles_[i]))
            absent = np.isnan(t)
            block = [np.where(absent, 0.0, (t - self.mean_[i]) / self.scale_[i])]
            for cycle, period in SECONDS.items():
                if self.cycles_[i] & cycle:
                    angle = 2.0 * np.pi * np.where(absent, 0.0, t) / period
                    block += [np.where(absent, 0.0, f(angle)) for f in (np.sin, np.cos)]
            if self.gaps_[i]:
                block.append(absent.astype(np.float64))
            out.append(np.column_stack(block))
        return np.hstack(out)

    def parts(self, names: Sequence[Any]) -> list[Part]:
        """Return what every encoded column comes from, and its name."""
        out = []
        for j, cycles, gap in zip(self.columns_.tolist(), self.cycles_, self.gaps_, strict=True):
            out.append((j, str(names[j])))
            for cycle, word in CYCLES.items():
                if cycles & cycle:
                    out += [(j, f"{names[j]} {f} of the {word}") for f in ("sine", "cosine")]
            out += [(j, f"{names[j]} missing")] if gap else []
        return out

    def export(self, graph: Any, value: Input) -> list[Any]:
        """Return the encoded columns as values of an ONNX graph: seconds since 1970 come in."""
        out = []
        for i, j in enumerate(self.columns_.tolist()):
            given = value(j, np.float64)
            absent = given.call("IsNaN")
            t = absent.call("Where", np.float64(self.mean_[i]), given)
            present = 1.0 - absent.as_numbers()
            out.append((t - self.mean_[i]) / self.scale_[i])
            for cycle, period in SECONDS.items():
                if self.cycles_[i] & cycle:
                    # whole turns are taken off first: a runtime's sine may be poor far out
                    turns = t / period
                    angle = (turns - turns.call("Floor")) * (2.0 * np.pi)
                    out += [angle.sin() * present, angle.cos() * present]
            out += [absent.as_numbers()] if self.gaps_[i] else []
        return out

    def _check_stored(self) -> None:
        flags = self.gaps_.dtype == bool and self.cycles_.dtype.kind == "i"
        if not flags or not set(self.styles_.tolist()) <= {"", "iso", "dmy", "mdy"}:
            raise ValueError("Expected the styles, cycles and gaps of dates.")


class Texts(Block):
    """Texts of many values as few numbers, by the parts that they have in common.

    A text is counted by its parts of 2 to 4 letters, hashed into a fixed number of places, weighed
    by their rarity and brought to length one. The directions in which these vectors differ most (a
    singular value decomposition, without the target) are what is kept, so that two texts are as
    near as they are alike and one never seen before has a place too.

    Attributes
    ----------
    columns_ : int array of shape (m,)
        The places of its columns in the table.
    kinds_ : str array of shape (m,)
        Whether each holds texts or sequences.
    weights_ : array of shape (m, places)
        The weight of every place.
    components_ : list of arrays of shape (directions, places)
        The directions of each column.
    """

    kinds: ClassVar[tuple[str, ...]] = ("text", "sequence")
    _stored: ClassVar[dict[str, str]] = {
        "kinds_": "names m",
        "weights_": "array m f",
        "components_": "list array * f",
    }

    def _learn(self, columns: list[Column], cells: list[Cells], like: Any) -> None:
        self.kinds_ = np.array([c.kind for c in columns], dtype=str)
        self.weights_, self.components_ = np.empty((len(columns), PLACES)), []
        for i, column in enumerate(cells):
            words = as_words(column.values)
            counts = _counts(words)
            seen = np.asarray((counts != 0).sum(axis=0)).ravel()
            self.weights_[i] = np.log((1.0 + len(words)) / (1.0 + seen)) + 1.0
            rows = normalize(counts @ sp.diags_array(self.weights_[i]))
            size = max(1, min(DIRECTIONS, len(set(words)) - 1))
            _, _, V = randomized_svd(rows, size, random_state=0)
            spread = float(np.sqrt((rows @ V.T).var(axis=0).sum() / TEXT_VARIANCE))
            self.components_.append(V / (spread if spread > 0 else 1.0))

    def encode(self, cells: Sequence[Cells], names: Sequence[Any]) -> Array:
        """Return the directions of one column after the other."""
        blocks = [np.empty((len(cells[0].values), 0))]
        for j, weight, V in zip(self.columns_, self.weights_, self.components_, strict=True):
            rows = normalize(_counts(as_words(cells[j].values)) @ sp.diags_array(weight))
            blocks.append(np.asarray(rows @ V.T))
        return np.hstack(blocks)

    def parts(self, names: Sequence[Any]) -> list[Part]:
        """Return what every encoded column comes from, and its name."""
        return [
            (j, f"{names[j]} direction {i + 1}")
            for j, V in zip(self.columns_.tolist(), self.components_, strict=True)
            for i in range(len(V))
        ]

    def kind_of(self, slot: int) -> str:
        """Return the kind of one of the block's columns."""
        return str(self.kinds_[slot])

    def export(self, graph: Any, value: Input) -> list[Any]:
        """Refuse: ONNX has no operators for parts of texts."""
        raise NotImplementedError

    def _check_stored(self) -> None:
        sound = len(self.components_) == len(self.columns_) == len(self.weights_)
        if not sound or self.weights_.shape[1] != PLACES:
            raise ValueError("Expected the directions of every column of texts.")


BLOCKS = (Numbers, Categories, Dates, Texts)


def _are_slots(slots: Array, m: int) -> bool:
    whole = slots.dtype.kind == "i" and len(np.unique(slots)) == len(slots)
    return bool(whole and (not len(slots) or (slots.min() >= 0 and slots.max() < m)))


def yeo_johnson(x: Array, power: float) -> Array:
    r"""Return the transform of Yeo and Johnson, ((x + 1)^λ - 1) / λ where x ≥ 0.

    For x < 0 it is -((1 - x)^(2 - λ) - 1) / (2 - λ).
    """
    with np.errstate(over="ignore", invalid="ignore"):
        up, down = np.log1p(np.maximum(x, 0.0)), np.log1p(np.maximum(-x, 0.0))
        high = up if abs(power) < 1e-12 else np.expm1(power * up) / power
        low = down if abs(power - 2.0) < 1e-12 else np.expm1((2.0 - power) * down) / (2.0 - power)
    return np.where(x >= 0.0, high, -low)


def _export_power(z: Any, power: float) -> Any:
    """Return the transform of Yeo and Johnson of a value of an ONNX graph."""

    def side(x: Any, p: float) -> Any:
        grown = (x.call("Max", np.float64(0.0)) + 1.0).log()
        return grown if abs(p) < 1e-12 else ((grown * p).exp() - 1.0) / p

    return side(z, power) - side(-z, 2.0 - power)


def _cycles(t: Array) -> int:
    """Return which cycles the times of a column can show."""
    span = float(np.ptp(t)) if len(t) else 0.0
    found = YEAR if span > 0.5 * SECONDS[YEAR] else 0
    if span > SECONDS[WEEK] and len(np.unique(t // SECONDS[DAY] % 7)) > 1:
        found |= WEEK
    if len(np.unique(t % SECONDS[DAY])) > 1:
        found |= DAY
    return found


def _levels(column: Array) -> Array:
    """Return the values of a column if they are 3 to 12, else none."""
    found = np.unique(column[:200])  # more than 12 of the first are more than 12 of all
    if len(found) <= LEVELS:
        found = np.unique(column)
    return found if 3 <= len(found) <= min(LEVELS, len(column) // 10) else np.empty(0)


def _counts(words: Array) -> Any:
    hashed = HashingVectorizer(
        analyzer="char_wb", ngram_range=(2, 4), n_features=PLACES, norm=None, alternate_sign=False
    )
    distinct, inverse = np.unique([w or "" for w in words], return_inverse=True)
    return sp.csr_array(hashed.transform(distinct.tolist()))[inverse]
