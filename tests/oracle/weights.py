"""Every measure of weighted samples from its definition on docs/theory/weights.rst, by loops.

Rows of weight 0 are left out first; of the others, n+ in number, u_i = w_i n+ / S.
"""

import numpy as np

from oracle.measures import embed
from oracle.targets import target_matrix


def rows_and_weights(w):
    """The rows of positive weight, and their weights with mean 1."""
    rows = np.flatnonzero(np.asarray(w) > 0)
    positive = np.asarray(w, dtype=float)[rows]
    return rows, positive * len(rows) / positive.sum()


def weighted_inner(A, B, u):
    """sum_ij u_i u_j A_ij B_ij."""
    n = range(len(u))
    return sum(u[i] * u[j] * A[i, j] * B[i, j] for i in n for j in n)


def weighted_target(y, kind, u):
    """T entry by entry; values are centred by their weighted mean."""
    if kind in ("values", "outputs"):
        Y = np.asarray(y, dtype=float).reshape(len(u), -1)
        Y = Y - np.average(Y, axis=0, weights=u)
        return Y @ Y.T
    return target_matrix(y, "multilabel" if kind == "labels" else "simplex")


def weighted_centred(K, u):
    """K_ij less the weighted means of row i and of column j, plus that of all."""
    mean = np.average(K, axis=1, weights=u)
    return K - mean[:, None] - mean + np.average(mean, weights=u)


def weighted_u_centred(K, u):
    """K_ij - a_i - a_j off the diagonal and 0 on it, a by least squares with weights u_i u_j."""
    n = len(u)
    pairs = [(i, j) for i in range(n) for j in range(n) if i != j]
    design, values, weights = np.zeros((len(pairs), n)), [], []
    for row, (i, j) in enumerate(pairs):
        design[row, [i, j]] += 1
        values.append(K[i, j])
        weights.append(np.sqrt(u[i] * u[j]))
    weights = np.array(weights)
    a = np.linalg.lstsq(design * weights[:, None], np.array(values) * weights, rcond=None)[0]
    U = K - a[:, None] - a
    np.fill_diagonal(U, 0.0)
    return U


def weighted_alignment(K, L, u, projection=lambda K, u: K):
    """<PK, PL> / (|PK| |PL|)."""
    A, B = projection(K, u), projection(L, u)
    return weighted_inner(A, B, u) / np.sqrt(weighted_inner(A, A, u) * weighted_inner(B, B, u))


def class_rows(y):
    """Row numbers of every class."""
    return [np.flatnonzero(y == c) for c in np.unique(y)]


def weighted_pairs(function, y, u):
    """The mean over pairs of classes, by their weights together."""
    groups = class_rows(y)
    total = weight = 0.0
    for a in range(len(groups)):
        for b in range(a):
            size = u[groups[a]].sum() + u[groups[b]].sum()
            total += size * function(groups[a], groups[b])
            weight += size
    return total / weight


def weighted_fsm(K, y, u, ddof=1, leave_one_out=False):
    """Spread of the projections over the distance of their means; pairs of classes averaged."""
    base = weighted_centred(K, u) if leave_one_out else K

    def of_pair(a, b):
        spread = distance = 0.0
        for rows, other in ((a, b), (b, a)):
            f = []
            for i in rows:
                near = [j for j in rows if not (leave_one_out and j == i)]
                f.append(
                    np.average(base[i, near], weights=u[near])
                    - np.average(base[i, other], weights=u[other])
                )
            mean = np.average(f, weights=u[rows])
            variance = np.average((np.array(f) - mean) ** 2, weights=u[rows])
            spread += np.sqrt(variance * len(rows) / (len(rows) - ddof))
            distance += mean
        return spread / distance if distance > 0 else np.inf

    return weighted_pairs(of_pair, y, u)


