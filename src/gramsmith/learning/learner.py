"""Learner: what all learners of kernels share, which is everything but the search.

A learner is ``search(X, target, rng) -> Path``, a path is ``kernel(amount, width)``, from the
kernel that the search started from (amount 0) to the one it found (amount 1). `Learner.fit` checks,
drops rows of weight zero, makes folds, searches on all rows and in each fold, chooses how much to
keep and which width goes with it, and sets the fitted attributes.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from gramsmith.arguments import check_params
from gramsmith.gram import ENGINES, Engine, SharesEngine, as_engine
from gramsmith.gram.threads import dense_work
from gramsmith.gram.views import Views, take_rows
from gramsmith.kernels import Kernel
from gramsmith.kernels.finite import checked_data, count_samples
from gramsmith.kernels.symbolic import refuse_symbols
from gramsmith.learning.ascent import BROKEN_OFF, FEW_ITERATIONS, ITERATIONS
from gramsmith.learning.cross_fit import (
    ROWS,
    WIDTH,
    Folds,
    Matrix,
    choose_width,
    cross_fit,
    make_folds,
    subsample,
)
from gramsmith.learning.monitor import Callback, Monitor, Stopped
from gramsmith.learning.objective import get_objective, responses
from gramsmith.measures import Measure, Undefined
from gramsmith.parameters import forget_optional, with_parameters
from gramsmith.solvers import Outcome, warn_unless_converged
from gramsmith.targets import (
    DEPRECATED,
    TARGETS,
    Target,
    check_groups,
    check_weights,
    make_target,
    normalised_weights,
)

Array = npt.NDArray[Any]

CAUTIOUS = 0.25  # the amount after an interrupt: in trials it did no harm to any criterion
QUARTER = "A quarter of what was learned is kept; fit again for the amount that pays."


@dataclass(frozen=True, kw_only=True)
class Path:
    """The kernels from where a search started to what it found.

    A path of your own gives `kernel`. With `has_width`, multiples of the inputs are kernels of
    their own, of which the best is chosen.

    Parameters
    ----------
    value : float, default=nan
        The measure at the end.
    outcome : Outcome
        How the search ended.
    history : dict of arrays, default={}
        Numbers per iteration.
    has_width : bool, default=False
    """

    value: float = np.nan
    outcome: Outcome = field(default_factory=lambda: Outcome(status="converged"))
    history: dict[str, Array] = field(default_factory=dict)
    has_width: bool = False

    def kernel(self, amount: float, width: float | None = None) -> Any:
        """Return the kernel at an amount of learning, its inputs times a width.

        Parameters
        ----------
        amount : float
            From 0, the start, to 1.
        width : float, optional
            Relative to a typical one; None is the width that was learned.

        Returns
        -------
        Kernel
        """
        raise NotImplementedError


@dataclass(frozen=True)
class Samples:
    """What a learner learns from: the rows that count, and all that were given."""

    X: Any
    target: Target
    groups: Array | None
    given: Any  # X with the rows of weight zero
    rows: Array  # numbers of the rows that count among those given
    folds: Folds  # none where the amount is given
    seed: int  # of what is drawn in every fold


RENAMED = {"shrinkage": "keep", "shrinkage_": "keep_", "shrinkage_curve_": "keep_curve_"}
GONE = ("search", "parameters", "bounds")  # parameters of 0.2 that are gone


def _renamed(state: dict[str, Any]) -> dict[str, Any]:
    """Return the state of a file of format 2, in which `keep` was called shrinkage, as now."""
    params, fitted = (
        {RENAMED.get(name, name): value for name, value in state[kind].items() if name not in GONE}
        for kind in ("params", "fitted")
    )
    if params.get("early_stopping") == "auto":  # which was the default
        params["early_stopping"] = False
    return {**state, "params": params, "fitted": fitted}


@with_parameters
class Learner(SharesEngine, BaseEstimator):
    """A learner of kernels: `search` is all that a learner of your own needs.

    Its constructor takes the parameters below, and under `gramsmith.parameters.with_parameters` its
    own besides, which are annotated defaults. Docstrings are completed by what stands here.

    Parameters
    ----------
    keep : float or "cross_fit", default="cross_fit"
        How much of what was learned is kept: 0 is the start, 1 all of it. "cross_fit" tries 0, 1/4,
        1/2, 3/4 and 1 over folds, learning from the other rows, and takes the smallest amount
        within one standard error of the best. It learns from at most 1000 rows where the objective
        needs a solve.
    cv : int, splitter or iterable, optional
        The folds; default four, in which classes have their share and groups stay together.
    target : {"auto", "simplex", "one_hot", "balanced", "imbalanced"}, default="auto"
        What similarity should look like, see `gramsmith.targets.make_target`.
    task : {"auto", "classification", "regression"}, default="auto"
        Whole numbers are classes unless this says otherwise.
    memory : float, optional
        Budget in MiB of the tiles, see `Gram`.
    n_jobs : int, optional
        Threads that evaluate tiles.
    engine : Engine, optional
        Who evaluates tiles, see `Gram`.
    random_state : int, RandomState or None, default=None
        Seeds the folds and whatever else is drawn.
    callback : callable, optional
        Called with a dict of numbers at every step, also in the folds: of iterations with the
        parameters by name too ("S", a map; "sigma", bandwidths), of sweeps with "done" and "total"
        tiles, or columns. A true result stops the fit, and what was learned so far is kept; with
        keep="cross_fit" a quarter of it, because the amount that pays is not known yet. A learner
        that makes one pass over the data has no result before the end of that pass.
    solver : {"lbfgs", "ascent"}, default="lbfgs"
        Quasi-Newton, or gradient ascent with backtracking.
    C : float, default=100.0
        Penalty of the squared slacks for "radius_margin".
    max_iter : int, optional
        Largest number of iterations, per start. Default: ten with keep="cross_fit", where stopping
        soon is part of the rule, and 200 otherwise.
    tol : float, default=1e-6
        Stop when a step improves the measure by less than this.
    dtype : {"float64", "float32"}, optional
        Type of the tiles, see `Gram`.
    verbose : int, default=0
        Print a line per step.

    Attributes
    ----------
    kernel_ : Kernel
        The learned kernel, for any estimator.
    keep_ : float
        How much of what was learned is in the kernel. At 0 nothing is, because on held-out rows it
        did not pay: `kernel_` is what the search started from.
    outcome_ : str
        How much is kept, and why, in one sentence.
    keep_curve_ : dict of arrays
        With keep="cross_fit": "amount", "loss" (squared error on held-out rows) and
        "error" (standard error of the difference to the best).
    value_ : float
        The measure of all that was learned, that at keep=1, on the samples that were searched;
        where less is kept it is not that of `kernel_`.
    n_iter_ : int
        The number of iterations.
    history_ : dict of arrays
        Of the best start, per iteration: "value", "score", "step", "gradient_norm".
    n_features_in_ : int
        The number of features, for kernels of vectors.
    """

    keep: float | str = "cross_fit"
    cv: Any = None
    target: str = "auto"
    task: str = "auto"
    memory: float | None = None
    n_jobs: int | None = None
    engine: Any = None
    random_state: Any = None
    callback: Callback | None = None
    verbose: int = 0

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "target": [StrOptions({*TARGETS, *DEPRECATED}, deprecated=set(DEPRECATED))],
        "task": [StrOptions({"auto", "classification", "regression"})],
        "keep": [Interval(Real, 0, 1, closed="both"), StrOptions({"cross_fit"})],
        "cv": ["cv_object"],
        "memory": [Interval(Real, 0, None, closed="neither"), None],
        "n_jobs": [Integral, None],
        "engine": ENGINES,
        "dtype": [StrOptions({"float64", "float32"}), type, np.dtype, None],
        "random_state": ["random_state"],
        "callback": [callable, None],
        "verbose": ["verbose"],
        # of some learners
        "solver": [StrOptions({"lbfgs", "ascent"})],
        "max_iter": [Interval(Integral, 1, None, closed="left"), None],
        "tol": [Interval(Real, 0, None, closed="left")],
        "C": [Interval(Real, 0, None, closed="neither")],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
    }
    _stored: ClassVar[dict[str, str]] = {
        "kernel_": "kernel",
        "value_": "real",
        "n_iter_": "whole",
        "keep_": "real",
        "keep_curve_": "value?",
    }
    _stored_upgrades: ClassVar[dict[int, Any]] = {2: _renamed}
    _dense_rows: ClassVar[bool] = False  # whether samples must be dense rows of numbers
    _mistakes: ClassVar[bool] = False  # whether classes are judged by mistakes, see `cross_fit`

    def search(self, X: Any, target: Target, rng: Any) -> Path:
        """Return the path that is learned from the rows.

        Parameters
        ----------
        X : samples
            Those that count, or a part of them.
        target : Target
            Their labels or values, and weights.
        rng : RandomState

        Returns
        -------
        Path
        """
        raise NotImplementedError

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Any:
        """Learn the kernel.

        Parameters
        ----------
        X : array or CSR matrix of shape (n, p), sequence of n objects, or one view per kernel
            What the kernels take: sparse rows stay sparse, or are refused by what needs dense ones;
            a kernel matrix for "precomputed"; for `KernelCombination` also a tuple with one view
            per kernel, or a list of matrices or Grams.
        y : array of shape (n,) or (n, q)
            Labels or values.
        sample_weight : array of shape (n,), optional
            How much every row counts; times any number the same. Objectives that need a solve take
            none, except "kernel_fisher" and "ridge_loo".
        groups : array of shape (n,), optional
            Rows of one group are never on both sides of a fold.

        Returns
        -------
        self
        """
        for outcome in self._learn(X, y, sample_weight, groups):
            warn_unless_converged(outcome, type(self).__name__)
        return self

    def _learn(
        self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None
    ) -> list[Outcome]:
        """Fit, and return what there is to say about the search."""
        check_params(self)
        self._check_options()
        X, y = self._check_samples(X, y, sample_weight)
        samples, rng = self._prepare(X, y, sample_weight, groups)
        target, seed = samples.target, samples.seed
        everything, fold_paths = np.arange(len(samples.rows)), list[Path]()

        def learn(rows: Array) -> Matrix:
            check_variety(target.take(rows))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)  # all rows say it once
                path = self._search(samples, rows, np.random.RandomState(seed), options)
            if path.outcome.status in BROKEN_OFF:
                raise KeyboardInterrupt if path.outcome.status == "interrupted" else Stopped
            fold_paths.append(path)
            if self.verbose:
                print(f"[{type(self).__name__}] fold {len(fold_paths)} of {len(samples.folds)}")
            return self._matrix(path, samples.X, rows)

        with dense_work(len(everything)):
            options = self._options(samples)
            path = self._search(samples, everything, rng, options)
            asked, curve, outcome = self._asked_amount(samples.X), None, path.outcome
            amount = CAUTIOUS if asked is None else asked
            if asked is None and outcome.status not in BROKEN_OFF:
                try:
                    with warnings.catch_warnings():
                        # A sum with negative weights may be indefinite: machines say so.
                        warnings.filterwarnings("ignore", ".*negative eigenvalues", UserWarning)
                        curve = cross_fit(
                            *(learn, target, samples.folds, samples.groups),
                            widths=path.has_width,
                            mistakes=self._mistakes,
                            seed=seed,
                        )
                    amount = 0.0 if curve is None else curve.amount
                    if curve is None:
                        warnings.warn(
                            f"{type(self).__name__}: expected rows enough to learn from a part of "
                            f"them and judge on the rest, got {len(everything)}; the kernel it "
                            "started from is kept. Give more rows, or the amount of learning, "
                            "keep=1.0 for all of it.",
                            UserWarning,
                            stacklevel=3,
                        )
                except Stopped:  # which the callback asked for
                    pass
                except KeyboardInterrupt:
                    outcome = replace(outcome, status="interrupted", advice=QUARTER)
            width = None if asked == 1.0 else 1.0
            if path.has_width and asked != 1.0:
                rows = subsample(target, everything, ROWS, seed)
                matrix = self._matrix(path, samples.X, everything)
                chosen = choose_width(matrix, amount, rows, responses(target), target.w)
                width = float(WIDTH ** chosen[0])
            forget_optional(self)
            self.keep_ = amount
            if curve is not None:
                numbers = {"amount": curve.amounts, "loss": curve.losses, "error": curve.errors}
                self.keep_curve_ = numbers
            self.value_ = float(path.value)
            self.n_iter_ = int(path.outcome.n_iter)
            if path.history:
                self.history_ = path.history
            self._set_fitted(path, width, samples, fold_paths if curve is not None else [])
            # that a search stopped early may have been the intention
            early = self._crossing and getattr(self, "max_iter", None) is None
            if (early and outcome.status == "max_iter") or outcome.status == "stopped":
                outcome = replace(outcome, status="converged", advice="")
            if self.verbose:
                print(f"[{type(self).__name__}] {self.outcome_}")
            return [outcome, *self._remarks(path, samples)]

    # ---- what a learner may do otherwise ---------------------------------------------------------

    def _check_options(self) -> None:
        """Raise where parameters do not go together."""
        if hasattr(self, "measure"):
            get_objective(self.measure)

    def _check_samples(self, X: Any, y: Any, sample_weight: Any = None) -> tuple[Any, Any]:
        """Return samples and targets, checked where they are numeric."""
        kernel = getattr(self, "kernel", None)
        if self._dense_rows:
            refuse_symbols(type(self).__name__, X)
        elif isinstance(kernel, Kernel) and not kernel.requires_vector_input:
            return X, y
        sparse = self.__sklearn_tags__().input_tags.sparse
        checked: tuple[Any, Any] = checked_data(
            self,
            X,
            y,
            dtype=(np.float64, np.float32),
            accept_sparse="csr" if sparse else False,
            multi_output=True,
            ensure_min_samples=2,
        )
        return checked

    def _take(self, X: Any, rows: Array) -> Any:
        """Return rows of the samples to learn from."""
        return take_rows(X, rows)

    def _asked_amount(self, X: Any) -> float | None:
        """Return the amount to keep, None where it is cross-fitted."""
        return None if isinstance(self.keep, str) else float(self.keep)

    def _options(self, samples: Samples) -> dict[str, Any]:
        """Return options of `search` that the folds decide."""
        return {}

    def _rows_to_search(self, target: Target, rows: Array, seed: int) -> Array:
        """Return the rows that are searched: a solve takes a limited number where folds follow."""
        if self._crossing and self._solves:
            return subsample(target, rows, ROWS, seed)
        return rows

    def _matrix(self, path: Path, X: Any, learned: Array) -> Matrix:
        """Return the kernels of a path, that some rows of X taught, between any rows of X."""

        def matrix(amount: float, width: float, rows: Array, columns: Array | None) -> Array:
            kernel, left = path.kernel(amount, width), take_rows(X, rows)
            return np.asarray(kernel(left, None if columns is None else take_rows(X, columns)))

        return matrix

    def _set_fitted(self, path: Any, width: float | None, samples: Samples, paths: Any) -> None:
        """Set the fitted attributes that are not the same for all."""
        self.kernel_ = path.kernel(self.keep_, width)

    def _remarks(self, path: Any, samples: Samples) -> list[Outcome]:
        """Return what is to be said about the result, besides how the search ended."""
        return []

    @property
    def outcome_(self) -> str:
        """How much of what was learned is kept, and why, in one sentence."""
        if not hasattr(self, "keep_"):
            raise AttributeError(f"{type(self).__name__} has no outcome_ yet: call fit first.")
        share = {0.0: "Nothing", 1.0: "All"}.get(self.keep_, f"{self.keep_:.0%}".replace("%", " %"))
        kept = f"{share} of what was learned is kept"
        curve = getattr(self, "keep_curve_", None)
        if not isinstance(self.keep, str):
            return f"{kept}, as keep={self.keep:g} asks."
        if curve is None:
            reasons = {
                0.0: "the rows are too few to judge it on some of them",
                1.0: "there is no amount to choose",
            }
            return f"{kept}: {reasons.get(self.keep_, 'the search was broken off')}."
        losses = dict(zip(curve["amount"].tolist(), curve["loss"].tolist(), strict=True))
        best = min(losses, key=losses.__getitem__)
        why = f"the loss on held-out rows is {losses[self.keep_]:.4g}"
        why += f", without it {losses[0.0]:.4g}" if self.keep_ else ""
        if best != self.keep_:
            why += f"; at {best:g} it is {losses[best]:.4g}, better by one standard error at most"
        elif not self.keep_:
            why += ", and any more makes it larger"
        return f"{kept}: {why}."

    # ---- how -------------------------------------------------------------------------------------

    @property
    def _crossing(self) -> bool:
        return isinstance(self.keep, str)

    @property
    def _solves(self) -> bool:
        """Whether the measure is an objective of the dense matrix."""
        return hasattr(self, "measure") and not isinstance(get_objective(self.measure), Measure)

    @property
    def _most_iterations(self) -> int:
        asked = getattr(self, "max_iter", None)
        return int(asked or (FEW_ITERATIONS if self._crossing else ITERATIONS))

    def _monitor(self, patience: int = 10) -> Monitor:
        """Return what is told of every iteration of a search."""
        return Monitor(type(self).__name__, None, patience, self.verbose, self.callback)

    def _engine(self) -> Engine:
        """Return who evaluates tiles."""
        return as_engine(self.engine, self.n_jobs, self.memory)

    def _prepare(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> tuple[Samples, Any]:
        """Return the rows that count with their folds, and what draws the rest."""
        n = X.n if isinstance(X, Views) else count_samples(X)
        w = normalised_weights(check_weights(sample_weight, n))
        groups, rows, given = check_groups(groups, n), np.flatnonzero(w), X
        y = y if sp.issparse(y) else as_given(y)
        if count_samples(y) != n:
            raise ValueError(
                f"Expected X and y of the same length, got {n} and {count_samples(y)}: "
                "inconsistent numbers of samples."
            )
        if len(rows) < n:
            X, y = self._take(X, rows), y[rows]
            groups = None if groups is None else groups[rows]
        weights = None if sample_weight is None else w[rows]
        target = make_target(y, self.target, task=self.task, sample_weight=weights)
        rng, folds, seed = check_random_state(self.random_state), [], 0
        if self._asked_amount(X) is None:
            seed = int(rng.randint(2**31 - 1))
            folds = make_folds(self.cv, y, target, groups, seed, rows, n)
        return Samples(X, target, groups, given, rows, folds, seed), rng

    def _search(self, samples: Samples, rows: Array, rng: Any, options: dict[str, Any]) -> Path:
        """Return the path that some of the rows teach."""
        X, target = samples.X, samples.target
        rows = self._rows_to_search(target, rows, samples.seed)
        if len(rows) < len(target.w):
            X, target = self._take(X, rows), target.take(rows)
        return self.search(X, target, rng, **options)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        tags.input_tags.sparse = not self._dense_rows
        return tags


def check_variety(target: Target) -> Target:
    """Return a target whose rows differ, or raise `Undefined`."""
    if not target.norm(target.M_centred) > 0:
        raise Undefined("Expected rows that differ in their target, got one value.")
    return target


def as_given(y: Any) -> Any:
    """Return targets as an array, where they are one."""
    try:
        return np.asarray(y)
    except ValueError:  # lists of several lengths, on which `make_target` has a word to say
        return y
