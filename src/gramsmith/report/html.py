"""The page: one HTML file without scripts or requests, the same bytes for the same contents."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable
from functools import partial
from importlib.resources import files
from io import StringIO
from typing import Any

from gramsmith.report import displays
from gramsmith.report.axes import COLOURS, GREY, needs_extra, settled_style, shorten
from gramsmith.report.contents import MEANING, next_steps, number, provenance, with_error
from gramsmith.report.evidence import ColumnPicture, Outcome
from gramsmith.report.outcome_displays import (
    PREDICTIONS,
    FoldScoresDisplay,
    ImportanceDisplay,
    plot_confusion,
    plot_predictions,
    plot_reliability,
    plot_thresholds,
)

# What is drawn in this colour takes the colour of the page: dark on light, light on dark.
INK = "#0b0c0d"

WIDTH, HEIGHT = 4.2, 3.3  # of a picture, in inches

STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "gramsmith",
    "text.parse_math": False,
    "axes.formatter.use_mathtext": False,
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
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
        "Right is better. Filled dots are held-out scores of the machine that is used, open "
        "diamonds are scores of the first check. Blue kernels are not clearly worse than the best.",
    ),
    "folds": (
        "The same kernels in every fold",
        "Right is better. Equal marks are equal folds, the upright line is their mean: how far "
        "scores differ by the luck of a fold.",
    ),
    "confusion": (
        "Which classes are taken for which",
        "Rows are true classes, columns the answers; dark off the diagonal means mistakes.",
    ),
    "roc": (
        "Found against false alarms (ROC)",
        "What other thresholds would give; up and left is better, the dotted line is guessing. "
        "Marks are the threshold in use.",
    ),
    "reliability": (
        "Can its probabilities be believed?",
        "What was said against what came true on held-out rows, in tenths, with "
        "intervals of 95 %. On the dotted line they can be believed; below it they promise too "
        "much.",
    ),
    "precision_recall": (
        "Precision against recall",
        "What other thresholds would give; up and right is better. Marks are the threshold in use, "
        "and where there is one curve the dotted line is guessing.",
    ),
    "predictions": (
        "Predicted against actual",
        "One point per held-out row; on the dashed line the prediction is right.",
    ),
    "residuals": (
        "What is left unexplained",
        "Actual minus predicted. A bend or a funnel means that something is still to be learned, "
        "or that some predictions are less certain than others.",
    ),
    "gram": (
        "The winner's Gram matrix",
        "A sample of the rows, sorted by class or value. Bright blocks on the diagonal: the kernel "
        "finds members of a class alike.",
    ),
    "map": (
        "The samples as the kernel sees them",
        "The two leading kernel principal components of a sample. They show the coarse structure; "
        "the machine uses all the others too.",
    ),
    "weights": (
        "How much the kernel listens to each column",
        "{}. It says how much a column counts, not in which direction it moves the answer. Columns "
        "at zero would rather count less.",
    ),
    "importance": (
        "What is lost without each column",
        "How much the score falls when the column is shuffled on held-out rows, with its standard "
        "error; a little below zero is chance. No direction either. Columns that say the same "
        "share their importance.",
    ),
}
SHOWN = 30  # kernels, and columns, that are shown without being asked for
FAMILIES = 6  # families that have a tab
CELLS = 10  # classes up to which the confusion matrix is a table
CLASSES = 12  # classes up to which all are listed at once


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

    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    folder = files("gramsmith.report").joinpath("templates")
    template = environment.from_string(folder.joinpath("report.html.j2").read_text("utf-8"))
    style = folder.joinpath("report.css").read_text("utf-8")
    evidence, measures = ranking.evidence, ranking.measures
    return template.render(
        ranking=ranking,
        title=title or f"How well can {f'“{target}”' if target else 'it'} be predicted?",
        source=source or "",
        paths=ranking.paths,
        next_steps=next_steps(ranking, source, model),
        provenance=provenance(ranking, command, data),
        meanings=MEANING,
        reading=evidence.reading,
        outcome=evidence.outcome,
        rivals=rivals_of(ranking),
        classes=classes_of(evidence.outcome),
        targets=targets_of(evidence.outcome),
        confusion=_confusion(evidence.outcome),
        rows=[_row(record, measures) for record in ranking.records],
        measures=[(name, "↑" if up else "↓") for name, up in measures.items()],
        columns=[_column(column) for column in evidence.reading.columns],
        outputs=[_column(column) for column in evidence.reading.targets],
        tabs=_tabs(ranking),
        seconds=[(name, f"{value:.2g} s") for name, value in evidence.seconds.items()],
        figure=_Figures(ranking),
        style=_markup(style),
        visible=visible,
        number=number,
        SHOWN=SHOWN,
        CLASSES=CLASSES,
    )


def visible(text: Any) -> str:
    """Return text with characters that steer the layout (right-to-left marks) spelled out."""
    return "".join(c if c.isprintable() or c in "\n\t" else f"\\u{ord(c):04x}" for c in str(text))


def _markup(text: str) -> Any:
    # Only what this module has made itself (pictures, the style sheet) passes unescaped.
    from markupsafe import Markup

    return Markup(text)  # noqa: S704


def _row(record: dict[str, Any], measures: Iterable[str]) -> dict[str, Any]:
    return {
        "rank": record["rank"],
        "tied": record["tied"],
        "kernel": record["kernel"],
        "score": with_error(record["score"], record["score_error"]),
        "first_check": number(record["first_check"]),
        "measures": [_cell(record, name) for name in measures],
    }


def _cell(record: dict[str, Any], name: str) -> tuple[str, str]:
    error = record.get(f"{name}_error")
    return number(record[name]), "" if error is None else f"± {error:.1g}"


def rivals_of(ranking: Any) -> list[dict[str, Any]]:
    """Return simpler answers and the model on one scale: shares of the way from end to end."""
    value, low, high = (getattr(ranking.estimate, name) for name in ("value", "low", "high"))
    scores = [r.score for r in ranking.evidence.rivals]
    top = max([high, *scores]) if ranking.best_score is None else ranking.best_score
    bottom = min([low, *scores])
    bottom = 0.0 if bottom >= 0 and top == 1 else max(bottom, top - 3.0 * (top - value))
    span = (top - bottom) or 1.0

    def place(x: float) -> float:
        return round(100.0 * min(max((x - bottom) / span, 0.0), 1.0), 1)

    rows = [
        {
            "name": f"{r.name[:1].upper()}{r.name[1:]}",
            "note": r.judgement,
            "value": number(r.score),
            "at": place(r.score),
        }
        for r in ranking.evidence.rivals
    ]
    own = {"name": "This model, on new data", "value": number(value), "at": place(value)}
    limits = f"{number(low)} to {number(high)}"
    return [*rows, {**own, "note": limits, "low": place(low), "high": place(high)}]


def classes_of(outcome: Outcome | None) -> list[dict[str, Any]]:
    """Return what was found of each class; of many classes those that are found least first."""
    if outcome is None or not outcome.classes:
        return []
    total, right = outcome.confusion.sum(axis=1), outcome.confusion.diagonal()
    pairs = zip(outcome.recall, outcome.precision, strict=True)
    found = [
        {
            "name": outcome.classes[c],
            "counts": f"{_amount(right[c])} of {_amount(total[c])}",
            "recall": _share(recall),
            "precision": _share(precision),
        }
        for c, (recall, precision) in enumerate(pairs)
        if total[c] > 0
    ]
    if len(found) > CLASSES:
        found.sort(key=lambda item: item["recall"][0])
    return found


def targets_of(outcome: Outcome | None) -> tuple[list[str], list[list[str]]]:
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
                f"{_amount(t.found)} of {_amount(t.there)}",
                _share(t.found / t.said if t.said > 0 else float("nan"))[1],
            ]
            for t in ordered
        ]
    scores = [[t.name, with_error(t.score, t.error)] for t in ordered]
    return head, [[*a, *b] for a, b in zip(scores, rows, strict=True)]


def _share(value: float) -> tuple[float, str]:
    return (0.0, "–") if value != value else (round(100 * float(value), 1), f"{value:.0%}")


def _amount(value: float) -> str:
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.1f}"


def _confusion(outcome: Outcome | None) -> list[tuple[str, list[tuple[str, int]]]]:
    """Return the confusion matrix as rows of (text, percent of the row), if it is small."""
    if outcome is None or not 2 <= len(outcome.classes) <= CELLS:
        return []
    total = outcome.confusion.sum(axis=1, keepdims=True)
    shares = outcome.confusion / [[t if t > 0 else 1.0] for t in total[:, 0]]
    return [
        (
            shorten(name, 24),
            [(_amount(v), round(100 * float(s))) for v, s in zip(values, parts, strict=True)],
        )
        for name, values, parts in zip(outcome.classes, outcome.confusion, shares, strict=True)
    ]


def _column(column: ColumnPicture) -> dict[str, Any]:
    top = max(column.counts, default=0)
    heights = [round(9 * count / top + 1) if count else 0 for count in column.counts]
    bars = "".join(f"M{3 * k + 2} 10v-{h}" for k, h in enumerate(heights) if h)
    return {
        "name": column.name,
        "role": column.role,
        "kind": column.kind,
        "missing": column.missing,
        "distinct": column.distinct,
        "note": column.note,
        "bars": bars,
        "ends": " … ".join(filter(None, [column.low, column.high])),
    }


def _tabs(ranking: Any) -> list[dict[str, Any]]:
    """Return the families of kernels along their parameter, one tab each."""
    return [
        {
            "name": _titled(path.family),
            "svg": draw(displays.BandwidthDisplay(path, ranking.scoring).plot),
        }
        for path in ranking.paths[:FAMILIES]
    ]


def _titled(family: str) -> str:
    first, comma, rest = family.partition(",")
    return f"{ {'matern': 'Matérn'}.get(first, first[:1].upper() + first[1:]) }{comma}{rest}"


class _Figures:
    """The pictures of a page by name; what there is nothing to draw of is None."""

    def __init__(self, ranking: Any) -> None:
        self.ranking = ranking
        self.makers = self._makers()

    def __contains__(self, name: str) -> bool:
        return name in self.makers

    def __getitem__(self, name: str) -> dict[str, Any] | None:
        make = self.makers.get(name)
        if make is None:
            return None
        title, caption = CAPTIONS.get(name, ("", ""))
        outcome = self.ranking.evidence.outcome
        if outcome is not None and outcome.targets and name == "predictions":
            caption += " All outputs together, each less its mean and in units of its deviation."
        if name == "weights":
            meaning = self.ranking.evidence.weights_meaning
            caption = caption.format(f"{meaning[:1].upper()}{meaning[1:]}")
        return {"title": title, "caption": caption, "svg": draw(make)}

    def _makers(self) -> dict[str, Callable[..., Any]]:
        ranking, evidence = self.ranking, self.ranking.evidence
        outcome = evidence.outcome
        found: dict[str, Callable[..., Any]] = {}
        if ranking.records:
            found["ranking"] = displays.KernelRankingDisplay.from_records(
                ranking.records, score=ranking.scoring
            ).plot
        if evidence.gram.size:
            found["gram"] = displays.GramDisplay.from_ranking(ranking).plot
        if evidence.map.size:
            found["map"] = displays.KernelMapDisplay.from_ranking(ranking).plot
        if evidence.weights:
            found["weights"] = displays.FeatureWeightsDisplay.from_ranking(ranking).plot
        if evidence.importance:
            found["importance"] = ImportanceDisplay(evidence.importance, ranking.scoring).plot
        if outcome is None:
            return found
        if outcome.folds:
            found["folds"] = FoldScoresDisplay(outcome.folds, ranking.scoring).plot
        if len(outcome.classes) > CELLS:
            found["confusion"] = partial(plot_confusion, outcome)
        for kind, curves in (("roc", outcome.roc), ("precision_recall", outcome.precision_recall)):
            if curves:
                found[kind] = partial(plot_thresholds, curves, kind)
        if outcome.reliability is not None:
            found["reliability"] = partial(plot_reliability, outcome.reliability)
        if outcome.actual.size:
            # residuals of several outputs with errors of several sizes would say little
            for kind in PREDICTIONS[:1] if outcome.targets else PREDICTIONS:
                found[kind] = partial(plot_predictions, outcome, kind)
        return found


def draw(plot: Callable[..., Any]) -> Any:
    """Return what `plot(ax=)` draws as SVG text that follows the colours of the page."""
    with needs_extra():
        from matplotlib.backends.backend_svg import FigureCanvasSVG
        from matplotlib.figure import Figure

    with settled_style(STYLE), warnings.catch_warnings():
        # a label may hold letters that the drawing font lacks; the browser has them
        warnings.filterwarnings("ignore", "Glyph .* missing", UserWarning)
        figure = Figure(figsize=(WIDTH, HEIGHT), layout="constrained")
        FigureCanvasSVG(figure)
        plot(ax=figure.subplots())
        out = StringIO()
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    text = out.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = _slim(text)
    text = text.replace(INK, "currentColor").replace(GREY, "var(--grey)")
    for k, colour in enumerate(COLOURS):
        text = text.replace(colour, f"var(--c{k})")
    # the size comes from the page, the shape from the view box
    text = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", text, count=1)
    text = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", text, count=1)
    return _markup(text)


def _slim(svg: str) -> str:
    """Return a picture in fewer bytes: hundredths of a point, no names of groups, no indents."""
    svg = re.sub(r'<g id="[^"]*"', "<g", svg)
    svg = re.sub(
        r' (?:d|x|y|transform|width|height)="[^"]*"',
        lambda found: re.sub(r"(\.\d\d)\d+", r"\1", found[0]),
        svg,
    )
    svg = re.sub(r"<!--.*?-->", "", svg, flags=re.DOTALL)
    return re.sub(r">\s+<", "><", re.sub(r"[ \t]*\n[ \t]*", " ", svg))
