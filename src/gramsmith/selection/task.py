"""Task: what is predicted, and the weights, folds and score by which kernels are compared."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics import get_scorer
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    StratifiedGroupKFold,
    StratifiedKFold,
)
from sklearn.utils.class_weight import compute_sample_weight

from gramsmith.arguments import abridged, counted
from gramsmith.cached import cached_property
from gramsmith.evaluation.errors import jackknife
from gramsmith.learning.cross_fit import given_folds
from gramsmith.machines.calibration import fit_calibration, probabilities
from gramsmith.tables.target import alike_classes, decide_task
from gramsmith.targets import (
    as_labels,
    check_groups,
    check_weights,
    finite_values,
    kind_of,
    normalised_weights,
)

Array = npt.NDArray[Any]

COARSE = 8  # steps of a first look at thresholds
BLOCKS = 20  # of the jackknife, for scores that are no function of sums over samples
FEW_GROUPS = 10  # a sample of fewer groups is drawn row by row
# Scores of two classes that ask which of them counts.
OF_ONE_CLASS = ("f1", "precision", "recall", "jaccard", "average_precision")
# Scores that read rankings or probabilities, so that no threshold changes them.
WITHOUT_THRESHOLD = (
    *("roc_auc", "roc_auc_ovr", "roc_auc_ovo", "roc_auc_ovr_weighted", "roc_auc_ovo_weighted"),
    *("average_precision", "neg_log_loss", "neg_brier_score", "d2_log_loss_score"),
    *("d2_brier_score", "top_k_accuracy"),
)
# Scores of values, as scikit-learn's names.
ERRORS = ("neg_mean_absolute_error", "neg_mean_squared_error")
OF_VALUES = ("r2", "explained_variance", "d2_absolute", "neg_mean_", "neg_median_", "neg_root_")
# Scores that are functions of sums over the samples, so that every bag and fold is cheap.
OF_SUMS = ("neg_log_loss", "balanced_accuracy")
OF_COUNTS: dict[str, Callable[[Array, Array, Array], tuple[Array, Array]]] = {
    "f1": lambda tp, fp, fn: (2 * tp, 2 * tp + fp + fn),
    "precision": lambda tp, fp, fn: (tp, tp + fp),
    "recall": lambda tp, fp, fn: (tp, tp + fn),
    "jaccard": lambda tp, fp, fn: (tp, tp + fp + fn),
}
OF_SHARES = ("balanced_accuracy", "roc_auc", "average_precision", *OF_COUNTS)
INSTEAD = {"roc_auc": "roc_auc_ovr", "average_precision": "roc_auc_ovr"}


@dataclass(frozen=True)
class Task:
    """Targets, weights, folds and score of one selection."""

    kind: str  # "classification" or "regression"
    y: Array  # class numbers, or values
    classes: Array | None = None
    w: Array | None = None  # sample weights
    class_weight: Any = None
    scoring: Any = None
    cv: Any = None
    groups: Array | None = None
    seed: int = 0
    names: tuple[str, ...] = ()  # of several outputs or labels, see `several`

    @property
    def n(self) -> int:
        """The number of samples."""
        return len(self.y)

    @property
    def labels(self) -> Array:
        """What the user called the targets."""
        return self.y if self.classes is None else np.asarray(self.classes[self.y])

    @property
    def taught(self) -> Array:
        """What machines are fitted to."""
        return self.labels

    def in_units(self, values: Array) -> Array:
        """Return predictions in the units of `y`, which are the user's unless there are several."""
        return values

    def as_given(self, values: Array) -> Array:
        """Return values in the units of `y` in those of the user."""
        return values

    @property
    def measured_as(self) -> str:
        """The task as measures and learners know it."""
        return self.kind

    @property
    def target_kind(self) -> str:
        """What the measures call such targets."""
        return "values" if self.classes is None else "classes"

    @property
    def line(self) -> Array:
        """One number per sample by which they can be put in order."""
        return self.y

    @property
    def columns(self) -> Array:
        """The targets as columns, shape (n, 1) unless there are several."""
        return self.y.reshape(self.n, -1)

    @property
    def default_score(self) -> bool:
        """Whether the score is the default: accuracy, or the squared error."""
        own = "accuracy" if self.kind == "classification" else "r2"
        return self.scoring is None or (isinstance(self.scoring, str) and self.scoring == own)

    @property
    def exchangeable(self) -> bool:
        """Whether leaving one sample out is a fair test: no groups and no splitter of the user."""
        return self.groups is None and (self.cv is None or isinstance(self.cv, int))

    @property
    def tunes_threshold(self) -> bool:
        """Whether the score asks for a threshold of its own."""
        return not self.default_score and self.score.by_threshold

    @cached_property
    def weights(self) -> Array:
        """The weight of every sample in training: sample weight times class weight, one on average.

        Balanced classes have equal sums of weights.
        """
        w = np.ones(self.n) if self.w is None else self.w
        if self.class_weight is None or self.classes is None:
            return w
        if isinstance(self.class_weight, str):
            totals = np.bincount(self.y, w, len(self.classes))
            return normalised_weights(w / np.where(totals > 0, totals, 1.0)[self.y])
        found = w * compute_sample_weight(self.class_weight, self.labels)
        if not (np.isfinite(found).all() and found.min() >= 0 and found.any()):
            raise ValueError(
                f"Expected class weights that are numbers >= 0, got {abridged(self.class_weight)}. "
                'Use "balanced", or a dict of label -> weight.'
            )
        return normalised_weights(found)

    @cached_property
    def codes(self) -> Array:
        """The targets of least squares, shape (n, q): ±1, one column per class past two."""
        if self.kind == "regression":
            return np.asarray(self.y, dtype=float)[:, None]
        C = 2 if self.classes is None else len(self.classes)
        if C == 2:
            return np.where(self.y == 1, 1.0, -1.0)[:, None]
        return np.where(self.y[:, None] == np.arange(C), 1.0, -1.0)

    @property
    def score_name(self) -> str:
        """The name of the score that is shown; the squared error is shown as R²."""
        if self.default_score:
            return "accuracy" if self.kind == "classification" else "r2"
        return self.score.name

    @cached_property
    def _unit(self) -> float:
        """What a loss is divided by before it is shown."""
        return self.deviation**2 if self.default_score and self.kind == "regression" else 1.0

    def as_score(self, loss: float) -> float:
        """Return a loss as the score that is shown."""
        return 1.0 - float(loss) / self._unit if self.default_score else -float(loss)

    @property
    def best_score(self) -> float | None:
        """The best score there can be, if that is known."""
        known = self.default_score or (self.classes is not None and self.score.name in OF_SHARES)
        return 1.0 if known else 0.0 if self.score_name.startswith("neg_") else None

    def as_error(self, error: float) -> float:
        """Return the standard error of a loss in units of the score that is shown."""
        return float(error) / self._unit

    @cached_property
    def score(self) -> Score:
        """The score of scikit-learn, where it is not the default."""
        counts = None if self.classes is None else np.bincount(self.y, self.w)
        return Score(self.scoring, self.classes, counts).try_out(self.w is not None)

    def losses(self, f: Array, rows: Array) -> Array:
        """Return the default loss of every sample: wrong or not, or the squared error.

        f holds decision values or predictions, (m,) or (m, C), of the samples `rows`.
        """
        y = self.y[rows]
        if self.kind == "regression":
            return np.asarray((f - y) ** 2)
        return np.asarray(self.guess(f) != y, dtype=float)

    def guess(self, f: Array) -> Array:
        """Return the class numbers that decision values stand for."""
        return np.asarray((f > 0).astype(int) if f.ndim == 1 else f.argmax(axis=1))

    @cached_property
    def deviation(self) -> float:
        """The weighted standard deviation of the values; one if they do not vary."""
        mean = np.average(self.y, weights=self.w)
        return float(np.sqrt(np.average((self.y - mean) ** 2, weights=self.w))) or 1.0

    # ---- answers: what a score is computed from ---------------------------------------------

    def answers(self, f: Array, rows: Array, fold: Array, *, tune: bool = True) -> Answers:
        """Return held-out decision values with the threshold or the probabilities of the score.

        What is used for the samples of one fold is fitted to those of the others, so that no score
        is fitted to the samples it is computed for.
        """
        tune = tune and self.tunes_threshold
        proba = not self.default_score and self.score.by_probability
        if not (tune or proba):
            return Answers(f)
        shifted = f.copy()
        for here, others in self._other_folds(rows, fold) if tune else ():
            shifted[here] = f[here] - self.best_threshold(f[others], rows[others])
        return Answers(shifted, self.probabilities(f, rows, fold) if proba else None)

    def probabilities(self, f: Array, rows: Array, fold: Array) -> Array:
        """Return probabilities of held-out decision values, fitted to the other folds."""
        parts = [
            (here, self.calibration(f[others], rows[others])(f[here]))
            for here, others in self._other_folds(rows, fold)
        ]
        p = np.empty((len(f), parts[0][1].shape[1]))
        for here, found in parts:
            p[here] = found
        return p

    def calibration(self, f: Array, rows: Array) -> Callable[[Array], Array]:
        """Return what turns decision values into probabilities, (m, C), fitted to held-out ones."""
        C = 2 if self.classes is None else len(self.classes)
        w = None if self.w is None else self.w[rows]
        slope, offsets = fit_calibration(f, self.y[rows], C, w)
        return lambda f: probabilities(f, slope, offsets)

    def _other_folds(self, rows: Array, fold: Array) -> Iterator[tuple[Array, Array]]:
        """Yield the samples of each fold, and those of all others."""
        parts = fold if len(np.unique(fold)) > 1 else self._blocks(rows, 5)
        for part in np.unique(parts):
            yield parts == part, np.flatnonzero(parts != part)

    def loss(self, answers: Answers | Array, rows: Array) -> float:
        """Return the loss of answers: lower is better, whatever the score."""
        if isinstance(answers, np.ndarray):
            answers = Answers(answers)
        parts = self.parts(answers, rows)
        if parts is not None:
            return float(self.loss_of(parts.sum(axis=0)))
        w = None if self.w is None else self.w[rows]
        return -self.score.value(answers.f, self.y[rows], w, p=answers.p)

    def parts(self, answers: Answers, rows: Array) -> Array | None:
        """Return what every sample adds to the sums of `loss_of`, shape (m, s).

        None if the score is not known to be a function of sums.
        """
        w = np.ones(len(rows)) if self.w is None else self.w[rows]
        if self.default_score:
            return np.column_stack([w * self.losses(answers.f, rows), w])
        if not self.score.weighted and self.w is not None:
            return None
        return self.score.parts(answers, self.y[rows], w)

    def loss_of(self, sums: Array) -> Array:
        """Return the loss of sums of `parts`, shape (..., s)."""
        if self.default_score:
            return np.asarray(sums[..., 0] / np.maximum(sums[..., 1], 1e-300))
        return -self.score.of_sums(sums)

    # ---- errors: clusters, not rows, are what was drawn ------------------------------------------

    def clusters(self, rows: Array) -> Array:
        """Return the number of the cluster of each sample: its group, or the sample itself."""
        names = rows if self.groups is None else self.groups[rows]
        return np.asarray(np.unique(names, return_inverse=True)[1])

    def error(self, answers: Answers, rows: Array) -> float:
        """Return the standard error of `loss` by leaving out one cluster at a time."""
        error = self._jackknife(rows, [(1.0, answers)])
        if self.kind != "regression" and self.default_score:
            # no mistake among few samples is no certainty
            G = len(np.unique(self.clusters(rows)))
            error = max(error, float(np.sqrt(0.5 / (G + 1.0) / G)))
        return error

    def difference(self, a: Answers, b: Answers, rows: Array) -> tuple[float, float]:
        """Return the loss of a less that of b on the same samples, and its standard error."""
        gap = self.loss(a, rows) - self.loss(b, rows)
        return gap, self._jackknife(rows, [(1.0, a), (-1.0, b)])

    def _jackknife(self, rows: Array, terms: Sequence[tuple[float, Answers]]) -> float:
        """Return the standard error of a sum of losses, from what it is without each cluster."""
        parts = [self.parts(answers, rows) for _, answers in terms]
        left: Array = np.zeros(1)
        if all(part is not None for part in parts):
            cluster = self.clusters(rows)
            for (sign, _), part in zip(terms, parts, strict=True):
                sums = cluster_sums(np.asarray(part), cluster)
                left = left + sign * self.loss_of(sums.sum(axis=0) - sums)
        else:
            block = self._blocks(rows, BLOCKS)
            places = [np.flatnonzero(block != b) for b in np.unique(block)]
            left = np.array(
                [sum(sign * self.loss(a.at(p), rows[p]) for sign, a in terms) for p in places]
            )
        error = jackknife(left[np.isfinite(left)])  # a score may be undefined without some samples
        return float("inf") if error is None else error

    def _blocks(self, rows: Array, count: int) -> Array:
        """Return a block number for each sample: whole clusters, targets spread evenly."""
        cluster = self.clusters(rows)
        G = int(cluster.max(initial=0)) + 1
        mean = np.bincount(cluster, self.line[rows], G) / np.bincount(cluster, minlength=G)
        block = np.empty(G, dtype=int)
        block[np.argsort(mean, kind="stable")] = np.arange(G) % max(2, min(count, G))
        return np.asarray(block[cluster])

    def constant(self, rows: Array) -> tuple[Answers, str]:
        """Return the best answers that look at no features, and what they are."""
        y, w = self.y[rows], None if self.w is None else self.w[rows]
        if self.classes is None:
            return Answers(np.full(len(rows), np.average(y, weights=w))), "predicting the mean"
        C = len(self.classes)
        share = np.bincount(y, w, C) / np.bincount(y, w, C).sum()
        p = np.tile(share, (len(rows), 1))
        found = []
        for c in range(C) if self.default_score or self.score.by_label else [int(share.argmax())]:
            F = np.where(np.arange(C) == c, 1.0, -1.0)
            one = Answers(np.tile(F, (len(rows), 1)) if C > 2 else np.full(len(rows), F[1]), p)
            found.append((self.loss(one, rows), c, one))
        _, c, best = min(found, key=lambda item: item[:2])
        if not self.default_score and self.score.by_probability:
            return best, "answering with the shares of the classes"
        return best, f"always answering {str(self.classes[c])!r}"

    # ---- thresholds, folds, samples --------------------------------------------------------------

    def best_threshold(self, f: Array, rows: Array) -> float:
        """Return the threshold with the best score, from held-out decision values."""
        levels = np.unique(np.quantile(f, np.linspace(0.01, 0.99, 99)))
        yes, no = (self.parts(Answers(np.full(len(f), v)), rows) for v in (1.0, -1.0))
        if yes is not None and no is not None:
            # from all answers "no" to "yes" above the level: sums from the largest value down
            order = np.argsort(-f, kind="stable")
            gained = np.cumsum(np.vstack([np.zeros(yes.shape[1]), (yes - no)[order]]), axis=0)
            above = len(f) - np.searchsorted(f[order][::-1], levels, side="right")
            found = self.loss_of(no.sum(axis=0) + gained[above])
        else:
            found = np.full(len(levels), np.inf)

            def look(places: Any) -> None:
                for k in places:
                    if not np.isfinite(found[k]):
                        found[k] = self.loss(f - levels[k], rows)

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
        classify = self.kind == "classification"
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
        return given_folds(self.cv, self.labels, self.groups)

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
                f"Expected folds with training and test samples, got "
                f"{counted(len(self._given_splits), 'fold')} of cv={abridged(self.cv)} with none "
                f"in the {len(rows)} rows in use. Use cv=5."
            )
        return found

    def try_out(self) -> Task:
        """Return the task after score, folds and class weights have been tried, before any work."""
        if not self.default_score:
            self.score  # noqa: B018
        if not self.exchangeable:
            self.splits(np.arange(self.n), 5)
        self.weights  # noqa: B018
        return self

    @cached_property
    def counting(self) -> Array:
        """The samples that have a weight: a row of no weight is no row."""
        return np.arange(self.n) if self.w is None else np.flatnonzero(self.w > 0)

    def sample(self, size: int, salt: int = 0) -> Array:
        """Return at most `size` rows, every class in proportion and none lost, in order.

        Groups are drawn as a whole, as long as that leaves several of them.
        """
        if size >= len(self.counting):
            return self.counting
        rng = np.random.default_rng([self.seed, salt])
        order = self.counting[rng.permutation(len(self.counting))]
        whole = self._whole_groups(order, size)
        if whole is not None:
            return whole
        if self.kind != "classification":
            return np.sort(order[:size])
        chosen = []
        for code in np.unique(self.y[order]):
            members = order[self.y[order] == code]
            chosen.append(members[: max(2, round(size * len(members) / len(order)))])
        return np.sort(np.concatenate(chosen))

    def _whole_groups(self, order: Array, size: int) -> Array | None:
        """Return the rows of the first groups of an order, or None if they would be too few."""
        if self.groups is None:
            return None
        _, first, group = np.unique(self.groups[order], return_index=True, return_inverse=True)
        place = np.argsort(np.argsort(first))[group]  # groups by when they first appear
        counts = np.cumsum(np.bincount(place))
        taken = int(np.searchsorted(counts, size, side="right"))
        rows = order[place < taken]
        lost = self.kind == "classification" and len(np.unique(self.y[rows])) < len(
            np.unique(self.y[order])
        )
        return None if taken < FEW_GROUPS or lost else np.sort(rows)

    def of_rows(self, rows: Array) -> Task:
        """Return the task of some of the samples, with the folds of the user cut to them."""
        cv = self.cv
        if cv is not None and not isinstance(cv, int):
            cv = self._within(rows)
        return replace(
            self,
            y=self.y[rows],
            w=None if self.w is None else self.w[rows],
            cv=cv,
            groups=None if self.groups is None else self.groups[rows],
        )


