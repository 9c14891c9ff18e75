"""``gramsmith rank``: from a file to a ranking, a report and a fitted model."""

from __future__ import annotations

import difflib
import os
import secrets
import shlex
import sys
import time
from collections.abc import Iterator, Sequence
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
    say_notes,
    show_json,
    show_table,
)
from gramsmith.cli.options import TableOptions, learning, reading
from gramsmith.cli.outputs import PROGRESS, begin_journal, output_folder, write_json, write_text

if TYPE_CHECKING:
    from gramsmith.tables.read import Table
    from gramsmith.tables.target import Target

NOT_CONVERGED, INTERRUPTED = 4, 130
SHOWN = 5  # kernels that are shown without --verbose
OPTIONS = {
    'class_weight="balanced"': "--class-weight balanced",
    'scoring="balanced_accuracy"': "--scoring balanced_accuracy",
    'task="regression"': "--task regression",
    'task="classification"': "--task classification",
    "max_samples": "--sample",
    "time_budget": "--time-budget",
    "pass the dates as time_order": "use --role COLUMN=time",
    ": see best_other": "",  # which is for Python, as is the next
    ' or target="imbalanced"': "",
}
PASSED = (
    "scoring",
    "cv",
    "class_weight",
    "ensemble",
    "estimators",
    "horizon",
    "gap",
)  # to `read` as they are
MOST_COLUMNS, WIDE = 26, 24  # columns of a table that are shown, and the width of a cell


