"""Words of a ranking: the verdict, warnings, what is known of a kernel, what to do next."""

from __future__ import annotations

import math
import platform
import shlex
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import PurePath
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy
import sklearn
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import Pipeline

from gramsmith import __version__
from gramsmith.machines.averages import first_machine

Array = npt.NDArray[Any]
Records = list[dict[str, Any]]

MEANING = {
    "cka": "alignment with the labels, both centred",
    "cka_debiased": "the same without the bias of the diagonal",
    "kta": "alignment with the labels",
    "fsm": "spread of the classes over the distance of their means",
    "fsm_loo": "spread over distance of the classes, with every sample left out of its own mean",
    "csm": "scatter within over scatter between the classes",
}
ESTIMATES = {
    "nested cross-validation": "nested cross-validation",
    "bootstrap": "the bootstrap, which repeats the choice among kernels",
    "leave-one-out": "leave-one-out cross-validation of a first check",
    "cross-validation": "cross-validation",
}
DESCRIPTIONS = {
    "ridge": "kernel ridge",
    "average": "an average of estimators",
    "landmarks": "kernel ridge on landmarks",
}
READERS = {
    ".csv": 'pandas.read_csv("{}")',
    ".tsv": 'pandas.read_csv("{}", sep="\\t")',
    ".parquet": 'pandas.read_parquet("{}")',
    ".feather": 'pandas.read_feather("{}")',
    ".xlsx": 'pandas.read_excel("{}")',
    ".npy": 'numpy.load("{}")',
}
SEQUENCES = (".fasta", ".fa", ".fna", ".faa")
LENGTHS = ("spectrum", "mismatch", "weighted degree")  # families of substrings of some length
FOUND = 0.5  # share of the rarest class that must be found, or else it is said
IMBALANCED = 0.8  # of an equal share: a class with less is called rare
MISSED = 1 / 3  # share of a class that may be missed before it is a reason for care
CARRIED = 0.8  # of what was gained over the baseline: a column that loses that much carries all

# ---- numbers and lists --------------------------------------------------------------------------


def number(value: Any, digits: int = 3) -> str:
    """Return a number as short text; a dash for what is undefined."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not isinstance(value, float):
        return str(value)
    if 1000 <= abs(value) < 1e6:
        return f"{value:,.0f}"
    return f"{value if abs(value) > 1e-12 else 0.0:.{digits}g}"


def with_error(value: Any, error: Any) -> str:
    """Return value ± error, to the digits that the error leaves."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return "–"
    if error is None or not math.isfinite(error) or error <= 0:
        return f"{value:.3f}" if abs(value) < 100 else f"{value:.4g}"
    places = min(6, max(0, 1 - math.floor(math.log10(error))))
    return f"{value:.{places}f} ± {error:.{places}f}"


def amount(value: float) -> str:
    """Return a number of rows, or a sum of their weights."""
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.1f}"


def listed(items: list[str], word: str = "and") -> str:
    """Return items as a list in a sentence."""
    return f" {word} ".join(filter(None, [", ".join(items[:-1]), *items[-1:]]))


# ---- is it good, and can I use it? --------------------------------------------------------------


@dataclass(frozen=True)
class Verdict:
    """Whether a model is good enough to be used, and what won."""

    level: str  # "good", "care" or "poor"
    text: str  # in one sentence
    winner: str = ""  # what is fitted, and what else might be
    details: list[str] = field(default_factory=list)  # what stands behind it, a sentence each
    others: str = ""  # how other estimators compare, if there are any

    @property
    def lines(self) -> list[str]:
        """What is said in short: whether it works, how surely, what won."""
        return [self.text, *self.details[:1], self.winner, *filter(None, [self.others])]

    def __str__(self) -> str:
        return " ".join(self.lines)


