"""TwoGaussianLearner: two bandwidths and their shares, by alignment or any other objective.

The best share has a closed form (`best_share`). With it, the alignment of u K1 + (1 - u) K(σ) is a
function of σ alone, which can have many local maxima: Tan et al. say two; six are common. All are
bracketed on a grid, refined and compared (`search_bandwidth`). Of a pair that is free, one sweep
tells the alignment of every two bandwidths of a grid, from which the best maxima are refined
(`search_pair`). Other objectives have no closed form: they are climbed over bandwidths and share
together, from the best pairs of a coarser grid (`climb_mixture`).
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.neighbors import NearestNeighbors
from sklearn.utils._param_validation import Interval, StrOptions

from gramsmith.gram import Engine, Gram
from gramsmith.kernels import Constant, Gaussian, Kernel, Scaled, Sum, default_kernel
from gramsmith.kernels.radial import Radial
from gramsmith.kernels.symbolic import refuse_symbols
from gramsmith.learning.ascent import Ascent, maximise
from gramsmith.learning.learner import FEW_ITERATIONS, Learner, Path, Samples
from gramsmith.learning.monitor import Callback, Monitor, Stopped, asks_to_stop, tell_row
from gramsmith.learning.objective import (
    KernelObjective,
    get_objective,
    get_projection,
    make_objective,
    sign_of,
)
from gramsmith.measures import Undefined
from gramsmith.measures.alignment import kernel_products, target_norm, target_products
from gramsmith.solvers import Outcome
from gramsmith.targets import Target

Array = npt.NDArray[Any]

PEAKS = 4  # of a table of pairs, that are climbed
COARSE = 16  # bandwidths that are tried where every pair needs a sweep or a solve
TOGETHER = 8  # bandwidths in one sweep beside a given one: all products of more cost more ...
SMALL = 200  # ... than as many sweeps, from so many samples on
FOLD_TOLERANCE = 1e-6  # of a maximum in a fold, where only quarters of it are judged
EDGE = 1e-6  # from a share of 0 or 1, where a climb sees a mixture
TOLERANCE = 1e-6  # of a climb of an objective without a closed form
# how far log σ1, log σ2 and the share move before a climb takes its bearings again
REACH = np.array([2.0, 2.0, 0.5])
AROUND = [(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j]


@dataclass(frozen=True)
class Pair:
    """A mixture u K(sigma1) + (1 - u) K(sigma2), and how it was found."""

    sigma1: float
    sigma2: float  # 0 or infinity where a limit is best
    value: float
    u: float
    n_iter: int = 0  # mixtures visited to refine maxima
    converged: bool = True

    def typical(self, u: float) -> float:
        """Return the mean bandwidth on the log scale, for a share u of the first."""
        if u >= 1.0 or not (0.0 < self.sigma2 < np.inf):
            return self.sigma1
        return float(np.exp(u * np.log(self.sigma1) + (1.0 - u) * np.log(self.sigma2)))

    def swapped(self) -> Pair:
        """Return the same mixture with the second Gaussian first."""
        return replace(self, sigma1=self.sigma2, sigma2=self.sigma1, u=1.0 - self.u)


@dataclass(frozen=True, kw_only=True)
class MixturePath(Path):
    """From the first Gaussian alone to the mixture."""

    pair: Pair
    mixing: str
    narrow: float  # bandwidth that stands for the identity
    typical: float  # bandwidth for the spread of the data

    def at(self, amount: float, width: float | None = None) -> tuple[float, float, float]:
        """Return the share of the first and both bandwidths, at an amount of learning."""
        share, unit = 1.0 - amount * (1.0 - self.pair.u), 1.0
        if self.has_width and width is not None:
            unit = self.pair.typical(share) / self.typical * width
        return share, self.pair.sigma1 / unit, self.pair.sigma2 / unit

    def kernel(self, amount: float, width: float | None = None) -> Kernel:
        """Return the mixture at an amount of learning."""
        u, sigma1, sigma2 = self.at(amount, width)
        narrow = self.narrow * sigma1 / self.pair.sigma1
        second: Kernel = Constant(1.0) if np.isinf(sigma2) else Gaussian(sigma2 or narrow)
        share, rest = weights(u, self.mixing)
        if share <= 0.0:
            return second
        if rest <= 0.0:
            return Gaussian(sigma1)
        return Sum(Scaled(Gaussian(sigma1), share), Scaled(second, rest))


def weights(u: float, mixing: str) -> tuple[float, float]:
    """Return the weights of two kernels for a share u of the first, in a line or on the circle."""
    size = 1.0 if mixing == "linear" else float(np.hypot(u, 1.0 - u))
    return u / size, (1.0 - u) / size


class Visits:
    """The mixtures that a search has seen, the best of them, and who is told."""

    def __init__(
        self, sign: float = 1.0, tell: Callable[[int, dict[str, float]], Any] = lambda k, row: None
    ) -> None:
        self.sign, self.tell = sign, tell
        self.rows: list[dict[str, float]] = []
        self.best: Pair | None = None
        self.interrupt: KeyboardInterrupt | None = None

    def __call__(self, pair: Pair, alone: bool = False) -> None:
        """Record a mixture, or the first of its Gaussians alone."""
        first, second, u = pair.sigma1, pair.sigma2, pair.u
        if alone:
            first, second, u = np.nan, pair.sigma1, 0.0
        self.rows.append({"sigma1": first, "sigma": second, "value": pair.value, "u": u})
        score = self.sign * pair.value
        if np.isfinite(score) and (self.best is None or score > self.sign * self.best.value):
            self.best = pair
        try:
            self.tell(len(self.rows), self.rows[-1])
        except KeyboardInterrupt as interrupt:
            self.interrupt = interrupt
            raise

    def maximise(self, problem: Any, theta: Array, limits: Array, **options: Any) -> Ascent:
        """Climb, but let an interrupt pass: what was seen so far is here."""
        ascent = maximise(problem, theta, Monitor("TwoGaussianLearner"), limits=limits, **options)
        if ascent.status == "interrupted":
            raise self.interrupt or KeyboardInterrupt
        return ascent


class TwoGaussianLearner(Learner):
    r"""Learn the mixture of two Gaussians that aligns best with the target.

    .. math:: k = u\,k_{\sigma_1} + (1 - u)\,k_{\sigma_2} \quad\text{or}\quad
              u\,k_{\sigma_1} + \sqrt{1 - u^2}\,k_{\sigma_2}

    The share u has a closed form for any two bandwidths; eliminating it leaves a function of the
    pair, or of one where the other is given, whose local maxima are found on a grid, refined on the
    log scale, and compared with the limits sigma2 -> 0 (identity) and sigma2 -> infinity
    (constant). The paper takes the best single bandwidth first, which can end lower.

    What aligns best need not serve a machine best. The share of the second Gaussian is therefore
    reduced towards none, by an amount chosen on rows that did not teach (`keep`), and where
    both bandwidths are free they are multiplied by what makes the leave-one-out error of a ridge
    regression smallest.

    Parameters
    ----------
    sigma1 : float, optional
        First bandwidth; default learned.
    sigma2 : float, optional
        Second bandwidth; default learned.
    mixing : {"linear", "circle"}, default="linear"
        The weight of the second kernel: 1 - u, or the square root of 1 - u². The mixtures are
        multiples of each other, so that they align alike.
    measure : str, Measure or objective, default="kta"
        What the mixture makes best: for "kta", "cka" and "cka_debiased" as above; any other
        measure ("fsm_loo", ...), objective ("ridge_loo", ...) or object of your own (see
        `gramsmith.learning.Objective`) is climbed over the bandwidths and the share, from the best
        pairs of a grid of 16, on at most 1000 rows where it needs a solve and the amount is
        cross-fitted.
    keep : float or "cross_fit", default="cross_fit"
        How much of the second Gaussian is kept: 0 is one Gaussian, 1 the mixture of largest
        alignment with its own bandwidths. "cross_fit" tries 0, 1/4, 1/2, 3/4 and 1 over four folds,
        learning from the other rows, and takes the smallest amount within one standard error of the
        best.
    cv : int, splitter or iterable, optional
        The folds; default four, in which classes have their share and groups stay together.
    n_grid : int, default=64
        Bandwidths on which maxima are bracketed.
    target, task : str, default="auto"
        What similarity should look like; whole numbers are classes unless `task` says otherwise.
        See `gramsmith.targets.make_target`.
    tol : float, default=1e-14
        Stop refining a maximum when a step improves it by less than this.
    max_iter : int, default=100
        Most steps to refine a maximum.
    memory, n_jobs, engine : optional
        Budget in MiB and threads, or engine, of the tiles, see `Gram`.
    random_state : int, RandomState or None, default=None
        Seeds the folds.
    callback : callable, optional
        Called with a dict of "sigma1", "sigma", "value", "u" at every bandwidth; a true result
        stops the search, and the best mixture so far is kept.
    verbose : int, default=0
        Print a line per bandwidth.

    Attributes
    ----------
    u_ : float
        Share of the first Gaussian in the kernel, for the chosen mixing. Where both bandwidths are
        searched together the first is that of the larger share.
    sigma1_, sigma2_ : float
        Bandwidths in the kernel. sigma2_ is 0 or infinity where the identity or a constant kernel
        is best.
    value_ : float
        The best alignment, or whatever `measure` is, that at keep=1.
    kernel_ : Kernel
        The mixture.
    keep_ : float
        How much of the second Gaussian is in the kernel.
    keep_curve_ : dict of arrays
        With keep="cross_fit": "amount", "loss" (squared error on rows that did not teach) and
        "error" (standard error of the difference to the best).
    surface_ : dict
        For alignments, whose mixtures all come from one sweep: "u" of shape (a,), "sigma" of shape
        (b,), "value" of shape (a, b), the alignment of every mixture on the grid, beside the first
        bandwidth of the search.
    history_ : dict of arrays
        "sigma1" (NaN for one Gaussian alone), "sigma", "value", "u" of every bandwidth visited.
    n_iter_ : int
        Bandwidths visited to refine the maxima.
    n_features_in_ : int
        The number of features.

    References
    ----------
    Z. Tan et al., "A method of learning the kernel using the alignment"; the sign of the
    share and the number of maxima are corrected here.

    Examples
    --------
    >>> import numpy as np
    >>> import gramsmith as gs
    >>> X = np.array([0.0, 1.0, 10.0, 11.0, 100.0, 101.0, 110.0, 111.0])[:, None]
    >>> y = [1, 1, 1, -1, -1, -1, -1, -1]
    >>> learner = gs.TwoGaussianLearner(keep=1.0).fit(X, y)
    >>> round(learner.sigma1_, 3), round(learner.value_, 4)  # the best of several local maxima
    (14.957, 0.4692)
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
        "u_": "number",
        "sigma1_": "number",
        "sigma2_": "number",
        "surface_": "value?",
        "history_": "value",
    }

    def __init__(
        self,
        sigma1: float | None = None,
        sigma2: float | None = None,
        mixing: str = "linear",
        measure: Any = "kta",
        *,
        keep: float | str = "cross_fit",
        cv: Any = None,
        n_grid: int = 64,
        target: str = "auto",
        task: str = "auto",
        tol: float = 1e-14,
        max_iter: int = 100,
        memory: float | None = None,
        n_jobs: int | None = None,
        engine: Any = None,
        random_state: Any = None,
        callback: Callback | None = None,
        verbose: int = 0,
    ) -> None:
        self.sigma1 = sigma1
        self.sigma2 = sigma2
        self.mixing = mixing
        self.measure = measure
        self.keep = keep
        self.cv = cv
        self.n_grid = n_grid
        self.target = target
        self.task = task
        self.tol = tol
        self.max_iter = max_iter
        self.memory = memory
        self.n_jobs = n_jobs
        self.engine = engine
        self.random_state = random_state
        self.callback = callback
        self.verbose = verbose

    def search(self, X: Any, target: Target, rng: Any) -> MixturePath:
        """Return the path from one Gaussian to the best mixture."""
        low, high = bandwidth_range(X)
        visits = Visits(sign_of(get_objective(self.measure)), self._tell)
        outcome = Outcome(status="converged")
        try:
            pair = self._find(X, target, low, high, visits)
            if not pair.converged:
                advice = f"Not every maximum was refined. Raise max_iter above {self.max_iter}."
                outcome = replace(outcome, status="max_iter", advice=advice)
        except KeyboardInterrupt as interrupt:
            if visits.best is None:
                raise
            pair = visits.best
            status = "stopped" if isinstance(interrupt, Stopped) else "interrupted"
            advice = "The best mixture so far is kept; fit again for more."
            outcome = Outcome(status=status, advice=advice)
        names = visits.rows[0] if visits.rows else {}
        return MixturePath(
            value=pair.value,
            outcome=replace(outcome, n_iter=pair.n_iter),
            history={name: np.array([row[name] for row in visits.rows]) for name in names},
            has_width=self.sigma1 is None and self.sigma2 is None,
            pair=pair,
            mixing=self.mixing,
            narrow=0.1 * low,
            typical=float(default_kernel(None, X, target.w).length_scale),
        )

    def _find(self, X: Array, target: Target, low: float, high: float, visits: Visits) -> Pair:
        """Return the best mixture, with the bandwidths that were given."""
        projection, sigma1, sigma2 = get_projection(self.measure), self.sigma1, self.sigma2
        most = int(self.max_iter or 0)
        if projection is None:
            few = self._crossing and self._solves
            options: dict[str, Any] = {"engine": self._engine(), "dtype": np.float64}
            objective = make_objective(get_objective(self.measure), X, target, **options)
            most = min(FEW_ITERATIONS, most) if few else most
            grid = np.geomspace(low, high, min(self.n_grid, COARSE))
            pair = climb_mixture(objective, (sigma1, sigma2), grid, most, visits)
            return replace(pair, converged=True) if few else pair
        profile = Profile(X, target, projection, self._engine())
        options = {"n_grid": self.n_grid, "max_iter": most, "tol": self.tol}
        if sigma1 is None and sigma2 is None:
            return search_pair(profile, low, high, visits, peaks=self._peaks, **options)
        if sigma1 is not None and sigma2 is not None:
            pair = profile.beside(Gaussian(float(sigma1)), [float(sigma2)])[0].pair
            visits(pair)
            return pair
        given = float(sigma1 if sigma1 is not None else sigma2)  # type: ignore[arg-type]
        best = search_bandwidth(profile, Gaussian(given), low, high, visits, **options)[0]
        if sigma1 is not None:
            return best
        # A limit is no first Gaussian: the end of the grid stands for it.
        first = float(np.clip(best.sigma2, low, high))
        pair = profile.beside(Gaussian(given), [first])[0].pair
        return replace(pair, n_iter=best.n_iter, converged=best.converged).swapped()

    _peaks: int = PEAKS

    def _in_folds(self) -> TwoGaussianLearner:
        quiet = copy(self)
        quiet.callback, quiet.verbose, quiet._peaks = None, 0, 1
        quiet.tol = max(float(self.tol), FOLD_TOLERANCE)
        return quiet

    def _tell(self, count: int, row: dict[str, float]) -> None:
        row["u"] = weights(row["u"], self.mixing)[0]
        tell_row("TwoGaussianLearner", self.verbose, count, row)
        if asks_to_stop(self.callback, row):
            raise Stopped

    def _check_samples(self, X: Any, y: Any, sample_weight: Any = None) -> tuple[Any, Any]:
        refuse_symbols("TwoGaussianLearner", X)
        return super()._check_samples(X, y)

    def _set_fitted(
        self, path: Any, width: float | None, samples: Samples, fold_paths: list[Any]
    ) -> None:
        self.kernel_ = path.kernel(self.keep_, width)
        u, self.sigma1_, self.sigma2_ = path.at(self.keep_, width)
        self.u_ = weights(u, self.mixing)[0]
        self.__dict__.pop("surface_", None)  # of an earlier fit
        projection = get_projection(self.measure)
        if projection is not None:
            profile = Profile(samples.X, samples.target, projection, self._engine())
            grid = np.geomspace(*bandwidth_range(samples.X), self.n_grid)
            if path.outcome.status in ("interrupted", "stopped"):
                grid = np.array([np.clip(path.pair.sigma2, grid[0], grid[-1])])
            self.surface_ = profile.surface(path.pair.sigma1, grid, self.mixing)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags


