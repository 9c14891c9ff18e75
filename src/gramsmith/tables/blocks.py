"""Blocks of an encoded table: numbers, categories, dates and texts.

A block knows which columns of the table are its own, learns what they need (`fit`), encodes them
(`encode`), names what comes out (`parts`), says what a file keeps (`_stored`) and is an ONNX graph
(`export`): its formula, of NumPy's functions, takes values of a graph as well as arrays.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.preprocessing import normalize
from sklearn.utils.extmath import randomized_svd

from gramsmith.tables.convert import Cells, as_words, in_order, places, typed
from gramsmith.tables.decide import Column
from gramsmith.tables.streams import Array, DataError

SKEWED = 1.0  # the skewness from which on a power is tried
DISTINCT = 8  # different values that a skewed column has at least: fewer are counts or codes
SAMPLE = 5000  # values from which powers are found: evenly spaced among the sorted ones
LEVELS = 12  # different values of a number that may count as categories
# Cycles of a date: the flag under which each is kept, its name, and its seconds.
DAY = 86400.0
CYCLES = ((1, "year", 365.2425 * DAY), (2, "week", 7 * DAY), (4, "day", DAY))
PLACES = 2048  # into which the parts of texts are hashed
DIRECTIONS = 30  # of texts that are kept
# The variance of a column of texts, where that of a number is 1. Of 1, 5, 10 and 30, five did best
# where texts and numbers both matter (R² .36 against .33 of 1), and cost .02 where texts do not.
TEXT_VARIANCE = 5.0

Part = tuple[int, str]  # the column that an encoded column comes from, and its name
Input = Callable[[int, type], Any]  # the value of a column in an ONNX graph, shape (n, 1)


class Block(BaseEstimator):
    """Columns of one family: their places in the table, their kinds, and how they are written."""

    kinds: ClassVar[tuple[str, ...]] = ()
    _stored: ClassVar[dict[str, str]] = {
        "columns_": "array m",
        "kinds_": "names m",
        "styles_": "names m",
    }

    def fit(self, columns: Sequence[Column], cells: Sequence[Cells], like: Any = None) -> Any:
        """Find the block's own columns, and learn what they need.

        `like` is the block of all rows, where these are some of them.
        """
        own = [j for j, c in enumerate(columns) if c.role == "input" and c.kind in self.kinds]
        self.columns_ = np.array(own, dtype=np.int64)
        self.kinds_ = np.array([columns[j].kind for j in own], dtype=str)
        self.styles_ = np.array([columns[j].style for j in own], dtype=str)
        self._learn([columns[j] for j in own], [cells[j] for j in own], like)
        return self

    def _learn(self, columns: list[Column], cells: list[Cells], like: Any) -> None:
        raise NotImplementedError

    def encode(self, cells: Sequence[Cells], names: Sequence[Any]) -> list[Array]:
        """Return the block's columns as numbers: matrices that together have all of its parts."""
        return self._encoded([cells[j] for j in self.columns_], [names[j] for j in self.columns_])

    def _encoded(self, cells: list[Cells], names: list[Any]) -> list[Array]:
        raise NotImplementedError

    def parts(self, names: Sequence[Any]) -> list[Part]:
        """Return what every encoded column comes from, and its name."""
        raise NotImplementedError

    def export(self, value: Input) -> list[Any]:
        """Return the encoded columns as values of an ONNX graph, NaN and "" being missing cells."""
        raise NotImplementedError

    def _check_stored(self) -> None:
        raise NotImplementedError


