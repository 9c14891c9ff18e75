"""Explanation: the verdict, the warnings, what is known of a kernel, the contents of the report."""

from __future__ import annotations

import difflib
import platform
from collections import Counter
from datetime import date
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy
import sklearn
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import Pipeline

from gramsmith import __version__
from gramsmith.arguments import abridged, is_one_of
from gramsmith.machines.averages import first_machine
from gramsmith.report.contents import MEANING, Answer, BandwidthPath, number, with_error
from gramsmith.report.evidence import Evidence, Outcome
from gramsmith.selection.choose import Findings
from gramsmith.selection.estimate import Estimate
from gramsmith.selection.scores import class_of
from gramsmith.selection.task import Classes, Labels, Task, Values

Array = npt.NDArray[Any]
Records = list[dict[str, Any]]

ESTIMATES = {
    "nested cross-validation": "nested cross-validation",
    "bootstrap": "cross-validation, corrected for the choice by the bootstrap",
    "leave-one-out": "leave-one-out of the first check, not corrected for the choice",
}
DESCRIPTIONS = {
    "ridge": "kernel ridge",
    "average": "an average of machines",
    "landmarks": "kernel ridge on landmarks",
}
FOUND = 0.5  # share of the rarest class that must be found, or else it is said
UNEVEN = 0.8  # of an equal share: a class with less is called rare
MISSED = 1 / 3  # share of a class that may be missed before it is a reason for care
CARRIED = 0.8  # of what was gained over the baseline: a column that loses that much carries all

# ---- sentences ----------------------------------------------------------------------------------


def verdict(found: Findings, records: Records, estimate: Estimate) -> str:
    """Return the outcome in one sentence, with the one estimate for new data.

    A second sentence says so if the ranking is partial.
    """
    said = _outcome(found, records, estimate)
    if not found.left_out:
        return said
    return f"{said} The ranking is partial: it was interrupted."


def _outcome(found: Findings, records: Records, estimate: Estimate) -> str:
    best = records[0]
    shares = {r["kernel"]: r["weight"] for r in records if r["weight"] is not None}
    if shares:
        ordered = sorted(shares.items(), key=lambda item: -item[1])
        named = listed([f"“{name}” ({weight:.0%})" for name, weight in ordered])
        return (
            f"The average of {named} is fitted: {found.task.score_name} {expected(estimate)}; "
            f"alone, “{best['kernel']}” is first."
        )
    tied = [r["kernel"] for r in records[1:] if r["tied"]]
    machine = (
        f" with {DESCRIPTIONS.get(best['machine'], best['machine'])}" if best["machine"] else ""
    )
    text = f"{best['kernel']} wins{machine}: {found.task.score_name} {expected(estimate)}"
    if tied:
        more = [f"{len(tied) - 3} more"] if len(tied) > 3 else []
        named = listed([*(f"“{name}”" for name in tied[:3]), *more])
        verb = "is" if len(tied) == 1 else "are"
        return f"{text}; {named} {verb} not clearly worse, a tie."
    others = [r["kernel"] for r in records[1:] if r["score"] is not None]
    if others:
        return f"{text}; “{others[0]}”, the next, is clearly worse."
    return f"{text}."


def expected(estimate: Estimate) -> str:
    """Return the estimate with its interval and how it was found."""
    value = with_error(estimate.value, estimate.error)
    return (
        f"{value} estimated for new data by {ESTIMATES[estimate.kind]} "
        f"({number(estimate.low)} to {number(estimate.high)})"
    )


def interrupted(found: Findings) -> str | None:
    """Return what was left out because of Ctrl-C, or None."""
    if not found.left_out:
        return None
    return (
        f"The ranking is partial: it was interrupted. Left out: {listed(list(found.left_out))}. "
        "Run it again for the rest."
    )


