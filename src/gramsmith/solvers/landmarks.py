"""Ridge regression on Nystroem features: every regulariser, with exact leave-one-out residuals.

The same features precondition the full system, see `LandmarkPreconditioner`.

With m landmarks Z the features of a sample are phi(x) = k(x, Z) R, where R R' = k(Z, Z)^-1. Two
passes over blocks of rows are all: the first adds up Φ'WΦ, Φ'WY and the means, one
eigendecomposition of an m x m matrix serves every α, the second turns leverages into leave-one-out
residuals. Time O(n m²), memory O(m²) beside the blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gramsmith.kernels.landmarks import inverse_root
from gramsmith.solvers.ridge import centred

Array = npt.NDArray[Any]
Blocks = Callable[[], Iterable[tuple[slice, Array]]]


@dataclass(frozen=True, kw_only=True)
class LandmarkPath:
    """Ridge regression on the features of m landmarks, for any number of regularisers.

    f(x) = intercept + Σ_j coef_j k(x, z_j), with the weighted squared error plus α |f|² minimised.
    """

    root: Array  # R with R R' = k(Z, Z)^-1, (m, r)
    centre: Array  # weighted mean of the features, (r,)
    mean: Array  # weighted mean of the targets, (q,)
    values: Array  # eigenvalues of the centred Φ'WΦ, (r,)
    vectors: Array  # (r, r)
    moment: Array  # the centred Φ'WY on these eigenvectors, (r, q)
    scatter: Array  # weighted sum of squares of the targets, about their mean, (q,)
    total: float  # sum of the weights
    # regularisers below it are lost in the rounding of the features, and are raised to it
    floor: float
    fit_intercept: bool = True  # whether there is an intercept; without one nothing is centred

    @property
    def spread(self) -> float:
        """The variance of the features, the natural unit of α / n."""
        variance = float(self.values.sum()) / self.total
        return variance if variance > float(np.finfo(float).tiny) else 1.0

    def jitter(self, alpha: Any) -> Any:
        """Return what is added to a regulariser that is zero to working precision."""
        return np.where(np.asarray(alpha) < self.floor, self.floor, 0.0)

    def solve(self, alpha: float) -> tuple[Array, Array]:
        """Return the coefficients of the landmarks (m, q) and the intercepts (q,)."""
        alpha = alpha + float(self.jitter(alpha))
        weights = self.vectors @ (self.moment / (self.values + alpha)[:, None])
        return self.root @ weights, self.mean - self.centre @ weights

    def loo_residuals(self, K: Array, Y: Array, alphas: Array, w: Array | None = None) -> Array:
        r"""Return y_i - f_{-i}(x_i) of a block of rows for each α, shape (a, rows, q).

        A residual over one minus the leverage. Where the leverage is one to working precision that
        is noise over noise, so it is held within what ridge regression can do without the row:

        .. math:: |f_{-i}(x_i) - \bar y_{-i}| \le \tfrac12 \sqrt{\tfrac{1}{\alpha} \sum_{j \ne i}
                  w_j (y_j - \bar y_{-i})^2} \; |\varphi(x_i) - \bar\varphi_{-i}|
        """
        # Features first, as in the sums: entries of R are large where K_mm is nearly singular, and
        # turned by the eigenvectors they would no longer cancel.
        T = (K @ self.root - self.centre) @ self.vectors
        alphas = np.asarray(alphas, dtype=float)
        alphas = alphas + self.jitter(alphas)
        v = np.ones(len(K)) if w is None else np.asarray(w, dtype=float)
        D = 1.0 / (self.values[:, None] + alphas)
        leverage = (T * T) @ D + (1.0 / self.total if self.fit_intercept else 0.0)
        tiny = float(np.finfo(float).eps)
        keep = np.maximum(1.0 - v[:, None] * leverage, tiny)
        a, q = D.shape[1], self.moment.shape[1]
        F = (T @ (D[:, :, None] * self.moment[:, None, :]).reshape(len(D), a * q)).reshape(-1, a, q)
        residual = ((Y - self.mean)[:, None, :] - F) / keep[:, :, None]
        # what leaving the row out does to the means, and to the sum of squares about them
        grown = 1.0 / np.maximum(1.0 - v / self.total, tiny) if self.fit_intercept else np.ones(1)
        alone = (Y - self.mean) * grown[:, None]
        scatter = np.maximum(self.scatter - v[:, None] * alone * (Y - self.mean), 0.0)
        norm = np.linalg.norm(T, axis=1) * grown
        reach = 0.5 * norm[:, None, None] * np.sqrt(scatter[:, None, :] / alphas[:, None])
        residual = np.clip(residual, alone[:, None, :] - reach, alone[:, None, :] + reach)
        return np.ascontiguousarray(residual.transpose(1, 0, 2))


def landmark_path(
    K_mm: Array, blocks: Blocks, Y: Array, w: Array | None = None, fit_intercept: bool = True
) -> LandmarkPath:
    """Return the ridge path of the features of landmarks with the kernel K_mm.

    ``blocks()`` yields slices of rows and their kernel with the landmarks, all rows once.
    """
    root = inverse_root(K_mm)
    r = root.shape[1]
    offset, Y = centred(Y, np.ones(len(Y)) if w is None else w, fit_intercept)
    S, B = np.zeros((r + 1, r + 1)), np.zeros((r + 1, Y.shape[1]))
    scatter = (Y**2 if w is None else w[:, None] * Y**2).sum(axis=0)
    # Features less those of the mean landmark: of a wide kernel they hardly differ, and squares of
    # what they have in common would drown the differences.
    pivot = (K_mm @ root).mean(axis=0) if fit_intercept else np.zeros(r)
    for rows, K in blocks():
        # Features first: products of K alone would lose what a small eigenvalue of K_mm magnifies.
        F = np.column_stack([K @ root - pivot, np.ones(len(K))])
        wF = F if w is None else F * w[rows][:, None]
        S += wF.T @ F
        B += wF.T @ Y[rows]
    total = float(S[r, r])
    centre, mean = S[:r, r] / total, B[r] / total
    if not fit_intercept:
        centre, mean = np.zeros_like(centre), np.zeros_like(mean)
    A = S[:r, :r] - total * np.outer(centre, centre)
    b = B[:r] - total * np.outer(centre, mean)
    lam, U = np.linalg.eigh(0.5 * (A + A.T))
    # A feature is a sum of kernel values times entries of R, which are large where K_mm is nearly
    # singular. Its rounding times weights of up to ½ sqrt(Σwy² / α) has to be small beside y.
    eps = float(np.finfo(float).eps)
    largest = float(np.abs(K_mm).max(initial=0.0))
    rounding = 10.0 * eps * float(np.linalg.norm(largest * root))
    # And one minus a leverage, α over λ + α, has to be known to a few digits.
    floor = max(1000.0 * eps * float(lam.max(initial=0.0)), total * rounding**2)
    return LandmarkPath(
        root=root,
        centre=pivot + centre,
        mean=offset + mean,
        values=np.maximum(lam, 0.0),
        vectors=U,
        moment=U.T @ b,
        scatter=scatter,
        total=total,
        floor=floor,
        fit_intercept=fit_intercept,
    )


class LandmarkPreconditioner:
    r"""The inverse of ZZ' + αR, where Z = k(X, landmarks) R are the features of landmarks.

    .. math:: (ZZ' + \alpha R)^{-1} = \tfrac{1}{\alpha} \left(R^{-1}
              - R^{-1} Z (\alpha I + Z'R^{-1}Z)^{-1} Z'R^{-1}\right)

    One eigendecomposition of an m x m matrix serves every α, and Z is never held: blocks of rows
    are asked for in every application, which costs 2nm kernel values beside the n² of a product.

    References
    ----------
    M. Díaz, E. N. Epperly, Z. Frangella, J. A. Tropp, R. J. Webber, "Robust, randomized
    preconditioning for kernel ridge regression", 2023.
    """

    def __init__(self, root: Array, blocks: Blocks, r: Array, alphas: Array) -> None:
        self.blocks, self.r, self.alphas = blocks, r, np.asarray(alphas, dtype=float)
        M = np.zeros((root.shape[1],) * 2)
        for rows, K in blocks():
            F = K @ root
            M += F.T @ (F / r[rows, None])
        values, vectors = np.linalg.eigh(0.5 * (M + M.T))
        self.values, self.root = np.maximum(values, 0.0), root @ vectors

    def __call__(self, V: Array) -> Array:
        """Return (ZZ' + αR)^-1 V, shape (n, q)."""
        out = V / self.r[:, None]
        T = np.zeros((self.root.shape[0], V.shape[1]))
        for rows, K in self.blocks():
            T += K.T @ out[rows]
        T = self.root @ ((self.root.T @ T) / (self.values[:, None] + self.alphas))
        for rows, K in self.blocks():
            out[rows] -= (K @ T) / self.r[rows, None]
        out /= self.alphas
        return np.asarray(out)

    def diagonal(self) -> Array:
        """Return the diagonal of (ZZ' + αR)^-1 for every α, shape (n, q)."""
        out = np.empty((len(self.r), len(self.alphas)))
        D = 1.0 / (self.values[:, None] + self.alphas)
        for rows, K in self.blocks():
            r = self.r[rows, None]
            out[rows] = (1.0 - np.square(K @ self.root) @ D / r) / (r * self.alphas)
        return out


def expected_products(
    block: Callable[[Array, Array], Array],
    landmarks: Array,
    root: Array,
    n: int,
    alpha: float,
    tol: float,
) -> int:
    """Return about how many products conjugate gradients will take for (K + αI) c = y.

    From the largest eigenvalue of what the landmarks leave of K, as a sample of rows shows it.
    """
    some = np.arange(0, n, max(1, n // 500))
    Z = block(some, landmarks) @ root
    top = float(np.linalg.eigvalsh(block(some, some) - Z @ Z.T)[-1]) * n / len(some)
    condition = 1.0 + max(top, 0.0) / max(alpha, float(np.finfo(float).tiny))
    return int(min(1e9, 2 + 0.5 * np.sqrt(condition) * np.log(2.0 / tol)))
