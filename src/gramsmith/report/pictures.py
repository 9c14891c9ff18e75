"""Pictures: each a function that draws on axes, new ones if none are given, and returns them.

They show the arrays that a ranking keeps. What scikit-learn has a display for is drawn by it.
Labels are always taken as text, never as mathematics.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import resample
from sklearn.utils.multiclass import type_of_target

from gramsmith.arguments import abridged, is_one_of
from gramsmith.gram import Gram
from gramsmith.kernels import as_kernel
from gramsmith.report.axes import (
    COLOURS,
    GREY,
    LINES,
    MARKERS,
    as_text,
    label_ticks,
    legend_above,
    list_rows,
    new_axes,
    shorten,
    spread_out,
    strip_frame,
    without_outliers,
)
from gramsmith.report.words import number, score_label

Array = npt.NDArray[Any]

KERNELS = 10  # of a ranking that are drawn
WRITTEN = 10  # classes up to which the cells of a matrix have numbers
SHADES, ON_SHADES = ("#ffffff", "#7fb2e0"), "#0b1015"  # of its cells, and what is written on them
TICKS = 20  # classes up to which all are named
MOST = 400  # samples past which a picture shows no more
LABELS = 14  # labels that have room beside a matrix


class NothingToDraw(ValueError):
    """Raised where a ranking has nothing of what a picture shows."""


# ---- a ranking ----------------------------------------------------------------------------------


COLUMNS = 15  # whose importance is drawn


def plot_scores(ranking: Any, ax: Any = None) -> Any:
    """Draw the scores of the best kernels and of other estimators with their errors."""
    others = [
        {**r, "kernel": r["estimator"], "tied": r["judgement"] != "worse"}
        for r in ranking.other_records
        if r["score"] is not None
    ]
    records = sorted(
        [*ranking.records[:KERNELS], *others],
        # kernels stay in their order: a tie of scores is decided by more than the score
        key=lambda r: (r["score"] is None, 0.0 if not others else -(r["score"] or 0.0)),
    )
    ax = new_axes(ax, height=0.8 + 0.27 * len(records))
    scores: list[float] = []
    errors: list[float] = []
    for k, record in enumerate(records):
        verified = record["score"] is not None
        name = "score" if verified else "first_check"
        value, error = record[name], record[f"{name}_error"]
        error = error if error is not None and np.isfinite(error) else 0.0
        colour = COLOURS[0] if record["tied"] or record.get("rank") == 1 else GREY
        mark = "s" if "estimator" in record else "o" if verified else "D"
        style = {"fmt": mark, "mfc": colour if verified else "none"}
        ax.errorbar(value, -k, xerr=error, color=colour, ms=5, lw=1.6, **style)
        scores, errors = [*scores, value], [*errors, error]
    # far outliers do not squeeze the others
    lows, high = np.subtract(scores, errors), float(np.max(np.add(scores, errors)))
    low = max(float(lows.min()), high - 4.0 * (high - float(np.median(lows))))
    margin = 0.06 * (high - low) or 0.01
    ax.set_xlim(low - margin, high + margin)
    for k, value in enumerate(scores):
        if value < low - margin:
            ax.text(low - margin, -k, f" ← {number(value)}", va="center", color=GREY)
    ax.grid(axis="x", alpha=0.25, lw=0.6)
    return list_rows(ax, [record["kernel"] for record in records], score_label(ranking.scoring))


def plot_importance(ranking: Any, ax: Any = None) -> Any:
    """Draw what the score loses when a column is shuffled on held-out rows, with errors."""
    if not ranking.evidence.importance:
        raise NothingToDraw("Expected a ranking that shuffled columns, got none of that.")
    names, losses, errors = zip(*ranking.evidence.importance[:COLUMNS], strict=True)
    ax = new_axes(ax, height=0.9 + 0.22 * len(names))
    place, known = -np.arange(len(names)), np.where(np.isfinite(errors), errors, 0.0)
    ax.barh(place, losses, color=COLOURS[0], height=0.7)
    ax.errorbar(losses, place, xerr=known, fmt="none", color=GREY, elinewidth=1.4)
    ax.axvline(0.0, color=GREY, lw=0.8)
    return list_rows(ax, names, f"loss of {shorten(score_label(ranking.scoring))}")


def plot_effect(ranking: Any, number: int, ax: Any = None) -> Any:
    """Draw how mean predictions change with an important column, of many classes the most."""
    effect, ax = ranking.evidence.effects[number], new_axes(ax, height=effect_height(ranking))
    curves, names = effect.predictions.T, [""]
    if ranking.task != "classification":
        ax.set_ylabel("prediction")
    elif effect.of:
        ax.set_ylabel(f"probability of {shorten(effect.of, 20)}")
    else:
        most = np.sort(np.argsort(-np.ptp(curves, axis=1), kind="stable")[: len(COLOURS)])
        curves, names = curves[most], [str(ranking.classes[c]) for c in most]
        ax.set_ylabel("probability")
    worded = isinstance(effect.values[0], str)
    at = np.arange(len(effect.values)) if worded else effect.values
    for k, (curve, name) in enumerate(zip(curves, names, strict=True)):
        style = {"color": COLOURS[k % len(COLOURS)], "ls": LINES[k % len(LINES)]}
        style |= {"ls": "none"} if worded else {}
        ax.plot(at, curve, marker="o", ms=3, label=shorten(name, 14), **style)
    if worded:
        words = [shorten(v, 14) for v in effect.values]
        # 40 letters have room side by side
        label_ticks(ax.xaxis, at, words, rotation=45 if sum(map(len, words)) > 40 else 0)
    else:
        whole = all(float(value).is_integer() for value in effect.values)
        ax.xaxis.get_major_locator().set_params(nbins=5, integer=whole)
    as_text(ax.xaxis.label)
    ax.set_xlabel(shorten(effect.name))
    if len(names) > 1:
        legend_above(ax, 2)
    return strip_frame(ax)


def effect_height(ranking: Any) -> float:
    """Return the height of such a picture in inches, with room for a legend of two columns."""
    several = ranking.task == "classification" and not ranking.evidence.effects[0].of
    curves = min(len(ranking.classes), len(COLOURS)) if several else 0
    return 2.4 + 0.17 * ((curves + 1) // 2)


def plot_bandwidth(ranking: Any, ax: Any = None) -> Any:
    """Draw score and measures along the winner's family: up is better, for every curve.

    Each curve goes from its worst (0) to its best (1) on the path.
    """
    path = ranking.path
    if path is None:
        raise NothingToDraw(
            'Expected a ranking with a path of bandwidths, got none. Rank with kernels="auto".'
        )
    ax = new_axes(ax)
    curves = dict(path.measures)
    finite = path.scores[np.isfinite(path.scores)]
    if len(finite):
        name = f"{score_label(ranking.scoring)} ({finite.min():.3g} to {finite.max():.3g})"
        curves = {name: path.scores, **curves}
    for k, (name, values) in enumerate(curves.items()):
        scaled = from_worst_to_best(values)
        if not np.isfinite(scaled).any():
            continue
        colour, best = COLOURS[k % len(COLOURS)], int(np.nanargmax(scaled))
        width = 2.6 if k == 0 and len(finite) else 1.4
        style = {"color": colour, "ls": LINES[k % len(LINES)], "lw": width}
        ax.plot(path.steps, scaled, label=shorten(name), **style)
        ax.scatter(path.steps[best], scaled[best], s=22, color=colour, zorder=4)
    if path.chosen is not None:
        ax.axvline(path.chosen, color=GREY, lw=1.0, ls=":", zorder=0, label="winner")
    if any(path.labels):
        few = np.unique(np.linspace(0, len(path.steps) - 1, 6).round().astype(int))
        label_ticks(ax.xaxis, path.steps[few], [path.labels[k] for k in few])
    ax.set_yticks([0.0, 1.0], ["worst", "best"])
    ax.set(xlabel=path.axis, ylim=(-0.05, 1.08))
    return strip_frame(legend_above(ax, 2))


def from_worst_to_best(values: Any) -> Array:
    """Return values scaled from 0, the worst, to 1, the best; far outliers below are cut at 0."""
    values = np.asarray(values, dtype=float)
    finite = values[np.isfinite(values)]
    if not len(finite):
        return np.full(len(values), np.nan)
    high = finite.max()
    low = max(finite.min(), high - 3.0 * (high - np.median(finite)))
    low = low if high > low else finite.min()
    if not high > low:
        return np.where(np.isfinite(values), 0.5, np.nan)
    return np.asarray(np.clip((values - low) / (high - low), 0.0, 1.0))


# ---- held-out rows ------------------------------------------------------------------------------


def held_out_of(ranking: Any, *kinds: str) -> Any:
    """Return the held-out outcome of a ranking, or raise if it is of none of some kinds."""
    outcome: Any = ranking.evidence.outcome
    if outcome is None:
        raise NothingToDraw(
            "Expected a ranking with held-out rows, got one that ran out of time. "
            "Allow a larger time_budget."
        )
    kind = "classes" if outcome.classes else "values"
    if outcome.targets:
        kind = "several outputs" if outcome.targets[0].errors else "several labels"
    if kind not in kinds:
        raise NothingToDraw(f"Expected a ranking of {' or '.join(kinds)}, got one of {kind}.")
    return outcome


def plot_confusion(ranking: Any, ax: Any = None) -> Any:
    """Draw true classes by the answers that were given, as shares of each true class."""
    from matplotlib.colors import LinearSegmentedColormap
    from sklearn.metrics import ConfusionMatrixDisplay

    outcome, ax = held_out_of(ranking, "classes"), new_axes(ax)
    total = outcome.confusion.sum(axis=1, keepdims=True)
    C = len(outcome.classes)
    ConfusionMatrixDisplay(outcome.confusion / np.where(total > 0, total, 1.0)).plot(
        ax=ax,
        cmap=LinearSegmentedColormap.from_list("shares", SHADES),
        colorbar=False,
        include_values=C <= WRITTEN,
        values_format=".0%",
        im_kw={"vmin": 0.0, "vmax": 1.0},
        text_kw={"fontsize": 8 if C > 5 else 9, "color": ON_SHADES},
    )
    few = np.arange(C) if C <= TICKS else np.linspace(0, C - 1, TICKS).round().astype(int)
    names = [shorten(outcome.classes[k], 14) for k in few]
    label_ticks(ax.yaxis, few, names)
    label_ticks(ax.xaxis, few, names, rotation=90 if C > 2 else 0)
    ax.set(xlabel="predicted", ylabel="true")
    return ax


def plot_roc(ranking: Any, ax: Any = None) -> Any:
    """Draw false alarms against what is found at every threshold; a mark is the one in use."""
    return _thresholds(ranking, "roc", ax)


def plot_precision_recall(ranking: Any, ax: Any = None) -> Any:
    """Draw precision against recall at every threshold; a mark is the one in use."""
    return _thresholds(ranking, "precision_recall", ax)


def _thresholds(ranking: Any, kind: str, ax: Any) -> Any:
    from sklearn.metrics import PrecisionRecallDisplay, RocCurveDisplay

    curves = getattr(held_out_of(ranking, "classes", "several labels"), kind)
    if not curves:
        raise NothingToDraw("Expected held-out rows of two classes at least, got one.")
    ax = new_axes(ax)
    roc, alone = kind == "roc", len(curves) == 1
    for k, curve in enumerate(curves):
        colour = COLOURS[k % len(COLOURS)]
        if roc:
            display: Any = RocCurveDisplay(fpr=curve.x, tpr=curve.y)
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
    ax.set_xlabel("false positives" if roc else "recall")
    ax.set_ylabel("recall (true positives)" if roc else "precision")
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.04), aspect="auto")
    return strip_frame(legend_above(ax, 1 if alone else 2))


def plot_reliability(ranking: Any, ax: Any = None) -> Any:
    """Draw how often probabilities came true on held-out rows, with intervals of 95 %."""
    from sklearn.calibration import CalibrationDisplay

    reliability = held_out_of(ranking, "classes", "several labels").reliability
    if reliability is None:
        raise NothingToDraw(
            "Expected a winner with probabilities for at least 30 held-out rows, got none. "
            "Rank without the parameter `machine`, or with more rows."
        )
    ax, true, said = new_axes(ax), reliability.true, reliability.said
    display = CalibrationDisplay(true, said, said, estimator_name=reliability.of or "answer")
    display.plot(ax=ax, ref_line=False, color=COLOURS[0])
    ax.plot([0, 1], [0, 1], color=GREY, lw=0.8, ls=":")
    bars = np.maximum([true - reliability.low, reliability.high - true], 0.0)
    ax.errorbar(said, true, yerr=bars, fmt="none", color=COLOURS[0], elinewidth=1.0)
    ax.get_legend().remove()  # one curve needs none
    ax.set(xlabel="predicted probability", ylabel="share that came true")
    ax.set(xlim=(-0.03, 1.03), ylim=(-0.03, 1.03))
    return strip_frame(ax)


def plot_predictions(ranking: Any, ax: Any = None) -> Any:
    """Draw predictions of held-out rows against the actual values."""
    return _predictions(held_out_of(ranking, "values"), "actual_vs_predicted", ax)


def plot_output(ranking: Any, number: int, ax: Any = None) -> Any:
    """Draw predictions of held-out rows against the actual values of one of several outputs."""
    outcome = held_out_of(ranking, "several outputs")
    return _predictions(outcome.targets[number], "actual_vs_predicted", ax)


def plot_residuals(ranking: Any, ax: Any = None) -> Any:
    """Draw the errors of the predictions of held-out rows."""
    return _predictions(held_out_of(ranking, "values"), "residual_vs_predicted", ax)


def _predictions(outcome: Any, kind: str, ax: Any) -> Any:
    """Draw predictions or errors; outliers lie on the frame, so that the others have room."""
    from matplotlib.ticker import MaxNLocator
    from sklearn.metrics import PredictionErrorDisplay

    ax = new_axes(ax)
    residuals = kind == "residual_vs_predicted"
    x = np.asarray(outcome.predicted, dtype=float)
    y = np.asarray(outcome.actual, dtype=float) - (x if residuals else 0.0)
    (left, right), (low, high) = limits(x), limits(y)
    if not residuals:
        left, right = low, high = limits(np.concatenate([x, y]))
    beyond = (x < left) | (x > right) | (y < low) | (y > high)
    at, height = np.clip(x, left, right), np.clip(y, low, high)
    PredictionErrorDisplay(y_true=height + (at if residuals else 0.0), y_pred=at).plot(
        ax=ax,
        kind=kind,
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
        axis.set_major_locator(MaxNLocator(nbins=5))
    ax.set(xlabel="predicted", ylabel="actual minus predicted" if residuals else "actual")
    return strip_frame(ax)


def limits(values: Array) -> tuple[float, float]:
    """Return limits of an axis that holds all values, but for a few that lie very far out."""
    low, high = without_outliers(values)
    margin = 0.04 * (high - low) or 0.5
    return low - margin, high + margin


# ---- samples as a kernel sees them --------------------------------------------------------------


def plot_gram(kernel: Any, X: Any, y: Any = None, ax: Any = None) -> Any:
    """Draw a Gram matrix sorted by class or value: good kernels have bright blocks in the diagonal.

    Parameters
    ----------
    kernel : kernel, or fitted estimator with a kernel
        Whatever `as_kernel` takes; of a pipeline or a search the kernel that was fitted.
    X : array of shape (n, p), data frame, or sequence of n objects
        Of more than 400 samples, 400 are drawn at random.
    y : array of shape (n,), optional
        Classes or values, by which the rows are sorted.
    ax : matplotlib axes, optional
        Where to draw; default a new figure.

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> import gramsmith as gs
    >>> from gramsmith.report import plot_gram
    >>> X, y = [[0.0], [9.0], [1.0], [8.0]], ["a", "b", "a", "b"]
    >>> [text.get_text() for text in plot_gram(gs.Gaussian(2.0), X, y).texts]
    ['a', 'b']
    """
    X, y = drawn(X, y)
    K, sizes = gram_matrix(kernel, X), []
    if y is not None:
        colours, classes = colours_of(y)
        order = np.argsort(colours, kind="stable")
        sizes = [(name, int(np.sum(colours == k))) for k, name in enumerate(classes)]
        K = K[np.ix_(order, order)]
    return draw_gram(K, sizes, ax)


def plot_map(kernel: Any, X: Any, y: Any = None, ax: Any = None) -> Any:
    """Draw samples in the plane of the two leading kernel principal components.

    Parameters
    ----------
    kernel : kernel, or fitted estimator with a kernel
        Whatever `as_kernel` takes; of a pipeline or a search the kernel that was fitted.
    X : array of shape (n, p), data frame, or sequence of n objects
        Of more than 400 samples, 400 are drawn at random.
    y : array of shape (n,), optional
        Classes or values, shown as colours.
    ax : matplotlib axes, optional
        Where to draw; default a new figure.

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> import gramsmith as gs
    >>> from gramsmith.report import plot_map
    >>> X, y = [[0.0], [9.0], [1.0], [8.0]], ["a", "b", "a", "b"]
    >>> len(plot_map(gs.Gaussian(2.0), X, y).collections)
    2
    """
    X, y = drawn(X, y)
    points = kernel_map(gram_matrix(kernel, X))
    colours, classes = (np.zeros(len(points), int), ["samples"]) if y is None else colours_of(y)
    return draw_map(points, colours, classes, ax)


def draw_gram(K: Array, blocks: list[tuple[str, int]], ax: Any = None) -> Any:
    """Draw a sorted Gram matrix, with classes and their numbers of rows named beside it."""
    from matplotlib import colormaps

    ax, n = new_axes(ax), len(K)
    off = K[~np.eye(n, dtype=bool)]
    low, high = np.quantile(off, [0.01, 0.99]) if off.size else (0.0, 1.0)
    # few shades, which a file holds in a tenth of the bytes
    shades = {"cmap": colormaps["viridis"].resampled(16), "interpolation": "none"}
    image = ax.imshow(K, vmin=low, vmax=max(high, low + 1e-12), **shades)
    ax.figure.colorbar(image, ax=ax, shrink=0.8, label="k(x, z)")
    stops = np.cumsum([count for _, count in blocks])
    for stop in stops[:-1]:
        for line in (ax.axhline, ax.axvline):
            line(stop - 0.5, color="white", lw=0.8)
    middles = [
        (stop - count / 2 - 0.5, count, name)
        for stop, (name, count) in zip(stops, blocks, strict=True)
        if count
    ]
    # of too many classes the largest are named
    shown = sorted(sorted(middles, key=lambda item: -item[1])[:LABELS])
    places = spread_out([middle for middle, _, _ in shown], n / LABELS, n - 1.0)
    for (middle, _, name), place in zip(shown, places, strict=True):
        ends = [-0.5 - 0.06 * n, -0.5 - 0.01 * n]
        ax.plot(ends, [place, middle], color=GREY, lw=0.7, clip_on=False)
        as_text(ax.text(-0.5 - 0.075 * n, place, shorten(name, 14), ha="right", va="center"))
    ax.set(xlim=(-0.5, n - 0.5), ylim=(n - 0.5, -0.5), xticks=[], yticks=[])
    if not blocks:
        ax.set_xlabel("samples sorted by value")
    return ax


def draw_map(points: Array, colours: Array, classes: list[str], ax: Any = None) -> Any:
    """Draw points in the colours of their classes, or of values where there are no classes."""
    ax = new_axes(ax)
    x, y = points.T
    for k, name in enumerate(classes):
        mine = colours == k
        style = {"marker": MARKERS[k % len(MARKERS)], "color": COLOURS[k % len(COLOURS)]}
        ax.scatter(x[mine], y[mine], s=14, alpha=0.7, lw=0, label=shorten(name, 14), **style)
    if 1 < len(classes) <= 12:
        legend_above(ax, 3)
    if not classes:
        drawing = ax.scatter(x, y, s=14, c=colours, cmap="viridis", lw=0)
        ax.figure.colorbar(drawing, ax=ax, shrink=0.8, label="value")
    ax.set(xlabel="first kernel component", ylabel="second", xticks=[], yticks=[])
    return strip_frame(ax)


def drawn(X: Any, y: Any) -> tuple[Any, Any]:
    """Return at most 400 samples with their labels, drawn at random."""
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    if n <= MOST:
        return X, y
    some = resample(*([X] if y is None else [X, y]), replace=False, n_samples=MOST, random_state=0)
    return (some, None) if y is None else (some[0], some[1])


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


# ---- by name ------------------------------------------------------------------------------------


def _gram(ranking: Any, ax: Any = None) -> Any:
    return draw_gram(ranking.evidence.gram, ranking.evidence.blocks, ax)


def _map(ranking: Any, ax: Any = None) -> Any:
    evidence, named = ranking.evidence, ranking.task == "classification"
    classes = [str(label) for label in ranking.classes] if named else []
    return draw_map(evidence.map, evidence.map_colours, classes, ax)


PICTURES: dict[str, Callable[..., Any]] = {
    "scores": plot_scores,
    "confusion": plot_confusion,
    "roc": plot_roc,
    "precision_recall": plot_precision_recall,
    "reliability": plot_reliability,
    "predictions": plot_predictions,
    "residuals": plot_residuals,
    "importance": plot_importance,
    "bandwidth": plot_bandwidth,
    "gram": _gram,
    "map": _map,
}


def plot_ranking(ranking: Any, kind: str, ax: Any = None) -> Any:
    """Draw one of the pictures of a `KernelRanking` by its name, and return the axes."""
    if not is_one_of(kind, PICTURES):
        raise ValueError(f"Expected a picture among {', '.join(PICTURES)}, got {abridged(kind)}.")
    return PICTURES[kind](ranking, ax)
