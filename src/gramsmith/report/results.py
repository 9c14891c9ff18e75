"""Pictures of results of measuring: a statistic among shuffles, a matrix of representations."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gramsmith.report.axes import COLOURS, GREY, new_axes, strip_frame

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
