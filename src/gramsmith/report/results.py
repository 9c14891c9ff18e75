"""Pictures of results of measuring: a statistic among shuffles, a matrix of representations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gramsmith.report.axes import (
    COLOURS,
    GREY,
    label_ticks,
    list_rows,
    needs_extra,
    new_axes,
    strip_frame,
)

Array = npt.NDArray[Any]


def draw_null(null: Array, statistic: float, pvalue: float, label: str, ax: Any = None) -> Any:
    """Draw a statistic among those of shuffled data."""
    ax = new_axes(ax)
    finite = null[np.isfinite(null)]
    ax.hist(finite, bins=min(30, max(5, len(finite) // 10)), color=GREY, label="shuffled")
    ax.axvline(statistic, color=COLOURS[1], lw=2.0, label="as given")
    ax.set_title(f"p = {pvalue:.3g}", fontsize="medium")
    ax.set_xlabel(label)
    ax.set_ylabel("shuffles")
    ax.legend(frameon=False, fontsize="small")
    strip_frame(ax)
    return ax


def draw_matrix(
    values: Array, rows: Sequence[str], columns: Sequence[str], label: str, ax: Any = None
) -> Any:
    """Draw a matrix of named rows and columns as a heat map, with numbers where they fit."""
    ax = new_axes(ax, layout="compressed")  # of square cells "constrained" cuts the names
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    bounded = low >= -0.05 and high <= 1.0 + 1e-6  # rounding of float32
    low, high = (0.0, 1.0) if bounded else (low, high)
    image = ax.imshow(values, vmin=low, vmax=high, cmap="cividis")
    ax.figure.colorbar(image, ax=ax, shrink=0.8, label=label)
    label_ticks(ax.xaxis, range(len(columns)), columns, rotation=40, ha="right")
    label_ticks(ax.yaxis, range(len(rows)), rows)
    if max(values.shape) <= 12:  # more would not be legible
        for (i, j), value in np.ndenumerate(values):
            shade = "white" if value < low + 0.6 * (high - low) else "black"
            ax.text(j, i, f"{value:.2g}", ha="center", va="center", color=shade, fontsize="small")
    return ax


def draw_effects(
    names: Sequence[str], values: Sequence[float], found: Sequence[bool], ax: Any = None
) -> Any:
    """Draw the effect size of every column, those that differ in colour."""
    ax = new_axes(ax, height=max(2.0, 0.8 + 0.25 * len(names)))
    colours = [COLOURS[1] if one else GREY for one in found]
    ax.barh(-np.arange(len(names)), values, color=colours, height=0.7)
    list_rows(ax, names, "effect size")
    return ax


def records_frame(records: Sequence[dict[str, Any]]) -> Any:
    """Return records as a pandas data frame."""
    with needs_extra():
        import pandas as pd

    return pd.DataFrame.from_records(list(records))


def matrix_frame(values: Array, rows: Sequence[str], columns: Sequence[str]) -> Any:
    """Return a matrix as a pandas data frame of named rows and columns."""
    with needs_extra():
        import pandas as pd

    return pd.DataFrame(values, index=list(rows), columns=list(columns))
