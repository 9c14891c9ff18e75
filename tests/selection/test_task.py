"""Task: folds, thresholds, samples; scores are scikit-learn's; what is refused at once."""

import numpy as np
import pytest
from sklearn.metrics import (
    accuracy_score,
    get_scorer,
    log_loss,
    make_scorer,
    r2_score,
    roc_auc_score,
)
from sklearn.model_selection import KFold, PredefinedSplit, TimeSeriesSplit

import gramsmith as gs
from gramsmith.selection import Work, read
from gramsmith.selection.choose import choose
from gramsmith.selection.kinds import read_task
from gramsmith.selection.scores import Answers, area_under_roc, positive_class

BINARY = np.array([0, 1] * 20)


@pytest.fixture
def decisions(rng):
    y = (rng.random(200) < 0.3).astype(int)
    return (y + 0.7 * rng.normal(size=200) - 0.5)[:, None], y


class Says:
    """A fitted classifier that decides by given values."""

    _estimator_type = "classifier"

    def __init__(self, F, classes):
        self.F, self.classes_ = F, np.asarray(classes)

    def predict(self, X):
        code = (self.F[:, 0] > 0).astype(int) if self.F.shape[1] == 1 else self.F.argmax(axis=1)
        return self.classes_[code]


COUNTED = [
    f"{base}_{mean}"
    for base in ("f1", "precision", "recall", "jaccard")
    for mean in ("macro", "micro", "weighted")
]


@pytest.mark.parametrize("name", ["accuracy", "balanced_accuracy", *COUNTED])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("classes", [2, 3])
def test_counted_scores_are_scikit_learns(name, weighted, classes, rng):
    """All from sums for every class: one weighted confusion matrix."""
    y = rng.integers(0, classes, 90)
    F = rng.normal(size=(90, classes)) + np.eye(classes)[y]
    F = F[:, 1:] - F[:, :1] if classes == 2 else F
    w = rng.uniform(0.5, 2.0, 90) if weighted else None
    task, rows = read_task(y, scoring=name, sample_weight=w), np.arange(90)
    assert task.parts(Answers(F), rows) is not None
    says, metric = Says(F, np.arange(classes)), get_scorer(name)
    options = {"average": name.split("_")[-1]} if name in COUNTED else {}
    expected = metric._score_func(y, says.predict(None), sample_weight=w, **options)
    assert -task.loss(Answers(F), rows) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("classes", "counts", "found"),
    [
        (["bad", "good"], [3, 7], "bad"),
        (["bad", "good"], [7, 3], "good"),
        (["no", "yes"], [3, 7], "yes"),
        ([0, 1], [3, 7], 1),
        ([False, True], [3, 7], True),
        ([1.0, 2.0], [7, 3], 1.0),
        (["decoy", "site"], [5, 5], "site"),  # the second, as in scikit-learn
    ],
)
def test_the_class_that_is_to_be_found(classes, counts, found):
    assert classes[positive_class(np.array(classes), counts)] == found


@pytest.mark.parametrize("name", ["f1", "precision", "recall", "jaccard", "average_precision"])
def test_the_rarer_class_counts_and_is_decided_once(name, decisions):
    f, y = decisions
    labels = np.array(["ill", "well"])
    one, two = (read_task(labels[code], task="classification", scoring=name) for code in (y, 1 - y))
    rows = np.arange(200)
    expected = get_scorer(name)._score_func(y, f[:, 0] if "average" in name else f[:, 0] > 0)
    for task, values in ((one, f), (two, -f)):
        assert -task.loss(Answers(values), rows) == pytest.approx(expected)
        # among rows of which most are of the rare class it is still the one that counts
        few = np.r_[np.flatnonzero(y == 1), np.flatnonzero(y == 0)[:10]]
        assert task.at(few).score.positive == task.score.positive


@pytest.mark.parametrize("outputs", [1, 2])
@pytest.mark.parametrize(
    "name", ["r2", "neg_mean_squared_error", "neg_mean_absolute_error", "explained_variance"]
)
def test_scores_of_values_are_scikit_learns(name, outputs, rng):
    y = 1e3 * rng.normal(size=(60, outputs)) * np.arange(1, outputs + 1) + 7.0
    f, w = y + 300.0 * rng.normal(size=(60, outputs)), rng.uniform(0.5, 2.0, 60)
    task = read_task(y if outputs > 1 else y[:, 0], scoring=name, sample_weight=w)
    metric = get_scorer(name)
    expected = metric._sign * metric._score_func(y, f, sample_weight=w)
    answers = Answers(task.in_units(f))
    assert -task.loss(answers, np.arange(60)) == pytest.approx(expected)
    assert 0 < task.error(answers, np.arange(60)) < np.inf


