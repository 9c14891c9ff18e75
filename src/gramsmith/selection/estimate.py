"""Estimates for new data: the score that is to be expected of the model that is handed over.

The best of many held-out scores is too good. Where it is affordable the whole choice is made anew
in outer folds; otherwise the bootstrap says by how much the best of the records is too good: choose
in a bag of samples, score on those outside it (Tsamardinos et al., 2018).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.stats import t as student

from gramsmith.selection.ensemble import Average, mixes, stacked
from gramsmith.selection.held_out import HeldOut, Scored
from gramsmith.selection.task import Answers, Task, cluster_sums
from gramsmith.selection.ties import LEVEL
from gramsmith.selection.work import Work

Array = npt.NDArray[Any]

BAGS = 400
SOME_BAGS = 100  # for averages, whose weights are found anew in each
FEW_BAGS = 50  # for scores that have to be computed one by one,
FEW_SETTINGS = 10  # of the best settings only
COVERAGE = 0.95


@dataclass(frozen=True)
class Estimate:
    """The score that is to be expected on new data.

    Parameters
    ----------
    value : float
        The score.
    low, high : float
        An interval of 95 %.
    error : float
        Standard error.
    kind : str
        "nested cross-validation", "bootstrap" or "leave-one-out", the last if there was no time:
        nothing corrects it for the choice.
    rows : int
        The number of samples behind it.
    baseline : float
        The score of the best answers that look at no features.
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


def bootstrap(
    results: Mapping[int, Scored],
    best: int,
    task: Task,
    average: Average | None = None,
    work: Work | None = None,
) -> Estimate:
    """Return the estimate for the best of several records, corrected for the choice.

    Bags are drawn of groups where there are groups. For an average of records the settings and the
    weights are chosen anew in every bag.
    """
    chosen = results[best]
    work = Work() if work is None else work
    if average is not None:
        return _of_average(results, average, task, work)
    told = work.counting("estimate", FEW_BAGS + 1, "bootstrap")
    rows = chosen.record.rows
    cluster = task.clusters(rows)
    constant, _ = task.constant(rows)
    settings = [a for result in results.values() for a in result.answers]
    rng = np.random.default_rng([task.seed, 9])
    G = int(cluster.max()) + 1
    known = [task.parts(a, rows) for a in (constant, *settings)]
    if all(parts is not None for parts in known):
        sums = np.stack([cluster_sums(np.asarray(parts), cluster) for parts in known])
        bags = rng.multinomial(G, np.full(G, 1.0 / G), BAGS).astype(float)
        inside, outside = (_losses(counts, sums, task) for counts in (bags, bags == 0))
        pick = 1 + inside[:, 1:].argmin(axis=1)
        out = outside[np.arange(BAGS), pick]
        gain = outside[:, 0] - out
    else:
        losses = np.concatenate([result.losses for result in results.values()])
        few = [settings[k] for k in np.argsort(losses, kind="stable")[:FEW_SETTINGS]]
        out, gain = np.empty(FEW_BAGS), np.empty(FEW_BAGS)
        for b in range(FEW_BAGS):
            drawn = rng.integers(0, G, G)
            places = np.concatenate([np.flatnonzero(cluster == g) for g in drawn])
            rest = np.flatnonzero(~np.isin(cluster, drawn))
            a = min(few, key=lambda a: task.loss(a.at(places), rows[places]))
            out[b] = task.loss(a.at(rest), rows[rest])
            gain[b] = task.loss(constant.at(rest), rows[rest]) - out[b]
            told(1)
    told.end()
    loss, better = (float(np.mean(v[np.isfinite(v)])) for v in (out, gain))
    answers = chosen.answers[chosen.best]
    return _estimate(loss, better, answers, constant, chosen.record, "bootstrap", task)


