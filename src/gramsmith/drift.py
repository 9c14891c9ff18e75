"""Drift: whether new rows come from where the old ones came from, and which columns differ.

Every column, and all of them together, is a test of two samples on the encoded rows; p-values are
adjusted by Holm's method, so that at most one comparison in twenty of tables from one source finds
anything. Two tables are encoded by all of their rows, without a look at where each belongs, so that
shuffling is exact. Against a model the rows are encoded as it encodes them.
"""

from __future__ import annotations

import html
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.special import stdtr
from sklearn.utils import check_random_state

from gramsmith.arguments import abridged, counted
from gramsmith.evaluation.hypotheses import LEVEL, compare_columns, pooled_groups, two_sample_test
from gramsmith.evaluation.permutations import check_permutations, holm
from gramsmith.evaluation.result import html_table, text_table
from gramsmith.report.results import draw_effects, records_frame
from gramsmith.tables.blocks import Categories, Numbers, Texts
from gramsmith.tables.convert import (
    Cells,
    as_words,
    frame_columns,
    missing_cells,
    plain,
    pooled,
    typed,
)
from gramsmith.tables.decide import Column, TableFacts, check_roles, decide, nearest
from gramsmith.tables.encoder import TableEncoder, encoded_together

Array = npt.NDArray[Any]

MOST = 20_000  # rows of each side that are compared: of more, some drawn at random
LEAST_SHUFFLES, MOST_SHUFFLES = 500, 20_000
# Shuffles per column: the least p-value times the number of columns is then 1 / 40.
PER_COLUMN = 40
WORK = 4e11  # multiplications that all columns may take, about half a minute; rows become fewer
COST = 150  # multiplications of a row, a shuffle and a column: 3 kernels, 50 landmarks
RARE = 5  # rows of a category in training below which it counts as one that was never seen


@dataclass(frozen=True)
class ColumnDrift:
    """What a comparison found of one column."""

    name: str
    kind: str
    effect_size: float | None  # distance of the means in feature space, in deviations
    pvalue: float | None  # adjusted by Holm's method; None where nothing could be tested
    change: str = ""  # the median (and an IQR that changed more), a share, or what is new


