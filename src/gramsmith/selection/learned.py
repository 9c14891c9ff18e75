"""Learned candidates: Gaussians whose feature weights raise the alignment."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import ConvergenceWarning

from gramsmith.kernels import Gaussian, LinearMap
from gramsmith.learning import TransformLearner
from gramsmith.selection.candidates import Candidate
from gramsmith.selection.judge import Judge

Array = npt.NDArray[Any]

LEARN_TWICE = 2000  # rows from which a second climb is worth its time
LEARN_LONGER = 5000  # rows from which more of them are learned from


@dataclass(frozen=True)
class Shape:
    """Feature weights that were learned, before their width is chosen.

    Parameters
    ----------
    name : str
    weights : array of shape (p,)
    view : int
    """

    name: str
    weights: Array
    view: int

    def candidate(self, factor: float) -> Candidate:
        """Return the Gaussian of these weights times a factor."""
        times = "" if factor == 1.0 else f", {factor:g} times narrower"
        kernel = Gaussian.from_gamma(1.0) @ LinearMap(self.weights * factor)
        return Candidate(f"Gaussian, {self.name}{times}", kernel, "learned", None, self.view)


def learn_diagonal(
    source: Candidate, middle: Candidate, X: Array, judge: Judge
) -> tuple[list[Shape], Array] | None:
    """Return feature weights that were learned, and the rows they were learned from.

    The alignment finds the features that matter, but it has several optima, likes wide kernels and
    favours the strongest feature. So the weights are tried as learned, softened (square roots)
    and equal for those above a tenth of the mean; where samples are many, from a second climb too.
    """
    size = 1000 if judge.n <= LEARN_LONGER else 2000
    A = judge.sample(min(max(judge.n * 3 // 5, 30), size), salt=4)
    spread = X.var(axis=0)
    found = []
    starts = [("", source), (" (second climb)", middle)]
    for start, first in starts if judge.n > LEARN_TWICE else starts[:1]:
        S = _climb(X[A], judge.y[A], 1.0 / (np.sqrt(2.0) * first.kernel.length_scale), judge)
        if S is None:
            continue
        share = S**2 * spread
        chosen = share > 0.1 * share.sum() / len(share)
        kinds = {"learned": S, "softened": np.sqrt(S), "selected": chosen.astype(float)}
        for word, shape in kinds.items():
            weights = shape * np.sqrt(share.sum() / float(shape**2 @ spread))
            found.append(Shape(f"{word} feature weights{start}", weights, source.view))
    return (found, A) if found else None


def _climb(X: Array, y: Array, start: float, judge: Judge) -> Array | None:
    """Return feature weights that raise the alignment, or None where there are none."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # stopping early is the intention
        try:
            learner = TransformLearner(
                structure="diagonal",
                measure="cka",
                l1=0.0,  # sparse shapes are made from the weights, see `Shape`
                max_iter=12,
                init=np.full(X.shape[1], float(start)),
                task=judge.task,
                dtype="float32",
                random_state=judge.seed,
            ).fit(X, y)
        except ValueError:
            return None
    S = np.abs(np.diagonal(learner.components_))
    usable = np.isfinite(S).all() and float(S**2 @ X.var(axis=0)) > 0
    return np.ascontiguousarray(S) if usable else None
