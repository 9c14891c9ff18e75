"""Averages: the weighted mean of what several machines say."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, MultiOutputMixin, RegressorMixin, clone
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from gramsmith.arguments import abridged
from gramsmith.machines.calibration import CalibratedScores
from gramsmith.machines.intervals import PredictionIntervals
from gramsmith.machines.labels import LabelsClassifier

Array = npt.NDArray[Any]


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
        # Machines that take the same samples say the same of them: once is enough.
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            parts = [
                w * np.asarray(getattr(machine, method)(X), dtype=float)
                for w, machine in zip(self.weights_, self.machines_, strict=True)
            ]
        for item in {(w.category, str(w.message)): w for w in caught}.values():
            warnings.warn(item.message, item.category, stacklevel=3)
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
