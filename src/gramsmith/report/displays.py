"""Displays: each picture of the report as an object in the manner of scikit-learn.

A display holds plain values. ``from_...`` makes it, ``plot(ax=)`` draws it and keeps ``ax_`` and
``figure_``. Labels are always taken as text, never as mathematics.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from gramsmith.report.contents import BandwidthPath, Contents

Array = npt.NDArray[Any]

# Told apart by hue and by lightness, on white and on black.
COLOURS = ("#3b82c4", "#d9822b", "#2f9e6e", "#c2528b", "#8b6fd1", "#9a8c2f", "#4aa5b5", "#b0553a")
LABEL = 34  # characters of a label that are shown


def _axes(ax: Any, width: float = 4.4, height: float = 3.0) -> Any:
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=(width, height), layout="constrained")[1] if ax is None else ax


def shorten(text: Any, length: int = LABEL) -> str:
    """Return a label that fits: control characters shown as signs, long ones cut in the middle."""
    shown = "".join(c if c.isprintable() else "�" for c in str(text))
    if len(shown) <= length:
        return shown
    half = (length - 1) // 2
    return f"{shown[:half]}…{shown[-half:]}"


def _text(artist: Any) -> Any:
    artist.set_parse_math(False)
    return artist


def _ticks(axis: Any, positions: Any, labels: Sequence[str], **style: Any) -> None:
    for label in axis.set_ticks(positions, [shorten(x) for x in labels], **style) or []:
        _text(label.label1)
    for label in axis.get_ticklabels():
        _text(label)


def _bare(ax: Any) -> None:
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)


@dataclass
class KernelRankingDisplay:
    """Scores of kernels with their errors, best on top.

    Parameters
    ----------
    names : list of str
    scores, errors : arrays of shape (m,)
    tied : list of bool
    verified : list of bool
        Whether the score is cross-validated.
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
        return cls(
            [r["kernel"] for r in best],
            np.array([r["score"] for r in best], dtype=float),
            np.array([r["score_error"] for r in best], dtype=float),
            [bool(r["tied"]) for r in best],
            [r["verified"] == "cross-validation" for r in best],
            score,
        )

    @classmethod
    def from_ranking(cls, ranking: Any, *, limit: int = 10) -> KernelRankingDisplay:
        """Return the display of a `KernelRanking`."""
        return cls.from_records(ranking.records, score=ranking.scoring, limit=limit)

    def plot(self, ax: Any = None) -> KernelRankingDisplay:
        """Draw; `ax` is where."""
        ax = _axes(ax, height=0.8 + 0.27 * len(self.names))
        place = np.arange(len(self.names))[::-1]
        sure = self.verified or [True] * len(self.names)
        for y, value, error, tied, real in zip(
            place, self.scores, self.errors, self.tied, sure, strict=True
        ):
            colour = COLOURS[0] if tied or y == place[0] else "#8a8a8a"
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
        _ticks(ax.yaxis, place, self.names)
        ax.set_xlabel(shorten(self.score))
        ax.tick_params(axis="y", length=0)
        ax.grid(axis="x", alpha=0.25, lw=0.6)
        _bare(ax)
        ax.spines["left"].set_visible(False)
        self.ax_, self.figure_ = ax, ax.figure
        return self


