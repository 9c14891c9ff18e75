"""Outer products of the gradients of functions, from blocks of samples."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from gramsmith.gram.engine import Engine
from gramsmith.kernels.base import Kernel
from gramsmith.kernels.embedding import Embedding

Array = npt.NDArray[Any]

BLOCK = 1024  # rows whose gradients are formed at a time


def outer_products(
    kernel: Kernel,
    X: Array,
    centres: Array,
    coef: Array,
    w: Array,
    diagonal: bool,
    engine: Engine,
) -> Array:
    r"""Return the mean outer product of the gradients of functions at the samples.

    .. math:: f(x) = \sum_j c_j k(x, z_j), \qquad G = \sum_i w_i \nabla f(x_i) \nabla f(x_i)' / n

    Examples
    --------
    >>> import gramsmith as gs
    >>> X, c = np.array([[1.0, 0.0], [0.0, 2.0]]), np.array([[1.0], [1.0]])
    >>> outer_products(gs.Linear(), X, X, c, np.ones(2), True, gs.Serial())
    array([1., 4.])
    """
    kernel.check_parameters()
    reference = kernel.reference(X, centres)
    E = kernel.embed(centres, reference)
    part = partial(_of_block, kernel, reference, E, coef, diagonal)
    cuts = [slice(start, start + BLOCK) for start in range(0, len(X), BLOCK)]
    p = X.shape[1]
    G = np.zeros(p) if diagonal else np.zeros((p, p))
    for found in engine.map(part, [(X[cut], w[cut]) for cut in cuts]):
        G += found
    return G / float(w.sum())


def _of_block(
    kernel: Kernel,
    reference: Any,
    E: Embedding,
    coef: Array,
    diagonal: bool,
    block: tuple[Array, Array],
) -> Array:
    X, w = block
    e = kernel.embed(X, reference)
    _, slopes = kernel.tile_and_slopes(e, E, np.empty((len(X), len(coef))))  # once for all
    p = X.shape[1]
    G = np.zeros(p) if diagonal else np.zeros((p, p))
    for c in coef.T:
        # Σ_ij W_ij k(x_i, z_j) with W_ij = c_j has the gradient of f at x_i as its derivative
        W = np.repeat(c[None, :], len(X), axis=0)
        de, _, _ = kernel.tile_vjp(e, E, W, slopes)
        D = np.asarray(kernel.embed_vjp(X, reference, e, de)[0], dtype=np.float64)
        weighted = D * w[:, None]
        G += np.einsum("ij,ij->j", weighted, D) if diagonal else weighted.T @ D
    return G
