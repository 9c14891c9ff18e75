"""Machines: the short list is cross-validated with the machine to be used; the winner is fitted.

Every candidate's Gram matrix is computed once; folds and regularisers share it. A path of
regularisers is tried coarsely first and then finely around each candidate's best, and candidates
that are clearly beaten by then take no further part.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg import cho_factor, cho_solve
from sklearn import config_context
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC, SVR
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

from gramsmith.kernels import Precomputed
from gramsmith.machines import KernelRidgeClassifier, KernelRidgeRegressor
from gramsmith.machines.svm import KernelSVC, KernelSVR
from gramsmith.selection import sizes
from gramsmith.selection.candidates import Candidate
from gramsmith.selection.first_check import Check
from gramsmith.selection.held_out import HeldOut, Scored, Splits, score
from gramsmith.selection.labels import LabelsClassifier
from gramsmith.selection.samples import Samples, as_array
from gramsmith.selection.several import Labels, Outputs
from gramsmith.selection.task import Answers, Task
from gramsmith.selection.ties import beaten
from gramsmith.selection.work import Work, work_off
from gramsmith.solvers.definite import clip_negative

Array = npt.NDArray[Any]
# a Gram matrix of all rows, or, where the kernel differs between folds, the blocks of each fold
Gram = Array | Sequence[tuple[Array, Array]]
# (training block, its rows, test block, regularisers) -> predictions (a, test rows[, classes])
Path = Callable[[Array, Array, Array, Array], Array]

COARSE_C = 2.0 ** np.array([-2.0, 1.0, 4.0])
COARSE_ALPHA = 10.0 ** np.array([-1.0, 0.0, 1.0])
FINE = 2.0**1.5  # neighbours of the best, on both sides
FINALISTS = 3  # candidates for which regularisers are tried finely

DESCRIPTIONS = {
    "svc": "a support vector classifier",
    "svr": "support vector regression",
    "ridge": "kernel ridge regression",
    "average": "an average of machines",
    "landmarks": "kernel ridge on landmarks",
}

# ---- one machine on one fold --------------------------------------------------------------------


def svc_path(task: Task) -> Path:
    """Return the machine of classification: one support vector classifier per C."""

    def run(K: Array, rows: Array, K_test: Array, Cs: Array) -> Array:
        K, rows, K_test = _with_weight(K, rows, K_test, task)
        y, w = task.y[rows], task.weights[rows]
        seen = np.unique(y)
        out = []
        for C in Cs:
            if len(seen) < 2:
                f = np.ones((len(K_test), 1))
            else:
                machine = SVC(C=C, kernel="precomputed", max_iter=20000 + 20 * len(rows))
                f = _quietly(machine, K, y, w).decision_function(K_test)
            out.append(all_classes(f, seen, task))
        return np.stack(out)

    return run


def svr_path(task: Task) -> Path:
    """Return support vector regression on values divided by their deviation."""
    scale = task.deviation

    def run(K: Array, rows: Array, K_test: Array, Cs: Array) -> Array:
        y, w = task.y[rows] / scale, task.weights[rows]
        out = []
        for C in Cs:
            machine = SVR(C=C, kernel="precomputed", epsilon=0.05, max_iter=20000 + 20 * len(rows))
            out.append(_quietly(machine, K, y, w).predict(K_test) * scale)
        return np.stack(out)

    return run


def ridge_path(task: Task) -> Path:
    """Return kernel ridge regression, one Cholesky factor per alpha (per sample).

    Where a factor shows that the kernel is indefinite, its negative part is left out, as the
    machine does that is fitted in the end.
    """

    def run(K: Array, rows: Array, K_test: Array, alphas: Array) -> Array:
        y, w = task.codes[rows], task.weights[rows]
        out = []
        for alpha in alphas:
            strength = float(alpha) * w.sum()
            try:
                coef, intercept = solve_ridge(K, y, w, strength)
            except np.linalg.LinAlgError:
                clipped, kept = clip_negative(K, quiet=True)
                least = 1e-12 * float(np.trace(clipped)) * float(w.max())
                coef, intercept = solve_ridge(clipped, y, w, max(strength, least))
                coef = kept(coef)
            f = K_test @ coef + intercept
            out.append(f[:, 0] if f.shape[1] == 1 else f)
        return np.stack(out)

    return run


def users_path(task: Task, machine: Any) -> Path:
    """Return a machine of the user's, as it is: there is no path of regularisers."""

    def run(K: Array, rows: Array, K_test: Array, _: Array) -> Array:
        K, rows, K_test = _with_weight(K, rows, K_test, task)
        seen = np.unique(task.y[rows])
        if task.classes is not None and len(seen) < 2:
            return all_classes(np.ones((len(K_test), 1)), seen, task)[None]
        fitted = clone(machine).set_params(kernel="precomputed")
        _fit(fitted, K, task.labels[rows], task.weights[rows])
        return decision_values(fitted, K_test, seen, task)[None]

    return run


