"""Explanation: the verdict, the warnings, what is known of a kernel, the contents of the report."""

from __future__ import annotations

import difflib
import platform
import warnings as python_warnings
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy
import sklearn
from sklearn.pipeline import Pipeline

from gramsmith import __version__
from gramsmith.gram import Gram
from gramsmith.kernels import Gaussian, LinearMap
from gramsmith.measures import get_measure
from gramsmith.measures.alignment import ConstantKernelWarning
from gramsmith.report.contents import BandwidthPath, Contents, number, with_error
from gramsmith.report.sample_displays import kernel_map
from gramsmith.selection import sizes
from gramsmith.selection.candidates import Candidate, median_distances
from gramsmith.selection.estimate import Estimate
from gramsmith.selection.machines import DESCRIPTIONS
from gramsmith.selection.samples import Samples
from gramsmith.selection.steps import Findings
from gramsmith.selection.task import Task
from gramsmith.targets import Target, make_target

Array = npt.NDArray[Any]
Records = list[dict[str, Any]]

GRAM_ROWS = 240  # rows of the Gram matrix that is drawn
MAP_ROWS = 400  # rows of the map, and of the weights of the features
ESTIMATES = {
    "nested cross-validation": "nested cross-validation",
    "bootstrap": "cross-validation, corrected for the choice by the bootstrap",
    "leave-one-out": "leave-one-out of the first check, not corrected for the choice",
}
FEATURES = 15  # features whose weights are shown

MEANING = {
    "cka": "alignment with the labels, both centred",
    "cka_debiased": "the same without the bias of the diagonal",
    "kta": "alignment with the labels",
    "fsm": "spread of the classes over the distance of their means",
    "fsm_loo": "spread over distance of the classes, with every sample left out of its own mean",
    "csm": "scatter within over scatter between the classes",
}

# ---- sentences ----------------------------------------------------------------------------------


def verdict(found: Findings, records: Records, estimate: Estimate) -> str:
    """Return the outcome in one sentence, with the one estimate for new data."""
    best = records[0]
    tied = [r["kernel"] for r in records[1:] if r["tied"]]
    machine = (
        f" with {DESCRIPTIONS.get(best['machine'], best['machine'])}" if best["machine"] else ""
    )
    text = f"{best['kernel']} wins{machine}: {found.task.score_name} {expected(estimate)}"
    if tied:
        named = listed([f"“{name}”" for name in tied[:3]])
        more = f" and {len(tied) - 3} more" if len(tied) > 3 else ""
        verb = "is" if len(tied) == 1 else "are"
        return f"{text}; {named}{more} {verb} not clearly worse, a tie."
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


def sampled(found: Findings) -> str | None:
    """Return what was computed on samples of the rows, or None."""
    n = found.task.n
    compared = sizes.LANDMARK_ROWS if found.on_landmarks else sizes.CROSS_VALIDATION_ROWS
    steps = {
        "the measures": sizes.MEASURE_ROWS,
        "the first check": sizes.CHECK_ROWS,
        "the comparison of machines": compared,
    }
    used = {what: min(size, found.max_samples or n) for what, size in steps.items()}
    parts = [f"{what} on {rows:,} rows" for what, rows in used.items() if rows < n]
    if not parts:
        return None
    end = "the winner was fitted on all of them"
    if sizes.use_landmarks(n, [found.best.kernel]):
        end += ", on landmarks"
    return f"Of {n:,} rows, samples were used for {listed(parts)}; {end}."


