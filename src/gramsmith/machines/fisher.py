"""Kernel Fisher discriminant analysis, for any number of classes, by one linear system."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy.special import log_softmax
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from gramsmith.machines.base import ProbabilisticClassifier
from gramsmith.parameters import with_parameters
from gramsmith.solvers import solve_fisher
from gramsmith.solvers.definite import clip_negative

Array = npt.NDArray[Any]


@with_parameters
class KernelFisherDiscriminant(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, ProbabilisticClassifier
):
    r"""Kernel Fisher discriminant analysis.

    .. math:: \max_w \frac{w'S_b\,w}{w'(S_w + \mu I)\,w}, \qquad \mu = \alpha\,\mathrm{tr}\,S_t

    in feature space, with S_b, S_w and S_t the covariances between, within and regardless of
    classes. New samples are classified by the Gaussian with the common covariance S_w + μI, which
    gives probabilities, and can be drawn on the axes. The criterion can compare kernels. There is
    no `class_weight`: it would change the common covariance too, and could turn samples away from
    the class it favours.

    Parameters
    ----------
    alpha : float, default=1e-3
        Regulariser, in units of the total variance in feature space.

    Attributes
    ----------
    criterion_ : float
        The trace criterion attained, the sum of `criteria_`.
    criteria_ : array of shape (n_axes,)
        Between-class over regularised within-class variance on each axis, descending.
    means_ : array of shape (n_classes, n_axes)
        Class means on the axes.
    priors_ : array of shape (n_classes,)
        Shares of the classes.
    coefficients_ : array of shape (n_support, n_axes)
        The axes.
    intercept_ : array of shape (n_axes,)
        Minus the mean of the training samples on the axes.

    References
    ----------
    S. Mika et al., "Fisher discriminant analysis with kernels", Neural Networks for Signal
    Processing 1999.

    Examples
    --------
    >>> import gramsmith as gs
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> machine = gs.KernelFisherDiscriminant(gs.Gaussian(2.0)).fit(X, y)
    >>> machine.transform(X).shape, round(machine.score(X, y), 2)
    ((150, 2), 0.99)
    """

    _stored: ClassVar[dict[str, str]] = {
        "priors_": "positive c",
        "means_": "array c t",
        "criteria_": "loose *",
        "criterion_": "real",
        "jitter_": "number",
    }

    _remedy = "Use KernelRidgeClassifier, or a sample of the rows."
    _copies = 4

    alpha: float = 1e-3

    def solve(self, K: Array, y: Array, w: Array) -> tuple[Array, Array]:
        K, kept = clip_negative(K)
        Y = np.eye(len(self.classes_))[y]
        axes = solve_fisher(K, Y, w, float(self.alpha))
        Z = K @ axes.A
        centre, size = w @ Z / w.sum(), w @ Y
        self.priors_ = size / size.sum()
        self.means_ = (Y * w[:, None]).T @ (Z - centre) / size[:, None]
        self.criteria_, self.criterion_, self.jitter_ = axes.criteria, axes.value, axes.jitter
        return kept(axes.A), -centre

    def transform(self, X: Any) -> Array:
        """Return the coordinates of new samples on the discriminant axes, shape (n, n_axes)."""
        return self._expand(X)

    def _scores(self, X: Any) -> Array:
        # On the axes the common covariance is the identity.
        Z = self._expand(X)
        square = np.sum((Z[:, None, :] - self.means_) ** 2, axis=2)
        return np.asarray(np.log(self.priors_) - 0.5 * square)

    def decision_function(self, X: Any) -> Array:
        F = self._scores(X)
        return F[:, 1] - F[:, 0] if len(self.classes_) == 2 else F

    def predict_log_proba(self, X: Any) -> Array:
        return np.asarray(log_softmax(self._scores(X), axis=1))

    @property
    def _n_features_out(self) -> int:
        return int(self.coefficients_.shape[1])

    @property
    def _n_outputs(self) -> int:
        return int(self.means_.shape[1])