@dataclass(frozen=True)
class Answers:
    """What is said of samples: decision values that are compared with zero, or predictions."""

    f: Array  # (m,) or (m, C)
    p: Array | None = None  # probabilities (m, C), where the score asks for them

    def at(self, places: Array) -> Answers:
        """Return the answers for some of the samples."""
        return Answers(self.f[places], None if self.p is None else self.p[places])


def cluster_sums(parts: Array, cluster: Array) -> Array:
    """Return the sums of (m, s) parts over each cluster."""
    G = int(cluster.max(initial=0)) + 1
    return np.column_stack([np.bincount(cluster, column, G) for column in parts.T])


class GivenDecisions(ClassifierMixin, BaseEstimator):
    """A classifier that returns the answers it is given, for scikit-learn's scorers."""

    def __init__(self, classes: Any, p: Any = None) -> None:
        self.classes = classes
        self.p = p
        self.classes_ = classes
        self.asked: set[str] = set()

    def decision_function(self, X: Any) -> Array:
        return np.asarray(X)

    def predict(self, X: Any) -> Array:
        self.asked.add("predict")
        f = np.asarray(X)
        code = (f > 0.0).astype(int) if f.ndim == 1 else f.argmax(axis=1)
        return np.asarray(self.classes_[code])

    def predict_proba(self, X: Any) -> Array:
        self.asked.add("predict_proba")
        if self.p is None:
            raise AttributeError("probabilities")
        return np.asarray(self.p)

    def __sklearn_is_fitted__(self) -> bool:
        return True


