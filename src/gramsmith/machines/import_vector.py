"""The import vector machine: kernel logistic regression on a few samples, greedily chosen."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import StrOptions

from gramsmith.machines.base import AT_LEAST_ONE, POSITIVE, Training, check_alphas
from gramsmith.machines.loss import LossProbabilities
from gramsmith.solvers import Expansion, fit_subset, warn_unless_converged
from gramsmith.solvers.definite import Definite, clip_negative
from gramsmith.solvers.left_out import usual_alphas
from gramsmith.solvers.losses import Loss, code_targets
from gramsmith.solvers.newton import subset_hessian

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class _Problem:
    """Kernel columns of the candidates, targets and weights."""

    K: Array  # (n, candidates)
    square: Array  # K * K
    pool: Array  # the candidates among the samples
    Y: Array
    w: Array
    loss: Loss

    def centres(self, chosen: list[int]) -> Array:
        """Return the kernel of the import points, without the negative part it should not have."""
        return clip_negative(self.between(chosen), quiet=True)[0]

    def between(self, chosen: list[int]) -> Array:
        return np.asarray(self.K[self.pool[chosen][:, None], chosen])

    def fit(self, chosen: list[int], alpha: float, start: Array | None, max_iter: int) -> Expansion:
        return fit_subset(
            self.K[:, chosen],
            self.centres(chosen),
            self.Y,
            self.loss,
            alpha,
            sample_weight=self.w,
            start=start,
            max_iter=max_iter,
        )

    def gains(self, chosen: list[int], found: Expansion, alpha: float) -> Array:
        """Return for each candidate by how much one Newton step with it lowers the objective.

        The step is along the new coefficient with all others following: the gradient squared over
        twice the Schur complement of the Hessian. Classes are treated one by one.
        """
        C = 1 if self.Y.ndim == 1 else self.Y.shape[1]
        slope = self.loss.slope(self.Y, found.f).reshape(-1, C)
        curvature = self.loss.curvature(self.Y, found.f).reshape(-1, C)
        if self.Y.ndim == 2:
            curvature = curvature * (1.0 - curvature)
        B = np.column_stack([np.ones(len(self.K)), self.K[:, chosen]])
        penalty = np.zeros((B.shape[1], B.shape[1]))
        penalty[1:, 1:] = alpha * self.centres(chosen)
        diagonal = self.K[self.pool, np.arange(len(self.pool))]
        cross = alpha * self.K[self.pool[:, None], chosen]
        total = np.zeros(len(self.pool))
        for c in range(C):
            W = self.w * curvature[:, c]
            a = found.a if C == 1 else found.a[:, c]
            gradient = (self.w * slope[:, c]) @ self.K + cross @ a
            plain = W @ self.square + alpha * diagonal
            R = (B * W[:, None]).T @ self.K
            R[1:] += cross.T
            H = subset_hessian(B, penalty, curvature[:, c], self.w)
            schur = plain - np.einsum("ij,ij->j", R, Definite(H).solve(R))
            # A candidate in the span of those chosen has nothing to offer but rounding.
            fresh = schur > 1e-9 * plain
            total += np.where(fresh, 0.5 * gradient**2 / np.where(fresh, schur, 1.0), 0.0)
        total[chosen] = 0.0
        return total


@dataclass(frozen=True)
class _Stage:
    chosen: list[int]
    found: Expansion
    history: list[float]
    status: str


class ImportVectorClassifier(LossProbabilities):
    r"""The import vector machine.

    .. math:: \min_{S, a, b} \sum_i w_i L(y_i, f_i) + \tfrac{\alpha}{2}\, a'K_{SS}\,a, \qquad
              f = b + K_{:S}\,a

    with the logistic (several classes: multinomial) loss. Samples enter S one at a time, each time
    the one with which a Newton step lowers the objective most, until that gains next to nothing.
    The result has the probabilities of kernel logistic regression and the sparsity of an SVM or
    better.

    Parameters
    ----------
    kernel : Kernel, name, scikit-learn kernel, callable or None
        Whatever `as_kernel` takes; None is the Gaussian with gamma = 1 / Σ var. If it is not
        positive definite, the penalty a'K_SS a leaves its negative eigenvalues out, with a warning.
    alpha : float or "loo", default="loo"
        Regulariser; one over C of an SVM. "loo" takes the candidate with the smallest approximate
        leave-one-out deviance.
    alphas : array of shape (m,), optional
        Candidates for "loo", for weights of mean one, each with import points of its own. Default:
        half a decade apart, from large to small until the deviance has risen three times.
    tol : float, default=1e-3
        Stop when a further point lowers the objective by less than this share.
    class_weight : dict, "balanced" or None
        Factors on the weights of the samples by class; "balanced" gives all classes the same
        total.
    max_points : int, optional
        Most import points; default all.
    max_candidates : int, optional
        Draw this many samples as candidates, which bounds memory by n x max_candidates; default
        all.
    max_iter : int, default=100
        Most Newton steps per fit.
    random_state : int, RandomState or None
        For the choice of candidates.
    verbose : bool, default=False
        Whether to print a line per import point.
    n_jobs : int, optional
        Threads for kernel evaluations; default all cores.
    engine : Engine, optional
        Who evaluates the tiles, see `Gram`; instead of `n_jobs`.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The labels.
    import_indices_ : int array of shape (n_import,)
        The import points among the training samples, in the order of their choice.
    alpha_ : float
        The regulariser in use.
    alphas_ : array of shape (m,)
        The regularisers tried, descending.
    path_deviances_ : array of shape (m,)
        Mean approximate leave-one-out deviance of the machine of each.
    path_sizes_ : int array of shape (m,)
        Import points of the machine of each.
    objective_ : float
        The minimum.
    history_ : list of float
        The objective after every import point; it never rises.
    n_iter_ : int
        Import points tried.
    jitter_ : float
        What was added to a diagonal that was singular to working precision; 0 if nothing.
    kernel_ : Kernel
        The kernel in use.
    support_ : int array of shape (n_import,)
        The same as `import_indices_`.
    support_samples_ : array of shape (n_import, p) or sequence; None for precomputed kernels
        These samples.
    coefficients_ : array of shape (n_import, 1) or (n_import, n_classes)
        Their coefficients.
    intercept_ : array of shape (1,) or (n_classes,)
        Intercepts.

    References
    ----------
    J. Zhu, T. Hastie, "Kernel logistic regression and the import vector machine", Journal of
    Computational and Graphical Statistics 14, 2005.

    Examples
    --------
    >>> import gramsmith as gs
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(200, noise=0.2, random_state=0)
    >>> machine = gs.ImportVectorClassifier(gs.Gaussian(0.7), alpha=0.1).fit(X, y)
    >>> len(machine.import_indices_) < 20, machine.score(X, y) > 0.95
    (True, True)
    """

    _stored: ClassVar[dict[str, str]] = {
        "alpha_": "number",
        "alphas_": "array a",
        "path_deviances_": "loose a",
        "path_sizes_": "array a",
        "objective_": "number",
        "history_": "value",
        "n_iter_": "whole",
        "jitter_": "number",
        "import_indices_": "index n s",
    }
    loss = "logistic"

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **LossProbabilities._parameter_constraints,
        "alpha": [POSITIVE, StrOptions({"loo"})],
        "alphas": ["array-like", None],
        "max_points": [AT_LEAST_ONE, None],
        "max_candidates": [AT_LEAST_ONE, None],
    }

    def __init__(
        self,
        kernel: Any = None,
        *,
        alpha: Any = "loo",
        alphas: Any = None,
        tol: float = 1e-3,
        class_weight: Any = None,
        max_points: int | None = None,
        max_candidates: int | None = None,
        max_iter: int = 100,
        random_state: Any = None,
        verbose: bool = False,
        n_jobs: int | None = None,
        engine: Any = None,
    ) -> None:
        self.kernel = kernel
        self.alpha = alpha
        self.alphas = alphas
        self.tol = tol
        self.class_weight = class_weight
        self.max_points = max_points
        self.max_candidates = max_candidates
        self.max_iter = max_iter
        self.random_state = random_state
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.engine = engine

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        check_alphas(self, "> 0")
        train = self._begin(X, y, sample_weight)
        scale, train = train.scale, train.of_mean_one()
        C = len(self.classes_)
        K, pool = self._candidates(train)
        # Weights and regulariser times a number change nothing: from here they have mean one.
        problem = _Problem(
            K, K * K, pool, code_targets(train.y, C), train.weight, self._loss(C > 2)
        )
        free = isinstance(self.alpha, str) and self.alphas is None
        if free:
            grid = usual_alphas(train.n, float(K[pool, np.arange(len(pool))].mean() - K.mean()))
        elif self.alphas is not None:
            grid = np.sort(np.asarray(self.alphas, dtype=np.float64))[::-1]
        else:
            grid = np.array([float(self.alpha) / scale])
        stages: list[_Stage] = []
        deviances: list[float] = []
        for alpha in grid:
            stage = self._grow(problem, float(alpha))
            stages.append(stage)
            deviances.append(leave_one_out_deviance(problem, stage.chosen, stage.found, alpha))
            if free and len(deviances) - 1 - int(np.argmin(deviances)) >= 3:
                break
        best = int(np.argmin(deviances))
        self.alphas_ = grid[: len(stages)] * scale
        self.path_deviances_ = np.array(deviances)
        self.path_sizes_ = np.array([len(stage.chosen) for stage in stages])
        # says so if it was not positive definite
        clip_negative(problem.between(stages[best].chosen))
        self._finish(train, pool, stages[best], scale)
        self.alpha_ = float(self.alphas_[best])
        return self

    def _candidates(self, train: Training) -> tuple[Array, Array]:
        if self.max_candidates is None or self.max_candidates >= train.n:
            remedy = "Set max_candidates to a few thousand."
            return self._dense(train, remedy, copies=3), np.arange(train.n)
        self._check_memory(train.n, "Lower max_candidates.", 4, int(self.max_candidates))
        rng = check_random_state(self.random_state)
        pool = np.sort(rng.choice(train.n, size=int(self.max_candidates), replace=False))
        return self._gram(train.X).block(np.arange(train.n), pool), pool

    def _grow(self, problem: _Problem, alpha: float) -> _Stage:
        """Add import points until a further one gains too little."""
        chosen: list[int] = []
        found = problem.fit(chosen, alpha, None, int(self.max_iter))
        history, status = [found.objective], "max_points"
        limit = len(problem.pool) if self.max_points is None else int(self.max_points)
        while len(chosen) < min(limit, len(problem.pool)):
            gains = problem.gains(chosen, found, alpha)
            best = int(np.argmax(gains))
            if gains[best] <= 0.1 * self.tol * found.objective:
                status = "converged"
                break
            start = np.concatenate([[found.b], found.a, np.zeros((1, *problem.Y.shape[1:]))])
            chosen.append(best)
            found = problem.fit(chosen, alpha, start, int(self.max_iter))
            history.append(found.objective)
            if self.verbose:
                print(
                    f"[ImportVectorClassifier] alpha {alpha:.3g}: {len(chosen)} import points, "
                    f"objective {found.objective:.6g}"
                )
            if history[-2] - history[-1] < self.tol * abs(history[-1]):
                status = "converged"
                break
        return _Stage(chosen, found, history, status)

    def _finish(self, train: Training, pool: Array, stage: _Stage, scale: float) -> None:
        found = stage.found
        if found.converged and stage.status != "converged" and self.max_points is not None:
            advice = f"Raise max_points above {self.max_points}, or tol."
            found = replace(found, status="max_points", advice=advice, n_iter=len(stage.chosen))
        warn_unless_converged(found, "ImportVectorClassifier")
        self.objective_, self.history_ = (
            scale * found.objective,
            [scale * value for value in stage.history],
        )
        self.n_iter_, self.jitter_ = max(len(stage.history), 1), scale * found.jitter
        index = pool[stage.chosen]
        q = 1 if found.a.ndim == 1 else found.a.shape[1]
        self._keep(train, found.a.reshape(len(index), q), found.b, index)
        self.import_indices_ = self.support_


def leave_one_out_deviance(
    problem: _Problem, chosen: list[int], found: Expansion, alpha: float
) -> float:
    """Return the mean loss of each sample under the model without its row, to first order.

    f_{-i} = f_i + h_i (I - Λ_i h_i)^-1 g_i, with slope g_i and curvature Λ_i of the sample and
    h_i = B_i H^-1 B_i'. Exact for the squared loss.
    """
    Y, f, w = problem.Y, found.f, problem.w
    n, C = len(Y), 1 if Y.ndim == 1 else Y.shape[1]
    B = np.column_stack([np.ones(n), problem.K[:, chosen]])
    m = B.shape[1]
    penalty = np.zeros((m, m))
    penalty[1:, 1:] = alpha * problem.centres(chosen)
    curvature = problem.loss.curvature(Y, f)
    inverse = Definite(subset_hessian(B, penalty, curvature, w)).solve(np.eye(m * C))
    h = np.einsum("ij,cjdk,ik->icd", B, inverse.reshape(C, m, C, m), B, optimize=True)
    one = w[:, None]
    g = one * problem.loss.slope(Y, f).reshape(n, C)
    if Y.ndim == 2:
        L = curvature[:, :, None] * (np.eye(C) - curvature[:, None, :])
    else:
        L = curvature.reshape(n, 1, 1)
    system = np.eye(C) - (one[:, :, None] * L) @ h
    step = np.linalg.solve(system, g[:, :, None])
    left = f + (h @ step)[:, :, 0].reshape(f.shape)
    return float(np.average(problem.loss.value(Y, left), weights=w))
