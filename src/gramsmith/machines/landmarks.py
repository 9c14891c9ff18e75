"""Machines of many rows: by landmarks, by products with a matrix that is not held, or held.

"auto" holds the matrix up to `HELD_ROWS` samples. Past that landmarks are drawn; they choose the
regulariser, and where conjugate gradients that they precondition will do with few products, up to
`CG_ROWS` samples, the full system is solved from there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn import get_config
from sklearn.base import ClassifierMixin
from sklearn.utils import check_random_state

from gramsmith.gram import Gram
from gramsmith.kernels.landmarks import choose_landmarks, inverse_root
from gramsmith.machines.base import AT_LEAST_ONE, Training
from gramsmith.machines.regularised import RegularisedMachine
from gramsmith.parameters import with_parameters
from gramsmith.solvers.definite import warn_negative
from gramsmith.solvers.landmarks import Blocks, expected_products

Array = npt.NDArray[Any]

HELD_ROWS = 12_000  # past them one decomposition of the matrix takes minutes
CG_ROWS = 30_000  # past them one product with the matrix takes longer than all work on landmarks
BLOCK_ROWS = 8192  # most rows in work at once
KEPT = 0.25  # share of scikit-learn's working memory that the columns of the landmarks may take


@dataclass(frozen=True)
class Landmarks:
    """Some samples, in the order of the rows, and their kernel with themselves and with all."""

    index: Array
    G: Gram
    K: Array
    blocks: Blocks

    @cached_property
    def root(self) -> Array:
        """R with R R' = K^-1, so that the features of samples are k(x, landmarks) R."""
        return inverse_root(self.K)


@with_parameters
class LandmarkMachine(RegularisedMachine):
    """A machine that holds the matrix, or works on landmarks where there are many rows."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {"n_landmarks": [AT_LEAST_ONE]}
    _held: ClassVar[str]  # the name of the solver that holds the matrix
    _cg_products: ClassVar[int]  # products of a system up to which "auto" prefers "cg"
    _goal: ClassVar[Callable[..., Any]]  # of training samples: coded targets, or a loss
    _fit_held: ClassVar[Callable[..., None]]  # to samples and their goal, K held
    _fit_landmarks: ClassVar[Callable[..., None]]  # the same, and on from there by products

    _told = None  # called with the rows that have been met, over all passes; not kept

    fit_intercept: bool = True
    solver: str = "auto"
    n_landmarks: int = 500

    def _fit(self, train: Training) -> None:
        # Weights and regulariser times a number change nothing: all is done with weights of mean
        # one, so that neither the choice nor a threshold depends on their unit.
        train = train.of_mean_one()
        self.solver_ = self.solver
        if self.solver == "auto":
            self.solver_ = self._held if train.n <= HELD_ROWS else "nystroem"
        fit = self._fit_held if self.solver_ == self._held else self._fit_landmarks
        fit(train, self._goal(train))

    def _undecided(self, train: Training) -> bool:
        """Return whether "auto" may still go on from landmarks by products."""
        definite = not self._is_pairwise() and bool(self.kernel_.positive_definite)
        return self.solver == "auto" and train.n <= CG_ROWS and definite

    def _decide(self, landmarks: Landmarks, alpha: float, tol: float) -> None:
        G, index, root = landmarks.G, landmarks.index, landmarks.root
        products = expected_products(G.block, index, root, G.shape[0], alpha, tol)
        self.solver_ = "cg" if products <= self._cg_products else "nystroem"
        self._say(f"{products} products expected of 'cg': solver {self.solver_!r}")

    def _landmarks(self, train: Training, *, pivoted: bool) -> Landmarks:
        """Draw landmarks: what the kernel is made of, or at random with one of every class."""
        G, size = self._gram(train.X), min(int(self.n_landmarks), train.n)
        seed = self.random_state
        if not isinstance(seed, int | np.integer):
            seed = check_random_state(seed).randint(2**31)
        rng = np.random.default_rng([seed, 7])  # 7: apart from others who use the seed as it is
        if pivoted:
            index = choose_landmarks(G.block, G.diagonal(), size, "pivoted", rng)
        else:
            index = rng.permutation(train.n)
            if isinstance(self, ClassifierMixin):
                first = np.sort(np.unique(train.y[index], return_index=True)[1])
                index = np.concatenate([index[first], np.delete(index, first)])
            index = np.sort(index[:size])
        K = G.block(index, index)
        warn_negative(np.linalg.eigvalsh(K))
        self.n_landmarks_ = len(index)
        return Landmarks(index, G, 0.5 * (K + K.T), row_blocks(G, index, self._told))

    def _report(self, products: int, residual: float) -> None:
        self._say(f"product {products}: residual {residual:.3g}")


def row_blocks(G: Gram, columns: Array, progress: Callable[[int], None] | None) -> Blocks:
    """Return a function that yields the rows of some columns of K, block by block.

    They are held if there is memory for it, and computed again in every pass if not; `progress` is
    called after every block with its number of rows.
    """
    n, budget = G.shape[0], float(get_config()["working_memory"]) * 2**20
    # a block, its features and the weighted ones stand side by side
    step = int(max(1, min(n, BLOCK_ROWS, budget // (256 * len(columns)))))

    def computed() -> Iterator[tuple[slice, Array]]:
        for start in range(0, n, step):
            rows = slice(start, min(start + step, n))
            yield rows, G.block(np.arange(rows.start, rows.stop), columns)

    def followed(blocks: Iterable[tuple[slice, Array]]) -> Iterator[tuple[slice, Array]]:
        for rows, K in blocks:
            yield rows, K
            if progress is not None:
                progress(rows.stop - rows.start)

    if 8 * n * len(columns) > KEPT * budget:
        return lambda: followed(computed())
    held = list(computed())
    return lambda: followed(held)
