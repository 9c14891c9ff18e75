"""The import vector machine: kernel logistic regression on a few samples, greedily chosen."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy.linalg import solve_triangular
from scipy.linalg.blas import dger
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import StrOptions

from gramsmith.machines.base import AT_LEAST_ONE, POSITIVE, Training
from gramsmith.machines.loss import LossProbabilities
from gramsmith.machines.regularised import RegularisedMachine, best_alpha
from gramsmith.parameters import with_parameters
from gramsmith.solvers import fit_features, warn_unless_converged
from gramsmith.solvers.definite import Definite
from gramsmith.solvers.left_out import left_out_loss, usual_alphas
from gramsmith.solvers.losses import Loss, code_targets

Array = npt.NDArray[Any]


class _Growth:
    """The machine of one regulariser, import point after import point.

    With L the Cholesky factor of the kernel of the import points, their features are Φ = K_:S L'^-1
    and a'K_SS a = |θ|² for θ = L'a. A new point adds a column to Φ and changes no other.
    """

    def __init__(
        self, K: Array, pool: Array, y: Array, loss: Loss, alpha: float, w: Array, max_iter: int
    ) -> None:
        self.pool, self.y, self.loss, self.alpha, self.w = pool, y, loss, alpha, w
        self.max_iter = max_iter
        self.rest = np.array(K, order="F")  # of the candidates' columns, what Φ does not explain
        self.own = K[pool, np.arange(len(pool))]
        self.Phi = np.empty((len(K), 0))
        self.chosen: list[int] = []
        self.status = "max_points"
        self._fit(np.zeros((1, *y.shape[1:])))
        self.history = [self.solution.objective]

    def _fit(self, start: Array) -> None:
        self.solution = fit_features(
            *(self.Phi, self.y, self.loss, self.alpha),
            sample_weight=self.w,
            start=start,
            max_iter=self.max_iter,
        )

    def add(self, j: int) -> None:
        """Bring candidate j in, and fit again."""
        column = self.rest[:, j] / np.sqrt(self.rest[self.pool[j], j])
        self.Phi = np.column_stack([self.Phi, column])
        self.chosen.append(j)
        self.rest = dger(-1.0, column, column[self.pool], a=self.rest, overwrite_a=1)
        new = np.zeros((1, *self.y.shape[1:]))
        self._fit(np.concatenate([self.solution.a, new, [self.solution.b]]))
        self.history.append(self.solution.objective)

    def gains(self) -> Array:
        """Return for each candidate by how much one Newton step with it lowers the objective.

        The step is along the new coefficient with all others following: the gradient squared over
        twice the Schur complement of the Hessian. Classes are treated one by one.
        """
        n, f = len(self.Phi), self.solution.f
        slope = self.loss.slope(self.y, f).reshape(n, -1)
        curvature = self.loss.curvature(self.y, f).reshape(n, -1)
        if self.y.ndim == 2:
            curvature = curvature * (1.0 - curvature)
        left = self.rest[self.pool, np.arange(len(self.pool))]
        # A candidate in the span of those chosen has nothing to offer but rounding.
        fresh = left > 1e-9 * np.abs(self.own)
        fresh[self.chosen] = False
        B = np.column_stack([self.Phi, np.ones(n)])
        penalty = np.append(np.full(len(self.chosen), self.alpha), 0.0)
        total = np.zeros(len(self.pool))
        for g, W in zip((self.w[:, None] * slope).T, (self.w[:, None] * curvature).T, strict=True):
            WB = B * W[:, None]
            H = WB.T @ B
            H[np.diag_indices_from(H)] += penalty
            R = WB.T @ self.rest
            plain = np.einsum("i,ij,ij->j", W, self.rest, self.rest) + self.alpha * left
            schur = plain - np.einsum("ij,ij->j", R, Definite(H).solve(R))
            usable = fresh & (schur > 1e-9 * plain)
            total[usable] += 0.5 * (g @ self.rest)[usable] ** 2 / schur[usable]
        return total

    @property
    def coefficients(self) -> Array:
        """The coefficients of the import points, shape (m,) or (m, C)."""
        L = self.Phi[self.pool[self.chosen]]
        return np.asarray(solve_triangular(L.T, self.solution.a, check_finite=False))

    @property
    def deviance(self) -> float:
        """The mean loss of samples under the machine without them, to first order."""
        return left_out_loss(self.Phi, self.y, self.loss, self.alpha, self.solution.f, self.w)


@with_parameters
class ImportVectorClassifier(LossProbabilities, RegularisedMachine):
    r"""The import vector machine.

    .. math:: \min_{S, a, b} \sum_i w_i L(y_i, f_i) + \tfrac{\alpha}{2}\, a'K_{SS}\,a, \qquad
              f = b + K_{:S}\,a

    with the logistic (several classes: multinomial) loss. Samples enter S one at a time, each time
    the one with which a Newton step lowers the objective most, until that gains next to nothing.
    The result has the probabilities of kernel logistic regression and the sparsity of an SVM or
    better. If the kernel is not positive definite, points are taken only while that of those taken
    is.

    Parameters
    ----------
    alpha : float or "loo", default="loo"
        Regulariser; one over C of an SVM. "loo" takes the candidate with the smallest approximate
        leave-one-out deviance.
    alphas : array of shape (m,), optional
        Candidates for "loo", for weights of mean one, each with import points of its own. Default:
        half a decade apart, from large to small until the deviance has risen three times.
    tol : float, default=1e-3
        Stop when a further point lowers the objective by less than this share.
    max_points : int, optional
        Most import points; default all.
    max_candidates : int, optional
        Draw this many samples as candidates, which bounds memory by n x max_candidates; default
        all.
    max_iter : int, default=100
        Most Newton steps per fit.

    Attributes
    ----------
    import_indices_ : int array of shape (n_import,)
        The import points among the training samples, in the order of their choice.
    alphas_ : array of shape (m,)
        The regularisers tried, descending.
    path_deviances_ : array of shape (m,)
        Mean approximate leave-one-out deviance of the model of each.
    path_sizes_ : int array of shape (m,)
        Import points of the model of each.
    objective_ : float
        The minimum.
    history_ : list of float
        The objective after every import point; it never rises.
    n_iter_ : int
        Import points tried.
    support_ : int array of shape (n_import,)
        The same as `import_indices_`.

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
        "alpha": [POSITIVE, StrOptions({"loo"})],
        "max_points": [AT_LEAST_ONE, None],
        "max_candidates": [AT_LEAST_ONE, None],
    }

    tol: float = 1e-3
    class_weight: Any = None
    max_points: int | None = None
    max_candidates: int | None = None
    max_iter: int = 100

    def _fit(self, train: Training) -> None:
        train = train.of_mean_one()
        C = len(self.classes_)
        K, pool = self._pool(train)

        def usual() -> Array:
            return usual_alphas(train.n, float(K[pool, np.arange(len(pool))].mean() - K.mean()))

        # Weights and regulariser times a number change nothing: from here they have mean one.
        grid = np.sort(self._candidates(train, usual))[::-1]
        free = self._chooses and self.alphas is None
        y, loss = code_targets(train.y, C), self._loss(C > 2)
        deviances, sizes = np.empty(0), list[int]()
        for alpha in grid:
            growth = self._grow(
                _Growth(K, pool, y, loss, float(alpha), train.weight, int(self.max_iter))
            )
            sizes.append(len(growth.chosen))
            deviances = np.append(deviances, growth.deviance)
            if best_alpha(grid, deviances) == alpha:
                best = growth
            elif free and len(deviances) - 1 - int(np.argmin(deviances)) >= 3:
                break
        self._set_alpha(train, best.alpha, grid[: len(sizes)])
        self.path_deviances_, self.path_sizes_ = deviances, np.array(sizes)
        self._finish(train, best)

    def _pool(self, train: Training) -> tuple[Array, Array]:
        if self.max_candidates is None or self.max_candidates >= train.n:
            remedy = "Set max_candidates to a few thousand."
            return self._dense(train, remedy, copies=3), np.arange(train.n)
        self._check_memory(train.n, "Lower max_candidates.", 4, int(self.max_candidates))
        rng = check_random_state(self.random_state)
        pool = np.sort(rng.choice(train.n, size=int(self.max_candidates), replace=False))
        return self._gram(train.X).block(np.arange(train.n), pool), pool

    def _grow(self, growth: _Growth) -> _Growth:
        """Add import points until a further one gains too little."""
        limit = len(growth.pool) if self.max_points is None else int(self.max_points)
        while len(growth.chosen) < min(limit, len(growth.pool)):
            gains = growth.gains()
            best = int(np.argmax(gains))
            # A tenth: one Newton step may promise less than the point will gain.
            if gains[best] <= 0.1 * self.tol * growth.solution.objective:
                growth.status = "converged"
                break
            growth.add(best)
            value = growth.history[-1]
            self._say(
                f"alpha {growth.alpha:.3g}: {len(growth.chosen)} import points, "
                f"objective {value:.6g}"
            )
            if growth.history[-2] - value < self.tol * abs(value):
                growth.status = "converged"
                break
        growth.rest = np.empty((0, 0))  # as large as the kernel matrix, and of no more use
        return growth

    def _finish(self, train: Training, growth: _Growth) -> None:
        solution = growth.solution
        if solution.converged and growth.status != "converged" and self.max_points is not None:
            advice = f"Raise max_points above {self.max_points}, or tol."
            solution = replace(
                solution, status="max_points", advice=advice, n_iter=len(growth.chosen)
            )
        warn_unless_converged(solution, "ImportVectorClassifier")
        self.history_ = [train.scale * value for value in growth.history]
        self.objective_ = self.history_[-1]
        self.n_iter_, self.jitter_ = len(growth.history), 0.0
        index = growth.pool[growth.chosen]
        outputs = 1 if growth.y.ndim == 1 else growth.y.shape[1]
        a = growth.coefficients if len(index) else np.empty(0)
        self._keep(train, a.reshape(len(index), outputs), solution.b, index)
        self.import_indices_ = self.support_
