"""Prediction sets: the classes that a new sample may have, with a probability that holds."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from scipy.special import log_softmax
from sklearn.utils.metaestimators import available_if

from gramsmith.arguments import as_flag
from gramsmith.machines.intervals import check_coverage, group_numbers, levels_of, quantile_of
from gramsmith.targets import check_weights, normalised_weights

Array = npt.NDArray[Any]


def _has_scores(machine: Any) -> bool:
    if not hasattr(machine, "set_scores_"):
        raise AttributeError(
            f"{type(machine).__name__}: expected decision values of samples left out of training, "
            "got none. Call calibrate_sets with them; rank_kernels and KernelSelector do."
        )
    return True


class PredictionSets:
    r"""A classifier that names all classes a sample may have, once it knows how wrong it is.

    A label is in the set if its probability is no smaller than that of a true label usually is,

    .. math:: c \in S(x) \iff p_c(x) \ge \text{the } j\text{-th smallest of }
              \{p_{y_i}(x_i) : y_i = c\}, \qquad
              j = n_c + 1 - \lceil (n_c + 1)\, \text{coverage} \rceil,

    over samples that were left out of training (Mondrian conformal prediction): so the true class
    is in the set with that probability *in each class*, however rare. The probabilities need not be
    right for it, only better ones make smaller sets. A set of several classes says that the
    model cannot tell them apart, an empty one that none is probable enough. j = 0 where a
    class has too few samples to promise anything: it is in every set. Weights and groups count as
    in :class:`~gramsmith.machines.intervals.PredictionIntervals`.

    The samples left out are those of cross-validation, so the promise is approximate.

    References
    ----------
    Vovk (2012), Conditional validity of inductive conformal predictors.
    """

    _stored: ClassVar[dict[str, str]] = {
        "set_scores_": "array h?",
        "set_codes_": "array h?",
        "set_weights_": "positive h?",
        "set_groups_": "array h?",
    }

    classes_: Array
    set_scores_: Array
    set_codes_: Array
    set_weights_: Array
    set_groups_: Array

    def calibrate_sets(self, f: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Take note of the decision values of samples left out of training.

        Parameters
        ----------
        f : array of shape (m,) for two classes, else (m, n_classes)
            Decision values, each from a model that was not trained on the sample.
        y : array of shape (m,)
            The labels.
        sample_weight : array of shape (m,), optional
            How much each sample counts.
        groups : array of shape (m,), optional
            The group of each sample; the sets are then for samples of new groups.

        Returns
        -------
        the estimator
        """
        f, codes = checked_held_out(f, y, self.classes_)
        w = normalised_weights(check_weights(sample_weight, len(codes)))
        group = None if groups is None else group_numbers(groups, len(codes))
        kept = w > 0
        scores = self._set_scores(f)
        forget_sets(self)
        self.set_scores_ = scores[np.arange(len(codes)), codes][kept]
        self.set_codes_ = codes[kept]
        if np.ptp(w[kept]) > 0:
            self.set_weights_ = w[kept]
        if group is not None:
            self.set_groups_ = np.unique(group[kept], return_inverse=True)[1]
        return self

    def _set_scores(self, f: Array) -> Array:
        """Return the logarithms of probabilities, calibrated where the machine is."""
        slope = getattr(self, "calibration_slope_", 1.0)
        return np.asarray(
            log_softmax(slope * as_columns(f) + getattr(self, "calibration_offsets_", 0.0), axis=1)
        )

    @available_if(_has_scores)  # type: ignore[untyped-decorator]
    def predict_set(self, X: Any, coverage: float = 0.9, per_class: bool = True) -> Array:
        """Return which classes new samples may have.

        The coverage is the share of the samples *of a class* that have it in their set, not the
        share of sets that are right: a set that names a rare class alone can be wrong half the
        time or more, because a tenth of a frequent class (at 0.9) may be more samples than all of
        the rare one. Before such sets decide, look at their precision on labelled samples: the
        share that is of this class.

        Parameters
        ----------
        X : array of shape (n, p), sequence of n objects, or kernel block of shape (n, n_fit)
            New samples.
        coverage : float, default=0.9
            The probability that the true class is in the set.
        per_class : bool, default=True
            Whether it holds among the samples of each class. Without, it holds over all samples,
            more of them of the common classes; the sets are smaller.

        Returns
        -------
        array of bool of shape (n, n_classes)
            In the order of `classes_`. A row may have several classes, or none, and may lack the
            class that `predict` returns.

        Warns
        -----
        UserWarning
            For classes of too few samples to promise anything, which are in every set.
        """
        check_coverage(coverage)
        C = len(self.classes_)
        limits = np.empty(C)
        if as_flag("per_class", per_class):
            for c in range(C):
                limits[c] = self._limit(self.set_codes_ == c, coverage)
            always = np.flatnonzero(np.isinf(limits))
            if len(always):
                named = ", ".join(repr(str(self.classes_[c])) for c in always[:5])
                warnings.warn(
                    f"In every set, with too few left-out samples or groups to promise "
                    f"{coverage:.4g}: {named}{' ...' if len(always) > 5 else ''}. Ask for less, or "
                    "in Python for sets that hold over all classes together, per_class=False.",
                    UserWarning,
                    stacklevel=2,
                )
        else:
            limits[:] = self._limit(np.ones(len(self.set_codes_), dtype=bool), coverage)
        f = self.decision_function(X)  # type: ignore[attr-defined]
        return np.asarray(-self._set_scores(f) <= limits)

    def _limit(self, members: Array, coverage: float) -> float:
        """Return below what the scores' negatives of some left-out samples are, so often."""
        if not members.any():
            return float("inf")
        return float(quantile_of(*self._ordered(members), coverage))

    def _ordered(self, members: Array) -> tuple[Array, Array]:
        """Return the scores' negatives of some left-out samples in order, and their levels."""
        w = getattr(self, "set_weights_", np.ones(len(members)))[members]
        groups = self.set_groups_[members] if hasattr(self, "set_groups_") else None
        sizes = -self.set_scores_[members]
        order, levels = levels_of(sizes, w, groups)
        return sizes[order], levels

    def _check_stored(self) -> None:
        super()._check_stored()  # type: ignore[misc]
        scores = getattr(self, "set_scores_", np.zeros(1))
        alone = not hasattr(self, "set_scores_") or not hasattr(self, "set_codes_")
        parts = any(hasattr(self, name) for name in PredictionSets._stored)
        whole = [getattr(self, f"set_{name}_", np.zeros(1)) for name in ("codes", "groups")]
        odd = any((part < 0).any() or (part % 1 != 0).any() for part in whole)
        odd = odd or whole[0].max(initial=0) >= len(self.classes_)
        if (parts and alone) or not scores.size or scores.max() > 1e-9 or odd:
            raise ValueError("Expected left-out samples of prediction sets, got parts of them.")


def forget_sets(machine: Any) -> None:
    """Forget what an earlier calibration of prediction sets has left."""
    for name in PredictionSets._stored:
        machine.__dict__.pop(name, None)


def checked_held_out(f: Any, y: Any, classes: Array) -> tuple[Array, Array]:
    """Return decision values of left-out samples and their class numbers, or raise."""
    labels = np.asarray(y)
    codes = np.searchsorted(classes, labels)
    inside = np.minimum(codes, len(classes) - 1)
    if not np.all(classes[inside] == labels):
        raise ValueError(
            f"Expected labels among {classes.tolist()}, got others. Calibrate with the "
            "classes of fit."
        )
    f = np.asarray(f, dtype=np.float64)
    shape = (len(codes),) if len(classes) == 2 else (len(codes), len(classes))
    if f.shape != shape:
        raise ValueError(
            f"Expected decision values of shape {shape}, got {f.shape}. Pass what "
            "decision_function returns."
        )
    return f, codes


def as_columns(f: Array) -> Array:
    """Return decision values with one column per class, also of two."""
    f = np.asarray(f, dtype=np.float64)
    return np.column_stack([-0.5 * f, 0.5 * f]) if f.ndim == 1 else f
