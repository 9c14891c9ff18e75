"""The contest: the short list, cross-validated with the machine that will be used.

Every candidate's Gram matrix is computed once; folds and regularisers share it. A path of
regularisers is tried coarsely first and then finely around each candidate's best, and candidates
that are clearly beaten by then take no further part.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg import cho_factor, cho_solve
from sklearn import config_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC, SVR

from gramsmith.gram.threads import ordered_map
from gramsmith.selection.judge import Judge
from gramsmith.selection.verify import Check

Array = npt.NDArray[Any]
# (training block, its rows, test block, regularisers) -> predictions (a, test rows[, classes])
Path = Callable[[Array, Array, Array, Array], Array]

COARSE_C = 2.0 ** np.array([-2.0, 1.0, 4.0])
FINE = 2.0**1.5  # neighbours of the best, on both sides
FINALISTS = 3  # candidates for which regularisers are tried finely
SERIAL = 400  # rows below which threads only wait for each other
COARSE_ALPHA = 10.0 ** np.array([-1.0, 0.0, 1.0])


@dataclass(frozen=True)
class Result:
    """What cross-validation says of one candidate with one machine.

    Parameters
    ----------
    machine : {"svc", "svr", "ridge", "landmarks"}
    parameter : float
        The best C, or the best alpha per sample; in units of the kernel's spread.
    loss, error : float
        Held-out loss and its standard error.
    folds : array of shape (F,)
        Loss of each fold.
    path : list of (parameter, loss)
    held_out : array of shape (rows,) or (rows, C)
        Decision values of each sample when it was left out.
    tested : int array
        The samples they belong to.
    threshold : float
        Best threshold on the decision values; zero unless the score asks for one.
    """

    machine: str
    parameter: float
    loss: float
    error: float
    folds: Array
    path: tuple[tuple[float, float], ...]
    held_out: Array
    tested: Array
    threshold: float = 0.0


def svc_path(judge: Judge) -> Path:
    """Return the machine of classification: one support vector classifier per C."""

    def run(K: Array, rows: Array, K_test: Array, Cs: Array) -> Array:
        counts = judge.weights[rows] > 0  # a row of no weight is no row
        if not counts.all():
            K, K_test, rows = K[np.ix_(counts, counts)], K_test[:, counts], rows[counts]
        y, w = judge.y[rows], judge.weights[rows]
        classes = 2 if judge.classes is None else len(judge.classes)
        seen = np.unique(y[w > 0])
        out = []
        for C in Cs:
            if len(seen) < 2:
                f = np.full((len(K_test), 1), 1.0)
            else:
                machine = SVC(C=C, kernel="precomputed", max_iter=20000 + 20 * len(rows))
                f = _quietly(machine, K, y, w).decision_function(K_test)
            out.append(_all_classes(f, seen, classes))
        return np.stack(out)

    return run


def _all_classes(f: Array, seen: Array, classes: int) -> Array:
    """Return decision values for all classes where a training fold has seen some of them only."""
    if len(seen) == classes:
        return f
    columns = np.column_stack([-f, f]) if f.ndim == 1 else f
    full = np.full((len(columns), classes), float(columns.min(initial=0.0)) - 1.0)
    full[:, seen] = columns
    return full if classes > 2 else np.asarray(full[:, 1] - full[:, 0])


def svr_path(judge: Judge, scale: float) -> Path:
    """Return support vector regression on values divided by their deviation."""

    def run(K: Array, rows: Array, K_test: Array, Cs: Array) -> Array:
        y, w = judge.y[rows] / scale, judge.weights[rows]
        out = []
        for C in Cs:
            machine = SVR(C=C, kernel="precomputed", epsilon=0.05, max_iter=20000 + 20 * len(rows))
            out.append(_quietly(machine, K, y, w).predict(K_test) * scale)
        return np.stack(out)

    return run


def ridge_path(judge: Judge) -> Path:
    """Return kernel ridge regression, one Cholesky factor per alpha (per sample)."""

    def run(K: Array, rows: Array, K_test: Array, alphas: Array) -> Array:
        y, w = judge.codes[rows], judge.weights[rows]
        out = []
        for alpha in alphas:
            coef, intercept = solve_ridge(K, y, w, float(alpha) * w.sum())
            f = K_test @ coef + intercept
            out.append(f[:, 0] if f.shape[1] == 1 else f)
        return np.stack(out)

    return run


def solve_ridge(K: Array, Y: Array, w: Array, alpha: float) -> tuple[Array, Array]:
    """Return the coefficients and the unpenalised intercept of weighted kernel ridge regression."""
    A = K + np.diag(alpha / w) if np.all(w > 0) else K + np.diag(alpha / np.maximum(w, 1e-12))
    factor = cho_factor(A, lower=True, overwrite_a=True, check_finite=False)
    solved = cho_solve(factor, np.column_stack([Y, np.ones(len(Y))]), check_finite=False)
    u = solved[:, -1]
    intercept = solved[:, :-1].sum(axis=0) / u.sum()
    return solved[:, :-1] - np.outer(u, intercept), intercept


def _quietly(machine: Any, K: Array, y: Array, w: Array) -> Any:
    # the contest only compares; the winner is fitted to convergence, and warns; see `compete`
    # and its matrices were checked when they were made
    with config_context(assume_finite=True, skip_parameter_validation=True):
        return machine.fit(K, y, None if np.all(w == 1.0) else w)


def compete(
    machine: str,
    path: Path,
    Ks: Sequence[Array],
    starts: Sequence[Array],
    judge: Judge,
    rows: Array,
    splits: Sequence[tuple[Array, Array]],
    *,
    workers: int = 1,
    in_time: Callable[[], bool] = lambda: True,
) -> list[Result | None]:
    """Cross-validate one machine on several Gram matrices.

    Parameters
    ----------
    machine : str
        Name of the machine.
    path : callable
        See `svc_path`.
    Ks : list of arrays of shape (m, m)
        Gram matrices of the rows, divided by their spread.
    starts : list of arrays
        Coarse regularisers of each.
    judge : Judge
    rows : int array of shape (m,)
    splits : list of (training, test)
        Positions within rows.
    workers : int
    in_time : callable
        False once the time is up: what has not begun is left out.

    Returns
    -------
    list of Result or None
    """
    tested = np.concatenate([test for _, test in splits])
    workers = workers if len(rows) > SERIAL else 1

    def run(task: tuple[int, Array]) -> Array | None:
        i, values = task
        if not in_time():
            return None
        parts = []
        for train, test in splits:
            block, cross = Ks[i][np.ix_(train, train)], Ks[i][np.ix_(test, train)]
            parts.append(path(block, rows[train], cross, values))
        return np.concatenate(parts, axis=1)

    def run_all(tasks: list[tuple[int, Array]]) -> list[Array | None]:
        # filters of warnings belong to the whole process: they are set here, never in a thread
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return list(ordered_map(run, tasks, workers))

    found: list[Result | None] = []
    for i, F in enumerate(run_all(list(enumerate(starts)))):
        found.append(
            None if F is None else _result(machine, starts[i], F, judge, rows, tested, splits)
        )
    if all(result is None for result in found):
        return found
    left = [i for i in _contenders(found, judge)[:FINALISTS] if in_time()]
    if not len(starts) or len(starts[0]) < 2:
        return found
    tasks = [(i, _finer(found[i], starts[i])) for i in left]  # type: ignore[arg-type]
    for (i, values), F in zip(tasks, run_all(tasks), strict=True):
        if F is not None:
            finer = _result(machine, values, F, judge, rows, tested, splits)
            found[i] = _better(found[i], finer)  # type: ignore[arg-type]
    return found


def _finer(result: Result, coarse: Array) -> Array:
    """Return the neighbours of the best regulariser; beyond the end of the path, a step further."""
    low, high = result.parameter / FINE, result.parameter * FINE
    if result.parameter == coarse[-1]:
        return np.array([low, high, high * FINE])
    if result.parameter == coarse[0]:
        return np.array([low / FINE, low, high])
    return np.array([low, high])


def _contenders(found: Sequence[Result | None], judge: Judge) -> list[int]:
    """Return those not clearly beaten, best first: paired losses within two errors."""
    order = [i for i, result in enumerate(found) if result is not None]
    order.sort(key=lambda i: found[i].loss)  # type: ignore[union-attr]
    best = order[0]
    return [i for i in order if not beaten(found[i], found[best], judge)]  # type: ignore[arg-type]


def beaten(result: Result, best: Result, judge: Judge, errors: float = 2.0) -> bool:
    """Return whether a result is worse than the best by more than the noise of the difference."""
    if result is best or result.loss <= best.loss:
        return False
    gap, spread = difference(result, best, judge)
    return not gap <= errors * spread  # nor if nobody knows the noise


def difference(a: Result, b: Result, judge: Judge) -> tuple[float, float]:
    """Return the difference of two losses and its standard error, paired."""
    if judge.plain and len(a.tested) == len(b.tested):
        d = judge.losses(a.held_out, a.tested) - judge.losses(b.held_out, b.tested)
        return a.loss - b.loss, float(d.std() / np.sqrt(len(d)))
    d = a.folds - b.folds
    d = d[np.isfinite(d)]  # a score may be undefined in a fold
    return a.loss - b.loss, float(d.std(ddof=1) / np.sqrt(len(d))) if len(d) > 1 else np.inf


def _result(
    machine: str,
    values: Array,
    F: Array,
    judge: Judge,
    rows: Array,
    tested: Array,
    splits: Sequence[tuple[Array, Array]],
) -> Result:
    where = rows[tested]
    losses, cuts = [], []
    for f in F:
        cut = judge.best_threshold(f, where) if judge.tunes_threshold else 0.0
        cuts.append(cut)
        losses.append(judge.loss(f, where, cut))
    best = int(np.argmin(losses))
    stops = np.cumsum([len(test) for _, test in splits])
    pieces = zip(stops - [len(test) for _, test in splits], stops, strict=True)
    folds = np.array([judge.loss(F[best][a:b], where[a:b], cuts[best]) for a, b in pieces])
    if judge.plain:
        each = judge.losses(F[best], where)
        error = judge.standard_error(each)
    else:
        known = folds[np.isfinite(folds)]
        error = float(known.std(ddof=1) / np.sqrt(len(known))) if len(known) > 1 else np.inf
    return Result(
        machine=machine,
        parameter=float(values[best]),
        loss=float(losses[best]),
        error=error,
        folds=folds,
        path=tuple((float(v), float(loss)) for v, loss in zip(values, losses, strict=True)),
        held_out=F[best],
        tested=where,
        threshold=cuts[best],
    )


def from_check(check: Check, judge: Judge, rows: Array) -> Result:
    """Return what leaving one out says of a ridge machine on landmarks, as a result of the contest.

    Parameters
    ----------
    check : Check
        With its held-out values.
    judge : Judge
    rows : int array
        The samples of the check.
    """
    pieces = np.split(check.tested, np.cumsum(check.pieces)[:-1])
    parts = [(check.tested[:0], piece) for piece in pieces]
    values = np.array([check.alpha])
    return _result("landmarks", values, check.values[None], judge, rows, check.tested, parts)


def _better(coarse: Result, fine: Result) -> Result:
    path = tuple(sorted({*coarse.path, *fine.path}))
    return replace(fine if fine.loss < coarse.loss else coarse, path=path)


def result_to_plain(result: Result) -> dict[str, Any]:
    """Return a contest result as plain values."""
    plain = asdict(result)
    for name in ("folds", "held_out", "tested"):
        plain[name] = np.asarray(getattr(result, name)).tolist()
    plain["path"] = [list(pair) for pair in result.path]
    return plain


def result_from_plain(plain: dict[str, Any]) -> Result:
    """Return the contest result that `result_to_plain` wrote."""
    values = dict(plain)
    for name in ("folds", "held_out"):
        values[name] = np.asarray(values[name], dtype=float)
    values["tested"] = np.asarray(values["tested"], dtype=int)
    values["path"] = tuple((float(a), float(b)) for a, b in values["path"])
    return Result(**values)
