"""The steps of a selection: check, learn, measure, short-list, cross-validate, order."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from gramsmith.arguments import counted
from gramsmith.evaluation.advice import about_kernel
from gramsmith.evaluation.errors import (
    SCREENING_FOLDS,
    jackknife,
    left_out_values,
    values_of,
)
from gramsmith.evaluation.estimate import estimate
from gramsmith.evaluation.result import Advice, Cell, Evaluation
from gramsmith.gram import Gram, Threads
from gramsmith.gram.threads import dense_work
from gramsmith.kernels import Gaussian, LinearMap, Precomputed
from gramsmith.measures import Measure, get_measure
from gramsmith.measures.alignment import ConstantKernelWarning
from gramsmith.moments import Moments
from gramsmith.selection import machines, sizes
from gramsmith.selection.candidates import CLIMB, Candidate, climbs, learn_weights, narrower
from gramsmith.selection.ensemble import Average, average
from gramsmith.selection.first_check import (
    STEPS,
    Check,
    check_by_halving,
    check_candidates,
    left_out,
    on_all_rows,
)
from gramsmith.selection.held_out import HeldOut, Scored, Splits, score
from gramsmith.selection.samples import Samples
from gramsmith.selection.task import Task
from gramsmith.selection.ties import order_candidates
from gramsmith.selection.work import Steps, Work
from gramsmith.targets import Target, make_target

Array = npt.NDArray[Any]

OF_ONE_OUTPUT = ("fsm",)  # measures that several outputs do not have
DEFAULT_MEASURES = ("cka", "cka_debiased", "kta", "fsm_loo", "csm", "fsm")


@dataclass(frozen=True)
class Findings:
    """What the steps have found; without the samples. Candidates go by their position."""

    task: Task
    candidates: tuple[Candidate, ...]  # with the learned ones
    checks: tuple[Check, ...]  # the first check of each
    measures: Evaluation  # of all candidates, with errors for the short list
    favourites: dict[str, str]  # measure -> name of the candidate it prefers
    short: tuple[int, ...]  # the short list: those that were worth cross-validation
    results: dict[int, Scored]  # their held-out records, as far as there was time
    order: tuple[int, ...]  # all candidates from best to worst
    tied: frozenset[int]  # the best and those that cannot be told from it
    average: Average | None  # what is fitted instead of the best alone, if anything
    advice: tuple[Advice, ...]
    on_landmarks: bool  # whether cross-validation compared machines on landmarks
    n_features: int | None
    max_samples: int | None
    late: float | None  # the time budget if it ran out
    interrupted: str = ""  # the stage in which Ctrl-C was pressed,
    left_out: tuple[str, ...] = ()  # and what was left out because of it

    @property
    def chosen(self) -> tuple[int, ...]:
        """The candidates that are fitted: the winner, or those that are averaged."""
        return self.order[:1] if self.average is None else self.average.members

    @property
    def best(self) -> Candidate:
        """The winner."""
        return self.candidates[self.order[0]]


def run_steps(
    candidates: Sequence[Candidate],
    samples: Samples,
    task: Task,
    work: Work,
    *,
    learn: bool = True,
    measures: Sequence[str | Measure] | None = None,
    machine: Any = None,
    ensemble: bool = True,
) -> Findings:
    """Do everything up to the choice of the winner, or of those that are averaged.

    `learn` says whether to learn feature weights for further candidates. A machine of the user's
    is cross-validated instead of those that `rank_kernels` chooses from.
    """
    with dense_work():  # all heavy steps have threads of their own
        begun = work.spent()
        checks = check(candidates, samples, task, work)
        learned, checking = None, work.spent() - begun
        work.pace = max(work.pace, checking / sizes.check_seconds(task.n, len(candidates)))
        lesson = 1.5 * checking  # learning takes about as long
        if learn and work.in_time(lesson):
            begun = work.spent()
            learned = learn_candidate(candidates, checks, samples, task, work)
            lesson = work.spent() - begun
            work.note("learn")
        if learned is not None:
            candidates, checks = [*candidates, learned.candidate], [*checks, learned.check]
        measured = measure(candidates, samples, task, work, measures)
        liked = favourites(measured.table())
        short = short_list(candidates, checks, liked)
        names = [candidates[i].name for i in short]
        on_landmarks = machine is None and sizes.use_landmarks(
            task.n, [candidates[i].kernel for i in short]
        )
        if on_landmarks:
            results = compare_landmarks(short, candidates, samples, task, work, learned)
        else:
            results = cross_validate(
                short, candidates, checks, samples, task, work, machine, learned, lesson
            )
        order, tied = order_candidates(checks, results, task)
        averaged = None
        compared = [candidates[i] for i in results]
        if ensemble and machine is None and compared and may_average(compared, task.n):
            averaged = average(results, task, order[0])
        if averaged is not None:
            extra = (len(averaged.weights) - 1) * work.pace
            if not work.in_time(extra * sizes.fit_seconds(task.n, task.classes is not None)):
                averaged = None
                work.leave_out("the average of several kernels")
        return Findings(
            task=task,
            candidates=tuple(candidates),
            checks=tuple(checks),
            measures=measured.table(names),
            favourites=liked,
            short=tuple(short),
            results=results,
            order=tuple(order),
            tied=frozenset(tied),
            average=averaged,
            advice=(*about_copies(samples, task), *about_classes(task), *measured.advice(names)),
            on_landmarks=on_landmarks,
            n_features=samples.n_features,
            max_samples=work.max_samples,
            late=work.time_budget if work.late else None,
        )


def may_average(candidates: Sequence[Candidate], n: int) -> bool:
    """Return whether candidates may be averaged: not of very many rows, nor with matrices."""
    matrices = any(isinstance(c.kernel, Precomputed) for c in candidates)
    return n <= sizes.AVERAGE_ROWS and not matrices


def about_copies(samples: Samples, task: Task) -> list[Advice]:
    """Return a remark if rows are given several times over, and nobody says which belong together.

    Tables of few different values have equal rows by nature.
    """
    copied, looked_at = count_copies(samples, task)
    if not task.exchangeable or copied is None or copied < sizes.COPIES * looked_at:
        return []
    rows = task.sample(sizes.CHECK_ROWS, salt=7)
    columns = (*samples.views[0][rows].T, *task.columns[rows].T)
    if max(len(np.unique(column)) for column in columns) < sizes.COPIED_LEVELS:
        return []
    copies = copied / looked_at
    return [
        Advice(
            "copies",
            f"{copies:.0%} of the rows are exact copies of others, target included: copies in "
            "training make the held-out scores too good. Drop them, or keep them together: give "
            "equal rows the same group.",
        )
    ]


def count_copies(samples: Samples, task: Task) -> tuple[int | None, int]:
    """Return how many rows repeat another, target included, and among how many; None of objects."""
    X = samples.views[0]
    rows = task.sample(sizes.CHECK_ROWS, salt=7)
    if not isinstance(X, np.ndarray) or X.ndim != 2:
        return None, len(rows)
    table = np.column_stack([X[rows], task.y[rows]]) + 0.0  # no two zeros of different sign
    return len(rows) - len({row.tobytes() for row in table}), len(rows)


def about_classes(task: Task) -> list[Advice]:
    """Return a remark if classes are uneven, and nothing was asked for that takes care of it."""
    if task.classes is None or task.names:
        return []
    if not task.default_score or task.class_weight is not None:
        return []
    counts = np.bincount(task.y[task.counting].astype(int), minlength=len(task.classes))
    if 9 * counts.min() >= counts.max():
        return []
    return [
        Advice(
            "imbalanced",
            f"The smallest class has {counts.min() / counts.sum():.1%} of the samples, and the "
            'accuracy hardly counts it. scoring="balanced_accuracy" counts all classes alike, '
            'class_weight="balanced" also lets them weigh alike in training.',
        )
    ]


def check(candidates: Sequence[Candidate], samples: Samples, task: Task, work: Work) -> list[Check]:
    """Return the first check of all candidates."""
    kept = work.recall("check")
    if kept is not None and len(kept) == len(candidates):
        checks = [Check(**item) for item in kept]
    else:
        rows = work.rows(task, sizes.CHECK_ROWS)
        checks = check_by_halving(candidates, samples, task, rows=rows, work=work)
        work.keep("check", [item.to_plain() for item in checks])
    work.report("check", 1, 1, counted(len(candidates), "kernel"))
    return checks


@dataclass(frozen=True)
class Learned:
    """A Gaussian of learned feature weights, and how it came about."""

    candidate: Candidate
    check: Check  # on samples that taught nothing
    taught: Array  # the samples that taught the weights
    source: Candidate  # the Gaussian from which the weights were learned
    middle: Candidate  # another, near the median distance: wide kernels hide interactions

    def to_plain(self) -> dict[str, Any]:
        """Return name, weights, check and teachers as plain values."""
        return {
            "name": self.candidate.name,
            "weights": self.candidate.kernel.map.S.tolist(),
            "check": self.check.to_plain(),
            "taught": self.taught.tolist(),
        }

    @classmethod
    def from_plain(cls, kept: dict[str, Any], source: Candidate, middle: Candidate) -> Learned:
        """Return what `to_plain` was made from."""
        kernel = Gaussian.from_gamma(1.0) @ LinearMap(np.array(kept["weights"]))
        candidate = Candidate(kept["name"], kernel, "learned", None, source.view)
        return cls(candidate, Check(**kept["check"]), np.array(kept["taught"]), source, middle)


def learn_candidate(
    candidates: Sequence[Candidate],
    checks: Sequence[Check],
    samples: Samples,
    task: Task,
    work: Work,
) -> Learned | None:
    """Return a Gaussian of feature weights learned from all rows, if it is worth a place."""
    full = on_all_rows(checks)
    gaussians = [i for i, c in enumerate(candidates) if type(c.kernel) is Gaussian and full[i]]
    if not gaussians:
        return None
    source = candidates[min(gaussians, key=lambda i: checks[i].squared)]
    X = samples.views[source.view]
    if not isinstance(X, np.ndarray) or not 2 <= X.shape[1] <= 300:
        return None
    splitter = task.cv is not None and not isinstance(task.cv, int)
    if splitter and task.n > sizes.EXACT_ROWS:
        return None  # too many rows to learn in each of the user's folds
    path = [candidates[i] for i in gaussians if candidates[i].view == source.view]
    middle = min(path, key=lambda c: abs((c.step or 0.0) - 1.0))
    rows = work.rows(task, sizes.CHECK_ROWS)
    told = work.counting("learn", lesson_steps(task), "feature weights")
    return learn_from(source, middle, samples, task, rows, work, "learned", told)


def lesson_steps(task: Task) -> int:
    """Return how many steps learning takes at most.

    Those of the climbs, then checks of three shapes of each, of their source and of other widths.
    """
    return climbs(task.n) * (CLIMB + 1 + 3) + 6


def learn_from(
    source: Candidate,
    middle: Candidate,
    samples: Samples,
    task: Task,
    rows: Array,
    work: Work,
    key: str,
    told: Callable[[int], None],
) -> Learned | None:
    """Return a Gaussian of feature weights learned from some rows and from no others.

    A part of the rows, whole groups, teaches the weights; the others choose shape and width, and
    say whether anything was gained. None if nothing was, or if rows are too few to tell. An earlier
    run may have left it under a key. `told` is called with 1 after every step.
    """
    kept = work.recall(key)
    if kept is None:
        learned = _learn_from(source, middle, samples, task, rows, work, told)
        work.interrupts.check()  # a learner that is interrupted keeps the best so far
        work.keep(key, {} if learned is None else learned.to_plain())
        return learned
    return Learned.from_plain(kept, source, middle) if kept else None


def _learn_from(
    source: Candidate,
    middle: Candidate,
    samples: Samples,
    task: Task,
    rows: Array,
    work: Work,
    told: Callable[[int], None],
) -> Learned | None:
    size = 1000 if task.n <= sizes.LEARN_LONGER_ROWS else 2000
    plain = replace(task, cv=None).of_rows(rows)
    taught = rows[plain.sample(min(max(len(rows) * 3 // 5, 30), size), salt=4)]
    names = np.arange(task.n) if task.groups is None else task.groups
    fresh = ~np.isin(names[rows], names[taught])
    if np.count_nonzero(fresh) < sizes.FRESH_ROWS:
        return None
    shapes = learn_weights(source, middle, samples.views[source.view], task, taught, told)
    if not shapes:
        return None

    def check_learned(group: list[Candidate]) -> list[Check]:
        return check_candidates(
            group,
            samples,
            task,
            rows=rows,
            fresh=fresh,
            engine=work.sweeps,
            told=lambda *_: told(1),
        )

    try:
        before, *first = check_learned([source, *shapes])
    except ValueError:  # a splitter of the user has no folds within these rows
        return None
    # the widths of the better shapes: alignment prefers wide kernels
    leaders = sorted(range(len(shapes)), key=lambda k: first[k].squared)[:2]
    factors = (2.0, 4.0) if task.n > sizes.LEARN_TWICE_ROWS else (2.0,)
    others = [narrower(shapes[k], factor) for k in leaders for factor in factors]
    found = zip([*shapes, *others], [*first, *check_learned(others)], strict=True)
    kernel, check = min(found, key=lambda pair: pair[1].squared)
    if check.squared >= before.squared:
        return None
    return Learned(kernel, check, taught, source, middle)


def favourites(table: Evaluation) -> dict[str, str]:
    """Return the candidate each measure prefers, but of those that prefer the identity."""
    return {
        name: table.best(name)
        for name, m in table.measures.items()
        if not m.favours_identity and np.isfinite(table.scores(name)).any()
    }


@dataclass(frozen=True)
class Estimated:
    """The measures of all rows, estimated from random draws of them."""

    evaluation: Evaluation

    def table(self, with_errors: Sequence[str] = ()) -> Evaluation:
        """Return the measures; all of them have errors."""
        return self.evaluation

    def advice(self, names: Sequence[str]) -> list[Advice]:
        """Return remarks on the target and on some candidates."""
        told = ("imbalanced", "near-identity", "near-constant")
        return [a for a in self.evaluation.advice if a.code in told and a.kernel in (None, *names)]


@dataclass(frozen=True)
class Measured:
    """The sums of one sweep over all candidates, from which every measure is computed."""

    candidates: Sequence[Candidate]
    measures: Sequence[Measure]
    target: Target
    moments: Moments

    def table(self, with_errors: Sequence[str] = ()) -> Evaluation:
        """Return the measures, with jackknife errors for the candidates of some names."""
        places = [k for k, c in enumerate(self.candidates) if c.name in with_errors]
        with warnings.catch_warnings():
            # a constant kernel is mentioned in the advice, once and by name
            warnings.simplefilter("ignore", ConstantKernelWarning)
            values = values_of(self.moments, self.target, self.measures)
            if places:
                left = left_out_values(self.moments.of(*places), self.target, self.measures)
        cells = {}
        for k, c in enumerate(self.candidates):
            for i, m in enumerate(self.measures):
                value = values[k][i]
                cell = Cell(None if value is None or not np.isfinite(value) else value)
                if k in places:
                    folds = left[:, places.index(k), i]
                    folds = np.where(np.isfinite(folds), folds, np.nan)
                    cell = replace(cell, error=jackknife(folds), folds=folds)
                cells[c.name, m.name] = cell
        kernels = {c.name: c.kernel for c in self.candidates}
        measures = {m.name: m for m in self.measures}
        return Evaluation(kernels, measures, cells, (), len(self.target.w))

    def advice(self, names: Sequence[str]) -> list[Advice]:
        """Return remarks on some candidates."""
        found: list[Advice] = []
        for k, c in enumerate(self.candidates):
            if c.name in names:
                found += about_kernel(c.name, self.moments.of(k), self.target, c.kernel)
        return found


def measure(
    candidates: Sequence[Candidate],
    samples: Samples,
    task: Task,
    work: Work,
    measures: Sequence[str | Measure] | None = None,
) -> Measured | Estimated:
    """Return what one sweep over a sample of the rows says of all candidates.

    Measures that are not defined for the task are left out. Those of many rows are estimates for
    all of them, as far as there is time.
    """
    chosen = defined(measures, task)
    seconds = work.pace * sizes.measure_seconds(candidates)
    if task.n > sizes.EXACT_ROWS and chosen and work.in_time(seconds):
        return estimate_measures(candidates, samples, task, work, chosen)
    rows = work.rows(task, sizes.MEASURE_ROWS if work.in_time() else sizes.FEW_ROWS, salt=2)
    fold = np.empty(len(rows), dtype=int)
    plain = replace(task, cv=None)
    for number, (_, test) in enumerate(plain.splits(rows, SCREENING_FOLDS)):
        fold[test] = number
    order = np.argsort(fold, kind="stable")
    rows, fold = rows[order], fold[order]
    w = None if task.w is None else task.w[rows]
    target = make_target(task.y[rows], task=task.measured_as, sample_weight=w)
    told = work.counting("measures", 101, f"{len(rows)} rows")

    def swept(done: int, total: int) -> None:
        told.reach(100 * done // total)

    G = Gram(samples.of(candidates).take(rows), engine=work.sweeps, progress=swept)
    moments = G.moments(target, fold=fold, cross=False)
    told.end()
    return Measured(candidates, chosen, target, moments)


def defined(measures: Sequence[str | Measure] | None, task: Task) -> list[Measure]:
    """Return the measures, by default the usual ones, that are defined for such targets."""
    chosen = [get_measure(m) for m in (DEFAULT_MEASURES if measures is None else measures)]
    of_one = OF_ONE_OUTPUT if task.names and task.classes is None else ()
    return [m for m in chosen if task.target_kind in m.kinds and m.name not in of_one]


def estimate_measures(
    candidates: Sequence[Candidate],
    samples: Samples,
    task: Task,
    work: Work,
    measures: Sequence[Measure],
) -> Estimated:
    """Return what random draws of the rows say of all candidates on all rows."""
    views, y, w = samples.of(candidates), task.y, task.w
    if work.max_samples is not None and work.max_samples < task.n:
        rows = work.rows(task, work.max_samples, salt=2)
        views, y, w = views.take(rows), y[rows], None if w is None else w[rows]
    size = sizes.drawn_rows(candidates)
    work.report("measures", 0, 1, counted(len(candidates), "kernel"))

    def told(done: float, total: int) -> None:
        work.report("measures", round(100 * done), 100 * total, f"{total} draws of {size} rows")

    table = estimate(
        views,
        None,
        y,
        measures,
        rows=size,
        pairs=8.0 * size**2,  # 16 draws: nothing is decided by the last digit
        task=task.measured_as,
        sample_weight=w,
        engine=work.sweeps,
        random_state=task.seed,
        progress=told,
    )
    cells = {
        key: cell if cell.value is not None and np.isfinite(cell.value) else Cell(None)
        for key, cell in table.cells.items()
    }
    return Estimated(replace(table, cells=cells))


def short_list(
    candidates: Sequence[Candidate], checks: Sequence[Check], favourites: dict[str, str]
) -> list[int]:
    """Return candidates worth cross-validation: favourites of the measures and of the check.

    Of a few candidates, all.
    """
    if len(candidates) <= sizes.SHORT_LIST:
        return list(range(len(candidates)))
    full = on_all_rows(checks)
    squared, loss = (
        np.array([getattr(c, name) if full[i] else np.inf for i, c in enumerate(checks)])
        for name in ("squared", "loss")
    )
    by_square = np.argsort(squared, kind="stable")
    by_loss = np.lexsort((squared, loss))
    chosen = [int(i) for i in (*by_square[:2], *by_loss[:2])]
    # no favourite that the check, which sees all the data, finds clearly worse
    best = by_loss[0]
    allowance = loss[best] + 2.0 * checks[best].error
    place = {c.name: i for i, c in enumerate(candidates)}
    liked = sorted({place[name] for name in favourites.values()}, key=lambda i: squared[i])
    chosen += [i for i in liked if loss[i] <= allowance and i not in chosen][:2]
    # a third leader where favourites and leaders are the same
    chosen += [int(by_square[2])] if len(by_square) > 2 and len(set(chosen)) < 4 else []
    # for the average, the best of each other family
    families: dict[tuple[str, int], list[int]] = {}
    for i, c in enumerate(candidates):
        if loss[i] <= allowance:
            families.setdefault((c.family, c.view), []).append(i)
    firsts = [min(members, key=lambda i: squared[i]) for members in families.values()]
    firsts = [i for i in firsts if i not in chosen]
    chosen += sorted(firsts, key=lambda i: squared[i])[: sizes.MORE_FAMILIES]
    # learned kernels have shown a gain on samples that taught nothing
    chosen += [i for i, c in enumerate(candidates) if c.family == "learned"]
    return list(dict.fromkeys(chosen))


def compare_landmarks(
    short: Sequence[int],
    candidates: Sequence[Candidate],
    samples: Samples,
    task: Task,
    work: Work,
    learned: Learned | None,
) -> dict[int, Scored]:
    """Return the records of ridge machines on landmarks, which large sets use.

    One sample is left out at a time, or a fold where there are groups. Samples that taught a
    learned kernel, and their groups, are not tested, whatever the kernel.
    """
    group = [candidates[i] for i in short]
    found = {k: work.recall(f"held-out/{c.name}") for k, c in enumerate(group)}
    records = {k: HeldOut.from_plain(item) for k, item in found.items() if item is not None}
    if len(records) < len(group):
        rows = work.rows(task, sizes.LANDMARK_ROWS, salt=3)
        fresh = None
        if learned is not None and learned.candidate in group:
            names = np.arange(task.n) if task.groups is None else task.groups
            fresh = ~np.isin(names[rows], names[learned.taught])

        steps = STEPS * len(group)
        stepped = work.counting(
            "cross-validation", steps, counted(len(group), "kernel") + " on landmarks"
        )
        stepped(STEPS * len(records))

        def told(k: int, _: Check, record: HeldOut) -> None:
            records[k] = record
            work.keep(f"held-out/{group[k].name}", record.to_plain())
            stepped(1 if here else STEPS)

        here = isinstance(work.sweeps, Threads)  # elsewhere nobody can be told
        compare = partial(
            left_out,
            group,
            samples,
            task,
            rows=rows,
            landmarks=sizes.LANDMARKS,
            fresh=fresh,
            engine=work.sweeps,
            attempt=work.attempts(work.pace * sizes.landmark_seconds(len(rows))),
            known=tuple(records),
            told=told,
            **({"stepped": partial(stepped, 1)} if here else {}),
        )
        work.unless_interrupted("", compare)
    _tell_missing(len(group) - len(records), len(group), work)
    work.report(
        "cross-validation", len(group), len(group), counted(len(group), "kernel") + " on landmarks"
    )
    return {i: score(records[k], task) for k, i in enumerate(short) if k in records}


def _tell_missing(missing: int, of: int, work: Work) -> None:
    """Take note of kernels that were not verified because of Ctrl-C; of all, raise it."""
    if not work.interrupts.asked or work.inner:
        return
    if missing == of:
        raise KeyboardInterrupt
    if missing:
        work.leave_out(f"the cross-validation of {missing} of the {of} kernels of the short list")


def cross_validate(
    short: Sequence[int],
    candidates: Sequence[Candidate],
    checks: Sequence[Check],
    samples: Samples,
    task: Task,
    work: Work,
    machine: Any = None,
    learned: Learned | None = None,
    lesson: float = 0.0,
) -> dict[int, Scored]:
    """Return the cross-validation of the short list, as far as there is time.

    A learned kernel is learned anew in every fold, from the training rows of the fold, which takes
    about `lesson` seconds.
    """
    group = [candidates[i] for i in short]
    names = [candidate.name for candidate in group]
    rows = work.rows(task, sizes.CROSS_VALIDATION_ROWS, salt=3)
    splits = task.splits(rows, 5)
    kept = _recalled(group, work)
    given = [k for k, c in enumerate(group) if learned is None or c is not learned.candidate]
    units = [checks[i].spread if machine is None else 1.0 for i in short]
    Ks: list[machines.Gram] = [[] for _ in group]
    # of a sample of the rows the others have taught the encoder too: what it could tell is little
    anew = [k for k in given if len(rows) == len(task.counting) and samples.learns(group[k])]
    once = [k for k in given if k not in anew]
    # after so many steps there are the matrices, the kernels that folds learn, the first machines
    made = len(once) + len(splits) * bool(anew)
    taught = made + len(splits) * lesson_steps(task) * (len(given) < len(group))
    fitted = taught + machines.fits_of(len(group), splits)
    end = fitted + machines.fits_of(1, splits) * (machine is None)
    told = work.counting("cross-validation", end + 1, counted(len(group), "kernel"))
    for place, K in samples.blocks([group[k] for k in once], rows, rows):
        k = once[place]
        Ks[k] = 0.5 * (K + K.T) / units[k]
        told(1)
    encoded = _encoded_blocks([group[k] for k in anew], samples, rows, splits, told)
    for place, folds in enumerate(encoded):
        k = anew[place]
        Ks[k] = [(block / units[k], cross / units[k]) for block, cross in folds]
    if learned is not None and len(given) < len(group) and work.in_time(len(splits) * lesson):
        [k] = set(range(len(group))) - set(given)
        Ks[k] = _learned_blocks(learned, samples, task, rows, splits, work, machine is None, told)
    told.reach(taught)
    if kept is not None:
        results: list[Scored | None] = [score(record, task) for record in kept]
    else:
        name, path, start = machines.first_machine(task, machine)
        middles = [checks[i].alpha if name == "ridge" else 1.0 for i in short]
        starts = [alpha * start for alpha in middles]
        results = machines.cross_validate(
            name, path, Ks, starts, task, rows, splits, names=names, work=work, told=told
        )
    _tell_missing(sum(r is None for r in results), len(group), work)
    if not (work.late or work.interrupts.asked):  # else there would have been more of them
        for candidate, result in zip(group, results, strict=True):
            if result is not None:
                work.keep(f"held-out/{candidate.name}", result.record.to_plain())
    told.reach(fitted)
    if machine is None:
        results = _try_support(results, names, Ks, task, rows, splits, work, told)
    told.end()
    return {i: r for i, r in zip(short, results, strict=True) if r is not None}


def _encoded_blocks(
    group: Sequence[Candidate],
    samples: Samples,
    rows: Array,
    splits: Splits,
    told: Callable[[int], None],
) -> list[list[tuple[Array, Array]]]:
    """Return (training, test) blocks of each kernel, whose rows each fold has encoded itself."""
    blocks: list[list[tuple[Array, Array]]] = [[] for _ in group]
    for train, test in splits if group else ():
        known = samples.learned_from(rows[train], group)
        both = rows[np.concatenate([train, test])]
        for place, K in known.blocks(group, both, rows[train]):
            blocks[place].append(_parted(K))
        told(1)
    return blocks


def _parted(K: Array) -> tuple[Array, Array]:
    """Return the training block, symmetric to the last bit, and the test block below it."""
    m = K.shape[1]
    return 0.5 * (K[:m] + K[:m].T), K[m:]


def _learned_blocks(
    learned: Learned,
    samples: Samples,
    task: Task,
    rows: Array,
    splits: Splits,
    work: Work,
    scaled: bool,
    told: Steps,
) -> list[tuple[Array, Array]]:
    """Return (training, test) blocks of the kernel that each fold learns; or of its source."""
    blocks, begun = [], told.done
    for fold, (train, test) in enumerate(splits):
        known = samples
        if len(rows) == len(task.counting):
            known = samples.learned_from(rows[train], [learned.source])
        key = f"learned/{fold}"
        found = learn_from(
            learned.source, learned.middle, known, task, rows[train], work, key, told
        )
        told.reach(begun + (fold + 1) * lesson_steps(task))
        kernel = learned.source if found is None else found.candidate
        [(_, K)] = known.blocks([kernel], rows[np.concatenate([train, test])], rows[train])
        block, cross = _parted(K)
        unit = max(float(np.diagonal(block).mean() - block.mean()), 1e-12) if scaled else 1.0
        blocks.append((block / unit, cross / unit))
    return blocks


def _recalled(group: Sequence[Candidate], work: Work) -> list[HeldOut] | None:
    """Return the records that an earlier run has left, if it has left all."""
    kept = [work.recall(f"held-out/{c.name}") for c in group]
    return None if None in kept else [HeldOut.from_plain(item) for item in kept]


def _try_support(
    results: list[Scored | None],
    names: Sequence[str],
    Ks: Sequence[machines.Gram],
    task: Task,
    rows: Array,
    splits: Splits,
    work: Work,
    told: Callable[[int], None],
) -> list[Scored | None]:
    """Let a support vector machine, which outliers disturb less, try the best kernel."""
    known = {k: result for k, result in enumerate(results) if result is not None}
    second = machines.second_machine(task)
    if not known or second is None:
        return results
    name, path, start = second
    best = min(known, key=lambda k: known[k].loss)
    [other] = machines.cross_validate(
        name,
        path,
        [Ks[best]],
        [start],
        task,
        rows,
        splits,
        names=[names[best]],
        work=work,
        told=told,
    )
    if other is None:
        work.leave_out("a support vector machine with the best kernel")
    better = other is not None and other.loss < known[best].loss
    return [other if better and k == best else result for k, result in enumerate(results)]
