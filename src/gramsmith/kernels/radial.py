"""Kernels of the distance between two vectors."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from gramsmith.arguments import abridged, is_number, is_positive
from gramsmith.kernels import pointwise as formulas
from gramsmith.kernels.base import Array, Derivatives
from gramsmith.kernels.geometry import (
    ChiSquare,
    Geometry,
    Minkowski,
    PairKernel,
    SquaredEuclidean,
)
from gramsmith.kernels.pointwise import Formula

MATERN = {0.5: formulas.ROOT, 1.5: formulas.MATERN_3, 2.5: formulas.MATERN_5}  # by smoothness
REACH = 40.0  # exp(-s) of a larger s is below the rounding of 1


class Radial(PairKernel):
    """A function of the distance of two samples, each feature divided by its length scale.

    Subclasses give `value(s)` and `slope(s)`, its derivative by s, for arrays of squared scaled
    distances s, and a constructor with `length_scale`.

    Examples
    --------
    >>> class Cauchy(Radial):
    ...     def __init__(self, length_scale=1.0):
    ...         self.length_scale = length_scale
    ...
    ...     def value(self, s):
    ...         return 1.0 / (1.0 + s)
    ...
    ...     def slope(self, s):
    ...         return -1.0 / (1.0 + s) ** 2
    >>> Cauchy(2.0)([[0.0], [2.0]])
    array([[1. , 0.5],
           [0.5, 1. ]])
    """

    positive: ClassVar[tuple[str, ...]] = ("length_scale",)
    geometry: ClassVar[Geometry] = SquaredEuclidean()
    scales_inputs: ClassVar[bool] = True

    def is_stationary(self) -> bool:
        return type(self).embed is PairKernel.embed


class Gaussian(Radial):
    r"""The Gaussian (RBF) kernel.

    .. math:: k(x, z) = \exp\left(-\tfrac{1}{2} \sum_k (x_k - z_k)^2 / \ell_k^2\right)

    Parameters
    ----------
    length_scale : float or array of shape (p,), default=1.0
        One length for all features, or one per feature.

    Examples
    --------
    >>> import gramsmith as gs
    >>> gs.Gaussian(2.0)([[0.0], [2.0]])
    array([[1.        , 0.60653066],
           [0.60653066, 1.        ]])
    >>> gs.Gaussian.from_gamma(0.125)
    Gaussian(length_scale=2.0)
    """

    geometry: ClassVar[Geometry] = SquaredEuclidean(reach=REACH)
    pointwise: ClassVar[Formula | None] = formulas.GAUSSIAN
    # Rounding of small distances to both sides evens out in sums; cut off at 0 it would not.
    least: ClassVar[float | None] = None

    def __init__(self, length_scale: Any = 1.0) -> None:
        self.length_scale = length_scale

    @classmethod
    def from_gamma(cls, gamma: float) -> Gaussian:
        """Return the kernel exp(-gamma |x - z|²)."""
        if not is_positive(gamma):
            raise ValueError(
                f"Expected gamma > 0, got {abridged(gamma)}. Use 1 / (2 length_scale²)."
            )
        return cls(float(1.0 / np.sqrt(2.0 * gamma)))

    @property
    def scale(self) -> Any:
        # With this scale s = |x - z|² / 2l², and the kernel is exp(-s) without another pass.
        return np.sqrt(2.0) * np.asarray(self.length_scale)


class Laplacian(Radial):
    r"""The Laplacian (exponential) kernel of the l1 or the l2 distance.

    .. math:: k(x, z) = \exp(-\|x - z\|_1 / \ell) \quad\text{or}\quad \exp(-\|x - z\|_2 / \ell)

    Its slope at x = z, where the kernel has a kink, is taken to be 0.

    Parameters
    ----------
    length_scale : float or array of shape (p,), default=1.0
        One length for all features, or one per feature.
    norm : {"l1", "l2"}, default="l1"
        "l1" is scikit-learn's `laplacian_kernel`, "l2" the isotropic kernel.

    Examples
    --------
    >>> import gramsmith as gs
    >>> gs.Laplacian(1.0, norm="l2")([[0.0, 0.0]], [[3.0, 4.0]]).round(6)
    array([[0.006738]])
    """

    choices: ClassVar[dict[str, tuple[Any, ...]]] = {"norm": ("l1", "l2")}

    def __init__(self, length_scale: Any = 1.0, norm: str = "l1") -> None:
        self.length_scale = length_scale
        self.norm = norm

    @property
    def geometry(self) -> Geometry:  # type: ignore[override]
        return Minkowski() if self.norm == "l1" else SquaredEuclidean(cusp=True)

    @property
    def pointwise(self) -> Formula | None:  # type: ignore[override]
        return formulas.GAUSSIAN if self.norm == "l1" else formulas.ROOT


class Matern(Radial):
    r"""The Matérn kernel of smoothness 1/2, 3/2 or 5/2.

    .. math:: k = e^{-r},\quad (1 + \sqrt3 r) e^{-\sqrt3 r},\quad
              (1 + \sqrt5 r + \tfrac53 r^2) e^{-\sqrt5 r}, \qquad r = \|x - z\| / \ell

    Parameters
    ----------
    length_scale : float or array of shape (p,), default=1.0
        One length for all features, or one per feature.
    nu : {0.5, 1.5, 2.5}, default=1.5
        Smoothness; 0.5 is the l2 Laplacian.

    Examples
    --------
    >>> import gramsmith as gs
    >>> gs.Matern(nu=2.5)([[0.0]], [[1.0]]).round(6)
    array([[0.523994]])
    """

    choices: ClassVar[dict[str, tuple[Any, ...]]] = {"nu": (0.5, 1.5, 2.5)}

    def __init__(self, length_scale: Any = 1.0, nu: float = 1.5) -> None:
        self.length_scale = length_scale
        self.nu = nu

    @property
    def geometry(self) -> Geometry:  # type: ignore[override]
        return SquaredEuclidean(cusp=self.nu == 0.5)

    @property
    def pointwise(self) -> Formula | None:  # type: ignore[override]
        return MATERN[self.nu]


class PowerExponential(Radial):
    r"""The exponential of a power of a norm, between the Laplacian and the Gaussian kernels.

    .. math:: k(x, z) = \exp\left(-\Big(\sum_k |x_k - z_k|^q / \ell_k^q\Big)^{p/q}\right)

    It is positive definite for 0 < p <= q <= 2. A norm q below 2 distinguishes columns from their
    mixtures, a power p below 2 is rougher than the Gaussian: p = q = 1 is the l1 Laplacian, p = 1
    and q = 2 the l2 one, and p = q = 2 a Gaussian of length ℓ/√2. Where the kernel has a kink, at x
    = z, its slope is taken to be 0.

    Parameters
    ----------
    length_scale : float or array of shape (p,), default=1.0
        One length for all features, or one per feature.
    power : float, default=1.0
        The power p of the distance.
    norm : float, default=2.0
        The q of the norm, from 1 to 2.

    Examples
    --------
    >>> import gramsmith as gs
    >>> gs.PowerExponential(power=0.7, norm=1.5)([[0.0, 0.0]], [[1.0, 1.0]]).round(6)
    array([[0.251098]])
    """

    def __init__(self, length_scale: Any = 1.0, power: float = 1.0, norm: float = 2.0) -> None:
        self.length_scale = length_scale
        self.power = power
        self.norm = norm

    @property
    def geometry(self) -> Geometry:  # type: ignore[override]
        return Minkowski(self.norm)

    def check_parameters(self) -> None:
        super().check_parameters()
        known = is_number(self.power) and is_number(self.norm)
        if not (known and 0.0 < self.power <= self.norm and 1.0 <= self.norm <= 2.0):
            raise ValueError(
                "PowerExponential: expected 0 < power <= norm with a norm from 1 to 2, got power "
                f"{abridged(self.power)} and norm {abridged(self.norm)}. Elsewhere it is not "
                "positive definite; use, for example, power=1.0 and norm=1.5."
            )

    def value(self, s: Array) -> Array:
        return np.asarray(np.exp(-(s ** (self.power / self.norm))))

    def slope(self, s: Array) -> Array:
        ratio = self.power / self.norm
        if ratio == 1.0:
            return np.asarray(-np.exp(-s))
        inside = np.where(s > 0, s, 1.0)
        slope = -ratio * inside ** (ratio - 1.0) * np.exp(-(inside**ratio))
        return np.where(s > 0, slope, 0.0)


class RationalQuadratic(Radial):
    r"""The rational quadratic kernel, a mixture of Gaussians of all widths.

    .. math:: k(x, z) = \left(1 + \|x - z\|^2 / 2 \alpha \ell^2\right)^{-\alpha}

    Parameters
    ----------
    length_scale : float or array of shape (p,), default=1.0
        One length for all features, or one per feature.
    alpha : float, default=1.0
        Large alpha is the Gaussian kernel.

    Examples
    --------
    >>> import gramsmith as gs
    >>> gs.RationalQuadratic(1.0, alpha=0.5)([[0.0]], [[1.0]]).round(6)
    array([[0.707107]])
    """

    positive: ClassVar[tuple[str, ...]] = ("length_scale", "alpha")
    single: ClassVar[tuple[str, ...]] = ("alpha",)
    pointwise: ClassVar[Formula | None] = formulas.RATIONAL

    def __init__(self, length_scale: Any = 1.0, alpha: float = 1.0) -> None:
        self.length_scale = length_scale
        self.alpha = alpha

    def constants(self) -> tuple[float, ...]:
        alpha = float(self.alpha)
        return 1.0, 0.5 / alpha, alpha, alpha + 1.0, 0.5, 2.0


class Periodic(Radial):
    r"""The periodic kernel of the distance.

    .. math:: k(x, z) = \exp\left(-2 \sin^2(\pi \|x - z\| / p) / \ell^2\right)

    It is positive semidefinite for one feature, but need not be for several: there, multiply
    periodic kernels on single columns.

    Parameters
    ----------
    length_scale : float, default=1.0
        Smoothness within a period.
    period : float, default=1.0
        The distance after which the kernel repeats.

    Examples
    --------
    >>> import gramsmith as gs
    >>> gs.Periodic(period=2.0)([[0.0]], [[1.0], [2.0]]).round(6)
    array([[0.135335, 1.      ]])
    """

    positive: ClassVar[tuple[str, ...]] = ("length_scale", "period")
    single: ClassVar[tuple[str, ...]] = ("length_scale", "period")
    scales_inputs: ClassVar[bool] = False
    positive_definite = False  # not for every data set, see above

    def __init__(self, length_scale: float = 1.0, period: float = 1.0) -> None:
        self.length_scale = length_scale
        self.period = period

    def value(self, s: Array) -> Array:
        p, scale = float(self.period), float(self.length_scale)
        return np.asarray(np.exp(-2.0 * (np.sin(np.pi * np.sqrt(s) / p) / scale) ** 2))

    def slope(self, s: Array) -> Array:
        # sin(2πr/p)/r -> 2π/p as r -> 0: np.sinc(x) = sin(πx)/πx
        c = 2.0 / self.period
        ratio = np.pi * c * np.sinc(c * np.sqrt(s))
        return np.asarray(-self.value(s) * np.pi / (self.period * self.length_scale**2) * ratio)

    def partials(self, s: Array) -> Derivatives:
        K, r = self.value(s), np.sqrt(s)
        angle = np.pi * r / self.period
        return {
            "length_scale": 4.0 * K * np.sin(angle) ** 2 / self.length_scale**3,
            "period": 2.0 * K * np.sin(2.0 * angle) * angle / (self.period * self.length_scale**2),
        }


class Chi2(PairKernel):
    r"""The exponential chi-squared kernel of histograms.

    .. math:: k(x, z) = \exp\left(-\gamma \sum_k (x_k - z_k)^2 / (x_k + z_k)\right)

    Parameters
    ----------
    gamma : float, default=1.0
        Inverse width.

    Examples
    --------
    >>> import gramsmith as gs
    >>> gs.Chi2(0.5)([[1.0, 0.0]], [[0.0, 1.0]]).round(6)
    array([[0.367879]])
    """

    positive: ClassVar[tuple[str, ...]] = ("gamma",)
    single: ClassVar[tuple[str, ...]] = ("gamma",)
    geometry: ClassVar[Geometry] = ChiSquare()
    pointwise: ClassVar[Formula | None] = formulas.CHI2
    requires_nonnegative_input = True

    def __init__(self, gamma: float = 1.0) -> None:
        self.gamma = gamma

    def constants(self) -> tuple[float, ...]:
        return float(self.gamma), 1.0 / float(self.gamma)


class AdditiveChi2(PairKernel):
    r"""The additive chi-squared "kernel" of histograms, which is not positive definite.

    .. math:: k(x, z) = -\sum_k (x_k - z_k)^2 / (x_k + z_k)

    It is positive definite on differences only (conditionally), as -|x - z|² is.

    Examples
    --------
    >>> from gramsmith.kernels import AdditiveChi2
    >>> AdditiveChi2()([[1.0, 0.0]], [[0.0, 1.0]])
    array([[-2.]])
    """

    geometry: ClassVar[Geometry] = ChiSquare()
    positive_definite = False
    requires_nonnegative_input = True

    def value(self, s: Array) -> Array:
        return np.negative(s)

    def slope(self, s: Array) -> Array:
        return np.full_like(s, -1.0)
