"""The alignment of a mixture of Gaussians as a function of one bandwidth, with two derivatives.

With s = |x - z|² / 2σ² and t = log σ, the Gaussian K = e^-s has dK/dt = 2 s e^-s and
d²K/dt² = 4 (s² - s) e^-s. These are Gram matrices too: one sweep over K1, K, s e^-s, s² e^-s with
their inner products gives the alignment of every mixture u K1 + (1 - u) K and its derivatives.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.neighbors import NearestNeighbors

from gramsmith.gram import Gram
from gramsmith.kernels import Constant, Gaussian, Kernel
from gramsmith.kernels.radial import Radial
from gramsmith.measures.alignment import kernel_products, target_norm, target_products
from gramsmith.targets import Target

Array = npt.NDArray[Any]


class GaussianMoment(Radial):
    """s^order exp(-s), s = |x - z|² / 2 length_scale²; not positive definite for order > 0."""

    def __init__(self, length_scale: Any = 1.0, order: int = 1) -> None:
        self.length_scale = length_scale
        self.order = order

    @property
    def scale(self) -> Any:
        return np.sqrt(2.0) * np.asarray(self.length_scale)

    @property
    def positive_definite(self) -> bool:
        return False

    def value(self, s: Array) -> Array:
        return np.asarray(s**self.order * np.exp(-s))

    def slope(self, s: Array) -> Array:
        power = self.order * s ** (self.order - 1) - s**self.order
        return np.asarray(power * np.exp(-s))


@dataclass(frozen=True)
class Point:
    """The best mixture at one bandwidth.

    Parameters
    ----------
    sigma : float
    value : float
        Alignment.
    u : float
        Share of the first kernel.
    slope, curvature : float
        First and second derivative by log sigma of the alignment of the best mixture.
    products : array of shape (2, 2)
        Inner products of the two kernels.
    inner : array of shape (2,)
        Their inner products with the target.
    """

    sigma: float
    value: float
    u: float
    slope: float
    curvature: float
    products: Array
    inner: Array


def best_share(a: Array, G: Array) -> float:
    """Return the u in [0, 1] that maximises the alignment of u K1 + (1 - u) K2.

    With n1 = a1 G22 - a2 G12 and n2 = a2 G11 - a1 G12 the stationary point is n1 / (n1 + n2), a
    maximum if both are positive. Otherwise the alignment is monotone on [0, 1]: clipping the ratio
    instead would take a minimum for the maximum when n1 + n2 < 0.

    Parameters
    ----------
    a : array of shape (2,)
        Inner products of the kernels with the target.
    G : array of shape (2, 2)
        Inner products of the kernels.
    """
    noise = 1e-14 * max(abs(a[0] * G[1, 1]), abs(a[1] * G[0, 1]), abs(a[1] * G[0, 0]))
    n1, n2 = a[0] * G[1, 1] - a[1] * G[0, 1], a[1] * G[0, 0] - a[0] * G[0, 1]
    if max(n1, n2) <= noise:  # equal kernels, or none that aligns: take the better one
        size = np.sqrt(np.maximum(np.diagonal(G), 0.0))
        return 1.0 if a[0] * size[1] >= a[1] * size[0] else 0.0
    w1, w2 = max(n1, 0.0), max(n2, 0.0)
    return float(w1 / (w1 + w2))


class BandwidthProfile:
    """F*(sigma) = max_u alignment(u K1 + (1 - u) K(sigma), T); without K1, u = 0.

    Parameters
    ----------
    X : array of shape (n, p)
    target : Target
    first : Kernel, optional
        K1.
    projection : {"plain", "centred", "debiased"}
    memory, n_jobs
        As for `Gram`.
    """

    def __init__(
        self,
        X: Array,
        target: Target,
        first: Kernel | None = None,
        projection: str = "plain",
        memory: float | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.X, self.target, self.first, self.projection = X, target, first, projection
        self.memory, self.n_jobs = memory, n_jobs
        self.norm = target_norm(target, projection)

    def _sums(self, kernels: list[Kernel]) -> tuple[Array, Array]:
        gram = Gram(kernels, self.X, memory=self.memory, n_jobs=self.n_jobs, dtype=np.float64)
        moments = gram.moments(self.target, cross=True)
        a = target_products(moments, self.target, self.projection)
        G = kernel_products(moments, self.target, self.projection)
        return np.asarray(a), np.asarray(G)

    def mixture(self, second: Kernel) -> tuple[float, float]:
        """Return the alignment of the best mixture with any second kernel, and u."""
        kernels = [second] if self.first is None else [self.first, second]
        a, G = self._sums(kernels)
        if self.first is None:
            return self._align(a[0], G[0, 0]), 0.0
        u = best_share(a, G)
        w = np.array([u, 1.0 - u])
        return self._align(float(a @ w), float(w @ G @ w)), u

    def _align(self, inner: float, square: float) -> float:
        # A kernel without any centred part aligns with nothing.
        return float(inner / np.sqrt(square) / self.norm) if square > 0 else 0.0

    def limits(self, floor: float) -> dict[float, tuple[float, float]]:
        """Return {0: (F, u), inf: (F, u)}: the limits of the identity and of a constant kernel."""
        wide = (
            self.mixture(Constant(1.0))
            if self.first is not None or self.projection == "plain"
            else (0.0, 0.0)
        )
        return {0.0: self.mixture(Gaussian(1e-3 * floor)), np.inf: wide}

    def __call__(self, sigma: float) -> Point:
        """Return the best mixture at one bandwidth, with derivatives."""
        family: list[Kernel] = [Gaussian(sigma), GaussianMoment(sigma, 1), GaussianMoment(sigma, 2)]
        kernels = family if self.first is None else [self.first, *family]
        a, G = self._sums(kernels)
        if self.first is None:  # a first kernel that is zero
            a, G = np.r_[0.0, a], np.pad(G, ((1, 0), (1, 0)))
            u = 0.0
        else:
            u = best_share(a[:2], G[:2, :2])
        w = np.array([u, 1.0 - u, 0.0, 0.0])
        t1 = (1.0 - u) * np.array([0.0, 0.0, 2.0, 0.0])
        t2 = (1.0 - u) * np.array([0.0, 0.0, -4.0, 4.0])
        by_u = np.array([1.0, -1.0, 0.0, 0.0])
        by_ut = np.array([0.0, 0.0, -2.0, 0.0])
        value = self._align(float(a @ w), float(w @ G @ w))
        if value == 0.0 or w @ G @ w <= 0:
            slope = curvature = 0.0
        else:
            slope, curvature = _derivatives(a, G, w, t1, t1, t2)
            if 0.0 < u < 1.0:
                # u follows sigma: F*'' = F_tt - F_tu² / F_uu
                _, second = _derivatives(a, G, w, by_u, by_u, np.zeros(4))
                _, mixed = _derivatives(a, G, w, t1, by_u, by_ut)
                curvature -= mixed**2 / second if second < 0 else 0.0
            slope, curvature = slope / self.norm, curvature / self.norm
        return Point(sigma, value, u, slope, curvature, G[:2, :2], a[:2])


def _derivatives(
    a: Array, G: Array, w: Array, x: Array, y: Array, xy: Array
) -> tuple[float, float]:
    """Return the derivatives of a'w / sqrt(w'Gw) along x, and along x then y.

    `xy` is the second derivative of w itself.
    """
    N, Q = float(a @ w), float(w @ G @ w)
    Nx, Ny, Nxy = float(a @ x), float(a @ y), float(a @ xy)
    Qx, Qy = 2.0 * float(w @ G @ x), 2.0 * float(w @ G @ y)
    Qxy = 2.0 * float(x @ G @ y) + 2.0 * float(w @ G @ xy)
    root = np.sqrt(Q)
    first = Nx / root - 0.5 * N * Qx / (Q * root)
    second = (
        Nxy / root
        - 0.5 * (Nx * Qy + Ny * Qx) / (Q * root)
        - 0.5 * N * Qxy / (Q * root)
        + 0.75 * N * Qx * Qy / (Q * Q * root)
    )
    return float(first), float(second)


def bandwidth_range(X: Array) -> tuple[float, float]:
    """Return 0.1 times the smallest non-zero and 10 times a bound on the largest distance.

    The nearest neighbours of distinct rows and the radius around the mean, so no n x n matrix.
    """
    X = np.asarray(X, dtype=np.float64)
    rows = np.unique(X, axis=0)
    if len(rows) < 2:
        raise ValueError("Expected at least two different samples, got one. Add samples.")
    near = NearestNeighbors(n_neighbors=2).fit(rows).kneighbors(rows)[0][:, 1]
    far = 2.0 * float(np.sqrt(((rows - rows.mean(axis=0)) ** 2).sum(axis=1).max()))
    smallest = float(near[near > 1e-12 * far].min(initial=far))
    return 0.1 * smallest, 10.0 * far
