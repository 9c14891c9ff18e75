"""LabelsClassifier: several labels per sample from a machine that was fitted to their codes."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from gramsmith.machines.calibration import fit_calibration, is_calibrated
from gramsmith.parameters import forget_optional
from gramsmith.targets import as_labels

Array = npt.NDArray[Any]


class LabelsClassifier(ClassifierMixin, BaseEstimator):
    r"""Several labels at once, by a regressor of their codes -1 and +1.

    .. math:: \hat y_j(x) = [f_j(x) > 0], \qquad p_j(x) = 1 / (1 + \exp(-a_j f_j(x) - b_j))

    A machine that solves for all codes together, such as `KernelRidgeRegressor`, costs hardly more
    than one label.

    Parameters
    ----------
    model : estimator
        A regressor of several outputs, or a pipeline that ends with one.

    Attributes
    ----------
    model_ : estimator
        The regressor, fitted to the codes.
    classes_ : array of shape (n_labels,)
        The names of the labels: those of the columns of a data frame, else their numbers from 0.
    values_ : array of shape (2,)
        How a label that is not there, and one that is, are written: 0 and 1, or False and True.
    calibration_slopes_, calibration_offsets_ : arrays of shape (n_labels,)
        Of the probabilities; after `calibrate`, which `rank_kernels` calls.

    Examples
    --------
    >>> import gramsmith as gs
    >>> from gramsmith.selection import LabelsClassifier
    >>> X, Y = [[0.0], [1.0], [2.0], [3.0]], [[0, 1], [0, 1], [1, 1], [1, 0]]
    >>> model = LabelsClassifier(gs.KernelRidgeRegressor(gs.Gaussian(1.0), alpha=0.1)).fit(X, Y)
    >>> model.predict([[0.2], [2.9]])
    array([[0, 1],
           [1, 0]])
    """

    _stored: ClassVar[dict[str, str]] = {
        "model_": "model",
        "classes_": "labels m",
        "values_": "array 2",
        "calibration_slopes_": "array m?",
        "calibration_offsets_": "array m?",
    }
    _stored_parameters: ClassVar[dict[str, str]] = {"model": "model"}

    def __init__(self, model: Any) -> None:
        self.model = model

    @classmethod
    def of(cls, model: Any, classes: Array, values: Array) -> Self:
        """Return the classifier of a model that is fitted already."""
        made = cls(clone(model))
        made.model_, made.classes_, made.values_ = model, classes, values
        take_inputs(made, model)
        return made

    def fit(self, X: Any, y: Any) -> Self:
        """Fit the model to the codes of the labels y, (n, n_labels): 0 and 1, or flags."""
        names = getattr(y, "columns", None)
        Y = as_labels(y.toarray() if hasattr(y, "toarray") else y)
        if Y.ndim != 2 or not np.isin(Y, (0, 1)).all():
            raise ValueError(
                f"{type(self).__name__}: expected 0 and 1 in at least two columns of y, got "
                f"shape {Y.shape}, or others. Use a classifier of classes for one column."
            )
        forget_optional(self)
        self.model_ = clone(self.model).fit(X, 2.0 * Y - 1.0)
        self.classes_ = np.arange(Y.shape[1]) if names is None else np.array(names, dtype=str)
        self.values_ = np.array([0, 1], dtype=Y.dtype)
        take_inputs(self, self.model_)
        return self

    def calibrate(self, f: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the probabilities to decision values f of samples left out of training.

        Both f and the labels y have shape (n, n_labels), and every value of f comes from a machine
        that was not trained on the sample.
        """
        f, present = np.asarray(f, dtype=np.float64), np.asarray(y).astype(int)
        if f.shape != present.shape or f.shape[1:] != (len(self.classes_),):
            raise ValueError(
                f"Expected decision values and labels of shape (n, {len(self.classes_)}), got "
                f"{f.shape} and {present.shape}. Pass what decision_function returns."
            )
        # Without offsets: a label is predicted exactly where it is more likely than not.
        fits = [
            fit_calibration(a, b, 2, sample_weight, False)
            for a, b in zip(f.T, present.T, strict=True)
        ]
        self.calibration_slopes_ = np.array([slope for slope, _ in fits])
        self.calibration_offsets_ = np.array([offsets[1] - offsets[0] for _, offsets in fits])
        return self

    def decision_function(self, X: Any) -> Array:
        """Return decision values, shape (n, n_labels): a label is there where positive."""
        check_is_fitted(self, "model_")
        f = np.asarray(self.model_.predict(X), dtype=np.float64)
        if f.shape[1:] != (len(self.classes_),):
            raise ValueError(
                f"{type(self).__name__}: expected a model of {len(self.classes_)} outputs, got "
                f"predictions of shape {f.shape}. Use a regressor of several outputs."
            )
        return f

    def predict(self, X: Any) -> Array:
        """Return the labels of new samples, shape (n, n_labels)."""
        return np.asarray(self.values_[(self.decision_function(X) > 0).astype(np.intp)])

    @available_if(is_calibrated)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Array:
        """Return the calibrated probability of every label, shape (n, n_labels)."""
        f = self.decision_function(X)
        return np.asarray(expit(self.calibration_slopes_ * f + self.calibration_offsets_))

    @available_if(lambda model: hasattr(model.model_, "novelty"))  # type: ignore[untyped-decorator]
    def novelty(self, X: Any) -> Array:
        """Return how unlike the training samples new ones are, from 0 to 1, shape (n,)."""
        return np.asarray(self.model_.novelty(X))

    @available_if(lambda model: hasattr(model.model_, "columns_outside"))  # type: ignore[untyped-decorator]
    def columns_outside(self, X: Any) -> list[list[str]]:
        """Return for each row the names of the columns that are outside their training range."""
        names: list[list[str]] = self.model_.columns_outside(X)
        return names

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the mean accuracy of the labels y, shape (n, n_labels)."""
        return label_accuracy(y, self.predict(X), sample_weight)

    def _check_stored(self) -> None:
        known = [hasattr(self, f"calibration_{name}_") for name in ("slopes", "offsets")]
        if not hasattr(self.model_, "predict") or len(self.classes_) < 2 or known[0] != known[1]:
            raise ValueError("Expected a regressor of several labels, calibrated or not.")
        if not np.array_equal(self.values_, [0, 1]):
            raise ValueError("Expected labels that are 0 or 1, got others.")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = False
        tags.classifier_tags.multi_label = True
        return tags


def take_inputs(owner: Any, model: Any) -> None:
    """Let an estimator say of its inputs what the fitted model in it says."""
    for name in ("n_features_in_", "feature_names_in_"):
        owner.__dict__.pop(name, None)
        if hasattr(model, name):
            setattr(owner, name, getattr(model, name))


def label_accuracy(y: Any, predicted: Array, sample_weight: Any = None) -> float:
    """Return the mean accuracy of labels of shape (n, n_labels), one less the Hamming loss."""
    y = np.asarray(y.toarray() if hasattr(y, "toarray") else y)
    return float(np.average((y == predicted).mean(axis=1), weights=sample_weight))