def verdict(
    found: Any, records: Records, estimate: Any, evidence: Any = None, remarks: Sequence[str] = ()
) -> Verdict:
    """Return whether the model is good enough to be used, in words for whoever asked.

    "good": better than a constant answer, by a test. "care": so, but for something
    that should be known first, such as `remarks`. "poor": not better.
    """
    task, name = found.task, found.task.constant(found.task.counting)[1]
    value, who = in_words(estimate.value, task), winner(found, records)
    if not found.results:
        text = f"Too early to say: {value}, by a first check only."
        return Verdict("care", text, who, ["There was no time to test it on held-out rows."])
    details = [_interval_words(estimate, task)]
    if not estimate.beats_baseline:
        apart = told_apart(found)
        text = f"Not clearly better than {name}: {value}."
        if apart is None:
            details.append("There may be too few rows, or the features do not predict the target.")
            return Verdict("poor", text, who, details)
        text += (
            f" But the classes, which are imbalanced, can be separated (AUC {apart:.2f}): choose "
            'by balanced accuracy, scoring="balanced_accuracy".'
        )
        return Verdict("care", text, who, details)
    outcome, but = getattr(evidence, "outcome", None), ""
    if outcome is not None and outcome.targets:
        details.append(_targets_words(outcome))
    if outcome is not None and outcome.classes:
        missed, is_rare, share = missed_class(outcome)
        but = missed if is_rare and share > MISSED else ""
        details += [] if but else [missed]
    if outcome is not None and outcome.errors:
        near, far = (number(outcome.errors[key]) for key in ("half", "nine of ten"))
        details.append(f"Half of the predictions are within ± {near}, nine of ten within ± {far}.")
    for rival in evidence.rivals[1:] if evidence is not None else ():
        details.append(LINEAR[rival.judgement].format(rival.name))
    text = f"{value[:1].upper()}{value[1:]}, better than {name}."
    # on fewer rows, as those of outer folds that look back, a constant may score otherwise
    shown = [rival.score for rival in evidence.rivals[:1]] if evidence is not None else []
    if not but and estimate.low <= max([estimate.baseline, *shown]):
        but = f"The 95 % interval reaches down to {name}."
    if but:
        return Verdict("care", f"{text} {but}", who, details)
    if remarks:
        return Verdict("care", f"{text} Read the warnings before you use it.", who, details)
    return Verdict("good", text, who, details)


def with_others(
    said: Verdict, others: Records, scoring: str, seconds: float, size: float | None
) -> Verdict:
    """Return a verdict that also says how other estimators compare, and what each has cost."""
    judged = [r for r in others if r["judgement"]]
    if not judged:
        return said
    score = score_label(scoring)
    named = {
        word: [
            f"“{r['estimator']}” ({score} {_expected(r)})" for r in judged if r["judgement"] == word
        ]
        for word in ("better", "tied", "worse")
    }
    parts = [
        f"{listed(names)} {'is' if len(names) == 1 else 'are'} {JUDGEMENTS[word]}"
        for word, names in named.items()
        if names
    ]
    text = f"Compared with the kernels, {'; '.join(parts)}."
    costs = [("all kernels together", seconds, size)]
    costs += [(f"“{r['estimator']}”", r["seconds"], r["size"]) for r in judged]
    spent = listed([f"{took:.1f} s for {name}" for name, took, _ in costs])
    held = listed([f"{megabytes(mib)} for {name}" for name, _, mib in costs[1:]])
    cost = (
        f"Time in all folds: {spent}. Size of the fitted model: {megabytes(size)} for the "
        f"kernels, {held}."
    )
    said = replace(said, others=text, details=[*said.details, text, cost])
    if not named["better"]:
        return said
    first = next(r for r in judged if r["judgement"] == "better")
    end = f"But “{first['estimator']}” does clearly better than the kernels: see best_other."
    level = "care" if said.level == "good" else said.level
    return replace(said, level=level, text=f"{said.text} {end}")


def _expected(record: dict[str, Any]) -> str:
    """Return the score of another estimator on new data, as the comparison on the page has it."""
    value = record["score"] if record["expected"] is None else record["expected"]
    return with_error(value, None)


def megabytes(size: float | None) -> str:
    """Return a size in MiB, in words."""
    if size is None:
        return "unknown"
    return "less than 0.1 MiB" if size < 0.1 else f"{size:.1f} MiB"


JUDGEMENTS = {
    "better": "clearly better",
    "tied": "not clearly better or worse, a tie",
    "worse": "clearly worse",
}
LINEAR = {
    "clearly worse": "A plain linear model ({}) is clearly worse.",
    "better": "A plain linear model ({}) is better on these rows: prefer it.",
    "about as good": "A plain linear model ({}) is about as good, and easier to explain.",
}


