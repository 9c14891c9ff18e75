"""rank_kernels: from data to a ranking, a fitted model and the evidence for both."""

from __future__ import annotations

import html
import warnings
from collections.abc import Callable, MutableMapping, Sequence
from dataclasses import replace
from functools import partial
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import numpy.typing as npt
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import (
    HasMethods,
    Interval,
    StrOptions,
    validate_parameter_constraints,
)

from gramsmith.arguments import check_function, check_sizes, counted
from gramsmith.cached import cached_property
from gramsmith.evaluation.result import html_table, text_table
from gramsmith.files import replacing
from gramsmith.fingerprint import fingerprint
from gramsmith.gram import ENGINES, Journal
from gramsmith.gram.journal import open_journal
from gramsmith.gram.threads import dense_work
from gramsmith.measures import Measure
from gramsmith.report import words
from gramsmith.report.page import render
from gramsmith.report.pictures import plot_ranking
from gramsmith.report.results import records_frame
from gramsmith.report.words import Verdict, number, with_error
from gramsmith.selection.choose import Findings, choose
from gramsmith.selection.estimate import Estimate, Expected, expect
from gramsmith.selection.evidence import Evidence, gather
from gramsmith.selection.fit import assemble, delivered_record, fit_machines, rehearse
from gramsmith.selection.guarantees import guarantee
from gramsmith.selection.judge import fit_other, reason, size_of
from gramsmith.selection.problem import Problem, read
from gramsmith.selection.random_folds import about_random_folds
from gramsmith.selection.work import Work
from gramsmith.tables.decide import NO_COLUMNS, ColumnTable

Array = npt.NDArray[Any]