class _GivenValues(RegressorMixin, BaseEstimator):
    """A regressor that returns the values it is given."""

    def predict(self, X: Any) -> Array:
        return np.asarray(X)

    def __sklearn_is_fitted__(self) -> bool:
        return True


class Score:
    """A score of scikit-learn for held-out decision values or predictions.

    Where a score counts one of two classes ("f1", "precision", "recall" and their like) and none of
    the labels is 1, the rarer class counts. There are no classes for values.
    """

    usual: ClassVar[str] = 'classes, such as "balanced_accuracy"'  # where another does not fit

    def __init__(self, scoring: Any, classes: Array | None, counts: Array | None = None) -> None:
        self.call = get_scorer(scoring) if isinstance(scoring, str) else scoring
        self.name = scoring if isinstance(scoring, str) else getattr(scoring, "__name__", "score")
        self.classes, self.weighted = classes, True
        two = classes is not None and len(classes) == 2
        if two and scoring in OF_ONE_CLASS and 1 not in classes.tolist():  # type: ignore[union-attr]
            rare = 0 if counts is not None and counts[0] < counts[1] else 1
            self.classes = np.array([0, 1]) if rare else np.array([1, 0])
        self.by_threshold = two and self.name not in WITHOUT_THRESHOLD
        self.by_probability = self.by_label = False  # found out in `try_out`
        known = ERRORS if classes is None else (*OF_SUMS, *(OF_COUNTS if two else ()))
        self.summed = isinstance(scoring, str) and scoring in known

    def parts(self, answers: Answers, y: Array, w: Array) -> Array | None:
        """Return what every sample adds to the sums of `of_sums`, or None for other scores."""
        if not self.summed:
            return None
        f, p = answers.f, answers.p
        if self.name in ERRORS:
            gap = np.abs(f - y)
            return np.column_stack([w * (gap if "absolute" in self.name else gap**2), w])
        if self.name == "neg_log_loss":
            if p is None:
                return None
            chosen = np.clip(p[np.arange(len(y)), y], np.finfo(float).eps, 1.0)
            return np.column_stack([-w * np.log(chosen), w])
        guess = (f > 0).astype(int) if f.ndim == 1 else f.argmax(axis=1)
        if self.name == "balanced_accuracy":
            member = w[:, None] * (y[:, None] == np.arange(len(self.classes)))  # type: ignore[arg-type]
            return np.concatenate([member * (guess == y)[:, None], member], axis=1)
        one = int(np.flatnonzero(self.classes == 1)[0])
        true, said = y == one, guess == one
        return np.column_stack([w * (true & said), w * (~true & said), w * (true & ~said)])

    def of_sums(self, sums: Array) -> Array:
        """Return the score of sums of `parts`, shape (..., s)."""
        if self.name in ERRORS or self.name == "neg_log_loss":
            return np.asarray(-sums[..., 0] / np.maximum(sums[..., 1], 1e-300))
        if self.name == "balanced_accuracy":
            right, all_ = np.split(sums, 2, axis=-1)
            there = all_ > 1e-12
            recall = np.where(there, right / np.where(there, all_, 1.0), 0.0)
            return np.asarray(recall.sum(axis=-1) / np.maximum(there.sum(axis=-1), 1))
        tp, fp, fn = np.moveaxis(sums, -1, 0)
        top, bottom = OF_COUNTS[self.name](tp, fp, fn)
        return np.asarray(
            np.where(bottom > 1e-12, top / np.where(bottom > 1e-12, bottom, 1.0), 0.0)
        )

    def value(self, f: Array, y: Array, w: Array | None = None, p: Array | None = None) -> float:
        """Return the score of decision values f, or of predictions.

        y holds class numbers or values, p probabilities for scores that ask for them; above zero
        the second of two classes is predicted.
        """
        given: Any = _GivenValues()
        if self.classes is not None:
            given, y = self.given(p), self.classes[y]
        if w is None or not self.weighted or not w.any():
            value = float(self.call(given, f, y))
        else:
            value = float(self.call(given, f, y, sample_weight=w))
        if self.classes is not None and "predict_proba" in given.asked:
            self.by_probability = True
        if self.classes is not None and "predict" in given.asked:
            self.by_label = True
        return value

    def given(self, p: Array | None) -> Any:
        """Return the classifier that scikit-learn is to score."""
        return GivenDecisions(self.classes, p)

    def example(self) -> tuple[Array, Array, Array | None]:
        """Return decision values, targets and probabilities that any such score can be tried on."""
        if self.classes is None:
            y = np.arange(1.0, 7.0)
            return y + 0.1 * np.cos(np.arange(len(y))), y, None
        C = len(self.classes)
        y = np.arange(C).repeat(3)
        f = y + 0.1 * np.cos(np.arange(len(y))) - 0.5 if C == 2 else 2.0 * np.eye(C)[y] - 1.0
        return f, y, 0.7 * np.eye(C)[y] + 0.3 / C

    def try_out(self, weighted: bool) -> Score:
        """Raise a ValueError, before any work, unless the score can be computed for such a task.

        A score that takes no weights is used without, with a warning if there are any.
        """
        f, y, p = self.example()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                self.value(f, y, p=p)
                if self.classes is not None and self.name.startswith((*OF_VALUES, "neg_max_")):
                    raise ValueError(f"{self.name} compares numbers")
            except Exception as error:
                raise ValueError(self._refusal(error)) from error
            try:
                self.value(f, y, np.ones(len(y)), p)
            except Exception:
                self.weighted = False
        if weighted and not self.weighted:
            warnings.warn(
                f"The score {self.name!r} takes no sample_weight: weights count in training, "
                "but not in the comparison.",
                UserWarning,
                stacklevel=4,
            )
        return self

    @property
    def of(self) -> str:
        """What it is a score of, in words."""
        return "values" if self.classes is None else f"{len(self.classes)} classes"

    def _refusal(self, error: Exception) -> str:
        other = INSTEAD.get(self.name, f"{self.name}_macro")
        if self.classes is None:
            advice = 'Use a score of values, such as "neg_mean_absolute_error".'
        elif len(self.classes) > 2 and self.name in (*OF_ONE_CLASS, *INSTEAD):
            advice = f'Use "{other}".'
        else:
            advice = f"Use a score of {self.usual}."
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        return (
            f"Expected a score for {self.of}, got {self.name!r}, which fails: "
            f"{reason.rstrip('.')}. {advice}"
        )


