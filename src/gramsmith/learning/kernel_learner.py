"""KernelLearner: every free parameter of any kernel, by gradient."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data

from gramsmith.kernels import Kernel, default_kernel
from gramsmith.learning.ascent import Ascent, Problem, check_search, maximise, strides
from gramsmith.learning.chart import Chart, make_chart
from gramsmith.learning.criterion import check_measure, make_objective
from gramsmith.learning.degenerate import REMEDY, degenerate
from gramsmith.learning.objective import Array
from gramsmith.learning.watch import Watch
from gramsmith.learning.weights import weigh
from gramsmith.solvers import warn_unless_converged
from gramsmith.targets import make_target


class KernelLearner(BaseEstimator):
    """Learn the parameters of any kernel expression by climbing a measure.

    Positive parameters (length scales, factors) move on the log scale, others as they are. With
    several starts the best result is kept.

    Parameters
    ----------
    kernel : Kernel or name, optional
        The kernel whose parameters are the first start. Default: a Gaussian that suits the spread
        of the data.
    measure : str, default="cka"
        Any measure, or "radius_margin" (logarithm of the bound), "marginal_likelihood" (per
        sample), "ridge_loo" (mean squared leave-one-out error of kernel ridge) or "kernel_fisher".
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
    dtype : {"float64", "float32"}, optional
        Type of the tiles, see `Gram`.
    random_state : int, RandomState or None, default=None
        Seeds the random starts.
    callback : callable, optional
        Called after every iteration with a dict of its numbers; a true result stops that start.
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
        measure: str = "cka",
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
        dtype: Any = None,
        random_state: Any = None,
        callback: Callable[[dict[str, float]], Any] | None = None,
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
            Weights; weight 2 is the same as repeating a row. Only for measures: criteria that
            need a solve take none.

        Returns
        -------
        KernelLearner
        """
        check_measure(self.measure)
        check_search(self.solver, self.max_iter, self.tol)
        if int(self.n_starts) != self.n_starts or self.n_starts < 1:
            raise ValueError(f"Expected n_starts >= 1, got {self.n_starts!r}. Use 1 or more.")
        if not isinstance(self.kernel, Kernel) or self.kernel.requires_vector_input:
            X, y = validate_data(
                self,
                X,
                y,
                dtype=(np.float64, np.float32),
                accept_sparse="csr",
                multi_output=True,
                ensure_min_samples=2,
            )
        X, y, w = weigh(X, y, sample_weight)
        kernel = clone(default_kernel(self.kernel, X, w))
        if not kernel.learnable:
            raise kernel._no_derivative()
        kernel.check_parameters()
        chart = make_chart(kernel, self.parameters, self.bounds)
        target = make_target(y, self.target, task=self.task, sample_weight=w)
        problem = Problem(
            kernel,
            chart,
            make_objective(
                self.measure,
                X,
                target,
                C=self.C,
                memory=self.memory,
                n_jobs=self.n_jobs,
                dtype=self.dtype,
            ),
        )
        found, values = self._run(problem, chart, problem.objective.sign)
        chart.write(kernel, found.theta)
        self.kernel_ = kernel
        self.value_ = found.value
        self.values_ = values
        self.history_ = found.history
        self.n_iter_ = found.n_iter
        warn_unless_converged(found, "KernelLearner")
        self._warn_limits(chart, found.theta)
        if kernel.requires_vector_input and (extreme := degenerate(kernel, X)):
            warnings.warn(
                f"KernelLearner: the kernel is nearly {extreme}. {REMEDY[extreme]}",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    # ---- how ----------------------------------------------------------------------------------

    def _starts(self, chart: Chart, theta: Array) -> list[Array]:
        rng = check_random_state(self.random_state)
        starts = [theta]
        for _ in range(int(self.n_starts) - 1):
            # A factor of three either way for positive parameters, the own size for the others.
            spread = np.concatenate(
                [
                    np.full(int(np.prod(shape)), 1.0 if log else np.nan)
                    for shape, log in zip(chart.shapes, chart.logs, strict=True)
                ]
            )
            size = (
                max(float(np.abs(theta[np.isnan(spread)]).mean()), 1.0)
                if np.isnan(spread).any()
                else 1.0
            )
            spread = np.where(np.isnan(spread), size, spread)
            starts.append(theta + spread * rng.standard_normal(len(theta)))
        return starts

    def _run(self, problem: Problem, chart: Chart, sign: float) -> tuple[Ascent, Array]:
        best: Ascent | None = None
        values = np.full(int(self.n_starts), np.nan)
        failure = ValueError("Expected a start where the measure is defined, got none.")
        for number, theta in enumerate(self._starts(chart, chart.read(problem.kernel))):
            watch = Watch("KernelLearner", None, 10, self.verbose, self.callback)
            try:
                found = maximise(
                    problem,
                    theta,
                    watch,
                    solver=self.solver,
                    limits=chart.limits,
                    stride=strides(chart),
                    max_iter=self.max_iter,
                    tol=self.tol,
                )
            except ValueError as error:
                # A random start may lie where the measure is undefined; the others count.
                failure = error if best is None else failure
                continue
            values[number] = found.value
            if best is None or sign * found.value > sign * best.value:
                best = found
            if found.status == "interrupted":
                best = Ascent(**{**vars(best), "status": "interrupted", "advice": found.advice})
                break
        if best is None:
            raise failure
        return best, values

    def _warn_limits(self, chart: Chart, theta: Array) -> None:
        names = chart.at_limits(theta)
        if names:
            warnings.warn(
                f"KernelLearner: {', '.join(names)} ended on a bound. If that is not where the "
                "best kernel should be, set bounds= wider, scale the features, or leave the "
                "term out.",
                ConvergenceWarning,
                stacklevel=3,
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        tags.input_tags.sparse = True
        return tags
