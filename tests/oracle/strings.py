"""String, set and tree kernels by enumeration: exponential in places, and plainly right.

A string is any sequence: text, bytes or a list of tokens.
"""

from itertools import combinations, product

import numpy as np


def substrings(s, k):
    """Every contiguous piece of length k with repetition, |s| - k + 1 of them."""
    s = tuple(s)
    return [s[i : i + k] for i in range(len(s) - k + 1)]


def spectrum(s, t, k, presence=False):
    """sum_a c_s(a) c_t(a) over the substrings a of length k, by walking two sorted lists.

    ``k`` may be a pair (low, high): the sum over all lengths between, both included.
    ``presence`` counts every distinct substring once.
    """
    if not isinstance(k, int):
        return sum(spectrum(s, t, length, presence) for length in range(k[0], k[1] + 1))
    left, right = sorted(substrings(s, k)), sorted(substrings(t, k))
    i = j = total = 0
    while i < len(left) and j < len(right):
        if left[i] < right[j]:
            i += 1
        elif right[j] < left[i]:
            j += 1
        else:
            a, i0, j0 = left[i], i, j
            while i < len(left) and left[i] == a:
                i += 1
            while j < len(right) and right[j] == a:
                j += 1
            total += 1 if presence else (i - i0) * (j - j0)
    return total


def all_substrings(s, t, max_length=None, decay=1.0):
    """sum over non-empty u of decay^|u| c_s(u) c_t(u), by comparing every pair of pieces."""
    s, t = tuple(s), tuple(t)
    longest = min(len(s), len(t))
    longest = longest if max_length is None else min(longest, max_length)
    total = 0.0
    for k in range(1, longest + 1):
        for a in substrings(s, k):
            for b in substrings(t, k):
                if a == b:
                    total += decay**k
    return total


def subsequence(s, t, length, decay):
    """Gap-weighted subsequences.

    The sum over index tuples i, j with s[i] = t[j] of decay^(span i + span j); the span of
    i_1 < ... < i_m is i_m - i_1 + 1, gaps included.
    """
    s, t = tuple(s), tuple(t)
    total = 0.0
    for i in combinations(range(len(s)), length):
        for j in combinations(range(len(t)), length):
            if all(s[a] == t[b] for a, b in zip(i, j, strict=True)):
                total += decay ** (i[-1] - i[0] + 1 + j[-1] - j[0] + 1)
    return total


def mismatch(s, t, k, m, alphabet):
    """sum_a f_s(a) f_t(a), f_s(a) = number of k-mers of s at Hamming distance <= m from a.

    The sum runs over all of alphabet^k, so the value depends on the alphabet as soon as m > 0.
    """

    def feature(string, a):
        return sum(
            sum(p != q for p, q in zip(piece, a, strict=True)) <= m
            for piece in substrings(string, k)
        )

    return sum(feature(s, a) * feature(t, a) for a in product(tuple(alphabet), repeat=k))


def weighted_degree(s, t, degree, shift=0):
    """Position-wise matches of all lengths d <= degree.

    sum_d beta_d sum_l delta_l sum_i ([s_{i+l}.. = t_i..] + [s_i.. = t_{i+l}..]), length d,
    beta_d = 2 (degree - d + 1) / (degree (degree + 1)) and delta_l = 1 / (2 (l + 1)), l = 0..shift.
    Without shift the two brackets coincide and the weight 1/2 + 1/2 is one.
    """
    s, t = tuple(s), tuple(t)
    total = 0.0
    for d in range(1, degree + 1):
        beta = 2 * (degree - d + 1) / (degree * (degree + 1))
        for l in range(shift + 1):
            for i in range(max(len(s), len(t))):
                for x, z in ((s, t), (t, s)):
                    fits = i + l + d <= len(x) and i + d <= len(z)
                    if fits and x[i + l : i + l + d] == z[i : i + d]:
                        total += beta / (2 * (l + 1))
    return total


def all_subsets(x, z, weights=None):
    """Common subsets, the empty one included: sum over A in both of prod_{a in A} w_a."""
    total = 0.0
    for size in range(len(x) + 1):
        for subset in combinations(sorted(x, key=repr), size):
            if set(subset) <= set(z):
                total += float(np.prod([1.0 if weights is None else weights[a] for a in subset]))
    return total


def all_subsets_vectors(x, z):
    """sum over subsets A of the coordinates of prod_{a in A} x_a z_a (equals prod(1 + x_a z_a))."""
    total = 0.0
    for size in range(len(x) + 1):
        for subset in combinations(range(len(x)), size):
            total += float(np.prod([x[a] * z[a] for a in subset]))
    return total


def _label_and_children(tree):
    return (tree[0], tuple(tree[1:])) if isinstance(tree, tuple) else (tree, ())


def tree_nodes(tree):
    """Every node of a tree (label, child, child, ...), as the tree below it; a leaf is a label."""
    label, children = _label_and_children(tree)
    found = [(label, *children) if children else (label,)]
    for child in children:
        found.extend(tree_nodes(child))
    return found


def _canonical(tree):
    label, children = _label_and_children(tree)
    return (label, *(_canonical(child) for child in children))


def tree_size(tree):
    """Number of nodes."""
    return len(tree_nodes(tree))


def _fragments(tree):
    # Collins & Duffy: a node of a fragment keeps all its children or none; the root keeps them.
    label, children = _label_and_children(tree)
    choices = []
    for child in children:
        stub = (_label_and_children(child)[0],)
        choices.append([(stub, 0), *_fragments(child)])
    if not children:
        return []
    return [
        ((label, *(piece for piece, _ in choice)), 1 + sum(used for _, used in choice))
        for choice in product(*choices)
    ]


def subtree(s, t, decay=1.0, kind="complete"):
    """Common subtrees of two labelled ordered trees given as nested tuples, by listing them.

    ``kind="complete"``: pairs of nodes with equal whole trees below, weighted decay^(nodes).
    ``kind="fragment"``: Collins & Duffy's fragments (a node keeps all its children or none, the
    root keeps them), weighted decay^(expanded nodes).
    """
    if kind == "complete":
        return sum(
            decay ** tree_size(a)
            for a in map(_canonical, tree_nodes(s))
            for b in map(_canonical, tree_nodes(t))
            if a == b
        )
    pieces_t = [piece for node in tree_nodes(t) for piece in _fragments(node)]
    pieces_s = [piece for node in tree_nodes(s) for piece in _fragments(node)]
    return sum(decay**size for a, size in pieces_s for b, _ in pieces_t if a == b)