def first_machine(task: Task, machine: Any = None) -> tuple[str, Path, Array]:
    """Return the name of the machine that is tried first, how it is run, and its regularisers.

    Those of ridge regression are in units of the best of the first check.
    """
    if machine is not None:
        return type(machine).__name__, users_path(task, machine), np.array([np.nan])
    return "ridge", ridge_path(task), COARSE_ALPHA


def path_of(name: str, task: Task, machine: Any = None) -> Path:
    """Return how the machine of a held-out record is run; that on landmarks as plain ridge."""
    if machine is not None:
        return users_path(task, machine)
    return {"svc": svc_path, "svr": svr_path}.get(name, ridge_path)(task)


def second_machine(task: Task) -> tuple[str, Path, Array] | None:
    """Return the support vector machine that the best kernel is tried with, where there is one.

    With several classes its decision values are votes, which are not averaged with others; several
    outputs or labels would need one machine each.
    """
    if task.names:
        return None
    if task.classes is None:
        return "svr", svr_path(task), COARSE_C[1:]
    return ("svc", svc_path(task), COARSE_C) if len(task.classes) == 2 else None


def check_machine(machine: Any, task: Task) -> None:
    """Raise a ValueError unless a machine of the user's can be used for the task."""
    name = type(machine).__name__
    if not (hasattr(machine, "get_params") and "kernel" in machine.get_params(deep=False)):
        raise ValueError(
            f"Expected a machine that is an estimator with a parameter `kernel`, got {name}. "
            'It is given kernels and, in cross-validation, kernel="precomputed".'
        )
    if task.kind == "multilabel":
        raise ValueError(
            f"Expected no machine for several labels at once, got {name}. Leave `machine` out, or "
            "rank one label at a time."
        )
    if task.names and not get_tags(machine).target_tags.multi_output:
        raise ValueError(
            f"Expected a machine for {len(task.names)} outputs, got {name}, which has one. Use "
            "another machine, or rank one output at a time."
        )
    other = is_regressor if task.kind == "classification" else is_classifier
    if other(machine):
        raise ValueError(
            f"Expected a machine for {task.kind}, got {name}. Use another machine, or say "
            "what the targets are with task=."
        )
    if np.any(task.weights != 1.0) and not has_fit_parameter(machine, "sample_weight"):
        raise ValueError(
            f"Expected a machine whose fit takes sample_weight, got {name} and weights. "
            "Leave sample_weight and class_weight out."
        )


def decision_values(machine: Any, K: Array, seen: Array, task: Task) -> Array:
    """Return predictions, or values of which the largest decides, whatever the machine has."""
    if task.classes is None:
        return task.in_units(np.asarray(machine.predict(K), dtype=float))
    if hasattr(machine, "decision_function"):
        f = np.asarray(machine.decision_function(K))
        if f.ndim == 1 or f.shape[1] == len(seen):
            return all_classes(f, seen, task)
    if hasattr(machine, "predict_proba"):
        F = np.asarray(machine.predict_proba(K))
    else:
        F = (np.asarray(machine.predict(K))[:, None] == task.classes[seen]).astype(float)
    return all_classes(F[:, 1] - F[:, 0] if len(seen) == 2 else F, seen, task)


def _with_weight(K: Array, rows: Array, K_test: Array, task: Task) -> tuple[Array, Array, Array]:
    """Return the samples that have a weight: a row of no weight is no row."""
    counts = task.weights[rows] > 0
    if counts.all():
        return K, rows, K_test
    return K[np.ix_(counts, counts)], rows[counts], K_test[:, counts]


def all_classes(f: Array, seen: Array, task: Task) -> Array:
    """Return decision values for all classes where a training fold has seen some of them only."""
    classes = 2 if task.classes is None else len(task.classes)
    if len(seen) == classes:
        return f
    columns = np.column_stack([-f, f]) if f.ndim == 1 else f
    full = np.full((len(columns), classes), float(columns.min(initial=0.0)) - 1.0)
    full[:, seen] = columns
    return full if classes > 2 else np.asarray(full[:, 1] - full[:, 0])


