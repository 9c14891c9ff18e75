"""Prediction intervals from the errors of predictions for samples left out of training."""

from __future__ import annotations

from math import ceil
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils.metaestimators import available_if

from gramsmith.arguments import abridged
from gramsmith.targets import check_weights, finite_values

Array = npt.NDArray[Any]


def _has_residuals(machine: Any) -> bool:
    if not hasattr(machine, "held_out_errors_"):
        raise AttributeError(
            f"{type(machine).__name__}: expected errors of samples left out of training, got none. "
            "Call calibrate_intervals with them; rank_kernels and KernelSelector do."
        )
    return True


class PredictionIntervals:
    r"""A regressor that has prediction intervals once it knows how wrong it is on new samples.

    The interval of coverage c is symmetric,

    .. math:: f(x) \pm q, \qquad q = \text{the } \lceil (m + 1) c \rceil\text{-th smallest of }
        |y_i - f_{-i}(x_i)|

    over m samples, each predicted by a machine that was not trained on it (conformal prediction).
    New samples that are drawn like these lie inside with probability c, whatever the noise; the
    width is the same everywhere. Several outputs have intervals each by themselves.

    References
    ----------
    Barber, Candès, Ramdas and Tibshirani (2021), Predictive inference with the jackknife+.
    """

    _stored: ClassVar[dict[str, str]] = {"held_out_errors_": "array * | array * *?"}

    held_out_errors_: Array

    def calibrate_intervals(self, errors: Any, sample_weight: Any = None) -> Self:
        """Take note of the errors of samples left out of training.

        Parameters
        ----------
        errors : array of shape (m,) or (m, n_outputs)
            Differences of targets and predictions, each from a machine that was not trained on the
            sample.
        sample_weight : array of shape (m,), optional
            How much each sample counts.

        Returns
        -------
        the machine
        """
        found = np.abs(finite_values(errors))
        if found.ndim not in (1, 2):
            raise ValueError(
                f"Expected errors of shape (m,) or (m, n_outputs), got shape {found.shape}. Pass "
                "one row per sample."
            )
        w = check_weights(sample_weight, len(found))
        columns = [_in_order(column, w) for column in found.reshape(len(found), -1).T]
        self.held_out_errors_ = np.column_stack(columns).reshape(found.shape)
        return self

    def _begin(self, *args: Any, **options: Any) -> Any:
        self.__dict__.pop("held_out_errors_", None)  # of an earlier fit
        return super()._begin(*args, **options)  # type: ignore[misc]

    def _check_stored(self) -> None:
        super()._check_stored()  # type: ignore[misc]
        errors = getattr(self, "held_out_errors_", np.zeros(1))
        unsorted = bool((np.diff(errors, axis=0) < 0).any())
        if not errors.size or bool((errors[0] < 0).any()) or unsorted:
            raise ValueError("Expected errors from 0 on in order, got others.")

    @available_if(_has_residuals)  # type: ignore[untyped-decorator]
    def predict_interval(self, X: Any, coverage: float = 0.9) -> Array:
        """Return intervals that hold the values of new samples with a given probability.

        Parameters
        ----------
        X : array of shape (n, p), sequence of n objects, or kernel block of shape (n, n_fit)
            New samples.
        coverage : float, default=0.9
            The probability.

        Returns
        -------
        array of shape (n, 2) or (n, n_outputs, 2)
            Lower and upper ends.
        """
        half = half_width(self.held_out_errors_, coverage)
        f: Array = self.predict(X)  # type: ignore[attr-defined]
        if np.shape(half) != f.shape[1:]:
            raise ValueError(
                f"{type(self).__name__}: expected errors of as many outputs as there are "
                f"predictions, got shapes {self.held_out_errors_.shape} and {f.shape}. Call "
                "calibrate_intervals with one column per output."
            )
        return np.stack([f - half, f + half], axis=-1)


def _in_order(errors: Array, w: Array) -> Array:
    """Return as many errors, ascending, each standing for an equal part of the weight."""
    order = np.argsort(errors, kind="stable")
    errors, w = errors[order], w[order]
    if np.ptp(w) == 0:
        return errors
    share = (np.cumsum(w) - 0.5 * w) / w.sum()
    return np.asarray(np.interp((np.arange(len(errors)) + 0.5) / len(errors), share, errors))


def half_width(errors: Array, coverage: float) -> Any:
    """Return the half width of intervals of some coverage.

    Parameters
    ----------
    errors : array of shape (m,) or (m, n_outputs)
        Absolute errors of left-out samples, the smallest first.
    coverage : float

    Returns
    -------
    float, or array of shape (n_outputs,)
    """
    if not 0.0 < coverage < 1.0:
        raise ValueError(f"Expected a coverage between 0 and 1, got {abridged(coverage)}. Use 0.9.")
    m = len(errors)
    place = ceil((m + 1) * coverage - 1e-9)
    if place > m:
        raise ValueError(
            f"Expected a coverage up to {m / (m + 1):.4g}, which is all that {m} left-out samples "
            f"can vouch for, got {coverage:g}. Ask for less, or fit with more samples."
        )
    return errors[max(place, 1) - 1]
