"""Novelty: how unlike the training samples new ones are, and which columns leave their range."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.utils.metaestimators import available_if

from gramsmith.targets import check_weights

Array = npt.NDArray[Any]

NEIGHBOURS = 5  # a sample is as isolated as it is far from so many others: two errors are no crowd
EDGE = 1e-9  # of the range of a column, by which rounding may leave it


def _has_isolation(machine: Any) -> bool:
    if not hasattr(machine, "isolation_"):
        raise AttributeError(
            f"{type(machine).__name__}: expected the isolation of training samples, got none. Call "
            "calibrate_novelty with them; rank_kernels and KernelSelector do. A precomputed matrix "
            "does not say how far new samples are."
        )
    return True


class Novelty:
    r"""A machine that says whether samples are like those it knows.

    The isolation of a sample is the squared distance in the feature space of the kernel,

    .. math:: |\phi(x) - \phi(z)|^2 = k(x, x) + k(z, z) - 2 k(x, z),

    to its fifth nearest training sample; the novelty of x is the share of training samples that are
    less isolated from the others, those of other groups where there are groups. Of fresh samples
    that are drawn like them, about 1 % have more than .99 (conformal anomaly detection).

    References
    ----------
    Laxhammar and Falkman (2010), Conformal prediction for distribution-independent anomaly
    detection in streaming vessel data.
    """

    _stored: ClassVar[dict[str, str]] = {
        "isolation_": "array i?",
        "lows_": "array p?",
        "highs_": "array p?",
    }

    isolation_: Array
    lows_: Array
    highs_: Array
    kernel_: Any
    support_: Any
    support_samples_: Any

    def calibrate_novelty(
        self, X: Any, sample_weight: Any = None, groups: Any = None, rows: Any = None
    ) -> Self:
        """Take note of how isolated training samples are, and of the range of each feature.

        Parameters
        ----------
        X : array of shape (n, p) or sequence of n objects
            The samples of `fit`.
        sample_weight : array of shape (n,), optional
            Samples without weight do not count.
        groups : array of shape (n,), optional
            Samples of one group are no neighbours of each other.
        rows : int array, optional
            The samples of which the isolation is computed; default all.

        Returns
        -------
        the estimator
        """
        if self.support_samples_ is None:
            raise ValueError(
                f"{type(self).__name__}: expected training samples, got none. A Gram matrix does "
                "not say how far new samples are."
            )
        w = check_weights(sample_weight, X.shape[0])
        rows = np.flatnonzero(w > 0) if rows is None else np.asarray(rows)
        names = np.arange(X.shape[0]) if groups is None else np.asarray(groups)
        near = self._nearness(np.asarray(self.kernel_(X[rows], self.support_samples_)))
        near[names[rows][:, None] == names[self.support_]] = -np.inf
        isolation = self.kernel_.diag(X[rows]) - _fifth(near)
        self.isolation_ = np.sort(isolation[np.isfinite(isolation)])
        if not len(self.isolation_):
            raise ValueError("Expected samples of several groups, got one group.")
        if self.kernel_.requires_vector_input and not sp.issparse(X):
            there = np.asarray(X, dtype=float)[w > 0]
            self.lows_, self.highs_ = there.min(axis=0), there.max(axis=0)
        return self

    def _nearness(self, K: Array) -> Array:
        """Return 2 k(x, z) - k(z, z), the larger the nearer."""
        return np.asarray(2.0 * K - self.kernel_.diag(self.support_samples_))

    @available_if(_has_isolation)  # type: ignore[untyped-decorator]
    def novelty(self, X: Any) -> Array:
        """Return the share of training samples that are less isolated than new ones.

        Parameters
        ----------
        X : array of shape (n, p) or sequence of n objects
            New samples.

        Returns
        -------
        array of shape (n,)
            From 0 to 1, which is unlike any.
        """
        X = self._check_new(X)  # type: ignore[attr-defined]
        near = self._on_blocks(X, lambda K: _fifth(self._nearness(K))[:, None])  # type: ignore[attr-defined]
        isolation = self.kernel_.diag(X) - near[:, 0]
        below = np.searchsorted(self.isolation_, isolation, side="left")
        return np.asarray(below / len(self.isolation_))

    def features_outside(self, X: Any) -> Array:
        """Return which features of new samples are outside their range in training, (n, p)."""
        if not hasattr(self, "lows_"):
            return np.zeros((X.shape[0], 0), dtype=bool)
        edge = EDGE * (self.highs_ - self.lows_ + np.abs(self.highs_))
        X = X.toarray() if sp.issparse(X) else np.asarray(X)
        return np.asarray((X < self.lows_ - edge) | (X > self.highs_ + edge))

    def _check_isolation(self) -> None:
        """Raise a ValueError where parts that a file gave do not go together."""
        isolation = getattr(self, "isolation_", np.zeros(1))
        ends = [hasattr(self, name) for name in ("lows_", "highs_")]
        if not isolation.size or (np.diff(isolation) < 0).any() or ends[0] != ends[1]:
            raise ValueError("Expected isolations in order, and both ends of ranges, got others.")


def _fifth(near: Array) -> Array:
    """Return the fifth largest number of every row, or the last that is finite."""
    k = min(NEIGHBOURS, near.shape[1])
    if not k:
        return np.full(len(near), -np.inf)
    top = -np.partition(-near, k - 1, axis=1)[:, :k]
    return np.asarray(np.min(np.where(np.isfinite(top), top, top.max(axis=1)[:, None]), axis=1))
