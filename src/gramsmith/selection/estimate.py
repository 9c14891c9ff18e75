"""Estimates for new data: the score that is to be expected of the model that is handed over.

The best of many held-out scores is too good. Where it is affordable the whole choice is made anew
in outer folds; otherwise the bootstrap says by how much the best of the records is too good: choose
in a bag of samples, score on those outside it (Tsamardinos et al., 2018).
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from scipy.stats import t as student
from sklearn.pipeline import Pipeline

from gramsmith.machines.pipelines import TakeView
from gramsmith.selection.average import stacked, usable
from gramsmith.selection.choose import Findings, choose
from gramsmith.selection.fit import assemble, delivered_record, fit_machines
from gramsmith.selection.held_out import LEVEL, HeldOut, Scored
from gramsmith.selection.judge import fitted_answer, joined
from gramsmith.selection.problem import Problem
from gramsmith.selection.scores import Answers
from gramsmith.selection.task import Folds, NoFolds, Task, cluster_sums
from gramsmith.selection.work import Stage, Work

Array = npt.NDArray[Any]

BAGS = 400
SOME_BAGS = 100  # for averages, whose weights are found anew in each
COVERAGE = 0.95
NESTED = "nested cross-validation"
# Standard errors from the best loss to that of a setting that no bag may choose: what rules it out
# is often one wild prediction, which a third of the bags lack.
HOPELESS = 3.0


@dataclass(frozen=True)
class Estimate:
    """The score that is to be expected on new data.

    Parameters
    ----------
    value : float
        The score.
    low, high : float
        An interval of 95 %. Where a few rows decide a score, such as R² of a target with a long
        tail, it is wider, and still holds less often, see docs/theory/promises.rst. With
        `time_order` it is for the score of the next period, whose rows are no more than those of
        the periods that were predicted.
    error : float
        Standard error; with `time_order`, of the score of the next period.
    kind : str
        "nested cross-validation", "bootstrap" or "leave-one-out", the last if there was no time:
        nothing corrects it for the choice. "cross-validation" of an estimator that was not chosen.
    rows : int
        The number of samples behind it.
    baseline : float
        The score of the best constant answer.
    beats_baseline : bool
        Whether the value is better by a test of the difference.
    """

    value: float
    low: float
    high: float
    error: float
    kind: str
    rows: int
    baseline: float
    beats_baseline: bool

    def to_plain(self) -> dict[str, Any]:
        """Return the estimate as plain values."""
        return asdict(self)


@dataclass(frozen=True)
class Expected:
    """What to expect of the kernels, of each other estimator, and of the choice among all."""

    kernels: Estimate
    others: tuple[Estimate | None, ...] = ()  # None for those that failed or had no time
    overall: Estimate | None = None  # of the choice among all; None if there is nothing else
    record: HeldOut | None = None  # what the kernels of choices made anew said of their test rows


def expect(findings: Findings, delivered: Scored | None, problem: Problem, work: Work) -> Expected:
    """Return what to expect on new data, by the best method that is affordable."""
    task, plan = problem.task, problem.plan
    nothing = (None,) * len(findings.others)
    if delivered is None:
        check = findings.checks[findings.order[0]]
        constant, _ = task.constant(task.counting)
        base = task.loss(constant, task.counting)
        kind = "leave-one-out" if task.exchangeable else "cross-validation"
        first = _made(check.loss, check.error, base, kind, check.rows, float(check.rows), task)
        return Expected(first, nothing)
    if not findings.results:  # the winner of the first check, as it is delivered
        return Expected(
            of_record(delivered.answer, delivered.record, task, "leave-one-out"), nothing
        )
    estimate, folds = None, plan.outer_folds
    needed = folds * sum(work.seconds.values())
    if folds and can_nest(task, folds) and work.in_time(needed):
        stage = work.stage("estimate", folds + 1, f"{NESTED}, {folds} outer folds")
        with work.optional(f"{NESTED} for the estimate"), stage as steps:
            estimate = nested(problem, work, steps)
    if estimate is not None:
        return estimate
    with work.stage("estimate", 2, "bootstrap"):
        kernels = bootstrap(findings, delivered, task)
        return Expected(kernels, *of_others(findings, kernels, task))


def can_nest(task: Task, folds: int) -> bool:
    """Return whether the training rows of every outer fold leave folds to choose in."""
    rows = task.counting
    try:
        parts = [rows[train] for train, _ in task.plain_splits(rows, folds)]
        inner = [task.at(part).splits(np.arange(len(part)), folds) for part in parts]
    except NoFolds:
        return False
    classes = task.strata is None or all(len(np.unique(task.strata[part])) > 1 for part in parts)
    return classes and all(len(splits) > 1 for splits in inner)


def nested(problem: Problem, work: Work, stage: Stage) -> Expected | None:
    """Return the estimates from the whole choice made anew in outer folds; None out of time."""
    task = problem.task
    rows = task.counting
    splits = task.plain_splits(rows, problem.plan.outer_folds)
    said, leaders, values = [], [], []
    for number, (train, test) in enumerate(splits):
        key = f"outer/{number}"
        if key not in work.notes:
            inner = replace(work, progress=None, verbose=False, checkpoint=None, skipped=[])
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                made = _choose_anew(problem, rows[train], rows[test], inner)
            if inner.late:  # not the choice that is to be judged
                return None
            work.notes[key] = made
        kept = work.notes[key]
        said.append([None if plain is None else Answers(**plain) for plain in kept["answers"]])
        leaders.append(said[-1][kept["leader"]])
        values.append(np.asarray(kept["values"]))
        stage(1)
    kernels, *others = (_of_folds(parts, rows, splits, task) for parts in zip(*said, strict=True))
    overall = _of_folds(leaders, rows, splits, task) if others else None
    record = HeldOut.of_folds("", np.concatenate(values)[None], rows, splits, kind=NESTED)
    return Expected(cast("Estimate", kernels), tuple(others), overall, record)


def _of_folds(
    parts: Sequence[Answers | None], rows: Array, splits: Folds, task: Task
) -> Estimate | None:
    """Return the estimate from the answers of all outer folds; None if some are missing."""
    if any(part is None for part in parts):
        return None
    answers = joined(parts)
    return of_record(
        answers, HeldOut.of_folds("", answers.f[None], rows, splits, kind=NESTED), task
    )


def _choose_anew(problem: Problem, train: Array, test: Array, work: Work) -> dict[str, Any]:
    """Return what the choice made on some rows says of others, as plain values.

    "answers" are those of the kernels, then of each other estimator, "leader" which of them it
    prefers, "values" the decision values or predictions of the kernels, (m, q).
    """
    samples = problem.samples.learned_from(train)
    inner = problem.at(train, samples)
    findings = choose(inner, work, shown=False)
    machines = fit_machines(findings, inner, work)
    record = delivered_record(findings, machines, inner)
    # each machine has its own view of the test samples
    new = tuple(samples.test_view(findings.candidates[i], train, test) for i in findings.chosen)
    models = [
        Pipeline([("view", TakeView(k).fit(new)), ("model", machine)])
        for k, machine in enumerate(machines)
    ]
    model = assemble(findings, models, record, inner.task, problem.machine is not None)
    task = problem.task
    answers: list[Answers | None] = [task.answers_of(model, new)]
    values = task.decision_values(model, new)
    for one in findings.others:
        said: Any = ""
        if one.result:
            said, _ = fitted_answer(one.other, problem, train, test, samples)
        answers.append(None if isinstance(said, str) else said)
    rival = findings.rival
    leader = 0 if rival is None else 1 + findings.others.index(rival)
    return {
        "answers": [None if one is None else dict(vars(one)) for one in answers],
        "leader": 0 if answers[leader] is None else leader,
        "values": values,
    }


def bootstrap(findings: Findings, delivered: Scored, task: Task) -> Estimate:
    """Return the estimate for what was chosen: the loss of its record, and what choosing gained.

    Bags are drawn of groups where there are groups. Two gains add up: that of settings, kernels
    and weights chosen among the verified records, and that of the short list among all candidates,
    from the first checks of both.
    """
    rng = np.random.default_rng([task.seed, 9])
    results = list(findings.results.values())
    gain = _gain_of_average(findings, task, rng) if findings.average is not None else None
    if gain is None:
        pseudo = np.stack(
            [task.pseudo_losses(a, r.record.rows) for r in results for a in r.answers]
        )
        gain = _gain_of_choice(pseudo, rng)
    gain += _gain_of_short_list(findings, rng)
    return of_record(delivered.answer, delivered.record, task, "bootstrap", gain)


def of_others(
    findings: Findings, kernels: Estimate, task: Task
) -> tuple[tuple[Estimate | None, ...], Estimate | None]:
    """Return the estimates of other estimators, and of the choice among them and the kernels.

    Each was judged as it is: nothing in it was chosen. Of the best of all, what choosing gained is
    taken off.
    """
    rng = np.random.default_rng([task.seed, 10])
    others = tuple(
        None
        if one.result is None
        else of_record(one.result.answer, one.result.record, task, "cross-validation")
        for one in findings.others
    )
    overall, rival = kernels if others else None, findings.rival
    if rival is not None and rival.result is not None and findings.result is not None:
        records = [
            findings.result,
            *(one.result for one in findings.others if one.result is not None),
        ]
        rows = rival.result.record.rows
        pseudo = [
            task.pseudo_losses(r.answer, rows)
            for r in records
            if np.array_equal(r.record.rows, rows)
        ]
        gain = _gain_of_choice(np.stack(pseudo), rng)
        overall = of_record(rival.result.answer, rival.result.record, task, "bootstrap", gain)
    return others, overall


def _gain_of_choice(pseudo: Array, rng: Any) -> float:
    """Return by how much the best of several losses, (settings, clusters), is too low.

    The best of a bag has a loss outside it; the best of all rows has the loss it was chosen for.
    """
    G, mean = pseudo.shape[1], pseudo.mean(axis=1)
    error = pseudo[mean.argmin()].std() / np.sqrt(G)
    pseudo = pseudo[~(mean > mean.min() + HOPELESS * error)]
    bags = rng.multinomial(G, np.full(G, 1.0 / G), BAGS).astype(float)
    outside = bags == 0
    usable = outside.any(axis=1)
    inside, rest = bags[usable] @ pseudo.T, outside[usable] @ pseudo.T
    pick, best = inside.argmin(axis=1), int(pseudo.mean(axis=1).argmin())
    gap = rest[np.arange(len(pick)), pick] - rest[:, best]
    return float(np.mean(gap / outside[usable].sum(axis=1)))


def _gain_of_short_list(findings: Findings, rng: Any) -> float:
    """Return what the choice of the short list gained beyond the choice within it."""
    most = max(check.rows for check in findings.checks)
    checks = {
        i: check.pseudo
        for i, check in enumerate(findings.checks)
        # a learned kernel is checked on other rows
        if check.rows == most
        and check.pseudo is not None
        and findings.candidates[i].step is not None
    }
    sizes = {len(p) for p in checks.values()}
    short = [i for i in findings.short if i in checks]
    if len(sizes) != 1 or not short or len(short) == len(checks):
        return 0.0
    of_all, of_short = (
        _gain_of_choice(np.stack([checks[i] for i in which]), rng) for which in (checks, short)
    )
    return max(of_all - of_short, 0.0)


def _gain_of_average(findings: Findings, task: Task, rng: Any) -> float | None:
    """Return by how much the loss of an average is too low: settings and weights from a bag."""
    average = findings.average
    if average is None:
        return None
    record = average.result.record
    rows, cluster = record.rows, task.clusters(record.rows)
    used = [
        (r, np.flatnonzero(~(r.losses > r.loss + HOPELESS * r.error)))
        for r in usable(findings.results, findings.order[0]).values()
    ]
    G = int(cluster.max()) + 1
    by_sums = [[task.parts(r.answers[k], rows) for k in some] for r, some in used]
    summed = all(part is not None for parts in by_sums for part in parts)
    sums = [
        np.stack([cluster_sums(np.asarray(part), cluster) for part in parts])
        for parts in (by_sums if summed else ())
    ]
    gains = []
    for _ in range(SOME_BAGS if summed else SOME_BAGS // 4):
        counts = np.bincount(rng.integers(0, G, G), minlength=G)
        picks = [r.best for r, _ in used]
        if summed:
            totals = [np.tensordot(s, counts.astype(float), axes=(1, 0)) for s in sums]
            best = [int(np.nanargmin(task.loss_of(total))) for total in totals]
            picks = [some[k] for (_, some), k in zip(used, best, strict=True)]
        values = [r.record.values[k] for (r, _), k in zip(used, picks, strict=True)]
        inside = counts[cluster]
        weights = stacked(values, task, rows, inside)
        f = np.asarray(sum(w * v for w, v in zip(weights, values, strict=True)))
        rest = np.flatnonzero(inside == 0)
        if not len(rest):
            continue
        ours, theirs = (
            task.loss(a.at(rest), rows[rest])
            for a in (task.answers(f, rows, record.fold), average.result.answer)
        )
        gains.append(ours - theirs)
    finite = [gain for gain in gains if np.isfinite(gain)]
    return float(np.mean(finite)) if finite else 0.0


def of_record(
    answers: Answers, record: HeldOut, task: Task, kind: str = "", gain: float = 0.0
) -> Estimate:
    """Return what answers for rows that taught nothing say of a score, and of a constant answer.

    `gain` is by how much their loss is too low, because they were chosen for it.
    """
    rows, kind = record.rows, kind or record.kind
    constant, _ = task.constant(rows)
    base, loss = task.loss(constant, rows), task.loss(answers, rows) + max(gain, 0.0)
    clusters = len(np.unique(task.clusters(rows)))
    _, spread = task.difference(answers, constant, rows)
    spread *= np.sqrt(record.overlap)
    beats = bool(
        base > loss
        and np.isfinite(spread)
        and base - loss > student.isf(LEVEL, max(clusters - 1, 1)) * spread
    )
    if task.periods is not None:
        error, trials = next_period(answers, record, task)
        return _made(loss, error, base, kind, len(np.unique(rows)), trials, task, beats)
    error = task.error(answers, rows)
    loss_of_rows, plain = task.difference(answers, None, rows)
    share = -loss_of_rows
    if task.score.range == (0.0, 1.0):
        # as many independent trials as would have the same error
        trials = (
            share * (1.0 - share) / plain**2
            if 0.0 < plain < np.inf
            else 1.0 / max(cost_of_a_mistake(answers, rows, task), 1.0 / clusters)
        )
    else:
        trials = 1.0 + degrees_of_freedom(task.pseudo_losses(answers, rows))
    trials = min(max(trials, 1.0), float(clusters))
    return _made(loss, error, base, kind, len(np.unique(rows)), trials, task, beats)


def cost_of_a_mistake(answers: Answers, rows: Array, task: Task) -> float:
    """Return what the score loses at most if one answer for a sample of any class is turned round.

    Without mistakes a score rests on so many answers: precision on those that say yes.
    """
    classes = np.zeros(len(rows), dtype=int) if task.strata is None else task.strata[rows]
    cost, loss = 0.0, task.loss(answers, rows)
    for place in np.unique(classes, return_index=True)[1]:
        turned = answers.f.copy()
        turned[place] *= -1e6  # wrong, and surer of it than all others: scores of ranks mind
        cost = max(cost, task.loss(replace(answers, f=turned), rows) - loss)
    return cost


def _made(
    loss: float,
    error: float,
    base: float,
    kind: str,
    rows: int,
    trials: float,
    task: Task,
    beats: bool = False,
) -> Estimate:
    """Return an estimate with its interval, within what the score can be.

    Near 0 and 1 the interval of the normal distribution is too short on one side: shares have
    Wilson's, of so many independent trials.
    """
    value = -loss
    z = float(student.isf(0.5 * (1.0 - COVERAGE), max(trials - 1.0, 1.0)))
    low, high = value - z * error, value + z * error
    least, most = task.score.range
    if (least, most) == (0.0, 1.0) and np.isfinite(error) and task.periods is None:
        low, high = wilson(min(max(value, 0.0), 1.0), trials, z)
    low, high = float(max(low, least)), float(min(high, most))
    return Estimate(value, low, high, error, kind, rows, -base, beats)


def next_period(answers: Answers, record: HeldOut, task: Task) -> tuple[float, float]:
    """Return the standard error of the loss of the next period, and how many values tell it.

    A period is as long as those of the record: its own scatter is added to that of their mean. The
    scatter is that of blocks of consecutive rows, or of whole periods where that is larger: rows
    near in time are alike, and what is to be found may change. Right and wrong answers scatter at
    least as much as independent ones.
    """
    rows = record.rows
    pseudo, block = task.pseudo_losses(answers, rows), task.clusters(rows)
    period = np.unique(record.fold, return_inverse=True)[1]
    K, B = int(period.max()) + 1, len(pseudo)
    if B != int(block.max()) + 1:  # scores that are no sums are computed without other blocks
        block = np.minimum(np.arange(len(rows)) * B // len(rows), B - 1)
    of_block = np.zeros(B, dtype=int)
    of_block[block] = period
    share = np.bincount(block, minlength=B) / len(rows)
    squares = {B: pseudo.var(ddof=1) * (1.0 / B + K / B)} if B > 1 else {}
    if K > 2:
        sizes = np.bincount(of_block, share, K)
        means = np.bincount(of_block, share * pseudo, K)[sizes > 0] / sizes[sizes > 0]
        if len(means) > 2:
            squares[len(means)] = means.var(ddof=1) * (1.0 + 1.0 / len(means))
    if task.score.is_share:
        right = min(max(1.0 + task.loss(answers, rows), 0.0), 1.0)
        p = (right * len(rows) + 0.5) / (len(rows) + 1.0)
        squares[len(rows)] = p * (1.0 - p) * (1.0 + K) / len(rows)
    if not squares:
        return float("inf"), 2.0
    count = max(squares, key=lambda m: student.isf(0.025, m - 1) ** 2 * squares[m])
    return float(np.sqrt(squares[count])), float(count)


def degrees_of_freedom(pseudo: Array) -> float:
    """Return of how many samples the scatter of numbers tells, in units of a t distribution.

    Satterthwaite's 2 / (Σu⁴ / (Σu²)² - 1/n), halved: where few samples decide, skewness shortens
    intervals as much again (R² of exp(x) + noise, n = 80 and 600: 95 % intervals hold .96 and .95
    with the half, .94 and .92 with the whole, .91 and .90 with n - 1).
    """
    u = pseudo - pseudo.mean()
    square = float(np.sum(u**2))
    if square == 0.0:
        return float(len(u) - 1)
    return float(1.0 / max(np.sum(u**4) / square**2 - 1.0 / len(u), 1.0 / len(u)))


def wilson(share: Any, count: Any, z: float = 1.96) -> tuple[Any, Any]:
    """Return Wilson's interval for shares of so many independent trials."""
    middle = (share + z**2 / (2 * count)) / (1 + z**2 / count)
    spread = np.sqrt(share * (1 - share) / count + z**2 / (4 * count**2))
    half = z / (1 + z**2 / count) * spread
    return np.clip(middle - half, 0.0, 1.0), np.clip(middle + half, 0.0, 1.0)
