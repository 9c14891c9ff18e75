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

    Parameters
    ----------
    root : array of shape (m, r)
        R with R R' = k(Z, Z)^-1.
    centre : array of shape (r,)
        Weighted mean of the features.
    mean : array of shape (q,)
        Weighted mean of the targets.
    values : array of shape (r,)
        Eigenvalues of the centred Φ'WΦ.
    vectors : array of shape (r, r)
    moment : array of shape (r, q)
        The centred Φ'WY on these eigenvectors.
    total : float
        Sum of the weights.
    fit_intercept : bool
        Whether there is an intercept; without one nothing is centred.
    """

    root: Array
    centre: Array
    mean: Array
    values: Array
    vectors: Array
    moment: Array
    total: float
    fit_intercept: bool = True

    @property
    def rank(self) -> int:
        """The number of features."""
        return len(self.values)

    @property
    def spread(self) -> float:
        """The variance of the features, the natural unit of α / n."""
        variance = float(self.values.sum()) / self.total
        return variance if variance > float(np.finfo(float).tiny) else 1.0

    def jitter(self, alpha: Any) -> Any:
        """Return what is added to a regulariser that is zero to working precision."""
        floor = self.rank * float(np.finfo(float).eps) * float(self.values.max(initial=0.0))
        return np.where(np.asarray(alpha) < floor, floor, 0.0)

    def solve(self, alpha: float) -> tuple[Array, Array]:
        """Return the coefficients of the landmarks (m, q) and the intercepts (q,)."""
        alpha = alpha + float(self.jitter(alpha))
        weights = self.vectors @ (self.moment / (self.values + alpha)[:, None])
        return self.root @ weights, self.mean - self.centre @ weights

    def loo_residuals(
        self,
        K: Array,
        Y: Array,
        alphas: Array,
        w: Array | None = None,
    ) -> Array:
        """Return y_i - f_{-i}(x_i) of a block of rows for each α, shape (a, rows, q).

        Parameters
        ----------
        K : array of shape (rows, m)
            Kernel of the rows with the landmarks.
        Y : array of shape (rows, q)
        alphas : array of shape (a,)
        w : array of shape (rows,), optional
            Weights; a row is left out as a whole, whatever its weight.
        """
        T = K @ (self.root @ self.vectors) - self.centre @ self.vectors
        alphas = np.asarray(alphas, dtype=float)
        D = 1.0 / (self.values[:, None] + alphas + self.jitter(alphas))
        leverage = (T * T) @ D + (1.0 / self.total if self.fit_intercept else 0.0)
        keep = np.maximum(1.0 - (leverage if w is None else w[:, None] * leverage), 1e-10)
        a, q = D.shape[1], self.moment.shape[1]
        F = (T @ (D[:, :, None] * self.moment[:, None, :]).reshape(len(D), a * q)).reshape(-1, a, q)
        residual = ((Y - self.mean)[:, None, :] - F) / keep[:, :, None]
        return np.ascontiguousarray(residual.transpose(1, 0, 2))


def landmark_path(
    K_mm: Array,
    blocks: Blocks,
    Y: Array,
    w: Array | None = None,
    fit_intercept: bool = True,
) -> LandmarkPath:
    """Return the ridge path of the features of landmarks.

    Parameters
    ----------
    K_mm : array of shape (m, m)
        Kernel of the landmarks.
    blocks : callable
        ``blocks()`` yields (rows, kernel of these rows with the landmarks), all rows once.
    Y : array of shape (n, q)
    w : array of shape (n,), optional
        Weights; weight 2 is the same as repeating a row.
    fit_intercept : bool, default=True
        Whether to add an intercept that is not penalised.

    Returns
    -------
    LandmarkPath

    Examples
    --------
    >>> import numpy as np
    >>> from gramsmith.solvers.landmarks import landmark_path
    >>> x = np.linspace(-1, 1, 50)
    >>> K = np.exp(-(np.subtract.outer(x, x[::10]) ** 2))
    >>> path = landmark_path(K[::10], lambda: [(slice(None), K)], np.sin(x)[:, None])
    >>> coef, intercept = path.solve(1e-8)
    >>> bool(np.abs(K @ coef[:, 0] + intercept - np.sin(x)).max() < 0.05)
    True
    """
    root = inverse_root(K_mm)
    r = root.shape[1]
    offset, Y = centred(Y, np.ones(len(Y)) if w is None else w, fit_intercept)
    S, B = np.zeros((r + 1, r + 1)), np.zeros((r + 1, Y.shape[1]))
    for rows, K in blocks():
        # Features first: products of K alone would lose what a small eigenvalue of K_mm magnifies.
        F = np.column_stack([K @ root, np.ones(len(K))])
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
    return LandmarkPath(
        root=root,
        centre=centre,
        mean=offset + mean,
        values=np.maximum(lam, 0.0),
        vectors=U,
        moment=U.T @ b,
        total=total,
        fit_intercept=fit_intercept,
    )


class LandmarkPreconditioner:
    r"""The inverse of ZZ' + αR, where Z = k(X, landmarks) R are the features of landmarks.

    .. math:: (ZZ' + \alpha R)^{-1} = \tfrac{1}{\alpha} \left(R^{-1}
              - R^{-1} Z (\alpha I + Z'R^{-1}Z)^{-1} Z'R^{-1}\right)

    One eigendecomposition of an m x m matrix serves every α, and Z is never held: blocks of rows
    are asked for in every application, which costs 2nm kernel values beside the n² of a product.

    Parameters
    ----------
    root : array of shape (m, s)
        R with R R' = k(landmarks, landmarks)^-1, see `inverse_root`.
    blocks : callable
        As for `landmark_path`.
    r : array of shape (n,)
        The positive diagonal R.
    alphas : array of shape (q,)
        The regulariser of each column.

    References
    ----------
    M. Díaz, E. N. Epperly, Z. Frangella, J. A. Tropp, R. J. Webber, "Robust, randomized
    preconditioning for kernel ridge regression", 2023.

    Examples
    --------
    >>> import numpy as np
    >>> from gramsmith.solvers.landmarks import LandmarkPreconditioner
    >>> inverse = LandmarkPreconditioner(
    ...     np.eye(1), lambda: [(slice(0, 2), np.ones((2, 1)))], np.ones(2), np.ones(1)
    ... )
    >>> inverse(np.array([[3.0], [0.0]])).ravel()
    array([ 2., -1.])
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
