"""alignment_scorer: a measure as a criterion of grid search."""

from __future__ import annotations

from typing import Any

from sklearn.base import is_regressor
from sklearn.gaussian_process import kernels as gp

from gramsmith.evaluation.single_measures import measure_value
from gramsmith.gram import Gram
from gramsmith.kernels.adapt import as_kernel
from gramsmith.kernels.base import Kernel
from gramsmith.kernels.precomputed import rests_on_matrix
from gramsmith.measures import Measure, get_measure


class AlignmentScorer:
    """A scorer for scikit-learn: the measure of the estimator's kernel on the data it is given."""

    def __init__(self, measure: Measure, options: dict[str, Any]) -> None:
        self.measure = measure
        self.options = options

    def __call__(self, estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the measure, its sign changed if lower is better; -1e12 where it is infinite."""
        kernel, X = kernel_of(estimator, X)
        options = {**self.options, "sample_weight": sample_weight}
        if options["task"] == "auto" and is_regressor(estimator):
            options["task"] = "regression"  # whole numbers are values to a regressor
        score = self.measure.sign * measure_value(self.measure, Gram(kernel, X), y, **options)
        return max(score, -1e12)  # searches average scores, and an infinite one would spoil them

    def __repr__(self) -> str:
        return f"alignment_scorer({self.measure.name!r})"


def alignment_scorer(
    measure: str | Measure = "cka", *, target: str = "auto", task: str = "auto"
) -> AlignmentScorer:
    """Return a scorer for `GridSearchCV` and its relatives.

    In every split the estimator is fitted on the training part as usual, and its kernel is measured
    on the other part; nothing is predicted.

    Parameters
    ----------
    measure : str or Measure, default="cka"
        A name in `gramsmith.measures.MEASURES`, or a measure of your own.
    target, task : str
        See `gramsmith.targets.make_target`; default "auto", for regressors task="regression".

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
    while hasattr(estimator, "steps"):
        for _, step in estimator.steps[:-1]:
            if step is not None and step != "passthrough":
                X = step.transform(X)
        estimator = estimator.steps[-1][1]
    kernel = as_kernel(_one_kernel(_given(estimator)), X, **_parameters(estimator))
    if rests_on_matrix(kernel):
        raise ValueError(
            "Expected a kernel of samples, got a precomputed one: a search hands over the test "
            "rows and training columns, not the square kernel matrix of the scored samples. "
            "Search over kernel objects instead."
        )
    return kernel, X


def _given(estimator: Any) -> Any:
    """Return the kernel of an estimator as it was fitted, or as it was given."""
    for name in ("kernel_", "kernel", "affinity"):
        if getattr(estimator, name, None) is not None:
            return getattr(estimator, name)
    raise TypeError(
        f"Expected an estimator that ends in a kernel, got {type(estimator).__name__} without "
        "a `kernel`. Use SVC, KernelRidge, a gramsmith estimator, or a pipeline that ends in one."
    )


def _one_kernel(kernel: Any) -> Any:
    """Return the kernel of all classes where scikit-learn has one per class."""
    if not isinstance(kernel, gp.CompoundKernel):
        return kernel
    first, *others = kernel.kernels
    if any(other != first for other in others):
        raise TypeError(
            f"Expected one kernel, got {len(others) + 1} different ones, one per class. "
            "Fit with optimizer=None, or score the kernel before it is fitted."
        )
    return first


def _parameters(estimator: Any) -> dict[str, Any]:
    """Return the parameters that go with the name of a kernel, or with a function."""
    kernel = _given(estimator)
    if callable(kernel) and not isinstance(kernel, gp.Kernel):
        return dict(getattr(estimator, "kernel_params", None) or {})
    if not isinstance(kernel, str) or kernel in ("linear", "precomputed"):
        return {}
    known = {name: getattr(estimator, name, None) for name in ("gamma", "degree", "coef0")}
    for name in ("_gamma", "gamma_"):  # what "scale" or "auto" were on the training samples
        known["gamma"] = getattr(estimator, name, known["gamma"])
    return {name: value for name, value in known.items() if value is not None}
