"""Kernel ridge regression and classification, the regulariser chosen by exact leave-one-out."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.base import MultiOutputMixin, RegressorMixin

from gramsmith.machines.base import KernelClassifier, Training, check_option
from gramsmith.machines.calibration import CalibratedScores
from gramsmith.machines.ridge_routes import KernelRidge
from gramsmith.solvers import RidgePath

Array = npt.NDArray[Any]


class KernelRidgeRegressor(RegressorMixin, MultiOutputMixin, KernelRidge):
    r"""Kernel ridge regression with an exact, cheap choice of the regulariser.

    .. math:: \min_{c, b} \sum_i w_i (y_i - b - (Kc)_i)^2 + \alpha\, c'Kc

    One eigendecomposition of K gives the leave-one-out residuals of every regulariser, so nothing
    is ever refitted.

    Parameters
    ----------
    kernel : Kernel, name, scikit-learn kernel, callable or None
        Whatever `as_kernel` takes; None is the Gaussian with ``gamma="scale"``. Negative
        eigenvalues of a kernel that is not positive definite are set to zero, with a warning.
    alpha : float or "loo", default="loo"
        The regulariser; 0 interpolates. "loo" minimises the leave-one-out error.
    alphas : array of shape (m,), optional
        Candidates for "loo". Default: a continuous minimum, starting from 30 candidates.
    fit_intercept : bool, default=True
        Whether to add an intercept, which is not penalised.
    solver : {"auto", "eigen", "nystroem", "cg"}, default="auto"
        "eigen" holds K; "nystroem" restricts the solution to landmarks; "cg" solves the full system
        without holding K, with `alpha` chosen on the landmarks. "auto" is "eigen" up to 12 000
        samples, "nystroem" beyond.
    n_landmarks : int, default=500
        Landmarks of "nystroem", and of the preconditioner of "cg".
    tol : float, default=1e-6
        Relative residual at which "cg" stops.
    max_iter : int, default=1000
        Most products with K in "cg".
    random_state : int, RandomState or None
        For the choice of the landmarks.
    verbose : bool, default=False
        Whether to print a line per product of "cg".
    n_jobs : int, optional
        Threads for kernel evaluations; default all cores.

    Attributes
    ----------
    alpha_ : float
        The regulariser in use.
    alphas_ : array of shape (m,)
        The candidates.
    loo_errors_ : array of shape (m,)
        Their mean squared leave-one-out residuals.
    loo_residuals_ : array of shape (n,) or (n, n_outputs)
        y_i minus the prediction of the machine without sample i, at `alpha_`; samples of weight
        zero are not there.
    jitter_ : float
        What was added to `alpha_` because K was singular to working precision; 0 if nothing.
    solver_ : str
        The solver in use.
    kernel_ : Kernel
        The kernel in use.
    support_ : int array of shape (n_support,)
        Training samples in the expansion.
    support_samples_ : array of shape (n_support, p) or sequence; None for precomputed kernels
        These samples.
    coefficients_ : array of shape (n_support, n_outputs)
        Their coefficients.
    intercept_ : array of shape (n_outputs,)
        Intercepts.

    Examples
    --------
    >>> import numpy as np
    >>> import gramsmith as gs
    >>> x = np.linspace(0, 6, 40)[:, None]
    >>> machine = gs.KernelRidgeRegressor(gs.Gaussian(1.0)).fit(x, np.sin(x).ravel())
    >>> machine.predict([[1.5]]).round(3)
    array([0.997])
    """

    _stored: ClassVar[dict[str, str]] = {"n_outputs_": "whole", "flat_": "flag"}

    def __init__(
        self,
        kernel: Any = None,
        *,
        alpha: Any = "loo",
        alphas: Any = None,
        fit_intercept: bool = True,
        solver: str = "auto",
        n_landmarks: int = 500,
        tol: float = 1e-6,
        max_iter: int = 1000,
        random_state: Any = None,
        verbose: bool = False,
        n_jobs: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.alpha = alpha
        self.alphas = alphas
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.n_landmarks = n_landmarks
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.verbose = verbose
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> KernelRidgeRegressor:
        """Fit the machine.

        Parameters
        ----------
        X : array of shape (n, p), sequence of n objects, or Gram matrix for "precomputed"
            Training samples.
        y : array of shape (n,) or (n, n_outputs)
            Values.
        sample_weight : array of shape (n,), optional
            Weights; weight 2 is the same as repeating a row.

        Returns
        -------
        KernelRidgeRegressor
        """
        self._check_parameters()
        train = self._begin(X, y, sample_weight, classes=False, many=True)
        self.n_outputs_ = 1 if train.y.ndim == 1 else train.y.shape[1]
        self.flat_ = train.y.ndim == 1
        self._solve(train, train.y)
        return self

    def predict(self, X: Any) -> Array:
        """Return the values of new samples.

        Parameters
        ----------
        X : array of shape (n, p), sequence of n objects, or kernel block of shape (n, n_fit)
            New samples.

        Returns
        -------
        array of shape (n,) or (n, n_outputs)
        """
        F = self._expand(X)
        return F[:, 0] if self.flat_ else F


class KernelRidgeClassifier(CalibratedScores, KernelClassifier, KernelRidge):
    r"""Classification by kernel ridge regression on class codes.

    Two classes are coded -1 and +1, more by one such column each; the largest value wins.

    Parameters
    ----------
    kernel : Kernel, name, scikit-learn kernel, callable or None
        Whatever `as_kernel` takes; None is the Gaussian with ``gamma="scale"``. Negative
        eigenvalues of a kernel that is not positive definite are set to zero, with a warning.
    alpha : float or "loo", default="loo"
        The regulariser; 0 interpolates. "loo" minimises the leave-one-out `criterion`.
    alphas : array of shape (m,), optional
        Candidates for "loo". Default: a continuous minimum, starting from 30 candidates.
    criterion : {"squared", "error"}, default="squared"
        What leave-one-out measures: mean squared residual, or share of wrong classes (with equal
        shares decided by the residuals).
    class_weight : dict, "balanced" or None
        Factors on the weights of the samples by class; "balanced" gives all classes the same
        total. Leave-one-out leaves out whole samples, however much their class counts.
    fit_intercept : bool, default=True
        Whether to add an intercept, which is not penalised.
    solver : {"auto", "eigen", "nystroem", "cg"}, default="auto"
        See `KernelRidgeRegressor`.
    n_landmarks : int, default=500
        Landmarks of "nystroem", and of the preconditioner of "cg".
    tol : float, default=1e-6
        Relative residual at which "cg" stops.
    max_iter : int, default=1000
        Most products with K in "cg".
    random_state : int, RandomState or None
        For the choice of the landmarks.
    verbose : bool, default=False
        Whether to print a line per product of "cg".
    n_jobs : int, optional
        Threads for kernel evaluations; default all cores.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The labels.
    alpha_ : float
        The regulariser in use.
    alphas_ : array of shape (m,)
        The candidates.
    loo_errors_ : array of shape (m,)
        Their leave-one-out `criterion`.
    loo_residuals_ : array of shape (n, 1) or (n, n_classes)
        Class codes minus the decision values of the machine without the sample, at `alpha_`;
        samples of weight zero are not there.
    jitter_ : float
        What was added to `alpha_` because K was singular to working precision; 0 if nothing.
    solver_ : str
        The solver in use.
    kernel_ : Kernel
        The kernel in use.
    support_ : int array of shape (n_support,)
        Training samples in the expansion.
    support_samples_ : array of shape (n_support, p) or sequence; None for precomputed kernels
        These samples.
    coefficients_ : array of shape (n_support, 1) or (n_support, n_classes)
        Their coefficients.
    intercept_ : array of shape (1,) or (n_classes,)
        Intercepts.
    calibration_slope_, calibration_offsets_ : float, array of shape (n_classes,)
        Of the probabilities; after `calibrate`.

    Examples
    --------
    >>> import gramsmith as gs
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> round(gs.KernelRidgeClassifier(gs.Gaussian(2.0)).fit(X, y).score(X, y), 2)
    0.99
    """

    def __init__(
        self,
        kernel: Any = None,
        *,
        alpha: Any = "loo",
        alphas: Any = None,
        criterion: str = "squared",
        class_weight: Any = None,
        fit_intercept: bool = True,
        solver: str = "auto",
        n_landmarks: int = 500,
        tol: float = 1e-6,
        max_iter: int = 1000,
        random_state: Any = None,
        verbose: bool = False,
        n_jobs: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.alpha = alpha
        self.alphas = alphas
        self.criterion = criterion
        self.class_weight = class_weight
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.n_landmarks = n_landmarks
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.verbose = verbose
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> KernelRidgeClassifier:
        """Fit the machine.

        Parameters
        ----------
        X : array of shape (n, p), sequence of n objects, or Gram matrix for "precomputed"
            Training samples.
        y : array of shape (n,)
            Class labels.
        sample_weight : array of shape (n,), optional
            Weights; weight 2 is the same as repeating a row.

        Returns
        -------
        KernelRidgeClassifier
        """
        self._check_parameters()
        self._forget_calibration()
        check_option(self, "criterion", ("squared", "error"))
        train = self._begin(X, y, sample_weight, classes=True, class_weight=self.class_weight)
        C = len(self.classes_)
        Y = 2.0 * train.y[:, None] - 1.0 if C == 2 else 2.0 * np.eye(C)[train.y] - 1.0
        self._solve(train, Y)
        return self

    def _loo(self, path: RidgePath, train: Training, squared: Array) -> Array:
        if self.criterion == "squared":
            return squared
        values = path.y - path.loo_residuals(self.alphas_)
        two = path.y.shape[1] == 1
        code = values[..., 0] > 0 if two else values.argmax(axis=2)
        return np.asarray(np.average(code != train.y, axis=1, weights=train.w))

    def _refine(self, path: RidgePath) -> None:
        if self.criterion == "squared":
            super()._refine(path)