SHOWN = 12  # rows of the printed table
FEW = 5  # rows of the table in a notebook
CHOICE = ("check", "learn", "measures", "cross-validation")  # stages in which kernels are compared
CONSTRAINTS: dict[str, Any] = {
    "task": [StrOptions({"auto", "classification", "regression"})],
    "scoring": [str, callable, None],
    "cv": ["cv_object"],
    "class_weight": [StrOptions({"balanced"}), dict, None],
    "roles": [dict, None],
    "measures": [list, tuple, None],
    "machine": [HasMethods(["fit", "predict", "get_params"]), None],
    "ensemble": ["boolean"],
    "time_budget": [Interval(Real, 0, None, closed="left"), None],
    "n_jobs": [Integral, None],
    "memory": [Interval(Real, 0, None, closed="neither"), None],
    "engine": ENGINES,
    "max_samples": [Interval(Integral, 2, None, closed="left"), None],
    "verbose": ["verbose"],
}


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
    measures: Sequence[str | Measure] | None = None,
    machine: Any = None,
    ensemble: bool = True,
    estimators: Any = None,
    frames: Sequence[str] | None = None,
    time_order: Any = None,
    horizon: Any = None,
    gap: Any = 0,
    time_budget: float | None = None,
    roles: dict[Any, str] | None = None,
    random_state: Any = 0,
    n_jobs: int | None = None,
    memory: float | None = None,
    engine: Any = None,
    max_samples: int | None = None,
    verbose: bool | int = False,
    progress: Callable[[str, int, int, str], Any] | None = None,
    resume: Any = None,
) -> KernelRanking:
    """Rank kernels for a task, cross-validate the best, and fit the winner.

    All candidates are checked by ridge regression on landmarks with exact leave-one-out errors, and
    the measures are computed for all of them. The favourites of both make the short list, which is
    verified: cross-validation of kernel ridge regression. Kernels that do well together are
    averaged, see `ensemble`. The final model is fitted on all rows, with the settings that were
    cross-validated.

    Ctrl-C raises KeyboardInterrupt as long as there is no fitted model; `resume` keeps what was
    finished by then. Afterwards it leaves out what remains of the estimate and of the report, and
    the ranking is returned with a warning, see `KernelRanking.interrupted`.

    Parameters
    ----------
    X : data frame, array or sparse matrix of shape (n, p), strings, tuple of views, or None
        Columns of a data frame are encoded by their kind, and missing values imputed, see `roles`
        and :class:`~gramsmith.tables.TableEncoder`. A Gram matrix for kernels="precomputed"; None
        if all kernels are matrices.
    y : array of shape (n,), or data frame or array of shape (n, m)
        Labels or values. Several columns of 0 and 1 are labels of which a sample may have any
        number; other columns are several outputs, each of which counts in units of its own
        deviation. All columns share the kernels and are fitted together.
    kernels : "auto", kernel, list, or dict of name -> kernel, default="auto"
        A kernel is what `as_kernel` takes, an (n, n) matrix, or a pair (kernel, {parameter:
        values}). "auto": linear, polynomial, Gaussian, Laplacian, Matérn, learned feature weights,
        and `Tanimoto` where columns are 0/1 or counts with many zeros; for strings the string
        kernels. Numbers are standardised, except for kernels of non-negative values (`Tanimoto`,
        `Chi2`, and sums, products and multiples with one of them), which compare them as they are.
    task : {"auto", "classification", "regression"}, default="auto"
        "auto": texts are classes, numbers with a fraction values; whole numbers are classes if
        they are at most 20 different ones, or are consecutive from 0 or 1 and have 10 rows
        each.
    scoring : str or callable, optional
        A score of scikit-learn; default accuracy, or R² for values; the mean R² for several
        outputs, the mean of their accuracies for several labels. Scores that ask for it (such as
        "balanced_accuracy" and "f1") have the decision threshold chosen for them.
    cv : int or splitter, optional
        Folds of the cross-validation; default 5.
    groups : array of shape (n,), optional
        Samples of one group are never divided between training and test.
    class_weight : dict or "balanced", optional
        Weights of the classes in training; "balanced" also decides by balanced accuracy, unless
        `scoring` names a score.
    sample_weight : array of shape (n,), optional
        Weights of the samples.
    measures : list of str or Measure, optional
        The measures of the table; default alignments and separability. Up to two of
        the best kernels by them are cross-validated too. "fsm" has no say in that: by it the
        identity matrix, which only memorises, would be the best kernel.
    machine : estimator, optional
        An estimator to use instead of kernel ridge regression: any with a parameter `kernel` that
        takes kernels and "precomputed", of gramsmith, of scikit-learn or your own. It is
        cross-validated with the parameters that you gave, and the winner is fitted with it.
    ensemble : bool, default=True
        Whether to average several kernels where that does better than one: models of up to four
        kernels of the short list, with weights that minimise the squared error of the held-out
        predictions (non-negative least squares). Up to 30 000 rows, and not with `machine` or
        matrices. False fits the winner alone.
    estimators : dict of name -> estimator, or list of names, optional
        Estimators with scikit-learn's interface that are compared with the kernels: with the
        parameters that you gave, in the same folds, with the same groups, weights (if their `fit`
        takes them) and score. Names stand for estimators with the parameters of their libraries:
        "hgb", "forest", "extra-trees", "linear", "knn", "svm", and "catboost" and "lightgbm" where
        these are installed. Their input is the encoded table. One that fails is left out with a
        warning. See `KernelRanking.best_other`.
    frames : list of str, optional
        Names of the estimators that are given X as it was passed, and not encoded.
    time_order : str or array of shape (n,), optional
        The time of every row: a column of the data frame, which is then not a feature, or the times
        themselves (numbers or dates). Every model predicts a period and is trained on the rows
        before it; rows of the same time stay together. `estimate` is for the next period. With
        `groups`, no model is trained on groups of the period that it predicts. `cv` is the number
        of periods, default 5.
    horizon : float or timedelta, optional
        The length of a period, in units of `time_order`; of dates in days. Default a tenth of the
        rows (half of them are in one of the periods).
    gap : float or timedelta, default=0
        Time between the training rows and the period, in the same units.
    time_budget : float, optional
        Seconds for the whole call: a step that would not end in time is not started, and the
        results so far are ranked. A budget that is too short for the final fit is refused.
    roles : dict of name -> role, optional
        Roles of columns of a data frame that should not be detected: number, category, ordered,
        date, text, sequence, boolean, drop. `KernelRanking.columns` has all roles.
    random_state : int, RandomState or None, default=0
        Decides samples and folds; the default makes runs repeatable.
    n_jobs : int, optional
        Threads; default all cores.
    memory : float, optional
        Budget in MiB for kernel values, see `Gram`.
    engine : Engine, distributed.Client or "dask", optional
        What computes kernel values and fits the models; instead of `n_jobs` and `memory`.
    max_samples : int, optional
        Upper limit of the rows used in any step before the final fit.
    verbose : bool or int, default=False
        Whether to show progress on the standard error: as a bar on a terminal (with rich, which the
        extra `cli` brings), as lines elsewhere.
    progress : callable, optional
        Called with (stage, done, total, label), one call at a time but not always by the same
        thread.
    resume : path, Journal or mutable mapping, optional
        A file for finished work: bands of sweeps, fits, steps. A run that was ended goes on from
        there; the file of another run is refused. A mapping is filled with plain values and
        arrays.

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
    options = {
        **{"task": task, "scoring": scoring, "cv": cv, "class_weight": class_weight},
        **{"roles": roles, "measures": measures, "machine": machine, "ensemble": ensemble},
        **{"max_samples": max_samples, "random_state": random_state},
        **{"groups": groups, "sample_weight": sample_weight},
        **{"estimators": estimators, "frames": frames},
        **{"time_order": time_order, "horizon": horizon, "gap": gap},
    }
    notes = resume if isinstance(resume, MutableMapping) else open_journal(resume)
    work = Work(n_jobs, memory, engine, time_budget, progress, notes, verbose=verbose)
    return read_and_rank(X, y, kernels, work, options)


def read_and_rank(
    X: Any, y: Any, kernels: Any, work: Work, options: dict[str, Any], brief: bool = False
) -> KernelRanking:
    """Return the ranking of `rank_kernels`; in brief, without a choice made anew and evidence."""
    names = ("time_budget", "n_jobs", "memory", "engine", "verbose")
    checked = {**options, **{name: getattr(work, name) for name in names}}
    check_sizes("rank_kernels", checked)
    validate_parameter_constraints(
        CONSTRAINTS, {name: checked[name] for name in CONSTRAINTS}, "rank_kernels"
    )
    check_function("progress", work.progress, "stage", "done", "total", "label")
    with work.watched(), work.stage("read", 1, "table"):
        problem = read(X, y, kernels, nested=not brief, **options)
    return rank(problem, work, brief)


def rank(problem: Problem, work: Work, brief: bool = False) -> KernelRanking:
    """Return the ranking of a problem that was read.

    Parameters
    ----------
    problem : Problem
        What `read` returned.
    work : Work
        What may be spent on it.
    brief : bool, default=False
        Whether to gather the evidence when it is asked for, and not before.

    Returns
    -------
    KernelRanking
    """
    with work.watched():
        ranking = _ranked(problem, work, brief)
    if ranking.interrupted:
        warnings.warn(ranking.interrupted, ConvergenceWarning, stacklevel=2)
    return ranking


def _ranked(problem: Problem, work: Work, brief: bool) -> KernelRanking:
    """Choose, fit, expect, gather."""
    if isinstance(work.checkpoint, Journal):
        work.checkpoint.begin(_identity(problem))
    if work.time_budget is not None:
        reserve_time(problem, work)
    findings = choose(problem, work)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with dense_work(0 if problem.plan.landmarks else problem.task.n):
            machines = fit_machines(findings, problem, work)
    work.reserve = 0.0
    converged = not any(issubclass(item.category, ConvergenceWarning) for item in caught)
    for item in caught:
        warnings.warn(item.message, item.category, stacklevel=3)
    delivered = delivered_record(findings, machines, problem)
    best_other = fit_rival(findings, problem, work)
    expected = expect(findings, delivered, problem, work)
    if not brief and problem.task.periods is not None:
        findings = compared_with_random(findings, problem, work)
    models = [
        problem.samples.pipeline(findings.candidates[i], problem.X, machine)
        for i, machine in zip(findings.chosen, machines, strict=True)
    ]
    model = assemble(findings, models, delivered, problem.task, problem.machine is not None)
    guarantee(model, machines, findings, delivered, expected.record, problem)
    evidence = None
    if not brief:
        rest = "a plain linear model and the importance of columns"
        with work.optional(rest):
            evidence = gather(findings, delivered, problem, model, work)
        if rest in work.skipped:
            evidence = gather(findings, delivered, problem, model, work)
    findings = replace(
        findings,
        skipped=tuple(work.skipped),
        late=work.time_budget if work.late else None,
        checks=tuple(replace(check, pseudo=None) for check in findings.checks),
    )
    later = partial(gather, findings, delivered, problem, model) if evidence is None else None
    return KernelRanking(
        findings,
        model,
        evidence or later,
        expected,
        converged,
        problem.plan.columns,
        work.seconds,
        best_other,
    )


def fit_rival(findings: Findings, problem: Problem, work: Work) -> Any:
    """Return the estimator that is clearly better than the kernels, fitted on all rows, if any."""
    if findings.rival is None:
        return None
    other, model = findings.rival.other, None
    stage = work.stage("other estimator", 1, other.name)
    with work.optional(f"the fit of the estimator {other.name!r} on all rows"), stage:
        try:
            model = fit_other(other, problem)
        except Exception as error:  # whatever an estimator of the user's may raise
            warnings.warn(
                f"The estimator {other.name!r} failed on all rows: {reason(error)}.",
                UserWarning,
                stacklevel=4,
            )
    return model


def compared_with_random(findings: Findings, problem: Problem, work: Work) -> Findings:
    """Return the findings with what random folds would have promised, if there is time."""
    if work.skipped or not work.in_time(work.seconds.get("cross-validation", 0.0)):
        return findings
    remarks, what = [], "what random folds would have promised"
    with work.optional(what), work.stage("random folds", 1, what):
        remarks = about_random_folds(findings, problem)
    return replace(findings, advice=(*findings.advice, *remarks))


def _identity(problem: Problem) -> dict[str, Any]:
    """Return what a journal of finished work belongs to."""
    task, candidates = problem.task, problem.candidates
    return {
        "data": fingerprint(problem.samples.views, task.y, task.w, task.groups),
        "kernels": [c.name for c in candidates],
        "kernel parameters": fingerprint([c.kernel for c in candidates]),
        "max_samples": problem.plan.max_samples,
        "task": task.kind,
        "seed": task.seed,
        "ensemble": problem.ensemble,
        "scoring": task.score.name if task.score.is_default else fingerprint(task.score.call),
        "class_weight": fingerprint(task.class_weight),
        "cv": fingerprint(task.cv),
        "measures": fingerprint(problem.measures),
        "machine": fingerprint(problem.machine),
        **(
            {"estimators": fingerprint([(o.name, o.estimator, o.as_given) for o in problem.others])}
            if problem.others
            else {}
        ),
        **({"periods": fingerprint(vars(task.periods))} if task.periods is not None else {}),
    }


def reserve_time(problem: Problem, work: Work) -> None:
    """Keep the time of the fit free, or refuse a budget that does not suffice for it.

    How long a fit takes here and now is found by fitting a machine to a few rows.
    """
    with dense_work():
        work.reserve = rehearse(problem)
    least = 1.1 * (work.spent() + work.reserve) + 0.2  # and a check of a few rows
    if work.time_budget is not None and work.time_budget < least:
        raise ValueError(
            f"Expected a time_budget of at least {least:.1f} s for {problem.task.n:,} "
            f"rows, got {work.time_budget:g}: {work.spent():.1f} s have gone into reading them, "
            f"and the fit of one model takes about {work.reserve:.1f} s. Allow more time, or use "
            "fewer rows."
        )


class KernelRanking:
    """Kernels from best to worst, and the fitted winner: the outcome of `rank_kernels`.

    Parameters
    ----------
    findings, model, evidence, expected, converged, columns, seconds, best_other
        The results of the steps of `rank_kernels`; `evidence` may be a function that computes it
        when it is asked for.

    Attributes
    ----------
    best_estimator : estimator
        The winner, fitted on all samples: a pipeline from what the user passed, or an average of
        several.
    average : dict of str to float
        The kernels whose models are averaged, and their weights; empty if the winner stands
        alone.
    estimate : Estimate
        The score to expect of `best_estimator` on new data, with an interval; how it was found is
        its `kind`.
    overall_estimate : Estimate
        The score to expect on new data of the best model, other estimators included: of
        `best_other` if it is not None, else of `best_estimator`. It allows for this choice, which
        is repeated in every outer fold or corrected for by the bootstrap. Without other estimators
        it is `estimate`.
    best_other : estimator or None
        The best of the other estimators, fitted on all rows as it was given (with the encoder in
        front, unless it is named in `frames`), if it is clearly better than the model of the
        kernels: by a paired test on held-out rows at 5 %, by Holm's method over all estimators.
        None if none is, or if it failed on all rows. It is not a model of gramsmith: save it with
        the tools of its own library.
    output_scores : dict of str to float
        R² of every output, or the accuracy of every label, on held-out rows; empty for one target.
    evidence : Evidence
        Predictions for held-out rows (confusion matrix, curves, residuals, scores per fold), a
        plain linear model beside it, the importance of the columns, what was read.
    converged : bool
        Whether the solver of the winner converged.
    columns : ColumnTable
        What each column of a table is (role, kind, missing values, different values, an example),
        as it was decided before any work; prints as a table.

    Examples
    --------
    >>> import numpy as np
    >>> import gramsmith as gs
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> ranking = gs.rank_kernels(X, X[:, 0] > 0, kernels={"linear": "linear", "rbf": "rbf"})
    >>> ranking.best_kernel
    Linear()
    >>> [record["kernel"] for record in ranking.records]
    ['linear', 'rbf']
    """

    def __init__(
        self,
        findings: Findings,
        model: Any,
        evidence: Any,
        expected: Expected,
        converged: bool = True,
        columns: ColumnTable = NO_COLUMNS,
        seconds: dict[str, float] | None = None,
        best_other: Any = None,
    ) -> None:
        self._findings = findings
        self._evidence = evidence
        self._expected = expected
        self.estimate: Estimate = expected.kernels
        self.overall_estimate: Estimate = expected.overall or expected.kernels
        self.best_other = best_other
        self.best_estimator = model
        self.converged = converged
        self.columns = columns
        self.seconds = seconds or {}

    @property
    def evidence(self) -> Evidence:
        """What the report shows beside the table, gathered when it is asked for."""
        if not isinstance(self._evidence, Evidence):
            self._evidence = self._evidence(Work())
        return self._evidence

    @property
    def average(self) -> dict[str, float]:
        """The kernels that are averaged, and their weights."""
        findings = self._findings
        weights = {} if findings.average is None else findings.average.weights
        return {findings.candidates[i].name: w for i, w in weights.items()}

    @property
    def best_kernel(self) -> Any:
        """The kernel that won."""
        return self._findings.best.kernel

    @property
    def task(self) -> str:
        """The task: "classification", "regression" or "multilabel"."""
        return self._findings.task.kind

    @property
    def classes(self) -> Any:
        """The labels in order; None for values. Of several labels their names, or numbers."""
        return self._findings.task.class_names

    @property
    def scoring(self) -> str:
        """The name of the score."""
        return self._findings.task.score.name

    @property
    def output_scores(self) -> dict[str, float]:
        """R² of every output, or the accuracy of every label, on held-out rows.

        Empty for a single target. The model was chosen by these rows; `estimate` is corrected for
        that, these scores are not.
        """
        outcome = self.evidence.outcome
        return {} if outcome is None else {t.name: t.score for t in outcome.targets}

    @property
    def verdict(self) -> Verdict:
        """Whether the model is good enough to be used: a level, a sentence, what won, details.

        Evidence that was not gathered yet has no part in it.
        """
        remarks = [*self._alarms, *(a.code for a in self._findings.advice if a.code == "copies")]
        remarks += filter(None, ["" if self.converged else "not converged", self.interrupted])
        evidence = self._evidence if isinstance(self._evidence, Evidence) else None
        said = words.verdict(self._findings, self.records, self.estimate, evidence, remarks)
        if not self._findings.others:
            return said
        own = sum(self.seconds.get(stage, 0.0) for stage in CHOICE), size_of(self.best_estimator)
        return words.with_others(said, self.other_records, self.scoring, *own)

    @property
    def _alarms(self) -> list[str]:
        if not isinstance(self._evidence, Evidence):
            return []
        return words.alarms(self._findings, self.estimate, self._evidence)

    @property
    def beats_baseline(self) -> bool:
        """Whether the estimate is better, by a test, than a constant answer."""
        return self.estimate.beats_baseline

    @property
    def partial(self) -> bool:
        """Whether some of the work was left out, because of Ctrl-C or for lack of time."""
        return bool(self._findings.skipped) or self._findings.late is not None

    @property
    def interrupted(self) -> str | None:
        """What was left out because of Ctrl-C, in words; None if nothing was."""
        return words.interrupted(self._findings)

    @property
    def sampled(self) -> str | None:
        """What was computed on samples of the rows, in one sentence; None if nothing was."""
        return words.sampled(self._findings)

    @property
    def warnings(self) -> list[str]:
        """What should be known before the result is used, in plain words."""
        said = words.warnings(self._findings, self.converged)
        said += words.about_others(self._findings)
        said += words.about_dates(self._findings.task, self.columns)
        return [*self._alarms, *self.columns.remarks, *said]

    @cached_property
    def summary(self) -> dict[str, Any]:
        """What should go with the model, as plain values: model files and cards show it.

        Keys: task, rows, columns (name and role), groups, classes (label and rows) or values (the
        range), kernel, machine, score, estimate, verdict, limits, date, versions.
        """
        findings, model = self._findings, self.best_estimator
        facts = words.summary(findings, model, self.estimate, self.converged)
        return facts | {"verdict": str(self.verdict)}

    @cached_property
    def records(self) -> list[dict[str, Any]]:
        """One flat dictionary per kernel, from best to worst.

        Keys: rank, kernel, family, tied; score, score_error, verified (how the score was held out),
        machine, parameter and reach, None for kernels that were not on the short list; weight in
        the average, None for kernels without; first_check,
        first_check_error, first_check_squared, first_check_rows; the measures and their errors.
        Measures of many rows are estimated from random draws: their errors are those of drawing,
        and low and high the limits of 95 % intervals for the value of all rows.
        """
        findings, rows = self._findings, []
        for rank, i in enumerate(findings.order, start=1):
            candidate, check, result = (
                findings.candidates[i],
                findings.checks[i],
                findings.results.get(i),
            )
            row: dict[str, Any] = {
                "rank": rank,
                "kernel": candidate.name,
                "family": candidate.family,
                "tied": i in findings.tied and len(findings.tied) > 1,
                "score": None if result is None else -result.loss,
                "score_error": None if result is None else result.error,
                "verified": None if result is None else result.record.kind,
                "machine": None if result is None else result.record.machine,
                "parameter": None if result is None else result.setting,
                "weight": self.average.get(candidate.name),
                "reach": None if result is None else result.reach,
                "first_check": -check.loss,
                "first_check_error": check.error,
                "first_check_squared": check.squared,
                "first_check_rows": check.rows,
            }
            for measure in findings.measures.measures:
                cell = findings.measures[candidate.name, measure]
                row[measure] = cell.value
                row[f"{measure}_error"] = cell.error
                if findings.measures.draws is not None:
                    limits = cell.interval() or (None, None)
                    row |= {f"{measure}_low": limits[0], f"{measure}_high": limits[1]}
            rows.append(row)
        return rows

    @cached_property
    def other_records(self) -> list[dict[str, Any]]:
        """One flat dictionary per other estimator, from best to worst; those that failed are last.

        Keys: estimator, class; score, score_error and verified (how the score was held out);
        expected, low and high, the score to expect on new data; judgement, whether it is "better"
        or "worse" than the kernels, or "tied"; seconds of all fits and predictions in the folds;
        size, MiB of the fitted model as pickle writes it, None if it cannot; weighted, whether it
        took the weights; as_given, whether X was not encoded; failed, why it has no score.
        """
        findings, rows = self._findings, []
        for one, estimate in zip(findings.others, self._expected.others, strict=True):
            result = one.result
            row = {
                "estimator": one.other.name,
                "class": type(one.other.estimator).__name__,
                "score": None if result is None else -result.loss,
                "score_error": None if result is None else result.error,
                "verified": None if result is None else result.record.kind,
                "expected": None if estimate is None else estimate.value,
                "low": None if estimate is None else estimate.low,
                "high": None if estimate is None else estimate.high,
                "judgement": one.judgement,
                "seconds": one.seconds,
                "size": one.size,
                "weighted": one.other.takes_weights,
                "as_given": one.other.as_given,
                "failed": one.failed,
            }
            rows.append(row)
        return sorted(rows, key=lambda row: (row["score"] is None, -(row["score"] or 0.0)))

    def frame(self) -> Any:
        """Return the ranking as a pandas data frame, one row per kernel, indexed by rank."""
        return records_frame(self.records).set_index("rank")

    # ---- as a table -------------------------------------------------------------------------

    def _table(self, limit: int = SHOWN) -> tuple[list[str], list[list[str]]]:
        measures = self._findings.measures.measures
        arrows = [f"{m.name} {m.arrow}" for m in measures.values()]
        drawn = self._findings.measures.draws is not None
        far = any((record["reach"] or 0.0) > 0.0 for record in self.records[:limit])
        head = ["rank", "kernel", self.scoring, *(["reach"] if far else []), "first check", *arrows]
        body = []
        for record in self.records[:limit]:
            mark = " =" if record["tied"] else ""
            cells = [
                f"{record['rank']}{mark}",
                record["kernel"],
                with_error(record["score"], record["score_error"]),
                *([number(record["reach"])] if far else []),
                number(record["first_check"]),
                *(
                    with_error(record[m], record[f"{m}_error"]) if drawn else number(record[m])
                    for m in measures
                ),
            ]
            body.append(cells)
        return head, body

    def __repr__(self) -> str:
        lines = [*self.verdict.lines, "", text_table(*self._table())]
        left = len(self.records) - SHOWN
        if left > 0:
            more = counted(left, "more kernel")
            lines.append(f"... and {more}: see .frame()")
        lines += [f"! {warning}" for warning in self.warnings]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        verdict, (head, body) = self.verdict, self._table(FEW)
        told = [verdict.winner, *verdict.details, *self.warnings]
        notes = "".join(f"<li>{html.escape(text)}</li>" for text in told)
        table = html_table(head[:3], [row[:3] for row in body])
        hint = "All kernels: .frame(). The whole report: .write_html(path). Pictures: .plot(kind)."
        headline = f"<p><b>{html.escape(verdict.text)}</b></p>"
        return f"{headline}{table}<ul>{notes}</ul><p><small>{hint}</small></p>"

    # ---- as pictures and a page -------------------------------------------------------------

    @property
    def facts(self) -> list[tuple[str, str]]:
        """What was done, label and value."""
        return words.facts(self._findings)

    @property
    def path(self) -> Any:
        """The winner's family along its parameter; None if no family has enough members."""
        return words.path(self._findings)

    @property
    def measures(self) -> dict[str, bool]:
        """The measures of the table, and whether higher is better."""
        known = self._findings.measures.measures.values()
        return {measure.name: measure.higher_is_better for measure in known}

    def plot(self, kind: str = "scores", ax: Any = None) -> Any:
        """Draw one of the pictures of the report.

        Parameters
        ----------
        kind : str, default="scores"
            "scores" of the kernels with their errors; "confusion", "roc", "precision_recall" and
            "reliability" for classes; "predictions" and "residuals" for values; "importance",
            "bandwidth", "gram" and "map" for the winner.
        ax : matplotlib axes, optional
            Where to draw; default a new figure.

        Returns
        -------
        matplotlib axes
        """
        return plot_ranking(self, kind, ax)

    def write_html(
        self,
        path: Any,
        title: str | None = None,
        source: str | None = None,
        *,
        target: str | None = None,
        model: Any = None,
        command: str | None = None,
        data: str | None = None,
    ) -> Path:
        """Write the report: one page, self-contained, without scripts.

        Parameters
        ----------
        path : str or Path
            The file to write.
        title : str, optional
            Headline of the page.
        source : str, optional
            Where the data came from, such as a file name.
        target : str, optional
            What is predicted, for the headline.
        model : str or Path, optional
            Where the model was saved: the next steps load it from there.
        command : str, optional
            How the page was made.
        data : str, optional
            Hash of the data; default that of the encoded table and the target.

        Returns
        -------
        Path
        """
        about = {"target": target, "command": command, "data": data}
        about["model"] = None if model is None else str(model)
        page = render(self, title, source, **about)
        file = Path(path)
        with replacing(file) as temporary:
            temporary.write_bytes(page.encode("utf-8"))
        return file
