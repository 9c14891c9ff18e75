"""Task: losses, folds, thresholds, samples; scores of scikit-learn; what is refused at once."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import (
    accuracy_score,
    balanced_accuracy_score,
    f1_score,
    get_scorer,
    make_scorer,
    roc_auc_score,
)
from sklearn.model_selection import KFold, PredefinedSplit, TimeSeriesSplit

from gramsmith.selection.task import Answers, Score, Task, read_task
from gramsmith.targets import normalised_weights

BINARY = np.array([0, 1] * 20)


def test_plain_loss_is_the_share_of_errors():
    task = Task("classification", BINARY, np.array(["a", "b"]))
    f = np.where(BINARY == 1, 1.0, -1.0)
    f[:4] *= -1
    assert task.loss(f, np.arange(40)) == pytest.approx(0.1)


def test_named_score_is_scikit_learns(rng):
    y = (rng.random(40) < 0.2).astype(int)
    task = Task("classification", y, np.array(["a", "b"]), scoring="balanced_accuracy")
    f = rng.normal(size=40)
    assert task.loss(f, np.arange(40)) == pytest.approx(-balanced_accuracy_score(y, f > 0))


def test_threshold_is_tuned_where_the_score_asks(rng):
    y = (rng.random(400) < 0.1).astype(int)
    task = Task("classification", y, np.array([0, 1]), scoring="balanced_accuracy")
    f = y + rng.normal(size=400) - 1.5  # a machine that hardly ever says 1
    assert task.tunes_threshold
    cut = task.best_threshold(f, np.arange(400))
    assert task.loss(f - cut, np.arange(400)) < task.loss(f, np.arange(400)) - 0.05


@pytest.mark.parametrize("scoring", [None, "accuracy", "roc_auc"])
def test_other_scores_keep_the_threshold(scoring):
    assert not Task("classification", BINARY, np.array([0, 1]), scoring=scoring).tunes_threshold


def test_groups_stay_together():
    groups = np.repeat(np.arange(8), 5)
    task = Task("classification", BINARY, np.array([0, 1]), groups=groups)
    assert not task.exchangeable
    for train, test in task.splits(np.arange(40), 4):
        assert not set(groups[train]) & set(groups[test])


def test_one_group_is_refused():
    task = Task("classification", BINARY, np.array([0, 1]), groups=np.zeros(40))
    with pytest.raises(ValueError, match="two groups"):
        task.splits(np.arange(40), 4)


def test_splitter_of_the_user():
    task = Task("regression", np.arange(20.0), cv=TimeSeriesSplit(3))
    splits = task.splits(np.arange(20), 5)
    assert len(splits) == 3
    assert all(train.max() < test.min() for train, test in splits)


def test_rare_class_limits_the_folds():
    y = np.array([0] * 20 + [1] * 3)
    assert len(Task("classification", y, np.array([0, 1])).splits(np.arange(23), 5)) == 3


def test_sample_keeps_every_class(rng):
    y = np.array([0] * 990 + [1] * 10)
    rows = Task("classification", y, np.array([0, 1])).sample(100)
    assert set(y[rows]) == {0, 1}
    assert abs(len(rows) - 100) <= 2
    assert (np.diff(rows) > 0).all()


def test_class_weight_multiplies_sample_weight():
    task = Task(
        "classification",
        np.array([0, 0, 1]),
        np.array(["a", "b"]),
        np.array([1.0, 2.0, 3.0]),
        {"b": 5.0},
    )
    np.testing.assert_allclose(task.weights, np.array([1.0, 2.0, 15.0]) / 6.0)


def test_regression_loss():
    task = Task("regression", np.array([0.0, 2.0]))
    assert task.loss(np.array([1.0, 2.0]), np.arange(2)) == 0.5
    r2 = Task("regression", np.array([0.0, 2.0]), scoring="neg_median_absolute_error")
    assert r2.loss(np.array([1.0, 2.0]), np.arange(2)) == 0.5


def test_three_classes_have_a_column_each():
    task = Task("classification", np.array([0, 1, 2]), np.array(list("abc")))
    assert task.codes.tolist() == [[1, -1, -1], [-1, 1, -1], [-1, -1, 1]]


def test_no_mistake_is_no_certainty():
    task = Task("classification", np.arange(100) % 2, np.array([0, 1]))
    right = np.where(task.y == 1, 1.0, -1.0)
    wrong = np.where(np.arange(100) < 20, -right, right)
    assert 0.0 < task.error(Answers(right), np.arange(100)) < 0.01
    assert task.error(Answers(wrong), np.arange(100)) == pytest.approx(0.04, rel=0.02)


def test_weights_count_in_every_score(rng):
    y, w = BINARY, np.r_[np.ones(20), np.zeros(20)]
    f = np.where(y == 1, 1.0, -1.0) * np.r_[np.ones(20), -np.ones(20)]  # the second half is wrong
    for scoring in (None, "roc_auc", "balanced_accuracy"):
        task = Task("classification", y, np.array([0, 1]), w=w, scoring=scoring)
        best = 0.0 if scoring is None else -1.0
        assert task.loss(f, np.arange(40)) == pytest.approx(best)


@pytest.mark.parametrize("as_list", [True, False])
def test_given_folds_are_cut_to_the_rows_in_use(as_list):
    folds = np.arange(40) % 4
    cv = PredefinedSplit(folds)
    cv = list(cv.split()) if as_list else cv
    task = Task("classification", BINARY, np.array([0, 1]), cv=cv)
    rows = np.array([3, 7, 20, 21, 22, 30, 38, 39])
    for (train, test), fold in zip(task.splits(rows, 5), (0, 1, 2, 3), strict=True):
        assert (folds[rows[test]] == fold).all()
        np.testing.assert_array_equal(np.sort(np.r_[train, test]), np.arange(8))


def test_a_generator_of_folds_is_read_once():
    task = Task("classification", BINARY, np.array([0, 1]), cv=KFold(3).split(BINARY))
    assert len(task.splits(np.arange(40), 5)) == 3
    assert len(task.splits(np.arange(40), 5)) == 3


def test_folds_without_any_of_the_rows_are_refused():
    task = Task("regression", np.arange(9.0), cv=[(np.arange(6), np.arange(6, 9))])
    with pytest.raises(ValueError, match="cv=5"):
        task.splits(np.arange(5), 5)


def test_error_of_a_score_by_the_jackknife(rng):
    """For the accuracy, a mean, the jackknife gives the usual standard error."""
    y = (rng.random(2000) < 0.5).astype(int)
    f = y + rng.normal(size=2000) - 0.5
    plain = Task("classification", y, np.array([0, 1]))
    same = Task("classification", y, np.array([0, 1]), scoring=make_scorer(accuracy_score))
    rows = np.arange(2000)
    one = Answers(f)
    assert same.error(one, rows) == pytest.approx(plain.error(one, rows), rel=0.6)
    two = Answers(f + 0.3 * rng.normal(size=2000))
    for a, b in zip(same.difference(two, one, rows), plain.difference(two, one, rows), strict=True):
        assert a == pytest.approx(b, rel=0.6)


def test_a_threshold_nothing_depends_on_stays_zero(rng):
    scorer = make_scorer(roc_auc_score, response_method="decision_function")
    y = (rng.random(60) < 0.5).astype(int)
    task = Task("classification", y, np.array([0, 1]), scoring=scorer)
    assert task.best_threshold(rng.normal(size=60), np.arange(60)) == 0.0


@pytest.fixture
def decisions(rng):
    y = (rng.random(200) < 0.3).astype(int)
    return y + 0.7 * rng.normal(size=200) - 0.5, y


@pytest.mark.parametrize(
    "name", ["accuracy", "balanced_accuracy", "f1", "roc_auc", "average_precision"]
)
@pytest.mark.parametrize("weighted", [False, True])
def test_numbers_are_scikit_learns(decisions, rng, name, weighted):
    """A logistic regression of one feature, x itself, has its sign and order."""
    f, y = decisions
    w = rng.random(200) if weighted else None
    machine = LogisticRegression().fit([[-1.0], [1.0]], [0, 1])  # decides by the sign of x
    options = {} if w is None else {"sample_weight": w}
    expected = get_scorer(name)(machine, f[:, None], y, **options)
    assert Score(name, np.array([0, 1])).value(f, y, w) == pytest.approx(expected)


def test_the_rarer_class_counts(decisions):
    f, y = decisions
    names = np.array(["ill", "well"])
    rare_second = Score("f1", names, np.bincount(y)).value(f, y)
    assert rare_second == pytest.approx(f1_score(y, f > 0))
    rare_first = Score("f1", names, np.bincount(1 - y)).value(-f, 1 - y)
    assert rare_first == pytest.approx(rare_second)
    ranks = Score("average_precision", names, np.bincount(y)).value(f, y)
    assert Score("average_precision", names, np.bincount(1 - y)).value(-f, 1 - y) == pytest.approx(
        ranks
    )


def test_probabilities_are_calibrated(decisions):
    f, y = decisions
    task = Task("classification", y, np.array([0, 1]), scoring="neg_log_loss").try_out()
    rows, fold = np.arange(200), np.arange(200) % 5
    one, same = (task.answers(scale * f, rows, fold) for scale in (1.0, 5.0))
    loss = task.loss(one, rows)
    assert loss == pytest.approx(task.loss(same, rows), abs=1e-4)
    assert loss == pytest.approx(-task.score.value(f, y, p=one.p))
    assert loss < task.loss(task.constant(rows)[0], rows)


def test_several_classes_have_an_area_too(rng):
    y = rng.integers(0, 3, 90)
    F = np.eye(3)[y] + 0.5 * rng.normal(size=(90, 3))
    task = Task("classification", y, np.array(list("abc")), scoring="roc_auc_ovr").try_out()
    rows = np.arange(90)
    found = -task.loss(task.answers(F, rows, rows % 5), rows)
    separate = np.mean([roc_auc_score(y == c, F[:, c]) for c in range(3)])
    assert found == pytest.approx(separate, abs=0.05)


@pytest.mark.parametrize(
    ("scoring", "classes", "advice"),
    [
        ("f1", ["a", "b", "c"], "f1_macro"),
        ("roc_auc", ["a", "b", "c"], "roc_auc_ovr"),
        ("f1", None, "neg_mean_absolute_error"),
        ("r2", ["a", "b"], "balanced_accuracy"),
    ],
)
def test_scores_that_cannot_be_are_refused_at_once(scoring, classes, advice):
    score = Score(scoring, None if classes is None else np.array(classes))
    with pytest.raises(ValueError, match=advice):
        score.try_out(False)


def test_a_score_without_weights_says_so(decisions):
    f, y = decisions
    score = Score(lambda machine, X, y: float(np.mean(machine.predict(X) == y)), np.array([0, 1]))
    with pytest.warns(UserWarning, match="takes no sample_weight"):
        score.try_out(True)
    assert score.value(f, y, np.ones(200)) == pytest.approx(np.mean((f > 0) == y))


@pytest.mark.parametrize("name", ["roc_auc", "neg_log_loss", "neg_brier_score"])
def test_rankings_and_probabilities_have_no_threshold(name):
    assert not Score(name, np.array([0, 1])).by_threshold


def test_made_scorers_work(decisions):
    f, y = decisions
    scorer = make_scorer(f1_score)
    assert Score(scorer, np.array([0, 1])).value(f, y) == pytest.approx(f1_score(y, f > 0))


def test_whole_numbers_are_classes_unless_said_otherwise():
    assert read_task([1, 2, 1, 2]).kind == "classification"
    assert read_task([1, 2, 1, 2], task="regression").kind == "regression"
    assert read_task([1.5, 2.0, 1.0]).kind == "regression"


def test_labels_for_regression_are_refused():
    with pytest.raises(ValueError, match="got 'a' in row 0"):
        read_task(["a", "b"], task="regression")


def test_values_for_classification_are_refused():
    with pytest.raises(ValueError, match="Unknown label type"):
        read_task([0.5, 1.5], task="classification")


def test_many_whole_numbers_are_values():
    assert read_task(np.arange(50)).kind == "regression"
    with pytest.raises(ValueError, match='task="regression"'):
        read_task(np.arange(50), task="classification")


def test_classes_that_differ_by_case_are_pointed_out():
    with pytest.warns(UserWarning, match="case or blanks only: 'No' and 'no'"):
        read_task(["no", "No", "yes"] * 4)


def test_weight_zero_hides_a_class():
    with pytest.raises(ValueError, match="at least two classes"):
        read_task(["a", "b"], sample_weight=[1.0, 0.0])


@pytest.mark.parametrize("scoring", ["f1", "balanced_accuracy", "precision"])
def test_thresholds_at_once_are_those_one_by_one(rng, scoring):
    y = (rng.random(80) < 0.3).astype(int)
    f = np.round(y + rng.normal(size=80), 1)  # with ties
    w = normalised_weights(rng.uniform(0.5, 2.0, 80))
    task = Task("classification", y, np.array([0, 1]), w, scoring=scoring)
    rows = np.arange(80)
    levels = np.unique(np.quantile(f, np.linspace(0.01, 0.99, 99)))
    losses = np.array([task.loss(f - level, rows) for level in levels])
    found = task.best_threshold(f, rows)
    assert task.loss(f - found, rows) == pytest.approx(losses.min(), abs=1e-12)
