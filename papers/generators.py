"""Data sets that need no file: Breiman's generators, Nguyen & Ho's plane, the Titanic table."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

# Dawson's table of the Titanic: class (1st, 2nd, 3rd, crew), child, male -> died, survived.
TITANIC = (
    (0, 0, 0, 4, 140),
    (0, 0, 1, 118, 57),
    (0, 1, 0, 0, 1),
    (0, 1, 1, 0, 5),
    (1, 0, 0, 13, 80),
    (1, 0, 1, 154, 14),
    (1, 1, 0, 0, 13),
    (1, 1, 1, 0, 11),
    (2, 0, 0, 89, 76),
    (2, 0, 1, 387, 75),
    (2, 1, 0, 17, 14),
    (2, 1, 1, 35, 13),
    (3, 0, 0, 3, 20),
    (3, 0, 1, 670, 192),
)


def ringnorm(n: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Return Breiman's ringnorm: +1 from N(0, 4I), -1 from N(a, I), a = 2/sqrt(20), 20 features.

    Examples
    --------
    >>> import numpy as np
    >>> from papers.generators import ringnorm
    >>> X, y = ringnorm(100, np.random.default_rng(0))
    >>> X.shape, sorted(set(y.tolist()))
    ((100, 20), [-1, 1])
    """
    y = _coin(n, rng)
    noise = rng.standard_normal((n, 20))
    X = np.where(y[:, None] > 0, 2.0 * noise, noise + 2.0 / np.sqrt(20.0))
    return X, y


def waveform(n: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Return Breiman's waveform: noisy mixtures of two of three triangles, 21 features.

    The triangles are h(i) = max(6 - |i - peak|, 0) with peaks 11, 15 and 7; +1 is the class mixed
    from the first two.

    Examples
    --------
    >>> import numpy as np
    >>> from papers.generators import waveform
    >>> waveform(10, np.random.default_rng(0))[0].shape
    (10, 21)
    """
    i = np.arange(1, 22)
    h = np.maximum(6.0 - np.abs(i - np.array([[11], [15], [7]])), 0.0)
    pairs = np.array([(0, 1), (0, 2), (1, 2)])
    kind = rng.integers(3, size=n)
    u = rng.random((n, 1))
    first, second = h[pairs[kind, 0]], h[pairs[kind, 1]]
    X = u * first + (1.0 - u) * second + rng.standard_normal((n, 21))
    return X, np.where(kind == 0, 1, -1)


def titanic() -> tuple[Array, Array]:
    """Return the 2201 people of the Titanic: class 0..3, child, male; +1 survived.

    Examples
    --------
    >>> from papers.generators import titanic
    >>> X, y = titanic()
    >>> X.shape, int((y > 0).sum())
    ((2201, 3), 711)
    """
    rows: list[tuple[int, int, int]] = []
    labels: list[int] = []
    for kind, child, male, died, survived in TITANIC:
        rows += [(kind, child, male)] * (died + survived)
        labels += [-1] * died + [1] * survived
    return np.array(rows, dtype=float), np.array(labels)


def two_blobs(angle: float, spread: float, n: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Return the plane of Nguyen & Ho's figure 3: two round clouds on the unit circle.

    Parameters
    ----------
    angle : float
        Degrees between the centres (1, 0) and (cos, sin).
    spread : float
        Standard deviation per axis, as a multiple of the distance of the centres.
    n : int
        Points per class.
    rng : numpy Generator

    Returns
    -------
    X : array of shape (2n, 2)
    y : array of shape (2n,)

    Examples
    --------
    >>> import numpy as np
    >>> from papers.generators import two_blobs
    >>> two_blobs(90.0, 0.5, 5, np.random.default_rng(0))[0].shape
    (10, 2)
    """
    beta = np.deg2rad(angle)
    centres = np.array([[1.0, 0.0], [np.cos(beta), np.sin(beta)]])
    d = float(np.linalg.norm(centres[0] - centres[1]))
    X = np.repeat(centres, n, axis=0) + spread * d * rng.standard_normal((2 * n, 2))
    return X, np.repeat([1, -1], n)


def standardised(X: Array) -> Array:
    """Return X with zero mean and unit deviation in every column."""
    return np.asarray((X - X.mean(axis=0)) / X.std(axis=0))


def _coin(n: int, rng: np.random.Generator) -> Array:
    return np.where(rng.random(n) < 0.5, 1, -1)
