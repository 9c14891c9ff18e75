"""TwoGaussianLearner: two bandwidths and their shares, by alignment or any other objective.

The best share of an alignment has a closed form (`best_share`). With it, one sweep tells the best
alignment of every two bandwidths of a grid, a table with many local maxima: Tan et al. say two for
one bandwidth; six are common. Other objectives have no closed form: of those the best Gaussian is
mixed with each of the others. The best maxima are then climbed.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.utils._param_validation import Interval, StrOptions

from gramsmith.gram import Engine, Gram
from gramsmith.gram.threads import SMALL
from gramsmith.kernels import Constant, Gaussian, Kernel, Scaled, Sum, default_kernel
from gramsmith.kernels.radial import Radial
from gramsmith.learning.ascent import BROKEN_OFF, FEW_ITERATIONS, Ascent, best_of, maximise
from gramsmith.learning.learner import Learner, Path, Samples
from gramsmith.learning.monitor import Monitor
from gramsmith.learning.objective import KernelObjective, get_projection
from gramsmith.measures import Undefined
from gramsmith.measures.alignment import kernel_products, target_norm, target_products
from gramsmith.parameters import with_parameters
from gramsmith.targets import Target

Array = npt.NDArray[Any]
Given = tuple[float | None, float | None]  # bandwidths, None where free

# Of the table that are climbed; where the amount is cross-fitted one is enough: on 20 sets of 24
# rows with classes by chance one led as high as eight.
PEAKS = 4
COARSE = 16  # bandwidths that are tried where every pair needs a sweep or a solve
TOLERANCE = 1e-6  # of a climb without a closed form, or of which only quarters are judged
EDGE = 1e-6  # from a share of 0 or 1, where a climb sees a mixture
# of the smallest bandwidth, the one of the identity in the table, and in a kernel of new samples
IDENTITY, NARROW = 1e-2, 0.1
# how far log σ1, log σ2 and the share move before a climb takes its bearings again
REACH = np.array([2.0, 2.0, 0.5])
FIRST = 0.25  # of this, in its first step
AROUND = [(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j]


@dataclass(frozen=True)
class Pair:
    """A mixture u K(sigma1) + (1 - u) K(sigma2); sigma2 is 0 or infinity where a limit is best."""

    sigma1: float
    sigma2: float
    value: float
    u: float

    def typical(self, u: float) -> float:
        """Return the mean bandwidth on the log scale, for a share u of the first."""
        if u >= 1.0 or not (0.0 < self.sigma2 < np.inf):
            return self.sigma1
        return float(np.exp(u * np.log(self.sigma1) + (1.0 - u) * np.log(self.sigma2)))

    def ordered(self) -> Pair:
        """Return the mixture with the larger share first, and a limit last."""
        first, second = (0.0 < sigma < np.inf for sigma in (self.sigma1, self.sigma2))
        if first and (self.u >= 0.5 or not second):
            return self
        return Pair(self.sigma2, self.sigma1, self.value, 1.0 - self.u)


@dataclass(frozen=True, kw_only=True)
class MixturePath(Path):
    """From the first Gaussian alone to the mixture."""

    pair: Pair
    mixing: str
    grid: Array  # of bandwidths
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
        narrow = NARROW * self.grid[0] * sigma1 / self.pair.sigma1
        second = gaussian(sigma2 or narrow)
        share, rest = weights(u, self.mixing)
        if share <= 0.0:
            return second
        if rest <= 0.0:
            return Gaussian(sigma1)
        return Sum(Scaled(Gaussian(sigma1), share), Scaled(second, rest))


@with_parameters
class TwoGaussianLearner(Learner):
    r"""Learn the mixture of two Gaussians that aligns best with the target.

    .. math:: k = u\,k_{\sigma_1} + (1 - u)\,k_{\sigma_2} \quad\text{or}\quad
              u\,k_{\sigma_1} + \sqrt{1 - u^2}\,k_{\sigma_2}

    The share u has a closed form for any two bandwidths; eliminating it leaves a function of the
    pair, or of one where the other is given, whose local maxima are found on a grid, refined on the
    log scale, and compared with the limits sigma2 -> 0 (identity) and sigma2 -> infinity
    (constant). The paper takes the best single bandwidth first, which can end lower.

    What aligns best need not predict best. The share of the second Gaussian is therefore
    reduced towards none, by an amount chosen on held-out rows (`keep`), and where
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
        `gramsmith.learning.Objective`) is optimised over bandwidths and share, from the best
        pairs of a grid of 16, on at most 1000 rows where it needs a solve and the amount is
        cross-fitted.
    n_grid : int, default=64
        Bandwidths on which maxima are bracketed, half as many where the amount is cross-fitted.
    tol : float, default=1e-14
        Stop refining a maximum when a step improves it by less than this, or by less than 1e-6
        where the amount is cross-fitted.
    max_iter : int, default=100
        Most steps to refine a maximum.

    Attributes
    ----------
    u_ : float
        Share of the first Gaussian in the kernel, for the chosen mixing. Where both bandwidths are
        searched together the first is that of the larger share.
    sigma1_, sigma2_ : float
        Bandwidths in the kernel. sigma2_ is 0 or infinity where the identity or a constant kernel
        is best.
    surface_ : dict
        For alignments, whose mixtures all come from one sweep: "u" of shape (a,), "sigma" of shape
        (b,), "value" of shape (a, b), the alignment of every mixture on the grid, beside the first
        bandwidth of the search.

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

    sigma1: float | None = field(default=None, kw_only=False)
    sigma2: float | None = field(default=None, kw_only=False)
    mixing: str = field(default="linear", kw_only=False)
    measure: Any = field(default="kta", kw_only=False)
    n_grid: int = 64
    tol: float = 1e-14
    max_iter: int = 100

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "sigma1": [Interval(Real, 0, None, closed="neither"), None],
        "sigma2": [Interval(Real, 0, None, closed="neither"), None],
        "mixing": [StrOptions({"linear", "circle"})],
        "n_grid": [Interval(Integral, 4, None, closed="left")],
    }
    _stored: ClassVar[dict[str, str]] = {
        "u_": "number",
        "sigma1_": "number",
        "sigma2_": "number",
        "surface_": "value?",
        "history_": "value",
    }

    _dense_rows = True

    def search(self, X: Any, target: Target, rng: Any) -> MixturePath:
        """Return the path from one Gaussian to the best mixture."""
        low, high = bandwidth_range(X)
        projection, few = get_projection(self.measure), self._crossing and self._solves
        most, engine = int(self.max_iter), self._engine()
        if projection is None:
            objective = KernelObjective(self.measure, X, target, engine=engine, dtype=np.float64)
            mixtures: Mixtures = ObjectiveMixtures(objective)
            count, peaks, tol = min(self.n_grid, COARSE), 2, TOLERANCE
            most = min(FEW_ITERATIONS, most) if few else most
        else:
            mixtures = AlignedMixtures(X, target, projection, engine)
            count, peaks, tol = self.n_grid, PEAKS, float(self.tol)
            if self._crossing:
                count, peaks, tol = max(4, count // 2), 1, max(tol, TOLERANCE)
        grid, given = np.geomspace(low, high, count), (self.sigma1, self.sigma2)
        free = np.array([sigma is None for sigma in given])
        starts, alone = mixtures.starts(given, grid)

        def climb(start: Array) -> Ascent:
            moving = free & (start >= low) & (start <= high)  # limits stay
            span = np.log([low, high])
            return mixtures.climb(start, moving, span, self._monitor(), most, tol)

        ascent, _ = best_of([partial(climb, start) for start in starts[:peaks]], mixtures.sign)
        sigma1, sigma2, u = map(float, ascent.theta)
        pair = Pair(sigma1, sigma2, ascent.value, u)
        if alone is not None and mixtures.sign * (alone.value - pair.value) >= 0.0:
            pair = alone
        if ascent.status == "max_iter" and few:  # are intended
            ascent = replace(ascent, status="converged", advice="")
        return MixturePath(
            value=pair.value,
            outcome=ascent,
            history=ascent.history,
            has_width=bool(free.all()),
            pair=pair.ordered() if free.all() else pair,
            mixing=self.mixing,
            grid=grid,
            typical=float(default_kernel(None, X, target.w).length_scale),
        )

    def _set_fitted(self, path: Any, width: float | None, samples: Samples, paths: Any) -> None:
        self.kernel_ = path.kernel(self.keep_, width)
        u, self.sigma1_, self.sigma2_ = path.at(self.keep_, width)
        self.u_ = weights(u, self.mixing)[0]
        projection = get_projection(self.measure)
        if projection is not None:
            grid = path.grid
            if path.outcome.status in BROKEN_OFF:
                grid = np.clip([path.pair.sigma2], grid[0], grid[-1])
            mixtures = AlignedMixtures(samples.X, samples.target, projection, self._engine())
            self.surface_ = mixtures.surface(path.pair.sigma1, grid, self.mixing)


def weights(u: float, mixing: str) -> tuple[float, float]:
    """Return the weights of two kernels for a share u of the first, in a line or on the circle."""
    size = 1.0 if mixing == "linear" else float(np.hypot(u, 1.0 - u))
    return u / size, (1.0 - u) / size


def best_share(a1: Any, a2: Any, g11: Any, g12: Any, g22: Any) -> Any:
    """Return the u in [0, 1] that maximises the alignment of u K1 + (1 - u) K2.

    With n1 = a1 g22 - a2 g12 and n2 = a2 g11 - a1 g12 the stationary point is n1 / (n1 + n2), a
    maximum if both are positive. Otherwise the alignment is monotone on [0, 1]: clipping the ratio
    instead would take a minimum for the maximum when n1 + n2 < 0.

    a are the inner products of the kernels with the target, g those of the kernels.
    """
    n1, n2 = a1 * g22 - a2 * g12, a2 * g11 - a1 * g12
    noise = 1e-14 * np.max(np.abs([a1 * g22, a2 * g12, a2 * g11]), axis=0)  # of rounding
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


class Mixtures:
    """The mixtures of two Gaussians under an objective, from where to climb and how."""

    sign, unit = 1.0, 1.0
    share_is_free = False

    def starts(self, given: Given, grid: Array) -> tuple[list[Array], Pair | None]:
        """Return pairs of bandwidths to climb from, the best first, and the best of one alone."""
        raise NotImplementedError

    def evaluate(self, sigma: Array, u: float, moving: Array) -> tuple[Pair, Array]:
        """Return a mixture, and its slopes by the logarithms of moving bandwidths, and by u."""
        raise NotImplementedError

    def climb(
        self, start: Array, moving: Array, span: Array, monitor: Monitor, max_iter: int, tol: float
    ) -> Ascent:
        """Climb over moving bandwidths, logarithms within a span; θ becomes both, and the share."""
        count, coordinates = int(moving.sum()), np.append(moving, self.share_is_free)
        pairs: dict[bytes, Pair] = {}

        def parts(theta: Array) -> tuple[Array, float]:
            sigma = start.copy()
            sigma[moving] = np.exp(theta[:count])
            return sigma, float(theta[-1]) if self.share_is_free else 0.5

        def problem(theta: Array) -> tuple[float, float, Array]:
            pair, slopes = self.evaluate(*parts(theta), moving)
            pairs[theta.tobytes()] = pair
            score, slopes = self.sign * pair.value, self.sign * slopes
            finite = np.isfinite(score) and np.isfinite(slopes).all()
            return (score, pair.value, slopes) if finite else (-np.inf, pair.value, 0.0 * theta)

        monitor.parameters = lambda theta: {"sigma": parts(theta)[0]}
        ascent = maximise(
            problem,
            np.append(np.log(start, where=moving, out=start.copy()), 0.5)[coordinates],
            monitor,
            limits=np.array([span, span, [EDGE, 1.0 - EDGE]])[coordinates],
            step_limits=lambda theta: (REACH[coordinates], FIRST * REACH[coordinates]),
            max_iter=max_iter,
            tol=tol,
            unit=self.unit,
        )
        pair = pairs[ascent.theta.tobytes()]
        return replace(ascent, theta=np.array([pair.sigma1, pair.sigma2, pair.u]))


class AlignedMixtures(Mixtures):
    """Alignments of mixtures, whose best shares and slopes come from products of kernels."""

    def __init__(self, X: Array, target: Target, projection: str, engine: Engine | None) -> None:
        self.X, self.target, self.projection, self.engine = X, target, projection, engine
        self.narrow = np.nan  # bandwidth of the identity

    def sums(self, kernels: list[Kernel]) -> tuple[Array, Array]:
        """Return the products of kernels with the target, and with each other."""
        gram = Gram(kernels, self.X, engine=self.engine, dtype=np.float64)
        moments = gram.moments(self.target, cross=True)
        a = target_products(moments, self.target, self.projection)
        return np.asarray(a), np.asarray(kernel_products(moments, self.target, self.projection))

    def alignment(self, u: Any, v: Any, a1: Any, a2: Any, g11: Any, g12: Any, g22: Any) -> Any:
        """Return the alignment of u K1 + v K2; what has no centred part aligns with nothing."""
        square = u**2 * g11 + 2.0 * u * v * g12 + v**2 * g22
        size = np.sqrt(np.where(square > 0, square, np.inf))
        return (u * a1 + v * a2) / size / target_norm(self.target, self.projection)

    def starts(self, given: Given, grid: Array) -> tuple[list[Array], Pair | None]:
        self.narrow = IDENTITY * grid[0]
        ends = np.r_[self.narrow, grid, np.inf]
        both = given == (None, None)
        # a limit is no first Gaussian beside a second that is given
        first, second = (ends if s is None else np.array([float(s)]) for s in given)
        first = grid if given[1] is not None and given[0] is None else first
        sigmas = ends if both else np.r_[first, second]
        a, G = self.sums([gaussian(sigma) for sigma in sigmas])
        i, j = np.ogrid[: len(first), : len(second)]
        j = j if both else j + len(first)
        products = np.broadcast_arrays(a[i], a[j], G[i, i], G[i, j], G[j, j])
        u = best_share(*products)
        table = self.alignment(u, 1.0 - u, *products)
        alone = None
        if both:
            values = table.diagonal()[1:-1]
            sigma = float(grid[int(np.argmax(values))])
            alone = Pair(sigma, sigma, float(values.max()), 1.0)
            # each two once, and not both limits
            table = np.where((i < j) & (j - i < len(ends) - 1), table, -np.inf)
        padded = np.pad(table, 1, constant_values=-np.inf)
        around = np.max([np.roll(padded, shift, (0, 1)) for shift in AROUND], axis=0)[1:-1, 1:-1]
        peaks = np.argwhere((table >= around) & np.isfinite(table))
        order = np.argsort(-table[tuple(peaks.T)], kind="stable")
        return [np.array([first[k], second[m]]) for k, m in peaks[order]], alone

    def evaluate(self, sigma: Array, u: float, moving: Array) -> tuple[Pair, Array]:
        slopes: list[Kernel] = [GaussianSlope(float(s)) for s in sigma[moving]]
        a, G = self.sums([*map(gaussian, sigma), *slopes])
        products = (*a[:2], G[0, 0], G[0, 1], G[1, 1])
        u = float(best_share(*products))
        value = float(self.alignment(u, 1.0 - u, *products))
        by, w = np.zeros(len(slopes)), np.array([u, 1.0 - u])
        if value != 0.0:
            # of a'w / √(w'Gw); the derivative of a maximum over u is that at the best u
            inner, square = a[:2] @ w, w @ G[:2, :2] @ w
            by = 2.0 * w[moving] * value * (a[2:] / inner - w @ G[:2, 2:] / square)
        first, second = (0.0 if s == self.narrow else float(s) for s in sigma)
        return Pair(first, second, value, u), by

    def surface(self, sigma1: float, grid: Array, mixing: str) -> dict[str, Array]:
        """Return the alignment of every mixture with a Gaussian of sigma1 on a grid."""
        share = np.linspace(0.0, 1.0, 51)
        rest = 1.0 - share if mixing == "linear" else np.sqrt(1.0 - share**2)
        a, G = self.sums([gaussian(sigma) for sigma in (sigma1, *grid)])
        products = (a[0], a[1:], G[0, 0], G[0, 1:], G.diagonal()[1:])
        value = self.alignment(share[:, None], rest[:, None], *products)
        return {"u": share, "sigma": np.asarray(grid), "value": value}


class ObjectiveMixtures(Mixtures):
    """Mixtures under any other objective: the best Gaussian is mixed with each of the others."""

    share_is_free = True

    def __init__(self, objective: KernelObjective) -> None:
        self.objective, self.sign, self.unit = objective, objective.sign, objective.unit
        self.kernel = Sum(Scaled(Gaussian(1.0), 0.5), Scaled(Gaussian(1.0), 0.5))

    def starts(self, given: Given, grid: Array) -> tuple[list[Array], Pair | None]:
        known = [float(sigma) for sigma in given if sigma is not None]
        alone = []  # as mixtures with another in which they have the whole share
        for sigma in known or grid:
            first, second = (float(s or sigma) for s in given)
            value = self.objective.value(Gaussian(float(sigma)))
            alone.append(Pair(first, second, value, float(first == sigma)))
        merits = self.objective.merits([pair.value for pair in alone])
        best = alone[int(np.argmax(merits))] if merits.max() > -np.inf else None
        if known:
            others = grid if None in given else grid[:1]
            pairs = [np.array([float(s or sigma) for s in given]) for sigma in others]
        else:
            first = grid[int(np.argmax(merits))]
            pairs = [np.array([first, sigma]) for sigma in grid if sigma != first]
        still = np.zeros(2, dtype=bool)
        values = [self.evaluate(pair, 0.5, still)[0].value for pair in pairs]
        merits = self.objective.merits(values)
        order = np.argsort(-merits, kind="stable")
        return [pairs[k] for k in order if np.isfinite(merits[k])], best

    def evaluate(self, sigma: Array, u: float, moving: Array) -> tuple[Pair, Array]:
        widths = ("k1__kernel__length_scale", "k2__kernel__length_scale")
        shares = {"k1__scale": u, "k2__scale": 1.0 - u}
        self.kernel.set_params(**dict(zip(widths, map(float, sigma), strict=True)), **shares)
        value, slopes = self.objective.value_and_gradient(self.kernel)
        a, b, c, d = (float(slopes.get(name, 0.0)) for name in (*widths, *shares))
        by = np.append(np.array([a, b])[moving] * sigma[moving], c - d)
        return Pair(float(sigma[0]), float(sigma[1]), value, u), by


def gaussian(sigma: float) -> Kernel:
    """Return the Gaussian of a bandwidth, which may be infinite."""
    return Gaussian(float(sigma)) if np.isfinite(sigma) else Constant(1.0)


def bandwidth_range(X: Array) -> tuple[float, float]:
    """Return 0.1 times the smallest non-zero and 10 times a bound on the largest distance.

    The nearest neighbours of distinct rows and the radius around the mean, so no n x n matrix.
    """
    X = np.asarray(X, dtype=np.float64)
    rows = np.unique(X, axis=0)
    if len(rows) < 2:
        raise Undefined("Expected at least two different samples, got one. Add samples.")
    from sklearn.neighbors import NearestNeighbors  # as slow to import as all learners together

    rows = rows - rows.mean(axis=0)
    # a search without a tree wakes threads, which wait for each other while others use the cores
    tree = "kd_tree" if len(rows) <= SMALL else "auto"
    near = NearestNeighbors(n_neighbors=2, algorithm=tree).fit(rows).kneighbors(rows)[0][:, 1]
    far = 2.0 * float(np.sqrt((rows**2).sum(axis=1).max()))
    smallest = float(near[near > 1e-12 * far].min(initial=far))  # less is rounding
    return 0.1 * smallest, 10.0 * far