def test_the_jackknife_of_r2_deletes_from_both_sums(rng):
    y = np.exp(rng.normal(size=50))
    f = y + rng.normal(size=50)
    left = [r2_score(np.delete(y, i), np.delete(f, i)) for i in range(50)]
    task = read_task(y)
    expected = np.sqrt(49 / 50 * np.sum((left - np.mean(left)) ** 2))
    assert task.error(Answers(task.in_units(f)), np.arange(50)) == pytest.approx(expected)
    groups = np.arange(50) // 5
    left = [r2_score(y[groups != g], f[groups != g]) for g in range(10)]
    task = read_task(y, groups=groups)
    expected = np.sqrt(9 / 10 * np.sum((left - np.mean(left)) ** 2))
    assert task.error(Answers(task.in_units(f)), np.arange(50)) == pytest.approx(expected)


def test_scorers_that_read_probabilities(rng):
    """Made scorers and callables get probabilities, and no threshold is looked for."""
    X = rng.normal(size=(60, 2))
    y = (X[:, 0] + 0.5 * rng.normal(size=60) > 0).astype(int)
    made = make_scorer(log_loss, response_method="predict_proba", greater_is_better=False)

    def own(model, X, y):
        return -log_loss(y, model.predict_proba(X), labels=[0, 1])

    found = [choose(read(X, y, ["rbf"], scoring=s), Work()) for s in ("neg_log_loss", made, own)]
    assert not any(one.task.tunes_threshold for one in found)
    losses = [one.result.loss for one in found]
    assert losses == pytest.approx(losses[:1] * 3)


def test_threshold_is_tuned_where_the_score_asks(rng):
    y = (rng.random(400) < 0.1).astype(int)
    task = read_task(y, task="classification", scoring="balanced_accuracy")
    f = (y + rng.normal(size=400) - 1.5)[:, None]  # a machine that hardly ever says 1
    rows = np.arange(400)
    assert task.tunes_threshold
    cut = task.best_threshold(f, rows)
    assert task.loss(Answers(f - cut), rows) < task.loss(Answers(f), rows) - 0.05


@pytest.mark.parametrize(
    "scoring", [None, "accuracy", "roc_auc", "neg_log_loss", "neg_brier_score"]
)
def test_other_scores_keep_the_threshold(scoring):
    assert not read_task(BINARY, scoring=scoring).tunes_threshold


@pytest.mark.parametrize("scoring", ["f1", "balanced_accuracy", "precision"])
def test_thresholds_at_once_are_those_one_by_one(rng, scoring):
    y = (rng.random(80) < 0.3).astype(int)
    f = np.round(y + rng.normal(size=80), 1)[:, None]  # with ties
    task = read_task(y, scoring=scoring, sample_weight=rng.uniform(0.5, 2.0, 80))
    rows = np.arange(80)
    levels = np.unique(np.quantile(f, np.linspace(0.01, 0.99, 99)))
    losses = np.array([task.loss(Answers(f - level), rows) for level in levels])
    best = task.best_threshold(f, rows)
    assert task.loss(Answers(f - best), rows) == pytest.approx(losses.min(), abs=1e-12)


def test_a_threshold_nothing_depends_on_stays_zero(rng):
    scorer = make_scorer(roc_auc_score, response_method="decision_function")
    task = read_task((rng.random(60) < 0.5).astype(int), scoring=scorer)
    assert task.best_threshold(rng.normal(size=(60, 1)), np.arange(60)) == 0.0


def test_probabilities_are_calibrated(decisions):
    f, y = decisions
    task = read_task(y, scoring="neg_log_loss")
    rows, fold = np.arange(200), np.arange(200) % 5
    one, same = (task.answers(scale * f, rows, fold) for scale in (1.0, 5.0))
    loss = task.loss(one, rows)
    assert loss == pytest.approx(task.loss(same, rows), abs=1e-4)
    assert loss == pytest.approx(log_loss(y, one.p))
    assert loss < task.loss(task.constant(rows)[0], rows)


def test_several_classes_have_an_area_too(rng):
    y = rng.integers(0, 3, 90)
    F = np.eye(3)[y] + 0.5 * rng.normal(size=(90, 3))
    task, rows = read_task(y, scoring="roc_auc_ovr"), np.arange(90)
    area = -task.loss(task.answers(F, rows, rows % 5), rows)
    assert area == pytest.approx(
        np.mean([roc_auc_score(y == c, F[:, c]) for c in range(3)]), abs=0.05
    )


