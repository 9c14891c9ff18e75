"""``gramsmith predict``: new rows through a stored model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
)
from gramsmith.cli.options import TableOptions, reading
from gramsmith.cli.outputs import check_free, write_text
from gramsmith.progress import printable

if TYPE_CHECKING:
    from gramsmith.tables.read import Table


NOVEL = 0.99  # novelty from which a row is said to be unlike those of training


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("file", type=click.Path())
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Write a CSV file there.")
@click.option("--force", is_flag=True, help="Replace an existing output file.")
@click.option("--json", "as_json", is_flag=True, help="Print the predictions as JSON.")
@click.option("--proba", is_flag=True, help="Add the probability of every class or label.")
@click.option(
    "--interval",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    metavar="SHARE",
    help="Add the ends of intervals that hold this share of the values, such as 0.9.",
)
@click.option(
    "--sets",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    metavar="SHARE",
    help="Add sets of classes that hold the true one with this probability in each class, such as "
    "0.9. Each class has its own limit, so that a set may lack the prediction; an empty set is an "
    "empty cell.",
)
@click.option(
    "--threshold",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    metavar="P",
    help="Predict the class to be found (see the table of thresholds in the report) from this "
    "probability on.",
)
@click.option("--id", "identity", metavar="COL", help="The column that names rows, put first.")
@click.option(
    "--keep",
    multiple=True,
    metavar="COL",
    help="A column to copy beside the predictions; repeatable.",
)
@click.option(
    "--spreadsheet",
    is_flag=True,
    help="Put ' before texts that a spreadsheet would run as formulas.",
)
@reading
def predict(
    model: Path,
    file: str,
    output: Path | None,
    force: bool,
    as_json: bool,
    proba: bool,
    interval: float | None,
    sets: float | None,
    threshold: float | None,
    identity: str | None,
    keep: tuple[str, ...],
    spreadsheet: bool,
    how: TableOptions,
) -> None:
    """Predict the rows of FILE with a stored MODEL.

    FILE is a table like the one of training, with missing values as they are. Columns are found by
    name, in any order. Rows are numbered as in FILE; sequences also have their identifiers.

    \b
    Examples:
      gramsmith predict run/model.safetensors new.csv -o predictions.csv
      zcat new.csv.gz | gramsmith predict run/model.safetensors - --proba
    """  # noqa: D301 - click wants the character
    import sys

    from gramsmith.storage import inspect_model, load_model
    from gramsmith.tables.spreadsheet import safe_cell, write_csv

    if output is not None:
        check_free(output, force=force)
    summary, machine = inspect_model(model), load_model(model)
    if not hasattr(machine, "predict"):
        raise Refused(f"{model} holds {type(machine).__name__}, which predicts nothing.")
    if proba and not hasattr(machine, "predict_proba"):
        raise Refused(f"{model} has no probabilities. Leave --proba out.")
    if interval is not None and not hasattr(machine, "predict_interval"):
        raise Refused(f"{model} has no prediction intervals. Leave --interval out.")
    if sets is not None and not hasattr(machine, "predict_set"):
        raise Refused(f"{model} has no prediction sets. Leave --sets out.")
    if threshold is not None:
        from gramsmith.selection.thresholds import can_flag

        if not can_flag(machine):
            raise Refused(f"{model} has no thresholds of two classes. Leave --threshold out.")
    columns: dict[str, list[Any]] = {}
    remarks: list[str] = []
    try:
        with collected_warnings() as remarks:
            kept = list(dict.fromkeys([*filter(None, [identity]), *keep]))
            whole = read_whole(file, how, summary.about, kept=kept)
            table = inputs_of(whole, how, summary.about, kept)
            table, numbers = numbered_rows(table, how)
            for name in kept[: identity is not None]:
                columns[name] = cells_of(whole, name, numbers)
            columns["row"] = numbers
            with about_the_data(table):
                if table.identifiers is not None:
                    columns["identifier"] = table.identifiers
                X = table.inputs()
                columns |= answers(machine, X, proba, interval, known_targets(summary), threshold)
                if sets is not None:
                    columns["set"] = named_sets(machine, X, sets)
                say_unknown(machine, X, numbers)
            for name in kept[identity is not None :]:
                columns.setdefault(name, cells_of(whole, name, numbers))
    finally:  # what was noticed may explain why nothing could be predicted
        say_notes(remarks)
    names, lines = list(columns), list(zip(*columns.values(), strict=True))
    shown = safe_cell if spreadsheet else None
    if as_json:
        show_json([dict(zip(names, line, strict=True)) for line in lines])
    elif output is None:
        if sys.stdout.isatty():  # no escape sequence of a file reaches a terminal
            shown = lambda value: printable(value) if isinstance(value, str) else value  # noqa: E731
        write_csv(sys.stdout, names, lines, shown)
    else:
        write_text(output, lambda stream: write_csv(stream, names, lines, shown))
        say(f"{len(lines):,} predictions in {output}.")


def answers(
    machine: Any,
    X: Any,
    proba: bool,
    interval: float | None,
    names: list[str],
    threshold: float | None = None,
) -> dict[str, list[Any]]:
    """Return the columns of predictions: of several targets, one of each kind for each of them."""
    asked = threshold is not None
    predicted = machine.predict(X) if threshold is None else answers_from(machine, X, threshold)
    several = predicted.ndim > 1
    m = predicted.shape[1] if several else 1
    names = names if len(names) == m else [str(k + 1) for k in range(m)]
    of = [f" of {name}" for name in names] if several else [""]
    values = predicted.reshape(-1, m)
    found = {f"prediction{end}": values[:, k].tolist() for k, end in enumerate(of)}
    if proba:
        shares = machine.predict_proba(X)
        labels = names if several else machine.classes_.tolist()
        found |= {f"probability of {x}": shares[:, k].tolist() for k, x in enumerate(labels)}
        threshold = None if several or asked else answer_threshold(machine)
        if threshold is not None:
            found[f"threshold for {labels[-1]}"] = [threshold] * len(predicted)
    if interval is not None:
        limits = machine.predict_interval(X, interval).reshape(-1, m, 2)
        for k, end in enumerate(of):
            found |= {f"{e}{end}": limits[:, k, j].tolist() for j, e in enumerate(("low", "high"))}
    return found


def answers_from(machine: Any, X: Any, threshold: float) -> Any:
    """Return the class that is to be found from a probability on, else the other of two."""
    import numpy as np

    from gramsmith.selection.thresholds import threshold_table

    classes = machine.classes_
    c = [str(label) for label in classes].index(threshold_table(machine).of)
    flagged = machine.predict_proba(X)[:, c] >= threshold
    return np.where(flagged, classes[c], classes[1 - c])


def named_sets(machine: Any, X: Any, coverage: float) -> list[str]:
    """Return the classes that each row may have, as one text: empty if there are none."""
    labels = [str(label) for label in machine.classes_.tolist()]
    inside = machine.predict_set(X, coverage)
    return ["|".join(labels[c] for c in row.nonzero()[0]) for row in inside]


def cells_of(table: Table, name: str, numbers: list[int]) -> list[Any]:
    """Return a column of some rows as it is to be written: empty if missing, 68 and not 68.0."""
    cells = table.columns[name]
    found = ["" if x is None or x != x else x for x in (cells[number - 1] for number in numbers)]
    whole = all(x.is_integer() for x in found if isinstance(x, float))
    return [int(x) if whole and isinstance(x, float) else x for x in found]


def say_unknown(machine: Any, X: Any, numbers: list[int]) -> None:
    """Say which columns leave their training range, and how many rows are unlike any."""
    from gramsmith.arguments import counted

    if not hasattr(machine, "columns_outside") or not numbers:
        return
    where: dict[str, list[int]] = {}
    for number, names in zip(numbers, machine.columns_outside(X), strict=True):
        for name in names:
            where.setdefault(name, []).append(number)
    told = [
        f"{name!r} in {counted(len(rows), 'row')} (row {rows[0]}{' ...' if len(rows) > 1 else ''})"
        for name, rows in sorted(where.items(), key=lambda item: -len(item[1]))
    ]
    if told:
        more = f" and {counted(len(told) - 3, 'more column')}" if len(told) > 3 else ""
        say(f"Note: Outside the range of the training rows: {', '.join(told[:3])}{more}.")
    unlike = [n for n, share in zip(numbers, machine.novelty(X), strict=True) if share > NOVEL]
    if unlike:
        rows = ", ".join(f"row {n}" for n in unlike[:5])
        say(
            f"Note: {len(unlike)} of {counted(len(numbers), 'row')} are more isolated than 99 % of "
            "the training rows, where 1 % is expected by chance: "
            f"{rows}{' ...' if len(unlike) > 5 else ''}."
        )


def answer_threshold(machine: Any) -> float | None:
    """Return from which probability on the second class is the answer, unless from one half."""
    while machine is not None and not hasattr(machine, "answer_threshold_"):
        steps = getattr(machine, "steps", None)
        machine = steps[-1][1] if steps else getattr(machine, "best_estimator_", None)
    threshold = 0.5 if machine is None else float(machine.answer_threshold_)
    return None if threshold == 0.5 else threshold


def known_targets(summary: Any) -> list[str]:
    """Return the names of several targets, if a model remembers them."""
    target = summary.about.get("target")
    if isinstance(target, list):
        return target
    targets = summary.facts.get("outputs", summary.facts.get("labels"))
    pairs = targets if isinstance(targets, list) else []
    return [str(pair[0]) for pair in pairs if isinstance(pair, list) and pair]


def read_new(file: str, how: TableOptions, about: Mapping[str, Any]) -> Table:
    """Return new rows; the model finds its columns by name."""
    return inputs_of(read_whole(file, how, about), how, about)


def read_whole(
    file: str,
    how: TableOptions,
    about: Mapping[str, Any],
    target: str | None = None,
    kept: Sequence[str] = (),
) -> Table:
    """Return all columns of new rows, with labels if there is a target.

    Columns that are `kept` stand as they are written, unless the model takes them as numbers.
    """
    from gramsmith.tables.decide import nearest
    from gramsmith.tables.streams import DataError

    columns = known_columns(about)
    numbers = [column["name"] for column in columns if column["kind"] == "number"]
    words = [column["name"] for column in columns if column["kind"] == "text"]
    strings = about.get("strings")
    table = how.read(
        file,
        target=target,
        texts=[*words, *(name for name in kept if name not in numbers)],
        strings=strings if isinstance(strings, str) else None,
        base=about.get("base") if about.get("base") in (0, 1) else None,
    )
    for name in kept:
        if name not in table.columns:
            hint = nearest(name, list(table.columns))
            raise DataError(f"{table.name}: no column {name!r}. {hint}")
    kind = about.get("kind", table.kind)
    if kind != table.kind and about.get("precomputed") is not True:
        raise DataError(
            f"{table.name}: the model was trained on {kind} data, got {table.kind} data. "
            "Use a file like the training file."
        )
    return table


def inputs_of(
    table: Table, how: TableOptions, about: Mapping[str, Any], aside: Sequence[str] = ()
) -> Table:
    """Return a table with the columns that go to the model, and others that nobody laid aside."""
    columns = known_columns(about)
    if about.get("precomputed") is True:  # a block of kernel values: rows are new samples
        from gramsmith.cli.rank import matrix_of

        with about_the_data(table):
            block = matrix_of(table)
        return replace(table, columns={}, samples=match_matrix(block, about, table.name))
    if table.kind == "matrix":
        return replace(table, samples=match_matrix(table.samples, about, table.name))
    if table.kind != "table" or not columns:
        return table
    # what was aside in training is aside here: the target, groups, weights
    target = about.get("target")
    targets = target if isinstance(target, list) else [target]
    left = {*targets, *about.get("ignored", ()), *how.drop, *aside}
    wanted = {column["name"] for column in columns}
    inputs = {k: c for k, c in table.columns.items() if k in wanted or k not in left}
    return replace(table, columns=inputs)


def match_matrix(X: Any, about: Mapping[str, Any], where: str) -> Any:
    """Return a matrix as wide, and as dense, as the one the model was trained on.

    svmlight names no columns, so that rows whose last entries are zero look narrower.
    """
    import scipy.sparse as sp

    from gramsmith.tables.streams import DataError

    width = about.get("width", X.shape[1])
    wider = isinstance(width, int) and X.shape[1] < width
    if wider and (sp.issparse(X) or about.get("format") == "svmlight"):
        X = sp.csr_array(X)
        X = sp.csr_array((X.data, X.indices, X.indptr), shape=(X.shape[0], width))
    if X.shape[1] != width:
        columns = "column" if width == 1 else "columns"
        raise DataError(f"{where}: expected {width} {columns} as in training, got {X.shape[1]}.")
    if about.get("sparse", sp.issparse(X)):
        return sp.csr_array(X)
    return X.toarray() if sp.issparse(X) else X


def known_columns(about: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return the columns a model remembers, if what it remembers makes sense."""
    from gramsmith.storage import ModelFormatError

    columns, target = about.get("columns", []), about.get("target")
    names = [about.get("ignored", []), target if isinstance(target, list) else []]
    if (
        not isinstance(target, str | list | None)
        or not all(isinstance(found, list) for found in [columns, *names])
        or not all(isinstance(name, str) for found in names for name in found)
        or not all(isinstance(c, dict) and isinstance(c.get("name"), str) for c in columns)
        or not all(c.get("kind") in ("number", "text") for c in columns)
    ):
        raise ModelFormatError("Expected the names and kinds of columns in `about`, got other.")
    return list(columns)


def numbered_rows(table: Table, how: TableOptions) -> tuple[Table, list[int]]:
    """Return the rows that are predicted, and their numbers in the file."""
    import numpy as np

    from gramsmith.tables.target import handle_gaps

    # the row numbers travel as labels, so that they are dropped together with their rows
    numbered = replace(table, labels=np.arange(1.0, table.n_rows + 1), target="row")
    whole, messages = handle_gaps(numbered, how.missing)
    for message in messages:
        say(message)
    rows = [int(number) for number in whole.labels] if whole.labels is not None else []
    return replace(whole, labels=None, target=None), rows
