"""Tables from files of many kinds: csv, tsv, parquet, feather, xlsx, svmlight, npz, npy, FASTA."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from gramsmith.arguments import counted
from gramsmith.tables.arrays import read_npy, read_npz, read_svmlight
from gramsmith.tables.columnar import read_feather, read_parquet, read_xlsx
from gramsmith.tables.convert import canonical, unknown_words
from gramsmith.tables.decide import nearest
from gramsmith.tables.delimited import Writing, read_delimited
from gramsmith.tables.fasta import read_fasta
from gramsmith.tables.streams import Array, DataError, Limits, as_file, short
from gramsmith.tables.words import Style

FORMATS = {
    **{".csv": "csv", ".tsv": "tsv", ".tab": "tsv", ".parquet": "parquet", ".pq": "parquet"},
    **{".feather": "feather", ".arrow": "feather", ".xlsx": "xlsx"},
    **{".svm": "svmlight", ".svmlight": "svmlight", ".libsvm": "svmlight"},
    **{".npz": "npz", ".npy": "npy"},
    **dict.fromkeys((".fasta", ".fa", ".faa", ".fna", ".ffn"), "fasta"),
}
COLUMNAR = {"parquet": read_parquet, "feather": read_feather}


@dataclass(frozen=True)
class Table:
    """Samples and, where the file has them, their labels."""

    name: str  # of the file
    columns: Mapping[str, Array] = field(default_factory=dict)  # floats, dates, flags or texts
    samples: Any = None  # without column names: an array, a CSR matrix or a list of texts
    labels: Array | None = None  # floats, or texts as objects
    target: str | None = None
    strings: str | None = None  # the column that the samples were, if they are texts from a table
    identifiers: list[str] | None = None  # names of the samples, where the format has them
    nominal: bool = False  # whether the labels were declared to be categories, numbers included
    note: str = ""  # how the file was read, such as what parts its columns
    first_line: int | None = None  # of the first row, in a text table with one row per line
    base: int | None = None  # the first index of an svmlight file, 0 or 1
    rows: Array | None = None  # which of the file these are, counted from 0; None: all

    @property
    def n_rows(self) -> int:
        """The number of samples."""
        if self.samples is None:
            return len(next(iter(self.columns.values()), ()))
        return self.samples.shape[0] if hasattr(self.samples, "shape") else len(self.samples)

    @property
    def n_columns(self) -> int:
        """The number of inputs; 1 for strings."""
        if self.samples is None:
            return len(self.columns)
        return self.samples.shape[1] if getattr(self.samples, "ndim", 1) == 2 else 1

    @property
    def kind(self) -> str:
        """Whether samples are rows of a "table", of a "matrix", or "strings"."""
        if self.samples is None:
            return "table"
        return "matrix" if getattr(self.samples, "ndim", 1) == 2 else "strings"

    def inputs(self) -> Any:
        """Return what estimators take: a data frame, a matrix or a list of strings."""
        if self.samples is not None:
            return self.samples
        import pandas

        # as they are: pandas would copy texts, of which many cells share one
        columns = {
            name: pandas.Series(column, dtype=column.dtype, copy=False)
            for name, column in self.columns.items()
        }
        return pandas.DataFrame(columns, copy=False)

    def take(self, rows: Array) -> Table:
        """Return the table with some of its rows."""
        samples = self.samples
        if samples is not None:
            samples = samples[rows] if hasattr(samples, "shape") else [samples[i] for i in rows]
        labels = None if self.labels is None else self.labels[rows]
        named = None if self.identifiers is None else [self.identifiers[i] for i in rows]
        columns = {name: column[rows] for name, column in self.columns.items()}
        kept = rows if self.rows is None else self.rows[rows]
        return replace(
            self, columns=columns, samples=samples, labels=labels, identifiers=named, rows=kept
        )


def read_table(
    path: str | Path,
    *,
    format: str | None = None,
    target: str | None = None,
    labels: str | Path | None = None,
    writing: Writing | None = None,
    drop: Sequence[str] = (),
    texts: Sequence[str] = (),
    nominal: bool = False,
    strings: str | None = None,
    sheet: str | None = None,
    base: int | None = None,
    limits: Limits | None = None,
) -> Table:
    r"""Read samples and labels from a file.

    Parameters
    ----------
    path : str or path
        Plain, gzipped or zstandard; - is the standard input.
    format : str, optional
        csv, tsv, parquet, feather, xlsx, svmlight, npz, npy or fasta. Default: by the file's name;
        csv for the standard input.
    target : str, optional
        The column to predict; for npz the array's name, for npy a column number. None reads
        inputs only.
    labels : str or path, optional
        A csv or tsv file with the labels of a FASTA or npy file: identifiers and labels, or
        labels only.
    writing : Writing, optional
        How a csv or tsv file was written: delimiter, header, decimal mark, encoding.
    drop : sequence of str
        Columns to leave out: they are not looked at.
    texts : sequence of str
        Columns to keep as they are written though they hold numbers.
    nominal : bool
        Whether the target has classes only: words such as NA or none are classes too.
    strings : str, optional
        The one text column whose strings are the samples.
    sheet : str, optional
        The sheet of a workbook; default the first.
    base : {0, 1}, optional
        The first index of an svmlight file. Default: 0 if it occurs.
    limits : Limits, optional
        Caps on rows, columns and bytes.

    Returns
    -------
    Table

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from gramsmith.tables.read import read_table
    >>> path = Path(tempfile.mkdtemp()) / "t.csv"
    >>> _ = path.write_text("a,b,y\n1,red,no\n2,blue,yes\n")
    >>> table = read_table(path, target="y")
    >>> table.columns["a"], list(table.columns["b"]), list(table.labels)
    (array([1., 2.]), ['red', 'blue'], ['no', 'yes'])
    """
    limits = limits or Limits()
    writing = writing or Writing()
    if Path(path).is_dir():
        raise DataError(f"Expected a file, got the folder {path}. Name a file inside it.")
    kind = format or ("csv" if str(path) == "-" else guess_format(Path(path)))
    if labels is not None and kind not in ("fasta", "npy"):
        raise DataError(
            f"{path}: expected labels beside a FASTA or npy file, got a {kind} file, of which they "
            "are a part.",
            "Name them as the target.",
            "labels",
        )
    with as_file(path, limits) as file:
        try:
            if kind in ("fasta", "svmlight", "npz", "npy"):
                return _without_columns(file, kind, target, labels, nominal, base, limits)
            note, first_line = "", None
            if kind in COLUMNAR:
                columns = COLUMNAR[kind](file, limits, drop)
            elif kind == "xlsx":
                columns, note = read_xlsx(file, limits, drop, sheet)
            else:
                if kind == "tsv" and writing.delimiter is None:
                    writing = replace(writing, delimiter="\t")
                words = [name for name in (strings, target) if name is not None]
                literal = words[-1:] if nominal and target is not None else []
                columns, mark, first_line = read_delimited(
                    file, limits, writing, drop=drop, texts=[*texts, *words], literal=literal
                )
                note = "" if mark == "," else f"columns parted by {mark!r}"
        except MemoryError as error:
            raise DataError(
                f"{file.name}: expected a table that fits the memory, got a larger one. Read it on "
                "a larger computer, or in parts."
            ) from error
    table = _with_target(file.name, columns, target, strings, nominal, writing)
    return replace(table, note=note, first_line=first_line)


def _with_target(
    where: str,
    columns: dict[str, Array],
    target: str | None,
    strings: str | None,
    nominal: bool,
    writing: Writing,
) -> Table:
    """Return a table whose columns are parted into inputs and target."""
    for name in (target, strings):
        if name is not None and name not in columns:
            raise DataError(
                f"{where}: expected a column {short(name)}, got none. "
                f"{nearest(name, list(columns))}"
            )
        if f"{name} (2)" in columns:
            raise DataError(
                f"{where}: expected one column {short(name)}, got several.",
                f"Rename them in the file, or drop all but one ({name} (2), ...).",
                "twice",
                name=name,
            )
    labels = None if target is None else columns[target]
    if labels is not None and labels.dtype == object and not nominal:
        labels = _labels(labels, Style(writing.decimal or ".", writing.thousands or ""))
    inputs = {name: c for name, c in columns.items() if name != target}
    if not inputs:
        raise DataError(f"{where}: expected at least one input column, got none beside the target.")
    table = Table(where, inputs, labels=labels, target=target, nominal=nominal)
    if strings is None:
        return table
    return replace(table, columns={}, samples=inputs[strings].tolist(), strings=strings)


def _labels(words: Array, said: Style) -> Array:
    """Return labels, those among numbers that mean an unknown one as missing."""
    words = canonical(words, said) if said != Style() else words
    unknown = unknown_words(words)
    return np.array([None if word in unknown else word for word in words], dtype=object)


def _without_columns(
    path: Path,
    kind: str,
    target: str | None,
    labels: str | Path | None,
    nominal: bool,
    base: int | None,
    limits: Limits,
) -> Table:
    """Return a table of samples without column names."""
    samples: Any
    found: Array | None = None
    named, own, given = target or "y", None, None
    if kind == "fasta":
        records = list(islice(read_fasta(path, max_bytes=limits.bytes), limits.rows + 1))
        limits.check_shape(len(records), 1, path.name)
        own, samples = [r[0] for r in records], [r[1] for r in records]
    elif kind == "svmlight":
        samples, found, base = read_svmlight(path, limits, base)
    elif kind == "npz":
        samples, found = read_npz(path, named, limits)
    else:
        samples, found = read_npy(path, target, limits)
    if labels is not None:
        given, named, found = read_labels(labels, limits, nominal)
    if own is not None and given is not None and found is not None:
        known = dict(zip(given, found, strict=True))
        absent = [name for name in own if name not in known]
        if absent:
            raise DataError(
                f"{path.name}: expected a label for every sequence, got none for {short(absent[0])}"
                f"{f' and {len(absent) - 1} more' if len(absent) > 1 else ''}."
            )
        found = np.array([known[name] for name in own], dtype=object)
    samples = samples.tolist() if getattr(samples, "ndim", 0) == 1 else samples
    table = Table(path.name, samples=samples, identifiers=own, base=base)
    if found is None and own is not None:
        return table
    if found is not None and len(found) != table.n_rows:
        raise DataError(
            f"{path.name}: expected one label per row, got {counted(table.n_rows, 'row')} and "
            f"{counted(len(found), 'label')}.",
            "" if own is None else "Give one per sequence, or identifiers beside the labels.",
        )
    return replace(table, labels=found, target=named, nominal=nominal)


def guess_format(path: Path) -> str:
    """Return the format a file's name stands for."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in (".gz", ".zst"):
        suffixes.pop()
    if not suffixes or suffixes[-1] not in FORMATS:
        raise DataError(
            f"Expected a file named like {', '.join(sorted(FORMATS))} (or with .gz or .zst), got "
            f"{path.name!r}.",
            "Say what format it has.",
            "format",
        )
    return FORMATS[suffixes[-1]]


def read_labels(
    path: str | Path, limits: Limits, nominal: bool = False
) -> tuple[list[str] | None, str, Array]:
    """Return identifiers (None if there are none), name and values of the labels in a csv file."""
    path = Path(path)
    found, _, _ = read_delimited(path, limits, texts=None, literal=None if nominal else ())
    columns = list(found.values())
    if len(columns) not in (1, 2):
        raise DataError(
            f"{path.name}: expected one column of labels, or identifiers and labels, got "
            f"{len(columns)} columns."
        )
    identifiers = columns[0].tolist() if len(columns) == 2 else None
    if identifiers is not None and len(set(identifiers)) != len(identifiers):
        raise DataError(f"{path.name}: expected every identifier once, got repeated ones.")
    return identifiers, list(found)[-1], columns[-1]
