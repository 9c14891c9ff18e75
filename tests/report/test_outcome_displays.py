"""Displays of held-out rows: labels as text, outliers on the frame, many classes have room."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from gramsmith.report import (
    ConfusionDisplay,
    FoldScoresDisplay,
    ImportanceDisplay,
    PredictionDisplay,
    ThresholdDisplay,
)
from gramsmith.report.evidence import Curve
from gramsmith.report.outcome_displays import limits, outcome_of

HOSTILE = r"$\frac{a}{b}$ <b>"


@pytest.fixture(autouse=True)
def close():
    yield
    plt.close("all")


def curve(name):
    steps = np.array([0.0, 0.2, 1.0])
    return Curve(name, steps, np.array([0.0, 0.8, 1.0]), 0.9, (0.2, 0.8), 0.3)


@pytest.mark.parametrize(
    "display",
    [
        ConfusionDisplay(np.eye(2), [HOSTILE, "b"]),
        ThresholdDisplay([curve(HOSTILE)]),
        ThresholdDisplay([curve(HOSTILE), curve("b")], "precision_recall"),
        FoldScoresDisplay({HOSTILE: [0.5, np.nan, 0.7]}, HOSTILE),
        ImportanceDisplay([(HOSTILE, 0.1, np.inf), ("b", -0.1, 0.1)]),
    ],
    ids=["confusion", "roc", "precision", "folds", "importance"],
)
def test_labels_are_text(display):
    _, ax = plt.subplots()
    assert display.plot(ax=ax).ax_ is ax
    display.figure_.canvas.draw()  # mathematics in a label would fail here


def test_one_outlier_leaves_the_others_their_room():
    rng = np.random.default_rng(0)
    actual = np.r_[rng.normal(size=60), 1e6]
    predicted = np.r_[actual[:60] + 0.1, 3.0]
    for kind in ("predictions", "residuals"):
        ax = PredictionDisplay(actual, predicted, kind).plot().ax_
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
    ax = ConfusionDisplay(np.eye(50), names).plot().ax_
    assert len(ax.get_yticklabels()) == 20
    assert not ax.texts


def test_what_has_no_outcome_says_so():
    class Late:
        class evidence:
            outcome = None

    with pytest.raises(ValueError, match="time_budget"):
        outcome_of(Late)
