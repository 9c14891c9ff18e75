r"""A map from the average outer product of gradients (recursive feature machines).

A ridge regression f on the mapped samples is fitted, and its gradients say along which directions
it changes:

.. math:: G = \frac{1}{n} \sum_i \nabla f(x_i) \nabla f(x_i)', \qquad S S' \leftarrow G

then again with the new map. Nothing is climbed: a step costs one regression on a thousand rows and
one sweep over all. The gradient of f at every sample is the pullback of the kernel with the
coefficients as weights, so that any kernel with a derivative will do and memory stays O(np).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gramsmith.gram import Engine
from gramsmith.gram.outer import outer_products
from gramsmith.kernels import Composed, Kernel, LinearMap, column_moments
from gramsmith.learning.ascent import Ascent
from gramsmith.learning.cross_fit import ROWS, WIDTH, choose_width, subsample
from gramsmith.learning.monitor import Monitor
from gramsmith.learning.objective import responses
from gramsmith.learning.start import mean_square, signs
from gramsmith.targets import Target

Array = npt.NDArray[Any]


def follow_gradients(
    base: Kernel,
    X: Array,
    target: Target,
    S: Array,
    steps: int,
    engine: Engine,
    monitor: Monitor | None = None,
    seed: int = 0,
) -> tuple[Ascent, Array]:
    """Return how it went, and the map after some steps from S, shape (p,) or (p, q).

    Of a matrix with q < p columns only the shape and size count: no gradient leaves the span of a
    map, hence the full one is followed, and its q largest directions are kept at the end. The
    monitor sees the leave-one-out error of every regression; `seed` draws its rows where there are
    many.

    References
    ----------
    A. Radhakrishnan, D. Beaglehole, P. Pandit, M. Belkin, "Mechanism for feature learning in neural
    networks and backpropagation-free machine learning models", Science 383 (2024).
    """
    rows = subsample(target, np.arange(len(target.w)), ROWS, seed)
    Y, w, monitor = responses(target), target.w, monitor or Monitor("TransformLearner")
    variance = column_moments(X, w)[1]
    size, rank = mean_square(S, variance), None
    if S.ndim == 2 and S.shape[1] < len(S):
        rank, S = S.shape[1], np.eye(len(S))
        if size > 0:  # whatever the unit of X
            S = S * np.sqrt(size / mean_square(S, variance))
    monitor.parameters = lambda theta: {"S": theta.reshape(S.shape)}
    status, value = "converged", np.nan
    try:
        for _ in range(steps):

            def matrix(amount: float, width: float, a: Array, b: Array | None, S: Array = S) -> Any:
                kernel = Composed(base, LinearMap(width * S))
                return kernel(X[a]) if b is None else kernel(X[a], X[b])

            step, ridge, alpha = choose_width(matrix, 0.0, rows, Y, w)
            value = float(ridge.loo_errors([alpha])[0])
            if monitor(S.ravel(), -value, value, np.zeros(S.size)):
                status = "stopped"
                break
            kernel = Composed(base, LinearMap(WIDTH**step * S))
            coef = ridge.solve(alpha).coef
            G = outer_products(kernel, X, X[rows], coef, w, S.ndim == 1, engine)
            root = np.sqrt(np.maximum(G, 0.0)) if G.ndim == 1 else symmetric_root(G)
            if not (np.isfinite(root).all() and root.any()):
                break  # a regression that is constant tells nothing
            S = root * np.sqrt(size / mean_square(root, variance))
    except KeyboardInterrupt:
        status = "interrupted"
    if rank is not None:
        S = largest_directions(S, rank)
        S = S * np.sqrt(size / mean_square(S, variance))
    ascent = Ascent(
        theta=S.ravel(),
        value=value,
        history=monitor.history(),
        status=status,
        advice="The map so far is kept; fit again for more." if status == "interrupted" else "",
        n_iter=len(monitor.rows),
    )
    return ascent, S


def symmetric_root(G: Array) -> Array:
    """Return the symmetric map whose SS' is G."""
    values, U = np.linalg.eigh(G)
    return np.asarray((U * np.sqrt(np.maximum(values, 0.0))) @ U.T)


def leading_directions(S: Array, share: float) -> Array:
    """Return the fewest columns along directions of a symmetric map that hold a share of |S|²."""
    squares = np.sort(np.square(np.linalg.eigvalsh(S)))[::-1]
    enough = np.searchsorted(np.cumsum(squares), share * squares.sum())
    return largest_directions(S, min(int(enough) + 1, len(S)))


def largest_directions(S: Array, rank: int) -> Array:
    """Return the columns of a symmetric map along its largest directions, shape (p, rank)."""
    values, U = np.linalg.eigh(S)
    top = (U * values)[:, ::-1][:, :rank]
    return np.asarray(top * signs(top))
