"""TransformLearner: a linear map under a kernel, learned by climbing an objective."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import (
    ClassNamePrefixFeaturesOutMixin,
    OneToOneFeatureMixin,
    TransformerMixin,
    clone,
)
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from gramsmith.arguments import abridged
from gramsmith.kernels import (
    Composed,
    Gaussian,
    Kernel,
    Linear,
    LinearMap,
    Precomputed,
    as_kernel,
    column_moments,
)
from gramsmith.kernels.finite import checked_data
from gramsmith.learning.agop import (
    follow_gradients,
    largest_directions,
    leading_directions,
    symmetric_root,
)
from gramsmith.learning.ascent import (
    REMEDY,
    Ascent,
    Problem,
    climb_batches,
    degenerate,
    make_step_limits,
    maximise,
)
from gramsmith.learning.coordinates import REACH, Coordinates, map_coordinates
from gramsmith.learning.cross_fit import Matrix, cross_fit, subsample
from gramsmith.learning.learner import Learner, Path, Samples, check_variety
from gramsmith.learning.objective import Array, KernelObjective, get_objective, held_out_measure
from gramsmith.learning.penalty import Penalty, make_phases, spreading_price
from gramsmith.learning.samples import hold_out, make_draw
from gramsmith.learning.start import (
    check_rank,
    choose_start,
    deviations,
    distance_power,
    has_width,
    kernel_scale,
    make_start,
    mean_square,
)
from gramsmith.measures import Measure, Undefined
from gramsmith.parameters import with_parameters
from gramsmith.solvers import Outcome
from gramsmith.targets import Target

# What is said of others was tried on eight sets of 100 rows: errors of the learned kernel on new
# rows in percent, of which a few tenths are chance.
REGRESSIONS = 3  # whose gradients are followed; one and six end within a tenth
HALF = 0.5  # of what one of them teaches, from where a climb starts: 15.1; none 14.8, all 15.5
# share of a full map, that of its directions which alone are climbed: 18.1; all of them 19.2
FEW_DIRECTIONS = 0.95
NUMBERS = 0.1  # that may be climbed then, per sample: 18.1; a fifth of it 19.2, ten times it 18.0
# mean squared distance, in units of the kernel, around which widths are tried: 15.1; four times it
# 20.4, a quarter of it 14.6
SIZE = 2.0
# of the largest weight, what a smaller one counts as where only a part is kept; 0.1 and 1e-6 end
# within a tenth
LEAST = 1e-3
SINGLE = 2000  # samples from which tiles are float32 unless asked otherwise
PREPARATION = 20  # iterations of another measure where the wanted one has no value to start from
OF_CLIMBS = ("l1", "l2", "C", "tol", "dtype", "patience", "validation_fraction", "early_stopping")
FOLD_ROWS = 20_000  # that a fold learns from in batches, and whose gradients lead to its start


@dataclass(frozen=True, kw_only=True)
class MapPath(Path):
    """The maps between the start and the end of a climb, under a kernel."""

    base: Kernel  # on top of the map
    start: Array  # shape (p,) or (p, q)
    end: Array
    variance: Array  # of the features
    reach: Array  # where entries of the map count as grown without limit
    least: float = LEAST  # what a weight that became less counts as, relative to the largest

    def map(self, amount: float) -> Array:
        """Return the map at an amount of learning, of a mean squared distance of `SIZE`."""
        return sized(self.base, between(self.start, self.end, amount, self.least), self.variance)

    def kernel(self, amount: float, width: float | None = None) -> Composed:
        """Return the kernel at an amount of learning; without a width the map as it was climbed."""
        S = between(self.start, self.end, amount, self.least)
        return Composed(self.base, LinearMap(S if width is None else width * self.map(amount)))


def between(start: Array, end: Array, amount: float, least: float = LEAST) -> Array:
    """Return the map between two, for an amount from 0 to 1.

    Weights are interpolated on the log scale, a matrix that started from a multiple of the
    identity in the logarithms of the eigenvalues of SS', others on a straight line. What the climb
    has reduced below `least` of the largest counts as that: else a feature once lost would be so at
    every amount.
    """
    if amount == 1.0 or not end.any():
        return end
    if start.ndim == 1:
        ratio = np.divide(end, start, out=np.zeros_like(end), where=start > 0)
        return np.asarray(start * np.maximum(ratio, least * ratio.max()) ** amount)
    first = start[0, 0]
    if start.shape[0] == start.shape[1] and np.array_equal(start, first * np.eye(len(start))):
        values, U = np.linalg.eigh(end @ end.T)
        ratio = np.maximum(values, least**2 * values.max()) / first**2
        return np.asarray(first * (U * ratio ** (0.5 * amount)) @ U.T)
    return np.asarray((1.0 - amount) * start + amount * end)


def sized(base: Kernel, S: Array, variance: Array) -> Array:
    """Return the multiple of a map with a mean squared distance of `SIZE`."""
    size = 2.0 * mean_square(S, variance)
    return np.asarray(S * (kernel_scale(base) * np.sqrt(SIZE / size))) if size > 0 else S


def _shares(S: Array, variance: Array) -> Array:
    """Return the share of every feature in the mean squared distance of mapped samples."""
    share = np.square(S.reshape(len(S), -1)).sum(axis=1) * variance
    return np.asarray(share / share.sum() if share.sum() > 0 else share)


@with_parameters
class TransformLearner(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Learner):
    r"""Learn a linear map S of the inputs of a kernel by optimising an objective.

    .. math:: k_S(x, z) = k(S'x, S'z), \qquad \text{by default } \exp(-\|S'x - S'z\|^2)

    A diagonal S weighs features, a full S also combines them, a low-rank S looks for a few
    directions. The search overfits the training rows: the map is therefore
    shrunk towards the one it started from, by an amount chosen on held-out rows
    (`keep`: the weights relative to the start are raised to this power, a full map likewise in its
    eigenvalues, a low-rank one on the line between both), and its width is the one of smallest
    leave-one-out error of a ridge regression; at keep=1 both are those of the search.
    The start weighs all columns alike: standardise them first where their units differ.

    Parameters
    ----------
    kernel : Kernel or name, optional
        The kernel on top of the map, which must have a derivative. Default: exp(-|x - z|²). The
        search starts from the spread of the data, whatever the length scale of the kernel.
    structure : {"diagonal", "full", "low_rank"}, default="diagonal"
        The shape of S.
    rank : int, optional
        Columns of a low-rank S, refused for the others. Default: with keep="cross_fit" that of
        1, 2, 4, ... directions of gradient outer products, or all of them alike, with the smallest
        error on held-out rows; otherwise 2.
    measure : str, Measure or objective, default="ridge_loo"
        What is optimised: the name of a measure ("kta", "cka", "cka_debiased" are raised, "fsm",
        "fsm_loo", "csm" lowered), of an objective that needs a solve ("ridge_loo",
        "marginal_likelihood", "kernel_fisher"; "radius_margin", the logarithm of the bound of the
        L2-SVM), or an object of your own,
        see `gramsmith.learning.Objective`.
    solver : {"lbfgs", "ascent", "outer_product"}, default="lbfgs"
        Quasi-Newton, the paper's gradient ascent with backtracking, or the average outer product of
        the gradients of a ridge regression (recursive feature machines), which takes no measure,
        takes no penalty and is much cheaper: three regressions by default.
    early_stopping : bool or "auto", default=False
        Whether to hold samples out, so that fewer are trained on, and keep the map with the best
        measure on them; "auto" does so where there are enough.
    validation_fraction : float, default=0.2
        Share of the samples that is held out.
    patience : int, default=10
        Iterations without a better held-out value after which to stop.
    init : array of shape (p,) or (p, q), optional
        The first S, not all zero. Default: a multiple of the identity.
    l1 : float or "auto", default="auto"
        Price of Σ_k |s_k| σ_k, which removes features: s_k is row k of S and σ_k the standard
        deviation of feature k, so that units do not matter. "auto" charges a diagonal map that
        maximises a centred alignment a small price for spreading its weights a_k = s_k σ_k over
        features, 1.5/n Σ_k a_k / √(Σ_k a_k²), once the search has converged, and nothing
        otherwise. 0 is none.
    l2 : float, default=0.0
        Price of Σ_k |s_k|² σ_k².
    batch_size : int, optional
        Rows per step of stochastic ascent, for large n; needs solver="ascent". Every class has its
        share of a batch, and at least two rows. With keep="cross_fit" every fold learns from
        at most 20 000 rows, so that the choice of the amount takes no longer for more.
    dtype : {"float64", "float32"}, optional
        Type of the tiles, see `Gram`. Default: float32 from 2000 samples on, where its rounding
        averages out and an iteration takes half the time.

    Attributes
    ----------
    components_ : array of shape (q, p)
        S', as in scikit-learn's `NeighborhoodComponentsAnalysis`.
    feature_importances_ : array of shape (p,)
        Share of every feature in the mean squared distance of mapped samples.
    feature_importances_std_ : array of shape (p,)
        With keep="cross_fit": the standard deviation of that share over the folds, each with
        the amount that was taken.
    history_ : dict of arrays
        Per iteration: "value" (also as "measure"), "score", "step", "gradient_norm", and
        "held_out" if there is one.

    References
    ----------
    J.-B. Pothin, C. Richard, "Optimal feature representation for kernel machines using
    kernel-target alignment criterion".

    Examples
    --------
    >>> import numpy as np
    >>> import gramsmith as gs
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 5))
    >>> y = X[:, 0] * X[:, 1] > 0
    >>> learner = gs.TransformLearner(random_state=0).fit(X, y)
    >>> bool(learner.feature_importances_[:2].sum() > 0.95)
    True
    """

    kernel: Any = field(default=None, kw_only=False)
    structure: str = field(default="diagonal", kw_only=False)
    rank: int | None = field(default=None, kw_only=False)
    measure: Any = field(default="ridge_loo", kw_only=False)
    solver: str = field(default="lbfgs", kw_only=False)
    early_stopping: bool | str = field(default=False, kw_only=False)
    validation_fraction: float = 0.2
    patience: int = 10
    init: Any = None
    l1: float | str = "auto"
    l2: float = 0.0
    C: float = 100.0
    batch_size: int | None = None
    max_iter: int | None = None
    tol: float = 1e-6
    dtype: Any = None

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "structure": [StrOptions({"diagonal", "full", "low_rank"})],
        "rank": [Interval(Integral, 1, None, closed="left"), None],
        "early_stopping": ["boolean", StrOptions({"auto"})],
        "patience": [Interval(Integral, 1, None, closed="left")],
        "l1": [Interval(Real, 0, None, closed="left"), StrOptions({"auto"})],
        "l2": [Interval(Real, 0, None, closed="left")],
        "batch_size": [Interval(Integral, 8, None, closed="left"), None],
        "solver": [StrOptions({"lbfgs", "ascent", "outer_product"})],
    }
    _stored: ClassVar[dict[str, str]] = {
        "components_": "array q p | samples q p",
        "feature_importances_": "array p",
        "feature_importances_std_": "array p?",
        "history_": "value",
    }

    def transform(self, X: Any) -> Array:
        """Return X S, shape (n, q).

        Parameters
        ----------
        X : array of shape (n, p)

        Returns
        -------
        array of shape (n, q)
        """
        check_is_fitted(self)
        X = checked_data(self, X, dtype=(np.float64, np.float32), reset=False)
        S = np.asarray(self.kernel_.map.S, dtype=X.dtype)
        return np.asarray(X * S if S.ndim == 1 else X @ S)

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Return the names of the columns of `transform`: those of the features for a diagonal map.

        Parameters
        ----------
        input_features : array of str, optional
            Names of the features; default those seen in `fit`, or x0, x1, ...

        Returns
        -------
        array of str
        """
        check_is_fitted(self)
        if self.structure != "diagonal":
            return np.asarray(super().get_feature_names_out(input_features))
        return np.asarray(OneToOneFeatureMixin.get_feature_names_out(self, input_features))

    def _check_stored(self) -> None:
        if not np.isfinite(self.transform(np.ones((1, self.n_features_in_)))).all():
            raise ValueError("Expected a map of finite numbers.")

    # ---- the search ---------------------------------------------------------------------------

    def search(self, X: Any, target: Target, rng: Any, rank: int | None = None) -> MapPath:
        """Return the path from the start to the map that is learned from the rows."""
        base, w, q = self._base(X), target.w, self.rank if rank is None else rank
        q = check_rank(self.structure, q, X.shape[1])
        start = S = make_start(X, self.structure, q, self.init, kernel_scale(base), rng, w)
        Composed(base, LinearMap(S)).check_parameters()
        spread, variance = deviations(X, w), np.asarray(column_moments(X, w)[1])
        least, ascent = LEAST, None
        if self.solver == "outer_product":
            steps = REGRESSIONS if self.max_iter is None else int(self.max_iter)
            work = steps, self._engine(), self._monitor()
            ascent, S = follow_gradients(base, X, target, S, *work)
        elif self._crossing and self.init is None:
            S, ascent = self._follow_first(base, X, target, S)
        if ascent is None:
            ascent, S, least = self._climb(base, X, target, S, spread, rng)
        if S.shape != start.shape:  # a few directions of a full map
            S = symmetric_root(S @ S.T)
        return MapPath(
            value=ascent.value,
            outcome=ascent,
            history=ascent.history,
            has_width=not isinstance(base, Linear) and bool(S.any()),
            base=base,
            start=start,
            end=S,
            variance=variance,
            reach=0.1 * map_coordinates(start, spread, 1).values(np.full(S.size, REACH))["map__S"],
            least=least,
        )

    def _base(self, X: Any) -> Kernel:
        """Return the kernel on top of the map, or raise if it has no derivative."""
        base = Gaussian.from_gamma(1.0) if self.kernel is None else clone(as_kernel(self.kernel, X))
        vectors = base.requires_vector_input and not isinstance(base, Precomputed)
        if not (vectors and base.differentiable):
            raise base._no_derivative()
        return base

    def _follow_first(
        self, base: Kernel, X: Array, target: Target, start: Array
    ) -> tuple[Array, Ascent | None]:
        """Return where a climb starts, from gradient outer products; an outcome if interrupted."""
        n, engine, few, goal = X.shape[0], self._engine(), X, target
        if self.batch_size is not None and n > FOLD_ROWS:
            rows = subsample(target, np.arange(n), FOLD_ROWS, 0)
            few, goal = X[rows], target.take(rows)
        ascent, end = follow_gradients(base, few, goal, start, 1, engine)
        S = end if self.structure == "low_rank" else between(start, end, HALF)
        if self.structure == "full" and ascent.status != "interrupted":
            ascent, end = follow_gradients(base, X, target, end, REGRESSIONS + 1, engine)
            leading = leading_directions(end, FEW_DIRECTIONS)
            S = leading if leading.size <= NUMBERS * n else S
        return S, ascent if ascent.status == "interrupted" else None

    def _climb(
        self, base: Kernel, X: Any, target: Target, S: Array, spread: Array, rng: Any
    ) -> tuple[Ascent, Array, float]:
        """Climb from S; return how it went, the map, and what counts as the least weight."""
        objective: Any = get_objective(self.measure, self.C)
        kernel = Composed(base, LinearMap(S))
        learn, held, draw = np.arange(len(target.w)), None, None
        if self.early_stopping and (split := hold_out(target, self.validation_fraction, rng)):
            learn, held = split
        elif self.early_stopping is True:
            raise Undefined(
                "Expected enough samples of every class to hold two out, got too few for "
                f"validation_fraction={self.validation_fraction}. Use early_stopping=False."
            )
        if self.batch_size is not None and self.batch_size < len(learn):
            draw = make_draw(target, learn, int(self.batch_size), rng)

        def on(measure: Any, rows: Array) -> KernelObjective:
            given = (X, target) if len(rows) == X.shape[0] else (X[rows], target.take(rows))
            dtype = np.float32 if self.dtype is None and len(rows) >= SINGLE else self.dtype
            return KernelObjective(measure, *given, engine=self._engine(), dtype=dtype)

        power = distance_power(kernel) if S.ndim == 1 and draw is None else 1
        bounded = isinstance(objective, Measure) and objective.bounded
        if self.init is None and not (bounded and has_width(base)):
            # Where the start tells little an alignment can favour the identity; debiased it cannot.
            deciding = ("cka_debiased", objective) if bounded else (objective,)
            rows = learn if draw is None else draw()
            wide = choose_start(kernel, S, (on(m, rows) for m in deciding), every=bounded)
            if wide is None:  # another measure leads to where this one has a value
                other = clone(self).set_params(measure="cka_debiased", early_stopping=False, init=S)
                other.set_params(max_iter=PREPARATION, l1=0.0, l2=0.0, callback=None, verbose=0)
                wide = other._climb(base, X, target, S, spread, rng)[1]
            S = wide
        monitor = self._monitor(self.patience)
        # A centred alignment likes to use a little of every feature.
        spreads = self.l1 == "auto" and self.structure == "diagonal" and bounded
        spreading = spreading_price(len(learn)) * (spreads and objective.translation_invariant)
        l1 = 0.0 if isinstance(self.l1, str) else float(self.l1)
        penalty = Penalty(l1, float(self.l2), spreading, spread)
        free_first = draw is None and not (self.init is not None and penalty.asked)
        on_log = self._crossing and draw is None
        goal: Any = on(objective, learn) if draw is None else None
        watched = None if held is None else on(held_out_measure(objective), held)
        copied = clone(kernel)
        for coordinates, priced, most in make_phases(
            S, penalty, power, free_first, self._most_iterations, on_log
        ):
            price = penalty.around(S) if priced else None

            def named(theta: Array, c: Coordinates = coordinates) -> dict[str, Any]:
                return {"S": c.values(theta)["map__S"]}

            def held_out(theta: Array, c: Coordinates = coordinates) -> float:
                c.write(copied, theta)
                return 0.0 if watched is None else watched.sign * watched.value(copied)

            def problem(c: Coordinates = coordinates, price: Any = price) -> Problem:
                return Problem(kernel, c, on(objective, draw()) if draw else goal, price)

            monitor.parameters, monitor.held_out = named, held_out if watched else None
            kernel.set_params(map__S=S)
            theta = np.clip(coordinates.read(kernel), *coordinates.limits.T)
            if goal is None:
                ascent = climb_batches(problem, theta, monitor, coordinates.limits, most)
            else:
                ascent = maximise(
                    problem(),
                    theta,
                    monitor,
                    solver=self.solver,
                    limits=coordinates.limits,
                    step_limits=make_step_limits(coordinates, careful=price is not None),
                    max_iter=most,
                    tol=float(self.tol),
                    unit=goal.unit,
                )
            S = np.asarray(named(ascent.theta)["S"])
            ended = ascent.status == "interrupted" or monitor.status == "stopped"
            if ended or (ascent.status == "max_iter" and not penalty.asked):
                break
        # An alignment does not see the size of a nearly constant kernel: a price drives S towards
        # zero without end, and what is left of it there is nothing.
        if penalty.l1 and degenerate(Composed(base, LinearMap(S)), X) == "constant":
            S = np.zeros_like(S)
        return ascent, S, 0.0 if penalty.l1 else LEAST  # what a price has removed stays out

    # ---- what differs from other learners -------------------------------------------------------

    _dense_rows = True

    def _check_options(self) -> None:
        objective = get_objective(self.measure, self.C)
        if self.batch_size is not None and self.solver != "ascent":
            raise ValueError(
                f'Expected solver="ascent" with batch_size={self.batch_size!r}, got '
                f"solver={self.solver!r}. Use gradient ascent for batches."
            )
        usual = vars(TransformLearner)
        given = [name for name in OF_CLIMBS if getattr(self, name) not in (usual[name], 0)]
        given += ["measure"] * (objective.name != "ridge_loo")
        # the full map is followed: of one with fewer columns only the size would count
        given += ["init"] * (self.init is not None and self.structure == "low_rank")
        if self.solver == "outer_product" and given:
            said = ", ".join(f"{name}={abridged(getattr(self, name))}" for name in given)
            raise ValueError(
                'Expected nothing to optimise with solver="outer_product", which follows the '
                f"gradients of ridge regressions alone, got {said}. Leave it out, or "
                'use solver="lbfgs".'
            )
        if self.rank is not None and self.structure != "low_rank":
            raise ValueError(
                f'Expected structure="low_rank" with rank={abridged(self.rank)}, got '
                f"structure={self.structure!r}. Leave the rank out, or ask for a low-rank map."
            )

    def _rows_to_search(self, target: Target, rows: Array, seed: int) -> Array:
        if self.solver == "outer_product":  # whose regressions draw their own
            return rows
        if self.batch_size is not None:
            fold = self._crossing and len(rows) < len(target.w)
            return subsample(target, rows, FOLD_ROWS, seed) if fold else rows
        return super()._rows_to_search(target, rows, seed)

    def _options(self, samples: Samples) -> dict[str, Any]:
        """Return the number of directions that serves rows best which did not teach.

        These are the largest of gradient outer products; all of them count alike, as at the start.
        """
        X, target = samples.X, samples.target
        free = self.structure == "low_rank" and self.rank is None and self.init is None
        if not (free and self._crossing):
            return {}
        p, base = X.shape[1], self._base(X)
        ranks = [*(2**k for k in range(p.bit_length()) if 2**k < p), p]
        variance = np.asarray(column_moments(X, target.w)[1])
        alike = make_start(X, "full", p, None, kernel_scale(base), None, target.w)

        def learn(rows: Array) -> Matrix:
            goal, work = check_variety(target.take(rows)), (REGRESSIONS, self._engine())
            ascent, S = follow_gradients(base, X[rows], goal, alike, *work, seed=samples.seed)
            if ascent.status == "interrupted":
                raise KeyboardInterrupt

            def matrix(rank: float, width: float, a: Array, b: Array | None) -> Array:
                few = largest_directions(S, int(rank)) if rank < p else np.eye(p)
                kernel = Composed(base, LinearMap(width * sized(base, few, variance)))
                return np.asarray(kernel(X[a], None if b is None else X[b]))

            return matrix

        tried = cross_fit(
            *(learn, target, samples.folds, samples.groups),
            widths=not isinstance(base, Linear),
            amounts=tuple(map(float, ranks)),
            seed=samples.seed,
        )
        return {} if tried is None else {"rank": ranks[tried.losses.argmin()]}

    def _set_fitted(self, path: Any, width: float | None, samples: Samples, paths: Any) -> None:
        self.kernel_ = path.kernel(self.keep_, width)
        S = self.kernel_.map.S
        self.components_ = np.diag(S) if S.ndim == 1 else np.ascontiguousarray(S.T)
        self.feature_importances_ = _shares(S, path.variance)
        if paths:  # of the folds
            each = [_shares(fold.map(self.keep_), path.variance) for fold in paths]
            self.feature_importances_std_ = np.std(each, axis=0)

    def _remarks(self, path: Any, samples: Samples) -> list[Outcome]:
        if not path.end.any():
            status, advice = "empty", f"The penalty l1={self.l1} removes every feature. Lower it."
        elif self.keep_ == 1.0 and (np.abs(path.end) >= path.reach).any():
            status, advice = (
                "unbounded",
                "Weights grow without limit, as they do for separable data; they are bounded by "
                '1000 times their start. Use measure="cka", a penalty l2, or early_stopping=True.',
            )
        elif extreme := degenerate(self.kernel_, samples.X):
            smaller = "smaller" if extreme == "the identity" else "larger"
            status, advice = (
                "degenerate",
                f"The kernel is nearly {extreme}. {REMEDY[extreme]} If the search began there, "
                f"pass a {smaller} init.",
            )
        else:
            return []
        return [replace(path.outcome, status=status, advice=advice)]

    @property
    def _n_features_out(self) -> int:
        return int(self.components_.shape[0])
