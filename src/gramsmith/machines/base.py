"""What all machines share: samples, weights, the kernel, and the expansion they end as.

Every machine is, once fitted, a kernel expansion F(x) = Σ_s k(x, x_s) coefficients_s + intercept
over some of its training samples. The fitted state is plain: arrays, numbers, strings and the
kernel.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import check_array
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from gramsmith.gram import Gram
from gramsmith.kernels import (
    Gaussian,
    Kernel,
    Precomputed,
    as_kernel,
    check_kernel_matrix,
    default_kernel,
)
from gramsmith.kernels.precomputed import rests_on_matrix
from gramsmith.machines.class_weight import apply_class_weight
from gramsmith.machines.samples import as_samples, as_stored, is_function, is_symbolic
from gramsmith.machines.training import Training as Training
from gramsmith.targets import check_weights

Array = npt.NDArray[Any]


class KernelMachine(BaseEstimator):
    """Base class of all machines.

    Subclasses take `kernel` as their first parameter, call `_begin` at the head of `fit`, and
    `_keep` at its end.
    """

    _stored: ClassVar[dict[str, str]] = {
        "n_samples_fit_": "count n",
        "kernel_": "kernel",
        "support_": "index n s",
        "support_samples_": "samples s p | none",
        "coefficients_": "array s t",
        "intercept_": "array t | array 1",
    }
    _stored_parameters: ClassVar[dict[str, str]] = {"kernel": "kernel | source | text | none"}

    kernel: Any
    kernel_: Kernel
    support_: Array
    support_samples_: Any
    coefficients_: Array
    intercept_: Array
    n_samples_fit_: int

    # ---- what the kernel wants --------------------------------------------------------------

    def _is_pairwise(self) -> bool:
        kernel = self.kernel
        named = isinstance(kernel, str) and kernel == "precomputed"
        return named or isinstance(kernel, Precomputed)

    def _asks(self, what: str, otherwise: bool) -> bool:
        """Return a property of the kernel before it has seen data."""
        kernel = self.kernel
        if kernel is None:
            kernel = Gaussian()
        elif isinstance(kernel, str):
            known = kernel if kernel != "precomputed" else "linear"
            try:
                kernel = as_kernel(known, gamma=1.0)
            except ValueError:
                return otherwise  # an unknown name: fit says so
            if self._is_pairwise() and what == "accepts_sparse":
                return False
        return bool(getattr(kernel, what, otherwise))

    def _takes_vectors(self, X: Any = None) -> bool:
        if X is not None and is_function(self.kernel) and is_symbolic(X):
            return False  # a function does not say what it wants, but these are no numbers
        return self._asks("requires_vector_input", True)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._is_pairwise()
        tags.input_tags.sparse = self._asks("accepts_sparse", False)
        tags.input_tags.positive_only = self._asks("requires_nonnegative_input", False)
        if not self._takes_vectors():
            tags.input_tags.string = True
            tags.input_tags.two_d_array = False
        return tags

    # ---- at the head of fit -----------------------------------------------------------------

    def _begin(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        *,
        classes: bool,
        many: bool = False,
        class_weight: Any = None,
    ) -> Training:
        """Validate samples, targets and weights; resolve the kernel.

        Parameters
        ----------
        classes : bool
            Whether y holds class labels; then `classes_` is set and class numbers are returned.
        many : bool
            Whether y may have several columns.
        class_weight : dict, "balanced" or None
            Factors on the weights, see `apply_class_weight`.
        """
        X, y = self._check_pair(X, y, numeric=not classes, many=many)
        n = len(y)
        if self._is_pairwise() and X.shape[1] != n:
            raise ValueError(
                f"Expected a square Gram matrix, got shape {X.shape}. "
                "Rows and columns must be the same samples."
            )
        if n < 2:
            raise ValueError(
                f"{type(self).__name__}: expected at least 2 samples, got 1 sample "
                "(n_samples = 1). Add training samples."
            )
        self.n_samples_fit_ = n
        w = None if sample_weight is None else check_weights(sample_weight, n)
        rows = np.arange(n)
        if w is not None and not w.all():
            rows = np.flatnonzero(w)
            X = X[np.ix_(rows, rows)] if self._is_pairwise() else X[rows]
            y, w = y[rows], w[rows]
        repeats = w
        if classes:
            self.classes_, y = _encode(self, y)
            w = apply_class_weight(type(self).__name__, class_weight, self.classes_, y, w)
        if self._is_pairwise():
            X = check_kernel_matrix(X, psd="ignore")
        self._set_kernel(X, w)
        return Training(X, y, w, rows, repeats)

    def _set_kernel(self, X: Any, w: Array | None) -> None:
        """Set `kernel_`, a copy that no one else holds."""
        kernel = clone(default_kernel(self.kernel, X, w))
        kernel.check_parameters()
        if not self._is_pairwise() and rests_on_matrix(kernel):
            raise ValueError(
                f"{type(self).__name__}: expected a Gram matrix as it is, got the expression "
                f"{kernel} of one, whose parts cannot be told apart in new samples. "
                'Compute the expression on the matrices, and use kernel="precomputed".'
            )
        self.kernel_ = kernel

    def _check_pair(self, X: Any, y: Any, *, numeric: bool, many: bool) -> tuple[Any, Array]:
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None. "
                "Pass one target per sample."
            )
        if self._takes_vectors(X):
            X, y = validate_data(
                self,
                X,
                y,
                accept_sparse="csr" if self._asks("accepts_sparse", False) else False,
                dtype=(np.float64, np.float32),
                y_numeric=numeric,
                multi_output=many,
            )
        else:
            X = as_samples(X)
            y = np.asarray(y)
            if numeric:
                y = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
            if len(X) != len(y):
                raise ValueError(
                    f"Expected one target per sample ({len(X)}), got {len(y)}. "
                    "X and y have inconsistent numbers of samples."
                )
        if not classes_shape(y, many):
            y = column_or_1d(y, warn=True)
        return X, np.asarray(y, dtype=np.float64) if numeric else np.asarray(y)

    # ---- Gram matrices ----------------------------------------------------------------------

    def _gram(self, X: Any) -> Gram:
        return Gram(self.kernel_, X, n_jobs=getattr(self, "n_jobs", None), dtype=np.float64)

    def _check_memory(self, n: int, remedy: str, copies: int = 2) -> None:
        need, have = copies * 8 * n**2, _physical_memory()
        if need > have:
            raise MemoryError(
                f"Expected a Gram matrix that fits into memory ({have / 2**30:.1f} GiB), got "
                f"{n} samples, which need {need / 2**30:.1f} GiB. {remedy}"
            )

    def _dense(self, train: Training, remedy: str, copies: int = 2) -> Array:
        """Return the Gram matrix of the training samples, after asking whether it fits."""
        self._check_memory(train.n, remedy, copies)
        if self._is_pairwise():
            return np.array(train.X, dtype=np.float64)
        return self._gram(train.X).toarray()

    # ---- the expansion ----------------------------------------------------------------------

    def _keep(
        self, train: Training, coefficients: Array, intercept: Any, index: Array | None = None
    ) -> None:
        """Store the expansion; `index` says which training samples carry it (default all)."""
        self.support_ = train.rows if index is None else train.rows[index]
        self.support_samples_ = None
        if not self._is_pairwise():
            # A copy: what the user does to X afterwards is not the machine's business.
            self.support_samples_ = train.X.copy() if index is None else train.X[index]
        self.coefficients_ = np.ascontiguousarray(coefficients, dtype=np.float64)
        self.intercept_ = np.atleast_1d(np.asarray(intercept, dtype=np.float64))

    def compress(self) -> Any:
        """Drop the training samples whose coefficients are all zero; predictions stay the same.

        Returns
        -------
        self
        """
        check_is_fitted(self, "coefficients_")  # a fit that failed may have left others
        used = np.flatnonzero(np.any(self.coefficients_ != 0.0, axis=1))
        self.support_ = self.support_[used]
        if self.support_samples_ is not None:
            self.support_samples_ = self.support_samples_[used]
        self.coefficients_ = self.coefficients_[used]
        return self

    def _check_new(self, X: Any) -> Any:
        """Return new samples, validated against those of fit."""
        check_is_fitted(self, "coefficients_")  # a fit that failed may have left others
        if not self._takes_vectors(X):
            return as_samples(X)
        return validate_data(
            self,
            X,
            accept_sparse="csr" if self._asks("accepts_sparse", False) else False,
            dtype=(np.float64, np.float32),
            reset=False,
        )

    def _blocks(self, X: Any) -> Iterator[tuple[slice, Array]]:
        """Yield row slices of new samples with their kernel against the kept ones."""
        n, s = X.shape[0], max(len(self.support_), 1)
        budget = float(get_config()["working_memory"]) * 2**20
        step = int(max(1, min(n, budget // (4 * 8 * s))))
        for start in range(0, n, step):
            rows = slice(start, min(start + step, n))
            if not len(self.support_):
                yield rows, np.zeros((rows.stop - start, 0))
            elif self._is_pairwise():
                yield rows, np.asarray(X[rows], dtype=np.float64)[:, self.support_]
            else:
                yield (
                    rows,
                    self.kernel_(as_stored(X[rows], self.support_samples_), self.support_samples_),
                )

    def _expand(self, X: Any) -> Array:
        """Return Σ_s k(x, x_s) coefficients_s + intercept, shape (n, outputs)."""
        X = self._check_new(X)
        out = np.empty((X.shape[0], self.coefficients_.shape[1]))
        for rows, K in self._blocks(X):
            out[rows] = K @ self.coefficients_ + self.intercept_
        return out


class KernelClassifier(ClassifierMixin, KernelMachine):
    """Base class of the classifiers: decision values, and the class of the largest."""

    _stored: ClassVar[dict[str, str]] = {"classes_": "labels c"}

    classes_: Array

    def decision_function(self, X: Any) -> Array:
        """Return the decision values of new samples.

        Parameters
        ----------
        X : array of shape (n, p), sequence of n objects, or kernel block of shape (n, n_fit)
            New samples.

        Returns
        -------
        array of shape (n,) for two classes, else (n, n_classes)
            Of two classes the second is predicted where the value is positive.
        """
        F = self._expand(X)
        return F[:, 0] if F.shape[1] == 1 else F

    def predict(self, X: Any) -> Array:
        """Return the class of new samples.

        Parameters
        ----------
        X : array of shape (n, p), sequence of n objects, or kernel block of shape (n, n_fit)
            New samples.

        Returns
        -------
        array of shape (n,)
        """
        f = self.decision_function(X)
        code = (f > 0).astype(np.intp) if f.ndim == 1 else np.argmax(f, axis=1)
        return np.asarray(self.classes_[code])


def check_number(who: Any, name: str, *, low: float = 0.0, equal: bool = False) -> None:
    """Raise unless the parameter `name` of an estimator is a finite number above `low`.

    Parameters
    ----------
    who : estimator
    name : str
    low : float
    equal : bool
        Whether `low` itself is allowed.
    """
    value = getattr(who, name)
    if not is_finite_number(value) or value < low or (value == low and not equal):
        raise ValueError(
            f"{type(who).__name__}: expected {name} {'>=' if equal else '>'} {low:g}, got "
            f"{value!r}. Use a number such as {name}={low + 1:g}."
        )


def is_finite_number(value: Any) -> bool:
    """Return whether a parameter is one finite number.

    Parameters
    ----------
    value : object
    """
    return isinstance(value, int | float | np.integer | np.floating) and bool(np.isfinite(value))


def check_option(who: Any, name: str, allowed: tuple[str, ...]) -> None:
    """Raise unless the parameter `name` of an estimator is one of the words allowed.

    Parameters
    ----------
    who : estimator
    name : str
    allowed : tuple of str
    """
    value = getattr(who, name)
    if not (isinstance(value, str) and value in allowed):
        raise ValueError(
            f"{type(who).__name__}: expected {name} to be one of {', '.join(allowed)}, got "
            f"{value!r}. Choose one of them."
        )


def classes_shape(y: Any, many: bool) -> bool:
    """Return whether targets have the shape they may have."""
    return np.ndim(y) == 1 or (many and np.ndim(y) == 2)


def _encode(machine: KernelMachine, y: Array) -> tuple[Array, Array]:
    check_classification_targets(y)
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(
            f"{type(machine).__name__}: expected at least two classes, got one class only: "
            f"{classes.tolist()[0]!r}. Add samples of another class (with positive weight)."
        )
    return classes, codes.ravel()


def _physical_memory() -> float:
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, OSError, ValueError):
        return float("inf")
