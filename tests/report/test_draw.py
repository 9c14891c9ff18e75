"""Drawing: every style, the same bytes twice, labels as text."""

import builtins
from xml.etree import ElementTree

import numpy as np
import pytest

from gramsmith.report.draw import draw, require_matplotlib
from gramsmith.report.figure import Curve, Figure, Panel, Surface

pytest.importorskip("matplotlib")

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


def test_missing_matplotlib_names_the_extra(monkeypatch):
    real = builtins.__import__

    def without(name, *arguments):
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *arguments)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=r"gramsmith\[plot\]"):
        require_matplotlib()
