"""Relevance vector machines: sparse Bayesian models on kernel columns."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy.special import expit, log_expit, logsumexp

from gramsmith.arguments import as_flag
from gramsmith.gram.threads import dense_work
from gramsmith.machines.base import (
    KernelMachine,
    KernelRegressor,
    ProbabilisticClassifier,
    Training,
)
from gramsmith.parameters import with_parameters
from gramsmith.solvers import (
    EvidenceSolution,
    fit_bernoulli_evidence,
    fit_gaussian_evidence,
    warn_unless_converged,
)
from gramsmith.solvers.evidence import Basis

Array = npt.NDArray[Any]

FEW = 100  # order of the matrices that are solved again and again: active basis functions
REMEDY = "Fit on a sample of the rows: the basis functions are the training samples."


@with_parameters
class _RelevanceVectors(KernelMachine):
    """The basis functions, and the posterior of their weights.

    Parameters
    ----------
    fit_intercept : bool, default=True
        Whether a constant is among the basis functions.
    tol : float, default=1e-3
        Stop when no action raises the log evidence by more.

    Attributes
    ----------
    relevance_indices_ : int array of shape (n_relevance,)
        The relevance vectors (of all classes) among the training samples; so is `support_`.
    precisions_ : array of shape (n_relevance, n_machines)
        α; infinite where a model does not use a vector. One model for values and two classes,
        else one per class.
    covariance_ : array of shape (n_machines, n_relevance + 1, n_relevance + 1)
        Posterior covariance of intercept and weights.
    coefficients_ : array of shape (n_relevance, n_machines)
        Mean (of classes: most probable) weights.
    """

    _stored: ClassVar[dict[str, str]] = {
        "covariance_": "array t r r",
        "precisions_": "loose s t",
        "log_evidence_": "real",
        "n_iter_": "whole",
        "relevance_indices_": "index n s",
        "history_": "value?",
    }

    fit_intercept: bool = True
    tol: float = 1e-3
    max_iter: int = 10_000
    verbose: bool = False

    def _basis(self, train: Training) -> Basis:
        """Return ones (if wanted) and the kernel columns; K need not be positive definite."""
        # columns, their products and, where hardly any function is left out, a posterior as large
        K = self._dense(train, REMEDY, copies=6)
        Phi = np.column_stack([np.ones(train.n), K]) if self.fit_intercept else K
        return Basis(Phi, train.weight)

    def _report(self, solution: EvidenceSolution, what: str = "") -> None:
        warn_unless_converged(solution, type(self).__name__)
        self._say(
            f"{what}{len(solution.active)} basis functions, "
            f"log evidence {solution.log_evidence:.6g} after {solution.n_iter} steps"
        )

    def _store(
        self, train: Training, solutions: list[EvidenceSolution], offset: float = 0.0
    ) -> None:
        """Keep the union of the relevance vectors; the posterior has the intercept first."""
        shift = 1 if self.fit_intercept else 0
        index = np.unique(np.concatenate([f.active[f.active >= shift] - shift for f in solutions]))
        index = index.astype(np.intp)
        s, t = len(index), len(solutions)
        coefficients, intercept = np.zeros((s, t)), np.full(t, offset)
        self.covariance_ = np.zeros((t, s + 1, s + 1))
        self.precisions_ = np.full((s, t), np.inf)
        for k, f in enumerate(solutions):
            bias = f.active < shift
            place = np.searchsorted(index, f.active - shift) + 1
            place[bias] = 0
            coefficients[place[~bias] - 1, k] = f.mean[~bias]
            intercept[k] += float(f.mean[bias].sum())
            self.covariance_[k][np.ix_(place, place)] = f.covariance
            self.precisions_[place[~bias] - 1, k] = f.alpha[~bias]
        self.log_evidence_ = float(sum(f.log_evidence for f in solutions))
        self.n_iter_ = int(max(f.n_iter for f in solutions))
        self._keep(train, coefficients, intercept, index)
        self.relevance_indices_ = self.support_

    def _mean_and_variance(self, X: Any) -> tuple[Array, Array]:
        """Return mean and variance of the expansion under the posterior, each (n, machines)."""

        def moments(K: Array) -> Array:
            P = np.column_stack([np.ones(len(K)), K])
            variances = [np.einsum("ij,ij->i", P @ S, P) for S in self.covariance_]
            return np.column_stack([K @ self.coefficients_ + self.intercept_, *variances])

        mean, variance = np.hsplit(self._on_blocks(self._check_new(X), moments), 2)
        return mean, np.maximum(variance, 0.0)

    def _check_stored(self) -> None:
        super()._check_stored()
        if self.covariance_.shape[1] != len(self.coefficients_) + 1:
            raise ValueError("Expected the covariance of the intercept and all coefficients.")


@with_parameters
class RelevanceVectorRegressor(KernelRegressor, _RelevanceVectors):
    r"""Relevance vector regression.

    .. math:: t = \sum_i w_i k(x_i, x) + b + \varepsilon, \qquad w_i \sim N(0, 1/\alpha_i), \quad
              \varepsilon \sim N(0, 1/\beta)

    Every precision and the noise maximise the evidence; most weights vanish. The kernel need not be
    positive definite. Predictions come with their standard deviation. Precisions and noise are
    chosen for weights of mean one, so that multiplying all weights by a number changes nothing.

    Parameters
    ----------
    max_iter : int, default=10000
        Most actions (additions, re-estimations, deletions).

    Attributes
    ----------
    noise_variance_ : float
        1/β.
    log_evidence_ : float
        The logarithm of the evidence attained, noise of row i having variance 1/(β w_i).
    history_ : list of float
        The logarithm of the evidence after every action; it never falls.
    n_iter_ : int
        Actions taken.

    References
    ----------
    M. Tipping, "Sparse Bayesian learning and the relevance vector machine", Journal of Machine
    Learning Research 1, 2001.

    Examples
    --------
    >>> import numpy as np
    >>> import gramsmith as gs
    >>> x = np.linspace(-10, 10, 100)[:, None]
    >>> y = np.sinc(x / np.pi).ravel() + 0.1 * np.random.default_rng(0).normal(size=100)
    >>> machine = gs.RelevanceVectorRegressor(gs.Gaussian(2.5)).fit(x, y)
    >>> len(machine.relevance_indices_), round(machine.noise_variance_**0.5, 2)
    (9, 0.09)
    """

    _stored: ClassVar[dict[str, str]] = {"noise_variance_": "number"}

    def _fit(self, train: Training) -> None:
        train = train.of_mean_one()
        # The constant is penalised like any weight, so it should be a small correction.
        offset = float(np.average(train.y, weights=train.w)) if self.fit_intercept else 0.0
        basis = self._basis(train)
        with dense_work(FEW):
            solution = fit_gaussian_evidence(
                basis, train.y - offset, tol=float(self.tol), max_iter=int(self.max_iter)
            )
        # The solver counts rows; a density of rows with noise 1 / (β w_i) has these factors too.
        density = 0.5 * float(np.sum(np.log(train.weight)))
        history = [value + density for value in solution.history]
        solution = replace(solution, log_evidence=solution.log_evidence + density, history=history)
        self._report(solution)
        self.noise_variance_ = 1.0 / solution.beta if np.ptp(train.y) else 0.0
        self.history_ = solution.history
        self._store(train, [solution], offset)

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Return the values of new samples.

        Parameters
        ----------
        X : array of shape (n, p), sequence of n objects, or kernel block of shape (n, n_fit)
            New samples.
        return_std : bool, default=False
            Whether to return their standard deviation too, noise included.

        Returns
        -------
        array of shape (n,), or a pair of them
        """
        if not as_flag("return_std", return_std):
            return super().predict(X)
        mean, variance = self._mean_and_variance(X)
        return mean[:, 0], np.sqrt(variance[:, 0] + self.noise_variance_)