@pytest.mark.parametrize(
    ("scoring", "y", "advice"),
    [
        ("acuracy", ["a", "b"] * 4, "'accuracy'"),
        ("xyzzy", ["a", "b"] * 4, "accuracy, f1 or r2"),
        ("f1", ["a", "b", "c"] * 4, "f1_macro"),
        ("roc_auc", ["a", "b", "c"] * 4, "roc_auc_ovr"),
        ("f1", np.linspace(0, 1, 12), "neg_mean_absolute_error"),
        ("r2", ["a", "b"] * 4, "balanced_accuracy"),
    ],
)
def test_scores_that_cannot_be_are_refused_at_once(scoring, y, advice):
    with pytest.raises(ValueError, match=advice):
        read_task(y, scoring=scoring)


def test_a_score_without_weights_says_so(decisions):
    f, y = decisions

    def own(machine, X, y):
        return float(np.mean(machine.predict(X) == y))

    with pytest.warns(UserWarning, match="takes no sample_weight"):
        task = read_task(y, scoring=own, sample_weight=np.linspace(1.0, 2.0, 200))
    assert -task.loss(Answers(f), np.arange(200)) == pytest.approx(np.mean((f[:, 0] > 0) == y))


def test_error_of_a_score_by_the_jackknife(rng):
    """For the accuracy, a mean, the jackknife gives the usual standard error."""
    y = (rng.random(2000) < 0.5).astype(int)
    f = (y + rng.normal(size=2000) - 0.5)[:, None]
    plain, same = (read_task(y, scoring=s) for s in (None, make_scorer(accuracy_score)))
    rows, one = np.arange(2000), Answers(f)
    assert same.error(one, rows) == pytest.approx(plain.error(one, rows), rel=0.6)
    two = Answers(f + 0.3 * rng.normal(size=(2000, 1)))
    for a, b in zip(same.difference(two, one, rows), plain.difference(two, one, rows), strict=True):
        assert a == pytest.approx(b, rel=0.6)


def test_no_mistake_is_no_certainty():
    task = read_task(np.arange(100) % 2)
    right = task.codes
    wrong = np.where(np.arange(100)[:, None] < 20, -right, right)
    assert 0.0 < task.error(Answers(right), np.arange(100)) < 0.01
    assert task.error(Answers(wrong), np.arange(100)) == pytest.approx(0.04, rel=0.02)


def test_weights_count_in_every_score():
    y, w = BINARY, np.r_[np.ones(20), np.zeros(20)]
    f = np.where(y == 1, 1.0, -1.0) * np.r_[np.ones(20), -np.ones(20)]  # the second half is wrong
    for scoring in (None, "roc_auc", "balanced_accuracy", "f1"):
        task = read_task(y, sample_weight=w, scoring=scoring)
        assert task.loss(Answers(f[:, None]), np.arange(40)) == pytest.approx(-1.0)


# ---- folds and samples --------------------------------------------------------------------------


def test_groups_stay_together():
    groups = np.repeat(np.arange(8), 5)
    task = read_task(BINARY, groups=groups)
    assert not task.exchangeable
    for train, test in task.splits(np.arange(40), 4):
        assert not set(groups[train]) & set(groups[test])
    with pytest.raises(ValueError, match="two groups"):
        read_task(BINARY, groups=np.zeros(40))


def test_splitter_of_the_user():
    splits = read_task(np.arange(20.0) ** 2, cv=TimeSeriesSplit(3)).splits(np.arange(20), 5)
    assert len(splits) == 3
    assert all(train.max() < test.min() for train, test in splits)
    task = read_task(BINARY, cv=KFold(3).split(BINARY))  # a generator is read once
    assert [len(task.splits(np.arange(40), 5)) for _ in range(2)] == [3, 3]


@pytest.mark.parametrize("cv", [None, 10])
def test_a_class_of_two_rows_does_not_decide_the_folds(cv):
    y = np.array([0] * 40 + [1] * 40 + [2] * 2)
    splits = read_task(y, cv=cv).splits(np.arange(82), 5)
    assert len(splits) == (cv or 5)
    assert sum(2 in y[test] for _, test in splits) == 2
    assert len(read_task(y, cv=cv).plain_splits(np.arange(82), 4)) == 4


