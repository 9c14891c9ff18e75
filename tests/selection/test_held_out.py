"""Held-out results: kept as plain values; learned kernels count what they gain on fresh rows."""

from dataclasses import replace

import numpy as np
import pytest

from gramsmith.selection.held_out import PROOF, Check, Result, checks_of_learned, results_of_learned
from gramsmith.selection.task import Task

N = 60
ROWS = np.arange(N)
Y = ROWS % 2


def result(f, loss):
    return Result("svc", 1.0, loss, 0.01, np.zeros(3), (), f, ROWS)


def values(wrong, size=1.0):
    f = np.where(Y == 1, size, -size)
    f[list(wrong)] *= -1.0
    return f


def test_gain_on_fresh_rows_less_doubt():
    task = Task("classification", Y, np.array([0, 1]))
    learned_rows = np.arange(30)
    # the learned kernel is right on all it learned from, and better by 3 of 30 elsewhere
    found = {0: result(values(range(40)), 40 / 60), 1: result(values(range(30, 37)), 7 / 60)}
    gap, error = task.difference(values(range(30, 37)), values(range(40)), ROWS)
    assert gap == pytest.approx(-33 / 60)
    mine, other = values(range(30, 37))[30:], values(range(40))[30:]
    gap, error = task.difference(mine, other, ROWS[30:])
    assert gap == pytest.approx(-3 / 30)
    after = results_of_learned(found, {1}, task, learned_rows)
    assert after[0] is found[0]
    assert after[1].loss == pytest.approx(40 / 60 - 3 / 30 + PROOF * error)


@pytest.mark.parametrize("scoring", ["roc_auc", "balanced_accuracy", "neg_log_loss"])
def test_any_score_has_its_own_unit(scoring, rng):
    """A loss that is minus a score must neither be cut at zero nor mixed with shares of errors."""
    task = Task("classification", Y, np.array([0, 1]), scoring=scoring)
    poor, good = Y + rng.normal(size=N) - 0.5, Y + 0.3 * rng.normal(size=N) - 0.5
    found = {0: result(poor, task.loss(poor, ROWS)), 1: result(good, task.loss(good, ROWS))}
    after = results_of_learned(found, {1}, task, ROWS[:20])
    assert found[1].loss - 1e-9 <= after[1].loss < found[0].loss


def test_a_score_that_cannot_be_computed_proves_nothing(rng):
    task = Task("classification", Y, np.array([0, 1]), scoring="roc_auc")
    f = rng.normal(size=N)
    found = {0: result(f, -0.5), 1: result(f, -0.5)}
    fresh_of_one_class = np.flatnonzero(Y == 0)
    with pytest.warns(Warning, match="ROC"):
        after = results_of_learned(found, {1}, task, fresh_of_one_class)
    assert after[1].loss == np.inf


@pytest.mark.parametrize("scoring", [None, "roc_auc"])
def test_checks_of_learned_kernels(scoring, rng):
    task = Task("classification", Y, np.array([0, 1]), scoring=scoring)

    def check(f):
        wrong = task.losses(f, ROWS)
        made = Check(task.loss(f, ROWS), 0.1, 0.5, 1.0, 1.0, N, (f - 2 * Y + 1) ** 2, wrong)
        return replace(made, values=f, tested=ROWS, pieces=(N,))

    first, better = check(Y + rng.normal(size=N) - 0.5), check(values([], 0.9))
    (found,) = checks_of_learned([first, better], first, task, ROWS, ROWS >= 20)
    assert better.loss - 1e-9 <= found.loss < first.loss
    assert found.squared < first.squared
    assert not len(found.each)


def test_plain_results_come_back(ranking):
    result = next(iter(ranking._findings.results.values()))
    again = Result.from_plain(result.to_plain())
    assert again.loss == result.loss
    assert (again.held_out == result.held_out).all()
    assert again.path == result.path