@dataclass(frozen=True)
class DriftResult:
    """Whether new rows have the distribution of old ones, and which columns differ.

    Parameters
    ----------
    pvalue : float or None
        The smallest p-value of all columns and of the rows as a whole, adjusted by Holm's method
        for their number; None if nothing could be tested.
    together : ColumnDrift or None
        The rows as a whole; None where that cannot be tested.
    columns : list of ColumnDrift
        Those with the smallest p-values first: `name`, `kind`, `effect_size` (distance of the means
        in feature space, in standard deviations), `pvalue` and `change`, in words.
    n_reference, n_new : int
        Numbers of rows.
    notes : tuple of str
        Columns that could not be compared, and what cannot be tested.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> import gramsmith as gs
    >>> rng = np.random.default_rng(0)
    >>> old = pd.DataFrame({"age": rng.normal(40, 9, 200), "town": rng.choice(["A", "B"], 200)})
    >>> new = pd.DataFrame({"age": rng.normal(48, 9, 150), "town": rng.choice(["A", "B"], 150)})
    >>> gs.drift_test(old, new, random_state=0).drifted
    ['age']
    """

    pvalue: float | None
    together: ColumnDrift | None
    columns: list[ColumnDrift]
    n_reference: int
    n_new: int
    notes: tuple[str, ...] = field(default=())

    @property
    def drifted(self) -> list[str]:
        """The columns that differ, at 5 % for all of them together."""
        return [c.name for c in self.columns if c.pvalue is not None and c.pvalue <= LEVEL]

    @property
    def verdict(self) -> str:
        """What was found, in a sentence."""
        rows = f"{counted(self.n_reference, 'row')} and {counted(self.n_new, 'new row')}"
        if self.pvalue is None:
            return f"Nothing could be tested ({rows})."
        tested = sum(c.pvalue is not None for c in self.columns)
        what = f"any of {counted(tested, 'column')}" if tested else "the samples"
        if self.pvalue > LEVEL:
            return f"No difference was found in {what} ({rows}; smallest p = {self.pvalue:.2g})."
        names = self.drifted
        where = f" in {', '.join(map(repr, names[:5]))}" if names else " as a whole"
        more = f" and {counted(len(names) - 5, 'more column')}" if len(names) > 5 else ""
        return f"The new rows differ{where}{more} ({rows}; p = {self.pvalue:.2g})."

    def frame(self) -> Any:
        """Return the columns as a pandas data frame."""
        return records_frame([asdict(column) for column in self.columns])

    def plot(self, ax: Any = None) -> Any:
        """Draw the effect size of every column that was tested.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw; default a new figure.

        Returns
        -------
        matplotlib axes
        """
        tested = [c for c in self.columns if c.effect_size is not None]
        return draw_effects(
            [c.name for c in tested],
            [c.effect_size or 0.0 for c in tested],
            [c.name in self.drifted for c in tested],
            ax,
        )

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Return the heads and the cells of a table of all columns."""
        whole = [] if self.together is None else [self.together]
        body = [
            [
                c.name,
                c.kind,
                "-" if c.effect_size is None else f"{c.effect_size:.2f}",
                "-" if c.pvalue is None else f"{c.pvalue:.2g}",
                c.change,
            ]
            for c in [*whole, *self.columns]
        ]
        return ["column", "kind", "effect", "p", "change"], body

    def __str__(self) -> str:
        return "\n".join([self.verdict, text_table(*self.table()), *self.notes])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        notes = "".join(f"<p>{html.escape(note)}</p>" for note in self.notes)
        return f"<p>{html.escape(self.verdict)}</p>{html_table(*self.table())}{notes}"


def drift_test(
    reference: Any,
    new: Any,
    *,
    roles: dict[Any, str] | None = None,
    groups: Any = None,
    n_permutations: int | None = None,
    random_state: Any = None,
) -> DriftResult:
    """Test whether new rows have the distribution of old ones, column by column.

    Each column, encoded as `TableEncoder` does, and all of them together are tested by
    `two_sample_test`; the p-values are adjusted by Holm's method. The level holds for independent
    rows or, with groups, independent groups.

    Parameters
    ----------
    reference : data frame, array, list of texts, or fitted model
        The rows to compare with. Of a model that keeps its training rows these are taken; of
        others only what its encoder remembers: means of numbers, and categories.
    new : data frame, array or list of texts
        The new rows. Columns of a data frame are found by name.
    roles : dict of column -> role, optional
        As in `TableEncoder`, for two tables; "drop" leaves a column out.
    groups : name of a column, or a pair of arrays of shapes (m,) and (n,), optional
        Whole groups, such as sites with several rows, are shuffled. Each must lie in one table; a
        column that is named is not tested. Models must keep their rows, and take arrays.
    n_permutations : int, optional
        Number of shuffles; default 500, or 40 for every column.
    random_state : int or RandomState, optional
        Decides the shuffles, and which rows are compared of more than 20 000.

    Returns
    -------
    DriftResult
        With `pvalue`, `drifted`, `columns`, `frame` and `plot`.

    References
    ----------
    Gretton et al.: A kernel two-sample test (2012).
    Rabanser, Günnemann, Lipton: Failing loudly: an empirical study of methods for detecting
    dataset shift (2019).

    Examples
    --------
    >>> import numpy as np
    >>> import gramsmith as gs
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 3))
    >>> shifted = rng.normal(size=(200, 3)) + [0.0, 0.7, 0.0]
    >>> print(gs.drift_test(X, shifted, random_state=0))
    The new rows differ in 'x1' (300 rows and 200 new rows; p = 0.008).
    column  kind    effect  p      change
    ------  ------  ------  -----  ----------------------------------------------
    (all)           0.47    0.008
    x1      number  0.87    0.008  median -0.01504 → 0.9539
    x2      number  0.06    0.91   median -0.001281 → -0.04115, IQR 1.362 → 1.626
    x0      number  0.00    0.91   median -0.1246 → -0.1334, IQR 1.232 → 1.294
    """
    if n_permutations is not None:
        check_permutations(n_permutations, 1)
    against_model = hasattr(reference, "fit")
    if not isinstance(roles, Mapping | None):
        raise TypeError(f"Expected roles as a dict of column -> role, got {abridged(roles)}.")
    if against_model and roles is not None:
        raise ValueError("Expected no roles for a model, which knows those of its columns.")
    named = isinstance(groups, str) or not (groups is None or hasattr(groups, "__len__"))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if against_model:
            sides = _against_model(reference, new)
            if groups is not None and (named or sides.old is None):
                raise ValueError(
                    "Expected no groups for a model without its training rows, or a pair of arrays "
                    f"for one with them, got {abridged(groups)}. Compare with the training table."
                )
        else:
            if named:
                roles = {**(roles or {}), groups: "drop"}
                groups = _named_groups(reference, new, groups)
            sides = _two_tables(reference, new, roles)
        if sides.old is not None:
            rows = np.arange(sides.n_old + len(sides.new))
            sides = replace(sides, groups=pooled_groups(groups, rows < sides.n_old))
        found = sides.tested(n_permutations, check_random_state(random_state))
    told = [str(w.message) for w in caught if issubclass(w.category, UserWarning)]
    return replace(found, notes=(*found.notes, *dict.fromkeys(told)))


def _check_rows(n_old: int, n_new: int) -> None:
    if min(n_old, n_new) < 2:
        raise ValueError(
            f"Expected at least 2 old and 2 new rows, got {n_old} and {n_new}. The models of "
            "KernelSelector have novelty(X) for single rows."
        )


# ---- what is compared --------------------------------------------------------------------------


@dataclass(frozen=True)
class _Part:
    """A column: its place among the encoded ones, and what is known without a test."""

    name: str
    kind: str
    change: str = ""
    own: Sequence[int] = ()  # encoded columns, none where there is nothing to compare
    # of the mean, in deviations: how far it moved, the standard error, and degrees of freedom
    shift: tuple[float, float, float] | None = None


@dataclass(frozen=True)
class _Sides:
    """Old and new rows encoded alike, or lists of objects; the old ones may be absent."""

    parts: list[_Part]
    old: Any
    new: Any
    n_old: int
    notes: list[str] = field(default_factory=list)
    groups: Any = None  # of the old rows, then of the new ones, where rows are shuffled

    def tested(self, n_permutations: int | None, rng: Any) -> DriftResult:
        """Return the result of all tests, adjusted for their number."""
        columns = [_by_mean(part) for part in self.parts]
        if isinstance(self.new, list):
            shuffles = n_permutations or LEAST_SHUFFLES
            texts = two_sample_test(self.old, self.new, "auto", shuffles, self.groups, rng)
            return self._result(ColumnDrift("(all)", "text", texts.effect_size, texts.pvalue), [])
        compared = [] if self.old is None else [k for k, p in enumerate(self.parts) if len(p.own)]
        if not compared:
            return self._result(None, columns)
        shuffles = min(max(LEAST_SHUFFLES, PER_COLUMN * (len(compared) + 1)), MOST_SHUFFLES)
        shuffles = n_permutations or shuffles
        most = min(MOST, int(WORK / (2 * COST * shuffles * len(compared))))
        units, n = self.groups, self.n_old
        first, second = _some(units[:n], most, rng), _some(units[n:], most, rng)
        for name, Z, rows in (("old", self.old, first), ("new", self.new, second)):
            if len(rows) < len(Z):
                self.notes.append(f"{len(rows):,} of {len(Z):,} {name} rows were drawn at random.")
        units = units[np.r_[first, n + second]]
        Z = np.concatenate([self.old[first], self.new[second]])
        own = [np.array(self.parts[k].own) for k in compared]
        if len(own) > 1:
            own.append(np.concatenate(own))
        tests = compare_columns(Z, np.arange(len(Z)) < len(first), own, shuffles, rng, units)
        for k, one in zip(compared, tests, strict=False):
            columns[k] = replace(columns[k], effect_size=one.effect_size, pvalue=one.pvalue)
        whole = tests[-1]
        together = ColumnDrift("(all)", "", whole.effect_size, whole.pvalue)
        return self._result(together if len(own) > 1 else None, columns)

    def _result(self, together: ColumnDrift | None, columns: list[ColumnDrift]) -> DriftResult:
        every = [*([] if together is None else [together]), *columns]
        tested = [k for k, column in enumerate(every) if column.pvalue is not None]
        adjusted = holm([every[k].pvalue for k in tested])
        for k, p in zip(tested, adjusted.tolist(), strict=True):
            every[k] = replace(every[k], pvalue=p)
        together, columns = (None, every) if together is None else (every[0], every[1:])
        columns.sort(key=lambda c: (c.pvalue is None, c.pvalue or 0.0, -(c.effect_size or 0.0)))
        least = float(adjusted.min()) if len(adjusted) else None
        return DriftResult(least, together, columns, self.n_old, len(self.new), tuple(self.notes))


def _some(units: Array, most: int, rng: Any) -> Array:
    """Return all rows, or about `most` of units, rows or groups, that are drawn at random."""
    if len(units) <= most:
        return np.arange(len(units))
    names = np.unique(units)  # as many whatever their sizes, which stay alike on both sides
    drawn = rng.permutation(len(names))[: -(-len(names) * most // len(units))]
    return np.flatnonzero(np.isin(units, names[drawn]))


def _by_mean(part: _Part) -> ColumnDrift:
    """Return Welch's test of a mean against one that is remembered, if there is one."""
    if part.shift is None:
        return ColumnDrift(part.name, part.kind, None, None, part.change)
    difference, error, freedom = part.shift
    p = 2.0 * stdtr(freedom, -difference / error) if error > 0 else float(difference == 0.0)
    return ColumnDrift(part.name, part.kind, difference, float(p), part.change)


