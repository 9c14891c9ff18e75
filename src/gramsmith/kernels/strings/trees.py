"""The kernel of common subtrees of labelled ordered trees."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from gramsmith.kernels.base import Array
from gramsmith.kernels.embedding import Embedding
from gramsmith.kernels.strings.forest import Forest, as_trees, count_pairs, fragment_tables
from gramsmith.kernels.symbolic import DecayKernel, check_whole, counted, product, squares

# More pairs of nodes than this are not held at once.
PAIRS = 1 << 21


class Subtree(DecayKernel):
    r"""The kernel of common subtrees of labelled ordered trees.

    .. math:: k(s, t) = \sum_{u} \lambda^{|u|}\, c_u(s)\, c_u(t)

    A tree is a nested tuple ``(label, child, child, ...)``; a leaf is a label, or ``(label,)``.

    Parameters
    ----------
    decay : float, default=1.0
        The factor :math:`\lambda` per node, 0 < decay <= 1; can be learned.
    kind : {"complete", "fragment"}, default="complete"
        What u runs over. A complete subtree is a node with everything below it; :math:`|u|` is its
        number of nodes. A fragment starts at a node and keeps, at every node it contains, all
        children or none, the first node all; :math:`|u|` is the number of nodes whose children it
        keeps. There are exponentially many, found by dynamic programming over pairs of nodes.
    size_limit : int or None, default=100000
        The largest number of nodes accepted; None removes the cap.

    References
    ----------
    S. V. N. Vishwanathan, A. J. Smola. Fast kernels for string and tree matching. NIPS 15, 2003
    (complete). M. Collins, N. Duffy. Convolution kernels for natural language. NIPS 14, 2002
    (fragments).

    Examples
    --------
    >>> import gramsmith as gs
    >>> cat = ("S", ("NP", "the", "cat"), ("VP", "sleeps"))
    >>> dog = ("S", ("NP", "the", "dog"), ("VP", "sleeps"))
    >>> gs.Subtree()([cat], [cat, dog])  # the, sleeps, (VP sleeps)
    array([[6., 3.]])
    >>> gs.Subtree(kind="fragment")([cat], [cat, dog])
    array([[6., 3.]])
    """

    def __init__(
        self, decay: float = 1.0, kind: str = "complete", size_limit: int | None = 100_000
    ) -> None:
        self.decay = decay
        self.kind = kind
        self.size_limit = size_limit

    def check_parameters(self) -> None:
        super().check_parameters()
        if self.kind not in ("complete", "fragment"):
            raise ValueError(f"Subtree: expected kind='complete' or 'fragment', got {self.kind!r}.")
        if self.size_limit is not None:
            check_whole("Subtree", "size_limit", self.size_limit, 1)

    def check_input(self, X: Any) -> Any:
        return as_trees(X, self.size_limit)

    def reference(self, *Xs: Any) -> Any:
        if self.kind == "fragment":
            return None
        forest = Forest()
        for X in Xs:
            for tree in X:
                forest.add(tree)
        return forest

    def features(self, X: Any, reference: Any = None) -> Any:
        if self.kind == "fragment":
            return None
        reference = reference or self.reference(X)
        size = np.asarray(reference.size, dtype=np.float64)
        return sp.csr_array(reference.counts(X) * np.sqrt(self.decay**size))

    def embed(self, X: Any, reference: Any = None, dtype: Any = np.float64) -> Embedding:
        if self.kind == "fragment":
            return X
        reference = reference or self.reference(X)
        size = np.asarray(reference.size, dtype=np.float64)
        root = np.sqrt(size * self.decay ** (size - 1.0))
        slopes = sp.csr_array(reference.counts(X) * root)
        return self.features(X, reference).astype(dtype), slopes.astype(dtype)

    def tile(self, a: Embedding, b: Embedding) -> Array:
        return self._tile(a, b, 0)

    def slope(self, a: Embedding, b: Embedding) -> Array:
        return self._tile(a, b, 1)

    def diagonal(self, a: Embedding) -> Array:
        return self._diagonal(a, 0)

    def diagonal_slope(self, a: Embedding) -> Array:
        return self._diagonal(a, 1)

    def _tile(self, a: Embedding, b: Embedding, which: int) -> Array:
        if isinstance(a, tuple):
            return product(a[which], a[which] if a is b else b[which])
        forest = Forest()
        numbers_a = [np.array(forest.add(tree)) for tree in a]
        numbers_b = numbers_a if a is b else [np.array(forest.add(tree)) for tree in b]
        K = np.empty((len(a), len(b)))
        self._fill(K, forest, numbers_a, numbers_b, which)
        return K

    def _fill(self, K: Array, forest: Forest, a: list[Array], b: list[Array], which: int) -> None:
        """Write the tile of fragments, in halves while there are too many pairs of nodes."""
        if not len(a) or not len(b):
            return
        left, right = (np.unique(np.concatenate(side)) for side in (a, b))
        if len(a) * len(b) > 1 and count_pairs(forest, left, right) > PAIRS:
            if len(a) >= len(b):
                half = len(a) // 2
                self._fill(K[:half], forest, a[:half], b, which)
                self._fill(K[half:], forest, a[half:], b, which)
            else:
                half = len(b) // 2
                self._fill(K[:, :half], forest, a, b[:half], which)
                self._fill(K[:, half:], forest, a, b[half:], which)
            return
        with np.errstate(over="ignore", invalid="ignore"):
            x, z, *tables = fragment_tables(forest, left, right, float(self.decay))
            C = sp.csr_array((tables[which], (x, z)), shape=(len(forest),) * 2)
            K[:] = (_counts(a, len(forest)) @ C @ _counts(b, len(forest)).T).toarray()
        if not np.isfinite(K).all():
            raise ValueError(
                f"Subtree: expected fragment counts below 1.8e308, got an overflow with decay="
                f"{self.decay:.4g}; large trees share too many. Use a smaller decay, such as "
                f"{self.decay / 2:.2g}, or kind='complete'."
            )

    def _diagonal(self, a: Embedding, which: int) -> Array:
        if isinstance(a, tuple):
            return squares(a[which])
        return np.array(
            [self._tile(a[i : i + 1], a[i : i + 1], which)[0, 0] for i in range(len(a))]
        )


def _counts(numbers: list[Array], width: int) -> Any:
    row = np.repeat(np.arange(len(numbers)), [len(found) for found in numbers])
    return counted(row, np.concatenate(numbers), (len(numbers), width))
