"""Figures: what to draw, as plain values; drawn as SVG (light and dark) and as PNG."""

from __future__ import annotations

import io
import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib import style, ticker
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure as Canvas

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Curve:
    """A curve, a set of points or the bars of one group.

    Parameters
    ----------
    label : str
        Empty for no entry in the legend.
    x, y : array of shape (m,)
    style : {"line", "dashed", "points", "bars"}
    """

    label: str
    x: Any
    y: Any
    style: str = "line"


@dataclass(frozen=True)
class Surface:
    """Heights over a grid, drawn as filled contours.

    Parameters
    ----------
    x : array of shape (a,)
    y : array of shape (b,)
    z : array of shape (b, a)
    label : str
        What the heights are.
    """

    x: Array
    y: Array
    z: Array
    label: str = ""


@dataclass(frozen=True)
class Panel:
    """One pair of axes.

    Parameters
    ----------
    title, xlabel, ylabel : str
    curves : list of Curve
    surface : Surface, optional
        Drawn below the curves.
    image : array of shape (height, width), optional
        Grey values, drawn instead of everything else.
    names : list of str
        Names of the positions 0, 1, ... on the x axis, for bars.
    logx, logy : bool
    ylim : (float, float), optional
    """

    title: str
    xlabel: str
    ylabel: str
    curves: list[Curve] = field(default_factory=list)
    surface: Surface | None = None
    image: Array | None = None
    names: list[str] = field(default_factory=list)
    logx: bool = False
    logy: bool = False
    ylim: tuple[float, float] | None = None


@dataclass(frozen=True)
class Figure:
    """Panels with a name for the file, a title and a caption.

    Parameters
    ----------
    name : str
        Letters, digits and hyphens: the name of the file.
    title, caption : str
    panels : list of Panel
    columns : int
        Panels side by side.
    """

    name: str
    title: str
    caption: str
    panels: list[Panel]
    columns: int = 2

    def arrays(self) -> list[Array]:
        """Return the ordinates of all curves, for tests that look for holes."""
        return [np.asarray(c.y, dtype=float) for panel in self.panels for c in panel.curves]


# Colours that stay apart for colour-blind readers, for white and for dark paper.
LIGHT = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b38600", "#56b4e9")
DARK = ("#5cb8f0", "#ff9a5c", "#4fd6a8", "#eda4cd", "#f0c94a", "#a8d8f5")


@dataclass(frozen=True)
class Theme:
    """Colours of a drawing."""

    ink: str
    paper: str
    grid: str
    cycle: tuple[str, ...]
    surface: str


THEMES = {
    "light": Theme("#1b1f24", "#ffffff", "#d9dde2", LIGHT, "viridis"),
    "dark": Theme("#e3e6ea", "#16191d", "#3a4048", DARK, "viridis"),
}


def draw(figure: Figure, form: str = "svg", theme: str = "light") -> bytes:
    """Return a figure as the bytes of an SVG or PNG file, the same bytes every time.

    Parameters
    ----------
    figure : Figure
    form : {"svg", "png"}
    theme : {"light", "dark"}

    Returns
    -------
    bytes

    Examples
    --------
    >>> from papers.figure import Curve, Figure, Panel, draw
    >>> panel = Panel("a line", "x", "y", [Curve("y = x", [0, 1], [0, 1])])
    >>> draw(Figure("line", "A line", "", [panel], columns=1))[:5]
    b'<?xml'
    """
    look = THEMES[theme]
    with style.context(["default", _settings(look)]):  # whatever the style of the user is
        columns = min(figure.columns, len(figure.panels))
        rows = math.ceil(len(figure.panels) / columns)
        width = {1: 6.4, 2: 9.6, 3: 11.4}.get(columns, 11.4)
        canvas = Canvas(
            figsize=(width, (4.0 if columns == 1 else 3.2) * rows), layout="constrained"
        )
        FigureCanvasAgg(canvas)
        axes = canvas.subplots(rows, columns, squeeze=False).ravel()
        for ax, panel in zip(axes, figure.panels, strict=False):
            _panel(canvas, ax, panel, look)
        for ax in axes[len(figure.panels) :]:
            ax.set_axis_off()
        _shared_legend(canvas, axes, figure)
        stream = io.BytesIO()
        metadata = {"Date": None} if form == "svg" else {}
        canvas.savefig(stream, format=form, dpi=130, metadata=metadata)
    return stream.getvalue()


