"""TakeView: the first step of a pipeline whose samples come in several views."""

from __future__ import annotations

from typing import Any, ClassVar

from sklearn.base import BaseEstimator, TransformerMixin


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
    >>> from gramsmith.selection.views import TakeView
    >>> TakeView(1).fit_transform(([[1.0]], [[2.0]]))
    [[2.0]]
    """

    _stored: ClassVar[dict[str, str]] = {"n_views_": "whole"}
    _stored_parameters: ClassVar[dict[str, str]] = {"index": "whole"}

    def __init__(self, index: int = 0) -> None:
        self.index = index

    def fit(self, X: Any, y: Any = None) -> TakeView:
        """Count the views.

        Parameters
        ----------
        X : tuple of views
        y : ignored

        Returns
        -------
        TakeView
        """
        if not isinstance(X, tuple) or not 0 <= self.index < len(X):
            raise ValueError(
                f"Expected a tuple of at least {self.index + 1} views, got {type(X).__name__}. "
                "Pass the views in the order of fit."
            )
        self.n_views_ = len(X)
        return self

    def transform(self, X: Any) -> Any:
        """Return the view.

        Parameters
        ----------
        X : tuple of views

        Returns
        -------
        whatever the view is
        """
        if not isinstance(X, tuple) or len(X) != self.n_views_:
            raise ValueError(
                f"Expected a tuple of {self.n_views_} views, got {type(X).__name__}. "
                "Pass the views in the order of fit."
            )
        return X[self.index]

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "n_views_")
