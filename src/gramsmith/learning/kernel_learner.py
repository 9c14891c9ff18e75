"""KernelLearner: every free parameter of any kernel, by gradient."""

from __future__ import annotations

import warnings
from dataclasses import replace
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval

from gramsmith.kernels import Kernel
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
from gramsmith.learning.monitor import Callback, Monitor
from gramsmith.learning.objective import (
    OBJECTIVE_CONSTRAINTS,
    Array,
    get_objective,
    make_objective,
)
from gramsmith.learning.samples import Learner, drop_zero_weights
from gramsmith.learning.start import start_kernel
from gramsmith.solvers import warn_unless_converged
from gramsmith.targets import make_target


class KernelLearner(Learner):
    """Learn the parameters of any kernel expression by climbing an objective.

    Positive parameters (length scales, factors) move on the log scale, others as they are. With
    several starts the best result is kept.

    Parameters
    ----------
    kernel : Kernel or name, optional
        The kernel whose parameters are the first start. Default: a Gaussian that suits the spread
        of the data.
    measure : str, Measure or objective, default="cka"
        The name of a measure, "radius_margin" (logarithm of the bound), "marginal_likelihood" (per
        sample), "ridge_loo" (mean squared leave-one-out error of kernel ridge) or "kernel_fisher";
        or an object of your own, see `gramsmith.learning.Objective`.
    solver : {"lbfgs", "ascent"}, default="lbfgs"
        Quasi-Newton, or gradient ascent with backtracking.
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
    max_iter : int, default=200
        Largest number of iterations per start.
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
        Seeds the random starts.
    callback : callable, optional
        Called after every iteration with a dict of its numbers; a true result stops the
        search, and the best kernel so far is kept.
    verbose : int, default=0
        Print a line per iteration.

    Attributes
    ----------
    kernel_ : Kernel
        The kernel with the learned parameters.
    value_ : float
        The measure of it.
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
    >>> learner = gs.KernelLearner(kernel, measure="ridge_loo").fit(X, y)
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
        **Learner._parameter_constraints,
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
        measure: Any = "cka",
        solver: str = "lbfgs",
        *,
        n_starts: int = 1,
        parameters: Any = None,
        bounds: Any = None,
        target: str = "auto",
        task: str = "auto",
        C: float = 100.0,
        max_iter: int = 200,
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

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> KernelLearner:
        """Learn the parameters.

        Parameters
        ----------
        X : array of shape (n, p), or sequence of n objects
        y : array of shape (n,) or (n, q)
            Labels or values.
        sample_weight : array of shape (n,), optional
            How much every row counts; times any number the same. Objectives that need a solve take
            none, except "kernel_fisher" and "ridge_loo".

        Returns
        -------
        KernelLearner
        """
        self._validate_params()
        measure = get_objective(self.measure, self.C)
        if not isinstance(self.kernel, Kernel) or self.kernel.requires_vector_input:
            X, y = self._check_samples(X, y)
        X, y, w = drop_zero_weights(X, y, sample_weight)
        kernel = clone(start_kernel(self.kernel, X, w))
        if not kernel.learnable:
            raise kernel._no_derivative()
        kernel.check_parameters()
        kernel = kernel.fixed_to(X)
        coordinates = make_coordinates(kernel, self.parameters, self.bounds)
        target = make_target(y, self.target, task=self.task, sample_weight=w)
        objective = make_objective(measure, X, target, engine=self._engine(), dtype=self.dtype)
        found, values = self._run(Problem(kernel, coordinates, objective))
        coordinates.write(kernel, found.theta)
        self.kernel_ = kernel
        self.value_ = found.value
        self.values_ = values
        self.history_ = found.history
        self.n_iter_ = found.n_iter
        warn_unless_converged(found, "KernelLearner")
        self._warn_limits(coordinates, found.theta)
        if kernel.requires_vector_input and (extreme := degenerate(kernel, X)):
            warnings.warn(
                f"KernelLearner: the kernel is nearly {extreme}. {REMEDY[extreme]}",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    # ---- how ----------------------------------------------------------------------------------

    def _starts(self, coordinates: Coordinates, theta: Array) -> list[Array]:
        rng = check_random_state(self.random_state)
        starts = [theta]
        log = coordinates.on_log
        # A factor of three either way for positive parameters, the typical size for the others.
        size = max(float(np.abs(theta[~log]).mean()), 1.0) if not log.all() else 1.0
        for _ in range(int(self.n_starts) - 1):
            starts.append(theta + np.where(log, 1.0, size) * rng.standard_normal(len(theta)))
        return starts

    def _run(self, problem: Problem) -> tuple[Ascent, Array]:
        """Return the best search of several starts, and the value that each reached."""
        coordinates, sign = problem.coordinates, problem.objective.sign
        best: Ascent | None = None
        values = np.full(int(self.n_starts), np.nan)
        failure = ValueError("Expected a start where the measure is defined, got none.")
        for number, theta in enumerate(self._starts(coordinates, coordinates.read(problem.kernel))):
            monitor = Monitor("KernelLearner", None, 10, self.verbose, self.callback)
            try:
                found = maximise(
                    problem,
                    theta,
                    monitor,
                    solver=self.solver,
                    limits=coordinates.limits,
                    step_limits=make_step_limits(coordinates),
                    max_iter=self.max_iter,
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