@click.command()
@click.argument("file", type=click.Path())
@learning
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Folder for report.html, ranking.csv, ranking.json, model.safetensors, run.json.",
)
@click.option("--scoring", metavar="NAME", help="The score that decides, by scikit-learn's name.")
@click.option(
    "--cv", type=click.IntRange(2), metavar="K", help="Folds of the cross-validation (5)."
)
@click.option("--groups", metavar="COL", help="Column of groups that are never split over folds.")
@click.option(
    "--horizon",
    type=click.FloatRange(0, min_open=True),
    metavar="LENGTH",
    help="With a column of time (--role COL=time): how far ahead to predict, dates in days.",
)
@click.option(
    "--gap",
    type=click.FloatRange(0),
    default=0.0,
    metavar="LENGTH",
    help="Time between the training rows and what is predicted.",
)
@click.option("--drop-lone", is_flag=True, help="Leave out classes that have a single row.")
@click.option(
    "--class-weight",
    type=click.Choice(["balanced"]),
    help="Give all classes the same weight, in training and in the score (balanced accuracy).",
)
@click.option(
    "--time-budget",
    type=click.FloatRange(0, min_open=True),
    metavar="SECONDS",
    help="Start no further step after this time.",
)
@click.option(
    "--ensemble/--no-ensemble",
    default=True,
    show_default=True,
    help="Average several kernels where that does better than one.",
)
@click.option(
    "--estimator",
    "estimators",
    multiple=True,
    metavar="NAME",
    help="Compare the kernels with an estimator: hgb, forest, extra-trees, linear, knn, svm; "
    "catboost or lightgbm where they are installed; repeatable.",
)
@click.option(
    "--precomputed", is_flag=True, help="FILE is a kernel matrix: row and column i are sample i."
)
@click.option("--dry-run", is_flag=True, help="Show the plan and the columns, and stop.")
@click.option("--force", is_flag=True, help="Replace the files of an earlier run.")
@click.option("--resume", is_flag=True, help="Go on with an interrupted run.")
@click.option("--dask", metavar="ADDRESS", help="Scheduler of a Dask cluster to work on.")
@click.option("--scheduler-file", metavar="FILE", help="File of the Dask scheduler, instead.")
@click.option("--json", "as_json", is_flag=True, help="Print the ranking as JSON.")
@click.option("--verbose", is_flag=True, help="Print all kernels, the measures and all remarks.")
@click.option("--quiet", is_flag=True, help="No plan and no progress.")
@reading
def rank(
    file: str,
    output: Path | None,
    how: TableOptions,
    as_json: bool,
    verbose: bool,
    quiet: bool,
    dry_run: bool,
    force: bool,
    resume: bool,
    **options: Any,
) -> int:
    """Rank kernels on the table FILE and fit a model.

    FILE is a csv, tsv, parquet, feather, xlsx, svmlight, npz, npy or FASTA file; text files may be
    gzipped or zstandard, and - is the standard input. The kind of every column is detected and
    shown; --role sets it.

    \b
    Examples:
      gramsmith rank train.csv -t label --dry-run
      gramsmith rank train.csv -t label -o run/
      gramsmith rank survey.csv -t age --role zip=category --groups school
      gramsmith rank sales.csv -t sold --role day=time --horizon 30
      gramsmith rank preise.csv -t preis --delimiter ';' --decimal ,
      gramsmith rank alloys.csv -t strength -t density -o run/
      gramsmith rank reads.fasta --labels classes.csv -o run/
      gramsmith rank K.npy --labels labels.csv --precomputed -o run/
    """  # noqa: D301 - click wants the character
    from gramsmith.selection import Work
    from gramsmith.selection import rank as rank_problem

    if resume and (output is None or force):
        raise click.UsageError("--resume goes on in the folder of -o, and not with --force.")
    check_names(options["scoring"], options["estimators"])
    folder = output_folder(None if dry_run else output, force=force, resume=resume)
    with folder, on_cluster(options) as engine:
        started = time.monotonic()
        data = load(file, how, options, quiet)
        table, about = data.table, data.about
        problem, plan, remarks = planned(data, options)
        if not (options["precomputed"] or quiet) and looks_like_kernel(table):
            say(f"{table.name} is square and symmetric. Use --precomputed for a kernel matrix.")
        if dry_run and as_json:
            show_json(plan)
        elif not (quiet or as_json):
            show_plan(plan, problem.plan, table, remarks, whole=dry_run or verbose)
        if dry_run:
            return 0
        command = {**options, **vars(how)}
        header = {"version": __version__, "data": about["data_sha256"], **command}
        journal: Any = None
        if output is not None:
            journal = begin_journal(output, header, resume=resume, force=force)
        if resume:
            say(f"Continuing with {len(journal)} finished pieces of work.")
        try:
            work = Work(
                time_budget=options["time_budget"],
                n_jobs=options["jobs"],
                memory=options["memory"],
                engine=engine,
                checkpoint=journal,
                verbose=not quiet,
            )
            with collected_warnings() as caught, about_the_data(table):
                ranking = rank_problem(problem, work)
            if output is not None:
                about |= {"summary": plain(ranking.summary)}
                seconds = time.monotonic() - started
                spent = {"command": {"file": file, **command}, "seconds": seconds}
                spent["versions"] = about["summary"]["versions"]
                spent["steps"] = ranking.seconds
                write_outputs(output, ranking, about, {**spent, **about})
                journal.close(remove=not ranking.interrupted)
        except KeyboardInterrupt:
            say(interruption(output, journal))
            return INTERRUPTED
        except Exception:
            if journal is not None and not len(journal):
                journal.close(remove=True)  # one of nothing would only be in the way next time
            raise
        finally:
            if journal is not None:
                journal.close()
    notes = [as_options(r) for r in dict.fromkeys([*map(str, ranking.warnings), *caught])]
    if as_json:
        show_json(results(ranking) | {"warnings": notes})
    else:
        show_ranking(ranking, verbose)
    say_notes(notes)
    if ranking.sampled and not quiet:
        say(ranking.sampled)
    if not ranking.converged:
        say("The winner's solver did not converge: take its numbers with caution (status 4).")
    if output is None:
        say("Nothing was written; name a folder with -o to keep the report and the model.")
    elif not quiet:
        say(f"Report: {output / 'report.html'}\nModel:  {output / 'model.safetensors'}")
    if ranking.interrupted:
        say(interruption(output, journal))
        return INTERRUPTED
    return 0 if ranking.converged else NOT_CONVERGED


