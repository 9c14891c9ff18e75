"""The page: one HTML file without scripts or requests, the same bytes for the same ranking."""

from __future__ import annotations

import re
import warnings
from functools import partial
from importlib.resources import files
from io import StringIO
from typing import Any

from gramsmith.report.axes import COLOURS, GREY, needs_extra
from gramsmith.report.pictures import (
    KERNELS,
    PICTURES,
    NothingToDraw,
    effect_height,
    plot_effect,
    plot_output,
)
from gramsmith.report.words import (
    MEANING,
    amount,
    next_steps,
    number,
    provenance,
    score_label,
    with_error,
)

# What is drawn in this colour takes the colour of the page: dark on light, light on dark.
INK = "#0b0c0d"

WIDTH, HEIGHT = 4.2, 3.3  # of a picture, in inches
NAME = 0.34  # of a row of the scores, whose name may take two lines

STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "gramsmith",
    "text.parse_math": False,
    "axes.formatter.use_mathtext": False,
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 9,
    "legend.fontsize": 8.5,
    **dict.fromkeys(("text.color", "axes.labelcolor", "axes.edgecolor"), INK),
    **dict.fromkeys(("xtick.color", "ytick.color"), INK),
    **dict.fromkeys(("axes.facecolor", "figure.facecolor", "savefig.facecolor"), "none"),
    "figure.constrained_layout.w_pad": 0.1,
    "figure.constrained_layout.h_pad": 0.06,
}

# Titles and captions of the pictures.
CAPTIONS = {
    "scores": (
        "Scores of the best kernels, with standard errors",
        "Right is better. Filled dots are cross-validated scores, open diamonds those of a first "
        "check. Blue kernels tie with the best.",
    ),
    "confusion": (
        "Confusion matrix: which classes are mistaken for which",
        "Rows are true classes, columns the predictions, in percent of the true class; dark off "
        "the diagonal means mistakes.",
    ),
    "roc": (
        "ROC curve",
        "For all thresholds: up and left is better, the dotted line is guessing. "
        "Marks show the threshold in use.",
    ),
    "reliability": (
        "Calibration of the probabilities",
        "Predicted probability against how often it came true on held-out rows, in tenths, with "
        "intervals of 95 %. Points on the dotted line are calibrated; below it probabilities are "
        "too high.",
    ),
    "precision_recall": (
        "Precision against recall",
        "For all thresholds: up and right is better. Marks show the threshold in use.",
    ),
    "predictions": (
        "Predicted against actual",
        "One point per held-out row; on the dashed line the prediction is right.",
    ),
    "residuals": (
        "Residuals",
        "Actual minus predicted. A bend means that the model misses something, a funnel that some "
        "predictions are less certain than others.",
    ),
    "importance": (
        "Importance of the columns",
        "How much the score falls when the column is shuffled on held-out rows, with its standard "
        "error. Values a little below zero are chance. Correlated columns share their importance.",
    ),
    "bandwidth": (
        "The parameter of the kernel",
        "Kernels of one family. Up is better; every curve is scaled from its worst value to its "
        "best. The thick line is the score of the first check; dots mark the best.",
    ),
    "gram": (
        "The Gram matrix of the best kernel",
        "A sample of the rows, sorted by class or value. Bright blocks on the diagonal: members of "
        "a class are similar.",
    ),
    "map": (
        "Kernel principal components",
        "The first two components of a sample of the rows. They show the coarse structure; the "
        "model uses all components.",
    ),
}
JUDGED = {"better": "clearly better", "tied": "no clear difference", "worse": "clearly worse"}
SHOWN = 30  # columns that are shown without being asked for
BEST = 5  # kernels that are
CLASSES = 12  # classes up to which all are listed at once
OUTPUTS = 6  # outputs whose predictions are drawn


