"""Any convex loss of a kernel expansion, and its special case: kernel logistic regression."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils._param_validation import HasMethods, StrOptions
from sklearn.utils.metaestimators import available_if

from gramsmith.machines.base import POSITIVE, KernelClassifier, Training, check_alphas
from gramsmith.solvers import fit_expansion, warn_unless_converged
from gramsmith.solvers.definite import clip_negative
from gramsmith.solvers.left_out import features_of, left_out_losses, usual_alphas
from gramsmith.solvers.losses import LOSSES, Multinomial, code_targets

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


class LossProbabilities(KernelClassifier):
    """The probabilities of a classifier whose `loss` has them."""

    loss: Any

    def _loss(self, several: bool = False) -> Any:
        """Return the loss as an object."""
        if several and self.loss == "logistic":
            return Multinomial()
        return LOSSES[self.loss]() if isinstance(self.loss, str) else self.loss

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Array:
        """Return class probabilities; only with a loss that has them.

        Parameters
        ----------
        X : array of shape (n, p), sequence of n objects, or kernel block of shape (n, n_fit)
            New samples.

        Returns
        -------
        array of shape (n, n_classes)
        """
        f = self.decision_function(X)
        return np.asarray(self._loss(f.ndim == 2).probability(f))

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> Array:
        """Return logarithms of class probabilities; only with a loss that has them.

        Parameters
        ----------
        X : array of shape (n, p), sequence of n objects, or kernel block of shape (n, n_fit)
            New samples.

        Returns
        -------
        array of shape (n, n_classes)
        """
        f = self.decision_function(X)
        loss = self._loss(f.ndim == 2)
        if hasattr(loss, "log_probability"):
            return np.asarray(loss.log_probability(f))
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(loss.probability(f)))


class KernelLossClassifier(LossProbabilities):
    r"""The kernel expansion that minimises any convex loss.

    .. math:: \min_{a, b} \sum_i w_i L(y_i, f_i) + \tfrac{\alpha}{2}\, a'Ka, \qquad f = Ka + b

    by Newton's method, with labels y = ±1. By the representer theorem no other function of the
    kernel's space does better. The loss makes the machine: least squares, the L2-SVM ("squared
    hinge"), the SVM ("hinge"), or `KernelLogisticRegression`. Several classes go one against the
    rest, but for the logistic loss, which becomes multinomial.

    Parameters
    ----------
    kernel : Kernel, name, scikit-learn kernel, callable or None
        Whatever `as_kernel` takes; None is the Gaussian with ``gamma="scale"``. Negative
        eigenvalues of a kernel that is not positive definite are set to zero, with a warning.
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
    class_weight : dict, "balanced" or None
        Factors on the weights of the samples by class; "balanced" gives all classes the same
        total.
    fit_intercept : bool, default=True
        Whether to add an intercept, which is not penalised.
    tol : float, default=1e-8
        Stop when a Newton step promises to lower the objective by less than this share.
    max_iter : int, default=100
        Most Newton steps.
    verbose : bool, default=False
        Whether to print the objective after every Newton step.
    n_jobs : int, optional
        Threads for kernel evaluations; default all cores.
    engine : Engine, optional
        Who evaluates the tiles, see `Gram`; instead of `n_jobs`.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The labels.
    alpha_ : float
        The regulariser in use.
    alphas_ : array of shape (m,)
        The candidates, descending.
    loo_losses_ : array of shape (m,)
        Their mean losses of samples left out, to first order; past 300 samples on as many features.
        With "loo" only.
    objective_ : float
        The minimum, summed over the machines where there are several.
    n_iter_ : int
        Newton steps.
    jitter_ : float
        What was added to a diagonal that was singular to working precision; 0 if nothing.
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
    }
    _stored_parameters: ClassVar[dict[str, str]] = {"loss": f"choice {' '.join(LOSSES)}"}
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **KernelClassifier._parameter_constraints,
        "alpha": [POSITIVE, StrOptions({"loo"})],
        "alphas": ["array-like", None],
        "loss": [StrOptions(set(LOSSES)), HasMethods(["value", "slope", "curvature"])],
    }

    def __init__(
        self,
        kernel: Any = None,
        *,
        loss: Any = "logistic",
        alpha: Any = "loo",
        alphas: Any = None,
        class_weight: Any = None,
        fit_intercept: bool = True,
        tol: float = 1e-8,
        max_iter: int = 100,
        verbose: bool = False,
        n_jobs: int | None = None,
        engine: Any = None,
    ) -> None:
        self.kernel = kernel
        self.loss = loss
        self.alpha = alpha
        self.alphas = alphas
        self.class_weight = class_weight
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.engine = engine

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        check_alphas(self, "> 0")
        train = self._begin(X, y, sample_weight)
        scale, train = train.scale, train.of_mean_one()
        remedy = "Use ImportVectorClassifier with max_candidates, or a sample of the rows."
        K, kept = clip_negative(self._dense(train, remedy, copies=4))
        C, who = len(self.classes_), type(self).__name__
        loss = self._loss(C > 2)
        if C == 2 or isinstance(loss, Multinomial):
            targets = [code_targets(train.y, C)]
        else:
            targets = [code_targets((train.y == c).astype(int), 2) for c in range(C)]
        # Weights and regulariser times a number change nothing: from here they have mean one.
        alpha, starts = self._choose(K, targets, loss, train, scale)
        A, b, self.objective_, self.n_iter_, self.jitter_ = [], [], 0.0, 0, 0.0
        for target, start in zip(targets, starts, strict=True):
            found = fit_expansion(
                K,
                target,
                loss,
                alpha,
                fit_intercept=self.fit_intercept,
                sample_weight=train.w,
                start=start,
                max_iter=int(self.max_iter),
                tol=float(self.tol),
            )
            if self.verbose:
                for k, value in enumerate(found.history):
                    print(f"[{who}] step {k}: objective {scale * value:.8g}")
            warn_unless_converged(found, who)
            A.append(found.a.reshape(train.n, -1))
            b.append(np.atleast_1d(found.b))
            self.objective_ += scale * found.objective
            self.n_iter_ = max(self.n_iter_, found.n_iter)
            self.jitter_ = max(self.jitter_, scale * found.jitter)
        self._keep(train, kept(np.hstack(A)), np.concatenate(b))
        return self

    def _choose(
        self, K: Array, targets: list[Array], loss: Any, train: Training, scale: float
    ) -> tuple[float, list[Any]]:
        """Set `alpha_`, `alphas_` and `loo_losses_`.

        Return the regulariser for weights of mean one, and where to start for every target.
        """
        self.__dict__.pop("loo_losses_", None)
        if not isinstance(self.alpha, str):
            self.alpha_, self.alphas_ = float(self.alpha), np.array([float(self.alpha)])
            return self.alpha_ / scale, [None] * len(targets)
        if self.alphas is None:
            share = train.weight / train.n
            alphas = usual_alphas(train.n, float(share @ K.diagonal() - share @ K @ share))
        else:
            alphas = np.sort(np.asarray(self.alphas, dtype=float))[::-1]
        Phi, few = features_of(K), 3 if self.alphas is None and len(targets) == 1 else None
        found = [
            left_out_losses(
                Phi,
                target,
                loss,
                alphas,
                fit_intercept=self.fit_intercept,
                sample_weight=train.w,
                max_iter=int(self.max_iter),
                stop=few,
            )
            for target in targets
        ]
        self.loo_losses_ = np.sum([losses for losses, _ in found], axis=0)
        alphas, best = alphas[: len(self.loo_losses_)], int(np.argmin(self.loo_losses_))
        self.alpha_, self.alphas_ = scale * float(alphas[best]), scale * alphas
        return float(alphas[best]), [functions[best] for _, functions in found]


