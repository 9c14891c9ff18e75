"""Aggregated permutation tests from their definitions: dense matrices and loops over shuffles."""

import numpy as np

from oracle.measures import u_centred


def unbiased_mmd(K, first):
    """Means of k over different x, x' and y, y', less twice that over x, y."""
    X, Y = np.flatnonzero(first), np.flatnonzero(~first)
    within = [np.mean([K[i, j] for i in side for j in side if i != j]) for side in (X, Y)]
    return within[0] + within[1] - 2.0 * K[np.ix_(X, Y)].mean()


def unbiased_hsic(K, L):
    """<UK, UL> / n(n - 3)."""
    n = len(K)
    return float(np.sum(u_centred(K) * u_centred(L))) / (n * (n - 3))


def aggregated_pvalue(statistics):
    """The share of rows whose least rank is as small as that of row 0.

    Equal ranks are told apart by the value in units of the deviation of its column.
    """
    S = np.asarray(statistics)
    Z = (S - S.mean(axis=0)) / S.std(axis=0)
    ranks = [
        [(sum(S[:, k] >= S[b, k] - 1e-12), -Z[b, k]) for k in range(S.shape[1])]
        for b in range(len(S))
    ]
    least = [min(row) for row in ranks]
    first = least[0]
    return np.mean([rank < first[0] or (rank == first[0] and z <= first[1]) for rank, z in least])
