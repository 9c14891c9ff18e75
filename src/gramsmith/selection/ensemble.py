"""Ensemble: kernels that do well together are averaged instead of one being picked.

Every kernel of the short list has a held-out record of the same samples. The weights of the average
minimise the squared error of the averaged record, none below zero, summing to one (stacking;
Wolpert, 1992; Breiman, 1996), drawn a little towards equal ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, MultiOutputMixin, RegressorMixin, clone
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from gramsmith.arguments import abridged
from gramsmith.machines.calibration import CalibratedScores
from gramsmith.machines.intervals import PredictionIntervals
from gramsmith.selection import sizes
from gramsmith.selection.held_out import FAR, HeldOut, Scored, score
from gramsmith.selection.labels import LabelsClassifier
from gramsmith.selection.task import Task
from gramsmith.solvers import solve_nonnegative

Array = npt.NDArray[Any]

LEAST = 0.05  # weight below which a kernel is not worth its time
TOWARDS_EQUAL = 0.01  # pull towards equal weights, in units of the mean square of the records
RIGID = 1e3  # price of weights that do not sum to one, in the same units


@dataclass(frozen=True, eq=False)
class Average:
    """Candidates that are averaged, by their position, the heaviest first."""

    weights: dict[int, float]  # sum to one
    result: Scored  # of the averaged held-out record

    @property
    def members(self) -> tuple[int, ...]:
        """The candidates."""
        return tuple(self.weights)


def average(results: Mapping[int, Scored], task: Task, best: int) -> Average | None:
    """Return the average of the candidates that have a record, or None if one is as good.

    Candidates whose predictions go far beyond the targets take part only if those of the best do.
    An average that is worse than the best alone, by more than two errors, is none.
    """
    first = results[best]
    usable = {
        i: result
        for i, result in results.items()
        if mixes(result, task, first.record.rows) and result.reach <= max(FAR, first.reach)
    }
    if len(usable) < 2:
        return None
    values = [result.record.values[result.best] for result in usable.values()]
    shares = stacked(values, task, first.record.rows)
    weights = {i: float(w) for i, w in zip(usable, shares, strict=True) if w > 0}
    weights = dict(sorted(weights.items(), key=lambda item: -item[1]))
    if len(weights) < 2:
        return None
    record = mixed_record([usable[i] for i in weights], list(weights.values()))
    found = Average(weights, score(record, task))
    return None if found.result.loss > first.loss + 2.0 * first.error else found


def mixes(result: Scored, task: Task, rows: Array) -> bool:
    """Return whether a record may be part of an average of these rows.

    Ridge predicts the codes of the classes; decision values of a support vector machine have a
    scale of their own, and would be weighted by it.
    """
    of_codes = task.classes is None or result.record.machine != "svc"
    return of_codes and np.array_equal(result.record.rows, rows)


def stacked(values: Sequence[Array], task: Task, rows: Array, counts: Any = 1.0) -> Array:
    """Return the weights of records in their average, most of them zero.

    Parameters
    ----------
    values : list of arrays of shape (m,) or (m, C)
        Held-out decision values or predictions of the samples `rows`.
    task : Task
    rows : int array of shape (m,)
    counts : float or array of shape (m,)
        How often each sample counts, in a bag.
    """
    w = task.weights[rows] * counts
    Y = task.codes[rows]
    centre = np.average(Y, axis=0, weights=w)
    target = (Y - centre).ravel()
    A = np.column_stack([(f.reshape(len(rows), -1) - centre).ravel() for f in values])
    w = np.repeat(w, Y.shape[1])
    M, a = A.T @ (w[:, None] * A), A.T @ (w * target)
    chosen = np.arange(len(values))
    found = _on_simplex(M, a)
    for _ in range(2):  # once more without those that are not worth their time
        order = np.argsort(-found, kind="stable")[: sizes.MEMBERS]
        kept = np.sort(order[found[order] >= LEAST])
        if len(kept) == len(found):
            break
        chosen = chosen[kept]
        M, a = M[np.ix_(kept, kept)], a[kept]
        found = _on_simplex(M, a)
    weights = np.zeros(len(values))
    weights[chosen] = np.round(found, 2)  # whole per cents, whatever the last digits say
    return np.asarray(weights / weights.sum())


def _on_simplex(M: Array, a: Array) -> Array:
    """Return v >= 0 with sum one that minimises v'Mv - 2a'v, and a pull towards equal ones."""
    k, unit = len(a), float(np.trace(M)) / len(a) or 1.0
    pull, rigid = TOWARDS_EQUAL * unit, RIGID * unit
    v = solve_nonnegative(M + pull * np.eye(k) + rigid * np.ones((k, k)), a + pull / k + rigid).v
    return np.asarray(v / v.sum()) if v.sum() > 0 else np.full(k, 1.0 / k)


def mixed_record(members: Sequence[Scored], weights: Sequence[float]) -> HeldOut:
    """Return the held-out record of an average."""
    values = sum(
        w * member.record.values[member.best] for w, member in zip(weights, members, strict=True)
    )
    return replace(
        members[0].record,
        machine="average",
        settings=np.array([np.nan]),
        values=np.asarray(values)[None],
        outermost=None,
    )


class AveragedMachines(BaseEstimator):
    """What averages of classifiers and of regressors share.

    Parameters
    ----------
    machines : list of estimators
        Machines or pipelines that end with one.
    weights : array of shape (n_machines,), optional
        Their weights; default equal ones.
    """

    _stored: ClassVar[dict[str, str]] = {"machines_": "list model", "weights_": "positive m"}
    _stored_parameters: ClassVar[dict[str, str]] = {
        "machines": "list model",
        "weights": "positive m | list number | none",
    }

    machines_: list[Any]
    weights_: Array

    def __init__(self, machines: Any, weights: Any = None) -> None:
        self.machines = machines
        self.weights = weights

    @classmethod
    def of(cls, machines: Sequence[Any], weights: Sequence[float], **options: Any) -> Self:
        """Return the average of machines that are fitted already.

        Parameters
        ----------
        machines : list of fitted estimators
        weights : list of float
        **options
            Other parameters.
        """
        made = cls([clone(machine) for machine in machines], np.asarray(weights), **options)
        return made._take(list(machines))

    def _take(self, machines: list[Any]) -> Self:
        n = len(machines)
        weights = np.full(n, 1.0 / n) if self.weights is None else np.asarray(self.weights, float)
        if weights.shape != (n,) or not np.isfinite(weights).all() or weights.min() <= 0:
            raise ValueError(
                f"{type(self).__name__}: expected {n} weights above zero, "
                f"got {abridged(self.weights)}. "
                "Leave machines without weight out."
            )
        self.machines_, self.weights_ = machines, weights / weights.sum()
        for name in ("n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)
            if hasattr(machines[0], name):
                setattr(self, name, getattr(machines[0], name))
        return self

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit all machines to the same samples.

        Parameters
        ----------
        X : samples as the machines take them
        y : array of shape (n,) or (n, n_outputs)
            Labels or values.
        sample_weight : array of shape (n,), optional
            Weights of the samples.

        Returns
        -------
        the average
        """
        if not self.machines:
            raise ValueError(f"{type(self).__name__}: expected at least one machine, got none.")
        self._forget()
        fitted = []
        for machine in self.machines:
            options = {}
            if sample_weight is not None:
                last = f"{machine.steps[-1][0]}__" if isinstance(machine, Pipeline) else ""
                options = {f"{last}sample_weight": sample_weight}
            fitted.append(clone(machine).fit(X, y, **options))
        return self._take(fitted)

    def _forget(self) -> None:
        """Forget what was calibrated for an earlier fit."""

    def _mean(self, X: Any, method: str) -> Array:
        check_is_fitted(self, "machines_")
        parts = [
            w * np.asarray(getattr(machine, method)(X), dtype=float)
            for w, machine in zip(self.weights_, self.machines_, strict=True)
        ]
        return np.asarray(sum(parts[1:], parts[0]))

    def _check_stored(self) -> None:
        if len(self.machines_) != len(self.weights_) or not len(self.weights_):
            raise ValueError("Expected as many weights as machines.")