def solve_ridge(K: Array, Y: Array, w: Array, alpha: float) -> tuple[Array, Array]:
    """Return the coefficients and the unpenalised intercept of weighted kernel ridge regression."""
    A = K + np.diag(alpha / w) if np.all(w > 0) else K + np.diag(alpha / np.maximum(w, 1e-12))
    factor = cho_factor(A, lower=True, overwrite_a=True, check_finite=False)
    solved = cho_solve(factor, np.column_stack([Y, np.ones(len(Y))]), check_finite=False)
    u = solved[:, -1]
    intercept = solved[:, :-1].sum(axis=0) / u.sum()
    return solved[:, :-1] - np.outer(u, intercept), intercept


def _quietly(machine: Any, K: Array, y: Array, w: Array) -> Any:
    # cross-validation only compares; the winner is fitted to convergence, and warns
    # and its matrices were checked when they were made
    with config_context(assume_finite=True, skip_parameter_validation=True):
        return _fit(machine, K, y, w)


def _fit(machine: Any, X: Any, y: Array, w: Array) -> Any:
    return machine.fit(X, y) if np.all(w == 1.0) else machine.fit(X, y, sample_weight=w)


# ---- many candidates, all folds -----------------------------------------------------------------


def cross_validate(
    machine: str,
    path: Path,
    Ks: Sequence[Gram],
    starts: Sequence[Array],
    task: Task,
    rows: Array,
    splits: Splits,
    *,
    names: Sequence[str] | None = None,
    work: Work | None = None,
    told: Callable[[int], None] = lambda fits: None,
) -> list[Scored | None]:
    """Cross-validate one machine on several kernels.

    A kernel of which a fold was left out, because there was no time for it or because of Ctrl-C,
    has the result None.

    Parameters
    ----------
    machine, path
        Its name, and how it is run: see `svc_path`.
    Ks : list of arrays of shape (m, m), or of pairs of blocks per fold
        Gram matrices of the rows, divided by their spread; or (training, test) blocks; or nothing,
        and then nothing is done.
    starts : list of arrays
        Coarse regularisers of each.
    task, rows, splits
        The folds are positions within the m rows.
    names : list of str, optional
        Of the kernels, by which their fits are known again; default their places.
    work : Work, optional
        Who fits the machines, in what time, and where predictions of finished fits are kept and
        found again.
    told : callable
        Called with 1 after every fit, of which there are at most `fits_of`.
    """
    work = Work(n_jobs=1) if work is None else work
    attempt = work.attempts()
    tested = rows[np.concatenate([test for _, test in splits])]
    fold = np.repeat(np.arange(len(splits)), [len(test) for _, test in splits])
    training = tuple(rows[train] for train, _ in splits)
    notes = {} if work.checkpoint is None else work.checkpoint
    known_as = [str(i) for i in range(len(Ks))] if names is None else list(names)
    looks = int(task.kind == "regression")  # how far predictions for the outermost samples go
    parts_of = len(splits) + looks

    def run(item: tuple[int, int, Array]) -> Array:
        i, j, values = item
        K = Ks[i]
        if isinstance(K, np.ndarray):
            whole, taught, (train, test) = K, rows, splits[j] if j < len(splits) else outermost(K)
        elif j < len(splits):
            block, cross = K[j]
            return path(block, rows[splits[j][0]], cross, values)
        else:  # within the samples that taught the first of its kernels
            whole, taught = K[0][0], rows[splits[0][0]]
            train, test = outermost(whole)
        block, cross = whole[np.ix_(train, train)], whole[np.ix_(test, train)]
        return path(block, taught[train], cross, values)

    def fit_all(items: list[tuple[int, int, Array]], what: str) -> list[Array | None]:
        """Return the predictions of fits that there is time for, or that were done before."""
        keys = [f"fit/{machine}/{known_as[i]}/{j}/{values.tolist()}" for i, j, values in items]
        pairs = zip(keys, items, strict=True)
        left = [(name, item) for name, item in pairs if name not in notes and len(Ks[item[0]])]
        place = work.sweeps if len(rows) > sizes.SERIAL_ROWS else None
        told(len(items) - len(left))

        def fit_left() -> None:
            found = work_off(run, [item for _, item in left], place, attempt)
            for (name, _), values in zip(left, found, strict=True):
                work.interrupts.check()  # a machine that was interrupted may not say so
                if values is not None:
                    notes[name] = values.tolist()
                told(1)

        work.unless_interrupted(what, fit_left)
        return [np.array(notes[key]) if key in notes else None for key in keys]

    def run_all(wanted: list[tuple[int, Array]], what: str = "") -> list[Scored | None]:
        items = [(i, j, values) for i, values in wanted for j in range(parts_of)]
        # filters of warnings belong to the whole process: they are set here, never in a thread
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            found = fit_all(items, what)
        scored: list[Scored | None] = []
        for k, (i, values) in enumerate(wanted):
            parts = [F for F in found[k * parts_of : (k + 1) * parts_of] if F is not None]
            if len(parts) < parts_of:
                scored.append(None)
                continue
            record = HeldOut(
                machine=machine,
                kind="cross-validation",
                settings=values,
                values=np.concatenate(parts[: len(splits)], axis=1),
                outermost=parts[-1] if looks else None,
                rows=tested,
                fold=fold,
                training=training,
                adjustable=machine in DESCRIPTIONS,
            )
            before = known.get(i)
            scored.append(score(before.record.joined(record) if before else record, task))
        return scored

    known: dict[int, Scored] = {}
    found = run_all(list(enumerate(starts)))
    known = {i: result for i, result in enumerate(found) if result is not None}
    if not known or len(starts[0]) < 2:
        return found
    order = sorted(known, key=lambda i: known[i].loss)
    left = [i for i in order if not beaten(known[i], known[order[0]], task)][:FINALISTS]
    items = [(i, _finer(known[i].setting, starts[i])) for i in left]
    fine = run_all(items, "the last choice of regularisers")
    for (i, _), finer in zip(items, fine, strict=True):
        found[i] = finer if finer is not None else found[i]
    return found


