"""The regulariser of a machine: which candidates are tried, and which of them is taken."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from gramsmith.arguments import abridged, as_numbers
from gramsmith.machines.base import POSITIVE, KernelMachine, Training
from gramsmith.parameters import with_parameters

Array = npt.NDArray[Any]


@with_parameters
class RegularisedMachine(KernelMachine):
    """A machine that chooses its regulariser by what rows left out would lose."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {"alphas": ["array-like", None]}

    alpha: Any = "loo"
    alphas: Any = None
    random_state: Any = None
    verbose: bool = False

    def _begin(self, X: Any, y: Any, sample_weight: Any) -> Training:
        if self.alphas is not None:
            low = "> 0" if POSITIVE in self._parameter_constraints["alpha"] else ">= 0"
            grid = as_numbers(self.alphas)
            fine = grid is not None and grid.ndim == 1 and grid.size and np.isfinite(grid).all()
            if grid is None or not fine or grid.min() < 0 or (low == "> 0" and not grid.all()):
                raise ValueError(
                    f"{type(self).__name__}: expected alphas to be a list of numbers {low}, got "
                    f"{abridged(self.alphas)}. Use for example numpy.logspace(-6, 3, 30)."
                )
        return super()._begin(X, y, sample_weight)

    @property
    def _chooses(self) -> bool:
        return isinstance(self.alpha, str)

    def _candidates(self, train: Training, usual: Callable[[], Array]) -> Array:
        """Return the regularisers to compare, for weights of mean one.

        `alpha` alone if it is a number, in the unit of the weights as given; else `alphas`, and if
        there are none the usual ones.
        """
        if not self._chooses:
            return np.array([float(self.alpha) / train.scale])
        return usual() if self.alphas is None else np.array(self.alphas, dtype=np.float64)

    def _set_alpha(self, train: Training, alpha: float, alphas: Array) -> None:
        """Set what was taken, and from what, in the unit of the weights as given."""
        self.alpha_ = alpha * train.scale if self._chooses else float(self.alpha)
        self.alphas_ = alphas * train.scale


def best_alpha(alphas: Array, *errors: Array, rounding: float = 0.0) -> float:
    """Return the regulariser of smallest error; further errors decide where the first are equal.

    Of equally good ones the largest is the best: smoother, and better conditioned.
    """
    best = np.arange(len(errors[0]))
    for each in errors:
        best = best[each[best] <= each[best].min() + rounding]
    return float(alphas[best].max())
