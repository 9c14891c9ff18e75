"""Judge: the task, the folds and the score by which kernels are compared."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    StratifiedGroupKFold,
    StratifiedKFold,
    check_cv,
)
from sklearn.utils.class_weight import compute_sample_weight

from gramsmith.evaluation.errors import jackknife
from gramsmith.selection.scoring import Score

Array = npt.NDArray[Any]

COARSE = 8  # steps of a first look at thresholds
BLOCKS = 10  # of the jackknife, for scores that are no mean over samples


@dataclass(frozen=True)
class Judge:
    """Targets, weights, folds and score of one selection.

    Parameters
    ----------
    task : {"classification", "regression"}
    y : array of shape (n,)
        Class numbers, or values.
    classes : array of shape (C,) or None
    w : array of shape (n,) or None
        Sample weights.
    class_weight : dict, "balanced" or None
    scoring : str, callable or None
    cv : int, splitter or None
    groups : array of shape (n,) or None
    seed : int
    """

    task: str
    y: Array
    classes: Array | None = None
    w: Array | None = None
    class_weight: Any = None
    scoring: Any = None
    cv: Any = None
    groups: Array | None = None
    seed: int = 0

    @property
    def n(self) -> int:
        """The number of samples."""
        return len(self.y)

    @property
    def labels(self) -> Array:
        """What the user called the targets."""
        return self.y if self.classes is None else np.asarray(self.classes[self.y])

    @property
    def plain(self) -> bool:
        """Whether the score is the default: accuracy, or the squared error."""
        names = ("accuracy",) if self.task == "classification" else ("neg_mean_squared_error", "r2")
        return self.scoring is None or (isinstance(self.scoring, str) and self.scoring in names)

    @property
    def exchangeable(self) -> bool:
        """Whether leaving one sample out is a fair test: no groups and no splitter of the user."""
        return self.groups is None and (self.cv is None or isinstance(self.cv, int))

    @property
    def tunes_threshold(self) -> bool:
        """Whether the score asks for a threshold of its own."""
        return not self.plain and self.score.by_threshold

    @cached_property
    def weights(self) -> Array:
        """The weight of every sample in training: sample weight times class weight."""
        w = np.ones(self.n) if self.w is None else self.w
        if self.class_weight is None or self.task == "regression":
            return w
        return np.asarray(w * compute_sample_weight(self.class_weight, self.labels))

    @cached_property
    def codes(self) -> Array:
        """The targets of least squares, shape (n, q): ±1, one column per class past two."""
        if self.task == "regression":
            return np.asarray(self.y, dtype=float)[:, None]
        C = 2 if self.classes is None else len(self.classes)
        if C == 2:
            return np.where(self.y == 1, 1.0, -1.0)[:, None]
        return np.where(self.y[:, None] == np.arange(C), 1.0, -1.0)

    @cached_property
    def score(self) -> Score:
        """The score of scikit-learn, where it is not the default."""
        counts = None if self.classes is None else np.bincount(self.y, self.w)
        return Score(self.scoring, self.classes, counts).try_out(self.w is not None)

    def losses(self, f: Array, rows: Array) -> Array:
        """Return the default loss of every sample: wrong or not, or the squared error.

        Parameters
        ----------
        f : array of shape (m,) or (m, C)
            Decision values or predictions.
        rows : int array of shape (m,)
            The samples they belong to.
        """
        y = self.y[rows]
        if self.task == "regression":
            return np.asarray((f - y) ** 2)
        wrong = (f > 0) != (y == 1) if f.ndim == 1 else f.argmax(axis=1) != y
        return np.asarray(wrong, dtype=float)

    @property
    def copies(self) -> Array:
        """How many samples every row stands for; a class weight is no repetition."""
        return np.ones(self.n) if self.w is None else self.w

    def standard_error(self, each: Array) -> float:
        """Return the standard error of the mean of `losses`; above zero even if none is wrong."""
        n = len(each)
        if self.task == "regression":
            return float(each.std() / np.sqrt(n))
        share = (float(each.sum()) + 0.5) / (n + 1.0)
        return float(np.sqrt(share * (1.0 - share) / n))

    def loss(self, f: Array, rows: Array, threshold: float = 0.0) -> float:
        """Return the loss of decision values: lower is better, whatever the score."""
        w = None if self.w is None or not self.w[rows].any() else self.w[rows]
        if not self.plain:
            return -self.score.value(f, self.y[rows], w, threshold)
        shifted = f - threshold if threshold else f
        return float(np.average(self.losses(shifted, rows), weights=w))

    def error_of(self, f: Array, rows: Array, threshold: float = 0.0) -> float:
        """Return the standard error of `loss`: of a mean, or else by the jackknife."""
        if self.plain:
            return self.standard_error(self.losses(f, rows))
        return self._jackknife(rows, lambda part: self.loss(f[part], rows[part], threshold))

    def difference(
        self, f: Array, g: Array, rows: Array, cuts: tuple[float, float] = (0.0, 0.0)
    ) -> tuple[float, float]:
        """Return by how much the loss of f is above that of g on the same samples, and its error.

        Parameters
        ----------
        f, g : arrays of shape (m,) or (m, C)
            Decision values or predictions.
        rows : int array of shape (m,)
            The samples they belong to.
        cuts : pair of float
            Their thresholds.
        """
        if self.plain:
            gap = self.losses(f, rows) - self.losses(g, rows)
            return float(gap.mean()), float(gap.std() / np.sqrt(max(len(gap), 1)))

        def value(part: Array) -> float:
            return self.loss(f[part], rows[part], cuts[0]) - self.loss(g[part], rows[part], cuts[1])

        return value(np.arange(len(rows))), self._jackknife(rows, value)

    def _jackknife(self, rows: Array, value: Callable[[Array], float]) -> float:
        """Return the standard error of a number from what it is without each of ten parts."""
        block = np.empty(len(rows), dtype=int)
        block[np.argsort(self.y[rows], kind="stable")] = np.arange(len(rows)) % BLOCKS
        found = np.array([value(np.flatnonzero(block != b)) for b in range(min(BLOCKS, len(rows)))])
        found = found[np.isfinite(found)]  # a score may be undefined without some samples
        error = jackknife(found)
        return float("inf") if error is None else error

    def best_threshold(self, f: Array, rows: Array) -> float:
        """Return the threshold with the best score, from held-out decision values."""
        levels = np.unique(np.quantile(f, np.linspace(0.01, 0.99, 99)))
        found = np.full(len(levels), np.inf)

        def look(places: Any) -> None:
            for k in places:
                if not np.isfinite(found[k]):
                    found[k] = self.loss(f, rows, float(levels[k]))

        look(range(0, len(levels), COARSE))
        best = int(np.argmin(found))
        look(range(max(best - COARSE, 0), min(best + COARSE + 1, len(levels))))
        seen = found[np.isfinite(found)]
        if not len(seen) or np.ptp(seen) <= 1e-12:
            return 0.0  # the score does not mind
        flat = np.flatnonzero(found <= seen.min() + 1e-12)
        # the middle of the best plateau is the steadiest choice
        return float(levels[flat[len(flat) // 2]])

    def splits(self, rows: Array, folds: int) -> list[tuple[Array, Array]]:
        """Return (training, test) positions within `rows` for every fold."""
        y = self.y[rows]
        groups = None if self.groups is None else self.groups[rows]
        if self.cv is not None and not isinstance(self.cv, int):
            return self._within(rows)
        folds = self.cv if isinstance(self.cv, int) else folds
        classify = self.task == "classification"
        cv: Any
        if groups is not None:
            folds = min(folds, len(np.unique(groups)))
            if folds < 2:
                raise ValueError("Expected at least two groups, got one. Leave groups out.")
            cv = (
                StratifiedGroupKFold(folds, shuffle=True, random_state=self.seed)
                if classify
                else GroupKFold(folds)
            )
        elif classify and np.bincount(y).max() >= 2:
            folds = max(2, min(folds, int(np.bincount(y)[np.bincount(y) > 1].min())))
            cv = StratifiedKFold(folds, shuffle=True, random_state=self.seed)
        else:
            cv = KFold(max(2, min(folds, len(rows))), shuffle=True, random_state=self.seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # a class with fewer members than folds
            return list(cv.split(np.zeros(len(rows)), y, groups))

    @cached_property
    def _given_splits(self) -> list[tuple[Array, Array]]:
        """The folds of the user's splitter, of all samples, asked for once."""
        cv = check_cv(self.cv, self.y, classifier=self.task == "classification")
        parts = cv.split(np.zeros(self.n), self.labels, self.groups)
        return [(np.asarray(train), np.asarray(test)) for train, test in parts]

    def _within(self, rows: Array) -> list[tuple[Array, Array]]:
        """Return the user's folds as far as they lie within some rows, as positions there."""
        place = np.full(self.n, -1)
        place[rows] = np.arange(len(rows))
        found = []
        for train, test in self._given_splits:
            train, test = (part[part >= 0] for part in (place[train], place[test]))
            if len(train) > 1 and len(test):
                found.append((train, test))
        if not found:
            raise ValueError(
                f"Expected folds with training and test samples, got {len(self._given_splits)} "
                f"folds of cv={self.cv!r} with none in the {len(rows)} rows in use. Use cv=5."
            )
        return found

    def sample(self, size: int, salt: int = 0) -> Array:
        """Return at most `size` rows, every class in proportion and none lost, in order."""
        if size >= self.n:
            return np.arange(self.n)
        rng = np.random.default_rng([self.seed, salt])
        order = rng.permutation(self.n)
        if self.task == "regression":
            return np.sort(order[:size])
        chosen = []
        for code in np.unique(self.y):
            members = order[self.y[order] == code]
            chosen.append(members[: max(2, round(size * len(members) / self.n))])
        return np.sort(np.concatenate(chosen))
