"""What a model file says of itself, for people: a few lines, or a model card in Markdown.

Nothing is made of what the file says, and nothing in it need be true: whatever has another type
than expected is left out, and texts cannot be taken for Markdown.
"""

from __future__ import annotations

from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import Any

from gramsmith.arguments import counted
from gramsmith.kernels.base import Kernel
from gramsmith.report.words import score_label
from gramsmith.storage.models import ModelSummary, inspect_model
from gramsmith.storage.registry import REGISTRY

Lines = Iterator[str]

SHOWN = 12  # classes or columns in one line
LISTED = 60  # columns in a table
MARKUP = r"\<>|*_`~[]#&"  # what Markdown may take for more than text

GAPS = (
    "Missing cells are imputed: numbers and dates by a typical value, texts by an empty one, and "
    "for categories, missing is a category of its own."
)


def overview(summary: ModelSummary) -> dict[str, str]:
    """Return the most important facts of a model file, label -> text."""
    parts = list(_parts(summary.model))
    last, facts = parts[-1], summary.facts
    found = {
        "model": _averaged(summary.model) + ", then ".join(_name(part) for part in parts),
        "kernel": _text(facts, "kernel") if _averaged(summary.model) else _kernel(last),
        "task": _labels_at_once(summary.model, facts) or _task(last, facts),
        "expects": _expects(parts[0], facts),
        "score": _score(facts),
        "trained on": _trained(summary),
        "keeps": "; ".join(summary.training_rows) or "no training rows",
        "written": f"by gramsmith {summary.gramsmith_version}, format {summary.format_version}",
    }
    return {label: text for label, text in found.items() if text}


def model_card(path: str | PathLike[str]) -> str:
    """Return the model card of a file, in Markdown: data, roles, score, limits.

    A card says what a model was made of and what it can be expected to do. What the file does not
    hold is not invented: a single machine knows its classes and columns, a `KernelSelector` and
    what ``gramsmith rank`` writes know the data and the score as well.
    """
    summary = inspect_model(path)
    chapters = {"": _model(summary), "Data": _data(summary), "Score": _scores(summary.facts)}
    chapters["Limits"] = _limits(summary)
    lines = [f"# Model card: {plain(Path(path).name)}"]
    for title, chapter in chapters.items():
        text = list(chapter)
        if text:
            lines += ["", f"## {title}", "", *text] if title else ["", *text]
    return "\n".join(lines) + "\n"


# ---- chapters of the card --------------------------------------------------------------------


def _model(summary: ModelSummary) -> Lines:
    yield "| | |"
    yield "|---|---|"
    for label, text in overview(summary).items():
        if label in ("model", "kernel", "task", "written"):
            yield f"| {label} | {plain(text)} |"
    facts = summary.facts
    for label, text in (("date", _text(facts, "date")), ("versions", _versions(facts))):
        if text:
            yield f"| {label} | {plain(text)} |"


def _data(summary: ModelSummary) -> Lines:
    facts, about = summary.facts, summary.about
    trained = _trained(summary)
    if trained:
        yield f"{plain(trained)}."
    target, digest = about.get("target"), about.get("data_sha256")
    if isinstance(target, str):
        yield f"Target: {plain(target)}."
    elif _list(target, str):
        yield f"Targets: {plain(', '.join(_list(target, str)))}."
    if isinstance(digest, str):
        yield f"SHA-256 of the file: {plain(digest)}."
    for key, head in (("classes", "class"), ("labels", "label")):
        counts = _pairs(facts.get(key), int)
        if counts:
            yield from ("", f"| {head} | rows |", "|---|---:|")
            yield from (f"| {plain(label)} | {count:,} |" for label, count in counts[:LISTED])
    outputs = _outputs(facts)
    if outputs:
        yield from ("", "| output | from | to |", "|---|---:|---:|")
        yield from (f"| {plain(n)} | {a:.6g} | {b:.6g} |" for n, a, b in outputs[:LISTED])
    values = _list(facts.get("values"), int | float)
    if len(values) == 2:
        yield f"Values from {values[0]:.6g} to {values[1]:.6g}."
    columns = _pairs(facts.get("columns"), str)
    if columns:
        yield from ("", "| column | role |", "|---|---|")
        yield from (f"| {plain(name)} | {plain(role)} |" for name, role in columns[:LISTED])
        if len(columns) > LISTED:
            yield f"| ... and {len(columns) - LISTED} more | |"
        if any(_name(part) == "TableEncoder" for part in _parts(summary.model)):
            yield from ("", GAPS)


