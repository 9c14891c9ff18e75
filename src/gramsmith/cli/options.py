"""Options that several commands share, and the table they describe."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from gramsmith.tables import Limits
    from gramsmith.tables.read import Table

FORMATS = ("csv", "tsv", "parquet", "feather", "xlsx", "svmlight", "npz", "npy", "fasta")

Command = Callable[..., Any]

option = click.option
AT_LEAST_ONE = click.IntRange(1)
READING = (
    option("--format", type=click.Choice(FORMATS), help="What FILE is; default by its name."),
    option("--delimiter", help="What separates the columns of a text table; default: detected."),
    option("--decimal", metavar="CHAR", help="The decimal mark, such as a comma."),
    option("--thousands", metavar="CHAR", help="The mark between thousands, such as a point."),
    option("--encoding", metavar="NAME", help="Encoding of a text table; default UTF-8 or UTF-16."),
    option("--na", multiple=True, metavar="WORD", help="A word for a missing value; repeatable."),
    option("--comment", metavar="MARK", help="Skip lines that begin with this, such as #."),
    option("--sheet", metavar="NAME", help="The sheet of a workbook; default the first."),
    option("--no-header", is_flag=True, help="The first line is data; columns are x1, x2, ..."),
    option("--drop", multiple=True, metavar="COL", help="Leave a column out; repeatable."),
    option(
        "--role",
        "roles",
        multiple=True,
        metavar="COL=ROLE",
        help="What a column is: number, boolean, category, ordered, date, date-dmy, date-mdy, "
        "text, sequence, id, constant, drop, group, weight, time or target; repeatable.",
    ),
    option("--strings", metavar="COL", help="The text column whose strings are the samples."),
    option("--labels", metavar="FILE", help="Labels of a FASTA or npy file (csv or tsv)."),
    option(
        "--missing",
        type=click.Choice(["impute", "drop-target", "drop", "error"]),
        default="impute",
        show_default=True,
        help="What to do with missing values: impute them (drop-target: but leave out rows without "
        "a target), drop their rows, or stop with an error.",
    ),
    option("--max-rows", type=AT_LEAST_ONE, metavar="N", help="Limit of the rows (5 million)."),
    option("--max-cols", type=AT_LEAST_ONE, metavar="N", help="Limit of the columns (10 000)."),
    option(
        "--max-bytes", type=AT_LEAST_ONE, metavar="N", help="Limit of the unpacked bytes (2 GiB)."
    ),
)
LEARNING = (
    option(
        "--target",
        "-t",
        multiple=True,
        callback=lambda _, __, names: names if len(names) > 1 else next(iter(names), None),
        metavar="COL",
        help="The column to predict; `rank` takes several, for outputs or labels at once.",
    ),
    option(
        "--task",
        type=click.Choice(["auto", "classification", "regression"]),
        default="auto",
        show_default=True,
        help="Predict classes or numbers; auto: whole numbers are classes if there are at most 20.",
    ),
    option(
        "--seed",
        type=click.IntRange(0, 2**32 - 1),
        default=0,
        show_default=True,
        help="Seed of every random choice.",
    ),
    option(
        "--sample",
        type=click.IntRange(10),
        metavar="N",
        help="Compare kernels on at most N rows; the winner of `rank` is fitted on all.",
    ),
    option("--jobs", type=AT_LEAST_ONE, metavar="N", help="Threads; default one per core."),
    option("--memory", type=click.FloatRange(1), metavar="MIB", help="Memory budget in MiB."),
)


def _all(command: Command, options: Sequence[Callable[[Command], Command]]) -> Command:
    for decorate in reversed(options):
        command = decorate(command)
    return command


def reading(command: Command) -> Command:
    """Give a command the options about reading, which it is passed as `how`."""

    @functools.wraps(command)
    def read(**options: Any) -> Any:
        return command(how=TableOptions(**{name: options.pop(name) for name in names}), **options)

    decorated = _all(read, READING)
    parameters = decorated.__click_params__  # type: ignore[attr-defined]
    names = [parameter.name for parameter in parameters[-len(READING) :]]
    return decorated


def learning(command: Command) -> Command:
    """Give a command a target, a tuple of them if there are several, and how to learn it."""
    return _all(command, LEARNING)


class TableOptions(SimpleNamespace):
    """How a table is to be read: the options about reading by their names."""

    @property
    def limits(self) -> Limits:
        """The caps on rows, columns and bytes."""
        from gramsmith.tables import Limits

        caps = {"rows": self.max_rows, "columns": self.max_cols, "bytes": self.max_bytes}
        return Limits(**{name: cap for name, cap in caps.items() if cap is not None})

    def set_roles(self) -> dict[str, str]:
        """Return the role of every column that was given one."""
        from gramsmith.tables.decide import ROLES

        roles = dict.fromkeys(self.drop, "drop")
        for pair in self.roles:
            name, equals, role = pair.rpartition("=")
            if not equals or role not in ROLES:
                raise click.UsageError(
                    f"Expected --role COL=ROLE with a role among {', '.join(ROLES)}, got {pair!r}."
                )
            roles[name] = role
        return roles

    @property
    def dropped(self) -> list[str]:
        """The columns that are not looked at."""
        return [name for name, role in self.set_roles().items() if role == "drop"]

    def column_of(self, role: str, given: str | None = None) -> str | None:
        """Return the one column with a role, or the one that another option names."""
        named = [name for name, other in self.set_roles().items() if other == role]
        named = [given, *named] if given is not None else named
        if len(set(named)) > 1:
            raise click.UsageError(f"Expected one column as {role}, got {', '.join(named)}.")
        return named[0] if named else None

    def read(
        self,
        path: str,
        target: str | None = None,
        texts: Sequence[str] = (),
        strings: str | None = None,
        base: int | None = None,
    ) -> Table:
        """Return the table, missing values, dropped columns and all."""
        from gramsmith.tables import Writing, read_table
        from gramsmith.tables.decide import nearest
        from gramsmith.tables.streams import DataError

        delimiter = {"\\t": "\t", "tab": "\t"}.get(self.delimiter, self.delimiter)
        for name, mark in (("delimiter", delimiter), ("decimal", self.decimal)):
            if mark is not None and len(mark) != 1:
                raise click.UsageError(f"Expected one character as --{name}, got {mark!r}.")
        roles = self.set_roles()
        plain = ("number", "boolean", "drop", "target")
        writing = (delimiter, not self.no_header, self.decimal, self.thousands)
        table = read_table(
            path,
            format=self.format,
            target=target,
            labels=self.labels,
            writing=Writing(*writing, self.encoding, self.na, self.comment),
            drop=self.dropped,
            texts=[*texts, *(name for name, role in roles.items() if role not in plain)],
            nominal=roles.get(target or "") == "category"
            or (self.labels is not None and "category" in roles.values()),
            strings=strings or self.strings,
            sheet=self.sheet,
            base=base,
            limits=self.limits,
        )
        for name in roles.keys() - {*self.dropped, table.target, *table.columns}:
            if table.kind == "table":
                raise DataError(
                    f"{table.name}: expected a column {name!r}, got none. "
                    f"{nearest(name, list(table.columns))}"
                )
        return table
