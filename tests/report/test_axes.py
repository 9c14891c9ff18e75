"""What all displays share: labels as text, and a style that nobody else sets."""

import re
import sys
from importlib import import_module
from importlib.resources import files

import matplotlib.pyplot as plt
import numpy as np
import pytest

from gramsmith.report.axes import (
    COLOURS,
    label_ticks,
    needs_extra,
    new_axes,
    shorten,
    spread_out,
    strip_frame,
    without_outliers,
)
from gramsmith.report.pictures import ON_SHADES, SHADES


@pytest.fixture(autouse=True)
def close():
    yield
    plt.close("all")


def test_long_and_steering_labels_are_tamed():
    assert len(shorten("x" * 100)) <= 34
    assert "\u202e" not in shorten("a\u202eb")


def test_axes_given_are_kept():
    ax = new_axes(None, height=2.0)
    assert new_axes(ax) is ax
    assert ax.figure.get_figheight() == 2.0


def test_ticks_are_text_and_the_frame_is_open():
    ax = new_axes(None)
    label_ticks(ax.yaxis, [0, 1], [r"$\frac$", "b"])
    strip_frame(ax)
    ax.figure.canvas.draw()  # mathematics in a label would fail here
    assert not ax.spines["top"].get_visible()


def test_labels_are_spread_out_and_keep_their_order():
    rng = np.random.default_rng(0)
    for _ in range(50):
        k = rng.integers(1, 12)
        places = np.sort(rng.uniform(0, 10, k))
        moved = spread_out(places, 0.8, 10.0)
        assert (np.diff(moved) >= 0.8 - 1e-9).all()
        assert moved.min() >= -1e-9
        assert moved.max() <= 10 + 1e-9
    far = np.array([1.0, 5.0, 9.0])
    np.testing.assert_allclose(spread_out(far, 0.8, 10.0), far)


def test_far_values_are_left_out():
    assert without_outliers(np.r_[np.arange(10.0), 1e9, -1e9]) == (0.0, 9.0)
    assert without_outliers([1.0, 1.0, 1.0, 7.0]) == (1.0, 7.0)


# What readers see who lack one kind of cones (Machado, Oliveira and Fernandes, 2009, severity 1).
SEEN = {
    "all": np.eye(3),
    "no red": [[0.1523, 1.0526, -0.2049], [0.1145, 0.7863, 0.0992], [-0.0039, -0.0481, 1.0520]],
    "no green": [[0.3673, 0.8606, -0.2280], [0.2801, 0.6725, 0.0474], [-0.0118, 0.0429, 0.9689]],
    "no blue": [[1.2555, -0.0767, -0.1788], [-0.0784, 0.9308, 0.1476], [0.0047, 0.6914, 0.3039]],
}


def linear(colour):
    values = np.array([int(colour[k : k + 2], 16) for k in (1, 3, 5)]) / 255
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def lab(rgb):
    xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    f = np.maximum(xyz @ np.clip(rgb, 0, 1) / [0.9505, 1.0, 1.089], 0.0)
    f = np.where(f > 0.008856, np.cbrt(f), 7.787 * f + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def contrast(one, other):
    a, b = sorted(linear(c) @ [0.2126, 0.7152, 0.0722] for c in (one, other))
    return (b + 0.05) / (a + 0.05)


def palettes():
    style = files("gramsmith.report").joinpath("templates", "report.css").read_text("utf-8")
    light, dark = (
        [colour for _, colour in found]
        for found in (
            re.findall(r"--c(\d): (#\w{6})", part) for part in style.split("@media", 2)[:2]
        )
    )
    return {"light": (light, "#ffffff"), "dark": (dark, "#1c2024")}


def test_the_page_has_the_palette_of_the_displays():
    assert tuple(palettes()["light"][0]) == COLOURS


@pytest.mark.parametrize("name", ["light", "dark"])
@pytest.mark.parametrize("eyes", SEEN)
def test_any_two_colours_are_told_apart(name, eyes):
    colours, back = palettes()[name]
    assert len(colours) == 8
    points = [lab(np.asarray(SEEN[eyes]) @ linear(c)) for c in colours]
    gaps = [np.linalg.norm(a - b) for i, a in enumerate(points) for b in points[:i]]
    assert min(gaps) > 14  # a difference of 2 is just seen side by side
    assert min(contrast(c, back) for c in colours) >= 3
    assert min(contrast(ON_SHADES, shade) for shade in SHADES) >= 4.5  # on an image of any page


@pytest.mark.parametrize("package", ["matplotlib", "jinja2", "pandas"])
def test_what_to_install_is_said(package, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ModuleNotFoundError, match=r'pip install "gramsmith\[plot\]"'):
        with needs_extra():
            import_module(package)


def test_other_packages_are_not_ours():
    with pytest.raises(ModuleNotFoundError, match="No module named 'nowhere'"):
        with needs_extra():
            import_module("nowhere")
