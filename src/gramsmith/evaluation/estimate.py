"""estimate: measures of more samples than pairs can be looked at, with intervals.

A draw is a random part of the samples, as many of every class as its share. Its sums, each sample
standing for those that were not drawn, estimate those of all samples, and so its measures are those
of all samples but for noise and a small bias. Both halves of the draw tell the bias: it is about
twice as large in them. Draws are independent of each other, so the mean over them has the error
that their deviation says, and further draws make it smaller.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gramsmith.arguments import abridged, check_function, is_number, is_whole
from gramsmith.evaluation.advice import about_kernel, about_target, about_task, about_ties
from gramsmith.evaluation.errors import values_of
from gramsmith.evaluation.evaluate import choose_measures, evaluate
from gramsmith.evaluation.result import Advice, Cell, Evaluation
from gramsmith.gram import Engine, Gram, Views, as_engine, as_views, once
from gramsmith.gram.journal import fingerprint
from gramsmith.gram.parquet import ParquetRows
from gramsmith.gram.threads import dense_work
from gramsmith.gram.views import take_rows
from gramsmith.kernels.adapt import as_kernel
from gramsmith.measures import Measure
from gramsmith.measures.alignment import ConstantKernelWarning
from gramsmith.moments import Moments
from gramsmith.targets import Target, make_target

Array = npt.NDArray[Any]

FIRST = 16  # draws before anything is said
SPARE = 1.1  # how much narrower than asked the next draws are to make it: deviations vary
EXACT = 8  # times the samples of a draw up to which all pairs are not much more work
DOUBLINGS = 1  # of the samples of a draw where the bias asks for more
FEWEST = 4  # of every class in a draw: two in each half
KNOWN = 1 << 16  # samples that decide on the width of the default kernel of a file
HELD = 0.25  # share of the memory budget for samples that are read ahead


def estimate(
    kernels: Any,
    X: Any,
    y: Any,
    measures: Iterable[str | Measure] | str | Measure | None = None,
    *,
    tolerance: float = 0.005,
    confidence: float = 0.95,
    rows: int = 4096,
    max_draws: int = 256,
    grow: bool = True,
    target: str = "auto",
    task: str = "auto",
    sample_weight: Any = None,
    memory: float | None = None,
    n_jobs: int | None = None,
    engine: Engine | None = None,
    dtype: Any = None,
    resume: Any = None,
    random_state: int = 0,
    progress: Callable[[float, int], None] | None = None,
) -> Evaluation:
    r"""Estimate the measures of `evaluate` from a part of the pairs, with an interval for each.

    The exact measures of n samples need all n² / 2 pairs. Here g random draws of `rows` samples
    each, stratified by class, stand for all; see docs/guide/scale.rst. For a measure θ with the
    values θ_i of the draws and θ_i', θ_i'' of their halves,

    .. math:: \hat\theta = \frac1g \sum_i \hat\theta_i, \quad
              \hat\theta_i = 2\theta_i - \tfrac12(\theta_i' + \theta_i''), \quad
              \hat\theta \pm t_{g-1} \sqrt{\frac{\sum_i (\hat\theta_i - \hat\theta)^2}{g(g-1)}}

    Where n is so small that all pairs are no more work, the values are exact.

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
        Samples in a draw. Fewer for kernels that take long, such as those of strings.
    max_draws : int, default=256
        Draws at most; what is then still wider than `tolerance` is said in the advice.
    grow : bool, default=True
        Whether draws become more, and larger, until the intervals are narrow enough. False takes
        16 draws of `rows` samples, which is a known amount of work, whatever the intervals.
    target, task, sample_weight
        See `gramsmith.targets.make_target`.
    memory, n_jobs, engine, dtype
        See `Gram`.
    resume : path or Journal, optional
        A file for finished draws, and for bands of the one in work, see `Threads`: a run that was
        ended goes on from there, also to a smaller `tolerance`.
    random_state : int
        Decides the draws.
    progress : callable, optional
        Called with (draws done, draws expected), during long draws with parts of one.

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
    >>> table = gs.estimate({"rbf": gs.Gaussian()}, X, y, "cka", rows=1024)
    >>> low, high = table["rbf", "cka"].interval()
    >>> low < 0.1502 < high, (high - low) / 2 < 0.005
    (True, True)
    """
    _check(tolerance, confidence, rows, max_draws, random_state)
    check_function("progress", progress, "draws done", "draws expected")
    X, y = _as_table(X, y)
    goal = make_target(y, target, task=task, sample_weight=sample_weight)
    chosen = choose_measures(measures, goal)
    views = as_views(_with_width(kernels, X), X)
    views.check_lengths(len(goal.w))
    options = {"engine": as_engine(engine, n_jobs, memory, resume), "dtype": dtype}
    advice = [*about_target(goal), *(about_task(goal) if task == "auto" else ())]
    draws = Draws(views, goal, chosen, options, int(random_state), progress)
    for doubled in range(DOUBLINGS + 1):
        size = rows << doubled
        if goal.n <= EXACT * size:
            whole = views.take(np.arange(views.n))
            about = {"target": target, "task": task, "sample_weight": sample_weight}
            return _exact(evaluate(whole, None, y, measures=chosen, folds=0, **about, **options))
        sample = draws.take(size, 0, FIRST)
        if not grow or not np.nanmax(sample.remainder(), initial=0.0) > 0.25 * tolerance:
            break
    while grow and (width := sample.widest(confidence)) > tolerance and len(sample) < max_draws:
        count = int(np.ceil(len(sample) * (SPARE * width / tolerance) ** 2))
        more = draws.take(size, len(sample), min(max(count, len(sample) + 1), max_draws))
        sample = sample.joined(more)
    return _table(views, goal, chosen, draws, sample, tolerance, confidence, advice)


@dataclass(frozen=True)
class Sample:
    """What draws have said about every measure of every kernel.

    Parameters
    ----------
    values : array of shape (g, m, k)
        Of g draws, for m kernels and k measures, without the bias of first order; NaN where a
        measure is undefined.
    bias : array of shape (g, m, k)
        What was taken off.
    relative : array of shape (k,), bool
        Of which measures errors count in units of the value.
    """

    values: Array
    bias: Array
    relative: Array

    def __len__(self) -> int:
        """Return the number of draws."""
        return len(self.values)

    def joined(self, other: Sample) -> Sample:
        """Return the draws of both."""
        values = np.concatenate([self.values, other.values])
        return Sample(values, np.concatenate([self.bias, other.bias]), self.relative)

    @property
    def unit(self) -> Array:
        """In which the errors are compared with the tolerance, shape (m, k)."""
        size = np.maximum(np.abs(self.values.mean(axis=0)), np.finfo(float).tiny)
        return np.where(self.relative, size, 1.0)

    def remainder(self) -> Array:
        """Return about what may be left of the bias, in units, shape (m, k).

        A share ρ of first order leaves about ρ² of second order, which is so for roots of sums
        such as those in deviations and norms; of a large share nothing is sure. What noise alone
        says about the bias is taken off.
        """
        size = np.maximum(np.abs(self.values.mean(axis=0)), np.finfo(float).tiny)
        with np.errstate(all="ignore"):
            noise = self.bias.var(axis=0, ddof=1) / len(self)
            bias = np.sqrt(np.maximum(self.bias.mean(axis=0) ** 2 - noise, 0.0))
            share = bias / size
            left = bias * np.minimum(2.0, share * (1.0 + 100.0 * share))
        return np.asarray(np.where(np.isfinite(left), left, 0.0) / self.unit)

    def cell(self, k: int, j: int) -> Cell:
        """Return value and error of measure j of kernel k."""
        values = self.values[:, k, j]
        if not np.isfinite(values).all():
            return Cell(np.inf if np.isposinf(values).all() else None)
        g, mean = len(values), float(values.mean())
        error = float(values.std(ddof=1) / np.sqrt(g))
        # means without each draw, of which the jackknife finds the error; wider by what is left
        # of the bias
        left = float(self.remainder()[k, j] * self.unit[k, j])
        wider = float(np.hypot(error, left)) / error if error > 0 else 1.0
        folds = mean - wider * (values - mean) / (g - 1.0)
        return Cell(mean, error=error * wider, folds=folds)

    def cells(self) -> dict[tuple[int, int], Cell]:
        """Return the cells of all kernels and measures, by their numbers."""
        _, m, k = self.values.shape
        return {(i, j): self.cell(i, j) for i in range(m) for j in range(k)}

    def half_widths(self, confidence: float) -> dict[tuple[int, int], float]:
        """Return half the width of every interval there is, in units."""
        unit, found = self.unit, {}
        for key, cell in self.cells().items():
            limits = cell.interval(confidence)
            if limits is not None:
                found[key] = 0.5 * (limits[1] - limits[0]) / float(unit[key])
        return found

    def widest(self, confidence: float) -> float:
        """Return half the width of the widest interval, in units."""
        return max(self.half_widths(confidence).values(), default=0.0)


class Draws:
    """Random parts of the samples, and what they say about all of them.

    Parameters
    ----------
    views : Views
    goal : Target
        Of all samples.
    measures : list of Measure
    options : dict
        For `Gram`.
    seed : int
    progress : callable or None
    """

    def __init__(
        self,
        views: Views,
        goal: Target,
        measures: list[Measure],
        options: dict[str, Any],
        seed: int,
        progress: Callable[[float, int], None] | None,
    ) -> None:
        self.views, self.goal, self.measures, self.options = views, goal, measures, options
        self.seed, self.progress = seed, progress
        classes = goal.members if goal.kind == "classes" else [np.arange(len(goal.w))]
        self.strata = [rows[goal.w[rows] > 0] for rows in classes]
        self.reasons: dict[str, str] = {}  # why a measure is undefined, and its name
        self.remarks: list[Advice] = []  # on the kernels, of the last draw
        self.drawn = 0  # samples in it

    def take(self, size: int, start: int, stop: int) -> Sample:
        """Return what the draws number `start` to `stop` - 1 of `size` samples each say."""
        values, halves = [], []
        for done, (index, copies, part) in enumerate(self._read(size, start, stop), start + 1):
            drawn = self.goal.drawn(index, copies)
            whole, two, reasons, remarks = self._kept(drawn, copies, part, done - 1, stop)
            values.append(whole)
            halves.append(two)
            self.reasons |= reasons
            self.remarks = [Advice(*remark) for remark in remarks]
            self.drawn = len(index)
            if self.progress is not None:
                self.progress(done, stop)
        whole = np.array(values)
        with np.errstate(invalid="ignore"):  # separabilities may be infinite
            bias = np.array(halves) - whole
        bias = np.where(np.isfinite(bias), bias, 0.0)
        relative = np.array([not measure.bounded for measure in self.measures])
        return Sample(whole - bias, bias, relative)

    def _sizes(self, size: int) -> list[int]:
        """Return how many samples of each stratum are drawn, even numbers where there are enough.

        Rare classes have more than their share, so that both halves of a draw know them.
        """
        total = sum(map(len, self.strata))
        wanted = [max(FEWEST, 2 * round(0.5 * size * len(s) / total)) for s in self.strata]
        return [
            min(want, len(s) // 2 * 2) if len(s) >= FEWEST else len(s)
            for want, s in zip(wanted, self.strata, strict=True)
        ]

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

    def _read(self, size: int, start: int, stop: int) -> Iterator[tuple[Array, Array, Views]]:
        """Yield the samples of draws, how many each stands for, and their views.

        Samples of several draws are read together, as far as there is memory: a file or a Dask
        array is looked through once for all of them.
        """
        sizes = self._sizes(size)
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
            place = 0
            for index in indices:
                yield index, each, ahead.take(np.arange(place, place + len(index)))
                place += len(index)

    def _kept(self, drawn: Target, copies: Array, part: Views, done: int, stop: int) -> Any:
        """Return what `_measured` does, unless the journal of the engine has it."""
        engine = self.options["engine"]

        def told(tiles: int, of: int) -> None:
            if self.progress is not None and tiles < of:
                self.progress(done + tiles / of, stop)

        def compute() -> Any:
            return self._measured(drawn, copies, part, told)

        if engine.journal is None:
            return compute()
        what = {
            "kernels": list(part.names),
            "kernel parameters": fingerprint(part.kernels),
            "measures": [measure.name for measure in self.measures],
        }
        # rows of a file are not read for their hash alone: those of the first draw stand for them
        data = {"data": fingerprint(part.samples, self.goal.w, self.goal.V), "seed": self.seed}
        engine.journal.begin({**what, **data, "rows": self.views.n})
        inputs = (part.samples, drawn.w, drawn.V, copies, what, str(self.options["dtype"]))
        return once(engine, ("draw", inputs), compute)

    def _measured(
        self, drawn: Target, copies: Array, part: Views, told: Callable[[int, int], None]
    ) -> tuple[Array, Array, dict[str, str], list[tuple[str, str, str | None]]]:
        """Return the measures of a draw and the mean of those of its halves, shape (m, k).

        And why measures are undefined, and remarks on the kernels.
        """
        undefined: dict[str, Measure] = {}
        classes = len(self.strata) > 1
        sizes = [int(column.sum()) for column in drawn.V.T] if classes else [len(drawn.w)]
        middle = sum((s + 1) // 2 for s in sizes)
        fold = (np.arange(len(drawn.w)) >= middle).astype(int)
        moments = Gram(part, progress=told, **self.options).moments(drawn, fold=fold, cross=False)
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
            if min(sizes) < FEWEST or any(s % 2 for s in sizes):
                return whole, whole, reasons, remarks
            halves = []
            for f in (0, 1):
                rows = np.flatnonzero(fold == f)
                goal = drawn.drawn(rows, 2.0 * copies[rows])
                k = int(np.argmax(goal.w))
                cut, _ = moments.without(1 - f)
                cut = cut.reweighted(float(goal.w[k] / drawn.w[rows[k]]))
                halves.append(values_of(of_all_samples(cut, goal), goal, self.measures))
        return whole, np.array(halves, dtype=float).mean(axis=0), reasons, remarks


def of_all_samples(moments: Moments, target: Target) -> Moments:
    r"""Return estimates of the moments of all samples from those of the drawn ones.

    A drawn sample i stands for c_i samples and has the weight w_i = c_i u_i. Sums over pairs of
    drawn samples count the pair (i, i) with w_i² instead of w_i u_i, as if the samples that i
    stands for were all like i. It is counted right here, and the pairs of different samples are
    multiplied so that together they have the weight that all such pairs have.

    Parameters
    ----------
    moments : Moments
        Of the drawn samples with the weights w.
    target : Target
        With `copies`.
    """
    w, own, d, V, n = target.w, target.own, moments.d, target.V, target.n
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


def _table(
    views: Views,
    goal: Target,
    measures: list[Measure],
    draws: Draws,
    sample: Sample,
    tolerance: float,
    confidence: float,
    advice: list[Advice],
) -> Evaluation:
    """Return the table of what draws have found."""
    named = dict(zip(views.names, views.kernels, strict=True))
    names, titles = list(named), [m.name for m in measures]
    advice = [*advice, *draws.remarks]
    advice += [Advice("undefined", text, measure=name) for text, name in draws.reasons.items()]
    known = sample.cells()
    for (k, j), cell in known.items():
        if cell.value is None and not np.isnan(sample.values[:, k, j]).all():
            remark = f"{titles[j]} of {names[k]} is infinite in some draws. Raise rows."
            advice.append(Advice("undefined", remark, names[k], titles[j]))
    advice.append(
        Advice(
            "estimated",
            f"Estimated from {len(sample)} random draws of {draws.drawn:,} of {goal.n:,.0f} "
            "samples; the errors are those of drawing.",
        )
    )
    wide = {
        key: width for key, width in sample.half_widths(confidence).items() if width > tolerance
    }
    if wide:
        k, j = max(wide, key=lambda key: wide[key])
        what = "of its value" if sample.relative[j] else "in absolute terms"
        advice.append(
            Advice(
                "wide",
                f"{len(wide)} of {len(names) * len(titles)} values are not known to "
                f"{tolerance:g}, the least {titles[j]} of {names[k]} (±{wide[k, j]:.2g} {what}). "
                "Raise max_draws or rows, or ask for fewer measures.",
                names[k],
                titles[j],
            )
        )
    cells = {(names[k], titles[j]): cell for (k, j), cell in known.items()}
    drawn = len(sample), draws.drawn
    table = Evaluation(named, {m.name: m for m in measures}, cells, (), round(goal.n), drawn)
    leading = "cka" if "cka" in table.measures else titles[0]
    return replace(table, advice=(*advice, *about_ties(table, leading)))


def _exact(table: Evaluation) -> Evaluation:
    """Return a table without errors as one whose errors are 0."""
    cells = {
        key: cell
        if cell.value is None
        else replace(cell, error=0.0, folds=np.array([cell.value, cell.value]))
        for key, cell in table.cells.items()
    }
    remark = Advice("exact", f"All pairs of the {table.n:,} samples were looked at.")
    return replace(table, cells=cells, advice=(*table.advice, remark))


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


def _check(
    tolerance: float, confidence: float, rows: int, max_draws: int, random_state: int
) -> None:
    """Raise before any work."""
    if not is_whole(random_state, 0):
        raise ValueError(
            f"Expected random_state to be a whole number >= 0, got {abridged(random_state)}. Use 0."
        )
    if not (is_number(confidence) and 0.0 < confidence < 1.0):
        raise ValueError(
            f"Expected a confidence between 0 and 1, got {abridged(confidence)}. Use 0.95."
        )
    if not (is_number(tolerance) and tolerance > 0.0):
        raise ValueError(f"Expected a tolerance > 0, got {abridged(tolerance)}. Use 0.005.")
    if not is_whole(rows, 64):
        raise ValueError(
            f"Expected rows to be a whole number >= 64, got {abridged(rows)}. Use 4096."
        )
    if not is_whole(max_draws, FIRST):
        raise ValueError(
            f"Expected max_draws to be a whole number >= {FIRST}, "
            f"got {abridged(max_draws)}. Use 256."
        )
