"""Support vector machines that keep their own expansion.

scikit-learn's solver (LIBSVM) trains on the Gram matrix; what it finds is kept as plain arrays
(support samples, dual coefficients, intercepts), and prediction is a kernel block times a matrix. So a
machine can be written to a file, and its predictions rest on no private state of scikit-learn.
"""

from __future__ import annotations

import warnings
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC, SVR
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, check_scalar, validate_data

from gramsmith.gram import Gram
from gramsmith.kernels import Precomputed, as_kernel
from gramsmith.targets import check_weights

Array = npt.NDArray[Any]

BLOCK = 2048  # rows of new samples in work at once


class SupportVectorMachine(BaseEstimator):  # type: ignore[misc]
    """What the two machines share: the kernel, the samples, the expansion."""

    kernel: Any
    kernel_: Any
    support_: Array
    support_samples_: Any
    coefficients_: Array
    intercept_: Array

    def _is_pairwise(self) -> bool:
        kernel = self.kernel
        return isinstance(kernel, Precomputed) or (
            isinstance(kernel, str) and kernel == "precomputed"
        )

    def _takes_vectors(self) -> bool:
        return bool(getattr(self.kernel, "requires_vector_input", True))

    def _accepts_sparse(self) -> bool:
        if self.kernel is None or isinstance(self.kernel, str):
            return self.kernel in (None, "rbf", "gaussian", "linear", "poly", "polynomial", "sigmoid")
        return bool(getattr(self.kernel, "accepts_sparse", False))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._is_pairwise()
        tags.input_tags.sparse = self._accepts_sparse()
        if not self._takes_vectors():
            tags.input_tags.string = True
            tags.input_tags.two_d_array = False
        positive = getattr(self.kernel, "requires_nonnegative_input", False)
        tags.input_tags.positive_only = bool(positive)
        return tags

    def _check_samples(self, X: Any, *, reset: bool) -> Any:
        """Return the samples as the kernel takes them."""
        if self._takes_vectors():
            sparse = "csr" if self._accepts_sparse() else False
            return validate_data(
                self, X, accept_sparse=sparse, dtype=(np.float64, np.float32), reset=reset
            )
        if hasattr(X, "shape"):
            return np.asarray(X)
        samples = np.empty(len(X), dtype=object)
        samples[:] = list(X)
        return samples

    def _train(self, machine: Any, X: Any, target: Array, sample_weight: Any) -> Any:
        """Fit scikit-learn's machine on the Gram matrix and keep its support."""
        w = None if sample_weight is None else check_weights(sample_weight, len(target))
        rows = np.arange(len(target)) if w is None else np.flatnonzero(w)
        self.kernel_ = clone(as_kernel(self.kernel, X))
        if len(rows) < len(target):
            X, target = _take(X, rows, pairwise=self._is_pairwise()), target[rows]
        K = Gram(self.kernel_, X).toarray()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            machine.fit(K, target, None if w is None else w[rows])
        if any(issubclass(item.category, ConvergenceWarning) for item in caught):
            warnings.warn(
                f"{type(self).__name__} stopped after max_iter={self.max_iter} iterations. Raise "  # type: ignore[attr-defined]
                "max_iter, lower C, or scale the features.",
                ConvergenceWarning,
                stacklevel=3,
            )
        self.support_ = rows[machine.support_]
        self.support_samples_ = None
        if not self._is_pairwise():
            self.support_samples_ = _take(X, machine.support_)
        self.n_samples_fit_ = len(target) if w is None else len(w)
        self.n_iter_ = int(np.max(machine.n_iter_))
        return machine

    def _expand(self, X: Any) -> Array:
        """Return Σ_i coefficient_i k(x, x_i) + intercept, one column per pair of classes."""
        check_is_fitted(self)
        X = self._check_samples(X, reset=False)
        if self._is_pairwise() and X.shape[1] != self.n_samples_fit_:
            raise ValueError(
                f"Expected a kernel block with one column per training sample "
                f"({self.n_samples_fit_}), got {X.shape[1]}. Compute k(new samples, training samples)."
            )
        n = X.shape[0]
        out = np.empty((n, self.coefficients_.shape[1]))
        for start in range(0, n, BLOCK):
            rows = slice(start, min(start + BLOCK, n))
            if self._is_pairwise():
                K = X[rows][:, self.support_]
            elif not len(self.support_):
                K = np.zeros((rows.stop - start, 0))
            else:
                K = self.kernel_(X[rows], self.support_samples_)
            out[rows] = K @ self.coefficients_ + self.intercept_
        return out