class Numbers(Block):
    r"""Numbers, flags and ordered categories: transformed on request, then standardised.

    .. math:: x \mapsto (u(x) - \mu) / \sigma

    A missing value, or the number of `sentinels_` that stands for one (0: none does), becomes the
    median (`fill_`), with an indicator beside it. With `power`, skewed numbers go through a
    logarithm of values from `floor_` on (`logs_`), or the transform of Yeo and Johnson of
    (x - centre) / unit (`powers_`, 1: none), which is u. With `indicators`, numbers of 3 to 12
    different values (`levels_`) count as categories. `orders_` are the ordered categories of the
    columns that have them.
    """

    kinds: ClassVar[tuple[str, ...]] = ("number", "boolean", "ordered")
    _stored: ClassVar[dict[str, str]] = {
        **dict.fromkeys(("sentinels_", "mean_", "fill_", "gaps_"), "array m"),
        **dict.fromkeys(("powers_", "centre_", "logs_", "floor_"), "array m"),
        **dict.fromkeys(("scale_", "unit_"), "positive m"),
        "orders_": "list names *",
        "levels_": "list array *",
    }

    orders_: list[Array]
    levels_: list[Array]

    def __init__(self, indicators: bool = False, power: bool = False, scale: bool = True) -> None:
        self.indicators = indicators
        self.power = power
        self.scale = scale

    def _learn(self, columns: list[Column], cells: list[Cells], like: Any) -> None:
        self._begin(len(columns))
        self.sentinels_ = np.array([c.sentinel for c in columns], dtype=np.float64)
        self.orders_ = [
            np.array((v.levels or in_order(v.values)) if c.kind == "ordered" else [], dtype=str)
            for c, v in zip(columns, cells, strict=True)
        ]
        if not columns:
            return
        X = self._spare(self._matrix(cells, [c.name for c in columns]))
        absent = np.isnan(X)
        self.gaps_ = absent.any(axis=0)
        for i in np.flatnonzero(~absent.all(axis=0)):
            self.fill_[i] = np.median(X[~absent[:, i], i])
        X = np.where(absent, self.fill_, X)
        if self.indicators:
            for j, allowed in enumerate(self.levels_ if like is None else like.levels_):
                if like is None:
                    self.levels_[j] = _levels(X[:, j])
                elif len(allowed):  # of those of all rows, the values that occur
                    seen = np.intersect1d(allowed, X[:, j])
                    self.levels_[j] = seen if len(seen) else allowed
        if self.power:
            for j, levels in enumerate(self.levels_):
                if not len(levels):
                    self._unskew(j, X[:, j])
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
                column=columns[j].name,
                row=row,
            )
        deviation = np.sqrt(power)
        floor = 10.0 * np.finfo(float).eps * np.abs(self.mean_)
        self.scale_ = np.where(deviation > floor, deviation, 1.0)
        if not self.scale:
            self.mean_, self.scale_ = np.zeros(len(columns)), np.ones(len(columns))

    def _begin(self, m: int) -> None:
        """Let m columns be encoded as they are."""
        self.sentinels_, self.fill_, self.mean_, self.centre_, self.floor_ = np.zeros((5, m))
        self.gaps_, self.logs_ = np.zeros((2, m), dtype=bool)
        self.powers_, self.unit_, self.scale_ = np.ones((3, m))
        self.orders_ = [np.array([], dtype=str)] * m
        self.levels_ = [np.empty(0)] * m

    def fit_sparse(self, X: Any) -> Numbers:
        """Learn from a sparse matrix.

        Counts and shares are compared as they are: one factor for all columns, by which the mean
        squared length is that of standardised columns.
        """
        n, m = X.shape
        self._begin(m)
        self.columns_ = np.arange(m)
        self.kinds_, self.styles_ = np.full(m, "number"), np.full(m, "")
        power = float(np.asarray(X.multiply(X).sum())) / max(n * m, 1)
        self.scale_ = np.full(m, np.sqrt(power) if power > 0 and self.scale else 1.0)
        return self

    def _matrix(self, cells: Sequence[Cells], names: Sequence[Any]) -> Array:
        """Return columns as floats, NaN where missing."""
        parts = [
            places(name, column.values, order.tolist())
            if len(order)
            else typed(name, column.values, "number", str(style))
            for name, column, style, order in zip(
                names, cells, self.styles_, self.orders_, strict=True
            )
        ]
        return np.column_stack(parts)

    def _spare(self, X: Any) -> Any:
        """Return numbers with NaN for those that stand for missing cells."""
        if not self.sentinels_.any():
            return X
        marks = np.where(self.sentinels_ == 0.0, np.nan, self.sentinels_)
        return np.where(np.equal(X, marks), np.nan, X)

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

    @property
    def unskews(self) -> bool:
        """Whether any column goes through a logarithm or a power."""
        return bool(self.logs_.any() or (self.powers_ != 1.0).any())

    def _unskewed(self, X: Any) -> Any:
        if not self.unskews:
            return X
        columns = [np.take(X, [j], axis=1) for j in range(len(self.powers_))]
        for j in np.flatnonzero(self.logs_):
            columns[j] = np.log(np.maximum(columns[j], self.floor_[j]))
        for j in np.flatnonzero(self.powers_ != 1.0):
            z = (columns[j] - self.centre_[j]) / self.unit_[j]
            columns[j] = yeo_johnson(z, float(self.powers_[j]))
        return np.hstack(columns)

    def _encoded(self, cells: list[Cells], names: list[Any]) -> list[Array]:
        if not cells:
            return []
        X = self._matrix(cells, names)
        for i in np.flatnonzero(np.isnan(X).any(axis=0) & ~self.gaps_):
            warnings.warn(
                f"Column {names[int(i)]!r} has missing cells, and had none in fit: they are "
                "read as its median.",
                UserWarning,
                stacklevel=2,
            )
        return [self.formula(X)]

    def formula(self, X: Any) -> Any:
        """Return standardised columns, indicators of few values, and those of gaps."""
        X = self._spare(X)
        absent = np.isnan(X)
        X = self._unskewed(np.where(absent, self.fill_, X))
        Z = (X - self.mean_) / self.scale_
        plain = [j for j, levels in enumerate(self.levels_) if not len(levels)]
        blocks = [Z if len(plain) == len(self.levels_) else np.take(Z, plain, axis=1)]
        for j, levels in enumerate(self.levels_):
            if len(levels):
                nearest = np.argmin(np.abs(np.take(X, [j], axis=1) - levels), axis=1)
                hit = np.equal(nearest.reshape(-1, 1), np.arange(len(levels)))
                blocks.append(hit.astype(np.float64))
        if self.gaps_.any():
            gaps = np.take(absent, np.flatnonzero(self.gaps_), axis=1)
            blocks.append(gaps.astype(np.float64))
        return np.hstack(blocks if plain else blocks[1:])

    def parts(self, names: Sequence[Any]) -> list[Part]:
        own = list(zip(self.columns_.tolist(), self.levels_, self.gaps_, strict=True))
        out = [(j, str(names[j])) for j, levels, _ in own if not len(levels)]
        for j, levels, _ in own:
            out += [(j, f"{names[j]}={word}") for word in as_words(levels)]
        return out + [(j, f"{names[j]} missing") for j, _, gap in own if gap]

    def export(self, value: Input) -> list[Any]:
        """Return the encoded columns as values of an ONNX graph; ordered categories are texts."""
        found = []
        for j, order in zip(self.columns_.tolist(), self.orders_, strict=True):
            if len(order):
                hit: Any = np.equal(value(j, np.object_), order[None, :]).astype(np.float64)
                place = hit @ np.arange(float(len(order)))[:, None]
                found.append(np.where(hit.total() > 0.5, place, np.nan))
            else:
                found.append(value(j, np.float64))
        return [self.formula(np.hstack(found))] if found else []

    def _check_stored(self) -> None:
        flags = all(flag.dtype == bool for flag in (self.gaps_, self.logs_))
        each = len(self.orders_) == len(self.levels_) == len(self.columns_)
        if not flags or not each or not set(self.kinds_.tolist()) <= set(self.kinds):
            raise ValueError("Expected kinds, missing values and levels of numeric columns.")
        if (self.logs_ & ~(self.floor_ > 0)).any():
            raise ValueError("Expected logarithms of numbers above zero.")