@contextmanager
def on_cluster(options: dict[str, Any]) -> Iterator[Any]:
    """Connect to the cluster that options name, if any, and hand its engine over."""
    address, file = options.pop("dask"), options.pop("scheduler_file")
    if address is None and file is None:
        yield None
        return
    if address is not None and file is not None:
        raise click.UsageError("Give --dask ADDRESS or --scheduler-file FILE, not both.")
    if options["jobs"] is not None or options["memory"] is not None:
        raise click.UsageError("--jobs and --memory are for threads, not together with --dask.")
    from gramsmith.gram.dask import Dask, connect

    try:
        client = connect(address=address, scheduler_file=file)
    except (OSError, ValueError) as error:
        raise Refused(str(error)) from error
    with client:
        yield Dask(client)


def check_names(scoring: str | None, estimators: Sequence[str]) -> None:
    """Refuse names of a score or an estimator that there is not, before a table is read."""
    from gramsmith.selection.others import NAMED
    from gramsmith.selection.scores import named_scorer

    try:
        named_scorer(scoring or "accuracy")
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    for name in estimators:
        if name not in NAMED:
            close = difflib.get_close_matches(name, NAMED, n=1)
            hint = f" Did you mean {close[0]!r}?" if close else ""
            raise click.UsageError(
                f"Expected --estimator with names among {', '.join(NAMED)}, got {name!r}.{hint}"
            )


def interruption(folder: Path | None, journal: Any) -> str:
    """Return what to say when the user has pressed Ctrl-C."""
    if folder is None:
        return "Interrupted."
    return (
        f"Interrupted: {len(journal)} finished pieces of work are kept in {folder / PROGRESS}. "
        "Go on with the same command and --resume."
    )


@dataclass(frozen=True)
class Loaded:
    """What was read: inputs, target, groups, weights and times, and what a model remembers."""

    table: Table
    goal: Target
    roles: dict[str, str]
    groups: Any
    weights: Any
    times: Any
    about: dict[str, Any]


def load(file: str, how: TableOptions, options: dict[str, Any], quiet: bool) -> Loaded:
    """Return the table, its target, the groups, and what a model must remember."""
    from gramsmith.tables.convert import typed
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
        names = ", ".join(list(table.columns)[:8])
        how_to = f"Name the column with --target ({names})."
        if not names:
            how_to = "Name a table of them with --labels, and if it has several columns --target."
        raise click.UsageError(f"Expected labels for {file}, got none. {how_to}")
    group = how.column_of("group", options.get("groups"))
    weight = how.column_of("weight")
    when = how.column_of("time")
    if when is None and (options.get("horizon") is not None or options.get("gap")):
        raise click.UsageError("--horizon and --gap go with a column of time: --role COL=time.")
    aside = [
        ("group", group),
        ("weight", weight),
        ("time", when),
        *(("other target", name) for name in others),
    ]
    for role, name in aside:
        if name is not None and name not in table.columns:
            hint = nearest(name, list(table.columns))
            raise DataError(f"{table.name}: no column {name!r} for the {role}. {hint}")
    named = [name for _, name in aside if name is not None]
    table, messages = handle_gaps(table, how.missing, tuple(named))
    for message in messages if not quiet else ():
        say(message)
    if others:
        targets: dict[str, Any] = {str(target): table.labels}
        targets |= {name: table.columns[name] for name in others}
        goal = read_targets(table, targets, options["task"])
    else:
        table, goal = with_classes_of_several_rows(table, options)
    groups = None if group is None else table.columns[group]
    weights = None
    if weight is not None:
        with about_the_data(table):
            weights = typed(weight, table.columns[weight], "number")
    times = None if when is None else table.columns[when]
    inputs = {name: column for name, column in table.columns.items() if name not in named}
    table = replace(table, columns=inputs)
    roles = {name: role for name, role in how.set_roles().items() if name in table.columns}
    about = {
        "source": table.name,
        "format": how.format or ("csv" if file == "-" else guess_format(Path(file))),
        "data_sha256": sha256,
        "kind": table.kind,
        "width": table.n_columns,
        "sparse": bool(getattr(table.samples, "nnz", None) is not None),
        "task": goal.task,
        "target": [str(target), *others] if others else table.target,
        "columns": [
            {"name": name, "kind": "number" if column.dtype == float else "text"}
            for name, column in table.columns.items()
        ],
        "strings": table.strings,
        "ignored": [name for name in (group, weight, when, *how.dropped) if name is not None],
        "base": table.base,
        "precomputed": bool(options.get("precomputed")),
        "rows": table.n_rows,
    }
    return Loaded(table, goal, roles, groups, weights, times, about)


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


