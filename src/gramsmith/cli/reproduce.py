"""``gramsmith reproduce``: the published numbers beside ours."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from gramsmith.cli.console import Progress, say, show_json, show_table
from gramsmith.cli.failure import Refused


@click.command()
@click.argument("names", nargs=-1)
@click.option("--list", "listed", is_flag=True, help="List papers and experiments.")
@click.option(
    "--data",
    type=click.Path(path_type=Path),
    envvar="GRAMSMITH_DATA",
    metavar="DIR",
    help="Folder of data sets; default the environment variable GRAMSMITH_DATA.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Folder for records, figures and reproduction.html.",
)
@click.option("--quick", is_flag=True, help="Fewer repetitions.")
@click.option("--json", "as_json", is_flag=True, help="Print the records as JSON.")
@click.option("--quiet", is_flag=True, help="No progress.")
def reproduce(
    names: tuple[str, ...],
    listed: bool,
    data: Path | None,
    output: Path | None,
    quick: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Re-run the experiments of the papers behind gramsmith.

    NAMES are papers, single experiments, or `all`; see --list.
    """
    from gramsmith import papers

    if listed or not names:
        if not listed:
            raise click.UsageError("Expected the name of a paper or `all`; --list shows them.")
        experiments = papers.list_experiments()
        rows = [{"name": e.name, "paper": e.paper, "title": e.title} for e in experiments]
        if as_json:
            show_json(rows)
        else:
            show_table(["name", "title"], [[row["name"], row["title"]] for row in rows])
        return
    try:
        papers.list_experiments(names)
    except ValueError as error:
        raise Refused(str(error)) from error
    with Progress(quiet) as progress:

        def advance(done: int, total: int, name: str) -> None:
            progress("reproduce", done, total, name)

        try:
            records = papers.reproduce(
                names, data=data, output=output, quick=quick, progress=advance
            )
        except ValueError as error:
            raise Refused(str(error)) from error
    show_records(records, as_json)
    if output is not None:
        say(f"Page: {output / 'reproduction.html'}")


def show_records(records: list[Any], as_json: bool) -> None:
    """Print published number, ours, tolerance and verdict of every cell."""
    if as_json:
        show_json([record.plain() for record in records])
        return
    rows = [[r.paper, r.table, r.cell, *r.texts(), r.verdict, r.note] for r in records]
    head = ["paper", "table", "cell", "published", "ours", "tolerance", "verdict", "note"]
    show_table(head, rows)
    counts: dict[str, int] = {}
    for record in records:
        counts[record.verdict] = counts.get(record.verdict, 0) + 1
    click.echo(", ".join(f"{count} {verdict}" for verdict, count in counts.items()))
