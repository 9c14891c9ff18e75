"""KernelCombination: weights of a list of kernels, by alignment."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from functools import reduce
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted

from gramsmith.gram import Gram, as_views
from gramsmith.gram.views import brings_samples, views_in
from gramsmith.kernels import Gaussian, Kernel, Negated, Scaled, Sum
from gramsmith.learning.monitor import Callback, sweep_progress
from gramsmith.learning.objective import Array, get_projection
from gramsmith.learning.samples import Learner
from gramsmith.learning.start import start_kernel
from gramsmith.measures.alignment import kernel_products, target_norm, target_products
from gramsmith.solvers import solve_nonnegative
from gramsmith.targets import make_target

NOISE = 50.0  # of eigenvalues of cosines between kernels, in units of rounding


class KernelCombination(Learner):
    r"""Learn the weights of a sum of kernels from their alignment with the target.

    .. math:: k = \sum_k \mu_k k_k, \qquad
              \mu = \arg\max_{\mu \ge 0} \frac{a'\mu}{\sqrt{\mu'M\mu}}, \quad
              M_{kl} = \langle K_k, K_l \rangle,\ a_k = \langle K_k, T \rangle

    One streamed sweep leaves the m x m inner products; the weights follow from them alone, by
    non-negative least squares (ALIGNF). ALIGN takes the alignment of every kernel as its weight.

    Parameters
    ----------
    kernels : list of kernels, matrices or Grams, of (name, kernel) pairs, or dict, optional
        A dict holds kernels by name. Matrices and Grams bring their samples, and `fit` takes any X
        with them, None included. Default: thirteen Gaussians of doubling width for samples; the
        matrices themselves when `fit` is given a list of matrices or of `Gram`.
    method : {"alignf", "align", "uniform"}, default="alignf"
        How to choose the weights.
    measure : {"cka", "kta", "cka_debiased"} or one of these `Measure` objects, default="cka"
        Centred, plain or debiased alignment. The closed form of the weights is for alignments;
        `KernelLearner` climbs any other objective of a sum.
    signed : bool, default=False
        Whether ALIGNF may use negative weights. The sum is then not positive definite in general:
        machines say so and cut negative eigenvalues off, see `gramsmith.nearest_psd`.
    target : {"auto", "simplex", "one_hot", "balanced", "uneven"}, default="auto"
        What similarity should look like, see `gramsmith.targets.make_target`.
    task : {"auto", "classification", "regression"}, default="auto"
        Whole numbers are classes unless this says otherwise.
    memory : float, optional
        Budget in MiB for tiles, see `Gram`.
    n_jobs : int, optional
        Threads, see `Gram`.
    engine : Engine, optional
        Who evaluates the tiles, see `Gram`; instead of `n_jobs` and `memory`.
    dtype : {"float64", "float32"}, optional
        Type of the tiles, see `Gram`.
    callback : callable, optional
        Called during the sweep with a dict of "done" and "total" tiles; a true result stops it, as
        Ctrl-C does, before there is a result.
    verbose : int, default=0
        Print the progress of the sweep.

    Attributes
    ----------
    weights_ : array of shape (m,)
        Of Euclidean length 1 for "alignf" and "align", of sum 1 for "uniform".
    kernel_ : Kernel
        The weighted sum, where all kernels see the same X. Of several views there is no such
        kernel: asking for it raises an AttributeError that names `matrix`.
    value_ : float
        The alignment of the sum.
    alignments_ : array of shape (m,)
        The alignment of every kernel.
    names_ : list of str
        The names of the kernels.
    n_iter_ : int
        Sweeps over the samples, which is always 1: no weight needs another.
    n_features_in_ : int
        The number of features, where all kernels see the same array X.

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

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "method": [StrOptions({"alignf", "align", "uniform"})],
        "signed": ["boolean"],
        **Learner._parameter_constraints,
    }
    _stored: ClassVar[dict[str, str]] = {
        "kernel_": "kernel?",
        "value_": "real",
        "alignments_": "loose m",
        "weights_": "array m",
        "names_": "list text",
        "kernels_": "list kernel",
        "n_iter_": "whole?",
    }

    def __init__(
        self,
        kernels: Any = None,
        method: str = "alignf",
        measure: Any = "cka",
        signed: bool = False,
        *,
        target: str = "auto",
        task: str = "auto",
        memory: float | None = None,
        n_jobs: int | None = None,
        engine: Any = None,
        dtype: Any = None,
        callback: Callback | None = None,
        verbose: int = 0,
    ) -> None:
        self.kernels = kernels
        self.method = method
        self.measure = measure
        self.signed = signed
        self.target = target
        self.task = task
        self.memory = memory
        self.n_jobs = n_jobs
        self.engine = engine
        self.dtype = dtype
        self.callback = callback
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> KernelCombination:
        """Learn the weights.

        Parameters
        ----------
        X : array of shape (n, p), sequence of n objects, or one view per kernel
            A tuple (or a list of matrices or Grams, or a stack of matrices) holds one view per
            kernel.
        y : array of shape (n,) or (n, q)
            Labels or values.
        sample_weight : array of shape (n,), optional
            How much every row counts; times any number the same.

        Returns
        -------
        KernelCombination
        """
        self._validate_params()
        projection = get_projection(self.measure)
        kernels = self.kernels
        single = isinstance(kernels, str | Kernel | Gram) or getattr(kernels, "ndim", 3) == 2
        if single or not (kernels is None or hasattr(kernels, "__iter__")):
            raise ValueError(
                f"Expected a list of kernels, got the single {type(kernels).__name__}. "
                "Put it into a list: [kernel]."
            )
        shared = views_in(X, kernels) is None
        if shared and _take_vectors(kernels):
            X, y = self._check_samples(X, y)
        # Weights of zero count for nothing in every sum, so that no row of a matrix need go.
        target = make_target(y, self.target, task=self.task, sample_weight=sample_weight)
        w = None if sample_weight is None else target.w
        views = as_views(default_path(X, w) if kernels is None and shared else kernels, X, w)
        gram = Gram(
            views,
            engine=self._engine(),
            dtype=self.dtype,
            progress=sweep_progress("KernelCombination", self.callback, self.verbose),
        )
        moments = gram.moments(target, cross=True)
        M = np.asarray(kernel_products(moments, target, projection))
        a = np.asarray(target_products(moments, target, projection))
        norm = target_norm(target, projection)
        lengths = np.sqrt(np.maximum(M.diagonal(), 0.0))
        self.alignments_ = np.divide(a, lengths * norm, out=np.zeros(len(a)), where=lengths > 0)
        self.weights_ = self._weights(M, a, lengths, float(np.finfo(gram.dtype).eps))
        size = float(np.sqrt(max(self.weights_ @ M @ self.weights_, 0.0)))
        self.value_ = float(a @ self.weights_ / (size * norm)) if size > 0 else 0.0
        self.names_ = list(views.names)
        self.n_iter_ = 1
        members = zip(views.kernels, views.samples, strict=True)
        self._keep([clone(kernel).fixed_to(seen) for kernel, seen in members], views.shared)
        return self

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

    # ---- how ----------------------------------------------------------------------------------

    def _weights(self, M: Array, a: Array, lengths: Array, rounding: float) -> Array:
        m = len(a)
        if self.method == "uniform":
            return np.full(m, 1.0 / m)
        if self.method == "align":
            v = np.maximum(self.alignments_, 0.0)
        else:
            v = self._alignf(M, a, lengths, rounding)
        length = float(np.linalg.norm(v))
        if length > 0:
            return np.asarray(v / length)
        warnings.warn(
            "KernelCombination: no kernel has a positive alignment with the target; the best one "
            "alone is kept. Try other kernels, or more samples.",
            ConvergenceWarning,
            stacklevel=3,
        )
        return np.asarray(np.eye(m)[int(np.argmax(self.alignments_))])

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
        if not solution.converged:
            warnings.warn(
                f"KernelCombination: expected convergence, got {solution.status!r}. "
                f"{solution.advice}",
                ConvergenceWarning,
                stacklevel=4,
            )
        return np.asarray(inverse * solution.v)

    def _keep(self, kernels: list[Kernel], shared: bool) -> None:
        self.kernels_ = kernels
        if not shared:
            self.__dict__.pop("kernel_", None)  # of an earlier fit
            return
        terms: list[Kernel] = [
            Scaled(kernel, float(weight)) if weight > 0 else Negated(Scaled(kernel, -float(weight)))
            for weight, kernel in zip(self.weights_, kernels, strict=True)
            if weight
        ]
        self.kernel_ = reduce(Sum, terms)

    def __getattr__(self, name: str) -> Any:
        # Asked only for what is absent, as kernel_ is after a fit on several views.
        if name == "kernel_" and "weights_" in self.__dict__:
            raise AttributeError(
                "KernelCombination: expected kernels of the same X for kernel_, got one view per "
                "kernel, whose sum is no kernel of one X. Use matrix(views) with a machine of "
                'kernel="precomputed".'
            )
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


def default_path(X: Any, w: Array | None = None) -> list[Kernel]:
    """Return thirteen Gaussians around gamma = 1 / Σ_k var_k, from wide to narrow."""
    middle = start_kernel(None, X, w).length_scale
    return [Gaussian(float(middle * 2.0 ** (-j / 2.0))) for j in range(-6, 7)]


def _take_vectors(kernels: Any) -> bool:
    """Return whether there are kernels that take X, and all of these take numeric vectors."""
    if kernels is None:
        return True
    listed = kernels.values() if isinstance(kernels, Mapping) else kernels
    found = [k[1] if isinstance(k, tuple) else k for k in listed]
    takers = [k for k in found if not brings_samples(k)]
    return bool(takers) and all(
        k.requires_vector_input if isinstance(k, Kernel) else k != "precomputed" for k in takers
    )
