"""Dense positive definite matrices: factors, jitter where singular, repair where indefinite."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from gramsmith.kernels.definiteness import indefiniteness, is_semidefinite

Array = npt.NDArray[Any]


class Definite:
    """A symmetric positive definite matrix, factored.

    Parameters
    ----------
    A : array of shape (n, n)
        Symmetric; overwritten.
    jitter : float, default=0.0
        Added to the diagonal before the first attempt.
    limit : float, default=1e-8
        Largest jitter to try, in units of the mean of the diagonal.

    Attributes
    ----------
    jitter : float
        What was added to the diagonal in the end.

    Examples
    --------
    >>> import numpy as np
    >>> from gramsmith.solvers.definite import Definite
    >>> Definite(np.array([[2.0, 0.0], [0.0, 4.0]])).solve(np.ones(2))
    array([0.5 , 0.25])
    >>> Definite(np.ones((2, 2))).jitter > 0
    True
    """

    def __init__(self, A: Array, jitter: float = 0.0, limit: float = 1e-8) -> None:
        diagonal = A.diagonal().copy()
        mean = float(np.mean(np.abs(diagonal))) or 1.0
        while jitter <= limit * mean:
            A[np.diag_indices_from(A)] = diagonal + jitter
            try:
                # LAPACK wants columns; of a symmetric matrix the transpose has them for nothing.
                self.factor = cho_factor(A.T, lower=True, check_finite=False)
                self.jitter = float(jitter)
                return
            except LinAlgError:
                jitter = max(10.0 * jitter, 1e-13 * mean)
        A[np.diag_indices_from(A)] = diagonal
        smallest = float(np.linalg.eigvalsh(A)[0])
        raise ValueError(
            f"Expected a positive definite matrix, got one with eigenvalue {smallest:.3g}. "
            "Regularise more (a larger alpha, a smaller C), or repair K with gramsmith.nearest_psd."
        )

    def solve(self, b: Array) -> Array:
        """Return A^-1 b.

        Parameters
        ----------
        b : array of shape (n,) or (n, q)

        Returns
        -------
        array of the shape of b
        """
        return np.asarray(cho_solve(self.factor, b, check_finite=False))


def warn_negative(values: Array) -> None:
    """Warn if eigenvalues that are to be cut at zero are negative beyond rounding.

    Parameters
    ----------
    values : array of shape (n,)
        Ascending.
    """
    message = indefiniteness(values)
    if message is not None:
        warnings.warn(
            f"{message} As it is, negative eigenvalues are set to zero.", UserWarning, stacklevel=4
        )


def clip_negative(K: Array, quiet: bool = False) -> tuple[Array, Callable[[Array], Array]]:
    """Return K with its negative eigenvalues set to zero, with a warning if there were any.

    A positive semidefinite K comes back as it is: its factor with a little jitter is proof enough,
    and much cheaper than eigenvalues.

    Parameters
    ----------
    K : array of shape (n, n)
        Symmetric.
    quiet : bool, default=False
        Whether to say nothing, for a caller that says it once.

    Returns
    -------
    K : array of shape (n, n)
    kept : callable
        Turns coefficients a of the clipped kernel into such that k(x)'a predicts with it.

    Examples
    --------
    >>> import numpy as np
    >>> from gramsmith.solvers.definite import clip_negative
    >>> K, kept = clip_negative(np.eye(2))
    >>> K, kept(np.ones(2))
    (array([[1., 0.],
           [0., 1.]]), array([1., 1.]))
    """
    if not len(K):
        return K, lambda A: A
    if is_semidefinite(K):
        return K, lambda A: A
    values, U = np.linalg.eigh(K)
    if not quiet:
        warn_negative(values)
    U, values = U[:, values > 0], values[values > 0]
    return np.asarray((U * values) @ U.T), lambda A: np.asarray(U @ (U.T @ A))


def clip_derivative(K: Array, dC: Array) -> Array:
    """Return the derivative by K of a number whose derivative by the clipped K is dC.

    In the eigenvectors of K it is dC times (max(λ_i, 0) - max(λ_j, 0)) / (λ_i - λ_j).

    Parameters
    ----------
    K : array of shape (n, n)
        Symmetric, before its negative eigenvalues were set to zero.
    dC : array of shape (n, n)
        Symmetric.
    """
    values, U = np.linalg.eigh(K)
    gap = values[:, None] - values
    near = np.abs(gap) <= 1e-12 * np.abs(values).max(initial=0.0)
    kept = np.maximum(values, 0.0)
    rate = (kept[:, None] - kept) / np.where(near, 1.0, gap)
    rate = np.where(near, np.broadcast_to(values > 0, gap.shape), rate)
    return np.asarray(U @ (rate * (U.T @ dC @ U)) @ U.T)
