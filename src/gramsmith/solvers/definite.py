"""Cholesky factors of dense positive definite matrices, with jitter where they are singular."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg import LinAlgError, cho_factor, cho_solve

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
