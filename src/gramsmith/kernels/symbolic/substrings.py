"""The kernel of all common substrings, from the suffix tree of a collection of strings.

Substrings that occur at the same places but for their length share a node. A node has a range of
lengths (`shorter`, `longer`] and counts how often its substrings occur in each string, which is all
that a kernel of common substrings needs. Time and memory stay near linear in the text::

    symbols --double--> ranks --sort--> suffixes in order --compare--> common prefixes
            --stack--> tree --add up--> counts (strings x nodes)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from gramsmith.kernels.base import Array
from gramsmith.kernels.embedding import Embedding
from gramsmith.kernels.symbolic.base import DecayKernel
from gramsmith.kernels.symbolic.loops import run_loop
from gramsmith.kernels.symbolic.sequences import Alphabet, SequenceKernel, Sequences, longest


@dataclass(frozen=True)
class SubstringCounts:
    """How often the substrings of each node occur in each string.

    A node stands for one substring of every length in (shorter, longer]. `counts`, of shape
    (n, nodes), has those that occur in two strings or more; `single` = (string, shorter, longer,
    times) what occurs in one string only.
    """

    counts: Any
    shorter: Array
    longer: Array
    single: tuple[Array, Array, Array, Array]


def substring_counts(
    codes: Array, starts: Array, max_length: int | None, entries: int
) -> SubstringCounts | None:
    """Return the substrings of strings laid end to end, or None if they take too many entries.

    Negative symbols are gaps, which no substring contains; `max_length` is the longest of interest.
    """
    n = len(starts) - 1
    text, string, reach = _joined(codes, starts)
    longest = int(reach.max(initial=0))
    cap = longest if max_length is None else min(max_length, longest)
    ranks = _ranks(text, cap)
    order = np.argsort(ranks[-1], kind="stable")
    order = order[reach[order] > 0]
    string, reach = string[order], np.minimum(reach[order], cap)
    common = np.minimum(_common_prefixes(ranks, order), np.minimum(reach, np.roll(reach, 1)))
    leaf, parent, depth = _tree(common)
    gathered = _gather(leaf, parent, string, entries)
    if gathered is None:
        return None
    node, owner, times = gathered
    # A node met by one string only says nothing about pairs: it is kept aside.
    met = np.bincount(node, minlength=len(depth))
    shared = met[node] > 1
    column = np.cumsum(met > 1) - 1
    above = np.where(parent >= 0, depth[np.maximum(parent, 0)], 0)
    place = (owner[shared], column[node[shared]])
    counts = sp.csr_array((times[shared], place), shape=(n, int((met > 1).sum())))
    alone = ~shared & (depth[node] > 0)
    single = (
        np.concatenate([string, owner[alone]]),
        np.concatenate([depth[leaf], above[node[alone]]]),
        np.concatenate([reach, depth[node[alone]]]),
        np.concatenate([np.ones(len(string)), times[alone]]),
    )
    return SubstringCounts(counts, above[met > 1], depth[met > 1], single)


def _joined(codes: Array, starts: Array) -> tuple[Array, Array, Array]:
    """Return the text with a separator of its own behind every string, in place of every gap.

    Also the string of each symbol, and how many symbols follow up to the next separator.
    """
    n = len(starts) - 1
    text = np.full(len(codes) + n, -1, dtype=np.int64)
    string = np.repeat(np.arange(n), np.diff(starts) + 1)
    text[np.arange(len(codes)) + np.repeat(np.arange(n), np.diff(starts))] = codes
    separators = np.flatnonzero(text < 0)
    # No two separators are equal, so that nothing common runs across one.
    text[separators] = text.max(initial=0) + 1 + np.arange(len(separators))
    following = separators[np.searchsorted(separators, np.arange(len(text)))]
    return text, string, following - np.arange(len(text))


def _ranks(text: Array, cap: int) -> list[Array]:
    """Return the ranks of all suffixes by their first 1, 2, 4 ... symbols, until they differ."""
    ranks = [np.unique(text, return_inverse=True)[1]]
    while True:
        rank, step = ranks[-1], 1 << (len(ranks) - 1)
        top = int(rank.max(initial=0)) + 1
        if step >= cap or top == len(text):
            return [r.astype(np.int32 if len(text) < 2**31 else np.int64) for r in ranks]
        after = np.zeros_like(rank)
        after[:-step] = rank[step:] + 1
        ranks.append(np.unique(rank * (top + 1) + after, return_inverse=True)[1])


def _common_prefixes(ranks: list[Array], order: Array) -> Array:
    """Return how many symbols each suffix shares with the one before it, 0 for the first."""
    p, q = order[:-1].copy(), order[1:].copy()
    length = np.zeros(len(order), dtype=np.int64)
    for level in range(len(ranks) - 1, -1, -1):
        rank = ranks[level]
        inside = np.maximum(p, q) < len(rank)
        equal = np.zeros(len(p), dtype=bool)
        equal[inside] = rank[p[inside]] == rank[q[inside]]
        length[1:] += equal.astype(np.int64) << level
        p += equal.astype(np.int64) << level
        q += equal.astype(np.int64) << level
    return length


def _tree(common: Array) -> tuple[Array, Array, Array]:
    """Return the suffix tree of sorted suffixes: parents of leaves; parents, depths of nodes."""
    n = len(common)
    leaf = np.zeros(n, dtype=np.int64)
    parent = np.full(n + 1, -1, dtype=np.int64)
    depth = np.zeros(n + 1, dtype=np.int64)
    stack = np.zeros(n + 1, dtype=np.int64)
    nodes = run_loop(grow, common, leaf, parent, depth, stack)
    return leaf, parent[:nodes], depth[:nodes]


def grow(common: Any, leaf: Any, parent: Any, depth: Any, stack: Any) -> int:
    """Write the suffix tree; return the number of nodes. Node 0 is the root."""
    nodes, top = 1, 0  # stack[: top + 1] is the path from the root to the last leaf's parent
    for i in range(1, len(common)):
        length = common[i]
        last = -1
        leaf[i - 1] = stack[top]
        while depth[stack[top]] > length:
            last = stack[top]
            top -= 1
            parent[last] = stack[top]
        if depth[stack[top]] < length:
            depth[nodes] = length
            parent[nodes] = stack[top]
            if last >= 0:
                parent[last] = nodes
            else:
                leaf[i - 1] = nodes
            top += 1
            stack[top] = nodes
            nodes += 1
    if len(common):
        leaf[len(common) - 1] = stack[top]
    return nodes


def _gather(
    leaf: Array, parent: Array, string: Array, entries: int
) -> tuple[Array, Array, Array] | None:
    """Return (node, string, times) for every string below every node, the root left out."""
    by_string = np.argsort(string, kind="stable")
    leaf, string = leaf[by_string], string[by_string]
    seen = np.full(len(parent), -1, dtype=np.int64)
    first = np.zeros(len(leaf) + 1, dtype=np.int64)
    held = run_loop(measure_paths, leaf, string, parent, seen, first, entries)
    if held > entries:
        return None
    node, owner = np.zeros(held, dtype=np.int64), np.zeros(held, dtype=np.int64)
    times, below = np.zeros(held), np.zeros(len(parent))
    run_loop(add_up, leaf, string, parent, first, node, owner, times, below)
    return node, owner, times


def measure_paths(leaf: Any, string: Any, parent: Any, seen: Any, first: Any, entries: int) -> int:
    """Write where the path of each leaf starts: the nodes above it not yet met by its string.

    Returns the length of all paths, or a number beyond `entries` as soon as they are too long.
    """
    held = 0
    for i in range(len(leaf)):
        first[i] = held
        v = leaf[i]
        while v > 0 and seen[v] != string[i]:
            seen[v] = string[i]
            v = parent[v]
            held += 1
        if held > entries:
            break
    first[len(leaf)] = held
    return held


def add_up(
    leaf: Any, string: Any, parent: Any, first: Any, node: Any, owner: Any, times: Any, below: Any
) -> None:
    """Write how many leaves of its string each node of each path has below it.

    Backwards over the leaves and upwards along their paths, children come before their parents.
    """
    stop = len(leaf)
    while stop > 0:
        start = stop - 1
        while start > 0 and string[start - 1] == string[stop - 1]:
            start -= 1
        for i in range(start, stop):
            below[leaf[i]] += 1.0
        for i in range(stop - 1, start - 1, -1):
            v = leaf[i]
            for e in range(first[i], first[i + 1]):
                node[e], owner[e], times[e] = v, string[i], below[v]
                below[parent[v]] += below[v]
                below[v] = 0.0
                v = parent[v]
        below[0] = 0.0
        stop = start


# Beyond this many counts the tile compares pairs of strings, in memory linear in their length.
ENTRIES = 1 << 26


class AllSubstrings(DecayKernel, SequenceKernel):
    r"""The kernel of all common substrings, weighted by their length.

    .. math:: k(s, t) = \sum_{u \ne \varepsilon} \lambda^{|u|}\, c_u(s)\, c_u(t)

    where :math:`c_u(s)` counts the occurrences of u in s.

    Parameters
    ----------
    max_length : int, optional
        The longest substring to count. Default: all.
    decay : float, default=1.0
        The factor :math:`\lambda` per symbol, 0 < decay <= 1; can be learned.

    Notes
    -----
    The substrings of all samples are the nodes of one suffix tree, built by sorting suffixes; a
    node is one sparse feature. Where strings are so alike that the features outgrow memory, pairs
    of strings are compared instead, in :math:`|s|\,|t|` steps and memory linear in their length.

    References
    ----------
    S. V. N. Vishwanathan, A. J. Smola. Fast kernels for string and tree matching. NIPS 15, 2003.

    Examples
    --------
    >>> import gramsmith as gs
    >>> gs.AllSubstrings()(["abab"], ["ab"])  # a, b and ab, twice each
    array([[6.]])
    >>> gs.AllSubstrings(max_length=2, decay=0.5)(["banana"], ["ananas"])
    array([[8.5]])
    """

    loop = "runs"
    whole: ClassVar[dict[str, int]] = {**SequenceKernel.whole, "max_length": 1}
    optional: ClassVar[tuple[str, ...]] = ("length_limit", "max_length")

    def __init__(
        self,
        max_length: int | None = None,
        decay: float = 1.0,
        alphabet: Any = None,
        case: str = "keep",
        unknown: str = "error",
        length_limit: int | None = 500_000,
    ) -> None:
        self.max_length = max_length
        self.decay = decay
        super().__init__(alphabet, case, unknown, length_limit)

    def counted(self, alphabet: Alphabet, strings: Sequences) -> Any:
        return substring_counts(*alphabet.encode(strings), self.max_length, ENTRIES)

    def weighted(self, counts: SubstringCounts, which: int) -> Any:
        """Return the counts of the strings, each node multiplied by the root of its weight."""
        sums = (_sums, _slopes)[which]
        w = sums(self.decay, counts.longer) - sums(self.decay, counts.shorter)
        string, shorter, longer, times = counts.single
        alone = (sums(self.decay, longer) - sums(self.decay, shorter)) * times**2
        aside = np.bincount(string, weights=alone, minlength=counts.counts.shape[0])
        parts = [counts.counts * np.sqrt(w), sp.diags_array(np.sqrt(aside))]
        return sp.csr_array(sp.hstack(parts, format="csr"))

    def options(self, a: Embedding, b: Embedding, which: int) -> tuple[Any, ...]:
        # A common run of r symbols ends a common substring of every length up to r.
        reach = longest(a, b)
        cap = reach if self.max_length is None else min(reach, int(self.max_length))
        return (_sums, _slopes)[which](self.decay, np.arange(cap + 1)), np.ones(reach + 1)


def _sums(decay: float, length: Array) -> Array:
    """Return λ + λ² + ... + λ^length."""
    table = np.arange(1.0, int(np.max(length, initial=0)) + 1.0)
    return np.concatenate([[0.0], np.cumsum(decay**table)])[length]


def _slopes(decay: float, length: Array) -> Array:
    """Return the derivative of `_sums` by the decay, 1 + 2λ + ... + length λ^(length - 1)."""
    table = np.arange(1.0, int(np.max(length, initial=0)) + 1.0)
    return np.concatenate([[0.0], np.cumsum(table * decay ** (table - 1.0))])[length]
