"""bandwidth_path: all Gaussian bandwidths from one sweep."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state

from gramsmith.arguments import abridged, is_positive, is_whole
from gramsmith.evaluation.evaluate import evaluate
from gramsmith.evaluation.result import Evaluation
from gramsmith.kernels.geometry import SquaredEuclidean
from gramsmith.kernels.radial import Gaussian
from gramsmith.measures import Measure

Array = npt.NDArray[Any]


def bandwidth_path(
    X: Any,
    y: Any,
    measures: Iterable[str | Measure] | str | Measure | None = None,
    *,
    n_bandwidths: int = 16,
    widest: float | None = None,
    **options: Any,
) -> Evaluation:
    """Measure a path of Gaussian kernels whose gamma doubles from one to the next.

    exp(-2g D) = exp(-g D)², so that the whole path costs one exponential per pair of samples.

    Parameters
    ----------
    X : array of shape (n, p)
    y : array of shape (n,) or (n, q)
        Labels or values.
    measures : list of str or Measure, optional
        As in `evaluate`.
    n_bandwidths : int, default=16
        Length of the path.
    widest : float, optional
        Largest length scale; default such that the middle of the path is the median distance.
    **options
        Further arguments of `evaluate`.

    Returns
    -------
    Evaluation
        Its kernels are in the order of the path, from wide to narrow.

    Examples
    --------
    >>> import numpy as np
    >>> import gramsmith as gs
    >>> X = np.random.default_rng(0).normal(size=(80, 2))
    >>> path = gs.bandwidth_path(X, X[:, 0] * X[:, 1] > 0, ["cka"], n_bandwidths=8)
    >>> path.best("cka")
    'Gaussian(length_scale=0.5757)'
    """
    if not is_whole(n_bandwidths, 1):
        raise ValueError(f"Expected n_bandwidths >= 1, got {abridged(n_bandwidths)}.")
    X = Gaussian().check_input(X)
    if widest is None:
        widest = median_distance(X) * 2.0 ** (n_bandwidths / 4.0)
    elif not (is_positive(widest) and np.ndim(widest) == 0):
        raise ValueError(
            f"Expected widest > 0, got {abridged(widest)}. Leave it out to have one chosen."
        )
    kernels = [Gaussian(float(widest / np.sqrt(2.0) ** j)) for j in range(int(n_bandwidths))]
    kernels[0].check_parameters()
    return evaluate(kernels, X, y, measures=measures, **options)


def median_distance(X: Any, random_state: Any = 0) -> float:
    """Return the median distance between distinct rows of X, from some of its rows."""
    distances = sampled_distances(X, random_state)
    return float(np.median(distances)) if len(distances) else 1.0


def sampled_distances(X: Any, random_state: Any = 0, size: int = 1000) -> Array:
    """Return the positive distances between rows of X, of at most `size` of them."""
    n = X.shape[0]
    rng = check_random_state(random_state)
    rows = np.sort(rng.permutation(n)[:size]) if n > size else np.arange(n)
    part = X[rows]
    geometry = SquaredEuclidean(cusp=True)  # equal rows are at distance 0, not at rounding
    E = geometry.embed(part, geometry.reference(part), 1.0, float)
    upper = np.sqrt(np.maximum(geometry.pair(E, E)[np.triu_indices(len(rows), 1)], 0.0))
    return np.asarray(upper[upper > 0])
