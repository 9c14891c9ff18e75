"""Pipelines: steps from what the user passed to a machine, and views."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.pipeline import Pipeline
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from gramsmith.machines.explanation import RowExplanation, explain, outside

Array = npt.NDArray[Any]


def _passed_on(method: str) -> Any:
    return available_if(lambda pipeline: hasattr(pipeline.steps[-1][1], method))


class ModelPipeline(Pipeline):
    """A pipeline that passes on what its last step knows beyond predictions.

    `rank_kernels` returns one; everything else is as in scikit-learn's pipeline.

    Examples
    --------
    >>> import gramsmith as gs
    >>> from gramsmith.selection import ModelPipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> steps = [("scale", StandardScaler()), ("model", gs.KernelSVR(gs.Linear(), C=1e3))]
    >>> model = ModelPipeline(steps).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0])
    >>> _ = model[-1].calibrate_intervals([0.1, -0.2, 0.3])
    >>> model.predict_interval([[1.0]], coverage=0.5).round(1)
    array([[0.8, 1.2]])
    """

    _stored_parameters: ClassVar[dict[str, str]] = {"steps": "steps", "memory": "none"}

    def _encoded(self, X: Any) -> Any:
        """Return new samples as the last step takes them."""
        for _, step in self.steps[:-1]:
            X = step.transform(X)
        return X

    @_passed_on("predict_interval")  # type: ignore[untyped-decorator]
    def predict_interval(self, X: Any, coverage: float = 0.9) -> Array:
        """Return intervals of the last step that hold the values with a given probability."""
        return np.asarray(self.steps[-1][1].predict_interval(self._encoded(X), coverage))

    @_passed_on("predict_set")  # type: ignore[untyped-decorator]
    def predict_set(self, X: Any, coverage: float = 0.9, per_class: bool = True) -> Array:
        """Return the classes of the last step that samples may have, shape (n, n_classes)."""
        return np.asarray(self.steps[-1][1].predict_set(self._encoded(X), coverage, per_class))

    @_passed_on("novelty")  # type: ignore[untyped-decorator]
    def novelty(self, X: Any) -> Array:
        """Return how unlike the training samples new ones are, from 0 to 1, shape (n,)."""
        return np.asarray(self.steps[-1][1].novelty(self._encoded(X)))

    @_passed_on("novelty")  # type: ignore[untyped-decorator]
    def columns_outside(self, X: Any) -> list[list[str]]:
        """Return for each row the names of the columns that are outside their training range."""
        return outside(self, X)

    @_passed_on("explain_row")  # type: ignore[untyped-decorator]
    def explain_row(self, x: Any, of: Any = None, rows: int = 5) -> RowExplanation:
        """Return what the answer for one row rests on: training rows, and columns."""
        return explain(self, x, of, rows)


class TakeView(TransformerMixin, BaseEstimator):
    """Pass on one view of samples that come as a tuple of views.

    Parameters
    ----------
    index : int, default=0
        Which view.

    Attributes
    ----------
    n_views_ : int
        Number of views seen in fit.

    Examples
    --------
    >>> from gramsmith.selection import TakeView
    >>> TakeView(1).fit_transform(([[1.0]], [[2.0]]))
    [[2.0]]
    """

    _stored: ClassVar[dict[str, str]] = {"n_views_": "whole"}
    _stored_parameters: ClassVar[dict[str, str]] = {"index": "whole"}

    def __init__(self, index: int = 0) -> None:
        self.index = index

    def fit(self, X: Any, y: Any = None) -> TakeView:
        """Count the views."""
        if not isinstance(X, tuple) or not 0 <= self.index < len(X):
            raise ValueError(
                f"Expected a tuple of at least {self.index + 1} views, got {type(X).__name__}. "
                "Pass the views in the order of fit."
            )
        self.n_views_ = len(X)
        return self

    def transform(self, X: Any) -> Any:
        """Return the view."""
        check_is_fitted(self)
        if not isinstance(X, tuple) or len(X) != self.n_views_:
            raise ValueError(
                f"Expected a tuple of {self.n_views_} views, got {type(X).__name__}. "
                "Pass the views in the order of fit."
            )
        return X[self.index]

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "n_views_")

    def _check_stored(self) -> None:
        if not 0 <= self.index < self.n_views_:
            raise ValueError(f"Expected one of {self.n_views_} views, got {self.index}.")
