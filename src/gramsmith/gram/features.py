"""Kernels with explicit features, K = U U', whose moments need no tiles."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from gramsmith.gram.embedded import EmbeddedKernel
from gramsmith.gram.plan import Plan
from gramsmith.moments import Moments

Array = npt.NDArray[Any]


def find_routes(
    members: list[EmbeddedKernel], plan: Plan, folds: int, budget: int, cross: bool
) -> list[tuple[list[EmbeddedKernel], Any]]:
    """Return runs of members with the features of each, or with None where they go by tiles.

    Inner products between kernels (`cross`) need all of them on one route.
    """
    if not plan.features:
        return [(members, None)]
    n, features = plan.blocks[-1].rows.stop, []
    for member in members:
        U = member.kernel.features(member.X, member.reference)
        features.append(None if U is None or not cheaper_than_tiles(U, n, folds, budget) else U)
    tiled = [U is None for U in features]
    if all(tiled) or (cross and any(tiled)):
        return [(members, None)]
    groups = []
    for by_tiles, run in groupby(zip(members, features, strict=True), lambda pair: pair[1] is None):
        group, Us = zip(*run, strict=True)
        groups.append((list(group), None if by_tiles else list(Us)))
    return groups


def side_by_side(parts: list[Moments]) -> Moments:
    """Return the moments of the kernels of all parts, without products between them."""
    m = sum(len(part) for part in parts)
    F = parts[0].q.shape[2]
    q = np.zeros((m, m, F, F))
    start = 0
    for part in parts:
        stop = start + len(part)
        q[start:stop, start:stop] = part.q
        start = stop
    joined = (np.concatenate([getattr(p, name) for p in parts]) for name in ("P", "d", "h", "c"))
    P, d, h, c = joined
    centred = [np.zeros(len(p), bool) if p.centred is None else p.centred for p in parts]
    return Moments(P, d, q, h, c, parts[0].fold, False, np.concatenate(centred))


def cheaper_than_tiles(U: Any, n: int, folds: int, budget: int) -> bool:
    """Return whether U'U is smaller work than tiles and fits the budget once per fold."""
    D = int(U.shape[1])
    return D < max(n, 64) and 8 * D * D * (folds + 1) <= budget


def explicit_moments(
    Us: Sequence[Any], probe: Array, w: Array, fold: Array, *, cross: bool = False
) -> Moments:
    """Return the moments of the kernels U_k U_k'.

    With ū the weighted mean of the rows of U, the moments are those of (U - 1ū')(U - 1ū')', and
    the rest of U U' is the pivot: h = (U - 1ū') ū and c = |ū|².
    """
    n, t = probe.shape
    F, m = int(fold.max(initial=0)) + 1, len(Us)
    P, d, h, c = np.empty((m, F, n, t)), np.empty((m, n)), np.empty((m, n)), np.empty(m)
    q = np.zeros((m, m, F, F))
    index = [np.flatnonzero(fold == f) for f in range(F)]
    weights = [w[i] for i in index]
    centred = []
    for k, U in enumerate(Us):
        mean = np.asarray(w @ U).ravel() / w.sum()
        if not sp.issparse(U):
            U = U - mean
            rest = np.zeros_like(mean)
        else:
            rest = mean  # sparse rows stay as they are; their mean is taken off afterwards
        centred.append((U, rest))
        Ur = np.asarray(U @ rest).ravel()
        lengths = np.asarray((U.multiply(U) if sp.issparse(U) else U * U).sum(axis=1)).ravel()
        d[k] = lengths - 2.0 * Ur + rest @ rest
        h[k] = np.asarray(U @ mean).ravel() - rest @ mean
        c[k] = mean @ mean
        for f in range(F):
            Z = np.asarray(U[index[f]].T @ probe[index[f]])
            Z = Z - np.outer(rest, probe[index[f]].sum(axis=0))
            P[k, f] = np.asarray(U @ Z) - rest @ Z
    pairs = [(k, l) for k in range(m) for l in range(k, m) if cross or k == l]
    for k, l in pairs:
        scatters = [
            _scatter(centred[k], centred[l], i, wi) for i, wi in zip(index, weights, strict=True)
        ]
        for f in range(F):
            for g in range(f, F):
                # <U_k U_k', U_l U_l'> over rows of fold f and columns of fold g
                value = float(np.vdot(scatters[f], scatters[g]))
                q[k, l, f, g] = q[k, l, g, f] = q[l, k, f, g] = q[l, k, g, f] = value
    dense = np.array([not sp.issparse(U) for U in Us])
    return Moments(P, d, q, h, c, fold, cross, dense)


def _scatter(left: tuple[Any, Array], right: tuple[Any, Array], index: Array, w: Array) -> Array:
    """Return Σ_i w_i (u_i - ū)(v_i - v̄)' over the rows `index`."""
    (U, u), (V, v) = left, right
    U, V = U[index], V[index]
    wU = U.multiply(w[:, None]).tocsr() if sp.issparse(U) else U * w[:, None]
    S = wU.T @ V
    S = S.toarray() if sp.issparse(S) else np.asarray(S)
    if u.any() or v.any():
        su, sv = np.asarray(w @ U).ravel(), np.asarray(w @ V).ravel()
        S = S - np.outer(u, sv) - np.outer(su, v) + w.sum() * np.outer(u, v)
    return np.asarray(S)
