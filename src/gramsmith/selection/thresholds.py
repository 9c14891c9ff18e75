"""Thresholds in the user's terms: flag so many rows, with this recall and this precision."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gramsmith.arguments import abridged, is_number
from gramsmith.evaluation.result import html_table, text_table
from gramsmith.machines.intervals import PredictionIntervals
from gramsmith.machines.sets import PredictionSets
from gramsmith.selection.estimate import wilson
from gramsmith.selection.scores import positive_class

Array = npt.NDArray[Any]

SHARES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5)  # of the rows that are flagged
LEAST = 10  # rows, or groups, that a share flags: of fewer nothing can be said


@dataclass(frozen=True)
class Flagged:
    """What flagging the rows of the highest probability does."""

    threshold: float  # the probability from which on a row is flagged
    share: float  # of all rows that are flagged
    recall: float  # share of the cases that are flagged
    recall_low: float  # ends of intervals of 95 %
    recall_high: float
    precision: float  # share of the flagged that are cases
    precision_low: float
    precision_high: float


@dataclass(frozen=True)
class ThresholdTable:
    """Recall and precision at thresholds of the probability of one of two classes.

    Parameters
    ----------
    of : str
        The class whose rows are the cases.
    cases : float
        Its share of the rows.
    count : int
        The number of held-out rows.
    rows : list of Flagged
        One for each share of rows that are flagged, or for each recall.

    Examples
    --------
    >>> from gramsmith.selection.thresholds import Flagged, ThresholdTable
    >>> row = Flagged(0.31, 0.2, 0.6, 0.52, 0.68, 0.55, 0.47, 0.63)
    >>> print(ThresholdTable("fault", 0.18, 400, [row]))
    Cases: fault, 18.0% of 400 held-out rows.
    <BLANKLINE>
    flagged  threshold  recall           precision
    -------  ---------  ---------------  ---------------
    20.0%    0.310      60% (52 to 68%)  55% (47 to 63%)
    """

    of: str
    cases: float
    count: int
    rows: list[Flagged]

    @property
    def records(self) -> list[dict[str, float]]:
        """One dictionary per threshold."""
        return [asdict(row) for row in self.rows]

    @property
    def table(self) -> tuple[list[str], list[list[str]]]:
        """Head and cells, as text."""
        head = ["flagged", "threshold", "recall", "precision"]
        body = [
            [
                f"{row.share:.1%}",
                shown_probability(row.threshold),
                _with_interval(row.recall, row.recall_low, row.recall_high),
                _with_interval(row.precision, row.precision_low, row.precision_high),
            ]
            for row in self.rows
        ]
        return head, body

    @property
    def title(self) -> str:
        """What the table is of, in a sentence."""
        return f"Cases: {self.of}, {self.cases:.1%} of {self.count:,} held-out rows."

    def __repr__(self) -> str:
        return "\n".join([self.title, "", text_table(*self.table)])

    def _repr_html_(self) -> str:
        return html_table(*self.table)


def shown_probability(p: float) -> str:
    """Return a probability with two digits of its distance from 0 or 1, and three decimals."""
    edge = max(min(p, 1.0 - p), 1e-9)
    return f"{p:.{max(3, 1 - math.floor(math.log10(edge)))}f}"


def _with_interval(share: float, low: float, high: float) -> str:
    """Return a share in percent, and the interval of 95 % behind it."""
    return f"{share:.0%} ({100 * low:.0f} to {high:.0%})"


def threshold_table(
    model: Any,
    of: Any = None,
    shares: float | Sequence[float] | None = None,
    *,
    recall: float | Sequence[float] | None = None,
) -> ThresholdTable:
    """Return recall and precision at thresholds of a probability, by flagged rows or by recall.

    They come from held-out rows. The intervals of 95 % are Wilson's intervals of a share; rows of
    one group, or of unequal weights, count as fewer independent rows. Weights count. To *set* a
    threshold, give the model to scikit-learn's `FixedThresholdClassifier` or
    `TunedThresholdClassifierCV`, which `save_model` does not store; or keep the number beside the
    file, for ``gramsmith predict --threshold``.

    Parameters
    ----------
    model : KernelSelector, what rank_kernels returns, or its best_estimator
        Fitted for two classes, with calibrated probabilities. A model that `load_model` returns,
        and a pipeline that ends in one of these, are taken too.
    of : label, optional
        The class whose rows are the cases; default 1, yes or true, else the rarer.
    shares : float or sequence of float, optional
        Shares of rows to flag, from the highest probability down; default 1, 2, 5, 10, 20, 30 and
        50 %. Shares of fewer than ten rows (or groups) and repeated thresholds are left out.
    recall : float or sequence of float, optional
        In place of shares: shares of the cases to find, above 0 and up to 1. Each has a row, at the
        largest threshold from which on at least this share of the held-out cases is flagged.

    Returns
    -------
    ThresholdTable

    Examples
    --------
    >>> import numpy as np
    >>> import gramsmith as gs
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 2))
    >>> y = np.where(X[:, 0] + rng.normal(size=300) > 1.0, "buys", "leaves")
    >>> table = gs.threshold_table(gs.KernelSelector().fit(X, y), shares=[0.2])
    >>> table.of
    'buys'
    >>> bool(table.rows[0].precision > 2 * table.cases)
    True

    The threshold at which 60 % of the buyers are found:

    >>> [row] = gs.threshold_table(gs.KernelSelector().fit(X, y), recall=0.6).rows
    >>> 0.6 <= row.recall < 0.65
    True
    """
    if shares is not None and recall is not None:
        raise ValueError("Expected shares or recall, got both. Leave one out.")
    machine = calibrated_machine(model)
    if not can_flag(model):
        raise ValueError(
            "Expected a fitted KernelSelector, or a result of rank_kernels, for two classes with "
            f"calibrated probabilities, got {type(model).__name__}"
            f"{_number_of_classes(machine)}."
        )
    p, codes, w, groups = held_out_probabilities(machine)
    classes = machine.classes_.tolist()
    total = np.bincount(codes, w, 2)
    if of is not None and of not in classes:
        raise ValueError(f"Expected one of {classes}, got {abridged(of)}.")
    c = positive_class(classes, total) if of is None else classes.index(of)
    p, case = (p if c else 1.0 - p), codes == c
    order = np.argsort(-p, kind="stable")
    what, asked = ("shares", shares) if recall is None else ("recall", recall)
    counted = w if recall is None else w * case
    if not counted.any():
        raise ValueError(f"Expected held-out rows of {classes[c]!r}, got none.")
    reached = np.cumsum(counted[order]) / counted.sum()
    rows: list[Flagged] = []
    for share in SHARES if asked is None else np.ravel(asked).tolist():
        if not is_number(share) or not 0.0 < share <= 1.0:
            raise ValueError(f"Expected {what} between 0 and 1, got {abridged(share)}. Use 0.2.")
        threshold = p[order[int(np.argmax(reached >= share - 1e-9))]]
        flag = p >= threshold
        few = len(np.unique(groups[flag])) < LEAST
        if recall is None and (few or any(row.threshold == threshold for row in rows)):
            continue
        found, right = (
            share_with_interval(flag[part] if part is case else case[part], w[part], groups[part])
            for part in (case, flag)
        )
        rows.append(Flagged(float(threshold), float(w[flag].sum() / w.sum()), *found, *right))
    return ThresholdTable(str(classes[c]), float(total[c] / total.sum()), len(p), rows)


def calibrated_machine(model: Any) -> Any:
    """Return the machine of a model that may know left-out rows."""
    while model is not None and not isinstance(model, PredictionSets | PredictionIntervals):
        steps = getattr(model, "steps", None)
        best = getattr(model, "best_estimator_", getattr(model, "best_estimator", None))
        model = steps[-1][1] if steps else best
    return model


def _number_of_classes(machine: Any) -> str:
    classes = getattr(machine, "classes_", ())
    return f" for {len(classes)} classes" if len(classes) > 2 else ""


def can_flag(model: Any) -> bool:
    """Return whether a model can say what thresholds do."""
    machine = calibrated_machine(model)
    known = hasattr(machine, "set_scores_") and hasattr(machine, "calibration_slope_")
    return known and len(machine.classes_) == 2


def held_out_probabilities(machine: Any) -> tuple[Array, Array, Array, Array]:
    """Return the probability of the second class for left-out rows, classes, weights, groups."""
    codes = machine.set_codes_.astype(int)
    own = machine.set_scores_
    p = np.where(codes == 1, np.exp(own), -np.expm1(own))
    w = getattr(machine, "set_weights_", np.ones(len(p)))
    groups = getattr(machine, "set_groups_", np.arange(len(p)))
    return p, codes, w, groups


def share_with_interval(hit: Array, w: Array, groups: Array) -> tuple[float, float, float]:
    """Return the weighted share of hits and its interval, by the scatter between groups."""
    if not len(hit):
        return 0.0, 0.0, 1.0
    share = float(np.average(hit, weights=w))
    cluster = np.unique(groups, return_inverse=True)[1]
    count = float(cluster.max() + 1)
    sums = np.bincount(cluster, w * (hit - share))
    variance = float(np.sum(sums**2)) / float(w.sum()) ** 2
    if 0.0 < share < 1.0 and variance > 0.0:
        count = min(max(share * (1.0 - share) / variance, 1.0), count)
    low, high = wilson(share, count)
    return share, float(low), float(high)
