"""Kernel ridge regression: the whole path of regularisers, with exact leave-one-out residuals.

With weights W (repetitions), K̃ = W^½ K W^½ = U Λ U', ỹ = W^½ y and ũ = W^½ 1, the coefficients
c = W^½ c̃ and the unpenalised intercept b of

    min Σ_i w_i (y_i - b - (Kc)_i)² + α c'Kc

solve (K̃ + αI) c̃ + ũ b = ỹ, ũ'c̃ = 0. One eigendecomposition serves every α: afterwards the
coefficients cost O(n²) per α and the leverages of all α are one matrix product.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize_scalar

from gramsmith.solvers.definite import warn_negative

Array = npt.NDArray[Any]


@dataclass(frozen=True, kw_only=True)
class RidgeSolution:
    """Coefficients of kernel ridge regression at one regulariser.

    Parameters
    ----------
    alpha : float
    coef : array of shape (n,) or (n, q)
        f(x) = Σ_i coef_i k(x_i, x) + intercept.
    intercept : float or array of shape (q,)
    jitter : float
        What was added to alpha because K was singular to working precision.
    """

    alpha: float
    coef: Array
    intercept: Any
    jitter: float


class RidgePath:
    """Kernel ridge regression on a Gram matrix for any number of regularisers.

    Parameters
    ----------
    K : array of shape (n, n)
        Symmetric Gram matrix. Of an indefinite one the negative eigenvalues are set to zero, with a
        warning.
    y : array of shape (n,) or (n, q)
        Targets.
    fit_intercept : bool, default=True
        Whether to add an intercept that is not penalised.
    sample_weight : array of shape (n,), optional
        Positive weights; weight 2 is the same as repeating a row.
    copies : array of shape (n,), optional
        How many samples every row stands for, one of which is left out at a time; default
        `sample_weight`. A row that counts twice but is one sample has 1 here.

    Attributes
    ----------
    eigenvalues : array of shape (n,)
        Of W^½ K W^½, ascending, negative ones set to zero.
    smallest : float
        The smallest eigenvalue before that.

    Examples
    --------
    >>> import numpy as np
    >>> from gramsmith.solvers import RidgePath
    >>> x = np.linspace(-1, 1, 5)
    >>> path = RidgePath(np.exp(-(np.subtract.outer(x, x) ** 2)), x)
    >>> np.round(path.loo_errors([1e-6, 1e-2, 1.0]), 4)
    array([0.0527, 0.0832, 0.3673])
    """

    def __init__(
        self,
        K: Array,
        y: Array,
        *,
        fit_intercept: bool = True,
        sample_weight: Array | None = None,
        copies: Array | None = None,
    ) -> None:
        K = np.asarray(K, dtype=np.float64)
        root = None if sample_weight is None else np.sqrt(np.asarray(sample_weight, dtype=float))
        values, U = np.linalg.eigh(K if root is None else K * root[:, None] * root)
        n = len(K)
        self.smallest = float(values[0])
        top = float(max(np.abs(values).max(), np.finfo(float).tiny))
        self.floor = n * float(np.finfo(float).eps) * top
        warn_negative(values)
        self.kept = values > -self.floor
        self._prepare(np.maximum(values, 0.0), U, y, fit_intercept, root)
        self.copies = self.weight if copies is None else np.asarray(copies, dtype=float)

    @classmethod
    def from_features(
        cls,
        Z: Array,
        y: Array,
        *,
        fit_intercept: bool = True,
        sample_weight: Array | None = None,
        copies: Array | None = None,
    ) -> RidgePath:
        """Return the path of K = Z Z' without forming K; coefficients are those of K's samples.

        Parameters
        ----------
        Z : array of shape (n, m)
            Features, m < n.
        y : array of shape (n,) or (n, q)
            Targets.
        fit_intercept : bool, default=True
            Whether to add an intercept that is not penalised.
        sample_weight : array of shape (n,), optional
            Positive weights.
        copies : array of shape (n,), optional
            How many samples every row stands for; default `sample_weight`.

        Returns
        -------
        RidgePath
            Its regularisers must be positive; the weights of the features are ``Z.T @ coef``.
        """
        self = cls.__new__(cls)
        root = None if sample_weight is None else np.sqrt(np.asarray(sample_weight, dtype=float))
        scaled = np.asarray(Z if root is None else Z * root[:, None], dtype=np.float64)
        values, V = np.linalg.eigh(scaled.T @ scaled)
        top = float(max(values[-1] if len(values) else 0.0, np.finfo(float).tiny))
        self.floor = len(Z) * float(np.finfo(float).eps) * top
        self.smallest = 0.0
        keep = values > self.floor
        self.kept = np.ones(int(keep.sum()), dtype=bool)
        U = scaled @ (V[:, keep] / np.sqrt(values[keep]))
        self._prepare(values[keep], U, y, fit_intercept, root)
        self.copies = self.weight if copies is None else np.asarray(copies, dtype=float)
        return self

    def _prepare(
        self, values: Array, U: Array, y: Array, fit_intercept: bool, root: Array | None
    ) -> None:
        y = np.asarray(y, dtype=np.float64)
        n = len(U)
        self.root = np.ones(n) if root is None else root
        self.weight = self.root**2
        self.vector = y.ndim == 1
        self.y = y.reshape(n, -1)
        self.eigenvalues, self.U = values, U
        whitened = self.root[:, None] * self.y
        self.t = U.T @ whitened
        self.v = U.T @ self.root if fit_intercept else None
        # What the eigenvectors miss, when there are fewer than n: there K is zero.
        self.deficient = U.shape[1] < n
        self.t_rest = whitened - U @ self.t if self.deficient else None
        self.v_rest = self.root - U @ self.v if self.deficient and self.v is not None else None
        self._U2: Array | None = None

    def _inverse(self, alphas: Array) -> tuple[Array, Array]:
        """Return 1/(Λ + α) for each α in columns, and the jitter that α = 0 needed."""
        alphas = np.asarray(alphas, dtype=np.float64)
        if not (np.isfinite(alphas).all() and (alphas >= 0).all()):
            raise ValueError(
                f"Expected regularisers alpha >= 0, got {alphas.min():.6g}. "
                "Use a positive number, or 0 for interpolation."
            )
        low = 0.0 if self.deficient else self.eigenvalues[0]
        short = low + alphas < self.floor
        jitter = np.where(short, self.floor, 0.0)
        return 1.0 / (self.eigenvalues[:, None] + (alphas + jitter)), jitter

    def _dual(
        self, D: Array, alphas: Array, kept: Array | slice = slice(None)
    ) -> tuple[Array, Array, Array]:
        """Return c̃ (n, m, q) and the intercepts (m, q) for columns D = 1/(Λ + α).

        The third array, (n, m), is what the border takes from the diagonal of (K̃ + αI)^-1.
        """
        m, q = len(alphas), self.t.shape[1]
        g, rest = self.t[:, None, :], self.t_rest
        b, border = np.zeros((m, q)), np.zeros((1, m))
        rest = None if rest is None else rest[:, None, :]
        if self.v is not None:
            inverse = self.U @ (D * self.v[:, None])  # (K̃ + αI)^-1 ũ
            if self.v_rest is not None:
                inverse += self.v_rest[:, None] / alphas
            total = self.root @ inverse
            b = inverse.T @ (self.root[:, None] * self.y) / total[:, None]
            border = inverse**2 / total
            g = g - self.v[:, None, None] * b
            if rest is not None and self.v_rest is not None:
                rest = rest - self.v_rest[:, None, None] * b
        g = np.broadcast_to(D[:, :, None] * g, (len(D), m, q))[kept]
        c = (self.U[:, kept] @ g.reshape(len(g), m * q)).reshape(-1, m, q)
        return (c if rest is None else c + rest / alphas[:, None]), b, border

    def solve(self, alpha: float) -> RidgeSolution:
        """Return the coefficients at one regulariser.

        Parameters
        ----------
        alpha : float
            Regulariser, at least 0; 0 interpolates.

        Returns
        -------
        RidgeSolution
        """
        D, jitter = self._inverse(np.array([alpha]))
        # Without the clipped directions in c, k(x)'c is the prediction of the clipped kernel. Those
        # of a singular K carry y / jitter: of no effect on Kc but through rounding.
        kept = self.eigenvalues > self.floor if jitter[0] else self.kept
        c, b, _ = self._dual(D, alpha + jitter, slice(None) if kept.all() else kept)
        c, b = self.root[:, None] * c[:, 0], b[0]
        return RidgeSolution(
            alpha=float(alpha),
            coef=c[:, 0] if self.vector else c,
            intercept=float(b[0]) if self.vector else b,
            jitter=float(jitter[0]),
        )

    def loo_residuals(self, alphas: Any) -> Array:
        r"""Return y_i - f_{-i}(x_i) for every regulariser, without refitting.

        .. math:: y_i - f_{-i}(x_i) = \frac{c_i}{[A^{-1}]_{ii}}, \qquad
                  A = \begin{pmatrix} K + \alpha I & 1 \\ 1' & 0 \end{pmatrix}

        A row of more than one copy leaves one of them out, any other row all of itself.

        Parameters
        ----------
        alphas : array of shape (m,)
            Regularisers.

        Returns
        -------
        array of shape (m, n) or (m, n, q)
        """
        alphas = np.atleast_1d(np.asarray(alphas, dtype=np.float64))
        D, jitter = self._inverse(alphas)
        if self._U2 is None:
            self._U2 = self.U * self.U
        one = np.minimum(1.0, 1.0 / self.copies)[:, None]
        out = np.empty((len(alphas), *self.y.shape))
        step = max(1, 256 // self.y.shape[1])  # bounds the memory when there are many outputs
        for start in range(0, len(alphas), step):
            part = slice(start, start + step)
            alpha = (alphas + jitter)[part]
            c, _, border = self._dual(D[:, part], alpha)
            G = self._U2 @ D[:, part] - border  # the diagonal of A^-1
            if self.deficient:
                G += (1.0 - self._U2.sum(axis=1))[:, None] / alpha
            # Residual r = αc̃/√w and leverage h = 1 - αG give r/(1 - h·one); α cancels for one = 1.
            with np.errstate(divide="ignore", invalid="ignore"):
                whole = np.where(one < 1.0, G * one + (1.0 - one) / alpha, G)
            out[part] = (c / (self.root[:, None] * whole)[:, :, None]).transpose(1, 0, 2)
        return out[:, :, 0] if self.vector else out

    def loo_errors(self, alphas: Any) -> Array:
        """Return the mean squared leave-one-out residual for every regulariser.

        Parameters
        ----------
        alphas : array of shape (m,)
            Regularisers.

        Returns
        -------
        array of shape (m,)
        """
        alphas = np.atleast_1d(np.asarray(alphas, dtype=np.float64))
        squares = self.loo_residuals(alphas).reshape(len(alphas), *self.y.shape) ** 2
        return np.asarray(np.average(squares.mean(axis=2), axis=1, weights=self.weight))

    def minimise(self, alphas: Any) -> tuple[float, float]:
        """Return the regulariser with the smallest leave-one-out error between those given.

        The best of the grid brackets a continuous search on the log scale.

        Parameters
        ----------
        alphas : array of shape (m,)
            Positive regularisers, ascending.

        Returns
        -------
        alpha : float
        error : float
        """
        grid = np.sort(np.asarray(alphas, dtype=np.float64))
        errors = self.loo_errors(grid)
        k = int(np.argmin(errors))
        low, high = np.log(grid[max(k - 1, 0)]), np.log(grid[min(k + 1, len(grid) - 1)])
        found = minimize_scalar(
            lambda x: float(self.loo_errors([np.exp(x)])[0]), bounds=(low, high), method="bounded"
        )
        if found.fun < errors[k]:
            return float(np.exp(found.x)), float(found.fun)
        return float(grid[k]), float(errors[k])


def ridge_loo_error(K: Array, y: Array, alphas: Any, *, fit_intercept: bool = True) -> Array:
    """Return the mean squared leave-one-out error of kernel ridge regression for each regulariser.

    Parameters
    ----------
    K : array of shape (n, n)
        Symmetric Gram matrix.
    y : array of shape (n,) or (n, q)
        Targets.
    alphas : array of shape (m,)
        Regularisers.
    fit_intercept : bool, default=True
        Whether to add an intercept that is not penalised.

    Returns
    -------
    array of shape (m,)

    Examples
    --------
    >>> import numpy as np
    >>> from gramsmith.solvers import ridge_loo_error
    >>> x = np.linspace(-1, 1, 5)
    >>> ridge_loo_error(np.exp(-(np.subtract.outer(x, x) ** 2)), x, [1e-2]).round(4)
    array([0.0832])
    """
    return RidgePath(K, y, fit_intercept=fit_intercept).loo_errors(alphas)
