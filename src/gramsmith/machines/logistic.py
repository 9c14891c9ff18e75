"""Kernel logistic regression, and the same scheme with other losses."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.utils.metaestimators import available_if

from gramsmith.machines.base import KernelClassifier, check_number, check_option
from gramsmith.solvers import fit_expansion, warn_unless_converged
from gramsmith.solvers.definite import clip_negative
from gramsmith.solvers.losses import make_loss

Array = npt.NDArray[Any]

LOSSES = ("logistic", "squared", "squared_hinge", "hinge")


def _has_probabilities(machine: Any) -> bool:
    if machine.loss == "logistic":
        return True
    raise AttributeError(
        f"Expected loss='logistic' for probabilities, got {machine.loss!r}. "
        "Use decision_function, or sklearn.calibration.CalibratedClassifierCV."
    )


class KernelLogisticRegression(KernelClassifier):
    r"""Kernel logistic regression.

    .. math:: \min_{a, b} \sum_i w_i L(y_i, f_i) + \tfrac{\alpha}{2}\, a'Ka, \qquad f = Ka + b

    with the logistic loss, multinomial for several classes, by Newton's method. Its probabilities
    are calibrated by construction: they minimise a proper score. Other losses give other machines
    of the same family (least squares, L2-SVM, SVM); with several classes they go one against the
    rest.

    Parameters
    ----------
    kernel : Kernel, name, scikit-learn kernel, callable or None
        Whatever `as_kernel` takes; None is the Gaussian with ``gamma="scale"``. Negative
        eigenvalues of a kernel that is not positive definite are set to zero, with a warning.
    alpha : float, default=1.0
        Regulariser; one over C of an SVM.
    loss : {"logistic", "squared", "squared_hinge", "hinge"}, default="logistic"
        "hinge" has its corner rounded over a width of 0.05.
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

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The labels.
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
    >>> machine = gs.KernelLogisticRegression(gs.Gaussian(1.0), alpha=0.1).fit(X, y)
    >>> machine.predict_proba([[1.5], [3.0]]).round(2)
    array([[0.5 , 0.5 ],
           [0.11, 0.89]])
    """

    _stored: ClassVar[dict[str, str]] = {
        "objective_": "number",
        "n_iter_": "whole",
        "jitter_": "number?",
    }

    def __init__(
        self,
        kernel: Any = None,
        *,
        alpha: float = 1.0,
        loss: str = "logistic",
        class_weight: Any = None,
        fit_intercept: bool = True,
        tol: float = 1e-8,
        max_iter: int = 100,
        verbose: bool = False,
        n_jobs: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.alpha = alpha
        self.loss = loss
        self.class_weight = class_weight
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.verbose = verbose
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> KernelLogisticRegression:
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
        KernelLogisticRegression
        """
        check_number(self, "alpha")
        check_number(self, "tol")
        check_number(self, "max_iter", low=1, equal=True)
        check_option(self, "loss", LOSSES)
        train = self._begin(X, y, sample_weight, classes=True, class_weight=self.class_weight)
        remedy = "Use ImportVectorClassifier with max_candidates, or a sample of the rows."
        K = self._dense(train, remedy, copies=4)
        K, kept = clip_negative(K)
        C = len(self.classes_)
        if self.loss == "logistic" and C > 2:
            targets = [(make_loss("multinomial"), make_loss("multinomial").encode(train.y, C))]
        else:
            loss = make_loss(self.loss)
            codes = [train.y] if C == 2 else [(train.y == c).astype(int) for c in range(C)]
            targets = [(loss, loss.encode(code, 2)) for code in codes]
        A, b, self.objective_, self.n_iter_, self.jitter_ = [], [], 0.0, 0, 0.0
        for loss, target in targets:
            found = fit_expansion(
                K,
                target,
                loss,
                float(self.alpha),
                fit_intercept=self.fit_intercept,
                sample_weight=train.w,
                max_iter=int(self.max_iter),
                tol=float(self.tol),
            )
            if self.verbose:
                for k, value in enumerate(found.history):
                    print(f"[KernelLogisticRegression] step {k}: objective {value:.8g}")
            warn_unless_converged(found, "KernelLogisticRegression")
            A.append(found.a.reshape(train.n, -1))
            b.append(np.atleast_1d(found.b))
            self.objective_ += found.objective
            self.n_iter_ = max(self.n_iter_, found.n_iter)
            self.jitter_ = max(self.jitter_, found.jitter)
        self._keep(train, kept(np.hstack(A)), np.concatenate(b))
        return self

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Array:
        """Return class probabilities; only with the logistic loss.

        Parameters
        ----------
        X : array of shape (n, p), sequence of n objects, or kernel block of shape (n, n_fit)
            New samples.

        Returns
        -------
        array of shape (n, n_classes)
        """
        f = self.decision_function(X)
        return make_loss("logistic" if f.ndim == 1 else "multinomial").probability(f)

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> Array:
        """Return logarithms of class probabilities; only with the logistic loss.

        Parameters
        ----------
        X : array of shape (n, p), sequence of n objects, or kernel block of shape (n, n_fit)
            New samples.

        Returns
        -------
        array of shape (n, n_classes)
        """
        f = self.decision_function(X)
        return make_loss("logistic" if f.ndim == 1 else "multinomial").log_probability(f)
