"""Derivatives dM/dK as explicit matrices, chain rules as double loops, numerical differences.

Convention: G = dM/dK is symmetric with dM = sum_ij G_ij dK_ij over all n^2 entries.
"""

import numpy as np

from oracle.kernels import gaussian, squared_distances
from oracle.measures import (
    PROJECTIONS,
    alignment,
    centering_matrix,
    csm,
    csm_regression,
    fsm,
    fsm_regression,
    inner,
    norm,
    regression_correlation,
)
from oracle.targets import as_target, mean_difference, members, one_hot


def d_alignment(K, T_or_y, projection="plain"):
    """(PT/|PT| - A PK/|PK|) / |PK|."""
    T = as_target(K, T_or_y)
    PK, PT = PROJECTIONS[projection](K), PROJECTIONS[projection](T)
    return (PT / norm(PT) - alignment(K, T, projection) * PK / norm(PK)) / norm(PK)


def d_polarity(K, T_or_y):
    """T."""
    return as_target(K, T_or_y)


def d_hsic(K, T_or_y, unbiased=False):
    """HTH/(n-1)^2, or U(T)/(n(n-3))."""
    T, n = as_target(K, T_or_y), len(K)
    if unbiased:
        return PROJECTIONS["debiased"](T) / (n * (n - 3))
    return PROJECTIONS["centred"](T) / (n - 1) ** 2


def d_mmd(K, y):
    """delta delta', the derivative of the (biased) squared distance of the class means."""
    delta = mean_difference(y)
    return np.outer(delta, delta)


def d_fsm(K, y, ddof=1):
    """(r delta' + delta r')/2 - (FSM/d2) delta delta', for two classes.

    r_i = (g_i - gbar_c)/((n_c - ddof) sd_c d2), 0 in a class without spread.
    """
    delta = mean_difference(y)
    g = K @ delta
    d2 = float(delta @ g)
    r = np.zeros(len(K))
    for rows in members(y):
        sd = np.std(g[rows], ddof=ddof)
        if sd > 0:
            r[rows] = (g[rows] - g[rows].mean()) / ((len(rows) - ddof) * sd * d2)
    rank_two = (np.outer(r, delta) + np.outer(delta, r)) / 2
    return rank_two - fsm(K, y, ddof) / d2 * np.outer(delta, delta)


def d_fsm_error_bound(K, y, ddof=1):
    """2F/(1+F^2)^2 dF/dK."""
    F = fsm(K, y, ddof)
    return 2 * F / (1 + F**2) ** 2 * d_fsm(K, y, ddof)


def d_csm_covariance(K, y, ddof=1, c=1.0):
    """(c/d2) [sum_c (diag(1_c) - 1_c 1_c'/n_c)/(n_c - ddof) - (CSM/c) delta delta']."""
    delta = mean_difference(y)
    G = -csm(K, y, "covariance", ddof, c) / c * np.outer(delta, delta)
    for rows in members(y):
        ones = np.zeros(len(K))
        ones[rows] = 1.0
        G += (np.diag(ones) - np.outer(ones, ones) / len(rows)) / (len(rows) - ddof)
    return c * G / float(delta @ K @ delta)


def class_projector(y):
    """P_Y = Y diag(1/n_c) Y' - 11'/n."""
    Y = one_hot(y)
    return Y @ np.diag(1 / Y.sum(axis=0)) @ Y.T - np.ones((len(y), len(y))) / len(y)


def d_csm_scatter(K, y):
    """(H - (1 + CSM) P_Y) / <K, P_Y>."""
    P = class_projector(y)
    return (centering_matrix(len(K)) - (1 + csm(K, y, "scatter")) * P) / inner(K, P)


def d_csm_regression(K, values):
    """(H - (1 + CSM) P) / <K, P> with P = y_c y_c' / |y_c|^2."""
    y = np.asarray(values, dtype=float) - np.mean(values)
    P = np.outer(y, y) / float(y @ y)
    return (centering_matrix(len(K)) - (1 + csm_regression(K, values)) * P) / inner(K, P)