# ---- alignments of mixtures ------------------------------------------------------------------


def best_share(a: Array, G: Array) -> Any:
    """Return the u in [0, 1] that maximises the alignment of u K1 + (1 - u) K2.

    With n1 = a1 G22 - a2 G12 and n2 = a2 G11 - a1 G12 the stationary point is n1 / (n1 + n2), a
    maximum if both are positive. Otherwise the alignment is monotone on [0, 1]: clipping the ratio
    instead would take a minimum for the maximum when n1 + n2 < 0.

    `a`, shape (..., 2), holds the inner products of the kernels with the target, G, shape
    (..., 2, 2), those of the kernels.
    """
    (a1, a2), (g11, g12, g22) = np.moveaxis(a, -1, 0), (G[..., 0, 0], G[..., 0, 1], G[..., 1, 1])
    n1, n2 = a1 * g22 - a2 * g12, a2 * g11 - a1 * g12
    noise = 1e-14 * np.max(np.abs([a1 * g22, a2 * g12, a2 * g11]), axis=0)
    # equal kernels, or none that aligns: the better one alone
    better = a1 * np.sqrt(np.maximum(g22, 0.0)) >= a2 * np.sqrt(np.maximum(g11, 0.0))
    w1, total = np.maximum(n1, 0.0), np.maximum(n1, 0.0) + np.maximum(n2, 0.0)
    inner = np.maximum(n1, n2) > noise
    return np.where(inner, w1 / np.where(inner, total, 1.0), better)


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

    pair: Pair
    slope: float  # derivative by log sigma2 of the alignment of the best mixture
    inner: Array  # products of both kernels with the target
    products: Array  # of both kernels


