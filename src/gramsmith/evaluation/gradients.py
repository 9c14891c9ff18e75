"""value_and_gradient: a measure and its derivatives, by two sweeps over the pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gramsmith.arguments import as_flag
from gramsmith.gram import Gram, as_gram
from gramsmith.kernels import Kernel, Precomputed, default_kernel
from gramsmith.measures import Measure, get_measure
from gramsmith.moments import Adjoint, Moments
from gramsmith.targets import Target, make_target

Array = npt.NDArray[Any]


def value_and_gradient(
    measure: str | Measure,
    kernel: Any,
    X: Any,
    y: Any,
    *,
    flat: bool = False,
    inputs: bool = False,
    target: str = "auto",
    task: str = "auto",
    sample_weight: Any = None,
    memory: float | None = None,
    n_jobs: int | None = None,
    engine: Any = None,
    dtype: Any = None,
) -> tuple[float, Any]:
    r"""Return a measure of a kernel and its derivatives by the parameters of the kernel.

    .. math:: \frac{df}{d\theta} = \sum_{ij} \frac{\partial f}{\partial K_{ij}}
              \frac{\partial k_\theta(x_i, x_j)}{\partial\theta}

    summed tile by tile in a second sweep: no matrix of n x n derivatives is held.

    Parameters
    ----------
    measure : str or Measure
        A name in `gramsmith.measures.MEASURES`, or a measure of your own.
    kernel : Kernel, name or "precomputed"
        What `as_kernel` takes. With "precomputed" X is the kernel matrix, and the derivative is
        that by its entries.
    X : array of shape (n, p), sequence of n objects, or kernel matrix
    y : array of shape (n,) or (n, q)
        Labels or values.
    flat : bool, default=False
        Return one vector, for `scipy.optimize`: the derivatives by ``kernel.theta`` (logarithms of
        the positive parameters), then those by the other parameters as they are.
    inputs : bool, default=False
        Whether the derivative by the samples is wanted too, as "X".
    target, task, sample_weight
        See `gramsmith.targets.make_target`; default "auto", "auto" and equal weights.
    memory, n_jobs, engine, dtype
        See `Gram`.

    Returns
    -------
    value : float
    gradient : dict of name -> number or array, or array
        By scikit-learn's nested names; "X" and "K" for samples and matrices. With `flat`, a vector.

    Examples
    --------
    >>> import numpy as np
    >>> import gramsmith as gs
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> y = X[:, 0] * X[:, 1] > 0
    >>> value, gradient = gs.value_and_gradient("cka", gs.Gaussian(1.0), X, y)
    >>> round(value, 4), {name: round(float(d), 4) for name, d in gradient.items()}
    (0.19, {'length_scale': -0.1451})

    Maximised by SciPy, on the scale of logarithms:

    >>> from scipy.optimize import minimize
    >>> def cost(theta):
    ...     kernel = gs.Gaussian().clone_with_theta(theta)
    ...     value, slope = gs.value_and_gradient("cka", kernel, X, y, flat=True)
    ...     return -value, -slope
    >>> float(np.exp(minimize(cost, [0.0], jac=True).x[0]).round(3))
    0.524
    """
    flat, inputs = as_flag("flat", flat), as_flag("inputs", inputs)
    chosen = get_measure(measure)
    goal = make_target(y, target, task=task, sample_weight=sample_weight)
    used: Kernel = default_kernel(kernel, X)
    options = {"memory": memory, "n_jobs": n_jobs, "engine": engine, "dtype": dtype}
    given = isinstance(used, Precomputed)
    G = as_gram(X, **options) if given else Gram(used, X, **options)
    moments = G.moments(goal)
    value, adjoint = chosen.value_and_adjoint(moments, goal)
    if given:
        dK = _by_entries(G, adjoint, goal, moments)
        return value, dK.ravel() if flat else {"K": dK}
    found = G.pullback(adjoint, goal, moments, inputs=inputs)[0]
    # a constant kernel has no derivative by the samples, a measure at a bound of it none at all
    named = {
        name: found.parameters.get(name, 0.0 * np.asarray(used._lookup(name), dtype=float))
        for name in used.parameter_names()
    }
    by_samples = np.zeros(np.shape(X)) if found.inputs is None else found.inputs
    if not flat:
        return value, named | ({"X": by_samples} if inputs else {})
    logs = [
        np.ravel(used._lookup(name) * np.asarray(named[name]))
        for name in used.parameter_names(kinds=("positive",))
    ]
    others = [np.ravel(named[name]) for name in used.parameter_names(kinds=("free",))]
    samples = [np.ravel(by_samples)] if inputs else []
    return value, np.concatenate([np.empty(0), *logs, *others, *samples])


def _by_entries(G: Gram, adjoint: Adjoint, goal: Target, moments: Moments) -> Array:
    """Return the derivative by the entries of a given matrix, symmetric."""
    whole = adjoint.unpivoted(moments, goal)
    low = whole.A[0] @ goal.wV.T
    dK = 0.5 * (low + low.T) + 2.0 * whole.nu[0, 0] * np.outer(goal.w, goal.w) * G.toarray()
    dK[np.diag_indices_from(dK)] += whole.delta[0]
    return np.asarray(dK)