def weighted_fsm_regression(K, y, u):
    """sqrt(1/rho^2 - 1), rho the weighted correlation of y and its smooth HKHy."""
    z = np.asarray(y, dtype=float) - np.average(y, weights=u)
    g = weighted_centred(K, u) @ (u * z)
    g = g - np.average(g, weights=u)
    rho = np.sum(u * g * z) / np.sqrt(np.sum(u * g * g) * np.sum(u * z * z))
    return np.sqrt(1 / rho**2 - 1)


def mean_and_spread(Phi, rows, u):
    """Weighted mean of explicit vectors, and the weighted mean of the squared distances to it."""
    mean = np.average(Phi[rows], axis=0, weights=u[rows])
    return mean, np.average(((Phi[rows] - mean) ** 2).sum(axis=1), weights=u[rows])


def weighted_csm(K, y, u, ddof=1):
    """Traces of the covariances, degrees of freedom by rows, over the distance of the means."""
    Phi = embed(K)

    def of_pair(a, b):
        (mean_a, spread_a), (mean_b, spread_b) = (mean_and_spread(Phi, r, u) for r in (a, b))
        within = spread_a * len(a) / (len(a) - ddof) + spread_b * len(b) / (len(b) - ddof)
        return within / np.sum((mean_a - mean_b) ** 2)

    return weighted_pairs(of_pair, y, u)


def weighted_scatter(K, Y, u):
    """What weighted least squares of the vectors on Y leaves over, by what it explains."""
    Phi = embed(K)
    root = np.sqrt(u)[:, None]
    Phi = Phi - np.average(Phi, axis=0, weights=u)
    Y = Y - np.average(Y, axis=0, weights=u)
    fitted = Y @ np.linalg.lstsq(root * Y, root * Phi, rcond=None)[0]
    return np.sum((root * (Phi - fitted)) ** 2) / np.sum((root * fitted) ** 2)


def weighted_mmd(K, y, u, unbiased=False):
    """Squared distance of the means; unbiased, less the variance that the means have themselves."""
    Phi = embed(K)

    def of_pair(a, b):
        (mean_a, spread_a), (mean_b, spread_b) = (mean_and_spread(Phi, r, u) for r in (a, b))
        value = np.sum((mean_a - mean_b) ** 2)
        for rows, spread in ((a, spread_a), (b, spread_b)):
            s = np.sum(u[rows] ** 2) / np.sum(u[rows]) ** 2
            value -= unbiased * spread * s / (1 - s)
        return value

    return weighted_pairs(of_pair, y, u)


def weighted_measure(name, K, y, kind, w):
    """The value of a measure for weights w; K is positive semidefinite."""
    rows, u = rows_and_weights(w)
    K, y, n = K[np.ix_(rows, rows)], np.asarray(y)[rows], len(rows)
    real = kind in ("values", "outputs")
    T = weighted_target(y, kind, u)
    if name in ("kta", "cka", "cka_debiased"):
        projection = {"cka": weighted_centred, "cka_debiased": weighted_u_centred}
        return weighted_alignment(K, T, u, projection.get(name, lambda K, u: K))
    if name == "polarity":
        return weighted_inner(K, T, u)
    if name == "hsic":
        return weighted_inner(weighted_centred(K, u), T, u) / (n - 1) ** 2
    if name == "hsic_unbiased":
        UK, UT = weighted_u_centred(K, u), weighted_u_centred(T, u)
        return weighted_inner(UK, UT, u) / (n * (n - 3))
    if name.startswith("mmd"):
        return weighted_mmd(K, y, u, name.endswith("unbiased"))
    if name.startswith("fsm"):
        if real:
            return weighted_fsm_regression(K, y, u)
        return weighted_fsm(K, y, u, leave_one_out=name == "fsm_loo")
    if name == "csm" and not real:
        return weighted_csm(K, y, u)
    columns = (
        np.asarray(y, dtype=float).reshape(n, -1)
        if kind in ("values", "outputs", "labels")
        else np.equal.outer(y, np.unique(y)).astype(float)
    )
    return weighted_scatter(K, columns, u)
