"""SpectralAligner: the eigen-directions of a kernel, reweighted by an objective, and its map."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import eigh, solve_triangular
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from gramsmith.arguments import counted
from gramsmith.gram import Gram
from gramsmith.gram.views import take_rows
from gramsmith.kernels import Composed, Kernel, Linear, LinearMap, default_kernel
from gramsmith.kernels.finite import as_stored, checked_data, count_samples
from gramsmith.kernels.maps import SampleMap
from gramsmith.kernels.precomputed import is_precomputed, rests_on_matrix
from gramsmith.learning.cross_fit import ROWS, Matrix, subsample
from gramsmith.learning.learner import Learner, Path, Samples
from gramsmith.learning.mixture import climb_shares
from gramsmith.learning.monitor import Stopped, sweep_progress
from gramsmith.learning.objective import KernelObjective, get_objective, get_projection
from gramsmith.learning.samples import Array, hold_out
from gramsmith.learning.start import signs
from gramsmith.measures import Measure
from gramsmith.parameters import with_parameters
from gramsmith.solvers import Outcome, pivoted_cholesky
from gramsmith.solvers.memory import check_memory
from gramsmith.targets import Target

THRESHOLDS = tuple(10.0**-k for k in range(1, 8))
DEFAULT_THRESHOLD = 1e-3
BELOW = 1e-4  # of the threshold, what a factor may leave of the trace, so that it finds all above
AT_ONCE = 1 << 22  # kernel values in a block of rows, 32 MiB
SMALLEST = 1e-8  # eigenvalue, of the largest, where the kernel itself is a part of the result
DENSE = 4000  # samples up to which "auto" takes all eigenvectors
ROUNDING = 1e-13  # of the largest eigenvalue, what is none
CLOSED = Outcome(status="converged")
FULL = 1e-13  # of the trace, that a factor without a limit on its columns may leave
FLOOR = 1e-12  # of the largest weight, what a climb sees of a weight of zero


class SpectralMap(SampleMap):
    """The map psi(x) = coef' k(samples, x).

    Parameters
    ----------
    kernel : Kernel
    samples : array of shape (m, p), or sequence of m objects
    coef : array of shape (m, r)

    Examples
    --------
    >>> import numpy as np
    >>> import gramsmith as gs
    >>> from gramsmith.learning import SpectralMap
    >>> psi = SpectralMap(gs.Linear(), np.array([[2.0]]), np.array([[0.5]]))
    >>> (gs.Linear() @ psi)([[1.0]], [[3.0]])
    array([[3.]])
    """

    _stored_parameters: ClassVar[dict[str, str]] = {
        "kernel": "kernel",
        "samples": "samples s p",
        "coef": "array s q",
    }

    def __init__(self, kernel: Kernel, samples: Any, coef: Array) -> None:
        self.kernel = kernel
        self.samples = samples
        self.coef = coef

    def _check_stored(self) -> None:
        self.kernel.check_input(self.samples)
        if self.requires_vector_input and not rests_on_matrix(self.kernel):
            self(self.samples[:1])

    @property
    def requires_vector_input(self) -> bool:  # type: ignore[override]
        """Whether samples must be numeric vectors."""
        return bool(self.kernel.requires_vector_input)

    def __call__(self, X: Any) -> Array:
        """Return psi of every sample, in blocks of rows."""
        count = X.shape[0] if hasattr(X, "shape") else len(X)
        m = self.coef.shape[0]
        step = max(1, AT_ONCE // max(m, 1))
        parts = [
            self.kernel(as_stored(X[i : i + step], self.samples), self.samples) @ self.coef
            for i in range(0, count, step)
        ]
        return np.vstack(parts) if parts else np.empty((0, self.coef.shape[1]))


class DirectionsObjective(KernelObjective):
    """An objective of Σ_n α_n v_n v_n' as a function of α.

    That is a diagonal map, of roots, under the inner product of the directions as features.
    """

    def __call__(self, weights: Array) -> tuple[float, Array]:
        S = np.sqrt(np.maximum(weights, FLOOR * weights.max()))  # a root has no slope at 0
        value, slopes = self.value_and_gradient(Composed(Linear(), LinearMap(S)))
        return value, np.asarray(slopes.get("map__S", np.zeros(len(S))) / (2.0 * S))


@dataclass(frozen=True, kw_only=True)
class DirectionsPath(Path):
    """From the kernel itself, as far as its directions go, to their best weights."""

    first: Kernel
    samples: Any  # of the map
    values: Array  # eigenvalues, descending
    coef: Array  # of the directions as functions: v(x) = coef' k(samples, x)
    alphas: Array  # the best weights
    threshold: float
    held_out: Array | None = None  # what each threshold was worth

    def weights(self, amount: float) -> Array:
        """Return the weights at an amount of learning, all of one trace; none are eigenvalues.

        Directions whose eigenvalue is below the threshold, of the largest, learn nothing.
        """
        learned = np.where(self._above(), self.alphas, 0.0)
        total = float(learned.sum())
        if amount == 1.0:
            return learned
        if total <= 0:
            return self.values
        return np.asarray(
            (1.0 - amount) * self.values + amount * float(self.values.sum()) / total * learned
        )

    def kept(self, amount: float) -> Array:
        """Return which directions are in the map."""
        return self.weights(amount) > 0 if amount < 1.0 else self._above()

    def kernel(self, amount: float, width: float | None = None) -> Composed:
        """Return the kernel at an amount of learning."""
        kept = self.kept(amount)
        coef = (self.coef * np.sqrt(self.weights(amount)))[:, kept]
        return Composed(Linear(), SpectralMap(self.first, self.samples, coef))

    def _above(self) -> Array:
        return np.asarray(self.values > max(self.threshold, ROUNDING) * self.values[0])


@with_parameters
class SpectralAligner(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Learner):
    r"""Reweight the eigen-directions of a kernel by their alignment with the target.

    .. math:: G = \sum_n \alpha_n v_n v_n', \qquad \alpha_n = v_n' T v_n, \qquad
              \psi(x) = \alpha^{1/2} D^{-1} V' k(X, x)

    These are the weights of largest alignment for the eigenvectors v of the training matrix, and
    one feature map gives the kernel of new points (Algorithm 1 of Kandola & Shawe-Taylor). Small
    eigenvalues must go, because the map divides by them: the threshold decides how well the result
    generalises. What was learned is then mixed with the kernel itself, whose weights are the
    eigenvalues, by an amount chosen on held-out rows (`keep`).

    The formula is for plain alignment. For any other `measure` the weights, none negative, are
    searched for from there, or from the eigenvalues where those are better.

    Parameters
    ----------
    kernel : Kernel or name, optional
        Default: a Gaussian that suits the spread of the data.
    threshold : float or "auto", default=1e-3
        Eigenvalues below this share of the largest are left out. "auto" takes the threshold with
        the best alignment on held-out samples.
    n_components : int, optional
        Largest number of directions; with it only that many eigenvectors are computed.
    method : {"auto", "eigen", "cholesky"}, default="auto"
        Eigenvectors of the whole matrix, or of a pivoted incomplete Cholesky factor (partial
        Gram-Schmidt), which never needs the n x n matrix; "auto" changes over at 4000 samples.
    max_rank : int, default=500
        Columns of the Cholesky factor; with as many as samples it gives what "eigen" gives.
    measure : str, Measure or objective, default="kta"
        What the weights make best: "kta" in closed form, any other measure, objective
        ("ridge_loo", ...) or object of your own (see `gramsmith.learning.Objective`) by a search,
        on at most 1000 rows where it needs a solve and the amount is cross-fitted.
    validation_fraction : float, default=0.25
        Share of the samples held out for threshold="auto".

    Attributes
    ----------
    eigenvalues_ : array of shape (r,)
        Of the directions kept, descending: with keep < 1 also those below the threshold,
        which learn nothing.
    alphas_ : array of shape (r,)
        Their weights.
    threshold_ : float
        The threshold used.
    held_out_ : array of shape (7,) or None
        Held-out alignment for the thresholds 0.1, 0.01, ..., 1e-7, for threshold="auto".

    References
    ----------
    J. Kandola, J. Shawe-Taylor, "Refining kernels for regression and uneven classification
    problems".

    Examples
    --------
    >>> import numpy as np
    >>> import gramsmith as gs
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(80, 2))
    >>> y = X[:, 0] * X[:, 1] > 0
    >>> aligner = gs.SpectralAligner(gs.Gaussian(1.0)).fit(X, y)
    >>> bool(aligner.value_ > gs.kta(gs.Gaussian(1.0)(X), y))
    True
    """

    kernel: Any = field(default=None, kw_only=False)
    threshold: float | str = field(default=DEFAULT_THRESHOLD, kw_only=False)
    n_components: int | None = field(default=None, kw_only=False)
    method: str = field(default="auto", kw_only=False)
    max_rank: int = 500
    measure: Any = "kta"
    validation_fraction: float = 0.25

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "threshold": [Interval(Real, 0, 1, closed="left"), StrOptions({"auto"})],
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "method": [StrOptions({"auto", "eigen", "cholesky"})],
        "max_rank": [Interval(Integral, 1, None, closed="left")],
    }
    _stored: ClassVar[dict[str, str]] = {
        "held_out_": "loose * | none",
        "threshold_": "number",
        "eigenvalues_": "array q",
        "alphas_": "array q",
        "n_iter_": "whole?",
    }

    def transform(self, X: Any) -> Array:
        """Return psi(x) of every sample, so that the aligned kernel is their inner product.

        Parameters
        ----------
        X : array of shape (n, p), sequence of n objects, or kernel block of shape (n, n_fit)

        Returns
        -------
        array of shape (n, r)
        """
        check_is_fitted(self)
        if self.kernel_.map.kernel.requires_vector_input:
            X = checked_data(
                self, X, dtype=(np.float64, np.float32), accept_sparse="csr", reset=False
            )
        return np.asarray(self.kernel_.map(X))

    @property
    def _n_features_out(self) -> int:
        return len(self.alphas_)

    def _check_stored(self) -> None:
        if not isinstance(getattr(self.kernel_, "map", None), SpectralMap):
            raise ValueError("Expected the kernel of a spectral map.")

    # ---- the search ---------------------------------------------------------------------------

    def search(self, X: Any, target: Target, rng: Any) -> DirectionsPath:
        """Return the path from the kernel to the best weights of its directions."""
        kernel = clone(default_kernel(self.kernel, X, target.w)).fixed_to(X)
        threshold, held_out = self._choose_threshold(kernel, X, target, rng)
        seed = int(rng.randint(2**31 - 1)) if self._crossing else 0
        return replace(self._solve(kernel, X, target, threshold, seed), held_out=held_out)

    def _choose_threshold(
        self, kernel: Kernel, X: Any, target: Target, rng: Any
    ) -> tuple[float, Array | None]:
        """Return the threshold, and what each was worth on held-out samples."""
        if self.threshold != "auto":
            return float(self.threshold), None
        split = hold_out(target, self.validation_fraction, rng)
        if split is None:
            return DEFAULT_THRESHOLD, None
        learn, held = split
        path = self._solve(kernel, self._take(X, learn), target.take(learn), THRESHOLDS[-1], 0)
        psi = SpectralMap(kernel, path.samples, path.coef * np.sqrt(path.alphas))
        Psi = psi(self._columns(X, held, learn))
        scores = [
            feature_alignment(Psi[:, path.values > share * path.values[0]], target.take(held))
            for share in THRESHOLDS
        ]
        return THRESHOLDS[int(np.argmax(scores))], np.array(scores)

    def _solve(
        self, kernel: Kernel, X: Any, target: Target, threshold: float, seed: int
    ) -> DirectionsPath:
        """Return the directions, with weights where eigenvalues are above a share of the largest.

        Directions below it are needed where the kernel itself is a part of the result.
        """
        lowest = threshold if self.keep == 1.0 else min(threshold, SMALLEST)
        tell = sweep_progress("SpectralAligner", self.callback, self.verbose)
        gram = Gram(kernel, X, engine=self._engine(), dtype=np.float64, progress=tell)
        if self.method == "eigen" or (self.method == "auto" and gram.n <= DENSE):
            values, V = _eigenvectors(gram, self.n_components, target.w)
            if tell is not None:
                tell(1, 1)
            kept = values > max(lowest, ROUNDING) * values[0]
            values, V = values[kept], V[:, kept]
            coef, samples = target.w[:, None] * V / values, X
            outcome = Outcome(status="converged", n_iter=1)
        else:
            values, V, coef, pivots, outcome = self._factor(gram, target, lowest, tell)
            samples = X if self._is_pairwise() else take_rows(X, pivots)
            if self._is_pairwise():  # new rows have a column for every sample, pivot or not
                coef = scattered(coef, pivots, gram.n)
        alphas, value, climb = self._best_weights(values, V, target, threshold, seed)
        if outcome.converged:
            outcome = replace(outcome, status=climb.status, advice=climb.advice)
        return DirectionsPath(
            value=value,
            outcome=outcome,
            first=kernel,
            samples=samples,
            values=values,
            coef=coef,
            alphas=alphas,
            threshold=threshold,
        )

    def _factor(
        self, gram: Gram, target: Target, threshold: float, tell: Any
    ) -> tuple[Array, Array, Array, Array, Outcome]:
        """Return eigenvalues, eigenvectors, coefficients, pivots and how it went, by Cholesky."""
        rank, seen, stopped = min(self.max_rank, gram.n), 0, False

        def column(j: int) -> Array:
            nonlocal seen, stopped
            seen += 1
            try:
                if tell is not None:
                    tell(seen, rank)
            except Stopped:
                stopped = True
                raise
            return gram.block(slice(None), np.array([j]))[:, 0]

        factor = pivoted_cholesky(
            column,
            gram.diagonal(),
            rank,
            # Where all columns are allowed the directions are to be those of "eigen".
            tol=FULL if self.max_rank >= gram.n else min(threshold, DEFAULT_THRESHOLD) * BELOW,
            weights=target.w,
        )
        interrupted = factor.status == "interrupted"
        left = float(target.w @ factor.residual) / float(target.w @ gram.diagonal())
        advice = (
            f"It was interrupted after {counted(factor.rank, 'column')}, {left:.2g} of the trace "
            "left; the directions they span are kept. Fit again for more."
        )
        if not (factor.converged or interrupted) and left > max(threshold, DEFAULT_THRESHOLD):
            warnings.warn(
                f"SpectralAligner: {left:.2g} of the kernel's trace is beyond the first "
                f"{counted(factor.rank, 'column')}. Raise max_rank, or use a wider kernel.",
                ConvergenceWarning,
                stacklevel=3,
            )
        values, U = eigh((factor.L * target.w[:, None]).T @ factor.L)
        values, U = values[::-1], U[:, ::-1]
        count = len(values) if self.n_components is None else self.n_components
        kept = (values > max(threshold, ROUNDING) * values[0]) & (np.arange(len(values)) < count)
        values, U = values[kept], U[:, kept]
        V = factor.L @ (U / np.sqrt(values))
        sign = signs(V)
        U, V = U * sign, V * sign
        # L = K(:, pivots) T with T = L_pp^-T, so v(x) = k(x, pivots) T u / sqrt(lambda)
        T = solve_triangular(factor.L[factor.pivots], U, trans="T", lower=True)
        status = "stopped" if stopped else "interrupted" if interrupted else "converged"
        return (
            values,
            V,
            T / np.sqrt(values),
            factor.pivots,
            Outcome(status=status, n_iter=factor.rank, advice=advice),
        )

    def _best_weights(
        self, values: Array, V: Array, target: Target, threshold: float, seed: int
    ) -> tuple[Array, float, Outcome]:
        """Return the best weights of the columns of V, what they reach, and how that went.

        Eigenvalues below `threshold` of the largest have no say.
        """
        kept = values > max(threshold, ROUNDING) * values[0]
        closed = np.where(kept, inner_products(V, target), 0.0)
        if get_projection(self.measure) == "plain":
            # the alignment of Σ α_n v_n v_n' for α_n = v_n'Tv_n is |α| / |T|
            return closed, float(np.linalg.norm(closed) / target.norm(target.M)), CLOSED
        objective = get_objective(self.measure)
        few = self._crossing and not isinstance(objective, Measure)
        rows = subsample(target, np.arange(len(V)), ROWS if few else len(V), seed)
        features, target = V[np.ix_(rows, kept)], target.take(rows) if few else target
        # of eigenvectors as long as √n, so that shares give a kernel of trace n
        features = np.sqrt(target.n) * features
        evaluate = DirectionsObjective(objective, features, target, engine=self._engine())
        starts = [start / start.sum() for start in (closed[kept], values[kept]) if start.sum() > 0]
        start = starts[int(np.argmax(evaluate.merits([evaluate(s)[0] for s in starts])))]
        ascent = climb_shares(evaluate, np.ones(len(start)), [start], few)
        alphas = np.zeros(len(values))
        alphas[kept] = ascent.theta
        return alphas, ascent.value, ascent

    # ---- what differs from other learners -------------------------------------------------------

    def _is_pairwise(self) -> bool:
        return is_precomputed(self.kernel)

    def _columns(self, X: Any, rows: Array, learned: Array) -> Any:
        """Return rows of X, of a kernel matrix also the columns: what was learned from."""
        return take_rows(X, rows)[:, learned] if self._is_pairwise() else take_rows(X, rows)

    def _take(self, X: Any, rows: Array) -> Any:
        return self._columns(X, rows, rows)

    def _rows_to_search(self, target: Target, rows: Array, seed: int) -> Array:
        return rows  # of which only the climb of the weights takes a limited number

    def _matrix(self, path: Any, X: Any, learned: Array) -> Matrix:
        def matrix(amount: float, width: float, rows: Array, columns: Array | None) -> Array:
            psi = path.kernel(amount).map
            left = psi(self._columns(X, rows, learned))
            return np.asarray(
                left @ (left if columns is None else psi(self._columns(X, columns, learned))).T
            )

        return matrix

    def _set_fitted(self, path: Any, width: float | None, samples: Samples, paths: Any) -> None:
        kept = path.kept(self.keep_)
        self.threshold_, self.held_out_ = path.threshold, path.held_out
        self.eigenvalues_, self.alphas_ = path.values[kept], path.weights(self.keep_)[kept]
        if self._is_pairwise() and len(samples.rows) < count_samples(samples.given):
            # new rows have a column for every sample, of weight zero or not
            coef = scattered(path.coef, samples.rows, count_samples(samples.given))
            path = replace(path, samples=samples.given, coef=coef)
        self.kernel_ = path.kernel(self.keep_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._is_pairwise()
        tags.input_tags.sparse = not self._is_pairwise()
        return tags


def _eigenvectors(gram: Gram, count: int | None, w: Array) -> tuple[Array, Array]:
    """Return eigenvalues, descending, and eigenvectors, all or the first `count`.

    Those of K with every sample repeated w times, one row per sample: from W^½ K W^½ u = λ u follow
    v = W^-½ u with V'WV = I.
    """
    n, root = gram.n, np.sqrt(w)
    # the matrix, twice with its weights, the eigenvectors and those to work with
    check_memory("SpectralAligner", n, 5, 'Use method="cholesky", or fewer samples.')
    some = None if count is None else (max(n - int(count), 0), n - 1)
    values, V = eigh(root[:, None] * gram.toarray() * root, subset_by_index=some)
    values, V = values[::-1], V[:, ::-1] / root[:, None]
    check_positive(values[0])
    return values, V * signs(V)


def check_positive(largest: float) -> None:
    """Raise unless the largest eigenvalue is positive."""
    if largest <= 0:
        raise ValueError(
            f"Expected a kernel matrix with a positive eigenvalue, got {largest:.3g} at most. "
            "Use a positive definite kernel."
        )


def scattered(coef: Array, rows: Array, n: int) -> Array:
    """Return coefficients of n samples, zero for all but some."""
    full = np.zeros((n, coef.shape[1]))
    full[rows] = coef
    return full


def inner_products(V: Array, target: Target) -> Array:
    """Return v_n' T v_n for the columns of V, not below 0."""
    B = target.wV.T @ V
    return np.asarray(np.maximum(np.einsum("in,ij,jn->n", B, target.M, B), 0.0))


def feature_alignment(U: Array, target: Target) -> float:
    """Return the alignment of UU' with the target."""
    size = float(np.linalg.norm((target.w[:, None] * U).T @ U))
    B = U.T @ target.wV
    inner = float(np.einsum("ni,ij,nj->", B, target.M, B))
    return inner / (size * target.norm(target.M)) if size else 0.0
