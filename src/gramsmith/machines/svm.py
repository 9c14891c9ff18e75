"""Support vector machines that keep their expansion as plain arrays.

scikit-learn's solver (LIBSVM) trains on the Gram matrix; what it finds is kept as plain arrays
(support samples, dual coefficients, intercepts), and prediction is a kernel block times a matrix.
So a machine can be written to a file, and rests on no private state of scikit-learn.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from itertools import combinations
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval

from gramsmith.machines.base import (
    NOT_NEGATIVE,
    KernelClassifier,
    KernelMachine,
    KernelRegressor,
    PairwiseVotes,
    Training,
)
from gramsmith.machines.calibration import CalibratedScores
from gramsmith.parameters import with_parameters
from gramsmith.solvers import Outcome, warn_unless_converged

Array = npt.NDArray[Any]


@with_parameters
class SupportVectorMachine(KernelMachine):
    """What the two machines share: training on the Gram matrix, and keeping the support.

    Parameters
    ----------
    C : float, default=1.0
        Price of a training error, in regression of one beyond epsilon.
    tol : float, default=1e-3
        Accuracy of the solver.
    max_iter : int, default=-1
        Most iterations of the solver; -1 for no limit.
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "epsilon": [NOT_NEGATIVE],
        "max_iter": [Interval(Integral, -1, None, closed="left")],
        "threshold": [Interval(Real, None, None, closed="neither")],
    }

    C: float = 1.0
    tol: float = 1e-3
    max_iter: int = -1

    def _train(self, kind: Any, train: Training, **options: Any) -> Any:
        """Return scikit-learn's machine, fitted on the Gram matrix."""
        options = {"C": self.C, "tol": self.tol, "max_iter": self.max_iter} | options
        machine = kind(kernel="precomputed", cache_size=500, **options)
        other = "KernelRidgeRegressor"
        if isinstance(self, KernelClassifier):
            other = "KernelLossClassifier(loss='squared_hinge')"
        remedy = f"Use {other}, which takes landmarks, or a sample of the rows."
        K = self._dense(train, remedy)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # said below, with advice
            machine.fit(K, train.y, train.w)
        self.n_iter_ = int(np.max(machine.n_iter_))
        outcome = Outcome(
            status="max_iter" if machine.fit_status_ else "converged",
            advice="Raise max_iter, lower C, or scale the features.",
            n_iter=self.n_iter_,
        )
        warn_unless_converged(outcome, type(self).__name__)
        return machine

    def _keep_support(self, train: Training, machine: Any, coefficients: Array) -> None:
        """Store the support in the order of the rows; LIBSVM lists it class by class."""
        order = np.argsort(machine.support_, kind="stable")
        self._keep(train, coefficients[order], machine.intercept_, machine.support_[order])


@with_parameters
class KernelSVC(CalibratedScores, PairwiseVotes, SupportVectorMachine):
    r"""Support vector classifier with any kernel.

    .. math:: f(x) = \sum_i \alpha_i y_i k(x_i, x) + b, \qquad 0 \le \alpha_i \le C

    Several classes are decided by a classifier per pair of classes; the decision value of a class
    is the number of its victories, made continuous by the margins.

    Parameters
    ----------
    class_weight : dict, "balanced" or None
        Factor on C per class.
    threshold : float, default=0.0
        With two classes, the decision value above which the second is predicted.

    Attributes
    ----------
    coefficients_ : array of shape (n_support, n_pairs)
        Dual coefficients per pair of classes.
    intercept_ : array of shape (n_pairs,)
        Intercepts per pair of classes.

    Examples
    --------
    >>> import gramsmith as gs
    >>> from gramsmith.machines.svm import KernelSVC
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], ["a", "a", "b", "b"]
    >>> KernelSVC(gs.Gaussian(1.0), C=10.0).fit(X, y).predict([[0.2], [2.6]])
    array(['a', 'b'], dtype='<U1')
    """

    _stored: ClassVar[dict[str, str]] = {"n_iter_": "whole"}
    _stored_parameters: ClassVar[dict[str, str]] = {"threshold": "number"}

    class_weight: Any = None
    threshold: float = 0.0

    def _fit(self, train: Training) -> None:
        self._check_threshold(self.threshold)
        from sklearn.svm import SVC  # imports linear models too: slow

        machine = self._train(SVC, train)
        coefficients = pair_coefficients(np.asarray(machine.dual_coef_), machine.n_support_)
        self._keep_support(train, machine, coefficients)

    def decision_function(self, X: Any) -> Array:
        f = super().decision_function(X)
        return np.asarray(f - self.threshold) if f.ndim == 1 else f


@with_parameters
class KernelSVR(KernelRegressor, SupportVectorMachine):
    r"""Support vector regression with any kernel.

    .. math:: f(x) = \sum_i \beta_i k(x_i, x) + b, \qquad |\beta_i| \le C

    Parameters
    ----------
    epsilon : float, default=0.1
        Errors up to this are free; in units of y.
    tol : float, default=1e-3
        Accuracy of the solver; in units of the standard deviation of y where that is below 1e-3 or
        above 1e3.

    Examples
    --------
    >>> import gramsmith as gs
    >>> from gramsmith.machines.svm import KernelSVR
    >>> machine = KernelSVR(gs.Linear(), C=100.0, epsilon=0.01)
    >>> machine.fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0]).predict([[3.0]]).round(1)
    array([3.])
    """

    _stored: ClassVar[dict[str, str]] = {"n_iter_": "whole"}

    epsilon: float = 0.1

    def _fit(self, train: Training) -> None:
        # LIBSVM's tolerance is absolute: in units far from one it would stop at once, or never.
        spread = float(np.std(train.y))
        unit = 1.0 if spread == 0.0 or 1e-3 <= spread <= 1e3 else spread
        train = replace(train, y=train.y / unit)
        from sklearn.svm import SVR  # imports linear models too: slow

        machine = self._train(SVR, train, C=self.C / unit, epsilon=self.epsilon / unit)
        self._keep_support(train, machine, unit * np.asarray(machine.dual_coef_).T)
        self.intercept_ = unit * self.intercept_


def pair_coefficients(dual: Array, n_support: Array) -> Array:
    """Return LIBSVM's dual coefficients as one column per pair of classes.

    Row j - 1 (for classes before j) or j (for those after) of LIBSVM's table holds the coefficients
    of a support vector in its duel with class j.
    """
    C = len(n_support)
    if C == 2:
        return np.ascontiguousarray(dual.T)
    ends = np.concatenate([[0], np.cumsum(n_support)])
    columns = np.zeros((dual.shape[1], C * (C - 1) // 2))
    for k, (a, b) in enumerate(combinations(range(C), 2)):
        columns[ends[a] : ends[a + 1], k] = dual[b - 1, ends[a] : ends[a + 1]]
        columns[ends[b] : ends[b + 1], k] = dual[a, ends[b] : ends[b + 1]]
    return columns