@pytest.mark.parametrize("as_list", [True, False])
def test_given_folds_are_cut_to_the_rows_in_use(as_list):
    folds = np.arange(40) % 4
    cv = PredefinedSplit(folds)
    task = read_task(BINARY, cv=list(cv.split()) if as_list else cv)
    rows = np.array([3, 7, 20, 21, 22, 30, 38, 39])
    for (train, test), fold in zip(task.splits(rows, 5), (0, 1, 2, 3), strict=True):
        assert (folds[rows[test]] == fold).all()
        np.testing.assert_array_equal(np.sort(np.r_[train, test]), np.arange(8))
    task = read_task(np.arange(9.0) ** 2, cv=[(np.arange(6), np.arange(6, 9))])
    with pytest.raises(ValueError, match="cv=5"):
        task.splits(np.arange(5), 5)


def test_sample_keeps_every_class():
    y = np.array([0] * 990 + [1] * 10)
    rows = read_task(y).sample(100)
    assert set(y[rows]) == {0, 1}
    assert abs(len(rows) - 100) <= 2
    assert (np.diff(rows) > 0).all()


def test_class_weight_multiplies_sample_weight():
    task = read_task(list("aab"), sample_weight=[1.0, 2.0, 3.0], class_weight={"b": 5.0})
    np.testing.assert_allclose(task.weights, np.array([1.0, 2.0, 15.0]) / 6.0)
    # accuracy would not see weights that balance the classes
    assert read_task(list("aab"), class_weight="balanced").score.name == "balanced_accuracy"


@pytest.mark.parametrize("y", [["bad"] * 5 + ["fine"] * 95, ["bad"] * 95 + ["fine"] * 5])
def test_of_constants_that_score_the_same_the_most_frequent_is_named(y):
    """By balanced accuracy every constant is right for one half."""
    task = read_task(np.array(y), scoring="balanced_accuracy")
    assert task.constant(np.arange(100))[1] == f"always answering {max(set(y), key=y.count)!r}"


def test_three_classes_have_a_column_each():
    codes = read_task(np.array([0, 1, 2] * 2)).codes
    assert codes[:3].tolist() == [[1, -1, -1], [-1, 1, -1], [-1, -1, 1]]


def test_the_unit_of_the_target_changes_nothing(rng):
    X = rng.normal(size=(90, 2))
    y = np.sin(X[:, 0]) + 0.2 * rng.normal(size=90)
    one, tiny = (gs.rank_kernels(X, y * unit, ["rbf", "linear"]) for unit in (1.0, 1e-12))
    assert tiny.estimate.value == pytest.approx(one.estimate.value, abs=1e-9)
    np.testing.assert_allclose(
        tiny.best_estimator.predict(X) * 1e12, one.best_estimator.predict(X), rtol=1e-7
    )


# ---- what is refused, or said -------------------------------------------------------------------


def test_whole_numbers_are_classes_unless_said_otherwise():
    assert read_task([1, 2, 1, 2]).kind == "classification"
    assert read_task([1, 2, 1, 2], task="regression").kind == "regression"
    assert read_task([1.5, 2.0, 1.0]).kind == "regression"
    assert read_task(np.arange(50)).kind == "regression"
    with pytest.raises(ValueError, match='task="regression"'):
        read_task(np.arange(50), task="classification")


@pytest.mark.parametrize(
    ("y", "options", "message"),
    [
        (["a", "b"], {"task": "regression"}, "got 'a' in row 0"),
        ([0.5, 1.5], {"task": "classification"}, "Unknown label type"),
        (["a", "b"], {"sample_weight": [1.0, 0.0]}, "at least two classes"),
    ],
)
def test_targets_that_cannot_be_are_refused(y, options, message):
    with pytest.raises(ValueError, match=message):
        read_task(y, **options)


def test_classes_that_differ_by_case_are_pointed_out():
    with pytest.warns(UserWarning, match="case or blanks only: 'No' and 'no'"):
        read_task(["no", "No", "yes"] * 4)


def test_the_area_under_the_roc_curve_is_scikit_learns(rng):
    for trial in range(50):
        f = np.round(rng.normal(size=40), 1 + trial % 3)  # with ties
        y = rng.random(40) < 0.3
        w = None if trial % 2 else rng.exponential(size=40) * (rng.random(40) < 0.8)
        expected = roc_auc_score(y, f, sample_weight=w)
        assert area_under_roc(f, y, w) == pytest.approx(expected, abs=1e-13)
    assert np.isnan(area_under_roc(f, np.ones(40, dtype=bool)))