class Categories(Block):
    """Categories (`names_`) as indicators; a gap is one of its own, an unseen one none of them."""

    kinds: ClassVar[tuple[str, ...]] = ("category",)
    _stored: ClassVar[dict[str, str]] = {"names_": "list names *", "gaps_": "array m"}

    def _learn(self, columns: list[Column], cells: list[Cells], like: Any) -> None:
        words = [as_words(c.values) for c in cells]
        self.names_ = [np.array(sorted(set(w) - {None}), dtype=str) for w in words]
        self.gaps_ = np.array([any(v is None for v in w) for w in words], dtype=bool)

    def _encoded(self, cells: list[Cells], names: list[Any]) -> list[Array]:
        blocks = []
        for name, column, known, gap in zip(names, cells, self.names_, self.gaps_, strict=True):
            words = as_words(column.values)
            place: dict[Any, int] = {word: i for i, word in enumerate(known.tolist())}
            new = sorted(w for w in dict.fromkeys(words) if w is not None and w not in place)
            if new:
                warnings.warn(
                    f"Column {name!r} has categories not seen in fit: "
                    f"{', '.join(map(repr, new[:5]))}. They are encoded as zeros.",
                    UserWarning,
                    stacklevel=2,
                )
            if gap:
                place[None] = len(known)
            codes = np.array([place.get(word, -1) for word in words])
            blocks.append((codes[:, None] == np.arange(len(known) + gap)).astype(np.float64))
        return blocks

    def parts(self, names: Sequence[Any]) -> list[Part]:
        out = []
        for j, known, gap in zip(self.columns_.tolist(), self.names_, self.gaps_, strict=True):
            out += [(j, f"{names[j]}={value}") for value in known]
            if gap:  # a category may have that name
                mark = " " if "missing" in known else "="
                out.append((j, f"{names[j]}{mark}missing"))
        return out

    def export(self, value: Input) -> list[Any]:
        return [
            np.equal(value(j, np.object_), words[None, :]).astype(np.float64)
            for j, known, gap in zip(self.columns_.tolist(), self.names_, self.gaps_, strict=True)
            if (words := np.array([*known, *[""] * int(gap)], dtype=object)).size
        ]

    def _check_stored(self) -> None:
        if len(self.names_) != len(self.columns_) or self.gaps_.dtype != bool:
            raise ValueError("Expected the categories of every column.")


