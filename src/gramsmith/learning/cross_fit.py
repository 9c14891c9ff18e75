r"""How much to keep: the amount of learning that pays on rows that did not teach.

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

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    PredefinedSplit,
    StratifiedGroupKFold,
    StratifiedKFold,
    train_test_split,
)

from gramsmith.arguments import abridged, as_numbers, counted
from gramsmith.gram.threads import dense_work
from gramsmith.learning.objective import ALPHAS, responses
from gramsmith.measures import Undefined
from gramsmith.solvers import RidgePath
from gramsmith.targets import Target

Array = npt.NDArray[Any]
Folds = list[tuple[Array, Array]]

#: matrix(amount, width, rows, columns): the kernel at an amount of learning, its inputs times a
#: width, between rows of the samples; columns None are the rows again.
Matrix = Callable[[float, float, Array, Array | None], Array]

AMOUNTS = (0.0, 0.25, 0.5, 0.75, 1.0)
# On eight sets of 100 rows maps that were learned with four ended at 15.1 % on new rows, with two
# at 16.8, with eight at 17.6 in twice the time.
FOLDS = 4
ROWS = 1000  # that a ridge regression judges with, and that an objective with a solve climbs
WIDTH = np.sqrt(2.0)  # step between the widths that are tried
FARTHEST = 8  # steps from the first width, which nobody needed on those sets: two ended alike
WORTH = 1e-3  # relative gain that another width must bring: on noise all are alike


@dataclass(frozen=True)
class CrossFit:
    """What every amount of learning was worth on rows that did not teach."""

    amounts: Array
    losses: Array  # mean squared error on the folds, or the share of mistakes
    errors: Array  # standard error of the difference to the best

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


def cross_fit(
    learn: Callable[[Array], Matrix],
    target: Target,
    folds: Folds,
    groups: Array | None = None,
    *,
    widths: bool = True,
    mistakes: bool = False,
    amounts: tuple[float, ...] = AMOUNTS,
    seed: int = 0,
) -> CrossFit | None:
    """Return what each of some ascending amounts is worth, or None where a fold teaches nothing.

    `learn` takes rows and raises `Undefined` where these teach nothing, one class alone for
    example; whatever else it raises is an error. With `widths` the width is chosen anew for every
    amount. `mistakes` judges classes by the share of rows that the regression puts into another
    one: the squared error of many indicators falls with a better size of the values, which changes
    no class. Rows of one group count as one in the standard error.
    """
    if not folds:
        return None
    Y, w = responses(target), target.w
    losses = np.zeros((len(amounts), len(w)))
    judged = np.zeros(len(w))
    steps = [0] * len(amounts)  # where the last fold found its widths is where the next begins
    for train, test in folds:
        try:
            matrix = learn(train)
        except Undefined:
            return None
        rows = subsample(target, train, ROWS, seed)
        test = subsample(target, test, 4 * ROWS, seed)
        for k, amount in enumerate(amounts):
            steps[k], ridge, alpha = choose_width(
                matrix, amount, rows, Y, w, steps[k] if widths else None
            )
            solution = ridge.solve(alpha)
            K = matrix(amount, WIDTH ** steps[k], test, rows)
            values = K @ solution.coef + solution.intercept
            if mistakes and target.kind == "classes":
                losses[k, test] += classes_of(values, target) != target.codes[test]
            else:
                losses[k, test] += np.square(values - Y[test]).mean(axis=1)
        judged[test] += 1.0
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
            K = matrix(amount, WIDTH**step, rows, None)
            ridge = RidgePath(K, Y[rows], sample_weight=w[rows])
            alphas = max(float(ridge.eigenvalues.mean()), np.finfo(float).tiny) * ALPHAS
            left_out = ridge.loo_errors(alphas)
            k = int(np.argmin(left_out))
            errors[step] = float(left_out[k])
            if best is None or errors[step] < (1.0 - WORTH) * best[0]:
                best = errors[step], step, ridge, float(alphas[k])
        return errors[step]

    with dense_work(len(rows)):
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


# ---- which rows ------------------------------------------------------------------------------


def make_folds(
    cv: Any,
    y: Any,
    target: Target,
    groups: Array | None,
    seed: int,
    rows: Array | None = None,
    n: int | None = None,
) -> Folds:
    """Return folds of the rows that count, in the numbers of these.

    A number, or None for `FOLDS`, makes folds in which classes have their share and groups stay
    together. A splitter divides the rows that count; folds that are given by row, and
    `PredefinedSplit`, number all `n` rows, of which `rows` count.
    """
    if cv is None or isinstance(cv, Integral):
        return _even_folds(FOLDS if cv is None else int(cv), target, groups, seed)
    if n is None or rows is None or len(rows) == n:
        return given_folds(cv, y, groups)
    if hasattr(cv, "split") and not isinstance(cv, PredefinedSplit):
        return given_folds(cv, y, groups)
    position = np.full(n, -1)
    position[rows] = np.arange(len(rows))
    folds = [
        tuple(position[side][position[side] >= 0] for side in fold)
        for fold in given_folds(cv, np.zeros(n))
    ]
    weighted = [(train, test) for train, test in folds if len(train) and len(test)]
    if not weighted:
        raise ValueError(
            f"Expected rows with a weight on both sides of a fold, got none in "
            f"{counted(len(folds), 'fold')} of cv. Use a number, or leave such rows out."
        )
    return weighted


def _even_folds(k: int, target: Target, groups: Array | None, seed: int) -> Folds:
    """Return k folds with classes in their shares and groups together, none for one group."""
    if k < 2:
        raise ValueError(f"Expected cv >= 2 folds, got {k}. Use None for the default of {FOLDS}.")
    n, classes = len(target.w), target.kind == "classes"
    codes = target.codes if classes else np.zeros(n, dtype=int)
    if groups is not None:
        k = min(k, len(np.unique(groups)))
        if k < 2:
            return []
        splitter: Any = StratifiedGroupKFold(k, shuffle=True, random_state=seed)
        if not classes or np.bincount(codes).max() < k:
            splitter = GroupKFold(k)
    elif classes and np.bincount(codes).min() >= k:
        splitter = StratifiedKFold(k, shuffle=True, random_state=seed)
    else:
        splitter = KFold(min(k, n), shuffle=True, random_state=seed)
    return list(splitter.split(np.zeros(n), codes, groups))


def given_folds(cv: Any, y: Any, groups: Any = None) -> Folds:
    """Return the folds of a splitter, or (rows to learn from, rows to judge on), as row numbers.

    Rows are whole numbers, or truth values for all of them.
    """
    n, folds = len(y), []
    if isinstance(cv, np.ndarray) and not cv.ndim:  # it looks as if one could go through it
        raise ValueError(f"Expected cv to be a number, a splitter or folds, got {abridged(cv)}.")
    # scikit-learn's check_cv unpacks pairs without looking: three parts end in Python's words
    pairs = cv.split(np.zeros(n), y, groups) if hasattr(cv, "split") else cv
    for number, pair in enumerate(pairs):
        if not isinstance(pair, tuple | list | np.ndarray) or len(pair) != 2:
            raise ValueError(
                f"Expected two arrays of rows in every fold of cv, got {abridged(pair)} in fold "
                f"{number}. Give pairs (rows to learn from, rows to judge on)."
            )
        train, test = (_rows_of(side, n, number) for side in pair)
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
        folds.append((train, test))
    if not folds:
        raise ValueError(
            f"Expected cv with at least one fold, got none from {abridged(cv)}. Use a number, a "
            "splitter, or pairs of rows to learn from and rows to judge on."
        )
    return folds


def _rows_of(side: Any, n: int, fold: int) -> Array:
    numbers = as_numbers(side)
    rows = np.arange(n)
    try:
        if numbers is not None and numbers.ndim == 1:
            return rows[np.asarray(side) if numbers.size else []]
    except IndexError:  # no whole numbers, no such row, or truth values for other rows
        pass
    raise ValueError(
        f"Expected numbers of rows from 0 to {n - 1} in the folds of cv, got {abridged(side)} "
        f"in fold {fold}. Give whole numbers, or True and False for each row."
    )


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
