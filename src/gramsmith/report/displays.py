"""Displays: each picture of the report as an object in the manner of scikit-learn.

A display holds plain values. ``from_...`` makes it, ``plot(ax=)`` draws it and keeps ``ax_`` and
``figure_``. Labels are always taken as text, never as mathematics.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gramsmith.arguments import abridged, is_one_of
from gramsmith.report.axes import (
    COLOURS,
    GREY,
    LINES,
    label_ticks,
    legend_above,
    new_axes,
    shorten,
    strip_frame,
)
from gramsmith.report.contents import BandwidthPath
from gramsmith.report.outcome_displays import (
    PREDICTIONS,
    FoldScoresDisplay,
    ImportanceDisplay,
    outcome_of,
    plot_confusion,
    plot_predictions,
    plot_reliability,
    plot_thresholds,
)
from gramsmith.report.sample_displays import GramDisplay as GramDisplay
from gramsmith.report.sample_displays import KernelMapDisplay as KernelMapDisplay


@dataclass
class KernelRankingDisplay:
    """Scores of kernels with their errors, best on top.

    Parameters
    ----------
    names : list of str
    scores, errors : arrays of shape (m,)
    tied : list of bool
    verified : list of bool
        Whether the score is that of the machine in use, not of the first check.
    score : str
        Name of the score.

    Examples
    --------
    >>> from gramsmith.report.displays import KernelRankingDisplay
    >>> display = KernelRankingDisplay(["a", "b"], [0.9, 0.8], [0.01, 0.02], [False, False])
    >>> display.plot().ax_.get_xlabel()
    'score'
    """

    names: list[str]
    scores: Any
    errors: Any
    tied: list[bool]
    verified: list[bool] = field(default_factory=list)
    score: str = "score"

    @classmethod
    def from_records(
        cls, records: Sequence[dict[str, Any]], *, score: str = "score", limit: int = 10
    ) -> KernelRankingDisplay:
        """Return the display of the best records of a ranking."""
        best = list(records[:limit])
        names = ["first_check" if r["score"] is None else "score" for r in best]
        pairs = list(zip(best, names, strict=True))
        return cls(
            [r["kernel"] for r in best],
            np.array([r[name] for r, name in pairs], dtype=float),
            np.array([r[f"{name}_error"] for r, name in pairs], dtype=float),
            [bool(r["tied"]) for r in best],
            [name == "score" for name in names],
            score,
        )

    @classmethod
    def from_ranking(cls, ranking: Any, *, limit: int = 10) -> KernelRankingDisplay:
        """Return the display of a `KernelRanking`.

        Parameters
        ----------
        ranking : KernelRanking
        limit : int, default=10
            Kernels that are shown.

        Returns
        -------
        KernelRankingDisplay
        """
        return cls.from_records(ranking.records, score=ranking.scoring, limit=limit)

    @classmethod
    def from_estimator(cls, estimator: Any, *, limit: int = 10) -> KernelRankingDisplay:
        """Return the display of a fitted `KernelSelector`.

        Parameters
        ----------
        estimator : KernelSelector
            Fitted in this session: a model file keeps no ranking.
        limit : int, default=10
            Kernels that are shown.

        Returns
        -------
        KernelRankingDisplay
        """
        return cls.from_ranking(estimator.ranking_, limit=limit)

    def plot(self, ax: Any = None) -> KernelRankingDisplay:
        """Draw; `ax` is where."""
        ax = new_axes(ax, height=0.8 + 0.27 * len(self.names))
        place = np.arange(len(self.names))[::-1]
        sure = self.verified or [True] * len(self.names)
        for y, value, error, tied, real in zip(
            place, self.scores, self.errors, self.tied, sure, strict=True
        ):
            colour = COLOURS[0] if tied or y == place[0] else GREY
            ax.errorbar(
                value,
                y,
                xerr=error if np.isfinite(error) else 0.0,
                fmt="o" if real else "D",
                mfc=colour if real else "none",
                color=colour,
                ms=5,
                lw=1.6,
            )
        label_ticks(ax.yaxis, place, [shorten(name, 27) for name in self.names])
        ax.xaxis.get_major_locator().set_params(nbins=5)
        ax.set_xlim(*_near(self.scores, self.errors))
        ax.set_xlabel(shorten(self.score))
        ax.tick_params(axis="y", length=0)
        ax.grid(axis="x", alpha=0.25, lw=0.6)
        strip_frame(ax)
        ax.spines["left"].set_visible(False)
        self.ax_, self.figure_ = ax, ax.figure
        return self


def _near(scores: Any, errors: Any) -> tuple[float, float]:
    """Return limits of an axis of scores; far outliers do not squeeze the others."""
    scores = np.asarray(scores, dtype=float)
    wide = np.where(np.isfinite(errors), errors, 0.0)
    low, high = float(np.min(scores - wide)), float(np.max(scores + wide))
    low = max(low, high - 4.0 * (high - float(np.median(scores - wide))))
    margin = 0.06 * (high - low) or 0.01
    return low - margin, high + margin


@dataclass
class BandwidthDisplay:
    """Score and measures along a family of kernels: up is better, for every curve.

    Each curve goes from its worst (0) to its best (1) on the path. What lies far below all
    others is drawn at 0, so that one outlier does not flatten a curve.

    Parameters
    ----------
    path : BandwidthPath
    score : str
        Name of the score.

    Examples
    --------
    >>> import numpy as np
    >>> from gramsmith.report.contents import BandwidthPath
    >>> from gramsmith.report.displays import BandwidthDisplay
    >>> path = BandwidthPath("gaussian", np.arange(3.0), {"cka": np.arange(3.0)}, np.arange(3.0))
    >>> [line.get_label() for line in BandwidthDisplay(path, "accuracy").plot().ax_.lines]
    ['accuracy (0 to 2)', 'cka']
    """

    path: BandwidthPath
    score: str = "score"

    @classmethod
    def from_ranking(cls, ranking: Any, *, family: int = 0) -> BandwidthDisplay:
        """Return the display of a `KernelRanking` that tried paths of bandwidths.

        Parameters
        ----------
        ranking : KernelRanking
        family : int, default=0
            Which of the families with a path, in the order of the report.

        Returns
        -------
        BandwidthDisplay
        """
        paths = ranking.paths
        if not -len(paths) <= family < len(paths):
            raise ValueError(
                f"Expected a family below {len(paths)}, the number of paths of bandwidths "
                f'in this ranking, got {family}. Rank with kernels="auto" for more paths.'
            )
        return cls(paths[family], ranking.scoring)

    @classmethod
    def from_evaluation(cls, evaluation: Any, scores: Any = None) -> BandwidthDisplay:
        """Return the display of a `bandwidth_path`, narrower from left to right."""
        steps = np.arange(len(evaluation.kernels), dtype=float)
        curves = {m.name: m.sign * evaluation.values(m) for m in evaluation.measures.values()}
        nothing = np.full(len(steps), np.nan)
        values = nothing if scores is None else np.asarray(scores, dtype=float)
        widths = [getattr(k, "length_scale", "") for k in evaluation.kernels.values()]
        labels = [f"{w:.3g}" if isinstance(w, float) else "" for w in widths]
        return cls(BandwidthPath("gaussian", steps, curves, values, labels=labels))

    def plot(self, ax: Any = None) -> BandwidthDisplay:
        """Draw; `ax` is where."""
        ax = new_axes(ax, height=3.6)
        path = self.path
        finite = path.scores[np.isfinite(path.scores)]
        if len(finite):
            span = f"{self.score} ({finite.min():.3g} to {finite.max():.3g})"
            self._curve(ax, span, path.scores, color=COLOURS[0], lw=2.6, ls="-", zorder=3)
        for k, (name, values) in enumerate(path.measures.items()):
            style = {"color": COLOURS[1 + k % 7], "ls": LINES[(1 + k) % len(LINES)], "lw": 1.4}
            self._curve(ax, name, values, **style)
        if path.chosen is not None:
            ax.axvline(path.chosen, color=GREY, lw=1.0, ls=":", zorder=0, label="winner")
        if any(path.labels):
            few = np.unique(np.linspace(0, len(path.steps) - 1, 6).round().astype(int))
            label_ticks(ax.xaxis, path.steps[few], [path.labels[k] for k in few])
        ax.set_ylabel("worst to best")
        ax.set_yticks([0.0, 1.0], ["worst", "best"])
        ax.set_ylabel("")
        ax.set_xlabel(path.axis)
        ax.set_ylim(-0.05, 1.08)
        if ax.lines:
            legend_above(ax, 2)
        strip_frame(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _curve(self, ax: Any, name: str, values: Any, **style: Any) -> None:
        scaled = from_worst_to_best(values)
        if not np.isfinite(scaled).any():
            return
        ax.plot(self.path.steps, scaled, label=shorten(name), **style)
        best = int(np.nanargmax(scaled))
        ax.scatter(self.path.steps[best], scaled[best], s=22, color=style["color"], zorder=4)


def from_worst_to_best(values: Any) -> Any:
    """Return values scaled from 0, the worst, to 1, the best; far outliers below are cut at 0."""
    values = np.asarray(values, dtype=float)
    finite = values[np.isfinite(values)]
    if not len(finite):
        return np.full(len(values), np.nan)
    high = finite.max()
    low = max(finite.min(), high - 3.0 * (high - np.median(finite)))
    if not high > low:
        low = finite.min()
    if not high > low:
        return np.where(np.isfinite(values), 0.5, np.nan)
    return np.clip((values - low) / (high - low), 0.0, 1.0)


@dataclass
class FeatureWeightsDisplay:
    """Relevance of features as bars, largest on top: how much they count, in no direction.

    Negative relevance, of features that would rather count less, is drawn as none.

    Parameters
    ----------
    weights : list of (str, float)
    meaning : str

    Examples
    --------
    >>> from gramsmith.report.displays import FeatureWeightsDisplay
    >>> len(FeatureWeightsDisplay([("a", 0.5), ("b", 0.1)]).plot().ax_.patches)
    2
    """

    weights: list[tuple[str, float]]
    meaning: str = "relevance"

    @classmethod
    def from_ranking(cls, ranking: Any) -> FeatureWeightsDisplay:
        """Return the display of a `KernelRanking`: what the features are to the winner.

        Parameters
        ----------
        ranking : KernelRanking
            Of vectors; it is empty where no feature matters.

        Returns
        -------
        FeatureWeightsDisplay
        """
        return cls(ranking.evidence.weights, ranking.evidence.weights_meaning)

    @classmethod
    def from_estimator(cls, estimator: Any, names: Any = None) -> FeatureWeightsDisplay:
        """Return the display of an estimator with `feature_importances_`.

        Parameters
        ----------
        estimator : fitted estimator
            Such as `TransformLearner`.
        names : sequence of str, optional
            Names of the features; default those of `fit`, if it saw any.

        Returns
        -------
        FeatureWeightsDisplay
        """
        names = getattr(estimator, "feature_names_in_", None) if names is None else names
        values = np.asarray(estimator.feature_importances_, dtype=float)
        labels = [f"x{k}" for k in range(len(values))] if names is None else [str(n) for n in names]
        order = np.argsort(-values, kind="stable")
        return cls([(labels[k], float(values[k])) for k in order], "importance")

    def plot(self, ax: Any = None) -> FeatureWeightsDisplay:
        """Draw; `ax` is where."""
        ax = new_axes(ax, height=0.9 + 0.22 * len(self.weights))
        place = np.arange(len(self.weights))[::-1]
        values = [max(value, 0.0) for _, value in self.weights]
        ax.barh(place, values, color=COLOURS[2], height=0.7)
        ax.xaxis.get_major_locator().set_params(nbins=5)
        label_ticks(ax.yaxis, place, [shorten(name, 24) for name, _ in self.weights])
        ax.tick_params(axis="y", length=0)
        ax.axvline(0.0, color=GREY, lw=0.8)
        ax.set_xlabel("relevance")
        strip_frame(ax)
        ax.spines["left"].set_visible(False)
        self.ax_, self.figure_ = ax, ax.figure
        return self


@dataclass
class KeepDisplay:
    """What each amount of learning was worth on rows that did not teach.

    Parameters
    ----------
    amounts, losses, errors : arrays of shape (m,)
        As in `keep_curve_`: errors are those of the differences to the best.
    chosen : float
        The amount that was taken.

    Examples
    --------
    >>> from gramsmith.report import KeepDisplay
    >>> display = KeepDisplay([0.0, 0.5, 1.0], [0.5, 0.3, 0.4], [0.1, 0.0, 0.05], 0.5)
    >>> display.plot().ax_.get_xlabel()
    'amount of learning'
    """

    amounts: Any
    losses: Any
    errors: Any
    chosen: float

    @classmethod
    def from_estimator(cls, estimator: Any) -> KeepDisplay:
        """Return the display of a learner that was fitted with keep="cross_fit".

        Parameters
        ----------
        estimator : fitted learner
            Such as `TransformLearner`.

        Returns
        -------
        KeepDisplay
        """
        curve = getattr(estimator, "keep_curve_", None)
        if curve is None:
            raise ValueError(
                'Expected a learner fitted with keep="cross_fit", got '
                f"{type(estimator).__name__} without a curve. Fit it with that option first."
            )
        return cls(curve["amount"], curve["loss"], curve["error"], float(estimator.keep_))

    def plot(self, ax: Any = None) -> KeepDisplay:
        """Draw; `ax` is where."""
        ax = new_axes(ax, width=5.6, height=3.4)
        amounts, losses, errors = (
            np.asarray(v, dtype=float) for v in (self.amounts, self.losses, self.errors)
        )
        ax.errorbar(amounts, losses, yerr=errors, fmt="o-", color=COLOURS[0], ms=5, lw=1.4)
        ax.axhline(losses.min(), color=GREY, lw=0.8, ls=":")
        ax.axvline(self.chosen, color=COLOURS[2], lw=1.2, ls="--", label="taken")
        ax.set_xlabel("amount of learning")
        ax.set_ylabel("loss on other rows")
        ax.legend(frameon=False)
        strip_frame(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self


@dataclass
class HistoryDisplay:
    """The learning curve: the measure at every iteration, and on held-out samples.

    Parameters
    ----------
    values : array of shape (m,)
        On the samples that were climbed.
    held_out : array of shape (m,), optional
        Oriented so that higher is better.
    name : str, default="measure"

    Examples
    --------
    >>> from gramsmith.report import HistoryDisplay
    >>> HistoryDisplay([0.1, 0.3, 0.35]).plot().ax_.get_xlabel()
    'iteration'
    """

    values: Any
    held_out: Any = None
    name: str = "measure"

    @classmethod
    def from_estimator(cls, estimator: Any) -> HistoryDisplay:
        """Return the display of a learner with a history.

        Parameters
        ----------
        estimator : fitted learner
            Such as `TransformLearner`.

        Returns
        -------
        HistoryDisplay
        """
        history = getattr(estimator, "history_", None)
        if not history or "value" not in history:
            raise ValueError(
                f"Expected a fitted learner with a history, got {type(estimator).__name__}. Use "
                "TransformLearner, KernelLearner or TwoGaussianLearner, and fit it first."
            )
        name = getattr(estimator.measure, "name", estimator.measure)
        return cls(history["value"], history.get("held_out"), str(name))

    def plot(self, ax: Any = None) -> HistoryDisplay:
        """Draw; `ax` is where."""
        ax = new_axes(ax, width=5.6, height=3.4)
        ax.plot(np.asarray(self.values, dtype=float), "o-", color=COLOURS[0], ms=4, lw=1.4)
        if self.held_out is not None:
            held = np.asarray(self.held_out, dtype=float)
            ax.plot(held, "s--", color=COLOURS[2], ms=4, lw=1.4, label="held out")
            ax.legend(frameon=False)
        ax.set_xlabel("iteration")
        ax.set_ylabel(self.name)
        strip_frame(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self


def plot_surface(surface: Any, ax: Any = None, *, mark: tuple[float, float] | None = None) -> Any:
    """Draw the surface of a `TwoGaussianLearner`: alignment over bandwidth and share.

    Parameters
    ----------
    surface : TwoGaussianLearner or dict
        A fitted learner, whose optimum is marked, or its `surface_`: "u", "sigma" and "value".
    ax : matplotlib axes, optional
        Default: new ones.
    mark : (float, float), optional
        A point (sigma, u) to mark instead.

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> import numpy as np
    >>> import gramsmith as gs
    >>> from gramsmith.report import plot_surface
    >>> x = np.array([0.0, 3.0, 5.0, 40.0])[:, None]
    >>> learner = gs.TwoGaussianLearner(sigma1=1.0, keep=1.0).fit(x, [-1, 1, 1, 1])
    >>> ax = plot_surface(learner)
    >>> ax.get_xlabel()
    'sigma2'
    """
    if hasattr(surface, "surface_"):
        mark = (surface.sigma2_, surface.u_) if mark is None else mark
        surface = surface.surface_
    ax = new_axes(ax, width=6.4, height=4.8)
    sigma, u, value = (np.asarray(surface[name]) for name in ("sigma", "u", "value"))
    filled = ax.contourf(sigma, u, value, levels=24)
    ax.figure.colorbar(filled, ax=ax, label="alignment")
    ax.set_xscale("log")
    ax.set_xlabel("sigma2")
    ax.set_ylabel("u, share of the first Gaussian")
    if mark is not None and np.isfinite(mark[0]) and mark[0] > 0:
        ax.plot(*mark, marker="o", color="white", markeredgecolor="black")
    return ax


DISPLAYS: dict[str, Any] = {
    "scores": KernelRankingDisplay,
    "folds": FoldScoresDisplay,
    "bandwidth": BandwidthDisplay,
    "gram": GramDisplay,
    "map": KernelMapDisplay,
    "relevance": FeatureWeightsDisplay,
    "importance": ImportanceDisplay,
}
PICTURES = (*DISPLAYS, "confusion", "roc", "precision_recall", "reliability", *PREDICTIONS)


def plot_ranking(ranking: Any, kind: str, ax: Any = None) -> Any:
    """Draw one of the pictures of a `KernelRanking` by its name, and return its display."""
    if not is_one_of(kind, PICTURES):
        raise ValueError(f"Expected a picture among {', '.join(PICTURES)}, got {abridged(kind)}.")
    if kind in DISPLAYS:
        return DISPLAYS[kind].from_ranking(ranking).plot(ax)
    if kind in PREDICTIONS:
        return plot_predictions(outcome_of(ranking, "values"), kind, ax)
    if kind == "confusion":
        return plot_confusion(outcome_of(ranking, "classes"), ax)
    outcome = outcome_of(ranking, "classes", "several labels")
    if kind != "reliability":
        curves = outcome.roc if kind == "roc" else outcome.precision_recall
        return plot_thresholds(curves, kind, ax)
    if outcome.reliability is None:
        raise ValueError(
            "Expected a winner with probabilities for at least 30 held-out rows, got none. "
            "Rank without machine=, or with more rows."
        )
    return plot_reliability(outcome.reliability, ax)
