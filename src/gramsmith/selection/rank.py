"""rank_kernels: from data to a ranking, a fitted model and the evidence for both."""

from __future__ import annotations

import warnings
from collections.abc import Callable, MutableMapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import Pipeline
from sklearn.utils import check_random_state

from gramsmith.kernels import Precomputed
from gramsmith.machines import KernelRidgeClassifier, KernelRidgeRegressor
from gramsmith.machines.svm import KernelSVC, KernelSVR
from gramsmith.selection import search
from gramsmith.selection.candidates import named_candidates
from gramsmith.selection.contest import Result
from gramsmith.selection.encoding import TableEncoder
from gramsmith.selection.inputs import Inputs, read_inputs
from gramsmith.selection.judge import Judge
from gramsmith.selection.landmark_fit import fit_at_once, fit_on_landmarks
from gramsmith.selection.ranking import KernelRanking
from gramsmith.selection.samples import Samples
from gramsmith.selection.search import Search
from gramsmith.selection.views import TakeView

Array = npt.NDArray[Any]


def rank_kernels(
    X: Any,
    y: Any,
    kernels: Any = "auto",
    *,
    task: str = "auto",
    scoring: Any = None,
    cv: Any = None,
    groups: Any = None,
    class_weight: Any = None,
    sample_weight: Any = None,
    time_budget: float | None = None,
    random_state: Any = 0,
    n_jobs: int | None = None,
    memory: float | None = None,
    max_samples: int | None = None,
    progress: Callable[[str, int, int, str], Any] | None = None,
    checkpoint: MutableMapping[str, Any] | None = None,
) -> KernelRanking:
    """Rank kernels for a task, verify the best with the machine to be used, and fit the winner.

    All candidates are checked by ridge regression on landmarks with exact leave-one-out errors and
    screened by the measures. The favourites of both enter a contest: cross-validation of support
    vector machines (ridge regression for values) on shared Gram matrices. The winner is fitted on
    everything.

    Parameters
    ----------
    X : data frame, array or sparse matrix of shape (n, p), strings, tuple of views, or None
        Numeric columns are standardised, categories become indicators. A Gram matrix for
        kernels="precomputed"; None if all kernels are matrices.
    y : array of shape (n,)
        Labels or values.
    kernels : "auto", kernel, list, or dict of name -> kernel
        A kernel is what `as_kernel` takes, an (n, n) matrix, or a pair (kernel, {parameter:
        values}). "auto": linear, polynomial, Gaussian, Laplacian, Matérn, learned feature weights;
        for strings the string kernels.
    task : {"auto", "classification", "regression"}
        Whole numbers are classes unless this says otherwise.
    scoring : str or callable, optional
        A score of scikit-learn; default accuracy, or the squared error for values. Scores that ask
        for it (such as "balanced_accuracy" and "f1") have the decision threshold chosen for them.
    cv : int or splitter, optional
        Folds of the contest.
    groups : array of shape (n,), optional
        Samples of one group are never divided between training and test.
    class_weight : dict, "balanced" or None
        Weights of the classes in training.
    sample_weight : array of shape (n,), optional
        Weights of the samples.
    time_budget : float, optional
        Seconds after which no further work is begun; what there is by then is ranked.
    random_state : int, RandomState or None
        Decides samples and folds; the default makes runs repeatable.
    n_jobs : int, optional
        Threads; default all cores.
    memory : float, optional
        Budget in MiB for tiles, see `Gram`.
    max_samples : int, optional
        Most rows used in any one step before the final fit.
    progress : callable, optional
        Called with (stage, done, total, label).
    checkpoint : mutable mapping, optional
        Where results of finished steps are kept as plain values, and found again.

    Returns
    -------
    KernelRanking

    Examples
    --------
    >>> import numpy as np
    >>> import gramsmith as gs
    >>> X = np.random.default_rng(0).normal(size=(120, 2))
    >>> y = np.where(X[:, 0] * X[:, 1] > 0, "same", "mixed")
    >>> ranking = gs.rank_kernels(X, y)
    >>> ranking.best_estimator.predict([[1.0, 1.0], [1.0, -1.0]])
    array(['same', 'mixed'], dtype='<U5')
    """
    seed = as_seed(random_state)
    _check_limits(time_budget, max_samples)
    inputs = read_inputs(
        X,
        y,
        kernels=kernels,
        task=task,
        scoring=scoring,
        cv=cv,
        groups=groups,
        class_weight=class_weight,
        sample_weight=sample_weight,
        seed=seed,
    )
    candidates, views = _candidates(inputs, kernels, seed)
    hunt = Search(
        candidates=candidates,
        samples=Samples(views),
        judge=inputs.judge,
        learn=isinstance(kernels, str) and kernels == "auto",
        n_jobs=n_jobs,
        memory=memory,
        max_samples=max_samples,
        time_budget=time_budget,
        progress=progress,
        checkpoint=checkpoint,
    ).run()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = _fit_winner(hunt, inputs, X)
    for item in caught:
        warnings.warn(item.message, item.category, stacklevel=2)
    converged = not any(issubclass(item.category, ConvergenceWarning) for item in caught)
    best = hunt.candidates[hunt.order[0]]
    hunt.report("fit", 1, 1, best.name)
    encoder = inputs.encoders[best.view] if best.view < len(inputs.encoders) else None
    names = None if encoder is None else encoder.feature_names_out_
    return KernelRanking(hunt, model, names, converged)