def planned(data: Loaded, options: dict[str, Any]) -> tuple[Any, dict[str, Any], list[str]]:
    """Read the problem once; return it, what is going to be done, and remarks."""
    from gramsmith.selection import read

    table, goal = data.table, data.goal
    with collected_warnings() as remarks, about_the_data(table):
        problem = read(
            matrix_of(table) if options["precomputed"] else table.inputs(),
            goal.y,
            "precomputed" if options["precomputed"] else "auto",
            task=goal.task,
            roles=data.roles or None,
            groups=data.groups,
            sample_weight=data.weights,
            time_order=data.times,
            random_state=options["seed"],
            max_samples=options["sample"],
            **{name: options[name] for name in PASSED},
        )
    plan = problem.plan
    facts = {
        "file": table.name,
        "rows": plan.n_samples,
        "columns": table.n_columns,
        "groups": None if data.groups is None else len(set(map(str, data.groups))),
        "roles": plan.columns.to_plain(),
        "task": goal.task,
        "reason": goal.reason,
        "kernels": list(plan.kernels),
        "rows_measured": plan.measure_rows,
        "machine": plan.machine,
        "memory_mib": plan.memory_mib,
        "seconds": plan.seconds * slowdown(),
    }
    return problem, facts, remarks


def matrix_of(table: Table) -> Any:
    """Return a table as a matrix of numbers, or raise."""
    import numpy as np

    from gramsmith.tables.streams import DataError

    X = table.inputs()
    words = [name for name, column in table.columns.items() if column.dtype.kind not in "fb"]
    if isinstance(X, list) or not hasattr(X, "to_numpy" if table.columns else "sum") or words:
        what = f"words or dates in column {words[0]!r}" if words else f"{table.kind} data"
        raise DataError(f"expected a kernel matrix, got {what}.")
    X = X.toarray() if hasattr(X, "toarray") else np.asarray(X, dtype=np.float64)
    if np.isnan(X).any():
        raise DataError("expected a kernel matrix, got missing values.")
    return X


def looks_like_kernel(table: Table) -> bool:
    """Return whether a table has the shape and the symmetry of a kernel matrix."""
    import numpy as np

    if table.n_rows != table.n_columns or table.n_rows < 3 or table.kind == "strings":
        return False
    if any(column.dtype != np.float64 for column in table.columns.values()):
        return False
    X = table.inputs()
    X = X.toarray() if hasattr(X, "toarray") else np.asarray(X, dtype=np.float64)
    return bool(np.allclose(X, X.T, rtol=1e-8, atol=0.0))


def show_plan(
    facts: dict[str, Any], plan: Any, table: Table, remarks: list[str], whole: bool
) -> None:
    """Say what is going to be done, and if the whole is asked for what each column is."""
    from gramsmith.arguments import counted

    if whole:
        show_columns(plan.columns)
        say_notes([as_options(remark) for remark in [*plan.columns.remarks, *remarks]])
    groups = f"{counted(facts['groups'], 'group')}, " if facts["groups"] else ""
    say(
        f"{table.name}: {counted(plan.n_samples, 'row')}, {counted(table.n_columns, 'column')}"
        f"{f', {table.note}' if table.note else ''}, {groups}{facts['task']} ({facts['reason']}).\n"
        f"Plan: check {counted(len(plan.kernels), 'kernel')}, measure them on "
        f"{counted(plan.measure_rows, 'row')}{' in random draws' if plan.draws else ''}, "
        f"cross-validate the best with {plan.machine}; about {plan.memory_mib:,.0f} MiB of memory "
        f"and {duration(facts['seconds'])}."
    )


