"""Outcome: how a solver ended, and what to try if it did not end well."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

from sklearn.exceptions import ConvergenceWarning


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """How an iteration ended."""

    # "stalled" means that rounding permits no further progress, "separable" that the classes
    # are so far apart that the weights would grow for ever
    status: str
    advice: str = ""  # what to try next; empty when there is nothing to try
    n_iter: int = 0  # the number of iterations

    @property
    def converged(self) -> bool:
        """Whether the solution is as good as it was asked to be."""
        return self.status == "converged"


def warn_unless_converged(outcome: Outcome, who: str) -> None:
    """Issue a ConvergenceWarning that names the estimator, the status and the advice."""
    if not outcome.converged:
        warnings.warn(
            f"{who}: expected convergence, got {outcome.status!r} after {outcome.n_iter} "
            f"iterations. {outcome.advice}",
            ConvergenceWarning,
            stacklevel=3,
        )