@dataclass(frozen=True)
class RankingPlan:
    """What `rank_kernels` would do, before any kernel is evaluated.

    Parameters
    ----------
    n_samples, n_features : int
        Size of the table; no features for strings.
    task : {"classification", "regression"}
    kernels : list of str
        Names of the candidates.
    n_screened : int
        Rows in the first steps.
    machine : str
        What the winner will be fitted with.
    memory_mib : float
        Rough peak.
    seconds : float
        Rough time on two cores.
    """

    n_samples: int
    n_features: int
    task: str
    kernels: list[str]
    n_screened: int
    machine: str
    memory_mib: float
    seconds: float


def plan_ranking(
    X: Any,
    y: Any,
    kernels: Any = "auto",
    *,
    random_state: Any = 0,
    max_samples: int | None = None,
    **options: Any,
) -> RankingPlan:
    """Return what `rank_kernels` would do with the same arguments.

    Parameters
    ----------
    X, y, kernels, random_state, max_samples
        As in `rank_kernels`.
    **options
        Its other arguments; those that only matter later are not looked at.

    Returns
    -------
    RankingPlan

    Examples
    --------
    >>> import numpy as np
    >>> from gramsmith.selection import plan_ranking
    >>> plan = plan_ranking(np.zeros((10, 2)) + np.arange(10)[:, None], [0, 1] * 5)
    >>> plan.task, plan.n_samples, plan.machine
    ('classification', 10, 'support vector classifier')
    """
    known = ("task", "scoring", "cv", "groups", "class_weight", "sample_weight")
    seed = as_seed(random_state)
    chosen = {k: v for k, v in options.items() if k in known}
    inputs = read_inputs(X, y, kernels=kernels, seed=seed, **chosen)
    candidates, _ = _candidates(inputs, kernels, seed)
    n = inputs.judge.n
    first = inputs.views[0]
    p = first.shape[1] if getattr(first, "ndim", 1) == 2 else 0
    exact = n <= search.EXACT_ROWS
    classes = inputs.judge.task == "classification"
    if classes:
        machine = "support vector classifier" if exact else "kernel ridge classifier on landmarks"
    else:
        machine = "kernel ridge regression" if exact else "kernel ridge regression on landmarks"
    # exact: a few Gram matrices; else kernel blocks of two machines in the contest, and the table
    blocks = 8 * min(n, search.FINAL_ROWS) * search.LANDMARKS
    held = 3 * n**2 if exact else blocks + 2 * n * max(int(p), 1)
    return RankingPlan(
        n_samples=n,
        n_features=int(p),
        task=inputs.judge.task,
        kernels=[c.name for c in candidates],
        n_screened=min(n, search.SCREEN_ROWS, max_samples or n),
        machine=machine,
        memory_mib=8.0 * max(held, 10 * search.CONTEST_ROWS**2) / 2**20 + 200.0,
        seconds=1.5 + (1e-7 if classes else 4e-7) * n**2 if exact else 8.0 + 1e-4 * n,
    )


def as_seed(random_state: Any) -> int:
    """Return a seed: the number itself, or one drawn from a RandomState."""
    if random_state is None:
        return 0
    if isinstance(random_state, (int, np.integer)):
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))


