"""Prediction intervals from the errors of predictions for samples left out of training."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils.metaestimators import available_if

from gramsmith.arguments import abridged, is_number
from gramsmith.targets import as_labels, check_weights, finite_values, normalised_weights

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

    .. math:: f(x) \pm s(x)\, q, \qquad q = \min \Big\{ e : \sum_{i : |e_i| \le e} w_i \ge
              c \Big( \sum_i w_i + \frac{\sum_g v_g^2}{\sum_g v_g} \Big) \Big\}, \qquad
              e_i = \frac{y_i - f_{-i}(x_i)}{s_{-i}(x_i)}

    over samples, each predicted by a machine that was not trained on it (conformal prediction).
    The scale s follows the size of the errors where that pays (see `set_scale`), and else is 1.
    The second term is what the new sample weighs: v are the weights of the samples, or the sums
    over groups where samples come in groups, of which the new one is another (half of it then
    counts as inside). Without weights and groups q is the ceil((m + 1)c)-th smallest error of m.
    New samples that are drawn like these lie inside with probability about c, with few groups or
    unequal weights rather more. Several outputs have intervals each by themselves.

    References
    ----------
    Barber, Candès, Ramdas and Tibshirani (2021), Predictive inference with the jackknife+.
    Dunn, Wasserman and Ramdas (2022), Distribution-free prediction sets for two-layer hierarchical
    models.
    """

    _stored: ClassVar[dict[str, str]] = {
        "held_out_errors_": "array * | array * *?",
        "held_out_levels_": "array * | array * *?",
    }

    held_out_errors_: Array
    held_out_levels_: Array

    def calibrate_intervals(
        self, errors: Any, sample_weight: Any = None, groups: Any = None, scales: Any = None
    ) -> Self:
        """Take note of the errors of samples left out of training.

        Parameters
        ----------
        errors : array of shape (m,) or (m, n_outputs)
            Differences of targets and predictions, each from a model that was not trained on the
            sample.
        sample_weight : array of shape (m,), optional
            How much each sample counts.
        groups : array of shape (m,), optional
            The group of each sample. Errors within a group are alike: the intervals are then for
            samples of new groups.
        scales : array of the shape of errors, optional
            What s says of each sample, from samples that do not include it; default ones.

        Returns
        -------
        the estimator
        """
        sizes = np.abs(finite_values(errors))
        if sizes.ndim not in (1, 2):
            raise ValueError(
                f"Expected errors of shape (m,) or (m, n_outputs), got shape {sizes.shape}. Pass "
                "one row per sample."
            )
        if scales is not None:
            scales = finite_values(scales)
            if scales.shape != sizes.shape or not (scales > 0).all():
                raise ValueError(
                    f"Expected scales above zero of shape {sizes.shape}, got shape {scales.shape} "
                    "or others. Pass one for every error."
                )
            sizes = sizes / scales
        w = normalised_weights(check_weights(sample_weight, len(sizes)))
        groups = None if groups is None else group_numbers(groups, len(w))
        order, levels = levels_of(sizes, w, groups)
        self.__dict__.pop("held_out_levels_", None)  # of an earlier calibration
        self.held_out_errors_ = np.take_along_axis(sizes, order, axis=0)
        if np.ptp(w) > 0 or groups is not None:
            self.held_out_levels_ = levels
        return self

    def _check_stored(self) -> None:
        super()._check_stored()  # type: ignore[misc]
        errors = getattr(self, "held_out_errors_", np.zeros(1))
        levels = getattr(self, "held_out_levels_", errors)
        unsorted = any((np.diff(part, axis=0) < 0).any() for part in (errors, levels))
        if not errors.size or (errors[0] < 0).any() or unsorted or levels.shape != errors.shape:
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
        levels = getattr(self, "held_out_levels_", None)
        half = half_width(self.held_out_errors_, coverage, levels)
        f: Array = self.predict(X)  # type: ignore[attr-defined]
        if np.shape(half) != f.shape[1:]:
            raise ValueError(
                f"{type(self).__name__}: expected errors of as many outputs as there are "
                f"predictions, got shapes {self.held_out_errors_.shape} and {f.shape}. Call "
                "calibrate_intervals with one column per output."
            )
        scales = self._error_scales(X)
        if scales is not None:
            half = half * (scales[:, 0] if f.ndim == 1 else scales)
        return np.stack([f - half, f + half], axis=-1)

    def _error_scales(self, X: Any) -> Array | None:
        """Return s of new samples, (n, n_outputs); None where it is 1."""
        return None


def half_width(errors: Array, coverage: float, levels: Array | None = None) -> Any:
    """Return the half width of intervals of some coverage."""
    check_coverage(coverage)
    m = len(errors)
    if levels is None:
        levels = np.arange(1, m + 1) / (m + 1.0)
    half = quantile_of(errors, levels, coverage)
    if not np.isfinite(half).all():
        most = float(levels[-1].min())
        raise ValueError(
            f"Expected a coverage up to {most:.4g}, the largest that {m} left-out samples "
            f"allow, got {coverage:g}. Ask for less, or fit with more samples or groups."
        )
    return half


# ---- what intervals and sets share: which held-out number new ones stay below, how often ---------


def check_coverage(coverage: Any) -> None:
    """Raise a ValueError unless a coverage is a probability."""
    if not is_number(coverage) or not 0.0 < coverage < 1.0:
        raise ValueError(f"Expected a coverage between 0 and 1, got {abridged(coverage)}. Use 0.9.")


def group_numbers(groups: Any, m: int) -> Array:
    """Return the number of the group of each of m samples."""
    names = as_labels(groups)
    if names.shape != (m,):
        raise ValueError(f"Expected one group per sample ({m}), got shape {names.shape}.")
    return np.asarray(np.unique(names, return_inverse=True)[1])


def levels_of(sizes: Array, w: Array, groups: Array | None = None) -> tuple[Array, Array]:
    """Return the order of held-out numbers, and for each the chance that a new one is no larger.

    Both in the shape of the numbers, (m,) or (m, q): columns by themselves.
    """
    units = w if groups is None else np.bincount(groups, w)
    units = units[units > 0]
    new = units @ units / units.sum()
    # One row of every group is as good as another: the median over such draws of the plain rule
    # counts half of the new group in, and nothing where groups are single rows.
    half = 0.5 * new * (1.0 - (w @ w) / (units @ units))
    order = np.argsort(sizes, axis=0, kind="stable")
    return order, (np.cumsum(w[order], axis=0) + half) / (units.sum() + new)


def quantile_of(sizes: Array, levels: Array, coverage: float) -> Any:
    """Return the least of ascending numbers that has some level; infinite if none has."""
    there = levels >= coverage - 1e-9  # rounding of sums of weights
    if there.ndim < sizes.ndim:
        there = np.repeat(there[:, None], sizes.shape[1], axis=1)
    place = np.argmax(there, axis=0)
    found = sizes[place] if sizes.ndim == 1 else sizes[place, np.arange(sizes.shape[1])]
    return np.where(there.any(axis=0), found, np.inf)[()]
