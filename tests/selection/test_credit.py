"""Credit: learned kernels are paid for what they gain on samples they have not seen."""

from dataclasses import replace

import numpy as np
import pytest

from gramsmith.selection.contest import Result
from gramsmith.selection.credit import DOUBT, credited, discounted
from gramsmith.selection.judge import Judge
from gramsmith.selection.verify import Check

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
    judge = Judge("classification", Y, np.array([0, 1]))
    learned_rows = np.arange(30)
    # the learned kernel is right on all it learned from, and better by 3 of 30 elsewhere
    found = {0: result(values(range(40)), 40 / 60), 1: result(values(range(30, 37)), 7 / 60)}
    gap, error = judge.difference(values(range(30, 37)), values(range(40)), ROWS)
    assert gap == pytest.approx(-33 / 60)
    own, other = values(range(30, 37))[30:], values(range(40))[30:]
    gap, error = judge.difference(own, other, ROWS[30:])
    assert gap == pytest.approx(-3 / 30)
    after = discounted(found, {1}, judge, learned_rows)
    assert after[0] is found[0]
    assert after[1].loss == pytest.approx(40 / 60 - 3 / 30 + DOUBT * error)


@pytest.mark.parametrize("scoring", ["roc_auc", "balanced_accuracy", "neg_log_loss"])
def test_any_score_has_its_own_unit(scoring, rng):
    """A loss that is minus a score must neither be cut at zero nor mixed with shares of errors."""
    judge = Judge("classification", Y, np.array([0, 1]), scoring=scoring)
    poor, good = Y + rng.normal(size=N) - 0.5, Y + 0.3 * rng.normal(size=N) - 0.5
    found = {0: result(poor, judge.loss(poor, ROWS)), 1: result(good, judge.loss(good, ROWS))}
    after = discounted(found, {1}, judge, ROWS[:20])
    assert found[1].loss - 1e-9 <= after[1].loss < found[0].loss


def test_a_score_that_cannot_be_computed_proves_nothing(rng):
    judge = Judge("classification", Y, np.array([0, 1]), scoring="roc_auc")
    f = rng.normal(size=N)
    found = {0: result(f, -0.5), 1: result(f, -0.5)}
    fresh_of_one_class = np.flatnonzero(Y == 0)
    with pytest.warns(Warning, match="ROC"):
        after = discounted(found, {1}, judge, fresh_of_one_class)
    assert after[1].loss == np.inf


@pytest.mark.parametrize("scoring", [None, "roc_auc"])
def test_checks_of_learned_kernels(scoring, rng):
    judge = Judge("classification", Y, np.array([0, 1]), scoring=scoring)

    def check(f):
        wrong = judge.losses(f, ROWS)
        made = Check(judge.loss(f, ROWS), 0.1, 0.5, 1.0, 1.0, N, (f - 2 * Y + 1) ** 2, wrong)
        return replace(made, values=f, tested=ROWS, pieces=(N,))

    first, better = check(Y + rng.normal(size=N) - 0.5), check(values([], 0.9))
    (found,) = credited([first, better], first, judge, ROWS, ROWS >= 20)
    assert better.loss - 1e-9 <= found.loss < first.loss
    assert found.squared < first.squared
    assert not len(found.each)
