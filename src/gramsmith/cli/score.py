"""``gramsmith score``: what a model promised, against what it does on labelled rows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gramsmith.cli.console import (
    Refused,
    about_the_data,
    collected_warnings,
    say,
    say_notes,
    show_json,
    show_table,
)
from gramsmith.cli.options import TableOptions, reading
from gramsmith.cli.outputs import check_free, write_text

if TYPE_CHECKING:
    from gramsmith.selection import Scoring

LOWER_END = (
    "lower end: of the promise. For recall and precision it is that of the interval\n"
    "in the table of thresholds."
)


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("file", type=click.Path())
@click.option("--target", metavar="COL", multiple=True, help="The labels; default as in training.")
@click.option("--groups", metavar="COL", help="Column of groups, whose rows are not independent.")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Write a page (HTML) there.")
@click.option("--force", is_flag=True, help="Replace an existing page.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
@reading
def score(
    model: Path,
    file: str,
    target: tuple[str, ...],
    groups: str | None,
    output: Path | None,
    force: bool,
    as_json: bool,
    how: TableOptions,
) -> None:
    """Compare a MODEL's score on labelled rows with the estimate.

    Also shown: the score of a constant answer, how often sets of classes and intervals hold the
    truth, recall and precision at some thresholds, and whether the rows are like those of training.
    Use rows that the model was not trained on.

    \b
    Examples:
      gramsmith score run/model.safetensors test.csv
      gramsmith score run/model.safetensors test.csv --json
    """  # noqa: D301 - click wants the character
    from gramsmith.cli.predict import inputs_of, read_whole
    from gramsmith.selection import score_model
    from gramsmith.storage import inspect_model, load_model
    from gramsmith.tables.convert import typed
    from gramsmith.tables.target import handle_gaps, read_target, read_targets

    if output is not None:
        check_free(output, force=force)
    summary, machine = inspect_model(model), load_model(model)
    about, facts = summary.about, dict(summary.facts)
    if not hasattr(machine, "predict"):
        raise Refused(f"{model} holds {type(machine).__name__}, which predicts nothing.")
    known = about.get("target")
    named = list(target) or (known if isinstance(known, list) else [known] if known else [])
    if not named:
        raise click.UsageError("The model names no target. Say which column has it: --target.")
    task = (
        "regression" if facts.get("task", about.get("task")) == "regression" else "classification"
    )
    group, weight = how.column_of("group", groups), how.column_of("weight")
    aside = [*named[1:], *(name for name in (group, weight) if name is not None)]
    remarks: list[str] = []
    try:
        with collected_warnings() as remarks:
            table = read_whole(file, how, about, str(named[0]), [n for n in aside if n != weight])
            table, messages = handle_gaps(table, how.missing, tuple(aside))
            for message in messages:
                say(message)
            if len(named) > 1:
                columns: dict[str, Any] = {str(named[0]): table.labels}
                columns |= {name: _numbers(table.columns[name]) for name in named[1:]}
                y: Any = read_targets(table, columns, task).y
            else:
                y = read_target(table, task, for_training=False).y
            with about_the_data(table):
                told = {
                    "groups": None if group is None else table.columns[group],
                    "sample_weight": None
                    if weight is None
                    else typed(weight, table.columns[weight], "number"),
                }
                inputs = inputs_of(replace(table, labels=None), how, about, aside)
                found = score_model(machine, inputs.inputs(), y, facts, **told)
    finally:
        say_notes(remarks)
    if as_json:
        show_json({"model": str(model), "file": table.name, **found.to_plain()})
    else:
        for line in headlines(found):
            say(line, err=False)
        show_table(*held_table(found))
        if found.held:
            say(LOWER_END, err=False)
    if output is not None:
        page = written_page(found, f"{model.name} on {table.name}")
        write_text(output, lambda stream: stream.write(page))
        say(f"Page: {output}.")


def _numbers(column: Any) -> Any:
    """Return a column that was read as texts, as numbers where they are."""
    from gramsmith.tables.convert import typed

    return typed("target", column, "number") if column.dtype == object else column


def headlines(found: Scoring) -> list[str]:
    """Return the score, what was promised and what a constant answer would get, in sentences."""
    from gramsmith.report.words import number, score_label

    one, promised = found.found, found.promised
    name = score_label(found.score)
    lines = [
        f"{name[:1].upper()}{name[1:]} {number(one.value)} on {one.rows:,} rows "
        f"(95 % interval {number(one.low)} to {number(one.high)})."
    ]
    if found.verdict:
        value, low, high = (number(promised[key]) for key in ("value", "low", "high"))
        lines.append(f"Expected: {value} ({low} to {high}), so it is {found.verdict}.")
    word = "better" if one.beats_baseline else "NOT clearly better"
    lines.append(f"A constant answer would get {number(one.baseline)}. The model is {word}.")
    if found.novel is not None:
        word = "where about 1 % is expected" if found.novel.exceeded else "as expected (about 1 %)"
        lines.append(f"{found.novel.value:.1%} of the rows are unlike those of training, {word}.")
    return [*lines, ""]


def held_table(found: Scoring) -> tuple[list[str], list[list[str]]]:
    """Return the promises and what became of them, head and cells."""
    head = ["promise", "lower end", "found", "95 %", "rows", "kept"]
    body = [
        [
            one.what,
            f"{one.promised:.0%}",
            f"{one.value:.1%}",
            f"{one.low:.0%} to {one.high:.0%}",
            f"{one.rows:,}",
            "yes" if one.kept else "NO",
        ]
        for one in found.held
    ]
    return head, body


def written_page(found: Scoring, title: str) -> str:
    """Return one self-contained page."""
    from html import escape

    from gramsmith.evaluation.result import html_table

    lines = "".join(f"<p>{escape(line)}</p>" for line in headlines(found) if line)
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{escape(title)}</title>'
        "<style>body{font:16px/1.5 sans-serif;max-width:50em;margin:2em auto;padding:0 1em}"
        "td,th{padding:.2em .8em;text-align:left}</style>"
        f"<h1>{escape(title)}</h1>{lines}{html_table(*held_table(found))}"
        f"{f'<p>{escape(LOWER_END)}</p>' if found.held else ''}</html>\n"
    )
