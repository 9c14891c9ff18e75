"""Axes as all pictures have them: small, bare, labels taken as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from textwrap import wrap
from typing import Any

import numpy as np

# The one palette, for white: every colour has a contrast of 3 on white, and any two are told apart
# by readers who see no difference of red and green, or of blue and yellow. The page has its
# counterpart for black. Curves also differ by their line, classes by their marker.
COLOURS = ("#0072b2", "#e0401c", "#03a28a", "#7a1040", "#8438f0", "#2a2f9c", "#960a86", "#5a3c08")
LINES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (8, 2)), (0, (2, 1)))
MARKERS = "osD^vP<>"
GREY = "#7d8187"  # what stands back
LABEL = 34  # characters of a label that are shown


@contextmanager
def needs_extra() -> Iterator[None]:
    """Say what to install where the block imports what is not there."""
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in ("matplotlib", "jinja2", "markupsafe", "pandas"):
            raise
        advice = f'Expected {package} to be installed. Do this: pip install "gramsmith[plot]"'
        raise ModuleNotFoundError(advice, name=error.name) from error


def new_axes(ax: Any, height: float = 3.6, layout: str = "constrained") -> Any:
    """Return the axes given, or new ones of this height."""
    with needs_extra():
        import matplotlib.pyplot as plt

    return plt.subplots(figsize=(4.4, height), layout=layout)[1] if ax is None else ax


def shorten(text: Any, length: int = LABEL) -> str:
    """Return a label that fits: control characters shown as signs, long ones cut in the middle."""
    shown = "".join(c if c.isprintable() else "�" for c in str(text))
    if len(shown) <= length:
        return shown
    half = (length - 1) // 2
    return f"{shown[:half]}…{shown[-half:]}"


def in_lines(text: Any, length: int = LABEL) -> str:
    """Return a label that fits, a long one in two lines if it has words for two."""
    shown = shorten(text, len(str(text)))
    lines = wrap(shown, length, break_long_words=False, break_on_hyphens=False)
    fits = len(lines) == 2 and max(map(len, lines)) <= length
    return "\n".join(lines) if fits else shorten(text, length)


def as_text(artist: Any) -> Any:
    """Return an artist whose label is text, also when it holds dollars."""
    artist.set_parse_math(False)
    return artist


def label_ticks(
    axis: Any, positions: Any, labels: Sequence[str], length: int = LABEL, **style: Any
) -> None:
    """Put labels of at most some letters at positions of an axis."""
    axis.set_ticks(positions, [in_lines(x, length) for x in labels], **style)
    for label in axis.get_ticklabels():
        as_text(label)


def strip_frame(ax: Any) -> Any:
    """Take away the upper and the right line of the frame, and return the axes."""
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def list_rows(ax: Any, names: Sequence[str], xlabel: str) -> Any:
    """Name the rows of a picture from top to bottom, of which row k is at height -k."""
    label_ticks(ax.yaxis, -np.arange(len(names)), names, 30)
    ax.xaxis.get_major_locator().set_params(nbins=5)
    ax.tick_params(axis="y", length=0)
    ax.set_xlabel(shorten(xlabel))
    ax.spines["left"].set_visible(False)
    return strip_frame(ax)


def without_outliers(values: Any) -> tuple[float, float]:
    """Return the ends of the values, but for those past three widths of the middle half from it.

    >>> without_outliers([1.0, 2.0, 3.0, 4.0, 5.0, 1e6])
    (1.0, 5.0)
    """
    values = np.asarray(values, dtype=float)
    first, third = np.quantile(values, [0.25, 0.75])
    reach = 3.0 * (third - first)
    inner = values[(values >= first - reach) & (values <= third + reach)] if reach > 0 else values
    return float(inner.min()), float(inner.max())


def spread_out(places: Any, gap: float, high: float) -> Any:
    """Return ascending places moved to be a gap apart, from 0 to a limit with room for all.

    >>> spread_out([4.0, 5.0, 9.0], 2.0, 10.0)
    array([4., 6., 9.])
    """
    steps = gap * np.arange(len(places))
    apart = np.maximum.accumulate(np.asarray(places, dtype=float) - steps)
    return np.clip(apart, 0.0, high - steps[-1] if len(steps) else high) + steps


def legend_above(ax: Any, columns: int) -> Any:
    """Put a legend above the axes, its labels taken as text, and return the axes."""
    legend = ax.legend(
        loc="lower left",
        bbox_to_anchor=(0.0, 1.01),
        ncols=columns,
        frameon=False,
        borderpad=0.0,
        handlelength=2.6,
        columnspacing=1.2,
        labelspacing=0.35,
    )
    for text in legend.get_texts():
        as_text(text)
    return ax