def _check_limits(time_budget: Any, max_samples: Any) -> None:
    """Raise unless the limits of work are positive."""
    if time_budget is not None and not time_budget >= 0:
        raise ValueError(
            f"Expected time_budget in seconds, 0 or more, got {time_budget!r}. Use for example 60."
        )
    whole = isinstance(max_samples, (int, np.integer)) and max_samples >= 2
    if max_samples is not None and not whole:
        raise ValueError(
            f"Expected max_samples to be a whole number of at least 2 rows, got {max_samples!r}. "
            "Leave it out to let every step choose."
        )


def _candidates(inputs: Inputs, kernels: Any, seed: int) -> Any:
    coded = isinstance(kernels, str) and kernels == "auto" and not inputs.several
    if coded and len(inputs.views) == 2:
        return named_candidates("coded", inputs.views, seed)
    return named_candidates(kernels, inputs.views, seed)


def _fit_winner(hunt: Search, inputs: Inputs, X: Any) -> Any:
    """Return the winner, fitted on all samples; a pipeline from what the user passed."""
    best = hunt.order[0]
    candidate, judge = hunt.candidates[best], hunt.judge
    machine = _machine(hunt, best)
    view = hunt.samples.views[candidate.view]
    samples = view
    if not hasattr(view, "shape"):
        samples = np.empty(len(view), dtype=object)
        samples[:] = view
    if judge.n > search.EXACT_ROWS and not isinstance(candidate.kernel, Precomputed):
        fit_on_landmarks(machine, candidate, hunt.samples, judge)
    elif isinstance(machine, KernelRidgeRegressor) and judge.n > 1000 and judge.weights.all():
        fit_at_once(machine, candidate, hunt.samples, judge)
    else:
        machine.fit(samples, judge.labels, sample_weight=judge.w)
    result = hunt.results.get(best)
    if judge.classes is not None and result is not None and not hasattr(machine, "predict_proba"):
        own = "landmarks" if isinstance(machine, KernelRidgeClassifier) else "svc"
        if own == "landmarks" == result.machine:
            machine.intercept_ = machine.intercept_ - result.threshold
        if own == result.machine:  # decision values of another machine have other units
            _calibrate(machine, judge, result)
    if candidate.view >= len(inputs.encoders):
        return machine
    steps: list[tuple[str, Any]] = []
    if inputs.several:
        steps.append(("view", TakeView(inputs.sources[candidate.view]).fit(X)))
    encoder = inputs.encoders[candidate.view]
    if encoder is not None:
        steps.append(("encode", encoder))
    return Pipeline([*steps, ("model", machine)]) if steps else machine


def _calibrate(machine: Any, judge: Judge, result: Result) -> None:
    """Fit the probabilities to the decision values of samples left out in the contest."""
    f, where = result.held_out - result.threshold, result.tested
    if judge.w is not None:  # rows of no weight are no rows, and may be all there are of a class
        f, where = f[judge.w[where] > 0], where[judge.w[where] > 0]
    left = np.isin(np.asarray(judge.classes), machine.classes_)
    if f.ndim == 2 and not left.all():
        f = f[:, left]
        f = f[:, 1] - f[:, 0] if f.shape[1] == 2 else f
    machine.calibrate(f, judge.labels[where], None if judge.w is None else judge.w[where])


def _machine(hunt: Search, best: int) -> Any:
    candidate, judge = hunt.candidates[best], hunt.judge
    result, check = hunt.results.get(best), hunt.checks[best]
    kernel: Any = candidate.kernel
    if isinstance(kernel, Precomputed):
        kernel = "precomputed"
    if judge.n > search.EXACT_ROWS and not isinstance(candidate.kernel, Precomputed):
        options: dict[str, Any] = {
            "solver": "nystroem",
            "n_landmarks": search.LANDMARKS,
            "random_state": judge.seed,
        }
        if judge.task == "classification":
            return KernelRidgeClassifier(kernel, **options)
        return KernelRidgeRegressor(kernel, **options)
    if judge.task == "classification":
        C = (result.parameter if result is not None else 1.0) / check.spread
        cut = 0.0 if result is None else result.threshold
        return KernelSVC(kernel, C=C, class_weight=judge.class_weight, threshold=cut)
    if result is not None and result.machine == "svr":
        scale = float(np.std(judge.y)) or 1.0
        return KernelSVR(kernel, C=result.parameter * scale / check.spread, epsilon=0.05 * scale)
    alpha = result.parameter if result is not None else check.alpha
    total = float(judge.weights.sum())
    return KernelRidgeRegressor(kernel, alpha=alpha * check.spread * total)


__all__ = ["RankingPlan", "TableEncoder", "plan_ranking", "rank_kernels"]