def show_columns(columns: Any) -> None:
    """Say what each column is; of many, those first that are not plain numbers."""
    odd = [c.kind != "number" or c.role != "input" or c.note or c.missing for c in columns]
    rows = [[str(cell)[:WIDE] for cell in row[:-1]] for row in columns.rows()]
    if len(rows) > MOST_COLUMNS:
        rows = [rows[k] for k in sorted(range(len(rows)), key=lambda k: not odd[k])]
    if rows:
        show_table(columns.HEAD[:-1], rows[:MOST_COLUMNS], err=True)
    more = len(rows) - MOST_COLUMNS
    if more > 0:
        say(f"... and {more:,} more columns; --json has all.")


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


def results(ranking: Any) -> dict[str, Any]:
    """Return the outcome of a ranking as plain values, beside simpler answers ("compared")."""
    estimate = ranking.estimate
    own = {"name": "this model", "score": estimate.value, "low": estimate.low}
    return {
        "verdict": asdict(ranking.verdict),
        "score": ranking.scoring,
        "compared": [*map(asdict, ranking.evidence.rivals), {**own, "high": estimate.high}],
        "partial": ranking.partial,
        "interrupted": ranking.interrupted,
        "estimate": estimate.to_plain(),
        "ranking": ranking.records,
        "estimators": ranking.other_records,
        "overall_estimate": ranking.overall_estimate.to_plain(),
    }


def write_outputs(folder: Path, ranking: Any, about: dict[str, Any], run: dict[str, Any]) -> None:
    """Write the five files, each atomically; the page, which may fail, is made before all."""
    from gramsmith.storage import save_model
    from gramsmith.tables.spreadsheet import write_csv

    records, target = ranking.records, about["target"]
    rows = [list(record.values()) for record in records]
    page, path = folder / f".report.{secrets.token_hex(6)}.tmp", folder / "model.safetensors"
    try:
        ranking.write_html(
            page,
            source=about["source"],
            target=target if isinstance(target, str | None) else "” and “".join(target),
            model=path,
            command=shlex.join(["gramsmith", *sys.argv[1:]]),
            data=about["data_sha256"],
        )
        save_model(ranking.best_estimator, path, about=about, records=False)
        write_text(folder / "ranking.csv", lambda out: write_csv(out, list(records[0]), rows))
        evidence = {"evidence": ranking.evidence.to_plain()}
        write_json(folder / "ranking.json", results(ranking) | evidence)
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


def show_ranking(ranking: Any, verbose: bool) -> None:
    """Print the verdict, the model beside simpler answers, and the best kernels."""
    from gramsmith.measures import get_measure
    from gramsmith.report.page import rivals_of
    from gramsmith.report.words import number, score_label, with_error

    verdict, records, score = ranking.verdict, ranking.records, score_label(ranking.scoring)
    details = (
        verdict.details if verbose else [*verdict.details[:1], *filter(None, [verdict.others])]
    )
    for text in [verdict.text, *details, ""]:
        say(as_options(text), err=False)
    rivals = [[rival["name"], rival["value"], rival["note"]] for rival in rivals_of(ranking)]
    show_table(["compared", score, ""], rivals)
    # kernels without a score were left out after the first check
    best = [r for r in records if r["score"] is not None][:SHOWN] or records[:SHOWN]
    rows = [
        [
            f"{r['rank']}{' =' if r['tied'] else ''}",
            r["kernel"],
            with_error(r["score"], r["score_error"]).replace("± ", "±"),  # 80 letters hold it all
            *([number(r["first_check"])] if verbose else []),
        ]
        for r in (records if verbose else best)
    ]
    show_table(["rank", "kernel", score, *(["check"] if verbose else [])], rows)
    if verbose:
        say(f"{verdict.winner}\n", err=False)
        measures = [get_measure(name) for name in ranking.measures]
        rows = [[r["kernel"], *(number(r[m.name]) for m in measures)] for r in records]
        show_table(["kernel", *(f"{m.name} {m.arrow}" for m in measures)], rows)
    else:
        more, averaged = len(records) - len(best), len(ranking.average)
        parts = [
            "= is a tie with the first." if any(r["tied"] for r in best) else "",
            f"The model averages {averaged} kernels." if averaged else "",
            f"{more} more: --verbose." if more else "",
        ]
        if any(parts):
            say(" ".join(filter(None, parts)), err=False)
