"""TransformLearner: a linear map under a kernel, learned by climbing a measure."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from numbers import Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from gramsmith.kernels import (
    Composed,
    Gaussian,
    Kernel,
    LinearMap,
    Precomputed,
    as_kernel,
    column_moments,
)
from gramsmith.kernels.symbolic import refuse_symbols
from gramsmith.learning.ascent import Ascent, check_search
from gramsmith.learning.criterion import check_measure, make_objective
from gramsmith.learning.degenerate import REMEDY, degenerate
from gramsmith.learning.held_out import check_fraction, hold_out
from gramsmith.learning.map_search import MapSearch
from gramsmith.learning.objective import Array, Objective
from gramsmith.learning.penalty import spreading_price
from gramsmith.learning.sparse_maps import components, make_map, refuse_sparse, sparse_refusal
from gramsmith.learning.start import (
    check_structure,
    deviations,
    knows_its_width,
    make_start,
    own_scale,
)
from gramsmith.learning.watch import Watch
from gramsmith.learning.weights import weigh
from gramsmith.measures import MEASURES
from gramsmith.solvers import warn_unless_converged
from gramsmith.targets import Target, make_target

SINGLE = 2000  # samples from which tiles are float32 unless asked otherwise
ALIGNMENTS = ("kta", "cka", "cka_debiased")  # at most 1, and small where a kernel is useless
SPREADING = ("cka", "cka_debiased")  # those that like to use a little of every feature


class TransformLearner(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    r"""Learn a linear map S of the inputs of a kernel by climbing a measure.

    .. math:: k_S(x, z) = k(S'x, S'z), \qquad \text{by default } \exp(-\|S'x - S'z\|^2)

    A diagonal S weighs features, a full S also combines them, a low-rank S looks for a few
    directions. A full map fits the training alignment more closely and generalises worse unless it
    is stopped early, which is therefore its default. The result does not depend on the units of X.

    Parameters
    ----------
    kernel : Kernel or name, optional
        The kernel on top of the map, which must have a derivative. Default: exp(-|x - z|²). The
        search starts from the spread of the data, whatever the kernel's own length scale.
    structure : {"diagonal", "full", "low_rank"}, default="diagonal"
        The shape of S.
    rank : int, optional
        Columns of a low-rank S; default 2.
    measure : str, default="cka"
        Any measure ("kta", "cka", "cka_debiased" are raised, "fsm", "fsm_loo", "csm" lowered), or
        "radius_margin" for the logarithm of the radius-margin bound of the L2-SVM.
    solver : {"lbfgs", "ascent"}, default="lbfgs"
        Quasi-Newton, or the paper's gradient ascent with backtracking.
    early_stopping : bool or "auto", default="auto"
        Whether to hold samples out and keep the map with the best measure on them; "auto" does so
        for a full map when there are enough samples.
    validation_fraction : float, default=0.2
        Share of the samples that is held out.
    patience : int, default=10
        Iterations without a better held-out value after which to stop.
    target : {"auto", "simplex", "one_hot", "balanced", "uneven"}, default="auto"
        What similarity should look like, see `gramsmith.targets.make_target`.
    task : {"auto", "classification", "regression"}, default="auto"
        Whole numbers are classes unless this says otherwise.
    init : array of shape (p,) or (p, q), optional
        The first S, not all zero. Default: a multiple of the identity.
    l1 : float or "auto", default="auto"
        Price of Σ_k |s_k| σ_k, which removes features: s_k is row k of S and σ_k the standard
        deviation of feature k, so that units do not matter. "auto" charges a diagonal map that
        climbs a centred alignment a small price for spreading its weights a_k = s_k σ_k over
        features, 1.5/n Σ_k a_k / √(Σ_k a_k²), once the search has converged, and nothing
        otherwise. 0 is none.
    l2 : float, default=0.0
        Price of Σ_k |s_k|² σ_k².
    C : float, default=100.0
        Penalty of the squared slacks for "radius_margin".
    batch_size : int, optional
        Rows per step of stochastic ascent, for large n; needs solver="ascent". Every class has its
        share of a batch, and at least two rows.
    max_iter : int, default=200
        Largest number of iterations.
    tol : float, default=1e-6
        Stop when a step improves the measure by less than this.
    memory : float, optional
        Budget in MiB for tiles, see `Gram`.
    n_jobs : int, optional
        Threads, see `Gram`.
    dtype : {"float64", "float32"}, optional
        Type of the tiles, see `Gram`. Default: float32 from 2000 samples on, where its rounding
        averages out and an iteration takes half the time.
    random_state : int, RandomState or None, default=None
        Seeds the held-out split, the batches and the start of a low-rank map.
    callback : callable, optional
        Called after every iteration with a dict of its numbers; a true result stops the search.
    verbose : int, default=0
        Print a line per iteration.

    Attributes
    ----------
    components_ : array of shape (q, p)
        S', as in scikit-learn's `NeighborhoodComponentsAnalysis`; for a diagonal map of sparse rows
        a CSR array.
    kernel_ : Kernel
        The kernel with the learned map, for any machine.
    feature_importances_ : array of shape (p,)
        Share of every feature in the mean squared distance of mapped samples.
    value_ : float
        The measure on the samples that were climbed.
    history_ : dict of arrays
        Per iteration: "value" (also as "measure"), "score", "step", "gradient_norm", and
        "held_out" if there is one.
    n_iter_ : int
        The number of iterations.
    n_features_in_ : int
        The number of features.

    References
    ----------
    J.-B. Pothin, C. Richard, "Optimal feature representation for kernel machines using
    kernel-target alignment criterion" (000).

    Examples
    --------
    >>> import numpy as np
    >>> import gramsmith as gs
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 5))
    >>> y = X[:, 0] * X[:, 1] > 0
    >>> learner = gs.TransformLearner().fit(X, y)
    >>> bool(learner.feature_importances_[:2].sum() > 0.95)
    True
    """

    _stored: ClassVar[dict[str, str]] = {
        "kernel_": "kernel",
        "value_": "real",
        "components_": "array q p | samples q p",
        "feature_importances_": "array p",
        "history_": "value",
        "n_iter_": "whole",
    }

    def __init__(
        self,
        kernel: Any = None,
        structure: str = "diagonal",
        rank: int | None = None,
        measure: str = "cka",
        solver: str = "lbfgs",
        early_stopping: bool | str = "auto",
        *,
        validation_fraction: float = 0.2,
        patience: int = 10,
        target: str = "auto",
        task: str = "auto",
        init: Any = None,
        l1: float | str = "auto",
        l2: float = 0.0,
        C: float = 100.0,
        batch_size: int | None = None,
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
        self.structure = structure
        self.rank = rank
        self.measure = measure
        self.solver = solver
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.target = target
        self.task = task
        self.init = init
        self.l1 = l1
        self.l2 = l2
        self.C = C
        self.batch_size = batch_size
        self.max_iter = max_iter
        self.tol = tol
        self.memory = memory
        self.n_jobs = n_jobs
        self.dtype = dtype
        self.random_state = random_state
        self.callback = callback
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> TransformLearner:
        """Learn the map.

        Parameters
        ----------
        X : array or CSR matrix of shape (n, p)
            Sparse rows stay sparse; a full map, and a kernel that needs dense rows, refuse them.
        y : array of shape (n,) or (n, q)
            Labels or values.
        sample_weight : array of shape (n,), optional
            Weights; weight 2 is the same as repeating a row. Rows, not repetitions, are held
            out and drawn into batches. "radius_margin" takes no weights.

        Returns
        -------
        TransformLearner
        """
        refuse_symbols("TransformLearner", X)
        X, y = validate_data(
            self,
            X,
            y,
            dtype=(np.float64, np.float32),
            accept_sparse="csr",
            multi_output=True,
            ensure_min_samples=2,
        )
        q = self._check(X.shape[1])
        if sp.issparse(X):
            refuse_sparse(self.kernel, self.structure)
        rng = check_random_state(self.random_state)
        X, y, w = weigh(X, y, sample_weight)
        target = make_target(y, self.target, task=self.task, sample_weight=w)
        base = Gaussian.from_gamma(1.0) if self.kernel is None else clone(as_kernel(self.kernel, X))
        vectors = base.requires_vector_input and not isinstance(base, Precomputed)
        if not (vectors and base.differentiable):
            raise base._no_derivative()
        S = make_start(X, self.structure, q, self.init, own_scale(base), rng, w)
        kernel = make_map(base, S, sp.issparse(X))
        kernel.check_parameters()
        split = self._split(target, rng)
        search = self._search(kernel, X, target, split, rng, deviations(X, w))
        aligns = self.measure in ALIGNMENTS
        if self.init is None and not (aligns and knows_its_width(base)):
            S = search.widened(S, always=aligns)
        found, S = search.climb(S, self._watch(search, split), direct=self.init is not None)
        self._set(X, w, base, S, found)
        self._report(found, X, search)
        return self

    def transform(self, X: Any) -> Any:
        """Return X S, shape (n, q).

        Parameters
        ----------
        X : array or CSR matrix of shape (n, p)

        Returns
        -------
        array of shape (n, q)
            A CSR matrix for sparse rows and a diagonal map.
        """
        check_is_fitted(self)
        accepted = "csr" if self.structure != "full" else False
        X = validate_data(
            self, X, dtype=(np.float64, np.float32), accept_sparse=accepted, reset=False
        )
        S = np.asarray(self.kernel_.map.S, dtype=X.dtype)
        if S.ndim == 1:
            return X.multiply(S).tocsr() if sp.issparse(X) else np.asarray(X * S)
        return np.asarray(X @ S)

    # ---- how ----------------------------------------------------------------------------------

    def _check(self, p: int) -> int:
        check_measure(self.measure, ("radius_margin",))
        check_search(self.solver, self.max_iter, self.tol)
        if self.early_stopping not in (True, False, "auto"):
            raise ValueError(
                f'Expected early_stopping True, False or "auto", got {self.early_stopping!r}.'
            )
        check_fraction(self.validation_fraction)
        for name in ("l1", "l2"):
            price = getattr(self, name)
            if name == "l1" and isinstance(price, str) and price == "auto":
                continue
            if not (isinstance(price, Real) and 0 <= float(price) < np.inf):
                raise ValueError(f"Expected a penalty {name} >= 0, got {price!r}. Use 0 for none.")
        if self.batch_size is not None and (self.solver != "ascent" or self.batch_size < 8):
            raise ValueError(
                f'Expected batch_size >= 8 with solver="ascent", got batch_size='
                f"{self.batch_size!r} with solver={self.solver!r}. Use gradient ascent for batches."
            )
        return check_structure(self.structure, self.rank, p)

    def _split(self, target: Target, rng: Any) -> tuple[Array, Array] | None:
        wanted = self.early_stopping
        if wanted == "auto":
            wanted = self.structure == "full"
        split = hold_out(target, self.validation_fraction, rng) if wanted else None
        if split is None and self.early_stopping is True:
            raise ValueError(
                "Expected enough samples of every class to hold two out, got too few for "
                f"validation_fraction={self.validation_fraction}. Use early_stopping=False."
            )
        return split

    def _objective(self, X: Any, target: Target, measure: str) -> Objective:
        dtype = self.dtype
        if dtype is None and X.shape[0] >= SINGLE:
            dtype = np.float32
        return make_objective(
            measure, X, target, C=self.C, memory=self.memory, n_jobs=self.n_jobs, dtype=dtype
        )

    def _search(
        self,
        kernel: Kernel,
        X: Any,
        target: Target,
        split: tuple[Array, Array] | None,
        rng: Any,
        spread: Array,
    ) -> MapSearch:
        n = X.shape[0]
        learn = np.arange(n) if split is None else split[0]

        def objective(rows: Array, measure: str) -> Objective:
            part, goal = (X, target) if len(rows) == n else (X[rows], target.take(rows))
            return self._objective(part, goal, measure)

        diagonal = self.structure == "diagonal"
        automatic = self.l1 == "auto" and diagonal and self.measure in SPREADING
        return MapSearch(
            kernel,
            target,
            learn,
            objective,
            self.measure,
            spread,
            rng,
            solver=self.solver,
            l1=0.0 if self.l1 == "auto" else float(self.l1),
            l2=float(self.l2),
            spreading=spreading_price(float(target.w[learn].sum())) if automatic else 0.0,
            batch_size=self.batch_size,
            max_iter=int(self.max_iter),
            tol=float(self.tol),
        )

    def _watch(self, search: MapSearch, split: tuple[Array, Array] | None) -> Watch:
        measure = self.measure if self.measure in MEASURES else "cka"
        held = None if split is None else search.held_out(split[1], measure)
        return Watch("TransformLearner", held, self.patience, self.verbose, self.callback)

    def _set(self, X: Any, w: Array | None, base: Kernel, S: Array, found: Ascent) -> None:
        self.kernel_ = Composed(base, LinearMap(S))
        self.components_ = components(S, sp.issparse(X))
        size = np.square(S.reshape(len(S), -1)).sum(axis=1)
        share = size * column_moments(X, w)[1]
        self.feature_importances_ = share / share.sum() if share.sum() > 0 else share
        self.value_ = found.value
        self.history_ = found.history
        self.n_iter_ = found.n_iter

    @property
    def _n_features_out(self) -> int:
        return int(self.components_.shape[0])

    def _report(self, found: Ascent, X: Any, search: MapSearch) -> None:
        warn_unless_converged(found, "TransformLearner")
        if not found.theta.any():
            warnings.warn(
                f"TransformLearner: the penalty l1={self.l1} removes every feature. Lower it.",
                ConvergenceWarning,
                stacklevel=3,
            )
        elif search.unbounded(found.theta):
            advice = (
                "Weights grow without limit, as they do for separable data; they are bounded by "
                '1000 times their start. Use measure="cka", a penalty l2, or early_stopping=True.'
            )
            warn_unless_converged(
                replace(found, status="unbounded", advice=advice), "TransformLearner"
            )
        elif extreme := degenerate(self.kernel_, X):
            advice = (
                f"The kernel is nearly {extreme}. {REMEDY[extreme]} If the search began there, "
                f"pass a {'smaller' if extreme == 'the identity' else 'larger'} init."
            )
            warn_unless_converged(
                replace(found, status="degenerate", advice=advice), "TransformLearner"
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        tags.input_tags.sparse = sparse_refusal(self.kernel, self.structure) is None
        return tags
