"""Scoring: the scores of scikit-learn, asked of decision values instead of an estimator."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics import get_scorer

from gramsmith.machines.calibration import fit_calibration, probabilities

Array = npt.NDArray[Any]

# Scores of two classes that ask which of them counts.
OF_ONE_CLASS = ("f1", "precision", "recall", "jaccard", "average_precision")
# Scores that read rankings or probabilities, so that no threshold changes them.
WITHOUT_THRESHOLD = (
    *("roc_auc", "roc_auc_ovr", "roc_auc_ovo", "roc_auc_ovr_weighted", "roc_auc_ovo_weighted"),
    *("average_precision", "neg_log_loss", "neg_brier_score", "d2_log_loss_score"),
    *("d2_brier_score", "top_k_accuracy"),
)
INSTEAD = {"roc_auc": "roc_auc_ovr", "average_precision": "roc_auc_ovr"}


class _Told(ClassifierMixin, BaseEstimator):
    """A classifier that repeats decision values it was told, for scikit-learn's scorers."""

    def __init__(self, classes: Any, threshold: float, codes: Any, w: Any = None) -> None:
        self.classes = classes
        self.threshold = threshold
        self.codes = codes
        self.w = w
        self.classes_ = classes

    def decision_function(self, X: Any) -> Array:
        return np.asarray(X)

    def predict(self, X: Any) -> Array:
        f = np.asarray(X)
        code = (f > self.threshold).astype(int) if f.ndim == 1 else f.argmax(axis=1)
        return np.asarray(self.classes_[code])

    def predict_proba(self, X: Any) -> Array:
        # as the winner's will be: calibrated on decision values of samples left out
        f = np.asarray(X)
        return probabilities(f, *fit_calibration(f, self.codes, len(self.classes_), self.w))

    def __sklearn_is_fitted__(self) -> bool:
        return True


class _ToldValues(RegressorMixin, BaseEstimator):
    """A regressor that repeats the values it was told."""

    def predict(self, X: Any) -> Array:
        return np.asarray(X)

    def __sklearn_is_fitted__(self) -> bool:
        return True


class Score:
    """A score of scikit-learn for held-out decision values or predictions.

    Where a score counts one of two classes ("f1", "precision", "recall" and their like) and none of
    the labels is 1, the rarer class counts.

    Parameters
    ----------
    scoring : str or callable
        What scikit-learn takes.
    classes : array of shape (C,) or None
        The labels; None for values.
    counts : array of shape (C,), optional
        How often they come.
    """

    def __init__(self, scoring: Any, classes: Array | None, counts: Array | None = None) -> None:
        self.call = get_scorer(scoring) if isinstance(scoring, str) else scoring
        self.name = scoring if isinstance(scoring, str) else getattr(scoring, "__name__", "score")
        self.classes, self.weighted = classes, True
        two = classes is not None and len(classes) == 2
        if two and scoring in OF_ONE_CLASS and 1 not in classes.tolist():  # type: ignore[union-attr]
            rare = 0 if counts is not None and counts[0] < counts[1] else 1
            self.classes = np.array([0, 1]) if rare else np.array([1, 0])
        self.by_threshold = two and self.name not in WITHOUT_THRESHOLD

    def value(self, f: Array, y: Array, w: Array | None = None, threshold: float = 0.0) -> float:
        """Return the score.

        Parameters
        ----------
        f : array of shape (m,) or (m, C)
            Decision values or predictions.
        y : array of shape (m,)
            Class numbers, or values.
        w : array of shape (m,), optional
            Weights.
        threshold : float
            Above it the second of two classes is predicted.
        """
        told: Any = _ToldValues()
        if self.classes is not None:
            told, y = _Told(self.classes, threshold, y, w), self.classes[y]
        if w is None or not self.weighted or not w.any():
            return float(self.call(told, f, y))
        return float(self.call(told, f, y, sample_weight=w))

    def try_out(self, weighted: bool) -> Score:
        """Raise a ValueError, before any work, unless the score can be computed for such a task.

        Parameters
        ----------
        weighted : bool
            Whether there are sample weights; a score that takes none is used without, with a
            warning.
        """
        y = np.arange(1.0, 7.0) if self.classes is None else np.arange(len(self.classes)).repeat(3)
        f = y + 0.1 * np.cos(np.arange(len(y)))
        if self.classes is not None:
            f = f - 0.5 if len(self.classes) == 2 else 2.0 * np.eye(len(self.classes))[y] - 1.0
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                self.value(f, y)
            except Exception as error:
                raise ValueError(self._refusal(error)) from error
            try:
                self.value(f, y, np.ones(len(y)))
            except Exception:
                self.weighted = False
        if weighted and not self.weighted:
            warnings.warn(
                f"The score {self.name!r} takes no sample_weight: weights count in training, "
                "but not in the comparison.",
                UserWarning,
                stacklevel=4,
            )
        return self

    def _refusal(self, error: Exception) -> str:
        what = "values" if self.classes is None else f"{len(self.classes)} classes"
        other = INSTEAD.get(self.name, f"{self.name}_macro")
        if self.classes is None:
            advice = 'Use a score of values, such as "neg_mean_absolute_error".'
        elif len(self.classes) > 2 and self.name in (*OF_ONE_CLASS, *INSTEAD):
            advice = f'Use "{other}".'
        else:
            advice = 'Use a score of classes, such as "balanced_accuracy".'
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        return (
            f"Expected a score for {what}, got {self.name!r}, which fails: "
            f"{reason.rstrip('.')}. {advice}"
        )