def fits_of(kernels: int, splits: Splits) -> int:
    """Return how many fits the cross-validation of several kernels takes at most."""
    return (kernels + min(kernels, FINALISTS)) * (len(splits) + 1)


def outermost(K: Array) -> tuple[Array, Array]:
    """Return the positions of the inner samples, and of the quarter farthest from their mean."""
    distance = np.diagonal(K) - 2.0 * K.mean(axis=1)
    order = np.argsort(distance, kind="stable")
    inner = len(order) - max(len(order) // 4, 1)
    return np.sort(order[:inner]), order[inner:]


def _finer(best: float, coarse: Array) -> Array:
    """Return the neighbours of the best regulariser; beyond the end of the path, a step further."""
    low, high = best / FINE, best * FINE
    if best == coarse[-1]:
        return np.array([low, high, high * FINE])
    if best == coarse[0]:
        return np.array([low / FINE, low, high])
    return np.array([low, high])


# ---- the winner ---------------------------------------------------------------------------------


def fit_winner(
    candidate: Candidate,
    check: Check,
    result: Scored | None,
    samples: Samples,
    task: Task,
    machine: Any = None,
    told: Callable[[int], None] | None = None,
    alone: bool = True,
) -> Any:
    """Return the machine of a candidate, fitted on all samples of its view.

    There is no result if there was no time. A machine of the user's is used if there is one. On
    landmarks `told` is called with the rows that have been met, all of them `sizes.PASSES` times.
    Unless it stands alone it has no threshold, no probabilities and no intervals of its own.
    """
    kernel: Any = candidate.kernel
    if isinstance(kernel, Precomputed):
        kernel = "precomputed"
    X = as_array(samples.views[candidate.view])
    if machine is not None:
        return _fit(clone(machine).set_params(kernel=kernel), X, task.labels, task.weights)
    on_landmarks = sizes.use_landmarks(task.n, [candidate.kernel])
    machine = _machine(kernel, check, result, task, on_landmarks)
    kind = "landmarks" if on_landmarks else "svc" if isinstance(machine, KernelSVC) else "ridge"
    if on_landmarks and told is not None:
        machine._told = told
    _fit(machine, X, task.taught, task.weights)
    machine.__dict__.pop("_told", None)
    if isinstance(task, Outputs):
        machine._times(task.unit)
    if not alone:
        return machine
    if task.classes is None:
        return with_intervals(machine, result, task)
    if isinstance(task, Labels):
        return _of_labels(machine, result, task, on_landmarks and task.exchangeable)
    if on_landmarks and task.exchangeable:
        f, where, threshold = _left_out(machine, task)
    elif result is not None and result.record.machine == kind:
        f, where = result.record.values[result.best], result.record.rows
        threshold = result.threshold(task)
    else:
        return machine  # decision values of another machine have other units
    if kind == "svc":
        machine.set_params(threshold=threshold)
    else:
        machine.intercept_ = machine.intercept_ - threshold
    return calibrated(machine, f - threshold, where, task)


def with_intervals(machine: Any, result: Scored | None, task: Task) -> Any:
    """Return a regressor with the errors that its kind has made on left-out samples, if known."""
    if result is None:
        return machine
    rows, f = result.record.rows, result.record.values[result.best]
    w = None if task.w is None else task.w[rows]
    return machine.calibrate_intervals(task.as_given(task.y[rows] - f), w)


def labelled(model: Any, task: Labels) -> LabelsClassifier:
    """Return the classifier of several labels of a model that was fitted to their codes."""
    return LabelsClassifier.of(model, task.given_names, np.asarray(task.classes))


def _of_labels(machine: Any, result: Scored | None, task: Labels, one_by_one: bool) -> Any:
    """Return the same with probabilities, where left-out samples are known."""
    model = labelled(machine, task)
    if one_by_one:
        f, rows, _ = _left_out(machine, task)
    elif result is not None:
        f, rows = result.record.values[result.best], result.record.rows
    else:
        return model
    return calibrated(model, f, rows, task)


def _left_out(machine: Any, task: Task) -> tuple[Array, Array, float]:
    """Return decision values of samples left out one by one, which they are, and a threshold."""
    kept = task.counting[task.weights[task.counting] > 0]
    rows = np.intersect1d(task.sample(sizes.CALIBRATION_ROWS, salt=8), kept)
    F = task.codes[rows] - machine.loo_residuals_[np.searchsorted(kept, rows)].reshape(
        len(rows), -1
    )
    f = F[:, 0] if F.shape[1] == 1 else F
    return f, rows, task.best_threshold(f, rows) if task.tunes_threshold else 0.0


def _machine(
    kernel: Any, check: Check, result: Scored | None, task: Task, on_landmarks: bool
) -> Any:
    ridge = KernelRidgeClassifier if task.kind == "classification" else KernelRidgeRegressor
    if on_landmarks:
        return ridge(kernel, solver="nystroem", n_landmarks=sizes.LANDMARKS, random_state=task.seed)
    if result is not None and result.record.machine == "svc":
        return KernelSVC(kernel, C=result.setting / check.spread)
    if result is not None and result.record.machine == "svr":
        scale = task.deviation
        return KernelSVR(kernel, C=result.setting * scale / check.spread, epsilon=0.05 * scale)
    alpha = result.setting if result is not None else check.alpha
    return ridge(kernel, alpha=alpha * check.spread * float(task.weights.sum()))


def answers_of(model: Any, X: Any, task: Task) -> Answers:
    """Return what a fitted machine says of samples, in the form that the score asks for."""
    if task.classes is None:
        return Answers(task.in_units(np.asarray(model.predict(X), dtype=float)))
    if task.names:
        by_probability = not task.default_score and task.score.by_probability
        f = np.asarray(model.decision_function(X))
        return Answers(f, model.predict_proba(X) if by_probability else None)
    seen = np.flatnonzero(np.isin(task.classes, getattr(model, "classes_", task.classes)))
    C, p = len(task.classes), None
    if not task.default_score and task.score.by_probability:
        shares = model.predict_proba(X)
        p = np.zeros((len(shares), C))
        p[:, seen] = shares
    if task.default_score or task.score.by_label:
        F = np.where(np.asarray(model.predict(X))[:, None] == task.classes, 1.0, -1.0)
        return Answers(F[:, 1] if C == 2 else F, p)
    return Answers(decision_values(model, X, seen, task), p)


def calibrated(machine: Any, f: Array, where: Array, task: Task) -> Any:
    """Return the machine with probabilities fitted to decision values of left-out samples."""
    there = task.weights[where] > 0  # others are no rows, and may be all there are of a class
    f, where = f[there], where[there]
    w = None if task.w is None else task.w[where]
    if not task.names and f.ndim == 2 and len(machine.classes_) < f.shape[1]:
        f = f[:, np.isin(np.asarray(task.classes), machine.classes_)]
        f = f[:, 1] - f[:, 0] if f.shape[1] == 2 else f
    return machine.calibrate(f, task.labels[where], w)
