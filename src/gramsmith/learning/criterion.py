"""From the name of a measure or criterion to the objective that a learner climbs."""

from __future__ import annotations

from typing import Any

from gramsmith.learning.criteria import KernelFisher, MarginalLikelihood, RidgeLeaveOneOut
from gramsmith.learning.objective import DenseObjective, MeasureObjective, Objective
from gramsmith.learning.radius_margin import RadiusMarginCriterion
from gramsmith.learning.weights import refuse_weights
from gramsmith.measures import MEASURES
from gramsmith.targets import Target

CRITERIA = ("radius_margin", "marginal_likelihood", "ridge_loo", "kernel_fisher")


def check_measure(name: str, criteria: tuple[str, ...] = CRITERIA) -> None:
    """Raise a ValueError unless `name` is a measure or one of the criteria."""
    if name not in MEASURES and name not in criteria:
        raise ValueError(
            f"Expected a measure among {', '.join((*MEASURES, *criteria))}, got {name!r}."
        )


def make_objective(
    name: str,
    X: Any,
    target: Target,
    *,
    C: float = 100.0,
    memory: float | None = None,
    n_jobs: int | None = None,
    dtype: Any = None,
) -> Objective:
    """Return the objective of a measure or criterion on samples and their target.

    Parameters
    ----------
    name : str
        A measure, or one of `CRITERIA`.
    X : samples
    target : Target
        Its weights must be one for `CRITERIA`.
    C : float
        Of the L2-SVM behind "radius_margin".
    memory, n_jobs, dtype
        As for `Gram`.
    """
    if name in MEASURES:
        return MeasureObjective(MEASURES[name], X, target, memory, n_jobs, dtype)
    refuse_weights(name, target.w)
    criterion: Any
    if name == "radius_margin":
        criterion = RadiusMarginCriterion(target, C)
    elif name == "marginal_likelihood":
        criterion = MarginalLikelihood(target)
    elif name == "ridge_loo":
        criterion = RidgeLeaveOneOut(target)
    else:
        criterion = KernelFisher(target)
    return DenseObjective(criterion.name, criterion.sign, criterion, X, n_jobs)
