"""Held-out records: nothing is fitted to what it is scored on; kept as plain values."""

import json

import numpy as np
import pytest

from gramsmith.selection.held_out import HeldOut, reach, score
from gramsmith.selection.task import Task

N = 120
ROWS = np.arange(N)
FOLD = ROWS % 5


def held_out(values, settings=None, **options):
    settings = np.arange(1.0, len(values) + 1) if settings is None else settings
    training = tuple(ROWS[FOLD != j] for j in range(5))
    return HeldOut("svc", "cross-validation", settings, values, ROWS, FOLD, training, **options)


@pytest.mark.parametrize("scoring", ["f1", "balanced_accuracy", "neg_log_loss"])
def test_thresholds_and_probabilities_of_noise_gain_nothing(scoring):
    """On decision values that know nothing a score fitted to its own rows is too good."""
    fitted, crossed = [], []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        y = (rng.random(N) < 0.2).astype(int)
        task = Task("classification", y, np.array([0, 1]), scoring=scoring).try_out()
        f = rng.normal(size=N)
        crossed.append(score(held_out(f[None]), task).loss)
        one = task.answers(f, ROWS, np.zeros(N, dtype=int))  # folds of its own
        shifted = f - task.best_threshold(f, ROWS) if task.tunes_threshold else one.f
        fitted.append(task.loss(shifted, ROWS) if task.tunes_threshold else task.loss(one, ROWS))
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
    task = Task("classification", y, np.array([0, 1]), scoring="f1")
    f = y + rng.normal(size=N)
    before = task.answers(f, ROWS, FOLD).f
    other = Task("classification", np.where(FOLD == 2, 1 - y, y), np.array([0, 1]), scoring="f1")
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
        score(held_out(f[None]), Task("classification", y, np.array([0, 1]), groups=g)).error
        for g in (None, groups)
    )
    share = wrong.mean()
    assert together == pytest.approx(np.sqrt(share * (1 - share) / 23), rel=0.01)
    assert together > 2.0 * rows


def test_settings_are_joined_in_order(rng):
    coarse, fine = (
        held_out(rng.normal(size=(2, N)), np.array([1.0, 4.0])),
        held_out(rng.normal(size=(1, N)), np.array([2.0])),
    )
    both = coarse.joined(fine)
    assert both.settings.tolist() == [1.0, 2.0, 4.0]
    assert (both.values[1] == fine.values[0]).all()


def test_among_equals_a_setting_that_stays_near_the_targets(rng):
    y = rng.uniform(0.0, 10.0, size=N)
    task = Task("regression", y)
    calm = y + rng.normal(size=N)
    wild = y + rng.normal(size=N)
    wild[3] = 20.0
    assert reach(calm, task) < 0.5 < reach(wild, task)
    best = score(held_out(np.stack([wild, calm + 0.1 * rng.normal(size=N)])), task)
    assert best.best == 1
    bad = score(held_out(np.stack([wild, y + 5.0 * rng.normal(size=N)])), task)
    assert bad.best == 0  # not at any price


def test_plain_records_come_back(ranking):
    record = next(iter(ranking._findings.results.values())).record
    again = HeldOut.from_plain(json.loads(json.dumps(record.to_plain())))
    assert (again.values == record.values).all()
    assert (again.fold == record.fold).all()
    assert again.overlap == record.overlap
    assert again.kind == record.kind