@dataclass
class BandwidthDisplay:
    """Every measure along a path of bandwidths, with the verified loss, on one axis.

    Measures are scaled to 0 (worst on the path) and 1 (best); the loss keeps its own axis.

    Parameters
    ----------
    path : BandwidthPath
    loss : str
        Name of the loss.

    Examples
    --------
    >>> import numpy as np
    >>> from gramsmith.report.contents import BandwidthPath
    >>> from gramsmith.report.displays import BandwidthDisplay
    >>> path = BandwidthPath("gaussian", np.arange(3.0), {"cka": np.arange(3.0)}, np.ones(3))
    >>> len(BandwidthDisplay(path).plot().ax_.lines)
    1
    """

    path: BandwidthPath
    loss: str = "loss"

    @classmethod
    def from_contents(cls, contents: Contents, family: int = 0) -> BandwidthDisplay:
        """Return the display of one family of a report."""
        return cls(contents.paths[family], contents.loss)

    @classmethod
    def from_evaluation(cls, evaluation: Any, loss: Any = None) -> BandwidthDisplay:
        """Return the display of a `bandwidth_path`, narrower from left to right."""
        from gramsmith.measures import MEASURES

        steps = np.arange(len(evaluation.kernels), dtype=float)
        curves = {m: MEASURES[m].sign * evaluation.values(m) for m in evaluation.measures}
        nothing = np.full(len(steps), np.nan)
        known = nothing if loss is None else np.asarray(loss, dtype=float)
        return cls(BandwidthPath("gaussian", steps, curves, known))

    def plot(self, ax: Any = None) -> BandwidthDisplay:
        """Draw; `ax` is where."""
        ax = _axes(ax)
        steps = self.path.steps
        for colour, (name, values) in zip(COLOURS[1:], self.path.measures.items(), strict=False):
            low, high = np.nanmin(values, initial=np.inf), np.nanmax(values, initial=-np.inf)
            if not np.isfinite([low, high]).all():
                continue
            scaled = (values - low) / (high - low) if high > low else np.full(len(values), 0.5)
            ax.plot(steps, scaled, color=colour, lw=1.4, label=name)
            best = int(np.nanargmax(scaled))
            ax.scatter(steps[best], scaled[best], s=20, color=colour, zorder=3)
        self.loss_ax_ = None
        if np.isfinite(self.path.verified).any():
            right = ax.twinx()
            right.plot(steps, self.path.verified, color=COLOURS[0], lw=2.4, label=self.loss)
            best = int(np.nanargmin(self.path.verified))
            right.plot(steps[best], self.path.verified[best], "o", color=COLOURS[0], ms=7)
            right.set_ylabel(f"held-out {self.loss}", color=COLOURS[0])
            right.spines["top"].set_visible(False)
            self.loss_ax_ = right
        ax.set_ylabel("measure, 1 = its best")
        ax.set_xlabel("wide  ←  log2 of gamma, 0 = median distance  →  narrow")
        ax.set_ylim(-0.04, 1.06)
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, 1.26), ncols=3, frameon=False)
        _bare(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self


@dataclass
class GramDisplay:
    """A Gram matrix sorted by class: a good kernel shows bright blocks on the diagonal.

    Parameters
    ----------
    K : array of shape (n, n)
    blocks : list of (str, int)
        Classes and their numbers of rows.

    Examples
    --------
    >>> import numpy as np
    >>> from gramsmith.report.displays import GramDisplay
    >>> GramDisplay(np.eye(4), [("a", 2), ("b", 2)]).plot().ax_.get_title()
    ''
    """

    K: Array
    blocks: list[tuple[str, int]] = field(default_factory=list)

    @classmethod
    def from_contents(cls, contents: Contents) -> GramDisplay:
        """Return the display of a report."""
        return cls(contents.gram, contents.blocks)

    @classmethod
    def from_matrix(cls, K: Any, y: Any = None) -> GramDisplay:
        """Return the display of a Gram matrix, its rows sorted by the labels y."""
        K = np.asarray(K, dtype=float)
        if y is None:
            return cls(K)
        y = np.asarray(y)
        order = np.argsort(y, kind="stable")
        labels, counts = np.unique(y, return_counts=True)
        sizes = [(str(c), int(k)) for c, k in zip(labels, counts, strict=True)]
        return cls(K[np.ix_(order, order)], sizes)

    def plot(self, ax: Any = None) -> GramDisplay:
        """Draw; `ax` is where."""
        ax = _axes(ax, height=3.6)
        off = self.K[~np.eye(len(self.K), dtype=bool)]
        low, high = np.quantile(off, [0.01, 0.99]) if off.size else (0.0, 1.0)
        image = ax.imshow(
            self.K, vmin=low, vmax=max(high, low + 1e-12), cmap="viridis", interpolation="none"
        )
        ax.figure.colorbar(image, ax=ax, shrink=0.8, label="k(x, z)")
        stops = np.cumsum([count for _, count in self.blocks])
        for stop in stops[:-1]:
            for line in (ax.axhline, ax.axvline):
                line(stop - 0.5, color="white", lw=0.8)
        few = self.blocks if len(self.blocks) <= 12 else []
        middles = [stop - count / 2 - 0.5 for stop, (_, count) in zip(stops, few, strict=False)]
        _ticks(ax.yaxis, middles, [shorten(name, 14) for name, _ in few])
        ax.set_xticks([])
        if not self.blocks:
            ax.set_xlabel("samples sorted by value")
        self.ax_, self.figure_ = ax, ax.figure
        return self


@dataclass
class FeatureWeightsDisplay:
    """Relevance of features as bars, largest on top.

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
    def from_contents(cls, contents: Contents) -> FeatureWeightsDisplay:
        """Return the display of a report."""
        return cls(contents.weights, contents.weights_meaning)

    @classmethod
    def from_estimator(cls, estimator: Any, names: Any = None) -> FeatureWeightsDisplay:
        """Return the display of an estimator with `feature_importances_`."""
        values = np.asarray(estimator.feature_importances_, dtype=float)
        labels = [f"x{k}" for k in range(len(values))] if names is None else [str(n) for n in names]
        order = np.argsort(-values, kind="stable")
        return cls([(labels[k], float(values[k])) for k in order], "importance")

    def plot(self, ax: Any = None) -> FeatureWeightsDisplay:
        """Draw; `ax` is where."""
        ax = _axes(ax, height=0.9 + 0.22 * len(self.weights))
        place = np.arange(len(self.weights))[::-1]
        values = [value for _, value in self.weights]
        ax.barh(place, values, color=COLOURS[2], height=0.7)
        _ticks(ax.yaxis, place, [shorten(name, 24) for name, _ in self.weights])
        ax.tick_params(axis="y", length=0)
        ax.axvline(0.0, color="#8a8a8a", lw=0.8)
        ax.set_xlabel("relevance")
        _bare(ax)
        ax.spines["left"].set_visible(False)
        self.ax_, self.figure_ = ax, ax.figure
        return self


@dataclass
class KernelMapDisplay:
    """Samples in the plane of the two leading kernel principal components.

    Parameters
    ----------
    points : array of shape (n, 2)
    colours : array of shape (n,)
        Class numbers, or values.
    classes : list of str
        Empty for values.

    Examples
    --------
    >>> import numpy as np
    >>> from gramsmith.report.displays import KernelMapDisplay
    >>> display = KernelMapDisplay(np.zeros((2, 2)), np.array([0, 1]), ["a", "b"]).plot()
    >>> len(display.ax_.collections)
    2
    """

    points: Array
    colours: Array
    classes: list[str] = field(default_factory=list)

    @classmethod
    def from_contents(cls, contents: Contents) -> KernelMapDisplay:
        """Return the display of a report."""
        return cls(contents.map, contents.map_colours, contents.classes)

    def plot(self, ax: Any = None) -> KernelMapDisplay:
        """Draw; `ax` is where."""
        ax = _axes(ax, height=3.4)
        x, y = self.points.T
        if self.classes:
            markers = "osD^v<>P"
            for k, name in enumerate(self.classes):
                mine = self.colours == k
                style = {"marker": markers[k % len(markers)], "color": COLOURS[k % len(COLOURS)]}
                ax.scatter(
                    x[mine], y[mine], s=14, alpha=0.7, lw=0, label=shorten(name, 18), **style
                )
            if len(self.classes) <= 10:
                legend = ax.legend(
                    loc="upper center", bbox_to_anchor=(0.5, 1.16), ncols=4, frameon=False
                )
                for text in legend.get_texts():
                    _text(text)
        else:
            points = ax.scatter(x, y, s=14, c=self.colours, cmap="viridis", lw=0)
            ax.figure.colorbar(points, ax=ax, shrink=0.8, label="value")
        ax.set_xlabel("first kernel component")
        ax.set_ylabel("second")
        ax.set_xticks([])
        ax.set_yticks([])
        _bare(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self
