"""Judge: losses, folds, thresholds, samples."""

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, balanced_accuracy_score, make_scorer, roc_auc_score
from sklearn.model_selection import KFold, PredefinedSplit, TimeSeriesSplit

from gramsmith.selection.judge import Judge

BINARY = np.array([0, 1] * 20)


def test_plain_loss_is_the_share_of_errors():
    judge = Judge("classification", BINARY, np.array(["a", "b"]))
    f = np.where(BINARY == 1, 1.0, -1.0)
    f[:4] *= -1
    assert judge.loss(f, np.arange(40)) == pytest.approx(0.1)


def test_named_score_is_scikit_learns(rng):
    y = (rng.random(40) < 0.2).astype(int)
    judge = Judge("classification", y, np.array(["a", "b"]), scoring="balanced_accuracy")
    f = rng.normal(size=40)
    assert judge.loss(f, np.arange(40)) == pytest.approx(-balanced_accuracy_score(y, f > 0))


def test_threshold_is_tuned_where_the_score_asks(rng):
    y = (rng.random(400) < 0.1).astype(int)
    judge = Judge("classification", y, np.array([0, 1]), scoring="balanced_accuracy")
    f = y + rng.normal(size=400) - 1.5  # a machine that hardly ever says 1
    assert judge.tunes_threshold
    cut = judge.best_threshold(f, np.arange(400))
    assert judge.loss(f, np.arange(400), cut) < judge.loss(f, np.arange(400)) - 0.05


@pytest.mark.parametrize("scoring", [None, "accuracy", "roc_auc"])
def test_other_scores_keep_the_threshold(scoring):
    assert not Judge("classification", BINARY, np.array([0, 1]), scoring=scoring).tunes_threshold


def test_groups_stay_together():
    groups = np.repeat(np.arange(8), 5)
    judge = Judge("classification", BINARY, np.array([0, 1]), groups=groups)
    assert not judge.exchangeable
    for train, test in judge.splits(np.arange(40), 4):
        assert not set(groups[train]) & set(groups[test])


def test_one_group_is_refused():
    judge = Judge("classification", BINARY, np.array([0, 1]), groups=np.zeros(40))
    with pytest.raises(ValueError, match="two groups"):
        judge.splits(np.arange(40), 4)


def test_splitter_of_the_user():
    judge = Judge("regression", np.arange(20.0), cv=TimeSeriesSplit(3))
    splits = judge.splits(np.arange(20), 5)
    assert len(splits) == 3
    assert all(train.max() < test.min() for train, test in splits)


def test_rare_class_limits_the_folds():
    y = np.array([0] * 20 + [1] * 3)
    assert len(Judge("classification", y, np.array([0, 1])).splits(np.arange(23), 5)) == 3


def test_sample_keeps_every_class(rng):
    y = np.array([0] * 990 + [1] * 10)
    rows = Judge("classification", y, np.array([0, 1])).sample(100)
    assert set(y[rows]) == {0, 1}
    assert abs(len(rows) - 100) <= 2
    assert (np.diff(rows) > 0).all()


def test_class_weight_multiplies_sample_weight():
    judge = Judge(
        "classification",
        np.array([0, 0, 1]),
        np.array(["a", "b"]),
        np.array([1.0, 2.0, 3.0]),
        {"b": 5.0},
    )
    assert judge.weights.tolist() == [1.0, 2.0, 15.0]


def test_regression_loss():
    judge = Judge("regression", np.array([0.0, 2.0]))
    assert judge.loss(np.array([1.0, 2.0]), np.arange(2)) == 0.5
    r2 = Judge("regression", np.array([0.0, 2.0]), scoring="neg_median_absolute_error")
    assert r2.loss(np.array([1.0, 2.0]), np.arange(2)) == 0.5


def test_three_classes_have_a_column_each():
    judge = Judge("classification", np.array([0, 1, 2]), np.array(list("abc")))
    assert judge.codes.tolist() == [[1, -1, -1], [-1, 1, -1], [-1, -1, 1]]


def test_no_mistake_is_no_certainty():
    judge = Judge("classification", np.arange(100) % 2, np.array([0, 1]))
    none, some = np.zeros(100), np.repeat([1.0, 0.0], [20, 80])
    assert 0.0 < judge.standard_error(none) < 0.01
    assert judge.standard_error(some) == pytest.approx(0.04, rel=0.02)
    values = Judge("regression", np.arange(4.0))
    assert values.standard_error(np.array([1.0, 3.0, 1.0, 3.0])) == pytest.approx(0.5)


def test_weights_count_in_every_score(rng):
    y, w = BINARY, np.r_[np.ones(20), np.zeros(20)]
    f = np.where(y == 1, 1.0, -1.0) * np.r_[np.ones(20), -np.ones(20)]  # the second half is wrong
    for scoring in (None, "roc_auc", "balanced_accuracy"):
        judge = Judge("classification", y, np.array([0, 1]), w=w, scoring=scoring)
        best = 0.0 if scoring is None else -1.0
        assert judge.loss(f, np.arange(40)) == pytest.approx(best)


@pytest.mark.parametrize("as_list", [True, False])
def test_given_folds_are_cut_to_the_rows_in_use(as_list):
    folds = np.arange(40) % 4
    cv = PredefinedSplit(folds)
    cv = list(cv.split()) if as_list else cv
    judge = Judge("classification", BINARY, np.array([0, 1]), cv=cv)
    rows = np.array([3, 7, 20, 21, 22, 30, 38, 39])
    for (train, test), fold in zip(judge.splits(rows, 5), (0, 1, 2, 3), strict=True):
        assert (folds[rows[test]] == fold).all()
        np.testing.assert_array_equal(np.sort(np.r_[train, test]), np.arange(8))


def test_a_generator_of_folds_is_read_once():
    judge = Judge("classification", BINARY, np.array([0, 1]), cv=KFold(3).split(BINARY))
    assert len(judge.splits(np.arange(40), 5)) == 3
    assert len(judge.splits(np.arange(40), 5)) == 3


def test_folds_without_any_of_the_rows_are_refused():
    judge = Judge("regression", np.arange(9.0), cv=[(np.arange(6), np.arange(6, 9))])
    with pytest.raises(ValueError, match="cv=5"):
        judge.splits(np.arange(5), 5)


def test_error_of_a_score_by_the_jackknife(rng):
    """For the accuracy, a mean, the jackknife gives the usual standard error."""
    y = (rng.random(2000) < 0.5).astype(int)
    f = y + rng.normal(size=2000) - 0.5
    plain = Judge("classification", y, np.array([0, 1]))
    same = Judge("classification", y, np.array([0, 1]), scoring=make_scorer(accuracy_score))
    rows = np.arange(2000)
    assert same.error_of(f, rows) == pytest.approx(plain.error_of(f, rows), rel=0.6)
    g = f + 0.3 * rng.normal(size=2000)
    for a, b in zip(same.difference(f, g, rows), plain.difference(f, g, rows), strict=True):
        assert a == pytest.approx(b, rel=0.6)


def test_a_threshold_nothing_depends_on_stays_zero(rng):
    scorer = make_scorer(roc_auc_score, response_method="decision_function")
    y = (rng.random(60) < 0.5).astype(int)
    judge = Judge("classification", y, np.array([0, 1]), scoring=scorer)
    assert judge.best_threshold(rng.normal(size=60), np.arange(60)) == 0.0