def _losses_apart(state: dict[str, Any]) -> dict[str, Any]:
    """Return what a file holds as it would be now: the class once had the other losses too."""
    loss = state["params"].get("loss", "logistic")
    params = {name: value for name, value in state["params"].items() if name != "loss"}
    if loss == "logistic":
        return {**state, "version": 2, "params": params}
    return {**state, "class": "KernelLossClassifier", "version": 1}


class KernelLogisticRegression(KernelLossClassifier):
    r"""Kernel logistic regression.

    .. math:: \min_{a, b} \sum_i w_i L(y_i, f_i) + \tfrac{\alpha}{2}\, a'Ka, \qquad f = Ka + b

    with the logistic loss, multinomial for several classes, by Newton's method. The regulariser
    decides how well its probabilities are calibrated, and is chosen by what samples left out would
    lose. Other losses are those of `KernelLossClassifier`.

    Parameters
    ----------
    kernel : Kernel, name, scikit-learn kernel, callable or None
        Whatever `as_kernel` takes; None is the Gaussian with ``gamma="scale"``. Negative
        eigenvalues of a kernel that is not positive definite are set to zero, with a warning.
    alpha : float or "loo", default="loo"
        Regulariser; one over C of an SVM. "loo" takes the candidate with the smallest approximate
        leave-one-out loss.
    alphas : array of shape (m,), optional
        Candidates for "loo", for weights of mean one. Default: half a decade apart, from one under
        which nothing but the intercept is left until three were worse than the best.
    class_weight : dict, "balanced" or None
        Factors on the weights of the samples by class; "balanced" gives all classes the same
        total.
    fit_intercept : bool, default=True
        Whether to add an intercept, which is not penalised.
    tol : float, default=1e-8
        Stop when a Newton step promises to lower the objective by less than this share.
    max_iter : int, default=100
        Most Newton steps.
    verbose : bool, default=False
        Whether to print the objective after every Newton step.
    n_jobs : int, optional
        Threads for kernel evaluations; default all cores.
    engine : Engine, optional
        Who evaluates the tiles, see `Gram`; instead of `n_jobs`.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The labels.
    alpha_ : float
        The regulariser in use.
    alphas_ : array of shape (m,)
        The candidates, descending.
    loo_losses_ : array of shape (m,)
        Their mean losses of samples left out, to first order; past 300 samples on as many features.
        With "loo" only.
    objective_ : float
        The minimum.
    n_iter_ : int
        Newton steps.
    jitter_ : float
        What was added to a diagonal that was singular to working precision; 0 if nothing.
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
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], ["no", "no", "yes", "yes"]
    >>> machine = gs.KernelLogisticRegression(gs.Gaussian(1.0), alpha=0.1).fit(X, y)
    >>> machine.predict_proba([[1.5], [3.0]]).round(2)
    array([[0.5 , 0.5 ],
           [0.11, 0.89]])
    """

    loss = "logistic"
    _stored_upgrades: ClassVar[dict[int, Any]] = {1: _losses_apart}

    def __init__(
        self,
        kernel: Any = None,
        *,
        alpha: Any = "loo",
        alphas: Any = None,
        class_weight: Any = None,
        fit_intercept: bool = True,
        tol: float = 1e-8,
        max_iter: int = 100,
        verbose: bool = False,
        n_jobs: int | None = None,
        engine: Any = None,
    ) -> None:
        self.kernel = kernel
        self.alpha = alpha
        self.alphas = alphas
        self.class_weight = class_weight
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.engine = engine
