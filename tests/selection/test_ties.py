"""Ties: the order is that of the score; a test that holds its level says what is tied."""

import numpy as np
import pytest

from gramsmith.selection.first_check import Check
from gramsmith.selection.held_out import HeldOut, score
from gramsmith.selection.task import Task
from gramsmith.selection.ties import order_candidates, p_value, tied_with

N = 200
ROWS = np.arange(N)
Y = ROWS % 2
TASK = Task("classification", Y, np.array([0, 1]))


def record(wrong, task=TASK):
    f = np.where(Y == 1, 1.0, -1.0)
    f[list(wrong)] *= -1.0
    training = tuple(ROWS[ROWS % 5 != j] for j in range(5))
    made = HeldOut("svc", "cross-validation", np.ones(1), f[None], ROWS, ROWS % 5, training)
    return score(made, task)


def check(loss):
    return Check(loss, 0.01, loss, 1.0, 1.0, N)


def test_order_is_that_of_the_score_and_then_of_the_check():
    results = {1: record(range(20)), 2: record(range(10)), 3: record(range(10))}
    checks = [check(loss) for loss in (0.01, 0.1, 0.2, 0.1)]
    order, tied = order_candidates(checks, results, TASK)
    assert order == [3, 2, 1, 0]  # what was not on the short list comes last, whatever its check
    assert 0 not in tied


def test_a_clear_difference_is_no_tie():
    results = {0: record(()), 1: record(range(60)), 2: record(range(3))}
    assert tied_with(0, results, TASK) == {0, 2}


def test_groups_that_err_together_prove_less():
    """Eight wrong answers are eight rows, or the rows of two groups."""
    grouped = Task("classification", Y, np.array([0, 1]), groups=ROWS // 10)
    alone = p_value(record(range(0, 200, 10)), record(()), TASK)
    together = p_value(record(range(20), grouped), record((), grouped), grouped)
    assert alone < 0.01 < together


def test_overlapping_training_folds_count(rng):
    assert record(()).record.overlap == pytest.approx(2.25)  # 1 + 5 / 4
    left_out = HeldOut("svc", "leave-one-out", np.ones(1), np.ones((1, N)), ROWS, ROWS % 5)
    assert left_out.overlap == pytest.approx(2.0)


def test_predictions_far_beyond_the_targets_lose_among_the_tied(rng):
    y = rng.uniform(0, 1, size=N)
    task = Task("regression", y)
    training = tuple(ROWS[ROWS % 5 != j] for j in range(5))

    def values(f):
        made = HeldOut("ridge", "cross-validation", np.ones(1), f[None], ROWS, ROWS % 5, training)
        return score(made, task)

    near = y + 0.3 * rng.normal(size=N)
    far = y + 0.2 * rng.normal(size=N)
    far[0] = 3.0
    results = {0: values(far), 1: values(np.clip(near, 0, 1))}
    assert results[0].reach == pytest.approx(2.0, abs=0.05)
    order, tied = order_candidates([check(0.1), check(0.2)], results, task)
    assert tied == {0, 1}
    assert order == [1, 0]
