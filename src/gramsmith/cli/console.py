"""What the user sees: messages, failures and tables, plain when nobody is watching."""

from __future__ import annotations

import json
import math
import shutil
import sys
import textwrap
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from gramsmith.progress import printable

if TYPE_CHECKING:
    from gramsmith.tables.read import Table

WIDTH = 80  # letters of a line of text
NOTES = 12  # remarks that are said


class Refused(click.ClickException):
    """Raised when a well-formed command cannot be carried out; the message says what to change."""

    exit_code = 2


class BadData(ValueError):
    """Raised in place of a library's ValueError about the data that were passed to it."""


@contextmanager
def collected_warnings() -> Iterator[list[str]]:
    """Collect what the library warns of, each word once, to be told when the work is done."""
    found: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            yield found
        finally:
            # other categories speak to programmers
            messages = [
                str(item.message) for item in caught if issubclass(item.category, UserWarning)
            ]
            found.extend(dict.fromkeys(messages))


@contextmanager
def about_the_data(table: Table) -> Iterator[None]:
    """Let a ValueError of the library appear as a word about the file, not as a traceback."""
    try:
        yield
    except ValueError as error:
        raise BadData(in_shell(error, table)) from error


# What to do about an error of `gramsmith.tables`, by its code.
ADVICE = {
    "rows": "Raise --max-rows if the file is meant to be this long.",
    "columns": "Raise --max-cols if the file is meant to be this wide.",
    "bytes": "Raise --max-bytes if the file is meant to be this large.",
    "encoding": "Say how the file was written with --encoding, such as latin-1 or utf-16-le.",
    "no header": "Add a header, or use --no-header to call the columns x1, x2, ...",
    "comment": "If lines that begin with # are comments, use --comment '#'.",
    "format": "Say what it is with --format.",
    "labels": "Name them with --target.",
    "npy target": "Or give the labels in a file of their own with --labels.",
    "twice": "Rename them in the file, or leave all but one out with --drop '{name} (2)'.",
    "stray word": "Correct it, leave it empty, name the word with --na if it means missing, read "
    "the column as text with --role {column}=category, or leave it out with --drop.",
    "ambiguous comma": "Say so with --decimal , or --thousands , or read the column as text with "
    "--role {column}=category.",
    "ambiguous date": "Use --role {column}=date-dmy or --role {column}=date-mdy.",
    "units": "Convert them to one, or use --role {column}=text or --drop.",
    "infinite": "Correct it or leave the cell empty.",
    "gap": "Leave these rows out with --missing drop-target.",
    "gap in target": "Leave these rows out with --missing drop-target. Or let words such as NA be "
    "classes with --role {name}=category.",
    "gap refused": "Use --missing drop to leave such rows out, or --missing impute to fill them "
    "in.",
    "no target": "Check --target.",
    "no rows": "Use --missing impute.",
    "several targets": "Use --task regression if all targets are numbers; rank classes one column "
    "at a time.",
    "ambiguous target": "Say whether the comma is the --decimal , or groups digits, --thousands ,.",
    "no number to predict": "Use --task classification for classes.",
    "many classes": "Is this the right column? Use --task regression for numbers.",
}


def in_shell(error: Exception, table: Table | None = None) -> str:
    """Return an error in the words of the command line: rows as in the file, and its options."""
    from gramsmith.tables import DataError

    places = [] if table is None else [table.name]
    if not isinstance(error, DataError):
        return ": ".join([*places, str(error)])
    if error.row is not None:
        row, line = error.row, ""
        if table is not None and table.rows is not None:
            row = int(table.rows[row])
        if table is not None and table.first_line is not None:
            line = f" (line {table.first_line + row})"
        places.append(f"row {row + 1}{line}")
    if error.column is not None:
        places.append(f"column {str(error.column)!r}")
    advice = error.advice
    if error.code in ADVICE:
        advice = ADVICE[error.code].format(column=error.column, **error.facts)
    message = f"{', '.join(places)}: {error.message}" if places else error.message
    return f"{message} {advice}".strip()


def say(message: str, err: bool = True) -> None:
    """Write a message to the standard error, on a terminal in lines of at most 80 letters."""
    lines = message.split("\n")
    if (sys.stderr if err else sys.stdout).isatty():
        width = min(WIDTH, shutil.get_terminal_size().columns)
        wrapper = textwrap.TextWrapper(width, break_long_words=False, break_on_hyphens=False)
        lines = [part for line in lines for part in wrapper.wrap(line) or [""]]
    click.echo(printable("\n".join(lines), keep="\n"), err=err)


def say_notes(notes: Sequence[str]) -> None:
    """Write remarks to the standard error, the first of many."""
    for note in notes[:NOTES]:
        say(f"Note: {note}")
    if len(notes) > NOTES:
        say(f"... and {len(notes) - NOTES} more notes; --json has all.")


def show_json(value: Any) -> None:
    """Write a value as JSON to the standard output; what is not finite becomes null."""
    click.echo(json.dumps(plain(value), indent=2, ensure_ascii=False, allow_nan=False))


def plain(value: Any) -> Any:
    """Return nested values as JSON has them; what is not finite becomes None."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set):
        return [plain(item) for item in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return str(value)


def cell(value: Any) -> str:
    """Return a value as a table shows it."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "-"
    if isinstance(value, bool):
        return "yes" if value else ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def show_table(names: Sequence[str], rows: Sequence[Sequence[Any]], err: bool = False) -> None:
    """Write a table to the standard output or error.

    On a terminal, columns that have no room are shown below the others, under the first column
    again; whoever reads a pipe wants whole lines.
    """
    stream = sys.stderr if err else sys.stdout
    room = shutil.get_terminal_size().columns if stream.isatty() else math.inf
    lines = [[printable(cell(value)) for value in row] for row in [names, *rows]]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    numeric = [all(isinstance(v, int | float | None) for v in c) for c in zip(*rows, strict=True)]
    shown = 1
    while shown < len(names):
        columns, taken = [0], widths[0]
        while shown < len(names) and (len(columns) == 1 or taken + 2 + widths[shown] <= room):
            columns.append(shown)
            taken += 2 + widths[shown]
            shown += 1
        for line in lines:
            padded = [
                line[j].rjust(widths[j]) if numeric[j] else line[j].ljust(widths[j])
                for j in columns
            ]
            click.echo("  ".join(padded).rstrip(), err=err)
        click.echo(err=err)