def winner(found: Any, records: Records) -> str:
    """Return what is fitted, and what is as good, in one sentence."""
    best = records[0]
    shares = {r["kernel"]: r["weight"] for r in records if r["weight"] is not None}
    if shares:
        ordered = sorted(shares.items(), key=lambda item: -item[1])
        named = listed([f"“{name}” ({weight:.0%})" for name, weight in ordered])
        return f"The model averages {named}; the best single kernel is “{best['kernel']}”."
    machine = DESCRIPTIONS.get(best["machine"], best["machine"])
    text = f"“{best['kernel']}” wins" + (f" with {machine}" if machine else "")
    tied = [r["kernel"] for r in records[1:] if r["tied"]]
    if tied:
        more = [f"{len(tied) - 3} more"] if len(tied) > 3 else []
        named = listed([*(f"“{name}”" for name in tied[:3]), *more])
        return f"{text}; {named} {'is' if len(tied) == 1 else 'are'} not clearly worse, a tie."
    others = [r["kernel"] for r in records[1:] if r["score"] is not None]
    return f"{text}; “{others[0]}”, the next, is clearly worse." if others else f"{text}."


def in_words(value: float, task: Any) -> str:
    """Return a score as a part of a sentence about new rows."""
    new = "new rows" if task.periods is None else "rows of the next period"
    if task.score.is_share:
        digits = 1 if value > 0.985 and round(1000 * value) % 10 else 0
        what = f"labels of {new}" if task.names else new
        return f"predicts {100 * value:.{digits}f} of 100 {what} correctly"
    if task.score.is_default:
        over = f", on average over {len(task.names)} outputs" if task.names else ""
        return f"explains {100 * max(value, 0.0):.0f} % of the variation in {new}{over}"
    return f"{score_label(task.score.name)} {number(value)} on {new}"


def score_label(name: str) -> str:
    """Return the name of a score as people write it."""
    return {"r2": "R²"}.get(name, name.replace("neg_", "minus ").replace("_", " "))


def _interval_words(estimate: Any, task: Any) -> str:
    low, high = estimate.low, estimate.high
    if task.score.is_share:
        limits = f"{100 * max(low, 0.0):.1f} to {100 * high:.1f} of 100"
    elif task.score.is_default:
        digits = 0 if high - low > 0.02 else 1  # ends of a narrow interval differ in the tenths
        limits = f"{100 * low:.{digits}f} to {100 * high:.{digits}f} %"
    else:
        limits = f"{with_error(low, None)} to {with_error(high, None)}"
    kind = ESTIMATES[estimate.kind]
    if task.periods is not None:
        kind += f"; every period ({told_period(task)}) is predicted from earlier rows"
    return f"95 % interval: {limits}, by {kind}."


def told_period(task: Any) -> str:
    """Return how long the periods are that were predicted, in words."""
    splits = task.splits(task.counting, 5)
    return str(task.periods.told(round(np.mean([len(test) for _, test in splits]))))


def _targets_words(outcome: Any) -> str:
    """Return how the outputs or labels differ: the worst of them, and those without a gain."""
    worst = min(outcome.targets, key=lambda t: t.score - t.baseline)
    name = "R²" if worst.errors else "accuracy"
    text = f"Hardest to predict is “{worst.name}”: {name} {number(worst.score)} on held-out rows"
    text += "." if worst.errors else f", {number(worst.baseline)} for its most frequent value."
    lost = [t for t in outcome.targets if t.score - 2.0 * t.error <= t.baseline]
    if len(lost) > 1:
        text += f" {len(lost)} of {len(outcome.targets)} are no better than that baseline."
    return text


def missed_class(outcome: Any) -> tuple[str, bool, float]:
    """Return how many rows were missed of the rare class, whether there is one, and their share.

    Where classes are about even, of the class that is found least.
    """
    total = outcome.confusion.sum(axis=1)
    tested = np.flatnonzero(total > 0)
    rare = int(tested[total[tested].argmin()])
    imbalanced = bool(total[rare] < IMBALANCED * total.sum() / len(tested))
    c = rare if imbalanced else int(tested[np.nanargmin(outcome.recall[tested])])
    missed, share = total[c] - outcome.confusion[c, c], 1.0 - outcome.recall[c]
    word = "the rarest class" if imbalanced else "the class with the lowest recall"
    rows = "by weight" if outcome.weighted else "held-out rows"
    text = (
        f"Of “{outcome.classes[c]}”, {word}, {100 * share:.0f} % were missed "
        f"({amount(missed)} of {amount(total[c])} {rows})."
    )
    return text, imbalanced, float(share)


# ---- what should be known -----------------------------------------------------------------------