def _scores(facts: dict[str, Any]) -> Lines:
    estimate = facts.get("estimate")
    if not isinstance(estimate, dict):
        yield "Not known: the file holds a model without the record of how it was chosen."
        return
    yield f"To be expected on new data: {plain(_score(facts))}."
    base = estimate.get("baseline")
    if isinstance(base, int | float):
        better = "better" if estimate.get("beats_baseline") is True else "not clearly better"
        base = base if abs(base) > 1e-12 else 0.0  # rounding
        yield f"That is {better} than {base:.4g}, the score of a constant answer."
    verdict = _text(facts, "verdict")
    if verdict:
        yield from ("", plain(verdict))


def _limits(summary: ModelSummary) -> Lines:
    facts = summary.facts
    yield from (f"- {plain(text)}" for text in _list(facts.get("limits"), str))
    if facts.get("estimate") is not None:
        yield (
            "- The score holds for rows drawn like the training rows. It says nothing of other "
            "places, times or groups, nor of single rows."
        )
    if isinstance(facts.get("values"), list) or _outputs(facts):
        yield "- Predictions far outside the range of the training values are extrapolations."
    if any("categories" in role for _, role in _pairs(facts.get("columns"), str)):
        yield "- A category that was not among the training rows counts as none of the known ones."
    held = summary.training_rows
    yield (
        f"- The file holds training rows ({plain('; '.join(held))}): share it only with those who "
        "may see the data."
        if held
        else "- The file holds no training rows; labels and names of columns may be in it."
    )


# ---- parts of the tree -----------------------------------------------------------------------


def _in(node: Any, *path: str) -> Any:
    for key in path:
        node = node.get(key) if isinstance(node, dict) else None
    return node


def _name(node: Any) -> str:
    name = _in(node, "class")
    return name if isinstance(name, str) else "?"


def _averaged(node: Any) -> str:
    """Return how many models are averaged, the first of which `_parts` describes."""
    for name in ("best_estimator_", "model_"):
        inside = _in(node, "fitted", name)
        node = inside if isinstance(inside, dict) else node
    members = _in(node, "fitted", "machines_", "items")
    return f"average of {len(members)}: " if isinstance(members, list) and members else ""


def _parts(node: Any) -> Iterator[Any]:
    """Yield the transformers and the machine of a model, in order."""
    inside = _in(node, "fitted", "best_estimator_") or _in(node, "fitted", "model_")
    steps = _in(node, "params", "steps", "items")
    averaged = _in(node, "fitted", "machines_", "items")
    if isinstance(inside, dict):
        yield from _parts(inside)
    elif isinstance(averaged, list) and averaged:
        yield from _parts(averaged[0])
    elif isinstance(steps, list) and steps:
        for step in steps:
            items = _in(step, "items")
            yield from _parts(items[1] if isinstance(items, list) and len(items) == 2 else step)
    else:
        yield node


def formula(node: Any) -> str:
    """Return an object or a value as its constructor would be written, arrays by their shape."""
    tag = _in(node, "$")
    if tag == "object":
        params = _in(node, "params")
        given = params.items() if isinstance(params, dict) else ()
        inside = [
            formula(value) if _in(value, "$") == "object" else f"{key}={formula(value)}"
            for key, value in given
            if value is not None
        ]
        return f"{_name(node)}({', '.join(inside)})"
    if tag in ("array", "objects", "sparse"):
        shape = _in(node, "shape")
        return f"array of {' x '.join(map(str, shape)) if isinstance(shape, list) else '?'}"
    if tag in ("list", "tuple"):
        items = _in(node, "items")
        few = [formula(item) for item in items[:4]] if isinstance(items, list) else ["?"]
        return f"[{', '.join(few)}{', ...' if isinstance(items, list) and len(items) > 4 else ''}]"
    if tag is not None:
        return str(node.get("value", tag))
    return f"{node:.6g}" if isinstance(node, float) else "" if node is None else str(node)


def _kernel(last: Any) -> str:
    entry = REGISTRY.get(_name(last))
    if entry is not None and issubclass(entry.cls, Kernel):
        return formula(last)
    return formula(_in(last, "fitted", "kernel_") or _in(last, "params", "kernel"))


