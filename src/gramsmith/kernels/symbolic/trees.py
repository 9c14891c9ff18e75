"""The kernel of common subtrees of labelled ordered trees: reading, equal subtrees, fragments."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from gramsmith.kernels.base import Array
from gramsmith.kernels.embedding import Embedding
from gramsmith.kernels.symbolic.base import DecayKernel, count_matrix, product, squares

Trees = npt.NDArray[np.object_]

ADVICE = "Write a tree as (label, child, child, ...), such as ('S', ('NP', 'we'), ('VP', 'go'))"


def as_trees(X: Any, size_limit: int | None) -> Trees:
    """Return the trees as an object array, every one of them checked."""
    if isinstance(X, str | bytes | dict) or not hasattr(X, "__len__") or getattr(X, "ndim", 1) != 1:
        raise TypeError(f"Subtree: expected a sequence of trees, got {type(X).__name__}. {ADVICE}.")
    if not len(X):
        raise ValueError(f"Subtree: expected at least 1 tree, got 0 sample(s). {ADVICE}.")
    result: Trees = np.empty(len(X), dtype=object)
    for row, tree in enumerate(X):
        try:
            flatten(tree, size_limit)
        except (TypeError, ValueError) as error:
            raise type(error)(f"Subtree: {error} in tree {row}. {ADVICE}.") from None
        result[row] = tree
    return result


def flatten(tree: Any, size_limit: int | None = None) -> tuple[list[Hashable], list[list[int]]]:
    """Return the labels of the nodes, and for each the places of its children, which come later."""
    labels: list[Hashable] = []
    children: list[list[int]] = []
    todo = [(tree, -1)]
    while todo:
        node, parent = todo.pop()
        below: Any = ()
        if isinstance(node, tuple | list):
            if not len(node):
                raise ValueError("expected a label in every node, got an empty one")
            node, below = node[0], node[1:]
        odd = isinstance(node, tuple | float | np.void) or node is None  # a void has no hash
        if odd or not isinstance(node, Hashable):
            raise TypeError(
                "expected words or whole numbers as labels, got "
                f"{'a missing value' if node is None else f'{type(node).__name__} ({node!r})'}"
            )
        place = len(labels)
        if size_limit is not None and place >= size_limit:
            raise ValueError(
                f"expected at most {size_limit} nodes (raise the cap with size_limit=, None: no "
                "cap), got more"
            )
        labels.append(node)
        children.append([])
        if parent >= 0:
            children[parent].append(place)
        todo.extend((child, place) for child in reversed(below))
    return labels, children


class Forest:
    """The distinct complete subtrees of some trees; equal ones share a number.

    Of each subtree there is `size` (nodes), `height` (edges downwards), `children` (the subtrees
    below its first node) and `production`: equal for subtrees whose first nodes have equal labels
    and equal labels below, -1 for a leaf.
    """

    def __init__(self) -> None:
        self.size: list[int] = []
        self.height: list[int] = []
        self.children: list[tuple[int, ...]] = []
        self.production: list[int] = []
        self._label: list[Hashable] = []
        self._number: dict[tuple[Hashable, tuple[int, ...]], int] = {}
        self._productions: dict[tuple[Hashable, ...], int] = {}

    def __len__(self) -> int:
        """Return the number of distinct subtrees."""
        return len(self.size)

    def counts(self, X: Trees) -> Any:
        """Return how often each subtree occurs in each tree, as a CSR array."""
        return counts([np.array(self.add(tree)) for tree in X], len(self))

    def add(self, tree: Any) -> list[int]:
        """Return the number of the subtree at every node, making new numbers where needed."""
        labels, children = flatten(tree)
        found = [-1] * len(labels)
        for place in range(len(labels) - 1, -1, -1):
            below = tuple(found[child] for child in children[place])
            key = (labels[place], below)
            if key not in self._number:
                self._number[key] = self._make(labels[place], below)
            found[place] = self._number[key]
        return found

    def _make(self, label: Hashable, below: tuple[int, ...]) -> int:
        production = (label, *(self._label[child] for child in below))
        number = self._productions.setdefault(production, len(self._productions))
        self.production.append(number if below else -1)
        self.size.append(1 + sum(self.size[child] for child in below))
        self.height.append(1 + max((self.height[child] for child in below), default=-1))
        self.children.append(below)
        self._label.append(label)
        return len(self.size) - 1


def fragment_tables(forest: Forest, left: Array, right: Array, decay: float) -> tuple[Array, ...]:
    """Return the common fragments of pairs of subtrees, and their derivative by the decay.

    C(x, z) = λ Π_j (1 + C(x_j, z_j)) over the children where the productions of x and z agree, else
    0. Pairs are taken by height, so that those of the children come first. `left` and `right` are
    closed under taking children; x, z, value and slope have an entry for each pair that is not 0.
    """
    x, z = _same_production(np.asarray(forest.production), left, right)
    D = len(forest)
    key = x * D + z
    order = np.argsort(key)
    x, z, key = x[order], z[order], key[order]
    arity = np.array([len(below) for below in forest.children])
    flat = np.array([child for below in forest.children for child in below], dtype=np.int64)
    start = np.cumsum(arity) - arity
    height = np.asarray(forest.height)
    tall = np.maximum(height[x], height[z])
    value, slope = np.zeros(len(x)), np.zeros(len(x))
    for level in np.unique(tall):
        here = np.flatnonzero(tall == level)
        P, dP = np.ones(len(here)), np.zeros(len(here))
        for j in range(int(arity[x[here]].max())):
            has = np.flatnonzero(arity[x[here]] > j)
            pair = flat[start[x[here[has]]] + j] * D + flat[start[z[here[has]]] + j]
            place = np.minimum(np.searchsorted(key, pair), len(key) - 1)
            hit = key[place] == pair
            has, place = has[hit], place[hit]
            dP[has] = dP[has] * (1.0 + value[place]) + P[has] * slope[place]
            P[has] *= 1.0 + value[place]
        value[here], slope[here] = decay * P, P + decay * dP
    return x, z, value, slope


def _same_production(production: Array, left: Array, right: Array) -> tuple[Array, Array]:
    """Return all pairs of subtrees, one of each side, with equal productions."""
    left, right = left[production[left] >= 0], right[production[right] >= 0]
    right = right[np.argsort(production[right], kind="stable")]
    low, many = _partners(production, left, right)
    x = np.repeat(left, many)
    within = np.arange(len(x)) - np.repeat(np.cumsum(many) - many, many)
    return x, right[np.repeat(low, many) + within]


def _partners(production: Array, left: Array, right: Array) -> tuple[Array, Array]:
    """Return, for each on the left, the first of the sorted ones on the right, and their number."""
    kinds = np.sort(production[right])
    low = np.searchsorted(kinds, production[left], side="left")
    return low, np.searchsorted(kinds, production[left], side="right") - low


def count_pairs(forest: Forest, left: Array, right: Array) -> int:
    """Return how many pairs `fragment_tables` would hold."""
    production = np.asarray(forest.production)
    return int(_partners(production, left[production[left] >= 0], right)[1].sum())


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

    whole: ClassVar[dict[str, int]] = {"size_limit": 1}
    optional: ClassVar[tuple[str, ...]] = ("size_limit",)
    choices: ClassVar[dict[str, tuple[Any, ...]]] = {"kind": ("complete", "fragment")}

    def __init__(
        self, decay: float = 1.0, kind: str = "complete", size_limit: int | None = 100_000
    ) -> None:
        self.decay = decay
        self.kind = kind
        self.size_limit = size_limit

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
        fragments = self.kind == "fragment"
        return None if fragments else self._features(X, reference or self.reference(X), 0)

    def _features(self, X: Any, forest: Forest, which: int) -> Any:
        U = forest.counts(X)
        size = np.asarray(forest.size, dtype=np.float64)
        weights = size * self.decay ** (size - 1.0) if which else self.decay**size
        return sp.csr_array(U * np.sqrt(weights))

    def embed(self, X: Any, reference: Any = None, dtype: Any = np.float64) -> Embedding:
        if self.kind == "fragment":
            return X
        reference = reference or self.reference(X)
        return tuple(self._features(X, reference, which).astype(dtype) for which in (0, 1))

    def tile_of(self, a: Embedding, b: Embedding, which: int) -> Array:
        if isinstance(a, tuple):
            return product(a[which], b[which])
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
            K[:] = (counts(a, len(forest)) @ C @ counts(b, len(forest)).T).toarray()
        if not np.isfinite(K).all():
            raise ValueError(
                f"Subtree: expected fragment counts below 1.8e308, got an overflow with decay="
                f"{self.decay:.4g}; large trees share too many. Use a smaller decay, such as "
                f"{self.decay / 2:.2g}, or kind='complete'."
            )

    def diagonal_of(self, a: Embedding, which: int) -> Array:
        if isinstance(a, tuple):
            return squares(a[which])
        each = (a[i : i + 1] for i in range(len(a)))
        return np.array([self.tile_of(tree, tree, which)[0, 0] for tree in each])


def counts(numbers: list[Array], width: int) -> Any:
    """Return how often each subtree occurs in each tree, given by the numbers of its subtrees."""
    row = np.repeat(np.arange(len(numbers)), [len(found) for found in numbers])
    return count_matrix(row, np.concatenate(numbers), (len(numbers), width))
