"""Task: targets with the weights, folds and score by which kernels are compared."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.base import is_regressor
from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold

from gramsmith.arguments import abridged, counted
from gramsmith.cached import cached_property
from gramsmith.evaluation.errors import jackknife
from gramsmith.learning.cross_fit import given_folds
from gramsmith.machines import KernelRidgeRegressor
from gramsmith.selection.periods import Periods
from gramsmith.selection.scores import Answers, ClassScore, Score

Array = npt.NDArray[Any]
Folds = list[tuple[Array, Array]]

BLOCKS = 20  # of the jackknife, for scores that are no function of sums over samples
FEW_GROUPS = 10  # a sample of fewer groups is drawn row by row
BOTH = np.array([0, 1])  # a label is not there, or it is


@dataclass(frozen=True, kw_only=True)
class Task:
    """Targets, weights, folds and score of one selection; what kinds of targets share."""

    y: Array  # class numbers (n,), values (n, q) in units of their deviation, labels (n, q)
    score: Score
    w: Array | None = None  # sample weights of mean one
    cv: Any = None
    groups: Array | None = None
    periods: Periods | None = None  # when every row was, if folds look back
    seed: int = 0
    names: tuple[str, ...] = ()  # of several outputs or labels

    kind: ClassVar[str]
    ridge: ClassVar[type] = KernelRidgeRegressor  # the machine, and what it is called
    machine: ClassVar[str] = "kernel ridge classifier"
    open_ended: ClassVar[bool] = False  # whether predictions may go beyond the targets
    measured_as: ClassVar[str] = "classification"  # the task as measures and learners know it
    target_kind: ClassVar[str] = "labels"  # what the measures call such targets
    linear: ClassVar[str] = "ridge regression"  # the plain model that any other should beat
    mistaken: ClassVar[Any] = staticmethod(is_regressor)  # of other targets
    classes: Array | None = None
    class_weight: Any = None

    @staticmethod
    def linear_model() -> Any:
        """Return the plain model, imported here since that takes as long as all of gramsmith."""
        from sklearn.linear_model import RidgeCV

        return RidgeCV(alphas=np.logspace(-2, 4, 7))

    # ---- what kinds of targets differ in ---------------------------------------------------------

    @property
    def codes(self) -> Array:
        """The targets of least squares, shape (n, q)."""
        raise NotImplementedError

    @property
    def labels(self) -> Array:
        """What the user called the targets."""
        raise NotImplementedError

    def constant(self, rows: Array) -> tuple[Answers, str]:
        """Return the best answers that look at no features, and what they are."""
        raise NotImplementedError

    def column(self, k: int) -> Task:
        """Return the task of one of several columns, with the default score."""
        raise NotImplementedError

    def calibration(self, f: Array, rows: Array) -> Callable[[Array], Array]:
        """Return what turns decision values into probabilities, fitted to held-out ones."""
        raise NotImplementedError

    def assembled(self, models: Sequence[Any], weights: list[float], threshold: float) -> Any:
        """Return one model of those that were fitted, each of which takes the same samples."""
        raise NotImplementedError

    def calibrate(self, machine: Any, f: Array, rows: Array) -> None:
        """Fit the probabilities of a machine to decision values of left-out samples."""
        raise NotImplementedError

    def facts(self) -> dict[str, Any]:
        """Return what a model file remembers of the targets, as plain values."""
        raise NotImplementedError

    def of_known(self, f: Array, machine: Any) -> Array:
        """Return decision values of what a machine knows: not of classes that have no weight."""
        return f

    def decision_values(self, model: Any, X: Any, rows: Array | None = None) -> Array:
        """Return what a model that was fitted to some rows says of samples, (m, q).

        Predictions, or values of which the largest decides, whatever the model has.
        """
        return self.in_units(np.asarray(model.predict(X), dtype=float))

    def answers_of(self, model: Any, X: Any) -> Answers:
        """Return what a fitted model says of samples, in the form that the score asks for."""
        return Answers(self.decision_values(model, X))

    def lone(self, rows: Array, count: int) -> Answers | None:
        """Return the answers for so many samples where the rows leave nothing to fit."""
        return None

    @property
    def measured(self) -> Array:
        """The targets as measures and learners take them."""
        return self.y[:, 0] if self.y.ndim == 2 and self.y.shape[1] == 1 else self.y

    @property
    def strata(self) -> Array | None:
        """Class numbers by which folds and samples are balanced, if there are any."""
        return None

    @property
    def taught(self) -> Array:
        """What machines are fitted to."""
        return self.labels

    def counts(self, rows: Any) -> list[tuple[str, int]]:
        """Return classes or labels and how many of the rows are theirs; nothing for values."""
        return []

    def reach(self, f: Array) -> float:
        """Return how far predictions go beyond the range of values, in units of that range."""
        return 0.0

    def bounded(self, F: Array) -> Array:
        """Return least-squares predictions within what the targets can be."""
        return np.clip(F, -1.0, 1.0)

    @property
    def class_names(self) -> Array | None:
        """The classes, or the labels by name or number; None for values."""
        return self.classes

    def in_units(self, values: Array) -> Array:
        """Return predictions of the user's in the units of `codes`, shape (m, q)."""
        return values.reshape(len(values), -1)

    def as_given(self, values: Array) -> Array:
        """Return values in the units of `codes` in those of the user."""
        return values

    # ---- shared ---------------------------------------------------------------------------------

    @property
    def n(self) -> int:
        """The number of samples."""
        return len(self.y)

    @cached_property
    def line(self) -> Array:
        """One number per sample by which they can be put in order."""
        if self.strata is not None:
            return self.strata
        Z = self.codes - self.codes.mean(axis=0)
        return np.asarray(Z @ np.linalg.eigh(Z.T @ Z)[1][:, -1] if Z.shape[1] > 1 else Z[:, 0])

    @property
    def own_folds(self) -> bool:
        """Whether the folds are those of a splitter of the user's."""
        return self.cv is not None and not isinstance(self.cv, int)

    @property
    def exchangeable(self) -> bool:
        """Whether leaving one sample out is a fair test: no groups, times or folds of the user."""
        return self.groups is None and self.periods is None and not self.own_folds

    @property
    def tunes_threshold(self) -> bool:
        """Whether the score asks for a threshold of its own."""
        return isinstance(self.score, ClassScore) and self.score.by_threshold

    @property
    def weights(self) -> Array:
        """The weight of every sample in training."""
        return np.ones(self.n) if self.w is None else self.w

    def weight_of(self, rows: Array) -> Array | None:
        """Return the sample weights of some rows, if there are any."""
        return None if self.w is None else self.w[rows]

    # ---- answers: what a score is computed from ---------------------------------------------

    def answers(
        self, f: Array, rows: Array, fold: Array, *, tune: bool = True, shares: Array | None = None
    ) -> Answers:
        """Return held-out decision values with the threshold or the probabilities of the score.

        What is used for the samples of one fold is fitted to those of the others, so that no score
        is fitted to the samples it is computed for; of periods, to those of earlier ones, and for
        the first to the others. Probabilities of the machine's own, `shares`, are left as they are.
        """
        shifted = f
        if tune and self.tunes_threshold:
            shifted = f.copy()
            for here, others in self.other_folds(rows, fold):
                shifted[here] = f[here] - self.best_threshold(f[others], rows[others])
        if shares is None and self.score.by_probability:
            shares = self.probabilities(f, rows, fold)
        return Answers(shifted, shares)

    def probabilities(self, f: Array, rows: Array, fold: Array) -> Array:
        """Return probabilities of held-out decision values, fitted to the other folds."""
        parts = [
            (here, self.calibration(f[others], rows[others])(f[here]))
            for here, others in self.other_folds(rows, fold)
        ]
        p = np.empty((len(f), parts[0][1].shape[1]))
        for here, values in parts:
            p[here] = values
        return p

    def other_folds(self, rows: Array, fold: Array) -> Iterator[tuple[Array, Array]]:
        """Yield the samples of each fold, and those of all others."""
        parts = fold if len(np.unique(fold)) > 1 else self._blocks(rows, 5)
        for number, part in enumerate(np.unique(parts)):
            earlier = self.periods is not None and number > 0
            yield parts == part, np.flatnonzero(parts < part if earlier else parts != part)

    def loss(self, answers: Answers, rows: Array) -> float:
        """Return the loss of answers: lower is better, whatever the score."""
        parts = self.parts(answers, rows)
        if parts is not None:
            return float(self.loss_of(parts.sum(axis=0)))
        return -self.score.value(answers, self.y[rows], self.weight_of(rows))

    def parts(self, answers: Answers, rows: Array) -> Array | None:
        """Return what every sample adds to the sums of `loss_of`, shape (m, s).

        None if the score is not known to be a function of sums.
        """
        if not self.score.weighted and self.w is not None:
            return None
        w = np.ones(len(rows)) if self.w is None else self.w[rows]
        return self.score.parts(answers, self.y[rows], w)

    def loss_of(self, sums: Array) -> Array:
        """Return the loss of sums of `parts`, shape (..., s)."""
        return -self.score.of_sums(sums)

    # ---- errors: clusters, not rows, are what was drawn ------------------------------------------

    def clusters(self, rows: Array) -> Array:
        """Return the number of the cluster of each sample: its group, or the sample itself.

        Where rows have times, blocks of consecutive rows.
        """
        if self.periods is not None:
            return self.periods.blocks(rows, self.groups)
        names = rows if self.groups is None else self.groups[rows]
        return np.asarray(np.unique(names, return_inverse=True)[1])

    def error(self, answers: Answers, rows: Array) -> float:
        """Return the standard error of `loss` by leaving out one cluster at a time."""
        error = self.difference(answers, None, rows)[1]
        if self.score.is_share:
            # no mistake among few samples is no certainty
            G = len(np.unique(self.clusters(rows)))
            error = max(error, float(np.sqrt(0.5 / (G + 1.0) / G)))
        return error

    def difference(self, a: Answers, b: Answers | None, rows: Array) -> tuple[float, float]:
        """Return the loss of a, less that of b on the same samples, and its standard error.

        The error of a alone is zero where no cluster differs from others.
        """
        gap, left = self.loss(a, rows), self._left_out(a, rows)
        if b is not None:
            gap, left = gap - self.loss(b, rows), left - self._left_out(b, rows)
        error = jackknife(left[np.isfinite(left)])  # a score may be undefined without some samples
        return gap, float("inf") if error is None else error

    def _left_out(self, answers: Answers, rows: Array) -> Array:
        """Return the loss without each cluster; of scores that are no sums, each of `BLOCKS`."""
        parts = self.parts(answers, rows)
        if parts is not None:
            sums = cluster_sums(parts, self.clusters(rows))
            return self.loss_of(sums.sum(axis=0) - sums)
        block = self._blocks(rows, BLOCKS)
        places = [np.flatnonzero(block != b) for b in np.unique(block)]
        return np.array([self.loss(answers.at(p), rows[p]) for p in places])

    def pseudo_losses(self, answers: Answers, rows: Array) -> Array:
        """Return numbers whose mean is the loss, one for every cluster of samples.

        G times the loss less G - 1 times the loss without the cluster: with them a choice can be
        repeated in any bag of clusters.
        """
        left, loss = self._left_out(answers, rows), self.loss(answers, rows)
        pseudo = len(left) * loss - (len(left) - 1) * left
        return np.where(np.isfinite(pseudo), pseudo, loss)

    def _blocks(self, rows: Array, count: int) -> Array:
        """Return a block number for each sample: whole clusters, targets spread evenly."""
        cluster = self.clusters(rows)
        G = int(cluster.max(initial=0)) + 1
        mean = np.bincount(cluster, self.line[rows], G) / np.bincount(cluster, minlength=G)
        block = np.empty(G, dtype=int)
        block[np.argsort(mean, kind="stable")] = np.arange(G) % max(2, min(count, G))
        return np.asarray(block[cluster])

    def column_scores(self, answers: Answers, rows: Array) -> dict[str, tuple[float, float, float]]:
        """Return the score of each column by its name, its error, and that of a constant answer."""
        scores = {}
        for k, name in enumerate(self.names):
            task, own = self.column(k), Answers(answers.f[:, [k]])
            constant, _ = task.constant(rows)
            value, base = (-task.loss(a, rows) for a in (own, constant))
            scores[name] = (value, task.error(own, rows), base)
        return scores

    # ---- thresholds, folds, samples --------------------------------------------------------------

    def best_threshold(self, f: Array, rows: Array) -> float:
        """Return the threshold with the best score, from held-out decision values (m, 1)."""
        line = f[:, 0]
        count = 99 if self.score.counted else 25  # all others are computed one by one
        levels = np.unique(np.quantile(line, np.linspace(0.01, 0.99, count)))
        yes, no = (self.parts(Answers(np.full_like(f, v)), rows) for v in (1.0, -1.0))
        if yes is not None and no is not None:
            # from all answers "no" to "yes" above the level: sums from the largest value down
            order = np.argsort(-line, kind="stable")
            gained = np.cumsum(np.vstack([np.zeros(yes.shape[1]), (yes - no)[order]]), axis=0)
            above = len(f) - np.searchsorted(line[order][::-1], levels, side="right")
            losses = self.loss_of(no.sum(axis=0) + gained[above])
        else:
            losses = np.array([self.loss(Answers(f - level), rows) for level in levels])
        seen = losses[np.isfinite(losses)]
        if not len(seen) or np.ptp(seen) <= 1e-12:
            return 0.0  # the score does not mind
        flat = np.flatnonzero(losses <= seen.min() + 1e-12)
        # the middle of the best plateau is the steadiest choice
        return float(levels[flat[len(flat) // 2]])

    def splits(self, rows: Array, folds: int) -> Folds:
        """Return (training, test) positions within `rows`: the user's folds, or so many."""
        if self.own_folds:
            return self._within(rows)
        return self.plain_splits(rows, self.cv or folds)

    def plain_splits(self, rows: Array, folds: int) -> Folds:
        """Return so many folds of whole groups and even classes, whatever `cv` says.

        A class with fewer samples than folds is in some of them only. Where rows have times, folds
        are periods, and the rows before each teach.
        """
        if self.periods is not None:
            inside = self.periods.splits(rows, self.groups, self.strata)
            if not inside:
                raise NoFolds(self._no_period(rows))
            return inside
        groups = None if self.groups is None else self.groups[rows]
        y = None if self.strata is None else self.strata[rows]
        options = {"shuffle": True, "random_state": self.seed}
        cv: Any
        if groups is not None:
            folds = min(folds, len(np.unique(groups)))
            if folds < 2:
                raise NoFolds("Expected at least two groups, got one. Leave groups out.")
            cv = GroupKFold(folds) if y is None else StratifiedGroupKFold(folds, **options)
        elif y is not None and np.bincount(y).max() >= 2:
            cv = StratifiedKFold(max(2, min(folds, int(np.bincount(y).max()))), **options)
        else:
            cv = KFold(max(2, min(folds, len(rows))), **options)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # a class with fewer members than folds
            splits = cv.split(np.zeros(len(rows)), y, groups)
            return [(train, test) for train, test in splits if len(test)]

    def _no_period(self, rows: Array) -> str:
        """Return why no period can be predicted from what came before."""
        known = self.periods
        if (
            known is not None
            and known.horizon is not None
            and replace(known, horizon=None).splits(rows, self.groups, self.strata)
        ):
            return (
                f"Expected a horizon that leaves a third of the {len(rows)} rows before the first "
                f"period, got {known.told(0)}. Shorten horizon or gap, or leave them out."
            )
        end = "no groups that are there all the time" if self.groups is not None else "more times"
        return (
            f"Expected periods with enough earlier rows to train on (of two classes at least), got "
            f"none in {len(rows)} rows. Pass {end}, or leave time_order out."
        )

    @cached_property
    def _given_splits(self) -> Folds:
        """The folds of the user's splitter, of all samples, asked for once."""
        return given_folds(self.cv, self.labels, self.groups)

    def _within(self, rows: Array) -> Folds:
        """Return the user's folds as far as they lie within some rows, as positions there."""
        place = np.full(self.n, -1)
        place[rows] = np.arange(len(rows))
        inside = []
        for train, test in self._given_splits:
            train, test = (part[part >= 0] for part in (place[train], place[test]))
            if len(train) > 1 and len(test):
                inside.append((train, test))
        if not inside:
            raise NoFolds(
                f"Expected folds with training and test samples, got "
                f"{counted(len(self._given_splits), 'fold')} of cv={abridged(self.cv)} with none "
                f"in the {len(rows)} rows in use. Use cv=5."
            )
        return inside

    @cached_property
    def counting(self) -> Array:
        """The samples that have a weight: rows of weight zero are dropped before anything else."""
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
        if self.strata is None:
            return np.sort(order[:size])
        chosen = []
        for code in np.unique(self.strata[order]):
            members = order[self.strata[order] == code]
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
        y = self.strata
        lost = y is not None and len(np.unique(y[rows])) < len(np.unique(y[order]))
        return None if taken < FEW_GROUPS or lost else np.sort(rows)

    def lesson(self, rows: Array, most: int) -> Array:
        """Return rows to learn from, three in five or so, of many so many; others may judge.

        Whole groups; where rows have times, those that came first.
        """
        part, size = replace(self, cv=None).at(rows), max(len(rows) * 3 // 5, 30)
        if self.periods is None:
            return np.asarray(rows[part.sample(min(size, most), salt=4)])
        early = rows[self.periods.early(rows, size)]
        return np.asarray(early[replace(self, cv=None).at(early).sample(most, salt=4)])

    def fresh(self, rows: Array, taught: Array) -> Array:
        """Return which rows may judge what others taught: of other groups, and later than all."""
        names = np.arange(self.n) if self.groups is None else self.groups
        fresh = ~np.isin(names[rows], names[taught])
        if self.periods is not None and len(taught):
            fresh &= self.periods.time[rows] > self.periods.time[taught].max()
        return np.asarray(fresh)

    def at(self, rows: Array) -> Task:
        """Return the task of some of the samples, with the folds of the user cut to them."""
        return replace(
            self,
            y=self.y[rows],
            w=self.weight_of(rows),
            cv=self._within(rows) if self.own_folds else self.cv,
            groups=None if self.groups is None else self.groups[rows],
            periods=None if self.periods is None else self.periods.at(rows),
        )


class NoFolds(ValueError):
    """There are no folds within some rows: of a splitter, of groups, or of periods."""


def last_step(model: Any) -> Any:
    """Return the machine at the end of a pipeline, and any other model as it is."""
    return model[-1] if hasattr(model, "steps") else model


def as_machine(f: Array) -> Array:
    """Return decision values (m, q) as machines have them: one column has no second axis."""
    return f[:, 0] if f.shape[1] == 1 else f


def cluster_sums(parts: Array, cluster: Array) -> Array:
    """Return the sums of (m, s) parts over each cluster."""
    G = int(cluster.max(initial=0)) + 1
    return np.column_stack([np.bincount(cluster, column, G) for column in parts.T])