def warnings(found: Findings, estimate: Estimate, converged: bool) -> list[str]:
    """Return what should be known before the result is used."""
    said = [a.message for a in found.advice if a.code != "tie"]
    if not estimate.beats_baseline and found.results:
        _, base = found.task.constant(found.task.counting)
        said.insert(
            0,
            f"No kernel does clearly better than {base} ({found.task.score_name} "
            f"{number(estimate.baseline)}): the features may not carry the target.",
        )
    said += filter(None, [_at_the_end(found)])
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
    task, best = found.task, found.best
    machine = model[-1] if isinstance(model, Pipeline) else model
    facts: dict[str, Any] = {
        "task": task.kind,
        "rows": task.n,
        "columns": _columns(model),
        "groups": None if task.groups is None else len(np.unique(task.groups)),
        "kernel": f"{best.name}: {best.kernel}",
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
    if task.classes is None:
        return facts | {"values": [float(task.y.min()), float(task.y.max())]}
    counts = np.bincount(task.y, minlength=len(task.classes)).tolist()
    return facts | {"classes": [[str(c), n] for c, n in zip(task.classes, counts, strict=True)]}


def _columns(model: Any) -> list[list[str]] | None:
    """Return names and roles of the columns that a model takes; None if they have no names."""
    encoder = getattr(model, "named_steps", {}).get("encode")
    names = getattr(encoder, "column_names_", getattr(encoder, "feature_names_in_", None))
    if encoder is None or names is None:
        return None
    sizes = iter(encoder.category_counts_)
    kinds = encoder.kinds_.tolist()
    roles = [f"{next(sizes)} categories" if kind == "category" else kind for kind in kinds]
    return [[str(name), role] for name, role in zip(names, roles, strict=True)]


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


def explain(found: Findings, records: Records, name: str | None) -> str:
    """Return what is known about one kernel."""
    names = [r["kernel"] for r in records]
    name = names[0] if name is None else name
    if name not in names:
        near = difflib.get_close_matches(name, names, 3) or names[:3]
        raise ValueError(
            f"Expected a kernel of this ranking, got {name!r}. "
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


# ---- the report ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class PageSample:
    """The few samples that the report draws, in the winner's view."""

    samples: Samples
    gram: Array  # which of them, in the order of the target, the Gram matrix shows
    map: Array  # which of them the map shows
    y: Array  # their class numbers, or values
    feature_names: Any = None  # of the encoded features

    @classmethod
    def of(cls, best: Candidate, samples: Samples, task: Task) -> PageSample:
        """Return the sample of a task for the winner."""
        gram, some = task.sample(GRAM_ROWS, salt=5), task.sample(MAP_ROWS, salt=6)
        gram = gram[np.argsort(task.y[gram], kind="stable")]
        rows = np.union1d(gram, some)
        view = samples.take(best, rows)
        encoder = samples.encoder(best)
        return cls(
            Samples((view,)),
            np.searchsorted(rows, gram),
            np.searchsorted(rows, some),
            task.y[rows],
            getattr(encoder, "feature_names_out_", None),
        )

    def block(self, best: Candidate, rows: Array) -> Array:
        """Return the Gram matrix of some of the samples."""
        _, K = next(iter(self.samples.blocks([replace(best, view=0)], rows, rows)))
        return np.asarray(0.5 * (K + K.T))


def make_contents(
    ranking: Any, found: Findings, sample: PageSample, title: str | None, source: str | None
) -> Contents:
    """Return everything the report of a ranking shows."""
    task = found.task
    K, blocks = sample.block(found.best, sample.gram), []
    if task.classes is not None:
        counts = np.bincount(sample.y[sample.gram], minlength=len(task.classes))
        blocks = [(str(c), int(k)) for c, k in zip(task.classes, counts, strict=True)]
    weights, meaning = _weights(found, sample)
    wrong = task.kind == "classification" and task.default_score
    return Contents(
        title=title or "Which kernel?",
        source=source or "",
        verdict=ranking.verdict,
        facts=_facts(found, ranking.estimate),
        records=ranking.records,
        measures={m.name: m.higher_is_better for m in found.measures.measures.values()},
        score=task.score_name,
        loss="error rate" if wrong else "loss",
        paths=_paths(found),
        gram=K,
        blocks=blocks,
        weights=weights,
        weights_meaning=meaning,
        map=kernel_map(sample.block(found.best, sample.map)),
        map_colours=np.asarray(sample.y[sample.map]),
        classes=[] if task.classes is None else [str(c) for c in task.classes],
        warnings=ranking.warnings,
        next_steps=_next_steps(ranking, source),
    )


def _facts(found: Findings, estimate: Estimate) -> list[tuple[str, str]]:
    task = found.task
    facts = [("samples", f"{task.n:,}")]
    if found.n_features is not None:
        facts.append(("features", f"{found.n_features:,}"))
    if task.classes is not None:
        facts.append(("classes", str(len(task.classes))))
    return [
        *facts,
        ("task", task.kind),
        ("kernels tried", str(len(found.candidates))),
        ("on the short list", str(len(found.results))),
        (f"{task.score_name} estimated for new data", with_error(estimate.value, estimate.error)),
        ("estimated by", ESTIMATES[estimate.kind]),
        ("score", task.score_name),
        ("winner", found.best.kernel.formula()),
    ]


def _paths(found: Findings) -> list[BandwidthPath]:
    paths = []
    families = dict.fromkeys(c.family for c in found.candidates if c.step is not None)
    for family in families:
        members = [i for i, c in enumerate(found.candidates) if c.family == family]
        if len(members) < 4 or family.startswith("polynomial"):
            continue
        members.sort(key=lambda i: found.candidates[i].step or 0.0)
        paths.append(
            BandwidthPath(
                family,
                np.array([float(found.candidates[i].step or 0.0) for i in members]),
                {
                    m.name: m.sign * found.measures.values(m)[members]
                    for m in found.measures.measures.values()
                },
                np.array([found.checks[i].loss for i in members]),
            )
        )
    return paths


def _weights(found: Findings, sample: PageSample) -> tuple[list[tuple[str, float]], str]:
    X, names = sample.samples.views[0], sample.feature_names
    if not isinstance(X, np.ndarray) or X.ndim != 2 or X.shape[1] > 500 or X.shape[1] < 2:
        return [], ""
    if names is None or len(names) != X.shape[1]:
        return [], ""
    target = make_target(sample.y[sample.map], task=found.task.kind)
    part = np.asarray(X[sample.map], dtype=float)
    weights, meaning = feature_weights(found.best, part, target)
    order = np.argsort(-weights, kind="stable")[:FEATURES]
    return [(str(names[k]), float(weights[k])) for k in order], meaning


def feature_weights(candidate: Candidate, X: Array, target: Target) -> tuple[Array, str]:
    """Return the relevance of every feature, and what it means.

    For learned weights: the share of the feature in the mean squared distance. Otherwise: the rise
    of the centred alignment when the feature counts more, d CKA / d log weight, at the winner's
    width (at the median distance for kernels without one).

    Parameters
    ----------
    candidate : Candidate
    X : array of shape (n, p)
    target : Target

    Returns
    -------
    weights : array of shape (p,)
        Empty if no feature matters, as among constant ones.
    meaning : str
    """
    scale = getattr(candidate.kernel, "map", None)
    if isinstance(scale, LinearMap) and np.ndim(scale.S) == 1:
        share = np.asarray(scale.S, dtype=float) ** 2 * X.var(axis=0)
        return share / max(
            float(share.sum()), 1e-300
        ), "share of each feature in the learned distance"
    width: Any = getattr(candidate.kernel, "length_scale", None)
    if candidate.family.partition(",")[0] != "gaussian" or np.ndim(width):
        width = median_distances(X)[0] / np.sqrt(2.0)
    kernel = Gaussian(np.full(X.shape[1], float(width)))
    G = Gram(kernel, X)
    moments = G.moments(target, keep=True)
    with python_warnings.catch_warnings():  # that a kernel is constant was said beside the measures
        python_warnings.simplefilter("ignore", ConstantKernelWarning)
        _, adjoint = get_measure("cka").value_and_adjoint(moments, target)
    slope = G.pullback(adjoint, target, moments, inputs=False)[0].parameters.get("length_scale")
    if slope is None:  # the Gram matrix is constant, and so is its alignment
        return np.empty(0), ""
    slope = np.asarray(slope, dtype=float)
    return -slope * float(width), "rise of the centred alignment if the feature counted more"


def _next_steps(ranking: Any, source: str | None) -> list[tuple[str, str]]:
    steps = [
        (
            "Predict new samples with the fitted winner.",
            "model = ranking.best_estimator\nmodel.predict(X_new)",
        ),
        (
            "Estimate what to expect on new data in another way: the choice of the kernel is made "
            "anew in every fold.",
            "from sklearn.model_selection import cross_val_score\n"
            "cross_val_score(gs.KernelSelector(), X, y, cv=5)",
        ),
        (
            "Keep the model in a file that runs no code when it is loaded.",
            'gs.save_model(model, "model.safetensors")',
        ),
    ]
    if ranking.records[0]["tied"]:
        second = next(r["kernel"] for r in ranking.records[1:] if r["tied"])
        steps.insert(
            0,
            (
                "The first places are tied: by these data neither is clearly worse. The order is "
                "that of the score; read what else is known of the others.",
                f"print(ranking.explain({second!r}))",
            ),
        )
    if source:
        steps.append(
            (
                "The same on the command line.",
                "gramsmith predict run/model.safetensors new.csv",
            )
        )
    return steps
