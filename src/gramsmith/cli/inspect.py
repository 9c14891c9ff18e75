"""``gramsmith inspect``: what a model file holds, without loading it."""

from __future__ import annotations

from pathlib import Path
from textwrap import wrap

import click

from gramsmith.cli.console import WIDTH, show_json
from gramsmith.progress import printable

LABEL = 12  # letters before the facts


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.option("--card", is_flag=True, help="Print a model card in Markdown.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def inspect(model: Path, card: bool, as_json: bool) -> None:
    """Show what a MODEL file contains, without loading it."""
    from gramsmith.storage import inspect_model, model_card, overview

    if card and as_json:
        raise click.UsageError("Expected --card or --json, got both. Ask for one.")
    if card:
        click.echo(model_card(model), nl=False)
        return
    summary = inspect_model(model)
    if as_json:
        show_json({"file": str(model), **vars(summary)})
        return
    lines = [f"{model} ({model.stat().st_size:,} bytes)", ""]
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