# ---- two tables --------------------------------------------------------------------------------


def _two_tables(reference: Any, new: Any, roles: dict[Any, str] | None) -> _Sides:
    """Return two tables encoded by all of their rows, and the columns that both have."""
    if _is_list(reference) or _is_list(new):
        _check_rows(len(reference), len(new))
        return _Sides([], list(reference), list(new), len(reference))
    first, second = _columns(reference), _columns(new)
    given = check_roles(roles, first)
    if "group" in given.values():
        raise ValueError("Expected no group among the roles. Name the column as groups=.")
    notes = [
        f"Only in the {side} rows: {', '.join(repr(str(k)) for k in names[:8])}."
        for side, names in (
            ("old", [k for k in first if k not in second]),
            ("new", [k for k in second if k not in first]),
        )
        if names
    ]
    names = [k for k in first if k in second and given.get(k) != "drop"]
    if not names:
        raise ValueError("Expected two tables with columns of the same names, got none in common.")
    old, fresh = ({k: plain(side[k], k) for k in names} for side in (first, second))
    n = len(old[names[0]].values)
    _check_rows(n, len(fresh[names[0]].values))
    together = {k: pooled(old[k], fresh[k]) for k in names}
    numbers = frame_columns(reference) is None
    facts, all_facts = TableFacts.of(old), TableFacts.of(together)
    columns: list[Column] = []
    for k in names:
        column = decide(k, old[k], facts, given.get(k), is_number=numbers)
        if column.kind == "constant":  # it may vary now
            column = decide(k, together[k], all_facts, given.get(k), is_number=numbers)
        columns.append(column)
    cells = list(together.values())
    Z, sources = encoded_together(columns, cells)
    parts = [
        _Part(
            str(k),
            column.kind,
            _change(column, together[k], n) if column.role == "input" else "",
            np.flatnonzero(sources == j).tolist(),
        )
        for j, (k, column) in enumerate(zip(names, columns, strict=True))
        if column.kind != "constant"
    ]
    left = [p.name for p in parts if not len(p.own)]
    if left:
        notes.append(f"Not compared, as identifiers: {', '.join(map(repr, left[:8]))}.")
    return _Sides([p for p in parts if len(p.own)], Z[:n], Z[n:], n, notes)


