"""One measure of one kernel, on a matrix or a Gram."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from typing import Any, TypeVar

import numpy as np

from gramsmith.arguments import abridged, as_flag, is_one_of
from gramsmith.docstrings import completed, entries_of
from gramsmith.gram import Gram, as_gram
from gramsmith.gram.threads import dense_work
from gramsmith.measures import MEASURES, Measure, Sums, get_measure
from gramsmith.measures.alignment import pair_alignment
from gramsmith.measures.separability import csm_formula, fsm_formula, fsm_matrix
from gramsmith.targets import (
    Target,
    as_labels,
    check_weights,
    kind_of,
    make_target,
    normalised_weights,
)

Function = TypeVar("Function", bound=Callable[..., Any])

# What all docstrings say of the parameters that measures share.
COMMON = entries_of(
    """
Parameters
----------
K : array of shape (n, n), or Gram
y : array of shape (n,) or (n, q)
    Labels or values.
target : {"auto", "simplex", "one_hot", "balanced", "imbalanced"}, default="auto"
    What T is for classes, see `gramsmith.targets.make_target`.
task : {"auto", "classification", "regression"}, default="auto"
sample_weight : array of shape (n,), optional
    How much each sample counts, up to a factor.
""",
    "Parameters",
)


def with_common_parameters(function: Function) -> Function:
    """Let the docstring of a measure say what is `COMMON`, in the order of the signature."""
    names = signature(function).parameters
    function.__doc__ = completed(function.__doc__, "Parameters", names, COMMON)
    return function


@with_common_parameters
def kta(
    K: Any, y: Any, *, target: str = "auto", task: str = "auto", sample_weight: Any = None
) -> float:
    r"""Return the kernel-target alignment.

    .. math:: A = \langle K, T\rangle / (\|K\|\, \|T\|)

    Returns
    -------
    float
        In [0, 1] for positive semidefinite K; higher is better. The identity has 1/sqrt(n).

    References
    ----------
    Cristianini, Shawe-Taylor, Elisseeff, Kandola: On kernel-target alignment (2001).

    Examples
    --------
    >>> import numpy as np
    >>> import gramsmith as gs
    >>> gs.kta(np.eye(4), ["a", "a", "b", "b"])
    0.5
    """
    return measure_value("kta", K, y, target=target, task=task, sample_weight=sample_weight)


@with_common_parameters
def cka(
    K: Any,
    y: Any,
    *,
    debiased: bool = False,
    target: str = "auto",
    task: str = "auto",
    sample_weight: Any = None,
) -> float:
    r"""Return the centred alignment of a kernel with its target.

    .. math:: A_c = \langle HKH, HTH\rangle / (\|HKH\|\, \|HTH\|)

    Parameters
    ----------
    debiased : bool, default=False
        Leave the diagonal out (U-centring): 0 on average for independent labels, may be negative.
    target : {"auto", "simplex", "one_hot", "balanced", "imbalanced"}, default="auto"
        What T is for classes; centred, those of two classes are all the same, and so are the first
        three of several.

    Returns
    -------
    float
        Higher is better.

    References
    ----------
    Cortes, Mohri, Rostamizadeh: Algorithms for learning kernels based on centered alignment (2012).
    Song et al.: Feature selection via dependence maximization (2012), for the unbiased form.

    Examples
    --------
    >>> import numpy as np
    >>> import gramsmith as gs
    >>> y = np.array([1, 1, -1, -1, 1, -1])
    >>> round(gs.cka(np.outer(y, y) + 5.0, y), 12)
    1.0
    """
    name = "cka_debiased" if as_flag("debiased", debiased) else "cka"
    return measure_value(name, K, y, target=target, task=task, sample_weight=sample_weight)


def alignment(
    K1: Any, K2: Any, *, centered: bool = False, debiased: bool = False, sample_weight: Any = None
) -> float:
    r"""Return the alignment of two kernels on the same samples.

    .. math:: \langle PK_1, PK_2\rangle / (\|PK_1\|\, \|PK_2\|)

    Parameters
    ----------
    K1, K2 : array of shape (n, n), or Gram
    centered : bool, default=False
        P is centring: this is CKA, the similarity of representations.
    debiased : bool, default=False
        P is U-centring: CKA without the bias of small n.
    sample_weight : array of shape (n,), optional
        How much each sample counts, up to a factor.

    Returns
    -------
    float

    Examples
    --------
    >>> import numpy as np
    >>> import gramsmith as gs
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> G = gs.Gram(gs.Linear(), X)
    >>> round(gs.alignment(G, gs.Gram(gs.Linear(), 2 * X + 1), centered=True), 12)
    1.0
    """
    debiased, centered = as_flag("debiased", debiased), as_flag("centered", centered)
    joint = one_gram(K1).joined(one_gram(K2))
    if joint.n < 2:
        raise ValueError("Expected at least 2 samples, got n = 1. Add samples.")
    w = normalised_weights(check_weights(sample_weight, joint.n))
    ones = Target(np.ones((joint.n, 1)), np.zeros((1, 1)), np.ones(1), w, "values")
    projection = "debiased" if debiased else "centred" if centered else "plain"
    return pair_alignment(joint.moments(ones, cross=True), ones, projection)


@with_common_parameters
def fsm(
    K: Any,
    y: Any,
    *,
    leave_one_out: bool = False,
    ddof: int = 1,
    aggregate: str = "mean",
    task: str = "auto",
    sample_weight: Any = None,
) -> Any:
    r"""Return the feature space measure: spread between the class means over their distance.

    .. math:: FSM = \frac{sd_+(g) + sd_-(g)}{\|\phi_+ - \phi_-\|^2}, \qquad
              g_i = \langle \phi_- - \phi_+, \phi(x_i)\rangle

    For real y it is :math:`\sqrt{1/\rho^2 - 1}` with the correlation of HKHy and y.

    Parameters
    ----------
    leave_one_out : bool, default=False
        Leave each point out of its own class mean, on the centred kernel. The plain measure is 0,
        "perfect", for the identity matrix; this one is infinite.
    ddof : {1, 0}, default=1
        Divisor n_c - ddof of the variances; the paper has 1.
    aggregate : {"mean", "max", "matrix"}, default="mean"
        With several classes: mean over pairs weighted by their size, maximum, or all pairs.

    Returns
    -------
    float, or array of shape (C, C)
        Lower is better; 0 at best, infinite at worst.

    References
    ----------
    Nguyen, Ho: An efficient kernel matrix evaluation measure (2008).

    Examples
    --------
    >>> import numpy as np
    >>> import gramsmith as gs
    >>> (
    ...     gs.fsm(np.eye(6), [0, 0, 0, 1, 1, 1]),
    ...     gs.fsm(np.eye(6), [0, 0, 0, 1, 1, 1], leave_one_out=True),
    ... )
    (0.0, inf)
    """
    if not is_one_of(aggregate, ("mean", "max", "matrix")):
        raise ValueError(
            f'Expected aggregate "mean", "max" or "matrix", got {abridged(aggregate)}.'
        )
    check_ddof(ddof)
    name = "fsm_loo" if as_flag("leave_one_out", leave_one_out) else "fsm"
    sums = sums_of(K, y, MEASURES[name], task=task, sample_weight=sample_weight)
    _check_diagonal(sums)
    if sums.target.kind == "values" or aggregate == "mean":
        return fsm_formula(sums, ddof, leave_one_out).value
    F = fsm_matrix(sums, ddof, leave_one_out)
    return F if aggregate == "matrix" else float(F.max())


@with_common_parameters
def csm(
    K: Any,
    y: Any,
    *,
    form: str = "covariance",
    ddof: int = 1,
    normalized: bool = False,
    task: str = "auto",
    sample_weight: Any = None,
) -> float:
    r"""Return the class separability measure: variance within over distance between classes.

    .. math:: \sum_c tr\, Cov_c \,/\, \|\phi_+ - \phi_-\|^2 \quad\text{or}\quad tr\, S_W / tr\, S_B

    Parameters
    ----------
    y : array of shape (n,) or (n, q)
        Labels or values (values have the scatter form only).
    form : {"covariance", "scatter"}, default="covariance"
    ddof : {1, 0}, default=1
        Divisor n_c - ddof of the covariances.
    normalized : bool, default=False
        Return csm / (1 + csm), in [0, 1].

    Returns
    -------
    float
        Lower is better.

    Examples
    --------
    >>> import numpy as np
    >>> import gramsmith as gs
    >>> round(gs.csm(np.eye(4), [0, 0, 1, 1], form="scatter"), 12)
    2.0
    """
    if not is_one_of(form, ("covariance", "scatter")):
        raise ValueError(f'Expected form "covariance" or "scatter", got {abridged(form)}.')
    check_ddof(ddof)
    normalized = as_flag("normalized", normalized)
    measure = MEASURES["csm_scatter" if form == "scatter" else "csm"]
    sums = sums_of(K, y, measure, task=task, sample_weight=sample_weight)
    _check_diagonal(sums)
    value = csm_formula(sums, form, ddof).value
    if not normalized:
        return value
    return value / (1.0 + value) if np.isfinite(value) else 1.0


@with_common_parameters
def polarity(
    K: Any, y: Any, *, target: str = "auto", task: str = "auto", sample_weight: Any = None
) -> float:
    """Return the polarity <K, T>, the alignment before division by the norms.

    Returns
    -------
    float
        Higher is better.

    Examples
    --------
    >>> import numpy as np
    >>> import gramsmith as gs
    >>> gs.polarity(np.eye(4), [0, 0, 1, 1])
    4.0
    """
    return measure_value("polarity", K, y, target=target, task=task, sample_weight=sample_weight)


@with_common_parameters
def hsic(
    K: Any,
    y: Any,
    *,
    unbiased: bool = False,
    target: str = "auto",
    task: str = "auto",
    sample_weight: Any = None,
) -> float:
    r"""Return the Hilbert-Schmidt independence criterion of samples and targets.

    .. math:: \langle HKH, T\rangle / (n-1)^2 \qquad\text{or}\qquad \langle UK, UT\rangle / n(n-3)

    Parameters
    ----------
    unbiased : bool, default=False
        The unbiased form, which needs four samples and may be negative.

    Returns
    -------
    float
        Higher is better.

    Examples
    --------
    >>> import numpy as np
    >>> import gramsmith as gs
    >>> round(gs.hsic(np.eye(4), [0, 0, 1, 1]), 6)
    0.444444
    """
    name = "hsic_unbiased" if as_flag("unbiased", unbiased) else "hsic"
    return measure_value(name, K, y, target=target, task=task, sample_weight=sample_weight)


@with_common_parameters
def mmd(K: Any, y: Any, *, unbiased: bool = False, sample_weight: Any = None) -> float:
    r"""Return the squared maximum mean discrepancy of two classes.

    .. math:: \|\phi_+ - \phi_-\|^2

    `two_sample_test` compares two samples X and Y, without a choice of kernel, and has a p-value.

    Parameters
    ----------
    y : array of shape (n,)
        Class labels; several classes give the mean over pairs weighted by their size.
    unbiased : bool, default=False
        Leave the diagonal out; may be negative.

    Returns
    -------
    float
        Higher is better.

    Examples
    --------
    >>> import numpy as np
    >>> import gramsmith as gs
    >>> gs.mmd(np.eye(4), [0, 0, 1, 1])
    1.0
    """
    name = "mmd_unbiased" if as_flag("unbiased", unbiased) else "mmd"
    if not isinstance(K, Gram) and kind_of(as_labels(y)).startswith("continuous"):
        raise ValueError(
            "Expected a kernel matrix and class labels for its rows, got real numbers as y. To "
            "compare two samples use two_sample_test(X, Y)."
        )
    return measure_value(name, K, y, task="classification", sample_weight=sample_weight)


def measure_value(measure: str | Measure, K: Any, y: Any, **options: Any) -> float:
    """Return one measure of a matrix or a Gram; options are those of `make_target`."""
    measure = get_measure(measure)
    with dense_work():
        return measure.of(sums_of(K, y, measure, **options)).value


def sums_of(K: Any, y: Any, measure: Measure, *, target: str = "auto", **options: Any) -> Sums:
    """Return the sums of a matrix or Gram for the target of y."""
    goal = make_target(y, target, **options)
    G = one_gram(K)
    if len(goal.w) != G.n:
        raise ValueError(
            f"Expected one target per row of K ({G.n}), got {len(goal.w)}. "
            "K and y must describe the same samples."
        )
    if G.n < 2:
        raise ValueError("Expected at least 2 samples, got n = 1. Add samples.")
    measure.check(goal)
    return Sums(G.moments(goal), goal)


def one_gram(K: Any) -> Gram:
    """Return the Gram of a matrix or a Gram of one kernel, or raise."""
    G = as_gram(K)
    if len(G.kernels) != 1:
        raise ValueError(
            f"Expected the Gram matrix of one kernel, got {len(G.kernels)} kernels. Use evaluate "
            "for several, or build a Gram for one of them."
        )
    return G


def _check_diagonal(sums: Sums) -> None:
    """Raise where a variance would be that of no features: a diagonal that is negative."""
    least = float(sums.moments.diagonals.min())
    if least < 0:
        raise ValueError(
            f"Expected a kernel matrix, whose diagonal is not negative, got {least:.6g}. "
            "Use nearest_psd to repair it."
        )


def check_ddof(ddof: Any) -> None:
    """Raise unless ddof is 0 or 1."""
    if not is_one_of(ddof, (0, 1)):
        raise ValueError(f"Expected ddof 0 or 1, got {abridged(ddof)}.")
