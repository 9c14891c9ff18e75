"""Estimates: the best of many scores on noise is too good, the estimate is not."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.model_selection import TimeSeriesSplit

import gramsmith as gs
from gramsmith.selection import estimate, learn
from gramsmith.selection.average import average
from gramsmith.selection.estimate import (
    _gain_of_short_list,
    bootstrap,
    can_nest,
    degrees_of_freedom,
    of_record,
    wilson,
)
from gramsmith.selection.held_out import HeldOut, score
from gramsmith.selection.kinds import read_task
from gramsmith.selection.scores import Answers
from gramsmith.tables import TableEncoder

N = 100
ROWS = np.arange(N)
FOLD = ROWS % 5


def noise(seed, scoring=None, groups=None, settings=30):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, N) if groups is None else rng.integers(0, 2, N)[groups]
    task = read_task(y, task="classification", scoring=scoring, groups=groups)
    f = rng.normal(size=(settings, N, 1))
    f = f if groups is None else f[:, groups]
    return scored(f, task), task


def scored(f, task):
    settings = np.arange(1.0, len(f) + 1)
    return score(HeldOut("ridge", "cross-validation", settings, f, ROWS, FOLD, 0.8 * N), task)


def test_a_short_list_of_the_best_of_many_gains_by_chance(rng):
    losses = rng.normal(size=(20, 40))  # of kernels, in each cluster
    best = np.argsort(losses.mean(axis=1))
    found = SimpleNamespace(
        checks=[SimpleNamespace(rows=N, pseudo=loss) for loss in losses],
        candidates=[SimpleNamespace(step=object())] * 20,
        short=list(best[:2]),
    )
    assert _gain_of_short_list(found, np.random.default_rng(0)) > 0.0
    found.short = list(best)
    assert _gain_of_short_list(found, np.random.default_rng(0)) == 0.0


def corrected(result, task):
    """The estimate of one record, where all candidates were verified."""
    check = SimpleNamespace(rows=N, pseudo=None)
    found = SimpleNamespace(
        results={0: result}, average=None, checks=[check], candidates=[], short=(0,)
    )
    return bootstrap(found, result, task)


@pytest.mark.parametrize("grouped", [False, True])
def test_the_bootstrap_corrects_the_best_of_many(grouped):
    groups = ROWS // 5 if grouped else None
    best, values, claims = [], [], []
    for seed in range(30):
        result, task = noise(seed, groups=groups)
        guess = corrected(result, task)
        best.append(-result.loss)
        values.append(guess.value)
        claims.append(guess.beats_baseline)
    assert np.mean(best) > 0.58
    assert np.mean(values) == pytest.approx(0.5, abs=0.03)
    assert np.mean(claims) <= 0.1


@pytest.mark.parametrize("kernels", [1, 2])
def test_one_wild_prediction_of_a_setting_that_was_not_chosen_costs_nothing(rng, kernels):
    """A third of the bags lack the row that rules the setting out."""
    y = rng.normal(size=N)
    task = read_task(y, task="regression", scoring="r2")
    y = task.codes[:, 0]
    good = y + 0.4 * rng.normal(size=N)
    wild = 0.5 * (y + good)
    wild[7] += 60.0
    f = np.stack([good, wild])[:, :, None]
    if kernels == 1:
        result = scored(f, task)
        assert corrected(result, task).value == pytest.approx(-result.loss, abs=0.02)
        return
    other = scored(f + 0.2 * rng.normal(size=(2, N, 1)), task)
    results = {0: scored(f, task), 1: other}
    check = SimpleNamespace(rows=N, pseudo=None)
    found = SimpleNamespace(
        **{"results": results, "average": average(results, task, 0), "checks": [check]},
        **{"candidates": [], "short": (0, 1), "order": (0, 1)},
    )
    mean = found.average.result
    assert bootstrap(found, mean, task).value == pytest.approx(-mean.loss, abs=0.03)


def test_scores_without_sums_are_corrected_too():
    result, task = noise(3, scoring=make_scorer(accuracy_score), settings=8)
    same, plain = noise(3, settings=8)
    found, known = corrected(result, task), corrected(same, plain)
    assert found.value == pytest.approx(known.value, abs=0.05)
    assert found.error == pytest.approx(known.error, rel=0.6)


def test_a_single_honest_score_is_left_as_it_is(rng):
    y = rng.integers(0, 2, N)
    task = read_task(y)
    f = np.where(y == 1, 1.0, -1.0) * np.where(ROWS < 20, -1.0, 1.0)
    guess = corrected(scored(f[None, :, None], task), task)
    assert guess.value == pytest.approx(0.8, abs=0.01)
    assert guess.low < 0.8 < guess.high
    assert guess.beats_baseline


@pytest.mark.parametrize("n", [80, 600])
@pytest.mark.parametrize("outputs", [1, 2])
def test_intervals_of_r2_count_the_variance_of_the_target(n, outputs):
    """Of a skewed target the denominator varies as much as the numerator: 95 % hold in .88 on."""
    held = []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        x = rng.normal(size=(n, outputs))
        y = np.exp(x) + 0.3 * rng.normal(size=(n, outputs))
        task = read_task(y if outputs > 1 else y[:, 0], task="regression")
        answers = Answers(task.in_units(np.exp(x)))
        value = -task.loss(answers, np.arange(n))
        error = task.error(answers, np.arange(n))
        truth = 1.0 - 0.09 / (np.e * (np.e - 1.0) + 0.09)
        held.append(abs(value - truth) <= 1.97 * error)
    assert np.mean(held) > 0.86  # with the variance held fixed: .38 and .28


def test_intervals_near_one_are_wilsons():
    """At accuracy .98 of 100 rows 95 % hold; with the normal distribution .87."""
    rng = np.random.default_rng(0)
    held, low = [], []
    for _ in range(400):
        y = rng.integers(0, 2, N)
        f = np.where(y == 1, 1.0, -1.0) * np.where(rng.random(N) < 0.02, -1.0, 1.0)
        task = read_task(y, task="classification")
        guess = corrected(scored(f[None, :, None], task), task)
        held.append(guess.low <= 0.98 <= guess.high)
        low.append(guess.low)
    assert 0.92 <= np.mean(held) <= 0.99
    assert min(low) >= 0.0
    for name, members in {"precision": 50, "roc_auc": 5}.items():
        y, f = (ROWS < members).astype(int), np.where(ROWS < 5, 1.0, -1.0)
        task = read_task(y, task="classification", scoring=name)
        guess = of_record(Answers(f[:, None]), scored(f[None, :, None], task).record, task)
        assert guess.value == 1.0
        assert guess.low < 0.6, "five answers, or members of a class, are no hundred"
    few = wilson(0.0, 5.0)
    assert 0.0 <= few[0] < few[1] < 0.6


def test_outer_folds_need_classes_and_groups():
    y = np.array([0] * 40 + [1])
    assert not can_nest(read_task(y), 5)
    assert can_nest(read_task(np.arange(40) % 2), 5)
    assert not can_nest(read_task(np.arange(40) % 2, groups=np.arange(40) // 20), 5)


def test_mistakes_within_the_choice_are_not_hidden(rng, monkeypatch):
    """A ValueError of the nested choice is an error, and no reason for another estimate."""
    X = rng.normal(size=(60, 2))

    def broken(*arguments):
        raise ValueError("a defect")

    monkeypatch.setattr("gramsmith.selection.estimate._choose_anew", broken)
    with pytest.raises(ValueError, match="a defect"):
        gs.rank_kernels(X, X[:, 0] > 0, ["rbf"])


def test_outer_folds_are_five_and_each_encodes_the_rows_once(rng, watched):
    X = rng.normal(size=(60, 2))
    asked, encoded = watched(estimate, "_choose_anew"), watched(TableEncoder, "encode_from")
    gs.rank_kernels(X, X[:, 0] > 0, ["rbf"], cv=2)
    assert [len(call["test"]) for call in asked] == [12] * 5
    assert [len(call["rows"]) for call in encoded] == [48] * 5


def test_learned_kernels_learn_from_the_past_only(rng, watched):
    """With a splitter of the user every fold learns from its own training rows."""
    X = rng.normal(size=(300, 12))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    taught = watched(learn, "learn_weights")
    cv = TimeSeriesSplit(3)
    found = gs.rank_kernels(X, y, cv=cv)
    assert any(r["family"] == "learned" for r in found.records)
    learned = [call["rows"] for call in taught]
    ends = [train.max() for train, _ in cv.split(X)]
    for rows, end in zip(learned[1:], ends[-len(learned[1:]) :], strict=True):
        assert rows.max() <= end
    assert found.estimate.kind == "bootstrap"


def test_learned_kernels_are_learned_in_whole_groups(rng, watched):
    groups = np.arange(200) // 5
    X = rng.normal(size=(40, 5))[groups] + 0.1 * rng.normal(size=(200, 5))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    lessons, checks = watched(learn, "learn_weights"), watched(learn, "check_each")
    gs.KernelSelector().fit(X, y, groups=groups)
    taught, tested = lessons[0]["rows"], checks[0]["rows"][checks[0]["fresh"]]
    assert not set(groups[taught]) & set(groups[tested])


def test_a_scatter_that_few_samples_decide_has_few_degrees_of_freedom():
    n = 400
    even = np.tile([-1.0, 1.0], n // 2)
    normal = np.random.default_rng(0).normal(size=n)
    alone = np.r_[np.zeros(n - 1), 1.0]
    assert degrees_of_freedom(even) == n
    assert 0.3 * n < degrees_of_freedom(normal) < 0.7 * n  # the fourth moment is three
    assert degrees_of_freedom(alone) < 1.1
    assert degrees_of_freedom(np.ones(n)) == n - 1
