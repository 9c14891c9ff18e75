"""Axes as all displays have them: small, bare, labels taken as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
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


@contextmanager
def settled_style(settings: Mapping[Any, Any]) -> Iterator[None]:
    """Draw under matplotlib's defaults and these settings, whatever the user's own style is."""
    with needs_extra():
        from matplotlib import style

    with style.context(["default", dict(settings)]):
        yield


def new_axes(ax: Any, width: float = 4.4, height: float = 3.0) -> Any:
    """Return the axes given, or new ones of this size."""
    with needs_extra():
        import matplotlib.pyplot as plt

    return plt.subplots(figsize=(width, height), layout="constrained")[1] if ax is None else ax


def shorten(text: Any, length: int = LABEL) -> str:
    """Return a label that fits: control characters shown as signs, long ones cut in the middle."""
    shown = "".join(c if c.isprintable() else "�" for c in str(text))
    if len(shown) <= length:
        return shown
    half = (length - 1) // 2
    return f"{shown[:half]}…{shown[-half:]}"


def as_text(artist: Any) -> Any:
    """Return an artist whose label is text, also when it holds dollars."""
    artist.set_parse_math(False)
    return artist


def label_ticks(axis: Any, positions: Any, labels: Sequence[str], **style: Any) -> None:
    """Put labels at positions of an axis."""
    for label in axis.set_ticks(positions, [shorten(x) for x in labels], **style) or []:
        as_text(label.label1)
    for label in axis.get_ticklabels():
        as_text(label)


def strip_frame(ax: Any) -> None:
    """Take away the upper and the right line of the frame."""
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)


def without_outliers(values: Any) -> tuple[float, float]:
    """Return the least and the largest value, but for those far outside the middle half.

    Far is three times its width.

    Parameters
    ----------
    values : array of shape (n,)

    Returns
    -------
    low, high : float

    Examples
    --------
    >>> from gramsmith.report.axes import without_outliers
    >>> without_outliers([1.0, 2.0, 3.0, 4.0, 5.0, 1e6])
    (1.0, 5.0)
    """
    values = np.asarray(values, dtype=float)
    first, third = np.quantile(values, [0.25, 0.75])
    reach = 3.0 * (third - first)
    inner = values[(values >= first - reach) & (values <= third + reach)] if reach > 0 else values
    return float(inner.min()), float(inner.max())


def spread_out(places: Any, gap: float, low: float, high: float) -> Any:
    """Return places moved as little as needed to be a gap apart, within limits, in their order.

    Parameters
    ----------
    places : array of shape (k,)
        Ascending.
    gap : float
        Least distance between two of them.
    low, high : float
        Limits; they must have room for all.

    Returns
    -------
    array of shape (k,)

    Examples
    --------
    >>> from gramsmith.report.axes import spread_out
    >>> spread_out([4.0, 5.0, 9.0], 2.0, 0.0, 10.0)
    array([3.5, 5.5, 9. ])
    """
    # clusters of labels that touch: each is centred on the places of its members
    clusters: list[list[float]] = []
    for place in np.asarray(places, dtype=float):
        clusters.append([place])
        while True:
            starts = [_first(c, gap, low, high) for c in clusters[-2:]]
            if len(starts) < 2 or starts[1] - starts[0] >= gap * len(clusters[-2]) - 1e-12:
                break
            last = clusters.pop()
            clusters[-1] += last
    return np.array([_first(c, gap, low, high) + gap * k for c in clusters for k in range(len(c))])


def _first(cluster: list[float], gap: float, low: float, high: float) -> float:
    extent = gap * (len(cluster) - 1)
    middle = sum(cluster) / len(cluster)
    return min(max(middle - extent / 2, low), max(high - extent, low))


def legend_above(ax: Any, columns: int) -> Any:
    """Put a legend above the axes, its labels taken as text, and return it."""
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
    return legend
