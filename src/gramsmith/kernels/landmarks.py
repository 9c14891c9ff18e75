"""Landmarks: a few samples whose columns of the kernel matrix stand for all of them.

How to choose them (`choose_landmarks`), and what makes features of them (`inverse_root`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg import solve_triangular

from gramsmith.arguments import abridged, is_one_of

Array = npt.NDArray[Any]
Block = Callable[[Array, Array], Array]

METHODS = ("pivoted", "leverage", "uniform")
CANDIDATE_BYTES = 1 << 28  # for the factor of the samples among which landmarks are looked for


def choose_landmarks(
    block: Block, diagonal: Array, size: int, method: str = "pivoted", rng: Any = 0
) -> Array:
    """Return the positions of landmarks, ascending; fewer where the kernel has no more to tell.

    ``block(I, J)`` returns the kernel of the samples I with the samples J, `diagonal` is that of
    every sample with itself. "pivoted" draws samples by what the landmarks so far leave unexplained
    of them, see `random_pivots`; "leverage" by their ridge leverage scores, estimated from uniform
    ones; "uniform" all alike. Of many samples a random part, for which there is memory, is looked
    at.

    Examples
    --------
    >>> x = np.array([0.0, 0.0, 0.0, 0.0, 5.0])
    >>> K = np.exp(-(np.subtract.outer(x, x) ** 2))
    >>> x[choose_landmarks(lambda I, J: K[np.ix_(I, J)], K.diagonal(), 2)]
    array([0., 5.])
    """
    if not is_one_of(method, METHODS):
        raise ValueError(f"Expected a method among {', '.join(METHODS)}, got {abridged(method)}.")
    rng = np.random.default_rng(rng)
    n = len(diagonal)
    size = min(int(size), n)
    if method == "uniform" or size == n:
        return np.sort(rng.permutation(n)[:size])
    most = max(4 * size, CANDIDATE_BYTES // (8 * size))
    among = np.arange(n) if n <= most else np.sort(rng.permutation(n)[:most])
    if method == "pivoted":
        found, _ = random_pivots(lambda J: block(among, among[J]), diagonal[among], size, rng)
    else:
        found = _by_leverage(block, among, size, rng)
    return np.sort(among[found])


def random_pivots(
    columns: Callable[[Array], Array],
    diagonal: Array,
    rank: int,
    rng: Any = 0,
    proposals: int | None = None,
) -> tuple[Array, Array]:
    """Draw pivots of a Cholesky factor, each by the diagonal that those before it have left.

    Many are proposed at once, and of these accepted one after the other with the probability that
    drawing singly would have had: the pivots have the same law, the work is in large products.
    ``columns(J)`` returns the columns J of K, shape (n, len(J)). Returned are the pivots in the
    order in which they were drawn, and the diagonal of K less its approximation from them.

    References
    ----------
    Y. Chen, E. N. Epperly, J. A. Tropp, R. J. Webber, "Randomly pivoted Cholesky", 2022;
    E. N. Epperly, J. A. Tropp, R. J. Webber, "Embrace rejection: kernel matrix approximation by
    accelerated randomly pivoted Cholesky", 2024.
    """
    rng = np.random.default_rng(rng)
    d = np.maximum(np.asarray(diagonal, dtype=np.float64), 0.0)
    n, rank = len(d), min(int(rank), len(d))
    step = max(1, rank // 10) if proposals is None else int(proposals)
    # Residuals below rounding are noise; a pivot on them would divide noise by noise.
    noise = n * float(np.finfo(np.float64).eps) * float(d.max(initial=0.0))
    F = np.empty((n, rank))
    pivots = np.empty(0, dtype=np.intp)
    while len(pivots) < rank and d.max(initial=0.0) > noise:
        k = len(pivots)
        drawn = rng.choice(n, size=step, p=d / d.sum())
        fresh = np.asarray(columns(drawn), dtype=np.float64) - F[:, :k] @ F[drawn, :k].T
        accepted, L = _accept(fresh[drawn], d[drawn], noise, rng)
        accepted, L = accepted[: rank - k], L[: rank - k, : rank - k]
        new = solve_triangular(L, fresh[:, accepted].T, lower=True, check_finite=False).T
        F[:, k : k + len(accepted)] = new
        pivots = np.append(pivots, drawn[accepted])
        d -= np.einsum("ij,ij->i", new, new)
        np.maximum(d, 0.0, out=d)
        d[pivots] = 0.0
    return pivots, d


def _accept(H: Array, proposed: Array, noise: float, rng: Any) -> tuple[Array, Array]:
    """Return which proposals are taken, and the Cholesky factor of their part of H.

    A proposal is taken with the share of its diagonal that those taken before have left.
    """
    level = rng.random(len(H)) * proposed
    L = np.zeros_like(H)
    taken: list[int] = []
    rest = H.diagonal().copy()
    for i in range(len(H)):
        if rest[i] <= max(level[i], noise):
            continue
        k = len(taken)
        L[:, k] = (H[:, i] - L[:, :k] @ L[i, :k]) / np.sqrt(rest[i])
        rest -= L[:, k] ** 2
        taken.append(i)
    if not taken:  # rounding alone may refuse all: the largest is always good
        taken = [int(np.argmax(rest))]
        L[:, 0] = H[:, taken[0]] / np.sqrt(max(rest[taken[0]], np.finfo(float).tiny))
    return np.array(taken, dtype=np.intp), L[taken, : len(taken)]


def _by_leverage(block: Block, among: Array, size: int, rng: Any) -> Array:
    """Draw positions in `among` by ridge leverage scores, from the features of uniform ones."""
    first = among[np.sort(rng.permutation(len(among))[:size])]
    F = block(among, first) @ inverse_root(block(first, first))
    values, vectors = np.linalg.eigh(F.T @ F)
    # of the ridges that leave about half of the landmarks effective
    ridge = max(float(values[len(values) // 2]), np.finfo(float).tiny)
    scores = np.square(F @ vectors) @ (1.0 / (np.maximum(values, 0.0) + ridge))
    return np.asarray(
        rng.choice(len(among), size=size, replace=False, p=scores / scores.sum()), dtype=np.intp
    )


def inverse_root(K: Array) -> Array:
    """Return R with R R' = K^-1, on the range of K where it is singular.

    The Cholesky factor is many times cheaper than the eigenvectors. Where K is nearly singular a
    jitter far below any useful regulariser keeps it alive, and eigenvectors serve where that is not
    enough.
    """
    m = len(K)
    top = float(np.diagonal(K).max(initial=0.0))
    try:
        L = _plain_factor(K)
        if L is None or np.diagonal(L).min(initial=np.inf) ** 2 < 1e-6 * top:
            L = np.linalg.cholesky(K + 1e-10 * max(top, np.finfo(float).tiny) * np.eye(m))
        return np.ascontiguousarray(
            solve_triangular(L, np.eye(m), lower=True, check_finite=False).T
        )
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(K)
        kept = values > max(values[-1], 0.0) * m * 1e-12
        kept[-1] = True
        root = vectors[:, kept] / np.sqrt(np.maximum(values[kept], np.finfo(float).tiny))
        return np.ascontiguousarray(root)


def _plain_factor(K: Array) -> Array | None:
    try:
        return np.asarray(np.linalg.cholesky(K))
    except np.linalg.LinAlgError:
        return None
