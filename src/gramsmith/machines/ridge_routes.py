"""Kernel ridge: the choice of the regulariser, and three routes to the coefficients."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state

from gramsmith.machines.base import KernelMachine, Training, check_number, check_option
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


class KernelRidge(KernelMachine):
    """The path, the choice of the regulariser, and the three routes to the coefficients."""

    _stored: ClassVar[dict[str, str]] = {
        "solver_": "text",
        "jitter_": "number",
        "n_iter_": "whole",
        "alpha_": "number",
        "alphas_": "array a",
        "loo_errors_": "loose *",
        "loo_residuals_": "loose * | loose * *?",
    }

    alpha: Any
    alphas: Any
    fit_intercept: bool
    solver: str
    n_landmarks: int
    tol: float
    max_iter: int
    random_state: Any
    verbose: bool
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
            path = RidgePath(
                K,
                Y,
                fit_intercept=self.fit_intercept,
                sample_weight=train.w,
                copies=train.copies,
            )
            found = path.solve(self._choose(path, train))
            self.jitter_ = found.jitter
            self._keep(train, found.coef.reshape(train.n, -1), found.intercept)
            return
        landmarks = self._landmarks(train)
        G = self._gram(train.X)
        K_nm = G.block(np.arange(train.n), landmarks)
        Z, T = landmark_features(K_nm, K_nm[landmarks])
        path = RidgePath.from_features(
            Z,
            Y,
            fit_intercept=self.fit_intercept,
            sample_weight=train.w,
            copies=train.copies,
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
            report=self._report if self.verbose else None,
        )
        warn_unless_converged(found, type(self).__name__)
        self.n_iter_ = found.n_iter
        C, b = found.c, np.zeros(R.shape[1] - 1)
        if self.fit_intercept:
            U, v = C[:, :-1], C[:, -1]
            b = U.sum(axis=0) / v.sum()
            C = U - v[:, None] * b
        self._keep(train, C, b)

    def _report(self, n_iter: int, residual: float) -> None:
        print(f"[{type(self).__name__}] product {n_iter}: residual {residual:.3g}")

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
        squared = path.loo_errors(self.alphas_)
        self.loo_errors_ = self._loo(path, train, squared)
        if isinstance(self.alpha, str):
            # Residuals of 1e-10 of the targets are rounding, whatever the regulariser.
            rounding = 1e-20 * float(np.mean(path.y**2))
            best = np.flatnonzero(self.loo_errors_ <= self.loo_errors_.min() + rounding)
            best = best[squared[best] <= squared[best].min() + rounding]
            # Of equally good regularisers take the largest: smoother, and better conditioned.
            self.alpha_ = float(self.alphas_[best[np.argmax(self.alphas_[best])]])
            if self.alphas is None and squared.min() > rounding:
                self._refine(path)
        self.loo_residuals_ = path.loo_residuals([self.alpha_])[0]
        return self.alpha_

    def _loo(self, path: RidgePath, train: Training, squared: Array) -> Array:
        """Return what "loo" minimises, given the mean squared residuals."""
        return squared

    def _refine(self, path: RidgePath) -> None:
        """Minimise the mean squared leave-one-out residual between the points of the grid."""
        self.alpha_ = _rounded(path.minimise(self.alphas_)[0])


def _rounded(alpha: float) -> float:
    """Return three digits: more would be noise, and would make equal data give unequal machines."""
    return float(f"{alpha:.2e}")