def sampled(found: Findings) -> str | None:
    """Return what was computed on samples of the rows, or None."""
    n, plan = found.task.n, found.plan
    used = {
        **({} if found.measures.draws else {"the measures": min(found.measures.n, n)}),
        "the first check": max(check.rows for check in found.checks),
        **({"the comparison of machines": plan.compare_rows} if found.results else {}),
    }
    parts = [f"{what} on {rows:,} rows" for what, rows in used.items() if rows < n]
    if found.measures.draws:
        count, rows = found.measures.draws
        parts.insert(0, f"the measures, estimated from {count} random draws of {rows:,} rows")
    if not parts:
        return None
    end = "the winner was fitted on all of them"
    if plan.landmarks:
        end += ", on landmarks"
    return f"Of {n:,} rows, samples were used for {listed(parts)}; {end}."


def warnings(found: Findings, estimate: Estimate, converged: bool) -> list[str]:
    """Return what should be known before the result is used."""
    said = [*about_classes(found), *(a.message for a in found.advice)]
    if not estimate.beats_baseline and found.results:
        _, base = found.task.constant(found.task.counting)
        apart = told_apart(found)
        end = "the features may not carry the target."
        if apart is not None:
            end = (
                f"but the classes can be told apart (area under the ROC curve {apart:.2f}), which "
                "the accuracy of uneven classes does not show."
            )
        said.insert(
            0,
            f"No kernel does clearly better than {base} ({found.task.score_name} "
            f"{number(estimate.baseline)}): {end}",
        )
    said += filter(None, [_at_the_end(found)])
    said = [*filter(None, [interrupted(found)]), *said]
    if found.late is not None:
        said.append(
            f"The time budget of {found.late:g} s ran out: kernels without a score are ranked by "
            "the first check. Allow more time for a full comparison."
        )
    said += filter(None, [sampled(found)])
    favourites = set(found.favourites.values())
    if len(favourites) > 2 and found.results:
        said.append(
            f"The measures disagree: they have {len(favourites)} different favourites. That is "
            "why the short list was cross-validated; do not trust one measure alone."
        )
    if not converged:
        said.append(
            "The winner's solver stopped before it converged: scale the features, or ask for "
            "less accuracy with a smaller C."
        )
    return said


def summary(found: Findings, model: Any, estimate: Estimate, converged: bool) -> dict[str, Any]:
    """Return what should go with a model, as plain values; no training sample is among them."""
    task = found.task
    first = first_machine(model)
    machine = model[-1] if isinstance(model, Pipeline) else model
    facts: dict[str, Any] = {
        "task": task.kind,
        "rows": task.n,
        "columns": _columns(first),
        "groups": None if task.groups is None else len(np.unique(task.groups)),
        "kernel": _kernels(found),
        "machine": type(machine).__name__,
        "score": task.score_name,
        "estimate": estimate.to_plain(),
        "limits": warnings(found, estimate, converged),
        "date": date.today().isoformat(),
        "versions": {
            **{"gramsmith": __version__, "python": platform.python_version()},
            **{m.__name__: m.__version__ for m in (np, scipy, sklearn)},
        },
    }
    if isinstance(task, Values) and task.names:
        ends = zip(task.names, task.labels.min(axis=0), task.labels.max(axis=0), strict=True)
        return facts | {"outputs": [[name, float(low), float(high)] for name, low, high in ends]}
    if isinstance(task, Labels):
        return facts | {"labels": [[name, count] for name, count in task.counts().items()]}
    if task.classes is None:
        return facts | {"values": [float(task.labels.min()), float(task.labels.max())]}
    counts = np.bincount(task.y, minlength=len(task.classes)).tolist()
    return facts | {"classes": [[str(c), n] for c, n in zip(task.classes, counts, strict=True)]}


def _kernels(found: Findings) -> str:
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


def _at_the_end(found: Findings) -> str | None:
    """Return a remark if the winner is the widest or narrowest of its family."""
    best = found.best
    steps = [c.step for c in found.candidates if c.family == best.family and c.step is not None]
    if best.step is None or len(steps) < 5 or best.family == "spectrum":
        return None
    if best.step == min(steps):
        # a wide Gaussian is linear, a wide Laplacian is a sum over features
        end = "the task is close to linear" if best.family == "gaussian" else "try wider ones"
        return f"The winner is the widest {best.family} kernel that was tried: {end}."
    if best.step == max(steps):
        return (
            f"The winner is the narrowest {best.family} kernel that was tried: it decides "
            "by the nearest samples. More data, or fewer irrelevant features, would help."
        )
    return None


