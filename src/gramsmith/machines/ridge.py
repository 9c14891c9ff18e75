"""Kernel ridge regression and classification, the regulariser chosen by exact leave-one-out."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils import check_random_state

from gramsmith.machines.base import (
    KernelClassifier,
    KernelMachine,
    Training,
    check_number,
    check_option,
)
from gramsmith.solvers import (
    RidgePath,
    conjugate_gradients,
    landmark_features,
    warn_unless_converged,
)

Array = npt.NDArray[Any]

SOLVERS = ("auto", "eigen", "nystroem", "cg")
# Past this many samples one eigendecomposition takes minutes; "auto" then turns to landmarks.
EIGEN_LIMIT = 12_000


class _KernelRidge(KernelMachine):
    """The path, the choice of the regulariser, and the three routes to the coefficients."""

    alpha: Any
    alphas: Any
    fit_intercept: bool
    solver: str
    n_landmarks: int
    tol: float
    max_iter: int
    random_state: Any
    n_jobs: Any

    def _check_parameters(self) -> None:
        check_option(self, "solver", SOLVERS)
        check_number(self, "n_landmarks", low=1, equal=True)
        check_number(self, "tol")
        check_number(self, "max_iter", low=1, equal=True)
        if isinstance(self.alpha, str):
            check_option(self, "alpha", ("loo",))
        else:
            check_number(self, "alpha", equal=True)
        if self.alphas is not None:
            grid = np.asarray(self.alphas, dtype=float)
            if grid.ndim != 1 or not grid.size or not np.isfinite(grid).all() or grid.min() < 0:
                raise ValueError(
                    f"{type(self).__name__}: expected alphas to be a list of numbers >= 0, got "
                    f"{self.alphas!r}. Use for example numpy.logspace(-6, 3, 30)."
                )

    def _solve(self, train: Training, Y: Array) -> None:
        solver = self.solver
        if solver == "auto":
            solver = "eigen" if train.n <= EIGEN_LIMIT else "nystroem"
        self.solver_ = solver
        self.jitter_, self.n_iter_ = 0.0, 1
        if solver == "eigen":
            K = self._dense(train, "Use solver='nystroem' or solver='cg'.", copies=4)
            path = RidgePath(K, Y, fit_intercept=self.fit_intercept, sample_weight=train.w)
            found = path.solve(self._choose(path, train))
            self.jitter_ = found.jitter
            self._keep(train, found.coef.reshape(train.n, -1), found.intercept)
            return
        landmarks = self._landmarks(train)
        G = self._gram(train.X)
        K_nm = G.block(np.arange(train.n), landmarks)
        Z, T = landmark_features(K_nm, K_nm[landmarks])
        path = RidgePath.from_features(
            Z, Y, fit_intercept=self.fit_intercept, sample_weight=train.w
        )
        alpha = self._choose(path, train)
        if solver == "nystroem":
            found = path.solve(alpha)
            self.jitter_ = found.jitter
            coef = T @ (Z.T @ found.coef.reshape(train.n, -1))
            self._keep(train, coef, found.intercept, landmarks)
        else:
            self._solve_cg(train, Y, G, Z, alpha)

    def _solve_cg(self, train: Training, Y: Array, G: Any, Z: Array, alpha: float) -> None:
        if alpha <= 0:
            raise ValueError(
                f"{type(self).__name__}: expected alpha > 0 with solver='cg', got {alpha!r}. "
                "Use solver='eigen' to interpolate."
            )
        R = np.column_stack([Y.reshape(train.n, -1), np.ones(train.n)])
        found = conjugate_gradients(
            lambda V: G @ V,
            alpha / train.weight,
            R if self.fit_intercept else R[:, :-1],
            features=Z,
            tol=self.tol,
            max_iter=int(self.max_iter),
        )
        warn_unless_converged(found, type(self).__name__)
        self.n_iter_ = found.n_iter
        C, b = found.c, np.zeros(R.shape[1] - 1)
        if self.fit_intercept:
            U, v = C[:, :-1], C[:, -1]
            b = U.sum(axis=0) / v.sum()
            C = U - v[:, None] * b
        self._keep(train, C, b)

    def _landmarks(self, train: Training) -> Array:
        """Draw landmarks without replacement, in the order of the rows."""
        rng = check_random_state(self.random_state)
        m = min(int(self.n_landmarks), train.n)
        return np.sort(rng.choice(train.n, size=m, replace=False))

    def _choose(self, path: RidgePath, train: Training) -> float:
        """Return the regulariser and set `alpha_`, `alphas_` and `loo_errors_`."""
        if not isinstance(self.alpha, str):
            self.alpha_ = float(self.alpha)
            self.alphas_ = np.array([self.alpha_])
        elif self.alphas is not None:
            self.alphas_ = np.asarray(self.alphas, dtype=np.float64)
        else:
            # In units of the mean eigenvalue: from interpolation to a constant.
            unit = _rounded(float(path.eigenvalues.sum() / train.weight.sum()) or 1.0)
            self.alphas_ = unit * np.logspace(-9, 4, 30)
        self.loo_errors_ = self._loo(path, train)
        if isinstance(self.alpha, str):
            # Of equally good regularisers take the largest: smoother, and better conditioned.
            best = np.flatnonzero(self.loo_errors_ <= self.loo_errors_.min())
            self.alpha_ = float(self.alphas_[best[np.argmax(self.alphas_[best])]])
            if self.alphas is None:
                self._refine(path)
        return self.alpha_

    def _loo(self, path: RidgePath, train: Training) -> Array:
        return path.loo_errors(self.alphas_)

    def _refine(self, path: RidgePath) -> None:
        """Minimise the mean squared leave-one-out residual between the points of the grid."""
        self.alpha_ = _rounded(path.minimise(self.alphas_)[0])


class KernelRidgeRegressor(RegressorMixin, MultiOutputMixin, _KernelRidge):  # type: ignore[misc]
    r"""Kernel ridge regression with an exact, cheap choice of the regulariser.

    .. math:: \min_{c, b} \sum_i w_i (y_i - b - (Kc)_i)^2 + \alpha\, c'Kc

    One eigendecomposition of K gives the leave-one-out residuals of every regulariser, so nothing
    is ever refitted.

    Parameters
    ----------
    kernel : Kernel, name, scikit-learn kernel, callable or None
        Whatever `as_kernel` takes; None is the Gaussian with ``gamma="scale"``. Negative eigenvalues
        of a kernel that is not positive definite are set to zero, with a warning.
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