def _named_groups(reference: Any, new: Any, name: Any) -> Array:
    """Return the groups in a column of both tables."""
    sides = [_columns(reference), _columns(new)]
    for columns in (side for side in sides if name not in side):
        offered = nearest(str(name), [str(k) for k in columns])
        raise ValueError(f"Expected a column of both tables as groups, got {name!r}. {offered}")
    return as_words(pooled(*(plain(columns[name], name) for columns in sides)).values)


def _is_list(X: Any) -> bool:
    return isinstance(X, list | tuple) and bool(X) and isinstance(X[0], str)


def _columns(X: Any) -> dict[Any, Any]:
    found = frame_columns(X.to_frame() if hasattr(X, "to_frame") else X)  # of a series
    if found is not None:
        return found
    try:
        X = X.toarray() if sp.issparse(X) else np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:  # of NumPy, for no array of numbers
        raise TypeError(
            f"Expected a data frame, an array of numbers or texts, got {abridged(X)}."
        ) from error
    X = X[:, None] if X.ndim == 1 else X
    if X.ndim != 2:
        raise ValueError(f"Expected a table, or rows of numbers, got an array of shape {X.shape}.")
    return {f"x{j}": X[:, j] for j in range(X.shape[1])}


def _matrix(X: Any) -> Any:
    return list(X) if _is_list(X) else np.column_stack(list(_columns(X).values()))


