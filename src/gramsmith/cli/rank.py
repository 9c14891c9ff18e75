"""``gramsmith rank``: from a file to a ranking, a report and a fitted model."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gramsmith import __version__
from gramsmith.cli.console import (
    Refused,
    about_the_data,
    collected_warnings,
    plain,
    say,
    show_json,
    show_table,
)
from gramsmith.cli.options import Reading, learning_several, reading, take_reading
from gramsmith.cli.outputs import PROGRESS, begin_journal, output_folder, write_json, write_text
from gramsmith.progress import printable

if TYPE_CHECKING:
    from gramsmith.tables.read import Table
    from gramsmith.tables.target import Target

NOT_CONVERGED, INTERRUPTED = 4, 130
SHOWN = 15
OPTIONS = {
    'class_weight="balanced"': "--class-weight balanced",
    'scoring="balanced_accuracy"': "--scoring balanced_accuracy",
    'task="regression"': "--task regression",
    'task="classification"': "--task classification",
    "max_samples": "--sample",
    "time_budget": "--time-budget",
}
MOST_COLUMNS, WIDE = 26, 24  # columns of a table that are shown, and the width of a cell


@click.command()
@click.argument("file", type=click.Path())
@learning_several
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Folder for report.html, ranking.csv, ranking.json, model.safetensors, run.json.",
)
@click.option("--scoring", metavar="NAME", help="scikit-learn's name of the score that decides.")
@click.option("--cv", type=click.IntRange(2), metavar="K", help="Folds of the cross-validation.")
@click.option("--groups", metavar="COL", help="Column of groups that are never split over folds.")
@click.option("--drop-lone", is_flag=True, help="Leave out classes that have a single row.")
@click.option("--class-weight", type=click.Choice(["balanced"]), help="Weigh classes alike.")
@click.option(
    "--time-budget",
    type=click.FloatRange(0, min_open=True),
    metavar="SECONDS",
    help="Begin no further work after this time.",
)
@click.option(
    "--ensemble/--no-ensemble",
    default=True,
    show_default=True,
    help="Average several kernels where that does better than one.",
)
@click.option("--dry-run", is_flag=True, help="Show the plan and stop.")
@click.option("--force", is_flag=True, help="Replace the files of an earlier run.")
@click.option("--resume", is_flag=True, help="Go on with an interrupted run.")
@click.option("--dask", metavar="ADDRESS", help="Scheduler of a Dask cluster to work on.")
@click.option("--scheduler-file", metavar="FILE", help="Its file, instead of the address.")
@click.option("--json", "as_json", is_flag=True, help="Print the ranking as JSON.")
@click.option("--quiet", is_flag=True, help="No plan and no progress.")
@reading
def rank(file: str, output: Path | None, **options: Any) -> int:
    """Rank kernels on the data in FILE, verify the best and fit a model.

    FILE is a csv, tsv, parquet, feather, xlsx, svmlight, npz, npy or FASTA file; text files may be
    gzipped or zstandard, and - is the standard input. What each column is is found out and shown;
    --role sets it.

    \b
    Examples:
      gramsmith rank train.csv -t label --dry-run
      gramsmith rank train.csv -t label -o run/
      gramsmith rank survey.csv -t age --role zip=category --groups school
      gramsmith rank preise.csv -t preis --delimiter ';' --decimal ,
      gramsmith rank alloys.csv -t strength -t density -o run/
    """  # noqa: D301 - click wants the character
    how = take_reading(options)
    as_json, quiet = options.pop("as_json"), options.pop("quiet")
    dry_run, force, resume = (options.pop(name) for name in ("dry_run", "force", "resume"))
    if resume and (output is None or force):
        raise click.UsageError("--resume goes on in the folder of -o, and not with --force.")
    cluster = take_cluster(options)
    check_scoring(options["scoring"])
    with output_folder(None if dry_run else output, force=force, resume=resume):
        started = time.time()
        data = load(file, how, options, quiet)
        table, goal, about = data.table, data.goal, data.about
        arguments = ranking_arguments(options, data)
        limits = {name: arguments.pop(name) for name in ("time_budget", "n_jobs", "memory")}
        problem, plan = show_plan(table, goal, arguments, quiet or as_json, whole=dry_run)
        if dry_run:
            if as_json:
                show_json(plan)
            return 0
        command = {**options, **vars(how)}
        header = {"version": __version__, "data": about["data_sha256"], **command}
        journal: Any = None
        if output is not None:
            journal = begin_journal(output, header, resume=resume, force=force)
        if resume:
            say(resumption(journal))
        try:
            with on_cluster(cluster, limits):
                ranking, remarks = work(table, problem, limits, journal, quiet)
            if output is not None:
                about |= {"summary": plain(ranking.summary)}
                spent = {"command": {"file": file, **command}, "seconds": time.time() - started}
                spent["versions"] = about["summary"]["versions"]
                spent["steps"] = ranking.seconds
                write_outputs(output, ranking, about, {**spent, **about})
                journal.close(remove=not ranking.interrupted)
        except KeyboardInterrupt:
            say("Interrupted." if output is None else interruption(output, journal))
            return INTERRUPTED
        except Exception:
            if journal is not None and not len(journal):
                journal.close(remove=True)  # one of nothing would only be in the way next time
            raise
        finally:
            if journal is not None:
                journal.close()
    show_ranking(ranking, remarks, output, as_json, quiet)
    if ranking.interrupted:
        say("Interrupted." if output is None else interruption(output, journal))
        return INTERRUPTED
    return 0 if ranking.converged else NOT_CONVERGED


def take_cluster(options: dict[str, Any]) -> dict[str, Any] | None:
    """Take the options of a cluster from the others; None if none was named."""
    address, file = options.pop("dask"), options.pop("scheduler_file")
    if address is None and file is None:
        return None
    if address is not None and file is not None:
        raise click.UsageError("Give --dask ADDRESS or --scheduler-file FILE, not both.")
    if options.get("jobs") is not None or options.get("memory") is not None:
        raise click.UsageError("--jobs and --memory are for threads, not together with --dask.")
    return {"address": address, "scheduler_file": file}


@contextmanager
def on_cluster(cluster: dict[str, Any] | None, arguments: dict[str, Any]) -> Iterator[None]:
    """Connect to a cluster, if one was named, and let the ranking be done there."""
    if cluster is None:
        yield
        return
    from gramsmith.gram.dask import Dask, connect

    try:
        client = connect(**cluster)
    except (OSError, ValueError) as error:
        raise Refused(str(error)) from error
    with client:
        arguments["engine"] = Dask(client)
        yield


def check_scoring(name: str | None) -> None:
    """Refuse scores that scikit-learn does not have, with the nearest that it has."""
    from difflib import get_close_matches

    from sklearn.metrics import get_scorer_names

    names = get_scorer_names()
    if name is not None and name not in names:
        near = ", ".join(get_close_matches(name, names, cutoff=0.5)) or "accuracy, f1, r2"
        raise click.UsageError(f"scikit-learn has no score {name!r}. Among others it has {near}.")


def resumption(journal: Any) -> str:
    """Return what to say when work is taken up again."""
    if not len(journal):
        return "There is no finished work to go on with: beginning at the start."
    return f"Going on with {len(journal)} finished pieces of work."


def interruption(folder: Path, journal: Any) -> str:
    """Return what to say when the user has pressed Ctrl-C."""
    return (
        f"Interrupted: {len(journal)} finished pieces of work are kept in {folder / PROGRESS}. "
        "Go on with the same command and --resume."
    )


@dataclass(frozen=True)
class Loaded:
    """What was read: inputs, target, groups and weights, and what a model remembers."""

    table: Table
    goal: Target
    roles: dict[str, str]
    groups: Any
    weights: Any
    about: dict[str, Any]


def load(file: str, how: Reading, options: dict[str, Any], quiet: bool) -> Loaded:
    """Return the table, its target, the groups, and what a model must remember."""
    from gramsmith.tables.decide import nearest
    from gramsmith.tables.read import guess_format
    from gramsmith.tables.streams import DataError, as_file, digest
    from gramsmith.tables.target import handle_gaps, read_targets

    given = options["target"]
    first, *others = dict.fromkeys(given) if isinstance(given, tuple) else [given]
    target = how.column_of("target", first)
    with as_file(file, how.limits) as path:
        table = how.read(str(path), target=target)
        sha256 = digest(path)
    if table.labels is None:
        raise click.UsageError(
            f"Expected labels for {file}, got none. Name the column with --target"
            + (
                f" ({', '.join(list(table.columns)[:8])})."
                if table.columns
                else ", or use --labels."
            )
        )
    aside = {
        "group": how.column_of("group", options.get("groups")),
        "weight": how.column_of("weight"),
    }
    for role, name in aside.items():
        if name is not None and name not in table.columns:
            hint = nearest(name, list(table.columns))
            raise DataError(f"{table.name}: no column {name!r} for the {role}. {hint}")
    for name in others:
        if table.kind != "table" or name not in table.columns:
            hint = nearest(name, list(table.columns))
            raise DataError(f"{table.name}: no column {name!r} for another target. {hint}")
    named = [name for name in aside.values() if name is not None]
    table, messages = handle_gaps(table, how.missing, (*named, *others))
    goal: Any = None
    if not others:
        table, goal = with_classes_of_several_rows(table, options)
    groups, weights = (None if n is None else table.columns[n] for n in aside.values())
    if weights is not None:
        weights = weights_of(weights, table.name, str(aside["weight"]))
    targets: dict[str, Any] = {str(target): table.labels}
    targets |= {name: table.columns[name] for name in others}
    inputs = {k: c for k, c in table.columns.items() if k not in (*named, *others)}
    table = replace(table, columns=inputs)
    for message in messages if not quiet else ():
        say(message)
    if others:
        goal = read_targets(table, targets, options["task"])
    roles = {name: role for name, role in how.set_roles().items() if name in table.columns}
    about = {
        "source": table.name,
        "format": how.format or ("csv" if file == "-" else guess_format(Path(file))),
        "data_sha256": sha256,
        "kind": table.kind,
        "width": table.n_columns,
        "sparse": bool(getattr(table.samples, "nnz", None) is not None),
        "task": goal.task,
        "target": list(targets) if others else table.target,
        "columns": [
            {"name": name, "kind": "number" if column.dtype == float else "text"}
            for name, column in table.columns.items()
        ],
        "strings": table.strings,
        "ignored": [*named, *how.dropped],
        "base": table.base,
        "rows": table.n_rows,
    }
    return Loaded(table, goal, roles, groups, weights, about)


def with_classes_of_several_rows(table: Table, options: dict[str, Any]) -> tuple[Table, Target]:
    """Return table and target without the classes of a single row, if the user wants that."""
    import numpy as np

    from gramsmith.tables.streams import DataError
    from gramsmith.tables.target import LoneClasses, read_target

    try:
        return table, read_target(table, options["task"])
    except LoneClasses as error:
        if not options.get("drop_lone"):
            advice = " --drop-lone leaves them out." if "drop_lone" in options else ""
            raise DataError(f"{error}{advice}") from error
        count = len(error.rows)
        say(f"Left out: {count:,} class{'es' * (count > 1)} of a single row.")
        table = table.take(np.setdiff1d(np.arange(table.n_rows), error.rows))
        return table, read_target(table, options["task"])


def weights_of(column: Any, where: str, name: str) -> Any:
    """Return a column of weights as numbers."""
    from gramsmith.tables.convert import typed

    with about_the_data(where):
        return typed(name, column, "number")


def ranking_arguments(options: dict[str, Any], data: Loaded) -> dict[str, Any]:
    """Return the arguments of `rank_kernels` that the options stand for."""
    return {
        "task": data.goal.task,
        "scoring": options["scoring"],
        "cv": options["cv"],
        "roles": data.roles or None,
        "groups": data.groups,
        "sample_weight": data.weights,
        "class_weight": options["class_weight"],
        "ensemble": options["ensemble"],
        "time_budget": options["time_budget"],
        "random_state": options["seed"],
        "n_jobs": options["jobs"],
        "memory": options["memory"],
        "max_samples": options["sample"],
    }


def show_plan(
    table: Table, goal: Target, arguments: dict[str, Any], quiet: bool, whole: bool = False
) -> tuple[Any, dict[str, Any]]:
    """Read the problem once, and say what is going to be done."""
    from gramsmith.arguments import counted
    from gramsmith.selection import read

    with collected_warnings() as remarks, about_the_data(table.name, table.first_line):
        problem = read(table.inputs(), goal.y, **arguments)
    plan = problem.plan
    found = {
        "file": table.name,
        "rows": plan.n_samples,
        "columns": table.n_columns,
        "roles": plan.columns.to_plain(),
        "task": goal.task,
        "reason": goal.reason,
        "kernels": list(plan.kernels),
        "rows_measured": plan.measure_rows,
        "machine": plan.machine,
        "memory_mib": plan.memory_mib,
        "seconds": plan.seconds * slowdown(),
    }
    if not quiet:
        show_columns(plan.columns, whole)
        for remark in [*plan.columns.remarks, *remarks] if whole else ():
            say(f"Note: {as_options(remark)}")
        say(
            f"{table.name}: {counted(plan.n_samples, 'row')}, {counted(table.n_columns, 'column')}"
            f"{f', {table.note}' if table.note else ''}, {goal.task} ({goal.reason}).\n"
            f"Plan: check {counted(len(plan.kernels), 'kernel')}, measure them on "
            f"{counted(plan.measure_rows, 'row')}"
            f"{' in random draws' if plan.draws else ''}, "
            f"cross-validate the best with {plan.machine}; about {plan.memory_mib:,.0f} MiB and "
            f"{duration(plan.seconds * slowdown())}."
        )
    return problem, found


def show_columns(columns: Any, whole: bool) -> None:
    """Say what each column is; of many, those first that are not plain numbers.

    Tables of plain numbers are shown only if the whole is asked for.
    """
    from gramsmith.arguments import counted

    odd = [c.kind != "number" or c.role != "input" or c.note or c.missing for c in columns]
    if not columns or not (whole or any(odd)):
        return
    rows = [[str(cell)[:WIDE] for cell in row[:-1]] for row in columns.rows()]
    if len(rows) > MOST_COLUMNS:
        rows = [r for r, o in zip(rows, odd, strict=True) if o] + [
            r for r, o in zip(rows, odd, strict=True) if not o
        ]
    show_table(columns.HEAD[:-1], rows[:MOST_COLUMNS], err=True)
    if len(rows) > MOST_COLUMNS:
        more = counted(len(rows) - MOST_COLUMNS, "more column")
        say(
            f"... and {more}, of which {max(sum(map(bool, odd)) - MOST_COLUMNS, 0)} "
            "are no plain numbers; --json has all."
        )


def slowdown() -> float:
    """Return how many times longer work takes beside what the processors have to do already."""
    import os

    if not hasattr(os, "getloadavg"):  # Windows
        return 1.0
    return 1.0 + float(os.getloadavg()[0]) / (os.cpu_count() or 1)


def duration(seconds: float) -> str:
    """Return a time span in words, rounded as roughly as it is known."""
    if seconds < 90:
        return f"{max(seconds, 2):.0f} seconds"
    return f"{seconds / 60:.0f} minutes" if seconds < 5400 else f"{seconds / 3600:.1f} hours"


def work(
    table: Table, problem: Any, limits: dict[str, Any], journal: Any, quiet: bool
) -> tuple[Any, list[str]]:
    """Rank the kernels; warnings are collected and told afterwards, each once."""
    from gramsmith.selection import Work, rank

    with collected_warnings() as caught, about_the_data(table.name, table.first_line):
        ranking = rank(problem, Work(**limits, checkpoint=journal, verbose=not quiet))
    return ranking, list(dict.fromkeys([*map(str, ranking.warnings), *caught]))


def write_outputs(folder: Path, ranking: Any, about: dict[str, Any], run: dict[str, Any]) -> None:
    """Write the five files, each atomically; the page, which may fail, is made before all."""
    import os
    import secrets

    from gramsmith.storage import save_model
    from gramsmith.tables.spreadsheet import write_csv

    records = ranking.records
    names = list(dict.fromkeys(name for record in records for name in record))
    rows = [[record.get(name) for name in names] for record in records]
    target = about["target"]
    page = folder / f".report.{secrets.token_hex(6)}.tmp"
    try:
        path = folder / "model.safetensors"
        ranking.write_html(
            page,
            source=about["source"],
            target=target if isinstance(target, str | None) else ", ".join(target),
            model=path,
            command=shlex.join(["gramsmith", *sys.argv[1:]]),
            data=about["data_sha256"],
        )
        save_model(ranking.best_estimator, path, about=about, records=False)
        write_text(folder / "ranking.csv", lambda stream: write_csv(stream, names, rows))
        write_json(
            folder / "ranking.json",
            {
                "verdict": asdict(ranking.verdict),
                "partial": ranking.partial,
                "interrupted": ranking.interrupted,
                "estimate": ranking.estimate.to_plain(),
                "ranking": records,
                "evidence": ranking.evidence.to_plain(),
            },
        )
        os.replace(page, folder / "report.html")
        write_json(folder / "run.json", run)
    except OSError as error:
        raise Refused(f"Could not write to {folder}: {error}.") from error
    finally:
        page.unlink(missing_ok=True)


def as_options(remark: str) -> str:
    """Return a remark with the options of the command in place of Python's arguments."""
    for argument, option in OPTIONS.items():
        remark = remark.replace(argument, option)
    return remark


