"""KernelCombination: weights of a list of kernels, by alignment or any other objective."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted

from gramsmith.gram import Gram, as_views
from gramsmith.gram.views import Views, brings_samples, views_in
from gramsmith.kernels import Gaussian, Kernel, Negated, Scaled, Sum, default_kernel
from gramsmith.learning.cross_fit import Matrix, choose_width, subsample
from gramsmith.learning.learner import Learner, Path, Samples
from gramsmith.learning.mixture import SumObjective, climb_shares, starting_shares
from gramsmith.learning.monitor import sweep_progress
from gramsmith.learning.objective import Array, get_objective, get_projection, responses
from gramsmith.measures.alignment import kernel_products, target_norm, target_products
from gramsmith.parameters import with_parameters
from gramsmith.solvers import Outcome, solve_nonnegative, warn_unless_converged
from gramsmith.targets import Target, check_weights, normalised_weights

NOISE = 50.0  # of eigenvalues of cosines between kernels, in units of rounding
MEMBER_ROWS = 300  # on which the members are compared
DONE = Outcome(status="converged", n_iter=1)  # one sweep over all samples: no weight needs another


@dataclass(frozen=True, kw_only=True)
class WeightsPath(Path):
    """From one member alone to the best weights."""

    kernels: tuple[Kernel, ...]
    end: Array
    products: Array  # inner products of the kernels
    alignments: Array  # of every kernel, or whatever is climbed
    member: int = 0

    def weights(self, amount: float) -> Array:
        """Return the weights, of length 1; both ends are mixed as matrices of one size."""
        if amount == 1.0:
            return self.end
        size = float(np.sqrt(max(float(self.end @ self.products @ self.end), 0.0)))
        length = float(np.sqrt(max(float(self.products[self.member, self.member]), 0.0)))
        if size <= 0 or length <= 0:
            amount, size, length = 0.0, 1.0, 1.0
        mixed = amount * self.end / size
        mixed[self.member] += (1.0 - amount) / length
        return np.asarray(mixed / np.linalg.norm(mixed))

    def kernel(self, amount: float, width: float | None = None) -> Kernel:
        """Return the sum at an amount of learning."""
        return sum_of(self.weights(amount), self.kernels)


def sum_of(weights: Array, kernels: Any) -> Kernel:
    """Return the weighted sum of kernels."""
    terms: list[Kernel] = [
        Scaled(kernel, float(weight)) if weight > 0 else Negated(Scaled(kernel, -float(weight)))
        for weight, kernel in zip(weights, kernels, strict=True)
        if weight
    ]
    return reduce(Sum, terms)


@with_parameters
class KernelCombination(Learner):
    r"""Learn the weights of a sum of kernels from their alignment with the target.

    .. math:: k = \sum_k \mu_k k_k, \qquad
              \mu = \arg\max_{\mu \ge 0} \frac{a'\mu}{\sqrt{\mu'M\mu}}, \quad
              M_{kl} = \langle K_k, K_l \rangle,\ a_k = \langle K_k, T \rangle

    One streamed sweep leaves the m x m inner products; the weights follow from them alone, by
    non-negative least squares (ALIGNF). ALIGN takes the alignment of every kernel as its weight.
    The best weights of other measures and objectives have no closed form and are searched for: a
    measure in the moments of the same sweep, an objective that needs a solve in dense matrices.

    The best sum for an alignment need not predict better than its best member. It is
    therefore drawn back towards that member, the one of smallest leave-one-out error of a ridge
    regression, by an amount chosen on held-out rows (`keep`), by the mistakes of a ridge
    regression where there are classes. Of several views the sum is no kernel of one X: asking for
    `kernel_` raises an AttributeError that names `matrix`.

    Parameters
    ----------
    kernels : list of kernels, matrices or Grams, of (name, kernel) pairs, or dict, optional
        A dict holds kernels by name. Matrices and Grams bring their samples, and `fit` takes any X
        with them, None included. Default: thirteen Gaussians of doubling width for samples; the
        matrices themselves when `fit` is given a list of matrices or of `Gram`.
    method : {"alignf", "align", "uniform"}, default="alignf"
        How to choose the weights: the best ones, the alignment of every kernel, or all alike.
    measure : str, Measure or objective, default="cka"
        What the weights make best: "cka", "kta" or "cka_debiased" in closed form, any other
        measure ("fsm_loo", ...), objective ("ridge_loo", ...) or object of your own (see
        `gramsmith.learning.Objective`) by a search. method="align" needs an alignment.
    signed : bool, default=False
        Whether ALIGNF may use negative weights, for alignments only. The sum is then not positive
        definite in general: estimators warn and cut negative eigenvalues off, see
        `gramsmith.nearest_psd`.

    Attributes
    ----------
    weights_ : array of shape (m,)
        Of Euclidean length 1 for "alignf" and "align", of sum 1 for "uniform". Where the measure
        grows with the size of the kernel ("hsic", ...) they are the best ones of this length.
    alignments_ : array of shape (m,)
        The alignment of every kernel, or whatever `measure` is.
    names_ : list of str
        The names of the kernels.

    References
    ----------
    C. Cortes, M. Mohri, A. Rostamizadeh, "Algorithms for learning kernels based on centered
    alignment", Journal of Machine Learning Research 13, 2012.

    Examples
    --------
    >>> import numpy as np
    >>> import gramsmith as gs
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 3))
    >>> learner = gs.KernelCombination([gs.Linear(), gs.Gaussian(1.0)]).fit(X, X[:, 0] > 0)
    >>> bool(learner.value_ >= learner.alignments_.max())
    True
    """

    kernels: Any = field(default=None, kw_only=False)
    method: str = field(default="alignf", kw_only=False)
    measure: Any = field(default="cka", kw_only=False)
    signed: bool = field(default=False, kw_only=False)
    dtype: Any = None

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "method": [StrOptions({"alignf", "align", "uniform"})],
        "signed": ["boolean"],
    }
    _stored: ClassVar[dict[str, str]] = {
        "kernel_": "kernel?",
        "alignments_": "loose m",
        "weights_": "array m",
        "names_": "list text",
        "kernels_": "list kernel",
        "n_iter_": "whole?",
    }

    def matrix(self, X: Any, Y: Any = None) -> Array:
        """Return the combined kernel matrix of new samples.

        Parameters
        ----------
        X : samples, or one view per kernel, as in `fit`
            For kernel matrices: one block per matrix.
        Y : samples, or one view per kernel, optional
            Default: X.

        Returns
        -------
        array of shape (n_x, n_y)
        """
        check_is_fitted(self)
        m = len(self.weights_)
        shared = hasattr(self, "kernel_")
        views = [v if isinstance(v, (tuple, list)) and not shared else (v,) * m for v in (X, Y)]
        for given in views:
            if len(given) != m:
                raise ValueError(
                    f"Expected one view per kernel ({m}), got {len(given)}. "
                    "Pass what fit was given."
                )
        total: Any = 0.0
        for weight, kernel, left, right in zip(self.weights_, self.kernels_, *views, strict=True):
            if weight:
                total = total + weight * kernel(left, right)
        return np.asarray(total)

    # ---- the search ---------------------------------------------------------------------------

    def search(self, X: Any, target: Target, rng: Any) -> WeightsPath:
        """Return the path from the best member to the best weights."""
        progress = sweep_progress("KernelCombination", self.callback, self.verbose)
        gram = Gram(X, engine=self._engine(), dtype=self.dtype, progress=progress)
        moments, projection = gram.moments(target, cross=True), get_projection(self.measure)
        M = np.asarray(kernel_products(moments, target, projection or "plain"))
        outcome = DONE
        if projection is None:
            end, alone, value, outcome = self._climb(X, moments, M, target)
        else:
            a = np.asarray(target_products(moments, target, projection))
            norm = target_norm(target, projection)
            lengths = np.sqrt(np.maximum(M.diagonal(), 0.0))
            alone = np.divide(a, lengths * norm, out=np.zeros(len(a)), where=lengths > 0)
            end = self._weights(M, a, lengths, alone, float(np.finfo(gram.dtype).eps))
            size = float(np.sqrt(max(end @ M @ end, 0.0)))
            value = float(a @ end / (size * norm)) if size > 0 else 0.0
        member = 0
        if not self._keeps_all(X):
            member = best_member(members(X), target, int(rng.randint(2**31 - 1)))
        return WeightsPath(
            value=value,
            outcome=outcome,
            kernels=X.kernels,
            end=end,
            products=M,
            alignments=alone,
            member=member,
        )

    def _climb(
        self, views: Views, moments: Any, M: Array, target: Target
    ) -> tuple[Array, Array, float, Outcome]:
        """Return the best weights without a closed form, what each kernel is worth, and the sum."""
        m = len(M)
        evaluate = SumObjective(self.measure, target, moments, lambda: members(views))
        few = self._crossing and not evaluate.measured  # where stopping soon is intended
        alone = np.array([evaluate(row)[0] for row in np.eye(m)])
        if self.method == "uniform":
            end = np.full(m, 1.0 / m)
            return end, alone, evaluate(end)[0], DONE
        sign, sizes = evaluate.sign, np.sqrt(np.maximum(M.diagonal(), 0.0)) / target.n
        if evaluate.measured and not evaluate.unit:
            # it grows with the kernel: the weights themselves are of length 1
            sizes = np.where(sizes > 0, 1.0, 0.0)
        merits = evaluate.merits(np.where(sizes > 0, alone, np.nan))
        member = int(np.argmax(merits))
        ascent = climb_shares(evaluate, sizes, starting_shares(evaluate, sizes, member), few)
        end, value = ascent.theta / np.linalg.norm(ascent.theta), ascent.value
        if merits.max() >= sign * value:
            end, value = np.eye(m)[member], float(alone[member])
        return end, alone, value, replace(DONE, status=ascent.status, advice=ascent.advice)

    def _weights(
        self, M: Array, a: Array, lengths: Array, alignments: Array, rounding: float
    ) -> Array:
        m = len(a)
        if self.method == "uniform":
            return np.full(m, 1.0 / m)
        if self.method == "align":
            v = np.maximum(alignments, 0.0)
        else:
            v = self._alignf(M, a, lengths, rounding)
        length = float(np.linalg.norm(v))
        if length > 0:
            return np.asarray(v / length)
        warnings.warn(
            "KernelCombination: no kernel has a positive alignment with the target; the best one "
            "alone is kept. Try other kernels, or more samples.",
            ConvergenceWarning,
            stacklevel=4,
        )
        return np.asarray(np.eye(m)[int(np.argmax(alignments))])

    def _alignf(self, M: Array, a: Array, lengths: Array, rounding: float) -> Array:
        """Return the best weights, a multiple of M^-1 a, not negative unless they may be.

        They are those of the kernels over their lengths, so that no unit of a kernel matters. A
        kernel without length, such as a constant one, has no say.
        """
        inverse = np.divide(1.0, lengths, out=np.zeros(len(a)), where=lengths > 0)
        cosines, sides = M * inverse[:, None] * inverse, a * inverse
        if self.signed:
            values, U = np.linalg.eigh(cosines)
            # Of kernels that the sums cannot tell apart the weights of smallest length serve;
            # eigenvalues below zero come from debiasing.
            kept = values > NOISE * rounding * max(values[-1], 0.0)
            U, values = U[:, kept], values[kept]
            return np.asarray(inverse * (U @ (U.T @ sides / values)))
        solution = solve_nonnegative(cosines, sides)
        warn_unless_converged(solution, "KernelCombination")
        return np.asarray(inverse * solution.v)

    # ---- what differs from other learners -------------------------------------------------------

    _mistakes = True  # see `cross_fit`

    def _keeps_all(self, views: Views) -> bool:
        return self.method == "uniform" or len(views) == 1 or self.keep == 1.0

    def _asked_amount(self, X: Any) -> float | None:
        return 1.0 if self._keeps_all(X) else super()._asked_amount(X)

    def _check_options(self) -> None:
        objective = get_objective(self.measure)
        closed = get_projection(self.measure) is not None
        for asked, what in ((self.method == "align", 'method="align"'), (self.signed, "signed")):
            if asked and not closed:
                raise ValueError(
                    f"Expected a measure among kta, cka, cka_debiased with {what}, which is a "
                    f"formula of alignments, got {objective.name!r}. Use the default method with "
                    "weights that are not negative, whose best ones are searched for."
                )

    def _check_samples(self, X: Any, y: Any, sample_weight: Any = None) -> tuple[Any, Any]:
        kernels = self.kernels
        single = isinstance(kernels, str | Kernel | Gram) or getattr(kernels, "ndim", 3) == 2
        if single or not (kernels is None or hasattr(kernels, "__iter__")):
            raise ValueError(
                f"Expected a list of kernels, got the single {type(kernels).__name__}. "
                "Put it into a list: [kernel]."
            )
        shared = views_in(X, kernels) is None
        if shared and _take_vectors(kernels):
            X, y = super()._check_samples(X, y)
        w = None
        if sample_weight is not None:
            w = normalised_weights(check_weights(sample_weight, len(y)))
        views = as_views(default_path(X, w) if kernels is None and shared else kernels, X, w)
        return views, y

    def _take(self, X: Any, rows: Array) -> Any:
        return X.take(rows)

    def _matrix(self, path: Any, X: Any, learned: Array) -> Matrix:
        grams = members(X)

        def matrix(amount: float, width: float, rows: Array, columns: Array | None) -> Array:
            terms = zip(path.weights(amount), grams, strict=True)
            columns = rows if columns is None else columns
            return np.asarray(sum(float(w) * gram.block(rows, columns) for w, gram in terms if w))

        return matrix

    def _set_fitted(self, path: Any, width: float | None, samples: Samples, paths: Any) -> None:
        views = samples.given
        self.weights_, self.alignments_ = path.weights(self.keep_), path.alignments
        self.names_ = list(views.names)
        seen = zip(views.kernels, views.samples, strict=True)
        self.kernels_ = [clone(kernel).fixed_to(samples) for kernel, samples in seen]
        if views.shared:
            self.kernel_ = sum_of(self.weights_, self.kernels_)

    def __getattr__(self, name: str) -> Any:
        # Asked only for what is absent, as kernel_ is after a fit on several views.
        if name == "kernel_" and "weights_" in self.__dict__:
            raise AttributeError(
                "KernelCombination: expected kernels of the same X for kernel_, got one view per "
                "kernel, whose sum is no kernel of one X. Use matrix(views) with an estimator of "
                'kernel="precomputed".'
            )
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


def members(views: Views) -> list[Gram]:
    """Return the Gram of every kernel."""
    return [Gram(views.part(k), dtype=np.float64) for k in range(len(views))]


def best_member(grams: list[Gram], target: Target, seed: int) -> int:
    """Return the kernel of smallest leave-one-out error of a ridge regression."""
    rows = subsample(target, np.arange(len(target.w)), MEMBER_ROWS, seed)
    Y, errors = responses(target), []
    for gram in grams:

        def matrix(amount: float, width: float, a: Array, b: Any, gram: Gram = gram) -> Array:
            return gram.block(a, a if b is None else b)

        _, ridge, alpha = choose_width(matrix, 0.0, rows, Y, target.w, None)
        errors.append(float(ridge.loo_errors([alpha])[0]))
    return int(np.argmin(errors))


def default_path(X: Any, w: Array | None = None) -> list[Kernel]:
    """Return thirteen Gaussians around gamma = 1 / Σ_k var_k, from wide to narrow."""
    middle = default_kernel(None, X, w).length_scale
    return [Gaussian(float(middle * 2.0 ** (-j / 2.0))) for j in range(-6, 7)]


def _take_vectors(kernels: Any) -> bool:
    """Return whether there are kernels that take X, and all of these take numeric vectors."""
    if kernels is None:
        return True
    listed = kernels.values() if isinstance(kernels, Mapping) else kernels
    kinds = [k[1] if isinstance(k, tuple) else k for k in listed]
    takers = [k for k in kinds if not brings_samples(k)]
    return bool(takers) and all(
        k.requires_vector_input if isinstance(k, Kernel) else k != "precomputed" for k in takers
    )