def about_classes(found: Findings) -> list[str]:
    """Return a remark if a class is hardly found, and nothing was asked for that would find it."""
    task, result = found.task, found.result
    if not isinstance(task, Classes) or not task.default_score or result is None:
        return []
    rows, C = result.record.rows, task.n_classes
    y, w = task.y[rows], task.weights[rows]
    total = np.bincount(y, w, C)
    right = np.bincount(y, w * (class_of(result.answer.f) == y), C)
    tested = np.flatnonzero(total > 0)
    rare = int(tested[total[tested].argmin()])
    share, recall = total[rare] / total.sum(), right[rare] / total[rare]
    if recall >= FOUND or share >= UNEVEN / len(tested):
        return []
    return [
        f"The smallest class has {share:.1%} of the samples, of which {recall:.0%} were found: the "
        'accuracy hardly counts it. scoring="balanced_accuracy" counts all classes alike, '
        'class_weight="balanced" also lets them weigh alike in training.'
    ]


def told_apart(found: Findings) -> float | None:
    """Return the area under the ROC curve of the rarest class, if it is clearly above one half."""
    task, result = found.task, found.result
    if not isinstance(task, Classes) or not task.default_score or result is None:
        return None
    y, f = task.y[result.record.rows], result.values
    f = np.hstack([-f, f]) if f.shape[1] == 1 else f
    counts = np.bincount(y, minlength=task.n_classes)
    rare = int(np.where(counts > 0, counts, len(y)).argmin())
    few, many = counts[rare], len(y) - counts[rare]
    if not few or not many:
        return None
    area = float(roc_auc_score(y == rare, f[:, rare]))
    # of areas of nothing, by Mann and Whitney
    error = np.sqrt((few + many + 1) / (12.0 * few * many))
    return area if area > 0.5 + 3.0 * error else None


def explain(found: Findings, records: Records, name: str | None) -> str:
    """Return what is known about one kernel, or about the average; default what is fitted."""
    names = [r["kernel"] for r in records]
    if found.average is not None and (name is None or is_one_of(name, ["average"])):
        return _explain_average(found, records)
    name = names[0] if name is None else name
    if not is_one_of(name, names):
        near = difflib.get_close_matches(str(name)[:200], names, 3) or names[:3]
        raise ValueError(
            f"Expected a kernel of this ranking, got {abridged(name)}. "
            f"Perhaps {listed([repr(n) for n in near], 'or')}."
        )
    record = records[names.index(name)]
    lines = [
        f"{name}: {found.measures.kernels[name].formula()}",
        f"Rank {record['rank']} of {len(records)}"
        + (", tied with the best." if record["tied"] else "."),
        _scores(record, found.task.score_name),
    ]
    liked = [m for m, favourite in found.favourites.items() if favourite == name]
    if liked:
        lines.append(f"Favourite of {listed(liked)}.")
    elif record["score"] is None:
        lines.append("Not on the short list: neither the measures nor the check favoured it.")
    for measure in found.measures.measures.values():
        better = "higher" if measure.higher_is_better else "lower"
        meaning = f"{MEANING[measure.name]}; " if measure.name in MEANING else ""
        value = with_error(record[measure.name], record[f"{measure.name}_error"])
        lines.append(f"  {measure.name} = {value} ({meaning}{better} is better)")
    return "\n".join(lines)


def _explain_average(found: Findings, records: Records) -> str:
    """Return what is known about the average that is fitted."""
    result = found.result
    value = "" if result is None else with_error(-result.loss, result.error)
    name, lines = found.task.score_name, [f"average: {_kernels(found)}"]
    lines.append(f"{name} {value} by cross-validation of the average, which is what is fitted.")
    for record in records:
        if record["weight"] is not None:
            alone = with_error(record["score"], record["score_error"])
            lines.append(f"  {record['weight']:.0%} {record['kernel']}: {name} {alone} alone")
    return "\n".join(lines)


def _scores(record: dict[str, Any], name: str) -> str:
    check = f"{name} {number(record['first_check'])} in the first check, by ridge regression."
    if record["score"] is None:
        return check
    machine = DESCRIPTIONS.get(record["machine"], record["machine"])
    value = with_error(record["score"], record["score_error"])
    return f"{name} {value} by {record['verified']} of {machine}; {check}"