def _settings(look: Theme) -> dict[str, Any]:
    inked = ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color")
    return {
        **dict.fromkeys(inked, look.ink),
        "axes.facecolor": look.paper,
        "figure.facecolor": look.paper,
        "savefig.facecolor": look.paper,
        "grid.color": look.grid,
        "axes.grid": True,
        "axes.axisbelow": True,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.titlesize": 10,
        "axes.labelsize": 9,
        "xtick.labelsize": 8,
        "ytick.labelsize": 8,
        "legend.fontsize": 8,
        "legend.frameon": False,
        "lines.linewidth": 1.8,
        "svg.fonttype": "none",
        "svg.hashsalt": "gramsmith",
        "text.parse_math": False,  # a label is text, also when it holds dollars
        "font.family": "sans-serif",
    }


def _panel(canvas: Any, ax: Any, panel: Panel, look: Theme) -> None:
    if panel.image is not None:
        ax.imshow(panel.image, cmap="gray", interpolation="nearest")
        ax.set_axis_off()
    if panel.surface is not None:
        s = panel.surface
        ax.grid(False)
        filled = ax.contourf(s.x, s.y, s.z, levels=14, cmap=look.surface)
        canvas.colorbar(filled, ax=ax, label=s.label)
    bars = [curve for curve in panel.curves if curve.style == "bars"]
    for k, curve in enumerate(bars):
        width = 0.8 / len(bars)
        offset = (k - (len(bars) - 1) / 2.0) * width
        colour = look.cycle[k % len(look.cycle)]
        ax.bar(np.asarray(curve.x) + offset, curve.y, width, label=curve.label, color=colour)
    colours = 0
    for curve in panel.curves:
        if curve.style != "bars":
            _curve(ax, curve, look, colours, panel.surface is not None)
            colours += bool(curve.label)
    if panel.names:
        ax.set_xticks(range(len(panel.names)))
        long = max(map(len, panel.names)) * len(panel.names) > 44
        ax.set_xticklabels(
            panel.names, rotation=35 if long else 0, ha="right" if long else "center"
        )
        ax.grid(False, axis="x")
    ax.set_title(panel.title, loc="left", fontweight="bold")
    ax.set_xlabel(panel.xlabel)
    ax.set_ylabel(panel.ylabel)
    if panel.logx:
        ax.set_xscale("log")
        _plain_ticks(ax.xaxis)
    if panel.logy:
        ax.set_yscale("log")
        _plain_ticks(ax.yaxis)
    if panel.ylim is not None:
        ax.set_ylim(*panel.ylim)


def _plain_ticks(axis: Any) -> None:
    """Label decades as 0.01 or 1e-05: matplotlib's own labels are mathematics, ours are text."""
    low, high = axis.get_view_interval()
    if high / low < 300.0:  # few decades: name some numbers between them
        axis.set_major_locator(ticker.LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(ticker.NullFormatter())


def _curve(ax: Any, curve: Curve, look: Theme, k: int, on_surface: bool) -> None:
    # A curve without a label belongs to the one before it and shares its colour.
    colour = look.cycle[(k if curve.label else max(k - 1, 0)) % len(look.cycle)]
    label = curve.label or None
    if curve.style == "points":
        size = 40 if len(np.atleast_1d(curve.x)) <= 20 else 9
        face = "#ffffff" if on_surface else colour
        edge = "#000000" if on_surface else look.paper
        many = len(np.atleast_1d(curve.x)) > 400
        ax.scatter(
            *(curve.x, curve.y),
            s=size,
            color=face,
            edgecolor=edge,
            linewidth=0.5,
            label=label,
            zorder=3,
            clip_on=not on_surface,  # the best mixture may lie on the edge
            rasterized=many,
        )
    else:
        dashes = "--" if curve.style == "dashed" else "-"
        ax.plot(curve.x, curve.y, dashes, color=colour, label=label)


def _shared_legend(canvas: Any, axes: Any, figure: Figure) -> None:
    """Put one legend below the panels if all have the same curves, else one into each."""
    labels = [tuple(c.label for c in panel.curves if c.label) for panel in figure.panels]
    if len(labels) > 1 and len(set(labels)) == 1 and labels[0]:
        handles, names = axes[0].get_legend_handles_labels()
        canvas.legend(handles, names, loc="outside lower center", ncols=min(len(names), 5))
        return
    for ax, panel, names in zip(axes, figure.panels, labels, strict=False):
        if names:
            colour = "#ffffff" if panel.surface is not None else None
            crowded = any(len(np.atleast_1d(curve.x)) > 400 for curve in panel.curves)
            ax.legend(labelcolor=colour, markerscale=3.0 if crowded else 1.0)