def read_task(
    y: Any,
    *,
    task: str = "auto",
    scoring: Any = None,
    cv: Any = None,
    groups: Any = None,
    class_weight: Any = None,
    sample_weight: Any = None,
    seed: int = 0,
) -> Task:
    """Return the task of one label or value per sample, tried out before any work starts."""
    y = as_labels(y)
    if not len(y):
        raise ValueError("Expected at least one sample, got none.")
    kind = kind_of(y)
    if task == "auto":
        task = "regression" if kind == "continuous" else decide_task(y)[0]
    options = {"scoring": scoring, "seed": seed, **checked_options(y, cv, groups, sample_weight)}
    w = options["w"]
    if task == "regression":
        values = finite_values(y)
        if np.ptp(values) <= 1e-14 * max(float(np.abs(values).max()), 1e-300):
            raise ValueError(
                "Expected targets that vary, got a constant y. Nothing can be learned."
            )
        return Task("regression", values, **options).try_out()
    if kind.startswith("continuous"):
        raise ValueError(
            "Expected class labels, got real numbers. Unknown label type: continuous. "
            'Use task="regression".'
        )
    classes, codes = np.unique(y, return_inverse=True)
    said = alike_classes(classes.tolist())
    if said:
        warnings.warn(said, UserWarning, stacklevel=3)
    known = codes if w is None else codes[w > 0]
    if len(np.unique(known)) < 2:
        raise ValueError(
            f"Expected at least two classes, got 1 class: {classes[:1].tolist()}. "
            "Add samples of another class."
        )
    if len(classes) > max(len(y) // 2, 2):
        raise ValueError(
            f"Expected classes with several samples each, got {len(classes)} classes in {len(y)} "
            'samples. If these are numbers to predict, use task="regression".'
        )
    found = Task("classification", codes, classes, class_weight=class_weight, **options)
    return found.try_out()


def checked_options(y: Any, cv: Any, groups: Any, sample_weight: Any) -> dict[str, Any]:
    """Return weights, groups and folds of a task, or raise."""
    n = len(y)
    w = None if sample_weight is None else normalised_weights(check_weights(sample_weight, n))
    cv = int(cv) if isinstance(cv, np.integer) else cv
    return {"w": w, "cv": cv, "groups": check_groups(groups, n)}
