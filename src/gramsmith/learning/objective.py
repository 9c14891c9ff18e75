"""Objectives: what a learner climbs. The set is open.

Wherever a learner takes the name of an objective it takes an object too, of one of two kinds:

* a `gramsmith.measures.Measure`, which is summed tile by tile and needs no n x n matrix;
* an object like `Objective` below: a number about the dense Gram matrix, with its derivative.

`OBJECTIVES` holds those of the second kind that have a name: they need a solve. Regularisers are
not further parameters: they are set to their optimum at every evaluation, as multiples of the mean
of the diagonal. By the envelope theorem the derivative is that at this multiple, also where it is
the first or the last that is tried; the mean itself moves with K (`with_unit`).
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, Protocol, cast

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize_scalar

from gramsmith.arguments import abridged
from gramsmith.gram import Engine, Gram, once
from gramsmith.gram.threads import dense_work
from gramsmith.kernels import Kernel
from gramsmith.kernels.definiteness import indefiniteness
from gramsmith.kernels.dense import dense
from gramsmith.measures import MEASURES, Measure, Undefined
from gramsmith.measures.alignment import ConstantKernelWarning
from gramsmith.solvers import (
    BallSolution,
    MarginSolution,
    RidgePath,
    solve_ball,
    solve_fisher,
    solve_l2svm,
    warn_unless_converged,
)
from gramsmith.solvers.definite import clip_derivative, clip_negative
from gramsmith.solvers.memory import check_memory
from gramsmith.targets import Target

Array = npt.NDArray[Any]

ALPHAS = np.logspace(-8, 4, 25)  # of regularisers, in units of the mean of the diagonal
MATRICES = 3  # that a dense objective holds at once: K, its decomposition, the derivative
FEWER = 'Learn from fewer samples, or use a measure such as "cka", which is summed tile by tile.'
PROJECTIONS = {"kta": "plain", "cka": "centred", "cka_debiased": "debiased"}  # of alignments


class Objective(Protocol):
    """A number about the dense Gram matrix of samples with a target.

    An object of your own needs a `name`, `higher_is_better` and the call; it need not derive from
    this class. Three more are optional: `check(target)`, which raises where the number is
    undefined, before any work; `takes_weights = True`, if it heeds the weights `target.w`; and
    `unit(target)`, what counts as one where a search asks how small an improvement is, for numbers
    that grow with the units of y.

    Examples
    --------
    >>> import numpy as np
    >>> import gramsmith as gs
    >>> class Contrast:
    ...     name = "contrast"
    ...     higher_is_better = True
    ...
    ...     def __call__(self, K, target, derivative):
    ...         T = target.V @ target.M_centred @ target.V.T / len(K) ** 2
    ...         return np.vdot(K, T), T if derivative else None
    >>> X = np.random.default_rng(0).normal(size=(60, 3))
    >>> learner = gs.TransformLearner(measure=Contrast()).fit(X, X[:, 0] > 0)
    >>> int(learner.feature_importances_.argmax())
    0
    """

    name: str
    higher_is_better: bool

    def __call__(self, K: Array, target: Target, derivative: bool) -> tuple[float, Array | None]:
        """Return the number for K, shape (n, n), and where asked its symmetric derivative by K."""


# ---- objectives with a name -----------------------------------------------------------------


def responses(target: Target) -> Array:
    """Return what a regression on the target would fit, shape (n, q), centred.

    One column of ±1 for two classes, one indicator per class for more, the values otherwise.
    """
    if target.kind == "classes":
        Y = 2.0 * target.V[:, 1:] - 1.0 if target.V.shape[1] == 2 else target.V
    else:
        Y = target.V[:, 1:]
    return np.asarray(Y - target.w @ Y / target.n)


def with_unit(dK: Array, alpha: float, unit: float) -> Array:
    """Return the derivative by K for α = x unit, given that at a fixed α; unit = tr K / n.

    As K and α enter as K + αI, a number's derivative by α is the trace of that by K.
    """
    n = len(dK)
    return np.asarray(dK + np.trace(dK) * alpha / (unit * n) * np.eye(n))


class MarginalLikelihood:
    r"""Log marginal likelihood of a Gaussian process per sample and output.

    .. math:: \log p(Y) = -\tfrac{q}{2} \left(n \log 2 \pi s + \log |K + \alpha I| + n\right),
              \qquad s = \mathrm{tr}\,Y'(K + \alpha I)^{-1} Y / nq

    The signal variance s is in closed form and the noise α is the best one, both shared by the
    outputs.
    """

    name = "marginal_likelihood"
    higher_is_better = True

    def __call__(self, K: Array, target: Target, derivative: bool) -> tuple[float, Array | None]:
        """Return the value for a Gram matrix and its derivative."""
        Y = responses(target)
        n, q = Y.shape
        values, U = np.linalg.eigh(K)
        indefinite = indefiniteness(values) is not None
        values = np.maximum(values, 0.0)
        unit, size = float(values.mean()), float(np.abs(Y).max())
        if unit <= 0:
            return -np.inf, None
        T = np.square(U.T @ (Y / size)).sum(axis=1)  # of values near one, whatever the units of y

        def cost(x: float) -> float:
            shifted = values + unit * np.exp(x)
            s = float((T / shifted).sum()) / (n * q)
            logs = np.log(2.0 * np.pi * s) + np.log(shifted).mean() + 1.0
            return float(0.5 * logs + np.log(size))

        grid = np.log(ALPHAS)
        costs = [cost(x) for x in grid]
        best = int(np.argmin(costs))
        low, high = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
        nearest = minimize_scalar(cost, bounds=(low, high), method="bounded")
        # the search comes near an end of the grid but never reaches it
        lowest, x = min((costs[best], grid[best]), (float(nearest.fun), float(nearest.x)))
        self.alpha = unit * float(np.exp(x))
        if not derivative:
            return -lowest, None
        shifted = values + self.alpha
        s = float((T / shifted).sum()) / (n * q)
        inverse = (U / shifted) @ U.T
        fit = inverse @ (Y / size)
        dK = with_unit((fit @ fit.T / s - q * inverse) / (2.0 * n * q), self.alpha, unit)
        return -lowest, clip_derivative(K, dK) if indefinite else dK


class RidgeLeaveOneOut:
    r"""Mean squared leave-one-out residual of kernel ridge regression with intercept.

    .. math:: e_i = c_i / P_{ii}, \quad c = P y, \quad P = A^{-1} - A^{-1} 1 1' A^{-1} / 1'A^{-1}1,
              \quad A = K + \alpha I

    With weights, K and y are those times their roots, which also stand for 1; a row is left out as
    a whole.
    """

    name = "ridge_loo"
    higher_is_better = False
    takes_weights = True

    def unit(self, target: Target) -> float:
        """Return the error of a constant, near enough: the mean square of what is fitted."""
        return float(target.w @ np.square(responses(target)).mean(axis=1) / target.n)

    def __call__(self, K: Array, target: Target, derivative: bool) -> tuple[float, Array | None]:
        """Return the error for a Gram matrix and its derivative."""
        Y = responses(target)
        n, q = Y.shape
        path = RidgePath(K, Y, sample_weight=target.w)
        unit = float(path.eigenvalues.mean())
        if unit <= 0:
            return np.inf, None
        self.alpha, value = path.minimise(unit * ALPHAS)
        if not derivative:
            return value, None
        inverse = (path.U / (path.eigenvalues + self.alpha)) @ path.U.T
        root = path.root
        side = inverse @ root
        P = inverse - np.outer(side, side) / (root @ side)
        C = P @ (root[:, None] * Y)
        diagonal = P.diagonal()[:, None]
        E = C / diagonal  # residuals times roots
        # dP = -P dK P; with u = dvalue/dc, dvalue = -<Pu c', dK> + Σ_i (Σ u e)_i (P dK P)_ii
        u = 2.0 * E / (n * q * diagonal)
        dK = -(P @ u) @ C.T + (P * np.einsum("ij,ij->i", u, E)) @ P
        dK = with_unit(0.5 * (dK + dK.T), self.alpha, unit)
        if path.smallest < -path.floor:
            dK = clip_derivative(K * root[:, None] * root, dK)
        return value, dK * root[:, None] * root


class KernelFisher:
    r"""Fisher's criterion in feature space, the one of `gramsmith.KernelFisherDiscriminant`.

    .. math:: J = \mathrm{tr}\,(S_w + \mu I)^{-1} S_b, \qquad \mu = 10^{-3}\,\mathrm{tr}\,S_t

    For values, S_b is what a regression on them explains.
    """

    name = "kernel_fisher"
    higher_is_better = True
    takes_weights = True

    def __call__(self, K: Array, target: Target, derivative: bool) -> tuple[float, Array | None]:
        """Return the criterion of a Gram matrix and its derivative."""
        clipped = clip_negative(K, quiet=True)[0]
        fisher = solve_fisher(clipped, target.V, target.w, derivative=derivative)
        if fisher.derivative is None or clipped is K:
            return fisher.value, fisher.derivative
        return fisher.value, clip_derivative(K, fisher.derivative)


@dataclass
class RadiusMargin:
    """log R² |w|² of the L2-SVM, that is of K + I/C; solves are warm-started from call to call.

    Both maximisers are unique, so by Danskin's theorem

        dRMB/dK = |w|² (diag(b) - bb') - R² (a*y)(a*y)'

    without any derivative of the solutions. The squared margins of more than two classes are added
    up one against the rest. The logarithm gives the same order and the same optimum; its steps do
    not depend on the size of the bound. It is the rival of Fortuna & Capson in Table 3 of
    Pothin & Richard.
    """

    C: float = 100.0  # penalty of the squared slacks
    ball: BallSolution | None = field(default=None, init=False, repr=False)
    margins: list[MarginSolution] = field(default_factory=list, init=False, repr=False)
    warned: bool = field(default=False, init=False, repr=False)

    name = "radius_margin"
    higher_is_better = False

    def check(self, target: Target) -> None:
        """Raise unless there are classes, and a penalty."""
        if target.kind != "classes":
            raise Undefined(
                "Expected classes for the radius-margin bound, got real values or several labels. "
                'Use "cka" or "ridge_loo".'
            )
        if not (np.isfinite(self.C) and self.C > 0):
            raise ValueError(f"Expected C > 0, got {self.C!r}. Use, for example, C=100.0.")

    def __call__(self, K: Array, target: Target, derivative: bool) -> tuple[float, Array | None]:
        """Return log RMB of a Gram matrix and its derivative."""
        ones = target.V[:, 1:] if target.V.shape[1] == 2 else target.V
        Y = 2.0 * ones - 1.0
        warm = (
            self.ball is not None and len(self.ball.c) == len(K) and len(self.margins) == len(Y.T)
        )
        starts = [margin.a for margin in self.margins] if warm else [None] * len(Y.T)
        self.ball = solve_ball(K, self.C, start=self.ball.c if warm and self.ball else None)
        self.margins = [
            solve_l2svm(K, y, self.C, start=start) for y, start in zip(Y.T, starts, strict=True)
        ]
        for outcome in (self.ball, *self.margins):
            if not (outcome.converged or self.warned):  # once says enough: it solves at every step
                self.warned = True
                warn_unless_converged(outcome, self.name)
        b, r2, w2 = self.ball.c, self.ball.r2, sum(margin.w2 for margin in self.margins)
        if w2 <= 0 or r2 <= 0:
            return np.inf, None
        value = float(np.log(w2) + np.log(r2))
        if not derivative:
            return value, None
        dw2 = np.zeros_like(K)
        for margin in self.margins:
            dw2 -= np.outer(margin.c, margin.c)
        return value, dw2 / w2 + (np.diag(b) - np.outer(b, b)) / r2


OBJECTIVES: dict[str, type] = {
    objective.name: objective
    for objective in (RadiusMargin, MarginalLikelihood, RidgeLeaveOneOut, KernelFisher)
}


def get_objective(measure: Any, C: float = 100.0) -> Measure | Objective:
    """Return the objective of a name, C being the penalty of "radius_margin", or the object."""
    if isinstance(measure, Measure):
        return measure
    if isinstance(measure, str) and measure in MEASURES:
        return MEASURES[measure]
    if isinstance(measure, str) and measure in OBJECTIVES:
        return cast(
            Objective, RadiusMargin(C) if measure == "radius_margin" else OBJECTIVES[measure]()
        )
    needed = ("name", "higher_is_better", "__call__")
    if not isinstance(measure, str | type) and all(hasattr(measure, name) for name in needed):
        return cast(Objective, measure)
    known = (*MEASURES, *OBJECTIVES)
    near = get_close_matches(measure[:200], known, 1) if isinstance(measure, str) else []
    raise ValueError(
        f"Expected a measure among {', '.join(known)}, or an object with name, higher_is_better "
        f"and a call (K, target, derivative), got {abridged(measure)}."
        + "".join(f" Did you mean {name!r}?" for name in near)
    )


def stored_name(measure: Any) -> Any:
    """Return the name of a measure that is found by it; anything else comes back as it is."""
    known = isinstance(measure, Measure) and MEASURES.get(measure.name) is measure
    return measure.name if known else measure


def get_projection(measure: Any) -> str | None:
    """Return what an alignment, by name or as a Measure, does to matrices before their products.

    None is any other objective: its best weights have no closed form.
    """
    name = measure.name if isinstance(measure, Measure) else measure
    known = isinstance(name, str) and name in PROJECTIONS
    return PROJECTIONS[name] if known and measure in (name, MEASURES[name]) else None


def held_out_measure(objective: Measure | Objective) -> Measure:
    """Return what to watch on held-out samples: a measure itself, else the centred alignment.

    A bound or a likelihood of a few other samples says little about the kernel of these.
    """
    return objective if isinstance(objective, Measure) else MEASURES["cka"]


# ---- objectives on samples, as functions of a kernel ----------------------------------------


class KernelError(ValueError):
    """Raised where a kernel cannot be evaluated, by an overflow or a parameter beyond its range."""


@contextmanager
def kernel_errors() -> Iterator[None]:
    """Tell errors of a kernel from those of an objective: on the way a search may pass them."""
    try:
        yield
    except ValueError as error:
        raise KernelError(str(error)) from error


class BoundObjective:
    """An objective with a target, whose weights must be one unless it takes weights.

    `sign` is +1 where higher is better, else -1. An improvement is small in comparison with `unit`
    or with the value, whichever is larger. `C` is the penalty of "radius_margin".
    """

    def __init__(self, measure: Any, target: Target, C: float = 100.0) -> None:
        objective: Any = copy(get_objective(measure, C))  # it may remember its last solve
        self.objective = objective
        self.target, self.name = target, str(objective.name)
        self.sign = 1.0 if objective.higher_is_better else -1.0
        self.measured = isinstance(objective, Measure)
        takes_weights = self.measured or getattr(objective, "takes_weights", False)
        if np.any(target.w != 1.0) and not takes_weights:
            raise ValueError(
                f"Expected no sample_weight (or ones) for {self.name!r}, whose solve counts every "
                f"sample once, got weights from {target.w.min():.3g} to {target.w.max():.3g}. Use "
                'a measure such as "cka", or repeat the rows.'
            )
        if self.measured:
            # A number that grows with the kernel has no unit but its own size.
            self.unit = 1.0 if objective.scale_invariant else 0.0
        else:
            self.unit = float(getattr(objective, "unit", lambda target: 1.0)(target))
        if hasattr(objective, "check"):
            objective.check(target)

    def merits(self, values: Any) -> Array:
        """Return numbers as higher is better, minus infinity where there is none."""
        values = np.asarray(values, dtype=float)
        return np.where(np.isfinite(values), self.sign * values, -np.inf)


class KernelObjective(BoundObjective):
    """An objective on samples and their target, as a function of the kernel: what is climbed.

    A measure takes a forward and a backward sweep with tiles of a `dtype`, any other objective the
    dense Gram matrix.
    """

    def __init__(
        self,
        measure: Any,
        X: Any,
        target: Target,
        *,
        C: float = 100.0,
        engine: Engine | None = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(measure, target, C)
        self.X, self.engine, self.dtype = X, engine, dtype
        if not self.measured:
            check_memory(self.name, len(target.w), MATRICES, FEWER)

    def value(self, kernel: Kernel) -> float:
        """Return the number for a kernel."""
        return self.value_and_gradient(kernel, derivative=False)[0]

    def value_and_gradient(
        self, kernel: Kernel, derivative: bool = True
    ) -> tuple[float, dict[str, Any]]:
        """Return the number and, where asked, its derivatives by nested parameter name."""
        if not self.measured:
            with dense_work(len(self.target.w)):
                return self._solve(kernel, derivative)
        inputs = (derivative, self.name, kernel, self.X, self.target, self.dtype)
        with dense_work(), warnings.catch_warnings():
            # On the way a kernel may become flat; the measure is 0 there, which is all we need.
            warnings.simplefilter("ignore", ConstantKernelWarning)
            result: tuple[float, dict[str, Any]] = once(
                self.engine, inputs, lambda: self._sweep(kernel, derivative)
            )
        return result

    def _sweep(self, kernel: Kernel, derivative: bool) -> tuple[float, dict[str, Any]]:
        with kernel_errors():
            G = Gram(kernel, self.X, engine=self.engine, dtype=self.dtype)
            moments = G.moments(self.target)
        if not derivative:
            return float(self.objective.value(moments, self.target)), {}
        value, adjoint = self.objective.value_and_adjoint(moments, self.target)
        if not np.isfinite(value):
            return value, {}
        with kernel_errors():
            return value, G.pullback(adjoint, self.target, moments, inputs=False)[0].parameters

    def _solve(self, kernel: Kernel, derivative: bool) -> tuple[float, dict[str, Any]]:
        with kernel_errors():
            K, pullback = dense(kernel, self.X)
        value, dK = self.objective(K, self.target, derivative)
        if dK is None or not (derivative and np.isfinite(value)):
            return float(value), {}
        with kernel_errors():
            return float(value), pullback(dK)
