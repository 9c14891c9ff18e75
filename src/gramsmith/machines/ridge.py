"""Kernel ridge regression and classification, the regulariser chosen by exact leave-one-out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.base import MultiOutputMixin
from sklearn.utils._param_validation import StrOptions

from gramsmith.machines.base import NOT_NEGATIVE, KernelClassifier, KernelRegressor, Training
from gramsmith.machines.calibration import CalibratedScores
from gramsmith.machines.landmarks import LandmarkMachine, Landmarks
from gramsmith.machines.regularised import best_alpha
from gramsmith.parameters import with_parameters
from gramsmith.solvers import RidgePath, conjugate_gradients, warn_unless_converged
from gramsmith.solvers.landmarks import LandmarkPreconditioner, landmark_path
from gramsmith.solvers.ridge import centred, ridge_at

Array = npt.NDArray[Any]
Residuals = Callable[[Array], Iterable[tuple[slice, Array]]]

# Random vectors that tell the trace of an inverse: on four sets of 1500 rows the error that is
# estimated with them is .97 to .99 of the exact one, with sixteen the same.
PROBES = 4
ROUGH_ROWS = 8_000  # samples from which float32 products serve for corrections
# Regularisers per sample on landmarks, in units of the variance of the features.
LANDMARK_ALPHAS = 10.0 ** np.arange(-9.0, 2.5, 0.5)


class _Fitted:
    loo_errors_: Array
    loo_residuals_: Array
    cg_alphas_: Array


@with_parameters
class KernelRidge(_Fitted, LandmarkMachine):
    """What the two machines share: the choice of the regulariser, three ways to coefficients.

    Parameters
    ----------
    alpha : float or "loo", default="loo"
        The regulariser; 0 interpolates. "loo" minimises the leave-one-out error.
    alphas : array of shape (m,), optional
        Candidates for "loo", for weights of mean one: they are multiplied by the mean weight, so
        that the choice does not depend on the unit of the weights. Default: a continuous minimum,
        starting from 30 candidates; on landmarks the best of 23 candidates half a decade apart.
    solver : {"auto", "eigen", "nystroem", "cg"}, default="auto"
        "eigen" holds K; "nystroem" restricts the solution to landmarks, which takes passes
        over blocks of rows and never holds more than one; "cg" solves the full system
        without holding K: of the candidates for `alpha` the one that landmarks prefer and its
        neighbours, all by the same products. "auto" is "eigen" up to 12 000 samples, "cg" up to
        30 000 if at most 40 products are expected, else "nystroem"; `solver_` says which.
    n_landmarks : int, default=500
        Landmarks of "nystroem", drawn at random with one of every class if there are enough; and of
        the preconditioner of "cg", drawn by pivots of a Cholesky factor.
    tol : float, default=1e-6
        Relative residual at which "cg" stops.
    max_iter : int, default=1000
        Most products with K in "cg".

    Attributes
    ----------
    alphas_ : array of shape (m,)
        The candidates.
    loo_errors_ : array of shape (m,)
        Their mean squared leave-one-out residuals, a row left out as a whole whatever its weight;
        not with "cg".
    loo_residuals_ : array of shape (n,) or (n, n_outputs)
        y_i minus the prediction of the model without sample i, at `alpha_`; samples of weight
        zero are not there. Not with "cg".
    landmark_loo_errors_ : array of shape (m,)
        What `loo_errors_` is for ridge regression on the landmarks, by which "cg" chooses the
        candidates it solves for. With "cg" only.
    cg_alphas_ : array of shape (k,)
        These candidates, at most three. With "cg" only.
    estimated_loo_errors_ : array of shape (k,)
        What `loo_errors_` would be for them, estimated: see `estimated_loo_residuals_`. The
        smallest decides. With "cg" only.
    estimated_loo_residuals_ : array of the shape of `loo_residuals_`
        With "cg" only: an estimate of them, exact coefficients over leverages that the landmarks
        give, times a number so that their sum is right. Too small where landmarks are few.
    estimated_loo_error_ : float
        Their mean square. With "cg" only.
    residual_ : float
        The largest relative residual of the solved systems. With "cg" only.
    n_iter_ : int
        Products with K in "cg", else 1.
    n_landmarks_ : int
        Landmarks in use. Not with "eigen".
    solver_ : str
        The solver in use.
    """

    _stored: ClassVar[dict[str, str]] = {
        "solver_": "text",
        "jitter_": "number",
        "n_iter_": "whole",
        "alpha_": "number",
        "alphas_": "array a",
        "loo_errors_": "loose *?",
        "loo_residuals_": "record * | record * *?",
        "landmark_loo_errors_": "loose *?",
        "residual_": "number?",
        "n_landmarks_": "whole?",
        "estimated_loo_residuals_": "record * | record * *?",
        "estimated_loo_error_": "number?",
        "cg_alphas_": "loose *?",
        "estimated_loo_errors_": "loose *?",
    }

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "alpha": [NOT_NEGATIVE, StrOptions({"loo"})],
        "criterion": [StrOptions({"squared", "error"})],
        "solver": [StrOptions({"auto", "eigen", "nystroem", "cg"})],
    }

    _held, _cg_products = "eigen", 40

    @property
    def _weighs_targets(self) -> bool:  # type: ignore[override]
        return self.solver_ != "nystroem"

    criterion = "squared"  # a parameter of the classifier alone

    tol: float = 1e-6
    max_iter: int = 1000

    def _fit(self, train: Training) -> None:
        self.jitter_, self.n_iter_ = 0.0, 1
        super()._fit(train)
        if train.w is not None and self._weighs_targets:
            self.support_weights_ = train.w[np.searchsorted(train.rows, self.support_)]

    def _fit_landmarks(self, train: Training, Y: Array) -> None:
        undecided = self._undecided(train)
        landmarks = self._landmarks(train, pivoted=self.solver_ == "cg" or undecided)
        path = landmark_path(landmarks.K, landmarks.blocks, Y, train.w, self.fit_intercept)
        alphas = self._candidates(train, lambda: LANDMARK_ALPHAS * path.spread * path.total)
        if self.solver_ == "cg" and not alphas.any():
            raise ValueError(
                f"{type(self).__name__}: expected alpha > 0 with solver='cg', got 0.0. "
                "Use solver='eigen' to interpolate."
            )

        def residuals(alphas: Array) -> Iterator[tuple[slice, Array]]:
            for rows, K in landmarks.blocks():
                w = None if train.w is None else train.w[rows]
                yield rows, path.loo_residuals(K, Y[rows], alphas, w)

        alpha = self._choose(train, Y, alphas, residuals)
        order = np.unique(alphas)
        place = int(np.searchsorted(order, alpha))
        near = order[max(place - 1, 0) : place + 2]  # what landmarks prefer, and its neighbours
        near = near[near > 0]
        if undecided and len(near):
            self._decide(landmarks, float(near.min()), self.tol)
        if self.solver_ == "nystroem":
            self.jitter_ = train.scale * float(path.jitter(alpha))
            self._keep(train, *path.solve(alpha), landmarks.index)
        else:
            # The residuals are those of the landmarks, not of the machine.
            self.landmark_loo_errors_ = self.loo_errors_
            del self.loo_errors_, self.loo_residuals_
            alpha = self._solve_cg(train, Y, landmarks, near)
            self._set_alpha(train, alpha, alphas)

    def _fit_held(self, train: Training, Y: Array) -> None:
        K = self._dense(train, "Use solver='nystroem' or solver='cg'.", copies=4)
        options: dict[str, Any] = {"fit_intercept": self.fit_intercept, "sample_weight": train.w}
        if not self._chooses:
            sure = not self._is_pairwise() and self.kernel_.positive_definite
            alphas = self._candidates(train, lambda: np.empty(0))
            solved = ridge_at(K, Y, float(alphas[0]), definite=sure, **options)
            if solved is not None:
                left_out = solved.loo_residuals()
                self._choose(train, Y, alphas, lambda _: [(slice(None), left_out[None])])
                self._keep(train, solved.solution.coef, solved.solution.intercept)
                return
        path = RidgePath(K, Y, **options)
        # In units of the mean eigenvalue: from interpolation to a constant.
        unit = float(path.eigenvalues.mean()) or 1.0
        alphas = self._candidates(train, lambda: unit * np.logspace(-9, 4, 30))

        def residuals(alphas: Array) -> list[tuple[slice, Array]]:
            return [(slice(None), path.loo_residuals(alphas))]

        solution = path.solve(self._choose(train, Y, alphas, residuals, path.minimise))
        self.jitter_ = train.scale * solution.jitter
        self._keep(train, solution.coef, solution.intercept)

    def _solve_cg(self, train: Training, Y: Array, landmarks: Landmarks, near: Array) -> float:
        """Solve for some regularisers side by side, and return the best of them."""
        offset, Z = centred(Y, train.weight, self.fit_intercept)
        q, a = Y.shape[1], len(near)
        # the same in every fit: what a journal has kept is then found again
        probes = np.random.default_rng(7).choice([-1.0, 1.0], size=(train.n, PROBES))
        ones = [np.ones(train.n)] if self.fit_intercept else []
        R = np.column_stack([Z, *ones, probes])
        alphas, r = np.repeat(near, R.shape[1]), 1.0 / train.weight
        R = np.tile(R, (1, a))
        inverse = LandmarkPreconditioner(landmarks.root, landmarks.blocks, r, alphas)
        rough = None
        if train.n >= ROUGH_ROWS and not self._is_pairwise():
            rough = self._gram(train.X, np.float32).__matmul__
        solution = conjugate_gradients(
            landmarks.G.__matmul__,
            r,
            R,
            alphas=alphas,
            precondition=inverse,
            rough=rough,
            tol=self.tol,
            max_iter=int(self.max_iter),
            report=self._report if self.verbose else None,
        )
        warn_unless_converged(solution, type(self).__name__)
        self.n_iter_, self.residual_ = solution.n_iter, solution.residual
        columns = solution.c.reshape(train.n, a, -1).transpose(1, 0, 2)
        diagonals = inverse.diagonal().reshape(train.n, a, -1).transpose(1, 0, 2)[:, :, :1]
        # The diagonal of the inverse is about that of the preconditioner, but for its sum, which
        # random probes know well: it would be too large, and residuals too small.
        known = inverse(R).reshape(train.n, a, -1).transpose(1, 0, 2)
        apart = (columns - known)[:, :, -PROBES:]
        more = np.sum(probes * apart, axis=(1, 2)) / PROBES
        sums = diagonals.sum(axis=(1, 2))
        diagonals = diagonals * np.clip(1.0 + more / sums, 0.01, 1.0)[:, None, None]
        C, b = columns[:, :, :q], np.zeros((a, q))
        if self.fit_intercept:
            v = columns[:, :, q : q + 1]
            total = v.sum(axis=1, keepdims=True)
            b = C.sum(axis=1) / total[:, 0]
            C = C - v * b[:, None]
            diagonals = diagonals - v * v / total
        # c_i over the diagonal of the inverse
        left_out = C / np.maximum(diagonals, np.finfo(float).tiny)
        self.cg_alphas_ = near * train.scale
        alpha, self.estimated_loo_errors_, squared, _ = self._compare(
            train, Y, near, [(slice(None), left_out)]
        )
        best = int(np.flatnonzero(near == alpha)[0])
        self.estimated_loo_residuals_ = left_out[best]
        self.estimated_loo_error_ = float(squared[best])
        self._keep(train, np.ascontiguousarray(C[best]), b[best] + offset)
        return alpha

    def _choose(
        self, train: Training, Y: Array, alphas: Array, residuals: Residuals, refine: Any = None
    ) -> float:
        """Return the best regulariser; set it, `loo_errors_` and `loo_residuals_`.

        ``residuals(alphas)`` yields rows and their leave-one-out residuals, (a, rows, q);
        ``refine`` returns the minimum of the squared error between the candidates.
        """
        blocks = residuals(alphas)
        if len(alphas) == 1:
            blocks = list(blocks)  # no second pass is needed
        alpha, self.loo_errors_, squared, rounding = self._compare(train, Y, alphas, blocks)
        free = self._chooses and self.alphas is None and self.criterion == "squared"
        if refine is not None and free and squared.min() > rounding:
            alpha = refine(alphas)[0]
        if len(alphas) > 1:
            blocks = residuals(np.array([alpha]))
        self.loo_residuals_ = np.concatenate([R[0] for _, R in blocks])
        self._set_alpha(train, alpha, alphas)
        return alpha

    def _compare(
        self, train: Training, Y: Array, alphas: Array, residuals: Iterable[tuple[slice, Array]]
    ) -> tuple[float, Array, Array, float]:
        """Return the best regulariser, the criterion and the squared errors of all, and rounding.

        Ties are decided by the squared error.
        """
        squared, wrong = np.zeros(len(alphas)), np.zeros(len(alphas))
        for rows, R in residuals:
            w = train.weight[rows]
            squared += (R * R).mean(axis=2) @ w
            if self.criterion == "error":
                F = Y[rows] - R
                code = F[..., 0] > 0 if F.shape[2] == 1 else F.argmax(axis=2)
                wrong += (code != train.y[rows]) @ w
        squared, wrong = squared / train.weight.sum(), wrong / train.weight.sum()
        errors = wrong if self.criterion == "error" else squared
        # Residuals of 1e-10 of the targets are rounding, whatever the regulariser, and so are those
        # below the digits in which the targets are given.
        digits = float(np.finfo(float).eps) * float(np.abs(Y).max())
        spread = float(np.mean(centred(Y, train.weight, self.fit_intercept)[1] ** 2))
        rounding = max(1e-20 * spread, digits**2)
        return best_alpha(alphas, errors, squared, rounding=rounding), errors, squared, rounding


@with_parameters
class KernelRidgeRegressor(MultiOutputMixin, KernelRegressor, KernelRidge):
    r"""Kernel ridge regression with an exact, cheap choice of the regulariser.

    .. math:: \min_{c, b} \sum_i w_i (y_i - b - (Kc)_i)^2 + \alpha\, c'Kc

    One eigendecomposition of K gives the leave-one-out residuals of every regulariser, so nothing
    is ever refitted.

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

    _many_outputs = True

    def _fit(self, train: Training) -> None:
        self.n_outputs_ = 1 if train.y.ndim == 1 else train.y.shape[1]
        self.flat_ = train.y.ndim == 1
        super()._fit(train)
        for name in ("loo_residuals_", "estimated_loo_residuals_"):
            if self.flat_ and hasattr(self, name):
                setattr(self, name, getattr(self, name)[:, 0])

    def _goal(self, train: Training) -> Array:
        return np.asarray(train.y.reshape(train.n, -1))

    def predict(self, X: Any) -> Array:
        F = self._expand(X)
        return F[:, 0] if self.flat_ else F

    def _times(self, unit: Array) -> None:
        """Make of a machine of several outputs that of the outputs times a number each.

        `loo_errors_` stay those of the outputs as they were.
        """
        for name in ("coefficients_", "intercept_", "loo_residuals_", "estimated_loo_residuals_"):
            if hasattr(self, name):
                setattr(self, name, getattr(self, name) * unit)

    @property
    def _n_outputs(self) -> int:
        return 1 if self.flat_ else self.n_outputs_


