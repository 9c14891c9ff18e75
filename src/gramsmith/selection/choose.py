"""Choose: check, learn, measure, short-list, verify, order, average."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from gramsmith.arguments import counted
from gramsmith.evaluation.estimate import estimate
from gramsmith.evaluation.evaluate import evaluate
from gramsmith.evaluation.result import Advice, Cell, Evaluation
from gramsmith.gram.threads import dense_work
from gramsmith.measures import Measure, get_measure
from gramsmith.selection import plan as sizes
from gramsmith.selection.average import Average, average
from gramsmith.selection.candidates import Candidate
from gramsmith.selection.first_check import Check, check_by_halving
from gramsmith.selection.held_out import Scored, order_candidates, score
from gramsmith.selection.judge import Judged, judge
from gramsmith.selection.learn import learn_candidate
from gramsmith.selection.plan import Plan
from gramsmith.selection.problem import Problem
from gramsmith.selection.samples import Samples
from gramsmith.selection.task import Task
from gramsmith.selection.verify import verify
from gramsmith.selection.work import Work

Array = npt.NDArray[Any]

OF_ONE_OUTPUT = ("fsm",)  # measures that several outputs do not have
DEFAULT_MEASURES = ("cka", "cka_debiased", "kta", "fsm_loo", "csm", "fsm")
FOLDS = 5  # of the jackknife of measures: ten would take a thirtieth of the whole choice more
CODES = ("near-identity", "near-constant")  # remarks on measured kernels that are passed on
COPIES = 0.1  # share of rows that are copies of others from which it is said,
COPIED_LEVELS = 20  # if a column has so many different values
SHORT_LIST = 6  # candidates up to which all are cross-validated
MORE_FAMILIES = 3  # on the short list for the sake of the average


@dataclass(frozen=True)
class Findings:
    """What the steps have found; without the samples. Candidates go by their position."""

    task: Task
    plan: Plan
    candidates: tuple[Candidate, ...]  # with the learned ones
    checks: tuple[Check, ...]  # the first check of each
    measures: Evaluation  # of all candidates, with errors for the short list
    short: tuple[int, ...]  # the short list: those that were worth cross-validation
    results: dict[int, Scored]  # their held-out records, as far as there was time
    order: tuple[int, ...]  # all candidates from best to worst
    tied: frozenset[int]  # the best and those that cannot be told from it
    average: Average | None  # what is fitted instead of the best alone, if anything
    advice: tuple[Advice, ...]
    taught: Array  # the samples that taught a learned kernel among the chosen, if there is one
    late: float | None  # the time budget if it ran out
    skipped: tuple[str, ...] = ()  # what was left out because of Ctrl-C
    others: tuple[Judged, ...] = ()  # estimators that were compared with what is fitted

    @property
    def rival(self) -> Judged | None:
        """The best of the other estimators that are clearly better than the kernels, if any is."""
        better = [one for one in self.others if one.judgement == "better" and one.result]
        return min(better, key=lambda one: one.result.loss if one.result else 0.0, default=None)

    @property
    def chosen(self) -> dict[int, float]:
        """The candidates that are fitted, and their weights: the winner, or those averaged."""
        return {self.order[0]: 1.0} if self.average is None else self.average.weights

    @property
    def best(self) -> Candidate:
        """The winner."""
        return self.candidates[self.order[0]]

    @property
    def result(self) -> Scored | None:
        """The held-out record of what is fitted: of the average or of the winner."""
        return self.results.get(self.order[0]) if self.average is None else self.average.result


def choose(problem: Problem, work: Work, *, shown: bool = True) -> Findings:
    """Return everything up to the choice of the winner, or of those that are averaged.

    Where it is not shown, errors of measures and remarks are left out: nothing depends on them.
    """
    task, samples, plan = problem.task, problem.samples, problem.plan
    candidates = list(problem.candidates)
    with dense_work():  # all heavy steps have threads of their own
        rows = task.sample(plan.check_rows)
        with work.stage("check", 2 * len(candidates), counted(len(candidates), "kernel")) as stage:
            checks = check_by_halving(candidates, samples, task, rows, work, stage)
        learned = None
        if plan.learn and work.in_time(1.5 * work.seconds["check"]):  # learning takes about as long
            with work.stage("learn", 1, "feature weights"):
                learned = learn_candidate(candidates, checks, problem, rows, work)
        if learned is not None:
            candidates, checks = [*candidates, learned.candidate], [*checks, learned.check]
        with work.stage("measures", 101, f"{plan.measure_rows} rows") as stage:
            measures = [
                m for m in defined(problem.measures, task) if shown or not m.favours_identity
            ]
            table = measure(candidates, problem, work, measures, reach=stage.reach)
            short = short_list(candidates, checks, favourites(table))
            advice: list[Advice] = []
            if shown:
                group = [candidates[i] for i in short]
                detailed = table
                if table.draws is None:
                    detailed = measure(group, problem, work, measures, folds=FOLDS)
                    table = replace(table, cells=table.cells | detailed.cells)
                names = {c.name for c in group}
                known = [a for a in detailed.advice if a.code in CODES and a.kernel in names]
                advice = [*about_copies(samples, task), *known]
        with work.stage("cross-validation", len(short) + 1, counted(len(short), "kernel")) as stage:
            group = [candidates[i] for i in short]
            records = verify(group, [checks[i].alpha for i in short], problem, learned, work, stage)
            results = {
                i: score(record, task)
                for i, record in zip(short, records, strict=True)
                if record is not None
            }
        order, tied = order_candidates(checks, results, task)
        averaged = None
        if plan.average and results:
            averaged = average(results, task, order[0])
        if averaged is not None and not work.in_time((len(averaged.weights) - 1) * work.reserve):
            averaged = None
        fitted = order[:1] if averaged is None else averaged.members
        taught = np.empty(0, dtype=int)
        if learned is not None and learned.candidate in [candidates[i] for i in fitted]:
            taught = learned.taught
        best = results.get(order[0]) if averaged is None else averaged.result
        others = judge(problem, best, work)
        return Findings(
            task=task,
            plan=plan,
            candidates=tuple(candidates),
            checks=tuple(checks),
            measures=table,
            short=tuple(short),
            results=results,
            order=tuple(order),
            tied=frozenset(tied),
            average=averaged,
            advice=tuple(advice),
            taught=taught,
            late=work.time_budget if work.late else None,
            others=others,
        )


def about_copies(samples: Samples, task: Task) -> list[Advice]:
    """Return a remark if rows are given several times over, and nobody says which belong together.

    Tables of few different values have equal rows by nature.
    """
    copied, looked_at = count_copies(samples, task)
    if not task.exchangeable or copied is None or copied < COPIES * looked_at:
        return []
    rows = task.sample(sizes.CHECK_ROWS, salt=7)
    columns = (*samples.views[0][rows].T, *task.y.reshape(task.n, -1)[rows].T)
    if max(len(np.unique(column)) for column in columns) < COPIED_LEVELS:
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


def favourites(table: Evaluation) -> dict[str, str]:
    """Return the candidate each measure prefers, but of those that prefer the identity."""
    return {
        name: table.best(name)
        for name, m in table.measures.items()
        if not m.favours_identity and np.isfinite(table.scores(name)).any()
    }


def measure(
    candidates: Sequence[Candidate],
    problem: Problem,
    work: Work,
    measures: Sequence[Measure],
    folds: int = 0,
    reach: Callable[[int], None] = lambda percent: None,
) -> Evaluation:
    """Return what measures say of candidates, with jackknife errors if there are folds.

    Without folds, those of many rows are estimates for all of them, as far as there is time: from
    random draws, which tell the errors.
    """
    task, plan, cells = problem.task, problem.plan, {}
    views, y, w = problem.samples.of(candidates), task.measured, task.w
    if not measures:
        return Evaluation(dict(zip(views.names, views.kernels, strict=True)), {}, {}, (), task.n)
    options: dict[str, Any] = {
        "measures": measures,
        "task": task.measured_as,
        "engine": work.sweeps,
        "random_state": task.seed,
    }
    if plan.draws and not folds and work.in_time(0.2 + 0.05 * len(candidates)):
        if plan.max_samples is not None and plan.max_samples < task.n:
            rows = task.sample(plan.max_samples, salt=2)
            views, y, w = views.take(rows), y[rows], task.weight_of(rows)
        options["rows"] = plan.draws
        options["pairs"] = 8.0 * plan.draws**2  # 16 draws: nothing is decided by the last digit
        options["progress"] = lambda done, total: reach(round(100 * done / total))
        table = estimate(views, None, y, sample_weight=w, **options)
    else:
        size = min(plan.measure_rows, sizes.MEASURE_ROWS) if work.in_time() else sizes.FEW_ROWS
        rows = task.sample(size, salt=2)
        independent = task.groups is None and task.periods is None
        table = evaluate(
            views.take(rows),
            None,
            y[rows],
            sample_weight=task.weight_of(rows),
            groups=None if independent else task.clusters(rows),
            folds=folds,
            **options,
        )
    for key, cell in table.cells.items():
        known = cell.value is not None and np.isfinite(cell.value)
        cells[key] = cell if known else Cell(None)
    return replace(table, cells=cells)


def defined(measures: Sequence[str | Measure] | None, task: Task) -> list[Measure]:
    """Return the measures, by default the usual ones, that are defined for such targets."""
    chosen = [get_measure(m) for m in (DEFAULT_MEASURES if measures is None else measures)]
    of_one = OF_ONE_OUTPUT if task.names and task.classes is None else ()
    return [m for m in chosen if task.target_kind in m.kinds and m.name not in of_one]


def short_list(
    candidates: Sequence[Candidate], checks: Sequence[Check], favourites: dict[str, str]
) -> list[int]:
    """Return candidates worth cross-validation: favourites of the measures and of the check.

    Of a few candidates, all.
    """
    if len(candidates) <= SHORT_LIST:
        return list(range(len(candidates)))
    most = max(check.rows for check in checks)
    squared, loss = (
        np.array([getattr(c, name) if c.rows == most else np.inf for c in checks])
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
    chosen += sorted(firsts, key=lambda i: squared[i])[:MORE_FAMILIES]
    # learned kernels have shown a gain on samples that taught nothing
    chosen += [i for i, c in enumerate(candidates) if c.family == "learned"]
    return list(dict.fromkeys(chosen))