@with_parameters
class RelevanceVectorClassifier(ProbabilisticClassifier, _RelevanceVectors):
    r"""Relevance vector classification.

    .. math:: p(y = 1 | x) = \int \sigma(f)\, N(f; \mu(x), s^2(x))\, df
              \approx \sigma\!\left(\mu / \sqrt{1 + \pi s^2 / 8}\right)

    The weights have a Gaussian prior each, whose precision maximises the evidence in Laplace's
    approximation; most weights vanish. The kernel need not be positive definite. Several classes go
    one against the rest, and their probabilities are scaled to one.

    Parameters
    ----------
    max_iter : int, default=1000
        Most Laplace approximations.

    Attributes
    ----------
    log_evidence_ : float
        The logarithm of the evidence attained, summed over the models.
    n_iter_ : int
        Laplace approximations of the longest run.

    References
    ----------
    M. Tipping, A. Faul, "Fast marginal likelihood maximisation for sparse Bayesian models", AISTATS
    2003.

    Examples
    --------
    >>> import gramsmith as gs
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(200, noise=0.2, random_state=0)
    >>> machine = gs.RelevanceVectorClassifier(gs.Gaussian(0.7)).fit(X, y)
    >>> len(machine.relevance_indices_) < 15, machine.score(X, y) > 0.95
    (True, True)
    """

    max_iter: int = 1000

    def _fit(self, train: Training) -> None:
        train = train.of_mean_one()
        basis = self._basis(train)
        machines = [1] if len(self.classes_) == 2 else list(range(len(self.classes_)))
        solutions = []
        for c in machines:
            target = (train.y == c).astype(np.float64)
            with dense_work(FEW):
                solution = fit_bernoulli_evidence(
                    basis, target, tol=float(self.tol), max_iter=int(self.max_iter)
                )
            self._report(solution, f"class {self.classes_[c]!r}: ")
            solutions.append(solution)
        self._store(train, solutions)

    def decision_function(self, X: Any) -> Array:
        """Return the log odds of new samples under the posterior, (n,) or (n, n_classes)."""
        mean, variance = self._mean_and_variance(X)
        F = mean / np.sqrt(1.0 + np.pi * variance / 8.0)
        return F[:, 0] if F.shape[1] == 1 else F

    def predict_proba(self, X: Any) -> Array:
        F = self.decision_function(X)
        if F.ndim == 1:
            return np.column_stack([expit(-F), expit(F)])
        # By logarithms, so that the probabilities of a far outlier still add up to one.
        log_p = log_expit(F)
        return np.asarray(np.exp(log_p - logsumexp(log_p, axis=1, keepdims=True)))