def _change(column: Column, cells: Cells, n: int) -> str:
    """Return what changed most between the first n cells and the others, in words."""
    absent, told = missing_cells(cells.values), ""
    if column.kind in ("number", "date"):
        values = typed(column.name, cells.values, column.kind, column.style, column.sentinel)
        absent, told = np.isnan(values), _medians(values[:n], values[n:], column.kind)
    elif column.kind not in ("text", "sequence"):
        words = as_words(cells.values)
        told = _shares(words[:n], words[n:])
    gaps = [float(np.mean(part)) if len(part) else 0.0 for part in (absent[:n], absent[n:])]
    missing = f"missing {gaps[0]:.0%} → {gaps[1]:.0%}" if abs(gaps[0] - gaps[1]) >= 0.01 else ""
    return ", ".join(filter(None, [told, missing]))


def _medians(old: Array, new: Array, kind: str) -> str:
    if np.isnan(old).all() or np.isnan(new).all():
        return ""
    low, shown, high = np.array([np.nanquantile(x, [0.25, 0.5, 0.75]) for x in (old, new)]).T
    told, spread, unit = [f"{x:.4g}" for x in shown], high - low, ""
    more = len(old) > 1 and np.ptp(spread) > np.ptp(shown)
    if kind == "date":
        told = [str(np.datetime64(int(t), "s").astype("datetime64[D]")) for t in shown]
        spread, unit = spread / 86_400.0, " days"
    wider = f", IQR {spread[0]:.4g} → {spread[1]:.4g}{unit}" if more else ""
    return f"median {told[0]} → {told[1]}{wider}"


def _shares(old: Array, new: Array) -> str:
    """Return the category whose share changed most."""
    counts = [Counter(word for word in side if word is not None) for side in (old, new)]
    sizes = [max(sum(count.values()), 1) for count in counts]
    shares = {
        word: tuple(count[word] / size for count, size in zip(counts, sizes, strict=True))
        for word in sorted({*counts[0], *counts[1]})
    }
    if not shares:
        return ""
    word = max(shares, key=lambda w: abs(shares[w][1] - shares[w][0]))
    return f"{word} {shares[word][0]:.0%} → {shares[word][1]:.0%}"


# ---- a model -----------------------------------------------------------------------------------


def _against_model(model: Any, new: Any) -> _Sides:
    """Return what a model keeps of its training rows beside new rows that it has encoded."""
    paths = list(_paths(model))
    if not paths:
        raise TypeError(
            f"Expected a table or a fitted model of gramsmith, got {type(model).__name__}. Pass "
            "the rows that it was trained on."
        )
    before, machine = next((path for path in paths if _rows_of(path[1]) is not None), paths[0])
    encoder = next((step for step in before if isinstance(step, TableEncoder)), None)
    rows, n_old = _rows_of(machine), int(machine.n_samples_fit_)
    Z = new if before else _matrix(new)
    for step in before:
        Z = step.transform(Z)
    _check_rows(n_old, len(Z) if isinstance(Z, list) else Z.shape[0])
    if rows is None and encoder is None:
        raise ValueError(
            "Expected a model that keeps its training rows or encodes a table, got neither. Pass "
            "the table that it was trained on instead."
        )
    if isinstance(Z, list):
        return _Sides([], list(rows), Z, n_old)
    Z, rows = (X.toarray() if sp.issparse(X) else X for X in (Z, rows))
    if encoder is None:
        parts = [_Part(f"x{j}", "number", own=[j]) for j in range(Z.shape[1])]
        return _Sides(parts, rows, Z, n_old)
    cells = _named_cells(encoder, new)
    return _encoded_sides(encoder, rows, Z, cells, n_old)


WITHOUT_ROWS = (
    "The model keeps no training rows: only means of numbers are tested, and new categories named. "
    "Whether spreads, shares of categories, dates, texts or combinations of columns changed cannot "
    "be tested; compare with the training table for that."
)