class AveragedClassifier(CalibratedScores, ClassifierMixin, AveragedMachines):
    r"""The weighted mean of the decision values of several classifiers.

    .. math:: f(x) = \sum_k w_k f_k(x) - t

    Parameters
    ----------
    machines : list of estimators
        Classifiers whose decision values have one unit, such as `KernelRidgeClassifier`, or
        pipelines that end with one.
    weights : array of shape (n_machines,), optional
        Their weights; default equal ones.
    threshold : float, default=0.0
        With two classes, the mean above which the second is predicted.

    Attributes
    ----------
    machines_ : list of estimators
        The fitted classifiers.
    weights_ : array of shape (n_machines,)
        Their weights, which sum to one.
    classes_ : array of shape (n_classes,)
        The labels.
    calibration_slope_, calibration_offsets_ : float, array of shape (n_classes,)
        Of the probabilities; after `calibrate`, which `rank_kernels` calls.

    Examples
    --------
    >>> import gramsmith as gs
    >>> from gramsmith.selection import AveragedClassifier
    >>> machines = [gs.KernelRidgeClassifier(gs.Gaussian(s)) for s in (0.5, 2.0)]
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], ["a", "a", "b", "b"]
    >>> AveragedClassifier(machines).fit(X, y).predict([[0.2], [2.6]])
    array(['a', 'b'], dtype='<U1')
    """

    _stored: ClassVar[dict[str, str]] = {"classes_": "labels c"}
    _stored_parameters: ClassVar[dict[str, str]] = {"threshold": "number"}

    classes_: Array

    def __init__(self, machines: Any, weights: Any = None, *, threshold: float = 0.0) -> None:
        super().__init__(machines, weights)
        self.threshold = threshold

    def _take(self, machines: list[Any]) -> Self:
        super()._take(machines)
        self.classes_ = machines[0].classes_
        if any(not np.array_equal(machine.classes_, self.classes_) for machine in machines):
            raise ValueError("Expected machines of the same classes, got others.")
        if len(self.classes_) > 2 and self.threshold != 0:
            raise ValueError(
                f"AveragedClassifier: expected threshold 0 for {len(self.classes_)} classes, got "
                f"{self.threshold!r}. One number cannot separate more than two classes."
            )
        return self

    def _forget(self) -> None:
        self._forget_calibration()

    def _check_stored(self) -> None:
        super()._check_stored()
        self._take(self.machines_)

    def decision_function(self, X: Any) -> Array:
        """Return the mean decision values of new samples.

        Parameters
        ----------
        X : like in fit

        Returns
        -------
        array of shape (n,) for two classes, else (n, n_classes)
            Of two classes the second is predicted where the value is positive.
        """
        return self._mean(X, "decision_function") - self.threshold

    def predict(self, X: Any) -> Array:
        """Return the class of new samples.

        Parameters
        ----------
        X : like in fit

        Returns
        -------
        array of shape (n,)
        """
        f = self.decision_function(X)
        code = (f > 0).astype(np.intp) if f.ndim == 1 else np.argmax(f, axis=1)
        return np.asarray(self.classes_[code])