class KernelRidgeClassifier(KernelClassifier, _KernelRidge):
    r"""Classification by kernel ridge regression on class codes.

    Two classes are coded -1 and +1, more by one such column each; the largest value wins.

    Parameters
    ----------
    kernel : Kernel, name, scikit-learn kernel, callable or None
        Whatever `as_kernel` takes; None is the Gaussian with ``gamma="scale"``. Negative eigenvalues
        of a kernel that is not positive definite are set to zero, with a warning.
    alpha : float or "loo", default="loo"
        The regulariser; 0 interpolates. "loo" minimises the leave-one-out `criterion`.
    alphas : array of shape (m,), optional
        Candidates for "loo". Default: a continuous minimum, starting from 30 candidates.
    criterion : {"squared", "error"}, default="squared"
        What leave-one-out measures: mean squared residual, or share of wrong classes (with equal
        shares decided by the residuals).
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
        fit_intercept: bool = True,
        solver: str = "auto",
        n_landmarks: int = 500,
        tol: float = 1e-6,
        max_iter: int = 1000,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.alpha = alpha
        self.alphas = alphas
        self.criterion = criterion
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.n_landmarks = n_landmarks
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
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
        check_option(self, "criterion", ("squared", "error"))
        train = self._begin(X, y, sample_weight, classes=True)
        C = len(self.classes_)
        Y = 2.0 * train.y[:, None] - 1.0 if C == 2 else 2.0 * np.eye(C)[train.y] - 1.0
        self._solve(train, Y)
        return self

    def _loo(self, path: RidgePath, train: Training) -> Array:
        if self.criterion == "squared":
            return path.loo_errors(self.alphas_)
        values = path.y - path.loo_residuals(self.alphas_)
        two = path.y.shape[1] == 1
        code = values[..., 0] > 0 if two else values.argmax(axis=2)
        wrong = np.average(code != train.y, axis=1, weights=train.w)
        return np.asarray(wrong + 1e-9 * _ranks(path.loo_errors(self.alphas_)))

    def _refine(self, path: RidgePath) -> None:
        if self.criterion == "squared":
            super()._refine(path)


def _rounded(alpha: float) -> float:
    """Return three digits: more would be noise, and would make equal data give unequal machines."""
    return float(f"{alpha:.2e}")


def _ranks(values: Array) -> Array:
    return np.argsort(np.argsort(values, kind="stable"), kind="stable")
