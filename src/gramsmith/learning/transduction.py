"""Alignment of a kernel matrix over labelled and unlabelled samples."""

from __future__ import annotations

from dataclasses import replace
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg import eigh
from sklearn.utils._param_validation import Interval, StrOptions, validate_parameter_constraints

from gramsmith.arguments import abridged, as_numbers, check_sizes
from gramsmith.gram import Gram
from gramsmith.kernels import check_kernel_matrix
from gramsmith.learning.learner import as_given
from gramsmith.learning.spectral import ROUNDING, SpectralAligner, check_positive, inner_products
from gramsmith.solvers import solve_nonnegative, warn_unless_converged
from gramsmith.targets import Target, as_labels, make_target

Array = npt.NDArray[Any]

LEAST = 1e-9  # of the largest eigenvalue: the weights are solved for, not divided by it
CONSTRAINTS = {
    **SpectralAligner._parameter_constraints,
    "rule": [StrOptions({"exact", "diagonal"})],
    "threshold": [Interval(Real, 0, 1, closed="left")],
}


def transductive_alignment(
    K: Any,
    y: Any,
    train: Any,
    rule: str = "exact",
    *,
    threshold: float = LEAST,
    n_components: int | None = None,
    target: str = "auto",
    task: str = "auto",
) -> Array:
    r"""Return the kernel matrix of all samples whose eigen-directions align with known labels.

    .. math:: G = \sum_n \alpha_n v_n v_n', \qquad K v_n = \lambda_n v_n \text{ over all rows}

    On the training rows the v are not orthogonal. The exact weights minimise
    :math:`\|\sum_n \alpha_n v_n v_n' - T\|` there over :math:`\alpha \ge 0`; the rule of the paper,
    :math:`\alpha_n = v_n'Tv_n / (v_n'v_n)^2`, treats them as if they were.

    Parameters
    ----------
    K : array of shape (n, n), or Gram
        Kernel matrix of training and test samples.
    y : array of shape (m,) or (n,)
        Labels or values of the training samples, or of all samples, of which only the training ones
        are read.
    train : int array of shape (m,), or bool array of shape (n,)
        The training samples.
    rule : {"exact", "diagonal"}, default="exact"
        How the weights are found.
    threshold : float, default=1e-9
        Eigenvalues below this share of the largest are left out.
    n_components : int, optional
        Largest number of directions.
    target : {"auto", "simplex", "one_hot", "balanced", "imbalanced"}, default="auto"
        What similarity should look like, see `gramsmith.targets.make_target`.
    task : {"auto", "classification", "regression"}, default="auto"
        Whole numbers are classes unless this says otherwise.

    Returns
    -------
    array of shape (n, n)
        G, positive semidefinite.

    References
    ----------
    J. Kandola, J. Shawe-Taylor, "Refining kernels for regression and uneven classification
    problems".

    Examples
    --------
    >>> import numpy as np
    >>> import gramsmith as gs
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 2))
    >>> y, train = X[:, 0] > 0, np.arange(30)
    >>> G = gs.transductive_alignment(gs.Gaussian(1.0)(X), y[train], train)
    >>> bool(gs.kta(G[:30, :30], y[train]) > gs.kta(gs.Gaussian(1.0)(X[:30]), y[train]))
    True
    """
    given = {name: value for name, value in locals().items() if name in CONSTRAINTS}
    check_sizes("transductive_alignment", given)
    validate_parameter_constraints(CONSTRAINTS, given, caller_name="transductive_alignment")
    K = check_kernel_matrix(K.toarray() if isinstance(K, Gram) else K, psd="ignore")
    n, rows = len(K), _rows(train, len(K))
    labels = as_given(y)  # those of samples that are not for training may be missing
    labels = np.atleast_1d(labels if isinstance(labels, np.ndarray) else as_labels(y))
    if len(labels) not in (n, len(rows)):
        raise ValueError(
            f"Expected labels of the {len(rows)} training samples or of all {n}, got {len(labels)}."
        )
    goal = make_target(labels[rows] if len(labels) == n else labels, target, task=task)
    values, V = eigh(K)
    values, V = values[::-1], V[:, ::-1]
    check_positive(values[0])
    if n_components is not None:
        values, V = values[:n_components], V[:, :n_components]
    V = V[:, values > max(float(threshold), ROUNDING) * values[0]]
    alpha = _align(V[rows], goal, rule)
    G = (V * alpha) @ V.T
    return np.asarray(0.5 * (G + G.T))


def _align(R: Array, goal: Target, rule: str) -> Array:
    """Return the weights of directions, given by their training rows."""
    a, squares = inner_products(R, goal), (R.T @ R) ** 2
    if rule == "diagonal":
        lengths = squares.diagonal()
        return np.asarray(np.divide(a, lengths, out=np.zeros_like(a), where=lengths > ROUNDING))
    solution = solve_nonnegative(squares, a, tol=1e-6)
    warn_unless_converged(
        replace(solution, advice="Use a larger threshold, or fewer components."),
        "transductive_alignment",
    )
    return np.asarray(solution.v)


def _rows(train: Any, n: int) -> Array:
    index = np.empty(0) if as_numbers(train) is None else np.asarray(train)
    if index.dtype == bool and index.shape == (n,):
        index = np.flatnonzero(index)
    fine = index.ndim == 1 and index.dtype.kind in "iu" and len(index) >= 2
    if not fine or index.min() < 0 or index.max() >= n or len(np.unique(index)) != len(index):
        raise ValueError(
            f"Expected at least two different row numbers between 0 and {n - 1}, or a mask of {n} "
            f"booleans, got {abridged(train)}."
        )
    return index
