"""Kernels straight from their formulas, one pair of samples at a time in spirit.

Every function takes ``X`` (n x p) and ``Z`` (m x p, default ``X``) and returns the n x m matrix.
Differences are formed explicitly: nothing expands ``|x - z|^2``, so nothing can cancel.
"""

import numpy as np


def _pair(X, Z):
    X = np.asarray(X, dtype=float)
    return X, X if Z is None else np.asarray(Z, dtype=float)


def differences(X, Z=None):
    """All differences x_i - z_j, shape (n, m, p)."""
    X, Z = _pair(X, Z)
    return X[:, None, :] - Z[None, :, :]


def squared_distances(X, Z=None):
    """|x_i - z_j|^2 from explicit differences."""
    return np.sum(differences(X, Z) ** 2, axis=2)


def distances(X, Z=None):
    """|x_i - z_j| from explicit differences."""
    return np.sqrt(squared_distances(X, Z))


def _scaled(X, Z, length_scale):
    X, Z = _pair(X, Z)
    return X / np.asarray(length_scale, dtype=float), Z / np.asarray(length_scale, dtype=float)


def gaussian(X, Z=None, length_scale=1.0):
    """exp(-|x - z|^2 / (2 length_scale^2)); a vector gives one length per feature."""
    return np.exp(-squared_distances(*_scaled(X, Z, length_scale)) / 2)


def laplacian(X, Z=None, length_scale=1.0, norm="l1"):
    """exp(-|x - z| / length_scale) with the l1 or the l2 norm."""
    delta = differences(*_scaled(X, Z, length_scale))
    size = {"l1": np.sum(np.abs(delta), axis=2), "l2": np.sqrt(np.sum(delta**2, axis=2))}
    return np.exp(-size[norm])


def power_exponential(X, Z=None, length_scale=1.0, power=1.0, norm=2.0):
    """exp(-|(x - z) / length_scale|_norm^power)."""
    delta = np.abs(differences(*_scaled(X, Z, length_scale)))
    size = np.sum(delta**norm, axis=2) ** (1 / norm)
    return np.exp(-(size**power))


def matern(X, Z=None, length_scale=1.0, nu=1.5):
    """Matern kernel with nu = 1/2, 3/2 or 5/2, r = sqrt(2 nu) |x - z| / length_scale."""
    r = np.sqrt(2 * nu) * distances(*_scaled(X, Z, length_scale))
    factor = {0.5: np.ones_like(r), 1.5: 1 + r, 2.5: 1 + r + r**2 / 3}
    return factor[nu] * np.exp(-r)


def rational_quadratic(X, Z=None, length_scale=1.0, alpha=1.0):
    """(1 + |x - z|^2 / (2 alpha length_scale^2))^-alpha."""
    d2 = squared_distances(*_scaled(X, Z, length_scale))
    return (1 + d2 / (2 * alpha)) ** (-alpha)


def periodic(X, Z=None, length_scale=1.0, periodicity=1.0):
    """exp(-2 sin^2(pi |x - z| / periodicity) / length_scale^2)."""
    return np.exp(-2 * (np.sin(np.pi * distances(X, Z) / periodicity) / length_scale) ** 2)


def mixed(X, Z=None, blocks=(0,), length_scales=(1.0,), product=False):
    """The mean, or the product, of one Gaussian per block of features, pair by pair."""
    X, Z = _pair(X, Z)
    K = np.empty((len(X), len(Z)))
    for i, x in enumerate(X):
        for j, z in enumerate(Z):
            parts = []
            for b, scale in enumerate(length_scales):
                gaps = [(x[k] - z[k]) ** 2 for k in range(len(x)) if blocks[k] == b]
                parts.append(np.exp(-sum(gaps) / (2 * scale**2)))
            K[i, j] = np.prod(parts) if product else np.mean(parts)
    return K


def constant(X, Z=None, value=1.0):
    """The same value for every pair."""
    X, Z = _pair(X, Z)
    return np.full((len(X), len(Z)), float(value))


def linear(X, Z=None):
    """x'z."""
    X, Z = _pair(X, Z)
    return np.sum(X[:, None, :] * Z[None, :, :], axis=2)


def polynomial(X, Z=None, degree=3, gamma=1.0, coef0=1.0):
    """(gamma x'z + coef0)^degree."""
    return (gamma * linear(X, Z) + coef0) ** degree


def sigmoid(X, Z=None, gamma=1.0, coef0=1.0):
    """tanh(gamma x'z + coef0), indefinite in general."""
    return np.tanh(gamma * linear(X, Z) + coef0)


def chi2(X, Z=None, gamma=1.0):
    """exp(-gamma sum (x - z)^2 / (x + z)) for x, z >= 0, with 0/0 := 0."""
    X, Z = _pair(X, Z)
    K = np.empty((len(X), len(Z)))
    for i, x in enumerate(X):
        for j, z in enumerate(Z):
            terms = [(a - b) ** 2 / (a + b) for a, b in zip(x, z, strict=True) if a + b != 0]
            K[i, j] = np.exp(-gamma * sum(terms))
    return K


def tanimoto(X, Z=None):
    """x'z / (x'x + z'z - x'z), with 0/0 := 0."""
    X, Z = _pair(X, Z)
    K = np.zeros((len(X), len(Z)))
    for i, x in enumerate(X):
        for j, z in enumerate(Z):
            union = x @ x + z @ z - x @ z
            if union != 0:
                K[i, j] = (x @ z) / union
    return K


def bilinear(X, Z=None, B=None):
    """x'Bz with B positive semidefinite; the identity by default."""
    X, Z = _pair(X, Z)
    B = np.eye(X.shape[1]) if B is None else np.asarray(B, dtype=float)
    return np.array([[x @ B @ z for z in Z] for x in X])


def polynomial_of(K, coefficients):
    """sum_k coefficients[k] K^k, elementwise powers."""
    return sum(c * np.asarray(K, dtype=float) ** k for k, c in enumerate(coefficients))


def self_similarities(kernel, X):
    """k(x, x) for every sample, each evaluated on its own; X may be a list."""
    return np.array([kernel(X[i : i + 1], X[i : i + 1])[0, 0] for i in range(len(X))])


def normalized(kernel, X, Z=None):
    """k(x, z) / sqrt(k(x, x) k(z, z)), with 0/0 := 0."""
    Z = X if Z is None else Z
    K = np.asarray(kernel(X, Z), dtype=float)
    size = np.sqrt(np.outer(self_similarities(kernel, X), self_similarities(kernel, Z)))
    return np.divide(K, size, out=np.zeros_like(K), where=size != 0)


def gaussian_of(kernel, X, Z=None, length_scale=1.0):
    """exp(-(k(x,x) + k(z,z) - 2 k(x,z)) / (2 length_scale^2)), the Gaussian of k's own distance."""
    Z = X if Z is None else Z
    d2 = self_similarities(kernel, X)[:, None] + self_similarities(kernel, Z)[None, :]
    return np.exp(-(d2 - 2 * np.asarray(kernel(X, Z), dtype=float)) / (2 * length_scale**2))