def interrupted(found: Any) -> str | None:
    """Return what was left out because of Ctrl-C, or None."""
    if not found.skipped:
        return None
    return (
        f"The ranking is partial: it was interrupted. Left out: {listed(list(found.skipped))}. "
        "Run it again for the rest."
    )


def sampled(found: Any) -> str | None:
    """Return what was computed on samples of the rows, or None."""
    n, plan = found.task.n, found.plan
    used = {
        **({} if found.measures.draws else {"the measures": min(found.measures.n, n)}),
        "the first check": max(check.rows for check in found.checks),
        **({"cross-validation": plan.compare_rows} if found.results else {}),
    }
    parts = [f"{what} on {rows:,} rows" for what, rows in used.items() if rows < n]
    if found.measures.draws:
        count, rows = found.measures.draws
        parts.insert(0, f"the measures, estimated from {count} random draws of {rows:,} rows")
    if not parts:
        return None
    end = "the winner was fitted on all of them" + (", on landmarks" if plan.landmarks else "")
    return f"Of {n:,} rows, samples were used for {listed(parts)}; {end}."


def warnings(found: Any, converged: bool) -> list[str]:
    """Return what should be known before the result is used."""
    said = [interrupted(found), _about_classes(found), *(a.message for a in found.advice)]
    if found.late is not None:
        said.append(
            f"The time budget of {found.late:g} s ran out: kernels without a score are ranked by "
            "the first check. Allow more time for a full comparison."
        )
    if not converged:
        said.append(
            "The solver stopped before it converged: scale the features, or ask for less accuracy "
            "with a smaller C."
        )
    return [text for text in said if text]


def about_others(found: Any) -> list[str]:
    """Return what should be known of the other estimators: failures, and weights not taken."""
    said = []
    weighted = bool(np.any(found.task.weights != 1.0))
    for one in found.others:
        name = one.other.name
        if one.failed:
            said.append(f"The estimator {name!r} failed and was left out: {one.failed}.")
        elif one.result is None:
            said.append(f"There was no time to compare the estimator {name!r}.")
        elif weighted and not one.other.takes_weights:
            said.append(f"The estimator {name!r} was fitted without weights: its fit takes none.")
    return said


def about_dates(task: Any, columns: Any) -> list[str]:
    """Return a remark if dates are inputs, and folds divide the rows without looking at them."""
    dates = [repr(c.name) for c in columns if c.kind == "date" and c.role == "input"]
    if not dates or task.periods is not None or task.own_folds:
        return []
    return [
        f"Dates are among the inputs ({listed(dates)}), and the folds are random: if rows "
        "follow each other in time, later rows are predicted worse than this score says. For the "
        "score of the next period, pass the dates as time_order."
    ]


def alarms(found: Any, estimate: Any, evidence: Any) -> list[str]:
    """Return what looks too good to be true: columns that tell the target."""
    said = list(evidence.reading.alarms)
    best, gained = found.task.score.best, abs(estimate.value - estimate.baseline)
    perfect = best is not None and best - estimate.value < 0.05 * gained
    if perfect and estimate.beats_baseline and len(evidence.importance) > 1:
        (_, second, _), (name, lost, error) = sorted(evidence.importance, key=lambda c: c[1])[-2:]
        # beside a column that tells the target, the others lose nothing; of columns that tell it
        # together each loses all
        if lost - 2 * error > CARRIED * gained and second < (1.0 - CARRIED) * gained:
            said.append(
                f"Nearly all of the score comes from column {name!r}. Is it known before the "
                "target is? If not, it is data leakage: leave it out."
            )
    return said


def _rarest(found: Any) -> tuple[Array, Array, Array, float] | None:
    """Return who is of the rarest class, values for it, who is said to be, and its equal share.

    None but for classes whose score is the accuracy.
    """
    task, result = found.task, found.result
    if task.strata is None or not task.score.is_default or result is None:
        return None
    rows = result.record.rows
    y = task.strata[rows]
    counts = np.bincount(y, task.weights[rows], len(task.classes))
    rare = int(np.where(counts > 0, counts, np.inf).argmin())
    f = result.answer.f
    f = np.hstack([-f, f]) if f.shape[1] == 1 else f
    return y == rare, f[:, rare], f.argmax(axis=1) == rare, 1.0 / np.count_nonzero(counts)


