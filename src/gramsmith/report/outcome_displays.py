"""Displays of what was said of held-out rows: confusion, thresholds, probabilities, errors, folds.

They are made of the evidence that a ranking keeps; scikit-learn's own displays draw the like from
an estimator and data.
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


@dataclass
class ConfusionDisplay:
    """True classes by the answers that were given, as shares of each true class.

    Parameters
    ----------
    matrix : array of shape (C, C)
        Numbers of rows, or sums of weights: true class by answer.
    classes : list of str

    Examples
    --------
    >>> from gramsmith.report import ConfusionDisplay
    >>> display = ConfusionDisplay([[8, 2], [1, 9]], ["no", "yes"]).plot()
    >>> [text.get_text() for text in display.ax_.texts]
    ['8', '2', '1', '9']
    """

    matrix: Any
    classes: list[str]

    @classmethod
    def from_ranking(cls, ranking: Any) -> ConfusionDisplay:
        """Return the display of the winner of a `KernelRanking`.

        Parameters
        ----------
        ranking : KernelRanking
            Of classes.

        Returns
        -------
        ConfusionDisplay
        """
        outcome = outcome_of(ranking, "classes")
        return cls(outcome.confusion, outcome.classes)

    def plot(self, ax: Any = None) -> ConfusionDisplay:
        """Draw; `ax` is where."""
        ax = new_axes(ax, height=3.6)
        matrix = np.asarray(self.matrix, dtype=float)
        total = matrix.sum(axis=1, keepdims=True)
        shares = matrix / np.where(total > 0, total, 1.0)
        ax.imshow(shares, vmin=0.0, vmax=1.0, cmap="Blues", interpolation="none")
        C = len(self.classes)
        if C <= WRITTEN:
            for i, j in np.ndindex(C, C):
                colour = "white" if shares[i, j] > 0.55 else "#1c2126"
                ax.text(j, i, f"{matrix[i, j]:.4g}", ha="center", va="center", color=colour)
        few = np.arange(C) if C <= 20 else np.linspace(0, C - 1, 20).round().astype(int)
        names = [shorten(self.classes[k], 14) for k in few]
        label_ticks(ax.yaxis, few, names)
        label_ticks(ax.xaxis, few, names, rotation=90)
        ax.set_xlabel("answered")
        ax.set_ylabel("true")
        self.ax_, self.figure_ = ax, ax.figure
        return self


@dataclass
class ThresholdDisplay:
    """What other thresholds would give, as ROC curve or as precision against recall.

    The mark is the threshold in use. Every class is compared with all others.

    Parameters
    ----------
    curves : list of Curve
    kind : {"roc", "precision_recall"}

    Examples
    --------
    >>> import numpy as np
    >>> from gramsmith.report import ThresholdDisplay
    >>> from gramsmith.report.evidence import Curve
    >>> steps = np.array([0.0, 0.0, 1.0])
    >>> curve = Curve("yes", steps, np.array([0.0, 0.8, 1.0]), 0.9, (0.1, 0.8), 0.3)
    >>> ThresholdDisplay([curve]).plot().ax_.get_xlabel()
    'false alarms'
    """

    curves: list[Curve]
    kind: str = "roc"

    @classmethod
    def from_ranking(cls, ranking: Any, kind: str = "roc") -> ThresholdDisplay:
        """Return the display of the winner of a `KernelRanking`.

        Parameters
        ----------
        ranking : KernelRanking
            Of classes.
        kind : {"roc", "precision_recall"}, default="roc"

        Returns
        -------
        ThresholdDisplay
        """
        outcome = outcome_of(ranking, "classes", "several labels")
        return cls(outcome.roc if kind == "roc" else outcome.precision_recall, kind)

    def plot(self, ax: Any = None) -> ThresholdDisplay:
        """Draw; `ax` is where."""
        ax = new_axes(ax, height=3.6)
        roc = self.kind == "roc"
        alone = len(self.curves) == 1
        for k, curve in enumerate(self.curves):
            colour = COLOURS[k % len(COLOURS)]
            word = (": area" if roc else ": average precision") if alone else ""
            label = f"{shorten(curve.name, 14)}{word} {curve.area:.3f}"
            line = LINES[k % len(LINES)]
            ax.plot(curve.x, curve.y, color=colour, ls=line, lw=1.8, label=label)
            mark = {"marker": "o" if alone else MARKERS[k % len(MARKERS)], "color": colour}
            ax.scatter(
                *curve.used,
                s=50 if alone else 26,
                zorder=3,
                label="threshold in use" if alone else None,
                **mark,
            )
        if roc:
            ax.plot([0, 1], [0, 1], color=GREY, lw=0.8, ls=":")
        elif alone:
            ax.axhline(self.curves[0].share, color=GREY, lw=0.8, ls=":")
        ax.set_xlabel("false alarms" if roc else "found (recall)")
        ax.set_ylabel("found (recall)" if roc else "right when it says so (precision)")
        ax.set_xlim(-0.02, 1.02)
        ax.set_ylim(-0.02, 1.04)
        if self.curves:
            legend_above(ax, 1 if alone else 2)
        strip_frame(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self


@dataclass
class ReliabilityDisplay:
    """How often probabilities came true on held-out rows; on the diagonal they can be believed.

    Parameters
    ----------
    reliability : Reliability

    Examples
    --------
    >>> import numpy as np
    >>> from gramsmith.report import ReliabilityDisplay
    >>> from gramsmith.report.evidence import Reliability
    >>> said = np.array([0.1, 0.5, 0.9])
    >>> known = Reliability("yes", said, said, said - 0.1, said + 0.1, 0.0)
    >>> ReliabilityDisplay(known).plot().ax_.get_xlabel()
    'probability that was said'
    """

    reliability: Reliability

    @classmethod
    def from_ranking(cls, ranking: Any) -> ReliabilityDisplay:
        """Return the display of the winner of a `KernelRanking`.

        Parameters
        ----------
        ranking : KernelRanking
            Of classes, with a machine that gives probabilities.

        Returns
        -------
        ReliabilityDisplay
        """
        known = outcome_of(ranking, "classes", "several labels").reliability
        if known is None:
            raise ValueError(
                "Expected a winner with probabilities for at least 30 held-out rows, got none. "
                "Rank without machine=, or with more rows."
            )
        return cls(known)

    def plot(self, ax: Any = None) -> ReliabilityDisplay:
        """Draw; `ax` is where."""
        ax = new_axes(ax, height=3.6)
        seen = self.reliability
        bars = np.maximum([seen.true - seen.low, seen.high - seen.true], 0.0)
        ax.plot([0, 1], [0, 1], color=GREY, lw=0.8, ls=":")
        ax.errorbar(
            seen.said,
            seen.true,
            yerr=bars,
            fmt="o-",
            color=COLOURS[0],
            ms=5,
            lw=1.4,
            elinewidth=1.0,
        )
        ax.set_xlabel("probability that was said")
        ax.set_ylabel("share that came true")
        ax.set_xlim(-0.03, 1.03)
        ax.set_ylim(-0.03, 1.03)
        strip_frame(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self


@dataclass
class PredictionDisplay:
    """Predictions of held-out rows against the actual values, or their errors.

    Outliers lie on the frame, so that the others have room.

    Parameters
    ----------
    actual, predicted : arrays of shape (m,)
    kind : {"predictions", "residuals"}

    Examples
    --------
    >>> from gramsmith.report import PredictionDisplay
    >>> PredictionDisplay([1.0, 2.0, 3.0], [1.1, 1.9, 3.2]).plot().ax_.get_xlabel()
    'predicted'
    """

    actual: Any
    predicted: Any
    kind: str = "predictions"

    @classmethod
    def from_ranking(cls, ranking: Any, kind: str = "predictions") -> PredictionDisplay:
        """Return the display of the winner of a `KernelRanking`.

        Parameters
        ----------
        ranking : KernelRanking
            Of values.
        kind : {"predictions", "residuals"}, default="predictions"

        Returns
        -------
        PredictionDisplay
        """
        outcome = outcome_of(ranking, "values")
        return cls(outcome.actual, outcome.predicted, kind)

    def plot(self, ax: Any = None) -> PredictionDisplay:
        """Draw; `ax` is where."""
        ax = new_axes(ax, height=3.6)
        actual, x = (np.asarray(v, dtype=float) for v in (self.actual, self.predicted))
        residuals = self.kind == "residuals"
        y = actual - x if residuals else actual
        if residuals:
            (left, right), (low, high) = limits(x), limits(y)
            ax.axhline(0.0, color=GREY, lw=1.0, ls="--", zorder=0)
        else:
            left, right = low, high = limits(np.concatenate([x, y]))
            ax.plot([low, high], [low, high], color=GREY, lw=1.0, ls="--", zorder=0)
        beyond = (x < left) | (x > right) | (y < low) | (y > high)
        style = {"color": COLOURS[0], "s": 13, "lw": 0, "alpha": 0.6}
        ax.scatter(x[~beyond], y[~beyond], **style)
        if beyond.any():
            at = np.clip(x[beyond], left, right), np.clip(y[beyond], low, high)
            style = {"color": COLOURS[1], "s": 20, "marker": "D", "lw": 0}
            ax.scatter(*at, **style, label=f"beyond the axes: {beyond.sum()}", clip_on=False)
            legend_above(ax, 1)
        ax.set_xlim(left, right)
        ax.set_ylim(low, high)
        for axis in (ax.xaxis, ax.yaxis):
            axis.get_major_locator().set_params(nbins=5)
        ax.set_xlabel("predicted")
        ax.set_ylabel("actual minus predicted" if residuals else "actual")
        strip_frame(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self


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