def render(
    ranking: Any,
    title: str | None = None,
    source: str | None = None,
    *,
    target: str | None = None,
    model: str | None = None,
    command: str | None = None,
    data: str | None = None,
) -> str:
    """Return the report of a `KernelRanking` as the text of an HTML page, see `write_html`."""
    with needs_extra():
        from jinja2 import Environment
        from markupsafe import Markup, escape

    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    # control characters, such as right-to-left marks, are spelled out in whatever is shown
    environment.finalize = lambda value: (
        value if isinstance(value, Markup) or not isinstance(value, str) else visible(value)
    )
    # names of classes and columns may go on in a new line after these
    environment.filters["breakable"] = lambda name: Markup(  # noqa: S704
        re.sub(r"([/_])(?=\w)", r"\1<wbr>", str(escape(visible(name))))
    )
    folder = files("gramsmith.report").joinpath("templates")
    template = environment.from_string(folder.joinpath("report.html.j2").read_text("utf-8"))
    # only what this module has made itself (pictures, the style sheet) passes unescaped
    style = Markup(folder.joinpath("report.css").read_text("utf-8"))  # noqa: S704
    pictures = {kind: Markup(svg) for kind, svg in drawn(ranking).items()}  # noqa: S704
    n = len(ranking.evidence.effects)
    return template.render(
        ranking=ranking,
        title=title or f"How well can {f'“{target}”' if target else 'it'} be predicted?",
        source=source or "",
        next_steps=next_steps(ranking, source, model),
        provenance=provenance(ranking, command, data),
        reading=ranking.evidence.reading,
        outcome=ranking.evidence.outcome,
        rivals=rivals_of(ranking),
        classes=classes_of(ranking.evidence.outcome),
        targets=targets_of(ranking.evidence.outcome),
        pictures=pictures,
        outputs=[(name, Markup(svg)) for name, svg in drawn_outputs(ranking)],  # noqa: S704
        effects=[
            Markup(draw(partial(plot_effect, ranking, k), effect_height(ranking)))  # noqa: S704
            for k in range(n)
        ],
        style=style,
        score=score_label(ranking.scoring),
        functions={
            "number": number,
            "shown_score": shown_score,
            "with_error": with_error,
            "bars": bars,
        },
        CAPTIONS=CAPTIONS,
        MEANING=MEANING,
        SHOWN=SHOWN,
        BEST=BEST,
        CLASSES=CLASSES,
        CURVES=len(COLOURS),
    )


def visible(text: str) -> str:
    """Return text with characters that steer the layout (right-to-left marks) spelled out."""
    return "".join(c if c.isprintable() or c in "\n\t" else f"\\u{ord(c):04x}" for c in text)


def rivals_of(ranking: Any) -> list[dict[str, Any]]:
    """Return simpler answers and the model on one scale: shares of the way from end to end."""
    value, low, high = (getattr(ranking.estimate, name) for name in ("value", "low", "high"))
    others = [r for r in ranking.other_records if r["score"] is not None]
    shown = [r["score"] if r["expected"] is None else r["expected"] for r in others]
    scores = [*(r.score for r in ranking.evidence.rivals), *shown]
    # the axis ends where the values do, but for a linear model that is far below the baseline
    top, bottom = max([high, *scores]), min([low, *scores])
    bottom = max(bottom, min([low, *scores[:1]]) - abs(value - ranking.estimate.baseline))
    span = (top - bottom) or 1.0

    def place(x: float) -> float:
        return float(round(100.0 * min(max((x - bottom) / span, 0.0), 1.0), 1))

    rows = [
        {
            "name": f"{r.name[:1].upper()}{r.name[1:]}",
            "note": r.judgement,
            "value": shown_score(r.score),
            "at": place(r.score),
        }
        for r in ranking.evidence.rivals
    ]
    rows += [
        {
            "name": r["estimator"],
            "note": f"{JUDGED.get(r['judgement'], '')}, {r['seconds']:.1f} s".lstrip(", "),
            "value": shown_score(x),
            "at": place(x),
        }
        for r, x in zip(others, shown, strict=True)
    ]
    own = {"name": "This model, on new data", "value": shown_score(value), "at": place(value)}
    limits = f"{shown_score(low)} to {shown_score(high)}"
    return [*rows, {**own, "note": limits, "low": place(low), "high": place(high)}]


def shown_score(value: float | None) -> str:
    """Return a score with as many decimals as the others of a table: three below ten."""
    return f"{value:z.3f}" if value is not None and abs(value) < 10 else number(value)