class Dates(Block):
    """Dates as the standardised time, and sine and cosine of the year, the week and the day.

    `mean_` and `scale_` are of seconds since 1970, `cycles_` is a sum of the flags of `CYCLES`; a
    gap is the mean, with an indicator beside it where fit has seen one (`gaps_`).
    """

    kinds: ClassVar[tuple[str, ...]] = ("date",)
    _stored: ClassVar[dict[str, str]] = {
        **dict.fromkeys(("mean_", "cycles_", "gaps_"), "array m"),
        "scale_": "positive m",
    }

    def _learn(self, columns: list[Column], cells: list[Cells], like: Any) -> None:
        times = self._times(cells, [c.name for c in columns])
        known = [t[~np.isnan(t)] for t in times]
        self.gaps_ = np.array([bool(np.isnan(t).any()) for t in times], dtype=bool)
        self.mean_ = np.array([float(np.mean(t)) if len(t) else 0.0 for t in known])
        spread = np.array([float(np.std(t)) if len(t) else 0.0 for t in known])
        self.scale_ = np.where(spread > 0, spread, 1.0)
        self.cycles_ = np.array([_cycles(t) for t in known], dtype=np.int64)

    def _times(self, cells: list[Cells], names: list[Any]) -> list[Array]:
        return [
            typed(name, column.values, "date", str(style))
            for name, column, style in zip(names, cells, self.styles_, strict=True)
        ]

    def _encoded(self, cells: list[Cells], names: list[Any]) -> list[Array]:
        times = self._times(cells, names)
        return [part for i, t in enumerate(times) for part in self.formula(i, t[:, None])]

    def formula(self, i: int, t: Any) -> list[Any]:
        """Return the time and the cycles of one column of seconds, shape (n, 1)."""
        absent = np.isnan(t)
        t = np.where(absent, self.mean_[i], t)
        gap = absent.astype(np.float64)
        parts = [(t - self.mean_[i]) / self.scale_[i]]
        for flag, _, period in CYCLES:
            if self.cycles_[i] & flag:
                # whole turns are taken off first: a runtime's sine may be poor far out
                turns = t / period
                angle = (turns - np.floor(turns)) * (2.0 * np.pi)
                parts += [np.sin(angle) * (1.0 - gap), np.cos(angle) * (1.0 - gap)]
        return [*parts, gap] if self.gaps_[i] else parts

    def parts(self, names: Sequence[Any]) -> list[Part]:
        out = []
        for j, cycles, gap in zip(self.columns_.tolist(), self.cycles_, self.gaps_, strict=True):
            words = ["", *(f" {f} of the {w}" for c, w, _ in CYCLES if cycles & c for f in WAVES)]
            out += [(j, f"{names[j]}{word}") for word in [*words, *[" missing"] * int(gap)]]
        return out

    def export(self, value: Input) -> list[Any]:
        """Return the encoded columns as values of an ONNX graph: seconds since 1970 come in."""
        own = enumerate(self.columns_.tolist())
        return [part for i, j in own for part in self.formula(i, value(j, np.float64))]

    def _check_stored(self) -> None:
        flags = self.gaps_.dtype == bool and self.cycles_.dtype.kind == "i"
        if not flags or not set(self.styles_.tolist()) <= {"", "iso", "dmy", "mdy"}:
            raise ValueError("Expected the styles, cycles and missing values of dates.")