def _paths(model: Any, before: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Yield every machine within a model, with the steps that its rows pass before."""
    if hasattr(model, "steps"):
        yield from _paths(model.steps[-1][1], (*before, *(step for _, step in model.steps[:-1])))
    elif hasattr(model, "machines_"):
        for machine in model.machines_:
            yield from _paths(machine, before)
    elif hasattr(model, "best_estimator_"):
        yield from _paths(model.best_estimator_, before)
    elif hasattr(model, "coefficients_") and hasattr(model, "n_samples_fit_"):
        yield before, model


def _rows_of(machine: Any) -> Any:
    """Return all training rows of a machine, or None if it keeps only some of them."""
    rows, places = machine.support_samples_, machine.support_
    if rows is None or places is None or len(places) != machine.n_samples_fit_:
        return None
    return rows


def _named_cells(encoder: TableEncoder, new: Any) -> dict[str, Cells]:
    columns = frame_columns(new)
    if columns is None:
        columns = dict(zip(encoder.column_names(), np.asarray(new, dtype=object).T, strict=True))
    return {str(name): plain(column, name) for name, column in columns.items()}


def _encoded_sides(
    encoder: TableEncoder, rows: Any, Z: Array, cells: dict[str, Cells], n_old: int
) -> _Sides:
    """Return the columns that a model has encoded, with its training rows if it keeps them.

    Directions of texts are those of the training rows, which lie further out in them than others
    do: they are not compared. Rare categories count as unseen ones, of which training has none.
    """
    sources, names = encoder.sources(), encoder.column_names()
    old, new = None if rows is None else np.array(rows), np.array(Z)
    parts, notes, start = [], [WITHOUT_ROWS] if old is None else [], 0
    for block in encoder.blocks_:
        own = np.arange(start, start + len(block.parts(names)))
        start += len(own)
        if old is not None and isinstance(block, Texts):
            texts = [repr(names[j]) for j in block.columns_]
            if texts:
                notes.append(
                    f"Not compared, being texts that were encoded by the training rows: "
                    f"{', '.join(texts)}. Compare with the training table for that."
                )
            continue
        if old is not None and isinstance(block, Categories):
            rare = own[old[:, own].sum(axis=0) < RARE]
            old[:, rare] = new[:, rare] = 0.0
        for i, (j, kind) in enumerate(zip(block.columns_, block.kinds_, strict=True)):
            places = own[sources[own] == j]
            before = new[:0, places] if old is None else old[:, places]
            part = _Part(
                names[j], str(kind), _change_from(block, i, cells[names[j]], before, new[:, places])
            )
            if old is not None:
                part = replace(part, own=places.tolist())
            elif isinstance(block, Numbers) and not len(block.levels_[i]):
                part = replace(part, shift=_shift(new[:, places[0]], n_old))
            parts.append(part)
    return _Sides(parts, old, new, n_old, notes)


def _shift(x: Array, n_old: int) -> tuple[float, float, float]:
    """Return how far the mean of standardised numbers is from 0, its error, and its freedom."""
    new, old = float(x.var(ddof=1)) / len(x), 1.0 / n_old
    freedom = (new + old) ** 2 / (new**2 / (len(x) - 1.0) + old**2 / (n_old - 1.0))
    return abs(float(x.mean())), float(np.sqrt(new + old)), freedom


def _change_from(block: Any, i: int, cells: Cells, old: Array, new: Array) -> str:
    """Return what changed in a column that a model has encoded."""
    if isinstance(block, Numbers) and not len(block.orders_[i]):
        style = str(block.styles_[i])
        with warnings.catch_warnings():  # encoding has warned of the same cells
            warnings.simplefilter("ignore")
            values = typed("", cells.values, "number", style, float(block.sentinels_[i]))
        if str(block.kinds_[i]) == "boolean" and block.scale and not np.isnan(values).all():
            return f"True {block.mean_[i]:.0%} → {np.nanmean(values):.0%}"
        return _medians(np.array([block.fill_[i]]), values, "number")
    if isinstance(block, Categories):
        unseen = _unseen(block, i, cells)
        names = [str(word) for word in block.names_[i]]
        if unseen or not len(old) or not names:
            return unseen
        shares = old[:, : len(names)].mean(axis=0), new[:, : len(names)].mean(axis=0)
        k = int(np.argmax(np.abs(shares[1] - shares[0])))
        return f"{names[k]} {shares[0][k]:.0%} → {shares[1][k]:.0%}"
    return ""


def _unseen(block: Categories, i: int, cells: Cells) -> str:
    known = set(block.names_[i].tolist())
    new = Counter(w for w in as_words(cells.values) if w is not None and w not in known)
    if not new:
        return ""
    word, _ = new.most_common(1)[0]
    return f"never seen before: {sum(new.values()) / len(cells.values):.0%}, such as {word!r}"