def _about_classes(found: Any) -> str | None:
    """Return a remark if a class is hardly found, and nothing was asked for that would find it."""
    rarest = _rarest(found)
    if rarest is None:
        return None
    true, _, said, equal = rarest
    w = found.task.weights[found.result.record.rows]
    share, recall = np.average(true, weights=w), np.average(said[true], weights=w[true])
    if recall >= FOUND or share >= IMBALANCED * equal:
        return None
    return (
        f"The classes are imbalanced: the smallest class has {100 * share:.1f} % of the rows, and "
        'most of them were missed. scoring="balanced_accuracy" gives all classes the same weight '
        'in the score, class_weight="balanced" also in training.'
    )


def told_apart(found: Any) -> float | None:
    """Return the area under the ROC curve of the rarest class, if it is clearly above one half."""
    rarest = _rarest(found)
    if rarest is None or rarest[0].all():
        return None
    true, values, *_ = rarest
    few, n = int(true.sum()), len(true)
    area = float(roc_auc_score(true, values))
    # of areas of nothing, by Mann and Whitney
    error = np.sqrt((n + 1) / (12.0 * few * (n - few)))
    return area if area > 0.5 + 3.0 * error else None


# ---- a model, and one kernel ----------------------------------------------------------------


def summary(found: Any, model: Any, estimate: Any, converged: bool) -> dict[str, Any]:
    """Return what should go with a model, as plain values; no training sample is among them."""
    task = found.task
    machine = model[-1] if isinstance(model, Pipeline) else model
    facts: dict[str, Any] = {
        "task": task.kind,
        "rows": task.n,
        "columns": _columns(first_machine(model)),
        "groups": None if task.groups is None else len(np.unique(task.groups)),
        **({} if task.periods is None else {"period": told_period(task)}),
        "kernel": _kernels(found),
        "machine": type(machine).__name__,
        "score": task.score.name,
        "estimate": estimate.to_plain(),
        "limits": [*warnings(found, converged), *filter(None, [sampled(found)])],
        "date": date.today().isoformat(),
        "versions": {
            **{"gramsmith": __version__, "python": platform.python_version()},
            **{m.__name__: m.__version__ for m in (np, scipy, sklearn)},
        },
    }
    facts |= task.facts()
    return facts


def _kernels(found: Any) -> str:
    """Return the kernel of the winner, or those of the average with their weights."""
    if found.average is None:
        return f"{found.best.name}: {found.best.kernel}"
    parts = [(w, found.candidates[i]) for i, w in found.average.weights.items()]
    return "; ".join(f"{w:.0%} {c.name}: {c.kernel}" for w, c in parts)


def _columns(model: Any) -> list[list[str]] | None:
    """Return names and roles of the columns that a model takes; None if they have no names."""
    encoder = getattr(model, "named_steps", {}).get("encode")
    named = any(hasattr(encoder, name) for name in ("column_names_", "feature_names_in_"))
    if encoder is None or not named:
        return None
    sizes: Counter[int] = Counter(encoder.sources().tolist())
    roles = [
        f"{sizes[j]} categories" if kind == "category" else kind
        for j, kind in enumerate(encoder.kinds_.tolist())
    ]
    return [[str(name), role] for name, role in zip(encoder.column_names(), roles, strict=True)]


# ---- the page -----------------------------------------------------------------------------------


def facts(found: Any) -> list[tuple[str, str]]:
    """Return what was done, label and value; the kernel as Python writes it comes last."""
    machine = found.results[found.order[0]].record.machine if found.results else ""
    machine = "average" if found.average is not None else machine
    return [
        ("kernels tried", str(len(found.candidates))),
        ("cross-validated", str(len(found.results))),
        *([("folds", told_folds(found.task))] if found.task.periods is not None else []),
        *([("estimator", DESCRIPTIONS.get(machine, machine))] if machine else []),
        ("in Python", _kernels(found)),
    ]


def told_folds(task: Any) -> str:
    """Return how folds look back, in words."""
    count = len(task.splits(task.counting, 5))
    periods = "one period" if count == 1 else f"{count} periods"
    return f"look back: {periods} of {told_period(task)}, predicted from the rows before"


@dataclass(frozen=True)
class BandwidthPath:
    """A family of kernels along its parameter: from wide to narrow, or from short to long."""

    family: str
    steps: Array  # places on the axis, ascending
    measures: dict[str, Array]  # oriented so that higher is better; NaN where undefined
    scores: Array  # of every kernel in the first check, higher is better; NaN where unknown
    axis: str = "width of the kernel"
    labels: list[str] = field(default_factory=list)  # values of the parameter
    chosen: float | None = None  # the step of the winner, if it is of this family


