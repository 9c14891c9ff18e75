"""Averages: the weighted mean of what several machines say."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import field
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin, clone
from sklearn.pipeline import Pipeline
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from gramsmith.arguments import abridged
from gramsmith.machines.base import DecisionClassifier
from gramsmith.machines.calibration import CalibratedScores
from gramsmith.machines.explanation import RowExplanation, explain, outside
from gramsmith.machines.intervals import PredictionIntervals
from gramsmith.machines.labels import LabelsClassifier, take_inputs
from gramsmith.parameters import forget_optional, with_parameters

Array = npt.NDArray[Any]


def _known(method: str) -> Any:
    return lambda average: hasattr(average.machines_[0], method)


@with_parameters
class AveragedMachines(BaseEstimator):
    """What averages of classifiers and of regressors share.

    Parameters
    ----------
    machines : list of estimators
        Machines, or pipelines that end with one; classifiers with decision values of one unit.
    weights : array of shape (n_machines,), optional
        Their weights; default equal ones.

    Attributes
    ----------
    machines_ : list of estimators
        The fitted machines.
    weights_ : array of shape (n_machines,)
        Their weights, which sum to one.
    """

    _stored: ClassVar[dict[str, str]] = {"machines_": "list model", "weights_": "positive m"}
    _stored_parameters: ClassVar[dict[str, str]] = {
        "machines": "list model",
        "weights": "positive m | list number | none",
    }

    machines: Any = field(kw_only=False)
    weights: Any = field(default=None, kw_only=False)

    @classmethod
    def of(cls, machines: Sequence[Any], weights: Sequence[float], **options: Any) -> Self:
        """Return the average of machines that are fitted already."""
        made = cls([clone(machine) for machine in machines], np.asarray(weights), **options)
        return made._take(list(machines))

    def _take(self, machines: list[Any]) -> Self:
        n = len(machines)
        weights = np.full(n, 1.0 / n) if self.weights is None else np.asarray(self.weights, float)
        if weights.shape != (n,) or not np.isfinite(weights).all() or weights.min() <= 0:
            raise ValueError(
                f"{type(self).__name__}: expected {n} weights above zero, "
                f"got {abridged(self.weights)}. "
                "Leave estimators without weight out."
            )
        self.machines_, self.weights_ = machines, weights / weights.sum()
        take_inputs(self, machines[0])
        return self

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit all machines to the same samples, with `sample_weight` where it is given."""
        if not self.machines:
            raise ValueError(f"{type(self).__name__}: expected at least one estimator, got none.")
        forget_optional(self)
        fitted = []
        for machine in self.machines:
            options = {}
            if sample_weight is not None:
                last = f"{machine.steps[-1][0]}__" if isinstance(machine, Pipeline) else ""
                options = {f"{last}sample_weight": sample_weight}
            fitted.append(clone(machine).fit(X, y, **options))
        return self._take(fitted)

    def _mean(self, X: Any, method: str) -> Array:
        check_is_fitted(self, "machines_")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            parts = [
                w * np.asarray(getattr(machine, method)(X), dtype=float)
                for w, machine in zip(self.weights_, self.machines_, strict=True)
            ]
        for message, category in {(str(said.message), said.category): None for said in caught}:
            warnings.warn(message, category, stacklevel=3)  # what several machines say is said once
        return np.asarray(sum(parts[1:], parts[0]))

    @available_if(_known("novelty"))  # type: ignore[untyped-decorator]
    def novelty(self, X: Any) -> Array:
        """Return how unlike the training samples new ones are to the heaviest machine."""
        return np.asarray(self.machines_[0].novelty(X))

    @available_if(_known("novelty"))  # type: ignore[untyped-decorator]
    def columns_outside(self, X: Any) -> list[list[str]]:
        """Return for each row the names of the columns that are outside their training range."""
        return outside(self.machines_[0], X)

    @available_if(_known("explain_row"))  # type: ignore[untyped-decorator]
    def explain_row(self, x: Any, of: Any = None, rows: int = 5) -> RowExplanation:
        """Return what the answer for one row rests on: training rows, and columns."""
        return explain(self, x, of, rows)

    def _check_stored(self) -> None:
        if len(self.machines_) != len(self.weights_) or not len(self.weights_):
            raise ValueError("Expected as many weights as estimators.")


@with_parameters
class AveragedClassifier(CalibratedScores, DecisionClassifier, AveragedMachines):
    r"""The weighted mean of the decision values of several classifiers.

    .. math:: f(x) = \sum_k w_k f_k(x) - t

    Parameters
    ----------
    threshold : float, default=0.0
        With two classes, the mean above which the second is predicted.

    Examples
    --------
    >>> import gramsmith as gs
    >>> from gramsmith.selection import AveragedClassifier
    >>> machines = [gs.KernelRidgeClassifier(gs.Gaussian(s)) for s in (0.5, 2.0)]
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], ["a", "a", "b", "b"]
    >>> AveragedClassifier(machines).fit(X, y).predict([[0.2], [2.6]])
    array(['a', 'b'], dtype='<U1')
    """

    _stored_parameters: ClassVar[dict[str, str]] = {"threshold": "number"}

    threshold: float = 0.0

    def _take(self, machines: list[Any]) -> Self:
        super()._take(machines)
        self.classes_ = machines[0].classes_
        if any(not np.array_equal(machine.classes_, self.classes_) for machine in machines):
            raise ValueError("Expected estimators of the same classes, got others.")
        self._check_threshold(self.threshold)
        return self

    def _check_stored(self) -> None:
        super()._check_stored()
        self._take(self.machines_)

    def decision_function(self, X: Any) -> Array:
        return self._mean(X, "decision_function") - self.threshold


@with_parameters
class AveragedRegressor(PredictionIntervals, RegressorMixin, MultiOutputMixin, AveragedMachines):
    r"""The weighted mean of the predictions of several regressors.

    .. math:: f(x) = \sum_k w_k f_k(x)

    Attributes
    ----------
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

    def predict(self, X: Any) -> Array:
        """Return the mean predictions for new samples, (n,) or (n, n_outputs)."""
        return self._mean(X, "predict")

    def _error_scales(self, X: Any) -> Array | None:
        """Return what the one machine says that has learned the size of the errors of the mean."""
        for model in self.machines_:
            steps = [*model] if isinstance(model, Pipeline) else [model]
            if hasattr(steps[-1], "scale_coefficients_"):
                for step in steps[:-1]:
                    X = step.transform(X)
                return np.asarray(steps[-1]._error_scales(X))
        return None


def first_machine(model: Any) -> Any:
    """Return the heaviest machine of an average, and any other model as it is."""
    model = model.model_ if isinstance(model, LabelsClassifier) else model
    return model.machines_[0] if isinstance(model, AveragedMachines) else model
