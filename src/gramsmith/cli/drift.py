"""``gramsmith drift``: whether new rows come from where a table, or a model's rows, came from."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from gramsmith.cli.console import about_the_data, say, say_notes, show_json, show_table
from gramsmith.cli.options import AT_LEAST_ONE, TableOptions, reading

SHOWN = 20  # rows of the table, those of the least p-values


@click.command()
@click.argument("reference", type=click.Path())
@click.argument("new", type=click.Path())
@click.option("--groups", metavar="COL", help="Column of groups, which are shuffled whole.")
@click.option(
    "--permutations",
    type=AT_LEAST_ONE,
    metavar="N",
    help="Shuffles per test; by default more for more columns.",
)
@click.option(
    "--seed",
    type=click.IntRange(0, 2**32 - 1),
    default=0,
    show_default=True,
    help="Seed of the shuffles.",
)
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
@reading
def drift(
    reference: str,
    new: str,
    groups: str | None,
    permutations: int | None,
    seed: int,
    as_json: bool,
    how: TableOptions,
) -> None:
    """Test whether NEW rows differ from those of REFERENCE.

    REFERENCE is a table, or a model file, whose training rows are compared where it keeps them.
    Every column and the rows as a whole are tested; p-values are adjusted for their number (Holm).
    They hold for independent rows or, with --groups, independent groups.

    \b
    Examples:
      gramsmith drift train.csv new.csv --drop customer
      gramsmith drift train.csv new.csv --groups site
      gramsmith drift run/model.safetensors new.csv --json
    """  # noqa: D301 - click wants the character
    from gramsmith.drift import drift_test

    options: dict[str, Any] = {"n_permutations": permutations, "random_state": seed}
    group = how.column_of("group", groups)
    if Path(reference).suffix == ".safetensors":
        if group is not None:
            raise click.UsageError("Expected a table with --groups: model files keep no groups.")
        from gramsmith.cli.predict import read_new
        from gramsmith.storage import inspect_model, load_model

        summary, old = inspect_model(Path(reference)), load_model(Path(reference))
        table = read_new(new, how, summary.about)
    else:
        texts = [] if group is None else [group]  # 01 and 1 are two groups
        known = how.read(reference, texts=texts)
        words = [name for name, column in known.columns.items() if column.dtype == object]
        table, old = how.read(new, texts=[*words, *texts]), known.inputs()
        roles = {k: role for k, role in how.set_roles().items() if k in known.columns if k != group}
        options |= {"roles": roles or None, "groups": group}
    with about_the_data(table):
        found = drift_test(old, table.inputs(), **options)
    if as_json:
        show_json({"reference": reference, "new": new, "verdict": found.verdict, **asdict(found)})
        return
    say(f"{found.verdict}\n", err=False)
    names, rows = found.table()
    show_table(names, rows[:SHOWN])
    if len(rows) > SHOWN:
        say(f"{len(rows) - SHOWN} more columns: --json has all.", err=False)
    say_notes(found.notes)