def path(found: Any) -> BandwidthPath | None:
    """Return the winner's family along its parameter, or the first that has one."""
    for family in dict.fromkeys([found.best.family, *(c.family for c in found.candidates)]):
        places = [
            i for i, c in enumerate(found.candidates) if c.family == family and c.step is not None
        ]
        if len(places) < 4 or family.startswith("polynomial"):
            continue
        places.sort(key=lambda i: found.candidates[i].step)
        members = [found.candidates[i] for i in places]
        lengths = family.startswith(LENGTHS)
        widths = [
            float(c.step) if lengths else getattr(c.kernel, "length_scale", None) for c in members
        ]
        measures = found.measures.measures.values()
        return BandwidthPath(
            family,
            np.array([float(c.step) for c in members]),
            {m.name: m.sign * found.measures.values(m)[places] for m in measures},
            np.array([-found.checks[i].loss for i in places]),
            axis="length of the substrings" if lengths else "width of the kernel",
            labels=[number(w) if np.isscalar(w) else "" for w in widths],
            chosen=float(found.best.step) if found.order[0] in places else None,
        )
    return None


def next_steps(ranking: Any, source: str | None, model: str | None) -> list[tuple[str, str]]:
    """Return what to do next, and the code."""
    return [*_other_steps(ranking), *_own_steps(ranking, source, model)]


def _other_steps(ranking: Any) -> list[tuple[str, str]]:
    """Return how to use an estimator that is clearly better than the kernels, if one is."""
    if ranking.best_other is None:
        return []
    return [
        (
            "Use the estimator that does better than the kernels: it is fitted, too.",
            "model = ranking.best_other\nmodel.predict(X_new)",
        )
    ]


def _own_steps(ranking: Any, source: str | None, model: str | None) -> list[tuple[str, str]]:
    """Return how to use, keep and test what is fitted of the kernels."""
    if model is None:
        return [
            (
                "Predict new rows with the fitted winner.",
                "model = ranking.best_estimator\nmodel.predict(X_new)",
            ),
            (
                "Keep it in a file that runs no code when it is loaded, and load it again.",
                'gs.save_model(model, "model.safetensors")\n'
                'model = gs.load_model("model.safetensors")',
            ),
            (
                "Estimate the score for new data in another way: by cross-validation around the "
                "whole choice of a kernel.",
                "from sklearn.model_selection import cross_val_score\n"
                "cross_val_score(gs.KernelSelector(), X, y, cv=5)",
            ),
        ]
    suffixes = PurePath(source or "new.csv").suffixes
    kind = next((s for s in reversed(suffixes) if s in READERS or s in SEQUENCES), "")
    new = f"new{kind or '.csv'}"
    lines = ["import gramsmith as gs", f"model = gs.load_model({str(model)!r})"]
    if kind in SEQUENCES:
        lines.append(f'new = [record.sequence for record in gs.read_fasta("{new}")]')
    elif kind in READERS:
        reader = READERS[kind].format(new)
        lines = [f"import {reader.partition('.')[0]}", *lines, f"new = {reader}"]
    return [
        (
            "Predict new rows on the command line: a table like the one that was read, in the "
            "same format.",
            f"gramsmith predict {shlex.quote(str(model))} {new} -o predictions.csv",
        ),
        ("Or in Python.", "\n".join([*lines, "model.predict(new)"])),
        (
            "See what the file holds: columns, kernel, the score to expect, limits.",
            f"gramsmith inspect {shlex.quote(str(model))}",
        ),
    ]


def provenance(ranking: Any, command: str | None, data: str | None) -> list[tuple[str, str]]:
    """Return how the page came about, label and value."""
    evidence = ranking.evidence
    summary = ranking.summary
    versions = ", ".join(f"{name} {version}" for name, version in summary["versions"].items())
    return [
        *([("command", command)] if command else []),
        ("date", summary["date"]),
        ("versions", versions),
        ("computer", f"{platform.system()} {platform.machine()}"),
        ("seed", str(evidence.seed)),
        *([("samples", ranking.sampled)] if ranking.sampled else []),
        ("data, SHA-256", data or f"{evidence.data} (of the encoded table and the target)"),
    ]
