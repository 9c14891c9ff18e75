"""The page: one HTML file without scripts or requests, the same bytes for the same contents."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator
from importlib.resources import files
from io import StringIO
from typing import Any

from gramsmith.report import displays
from gramsmith.report.axes import settled_style
from gramsmith.report.contents import Contents, number, with_error

# What is drawn in this colour takes the colour of the page: dark on light, light on dark.
INK = "#0b0c0d"

STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "gramsmith",
    "text.parse_math": False,
    "axes.formatter.use_mathtext": False,
    "font.family": "sans-serif",
    "font.size": 9,
    "axes.unicode_minus": True,
    "legend.fontsize": 8.5,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.facecolor": "none",
    "figure.facecolor": "none",
    "savefig.facecolor": "none",
    "figure.constrained_layout.w_pad": 0.1,
    "figure.constrained_layout.h_pad": 0.06,
}

CAPTIONS = {
    "ranking": (
        "Scores with their standard errors",
        "Filled dots are held-out scores of the machine that is used, open diamonds are scores of "
        "the first check. Blue kernels are not clearly worse than the best.",
    ),
    "gram": (
        "The winner's Gram matrix",
        "A sample of the rows, sorted by class or value. Bright blocks on the diagonal: the kernel "
        "finds members of a class alike.",
    ),
    "weights": ("What the features contribute", ""),
    "map": (
        "The samples as the kernel sees them",
        "The two leading kernel principal components of a sample. They show the coarse structure; "
        "the machine uses all the others too.",
    ),
}


def render(contents: Contents) -> str:
    """Return the report as the text of an HTML page.

    Parameters
    ----------
    contents : Contents

    Returns
    -------
    str

    Examples
    --------
    >>> from gramsmith.report.contents import Contents
    >>> from gramsmith.report.html import render
    >>> page = render(Contents("<b>", "It wins.", [], "accuracy", "error rate"))
    >>> "<h1>&lt;b&gt;</h1>" in page, "<script" in page
    (True, False)
    """
    from jinja2 import Environment

    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    folder = files("gramsmith.report").joinpath("templates")
    template = environment.from_string(folder.joinpath("report.html.j2").read_text("utf-8"))
    style = folder.joinpath("report.css").read_text("utf-8")
    return template.render(
        contents=contents,
        rows=[_row(record, contents) for record in contents.records],
        measures=[(name, "↑" if up else "↓") for name, up in contents.measures.items()],
        figures=list(_figures(contents)),
        style=_markup(style),
        visible=visible,
    )


def visible(text: Any) -> str:
    """Return text with characters that steer the layout (right-to-left marks) spelled out."""
    return "".join(c if c.isprintable() or c in "\n\t" else f"\\u{ord(c):04x}" for c in str(text))


def _markup(text: str) -> Any:
    # Only what this module has made itself (pictures, the style sheet) passes unescaped.
    from markupsafe import Markup

    return Markup(text)  # noqa: S704


def _row(record: dict[str, Any], contents: Contents) -> dict[str, Any]:
    return {
        "rank": record["rank"],
        "tied": record["tied"],
        "kernel": record["kernel"],
        "score": with_error(record["score"], record["score_error"]),
        "first_check": number(record["first_check"]),
        "measures": [_cell(record, name) for name in contents.measures],
    }


def _cell(record: dict[str, Any], name: str) -> tuple[str, str]:
    error = record.get(f"{name}_error")
    return number(record[name]), "" if error is None else f"± {error:.1g}"


def _figures(contents: Contents) -> Iterator[dict[str, Any]]:
    if contents.records:
        yield _figure(
            "ranking",
            lambda: displays.KernelRankingDisplay.from_records(
                contents.records, score=contents.score
            ),
        )
    for k, path in enumerate(contents.paths[:3]):
        yield {
            "title": f"Bandwidth: {path.family}",
            "caption": "Every measure on its own scale, and the held-out "
            f"{contents.loss} of all samples (thick line). Dots mark the favourites.",
            "svg": draw(lambda k=k: displays.BandwidthDisplay.from_contents(contents, k)),  # type: ignore[misc]
        }
    if contents.gram.size:
        yield _figure("gram", lambda: displays.GramDisplay.from_contents(contents))
    if contents.weights:
        figure = _figure("weights", lambda: displays.FeatureWeightsDisplay.from_contents(contents))
        caption = f"{contents.weights_meaning[:1].upper()}{contents.weights_meaning[1:]}."
        yield {**figure, "caption": caption}
    if contents.map.size:
        yield _figure("map", lambda: displays.KernelMapDisplay.from_contents(contents))


def _figure(name: str, make: Callable[[], Any]) -> dict[str, Any]:
    title, caption = CAPTIONS[name]
    return {"title": title, "caption": caption, "svg": draw(make)}


def draw(make: Callable[[], Any]) -> Any:
    """Return a display as SVG text that follows the colours of the page.

    Parameters
    ----------
    make : callable
        Returns the display; it is called under the style of the page.

    Returns
    -------
    markupsafe.Markup
    """
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    with settled_style(STYLE), warnings.catch_warnings():
        # a label may hold letters that the drawing font lacks; the browser has them
        warnings.filterwarnings("ignore", "Glyph .* missing", UserWarning)
        figure = Figure(figsize=(4.4, 3.2), layout="constrained")
        FigureCanvasSVG(figure)
        display = make()
        display.plot(ax=figure.subplots())
        height = {"KernelRankingDisplay": 3.4, "FeatureWeightsDisplay": 3.4}
        figure.set_size_inches(4.4, height.get(type(display).__name__, 3.4))
        out = StringIO()
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    text = out.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = text.replace(INK, "currentColor")
    # the size comes from the page, the shape from the view box
    text = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", text, count=1)
    text = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", text, count=1)
    return _markup(text)
