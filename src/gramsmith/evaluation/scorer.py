"""alignment_scorer: a measure as a criterion of grid search."""

from __future__ import annotations

from typing import Any

from gramsmith.evaluation.verbs import measure_value
from gramsmith.gram import Gram
from gramsmith.kernels.adapt import as_kernel
from gramsmith.kernels.base import Kernel
from gramsmith.kernels.precomputed import Precomputed
from gramsmith.measures import Measure, get_measure


class AlignmentScorer:
    """A scorer for scikit-learn: the measure of the estimator's kernel on the data it is given.

    Parameters
    ----------
    measure : Measure
    options : dict
        Arguments of `make_target`.
    """

    def __init__(self, measure: Measure, options: dict[str, Any]) -> None:
        self.measure = measure
        self.options = options

    def __call__(self, estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the measure, its sign changed if lower is better; -1e12 where it is infinite."""
        kernel, X = kernel_of(estimator, X)
        options = {**self.options, "sample_weight": sample_weight}
        score = self.measure.sign * measure_value(self.measure, Gram(kernel, X), y, **options)
        return max(score, -1e12)  # searches average scores, and an infinite one would spoil them

    def __repr__(self) -> str:
        return f"alignment_scorer({self.measure.name!r})"


def alignment_scorer(
    measure: str = "cka", *, target: str = "auto", task: str = "auto"
) -> AlignmentScorer:
    """Return a scorer for `GridSearchCV` and its relatives.

    In every split the estimator is fitted on the training part as usual, and its kernel is measured
    on the other part; nothing is predicted.

    Parameters
    ----------
    measure : str
        A name in `gramsmith.measures.MEASURES`.
    target, task : str
        See `gramsmith.targets.make_target`.

    Returns
    -------
    callable (estimator, X, y) -> float

    Examples
    --------
    >>> import gramsmith as gs
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.model_selection import GridSearchCV
    >>> from sklearn.svm import SVC
    >>> X, y = load_iris(return_X_y=True)
    >>> grid = GridSearchCV(SVC(), {"gamma": [0.001, 0.1, 10]}, scoring=gs.alignment_scorer())
    >>> grid.fit(X, y).best_params_
    {'gamma': 0.1}
    """
    return AlignmentScorer(get_measure(measure), {"target": target, "task": task})


def kernel_of(estimator: Any, X: Any) -> tuple[Kernel, Any]:
    """Return the kernel an estimator ends in, and X as that kernel sees it."""
    if hasattr(estimator, "steps"):
        for _, step in estimator.steps[:-1]:
            if step is not None and step != "passthrough":
                X = step.transform(X)
        estimator = estimator.steps[-1][1]
    kernel = getattr(estimator, "kernel_", None)
    kernel = getattr(estimator, "kernel", None) if kernel is None else kernel
    if kernel is None:
        raise TypeError(
            f"Expected an estimator that ends in a kernel, got {type(estimator).__name__} without "
            "a `kernel`. Use SVC, KernelRidge, a gramsmith machine, or a pipeline that ends in one."
        )
    named = {}
    if isinstance(kernel, str):
        known = ("gamma", "degree", "coef0")
        named = {k: getattr(estimator, k) for k in known if getattr(estimator, k, None) is not None}
        if kernel == "linear":
            named = {}
    kernel = as_kernel(kernel, X, **named)
    if isinstance(kernel, Precomputed) and X.shape[0] != X.shape[1]:
        raise ValueError(
            "Expected the square kernel matrix of the scored samples, got a block of shape "
            f"{X.shape}. Search over kernel objects instead of precomputed matrices."
        )
    return kernel, X
