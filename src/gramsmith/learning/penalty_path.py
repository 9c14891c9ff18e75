"""A path of feature selections: the diagonal map for a sequence of L1 penalties."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from gramsmith.arguments import abridged, as_numbers
from gramsmith.learning.objective import Array, KernelObjective, get_objective, held_out_measure
from gramsmith.learning.samples import hold_out
from gramsmith.learning.start import deviations
from gramsmith.learning.transform import TransformLearner
from gramsmith.solvers import warn_unless_converged
from gramsmith.targets import make_target

NEAR = 0.01  # of the best held-out measure, up to which fewer features are preferred
# A penalty that removes every feature, or shrinks all, is the end of the path and no fault.
END_OF_PATH = ("empty", "degenerate")


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
        The measure on the training samples.
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
    X : array or CSR matrix of shape (n, p)
    y : array of shape (n,) or (n, q)
        Labels or values.
    penalties : array of shape (m,), optional
        Default: twelve, spaced by a factor of two, up to where most features are out. In the
        units of `TransformLearner`.
    learner : TransformLearner, optional
        Its options are used, all of what is learned is kept; default
        ``TransformLearner(measure="cka", random_state=0)``.

    Returns
    -------
    PenaltyPath
        After an interrupt (Ctrl-C) the part that is done.

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
    if not isinstance(learner, TransformLearner | None):
        raise TypeError(f"Expected a TransformLearner, got {abridged(learner)}.")
    given = np.empty(0) if penalties is None else _checked(penalties)
    base = TransformLearner(measure="cka", random_state=0) if learner is None else clone(learner)
    if base.solver == "outer_product":
        raise ValueError(
            'Expected solver="lbfgs" or "ascent", got "outer_product", which takes no penalty. '
            'Use solver="lbfgs".'
        )
    X, y = base._check_samples(X, y)
    base.set_params(structure="diagonal", rank=None, keep=1.0)
    base.set_params(early_stopping=False, batch_size=None)
    target = make_target(y, base.target, task=base.task)
    rng = check_random_state(base.random_state)
    split = hold_out(target, base.validation_fraction, rng)
    learn, held = (np.arange(X.shape[0]),) * 2 if split is None else split
    measure = held_out_measure(get_objective(base.measure, base.C))
    watched = KernelObjective(measure, X[held], target.take(held), engine=base._engine())
    free = base.set_params(l1=0.0).fit(X[learn], y[learn])
    start = free.kernel_.map.S
    if penalties is None:
        # Around where the price of all weights outweighs the whole measure.
        size = float(start @ deviations(X[learn])) or 1.0  # no weight is left without any price
        given = max(abs(free.value_), 1e-3) / size * 2.0 ** np.arange(-10.0, 2.0)
    rows: list[tuple[Array, float, float]] = []  # weights, value, score
    for penalty in given:
        if not start.any():
            rows.append((start, *rows[-1][1:]) if rows else (start, np.nan, np.nan))
            continue
        step = clone(base).set_params(l1=float(penalty), init=start)
        outcomes = step._learn(X[learn], y[learn])
        for outcome in outcomes:
            if outcome.status not in END_OF_PATH:
                warn_unless_converged(outcome, "penalty_path")
        start = step.kernel_.map.S
        rows.append((start, step.value_, watched.value(step.kernel_) if start.any() else np.nan))
        if outcomes[0].status == "interrupted":
            break
    weights, values, scores = (np.array(column) for column in zip(*rows, strict=True))
    oriented = watched.sign * scores
    if not np.isfinite(oriented).any():
        raise ValueError(
            f"Expected penalties that leave a feature, got {given[0]:.3g} as the smallest, which "
            "removes all. Use smaller ones, or None for the default."
        )
    best = np.nanmax(oriented)
    near = np.flatnonzero(oriented >= best - NEAR * abs(best))
    return PenaltyPath(given[: len(scores)], weights, values, scores, int(near[-1]))


def _checked(penalties: Any) -> Array:
    numbers = as_numbers(penalties)
    ascending = np.empty(0) if numbers is None else np.sort(np.atleast_1d(numbers), axis=-1)
    fine = ascending.ndim == 1 and len(ascending) and np.isfinite(ascending).all()
    if not fine or ascending[0] < 0:
        raise ValueError(
            f"Expected penalties >= 0, got {abridged(penalties)}. Use, for example, [0.01]."
        )
    return ascending
