"""Figures are plain values; drawn in every style, the same bytes twice, labels as text."""

from xml.etree import ElementTree

import numpy as np
import pytest

from papers.figure import Curve, Figure, Panel, Surface, draw

x = np.linspace(0, 1, 5)
PANELS = {
    "lines": Panel("lines", "x", "y", [Curve("a", x, x), Curve("", x, -x, "dashed")]),
    "points": Panel("points", "x", "y", [Curve("few", x, x, "points")], logx=False),
    "bars": Panel(
        "bars", "", "", [Curve(n, [0, 1], [1, 2], "bars") for n in "ab"], names=["p", "q"]
    ),
    "surface": Panel(
        "s", "x", "y", [Curve("best", [0.5], [0.5], "points")], Surface(x, x, np.outer(x, x))
    ),
    "image": Panel("image", "", "", image=np.outer(x, x)),
    "log": Panel(
        "log", "x", "y", [Curve("a", [1, 10], [1, 100])], logx=True, logy=True, ylim=(1, 200)
    ),
}


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("style", PANELS)
def test_every_style_draws_the_same_twice(style, theme):
    figure = Figure(style, "title", "caption", [PANELS[style]], columns=1)
    first = draw(figure, "svg", theme)
    assert first == draw(figure, "svg", theme)
    assert ElementTree.fromstring(first).tag.endswith("svg")


def test_the_users_style_does_not_matter():
    import matplotlib as mpl

    figure = Figure("lines", "title", "caption", [PANELS["lines"]], columns=1)
    expected = draw(figure)
    loud = {"axes.titlecolor": "red", "xtick.minor.visible": True, "savefig.bbox": "tight"}
    with mpl.rc_context(loud):
        assert draw(figure) == expected


def test_png_and_many_panels():
    figure = Figure("all", "t", "c", [*PANELS.values(), PANELS["bars"]], columns=3)
    assert draw(figure, "png").startswith(b"\x89PNG")


def test_labels_are_text_and_not_mathematics():
    hostile = "<script>alert(1)</script> $\\frac{1}{0}$"
    panel = Panel(hostile, hostile, hostile, [Curve(hostile, x, x)])
    root = ElementTree.fromstring(draw(Figure("f", "t", "c", [panel], columns=1)))
    assert not [e for e in root.iter() if e.tag.endswith("script")]
    assert hostile in "".join(root.itertext())


def test_arrays_are_those_of_all_curves():
    panel = Panel("p", "x", "y", [Curve("a", [0, 1], [1, 2]), Curve("b", [0], [np.nan])])
    arrays = Figure("f", "t", "c", [panel, panel]).arrays()
    assert [len(a) for a in arrays] == [2, 1, 2, 1]
    assert np.isnan(arrays[1]).all()


def test_decades_are_labelled_with_plain_numbers():
    root = ElementTree.fromstring(draw(Figure("log", "t", "c", [PANELS["log"]], columns=1)))
    shown = [text.strip() for text in root.itertext() if text.strip()]
    assert {"1", "10", "100"} <= set(shown)
    assert not [text for text in shown if "mathdefault" in text]
