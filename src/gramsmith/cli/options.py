"""Options that several commands share, and the table they describe."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from gramsmith.tables import Limits
    from gramsmith.tables.read import Table

FORMATS = ("csv", "tsv", "parquet", "feather", "xlsx", "svmlight", "npz", "npy", "fasta")

Command = Callable[..., Any]


def _all(*options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    def decorate(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


reading = _all(
    click.option("--format", type=click.Choice(FORMATS), help="What FILE is; default by its name."),
    click.option("--delimiter", help="What parts the columns of a text table; default: found."),
    click.option("--decimal", metavar="CHAR", help="The decimal mark, such as a comma."),
    click.option("--thousands", metavar="CHAR", help="What groups the digits of large numbers."),
    click.option("--encoding", metavar="NAME", help="Of a text table; default UTF-8 or UTF-16."),
    click.option(
        "--na", multiple=True, metavar="WORD", help="A word for a missing cell; repeatable."
    ),
    click.option("--comment", metavar="MARK", help="What lines begin with that are comments."),
    click.option("--sheet", metavar="NAME", help="The sheet of a workbook; default the first."),
    click.option(
        "--no-header", is_flag=True, help="The first line is data; columns are x1, x2, ..."
    ),
    click.option("--drop", multiple=True, metavar="COL", help="Leave a column out; repeatable."),
    click.option(
        "--role",
        "roles",
        multiple=True,
        metavar="COL=ROLE",
        help="What a column is: number, boolean, category, ordered, date, date-dmy, date-mdy, "
        "text, sequence, group, weight or drop; repeatable.",
    ),
    click.option(
        "--categorical",
        multiple=True,
        metavar="COL",
        help="Short for --role COL=category; repeatable.",
    ),
    click.option("--strings", metavar="COL", help="The text column whose strings are the samples."),
    click.option("--labels", metavar="FILE", help="Labels of a FASTA or npy file (csv or tsv)."),
    click.option(
        "--missing",
        type=click.Choice(["impute", "drop-target", "drop", "error"]),
        default="impute",
        show_default=True,
        help="Missing cells: learn what stands in for them; the same, without rows that have no "
        "target; leave all their rows out; or refuse.",
    ),
    click.option(
        "--max-rows", type=click.IntRange(1), metavar="N", help="Most rows to accept (5 million)."
    ),
    click.option(
        "--max-cols", type=click.IntRange(1), metavar="N", help="Most columns to accept (10 000)."
    ),
    click.option(
        "--max-bytes", type=click.IntRange(1), metavar="N", help="Most bytes, unpacked (2 GiB)."
    ),
)

_how_to_learn = (
    click.option(
        "--task",
        type=click.Choice(["auto", "classification", "regression"]),
        default="auto",
        show_default=True,
        help="Classes or numbers; whole numbers are classes if they are few (at most 20).",
    ),
    click.option(
        "--seed",
        type=click.IntRange(0, 2**32 - 1),
        default=0,
        show_default=True,
        help="Seed of every random choice.",
    ),
    click.option(
        "--sample",
        type=click.IntRange(10),
        metavar="N",
        help="Compare kernels on at most N rows; the winner of `rank` is fitted on all.",
    ),
    click.option(
        "--jobs", type=click.IntRange(1), metavar="N", help="Threads; default one per core."
    ),
    click.option("--memory", type=click.FloatRange(1), metavar="MIB", help="Memory budget in MiB."),
)

learning = _all(
    click.option("--target", "-t", metavar="COL", help="The column to predict."), *_how_to_learn
)
learning_several = _all(
    click.option(
        "--target",
        "-t",
        multiple=True,
        callback=lambda context, option, names: (
            names if len(names) > 1 else next(iter(names), None)
        ),
        metavar="COL",
        help="The column to predict; repeatable, for several outputs or labels at once.",
    ),
    *_how_to_learn,
)


@dataclass(frozen=True)
class Reading:
    """How a table is to be read, from the options of a command."""

    format: str | None
    delimiter: str | None
    decimal: str | None
    thousands: str | None
    encoding: str | None
    na: tuple[str, ...]
    comment: str | None
    sheet: str | None
    no_header: bool
    drop: tuple[str, ...]
    roles: tuple[str, ...]
    categorical: tuple[str, ...]
    strings: str | None
    labels: str | None
    missing: str
    max_rows: int | None
    max_cols: int | None
    max_bytes: int | None

    @property
    def limits(self) -> Limits:
        """The caps on rows, columns and bytes."""
        from gramsmith.tables import Limits

        caps = {"rows": self.max_rows, "columns": self.max_cols, "bytes": self.max_bytes}
        return Limits(**{name: cap for name, cap in caps.items() if cap is not None})

    def set_roles(self) -> dict[str, str]:
        """Return the role of every column that was given one."""
        from gramsmith.tables.decide import ROLES

        found = dict.fromkeys(self.categorical, "category") | dict.fromkeys(self.drop, "drop")
        for pair in self.roles:
            name, equals, role = pair.rpartition("=")
            if not equals or role not in ROLES:
                raise click.UsageError(
                    f"Expected --role COL=ROLE with a role among {', '.join(ROLES)}, got {pair!r}."
                )
            found[name] = role
        return found

    @property
    def dropped(self) -> list[str]:
        """The columns that are not looked at."""
        return [name for name, role in self.set_roles().items() if role == "drop"]

    def column_of(self, role: str, given: str | None = None) -> str | None:
        """Return the one column with a role, or the one that another option names."""
        named = [name for name, found in self.set_roles().items() if found == role]
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
        """Return the table, missing cells, dropped columns and all."""
        from gramsmith.tables import Writing, read_table
        from gramsmith.tables.decide import nearest
        from gramsmith.tables.streams import DataError

        delimiter = self.delimiter
        if delimiter is not None:
            delimiter = {"\\t": "\t", "tab": "\t"}.get(delimiter, delimiter)
        for option, mark in (("delimiter", delimiter), ("decimal", self.decimal)):
            if mark is not None and len(mark) != 1:
                raise click.UsageError(f"Expected one character as --{option}, got {mark!r}.")
        roles = self.set_roles()
        plain = ("number", "boolean", "drop", "target")
        table = read_table(
            path,
            format=self.format,
            target=target,
            labels=self.labels,
            writing=Writing(
                delimiter,
                not self.no_header,
                self.decimal,
                self.thousands,
                self.encoding,
                self.na,
                self.comment,
            ),
            drop=self.dropped,
            texts=[*texts, *(name for name, role in roles.items() if role not in plain)],
            nominal=roles.get(target or "") == "category"
            or (self.labels is not None and "category" in roles.values()),
            strings=strings or self.strings,
            sheet=self.sheet,
            base=base,
            limits=self.limits,
        )
        if table.kind == "table":
            for name in roles.keys() - set(self.dropped):
                if name not in table.columns and name != table.target:
                    raise DataError(
                        f"{table.name}: expected a column {name!r}, got none. "
                        f"{nearest(name, list(table.columns))}"
                    )
        return table


def take_reading(options: dict[str, Any]) -> Reading:
    """Take the options about reading out of all options of a command."""
    return Reading(**{name: options.pop(name) for name in Reading.__annotations__})
