"""``gramsmith evaluate``: every measure of many kernels, without choosing or fitting anything."""

from __future__ import annotations

from typing import Any

import click

from gramsmith.cli.console import about_the_data, collected_warnings, say, show_json, show_table
from gramsmith.cli.options import learning, reading, take_reading

MOST_ROWS = 5000  # of which all pairs are looked at
DRAWN_ROWS = 1024  # in each random draw of more


@click.command()
@click.argument("file", type=click.Path())
@learning
@click.option("--measures", metavar="NAMES", help="Comma-separated, such as kta,cka,fsm,hsic.")
@click.option("--json", "as_json", is_flag=True, help="Print the table as JSON.")
@reading
def evaluate(file: str, measures: str | None, as_json: bool, **options: Any) -> None:
    """Measure how well kernels fit the labels in FILE.

    The kernels are those that `rank` would compare. Nothing is fitted or written.
    """
    import numpy as np

    from gramsmith.cli.rank import load, measured
    from gramsmith.evaluation import estimate
    from gramsmith.evaluation import evaluate as measure
    from gramsmith.measures import MEASURES
    from gramsmith.selection.candidates import default_candidates
    from gramsmith.tables import TableEncoder

    how = take_reading(options)
    wanted = [name.strip() for name in measures.split(",")] if measures else None
    unknown = [name for name in wanted or () if name not in MEASURES]
    if unknown:
        raise click.UsageError(f"No measure {unknown[0]!r}. There are {', '.join(MEASURES)}.")
    data = load(file, how, options, quiet=as_json)
    table, goal = data.table, data.goal
    most, y, weights = options["sample"], goal.y, data.weights
    if most and table.n_rows > most:
        rows = np.random.default_rng(options["seed"]).choice(table.n_rows, most, replace=False)
        rows.sort()
        table, y = table.take(rows), y[rows]
        weights = None if weights is None else weights[rows]
        say(f"Measured on {most:,} rows drawn at random; --sample changes that.")
    with collected_warnings() as remarks, about_the_data(table.name):
        X = table.inputs()
        X = (
            X
            if table.kind == "strings"
            else TableEncoder(roles=data.roles or None).fit_transform(X)
        )
        kernels = {c.name: c.kernel for c in default_candidates(X, random_state=options["seed"])}
        settings = {
            "task": goal.task,
            "sample_weight": weights,
            "memory": options["memory"],
            "n_jobs": options["jobs"],
            "random_state": options["seed"],
        }
        if table.n_rows > MOST_ROWS:
            settings |= {"rows": DRAWN_ROWS, "pairs": 32.0 * DRAWN_ROWS**2, "tolerance": 0.01}
            found = estimate(kernels, X, y, wanted, **settings)
        else:
            found = measure(kernels, X, y, measures=wanted, **settings)
    records = [{"kernel": name} | _values(found, name) for name in kernels]
    advice = list(dict.fromkeys([*(item.message for item in found.advice), *remarks]))
    if as_json:
        show_json({"file": table.name, "rows": table.n_rows, "measures": records, "advice": advice})
        return
    head = ["kernel", *(f"{m.name} {m.arrow}" for m in found.measures.values())]
    rows = [[r["kernel"], *(measured(r, m) for m in found.measures)] for r in records]
    show_table(head, rows)
    for message in advice:
        say(f"Note: {message}")


def _values(found: Any, name: str) -> dict[str, Any]:
    """Return the measures of a kernel; those that were estimated with errors and intervals."""
    values: dict[str, Any] = {}
    for measure in found.measures:
        cell = found.cells[name, measure]
        values[measure] = cell.value
        if found.draws is not None:
            low, high = cell.interval() or (None, None)
            values |= {f"{measure}_error": cell.error}
            values |= {f"{measure}_low": low, f"{measure}_high": high}
    return values
