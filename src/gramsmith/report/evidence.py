"""Evidence: what a ranking keeps of the winner for people to see, as plain values."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Curve:
    """A curve of one class against all others, and the point on it that is in use."""

    name: str
    x: Array  # share of false alarms, or recall
    y: Array  # share of true alarms, or precision
    area: float  # under the ROC curve, or the average precision
    used: tuple[float, float]  # where the threshold in use stands
    share: float  # of the class, which is the precision of guessing


@dataclass(frozen=True)
class Reliability:
    """Probabilities that were said of held-out rows in tenths, and what came true."""

    of: str  # class the probabilities are of; empty: of the answer that was given
    said: Array  # mean probability; tenths of few rows are joined
    true: Array  # share that came true
    low: Array  # ends of an interval of 95 % of the share
    high: Array
    gap: float  # mean distance of said and true, weighted by rows


@dataclass(frozen=True)
class TargetOutcome:
    """What was said of one of several outputs or labels on held-out rows."""

    name: str
    score: float  # R² of an output, or the accuracy of a label
    error: float  # of the score
    baseline: float  # the score of the mean, or of the majority
    # of outputs, in their own unit: "half" and "nine of ten" of the absolute errors, and "mean"
    errors: dict[str, float] = field(default_factory=dict)
    # of labels: rows, or sums of their weights, that have it and were said to, have it, were said
    found: float = 0.0
    there: float = 0.0
    said: float = 0.0


@dataclass(frozen=True)
class Outcome:
    """What the winner said of rows that it was not trained on.

    Parameters
    ----------
    kind : str
        "cross-validation" or "leave-one-out".
    rows : int
        Rows that were tested.
    classes : list of str
        Empty for values.
    confusion : array of shape (C, C)
        True class by answer: numbers of rows, or sums of their weights.
    weighted : bool
        Whether rows have weights.
    threshold : float
        Above this decision value the second of two classes is answered.
    roc, precision_recall : list of Curve
        Of classes, or of several labels.
    reliability : Reliability or None
        None where the machine gives no probabilities.
    actual, predicted : arrays of shape (m,)
        For values: a sample of the rows; of several outputs, each less its mean and in units of its
        deviation.
    targets : list of TargetOutcome
        Of several outputs or labels.
    errors : dict of name -> float
        For values: "half" and "nine of ten" of the absolute errors are below this, "mean".
    folds : dict of kernel -> array of shape (f,)
        Scores of the best kernels in each fold.
    """

    kind: str
    rows: int
    classes: list[str] = field(default_factory=list)
    confusion: Array = field(default_factory=lambda: np.empty((0, 0)))
    weighted: bool = False
    threshold: float = 0.0
    roc: list[Curve] = field(default_factory=list)
    precision_recall: list[Curve] = field(default_factory=list)
    reliability: Reliability | None = None
    actual: Array = field(default_factory=lambda: np.empty(0))
    predicted: Array = field(default_factory=lambda: np.empty(0))
    errors: dict[str, float] = field(default_factory=dict)
    targets: list[TargetOutcome] = field(default_factory=list)
    folds: dict[str, Array] = field(default_factory=dict)

    @property
    def recall(self) -> Array:
        """Share of each class that was found; NaN for classes that were not tested."""
        return _shares(np.diagonal(self.confusion), self.confusion.sum(axis=1))

    @property
    def precision(self) -> Array:
        """Share of right answers among those that name a class; NaN if none does."""
        return _shares(np.diagonal(self.confusion), self.confusion.sum(axis=0))


def _shares(part: Array, whole: Array) -> Array:
    return np.asarray(np.where(whole > 0, part / np.where(whole > 0, whole, 1.0), np.nan))


@dataclass(frozen=True)
class Rival:
    """A simpler way to answer, tested on the same rows."""

    name: str
    score: float
    judgement: str = ""  # whether it is clearly worse, by a paired test; empty if not tested


@dataclass(frozen=True)
class ColumnPicture:
    """A column as it was read, with a small histogram."""

    name: str
    role: str
    kind: str
    missing: int
    distinct: int
    note: str = ""
    counts: list[int] = field(default_factory=list)  # of categories, the commonest
    low: str = ""  # what stands at the ends of the histogram
    high: str = ""


@dataclass(frozen=True)
class Reading:
    """What was read."""

    rows: int
    columns: list[ColumnPicture] = field(default_factory=list)  # none of strings and matrices
    n_columns: int = 0  # how many there are, shown or not
    targets: list[ColumnPicture] = field(default_factory=list)  # values, one for each output
    classes: list[tuple[str, int]] = field(default_factory=list)  # or labels, and their rows
    copies: int | None = None  # rows that repeat another, target included; None if not known
    looked_at: int = 0  # rows among which copies were counted
    groups: tuple[int, int] | None = None  # number of groups, and rows of the largest
    weighted: bool = False
    alarms: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Evidence:
    """Everything that a ranking keeps for the report beside its table, computed at fit.

    Parameters
    ----------
    reading : Reading
    outcome : Outcome or None
        None if there was no time for held-out rows.
    rivals : list of Rival
        Answers that look at no features, and a plain linear model.
    weights : list of (str, float)
        Relevance of the columns, largest first.
    weights_meaning : str
    importance : list of (str, float, float)
        Columns, what the score loses when they are shuffled on held-out rows, and its error.
    gram : array of shape (m, m)
        Gram matrix of the winner on a sample, sorted by class or value.
    blocks : list of (str, int)
        Classes and their rows in `gram`; empty for values.
    map : array of shape (m, 2)
        Kernel map of a sample.
    map_colours : array of shape (m,)
        Class numbers, or values; of several targets their main direction.
    seconds : dict of step -> float
        Where the time went.
    data : str
        Hash of samples and target.
    seed : int
    """

    reading: Reading
    outcome: Outcome | None = None
    rivals: list[Rival] = field(default_factory=list)
    weights: list[tuple[str, float]] = field(default_factory=list)
    weights_meaning: str = ""
    importance: list[tuple[str, float, float]] = field(default_factory=list)
    gram: Array = field(default_factory=lambda: np.empty((0, 0)))
    blocks: list[tuple[str, int]] = field(default_factory=list)
    map: Array = field(default_factory=lambda: np.empty((0, 2)))
    map_colours: Array = field(default_factory=lambda: np.empty(0))
    seconds: dict[str, float] = field(default_factory=dict)
    data: str = ""
    seed: int = 0

    def to_plain(self) -> dict[str, Any]:
        """Return what is the same for every run on the same data, as nested plain values.

        The pictures of samples (Gram matrix and map) are left out, and so are the times.
        """
        found = asdict(self)
        for name in ("gram", "blocks", "map", "map_colours", "seconds"):
            del found[name]
        plain: dict[str, Any] = _plain(found)
        return plain


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value.tolist() if hasattr(value, "tolist") else value