WAVES = ("sine", "cosine")


class Texts(Block):
    """Texts of many values as few numbers, by the parts that they have in common.

    A text is counted by its parts of 2 to 4 letters, hashed into a fixed number of places, weighed
    by their rarity (`weights_`) and brought to length one. The directions in which these vectors
    differ most (`components_`: a singular value decomposition, without the target) are what is
    kept, so that two texts are as near as they are alike and one never seen before has a place too.
    """

    kinds: ClassVar[tuple[str, ...]] = ("text", "sequence")
    _stored: ClassVar[dict[str, str]] = {
        "weights_": "array m f",
        "components_": "list array * f",
    }

    def _learn(self, columns: list[Column], cells: list[Cells], like: Any) -> None:
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

    def _encoded(self, cells: list[Cells], names: list[Any]) -> list[Array]:
        return [
            normalize(_counts(as_words(column.values)) @ sp.diags_array(weight)) @ V.T
            for column, weight, V in zip(cells, self.weights_, self.components_, strict=True)
        ]

    def parts(self, names: Sequence[Any]) -> list[Part]:
        return [
            (j, f"{names[j]} direction {i + 1}")
            for j, V in zip(self.columns_.tolist(), self.components_, strict=True)
            for i in range(len(V))
        ]

    def _check_stored(self) -> None:
        sound = len(self.components_) == len(self.columns_) == len(self.weights_)
        if not sound or self.weights_.shape[1] != PLACES:
            raise ValueError("Expected the directions of every column of texts.")


BLOCKS = (Numbers, Categories, Dates, Texts)


def yeo_johnson(x: Any, power: float) -> Any:
    r"""Return the transform of Yeo and Johnson, ((x + 1)^λ - 1) / λ where x ≥ 0.

    For x < 0 it is -((1 - x)^(2 - λ) - 1) / (2 - λ).
    """

    def side(z: Any, p: float) -> Any:
        grown = np.log1p(np.maximum(z, 0.0))
        return grown if abs(p) < 1e-12 else np.expm1(p * grown) / p

    with np.errstate(over="ignore", invalid="ignore"):
        return side(x, power) - side(-x, 2.0 - power)


def _cycles(t: Array) -> int:
    """Return which cycles the times of a column can show."""
    span = float(np.ptp(t)) if len(t) else 0.0
    weekdays, hours = np.unique(t // DAY % 7), np.unique(t % DAY)
    shown = (span > 0.5 * CYCLES[0][2], span > 7 * DAY and len(weekdays) > 1, len(hours) > 1)
    return sum(flag for (flag, _, _), there in zip(CYCLES, shown, strict=True) if there)


def _levels(column: Array) -> Array:
    """Return the values of a column if they are 3 to 12, else none."""
    found = np.unique(column[:200])  # more than 12 of the first are more than 12 of all
    if len(found) <= LEVELS:
        found = np.unique(column)
    return found if 3 <= len(found) <= min(LEVELS, len(column) // 10) else np.empty(0)


def _counts(words: Array) -> Any:
    from sklearn.feature_extraction.text import HashingVectorizer  # only texts need it

    hashed = HashingVectorizer(
        analyzer="char_wb", ngram_range=(2, 4), n_features=PLACES, norm=None, alternate_sign=False
    )
    distinct, inverse = np.unique([w or "" for w in words], return_inverse=True)
    return sp.csr_array(hashed.transform(distinct.tolist()))[inverse]
