"""Probabilities from decision values, fitted to samples that were left out of training."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax
from sklearn.utils.metaestimators import available_if

from gramsmith.machines.sets import as_columns, checked_held_out, forget_sets
from gramsmith.targets import check_weights, normalised_weights

Array = npt.NDArray[Any]


def fit_calibration(
    f: Array, codes: Array, classes: int, w: Array | None = None, has_offsets: bool = True
) -> tuple[float, Array]:
    r"""Return the slope and the offsets that turn decision values into probabilities.

    .. math:: p(c \mid x) \propto \exp(a f_c(x) + b_c)

    with a >= 0 common to all classes; for two classes this is Platt's sigmoid. Without
    offsets b = 0: the likeliest class is always the one with the largest decision value.

    References
    ----------
    Platt (1999), Probabilistic outputs for support vector machines.
    """
    F = as_columns(f)
    # of mean one: the doubt below is counted in rows
    w = normalised_weights(check_weights(w, len(F)))
    counts = np.bincount(codes, weights=w, minlength=classes)
    # Platt's targets: a little doubt, so that separable data have finite probabilities
    doubt = 1.0 / (counts + 2.0)
    T = np.repeat((doubt / max(classes - 1, 1))[codes][:, None], classes, axis=1)
    T[np.arange(len(F)), codes] = 1.0 - doubt[codes]
    scale = float(np.abs(F).mean()) or 1.0

    def objective(theta: Array) -> tuple[float, Array]:
        Z = theta[0] / scale * F + theta[1:]
        loss = -float(w @ np.sum(T * log_softmax(Z, axis=1), axis=1))
        R = w[:, None] * (softmax(Z, axis=1) - T)
        return loss, np.concatenate([[np.sum(R * F) / scale], R.sum(axis=0)])

    start = np.concatenate([[1.0], np.log(np.maximum(counts, 0.5) / w.sum())])
    free = (None, None) if has_offsets else (0.0, 0.0)
    bounds = [(0.0, None)] + [free] * classes
    theta = np.asarray(minimize(objective, start, jac=True, method="L-BFGS-B", bounds=bounds).x)
    return float(theta[0] / scale), theta[1:] - theta[1:].mean()  # a common offset cancels


def probabilities(f: Array, slope: float, offsets: Array) -> Array:
    """Return the probabilities of decision values, shape (n, C)."""
    return np.asarray(softmax(slope * as_columns(f) + offsets, axis=1))


def is_calibrated(model: Any) -> bool:
    """Return whether a classifier has probabilities, or raise an AttributeError."""
    if not {"calibration_slope_", "calibration_slopes_"} & vars(model).keys():
        raise AttributeError(
            f"{type(model).__name__}: expected probabilities to be calibrated, got none. Call "
            "calibrate with decision values of samples left out of training, or wrap the estimator "
            "in CalibratedClassifierCV."
        )
    return True


class CalibratedScores:
    """A classifier that has probabilities once its decision values were calibrated.

    Attributes
    ----------
    calibration_slope_ : float
        Of the probabilities; after `calibrate`, which `rank_kernels` and `KernelSelector` call.
    calibration_offsets_ : array of shape (n_classes,)
        The same.
    """

    _stored: ClassVar[dict[str, str]] = {
        "calibration_slope_": "number?",
        "calibration_offsets_": "array c?",
    }

    def _check_stored(self) -> None:
        super()._check_stored()  # type: ignore[misc]
        if hasattr(self, "calibration_slope_") != hasattr(self, "calibration_offsets_"):
            raise ValueError("Expected slope and offsets of the calibration, got one of them.")

    classes_: Array
    calibration_slope_: float
    calibration_offsets_: Array

    def calibrate(self, f: Any, y: Any, sample_weight: Any = None, has_offsets: bool = True) -> Any:
        """Fit the probabilities to decision values of samples left out of training.

        Parameters
        ----------
        f : array of shape (n,) for two classes, else (n, n_classes)
            Decision values, each from a model that was not trained on the sample.
        y : array of shape (n,)
            The labels.
        sample_weight : array of shape (n,), optional
            Weights.
        has_offsets : bool, default=True
            Whether classes may be more or less likely than their decision values say, as after
            class weights or with a threshold of its own. Without, the answer is always the
            likeliest class.

        Returns
        -------
        the estimator
        """
        f, codes = checked_held_out(f, y, self.classes_)
        forget_sets(self)  # their scores are probabilities of the former calibration
        self.calibration_slope_, self.calibration_offsets_ = fit_calibration(
            f, codes, len(self.classes_), sample_weight, has_offsets
        )
        return self

    @property
    def answer_threshold_(self) -> float:
        """The probability of the second of two classes from which on it is the answer.

        One half unless classes had weights or the score asked for another threshold.
        """
        if not hasattr(self, "calibration_offsets_") or len(self.classes_) != 2:
            raise AttributeError("Expected two classes with calibrated probabilities, got others.")
        return float(softmax(self.calibration_offsets_)[1])

    @available_if(is_calibrated)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Array:
        """Return the calibrated probabilities of the classes, shape (n, n_classes)."""
        f = self.decision_function(X)  # type: ignore[attr-defined]
        return probabilities(f, self.calibration_slope_, self.calibration_offsets_)
