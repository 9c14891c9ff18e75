"""``gramsmith inspect``: what a model file holds, without loading it."""

from __future__ import annotations

from pathlib import Path
from textwrap import wrap
from typing import Any

import click

from gramsmith.cli.console import show_json
from gramsmith.progress import printable

WIDTH, LABEL = 80, 12


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.option("--tree", is_flag=True, help="Print every parameter and attribute.")
@click.option("--card", is_flag=True, help="Print a model card in Markdown.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def inspect(model: Path, tree: bool, card: bool, as_json: bool) -> None:
    """Show what a MODEL file holds, without making the model."""
    from gramsmith.storage import inspect_model, model_card, overview

    if tree + card + as_json > 1:
        raise click.UsageError("--tree, --card and --json are three answers: ask for one.")
    if card:
        click.echo(model_card(model), nl=False)
        return
    summary = inspect_model(model)
    if as_json:
        show_json({"file": str(model), **vars(summary)})
        return
    size = model.stat().st_size
    lines = [f"{model} ({size:,} bytes)", ""]
    if tree:
        lines += outline(summary.model, "", "")
        if summary.about:
            lines += ["", *(f"{name}: {brief(value)}" for name, value in summary.about.items())]
    else:
        for label, text in overview(summary).items():
            lines += wrap(
                printable(text),
                WIDTH,
                initial_indent=f"{label:{LABEL}}",
                subsequent_indent=" " * LABEL,
                break_on_hyphens=False,
            )
    lines += ["", *wrap(summary.note, WIDTH)]
    click.echo("\n".join(printable(line) for line in lines))


def outline(node: Any, name: str, indent: str) -> list[str]:
    """Return the lines of a model's tree."""
    label = f"{indent}{name}: " if name else indent
    if not isinstance(node, dict):
        return [f"{label}{brief(node)}"]
    tag = node.get("$")
    if tag == "object":
        lines = [f"{label}{node.get('class')}"]
        for part in ("params", "fitted"):
            entries = node.get(part)
            for key, value in entries.items() if isinstance(entries, dict) else ():
                lines += outline(value, str(key), f"{indent}  ")
        return lines
    items = node.get("items")
    if tag in ("list", "tuple") and isinstance(items, list) and any(_is_tree(v) for v in items):
        lines = [f"{label}"]
        for i, value in enumerate(items):
            lines += outline(*_named(value, str(i)), f"{indent}  ")
        return lines
    return [f"{label}{brief(node)}"]


def _named(node: Any, number: str) -> tuple[Any, str]:
    """Return a node and its label: a (name, object) pair, as in a pipeline, has one of its own."""
    items = node.get("items") if isinstance(node, dict) and node.get("$") == "tuple" else None
    if isinstance(items, list) and len(items) == 2 and isinstance(items[0], str):
        return items[1], items[0]
    return node, number


def _is_tree(node: Any) -> bool:
    return isinstance(node, dict) and node.get("$") in ("object", "list", "tuple")


def brief(node: Any) -> str:
    """Return a value in at most a line."""
    if isinstance(node, dict) and "$" in node:
        if node["$"] in ("array", "objects", "sparse"):
            return f"{node.get('dtype', 'sparse')} array of shape {node.get('shape')}"
        if node["$"] in ("list", "tuple", "dict"):
            count = len(node["items"]) if isinstance(node.get("items"), list) else "?"
            return f"{node['$']} of {count}"
        node = node.get("value", node)
    if isinstance(node, list) and node and all(isinstance(v, dict) and "name" in v for v in node):
        node = [value["name"] for value in node]
    text = repr(node)
    return text if len(text) <= 100 else f"{text[:97]}..."
