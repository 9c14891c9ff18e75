"""Figure: what to draw, as plain values; drawing needs matplotlib, describing does not."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

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
