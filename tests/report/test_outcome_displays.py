"""Displays of held-out rows: labels as text, outliers on the frame, many classes have room."""

from functools import partial

import matplotlib.pyplot as plt
import numpy as np
import pytest

from gramsmith.report import FoldScoresDisplay, ImportanceDisplay
from gramsmith.report.evidence import Curve, Outcome, Reliability
from gramsmith.report.outcome_displays import (
    limits,
    outcome_of,
    plot_confusion,
    plot_predictions,
    plot_reliability,
    plot_thresholds,
)

HOSTILE = r"$\frac{a}{b}$ <b>"


@pytest.fixture(autouse=True)
def close():
    yield
    plt.close("all")


def curve(name):
    steps = np.array([0.0, 0.2, 1.0])
    return Curve(name, steps, np.array([0.0, 0.8, 1.0]), 0.9, (0.2, 0.8), 0.3)


def held_out(classes, confusion):
    return Outcome("cross-validation", 10, classes, np.asarray(confusion, dtype=float))


@pytest.mark.parametrize(
    "plot",
    [
        partial(plot_confusion, held_out([HOSTILE, "b"], np.eye(2))),
        partial(plot_thresholds, [curve(HOSTILE)]),
        partial(plot_thresholds, [curve(HOSTILE), curve("b")], "precision_recall"),
        FoldScoresDisplay({HOSTILE: [0.5, np.nan, 0.7]}, HOSTILE).plot,
        ImportanceDisplay([(HOSTILE, 0.1, np.inf), ("b", -0.1, 0.1)]).plot,
    ],
    ids=["confusion", "roc", "precision", "folds", "importance"],
)
def test_labels_are_text(plot):
    _, ax = plt.subplots()
    display = plot(ax=ax)
    assert display.ax_ is ax
    display.figure_.canvas.draw()  # mathematics in a label would fail here


def test_pictures_of_scikit_learn():
    display = plot_confusion(held_out(["no", "yes"], [[8, 2], [1, 9]]))
    assert [text.get_text() for text in display.ax_.texts] == ["80%", "20%", "10%", "90%"]
    display = plot_thresholds([curve("yes")])
    assert display.tpr.tolist() == [0.0, 0.8, 1.0]
    assert display.ax_.get_xlabel() == "false alarms"
    labels = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert labels == ["yes: area 0.900", "threshold in use"]
    said = np.array([0.1, 0.5, 0.9])
    display = plot_reliability(Reliability("yes", said, said, said - 0.1, said + 0.1, 0.0))
    assert display.prob_pred.tolist() == said.tolist()
    assert display.ax_.get_legend() is None


def test_one_outlier_leaves_the_others_their_room():
    rng = np.random.default_rng(0)
    actual = np.r_[rng.normal(size=60), 1e6]
    predicted = np.r_[actual[:60] + 0.1, 3.0]
    for kind in ("predictions", "residuals"):
        outcome = Outcome("cross-validation", 61, actual=actual, predicted=predicted)
        ax = plot_predictions(outcome, kind).ax_
        low, high = ax.get_ylim()
        assert high - low < 10
        marks = ax.collections[-1]
        assert marks.get_label() == "beyond the axes: 1"
        assert low <= marks.get_offsets()[0, 1] <= high


def test_limits_hold_all_of_friendly_values():
    low, high = limits(np.arange(10.0))
    assert low < 0
    assert high > 9
    assert limits(np.ones(5)) == (0.5, 1.5)


def test_importance_is_ordered():
    display = ImportanceDisplay([("a", 0.1, 0.0), ("b", 0.3, 0.0)], "r2").plot()
    assert [t.get_text() for t in display.ax_.get_yticklabels()] == ["b", "a"]


def test_of_many_classes_some_are_named():
    names = [f"class {k}" for k in range(50)]
    ax = plot_confusion(held_out(names, np.eye(50))).ax_
    assert len(ax.get_yticklabels()) == 20
    assert not ax.texts


def test_what_has_no_outcome_says_so():
    class Late:
        class evidence:
            outcome = None

    with pytest.raises(ValueError, match="time_budget"):
        outcome_of(Late)
