"""What all machines share: samples, weights, the kernel, and the expansion they end as.

Every machine is, once fitted, a kernel expansion F(x) = Σ_s k(x, x_s) coefficients_s + intercept
over some of its training samples. The fitted state is plain: arrays, numbers, strings and the
kernel.

A machine of your own derives from `KernelClassifier` or `KernelRegressor` and gives one method,
``solve(K, y, w)``, which returns coefficients and intercepts from the Gram matrix, the class
numbers or values, and the weights. Everything else is inherited: kernels of every kind, strings,
precomputed matrices, weights, cross-validation, predictions in blocks. A machine that does not want
the whole Gram matrix gives ``_fit(train)`` instead, which ends with ``self._keep(train,
coefficients, intercept)``.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, field, replace
from itertools import combinations
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.utils import check_array
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from gramsmith.arguments import abridged, check_params, counted
from gramsmith.gram import ENGINES, Gram, SharesEngine, as_engine
from gramsmith.gram.threads import count_workers, dense_work, ordered_map
from gramsmith.kernels import Gaussian, Kernel, as_kernel, check_kernel_matrix, default_kernel
from gramsmith.kernels.finite import as_stored, checked_data
from gramsmith.kernels.precomputed import is_precomputed, rests_on_matrix
from gramsmith.machines.explanation import RowExplanation, explain, outside
from gramsmith.machines.intervals import PredictionIntervals
from gramsmith.machines.novelty import Novelty
from gramsmith.machines.sets import PredictionSets
from gramsmith.parameters import declared, forget_optional, with_parameters
from gramsmith.solvers.memory import check_memory
from gramsmith.targets import as_labels, check_weights, finite_values, normalised_weights

Array = npt.NDArray[Any]

POSITIVE: Any = Interval(Real, 0, None, closed="neither")
NOT_NEGATIVE: Any = Interval(Real, 0, None, closed="left")
AT_LEAST_ONE: Any = Interval(Integral, 1, None, closed="left")

AT_ONCE = 1 << 21  # kernel values that a thread forms at once in predictions


@dataclass(frozen=True)
class Training:
    """Validated training samples, those of weight zero left out."""

    X: Any  # (n, p)
    y: Array  # class numbers, or values, (n,) or (n, q)
    w: Array | None  # positive weights; None means that all are one, (n,)
    rows: Array  # where the samples stood in what the user gave, (n,)
    scale: float = 1.0  # what the weights were divided by

    @property
    def n(self) -> int:
        """The number of samples."""
        return len(self.rows)

    @property
    def weight(self) -> Array:
        """The weights, ones where none were given."""
        return np.ones(self.n) if self.w is None else self.w

    def of_mean_one(self) -> Training:
        """Return the same with weights of mean one, for what is chosen or measured."""
        if self.w is None:
            return self
        largest = float(self.w.max())  # sums of huge weights overflow
        return replace(
            self, w=normalised_weights(self.w), scale=largest * float(np.mean(self.w / largest))
        )


class _Fitted:
    """What every machine has once it is fitted."""

    kernel_: Kernel
    support_: Any
    support_samples_: Any
    coefficients_: Array
    intercept_: Array
    n_samples_fit_: int


@with_parameters
class KernelMachine(_Fitted, Novelty, SharesEngine, BaseEstimator):
    """Base class of all machines.

    Subclasses give `solve` or `_fit`, and their parameters as annotated defaults. What they do not
    say of the following in their own docstrings is added to them.

    Parameters
    ----------
    kernel : Kernel, name, scikit-learn kernel, callable or None
        Whatever `as_kernel` takes; None is the Gaussian with gamma = 1 / Σ var. Where an estimator
        needs a positive definite one, negative eigenvalues are set to zero, with a warning.
    class_weight : dict, "balanced" or None
        Factors on the weights of the samples by class; "balanced" gives all classes the same
        total.
    fit_intercept : bool, default=True
        Whether to add an intercept, which is not penalised.
    random_state : int, RandomState or None
        For what is drawn: landmarks, candidates, or the order of samples.
    verbose : bool, default=False
        Whether to print what is done, a line per step.
    n_jobs : int, optional
        Threads for kernel evaluations; default all cores.
    engine : Engine, optional
        Who evaluates the tiles, see `Gram`; instead of `n_jobs`.

    Attributes
    ----------
    kernel_ : Kernel
        The kernel in use.
    support_ : int array of shape (n_support,)
        Training samples in the expansion.
    support_samples_ : array of shape (n_support, p) or sequence; None for precomputed kernels
        These samples.
    coefficients_ : array of shape (n_support, n_outputs)
        Their coefficients; of two classes there is one output.
    intercept_ : array of shape (n_outputs,)
        Intercepts.
    alpha_ : float
        The regulariser in use.
    jitter_ : float
        What was added to a diagonal that was singular to working precision; 0 if nothing.
    n_iter_ : int
        Iterations of the solver, those of the longest run if there are several.
    """

    # What these parameters may be in any machine that has them; subclasses add theirs.
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "C": [POSITIVE],
        "alpha": [POSITIVE],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "fit_intercept": ["boolean"],
        "max_iter": [AT_LEAST_ONE],
        "n_jobs": [Integral, None],
        "engine": ENGINES,
        "random_state": ["random_state"],
        "tol": [POSITIVE],
        "verbose": ["verbose"],
    }

    _stored: ClassVar[dict[str, str]] = {
        "n_samples_fit_": "count n",
        "kernel_": "kernel",
        "support_": "index n s | none",
        "support_samples_": "samples s p | none",
        "coefficients_": "array s t",
        "intercept_": "array t | array 1",
        "support_targets_": "labels s | array s *?",
        "support_weights_": "positive s?",
        "scale_coefficients_": "array s t?",
        "scale_intercept_": "array t?",
        "scale_range_": "array 2 t?",
    }
    _stored_parameters: ClassVar[dict[str, str]] = {"kernel": "kernel | source | text | none"}

    _remedy = "Fit on a sample of the rows."  # where there is no memory for what `solve` takes
    _copies = 2  # of the Gram matrix, that it holds at once

    _many_outputs = False  # whether y may have several columns

    kernel: Any = field(default=None, kw_only=False)
    n_jobs: int | None = None
    engine: Any = None

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the estimator.

        Parameters
        ----------
        X : array of shape (n, p), sequence of n objects, or Gram matrix for "precomputed"
            Training samples.
        y : array of shape (n,), or (n, n_outputs) for some
            Class labels, or values.
        sample_weight : array of shape (n,), optional
            How much each row counts. Where the regulariser is given, weight 2 is the same as
            repeating the row; what is chosen or measured does not change when all weights are
            multiplied by a number.

        Returns
        -------
        the estimator
        """
        train = self._begin(X, y, sample_weight)
        with dense_work(train.n):
            self._fit(train)
        return self

    def _fit(self, train: Training) -> None:
        """Find the expansion and `_keep` it; by `solve` where a machine gives nothing else."""
        K = self._dense(train, self._remedy, self._copies)
        self._keep(train, *self.solve(K, train.y, train.weight))

    def solve(self, K: Array, y: Array, w: Array) -> tuple[Any, Any]:
        """Return the coefficients of all training samples, and the intercepts.

        Parameters
        ----------
        K : array of shape (n, n)
            Gram matrix.
        y : array of shape (n,)
            Class numbers from 0, or values.
        w : array of shape (n,)
            Weights, class weights included.

        Returns
        -------
        coefficients : array of shape (n,) or (n, n_outputs)
        intercept : float or array of shape (n_outputs,)
        """
        raise NotImplementedError(f"{type(self).__name__} gives neither `solve` nor `_fit`.")

    def _say(self, what: str) -> None:
        if getattr(self, "verbose", False):
            print(f"[{type(self).__name__}] {what}")

    # ---- what the kernel wants --------------------------------------------------------------

    def _is_pairwise(self) -> bool:
        return is_precomputed(self.kernel)

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

    def _begin(self, X: Any, y: Any, sample_weight: Any) -> Training:
        """Validate parameters, samples, targets and weights; resolve the kernel.

        Of a classifier `classes_` is set, and y becomes class numbers.
        """
        check_params(self)
        forget_optional(self)
        classes = isinstance(self, ClassifierMixin)
        X, y = self._check_pair(X, y)
        n = len(y)
        if self._is_pairwise() and X.shape[1] != n:
            check_kernel_matrix(X)  # says what it expects
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
        if classes:
            y = self._encode(y)
            w = self._with_class_weights(y, w)
        if self._is_pairwise():
            X = check_kernel_matrix(X, psd="ignore")
        self._set_kernel(X, w)
        return Training(X, y, w, rows)

    def _encode(self, y: Array) -> Array:
        """Set `classes_`, and return the number of that of every sample."""
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                f"{type(self).__name__}: expected at least two classes, got one class only: "
                f"{self.classes_.tolist()[0]!r}. Add samples of another class (with positive "
                "weight)."
            )
        return np.asarray(codes.ravel())

    def _with_class_weights(self, codes: Array, w: Array | None) -> Array | None:
        """Return the weights of the samples times those of their classes; None if all are one."""
        class_weight = getattr(self, "class_weight", None)
        if class_weight is None:
            return w
        # Weighted sizes: "balanced" gives all classes the same total, whatever their rows weigh.
        factors = compute_class_weight(
            class_weight, classes=self.classes_, y=self.classes_[codes], sample_weight=w
        )
        if not np.isfinite(factors).all() or factors.min() <= 0:
            raise ValueError(
                f"{type(self).__name__}: expected finite class_weight > 0, "
                f"got {abridged(class_weight)}. "
                "Leave out the samples of a class that should not count."
            )
        return np.asarray(factors[codes] if w is None else w * factors[codes])

    def _set_kernel(self, X: Any, w: Array | None) -> None:
        """Set `kernel_`, a copy that no one else holds."""
        kernel = clone(default_kernel(self.kernel, X, w))
        kernel.check_parameters()
        kernel = kernel.fixed_to(X)
        if not self._is_pairwise() and rests_on_matrix(kernel):
            raise ValueError(
                f"{type(self).__name__}: expected a Gram matrix as it is, got the expression "
                f"{kernel} of one, whose parts cannot be told apart in new samples. "
                'Compute the expression on the matrices, and use kernel="precomputed".'
            )
        self.kernel_ = kernel

    def _check_pair(self, X: Any, y: Any, reset: bool = True) -> tuple[Any, Array]:
        numeric, many = not isinstance(self, ClassifierMixin), self._many_outputs
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None. "
                "Pass one target per sample."
            )
        if isinstance(y, list) or np.dtype(object) == getattr(y, "dtype", None):
            labels = finite_values(y) if numeric else as_labels(y)
            y = labels if numeric else np.asarray(y)  # classes are objects if the labels are
        if self._takes_vectors(X):
            X, y = self._check_rows(X, y, y_numeric=numeric, multi_output=many, reset=reset)
        else:
            X, y = as_samples(X), np.asarray(y)
            if numeric:
                y = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
            if not y.ndim or len(X) != len(y):
                raise ValueError(
                    f"Expected one target per sample ({len(X)}), got {y.size}. "
                    "X and y have inconsistent numbers of samples."
                )
        if not (np.ndim(y) == 1 or (many and np.ndim(y) == 2)):
            y = column_or_1d(y, warn=True)
        return X, finite_values(y) if numeric else np.asarray(y)

    def _check_rows(self, X: Any, *y: Any, **options: Any) -> Any:
        sparse = "csr" if self._asks("accepts_sparse", False) else False
        types = (np.float64, np.float32)
        return checked_data(self, X, *y, accept_sparse=sparse, dtype=types, **options)

    # ---- Gram matrices ----------------------------------------------------------------------

    def _gram(self, X: Any, dtype: Any = np.float64) -> Gram:
        return Gram(self.kernel_, X, engine=as_engine(self.engine, self.n_jobs), dtype=dtype)

    def _check_memory(
        self, n: int, remedy: str, copies: int = 2, columns: int | None = None
    ) -> None:
        check_memory(type(self).__name__, n, copies, remedy, columns=columns)

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
        """Store the expansion.

        `index` says which training samples carry it; default those whose coefficients are not all
        zero.
        """
        coefficients = np.ascontiguousarray(coefficients, dtype=np.float64)
        coefficients = coefficients[:, None] if coefficients.ndim == 1 else coefficients
        if index is None:
            index = np.flatnonzero(np.any(coefficients != 0.0, axis=1))
            coefficients = coefficients[index]
        self.support_ = train.rows[index]
        # A copy: what the user does to X afterwards is not the machine's business.
        self.support_samples_ = None if self._is_pairwise() else train.X[index]
        self.coefficients_ = coefficients
        self.intercept_ = np.atleast_1d(np.asarray(intercept, dtype=np.float64))

    def without_rows(self) -> Self:
        """Return a copy that predicts the same and holds no training samples.

        Where the kernel is an inner product of explicit features (`Linear`, its multiples and sums
        with constants, its cosine), the expansion is a function that unit vectors and the origin
        span as well; they take the place of the training samples, and `support_` is None.

        Returns
        -------
        an estimator of the same kind
        """
        check_is_fitted(self, "coefficients_")
        who = type(self).__name__
        stored = declared(type(self), "_stored").items()
        more = [k for k, kind in stored if " s" in kind and k not in KernelMachine._stored]
        kernel, samples = self.kernel_, self.support_samples_
        vectors = samples is not None and kernel.requires_vector_input
        U = None if more or not vectors else kernel.features(samples)
        if U is None:
            reason = f"it keeps {more[0]} of every one" if more else f"{kernel} compares with them"
            raise ValueError(
                f"{who}: expected a model that can do without its training samples, but "
                f"{reason}. Use a linear kernel, or a model on fewer samples (landmarks)."
            )
        p = samples.shape[1]
        points = np.vstack([np.eye(p), np.zeros((1, p))])
        A, B = (sp.csr_array(M).toarray() for M in (kernel.features(points).T, U.T))
        columns = [self.coefficients_]
        if hasattr(self, "scale_coefficients_"):
            columns.append(self.scale_coefficients_)
        wanted = B @ np.hstack(columns)
        weights = np.linalg.lstsq(A, wanted, rcond=None)[0]
        if not np.allclose(A @ weights, wanted, rtol=1e-12, atol=1e-12 * np.abs(wanted).max()):
            raise ValueError(f"{who}: {kernel} has features that unit vectors do not span.")
        other = copy(self)
        other.support_, other.support_samples_ = None, points
        other.coefficients_, scales = np.split(weights, [self.coefficients_.shape[1]], axis=1)
        if scales.size:
            other.scale_coefficients_ = scales
        for name in ("isolation_", "support_targets_", "support_weights_"):  # of training samples
            other.__dict__.pop(name, None)
        return other

    _weighs_targets = False  # whether predictions are linear in the targets of the kept rows

    @available_if(lambda machine: hasattr(machine, "isolation_"))  # type: ignore[untyped-decorator]
    def columns_outside(self, X: Any) -> list[list[str]]:
        """Return for each row the names of the features that are outside their training range."""
        return outside(self, X)

    def explain_row(self, x: Any, of: Any = None, rows: int = 5) -> RowExplanation:
        """Return what the answer for one row rests on: training rows, and columns.

        The answer of a kernel machine is a sum over training rows, so what each adds is exact: of
        ridge regression on all rows its target times a weight, see `RowExplanation`.

        Parameters
        ----------
        x : one row, like those of predict
            An array of shape (p,) or (1, p), a data frame of one row, or one object.
        of : label or int, optional
            Which class; default the one that is answered. Of several outputs, which: default 0.
        rows : int, default=5
            How many of the training rows that weigh most.

        Returns
        -------
        RowExplanation
        """
        check_is_fitted(self, "coefficients_")
        return explain(self, x, of, rows)

    def _check_new(self, X: Any) -> Any:
        """Return new samples, validated against those of fit."""
        check_is_fitted(self, "coefficients_")  # a fit that failed may have left others
        if not self._takes_vectors(X):
            return as_samples(X)
        return self._check_rows(X, reset=False)

    def _expand(self, X: Any) -> Array:
        """Return Σ_s k(x, x_s) coefficients_s + intercept, shape (n, outputs)."""
        return self._on_blocks(
            self._check_new(X), lambda K: K @ self.coefficients_ + self.intercept_
        )

    def _on_blocks(self, X: Any, function: Callable[[Array], Array]) -> Array:
        """Return a function of the kernel of new samples against the kept ones, row by row."""
        n, kept, s = X.shape[0], self.support_samples_, max(len(self.coefficients_), 1)
        budget = float(get_config()["working_memory"]) * 2**20
        step = int(max(1, min(n, budget // (4 * 8 * s))))
        if self._takes_vectors(X):  # of objects the kept ones are looked through for every block
            step = max(1, min(step, AT_ONCE // s))

        def block(start: int) -> Array:
            rows = X[start : start + step]
            if not len(self.coefficients_):
                return function(np.zeros((rows.shape[0], 0)))
            if kept is None:
                return function(np.asarray(rows, dtype=np.float64)[:, self.support_])
            return function(np.asarray(self.kernel_(as_stored(rows, kept), kept)))

        starts = range(0, n, step)
        if len(starts) == 1:  # no threads are woken for a few samples
            return check_outputs(block(0), self)
        blocks = ordered_map(block, starts, count_workers(self.n_jobs))
        return check_outputs(np.concatenate(list(blocks)), self)

    # ---- in files ---------------------------------------------------------------------------

    @property
    def _n_outputs(self) -> int:
        """How many columns the coefficients of this machine have, once it is fitted."""
        return 1

    def _check_stored(self) -> None:
        """Raise a ValueError where parts that a file gave this machine do not go together."""
        samples, outputs = self.support_samples_, self.coefficients_.shape[1]
        if (samples is None) != self._is_pairwise() or (samples is None and self.support_ is None):
            raise ValueError("Expected samples unless the kernel is precomputed.")
        if self._takes_vectors() != self.kernel_.requires_vector_input:
            raise ValueError(f"Expected samples of one kind, got {self.kernel} and {self.kernel_}.")
        if outputs != self._n_outputs:
            raise ValueError(f"Expected {counted(self._n_outputs, 'output')}, got {outputs}.")
        if samples is not None and samples.shape[0]:
            self.kernel_.check_input(samples)
            if self.kernel_.requires_vector_input:
                self.kernel_(samples[:1], samples[:1])
        self._check_isolation()


class WeightedScore:
    """Mixin: the score of scikit-learn, targets and weights checked in words of gramsmith."""

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy of a classifier, R² of a regressor; weights must not be negative."""
        y = as_labels(y)
        if sample_weight is not None:
            sample_weight = check_weights(sample_weight, y.shape[0])
        return float(super().score(X, y, sample_weight=sample_weight))  # type: ignore[misc]


class DecisionClassifier(WeightedScore, PredictionSets, ClassifierMixin):
    """A classifier by decision values: of two classes the second where positive, else the largest.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The labels.
    """

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
        raise NotImplementedError

    def predict(self, X: Any) -> Array:
        """Return the class of new samples, shape (n,)."""
        f = self.decision_function(X)
        code = (f > 0).astype(np.intp) if f.ndim == 1 else np.argmax(f, axis=1)
        return np.asarray(self.classes_[code])

    def _check_threshold(self, threshold: float) -> None:
        if len(self.classes_) > 2 and threshold != 0:
            raise ValueError(
                f"{type(self).__name__}: expected threshold 0 for {len(self.classes_)} classes, "
                f"got {threshold!r}. One number cannot separate more than two classes."
            )


class KernelClassifier(DecisionClassifier, KernelMachine):
    """Base class of the classifiers."""

    @property
    def _n_outputs(self) -> int:
        return 1 if len(self.classes_) == 2 else len(self.classes_)

    def _check_stored(self) -> None:
        if len(self.classes_) < 2:
            raise ValueError(f"Expected at least two classes, got {len(self.classes_)}.")
        super()._check_stored()

    def decision_function(self, X: Any) -> Array:
        F = self._expand(X)
        return F[:, 0] if F.shape[1] == 1 else F


class PairwiseVotes(KernelClassifier):
    """A classifier with one machine per pair of classes, whose victories are counted."""

    @property
    def _n_outputs(self) -> int:
        return len(self.classes_) * (len(self.classes_) - 1) // 2

    def decision_function(self, X: Any) -> Array:
        F = self._expand(X)
        return F[:, 0] if len(self.classes_) == 2 else votes(F, len(self.classes_))


def votes(F: Array, n_classes: int) -> Array:
    """Return one decision value per class from those of all pairs, shape (n, n_classes).

    A class gets one point per duel it wins; margins, squeezed into (-1/3, 1/3), settle ties.
    """
    won, margin = np.zeros((len(F), n_classes)), np.zeros((len(F), n_classes))
    for k, (a, b) in enumerate(combinations(range(n_classes), 2)):
        won[:, a] += F[:, k] > 0
        won[:, b] += F[:, k] <= 0
        margin[:, a] += F[:, k]
        margin[:, b] -= F[:, k]
    return np.asarray(won + margin / (3.0 * (np.abs(margin) + 1.0)))


class ProbabilisticClassifier(KernelClassifier):
    """A classifier with probabilities: subclasses give one of the two methods, or both."""

    def predict_log_proba(self, X: Any) -> Array:
        """Return logarithms of class probabilities, shape (n, n_classes)."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.predict_proba(X)))

    def predict_proba(self, X: Any) -> Array:
        """Return class probabilities, shape (n, n_classes)."""
        return np.asarray(np.exp(self.predict_log_proba(X)))


class KernelRegressor(WeightedScore, PredictionIntervals, RegressorMixin, KernelMachine):
    """Base class of the regressors."""

    scale_coefficients_: Array
    scale_intercept_: Array
    scale_range_: Array

    def set_scale(self, coefficients: Any, intercept: Any, limits: Any) -> Self:
        r"""Let the width of prediction intervals follow the samples.

        .. math:: \log s(x) = \sum_s k(x, x_s)\, a_s + b, \text{ within limits,}

        an expansion over the same samples as that of the predictions. `calibrate_intervals` wants
        errors over these scales afterwards.

        Parameters
        ----------
        coefficients : array of shape (n_support, n_outputs)
            a, one row for each of `support_`.
        intercept : array of shape (n_outputs,)
            b.
        limits : array of shape (2, n_outputs)
            The least and the largest logarithm.

        Returns
        -------
        the estimator
        """
        # rows in memory, as a file gives them back: the same bits from the same products
        a = np.ascontiguousarray(coefficients, dtype=float)
        b = np.asarray(intercept, dtype=float)
        ends = np.asarray(limits, dtype=float)
        t = self.coefficients_.shape[1]
        if a.shape != self.coefficients_.shape or b.shape != (t,) or ends.shape != (2, t):
            raise ValueError(
                f"Expected shapes {self.coefficients_.shape}, {(t,)} and {(2, t)}, got {a.shape}, "
                f"{b.shape} and {ends.shape}. Pass a coefficient for each of support_."
            )
        self.scale_coefficients_, self.scale_intercept_, self.scale_range_ = a, b, ends
        for name in PredictionIntervals._stored:  # errors over other scales
            self.__dict__.pop(name, None)
        return self

    def _error_scales(self, X: Any) -> Array | None:
        if not hasattr(self, "scale_coefficients_"):
            return None
        logs = self._on_blocks(
            self._check_new(X), lambda K: K @ self.scale_coefficients_ + self.scale_intercept_
        )
        return np.asarray(np.exp(np.clip(logs, *self.scale_range_)))

    def _check_stored(self) -> None:
        super()._check_stored()
        parts = [hasattr(self, f"scale_{name}_") for name in ("coefficients", "intercept", "range")]
        if any(parts) and not all(parts):
            raise ValueError("Expected coefficients, intercept and range of a scale, or none.")

    def predict(self, X: Any) -> Any:
        """Return the values of new samples.

        Parameters
        ----------
        X : array of shape (n, p), sequence of n objects, or kernel block of shape (n, n_fit)
            New samples.

        Returns
        -------
        array of shape (n,), or (n, n_outputs) where several were fitted
        """
        return self._expand(X)[:, 0]


LARGEST = 1e150  # of decision values and predictions: their squares are finite too


def check_outputs(F: Array, machine: Any) -> Array:
    """Return what a machine has computed if it can be used, or raise a ValueError."""
    if F.size and not max(-F.min(), F.max()) <= LARGEST:  # also true of NaN
        raise ValueError(
            f"{type(machine).__name__}: expected predictions below {LARGEST:g}, got "
            f"{F[~(np.abs(F) <= LARGEST)][0]:.3g}. Scale the features (StandardScaler) and the "
            "targets; if the model comes from a file, the file is damaged."
        )
    return F


def is_function(kernel: Any) -> bool:
    """Return whether a kernel was given as a plain function, or as a wrapper of one."""
    return callable(kernel) and not hasattr(kernel, "requires_vector_input")


def is_symbolic(X: Any) -> bool:
    """Return whether samples are words or sets, and not rows of numbers."""
    if sp.issparse(X) or hasattr(X, "iloc") or not hasattr(X, "__len__") or not len(X):
        return False
    return isinstance(next(iter(X)), str | bytes | set | frozenset)


def as_samples(X: Any) -> Array:
    """Return objects of any kind as an array that can be indexed by rows."""
    if isinstance(X, str) or not hasattr(X, "__len__") or getattr(X, "shape", None) == ():
        raise ValueError(
            f"Expected a sequence of samples, got {type(X).__name__}. "
            "Wrap single samples in a list."
        )
    if not len(X):
        raise ValueError("Expected at least one sample, got 0 sample(s). Pass some samples.")
    if hasattr(X, "shape"):
        return np.asarray(X)
    samples = np.empty(len(X), dtype=object)
    samples[:] = list(X)
    return samples
