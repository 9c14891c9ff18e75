"""estimate: measures of more samples than pairs can be looked at, with intervals.

All pairs where they are within the budget. Else random draws of the samples, as many of every class
as its share. The sums of a draw, each sample standing for those that were not drawn, estimate those
of all samples, and so its measures are those of all samples but for noise and a small bias. Both
halves of the draw tell the bias: it is about twice as large in them. Draws are independent of each
other, so the mean over them has the error that their deviation says.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gramsmith.arguments import abridged, check_function, is_number, is_whole
from gramsmith.evaluation.advice import about_kernel, about_target, with_remarks
from gramsmith.evaluation.errors import values_of
from gramsmith.evaluation.evaluate import choose_measures, evaluate, least_value
from gramsmith.evaluation.result import Advice, Cell, Evaluation
from gramsmith.fingerprint import fingerprint
from gramsmith.gram import Engine, Gram, Views, as_engine, as_views, once
from gramsmith.gram.parquet import ParquetRows
from gramsmith.gram.threads import dense_work
from gramsmith.gram.views import take_rows
from gramsmith.kernels.adapt import as_kernel
from gramsmith.measures import Measure
from gramsmith.measures.alignment import ConstantKernelWarning
from gramsmith.moments import Moments
from gramsmith.targets import Target, make_target

Array = npt.NDArray[Any]

TINY = float(np.finfo(float).tiny)
FIRST = 16  # draws before anything is said
SPARE = 1.1  # how much narrower than asked the next draws are to make it: deviations vary
FEWEST = 4  # of every class in a draw: two in each half
KNOWN = 1 << 16  # samples that decide on the width of the default kernel of a file
HELD = 0.25  # share of the memory budget for samples that are read ahead
# Measured (60 intervals each): fsm of a narrow kernel was right in none with 15 rows of a class in
# every draw and a bias of 8 % between draws and halves, in 49 of 50 with 82 rows and up to 15 %;
# cka with weights 10^U(-3, 3), which are 7 times as concentrated as equal ones, in 43 of 100.
BIAS = 0.15  # share of a value above which its bias is not known from that of the halves
MEMBERS = 50  # of every class in a draw, for measures that are not bounded
CONCENTRATED = 5.0  # n Σ m² / (Σ m)² of the rows' masses m = w k(x, x); 1 if all are equal


def estimate(
    kernels: Any,
    X: Any,
    y: Any,
    measures: Iterable[str | Measure] | str | Measure | None = None,
    *,
    tolerance: float = 0.005,
    confidence: float = 0.95,
    rows: int = 4096,
    pairs: float = 2.0**33,
    target: str = "auto",
    task: str = "auto",
    sample_weight: Any = None,
    memory: float | None = None,
    n_jobs: int | None = None,
    engine: Engine | None = None,
    dtype: Any = None,
    resume: Any = None,
    random_state: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> Evaluation:
    r"""Estimate the measures of `evaluate` from a part of the pairs, with an interval for each.

    The exact measures of n samples need all n² / 2 pairs. Here g random draws of `rows` samples
    each, stratified by class, stand for all; see docs/guide/scale.rst. For a measure θ with the
    values θ_i of the draws and θ_i', θ_i'' of their halves,

    .. math:: \hat\theta = \frac1g \sum_i \hat\theta_i, \quad
              \hat\theta_i = 2\theta_i - \tfrac12(\theta_i' + \theta_i''), \quad
              \hat\theta \pm t_{g-1} \sqrt{\frac{\sum_i (\hat\theta_i - \hat\theta)^2}{g(g-1)}}

    Where all pairs are within the budget `pairs`, the values are exact, and intervals have no
    width. Where draws cannot tell (a measure that is infinite in some of them, that depends on the
    number of rows, or on a few rows of large weight or far away), the value is None, and the advice
    says how many pairs the exact one takes.

    Parameters
    ----------
    kernels : dict of name -> kernel, list of kernels or (name, kernel) pairs, or one kernel
        As for `evaluate`.
    X : array of shape (n, p), memmap, Dask array, sequence of n objects, or path of a Parquet file
        Only the samples of draws are ever read.
    y : array of shape (n,) or (n, q), or the name of a column of the Parquet file
        Labels or values.
    measures : list of str or Measure, optional
        As for `evaluate`.
    tolerance : float, default=0.005
        Half the width of the intervals at which draws end; times the value for measures that are
        not bounded by 1, such as fsm, csm and hsic.
    confidence : float, default=0.95
        Share of intervals that hold the value of all samples.
    rows : int, default=4096
        Samples in a draw. Fewer, and fewer pairs, for kernels that take long, such as those of
        strings.
    pairs : float, default=2**33
        Pairs of samples that may be looked at for each kernel: all there are of 131 000 samples,
        13 seconds on two cores for a Gaussian of ten columns; or 1024 draws of 4096 samples. There
        are never fewer than 16 draws.
    target, task, sample_weight
        See `gramsmith.targets.make_target`; default "auto", "auto" and equal weights.
    memory, n_jobs, engine, dtype
        See `Gram`.
    resume : path or Journal, optional
        A file for finished draws, and for bands of the one in work, see `Threads`: a run that was
        ended goes on from there, also to a smaller `tolerance`.
    random_state : int, default=0
        Decides the draws.
    progress : callable, optional
        Called with (draws done, draws expected).

    Returns
    -------
    Evaluation
        Of all n samples. The intervals of its cells are for the values that `evaluate` would find,
        and not for those of other samples.

    Examples
    --------
    >>> import numpy as np
    >>> import gramsmith as gs
    >>> X = np.random.default_rng(0).normal(size=(100_000, 2))
    >>> y = X[:, 0] * X[:, 1] > 0
    >>> table = gs.estimate({"rbf": gs.Gaussian()}, X, y, "cka", rows=1024, pairs=1e8)
    >>> low, high = table["rbf", "cka"].interval()
    >>> low < 0.1502 < high, (high - low) / 2 < 0.005
    (True, True)
    """
    _check(tolerance, confidence, rows, pairs, random_state)
    check_function("progress", progress, "draws done", "draws expected")
    X, y = _as_table(X, y)
    goal = make_target(y, target, task=task, sample_weight=sample_weight)
    chosen = choose_measures(measures, goal)
    views = as_views(_with_width(kernels, X), X)
    views.check_lengths(len(goal.w))
    options = {"engine": as_engine(engine, n_jobs, memory, resume), "dtype": dtype}
    if 0.5 * goal.n**2 <= pairs:
        whole = views.take(np.arange(views.n))
        about = {"target": target, "task": task, "sample_weight": sample_weight}
        table = evaluate(whole, None, y, measures=chosen, folds=0, **about, **options)
        cells = {
            key: replace(cell, error=0.0, folds=np.full(2, cell.value))
            for key, cell in table.cells.items()
            if cell.value is not None
        }
        remark = Advice("exact", f"All pairs of the {table.n:,} samples were looked at.")
        return replace(table, cells=table.cells | cells, advice=(*table.advice, remark))
    draws = Draws(views, goal, chosen, options, int(random_state), progress)
    most = max(FIRST, int(pairs / (0.5 * rows**2)))
    draws.take(rows, FIRST)
    while (width := max(draws.widths(confidence).values(), default=0.0)) > tolerance and len(
        draws.values
    ) < most:
        count = int(np.ceil(len(draws.values) * (SPARE * width / tolerance) ** 2))
        draws.take(rows, min(max(count, len(draws.values) + 1), most))
    advice = list(about_target(goal, task))
    return draws.table(tolerance, confidence, advice)


class Draws:
    """Random parts of the samples, and what they say about all of them.

    `values` and `bias` have a table of kernels x measures for every draw: what it says, less the
    bias of first order, and that bias.
    """

    def __init__(
        self,
        views: Views,
        goal: Target,
        measures: list[Measure],
        options: dict[str, Any],
        seed: int,
        progress: Callable[[int, int], None] | None,
    ) -> None:
        self.views, self.goal, self.measures, self.options = views, goal, measures, options
        self.seed, self.progress = seed, progress
        classes = goal.members if goal.kind == "classes" else [np.arange(len(goal.w))]
        self.strata = [rows[goal.w[rows] > 0] for rows in classes]
        self.values: list[Array] = []
        self.bias: list[Array] = []
        self.concentration = np.zeros(len(views.kernels))
        self.reasons: dict[str, str] = {}  # why a measure is undefined, and its name
        self.remarks: list[Advice] = []  # on the kernels, of the last draw
        self.drawn = self.smallest = 0  # samples in it, and in its smallest class

    def take(self, size: int, count: int) -> None:
        """Draw until there are `count` draws of `size` samples."""
        for index, copies, part in self._read(size, len(self.values), count):
            drawn = self.goal.drawn(index, copies)
            whole, halves, concentration, reasons, remarks = self._kept(drawn, copies, part)
            with np.errstate(invalid="ignore"):  # separabilities may be infinite
                bias = halves - whole
            bias = np.where(np.isfinite(bias), bias, 0.0)
            self.values.append(whole - bias)
            self.bias.append(bias)
            self.concentration = np.maximum(self.concentration, concentration)
            self.reasons |= reasons
            self.remarks = [Advice(*remark) for remark in remarks]
            self.drawn = len(index)
            self.smallest = int(drawn.V.sum(axis=0).min()) if len(self.strata) > 1 else len(index)
            if self.progress is not None:
                self.progress(len(self.values), count)

    def _read(self, size: int, start: int, stop: int) -> Iterator[tuple[Array, Array, Views]]:
        """Yield the samples of draws, how many each stands for, and their views.

        Samples of several draws are read together, as far as there is memory: a file or a Dask
        array is looked through once for all of them.
        """
        total = sum(map(len, self.strata))
        # even numbers; rare classes have more than their share, so that both halves know them
        wanted = [max(FEWEST, 2 * round(0.5 * size * len(s) / total)) for s in self.strata]
        sizes = [
            min(want, len(s) // 2 * 2) if len(s) >= FEWEST else len(s)
            for want, s in zip(wanted, self.strata, strict=True)
        ]
        copies = [len(rows) / size for rows, size in zip(self.strata, sizes, strict=True)]
        firsts = [(s + 1) // 2 for s in sizes]
        each = np.repeat([*copies, *copies], [*firsts, *(s // 2 for s in sizes)])
        step = 1
        if not any(self.views.square):  # a kernel matrix is read by pairs
            width = sum(getattr(X, "shape", (0, 64))[1] for X in self.views.samples)
            step = max(1, int(HELD * self.options["engine"].budget // (8 * sum(sizes) * width)))
        for first in range(start, stop, step):
            indices = [self._index(g, sizes) for g in range(first, min(first + step, stop))]
            ahead = self.views.take(np.concatenate(indices))
            ends = np.cumsum([len(index) for index in indices])
            for index, end in zip(indices, ends, strict=True):
                yield index, each, ahead.take(np.arange(end - len(index), end))

    def _index(self, number: int, sizes: list[int]) -> Array:
        """Return the samples of one draw: those of the first half, then those of the second."""
        rng = np.random.default_rng([self.seed, sum(sizes), number])
        found = [
            rng.choice(rows, size, replace=False)
            for rows, size in zip(self.strata, sizes, strict=True)
        ]
        firsts = [part[: (len(part) + 1) // 2] for part in found]
        seconds = [part[(len(part) + 1) // 2 :] for part in found]
        return np.concatenate([*firsts, *seconds])

    def _kept(self, drawn: Target, copies: Array, part: Views) -> Any:
        """Return what `_measured` does, unless the journal of the engine has it."""
        engine = self.options["engine"]
        if engine.journal is None:
            return self._measured(drawn, copies, part)
        what = {
            "kernels": list(part.names),
            "kernel parameters": fingerprint(part.kernels),
            "measures": [measure.name for measure in self.measures],
        }
        # rows of a file are not read for their hash alone: those of the first draw stand for them
        data = {"data": fingerprint(part.samples, self.goal.w, self.goal.V), "seed": self.seed}
        engine.journal.begin({**what, **data, "rows": self.views.n})
        inputs = (part.samples, drawn.w, drawn.V, copies, what, str(self.options["dtype"]))
        return once(engine, ("draw", inputs), lambda: self._measured(drawn, copies, part))

    def _measured(
        self, drawn: Target, copies: Array, part: Views
    ) -> tuple[Array, Array, Array, dict[str, str], list[tuple[str, str, str | None]]]:
        """Return the measures of a draw and the mean of those of its halves, shape (m, k).

        And how far few rows outweigh the others, why measures are undefined, remarks on kernels.
        """
        undefined: dict[str, Measure] = {}
        classes = len(self.strata) > 1
        sizes = [int(column.sum()) for column in drawn.V.T] if classes else [len(drawn.w)]
        middle = sum((s + 1) // 2 for s in sizes)
        fold = (np.arange(len(drawn.w)) >= middle).astype(int)
        moments = Gram(part, **self.options).moments(drawn, fold=fold, cross=False)
        with warnings.catch_warnings(), dense_work():
            warnings.simplefilter("ignore", ConstantKernelWarning)
            every = of_all_samples(moments, drawn)
            whole = np.array(values_of(every, drawn, self.measures, undefined), dtype=float)
            reasons = {text: measure.name for text, measure in undefined.items()}
            remarks = [
                (remark.code, remark.message, remark.kernel)
                for k, (name, kernel) in enumerate(zip(part.names, part.kernels, strict=True))
                for remark in about_kernel(name, every.of(k), drawn, kernel)
            ]
            mass = drawn.row_weights * np.abs(moments.d) + TINY
            concentration = len(drawn.w) * (mass**2).sum(axis=1) / mass.sum(axis=1) ** 2
            if min(sizes) < FEWEST or any(s % 2 for s in sizes):
                return whole, whole, concentration, reasons, remarks
            halves = []
            for f in (0, 1):
                rows = np.flatnonzero(fold == f)
                goal = drawn.drawn(rows, 2.0 * copies[rows])
                k = int(np.argmax(goal.w))
                cut, _ = moments.without(1 - f)
                cut = cut.reweighted(float(goal.w[k] / drawn.w[rows[k]]))
                halves.append(values_of(of_all_samples(cut, goal), goal, self.measures))
        both = np.array(halves, dtype=float).mean(axis=0)
        return whole, both, concentration, reasons, remarks

    def cell(self, k: int, j: int) -> Cell:
        """Return value and error of measure j of kernel k; no value where draws cannot tell."""
        values, bias = (np.array(table)[:, k, j] for table in (self.values, self.bias))
        if not np.isfinite(values).all():
            return Cell(np.inf if np.isposinf(values).all() else None)
        g, mean = len(values), float(values.mean())
        error = float(values.std(ddof=1) / np.sqrt(g))
        # what noise alone says about the bias is taken off
        known = np.sqrt(max(bias.mean() ** 2 - bias.var(ddof=1) / g, 0.0))
        few = self.smallest < MEMBERS and not self.measures[j].bounded
        # a tenth: of an alignment near 0 the bias counts by itself, and not by the value
        size = max(abs(mean), 0.1 if self.measures[j].bounded else TINY)
        if few or known > BIAS * size or self.concentration[k] > CONCENTRATED:
            return Cell(None)
        # a share ρ of first order leaves about ρ² of second order, as in roots of sums
        left = known * min(1.0, known / max(abs(mean), TINY))
        wider = float(np.hypot(error, left)) / error if error > 0 else 1.0
        # means without each draw, of which the jackknife finds the error
        folds = mean - wider * (values - mean) / (g - 1.0)
        least = least_value(self.measures[j], self.views.kernels[k], mean)
        return Cell(mean, error=error * wider, folds=folds, least=least)

    def widths(self, confidence: float) -> dict[tuple[int, int], float]:
        """Return half the width of every interval there is, of unbounded measures by the value."""
        found = {}
        for k in range(len(self.views.kernels)):
            for j, measure in enumerate(self.measures):
                cell = self.cell(k, j)
                limits = cell.interval(confidence)
                if limits is not None and cell.value is not None:
                    unit = 1.0 if measure.bounded else max(abs(cell.value), TINY)
                    found[k, j] = 0.5 * (limits[1] - limits[0]) / unit
        return found

    def table(self, tolerance: float, confidence: float, advice: list[Advice]) -> Evaluation:
        """Return the table of what draws have found."""
        named = dict(zip(self.views.names, self.views.kernels, strict=True))
        names, titles = list(named), [m.name for m in self.measures]
        advice = [*advice, *self.remarks]
        advice += [Advice("undefined", text, measure=name) for text, name in self.reasons.items()]
        cells = {}
        for k, name in enumerate(names):
            for j, title in enumerate(titles):
                cell = cells[name, title] = self.cell(k, j)
                if cell.value is None and not np.isnan(np.array(self.values)[:, k, j]).all():
                    text = (
                        f"{title} of {name} cannot be estimated from random draws: it depends on "
                        f"the number of rows, or on a few of them. It takes all "
                        f"{0.5 * self.goal.n**2:.2g} pairs."
                    )
                    advice.append(Advice("unsure", text, name, title))
        text = (
            f"Estimated from {len(self.values)} random draws of {self.drawn:,} of "
            f"{self.goal.n:,.0f} samples; the errors are those of drawing."
        )
        advice.append(Advice("estimated", text))
        widths = self.widths(confidence)
        wide = {key: width for key, width in widths.items() if width > tolerance}
        if wide:
            k, j = max(wide, key=lambda key: wide[key])
            what = "in absolute terms" if self.measures[j].bounded else "of its value"
            text = (
                f"{len(wide)} of {len(cells)} values are less precise than {tolerance:g}, the "
                f"worst {titles[j]} of {names[k]} (±{wide[k, j]:.2g} {what}). Raise pairs, or ask "
                "for fewer measures."
            )
            advice.append(Advice("wide", text, names[k], titles[j]))
        draws, measures = (len(self.values), self.drawn), {m.name: m for m in self.measures}
        table = Evaluation(named, measures, cells, (), round(self.goal.n), draws)
        return with_remarks(table, advice)


def of_all_samples(moments: Moments, target: Target) -> Moments:
    r"""Return estimates of the moments of all samples from those of the drawn ones.

    A drawn sample i stands for c_i samples and has the weight w_i = c_i u_i. Sums over pairs of
    drawn samples count the pair (i, i) with w_i² instead of w_i u_i, as if the samples that i
    stands for were all like i. It is counted right here, and the pairs of different samples are
    multiplied so that together they have the weight that all such pairs have.
    """
    w, own, d, V, n = target.w, target.row_weights, moments.d, target.V, target.n
    itself = d[:, :, None] * V
    if target.kind == "classes":
        size = V @ target.m
        share = 1.0 + V * (_ratio(size - own, size - w) - 1.0)[:, None]
    else:
        share = _ratio(n - own, n - w)[:, None]
    P = (moments.PV - w[:, None] * itself) * share + own[:, None] * itself
    pairs = float(_ratio(n * n - w @ own, n * n - w @ w))
    q = pairs * (moments.squares - (d * w**2) @ d.T) + (d * w * own) @ d.T
    if not moments.cross:
        q = np.diag(np.diag(q))
    return replace(moments, P=P[:, None], q=q[:, :, None, None], fold=np.zeros(len(w), dtype=int))


def _ratio(above: Any, below: Any) -> Array:
    """Return above / below, or 1 where there is nothing below: no pair of different samples."""
    above, below = np.asarray(above), np.asarray(below)
    there = below > 0
    return np.where(there, above / np.where(there, below, 1.0), 1.0)


def _as_table(X: Any, y: Any) -> tuple[Any, Any]:
    """Return samples that can be indexed, and targets, which may be a column of a file."""
    if not isinstance(X, str | Path):
        return X, y.compute() if hasattr(y, "compute") else y
    if Path(X).suffix not in (".parquet", ".pq"):
        raise ValueError(
            f"Expected an array or the path of a .parquet file, got {str(X)!r}. Read it first, for "
            "example by pandas or numpy.load(path, mmap_mode='r')."
        )
    table = ParquetRows(X)
    if isinstance(y, str):
        return table.without(y), table.column(y)
    return table, y


def _with_width(kernels: Any, X: Any) -> Any:
    """Return kernels, the default one with the width of the first samples of what is not held."""
    if kernels is None and not isinstance(X, np.ndarray) and hasattr(X, "shape"):
        return as_kernel(None, take_rows(X, np.arange(min(KNOWN, X.shape[0]))))
    return kernels


def _check(tolerance: float, confidence: float, rows: int, pairs: float, random_state: int) -> None:
    """Raise before any work."""
    between = is_number(confidence) and 0.0 < confidence < 1.0
    for name, value, fine, expected in (
        ("random_state", random_state, is_whole(random_state, 0), "a whole number >= 0"),
        ("confidence", confidence, between, "between 0 and 1"),
        ("tolerance", tolerance, is_number(tolerance) and tolerance > 0.0, "> 0"),
        ("rows", rows, is_whole(rows, 64), "a whole number >= 64"),
        ("pairs", pairs, is_number(pairs) and pairs > 0.0, "> 0"),
    ):
        if not fine:
            raise ValueError(f"Expected {name} to be {expected}, got {abridged(value)}.")
