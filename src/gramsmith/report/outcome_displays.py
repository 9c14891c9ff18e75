"""Pictures of what was said of held-out rows: confusion, thresholds, probabilities, errors, folds.

They show the arrays that a ranking keeps. What scikit-learn has a display for is drawn by it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gramsmith.report.axes import (
    COLOURS,
    GREY,
    LINES,
    MARKERS,
    label_ticks,
    legend_above,
    new_axes,
    shorten,
    strip_frame,
    without_outliers,
)
from gramsmith.report.evidence import Curve, Outcome, Reliability

Array = npt.NDArray[Any]

WRITTEN = 8  # classes up to which the cells of a matrix have numbers
TICKS = 20  # classes up to which all are named
PREDICTIONS = ("predictions", "residuals")


INSTEAD = {"classes": "confusion", "values": "predictions", "several labels": "roc"}


def outcome_of(ranking: Any, *kinds: str) -> Outcome:
    """Return the held-out outcome of a ranking, or raise if it is of none of some kinds."""
    outcome: Outcome | None = ranking.evidence.outcome
    if outcome is None:
        raise ValueError(
            "Expected a ranking with held-out rows, got one that ran out of time. "
            "Allow a larger time_budget."
        )
    kind = "classes" if outcome.classes else "values" if outcome.actual.size else "several labels"
    if kinds and kind not in kinds:
        raise ValueError(
            f"Expected a ranking of {' or '.join(kinds)}, got one of {kind}. "
            f'Use plot("{INSTEAD[kind]}").'
        )
    return outcome


def plot_confusion(outcome: Outcome, ax: Any = None) -> Any:
    """Draw true classes by the answers that were given, as shares of each true class."""
    from sklearn.metrics import ConfusionMatrixDisplay

    ax = new_axes(ax, height=3.6)
    total = outcome.confusion.sum(axis=1, keepdims=True)
    C = len(outcome.classes)
    display = ConfusionMatrixDisplay(outcome.confusion / np.where(total > 0, total, 1.0)).plot(
        ax=ax,
        cmap="Blues",
        colorbar=False,
        include_values=C <= WRITTEN,
        values_format=".0%",
        im_kw={"vmin": 0.0, "vmax": 1.0},
    )
    few = np.arange(C) if C <= TICKS else np.linspace(0, C - 1, TICKS).round().astype(int)
    names = [shorten(outcome.classes[k], 14) for k in few]
    label_ticks(ax.yaxis, few, names)
    label_ticks(ax.xaxis, few, names, rotation=90)
    ax.set_xlabel("answered")
    ax.set_ylabel("true")
    return display


def plot_thresholds(curves: list[Curve], kind: str = "roc", ax: Any = None) -> Any:
    """Draw what other thresholds would give; a mark is the threshold in use.

    The kind is "roc" or "precision_recall"; every class is compared with all others.
    """
    from sklearn.metrics import PrecisionRecallDisplay, RocCurveDisplay

    ax = new_axes(ax, height=3.6)
    roc, alone = kind == "roc", len(curves) == 1
    display: Any = None
    for k, curve in enumerate(curves):
        colour = COLOURS[k % len(COLOURS)]
        if roc:
            display = RocCurveDisplay(fpr=curve.x, tpr=curve.y)
        else:
            display = PrecisionRecallDisplay(curve.y, curve.x)
        display.plot(ax=ax)
        word = (": area" if roc else ": average precision") if alone else ""
        display.line_.set(color=colour, linestyle=LINES[k % len(LINES)], linewidth=1.8)
        display.line_.set(drawstyle="default")  # the curves are thinned: steps would mislead
        display.line_.set_label(f"{shorten(curve.name, 14)}{word} {curve.area:.3f}")
        ax.scatter(
            *curve.used,
            s=50 if alone else 26,
            zorder=3,
            label="threshold in use" if alone else None,
            marker="o" if alone else MARKERS[k % len(MARKERS)],
            color=colour,
        )
    if roc:
        ax.plot([0, 1], [0, 1], color=GREY, lw=0.8, ls=":")
    elif alone:
        ax.axhline(curves[0].share, color=GREY, lw=0.8, ls=":")
    ax.set_xlabel("false alarms" if roc else "found (recall)")
    ax.set_ylabel("found (recall)" if roc else "right when it says so (precision)")
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.04), aspect="auto")
    legend_above(ax, 1 if alone else 2)
    strip_frame(ax)
    return display


def plot_reliability(reliability: Reliability, ax: Any = None) -> Any:
    """Draw how often probabilities came true on held-out rows, with intervals of 95 %."""
    from sklearn.calibration import CalibrationDisplay

    ax = new_axes(ax, height=3.6)
    true, said = reliability.true, reliability.said
    display = CalibrationDisplay(true, said, said, estimator_name=reliability.of or "answer")
    display.plot(ax=ax, ref_line=False, color=COLOURS[0])
    ax.plot([0, 1], [0, 1], color=GREY, lw=0.8, ls=":")
    bars = np.maximum([true - reliability.low, reliability.high - true], 0.0)
    ax.errorbar(said, true, yerr=bars, fmt="none", color=COLOURS[0], elinewidth=1.0)
    ax.get_legend().remove()  # one curve needs none
    ax.set(xlabel="probability that was said", ylabel="share that came true")
    ax.set(xlim=(-0.03, 1.03), ylim=(-0.03, 1.03))
    strip_frame(ax)
    return display


def plot_predictions(outcome: Outcome, kind: str = "predictions", ax: Any = None) -> Any:
    """Draw predictions of held-out rows against the actual values, or their errors ("residuals").

    Outliers lie on the frame, so that the others have room.
    """
    from sklearn.metrics import PredictionErrorDisplay

    ax = new_axes(ax, height=3.6)
    residuals = kind == "residuals"
    x = np.asarray(outcome.predicted, dtype=float)
    y = np.asarray(outcome.actual, dtype=float) - (x if residuals else 0.0)
    (left, right), (low, high) = limits(x), limits(y)
    if not residuals:
        left, right = low, high = limits(np.concatenate([x, y]))
    beyond = (x < left) | (x > right) | (y < low) | (y > high)
    at, height = np.clip(x, left, right), np.clip(y, low, high)
    display = PredictionErrorDisplay(y_true=height + (at if residuals else 0.0), y_pred=at)
    display.plot(
        ax=ax,
        kind="residual_vs_predicted" if residuals else "actual_vs_predicted",
        scatter_kwargs={"color": COLOURS[0], "s": 13, "lw": 0, "alpha": 0.6},
        line_kwargs={"color": GREY, "lw": 1.0, "zorder": 0},
    )
    if beyond.any():
        style = {"color": COLOURS[1], "s": 20, "marker": "D", "lw": 0, "clip_on": False}
        label = f"beyond the axes: {beyond.sum()}"
        ax.scatter(at[beyond], height[beyond], label=label, **style)
        legend_above(ax, 1)
    ax.set(xlim=(left, right), ylim=(low, high), aspect="auto")
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(_few_ticks())
    ax.set_xlabel("predicted")
    ax.set_ylabel("actual minus predicted" if residuals else "actual")
    strip_frame(ax)
    return display


def _few_ticks() -> Any:
    from matplotlib.ticker import MaxNLocator

    return MaxNLocator(nbins=5)


def limits(values: Array) -> tuple[float, float]:
    """Return limits of an axis that holds all values, but for a few that lie very far out."""
    low, high = without_outliers(values)
    margin = 0.04 * (high - low) or 0.5
    return low - margin, high + margin


@dataclass
class FoldScoresDisplay:
    """Scores of the best kernels in every fold: how much of a difference is the luck of a fold.

    Parameters
    ----------
    folds : dict of kernel -> array of shape (f,)
        Best kernel first; equal markers are equal folds.
    score : str
        Name of the score.

    Examples
    --------
    >>> from gramsmith.report import FoldScoresDisplay
    >>> display = FoldScoresDisplay({"a": [0.9, 0.8], "b": [0.7, 0.8]}, "accuracy").plot()
    >>> display.ax_.get_xlabel()
    'accuracy'
    """

    folds: dict[str, Any]
    score: str = "score"

    @classmethod
    def from_ranking(cls, ranking: Any) -> FoldScoresDisplay:
        """Return the display of a `KernelRanking`.

        Parameters
        ----------
        ranking : KernelRanking

        Returns
        -------
        FoldScoresDisplay
        """
        return cls(outcome_of(ranking).folds, ranking.scoring)

    def plot(self, ax: Any = None) -> FoldScoresDisplay:
        """Draw; `ax` is where."""
        ax = new_axes(ax, height=0.9 + 0.3 * max(len(self.folds), 2))
        place = np.arange(len(self.folds))[::-1]
        for y, values in zip(place, self.folds.values(), strict=True):
            values = np.asarray(values, dtype=float)
            colour = COLOURS[0] if y == place[0] else GREY
            ax.plot([np.nanmin(values), np.nanmax(values)], [y, y], color=colour, lw=1.0)
            for k, value in enumerate(values):
                ax.scatter(value, y, s=20, color=colour, marker=MARKERS[k % len(MARKERS)], lw=0)
            ax.plot([np.nanmean(values)] * 2, [y - 0.28, y + 0.28], color=colour, lw=1.8)
        label_ticks(ax.yaxis, place, [shorten(name, 27) for name in self.folds])
        ax.set_ylim(-0.6, len(self.folds) - 0.4)
        ax.xaxis.get_major_locator().set_params(nbins=5)
        ax.tick_params(axis="y", length=0)
        ax.grid(axis="x", alpha=0.25, lw=0.6)
        ax.set_xlabel(shorten(self.score))
        strip_frame(ax)
        ax.spines["left"].set_visible(False)
        self.ax_, self.figure_ = ax, ax.figure
        return self


@dataclass
class ImportanceDisplay:
    """What the score loses when a column is shuffled on held-out rows, with standard errors.

    Parameters
    ----------
    importance : list of (str, float, float)
        Column, loss of the score, and its error.
    score : str
        Name of the score.

    Examples
    --------
    >>> from gramsmith.report import ImportanceDisplay
    >>> display = ImportanceDisplay([("a", 0.2, 0.02), ("b", 0.0, 0.01)], "accuracy").plot()
    >>> display.ax_.get_xlabel()
    'loss of accuracy'
    """

    importance: list[tuple[str, float, float]]
    score: str = "score"

    @classmethod
    def from_ranking(cls, ranking: Any) -> ImportanceDisplay:
        """Return the display of a `KernelRanking`.

        Parameters
        ----------
        ranking : KernelRanking
            Of vectors; it is empty for others.

        Returns
        -------
        ImportanceDisplay
        """
        return cls(ranking.evidence.importance, ranking.scoring)

    def plot(self, ax: Any = None) -> ImportanceDisplay:
        """Draw; `ax` is where."""
        ordered = sorted(self.importance, key=lambda item: -item[1])
        ax = new_axes(ax, height=0.9 + 0.22 * len(ordered))
        place = np.arange(len(ordered))[::-1]
        values, errors = ([item[k] for item in ordered] for k in (1, 2))
        errors = [e if np.isfinite(e) else 0.0 for e in errors]
        ax.barh(place, values, color=COLOURS[0], height=0.7)
        ax.errorbar(values, place, xerr=errors, fmt="none", color=GREY, elinewidth=1.4)
        label_ticks(ax.yaxis, place, [shorten(name, 24) for name, _, _ in ordered])
        ax.xaxis.get_major_locator().set_params(nbins=5)
        ax.tick_params(axis="y", length=0)
        ax.axvline(0.0, color=GREY, lw=0.8)
        ax.set_xlabel(f"loss of {shorten(self.score)}")
        strip_frame(ax)
        ax.spines["left"].set_visible(False)
        self.ax_, self.figure_ = ax, ax.figure
        return self
