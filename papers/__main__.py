"""`python -m papers`: the published numbers beside ours."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import click

from papers.output import in_words, jsonable
from papers.record import Record, count_verdicts
from papers.runner import list_experiments, reproduce


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
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
@click.option("--allow-missing", is_flag=True, help="Exit with 0 though data sets are missing.")
@click.option("--json", "as_json", is_flag=True, help="Print the records as JSON.")
@click.option("--quiet", is_flag=True, help="No progress.")
def main(
    names: tuple[str, ...],
    listed: bool,
    data: Path | None,
    output: Path | None,
    quick: bool,
    allow_missing: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Re-run the experiments of the papers behind gramsmith.

    NAMES are papers, single experiments, or `all`; see --list. The exit status is 1 if an
    experiment failed or its data are missing.
    """
    if listed:
        rows = [{"name": e.name, "paper": e.paper, "title": e.title} for e in list_experiments()]
        if as_json:
            _show_json(rows)
        else:
            _show_table([[row["name"], row["title"]] for row in rows])
        return
    if not names:
        raise click.UsageError("Expected the name of a paper or `all`; --list shows them.")
    begin = time.perf_counter()

    def show_progress(done: int, total: int, name: str) -> None:
        if name and not quiet:
            seconds = time.perf_counter() - begin
            click.echo(f"{seconds:6.0f} s  {done + 1}/{total}  {name}", err=True)

    try:
        records = reproduce(names, data=data, output=output, quick=quick, progress=show_progress)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    counts = count_verdicts(records)
    if as_json:
        _show_json([jsonable(record.plain()) for record in records])
    else:
        head = ["paper", "table", "cell", "published", "ours", "tolerance", "verdict", "note"]
        _show_table([head, *map(_row, records)])
        click.echo(in_words(counts))
    if output is not None:
        click.echo(f"Page: {output / 'reproduction.html'}", err=True)
    missing = counts.get("not run", 0)
    if missing and not allow_missing:
        click.echo(f"{missing} not run; --allow-missing accepts that.", err=True)
    if counts.get("failed", 0) or (missing and not allow_missing):
        sys.exit(1)


def _row(record: Record) -> list[str]:
    return [record.paper, record.table, record.cell, *record.texts(), record.verdict, record.note]


def _show_table(rows: list[list[str]]) -> None:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        click.echo("  ".join(cells).rstrip())


def _show_json(value: object) -> None:
    click.echo(json.dumps(value, indent=1, ensure_ascii=False))


if __name__ == "__main__":
    main(prog_name="python -m papers")
