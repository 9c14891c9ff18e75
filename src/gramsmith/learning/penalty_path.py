"""A path of feature selections: the diagonal map for a sequence of L1 penalties."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_X_y

from gramsmith.learning.criterion import make_objective
from gramsmith.learning.held_out import hold_out
from gramsmith.learning.objective import Array
from gramsmith.learning.transform import TransformLearner
from gramsmith.measures import MEASURES
from gramsmith.targets import make_target


@dataclass(frozen=True)
class PenaltyPath:
    """Diagonal maps along a sequence of penalties.

    Parameters
    ----------
    penalties : array of shape (m,)
        Ascending.
    weights : array of shape (m, p)
        The diagonal of S for every penalty; zero where a feature is out.
    values : array of shape (m,)
        The measure on the samples that were climbed.
    held_out : array of shape (m,)
        The measure on the held-out samples; equal to `values` where there were too few to hold out.
    best : int
        The largest penalty whose held-out measure is within one percent of the best.
    """

    penalties: Array
    weights: Array
    values: Array
    held_out: Array
    best: int

    @property
    def counts(self) -> Array:
        """The number of features left at every penalty."""
        return np.asarray(np.count_nonzero(self.weights, axis=1))


def penalty_path(
    X: Any, y: Any, penalties: Any = None, learner: TransformLearner | None = None
) -> PenaltyPath:
    """Learn diagonal maps for ascending L1 penalties, each from the one before.

    Parameters
    ----------
    X : array of shape (n, p)
    y : array of shape (n,) or (n, q)
        Labels or values.
    penalties : array of shape (m,), optional
        Default: twelve, spaced by a factor of two, up to where most features are out.
    learner : TransformLearner, optional
        Its options are used; default ``TransformLearner(random_state=0)``.

    Returns
    -------
    PenaltyPath

    Examples
    --------
    >>> import numpy as np
    >>> from gramsmith.learning import penalty_path
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 6))
    >>> path = penalty_path(X, X[:, 0] * X[:, 1] > 0)
    >>> np.flatnonzero(path.weights[path.best])
    array([0, 1])
    """
    X, y = check_X_y(X, y, dtype=(np.float64, np.float32), multi_output=True)
    base = clone(learner) if learner is not None else TransformLearner(random_state=0)
    base.set_params(structure="diagonal", early_stopping=False, batch_size=None)
    target = make_target(y, base.target, task=base.task)
    rng = check_random_state(base.random_state)
    split = hold_out(target, base.validation_fraction, rng)
    learn, held = (np.arange(len(X)),) * 2 if split is None else split
    measure = base.measure if base.measure in MEASURES else "cka"
    watch = make_objective(measure, X[held], target.take(held))
    free = base.set_params(l1=0.0).fit(X[learn], y[learn])
    if penalties is None:
        # Around where the penalty on all weights outweighs the whole measure.
        top = max(abs(free.value_), 1e-3) / float(np.diag(free.components_).sum())
        penalties = top * 2.0 ** np.arange(-10.0, 2.0)
    penalties = np.sort(np.asarray(penalties, dtype=np.float64))
    if not len(penalties) or penalties[0] < 0:
        raise ValueError(f"Expected penalties >= 0, got {penalties[:1]!r}. Use, for example, 0.01.")
    start = np.diag(free.components_).copy()
    weights, values, scores = [], [], []
    for penalty in penalties:
        if start.any():
            step = clone(base).set_params(l1=float(penalty), init=start)
            with warnings.catch_warnings():
                # A penalty that removes every feature, or shrinks all, is the end of the path.
                warnings.filterwarnings("ignore", ".*(the penalty|degenerate)", ConvergenceWarning)
                step.fit(X[learn], y[learn])
            start, value = np.diag(step.components_).copy(), step.value_
            score = watch.value(step.kernel_) if start.any() else np.nan
        weights.append(start)
        values.append(value)
        scores.append(score)
    oriented = watch.sign * np.array(scores)
    best = np.nanmax(oriented)
    near = np.flatnonzero(oriented >= best - 0.01 * abs(best))
    return PenaltyPath(
        penalties, np.array(weights), np.array(values), np.array(scores), int(near[-1])
    )