def show_records(ranking: Any) -> None:
    """Print the ranking in two tables that fit a line: the scores, then the measures."""
    from gramsmith.measures import get_measure

    records = ranking.records[:SHOWN]
    head = ["rank", f"{ranking.scoring} ↑", "±", "first check", "tie", "kernel"]
    names = ["rank", "score", "score_error", "first_check", "tied", "kernel"]
    show_table(head, [[record.get(name) for name in names] for record in records])
    measures = [name for name in records[0] if f"{name}_error" in records[0]]
    measures = [name for name in measures if name not in ("score", "first_check")]
    arrows = {name: get_measure(name).arrow for name in measures}
    head = ["rank", *(f"{name} {arrows[name]}" for name in measures)]
    show_table(head, [[r["rank"], *(measured(r, name) for name in measures)] for r in records])


def measured(record: dict[str, Any], name: str) -> Any:
    """Return a measure as a table shows it: with its error where it was estimated."""
    value, error = record.get(name), record.get(f"{name}_error")
    if value is None or error is None or f"{name}_low" not in record:
        return value
    return f"{value:.4g} ±{error:.1g}"


def show_ranking(
    ranking: Any, remarks: list[str], folder: Path | None, as_json: bool, quiet: bool
) -> None:
    """Print the result and say where everything is."""
    from gramsmith.arguments import counted

    records = ranking.records
    if as_json:
        show_json(
            {
                "verdict": asdict(ranking.verdict),
                "partial": ranking.partial,
                "estimate": ranking.estimate.to_plain(),
                "ranking": records,
                "warnings": remarks,
            }
        )
    else:
        show_records(ranking)
        if len(records) > SHOWN:
            click.echo(f"... and {counted(len(records) - SHOWN, 'more kernel')}.")
        for text in ranking.verdict.lines:
            click.echo(printable(text))
    for remark in remarks:
        say(f"Note: {as_options(remark)}")
    if ranking.sampled and ranking.sampled not in remarks and not quiet:
        say(ranking.sampled)
    if not ranking.converged:
        say("The winner's solver did not converge: take its numbers with caution (status 4).")
    if folder is None:
        say("Nothing was written; name a folder with -o to keep the report and the model.")
    elif not quiet:
        say(f"Report: {folder / 'report.html'}\nModel:  {folder / 'model.safetensors'}")