class AveragedRegressor(PredictionIntervals, RegressorMixin, MultiOutputMixin, AveragedMachines):
    r"""The weighted mean of the predictions of several regressors.

    .. math:: f(x) = \sum_k w_k f_k(x)

    Parameters
    ----------
    machines : list of estimators
        Regressors, or pipelines that end with one.
    weights : array of shape (n_machines,), optional
        Their weights; default equal ones.

    Attributes
    ----------
    machines_ : list of estimators
        The fitted regressors.
    weights_ : array of shape (n_machines,)
        Their weights, which sum to one.
    held_out_errors_ : array
        Of the prediction intervals; after `calibrate_intervals`, which `rank_kernels` calls.

    Examples
    --------
    >>> import gramsmith as gs
    >>> from gramsmith.selection import AveragedRegressor
    >>> machines = [gs.KernelRidgeRegressor(k, alpha=0.01) for k in (gs.Linear(), gs.Gaussian(3.0))]
    >>> model = AveragedRegressor(machines, [0.5, 0.5]).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0])
    >>> model.predict([[1.0]]).round(2)
    array([1.])
    """

    def _forget(self) -> None:
        self._forget_errors()

    def predict(self, X: Any) -> Array:
        """Return the mean predictions for new samples.

        Parameters
        ----------
        X : like in fit

        Returns
        -------
        array of shape (n,) or (n, n_outputs)
        """
        return self._mean(X, "predict")


def first_machine(model: Any) -> Any:
    """Return the heaviest machine of an average, and any other model as it is."""
    model = model.model_ if isinstance(model, LabelsClassifier) else model
    return model.machines_[0] if isinstance(model, AveragedMachines) else model
