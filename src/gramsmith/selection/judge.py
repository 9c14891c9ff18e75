"""Judge: other estimators in the folds of the kernels, by the same record and the same test."""

from __future__ import annotations

import pickle
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.pipeline import Pipeline

from gramsmith.arguments import counted
from gramsmith.selection.held_out import HeldOut, Scored, clearly_apart, compared, score
from gramsmith.selection.others import Other
from gramsmith.selection.problem import Problem
from gramsmith.selection.samples import Samples
from gramsmith.selection.scores import Answers
from gramsmith.selection.task import Folds
from gramsmith.selection.work import Work

Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class Judged:
    """What the folds say of an estimator."""

    other: Other
    result: Scored | None = None  # None if it failed, or if there was no time
    seconds: float = 0.0  # of all fits and predictions
    size: float | None = None  # MiB of the model of the last fold; None if it cannot be pickled
    judgement: str = ""  # "better", "tied" or "worse" than the kernels, by a paired test
    failed: str = ""  # why it has no result


def judge(problem: Problem, best: Scored | None, work: Work) -> tuple[Judged, ...]:
    """Return what the folds of the kernels say of all other estimators, against the best kernels.

    By Holm's method the chance that any estimator is called better or worse without being so is
    at most `LEVEL`.
    """
    task, others = problem.task, problem.others
    if not others or best is None:
        return tuple(Judged(other) for other in others)
    rows = task.sample(problem.plan.compare_rows, salt=3)
    splits = task.splits(rows, 5)
    judged = []
    total = len(others) * len(splits) + 1
    with work.stage("estimators", total, counted(len(others), "estimator")) as stage:
        for other in others:
            judged.append(_judge(other, problem, rows, splits, work))
            stage(len(splits))
    for one in judged:
        if one.failed:
            warnings.warn(
                f"The estimator {one.other.name!r} failed and is left out: {one.failed}.",
                UserWarning,
                stacklevel=2,
            )
    results = {k: one.result for k, one in enumerate(judged) if one.result is not None}
    gaps, chances = {}, {}
    for k, result in results.items():
        gaps[k], chances[k] = compared(result, best, task)
    apart = clearly_apart(chances)
    words = {k: "tied" if k not in apart else "worse" if gaps[k] > 0 else "better" for k in gaps}
    return tuple(replace(one, judgement=words.get(k, "")) for k, one in enumerate(judged))


def _judge(other: Other, problem: Problem, rows: Array, splits: Folds, work: Work) -> Judged:
    """Return the held-out record of one estimator, and how long it took; each fold is kept."""
    task = problem.task
    keys = [f"estimator/{other.name}/{number}" for number in range(len(splits))]
    missing = [number for number, key in enumerate(keys) if key not in work.notes]

    def run(number: int) -> tuple[str, dict[str, Any]]:
        begun, (train, test) = time.monotonic(), splits[number]
        answers, model = fitted_answer(other, problem, rows[train], rows[test])
        spent = {
            "seconds": time.monotonic() - begun,
            "size": None if model is None else size_of(model),
        }
        if isinstance(answers, str):
            return answers, spent
        return "", {**vars(answers), **spent}

    failed, seconds = "", 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # comparisons only; set here, never in a thread
        for number, result in zip(missing, work.pieces(run, missing), strict=True):
            if result is None:
                return Judged(other)
            failed, seconds = failed or result[0], seconds + result[1]["seconds"]
            if not result[0]:
                work.notes[keys[number]] = result[1]
    if failed:
        return Judged(other, seconds=seconds, failed=failed)
    parts = [work.notes[key] for key in keys]
    seconds, size = float(sum(part["seconds"] for part in parts)), parts[-1]["size"]
    answers = joined([Answers(part["f"], part["p"]) for part in parts])
    record = HeldOut.of_folds(
        type(other.estimator).__name__,
        answers.f[None],
        rows,
        splits,
        shares=None if answers.p is None else answers.p[None],
    )
    return Judged(other, score(record, task), seconds, size)


def fitted_answer(
    other: Other, problem: Problem, train: Array, test: Array, samples: Samples | None = None
) -> tuple[Answers | str, Any]:
    """Return what an estimator fitted to some rows says of others, or why it fails; and the model.

    `samples` may be encoded by what the training rows alone can teach.
    """
    task, samples = problem.task, problem.samples if samples is None else samples
    train = train[task.weights[train] > 0]
    lone = task.lone(train, len(test))
    if lone is not None:
        return lone, None
    try:
        model = other.fit(other.rows_of(samples, problem.X, train), task, train)
        said = task.answers_of(model, other.rows_of(samples, problem.X, test))
        return (said if np.isfinite(said.f).all() else "its predictions are not finite"), model
    except Exception as error:  # whatever an estimator of the user's may raise
        return reason(error), None


def size_of(model: Any) -> float | None:
    """Return the MiB of a fitted model, as pickle writes it; None if it cannot."""
    try:
        return len(pickle.dumps(model, protocol=pickle.HIGHEST_PROTOCOL)) / 2**20
    except Exception:  # whatever a model of the user's may raise
        return None


def reason(error: Exception) -> str:
    """Return the first line of what an error says, with its name."""
    text = (str(error).strip() or "no message").splitlines()[0].rstrip(".")
    return f"{type(error).__name__}: {text}"


def joined(parts: Sequence[Any]) -> Answers:
    """Return the answers of several folds one after the other."""
    p = None if any(a.p is None for a in parts) else np.concatenate([a.p for a in parts])
    return Answers(np.concatenate([a.f for a in parts]), p)


def fit_other(other: Other, problem: Problem) -> Any:
    """Return an estimator fitted to all samples, with the encoder before it if it needs one."""
    rows = problem.task.counting
    model = other.fit(other.rows_of(problem.samples, problem.X, rows), problem.task, rows)
    encoder = None if other.as_given else problem.samples.encoders[other.view]
    return model if encoder is None else Pipeline([("encode", encoder), ("model", model)])
