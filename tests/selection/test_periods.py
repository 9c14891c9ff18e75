"""Folds that only look back: periods in time, the estimate for the next one."""

import datetime

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.model_selection import TimeSeriesSplit
from sklearn.svm import SVC

import gramsmith as gs
from gramsmith.selection import read
from gramsmith.selection.estimate import can_nest, next_period
from gramsmith.selection.held_out import HeldOut
from gramsmith.selection.kinds import read_task
from gramsmith.selection.periods import Periods
from gramsmith.selection.random_folds import dealt_out
from gramsmith.selection.scores import Answers
from gramsmith.selection.task import NoFolds

KERNELS = {"narrow": gs.Gaussian(0.5), "wide": gs.Gaussian(2.0), "linear": gs.Linear()}


def table(n=120, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"a": rng.normal(size=n), "b": rng.normal(size=n)})
    return X, np.where(X.a + 0.3 * rng.normal(size=n) > 0, "up", "down")


def drifting(n=200, seed=0):
    """Rows in runs of ten that are nearly the same, whose labels are drawn anew for every run."""
    rng = np.random.default_rng(seed)
    run = np.arange(n) // 10
    X = rng.normal(size=(n // 10, 2))[run] + 0.01 * rng.normal(size=(n, 2))
    return X, (rng.permutation(n // 10) % 2)[run]


# ---- folds --------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [20, 100, 203])
@pytest.mark.parametrize("count", [2, 3, 5])
def test_without_ties_folds_are_those_of_scikit_learn(n, count):
    found = Periods(np.arange(n), count=count).splits(np.arange(n))
    twin = TimeSeriesSplit(count, test_size=n // (2 * count)).split(np.zeros(n))
    assert len(found) == count
    for (train, test), (a, b) in zip(found, twin, strict=True):
        assert train.tolist() == a.tolist()
        assert test.tolist() == b.tolist()


def test_a_gap_is_that_of_scikit_learn():
    found = Periods(np.arange(100), gap=7).splits(np.arange(100))
    twin = TimeSeriesSplit(5, test_size=10, gap=7).split(np.zeros(100))
    for (train, test), (a, b) in zip(found, twin, strict=True):
        assert train.tolist() == a.tolist()
        assert test.tolist() == b.tolist()


def test_the_order_of_the_rows_does_not_matter():
    order = np.random.default_rng(0).permutation(80)
    straight = Periods(np.arange(80.0)).splits(np.arange(80))
    mixed = Periods(order.astype(float)).splits(np.arange(80))
    for (a, b), (c, d) in zip(straight, mixed, strict=True):
        assert set(order[c]) == set(a)
        assert set(order[d]) == set(b)


@pytest.mark.parametrize("horizon", [None, 3.0])
def test_rows_of_one_time_stay_together_and_teach_only_what_comes_later(horizon):
    time = np.random.default_rng(0).integers(0, 20, 150).astype(float)
    found = Periods(time, horizon).splits(np.arange(150))
    assert len(found) > 2
    for train, test in found:
        assert time[train].max() < time[test].min()
    tested = [set(time[test]) for _, test in found]
    assert sum(map(len, tested)) == len(set.union(*tested))
    assert max(time) in tested[-1]


def test_periods_have_the_length_that_was_asked_for():
    found = Periods(np.arange(100.0), horizon=12.0, gap=5.0).splits(np.arange(100))
    assert [len(test) for _, test in found] == [12] * 5
    assert [test[0] - train[-1] for train, test in found] == [6] * 5
    assert found[-1][1][-1] == 99


def test_a_group_in_the_period_teaches_nothing():
    groups = np.arange(100) // 4 % 10
    found = Periods(np.arange(100)).splits(np.arange(100), groups)
    assert found
    for train, test in found:
        assert not set(groups[train]) & set(groups[test])


def test_a_part_of_the_rows_has_periods_of_its_own():
    known = Periods(np.arange(100.0), horizon=20.0)
    assert [len(test) for _, test in known.splits(np.arange(100))] == [20, 20, 20]
    inner = known.at(np.arange(40))  # no two periods of 20 with a third of the rows before
    assert inner.horizon is None
    assert len(inner.splits(np.arange(40))) == 5


def test_blocks_are_consecutive_and_keep_groups_and_times_together():
    rows = np.arange(200)
    block = Periods(rows.astype(float)).blocks(rows)
    assert np.all(np.diff(block) >= 0)
    assert np.unique(block).tolist() == list(range(20))
    groups = np.random.default_rng(0).integers(0, 40, 200)
    grouped = Periods(rows // 7).blocks(rows, groups)
    assert all(len(np.unique(grouped[groups == g])) == 1 for g in np.unique(groups))


def test_random_folds_have_the_sizes_of_the_others_and_test_the_same_rows():
    splits = Periods(np.arange(90), gap=3).splits(np.arange(90))
    groups = np.arange(90) // 3
    dealt = list(dealt_out(splits, groups, 0))
    assert [len(test) for _, test in dealt] == [len(test) for _, test in splits]
    together = np.concatenate([test for _, test in dealt])
    assert sorted(together) == sorted(np.concatenate([test for _, test in splits]))
    assert any(train.max() > test.min() for train, test in dealt)
    for train, test in dealt:
        assert not set(groups[train]) & set(groups[test])


# ---- reading ------------------------------------------------------------------------------------

DAYS = pd.date_range("2024-01-01", periods=120)


@pytest.mark.parametrize(
    "time",
    [
        DAYS,
        DAYS.to_numpy(),
        [day.date() for day in DAYS],
        DAYS.strftime("%Y-%m-%d").tolist(),
        pd.Series(DAYS.strftime("%d.%m.%Y")),
    ],
)
@pytest.mark.parametrize("horizon", [14, datetime.timedelta(days=14), np.timedelta64(14, "D")])
def test_dates_in_any_writing_and_lengths_in_days(time, horizon):
    X, y = table()
    task = read(X, y, KERNELS, time_order=time, horizon=horizon, gap=pd.Timedelta(days=1)).task
    splits = task.splits(np.arange(120), 5)
    assert [len(test) for _, test in splits] == [14] * 5
    assert splits[-1][1][0] - splits[-1][0][-1] == 2


def test_a_column_of_time_is_no_feature():
    X, y = table()
    problem = read(X.assign(day=DAYS), y, KERNELS, time_order="day")
    assert problem.samples.n_features == 2
    assert [c.role for c in problem.plan.columns if c.name == "day"] == ["time"]
    assert read(X.assign(day=DAYS), y, KERNELS, time_order=DAYS).samples.n_features > 2


@pytest.mark.parametrize(
    "options",
    [
        {"horizon": 3},
        {"gap": 3},
        {"roles": {"a": "time"}},
        {"time_order": "day"},
        {"time_order": "a", "cv": TimeSeriesSplit(3)},
        {"time_order": np.arange(119)},
        {"time_order": np.arange(240).reshape(120, 2)},
        {"time_order": np.r_[np.nan, np.arange(119)]},
        {"time_order": ["spring", "autumn"] * 60},
        {"time_order": np.zeros(120)},
        {"time_order": np.arange(120), "horizon": 100},
        {"time_order": np.arange(120), "horizon": 0},
        {"time_order": np.arange(120), "horizon": "14D"},
        {"time_order": np.arange(120), "horizon": datetime.timedelta(days=1)},
        {"time_order": np.arange(120), "gap": -1},
        {"time_order": np.arange(120), "gap": 110},
        {"time_order": np.arange(120), "groups": np.arange(120) % 4},
    ],
)
def test_what_cannot_be_is_refused_before_any_work(options):
    X, y = table()
    with pytest.raises(ValueError, match="Expected"):
        read(X, y, KERNELS, **options)


def test_an_array_has_no_column_of_time():
    X, y = table()
    with pytest.raises(ValueError, match="data frame"):
        read(X.to_numpy(), y, KERNELS, time_order="a")


def test_periods_before_which_there_is_one_class_are_left_out():
    X, _ = table()
    y = np.r_[np.zeros(65), np.tile([0, 1], 28)[:55]].astype(int)
    task = read(X, y, KERNELS, time_order=np.arange(120)).task
    assert len(task.splits(np.arange(120), 5)) == 4
    with pytest.raises(NoFolds):
        read(X, np.r_[np.zeros(118), 1, 1].astype(int), KERNELS, time_order=np.arange(120))


# ---- every place that took rows for exchangeable ------------------------------------------------


def test_no_row_is_judged_by_what_came_later():
    """An estimator that remembers what it was taught, in every fold of every step."""
    X, y = table(80)
    time = np.random.default_rng(1).permutation(80).astype(float)
    seen = []

    class Watching(SVC):
        def fit(self, Z, y, sample_weight=None):
            self.latest_ = Z[:, 2].max()
            return super().fit(Z, y, sample_weight)

        def predict(self, Z):
            # the model that is delivered at the end predicts nothing here
            seen.append((self.latest_, Z[:, 2].min()))
            return super().predict(Z)

    Z = np.c_[X.to_numpy(), time]
    estimators = {"watching": Watching()}
    ranking = gs.rank_kernels(
        Z, y, KERNELS, time_order=time, estimators=estimators, frames=["watching"]
    )
    # five folds of the choice, five of each choice made anew, and its answer
    assert len(seen) == 5 + 5 * 6
    assert all(latest < first for latest, first in seen)
    assert ranking.estimate.kind == "nested cross-validation"


def test_held_out_records_are_those_of_machines_that_look_back():
    X, y = table()
    time = np.random.default_rng(1).permutation(120)
    ranking = gs.rank_kernels(X, y, {"wide": gs.Gaussian(2.0)}, time_order=time, cv=3)
    record = ranking._findings.results[0].record
    best = ranking._findings.results[0].setting
    for number, (train, test) in enumerate(Periods(time, count=3).splits(np.arange(120))):
        assert sorted(record.rows[record.fold == number]) == sorted(test)
        Z = ranking.best_estimator[:-1].transform(X)
        twin = gs.KernelRidgeClassifier(gs.Gaussian(2.0), alpha=best * len(train))
        f = twin.fit(Z[train], y[train]).decision_function(Z[record.rows[record.fold == number]])
        known = ranking._findings.results[0].values[record.fold == number, 0]
        assert np.allclose(known, f, atol=1e-8)


def test_the_headline_of_many_rows_is_of_machines_that_look_back():
    """Beyond 1 000 rows machines of all rows are verified: refitted here with what came before."""
    X, y = table(1300)
    time = np.random.default_rng(1).permutation(1300)
    ranking = gs.rank_kernels(X, y, {"wide": gs.Gaussian(2.0)}, time_order=time)
    assert ranking.estimate.rows == 650
    Z = ranking.best_estimator[:-1].transform(X)
    right, alpha = [], ranking.best_estimator[-1].alpha_
    for train, test in Periods(time).splits(np.arange(1300)):
        twin = gs.KernelRidgeClassifier(gs.Gaussian(2.0), alpha=alpha * len(train) / 1300)
        right += (twin.fit(Z[train], y[train]).predict(Z[test]) == y[test]).tolist()
    # less what choosing among seven regularisers has gained
    assert np.mean(right) - 0.02 < ranking.estimate.value <= np.mean(right) + 1e-9


def test_thresholds_and_probabilities_are_those_of_earlier_periods():
    X, y = table()
    task = read(X, y, KERNELS, time_order=np.arange(120), scoring="neg_log_loss").task
    splits = task.splits(np.arange(120), 5)
    rows = np.concatenate([test for _, test in splits])
    fold = np.repeat(np.arange(5), 12)
    f = np.random.default_rng(0).normal(size=(60, 1))
    p = task.probabilities(f, rows, fold)
    changed = f.copy()
    changed[fold == 4] += 5.0  # what comes last changes nothing before it
    assert np.allclose(task.probabilities(changed, rows, fold)[12:48], p[12:48])


def test_learned_kernels_are_proved_on_what_came_later():
    X, y = table(300)
    time = np.random.default_rng(1).permutation(300)
    task = read(X, y, KERNELS, time_order=time).task
    taught = task.lesson(np.arange(300), 1000)
    fresh = task.fresh(np.arange(300), taught)
    assert len(taught) == 180
    assert np.count_nonzero(fresh) == 120
    assert time[taught].max() < time[fresh].min()
    few = task.lesson(np.arange(300), 50)
    assert len(few) <= 52
    assert np.all(np.isin(few, taught))


def test_measures_are_left_out_by_blocks_of_time():
    """Values that stand still for long are fewer than their rows: errors say so."""
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(24, 2)), 10, axis=0) + 0.01 * rng.normal(size=(240, 2))
    y = np.repeat(rng.normal(size=24), 10) + X[:, 0]
    known = {
        order: gs.rank_kernels(X, y, KERNELS, task="regression", time_order=times).records[0]
        for order, times in (("slow", np.arange(240)), ("fast", rng.permutation(240)))
    }
    assert known["slow"]["cka_error"] > 1.5 * known["fast"]["cka_error"]


def test_columns_are_shuffled_within_their_period():
    """A column that tells the period, and nothing within it, has no importance."""
    n = 200
    rng = np.random.default_rng(0)
    level = np.repeat(np.arange(10), 20)
    X = pd.DataFrame({"a": rng.normal(size=n), "level": level})
    y = X.a.to_numpy() + 3.0 * level
    ranking = gs.rank_kernels(X, y, {"linear": gs.Linear()}, time_order=np.arange(n))
    lost = {name: gap for name, gap, _ in ranking.evidence.importance}
    assert lost["level"] == pytest.approx(0.0, abs=1e-9)
    assert lost["a"] > 0.01


# ---- the estimate -------------------------------------------------------------------------------


def record_of(right, task):
    rows = np.concatenate([test for _, test in task.splits(np.arange(task.n), 5)])
    fold = np.repeat(np.arange(5), len(rows) // 5)
    f = np.where(right, 2.0 * task.y[rows] - 1.0, 1.0 - 2.0 * task.y[rows])[:, None]
    return Answers(f), HeldOut("ridge", "cross-validation", np.zeros(1), f[None], rows, fold, 70.0)


def test_the_interval_is_of_a_period_and_no_narrower_than_of_independent_rows():
    y = np.tile([0, 1], 100)
    task = read_task(y, periods=Periods(np.arange(200.0)))
    rng = np.random.default_rng(0)
    even = np.arange(100) % 5 > 0  # four of five are right in every block
    error, count = next_period(*record_of(even, task), task)
    share = (0.8 * 100 + 0.5) / 101
    assert count == 100
    assert error == pytest.approx(np.sqrt(share * (1 - share) * 6 / 100))
    runs = np.repeat(rng.permutation(np.arange(5) < 4), 20)  # one whole period is wrong
    wide, periods = next_period(*record_of(runs, task), task)
    assert periods == 5
    assert wide == pytest.approx(np.std([1, 1, 1, 1, 0], ddof=1) * np.sqrt(1.2))


def test_what_random_folds_would_have_promised_is_said_with_the_figure():
    X, y = drifting()
    ranking = gs.rank_kernels(X, y, KERNELS, time_order=np.arange(200))
    [remark] = [a for a in ranking._findings.advice if a.code == "random folds"]
    assert remark.message in ranking.warnings
    assert ranking.estimate.value < 0.75
    assert gs.rank_kernels(X, y, KERNELS).estimate.value > 0.95


def test_nothing_is_said_where_random_folds_promise_no_more():
    said = 0
    for seed in range(5):
        X, y = table(seed=seed)
        found = gs.rank_kernels(X, y, KERNELS, time_order=np.arange(120))._findings
        said += any(a.code == "random folds" for a in found.advice)
    assert said <= 1


def test_the_choice_is_made_anew_only_if_there_are_periods_to_choose_in():
    X, y = table()
    options = {"time_order": np.arange(120)}
    assert can_nest(read(X, y, KERNELS, **options).task, 5)
    assert not can_nest(read(X, y, KERNELS, gap=50, **options).task, 5)


@pytest.mark.parametrize(
    "options",
    [
        {"scoring": "roc_auc"},
        {"scoring": "balanced_accuracy", "class_weight": "balanced"},
        {"sample_weight": np.tile([0.0, 1.0, 2.0], 40)},
        {"groups": np.arange(120) // 3},
        {"machine": SVC()},
        {"time_budget": 30.0},
        {"horizon": 25.0, "gap": 5.0},
        {"cv": 2},
    ],
)
def test_time_goes_with(options):
    X, y = table()
    ranking = gs.rank_kernels(
        X,
        y,
        KERNELS,
        time_order=np.arange(120),
        estimators={"trees": ExtraTreesClassifier(10, random_state=0)},
        **options,
    )
    assert 0.6 < ranking.estimate.value <= 1.0
    assert ranking.estimate.low < ranking.estimate.value <= ranking.estimate.high
    assert ranking.other_records[0]["score"] > 0.5
    rows = ranking._findings.result.record.rows
    assert set(rows) <= set(range(40, 120))


def test_values_and_labels_have_times_too():
    X, _ = table()
    ranking = gs.rank_kernels(X, X.a**2, KERNELS, time_order=np.arange(120))
    assert ranking.estimate.value > 0.5
    labels = np.c_[X.a > 0, X.b > 0].astype(int)
    assert gs.rank_kernels(X, labels, KERNELS, time_order=np.arange(120)).estimate.value > 0.8


def test_a_selector_learns_from_the_past():
    X, y = table()
    selector = gs.KernelSelector(KERNELS, horizon=10, gap=2)
    selector.fit(X.assign(day=DAYS), y, time_order="day")
    assert set(selector.ranking_._findings.result.record.fold) == set(range(5))
    assert np.mean(selector.predict(X) == y) > 0.8
    twin = gs.KernelSelector(KERNELS, horizon=10, gap=2).fit(X, y, time_order=DAYS)
    assert np.array_equal(twin.predict(X), selector.predict(X))


def test_another_order_in_time_is_another_run(tmp_path):
    X, y = table()
    path = tmp_path / "progress"
    first = gs.rank_kernels(X, y, KERNELS, time_order=np.arange(120), resume=path)
    again = gs.rank_kernels(X, y, KERNELS, time_order=np.arange(120), resume=path)
    assert first.estimate == again.estimate
    assert again.seconds["cross-validation"] < 1.0
    with pytest.raises(ValueError, match="another"):
        gs.rank_kernels(X, y, KERNELS, time_order=np.arange(120)[::-1], resume=path)


@pytest.mark.parametrize("walk", [True, False], ids=["walk", "noise"])
def test_the_baseline_is_known_before_the_period(walk):
    rng = np.random.default_rng(4)
    X, when = rng.normal(size=(160, 2)), np.arange(160)
    y = 50.0 + (np.cumsum(rng.normal(size=160)) if walk else rng.normal(size=160))
    ranking = gs.rank_kernels(X, y, ["linear"], time_order=when)
    errors = {"predicting the last value": [], "predicting the mean in earlier rows": []}
    periods = ranking._findings.task.periods.splits(when)
    truth = np.concatenate([y[test] for _, test in periods])
    for train, test in periods:
        errors["predicting the last value"].append(y[test] - y[train[-1]])
        errors["predicting the mean in earlier rows"].append(y[test] - y[train].mean())
    scores = {
        name: 1.0 - np.sum(np.concatenate(parts) ** 2) / np.sum((truth - truth.mean()) ** 2)
        for name, parts in errors.items()
    }
    best = max(scores, key=scores.get)
    assert best.startswith("predicting the last" if walk else "predicting the mean")
    assert best in ranking.verdict.text
    assert ranking.estimate.baseline == pytest.approx(scores[best], abs=1e-9)


def test_dates_among_the_inputs_are_mentioned_where_folds_do_not_look_at_them(rng):
    n = 60
    X = pd.DataFrame({"day": pd.date_range("2024-01-01", periods=n), "x": rng.normal(size=n)})
    y = X["x"] + 0.1 * np.arange(n)
    kernels = ["linear", "rbf"]
    said = gs.rank_kernels(X, y, kernels).warnings
    assert any("'day'" in text and "time_order" in text for text in said)
    for options in ({"time_order": "day"}, {"cv": TimeSeriesSplit(4)}):
        said = gs.rank_kernels(X, y, kernels, **options).warnings
        assert not any("folds are random" in text for text in said)
