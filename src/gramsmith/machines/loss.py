"""Any convex loss of a kernel expansion, and its special case: kernel logistic regression."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.utils._param_validation import HasMethods, StrOptions
from sklearn.utils.metaestimators import available_if

from gramsmith.machines.base import POSITIVE, ProbabilisticClassifier, Training
from gramsmith.machines.landmarks import BLOCK_ROWS, LandmarkMachine
from gramsmith.machines.regularised import best_alpha
from gramsmith.parameters import with_parameters
from gramsmith.solvers import fit_expansion, fit_features, warn_unless_converged
from gramsmith.solvers.definite import clip_negative
from gramsmith.solvers.left_out import features_of, left_out_losses, usual_alphas
from gramsmith.solvers.losses import LOSSES, Multinomial, code_targets
from gramsmith.solvers.newton_cg import FORCING, fit_products

Array = npt.NDArray[Any]


def _has_probabilities(machine: Any) -> bool:
    if isinstance(machine.loss, str) and machine.loss == "logistic":
        return True
    several = len(getattr(machine, "classes_", ())) > 2
    if hasattr(machine.loss, "probability") and not several:
        return True
    raise AttributeError(
        f"Expected loss='logistic' for probabilities{' of several classes' if several else ''}, "
        f"got {machine.loss!r}. Use decision_function, or "
        "sklearn.calibration.CalibratedClassifierCV."
    )


class LossProbabilities(ProbabilisticClassifier):
    """The probabilities of a classifier whose `loss` has them."""

    loss: Any

    def _loss(self, several: bool = False) -> Any:
        """Return the loss as an object."""
        if several and self.loss == "logistic":
            return Multinomial()
        return LOSSES[self.loss]() if isinstance(self.loss, str) else self.loss

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Array:
        """Return class probabilities, (n, n_classes), of new samples; if the loss has them."""
        f = self.decision_function(X)
        return np.asarray(self._loss(f.ndim == 2).probability(f))

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> Array:
        """Return logarithms of class probabilities, (n, n_classes); if the loss has them."""
        f = self.decision_function(X)
        loss = self._loss(f.ndim == 2)
        if hasattr(loss, "log_probability"):
            return np.asarray(loss.log_probability(f))
        return super().predict_log_proba(X)


@with_parameters
class KernelLossClassifier(LossProbabilities, LandmarkMachine):
    r"""The kernel expansion that minimises any convex loss.

    .. math:: \min_{a, b} \sum_i w_i L(y_i, f_i) + \tfrac{\alpha}{2}\, a'Ka, \qquad f = Ka + b

    by Newton's method, with labels y = ±1. By the representer theorem no other function of the
    kernel's space does better. The loss decides the model: least squares, the L2-SVM ("squared
    hinge"), the SVM ("hinge"), or `KernelLogisticRegression`. Several classes are fitted one
    against the rest, except with the logistic loss, which becomes multinomial.

    Parameters
    ----------
    loss : {"logistic", "squared", "squared_hinge", "hinge"} or object, default="logistic"
        "hinge" has its corner rounded over a width of 0.05. An object has the methods ``value``,
        ``slope`` and ``curvature`` of `gramsmith.solvers.losses.Loss`, functions of the labels and
        the decision values, and ``probability`` if it gives probabilities.
    alpha : float or "loo", default="loo"
        Regulariser; one over C of an SVM. "loo" takes the candidate with the smallest approximate
        leave-one-out loss.
    alphas : array of shape (m,), optional
        Candidates for "loo", for weights of mean one. Default: half a decade apart, from one under
        which nothing but the intercept is left until three were worse than the best.
    solver : {"auto", "newton", "cg", "nystroem"}, default="auto"
        "newton" holds the kernel matrix; "nystroem" fits functions of `n_landmarks` samples, time
        and memory in proportion to n; "cg" goes on from there to the minimum over all samples, by
        products with a matrix that is not held. "auto" is "newton" up to 12 000 samples, "cg" up to
        30 000 if at most 10 products are expected of a step, else "nystroem"; `solver_` says which.
    n_landmarks : int, default=500
        Landmarks of "nystroem" and of the preconditioner of "cg", drawn by what those before them
        leave unexplained.
    tol : float, default=1e-8
        Stop when a Newton step promises to lower the objective by less than this share.
    max_iter : int, default=100
        Most Newton steps.

    Attributes
    ----------
    alphas_ : array of shape (m,)
        The candidates, descending.
    loo_losses_ : array of shape (m,)
        Their mean losses of samples left out, to first order; past 300 samples on as many features.
        With "loo" only.
    objective_ : float
        The minimum, summed over the classes where there are several.
    solver_ : str
        The solver in use.
    n_landmarks_ : int
        Landmarks in use. Not with "newton".
    n_products_ : int
        Products with the kernel matrix. With "cg" only.
    residual_ : float
        |g + αa| / |g| at the end, g the slopes of the loss: zero at the minimum. With "cg" only.

    Examples
    --------
    >>> import gramsmith as gs
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], ["no", "no", "yes", "yes"]
    >>> machine = gs.KernelLossClassifier(gs.Gaussian(1.0), loss="squared", alpha=0.1).fit(X, y)
    >>> machine.decision_function([[1.5], [3.0]]).round(2) + 0.0
    array([0.  , 0.99])
    """

    _stored: ClassVar[dict[str, str]] = {
        "objective_": "number",
        "n_iter_": "whole",
        "jitter_": "number?",
        "alpha_": "number?",
        "alphas_": "loose *?",
        "loo_losses_": "loose *?",
        "solver_": "text?",
        "n_landmarks_": "whole?",
        "n_products_": "whole?",
        "residual_": "number?",
    }
    _stored_parameters: ClassVar[dict[str, str]] = {"loss": f"choice {' '.join(LOSSES)}"}
    _held, _cg_products = "newton", 10  # of every Newton step
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "alpha": [POSITIVE, StrOptions({"loo"})],
        "solver": [StrOptions({"auto", "newton", "cg", "nystroem"})],
        "loss": [StrOptions(set(LOSSES)), HasMethods(["value", "slope", "curvature"])],
    }

    loss: Any = "logistic"
    class_weight: Any = None
    tol: float = 1e-8
    max_iter: int = 100

    def _goal(self, train: Training) -> Any:
        return self._loss(len(self.classes_) > 2)

    def _targets(self, train: Training, loss: Any) -> list[Array]:
        """Return the targets of one machine, or of one for every class."""
        C = len(self.classes_)
        if C == 2 or isinstance(loss, Multinomial):
            return [code_targets(train.y, C)]
        return [code_targets((train.y == c).astype(int), 2) for c in range(C)]

    def _fit_held(self, train: Training, loss: Any) -> None:
        remedy = "Use solver='nystroem' or solver='cg', or a sample of the rows."
        targets = self._targets(train, loss)
        # K, a factor for every class that is fitted together, and two to work with
        together = max(1 if target.ndim == 1 else target.shape[1] for target in targets)
        K, kept = clip_negative(self._dense(train, remedy, copies=max(4, together + 3)))

        share = train.weight / train.n
        spread = float(share @ K.diagonal() - share @ K @ share)
        alpha, starts = self._choose_alpha(lambda: features_of(K), spread, targets, loss, train)
        solutions = [
            fit_expansion(K, target, loss, alpha, start=start, **self._options(train))
            for target, start in zip(targets, starts, strict=True)
        ]
        a, b = self._record(solutions, train.scale)
        self._keep(train, kept(a), b)

    def _fit_landmarks(self, train: Training, loss: Any) -> None:
        size = min(int(self.n_landmarks), train.n)
        self._check_memory(train.n, "Lower n_landmarks, or use a sample of the rows.", 4, size)
        landmarks = self._landmarks(train, pivoted=True)
        Phi = np.empty((train.n, landmarks.root.shape[1]))
        for rows, block in landmarks.blocks():
            np.matmul(block, landmarks.root, out=Phi[rows])
        # orthogonal columns: Newton's steps are then few
        lengths, turn = np.linalg.eigh(Phi.T @ Phi)
        for start in range(0, train.n, BLOCK_ROWS):
            Phi[start : start + BLOCK_ROWS] = Phi[start : start + BLOCK_ROWS] @ turn
        lengths = np.maximum(lengths, np.finfo(float).tiny)

        share = train.weight / train.n
        spread = float(share @ np.einsum("ij,ij->i", Phi, Phi) - np.sum((share @ Phi) ** 2))

        def coefficients(start: Any) -> Array | None:
            if start is None:
                return None
            theta = ((start[0] - start[1]).T @ Phi / lengths).T  # the columns are orthogonal
            return np.concatenate([theta, [start[1]]])

        targets = self._targets(train, loss)
        alpha, starts = self._choose_alpha(lambda: Phi, spread, targets, loss, train)
        options = self._options(train)
        solutions = [
            fit_features(Phi, target, loss, alpha, start=coefficients(start), **options)
            for target, start in zip(targets, starts, strict=True)
        ]
        if self._undecided(train):
            # FORCING: curvatures of the usual losses are one at most
            self._decide(landmarks, alpha, FORCING)
        if self.solver_ == "nystroem":
            a, b = self._record(solutions, train.scale)
            self._keep(train, landmarks.root @ (turn @ a), b, landmarks.index)
            return
        solutions = [
            fit_products(
                landmarks.G.__matmul__,
                *(Phi, target, loss, alpha),
                start=rough.f,
                report=self._report,
                **options,
            )
            for target, rough in zip(targets, solutions, strict=True)
        ]
        self.n_products_ = sum(solution.n_products for solution in solutions)
        self.residual_ = max(solution.residual for solution in solutions)
        self._keep(train, *self._record(solutions, train.scale))

    def _options(self, train: Training) -> dict[str, Any]:
        return {
            "fit_intercept": self.fit_intercept,
            "sample_weight": train.w,
            "max_iter": int(self.max_iter),
            "tol": float(self.tol),
        }

    def _record(self, solutions: list[Any], scale: float) -> tuple[Array, Array]:
        """Set what the solvers say of themselves; return all coefficients and intercepts."""
        who = type(self).__name__
        self.objective_, self.n_iter_, self.jitter_ = 0.0, 0, 0.0
        for solution in solutions:
            for k, value in enumerate(solution.history):
                self._say(f"step {k}: objective {scale * value:.8g}")
            warn_unless_converged(solution, who)
            self.objective_ += scale * solution.objective
            self.n_iter_ = max(self.n_iter_, solution.n_iter)
            self.jitter_ = max(self.jitter_, scale * solution.jitter)
        coefficients = [solution.a.reshape(len(solution.a), -1) for solution in solutions]
        intercepts = [np.atleast_1d(solution.b) for solution in solutions]
        return np.hstack(coefficients), np.concatenate(intercepts)

    def _choose_alpha(
        self,
        features: Callable[[], Array],
        spread: float,
        targets: list[Array],
        loss: Any,
        train: Training,
    ) -> tuple[float, list[Any]]:
        """Set `alpha_`, `alphas_` and `loo_losses_`.

        Return the regulariser for weights of mean one, and where to start for every target.
        """
        alphas = np.sort(self._candidates(train, lambda: usual_alphas(train.n, spread)))[::-1]
        if not self._chooses:
            self._set_alpha(train, float(alphas[0]), alphas)
            return float(alphas[0]), [None] * len(targets)
        options = self._options(train) | {"tol": 1e-4}  # the estimate is no better
        options["stop"] = 3 if self.alphas is None and len(targets) == 1 else None
        Phi = features()
        paths = [left_out_losses(Phi, target, loss, alphas, **options) for target in targets]
        self.loo_losses_ = np.sum([losses for losses, _ in paths], axis=0)
        alphas = alphas[: len(self.loo_losses_)]
        alpha = best_alpha(alphas, self.loo_losses_)
        self._set_alpha(train, alpha, alphas)
        best = int(np.flatnonzero(alphas == alpha)[0])
        return alpha, [functions[best] for _, functions in paths]


@with_parameters
class KernelLogisticRegression(KernelLossClassifier):
    r"""Kernel logistic regression.

    .. math:: \min_{a, b} \sum_i w_i L(y_i, f_i) + \tfrac{\alpha}{2}\, a'Ka, \qquad f = Ka + b

    with the logistic loss, multinomial for several classes, by Newton's method. The regulariser
    decides how well its probabilities are calibrated, and is chosen by the leave-one-out loss.
    Other losses are those of `KernelLossClassifier`.

    Examples
    --------
    >>> import gramsmith as gs
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], ["no", "no", "yes", "yes"]
    >>> machine = gs.KernelLogisticRegression(gs.Gaussian(1.0), alpha=0.1).fit(X, y)
    >>> machine.predict_proba([[1.5], [3.0]]).round(2)
    array([[0.5 , 0.5 ],
           [0.11, 0.89]])
    """

    loss: Any = field(default="logistic", init=False)
