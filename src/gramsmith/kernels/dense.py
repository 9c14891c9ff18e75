"""The kernel matrix of few samples, held as a whole, and the derivative of a number that it has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy.typing as npt

from gramsmith.kernels.base import Kernel, check_derivatives, symmetrised
from gramsmith.kernels.embedding import add, add_named
from gramsmith.kernels.finite import check_values

Array = npt.NDArray[Any]


def dense(kernel: Kernel, X: Any) -> tuple[Array, Callable[[Array], dict[str, Any]]]:
    """Return K of all samples, and dK -> derivatives by the parameters of a number that has it.

    The samples are checked and embedded once for both.

    Examples
    --------
    >>> import numpy as np
    >>> import gramsmith as gs
    >>> K, pullback = dense(gs.Polynomial(1, gamma=2.0), np.array([[1.0], [3.0]]))
    >>> float(pullback(np.ones((2, 2)))["gamma"])  # of the sum of all (gamma x z + 1)
    16.0
    """
    kernel.check_parameters()
    X = kernel.check_input(X)
    reference = kernel.reference(X)
    E = kernel.embed(X, reference)
    K = symmetrised(kernel.tile(E, E))
    check_values(K, kernel)

    def pullback(dK: Array) -> dict[str, Any]:
        da, db, direct = kernel.tile_vjp(E, E, dK, K, wants="parameters")
        total, dE = add_named({}, direct), add(da, db)
        if dE is not None:
            add_named(total, kernel.embed_vjp(X, reference, E, dE)[1])
        check_derivatives(kernel, total)
        return total

    return K, pullback