@dataclass(frozen=True)
class Profile:
    """The alignment of the best mixture of two kernels on samples; without a first one, u = 0."""

    X: Array
    target: Target
    projection: str = "plain"  # or "centred", "debiased"
    engine: Engine | None = None

    @cached_property
    def norm(self) -> float:
        """Of the target."""
        return float(target_norm(self.target, self.projection))

    def sums(self, kernels: list[Kernel]) -> tuple[Array, Array]:
        """Return the products of kernels with the target, and with each other."""
        gram = Gram(kernels, self.X, engine=self.engine, dtype=np.float64)
        moments = gram.moments(self.target, cross=True)
        a = target_products(moments, self.target, self.projection)
        return np.asarray(a), np.asarray(kernel_products(moments, self.target, self.projection))

    def aligned(self, inner: Any, square: Any) -> Any:
        """Return alignments; a kernel without any centred part aligns with nothing."""
        positive = np.asarray(square) > 0
        return np.where(positive, inner / np.sqrt(np.where(positive, square, 1.0)) / self.norm, 0.0)

    def mixture(self, a: Array, G: Array, alone: bool = False) -> tuple[float, float, list[float]]:
        """Return the alignment of the best mixture, u, and the slopes by log bandwidths.

        After the two kernels come their `GaussianSlope`, of the second, or of both. The derivative
        of a maximum over u is that at the best u.
        """
        u = 0.0 if alone else float(best_share(a[:2], G[:2, :2]))
        w = np.array([u, 1.0 - u])
        inner, square = float(a[:2] @ w), float(w @ G[:2, :2] @ w)
        value = float(self.aligned(inner, square))
        slopes = np.zeros(len(a) - 2)
        if value != 0.0:
            by = a[2:] - inner * (w @ G[:2, 2:]) / square  # of a'w / √(w'Gw)
            slopes = 2.0 * w[2 - len(slopes) :] * by / (np.sqrt(square) * self.norm)
        return value, u, slopes.tolist()

    def beside(self, first: Kernel | None, sigmas: Any, slopes: bool = True) -> list[Point]:
        """Return the best mixtures of a kernel with Gaussians, a few of these in one sweep."""
        points = []
        sigma1 = float(first.length_scale) if isinstance(first, Gaussian) else np.nan
        most = TOGETHER if len(self.X) > SMALL else len(sigmas)
        for some in np.array_split(sigmas, -(-len(sigmas) // most)):
            m, given = len(some), [] if first is None else [first]
            kinds = (Gaussian, GaussianSlope) if slopes else (Gaussian,)
            family = [kind(float(sigma)) for kind in kinds for sigma in some]
            a, G = self.sums([*given, *family])
            if first is None:  # one that is zero
                a, G = np.r_[0.0, a], np.pad(G, ((1, 0), (1, 0)))
            for k, sigma in enumerate(some, start=1):
                at = [0, k, k + m] if slopes else [0, k]
                value, u, slope = self.mixture(a[at], G[np.ix_(at, at)], first is None)
                pair = Pair(sigma1, float(sigma), value, u)
                products = G[np.ix_(at[:2], at[:2])]
                points.append(Point(pair, sum(slope), a[at[:2]], products))
        return points

    def surface(self, sigma1: float, sigmas: Array, mixing: str) -> dict[str, Array]:
        """Return the alignment of every mixture with a Gaussian of sigma1 on a grid."""
        share, points = np.linspace(0.0, 1.0, 51), self.beside(Gaussian(sigma1), sigmas, False)
        rest = 1.0 - share if mixing == "linear" else np.sqrt(1.0 - share**2)
        W = np.stack([share, rest], axis=1)
        squares = np.einsum("ij,pjk,ik->ip", W, [point.products for point in points], W)
        values = self.aligned(W @ np.transpose([point.inner for point in points]), squares)
        return {"u": share, "sigma": np.asarray(sigmas), "value": values}


def search_bandwidth(
    profile: Profile,
    first: Kernel | None,
    low: float,
    high: float,
    visits: Visits,
    *,
    n_grid: int = 64,
    tol: float = 1e-14,
    max_iter: int = 100,
) -> tuple[Pair, list[Pair]]:
    """Return the best bandwidth beside a first kernel, in [low, high] or a limit, and all maxima.

    The sign of the derivative is read on a log-spaced grid, and every bracket of a maximum climbed.
    """
    grid, steps, converged = profile.beside(first, np.geomspace(low, high, n_grid)), 0, True
    for point in grid:
        visits(point.pair)
    maxima: list[Pair] = []
    for a, b in pairwise(grid):
        if not a.slope > 0 >= b.slope:
            continue
        best = max(a.pair, b.pair, key=lambda pair: pair.value)

        def climb(theta: Array) -> tuple[float, float, Array]:
            nonlocal best, steps
            point = profile.beside(first, [float(np.exp(theta[0]))])[0]
            best, steps = max(best, point.pair, key=lambda pair: pair.value), steps + 1
            visits(point.pair)
            return point.pair.value, point.pair.value, np.array([point.slope])

        limits = np.log([[a.pair.sigma2, b.pair.sigma2]])
        reach = np.ptp(limits, axis=1)
        ascent = visits.maximise(
            climb,
            np.log([best.sigma2]),
            limits,
            step_limits=lambda theta, reach=reach: (reach, 0.25 * reach),
            max_iter=max_iter,
            tol=tol,
        )
        maxima.append(best)
        converged = converged and ascent.status != "max_iter"
    best = max([*maxima, *(point.pair for point in grid)], key=lambda pair: pair.value)
    # the identity, and a constant, which without a first kernel has no centred part
    limits_of: dict[float, Kernel] = {0.0: Gaussian(1e-2 * low), np.inf: Constant(1.0)}
    for sigma, kernel in limits_of.items():
        if sigma and first is None and profile.projection != "plain":
            continue
        a_, G_ = profile.sums([kernel] if first is None else [first, kernel])
        if first is None:
            a_, G_ = np.r_[0.0, a_], np.pad(G_, ((1, 0), (1, 0)))
        value, u, _ = profile.mixture(a_, G_, first is None)
        if value > best.value + 1e-12:
            best = Pair(best.sigma1, sigma, value, u)
    return replace(best, n_iter=steps, converged=converged), maxima


def search_pair(
    profile: Profile,
    low: float,
    high: float,
    visits: Visits,
    *,
    n_grid: int = 64,
    peaks: int = PEAKS,
    tol: float = 1e-14,
    max_iter: int = 100,
) -> Pair:
    """Return the best mixture over two bandwidths and the limits of one.

    One sweep gives the products of all Gaussians of a log-spaced grid, the identity and a constant,
    hence the best mixture of every two. The `peaks` highest local maxima among these are climbed.
    """
    sigmas = np.r_[1e-2 * low, np.geomspace(low, high, n_grid), np.inf]
    m = len(sigmas)
    a, G = profile.sums([_gaussian(sigma) for sigma in sigmas])
    i, j = np.indices((m, m))
    inner, d = np.stack([a[i], a[j]], axis=-1), G.diagonal()
    u = best_share(inner, np.moveaxis(np.array([[d[i], G], [G, d[j]]]), (0, 1), (2, 3)))
    square = u**2 * d[i] + 2.0 * u * (1.0 - u) * G + (1.0 - u) ** 2 * d[j]
    table = np.full((m + 2, m + 2), -np.inf)  # with a border
    table[1:-1, 1:-1] = profile.aligned(u * inner[..., 0] + (1.0 - u) * inner[..., 1], square)
    for sigma, value in zip(sigmas[1:-1], table.diagonal()[2:-2], strict=True):
        visits(Pair(float(sigma), float(sigma), float(value), 1.0), alone=True)
    around = np.max([np.roll(table, shift, (0, 1)) for shift in AROUND], axis=0)
    pairs = np.argwhere((table >= around) & np.isfinite(table)) - 1
    pairs = pairs[(pairs[:, 0] < pairs[:, 1]) & (np.ptp(pairs, axis=1) < m - 1)]
    if not len(pairs):  # one Gaussian is as good as any two
        best = 1 + int(np.argmax(table.diagonal()[2:-2]))
        pairs = np.array([[best, min(best + 1, m - 2)]])
    order = np.argsort(-table[pairs[:, 0] + 1, pairs[:, 1] + 1], kind="stable")
    found = [
        _climb_pair(profile, sigmas[pair], (low, high), visits, tol, max_iter)
        for pair in pairs[order[:peaks]]
    ]
    steps, converged = sum(pair.n_iter for pair in found), all(pair.converged for pair in found)
    return replace(max(found, key=lambda pair: pair.value), n_iter=steps, converged=converged)


def _gaussian(sigma: float) -> Kernel:
    return Gaussian(float(sigma)) if np.isfinite(sigma) else Constant(1.0)


def _climb_pair(
    profile: Profile,
    start: Array,
    limits: tuple[float, float],
    visits: Visits,
    tol: float,
    max_iter: int,
) -> Pair:
    """Climb over the bandwidths of a pair that lie within the limits; the others stay as they are.

    What comes back has the larger share first, and a limit last.
    """
    inside = limits[0] * (1 - 1e-9), limits[1] * (1 + 1e-9)
    moving = (start >= inside[0]) & (start <= inside[1])
    best, steps = Pair(float(start[0]), float(start[1]), -np.inf, 0.0), 0

    def climb(theta: Array) -> tuple[float, float, Array]:
        nonlocal best, steps
        sigma = start.copy()
        sigma[moving] = np.exp(theta)
        slopes: list[Kernel] = [GaussianSlope(float(s)) for s in sigma[moving]]
        a, G = profile.sums([*map(_gaussian, sigma), *slopes])
        if not moving[1]:  # slopes are those of the last kernels
            a, G = a[[1, 0, 2]], G[np.ix_([1, 0, 2], [1, 0, 2])]
        value, u, by = profile.mixture(a, G)
        u = u if moving[1] else 1.0 - u
        narrow = np.where(sigma < inside[0], 0.0, sigma)
        pair = Pair(float(narrow[0]), float(narrow[1]), value, u)
        best, steps = max(best, pair, key=lambda one: one.value), steps + 1
        visits(pair)
        return value, value, np.array(by)

    theta = np.log(start[moving])
    ascent = visits.maximise(
        climb,
        theta,
        np.tile(np.log(limits), (len(theta), 1)),
        step_limits=lambda theta: (REACH[: len(theta)], 0.25 * REACH[: len(theta)]),
        max_iter=max_iter,
        tol=tol,
    )
    first, second = ((s > 0) and np.isfinite(s) for s in (best.sigma1, best.sigma2))
    if not first or (second and best.u < 0.5):
        best = best.swapped()
    return replace(best, n_iter=steps, converged=ascent.status != "max_iter")


def climb_mixture(
    objective: KernelObjective,
    given: tuple[float | None, float | None],
    grid: Array,
    max_iter: int,
    visits: Visits,
) -> Pair:
    """Climb any objective of u K(σ1) + (1 - u) K(σ2) over the share and the bandwidths not given.

    Single Gaussians of a log-spaced grid are compared first, then the best one mixed with each of
    the others in equal shares; the two best mixtures are climbed. One Gaussian alone stays where no
    mixture is better.
    """
    free, sign = np.array([sigma is None for sigma in given]), objective.sign
    kernel = Sum(Scaled(Gaussian(1.0), 0.5), Scaled(Gaussian(1.0), 0.5))

    def single(sigma: float) -> float:
        value = objective.value(Gaussian(float(sigma)))
        first, second = (float(sigma) if known is None else float(known) for known in given)
        visits(Pair(first, second, value, float(first == sigma)), alone=bool(first == sigma))
        return sign * value if np.isfinite(value) else -np.inf

    def mixture(sigma: Array, u: float) -> tuple[float, float, Array]:
        """Return score, value and slopes by the logarithms of both bandwidths and by u."""
        kernel.set_params(
            k1__scale=u,
            k2__scale=1.0 - u,
            k1__kernel__length_scale=float(sigma[0]),
            k2__kernel__length_scale=float(sigma[1]),
        )
        value, slopes = objective.value_and_gradient(kernel)
        visits(Pair(float(sigma[0]), float(sigma[1]), value, u))
        names = ("k1__kernel__length_scale", "k2__kernel__length_scale", "k1__scale", "k2__scale")
        a, b, c, d = (float(slopes.get(name, 0.0)) for name in names)
        by = sign * np.array([a * sigma[0], b * sigma[1], c - d])
        if not (np.isfinite(value) and np.isfinite(by).all()):
            return -np.inf, value, np.zeros(3)
        return sign * value, value, by

    if free.all():
        first = grid[int(np.argmax([single(sigma) for sigma in grid]))]
        pairs = [np.array([first, sigma]) for sigma in grid if sigma != first]
    else:
        for sigma in given:
            if sigma is not None:
                single(sigma)
        some = grid if free.any() else grid[:1]
        pairs = [np.where(free, s, [sigma or s for sigma in given]) for s in some]
    scores = np.array([mixture(pair, 0.5)[0] for pair in pairs])
    seen, converged, moving = len(visits.rows), True, np.append(free, True)
    bandwidths = np.log(grid[[0, -1]])
    box = np.array([bandwidths, bandwidths, [EDGE, 1.0 - EDGE]])[moving]
    for k in np.argsort(scores, kind="stable")[::-1][:2]:
        if not np.isfinite(scores[k]):
            continue

        def climb(theta: Array, pair: Array = pairs[k]) -> tuple[float, float, Array]:
            sigma = pair.copy()
            sigma[free] = np.exp(theta[:-1])
            score, value, slopes = mixture(sigma, float(theta[-1]))
            return score, value, slopes[moving]

        ascent = visits.maximise(
            climb,
            np.append(np.log(pairs[k][free]), 0.5),
            box,
            step_limits=lambda theta: (REACH[moving], 0.5 * REACH[moving]),
            max_iter=max_iter,
            tol=TOLERANCE,
            unit=objective.unit,
        )
        converged = converged and ascent.converged
    best = visits.best
    if best is None:
        raise Undefined(
            f"Expected a mixture where {objective.name!r} is finite, got none. Standardise the "
            "features, or use another measure."
        )
    best = replace(best, n_iter=len(visits.rows) - seen, converged=converged)
    if free.all() and best.u < 0.5:
        best = best.swapped()
    if min(best.u, 1.0 - best.u) <= EDGE:
        best = replace(best, u=float(np.round(best.u)))
    return best


def bandwidth_range(X: Array) -> tuple[float, float]:
    """Return 0.1 times the smallest non-zero and 10 times a bound on the largest distance.

    The nearest neighbours of distinct rows and the radius around the mean, so no n x n matrix.
    """
    X = np.asarray(X, dtype=np.float64)
    rows = np.unique(X, axis=0)
    if len(rows) < 2:
        raise Undefined("Expected at least two different samples, got one. Add samples.")
    near = NearestNeighbors(n_neighbors=2).fit(rows).kneighbors(rows)[0][:, 1]
    far = 2.0 * float(np.sqrt(((rows - rows.mean(axis=0)) ** 2).sum(axis=1).max()))
    smallest = float(near[near > 1e-12 * far].min(initial=far))
    return 0.1 * smallest, 10.0 * far
