"""evaluate: every measure of every kernel in one pass."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state

from gramsmith.evaluation.advice import about_definiteness, about_kernel, about_target, about_ties
from gramsmith.evaluation.folds import assign_folds, without_fold
from gramsmith.evaluation.result import Advice, Cell, Evaluation, jackknife
from gramsmith.gram import Gram
from gramsmith.gram.threads import one_blas_thread
from gramsmith.kernels.adapt import as_kernel
from gramsmith.kernels.base import Kernel
from gramsmith.kernels.precomputed import Precomputed, check_kernel_matrix
from gramsmith.measures import Measure, Undefined, get_measure
from gramsmith.measures.alignment import ConstantKernelWarning
from gramsmith.measures.base import Sums
from gramsmith.moments import Moments
from gramsmith.targets import Target, make_target

Array = npt.NDArray[Any]

DEFAULT = ("kta", "cka", "cka_debiased", "fsm", "fsm_loo", "csm")


def evaluate(
    kernels: Any,
    X: Any,
    y: Any,
    *,
    measures: Iterable[str] | None = None,
    X_test: Any = None,
    y_test: Any = None,
    folds: int = 10,
    permutations: int = 0,
    target: str = "auto",
    task: str = "auto",
    sample_weight: Any = None,
    memory: float | None = None,
    n_jobs: int | None = None,
    dtype: Any = None,
    random_state: Any = 0,
) -> Evaluation:
    """Measure several kernels on one task, in one pass over the data.

    Parameters
    ----------
    kernels : dict of name -> kernel, list of kernels, or one kernel
        Kernels are what `as_kernel` takes, or (n, n) matrices.
    X : array of shape (n, p), sequence of n objects, or None if all kernels are matrices
        A tuple holds one view of the samples per kernel.
    y : array of shape (n,) or (n, q)
        Labels or values.
    measures : list of str, optional
        Names in `gramsmith.measures.MEASURES`; default kta, cka, cka_debiased, fsm, fsm_loo, csm
        as far as they are defined for the target.
    X_test, y_test : optional
        Held-out data, on which the measures are shown as well.
    folds : int
        Number of folds of the jackknife that gives the errors; 0 for none.
    permutations : int
        Number of shuffled targets for p-values; 0 for none.
    target, task, sample_weight
        See `gramsmith.targets.make_target`.
    memory, n_jobs, dtype
        See `Gram`.
    random_state : int or RandomState
        Decides the folds and the permutations.

    Returns
    -------
    Evaluation

    Examples
    --------
    >>> import numpy as np
    >>> import gramsmith as gs
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> y = X[:, 0] * X[:, 1] > 0
    >>> print(gs.evaluate({"linear": gs.Linear(), "rbf": gs.Gaussian()}, X, y, measures=["cka"]))
    kernel  cka ↑
    ------  ---------------
    linear  0.01804 ±0.046
    rbf     0.2069 ±0.039 *
    """
    named, views = _named(kernels, X)
    goal = make_target(y, target, task=task, sample_weight=sample_weight)
    chosen = _chosen(measures, goal)
    for view in views:
        _check_length(view, goal)
    rng = check_random_state(random_state)
    order, fold = assign_folds(goal, folds, rng)
    options = {"memory": memory, "n_jobs": n_jobs, "dtype": dtype}
    G = Gram(list(named.values()), tuple(_take(v, order) for v in views), **options)
    goal = goal if order is None else goal.take(order)
    moments = G.moments(goal, fold=fold, cross=False)
    held = _held_out(named, X_test, y_test, target, task, options)
    shuffled = _permuted(G, goal, permutations, rng) if permutations else []
    cells: dict[tuple[str, str], Cell] = {}
    advice: list[Advice] = [*about_target(goal)]
    for k, name in enumerate(named):
        advice += [*about_kernel(name, moments.of(k), goal), *about_definiteness(name, G, k)]
    with warnings.catch_warnings(), one_blas_thread():
        # that a kernel is constant is said in the advice
        warnings.simplefilter("ignore", ConstantKernelWarning)
        left_out = _left_out(moments, goal, chosen)
        for k, name in enumerate(named):
            whole = Sums(moments.of(k), goal)
            for j, measure in enumerate(chosen):
                cell, remark = _cell(measure, whole, name)
                advice += remark
                value = cell.value
                if value is not None:
                    if len(left_out):
                        known = left_out[:, k, j]
                        cell = replace(cell, error=jackknife(known), folds=known)
                    if held is not None:
                        cell = replace(cell, held_out=_value(measure, Sums(held[0].of(k), held[1])))
                    if shuffled:
                        cell = replace(cell, p_value=_p_value(measure, k, value, shuffled))
                cells[name, measure.name] = cell
    table = Evaluation(named, tuple(m.name for m in chosen), cells, (), G.n)
    leading = "cka" if "cka" in table.measures else table.measures[0]
    return replace(table, advice=(*advice, *about_ties(table, leading)))


def _named(kernels: Any, X: Any) -> tuple[dict[str, Kernel], tuple[Any, ...]]:
    """Return kernels by name and the view of the samples of each."""
    if not isinstance(kernels, Mapping):
        listed = list(kernels) if isinstance(kernels, (list, tuple)) else [kernels]
        kernels = _unique([_label(kernel, i) for i, kernel in enumerate(listed)], listed)
    if not kernels:
        raise ValueError("Expected at least one kernel, got none. Pass {name: kernel}.")
    views = X if isinstance(X, tuple) else (X,) * len(kernels)
    if len(views) != len(kernels):
        raise ValueError(f"Expected one view per kernel ({len(kernels)}), got {len(views)}.")
    named: dict[str, Kernel] = {}
    used = []
    for (name, kernel), view in zip(kernels.items(), views, strict=True):
        if isinstance(kernel, np.ndarray) and kernel.ndim == 2:
            named[str(name)], view = Precomputed(), check_kernel_matrix(kernel, psd="ignore")
        else:
            if view is None:
                raise ValueError(f"Expected X for the kernel {name!r}, got None. Pass the samples.")
            named[str(name)] = as_kernel(kernel, view)
        used.append(_SquareView(view) if isinstance(named[str(name)], Precomputed) else view)
    return named, tuple(used)


class _SquareView:
    """A precomputed matrix, whose rows and columns are chosen together."""

    def __init__(self, K: Array) -> None:
        self.K = K


def _label(kernel: Any, i: int) -> str:
    if isinstance(kernel, Kernel):
        return kernel.formula()
    return kernel if isinstance(kernel, str) else f"kernel {i}"


def _unique(names: list[str], kernels: Sequence[Any]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for name, kernel in zip(names, kernels, strict=True):
        label, number = name, 2
        while label in result:
            label, number = f"{name} ({number})", number + 1
        result[label] = kernel
    return result


def _take(X: Any, order: Array | None) -> Any:
    """Return the samples in another order; matrices on both axes."""
    if isinstance(X, _SquareView):
        return X.K if order is None else X.K[np.ix_(order, order)]
    if order is None:
        return X
    if hasattr(X, "iloc"):
        return X.iloc[order]
    if hasattr(X, "shape"):
        return X[order]
    return [X[i] for i in order]


def _chosen(measures: Iterable[str] | None, goal: Target) -> list[Measure]:
    if measures is not None:
        chosen = [
            get_measure(name) for name in ([measures] if isinstance(measures, str) else measures)
        ]
        if not chosen:
            raise ValueError("Expected at least one measure, got an empty list.")
        return chosen
    return [m for m in map(get_measure, DEFAULT) if goal.kind in m.kinds]


def _check_length(view: Any, goal: Target) -> None:
    K = view.K if isinstance(view, _SquareView) else view
    n = K.shape[0] if hasattr(K, "shape") else len(K)
    if len(goal.w) != n:
        raise ValueError(
            f"Expected X and y of the same length, got {n} and {len(goal.w)}: inconsistent "
            "numbers of samples."
        )


def _cell(measure: Measure, sums: Sums, name: str) -> tuple[Cell, list[Advice]]:
    try:
        return Cell(measure.value_of(sums)), []
    except Undefined as reason:
        return Cell(None), [Advice("undefined", f"{measure.name}: {reason}", name, measure.name)]


def _value(measure: Measure, sums: Sums) -> float | None:
    try:
        return measure.value_of(sums)
    except Undefined:
        return None


def _left_out(moments: Moments, goal: Target, measures: Sequence[Measure]) -> Array:
    """Return the measures without each fold, shape (F, m, measures), nan where undefined."""
    folds = moments.q.shape[2]

    def one(fold: int) -> list[list[float | None]]:
        part, rest = without_fold(moments, goal, fold)
        sums = [Sums(part.of(k), rest) for k in range(len(part))]
        return [[_value(measure, own) for measure in measures] for own in sums]

    # one after the other: threads would only hand each other the interpreter lock
    values = [one(fold) for fold in range(folds if folds > 1 else 0)]
    return np.array(values, dtype=np.float64).reshape(len(values), len(moments), len(measures))


def _held_out(
    named: dict[str, Kernel], X: Any, y: Any, target: str, task: str, options: dict[str, Any]
) -> tuple[Moments, Target] | None:
    if X is None and y is None:
        return None
    if X is None or y is None:
        raise ValueError("Expected both X_test and y_test, got one of them. Pass both or neither.")
    goal = make_target(y, target, task=task)
    views = X if isinstance(X, tuple) else (X,) * len(named)
    for view in views:
        _check_length(view, goal)
    G = Gram(list(named.values()), views, **options)
    return G.moments(goal, cross=False), goal


def _permuted(G: Gram, goal: Target, count: int, rng: Any) -> list[tuple[Moments, Target]]:
    """Return the moments of all kernels with shuffled targets, their probes side by side."""
    targets = [replace(goal, V=goal.V[rng.permutation(G.n)]) for _ in range(count)]
    moments = G.moments(targets, cross=False)
    width = goal.V.shape[1]
    return [(moments.columns(slice(i * width, (i + 1) * width)), t) for i, t in enumerate(targets)]


def _p_value(
    measure: Measure, k: int, value: float, shuffled: list[tuple[Moments, Target]]
) -> float:
    values = [measure.value_of(Sums(moments.of(k), t)) for moments, t in shuffled]
    as_good = sum(measure.sign * v >= measure.sign * value for v in values)
    return (1.0 + as_good) / (1.0 + len(shuffled))
