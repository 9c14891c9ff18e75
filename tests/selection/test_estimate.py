"""Estimates: the best of many scores on noise is too good, the estimate is not."""

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.model_selection import TimeSeriesSplit

import gramsmith as gs
from gramsmith.selection.estimate import bootstrap, nested
from gramsmith.selection.held_out import HeldOut, score
from gramsmith.selection.task import Answers, Task

N = 100
ROWS = np.arange(N)
FOLD = ROWS % 5


def noise(seed, scoring=None, groups=None, settings=30):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, N) if groups is None else rng.integers(0, 2, N)[groups]
    task = Task("classification", y, np.array([0, 1]), scoring=scoring, groups=groups)
    f = (
        rng.normal(size=(settings, N))
        if groups is None
        else rng.normal(size=(settings, N))[:, groups]
    )
    training = tuple(ROWS[FOLD != j] for j in range(5))
    record = HeldOut(
        "svc", "cross-validation", np.arange(1.0, settings + 1), f, ROWS, FOLD, training
    )
    return {0: score(record, task)}, task


@pytest.mark.parametrize("grouped", [False, True])
def test_the_bootstrap_corrects_the_best_of_many(grouped):
    groups = ROWS // 5 if grouped else None
    best, corrected, claims = [], [], []
    for seed in range(30):
        results, task = noise(seed, groups=groups)
        guess = bootstrap(results, 0, task)
        best.append(1.0 - results[0].loss)
        corrected.append(guess.value)
        claims.append(guess.beats_baseline)
    assert np.mean(best) > 0.58
    assert np.mean(corrected) == pytest.approx(0.5, abs=0.03)
    assert np.mean(claims) <= 0.1


def test_scores_without_sums_are_corrected_too():
    results, task = noise(3, scoring=make_scorer(accuracy_score), settings=8)
    same, plain = noise(3, settings=8)
    found, known = bootstrap(results, 0, task), bootstrap(same, 0, plain)
    assert found.value == pytest.approx(known.value, abs=0.05)
    assert found.error == pytest.approx(known.error, rel=0.6)


def test_a_single_honest_score_is_left_as_it_is(rng):
    y = rng.integers(0, 2, N)
    task = Task("classification", y, np.array([0, 1]))
    f = np.where(y == 1, 1.0, -1.0) * np.where(ROWS < 20, -1.0, 1.0)
    training = tuple(ROWS[FOLD != j] for j in range(5))
    record = HeldOut("svc", "cross-validation", np.ones(1), f[None], ROWS, FOLD, training)
    guess = bootstrap({0: score(record, task)}, 0, task)
    assert guess.value == pytest.approx(0.8, abs=0.01)
    assert guess.low < 0.8 < guess.high
    assert guess.beats_baseline


def test_nested_folds_never_show_their_test_rows():
    task = Task("regression", np.arange(20.0))
    seen = []

    def choose(train, test):
        seen.append(test)
        assert not set(train) & set(test)
        return Answers(task.y[test] + 1.0)

    guess = nested(choose, task, 4)
    assert sorted(np.concatenate(seen)) == list(range(20))
    assert guess.value == pytest.approx(1.0 - 1.0 / task.y.var())
    assert guess.kind == "nested cross-validation"
    assert guess.rows == 20


def test_learned_kernels_learn_from_the_past_only(rng, monkeypatch):
    """With a splitter of the user every fold learns from its own training rows."""
    from gramsmith.selection import steps

    X = rng.normal(size=(300, 12))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    learned = []
    original = steps.learn_weights

    def spy(source, middle, views, task, rows, *told):
        learned.append(rows)
        return original(source, middle, views, task, rows)

    monkeypatch.setattr(steps, "learn_weights", spy)
    cv = TimeSeriesSplit(3)
    found = gs.rank_kernels(X, y, cv=cv)
    assert any(r["family"] == "learned" for r in found.records)
    ends = [train.max() for train, _ in cv.split(X)]
    for rows, end in zip(learned[1:], ends[-len(learned[1:]) :], strict=True):
        assert rows.max() <= end
    assert found.estimate.kind == "bootstrap"


def test_learned_kernels_are_learned_in_whole_groups(rng, monkeypatch):
    from gramsmith.selection import steps

    groups = np.arange(200) // 5
    X = rng.normal(size=(40, 5))[groups] + 0.1 * rng.normal(size=(200, 5))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    taught, tested = [], []
    original, check = steps.learn_weights, steps.check_candidates

    def spy(source, middle, views, task, rows, *told):
        taught.append(rows)
        return original(source, middle, views, task, rows)

    def fresh_only(*args, rows, fresh=None, **options):
        tested.append(rows[fresh])
        return check(*args, rows=rows, fresh=fresh, **options)

    monkeypatch.setattr(steps, "learn_weights", spy)
    monkeypatch.setattr(steps, "check_candidates", fresh_only)
    gs.KernelSelector().fit(X, y, groups=groups)
    assert taught
    assert not set(groups[taught[0]]) & set(groups[tested[0]])
