"""Axes as all displays have them: small, bare, labels taken as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

# The one palette: told apart by hue and by lightness, on white and on black.
COLOURS = ("#3b82c4", "#d9822b", "#2f9e6e", "#c2528b", "#8b6fd1", "#9a8c2f", "#4aa5b5", "#b0553a")
GREY = "#8a8a8a"  # what stands back
LABEL = 34  # characters of a label that are shown


@contextmanager
def settled_style(settings: Mapping[Any, Any]) -> Iterator[None]:
    """Draw under matplotlib's defaults and these settings, whatever the user's own style is."""
    from matplotlib import style

    with style.context(["default", dict(settings)]):
        yield


def new_axes(ax: Any, width: float = 4.4, height: float = 3.0) -> Any:
    """Return the axes given, or new ones of this size."""
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