def listed(items: list[str], word: str = "and") -> str:
    """Return items as a list in a sentence."""
    if len(items) < 2:
        return "".join(items)
    return f"{', '.join(items[:-1])} {word} {items[-1]}"


# ---- is it good, and can I use it? --------------------------------------------------------------


def answer(found: Findings, estimate: Estimate, evidence: Evidence, remarks: list[str]) -> Answer:
    """Return whether the model is good enough to be used, in words for whoever asked.

    "good": better than answers that look at no features, by a test. "care": so, but for something
    that should be known first. "poor": not better.
    """
    task, outcome = found.task, evidence.outcome
    base = evidence.rivals[0]
    value = in_words(estimate.value, task)
    interval = f"{number(estimate.low)} to {number(estimate.high)}"
    details = [_interval_words(estimate, task)]
    if not found.results:
        text = f"It is too early to say: {value}, by a first check only."
        return Answer("care", text, ["There was no time to test it on held-out rows."], interval)
    if not estimate.beats_baseline:
        text = f"It does not work yet: {value}, which is not clearly better than {base.name}."
        apart = told_apart(found)
        if apart is None:
            return Answer("poor", text, details, interval)
        text = (
            f"Not by accuracy: {value}, which is not clearly better than {base.name}; but the "
            f"classes can be told apart, with an area under the ROC curve of {apart:.2f}. Choose "
            'with scoring="balanced_accuracy".'
        )
        return Answer("care", text, details, interval)
    but = ""
    if outcome is not None and outcome.targets:
        details.append(_targets_words(outcome))
    if outcome is not None and outcome.classes:
        missed, is_rare, share = missed_class(outcome, found)
        but = missed if is_rare and share > MISSED else ""
        details += [] if but else [missed]
    if outcome is not None and outcome.errors:
        near, far = (number(outcome.errors[name]) for name in ("half", "nine of ten"))
        details.append(f"Half of the predictions are within ± {near}, nine of ten within ± {far}.")
    for rival in evidence.rivals[1:]:
        details.append(_linear_words(rival.name, rival.judgement))
    if not but and estimate.low <= estimate.baseline:
        but = f"with 95 % confidence it may be no better than {base.name}."
    if but:
        but = f"{but[:1].lower()}{but[1:]}"
        return Answer("care", f"It works, with care: {value}; but {but}", details, interval)
    if remarks:
        return Answer("care", f"It works, with care: {value}.", details, interval)
    return Answer("good", f"It works: {value}.", details, interval)


def _targets_words(outcome: Outcome) -> str:
    """Return how the outputs or labels differ: the worst of them, and those without a gain."""
    worst = min(outcome.targets, key=lambda t: t.score - t.baseline)
    name = "R²" if worst.errors else "accuracy"
    text = f"Worst is “{worst.name}”: {name} {number(worst.score)} on held-out rows"
    text += "." if worst.errors else f", {number(worst.baseline)} for its majority."
    lost = [t for t in outcome.targets if t.score - 2.0 * t.error <= t.baseline]
    if len(lost) > 1:
        text += f" {len(lost)} of {len(outcome.targets)} are not clearly predictable."
    return text


def in_words(value: float, task: Task) -> str:
    """Return a score as a part of a sentence about new rows."""
    if task.default_score and task.classes is not None:
        digits = 1 if value > 0.985 and round(1000 * value) % 10 else 0
        what = "labels of new rows" if task.names else "new rows"
        return f"right for {100 * value:.{digits}f} of 100 {what}"
    if task.default_score:
        over = f", on average over {len(task.names)} outputs" if task.names else ""
        return f"it explains {max(value, 0.0):.0%} of the variation in new rows{over}"
    return f"{task.score_name} {number(value)} on new rows"


def _interval_words(estimate: Estimate, task: Task) -> str:
    low, high = estimate.low, estimate.high
    if task.default_score and task.classes is not None:
        limits = f"{100 * max(low, 0.0):.1f} to {100 * high:.1f} of 100"
    elif task.default_score:
        limits = f"{low:.0%} to {high:.0%}"
    else:
        limits = f"{number(low)} to {number(high)}"
    return f"With 95 % confidence {limits}; estimated by {ESTIMATES[estimate.kind]}."