def _labels_at_once(node: Any, facts: dict[str, Any]) -> str:
    """Return how many labels a model predicts at once, and their names; nothing for others."""
    if _name(node) == "LabelsClassifier":
        shape = _in(node, "fitted", "classes_", "shape")
        count = shape[0] if isinstance(shape, list) and shape else "?"
        names = [name for name, _ in _pairs(facts.get("labels"), int)]
        return f"{count} labels at once{f': {_few(names)}' if names else ''}"
    steps = _in(node, "params", "steps", "items")
    last = _in(steps[-1], "items") if isinstance(steps, list) and steps else None
    inside = last[-1] if isinstance(last, list) and last else _in(node, "fitted", "best_estimator_")
    return _labels_at_once(inside, facts) if isinstance(inside, dict) else ""


def _task(last: Any, facts: dict[str, Any]) -> str:
    classes = _in(last, "fitted", "classes_")
    outputs = [name for name, _, _ in _outputs(facts)]
    if outputs:
        return f"regression, {counted(len(outputs), 'output')}: {_few(outputs)}"
    if classes is None:
        return "regression" if _in(last, "fitted", "coefficients_") is not None else ""
    names = [label for label, _ in _pairs(facts.get("classes"), int)]
    items = names or _in(classes, "items")
    shape = _in(classes, "shape")
    count = shape[0] if isinstance(shape, list) and shape else "?"
    shown = f": {_few([str(item) for item in items])}" if isinstance(items, list) else ""
    return f"classification, {count} classes{shown}"


def _expects(first: Any, facts: dict[str, Any]) -> str:
    names = [name for name, _ in _pairs(facts.get("columns"), str)]
    items = names or _in(first, "fitted", "feature_names_in_", "items")
    if isinstance(items, list):
        return f"{counted(len(items), 'column')}: {_few([str(item) for item in items])}"
    count = _in(first, "fitted", "n_features_in_")
    if isinstance(count, int):
        return f"{counted(count, 'column')} of numbers"
    samples = _in(first, "fitted", "support_samples_")
    return "strings, sets or other objects" if _in(samples, "$") == "objects" else ""


def _trained(summary: ModelSummary) -> str:
    facts, source = summary.facts, summary.about.get("source")
    rows, groups = facts.get("rows"), facts.get("groups")
    if not isinstance(rows, int):
        return ""
    text = counted(rows, "row")
    text += f" in {counted(groups, 'group')}" if isinstance(groups, int) else ""
    text += f" of {source}" if isinstance(source, str) else ""
    return text + (f", {facts['date']}" if isinstance(facts.get("date"), str) else "")


def _score(facts: dict[str, Any]) -> str:
    estimate = facts.get("estimate")
    if not isinstance(estimate, dict):
        return ""
    numbers = [estimate.get(name) for name in ("value", "low", "high")]
    if not all(isinstance(number, int | float) for number in numbers):
        return ""
    value, low, high = numbers
    how = f"{estimate.get('kind')}, {estimate.get('rows')} rows"
    name = score_label(_text(facts, "score") or "score")
    return f"{name} {value:.4g} (95 % interval {low:.4g} to {high:.4g}; {how})"


def _versions(facts: dict[str, Any]) -> str:
    found = facts.get("versions")
    return ", ".join(f"{k} {v}" for k, v in found.items()) if isinstance(found, dict) else ""


def _text(facts: dict[str, Any], key: str) -> str:
    return facts[key] if isinstance(facts.get(key), str) else ""


def _list(values: Any, kind: Any) -> list[Any]:
    """Return a list whose items are of one kind, or nothing if it is something else."""
    sound = isinstance(values, list) and all(isinstance(value, kind) for value in values)
    return values if sound else []


def _pairs(values: Any, kind: Any) -> list[Any]:
    """Return the pairs of a text and something of a kind that are in a list."""
    pairs = [pair for pair in _list(values, list) if len(pair) == 2]
    return [(a, b) for a, b in pairs if isinstance(a, str) and isinstance(b, kind)]


def _outputs(facts: dict[str, Any]) -> list[Any]:
    """Return the names and ranges of several outputs."""
    found = [item for item in _list(facts.get("outputs"), list) if len(item) == 3]
    return [item for item in found if type(item[0]) is str and _list(item[1:], int | float)]


def _few(items: list[str]) -> str:
    short = [item if len(item) <= 40 else f"{item[:37]}..." for item in items[:SHOWN]]
    return ", ".join(short) + (f" and {len(items) - SHOWN} more" if len(items) > SHOWN else "")


def plain(text: str) -> str:
    """Return a text that Markdown shows as it is, in one line and of bounded length."""
    text = text if len(text) <= 600 else f"{text[:597]}..."
    shown = "".join(
        c if c.isprintable() else c.encode("unicode_escape", "replace").decode() for c in text
    )
    return "".join(f"\\{c}" if c in MARKUP else c for c in shown)
