r"""How much to learn: the amount that pays on rows that did not teach.

What a learner climbs is a number about its own rows, and the last of the climb rarely pays on
others. A *path* therefore leads from the kernel that the learner started from (amount 0) to the one
it climbed to (amount 1). Over a few folds the learner is run on the other rows, and each amount is
judged on the fold by the squared error of a ridge regression, whose regulariser (and the width of
the kernel, where it is free) is set by leave-one-out on the rows that taught. The smallest amount
within one standard error of the best, fold by fold and row by row the same rows, is taken.

Choosing the amount by cross-validation on the rows that taught the kernel does not work: all of
them have been seen.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, ClassVar, TypeVar

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    StratifiedGroupKFold,
    StratifiedKFold,
    train_test_split,
)
from sklearn.utils._param_validation import Interval, StrOptions

from gramsmith.arguments import abridged, as_numbers, counted
from gramsmith.learning.monitor import Stopped
from gramsmith.learning.objective import ALPHAS, responses
from gramsmith.learning.samples import Learner
from gramsmith.solvers import Outcome, RidgePath
from gramsmith.targets import Target, check_weights

Array = npt.NDArray[Any]

#: matrix(amount, width, rows, columns): the kernel at an amount of learning, its inputs times a
#: width, between rows of the samples; columns None are the rows again.
Matrix = Callable[[float, float, Array, Array | None], Array]

Found = TypeVar("Found", bound=Outcome)

ITERATIONS = 200
FEW_ITERATIONS = 10  # where the amount of learning is cross-fitted: thirty were no better
AMOUNTS = (0.0, 0.25, 0.5, 0.75, 1.0)
CAUTIOUS = 0.25  # the amount after an interrupt: in trials it did no harm to any criterion
QUARTER = "A quarter of what was learned is kept; fit again for the amount that pays."
FOLDS = 4
ROWS = 1000  # that a ridge regression judges with, and that an objective with a solve climbs
WIDTH = np.sqrt(2.0)  # step between the widths that are tried
FARTHEST = 8  # steps from the first width
WORTH = 1e-3  # relative gain that another width must bring: on noise all are alike


@dataclass(frozen=True)
class CrossFit:
    """What every amount of learning was worth on rows that did not teach.

    Parameters
    ----------
    amounts : array of shape (m,)
    losses : array of shape (m,)
        Mean squared error on the folds, or the share of mistakes.
    errors : array of shape (m,)
        Standard error of the difference to the best.
    """

    amounts: Array
    losses: Array
    errors: Array

    @property
    def amount(self) -> float:
        """The smallest amount within one standard error of the best."""
        near = self.losses - self.losses.min() <= self.errors
        if not near.any():
            raise ValueError(
                "Expected finite losses on held-out samples, got NaN or infinity. "
                "Scale the features and the target."
            )
        return float(self.amounts[np.flatnonzero(near)[0]])

    def curve(self) -> dict[str, Array]:
        """Return the numbers as a dict of arrays."""
        return {"amount": self.amounts, "loss": self.losses, "error": self.errors}


def cross_fit(
    learn: Callable[[Array], Matrix | None],
    target: Target,
    folds: list[tuple[Array, Array]],
    groups: Array | None = None,
    *,
    widths: bool = True,
    mistakes: bool = False,
    amounts: tuple[float, ...] = AMOUNTS,
    seed: int = 0,
    after: Callable[[int, int], None] = lambda done, total: None,
) -> CrossFit | None:
    """Return what each amount of learning is worth, or None where a fold teaches nothing.

    Parameters
    ----------
    learn : callable
        Rows -> what they teach; None if they teach nothing, for example one class alone.
    target : Target
    folds : list of (rows to learn from, rows to judge on)
    groups : array of shape (n,), optional
        Rows of one group count as one in the standard error.
    widths : bool
        Whether the width is chosen anew for every amount.
    mistakes : bool
        Whether classes are judged by the share of rows that the regression puts into another one.
        The squared error of many indicators falls with a better size of the values, which changes
        no class.
    amounts : tuple of float
        Ascending.
    seed : int
        Draws the rows that judge where there are too many.
    after : callable (folds done, folds in all)
    """
    Y, w = responses(target), target.w
    losses = np.zeros((len(amounts), len(w)))
    judged = np.zeros(len(w))
    steps = [0] * len(amounts)  # where the last fold found its widths is where the next begins
    for done, (train, test) in enumerate(folds, start=1):
        train, test = train[w[train] > 0], test[w[test] > 0]
        matrix = learn(train)
        if matrix is None:
            return None
        rows = subsample(target, train, ROWS, seed)
        test = subsample(target, test, 4 * ROWS, seed)
        for k, amount in enumerate(amounts):
            steps[k], ridge, alpha = choose_width(
                matrix, amount, rows, Y, w, steps[k] if widths else None
            )
            found = ridge.solve(alpha)
            K = matrix(amount, WIDTH ** steps[k], test, rows)
            values = K @ found.coef + found.intercept
            if mistakes and target.kind == "classes":
                losses[k, test] += classes_of(values, target) != target.codes[test]
            else:
                losses[k, test] += np.square(values - Y[test]).mean(axis=1)
        judged[test] += 1.0
        after(done, len(folds))
    seen = judged > 0
    losses = losses[:, seen] / judged[seen]
    means = np.average(losses, axis=1, weights=w[seen])
    differences = losses - losses[means.argmin()]
    named = None if groups is None else np.unique(groups[seen], return_inverse=True)[1]
    errors = np.array([standard_error(d, w[seen], named) for d in differences])
    return CrossFit(np.array(amounts), means, errors)


def classes_of(values: Array, target: Target) -> Array:
    """Return the class that a regression of `responses` means, from 0."""
    if values.shape[1] > 1:
        return np.asarray((values + target.w @ target.V / target.n).argmax(axis=1))
    return np.asarray(values[:, 0] + target.w @ (2.0 * target.V[:, 1] - 1.0) / target.n > 0)


def choose_width(
    matrix: Matrix, amount: float, rows: Array, Y: Array, w: Array, step: int | None = 0
) -> tuple[int, RidgePath, float]:
    """Return the width of smallest leave-one-out error, its ridge regressions, and the regulariser.

    The error is followed downhill from `step`; None is a width that is not free. Widths are powers
    of `WIDTH`.
    """
    errors: dict[int, float] = {}
    best: tuple[float, int, RidgePath, float] | None = None

    def error(step: int) -> float:
        nonlocal best
        if step not in errors:
            ridge = RidgePath(
                matrix(amount, WIDTH**step, rows, None), Y[rows], sample_weight=w[rows]
            )
            alphas = max(float(ridge.eigenvalues.mean()), np.finfo(float).tiny) * ALPHAS
            found = ridge.loo_errors(alphas)
            k = int(np.argmin(found))
            errors[step] = float(found[k])
            if best is None or errors[step] < (1.0 - WORTH) * best[0]:
                best = errors[step], step, ridge, float(alphas[k])
        return errors[step]

    here, free = error(step or 0), step is not None
    step = step or 0
    while free:
        wider, narrower = error(step - 1), error(step + 1)
        if min(wider, narrower) >= (1.0 - WORTH) * here or abs(step) >= FARTHEST:
            break
        step += -1 if wider <= narrower else 1
        here = errors[step]
    assert best is not None  # noqa: S101 - for the type checker: the first error set it
    return best[1:]


def standard_error(differences: Array, w: Array, groups: Array | None = None) -> float:
    """Return the standard error of the weighted mean of differences, of groups where given."""
    residuals = w * (differences - np.average(differences, weights=w))
    if groups is not None:
        residuals = np.bincount(groups, weights=residuals)
    m = len(residuals)
    return float(np.sqrt(m / max(m - 1, 1) * (residuals @ residuals)) / w.sum())


RENAMED = {"shrinkage": "keep", "shrinkage_": "keep_", "shrinkage_curve_": "keep_curve_"}


def _renamed(state: dict[str, Any]) -> dict[str, Any]:
    """Return the state of a file of format 2, in which `keep` was called shrinkage, as now."""
    params, fitted = (
        {RENAMED.get(name, name): value for name, value in state[part].items()}
        for part in ("params", "fitted")
    )
    return {**state, "params": params, "fitted": fitted}


class CrossFitted(Learner):
    """A learner with a path of kernels, of which the amount that pays is taken.

    Subclasses have the parameters `keep`, `cv` and `verbose`.
    """

    keep: float | str
    cv: Any
    verbose: int
    max_iter: int | None

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **Learner._parameter_constraints,
        "keep": [Interval(Real, 0, 1, closed="both"), StrOptions({"cross_fit"})],
        "cv": ["cv_object"],
    }
    _stored: ClassVar[dict[str, str]] = {"keep_": "real", "keep_curve_": "value?"}
    _stored_upgrades: ClassVar[dict[int, Any]] = {2: _renamed}

    @property
    def _crossing(self) -> bool:
        return isinstance(self.keep, str)

    @property
    def _most_iterations(self) -> int:
        if self.max_iter is None:
            return FEW_ITERATIONS if self._crossing else ITERATIONS
        return int(self.max_iter)

    def _as_intended(self, outcome: Found) -> Found:
        """Return how a search ended; that it stopped early may have been the intention."""
        if outcome.status == "max_iter" and self.max_iter is None and self._crossing:
            return replace(outcome, status="converged", advice="")
        return outcome

    def _splits(self, y: Any, sample_weight: Any, groups: Any) -> Any:
        """Return `cv`; a splitter as its folds, in the numbers of the rows with a weight.

        It is to see the rows as they were given, of which those without a weight are dropped.
        """
        if not self._crossing or self.cv is None:
            return None
        if isinstance(self.cv, Integral):
            if self.cv < 2:
                raise ValueError(
                    f"Expected cv >= 2 folds, "
                    f"got {abridged(self.cv)}. Use None for the default of {FOLDS}."
                )
            return self.cv
        y = np.asarray(y)
        kept = check_weights(sample_weight, len(y)) > 0
        number = np.cumsum(kept) - 1
        folds = given_folds(self.cv, y, groups)
        pairs = (tuple(number[rows[kept[rows]]] for rows in pair) for pair in folds)
        found = [pair for pair in pairs if len(pair[0]) and len(pair[1])]
        if folds and not found:
            raise ValueError(
                f"Expected rows with a weight on both sides of a fold, got none in "
                f"{counted(len(folds), 'fold')} of cv. Use a number, or leave such rows out."
            )
        if not found:
            raise ValueError(
                f"Expected cv with at least one fold, got none from {abridged(self.cv)}. Use a "
                "number, a splitter, or pairs of rows to learn from and rows to judge on."
            )
        return found

    def _choose_amount(
        self,
        learn: Callable[[Array], Matrix | None],
        y: Any,
        target: Target,
        groups: Array | None,
        seed: int,
        widths: bool = True,
        *,
        cv: Any,
        mistakes: bool = False,
    ) -> float:
        """Set and return the amount of learning; `keep_curve_` tells what each was worth."""
        self.__dict__.pop("keep_curve_", None)  # of an earlier fit
        if not self._crossing:
            self.keep_ = float(self.keep)
            return self.keep_
        name = type(self).__name__

        def after(done: int, total: int) -> None:
            if self.verbose:
                print(f"[{name}] fold {done} of {total}")

        folds = make_folds(cv, y, target, groups, seed)
        found = None
        if folds:
            options: dict[str, Any] = {"widths": widths, "mistakes": mistakes}
            found = cross_fit(learn, target, folds, groups, seed=seed, after=after, **options)
        if found is None:
            warnings.warn(
                f"{name}: expected rows enough to learn from a part of them and judge on the rest, "
                f"got {len(target.w)}; the kernel it started from is kept. Give more rows, or the "
                "amount of learning, keep=1.0 for all of it.",
                UserWarning,
                stacklevel=4,
            )
            self.keep_ = 0.0
            return 0.0
        self.keep_curve_ = found.curve()
        self.keep_ = found.amount
        return self.keep_

    def _amount_or_quarter(self, *arguments: Any, **options: Any) -> float:
        """Return the amount as `_choose_amount` does, or a quarter after an interrupt."""
        try:
            return self._choose_amount(*arguments, **options)
        except KeyboardInterrupt as interrupt:
            self.keep_ = CAUTIOUS
            if not isinstance(interrupt, Stopped):
                warnings.warn(
                    f"{type(self).__name__}: interrupted. {QUARTER}",
                    ConvergenceWarning,
                    stacklevel=3,
                )
            return CAUTIOUS


def given_folds(cv: Any, y: Any, groups: Any = None) -> list[tuple[Array, Array]]:
    """Return the folds of a splitter, or given ones, as numbers of rows that are there.

    Parameters
    ----------
    cv : splitter, or iterable of (rows to learn from, rows to judge on)
        Rows are whole numbers, or truth values for all of them.
    y : array of shape (n,)
    groups : array of shape (n,), optional

    Returns
    -------
    list of (int array, int array)
    """
    n, found = len(y), []
    if isinstance(cv, np.ndarray) and not cv.ndim:  # it looks as if one could go through it
        raise ValueError(f"Expected cv to be a number, a splitter or folds, got {abridged(cv)}.")
    pairs = cv.split(np.zeros(n), y, groups) if hasattr(cv, "split") else cv
    for number, pair in enumerate(pairs):
        if not isinstance(pair, tuple | list | np.ndarray) or len(pair) != 2:
            raise ValueError(
                f"Expected two arrays of rows in every fold of cv, got {abridged(pair)} in fold "
                f"{number}. Give pairs (rows to learn from, rows to judge on)."
            )
        train, test = (_rows_of(part, n, number) for part in pair)
        if not (len(train) and len(test)):
            raise ValueError(
                f"Expected rows to learn from and rows to judge on in every fold of cv, got "
                f"{len(train)} and {len(test)} in fold {number}. Leave it out."
            )
        if len(both := np.intersect1d(train, test)):
            raise ValueError(
                f"Expected folds of cv that judge on rows they did not learn from, got row "
                f"{both[0]} on both sides of fold {number}. Take it out of one of them."
            )
        found.append((train, test))
    return found


def _rows_of(part: Any, n: int, fold: int) -> Array:
    numbers = as_numbers(part)
    rows = np.empty((0, 0)) if numbers is None else np.asarray(part)
    if rows.dtype == bool and rows.shape == (n,):
        return np.flatnonzero(rows)
    if rows.shape == (0,):
        return np.empty(0, dtype=np.intp)
    if rows.ndim != 1 or rows.dtype.kind not in "iu" or not ((-n <= rows) & (rows < n)).all():
        raise ValueError(
            f"Expected numbers of rows from 0 to {n - 1} in the folds of cv, got {abridged(part)} "
            f"in fold {fold}. Give whole numbers, or True and False for each row."
        )
    rows = rows.astype(np.intp)
    return np.where(rows < 0, rows + n, rows)


def make_folds(
    cv: Any, y: Any, target: Target, groups: Array | None, seed: int
) -> list[tuple[Array, Array]]:
    """Return the folds: a splitter's own, or a few that keep classes even and groups together."""
    n = len(target.w)
    classes = target.kind == "classes"
    codes = target.codes if classes else np.zeros(n, dtype=int)
    if cv is not None and not isinstance(cv, Integral):
        return given_folds(cv, y, groups)
    k = FOLDS if cv is None else int(cv)
    if groups is not None:
        k = min(k, len(np.unique(groups)))
        if k < 2:
            return []
        made: Any = StratifiedGroupKFold(k, shuffle=True, random_state=seed)
        if not classes or np.bincount(codes).max() < k:
            made = GroupKFold(k)
    elif classes and np.bincount(codes).min() >= k:
        made = StratifiedKFold(k, shuffle=True, random_state=seed)
    else:
        k = min(k, n)
        made = KFold(k, shuffle=True, random_state=seed)
    return list(made.split(np.zeros(n), codes, groups))


def subsample(target: Target, rows: Array, size: int, seed: int) -> Array:
    """Return at most `size` of the rows, drawn so that every class keeps its share."""
    if len(rows) <= size:
        return rows
    codes = target.codes[rows] if target.kind == "classes" else None
    if codes is not None and np.bincount(codes)[np.unique(codes)].min() < 2:
        codes = None
    if codes is not None and len(np.unique(codes)) > min(size, len(rows) - size):
        codes = None
    chosen, _ = train_test_split(rows, train_size=size, random_state=seed, stratify=codes)
    return np.sort(chosen)