class KernelSVC(ClassifierMixin, SupportVectorMachine):  # type: ignore[misc]
    r"""Support vector classifier with any kernel.

    .. math:: f(x) = \sum_i \alpha_i y_i k(x_i, x) + b, \qquad 0 \le \alpha_i \le C

    Several classes are decided by one machine per pair of classes; the decision value of a class is
    the number of its victories, made continuous by the margins.

    Parameters
    ----------
    kernel : Kernel, name, scikit-learn kernel, callable or None
        Whatever `as_kernel` takes; None is the Gaussian with ``gamma="scale"``.
    C : float, default=1.0
        Price of a training error.
    class_weight : dict, "balanced" or None
        Factor on C per class.
    threshold : float, default=0.0
        With two classes, the decision value above which the second is predicted.
    tol : float, default=1e-3
        Accuracy of the solver.
    max_iter : int, default=-1
        Most iterations of the solver; -1 for no limit.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The labels.
    kernel_ : Kernel
        The kernel in use.
    support_ : int array of shape (n_support,)
        Rows of the training data that carry the machine.
    support_samples_ : array of shape (n_support, p) or sequence; None for precomputed kernels
        These rows.
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

    def __init__(
        self,
        kernel: Any = None,
        *,
        C: float = 1.0,
        class_weight: Any = None,
        threshold: float = 0.0,
        tol: float = 1e-3,
        max_iter: int = -1,
    ) -> None:
        self.kernel = kernel
        self.C = C
        self.class_weight = class_weight
        self.threshold = threshold
        self.tol = tol
        self.max_iter = max_iter

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> KernelSVC:
        """Fit the machine.

        Parameters
        ----------
        X : array of shape (n, p), sequence of n objects, or Gram matrix for "precomputed"
        y : array of shape (n,)
            Class labels.
        sample_weight : array of shape (n,), optional
            Factors on C per sample.

        Returns
        -------
        KernelSVC
        """
        check_scalar(self.C, "C", (int, float), min_val=0, include_boundaries="neither")
        X, y = _check_pair(self, X, y)
        check_classification_targets(y)
        classes, codes = np.unique(y, return_inverse=True)
        if sample_weight is not None:
            present = np.unique(codes[check_weights(sample_weight, len(codes)) > 0])
            if len(present) < 2:
                raise ValueError(
                    "Expected at least two classes with positive weight, got 1 class. "
                    "Add samples of another class."
                )
        if len(classes) < 2:
            raise ValueError(
                f"Expected at least two classes, got 1 class: {classes.tolist()}. "
                "Add samples of another class."
            )
        weight = self.class_weight
        if isinstance(weight, dict):
            weight = {int(np.flatnonzero(classes == c)[0]): v for c, v in weight.items() if c in classes}
        machine = SVC(
            C=self.C,
            kernel="precomputed",
            class_weight=weight,
            tol=self.tol,
            max_iter=self.max_iter,
            cache_size=500,
        )
        machine = self._train(machine, X, codes, sample_weight)
        self.classes_ = classes[machine.classes_]
        self.intercept_ = np.array(machine.intercept_, dtype=np.float64)
        self.coefficients_ = pair_coefficients(
            np.asarray(machine.dual_coef_, dtype=np.float64), machine.n_support_
        )
        return self

    def decision_function(self, X: Any) -> Array:
        """Return the decision values.

        Parameters
        ----------
        X : array of shape (n, p), sequence of n objects, or kernel block for "precomputed"

        Returns
        -------
        array of shape (n,) for two classes, else (n, n_classes)
        """
        F = self._expand(X)
        if len(self.classes_) == 2:
            return np.asarray(F[:, 0] - self.threshold)
        return votes(F, len(self.classes_))

    def predict(self, X: Any) -> Array:
        """Return the class of every sample.

        Parameters
        ----------
        X : array of shape (n, p), sequence of n objects, or kernel block for "precomputed"

        Returns
        -------
        array of shape (n,)
        """
        f = self.decision_function(X)
        code = (f > 0).astype(int) if f.ndim == 1 else f.argmax(axis=1)
        return np.asarray(self.classes_[code])


class KernelSVR(RegressorMixin, SupportVectorMachine):  # type: ignore[misc]
    r"""Support vector regression with any kernel.

    .. math:: f(x) = \sum_i \beta_i k(x_i, x) + b, \qquad |\beta_i| \le C

    Parameters
    ----------
    kernel : Kernel, name, scikit-learn kernel, callable or None
        Whatever `as_kernel` takes; None is the Gaussian with ``gamma="scale"``.
    C : float, default=1.0
        Price of an error beyond epsilon.
    epsilon : float, default=0.1
        Errors up to this are free; in units of y.
    tol : float, default=1e-3
        Accuracy of the solver.
    max_iter : int, default=-1
        Most iterations of the solver; -1 for no limit.

    Attributes
    ----------
    kernel_ : Kernel
        The kernel in use.
    support_ : int array of shape (n_support,)
        Rows of the training data that carry the machine.
    support_samples_ : array of shape (n_support, p) or sequence; None for precomputed kernels
        These rows.
    coefficients_ : array of shape (n_support, 1)
        Dual coefficients.
    intercept_ : array of shape (1,)
        Intercept.

    Examples
    --------
    >>> import gramsmith as gs
    >>> from gramsmith.machines.svm import KernelSVR
    >>> machine = KernelSVR(gs.Linear(), C=100.0, epsilon=0.01).fit([[0.0], [1.0], [2.0]], [0, 1, 2])
    >>> machine.predict([[3.0]]).round(1)
    array([3.])
    """

    def __init__(
        self,
        kernel: Any = None,
        *,
        C: float = 1.0,
        epsilon: float = 0.1,
        tol: float = 1e-3,
        max_iter: int = -1,
    ) -> None:
        self.kernel = kernel
        self.C = C
        self.epsilon = epsilon
        self.tol = tol
        self.max_iter = max_iter

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> KernelSVR:
        """Fit the machine.

        Parameters
        ----------
        X : array of shape (n, p), sequence of n objects, or Gram matrix for "precomputed"
        y : array of shape (n,)
            Values.
        sample_weight : array of shape (n,), optional
            Factors on C per sample.

        Returns
        -------
        KernelSVR
        """
        check_scalar(self.C, "C", (int, float), min_val=0, include_boundaries="neither")
        check_scalar(self.epsilon, "epsilon", (int, float), min_val=0)
        X, y = _check_pair(self, X, y, numeric=True)
        machine = SVR(
            C=self.C,
            kernel="precomputed",
            epsilon=self.epsilon,
            tol=self.tol,
            max_iter=self.max_iter,
            cache_size=500,
        )
        machine = self._train(machine, X, y, sample_weight)
        self.intercept_ = np.array(machine.intercept_, dtype=np.float64)
        self.coefficients_ = np.array(machine.dual_coef_, dtype=np.float64).T
        return self

    def predict(self, X: Any) -> Array:
        """Return the value of every sample.

        Parameters
        ----------
        X : array of shape (n, p), sequence of n objects, or kernel block for "precomputed"

        Returns
        -------
        array of shape (n,)
        """
        return np.asarray(self._expand(X)[:, 0])


def pair_coefficients(dual: Array, n_support: Array) -> Array:
    """Return LIBSVM's dual coefficients as one column per pair of classes.

    Row j - 1 (for classes before j) or j (for those after) of LIBSVM's table holds the coefficients
    of a support vector in its duel with class j.
    """
    C = len(n_support)
    if C == 2:
        return np.ascontiguousarray(dual.T)
    ends = np.concatenate([[0], np.cumsum(n_support)])
    columns = []
    for a in range(C):
        for b in range(a + 1, C):
            column = np.zeros(dual.shape[1])
            column[ends[a] : ends[a + 1]] = dual[b - 1, ends[a] : ends[a + 1]]
            column[ends[b] : ends[b + 1]] = dual[a, ends[b] : ends[b + 1]]
            columns.append(column)
    return np.column_stack(columns)


def votes(F: Array, n_classes: int) -> Array:
    """Return one decision value per class from those of all pairs, shape (n, n_classes).

    A class gets one point per duel it wins; margins, squeezed into (-1/3, 1/3), settle ties.
    """
    won, margin = np.zeros((len(F), n_classes)), np.zeros((len(F), n_classes))
    k = 0
    for a in range(n_classes):
        for b in range(a + 1, n_classes):
            won[:, a] += F[:, k] > 0
            won[:, b] += F[:, k] <= 0
            margin[:, a] += F[:, k]
            margin[:, b] -= F[:, k]
            k += 1
    return np.asarray(won + margin / (3.0 * (np.abs(margin) + 1.0)))


def _check_pair(machine: SupportVectorMachine, X: Any, y: Any, *, numeric: bool = False) -> Any:
    """Return samples and targets, checked together."""
    if machine._takes_vectors():
        sparse = "csr" if machine._accepts_sparse() else False
        return validate_data(
            machine,
            X,
            y,
            accept_sparse=sparse,
            dtype=(np.float64, np.float32),
            y_numeric=numeric,
        )
    X = machine._check_samples(X, reset=True)
    y = np.asarray(y, dtype=np.float64) if numeric else np.asarray(y)
    if len(X) != len(y):
        raise ValueError(f"Expected one target per sample ({len(X)}), got {len(y)}.")
    return X, y


def _take(X: Any, index: Array, *, pairwise: bool = False) -> Any:
    return X[np.ix_(index, index)] if pairwise else X[index]
