"""ForestLearner: trees that see the target, and the kernel of their leaves.

Trees are grown by scikit-learn on the ranks of the values of each column, which single precision
holds exactly, and their thresholds are put back among the values: no offset and no unit of a column
loses a split, and every row that taught is in the leaf in which scikit-learn's own tree has it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.utils._param_validation import Interval, StrOptions

from gramsmith.kernels import Gaussian, Leaves, Scaled, Sum, default_kernel
from gramsmith.learning.cross_fit import ROWS, WIDTH, choose_width, subsample
from gramsmith.learning.learner import Learner, Path, Samples
from gramsmith.learning.monitor import asks_to_stop, tell_row
from gramsmith.learning.objective import responses
from gramsmith.parameters import with_parameters
from gramsmith.solvers import Outcome
from gramsmith.targets import Target

Array = npt.NDArray[Any]

RATE = 0.1  # share of what a tree explains that boosting takes off, scikit-learn's default
DEPTH = 5  # of boosted trees
# Samples in a leaf of trees whose target never becomes pure, as Breiman's forests of values have.
SAMPLES = 5


@dataclass(frozen=True, kw_only=True)
class LeavesPath(Path):
    """From the Gaussian that suits the spread of the data to the kernel of the leaves."""

    first: Gaussian
    leaves: Leaves
    importances: Array

    def kernel(self, amount: float, width: float | None = None) -> Any:
        """Return the mixture at an amount of learning."""
        first = Gaussian(float(self.first.length_scale) / (width or 1.0))
        if amount == 0.0:
            return first
        if amount == 1.0:
            return self.leaves
        return Sum(Scaled(first, 1.0 - amount), Scaled(self.leaves, amount))


@with_parameters
class ForestLearner(Learner):
    r"""Learn a kernel from trees: the share of them in which two samples fall into one leaf.

    .. math:: k(x, z) = (1 - a) \exp\left(-\frac{|x - z|^2}{2 \sigma^2}\right)
              + \frac{a}{T} \sum_{t=1}^{T} [\ell_t(x) = \ell_t(z)]

    Trees see steps in single columns that a kernel of distances learns from many rows around them.
    They are grown with the target, so that their leaves fit the training rows better than others.
    Their kernel is therefore mixed with the Gaussian of smallest leave-one-out error of a ridge
    regression, in an amount a that is chosen on held-out rows (`keep`); at 0 it is that
    Gaussian. The kernel of the leaves alone, ``keep=1.0``, has explicit features, and stays the
    same where a column goes through an increasing function.

    Parameters
    ----------
    method : {"extra_trees", "boosting"}, default="extra_trees"
        Extremely randomised trees, each of all rows; or trees that each explain what those before
        have left, by squares and at a rate of 0.1. All trees fit all outputs, or the indicators of
        all classes, at once.
    n_estimators : int, default=100
        The number of trees T.
    max_depth : int, optional
        Most comparisons from the root to a leaf. By default 5 for boosting; else none.
    min_samples_leaf : int, optional
        Rows in a leaf, at least. By default 1 for extremely randomised trees of classes, else 5.

    Attributes
    ----------
    value_ : float
        The share of the variance of the target that the trees explain on the training rows;
        it says nothing about others.
    n_iter_ : int
        The number of trees.
    feature_importances_ : array of shape (p,)
        The share of each column in what the splits of all trees explain, on the training rows.
    history_ : dict of arrays
        "value" after every tree.

    Notes
    -----
    A leave-one-out error on the training rows of the trees is too small, more so for boosting.
    Choose what follows, a regulariser or another kernel, on other rows.

    References
    ----------
    P. Geurts, D. Ernst, L. Wehenkel, "Extremely randomized trees", 2006. E. Scornet, "Random
    forests and kernel methods", 2016. X. He et al., "Practical lessons from predicting clicks on
    ads at Facebook", 2014, for the leaves of boosted trees.

    Examples
    --------
    >>> import numpy as np
    >>> import gramsmith as gs
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(200, 10))
    >>> y = (X[:, 0] > 0.3) & (X[:, 1] < 0.6)
    >>> learner = gs.ForestLearner(random_state=0).fit(X, y)
    >>> learner.keep_ > 0, sorted(np.argsort(-learner.feature_importances_)[:2].tolist())
    (True, [0, 1])
    """

    method: str = field(default="extra_trees", kw_only=False)
    n_estimators: int = 100
    max_depth: int | None = None
    min_samples_leaf: int | None = None

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "method": [StrOptions({"extra_trees", "boosting"})],
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        # scikit-learn's trees hold both as integers of C
        "max_depth": [Interval(Integral, 1, 2**31 - 1, closed="both"), None],
        "min_samples_leaf": [Interval(Integral, 1, 2**31 - 1, closed="both"), None],
    }
    _stored: ClassVar[dict[str, str]] = {"feature_importances_": "array p", "history_": "value"}

    _dense_rows = True

    def search(self, X: Any, target: Target, rng: Any) -> LeavesPath:
        """Return the path from a Gaussian to the kernel of the leaves of trees."""
        X = np.asarray(X, dtype=np.float64)
        columns = [np.unique(x, return_inverse=True) for x in X.T]
        ranks = np.column_stack([rank for _, rank in columns]).astype(np.float32)
        Y, seed = responses(target), int(rng.randint(2**31 - 1))
        trees, values, outcome = self._grow(ranks, Y, target, rng)
        importances = sum(tree.compute_feature_importances(normalize=False) for tree in trees)
        path = LeavesPath(
            value=values[-1],
            outcome=outcome,
            history={"value": np.array(values)},
            first=default_kernel(None, X, target.w),
            leaves=_as_kernel(trees, [levels for levels, _ in columns]),
            importances=np.asarray(importances / (importances.sum() or 1.0)),
        )
        if self.keep == 1.0:
            return path
        # The width of the Gaussian alone: beside leaves that have seen the target, the error on
        # the rows that taught would always choose one so wide that nothing but the leaves is left.
        rows = subsample(target, np.arange(len(X)), ROWS, seed)
        step = choose_width(self._matrix(path, X, rows), 0.0, rows, Y, target.w)[0]
        return replace(path, first=path.kernel(0.0, float(WIDTH**step)))

    def _grow(
        self, ranks: Array, Y: Array, target: Target, rng: Any
    ) -> tuple[list[Any], list[float], Outcome]:
        """Return trees, the share of the variance that they explain after each, and how it went."""
        boosting, classes = self.method == "boosting", target.kind == "classes"
        options = {
            "max_depth": self.max_depth or (DEPTH if boosting else None),
            "min_samples_leaf": self.min_samples_leaf
            or (SAMPLES if boosting or not classes else 1),
            "max_features": "sqrt" if classes else None,  # as forests of scikit-learn have it
        }
        from sklearn.tree import DecisionTreeRegressor, ExtraTreeRegressor  # slow to import

        kind = DecisionTreeRegressor if boosting else ExtraTreeRegressor
        trees: list[Any] = []
        values: list[float] = []
        # in units of their deviation: scikit-learn takes values that vary by 1e-15 for equal ones
        Y = Y / np.sqrt(target.w @ np.square(Y).sum(axis=1) / target.n)
        # last digits decide between equally good splits: weights times a number have others
        w, Y = np.asarray(np.float32(target.w), float), np.asarray(np.float32(Y), float)
        total = np.zeros_like(Y)
        status = "converged"
        try:
            for count in range(1, self.n_estimators + 1):
                tree = kind(**options, random_state=rng.randint(2**31 - 1))
                left = Y - total if boosting else Y
                tree.fit(ranks, left, sample_weight=w, check_input=False)
                total += (RATE if boosting else 1.0) * tree.predict(ranks, False).reshape(Y.shape)
                trees.append(tree.tree_)
                rest = Y - (total if boosting else total / count)
                values.append(1.0 - float(target.w @ np.square(rest).sum(axis=1)) / target.n)
                row = {"iteration": float(count), "value": values[-1]}
                tell_row("ForestLearner", self.verbose, count, {"value": values[-1]})
                if asks_to_stop(self.callback, row):
                    status = "stopped"
                    break
        except KeyboardInterrupt:
            if not values:
                raise
            trees, status = trees[: len(values)], "interrupted"
        advice = "" if status == "converged" else "The trees so far are kept; fit again for more."
        return trees, values, Outcome(status=status, advice=advice, n_iter=len(values))

    def _check_options(self) -> None:
        super()._check_options()
        self._engine()  # trees need none, but no nonsense is let pass

    def _set_fitted(self, path: Any, width: float | None, samples: Samples, paths: Any) -> None:
        self.kernel_ = path.kernel(self.keep_, width)
        self.feature_importances_ = path.importances


def _as_kernel(trees: list[Any], levels: list[Array]) -> Leaves:
    """Return the kernel of trees of ranks, for the values that have these ranks."""
    sizes = [tree.node_count for tree in trees]
    roots = np.cumsum([0, *sizes[:-1]])
    here, first = np.arange(sum(sizes)), np.repeat(roots, sizes)
    left, right, feature, rank = (
        np.concatenate([getattr(tree, name) for tree in trees])
        for name in ("children_left", "children_right", "feature", "threshold")
    )
    leaf = left < 0
    left, right = (np.where(leaf, here, child + first) for child in (left, right))
    feature, threshold = np.where(leaf, 0, feature), np.zeros(len(here))
    for k, values in enumerate(levels):
        split = ~leaf & (feature == k)
        threshold[split] = _between(values, rank[split])
    return Leaves(feature, threshold, left, right, roots)


def _between(values: Array, ranks: Array) -> Array:
    """Return numbers that divide ascending values as ranks, from 0, divide their places."""
    below = np.floor(ranks).astype(int)
    share = ranks - below
    low, high = values[below], values[below + 1]
    # both products first: the difference of two values may be infinite
    between = (1.0 - share) * low + share * high
    return np.asarray(np.clip(between, low, np.nextafter(high, low)))
