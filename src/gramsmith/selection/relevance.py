"""What the features are to a kernel, for the report."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt

from gramsmith.gram import Gram
from gramsmith.kernels import Gaussian, LinearMap
from gramsmith.measures import get_measure
from gramsmith.measures.alignment import ConstantKernelWarning
from gramsmith.selection.candidates import Candidate, median_distances
from gramsmith.targets import Target

Array = npt.NDArray[Any]


def feature_weights(candidate: Candidate, X: Array, target: Target) -> tuple[Array, str]:
    """Return the relevance of every feature, and what it means.

    For learned weights: the share of the feature in the mean squared distance. Otherwise: the rise
    of the centred alignment when the feature counts more, d CKA / d log weight, at the winner's
    width (at the median distance for kernels without one).

    Parameters
    ----------
    candidate : Candidate
    X : array of shape (n, p)
    target : Target

    Returns
    -------
    weights : array of shape (p,)
        Empty if no feature matters, as among constant ones.
    meaning : str
    """
    scale = getattr(candidate.kernel, "map", None)
    if isinstance(scale, LinearMap) and np.ndim(scale.S) == 1:
        share = np.asarray(scale.S, dtype=float) ** 2 * X.var(axis=0)
        return share / max(
            float(share.sum()), 1e-300
        ), "share of each feature in the learned distance"
    width: Any = getattr(candidate.kernel, "length_scale", None)
    if candidate.family.partition(",")[0] != "gaussian" or np.ndim(width):
        width = median_distances(X)[0] / np.sqrt(2.0)
    kernel = Gaussian(np.full(X.shape[1], float(width)))
    G = Gram(kernel, X)
    moments = G.moments(target, keep=True)
    with warnings.catch_warnings():  # that a kernel is constant was said when it was screened
        warnings.simplefilter("ignore", ConstantKernelWarning)
        _, adjoint = get_measure("cka").value_and_adjoint(moments, target)
    slope = G.pullback(adjoint, target, moments, inputs=False)[0].parameters.get("length_scale")
    if slope is None:  # the Gram matrix is constant, and so is its alignment
        return np.empty(0), ""
    slope = np.asarray(slope, dtype=float)
    return -slope * float(width), "rise of the centred alignment if the feature counted more"
