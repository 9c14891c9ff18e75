"""KernelSelector: the whole selection as one estimator."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import RegressorTags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, column_or_1d

from gramsmith.arguments import check_params
from gramsmith.gram import SharesEngine
from gramsmith.kernels.finite import checked_data, eager
from gramsmith.machines.averages import first_machine
from gramsmith.machines.explanation import RowExplanation
from gramsmith.machines.labels import label_accuracy
from gramsmith.selection.ranking import CONSTRAINTS, read_and_rank
from gramsmith.selection.samples import all_precomputed, is_table
from gramsmith.selection.work import Work
from gramsmith.tables.encoder import FRAME
from gramsmith.targets import as_labels, check_weights

Array = npt.NDArray[Any]

FLOATS = (np.float64, np.float32)


def _has(method: str) -> Any:
    """Return a condition: before fit "auto" may turn out to be anything; then the winner knows."""
    of_classes = ("decision_function", "predict_proba", "predict_set")
    other = {"predict_interval": "classification", **dict.fromkeys(of_classes, "regression")}

    def check(selector: Any) -> bool:
        fitted = getattr(selector, "best_estimator_", None)
        if fitted is None:
            return bool(selector.task != other.get(method))
        return hasattr(fitted, method)

    return available_if(check)


@dataclass(eq=False, repr=False)
class KernelSelector(SharesEngine, ClassifierMixin, BaseEstimator):
    """Choose a kernel by cross-validation and fit it, as one estimator.

    `rank_kernels` inside `fit`: a test fold of `cross_val_score` has no part in the choice. The
    estimate for new data is made by the bootstrap at any number of rows; for nested
    cross-validation give the selector to `cross_val_score`. It is a classifier for scikit-learn,
    unless ``task="regression"`` or it was fitted to values.

    Parameters
    ----------
    kernels : "auto", kernel, list, or dict of name -> kernel, default="auto"
        See `rank_kernels`.
    task : {"auto", "classification", "regression"}, default="auto"
        "auto" decides as `rank_kernels` does; with
        "regression", whole numbers are values too and scikit-learn's tools see a regressor.
    scoring, cv, class_weight, measures, machine, ensemble, time_budget : optional
        The score, folds, weights, measures, estimator, average and time, with the defaults of
        `rank_kernels`.
    n_jobs, memory, engine, max_samples, verbose, roles : optional
        Threads, memory, cluster, limit of rows, progress and roles of columns, with the defaults of
        `rank_kernels`.
    horizon, gap : optional
        How far ahead predictions are made, with `time_order` in `fit`, with the defaults of
        `rank_kernels`.
    random_state : int, RandomState or None, default=None
        Decides samples and folds; None means 0, so that results can be repeated.

    Attributes
    ----------
    ranking_ : KernelRanking
        All kernels with the evidence.
    best_estimator_ : estimator
        The fitted winner.
    best_kernel_ : Kernel
        Its kernel.
    summary_ : dict
        What goes with the model into a file: rows, columns, the score to expect, limits, versions.
    classes_ : array of shape (n_classes,) or (n_labels,)
        The labels, for classification; of several labels their names, which are numbers from 0
        unless `y` was a data frame.
    n_features_in_ : int
        The number of features, for tables.
    feature_importances_ : array, one number for each feature
        What the score loses when each column of a table is shuffled, on held-out rows.

    Notes
    -----
    The decision threshold of two classes is ``best_estimator_.answer_threshold_``. `score` is the
    accuracy, or R², whatever `scoring` and `class_weight` are. A model file keeps no `ranking_`.

    Examples
    --------
    >>> import numpy as np
    >>> import gramsmith as gs
    >>> from sklearn.model_selection import cross_val_score
    >>> X = np.random.default_rng(0).normal(size=(90, 2))
    >>> y = X[:, 0] ** 2 + X[:, 1] ** 2 > 1.4
    >>> bool(cross_val_score(gs.KernelSelector(), X, y, cv=3).mean() > 0.9)
    True
    """

    _stored: ClassVar[dict[str, str]] = {
        "best_estimator_": "model",
        "best_kernel_": "kernel",
        "classes_": "labels c?",
        "summary_": "value?",
        "ranking_": "dropped",
    }
    # A file holds what predictions need: of the rest only what is small and can be kept.
    _stored_parameters: ClassVar[dict[str, str]] = {
        "kernels": "text | kernel | list kernel | list text | dropped",
        "machine": "model | none | dropped",
        "measures": "text | none | list text | dropped",
        "scoring": "text | none | dropped",
        "cv": "whole | none | dropped",
        "random_state": "whole | none | dropped",
        "roles": "none | dropped",
        "horizon": "real | none | dropped",
        "gap": "real | dropped",
    }
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "kernels": "no_validation",
        "random_state": ["random_state"],
        "horizon": "no_validation",
        "gap": "no_validation",
        **CONSTRAINTS,
    }

    kernels: Any = "auto"
    _: KW_ONLY
    task: str = "auto"
    scoring: Any = None
    cv: Any = None
    class_weight: Any = None
    measures: Any = None
    machine: Any = None
    ensemble: bool = True
    time_budget: float | None = None
    n_jobs: int | None = None
    memory: float | None = None
    engine: Any = None
    max_samples: int | None = None
    verbose: bool | int = False
    roles: dict[Any, str] | None = None
    horizon: Any = None
    gap: Any = 0
    random_state: Any = None

    def fit(
        self,
        X: Any,
        y: Any,
        groups: Any = None,
        sample_weight: Any = None,
        time_order: Any = None,
    ) -> KernelSelector:
        """Rank the kernels and fit the winner.

        Parameters
        ----------
        X : data frame, array or sparse matrix of shape (n, p), strings, tuple of views, or None
            A Gram matrix for kernels="precomputed"; None if all kernels are matrices.
        y : array of shape (n,) or (n, m)
            Labels or values; several columns are several labels or outputs, see `rank_kernels`.
        groups : array of shape (n,), optional
            Samples of one group are never divided between training and test.
        sample_weight : array of shape (n,), optional
            Weights of the samples.
        time_order : str or array of shape (n,), optional
            When every row was: folds only look back, see `rank_kernels`.

        Returns
        -------
        KernelSelector
        """
        check_params(self)
        X = eager(X)
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None. "
                "Pass one target per sample."
            )
        for name in ("classes_", "feature_names_in_", "n_features_in_"):  # of an earlier fit
            self.__dict__.pop(name, None)
        if _is_plain(X):
            X = self._checked(X, ensure_min_samples=2)
            y = _as_column(y)
        options = self.get_params(deep=False)
        kernels = options.pop("kernels")
        names = ("time_budget", "n_jobs", "memory", "engine", "verbose")
        work = Work(**{name: options.pop(name) for name in names})
        options |= {"groups": groups, "sample_weight": sample_weight, "time_order": time_order}
        # whoever uses an estimator has folds of their own: the choice is not made anew for each
        self.ranking_ = read_and_rank(X, y, kernels, work, options, brief=True)
        self.best_estimator_ = self.ranking_.best_estimator
        self.best_kernel_ = self.ranking_.best_kernel
        self.summary_ = self.ranking_.summary
        first = first_machine(self.best_estimator_)
        encoder = getattr(first, "named_steps", {}).get("encode")
        if encoder is not None:
            self.n_features_in_ = encoder.n_features_in_
            if hasattr(encoder, "feature_names_in_"):
                self.feature_names_in_ = encoder.feature_names_in_
        elif hasattr(first, "n_features_in_"):  # a Gram matrix: as many as rows
            self.n_features_in_ = first.n_features_in_
        if hasattr(self.best_estimator_, "classes_"):
            self.classes_ = self.best_estimator_.classes_  # without those of no weight
        return self

    if not TYPE_CHECKING:  # which would take every attribute for known

        def __getattr__(self, name: str) -> Any:
            if name == "ranking_" and "summary_" in vars(self):
                raise AttributeError(
                    "Expected a selector fitted here: no file keeps `ranking_`. See `summary_`."
                )
            return object.__getattribute__(self, name)  # once more, for the error of a property

    def _check_stored(self) -> None:
        best = self.best_estimator_
        if not hasattr(best, "predict") or hasattr(best, "classes_") != hasattr(self, "classes_"):
            raise ValueError("Expected a winner that predicts what the selector does.")

    def _checked(self, X: Any, **options: Any) -> Any:
        """Return a table of numbers; gaps are filled in, but not those of a sparse one."""
        finite = True if sp.issparse(X) else "allow-nan"
        options |= {"accept_sparse": "csr", "dtype": FLOATS, "ensure_all_finite": finite}
        return checked_data(self, X, advice=FRAME, **options)

    def _answer(self, method: str, X: Any, *options: Any) -> Array:
        """Return what the winner says of new samples."""
        check_is_fitted(self)
        if _is_plain(X) and hasattr(self, "n_features_in_"):
            X = X if hasattr(self, "feature_names_in_") else self._checked(X, reset=False)
        return np.asarray(getattr(self.best_estimator_, method)(X, *options))

    @property
    def feature_importances_(self) -> Array:
        """What the score loses when each column of a table is shuffled, on held-out rows.

        In the order of the columns, whose names are `feature_names_in_`; computed when it is first
        asked for. Errors are in ``ranking_.evidence.importance``.
        """
        check_is_fitted(self)
        importance = self.ranking_.evidence.importance if hasattr(self, "ranking_") else []
        if not importance:
            raise AttributeError(
                "Expected a selector that was fitted here to columns of a table, and in time, got "
                "none: there are no feature importances."
            )
        lost = {name: gap for name, gap, _ in importance}
        names = first_machine(self.best_estimator_).named_steps["encode"].column_names()
        return np.array([lost.get(name, 0.0) for name in names])

    def predict(self, X: Any) -> Array:
        """Return the predictions of the winner.

        Parameters
        ----------
        X : like in fit

        Returns
        -------
        array of shape (n,) or (n, m)
        """
        return self._answer("predict", X)

    @_has("decision_function")  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> Array:
        """Return the decision values of the winner.

        Parameters
        ----------
        X : like in fit

        Returns
        -------
        array of shape (n,) for two classes, else (n, n_classes) or (n, n_labels)
        """
        return self._answer("decision_function", X)

    @_has("predict_proba")  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Array:
        """Return the probabilities of the classes, or of each label, calibrated on held-out rows.

        Parameters
        ----------
        X : like in fit

        Returns
        -------
        array of shape (n, n_classes) or (n, n_labels)
        """
        return self._answer("predict_proba", X)

    @_has("predict_interval")  # type: ignore[untyped-decorator]
    def predict_interval(self, X: Any, coverage: float = 0.9) -> Array:
        """Return intervals that hold the values of new samples with a given probability.

        Their width is found from errors on samples that were left out in cross-validation, see
        :class:`~gramsmith.machines.intervals.PredictionIntervals`.

        Parameters
        ----------
        X : like in fit
        coverage : float, default=0.9
            The probability.

        Returns
        -------
        array of shape (n, 2) or (n, n_outputs, 2)
            Lower and upper ends.
        """
        return self._answer("predict_interval", X, coverage)

    @_has("predict_set")  # type: ignore[untyped-decorator]
    def predict_set(self, X: Any, coverage: float = 0.9, per_class: bool = True) -> Array:
        """Return which classes new samples may have, with a probability that holds.

        A set of one rare class can be wrong half the time or more: the coverage is among samples of
        a class, not among sets. See :class:`~gramsmith.machines.sets.PredictionSets`.

        Parameters
        ----------
        X : like in fit
        coverage : float, default=0.9
            The probability that the true class is in the set.
        per_class : bool, default=True
            Whether it holds among the samples of each class, or over all samples.

        Returns
        -------
        array of bool of shape (n, n_classes)
            In the order of `classes_`.
        """
        return self._answer("predict_set", X, coverage, per_class)

    @_has("novelty")  # type: ignore[untyped-decorator]
    def novelty(self, X: Any) -> Array:
        """Return how unlike the training samples new ones are, see `machines.novelty.Novelty`.

        Parameters
        ----------
        X : like in fit

        Returns
        -------
        array of shape (n,)
            The share of training samples that are less isolated: 1 is unlike any.
        """
        return self._answer("novelty", X)

    @_has("columns_outside")  # type: ignore[untyped-decorator]
    def columns_outside(self, X: Any) -> list[list[str]]:
        """Return for each row the names of the columns that are outside their training range.

        Parameters
        ----------
        X : like in fit

        Returns
        -------
        list of lists of str
        """
        check_is_fitted(self)
        return list(self.best_estimator_.columns_outside(X))

    @_has("explain_row")  # type: ignore[untyped-decorator]
    def explain_row(self, x: Any, of: Any = None, rows: int = 5) -> RowExplanation:
        """Return what the answer for one row rests on: training rows, and columns.

        Parameters
        ----------
        x : one row, like those of fit
        of : label or int, optional
            Which class; default the one that is answered. Of several outputs, which: default 0.
        rows : int, default=5
            How many of the training rows that weigh most.

        Returns
        -------
        RowExplanation
        """
        check_is_fitted(self)
        explanation: RowExplanation = self.best_estimator_.explain_row(x, of, rows)
        return explanation

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy, or R² for values; of several labels or outputs the mean.

        Parameters
        ----------
        X : like in fit
        y : array of shape (n,) or (n, m)
            Labels or values.
        sample_weight : array of shape (n,), optional
            Weights of the samples.

        Returns
        -------
        float
        """
        y = as_labels(y)
        if sample_weight is not None:
            sample_weight = check_weights(sample_weight, y.shape[0])
        answers = self.predict(X)
        if not hasattr(self, "classes_"):
            return float(r2_score(y, answers, sample_weight=sample_weight))
        score = accuracy_score if answers.ndim == 1 else label_accuracy
        return float(score(y, answers, sample_weight=sample_weight))

    def _repr_mimebundle_(self, **options: Any) -> dict[str, Any]:
        """Return scikit-learn's diagram for a notebook, and below it what was found."""
        shown: dict[str, Any] = super()._repr_mimebundle_(**options)
        if "text/html" in shown and hasattr(self, "ranking_"):
            shown["text/html"] += self.ranking_._repr_html_()
        return shown

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = all_precomputed(self.kernels)
        tags.input_tags.sparse = not tags.input_tags.pairwise
        tags.input_tags.categorical = not tags.input_tags.pairwise
        tags.input_tags.allow_nan = not tags.input_tags.pairwise
        tags.target_tags.multi_output = True
        tags.classifier_tags.multi_label = True
        values = hasattr(self, "best_estimator_") and not hasattr(self, "classes_")
        if self.task == "regression" or (self.task == "auto" and values):
            tags.estimator_type = "regressor"
            tags.classifier_tags, tags.regressor_tags = None, RegressorTags()
        return tags


def _is_plain(X: Any) -> bool:
    """Return whether X is one table of numbers; views, frames and objects are read elsewhere."""
    if X is None or isinstance(X, tuple):
        return False
    return is_table(X) and not hasattr(X, "columns")


def _as_column(y: Any) -> Any:
    if not hasattr(y, "shape"):
        return as_labels(y)
    return column_or_1d(y, warn=True) if len(y.shape) == 2 and y.shape[1] == 1 else y
