"""Guaranteed bounds on training errors, from the measures."""

from __future__ import annotations

from typing import Any

import numpy as np

from gramsmith.arguments import as_flag
from gramsmith.evaluation.single_measures import (
    check_ddof,
    measure_value,
    sums_of,
    with_common_parameters,
)
from gramsmith.gram import Gram, as_gram
from gramsmith.kernels.definiteness import is_semidefinite
from gramsmith.kernels.precomputed import rests_on_matrix
from gramsmith.measures import MEASURES
from gramsmith.measures.base import Undefined
from gramsmith.measures.separability import fsm_formula, fsm_matrix
from gramsmith.targets import make_target, target_scheme

SMALL = 2000  # matrices up to this size are looked at


@with_common_parameters
def fsm_error_bound(
    K: Any, y: Any, *, ddof: int = 1, task: str = "auto", sample_weight: Any = None
) -> float:
    r"""Return the bound on the training error that FSM guarantees.

    .. math:: err \le FSM^2 / (1 + FSM^2)

    Some hyperplane between the class means errs no more often, in every class (the one that
    `CentroidClassifier` fits; points exactly on it belong to the class without spread). Several
    classes: pairwise voting and the union bound. Real y: the relative training error 1 - ρ² of the
    best regressor along Σ y_i φ_i.

    Parameters
    ----------
    ddof : {1, 0}, default=1
        1 as in the paper; 0 gives the tight bound.
    sample_weight : array of shape (n,), optional
        How much each sample counts, up to a factor; the error counts them alike.

    Returns
    -------
    float in [0, 1]

    Examples
    --------
    >>> import numpy as np
    >>> import gramsmith as gs
    >>> y = np.array([1, 1, -1, -1])
    >>> gs.fsm_error_bound(np.outer(y, y), y)
    0.0
    """
    check_ddof(ddof)
    sums = sums_of(K, y, MEASURES["fsm"], task=task, sample_weight=sample_weight)
    if sums.target.kind == "values":
        return float(_bounded(fsm_formula(sums).value))
    bounds = _bounded(fsm_matrix(sums, ddof))
    if len(bounds) == 2:
        return float(bounds[0, 1])
    share = sums.target.m / sums.target.n
    return float(share @ np.minimum(1.0, bounds.sum(axis=1)))


def _bounded(F: Any) -> Any:
    F = np.asarray(F, dtype=float)
    with np.errstate(over="ignore"):
        return np.where(np.isfinite(F), 1.0 - 1.0 / (1.0 + F * F), 1.0)


@with_common_parameters
def parzen_error_bound(
    K: Any,
    y: Any,
    *,
    target: str = "auto",
    positive_definite: bool | None = None,
    sample_weight: Any = None,
) -> float:
    r"""Return the bound on the training error of the Parzen window classifier.

    .. math:: err\left(x \mapsto sgn \sum_j y_j k(x_j, x)\right) \le 1 - A(K, yy')

    With ``target="imbalanced"`` it bounds :math:`(n_- err_+ + n_+ err_-)/n` of the classifier that
    weighs the classes by 1/n+ and 1/n-.

    Parameters
    ----------
    y : array of shape (n,)
        Two classes.
    target : {"auto", "imbalanced"}, default="auto"
    positive_definite : bool, optional
        Whether K is; default what the kernel says, and for matrices what they show, which is
        looked at up to n = 2000. Without it only 1 - A² is guaranteed, for A >= 0.
    sample_weight : array of shape (n,), optional
        How much each sample counts, up to a factor, in the sum over j and in the error.

    Returns
    -------
    float in [0, 1]

    Examples
    --------
    >>> import numpy as np
    >>> import gramsmith as gs
    >>> y = np.array([1, 1, -1, -1])
    >>> round(gs.parzen_error_bound(np.outer(y, y), y), 12)
    0.0
    """
    target = target_scheme(target, ("auto", "imbalanced"))
    if positive_definite is not None:
        positive_definite = as_flag("positive_definite", positive_definite)
    G = as_gram(K)
    classes = make_target(y, target, task="classification", sample_weight=sample_weight).classes
    if classes is None or len(classes) != 2:
        raise Undefined(
            "Expected two classes for the Parzen bound, got "
            f"{'labels' if classes is None else len(classes)}. Use fsm_error_bound."
        )
    A = measure_value("kta", G, y, target=target, sample_weight=sample_weight)
    definite = is_definite(G) if positive_definite is None else positive_definite
    bound = 1.0 - A if definite else 1.0 - max(A, 0.0) ** 2
    return float(min(max(bound, 0.0), 1.0))


def is_definite(G: Gram) -> bool:
    """Return whether a Gram matrix is known to be positive semidefinite, up to rounding."""
    if not G.kernel.positive_definite or not rests_on_matrix(G.kernel):
        return G.kernel.positive_definite
    return G.n <= SMALL and is_semidefinite(G.toarray())
