"""What all displays share: labels as text, and a style that nobody else sets."""

import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest

from gramsmith.report.axes import label_ticks, new_axes, settled_style, shorten, strip_frame

LOUD = {"axes.grid": True, "lines.linewidth": 9.0, "font.size": 30.0, "axes.edgecolor": "red"}


@pytest.fixture(autouse=True)
def close():
    yield
    plt.close("all")


def test_long_and_steering_labels_are_tamed():
    assert len(shorten("x" * 100)) <= 34
    assert "\u202e" not in shorten("a\u202eb")


def test_the_users_style_is_put_aside_and_back():
    with mpl.rc_context(LOUD):
        with settled_style({"font.size": 9}):
            assert mpl.rcParams["font.size"] == 9
            for name in LOUD.keys() - {"font.size"}:
                assert mpl.rcParams[name] == mpl.rcParamsDefault[name]
        assert mpl.rcParams["lines.linewidth"] == 9.0


def test_axes_given_are_kept():
    ax = new_axes(None, width=2.0)
    assert new_axes(ax) is ax
    assert ax.figure.get_figwidth() == 2.0


def test_ticks_are_text_and_the_frame_is_open():
    ax = new_axes(None)
    label_ticks(ax.yaxis, [0, 1], [r"$\frac$", "b"])
    strip_frame(ax)
    ax.figure.canvas.draw()  # mathematics in a label would fail here
    assert not ax.spines["top"].get_visible()
