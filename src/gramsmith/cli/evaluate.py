"""``gramsmith evaluate``: every measure of many kernels, without choosing or fitting anything."""

from __future__ import annotations

from typing import Any

import click

from gramsmith.cli.console import (
    about_the_data,
    collected_warnings,
    say,
    say_notes,
    show_json,
    show_table,
)
from gramsmith.cli.options import TableOptions, learning, reading

MOST_ROWS = 5000  # of which all pairs are looked at
DRAWN_ROWS = 1024  # in each random draw of more
SHOWN = 10  # kernels that are shown without --verbose


@click.command()
@click.argument("file", type=click.Path())
@learning
@click.option("--measures", metavar="NAMES", help="Comma-separated, such as kta,cka,fsm,hsic.")
@click.option("--json", "as_json", is_flag=True, help="Print the table as JSON.")
@click.option("--verbose", is_flag=True, help="Print all kernels.")
@reading
def evaluate(
    file: str, how: TableOptions, measures: str | None, as_json: bool, verbose: bool, **options: Any
) -> None:
    """Measure how well kernels fit the labels in FILE.

    The kernels are those that `rank` would compare, sorted by debiased CKA or the first of
    --measures; * marks the best by each. The first ten are shown, and the best by other measures.
    Nothing is fitted or written.
    """
    import numpy as np

    from gramsmith.cli.rank import as_options, load
    from gramsmith.evaluation import estimate
    from gramsmith.evaluation import evaluate as measure
    from gramsmith.measures import MEASURES
    from gramsmith.selection.candidates import default_candidates
    from gramsmith.tables import TableEncoder

    if isinstance(options["target"], tuple):
        raise click.UsageError("Expected one --target, got several. Measure one at a time.")
    wanted = [name.strip() for name in measures.split(",")] if measures else None
    unknown = [name for name in wanted or () if name not in MEASURES]
    if unknown:
        raise click.UsageError(f"No measure {unknown[0]!r}. There are {', '.join(MEASURES)}.")
    data = load(file, how, options, quiet=as_json)
    table, seed, most = data.table, options["seed"], options["sample"]
    rows = np.arange(table.n_rows)
    if most and table.n_rows > most:
        rows = np.sort(np.random.default_rng(seed).choice(rows, most, replace=False))
        table = table.take(rows)
        say(f"Measured on {most:,} rows drawn at random; --sample changes that.")
    with collected_warnings() as remarks, about_the_data(table):
        X = table.inputs()
        if table.kind != "strings":
            X = TableEncoder(roles=data.roles or None).fit_transform(X)
        kernels = {c.name: c.kernel for c in default_candidates(X, random_state=seed)}
        settings = {
            "task": data.goal.task,
            "sample_weight": None if data.weights is None else data.weights[rows],
            "memory": options["memory"],
            "n_jobs": options["jobs"],
            "random_state": seed,
        }
        if table.n_rows > MOST_ROWS:
            settings |= {"rows": DRAWN_ROWS, "pairs": 32.0 * DRAWN_ROWS**2, "tolerance": 0.01}
            found = estimate(kernels, X, data.goal.y[rows], wanted, **settings)
        else:
            found = measure(kernels, X, data.goal.y[rows], measures=wanted, **settings)
    # unless one was asked for, the measure that neither the diagonal nor the mean misleads
    first = wanted[0] if wanted else "cka_debiased"
    order = np.argsort(-found.scores(first), kind="stable")
    records = [found.records[k] for k in order]
    if as_json:
        advice = list(dict.fromkeys([*(item.message for item in found.advice), *remarks]))
        show_json({"file": table.name, "rows": table.n_rows, "measures": records, "advice": advice})
        return
    best = {m: found.best(m) for m in found.measures if np.isfinite(found.scores(m)).any()}
    say(f"{conclusion(best, first, found)}\n", err=False)
    if not verbose:
        records = [r for k, r in enumerate(records) if k < SHOWN or r["kernel"] in best.values()]
    show_table(
        ["kernel", *(f"{m.name} {m.arrow}" for m in found.measures.values())],
        [[r["kernel"], *(_shown(r, m, best.get(m)) for m in found.measures)] for r in records],
    )
    if len(records) < len(order):
        say(f"{len(order) - len(records)} more kernels: --verbose.", err=False)
    shown = {r["kernel"] for r in records}
    notes = [item.message for item in found.advice if item.kernel is None or item.kernel in shown]
    say_notes([as_options(note) for note in dict.fromkeys([*notes, *remarks])])


def _shown(record: dict[str, Any], name: str, best: str | None) -> str:
    """Return a measure as a table shows it: with its error, and a mark if it is the best."""
    from gramsmith.report.words import number

    value, error = record[name], record.get(f"{name}_error")
    text = "-" if value is None else number(value)
    if value is not None and error is not None:
        text += f" ±{float(f'{error:.1g}'):g}"  # one digit, and no exponent of 10 and more
    return f"{text} *" if record["kernel"] == best else text


def conclusion(best: dict[str, str], first: str, found: Any) -> str:
    """Return what the table comes to, in a sentence or two."""
    from gramsmith.report.words import listed

    if first not in best:
        return f"{first} is not defined for these kernels."
    winners = {name: [m for m in best if best[m] == name] for name in best.values()}
    winner, tied = best[first], len(found.ties(first)) - 1
    doubt = f"; {tied} more {'is' if tied == 1 else 'are'} not clearly worse" if tied else ""
    others = [f"“{n}” by {listed(names)}" for n, names in winners.items() if n != winner]
    against = f" Others are best by other measures: {'; '.join(others)}." if others else ""
    return (
        f"“{winner}” is best by {listed(winners[winner])}{doubt}.{against} Measures are not "
        "error rates: `gramsmith rank` tests the best kernels on held-out rows."
    )
