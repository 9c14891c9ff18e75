"""TwoGaussianLearner: two bandwidths and their shares, by alignment."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import validate_data

from gramsmith.kernels import Constant, Gaussian, Kernel, Scaled, Sum
from gramsmith.kernels.symbolic import refuse_symbols
from gramsmith.learning.bandwidth_profile import (
    Array,
    BandwidthProfile,
    Point,
    bandwidth_range,
)
from gramsmith.learning.bandwidth_search import Search, search_bandwidth
from gramsmith.learning.weights import weigh
from gramsmith.targets import Target, make_target

PROJECTIONS = {"kta": "plain", "cka": "centred", "cka_debiased": "debiased"}
MIXINGS = ("linear", "circle")


class TwoGaussianLearner(BaseEstimator):
    r"""Learn the mixture of two Gaussians that aligns best with the target.

    .. math:: k = u\,k_{\sigma_1} + (1 - u)\,k_{\sigma_2} \quad\text{or}\quad
              u\,k_{\sigma_1} + \sqrt{1 - u^2}\,k_{\sigma_2}

    The share u has a closed form for every sigma2; eliminating it leaves a function of sigma2
    alone, whose local maxima are all bracketed on a grid, refined by guarded Newton steps on the
    log scale, and compared with the limits sigma2 -> 0 (identity) and sigma2 -> infinity
    (constant).

    Parameters
    ----------
    sigma1 : float, optional
        First bandwidth; default the best single one.
    sigma2 : float, optional
        Second bandwidth; default learned.
    mixing : {"linear", "circle"}, default="linear"
        The weight of the second kernel: 1 - u, or the square root of 1 - u². The mixtures are
        multiples of each other, so that they align alike.
    measure : {"kta", "cka", "cka_debiased"}, default="kta"
        The alignment.
    n_grid : int, default=64
        Bandwidths on which maxima are bracketed.
    target : {"auto", "simplex", "one_hot", "balanced", "uneven"}, default="auto"
        What similarity should look like, see `gramsmith.targets.make_target`.
    task : {"auto", "classification", "regression"}, default="auto"
        Whole numbers are classes unless this says otherwise.
    tol : float, default=1e-10
        Precision of log sigma.
    max_iter : int, default=100
        Most Newton steps per maximum.
    memory : float, optional
        Budget in MiB for tiles, see `Gram`.
    n_jobs : int, optional
        Threads, see `Gram`.
    callback : callable, optional
        Called with a dict of "sigma", "value", "u" at every bandwidth; a true result ends the
        search.
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
        Newton steps.
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
        measure: str = "kta",
        *,
        n_grid: int = 64,
        target: str = "auto",
        task: str = "auto",
        tol: float = 1e-10,
        max_iter: int = 100,
        memory: float | None = None,
        n_jobs: int | None = None,
        callback: Callable[[dict[str, float]], Any] | None = None,
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
            Weights; weight 2 is the same as repeating a row.

        Returns
        -------
        TwoGaussianLearner
        """
        refuse_symbols("TwoGaussianLearner", X)
        X, y = validate_data(
            self, X, y, dtype=(np.float64, np.float32), multi_output=True, ensure_min_samples=2
        )
        self._check()
        X, y, w = weigh(X, y, sample_weight)
        target = make_target(y, self.target, task=self.task, sample_weight=w)
        low, high = bandwidth_range(X)
        self._rows: list[dict[str, float]] = []
        self.n_iter_ = 0
        interrupted = False
        self.sigma1_ = float(self.sigma1) if self.sigma1 is not None else np.nan
        try:
            if self.sigma1 is None:
                single = self._search(BandwidthProfile(X, target, **self._options()), low, high)
                # A limit is no Gaussian: the end of the grid stands for it.
                self.sigma1_ = float(np.clip(single.sigma, low, high))
            self._mix(X, target, low, high)
        except KeyboardInterrupt:
            if not self._rows:
                raise
            interrupted = True
            self._settle(X, target)
        self.history_ = {
            name: np.array([row[name] for row in self._rows]) for name in ("sigma", "value", "u")
        }
        del self._rows
        if interrupted:
            warnings.warn(
                "TwoGaussianLearner: interrupted; the best mixture so far is kept. "
                "Fit again for more.",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    # ---- how ----------------------------------------------------------------------------------

    def _check(self) -> None:
        for name in ("sigma1", "sigma2"):
            value = getattr(self, name)
            if value is not None and not (np.isfinite(value) and value > 0):
                raise ValueError(f"Expected {name} > 0, got {value!r}. Use None to learn it.")
        if self.mixing not in MIXINGS:
            raise ValueError(f"Expected mixing among {', '.join(MIXINGS)}, got {self.mixing!r}.")
        if self.measure not in PROJECTIONS:
            raise ValueError(
                f"Expected a measure among {', '.join(PROJECTIONS)}, got {self.measure!r}."
            )
        if self.n_grid < 4:
            raise ValueError(f"Expected n_grid >= 4, got {self.n_grid!r}. Use 64.")

    def _options(self) -> dict[str, Any]:
        projection = PROJECTIONS[self.measure]
        return {"projection": projection, "memory": self.memory, "n_jobs": self.n_jobs}

    def _after(self, point: Point) -> bool:
        row = {"sigma": point.sigma, "value": point.value, "u": self._share(point.u)}
        self._rows.append(row)
        if self.verbose:
            numbers = ", ".join(f"{name} {number:.6g}" for name, number in row.items())
            print(f"[TwoGaussianLearner] {len(self._rows)}: {numbers}")
        return bool(self.callback is not None and self.callback(row))

    def _search(self, profile: BandwidthProfile, low: float, high: float) -> Search:
        found = search_bandwidth(
            profile,
            low,
            high,
            n_grid=self.n_grid,
            tol=self.tol,
            max_iter=self.max_iter,
            after=self._after,
        )
        self.n_iter_ += found.n_iter
        if not found.converged:
            warnings.warn(
                "TwoGaussianLearner: the search ended before every maximum was refined. "
                f"Raise max_iter above {self.max_iter}, or let the callback go on.",
                ConvergenceWarning,
                stacklevel=4,
            )
        return found

    def _mix(self, X: Array, target: Target, low: float, high: float) -> None:
        profile = BandwidthProfile(X, target, Gaussian(self.sigma1_), **self._options())
        if self.sigma2 is not None:
            point = profile(float(self.sigma2))
            self._after(point)
            self._set(point.u, float(self.sigma2), point.value, 0.1 * low)
            grid = [profile(s) for s in np.geomspace(low, high, self.n_grid)]
        else:
            found = self._search(profile, low, high)
            self._set(found.u, found.sigma, found.value, 0.1 * low)
            grid = found.grid
        self.surface_ = self._surface(grid, profile.norm)

    def _settle(self, X: Array, target: Target) -> None:
        """Finish an interrupted search from the bandwidths seen."""
        best = max(self._rows, key=lambda row: row["value"])
        if not np.isfinite(self.sigma1_):
            self.sigma1_ = best["sigma"]
        profile = BandwidthProfile(X, target, Gaussian(self.sigma1_), **self._options())
        point = profile(best["sigma"])
        self._set(point.u, point.sigma, point.value, point.sigma)
        self.surface_ = self._surface([point], profile.norm)

    def _share(self, u: float) -> float:
        return u if self.mixing == "linear" else float(u / np.hypot(u, 1.0 - u))

    def _set(self, u: float, sigma: float, value: float, narrow: float) -> None:
        self.u_ = self._share(u)
        self.sigma2_ = sigma
        self.value_ = value
        second: Kernel = Constant(1.0) if np.isinf(sigma) else Gaussian(sigma if sigma else narrow)
        rest = 1.0 - u if self.mixing == "linear" else float(np.sqrt(1.0 - self.u_**2))
        if self.u_ <= 0.0:
            self.kernel_ = second
        elif rest <= 0.0:
            self.kernel_ = Gaussian(self.sigma1_)
        else:
            first = Gaussian(self.sigma1_)
            self.kernel_ = Sum(Scaled(first, self.u_), Scaled(second, rest))

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
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        return tags
