"""The page of a ranking: its contents, computed when they are asked for."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gramsmith.measures import MEASURES
from gramsmith.report.contents import BandwidthPath, Contents
from gramsmith.report.sample_displays import kernel_map
from gramsmith.selection.relevance import feature_weights
from gramsmith.selection.search import Search
from gramsmith.targets import make_target

Array = npt.NDArray[Any]

GRAM_ROWS = 240
MAP_ROWS = 400
FEATURES = 15


def make_contents(
    ranking: Any, hunt: Search, feature_names: Any, title: str | None, source: str | None
) -> Contents:
    """Return everything the report of a ranking shows."""
    judge = hunt.judge
    gram, blocks = _gram(hunt)
    points, colours = _map(hunt)
    weights, meaning = _weights(hunt, feature_names)
    names = {m: MEASURES[m].higher_is_better for m in hunt.measures.measures}
    what = "classes" if judge.task == "classification" else "values"
    return Contents(
        title=title or "Which kernel?",
        source=source or "",
        verdict=ranking.verdict,
        facts=_facts(ranking, hunt),
        records=ranking.records,
        measures=names,
        score=ranking.scoring,
        loss="error rate" if what == "classes" and judge.plain else "loss",
        paths=_paths(hunt),
        gram=gram,
        blocks=blocks,
        weights=weights,
        weights_meaning=meaning,
        map=points,
        map_colours=colours,
        classes=[] if judge.classes is None else [str(c) for c in judge.classes],
        warnings=ranking.warnings,
        next_steps=_next_steps(ranking, source),
    )


def _facts(ranking: Any, hunt: Search) -> list[tuple[str, str]]:
    judge = hunt.judge
    view = hunt.samples.views[0]
    facts = [("samples", f"{judge.n:,}")]
    if getattr(view, "ndim", 1) == 2:
        facts.append(("features", f"{view.shape[1]:,}"))
    if judge.classes is not None:
        facts.append(("classes", str(len(judge.classes))))
    facts += [
        ("task", judge.task),
        ("kernels tried", str(len(hunt.candidates))),
        ("verified", str(len(hunt.results))),
        ("score", ranking.scoring),
        ("winner", hunt.candidates[hunt.order[0]].kernel.formula()),
    ]
    return facts


def _paths(hunt: Search) -> list[BandwidthPath]:
    found = []
    families = dict.fromkeys(c.family for c in hunt.candidates if c.step is not None)
    for family in families:
        members = [i for i, c in enumerate(hunt.candidates) if c.family == family]
        if len(members) < 4 or family.startswith("polynomial"):
            continue
        members.sort(key=lambda i: hunt.candidates[i].step or 0.0)
        curves = {}
        for name in hunt.measures.measures:
            values = [hunt.measures[hunt.candidates[i].name, name].value for i in members]
            sign = MEASURES[name].sign
            curves[name] = np.array([np.nan if v is None else sign * v for v in values])
        found.append(
            BandwidthPath(
                family,
                np.array([float(hunt.candidates[i].step or 0.0) for i in members]),
                curves,
                np.array([hunt.checks[i].loss for i in members]),
            )
        )
    return found


def _block(hunt: Search, rows: Array) -> Array:
    best = hunt.candidates[hunt.order[0]]
    _, K = next(iter(hunt.samples.blocks([best], rows, rows)))
    return np.asarray(0.5 * (K + K.T))


def _gram(hunt: Search) -> tuple[Array, list[tuple[str, int]]]:
    judge = hunt.judge
    rows = judge.sample(GRAM_ROWS, salt=5)
    rows = rows[np.argsort(judge.y[rows], kind="stable")]
    K = _block(hunt, rows)
    if judge.classes is None:
        return K, []
    counts = np.bincount(judge.y[rows], minlength=len(judge.classes))
    return K, [(str(c), int(k)) for c, k in zip(judge.classes, counts, strict=True)]


def _map(hunt: Search) -> tuple[Array, Array]:
    rows = hunt.judge.sample(MAP_ROWS, salt=6)
    return kernel_map(_block(hunt, rows)), np.asarray(hunt.judge.y[rows])


def _weights(hunt: Search, names: Any) -> tuple[list[tuple[str, float]], str]:
    best = hunt.candidates[hunt.order[0]]
    X = hunt.samples.views[best.view]
    if not isinstance(X, np.ndarray) or X.ndim != 2 or X.shape[1] > 500 or X.shape[1] < 2:
        return [], ""
    if names is None or len(names) != X.shape[1]:
        return [], ""
    rows = hunt.judge.sample(MAP_ROWS, salt=6)
    target = make_target(hunt.judge.y[rows], task=hunt.judge.task)
    weights, meaning = feature_weights(best, np.asarray(X[rows], dtype=float), target)
    order = np.argsort(-weights, kind="stable")[:FEATURES]
    return [(str(names[k]), float(weights[k])) for k in order], meaning


def _next_steps(ranking: Any, source: str | None) -> list[tuple[str, str]]:
    steps = [
        (
            "Predict new samples with the fitted winner.",
            "model = ranking.best_estimator\nmodel.predict(X_new)",
        ),
        (
            "Estimate what to expect on new data: the choice of the kernel is made anew in "
            "every fold.",
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
                "The first places are tied. Prefer the simpler kernel, or read what separates "
                "them.",
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
