"""Kernel ridge regression: the whole path of regularisers, with exact leave-one-out residuals.

With weights W, K̃ = W^½ K W^½ = U Λ U', ỹ = W^½ y and ũ = W^½ 1, the coefficients
c = W^½ c̃ and the unpenalised intercept b of

    min Σ_i w_i (y_i - b - (Kc)_i)² + α c'Kc

solve (K̃ + αI) c̃ + ũ b = ỹ, ũ'c̃ = 0. One eigendecomposition serves every α: afterwards the
coefficients cost O(n²) per α and the leverages of all α are one matrix product. Weights times a
number and α times the same number change nothing; leaving one out leaves a whole row out, whatever
its weight. Targets are centred first, so that an offset costs no digits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.linalg.lapack import dtrtri
from scipy.optimize import minimize_scalar

from gramsmith.kernels.definiteness import is_semidefinite
from gramsmith.solvers.definite import Definite, warn_negative

Array = npt.NDArray[Any]


@dataclass(frozen=True, kw_only=True)
class RidgeSolution:
    """Coefficients of kernel ridge regression at one regulariser."""

    alpha: float
    coef: Array  # f(x) = Σ_i coef_i k(x_i, x) + intercept, (n,) or (n, q)
    intercept: Any  # (q,)
    jitter: float  # what was added to alpha because K was singular to working precision


class RidgePath:
    """Kernel ridge regression on a Gram matrix for any number of regularisers.

    Of an indefinite K the negative eigenvalues are set to zero, with a warning.
    """

    def __init__(
        self, K: Array, y: Array, *, fit_intercept: bool = True, sample_weight: Array | None = None
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
        self.eigenvalues, self.U = np.maximum(values, 0.0), U
        y = np.asarray(y, dtype=np.float64)
        self.vector = y.ndim == 1
        self.root = np.ones(n) if root is None else root
        self.weight = self.root**2
        self.offset, self.y = centred(y.reshape(n, -1), self.weight, fit_intercept)
        self.t = U.T @ (self.root[:, None] * self.y)
        self.v = U.T @ self.root if fit_intercept else None
        self._U2: Array | None = None

    def _inverse(self, alphas: Array) -> tuple[Array, Array]:
        """Return 1/(Λ + α) for each α in columns, and the jitter that α = 0 needed."""
        alphas = np.asarray(alphas, dtype=np.float64)
        if not (np.isfinite(alphas).all() and (alphas >= 0).all()):
            raise ValueError(
                f"Expected regularisers alpha >= 0, got {alphas.min():.6g}. "
                "Use a positive number, or 0 for interpolation."
            )
        jitter = np.where(self.eigenvalues[0] + alphas < self.floor, self.floor, 0.0)
        return 1.0 / (self.eigenvalues[:, None] + (alphas + jitter)), jitter

    def _dual(self, D: Array, kept: Array | slice = slice(None)) -> tuple[Array, Array, Array]:
        """Return c̃ (n, m, q) and the intercepts (m, q) for columns D = 1/(Λ + α).

        The third array, (n, m), is what the border takes from the diagonal of (K̃ + αI)^-1.
        """
        m, q = D.shape[1], self.t.shape[1]
        g, b, border = self.t[:, None, :], np.zeros((m, q)), np.zeros((1, m))
        if self.v is not None:
            inverse = self.U @ (D * self.v[:, None])  # (K̃ + αI)^-1 ũ
            total = self.root @ inverse
            b = inverse.T @ (self.root[:, None] * self.y) / total[:, None]
            border = inverse**2 / total
            g = g - self.v[:, None, None] * b
        g = np.broadcast_to(D[:, :, None] * g, (len(D), m, q))[kept]
        return (self.U[:, kept] @ g.reshape(len(g), m * q)).reshape(-1, m, q), b, border

    def solve(self, alpha: float) -> RidgeSolution:
        """Return the coefficients at one regulariser."""
        D, jitter = self._inverse(np.array([alpha]))
        # Without the clipped directions in c, k(x)'c is the prediction of the clipped kernel. Those
        # of a singular K carry y / jitter: of no effect on Kc but for rounding.
        kept = self.eigenvalues > self.floor if jitter[0] else self.kept
        c, b, _ = self._dual(D, slice(None) if kept.all() else kept)
        c, b = self.root[:, None] * c[:, 0], b[0] + self.offset
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

        A row is left out as a whole, whatever its weight.
        """
        alphas = np.atleast_1d(np.asarray(alphas, dtype=np.float64))
        D, _ = self._inverse(alphas)
        if self._U2 is None:
            self._U2 = self.U * self.U
        out = np.empty((len(alphas), *self.y.shape))
        step = max(1, 256 // self.y.shape[1])  # bounds the memory when there are many outputs
        for start in range(0, len(alphas), step):
            block = slice(start, start + step)
            c, _, border = self._dual(D[:, block])
            G = self._U2 @ D[:, block] - border  # the diagonal of A^-1
            out[block] = (c / (self.root[:, None] * G)[:, :, None]).transpose(1, 0, 2)
        return out[:, :, 0] if self.vector else out

    def fold_residuals(self, alphas: Any, folds: Sequence[Array]) -> list[Array]:
        r"""Return y - f_{-F}(x) of the rows of every fold for every regulariser, without refitting.

        .. math:: e_F = W_F^{-1/2} [C_{FF}]^{-1} c_F, \qquad C = \bar C
                  - \frac{\bar C v v' \bar C}{v' \bar C v}, \quad
                  \bar C = (W^{1/2} K W^{1/2} + \alpha I)^{-1}, \quad v = W^{1/2} 1

        with c = C W^½ y, and C = C̄ without an intercept. The model of a fold is that of all rows
        but its own. Time O(n³ / k + n³ / k²) for a regulariser and k folds.
        """
        n = len(self.root)
        if any(len(fold) == 0 or len(np.unique(fold)) == n for fold in folds):
            raise ValueError(
                "Expected folds of at least one row that leave others, got one of "
                f"{', '.join(str(len(fold)) for fold in folds)} of {n} rows. Use more folds."
            )
        alphas = np.atleast_1d(np.asarray(alphas, dtype=np.float64))
        D, _ = self._inverse(alphas)
        left_out = [np.empty((len(alphas), len(fold), self.y.shape[1])) for fold in folds]
        for k in range(len(alphas)):
            c, _, _ = self._dual(D[:, [k]])
            c, half = c[:, 0], np.sqrt(D[:, k])
            border = np.zeros(n)
            if self.v is not None:
                u = self.U @ (D[:, k] * self.v)
                border = u / np.sqrt(self.root @ u)
            for fold, residuals in zip(folds, left_out, strict=True):
                B = self.U[fold] * half
                block = B @ B.T - np.outer(border[fold], border[fold])
                residuals[k] = Definite(block).solve(c[fold]) / self.root[fold, None]
        return [block[:, :, 0] if self.vector else block for block in left_out]

    def loo_errors(self, alphas: Any) -> Array:
        """Return the mean squared leave-one-out residual for every regulariser."""
        alphas = np.atleast_1d(np.asarray(alphas, dtype=np.float64))
        squares = self.loo_residuals(alphas).reshape(len(alphas), *self.y.shape) ** 2
        return np.asarray(np.average(squares.mean(axis=2), axis=1, weights=self.weight))

    def minimise(self, alphas: Any) -> tuple[float, float]:
        """Return the regulariser with the smallest leave-one-out error between those given.

        The best of the grid brackets a continuous search on the log scale.
        """
        grid = np.sort(np.asarray(alphas, dtype=np.float64))
        errors = self.loo_errors(grid)
        k = int(np.argmin(errors))
        low, high = np.log(grid[max(k - 1, 0)]), np.log(grid[min(k + 1, len(grid) - 1)])
        optimum = minimize_scalar(
            lambda x: float(self.loo_errors([np.exp(x)])[0]),
            bounds=(low, high),
            method="bounded",
            options={"xatol": 1e-8},
        )
        if optimum.fun < errors[k]:
            return float(np.exp(optimum.x)), float(optimum.fun)
        return float(grid[k]), float(errors[k])


def centred(Y: Array, w: Array, fit_intercept: bool) -> tuple[Array, Array]:
    """Return the weighted mean of targets (n, q), zero without an intercept, and the rest."""
    if not fit_intercept:
        return np.zeros(Y.shape[1]), Y
    share = w / w.sum()
    # Of targets far from zero the first mean is good to rounding only; the second mends it.
    mean = share @ Y
    mean = mean + share @ (Y - mean)
    return mean, Y - mean


def ridge_at(
    K: Array,
    Y: Array,
    alpha: float,
    *,
    fit_intercept: bool = True,
    sample_weight: Array | None = None,
    definite: bool = False,
) -> RidgeAt | None:
    """Return ridge regression at one regulariser, by Cholesky's factor.

    It takes a tenth of the time of the eigenvectors that serve all regularisers. None if K, unless
    known to be `definite`, has negative eigenvalues beyond rounding, or if alpha is next to
    nothing: then `RidgePath` knows what to do.
    """
    root = np.ones(len(K)) if sample_weight is None else np.sqrt(np.asarray(sample_weight, float))
    A = K if sample_weight is None else K * root[:, None] * root
    if not definite and not is_semidefinite(A):
        return None
    try:
        return RidgeAt(A, Y, root, alpha, fit_intercept)
    except LinAlgError:
        return None


def ridge_solutions(
    K: Array, Y: Array, alphas: Array, *, sample_weight: Array | None = None, definite: bool = False
) -> list[RidgeSolution]:
    """Return the solutions of a few regularisers, by factors where that is possible."""
    options: dict[str, Any] = {"sample_weight": sample_weight}
    if definite or is_semidefinite(K):
        solved = (ridge_at(K, Y, float(alpha), definite=True, **options) for alpha in alphas)
        solutions = [ridge.solution for ridge in solved if ridge is not None]
        if len(solutions) == len(alphas):
            return solutions
    path = RidgePath(K, Y, **options)
    return [path.solve(float(alpha)) for alpha in alphas]


class RidgeAt:
    """Ridge regression at one regulariser, solved by the factor L of the weighted K + alpha I."""

    def __init__(self, A: Array, Y: Array, root: Array, alpha: float, intercept: bool) -> None:
        if not alpha >= 1e-8 * (float(np.mean(np.abs(A.diagonal()))) + np.finfo(float).tiny):
            raise LinAlgError(f"Expected a regulariser beyond rounding, got {alpha:.3g}.")
        B = np.array(A.T, order="F")  # of a symmetric matrix the transpose has columns for nothing
        B[np.diag_indices_from(B)] += alpha
        # what is above the factor is not zero
        self.L = np.asarray(cho_factor(B, lower=True, overwrite_a=True, check_finite=False)[0])
        self.root, self.intercept = root, intercept
        offset, Y = centred(Y, root**2, intercept)
        sides = np.column_stack([root[:, None] * Y, root])
        solved = np.asarray(cho_solve((self.L, True), sides, check_finite=False))
        self.c, self.u = solved[:, :-1], solved[:, -1]
        b = np.zeros(Y.shape[1])
        if intercept:
            b = root @ self.c / float(root @ self.u)
            self.c = self.c - np.outer(self.u, b)
        coef = root[:, None] * self.c
        self.solution = RidgeSolution(alpha=alpha, coef=coef, intercept=b + offset, jitter=0.0)

    def loo_residuals(self) -> Array:
        """Return y_i - f_{-i}(x_i), shape (n, q); the factor is overwritten."""
        # The diagonal of (LL')^-1: squares of the columns of L^-1, half the work of the inverse.
        inverse = np.tril(dtrtri(self.L, lower=1, overwrite_c=1)[0])
        diagonal = np.einsum("ij,ij->j", inverse, inverse)
        if self.intercept:
            diagonal -= self.u**2 / float(self.root @ self.u)
        return np.asarray(self.c / (self.root * diagonal)[:, None])