def missed_class(outcome: Outcome, found: Findings) -> tuple[str, bool, float]:
    """Return how many rows were missed of the rare class, whether there is one, and their share.

    Where classes are about even, of the class that is found least.
    """
    total = outcome.confusion.sum(axis=1)
    tested = np.flatnonzero(total > 0)
    rare = int(tested[total[tested].argmin()])
    uneven = bool(total[rare] < UNEVEN * total.sum() / len(tested))
    c = rare if uneven else int(tested[np.nanargmin(outcome.recall[tested])])
    missed, share = total[c] - outcome.confusion[c, c], 1.0 - outcome.recall[c]
    word = "the rarest class" if uneven else "the class that is found least"
    rows = "of the weight" if outcome.weighted else "rows"
    text = (
        f"Of the {amount(total[c])} {rows} of “{outcome.classes[c]}”, {word}, "
        f"{amount(missed)} ({share:.0%}) were missed."
    )
    return text, uneven, float(share)


def amount(value: float) -> str:
    """Return a number of rows, or a sum of their weights."""
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.1f}"


def _linear_words(name: str, judgement: str) -> str:
    if judgement == "clearly worse":
        return f"A plain linear model ({name}) is clearly worse: the kernel is worth it."
    if judgement == "better":
        return f"A plain linear model ({name}) is better on these rows: prefer it."
    return (
        f"A plain linear model ({name}) is about as good: if it must be explained, "
        "take the linear one."
    )


def alarms(found: Findings, estimate: Estimate, evidence: Evidence) -> list[str]:
    """Return what looks too good to be true: columns that tell the target."""
    said = list(evidence.reading.alarms)
    best, gained = found.task.best_score, abs(estimate.value - estimate.baseline)
    perfect = best is not None and best - estimate.value < 0.05 * gained
    if perfect and estimate.beats_baseline and len(evidence.importance) > 1:
        name, lost, error = max(evidence.importance, key=lambda item: item[1])
        if lost - 2 * error > CARRIED * gained:
            said.append(
                f"Nearly all of the score comes from column {name!r}. Make sure that it is known "
                "before the answer is."
            )
    return said


# ---- the report ---------------------------------------------------------------------------------


def facts(found: Findings) -> list[tuple[str, str]]:
    """Return what was done, label and value."""
    counts = [
        ("kernels tried", str(len(found.candidates))),
        ("tested on held-out rows", str(len(found.results))),
    ]
    if found.average is not None:
        return [*counts, ("average of", _kernels(found))]
    machine = found.results[found.order[0]].record.machine if found.results else ""
    said = [("machine", DESCRIPTIONS.get(machine, machine))] if machine else []
    return [("kernel", found.best.kernel.formula()), *said, *counts]


LENGTHS = ("spectrum", "mismatch", "weighted degree")  # families of substrings of some length


def paths(found: Findings) -> list[BandwidthPath]:
    """Return the families along their parameter, that of the winner first."""
    known = []
    families = dict.fromkeys(
        [found.best.family, *(c.family for c in found.candidates if c.step is not None)]
    )
    for family in families:
        members = [
            i for i, c in enumerate(found.candidates) if c.family == family and c.step is not None
        ]
        if len(members) < 4 or family.startswith("polynomial"):
            continue
        members.sort(key=lambda i: found.candidates[i].step or 0.0)
        lengths = family.startswith(LENGTHS)
        kernels = [found.candidates[i].kernel for i in members]
        steps = [float(found.candidates[i].step or 0.0) for i in members]
        widths = steps if lengths else [getattr(k, "length_scale", None) for k in kernels]
        known.append(
            BandwidthPath(
                family,
                np.array(steps),
                {
                    m.name: m.sign * found.measures.values(m)[members]
                    for m in found.measures.measures.values()
                },
                np.array([found.task.as_score(found.checks[i].loss) for i in members]),
                axis="length of the substrings" if lengths else "width of the kernel",
                labels=[number(w) if np.isscalar(w) else "" for w in widths],
                chosen=steps[members.index(found.order[0])] if found.order[0] in members else None,
            )
        )
    return known
