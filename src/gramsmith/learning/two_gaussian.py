"""TwoGaussianLearner: two bandwidths and their shares, by alignment or any other objective.

The best share has a closed form (`best_share`). With it, the alignment of u K1 + (1 - u) K(σ) is a
function of σ alone (`BandwidthProfile`), which can have many local maxima: Tan et al. say
two; six are common. All are bracketed on a grid, refined and compared (`search_bandwidth`). Of a
pair that is free, one sweep tells the alignment of every two bandwidths of a grid, from which the
best maxima are refined (`search_pair`). Other objectives have no closed form: they are climbed over
bandwidths and share together, from the best pairs of a coarser grid (`climb_mixture`).
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
from scipy.optimize import minimize, root_scalar
from sklearn.exceptions import ConvergenceWarning
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from gramsmith.arguments import check_params
from gramsmith.gram import Engine, Gram
from gramsmith.kernels import Constant, Gaussian, Kernel, Scaled, Sum, default_kernel
from gramsmith.kernels.radial import Radial
from gramsmith.kernels.symbolic import refuse_symbols
from gramsmith.learning.ascent import maximise
from gramsmith.learning.cross_fit import (
    CAUTIOUS,
    FEW_ITERATIONS,
    ROWS,
    WIDTH,
    CrossFitted,
    Matrix,
    choose_width,
    subsample,
)
from gramsmith.learning.monitor import Callback, Monitor, Stopped, asks_to_stop, tell_row
from gramsmith.learning.objective import (
    KernelObjective,
    get_objective,
    get_projection,
    make_objective,
    responses,
    sign_of,
)
from gramsmith.learning.samples import drop_zero_weights
from gramsmith.measures import Measure
from gramsmith.measures.alignment import kernel_products, target_norm, target_products
from gramsmith.targets import Target, make_target

Array = npt.NDArray[Any]

PEAKS = 4  # of a table of pairs, that are climbed
COARSE = 16  # bandwidths that are tried where every pair needs a sweep or a solve
EDGE = 1e-6  # from a share of 0 or 1, where a climb sees a mixture
TOLERANCE = 1e-6  # of a climb
AROUND = [(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j]


class TwoGaussianLearner(CrossFitted):
    r"""Learn the mixture of two Gaussians that aligns best with the target.

    .. math:: k = u\,k_{\sigma_1} + (1 - u)\,k_{\sigma_2} \quad\text{or}\quad
              u\,k_{\sigma_1} + \sqrt{1 - u^2}\,k_{\sigma_2}

    The share u has a closed form for any two bandwidths; eliminating it leaves a function of the
    pair, or of one where the other is given, whose local maxima are found on a grid, refined on the
    log scale, and compared with the limits sigma2 -> 0 (identity) and sigma2 -> infinity
    (constant).

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
    search : {"joint", "sequential"}, default="joint"
        Whether two free bandwidths are searched together, or the best single one first and the
        second one beside it, as in the paper, which can end lower. For alignments; others are
        searched together.
    keep : float or "cross_fit", default="cross_fit"
        How much of the second Gaussian is kept: 0 is one Gaussian, 1 the mixture of largest
        alignment with its own bandwidths. "cross_fit" tries 0, 1/4, 1/2, 3/4 and 1 over four folds,
        learning from the other rows, and takes the smallest amount within one standard error of the
        best.
    cv : int, splitter or iterable, optional
        The folds of keep="cross_fit"; default four, in which classes have their share and
        groups stay together.
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
        bandwidth of the search. `gramsmith.report.plot_surface` draws it.
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
    >>> learner = gs.TwoGaussianLearner(search="sequential", keep=1.0).fit(X, y)
    >>> round(learner.sigma1_, 4)  # the best of several local maxima
    10.0218
    >>> both = gs.TwoGaussianLearner(keep=1.0).fit(X, y)
    >>> bool(both.value_ > learner.value_)
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "sigma1": [Interval(Real, 0, None, closed="neither"), None],
        "sigma2": [Interval(Real, 0, None, closed="neither"), None],
        "mixing": [StrOptions({"linear", "circle"})],
        "search": [StrOptions({"joint", "sequential"})],
        "random_state": ["random_state"],
        "n_grid": [Interval(Integral, 4, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        **CrossFitted._parameter_constraints,
    }
    _stored: ClassVar[dict[str, str]] = {
        "kernel_": "kernel",
        "value_": "real",
        "u_": "number",
        "sigma1_": "number",
        "sigma2_": "number",
        "surface_": "value?",
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
        search: str = "joint",
        keep: float | str = "cross_fit",
        cv: Any = None,
        n_grid: int = 64,
        target: str = "auto",
        task: str = "auto",
        tol: float = 1e-10,
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
        self.search = search
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

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None
    ) -> TwoGaussianLearner:
        """Learn the mixture.

        Parameters
        ----------
        X : array of shape (n, p)
        y : array of shape (n,) or (n, q)
            Labels or values.
        sample_weight : array of shape (n,), optional
            How much every row counts; times any number the same.
        groups : array of shape (n,), optional
            Rows of one group are never on both sides of a fold.

        Returns
        -------
        TwoGaussianLearner
        """
        check_params(self)
        objective, projection = get_objective(self.measure), get_projection(self.measure)
        refuse_symbols("TwoGaussianLearner", X)
        X, y = self._check_samples(X, y, sparse=False)
        cv = self._splits(y, sample_weight, groups)
        X, y, w, groups = drop_zero_weights(X, y, sample_weight, groups)
        target = make_target(y, self.target, task=self.task, sample_weight=w)
        low, high = bandwidth_range(X)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        rows: list[dict[str, float]] = []

        def after(point: Point) -> None:
            share = self._share(point.u)
            rows.append(
                {"sigma1": point.first, "sigma": point.sigma, "value": point.value, "u": share}
            )
            points.append(point)
            tell_row("TwoGaussianLearner", self.verbose, len(rows), rows[-1])
            if asks_to_stop(self.callback, rows[-1]):
                raise Stopped

        points: list[Point] = []
        try:
            found, interrupted = self._search(X, target, seed, after), False
        except KeyboardInterrupt as interrupt:
            if not rows:
                raise
            best = max(points, key=lambda point: sign_of(objective) * point.value)
            sigma1 = best.sigma if np.isnan(best.first) else best.first
            sigma1 = sigma1 if self.sigma1 is None else float(self.sigma1)
            if projection is not None:
                profile = self._profile(X, target, projection)
                best = replace(profile, first=Gaussian(sigma1))(best.sigma)
            found = PairSearch(sigma1, best.sigma, best.value, best.u, 0, True)
            interrupted = True
            if not isinstance(interrupt, Stopped):
                self._warn("interrupted; the best mixture so far is kept. Fit again for more.")
        if not found.converged:
            self._warn(f"not every maximum was refined. Raise max_iter above {self.max_iter}.")
        self.__dict__.pop("surface_", None)  # of an earlier fit
        if projection is not None:
            grid = np.geomspace(low, high, self.n_grid)
            profile = self._profile(X, target, projection)
            beside = replace(profile, first=Gaussian(found.sigma1))
            self.surface_ = self._surface(
                [beside(found.sigma2)] if interrupted else beside.points(grid), profile.norm
            )
        self.value_ = found.value
        self._shrink(found, X, y, target, groups, interrupted, cv, seed, narrow=0.1 * low)
        self.history_ = {name: np.array([row[name] for row in rows]) for name in rows[0]}
        self.n_iter_ = found.n_iter
        return self

    # ---- how ----------------------------------------------------------------------------------

    def _profile(self, X: Array, target: Target, projection: str) -> BandwidthProfile:
        return BandwidthProfile(X, target, None, projection, self._engine())

    def _search(
        self,
        X: Array,
        target: Target,
        seed: int,
        after: Callable[[Point], None] | None = None,
        peaks: int = PEAKS,
    ) -> PairSearch:
        """Return the best mixture on samples, with the bandwidths that were given."""
        low, high = bandwidth_range(X)
        projection = get_projection(self.measure)
        if projection is None:
            return self._climb(X, target, seed, (low, high), after)
        profile = self._profile(X, target, projection)
        options: dict[str, Any] = {"max_iter": self.max_iter, "after": after}
        if self.sigma1 is None and self.sigma2 is None and self.search == "joint":
            return search_pair(profile, low, high, n_grid=self.n_grid, peaks=peaks, **options)
        options |= {"n_grid": self.n_grid, "tol": self.tol}
        steps, converged, sigma1, sigma2 = 0, True, self.sigma1, self.sigma2
        if sigma1 is None:
            other = None if sigma2 is None or self.search == "sequential" else Gaussian(sigma2)
            first = search_bandwidth(replace(profile, first=other), low, high, **options)
            # A limit is no Gaussian: the end of the grid stands for it.
            sigma1 = float(np.clip(first.sigma, low, high))
            steps, converged = first.n_iter, first.converged
        profile = replace(profile, first=Gaussian(float(sigma1)))
        if sigma2 is None:
            second = search_bandwidth(profile, low, high, **options)
            return PairSearch(
                float(sigma1),
                second.sigma,
                second.value,
                second.u,
                steps + second.n_iter,
                converged and second.converged,
            )
        point = profile(float(sigma2))
        if after is not None:
            after(point)
        return PairSearch(float(sigma1), point.sigma, point.value, point.u, steps, converged)

    def _climb(
        self,
        X: Array,
        target: Target,
        seed: int,
        limits: tuple[float, float],
        after: Callable[[Point], None] | None,
    ) -> PairSearch:
        """Return the best mixture for an objective without a closed form."""
        objective = get_objective(self.measure)
        few = self._crossing and not isinstance(objective, Measure)
        if few:
            rows = subsample(target, np.arange(len(X)), ROWS, seed)
            X, target = X[rows], target.take(rows)
        climbed = make_objective(objective, X, target, engine=self._engine(), dtype=np.float64)
        asked = int(self.max_iter)  # type: ignore[arg-type]  # a number here, unlike elsewhere
        most = min(FEW_ITERATIONS, asked) if few else asked
        given = (self.sigma1, self.sigma2)
        found = climb_mixture(climbed, given, limits, min(self.n_grid, COARSE), most, after)
        return replace(found, converged=True) if few else found

    def _shrink(
        self,
        found: PairSearch,
        X: Array,
        y: Any,
        target: Target,
        groups: Array | None,
        interrupted: bool,
        cv: Any,
        seed: int,
        narrow: float,
    ) -> None:
        """Set the kernel, at the amount of learning that pays and the width that suits it."""
        free = self.sigma1 is None and self.sigma2 is None
        projection = get_projection(self.measure) or "centred"
        typical = float(default_kernel(None, X, target.w).length_scale)

        def kernel(found: PairSearch, amount: float, width: float) -> Kernel:
            share = 1.0 - amount * (1.0 - found.u)
            unit = found.typical(share) / typical if free else 1.0
            return self._mixture(
                share,
                found.sigma1 / (unit * width),
                (found.sigma2 or narrow) / (unit * width),
            )

        def path(found: PairSearch) -> Matrix:
            def matrix(amount: float, width: float, rows: Array, columns: Array | None) -> Array:
                made = kernel(found, amount, width)
                return np.asarray(made(X[rows]) if columns is None else made(X[rows], X[columns]))

            return matrix

        def learn(rows: Array) -> Matrix | None:
            goal = target.take(rows)
            if not target_norm(goal, projection) > 0:  # one class alone
                return None
            try:
                return path(self._search(X[rows], goal, seed, peaks=1))
            except ValueError:  # one sample over and over, say
                return None

        if interrupted and self._crossing:
            self.keep_ = amount = CAUTIOUS
        else:
            amount = self._amount_or_quarter(learn, y, target, groups, seed, widths=free, cv=cv)
        width, unit = 1.0, 1.0
        share = 1.0 - amount * (1.0 - found.u)
        if free and (self._crossing or amount < 1.0):
            rows = subsample(target, np.arange(len(X)), ROWS, seed)
            step, *_ = choose_width(path(found), amount, rows, responses(target), target.w)
            width, unit = float(WIDTH**step), found.typical(share) / typical
        self.u_ = self._share(share)
        self.sigma1_ = found.sigma1 / (unit * width)
        self.sigma2_ = found.sigma2 / (unit * width)
        self.kernel_ = self._mixture(share, self.sigma1_, self.sigma2_ or narrow / (unit * width))

    def _warn(self, message: str) -> None:
        warnings.warn(f"TwoGaussianLearner: {message}", ConvergenceWarning, stacklevel=3)

    def _share(self, u: float) -> float:
        return u if self.mixing == "linear" else float(u / np.hypot(u, 1.0 - u))

    def _mixture(self, u: float, sigma1: float, sigma2: float) -> Kernel:
        """Return the mixture with share u of the first Gaussian."""
        second: Kernel = Constant(1.0) if np.isinf(sigma2) else Gaussian(sigma2)
        share = self._share(u)
        rest = 1.0 - u if self.mixing == "linear" else float(np.sqrt(1.0 - share**2))
        if share <= 0.0:
            return second
        return (
            Gaussian(sigma1)
            if rest <= 0.0
            else Sum(Scaled(Gaussian(sigma1), share), Scaled(second, rest))
        )

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
    first: float = np.nan  # the other bandwidth


def visited(sigma: float, value: float, u: float = 0.0, first: float = np.nan) -> Point:
    """Return a point for those who follow a search: without slope and products."""
    return Point(sigma, value, u, 0.0, np.zeros((2, 2)), np.zeros(2), first)


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
        value, (slope,) = self._slopes(a, G, [u, 1.0 - u, 0.0], [[0.0, 0.0, 2.0 * (1.0 - u)]])
        return Point(sigma, value, u, slope, G[:2, :2], a[:2], self._first())

    def _first(self) -> float:
        return float(self.first.length_scale) if isinstance(self.first, Gaussian) else np.nan

    def _slopes(
        self, a: Array, G: Array, weights: list[float], moves: list[list[float]]
    ) -> tuple[float, list[float]]:
        """Return the alignment of a sum of kernels, and its derivatives along moves of weights."""
        w = np.array(weights)
        inner, square = float(a @ w), float(w @ G @ w)
        value = self._align(inner, square)
        if value == 0.0 or square <= 0:
            return value, [0.0] * len(moves)
        # of a'w / √(w'Gw)
        size = np.sqrt(square) * self.norm
        return value, [
            float(a @ m - inner * (w @ G @ m) / square) / size for m in map(np.array, moves)
        ]

    def points(self, sigmas: Array) -> list[Point]:
        """Return the best mixture at every bandwidth from one sweep, without slopes."""
        a, G = self._sums([self.first or Gaussian(1.0), *map(Gaussian, map(float, sigmas))])
        found = []
        for k, sigma in enumerate(sigmas, start=1):
            pair = np.array([0, k])
            inner, products = a[pair], G[np.ix_(pair, pair)]
            if self.first is None:
                inner, products = inner * (0.0, 1.0), products * np.diag((0.0, 1.0))
            u = 0.0 if self.first is None else best_share(inner, products)
            w = np.array([u, 1.0 - u])
            value = self._align(float(inner @ w), float(w @ products @ w))
            found.append(Point(float(sigma), value, u, 0.0, products, inner, self._first()))
        return found

    def pair(self, first: Kernel, second: Kernel) -> tuple[float, float, list[float]]:
        """Return the alignment of the best mixture of two kernels, u, and its slopes.

        The slopes are by the logarithm of the bandwidth of either, where it is a Gaussian.
        """
        kernels: list[Kernel] = [first, second]
        slopes = [k for k in kernels if isinstance(k, Gaussian)]
        a, G = self._sums([*kernels, *(GaussianSlope(k.length_scale) for k in slopes)])
        u = best_share(a[:2], G[:2, :2])
        none = [0.0] * len(slopes)
        moves = []
        for j, kernel in enumerate(slopes):
            move = [0.0, 0.0, *none]
            move[2 + j] = 2.0 * (u if kernel is first else 1.0 - u)
            moves.append(move)
        value, found = self._slopes(a, G, [u, 1.0 - u, *none], moves)
        return value, u, found


@dataclass(frozen=True)
class PairSearch:
    """The outcome of a search for two bandwidths."""

    sigma1: float
    sigma2: float  # 0 or infinity where a limit is best
    value: float  # the alignment
    u: float  # the share of the first
    n_iter: int  # bandwidths visited to refine maxima
    converged: bool

    def typical(self, u: float) -> float:
        """Return the mean bandwidth on the log scale, for a share u of the first."""
        if u >= 1.0 or not (0.0 < self.sigma2 < np.inf):
            return self.sigma1
        return float(np.exp(u * np.log(self.sigma1) + (1.0 - u) * np.log(self.sigma2)))


def search_pair(
    profile: BandwidthProfile,
    low: float,
    high: float,
    *,
    n_grid: int = 64,
    peaks: int = PEAKS,
    max_iter: int = 100,
    after: Callable[[Point], None] | None = None,
) -> PairSearch:
    """Maximise the alignment of the best mixture over two bandwidths and the limits of one.

    One sweep gives the products of all Gaussians of a log-spaced grid, the identity and a constant,
    hence the best mixture of every two. The `peaks` highest local maxima among these are climbed.
    `after` is called with every Gaussian of the grid alone, and every pair on the way.
    """
    sigmas = np.geomspace(low, high, n_grid)
    kernels: list[Kernel] = [
        Gaussian(1e-2 * low),
        *(Gaussian(float(sigma)) for sigma in sigmas),
        Constant(1.0),
    ]
    a, G = profile._sums(kernels)
    m = len(kernels)
    table = np.full((m + 2, m + 2), -np.inf)  # with a border
    for i in range(m):
        for j in range(i, m):
            two = np.array([i, j])
            inner, products = a[two], G[np.ix_(two, two)]
            u = best_share(inner, products)
            w = np.array([u, 1.0 - u])
            table[i + 1, j + 1] = table[j + 1, i + 1] = profile._align(
                float(inner @ w), float(w @ products @ w)
            )
    if after is not None:
        for sigma, value in zip(sigmas, table.diagonal()[2:-2], strict=True):
            after(visited(float(sigma), float(value)))
    around = np.max([np.roll(table, shift, (0, 1)) for shift in AROUND], axis=0)
    pairs = np.argwhere((table >= around) & np.isfinite(table)) - 1
    pairs = pairs[(pairs[:, 0] < pairs[:, 1]) & (np.ptp(pairs, axis=1) < m - 1)]
    if not len(pairs):  # one Gaussian is as good as any two
        best = 1 + int(np.argmax(table.diagonal()[2:-2]))
        pairs = np.array([[best, min(best + 1, m - 2)]]) if m > 3 else np.array([[1, 1]])
    order = np.argsort(-table[pairs[:, 0] + 1, pairs[:, 1] + 1], kind="stable")
    found = [
        climb_pair(profile, kernels[i], kernels[j], (low, high), max_iter, after)
        for i, j in pairs[order[:peaks]]
    ]
    best_pair = max(found, key=lambda one: one.value)
    steps = sum(one.n_iter for one in found)
    return replace(best_pair, n_iter=steps, converged=all(one.converged for one in found))


def climb_pair(
    profile: BandwidthProfile,
    first: Kernel,
    second: Kernel,
    limits: tuple[float, float],
    max_iter: int,
    after: Callable[[Point], None] | None,
) -> PairSearch:
    """Climb from a pair of kernels over the bandwidths within the limits; others stay as they are.

    What comes back has the larger share first, and a limit last.
    """
    start = np.array(
        [k.length_scale if isinstance(k, Gaussian) else np.inf for k in (first, second)]
    )
    moving = (start >= limits[0] * (1 - 1e-9)) & (start <= limits[1] * (1 + 1e-9))
    best: tuple[float, float, Array] = (-np.inf, 0.0, start)
    steps = 0

    def descend(theta: Array) -> tuple[float, Array]:
        nonlocal best, steps
        sigma = start.copy()
        sigma[moving] = np.exp(theta)
        pair: list[Kernel] = [
            Gaussian(float(s)) if np.isfinite(s) else Constant(1.0) for s in sigma
        ]
        value, u, slopes = profile.pair(*pair)
        steps += 1
        if value > best[0]:
            best = value, u, sigma
        if after is not None:
            narrow = np.where(sigma < limits[0] * (1 - 1e-9), 0.0, sigma)
            after(visited(float(narrow[1]), value, u, float(narrow[0])))
        found = iter(slopes)
        by_both = np.array([next(found) if np.isfinite(s) else 0.0 for s in sigma])
        return -value, -by_both[moving]

    bounds = [(np.log(limits[0]), np.log(limits[1]))] * int(moving.sum())
    options = {"maxiter": max_iter, "ftol": 1e-14, "gtol": 1e-10}
    outcome = minimize(
        descend, np.log(start[moving]), jac=True, method="L-BFGS-B", bounds=bounds, options=options
    )
    value, u, sigma = best
    sigma = np.where(sigma < limits[0] * (1 - 1e-9), 0.0, sigma)
    inside = (sigma > 0) & np.isfinite(sigma)
    if not inside[0] or (inside[1] and u < 0.5):
        sigma, u = sigma[::-1], 1.0 - u
    return PairSearch(float(sigma[0]), float(sigma[1]), value, u, steps, outcome.status != 1)


def climb_mixture(
    objective: KernelObjective,
    given: tuple[float | None, float | None],
    limits: tuple[float, float],
    n_grid: int,
    max_iter: int,
    after: Callable[[Point], None] | None = None,
) -> PairSearch:
    """Climb any objective of u K(σ1) + (1 - u) K(σ2) over the share and the free bandwidths.

    Single Gaussians of a log-spaced grid are compared first, then the best one mixed with each of
    the others in equal shares; the two best mixtures are climbed. One Gaussian alone stays where no
    mixture is better.

    Parameters
    ----------
    objective : KernelObjective
    given : pair of float or None
        Bandwidths that are not free.
    limits : pair of float
        Of free bandwidths.
    n_grid : int
    max_iter : int
        Of every climb.
    after : callable, optional
        Called with every mixture.
    """
    free = np.array([sigma is None for sigma in given])
    kernel = Sum(Scaled(Gaussian(1.0), 0.5), Scaled(Gaussian(1.0), 0.5))
    best: tuple[float, PairSearch] | None = None
    steps, stopped = 0, KeyboardInterrupt()

    def visit(sigma: Array, u: float, value: float) -> None:
        nonlocal best, stopped
        score = objective.sign * value
        if np.isfinite(score) and (best is None or score > best[0]):
            best = score, PairSearch(float(sigma[0]), float(sigma[1]), value, u, 0, True)
        if after is not None:
            alone = u in (0.0, 1.0)
            first = np.nan if alone else float(sigma[0])
            point = visited(float(sigma[0 if u == 1.0 else 1]), value, 0.0 if alone else u, first)
            try:
                after(point)
            except Stopped as asked:  # which a climb takes for any other interrupt
                stopped = asked
                raise

    def single(sigma: Array, u: float) -> float:
        value = objective.value(Gaussian(float(sigma[0 if u == 1.0 else 1])))
        visit(sigma, u, value)
        return objective.sign * value

    def mixture(sigma: Array, u: float) -> tuple[float, Array]:
        """Return the value, and its slopes by the logarithms of both bandwidths and by u."""
        kernel.set_params(
            k1__scale=u,
            k2__scale=1.0 - u,
            k1__kernel__length_scale=float(sigma[0]),
            k2__kernel__length_scale=float(sigma[1]),
        )
        value, slopes = objective.value_and_gradient(kernel)
        visit(sigma, u, value)
        names = ("k1__kernel__length_scale", "k2__kernel__length_scale", "k1__scale", "k2__scale")
        a, b, c, d = (float(slopes.get(name, 0.0)) for name in names)
        return value, np.array([a * sigma[0], b * sigma[1], c - d])

    grid = np.geomspace(*limits, n_grid)
    if free.all():
        merits = [single(np.full(2, sigma), 1.0) for sigma in grid]
        first = grid[int(np.nanargmax(np.where(np.isfinite(merits), merits, -np.inf)))]
        pairs = [np.array([first, sigma]) for sigma in grid if sigma != first]
    elif free.any():
        fixed = float(given[0] if given[0] is not None else given[1] or 0.0)
        pairs = [np.array([fixed, s] if free[1] else [s, fixed]) for s in grid]
        single(pairs[0], 1.0 if free[1] else 0.0)
    else:
        pairs = [np.array(given, dtype=np.float64)]
        single(pairs[0], 1.0)
        single(pairs[0], 0.0)
    scores = [objective.sign * mixture(pair, 0.5)[0] for pair in pairs]
    scores = [score if np.isfinite(score) else -np.inf for score in scores]
    converged = True
    moving = np.append(free, True)
    box = np.array([np.log(limits), np.log(limits), [EDGE, 1.0 - EDGE]])[moving]
    reach = np.array([2.0, 2.0, 0.5])  # how far a climb goes before it takes its bearings again
    for k in np.argsort(scores, kind="stable")[::-1][:2]:
        pair = pairs[k]

        def problem(theta: Array, pair: Array = pair) -> tuple[float, float, Array]:
            sigma = pair.copy()
            sigma[free] = np.exp(theta[:-1])
            value, slopes = mixture(sigma, float(theta[-1]))
            score = objective.sign * value
            if not (np.isfinite(score) and np.isfinite(slopes).all()):
                return -np.inf, value, np.zeros(len(theta))
            return score, value, objective.sign * slopes[moving]

        if not np.isfinite(scores[k]):
            continue
        found = maximise(
            problem,
            np.append(np.log(pair[free]), 0.5),
            Monitor("TwoGaussianLearner"),
            limits=box,
            step_limits=lambda theta: (reach[moving], 0.5 * reach[moving]),
            max_iter=max_iter,
            tol=TOLERANCE,
            unit=objective.unit,
        )
        if found.status == "interrupted":
            raise stopped
        steps += found.n_iter
        converged = converged and found.converged
    if best is None:
        raise ValueError(
            f"Expected a mixture where {objective.name!r} is finite, got none. Standardise the "
            "features, or use another measure."
        )
    result = replace(best[1], n_iter=steps, converged=converged)
    if free.all() and result.u < 0.5:
        sigma1, sigma2 = result.sigma2, result.sigma1
        result = replace(result, sigma1=sigma1, sigma2=sigma2, u=1.0 - result.u)
    if min(result.u, 1.0 - result.u) <= EDGE:
        result = replace(result, u=float(np.round(result.u)))
    return result


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