@with_parameters
class KernelRidgeClassifier(CalibratedScores, KernelClassifier, KernelRidge):
    r"""Classification by kernel ridge regression on class codes.

    Two classes are coded -1 and +1, more by one such column each; the largest value wins.

    Parameters
    ----------
    alpha : float or "loo", default="loo"
        The regulariser; 0 interpolates. "loo" minimises the leave-one-out `criterion`.
    criterion : {"squared", "error"}, default="squared"
        What leave-one-out measures: mean squared residual, or share of wrong classes (with equal
        shares decided by the residuals).

    Attributes
    ----------
    loo_errors_ : array of shape (m,)
        Leave-one-out `criterion` of the candidates, a row left out as a whole whatever its weight;
        not with "cg".
    loo_residuals_ : array of shape (n, 1) or (n, n_classes)
        Class codes minus the decision values of the model without the sample, at `alpha_`;
        samples of weight zero are not there. Not with "cg".

    Examples
    --------
    >>> import gramsmith as gs
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> round(gs.KernelRidgeClassifier(gs.Gaussian(2.0)).fit(X, y).score(X, y), 2)
    0.99
    """

    criterion: str = "squared"
    class_weight: Any = None

    def _goal(self, train: Training) -> Array:
        C = len(self.classes_)
        return 2.0 * (train.y[:, None] if C == 2 else np.eye(C)[train.y]) - 1.0