def _of_average(
    results: Mapping[int, Scored], average: Average, task: Task, work: Work
) -> Estimate:
    """Return the estimate for an average: settings and weights from a bag, the loss outside it."""
    chosen = average.result
    rows, fold = chosen.record.rows, chosen.record.fold
    cluster = task.clusters(rows)
    constant, _ = task.constant(rows)
    used = [r for r in results.values() if mixes(r, task, rows)]
    rng = np.random.default_rng([task.seed, 9])
    G = int(cluster.max()) + 1
    by_sums = [[task.parts(a, rows) for a in r.answers] for r in used]
    summed = all(parts is not None for known in by_sums for parts in known)
    quick = summed and (task.default_score or not task.score.by_probability)
    bags = SOME_BAGS if quick else FEW_BAGS
    sums = [
        np.stack([cluster_sums(np.asarray(parts), cluster) for parts in known])
        for known in (by_sums if summed else ())
    ]
    out, gain = np.empty(bags), np.empty(bags)
    told = work.counting("estimate", bags + 1, "bootstrap")
    for b in range(bags):
        counts = np.bincount(rng.integers(0, G, G), minlength=G)
        picks = [r.best for r in used]
        if summed:
            picks = [int(_losses(counts[None], s, task)[0].argmin()) for s in sums]
        values = [r.record.values[k] for r, k in zip(used, picks, strict=True)]
        inside = counts[cluster]
        weights = stacked(values, task, rows, inside)
        f = np.asarray(sum(w * v for w, v in zip(weights, values, strict=True)))
        rest = np.flatnonzero(inside == 0)
        answers = task.answers(f, rows, fold)
        out[b] = task.loss(answers.at(rest), rows[rest])
        gain[b] = task.loss(constant.at(rest), rows[rest]) - out[b]
        told(1)
    told.end()
    loss, better = (float(np.mean(v[np.isfinite(v)])) for v in (out, gain))
    answers = chosen.answers[chosen.best]
    return _estimate(loss, better, answers, constant, chosen.record, "bootstrap", task)


def _losses(counts: Array, sums: Array, task: Task) -> Array:
    """Return the loss of every setting in every bag, from sums (settings, clusters, s)."""
    C, G, s = sums.shape
    flat = counts.astype(float) @ sums.transpose(1, 0, 2).reshape(G, C * s)
    return task.loss_of(flat.reshape(len(counts), C, s))


def nested(choose: Callable[[Array, Array], Answers], task: Task, folds: int) -> Estimate:
    """Return the estimate from the whole choice made anew in outer folds.

    ``choose(train, test)`` makes it on some samples and answers for others.
    """
    rows = task.counting
    splits = task.splits(rows, folds)
    said = [choose(rows[train], rows[test]) for train, test in splits]
    tested = rows[np.concatenate([test for _, test in splits])]
    p = None if any(a.p is None for a in said) else np.concatenate([np.asarray(a.p) for a in said])
    answers = Answers(np.concatenate([a.f for a in said]), p)
    record = HeldOut(
        machine="",
        kind="nested cross-validation",
        settings=np.array([np.nan]),
        values=answers.f[None],
        rows=tested,
        fold=np.repeat(np.arange(len(splits)), [len(test) for _, test in splits]),
        training=tuple(rows[train] for train, _ in splits),
    )
    constant, _ = task.constant(tested)
    loss = task.loss(answers, tested)
    gain = task.loss(constant, tested) - loss
    return _estimate(loss, gain, answers, constant, record, record.kind, task)


def without_choice(loss: float, error: float, rows: int, task: Task) -> Estimate:
    """Return the estimate from the first check, where there was no time for more."""
    constant, _ = task.constant(task.counting)
    base = task.loss(constant, task.counting)
    return _made(loss, error, base, "leave-one-out", rows, max(rows - 1, 1), task)


def _estimate(
    loss: float,
    gain: float,
    answers: Answers,
    constant: Answers,
    record: HeldOut,
    kind: str,
    task: Task,
) -> Estimate:
    rows = record.rows
    freedom = max(len(np.unique(task.clusters(rows))) - 1, 1)
    _, spread = task.difference(answers, constant, rows)
    spread *= np.sqrt(record.overlap)
    beats = bool(gain > 0 and np.isfinite(spread) and gain > student.isf(LEVEL, freedom) * spread)
    error = task.error(answers, rows)
    base = task.loss(constant, rows)
    return _made(loss, error, base, kind, len(np.unique(rows)), freedom, task, beats)


def _made(
    loss: float,
    error: float,
    base: float,
    kind: str,
    rows: int,
    freedom: int,
    task: Task,
    beats: bool = False,
) -> Estimate:
    value, error = task.as_score(loss), task.as_error(error)
    half = float(student.isf(0.5 * (1.0 - COVERAGE), freedom)) * error
    low, high = value - half, value + half
    if task.best_score is not None:
        high = min(high, task.best_score)
    return Estimate(value, low, high, error, kind, rows, task.as_score(base), beats)