def d_fsm_regression(K, values):
    """-(1/(rho^3 F)) [y_c y_c'/(|g| |y_c|) - rho (g y_c' + y_c g')/(2 |g|^2)], g = HKHy."""
    y = np.asarray(values, dtype=float) - np.mean(values)
    H = centering_matrix(len(K))
    g = H @ K @ y
    rho, F = regression_correlation(K, values), fsm_regression(K, values)
    straight = np.outer(y, y) / (np.linalg.norm(g) * np.linalg.norm(y))
    turned = rho * (np.outer(g, y) + np.outer(y, g)) / (2 * float(g @ g))
    return -(straight - turned) / (rho**3 * F)


def d_normalized(K, G):
    """Pull Gn = dM/dKn back through Kn = K/sqrt(k_i k_j).

    Gn/sqrt(k_i k_j) - diag(sum_j Gn_ij Kn_ij / k_i).
    """
    k = np.diag(K)
    size = np.sqrt(np.outer(k, k))
    return G / size - np.diag(np.sum(G * K / size, axis=1) / k)


def gaussian_of_transform(X, S):
    """exp(-|S'(x - z)|^2)."""
    return np.exp(-squared_distances(np.asarray(X) @ np.asarray(S)))


def d_transform(X, S, G, slope=None):
    """dM/dS = sum_ij G_ij psi'(D_ij) 2 (x_i - x_j)(x_i - x_j)'S, pair by pair.

    ``slope`` is psi' of the squared distances D after the map; by default that of exp(-D).
    """
    X, S = np.asarray(X, dtype=float), np.asarray(S, dtype=float)
    D = squared_distances(X @ S)
    V = G * (-np.exp(-D) if slope is None else slope(D))
    total = np.zeros_like(S)
    for i in range(len(X)):
        for j in range(len(X)):
            step = X[i] - X[j]
            total += 2 * V[i, j] * np.outer(step, step) @ S
    return total


def d_inputs(X, S, G, slope=None):
    """dM/dX, pair by pair: 4 sum_j V_ij SS'(x_i - x_j) for symmetric V = G psi'(D)."""
    X, S = np.asarray(X, dtype=float), np.asarray(S, dtype=float)
    D = squared_distances(X @ S)
    V = G * (-np.exp(-D) if slope is None else slope(D))
    V = (V + V.T) / 2
    total = np.zeros_like(X)
    for i in range(len(X)):
        for j in range(len(X)):
            total[i] += 4 * V[i, j] * (S @ S.T @ (X[i] - X[j]))
    return total


def d_sigma(X, sigma, G):
    """dM/dsigma = <G, K * D> / sigma^3 for the Gaussian kernel with one length scale."""
    return inner(G, gaussian(X, length_scale=sigma) * squared_distances(X)) / sigma**3


def numerical_gradient(f, K, step=1e-6):
    """dM/dK by central differences along the symmetric directions e_i e_j' + e_j e_i'."""
    K = np.asarray(K, dtype=float)
    n = len(K)
    G = np.zeros((n, n))
    h = step * max(1.0, float(np.max(np.abs(K))))
    for i in range(n):
        for j in range(i + 1):
            E = np.zeros((n, n))
            E[i, j] = E[j, i] = 1.0
            slope = (f(K + h * E) - f(K - h * E)) / (2 * h)
            # An off-diagonal direction moves two entries, so each gets half of the slope.
            G[i, j] = G[j, i] = slope if i == j else slope / 2
    return G


def finite_difference(f, theta, step=1e-6):
    """Derivative of a scalar function at theta, an array of any shape, by central differences."""
    theta = np.asarray(theta, dtype=float)
    out = np.zeros(theta.shape)
    for index in np.ndindex(theta.shape):
        h = step * max(1.0, abs(float(theta[index])))
        up, down = theta.copy(), theta.copy()
        up[index] += h
        down[index] -= h
        out[index] = (f(up) - f(down)) / (2 * h)
    return out if out.ndim else float(out)
