"""KernelLearner: every free parameter of any kernel, by gradient."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval

from gramsmith.arguments import check_params
from gramsmith.kernels import Kernel, default_kernel
from gramsmith.learning.ascent import (
    REMEDY,
    SEARCH_CONSTRAINTS,
    Ascent,
    Problem,
    degenerate,
    make_step_limits,
    maximise,
)
from gramsmith.learning.coordinates import Coordinates, make_coordinates
from gramsmith.learning.cross_fit import CAUTIOUS, QUARTER, ROWS, CrossFitted, Matrix, subsample
from gramsmith.learning.monitor import Callback, Monitor
from gramsmith.learning.objective import (
    OBJECTIVE_CONSTRAINTS,
    Array,
    get_objective,
    make_objective,
)
from gramsmith.learning.samples import drop_zero_weights, take_rows
from gramsmith.measures import Measure
from gramsmith.solvers import warn_unless_converged
from gramsmith.targets import make_target


@dataclass(frozen=True)
class Climb:
    """Where a climb led: the parameters at its start and end, and what lies between them."""

    kernel: Kernel
    coordinates: Coordinates
    start: Array
    outcome: Ascent
    values: Array  # that every start reached

    def at(self, amount: float) -> Kernel:
        """Return the kernel at an amount of learning."""
        kernel: Kernel = clone(self.kernel)
        end = self.outcome.theta
        theta = end if amount == 1.0 else self.start + amount * (end - self.start)
        self.coordinates.write(kernel, theta)
        return kernel

    def matrix(
        self, X: Any, amount: float, width: float, rows: Array, columns: Array | None
    ) -> Array:
        """Return the kernel of rows of X at an amount of learning; its width is a parameter."""
        kernel, left = self.at(amount), take_rows(X, rows)
        return np.asarray(kernel(left) if columns is None else kernel(left, take_rows(X, columns)))


class KernelLearner(CrossFitted):
    """Learn the parameters of any kernel expression by climbing an objective.

    Positive parameters (length scales, factors) move on the log scale, others as they are. With
    several starts the best result is kept. It is then drawn back towards the first start, on the
    same scales, by an amount chosen on rows that did not teach (`keep`).

    Parameters
    ----------
    kernel : Kernel or name, optional
        The kernel whose parameters are the first start. Default: a Gaussian that suits the spread
        of the data.
    measure : str, Measure or objective, default="ridge_loo"
        The name of a measure, "radius_margin" (logarithm of the bound), "marginal_likelihood" (per
        sample), "ridge_loo" (mean squared leave-one-out error of kernel ridge) or "kernel_fisher";
        or an object of your own, see `gramsmith.learning.Objective`.
    solver : {"lbfgs", "ascent"}, default="lbfgs"
        Quasi-Newton, or gradient ascent with backtracking.
    keep : float or "cross_fit", default="cross_fit"
        How much of what was learned is kept: 0 is the start, 1 where the climb ended. "cross_fit"
        tries 0, 1/4, 1/2, 3/4 and 1 over four folds, learning from the other rows, and takes the
        smallest amount within one standard error of the best. It learns from at most 1000 rows
        where the objective needs a solve.
    cv : int, splitter or iterable, optional
        The folds of keep="cross_fit"; default four, in which classes have their share and
        groups stay together.
    n_starts : int, default=1
        Number of starts; the second and later ones are random around the first.
    parameters : list of str, optional
        Nested names of the parameters to learn; default all.
    bounds : dict, optional
        (low, high) by nested name, in the units of the parameter.
    target : {"auto", "simplex", "one_hot", "balanced", "uneven"}, default="auto"
        What similarity should look like, see `gramsmith.targets.make_target`.
    task : {"auto", "classification", "regression"}, default="auto"
        Whole numbers are classes unless this says otherwise.
    C : float, default=100.0
        Penalty of the squared slacks for "radius_margin".
    max_iter : int, optional
        Largest number of iterations per start. Default: ten with keep="cross_fit", where
        stopping soon is part of the rule, and 200 otherwise.
    tol : float, default=1e-6
        Stop when a step improves the measure by less than this.
    memory : float, optional
        Budget in MiB for tiles, see `Gram`.
    n_jobs : int, optional
        Threads, see `Gram`.
    engine : Engine, optional
        Who evaluates the tiles, see `Gram`; instead of `n_jobs` and `memory`.
    dtype : {"float64", "float32"}, optional
        Type of the tiles, see `Gram`.
    random_state : int, RandomState or None, default=None
        Seeds the random starts and the folds.
    callback : callable, optional
        Called after every iteration with a dict of its numbers; a true result stops the
        search, and the best kernel so far is kept.
    verbose : int, default=0
        Print a line per iteration.

    Attributes
    ----------
    kernel_ : Kernel
        The kernel with the learned parameters.
    keep_ : float
        How much of what was learned is in the kernel.
    keep_curve_ : dict of arrays
        With keep="cross_fit": "amount", "loss" (squared error on rows that did not teach) and
        "error" (standard error of the difference to the best).
    value_ : float
        The measure at the end of the climb.
    values_ : array of shape (n_starts,)
        The measure that every start reached; NaN where a start failed.
    history_ : dict of arrays
        Of the best start, per iteration: "value", "score", "step", "gradient_norm".
    n_iter_ : int
        Iterations of the best start.
    n_features_in_ : int
        The number of features, for kernels of vectors.

    Examples
    --------
    >>> import numpy as np
    >>> import gramsmith as gs
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(80, 2))
    >>> y = np.sin(3 * X[:, 0])
    >>> kernel = gs.Gaussian(np.ones(2)) + gs.Linear()
    >>> learner = gs.KernelLearner(kernel, random_state=0).fit(X, y)
    >>> bool(learner.kernel_.k1.length_scale[0] < learner.kernel_.k1.length_scale[1])
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_starts": [Interval(Integral, 1, None, closed="left")],
        "parameters": ["array-like", None],
        "bounds": [dict, None],
        "random_state": ["random_state"],
        **OBJECTIVE_CONSTRAINTS,
        **SEARCH_CONSTRAINTS,
        **CrossFitted._parameter_constraints,
    }
    _stored: ClassVar[dict[str, str]] = {
        "kernel_": "kernel",
        "value_": "real",
        "values_": "loose *",
        "history_": "value",
        "n_iter_": "whole",
    }

    def __init__(
        self,
        kernel: Any = None,
        measure: Any = "ridge_loo",
        solver: str = "lbfgs",
        *,
        keep: float | str = "cross_fit",
        cv: Any = None,
        n_starts: int = 1,
        parameters: Any = None,
        bounds: Any = None,
        target: str = "auto",
        task: str = "auto",
        C: float = 100.0,
        max_iter: int | None = None,
        tol: float = 1e-6,
        memory: float | None = None,
        n_jobs: int | None = None,
        engine: Any = None,
        dtype: Any = None,
        random_state: Any = None,
        callback: Callback | None = None,
        verbose: int = 0,
    ) -> None:
        self.kernel = kernel
        self.measure = measure
        self.solver = solver
        self.keep = keep
        self.cv = cv
        self.n_starts = n_starts
        self.parameters = parameters
        self.bounds = bounds
        self.target = target
        self.task = task
        self.C = C
        self.max_iter = max_iter
        self.tol = tol
        self.memory = memory
        self.n_jobs = n_jobs
        self.engine = engine
        self.dtype = dtype
        self.random_state = random_state
        self.callback = callback
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> KernelLearner:
        """Learn the parameters.

        Parameters
        ----------
        X : array of shape (n, p), or sequence of n objects
        y : array of shape (n,) or (n, q)
            Labels or values.
        sample_weight : array of shape (n,), optional
            How much every row counts; times any number the same. Objectives that need a solve take
            none, except "kernel_fisher" and "ridge_loo".
        groups : array of shape (n,), optional
            Rows of one group are never on both sides of a fold.

        Returns
        -------
        KernelLearner
        """
        check_params(self)
        measure = get_objective(self.measure, self.C)
        if not isinstance(self.kernel, Kernel) or self.kernel.requires_vector_input:
            X, y = self._check_samples(X, y)
        cv = self._splits(y, sample_weight, groups)
        X, y, w, groups = drop_zero_weights(X, y, sample_weight, groups)
        target = make_target(y, self.target, task=self.task, sample_weight=w)
        rng = check_random_state(self.random_state)
        seed = int(rng.randint(2**31 - 1)) if self._crossing else 0
        first = default_kernel(self.kernel, X, w)
        if not first.learnable:
            raise first._no_derivative()
        first.check_parameters()
        everything = np.arange(len(target.w))

        def climb(rows: Array) -> Climb:
            if self._crossing and not isinstance(measure, Measure):
                rows = subsample(target, rows, ROWS, seed)
            whole = len(rows) == len(target.w)
            part, goal = (X, target) if whole else (take_rows(X, rows), target.take(rows))
            kernel = clone(first).fixed_to(part)
            coordinates = make_coordinates(kernel, self.parameters, self.bounds)
            objective = make_objective(measure, part, goal, engine=self._engine(), dtype=self.dtype)
            start = coordinates.read(kernel)
            found, values = self._run(Problem(kernel, coordinates, objective), seed)
            return Climb(kernel, coordinates, start, found, values)

        def learn(rows: Array) -> Matrix | None:
            try:
                found = climb(rows)
            except ValueError:  # one class alone, say
                return None
            if found.outcome.status == "interrupted":
                raise KeyboardInterrupt
            return partial(found.matrix, X)

        found = climb(everything)
        amount, outcome = CAUTIOUS if self._crossing else float(self.keep), found.outcome
        if outcome.status != "interrupted":
            try:
                amount = self._choose_amount(learn, y, target, groups, seed, widths=False, cv=cv)
            except KeyboardInterrupt:
                outcome = replace(outcome, status="interrupted", advice=QUARTER)
        self.keep_ = amount
        self.kernel_ = kernel = found.at(amount).fixed_to(X)
        self.value_ = outcome.value
        self.values_ = found.values
        self.history_ = outcome.history
        self.n_iter_ = outcome.n_iter
        warn_unless_converged(self._as_intended(outcome), "KernelLearner")
        if amount == 1.0:
            self._warn_limits(found.coordinates, outcome.theta)
        if kernel.requires_vector_input and (extreme := degenerate(kernel, X)):
            warnings.warn(
                f"KernelLearner: the kernel is nearly {extreme}. {REMEDY[extreme]}",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    # ---- how ----------------------------------------------------------------------------------

    def _starts(self, coordinates: Coordinates, theta: Array, seed: int) -> list[Array]:
        rng = check_random_state(seed if self._crossing else self.random_state)
        starts = [theta]
        log = coordinates.on_log
        # A factor of three either way for positive parameters, the typical size for the others.
        size = max(float(np.abs(theta[~log]).mean()), 1.0) if not log.all() else 1.0
        for _ in range(int(self.n_starts) - 1):
            starts.append(theta + np.where(log, 1.0, size) * rng.standard_normal(len(theta)))
        return starts

    def _run(self, problem: Problem, seed: int) -> tuple[Ascent, Array]:
        """Return the best search of several starts, and the value that each reached."""
        coordinates, sign = problem.coordinates, problem.objective.sign
        best: Ascent | None = None
        values = np.full(int(self.n_starts), np.nan)
        failure = ValueError("Expected a start where the measure is defined, got none.")
        first = coordinates.read(problem.kernel)
        for number, theta in enumerate(self._starts(coordinates, first, seed)):
            monitor = Monitor("KernelLearner", None, 10, self.verbose, self.callback)
            try:
                found = maximise(
                    problem,
                    theta,
                    monitor,
                    solver=self.solver,
                    limits=coordinates.limits,
                    step_limits=make_step_limits(coordinates),
                    max_iter=self._most_iterations,
                    tol=self.tol,
                    unit=problem.objective.unit,
                )
            except ValueError as error:
                # A random start may lie where the measure is undefined; the others count.
                failure = error if best is None else failure
                continue
            values[number] = found.value
            if best is None or sign * found.value > sign * best.value:
                best = found
            if found.status == "interrupted":
                best = replace(best, status="interrupted", advice=found.advice)
            if found.status == "interrupted" or monitor.status == "stopped":
                break
        if best is None:
            raise failure
        return best, values

    def _warn_limits(self, coordinates: Coordinates, theta: Array) -> None:
        names = coordinates.at_limits(theta)
        if names:
            warnings.warn(
                f"KernelLearner: {', '.join(names)} ended on a bound. If that is not where the "
                "best kernel should be, set bounds= wider, scale the features, or leave the "
                "term out.",
                ConvergenceWarning,
                stacklevel=3,
            )
