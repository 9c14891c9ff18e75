"""KernelLearner: every free parameter of any kernel, by gradient."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone
from sklearn.utils._param_validation import Interval

from gramsmith.kernels import Kernel, default_kernel
from gramsmith.learning.ascent import (
    REMEDY,
    Ascent,
    Problem,
    best_of,
    degenerate,
    make_step_limits,
    maximise,
)
from gramsmith.learning.coordinates import Coordinates, make_coordinates
from gramsmith.learning.learner import Learner, Path, Samples
from gramsmith.learning.objective import Array, KernelObjective
from gramsmith.parameters import with_parameters
from gramsmith.solvers import Outcome
from gramsmith.targets import Target


@dataclass(frozen=True, kw_only=True)
class ParameterPath(Path):
    """The parameters between the start and the end of a climb, on their scales."""

    first: Kernel
    coordinates: Coordinates
    start: Array
    end: Array
    values: Array  # that every start reached

    def kernel(self, amount: float, width: float | None = None) -> Kernel:
        """Return the kernel at an amount of learning; its width is a parameter like others."""
        kernel: Kernel = clone(self.first)
        theta = self.end if amount == 1.0 else self.start + amount * (self.end - self.start)
        self.coordinates.write(kernel, theta)
        return kernel


@with_parameters
class KernelLearner(Learner):
    """Learn the parameters of any kernel expression by optimising an objective.

    Positive parameters (length scales, factors) move on the log scale, others as they are;
    `Bounded` and `Fixed` around a part of the kernel say how far. With several starts the best
    result is kept. It is then drawn back towards the first start, on the same scales, by an amount
    chosen on held-out rows (`keep`).

    Parameters
    ----------
    kernel : Kernel or name, optional
        The kernel whose parameters are the first start. Default: a Gaussian that suits the spread
        of the data.
    measure : str, Measure or objective, default="ridge_loo"
        The name of a measure, "radius_margin" (logarithm of the bound), "marginal_likelihood" (per
        sample), "ridge_loo" (mean squared leave-one-out error of kernel ridge) or "kernel_fisher";
        or an object of your own, see `gramsmith.learning.Objective`.
    n_starts : int, default=1
        Number of starts; the second and later ones are random around the first.

    Attributes
    ----------
    values_ : array of shape (n_starts,)
        The measure that every start reached; NaN where a start failed.

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

    kernel: Any = field(default=None, kw_only=False)
    measure: Any = field(default="ridge_loo", kw_only=False)
    solver: str = field(default="lbfgs", kw_only=False)
    n_starts: int = 1
    C: float = 100.0
    max_iter: int | None = None
    tol: float = 1e-6
    dtype: Any = None

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_starts": [Interval(Integral, 1, None, closed="left")]
    }
    _stored: ClassVar[dict[str, str]] = {"values_": "loose *", "history_": "value"}

    def search(self, X: Any, target: Target, rng: Any) -> ParameterPath:
        """Return the path from the first start to the best parameters of all starts."""
        kernel = clone(default_kernel(self.kernel, X, target.w))
        if not kernel.learnable:
            raise kernel._no_derivative()
        kernel.check_parameters()
        kernel = kernel.fixed_to(X)
        coordinates = make_coordinates(kernel)
        options = {"C": self.C, "engine": self._engine(), "dtype": self.dtype}
        objective = KernelObjective(self.measure, X, target, **options)
        start = coordinates.read(kernel)
        problem = Problem(kernel, coordinates, objective)

        def climb(theta: Array) -> Ascent:
            monitor = self._monitor()
            monitor.parameters = coordinates.values
            return maximise(
                problem,
                theta,
                monitor,
                solver=self.solver,
                limits=coordinates.limits,
                step_limits=make_step_limits(coordinates),
                max_iter=self._most_iterations,
                tol=self.tol,
                unit=objective.unit,
            )

        starts = self._starts(coordinates, start, rng)
        ascent, values = best_of([partial(climb, theta) for theta in starts], objective.sign)
        return ParameterPath(
            value=ascent.value,
            outcome=ascent,
            history=ascent.history,
            first=kernel,
            coordinates=coordinates,
            start=start,
            end=ascent.theta,
            values=values,
        )

    def _starts(self, coordinates: Coordinates, theta: Array, rng: Any) -> list[Array]:
        """Return the given start and random ones around it."""
        log = coordinates.on_log
        # A factor of three either way for positive parameters, the typical size for the others.
        size = max(float(np.abs(theta[~log]).mean()), 1.0) if not log.all() else 1.0
        drawn = rng.standard_normal((int(self.n_starts) - 1, len(theta)))
        return [theta, *(theta + np.where(log, 1.0, size) * step for step in drawn)]

    def _set_fitted(self, path: Any, width: float | None, samples: Samples, paths: Any) -> None:
        self.kernel_ = path.kernel(self.keep_).fixed_to(samples.X)
        self.values_ = path.values

    def _remarks(self, path: Any, samples: Samples) -> list[Outcome]:
        remarks = []
        names = path.coordinates.at_limits(path.end) if self.keep_ == 1.0 else []
        if names:
            advice = (
                f"{', '.join(names)} ended on a bound. If that is not where the best kernel should "
                "be, set wider ones (gramsmith.Bounded), scale the features, or leave the term out."
            )
            remarks.append(replace(path.outcome, status="bounded", advice=advice))
        vectors = self.kernel_.requires_vector_input
        if vectors and (extreme := degenerate(self.kernel_, samples.X)):
            advice = f"The kernel is nearly {extreme}. {REMEDY[extreme]}"
            remarks.append(replace(path.outcome, status="degenerate", advice=advice))
        return remarks
