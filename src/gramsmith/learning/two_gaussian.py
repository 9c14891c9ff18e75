"""TwoGaussianLearner: two bandwidths and their shares, by alignment.

The best share has a closed form (`best_share`). With it, the alignment of u K1 + (1 - u) K(σ) is a
function of σ alone (`BandwidthProfile`), which can have many local maxima: Tan et al. (001) say
two; six are common. All are bracketed on a grid, refined and compared (`search_bandwidth`).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy.optimize import root_scalar
from sklearn.exceptions import ConvergenceWarning
from sklearn.neighbors import NearestNeighbors
from sklearn.utils._param_validation import Interval, StrOptions

from gramsmith.gram import Engine, Gram
from gramsmith.kernels import Constant, Gaussian, Kernel, Scaled, Sum
from gramsmith.kernels.radial import Radial
from gramsmith.kernels.symbolic import refuse_symbols
from gramsmith.learning.monitor import Callback, Stopped, tell_row
from gramsmith.learning.objective import get_projection
from gramsmith.learning.samples import Learner, drop_zero_weights
from gramsmith.measures.alignment import kernel_products, target_norm, target_products
from gramsmith.targets import Target, make_target

Array = npt.NDArray[Any]


class TwoGaussianLearner(Learner):
    r"""Learn the mixture of two Gaussians that aligns best with the target.

    .. math:: k = u\,k_{\sigma_1} + (1 - u)\,k_{\sigma_2} \quad\text{or}\quad
              u\,k_{\sigma_1} + \sqrt{1 - u^2}\,k_{\sigma_2}

    The share u has a closed form for every sigma2; eliminating it leaves a function of sigma2
    alone, whose local maxima are all bracketed on a grid, refined on the log scale, and compared
    with the limits sigma2 -> 0 (identity) and sigma2 -> infinity (constant).

    Parameters
    ----------
    sigma1 : float, optional
        First bandwidth; default the best single one.
    sigma2 : float, optional
        Second bandwidth; default learned.
    mixing : {"linear", "circle"}, default="linear"
        The weight of the second kernel: 1 - u, or the square root of 1 - u². The mixtures are
        multiples of each other, so that they align alike.
    measure : {"kta", "cka", "cka_debiased"} or one of these `Measure` objects, default="kta"
        The alignment. The closed form of u is for alignments; `KernelLearner` climbs any other
        objective of a mixture.
    n_grid : int, default=64
        Bandwidths on which maxima are bracketed.
    target : {"auto", "simplex", "one_hot", "balanced", "uneven"}, default="auto"
        What similarity should look like, see `gramsmith.targets.make_target`.
    task : {"auto", "classification", "regression"}, default="auto"
        Whole numbers are classes unless this says otherwise.
    tol : float, default=1e-10
        Precision of log sigma.
    max_iter : int, default=100
        Most steps to refine a maximum.
    memory : float, optional
        Budget in MiB for tiles, see `Gram`.
    n_jobs : int, optional
        Threads, see `Gram`.
    engine : Engine, optional
        Who evaluates the tiles, see `Gram`; instead of `n_jobs` and `memory`.
    callback : callable, optional
        Called with a dict of "sigma", "value", "u" at every bandwidth; a true result stops the
        search, and the best mixture so far is kept.
    verbose : int, default=0
        Print a line per bandwidth.

    Attributes
    ----------
    u_ : float
        Share of the first Gaussian, for the chosen mixing.
    sigma1_, sigma2_ : float
        Bandwidths. sigma2_ is 0 or infinity where the identity or a constant kernel is best.
    value_ : float
        The alignment.
    kernel_ : Kernel
        The mixture.
    surface_ : dict
        "u" of shape (a,), "sigma" of shape (b,), "value" of shape (a, b): the alignment of every
        mixture on the grid. `gramsmith.report.plot_surface` draws it.
    history_ : dict of arrays
        "sigma", "value", "u" of every bandwidth visited.
    n_iter_ : int
        Bandwidths visited to refine the maxima.
    n_features_in_ : int
        The number of features.

    References
    ----------
    Z. Tan et al., "A method of learning the kernel using the alignment" (001); the sign of the
    share and the number of maxima are corrected here.

    Examples
    --------
    >>> import numpy as np
    >>> import gramsmith as gs
    >>> X = np.array([0.0, 1.0, 10.0, 11.0, 100.0, 101.0, 110.0, 111.0])[:, None]
    >>> y = [1, 1, 1, -1, -1, -1, -1, -1]
    >>> learner = gs.TwoGaussianLearner().fit(X, y)
    >>> round(learner.sigma1_, 4)  # the best of several local maxima
    10.0218
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "sigma1": [Interval(Real, 0, None, closed="neither"), None],
        "sigma2": [Interval(Real, 0, None, closed="neither"), None],
        "mixing": [StrOptions({"linear", "circle"})],
        "n_grid": [Interval(Integral, 4, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        **Learner._parameter_constraints,
    }
    _stored: ClassVar[dict[str, str]] = {
        "kernel_": "kernel",
        "value_": "real",
        "u_": "number",
        "sigma1_": "number",
        "sigma2_": "number",
        "surface_": "value",
        "history_": "value",
        "n_iter_": "whole",
    }

    def __init__(
        self,
        sigma1: float | None = None,
        sigma2: float | None = None,
        mixing: str = "linear",
        measure: Any = "kta",
        *,
        n_grid: int = 64,
        target: str = "auto",
        task: str = "auto",
        tol: float = 1e-10,
        max_iter: int = 100,
        memory: float | None = None,
        n_jobs: int | None = None,
        engine: Any = None,
        callback: Callback | None = None,
        verbose: int = 0,
    ) -> None:
        self.sigma1 = sigma1
        self.sigma2 = sigma2
        self.mixing = mixing
        self.measure = measure
        self.n_grid = n_grid
        self.target = target
        self.task = task
        self.tol = tol
        self.max_iter = max_iter
        self.memory = memory
        self.n_jobs = n_jobs
        self.engine = engine
        self.callback = callback
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> TwoGaussianLearner:
        """Learn the mixture.

        Parameters
        ----------
        X : array of shape (n, p)
        y : array of shape (n,) or (n, q)
            Labels or values.
        sample_weight : array of shape (n,), optional
            How much every row counts; times any number the same.

        Returns
        -------
        TwoGaussianLearner
        """
        self._validate_params()
        projection = get_projection(self.measure)
        refuse_symbols("TwoGaussianLearner", X)
        X, y = self._check_samples(X, y, sparse=False)
        X, y, w, _ = drop_zero_weights(X, y, sample_weight)
        target = make_target(y, self.target, task=self.task, sample_weight=w)
        low, high = bandwidth_range(X)
        profile = BandwidthProfile(X, target, None, projection, self._engine())
        rows: list[dict[str, float]] = []

        def after(point: Point) -> None:
            rows.append({"sigma": point.sigma, "value": point.value, "u": self._share(point.u)})
            tell_row("TwoGaussianLearner", self.verbose, len(rows), rows[-1])
            if self.callback is not None and self.callback(rows[-1]):
                raise Stopped

        searches: list[BandwidthSearch] = []

        def search(profile: BandwidthProfile) -> BandwidthSearch:
            options: dict[str, Any] = {"n_grid": self.n_grid, "max_iter": self.max_iter}
            found = search_bandwidth(profile, low, high, tol=self.tol, after=after, **options)
            searches.append(found)
            return searches[-1]

        sigma1 = np.nan if self.sigma1 is None else float(self.sigma1)
        found: BandwidthSearch | Point
        try:
            if self.sigma1 is None:
                # A limit is no Gaussian: the end of the grid stands for it.
                sigma1 = float(np.clip(search(profile).sigma, low, high))
            profile = replace(profile, first=Gaussian(sigma1))
            if self.sigma2 is None:
                found = search(profile)
                grid = found.grid
            else:
                found = profile(float(self.sigma2))
                after(found)
                grid = [profile(s) for s in np.geomspace(low, high, self.n_grid)]
        except KeyboardInterrupt as interrupt:
            if not rows:
                raise
            best = max(rows, key=lambda row: row["value"])["sigma"]
            sigma1 = best if np.isnan(sigma1) else sigma1
            profile = replace(profile, first=Gaussian(sigma1))
            found = profile(best)
            grid = [found]
            if not isinstance(interrupt, Stopped):
                self._warn("interrupted; the best mixture so far is kept. Fit again for more.")
        if not all(each.converged for each in searches):
            self._warn(f"not every maximum was refined. Raise max_iter above {self.max_iter}.")
        self.sigma1_, self.sigma2_, self.value_ = sigma1, found.sigma, found.value
        self.u_ = self._share(found.u)
        self.kernel_ = self._mixture(found.u, narrow=0.1 * low)
        self.surface_ = self._surface(grid, profile.norm)
        self.history_ = {
            name: np.array([row[name] for row in rows]) for name in ("sigma", "value", "u")
        }
        self.n_iter_ = sum(each.n_iter for each in searches)
        return self

    # ---- how ----------------------------------------------------------------------------------

    def _warn(self, message: str) -> None:
        warnings.warn(f"TwoGaussianLearner: {message}", ConvergenceWarning, stacklevel=3)

    def _share(self, u: float) -> float:
        return u if self.mixing == "linear" else float(u / np.hypot(u, 1.0 - u))

    def _mixture(self, u: float, narrow: float) -> Kernel:
        """Return the mixture; a Gaussian of width `narrow` stands for the identity."""
        first, sigma = Gaussian(self.sigma1_), self.sigma2_
        second: Kernel = Constant(1.0) if np.isinf(sigma) else Gaussian(sigma or narrow)
        rest = 1.0 - u if self.mixing == "linear" else float(np.sqrt(1.0 - self.u_**2))
        if self.u_ <= 0.0:
            return second
        return first if rest <= 0.0 else Sum(Scaled(first, self.u_), Scaled(second, rest))

    def _surface(self, grid: list[Point], norm: float) -> dict[str, Array]:
        share = np.linspace(0.0, 1.0, 51)
        rest = 1.0 - share if self.mixing == "linear" else np.sqrt(1.0 - share**2)
        W = np.stack([share, rest], axis=1)
        values = np.zeros((len(share), len(grid)))
        for j, point in enumerate(grid):
            squares = np.einsum("ij,jk,ik->i", W, point.products, W)
            # A kernel without a centred part (a constant) aligns with nothing.
            with np.errstate(divide="ignore", invalid="ignore"):
                values[:, j] = np.where(squares > 0, W @ point.inner / np.sqrt(squares) / norm, 0.0)
        return {"u": share, "sigma": np.array([point.sigma for point in grid]), "value": values}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags


def best_share(a: Array, G: Array) -> float:
    """Return the u in [0, 1] that maximises the alignment of u K1 + (1 - u) K2.

    With n1 = a1 G22 - a2 G12 and n2 = a2 G11 - a1 G12 the stationary point is n1 / (n1 + n2), a
    maximum if both are positive. Otherwise the alignment is monotone on [0, 1]: clipping the ratio
    instead would take a minimum for the maximum when n1 + n2 < 0.

    `a` holds the inner products of the kernels with the target, G those of the kernels.
    """
    noise = 1e-14 * max(abs(a[0] * G[1, 1]), abs(a[1] * G[0, 1]), abs(a[1] * G[0, 0]))
    n1, n2 = a[0] * G[1, 1] - a[1] * G[0, 1], a[1] * G[0, 0] - a[0] * G[0, 1]
    if max(n1, n2) <= noise:  # equal kernels, or none that aligns: take the better one
        size = np.sqrt(np.maximum(np.diagonal(G), 0.0))
        return 1.0 if a[0] * size[1] >= a[1] * size[0] else 0.0
    w1, w2 = max(n1, 0.0), max(n2, 0.0)
    return float(w1 / (w1 + w2))


class GaussianSlope(Radial):
    """s exp(-s), s = |x - z|² / 2 length_scale²; not positive definite.

    With t = log length_scale, the Gaussian K = exp(-s) has dK/dt = 2 s exp(-s).
    """

    def __init__(self, length_scale: Any = 1.0) -> None:
        self.length_scale = length_scale

    @property
    def scale(self) -> Any:
        return np.sqrt(2.0) * np.asarray(self.length_scale)

    @property
    def positive_definite(self) -> bool:
        return False

    def value(self, s: Array) -> Array:
        return np.asarray(s * np.exp(-s))

    def slope(self, s: Array) -> Array:
        return np.asarray((1.0 - s) * np.exp(-s))


@dataclass(frozen=True)
class Point:
    """The best mixture at one bandwidth."""

    sigma: float
    value: float  # the alignment
    u: float  # the share of the first kernel
    slope: float  # derivative by log sigma of the alignment of the best mixture
    products: Array  # of the two kernels, shape (2, 2)
    inner: Array  # products of the kernels with the target, shape (2,)


@dataclass(frozen=True)
class BandwidthProfile:
    """F*(sigma) = max_u alignment(u K1 + (1 - u) K(sigma), T); without K1, u = 0."""

    X: Array
    target: Target
    first: Kernel | None = None  # K1
    projection: str = "plain"  # or "centred", "debiased"
    engine: Engine | None = None

    @property
    def norm(self) -> float:
        """Of the target."""
        return target_norm(self.target, self.projection)

    def _sums(self, kernels: list[Kernel]) -> tuple[Array, Array]:
        gram = Gram(kernels, self.X, engine=self.engine, dtype=np.float64)
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
        """Return the best mixture at one bandwidth, with its derivative.

        The derivative of a maximum over u is that at the best u.
        """
        family: list[Kernel] = [Gaussian(sigma), GaussianSlope(sigma)]
        a, G = self._sums(family if self.first is None else [self.first, *family])
        if self.first is None:  # a first kernel that is zero
            a, G = np.r_[0.0, a], np.pad(G, ((1, 0), (1, 0)))
            u = 0.0
        else:
            u = best_share(a[:2], G[:2, :2])
        w = np.array([u, 1.0 - u, 0.0])
        by_t = np.array([0.0, 0.0, 2.0 * (1.0 - u)])
        inner, square = float(a @ w), float(w @ G @ w)
        value, slope = self._align(inner, square), 0.0
        if value != 0.0 and square > 0:
            # of a'w / √(w'Gw)
            slope = float(a @ by_t - inner * (w @ G @ by_t) / square) / np.sqrt(square) / self.norm
        return Point(sigma, value, u, float(slope), G[:2, :2], a[:2])


@dataclass(frozen=True)
class BandwidthSearch:
    """The outcome of a search."""

    sigma: float  # the best bandwidth; 0 or infinity where a limit is best
    value: float  # the alignment there
    u: float  # the share of the first kernel there
    grid: list[Point]
    maxima: list[Point]  # all local maxima that were found
    n_iter: int  # bandwidths visited to refine them
    converged: bool


def search_bandwidth(
    profile: BandwidthProfile,
    low: float,
    high: float,
    *,
    n_grid: int = 64,
    tol: float = 1e-10,
    max_iter: int = 100,
    after: Callable[[Point], None] | None = None,
) -> BandwidthSearch:
    """Maximise a profile over sigma in [low, high] and the limits 0 and infinity.

    The sign of the derivative is read on a log-spaced grid; every bracket of a maximum is closed in
    `max_iter` steps, or when log sigma is known to `tol`. `after` is called with every point.
    """
    seen: dict[float, Point] = {}

    def visit(log_sigma: float) -> Point:
        if log_sigma not in seen:
            seen[log_sigma] = profile(float(np.exp(log_sigma)))
            if after is not None:
                after(seen[log_sigma])
        return seen[log_sigma]

    ticks = np.linspace(np.log(low), np.log(high), n_grid).tolist()
    grid = [visit(t) for t in ticks]
    maxima: list[Point] = []
    converged = True
    for a, b in pairwise(ticks):
        # The profile with u eliminated can have a kink, where the slope jumps from + to - as well:
        # the bracket closes in on that too.
        if visit(a).slope > 0 >= visit(b).slope:
            found = root_scalar(
                lambda t: visit(float(t)).slope,
                bracket=(a, b),
                method="brentq",
                xtol=max(tol, 1e-15),
                maxiter=max_iter,
            )
            maxima.append(visit(float(found.root)))
            converged = converged and bool(found.converged)
    best = max([*maxima, *grid], key=lambda point: point.value)
    sigma, value, u = best.sigma, best.value, best.u
    for limit, (limit_value, limit_u) in profile.limits(10.0 * low).items():
        if limit_value > value + 1e-12:
            sigma, value, u = limit, limit_value, limit_u
    steps = len(seen) - len(grid)
    return BandwidthSearch(sigma, value, u, grid, maxima, steps, converged)


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
