"""Held-out records: nothing is fitted to what it is scored on; kept as plain values."""

import numpy as np
import pytest

from gramsmith.selection.first_check import Check
from gramsmith.selection.held_out import (
    HeldOut,
    chance_of,
    order_candidates,
    score,
    tied_with,
)
from gramsmith.selection.kinds import read_task
from gramsmith.selection.scores import Answers

N = 120
ROWS = np.arange(N)
FOLD = ROWS % 5


def held_out(values, n=N):
    rows, settings = np.arange(n), np.arange(1.0, len(values) + 1)
    return HeldOut(
        "ridge", "cross-validation", settings, values[..., None], rows, rows % 5, 0.8 * n
    )


@pytest.mark.parametrize("scoring", ["f1", "balanced_accuracy", "neg_log_loss"])
def test_thresholds_and_probabilities_of_noise_gain_nothing(scoring):
    """On decision values that know nothing a score fitted to its own rows is too good."""
    fitted, crossed = [], []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        y = (rng.random(N) < 0.2).astype(int)
        task = read_task(y, task="classification", scoring=scoring)
        f = rng.normal(size=(N, 1))
        crossed.append(score(held_out(f[None, :, 0]), task).loss)
        one = task.answers(f, ROWS, np.zeros(N, dtype=int))  # folds of its own
        if task.tunes_threshold:
            one = Answers(f - task.best_threshold(f, ROWS))
        fitted.append(task.loss(one, ROWS))
    if scoring == "balanced_accuracy":
        assert np.mean(crossed) == pytest.approx(-0.5, abs=0.02)
        assert np.mean(fitted) < -0.55
    if scoring == "f1":
        assert np.mean(fitted) < np.mean(crossed) - 0.02
    if scoring == "neg_log_loss":
        prior = -(0.2 * np.log(0.2) + 0.8 * np.log(0.8))
        assert np.mean(crossed) > prior - 0.005


def test_threshold_of_a_fold_ignores_the_fold(rng):
    y = (rng.random(N) < 0.3).astype(int)
    task = read_task(y, task="classification", scoring="f1")
    f = (y + rng.normal(size=N))[:, None]
    before = task.answers(f, ROWS, FOLD).f
    other = read_task(np.where(FOLD == 2, 1 - y, y), task="classification", scoring="f1")
    after = other.answers(f, ROWS, FOLD).f
    assert (before[FOLD == 2] == after[FOLD == 2]).all()
    assert (before[FOLD != 2] != after[FOLD != 2]).any()


def test_errors_are_those_of_groups():
    """Twenty groups of five rows that are right or wrong together are twenty observations."""
    groups = np.repeat(np.arange(24), 5)
    y = ROWS % 2
    wrong = np.random.default_rng(0).random(24) < 0.4
    f = np.where(y == 1, 1.0, -1.0) * np.where(wrong[groups], -1.0, 1.0)
    rows, together = (
        score(held_out(f[None]), read_task(y, task="classification", groups=g)).error
        for g in (None, groups)
    )
    share = wrong.mean()
    assert together == pytest.approx(np.sqrt(share * (1 - share) / 23), rel=0.01)
    assert together > 2.0 * rows


def test_among_equals_a_setting_that_stays_near_the_targets(rng):
    y = rng.uniform(0.0, 10.0, size=N)
    task = read_task(y, task="regression")
    calm = y + rng.normal(size=N)
    wild = y + rng.normal(size=N)
    wild[3] = 20.0
    assert task.reach(task.in_units(calm)) < 0.5
    assert task.reach(task.in_units(wild)) == pytest.approx((20.0 - y.max()) / np.ptp(y))
    near = calm + 0.1 * rng.normal(size=N)
    best = score(held_out(np.stack([wild, near]) / y.std()), task)
    assert best.best == 1
    off = y + 5.0 * rng.normal(size=N)
    bad = score(held_out(np.stack([wild, off]) / y.std()), task)
    assert bad.best == 0  # not at any price


# ---- order and ties -----------------------------------------------------------------------------

M = 200
Y = np.arange(M) % 2
TASK = read_task(Y)


def record(wrong, task=TASK):
    f = np.where(Y == 1, 1.0, -1.0)
    f[list(wrong)] *= -1.0
    return score(held_out(f[None], M), task)


def check(loss):
    return Check(loss, 0.01, loss, 1.0, M)


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
    grouped = read_task(Y, groups=np.arange(M) // 10)

    def chance(wrong, task):
        worse, better = record(wrong, task), record((), task)
        return chance_of(worse.answer, better.answer, np.arange(M), worse.record.overlap, task)

    assert chance(range(0, 200, 10), TASK) < 0.01 < chance(range(20), grouped)


def test_overlapping_training_folds_count():
    assert record(()).record.overlap == pytest.approx(2.25)  # 1 + 5 / 4
    values = np.ones((1, M, 1))
    left_out = HeldOut("ridge", "leave-one-out", np.ones(1), values, np.arange(M), Y)
    assert left_out.overlap == pytest.approx(2.0)


def test_predictions_far_beyond_the_targets_lose_among_the_tied(rng):
    y = rng.uniform(0, 1, size=M)
    task = read_task(y)
    near = y + 0.3 * rng.normal(size=M)
    far = y + 0.2 * rng.normal(size=M)
    far[0] = 3.0
    values = (far, np.clip(near, 0, 1))
    results = {k: score(held_out(f[None] / y.std(), M), task) for k, f in enumerate(values)}
    assert results[0].reach == pytest.approx(2.0, abs=0.05)
    order, tied = order_candidates([check(0.1), check(0.2)], results, task)
    assert tied == {0, 1}
    assert order == [1, 0]
