"""Displays of samples as a kernel sees them: the Gram matrix, and a map in the plane."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import resample
from sklearn.utils.multiclass import type_of_target

from gramsmith.gram import Gram
from gramsmith.kernels import as_kernel
from gramsmith.report.axes import (
    COLOURS,
    GREY,
    MARKERS,
    as_text,
    legend_above,
    new_axes,
    shorten,
    spread_out,
    strip_frame,
)

Array = npt.NDArray[Any]

MOST = 400  # samples past which a picture shows no more
SHADES = 16  # of a matrix
LABELS = 14  # labels that have room beside a matrix


@dataclass
class GramDisplay:
    """A Gram matrix sorted by class or value: a good kernel shows bright blocks on the diagonal.

    Parameters
    ----------
    K : array of shape (n, n)
    blocks : list of (str, int)
        Classes and their numbers of rows.

    Examples
    --------
    >>> import gramsmith as gs
    >>> from gramsmith.report.displays import GramDisplay
    >>> X, y = [[0.0], [9.0], [1.0], [8.0]], ["a", "b", "a", "b"]
    >>> display = GramDisplay.from_estimator(gs.Gaussian(2.0), X, y)
    >>> display.blocks
    [('a', 2), ('b', 2)]
    >>> display.plot().ax_.get_ylabel()
    ''
    """

    K: Array
    blocks: list[tuple[str, int]] = field(default_factory=list)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        max_samples: int = MOST,
        random_state: Any = 0,
    ) -> GramDisplay:
        """Return the display of samples under a kernel.

        Parameters
        ----------
        estimator : kernel, or fitted estimator with a kernel
            Whatever `as_kernel` takes; of a machine, a learner, a pipeline or a search the kernel
            that was fitted.
        X : array of shape (n, p), data frame, or sequence of n objects
        y : array of shape (n,), optional
            Classes or values, by which the rows are sorted.
        max_samples : int, default=400
            Past this number of samples some are drawn at random.
        random_state : int or RandomState, default=0
            For that draw.

        Returns
        -------
        GramDisplay
        """
        X, y = drawn(X, y, max_samples, random_state)
        return cls.from_matrix(gram_matrix(estimator, X), y)

    @classmethod
    def from_ranking(cls, ranking: Any) -> GramDisplay:
        """Return the display of the winner of a `KernelRanking`, on samples of its data.

        Parameters
        ----------
        ranking : KernelRanking

        Returns
        -------
        GramDisplay
        """
        return cls(ranking.evidence.gram, ranking.evidence.blocks)

    @classmethod
    def from_matrix(cls, K: Any, y: Any = None) -> GramDisplay:
        """Return the display of a Gram matrix, its rows sorted by the labels y."""
        K = np.asarray(K, dtype=float)
        if y is None:
            return cls(K)
        colours, classes = colours_of(y)
        order = np.argsort(colours, kind="stable")
        sizes = [(name, int(np.sum(colours == k))) for k, name in enumerate(classes)]
        return cls(K[np.ix_(order, order)], sizes)

    def plot(self, ax: Any = None) -> GramDisplay:
        """Draw; `ax` is where."""
        from matplotlib import colormaps

        ax = new_axes(ax, height=3.6)
        off = self.K[~np.eye(len(self.K), dtype=bool)]
        low, high = np.quantile(off, [0.01, 0.99]) if off.size else (0.0, 1.0)
        # few shades, which a file holds in a tenth of the bytes
        shades = {"cmap": colormaps["viridis"].resampled(SHADES), "interpolation": "none"}
        image = ax.imshow(self.K, vmin=low, vmax=max(high, low + 1e-12), **shades)
        ax.figure.colorbar(image, ax=ax, shrink=0.8, label="k(x, z)")
        stops = np.cumsum([count for _, count in self.blocks])
        for stop in stops[:-1]:
            for line in (ax.axhline, ax.axvline):
                line(stop - 0.5, color="white", lw=0.8)
        self._label_blocks(ax, stops)
        ax.set_yticks([])
        ax.set_xticks([])
        if not self.blocks:
            ax.set_xlabel("samples sorted by value")
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _label_blocks(self, ax: Any, stops: Array) -> None:
        """Name the classes beside the matrix, apart from each other, with lines to their blocks."""
        n = len(self.K)
        gap = n / LABELS
        middles = [
            (stop - count / 2 - 0.5, count, name)
            for stop, (name, count) in zip(stops, self.blocks, strict=True)
            if count
        ]
        # of too many classes the largest are named
        shown = sorted(sorted(middles, key=lambda item: -item[1])[:LABELS])
        places = spread_out([middle for middle, _, _ in shown], gap, 0.0, n - 1.0)
        for (middle, _, name), place in zip(shown, places, strict=True):
            ax.plot(
                [-0.5 - 0.06 * n, -0.5 - 0.01 * n],
                [place, middle],
                color=GREY,
                lw=0.7,
                clip_on=False,
            )
            as_text(ax.text(-0.5 - 0.075 * n, place, shorten(name, 14), ha="right", va="center"))
        ax.set_xlim(-0.5, n - 0.5)
        ax.set_ylim(n - 0.5, -0.5)


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
    >>> import gramsmith as gs
    >>> from gramsmith.report.displays import KernelMapDisplay
    >>> X, y = [[0.0], [9.0], [1.0], [8.0]], ["a", "b", "a", "b"]
    >>> display = KernelMapDisplay.from_estimator(gs.Gaussian(2.0), X, y).plot()
    >>> display.classes, len(display.ax_.collections)
    (['a', 'b'], 2)
    """

    points: Array
    colours: Array
    classes: list[str] = field(default_factory=list)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        max_samples: int = MOST,
        random_state: Any = 0,
    ) -> KernelMapDisplay:
        """Return the display of samples under a kernel.

        Parameters
        ----------
        estimator : kernel, or fitted estimator with a kernel
            Whatever `as_kernel` takes; of a machine, a learner, a pipeline or a search the kernel
            that was fitted.
        X : array of shape (n, p), data frame, or sequence of n objects
        y : array of shape (n,), optional
            Classes or values, shown as colours.
        max_samples : int, default=400
            Past this number of samples some are drawn at random.
        random_state : int or RandomState, default=0
            For that draw.

        Returns
        -------
        KernelMapDisplay
        """
        X, y = drawn(X, y, max_samples, random_state)
        points = kernel_map(gram_matrix(estimator, X))
        colours, classes = (np.zeros(len(points), int), ["samples"]) if y is None else colours_of(y)
        return cls(points, colours, classes)

    @classmethod
    def from_ranking(cls, ranking: Any) -> KernelMapDisplay:
        """Return the display of the winner of a `KernelRanking`, on samples of its data.

        Parameters
        ----------
        ranking : KernelRanking

        Returns
        -------
        KernelMapDisplay
        """
        evidence, classes = ranking.evidence, []
        if ranking.task == "classification":
            classes = [str(label) for label in ranking.classes]
        return cls(evidence.map, evidence.map_colours, classes)

    def plot(self, ax: Any = None) -> KernelMapDisplay:
        """Draw; `ax` is where."""
        ax = new_axes(ax, height=3.4)
        x, y = self.points.T
        if self.classes:
            for k, name in enumerate(self.classes):
                mine = self.colours == k
                style = {"marker": MARKERS[k % len(MARKERS)], "color": COLOURS[k % len(COLOURS)]}
                ax.scatter(
                    x[mine], y[mine], s=14, alpha=0.7, lw=0, label=shorten(name, 14), **style
                )
            if 1 < len(self.classes) <= 12:
                legend_above(ax, 3)
        else:
            points = ax.scatter(x, y, s=14, c=self.colours, cmap="viridis", lw=0)
            ax.figure.colorbar(points, ax=ax, shrink=0.8, label="value")
        ax.set_xlabel("first kernel component")
        ax.set_ylabel("second")
        ax.set_xticks([])
        ax.set_yticks([])
        strip_frame(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self


def drawn(X: Any, y: Any, most: int, random_state: Any) -> tuple[Any, Any]:
    """Return at most so many samples with their labels, drawn at random."""
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    if n <= most:
        return X, y
    options = {"replace": False, "n_samples": most, "random_state": random_state}
    if y is None:
        return resample(X, **options), None
    X, y = resample(X, y, **options)
    return X, y


def gram_matrix(estimator: Any, X: Any) -> Array:
    """Return the Gram matrix of samples under a kernel, or under that of a fitted estimator."""
    if hasattr(estimator, "best_estimator_"):
        return gram_matrix(estimator.best_estimator_, X)
    if hasattr(estimator, "machines_"):  # an average: the heaviest of its machines
        return gram_matrix(estimator.machines_[0], X)
    if hasattr(estimator, "steps"):
        return gram_matrix(estimator[-1], estimator[:-1].transform(X))
    kernel = getattr(estimator, "kernel_", estimator)
    if hasattr(kernel, "fit"):
        raise ValueError(
            f"Expected a kernel, or a fitted estimator with the attribute kernel_, got "
            f"{type(estimator).__name__}. Pass the kernel itself, or call fit first."
        )
    return np.asarray(Gram(as_kernel(kernel, X), X).toarray(), dtype=float)


def colours_of(y: Any) -> tuple[Array, list[str]]:
    """Return class numbers and the names of the classes, or values and no names."""
    if type_of_target(y, input_name="y") == "continuous":
        return np.asarray(y, dtype=float).ravel(), []
    labels, codes = np.unique(np.asarray(y), return_inverse=True)
    return codes.ravel(), [str(label) for label in labels]


def kernel_map(K: Array) -> Array:
    """Return the two leading kernel principal components, shape (n, 2), with fixed signs."""
    n = len(K)
    centred = K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()
    values, vectors = np.linalg.eigh(0.5 * (centred + centred.T))
    top = vectors[:, ::-1][:, :2] * np.sqrt(np.maximum(values[::-1][:2], 0.0))
    if top.shape[1] < 2:
        top = np.column_stack([top, np.zeros(n)])
    signs = np.sign(top[np.abs(top).argmax(axis=0), [0, 1]])
    return np.asarray(np.round(top * np.where(signs == 0, 1.0, signs), 9))
