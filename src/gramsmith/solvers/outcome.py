"""Outcome: how a solver ended, and what to try if it did not end well."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

from sklearn.exceptions import ConvergenceWarning


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """How an iteration ended.

    Parameters
    ----------
    status : {"converged", "max_iter", "stalled", "separable"}
        "stalled" means that rounding permits no further progress, "separable" that the classes are
        so far apart that the weights would grow for ever.
    advice : str
        What to try next; empty when there is nothing to try.
    n_iter : int
        The number of iterations.
    """

    status: str
    advice: str = ""
    n_iter: int = 0

    @property
    def converged(self) -> bool:
        """Whether the solution is as good as it was asked to be."""
        return self.status == "converged"


def warn_unless_converged(outcome: Outcome, who: str) -> None:
    """Issue a ConvergenceWarning that names the estimator, the status and the advice.

    Parameters
    ----------
    outcome : Outcome
    who : str
        The name of the estimator, which begins the message.
    """
    if not outcome.converged:
        warnings.warn(
            f"{who}: expected convergence, got {outcome.status!r} after {outcome.n_iter} "
            f"iterations. {outcome.advice}",
            ConvergenceWarning,
            stacklevel=3,
        )
