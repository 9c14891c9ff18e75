"""Score: scikit-learn's numbers from decision values, weights, probabilities, early refusals."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, get_scorer, make_scorer, roc_auc_score

from gramsmith.selection.scoring import Score


@pytest.fixture
def told(rng):
    y = (rng.random(200) < 0.3).astype(int)
    return y + 0.7 * rng.normal(size=200) - 0.5, y


@pytest.mark.parametrize(
    "name", ["accuracy", "balanced_accuracy", "f1", "roc_auc", "average_precision"]
)
@pytest.mark.parametrize("weighted", [False, True])
def test_numbers_are_scikit_learns(told, rng, name, weighted):
    """A logistic regression of one feature, x itself, has its sign and order."""
    f, y = told
    w = rng.random(200) if weighted else None
    machine = LogisticRegression().fit([[-1.0], [1.0]], [0, 1])  # decides by the sign of x
    options = {} if w is None else {"sample_weight": w}
    expected = get_scorer(name)(machine, f[:, None], y, **options)
    assert Score(name, np.array([0, 1])).value(f, y, w) == pytest.approx(expected)


def test_the_rarer_class_counts(told):
    f, y = told
    names = np.array(["ill", "well"])
    rare_second = Score("f1", names, np.bincount(y)).value(f, y)
    assert rare_second == pytest.approx(f1_score(y, f > 0))
    rare_first = Score("f1", names, np.bincount(1 - y)).value(-f, 1 - y)
    assert rare_first == pytest.approx(rare_second)
    ranks = Score("average_precision", names, np.bincount(y)).value(f, y)
    assert Score("average_precision", names, np.bincount(1 - y)).value(-f, 1 - y) == pytest.approx(
        ranks
    )


def test_probabilities_are_calibrated(told):
    f, y = told
    score = Score("neg_log_loss", np.array([0, 1]))
    assert score.value(f, y) == pytest.approx(score.value(5.0 * f, y), abs=1e-4)
    prior = y.mean()
    assert score.value(f, y) > prior * np.log(prior) + (1 - prior) * np.log(1 - prior)


def test_several_classes_have_an_area_too(rng):
    y = rng.integers(0, 3, 90)
    F = np.eye(3)[y] + 0.5 * rng.normal(size=(90, 3))
    found = Score("roc_auc_ovr", np.array(list("abc"))).value(F, y)
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


def test_a_score_without_weights_says_so(told):
    f, y = told
    score = Score(lambda machine, X, y: float(np.mean(machine.predict(X) == y)), np.array([0, 1]))
    with pytest.warns(UserWarning, match="takes no sample_weight"):
        score.try_out(True)
    assert score.value(f, y, np.ones(200)) == pytest.approx(np.mean((f > 0) == y))


@pytest.mark.parametrize("name", ["roc_auc", "neg_log_loss", "neg_brier_score"])
def test_rankings_and_probabilities_have_no_threshold(name):
    assert not Score(name, np.array([0, 1])).by_threshold


def test_made_scorers_work(told):
    f, y = told
    scorer = make_scorer(f1_score)
    assert Score(scorer, np.array([0, 1])).value(f, y) == pytest.approx(f1_score(y, f > 0))