def classes_of(outcome: Any) -> list[dict[str, Any]]:
    """Return what was found of each class; of many classes those that are found least first."""
    if outcome is None or not outcome.classes:
        return []
    total, right = outcome.confusion.sum(axis=1), outcome.confusion.diagonal()
    found = [
        {
            "name": name,
            "counts": f"{amount(right[c])} of {amount(total[c])}",
            "recall": _share(outcome.recall[c]),
            "precision": _share(outcome.precision[c]),
        }
        for c, name in enumerate(outcome.classes)
        if total[c] > 0
    ]
    if len(found) > CLASSES:
        found.sort(key=lambda item: item["recall"][0])
    return found


def targets_of(outcome: Any) -> tuple[list[str], list[list[str]]]:
    """Return heads and rows of a table of several outputs or labels; of many the worst first."""
    if outcome is None or not outcome.targets:
        return [], []
    ordered = outcome.targets
    if len(ordered) > CLASSES:
        ordered = sorted(ordered, key=lambda t: t.score - t.baseline)
    if ordered[0].errors:
        head = ["output", "R²", "half within", "90 % within"]
        rows = [[f"± {number(t.errors[n])}" for n in ("half", "nine of ten")] for t in ordered]
    else:
        head = ["label", "accuracy", "majority", "found", "precision"]
        rows = [
            [
                number(t.baseline),
                f"{amount(t.found)} of {amount(t.there)}",
                _share(t.found / t.said if t.said > 0 else float("nan"))[1],
            ]
            for t in ordered
        ]
    scores = [[t.name, with_error(t.score, t.error)] for t in ordered]
    return head, [[*a, *b] for a, b in zip(scores, rows, strict=True)]


def _share(value: float) -> tuple[float, str]:
    return (0.0, "–") if value != value else (round(100 * float(value), 1), f"{value:.0%}")


def bars(counts: list[int]) -> str:
    """Return the path of a small histogram in a box of 38 x 10."""
    heights = [round(9 * count / max(counts) + 1) if count else 0 for count in counts]
    return "".join(f"M{3 * k + 2} 10v-{h}" for k, h in enumerate(heights) if h)


def drawn(ranking: Any) -> dict[str, str]:
    """Return the pictures of a ranking; what there is nothing to draw of is left out."""
    found: dict[str, str] = {}
    names = min(len(ranking.records), KERNELS) + len(ranking.other_records)
    for kind, plot in PICTURES.items():
        try:
            height = 0.8 + NAME * names if kind == "scores" else HEIGHT
            found[kind] = draw(partial(plot, ranking), height)
        except NothingToDraw:
            continue
    return found


def drawn_outputs(ranking: Any) -> list[tuple[str, str]]:
    """Return names and pictures of several outputs, of many those that are hardest to predict."""
    outcome = ranking.evidence.outcome
    if outcome is None or not outcome.targets or not outcome.targets[0].errors:
        return []
    hardest = sorted(range(len(outcome.targets)), key=lambda k: outcome.targets[k].score)
    return [
        (outcome.targets[k].name, draw(partial(plot_output, ranking, k)))
        for k in sorted(hardest[:OUTPUTS])
    ]


def draw(plot: Any, height: float = HEIGHT) -> str:
    """Return what `plot(ax=)` draws as SVG text that follows the colours of the page."""
    with needs_extra():
        from matplotlib import style
        from matplotlib.backends.backend_svg import FigureCanvasSVG
        from matplotlib.figure import Figure

    # matplotlib's defaults and these settings, whatever the user's own style is
    with style.context(["default", STYLE]), warnings.catch_warnings():
        # a label may hold letters that the drawing font lacks; the browser has them
        warnings.filterwarnings("ignore", "Glyph .* missing", UserWarning)
        figure = Figure(figsize=(WIDTH, height), layout="constrained")
        FigureCanvasSVG(figure)
        plot(ax=figure.subplots())
        out = StringIO()
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    text = out.getvalue()
    text = text[text.index("<svg") :]
    # the size comes from the page, the shape from the view box
    text = re.sub(r' (?:width|height)="[^"]*"', "", text, count=2)
    for pattern in (r"<metadata>.*?</metadata>", r"<!--.*?-->", r' id="[a-z]*_[^"]*"'):
        text = re.sub(pattern, "", text, flags=re.DOTALL)
    text = text.replace(INK, "currentColor").replace(GREY, "var(--grey)")
    for k, colour in enumerate(COLOURS):
        text = text.replace(colour, f"var(--c{k})")
    return text
