"""Options that several commands share, and the table they describe."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from gramsmith.tables.read import Table

FORMATS = ("csv", "tsv", "parquet", "svmlight", "npz", "npy", "fasta")

Command = Callable[..., Any]


def _all(*options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    def decorate(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


reading = _all(
    click.option("--format", type=click.Choice(FORMATS), help="What FILE is; default by its name."),
    click.option("--delimiter", help="What parts the columns of a text table."),
    click.option(
        "--no-header", is_flag=True, help="The first line is data; columns are x1, x2, ..."
    ),
    click.option("--drop", multiple=True, metavar="COL", help="Leave a column out; repeatable."),
    click.option(
        "--categorical",
        multiple=True,
        metavar="COL",
        help="Read numbers as categories; repeatable.",
    ),
    click.option("--strings", metavar="COL", help="The text column whose strings are the samples."),
    click.option("--labels", metavar="FILE", help="Labels of a FASTA or npy file (csv or tsv)."),
    click.option(
        "--missing",
        type=click.Choice(["error", "drop", "impute"]),
        default="error",
        show_default=True,
        help="What to do with missing cells.",
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

learning = _all(
    click.option("--target", "-t", metavar="COL", help="The column to predict."),
    click.option(
        "--task",
        type=click.Choice(["auto", "classification", "regression"]),
        default="auto",
        show_default=True,
        help="Classes or numbers; whole numbers are classes if they are few.",
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


@dataclass(frozen=True)
class Reading:
    """How a table is to be read, from the options of a command."""

    format: str | None
    delimiter: str | None
    no_header: bool
    drop: tuple[str, ...]
    categorical: tuple[str, ...]
    strings: str | None
    labels: str | None
    missing: str
    max_rows: int | None
    max_cols: int | None
    max_bytes: int | None

    def read(
        self,
        path: str,
        target: str | None = None,
        kinds: Mapping[str, str] | None = None,
        strings: str | None = None,
    ) -> Table:
        """Return the table, missing cells and all."""
        from gramsmith.tables.read import read_table
        from gramsmith.tables.streams import Limits

        caps = {"rows": self.max_rows, "columns": self.max_cols, "bytes": self.max_bytes}
        delimiter = self.delimiter
        if delimiter is not None:
            delimiter = {"\\t": "\t", "tab": "\t"}.get(delimiter, delimiter)
            if len(delimiter) != 1:
                raise click.UsageError(f"Expected one character as --delimiter, got {delimiter!r}.")
        return read_table(
            path,
            format=self.format,
            target=target,
            labels=self.labels,
            delimiter=delimiter,
            header=not self.no_header,
            drop=self.drop,
            categorical=self.categorical,
            strings=strings or self.strings,
            kinds=kinds,
            limits=Limits(**{name: cap for name, cap in caps.items() if cap is not None}),
        )


def take_reading(options: dict[str, Any]) -> Reading:
    """Take the options about reading out of all options of a command."""
    return Reading(**{name: options.pop(name) for name in Reading.__annotations__})
