"""Leaves: two samples are alike as often as trees put them into the same leaf."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from gramsmith.arguments import abridged, as_numbers, counted
from gramsmith.kernels.base import Array, Derivatives, Pullback
from gramsmith.kernels.embedding import Embedding, in_strips
from gramsmith.kernels.geometry import dense_product
from gramsmith.kernels.inner import ExplicitKernel

AT_ONCE = 1 << 20  # pairs of a row and a tree that walk down together


class Leaves(ExplicitKernel):
    r"""The share of trees in which two samples fall into the same leaf.

    .. math:: k(x, z) = \frac{1}{T} \sum_{t=1}^{T} [\ell_t(x) = \ell_t(z)]

    It is the inner product of explicit features, one per leaf: :math:`T^{-1/2}` where the sample is
    in it, else 0. Trees that have seen labels come from `ForestLearner`.

    The nodes of all trees stand in four arrays, a node before those below it. At node i a sample
    with ``x[feature[i]] <= threshold[i]`` goes on to ``left[i]``, any other to ``right[i]``. A leaf
    leads to itself.

    Parameters
    ----------
    feature : array of shape (m,)
        The column that a node compares, from 0; of a leaf any.
    threshold : array of shape (m,)
        With which number.
    left, right : arrays of shape (m,)
        The nodes below, by their place in the arrays.
    roots : array of shape (T,)
        The first node of every tree.

    Notes
    -----
    It has steps and no derivative by the samples.

    References
    ----------
    L. Breiman, "Some infinity theory for predictor ensembles", 2000. P. Geurts, D. Ernst,
    L. Wehenkel, "Extremely randomized trees", 2006.

    Examples
    --------
    One tree that asks whether x > 1:

    >>> import gramsmith as gs
    >>> k = gs.Leaves([0, 0, 0], [1.0, 0.0, 0.0], left=[1, 1, 2], right=[2, 1, 2], roots=[0])
    >>> k([[0.0], [0.5], [2.0]])
    array([[1., 1., 0.],
           [1., 1., 0.],
           [0., 0., 1.]])
    """

    _stored_parameters: ClassVar[dict[str, str]] = {
        **dict.fromkeys(("feature", "threshold", "left", "right"), "array m | list number"),
        "roots": "array t | list number",
    }
    differentiable = False

    def __init__(self, feature: Any, threshold: Any, left: Any, right: Any, roots: Any) -> None:
        self.feature = feature
        self.threshold = threshold
        self.left = left
        self.right = right
        self.roots = roots

    def formula(self) -> str:
        return f"Leaves({counted(len(self.roots), 'tree')})"

    def check_parameters(self) -> None:
        super().check_parameters()
        threshold = as_numbers(self.threshold)
        if threshold is None or threshold.ndim != 1 or not np.isfinite(threshold).all():
            raise ValueError(
                f"Leaves: expected thresholds as a vector of finite numbers, got "
                f"{abridged(self.threshold)}."
            )
        m = len(threshold)
        for name in ("feature", "left", "right", "roots"):
            given, limit = getattr(self, name), None if name == "feature" else m
            numbers = as_numbers(given)
            if not _are_places(numbers, limit, None if name == "roots" else m):
                expected = "columns from 0" if limit is None else f"nodes from 0 to {m - 1}"
                came = abridged(given)
                raise ValueError(f"Leaves: expected {name} to be {expected}, got {came}.")
        *_, left, right, roots = self._nodes()
        here = np.arange(m)
        leaf = (left == here) & (right == here)
        stray = np.flatnonzero(~leaf & ((left <= here) | (right <= here)))
        if len(stray) or not len(roots):
            came = f"node {stray[0]}, which leads back" if len(stray) else "no tree"
            raise ValueError(
                f"Leaves: expected trees in which a node comes before those below it, got {came}."
            )

    def _check_stored(self) -> None:
        self.check_parameters()

    def check_input(self, X: Any) -> Any:
        X = super().check_input(X)
        needed = int(np.max(self.feature)) + 1
        if X.shape[1] < needed:
            raise ValueError(
                f"Expected at least {counted(needed, 'feature')}, which the trees compare, got "
                f"{X.shape[1]}. Pass the columns that the trees were grown on."
            )
        return X

    def _nodes(self) -> tuple[Array, Array, Array, Array, Array]:
        """Return columns, thresholds, nodes to the left and right, and roots, as arrays."""
        feature, left, right, roots = (
            np.asarray(part, dtype=np.int64)
            for part in (self.feature, self.left, self.right, self.roots)
        )
        return feature, np.asarray(self.threshold, dtype=np.float64), left, right, roots

    def leaves(self, X: Any) -> Any:
        """Return the leaf of every row in every tree, as a node.

        Parameters
        ----------
        X : array of shape (n, p)
            Or what can be indexed as one, see `gramsmith.export.graph`.

        Returns
        -------
        array of shape (n, T)
        """
        feature, threshold, left, right, roots = self._nodes()
        values = np.take(X, feature[roots], axis=1)
        at = np.where(values <= threshold[roots], left[roots], right[roots])
        for _ in range(_depth(left, right, roots) - 1):
            values = np.take_along_axis(X, of_nodes(feature, at), axis=1)
            below = of_nodes(left, at), of_nodes(right, at)
            at = np.where(values <= of_nodes(threshold, at), *below)
        return at

    def embed(self, X: Any, reference: Any = None, dtype: Any = np.float64) -> Embedding:
        X = np.asarray(X, dtype=np.float64)
        n, T, m = len(X), len(self.roots), len(self.threshold)
        step = max(1, AT_ONCE // T)
        parts = [self.leaves(X[i : i + step]).ravel() for i in range(0, n, step)]
        place = np.concatenate(parts) if parts else np.empty(0, dtype=np.int64)
        is_leaf = np.asarray(self.left) == np.arange(m)
        column = np.cumsum(is_leaf) - 1  # nodes within a tree have none of their own
        ends = np.arange(0, n * T + 1, T)
        ones = np.ones(n * T, dtype=dtype)
        return sp.csr_array((ones, column[place], ends), shape=(n, int(is_leaf.sum())))

    def tile(self, a: Embedding, b: Embedding, out: Array | None = None) -> Array:
        return in_strips(self._shares, a, b, a.dtype, out)

    def _shares(self, a: Embedding, b: Embedding) -> Array:
        shares = dense_product(a, b, None)
        shares /= len(self.roots)  # counts first: the diagonal is 1 to the last bit
        return shares

    def diagonal(self, a: Embedding) -> Array:
        return np.ones(a.shape[0])

    def tile_vjp(self, a: Any, b: Any, W: Array, K: Any = None, wants: str = "samples") -> Pullback:
        return None, None, {}

    def diagonal_vjp(self, a: Embedding, w: Array) -> tuple[Embedding, Derivatives]:
        return None, {}

    def embed_vjp(self, X: Any, reference: Any, E: Any, dE: Any) -> tuple[Any, Derivatives]:
        return None, {}

    def features(self, X: Any, reference: Any = None) -> Any:
        return self.embed(X) * len(self.roots) ** -0.5


def of_nodes(numbers: Array, nodes: Any) -> Any:
    """Return the numbers of nodes, shape (n, T), in a way that `gramsmith.export` can trace."""
    return np.take_along_axis(numbers[None], nodes, axis=1)


def _are_places(numbers: Array | None, limit: int | None, size: int | None) -> bool:
    """Return whether a vector, of a size if that is given, has whole numbers from 0 to a limit."""
    if numbers is None or numbers.ndim != 1 or (size is not None and len(numbers) != size):
        return False
    top = np.inf if limit is None else limit
    whole = np.isfinite(numbers).all() and np.array_equal(numbers, np.floor(numbers))
    return bool(whole and (numbers >= 0).all() and (numbers < top).all())


def _depth(left: Array, right: Array, roots: Array) -> int:
    """Return the number of comparisons after which every sample is in a leaf, at least one."""
    depth, level = 0, roots
    while len(level := level[left[level] != level]):
        level = np.concatenate([left[level], right[level]])
        depth += 1
    return max(depth, 1)
